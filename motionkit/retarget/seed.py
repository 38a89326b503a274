"""First joint angles: each joint turned so that its part takes its wanted orientation.

Parts are visited from the root outwards. The joints between one landmark and the next are turned
one at a time, each by the angle that brings the part closest to its target given the others:
for a hinge, ``trace(Rᵀ R*) = a + b cos q + c sin q`` is largest at ``q = atan2(c, b)``. Three
hinges about perpendicular axes are first split exactly (Euler angles about those axes, middle
angle within ±90°), so that no sweep can end in a side minimum.

Frames are independent of each other, so the seed depends neither on where a clip starts nor on
its heading. Where the split is singular (middle angle near ±90°) the first and last angle are
only known by their sum or difference; there they follow the nearest well-defined frames.
"""

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.kinematics import Kinematics, Tree
from motionkit.retarget.objective import Orientations, Pose

Array = np.ndarray

_SWEEPS = 12  # of one-joint-at-a-time improvement for chains that have no exact split
_PERPENDICULAR = 1e-6  # largest |a·b| of axes that count as perpendicular
_GIMBAL = 0.35  # cos of the middle angle below which a split is taken for singular


def seed(
    tree: Tree,
    limits: Float[Array, "n 2"],
    orientations: Orientations,
    root_pos: Float[Array, "3 T"],
    root_mat: Float[Array, "3 3 T"],
) -> Pose:
    """Joint angles inside the limits that follow the wanted orientations."""
    n, frames = len(tree.joint_body), root_pos.shape[1]
    q = np.broadcast_to(np.clip(tree.ref, limits[:, 0], limits[:, 1])[:, None], (n, frames)).copy()
    kinematics = Kinematics(tree)
    wanted = {int(b): orientations.target[i] for i, b in enumerate(orientations.body_index)}
    for body, chain in _chains(tree, set(wanted)):
        kinematics.update(root_pos, root_mat, q)
        top = tree.parents[tree.joint_body[chain[0]]]
        relative = np.einsum("kif,kjf->ijf", kinematics.R[top], wanted[body])
        _turn_chain(tree, limits, chain, body, relative, q)
    return Pose(root_pos, root_mat, q)


def _chains(tree: Tree, wanted: set[int]) -> list[tuple[int, tuple[int, ...]]]:
    """For each wanted body, root outwards, the joints between it and the wanted one above."""
    chains = []
    for body in sorted(wanted):
        joints: list[int] = []
        above = body
        while above >= 0 and (above == body or above not in wanted):
            joints = [*tree.body_joints[above], *joints]
            above = tree.parents[above]
        if joints:
            chains.append((body, tuple(joints)))
    return chains


def _turn_chain(
    tree: Tree,
    limits: Float[Array, "n 2"],
    chain: tuple[int, ...],
    body: int,
    wanted: Float[Array, "3 3 T"],
    q: Float[Array, "n T"],
) -> None:
    """Set the joints of one chain so that ``exp(b_1 q_1) … exp(b_k q_k) P`` is near ``wanted``.

    ``b_i`` are the axes at rest in the frame of the body above the chain and ``P`` is the rest
    orientation of the chain's last body in it.
    """
    hinges = [j for j in chain if not tree.is_slide[j]]
    axes, rest = _rest_axes(tree, chain, body)
    axes = dict(zip(chain, axes, strict=True))
    target = np.einsum("ikf,jk->ijf", wanted, rest)
    if len(hinges) == 3 and _are_perpendicular([axes[j] for j in hinges]):
        first, middle, last = hinges
        angles, is_singular = _split([axes[j] for j in hinges], target)
        for j, angle in zip(hinges, angles, strict=True):
            q[j] = _into(limits[j], angle + tree.ref[j])
        if np.any(is_singular) and not np.all(is_singular):
            good = np.flatnonzero(~is_singular)
            q[first] = np.interp(np.arange(q.shape[1]), good, q[first, good])
        hinges, sweeps = ([middle, last], _SWEEPS) if np.any(is_singular) else ([], 0)
        _improve(tree, limits, [first, middle, last], axes, target, q, hinges, sweeps)
        return
    _improve(tree, limits, hinges, axes, target, q, hinges, 1 if len(hinges) == 1 else _SWEEPS)


def _rest_axes(
    tree: Tree, chain: tuple[int, ...], body: int
) -> tuple[list[Float[Array, "3"]], Float[Array, "3 3"]]:
    path = [body]
    while path[0] != tree.joint_body[chain[0]]:
        path.insert(0, tree.parents[path[0]])
    rest, axes = np.eye(3), []
    for b in path:
        rest = rest @ tree.mat[b]
        axes += [rest @ tree.axis[j] for j in tree.body_joints[b]]
    return axes, rest


def _are_perpendicular(axes: list[Float[Array, "3"]]) -> bool:
    gram = np.abs(np.array(axes) @ np.array(axes).T - np.eye(3))
    return bool(gram.max() < _PERPENDICULAR)


def _split(
    axes: list[Float[Array, "3"]], target: Float[Array, "3 3 T"]
) -> tuple[tuple[Array, Array, Array], Array]:
    """Angles about three perpendicular axes, and whether the split is nearly singular."""
    basis = np.array(axes)
    hand = np.linalg.det(basis)
    m = np.einsum("ai,ijf,bj->abf", basis, target, basis)
    first = np.arctan2(-hand * m[1, 2], m[2, 2])
    middle = np.arcsin(np.clip(hand * m[0, 2], -1.0, 1.0))
    last = np.arctan2(-hand * m[0, 1], m[0, 0])
    return (first, middle, last), np.cos(middle) < _GIMBAL


def _improve(
    tree: Tree,
    limits: Float[Array, "n 2"],
    chain: list[int],
    axes: dict[int, Float[Array, "3"]],
    target: Float[Array, "3 3 T"],
    q: Float[Array, "n T"],
    free: list[int],
    sweeps: int,
) -> None:
    """Turn the free joints of a chain one at a time, each to its best angle."""
    for _ in range(sweeps):
        for j in free:
            here = chain.index(j)
            left = _product(tree, chain[:here], axes, q)
            right = _product(tree, chain[here + 1 :], axes, q)
            middle = np.einsum("kif,klf,jlf->ijf", left, target, right)
            axis = axes[j]
            along = np.einsum("i,ijf,j->f", axis, middle, axis)
            twist = [middle[2, 1] - middle[1, 2], middle[0, 2] - middle[2, 0],
                     middle[1, 0] - middle[0, 1]]  # fmt: skip
            angle = np.arctan2(axis @ np.array(twist), np.einsum("iif->f", middle) - along)
            q[j] = _into(limits[j], angle + tree.ref[j])


def _product(
    tree: Tree, chain: list[int], axes: dict[int, Float[Array, "3"]], q: Float[Array, "n T"]
) -> Float[Array, "3 3 T"]:
    out = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, q.shape[1]))
    for j in chain:
        rotvec = (q[j] - tree.ref[j])[:, None] * axes[j]
        turn = np.moveaxis(rotation.to_matrix(rotation.from_rotvec(rotvec)), 0, -1)
        out = np.einsum("ikf,kjf->ijf", out, turn)
    return out


def _into(limits: Float[Array, "2"], angle: Float[Array, "T"]) -> Float[Array, "T"]:
    """The same angle inside the limits, else the limit nearest to it around the circle."""
    low, high = limits
    if not (np.isfinite(low) and np.isfinite(high)):
        return angle
    middle = 0.5 * (low + high)
    angle = middle + np.mod(angle - middle + np.pi, 2 * np.pi) - np.pi
    return np.clip(angle, low, high)
