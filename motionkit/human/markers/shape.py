"""Stature, proportions, places of markers and poses together, over some frames of a clip.

The frames share the shape ``g`` and nothing else, so the Gauss-Newton system has the form of an
arrowhead: blocks ``A_t`` of the poses, ``B_t`` of poses with shape, ``C`` of the shape. Eliminating
the poses leaves ``(C - Σ B_tᵀ A_t⁻¹ B_t) Δg = …``: linear in the number of frames (Triggs et al.,
"Bundle Adjustment", 2000, section 6).

Once per iteration: everything. The inverse of the same system is the covariance of the estimate.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from motionkit.human.markers import body
from motionkit.human.markers.hips_prior import HipPrior
from motionkit.human.markers.objective import NUM, Markers, Pose, Terms, Weights, shape_jacobian

Array = np.ndarray

MAX_ITERATIONS = 100
"""Steps after which the fit of the shape ends as it is."""
TOLERANCE = 1e-4
"""Relative decrease of the cost below which it ends."""
_RIDGE = 1e-9  # relative damping that keeps unseen places positive definite


@dataclass(frozen=True, slots=True)
class Subject:
    """What is constant over a clip."""

    shape: body.Shape
    """What shapes a body may have."""
    stature: float
    """Of the embedded body that is nearest [m]."""
    deviation: Float[Array, "D"]
    """From its proportions [m]."""
    place: Float[Array, "K 3"]
    """Of each marker, in the frame of its part [m]."""
    nominal: Float[Array, "K 3"]
    """Expected places per metre of stature."""
    sigma: Float[Array, "K"]
    """Standard deviation of places about the expected [m]."""
    near: Int[Array, "K"]
    """Joint that each place keeps its distance from: the part's own, or the one at its far end."""
    part: Int[Array, "K"]
    """Joint whose part carries each."""

    @property
    def offsets(self) -> Float[Array, "22 3"]:
        """Of each joint from its parent [m]."""
        return self.shape.offsets(self.stature, self.deviation)

    @property
    def lever(self) -> Float[Array, "K 3 D"]:
        """Change of the expected places per deviation: what moves the joint at the far end."""
        is_far = (self.near != self.part)[:, None, None]
        return np.where(is_far, self.shape.basis[self.near], 0.0)

    @property
    def expected(self) -> Float[Array, "K 3"]:
        """Places that are expected on this shape [m]."""
        return self.stature * self.nominal + self.lever @ self.deviation

    def moved(self, step: Float[Array, "G"]) -> "Subject":
        """The subject after a step of stature, deviations and places."""
        size = 1 + len(self.deviation)
        return replace(
            self,
            stature=self.stature + float(step[0]),
            deviation=self.deviation + step[1:size],
            place=self.place + step[size:].reshape(-1, 3),
        )

    def prior(self, hips: HipPrior | None) -> tuple[float, Float[Array, "G"], Float[Array, "G G"]]:
        """Cost, gradient and Gauss-Newton matrix of what is expected of people.

        Places are expected at their share of *this* stature, and where a bone is longer by as much
        further along, so they move together.
        """
        size, num = 1 + len(self.deviation), len(self.place)
        rows = np.zeros((size + 3 * num, size + 3 * num))
        value = np.zeros(size + 3 * num)
        rows[0, 0] = 1.0 / body.STATURE_SIGMA
        value[0] = (self.stature - body.MEAN_STATURE) / body.STATURE_SIGMA
        inside = np.arange(1, size)
        rows[inside, inside] = 1.0 / self.shape.sigma
        value[1:size] = self.deviation / self.shape.sigma
        weight = np.repeat(1.0 / self.sigma, 3)
        outside = np.arange(size, size + 3 * num)
        rows[outside, outside] = weight
        rows[outside, 0] = -weight * self.nominal.reshape(-1)
        rows[size:, 1:size] = -weight[:, None] * self.lever.reshape(3 * num, -1)
        value[size:] = weight * (self.place - self.expected).reshape(-1)
        if hips is not None:
            extra, slope = hips.residual(self.offsets, self.place, self.shape)
            value = np.concatenate([value, extra])
            rows = np.concatenate([rows, slope])
        return 0.5 * float(value @ value), rows.T @ value, rows.T @ rows


@dataclass(frozen=True, slots=True)
class ShapeFit:
    """Where the fit of the shape ended."""

    subject: Subject
    """Shape and places."""
    pose: Pose
    """Poses of its frames."""
    terms: Terms
    """Residuals there."""
    iterations: int
    """Accepted steps."""
    converged: bool
    """Whether the decrease of the cost fell below the tolerance."""


