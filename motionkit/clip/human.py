"""People: parameters of a body model, and landmarks of one."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from motionkit.clip.names import CONTACT_PARTS
from motionkit.clip.record import (
    Provenance,
    require_clip,
    require_finite,
    require_shape,
    require_unit,
)

Array = np.ndarray


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
        require_clip(self.name, self.fps, len(self.trans_w))
        require_shape(self.name, "trans_w", self.trans_w, (len(self.trans_w), 3))
        require_shape(self.name, "joint_quat", self.joint_quat, (len(self.trans_w), 52, 4))
        require_unit(self.name, "joint_quat", self.joint_quat)
        if self.betas is not None:
            require_finite(self.name, "betas", self.betas)

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
        require_clip(self.name, self.fps, frames)
        require_shape(self.name, "landmark_pos_w", self.landmark_pos_w, (frames, 52, 3))
        require_shape(self.name, "landmark_quat_w", self.landmark_quat_w, (frames, 52, 4))
        require_unit(self.name, "landmark_quat_w", self.landmark_quat_w)
        require_shape(self.name, "rest_pos", self.rest_pos, (52, 3))
        if self.contact is not None:
            require_shape(self.name, "contact", self.contact, (frames, len(CONTACT_PARTS)))

    @property
    def num_frames(self) -> int:
        """Number of frames."""
        return len(self.landmark_pos_w)
