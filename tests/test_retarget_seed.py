"""First joint angles: exact where they can be, inside the limits wherever they are."""

import numpy as np
import pytest
from builders import profile, random_quats, random_robot, write_robot
from builders_retarget import pose_of, smooth_qpos, unitree

from motionkit import rotation
from motionkit.kinematics import Kinematics
from motionkit.retarget.objective import Orientations
from motionkit.retarget.seed import seed
from motionkit.robot import load_robot

SOMA = load_robot("anatomic_soma")
NEAR_GIMBAL = 1.1  # [rad] from which the middle of three angles counts as close to singular here


def landmark_bodies(robot) -> np.ndarray:
    return np.array([robot.body_index(mark.body) for mark in robot.landmarks])


def all_orientations(robot, qpos, bodies=None) -> Orientations:
    """Where a motion has the landmarks turned."""
    bodies = landmark_bodies(robot) if bodies is None else bodies
    _, quat = robot.forward(qpos)
    target = np.moveaxis(rotation.to_matrix(quat[:, bodies]), 0, -1).copy()
    return Orientations(bodies, target, np.ones(len(bodies)))


def seeded(robot, orientations, pose):
    return seed(robot.tree, robot.joint_range, orientations, pose.root_pos, pose.root_mat).q


def largest_turn(robot, orientations, pose, q) -> float:
    """Largest angle between a landmark and its target [rad]."""
    kinematics = Kinematics(robot.tree)
    kinematics.update(pose.root_pos, pose.root_mat, q)
    found = kinematics.R[orientations.body_index]
    chord = np.sqrt(np.sum((found - orientations.target) ** 2, axis=(1, 2)) / 2)
    return float(chord.max())


def chains():
    """Joints of anatomic_soma between one landmark and the next."""
    tree, marked = SOMA.tree, set(landmark_bodies(SOMA).tolist())
    for body in sorted(marked):
        chain, above = [], body
        while above >= 0 and (above == body or above not in marked):
            chain = [*tree.body_joints[above], *chain]
            above = tree.parents[above]
        yield tuple(chain)


def calm_qpos(rng, frames: int) -> np.ndarray:
    """Poses of anatomic_soma inside its limits, far from the singularity of every triple."""
    qpos = smooth_qpos(rng, SOMA, frames, share=0.9)
    q = qpos[:, 7:]
    low, high = np.clip(SOMA.joint_range.T, -NEAR_GIMBAL, NEAR_GIMBAL)
    q[...] = np.clip(q, low, high)
    return qpos


def test_reachable_orientations_are_met_exactly():
    qpos = calm_qpos(np.random.default_rng(0), 40)
    pose, wanted = pose_of(qpos), all_orientations(SOMA, qpos)
    q = seeded(SOMA, wanted, pose)
    assert largest_turn(SOMA, wanted, pose, q) < 1e-7  # arcsin near its ends costs half the digits


def test_reachable_angles_are_recovered_where_three_hinges_determine_them():
    qpos = calm_qpos(np.random.default_rng(1), 40)
    q = seeded(SOMA, all_orientations(SOMA, qpos), pose_of(qpos))
    unique = [j for chain in chains() if len(chain) <= 3 for j in chain]
    assert len(unique) >= 45
    np.testing.assert_allclose(q.T[:, unique], qpos[:, 7:][:, unique], atol=1e-6)


@pytest.mark.parametrize("name", ["anatomic_soma", "tree", "unitree"])
def test_angles_are_inside_the_limits_whatever_is_asked(name, tmp_path, request):
    rng = np.random.default_rng(2)
    if name == "anatomic_soma":
        robot = SOMA
    elif name == "unitree":
        robot = unitree(request.getfixturevalue("shared"), tmp_path)
    else:
        robot = random_robot(rng, tmp_path)
    qpos = smooth_qpos(rng, robot, 30)
    bodies = np.arange(len(robot.body_names))
    target = rotation.to_matrix(random_quats(rng, 30, len(bodies)))
    wanted = Orientations(bodies, np.moveaxis(target, 0, -1).copy(), np.ones(len(bodies)))
    q = seeded(robot, wanted, pose_of(qpos))
    assert np.all(np.isfinite(q))
    assert np.all(q >= robot.joint_range[:, :1]) and np.all(q <= robot.joint_range[:, 1:])


