"""Markers on a subject of known shape and motion: what the fit makes of them."""

from dataclasses import replace

import numpy as np
import pytest
from builders_marker_fit import Truth, subject, without

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, MarkerClip
from motionkit.errors import InputError
from motionkit.formats import read_clip
from motionkit.human.markers import MarkerConfig, MarkerFit, body, fit_markers
from motionkit.human.markers import track as track_module

MAIN = [body.INDEX[f"{side}_{part}"] for side in ("left", "right")
        for part in ("hip", "knee", "ankle", "shoulder", "elbow", "wrist")]  # fmt: skip


def errors(fit: MarkerFit, truth: Truth) -> np.ndarray:
    """Mean distance of each main joint from the truth [m]."""
    stop = fit.first_frame + fit.human.num_frames
    joints = truth.joints[fit.first_frame : stop, MAIN]
    return np.linalg.norm(fit.human.landmark_pos_w[:, MAIN] - joints, axis=-1).mean(axis=0)


def codes(fit: MarkerFit) -> list[str]:
    return [note.code for note in fit.human.provenance.notes]


def exchanged(fit: MarkerFit) -> set[frozenset[str]]:
    said = [n.message for n in fit.human.provenance.notes if n.code == "MK172"]
    return {frozenset(text.split(" change places")[0].split(" and ")) for text in said}


def test_joints_of_a_walk_are_found_through_noise_gaps_and_exchanged_markers():
    truth = subject(noise=0.001, hidden=0.1, swaps=2, seed=1)
    fit = fit_markers(truth.clip)
    assert fit.marker_set == "plug_in_gait" and not fit.unmapped
    assert errors(fit, truth).max() < 0.010
    assert exchanged(fit) == set(truth.exchanged)
    assert "MK188" not in codes(fit)


SETS = ("plug_in_gait", "cmu53", "cast", "optitrack", "opensim_gait2392", "halpe26")
SPARSE = ("halpe26",)  # one point a joint: nothing tells where an exchanged one belongs


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("kind", "stature"), [("walk", 1.55), ("run", 1.9), ("squat", 1.75),
                                               ("arms", 1.65)])  # fmt: skip
def test_joints_are_found_with_the_markers_of_every_laboratory(name, kind, stature):
    truth = subject(name, kind, stature=stature, hidden=0.1, seed=len(name + kind),
                    swaps=0 if name in SPARSE else 2)  # fmt: skip
    fit = fit_markers(truth.clip)
    found = errors(fit, truth)
    assert found.mean() < 0.010
    sigma = np.sqrt(3.0) * fit.joint_sigma[MAIN]
    assert (found < 3.0 * sigma).all()  # what the fit says of its own uncertainty holds
    assert exchanged(fit) == set(truth.exchanged)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_exchanged_joint_centres_are_put_right_or_the_fit_is_an_error(seed):
    truth = subject("halpe26", ("walk", "squat", "arms")[seed % 3], seed=seed, hidden=0.1, swaps=2)
    fit = fit_markers(truth.clip)
    assert errors(fit, truth).max() < 0.03 or "MK188" in codes(fit)


def test_a_shift_and_a_yaw_of_the_world_move_the_person_with_it():
    clip = subject(seconds=1.0, seed=2).clip
    quat = rotation.from_rotvec(np.array([0.0, 0.0, 2.1]))
    shift = np.array([3.0, -2.0, 0.5])
    turned = replace(clip, pos_w=rotation.rotate(quat, clip.pos_w) + shift)
    here, there = fit_markers(clip).human, fit_markers(turned).human
    wanted = rotation.rotate(quat, here.landmark_pos_w) + shift
    assert np.abs(there.landmark_pos_w - wanted).max() < 1e-5


@pytest.mark.slow
def test_the_order_of_the_labels_does_not_matter():
    clip = subject(seconds=1.0, seed=3).clip
    order = np.random.default_rng(0).permutation(len(clip.labels))
    other = replace(clip, labels=tuple(clip.labels[k] for k in order), pos_w=clip.pos_w[:, order])
    here, there = fit_markers(clip).human, fit_markers(other).human
    assert np.abs(here.landmark_pos_w - there.landmark_pos_w).max() < 1e-5


def test_a_mirror_image_is_refused_and_so_are_exchanged_sides():
    clip = subject(seconds=1.0, seed=4).clip
    mirrored = replace(clip, pos_w=clip.pos_w * np.array([1.0, -1.0, 1.0]))
    sides = {"L": "R", "R": "L"}
    swapped = replace(
        clip, labels=tuple(sides.get(name[0], name[0]) + name[1:] for name in clip.labels)
    )
    for wrong in (mirrored, swapped):
        with pytest.raises(InputError, match="mirror image of a body fits better"):
            fit_markers(wrong)


