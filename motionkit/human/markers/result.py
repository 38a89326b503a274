"""What a fit of markers comes to."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit.clip import HumanClip

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class HipCheck:
    """A hip joint, found in up to three ways; in the frame of the pelvis joint, T-pose axes [m]."""

    side: str
    """``left`` or ``right``."""
    fitted: Float[Array, "3"]
    """Where the fit has it."""
    regression: Float[Array, "3"] | None
    """Where Harrington et al. 2007 expect it; absent without the markers of the pelvis."""
    functional: Float[Array, "3"] | None
    """Middle of the spheres on which the thigh's markers move; absent where too few were seen."""
    functional_sigma: float | None
    """Its standard deviation along its worst axis [m]."""
    is_functional_trusted: bool
    """Whether the motion is wide enough to tell."""


@dataclass(frozen=True, slots=True)
class MarkerFit:
    """A person fitted to markers, and how well."""

    human: HumanClip
    """The person; its notes say what was noticed."""
    marker_set: str
    """Name of the marker set."""
    labels: tuple[str, ...]
    """Markers that took part (K)."""
    unmapped: tuple[str, ...]
    """Labels that did not, sorted."""
    segments: tuple[str, ...]
    """Joint of SMPL-H whose part each marker sits on (K)."""
    offset: Float[Array, "K 3"]
    """Place of each marker in the frame of its joint, T-pose axes [m]."""
    pos_w: Float[Array, "T K 3"]
    """Markers as they were seen, NaN where they were not [m]."""
    model_pos_w: Float[Array, "T K 3"]
    """Markers of the fitted person [m]."""
    weight: Float[Array, "T K"]
    """What the robust loss left of each marker's weight, 0 to 1; 0 where it was not seen."""
    joint_sigma: Float[Array, "22"]
    """Standard deviation of each joint's position over the clip, root mean square over frames and
    axes [m]; NaN for joints that no marker shows."""
    first_frame: int
    """Frame of the source that is the first of the result."""
    filled: Float[Array, "22"]
    """Share of frames in which no marker showed a joint's part, so the model bridged it; 1 for
    parts that no marker shows."""
    hips: tuple[HipCheck, ...]
    """The hips, held against what else is known of them."""

    @property
    def residual(self) -> Float[Array, "T K"]:
        """Distance of each marker from the person's [m]; NaN where it was not seen."""
        return np.linalg.norm(self.pos_w - self.model_pos_w, axis=-1)
