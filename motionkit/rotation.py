"""Unit-quaternion algebra, wxyz, on arrays of shape ``(…, 4)``.

A quaternion ``q`` maps body vectors to world vectors: ``v_w = q v_b q*``. No function depends
on the sign of a quaternion except :func:`unroll`, which chooses it. Everything is float64.

Formulas: Solà, "Quaternion kinematics for the error-state Kalman filter", arXiv:1711.02508.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float

from motionkit.errors import InputError

Array = np.ndarray

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])

_SMALL_ANGLE = 1e-8  # [rad], below which a series replaces sin(x)/x
_LOCKED = 1e-12  # cosine of the middle angle below which the outer axes are one


def normalize(quat: Float[Array, "*n 4"]) -> Float[Array, "*n 4"]:
    """Unit quaternions along ``quat``; a zero quaternion gives NaN."""
    return quat / np.linalg.norm(quat, axis=-1, keepdims=True)


def conjugate(quat: Float[Array, "*n 4"]) -> Float[Array, "*n 4"]:
    """The inverse rotation."""
    return quat * np.array([1.0, -1.0, -1.0, -1.0])


def multiply(a: Float[Array, "*n 4"], b: Float[Array, "*m 4"]) -> Float[Array, "*k 4"]:
    """The rotation ``a`` after ``b``; leading axes broadcast."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def rotate(quat: Float[Array, "*n 4"], vector: Float[Array, "*m 3"]) -> Float[Array, "*k 3"]:
    """``vector`` taken from body to world; leading axes broadcast."""
    w, xyz = quat[..., :1], quat[..., 1:]
    t = 2.0 * np.cross(xyz, vector)
    return vector + w * t + np.cross(xyz, t)


def to_matrix(quat: Float[Array, "*n 4"]) -> Float[Array, "*n 3 3"]:
    """Rotation matrices, body to world."""
    w, x, y, z = np.moveaxis(quat, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(matrix: Float[Array, "*n 3 3"]) -> Float[Array, "*n 4"]:
    """Quaternions of rotation matrices, stable at every angle (the largest component divides)."""
    m = matrix
    trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
    four = np.stack(
        [
            np.stack([1 + trace, m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0],
                      m[..., 1, 0] - m[..., 0, 1]], axis=-1),
            np.stack([m[..., 2, 1] - m[..., 1, 2], 1 - trace + 2 * m[..., 0, 0],
                      m[..., 0, 1] + m[..., 1, 0], m[..., 0, 2] + m[..., 2, 0]], axis=-1),
            np.stack([m[..., 0, 2] - m[..., 2, 0], m[..., 0, 1] + m[..., 1, 0],
                      1 - trace + 2 * m[..., 1, 1], m[..., 1, 2] + m[..., 2, 1]], axis=-1),
            np.stack([m[..., 1, 0] - m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0],
                      m[..., 1, 2] + m[..., 2, 1], 1 - trace + 2 * m[..., 2, 2]], axis=-1),
        ],
        axis=-2,
    )  # fmt: skip
    best = np.argmax(np.diagonal(four, axis1=-2, axis2=-1), axis=-1)
    row = np.take_along_axis(four, best[..., None, None], axis=-2)[..., 0, :]
    return normalize(row)


def from_rotvec(rotvec: Float[Array, "*n 3"]) -> Float[Array, "*n 4"]:
    """Rotation by ``|rotvec|`` [rad] about ``rotvec``; any length, also beyond π."""
    angle = np.linalg.norm(rotvec, axis=-1, keepdims=True)
    small = angle < _SMALL_ANGLE
    safe = np.where(small, 1.0, angle)
    k = np.where(small, 0.5 - angle**2 / 48.0, np.sin(0.5 * safe) / safe)
    return np.concatenate([np.cos(0.5 * angle), k * rotvec], axis=-1)


