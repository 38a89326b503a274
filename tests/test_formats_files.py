"""Every real file of the classes that are read: it loads with the right facts, or says why not."""

import json
import os
import re

import numpy as np
import pytest
from conftest import SHARED

from motionkit import rotation
from motionkit.clip import REQUIRED_ROLES, SkeletonClip, SmplClip
from motionkit.errors import InputError
from motionkit.formats import describe, read_clip, search_files

FORMATS = SHARED / "data" / "formats"

# name: (frames, fps, joints, up, metres a unit, writer) as MANIFEST.md and expected.json have it,
# or the reason of the refusal.
CMU = 0.0254 / 0.45
_HERE = {
    "bvh/ad_cmu1_jumping_jacks.bvh": (125, 30, 31, "y", CMU, "CMU (cgspeed)"),
    "bvh/ad_rokoko_jesse_dance.bvh": (1007, 100, 60, "y", 0.01, "Rokoko"),
    "bvh/aitviewer_sample.bvh": (1300, 40, 23, "y", 0.01, "Xsens MVN"),
    "bvh/bandai1_bow_masculinity.bvh": (70, 30, 22, "y", 0.01, "Bandai Namco"),
    "bvh/bvh11_scaled_131_03.bvh": (1248, 120, 31, "y", 1.0, "CMU (cgspeed)"),
    "bvh/bvhio_example.bvh": (2, 30, 18, "y", 0.0254, "unknown"),
    "bvh/bvhpy_freebvh.bvh": (69, 30, 55, "y", 0.01, "Mixamo"),
    "bvh/bvhpy_mocapbank.bvh": (455, 30, 19, "y", 0.01, "Xsens-like"),
    "bvh/dme_rest.bvh": (1, 24, 31, "y", CMU, "CMU (Bruce Hahne)"),
    "bvh/fairmotion_sinusoidal.bvh": r"no human body: roles not found: pelvis, left_hip, .*base",
    "bvh/ganimator_truebones_crab.bvh": r"no human body: roles not found: left_hip, .*ORG_Hips",
    "bvh/geno_stance.bvh": (2, 60, 75, "y", 0.01, "Geno"),
    "bvh/makehuman_tpose.bvh": (1, 24, 173, "z", 0.1, "MakeHuman"),
    "bvh/makehuman_walk1.bvh": (14, 24, 75, "z", 0.1, "MakeHuman"),
    "bvh/pybvh_bvh_test1.bvh": (75, 30, 24, "z", 0.0254, "HumanIK"),
    "bvh/pybvh_bvh_test2.bvh": (61, 120, 23, "y", 0.01, "Xsens MVN"),
    "bvh/pybvh_cmu_12_01_walk.bvh": (524, 120, 31, "y", CMU, "CMU (Bruce Hahne)"),
    "bvh/pybvh_full_precision_frame_time.bvh": r"roles not found: left_hip, .*Hips, Head",
    "bvh/pybvh_rotation_first_root.bvh": r"roles not found: left_hip, .*Hips, Spine",
    "bvh/soma_zero_frame0.bvh": (1, 120, 78, "y", 0.01, "SOMA"),
    "bvh/toolbox_walk01.bvh": (101, 24, 19, "y", 0.01, "HumanIK"),
    "../bvh_more/cmu31_xia_neutral_01.bvh": (327, 120, 31, "y", CMU, "CMU (Bruce Hahne)"),
    "../bvh_more/noitom_axisneuron_test.bvh": (2156, 125, 59, "y", 0.01, "Noitom Axis Neuron"),
    "../bvh_lafan1/lafan1_run.bvh": (1800, 30, 22, "y", 0.01, "LAFAN1"),
    "../bvh_lafan1/lafan1_walk.bvh": (1800, 30, 22, "y", 0.01, "LAFAN1"),
}
_MINIMAL_BVH = {
    "bad_frames_long": r"Frames: declares 49 frames, holds 48",
    "bad_frames_short": r"Frames: declares 47 frames, holds 48",
    "bad_frames_zero": r"Frames: declares 0 frames",
    "bad_ft_neg": r"Frame Time: -0.0333 gives no usable rate",
    "bad_ft_zero": r"Frame Time: 0 gives no usable rate",
    "bad_nan": r"MOTION, joint RightUpLeg, Xrotation: nan at frame 10 is not finite",
    "bad_no_motion": r"HIERARCHY: the file ends before a MOTION section",
    "bad_truncated": r"Frames: declares 48 frames, holds 47 and 40 values of another",
    "bad_unbalanced": r"HIERARCHY, joint Hips: 1 closing brace\(s\) missing before MOTION",
    "cut_from_10": (38, 24, 19, "y", 0.01, "HumanIK"),
    "ft_rounded_0.033": (48, 30, 19, "y", 0.01, "HumanIK"),
    "name_colon": (48, 24, 19, "y", 0.01, "Mixamo"),
    "name_utf8": (48, 24, 19, "y", 0.01, "unknown"),
    "one_frame": (1, 24, 19, "y", 0.01, "HumanIK"),
    "same_static_world_root": (48, 24, 20, "y", 0.01, "HumanIK"),
    "unit_inch": (48, 24, 19, "y", 0.0254, "HumanIK"),
    "unit_m": (48, 24, 19, "y", 1.0, "HumanIK"),
    **dict.fromkeys(
        ("base", "cut_from_00", "no_end_sites", "same_6ch", "same_bom", "same_crlf", "same_exp",
         "same_end_site_lower", "same_lowercase_channels", "same_order_XYZ", "same_spaces",
         "same_tabsep", "soma_offset6", "two_end_sites"),
        (48, 24, 19, "y", 0.01, "HumanIK"),
    ),
}  # fmt: skip
BVH = _HERE | {f"minimal/bvh_{name}.bvh": value for name, value in _MINIMAL_BVH.items()}

