"""The whole-clip solver: known truths, limits, budgets, ends, cuts."""

from dataclasses import replace

import numpy as np
import pytest
from builders import random_robot, write_robot
from builders_retarget import (
    in_range_qpos,
    no_temporal,
    pose_of,
    random_temporal,
    smooth_qpos,
    tracking_problem,
    turned,
)
from scipy.optimize import minimize

from motionkit.retarget import lm
from motionkit.retarget.config import RetargetConfig
from motionkit.retarget.objective import Directions, Objective, Orientations, Points, Pose
from motionkit.retarget.report import Outcome
from motionkit.retarget.temporal import Temporal
from motionkit.robot import load_robot

SOMA = load_robot("anatomic_soma")
TIGHT = RetargetConfig(tolerance=1e-11)
FPS = 30.0


def shaken(rng, robot, pose: Pose, by: float = 0.2) -> Pose:
    """A start beside a motion, as smooth as it, inside the limits."""
    low, high = robot.joint_range[:, :1], robot.joint_range[:, 1:]
    frames = pose.q.shape[1]
    wave = np.cos(np.outer(rng.uniform(1, 3, size=len(pose.q)), np.arange(frames) / FPS))
    q = np.clip(pose.q + by * rng.choice([-1, 1], size=(len(pose.q), 1)) * wave, low, high)
    moved = Pose(pose.root_pos + rng.normal(scale=0.1, size=(3, 1)), pose.root_mat, q)
    return turned(moved, np.repeat(rng.normal(scale=by, size=(3, 1)), frames, axis=1))


def soma_problem(seed: int = 0, frames: int = 12, share: float = 0.5, temporal=None):
    """Track a motion of anatomic_soma that is inside its limits; a start near it."""
    rng = np.random.default_rng(seed)
    qpos = smooth_qpos(rng, SOMA, frames, FPS, share)
    if temporal is None:
        temporal = random_temporal(rng, SOMA.num_joints, frames, FPS)
        temporal.offset[:3] = qpos[:, :3].T
    problem = tracking_problem(SOMA, qpos, temporal)
    return problem, shaken(rng, SOMA, pose_of(qpos)), pose_of(qpos)


def distance(a: Pose, b: Pose) -> float:
    """Largest difference of two motions [m or rad]."""
    chord = np.sqrt(np.sum((a.root_mat - b.root_mat) ** 2, axis=(0, 1)) / 2)
    return max(np.abs(a.q - b.q).max(), np.abs(a.root_pos - b.root_pos).max(), chord.max())


def inside(robot, pose: Pose) -> bool:
    low, high = robot.joint_range[:, :1], robot.joint_range[:, 1:]
    return bool(np.all(pose.q >= low) and np.all(pose.q <= high))


@pytest.mark.parametrize("coordinates", ["angle", "tanh"])
@pytest.mark.parametrize("frames", [1, 2, 3, 20])
def test_a_motion_inside_the_limits_is_recovered(frames, coordinates):
    temporal = no_temporal(SOMA.num_joints, frames)
    problem, start, truth = soma_problem(1, frames, temporal=temporal)
    found = lm.solve(problem, start, replace(TIGHT, coordinates=coordinates))
    assert found.outcome is Outcome.CONVERGED
    assert found.cost < 1e-12 * found.cost_start
    assert distance(found.pose, truth) < 1e-6


def test_a_motion_of_any_tree_is_recovered(tmp_path):
    """Slides, anchors, any axes; every body tracked, so that no joint is left to chance."""
    for k in range(4):
        rng = np.random.default_rng(k)
        robot = random_robot(rng, tmp_path / str(k), bodies=6)
        qpos = in_range_qpos(rng, robot, 5)
        problem = tracking_problem(robot, qpos, no_temporal(robot.num_joints, 5))
        start = shaken(rng, robot, pose_of(qpos), by=0.05)
        found = lm.solve(problem, start, TIGHT)
        assert found.outcome is Outcome.CONVERGED
        assert found.cost < 1e-9 * found.cost_start
        assert inside(robot, found.pose)


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_the_shortest_clips_converge(frames):
    problem, start, _ = soma_problem(2, frames)
    found = lm.solve(problem, start, RetargetConfig())
    assert found.outcome is Outcome.CONVERGED
    assert found.cost < found.cost_start


def test_angles_and_tanh_coordinates_reach_the_same_minimum():
    problem, start, _ = soma_problem(3, 16)
    angle = lm.solve(problem, start, TIGHT)
    tanh = lm.solve(problem, start, replace(TIGHT, coordinates="tanh"))
    assert angle.outcome is tanh.outcome is Outcome.CONVERGED
    assert angle.cost > 1e-3  # smoothing leaves a cost that the coordinates must agree on
    np.testing.assert_allclose(tanh.cost, angle.cost, rtol=1e-8)
    assert distance(tanh.pose, angle.pose) < 1e-4


