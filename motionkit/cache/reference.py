"""What a tracker tracks: a robot's motion with everything that follows from it.

Bodies come from kinematics of the *stored* float32 ``qpos``, computed in float64. Velocities are
central differences inside and one-sided at the ends: of positions ``(x[t+1] - x[t-1]) fps / 2``,
of rotations ``log(R[t+1] R[t-1]ᵀ) fps / 2`` in the world. So a reader who repeats the computation
gets the stored arrays to the last bit or two of float32.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.cache.identity import CacheIdentity
from motionkit.clip import Provenance, RobotClip, differentiate
from motionkit.errors import InputError
from motionkit.robot import Robot

Array = np.ndarray

ARRAYS: Final[dict[str, str]] = {
    "qpos": "root position [m], root quaternion wxyz, joint coordinates [rad or m] never wrapped",
    "qvel": "root linear velocity in the world [m/s], root angular velocity in the root's own "
            "frame [rad/s], joint velocities [rad/s or m/s]: MuJoCo's convention",
    "body_pos_w": "positions of the bodies' frames (link origins) in the world [m]",
    "body_quat_w": "orientations, wxyz, body to world",
    "body_lin_vel_w": "velocities of the link origins in the world [m/s]",
    "body_ang_vel_w": "angular velocities in the world [rad/s]",
    "contact": "probability that a contact body touches the ground",
    "target_pos_w": "positions asked of the landmark bodies, after scaling to the robot [m]",
    "target_quat_w": "orientations asked of the landmark bodies, wxyz",
}  # fmt: skip
"""Arrays of a reference, all float32 with time first, and what they hold."""

CONVENTIONS: Final[dict[str, str]] = {
    "quat_order": "wxyz",
    "world": "right-handed, +Z up, metres, seconds, radians",
    "velocity_point": "link_origin",
    "differences": "central inside, one-sided at the ends; rotations by the logarithm of the "
                   "turn between the two frames, in the world",
    "contact": "probability",
}  # fmt: skip
"""How the arrays are to be read; stored beside them."""

_NOT_STORED = frozenset({"seconds"})  # of a report: differs from run to run with the same result


@dataclass(frozen=True, slots=True)
class Reference:
    """One clip of one robot, as a trainer reads it. What is ``None`` the cache does not have.

    Shapes and names are checked; values are the audit's matter, because checking them would read
    the file that opening only maps.
    """

    name: str
    """Of the clip."""
    fps: float
    """Frames per second."""
    robot: str
    """Name of the robot."""
    joint_names: tuple[str, ...]
    """Columns of ``qpos[:, 7:]`` and ``qvel[:, 6:]``."""
    body_names: tuple[str, ...]
    """Columns of the body arrays, the root first, without the world (B)."""
    qpos: Float[Array, "T nq"]
    """See :data:`ARRAYS`, as for all arrays."""
    identity: CacheIdentity
    """What it was made from and with."""
    report: dict[str, Any]
    """Figures of the solver, :meth:`motionkit.retarget.SolveReport.as_dict` without the time."""
    provenance: dict[str, Any]
    """Fields of the source's :class:`motionkit.clip.Provenance`."""
    qvel: Float[Array, "T nv"] | None = None
    """Absent for a single frame, as are all velocities."""
    body_pos_w: Float[Array, "T B 3"] | None = None
    """Link origins [m]."""
    body_quat_w: Float[Array, "T B 4"] | None = None
    """Unit, successive ones in one hemisphere."""
    body_lin_vel_w: Float[Array, "T B 3"] | None = None
    """Of link origins [m/s]."""
    body_ang_vel_w: Float[Array, "T B 3"] | None = None
    """In the world [rad/s]."""
    contact: Float[Array, "T K"] | None = None
    """Probabilities."""
    contact_bodies: tuple[str, ...] = ()
    """Columns of ``contact``."""
    target_pos_w: Float[Array, "T L 3"] | None = None
    """What the retargeter was asked for [m]."""
    target_quat_w: Float[Array, "T L 4"] | None = None
    """What the retargeter was asked for."""
    target_bodies: tuple[str, ...] = ()
    """Columns of the targets."""

    def __post_init__(self) -> None:
        """Check names, shapes and agreement with the identity."""
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise InputError(f"fps must be positive and finite, found {self.fps}", where=self.name)
        for field in ("robot", "fps", "joint_names", "body_names"):
            own, identified = getattr(self, field), getattr(self.identity, field)
            if own != identified:
                raise InputError(f"{field} is {own}, its identity says {identified}",
                                 where=self.name)  # fmt: skip
        frames, bodies = len(self.qpos), len(self.body_names)
        if frames == 0:
            raise InputError("the clip has no frames", where=self.name)
        shapes = {
            "qpos": (7 + len(self.joint_names),), "qvel": (6 + len(self.joint_names),),
            "body_pos_w": (bodies, 3), "body_quat_w": (bodies, 4),
            "body_lin_vel_w": (bodies, 3), "body_ang_vel_w": (bodies, 3),
            "contact": (len(self.contact_bodies),),
            "target_pos_w": (len(self.target_bodies), 3),
            "target_quat_w": (len(self.target_bodies), 4),
        }  # fmt: skip
        for field, shape in shapes.items():
            array = getattr(self, field)
            if array is not None and array.shape != (frames, *shape):
                raise InputError(f"{field} has shape {array.shape}, expected {(frames, *shape)}",
                                 where=self.name)  # fmt: skip
            if array is not None and array.dtype != np.float32:
                raise InputError(f"{field} is {array.dtype}, expected float32", where=self.name)

    @property
    def num_frames(self) -> int:
        """Number of frames."""
        return len(self.qpos)

    @property
    def seconds(self) -> float:
        """Duration [s]: from the first frame to the last, ``(frames - 1) / fps``."""
        return (self.num_frames - 1) / self.fps

    def arrays(self) -> dict[str, Array]:
        """The arrays that are present, by name."""
        return {name: a for name in ARRAYS if (a := getattr(self, name)) is not None}

    def array(self, name: str) -> Float[Array, "T *n"]:
        """An array by name.

        Raises:
            InputError: the cache does not have it.
        """
        present = self.arrays()
        if name not in present:
            raise InputError(f"the reference has no {name}", where=self.name,
                             help=f"it has: {', '.join(present)}")  # fmt: skip
        return present[name]


