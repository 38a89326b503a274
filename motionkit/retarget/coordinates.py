"""Unknowns that keep joints inside their limits: a projected box, or inverse-tanh coordinates."""

import numpy as np
from jaxtyping import Bool, Float

Array = np.ndarray

_TANH_START = 0.999  # share of the half range that an inverse-tanh start may reach


class Angles:
    """Joint coordinates as unknowns, kept in their box by projection."""

    def __init__(self, limits: Float[Array, "n 2"]) -> None:
        self._low, self._high = limits[:, :1], limits[:, 1:]

    def from_q(self, q: Float[Array, "n T"]) -> Float[Array, "n T"]:
        """Unknowns of joint coordinates, brought inside the limits."""
        return np.clip(q, self._low, self._high)

    def to_q(self, u: Float[Array, "n T"]) -> Float[Array, "n T"]:
        """Joint coordinates of unknowns."""
        return u

    def move(self, u: Float[Array, "n T"], step: Float[Array, "n T"]) -> Float[Array, "n T"]:
        """Unknowns a step further."""
        return np.clip(u + step, self._low, self._high)

    def is_stopped(self, u: Float[Array, "n T"], step: Float[Array, "n T"]) -> Bool[Array, "n T"]:
        """Where a limit cuts a step short."""
        return (u + step < self._low) | (u + step > self._high)

    def slope(self, u: Float[Array, "n T"]) -> None:
        """dq/du; nothing where it is one."""
        return None

    def is_held(self, u: Float[Array, "n T"], gradient: Float[Array, "n T"]) -> Bool[Array, "n T"]:
        """Where a limit holds an unknown against the descent direction."""
        return ((u <= self._low) & (gradient > 0)) | ((u >= self._high) & (gradient < 0))


class Tanh:
    """Unknowns ``u`` with ``q = middle + half tanh(u)``: always inside, never clipped."""

    def __init__(self, limits: Float[Array, "n 2"]) -> None:
        self._limited = np.all(np.isfinite(limits), axis=1)[:, None]
        safe = np.where(self._limited, limits, [[-1.0, 1.0]])
        self._middle, self._half = safe.mean(axis=1)[:, None], 0.5 * np.diff(safe, axis=1)

    def from_q(self, q: Float[Array, "n T"]) -> Float[Array, "n T"]:
        """Unknowns of joint coordinates, brought inside the limits."""
        share = np.clip((q - self._middle) / self._half, -_TANH_START, _TANH_START)
        return np.where(self._limited, np.arctanh(share), q)

    def to_q(self, u: Float[Array, "n T"]) -> Float[Array, "n T"]:
        """Joint coordinates of unknowns."""
        inside = self._middle + self._half * np.tanh(u)
        return np.where(self._limited, inside, u)

    def move(self, u: Float[Array, "n T"], step: Float[Array, "n T"]) -> Float[Array, "n T"]:
        """Unknowns a step further."""
        return u + step

    def is_stopped(self, u: Float[Array, "n T"], step: Float[Array, "n T"]) -> Bool[Array, "n T"]:
        """Where a limit cuts a step short: nowhere."""
        return np.zeros(u.shape, dtype=bool)

    def slope(self, u: Float[Array, "n T"]) -> Float[Array, "n T"]:
        """dq/du; nothing where it is one."""
        return np.where(self._limited, self._half * (1.0 - np.tanh(u) ** 2), 1.0)

    def is_held(self, u: Float[Array, "n T"], gradient: Float[Array, "n T"]) -> Bool[Array, "n T"]:
        """Where a limit holds an unknown against the descent direction."""
        return np.zeros(u.shape, dtype=bool)