def test_the_minimum_does_not_depend_on_the_damping_nor_on_the_start():
    problem, start, truth = soma_problem(4, 16)
    found = lm.solve(problem, start, TIGHT)
    for damping in (1e-6, 1.0, 1e3):
        other = lm.solve(problem, truth, replace(TIGHT, initial_damping=damping))
        np.testing.assert_allclose(other.cost, found.cost, rtol=1e-8)
        assert distance(other.pose, found.pose) < 1e-4


def test_derivatives_in_tanh_coordinates_follow_the_chain_rule():
    problem, start, _ = soma_problem(14, 7)
    tanh = lm._Evaluator(problem, RetargetConfig(coordinates="tanh")).first(start)
    angle = lm._Evaluator(problem, RetargetConfig()).first(tanh.pose)
    np.testing.assert_allclose(tanh.cost, angle.cost, rtol=1e-12)
    low, high = SOMA.joint_range[:, :1], SOMA.joint_range[:, 1:]
    share = (tanh.pose.q - 0.5 * (low + high)) / (0.5 * (high - low))
    slope = np.concatenate([np.ones((6, 7)), 0.5 * (high - low) * (1 - share**2)])
    np.testing.assert_allclose(tanh.gradient, angle.gradient * slope.T, rtol=1e-9, atol=1e-9)
    for name in ("screws", "forces"):
        wanted = getattr(angle.local, name) * slope.T[:, :, None]
        np.testing.assert_allclose(getattr(tanh.local, name), wanted, rtol=1e-9, atol=1e-12)
    for gap, name in enumerate(("same", "next_one", "next_two")):
        later = np.concatenate([slope[:, gap:], np.ones((58, gap))], axis=1)
        wanted = getattr(angle.temporal, name) * slope * later
        found = getattr(tanh.temporal, name)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("side", [0, 1])
def test_a_start_on_the_limits_leaves_them(side):
    problem, _, truth = soma_problem(5, 8, temporal=no_temporal(SOMA.num_joints, 8))
    q = truth.q.copy()
    bound = SOMA.joint_range[:, side : side + 1]
    for joint in range(0, SOMA.num_joints, 3):
        q[joint] = bound[joint]
    found = lm.solve(problem, Pose(truth.root_pos, truth.root_mat, q), TIGHT)
    assert found.outcome is Outcome.CONVERGED
    assert distance(found.pose, truth) < 1e-6


def test_a_start_outside_the_limits_is_brought_inside():
    problem, start, _ = soma_problem(6, 8)
    start = Pose(start.root_pos, start.root_mat, start.q + 5.0)
    for coordinates in ("angle", "tanh"):
        config = RetargetConfig(coordinates=coordinates, max_iterations=3)
        assert inside(SOMA, lm.solve(problem, start, config).pose)


@pytest.mark.parametrize("coordinates", ["angle", "tanh"])
def test_targets_beyond_the_limits_end_on_them(coordinates):
    """Bounds are active: at the end the descent direction points outwards there, else it is 0."""
    frames, beyond = 6, 0.3
    rng = np.random.default_rng(7)
    qpos = smooth_qpos(rng, SOMA, frames, FPS, share=0.5)
    wanted = qpos.copy()
    joint = SOMA.joint_index("LeftLeg_y") if "LeftLeg_y" in SOMA.joint_names else 0
    wanted[:, 7 + joint] = SOMA.joint_range[joint, 1] + beyond
    problem = tracking_problem(SOMA, wanted, no_temporal(SOMA.num_joints, frames))
    found = lm.solve(problem, pose_of(qpos), replace(TIGHT, coordinates=coordinates))
    assert inside(SOMA, found.pose)
    if coordinates == "angle":
        assert found.outcome is Outcome.CONVERGED
        np.testing.assert_array_equal(found.pose.q[joint], SOMA.joint_range[joint, 1])
    else:
        np.testing.assert_allclose(found.pose.q[joint], SOMA.joint_range[joint, 1], atol=1e-2)


