"""Motions over planted feet: squats, and arms that move.

Sums of sinusoids and of C² steps in continuous time. The squat's pace and depth follow Escamilla,
"Knee biomechanics of the dynamic squat exercise", MSSE 33 (2001): about 90 to 110 degrees of knee
flexion; how far the trunk leans follows from balance over the feet.
"""

import numpy as np
from jaxtyping import Float

from motionkit.human.body import Body
from motionkit.synth.curves import step
from motionkit.synth.legs import leg_length
from motionkit.synth.plan import SIDES, ArmPlan, FootPlan, Plan, TrunkPlan
from motionkit.synth.pose import hip_pos, rest_offset

Array = np.ndarray

_KNEE = (0.09, 0.14)  # [rad] flexion of the knees when standing
_SHANK_SHARE = 0.33  # of the knee's flexion, by which the shank leans forward in a squat
_HIPS_AHEAD = 0.012  # [statures] of the hips before the ankles when standing


def plan_squat(time: Float[Array, "T"], rng: np.random.Generator, body: Body) -> Plan:
    """Squats, one after another, beginning upright."""
    period = rng.uniform(2.4, 3.4)  # [s]
    knee = rng.uniform(*_KNEE)
    deep = rng.uniform(1.55, 1.9)  # [rad] of knee flexion
    width, toe_out = rng.uniform(0.15, 0.18), rng.uniform(0.2, 0.35)
    raised = rng.uniform(1.2, 1.5)  # [rad] of the arms at the bottom, to balance
    down = 0.5 - 0.5 * np.cos(2.0 * np.pi * time / period)
    feet = _planted(len(time), body, width, toe_out)
    # Towards the bottom the hips go back by the part of the thigh that the shank does not bring
    # forward.
    thigh = rest_offset(body, "left_hip", "left_knee")
    shank = rest_offset(body, "left_knee", "left_ankle")
    forth = _SHANK_SHARE * deep
    back = np.linalg.norm(thigh) * np.sin(deep - forth) - np.linalg.norm(shank) * np.sin(forth)
    hips_x = _HIPS_AHEAD * body.stature * (1.0 - down) - back * down
    still = np.zeros_like(time)
    lean = 0.04 + rng.uniform(0.58, 0.68) * down
    trunk = TrunkPlan(
        hips_w=np.stack([hips_x, still, still], axis=-1),
        heading=still,
        pelvis=np.stack([still, 0.75 * lean, still], axis=-1),
        chest=np.stack([still, lean, still], axis=-1),
        head=np.stack([still, 0.25 * lean, still], axis=-1),
    )
    swing = raised * down + lean  # the arms are carried by the chest
    arms = tuple(ArmPlan(swing, 0.12 + still, 0.15 + still, 0.3 + still) for _ in SIDES)
    plan = Plan(trunk, feet, arms)  # pyright: ignore[reportArgumentType]
    trunk.hips_w[:, 2] = _height(plan, body, knee) * (1 - down) + _height(plan, body, deep) * down
    return plan


def plan_arms(time: Float[Array, "T"], rng: np.random.Generator, body: Body) -> Plan:
    """Arms raised sideways, swung fore and aft, and circled, in turn; feet planted."""
    knee = rng.uniform(*_KNEE)
    feet = _planted(len(time), body, rng.uniform(0.12, 0.15), rng.uniform(0.1, 0.2))
    still = np.zeros_like(time)
    sway = 2.0 * np.pi * rng.uniform(0.2, 0.3) * time + rng.uniform(0, 2 * np.pi)
    hips = np.stack(
        [
            (_HIPS_AHEAD + 0.002 * np.sin(0.7 * sway)) * body.stature,
            0.003 * body.stature * np.sin(sway),
            still,
        ],
        axis=-1,
    )
    chest_yaw = 0.08 * np.sin(0.5 * sway)
    trunk = TrunkPlan(
        hips_w=hips,
        heading=still,
        pelvis=np.stack([0.3 * chest_yaw, still, 0.01 * np.sin(sway)], axis=-1),
        chest=np.stack([chest_yaw, still, still], axis=-1),
        head=np.stack([-0.5 * chest_yaw, still, still], axis=-1),
    )
    plan = Plan(trunk, feet, _exercises(time, rng))
    hips[:, 2] = _height(plan, body, knee).min() - 0.002 * body.stature * (1 - np.cos(0.6 * sway))
    return plan


def _exercises(time: Float[Array, "T"], rng: np.random.Generator) -> tuple[ArmPlan, ArmPlan]:
    """Raise, swing, circle: each lasts a while, then the next fades in."""
    each = rng.uniform(2.6, 3.4)  # [s] of an exercise
    rate = 2.0 * np.pi / rng.uniform(1.3, 1.8)  # [rad/s]
    raise_to, swing_to, circle = rng.uniform(1.2, 1.6), rng.uniform(0.7, 0.9), rng.uniform(0.3, 0.4)
    share = [_turn(time, each, i) for i in range(3)]
    arms = []
    for _, sign in SIDES:
        wave = rate * time
        up = 0.5 - 0.5 * np.cos(wave)
        other = 0.5 * np.pi * (1.0 - sign)  # arms swing in opposition
        spread = (
            0.15
            + share[0] * raise_to * up
            + share[1] * 0.05
            + share[2] * (0.9 + circle * np.sin(wave))
        )
        swing = share[1] * swing_to * np.sin(wave + other) + share[2] * circle * np.cos(wave)
        elbow = 0.25 + share[0] * 0.25 * up + share[1] * 0.4 * (0.5 + 0.5 * np.sin(wave + other))
        arms.append(ArmPlan(swing, spread, 0.15 + 0.0 * time, elbow))
    return arms[0], arms[1]


def _turn(time: Float[Array, "T"], each: float, index: int) -> Float[Array, "T"]:
    """Share of one of three exercises that take turns, each fading in while another fades out."""
    fade = 1.0  # [s]
    since = np.mod(time - index * each, 3.0 * each)
    rising = step(since / fade)
    falling = step((since - each) / fade)
    return rising - falling


def _planted(frames: int, body: Body, width: float, toe_out: float) -> tuple[FootPlan, FootPlan]:
    """Both feet flat on the ground, ``width`` [statures] apart."""
    still = np.zeros(frames)
    always = np.ones(frames, dtype=bool)
    feet = []
    for _, sign in SIDES:
        place = np.array([0.0, 0.5 * sign * width * body.stature, body.ankle_height])
        feet.append(
            FootPlan(
                np.tile(place, (frames, 1)), still + sign * toe_out, still, still, always, always
            )
        )
    return feet[0], feet[1]


def _height(plan: Plan, body: Body, knee: float) -> Float[Array, "T"]:
    """Height of the hips [m] at which the straighter knee is flexed by ``knee``."""
    heights = []
    for (side, _), foot in zip(SIDES, plan.feet, strict=True):
        to_ankle = foot.ankle_w - hip_pos(plan, body, side)
        thigh = rest_offset(body, f"{side}_hip", f"{side}_knee")
        shank = rest_offset(body, f"{side}_knee", f"{side}_ankle")
        across = np.sum(to_ankle[:, :2] ** 2, axis=-1)
        drop = np.sqrt(leg_length(knee, thigh, shank) ** 2 - across)
        heights.append(plan.trunk.hips_w[:, 2] + to_ankle[:, 2] + drop)
    return np.min(heights, axis=0)