WHEEL = """<mujoco><compiler angle="radian"/><worldbody><body name="a"><freejoint/>
<geom size="0.1"/><body name="b"><joint name="j" axis="0 1 0" range="{low} {high}"/>
<geom size="0.1"/></body><body name="c"><geom size="0.1"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("low, high", [(-1.0, 2.0), (2.0, 5.0), (-6.0, -2.5), (-3.0, 3.1)])
def test_one_hinge_takes_the_angle_of_its_range_or_the_nearest_limit_around_the_circle(
    tmp_path, low, high
):
    robot = load_robot(
        write_robot(tmp_path, WHEEL.format(low=low, high=high), profile("a", "b", "c"))
    )
    low, high = robot.joint_range[0]
    asked = np.linspace(low - 1.0, high + 1.0, 101)
    qpos = np.tile(robot.rest_qpos(), (101, 1))
    qpos[:, 7] = asked
    found = seeded(robot, all_orientations(robot, qpos), pose_of(qpos))[0]
    reachable = (asked >= low) & (asked <= high)
    np.testing.assert_allclose(found[reachable], asked[reachable], atol=1e-7)

    def around(a, b):
        return np.abs(np.mod(a - b + np.pi, 2 * np.pi) - np.pi)

    for angle, got in zip(asked[~reachable], found[~reachable], strict=True):
        turns = angle + 2 * np.pi * np.arange(-2, 3)
        again = turns[(turns >= low) & (turns <= high)]
        nearest = 0.0 if len(again) else min(around(angle, low), around(angle, high))
        np.testing.assert_allclose(around(angle, got), nearest, atol=1e-7)


def test_unitree_orientations_are_met_by_its_chains(shared, tmp_path):
    """Chains that are no three perpendicular hinges are swept; they end close to their targets."""
    robot = unitree(shared, tmp_path)
    qpos = smooth_qpos(np.random.default_rng(3), robot, 30, share=0.4)
    pose = pose_of(qpos)
    wanted = all_orientations(robot, qpos, np.arange(len(robot.body_names)))
    q = seeded(robot, wanted, pose)
    assert largest_turn(robot, wanted, pose, q) < 1e-7


def test_the_order_of_frames_and_the_cut_do_not_matter():
    rng = np.random.default_rng(4)
    qpos = calm_qpos(rng, 30)
    whole = seeded(SOMA, all_orientations(SOMA, qpos), pose_of(qpos))
    for pick in (rng.permutation(30), np.arange(7, 19), np.array([11])):
        some = seeded(SOMA, all_orientations(SOMA, qpos[pick]), pose_of(qpos[pick]))
        np.testing.assert_allclose(some, whole[:, pick], atol=1e-13)


def test_the_heading_of_the_source_does_not_matter():
    qpos = smooth_qpos(np.random.default_rng(5), SOMA, 30, share=0.8)
    still = seeded(SOMA, all_orientations(SOMA, qpos), pose_of(qpos))
    for yaw in np.linspace(0.3, 6.0, 5):
        turn = rotation.from_axis_angle("Z", np.asarray(yaw))
        other = qpos.copy()
        other[:, :3] = rotation.rotate(turn, qpos[:, :3])
        other[:, 3:7] = rotation.multiply(turn, qpos[:, 3:7])
        found = seeded(SOMA, all_orientations(SOMA, other), pose_of(other))
        np.testing.assert_allclose(found, still, atol=1e-9)


ARM = """<mujoco><compiler angle="radian"/><worldbody><body name="a"><freejoint/>
<geom size="0.1"/><body name="b"><joint name="x" axis="1 0 0" range="-2 2"/>
<joint name="y" axis="0 1 0" range="-2 2"/><joint name="z" axis="0 0 1" range="-2 2"/>
<geom size="0.1"/></body><body name="c"><geom size="0.1"/></body></body></worldbody></mujoco>"""


def test_in_a_singularity_the_angles_are_those_of_the_frames_around_it(tmp_path):
    """At a middle angle of 90° only the sum of the others shows; nothing may jump there."""
    robot = load_robot(write_robot(tmp_path, ARM, profile("a", "b", "c")))
    frames = 61
    qpos = np.tile(robot.rest_qpos(), (frames, 1))
    qpos[:, 7], qpos[:, 9] = 0.4, -0.3
    qpos[:, 8] = 0.5 * np.pi * np.sin(np.linspace(0, np.pi, frames))
    for side in (1.0, -1.0):
        qpos[:, 8] *= side
        q = seeded(robot, all_orientations(robot, qpos), pose_of(qpos))
        np.testing.assert_allclose(q.T, qpos[:, 7:], atol=1e-6)
