"""How anatomic_soma moves: mirror rule, motors, ranges, profile, and that it settles."""

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from motionkit.assets import robot_files
from motionkit.assets.anatomic_soma.builder import PHYSICS_HZ
from motionkit.assets.anatomic_soma.table import MOTORS, PARTS, RANGE_SOURCES
from motionkit.clip import SMPLH_JOINTS

mujoco = pytest.importorskip("mujoco")

REFLECT = np.array([1.0, -1.0, 1.0])
CLASSES = {  # kp, kd, armature, effort, speed, as rounded in the source document
    "M_7520_14": (50.22, 3.20, 0.012722, 110, 48),
    "M_7520_22": (123.87, 7.89, 0.031377, 173.75, 30),
    "M_2x5020": (35.63, 2.27, 0.009024, 62.5, 55.5),
    "M_5020": (17.81, 1.13, 0.004512, 31.25, 55.5),
    "M_4010": (20.97, 1.34, 0.005313, 6.25, 33),
}
CLASS_OF = {
    **dict.fromkeys(("Spine1", "Spine2", "Chest", "Leg_x", "Leg_z"), "M_7520_14"),
    **dict.fromkeys(("Leg_y", "Shin"), "M_7520_22"),
    "Foot": "M_2x5020",
    **dict.fromkeys(("Neck1", "Shoulder", "Arm", "ForeArm", "ToeBase"), "M_5020"),
    **dict.fromkeys(("Neck2", "Head", "Hand"), "M_4010"),
}
MIDDLE = ("Spine1_y", "Spine2_y", "Chest_y", "Neck1_y", "Head_y", "Shoulder_y", "Arm_z",
          "Hand_x", "Leg_y", "Foot_y")  # fmt: skip

SETTLED_RANGE = 0.05  # [rad] in the last two seconds: creep of soft contacts; measured 0.023
SETTLED_SWING = 0.01  # [rad], of it back and forth; measured 0.005
SETTLED_SPEED = 0.1  # [rad/s], the fastest joint in that time; measured 0.031
CONTROL_HZ = 30


@pytest.fixture(scope="module")
def robot():
    mjcf, profile = robot_files("anatomic_soma")
    model = mujoco.MjModel.from_xml_string(mjcf)
    bodies = [model.body(i).name for i in range(1, model.nbody)]
    joints = [model.joint(i).name for i in range(1, model.njnt)]
    return SimpleNamespace(
        model=model, bodies=bodies, joints=joints, profile=tomllib.loads(profile)
    )


def bare(name):
    return name.removeprefix("Left").removeprefix("Right")


def random_qpos(model, rng):
    quat = rng.normal(size=4)
    angles = rng.uniform(*model.jnt_range[1:].T)
    return np.concatenate([rng.normal(size=3), quat / np.linalg.norm(quat), angles])


def mirrored(robot, qpos):
    """The reflected pose in y = 0, by the profile's map."""
    out = np.empty_like(qpos)
    out[:3] = qpos[:3] * REFLECT
    out[3:7] = qpos[3:7] * [1, -1, 1, -1]
    for joint, (other, sign) in robot.profile["mirror"]["joints"].items():
        out[robot.model.joint(other).qposadr[0]] = sign * qpos[robot.model.joint(joint).qposadr[0]]
    return out


def kinematics(model, qpos):
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    return data


def symmetric(robot):
    """The model with each pair of offsets replaced by its symmetric part."""
    model = mujoco.MjModel.from_xml_string(robot_files("anatomic_soma")[0])
    for body, other in robot.profile["mirror"]["bodies"].items():
        mean = 0.5 * (robot.model.body(body).pos + robot.model.body(other).pos * REFLECT)
        model.body(body).pos[:] = mean
    return model


def test_mirrored_angles_reflect_every_rotation_exactly_and_every_place_nearly(robot):
    rng = np.random.default_rng(0)
    pairs = robot.profile["mirror"]["bodies"]
    for _ in range(50):
        qpos = random_qpos(robot.model, rng)
        one, two = kinematics(robot.model, qpos), kinematics(robot.model, mirrored(robot, qpos))
        for body, other in pairs.items():
            frame = REFLECT[:, None] * one.body(body).xmat.reshape(3, 3) * REFLECT
            assert np.allclose(two.body(other).xmat.reshape(3, 3), frame, atol=1e-12)
            # soma23's left and right offsets differ; the sum along one arm is 8 mm at most
            gap = two.body(other).xpos - one.body(body).xpos * REFLECT
            assert np.linalg.norm(gap) < 8e-3


