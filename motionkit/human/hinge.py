"""Knees and elbows: the axis about which they bend, from the motion."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit.human.frames import unit
from motionkit.human.source import Source, index

Array = np.ndarray

_BENT = np.radians(10.0)  # bend of a knee or elbow from which a frame shows its axis
_HINGE_RANGE = np.radians(6.0)  # range of bends over which a constant axis is a hinge's
_HINGE_SPREAD = 1.0 - np.cos(np.radians(0.8))  # of a hinge's axis about its mean
_EVIDENCE = 0.35  # share of bends that agree on a side, below which a motion shows no axis


@dataclass(frozen=True, slots=True)
class Hinge:
    """The bending axis of a knee or elbow, in the frames of both its bones."""

    upper: Float[Array, "3"]
    """In the frame of the joint above."""
    lower: Float[Array, "3"]
    """In its own frame."""
    is_exact: bool
    """Whether it is one axis of the rig."""
    share: float
    """Length of the mean over the mean of lengths, in the frame that agrees less."""

    def flipped(self) -> "Hinge":
        """The axis the other way about."""
        return Hinge(-self.upper, -self.lower, self.is_exact, self.share)


def find_hinge(
    source: Source, near: str, far: str, end: str, frames: tuple[str, str] | None = None
) -> Hinge | None:
    """The bending axis ``bone above × bone below``, weighted by the sine of the bend.

    Args:
        source: the motion.
        near: where the bone above begins.
        far: where the bones meet.
        end: where the bone below ends.
        frames: the roles in whose frames the axis is wanted; those of the two bones by default.

    Returns:
        None where no frame is bent or bends disagree on a side.
    """
    upper = source.pos[:, index(far)] - source.pos[:, index(near)]
    lower = source.pos[:, index(end)] - source.pos[:, index(far)]
    cross = np.cross(upper, lower)
    sine = np.linalg.norm(cross, axis=1)
    bend = np.arctan2(sine, np.sum(upper * lower, axis=1))
    bent = bend >= _BENT
    scale = np.linalg.norm(upper, axis=1) * np.linalg.norm(lower, axis=1)
    cross = cross / np.where(scale > 0.0, scale, 1.0)[:, None]
    bent &= np.linalg.norm(cross, axis=1) > np.sin(_BENT)  # nor folded up
    if not bent.any():
        return None
    means, spreads, share = [], [], 1.0
    for role in frames or (near, far):
        local = source.in_frame(role, cross)[bent]
        weight = np.linalg.norm(local, axis=1)
        mean = unit(local.sum(axis=0))
        if mean is None:
            return None
        means.append(mean)
        spreads.append(float(np.max(1.0 - local @ mean / weight)))
        share = min(share, float(np.linalg.norm(local.sum(axis=0)) / weight.sum()))
    if share < _EVIDENCE:
        return None
    is_exact = max(spreads) < _HINGE_SPREAD and np.ptp(bend[bent]) > _HINGE_RANGE
    return Hinge(means[0], means[1], bool(is_exact), share)
