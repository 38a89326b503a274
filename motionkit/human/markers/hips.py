"""Where the hip joints are: published regressions from the pelvis, and spheres about the thigh.

**Frame of the pelvis.** Origin halfway between the anterior spines (ASIS); +Y along the line from
the right to the left; +X forward, in the plane of both ASIS and the middle of the posterior spines
(PSIS), square to Y; +Z up. Regressions give the left hip here; the right one is its mirror image.
With ``PW`` the distance of the ASIS, ``PD`` that of the middles of ASIS and PSIS, ``LL`` the length
of the leg from ASIS to medial malleolus, all in metres:

=========================  ======================  ======================  =======================
source                     X, forward              Y, outward              Z, up
=========================  ======================  ======================  =======================
Harrington et al. 2007     -0.24 PD - 0.0099       0.33 PW + 0.0073        -0.30 PW - 0.0109
the same, with LL          -0.24 PD - 0.0099       0.28 PD + 0.16 PW       -0.16 PW - 0.04 LL
                                                   + 0.0079                - 0.0071
Bell et al. 1990           -0.19 PW                0.36 PW                 -0.30 PW
Hara et al. 2016           -0.063 LL + 0.011       0.086 LL + 0.008        -0.078 LL - 0.009
Davis et al. 1991          C cos θ sin β - D cos β PW/2 - C sin θ          -C cos θ cos β
                                                                           - D sin β
=========================  ======================  ======================  =======================

Davis: ``C = 0.115 LL - 0.0153``, θ = 28.4°, β = 18°, and ``D``, the depth from ASIS to trochanter,
is ``0.1288 LL - 0.0486`` as Plug-in Gait has it where nobody measured it. Harrington (J. Biomech.
40, 595-602) found mean errors of about 5 mm an axis over 32 people in magnetic resonance images,
Sangeux et al. (Gait Posture 40, 20-25, 2014) about 14 mm from skin markers.

**Spheres.** Points of a thigh keep their distance from the hip, ``|p_tk - c| = r_k`` in the frame
of the pelvis. The centre ``c`` least in ``Σ (|p_tk - c| - r_k)²`` is found by Gauss-Newton from the
closed form of Gamage & Lasenby (J. Biomech. 35, 87-93, 2002), whose bias under noise (Halvorsen,
J. Biomech. 36, 999-1008, 2003) the distance does not have. With unit vectors ``u_tk`` from ``c``
and their mean over time ``m_k``, the covariance of ``c`` is ``s² (Σ (u - m)(u - m)ᵀ)⁻¹``: it grows
without bound as the motion becomes an arc in one plane. Skin moves with the pose, not at random,
and neighbouring markers together, so frames in which the thigh points the same way count once.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from motionkit.errors import ConfigError

Array = np.ndarray
Regression = Literal["harrington", "bell", "davis", "hara"]

WIDE_ARC = np.radians(30.0)
"""Least arc of the thigh along its widest swing [rad] that a sphere is trusted from."""
NARROW_ARC = np.radians(20.0)
"""Least arc square to it [rad]: below 20 degrees errors of sphere fits grow beyond 10 mm (Ehrig et
al., J. Biomech. 39, 2798-2809, 2006)."""
LARGEST_SIGMA = 0.010
"""Largest standard deviation of a centre along its worst axis [m] that it is trusted with."""
SKIN_NOISE = 0.001
"""Least scatter of distances assumed [m], so that a model's exact data are not overrated."""
SAME_POSE = np.radians(10.0)
"""Directions of the thigh nearer than about this [rad] count as one pose, over which the skin lies
the same way. By construction: real walks of about 45 by 12 degrees then come with sigma of 11 to
20 mm, and their spheres lie 55 to 80 mm from the regression."""
ARC_SHARE = (5.0, 95.0)
"""Percentiles between which arcs are measured."""

_FEWEST_FRAMES = 20
_ITERATIONS = 50
_CONVERGED = 1e-9  # [m]
_FLAT = 1e-9  # smallest eigenvalue of the directions' spread, as a share of the largest
_DAVIS_THETA, _DAVIS_BETA = np.radians(28.4), np.radians(18.0)


def pelvis_frame(
    asis_l: Float[Array, "*T 3"], asis_r: Float[Array, "*T 3"], psis_mid: Float[Array, "*T 3"]
) -> tuple[Float[Array, "*T 3"], Float[Array, "*T 3 3"]]:
    """Origin [m] and axes (as columns: forward, left, up) of the pelvis, frame by frame.

    Args:
        asis_l: left anterior superior iliac spine [m].
        asis_r: the right one [m].
        psis_mid: middle of the posterior spines, or the sacrum between them [m].
    """
    origin = 0.5 * (asis_l + asis_r)
    left = _unit(asis_l - asis_r)
    ahead = origin - psis_mid
    forward = _unit(ahead - np.sum(ahead * left, axis=-1, keepdims=True) * left)
    return origin, np.stack([forward, left, np.cross(forward, left)], axis=-1)


