"""Column layouts of known robots: names of joints in MuJoCo's order, and their ranges.

A file that gives a robot's joints without names is told by its number of columns. These are facts
from the makers' own models, written as chains of joints from the root outwards:

- G1: unitreerobotics/unitree_mujoco, ``unitree_robots/g1/g1_29dof.xml`` and ``g1_23dof.xml``
- H1: the same, ``unitree_robots/h1/h1.xml``; H1-2: ``unitree_robots/h1_2/h1_2_handless.xml``
- SOMA-23: NVlabs/ProtoMotions, ``protomotions/data/assets/mjcf/soma23_humanoid.xml``

The joints of the right side are those of the left with the ranges of roll and yaw mirrored.
MuJoCo lists joints depth first; PhysX (Isaac Lab) lists them breadth first, level by level below
the root, the order within a level being the same.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from motionkit import rotation

Array = np.ndarray

Limits = tuple[float, float]
Step = tuple[str, str, float]

RANGE_SLACK = 0.1
"""Excess over a joint's range [rad] up to which it may be another revision's; a note says so."""
ROUNDING = 1e-3
"""Excess over a joint's range [rad] that the digits of a file explain; nothing is said."""


@dataclass(frozen=True)
class Layout:
    """A robot's joints in MuJoCo's order, below a free root."""

    robot: str
    """Name of the robot."""
    joints: tuple[str, ...]
    """Names (n)."""
    limits: tuple[Limits, ...]
    """Ranges [rad] (n)."""
    depth: tuple[int, ...]
    """Number of joints between each joint and the root (n)."""
    legs: tuple[tuple[Step, ...], tuple[Step, ...]]
    """Turns from root to each foot: joint, or empty for a fixed one; axis; fixed angle [rad]."""

    @cached_property
    def breadth_first(self) -> tuple[str, ...]:
        """The names in PhysX's order."""
        return tuple(name for _, name in sorted(zip(self.depth, self.joints, strict=True),
                                                key=lambda pair: pair[0]))  # fmt: skip

    def excess(self, names: tuple[str, ...], angles: Float[Array, "T n"]) -> Float[Array, "T n"]:
        """By how much each angle is outside its joint's range [rad]; negative inside."""
        table = dict(zip(self.joints, self.limits, strict=True))
        low, high = np.array([table[name] for name in names]).T
        return np.maximum(low - angles, angles - high)

    def foot_tilt(
        self, root: Float[Array, "T 4"], angles: Float[Array, "T n"]
    ) -> Float[Array, "T"]:
        """Angle [rad] between vertical and the normal of the flatter sole, angles as ``joints``."""
        tilts = []
        for leg in self.legs:
            quat = root
            for joint, axis, fixed in leg:
                turn = angles[:, self.joints.index(joint)] if joint else np.full(len(root), fixed)
                quat = rotation.multiply(quat, rotation.from_axis_angle(axis, turn))  # pyright: ignore[reportArgumentType]
            up = rotation.rotate(quat, np.array([0.0, 0.0, 1.0]))[:, 2]
            tilts.append(np.arccos(np.clip(up, -1.0, 1.0)))
        return np.min(tilts, axis=0)


_Chain = tuple[int, str, tuple[tuple[str, float, float], ...]]


def _layout(robot: str, chains: tuple[_Chain, ...], leg: tuple[Step, ...]) -> Layout:
    """A layout from chains: depth of the first joint, side, joints with ranges."""
    names, limits, depth = [], [], []
    for first, side, joints in chains:
        for i, (joint, low, high) in enumerate(joints):
            is_mirrored = side == "right_" and joint.endswith(("_roll", "_yaw"))
            names.append(f"{side}{joint}_joint")
            limits.append((-high, -low) if is_mirrored else (low, high))
            depth.append(first + i)
    sides = tuple(
        tuple((f"{side}_{joint}_joint" if joint else "", axis, fixed) for joint, axis, fixed in leg)
        for side in ("left", "right")
    )
    return Layout(robot, tuple(names), tuple(limits), tuple(depth), (sides[0], sides[1]))


