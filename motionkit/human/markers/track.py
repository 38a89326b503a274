"""The pose of a known subject over a whole clip.

Frames are tied by the acceleration of the root and of every joint, so that noise does not reach the
joints and short gaps are crossed as a body would::

    (x_{t-1} - 2 x_t + x_{t+1}) fps² / σ_root,   (log(r_{t+1} r_tᵀ) - log(r_t r_{t-1}ᵀ)) fps² / σ_i

The second is linear in the steps of both frames to first order in the turn within a frame. Each
iteration factors one band matrix (:mod:`motionkit.band`): linear in frames. Long clips are solved
in windows that overlap by :data:`OVERLAP`, over which what lies beyond has lost its influence.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.band import BandMatrix
from motionkit.human.markers.objective import NUM, Markers, Pose, Terms, Weights
from motionkit.human.markers.shape import Subject

Array = np.ndarray

ROOT_ACCELERATION = 60.0
"""Standard deviation of the root's acceleration [m/s²]: sprinters and jumpers reach it."""
JOINT_ACCELERATION = 300.0
"""Standard deviation of a joint's angular acceleration [rad/s²]: kicks and throws reach it."""
WINDOW = 512
"""Frames that are solved at once; bounds the memory."""
OVERLAP = 0.6
"""Time by which windows overlap [s]."""
COARSE = ((0.30, 6), (0.08, 6))
"""Scales of the robust loss [m] and steps at each before the last, from wide to narrow: a limb that
begins far from its markers is still pulled to them."""
NEAR = 0.5
"""Share of such a scale within which all markers must be for the steps at it to be left out."""
WIDE = 10.0
"""Scale of the loss in standard deviations of a marker, at most."""
MAX_ITERATIONS = 40
"""Steps after which a window ends as it is."""
TOLERANCE = 1e-5
"""Relative decrease of the cost below which a window ends."""


def track(
    markers: Markers, weights: Weights, pose: Pose, subject: Subject, fps: float
) -> tuple[Pose, bool]:
    """Poses of all frames, and whether every window converged."""
    frames, overlap = len(pose.root), int(np.ceil(OVERLAP * fps))
    out = Pose(pose.root.copy(), pose.local.copy())
    converged = True
    for start in range(0, frames, WINDOW):
        stop = min(start + WINDOW, frames)
        low, high = max(0, start - overlap), min(frames, stop + overlap)
        window = slice(low, high)
        solved, done = out.part(window), True
        for scale, iterations in (*COARSE, (weights.scale, MAX_ITERATIONS)):
            if scale > weights.scale and _is_near(markers.frames(window), solved, subject, scale):
                continue
            wide = replace(weights, scale=scale, sigma=max(weights.sigma, scale / WIDE))
            solved, done = _solve(markers.frames(window), wide, solved, subject, fps, iterations)
        converged &= done
        first = (
            low if start == 0 else start - overlap // 2
        )  # half an overlap from both windows' ends
        out.root[first:high] = solved.root[first - low :]
        out.local[first:high] = solved.local[first - low :]
    return out, converged


def _is_near(markers: Markers, pose: Pose, subject: Subject, scale: float) -> bool:
    """Whether every marker is so near to its place that a loss of this scale sees no outlier."""
    terms = Terms(markers, Weights(1.0, scale), pose, subject.offsets, subject.place)
    return bool(np.all(np.sum(terms.error**2, axis=-1) < (NEAR * scale) ** 2))


def _solve(
    markers: Markers, weights: Weights, pose: Pose, subject: Subject, fps: float, iterations: int
) -> tuple[Pose, bool]:
    offsets, place = subject.offsets, subject.place
    tie = np.concatenate(
        [np.full(3, fps**2 / ROOT_ACCELERATION), np.full(NUM - 3, fps**2 / JOINT_ACCELERATION)]
    )
    terms = Terms(markers, weights, pose, offsets, place)
    bend = _bend(pose) * tie
    cost = float(terms.cost.sum()) + 0.5 * float(np.sum(bend**2))
    frames, damping, system = len(pose.root), 1e-4, None
    matrix = BandMatrix(frames, NUM)
    for _ in range(iterations):
        if system is None:
            H, g = terms.normal(terms.jacobian())
            system = H, g + _spread_force(bend * tie, frames)
        H, g = system
        diagonal = np.maximum(np.einsum("tii->ti", H), 1e-3)
        same, one, two = _tie_diagonals(frames, tie**2)
        # left · rightᵀ of the block is H itself: its rows times those of the identity.
        eye = np.broadcast_to(np.eye(NUM), H.shape)
        mask = np.triu(np.ones((NUM, NUM)))
        matrix.fill(H, eye, mask, same + damping * diagonal, one, two)
        if not matrix.factor():
            damping *= 10.0
            continue
        moved = pose.moved(matrix.solve(-g))
        trial = Terms(markers, weights, moved, offsets, place)
        bent = _bend(moved) * tie
        new = float(trial.cost.sum()) + 0.5 * float(np.sum(bent**2))
        if not new < cost:
            damping *= 8.0
            if damping > 1e4:
                return pose, True  # no step of any length lowers the cost
            continue
        gain = (cost - new) / max(cost, 1e-12)
        pose, terms, bend, cost, system = moved, trial, bent, new, None
        damping = max(damping / 6.0, 1e-9)
        if gain < TOLERANCE:
            return pose, True
    return pose, False


def _bend(pose: Pose) -> Float[Array, "S n"]:
    """Second differences of the root and of the joints' rotations, frames 1 to T - 2."""
    frames = len(pose.root)
    if frames < 3:
        return np.zeros((0, NUM))
    turn = pose.local[1:] @ np.swapaxes(pose.local[:-1], -1, -2)
    log = rotation.to_rotvec(rotation.from_matrix(turn)).reshape(frames - 1, -1)
    return np.concatenate([np.diff(pose.root, 2, axis=0), np.diff(log, axis=0)], axis=1)


def _spread_force(force: Float[Array, "S n"], frames: int) -> Float[Array, "T n"]:
    """Transpose of the second difference."""
    out = np.zeros((frames, force.shape[1]))
    if len(force):
        out[:-2] += force
        out[1:-1] -= 2.0 * force
        out[2:] += force
    return out


def _tie_diagonals(
    frames: int, weight: Float[Array, "n"]
) -> tuple[Float[Array, "T n"], Float[Array, "T n"], Float[Array, "T n"]]:
    """Diagonals of ``DᵀD`` for second differences ``D``."""
    count = np.zeros((3, frames))
    for t in range(1, frames - 1):
        count[0, t - 1] += 1.0
        count[0, t] += 4.0
        count[0, t + 1] += 1.0
        count[1, t - 1] -= 2.0
        count[1, t] -= 2.0
        count[2, t - 1] += 1.0
    return tuple(each[:, None] * weight for each in count)  # pyright: ignore[reportReturnType]
