from dataclasses import replace

import numpy as np
import pytest
from builders import PROVENANCE, random_quats, skeleton_clip

from motionkit import rotation
from motionkit.clip import (
    SMPLH_JOINTS,
    SMPLH_PARENTS,
    HumanClip,
    RobotClip,
    SmplClip,
    differentiate,
    resample,
    slice_frames,
)
from motionkit.errors import InputError


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def human_clip(rng, frames=20, fps=30.0, **changes):
    values = {
        "name": "made",
        "fps": fps,
        "landmark_pos_w": rng.normal(size=(frames, 52, 3)),
        "landmark_quat_w": random_quats(rng, frames, 52),
        "rest_pos": rng.normal(size=(52, 3)),
        "ankle_height": 0.08,
        "toe_height": 0.02,
        "stature": 1.7,
        "observed": np.ones(52, dtype=bool),
        "body": "embedded",
        "provenance": PROVENANCE,
        "contact": rng.random((frames, 4)) < 0.5,
        **changes,
    }
    return HumanClip(**values)


def robot_clip(frames=5, **changes):
    return RobotClip(**{"name": "made", "robot": "r", "fps": 30.0, "qpos": np.zeros((frames, 9)),
                        **changes})  # fmt: skip


def same_rotation(a, b):
    return np.abs(rotation.to_matrix(a) - rotation.to_matrix(b)).max()


def test_smplh_joints_are_a_tree_of_52_in_order_with_mirrored_hands():
    assert len(SMPLH_JOINTS) == len(SMPLH_PARENTS) == len(set(SMPLH_JOINTS)) == 52
    assert SMPLH_PARENTS[0] == -1
    assert all(0 <= parent < j for j, parent in enumerate(SMPLH_PARENTS) if j)
    parent = {name: SMPLH_JOINTS[p] for name, p in zip(SMPLH_JOINTS, SMPLH_PARENTS, strict=True)}
    for name in SMPLH_JOINTS:
        if name.startswith("left_"):
            mirrored = name.replace("left", "right")
            assert parent[mirrored] == parent[name].replace("left", "right")
    assert parent["left_index1"] == "left_wrist" and parent["left_index2"] == "left_index1"
    assert parent["head"] == "neck" and parent["left_elbow"] == "left_shoulder"


def test_global_pose_is_that_of_homogeneous_matrices(rng):
    clip = skeleton_clip(rng, 12)
    pos, quat = clip.global_pose()
    world = {}
    for j, parent in enumerate(clip.parents):
        local = np.tile(np.eye(4), (12, 1, 1))
        local[:, :3, :3] = rotation.to_matrix(clip.joint_quat[:, j])
        local[:, :3, 3] = clip.root_pos_w if parent < 0 else clip.offsets[j]
        world[j] = local if parent < 0 else world[parent] @ local
        np.testing.assert_allclose(pos[:, j], world[j][:, :3, 3], atol=1e-14)
        np.testing.assert_allclose(rotation.to_matrix(quat[:, j]), world[j][:, :3, :3], atol=1e-14)


def test_global_pose_uses_translations_where_every_joint_has_its_own(rng):
    clip = skeleton_clip(rng, 12)
    constant = np.broadcast_to(clip.offsets, (12, 4, 3)).copy()
    same = replace(clip, local_pos=constant)
    np.testing.assert_array_equal(same.global_pose()[0], clip.global_pose()[0])
    stretched = constant.copy()
    stretched[:, 3] *= 2.0
    moved = replace(clip, local_pos=stretched).global_pose()[0]
    twice = moved[:, 3] - moved[:, 1]
    once = clip.global_pose()[0][:, 3] - clip.global_pose()[0][:, 1]
    np.testing.assert_allclose(twice, 2 * once, atol=1e-14)


def test_slices_join_to_the_whole(rng):
    clip = skeleton_clip(rng, 20)
    head, tail = slice_frames(clip, 0, 7), slice_frames(clip, 7, 20)
    assert (head.num_frames, tail.num_frames) == (7, 13)
    joined = np.concatenate([head.joint_quat, tail.joint_quat])
    np.testing.assert_array_equal(joined, clip.joint_quat)
    human = human_clip(rng)
    np.testing.assert_array_equal(slice_frames(human, 3, 4).contact, human.contact[3:4])
    assert slice_frames(robot_clip(), 1, 3).qpos.shape == (2, 9)