# name: (frames, fps, model, gender, number of betas), or the reason of the refusal.
_BASE = (60, 120, "smplh", "male", 16)
_MINIMAL_AMASS = {
    "bad_empty": r"the file is empty",
    "bad_fps_nan": r"mocap_framerate: nan gives no usable rate",
    "bad_fps_zero": r"mocap_framerate: 0 gives no usable rate",
    "bad_lfs_pointer": r"is a git-lfs pointer",
    "bad_no_fps": r"mocap_framerate: no rate is stated",
    "bad_not_zip": r"is a web page",
    "bad_object_poses": r"poses: holds Python objects",
    "bad_trans_len": r"trans: has shape \(53, 3\), expected \(60, 3\)",
    "bad_zero_frames": r"poses: has 0 frames",
    "fps_both_disagree": r"rates disagree: mocap_framerate 120, mocap_frame_rate 60",
    "shape_only": r"poses: holds a subject's shape and no motion",
    "betas10": (60, 120, "smplh", "male", 10),
    "betas300": (60, 120, "smplh", "male", 300),
    "fps_100": (60, 100, "smplh", "male", 16),
    "gender_neutral_same_betas": (60, 120, "smplh", "neutral", 16),
    "one_frame": (1, 120, "smplh", "male", 16),
    "poses165_smplx": (60, 120, "smplx", "male", 16),
    "smplx_stageii": (60, 120, "smplx", "neutral", 16),
    **dict.fromkeys(
        ("base", "betas_1x16", "fps_array1", "gender_bytes", "key_mocap_frame_rate",
         "poses_T52x3", "same_f4", "same_fortran", "walking_1.5m"), _BASE),
}  # fmt: skip
AMASS = {
    "amass/aitviewer_romp_output.npz": r"results: holds Python objects",
    "amass/amass_dmpl_sample.npz": (235, 120, "smplh", "female", 16),
    "amass/hbp_amass_sample.npz": (500, 120, "smplh", "female", 16),
    "amass/soma_mosh_stageii.pkl": r"is a pickle: never opened",
} | {f"minimal/amass_{name}.npz": value for name, value in _MINIMAL_AMASS.items()}


def refusal(path) -> str:
    with pytest.raises(InputError) as caught:
        read_clip(path)
    text = str(caught.value)
    assert str(path) in text and "\n" not in text
    return text


