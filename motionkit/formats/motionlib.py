"""ProtoMotions' motions: one in a ``.motion``, several packed in a ``.pt``.

Both are files of ``torch.save``, read by :mod:`motionkit.formats.torch_file`. Quaternions are
``xyzw``, positions in metres, Z up; the first body is the root. ``dof_pos`` holds hinge angles for
robots of hinges. For robots of ball joints it holds **exponential maps**, three numbers a joint,
which are no hinge angles: of those, SOMA-23's are turned into the angles of its hinges (about x, y
and z in turn), and others are refused.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import Note, RobotMotion
from motionkit.formats.robot_layouts import SOMA23_BODIES
from motionkit.formats.robot_motion import (
    Draft,
    body_order,
    finish,
    name_joints,
    reorder_quats,
    require_numbers,
    settle_order,
    unit_quats,
)
from motionkit.formats.source import ReadOptions, Source, settle_rate
from motionkit.formats.torch_file import read_torch

Array = np.ndarray

PACKED = {
    "gts": "rigid_body_pos", "grs": "rigid_body_rot", "gvs": "rigid_body_vel",
    "gavs": "rigid_body_ang_vel", "dps": "dof_pos", "dvs": "dof_vel", "lrs": "local_rigid_body_rot",
    "contacts": "rigid_body_contacts",
}  # fmt: skip
"""Names of a packed file, and of the same in a single one
(``protomotions/components/motion_lib.py``)."""
BODY_FIELDS = (
    ("body_pos_w", "rigid_body_pos", 3), ("body_quat_w", "rigid_body_rot", 4),
    ("body_lin_vel_w", "rigid_body_vel", 3), ("body_ang_vel_w", "rigid_body_ang_vel", 3),
)  # fmt: skip
"""Fields of ``RobotMotion``, where they are, and their last axis."""
BALL_AGREEMENT = 1e-3
"""Angle [rad] between exponential maps and stored local rotations that float32 explains."""
NEAR_LOCK = np.radians(85.0)
"""Second of three hinge angles from which the others are ill-defined."""
_SHOWN = 5  # names of motions in a message


@dataclass(frozen=True, slots=True)
class _Single:
    fields: dict[str, Any]
    rate: float
    said: str
    rate_field: str
    name: str
    frames: int


def read(source: Source, options: ReadOptions) -> RobotMotion:
    """The motion in a file of ProtoMotions.

    Raises:
        InputError: no such file, a damaged one, several motions and none chosen, or exponential
            maps of a robot that is not known.
    """
    data = read_torch(source)
    single = _unpack(source, data, options) if "gts" in data else _alone(source, data)
    bodies, notes = _bodies(source, single, options)
    dofs, joint_vel = _tensor(source, single, "dof_pos", 2), _tensor(source, single, "dof_vel", 2)
    if dofs is None:
        raise source.error(f"is missing (keys: {_keys(data)})", field="dof_pos")
    if joint_vel is not None and joint_vel.shape != dofs.shape:
        raise source.error(
            f"has {joint_vel.shape[1]} columns, dof_pos has {dofs.shape[1]}", field="dof_vel"
        )
    body_names, count = None, bodies["body_pos_w"].shape[1]
    local = _tensor(source, single, "local_rigid_body_rot", 3, 4)
    if local is not None or dofs.shape[1] == 3 * (count - 1):
        dofs, more = _hinges(source, dofs, local, count)
        names, robot, joint_vel, body_names = _soma_joints(), "soma23_humanoid", None, SOMA23_BODIES
    else:
        names, layout, more = name_joints(source, "dof_pos", dofs, None, is_mujoco_order=True)
        robot = layout.robot if layout else None
    draft = Draft(
        root_pos=bodies["body_pos_w"][:, 0],
        root_quat=bodies["body_quat_w"][:, 0],
        joint_pos=dofs,
        writer="ProtoMotions",
        joint_names=names,
        robot=robot,
        joint_vel=joint_vel,
        body_names=body_names,
        bodies=bodies,
        contact=_contact(source, _tensor(source, single, "rigid_body_contacts", 2)),
        name=single.name,
    )

    def rate() -> tuple[float, list[Note]]:
        field, said = single.rate_field, single.said
        return settle_rate(source, single.rate, options, field=field, said=said)

    return finish(source, options, "motionlib", draft, notes + more, rate)


def _bodies(
    source: Source, single: _Single, options: ReadOptions
) -> tuple[dict[str, Array], list[Note]]:
    """What is stored of bodies, by field of ``RobotMotion``; quaternions wxyz."""
    bodies = {}
    for name, field, last in BODY_FIELDS:
        values = _tensor(source, single, field, 3, last)
        if values is None and name in ("body_pos_w", "body_quat_w"):
            raise source.error(f"is missing (keys: {_keys(single.fields)})", field=field)
        if values is not None:
            bodies[name] = values
    if len({values.shape[1] for values in bodies.values()}) > 1:
        counts = ", ".join(f"{name} {values.shape[1]}" for name, values in bodies.items())
        raise source.error(f"numbers of bodies differ: {counts}", field="rigid_body_pos")
    quat = unit_quats(source, "rigid_body_rot", bodies["body_quat_w"])
    found = body_order(quat, bodies["body_pos_w"])
    order, notes = settle_order(source, "rigid_body_rot", found, options, "xyzw")
    bodies["body_quat_w"] = reorder_quats(quat, order)
    return bodies, notes


def _keys(data: dict[str, Any]) -> str:
    return ", ".join(sorted(key for key in data if isinstance(key, str))[:12])


def _alone(source: Source, data: dict[str, Any]) -> _Single:
    """The parts of a file that holds one motion."""
    dofs = data.get("dof_pos")
    if not isinstance(dofs, np.ndarray) or dofs.ndim != 2:
        raise source.error(
            f"holds no motion of ProtoMotions (keys: {_keys(data)})", field="dof_pos",
            help="expected the fields of a .motion, or of a packed MotionLib",
        )  # fmt: skip
    rate = data.get("fps")
    if isinstance(rate, np.ndarray) and rate.size == 1:
        rate = rate.reshape(-1)[0].item()
    is_number = isinstance(rate, int | float) and not isinstance(rate, bool) and abs(rate) < 1e9
    value = float(rate) if is_number and rate is not None else np.nan
    said = f"{value:.9g}" if is_number else "(absent)"
    return _Single(data, value, said, "fps", "", len(dofs))


def _unpack(source: Source, data: dict[str, Any], options: ReadOptions) -> _Single:
    """The frames of one motion of a packed file."""
    frames = len(data["gts"]) if isinstance(data["gts"], np.ndarray) and data["gts"].ndim else 0
    table = {}
    for name in ("length_starts", "motion_num_frames", "motion_dt"):
        values = data.get(name)
        if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "fiu":
            raise source.error(f"is missing or no row of numbers (keys: {_keys(data)})", field=name)
        table[name] = values.astype(np.float64)
    count = len(table["length_starts"])
    if count == 0 or any(len(values) != count for values in table.values()):
        counts = ", ".join(f"{name} {len(values)}" for name, values in table.items())
        raise source.error(f"numbers of motions: {counts}, expected at least one, all the same",
                           field="length_starts")  # fmt: skip
    files = data.get("motion_files")
    names = [str(n).replace("\\", "/").rsplit("/", 1)[-1] for n in files
             if isinstance(n, str)] if isinstance(files, tuple | list) else []  # fmt: skip
    take = options.take
    if take is None and count == 1:
        take = 0
    if take is None or take >= count:
        shown = ", ".join(f"{i} {name}" for i, name in enumerate(names[:_SHOWN]))
        listed = f": {shown}{', …' if count > _SHOWN else ''}" if shown else ""
        asked = "" if take is None else f", number {take} asked for"
        raise source.error(f"holds {count} motions{asked}{listed}", field="motion_num_frames",
                           help=f"give --take 0 to --take {count - 1}")  # fmt: skip
    start, number, step = (float(values[take]) for values in table.values())
    if not (start >= 0 and number >= 1 and start + number <= frames
            and start == round(start) and number == round(number)):  # fmt: skip
        raise source.error(f"motion {take} has frames {start:g} to {start + number:g} of {frames}",
                           field="length_starts")  # fmt: skip
    cut = slice(int(start), int(start + number))
    fields = {}
    for packed, field in PACKED.items():
        values = data.get(packed)
        if isinstance(values, np.ndarray) and values.size:
            if values.ndim == 0 or len(values) != frames:
                raise source.error(f"has shape {values.shape}, expected {frames} frames, as gts",
                                   field=packed)  # fmt: skip
            fields[field] = values[cut]
    rate = 1.0 / step if step > 0 else np.nan
    name = f"{source.path.stem}_{take}" if count > 1 else ""
    return _Single(fields, rate, f"{step:.9g} s", "motion_dt", name, int(number))


def _tensor(
    source: Source, single: _Single, name: str, dims: int, last: int | None = None
) -> Array | None:
    """Finite numbers of ``dims`` axes, frames first; absent where the file has none."""
    values, frames = single.fields.get(name), single.frames
    if values is None:
        return None
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiub":
        raise source.error("is no tensor of numbers", field=name)
    is_wide = values.ndim != dims or (last is not None and values.shape[-1] != last)
    if is_wide or values.size == 0:
        raise source.error(f"has shape {values.shape}, expected {dims} axes"
                           + (f", the last of {last}" if last else ""), field=name)  # fmt: skip
    if len(values) != frames:
        raise source.error(f"has {len(values)} frames, dof_pos has {frames}", field=name)
    with np.errstate(invalid="ignore"):  # a signalling NaN, refused below
        values = np.array(values, dtype=np.float64)
    require_numbers(source, name, values, None)
    return values


def _contact(source: Source, values: Array | None) -> Float[Array, "T K"] | None:
    if values is not None and not (values.min() >= 0.0 and values.max() <= 1.0):
        raise source.error(f"from {values.min():g} to {values.max():g}, expected 0 to 1",
                           field="rigid_body_contacts")  # fmt: skip
    return values


def _soma_joints() -> tuple[str, ...]:
    return tuple(f"{body}_{axis}" for body in SOMA23_BODIES[1:] for axis in "xyz")


def _hinges(
    source: Source, dofs: Float[Array, "T n"], local: Float[Array, "T B 4"] | None, bodies: int
) -> tuple[Float[Array, "T n"], list[Note]]:
    """Angles of SOMA-23's hinges, from exponential maps of its ball joints."""
    if bodies != len(SOMA23_BODIES) or dofs.shape[1] != 3 * (bodies - 1):
        raise source.error(
            f"{dofs.shape[1]} coordinates of {bodies} bodies with ball joints are exponential maps"
            ", no hinge angles", field="dof_pos",
            help="export the joints of a robot of hinges; of ball-jointed ones SOMA-23 is read",
        )  # fmt: skip
    quat = rotation.from_rotvec(dofs.reshape(len(dofs), -1, 3))
    if local is not None and local.shape[1] == bodies:
        stored = rotation.from_xyzw(unit_quats(source, "local_rigid_body_rot", local))[:, 1:]
        apart = float(rotation.angle_between(quat, stored).max())
        if apart > BALL_AGREEMENT:
            raise source.error(f"differ from local_rigid_body_rot by up to {apart:.3g} rad, "
                               "expected exponential maps of it", field="dof_pos")  # fmt: skip
    angles = _to_euler_xyz(quat)
    # The x axis of the hinges of the left side points along -X.
    angles[:, [name.startswith("Left") for name in SOMA23_BODIES[1:]], 0] *= -1.0
    locked = float(np.abs(angles[..., 1]).max())
    text = (
        f"exponential maps of {bodies - 1} ball joints turned into angles of SOMA-23's hinges "
        f"about x, y, z; stored velocities of joints left out (y up to {locked:.2f} rad)"
    )
    if locked > NEAR_LOCK:
        text += ", where x and z are ill-defined"
    return angles.reshape(len(dofs), -1), [Note("MK161", text, locked, "rad")]


def _to_euler_xyz(quat: Float[Array, "*n 4"]) -> Float[Array, "*n 3"]:
    """Angles of ``Rx Ry Rz``, the middle one within a quarter turn."""
    m = rotation.to_matrix(quat)
    x = np.arctan2(-m[..., 1, 2], m[..., 2, 2])
    y = np.arcsin(np.clip(m[..., 0, 2], -1.0, 1.0))
    z = np.arctan2(-m[..., 0, 1], m[..., 0, 0])
    return np.stack([x, y, z], axis=-1)
