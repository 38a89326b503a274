"""A robot's motion as named arrays: the ``.npz`` of tracking trainers.

One table of names covers BeyondMimic and mjlab, holosoma, Isaac Lab's AMP, LocoMuJoCo and
MuscleMimic, ASAP and GMR, and Eden's reference fields. Joints and bodies are told by names where
the file has them, never by row numbers.
"""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import Note, RobotMotion
from motionkit.errors import InputError
from motionkit.formats.npz import Npz, open_npz
from motionkit.formats.quat_order import Finding
from motionkit.formats.robot_fields import (
    BODY_KEYS,
    BODY_NAME_KEYS,
    BODY_QUAT_KEYS,
    JOINT_NAME_KEYS,
    JOINT_POS_KEYS,
    JOINT_VEL_KEYS,
    RATE_KEYS,
    ROOT_BODIES,
    ROOT_POS_KEYS,
    ROOT_QUAT_KEYS,
    STEP_KEYS,
    find_first,
    read_array,
    read_names,
)
from motionkit.formats.robot_layouts import Layout, layout_by_width
from motionkit.formats.robot_motion import (
    ROOT_AGREEMENT,
    Draft,
    body_order,
    finish,
    name_joints,
    reorder_quats,
    root_order,
    settle_order,
    unit_quats,
)
from motionkit.formats.source import QuatOrder, ReadOptions, Source, settle_rate

Array = np.ndarray

WORLD_TOLERANCE = 1e-6
"""Distance [m, and of quaternion components] from origin and identity of a body called world."""
_FREE = 0  # MuJoCo's mjJNT_FREE
_POSE = 7  # numbers of a free joint in qpos
_TWIST = 6  # and in qvel


@dataclass(slots=True)
class _Fields:
    """What was found in a file, while it is being put together."""

    npz: Npz
    frames: int
    joint_key: str
    joint_pos: Float[Array, "T n"]
    root: tuple[Float[Array, "T 3"], Float[Array, "T 4"], str, QuatOrder | None] | None = None
    joint_names: tuple[str, ...] | None = None
    joint_vel: Float[Array, "T n"] | None = None
    body_names: tuple[str, ...] | None = None
    bodies: dict[str, Array] = field(default_factory=dict)
    body_quat: tuple[str, QuatOrder] | None = None
    notes: list[Note] = field(default_factory=list)


def read(source: Source, options: ReadOptions) -> RobotMotion:
    """The motion in an ``.npz`` of a robot.

    Raises:
        InputError: a field is missing, damaged or contradicts another; the rate is missing; the
            quaternions are of another order than such files have.
    """
    npz = open_npz(source)
    fields = _joints(npz)
    _bodies(fields)
    _one_take(fields, options)
    _drop_world(fields)
    has_names = fields.joint_names is not None
    names, layout, notes = name_joints(
        source, fields.joint_key, fields.joint_pos, fields.joint_names, is_mujoco_order=False
    )
    fields.notes += notes
    _order_bodies(fields, options)
    root_pos, root_quat = _root(fields, names, layout, options)
    draft = Draft(
        root_pos=root_pos, root_quat=root_quat, joint_pos=fields.joint_pos, joint_names=names,
        robot=layout.robot if layout else None, joint_vel=fields.joint_vel,
        body_names=fields.body_names, bodies=fields.bodies, writer=_writer(npz, has_names),
        contact=_contact(fields),
    )  # fmt: skip
    return finish(source, options, "robot_npz", draft, fields.notes, lambda: _rate(npz, options))


def _joints(npz: Npz) -> _Fields:
    """Joint angles, velocities and names, the root taken off."""
    key = find_first(npz, JOINT_POS_KEYS)
    if key is None:
        raise npz.source.error(
            f"holds no joint angles (keys: {', '.join(npz.keys[:12])})",
            field="joint_pos", help=f"name them one of {', '.join(JOINT_POS_KEYS)}",
        )  # fmt: skip
    values = read_array(npz, key, 2, None)
    fields = _Fields(npz, len(values), key, values)
    names = read_names(npz, JOINT_NAME_KEYS)
    free = _free_joints(npz, names)
    fields.joint_names = names = None if names is None else names[free:]
    vel_key = find_first(npz, JOINT_VEL_KEYS)
    vel = None if vel_key is None else read_array(npz, vel_key, 2, len(values))
    width = values.shape[1]
    lead = _lead(npz, key, width, names, None if vel is None else vel.shape[1])
    if lead:
        fields.root = (values[:, :3], values[:, 3:_POSE], f"{key} columns 3 to 6", "wxyz")
        fields.joint_pos = values[:, lead:]
    if vel is not None and vel_key is not None:
        joints = width - lead
        if vel.shape[1] not in (joints, joints + _TWIST):
            raise npz.source.error(
                f"has {vel.shape[1]} columns, expected {joints} or {joints + _TWIST}, as {key}",
                field=vel_key,
            )
        fields.joint_vel = vel[:, vel.shape[1] - joints :]
    return fields


