"""Settings of the fit of markers."""

from dataclasses import dataclass, field
from pathlib import Path

from motionkit.errors import ConfigError


@dataclass(frozen=True, slots=True)
class MarkerConfig:
    """Settings of :func:`motionkit.human.markers.fit_markers`."""

    marker_set: str | None = field(
        default=None,
        metadata={"help": "marker set, by name; default: the one that the labels tell",
                  "unit": "", "source": ""},
    )  # fmt: skip
    """Name of the marker set; absent: recognised by labels."""
    marker_map: Path | None = field(
        default=None,
        metadata={"help": "TOML file that says where markers sit", "unit": "", "source": ""},
    )
    """A user's own map of markers."""
    max_gap: float = field(
        default=0.25,
        metadata={"help": "longest time over which a part of the body that no marker shows is "
                  "bridged by the model; longer ones end the clip", "unit": "s", "source": ""},
    )  # fmt: skip
    """Longest gap that is bridged [s]."""
    robust_scale: float = field(
        default=0.03,
        metadata={"help": "distance of a marker from its place beyond which it counts less and "
                  "less",
                  "unit": "m", "source": ""},
    )  # fmt: skip
    """Scale of the robust loss [m]."""

    def __post_init__(self) -> None:
        """Refuse numbers that are not positive and finite."""
        for name in ("max_gap", "robust_scale"):
            value = getattr(self, name)
            if not 0.0 < value < float("inf"):
                raise ConfigError(f"{name} must be positive and finite, found {value}")
