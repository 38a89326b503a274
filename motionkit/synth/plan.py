"""What a motion prescribes: planted feet, a carried trunk, and swung arms, at given times.

Everything here is in the motion's own terms; :mod:`motionkit.synth.pose` makes the 52 joints.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from motionkit import rotation

Array = np.ndarray

SIDES: tuple[tuple[Literal["left", "right"], float], ...] = (("left", 1.0), ("right", -1.0))
"""Sides of the body and the sign of their +Y."""

# Fractions of stature: Drillis and Contini (1966) give a foot of 0.152 and Winter a quarter of it
# behind the ankle; the ball lies at 0.72 of it, as in motionkit.human.skeleton.
_FOOT = 0.152
HEEL_BACK = 0.25 * _FOOT
"""From the ankle joint back to where the heel strikes the ground, in statures."""
TOE_LENGTH = 0.28 * _FOOT
"""From the toe base to the tips of the toes, in statures."""


@dataclass(frozen=True, slots=True)
class FootPlan:
    """One foot over time. A positive pitch points the toes down."""

    ankle_w: Float[Array, "T 3"]
    """Position of the ankle joint [m]."""
    yaw: Float[Array, "T"]
    """Where the foot points, about +Z [rad]."""
    pitch: Float[Array, "T"]
    """Of the foot [rad]."""
    toe_pitch: Float[Array, "T"]
    """Of the toes [rad]."""
    heel_planted: Bool[Array, "T"]
    """The sole under the ankle stands flat and still."""
    toe_planted: Bool[Array, "T"]
    """The sole under the toe base stands flat and still."""


@dataclass(frozen=True, slots=True)
class ArmPlan:
    """One arm over time, from hanging down."""

    swing: Float[Array, "T"]
    """Forward about the lateral axis [rad]."""
    spread: Float[Array, "T"]
    """Outward from the vertical [rad]; π/2 is the T-pose."""
    turn: Float[Array, "T"]
    """Inward about the upper arm's own axis [rad]."""
    elbow: Float[Array, "T"]
    """Flexion [rad]."""


@dataclass(frozen=True, slots=True)
class TrunkPlan:
    """Pelvis, chest and head over time."""

    hips_w: Float[Array, "T 3"]
    """Midpoint of the hip joints [m]; its height is relative where legs decide it."""
    heading: Float[Array, "T"]
    """Where the person faces, about +Z [rad]."""
    pelvis: Float[Array, "T 3"]
    """Yaw, pitch, roll of the pelvis relative to the heading, intrinsic ZYX [rad]."""
    chest: Float[Array, "T 3"]
    """The same of the chest."""
    head: Float[Array, "T 3"]
    """The same of the head."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a motion prescribes."""

    trunk: TrunkPlan
    """Pelvis, chest and head."""
    feet: tuple[FootPlan, FootPlan]
    """Left and right."""
    arms: tuple[ArmPlan, ArmPlan]
    """Left and right."""


def turned(heading: Float[Array, "T"], angles: Float[Array, "T 3"]) -> Float[Array, "T 4"]:
    """Orientation in the world of a part given as yaw, pitch, roll from the heading."""
    return rotation.from_euler("ZYX", angles + heading[:, None] * np.array([1.0, 0.0, 0.0]))


def forward(yaw: Float[Array, "*n"]) -> Float[Array, "*n 3"]:
    """The horizontal direction of a yaw."""
    return np.stack([np.cos(yaw), np.sin(yaw), np.zeros_like(yaw)], axis=-1)


def leftward(yaw: Float[Array, "*n"]) -> Float[Array, "*n 3"]:
    """The horizontal direction to the left of a yaw."""
    return np.stack([-np.sin(yaw), np.cos(yaw), np.zeros_like(yaw)], axis=-1)
