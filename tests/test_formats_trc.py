"""TRC files of any writer have one meaning, or are refused in one line."""

import json
import time
from pathlib import Path

import numpy as np
import pytest
from builders_trc import LABELS, damage, trc, walk
from conftest import SHARED

from motionkit import rotation
from motionkit.errors import InputError
from motionkit.formats.source import ReadOptions, Source, open_source
from motionkit.formats.trc import read

POS = walk(np.random.default_rng(0), 20)


def load(text, options=None):
    data = text if isinstance(text, bytes) else text.encode()
    return read(Source(Path("made.trc"), data), options or ReadOptions())


def codes(clip):
    return [note.code for note in clip.provenance.notes]


TEXT = trc(POS)
HEAD, ROWS = TEXT.split("\n\n")
SAME = {
    "tabs": TEXT,
    "commas": trc(POS, sep=","),
    "blanks": trc(POS, sep=" "),
    "crlf": TEXT.replace("\n", "\r\n"),
    "cr": TEXT.replace("\n", "\r"),
    "byte-order mark": "\ufeff" + TEXT,
    "utf-16": TEXT.encode("utf-16"),
    "no blank line": HEAD + "\n" + ROWS,
    "more blank lines": HEAD + "\n\n\n\n" + ROWS + "\n\t\t\n",
    "no line end": TEXT.rstrip("\n"),
    "seven keys": trc(POS, OrigNumFrames=None),
    "labels from X5": TEXT.replace("X1\tY1\tZ1", "X5\tY5\tZ5"),
    "tabs at the ends": TEXT.replace("\n", "\t\n"),
    "decimal commas": HEAD + "\n\n" + ROWS.replace(".", ","),
    "names that do not stand above": TEXT.replace("\t\t\t", "\t\t").replace("Time", "Time\t"),
}


@pytest.mark.parametrize("name", sorted(SAME))
def test_spellings_of_one_file_are_one_clip(name):
    clip = load(SAME[name])
    np.testing.assert_allclose(clip.pos_w, POS, atol=1e-9)
    assert clip.labels == LABELS and clip.fps == 60.0 and not codes(clip)


@pytest.mark.parametrize("unit", [("mm", 1e3), ("cm", 1e2), ("m", 1.0)])
def test_units_of_the_header_are_one_clip(unit):
    np.testing.assert_allclose(load(trc(POS * unit[1], unit=unit[0])).pos_w, POS, atol=1e-8)


@pytest.mark.parametrize("cells", [("", "", ""), ("NaN", "nan", "NAN"), ("0", "0.0", "0.000")])
def test_gaps_of_any_spelling_are_gaps(cells):
    lines = TEXT.split("\n")
    row = lines[9].split("\t")
    row[5:8] = cells
    lines[9] = "\t".join(row)
    clip = load("\n".join(lines))
    expected = np.ones(POS.shape[:2], bool)
    expected[3, 1] = False
    np.testing.assert_array_equal(clip.visible, expected)


def test_names_may_hold_blanks_dots_and_colons():
    names = tuple(f"S: {label[0]}.{label[1:]} x" for label in LABELS)
    assert load(trc(POS, names)).labels == tuple(n.removeprefix("S: ") for n in names)


def test_columns_without_a_name_are_left_out_and_said():
    clip = load(trc(POS, (*LABELS[:10], *[""] * 10)))
    assert clip.labels == LABELS[:10] and codes(clip) == ["MK185"]
    clip = load(trc(POS, ("", *LABELS[1:])))
    np.testing.assert_allclose(clip.pos_w, POS[:, 1:], atol=1e-9)
    assert codes(clip) == ["MK185"]


@pytest.mark.parametrize("fps", [25.0, 59.94, 100.0, 120.0, 1000 / 30])
def test_the_times_of_the_frames_win_over_the_header(fps):
    clip = load(trc(POS, fps=fps, DataRate=250))
    assert clip.fps == pytest.approx(fps, rel=1e-4) and codes(clip).count("MK186") == 1
    assert load(trc(POS, fps=fps)).fps == pytest.approx(fps, rel=1e-9)
    assert load(trc(POS, fps=fps), ReadOptions(fps=50.0)).fps == 50.0


def retimed(change):
    rows = [row.split("\t") for row in ROWS.strip().split("\n")]
    for i, row in enumerate(rows):
        row[1] = change(i)
    return HEAD + "\n\n" + "\n".join("\t".join(row) for row in rows) + "\n"


def test_times_that_tell_nothing_leave_the_header():
    for change in (lambda i: "0", lambda i: str(i * 16.667), lambda i: ""):
        clip = load(retimed(change))
        assert clip.fps == 60.0 and codes(clip) == ["MK186"]
    with pytest.raises(InputError, match=r"time column: uneven: 0\.15 s is followed by 0\.37 s"):
        load(retimed(lambda i: f"{i / 60 + 0.2 * (i > 9):.2f}"))


