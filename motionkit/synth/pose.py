"""From a plan to the 52 joints: legs by closed-form kinematics, the rest by angles."""

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS
from motionkit.human.body import Body
from motionkit.human.skeleton import forward
from motionkit.synth.legs import solve_leg
from motionkit.synth.plan import SIDES, ArmPlan, FootPlan, Plan, leftward, turned

Array = np.ndarray

_SHRUG_SHARE = 0.15  # of an arm's spread above the horizontal and swing, taken by the collar


def pose_body(plan: Plan, body: Body) -> tuple[Float[Array, "T 52 3"], Float[Array, "T 52 4"]]:
    """World positions [m] and orientations of all joints; bones keep their length exactly."""
    trunk = plan.trunk
    pelvis = turned(trunk.heading, trunk.pelvis)
    chest = turned(trunk.heading, trunk.chest)
    head = turned(trunk.heading, trunk.head)
    quat = {
        "pelvis": pelvis,
        "spine1": _part_way(pelvis, chest, 1 / 3),
        "spine2": _part_way(pelvis, chest, 2 / 3),
        "spine3": chest,
        "neck": _part_way(chest, head, 0.5),
        "head": head,
    }
    for (side, sign), foot, arm in zip(SIDES, plan.feet, plan.arms, strict=True):
        quat |= _leg(plan, pelvis, foot, body, side)
        quat |= _arm(chest, arm, side, sign)
    turn = np.empty((len(pelvis), len(SMPLH_JOINTS), 4))
    for j, (name, parent) in enumerate(zip(SMPLH_JOINTS, SMPLH_PARENTS, strict=True)):
        turn[:, j] = quat[name] if name in quat else turn[:, parent]
    root = trunk.hips_w - rotation.rotate(pelvis, hips_centre(body))
    return forward(body.rest_pos, root, turn), rotation.unroll(turn)


def hips_centre(body: Body) -> Float[Array, "3"]:
    """Midpoint of the hip joints from the pelvis joint, in the T-pose [m]."""
    return 0.5 * (
        rest_offset(body, "pelvis", "left_hip") + rest_offset(body, "pelvis", "right_hip")
    )


def rest_offset(body: Body, start: str, stop: str) -> Float[Array, "3"]:
    """From one joint to another in the T-pose [m]."""
    return body.rest_pos[SMPLH_JOINTS.index(stop)] - body.rest_pos[SMPLH_JOINTS.index(start)]


def hip_pos(plan: Plan, body: Body, side: str) -> Float[Array, "T 3"]:
    """Where a hip joint is [m]."""
    pelvis = turned(plan.trunk.heading, plan.trunk.pelvis)
    offset = rest_offset(body, "pelvis", f"{side}_hip") - hips_centre(body)
    return plan.trunk.hips_w + rotation.rotate(pelvis, offset)


def _leg(
    plan: Plan, pelvis: Float[Array, "T 4"], foot: FootPlan, body: Body, side: str
) -> dict[str, Array]:
    faces = plan.trunk.heading + plan.trunk.pelvis[:, 0]
    thigh, knee = solve_leg(
        foot.ankle_w - hip_pos(plan, body, side),
        leftward(0.5 * (faces + foot.yaw)),  # the leg's turn is shared by hip and ankle
        rest_offset(body, f"{side}_hip", f"{side}_knee"),
        rest_offset(body, f"{side}_knee", f"{side}_ankle"),
    )
    turn = rotation.from_axis_angle("Z", foot.yaw)
    return {
        f"{side}_hip": thigh,
        f"{side}_knee": rotation.multiply(thigh, rotation.from_axis_angle("Y", knee)),
        f"{side}_ankle": rotation.multiply(turn, rotation.from_axis_angle("Y", foot.pitch)),
        f"{side}_foot": rotation.multiply(turn, rotation.from_axis_angle("Y", foot.toe_pitch)),
    }


def _arm(chest: Float[Array, "T 4"], arm: ArmPlan, side: str, sign: float) -> dict[str, Array]:
    shrug = _SHRUG_SHARE * (arm.spread - 0.5 * np.pi)  # none in the T-pose
    collar = rotation.multiply(chest, rotation.from_axis_angle("X", 0.5 * sign * shrug))
    upper = rotation.from_axis_angle("Y", -arm.swing)
    upper = rotation.multiply(
        upper, rotation.from_axis_angle("X", sign * (arm.spread - 0.5 * np.pi))
    )
    upper = rotation.multiply(upper, rotation.from_axis_angle("Y", arm.turn))
    upper = rotation.multiply(chest, upper)
    lower = rotation.multiply(upper, rotation.from_axis_angle("Z", -sign * arm.elbow))
    return {
        f"{side}_collar": collar,
        f"{side}_shoulder": upper,
        f"{side}_elbow": lower,
        f"{side}_wrist": lower,
    }


def _part_way(a: Float[Array, "T 4"], b: Float[Array, "T 4"], share: float) -> Float[Array, "T 4"]:
    return rotation.slerp(a, b, np.full(len(a), share))
