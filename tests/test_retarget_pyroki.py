"""pyroki and jaxls as an oracle: the same cost, the same minimum, told honestly."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from builders import random_robot, write_robot
from builders_retarget import (
    human_from_robot,
    in_range_qpos,
    pose_of,
    random_objective,
    random_temporal,
    smooth_qpos,
    tracking_problem,
)

from motionkit import rotation
from motionkit.errors import ConfigError
from motionkit.retarget import Outcome, RetargetConfig, lm, pyroki_solver, retarget
from motionkit.retarget.lm import Problem
from motionkit.retarget.objective import Assembler, Pose
from motionkit.retarget.pyroki_model import Box, Statement
from motionkit.retarget.pyroki_solver import predicted_decrease, solve_with_pyroki
from motionkit.retarget.temporal import assemble
from motionkit.retarget.xla import SCHEDULER_FLAG
from motionkit.robot import load_robot

TIGHT = RetargetConfig(tolerance=1e-11)


def in_tanh_reach(robot, pose: Pose) -> Pose:
    """The motion with the last thousandth before each limit taken away, as coordinates have it."""
    box = Box(robot.joint_range)
    return Pose(pose.root_pos, pose.root_mat, box.to_q(box.from_q(pose.q)))


def our_cost(problem: Problem, pose: Pose) -> float:
    local = Assembler(problem.objective).assemble(pose)
    rows = np.concatenate([pose.root_pos, np.zeros_like(pose.root_pos), pose.q])
    return float(local.cost.sum() + assemble(problem.temporal, rows).cost.sum())


def require_same_cost(robot, frames: int, rng, root_is_free: bool):
    qpos = in_range_qpos(rng, robot, frames)
    problem = Problem(
        random_objective(rng, robot, qpos),
        random_temporal(rng, robot.num_joints, frames),
        robot.joint_range,
    )
    poses = [in_tanh_reach(robot, pose_of(qpos))]
    root = poses[0] if not root_is_free else None
    for _ in range(2):
        other = in_tanh_reach(robot, pose_of(in_range_qpos(rng, robot, frames)))
        poses.append(Pose(root.root_pos, root.root_mat, other.q) if root else other)
    with pyroki_solver._jax_in_float64():
        import jax

        statement = Statement(problem, poses[0], root_is_free)
        residuals = jax.jit(statement._problem.compute_residual_vector)
        for pose in poses:
            theirs = 0.5 * float(np.sum(np.square(residuals(statement._values(pose)))))
            np.testing.assert_allclose(theirs, our_cost(problem, pose), rtol=1e-9)


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "seed, frames, root_is_free",
    [
        (0, 4, True),
        pytest.param(1, 3, False, marks=SLOW),
        pytest.param(3, 1, True, marks=SLOW),
    ],
)
def test_cost_of_a_random_tree_is_ours(tmp_path, seed, frames, root_is_free):
    """Slides, anchors, any axes, references; poses in no order, so that budgets are exceeded."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, tmp_path, bodies=6)
    require_same_cost(robot, frames, rng, root_is_free)


@pytest.mark.slow
@pytest.mark.parametrize("root_is_free", [True, False])
def test_cost_of_anatomic_soma_is_ours(root_is_free):
    robot = load_robot("anatomic_soma")
    require_same_cost(robot, 3, np.random.default_rng(3), root_is_free)


def beside(rng, robot, pose: Pose, by: float) -> Pose:
    low, high = robot.joint_range[:, :1], robot.joint_range[:, 1:]
    q = pose.q + by * rng.choice([-1.0, 1.0], size=(len(pose.q), 1))
    return Pose(pose.root_pos + 0.05, pose.root_mat, np.clip(q, low, high))


