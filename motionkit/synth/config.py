"""The knobs of synthetic motion, each declared once."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from motionkit.errors import ConfigError

_SPEEDS = {"walk": (0.8, 1.5), "turn": (0.8, 1.5), "run": (2.0, 3.0)}  # [m/s] at 1.75 m
_STATURES = (1.2, 2.2)  # [m]
_MAX_TURN_RATE = {"walk": 1.0, "turn": 1.0, "run": 0.6}  # [rad/s]
_MAX_FRAMES = 1_000_000

REFERENCE_STATURE = 1.75
"""Stature [m] at which speeds are given; others scale with its square root (equal Froude number,
Alexander, "Optimization and gaits in the locomotion of vertebrates", 1989)."""


def _knob(default: Any, help: str, unit: str = "", source: str = "") -> Any:
    return field(default=default, metadata={"help": help, "unit": unit, "source": source})


@dataclass(frozen=True, slots=True)
class SynthConfig:
    """Settings of :func:`motionkit.synth.synthesize`."""

    kind: Literal["walk", "run", "turn", "squat", "arms"] = _knob("walk", "what the person does")
    """Walk or run straight, walk along an arc, squat, or move the arms while standing."""
    seed: int = _knob(0, "draws speed, cadence, amplitudes and phase within published ranges")
    """Of the random generator; the same seed gives the same motion."""
    fps: float = _knob(60.0, "frames per second; the motion itself does not depend on it", "1/s")
    """Frames per second."""
    seconds: float = _knob(4.0, "length of the clip", "s")
    """From the first frame to the last [s], rounded down to whole frames."""
    stature: float = _knob(
        REFERENCE_STATURE, "standing height; lengths follow it in fixed proportion", "m",
        "Drillis and Contini, Body Segment Parameters, 1966",
    )  # fmt: skip
    """Standing height of the person [m]."""
    speed: float | None = _knob(
        None, "of a gait, along its path; default: drawn by the seed about the preferred one", "m/s"
    )
    """Speed of walking or running [m/s]."""
    turn_rate: float | None = _knob(
        None, "of a gait, to the left; default: 0, and 0.5 to 0.7 either way for `turn`", "rad/s"
    )
    """Rate of change of the heading [rad/s]."""

    def __post_init__(self) -> None:
        """Refuse what no person does.

        Raises:
            ConfigError: a setting is out of range, or has no meaning for the kind of motion.
        """
        self._require("fps", self.fps, 1.0, 1000.0)
        self._require("seconds", self.seconds, 0.0, _MAX_FRAMES / self.fps)
        self._require("stature", self.stature, *_STATURES)
        if self.seed < 0:
            raise ConfigError(f"seed must not be negative, found {self.seed}")
        if self.kind not in _SPEEDS:
            for name in ("speed", "turn_rate"):
                if getattr(self, name) is not None:
                    raise ConfigError(
                        f"{name} has no meaning for {self.kind}",
                        help=f"leave it out, or choose {', '.join(_SPEEDS)}",
                    )
            return
        if self.speed is not None:
            pace = np.sqrt(self.stature / REFERENCE_STATURE)
            low, high = _SPEEDS[self.kind]
            self._require("speed", self.speed, low * float(pace), high * float(pace))
        if self.turn_rate is not None:
            most = _MAX_TURN_RATE[self.kind]
            self._require("turn_rate", self.turn_rate, -most, most)

    def _require(self, name: str, value: float, low: float, high: float) -> None:
        if not low <= value <= high:
            raise ConfigError(
                f"{name} of {self.kind} must lie in [{low:.4g}, {high:.4g}], found {value:g}"
            )
