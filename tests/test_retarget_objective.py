"""Cost by its formula, gradients by finite differences, blocks by MuJoCo's Jacobians."""

import numpy as np
import pytest
from builders import random_robot
from builders_retarget import (
    in_range_qpos,
    mujoco_jacobians,
    only,
    pose_of,
    random_objective,
    turned,
    unitree,
)

from motionkit import rotation
from motionkit.kinematics import BLOCK
from motionkit.retarget.objective import Assembler, Pose
from motionkit.robot import load_robot

TERMS = ("points", "orientations", "directions", "ground")
STEP = 1e-5
FRAMES = 4


@pytest.fixture(params=["anatomic_soma", "tree1", "tree2", "tree3", "unitree_g1"])
def robot(request, tmp_path):
    if request.param == "anatomic_soma":
        return load_robot("anatomic_soma")
    if request.param == "unitree_g1":
        return unitree(request.getfixturevalue("shared"), tmp_path)
    rng = np.random.default_rng(int(request.param[4:]))
    return random_robot(rng, tmp_path, bodies=int(rng.integers(4, 14)))


def moved(pose: Pose, unknown: int, by: float) -> Pose:
    if 3 <= unknown < 6:
        rotvec = np.zeros((3, pose.q.shape[1]))
        rotvec[unknown - 3] = by
        return turned(pose, rotvec)
    root_pos, q = pose.root_pos.copy(), pose.q.copy()
    (root_pos if unknown < 3 else q)[unknown if unknown < 3 else unknown - 6] += by
    return Pose(root_pos, pose.root_mat, q)


def formula(robot, objective, qpos) -> np.ndarray:
    """The cost of each frame from the poses of the bodies, term by term, as it is documented."""
    pos, quat = robot.forward(qpos)
    mat = rotation.to_matrix(quat)
    cost = np.zeros(len(qpos))
    for points in objective.points:
        b = points.body_index
        error = pos[:, b] + rotation.rotate(quat[:, b], points.offset)
        error -= np.moveaxis(points.target, -1, 0)
        cost += 0.5 * np.sum(points.weight.T * np.sum(error**2, axis=2), axis=1)
    turns = objective.orientations
    error = (mat[:, turns.body_index] - np.moveaxis(turns.target, -1, 0)) / np.sqrt(2)
    cost += 0.5 * np.sum(turns.weight * np.sum(error**2, axis=(2, 3)), axis=1)
    limbs = objective.directions
    error = rotation.rotate(quat[:, limbs.body_index], limbs.local)
    error -= np.moveaxis(limbs.target, -1, 0)
    cost += 0.5 * np.sum(limbs.weight * np.sum(error**2, axis=2), axis=1)
    b = objective.surface.body_index
    height = (pos[:, b] + rotation.rotate(quat[:, b], objective.surface.center))[..., 2]
    depth = np.minimum(height - objective.surface.radius, 0.0)
    return cost + 0.5 * objective.ground_weight * np.sum(depth**2, axis=1)


def dense_blocks(robot, objective, qpos) -> np.ndarray:
    """``Jᵀ W J`` of each frame, from MuJoCo's Jacobians of all bodies."""
    pos, quat = robot.forward(qpos)
    mat, jac = rotation.to_matrix(quat), mujoco_jacobians(robot, qpos)
    linear, angular = jac[:, :, :3], jac[:, :, 3:]

    def at(body, offset):
        arm = rotation.rotate(quat[:, body], offset)
        return linear[:, body] + np.cross(angular[:, body], arm[..., None], axis=2)

    out = np.zeros((len(qpos), jac.shape[-1], jac.shape[-1]))
    for points in objective.points:
        J = at(points.body_index, points.offset)
        out += np.einsum("pt,tpim,tpin->tmn", points.weight, J, J)
    turns = objective.orientations
    J = angular[:, turns.body_index]
    out += np.einsum("p,tpim,tpin->tmn", turns.weight, J, J)
    limbs = objective.directions
    c = np.einsum("tpij,pj->tpi", mat[:, limbs.body_index], limbs.local)
    J = np.cross(angular[:, limbs.body_index], c[..., None], axis=2)
    out += np.einsum("p,tpim,tpin->tmn", limbs.weight, J, J)
    surface = objective.surface
    J = at(surface.body_index, surface.center)[:, :, 2]
    b = surface.body_index
    height = (pos[:, b] + rotation.rotate(quat[:, b], surface.center))[..., 2] - surface.radius
    weight = objective.ground_weight * (height < 0)
    return out + np.einsum("tp,tpm,tpn->tmn", weight, J, J)


def blocks_of(robot, found) -> np.ndarray:
    """The symmetric blocks that the factors stand for."""
    n = robot.num_joints
    above = np.zeros((6 + n, 6 + n), dtype=bool)
    above[:6] = True
    above[6:, 6:] = robot.tree.is_below
    upper = np.einsum("tik,tjk->tij", found.screws, found.forces) * above
    upper = np.triu(upper)
    return upper + np.transpose(np.triu(upper, 1), (0, 2, 1))


def case(robot, seed=0):
    rng = np.random.default_rng(seed)
    qpos = in_range_qpos(rng, robot, FRAMES)  # about the ground, so that bodies sink into it
    return qpos, random_objective(rng, robot, qpos)


