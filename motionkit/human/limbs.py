"""Legs, feet, arms and hands: the frames of their joints in the T-pose."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS
from motionkit.errors import InputError
from motionkit.human.frames import (
    Calibration,
    X,
    Y,
    Z,
    axis_of,
    fix,
    stand_on_part_above,
    swing,
    unit,
    zero_bone,
)
from motionkit.human.hinge import Hinge, find_hinge
from motionkit.human.source import Source, index, standing_frames

Array = np.ndarray

_LEG_SPREAD = np.cos(np.radians(40.0))  # of a hanging leg from straight down
_ARM_SIDEWAYS = np.sin(np.radians(30.0))  # of an arm from the frontal plane
_COLLAR_SIDEWAYS = 0.5  # least share of a collar that points sideways in a standing zero pose
_STRAIGHT = np.cos(np.radians(30.0))  # of a limb that is straight in the zero pose
_FINGER_STRAIGHT = np.cos(np.radians(60.0))  # the same for a finger on its hand
_FOOT_FORWARD = 0.3  # least share of a foot that points forward in a standing zero pose
_SAME_AXIS = np.cos(np.radians(45.0))  # axes of a tidy rig this near are one
_SAME_HAND = np.radians(30.0)  # between a zero pose's hand and its knuckles, within which it holds
_PLAIN = 0.9  # share of bends that agree on a side, from which a forearm shows its own axis
_DEFAULT_PITCH = np.radians(22.0)  # of a foot that never stands: of the embedded body


def limb_rests(
    source: Source, out: Calibration, part: tuple[str, str]
) -> dict[str, Float[Array, "4"] | None]:
    """By side, the frame of a thigh or upper arm swung onto the T-pose from the zero pose.

    None unless both limbs hang in it or both arms reach out: a rig with mirrored frames may show
    one limb up and one down.
    """
    out_of_reach: dict[str, Float[Array, "4"] | None] = {"left": None, "right": None}
    if not out.has_standing_trunk:
        return out_of_reach
    rests: dict[str, Float[Array, "4"] | None] = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        bone = zero_bone(source, f"{side}_{part[0]}", f"{side}_{part[1]}")
        if bone is None:
            return out_of_reach
        turned = rotation.rotate(out["pelvis"], bone)
        if part[0] == "hip":
            along, stands = -Z, turned @ -Z >= _LEG_SPREAD
        else:
            along = sign * Y
            stands = max(turned[2], -sign * turned[1], abs(turned[0])) <= _ARM_SIDEWAYS
        if not stands:
            return out_of_reach
        rests[side] = rotation.multiply(rotation.between(turned, along), out["pelvis"])
    return rests


def calibrate_leg(
    source: Source, out: Calibration, side: str, rest: Float[Array, "4"] | None
) -> None:
    """Hip and knee."""
    hip, knee, ankle = (f"{side}_{part}" for part in ("hip", "knee", "ankle"))
    hinge = find_hinge(source, hip, knee, ankle) or _knee_by_foot(source, side)
    _upper_bone(source, out, (hip, knee), (-Z, Y), rest, hinge)
    _lower_bone(source, out, (hip, knee, ankle), (-Z, Y), rest, hinge)


def _knee_by_foot(source: Source, side: str) -> Hinge | None:
    """The axis of a knee that never bends: square to shank and foot, which points forward."""
    hip, knee, ankle, foot = (f"{side}_{part}" for part in ("hip", "knee", "ankle", "foot"))
    if not source.present[index(foot)]:
        return None
    axis = find_hinge(source, knee, ankle, foot, frames=(hip, knee))
    return None if axis is None else replace(axis.flipped(), is_exact=False)


def calibrate_arm(
    source: Source, out: Calibration, side: str, rest: Float[Array, "4"] | None
) -> None:
    """Shoulder, elbow and wrist."""
    sign = 1.0 if side == "left" else -1.0
    shoulder, elbow, wrist = (f"{side}_{part}" for part in ("shoulder", "elbow", "wrist"))
    hinge = find_hinge(source, shoulder, elbow, wrist)
    directions = (sign * Y, -sign * Z)
    _upper_bone(source, out, (shoulder, elbow), directions, rest, hinge)
    _lower_bone(source, out, (shoulder, elbow, wrist), directions, rest, hinge)
    # The hand hangs on the zero pose, not on the hinge: a palm that faces down in it does so in
    # the T-pose, whichever way the rig's elbow bends.
    hand_rest = None
    if rest is not None and _is_straight(source, out, (shoulder, elbow, wrist)):
        fore = zero_bone(source, elbow, wrist)
        assert fore is not None
        hand_rest = swing(rest, fore, sign * Y)
    _hand(source, out, side, sign, hand_rest)


def _upper_bone(
    source: Source, out: Calibration, roles: tuple[str, str],
    directions: tuple[Float[Array, "3"], Float[Array, "3"]],
    rest: Float[Array, "4"] | None, hinge: Hinge | None,
) -> None:  # fmt: skip
    """Thigh or upper arm: by the rig's hinge, the zero pose, the motion, the part above."""
    near, far = roles
    along, axis = directions
    bone = _limb(source, near, far)
    if rest is not None and hinge is not None:
        agrees = rotation.rotate(rest, hinge.upper) @ axis
        if not hinge.is_exact:
            hinge = None
        elif agrees < 0.0:  # a knee or elbow that only overextends
            hinge = hinge.flipped()
    if hinge is not None:
        seen = hinge.upper if hinge.is_exact else source.snap(hinge.upper)
        out[near] = fix(bone, along, seen, axis)
        if rest is None:
            out.from_motion.append(near)
    elif rest is not None:
        out[near] = swing(rest, bone, along)
    else:
        out.unseen.append(far)
        above = source.above(near)
        if out.has_standing_trunk and (zero := _folded(source, out, near, far, along)) is not None:
            out[near] = swing(zero, bone, along)
        else:
            out[near] = fix(bone, along, axis_of(source, out, above, near, axis), axis)


