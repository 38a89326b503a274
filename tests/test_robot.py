from dataclasses import replace

import mujoco
import numpy as np
import pytest
from builders import profile, random_mjcf, random_qpos, random_robot, write_robot

from motionkit import rotation
from motionkit.errors import AssetError, ConfigError, InputError
from motionkit.kinematics import BLOCK
from motionkit.robot import JointBudget, Robot, load_robot

TOLERANCE = 1e-9  # the bound of the project; positions at 1e3 m carry 1e-13 of rounding a step


def mujoco_forward(robot: Robot, qpos):
    """Poses of the robot's bodies by ``mj_kinematics``."""
    ids = [robot.model.body(name).id for name in robot.body_names]
    data = mujoco.MjData(robot.model)
    pos, mat = [], []
    for row in qpos:
        data.qpos[:] = row
        mujoco.mj_kinematics(robot.model, data)
        pos.append(data.xpos[ids].copy())
        mat.append(data.xmat[ids].reshape(-1, 3, 3).copy())
    return np.stack(pos), np.stack(mat)


def mujoco_jacobian(robot: Robot, qpos, body, point):
    """Jacobian of a point of a body by ``mj_jac``."""
    model, data, out = robot.model, mujoco.MjData(robot.model), []
    index = model.body(body).id
    for row in qpos:
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        world = data.xpos[index] + data.xmat[index].reshape(3, 3) @ point
        jac = np.zeros((6, model.nv))
        mujoco.mj_jac(model, data, jac[:3], jac[3:], world, index)
        out.append(jac)
    return np.stack(out)


def require_equal_to_mujoco(robot: Robot, qpos, rng):
    pos, quat = robot.forward(qpos)
    wanted_pos, wanted_mat = mujoco_forward(robot, qpos)
    np.testing.assert_allclose(pos, wanted_pos, atol=TOLERANCE)
    np.testing.assert_allclose(rotation.to_matrix(quat), wanted_mat, atol=TOLERANCE)
    for body in rng.choice(robot.body_names, size=3):
        point = rng.normal(scale=0.2, size=3)
        found = robot.jacobian(qpos[:5], str(body), point)
        wanted = mujoco_jacobian(robot, qpos[:5], str(body), point)
        np.testing.assert_allclose(found, wanted, atol=TOLERANCE)


@pytest.mark.parametrize("seed", range(12))
def test_kinematics_and_jacobians_of_random_trees_are_those_of_mujoco(tmp_path, seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, tmp_path, bodies=int(rng.integers(3, 20)))
    require_equal_to_mujoco(robot, random_qpos(rng, robot, 20), rng)


def test_kinematics_a_kilometre_away_is_that_of_mujoco(tmp_path):
    rng = np.random.default_rng(100)
    robot = random_robot(rng, tmp_path, bodies=16)
    require_equal_to_mujoco(robot, random_qpos(rng, robot, 20, far=1e3), rng)


def test_random_trees_hold_all_that_the_law_is_about(tmp_path):
    """The twelve trees above have every kind of joint that MJCF offers below a free root."""
    trees = [random_robot(np.random.default_rng(s), tmp_path / str(s)).tree for s in range(12)]
    axis = np.concatenate([tree.axis for tree in trees])
    aligned = (axis != 0).sum(axis=1) == 1
    assert (axis[aligned].sum(axis=1) < 0).any() and (axis[aligned].sum(axis=1) > 0).any()
    assert (~aligned).any()
    assert any(any(tree.is_slide) for tree in trees) and any(not all(t.is_slide) for t in trees)
    assert any((tree.anchor != 0).any() for tree in trees)
    assert any((tree.ref != 0).any() for tree in trees)
    assert any(max(map(len, tree.body_joints)) == 3 for tree in trees)


UNITREE = {
    "unitree_g1/g1.xml": ("pelvis", "left_ankle_roll_link", "right_ankle_roll_link"),
    "h1_2/h1_2.xml": ("pelvis", "left_ankle_roll_link", "right_ankle_roll_link"),
}


@pytest.mark.parametrize("file", UNITREE)
def test_kinematics_of_the_unitree_robots_is_that_of_mujoco(shared, tmp_path, file):
    text = tmp_path / "robot.toml"
    text.write_text(profile(*UNITREE[file]))
    robot = load_robot(shared / "data" / "robots" / file, profile=text)
    rng = np.random.default_rng(3)
    require_equal_to_mujoco(robot, random_qpos(rng, robot, 10), rng)
    assert len(robot.surface.radius) > 0


