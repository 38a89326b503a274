from pathlib import Path

import numpy as np
import pytest
from builders import random_qpos, random_robot

from motionkit.errors import AssetError, InputError
from motionkit.robot import load_robot
from motionkit.view import gl
from motionkit.view.camera import follow
from motionkit.view.strip import PANEL, render_strip, render_tpose

ASPECT = PANEL[0] / PANEL[1]


@pytest.fixture(scope="module")
def robot():
    return load_robot("anatomic_soma")


def standing(robot, frames):
    qpos = np.repeat(robot.rest_qpos()[None], frames, axis=0)
    qpos[:, 2] = 0.98
    qpos[:, 0] = np.linspace(0, 1, frames)
    return qpos


def read(path):
    from PIL import Image

    return np.asarray(Image.open(path)).astype(int)


def panels(path):
    image = read(path)
    return image.reshape(PANEL[1], -1, PANEL[0], 3).transpose(1, 0, 2, 3)


def require_robot_in(panel, robot, qpos):
    """The pixels where the chest is differ from the ground's and the sky's, which are light."""
    pos, _ = robot.forward(qpos[None])
    (camera,) = follow(robot, qpos[None], ASPECT)
    (x, y), *_ = camera.project(pos[:, robot.body_index("Chest")], *PANEL)[0].round().astype(int)
    assert panel[y - 3 : y + 4, x - 3 : x + 4].mean() < 190
    assert panel[:10, -40:].mean() > 200 and panel.std() > 10


def can_render(robot):
    qpos = standing(robot, 1)
    return gl.render(robot, qpos, follow(robot, qpos, ASPECT), (16, 16))


@pytest.mark.slow
def test_a_rendered_strip_has_the_robot_in_every_panel(robot, tmp_path):
    if cause := can_render(robot).cause:
        pytest.skip(f"no offscreen rendering here: {cause}")
    qpos, path = standing(robot, 9), tmp_path / "deep" / "strip.png"
    assert render_strip(robot, qpos, path, fps=30.0, count=3, renderer="gl") not in ("", "drawing")
    assert read(path).shape == (PANEL[1], 3 * PANEL[0], 3)
    for panel, frame in zip(panels(path), (0, 4, 8), strict=True):
        require_robot_in(panel, robot, qpos[frame])