def test_a_glitch_of_one_frame_ends_converged_within_the_budgets():
    frames, glitch = 40, 20
    rng = np.random.default_rng(8)
    qpos = smooth_qpos(rng, SOMA, frames, FPS, share=0.4)
    glitched = qpos.copy()
    q = glitched[glitch, 7:]
    low, high = SOMA.joint_range.T
    q[:] = np.where(high - q > q - low, np.minimum(q + 1.2, high), np.maximum(q - 1.2, low))
    temporal = random_temporal(rng, SOMA.num_joints, frames, FPS)
    temporal.offset[:3] = qpos[:, :3].T
    problem = tracking_problem(SOMA, glitched, temporal)
    step = np.diff(glitched[:, 7:], n=2, axis=0) * FPS**2
    assert np.abs(step).max() > 1.5 * 300.0  # the source breaks the budget by far
    found = lm.solve(problem, pose_of(glitched), RetargetConfig())
    assert found.outcome is Outcome.CONVERGED
    stored = found.pose.q.astype(np.float32).astype(np.float64)
    assert np.abs(np.diff(stored, axis=1)).max() * FPS / 20.0 <= 1.0
    assert np.abs(np.diff(stored, n=2, axis=1)).max() * FPS**2 / 300.0 <= 1.0
    # Half a second away the glitch is not felt.
    clean = lm.solve(tracking_problem(SOMA, qpos, temporal), pose_of(qpos), RetargetConfig())
    far = np.abs(np.arange(frames) - glitch) > 15
    assert np.abs(found.pose.q - clean.pose.q)[:, far].max() < 1e-2


@pytest.mark.parametrize("where", ["points", "orientations"])
def test_a_target_that_is_not_finite_is_an_outcome(where):
    problem, start, _ = soma_problem(9, 6)
    objective = problem.objective
    if where == "points":
        objective.points[0].target[2, 1, 3] = np.nan
    else:
        objective.orientations.target[1, 0, 0, 2] = np.inf
    with np.errstate(invalid="ignore", over="ignore"):
        found = lm.solve(problem, start, RetargetConfig())
    assert found.outcome is Outcome.NOT_FINITE
    assert found.iterations == 0


def test_the_cap_on_iterations_is_kept_and_told():
    problem, start, _ = soma_problem(10, 12)
    found = lm.solve(problem, start, replace(TIGHT, max_iterations=2))
    assert found.outcome is Outcome.ITERATION_LIMIT
    assert found.iterations + found.rejected == 2
    assert found.cost < found.cost_start


def test_the_same_problem_gives_the_same_bytes():
    problem, start, _ = soma_problem(11, 12)
    first, second = (lm.solve(problem, start, RetargetConfig()) for _ in range(2))
    np.testing.assert_array_equal(first.pose.q, second.pose.q)
    np.testing.assert_array_equal(first.pose.root_pos, second.pose.root_pos)


def test_a_fixed_root_splits_the_body_into_legs_and_the_rest():
    parts = lm.components(SOMA.tree, root_is_free=False)
    assert sorted(len(part) for part in parts) == [8, 8, 36]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), 6 + np.arange(52))
    (whole,) = lm.components(SOMA.tree, root_is_free=True)
    np.testing.assert_array_equal(whole, np.arange(58))


def test_a_fixed_root_stays_and_its_parts_solve_as_the_whole_does(monkeypatch):
    problem, start, truth = soma_problem(12, 15)
    start = Pose(truth.root_pos, truth.root_mat, start.q)
    config = replace(TIGHT, root="fixed")
    split = lm.solve(problem, start, config)
    assert split.outcome is Outcome.CONVERGED
    np.testing.assert_array_equal(split.pose.root_pos, start.root_pos)
    np.testing.assert_array_equal(split.pose.root_mat, start.root_mat)
    monkeypatch.setattr(lm, "components", lambda tree, free: (6 + np.arange(52),))
    whole = lm.solve(problem, start, config)
    assert whole.iterations == split.iterations
    np.testing.assert_allclose(whole.cost, split.cost, rtol=1e-12)
    np.testing.assert_allclose(whole.pose.q, split.pose.q, atol=1e-9)


def test_a_clip_alone_moves_as_it_does_inside_a_longer_one():
    """Influence decays by a decade in about five frames at 30 fps (design/solver.md)."""
    long, alone = 150, slice(0, 60)
    problem, start, _ = soma_problem(13, long)
    found = lm.solve(problem, start, TIGHT)

    def cut(at: slice):
        objective, temporal = problem.objective, problem.temporal
        points = tuple(
            replace(p, target=p.target[..., at], weight=p.weight[:, at]) for p in objective.points
        )
        turns = objective.orientations
        part = replace(
            objective,
            points=points,
            orientations=replace(turns, target=turns.target[..., at]),
            directions=Directions(np.zeros(0, dtype=np.int64), np.zeros((0, 3)),
                                  np.zeros((0, 3, at.stop - at.start)), np.zeros(0)),
        )  # fmt: skip
        kept = replace(temporal, offset=temporal.offset[:, at])
        begin = Pose(start.root_pos[:, at], start.root_mat[..., at], start.q[:, at])
        return lm.solve(replace(problem, objective=part, temporal=kept), begin, TIGHT)

    short = cut(alone)
    np.testing.assert_allclose(short.pose.q[:, :30], found.pose.q[:, :30], atol=1e-5)
    middle = cut(slice(40, 130))
    np.testing.assert_allclose(middle.pose.q[:, 30:60], found.pose.q[:, 70:100], atol=1e-5)


