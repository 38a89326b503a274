"""Levenberg-Marquardt over a whole clip.

One iteration costs a forward pass, the Gauss-Newton blocks of :mod:`.objective`, the diagonals
of :mod:`.temporal` and one banded Cholesky factorisation: linear in the number of frames.

The box of joint limits is kept by projection: unknowns that sit on a bound with the descent
direction pointing outwards are frozen for the step, and the trial is clipped to the box.
Damping is kept per frame (:mod:`.damping`). When the whole step does not lower the cost, the step
without the frames that failed is tried.

Once most frames have settled, only segments around the others are solved for, the frames between
them standing still; a step over the whole clip always comes before the end.

The solve has converged when the decrease that the model predicts for the next step, or the mean
decrease of the last ten steps, is below ``tolerance`` times the cost.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from motionkit import rotation
from motionkit.band import BandMatrix, band_length
from motionkit.kinematics import Tree
from motionkit.retarget.config import RetargetConfig
from motionkit.retarget.coordinates import Angles, Tanh
from motionkit.retarget.damping import Damping, fade, window_sum
from motionkit.retarget.objective import Assembler, Assembly, Objective, Pose
from motionkit.retarget.report import Outcome
from motionkit.retarget.temporal import Temporal, TemporalAssembly, assemble

Array = np.ndarray

_STALL = 10  # iterations whose mean decrease is held against the tolerance
_ACTIVE = 0.3  # share of the tolerance that frames may leave unsolved while others are
_ACTIVE_SHARE = 0.1  # of the predicted decrease that they may leave in any case
_HALO = 0.3  # [s] to each side of an unsettled frame that is solved with it
_MOST = 0.7  # share of the frames above which all are solved for
_ROUNDING = 1e-14  # share of the cost that float64 cannot resolve
_WINDOW = 0.4  # [s] to each side of a frame whose costs share a gain ratio
_TRANSLATION_SCALE = 10.0  # damping of a metre against a radian: (1 rad / 0.3 m)²


@dataclass(frozen=True, slots=True)
class Problem:
    """All that a solve needs."""

    objective: Objective
    """Terms within a frame."""
    temporal: Temporal
    """Terms between frames."""
    limits: Float[Array, "n 2"]
    """Joint ranges; ±inf where unlimited."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Where the solver stopped."""

    pose: Pose
    """The motion."""
    outcome: Outcome
    """How it ended: converged, or one of the limits, or not finite."""
    iterations: int
    """Accepted steps."""
    rejected: int
    """Rejected steps."""
    passes: float
    """Steps computed, each counted by the share of the frames it was computed for."""
    cost_start: float
    """Cost of the start."""
    cost: float
    """Cost of the result."""
    note: str = ""
    """What a person should know of how it ran."""


def components(tree: Tree, root_is_free: bool) -> tuple[Int[Array, "k"], ...]:
    """Groups of unknowns that no residual couples, each ascending.

    A free root joins everything; with a fixed root every limb that hangs from the root body is
    on its own.
    """
    below = tree.is_below
    n = len(below)
    if root_is_free or n == 0:
        return (np.arange(6 + n) if root_is_free else np.arange(6, 6),)
    from scipy.sparse.csgraph import connected_components

    _, label = connected_components(below, directed=False)
    return tuple(6 + np.flatnonzero(label == k) for k in range(label.max() + 1))


class _System:
    """The damped Gauss-Newton system, one band matrix a component and a segment of frames."""

    def __init__(self, tree: Tree, frames: int, root_is_free: bool) -> None:
        below = tree.is_below
        mask = np.zeros((6 + len(below),) * 2)
        mask[:6] = 1.0
        mask[6:, 6:] = below
        mask = np.triu(mask)
        parts = [part for part in components(tree, root_is_free) if len(part)]
        self._parts = [(part, mask[np.ix_(part, part)]) for part in parts]
        self._memory = np.empty(max((band_length(frames, len(part)) for part in parts), default=0))
        self.scale = np.ones(6 + len(below))
        self.scale[:3] = _TRANSLATION_SCALE

    def step(
        self,
        state: "_State",
        held: Bool[Array, "T m"],
        damping: Float[Array, "T"],
        segments: list[slice],
        given: Float[Array, "T m"] | None = None,
    ) -> Float[Array, "T m"] | None:
        """The damped step, zero outside the segments; nothing if a matrix is not positive.

        Held unknowns move as ``given`` says, or not at all.
        """
        out = np.zeros_like(state.gradient)
        for part, mask in self._parts:
            for at in segments:
                band = BandMatrix(at.stop - at.start, len(part), self._memory)
                band.fill(
                    state.local.screws[at, part],
                    state.local.forces[at, part],
                    mask,
                    state.temporal.same[part, at].T + damping[at, None] * self.scale[part],
                    state.temporal.next_one[part, at].T,
                    state.temporal.next_two[part, at].T,
                )
                fixed = held[at, part]
                moved = np.zeros(fixed.shape) if given is None else given[at, part] * fixed
                force = -state.gradient[at, part]
                if given is not None:
                    force = force - band.multiply(moved)
                if np.any(fixed):
                    band.freeze(fixed)
                if not band.factor():
                    return None
                out[at, part] = band.solve(np.where(fixed, moved, force))
        return out