def _limb(source: Source, near: str, far: str) -> Float[Array, "3"]:
    bone = source.bone(near, far)
    if bone is None:
        raise InputError(
            f"{near} and {far} are one point",
            where=source.name,
            help="a limb without length shows no direction; check the roles",
        )
    return bone


def _folded(
    source: Source, out: Calibration, near: str, far: str, along: Float[Array, "3"]
) -> Float[Array, "4"] | None:
    """The frame of a limb that the zero pose folds up in the frontal plane, e.g. along the trunk.

    It is turned onto the T-pose about the forward axis.
    """
    bone = zero_bone(source, near, far)
    if bone is None:
        return None
    turned = rotation.rotate(out["pelvis"], bone)
    if abs(turned[0]) > _ARM_SIDEWAYS:
        return None
    angle = np.arctan2(along[2], along[1]) - np.arctan2(turned[2], turned[1])
    return rotation.multiply(rotation.from_rotvec(angle * X), out["pelvis"])


def _lower_bone(
    source: Source, out: Calibration, roles: tuple[str, str, str],
    directions: tuple[Float[Array, "3"], Float[Array, "3"]],
    rest: Float[Array, "4"] | None, hinge: Hinge | None,
) -> None:  # fmt: skip
    """Shank or forearm: with the bone above where the zero pose is straight, else by its hinge."""
    near, far, end = roles
    along, axis = directions
    bone = _limb(source, far, end)
    own = None if hinge is None else source.snap(hinge.lower)
    if _is_straight(source, out, roles):
        out[far] = swing(out[near], bone, along)
        if rest is not None or hinge is None or own is None or hinge.share < _PLAIN:
            return
        if not source.is_tidy or rotation.rotate(out[far], own) @ axis > _SAME_AXIS:
            return
    if own is not None:
        out[far] = fix(bone, along, own, axis)
    else:
        out[far] = fix(bone, along, axis_of(source, out, near, far, axis), axis)


def calibrate_foot(source: Source, out: Calibration, side: str, pitch: float | None) -> None:
    """Ankle and toe base, in the zero pose or flat in the T-pose.

    Args:
        source: the motion.
        out: what has been found, legs included; added to.
        side: ``left`` or ``right``.
        pitch: how far the line from ankle to toe base falls below the sole's plane [rad].
    """
    knee, ankle, foot = (f"{side}_{part}" for part in ("knee", "ankle", "foot"))
    bone = source.bone(ankle, foot)
    leg = _standing_leg(source, out, side)
    if leg is not None:
        toe = source.tips.get(ankle) if bone is None else bone
        out[ankle] = leg if toe is None else _standing_foot(out, leg, toe)
    if leg is None or (bone is not None and not _points_forward(out, ankle, bone)):
        if bone is None:
            stand_on_part_above(source, out, ankle)
        else:
            fall = _DEFAULT_PITCH if pitch is None else pitch
            flat = np.array([np.cos(fall), 0.0, -np.sin(fall)])
            out[ankle] = fix(bone, flat, source.snap(axis_of(source, out, knee, ankle, Y)), Y)
        leg = None
    if source.present[index(foot)]:
        if leg is not None:
            out[foot] = out[ankle]
        else:
            stand_on_part_above(source, out, foot, standing_frames(source, side))