def hip_centres(
    asis_l: Float[Array, "*T 3"],
    asis_r: Float[Array, "*T 3"],
    psis_mid: Float[Array, "*T 3"],
    *,
    leg_length: float | None = None,
    regression: Regression = "harrington",
) -> tuple[Float[Array, "*T 3"], Float[Array, "*T 3"]]:
    """Left and right hip joint centres [m], in the frame that the spines are given in.

    Width and depth of the pelvis are those of the same frame of the clip. Points are taken for
    the spines themselves: markers on soft tissue before or behind them make the depth too large.

    Args:
        asis_l: left anterior superior iliac spine [m].
        asis_r: the right one [m].
        psis_mid: middle of the posterior spines, or the sacrum between them [m].
        leg_length: from ASIS to medial malleolus [m]; ``davis`` and ``hara`` need it, and
            ``harrington`` uses it.
        regression: whose.

    Raises:
        ConfigError: the regression needs the length of the leg.
    """
    origin, axes = pelvis_frame(asis_l, asis_r, psis_mid)
    width = np.linalg.norm(asis_l - asis_r, axis=-1, keepdims=True)
    depth = np.linalg.norm(origin - psis_mid, axis=-1, keepdims=True)
    x, y, z = _in_pelvis(width, depth, leg_length, regression)
    left, right = (
        origin + np.einsum("...ij,...j->...i", axes, np.concatenate([x, sign * y, z], axis=-1))
        for sign in (1.0, -1.0)
    )
    return left, right


def _in_pelvis(
    width: Float[Array, "*T 1"],
    depth: Float[Array, "*T 1"],
    leg: float | None,
    regression: Regression,
) -> tuple[Float[Array, "*T 1"], Float[Array, "*T 1"], Float[Array, "*T 1"]]:
    """Forward, outward, up from the middle of the ASIS [m]: the table above."""
    one = np.ones_like(width)
    if regression == "bell":
        return -0.19 * width, 0.36 * width, -0.30 * width
    if regression == "harrington" and leg is None:
        return -0.24 * depth - 0.0099, 0.33 * width + 0.0073, -0.30 * width - 0.0109
    if leg is None:
        raise ConfigError(f"the regression {regression} needs the length of the leg",
                          help="give leg_length, or use harrington or bell")  # fmt: skip
    if regression == "harrington":
        return (
            -0.24 * depth - 0.0099,
            0.28 * depth + 0.16 * width + 0.0079,
            -0.16 * width - 0.04 * leg - 0.0071,
        )
    if regression == "hara":
        return (
            (-0.063 * leg + 0.011) * one,
            (0.086 * leg + 0.008) * one,
            (-0.078 * leg - 0.009) * one,
        )
    reach, back = 0.115 * leg - 0.0153, 0.1288 * leg - 0.0486
    ahead, theta, beta = reach * np.cos(_DAVIS_THETA), _DAVIS_THETA, _DAVIS_BETA
    return (
        (ahead * np.sin(beta) - back * np.cos(beta)) * one,
        0.5 * width - reach * np.sin(theta),
        (-ahead * np.cos(beta) - back * np.sin(beta)) * one,
    )


@dataclass(frozen=True, slots=True)
class FunctionalHip:
    """A hip joint centre from the motion of the thigh, and whether the motion allows it."""

    centre: Float[Array, "3"]
    """In the frame of the pelvis [m]."""
    covariance: Float[Array, "3 3"]
    """Of the centre [m²]; infinite on its diagonal where the motion leaves an axis open."""
    arcs: tuple[float, float]
    """Arcs of the thigh along its widest swing and square to it [rad]."""
    scatter: float
    """Root mean square of the distances about their means [m]."""
    num_poses: int
    """Distinct directions of the thigh."""

    @property
    def sigma(self) -> float:
        """Standard deviation along the worst axis [m]."""
        if not np.all(np.isfinite(self.covariance)):
            return float("inf")
        return float(np.sqrt(np.linalg.eigvalsh(self.covariance)[-1]))

    @property
    def is_trusted(self) -> bool:
        """Whether both arcs are wide enough and the centre is sure enough."""
        wide, narrow = self.arcs
        return bool(wide >= WIDE_ARC and narrow >= NARROW_ARC and self.sigma <= LARGEST_SIGMA)