RAIL = """<mujoco><worldbody><body name="base"><freejoint/><geom size="0.1"/>
<body name="cart"><joint name="x" type="slide" axis="1 0 0" range="-5 5"/><geom size="0.1"/></body>
<body name="other"><geom size="0.1"/></body></body></worldbody></mujoco>"""

RAIL_PROFILE = """schema = 1
name = "rail"
[landmarks.base]
human = "pelvis"
[landmarks.cart]
human = "left_ankle"
[landmarks.other]
human = "right_ankle"
[feet.left]
heel = "cart"
[feet.right]
heel = "other"
"""


def rail_problem(folder, target: np.ndarray, weight: float, budget: float, caps):
    """A cart on a rail that should follow a target: linear but for its budgets."""
    robot = load_robot(write_robot(folder, RAIL, RAIL_PROFILE))
    frames = len(target)
    place = np.zeros((1, 3, frames))
    place[0, 0] = target
    none, far = np.zeros(0, dtype=np.int64), np.full(6, np.inf)
    objective = Objective(
        tree=robot.tree,
        points=(Points(np.array([robot.body_index("cart")]), np.zeros((1, 3)), place,
                       np.full((1, frames), weight)),),
        orientations=Orientations(none, np.zeros((0, 3, 3, frames)), np.zeros(0)),
        directions=Directions(none, np.zeros((0, 3)), np.zeros((0, 3, frames)), np.zeros(0)),
        surface=robot.surface,
        ground_weight=0.0,
    )  # fmt: skip
    zero = np.zeros(7)
    temporal = Temporal(FPS, np.zeros((7, frames)), zero, zero, zero,
                        np.r_[far, caps[0]], np.r_[far, caps[1]], 0.9, budget)  # fmt: skip
    start = Pose(
        np.zeros((3, frames)), np.repeat(np.eye(3)[:, :, None], frames, axis=2), target[None] * 1.0
    )
    return lm.Problem(objective, temporal, robot.joint_range), start


def test_a_capped_step_of_one_joint_is_the_analytic_one(tmp_path):
    """Two frames D apart give way by e each: ``w e = B k (k (D - 2 e) - onset)``, k = fps / V."""
    weight, budget, cap, step = 50.0, 900.0, 2.0, 0.4
    problem, start = rail_problem(
        tmp_path, np.array([0.1, 0.1 + step]), weight, budget, (cap, np.inf)
    )
    found = lm.solve(problem, start, replace(TIGHT, root="fixed"))
    k = FPS / cap
    give = budget * k * (k * step - 0.9) / (weight + 2 * budget * k**2)
    np.testing.assert_allclose(found.pose.q[0], [0.1 + give, 0.1 + step - give], atol=1e-9)
    cost = weight * give**2 + 0.5 * budget * (k * (step - 2 * give) - 0.9) ** 2
    np.testing.assert_allclose(found.cost, cost, rtol=1e-9)


def test_capped_motion_of_one_joint_is_the_convex_optimum(tmp_path):
    """Many frames with both budgets active, against a general optimiser of the same formula."""
    weight, budget, caps = 50.0, 900.0, (2.0, 30.0)
    target = 0.3 * np.sign(np.sin(np.arange(24) / 3.0))
    problem, start = rail_problem(tmp_path, target, weight, budget, caps)
    found = lm.solve(problem, start, replace(TIGHT, root="fixed", tolerance=1e-13))

    def cost(q):
        total, slope = 0.5 * weight * np.sum((q - target) ** 2), weight * (q - target)
        for order, cap in enumerate(caps, start=1):
            rate = np.diff(q, n=order) * FPS**order
            over = np.maximum(np.abs(rate) / cap - 0.9, 0.0)
            total += 0.5 * budget * np.sum(over**2)
            push = budget * over * np.sign(rate) / cap * FPS**order
            for k, factor in enumerate(((-1, 1), (1, -2, 1))[order - 1]):
                slope[k : k + len(push)] += factor * push
        return total, slope

    wanted = minimize(cost, found.pose.q[0] + 0.01, jac=True, method="BFGS",
                      options={"gtol": 1e-9, "maxiter": 5000})  # fmt: skip
    assert np.abs(np.diff(wanted.x)).max() * FPS > 0.9 * caps[0]
    np.testing.assert_allclose(found.cost, wanted.fun, rtol=1e-9)
    np.testing.assert_allclose(found.pose.q[0], wanted.x, atol=1e-5)