def require_same_minimum(robot, problem: Problem, start: Pose, config: RetargetConfig):
    ours, theirs = lm.solve(problem, start, config), solve_with_pyroki(problem, start, config)
    assert ours.outcome is theirs.outcome is Outcome.CONVERGED
    assert theirs.cost < 0.9 * theirs.cost_start
    np.testing.assert_allclose(theirs.cost, our_cost(problem, theirs.pose), rtol=1e-12)
    np.testing.assert_allclose(theirs.cost, ours.cost, rtol=1e-6)
    np.testing.assert_allclose(theirs.pose.q, ours.pose.q, atol=1e-4)
    np.testing.assert_allclose(theirs.pose.root_pos, ours.pose.root_pos, atol=1e-4)
    np.testing.assert_allclose(theirs.pose.root_mat, ours.pose.root_mat, atol=1e-4)
    low, high = robot.joint_range[:, :1], robot.joint_range[:, 1:]
    assert np.all(theirs.pose.q >= low) and np.all(theirs.pose.q <= high)
    return ours


def small_problem(folder, frames: int = 6):
    """A small tree that tracks a motion inside its limits."""
    rng = np.random.default_rng(4)
    robot = random_robot(rng, folder, bodies=4)
    qpos = smooth_qpos(rng, robot, frames, share=0.4)
    temporal = random_temporal(rng, robot.num_joints, frames)
    temporal.offset[:3] = qpos[:, :3].T
    return robot, tracking_problem(robot, qpos, temporal), beside(rng, robot, pose_of(qpos), 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("root", ["free", "fixed"])
def test_a_small_tree_reaches_the_same_minimum(tmp_path, root):
    robot, problem, start = small_problem(tmp_path)
    require_same_minimum(robot, problem, start, replace(TIGHT, root=root))


@pytest.mark.slow
def test_anatomic_soma_reaches_the_same_minimum_with_budgets_and_ground():
    """Budgets are cut until they act, and the wanted motion sinks into the ground."""
    robot, frames = load_robot("anatomic_soma"), 8
    rng = np.random.default_rng(5)
    qpos = smooth_qpos(rng, robot, frames, share=0.5, speed=1.5)
    pos, quat = robot.forward(qpos)
    center = rotation.rotate(quat[:, robot.surface.body_index], robot.surface.center)
    height = (pos[:, robot.surface.body_index] + center)[..., 2] - robot.surface.radius
    qpos[:, 2] -= height.min() + 0.05
    temporal = random_temporal(rng, robot.num_joints, frames, tight=0.1)
    temporal.offset[:3] = qpos[:, :3].T
    problem = tracking_problem(robot, qpos, temporal, ground_weight=1e4)
    ours = require_same_minimum(robot, problem, beside(rng, robot, pose_of(qpos), 0.1), TIGHT)
    q, fps = ours.pose.q, temporal.fps
    cap = temporal.max_velocity[6:, None], temporal.max_acceleration[6:, None]
    assert np.any(np.abs(np.diff(q, axis=1)) * fps > 0.9 * cap[0])
    assert np.any(np.abs(np.diff(q, n=2, axis=1)) * fps**2 > 0.9 * cap[1])
    with_ground = Assembler(problem.objective).assemble(ours.pose).cost.sum()
    without = Assembler(replace(problem.objective, ground_weight=0.0)).assemble(ours.pose).cost
    assert with_ground > without.sum() + 1e-6


@pytest.mark.slow
def test_a_clip_is_retargeted_by_pyroki():
    robot, frames = load_robot("anatomic_soma"), 8
    rng = np.random.default_rng(6)
    human = human_from_robot(robot, smooth_qpos(rng, robot, frames), 30.0)
    config = replace(TIGHT, tolerance=1e-10)
    theirs = retarget(human, robot, replace(config, solver="pyroki"))
    ours = retarget(human, robot, config)
    assert theirs.report.outcome is ours.report.outcome is Outcome.CONVERGED
    assert theirs.report.solver == "pyroki/tanh" and theirs.report.iterations > 0
    np.testing.assert_allclose(theirs.report.cost, ours.report.cost, rtol=1e-6)
    np.testing.assert_allclose(theirs.clip.qpos, ours.clip.qpos, atol=1e-4)


@pytest.mark.slow
def test_conjugate_gradients_reach_the_same_minimum(tmp_path, monkeypatch):
    """The linear solver of long clips, here on a short one."""
    monkeypatch.setattr("motionkit.retarget.pyroki_model.DENSE_UNKNOWNS", 0)
    robot, problem, start = small_problem(tmp_path)
    require_same_minimum(robot, problem, start, replace(TIGHT, tolerance=1e-9))


@pytest.mark.slow
def test_a_cap_on_iterations_is_told_and_kept(tmp_path):
    _, problem, start = small_problem(tmp_path)
    found = solve_with_pyroki(problem, start, replace(TIGHT, max_iterations=2))
    assert found.outcome is Outcome.ITERATION_LIMIT
    assert found.iterations + found.rejected == 2
    assert found.cost < found.cost_start


def test_a_target_that_is_not_finite_is_an_outcome(tmp_path):
    _, problem, start = small_problem(tmp_path)
    problem.objective.points[0].target[0, 0, 2] = np.nan
    assert solve_with_pyroki(problem, start, TIGHT).outcome is Outcome.NOT_FINITE


def test_a_robot_without_joints_is_refused(tmp_path):
    xml = """<mujoco><worldbody><body name="a"><freejoint/><geom size="0.1"/>
    <body name="b"><geom size="0.1"/></body></body></worldbody></mujoco>"""
    text = """schema = 1
name = "stone"
[landmarks.a]
human = "pelvis"
[landmarks.b]
human = "left_ankle"
[feet.left]
heel = "b"
[feet.right]
heel = "b"
"""
    robot = load_robot(write_robot(tmp_path, xml, text))
    qpos = np.tile(robot.rest_qpos(), (2, 1))
    problem = tracking_problem(robot, qpos, random_temporal(np.random.default_rng(0), 0, 2))
    with pytest.raises(ConfigError) as caught:
        solve_with_pyroki(problem, pose_of(qpos), TIGHT)
    assert str(caught.value) == "pyroki takes no robot without joints"
    assert caught.value.help == "use --solver lm for this robot"


def test_predicted_decrease_ends_at_a_minimum_and_foresees_the_way_to_it(tmp_path):
    """Near a minimum the prediction is what is then saved; at the minimum nothing is left."""
    _, problem, start = small_problem(tmp_path, frames=9)
    end = lm.solve(problem, start, replace(TIGHT, tolerance=1e-13))
    cost, hoped = predicted_decrease(problem, end.pose, root_is_free=True)
    np.testing.assert_allclose(cost, end.cost, rtol=1e-12)
    assert hoped < 1e-10 * cost
    near = Pose(end.pose.root_pos + 1e-4, end.pose.root_mat, end.pose.q)
    far, hoped = predicted_decrease(problem, near, root_is_free=True)
    np.testing.assert_allclose(hoped, far - cost, rtol=1e-2)


def test_predicted_decrease_stops_at_the_limits(tmp_path):
    """A joint on a limit that it is pushed against has nothing to save; the others have."""
    robot, problem, start = small_problem(tmp_path)
    q = start.q.copy()
    q[0] = robot.joint_range[0, 1]
    pushed = Pose(start.root_pos, start.root_mat, q)
    gradient = Assembler(problem.objective).assemble(pushed).gradient[:, 6]
    rows = np.concatenate([pushed.root_pos, np.zeros_like(pushed.root_pos), q])
    gradient = gradient + assemble(problem.temporal, rows).gradient[6]
    held, room = pyroki_solver._held(problem.limits, q, np.c_[np.zeros((6, 6)), gradient,
                                     np.zeros((6, len(q) - 1))])  # fmt: skip
    np.testing.assert_array_equal(held[:, 6], gradient < 0)
    assert not held[:, :6].any() and not held[:, 7:].any()
    assert np.all(room[held] == 0)


def run_python(code: str, flags: str | None) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "JAX_ENABLE_X64")}
    if flags is not None:
        environment["XLA_FLAGS"] = flags
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


