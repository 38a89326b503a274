"""Terms on one unknown at a time: posture, smoothness and joint budgets.

On each unknown's history ``y[t]``, its distance from a reference, with
``v = (y[t+1] - y[t]) fps`` and ``a = (y[t+1] - 2 y[t] + y[t-1]) fps²`` on angles that are never
wrapped, half the sum of squares of

    posture               w_p y
    velocity              w_v v / V
    acceleration          w_a a / A
    speed budget          w_b max(0, |v| / V - onset)
    acceleration budget   w_b max(0, |a| / A - onset)

where V and A are the budgets. All are diagonal across unknowns, so their Gauss-Newton matrix
couples an unknown only with itself, up to two frames away.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Temporal:
    """Weights per unknown. Rows are root translation (3), root rotation (3), joints (n)."""

    fps: float
    """Frames per second."""
    offset: Float[Array, "m T"]
    """Subtracted from the unknowns first: the root's target, the joints' rest posture."""
    posture: Float[Array, "m"]
    """``w_p²``, zero where there is no term."""
    velocity: Float[Array, "m"]
    """``(w_v / V)²``, zero where there is no term."""
    acceleration: Float[Array, "m"]
    """``(w_a / A)²``, zero where there is no term."""
    max_velocity: Float[Array, "m"]
    """V; infinite where there is no budget."""
    max_acceleration: Float[Array, "m"]
    """A; infinite where there is no budget."""
    onset: float
    """Share of a budget at which its penalty begins."""
    budget: float
    """``w_b²``."""


@dataclass(slots=True)
class TemporalAssembly:
    """Cost, gradient and the three diagonals of the Gauss-Newton matrix."""

    cost: Float[Array, "T"]
    """Half the sum of squares; a rate counts for the first of its frames."""
    gradient: Float[Array, "m T"]
    """With respect to the unknowns."""
    same: Float[Array, "m T"]
    """Coupling of frame t with itself."""
    next_one: Float[Array, "m T"]
    """Coupling of frames t and t+1, stored at t; zero at the end."""
    next_two: Float[Array, "m T"]
    """Coupling of frames t and t+2, stored at t; zero at the end."""


def assemble(terms: Temporal, unknowns: Float[Array, "m T"]) -> TemporalAssembly:
    """Evaluate the terms; clips of one or two frames have fewer."""
    y = unknowns - terms.offset
    m, frames = y.shape
    out = TemporalAssembly(np.zeros(frames), *(np.zeros((m, frames)) for _ in range(4)))
    pull = terms.posture[:, None]
    out.gradient += pull * y
    out.same += pull
    out.cost += 0.5 * np.einsum("mt,mt->t", y, out.gradient)
    if frames >= 2:
        v = np.diff(y, axis=1) * terms.fps
        cost, slope, curve = _penalty(v, terms.velocity, terms.max_velocity, terms)
        slope *= terms.fps
        curve *= terms.fps**2
        out.cost[:-1] += cost
        out.gradient[:, 1:] += slope
        out.gradient[:, :-1] -= slope
        out.same[:, 1:] += curve
        out.same[:, :-1] += curve
        out.next_one[:, :-1] -= curve
    if frames >= 3:
        a = np.diff(y, n=2, axis=1) * terms.fps**2
        cost, slope, curve = _penalty(a, terms.acceleration, terms.max_acceleration, terms)
        slope *= terms.fps**2
        curve *= terms.fps**4
        out.cost[:-2] += cost
        out.gradient[:, :-2] += slope
        out.gradient[:, 1:-1] -= 2 * slope
        out.gradient[:, 2:] += slope
        out.same[:, :-2] += curve
        out.same[:, 1:-1] += 4 * curve
        out.same[:, 2:] += curve
        out.next_one[:, :-2] -= 2 * curve
        out.next_one[:, 1:-1] -= 2 * curve
        out.next_two[:, :-2] += curve
    return out


def _penalty(
    rate: Float[Array, "m K"], weight: Float[Array, "m"], limit: Float[Array, "m"], terms: Temporal
) -> tuple[Float[Array, "K"], Float[Array, "m K"], Float[Array, "m K"]]:
    """Cost, first and Gauss-Newton second derivative with respect to the rate."""
    slope = rate * weight[:, None]
    cost = 0.5 * np.einsum("mk,mk->k", rate, slope)
    curve = np.broadcast_to(weight[:, None], rate.shape).copy()
    excess = np.abs(rate) / limit[:, None] - terms.onset
    row, col = np.nonzero(excess > 0)
    if len(row):
        over, cap = excess[row, col], limit[row]
        np.add.at(cost, col, 0.5 * terms.budget * over * over)
        slope[row, col] += terms.budget * over * np.sign(rate[row, col]) / cap
        curve[row, col] += terms.budget / cap**2
    return cost, slope, curve
