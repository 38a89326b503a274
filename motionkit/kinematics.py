"""Kinematics of a tree of bodies for many frames at once.

For a body with parent ``p``, rest offset ``o`` and rest rotation ``Q``, and for each of its
joints in order, with axis ``a`` and anchor ``c`` in the body frame::

    R = R_p Q,   x = x_p + R_p o
    hinge:   x += R c - R exp(a q) c,   R = R exp(a q)
    slide:   x += R a q

which is MuJoCo's own definition (``mj_kinematics``). Joint ``j`` moves everything below it by
the screw ``(ω, v)``, ``v`` being the velocity of the point at the root position ``x_0``:
``(R a, (x_c - x_0) × R a)`` for a hinge and ``(0, R a)`` for a slide. The root position rather
than the world's origin keeps screws well conditioned far from the origin.

The frame axis is last, so that every operation runs over contiguous frames.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from motionkit import rotation

Array = np.ndarray

BLOCK = 256  # frames that a kernel handles at once: the work space of one block stays in cache


@dataclass(frozen=True, slots=True)
class Tree:
    """The kinematic tree; bodies in MuJoCo's depth-first order, the root first."""

    parents: tuple[int, ...]
    """Parent of each body; -1 for the root."""
    pos: Float[Array, "B 3"]
    """Rest offsets in the parent frame [m]; unused for the root."""
    mat: Float[Array, "B 3 3"]
    """Rest rotations in the parent frame; unused for the root."""
    joint_body: tuple[int, ...]
    """Body that each joint moves, ascending."""
    axis: Float[Array, "n 3"]
    """Unit axes in the body frame."""
    anchor: Float[Array, "n 3"]
    """Anchors in the body frame [m]."""
    is_slide: tuple[bool, ...]
    """Whether the joint translates."""
    ref: Float[Array, "n"]
    """Joint coordinates of the rest pose (MJCF ``ref``)."""

    @property
    def body_joints(self) -> tuple[tuple[int, ...], ...]:
        """Joints of each body, in order."""
        joints: list[list[int]] = [[] for _ in self.parents]
        for j, b in enumerate(self.joint_body):
            joints[b].append(j)
        return tuple(tuple(js) for js in joints)

    @property
    def is_below(self) -> Bool[Array, "n n"]:
        """``[i, j]``: joint ``i`` is joint ``j`` or lies above it (moves whatever ``j`` moves)."""
        n = len(self.joint_body)
        below = np.zeros((n, n), dtype=bool)
        last: list[int] = []
        for b, own in enumerate(self.body_joints):
            above = last[self.parents[b]] if self.parents[b] >= 0 else -1
            for j in own:
                if above >= 0:
                    below[:, j] = below[:, above]
                below[j, j] = True
                above = j
            last.append(above)
        return below