@pytest.mark.parametrize("interval", [(5, 5), (-1, 5), (0, 21), (9, 3)])
def test_slices_outside_the_clip_or_empty_are_refused(rng, interval):
    with pytest.raises(InputError, match=r"asked for, the clip has \[0, 20\)") as caught:
        slice_frames(skeleton_clip(rng, 20), *interval)
    assert caught.value.where == "made" and "--frames" in caught.value.help


@pytest.mark.parametrize("frames", [2, 3, 31, 100])
def test_resampling_to_twice_the_rate_and_back_changes_nothing(rng, frames):
    for clip in (skeleton_clip(rng, frames), human_clip(rng, frames)):
        fine = resample(clip, 60.0)
        assert (fine.fps, fine.num_frames) == (60.0, 2 * frames - 1)
        back = resample(fine, 30.0)
        assert (back.fps, back.num_frames) == (30.0, frames)
        for name in ("root_pos_w", "landmark_pos_w", "contact"):
            if hasattr(clip, name):
                np.testing.assert_allclose(getattr(back, name), getattr(clip, name), atol=1e-13)
        for name in ("joint_quat", "landmark_quat_w"):
            if hasattr(clip, name):
                assert same_rotation(getattr(back, name), getattr(clip, name)) < 1e-13


@pytest.mark.parametrize(
    ("source", "target", "frames"),
    [(30, 60, 900), (60, 30, 901), (120, 30, 1201), (120, 30, 1203), (59.94, 30, 700),
     (30, 59.94, 700), (29.97, 120, 1001), (24, 30, 25), (1000 / 3, 50, 4321), (100, 30, 10)],
)  # fmt: skip
def test_resampling_covers_the_clip_to_less_than_a_frame_and_extrapolates_nothing(
    rng, source, target, frames
):
    clip = resample(skeleton_clip(rng, frames, fps=source), target)
    last, new_last = (frames - 1) / source, (clip.num_frames - 1) / target
    assert last - 1 / target + 1e-12 < new_last <= last + 1e-9


@pytest.mark.parametrize(("source", "target"), [(30.0, 60.0), (120.0, 30.0), (60.0, 30.0)])
def test_resampling_by_a_whole_ratio_keeps_first_and_last_frame(rng, source, target):
    clip = skeleton_clip(rng, 121, fps=source)
    out = resample(clip, target)
    for end in (0, -1):
        np.testing.assert_allclose(out.root_pos_w[end], clip.root_pos_w[end], atol=1e-13)
        assert same_rotation(out.joint_quat[end], clip.joint_quat[end]) < 1e-13


def test_resampling_is_exact_for_a_cubic_path_and_a_constant_spin(rng):
    time = np.arange(60) / 24.0
    coefficients = rng.normal(size=(4, 3))
    spin = np.array([1.0, -2.0, 0.5])

    def path(t):
        return np.polynomial.polynomial.polyval(t, coefficients).T

    def turn(t):
        return rotation.from_rotvec(t[:, None] * spin)

    quat = np.tile(turn(time)[:, None], (1, 4, 1)) * rng.choice([-1.0, 1.0], size=(60, 4, 1))
    clip = skeleton_clip(rng, 60, fps=24.0, root_pos_w=path(time), joint_quat=quat)
    out = resample(clip, 50.0)
    new_time = np.arange(out.num_frames) / 50.0
    np.testing.assert_allclose(out.root_pos_w, path(new_time), rtol=1e-12, atol=1e-12)
    assert same_rotation(out.joint_quat[:, 2], turn(new_time)) < 1e-13
    np.testing.assert_allclose(np.linalg.norm(out.joint_quat, axis=-1), 1.0, atol=1e-13)


def test_resampling_keeps_the_rate_it_has_and_one_frame_at_any_rate(rng):
    clip = skeleton_clip(rng, 20)
    assert resample(clip, 30.0).joint_quat is clip.joint_quat
    near = resample(clip, 30.0 * (1 + 5e-7))
    assert near.num_frames == 20 and near.fps == 30.0 * (1 + 5e-7)
    one = resample(skeleton_clip(rng, 1), 120.0)
    assert (one.num_frames, one.fps) == (1, 120.0)


