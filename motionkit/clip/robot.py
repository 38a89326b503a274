"""Robots in motion."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit.clip.record import (
    Provenance,
    require_clip,
    require_finite,
    require_shape,
    require_unit,
)
from motionkit.errors import InputError

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class RobotClip:
    """A motion of one robot, in MuJoCo's own layout."""

    name: str
    """Of the clip."""
    robot: str
    """Name of the robot."""
    fps: float
    """Frames per second."""
    qpos: Float[Array, "T nq"]
    """Root position [m], root quaternion wxyz, joint angles [rad] never wrapped (slides [m])."""
    contact: Float[Array, "T K"] | None = None
    """Probability of ground contact of the robot's contact bodies, in its order."""

    def __post_init__(self) -> None:
        """Check shapes and finiteness."""
        require_clip(self.name, self.fps, len(self.qpos))
        require_finite(self.name, "qpos", self.qpos)
        if self.contact is not None:
            shape = (self.num_frames, *self.contact.shape[1:])
            require_shape(self.name, "contact", self.contact, shape)

    @property
    def num_frames(self) -> int:
        """Number of frames."""
        return len(self.qpos)


@dataclass(frozen=True, slots=True)
class RobotMotion:
    """A robot's motion as a file has it, before it is held against a model of the robot.

    What the file does not state is absent. Angles are never wrapped.
    """

    name: str
    """Of the clip."""
    fps: float
    """Frames per second."""
    root_pos_w: Float[Array, "T 3"]
    """Position of the floating body [m]."""
    root_quat: Float[Array, "T 4"]
    """Its orientation, wxyz, whatever the file's order was."""
    joint_pos: Float[Array, "T n"]
    """Joint coordinates in the file's order [rad] (slides [m])."""
    provenance: Provenance
    """Where it came from; its notes state the order of quaternions that was found, and how."""
    joint_names: tuple[str, ...] | None = None
    """Of the joints (n), from the file, or from a known layout of that width."""
    robot: str | None = None
    """Robot whose layout it has, e.g. ``unitree_g1``; absent where nothing tells."""
    joint_vel: Float[Array, "T n"] | None = None
    """Stored joint velocities [rad/s]."""
    body_names: tuple[str, ...] | None = None
    """Of the bodies (B), in the file's order."""
    body_pos_w: Float[Array, "T B 3"] | None = None
    """Stored positions of body frames [m]."""
    body_quat_w: Float[Array, "T B 4"] | None = None
    """Stored orientations of body frames, wxyz."""
    body_lin_vel_w: Float[Array, "T B 3"] | None = None
    """Stored velocities of body frames [m/s]."""
    body_ang_vel_w: Float[Array, "T B 3"] | None = None
    """Stored angular velocities, world frame [rad/s]."""
    contact: Float[Array, "T K"] | None = None
    """Stored ground contacts, 0 to 1."""

    def __post_init__(self) -> None:
        """Check shapes and finiteness; a clip that exists can be trusted."""
        frames = len(self.root_pos_w)
        require_clip(self.name, self.fps, frames)
        require_shape(self.name, "root_pos_w", self.root_pos_w, (frames, 3))
        require_shape(self.name, "root_quat", self.root_quat, (frames, 4))
        require_unit(self.name, "root_quat", self.root_quat)
        joints = self.joint_pos.shape[-1]
        require_shape(self.name, "joint_pos", self.joint_pos, (frames, joints))
        if self.joint_names is not None and len(self.joint_names) != joints:
            message = f"{len(self.joint_names)} joint names for {joints} columns of joint_pos"
            raise InputError(message, where=self.name)
        if self.joint_vel is not None:
            require_shape(self.name, "joint_vel", self.joint_vel, (frames, joints))
        first = self.body_pos_w if self.body_pos_w is not None else self.body_quat_w
        bodies = len(self.body_names or ()) or (0 if first is None else first.shape[1])
        for what in ("body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w"):
            array = getattr(self, what)
            if array is not None:
                last = 4 if what == "body_quat_w" else 3
                require_shape(self.name, what, array, (frames, bodies, last))
        if self.body_quat_w is not None:
            require_unit(self.name, "body_quat_w", self.body_quat_w)
        if self.contact is not None:
            require_shape(self.name, "contact", self.contact, (frames, *self.contact.shape[1:]))

    @property
    def num_frames(self) -> int:
        """Number of frames."""
        return len(self.root_pos_w)
