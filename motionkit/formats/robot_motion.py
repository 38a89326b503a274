"""What all readers of robot files share: from arrays as a file has them to a ``RobotMotion``.

Quaternions are scaled to unit length, brought into one hemisphere, and the whole turned into
motionkit's world; angles are held against the ranges of known robots. Nothing else is changed.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import Note, Provenance, RobotMotion, differentiate
from motionkit.formats.quat_order import Finding, find_body_order, find_order, reorder
from motionkit.formats.robot_layouts import (
    RANGE_SLACK,
    ROUNDING,
    Layout,
    layout_by_names,
    layout_by_width,
)
from motionkit.formats.source import QuatOrder, ReadOptions, Source
from motionkit.formats.world import WORLD_QUAT, axis_vector

Array = np.ndarray

LARGEST = 1e6
"""Size beyond which a number is no position [m], angle [rad] or velocity, but damage."""
NORM_TOLERANCE = 1e-2
"""Distance of a quaternion's norm from 1 that two decimals explain; it is divided out."""
MAX_HEIGHT = 5.0
"""Median height of a root [m] taken for metres; higher ones are another unit, or the user's."""
MAX_DISTANCE = 1e4
"""Largest coordinate [m] taken for one."""
MAX_ANGLE = 4.0 * np.pi
"""Largest angle [rad] of a robot that is not known; larger ones are degrees."""
STANDING = (0.2, 1.5)
"""Heights of a humanoid's root [m] by which a unit is guessed, to advise on it."""
VELOCITY_TOLERANCE = {"m/s": 0.3, "rad/s": 1.0}
"""Disagreement of stored velocities with differences that filters and schemes explain."""
VELOCITY_SHARE = 0.25
"""The same, as a share of the largest true speed."""
ROOT_AGREEMENT = 0.01
"""Distance [m] between the root of a file and its first body that counts as agreement."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Arrays of a file, all with the same frames, quaternions wxyz in any hemisphere."""

    root_pos: Float[Array, "T 3"]
    """In the unit and world of the file."""
    root_quat: Float[Array, "T 4"]
    """Unit length."""
    joint_pos: Float[Array, "T n"]
    """Angles [rad]."""
    writer: str
    """Family of files recognised, for people."""
    joint_names: tuple[str, ...] | None = None
    """Of the columns."""
    robot: str | None = None
    """Known robot."""
    joint_vel: Float[Array, "T n"] | None = None
    """Stored joint velocities."""
    body_names: tuple[str, ...] | None = None
    """Of the bodies."""
    bodies: dict[str, Array] = field(default_factory=dict)
    """By field of ``RobotMotion``: ``body_pos_w``, ``body_quat_w``, …"""
    contact: Float[Array, "T K"] | None = None
    """Stored contacts."""
    name: str = ""
    """Of the clip, where it is not the file's stem."""


def require_numbers(source: Source, name: str, values: Array, columns: list[str] | None) -> None:
    """Refuse what is not finite or absurdly large, naming frame and column.

    Args:
        source: the file.
        name: of the field.
        values: frames first.
        columns: names of the columns of a table, whose fields they then are.
    """
    sane = np.abs(values) <= LARGEST  # false of NaN
    if sane.all():
        return
    index = tuple(int(i) for i in np.argwhere(~sane)[0])
    where = name if columns is None else columns[index[1]]
    which = f", index {index[1:]}" if columns is None else ""
    raise source.error(
        f"{values[index]} at frame {index[0]}{which}, expected a finite number"
        + (f" of at most {LARGEST:g}" if np.isfinite(values[index]) else ""),
        field=where,
        help="cut the clip there, or repair it",
    )


def unit_quats(source: Source, name: str, quat: Float[Array, "T *n 4"]) -> Float[Array, "T *n 4"]:
    """The quaternions at unit length.

    Raises:
        InputError: one is further from it than rounding explains.
    """
    norm = np.linalg.norm(quat, axis=-1)
    bad = np.abs(norm - 1.0) > NORM_TOLERANCE
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        body = f", body {at[-1]}" if quat.ndim > 2 else ""
        raise source.error(f"quaternion of norm {norm[at]:.4g} at frame {at[0]}{body}, expected 1",
                           field=name, help="repair the file, or cut the clip there")  # fmt: skip
    return quat / norm[..., None]


