"""Pictures of markers over a person: what is drawn, where, and in which colour."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders_markers import marked, walker
from hypothesis import given
from hypothesis import strategies as st

from motionkit.clip import SMPLH_JOINTS, slice_frames
from motionkit.errors import InputError
from motionkit.view import render_markers, render_person
from motionkit.view.marker_plots import _COLUMNS, _columns, _rank
from motionkit.view.markers import (
    _LEFT,
    _RIGHT,
    _UNSEEN,
    HEADER,
    MARKER_PANEL,
    _cameras,
    _evenly,
    _with_worst,
)
from motionkit.view.scale import FULL_SCALE, STOPS, colour_of

WIDTH, HEIGHT = MARKER_PANEL
GREEN, CRIMSON = STOPS[0][1], STOPS[-1][1]


@pytest.fixture(scope="module")
def fit():
    return marked(walker(seconds=0.5, fps=20.0))


def panels(path: Path, count: int) -> np.ndarray:
    from PIL import Image

    image = np.asarray(Image.open(path)).astype(int)[HEADER : HEADER + HEIGHT]
    return image[:, : count * WIDTH].reshape(HEIGHT, count, WIDTH, 3).transpose(1, 0, 2, 3)


def pixel_of(fit, frame: int, point: np.ndarray) -> tuple[int, int]:
    """Column and row of a point in the picture of the first and last frame."""
    last = fit.human.num_frames - 1
    shown = np.array([0, last])
    cameras = _cameras(fit.human, fit.human.landmark_pos_w[shown], fit.pos_w[shown],
                       fit.model_pos_w[shown])  # fmt: skip
    x, y = (
        cameras[0 if frame == 0 else 1]
        .project(point[None], *MARKER_PANEL)[0][0]
        .round()
        .astype(int)
    )
    return int(x), int(y)


def nearest(panel: np.ndarray, at: tuple[int, int], colour: tuple[int, int, int]) -> float:
    """Least distance of a colour [of 255] within two pixels of a place."""
    x, y = at
    patch = panel[max(y - 2, 0) : y + 3, max(x - 2, 0) : x + 3].reshape(-1, 3)
    return float(np.abs(patch - colour).max(axis=1).min())


def moved(fit, label: str, by: tuple[float, float, float]):
    pos = fit.pos_w.copy()
    pos[:, fit.labels.index(label)] += by
    return replace(fit, pos_w=pos)


def alone(fit, *labels: str):
    """A fit of a few markers only, so that none hides another."""
    k = [fit.labels.index(label) for label in labels]
    parts = {name: getattr(fit, name)[:, k] for name in ("pos_w", "model_pos_w", "weight")}
    return replace(fit, labels=labels, segments=tuple(fit.segments[i] for i in k),
                   offset=fit.offset[k], **parts)  # fmt: skip


def test_a_dot_lies_where_the_marker_was_seen_in_the_colour_of_its_residual(fit, tmp_path):
    one, path = moved(alone(fit, "LTOE"), "LTOE", (0.0, 0.0, 0.2)), tmp_path / "m.png"
    render_markers(one, path, count=2)
    shown = panels(path, 2)
    for i, frame in ((0, 0), (1, one.human.num_frames - 1)):
        for point, is_dot in ((one.pos_w[frame, 0], True), (one.model_pos_w[frame, 0], False)):
            x, y = pixel_of(one, frame, point)
            row = np.abs(shown[i][y, x - 4 : x + 5] - CRIMSON).max(axis=1) < 20
            assert (row.sum() > 2) == is_dot  # the line is less than two pixels wide
        middle = 0.5 * (one.pos_w[frame, 0] + one.model_pos_w[frame, 0])
        assert nearest(shown[i], pixel_of(one, frame, middle), CRIMSON) < 40  # of the line


def test_a_marker_in_its_place_is_green(fit, tmp_path):
    one, path = alone(fit, "LTOE"), tmp_path / "m.png"
    render_markers(one, path, count=2)
    assert nearest(panels(path, 2)[0], pixel_of(one, 0, one.pos_w[0, 0]), GREEN) == 0


def test_a_marker_that_is_not_seen_is_a_ring_at_its_place(fit, tmp_path):
    one, path = alone(fit, "LTOE"), tmp_path / "m.png"
    pos = one.pos_w.copy()
    pos[0] = np.nan
    one = replace(one, pos_w=pos)
    render_markers(one, path, count=2)
    first, last = panels(path, 2)
    x, y = pixel_of(one, 0, one.model_pos_w[0, 0])
    assert nearest(first, (x + 3, y), _UNSEEN) < 40 and nearest(first, (x, y), GREEN) > 30
    assert nearest(last, pixel_of(one, 9, one.pos_w[-1, 0]), GREEN) == 0


@pytest.mark.parametrize(("side", "colour"), [("left", _LEFT), ("right", _RIGHT)])
def test_limbs_have_the_colour_of_their_side(fit, tmp_path, side, colour):
    path = tmp_path / "p.png"
    render_person(fit.human, path, count=2)
    knee, ankle = (SMPLH_JOINTS.index(f"{side}_{part}") for part in ("knee", "ankle"))
    bare = alone(fit)
    at = pixel_of(bare, 0, fit.human.landmark_pos_w[0, [knee, ankle]].mean(axis=0))
    assert nearest(panels(path, 2)[0], at, colour) == 0


def test_the_same_fit_is_the_same_picture_and_nothing_else_is_left(fit, tmp_path):
    for name in ("a", "b"):
        render_markers(fit, tmp_path / "deep" / f"{name}.png", count=3)
    files = sorted((tmp_path / "deep").iterdir())
    assert [file.name for file in files] == ["a.png", "b.png"]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_stray_marker_does_not_widen_the_view_but_a_near_one_does(fit):
    shown = slice(None)
    scale = []
    for by in (0.0, 0.25, 30.0):
        other = moved(fit, "RTOE", (0.0, 0.0, -by))
        cameras = _cameras(fit.human, fit.human.landmark_pos_w[shown], other.pos_w, fit.model_pos_w)
        scale.append(cameras[0].distance)
    assert scale[0] == scale[2] < scale[1]


def test_all_that_is_drawn_lies_inside_its_panel(fit):
    cameras = _cameras(fit.human, fit.human.landmark_pos_w, fit.pos_w, fit.model_pos_w)
    for t, camera in enumerate(cameras):
        points = np.concatenate([fit.human.landmark_pos_w[t], fit.pos_w[t]])
        pixel, _ = camera.project(points, *MARKER_PANEL)
        assert np.all(pixel > 0) and np.all(pixel < MARKER_PANEL)


@pytest.mark.parametrize("frames", [1, 2])
def test_short_clips_and_markers_never_seen_are_drawn(fit, tmp_path, frames):
    pos = np.full_like(fit.pos_w[:frames], np.nan)
    short = replace(fit, human=slice_frames(fit.human, 0, frames), pos_w=pos,
                    model_pos_w=fit.model_pos_w[:frames], weight=fit.weight[:frames] * 0.0,
                    joint_sigma=np.full(22, np.inf), filled=np.ones(22))  # fmt: skip
    render_markers(short, tmp_path / "m.png")
    assert (tmp_path / "m.png").stat().st_size > 1000


def test_nothing_to_show_is_refused(fit, tmp_path):
    with pytest.raises(InputError, match="0 frames of 38 markers"):
        render_markers(fit, tmp_path / "m.png", count=0)
    with pytest.raises(InputError, match="2 frames of 0 markers"):
        render_markers(alone(fit), tmp_path / "m.png", count=2)
    with pytest.raises(InputError, match="0 frames"):
        render_person(fit.human, tmp_path / "m.png", count=0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("worst", [0, 4, 7, 9])
def test_the_worst_frame_is_among_those_shown(fit, worst):
    pos = fit.pos_w.copy()
    pos[worst, :3] += 0.4
    shown, which = _with_worst(_evenly(fit.human.num_frames, 3), replace(fit, pos_w=pos))
    assert which == worst and worst in shown and len(shown) == 3
    assert np.all(np.diff(shown) > 0)
    unseen = replace(fit, pos_w=np.full_like(pos, np.nan))
    assert _with_worst(_evenly(10, 3), unseen)[1] is None


@given(st.floats(0.0, 1.0))
def test_colours_go_from_green_to_crimson_and_stay_there(residual):
    red, green, _ = colour_of(residual)
    if residual >= FULL_SCALE:
        assert colour_of(residual) == CRIMSON
    ahead = colour_of(residual + 0.2 * FULL_SCALE)
    assert green - red >= ahead[1] - ahead[0]
    assert colour_of(0.0) == GREEN


@given(st.integers(1, 3 * _COLUMNS), st.randoms(use_true_random=False))
def test_columns_keep_the_largest_residual_and_every_gap(frames, random):
    rng = np.random.default_rng(random.randrange(2**32))
    residual = rng.random((frames, 2))
    spike, gap = rng.integers(frames, size=2)
    residual[spike, 0], residual[gap, 1] = 9.0, np.nan
    columns = _columns(residual)
    assert len(columns) <= _COLUMNS
    assert columns[:, 0].max() == 9.0 and np.isnan(columns[:, 1]).sum() == 1
    assert np.argmax(columns[:, 0]) == pytest.approx(spike * len(columns) / frames, abs=1.0)


def test_rows_go_from_head_to_foot_and_left_before_right():
    order = sorted(["right_foot", "pelvis", "left_foot", "head", "right_elbow", "left_elbow"],
                   key=_rank)  # fmt: skip
    assert order == ["head", "left_elbow", "right_elbow", "pelvis", "left_foot", "right_foot"]