def test_mirrored_angles_reflect_places_shapes_and_masses_where_offsets_are_symmetric(robot):
    rng = np.random.default_rng(1)
    model = symmetric(robot)
    pairs = robot.profile["mirror"]["bodies"]
    for _ in range(50):
        qpos = random_qpos(model, rng)
        one, two = kinematics(model, qpos), kinematics(model, mirrored(robot, qpos))
        for body, other in pairs.items():
            for place in ("xpos", "xipos"):
                expected = getattr(one.body(body), place) * REFLECT
                assert np.allclose(getattr(two.body(other), place), expected, atol=1e-12)
            assert model.body(body).mass == model.body(other).mass
        for i in range(model.ngeom):
            name = model.geom(i).name
            body = model.body(model.geom_bodyid[i]).name
            other = two.geom(name.replace(body, pairs[body], 1))
            assert np.allclose(other.xpos, one.geom_xpos[i] * REFLECT, atol=1e-12)
            if model.geom_type[i] == mujoco.mjtGeom.mjGEOM_CAPSULE:
                axis = one.geom_xmat[i].reshape(3, 3)[:, 2] * REFLECT
                along = other.xmat.reshape(3, 3)[:, 2] @ axis
                assert abs(along) == pytest.approx(1.0, abs=1e-12)


def test_left_ranges_are_the_right_ones_negated_and_swapped(robot):
    for joint in (j for j in robot.joints if j.startswith("Left")):
        low, high = robot.model.joint("Right" + bare(joint)).range
        assert tuple(robot.model.joint(joint).range) == (-high, -low)


def test_ranges_hold_the_rest_pose_and_keep_middle_hinges_off_the_gimbal(robot):
    model = robot.model
    assert np.all(model.jnt_limited[1:])
    assert np.all(model.jnt_range[1:, 0] < 0) and np.all(model.jnt_range[1:, 1] > 0)
    for joint in (j for j in robot.joints if bare(j) in MIDDLE):
        assert np.abs(np.degrees(model.joint(joint).range)).max() <= 85 + 1e-9
    assert len([j for j in robot.joints if bare(j) in MIDDLE]) == 15


@pytest.mark.parametrize(
    ("hinges", "low", "high"),
    [  # right side: what the tables that the ranges cite allow a whole region
        (("Spine1_z", "Spine2_z", "Chest_z"), -45, 45),
        (("Spine1_x", "Spine2_x"), -30, 75),
        (("Spine1_y", "Spine2_y"), -35, 35),
        (("Neck1_z", "Neck2_z", "Head_z"), -90, 90),
        (("Neck1_x", "Head_x"), -80, 65),
        (("Neck1_y", "Head_y"), -50, 50),
        (("RightShin_x",), -10, 160),
        (("RightForeArm_z",), -10, 160),
        (("RightFoot_y",), -35, 25),
        (("RightLeg_y",), -45, 50),
    ],
)
def test_ranges_stay_within_the_tables(robot, hinges, low, high):
    total = np.degrees(sum(robot.model.joint(hinge).range for hinge in hinges))
    assert low - 1e-9 <= total[0] and total[1] <= high + 1e-9


def test_every_range_names_a_source_and_every_source_is_used():
    used = {hinge.source for part in PARTS for hinge in part.hinges}
    assert used == set(RANGE_SOURCES)


def test_the_documented_ranges_are_those_of_the_model(robot):
    text = (Path(__file__).parents[1] / "docs" / "robots.md").read_text("utf-8")
    stated = {}
    for part, cell in re.findall(r"^\| (\w+) \| ([xyz] -?\d.*) \|$", text, re.MULTILINE):
        for letter, low, high in re.findall(r"([xyz]) (-?\d+) to (-?\d+)", cell):
            stated[f"{part}_{letter}"] = [float(low), float(high)]
    assert set(stated) == {bare(joint) for joint in robot.joints}
    for joint in (j for j in robot.joints if not j.startswith("Left")):
        assert np.degrees(robot.model.joint(joint).range) == pytest.approx(stated[bare(joint)])


def test_motor_classes_have_the_stated_figures_on_the_stated_joints(robot):
    model, motors = robot.model, robot.profile["motors"]
    assert {motor.name for motor in MOTORS} == set(CLASSES) == set(motors)
    for joint in robot.joints:
        name = CLASS_OF.get(bare(joint)) or CLASS_OF[bare(joint).rsplit("_", 1)[0]]
        kp, kd, armature, effort, speed = CLASSES[name]
        actuator = model.actuator(joint)
        own = model.joint(joint).armature[0]
        assert own == pytest.approx(armature, abs=5e-7)
        assert actuator.gainprm[0] == pytest.approx(own * (20 * np.pi) ** 2, rel=1e-8)
        assert actuator.gainprm[0] == pytest.approx(kp, abs=5e-3)
        assert -actuator.biasprm[2] == pytest.approx(4 * own * 20 * np.pi, rel=1e-8)
        assert -actuator.biasprm[2] == pytest.approx(kd, abs=5e-3)
        assert actuator.biasprm[1] == -actuator.gainprm[0]
        assert list(actuator.forcerange) == [-effort, effort]
        assert actuator.gear[0] == 1
        assert np.allclose(actuator.ctrlrange, model.joint(joint).range, atol=1e-12)
        table = motors[name]
        stated = [table[key] for key in ("kp", "kd", "armature", "effort", "speed")]
        assert stated == pytest.approx(
            [actuator.gainprm[0], -actuator.biasprm[2], own, effort, speed], rel=1e-9
        )
    assert not np.any(model.jnt_stiffness) and not np.any(model.dof_damping)
    assert not np.any(model.dof_frictionloss)


