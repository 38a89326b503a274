"""What inspect says about a robot's motion is true of it."""

import json

import numpy as np
import pytest
from builders_points import robot_motion

from motionkit.formats import RobotDescription, describe


@pytest.mark.parametrize("seed", range(5))
def test_the_peak_speed_is_that_of_a_joint_of_known_speed(seed):
    """A joint that swings as a · sin(w t) passes its middle at a · w, up to O((w / fps)²)."""
    rng = np.random.default_rng(seed)
    time = np.arange(500) / 200.0
    swing, rate = rng.uniform(0.2, 1.0), rng.uniform(4.0, 9.0)
    joints = rng.normal(scale=1e-4, size=(500, 4)).cumsum(axis=0)
    fast = int(rng.integers(4))
    joints[:, fast] = swing * np.sin(rate * time)
    names = ("a", "b", "c", "d")
    facts = describe(robot_motion(rng, 500, joint_pos=joints, joint_names=names, fps=200.0))
    assert isinstance(facts, RobotDescription) and facts.peak_joint_speed is not None
    peak = facts.peak_joint_speed
    assert (peak.joint, facts.joint_names, facts.dof) == (names[fast], names, 4)
    assert peak.value == pytest.approx(swing * rate, rel=(rate / 200.0) ** 2)
    assert abs(np.cos(rate * time[peak.frame])) > 0.99


def test_root_bodies_and_what_is_stored():
    rng = np.random.default_rng(0)
    clip = robot_motion(rng, 6, robot="unitree_g1", body_names=("pelvis", "torso"),
                        body_pos_w=np.ones((6, 2, 3)), contact=np.zeros((6, 2)))  # fmt: skip
    facts = describe(clip)
    assert isinstance(facts, RobotDescription)
    assert (facts.what, facts.robot, facts.bodies) == ("robot", "unitree_g1", 2)
    assert facts.stored == ("body_pos_w", "contact") and facts.body_names == ("pelvis", "torso")
    z = clip.root_pos_w[:, 2]
    assert (facts.root_lowest, facts.root_highest) == (z.min(), z.max())
    path = sum(np.hypot(*step) for step in np.diff(clip.root_pos_w[:, :2], axis=0))
    assert facts.travel == pytest.approx(path)
    json.dumps(facts.to_dict(), allow_nan=False)


def test_one_frame_has_no_speed_and_unnamed_joints_are_called_by_their_column():
    rng = np.random.default_rng(1)
    facts = describe(robot_motion(rng, 1))
    assert isinstance(facts, RobotDescription)
    assert facts.peak_joint_speed is None and facts.joint_names is None and facts.bodies == 0
    moving = describe(robot_motion(rng, 5, joint_pos=np.arange(5.0)[:, None] * [0.0, 1.0]))
    assert isinstance(moving, RobotDescription) and moving.peak_joint_speed is not None
    assert (moving.peak_joint_speed.joint, moving.peak_joint_speed.frame) == ("column 1", 0)
