"""Markers that changed places: found by where the fitted body has them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit.human.markers.gaps import runs
from motionkit.human.markers.objective import Markers

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Reach:
    """How far off is how far off."""

    apart: float
    """Distance of a marker from its place from which an exchange is looked for [m]."""
    close: float
    """Distance from the other's place at most [m]."""


COARSE = Reach(0.12, 0.06)
"""For a body that has been placed part by part."""
FINE = Reach(0.04, 0.03)
"""For one that has been fitted."""
BETTER = 0.5
"""Share of the distance that an exchange must leave at most."""
LEAST_TIME = 0.03
"""Shortest exchange that is believed [s]."""


def find_swaps(
    markers: Markers, model: Float[Array, "T K 3"], fps: float, reach: Reach
) -> list[tuple[int, int, int, int]]:
    """Exchanges (first marker, second marker, start, stop) that would bring both to their places.

    A marker far from its own place that lies at the place of another one, which is unseen or itself
    at the place of the first.
    """
    own = np.linalg.norm(markers.pos - model, axis=-1)
    far = markers.seen & (own > reach.apart)
    found = []
    for k in np.flatnonzero(far.any(axis=0)):
        at = np.flatnonzero(far[:, k])
        there = np.linalg.norm(markers.pos[at, k, None] - model[at], axis=-1)
        there[:, k] = np.inf
        nearest = np.argmin(there, axis=1)
        rows = np.arange(len(at))
        back = np.linalg.norm(markers.pos[at, nearest] - model[at, k], axis=-1)
        is_swap = there[rows, nearest] < np.minimum(reach.close, BETTER * own[at, k])
        is_swap &= ~markers.seen[at, nearest] | (far[at, nearest] & (back < reach.close))
        for m in np.unique(nearest[is_swap]):
            flag = np.zeros(len(own), dtype=bool)
            flag[at[is_swap & (nearest == m)]] = True
            both = markers.seen[:, m]
            flag &= ~both | (k < m)  # a true exchange is found from both sides: take it once
            for start, stop in runs(flag):
                if stop - start >= max(1, round(LEAST_TIME * fps)):
                    found.append((int(k), int(m), start, stop))
    return found


def exchange(markers: Markers, swaps: list[tuple[int, int, int, int]]) -> Markers:
    """The markers with their labels put right."""
    pos, seen = markers.pos.copy(), markers.seen.copy()
    for k, m, start, stop in swaps:
        pos[start:stop, [k, m]] = pos[start:stop, [m, k]]
        seen[start:stop, [k, m]] = seen[start:stop, [m, k]]
    return Markers(pos, seen, markers.part)