def fit_shape(
    markers: Markers, weights: Weights, pose: Pose, subject: Subject, hips: HipPrior | None,
    *, is_shape_free: bool = True, max_iterations: int = MAX_ITERATIONS,
    tolerance: float = TOLERANCE,
) -> ShapeFit:  # fmt: skip
    """Levenberg-Marquardt over poses and shape.

    Args:
        markers: of the frames.
        weights: of residuals.
        pose: where to begin.
        subject: where to begin.
        hips: expected place of the hip joints, if the marker set tells.
        is_shape_free: false to fit poses only.
        max_iterations: steps tried at most.
        tolerance: relative decrease of the cost below which it ends.
    """
    damping = 1e-3
    terms = Terms(markers, weights, pose, subject.offsets, subject.place)
    cost = float(terms.cost.sum()) + subject.prior(hips)[0]
    accepted, converged = 0, False
    step = None
    for _ in range(max_iterations):
        if step is None:
            step = _System(terms, subject, hips, is_shape_free)
        d_pose, d_shape = step.solve(damping)
        moved, other = pose.moved(d_pose), subject.moved(d_shape)
        trial = Terms(markers, weights, moved, other.offsets, other.place)
        new = float(trial.cost.sum()) + other.prior(hips)[0]
        if not new < cost:
            damping *= 8.0
            if damping > 1e6:
                converged = True  # no step of any length lowers the cost
                break
            continue
        gain = (cost - new) / max(cost, 1e-12)
        pose, subject, terms, cost, step = moved, other, trial, new, None
        accepted += 1
        damping = max(damping / 6.0, 1e-9)
        if gain < tolerance:
            converged = True
            break
    return ShapeFit(subject, pose, terms, accepted, converged)


class _System:
    """The arrowhead system at one point."""

    def __init__(
        self, terms: Terms, subject: Subject, hips: HipPrior | None, is_shape_free: bool
    ) -> None:
        jacobian = terms.jacobian()
        self.A, self.a = terms.normal(jacobian)
        _, self.c, self.C = subject.prior(hips)
        self._is_shape_free = is_shape_free
        if is_shape_free:
            root = (
                np.sqrt(terms.weights.share * terms.robust)[..., None, None] / terms.weights.sigma
            )
            frames = len(self.A)
            S = shape_jacobian(terms, subject.shape)
            S = (S * root).reshape(frames, -1, S.shape[-1])
            J = (jacobian * root).reshape(frames, -1, NUM)
            e = (terms.error * root[..., 0]).reshape(frames, -1, 1)
            self.B = np.swapaxes(J, 1, 2) @ S
            self.C = self.C + np.einsum("tri,trj->ij", S, S, optimize=True)
            self.c = self.c + np.sum(np.swapaxes(S, 1, 2) @ e, axis=(0, 2))

    def solve(self, damping: float) -> tuple[Float[Array, "T n"], Float[Array, "G"]]:
        """The damped step of the poses and of the shape."""
        A = _damped(self.A, damping)
        if not self._is_shape_free:
            return -np.linalg.solve(A, self.a[..., None])[..., 0], np.zeros_like(self.c)
        both = np.linalg.solve(A, np.concatenate([self.B, self.a[..., None]], axis=-1))
        AB, Aa = both[..., :-1], both[..., -1]
        Bt = np.swapaxes(self.B, 1, 2)
        schur = _damped(self.C, damping) - np.sum(Bt @ AB, axis=0)
        rhs = self.c - np.sum(Bt @ Aa[..., None], axis=0)[:, 0]
        d_shape = -np.linalg.solve(schur, rhs)
        return -Aa - AB @ d_shape, d_shape

    def covariance(
        self,
    ) -> tuple[Float[Array, "T n n"], Float[Array, "T n G"], Float[Array, "G G"]]:
        """Inverse of the poses' blocks, response of poses to shape, covariance of the shape."""
        inverse = np.linalg.inv(_damped(self.A, _RIDGE))
        AB = inverse @ self.B
        schur = _damped(self.C, _RIDGE) - np.sum(np.swapaxes(self.B, 1, 2) @ AB, axis=0)
        return inverse, AB, np.linalg.inv(schur)


def joint_sigma(fit: ShapeFit, hips: HipPrior | None) -> Float[Array, "22"]:
    """Standard deviation of the joints' positions, root mean square over frames and axes [m].

    From the curvature of the cost: pose, shape and places vary together within what markers and
    priors allow. It holds where the residuals look like their standard deviation, and knows nothing
    of a marker set that is wrong.
    """
    system = _System(fit.terms, fit.subject, hips, True)
    inverse, AB, shape_cov = system.covariance()
    joints = Markers(
        np.zeros((len(fit.terms.x), 22, 3)), np.ones((len(fit.terms.x), 22), bool), np.arange(22)
    )
    terms = Terms(joints, fit.terms.weights, fit.pose, fit.subject.offsets, np.zeros((22, 3)))
    P = terms.jacobian()
    own = np.einsum("tjan,tnm,tjam->tja", P, inverse, P, optimize=True)
    size = 1 + len(fit.subject.deviation)
    Q = -np.einsum("tjan,tng->tjag", P, AB, optimize=True)
    Q[..., :size] += shape_jacobian(terms, fit.subject.shape)[..., :size]
    shared = np.einsum("tjag,gh,tjah->tja", Q, shape_cov, Q, optimize=True)
    return np.sqrt(np.mean(np.maximum(own + shared, 0.0), axis=(0, 2)))


def _damped(matrix: Float[Array, "*n k k"], damping: float) -> Float[Array, "*n k k"]:
    out = matrix.copy()
    index = np.arange(matrix.shape[-1])
    diagonal = matrix[..., index, index]
    least = 1e-6 * np.max(diagonal, axis=-1, keepdims=True)
    out[..., index, index] += damping * np.maximum(diagonal, least)
    return out
