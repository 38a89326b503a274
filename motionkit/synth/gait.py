"""Walking and running, straight or along an arc, with an exact account of the feet.

Everything is a function of the phase ``f`` of a foot's stride, 0 at its touchdown, ``duty`` at
its toe-off, 1 at the next touchdown. In stance the foot turns about fixed points of the ground:

    [0, flat)         about the back of the heel, from toes up to flat
    [flat, heel_off)  not at all
    [heel_off, duty)  about the toe base, whose toes stay flat

so ankle position follows from pitch alone. In swing the ankle's height hangs on the toe base's
(first half) and the heel's (second half), both of which leave and meet the ground with zero
speed and acceleration; its horizontal path is one quintic. All is C² in time.

Phases, angles and amplitudes: Perry and Burnfield, "Gait Analysis", 2nd ed.; Winter, "Biomechanics
and Motor Control of Human Movement"; running: Novacheck, "The biomechanics of running", Gait &
Posture 7 (1998). Values are rounded and the curves between them are ours.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit.human.body import Body
from motionkit.synth.config import REFERENCE_STATURE, SynthConfig
from motionkit.synth.curves import Knot, chain, quintic, step
from motionkit.synth.legs import leg_length
from motionkit.synth.plan import (
    HEEL_BACK,
    SIDES,
    ArmPlan,
    FootPlan,
    Plan,
    TrunkPlan,
    forward,
    leftward,
)
from motionkit.synth.pose import hip_pos, rest_offset

Array = np.ndarray

_GRAVITY = 9.81  # [m/s²]
_DENSE = 512  # samples a stride when the height of the pelvis is found
_PATH_LEAN = 1.0  # share of the lean that balances the centripetal acceleration
_TOES_BACK = 0.8  # of the swing, until the toes are in line with the foot again


@dataclass(frozen=True, slots=True)
class Style:
    """How one person walks or runs. Angles [rad], phases in strides."""

    speed: float
    """Along the path [m/s]."""
    turn_rate: float
    """Of the heading, to the left [rad/s]."""
    period: float
    """Of a stride, two steps [s]."""
    start: float
    """Phase of the left foot at time 0."""
    duty: float
    """Share of the stride that a foot is on the ground."""
    flat: float
    """Phase at which the foot has come down flat."""
    heel_off: float
    """Phase at which the heel rises."""
    under: float
    """Phase at which the foot is under the hips."""
    strike: float
    """Toes-up pitch at touchdown."""
    toe_off: float
    """Pitch when the toes leave the ground."""
    toe_off_rate: float
    """Its rate [rad per stride]."""
    middle: float
    """Pitch halfway through the swing."""
    middle_rate: float
    """Its rate [rad per stride]."""
    toe_lift: float
    """Height of the toe base over its rest halfway through the swing [statures]."""
    toe_lift_rate: float
    """Its rate [statures per stride]."""
    toe_out: float
    """Yaw of the planted foot from the path."""
    width: float
    """Between the feet [statures]."""
    knee: float
    """Flexion of the knee where it is straightest."""
    rise: float
    """Amplitude of the hips' height [m]."""
    rise_phase: float
    """Phase of the left foot at which the hips are lowest."""
    sway: float
    """Amplitude of the hips to the side [m]."""
    pelvis: tuple[float, float, float]
    """Amplitudes of the pelvis's yaw and roll, and its constant pitch."""
    chest: tuple[float, float, float]
    """The same of the chest."""
    hip_height: float
    """Of the standing person [m]: how far a lean moves the hips to the side."""
    arm: tuple[float, float, float]
    """Mean and amplitude of the arms' swing, and their spread."""
    elbow: tuple[float, float]
    """Mean and amplitude of the elbows' flexion."""


