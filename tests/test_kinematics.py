import numpy as np
import pytest
from builders import random_qpos, random_robot

from motionkit.kinematics import Kinematics, apply, path_to_root, split_qpos


@pytest.fixture
def robot(tmp_path):
    return random_robot(np.random.default_rng(21), tmp_path, bodies=14)


def test_a_workspace_used_before_gives_the_same_poses(robot):
    rng = np.random.default_rng(0)
    first, second = Kinematics(robot.tree), Kinematics(robot.tree)
    first.update(*split_qpos(random_qpos(rng, robot, 9)))
    for frames in (9, 4):
        parts = split_qpos(random_qpos(rng, robot, frames))
        first.update(*parts)
        second.update(*parts)
        for name in ("x", "R", "axis", "arm"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


def test_poses_do_not_touch_their_inputs(robot):
    parts = split_qpos(random_qpos(np.random.default_rng(1), robot, 5))
    before = [part.copy() for part in parts]
    Kinematics(robot.tree).update(*parts)
    for part, old in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, old)


def test_screws_are_those_of_bodies_that_move_by_one_joint(robot):
    """A small turn of one joint moves every body below by its screw, and no other body."""
    rng = np.random.default_rng(2)
    tree, step = robot.tree, 1e-6
    root_pos, root_mat, q = split_qpos(random_qpos(rng, robot, 3))
    work = Kinematics(tree)
    work.update(root_pos, root_mat, q)
    axis, arm, x = work.axis.copy(), work.arm.copy(), work.x.copy()
    for j, own in enumerate(tree.joint_body):
        moved = []
        for sign in (1, -1):
            near = q.copy()
            near[j] += sign * step
            work.update(root_pos, root_mat, near)
            moved.append(work.x.copy())
        velocity = (moved[0] - moved[1]) / (2 * step)
        for b in range(len(tree.parents)):
            wanted = np.zeros((3, 3))
            if own in path_to_root(tree, b):
                at = x[b] - root_pos - arm[j]
                wanted = axis[j] if tree.is_slide[j] else np.cross(axis[j], at, axis=0)
            np.testing.assert_allclose(velocity[b], wanted, atol=1e-8)


def test_is_below_says_which_joints_move_a_joint(robot):
    tree, below = robot.tree, robot.tree.is_below
    for j, b in enumerate(tree.joint_body):
        above = [i for i, a in enumerate(tree.joint_body)
                 if (a in path_to_root(tree, b) and a != b) or (a == b and i <= j)]  # fmt: skip
        np.testing.assert_array_equal(np.flatnonzero(below[:, j]), above)


def test_apply_is_a_product_also_of_zeros():
    rng = np.random.default_rng(3)
    mat = rng.normal(size=(3, 3, 7))
    for vector in (*np.eye(3), np.zeros(3), rng.normal(size=3)):
        wanted = np.einsum("ijf,j->if", mat, vector)
        np.testing.assert_allclose(apply(mat, vector), wanted, atol=1e-15)
