"""Markers as named arrays come back as they were written, or are refused by field."""

import numpy as np
import pytest
from builders import PROVENANCE

from motionkit.clip import MarkerClip
from motionkit.errors import InputError
from motionkit.formats import ReadOptions, read_clip
from motionkit.formats.write_joints import write_joints

LABELS = ("LHEE", "RHEE", "LKNE", "RKNE", "LASI", "RASI", "C7", "LFHD")
HEIGHTS = np.array([0.05, 0.05, 0.5, 0.5, 1.0, 1.0, 1.5, 1.7])


def walk(rng: np.random.Generator, frames: int = 40) -> np.ndarray:
    pos = rng.normal(scale=0.05, size=(frames, len(LABELS), 3))
    pos[..., 2] = HEIGHTS + 0.02 * rng.normal(size=(frames, len(LABELS)))
    pos[..., 0] += np.linspace(0.0, 3.0, frames)[:, None]
    pos[rng.random((frames, len(LABELS))) < 0.1] = np.nan
    return pos


@pytest.mark.parametrize("seed", range(5))
def test_markers_written_as_arrays_come_back(tmp_path, seed):
    pos = walk(np.random.default_rng(seed))
    clip = MarkerClip("walk", 120.0, LABELS, pos, PROVENANCE)
    write_joints(tmp_path / "walk.npz", clip)
    back = read_clip(tmp_path / "walk.npz")
    assert isinstance(back, MarkerClip)
    assert (back.kind, back.fps, back.labels) == ("marker", 120.0, LABELS)
    np.testing.assert_array_equal(back.pos_w, pos)


@pytest.mark.parametrize(("unit", "scale"), [("mm", 1e3), ("cm", 1e2), ("", 1.0)])
def test_the_unit_is_the_files(tmp_path, unit, scale):
    pos = walk(np.random.default_rng(3))
    np.savez(tmp_path / "a.npz", markers=pos * scale, labels=LABELS, fps=100.0, unit=unit)
    np.testing.assert_allclose(read_clip(tmp_path / "a.npz").pos_w, pos, atol=1e-12)


GOOD = {"markers": walk(np.random.default_rng(0)), "labels": np.array(LABELS), "fps": 100.0}


@pytest.mark.parametrize(("change", "message"), [
    ({"markers": np.zeros((4, 8))}, "markers: has shape (4, 8), expected (T, M, 3)"),
    ({"markers": np.zeros((0, 8, 3))}, "markers: has shape (0, 8, 3), expected (T, M, 3)"),
    ({"labels": np.array(LABELS[:3])}, "labels: has type <U4 and shape (3,), expected 8 texts"),
    ({"labels": np.arange(8)}, "labels: has type int64 and shape (8,), expected 8 texts"),
    ({"fps": np.nan}, "fps"),
    ({"markers": np.full((4, 8, 3), np.nan)}, "seen"),
])  # fmt: skip
def test_bad_arrays_are_refused_by_field(tmp_path, change, message):
    np.savez(tmp_path / "a.npz", **{**GOOD, **change})
    with pytest.raises(InputError) as caught:
        read_clip(tmp_path / "a.npz")
    assert message in str(caught.value)


def test_a_rate_that_is_missing_may_be_given(tmp_path):
    np.savez(tmp_path / "a.npz", markers=GOOD["markers"], labels=GOOD["labels"])
    with pytest.raises(InputError, match="no rate is stated"):
        read_clip(tmp_path / "a.npz")
    assert read_clip(tmp_path / "a.npz", ReadOptions(fps=50.0)).fps == 50.0