def _free_joints(npz: Npz, names: tuple[str, ...] | None) -> int:
    """Number of free joints that the names begin with: 0 or 1."""
    if "jnt_type" not in npz.members or names is None:
        return 0
    kinds = npz.numbers("jnt_type").reshape(-1)
    if len(kinds) != len(names):
        raise npz.source.error(f"has {len(kinds)} joints, joint_names {len(names)}",
                               field="jnt_type")  # fmt: skip
    free = np.flatnonzero(kinds == _FREE)
    if list(free) != [0] or np.any(kinds[1:] < 2):
        raise npz.source.error(
            f"types {[int(k) for k in kinds[:8]]}…, expected one free joint (0), then slides (2) "
            "and hinges (3)", field="jnt_type", help="take objects and ball joints out",
        )  # fmt: skip
    return 1


def _lead(
    npz: Npz, key: str, width: int, names: tuple[str, ...] | None, vel_width: int | None
) -> int:
    """Columns of the root before the joints: 0 or 7."""
    if names is not None:
        if width - len(names) in (0, _POSE):
            return width - len(names)
        raise npz.source.error(
            f"has {width} columns for {len(names)} joint names, expected {len(names)} or "
            f"{len(names) + _POSE} with the root", field=key, help="take objects out of the file",
        )  # fmt: skip
    if vel_width is not None and vel_width == width - 1:
        return _POSE
    if key == "qpos" or (layout_by_width(width) is None and layout_by_width(width - _POSE)):
        if width <= _POSE:
            raise npz.source.error(f"has {width} columns, expected a root and joints", field=key)
        return _POSE
    return 0


def _bodies(fields: _Fields) -> None:
    """What is stored of bodies, all of one count, and their names."""
    npz, count = fields.npz, None
    entries = [(name, find_first(npz, keys), 3) for name, keys in BODY_KEYS.items()]
    quat = next((pair for pair in BODY_QUAT_KEYS if pair[0] in npz.members), None)
    entries.append(("body_quat_w", quat[0] if quat else None, 4))
    for name, key, last in entries:
        if key is None or (key in ("xpos", "xquat") and npz.numbers(key).size == 0):
            continue
        values = read_array(npz, key, 3, fields.frames, last)
        if count is not None and values.shape[1] != count:
            raise npz.source.error(f"has {values.shape[1]} bodies, the fields before it {count}",
                                   field=key)  # fmt: skip
        count = values.shape[1]
        fields.bodies[name] = values
    if quat and "body_quat_w" in fields.bodies:
        fields.body_quat = quat
        fields.bodies["body_quat_w"] = unit_quats(npz.source, quat[0], fields.bodies["body_quat_w"])
    if count is None:
        return
    try:
        names = read_names(npz, BODY_NAME_KEYS)
    except InputError as error:
        if "object" not in error.message and "pickle" not in error.message:
            raise
        names = None  # LocoMuJoCo writes None for what it does not know
    if names is not None and len(names) != count:
        raise npz.source.error(f"has {len(names)} names for {count} bodies",
                               field=find_first(npz, BODY_NAME_KEYS) or "")  # fmt: skip
    fields.body_names = names