def walking(config: SynthConfig, rng: np.random.Generator) -> Style:
    """A walk: Perry's phases, step length over cadence 0.0064 m/(steps/min).

    The ratio is of Sekiya et al., "Optimal walking in terms of variability in step length",
    JOSPT 26 (1997).
    """
    pace = np.sqrt(config.stature / REFERENCE_STATURE)
    speed, turn_rate = _course(config, rng, preferred=(1.1, 1.35), pace=pace)
    ratio = 0.0064 * 60.0 * rng.uniform(0.95, 1.05) * pace**3  # a length times a time
    steps = np.sqrt(speed / ratio)  # a second
    duty = rng.uniform(0.595, 0.61)
    quick = speed / (1.3 * pace)
    return Style(
        speed, turn_rate, 2.0 / steps, rng.uniform(0, 1), duty,
        flat=rng.uniform(0.105, 0.116), heel_off=rng.uniform(0.33, 0.36), under=0.226,
        strike=rng.uniform(0.34, 0.40) * min(quick, 1.0),
        toe_off=rng.uniform(0.90, 0.97) * min(quick, 1.0) ** 0.5, toe_off_rate=7.0,
        middle=rng.uniform(0.45, 0.53), middle_rate=-4.3,
        toe_lift=rng.uniform(0.020, 0.024) + 0.01 * max(1.0 - quick, 0.0), toe_lift_rate=-0.04,
        toe_out=rng.uniform(0.08, 0.15), width=rng.uniform(0.05, 0.065),
        knee=rng.uniform(0.24, 0.27) + 0.7 * max(quick - 1.0, 0.0),
        rise=rng.uniform(0.016, 0.020) * quick * pace**2,
        rise_phase=0.04, sway=rng.uniform(0.017, 0.022) * pace**2,
        pelvis=(rng.uniform(0.06, 0.09), rng.uniform(0.05, 0.075), rng.uniform(0.02, 0.06)),
        chest=(rng.uniform(0.05, 0.09), rng.uniform(0.01, 0.02), rng.uniform(0.02, 0.06)),
        hip_height=0.53 * config.stature,
        arm=(rng.uniform(0.0, 0.05), rng.uniform(0.3, 0.4) * min(quick, 1.2),
             rng.uniform(0.10, 0.14)),
        elbow=(rng.uniform(0.4, 0.5), rng.uniform(0.15, 0.22)),
    )  # fmt: skip


def running(config: SynthConfig, rng: np.random.Generator) -> Style:
    """A run at 80 to 90 strides a minute that falls freely while neither foot is down.

    The stride rate is of Lieberman et al., "Effects of stride frequency and foot position at
    landing", J. Exp. Biol. 218 (2015).
    """
    pace = np.sqrt(config.stature / REFERENCE_STATURE)
    speed, turn_rate = _course(config, rng, preferred=(2.3, 2.7), pace=pace)
    period = 60.0 / rng.uniform(80.0, 90.0) * pace
    duty = rng.uniform(0.335, 0.35)
    bounce = _GRAVITY / (4.0 * np.pi / period) ** 2  # at its top the hips fall with gravity
    return Style(
        speed, turn_rate, period, rng.uniform(0, 1), duty,
        flat=0.092, heel_off=rng.uniform(0.20, 0.22), under=0.105,
        strike=rng.uniform(0.12, 0.16), toe_off=rng.uniform(0.58, 0.64), toe_off_rate=8.7,
        middle=rng.uniform(0.72, 0.80), middle_rate=-6.8,
        toe_lift=rng.uniform(0.064, 0.070), toe_lift_rate=-0.27,
        toe_out=rng.uniform(0.08, 0.15), width=rng.uniform(0.025, 0.035),
        knee=rng.uniform(0.38, 0.42) + 0.7 * max(speed / (2.5 * pace) - 1.0, 0.0),
        rise=rng.uniform(0.85, 0.95) * bounce,
        rise_phase=0.5 * duty + 0.04, sway=rng.uniform(0.008, 0.012) * pace**2,
        pelvis=(rng.uniform(0.06, 0.09), rng.uniform(0.06, 0.08), rng.uniform(0.12, 0.16)),
        chest=(rng.uniform(0.12, 0.17), rng.uniform(0.01, 0.03), rng.uniform(0.12, 0.16)),
        hip_height=0.53 * config.stature,
        arm=(rng.uniform(-0.15, -0.05), rng.uniform(0.5, 0.6), rng.uniform(0.18, 0.24)),
        elbow=(rng.uniform(1.5, 1.65), rng.uniform(0.15, 0.25)),
    )  # fmt: skip


def _course(
    config: SynthConfig, rng: np.random.Generator, preferred: tuple[float, float], pace: float
) -> tuple[float, float]:
    """Speed and turn rate; the generator is drawn from alike whatever the user fixes."""
    speed = rng.uniform(*preferred) * pace
    turn = rng.uniform(0.5, 0.7) * rng.choice([-1.0, 1.0])
    if config.kind == "turn":
        speed *= 0.8
    else:
        turn = 0.0
    return (
        float(speed if config.speed is None else config.speed),
        float(turn if config.turn_rate is None else config.turn_rate),
    )


