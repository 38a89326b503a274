"""Fields of a robot's motion: the names that writers give them, and reading them checked.

Sources: BeyondMimic (HybridRobotics/whole_body_tracking) and mjlab; holosoma (amazon-far/holosoma);
Isaac Lab's AMP (``humanoid_amp/motions/README.md``); LocoMuJoCo and MuscleMimic
(``trajectory/dataclasses.py``); ASAP and GMR; Eden's reference fields; ProtoMotions.
"""

import numpy as np

from motionkit.formats.npz import Npz
from motionkit.formats.robot_motion import require_numbers
from motionkit.formats.source import QuatOrder

Array = np.ndarray

RATE_KEYS = ("fps", "frequency", "target_framerate", "framerate", "frame_rate", "mocap_framerate")
"""Names of the rate [1/s]."""
STEP_KEYS = ("motion_dt", "dt")
"""Names of the time between frames [s]."""
JOINT_POS_KEYS = ("joint_pos", "dof_pos", "dof_positions", "dofs_pos", "dof", "qpos")
"""Names of joint angles [rad], perhaps with the root before them."""
JOINT_VEL_KEYS = ("joint_vel", "dof_vel", "dof_velocities", "dofs_vel", "qvel")
"""Names of joint velocities [rad/s], perhaps with the root's before them."""
JOINT_NAME_KEYS = ("joint_names", "dof_names", "target_dofs_name")
"""Names of the names of joints."""
BODY_NAME_KEYS = ("body_names", "link_names", "target_links_name", "link_body_list")
"""Names of the names of bodies."""
ROOT_POS_KEYS = ("root_pos", "root_pos_w", "base_pos_w", "base_pos", "root_trans_offset",
                 "root_trans", "root_translation")  # fmt: skip
"""Names of the root's position [m]."""
ROOT_QUAT_KEYS: tuple[tuple[str, QuatOrder], ...] = (
    ("root_quat", "wxyz"), ("root_quat_w", "wxyz"), ("base_quat_w", "wxyz"),
    ("base_quat", "wxyz"), ("root_rot", "xyzw"),
)  # fmt: skip
"""Names of the root's quaternions, with the order that their writers use."""
BODY_QUAT_KEYS: tuple[tuple[str, QuatOrder], ...] = (
    ("body_quat_w", "wxyz"), ("links_quat_w", "wxyz"), ("body_rotations", "wxyz"),
    ("body_quat", "wxyz"), ("xquat", "wxyz"), ("rigid_body_rot", "xyzw"),
)  # fmt: skip
"""The same of bodies."""
BODY_KEYS: dict[str, tuple[str, ...]] = {
    "body_pos_w": ("body_pos_w", "links_pos_w", "body_positions", "body_pos", "xpos",
                   "rigid_body_pos"),
    "body_lin_vel_w": ("body_lin_vel_w", "links_lin_vel_w", "body_linear_velocities",
                       "rigid_body_vel"),
    "body_ang_vel_w": ("body_ang_vel_w", "links_ang_vel_w", "body_angular_velocities",
                       "rigid_body_ang_vel"),
}  # fmt: skip
"""Names of what is stored of bodies, world frame."""
ROOT_BODIES = ("pelvis", "base_link", "base", "root", "hips", "trunk")
"""Bodies that are taken for the floating one, in this order, lower case."""


def find_first(npz: Npz, keys: tuple[str, ...]) -> str | None:
    """The first of the keys that the file has."""
    return next((key for key in keys if key in npz.members), None)


def read_array(npz: Npz, key: str, dims: int, frames: int | None, last: int | None = None) -> Array:
    """Finite numbers of ``dims`` axes, the frames first.

    Raises:
        InputError: another shape, or not finite.
    """
    values = npz.numbers(key)
    want = f"({frames or 'T'}, {', '.join(['B'] * (dims - 2) + [str(last or 'n')])})"
    is_wide = values.ndim != dims or (last is not None and values.shape[-1] != last)
    if is_wide or values.size == 0:
        raise npz.source.error(f"has shape {values.shape}, expected {want}", field=key)
    if frames is not None and len(values) != frames:
        raise npz.source.error(
            f"has {len(values)} frames, the joint angles have {frames}",
            field=key,
            help="save fields of one length",
        )
    require_numbers(npz.source, key, values, None)
    return values


def read_names(npz: Npz, keys: tuple[str, ...]) -> tuple[str, ...] | None:
    """Unique names under the first of the keys that the file has.

    Raises:
        InputError: they are no text, or one occurs again.
    """
    key = find_first(npz, keys)
    if key is None:
        return None
    array = npz.array(key)
    if array.dtype.kind not in "SU":
        raise npz.source.error(f"has type {array.dtype}, expected text", field=key)
    names = tuple(n.decode("utf-8", "replace") if isinstance(n, bytes) else str(n)
                  for n in array.reshape(-1).tolist())  # fmt: skip
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise npz.source.error(f"names occur more than once: {', '.join(twice)[:80]}", field=key)
    return names
