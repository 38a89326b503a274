"""Known layouts against the makers' models, and what tells the order of quaternions."""

import numpy as np
import pytest
from builders_robot import G1, robot_truth

from motionkit import rotation
from motionkit.formats.quat_order import find_body_order, find_order
from motionkit.formats.robot_layouts import LAYOUTS, SOMA23_BODIES, layout_by_names
from motionkit.kinematics import Kinematics, split_qpos
from motionkit.mjcf import compile_mjcf, joint_range, read_tree

Z = np.array([0.0, 0.0, 1.0])
MODELS = {"unitree_g1": "unitree_g1/g1.xml", "unitree_h1_2": "h1_2/h1_2.xml"}


def layout_of(robot: str):
    return next(layout for layout in LAYOUTS if layout.robot == robot)


@pytest.mark.parametrize("robot", MODELS)
def test_names_ranges_and_soles_are_those_of_the_model(shared, robot):
    path = shared / "data" / "robots" / MODELS[robot]
    model, _ = compile_mjcf(path.name, path.read_bytes(), path.parent)
    tree, joints, bodies = read_tree(path.name, model)
    layout = layout_of(robot)
    assert tuple(model.joint(j).name for j in joints) == layout.joints
    assert np.abs(np.array(layout.limits) - joint_range(path.name, model, joints)).max() < 1e-6
    rng = np.random.default_rng(0)
    angles = rng.uniform(-0.4, 0.4, size=(20, len(joints)))
    root = rotation.normalize(rng.normal(size=(20, 4)))
    kinematics = Kinematics(tree)
    kinematics.update(*split_qpos(np.concatenate([np.zeros((20, 3)), root, angles], axis=1)))
    names = [model.body(b).name for b in bodies]
    soles = [kinematics.R[names.index(f"{side}_ankle_roll_link")] for side in ("left", "right")]
    tilt = np.min([np.arccos(np.clip(sole[2, 2], -1, 1)) for sole in soles], axis=0)
    assert np.abs(layout.foot_tilt(root, angles) - tilt).max() < 1e-4  # the file's six digits


def test_layouts_are_told_apart_by_width_and_by_names():
    assert [len(layout.joints) for layout in LAYOUTS] == [29, 23, 27, 19]
    for layout in LAYOUTS:
        assert len(set(layout.joints)) == len(layout.joints)
        assert layout_by_names(layout.breadth_first) is layout
        assert all(low < high for low, high in layout.limits)
    assert layout_by_names(("a", "b")) is None and len(SOMA23_BODIES) == 23


def test_breadth_first_goes_level_by_level():
    """The beginning of Isaac Lab's own list for the G1 of 29 joints."""
    assert G1.breadth_first[:11] == (
        "left_hip_pitch_joint", "right_hip_pitch_joint", "waist_yaw_joint", "left_hip_roll_joint",
        "right_hip_roll_joint", "waist_roll_joint", "left_hip_yaw_joint", "right_hip_yaw_joint",
        "waist_pitch_joint", "left_knee_joint", "right_knee_joint",
    )  # fmt: skip


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_bodies_tell_the_order_and_never_the_wrong_one(order):
    for seed in range(30):
        truth = robot_truth(np.random.default_rng(seed))
        quat = truth.body_quat if order == "wxyz" else rotation.to_xyzw(truth.body_quat)
        assert find_body_order(quat, truth.body_pos).order == order


@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_the_root_tells_the_order_or_nothing_but_never_the_wrong_one(order):
    found = []
    for seed in range(60):
        truth = robot_truth(np.random.default_rng(seed), frames=int(2 + seed))
        quat = truth.root_quat if order == "wxyz" else rotation.to_xyzw(truth.root_quat)
        found.append(find_order(quat, truth.root_pos, Z).order)
        sole = find_order(
            quat, truth.root_pos, Z, lambda root, t=truth: G1.foot_tilt(root, t.joint_pos)
        )
        assert sole.order == order, sole.text
    assert set(found) <= {order, None} and found.count(order) > 50


def test_nothing_is_told_by_what_looks_the_same_in_both_orders():
    still = np.tile([0.0, 0.0, 0.0, 1.0], (5, 1))
    assert find_order(still, np.zeros((5, 3)), Z).order is None
    truth = robot_truth(np.random.default_rng(0))
    assert find_body_order(truth.body_quat[:1], truth.body_pos[:1]).order is None
    frozen = np.repeat(truth.body_quat[:1], 9, axis=0), np.repeat(truth.body_pos[:1], 9, axis=0)
    assert find_body_order(*frozen).order is None