def name_joints(
    source: Source, name: str, angles: Float[Array, "T n"], names: tuple[str, ...] | None,
    *, is_mujoco_order: bool,
) -> tuple[tuple[str, ...] | None, Layout | None, list[Note]]:  # fmt: skip
    """Names of joint columns and the known robot they belong to, angles held against its ranges.

    Args:
        source: the file.
        name: of the field with the angles.
        angles: the columns [rad].
        names: as the file states them.
        is_mujoco_order: whether files of this kind list joints as MuJoCo does. Otherwise PhysX's
            order is possible too, and the ranges must tell.

    Raises:
        InputError: an angle is far outside its joint's range, or in degrees.
    """
    notes = []
    width = angles.shape[1]
    layout = layout_by_names(names) if names else layout_by_width(width)
    if names is None and layout is not None:
        names, notes = _order_by_ranges(name, angles, layout, is_mujoco_order)
    elif names is None:
        text = f"{width} joints without names, of no robot that is known by its number of joints"
        notes.append(Note("MK162", text, float(width)))
    if layout is None or names is None:
        largest = float(np.max(np.abs(angles), initial=0.0))
        if largest > MAX_ANGLE:
            frame, column = (int(i) for i in np.argwhere(np.abs(angles) == largest)[0])
            raise source.error(
                f"{angles[frame, column]:.5g} at frame {frame}, joint {column}, expected radians",
                field=name, help="turn degrees into radians",
            )  # fmt: skip
        return names, layout, notes
    return names, layout, notes + _require_ranges(source, name, angles, names, layout)


def _order_by_ranges(
    name: str, angles: Float[Array, "T n"], layout: Layout, is_mujoco_order: bool
) -> tuple[tuple[str, ...] | None, list[Note]]:
    width, robot = angles.shape[1], layout.robot
    if is_mujoco_order:
        text = f"joints named as the {width} of {robot} in MuJoCo's order: the file has no names"
        return layout.joints, [Note("MK161", text, float(width))]
    worst = {
        which: float(np.max(layout.excess(names, angles)))
        for which, names in (("MuJoCo", layout.joints), ("PhysX", layout.breadth_first))
    }
    said = ", ".join(
        f"{'inside them' if excess <= 0 else f'{excess:.3f} rad beyond them'} in {which}'s order"
        for which, excess in worst.items()
    )
    fits = [which for which, excess in worst.items() if excess <= ROUNDING]
    if len(fits) != 1:
        text = (f"{name} has the {width} joints of {robot} without names; its ranges do not tell "
                f"the order ({said}): a model must")  # fmt: skip
        return None, [Note("MK162", text, float(width))]
    text = f"joints named as the {width} of {robot} in {fits[0]}'s order, by its ranges ({said})"
    names = layout.joints if fits[0] == "MuJoCo" else layout.breadth_first
    return names, [Note("MK161", text, float(width))]


def _require_ranges(
    source: Source, name: str, angles: Float[Array, "T n"], names: tuple[str, ...], layout: Layout
) -> list[Note]:
    excess = layout.excess(names, angles)
    if excess.size == 0 or excess.max() <= ROUNDING:
        return []
    frame, joint = (int(i) for i in np.unravel_index(excess.argmax(), excess.shape))
    low, high = layout.limits[layout.joints.index(names[joint])]
    text = (f"{names[joint]} is {angles[frame, joint]:.5g} rad at frame {frame}, the range of "
            f"{layout.robot} is {low:.5g} to {high:.5g}")  # fmt: skip
    if excess.max() <= RANGE_SLACK:
        count = int(np.sum(np.any(excess > ROUNDING, axis=1)))
        return [
            Note("MK169", f"{text}; {count} frames are beyond ranges", float(excess.max()), "rad")
        ]
    help = "check robot and joint order; clip or repair the motion at its source"
    if np.max(np.abs(angles)) > MAX_ANGLE and layout.excess(names, np.radians(angles)).max() <= 0:
        help = "the angles fit the ranges as degrees: turn them into radians"
    raise source.error(text, field=name, help=help)