FLAG = f"{SCHEDULER_FLAG}=false"


@pytest.mark.parametrize(
    "flags, wanted",
    [
        (None, FLAG),
        ("", FLAG),
        ("--xla_cpu_enable_fast_math=false", f"--xla_cpu_enable_fast_math=false {FLAG}"),
        (f"{SCHEDULER_FLAG}=true", f"{SCHEDULER_FLAG}=true"),
        (FLAG, FLAG),
    ],
)
def test_the_flag_of_xla_joins_the_users_own(flags, wanted):
    code = """
import os, sys
from motionkit.retarget.xla import prepare_xla
assert "jax" not in sys.modules
assert prepare_xla() == "" and prepare_xla() == ""
print(os.environ["XLA_FLAGS"])
"""
    assert run_python(code, flags) == wanted


# A solve that goes as far as the statement of the problem, where compiling would begin.
SOLVE = """
import os, sys
import numpy as np
from motionkit.kinematics import split_qpos
from motionkit.retarget import RetargetConfig, lm, pyroki_solver
from motionkit.retarget.objective import Directions, Objective, Orientations, Points, Pose
from motionkit.retarget.temporal import Temporal
from motionkit.retarget.xla import prepare_xla
from motionkit.robot import load_robot
inside = []

class Stop(Exception):
    pass

def state(*args):
    import jax.numpy as jnp
    inside.append(jnp.ones(1).dtype)
    raise Stop

pyroki_solver.Statement = state

def solve():
    robot = load_robot("anatomic_soma")
    none, n = np.zeros(0, dtype=np.int64), robot.num_joints
    objective = Objective(
        robot.tree, (), Orientations(none, np.zeros((0, 3, 3, 1)), np.zeros(0)),
        Directions(none, np.zeros((0, 3)), np.zeros((0, 3, 1)), np.zeros(0)),
        robot.surface, 0.0)
    zero, far = np.zeros(6 + n), np.full(6 + n, np.inf)
    temporal = Temporal(30.0, np.ones((6 + n, 1)), zero + 1.0, zero, zero, far, far, 0.9, 1.0)
    problem = lm.Problem(objective, temporal, robot.joint_range)
    try:
        pyroki_solver.solve_with_pyroki(
            problem, Pose(*split_qpos(robot.rest_qpos()[None])), RetargetConfig())
    except Stop:
        pass
    assert inside
"""