def test_every_file_of_these_classes_has_an_expectation(shared):
    folders = {FORMATS / "bvh": "*", FORMATS / "amass": "*", SHARED / "data/bvh_more": "*",
               SHARED / "data/bvh_lafan1": "*", FORMATS / "minimal": "[ab][mv][ah]*"}  # fmt: skip
    found = {path.resolve() for folder, mask in folders.items() for path in folder.glob(mask)}
    joints = "amass/joints2smpl_test_motion.npy"  # in test_formats_joints.py
    assert found == {(FORMATS / name).resolve() for name in {*BVH, *AMASS, joints}}


@pytest.mark.parametrize("name", sorted(BVH))
def test_real_bvh_loads_with_its_facts_or_is_refused_by_name(shared, name):
    path, expected = FORMATS / name, BVH[name]
    if isinstance(expected, str):
        assert re.search(expected, refusal(path))
        return
    clip = read_clip(path)
    assert isinstance(clip, SkeletonClip)
    source = clip.provenance
    assert (clip.num_frames, clip.fps, len(clip.joint_names), source.up) == expected[:4]
    assert source.unit_scale == pytest.approx(expected[4], rel=1e-9)
    assert source.writer == expected[5]
    assert set(REQUIRED_ROLES) <= clip.roles.keys()
    require_upright_body(clip, has_floor="rest" not in name and "tpose" not in name)


def require_upright_body(clip, has_floor):
    """Physics that no wrong scale, axis or role survives."""
    facts = describe(clip)
    assert facts.stature is not None and 1.3 < facts.stature < 2.2
    pos, _ = clip.global_pose()
    height = {role: pos[:, clip.joint_names.index(j), 2] for role, j in clip.roles.items()}
    middle = {role: np.median(z) for role, z in height.items()}
    feet = min(middle["left_ankle"], middle["right_ankle"])
    assert middle["head"] > middle["pelvis"] + 0.15 * facts.stature
    assert middle["pelvis"] > feet + 0.3 * facts.stature
    for side in ("left", "right"):
        assert middle[f"{side}_hip"] > middle[f"{side}_knee"] > middle[f"{side}_ankle"]
    if has_floor:
        assert abs(facts.lowest) < 0.15


@pytest.mark.parametrize("name", [n for n in sorted(BVH) if n.startswith("bvh/")])
def test_real_bvh_has_the_positions_that_two_other_readers_found(shared, name):
    """Forward kinematics of expected.json, in file units, replacing and never adding OFFSET.

    MakeHuman's two are left out: there that reading is known to be wrong, since their position
    channels are relative to OFFSET.
    """
    if isinstance(BVH[name], str) or "makehuman" in name:
        pytest.skip("refused, or read otherwise on purpose")
    expected = json.loads((FORMATS / "expected.json").read_text())["bvh"][name[4:]]
    clip = read_clip(FORMATS / name)
    pos, quat = clip.global_pose()
    parents = clip.end_parents
    ends = pos[:, parents] + rotation.rotate(quat[:, parents], clip.end_offsets)
    pos = np.concatenate([ends, pos], axis=1) / clip.provenance.unit_scale
    if clip.provenance.up == "y":
        pos = np.stack([pos[..., 0], pos[..., 2], -pos[..., 1]], axis=-1)
    assert len(clip.end_offsets) == expected["end_sites"]
    middle = expected["fk_midframe_last_joint"]["frame"]
    for where, frame in (("fk_frame0_last_joint", 0), ("fk_midframe_last_joint", middle)):
        # Positions there are rounded to 1e-4 units.
        np.testing.assert_allclose(pos[frame, -1], expected[where]["xyz"], atol=1e-4)
    assert clip.joint_names[-1] == expected["fk_frame0_last_joint"]["name"]
    np.testing.assert_allclose(pos.min(axis=(0, 1)), expected["body_min_xyz"], atol=1e-3)
    np.testing.assert_allclose(pos.max(axis=(0, 1)), expected["body_max_xyz"], atol=1e-3)


