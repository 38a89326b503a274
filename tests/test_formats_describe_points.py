"""What inspect says about points is what a slow count over frames and points finds."""

import json

import numpy as np
import pytest
from builders_points import marker_clip

from motionkit.clip import SMPLH_JOINTS, Analog, ForcePlate
from motionkit.formats import PointsDescription, describe
from motionkit.formats.describe_points import longest_gap


def slow_longest_gap(seen):
    """(frames, point, start) of the longest run of False between two True, one frame at a time."""
    best = (0, None, None)
    for m in range(seen.shape[1]):
        start = None
        for t in range(seen.shape[0]):
            if not seen[t, m]:
                continue
            if start is not None and t - start - 1 > best[0]:
                best = (t - start - 1, m, start + 1)
            start = t
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_longest_gap_is_the_one_that_counting_finds(seed):
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 40)), int(rng.integers(0, 5)))
    seen = rng.random(shape) < rng.uniform(0.05, 0.98)
    labels = tuple(f"P{i}" for i in range(shape[1]))
    gap = longest_gap(seen, labels, 50.0)
    frames, point, start = slow_longest_gap(seen)
    if frames == 0:
        assert gap is None
        return
    assert gap is not None
    assert (gap.frames, gap.label, gap.start) == (frames, labels[point], start)
    assert gap.seconds == pytest.approx((frames + 1) / 50.0)


def test_frames_before_the_first_and_after_the_last_sighting_are_no_gap():
    seen = np.zeros((9, 1), dtype=bool)
    seen[3:5] = True
    assert longest_gap(seen, ("a",), 10.0) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_description_counts_what_was_seen(seed):
    rng = np.random.default_rng(seed)
    clip = marker_clip(rng, 30, 6, subject="Anna", first_frame=91)
    clip.pos_w[:, 2] = np.nan
    facts = describe(clip)
    assert isinstance(facts, PointsDescription)
    assert (facts.what, facts.points, facts.frames) == ("markers", 6, 30)
    assert (facts.subject, facts.first_frame, facts.never_seen) == ("Anna", 91, ("P2",))
    seen = ~np.isnan(clip.pos_w).any(axis=2)
    assert facts.visible_share == pytest.approx(seen.sum() / 180)
    assert facts.visible == {label: pytest.approx(seen[:, m].sum() / 30)
                             for m, label in enumerate(clip.labels)}  # fmt: skip
    shares = list(facts.visible.values())
    assert shares == sorted(shares) and next(iter(facts.visible)) == "P2"
    z = clip.pos_w[..., 2]
    assert (facts.lowest, facts.highest) == (np.nanmin(z), np.nanmax(z))
    flat = clip.pos_w.reshape(-1, 3)
    np.testing.assert_allclose(facts.extent, np.nanmax(flat, axis=0) - np.nanmin(flat, axis=0))
    assert facts.roles_missing == () and facts.plates == () and facts.analog is None


def test_points_that_nobody_saw_have_no_place():
    clip = marker_clip(np.random.default_rng(0), pos_w=np.full((4, 5, 3), np.nan))
    facts = describe(clip)
    assert isinstance(facts, PointsDescription)
    assert facts.visible_share == 0.0 and len(facts.never_seen) == 5
    assert facts.lowest is facts.highest is facts.extent is facts.longest_gap is None
    json.dumps(facts.to_dict(), allow_nan=False)


def test_joint_centres_say_which_parts_of_the_body_are_missing():
    labels = SMPLH_JOINTS[:21]
    clip = marker_clip(np.random.default_rng(0), 3, 21, labels=labels, kind="joint",
                       roles={name: name for name in labels})  # fmt: skip
    facts = describe(clip)
    assert isinstance(facts, PointsDescription)
    assert (facts.what, facts.roles_missing) == ("joints", ("right_wrist",))


def test_force_plates_and_analog_channels_are_described_in_the_files_own_units():
    corners = np.array([[0, 0, 0], [0.4, 0, 0], [0.4, 0.6, 0], [0, 0.6, 0]], dtype=float)
    channels = ("Fx1", "Fy1", "Fz1", "Mx1", "My1", "Mz1")
    plate = ForcePlate(4, corners, np.zeros(3), channels, calibration=np.eye(6))
    analog = Analog(1000.0, (*channels, "EMG"), ("N",) * 6 + ("",), np.zeros((200, 7)))
    facts = describe(marker_clip(np.random.default_rng(0), analog=analog, plates=(plate,)))
    assert isinstance(facts, PointsDescription) and facts.analog is not None
    assert (facts.analog.fps, facts.analog.samples) == (1000.0, 200)
    assert facts.analog.channels[0] == ("Fx1", "N") and facts.analog.channels[6] == ("EMG", "")
    (shown,) = facts.plates
    assert (shown.type, shown.channels, shown.is_calibrated) == (4, channels, True)
    np.testing.assert_array_equal(shown.corners, corners)
    again = json.loads(json.dumps(facts.to_dict(), allow_nan=False))
    assert again["plates"][0]["corners"][1] == [0.4, 0.0, 0.0]