def plan_gait(time: Float[Array, "T"], style: Style, body: Body) -> Plan:
    """The gait at the times [s] given; the person is at the origin facing +X at time 0."""
    reach = _plan(np.linspace(0.0, 2.0 * style.period, 2 * _DENSE), style, body, 0.0)
    height = np.inf
    for (side, _), foot in zip(SIDES, reach.feet, strict=True):
        to_ankle = foot.ankle_w - hip_pos(reach, body, side)
        thigh = rest_offset(body, f"{side}_hip", f"{side}_knee")
        shank = rest_offset(body, f"{side}_knee", f"{side}_ankle")
        length = leg_length(style.knee, thigh, shank)
        across = np.sum(to_ankle[:, :2] ** 2, axis=-1)
        height = min(height, float(np.min(np.sqrt(length**2 - across) + to_ankle[:, 2])))
    return _plan(time, style, body, height)


def _plan(time: Float[Array, "T"], style: Style, body: Body, height: float) -> Plan:
    phase = style.start + time / style.period
    feet = tuple(_foot(phase + (0.5 if sign < 0 else 0.0), style, body, sign) for _, sign in SIDES)
    arms = tuple(_arm(phase + (0.5 if sign < 0 else 0.0), style) for _, sign in SIDES)
    return Plan(_trunk(time, phase, style, height), feet, arms)  # pyright: ignore[reportArgumentType]


def _path(time: Float[Array, "*n"], style: Style) -> tuple[Array, Array]:
    """Position on the ground [m] and heading [rad] of the course at a time [s]."""
    half = 0.5 * style.turn_rate * time
    chord = style.speed * time * np.sinc(half / np.pi)
    return chord[..., None] * forward(half), 2.0 * half


def _wave(phase: Float[Array, "T"], peak: float, beats: int = 1) -> Float[Array, "T"]:
    """Cosine of the stride, highest at ``peak``."""
    return np.cos(2.0 * np.pi * beats * (phase - peak))


def _trunk(
    time: Float[Array, "T"], phase: Float[Array, "T"], style: Style, height: float
) -> TrunkPlan:
    ground, heading = _path(time, style)
    lean = _PATH_LEAN * np.arctan2(style.speed * style.turn_rate, _GRAVITY)
    side = style.sway * _wave(phase, 0.5 * style.duty) + style.hip_height * np.tan(lean)
    rise = -style.rise * _wave(phase, style.rise_phase, beats=2)
    hips = ground + side[:, None] * leftward(heading) + (height + rise)[:, None] * [0.0, 0.0, 1.0]
    still = np.zeros_like(time)
    yaw, roll, pitch = style.pelvis
    drop = 0.5 * style.duty - 0.13  # the swinging side drops early in the other's stance
    pelvis = np.stack(
        [-yaw * _wave(phase, 0.03), pitch + still, roll * _wave(phase, drop) - lean], axis=-1
    )
    yaw, roll, pitch = style.chest
    chest = np.stack(
        [yaw * _wave(phase, 0.03), pitch + still, -roll * _wave(phase, drop) - lean], axis=-1
    )
    head = np.stack([still, 0.3 * pitch + still, -0.3 * lean + still], axis=-1)
    return TrunkPlan(hips, heading, pelvis, chest, head)


def _arm(phase: Float[Array, "T"], style: Style) -> ArmPlan:
    """The arm of the side whose foot has this phase: back when that foot is in front."""
    mean, amplitude, spread = style.arm
    elbow, more = style.elbow
    front = -_wave(phase, 0.03)
    same = np.ones_like(phase)
    return ArmPlan(mean + amplitude * front, spread * same, 0.25 * same, elbow + more * front)


def _foot(phase: Float[Array, "T"], style: Style, body: Body, sign: float) -> FootPlan:
    number = np.floor(phase)
    f = phase - number
    swing = 1.0 - style.duty
    pitch, rate, _ = chain(f, _pitch_knots(style))
    tau = np.clip((f - style.duty) / swing, 0.0, 1.0)
    place, yaw = _plant(number, style, sign)
    next_place, next_yaw = _plant(number + 1.0, style, sign)
    sole = _Sole(body, sign)
    # Horizontally: a quintic between what the two pivots give at toe-off and at touchdown.
    knots = _pitch_knots(style)
    leave = sole.ahead(np.array([knots[3].value, knots[3].rate, knots[3].acceleration]), toe=True)
    land = sole.ahead(np.array([knots[0].value, knots[0].rate, knots[0].acceleration]), toe=False)
    scale = np.array([1.0, swing, swing**2])
    start = (leave * scale)[:, None, None] * forward(yaw)
    stop = (land * scale)[:, None, None] * forward(next_yaw)
    start[0] += place
    stop[0] += next_place
    ankle = quintic(tau[:, None], start, stop)
    state = np.stack([pitch, rate, 0.0 * pitch])
    on_heel, on_toe = sole.ahead(state, toe=False)[0], sole.ahead(state, toe=True)[0]
    ahead = np.where(f < style.flat, on_heel, np.where(f < style.heel_off, 0.0, on_toe))
    ankle = np.where((f < style.duty)[:, None], place + ahead[:, None] * forward(yaw), ankle)
    ankle[:, 2] = sole.height(f, pitch, style)
    # The toes stay flat until toe-off, then come back in line with the foot.
    follow = np.where(f < style.heel_off, 1.0, step((f - style.duty) / (_TOES_BACK * swing)))
    flat = (f >= style.flat) & (f <= style.duty)
    return FootPlan(
        ankle, yaw + (next_yaw - yaw) * step(tau), pitch, pitch * follow,
        heel_planted=flat & (f <= style.heel_off), toe_planted=flat,
    )  # fmt: skip


