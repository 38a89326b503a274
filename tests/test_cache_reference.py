"""References: what follows from the stored pose, and nothing that is not there."""

import enum
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from builders import (
    PROVENANCE,
    gantry,
    gantry_reference,
    gantry_walk,
    random_qpos,
    random_robot,
    smooth_quats,
)

from motionkit import rotation
from motionkit.cache import build_reference, identify
from motionkit.clip import RobotClip
from motionkit.errors import InputError


class Ending(enum.Enum):
    """Stands for an outcome."""

    GOOD = "advice"


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    return gantry(tmp_path_factory.mktemp("robot"))


def build(robot, qpos, fps=30.0, contact=None, **changes):
    identity = identify(robot, PROVENANCE, fps=fps, body="embedded", settings={})
    clip = RobotClip("made", robot.name, fps, qpos, contact)
    values = {"identity": identity, "report": {}, "provenance": PROVENANCE} | changes
    return build_reference(clip, robot, **values)


@pytest.mark.parametrize("seed", range(4))
def test_bodies_are_those_of_mujoco_at_the_stored_pose(tmp_path, seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, tmp_path)
    reference = build(robot, random_qpos(rng, robot, 5))
    data = mujoco.MjData(robot.model)
    for frame in range(5):
        data.qpos[:] = reference.qpos[frame]
        mujoco.mj_kinematics(robot.model, data)
        # Positions of some metres in float32 are good to half a unit in the last place: 2.4e-7.
        np.testing.assert_allclose(reference.body_pos_w[frame], data.xpos[1:], atol=5e-7)
        dots = np.abs(np.sum(reference.body_quat_w[frame] * data.xquat[1:], axis=-1))
        np.testing.assert_allclose(dots, 1.0, atol=2e-7)


