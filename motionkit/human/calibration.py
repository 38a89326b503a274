"""How each joint of a source stands to the T-pose.

A source's joint ``i`` turns by ``Q_i(t)``, joint frame to world. Its frames may point anywhere:
files differ in rest pose, and some have none. What is wanted is ``R_i(t)``, the identity in the
T-pose facing +X. The two differ by one constant a joint, the orientation ``A_i`` of the joint's
frame in the T-pose (local to T-pose axes)::

    R_i(t) = Q_i(t) A_i*

``A_i`` is fixed by two directions known in the joint's frame and in the T-pose: a bone, exactly,
and an axis that settles the turn about it. Evidence, part by part, best first:

1. **Hinge of the rig.** A knee or elbow that bends about one line and no other (to 0.8°) is a
   hinge of the rig, and its axis is the anatomical one, whatever the zero pose looks like.
2. **Zero pose.** Where the zero pose shows the trunk, its axes hold for trunk and head. A leg that
   hangs in it or an arm that hangs or reaches out is swung onto the T-pose by the shortest
   rotation: an A-pose becomes a T-pose. Where a limb is straight in the zero pose, its lower joints
   turn with its upper one.
3. **Motion.** The mean bending axis of a knee or elbow, weighted by the bend; for hands the line
   of the knuckles; for the pelvis the hips. In a rig whose bones lie along axes of their frames a
   measured axis within 40° of one of them is taken for that one, so that no cut of the clip
   changes it.
4. **Neutral stance.** What is left is taken to be aligned with the part above on average.

Once per clip; linear in its frames.
"""

from itertools import pairwise

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.human.frames import (
    Calibration,
    Y,
    Z,
    axis_of,
    fix,
    stand_on_part_above,
    unit,
)
from motionkit.human.limbs import (
    calibrate_arm,
    calibrate_collar,
    calibrate_fingers,
    calibrate_foot,
    calibrate_leg,
    limb_rests,
)
from motionkit.human.source import Source, index, mean_rotation

Array = np.ndarray

_TRUNK = ("pelvis", "spine1", "spine2", "spine3", "neck", "head")
_TRUNK_BEND = np.cos(np.radians(50.0))  # of a bone of a standing trunk from its line
_TRUNK_SHARE = 0.15  # of the trunk's line, below which a bone may point anywhere
_SQUARE = np.sin(np.radians(15.0))  # of hips from square to the trunk
_FACES_ALONG = np.cos(np.radians(45.0))  # mean of the shoulders' line to the zero pose's
_AXIS_NEAR = np.cos(np.radians(20.0))  # a trunk this near to an axis of the file stands along it
_MEAN_BEND = np.radians(80.0)  # of a part of the trunk on the pelvis, on average over the motion
_VERTICAL_BONE = 0.02  # [m], above which a bone of the spine shows the way up


def calibrate(source: Source, foot_pitch: float | None) -> Calibration:
    """Orientation of every joint's frame in the T-pose.

    Args:
        source: the motion.
        foot_pitch: how far the line from ankle to toe base falls below the sole's plane
            [rad]; None where the motion does not show it.
    """
    out = Calibration(np.tile(rotation.IDENTITY, (52, 1)))
    _trunk(source, out)
    legs = limb_rests(source, out, ("hip", "knee"))
    arms = limb_rests(source, out, ("shoulder", "elbow"))
    for side in ("left", "right"):
        calibrate_leg(source, out, side, legs[side])
        calibrate_foot(source, out, side, foot_pitch)
        calibrate_collar(source, out, side)
        calibrate_arm(source, out, side, arms[side])
        calibrate_fingers(source, out, side)
    return out


def _trunk(source: Source, out: Calibration) -> None:
    present = [role for role in _TRUNK if source.present[index(role)]]
    axes = _standing_axes(source, present)
    if axes is not None:
        out.has_standing_trunk = True
        for role in present:
            out[role] = axes
        return
    out.from_motion.append("trunk")
    out["pelvis"] = _pelvis_by_motion(source, present[1])
    for role, higher in zip(present[1:], [*present[2:], None], strict=True):
        bone = None if higher is None else source.bone(role, higher)
        if bone is None or np.linalg.norm(bone) < _VERTICAL_BONE:
            stand_on_part_above(source, out, role)
            continue
        if role == "spine3":
            left = _mean_across(source, role, "shoulder")
        else:
            left = axis_of(source, out, source.above(role), role, Y)
        out[role] = fix(source.snap(bone), Z, source.snap(left), Y)


def _pelvis_by_motion(source: Source, higher: str) -> Float[Array, "4"]:
    """Left along the hips; up along the first bone of the spine, or the mean line to the head."""
    line = np.mean(source.in_frame("pelvis", source.pos[:, index("head")] - source.pos[:, 0]), 0)
    bone = source.bone("pelvis", higher)
    if bone is None or np.linalg.norm(bone) < _VERTICAL_BONE or _cosine(bone, line) < _TRUNK_BEND:
        bone = line
    left = source.snap(_mean_across(source, "pelvis", "hip"))
    return fix(left, Y, source.snap(bone), Z)


def _mean_across(source: Source, role: str, part: str) -> Float[Array, "3"]:
    """Mean of the line from the right to the left of a pair, in a role's frame [m]."""
    across = source.pos[:, index(f"left_{part}")] - source.pos[:, index(f"right_{part}")]
    return np.mean(source.in_frame(role, across), axis=0)


def _cosine(a: Float[Array, "3"], b: Float[Array, "3"]) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def _standing_axes(source: Source, present: list[str]) -> Float[Array, "4"] | None:
    """Rotation from the axes of the zero pose to the T-pose's, if it shows an upright trunk."""
    zero = {role: source.zero[index(role)] for role in present}
    line = unit(zero[present[-1]] - zero["pelvis"])
    left = unit(source.zero[index("left_hip")] - source.zero[index("right_hip")])
    if line is None or left is None or abs(line @ left) > _SQUARE:
        return None
    for low, high in pairwise(present):
        bone = zero[high] - zero[low]
        size = np.linalg.norm(bone)
        is_long = size > _TRUNK_SHARE * np.linalg.norm(zero[present[-1]] - zero["pelvis"])
        if is_long and bone @ line < _TRUNK_BEND * size:
            return None
    up, left = _nearest_axis(line), _nearest_axis(left)
    left = unit(left - up * (left @ up))
    assert left is not None
    chest = present[-1] if "spine3" not in present else "spine3"
    shoulders = unit(_mean_across(source, chest, "shoulder"))
    if shoulders is None or shoulders @ left < _FACES_ALONG:
        return None
    if any(_mean_bend(source, role) > _MEAN_BEND for role in present[1:]):
        return None
    return rotation.from_matrix(np.stack([np.cross(left, up), left, up]))


def _mean_bend(source: Source, role: str) -> float:
    """Angle of the mean rotation of a part of the trunk on the pelvis [rad]."""
    above = rotation.conjugate(source.quat[:, index("pelvis")])
    mean = mean_rotation(rotation.multiply(above, source.quat[:, index(role)]))
    return float(np.linalg.norm(rotation.to_rotvec(mean)))


def _nearest_axis(direction: Float[Array, "3"]) -> Float[Array, "3"]:
    """The axis of the file that a unit vector is near to; itself where there is none."""
    best = int(np.argmax(np.abs(direction)))
    if abs(direction[best]) < _AXIS_NEAR:
        return direction
    return np.sign(direction[best]) * np.eye(3)[best]
