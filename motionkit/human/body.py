"""A subject's body at rest."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit.errors import ConfigError
from motionkit.human.skeleton import ANKLE_HEIGHT, TOE_HEIGHT, embedded_rest

Array = np.ndarray

DEFAULT_STATURE = 1.70  # [m], between the means of women and men in most surveys
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