@pytest.mark.parametrize("seed", range(4))
def test_qvel_is_what_mujoco_would_need_to_get_there(tmp_path, seed):
    """mj_differentiatePos over two frames is the central difference, in MuJoCo's convention."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, tmp_path)
    frames = 6
    qpos = random_qpos(rng, robot, frames)
    qpos[:, 3:7] = smooth_quats(rng, frames, speed=0.01)
    reference = build(robot, qpos, fps=50.0)
    assert reference.qvel is not None
    for frame in range(1, frames - 1):
        expected = np.zeros(robot.model.nv)
        stored = reference.qpos.astype(np.float64)
        mujoco.mj_differentiatePos(robot.model, expected, 2 / 50.0, stored[frame - 1],
                                   stored[frame + 1])  # fmt: skip
        got = reference.qvel[frame].astype(np.float64)
        # MuJoCo's spin is in the root's frame of the earlier pose: compare in the world.
        now, before = stored[frame, 3:7], stored[frame - 1, 3:7]
        spin, other = rotation.rotate(rotation.normalize(now), got[3:6]), rotation.rotate(
            rotation.normalize(before), expected[3:6])  # fmt: skip
        np.testing.assert_allclose(spin, other, atol=2e-5)
        np.testing.assert_allclose(np.delete(got, [3, 4, 5]), np.delete(expected, [3, 4, 5]),
                                   rtol=1e-6, atol=1e-5)  # fmt: skip


def test_root_spin_is_in_its_own_frame_and_body_spin_in_the_world(robot):
    frames, rate = 20, 1.5
    qpos, *_ = gantry_walk(robot, frames)
    tilt = rotation.from_axis_angle("X", np.asarray(0.5 * np.pi))
    spin = rotation.from_axis_angle("Z", rate * np.arange(frames) / 30.0)
    qpos[:, 3:7] = rotation.multiply(spin, tilt)
    reference = build(robot, qpos)
    assert reference.qvel is not None
    np.testing.assert_allclose(reference.body_ang_vel_w[:, 0], [[0, 0, rate]] * frames, atol=2e-5)
    np.testing.assert_allclose(reference.qvel[:, 3:6], [[0, rate, 0]] * frames, atol=2e-5)


def test_signs_of_quaternions_do_not_matter_and_are_settled(robot):
    rng = np.random.default_rng(0)
    qpos, *_ = gantry_walk(robot, 40)
    qpos[:, 3:7] = smooth_quats(rng, 40)
    a = build(robot, qpos)
    flipped = qpos.copy()
    flipped[:, 3:7] *= rng.choice([-1.0, 1.0], size=(40, 1))
    b = build(robot, flipped)
    for name, array in a.arrays().items():
        assert np.array_equal(array, b.array(name)), name
    for quat in (a.qpos[:, None, 3:7], a.body_quat_w):
        assert np.all(np.sum(quat[1:] * quat[:-1], axis=-1) > 0)
        assert np.all(quat[0, :, 0] >= 0)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_root_turned_by_exactly_half_a_turn_has_one_sign(robot, sign):
    qpos, *_ = gantry_walk(robot, 3)
    qpos[:, 3:7] = [0.0, 0.0, 0.0, sign]
    assert build(robot, qpos).qpos[:, 3:7].tolist() == [[0, 0, 0, 1]] * 3


def test_everything_stored_is_float32(robot):
    reference = gantry_reference(robot)
    assert {a.dtype for a in reference.arrays().values()} == {np.dtype(np.float32)}


def test_rounding_moves_no_joint_out_of_its_range(robot):
    low, high = robot.joint_range[robot.joint_index("arm")]
    qpos, *_ = gantry_walk(robot, 10)
    qpos[:, 7 + robot.joint_index("arm")] = [low, high] * 5
    stored = build(robot, qpos).qpos[:, 7 + robot.joint_index("arm")].astype(np.float64)
    assert stored.min() == low
    assert stored.max() == high


def test_one_frame_has_bodies_but_no_velocities(robot):
    qpos, *_ = gantry_walk(robot, 5)
    reference = build(robot, qpos[:1])
    assert sorted(reference.arrays()) == ["body_pos_w", "body_quat_w", "qpos"]
    assert reference.seconds == 0.0
    with pytest.raises(InputError) as info:
        reference.array("qvel")
    assert str(info.value) == "made: the reference has no qvel"
    assert info.value.help == "it has: qpos, body_pos_w, body_quat_w"


def test_what_was_not_given_is_absent(robot):
    qpos, *_ = gantry_walk(robot, 5)
    reference = build(robot, qpos)
    assert reference.contact is None
    assert reference.target_pos_w is None
    assert reference.contact_bodies == ()
    for name in ("contact", "target_pos_w", "target_quat_w"):
        with pytest.raises(InputError, match=f"the reference has no {name}"):
            reference.array(name)


def test_duration_runs_from_the_first_frame_to_the_last(robot):
    assert gantry_reference(robot).seconds == 120 / 30.0


def test_wall_time_is_not_stored(robot):
    assert gantry_reference(robot).report == {"outcome": "converged"}


def test_a_clip_of_another_robot_is_refused(robot, tmp_path):
    other = random_robot(np.random.default_rng(0), tmp_path)
    qpos, *_ = gantry_walk(robot, 5)
    identity = identify(other, PROVENANCE, fps=30.0, body="b", settings={})
    with pytest.raises(InputError, match="the clip is of gantry and its identity of made"):
        build(robot, qpos, identity=identity)


def test_an_identity_of_another_rate_is_refused(robot):
    qpos, *_ = gantry_walk(robot, 5)
    identity = identify(robot, PROVENANCE, fps=60.0, body="b", settings={})
    with pytest.raises(InputError, match=r"made: fps is 30\.0, its identity says 60\.0"):
        build(robot, qpos, identity=identity)


@pytest.mark.parametrize("name, shape", [
    ("qvel", (121, 3)), ("body_pos_w", (120, 5, 3)), ("contact", (121, 3)),
    ("target_quat_w", (121, 2, 4)),
])  # fmt: skip
def test_arrays_of_another_shape_are_refused(robot, name, shape, unchecked):
    with pytest.raises(InputError, match=f"walk: {name} has shape"):
        replace(gantry_reference(robot), **{name: np.zeros(shape, dtype=np.float32)})


def test_arrays_of_another_type_are_refused(robot):
    reference = gantry_reference(robot)
    with pytest.raises(InputError, match="qpos is float64, expected float32"):
        replace(reference, qpos=reference.qpos.astype(np.float64))


@pytest.mark.parametrize("report, found", [
    (Ending.GOOD, "a report of type Ending, expected a mapping"),
    ({"outcome": Ending.GOOD}, "a report whose outcome is of type Ending, expected its name"),
])  # fmt: skip
def test_a_report_that_is_no_dictionary_of_plain_values_is_refused(
    robot, report, found, unchecked
):  # fmt: skip
    with pytest.raises(InputError) as info:
        gantry_reference(robot, report=report)
    assert str(info.value) == f"found {found}"
    assert info.value.help == "give the dictionary of result.report.as_dict()"
