"""Two-bone legs in closed form: the knee is a hinge whose axis stays lateral.

With ``a`` the thigh and ``b`` the shank in the T-pose, in the frame of the thigh, and a knee
flexed by ``k`` about +Y, the ankle lies at ``v(k) = a + R_y(k) b`` from the hip. In the plane of
the hinge ``|v|²`` is ``|a|² + |b|² + 2 |a| |b| cos(k + k0)``, which gives ``k`` from the distance.
"""

import numpy as np
from jaxtyping import Float

from motionkit import rotation

Array = np.ndarray

_LATERAL = np.array([0.0, 1.0, 0.0])


def solve_leg(
    reach: Float[Array, "T 3"],
    lateral: Float[Array, "T 3"],
    thigh: Float[Array, "3"],
    shank: Float[Array, "3"],
) -> tuple[Float[Array, "T 4"], Float[Array, "T"]]:
    """Orientation of the thigh in the world and flexion of the knee [rad].

    The ankle is met exactly; the knee's axis is as near to ``lateral`` as that allows. Smooth
    while the knee is bent and ``reach`` is not along ``lateral``.

    Args:
        reach: from hip to ankle in the world [m], no farther than the leg is long.
        lateral: where the knee's axis should point, to the left, unit vectors.
        thigh: from hip to knee in the T-pose [m].
        shank: from knee to ankle in the T-pose [m].
    """
    flat = np.array([1.0, 0.0, 1.0])
    a, b = thigh * flat, shank * flat
    product = np.linalg.norm(a) * np.linalg.norm(b)
    side = thigh[1] + shank[1]
    square = np.sum(reach**2, axis=-1) - side**2
    cosine = (square - a @ a - b @ b) / (2.0 * product)
    assert np.all(np.abs(cosine) < 1.0), "a foot is out of reach"
    knee = np.arccos(cosine) - _rest_bend(a, b)
    local = thigh + rotation.rotate(rotation.from_axis_angle("Y", knee), shank)
    turn = rotation.from_matrix(
        np.einsum("tik,tjk->tij", _frame(reach, lateral), _frame(local, _LATERAL))
    )
    return turn, knee


def leg_length(knee: float, thigh: Float[Array, "3"], shank: Float[Array, "3"]) -> float:
    """Distance from hip to ankle when the knee is flexed by ``knee`` [rad]."""
    bent = rotation.rotate(rotation.from_axis_angle("Y", np.array(knee)), shank)
    return float(np.linalg.norm(thigh + bent))


def _rest_bend(a: Float[Array, "3"], b: Float[Array, "3"]) -> float:
    """Angle about +Y from ``a`` to ``b``: how far the knee is bent in the T-pose."""
    return float(np.arctan2(a[2] * b[0] - a[0] * b[2], a @ b))


def _frame(along: Float[Array, "T 3"], across: Float[Array, "*n 3"]) -> Float[Array, "T 3 3"]:
    """Rotations whose first column is along, the second near across."""
    first = along / np.linalg.norm(along, axis=-1, keepdims=True)
    second = across - np.sum(across * first, axis=-1, keepdims=True) * first
    second = second / np.linalg.norm(second, axis=-1, keepdims=True)
    return np.stack([first, second, np.cross(first, second)], axis=-1)