@pytest.mark.slow
def test_render_and_drawing_show_the_same_silhouette(robot, tmp_path):
    """Both cameras agree: where one shows the robot, the other does, but for edges and shadow."""
    if cause := can_render(robot).cause:
        pytest.skip(f"no offscreen rendering here: {cause}")
    qpos = standing(robot, 2)
    dark = {}
    for renderer in ("gl", "drawing"):
        path = tmp_path / f"{renderer}.png"
        render_strip(robot, qpos, path, fps=30.0, count=1, renderer=renderer)
        top = panels(path)[0][24 : PANEL[1] // 2]  # above the shadow, below the label
        dark[renderer] = top.mean(axis=-1) < 180
    both, either = (f(dark["gl"], dark["drawing"]).sum() for f in (np.logical_and, np.logical_or))
    assert both / either > 0.8


def test_a_drawn_strip_has_the_robot_in_every_panel(robot, tmp_path):
    qpos, path = standing(robot, 20), tmp_path / "strip.png"
    assert render_strip(robot, qpos, path, fps=30.0, renderer="drawing") == "drawing"
    assert read(path).shape == (PANEL[1], 8 * PANEL[0], 3)
    for panel, frame in zip(panels(path), np.linspace(0, 19, 8).round().astype(int), strict=True):
        require_robot_in(panel, robot, qpos[frame])
    assert [p.name for p in tmp_path.iterdir()] == ["strip.png"]


def test_without_a_driver_the_strip_is_drawn(robot, tmp_path, monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "disable")
    path = tmp_path / "strip.png"
    assert render_strip(robot, standing(robot, 3), path, fps=30.0) == "drawing"
    with pytest.raises(AssetError, match="no offscreen rendering: MUJOCO_GL=disable"):
        render_strip(robot, standing(robot, 3), path, fps=30.0, renderer="gl")


@pytest.mark.parametrize(
    ("script", "cause"),
    [("import os; os.abort()", "ended with -6"), ("import time; time.sleep(60)", "no answer"),
     ("raise RuntimeError('no display')", "RuntimeError: no display")],
)  # fmt: skip
def test_a_driver_that_dies_hangs_or_fails_costs_the_rendering_only(
    robot, tmp_path, monkeypatch, script, cause
):
    worker = tmp_path / "worker.py"
    worker.write_text(script)
    monkeypatch.setattr(gl, "_WORKER", worker)
    monkeypatch.setenv("MUJOCO_GL", "egl")
    qpos = standing(robot, 1)
    cameras = follow(robot, qpos, ASPECT)
    made = gl.render(robot, qpos, cameras, (16, 16), seconds=1.0)
    assert made.images is None and cause in made.cause
    if "sleep" not in script:
        assert render_strip(robot, qpos, tmp_path / "strip.png", fps=30.0) == "drawing"


def test_targets_and_contacts_are_marked_where_they_are(robot, tmp_path):
    qpos = standing(robot, 1)
    pos, _ = robot.forward(qpos)
    target = pos[:, [robot.body_index("Head")]] + [0.0, 0.0, 0.15]
    contact = np.array([[1.0, 0.0, 0.0, 0.0]])
    paths = [tmp_path / "plain.png", tmp_path / "marked.png"]
    render_strip(robot, qpos, paths[0], fps=30.0, renderer="drawing")
    render_strip(robot, qpos, paths[1], fps=30.0, renderer="drawing", targets=target,
                 contact=contact)  # fmt: skip
    (camera,) = follow(robot, qpos, ASPECT)
    changed = np.argwhere(np.any(read(paths[0]) != read(paths[1]), axis=-1))[:, ::-1]
    dot = camera.project(target[0], *PANEL)[0]
    heel = camera.project(pos[:, robot.body_index(robot.contact_bodies[0])], *PANEL)[0]
    near_dot = np.linalg.norm(changed - dot, axis=1) < 5
    near_heel = np.linalg.norm(changed - heel, axis=1) < 30
    assert near_dot.sum() > 20 and near_heel.sum() > 20 and np.all(near_dot | near_heel)


@pytest.mark.parametrize(("frames", "count", "shown"), [(1, 8, 1), (5, 8, 5), (100, 8, 8)])
def test_a_strip_shows_no_frame_twice(robot, tmp_path, frames, count, shown):
    path = tmp_path / "strip.png"
    render_strip(robot, standing(robot, frames), path, fps=30.0, count=count, renderer="drawing")
    assert read(path).shape[1] == shown * PANEL[0]


def test_the_t_pose_is_shown_from_three_sides_upright_and_wide(robot, tmp_path):
    """From the front the arms span more than the robot is tall; from the side they hardly show."""
    path = tmp_path / "tpose.png"
    assert render_tpose(robot, path, renderer="drawing") == "drawing"
    wide, tall = [], []
    for panel in panels(path):
        robot_only = panel[24:].mean(axis=-1) < 190  # below the label; dots are on the robot
        wide.append(np.ptp(np.flatnonzero(robot_only.any(axis=0))))
        tall.append(np.ptp(np.flatnonzero(robot_only.any(axis=1))))
    assert len(wide) == 3 and wide[0] > wide[1] > 2 * wide[2]
    assert 0.85 < wide[0] / tall[0] < 1.1  # 1.62 m over 1.76 m
    assert wide[0] > 0.75 * PANEL[0]


def test_robots_of_any_shape_are_drawn(tmp_path):
    rng = np.random.default_rng(3)
    robot = random_robot(rng, tmp_path)
    path = tmp_path / "strip.png"
    render_strip(robot, random_qpos(rng, robot, 4), path, fps=30.0, renderer="drawing")
    assert read(path).std() > 1


def test_an_empty_strip_is_refused(robot, tmp_path):
    for frames, count in ((0, 8), (3, 0)):
        with pytest.raises(InputError, match="is empty"):
            render_strip(robot, standing(robot, 3)[:frames], tmp_path / "a.png", fps=30.0,
                         count=count)  # fmt: skip


def test_without_the_extra_the_missing_libraries_are_named(robot, tmp_path, monkeypatch):
    monkeypatch.setattr("motionkit.view.png._LIBRARIES", ("PIL", "no_such_library"))
    with pytest.raises(AssetError, match="pictures need no_such_library") as caught:
        render_strip(robot, standing(robot, 1), tmp_path / "a.png", fps=30.0)
    assert caught.value.help == "pip install 'motionkit[view]'"


def test_a_write_that_fails_leaves_the_old_picture(robot, tmp_path, monkeypatch):
    path = tmp_path / "strip.png"
    render_strip(robot, standing(robot, 1), path, fps=30.0, renderer="drawing")
    before = path.read_bytes()

    def refuse(self, target):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(InputError, match="cannot be written"):
        render_strip(robot, standing(robot, 9), path, fps=30.0, renderer="drawing")
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1