class Kinematics:
    """Work space for the poses of up to ``capacity`` frames of one tree, frames last.

    After :meth:`update`, ``x`` (B,3,F) and ``R`` (B,3,3,F) are positions and rotations of the
    bodies in the world, ``axis`` (n,3,F) the joint axes in the world and ``arm`` (n,3,F) the
    joint anchors relative to the root position. The arrays are reused by the next update.
    """

    def __init__(self, tree: Tree) -> None:
        """Precompute what each body needs, so that no zero is ever multiplied."""
        self._tree = tree
        eye = np.eye(3)
        self._plan = []
        for b, joints in enumerate(tree.body_joints):
            steps = []
            for j in joints:
                k = np.flatnonzero(tree.axis[j])
                aligned = int(k[0]) if len(k) == 1 else None
                steps.append((j, tree.is_slide[j], aligned, np.any(tree.anchor[j] != 0)))
            moved = bool(np.any(tree.pos[b] != 0))
            turned = not np.array_equal(tree.mat[b], eye)
            self._plan.append((b, tree.parents[b], moved, turned, tuple(steps)))
        self._frames = -1

    def _resize(self, frames: int) -> None:
        if frames == self._frames:
            return
        bodies, n = len(self._tree.parents), len(self._tree.joint_body)
        self.x = np.empty((bodies, 3, frames))
        self.R = np.empty((bodies, 3, 3, frames))
        self.axis = np.empty((n, 3, frames))
        self.arm = np.empty((n, 3, frames))
        self._frames = frames

    def update(
        self, root_pos: Float[Array, "3 F"], root_mat: Float[Array, "3 3 F"], q: Float[Array, "n F"]
    ) -> None:
        """Compute all poses and screws."""
        self._resize(q.shape[-1])
        tree, x, R = self._tree, self.x, self.R
        angle = q - tree.ref[:, None]
        sin, cos = np.sin(angle), np.cos(angle)
        for b, parent, moved, turned, steps in self._plan:
            xb, Rb = x[b], R[b]
            if parent < 0:
                xb[...], Rb[...] = root_pos, root_mat
            else:
                xb[...] = x[parent]
                if moved:
                    xb += apply(R[parent], tree.pos[b])
                if turned:
                    np.einsum("ikf,kj->ijf", R[parent], tree.mat[b], out=Rb)
                else:
                    Rb[...] = R[parent]
            for j, is_slide, aligned, off_center in steps:
                axis = _axis(Rb, tree.axis[j], aligned, self.axis[j])
                if is_slide:
                    self.arm[j] = xb - root_pos
                    xb += axis * angle[j]
                    continue
                if off_center:
                    xb += apply(Rb, tree.anchor[j])
                np.subtract(xb, root_pos, out=self.arm[j])
                _turn(Rb, tree.axis[j], aligned, sin[j], cos[j])
                if off_center:
                    xb -= apply(Rb, tree.anchor[j])


def apply(R: Float[Array, "3 3 F"], v: Float[Array, "3"]) -> Float[Array, "3 F"]:
    """``R v`` of a constant vector, skipping its zeros."""
    out = None
    for k in range(3):
        if v[k] != 0:
            term = R[:, k] * v[k]
            out = term if out is None else np.add(out, term, out=out)
    return np.zeros_like(R[:, 0]) if out is None else out


def _axis(
    R: Float[Array, "3 3 F"], axis: Float[Array, "3"], aligned: int | None, out: Float[Array, "3 F"]
) -> Float[Array, "3 F"]:
    if aligned is None:
        out[...] = apply(R, axis)
    elif axis[aligned] > 0:
        out[...] = R[:, aligned]
    else:
        np.negative(R[:, aligned], out=out)
    return out


def _turn(
    R: Float[Array, "3 3 F"],
    axis: Float[Array, "3"],
    aligned: int | None,
    sin: Float[Array, "F"],
    cos: Float[Array, "F"],
) -> None:
    """``R ← R exp(axis · angle)`` in place."""
    if aligned is not None:
        # About a coordinate axis only the two other columns mix.
        s = sin if axis[aligned] > 0 else -sin
        u, v = R[:, (aligned + 1) % 3], R[:, (aligned + 2) % 3]
        rotated = u * cos + v * s
        v *= cos
        v -= u * s
        u[...] = rotated
        return
    # Rodrigues: exp(aθ) = cos θ I + sin θ [a] + (1 - cos θ) a aᵀ, column by column.
    world = apply(R, axis)
    old = R.copy()
    a, b, c = axis
    skew = np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
    one_minus_cos = 1.0 - cos
    for k in range(3):
        column = old[:, k] * cos + apply(old, skew[:, k]) * sin
        if axis[k] != 0:
            column += world * (one_minus_cos * axis[k])
        R[:, k] = column


def split_qpos(
    qpos: Float[Array, "T nq"],
) -> tuple[Float[Array, "3 T"], Float[Array, "3 3 T"], Float[Array, "n T"]]:
    """Root position, root rotation and joint coordinates, frames last and contiguous."""
    mat = rotation.to_matrix(rotation.normalize(qpos[:, 3:7]))
    return (
        np.ascontiguousarray(qpos[:, :3].T),
        np.ascontiguousarray(np.moveaxis(mat, 0, -1)),
        np.ascontiguousarray(qpos[:, 7:].T),
    )


def path_to_root(tree: Tree, body: int) -> list[int]:
    """Bodies from ``body`` up to the root."""
    path = []
    while body >= 0:
        path.append(body)
        body = tree.parents[body]
    return path