def test_each_joint_matches_the_pattern_of_one_class(robot):
    from fnmatch import fnmatchcase

    for joint in robot.joints:
        tables = robot.profile["motors"].values()
        assert sum(fnmatchcase(joint, p) for table in tables for p in table["joints"]) == 1


def test_the_model_runs_implicitfast_at_960_hz(robot):
    assert robot.model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    assert robot.model.opt.timestep == 1 / 960 == 1 / PHYSICS_HZ


def test_the_profile_names_only_what_the_model_has(robot):
    profile = robot.profile
    bodies, joints = set(robot.bodies), set(robot.joints)
    assert set(profile["mirror"]["joints"]) == joints
    assert set(profile["mirror"]["bodies"]) == bodies
    parts = {body for body in bodies if not body.endswith("_link")}
    assert set(profile["landmarks"]) == parts - {"Neck2"}
    assert profile["anchor"]["body"] in parts
    assert set(profile["track"]["bodies"]) <= parts
    assert {b for foot in profile["feet"].values() for b in foot.values()} <= parts
    assert profile["budget"] == {"max_velocity": 20.0, "max_acceleration": 300.0}


def test_the_mirror_maps_are_involutions(robot):
    mirror = robot.profile["mirror"]
    for joint, (other, sign) in mirror["joints"].items():
        assert mirror["joints"][other] == [joint, sign]
        assert sign in (1, -1)
    for body, other in mirror["bodies"].items():
        assert mirror["bodies"][other] == body


def test_each_landmark_has_a_human_joint_of_its_own_on_its_own_side(robot):
    human = [table["human"] for table in robot.profile["landmarks"].values()]
    assert len(set(human)) == len(human) == 22
    for body, table in robot.profile["landmarks"].items():
        assert table["human"] in SMPLH_JOINTS
        assert ("left" in table["human"]) == body.startswith("Left")
        assert ("right" in table["human"]) == body.startswith("Right")
        leading = bare(body) in {"Hand", "Foot", "ToeBase", "Head", "Chest"}
        assert table["position_weight"] == (1.0 if leading else 0.25)
        assert 0 < table["rotation_weight"] <= table["position_weight"]


def test_poses_within_the_ranges_are_finite_and_within_reach(robot):
    rng = np.random.default_rng(2)
    for _ in range(200):
        qpos = random_qpos(robot.model, rng)
        data = kinematics(robot.model, qpos)
        reach = np.linalg.norm(data.xpos[1:] - qpos[:3], axis=1)
        assert np.all(np.isfinite(data.xpos)) and reach.max() < 1.3


@pytest.mark.parametrize("seed", range(3))
def test_random_targets_at_30_hz_stay_finite_and_a_held_target_settles(robot, seed):
    floor = '<worldbody><geom name="floor" type="plane" size="5 5 0.1"/>'
    text = robot_files("anatomic_soma")[0].replace("<worldbody>", floor)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(seed)
    decimation = PHYSICS_HZ // CONTROL_HZ
    assert decimation == 32
    for _ in range(4 * CONTROL_HZ):
        data.ctrl[:] = rng.uniform(*model.actuator_ctrlrange.T)
        mujoco.mj_step(model, data, decimation)
        assert np.all(np.isfinite(data.qpos)) and np.abs(data.qvel).max() < 100.0
    data.ctrl[:] = 0.3 * rng.uniform(*model.actuator_ctrlrange.T)
    mujoco.mj_step(model, data, 8 * PHYSICS_HZ)
    angles, speeds = [], []
    for _ in range(2 * PHYSICS_HZ):
        mujoco.mj_step(model, data)
        angles.append(data.qpos[7:].copy())
        speeds.append(data.qvel[6:].copy())
    moved = np.ptp(angles, axis=0)
    assert moved.max() < SETTLED_RANGE
    assert (moved - np.abs(angles[-1] - angles[0])).max() < SETTLED_SWING
    assert np.abs(speeds).max() < SETTLED_SPEED
    assert all(warning.number == 0 for warning in data.warning)


def test_without_gravity_a_held_target_is_reached(robot):
    model = mujoco.MjModel.from_xml_string(robot_files("anatomic_soma")[0])
    model.opt.gravity[:] = 0
    rng = np.random.default_rng(5)
    for _ in range(2):
        data = mujoco.MjData(model)
        target = 0.3 * rng.uniform(*model.actuator_ctrlrange.T)
        data.ctrl[:] = target
        mujoco.mj_step(model, data, 5 * PHYSICS_HZ)
        early = np.abs(data.qpos[7:] - target).max()
        mujoco.mj_step(model, data, 10 * PHYSICS_HZ)
        late = np.abs(data.qpos[7:] - target).max()
        assert data.ncon == 0
        assert late < early / 4  # the slowest mode, the trunk with both arms, decays with 0.2 /s
        assert late < 2e-3
