"""BVH files to skeleton clips in motionkit's world.

The text is parsed by :mod:`motionkit.formats.bvh_text`, which trusts nothing; here its numbers
become rotations and translations. OFFSET is never trusted for up, unit or pose: position
channels replace it, in whatever order they come, and the body is judged by its motion.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import STATURE_RANGE, Note, Provenance, SkeletonClip
from motionkit.formats import bvh_text, world
from motionkit.formats.bvh_text import BvhText, Joint
from motionkit.formats.roles import find_roles, missing_roles
from motionkit.formats.source import ReadOptions, Source, UpAxis, settle_rate
from motionkit.formats.topology import find_roles_by_shape
from motionkit.formats.writers import find_writer

Array = np.ndarray

STILL = 1e-6
"""Movement of a position channel, relative to the skeleton's size, that counts as none."""
EMPTY = 1e-3
"""Position channels smaller than this part of OFFSET say nothing: they are relative to it."""


def read(source: Source, options: ReadOptions) -> SkeletonClip:
    """The motion of the person in a BVH file.

    Raises:
        InputError: the text is damaged, the skeleton is no human body, or its unit is unclear.
    """
    text = bvh_text.parse(source)
    fps, notes = _rate(source, text, options)
    notes += [Note("MK106", remark) for remark in text.remarks]
    body, more = _pick_body(source, text, fps, options)
    notes += more
    up, up_source, more = _up(body, options)
    notes += more
    clip, more = _anchor_root(body, up)
    notes += more
    scale, unit_source, more = _scale(source, body, options)
    notes += more
    quat = np.array(world.WORLD_QUAT[up])
    joint_quat = clip.joint_quat.copy()
    joint_quat[:, 0] = rotation.unroll(rotation.multiply(quat, joint_quat[:, 0]))
    placed = replace(
        clip,
        offsets=clip.offsets * scale,
        root_pos_w=rotation.rotate(quat, clip.root_pos_w) * scale,
        joint_quat=joint_quat,
        local_pos=None if clip.local_pos is None else clip.local_pos * scale,
        end_offsets=clip.end_offsets * scale,
        provenance=replace(
            clip.provenance,
            unit_scale=scale,
            unit_source=unit_source,
            up=up,
            up_source=up_source,
            world_quat=world.WORLD_QUAT[up],
        ),
    )
    notes += world.find_doubts(world.sample_positions(placed), body.roles)
    return replace(placed, provenance=replace(placed.provenance, notes=tuple(notes)))


@dataclass(frozen=True, slots=True)
class _Body:
    """A skeleton in the units and world of its file, and what was seen of it."""

    clip: SkeletonClip
    """All of it, without roles or scale."""
    pos: Float[Array, "S J 3"]
    """Joint positions in the sampled frames."""
    roles: dict[str, int]
    """Role to joint index."""
    root_offset: Float[Array, "3"]
    """The root's OFFSET, which its position channels replace."""


def _rate(source: Source, text: BvhText, options: ReadOptions) -> tuple[float, list[Note]]:
    said = text.frame_time[:40]
    try:
        seconds = float(said)
    except ValueError:
        raise source.error(f"{said!r} is not a number", field="Frame Time") from None
    rate = 1.0 / seconds if seconds > 1e-9 else float("nan")
    return settle_rate(source, rate, options, field="Frame Time", said=said)