def _standing_leg(source: Source, out: Calibration, side: str) -> Float[Array, "4"] | None:
    """The frame of a leg that hangs in the zero pose, swung about the hip as one piece."""
    leg = unit(source.zero[index(f"{side}_ankle")] - source.zero[index(f"{side}_hip")])
    if not out.has_standing_trunk or leg is None:
        return None
    turned = rotation.rotate(out["pelvis"], leg)
    if turned @ -Z < _LEG_SPREAD:
        return None
    return rotation.multiply(rotation.between(turned, -Z), out["pelvis"])


def _standing_foot(
    out: Calibration, leg: Float[Array, "4"], toe: Float[Array, "3"]
) -> Float[Array, "4"]:
    """A foot as the zero pose has it, pointing forward.

    A rig whose legs stand apart may have its feet flat, or turned with the legs. The foot points
    forward in one of the two, before or after the leg has been swung; that one is meant.
    """

    def heading(frame: Float[Array, "4"]) -> float:
        x, y, _ = rotation.rotate(frame, toe)
        return float(np.arctan2(y, x))

    best = min((out["pelvis"], leg), key=lambda frame: abs(heading(frame)))
    x, y, _ = rotation.rotate(best, toe)
    if np.hypot(x, y) < _FOOT_FORWARD * np.linalg.norm(toe) or x < 0.0:
        return leg
    return rotation.multiply(rotation.from_rotvec(-heading(best) * Z), best)


def _points_forward(out: Calibration, ankle: str, bone: Float[Array, "3"]) -> bool:
    turned = rotation.rotate(out[ankle], bone)
    return bool(turned[0] >= _FOOT_FORWARD * np.linalg.norm(bone))


def calibrate_collar(source: Source, out: Calibration, side: str) -> None:
    """The collar bone points sideways; it turns as the trunk does, on average."""
    collar, shoulder = f"{side}_collar", f"{side}_shoulder"
    if not source.present[index(collar)]:
        return
    sideways = Y if side == "left" else -Y
    bone = source.bone(collar, shoulder)
    if bone is not None and out.has_standing_trunk:
        turned = rotation.rotate(out["pelvis"], bone / np.linalg.norm(bone))
        if turned @ sideways >= _COLLAR_SIDEWAYS:
            out[collar] = out["pelvis"]
            return
    if bone is None:
        stand_on_part_above(source, out, collar)
    else:
        forward = source.snap(axis_of(source, out, source.above(collar), collar, X))
        out[collar] = fix(bone, sideways, forward, X)


def _hand(
    source: Source, out: Calibration, side: str, sign: float, rest: Float[Array, "4"] | None
) -> None:
    """As in the zero pose, or palm down on average, unless the knuckles say otherwise."""
    elbow, wrist = f"{side}_elbow", f"{side}_wrist"
    if rest is not None:
        out[wrist] = rest
    elif source.is_tidy:
        along = source.snap(axis_of(source, out, elbow, wrist, sign * Y))
        out[wrist] = fix(along, sign * Y, axis_of(source, out, elbow, wrist, Z), Z)
    else:
        stand_on_part_above(source, out, wrist)
    first, last = (source.bone(wrist, f"{side}_{finger}1") for finger in ("index", "pinky"))
    if first is None or last is None:
        return
    middle = source.bone(wrist, f"{side}_middle1")
    by_knuckles = fix(first + last if middle is None else middle, sign * Y, first - last, X)
    if rotation.angle_between(by_knuckles[None], out[wrist])[0] > _SAME_HAND:
        out[wrist] = by_knuckles


def calibrate_fingers(source: Source, out: Calibration, side: str) -> None:
    """Fingers that continue the hand in the zero pose are straight in it; others on average."""
    wrist = f"{side}_wrist"
    for role in SMPLH_JOINTS[22:]:
        if not role.startswith(side) or not source.present[index(role)]:
            continue
        first = f"{role[:-1]}1"
        hand = zero_bone(source, wrist, first)
        finger = zero_bone(source, first, f"{role[:-1]}2")
        is_meant = source.is_tidy or out.has_standing_trunk
        if is_meant and hand is not None and (finger is None or hand @ finger >= _FINGER_STRAIGHT):
            out[role] = out[wrist]
        else:
            stand_on_part_above(source, out, role)


def _is_straight(source: Source, out: Calibration, roles: tuple[str, str, str]) -> bool:
    """Whether a limb is straight in a zero pose that means something."""
    if not (source.is_tidy or out.has_standing_trunk):
        return False
    near, far, end = roles
    upper, lower = zero_bone(source, near, far), zero_bone(source, far, end)
    return upper is not None and lower is not None and bool(upper @ lower >= _STRAIGHT)
