"""The cost of a motion, its gradient and its Gauss-Newton blocks, frame by frame.

Unknowns of a frame: root translation ``p`` [m], root rotation ``ω`` (world frame, ``R ← exp(ω) R``)
[rad], joint coordinates ``q``. With ``x`` and ``R`` of the bodies from forward kinematics, ``c``
a direction fixed to a body, stars for targets and ``w`` for weights, half the sum of squares of

    position      w (x - x*)                                  landmarks, soles in stance
    orientation   w/√2 (R e_k - R* e_k),  k = 1, 2, 3         = w |θ| for small angles θ
    direction     w (c - c*)                                  limbs
    ground        w min(0, z - r)                             spheres of the collision geometry

Every residual belongs to one body, so it acts on the tree as a wrench ``g = (τ, f)`` about the
root position and a 6×6 weight ``I``, which sum up the tree like forces and rigid-body inertias
(the composite-rigid-body idea: Featherstone, "Rigid Body Dynamics Algorithms", ch. 6). With the
screw ``S_j`` of joint ``j`` and sums over the bodies below it::

    gradient_j = S_j · g_below(j)          H_ij = S_i · I_below(j) S_j,   i above j

which is the exact Gauss-Newton matrix without a Jacobian being formed. ``I`` has ten numbers for
isotropic points, as a rigid body (mass ``m``, moment ``h``, inertia ``A``), and three more
(``m_z``, ``k_x``, ``k_y``) for the ground's, which push along z only.

Frames are the last axis here; blocks of frames stay in cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from motionkit.kinematics import BLOCK, Kinematics, Tree
from motionkit.mjcf import Surface

Array = np.ndarray

# Numbers that a body carries: A (xx yy zz xy xz yz), h, m, m_z, k_x, k_y, τ, f.
_A, _H, _M, _MZ, _KX, _KY = slice(0, 6), slice(6, 9), 9, 10, 11, 12
_TAU, _F, _ROWS = slice(13, 16), slice(16, 19), 19


@dataclass(frozen=True, slots=True)
class Points:
    """Points fixed to bodies that should be at given places."""

    body_index: Int[Array, "P"]
    """Body of each point; no body twice."""
    offset: Float[Array, "P 3"]
    """In the body frame [m]."""
    target: Float[Array, "P 3 T"]
    """Wanted positions in the world [m]."""
    weight: Float[Array, "P T"]
    """Squared weights [1/m²]."""


@dataclass(frozen=True, slots=True)
class Orientations:
    """Bodies that should be turned in given ways."""

    body_index: Int[Array, "L"]
    """The bodies; none twice."""
    target: Float[Array, "L 3 3 T"]
    """Wanted rotations, body to world."""
    weight: Float[Array, "L"]
    """Squared weights [1/rad²]."""


@dataclass(frozen=True, slots=True)
class Directions:
    """Directions fixed to bodies that should point in given ways."""

    body_index: Int[Array, "D"]
    """The bodies; none twice."""
    local: Float[Array, "D 3"]
    """Unit vectors in the body frame."""
    target: Float[Array, "D 3 T"]
    """Wanted unit vectors in the world."""
    weight: Float[Array, "D"]
    """Squared weights [1/rad²]."""


@dataclass(frozen=True, slots=True)
class Objective:
    """What the bodies should do in every frame."""

    tree: Tree
    """The robot."""
    points: tuple[Points, ...]
    """Landmarks and soles."""
    orientations: Orientations
    """Of the landmarks."""
    directions: Directions
    """Of the limbs."""
    surface: Surface
    """Collision geometry that must stay above z = 0."""
    ground_weight: float
    """Squared weight of its depth [1/m²]."""


@dataclass(slots=True)
class Pose:
    """A motion as the solver holds it, frames last."""

    root_pos: Float[Array, "3 T"]
    """Root positions [m]."""
    root_mat: Float[Array, "3 3 T"]
    """Root rotations, body to world."""
    q: Float[Array, "n T"]
    """Joint coordinates [rad or m]."""


@dataclass(slots=True)
class Assembly:
    """Cost of the per-body terms, its gradient, and the factors of its Gauss-Newton blocks."""

    cost: Float[Array, "T"]
    """Half the sum of squares of each frame."""
    gradient: Float[Array, "T m"]
    """With respect to root translation, root rotation, joints."""
    screws: Float[Array, "T m 6"]
    """``S``: (angular, linear) motion about the root position."""
    forces: Float[Array, "T m 6"]
    """``I_below S``; the block is ``S_i · forces_j`` for i above j."""


class Assembler:
    """Evaluates an :class:`Objective`. Holds the work space; one a thread."""

    def __init__(self, objective: Objective) -> None:
        """Keep the objective and the kinematics of its tree."""
        self._objective = objective
        self._kinematics = Kinematics(objective.tree)
        parents = objective.tree.parents
        self._upwards = [(b, parents[b]) for b in range(len(parents) - 1, 0, -1)]
        self._joint_body = np.array(objective.tree.joint_body, dtype=np.int64)
        self._slides = np.array(objective.tree.is_slide, dtype=bool)
        surface = objective.surface
        # A sphere cannot touch the ground while its body's origin is higher than this.
        self._reach = np.linalg.norm(surface.center, axis=1) + surface.radius

    def assemble(
        self,
        pose: Pose,
        segments: Sequence[slice] | None = None,
        known: Assembly | None = None,
    ) -> Assembly:
        """Cost, gradient and block factors of every frame.

        Args:
            pose: the motion.
            segments: frames to evaluate; default all.
            known: evaluation of a pose that differs in these frames only; the rest is its copy.
        """
        frames, n = pose.q.shape[1], pose.q.shape[0]
        if segments is None or known is None:
            segments = [slice(0, frames)]
            shapes = ((frames,), (frames, 6 + n), (frames, 6 + n, 6), (frames, 6 + n, 6))
            out = Assembly(*(np.empty(shape) for shape in shapes))
            out.screws[:, :6] = _ROOT_SCREWS
        else:
            out = Assembly(
                *(a.copy() for a in (known.cost, known.gradient, known.screws, known.forces))
            )
        for segment in segments:
            for start in range(segment.start, segment.stop, BLOCK):
                self._assemble_block(pose, slice(start, min(start + BLOCK, segment.stop)), out)
        return out

    def _assemble_block(self, pose: Pose, at: slice, out: Assembly) -> None:
        self._kinematics.update(pose.root_pos[:, at], pose.root_mat[:, :, at], pose.q[:, at])
        loads = np.zeros((len(self._objective.tree.parents), _ROWS, at.stop - at.start))
        out.cost[at] = self._load(loads, at)
        for body, parent in self._upwards:
            loads[parent] += loads[body]
        self._project(loads, at, out)

    def _load(self, loads: Float[Array, "B 19 F"], at: slice) -> Float[Array, "F"]:
        """Put wrenches and weights on the bodies; returns the cost of each frame."""
        objective = self._objective
        cost = np.zeros(at.stop - at.start)
        for points in objective.points:
            cost += self._load_points(loads, points, at)
        cost += self._load_orientations(loads, objective.orientations, at)
        cost += self._load_directions(loads, objective.directions, at)
        cost += self._load_ground(loads)
        return cost

    def _arm(self, body: Int[Array, "P"], offset: Float[Array, "P 3"]) -> Float[Array, "P 3 F"]:
        """Points relative to the root position."""
        kinematics = self._kinematics
        arm = kinematics.x[body] - kinematics.x[0]
        shifted = np.flatnonzero(np.any(offset != 0, axis=1))
        if len(shifted):
            R = kinematics.R[body[shifted]]
            arm[shifted] += np.einsum("pikf,pk->pif", R, offset[shifted])
        return arm

    def _load_points(
        self, loads: Float[Array, "B 19 F"], points: Points, at: slice
    ) -> Float[Array, "F"]:
        weight = points.weight[:, at]
        used = np.flatnonzero(np.any(weight != 0, axis=1))
        if not len(used):
            return np.zeros(weight.shape[1])
        body, w = points.body_index[used], weight[used]
        arm = self._arm(body, points.offset[used])
        error = arm + self._kinematics.x[0] - points.target[used, :, at]
        force = error * w[:, None]
        moment = arm * w[:, None]
        load = np.empty((len(used), _ROWS, arm.shape[-1]))
        (x, y, z), (hx, hy, hz) = np.moveaxis(arm, 1, 0), np.moveaxis(moment, 1, 0)
        xx, yy, zz = hx * x, hy * y, hz * z
        load[:, 0], load[:, 1], load[:, 2] = yy + zz, xx + zz, xx + yy
        load[:, 3], load[:, 4], load[:, 5] = -hx * y, -hx * z, -hy * z
        load[:, _H] = moment
        load[:, _M] = w
        load[:, 10:13] = 0.0
        _cross(arm, force, out=load[:, _TAU])
        load[:, _F] = force
        loads[body] += load
        return 0.5 * np.einsum("pif,pif->f", error, force)

    def _load_orientations(
        self, loads: Float[Array, "B 19 F"], orientations: Orientations, at: slice
    ) -> Float[Array, "F"]:
        body, w = orientations.body_index, orientations.weight[:, None]
        R, target = self._kinematics.R[body], orientations.target[..., at]
        error = R - target  # not 3 - trace(Rᵀ R*), which loses half the digits near zero
        cost = 0.25 * np.sum(w * np.einsum("likf,likf->lf", error, error), axis=0)
        turn = np.zeros((len(body), 3, R.shape[-1]))
        for k in range(3):
            turn += _cross(R[:, :, k], target[:, :, k])
        loads[body, _TAU] -= turn * (0.5 * w[:, None])
        loads[body, 0:3] += w[:, None]
        return cost

    def _load_directions(
        self, loads: Float[Array, "B 19 F"], directions: Directions, at: slice
    ) -> Float[Array, "F"]:
        body, w = directions.body_index, directions.weight[:, None]
        c = np.einsum("dikf,dk->dif", self._kinematics.R[body], directions.local)
        target = directions.target[..., at]
        error = c - target
        cost = 0.5 * np.sum(w * np.einsum("dif,dif->df", error, error), axis=0)
        loads[body, _TAU] -= _cross(c, target) * w[:, None]
        x, y, z = np.moveaxis(c, 1, 0)
        for row, value in enumerate((1 - x * x, 1 - y * y, 1 - z * z, -x * y, -x * z, -y * z)):
            loads[body, row] += w * value
        return cost

    def _load_ground(self, loads: Float[Array, "B 19 F"]) -> Float[Array, "F"]:
        surface, weight = self._objective.surface, self._objective.ground_weight
        x, R = self._kinematics.x, self._kinematics.R
        cost = np.zeros(x.shape[-1])
        if weight == 0 or not len(surface.radius):
            return cost
        lowest = x[:, 2].min(axis=1)[surface.body_index]
        near = np.flatnonzero(lowest < self._reach)
        body = surface.body_index[near]
        low = np.einsum("pkf,pk->pf", R[body, 2], surface.center[near])
        low += x[body, 2] - surface.radius[near, None]
        for k in np.flatnonzero(np.any(low < 0, axis=1)):
            p = near[k]
            body = surface.body_index[p]
            depth = np.minimum(low[k], 0.0)
            w = np.where(depth < 0, weight, 0.0)
            # The lowest point of a sphere is below its centre: the arm's x and y are the centre's.
            rx, ry = x[body, :2] - x[0, :2] + np.einsum("ikf,k->if", R[body, :2], surface.center[p])
            fz = w * depth
            load = loads[body]
            load[0] += w * ry * ry
            load[1] += w * rx * rx
            load[3] -= w * rx * ry
            load[_MZ] += w
            load[_KX] += w * ry
            load[_KY] -= w * rx
            load[13] += ry * fz
            load[14] -= rx * fz
            load[18] += fz
            cost += 0.5 * depth * fz
        return cost

    def _project(self, loads: Float[Array, "B 19 F"], at: slice, out: Assembly) -> None:
        """Gradient, screws and forces of all unknowns from the loads summed up the tree."""
        axis = self._kinematics.axis
        linear = _cross(self._kinematics.arm, axis)
        if np.any(self._slides):
            linear[self._slides] = axis[self._slides]
            axis = np.where(self._slides[:, None, None], 0.0, axis)
        below = loads[self._joint_body]
        torque, force = _weigh(below, axis, linear)
        grad = np.sum(axis * below[:, _TAU], axis=1) + np.sum(linear * below[:, _F], axis=1)
        out.gradient[at, 6:] = grad.T
        out.gradient[at, :3] = loads[0, _F].T
        out.gradient[at, 3:6] = loads[0, _TAU].T
        out.screws[at, 6:, :3] = axis.transpose(2, 0, 1)
        out.screws[at, 6:, 3:] = linear.transpose(2, 0, 1)
        out.forces[at, 6:, :3] = torque.transpose(2, 0, 1)
        out.forces[at, 6:, 3:] = force.transpose(2, 0, 1)
        frames = at.stop - at.start
        root = np.broadcast_to(loads[:1], (6, _ROWS, frames))
        units = np.broadcast_to(_ROOT_SCREWS[:, :, None], (6, 6, frames))
        torque, force = _weigh(root, units[:, :3], units[:, 3:])
        out.forces[at, :6, :3] = torque.transpose(2, 0, 1)
        out.forces[at, :6, 3:] = force.transpose(2, 0, 1)


_ROOT_SCREWS = np.zeros((6, 6))
_ROOT_SCREWS[:3, 3:] = np.eye(3)
_ROOT_SCREWS[3:, :3] = np.eye(3)


def _weigh(
    load: Float[Array, "k 19 F"], angular: Float[Array, "k 3 F"], linear: Float[Array, "k 3 F"]
) -> tuple[Float[Array, "k 3 F"], Float[Array, "k 3 F"]]:
    """``I (ω, v)`` for each row: torque and force."""
    (wx, wy, wz), vz = np.moveaxis(angular, 1, 0), linear[:, 2]
    h = load[:, _H]
    force = linear * load[:, _M, None]
    force += _cross(angular, h)
    kx, ky = load[:, _KX], load[:, _KY]
    force[:, 2] += load[:, _MZ] * vz + kx * wx + ky * wy
    torque = _cross(h, linear)
    xx, yy, zz, xy, xz, yz = np.moveaxis(load[:, _A], 1, 0)
    torque[:, 0] += xx * wx + xy * wy + xz * wz + kx * vz
    torque[:, 1] += xy * wx + yy * wy + yz * wz + ky * vz
    torque[:, 2] += xz * wx + yz * wy + zz * wz
    return torque, force


def _cross(
    a: Float[Array, "k 3 F"], b: Float[Array, "k 3 F"], out: Array | None = None
) -> Float[Array, "k 3 F"]:
    """Cross products along the middle axis."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape)) if out is None else out
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        np.multiply(a[:, j], b[:, k], out=out[:, i])
        out[:, i] -= a[:, k] * b[:, j]
    return out
