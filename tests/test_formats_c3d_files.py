"""Real C3D files: their facts come out, or they are refused for what is wrong with them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import SHARED

from motionkit import rotation
from motionkit.errors import InputError
from motionkit.formats.c3d import read
from motionkit.formats.c3d_analog import read_analog
from motionkit.formats.c3d_data import find_layout, read_points
from motionkit.formats.c3d_file import decode_file
from motionkit.formats.source import ReadOptions, Source, open_source

FOLDER = SHARED / "data" / "formats"
REAL = sorted(path.name for path in FOLDER.glob("c3d/*.c3d"))
MINIMAL = sorted(path.name for path in FOLDER.glob("minimal/c3d_*.c3d"))
REFUSED = {
    "btk_o_1123x01EMG.c3d": "header: holds 8 analog channels and no points",
    "ezc3d_Kistler.c3d": "header: holds 16 analog channels and no points",
    "btk_o_Analysis.c3d": "POINT:LABELS: all 24 points are outputs of a model, none is a marker",
    "c3d_bad_header_500_frames.c3d": "header: declares 500 frames of 816 bytes",
    "c3d_bad_param_ptr.c3d": "header: says that parameters begin at block 255",
    "c3d_bad_truncated.c3d": "header: declares 100 frames of 816 bytes",
}
# Facts of single files that expected.json has no place for.
FIRST = {"btk_o_shd01.c3d": 91, "btk_pig_cal_ff_one.c3d": 140, "ezc3d_FP_Type3.c3d": 1166,
         "ezc3d_Qualisys.c3d": 705, "ktk_sprintbasket.c3d": 0}  # fmt: skip
UP = {"ezc3d_BTS.c3d": "y", "btk_s28_bts_missing_params.c3d": "y"}
KEPT = {"btk_pig_cal_ff_one.c3d": 112, "btk_s04_sub_labels.c3d": 86}  # without model outputs
ROUNDED = 6e-4  # of expected.json, which has three decimals
UNSURE_UP = {"btk_s13_Dance_phoenix.c3d", "btk_s22_BKIN_kinarm.c3d", "ktk_propulsion.c3d"}

pytestmark = pytest.mark.usefixtures("shared")


def find(name: str) -> Path:
    return FOLDER / ("minimal" if name.startswith("c3d_") else "c3d") / name


def load(name: str, **options):
    return read(open_source(find(name)), ReadOptions(**options))


def messages(clip, code: str) -> list[str]:
    return [note.message for note in clip.provenance.notes if note.code == code]


@pytest.mark.skipif(not REAL, reason="needs the data folder ../shared, which is not here")
def test_the_set_is_whole():
    assert len(REAL) == 28 and len(MINIMAL) == 13
    assert set(REFUSED) <= {*REAL, *MINIMAL}


@pytest.mark.parametrize("name", REAL)
def test_a_real_file_has_its_facts_or_is_refused(name):
    known = json.loads((FOLDER / "expected.json").read_text("utf-8"))["c3d"][name]
    expected, header = known["expected"], known["ezc3d"]["raw"]
    source = open_source(find(name))
    file = decode_file(source)
    assert file.header.num_points == expected["n_points"] == header["hdr_points"]
    if name in REFUSED:
        with pytest.raises(InputError) as caught:
            read(source, ReadOptions())
        assert f"{name}: {REFUSED[name]}" in str(caught.value)
        return
    layout = find_layout(source, file)[0]
    assert layout.num_frames == expected["frames"]
    pos, _ = read_points(source, layout)
    np.testing.assert_allclose(np.nanmin(pos, axis=(0, 1)), expected["xyz_min"], atol=ROUNDED)
    np.testing.assert_allclose(np.nanmax(pos, axis=(0, 1)), expected["xyz_max"], atol=ROUNDED)
    share = 100.0 * np.mean(np.isnan(pos[..., 0]))
    unseen = expected.get("pct_nan", expected["pct_resid_negative"])
    assert share == pytest.approx(unseen + expected.get("pct_exact_zero", 0.0), abs=1.1e-3)
    if expected.get("units"):
        assert file.text("POINT", "UNITS") == expected["units"][0]

    clip = read(source, ReadOptions())
    assert clip.num_frames == expected["frames"]
    assert len(clip.labels) == KEPT.get(name, expected["n_points"])
    assert clip.fps == pytest.approx(expected["rate"], rel=1e-7)
    assert clip.first_frame == FIRST.get(name, 1)
    if name not in UNSURE_UP:
        assert clip.provenance.up == UP.get(name, "z")
    said = file.text("POINT", "UNITS")
    metres = {"mm": 1e-3, "m": 1.0, "mete": 1.0, "": 1e-3}[said]
    assert clip.provenance.unit_scale == metres
    assert clip.provenance.unit_source == ("header" if said else "stature")
    # The kept points are those of the file, turned and scaled and nothing else.
    back = rotation.conjugate(np.array(clip.provenance.world_quat))
    kept = rotation.rotate(back, clip.pos_w) / metres
    at = iter(range(pos.shape[1]))
    for i in range(len(clip.labels)):
        assert any(_same(pos[:, m], kept[:, i]) for m in at), f"{clip.labels[i]} is out of place"


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("name", MINIMAL)
def test_a_file_with_one_fault_is_read_as_its_name_says_or_refused(name):
    if name in REFUSED:
        with pytest.raises(InputError) as caught:
            load(name)
        assert f"{name}: {REFUSED[name]}" in str(caught.value)
        return
    clip = load(name)
    assert len(clip.labels) == (300 if name == "c3d_300_points.c3d" else 51)
    assert clip.fps == {"c3d_rate_59.94.c3d": 59.94}.get(name, 100.0)
    assert clip.provenance.up == "z"


def test_one_motion_in_other_words_is_one_motion():
    base = load("c3d_base_mm.c3d")
    for name in ("c3d_same_m.c3d", "c3d_units_mete.c3d", "c3d_occluded_as_zero.c3d",
                 "c3d_subject_prefix.c3d", "c3d_dup_label.c3d", "c3d_unlabelled_star.c3d",
                 "c3d_rate_59.94.c3d"):  # fmt: skip
        np.testing.assert_allclose(load(name).pos_w, base.pos_w, rtol=0, atol=1e-6, err_msg=name)
    never = load("c3d_marker_never_seen.c3d")
    unlike = np.any(never.visible != base.visible, axis=0)
    assert unlike.sum() == 1 and not never.visible[:, unlike].any()
    assert load("c3d_subject_prefix.c3d").subject == "S01"
    assert load("c3d_unlabelled_star.c3d").labels[:3] == ("*0", "*1", "*2")
    assert "boite:gauche_ext#2" in load("c3d_dup_label.c3d").labels
    assert load("c3d_300_points.c3d").labels[254:257] == ("M254", "M255", "M256")


def test_six_spellings_of_one_walk_are_one_walk():
    names = [name for name in REAL if name.startswith(("btk_s01_Eb015", "btk_s08"))]
    clips = [load(name) for name in names]
    assert len(clips) == 4
    for is_float in (False, True):  # the two that are not in the set
        made = _respell(find("btk_s01_Eb015pr.c3d"), "sgi", is_float)
        clips.append(read(made, ReadOptions()))
    for clip in clips[1:]:
        assert clip.labels == clips[0].labels
        np.testing.assert_array_equal(clip.visible, clips[0].visible)
        np.testing.assert_allclose(clip.pos_w, clips[0].pos_w, rtol=0, atol=1e-3 / 12.0)


def _respell(path: Path, processor: str, is_float: bool) -> Source:
    from builders_c3d import Made, build

    source = open_source(path)
    file = decode_file(source)
    pos, _ = read_points(source, find_layout(source, file)[0])
    unseen = -np.isnan(pos[..., 0]).astype(float)
    made = Made(np.nan_to_num(pos), file.texts("POINT", "LABELS"), unseen, processor=processor,
                is_float=is_float, scale=1.0 / 12.0, rate=50.0)  # fmt: skip
    return Source(Path("respelled.c3d"), build(made))


def test_labels_of_damaged_parameters_are_recovered():
    assert load("btk_o_mocap36.c3d").labels[0] == "Skeleton_Hip2"
    assert load("btk_o_mocap36.c3d").labels[-1] == "Skeleton_RFoot2"
    cut = load("btk_s18_bad_parameter_section.c3d")
    assert cut.labels == tuple(f"P{i}" for i in range(1, 46))
    assert messages(cut, "MK150") == [
        "parameter section: EVENT:LABELS at byte 5564 is cut off: 32 of 192 bytes"
    ]
    bare = load("btk_s20_phasespace.c3d")
    assert bare.labels == tuple(f"*{i}" for i in range(1, 41)) and messages(bare, "MK180")
    assert load("btk_s22_BKIN_kinarm.c3d").labels == ("Right_Hand", "Left_Hand")
    assert load("btk_s28_bts_missing_params.c3d").labels[:2] == ("r should", "r asis")
    assert load("btk_s13_Dance_phoenix.c3d").labels[0] == "Channel101"


NOT_BY_EZC3D = {
    "btk_o_mocap36.c3d": "refused: odd parameters",
    "btk_s13_Dance_phoenix.c3d": "refused: ANALOG:OFFSET of floats",
    "btk_s18_bad_parameter_section.c3d": "refused after 26 s: odd parameters",
    "btk_s20_phasespace.c3d": "read as 0 points and 0 frames without a word",
    "btk_s22_BKIN_kinarm.c3d": "refused after 17 s: odd parameters",
    "btk_s28_bts_missing_params.c3d": "wrong coordinates without a word: ANALOG:USED is missing",
}
"""What ezc3d 1.7.2 makes of files that are sound but for their parameters."""
WITH_POINTS = {*REAL} - {"btk_o_1123x01EMG.c3d", "ezc3d_Kistler.c3d"}


@pytest.mark.parametrize("name", [n for n in REAL if n in WITH_POINTS - {*NOT_BY_EZC3D}])
def test_ezc3d_agrees_where_it_reads_rightly(name):
    ezc3d = pytest.importorskip("ezc3d")
    theirs = ezc3d.c3d(str(find(name)))
    points = theirs["data"]["points"][:3].transpose(2, 1, 0)
    points[np.all(points == 0.0, axis=-1)] = np.nan
    source = open_source(find(name))
    file = decode_file(source)
    layout = find_layout(source, file)[0]
    ours, _ = read_points(source, layout)
    np.testing.assert_allclose(ours, points, rtol=2e-7, atol=1e-9)
    given = theirs["parameters"]["POINT"]["LABELS"]["value"]
    assert file.texts("POINT", "LABELS") == [label.strip() for label in given]
    analogs = theirs["data"]["analogs"][0].T
    analog, _ = read_analog(source, file, layout, file.header.rate)
    if analog is None:
        assert not analogs.size
        return
    if file.text("ANALOG", "FORMAT") == "UNSIGNED":  # ezc3d takes -32752, 0x8010, for 32752
        correct = file.numbers("ANALOG", "OFFSET") >= 0
        assert not correct.all()
        analogs, analog = analogs[:, correct], replace(analog, values=analog.values[:, correct])
    size = np.max(np.abs(analogs), axis=0)
    size = np.where(size > 0, size, 1.0)
    np.testing.assert_allclose(analog.values / size, analogs / size, rtol=0, atol=1e-6)
    assert [label.split("#")[0] for label in analog.labels] == [
        label.strip() for label in theirs["parameters"]["ANALOG"]["LABELS"]["value"]
    ][: len(analog.labels)]
