"""A clip, at each stage of being understood, and the one place where positions are differenced.

``SkeletonClip`` and ``SmplClip`` come from readers, ``HumanClip`` from :mod:`motionkit.human`,
``RobotClip`` from :mod:`motionkit.retarget`; all as ``docs/conventions.md`` says: SI, +Z up, wxyz.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int

from motionkit import rotation
from motionkit.errors import InputError

Array = np.ndarray

_UNIT_TOLERANCE = 1e-6  # of the norm of a unit quaternion: what float32 files hold
_SAME_FPS = 1e-6  # relative, below which two rates are one
_FINGERS = ("index", "middle", "pinky", "ring", "thumb")

SMPLH_JOINTS: tuple[str, ...] = (
    "pelvis", "left_hip", "right_hip", "spine1", "left_knee", "right_knee", "spine2",
    "left_ankle", "right_ankle", "spine3", "left_foot", "right_foot", "neck", "left_collar",
    "right_collar", "head", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow",
    "left_wrist", "right_wrist",
    *(f"{side}_{finger}{i}"
      for side in ("left", "right") for finger in _FINGERS for i in (1, 2, 3)),
)  # fmt: skip
"""The 52 joints of SMPL-H in its own order (Romero et al., "Embodied Hands", 2017)."""

SMPLH_PARENTS: tuple[int, ...] = (
    -1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 12, 13, 14, 16, 17, 18, 19,
    *(
        wrist if i == 0 else 22 + 15 * side + 3 * finger + i - 1
        for side, wrist in ((0, 20), (1, 21))
        for finger in range(5)
        for i in range(3)
    ),
)  # fmt: skip

REQUIRED_ROLES: tuple[str, ...] = (
    "pelvis", "left_hip", "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle",
    "left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist",
    "head",
)  # fmt: skip
"""Roles without which a skeleton is not taken for a human body."""

CONTACT_PARTS: tuple[str, ...] = ("left_ankle", "left_foot", "right_ankle", "right_foot")
"""Heel and ball of each foot: the order of every ``(T, 4)`` foot-contact array of a human."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a reader or an alignment noticed, did or could not do."""

    code: str
    """Number of the finding, for life: ``MK1xx`` for sources. ``docs/findings.md`` explains it."""
    message: str
    """What was found, with its value and unit, one line."""
    value: float | None = None
    """The figure concerned, where there is one."""
    unit: str = ""
    """Its unit."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a clip came from and what was done to bring it into motionkit's world."""

    path: str
    """The file as the user named it."""
    sha256: str
    """Of the file's bytes."""
    format: str
    """Name in the table of formats, e.g. ``bvh``, ``amass``."""
    writer: str
    """The skeleton family recognised, e.g. ``LAFAN1``; ``unknown`` if none."""
    unit_scale: float = 1.0
    """Metres per unit of the file."""
    unit_source: Literal["format", "header", "stature", "user"] = "format"
    """How the unit was found."""
    up: Literal["x", "y", "z", "-x", "-y", "-z"] = "z"
    """The axis of the file that points up."""
    up_source: Literal["format", "header", "motion", "user"] = "format"
    """How the up axis was found."""
    world_quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Rotation from the file's world to motionkit's, wxyz."""
    options: tuple[tuple[str, str], ...] = ()
    """Reader options that the user set, as (name, value)."""
    notes: tuple[Note, ...] = ()
    """What the reader noticed."""


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
        _require_clip(self.name, self.fps, frames)
        _require_shape(self.name, "root_pos_w", self.root_pos_w, (frames, 3))
        _require_shape(self.name, "offsets", self.offsets, (joints, 3))
        _require_shape(self.name, "joint_quat", self.joint_quat, (frames, joints, 4))
        _require_unit(self.name, "joint_quat", self.joint_quat)
        if len(self.parents) != joints or self.parents[0] != -1:
            message = f"expected {joints} parents, -1 first, found {self.parents}"
            raise InputError(message, where=self.name)
        for name, i, parent in zip(self.joint_names, range(joints), self.parents, strict=True):
            if i and not 0 <= parent < i:
                message = f"joint {name} comes before its parent or has none"
                raise InputError(message, where=self.name)
        if self.local_pos is not None:
            _require_shape(self.name, "local_pos", self.local_pos, (frames, joints, 3))

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


@dataclass(frozen=True, slots=True)
class SmplClip:
    """Parameters of an SMPL-family body over time: what AMASS holds.

    Rotations are those of the model's own frame at rest (Y up, facing +Z, T-pose); the root's
    takes that frame into motionkit's world.
    """

    name: str
    """Of the clip."""
    fps: float
    """Frames per second."""
    model: Literal["smpl", "smplh", "smplx"]
    """Which body the parameters belong to."""
    trans_w: Float[Array, "T 3"]
    """The model's translation [m]; the pelvis lies at its rest offset plus this."""
    joint_quat: Float[Array, "T 52 4"]
    """Local joint rotations in the order of :data:`SMPLH_JOINTS`; SMPL-X's face is dropped."""
    betas: Float[Array, "S"] | None
    """Shape coefficients, constant over the clip; absent when the file has none."""
    gender: Literal["female", "male", "neutral"] | None
    """As stated by the file; absent when it is not."""
    provenance: Provenance
    """Where it came from."""

    def __post_init__(self) -> None:
        """Check shapes and finiteness."""
        _require_clip(self.name, self.fps, len(self.trans_w))
        _require_shape(self.name, "trans_w", self.trans_w, (len(self.trans_w), 3))
        _require_shape(self.name, "joint_quat", self.joint_quat, (len(self.trans_w), 52, 4))
        _require_unit(self.name, "joint_quat", self.joint_quat)
        if self.betas is not None:
            _require_finite(self.name, "betas", self.betas)

    @property
    def num_frames(self) -> int:
        """Number of frames."""
        return len(self.trans_w)


