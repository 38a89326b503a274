"""The settings of all commands, stage by stage."""

from dataclasses import dataclass, field

from motionkit.cli.options import Knobs
from motionkit.cli.plan import parse_frames
from motionkit.errors import ConfigError

MIN_FPS, MAX_FPS = 1.0, 1000.0  # [1/s], rates that a reference may have


@dataclass(frozen=True, slots=True)
class ClipConfig:
    """Which frames of the clips go into the cache, and at which rate."""

    fps: float = field(
        default=30.0, metadata={"help": "rate of the cache, to which every clip is brought",
                                "unit": "1/s"},
    )  # fmt: skip
    """Rate of the references [1/s]."""
    frames: str | None = field(
        default=None,
        metadata={
            "metavar": "A:B",
            "help": "half-open interval of the source's frames; either end may be left out",
        },
    )
    """Interval of the source's frames; absent: all."""

    def __post_init__(self) -> None:
        """Refuse a rate that is none and an interval that is none."""
        if not MIN_FPS <= self.fps <= MAX_FPS:
            raise ConfigError(f"fps must be from {MIN_FPS:g} to {MAX_FPS:g}, found {self.fps:g}")
        parse_frames(self.frames)


READ = Knobs("read", "motionkit.formats:ReadOptions", renamed=(("fps", "--source-fps"),))
"""What the user knows better than a file."""

HUMAN = Knobs("human", "motionkit.human:HumanConfig")
"""How a person is found in a clip."""

MARKERS = Knobs("markers", "motionkit.human.markers:MarkerConfig")
"""How a person is found in markers."""

# fmt: off
STAGES = (
    Knobs("clip", "motionkit.cli.stages:ClipConfig"),
    READ,
    HUMAN,
    MARKERS,
    Knobs(
        "retarget",
        "motionkit.retarget:RetargetConfig",
        basic=("solver", "coordinates", "root", "max_joint_velocity", "max_joint_acceleration",
               "allow_motion_budget_exceedance", "max_iterations"),
    ),
)
# fmt: on
"""Every setting that shapes a cache."""

AUDIT = Knobs("audit", "motionkit.audit:AuditConfig")
"""The limits that clips are held against; they shape findings, not the cache."""

SYNTH = Knobs("synth", "motionkit.synth:SynthConfig")
"""What is made."""

TABLES = (*STAGES, AUDIT, SYNTH)
"""Every table of a config file. One file may serve all commands: each takes what it knows."""