def functional_hip(
    thigh: Float[Array, "T K 3"], origin: Float[Array, "T 3"], axes: Float[Array, "T 3 3"]
) -> FunctionalHip | None:
    """Centre of the spheres on which points of a thigh move about the pelvis.

    Ask :attr:`FunctionalHip.is_trusted` before using it: a walk is mostly an arc in one plane,
    and leaves the centre open along that plane's normal and along the thigh.

    Args:
        thigh: points fixed to one thigh, in the world [m]; NaN where not seen.
        origin: of the pelvis, in the world [m].
        axes: of the pelvis as columns, from :func:`pelvis_frame`.

    Returns:
        The centre; None where fewer than 20 frames show a point.
    """
    local = np.einsum("tji,tkj->tki", axes, thigh - origin[:, None])
    seen = np.all(np.isfinite(local), axis=-1)
    enough = np.flatnonzero(seen.sum(axis=0) >= _FEWEST_FRAMES)
    if not len(enough):
        return None
    local, seen = local[:, enough], seen[:, enough]
    local = np.where(seen[..., None], local, 0.0)
    centre = _nearest_centre(local, seen, _closed_form(local, seen))
    distance, direction = _polar(local, seen, centre)
    scatter = float(np.sqrt(np.sum(distance**2) / max(seen.sum() - seen.shape[1] - 3, 1)))
    arcs, poses = _arcs(local, seen, centre)
    spread = np.einsum("tki,tkj->ij", direction, direction) / seen.sum()
    noise = np.hypot(scatter, SKIN_NOISE) ** 2 / poses
    eigen = np.linalg.eigvalsh(spread)
    is_open = eigen[0] <= _FLAT * eigen[-1]
    covariance = np.full((3, 3), np.inf) if is_open else noise * np.linalg.inv(spread)
    return FunctionalHip(centre, covariance, arcs, scatter, poses)


def _closed_form(local: Float[Array, "T K 3"], seen: Bool[Array, "T K"]) -> Float[Array, "3"]:
    """Gamage & Lasenby: ``2 Σ_k cov(p) c = Σ_k cov(p, |p|²)``, means over the frames seen."""
    count = seen.sum(axis=0)
    centred = np.where(seen[..., None], local - local.sum(axis=0) / count[:, None], 0.0)
    square = np.sum(local**2, axis=-1)
    share = 1.0 / count
    matrix = 2.0 * np.einsum("tki,tkj,k->ij", centred, centred, share)
    right = np.einsum("tki,tk,k->i", centred, square, share)
    return np.linalg.lstsq(matrix, right, rcond=_FLAT)[0]


def _nearest_centre(
    local: Float[Array, "T K 3"], seen: Bool[Array, "T K"], centre: Float[Array, "3"]
) -> Float[Array, "3"]:
    """The centre of least scatter of distances, by Gauss-Newton that only goes down."""
    distance, direction = _polar(local, seen, centre)
    cost, damping = np.sum(distance**2), 0.0
    for _ in range(_ITERATIONS):
        matrix = np.einsum("tki,tkj->ij", direction, direction)
        slope = np.einsum("tki,tk->i", direction, distance)
        step = np.linalg.lstsq(matrix + damping * np.eye(3), slope, rcond=_FLAT)[0]
        other = centre + step
        new_distance, new_direction = _polar(local, seen, other)
        new_cost = np.sum(new_distance**2)
        if new_cost <= cost:
            centre, distance, direction, cost = other, new_distance, new_direction, new_cost
            damping *= 0.1
        else:
            damping = max(10.0 * damping, 1e-3 * float(np.trace(matrix)))
        if np.linalg.norm(step) < _CONVERGED:
            break
    return centre


def _polar(
    local: Float[Array, "T K 3"], seen: Bool[Array, "T K"], centre: Float[Array, "3"]
) -> tuple[Float[Array, "T K"], Float[Array, "T K 3"]]:
    """Distances and directions from the centre, each less its mean over time; 0 where not seen."""
    arm = local - centre
    length = np.linalg.norm(arm, axis=-1)
    unit = arm / np.maximum(length, 1e-12)[..., None]
    count = seen.sum(axis=0)
    mean_length = np.where(seen, length, 0.0).sum(axis=0) / count
    mean_unit = np.where(seen[..., None], unit, 0.0).sum(axis=0) / count[:, None]
    return (
        np.where(seen, length - mean_length, 0.0),
        np.where(seen[..., None], unit - mean_unit, 0.0),
    )


def _arcs(
    local: Float[Array, "T K 3"], seen: Bool[Array, "T K"], centre: Float[Array, "3"]
) -> tuple[tuple[float, float], int]:
    """Arcs [rad] of the point seen most often along its swings, and how many poses it takes."""
    point = int(np.argmax(seen.sum(axis=0)))
    unit = _unit(local[seen[:, point], point] - centre)
    middle = _unit(unit.mean(axis=0))
    angle = np.arccos(np.clip(unit @ middle, -1.0, 1.0))
    flat = unit - (unit @ middle)[:, None] * middle
    flat = flat * (angle / np.maximum(np.linalg.norm(flat, axis=-1), 1e-12))[:, None]  # [rad]
    swings = np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)[2][:2]
    along = flat @ swings.T
    low, high = np.percentile(along, ARC_SHARE, axis=0)
    wide, narrow = (float(value) for value in high - low)
    poses = len(np.unique(np.round(along / SAME_POSE).astype(int), axis=0))
    return (wide, narrow), poses


def _unit(vector: Float[Array, "*T 3"]) -> Float[Array, "*T 3"]:
    return vector / np.linalg.norm(vector, axis=-1, keepdims=True)
