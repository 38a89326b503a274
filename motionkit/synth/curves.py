"""Curves in continuous time with two continuous derivatives.

A quintic is the lowest polynomial that meets value, rate and acceleration at both of its ends,
so a chain of them through knots that give all three is C².
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Array = np.ndarray

# Rows: powers of x ∈ [0, 1]; columns: f(0), f'(0), f''(0), f(1), f'(1), f''(1).
_QUINTIC = np.array(
    [
        [1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [0, 0, 0.5, 0, 0, 0],
        [-10, -6, -1.5, 10, -4, 0.5],
        [15, 8, 1.5, -15, 7, -1],
        [-6, -3, -0.5, 6, -3, 0.5],
    ]
)


@dataclass(frozen=True, slots=True)
class Knot:
    """A place that a curve passes, and how."""

    at: float
    """Where on the abscissa."""
    value: float
    """Of the curve there."""
    rate: float = 0.0
    """First derivative."""
    acceleration: float = 0.0
    """Second derivative."""


def quintic(x: Float[Array, "*n"], start: Array, stop: Array) -> Float[Array, "*m"]:
    """The quintic on [0, 1] with (value, rate, acceleration) ``start`` at 0 and ``stop`` at 1.

    ``start`` and ``stop`` have the three in their first axis; the others broadcast with ``x``.
    """
    ends = [*start, *stop]
    total = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(ends[0])))
    for row in _QUINTIC[::-1]:
        total = total * x + sum(k * end for k, end in zip(row, ends, strict=True) if k)
    return total


def step(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """From 0 at ``x ≤ 0`` to 1 at ``x ≥ 1``, C²."""
    x = np.clip(x, 0.0, 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x * x)


def chain(x: Float[Array, "*n"], knots: list[Knot]) -> Float[Array, "3 *n"]:
    """Value, rate and acceleration of the chain of quintics through ``knots``.

    ``x`` lies between the first knot and the last.
    """
    at = np.array([knot.at for knot in knots])
    states = np.array([(knot.value, knot.rate, knot.acceleration) for knot in knots])
    piece = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(knots) - 2)
    width = np.diff(at)
    units = np.array([np.ones_like(width), width, width**2])
    coefficients = np.concatenate([states[:-1] * units.T, states[1:] * units.T], axis=1)
    power = (coefficients @ _QUINTIC.T)[piece]
    s = (x - at[piece]) / width[piece]
    out = []
    for order in range(3):
        total = np.zeros_like(s)
        for n in range(5, order - 1, -1):
            factor = np.prod(np.arange(n - order + 1, n + 1)) if order else 1.0
            total = total * s + factor * power[..., n]
        out.append(total / width[piece] ** order)
    return np.array(out)
