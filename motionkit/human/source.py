"""What a source shows of each role: world poses, the zero pose, bones, axes, flat feet.

Everything here is measured in the joints' own frames or as heights, so it does not depend on
where the person stands or faces.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS, SkeletonClip
from motionkit.clip.rest import LONG_BONES as LONG_BONES
from motionkit.clip.rest import tpose_direction as tpose_direction

Array = np.ndarray

_SHORT = 1e-4  # [m], below which two joints are one point
_ALONG_AXIS = np.cos(np.radians(2.0))  # a bone this near to an axis of its frame lies along it
_TIDY_SHARE = 0.8  # of long bones along axes, from which a rig is taken for a tidy one
_SNAP = np.cos(np.radians(40.0))  # a measured axis of a tidy rig this near to one of its own is it
_SLOW = 0.25  # [m/s], below which ankle and toe of a flat foot move
_LOW = 0.03  # [m] of the lowest slow toes, within which a foot stands on the same floor
_LOW_QUANTILE = 0.1  # of the heights of slow toes: where that floor is
_FEWEST = 3  # frames that show a speed


@dataclass(frozen=True, slots=True)
class Source:
    """World poses of the roles of a source."""

    name: str
    """Of the clip."""
    fps: float
    """Frames per second."""
    pos: Float[Array, "T 52 3"]
    """Positions [m]; NaN where the role is missing."""
    quat: Float[Array, "T 52 4"]
    """Orientations of the source's joint frames; NaN where the role is missing."""
    present: Bool[Array, "52"]
    """Whether the source has the role."""
    tips: dict[str, Float[Array, "3"]]
    """Roles whose joint has one end site: where it lies, in the joint's frame [m]."""
    zero: Float[Array, "52 3"]
    """Positions in the zero pose, all joint frames along one frame [m]; NaN where missing."""
    is_tidy: bool
    """Whether long bones lie along axes of their joints' frames, as authored rigs have it."""

    def bone(self, near: str, far: str) -> Float[Array, "3"] | None:
        """Median vector from one role to another in the frame of the first [m].

        None where a role is missing, or both are one point.
        """
        a, b = index(near), index(far)
        if not (self.present[a] and self.present[b]):
            return None
        local = self.in_frame(near, self.pos[:, b] - self.pos[:, a])
        middle = np.median(local, axis=0)
        return None if np.linalg.norm(middle) < _SHORT else middle

    def in_frame(self, role: str, vectors: Float[Array, "*n 3"]) -> Float[Array, "T 3"]:
        """World vectors in the frame of a role's joint."""
        return rotation.rotate(rotation.conjugate(self.quat[:, index(role)]), vectors)

    def snap(self, axis: Float[Array, "3"]) -> Float[Array, "3"]:
        """The axis of a tidy rig's frame that a measured axis stands for; others as they are."""
        axis = axis / np.linalg.norm(axis)
        best = int(np.argmax(np.abs(axis)))
        if not self.is_tidy or abs(axis[best]) < _SNAP:
            return axis
        return np.sign(axis[best]) * np.eye(3)[best]

    def snap_rotation(self, quat: Float[Array, "4"]) -> Float[Array, "4"]:
        """The same for a rotation between frames: to one that permutes their axes."""
        rows = [self.snap(row) for row in rotation.to_matrix(quat)]
        is_whole = all(np.abs(row).max() == 1.0 for row in rows)
        return (
            rotation.from_matrix(np.stack(rows)) if is_whole and np.linalg.det(rows) > 0 else quat
        )

    def above(self, role: str) -> str:
        """The nearest role above that the source has."""
        parent = SMPLH_PARENTS[index(role)]
        while not self.present[parent]:
            parent = SMPLH_PARENTS[parent]
        return SMPLH_JOINTS[parent]


def index(role: str) -> int:
    """Index of a role in :data:`motionkit.clip.SMPLH_JOINTS`."""
    return SMPLH_JOINTS.index(role)


def read_source(clip: SkeletonClip) -> Source:
    """World poses by role, and what they show."""
    joints = {role: clip.joint_names.index(name) for role, name in clip.roles.items()}
    at = [index(role) for role in joints]
    frames = clip.num_frames
    all_pos, all_quat = clip.global_pose()
    pos, quat = np.full((frames, 52, 3), np.nan), np.full((frames, 52, 4), np.nan)
    pos[:, at], quat[:, at] = all_pos[:, list(joints.values())], all_quat[:, list(joints.values())]
    present, zero = np.zeros(52, dtype=bool), np.full((52, 3), np.nan)
    present[at] = True
    zero[at] = _zero_pose(clip)[list(joints.values())]
    tips = {}
    for role, joint in joints.items():
        ends = clip.end_offsets[clip.end_parents == joint]
        if len(ends) == 1 and np.linalg.norm(ends[0]) > _SHORT:
            tips[role] = ends[0]
    draft = Source(clip.name, clip.fps, pos, quat, present, tips, zero, False)
    bones = [bone for near, far in LONG_BONES if (bone := draft.bone(near, far)) is not None]
    along = [np.abs(bone).max() >= _ALONG_AXIS * np.linalg.norm(bone) for bone in bones]
    is_tidy = bool(bones) and float(np.mean(along)) >= _TIDY_SHARE
    return Source(clip.name, clip.fps, pos, quat, present, tips, zero, is_tidy)


def _zero_pose(clip: SkeletonClip) -> Float[Array, "J 3"]:
    """Joint positions with all rotations zero, in the axes of the file [m]."""
    local = clip.offsets if clip.local_pos is None else np.median(clip.local_pos, axis=0)
    pos = np.zeros_like(local)
    for joint, parent in enumerate(clip.parents):
        if parent >= 0:
            pos[joint] = pos[parent] + local[joint]
    return pos


def standing_frames(source: Source, side: str) -> Bool[Array, "T"]:
    """Frames in which a foot stands on the lowest floor: ankle and toe base slow, toe base low.

    Its heel may be raised. None in a clip too short to show speed.
    """
    ankle, toe = (source.pos[:, index(f"{side}_{part}")] for part in ("ankle", "foot"))
    if len(ankle) < _FEWEST:
        return np.zeros(len(ankle), dtype=bool)
    slow = np.ones(len(ankle), dtype=bool)
    for point in (ankle, toe):
        velocity = np.gradient(point, 1.0 / source.fps, axis=0)
        slow &= np.linalg.norm(velocity, axis=1) < _SLOW
    if not slow.any():
        return slow
    return slow & (toe[:, 2] <= np.quantile(toe[slow, 2], _LOW_QUANTILE) + _LOW)


def mean_rotation(quat: Float[Array, "T 4"]) -> Float[Array, "4"]:
    """The rotation nearest to all (Markley et al., "Averaging Quaternions", 2007)."""
    _, vectors = np.linalg.eigh(quat.T @ quat)
    return vectors[:, -1]
