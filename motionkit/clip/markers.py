"""Points in space over time: optical markers, or joint centres without rotations.

What a laboratory recorded beside them, ground-reaction force and electromyography, is kept as it
is for later use.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from motionkit.clip.record import Provenance, require_clip, require_shape
from motionkit.errors import InputError

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Analog:
    """Channels sampled beside the points, in the units that their file states."""

    fps: float
    """Samples per second, a whole multiple of the clip's rate."""
    labels: tuple[str, ...]
    """As the file spells them (A)."""
    units: tuple[str, ...]
    """As the file spells them, e.g. ``V``, ``N``, ``Nmm``; empty text where it states none (A)."""
    values: Float[Array, "S A"]
    """Scaled and offset as the file says."""


@dataclass(frozen=True, slots=True)
class ForcePlate:
    """A force plate: where it is, and which channels are its own."""

    type: int
    """As in ``FORCE_PLATFORM:TYPE`` of C3D."""
    corners_w: Float[Array, "4 3"]
    """Corners of the working surface [m]."""
    origin: Float[Array, "3"]
    """From the middle of the surface to the plate's own origin, plate frame [m]."""
    channels: tuple[str, ...]
    """Labels of its analog channels, in the order that its type prescribes."""
    calibration: Float[Array, "R C"] | None = None
    """``CAL_MATRIX``, for the types that have one: 6 rows, a column a channel."""


@dataclass(frozen=True, slots=True)
class MarkerClip:
    """Labelled points over time. A point that was not seen is NaN in that frame."""

    name: str
    """Of the clip: the file's stem unless the user says otherwise."""
    fps: float
    """Frames per second."""
    labels: tuple[str, ...]
    """Unique, without a subject's prefix (M)."""
    pos_w: Float[Array, "T M 3"]
    """Positions [m]; all three NaN where the point was not seen."""
    provenance: Provenance
    """Where it came from."""
    kind: Literal["marker", "joint"] = "marker"
    """Whether the points lie on the skin or are joint centres as a whole."""
    roles: dict[str, str] = field(default_factory=dict)
    """Role (a name of :data:`SMPLH_JOINTS`) to label, for joint centres that the reader knows."""
    subject: str = ""
    """Prefix that was taken off the labels, where there was one."""
    first_frame: int = 1
    """Number that the file gives to its first frame."""
    analog: Analog | None = None
    """Channels sampled beside the points."""
    plates: tuple[ForcePlate, ...] = ()
    """Force plates."""

    def __post_init__(self) -> None:
        """Check shapes, labels, and that points are seen or not as a whole."""
        require_clip(self.name, self.fps, len(self.pos_w))
        shape = (len(self.pos_w), len(self.labels), 3)
        require_shape(self.name, "pos_w", np.nan_to_num(self.pos_w, posinf=np.inf), shape)
        if len(set(self.labels)) != len(self.labels):
            twice = sorted({label for label in self.labels if self.labels.count(label) > 1})
            raise InputError(f"labels occur more than once: {', '.join(twice)}", where=self.name)
        missing = np.isnan(self.pos_w)
        if np.any(missing.any(axis=2) != missing.all(axis=2)):
            raise InputError("pos_w has points that are NaN in part", where=self.name)
        if unknown := sorted(set(self.roles.values()) - set(self.labels)):
            raise InputError(f"roles of points that are not there: {unknown}", where=self.name)

    @property
    def num_frames(self) -> int:
        """Number of frames."""
        return len(self.pos_w)

    @property
    def visible(self) -> Bool[Array, "T M"]:
        """Whether each point was seen."""
        return ~np.isnan(self.pos_w[..., 0])