@dataclass(slots=True)
class _State:
    pose: Pose
    u: Float[Array, "n T"]
    cost: Float[Array, "T"]
    local: Assembly
    temporal: TemporalAssembly
    gradient: Float[Array, "T m"]


def solve(problem: Problem, start: Pose, config: RetargetConfig) -> Solution:
    """Minimise the cost from a start; the result is inside the joint limits.

    Deterministic. Memory is about ``16 m²`` bytes a frame for ``m`` unknowns a frame.
    """
    frames = start.q.shape[1]
    window = max(round(_WINDOW * problem.temporal.fps), 1)
    halo = max(round(_HALO * problem.temporal.fps), 2)
    evaluator = _Evaluator(problem, config)
    system = _System(problem.objective.tree, frames, config.root == "free")
    state = evaluator.first(start)
    damping = Damping(frames, window, config)
    everything = [slice(0, frames)]
    segments = everything
    history = [float(state.cost.sum())]
    rejected, passes, left, outcome = 0, 0.0, 0.0, Outcome.ITERATION_LIMIT
    if not np.isfinite(history[0]):
        return Solution(state.pose, Outcome.NOT_FINITE, 0, 0, 0.0, history[0], history[0])
    while len(history) - 1 + rejected < config.max_iterations:
        cost = history[-1]
        wanted = max(config.tolerance * cost, _ROUNDING * history[0])
        held = evaluator.held(state)
        step = system.step(state, held, damping.value, segments)
        passes += sum(at.stop - at.start for at in segments) / frames
        if step is None:
            rejected += 1
            damping.fail(np.ones(frames, dtype=bool))
            continue
        free = np.where(held, 0.0, state.gradient)
        shift = damping.value[:, None] * system.scale * step
        predicted = 0.5 * np.einsum("tm,tm->t", step, shift - free)
        hoped = float(predicted.sum())
        settled = damping.is_settled(predicted, wanted)
        try_ = _Attempt(evaluator, system, damping, state, held, segments)
        trial, whole = try_.step(step, predicted, window)
        rejected += not whole
        if trial is None:
            if hoped <= _ROUNDING * cost:
                outcome = Outcome.CONVERGED  # the cost cannot be lowered in float64
                break
            if damping.is_spent:
                outcome = Outcome.DAMPING_LIMIT
                break
            continue
        state = trial
        history.append(float(state.cost.sum()))
        stalled = len(history) > _STALL and history[-1 - _STALL] - history[-1] <= _STALL * wanted
        done = (settled and whole) or stalled
        if segments is not everything:
            segments = everything if done or hoped < left else segments
            continue
        if done:
            outcome = Outcome.CONVERGED
            break
        left = max(_ACTIVE * wanted, _ACTIVE_SHARE * hoped)
        segments = _active(predicted, left / frames, halo) or everything
    return Solution(
        state.pose, outcome, len(history) - 1, rejected, passes, history[0], history[-1]
    )


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What it takes to go from one state to a better one."""

    evaluator: "_Evaluator"
    system: _System
    damping: Damping
    state: _State
    held: Bool[Array, "T m"]
    segments: list[slice]

    def step(
        self, step: Float[Array, "T m"], predicted: Float[Array, "T"], window: int
    ) -> tuple[_State | None, bool]:
        """A state of lower cost, if one is found, and whether it is the whole step away.

        If the whole step does not lower the cost, two others are tried: the step of the unknowns
        that no limit stops, solved for again with the others at their limits; and the step
        without the frames that failed. Damping learns from what happened.
        """
        state, damping = self.state, self.damping
        cost = state.cost.sum()
        trial = self.evaluator.move(state, step, self.segments)
        gain, failed = damping.judge(state.cost - trial.cost, predicted)
        if trial.cost.sum() <= cost:
            damping.update(gain, failed)
            return trial, True
        along = self._along_limits(step)
        if along is not None and along.cost.sum() < cost:
            return along, False
        trial = self.evaluator.move(state, fade(~failed, window)[:, None] * step, self.segments)
        if trial.cost.sum() < cost:
            damping.update(gain, failed)
            return trial, False
        damping.fail(failed)
        return None, False

    def _along_limits(self, step: Float[Array, "T m"]) -> _State | None:
        stopped, given = self.evaluator.stopped(self.state, step)
        if not np.any(stopped & ~self.held):
            return None
        held = self.held | stopped
        other = self.system.step(self.state, held, self.damping.value, self.segments, given)
        return None if other is None else self.evaluator.move(self.state, other, self.segments)


def _active(predicted: Float[Array, "T"], density: float, halo: int) -> list[slice] | None:
    """Segments of frames still worth solving for; nothing if that is most of the clip.

    A frame is active within ``halo`` of one whose predicted decrease exceeds ``density``.
    """
    hot = window_sum((predicted > density).astype(np.float64), halo) > 0
    if hot.mean() > _MOST:
        return None
    edges = np.flatnonzero(np.diff(np.r_[False, hot, False]))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


class _Evaluator:
    """Costs and derivatives at a motion, in the chosen coordinates."""

    def __init__(self, problem: Problem, config: RetargetConfig) -> None:
        self._temporal = problem.temporal
        self._assembler = Assembler(problem.objective)
        self._box = Tanh(problem.limits) if config.coordinates == "tanh" else Angles(problem.limits)

    def first(self, start: Pose) -> _State:
        """The start, brought inside the limits."""
        return self._at(start.root_pos, start.root_mat, self._box.from_q(start.q))

    def held(self, state: _State) -> Bool[Array, "T m"]:
        """Unknowns that a limit holds against the descent direction."""
        held = np.zeros(state.gradient.shape, dtype=bool)
        held[:, 6:] = self._box.is_held(state.u, state.gradient[:, 6:].T).T
        return held

    def stopped(
        self, state: _State, step: Float[Array, "T m"]
    ) -> tuple[Bool[Array, "T m"], Float[Array, "T m"]]:
        """Unknowns that a limit stops on this step, and how far they can go."""
        stopped = np.zeros(step.shape, dtype=bool)
        way = step[:, 6:].T
        stopped[:, 6:] = self._box.is_stopped(state.u, way).T
        given = np.zeros(step.shape)
        given[:, 6:] = np.where(stopped[:, 6:], (self._box.move(state.u, way) - state.u).T, 0.0)
        return stopped, given

    def move(self, state: _State, step: Float[Array, "T m"], segments: list[slice]) -> _State:
        """The motion a step further; the step is zero outside the segments."""
        turn = np.moveaxis(rotation.to_matrix(rotation.from_rotvec(step[:, 3:6])), 0, -1)
        return self._at(
            state.pose.root_pos + step[:, :3].T,
            np.einsum("ijt,jkt->ikt", turn, state.pose.root_mat),
            self._box.move(state.u, step[:, 6:].T),
            segments,
            state,
        )

    def _at(
        self,
        root_pos: Float[Array, "3 T"],
        root_mat: Float[Array, "3 3 T"],
        u: Float[Array, "n T"],
        segments: list[slice] | None = None,
        before: _State | None = None,
    ) -> _State:
        pose = Pose(root_pos, root_mat, self._box.to_q(u))
        slope = self._box.slope(u)
        known = None if before is None or slope is not None else before.local
        if segments is not None and sum(s.stop - s.start for s in segments) == u.shape[1]:
            known = None
        local = self._assembler.assemble(pose, segments, known)
        unknowns = np.concatenate([pose.root_pos, np.zeros_like(root_pos), pose.q])
        temporal = assemble(self._temporal, unknowns)
        gradient = local.gradient + temporal.gradient.T
        if slope is not None:
            _change_variables(slope, local, temporal, gradient)
        return _State(pose, u, local.cost + temporal.cost, local, temporal, gradient)


def _change_variables(
    slope: Float[Array, "n T"],
    local: Assembly,
    temporal: TemporalAssembly,
    gradient: Float[Array, "T m"],
) -> None:
    """Chain rule from joint coordinates to the unknowns, in place."""
    gradient[:, 6:] *= slope.T
    local.screws[:, 6:] *= slope.T[:, :, None]
    local.forces[:, 6:] *= slope.T[:, :, None]
    temporal.same[6:] *= slope**2
    temporal.next_one[6:, :-1] *= slope[:, :-1] * slope[:, 1:]
    temporal.next_two[6:, :-2] *= slope[:, :-2] * slope[:, 2:]
