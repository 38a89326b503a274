"""Terms between frames: cost by its formula, derivatives by the residuals' own."""

import numpy as np
import pytest
from builders_retarget import random_temporal

from motionkit.retarget.temporal import assemble

N = 5
FRAMES = [1, 2, 3, 4, 9]


def residuals(terms, unknowns) -> np.ndarray:
    """All residuals of a motion in one vector, as they are documented."""
    y = unknowns - terms.offset
    parts = [np.sqrt(terms.posture)[:, None] * y]
    rates = ((terms.velocity, terms.max_velocity), (terms.acceleration, terms.max_acceleration))
    for order, (weight, budget) in enumerate(rates, start=1):
        rate = np.diff(y, n=order, axis=1) * terms.fps**order
        parts.append(np.sqrt(weight)[:, None] * rate)
        share = np.abs(rate) / budget[:, None]
        parts.append(np.sqrt(terms.budget) * np.maximum(share - terms.onset, 0.0))
    return np.concatenate([part.reshape(-1) for part in parts])


def case(seed: int, frames: int):
    """A motion that is under, about and over its budgets."""
    rng = np.random.default_rng(seed)
    terms = random_temporal(rng, N, frames)
    unknowns = np.cumsum(rng.normal(scale=0.7, size=(6 + N, frames)), axis=1)
    unknowns[:, ::3] *= 0.5
    return terms, unknowns


def jacobian(terms, unknowns, step: float = 1e-6) -> np.ndarray:
    """Exact but for rounding: the residuals are linear wherever no hinge is crossed."""
    flat = unknowns.reshape(-1)
    columns = []
    for k in range(len(flat)):
        ahead, behind = flat.copy(), flat.copy()
        ahead[k] += step
        behind[k] -= step
        ends = [residuals(terms, x.reshape(unknowns.shape)) for x in (ahead, behind)]
        columns.append((ends[0] - ends[1]) / (2 * step))
    return np.array(columns).T


@pytest.mark.parametrize("frames", FRAMES)
@pytest.mark.parametrize("seed", range(3))
def test_cost_is_half_the_sum_of_squares(seed, frames):
    terms, unknowns = case(seed, frames)
    found = assemble(terms, unknowns)
    assert found.cost.shape == (frames,)
    wanted = 0.5 * np.sum(residuals(terms, unknowns) ** 2)
    np.testing.assert_allclose(found.cost.sum(), wanted, rtol=1e-12)


@pytest.mark.parametrize("frames", FRAMES)
@pytest.mark.parametrize("seed", range(3))
def test_gradient_and_blocks_are_those_of_the_residuals(seed, frames):
    terms, unknowns = case(seed, frames)
    found, J = assemble(terms, unknowns), jacobian(terms, unknowns)
    gradient = (J.T @ residuals(terms, unknowns)).reshape(unknowns.shape)
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-7 * np.abs(gradient).max())
    m = len(unknowns)
    wanted = (J.T @ J).reshape(m, frames, m, frames)
    dense = np.zeros_like(wanted)
    at = np.arange(m)
    for t in range(frames):
        dense[at, t, at, t] = found.same[:, t]
        for gap, couple in ((1, found.next_one), (2, found.next_two)):
            if t + gap < frames:
                dense[at, t, at, t + gap] = dense[at, t + gap, at, t] = couple[:, t]
    np.testing.assert_allclose(dense, wanted, atol=1e-7 * np.abs(wanted).max())


def test_the_cases_cover_idle_and_active_budgets():
    """Else the tests above would say nothing of the hinges."""
    terms, unknowns = case(0, 9)
    y = (unknowns - terms.offset)[6:]
    speed = np.abs(np.diff(y, axis=1)) * terms.fps / terms.max_velocity[6:, None]
    hardness = np.abs(np.diff(y, n=2, axis=1)) * terms.fps**2 / terms.max_acceleration[6:, None]
    for share in (speed, hardness):
        assert np.any(share > terms.onset) and np.any(share < terms.onset)


@pytest.mark.parametrize("frames", FRAMES)
def test_a_frame_pays_for_the_rates_that_begin_in_it(frames):
    terms, unknowns = case(4, frames)
    cost = assemble(terms, unknowns).cost
    for cut in range(1, frames):
        early = assemble(_cut(terms, slice(0, cut)), unknowns[:, :cut])
        sure = max(cut - 2, 0)
        np.testing.assert_allclose(cost[:sure], early.cost[:sure], rtol=1e-12)


def test_a_standstill_at_the_reference_is_free():
    rng = np.random.default_rng(5)
    terms = random_temporal(rng, N, 6)
    found = assemble(terms, terms.offset + 0.0)
    assert np.all(found.cost == 0) and np.all(found.gradient == 0)


def _cut(terms, at):
    from dataclasses import replace

    return replace(terms, offset=terms.offset[:, at])
