"""Every threshold of the audit, declared once with unit and meaning."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from motionkit.errors import ConfigError


def _knob(default: Any, help: str, unit: str = "", source: str = "") -> Any:
    return field(default=default, metadata={"help": help, "unit": unit, "source": source})


_TERRA = "TERRA's public evaluation"


@dataclass(frozen=True, slots=True)
class AuditConfig:
    """Limits beyond which :func:`motionkit.audit.audit_reference` has something to say."""

    min_fps: float = _knob(10.0, "slowest plausible rate", "1/s")
    max_fps: float = _knob(500.0, "fastest plausible rate", "1/s")
    min_seconds: float = _knob(0.5, "shortest useful clip", "s")
    max_quat_error: float = _knob(1e-5, "deviation of a quaternion's norm from 1")
    max_kinematics_error: float = _knob(
        1e-4, "distance of a stored body from the kinematics of the stored pose", "m or rad"
    )
    max_velocity_error: float = _knob(
        1e-2, "deviation of a stored velocity from differences of the stored pose", "1/s"
    )
    max_position_error: float = _knob(
        0.05, "mean distance of a landmark of full weight from its target", "m"
    )
    max_rotation_error: float = _knob(
        0.35, "mean angle of a landmark of full weight from its target", "rad"
    )
    max_velocity: float | None = _knob(
        None, "joint speed budget; default: the one of the cache, else the robot's", "rad/s"
    )
    max_acceleration: float | None = _knob(
        None, "joint acceleration budget; default: the one of the cache, else the robot's",
        "rad/s^2",
    )  # fmt: skip
    budget_tolerance: float = _knob(1e-5, "share by which a budget may be exceeded")
    limited_share: float | None = _knob(
        None,
        "share of a budget from which a motion counts as held back by it; default: 0.995 of "
        "the onset of the budget's penalty in the cache's settings, else of 0.9",
    )
    max_root_speed: float = _knob(
        15.0, "speed of the root beyond which it was teleported", "m/s",
        "sprinters reach 12.4 m/s (Graubner and Nixdorf 2011)",
    )  # fmt: skip
    max_root_spin: float = _knob(40.0, "turning speed of the root beyond which it jumped", "rad/s")
    min_root_height: float = _knob(0.0, "lowest height of the root", "m")
    max_root_height: float = _knob(4.0, "highest height of the root", "m")
    min_upright: float = _knob(
        -0.5, "median cosine between the root's up axis and the world's, below it is upside down"
    )
    min_travel_speed: float = _knob(0.5, "level speed of the root above which it travels", "m/s")
    min_travel: float = _knob(
        1.0, "level path of the root, while it travels, from which its facing is judged", "m"
    )
    min_facing: float = _knob(
        -0.5, "median cosine between facing and travel, below it the robot goes backwards"
    )
    still_travel: float = _knob(
        1e-3, "range of every joint below which the robot does not move", "rad"
    )
    min_movement: float = _knob(
        0.3, "travel of the landmarks relative to the root, as a share of their targets'"
    )
    max_still: float = _knob(0.5, "longest time in which nothing at all changes", "s")
    max_penetration: float = _knob(
        0.01, "depth of the collision geometry below the ground", "m", _TERRA
    )
    contact_threshold: float = _knob(0.5, "probability from which a body is in contact")
    slow_slide: float = _knob(0.05, "speed from which a sole in contact slides", "m/s")
    fast_slide: float = _knob(0.30, "speed from which a sole in contact skates", "m/s", _TERRA)
    max_skating: float = _knob(0.05, "share of contact time in which a sole may skate")
    max_drift: float = _knob(
        0.02, "distance of a sole from where it touched down, in one stance", "m"
    )
    max_float_height: float = _knob(0.02, "height from which a sole in contact floats", "m")
    max_floating: float = _knob(0.05, "share of contact time in which a sole may float")
    max_airborne_height: float = _knob(
        0.05, "height of the lowest point above which the robot is in the air", "m"
    )
    max_hover_height: float = _knob(
        0.1, "height of the lowest point from which the robot hovers: higher than steps fly", "m"
    )
    max_hovering: float = _knob(0.25, "share of the frames in which the robot may hover")
    max_ground_spread: float = _knob(
        0.05, "range of the heights at which the feet of the source may stand", "m"
    )
    max_missed_contact: float = _knob(
        0.2, "time that soles stand still on the ground while no contact is ever stored", "s"
    )
    balance_speed: float = _knob(
        0.1, "speed of the centre of mass below which the robot must be in balance", "m/s"
    )
    balance_margin: float = _knob(
        0.05, "distance of the centre of mass outside the support at which the robot falls", "m"
    )
    max_unsupported: float = _knob(1.0, "longest time out of balance while almost still", "s")
    self_collision_rate: float = _knob(
        10.0, "poses looked at for self-collision a second; 0: none", "1/s"
    )
    max_self_collision: float = _knob(0.001, "depth at which two bodies collide", "m")

    def __post_init__(self) -> None:
        """Refuse values that are not finite."""
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and not np.isfinite(value):
                raise ConfigError(f"{name} must be finite, found {value}")
        if self.self_collision_rate < 0:
            raise ConfigError(f"self_collision_rate is {self.self_collision_rate}, negative")
