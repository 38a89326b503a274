"""Derivatives of the marker fit against finite differences, its solvers against dense ones."""

import numpy as np
import pytest

from motionkit import rotation
from motionkit.human.markers import body, track
from motionkit.human.markers.hips_prior import HipPrior
from motionkit.human.markers.objective import NUM, Markers, Pose, Terms, Weights, shape_jacobian
from motionkit.human.markers.shape import ShapeFit, Subject, _System, joint_sigma

K = 30
WEIGHTS = Weights(sigma=0.01, scale=0.03, share=0.4)
HIPS = HipPrior((0, 1), (2, 3))


def problem(seed: int, frames: int = 3, turn: float = 0.5):
    """Random markers, poses and subject; the first four markers are those of the pelvis."""
    rng = np.random.default_rng(seed)
    part = np.concatenate([[0, 0, 0, 0], rng.integers(0, 22, K - 4)])
    shape = body.shape_model(joints_are_given=False)
    nominal = rng.normal(scale=0.05, size=(K, 3))
    nominal[:4] = [[0.05, 0.07, 0.0], [0.05, -0.07, 0.0], [-0.07, 0.03, 0.01], [-0.07, -0.03, 0.01]]
    near = part.copy()
    near[10] = next((j for j in range(22) if body.PARENTS[j] == part[10]), part[10])
    subject = Subject(shape, 1.7, 0.01 * rng.normal(size=shape.basis.shape[-1]),
                      1.7 * nominal + 0.01 * rng.normal(size=(K, 3)), nominal,
                      np.full(K, 0.02), near, part)  # fmt: skip
    quat = rotation.from_rotvec(turn * rng.normal(size=(frames, 22, 3)))
    pose = Pose(rng.normal(size=(frames, 3)), rotation.to_matrix(quat) @ body.mean_pose())
    x, R = body.forward(subject.offsets, pose.root, pose.local)
    pos = x[:, part] + (R[:, part] @ subject.place[..., None])[..., 0]
    pos = pos + 0.02 * rng.normal(size=pos.shape)
    markers = Markers(pos, rng.random((frames, K)) > 0.2, part)
    return markers, pose, subject


def terms(markers: Markers, pose: Pose, subject: Subject, weights: Weights = WEIGHTS) -> Terms:
    return Terms(markers, weights, pose, subject.offsets, subject.place)