def _pick_body(
    source: Source, text: BvhText, fps: float, options: ReadOptions
) -> tuple[_Body, list[Note]]:
    """The one tree of the file that is a person; others, such as props, are noted."""
    trees: list[list[int]] = []
    tree_of: list[int] = []
    for index, joint in enumerate(text.joints):
        tree_of.append(len(trees) if joint.parent < 0 else tree_of[joint.parent])
        if joint.parent < 0:
            trees.append([])
        trees[tree_of[index]].append(index)
    bodies = []
    for tree in trees:
        clip, notes = _skeleton(source, text, tree, fps, options)
        pos = world.sample_positions(clip)
        roles = find_roles(clip.joint_names, clip.parents, pos)
        if missing_roles(roles) and (shape := find_roles_by_shape(clip.parents, pos)):
            roles = shape
            said = "names do not tell a body; roles and sides were found by the skeleton's shape"
            notes.append(Note("MK115", said))
        bodies.append((_Body(clip, pos, roles, np.array(text.joints[tree[0]].offset)), notes))
    people = [each for each in bodies if not missing_roles(each[0].roles)]
    if len(people) > 1:
        names = ", ".join(each[0].clip.joint_names[0] for each in people)
        raise source.error(f"holds {len(people)} people, with roots {names}", field="HIERARCHY",
                           help="export one person a file")  # fmt: skip
    if not people:
        raise _no_body(source, max((each[0] for each in bodies), key=lambda b: len(b.roles)))
    body, notes = people[0]
    if len(trees) > 1:
        others = [each[0].clip.joint_names[0] for each in bodies if each[0] is not body]
        notes = [*notes, Note("MK107", f"roots that are no person are left out: {others}")]
    clip = replace(
        body.clip,
        roles={role: body.clip.joint_names[j] for role, j in body.roles.items()},
    )
    return replace(body, clip=clip), notes


def _no_body(source: Source, body: _Body) -> Exception:
    missing = missing_roles(body.roles)
    names = body.clip.joint_names
    shown = ", ".join(names[:8]) + (f", … ({len(names)} joints)" if len(names) > 8 else "")
    return source.error(
        f"no human body: roles not found: {', '.join(missing)} (joints: {shown})",
        field="HIERARCHY",
        help="motionkit needs a biped with hips, knees, ankles, shoulders, elbows, wrists, head",
    )


def _skeleton(
    source: Source, text: BvhText, tree: Sequence[int], fps: float, options: ReadOptions
) -> tuple[SkeletonClip, list[Note]]:
    """One tree of the file as a clip, in the file's units and world."""
    joints = [text.joints[index] for index in tree]
    place = {index: new for new, index in enumerate(tree)}
    parents = tuple(place[j.parent] if j.parent >= 0 else -1 for j in joints)
    frames = len(text.values)
    joint_quat = np.empty((frames, len(joints), 4))
    for new, joint in enumerate(joints):
        joint_quat[:, new] = _rotations(joint, text.values)
    offsets = np.array([joint.offset for joint in joints], dtype=np.float64)
    moving, notes = _translations(joints, offsets, text.values)
    root = moving.pop(0, np.broadcast_to(offsets[0], (frames, 3)))
    offsets[0] = 0.0
    size = max(np.abs(array).max() for array in (offsets, *moving.values()))
    for new, pos in list(moving.items()):
        if np.ptp(pos, axis=0).max() <= STILL * size:
            offsets[new] = np.median(moving.pop(new), axis=0)
    local_pos = None
    if moving:
        local_pos = np.broadcast_to(offsets, (frames, *offsets.shape)).copy()
        for new, pos in moving.items():
            local_pos[:, new] = pos
            offsets[new] = np.median(pos, axis=0)
    names, renamed = _unique([joint.name for joint in joints])
    if renamed:
        notes.append(Note("MK108", f"joint names occur more than once; renamed: {renamed}"))
    ends = [(new, end) for new, joint in enumerate(joints) for end in joint.ends]
    clip = SkeletonClip(
        name=source.path.stem,
        fps=fps,
        joint_names=names,
        parents=parents,
        offsets=offsets,
        root_pos_w=np.array(root),
        joint_quat=joint_quat,
        roles={},
        provenance=Provenance(
            path=str(source.path),
            sha256=source.sha256,
            format="bvh",
            writer=find_writer(names),
            options=options.stated(),
        ),
        local_pos=local_pos,
        end_parents=np.array([parent for parent, _ in ends], dtype=np.int64),
        end_offsets=np.array([end for _, end in ends], dtype=np.float64).reshape(-1, 3),
    )
    return clip, notes


