import numpy as np
import pytest
from builders import random_qpos, random_robot

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


@pytest.mark.parametrize("turn", [0.0, 2.0])
def test_the_camera_sees_the_whole_standing_robot_from_its_front(turn):
    robot = load_robot("anatomic_soma")
    qpos = robot.rest_qpos()[None]
    qpos[0, 2] = 0.98
    qpos[0, 3:7] = np.cos(turn / 2), 0, 0, np.sin(turn / 2)
    pos, _ = robot.forward(qpos)
    (camera,) = follow(robot, qpos, pos)
    pixel, _ = camera.project(pos[0], 240, 320)
    assert pixel[:, 1].min() > 0 and pixel[:, 1].max() < 320
    ahead = np.array([np.cos(turn), np.sin(turn), 0.0])
    assert camera.axes[2] @ ahead < -0.4


def test_the_camera_follows_the_root_and_keeps_its_direction(tmp_path):
    rng = np.random.default_rng(1)
    robot = random_robot(rng, tmp_path)
    qpos = random_qpos(rng, robot, 6, far=50.0)
    pos, _ = robot.forward(qpos)
    cameras = follow(robot, qpos, pos)
    np.testing.assert_array_equal([c.lookat[:2] for c in cameras], qpos[:, :2])
    assert len({c.azimuth for c in cameras}) == 1
