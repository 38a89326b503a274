"""From the table to the profile ``robot.toml``: pairing with the human, mirror, motors."""

from collections.abc import Iterable

from .builder import Side, gains, walk
from .table import (
    ANCHOR,
    HUMAN,
    INTERMEDIATE_POSITION,
    INTERMEDIATE_ROTATION,
    LEADING,
    MAX_ACCELERATION,
    MAX_VELOCITY,
    MOTORS,
    TRACKED,
)

_HEAD = """\
# Built by motionkit/assets/anatomic_soma/profile.py from table.py. Do not edit; build it again:
# motionkit robots build anatomic_soma
# docs/robots.md says what each table means.
schema = 1
name = "anatomic_soma"
title = "23 parts, 52 serial hinges, 1.76 m, in the size and T-pose of SOMA23"
forward = "+x"
"""


def build_profile() -> str:
    """The profile as TOML text; the same bytes on every machine."""
    lines = [_HEAD]
    lines += [
        "[budget]",
        f"max_velocity = {MAX_VELOCITY}",
        f"max_acceleration = {MAX_ACCELERATION}",
    ]
    sides = list(walk())
    for side in sides:
        if side.part.name in HUMAN:
            lines += _landmark(side)
    for prefix in ("Left", "Right"):
        lines += ["", f"[feet.{prefix.lower()}]", f'heel = "{prefix}Foot"',
                  f'toe = "{prefix}ToeBase"']  # fmt: skip
    lines += ["", "# the joint of the mirrored pose, and the sign of its angle", "[mirror.joints]"]
    for side in sides:
        lines += [
            f'{joint} = ["{_swap(joint)}", {_mirror_sign(side, joint)}]' for joint in side.joints
        ]
    lines += ["", "[mirror.bodies]"]
    lines += [f'{body} = "{_swap(body)}"' for side in sides for body in side.bodies]
    for motor in MOTORS:
        figures = gains(motor)
        lines += ["", f"[motors.{motor.name}]", f"joints = {_strings(motor.joints)}"]
        lines += [f"{key} = {value:.10g}" for key, value in figures.items()]
        lines += [
            f'source = "G1 class of {motor.base_effort:g} N m, {motor.base_speed:g} rad/s, '
            f'{motor.base_armature:.10g} kg m2: effort and armature x 1.25, speed x 1.5"'
        ]
    lines += ["", "[anchor]", f'body = "{ANCHOR}"']
    lines += ["", "[track]", f"bodies = {_strings(TRACKED)}"]
    return "\n".join(lines) + "\n"


def _landmark(side: Side) -> list[str]:
    joint = HUMAN[side.part.name]
    human = f"{side.prefix.lower()}_{joint}" if side.prefix else joint
    leading = side.part.name in LEADING
    return [
        "",
        f"[landmarks.{side.name}]",
        f'human = "{human}"',
        f"position_weight = {1.0 if leading else INTERMEDIATE_POSITION}",
        f"rotation_weight = {1.0 if leading else INTERMEDIATE_ROTATION}",
    ]


def _mirror_sign(side: Side, joint: str) -> int:
    """Every paired hinge changes sign; of the centre line, only pitch (x) keeps it."""
    return 1 if not side.prefix and joint.endswith("_x") else -1


def _swap(name: str) -> str:
    """The name on the other side."""
    for own, other in (("Left", "Right"), ("Right", "Left")):
        if name.startswith(own):
            return other + name[len(own) :]
    return name


def _strings(values: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"
