"""Positions of a person's joints over time: bare ``.npy`` and ``.npz`` with or without names.

Such files state little. Names, or a known order of that many joints that moves as a body, say
which joint is which; the motion says which way is up and how long a unit is, as for BVH. A joint
that is NaN, or at 0 0 0 where the root is not, was not seen there.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from motionkit import rotation
from motionkit.clip import REQUIRED_ROLES, STATURE_RANGE, MarkerClip, Note, Provenance
from motionkit.formats import world
from motionkit.formats.joint_arrays import JointArray, read_joint_array
from motionkit.formats.joint_layouts import (
    NAMES_HELP,
    UNCLEAR,
    JointLayout,
    known_counts,
    layouts_of,
)
from motionkit.formats.npz import find_rate
from motionkit.formats.point_labels import clean_labels
from motionkit.formats.point_roles import find_flaw, find_point_roles
from motionkit.formats.roles import find_roles, missing_roles
from motionkit.formats.source import ReadOptions, Source, UpAxis, settle_rate
from motionkit.formats.writers import find_writer

Array = np.ndarray

HUMANML3D_RATE = 20.0
"""Rate [1/s] of every HumanML3D file (Guo et al. 2022), which states none."""
MOST_KEYS = 8
"""Keys of arrays that are not read which a note lists."""
ROOT_FITS = 0.1
"""Change of the distance from pelvis to hips, relative, up to which a pelvis at 0 0 0 is real."""


def read(source: Source, options: ReadOptions) -> MarkerClip:
    """The joint centres in a ``.npy`` or ``.npz`` file, with the roles that they play.

    Raises:
        InputError: the array is damaged or of another shape, its joints cannot be told, they are
            no human body, or rate or unit are unclear.
    """
    array = read_joint_array(source)
    body, notes = _find_body(source, array)
    pos, seen = _unseen(source, array, body)
    notes += _unseen_notes(seen)
    at, roles = _judged(source, seen, body.roles)
    sample = pos[at]
    up, up_source, more = _up(sample, roles, options)
    notes += more
    fps, more = _rate(source, array, body.layout, up, options)
    notes += more
    scale, unit_source, more = _scale(source, array, sample, roles, options)
    notes += more
    quat = np.array(world.WORLD_QUAT[up])
    pos_w = rotation.rotate(quat, pos) * scale
    notes += world.find_doubts(pos_w[at], roles)
    if array.dropped:
        more = ", …" if len(array.dropped) > MOST_KEYS else ""
        others = ", ".join(array.dropped[:MOST_KEYS]) + more
        text = f"beside positions the file has {others}, not read"
        notes.append(Note("MK128", text))
    return MarkerClip(
        name=source.path.stem,
        fps=fps,
        labels=body.labels,
        pos_w=pos_w,
        kind="joint",
        roles={role: body.labels[joint] for role, joint in body.roles.items()},
        subject=body.subject,
        provenance=Provenance(
            path=str(source.path),
            sha256=source.sha256,
            format="joints",
            writer=body.layout.name if body.layout else find_writer(body.labels),
            unit_scale=scale,
            unit_source=unit_source,
            up=up,
            up_source=up_source,
            world_quat=world.WORLD_QUAT[up],
            options=options.stated(),
            notes=tuple(notes),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Body:
    """Which joint is which."""

    labels: tuple[str, ...]
    """Of the joints (J)."""
    roles: dict[str, int]
    """Role to index of a joint that was seen."""
    layout: JointLayout | None = None
    """The order that was recognised, where the file has no names."""
    subject: str = ""
    """Prefix that all names share."""


def _find_body(source: Source, array: JointArray) -> tuple[_Body, list[Note]]:
    filled, live = _fill(array.pos)
    if array.names is None:
        return _by_layout(source, array, filled, live)
    labels, subject, notes = clean_labels(array.names)
    alive = np.flatnonzero(live | _may_be_root(array.pos))
    found, remarks = find_point_roles([labels[j] for j in alive], filled[:, alive])
    roles = _seen_roles({role: int(alive[joint]) for role, joint in found.items()}, live)
    if missing := missing_roles(roles):
        shown = ", ".join(labels[:8]) + (f", … ({len(labels)} joints)" if len(labels) > 8 else "")
        raise source.error(
            f"no human body: roles not found or never seen: {', '.join(missing)} (joints: {shown})",
            field=array.names_field,
            help="motionkit needs hips, knees, ankles, shoulders, elbows, wrists, pelvis, head",
        )
    if flaw := find_flaw(filled, roles):
        raise source.error(f"the joints do not move as a body: {flaw}", field=array.field,
                           help="check that the names go with the columns")  # fmt: skip
    notes += [Note("MK127", text) for text in remarks]
    return _Body(labels, roles, subject=subject), notes


def _by_layout(
    source: Source, array: JointArray, filled: Float[Array, "S J 3"], live: Bool[Array, "J"]
) -> tuple[_Body, list[Note]]:
    """The one known order of that many joints that moves as a body."""
    count = array.pos.shape[1]
    flaws = []
    fitting = []
    for layout in layouts_of(count):
        found = find_roles(layout.joints, layout.parents, filled)
        roles = _seen_roles(found, live)
        missing = missing_roles(roles)
        flaw = f"never seen: {', '.join(missing)}" if missing else find_flaw(filled, roles)
        if flaw:
            flaws.append(f"{layout.name}: {flaw}")
        else:
            fitting.append(_Body(layout.joints, roles, layout))
    if not flaws and not fitting:
        clash = UNCLEAR.get(count, f"the order of {count} joints is not known; "
                                   f"known without names: {known_counts()}")  # fmt: skip
        raise source.error(f"names no joints (shape {array.shape}): {clash}", field=array.field,
                           help=NAMES_HELP)  # fmt: skip
    if not fitting:
        advice = NAMES_HELP
        if array.is_flat or count in (24, 52, 55):
            advice += "; rotation vectors of SMPL go under poses, beside trans and mocap_framerate"
        raise source.error(
            f"is no body in an order known for {count} joints (shape {array.shape}): "
            f"{'; '.join(flaws)}",
            field=array.field,
            help=advice,
        )
    if len(fitting) > 1:
        names = " and ".join(body.layout.name for body in fitting if body.layout)
        raise source.error(f"{count} joints fit {names}", field=array.field, help=NAMES_HELP)
    body = fitting[0]
    assert body.layout is not None
    text = f"the file names no joints; {count} in the order of {body.layout.name} move as a body"
    return body, [Note("MK127", text, float(count))]


def _fill(pos: Float[Array, "T J 3"]) -> tuple[Float[Array, "S J 3"], Bool[Array, "J"]]:
    """Sampled frames with gaps bridged in a straight line, to judge by alone, and what is live.

    Returns:
        The positions, zero for joints that are never seen; and which are seen at all, 0 0 0
        aside.
    """
    seen = np.isfinite(pos[..., 0]) & np.any(pos != 0.0, axis=-1)
    at = world.sample_frames(len(pos))
    filled = np.zeros((len(at), *pos.shape[1:]))
    for joint in range(pos.shape[1]):
        frames = np.flatnonzero(seen[:, joint])
        if frames.size:
            for axis in range(3):
                filled[:, joint, axis] = np.interp(at, frames, pos[frames, joint, axis])
    return filled, seen.any(axis=0)


def _may_be_root(pos: Float[Array, "T J 3"]) -> Bool[Array, "J"]:
    """The joint that stays at 0 0 0, if there is just one."""
    zero = np.all(pos == 0.0, axis=(0, 2))
    return zero & (zero.sum() == 1)


def _seen_roles(roles: dict[str, int], live: Bool[Array, "J"]) -> dict[str, int]:
    """The roles of joints that are seen; a pelvis may be the origin of all others."""
    return {role: j for role, j in roles.items() if live[j] or role == "pelvis"}


def _unseen(
    source: Source, array: JointArray, body: _Body
) -> tuple[Float[Array, "T J 3"], Bool[Array, "T J"]]:
    """Positions with NaN for what was not seen, and what was.

    A point at exactly 0 0 0 was not seen, but for a pelvis from which the hips are as far as in
    the other frames.

    Raises:
        InputError: the pelvis stays at 0 0 0 while the body moves.
    """
    pos = array.pos
    zero = np.all(pos == 0.0, axis=-1)
    hips = pos[:, [body.roles["left_hip"], body.roles["right_hip"]]]
    pelvis = body.roles["pelvis"]
    if zero[:, pelvis].all():
        moves = np.isfinite(pos) & np.isfinite(pos[:1]) & (pos != pos[:1])
        if moves.any():
            raise source.error(
                f"positions are relative to {body.labels[pelvis]}, which stays at 0 0 0: the "
                "body's path is lost",
                field=array.field,
                help="add the path of the root to all joints",
            )
        zero[:, pelvis] = False
    else:
        bones = np.linalg.norm(hips - pos[:, [pelvis]], axis=-1)
        whole = np.isfinite(bones).all(axis=1)
        if np.any(whole & ~zero[:, pelvis]):
            length = np.median(bones[whole & ~zero[:, pelvis]], axis=0)
            zero[:, pelvis] &= ~np.all(np.abs(bones - length) <= ROOT_FITS * length, axis=1)
    unseen = np.isnan(pos[..., 0]) | zero
    return np.where(unseen[..., None], np.nan, pos), ~unseen


def _unseen_notes(seen: Bool[Array, "T J"]) -> list[Note]:
    missing = int(np.sum(~seen))
    if not missing:
        return []
    share = 100.0 * missing / seen.size
    text = f"{missing} of {seen.size} positions were not seen (NaN, or 0 0 0): {share:.2g} %"
    return [Note("MK129", text, share, "%")]


def _judged(
    source: Source, seen: Bool[Array, "T J"], roles: dict[str, int]
) -> tuple[Int[Array, "S"], dict[str, int]]:
    """Frames from which the world is judged, and roles that are seen in all of them."""
    required = {role: roles[role] for role in REQUIRED_ROLES}
    whole = np.flatnonzero(seen[:, list(roles.values())].all(axis=1))
    body = np.flatnonzero(seen[:, list(required.values())].all(axis=1))
    if not body.size:
        raise source.error(f"no frame shows all of {', '.join(REQUIRED_ROLES)}",
                           help="motionkit judges unit and up axis by whole bodies")  # fmt: skip
    if 2 * whole.size >= body.size:
        return whole[world.sample_frames(len(whole))], roles
    at = body[world.sample_frames(len(body))]
    return at, {role: joint for role, joint in roles.items() if seen[at, joint].all()}


def _up(
    sample: Float[Array, "S J 3"], roles: dict[str, int], options: ReadOptions
) -> tuple[UpAxis, Literal["motion", "user"], list[Note]]:
    if options.up is not None:
        return options.up, "user", []
    up, notes = world.find_up(sample, roles)
    return up, "motion", notes


def _rate(
    source: Source, array: JointArray, layout: JointLayout | None, up: UpAxis, options: ReadOptions
) -> tuple[float, list[Note]]:
    """The rate: the file's or the user's; by convention of HumanML3D's bare arrays alone."""
    known = layout.rate_help if layout else ""
    help = f"give the rate with --source-fps{f' ({known})' if known else ''}"
    if array.npz is not None:
        return find_rate(array.npz, options, help)
    if options.fps is not None:
        return settle_rate(source, np.nan, options, field="rate", said="(absent)")
    if layout is None or not layout.is_humanml3d or up != "y":
        raise source.error("a bare array states no rate", field="rate", help=help)
    text = (f"no rate is stated; a bare Y-up array of {len(layout.joints)} joints is taken for "
            f"HumanML3D, which is {HUMANML3D_RATE:g} by convention; --source-fps decides "
            "otherwise")  # fmt: skip
    return HUMANML3D_RATE, [Note("MK126", text, HUMANML3D_RATE, "1/s")]


def _scale(
    source: Source,
    array: JointArray,
    sample: Float[Array, "S J 3"],
    roles: dict[str, int],
    options: ReadOptions,
) -> tuple[float, Literal["stature", "user"], list[Note]]:
    """Metres per unit of the file."""
    if options.scale is not None:
        return options.scale, "user", []
    stature = world.stature_from_limbs(sample, roles)
    unit, notes = world.find_unit(stature)
    if unit is None:
        low, high = STATURE_RANGE
        raise source.error(
            f"the limbs are those of a stature of {stature:.4g} units, and no unit known to "
            f"motionkit makes that {low:g} to {high:g} m",
            field=array.field,
            help="give the length of one unit in metres with --scale",
        )
    return unit.metres, "stature", notes