@pytest.mark.parametrize("turn", [0.0, 0.02, 0.4, 0.8])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_poses_is_that_of_finite_differences(seed, turn):
    markers, pose, subject = problem(seed, turn=turn)
    here = terms(markers, pose, subject)
    gradient = here.normal(here.jacobian())[1]
    step = 1e-6
    for n in range(NUM):
        move = np.zeros((len(pose.root), NUM))
        move[:, n] = step
        up, down = (terms(markers, pose.moved(sign * move), subject).cost for sign in (1.0, -1.0))
        slope = (up - down) / (2.0 * step)
        np.testing.assert_allclose(gradient[:, n], slope, rtol=2e-4, atol=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_gradient_of_the_shape_is_that_of_finite_differences(seed):
    markers, pose, subject = problem(seed)
    system = _System(terms(markers, pose, subject), subject, HIPS, True)

    def cost(at: Subject) -> float:
        return float(terms(markers, pose, at).cost.sum()) + at.prior(HIPS)[0]

    for g in range(len(system.c)):
        move = np.zeros(len(system.c))
        move[g] = 1e-6
        slope = (cost(subject.moved(move)) - cost(subject.moved(-move))) / 2e-6
        assert system.c[g] == pytest.approx(slope, rel=1e-3, abs=5e-3)


def dense(system: _System, damping: float = 0.0) -> np.ndarray:
    """The arrowhead matrix, whole."""
    frames, size = len(system.A), len(system.c)
    out = np.zeros((frames * NUM + size,) * 2)
    for t in range(frames):
        at = slice(t * NUM, (t + 1) * NUM)
        out[at, at] = system.A[t]
        out[at, frames * NUM :] = system.B[t]
        out[frames * NUM :, at] = system.B[t].T
    out[frames * NUM :, frames * NUM :] = system.C
    return out + damping * np.diag(np.diag(out))


def test_the_arrowhead_step_is_that_of_the_dense_system():
    markers, pose, subject = problem(4)
    system = _System(terms(markers, pose, subject), subject, HIPS, True)
    d_pose, d_shape = system.solve(1e-3)
    whole = np.linalg.solve(dense(system, 1e-3), -np.concatenate([system.a.reshape(-1), system.c]))
    scale = np.abs(whole).max()
    np.testing.assert_allclose(
        np.concatenate([d_pose.reshape(-1), d_shape]), whole, atol=1e-7 * scale
    )


def test_the_uncertainty_of_joints_is_that_of_the_dense_inverse():
    markers, pose, subject = problem(5)
    here = terms(markers, pose, subject)
    found = joint_sigma(ShapeFit(subject, pose, here, 1, True), HIPS)
    system = _System(here, subject, HIPS, True)
    cov = np.linalg.inv(dense(system, 1e-9))
    joints = Markers(np.zeros((3, 22, 3)), np.ones((3, 22), bool), np.arange(22))
    at_joints = Terms(joints, WEIGHTS, pose, subject.offsets, np.zeros((22, 3)))
    P, size = at_joints.jacobian(), 1 + len(subject.deviation)
    Q = shape_jacobian(at_joints, subject.shape)[..., :size]
    variance = np.zeros((3, 22, 3))
    for t in range(3):
        row = np.zeros((22, 3, len(cov)))
        row[..., t * NUM : (t + 1) * NUM] = P[t]
        row[..., 3 * NUM : 3 * NUM + size] = Q[t]
        variance[t] = np.einsum("jan,nm,jam->ja", row, cov, row)
    np.testing.assert_allclose(found, np.sqrt(variance.mean(axis=(0, 2))), rtol=1e-5)


def test_the_tied_step_is_that_of_the_dense_system(monkeypatch):
    """One step from the same pose: the band system against normal equations with D'D, dense."""
    markers, pose, subject = problem(6, frames=6, turn=0.2)
    weights = Weights(0.01, 0.03)
    fps, frames = 50.0, 6
    H, g = (lambda here: here.normal(here.jacobian()))(terms(markers, pose, subject, weights))
    tie = np.concatenate([np.full(3, fps**2 / track.ROOT_ACCELERATION),
                          np.full(NUM - 3, fps**2 / track.JOINT_ACCELERATION)])  # fmt: skip
    D = np.zeros((frames - 2, frames))
    for t in range(frames - 2):
        D[t, t : t + 3] = 1.0, -2.0, 1.0
    whole = np.kron(D.T @ D, np.diag(tie**2))
    right = g + (D.T @ (track._bend(pose) * tie**2))
    for t in range(frames):
        at = slice(t * NUM, (t + 1) * NUM)
        whole[at, at] += H[t] + 1e-4 * np.diag(np.maximum(np.diag(H[t]), 1e-3))
    step = np.linalg.solve(whole, -right.reshape(-1)).reshape(frames, NUM)
    taken = []
    moved = Pose.moved
    monkeypatch.setattr(Pose, "moved", lambda self, s: taken.append(s.copy()) or moved(self, s))
    track._solve(markers, weights, pose, subject, fps, 1)
    np.testing.assert_allclose(taken[0], step, atol=1e-9 * np.abs(step).max() + 1e-10)


def test_the_mirrored_basis_keeps_left_and_right_the_same():
    shape = body.shape_model(joints_are_given=True)
    rng = np.random.default_rng(7)
    offsets = shape.offsets(1.8, 0.02 * rng.normal(size=len(shape.sigma)))
    mirrored = offsets[list(body.MIRROR)] * np.array([1.0, -1.0, 1.0])
    np.testing.assert_allclose(offsets, mirrored, atol=1e-15)
