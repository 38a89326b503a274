"""The same objective solved by pyroki and jaxls: an independent oracle.

Nothing is shared with :mod:`.objective`, :mod:`.temporal` and :mod:`.lm` on the way but the
problem itself: :mod:`.pyroki_model` makes a URDF of the robot, poses come from pyroki, derivatives
from automatic differentiation, steps from jaxls.

jaxls tests for its end on proposed steps, rejected ones among them, so its word is not taken. The
NumPy assembly of the result decides, by the decrease that a Gauss-Newton step of it predicts, and
jaxls goes on from there until that is small or the iterations are used up.

It checks, it does not work: on two cores, 12 frames of anatomic_soma take about a minute, most of
it compilation, which every clip pays anew; 60 frames, by conjugate gradients, take two minutes
and more for 60 steps, and the budgets make for many. Memory of the dense solver grows with the
square of the unknowns.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from motionkit.band import BandMatrix
from motionkit.errors import ConfigError
from motionkit.retarget.config import RetargetConfig
from motionkit.retarget.lm import Problem, Solution, components
from motionkit.retarget.objective import Assembler, Pose
from motionkit.retarget.pyroki_model import Box, Statement
from motionkit.retarget.report import Outcome
from motionkit.retarget.temporal import assemble
from motionkit.retarget.xla import prepare_xla

Array = np.ndarray

_ROUND = 60  # steps of jaxls between two of our own tests for the end
_AT_LIMIT = 1e-3  # share of the range within which a limit holds a joint that is pushed outwards
_RIDGE = 1e-9  # keeps the matrix of our own test positive definite
_ROUNDING = 1e-14  # share of the cost that float64 cannot resolve
_FINER = 1e-3  # share of our tolerance at which jaxls ends a round
_AGREEMENT = 1e-9  # relative, of the two statements of the cost
_SAME = 1e-12  # relative, of one cost computed twice
_TALKATIVE = ("pyroki", "jaxls")  # libraries that log on stderr by default


def solve_with_pyroki(problem: Problem, start: Pose, config: RetargetConfig) -> Solution:
    """Minimise the cost from a start with jaxls; same terms, same rule for the end as :mod:`.lm`.

    ``Solution.iterations`` counts the steps of jaxls that lowered the cost, ``rejected`` the
    rest. The process's jax settings are left as they were.

    Raises:
        ConfigError: the robot has no joints.
    """
    if not problem.objective.tree.joint_body:
        raise ConfigError(
            "pyroki takes no robot without joints", help="use --solver lm for this robot"
        )
    note = prepare_xla()
    is_free, box = config.root == "free", Box(problem.limits)
    pose = Pose(start.root_pos, start.root_mat, box.to_q(box.from_q(start.q)))
    first, hoped = predicted_decrease(problem, pose, is_free)
    cost, tried, accepted = first, 0, 0
    if not np.isfinite(first):
        return Solution(pose, Outcome.NOT_FINITE, 0, 0, 0.0, first, first, note)
    wanted = max(config.tolerance, _ROUNDING)
    outcome = Outcome.CONVERGED if hoped <= wanted * cost else Outcome.ITERATION_LIMIT
    with _jax_in_float64():
        statement = Statement(problem, pose, is_free)
        while outcome is Outcome.ITERATION_LIMIT and tried < config.max_iterations:
            steps = min(_ROUND, config.max_iterations - tried)
            pose, used, history = statement.improve(
                pose, steps, config.initial_damping, config.max_damping, _FINER * wanted
            )
            assert abs(history[0] - cost) <= _AGREEMENT * cost, "the two statements differ"
            tried += used
            before = cost
            cost, hoped = predicted_decrease(problem, pose, is_free)
            accepted += _num_decreases(history, cost)
            if not np.isfinite(cost):
                outcome = Outcome.NOT_FINITE
            elif hoped <= wanted * cost:
                outcome = Outcome.CONVERGED
            elif not cost < before:
                outcome = Outcome.DAMPING_LIMIT
    return Solution(pose, outcome, accepted, tried - accepted, float(tried), first, cost, note)


def _num_decreases(history: Float[Array, "k"], last: float) -> int:
    """Entries below all before them; ``last`` is the cost of the result, in the history or not."""
    count, best = 0, history[0]
    for cost in (*history[1:], last):
        if cost < best * (1 - _SAME):
            count, best = count + 1, cost
    return count


def predicted_decrease(problem: Problem, pose: Pose, root_is_free: bool) -> tuple[float, float]:
    """The cost of a motion, and what an undamped Gauss-Newton step within the limits would save.

    From the NumPy assembly alone. A joint close to a limit that it is pushed against can only
    save the way that is left to it.
    """
    local = Assembler(problem.objective).assemble(pose)
    unknowns = np.concatenate([pose.root_pos, np.zeros_like(pose.root_pos), pose.q])
    temporal = assemble(problem.temporal, unknowns)
    cost = float(local.cost.sum() + temporal.cost.sum())
    gradient = local.gradient + temporal.gradient.T
    if not np.all(np.isfinite(gradient)):
        return float("nan"), float("nan")
    held, room = _held(problem.limits, pose.q, gradient)
    saved = float(np.sum(np.abs(gradient[held]) * room[held]))
    below = problem.objective.tree.is_below
    mask = np.zeros((6 + len(below),) * 2)
    mask[:6] = 1.0
    mask[6:, 6:] = below
    mask = np.triu(mask)
    for part in components(problem.objective.tree, root_is_free):
        if not len(part):
            continue
        band = BandMatrix(len(gradient), len(part))
        band.fill(
            local.screws[:, part],
            local.forces[:, part],
            mask[np.ix_(part, part)],
            temporal.same[part].T + _RIDGE,
            temporal.next_one[part].T,
            temporal.next_two[part].T,
        )
        band.freeze(held[:, part])
        if not band.factor():
            return cost, float("inf")
        free = np.where(held[:, part], 0.0, gradient[:, part])
        saved += 0.5 * float(np.sum(free * band.solve(free)))
    return cost, saved


def _held(
    limits: Float[Array, "n 2"], q: Float[Array, "n T"], gradient: Float[Array, "T m"]
) -> tuple[Bool[Array, "T m"], Float[Array, "T m"]]:
    """Unknowns that a limit holds against the descent direction, and the way to that limit."""
    held, room = np.zeros(gradient.shape, dtype=bool), np.zeros(gradient.shape)
    span = np.diff(limits, axis=1)
    outwards = -np.sign(gradient[:, 6:].T)
    left = np.where(outwards < 0, q - limits[:, :1], limits[:, 1:] - q)
    held[:, 6:] = ((left <= _AT_LIMIT * span) & np.isfinite(span) & (outwards != 0)).T
    room[:, 6:] = np.maximum(left, 0.0).T
    return held, room


@contextmanager
def _jax_in_float64() -> Iterator[None]:
    """Double precision inside, the process's own setting after; no chatter of pyroki and jaxls."""
    import jax
    import jax.experimental
    from loguru import logger

    # Older versions of jax keep the switch among the experimental.
    home: Any = jax if hasattr(jax, "enable_x64") else jax.experimental
    for library in _TALKATIVE:
        logger.disable(library)
    try:
        with home.enable_x64(True):
            yield
    finally:
        for library in _TALKATIVE:
            logger.enable(library)