def _one_take(fields: _Fields, options: ReadOptions) -> None:
    """The frames of one motion, where ``split_points`` parts a file into several."""
    npz = fields.npz
    if "split_points" not in npz.members:
        return
    points = npz.numbers("split_points").reshape(-1)
    is_sound = (len(points) >= 2 and points[0] == 0 and points[-1] == fields.frames
                and np.all(np.diff(points) > 0) and np.all(points == np.round(points)))  # fmt: skip
    if not is_sound:
        raise npz.source.error(f"{points[:6].tolist()} does not part {fields.frames} frames",
                               field="split_points")  # fmt: skip
    count = len(points) - 1
    if options.take is None and count > 1:
        raise npz.source.error(f"holds {count} motions", field="split_points",
                               help=f"give --take 0 to --take {count - 1}")  # fmt: skip
    take = options.take or 0
    if take >= count:
        raise npz.source.error(
            f"holds {count} motions, number {take} asked for",
            field="split_points",
            help=f"give --take 0 to --take {count - 1}",
        )
    cut = slice(int(points[take]), int(points[take + 1]))
    fields.frames = cut.stop - cut.start
    fields.joint_pos = fields.joint_pos[cut]
    fields.joint_vel = None if fields.joint_vel is None else fields.joint_vel[cut]
    fields.bodies = {name: values[cut] for name, values in fields.bodies.items()}
    if fields.root is not None:
        pos, quat, name, order = fields.root
        fields.root = (pos[cut], quat[cut], name, order)


def _drop_world(fields: _Fields) -> None:
    """Leave out the body that MuJoCo calls ``world``: first, fixed to the origin."""
    pos, quat = fields.bodies.get("body_pos_w"), fields.bodies.get("body_quat_w")
    given = pos if pos is not None else quat
    if given is None or given.shape[1] < 2:
        return
    is_still = (pos is None or float(np.abs(pos[:, 0]).max()) <= WORLD_TOLERANCE) and (
        quat is None or float(np.ptp(np.abs(quat[:, 0]), axis=0).max()) <= WORLD_TOLERANCE
    )
    is_named = fields.body_names is not None and fields.body_names[0].lower() == "world"
    if is_named and not is_still:
        raise fields.npz.source.error(
            "body world is not at the origin, at rest",
            field="body_pos_w",
            help="store bodies in the world frame",
        )
    is_alike = pos is not None and fields.body_names is None
    if not (is_named or (is_alike and is_still)):
        return
    fields.bodies = {name: values[:, 1:] for name, values in fields.bodies.items()}
    fields.body_names = None if fields.body_names is None else fields.body_names[1:]
    how = "" if is_named else ", which has no name and rests at the origin"
    text = f"the first of {given.shape[1]} bodies is the world{how}; left out"
    fields.notes.append(Note("MK165", text, float(given.shape[1])))


def _order_bodies(fields: _Fields, options: ReadOptions) -> None:
    """Bring the quaternions of bodies into wxyz, once the motion agrees with the format."""
    if fields.body_quat is None:
        return
    key, convention = fields.body_quat
    quat = fields.bodies["body_quat_w"]
    found = body_order(quat, fields.bodies.get("body_pos_w"))
    order, notes = settle_order(fields.npz.source, key, found, options, convention)
    fields.bodies["body_quat_w"] = reorder_quats(quat, order)
    fields.notes += notes


def _root(
    fields: _Fields, names: tuple[str, ...] | None, layout: Layout | None, options: ReadOptions
) -> tuple[Float[Array, "T 3"], Float[Array, "T 4"]]:
    """Pose of the floating body: fields of its own, columns before the joints, or a body."""
    npz, frames = fields.npz, fields.frames
    pos_key = find_first(npz, ROOT_POS_KEYS)
    quat_key = next((pair for pair in ROOT_QUAT_KEYS if pair[0] in npz.members), None)
    if pos_key and quat_key:
        if "split_points" in npz.members:
            raise npz.source.error("is not expected beside split_points", field=pos_key)
        pos, quat = (
            read_array(npz, pos_key, 2, frames, 3),
            read_array(npz, quat_key[0], 2, frames, 4),
        )
        fields.root = (pos, quat, *quat_key)
    body = _root_body(fields)
    if fields.root is None:
        if body is None:
            raise npz.source.error(
                f"no pose of the root (keys: {', '.join(npz.keys[:12])})", field="root_pos",
                help="store root_pos and root_quat, or body_pos_w and body_quat_w",
            )  # fmt: skip
        return body
    pos, quat, name, convention = fields.root
    quat = unit_quats(npz.source, name, quat)
    if body is not None and fields.body_quat and options.quat_order is None:
        found = _against_body(quat, body[1], fields.body_quat[0])
    else:
        found = root_order(quat, pos, fields.joint_pos, names, layout, options)
    order, notes = settle_order(npz.source, name, found, options, convention)
    fields.notes += notes
    if body is not None:
        apart = np.linalg.norm(pos - body[0], axis=1)
        if apart.max() > ROOT_AGREEMENT:
            frame = int(apart.argmax())
            raise npz.source.error(f"root and root body are {apart[frame]:.3g} m apart at frame "
                                   f"{frame}", field=name)  # fmt: skip
    return pos, reorder_quats(quat, order)