_G1_LEG = (
    ("hip_pitch", -2.5307, 2.8798), ("hip_roll", -0.5236, 2.9671), ("hip_yaw", -2.7576, 2.7576),
    ("knee", -0.087267, 2.8798), ("ankle_pitch", -0.87267, 0.5236), ("ankle_roll", -0.2618, 0.2618),
)  # fmt: skip
_G1_WAIST = (
    ("waist_yaw", -2.618, 2.618),
    ("waist_roll", -0.52, 0.52),
    ("waist_pitch", -0.52, 0.52),
)
_G1_ARM = (
    ("shoulder_pitch", -3.0892, 2.6704), ("shoulder_roll", -1.5882, 2.2515),
    ("shoulder_yaw", -2.618, 2.618), ("elbow", -1.0472, 2.0944), ("wrist_roll", -1.97222, 1.97222),
)  # fmt: skip
_G1_HAND = (("wrist_pitch", -1.61443, 1.61443), ("wrist_yaw", -1.61443, 1.61443))
_G1_TILT = 2.0 * float(np.arcsin(0.0873386))  # [rad], of the hip roll axis, undone at the knee
_G1_STEPS = (
    ("hip_pitch", "Y", 0.0), ("", "Y", -_G1_TILT), ("hip_roll", "X", 0.0), ("hip_yaw", "Z", 0.0),
    ("", "Y", _G1_TILT), ("knee", "Y", 0.0), ("ankle_pitch", "Y", 0.0), ("ankle_roll", "X", 0.0),
)  # fmt: skip
_H1_LEG = (
    ("hip_yaw", -0.43, 0.43), ("hip_roll", -0.43, 0.43), ("hip_pitch", -3.14, 2.53),
    ("knee", -0.26, 2.05), ("ankle", -0.87, 0.52),
)  # fmt: skip
_H1_ARM = (
    ("shoulder_pitch", -2.87, 2.87), ("shoulder_roll", -0.34, 3.11), ("shoulder_yaw", -1.3, 4.45),
    ("elbow", -1.25, 2.61),
)  # fmt: skip
_H1_STEPS = (("hip_yaw", "Z", 0.0), ("hip_roll", "X", 0.0), ("hip_pitch", "Y", 0.0),
             ("knee", "Y", 0.0), ("ankle", "Y", 0.0))  # fmt: skip
_TORSO = (("torso", -2.35, 2.35),)
_H1_2_LEG = (
    ("hip_yaw", -0.43, 0.43), ("hip_pitch", -3.14, 2.5), ("hip_roll", -0.43, 3.14),
    ("knee", -0.12, 2.19), ("ankle_pitch", -0.897334, 0.523598),
    ("ankle_roll", -0.261799, 0.261799),
)  # fmt: skip
_H1_2_ARM = (
    ("shoulder_pitch", -3.14, 1.57), ("shoulder_roll", -0.38, 3.4), ("shoulder_yaw", -2.66, 3.01),
    ("elbow", -0.95, 3.18), ("wrist_roll", -3.01, 2.75), ("wrist_pitch", -0.4625, 0.4625),
    ("wrist_yaw", -1.27, 1.27),
)  # fmt: skip
_H1_2_STEPS = (("hip_yaw", "Z", 0.0), ("hip_pitch", "Y", 0.0), ("hip_roll", "X", 0.0),
               ("knee", "Y", 0.0), ("ankle_pitch", "Y", 0.0), ("ankle_roll", "X", 0.0))  # fmt: skip

LAYOUTS: tuple[Layout, ...] = (
    _layout("unitree_g1", (
        (0, "left_", _G1_LEG), (0, "right_", _G1_LEG), (0, "", _G1_WAIST),
        (3, "left_", _G1_ARM + _G1_HAND), (3, "right_", _G1_ARM + _G1_HAND),
    ), _G1_STEPS),
    _layout("unitree_g1_23dof", (
        (0, "left_", _G1_LEG), (0, "right_", _G1_LEG), (0, "", _G1_WAIST[:1]),
        (1, "left_", _G1_ARM), (1, "right_", _G1_ARM),
    ), _G1_STEPS),
    _layout("unitree_h1_2", (
        (0, "left_", _H1_2_LEG), (0, "right_", _H1_2_LEG), (0, "", _TORSO),
        (1, "left_", _H1_2_ARM), (1, "right_", _H1_2_ARM),
    ), _H1_2_STEPS),
    _layout("unitree_h1", (
        (0, "left_", _H1_LEG), (0, "right_", _H1_LEG), (0, "", _TORSO),
        (1, "left_", _H1_ARM), (1, "right_", _H1_ARM),
    ), _H1_STEPS),
)  # fmt: skip
"""Known robots; no two of them have the same number of joints."""

SOMA23_BODIES: tuple[str, ...] = (
    "Hips", "Spine1", "Spine2", "Chest", "Neck1", "Neck2", "Head",
    *(f"{side}{part}" for side in ("Right", "Left")
      for part in ("Shoulder", "Arm", "ForeArm", "Hand")),
    *(f"{side}{part}" for side in ("Right", "Left")
      for part in ("Leg", "Shin", "Foot", "ToeBase")),
)  # fmt: skip
"""Bodies of ProtoMotions' SOMA-23 humanoid, root first. Each but the root turns about hinges
``_x``, ``_y``, ``_z`` in this order, along the body's own axes; the x axis of bodies of the left
side points along -X."""


def layout_by_width(width: int) -> Layout | None:
    """The known robot with that many joints."""
    return next((layout for layout in LAYOUTS if len(layout.joints) == width), None)


def layout_by_names(names: tuple[str, ...]) -> Layout | None:
    """The known robot with exactly these joints, in any order."""
    return next((layout for layout in LAYOUTS if sorted(layout.joints) == sorted(names)), None)
