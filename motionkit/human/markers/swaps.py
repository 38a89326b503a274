"""Markers that changed places: found by where the fitted body has them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from motionkit.clip import runs
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

    Two markers that lie at each other's places, for :data:`LEAST_TIME` at least; and frames in
    which one of them is unseen and the other at its place.
    """
    own = np.linalg.norm(markers.pos - model, axis=-1)
    far = markers.seen & (own > reach.apart)
    may_take = far | ~markers.seen  # places that are free, or whose marker is elsewhere
    both: dict[tuple[int, int], Array] = {}
    alone: dict[tuple[int, int], Array] = {}
    for k in np.flatnonzero(far.any(axis=0)):
        at = np.flatnonzero(far[:, k])
        there = np.linalg.norm(markers.pos[at, k, None] - model[at], axis=-1)
        there = np.where(may_take[at], there, np.inf)
        there[:, k] = np.inf
        nearest = np.argmin(there, axis=1)
        back = np.linalg.norm(markers.pos[at, nearest] - model[at, k], axis=-1)
        is_there = np.min(there, axis=1) < np.minimum(reach.close, BETTER * own[at, k])
        is_seen = markers.seen[at, nearest]
        for m in np.unique(nearest[is_there]):
            on = is_there & (nearest == m)
            if k < m:  # a true exchange is found from both sides: take it once
                both[int(k), int(m)] = _frames(len(own), at[on & is_seen & (back < reach.close)])
            alone[int(k), int(m)] = _frames(len(own), at[on & ~is_seen])
    found = []
    least = max(1, round(LEAST_TIME * fps))
    for (k, m), frames in both.items():
        if not (sure := [run for run in runs(frames) if run[1] - run[0] >= least]):
            continue
        found += [(k, m, start, stop) for start, stop in sure]
        for pair in ((k, m), (m, k)):  # with one of a pair that is known to change unseen
            for start, stop in runs(alone.get(pair, np.zeros(0, dtype=bool))):
                found.append((*pair, start, stop))
    return found


def _frames(count: int, at: Int[Array, "n"]) -> Bool[Array, "T"]:
    out = np.zeros(count, dtype=bool)
    out[at] = True
    return out


def exchange(markers: Markers, swaps: list[tuple[int, int, int, int]]) -> Markers:
    """The markers with their labels put right."""
    pos, seen = markers.pos.copy(), markers.seen.copy()
    for k, m, start, stop in swaps:
        pos[start:stop, [k, m]] = pos[start:stop, [m, k]]
        seen[start:stop, [k, m]] = seen[start:stop, [m, k]]
    return Markers(pos, seen, markers.part)
