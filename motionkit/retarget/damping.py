"""Damping of the whole-clip solver, one value a frame.

Follows Nielsen, "Damping parameter in Marquardt's method" (1999): it shrinks smoothly with the
gain ratio and grows by a factor where a step fails. Gain ratios are taken over a window around
each frame: one bad frame must not shorten the steps of all.
"""

import numpy as np
from jaxtyping import Bool, Float

from motionkit.retarget.config import RetargetConfig

Array = np.ndarray

_MIN_DAMPING = 1e-9  # keeps the matrix positive definite where nothing holds an unknown
_GROWTH = 4.0  # of damping, where a step failed
_FELT_DAMPING = 3.0  # about the smallest that shortens a step at all
_FIRM_DAMPING = 1e5  # at which a frame stands still
_BLAME = 0.1  # share of predicted decrease, and of the worst rise, that makes a rise a failure
_TINY = np.finfo(float).tiny
_NEGLIGIBLE = 1e-3  # share of a frame's mean predicted decrease that is noise to a gain ratio


class Damping:
    """One damping a frame."""

    def __init__(self, frames: int, window: int, config: RetargetConfig) -> None:
        self.value = np.full(frames, config.initial_damping)
        self._window, self._max = window, config.max_damping

    def judge(
        self, decrease: Float[Array, "T"], predicted: Float[Array, "T"]
    ) -> tuple[Float[Array, "T"], Bool[Array, "T"]]:
        """Gain ratio around each frame, and the frames where the step failed.

        It failed where the cost rose by a good share of the predicted decrease and of the worst
        rise anywhere: frames beside a failure, and rounding, are not to blame.
        """
        actual, hoped = (window_sum(v, self._window) for v in (decrease, predicted))
        negligible = _NEGLIGIBLE * predicted.sum() / len(predicted)
        gain = np.where(hoped > negligible, actual / np.maximum(hoped, negligible + _TINY), 1.0)
        failed = (actual < -_BLAME * hoped) & (actual <= _BLAME * min(actual.min(), 0.0))
        return gain, failed & (actual < 0)

    def update(self, gain: Float[Array, "T"], failed: Bool[Array, "T"]) -> None:
        """After an accepted step: less where it went as predicted, more where it failed."""
        shrink = np.maximum(1 / 3, 1 - (2 * np.clip(gain, 0.0, 1.0) - 1) ** 3)
        less = np.maximum(self.value * shrink, _MIN_DAMPING)
        self.value = np.where(failed, self._more(), np.minimum(less, self._max))

    def fail(self, where: Bool[Array, "T"]) -> None:
        """More damping where a step failed, and where that has stopped to matter, everywhere."""
        if np.all(self.value[where] >= _FIRM_DAMPING):
            self.value = np.minimum(np.maximum(self.value, _FELT_DAMPING) * _GROWTH, self._max)
        else:
            self.value = np.where(where, self._more(), self.value)

    @property
    def is_spent(self) -> bool:
        """Whether there is no more damping to give."""
        return bool(np.all(self.value >= self._max))

    def _more(self) -> Float[Array, "T"]:
        return np.maximum(self.value, np.clip(self.value * _GROWTH, _FELT_DAMPING, _FIRM_DAMPING))

    def is_settled(self, predicted: Float[Array, "T"], wanted: float) -> bool:
        """Whether a small predicted decrease means a minimum, not merely a short step.

        For curvature ``h`` damping hides all but ``h / (h + damping)`` of the decrease; terms of
        weight 1 or more make ``h`` at least about 1. Frames trade costs with their neighbours, so
        a single frame's decrease can be negative; those do not count against the others.
        """
        return float(np.sum(np.maximum(predicted, 0.0) * (1.0 + self.value))) <= wanted


def window_sum(values: Float[Array, "T"], window: int) -> Float[Array, "T"]:
    """Sum over the frames within ``window`` of each."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    at = np.arange(len(values))
    return total[np.minimum(at + window + 1, len(values))] - total[np.maximum(at - window, 0)]


def fade(good: Bool[Array, "T"], window: int) -> Float[Array, "T"]:
    """Weights that are 0 in bad frames and rise to 1 over ``window`` frames beside them."""
    frames = np.arange(len(good))
    bad = np.flatnonzero(~good)
    if not len(bad):
        return np.ones(len(good))
    after = np.minimum(np.searchsorted(bad, frames), len(bad) - 1)
    before = np.maximum(after - 1, 0)
    distance = np.minimum(np.abs(bad[after] - frames), np.abs(bad[before] - frames))
    return np.minimum(1.0, distance / window)