def test_the_flag_is_set_before_jax_is_imported_and_jax_keeps_its_precision():
    code = (
        SOLVE
        + """
seen = []
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "jax":
            seen.append(os.environ.get("XLA_FLAGS", ""))
sys.meta_path.insert(0, Watch())
solve()
import jax.numpy as jnp
print(seen[0], "|", inside[0], "|", jnp.ones(1).dtype)
"""
    )
    assert run_python(code, None) == f"{FLAG} | float64 | float32"


def test_jax_that_was_imported_before_is_told_and_not_refused():
    note = run_python("import jax\n" + SOLVE + "print(prepare_xla())\nsolve()", None)
    assert note == (
        "jax was imported before motionkit could set XLA_FLAGS; on some CPUs XLA hangs on long "
        f"clips: start Python with XLA_FLAGS={FLAG}"
    )
    assert run_python("import jax\n" + SOLVE + "print(prepare_xla())", FLAG) == ""


def test_the_urdf_is_the_tree(tmp_path):
    """pyroki's poses in float64 are ours to 1e-12, for every body."""
    from motionkit.retarget.pyroki_model import _Terms

    rng = np.random.default_rng(0)
    robot = random_robot(rng, tmp_path, bodies=9)
    qpos = in_range_qpos(rng, robot, 4)
    qpos[:, :3], qpos[:, 3:7] = 0.0, rotation.IDENTITY
    pos, quat = robot.forward(qpos)
    with pyroki_solver._jax_in_float64():
        problem = tracking_problem(robot, qpos, random_temporal(rng, robot.num_joints, 4))
        terms = _Terms(problem, Box(robot.joint_range))
        q = qpos[:, 7:] - robot.tree.ref
        found = np.asarray(terms._robot.forward_kinematics(q[:, terms._order]))
    found = found[:, terms._links]
    np.testing.assert_allclose(found[..., 4:], pos, atol=1e-12)
    np.testing.assert_allclose(
        rotation.to_matrix(found[..., :4]), rotation.to_matrix(quat), atol=1e-12
    )
