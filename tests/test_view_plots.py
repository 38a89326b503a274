import numpy as np
import pytest

from motionkit.errors import InputError
from motionkit.robot import JointBudget, load_robot
from motionkit.view import plots
from motionkit.view.plots import render_plots


@pytest.fixture(scope="module")
def robot():
    return load_robot("anatomic_soma")


def motion(robot, frames=40):
    qpos = np.repeat(robot.rest_qpos()[None], frames, axis=0)
    qpos[:, 2] = 0.98
    qpos[:, 20] = 0.3 * np.sin(np.arange(frames) / 5)
    return qpos


def figure_of(robot, monkeypatch, tmp_path, *args, **kwargs):
    """The four panels as drawn."""
    import matplotlib.figure

    made, original = [], matplotlib.figure.Figure

    def keep(*a, **k):
        made.append(original(*a, **k))
        return made[-1]

    monkeypatch.setattr(matplotlib.figure, "Figure", keep)
    render_plots(robot, *args, tmp_path / "page.png", **kwargs)
    return made[0].axes


def test_the_page_is_written_and_not_empty(robot, tmp_path):
    from PIL import Image

    path = tmp_path / "page.png"
    render_plots(robot, motion(robot), path, fps=30.0)
    image = np.asarray(Image.open(path))
    assert image.shape == (int(8.5 * plots._DPI), 11 * plots._DPI, 3) and image.std() > 10


def test_the_curves_are_heights_rates_and_errors(robot, monkeypatch, tmp_path):
    qpos = motion(robot)
    pos, _ = robot.forward(qpos)
    targets = pos[:, [robot.body_index(mark.body) for mark in robot.landmarks]]
    targets = targets + np.array([0.0, 0.003, 0.004])
    contact = np.zeros((len(qpos), 4))
    contact[10:20, 1] = 1.0
    heights, speed, errors, acceleration = figure_of(
        robot, monkeypatch, tmp_path, qpos, fps=50.0, targets=targets, contact=contact,
        budget=JointBudget(7.0, 70.0),
    )  # fmt: skip
    root = next(line for line in heights.lines if line.get_label() == "Hips")
    np.testing.assert_allclose(root.get_ydata(), 0.98)
    for line in heights.lines[2:]:  # the rest pose stands on the ground
        np.testing.assert_allclose(line.get_ydata(), 0.98 - 0.9832, atol=2e-3)
    shown = speed.lines[1].get_ydata()
    np.testing.assert_allclose(shown, np.abs(np.diff(qpos[:, 20])) * 50.0)
    np.testing.assert_allclose(
        acceleration.lines[1].get_ydata(), np.abs(np.diff(qpos[:, 20], n=2)) * 2500.0
    )
    assert [axes.lines[0].get_ydata()[0] for axes in (speed, acceleration)] == [7.0, 70.0]
    assert robot.joint_names[13] in speed.get_title(loc="left")
    np.testing.assert_allclose([bar.get_width() for bar in errors.patches], 5.0, atol=1e-9)


def test_two_frames_are_enough_and_one_is_refused(robot, tmp_path):
    render_plots(robot, motion(robot, 2), tmp_path / "page.png", fps=30.0)
    with pytest.raises(InputError, match="curves need at least 2 frames, found 1"):
        render_plots(robot, motion(robot, 1), tmp_path / "page.png", fps=30.0)