def to_rotvec(quat: Float[Array, "*n 4"]) -> Float[Array, "*n 3"]:
    """Rotation vectors [rad] of length at most π."""
    quat = np.where(quat[..., :1] < 0, -quat, quat)
    s = np.linalg.norm(quat[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(s, quat[..., :1])
    small = s < _SMALL_ANGLE
    return np.where(small, 2.0, angle / np.where(small, 1.0, s)) * quat[..., 1:]


def from_axis_angle(
    axis: Literal["X", "Y", "Z"], angle: Float[Array, "*n"]
) -> Float[Array, "*n 4"]:
    """Rotation by ``angle`` [rad] about one coordinate axis."""
    quat = np.zeros((*np.shape(angle), 4))
    quat[..., 0] = np.cos(0.5 * angle)
    quat[..., 1 + "XYZ".index(axis)] = np.sin(0.5 * angle)
    return quat


def from_euler(order: str, angles: Float[Array, "*n k"]) -> Float[Array, "*n 4"]:
    """Intrinsic rotations in the order of the letters: ``"ZYX"`` is ``Rz Ry Rx``.

    Args:
        order: letters of ``XYZ``, one an angle, as BVH lists its channels.
        angles: the angles [rad], in the same order.
    """
    quat = np.broadcast_to(IDENTITY, (*angles.shape[:-1], 4))
    for i, axis in enumerate(order):
        quat = multiply(quat, from_axis_angle(axis, angles[..., i]))  # pyright: ignore[reportArgumentType]
    return quat


def to_euler(order: str, quat: Float[Array, "*n 4"]) -> Float[Array, "*n 3"]:
    """Angles [rad] of three intrinsic rotations, the inverse of :func:`from_euler`.

    The middle angle lies in [-π/2, π/2], the others in [-π, π]. The first rotation is undone
    before the others are read off, so that the three together give the rotation to rounding at
    every pose; where the middle angle is ±π/2 itself the first is taken for zero.

    Args:
        order: three different letters of ``XYZ``.
        quat: unit quaternions.
    """
    i, j, k = ("XYZ".index(letter) for letter in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    m = to_matrix(quat)
    cosine = np.hypot(m[..., j, k], m[..., k, k])
    is_locked = cosine < _LOCKED
    first = np.where(is_locked, 0.0, np.arctan2(-sign * m[..., j, k], m[..., k, k]))
    cos, sin = np.cos(first), sign * np.sin(first)
    middle = np.arctan2(sign * m[..., i, k], cosine)
    row_j = cos[..., None] * m[..., j, :] + sin[..., None] * m[..., k, :]
    last = np.arctan2(sign * row_j[..., i], row_j[..., j])
    return np.stack([first, middle, last], axis=-1)


def from_xyzw(quat: Float[Array, "*n 4"]) -> Float[Array, "*n 4"]:
    """Reorder scalar-last quaternions."""
    return np.roll(quat, 1, axis=-1)


def to_xyzw(quat: Float[Array, "*n 4"]) -> Float[Array, "*n 4"]:
    """Reorder to scalar-last."""
    return np.roll(quat, -1, axis=-1)


def unroll(quat: Float[Array, "T *n 4"]) -> Float[Array, "T *n 4"]:
    """The same rotations with each quaternion in the hemisphere of the one before it."""
    dots = np.sum(quat[1:] * quat[:-1], axis=-1)
    signs = np.cumprod(np.where(dots < 0, -1.0, 1.0), axis=0)
    return np.concatenate([quat[:1], quat[1:] * signs[..., None]], axis=0)


def between(a: Float[Array, "*n 3"], b: Float[Array, "*m 3"]) -> Float[Array, "*k 4"]:
    """The shortest rotation taking the direction of ``a`` to that of ``b``.

    For opposite directions the axis is arbitrary but perpendicular. Lengths are immaterial;
    a zero vector gives NaN.
    """
    a = a / np.linalg.norm(a, axis=-1, keepdims=True)
    b = b / np.linalg.norm(b, axis=-1, keepdims=True)
    a, b = np.broadcast_arrays(a, b)
    half = a + b
    opposite = np.linalg.norm(half, axis=-1, keepdims=True) < _SMALL_ANGLE
    smallest = np.argmin(np.abs(a), axis=-1)
    other = np.cross(a, np.eye(3)[smallest])
    half = np.where(opposite, other, half)
    half = half / np.linalg.norm(half, axis=-1, keepdims=True)
    return np.concatenate([np.sum(a * half, axis=-1, keepdims=True), np.cross(a, half)], axis=-1)


def angle_between(a: Float[Array, "*n 4"], b: Float[Array, "*m 4"]) -> Float[Array, "*k"]:
    """The angle [rad], in [0, π], of the rotation from ``a`` to ``b``."""
    return np.linalg.norm(to_rotvec(multiply(conjugate(a), b)), axis=-1)


def twist(quat: Float[Array, "*n 4"], axis: Float[Array, "3"]) -> Float[Array, "*n 4"]:
    """The part of ``quat`` about ``axis``: ``quat = swing · twist``, swing perpendicular to it.

    A swing of exactly π leaves the twist undefined; the identity is returned there.
    """
    axis = axis / np.linalg.norm(axis)
    dot = np.sum(quat[..., 1:] * axis, axis=-1, keepdims=True)
    out = np.concatenate([quat[..., :1], dot * axis], axis=-1)
    norm = np.linalg.norm(out, axis=-1, keepdims=True)
    return np.where(norm < _SMALL_ANGLE, IDENTITY, out / np.where(norm < _SMALL_ANGLE, 1.0, norm))


def yaw(quat: Float[Array, "*n 4"]) -> Float[Array, "*n"]:
    """Heading [rad] of the body's +X axis about world +Z; 0 where +X is vertical."""
    x = rotate(quat, np.array([1.0, 0.0, 0.0]))
    return np.arctan2(x[..., 1], x[..., 0])


def slerp(
    a: Float[Array, "*n 4"], b: Float[Array, "*n 4"], fraction: Float[Array, "*n"]
) -> Float[Array, "*n 4"]:
    """The rotation ``fraction`` of the way along the shorter arc from ``a`` to ``b``."""
    delta = to_rotvec(multiply(conjugate(a), b))
    return multiply(a, from_rotvec(delta * np.asarray(fraction)[..., None]))


def angular_velocity(quat: Float[Array, "T *n 4"], fps: float) -> Float[Array, "T *n 3"]:
    """Angular velocity of a body, from its orientations.

    Central differences inside, one-sided at the ends; exact for a constant spin slower than a
    quarter turn a frame. The sign of each quaternion is immaterial.

    Args:
        quat: unit quaternions, wxyz, body to world.
        fps: frames per second.

    Returns:
        Angular velocity in the world frame [rad/s].

    Raises:
        InputError: fewer than two frames.
    """
    if len(quat) < 2:
        raise InputError(f"angular velocity needs at least 2 frames, found {len(quat)}")
    ahead = np.concatenate([quat[1:], quat[-1:]])
    behind = np.concatenate([quat[:1], quat[:-1]])
    steps = np.full(len(quat), 2.0)
    steps[[0, -1]] = 1.0
    delta = to_rotvec(multiply(ahead, conjugate(behind)))
    return delta * fps / steps.reshape(-1, *[1] * (delta.ndim - 1))
