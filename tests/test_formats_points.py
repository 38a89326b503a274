"""Points of any unit, axes and labels become the same clip, or doubt is said."""

from pathlib import Path

import numpy as np
import pytest
from builders_trc import LABELS, walk

from motionkit import rotation
from motionkit.clip.markers import ForcePlate
from motionkit.errors import InputError
from motionkit.formats.point_labels import clean_labels, heights
from motionkit.formats.points import RawPoints, place_points, unit_metres
from motionkit.formats.source import ReadOptions, Source
from motionkit.formats.table import read_clip
from motionkit.formats.world import WORLD_QUAT

SOURCE = Source(Path("made.trc"), b"made")


def place(pos, labels=LABELS, unit="m", options=None, **more):
    raw = RawPoints(labels, pos, unit)
    return place_points(SOURCE, raw, 60.0, options or ReadOptions(), format="trc", **more)


def codes(clip):
    return [note.code for note in clip.provenance.notes]


@pytest.mark.parametrize("unit", ["mm", "millimeters", "cm", "dm", "m", "mete", "Meters", "inch"])
def test_one_motion_in_any_unit_is_one_clip(unit):
    pos = walk(np.random.default_rng(0))
    clip = place(pos / unit_metres(unit), unit=unit)
    np.testing.assert_allclose(clip.pos_w, pos, atol=1e-12)
    assert clip.provenance.unit_source == "header" and not codes(clip)


@pytest.mark.parametrize("metres", [1.0, 0.01, 0.001, 0.0254])
@pytest.mark.parametrize("unit", ["", "furlongs"])
def test_a_unit_that_is_not_known_is_inferred_and_said(metres, unit):
    pos = walk(np.random.default_rng(1))
    clip = place(pos / metres, unit=unit)
    np.testing.assert_allclose(clip.pos_w, pos, atol=1e-12)
    assert clip.provenance.unit_source == "stature" and codes(clip) == ["MK156"]


def test_the_users_unit_wins_and_an_absurd_one_is_refused():
    pos = walk(np.random.default_rng(2))
    clip = place(pos * 1000, unit="m", options=ReadOptions(scale=0.001))
    np.testing.assert_allclose(clip.pos_w, pos, atol=1e-12)
    with pytest.raises(InputError, match=r"'m' makes the points 1.* m across") as error:
        place(pos * 1000, unit="m")
    assert "--scale" in error.value.help
    assert codes(place(pos * 10, unit="m")) == ["MK157"]


@pytest.mark.parametrize("up", sorted(WORLD_QUAT))
@pytest.mark.parametrize("seed", range(3))
def test_any_axis_may_point_up(up, seed):
    pos = walk(np.random.default_rng(seed))
    back = np.array(WORLD_QUAT[up]) * [1, -1, -1, -1]
    clip = place(rotation.rotate(back, pos))
    assert clip.provenance.up == up
    np.testing.assert_allclose(clip.pos_w, pos, atol=1e-12)
    assert codes(clip) == ([] if up in ("y", "z") else ["MK155"])


REAL = ["trc/btk_Gait.trc", "trc/btk_MOTEK_T.trc", "trc/osim_walk_free_01.trc",
        "trc/osim_init100.trc", "trc/osim_std_walking5_markers.trc",
        "trc/pose2sim_Balancing_LSTM.trc", "trc/p2sblender_Pose2Sim_markers.trc",
        "trc/osim_CRLF_line_ending.trc"]  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_files_turned_by_any_axis_are_the_same_clip(shared, name):
    clip = read_clip(shared / "data/formats" / name)
    for up, quat in WORLD_QUAT.items():
        turned = rotation.rotate(np.array(quat) * [1, -1, -1, -1], clip.pos_w)
        again = place(turned, clip.labels)
        assert again.provenance.up == up
        np.testing.assert_allclose(again.pos_w, clip.pos_w, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "up"),
    [("btk_o_Gait", "z"), ("ezc3d_BTS", "y"), ("ezc3d_Qualisys", "z"), ("ezc3d_Vicon", "z"),
     ("btk_o_shd01", "z"), ("btk_s01_Eb015pi", "z"), ("ezc3d_FP_Type3", "z"),
     ("ktk_propulsion", "y"), ("ktk_sprintbasket", "z"), ("btk_s10_TYPE-2", "z")],
)  # fmt: skip
def test_the_up_axis_of_real_c3d_files(shared, name, up):
    assert read_clip(shared / f"data/formats/c3d/{name}.c3d").provenance.up == up


