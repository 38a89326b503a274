"""Named arrays: an ``.npz`` whose bytes follow from its arrays alone, and a robot's motion in one.

A robot's file has the fields of BeyondMimic (Liao et al., "BeyondMimic", 2025) and mjlab — ``fps``,
``joint_pos``, ``joint_vel``, ``body_pos_w``, ``body_quat_w`` (wxyz), ``body_lin_vel_w``,
``body_ang_vel_w`` — and beside them the names that those leave out, and the root's pose.
"""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from motionkit import rotation
from motionkit.clip import RobotMotion, differentiate
from motionkit.errors import InputError
from motionkit.files import replace_file
from motionkit.formats.write_points import listed, unit_on_grid

Array = np.ndarray

QUAT_DECIMALS = 12
"""Of quaternions; all other numbers are exact."""
_BEGINNING = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can state


def pack_npz(arrays: Mapping[str, Array]) -> bytes:
    """The bytes of an ``.npz``, uncompressed; equal arrays give equal bytes, whenever written."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            part = io.BytesIO()
            plain = array + 0.0 if array.dtype.kind == "f" else array  # no -0
            np.lib.format.write_array(part, np.ascontiguousarray(plain), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _BEGINNING), part.getvalue())
    return buffer.getvalue()


def write_npz(path: Path | str, motion: RobotMotion) -> None:
    """Write a robot's motion; a file at ``path`` is replaced, whole.

    Raises:
        InputError: poses of bodies are absent, or velocities are and there is only one frame.
    """
    replace_file(Path(path), [encode(motion)])


def encode(motion: RobotMotion) -> bytes:
    """The bytes of the file.

    Velocities that the motion does not have are central differences of its poses.

    Raises:
        InputError: poses of bodies are absent, or velocities are and there is only one frame.
    """
    pos, quat = motion.body_pos_w, motion.body_quat_w
    if pos is None or quat is None:
        raise InputError("has no poses of bodies", where=motion.provenance.path,
                         help="give --robot, whose kinematics gives them")  # fmt: skip
    absent = _absent_velocities(motion)
    if absent and motion.num_frames < 2:
        raise InputError(f"has one frame and no {listed(absent)}, which differences would give",
                         where=motion.provenance.path, help="give a longer clip")  # fmt: skip
    joint_vel, linear, angular = motion.joint_vel, motion.body_lin_vel_w, motion.body_ang_vel_w
    if joint_vel is None:
        joint_vel = differentiate(motion.joint_pos, motion.fps)
    if linear is None:
        linear = differentiate(pos, motion.fps)
    if angular is None:
        angular = rotation.angular_velocity(quat, motion.fps)
    arrays = {
        "fps": np.array([motion.fps]),
        "joint_pos": motion.joint_pos,
        "joint_vel": joint_vel,
        "body_pos_w": pos,
        "body_quat_w": unit_on_grid(quat, QUAT_DECIMALS),
        "body_lin_vel_w": linear,
        "body_ang_vel_w": angular,
        "root_pos": motion.root_pos_w,
        "root_quat": unit_on_grid(motion.root_quat, QUAT_DECIMALS),
    }
    for key, names in (("joint_names", motion.joint_names), ("body_names", motion.body_names)):
        if names is not None:
            arrays[key] = np.array(names)
    if motion.contact is not None:
        arrays["contacts"] = motion.contact
    return pack_npz(arrays)


def losses(motion: RobotMotion) -> tuple[str, ...]:
    """What the file does not say as the motion did, one line each."""
    out = []
    if absent := _absent_velocities(motion):
        out.append(f"computed from poses by central differences: {listed(absent)}")
    if motion.joint_names is None:
        out.append("joints have no names: the order of the source is kept")
    if motion.body_pos_w is not None and motion.body_names is None:
        out.append("bodies have no names: the order of the source is kept")
    return tuple(out)


def _absent_velocities(motion: RobotMotion) -> list[str]:
    fields = ("joint_vel", "body_lin_vel_w", "body_ang_vel_w")
    return [name for name in fields if getattr(motion, name) is None]