def test_jacobian_is_the_derivative_of_forward(tmp_path):
    rng = np.random.default_rng(7)
    robot = random_robot(rng, tmp_path)
    qpos, body, point = random_qpos(rng, robot, 1), robot.body_names[-1], rng.normal(size=3)
    jac = robot.jacobian(qpos, body, point)[0]
    index, step = robot.body_index(body), 1e-6

    def at(delta):
        moved = qpos[0].copy()
        mujoco.mj_integratePos(robot.model, moved, delta, 1.0)
        pos, quat = robot.forward(moved[None])
        return pos[0, index] + rotation.rotate(quat[0, index], point), quat[0, index]

    for column in range(robot.model.nv):
        delta = np.zeros(robot.model.nv)
        delta[column] = step
        (ahead, quat_ahead), (behind, quat_behind) = at(delta), at(-delta)
        turn = rotation.to_rotvec(
            rotation.multiply(quat_ahead, rotation.conjugate(quat_behind))[None]
        )[0]
        moved = np.concatenate([ahead - behind, turn]) / (2 * step)
        np.testing.assert_allclose(jac[:, column], moved, atol=1e-8)  # rounding over the step


def test_frames_do_not_depend_on_how_many_are_computed_at_once(tmp_path):
    rng = np.random.default_rng(8)
    robot = random_robot(rng, tmp_path)
    qpos = random_qpos(rng, robot, 2 * BLOCK + 3)
    pos, quat = robot.forward(qpos)
    for i in (0, BLOCK - 1, BLOCK, 2 * BLOCK + 2):
        one_pos, one_quat = robot.forward(qpos[i : i + 1])
        np.testing.assert_array_equal(one_pos[0], pos[i])
        np.testing.assert_array_equal(one_quat[0], quat[i])
    assert robot.forward(qpos[:0])[0].shape == (0, len(robot.body_names), 3)


def test_a_root_quaternion_of_another_norm_is_the_same_pose(tmp_path):
    rng = np.random.default_rng(9)
    robot = random_robot(rng, tmp_path)
    qpos = random_qpos(rng, robot, 4)
    scaled = qpos.copy()
    scaled[:, 3:7] *= -1.7
    np.testing.assert_allclose(robot.forward(scaled)[0], robot.forward(qpos)[0], atol=1e-12)


def test_poses_of_another_shape_are_refused(tmp_path, unchecked):
    robot = random_robot(np.random.default_rng(1), tmp_path)
    nq = 7 + robot.num_joints
    for shape in [(3, nq + 1), (nq,), (2, 3, nq)]:
        with pytest.raises(InputError) as caught:
            robot.forward(np.zeros(shape))
        assert str(caught.value) == f"made: qpos has shape {shape}, expected (T, {nq})"


def test_the_hash_changes_with_model_and_profile_and_with_nothing_else(tmp_path):
    rng = np.random.default_rng(4)
    text, mjcf = profile("b0", "b3", "b4"), random_mjcf(rng, 5)
    first = load_robot(write_robot(tmp_path / "a", mjcf, text))
    assert load_robot(write_robot(tmp_path / "elsewhere", mjcf, text)).sha256 == first.sha256
    touched = text + "\n[budget]\nmax_velocity = 19.0"
    other = load_robot(write_robot(tmp_path / "b", mjcf, touched))
    assert other.sha256 != first.sha256 and other.budget == JointBudget(19.0, 300.0)
    third = load_robot(write_robot(tmp_path / "c", mjcf.replace("0.05", "0.06"), text))
    assert third.sha256 != first.sha256


def test_the_soles_lie_at_the_bottom_of_the_foot(tmp_path):
    mjcf = """<mujoco><worldbody><body name="root"><freejoint/><geom size="0.1"/>
      <body name="left" pos="0 0.1 -0.8"><joint type="hinge" axis="0 1 0"/>
        <geom type="box" size="0.1 0.04 0.02" pos="0.03 0 -0.03"/><geom size="0.03"/></body>
      <body name="right" pos="0 -0.1 -0.8" euler="0 90 0"><joint type="hinge" axis="0 1 0"/>
        <geom type="capsule" size="0.02 0.08" pos="0.05 0 0"/></body>
    </body></worldbody></mujoco>"""
    robot = load_robot(write_robot(tmp_path, mjcf, profile("root", "left", "right")))
    center, radius = robot.sole("left")
    assert sorted(map(tuple, center.round(6))) == [
        (-0.07, -0.04, -0.05), (-0.07, 0.04, -0.05), (0.13, -0.04, -0.05), (0.13, 0.04, -0.05),
    ]  # fmt: skip
    assert np.all(radius == 0)
    center, radius = robot.sole("right")  # turned: its z lies along world x
    assert sorted(center[:, 2].round(6)) == [-0.08, 0.08] and np.all(radius == 0.02)
    assert robot.contact_bodies == ("left", "right")