def test_an_excerpt_is_told_from_a_file_cut_short():
    clip = load(trc(POS, first=185, NumFrames=900))
    assert clip.first_frame == 185 and codes(clip) == ["MK185"]
    for cut in (trc(POS, NumFrames=21), trc(POS, first=185, NumFrames=200)):
        with pytest.raises(InputError, match=r"NumFrames: declares .* frames, holds 20"):
            load(cut)
    assert codes(load(trc(POS, NumFrames=19))) == ["MK185"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT[:-30], "the last line ends early"),
        (trc(POS, DataRate=0), "DataRate: 0 gives no usable rate"),
        (trc(POS, DataRate="nan"), "DataRate: nan gives no usable rate"),
        (trc(POS, ("",) * 20), "no marker has a name"),
        (HEAD, "holds no frames"),
        ("\n".join(TEXT.split("\n")[:2]), "the header ends after 2 lines"),
        (TEXT.replace("X1\tY1\tZ1", "Z1\tX1\tY1"), "expected X1 Y1 Z1"),
        (TEXT.replace("\n5\t", "\n7\t"), "frame 4 is followed by frame 7"),
        (TEXT[:-40] + "abc\t" + TEXT[-40:], "is .*abc.*, expected a number"),
        (trc(POS, ("a b", *LABELS[1:]), sep=" "), "21 names for 60 coordinates"),
        ("<html>", "does not start with PathFileType"),
        (TEXT + "\0", "NUL"),
    ],
)
def test_what_has_no_one_meaning_is_refused(text, message):
    with pytest.raises(InputError, match=message) as error:
        load(text)
    assert str(error.value).startswith("made.trc") and str(error.value).isprintable()


REFUSED = {"btk_10002-20130626160334-Unnamed.trc": "no marker has a name",
           "btk_Truncated.trc": "the header ends after 2 lines"}  # fmt: skip
FILES = sorted((SHARED / "data/formats/trc").glob("*.trc"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_real_files_have_their_facts(path):
    if path.name in REFUSED:
        with pytest.raises(InputError, match=REFUSED[path.name]):
            read(open_source(path), ReadOptions())
        return
    facts = json.loads((SHARED / "data/formats/expected.json").read_text())["trc"][path.name]
    clip = read(open_source(path), ReadOptions())
    assert clip.num_frames == facts["data_rows"]
    assert len(clip.labels) == facts["n_marker_names"]
    assert list(clip.labels[:6]) == facts["markers_first"]
    assert clip.first_frame == facts["first_frame_number"]
    # 1.5 %: the file at 25 Hz ends with one short step, which the expected mean includes.
    assert clip.fps == pytest.approx(facts["rate_from_time"], rel=0.015)
    assert clip.provenance.unit_scale == {"mm": 0.001, "m": 1.0}[facts["header"]["Units"]]
    assert 100 * np.mean(~clip.visible) == pytest.approx(facts["pct_missing"], abs=0.001)
    quat = np.array(clip.provenance.world_quat) * [1, -1, -1, -1]
    raw = rotation.rotate(quat, clip.pos_w[clip.visible]) / clip.provenance.unit_scale
    # expected.json has the range of four or more digits of the file's own numbers
    np.testing.assert_allclose(raw.min(axis=0), facts["xyz_min"], atol=1e-4)
    np.testing.assert_allclose(raw.max(axis=0), facts["xyz_max"], atol=1e-4)


def test_minimal_files_are_the_same_or_refused(shared):
    folder = shared / "data/formats/minimal"
    base = read(open_source(folder / "trc_base.trc"), ReadOptions())
    for name in ("trc_same_crlf", "trc_spaces", "trc_commas", "trc_time_vs_rate_disagree"):
        clip = read(open_source(folder / f"{name}.trc"), ReadOptions())
        np.testing.assert_allclose(clip.pos_w, base.pos_w, atol=1e-6)
        assert clip.labels == base.labels
        assert clip.fps == (30.0 if "disagree" in name else 60.0)
    gap = read(open_source(folder / "trc_gap_blank_nan_zero.trc"), ReadOptions())
    assert np.argwhere(~gap.visible).tolist() == [[10, 0], [11, 0], [12, 0]]
    for name, message in (("rate_zero", "DataRate: 0"), ("rows_less", "declares 60 frames")):
        with pytest.raises(InputError, match=message):
            read(open_source(folder / f"trc_bad_{name}.trc"), ReadOptions())


def test_damaged_files_load_or_are_refused_quickly():
    small = trc(POS[:5], digits=4).encode()
    count = {True: 0, False: 0}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        start = time.perf_counter()
        try:
            clip = load(damage(rng, small))
            assert clip.pos_w.size * 8 < 10e6
            count[True] += 1
        except InputError as error:
            assert str(error).startswith("made.trc") and str(error).isprintable()
            count[False] += 1
        assert time.perf_counter() - start < 1.0
    assert min(count.values()) > 30


def test_a_few_short_rows_do_not_fill_the_memory():
    names = "\t\t\t".join(f"a{i}" for i in range(20_000))
    rows = "".join(f"{i}\t{i / 60:.4f}\n" for i in range(1, 20_000))
    head = "PathFileType\t4\nDataRate\tNumFrames\n60\t19999\nFrame#\tTime\t"
    with pytest.raises(InputError, match="hold too few numbers"):
        load(f"{head}{names}\n\n{rows}")