def test_a_body_of_no_persons_size_is_refused_and_a_small_one_noted():
    clip = subject(seconds=0.5, seed=16).clip
    with pytest.raises(InputError, match=r"stands 0\.1\d+ m tall, people 0\.5 to 2\.6"):
        fit_markers(replace(clip, pos_w=0.1 * clip.pos_w))
    assert "MK114" in codes(fit_markers(replace(clip, pos_w=0.45 * clip.pos_w)))
    assert "MK114" not in codes(fit_markers(clip))


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_few_frames_are_a_clip(frames):
    truth = subject(seconds=1.0, seed=5)
    fit = fit_markers(replace(truth.clip, pos_w=truth.clip.pos_w[:frames]))
    assert fit.human.num_frames == frames
    assert errors(fit, replace(truth, joints=truth.joints[:frames])).max() < 0.025


def leg_of(clip: MarkerClip, side: str) -> set[str]:
    """Labels on the thigh, shank and foot of a side."""
    from motionkit.human.markers.sets import recognise

    parts = {f"{side}_{part}" for part in ("hip", "knee", "ankle", "foot")}
    known = recognise(clip.labels, where="made").markers
    return {label for label, marker in known.items() if marker.segment in parts}


def test_a_leg_that_is_gone_for_long_ends_the_clip_there_and_a_blink_is_bridged():
    truth = subject(seconds=3.0, seed=6)
    leg = leg_of(truth.clip, "left")
    fit = fit_markers(without(truth.clip, leg, 220, 290))
    assert (fit.first_frame, fit.human.num_frames) == (0, 220)
    (note,) = (n for n in fit.human.provenance.notes if n.code == "MK171")
    assert "frames [0, 220) of 301 are kept" in note.message
    assert "left_knee in [220, 290), 0.70 s" in note.message

    fit = fit_markers(without(truth.clip, leg, 220, 244))
    assert fit.human.num_frames == 301 and "MK171" not in codes(fit)
    knee = body.INDEX["left_knee"]
    assert fit.filled[knee] == pytest.approx(24 / 301)
    at = np.linalg.norm(fit.human.landmark_pos_w[:, knee] - truth.joints[:, knee], axis=-1)
    assert at.max() < 0.12  # over a quarter of a second a body goes on as it went


def test_a_person_who_enters_and_leaves_the_volume_is_kept_in_between():
    clip = subject(seconds=3.0, seed=7).clip
    clip = without(without(clip, set(clip.labels), 0, 60), set(clip.labels), 240, 301)
    fit = fit_markers(clip)
    assert (fit.first_frame, fit.human.num_frames) == (60, 180)
    assert "MK171" in codes(fit)


def test_a_clip_that_shows_nobody_is_refused():
    clip = subject(seconds=0.5, seed=8).clip
    kept = {"LASI", "LKNE"}
    with pytest.raises(InputError, match="only 2 mapped markers are ever seen"):
        fit_markers(without(clip, set(clip.labels) - kept, 0, 51))


@pytest.mark.slow
def test_windows_give_what_the_whole_clip_gives(monkeypatch):
    clip = subject(seconds=4.0, seed=9, hidden=0.05).clip
    whole = fit_markers(clip).human.landmark_pos_w
    monkeypatch.setattr(track_module, "WINDOW", 90)
    parts = fit_markers(clip).human.landmark_pos_w
    assert np.abs(parts[:, :22] - whole[:, :22]).max() < 1e-3


def test_medial_markers_of_a_static_trial_correct_joints():
    """Lateral markers of knees and ankles sit 15 mm too far out; the static trial has medial."""
    moving = subject("cast", seconds=2.0, seed=10, places=0.0)
    still = subject("cast", "arms", seconds=0.5, seed=10, places=0.0)
    lateral = {"L_FLE": 1, "R_FLE": -1, "L_FAL": 1, "R_FAL": -1}
    medial = {label for label in moving.clip.labels if label.endswith(("FME", "TAM"))}
    assert len(medial) == 4 and set(lateral) <= set(moving.clip.labels)
    trials = []
    for truth in (moving, still):
        pos = truth.clip.pos_w.copy()
        across = truth.joints[:, body.INDEX["left_hip"]] - truth.joints[:, body.INDEX["right_hip"]]
        across /= np.linalg.norm(across, axis=1, keepdims=True)
        for label, sign in lateral.items():
            pos[:, truth.clip.labels.index(label)] += 0.015 * sign * across
        trials.append(replace(truth.clip, pos_w=pos))
    clip = without(trials[0], medial, 0, moving.clip.num_frames)
    legs = [
        MAIN.index(body.INDEX[f"{s}_{p}"]) for s in ("left", "right") for p in ("knee", "ankle")
    ]
    alone = errors(fit_markers(clip), moving)[legs].mean()
    both = errors(fit_markers(clip, static=trials[1]), moving)[legs].mean()
    assert both < 0.8 * alone


