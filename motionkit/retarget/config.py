"""The knobs of the retargeter, each declared once."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from motionkit.errors import ConfigError


def _knob(default: Any, help: str, unit: str = "", source: str = "") -> Any:
    return field(default=default, metadata={"help": help, "unit": unit, "source": source})


_A = "Anatomical SOMA document (ProtoMotions)"


@dataclass(frozen=True, slots=True)
class RetargetConfig:
    """Settings of :func:`motionkit.retarget.retarget`; weights multiply residuals."""

    solver: Literal["lm", "pyroki"] = _knob(
        "lm", "whole-clip Levenberg-Marquardt, or the same objective solved by pyroki"
    )
    coordinates: Literal["angle", "tanh"] = _knob(
        "angle", "unknowns: joint angles in a projected box, or inverse-tanh coordinates", source=_A
    )
    root: Literal["free", "fixed"] = _knob(
        "free", "solve for the root on SE(3), or keep its target"
    )
    max_joint_velocity: float | None = _knob(
        None, "joint speed budget; default: the robot's", "rad/s", _A
    )
    max_joint_acceleration: float | None = _knob(
        None, "joint acceleration budget; default: the robot's", "rad/s^2", _A
    )
    allow_motion_budget_exceedance: bool = _knob(
        False, "report an exceeded budget as a warning instead of rejecting the clip", source=_A
    )
    position_weight: float = _knob(10.0, "position of a landmark of weight 1", "1/m")
    rotation_weight: float = _knob(2.0, "orientation of a landmark of weight 1", "1/rad")
    direction_weight: float = _knob(1.0, "direction of a limb", "1/rad")
    contact_weight: float = _knob(40.0, "distance of a sole in stance from its anchor", "1/m")
    ground_weight: float = _knob(60.0, "depth of the collision geometry below the ground", "1/m")
    velocity_weight: float = _knob(0.1, "joint speed as a share of its budget")
    acceleration_weight: float = _knob(0.3, "joint acceleration as a share of its budget")
    budget_weight: float = _knob(30.0, "excess of a budget's share over its onset")
    budget_onset: float = _knob(0.9, "share of a budget at which its penalty begins", source=_A)
    root_smoothness: float = _knob(
        0.02, "acceleration of the root relative to its target's", "s^2/m"
    )
    posture_weight: float = _knob(0.1, "distance of a joint from its rest pose", "1/rad")
    initial_damping: float = _knob(0.01, "first damping of the solver")
    max_damping: float = _knob(1e12, "damping at which the solver gives up", source=_A)
    max_iterations: int = _knob(500, "cap on iterations", source=_A)
    tolerance: float = _knob(
        1e-5, "decrease a step, as a share of the cost, below which the solve has converged"
    )

    def __post_init__(self) -> None:
        """Refuse values that no solve could use."""
        for name in self.__slots__:
            value = getattr(self, name)
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if is_number and not (np.isfinite(value) and value >= 0):
                raise ConfigError(f"{name} must be finite and not negative, found {value}")
        for name in ("max_joint_velocity", "max_joint_acceleration", "budget_onset", "tolerance"):
            if getattr(self, name) == 0:
                raise ConfigError(f"{name} must be positive")
        if self.max_iterations < 1:
            raise ConfigError(f"max_iterations must be at least 1, found {self.max_iterations}")
        if self.budget_onset > 1:
            raise ConfigError(f"budget_onset must be at most 1, found {self.budget_onset}")
        for name, values in _CHOICES.items():
            if getattr(self, name) not in values:
                raise ConfigError(f"{name} is {getattr(self, name)!r}",
                                  help=f"it is one of: {', '.join(values)}")  # fmt: skip


_CHOICES = {"solver": ("lm", "pyroki"), "coordinates": ("angle", "tanh"), "root": ("free", "fixed")}
