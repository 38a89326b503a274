import numpy as np
import pytest
from builders import profile, random_qpos, random_robot, write_robot

from motionkit import rotation
from motionkit.robot import load_robot
from motionkit.view.camera import Camera, follow


def test_the_point_looked_at_is_in_the_middle_and_up_is_up():
    camera = Camera(np.array([1.0, 2.0, 3.0]), 4.0, azimuth=0.7)
    pixel, scale = camera.project(camera.lookat[None], 240, 320)
    np.testing.assert_allclose(pixel, [[120.0, 160.0]])
    np.testing.assert_allclose(scale, 160.0 / np.tan(0.5 * camera.fovy) / 4.0)
    above = camera.project(camera.lookat[None] + [0.0, 0.0, 0.1], 240, 320)[0][0]
    assert above[1] < 160 and abs(above[0] - 120) < 1e-9


def test_axes_are_a_right_handed_frame_for_any_direction():
    rng = np.random.default_rng(0)
    for azimuth, elevation in rng.uniform(-1.5, 1.5, size=(20, 2)):
        axes = Camera(np.zeros(3), 1.0, azimuth, elevation).axes
        np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-15)
        np.testing.assert_allclose(np.cross(axes[0], axes[1]), -axes[2], atol=1e-15)


def ball_cloud(robot, qpos):
    """Points on and in every collision sphere, and the bodies' origins, in the world."""
    rng = np.random.default_rng(5)
    pos, quat = robot.forward(qpos)
    index, surface = robot.surface.body_index, robot.surface
    center = pos[:, index] + rotation.rotate(quat[:, index], surface.center)
    around = rng.normal(size=(1, len(index), 60, 3))
    around /= np.linalg.norm(around, axis=-1, keepdims=True)
    shell = center[:, :, None] + surface.radius[:, None, None] * around
    return np.concatenate([pos, shell.reshape(len(qpos), -1, 3)], axis=1)


def require_inside(robot, qpos, cameras, size=(240, 320)):
    """All of the robot is in the picture with 6% to spare, and no smaller than need be."""
    used = []
    for camera, points in zip(cameras, ball_cloud(robot, qpos), strict=True):
        assert ((points - camera.lookat) @ camera.axes[2] + camera.distance).min() > 0
        pixel, _ = camera.project(points, *size)
        used.append(np.abs(pixel / (0.5 * np.array(size)) - 1.0).max())
    assert max(used) < 0.94
    return max(used)


@pytest.fixture(scope="module")
def soma():
    return load_robot("anatomic_soma")


@pytest.mark.parametrize("seed", range(5))
def test_all_of_the_robot_is_in_every_picture_whatever_its_pose(soma, seed):
    """Joints at random in all of their range, arms raised in half of the frames, root anyhow."""
    rng = np.random.default_rng(seed)
    qpos = random_qpos(rng, soma, 8, far=3.0)
    low, high = soma.joint_range.T
    qpos[:, 7:] = rng.uniform(low, high, size=(8, len(low)))
    raised = np.array([0.0, 0.0, 1.4])
    for name, angle in zip(("LeftArm_x", "LeftArm_z", "LeftArm_y"), raised, strict=True):
        qpos[:4, 7 + soma.joint_index(name)] = angle
    qpos[:4, 3:7] = rotation.IDENTITY
    cameras = follow(soma, qpos, 0.75)
    assert require_inside(soma, qpos, cameras) > 0.75


def test_all_of_a_robot_of_any_shape_is_in_every_picture(tmp_path):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        robot = random_robot(rng, tmp_path / str(seed))
        qpos = random_qpos(rng, robot, 5)
        for size in ((240, 320), (640, 200)):
            require_inside(robot, qpos, follow(robot, qpos, size[0] / size[1]), size)


def test_visible_shapes_that_collide_with_nothing_are_in_the_picture(tmp_path):
    """A long feather of no collision, seen at its tip."""
    mjcf = """<mujoco><worldbody><body name="a"><freejoint/><geom size="0.1"/>
    <body name="b"><joint/><geom size="0.1"/>
    <geom type="capsule" fromto="0 0 0 0 0 3" size="0.01" contype="0" conaffinity="0"/></body>
    <body name="c"><joint/><geom size="0.1"/></body></body></worldbody></mujoco>"""
    robot = load_robot(write_robot(tmp_path, mjcf, profile("a", "b", "c")))
    qpos = robot.rest_qpos()[None]
    (camera,) = follow(robot, qpos, 0.75)
    pixel = camera.project(np.array([[0.0, 0.0, 3.0]]), 240, 320)[0][0]
    assert 0 < pixel[0] < 240 and 0 < pixel[1] < 60


@pytest.mark.parametrize("turn", [0.0, 2.0])
def test_the_camera_sees_the_standing_robot_from_its_front(soma, turn):
    qpos = soma.rest_qpos()[None]
    qpos[0, 3:7] = np.cos(turn / 2), 0, 0, np.sin(turn / 2)
    (camera,) = follow(soma, qpos, 0.75)
    ahead = np.array([np.cos(turn), np.sin(turn), 0.0])
    assert camera.axes[2] @ ahead < -0.4
    (camera,) = follow(soma, qpos, 0.75, turn=np.pi / 2)
    assert camera.axes[0] @ ahead > 0.999, "from its right, it looks to the right of the picture"


def test_a_metre_is_as_long_in_all_pictures_of_a_motion(tmp_path):
    rng = np.random.default_rng(1)
    robot = random_robot(rng, tmp_path)
    qpos = random_qpos(rng, robot, 6, far=50.0)
    cameras = follow(robot, qpos, 0.75)
    assert len({c.azimuth for c in cameras}) == 1 and len({c.distance for c in cameras}) == 1
    beside = np.array([c.axes[0] for c in cameras])
    for camera, root, right in zip(cameras, qpos[:, :3], beside, strict=True):
        depth = (root - camera.lookat) @ camera.axes[2]
        here, there = (camera.project((root + s * right)[None], 240, 320)[0][0] for s in (0, 1))
        wanted = 160 / np.tan(0.5 * camera.fovy) / (camera.distance + depth)
        np.testing.assert_allclose(there - here, [wanted, 0.0], atol=1e-6)


def test_the_camera_keeps_its_height_for_a_crouch_and_climbs_with_stairs(soma):
    qpos = np.repeat(soma.tpose_qpos()[None], 5, axis=0)
    qpos[:, 2] = np.linspace(1.0, 0.6, 5)
    height = [camera.lookat[2] for camera in follow(soma, qpos, 0.75)]
    assert np.ptp(height) < 1e-9
    qpos[:, 2] = np.linspace(1.0, 9.0, 5)
    height = [camera.lookat[2] for camera in follow(soma, qpos, 0.75)]
    np.testing.assert_allclose(np.diff(height), 2.0, rtol=0.05)  # seen 10 degrees from above