def settle_order(
    source: Source, name: str, found: Finding, options: ReadOptions, convention: QuatOrder | None
) -> tuple[QuatOrder, list[Note]]:
    """The order of quaternion components: the user's, else the motion's, else the format's.

    Args:
        source: the file.
        name: of the field.
        found: what the motion says.
        options: the user's.
        convention: what files of this kind have, where there is one.

    Raises:
        InputError: the motion does not tell and there is no convention, or it contradicts it.
    """
    if options.quat_order is not None:
        text = f"{name} read as {options.quat_order}, given by the user ({found.text})"
        return options.quat_order, [Note("MK160", text)]
    if found.order is None and convention is None:
        raise source.error(f"order of components not settled: {found.text}", field=name,
                           help="give --quat-order wxyz or --quat-order xyzw")  # fmt: skip
    if found.order and convention and found.order != convention:
        raise source.error(
            f"quaternions are {found.order}, expected {convention}: {found.text}",
            field=name, help=f"if that is meant, give --quat-order {found.order}",
        )  # fmt: skip
    if found.order is None:
        assert convention is not None
        text = f"{name} read as {convention}, as such files have it; not checked: {found.text}"
        return convention, [Note("MK160", text)]
    return found.order, [Note("MK160", f"{name} read as {found.order}: {found.text}")]


def root_order(
    quat: Float[Array, "T 4"], pos: Float[Array, "T 3"], angles: Float[Array, "T n"],
    names: tuple[str, ...] | None, layout: Layout | None, options: ReadOptions,
) -> Finding:  # fmt: skip
    """What the motion says about the order of the root's quaternions, unit length."""
    up = options.up or "z"
    if layout is None or names is None or up != "z":
        return find_order(quat, pos, axis_vector(up))
    ordered = angles[:, [names.index(joint) for joint in layout.joints]]
    return find_order(quat, pos, axis_vector(up), lambda root: layout.foot_tilt(root, ordered))


def body_order(quat: Float[Array, "T B 4"], pos: Float[Array, "T B 3"] | None) -> Finding:
    """What the motion says about the order of the quaternions of bodies, unit length."""
    if pos is None:
        return Finding(None, "no positions of bodies are stored")
    return find_body_order(quat, pos)


def reorder_quats(quat: Float[Array, "T *n 4"], order: QuatOrder) -> Float[Array, "T *n 4"]:
    """Quaternions of that order as wxyz."""
    return reorder(quat, order)


def finish(
    source: Source, options: ReadOptions, format: str, draft: Draft, notes: list[Note],
    rate: Callable[[], tuple[float, list[Note]]],
) -> RobotMotion:  # fmt: skip
    """The motion in motionkit's world, with notes on what was done.

    The rate comes last, so that a file with a fault and without a rate is refused for the fault.

    Raises:
        InputError: the unit is no metre.
    """
    scale = options.scale or 1.0
    _require_metres(source, draft.root_pos * scale, options)
    up = options.up or "z"
    turn = np.array(WORLD_QUAT[up])
    root_quat, bodies, more = _unroll(rotation.multiply(turn, draft.root_quat), draft.bodies)
    fps, said = rate()
    notes = [*notes, *more, *said]
    for name in bodies:
        if name == "body_quat_w":
            bodies[name] = rotation.multiply(turn, bodies[name])
        else:
            length = scale if name != "body_ang_vel_w" else 1.0
            bodies[name] = rotation.rotate(turn, bodies[name] * length)
    motion = RobotMotion(
        name=draft.name or source.path.stem, fps=fps,
        root_pos_w=rotation.rotate(turn, draft.root_pos * scale), root_quat=root_quat,
        joint_pos=draft.joint_pos, joint_names=draft.joint_names, robot=draft.robot,
        joint_vel=draft.joint_vel, body_names=draft.body_names, contact=draft.contact, **bodies,
        provenance=Provenance(
            path=str(source.path), sha256=source.sha256, format=format, writer=draft.writer,
            unit_scale=scale, unit_source="user" if options.scale else "format",
            up=up, up_source="user" if options.up else "format", world_quat=WORLD_QUAT[up],
            options=options.stated(), notes=(),
        ),
    )  # fmt: skip
    notes += _velocity_notes(motion)
    return replace(motion, provenance=replace(motion.provenance, notes=tuple(notes)))