@pytest.mark.parametrize("fps", [0.0, -30.0, np.nan, np.inf])
def test_resampling_to_no_rate_is_refused(rng, fps):
    with pytest.raises(InputError, match="fps must be positive and finite"):
        resample(skeleton_clip(rng, 5), fps)


def test_a_robot_clip_is_not_resampled():
    with pytest.raises(InputError, match="retarget the source, then resample"):
        resample(robot_clip(), 60.0)


def test_differentiate_is_exact_for_a_parabola_inside_and_a_line_at_the_ends():
    time = np.arange(30) / 50.0
    found = differentiate(3 * time**2 - time, 50.0)
    np.testing.assert_allclose(found[1:-1], (6 * time - 1)[1:-1], atol=1e-12)
    np.testing.assert_allclose(differentiate(4 * time[:2], 50.0), [4.0, 4.0], atol=1e-12)
    with pytest.raises(InputError, match="needs at least 2 frames, found 1"):
        differentiate(time[:1], 50.0)


def test_clips_refuse_what_cannot_be_trusted(rng, unchecked):
    clip = skeleton_clip(rng, 6)
    bad_quat, bad_pos = clip.joint_quat.copy(), clip.root_pos_w.copy()
    bad_quat[3, 2] *= 1.001
    bad_pos[4, 1] = np.nan
    for changes, message in [
        ({"fps": 0.0}, "fps must be positive and finite, found 0.0"),
        ({"fps": np.nan}, "fps must be positive and finite, found nan"),
        ({"joint_quat": bad_quat}, r"joint_quat has a quaternion of norm 1.001 at index \(3, 2\)"),
        ({"joint_quat": clip.joint_quat[:, :3]}, r"joint_quat has shape \(6, 3, 4\), expected"),
        ({"root_pos_w": bad_pos}, r"root_pos_w is not finite first at frame 4 \(index \(4, 1\)\)"),
        ({"parents": (-1, 2, 1, 1)}, "joint spine comes before its parent"),
        ({"parents": (-1, -1, 1, 1)}, "joint spine comes before its parent or has none"),
        ({"parents": (-1, 0, 1)}, r"expected 4 parents, -1 first, found \(-1, 0, 1\)"),
        ({"parents": (0, 0, 1, 1)}, "expected 4 parents, -1 first"),
        ({"root_pos_w": clip.root_pos_w[:0], "joint_quat": clip.joint_quat[:0]}, "has no frames"),
    ]:
        with pytest.raises(InputError, match=message) as caught:
            replace(clip, **changes)
        assert caught.value.where == "made"


def test_the_norm_that_a_refused_quaternion_has_is_told_also_when_it_is_short(rng):
    clip = skeleton_clip(rng, 6)
    quat = clip.joint_quat.copy()
    quat[1, 0] *= 0.5
    with pytest.raises(InputError, match=r"norm 0.5 at index \(1, 0\)"):
        replace(clip, joint_quat=quat)


def test_human_smpl_and_robot_clips_check_shapes_and_finiteness(rng, unchecked):
    human = human_clip(rng)
    with pytest.raises(InputError, match="contact has shape"):
        replace(human, contact=human.contact[:5])
    with pytest.raises(InputError, match="landmark_quat_w has a quaternion"):
        replace(human, landmark_quat_w=2 * human.landmark_quat_w)
    with pytest.raises(InputError, match="rest_pos is not finite"):
        replace(human, rest_pos=np.full((52, 3), np.nan))
    with pytest.raises(InputError, match="trans_w is not finite"):
        SmplClip("made", 30.0, "smplh", np.full((4, 3), np.inf), random_quats(rng, 4, 52), None,
                 None, PROVENANCE)  # fmt: skip
    with pytest.raises(InputError, match="betas is not finite"):
        SmplClip("made", 30.0, "smplh", np.zeros((4, 3)), random_quats(rng, 4, 52),
                 np.array([0.0, np.nan]), None, PROVENANCE)  # fmt: skip
    with pytest.raises(InputError, match="qpos is not finite"):
        robot_clip(qpos=np.full((2, 9), np.nan))
    with pytest.raises(InputError, match="contact has shape"):
        robot_clip(contact=np.zeros((4, 2)))