def _rotations(joint: Joint, values: Float[Array, "T C"]) -> Float[Array, "T 4"]:
    """Local rotations, in the order in which CHANNELS lists the axes."""
    columns = [
        (joint.first_column + i, axis)
        for i, (kind, axis) in enumerate(joint.channels)
        if kind == "rotation"
    ]
    order = "".join(axis for _, axis in columns)
    angles = np.radians(values[:, [column for column, _ in columns]])  # BVH is in degrees
    return rotation.unroll(np.array(rotation.from_euler(order, angles)))


def _translations(
    joints: list[Joint], offsets: Float[Array, "J 3"], values: Float[Array, "T C"]
) -> tuple[dict[int, Float[Array, "T 3"]], list[Note]]:
    """Translations of the joints that have position channels, an absent axis as in OFFSET.

    Below the root, channels that stay empty in most joints although OFFSET is not are relative
    to it, as MakeHuman writes them; all others replace it.
    """
    moving: dict[int, Array] = {}
    empty = full = 0
    for index, joint in enumerate(joints):
        pos = np.tile(offsets[index], (len(values), 1))
        channels = list(enumerate(joint.channels))
        for column, axis in [(i, axis) for i, (kind, axis) in channels if kind == "position"]:
            pos[:, "XYZ".index(axis)] = values[:, joint.first_column + column]
            moving[index] = pos
        if index and index in moving and np.abs(offsets[index]).max() > 0.0:
            is_empty = np.abs(pos).max() <= EMPTY * np.abs(offsets[index]).max()
            empty, full = empty + is_empty, full + (not is_empty)
    if empty <= full:
        return moving, []
    for index in moving:
        if index:
            moving[index] = moving[index] + offsets[index]
    text = f"position channels of {empty} joints are empty, so they are added to OFFSET"
    return moving, [Note("MK109", text, float(empty))]


def _unique(names: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """Names with a number appended to repeated ones, and those that were changed."""
    taken = set(names)
    seen: set[str] = set()
    out, renamed = [], []
    for name in names:
        new, count = name or "joint", 2
        while new in seen or (new != name and new in taken):
            new, count = f"{name or 'joint'}#{count}", count + 1
        if new != name:
            renamed.append(new)
        seen.add(new)
        out.append(new)
    return tuple(out), renamed


def _up(body: _Body, options: ReadOptions) -> tuple[UpAxis, Literal["motion", "user"], list[Note]]:
    if options.up is not None:
        return options.up, "user", []
    up, notes = world.find_up(body.pos, body.roles)
    return up, "motion", notes


def _anchor_root(body: _Body, up: UpAxis) -> tuple[SkeletonClip, list[Note]]:
    """The clip with the root's OFFSET added, if its positions are relative to it."""
    shift = float(body.root_offset @ world.axis_vector(up))
    stature = world.stature_from_limbs(body.pos, body.roles)
    lowest = world.floor_height(body.pos, body.roles, up)
    if not world.is_root_relative(lowest, shift, stature):
        return body.clip, []
    text = f"root positions are relative to the root's OFFSET, which is added ({shift:g} upwards)"
    clip = replace(body.clip, root_pos_w=body.clip.root_pos_w + body.root_offset)
    return clip, [Note("MK110", text, shift)]


def _scale(
    source: Source, body: _Body, options: ReadOptions
) -> tuple[float, Literal["stature", "user"], list[Note]]:
    """Metres per unit of the file."""
    stature = world.stature_from_limbs(body.pos, body.roles)
    if options.scale is not None:
        return options.scale, "user", []
    unit, notes = world.find_unit(stature)
    if unit is None:
        low, high = STATURE_RANGE
        raise source.error(
            f"the limbs are those of a stature of {stature:.4g} units, and no unit known to "
            f"motionkit makes that {low:g} to {high:g} m",
            field="HIERARCHY",
            help="give the length of one unit in metres with --scale",
        )
    return unit.metres, "stature", notes