def _against_body(quat: Array, body: Float[Array, "T 4"], key: str) -> Finding:
    """The order in which the root's quaternions are those of its body."""
    readings: tuple[QuatOrder, QuatOrder] = ("wxyz", "xyzw")
    off = [float(rotation.angle_between(reorder_quats(quat, o), body).max()) for o in readings]
    text = f"{off[0]:.2g} rad from the body in {key} as wxyz, {off[1]:.2g} as xyzw"
    best = int(off[1] < off[0])
    return Finding(readings[best] if off[best] < 0.5 * off[1 - best] else None, text)


def _root_body(fields: _Fields) -> tuple[Float[Array, "T 3"], Float[Array, "T 4"]] | None:
    """Pose of the body that floats: by name, or the first, as trainers store it."""
    pos, quat = fields.bodies.get("body_pos_w"), fields.bodies.get("body_quat_w")
    if pos is None or quat is None:
        return None
    names = [name.lower() for name in fields.body_names or ()]
    index = next((names.index(name) for name in ROOT_BODIES if name in names), None)
    if index is None and names and fields.root is not None:
        return None
    if index is None:
        index = 0
        if fields.root is None:
            called = f", {fields.body_names[0]}," if fields.body_names else ""
            text = (
                f"the first body{called} taken for the root: mjlab and BeyondMimic store it first"
            )
            fields.notes.append(Note("MK161", text))
    return pos[:, index], quat[:, index]


def _contact(fields: _Fields) -> Float[Array, "T K"] | None:
    """Stored contacts that are probabilities of one set of bodies."""
    npz = fields.npz
    if "contacts" not in npz.members or "split_points" in npz.members:
        return None
    array = npz.array("contacts")
    if array.dtype.kind not in "bfiu" or array.ndim != 2 or len(array) != fields.frames:
        raise npz.source.error(f"has type {array.dtype} and shape {array.shape}, expected "
                               f"({fields.frames}, K) numbers", field="contacts")  # fmt: skip
    values = array.astype(np.float64)
    if not (
        np.isfinite(values).all() and values.min(initial=0) >= 0 and values.max(initial=0) <= 1
    ):
        raise npz.source.error("is not within 0 and 1", field="contacts")
    return values


def _writer(npz: Npz, has_names: bool) -> str:
    if "qpos" in npz.members:
        return "LocoMuJoCo" if "split_points" in npz.members else "MuJoCo"
    if "body_pos_w" in npz.members:
        return "holosoma" if has_names else "BeyondMimic or mjlab"
    if "dof_positions" in npz.members:
        return "Isaac Lab AMP"
    if "dofs_pos" in npz.members:
        return "Eden"
    return "ASAP or GMR" if "root_rot" in npz.members else "unknown"


def _rate(npz: Npz, options: ReadOptions) -> tuple[float, list[Note]]:
    """The user's rate, else the file's."""
    key = find_first(npz, RATE_KEYS + STEP_KEYS)
    if key is None:
        if options.fps is None:
            raise npz.source.error(f"no rate is stated (keys: {', '.join(npz.keys[:12])})",
                                   field="fps", help="give the rate with --source-fps")  # fmt: skip
        return settle_rate(npz.source, np.nan, options, field="fps", said="(absent)")
    values = npz.numbers(key).reshape(-1)
    if values.size == 0 or not np.all((values == values[0]) | np.isnan(values)):
        raise npz.source.error(f"holds {values.size} rates, expected one", field=key)
    value = float(values[0])
    if key in STEP_KEYS:
        value = 1.0 / value if value != 0 else np.nan
    return settle_rate(npz.source, value, options, field=key, said=f"{values[0]:.9g}")