def _require_metres(source: Source, pos: Float[Array, "T 3"], options: ReadOptions) -> None:
    far = np.abs(pos) > MAX_DISTANCE
    if far.any():
        frame, axis = (int(i) for i in np.argwhere(far)[0])
        raise source.error(
            f"{pos[frame, axis]:.5g} at frame {frame}, {'xyz'[axis]}, expected metres",
            field="root position",
            help="give the unit with --scale",
        )
    height = float(np.median(pos @ axis_vector(options.up or "z")))
    if options.scale is not None or abs(height) <= MAX_HEIGHT:
        return
    units = (("mm", 0.001), ("cm", 0.01), ("dm", 0.1), ("inch", 0.0254))
    fits = [(name, unit) for name, unit in units if STANDING[0] <= height * unit <= STANDING[1]]
    said = "".join(f"; in {name} it is {height * unit:.2f} m" for name, unit in fits[:1])
    unit = fits[0][1] if fits else 0.01
    raise source.error(
        f"median height is {height:.5g}, expected metres (at most {MAX_HEIGHT:g}){said}",
        field="root position", help=f"give the unit with --scale, e.g. --scale {unit:g}",
    )  # fmt: skip


def _unroll(
    root: Float[Array, "T 4"], bodies: dict[str, Array]
) -> tuple[Float[Array, "T 4"], dict[str, Array], list[Note]]:
    """Quaternions in one hemisphere, and a note when some were not."""
    flips = int(np.sum(np.sum(root[1:] * root[:-1], axis=-1) < 0))
    bodies = dict(bodies)
    if "body_quat_w" in bodies:
        quat = bodies["body_quat_w"]
        flips += int(np.sum(np.sum(quat[1:] * quat[:-1], axis=-1) < 0))
        bodies["body_quat_w"] = rotation.unroll(quat)
    notes = []
    if flips:
        text = (
            f"{flips} quaternions had the sign opposite to the frame before; turned, same rotation"
        )
        notes.append(Note("MK166", text, float(flips)))
    return rotation.unroll(root), bodies, notes


def _velocity_notes(motion: RobotMotion) -> list[Note]:
    """Where stored velocities are no differences of the stored poses, by any usual scheme."""
    if motion.num_frames < 2:
        return []
    checks = (
        ("joint_vel", motion.joint_vel, motion.joint_pos, differentiate, "rad/s"),
        ("body_lin_vel_w", motion.body_lin_vel_w, motion.body_pos_w, differentiate, "m/s"),
        ("body_ang_vel_w", motion.body_ang_vel_w, motion.body_quat_w, rotation.angular_velocity,
         "rad/s"),
    )  # fmt: skip
    notes = []
    for name, stored, pose, rate, unit in checks:
        if stored is None or pose is None or not stored.size:
            continue
        names = motion.joint_names if name == "joint_vel" else motion.body_names
        notes += _compare(name, stored, pose, rate, motion.fps, unit, names)
    return notes


def _compare(
    name: str, stored: Array, pose: Array, rate: Callable[[Array, float], Array], fps: float,
    unit: str, names: tuple[str, ...] | None,
) -> list[Note]:  # fmt: skip
    central = rate(pose, fps)
    steps = rate(np.stack([pose[:-1], pose[1:]]), fps)[0]  # two frames at a time: one-sided
    schemes = (central, np.concatenate([steps, steps[-1:]]), np.concatenate([steps[:1], steps]))

    def size(values: Array) -> Array:
        return np.abs(values) if values.ndim == 2 else np.linalg.norm(values, axis=-1)

    error = np.min([size(stored - scheme) for scheme in schemes], axis=0)
    true = float(size(central).max())
    allowed = max(VELOCITY_TOLERANCE[unit], VELOCITY_SHARE * true)
    if error.max() <= allowed:
        return []
    frame, index = (int(i) for i in np.unravel_index(error.argmax(), error.shape))
    which = names[index] if names else f"number {index}"
    text = (
        f"{name} is {size(stored)[frame, index]:.4g} {unit} at frame {frame} of {which}, "
        f"{error[frame, index]:.4g} from what the poses give (at most {true:.4g} in all); "
        f"{int(np.sum(error > allowed))} values disagree by more than {allowed:.3g}"
    )
    if name == "body_lin_vel_w":
        text += "; perhaps those of centres of mass, or filtered"
    return [Note("MK164", text, float(error.max()), unit)]
