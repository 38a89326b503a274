"""Rates that lost digits, options of readers, and files that cannot be opened."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motionkit.errors import ConfigError, InputError
from motionkit.formats import ReadOptions, read_clip
from motionkit.formats import source as source_module
from motionkit.formats.source import USUAL_RATES, Source, open_source, sane_rate


@given(rate=st.sampled_from([r for r in USUAL_RATES if r <= 250]), digits=st.integers(5, 17))
def test_a_usual_rate_survives_a_frame_time_of_five_decimals_or_more(rate, digits):
    text = f"{1 / rate:.{digits}f}"
    assert sane_rate(1 / float(text), frame_time=text) == rate


@given(rate=st.sampled_from([24000 / 1001, 30000 / 1001, 60000 / 1001, 120000 / 1001]),
       digits=st.integers(7, 12))  # fmt: skip
def test_a_broadcast_rate_is_never_rounded_to_a_whole_one(rate, digits):
    text = f"{1 / rate:.{digits}f}"
    assert sane_rate(1 / float(text), frame_time=text) == pytest.approx(rate, rel=1e-9)


@given(rate=st.floats(2, 2000))
def test_a_rate_stated_as_such_moves_by_no_more_than_the_tolerance(rate):
    assert abs(sane_rate(rate) / rate - 1) <= 2e-5


@pytest.mark.parametrize(("text", "rate"), [
    (".0333333", 30), (".03333", 30), ("0.033", 30), ("0.0333", 30), ("3.33333e-02", 30),
    ("0.008333", 120), ("0.0083", 120), ("0.016667", 60), ("0.0167", 60), ("0.041667", 24),
    ("0.0416667", 24), ("0.04", 25), ("0.01", 100), ("0.005", 200), ("0.008", 125),
    ("0.0166833", 60000 / 1001), ("0.0333667", 30000 / 1001), ("0.0417083750417", 23.976),
    ("0.025", 40), ("0.016666666666666666", 60), ("0.02", 50),
])  # fmt: skip
def test_frame_times_of_real_writers_mean_the_rate_they_ran_at(text, rate):
    assert sane_rate(1 / float(text), frame_time=text) == pytest.approx(rate, rel=1e-6)


@pytest.mark.parametrize(("stated", "rate"), [
    (120.00004577636719, 120), (59.99999, 60), (59.94, 59.94), (23.976, 23.976), (69.9926, 69.9926),
    (119.88, 119.88), (30.0003, 30),
])  # fmt: skip
def test_stated_rates_are_whole_only_when_they_nearly_are(stated, rate):
    assert sane_rate(stated) == rate


@pytest.mark.parametrize("options", [{"fps": 0}, {"fps": -1}, {"fps": np.nan}, {"scale": np.inf},
                                     {"scale": 0}])  # fmt: skip
def test_options_that_mean_nothing_are_refused(options):
    with pytest.raises(ConfigError, match="must be positive and finite"):
        ReadOptions(**{name: float(value) for name, value in options.items()})


@pytest.mark.parametrize(("make", "message"), [
    (lambda p: None, "no such file"),
    (lambda p: p.mkdir(), "is a folder"),
    (lambda p: p.write_bytes(b""), "the file is empty"),
    (lambda p: p.write_bytes(b"version https://git-lfs.github.com/spec/v1\n"), "git-lfs pointer"),
])  # fmt: skip
def test_files_that_cannot_be_opened_say_why(tmp_path, make, message):
    path = tmp_path / "clip.bvh"
    make(path)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_clip(path)
    assert str(path) in str(caught.value)


def test_text_of_a_file_can_neither_break_nor_fill_the_line_of_a_refusal():
    path = Path("deep/" * 300 + "x.npz")
    error = Source(path, b"x").error("a\nb" + "k" * 9000, field="f" * 9000, help="\x1b[31m" * 900)
    assert str(error).startswith(f"{path}: fff") and str(error).isprintable()
    assert len(str(error)) < len(str(path)) + 2 * 702 + 10
    assert error.message.startswith("a?bkkk") and error.message.endswith("k …")
    assert error.help.isprintable() and len(error.help) <= 702


def test_a_pipe_and_a_device_are_refused_before_they_are_read(tmp_path):
    os.mkfifo(tmp_path / "walk.bvh")
    for path in (tmp_path / "walk.bvh", Path("/dev/zero")):
        with pytest.raises(InputError, match="is a pipe or a device, expected a file"):
            open_source(path)


def test_a_file_larger_than_memory_is_refused_unread(tmp_path, monkeypatch):
    path = tmp_path / "walk.bvh"
    with path.open("wb") as file:
        file.truncate(source_module.MAX_FILE + 1)  # sparse: it takes no room
    with pytest.raises(InputError, match="4,294,967,297 bytes, more than"):
        open_source(path)
