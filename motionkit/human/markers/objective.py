"""Residuals of markers and priors, and their derivatives.

With marker ``k`` on part ``s`` at place ``f_k`` in its frame, and ``y_k`` where it was seen::

    marker:   (x_s + R_s f_k - y_k) / σ,  robust: ρ(a) = c² a² / (2 σ² (c² + a²)), a = |x + R f - y|
    joint:    log(r_i n_iᵀ) / σ_i
    elbow:    z · r y / σ,  the forearm y stays in the plane of flexion
    straight: min(0, bend + 5°) / σ  of knees and elbows

(Geman and McClure, "Statistical methods for tomographic image reconstruction", 1987, for ρ.) Poses
change by the root's translation and by ``δ_i`` in the parent's frame, ``r_i ← exp(δ_i) r_i``, so
that a point ``m`` below joint ``i`` moves by ``R_p δ_i × (m - x_i)``. Gauss-Newton with the weight
``w = (c² / (c² + a²))²`` of each marker.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from motionkit import rotation
from motionkit.human.markers import body

Array = np.ndarray

NUM = 3 + 3 * 22
"""Unknowns of a frame: the root's translation, then each joint's rotation."""
_ELBOWS = (body.INDEX["left_elbow"], body.INDEX["right_elbow"])
_FOREARM = {_ELBOWS[0]: np.array([0.0, 1.0, 0.0]), _ELBOWS[1]: np.array([0.0, -1.0, 0.0])}
_KNEES = (body.INDEX["left_knee"], body.INDEX["right_knee"])
_X, _Z = np.eye(3)[0], np.eye(3)[2]


@dataclass(slots=True)
class Pose:
    """Poses of some frames."""

    root: Float[Array, "T 3"]
    """Position of the pelvis [m]."""
    local: Float[Array, "T 22 3 3"]
    """Rotations of the joints."""

    def moved(self, step: Float[Array, "T n"]) -> "Pose":
        """The poses after a step."""
        turn = rotation.to_matrix(rotation.from_rotvec(step[:, 3:].reshape(-1, 22, 3)))
        return Pose(self.root + step[:, :3], turn @ self.local)

    def part(self, at: slice | Int[Array, "n"]) -> "Pose":
        """Some of the frames."""
        return Pose(self.root[at], self.local[at])


@dataclass(frozen=True, slots=True)
class Markers:
    """What was seen, and on which parts it sits."""

    pos: Float[Array, "T K 3"]
    """Where markers were seen [m]; anything where they were not."""
    seen: Bool[Array, "T K"]
    """Whether they were."""
    part: Int[Array, "K"]
    """Joint whose part carries each."""

    def frames(self, at: slice | Int[Array, "n"]) -> "Markers":
        """Some of the frames."""
        return Markers(self.pos[at], self.seen[at], self.part)


@dataclass(frozen=True, slots=True)
class Weights:
    """How residuals are weighed."""

    sigma: float
    """Standard deviation of a marker about its place [m]."""
    scale: float
    """Scale ``c`` of the robust loss [m]."""
    share: float = 1.0
    """What a frame counts for, markers and joints together, where a shape is fitted to many. Frames
    of a clip are not independent: skin slides the same way in every stride and a person's habits
    stay, so many of them must not outweigh what is known of people."""


class Terms:
    """The residuals of some frames at a pose and a shape."""

    def __init__(
        self, markers: Markers, weights: Weights, pose: Pose,
        offsets: Float[Array, "22 3"], place: Float[Array, "K 3"],
    ) -> None:  # fmt: skip
        """Compute the residuals and costs."""
        self.markers, self.weights, self.pose = markers, weights, pose
        self.x, self.R = body.forward(offsets, pose.root, pose.local)
        self.model = self.x[:, markers.part] + (self.R[:, markers.part] @ place[..., None])[..., 0]
        self.error = np.where(markers.seen[..., None], self.model - markers.pos, 0.0)
        square, c2 = np.sum(self.error**2, axis=-1), weights.scale**2
        self.robust = np.where(markers.seen, (c2 / (c2 + square)) ** 2, 0.0)
        self.marker_cost = 0.5 * np.sum(c2 * square / (c2 + square), axis=1) / weights.sigma**2
        self._spread = body.spread()
        self._prior()
        self.cost = weights.share * (self.marker_cost + self.prior_cost)

    def _prior(self) -> None:
        local = self.pose.local
        turn = local @ np.swapaxes(body.mean_pose(), -1, -2)
        self.log = rotation.to_rotvec(rotation.from_matrix(turn))
        cost = 0.5 * np.sum((self.log / self._spread) ** 2, axis=(1, 2))
        self.bounds: list[tuple[int, Array, Array, float]] = []
        for i in _ELBOWS:
            along = local[:, i] @ _FOREARM[i]
            self._bound(i, along[:, 2], np.cross(along, _Z), body.CARRY_SIGMA)
            over = np.minimum(0.0, along[:, 0] + np.sin(body.HYPEREXTENSION))
            slope = np.cross(along, _X) * (over < 0.0)[:, None]
            self._bound(i, over, slope, body.HYPEREXTENSION_SIGMA)
        for i in _KNEES:
            over = np.minimum(0.0, self.log[:, i, 1] + body.HYPEREXTENSION)
            slope = _left_jacobian_inverse(self.log[:, i])[:, 1] * (over < 0.0)[:, None]
            self._bound(i, over, slope, body.HYPEREXTENSION_SIGMA)
        self.prior_cost = cost + sum(0.5 * (value / s) ** 2 for _, value, _, s in self.bounds)

    def _bound(
        self, joint: int, value: Float[Array, "T"], slope: Float[Array, "T 3"], sigma: float
    ) -> None:
        self.bounds.append((joint, value, slope, sigma))

    def jacobian(self) -> Float[Array, "T K 3 n"]:
        """Derivative of the markers' places by the unknowns of their frame [m]."""
        frames, num = self.model.shape[:2]
        out = np.zeros((frames, num, 3, NUM))
        out[:, :, :, :3] = np.eye(3)
        below = _below()
        for i in range(22):
            on = np.flatnonzero(below[i, self.markers.part])
            if len(on) == 0:
                continue
            arm = self.model[:, on] - self.x[:, i, None]
            frame = self.R[:, body.PARENTS[i]] if i else np.broadcast_to(np.eye(3), (frames, 3, 3))
            for a in range(3):  # column a is R_p e_a × arm
                out[..., 3 + 3 * i + a][:, on] = np.cross(frame[:, None, :, a], arm)
        return out

    def normal(
        self, jacobian: Float[Array, "T K 3 n"]
    ) -> tuple[Float[Array, "T n n"], Float[Array, "T n"]]:
        """Gauss-Newton matrix and gradient of each frame, markers and priors together."""
        frames = len(self.error)
        root = np.sqrt(self.robust)[..., None] / self.weights.sigma
        J = (jacobian * root[..., None]).reshape(frames, -1, NUM)
        e = (self.error * root).reshape(frames, -1, 1)
        H = np.swapaxes(J, 1, 2) @ J
        g = (np.swapaxes(J, 1, 2) @ e)[..., 0]
        slope = _left_jacobian_inverse(self.log) / self._spread[..., None]
        block = np.swapaxes(slope, -1, -2) @ slope
        force = (np.swapaxes(slope, -1, -2) @ (self.log / self._spread)[..., None])[..., 0]
        for i in range(22):
            at = slice(3 + 3 * i, 6 + 3 * i)
            H[:, at, at] += block[:, i]
            g[:, at] += force[:, i]
        for i, value, direction, sigma in self.bounds:
            at = slice(3 + 3 * i, 6 + 3 * i)
            H[:, at, at] += direction[:, :, None] * direction[:, None, :] / sigma**2
            g[:, at] += direction * value[:, None] / sigma**2
        return self.weights.share * H, self.weights.share * g


