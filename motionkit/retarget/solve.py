"""From a human in motion to a robot's motion: targets, seed, solve, and what came of it."""

import time
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, HumanClip, RobotClip, runs
from motionkit.retarget import lm
from motionkit.retarget.config import RetargetConfig
from motionkit.retarget.objective import Directions, Objective, Orientations, Points, Pose
from motionkit.retarget.report import Outcome, PartError, Peak, SolveReport
from motionkit.retarget.seed import seed
from motionkit.retarget.targets import Targets, make_targets
from motionkit.retarget.temporal import Temporal
from motionkit.robot import JointBudget, Robot

Array = np.ndarray

_RAMP = 0.05  # [s] before and after a stance over which the sole's anchor fades
_BUDGET_TOLERANCE = 1e-5  # relative, of a budget
_LIMBS = (
    ("hip", "knee"), ("knee", "ankle"), ("ankle", "foot"), ("shoulder", "elbow"),
    ("elbow", "wrist"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RetargetResult:
    """A robot's motion, what was asked of it, and the figures."""

    clip: RobotClip
    """The motion. Its values are exactly those of float32, the type that a cache stores."""
    report: SolveReport
    """How the solve went."""
    target_pos_w: Float[Array, "T L 3"]
    """Wanted positions of ``robot.landmarks`` [m]."""
    target_quat_w: Float[Array, "T L 4"]
    """Wanted orientations of ``robot.landmarks``."""


def retarget(
    human: HumanClip, robot: Robot, config: RetargetConfig | None = None
) -> RetargetResult:
    """The motion of ``robot`` that follows ``human`` within its joint limits and budgets.

    The whole clip is one problem, whatever its length; cost and memory are linear in frames. The
    result depends neither on the heading of the source nor, but for the neighbourhood of the
    ends, on where the clip was cut.

    Args:
        human: the motion to follow.
        robot: who follows it.
        config: settings; default ``RetargetConfig()``.

    Returns:
        Motion, report and targets. Look at ``report.outcome``: a failed solve raises nothing.

    Raises:
        ConfigError: the robot's profile does not pair the legs.
    """
    config = RetargetConfig() if config is None else config
    began = time.perf_counter()
    targets = make_targets(human, robot)
    budget = JointBudget(
        config.max_joint_velocity or robot.budget.max_velocity,
        config.max_joint_acceleration or robot.budget.max_acceleration,
    )
    problem = _problem(human, robot, targets, config, budget)
    root_pos, root_mat = _root_target(targets)
    start = seed(robot.tree, robot.joint_range, problem.objective.orientations, root_pos, root_mat)
    # More BLAS threads make a banded factorisation several times slower, not faster.
    with threadpool_limits(limits=1, user_api="blas"):
        solution = _solve(problem, start, config)
    qpos = _stored(solution.pose)
    report = _report(robot, targets, config, budget, solution, start, qpos, human.fps, began)
    clip = RobotClip(human.name, robot.name, human.fps, qpos, targets.stands.astype(np.float64))
    return RetargetResult(clip, report, targets.pos_w, targets.quat_w)


def _solve(problem: lm.Problem, start: Pose, config: RetargetConfig) -> lm.Solution:
    if config.solver == "pyroki":
        from motionkit.retarget.pyroki_solver import solve_with_pyroki

        return solve_with_pyroki(problem, start, config)
    return lm.solve(problem, start, config)


def _root_target(targets: Targets) -> tuple[Float[Array, "3 T"], Float[Array, "3 3 T"]]:
    mat = rotation.to_matrix(targets.quat_w[:, 0])
    return np.ascontiguousarray(targets.pos_w[:, 0].T), np.ascontiguousarray(
        np.moveaxis(mat, 0, -1)
    )


def _problem(
    human: HumanClip, robot: Robot, targets: Targets, config: RetargetConfig, budget: JointBudget
) -> lm.Problem:
    """Put targets and settings into the terms of the objective."""
    body = np.array([robot.body_index(mark.body) for mark in robot.landmarks])
    frames, n = human.num_frames, robot.num_joints
    position = np.array([mark.position_weight for mark in robot.landmarks])
    turning = np.array([mark.rotation_weight for mark in robot.landmarks])
    landmarks = Points(
        body,
        np.zeros((len(body), 3)),
        _frames_last(targets.pos_w),
        np.repeat((config.position_weight * position)[:, None] ** 2, frames, axis=1),
    )
    orientations = Orientations(
        body,
        _frames_last(rotation.to_matrix(targets.quat_w)),
        (config.rotation_weight * turning) ** 2,
    )
    objective = Objective(
        tree=robot.tree,
        points=(landmarks, _soles(human, robot, targets, config)),
        orientations=orientations,
        directions=_limbs(human, robot, config),
        surface=robot.surface,
        ground_weight=config.ground_weight**2,
    )
    root_target = _root_target(targets)[0]
    unlimited, rates = np.full(6, np.inf), np.ones(n)
    temporal = Temporal(
        fps=human.fps,
        offset=np.concatenate(
            [root_target, np.zeros((3, frames)), np.repeat(robot.tree.ref[:, None], frames, axis=1)]
        ),
        posture=np.concatenate([np.zeros(6), config.posture_weight**2 * rates]),
        velocity=np.concatenate(
            [np.zeros(6), (config.velocity_weight / budget.max_velocity) ** 2 * rates]
        ),
        acceleration=np.concatenate(
            [
                np.full(3, config.root_smoothness**2),
                np.zeros(3),
                (config.acceleration_weight / budget.max_acceleration) ** 2 * rates,
            ]
        ),
        max_velocity=np.concatenate([unlimited, budget.max_velocity * rates]),
        max_acceleration=np.concatenate([unlimited, budget.max_acceleration * rates]),
        onset=config.budget_onset,
        budget=config.budget_weight**2,
    )
    return lm.Problem(objective, temporal, robot.joint_range)


def _soles(human: HumanClip, robot: Robot, targets: Targets, config: RetargetConfig) -> Points:
    """Centres of the soles in stance, held where the target's sole stands over the stance."""
    bodies, frames = robot.contact_bodies, human.num_frames
    marks = [mark.body for mark in robot.landmarks]
    offset = np.empty((len(bodies), 3))
    target = np.zeros((len(bodies), 3, frames))
    weight = np.zeros((len(bodies), frames))
    for k, name in enumerate(bodies):
        center, radius = robot.sole(name)
        offset[k] = center.mean(axis=0)
        i = marks.index(name)
        place = targets.pos_w[:, i] + rotation.rotate(targets.quat_w[:, i], offset[k])
        for start, stop in runs(targets.stands[:, k]):
            anchor = place[start:stop].mean(axis=0)
            anchor[2] = radius.mean()
            share = _hold(start, stop, frames, human.fps)
            stronger = share > weight[k]
            target[k, :, stronger] = anchor
            weight[k] = np.where(stronger, share, weight[k])
    weight *= config.contact_weight**2
    return Points(np.array([robot.body_index(name) for name in bodies]), offset, target, weight)


def _hold(start: int, stop: int, frames: int, fps: float) -> Float[Array, "T"]:
    """Share of the contact weight: 1 in the stance, falling to 0 over ``_RAMP`` beside it."""
    at = np.arange(frames)
    outside = np.maximum(np.maximum(start - at, at - (stop - 1)), 0) / fps
    return np.maximum(0.0, 1.0 - outside / _RAMP)


def _limbs(human: HumanClip, robot: Robot, config: RetargetConfig) -> Directions:
    """Limbs whose far end is fixed to the body at their near end."""
    at = {mark.human: robot.body_index(mark.body) for mark in robot.landmarks}
    tree = robot.tree
    body, local, target = [], [], []
    for side in ("left", "right"):
        for near, far in _LIMBS:
            near, far = f"{side}_{near}", f"{side}_{far}"
            if near not in at or far not in at:
                continue
            child = at[far]
            while tree.parents[child] != at[near] and not np.any(tree.pos[child]) and child > 0:
                child = tree.parents[child]
            if tree.parents[child] != at[near] or not np.any(tree.pos[child]):
                continue
            ends = [human.landmark_pos_w[:, SMPLH_JOINTS.index(role)] for role in (near, far)]
            along = ends[1] - ends[0]
            length = np.linalg.norm(along, axis=1, keepdims=True)
            if length.min() < 1e-3:  # [m] two roles on one joint have no direction
                continue
            body.append(at[near])
            local.append(tree.pos[child] / np.linalg.norm(tree.pos[child]))
            target.append(along / length)
    if not body:
        none, target = np.zeros((0, 3)), np.zeros((0, 3, human.num_frames))
        return Directions(np.zeros(0, dtype=np.int64), none, target, np.zeros(0))
    return Directions(
        np.array(body),
        np.array(local),
        np.ascontiguousarray(np.array(target).transpose(0, 2, 1)),
        np.full(len(body), config.direction_weight**2),
    )


def _frames_last(values: Float[Array, "T *n"]) -> Float[Array, "*n T"]:
    return np.ascontiguousarray(np.moveaxis(values, 0, -1))


def _stored(pose: Pose) -> Float[Array, "T nq"]:
    """MuJoCo's layout, rounded to float32; limits are float32 already, so rounding keeps them."""
    quat = rotation.from_matrix(np.moveaxis(pose.root_mat, -1, 0))
    quat = rotation.unroll(quat * np.sign(quat[:1, :1] + 1e-300))
    qpos = np.concatenate([pose.root_pos.T, quat, pose.q.T], axis=1)
    return qpos.astype(np.float32).astype(np.float64)


def _report(
    robot: Robot,
    targets: Targets,
    config: RetargetConfig,
    budget: JointBudget,
    solution: lm.Solution,
    start: Pose,
    qpos: Float[Array, "T nq"],
    fps: float,
    began: float,
) -> SolveReport:
    position, turning = _part_errors(robot, targets, _stored(start), qpos)
    q = qpos[:, 7:]
    speed = _peak(robot, np.diff(q, axis=0) * fps, budget.max_velocity)
    hardest = _peak(robot, np.diff(q, n=2, axis=0) * fps**2, budget.max_acceleration)
    outcome, message, exceeded = _judge(robot, config, solution.outcome, q, fps, speed, hardest)
    return SolveReport(
        outcome=outcome,
        message="; ".join(filter(None, (message, solution.note))),
        solver=f"lm/{config.coordinates}" if config.solver == "lm" else "pyroki/tanh",
        iterations=solution.iterations,
        rejected_steps=solution.rejected,
        passes=solution.passes,
        cost_start=solution.cost_start,
        cost=solution.cost,
        seconds=time.perf_counter() - began,
        scale=targets.scale,
        ground_offset=targets.contacts.ground,
        ground_spread=targets.contacts.spread,
        position_error=position,
        rotation_error=turning,
        peak_velocity=speed,
        peak_acceleration=hardest,
        budget_exceeded=exceeded,
    )


def _part_errors(
    robot: Robot, targets: Targets, before: Float[Array, "T nq"], after: Float[Array, "T nq"]
) -> tuple[dict[str, PartError], dict[str, PartError]]:
    body = [robot.body_index(mark.body) for mark in robot.landmarks]
    distances, angles = [], []
    for qpos in (before, after):
        pos, quat = robot.forward(qpos)
        distances.append(np.linalg.norm(pos[:, body] - targets.pos_w, axis=-1))
        angles.append(rotation.angle_between(quat[:, body], targets.quat_w))

    def table(pair: list[Array]) -> dict[str, PartError]:
        return {
            mark.body: PartError(
                *(
                    float(figure)
                    for error in (pair[0][:, i], pair[1][:, i])
                    for figure in (error.mean(), np.quantile(error, 0.95), error.max())
                )
            )
            for i, mark in enumerate(robot.landmarks)
        }

    return table(distances), table(angles)


def _peak(robot: Robot, rate: Float[Array, "K n"], budget: float) -> Peak:
    if rate.size == 0:
        return Peak(0.0, robot.joint_names[0] if robot.joint_names else "", 0, budget)
    frame, joint = np.unravel_index(np.argmax(np.abs(rate)), rate.shape)
    value = float(abs(rate[frame, joint]))
    return Peak(value, robot.joint_names[joint], int(frame), budget)


def budget_tolerance(q: Float[Array, "T n"], fps: float, order: int, budget: float) -> float:
    """Relative excess of a budget that rounding to float32 can make up by itself.

    Four units in the last place of the largest angle, differenced ``order`` times.
    """
    ulp = float(np.spacing(np.float32(np.abs(q).max(initial=0.0))))
    return max(_BUDGET_TOLERANCE, 4.0 * ulp * fps**order / budget)


def _judge(
    robot: Robot,
    config: RetargetConfig,
    outcome: Outcome,
    q: Float[Array, "T n"],
    fps: float,
    speed: Peak,
    hardest: Peak,
) -> tuple[Outcome, str, tuple[str, ...]]:
    """The outcome after the checks that a solver cannot make, a message, budgets excused."""
    if outcome is not Outcome.CONVERGED:
        return outcome, f"the solve ended with {outcome.name.lower().replace('_', ' ')}", ()
    outside = (q < robot.joint_range[:, 0]) | (q > robot.joint_range[:, 1])
    if np.any(outside):
        frame, j = (int(i) for i in np.argwhere(outside)[0])
        low, high = robot.joint_range[j]
        text = (
            f"{robot.joint_names[j]} is {q[frame, j]:.6g} at frame {frame}, "
            f"range [{low:.6g}, {high:.6g}]"
        )
        return Outcome.LIMIT_VIOLATED, text, ()
    jump = np.abs(np.diff(q, axis=0)) > np.pi
    if np.any(jump):
        frame, j = (int(i) for i in np.argwhere(jump)[0])
        by = q[frame + 1, j] - q[frame, j]
        text = f"{robot.joint_names[j]} jumps by {by:.3g} rad after frame {frame}"
        return Outcome.JUMP, text, ()
    exceeded, texts, first = [], [], None
    for order, (name, peak, unit, verdict) in enumerate(
        (
            ("velocity", speed, "rad/s", Outcome.VELOCITY_BUDGET),
            ("acceleration", hardest, "rad/s²", Outcome.ACCELERATION_BUDGET),
        ),
        start=1,
    ):
        if peak.value > peak.budget * (1 + budget_tolerance(q, fps, order, peak.budget)):
            exceeded.append(name)
            texts.append(
                f"{peak.joint} reaches {peak.value:.4g} {unit} at frame {peak.frame}, "
                f"budget {peak.budget:g}"
            )
            first = first or verdict
    if first is None:
        return Outcome.CONVERGED, "", ()
    if config.allow_motion_budget_exceedance:
        return Outcome.CONVERGED, "; ".join(texts), tuple(exceeded)
    return first, "; ".join(texts), ()
