"""A hierarchy of joints with rotations."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from motionkit import rotation
from motionkit.clip.record import Provenance, require_clip, require_shape, require_unit
from motionkit.errors import InputError

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class SkeletonClip:
    """A hierarchy of joints with rotations: what BVH and its like hold.

    ``joint_quat`` and ``offsets`` are in each parent's frame; of the root, in the world.
    """

    name: str
    """Of the clip: the file's stem unless the user says otherwise."""
    fps: float
    """Frames per second."""
    joint_names: tuple[str, ...]
    """As the file spells them (J)."""
    parents: tuple[int, ...]
    """Index of each joint's parent; -1 for the root, and every parent before its children."""
    offsets: Float[Array, "J 3"]
    """Rest translation from the parent joint, parent frame [m]; zero for the root."""
    root_pos_w: Float[Array, "T 3"]
    """Position of joint 0 [m]."""
    joint_quat: Float[Array, "T J 4"]
    """Rotation of each joint relative to its parent; of the root, to the world."""
    roles: dict[str, str]
    """Role (a name of :data:`SMPLH_JOINTS`) to the name of the joint that plays it."""
    provenance: Provenance
    """Where it came from."""
    local_pos: Float[Array, "T J 3"] | None = None
    """Moving translations from the parent [m], where position channels carry the skeleton."""
    end_parents: Int[Array, "E"] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Joint that each end site belongs to."""
    end_offsets: Float[Array, "E 3"] = field(default_factory=lambda: np.zeros((0, 3)))
    """End sites in the frame of their joint [m]."""

    def __post_init__(self) -> None:
        """Check shapes, order and finiteness; a clip that exists can be trusted."""
        frames, joints = len(self.root_pos_w), len(self.joint_names)
        require_clip(self.name, self.fps, frames)
        require_shape(self.name, "root_pos_w", self.root_pos_w, (frames, 3))
        require_shape(self.name, "offsets", self.offsets, (joints, 3))
        require_shape(self.name, "joint_quat", self.joint_quat, (frames, joints, 4))
        require_unit(self.name, "joint_quat", self.joint_quat)
        if len(self.parents) != joints or self.parents[0] != -1:
            message = f"expected {joints} parents, -1 first, found {self.parents}"
            raise InputError(message, where=self.name)
        for name, i, parent in zip(self.joint_names, range(joints), self.parents, strict=True):
            if i and not 0 <= parent < i:
                message = f"joint {name} comes before its parent or has none"
                raise InputError(message, where=self.name)
        if self.local_pos is not None:
            require_shape(self.name, "local_pos", self.local_pos, (frames, joints, 3))

    @property
    def num_frames(self) -> int:
        """Number of frames."""
        return len(self.root_pos_w)

    def global_pose(self) -> tuple[Float[Array, "T J 3"], Float[Array, "T J 4"]]:
        """World positions [m] and orientations of all joints."""
        pos = np.empty((self.num_frames, len(self.joint_names), 3))
        quat = np.empty((self.num_frames, len(self.joint_names), 4))
        for j, parent in enumerate(self.parents):
            if parent < 0:
                pos[:, j], quat[:, j] = self.root_pos_w, self.joint_quat[:, j]
                continue
            local = self.offsets[j] if self.local_pos is None else self.local_pos[:, j]
            pos[:, j] = pos[:, parent] + rotation.rotate(quat[:, parent], local)
            quat[:, j] = rotation.multiply(quat[:, parent], self.joint_quat[:, j])
        return pos, quat