def build_reference(
    clip: RobotClip,
    robot: Robot,
    *,
    identity: CacheIdentity,
    report: Mapping[str, Any],
    provenance: Provenance | Mapping[str, Any],
    target_pos_w: Float[Array, "T L 3"] | None = None,
    target_quat_w: Float[Array, "T L 4"] | None = None,
) -> Reference:
    """The reference of a robot clip, ready to be stored.

    A clip of one frame has no velocities. Rounding to float32 moves no joint out of its range,
    because ``robot.joint_range`` is of float32 values. Of the first quaternion of each body the
    first component that is not zero is positive; those after it lie in the hemisphere of the one
    before.

    Args:
        clip: the motion.
        robot: whose motion it is.
        identity: of :func:`motionkit.cache.identify`.
        report: figures of the solver, JSON-able. Its wall time is left out: same inputs make same
            bytes.
        provenance: of the source.
        target_pos_w: positions asked of ``robot.landmarks`` [m].
        target_quat_w: orientations asked of them.

    Raises:
        InputError: the clip, the robot and the identity do not belong together, or the report is
            none that can be stored.
    """
    _require_match(clip, robot, identity)
    qpos = clip.qpos.astype(np.float32)
    qpos[:, 3:7] = _one_hemisphere(qpos[:, 3:7])
    arrays = {"qpos": qpos, **derive(robot, qpos, clip.fps)}
    if clip.contact is not None:
        arrays["contact"] = clip.contact
    if target_pos_w is not None:
        arrays["target_pos_w"] = target_pos_w
    if target_quat_w is not None:
        arrays["target_quat_w"] = _one_hemisphere(target_quat_w)
    has_targets = target_pos_w is not None or target_quat_w is not None
    plain = asdict(provenance) if is_dataclass(provenance) else dict(provenance)
    return Reference(
        name=clip.name,
        fps=float(clip.fps),
        robot=robot.name,
        joint_names=robot.joint_names,
        body_names=robot.body_names,
        contact_bodies=robot.contact_bodies if clip.contact is not None else (),
        target_bodies=tuple(mark.body for mark in robot.landmarks) if has_targets else (),
        identity=identity,
        report={key: value for key, value in _plain(report).items() if key not in _NOT_STORED},
        provenance=plain,
        **{name: array.astype(np.float32) for name, array in arrays.items()},
    )


def _plain(report: object) -> Mapping[str, Any]:
    """The report, if it names its outcome: an enumeration would be stored as something else."""
    if not isinstance(report, Mapping):
        found = f"a report of type {type(report).__name__}, expected a mapping"
    elif not isinstance(outcome := report.get("outcome", "absent"), str):
        found = f"a report whose outcome is of type {type(outcome).__name__}, expected its name"
    else:
        return report
    raise InputError(f"found {found}", help="give the dictionary of result.report.as_dict()")


def _require_match(clip: RobotClip, robot: Robot, identity: CacheIdentity) -> None:
    if clip.robot != robot.name or identity.robot_sha256 != robot.sha256:
        raise InputError(
            f"the clip is of {clip.robot} and its identity of {identity.robot} "
            f"({identity.robot_sha256[:8]}), the robot is {robot.name} ({robot.sha256[:8]})",
            where=clip.name,
        )
    if clip.qpos.shape[1] != 7 + robot.num_joints:
        raise InputError(f"qpos has {clip.qpos.shape[1]} columns, {robot.name} has "
                         f"{7 + robot.num_joints}", where=clip.name)  # fmt: skip


def derive(robot: Robot, qpos: Float[Array, "T nq"], fps: float) -> dict[str, Array]:
    """Bodies and velocities that follow from ``qpos``, in float64, as the head of the file says.

    Velocities are left out for a single frame.
    """
    stored = qpos.astype(np.float64)
    pos, quat = robot.forward(stored)
    quat = _one_hemisphere(quat)
    out = {"body_pos_w": pos, "body_quat_w": quat}
    if len(qpos) < 2:
        return out
    linear = differentiate(pos, fps)
    angular = rotation.angular_velocity(quat, fps)
    joints = differentiate(stored[:, 7:], fps)
    spin = rotation.rotate(rotation.conjugate(quat[:, 0]), angular[:, 0])
    root = differentiate(stored[:, :3], fps)
    return {
        **out,
        "qvel": np.concatenate([root, spin, joints], axis=1),
        "body_lin_vel_w": linear,
        "body_ang_vel_w": angular,
    }


def _one_hemisphere(quat: Float[Array, "T *n 4"]) -> Float[Array, "T *n 4"]:
    """Successive signs alike; the first non-zero component of the first frame positive."""
    unrolled = rotation.unroll(quat)
    first = unrolled[:1]
    leading = np.take_along_axis(first, np.argmax(first != 0, axis=-1)[..., None], axis=-1)
    return unrolled * np.where(leading < 0, -1.0, 1.0).astype(quat.dtype)