@dataclass(frozen=True, slots=True)
class HumanClip:
    """A person in motion on the 52 joints of SMPL-H, whatever the source was.

    Landmarks are those joints. Orientations are relative to the **T-pose facing +X, Z up**: in
    that pose every ``landmark_quat_w`` is the identity.
    """

    name: str
    """Of the clip."""
    fps: float
    """Frames per second."""
    landmark_pos_w: Float[Array, "T 52 3"]
    """World positions of the joints [m]."""
    landmark_quat_w: Float[Array, "T 52 4"]
    """World orientations, identity in the T-pose facing +X."""
    rest_pos: Float[Array, "52 3"]
    """Joint positions of this subject in the T-pose facing +X, pelvis at the origin [m]."""
    ankle_height: float
    """Height of the ankle joints above the sole, standing [m]."""
    toe_height: float
    """Height of the foot (toe-base) joints above the sole, standing [m]."""
    stature: float
    """Standing height of the subject [m]."""
    observed: Bool[Array, "52"]
    """Joints whose motion the source determines; the others follow their parent at rest."""
    body: str
    """Which body it stands on: ``embedded`` or the model file's name and hash."""
    provenance: Provenance
    """Where it came from; alignment adds its notes."""
    contact: Bool[Array, "T 4"] | None = None
    """Ground contact of :data:`CONTACT_PARTS`, where it is known."""
    ground: float | None = None
    """Height of the ground [m], where it is known."""

    def __post_init__(self) -> None:
        """Check shapes and finiteness."""
        frames = len(self.landmark_pos_w)
        _require_clip(self.name, self.fps, frames)
        _require_shape(self.name, "landmark_pos_w", self.landmark_pos_w, (frames, 52, 3))
        _require_shape(self.name, "landmark_quat_w", self.landmark_quat_w, (frames, 52, 4))
        _require_unit(self.name, "landmark_quat_w", self.landmark_quat_w)
        _require_shape(self.name, "rest_pos", self.rest_pos, (52, 3))
        if self.contact is not None:
            _require_shape(self.name, "contact", self.contact, (frames, len(CONTACT_PARTS)))

    @property
    def num_frames(self) -> int:
        """Number of frames."""
        return len(self.landmark_pos_w)


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
        _require_clip(self.name, self.fps, len(self.qpos))
        _require_finite(self.name, "qpos", self.qpos)
        if self.contact is not None:
            shape = (self.num_frames, *self.contact.shape[1:])
            _require_shape(self.name, "contact", self.contact, shape)

    @property
    def num_frames(self) -> int:
        """Number of frames."""
        return len(self.qpos)


Clip = SkeletonClip | SmplClip | HumanClip | RobotClip
C = TypeVar("C", SkeletonClip, SmplClip, HumanClip, RobotClip)