def shape_jacobian(terms: Terms, shape: body.Shape) -> Float[Array, "T K 3 G"]:
    """Derivative of the markers in the world by stature, deviations, and places on their parts."""
    part = terms.markers.part
    frames, num = terms.model.shape[:2]
    size = 1 + shape.basis.shape[-1]
    out = np.zeros((frames, num, 3, size + 3 * num))
    both = np.concatenate([shape.mean[..., None], shape.basis], axis=-1)
    reach = np.zeros((frames, 22, 3, size))
    for i in range(1, 22):
        p = body.PARENTS[i]
        reach[:, i] = reach[:, p] + terms.R[:, p] @ both[i]
    out[..., :size] = reach[:, part]
    for k in range(num):
        out[:, k, :, size + 3 * k : size + 3 * k + 3] = terms.R[:, part[k]]
    return out


def _below() -> Bool[Array, "22 22"]:
    """``[i, j]``: joint ``j`` is joint ``i`` or hangs from it."""
    out = np.zeros((22, 22), dtype=bool)
    for j in range(22):
        out[body.chain(j), j] = True
    return out


def _left_jacobian_inverse(log: Float[Array, "*n 3"]) -> Float[Array, "*n 3 3"]:
    """Derivative of ``log(exp(δ) r)`` by ``δ`` (Barfoot, "State Estimation for Robotics", 7.1)."""
    angle2 = np.sum(log**2, axis=-1)[..., None, None]
    angle = np.sqrt(angle2)
    small = angle2 < 1e-6
    safe = np.where(small, 1.0, angle)
    half = 0.5 * safe
    factor = np.where(small, 1.0 / 12.0, (1.0 - half / np.tan(half)) / safe**2)
    x, y, z = np.moveaxis(log, -1, 0)
    zero = np.zeros_like(x)
    skew = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)
    return np.eye(3) - 0.5 * skew + factor * (skew @ skew)
