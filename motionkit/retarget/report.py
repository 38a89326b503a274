"""How a solve ended, and its figures."""

import enum
from dataclasses import asdict, dataclass
from typing import Any


class Outcome(enum.Enum):
    """How a retarget ended; the value is advice."""

    CONVERGED = "converged; read the errors per part before calling it good"
    ITERATION_LIMIT = (
        "not converged within the cap on iterations; raise --max-iterations, or look for a "
        "glitch in the source with motionkit inspect"
    )
    DAMPING_LIMIT = "no step lowers the cost; look for a jump or a swapped limb in the source"
    NOT_FINITE = "the cost is not finite; the source holds an absurd value"
    LIMIT_VIOLATED = "a joint leaves its range; this is a defect of motionkit, please report it"
    JUMP = "a joint turns by more than pi between two frames; cut the clip there with --frames"
    VELOCITY_BUDGET = (
        "a joint exceeds its speed budget; raise --max-joint-velocity if the robot can, cut the "
        "clip with --frames, or accept it with --allow-motion-budget-exceedance"
    )
    ACCELERATION_BUDGET = (
        "a joint exceeds its acceleration budget; raise --max-joint-acceleration if the robot "
        "can, cut the clip with --frames, or accept it with --allow-motion-budget-exceedance"
    )

    @property
    def is_accepted(self) -> bool:
        """Whether the motion may enter a cache."""
        return self is Outcome.CONVERGED


@dataclass(frozen=True, slots=True)
class PartError:
    """Distance of one part from its target, over the clip, before and after the solve."""

    before_mean: float
    """Mean of the seed."""
    before_p95: float
    """95th percentile of the seed."""
    before_max: float
    """Largest of the seed."""
    mean: float
    """Mean of the result."""
    p95: float
    """95th percentile of the result."""
    max: float
    """Largest of the result."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The largest value of a joint's rate, on the stored array."""

    value: float
    """[rad/s] or [rad/s²]."""
    joint: str
    """Where."""
    frame: int
    """When: the first of the frames differenced."""
    budget: float
    """The cap it was held against."""


@dataclass(frozen=True, slots=True)
class SolveReport:
    """Figures of one retarget. Success of the solver is no certificate of quality."""

    outcome: Outcome
    """How it ended."""
    message: str
    """What was found, for people: names, values, limits, frames."""
    solver: str
    """Which solver, with its coordinates."""
    iterations: int
    """Accepted steps."""
    rejected_steps: int
    """Steps that did not lower the cost."""
    passes: float
    """Steps computed, each counted by the share of the frames that it was computed for."""
    cost_start: float
    """Cost of the seed."""
    cost: float
    """Cost of the result."""
    seconds: float
    """Wall time of seed and solve."""
    scale: float
    """Robot length per human length, applied to the motion."""
    ground_offset: float
    """Height by which the source was lowered to put its ground at z = 0 [m]."""
    ground_spread: float
    """Range of the heights at which the source's feet stand [m]: large where it is not level."""
    position_error: dict[str, PartError]
    """Per landmark body [m]."""
    rotation_error: dict[str, PartError]
    """Per landmark body [rad]."""
    peak_velocity: Peak
    """Fastest joint."""
    peak_acceleration: Peak
    """Hardest accelerated joint."""
    budget_exceeded: tuple[str, ...] = ()
    """Budgets exceeded with the user's leave: ``velocity``, ``acceleration``."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON: the outcome by its name."""
        return {**asdict(self), "outcome": self.outcome.name.lower()}