def test_labels_that_tell_nothing_leave_a_doubt_that_is_said():
    pos = walk(np.random.default_rng(3))
    clip = place(pos, tuple(f"P{i}" for i in range(pos.shape[1])))
    assert clip.provenance.up == "z" and codes(clip) == ["MK155"]
    assert place(pos, options=ReadOptions(up="y")).provenance.up_source == "user"


@pytest.mark.parametrize(
    ("raw", "clean", "subject", "num_notes"),
    [
        (("S:RASI", "S:LASI", "*3"), ("RASI", "LASI", "*3"), "S", 0),
        (("S:RASI", "S:LASI", "box:a"), ("RASI", "LASI", "a"), "S", 1),
        (("A:RASI", "B:RASI"), ("A:RASI", "B:RASI"), "", 1),
        (("a", "", "a", "a#2"), ("a", "*2", "a#3", "a#2"), "", 2),
        (("", ""), ("*1", "*2"), "", 1),
        (("R\x00K\udc80NE ",), ("RKNE",), "", 0),
        (("l knee", "r.ASIS"), ("l knee", "r.ASIS"), "", 0),
    ],
)
def test_labels_become_clean_and_unique(raw, clean, subject, num_notes):
    labels, found, notes = clean_labels(raw)
    assert (labels, found, len(notes)) == (clean, subject, num_notes)
    assert clean_labels(labels)[0] == labels


@pytest.mark.parametrize(
    ("label", "height"),
    [("LHEE", 0.02), ("R.Heel", 0.02), ("r mall", 0.045), ("Left Knee", 0.285), ("RASI", 0.55),
     ("L_FM1", 0.02), ("CV7", 0.85), ("T10", 0.7), ("RT1", None), ("RELB", None),
     ("AcromionL", 0.82), ("BodyL:TempleL", 0.93), ("RFHD", 0.93), ("box3", None)],
)  # fmt: skip
def test_labels_tell_how_high_they_sit(label, height):
    assert heights((label,))[0] == pytest.approx(height if height else np.nan, nan_ok=True)


def test_gaps_stay_gaps_and_points_never_seen_are_said():
    pos = walk(np.random.default_rng(4))
    pos[5:9, 2], pos[:, 3], pos[7, 4, 1] = np.nan, np.nan, np.nan
    clip = place(pos)
    expected = ~np.isnan(pos).any(axis=2)
    np.testing.assert_array_equal(clip.visible, expected)
    np.testing.assert_allclose(clip.pos_w[expected], pos[expected], atol=1e-12)
    assert codes(clip) == ["MK187", "MK159"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pos: np.full_like(pos, np.nan), "no point is ever seen"),
        (lambda pos: np.where(np.arange(60)[:, None, None] == 7, np.inf, pos), "infinite at fr"),
        (lambda pos: np.where(np.arange(60)[:, None, None] == 7, 1e30, pos), "from the origin"),
    ],
)
def test_points_that_are_none_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        place(change(walk(np.random.default_rng(5))))


def test_force_plates_turn_with_the_points():
    pos = walk(np.random.default_rng(6))
    corners = np.array([[0.0, 0, 0], [0.6, 0, 0], [0.6, 0.4, 0], [0, 0.4, 0]])
    back = np.array(WORLD_QUAT["y"]) * [1, -1, -1, -1]
    plate = ForcePlate(2, rotation.rotate(back, corners) * 1000, np.array([0, 0, -40.0]), ())
    clip = place(rotation.rotate(back, pos) * 1000, unit="mm", plates_raw=[plate])
    np.testing.assert_allclose(clip.plates[0].corners_w, corners, atol=1e-12)
    np.testing.assert_allclose(clip.plates[0].origin, [0, 0, -0.04], atol=1e-12)


def test_labels_outweigh_a_wall_at_zero():
    pos = walk(np.random.default_rng(7))[:, 8:] + [0.3, 0.15, 0.0]  # no legs, beside y = 0
    clip = place(pos, LABELS[8:])
    assert clip.provenance.up == "z"
    np.testing.assert_allclose(clip.pos_w, pos, atol=1e-12)