def _plant(
    number: Float[Array, "T"], style: Style, sign: float
) -> tuple[Float[Array, "T 3"], Float[Array, "T"]]:
    """Where the ankle stands over the ground in a stride (z = 0), and where the foot points."""
    offset = 0.5 if sign < 0 else 0.0
    time = (number + style.under - offset - style.start) * style.period
    ground, heading = _path(time, style)
    stature_width = 0.5 * sign * style.width
    return ground + stature_width * leftward(heading), heading + sign * style.toe_out


def _pitch_knots(style: Style) -> list[Knot]:
    return [
        Knot(0.0, -style.strike, 0.5 * style.strike / style.flat),
        Knot(style.flat, 0.0),
        Knot(style.heel_off, 0.0),
        Knot(style.duty, style.toe_off, style.toe_off_rate),
        Knot(0.5 * (1.0 + style.duty), style.middle, style.middle_rate),
        Knot(1.0, -style.strike, 0.5 * style.strike / style.flat),
    ]


class _Sole:
    """Where the ankle is when the foot is pitched about one of its two pivots."""

    def __init__(self, body: Body, sign: float) -> None:
        side = "left" if sign > 0 else "right"
        self._toe = rest_offset(body, f"{side}_ankle", f"{side}_foot")
        self._heel = np.array([-HEEL_BACK * body.stature, 0.0, -body.ankle_height])
        self._toe_height = body.toe_height
        self._stature = body.stature

    def ahead(self, pitch: Float[Array, "3 *n"], toe: bool) -> Float[Array, "3 *n"]:
        """Ankle ahead of where it stands flat [m], with two derivatives from the pitch's."""
        angle, rate, acceleration = pitch
        x, _, z = self._toe if toe else self._heel
        c, s = np.cos(angle), np.sin(angle)
        slope, bend = x * s - z * c, x * c + z * s
        return np.stack([x - x * c - z * s, slope * rate, bend * rate**2 + slope * acceleration])

    def height(self, f: Float[Array, "T"], pitch: Float[Array, "T"], style: Style) -> Array:
        """Height of the ankle [m] at phases ``f``."""
        half = 0.5 * (1.0 + style.duty)
        angle, rate, acceleration = (float(v) for v in chain(np.array(half), _pitch_knots(style)))
        toe_x, _, toe_z = self._toe
        heel_x, _, heel_z = self._heel
        c, s = np.cos(angle), np.sin(angle)
        x, z = toe_x - heel_x, toe_z - heel_z
        lift = style.toe_lift * self._stature
        slope, bend = x * c + z * s, z * c - x * s
        toe_rate = style.toe_lift_rate * self._stature
        # The heel's height halfway, and its derivatives, from the toe base's.
        heel = self._toe_height + lift + x * s - z * c
        heel_rate = toe_rate + slope * rate
        heel_acceleration = bend * rate**2 + slope * acceleration
        toe_path = [
            Knot(style.duty, self._toe_height),
            Knot(half, self._toe_height + lift, toe_rate),
        ]
        heel_path = [Knot(half, heel, heel_rate, heel_acceleration), Knot(1.0, 0.0)]
        c, s = np.cos(pitch), np.sin(pitch)
        over_toe, over_heel = toe_x * s - toe_z * c, heel_x * s - heel_z * c
        toe = np.where(f < style.duty, self._toe_height, chain(f, toe_path)[0])
        heel = np.where(f < style.flat, 0.0, chain(np.maximum(f, half), heel_path)[0])
        return np.where((f < style.flat) | (f >= half), heel + over_heel, toe + over_toe)