@pytest.mark.slow
def test_a_limb_with_markers_elsewhere_is_an_error_and_others_are_not():
    truth = subject(seconds=2.0, seed=11)
    assert not {"MK174", "MK188"} & set(codes(fit_markers(truth.clip)))
    leg = [k for k, label in enumerate(truth.clip.labels) if label in leg_of(truth.clip, "left")]
    pos = truth.clip.pos_w.copy()
    pos[100:160, leg] += np.array([0.0, 1.5, 0.3])  # another person's leg
    fit = fit_markers(replace(truth.clip, pos_w=pos))
    assert "MK188" in codes(fit)


def test_exact_joint_centres_are_reproduced():
    truth = subject("plug_in_gait", seconds=2.0, seed=12)
    labels = body.JOINTS
    clip = MarkerClip("made", 100.0, labels, truth.joints, truth.clip.provenance, kind="joint",
                      roles={name: name for name in labels})  # fmt: skip
    fit = fit_markers(clip)
    assert fit.marker_set == "joints"
    assert np.nanmean(fit.residual) < 0.002
    assert np.linalg.norm(fit.human.landmark_pos_w[:, :22] - truth.joints, axis=-1).mean() < 0.004


def test_parts_without_markers_are_said_to_be_unknown():
    truth = subject("plug_in_gait", seconds=1.0, seed=13, labels=(
        "LASI", "RASI", "LPSI", "RPSI", "LTHI", "RTHI", "LKNE", "RKNE", "LTIB", "RTIB", "LANK",
        "RANK", "LHEE", "RHEE", "LTOE", "RTOE"))  # fmt: skip
    fit = fit_markers(truth.clip)
    elbow, knee = body.INDEX["left_elbow"], body.INDEX["left_knee"]
    assert np.isnan(fit.joint_sigma[elbow]) and fit.filled[elbow] == 1.0
    assert np.isfinite(fit.joint_sigma[knee]) and fit.filled[knee] == 0.0
    assert not fit.human.observed[elbow] and fit.human.observed[knee]
    assert "MK179" in codes(fit)


def test_hips_are_held_against_regression_and_spheres():
    fit = fit_markers(subject(seconds=2.0, seed=14).clip)
    for hip in fit.hips:
        assert hip.regression is not None
        assert np.linalg.norm(hip.fitted - hip.regression) < 0.025
        assert hip.functional is not None and not hip.is_functional_trusted  # a walk is one arc


def test_a_marker_set_may_be_forced_and_must_exist():
    clip = subject(seconds=0.5, seed=15).clip
    assert fit_markers(clip, MarkerConfig(marker_set="plug_in_gait")).marker_set == "plug_in_gait"
    with pytest.raises(Exception, match="plug_in_gate"):
        fit_markers(clip, MarkerConfig(marker_set="plug_in_gate"))


REAL = {
    "formats/c3d/ezc3d_Qualisys.c3d": 0.004, "formats/c3d/ezc3d_BTS.c3d": 0.005,
    "formats/c3d/btk_o_Gait.c3d": 0.004, "formats/trc/osim_walk_free_01.trc": 0.004,
    "formats/trc/osim_std_walking5_markers.trc": 0.006, "formats/c3d/btk_s01_Eb015pi.c3d": 0.007,
    "formats/c3d/btk_o_ADemo1_rewrite_c3d_pc_float.c3d": 0.007,
    "formats/trc/btk_MOTEK_T.trc": 0.001,
}  # fmt: skip
"""Recordings, and the mean residual [m] below which each is followed: soft tissue moves by more."""


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_real_recordings_are_followed(shared, name):
    clip = read_clip(shared / "data" / name)
    assert isinstance(clip, MarkerClip)
    fit = fit_markers(clip)
    assert np.nanmean(fit.residual) < REAL[name]
    assert not {"MK174", "MK188", "MK175"} & set(codes(fit))
    pos = fit.human.landmark_pos_w
    head, pelvis = pos[:, SMPLH_JOINTS.index("head"), 2], pos[:, 0, 2]
    feet = pos[:, [SMPLH_JOINTS.index(f"{s}_foot") for s in ("left", "right")], 2].min(axis=1)
    assert (head > pelvis + 0.3).all() and (pelvis > feet + 0.4).all()


@pytest.mark.slow
def test_joint_centres_of_climbing_are_followed_to_the_millimetre(shared):
    clip = read_clip(shared / "data" / "climb" / "climb_seq_0.npz")
    assert isinstance(clip, MarkerClip)
    fit = fit_markers(clip)
    assert np.nanmean(fit.residual) < 0.001 and np.nanmax(fit.residual) < 0.03