def test_cost_is_half_the_sum_of_squares_that_is_documented(robot):
    qpos, objective = case(robot)
    found = Assembler(objective).assemble(pose_of(qpos)).cost
    np.testing.assert_allclose(found, formula(robot, objective, qpos), rtol=1e-12)
    for term in TERMS:
        part = only(objective, term)
        found = Assembler(part).assemble(pose_of(qpos)).cost
        assert np.all(found >= 0) and found.max() > 0, term
        np.testing.assert_allclose(found, formula(robot, part, qpos), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("term", [*TERMS, "all"])
def test_gradient_is_that_of_finite_differences(robot, term):
    qpos, objective = case(robot, seed=1)
    if term != "all":
        objective = only(objective, term)
    assembler, pose = Assembler(objective), pose_of(qpos)
    found = assembler.assemble(pose).gradient
    unknowns = np.arange(found.shape[1])
    if term != "all":
        unknowns = np.random.default_rng(0).choice(unknowns, size=min(12, len(unknowns)))
    for k in unknowns:
        ahead = assembler.assemble(moved(pose, k, STEP)).cost
        behind = assembler.assemble(moved(pose, k, -STEP)).cost
        wanted = (ahead - behind) / (2 * STEP)
        # Central differences of step h: h² of truncation, and rounding of the cost over h.
        np.testing.assert_allclose(found[:, k], wanted, atol=3e-8 * np.abs(found).max())


@pytest.mark.parametrize("term", [*TERMS, "all"])
def test_blocks_are_those_of_mujocos_jacobians(robot, term):
    qpos, objective = case(robot, seed=2)
    if term != "all":
        objective = only(objective, term)
    found = blocks_of(robot, Assembler(objective).assemble(pose_of(qpos)))
    wanted = dense_blocks(robot, objective, qpos)
    assert np.abs(wanted).max() > 0
    np.testing.assert_allclose(found, wanted, atol=1e-12 * np.abs(wanted).max())


def test_blocks_do_not_couple_joints_of_different_limbs(robot):
    """The factors are read above the diagonal of the tree only; the rest must be zero."""
    qpos, objective = case(robot, seed=3)
    wanted = dense_blocks(robot, objective, qpos)[:, 6:, 6:]
    below = robot.tree.is_below
    assert np.abs(wanted[:, ~(below | below.T)]).max(initial=0.0) == 0


def test_evaluation_far_from_the_origin_is_that_at_the_origin():
    robot = load_robot("anatomic_soma")
    qpos, objective = case(robot, seed=4)
    shift = np.array([2e3, -1e3, 0.0])
    far = qpos.copy()
    far[:, :3] += shift
    for points in objective.points:
        points.target[...] += shift[:, None]
    distant = Assembler(objective).assemble(pose_of(far))
    for points in objective.points:
        points.target[...] -= shift[:, None]
    near = Assembler(objective).assemble(pose_of(qpos))
    np.testing.assert_allclose(distant.cost, near.cost, rtol=1e-9)
    np.testing.assert_allclose(distant.forces, near.forces, atol=1e-9 * np.abs(near.forces).max())


def test_frames_do_not_depend_on_how_many_are_evaluated_at_once(tmp_path):
    rng = np.random.default_rng(5)
    robot = random_robot(rng, tmp_path, bodies=6)
    qpos = in_range_qpos(rng, robot, BLOCK + 3)
    objective = random_objective(rng, robot, qpos)
    assembler, pose = Assembler(objective), pose_of(qpos)
    whole = assembler.assemble(pose)
    again = Assembler(objective).assemble(pose)
    for name in ("cost", "gradient", "screws", "forces"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(again, name))
    other = Pose(pose.root_pos + 0.1, pose.root_mat, pose.q)
    mixed = [slice(2, 7), slice(BLOCK - 2, BLOCK + 3)]
    is_new = np.zeros(len(qpos), dtype=bool)
    for at in mixed:
        is_new[at] = True
    partly = Pose(np.where(is_new, other.root_pos, pose.root_pos), pose.root_mat, pose.q)
    found = assembler.assemble(partly, mixed, whole)
    wanted = assembler.assemble(partly)
    for name in ("cost", "gradient", "screws", "forces"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-12)
    assert np.any(found.cost != whole.cost)


def test_the_ground_costs_nothing_until_a_sphere_touches_it(tmp_path):
    robot = random_robot(np.random.default_rng(6), tmp_path, bodies=4)
    qpos, objective = case(robot, seed=6)
    objective = only(objective, "ground")
    pos, quat = robot.forward(qpos)
    surface, b = objective.surface, objective.surface.body_index
    height = (pos[:, b] + rotation.rotate(quat[:, b], surface.center))[..., 2] - surface.radius
    qpos[:, 2] -= height.min(axis=1)  # the lowest sphere touches the ground
    for depth, is_free in ((-1e-4, True), (1e-4, False)):
        lower = qpos.copy()
        lower[:, 2] -= depth
        cost = Assembler(objective).assemble(pose_of(lower)).cost
        assert np.all((cost == 0) == is_free)
        assert np.all(cost < 0.51 * 1e4 * depth**2 * len(b))
