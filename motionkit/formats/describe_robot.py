"""What there is to know about a robot's motion, for ``motionkit inspect``."""

from dataclasses import dataclass

import numpy as np

from motionkit.clip import RobotMotion, differentiate
from motionkit.formats.facts import Facts, shared_facts

Array = np.ndarray

_STORED = ("joint_vel", "body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w", "contact")


@dataclass(frozen=True, slots=True)
class Peak:
    """The largest of a quantity, and where."""

    value: float
    """Its size."""
    joint: str
    """The joint: its name, or ``column 7`` where the file names none."""
    frame: int
    """The frame, counted from 0."""


@dataclass(frozen=True, slots=True)
class RobotDescription(Facts):
    """Facts about a robot's motion."""

    robot: str | None
    """Robot whose layout the file has; absent where nothing tells."""
    dof: int
    """Number of joint coordinates."""
    joint_names: tuple[str, ...] | None
    """In the file's order; absent where neither the file nor a known layout names them."""
    root_lowest: float
    """Smallest height of the floating body [m]."""
    root_highest: float
    """Greatest height of the floating body [m]."""
    travel: float
    """Length of the root's path over the floor [m]."""
    peak_joint_speed: Peak | None
    """Largest speed of a joint [rad/s] (of a slide [m/s]), by central differences of its positions;
    absent where there is one frame or no joint."""
    bodies: int
    """Number of bodies whose frames are stored."""
    body_names: tuple[str, ...] | None
    """In the file's order; absent where the file names none."""
    stored: tuple[str, ...]
    """What the file holds beside the root and the joints."""


def describe_robot(clip: RobotMotion) -> RobotDescription:
    """The facts about a robot's motion, judged from all frames."""
    height = clip.root_pos_w[:, 2]
    steps = np.diff(clip.root_pos_w[:, :2], axis=0)
    bodies = next((array.shape[1] for name in _STORED[1:5]
                   if (array := getattr(clip, name)) is not None), 0)  # fmt: skip
    return RobotDescription(
        **shared_facts(clip, "robot"),
        robot=clip.robot, dof=clip.joint_pos.shape[1], joint_names=clip.joint_names,
        root_lowest=float(height.min()), root_highest=float(height.max()),
        travel=float(np.linalg.norm(steps, axis=1).sum()), peak_joint_speed=_peak_speed(clip),
        bodies=bodies, body_names=clip.body_names,
        stored=tuple(name for name in _STORED if getattr(clip, name) is not None),
    )  # fmt: skip


def _peak_speed(clip: RobotMotion) -> Peak | None:
    if clip.num_frames < 2 or clip.joint_pos.shape[1] == 0:
        return None
    speed = np.abs(differentiate(clip.joint_pos, clip.fps))
    frame, joint = (int(i) for i in np.unravel_index(speed.argmax(), speed.shape))
    name = clip.joint_names[joint] if clip.joint_names else f"column {joint}"
    return Peak(float(speed[frame, joint]), name, frame)