def test_a_foot_without_collision_geometry_is_refused_by_name(tmp_path):
    mjcf = """<mujoco><worldbody><body name="root"><freejoint/><geom size="0.1"/>
      <body name="left"><joint/><geom size="0.1" contype="0" conaffinity="0"/></body>
      <body name="right"><joint/><geom size="0.1"/></body></body></worldbody></mujoco>"""
    robot = load_robot(write_robot(tmp_path, mjcf, profile("root", "left", "right")))
    with pytest.raises(AssetError, match="made: foot body left has no collision geometry"):
        robot.sole("left")


def test_mounts_are_the_orientations_of_the_t_pose(tmp_path):
    mjcf = """<mujoco><compiler angle="radian"/><worldbody><body name="root"><freejoint/>
      <geom size="0.1"/><body name="left" quat="0.6 0.8 0 0"><joint name="l" axis="0 0 1"/>
      <geom size="0.1"/></body><body name="right"><geom size="0.1"/></body>
    </body></worldbody></mujoco>"""
    text = 'forward = "+y"\n' + profile("root", "left", "right") + "\n[tpose]\nl = 0.5"
    robot = load_robot(write_robot(tmp_path, mjcf, text))
    marks = {mark.body: np.array(mark.mount) for mark in robot.landmarks}
    turn = rotation.from_axis_angle("Z", np.asarray(-np.pi / 2))
    bent = rotation.multiply(np.array([0.6, 0.8, 0, 0]),
                             rotation.from_axis_angle("Z", np.asarray(0.5)))  # fmt: skip
    for body, wanted in {"root": turn, "left": rotation.multiply(turn, bent)}.items():
        assert rotation.angle_between(marks[body][None], wanted[None]) < 1e-7


PROFILE_ERRORS = {
    "schema = 2": "made.xml: the profile has schema 2, expected 1",
    "= =": "made.xml: the profile is not valid TOML",
    "schema = 1": "made.xml: the profile lacks name, landmarks, feet",
    profile("b0", "b3", "nobody"): "no body named nobody",
    profile("b0", "b3", "b4").replace("left_ankle", "left_paw"): "b3 pairs with 'left_paw'",
    profile("b0", "b3", "b4") + "\n[budget]\nmax_speed = 3": "[budget]: unknown key: max_speed",
    profile("b0", "b3", "b4") + "\n[budget]\nmax_velocity = 0": "joint budgets must be positive",
    profile("b0", "b3", "b4") + '\n[budget]\nmax_velocity = "fast"': "[budget] max_velocity",
    profile("b0", "b3", "b4") + "\n[tpose]\nelbow = 0": "no joint named elbow",
    profile("b0", "b3", "b4") + '\n[tpose]\nj1_0 = "bent"': "[tpose] j1_0",
    'forward = "up"\n' + profile("b0", "b3", "b4"): "forward is 'up'",
    profile("b0", "b3", "b4").replace('"pelvis"', '"head"'): "pelvis",
    profile("b0", "b3", "b4").replace("[landmarks.b0]\n", "[landmarks.b0]\nposition_weight=-1\n"):
        "position_weight",
    profile("b0", "b3", "b4").replace("[landmarks.b0]\n", '[landmarks.b0]\nrotation_weight="x"\n'):
        "rotation_weight",
    'schema = 1\nname = "x"\nlandmarks = 3\nfeet = 4': "[landmarks]",
    profile("b0", "b3", "b4") + "\n[budget]\nmax_velocity = nan": "[budget] max_velocity",
    profile("b0", "b3", "b4").split("[feet.right]")[0]: "lacks [feet.right] with the key heel",
}  # fmt: skip


@pytest.mark.parametrize("text", PROFILE_ERRORS)
def test_a_wrong_profile_is_refused_in_one_line_that_names_the_fault(tmp_path, text):
    path = write_robot(tmp_path, random_mjcf(np.random.default_rng(12), 5), text)
    with pytest.raises(ConfigError) as caught:
        load_robot(path)
    assert PROFILE_ERRORS[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(AssetError, match="no such model file"):
        load_robot(tmp_path / "none.xml")
    path = tmp_path / "lonely.xml"
    path.write_text(random_mjcf(np.random.default_rng(0), 4))
    with pytest.raises(AssetError, match=r"no profile beside the model, looked for .*lonely.toml"):
        load_robot(path)
    with pytest.raises(AssetError, match="no such profile"):
        load_robot(path, profile=tmp_path / "none.toml")


def test_budgets_are_positive():
    for changes in ({"max_velocity": 0.0}, {"max_acceleration": -1.0}, {"max_velocity": np.nan}):
        with pytest.raises(ConfigError, match="joint budgets must be positive"):
            replace(JointBudget(), **changes)