@pytest.mark.parametrize("name", [n for n in sorted(BVH) if n.startswith("minimal/bvh_same")]
                         + [f"minimal/bvh_{n}.bvh" for n in (
                             "cut_from_00", "name_colon", "name_utf8", "no_end_sites",
                             "soma_offset6", "two_end_sites", "unit_inch", "unit_m",
                             "ft_rounded_0.033")])  # fmt: skip
def test_variants_of_one_motion_give_one_motion(shared, name):
    base = read_clip(FORMATS / "minimal/bvh_base.bvh")
    clip = read_clip(FORMATS / name)
    assert isinstance(base, SkeletonClip) and isinstance(clip, SkeletonClip)
    assert clip.roles.keys() == base.roles.keys()
    for role in base.roles:
        there, here = (c.joint_names.index(c.roles[role]) for c in (base, clip))
        # The variants are written with 6 decimals of a degree or less: some 1e-6 in cm, and
        # 1e-6 m in the one in metres.
        atol = 5e-6 if "unit" in name else 5e-8
        np.testing.assert_allclose(
            clip.global_pose()[0][:, here], base.global_pose()[0][:, there], atol=atol
        )


def test_a_cut_clip_is_a_cut_of_the_clip(shared):
    base = read_clip(FORMATS / "minimal/bvh_base.bvh")
    cut = read_clip(FORMATS / "minimal/bvh_cut_from_10.bvh")
    np.testing.assert_array_equal(cut.global_pose()[0], base.global_pose()[0][10:])
    assert cut.provenance.unit_scale == base.provenance.unit_scale


@pytest.mark.parametrize("name", sorted(AMASS))
def test_real_amass_loads_with_its_facts_or_is_refused_by_name(shared, name):
    path, expected = FORMATS / name, AMASS[name]
    if isinstance(expected, str):
        assert re.search(expected, refusal(path))
        return
    clip = read_clip(path)
    assert isinstance(clip, SmplClip) and clip.betas is not None
    found = (clip.num_frames, clip.fps, clip.model, clip.gender, len(clip.betas))
    assert found == expected
    assert clip.provenance.up == "z" and clip.provenance.unit_scale == 1.0


@pytest.mark.parametrize("name", ["same_f4", "same_fortran", "poses_T52x3", "key_mocap_frame_rate",
                                  "gender_bytes", "betas_1x16", "poses165_smplx",
                                  "smplx_stageii"])  # fmt: skip
def test_amass_variants_of_one_motion_give_one_motion(shared, name):
    base = read_clip(FORMATS / "minimal/amass_base.npz")
    clip = read_clip(FORMATS / f"minimal/amass_{name}.npz")
    tolerance = 1e-6 if name == "same_f4" else 1e-15  # float32 rotation vectors of up to 4 rad
    np.testing.assert_allclose(clip.joint_quat[:, :22], base.joint_quat[:, :22], atol=tolerance)
    if "smplx" not in name:
        np.testing.assert_allclose(clip.joint_quat, base.joint_quat, atol=tolerance)
    np.testing.assert_array_equal(clip.trans_w, base.trans_w)
    np.testing.assert_array_equal(clip.betas, base.betas)


def test_notes_on_rates_name_the_figures(shared):
    rate = next(n for n in read_clip(FORMATS / "amass/amass_dmpl_sample.npz").provenance.notes
                if n.code == "MK101")  # fmt: skip
    assert rate.message == (
        "mocap_framerate 120.00004577636719 is 120.000046 frames a second, taken for 120"
    )


def test_what_is_no_regular_file_is_skipped_with_a_reason(tmp_path):
    (tmp_path / "nowhere.bvh").symlink_to(tmp_path / "gone.bvh")
    (tmp_path / "loop.bvh").symlink_to(tmp_path / "loop.bvh")
    os.mkfifo(tmp_path / "pipe.bvh")
    found = search_files([tmp_path])
    assert found.files == ()
    assert [skip.path.name for skip in found.skipped] == ["loop.bvh", "nowhere.bvh", "pipe.bvh"]
    assert {skip.reason for skip in found.skipped} == {
        "no regular file, or a link that leads to none"
    }
