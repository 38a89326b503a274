"""One scale of colours for distances between markers and their places."""

import numpy as np

FULL_SCALE = 0.05
"""Residual from which the colour no longer changes [m]."""

STOPS = ((0.0, (75, 165, 105)), (0.4, (235, 175, 45)), (1.0, (190, 20, 70)))
"""Share of the full scale and its colour: green, amber, crimson."""


def colour_of(residual: float) -> tuple[int, int, int]:
    """The colour of a distance [m]."""
    share = min(residual / FULL_SCALE, 1.0)
    at = [stop for stop, _ in STOPS]
    r, g, b = (round(float(np.interp(share, at, [c[i] for _, c in STOPS]))) for i in range(3))
    return r, g, b
