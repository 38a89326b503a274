"""The band solver against dense algebra."""

import ctypes

import numpy as np
import pytest

from motionkit import band as band_module
from motionkit.band import BandMatrix, band_length


def random_system(rng, frames: int, size: int, rank: int = 6):
    """Blocks of the kind that residuals make, and the same matrix densely."""
    root = rng.normal(size=(frames, size, rank))
    order = np.triu(np.ones((size, size)))
    mask = order * (rng.random((size, size)) < 0.7)
    np.fill_diagonal(mask, 1.0)
    couple_one = -rng.uniform(0, 1, size=(frames, size))
    couple_two = rng.uniform(-0.5, 0.5, size=(frames, size))
    same = 3.0 * rank * size + rng.uniform(0, 1, size=(frames, size))
    dense = np.zeros((frames, size, frames, size))
    eye = np.arange(size)
    for t in range(frames):
        upper = (root[t] @ root[t].T) * mask
        dense[t, :, t] = upper + np.triu(upper, 1).T + np.diag(same[t])
        for gap, couple in ((1, couple_one), (2, couple_two)):
            if t + gap < frames:
                dense[t, eye, t + gap, eye] = couple[t]
                dense[t + gap, eye, t, eye] = couple[t]
    return (root, root, mask, same, couple_one, couple_two), dense.reshape(frames * size, -1)


SIZES = [(1, 1), (1, 7), (2, 1), (2, 5), (3, 4), (4, 1), (17, 3), (33, 9), (40, 2)]


@pytest.mark.parametrize("frames, size", SIZES)
def test_solution_is_that_of_a_dense_solve(frames, size):
    rng = np.random.default_rng(frames * 100 + size)
    parts, dense = random_system(rng, frames, size)
    matrix = BandMatrix(frames, size)
    matrix.fill(*parts)
    rhs = rng.normal(size=(frames, size))
    before = rhs.copy()
    assert matrix.factor()
    found = matrix.solve(rhs)
    np.testing.assert_array_equal(rhs, before)
    wanted = np.linalg.solve(dense, rhs.reshape(-1)).reshape(frames, size)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-13 * np.abs(wanted).max())


def test_couplings_beyond_the_last_frame_are_not_read():
    rng = np.random.default_rng(0)
    parts, _ = random_system(rng, 5, 3)
    rhs = rng.normal(size=(5, 3))
    answers = []
    for garbage in (0.0, np.nan):
        parts[4][-1:], parts[5][-2:] = garbage, garbage
        matrix = BandMatrix(5, 3)
        matrix.fill(*parts)
        assert matrix.factor()
        answers.append(matrix.solve(rhs))
    np.testing.assert_array_equal(*answers)


def test_borrowed_memory_with_old_values_gives_the_same_answer():
    rng = np.random.default_rng(1)
    parts, dense = random_system(rng, 6, 4)
    memory = np.full(band_length(6, 4) + 50, np.nan)
    matrix = BandMatrix(6, 4, memory)
    matrix.fill(*parts)
    assert matrix.factor()
    rhs = rng.normal(size=(6, 4))
    wanted = np.linalg.solve(dense, rhs.reshape(-1)).reshape(6, 4)
    np.testing.assert_allclose(matrix.solve(rhs), wanted, rtol=1e-10)
    assert np.all(np.isnan(memory[band_length(6, 4) :]))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_frozen_unknowns_stay_and_the_others_are_solved_without_them(share):
    rng = np.random.default_rng(2)
    frames, size = 9, 5
    parts, dense = random_system(rng, frames, size)
    fixed = rng.random((frames, size)) < share
    fixed[0, 0] |= share > 0  # the first and the last unknown have no neighbour on one side
    fixed[-1, -1] |= share > 0
    matrix = BandMatrix(frames, size)
    matrix.fill(*parts)
    matrix.freeze(fixed)
    assert matrix.factor()
    rhs = rng.normal(size=(frames, size))
    found = matrix.solve(np.where(fixed, 0.0, rhs))
    assert np.all(found[fixed] == 0)
    free = ~fixed.reshape(-1)
    wanted = np.linalg.solve(dense[np.ix_(free, free)], rhs.reshape(-1)[free])
    np.testing.assert_allclose(found.reshape(-1)[free], wanted, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("frames", [1, 2, 3, 12])
def test_a_matrix_that_is_not_positive_definite_is_refused(frames):
    rng = np.random.default_rng(3)
    parts, dense = random_system(rng, frames, 4)
    least = np.linalg.eigvalsh(dense).min()
    for shift, is_definite in ((-1.001 * least, False), (-0.999 * least, True)):
        matrix = BandMatrix(frames, 4)
        left, right, mask, same, *couplings = parts
        matrix.fill(left, right, mask, same + shift, *couplings)
        assert matrix.factor() is is_definite


def test_lapack_is_called_without_the_gil():
    """``ctypes.CFUNCTYPE`` releases it around the call; ``PYFUNCTYPE`` would keep it."""
    python_api = 0x4  # ctypes' FUNCFLAG_PYTHONAPI
    for name, arguments in (("dpbtrf", 6), ("dpbtrs", 9)):
        function = band_module._lapack(name, arguments)
        assert isinstance(function, ctypes._CFuncPtr)
        assert not type(function)._flags_ & python_api
    assert ctypes.PYFUNCTYPE(None)._flags_ & python_api
