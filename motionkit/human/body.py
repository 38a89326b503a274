"""A subject's body at rest."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit.clip import SMPLH_JOINTS
from motionkit.errors import ConfigError
from motionkit.human.skeleton import ANKLE_HEIGHT, TOE_HEIGHT, embedded_rest

Array = np.ndarray

DEFAULT_STATURE = 1.70  # [m], between the means of women and men in most surveys
FOOT_DROP = (0.005, 0.075)  # of stature: plausible height of an ankle over its toe base
MIN_STATURE, MAX_STATURE = 0.5, 2.6  # [m], beyond which a number is no person's height


@dataclass(frozen=True, slots=True)
class Body:
    """A subject standing in the T-pose facing +X, Z up."""

    rest_pos: Float[Array, "52 3"]
    """Joint positions, pelvis at the origin [m]."""
    ankle_height: float
    """Of the ankle joints over the sole [m]."""
    toe_height: float
    """Of the toe-base joints over the sole [m]."""
    stature: float
    """Standing height [m]."""
    name: str
    """Which body this is: ``embedded``, or a model file with its hash."""


def embedded_body(stature: float = DEFAULT_STATURE) -> Body:
    """The embedded body at a stature [m].

    Raises:
        ConfigError: the stature is no person's.
    """
    if not MIN_STATURE <= stature <= MAX_STATURE:
        raise ConfigError(
            f"stature is {stature:g} m, expected {MIN_STATURE:g} to {MAX_STATURE:g}",
            help="give --stature in metres",
        )
    rest = embedded_rest(stature)
    return Body(rest - rest[0], ANKLE_HEIGHT * stature, TOE_HEIGHT * stature, stature, "embedded")


def bounded_body(stature: float) -> Body:
    """The embedded body nearest to a measured stature [m]: it only fills in for a skeleton."""
    return embedded_body(float(np.clip(stature, MIN_STATURE, MAX_STATURE)))


def ankle_drop(rest: Float[Array, "J 3"]) -> float:
    """Height of the ankles over the toe bases in the T-pose [m]."""
    sides = ("left", "right")
    ankles, toes = (
        [SMPLH_JOINTS.index(f"{side}_{part}") for side in sides] for part in ("ankle", "foot")
    )
    return float(np.mean(rest[ankles, 2] - rest[toes, 2]))


def ankle_height(rest: Float[Array, "J 3"], spare: Body) -> float | None:
    """Height of the ankles over the sole [m]: over the toe bases in the T-pose, and theirs.

    None where the drop is no foot's.

    Args:
        rest: joints in the T-pose, the first 22 at least [m].
        spare: the embedded body of that stature, for the toe bases.
    """
    drop = ankle_drop(rest)
    low, high = (share * spare.stature for share in FOOT_DROP)
    return spare.toe_height + drop if low <= drop <= high else None