_TIME_FIELDS = (
    "root_pos_w", "joint_quat", "local_pos", "trans_w", "landmark_pos_w", "landmark_quat_w",
    "contact", "qpos",
)  # fmt: skip


def slice_frames(clip: C, start: int, stop: int) -> C:
    """The frames ``[start, stop)`` of a clip, unchanged.

    Raises:
        InputError: the interval is empty or reaches outside the clip.
    """
    frames = clip.num_frames
    if not 0 <= start < stop <= frames:
        raise InputError(
            f"frames [{start}, {stop}) asked for, the clip has [0, {frames})",
            where=clip.name,
            help="give a half-open interval inside the clip, e.g. --frames 0:100",
        )
    return _map_time(clip, lambda array: array[start:stop])


def resample(clip: C, fps: float) -> C:
    """The clip at another rate: positions by cubic spline, rotations by slerp, labels by nearest.

    The first frame is kept, and frames go on at ``1/fps`` as long as they lie inside the clip;
    nothing is extrapolated. A clip that already has the rate (to 1e-6 relative) is returned as
    it is. No low-pass filter is applied: halving the rate of noisy data folds its noise.

    Args:
        clip: any clip.
        fps: the wanted rate [1/s].

    Raises:
        InputError: ``fps`` is not positive and finite, or ``clip`` is a ``RobotClip``.
    """
    if not (np.isfinite(fps) and fps > 0):
        raise InputError(f"fps must be positive and finite, found {fps}", where=clip.name)
    if isinstance(clip, RobotClip):
        raise InputError("a robot clip is not resampled; retarget the source at the new rate",
                         where=clip.name)  # fmt: skip
    if abs(fps / clip.fps - 1.0) < _SAME_FPS or clip.num_frames == 1:
        return replace(clip, fps=float(fps))
    last = clip.num_frames - 1
    # The half-nanoframe keeps the last frame when the ratio is whole but its product rounds down.
    frames = np.arange(int(np.floor(last * fps / clip.fps + 1e-9)) + 1)
    frame = np.minimum(frames * (clip.fps / fps), last)

    def at(array: Array) -> Array:
        if array.dtype == bool:
            return array[np.rint(frame).astype(int)]
        if array.shape[-1] == 4:
            low = np.minimum(frame.astype(int), last - 1)
            fraction = (frame - low).reshape(-1, *[1] * (array.ndim - 2))
            fraction = np.broadcast_to(fraction, (len(frame), *array.shape[1:-1]))
            return rotation.slerp(array[low], array[low + 1], fraction)
        from scipy.interpolate import CubicSpline

        return CubicSpline(np.arange(last + 1), array, axis=0)(frame)

    return replace(_map_time(clip, at), fps=float(fps))


def differentiate(values: Float[Array, "T *n"], fps: float) -> Float[Array, "T *n"]:
    """Rate of change: central differences inside, one-sided at the ends.

    Raises:
        InputError: fewer than two frames.
    """
    if len(values) < 2:
        raise InputError(f"a velocity needs at least 2 frames, found {len(values)}")
    return np.gradient(values, 1.0 / fps, axis=0, edge_order=1)


def _map_time(clip: C, function: Callable[[Array], Array]) -> C:
    changes = {}
    for name in _TIME_FIELDS:
        value = getattr(clip, name, None)
        if value is not None:
            changes[name] = function(value)
    return replace(clip, **changes)


def _require_clip(name: str, fps: float, frames: int) -> None:
    if not (np.isfinite(fps) and fps > 0):
        raise InputError(f"fps must be positive and finite, found {fps}", where=name)
    if frames == 0:
        raise InputError("the clip has no frames", where=name)


def _require_shape(name: str, what: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise InputError(f"{what} has shape {array.shape}, expected {shape}", where=name)
    _require_finite(name, what, array)


def _require_finite(name: str, what: str, array: Array) -> None:
    if not np.all(np.isfinite(array)):
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"{what} is not finite first at frame {index[0]} (index {index})",
            where=name,
            help="cut the clip with --frames, or repair the source",
        )


def _require_unit(name: str, what: str, quat: Array) -> None:
    norm = np.linalg.norm(quat, axis=-1)
    if (error := np.abs(norm - 1.0)).max() > _UNIT_TOLERANCE:
        index = tuple(int(i) for i in np.unravel_index(error.argmax(), error.shape))
        raise InputError(f"{what} has a quaternion of norm {norm[index]:.6g} at index {index}",
                         where=name)  # fmt: skip
