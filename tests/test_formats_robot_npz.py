"""Named arrays of a robot's motion, in every writer's names."""

import resource
import time
from pathlib import Path

import numpy as np
import pytest
from builders_robot import G1, damage, flip_signs, npz_bytes, robot_truth

from motionkit import rotation
from motionkit.clip import differentiate
from motionkit.errors import InputError
from motionkit.formats import read_clip
from motionkit.formats.robot_npz import read
from motionkit.formats.source import ReadOptions, Source

MINIMAL = Path("data/formats/minimal")
NONE = ReadOptions()


def read_arrays(options: ReadOptions = NONE, **arrays):
    return read(Source(Path("clip.npz"), npz_bytes(**arrays)), options)


def codes(motion) -> list[str]:
    return [note.code for note in motion.provenance.notes]


def with_world(bodies: np.ndarray) -> np.ndarray:
    first = np.zeros((len(bodies), 1, bodies.shape[2]))
    if bodies.shape[2] == 4:
        first[..., 0] = 1.0
    return np.concatenate([first, bodies], axis=1)


def spell(family: str, truth) -> dict:
    """The fields of a motion as a family of writers names them."""
    frames = len(truth.root_pos)
    qpos = np.concatenate([truth.root_pos, truth.root_quat, truth.joint_pos], axis=1)
    vel = differentiate(truth.joint_pos, 50.0)
    velocities = {
        "body_lin_vel_w": differentiate(truth.body_pos, 50.0),
        "body_ang_vel_w": rotation.angular_velocity(truth.body_quat, 50.0),
    }
    bodies = {"body_pos_w": truth.body_pos, "body_quat_w": truth.body_quat, **velocities}
    if family == "mjlab":
        return {"fps": np.array([50]), "joint_pos": truth.joint_pos, "joint_vel": vel, **bodies}
    if family == "holosoma":
        whole = {name: with_world(values) for name, values in bodies.items()}
        return {"fps": np.array([50]), "joint_pos": qpos,
                "joint_vel": np.concatenate([np.zeros((frames, 6)), vel], axis=1), **whole,
                "joint_names": np.array(G1.joints),
                "body_names": np.array(("world", *truth.body_names))}  # fmt: skip
    if family == "amp":
        return {"fps": np.int64(50), "dof_names": np.array(G1.joints), "dof_positions":
                truth.joint_pos, "dof_velocities": vel, "body_names": np.array(truth.body_names),
                "body_positions": truth.body_pos, "body_rotations": truth.body_quat,
                "body_linear_velocities": velocities["body_lin_vel_w"],
                "body_angular_velocities": velocities["body_ang_vel_w"]}  # fmt: skip
    if family == "loco":
        qvel = np.concatenate([np.zeros((frames, 6)), vel], axis=1)
        return {"frequency": 50.0, "qpos": qpos, "qvel": qvel,
                "joint_names": np.array(("root", *G1.joints)), "njnt": 30,
                "jnt_type": np.array([0] + [3] * 29), "split_points": np.array([0, frames]),
                "body_names": np.array(("world", *truth.body_names)),
                "xpos": with_world(truth.body_pos),
                "xquat": with_world(truth.body_quat)}  # fmt: skip
    if family == "asap":
        return {"fps": 50, "root_trans_offset": truth.root_pos, "dof": truth.joint_pos,
                "root_rot": rotation.to_xyzw(truth.root_quat)}  # fmt: skip
    assert family == "eden"
    return {"target_framerate": 50.0, "base_pos_w": truth.root_pos, "base_quat_w": truth.root_quat,
            "dofs_pos": truth.joint_pos, "dofs_vel": vel, "target_dofs_name": np.array(G1.joints),
            "links_pos_w": truth.body_pos, "links_quat_w": truth.body_quat,
            "target_links_name": np.array(truth.body_names)}  # fmt: skip


FAMILIES = ("mjlab", "holosoma", "amp", "loco", "asap", "eden")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("flips", [False, True])
def test_every_spelling_is_the_same_motion(family, flips):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truth = robot_truth(rng)
        arrays = spell(family, truth)
        if flips:
            arrays = {name: flip_signs(rng, values) if np.shape(values)[-1:] == (4,) else values
                      for name, values in arrays.items()}  # fmt: skip
        motion = read_arrays(**arrays)
        assert np.abs(motion.root_pos_w - truth.root_pos).max() <= 1e-12
        assert rotation.angle_between(motion.root_quat, truth.root_quat).max() <= 1e-7
        assert np.abs(motion.joint_pos - truth.joint_pos).max() <= 1e-12
        assert motion.fps == 50.0 and motion.robot == "unitree_g1"
        if family not in ("mjlab", "asap"):
            assert motion.joint_names == G1.joints
            assert "MK161" not in codes(motion) and "MK162" not in codes(motion)
        if family != "asap":
            assert motion.body_pos_w is not None and motion.body_quat_w is not None
            assert np.abs(motion.body_pos_w - truth.body_pos).max() <= 1e-12
            assert rotation.angle_between(motion.body_quat_w, truth.body_quat).max() <= 1e-7
            assert motion.body_names == (None if family == "mjlab" else truth.body_names)
        assert "MK164" not in codes(motion), "stored velocities are those of the poses"
        assert ("MK165" in codes(motion)) == (family in ("holosoma", "loco"))


def test_joints_without_names_are_named_where_ranges_tell_one_order():
    truth = robot_truth(np.random.default_rng(0))
    for order, names in (("MuJoCo", G1.joints), ("PhysX", G1.breadth_first)):
        truth.joint_pos[:, G1.joints.index("left_knee_joint")] = 1.5
        columns = [G1.joints.index(name) for name in names]
        arrays = spell("mjlab", truth) | {"joint_pos": truth.joint_pos[:, columns]}
        del arrays["joint_vel"]
        motion = read_arrays(**arrays)
        assert motion.joint_names == names
        assert f"in {order}'s order, by its ranges" in " ".join(
            note.message for note in motion.provenance.notes
        )
    truth.joint_pos[:] = 0.01
    motion = read_arrays(**spell("asap", truth))
    assert motion.joint_names is None and "MK162" in codes(motion)


def test_the_world_is_left_out_without_a_name_too():
    arrays = spell("mjlab", robot_truth(np.random.default_rng(1)))
    for name in ("body_pos_w", "body_quat_w", "body_lin_vel_w", "body_ang_vel_w"):
        arrays[name] = with_world(arrays[name])
    motion = read_arrays(**arrays)
    assert motion.body_pos_w is not None and motion.body_pos_w.shape[1] == 6
    assert np.array_equal(motion.root_pos_w, arrays["body_pos_w"][:, 1])
    assert "MK165" in codes(motion)


def test_velocities_spoilt_by_flipped_signs_are_noted_with_frame_and_figures():
    truth = robot_truth(np.random.default_rng(2))
    arrays = spell("amp", truth)
    arrays["body_angular_velocities"][17, 3] = [170.0, 0.0, 0.0]
    (note,) = [n for n in read_arrays(**arrays).provenance.notes if n.code == "MK164"]
    assert "body_ang_vel_w is 170 rad/s at frame 17 of link_3" in note.message
    assert "1 values disagree" in note.message and note.value == pytest.approx(170, rel=0.1)


def test_another_order_than_the_writers_is_refused_unless_the_user_says_so():
    truth = robot_truth(np.random.default_rng(3))
    arrays = spell("mjlab", truth) | {"body_quat_w": rotation.to_xyzw(truth.body_quat)}
    with pytest.raises(
        InputError, match="body_quat_w: quaternions are xyzw, expected wxyz"
    ) as caught:
        read_arrays(**arrays)
    assert caught.value.help == "if that is meant, give --quat-order xyzw"
    motion = read_arrays(ReadOptions(quat_order="xyzw"), **arrays)
    assert rotation.angle_between(motion.root_quat, truth.root_quat).max() <= 1e-7


def test_one_of_several_motions_is_chosen_by_number():
    truth = robot_truth(np.random.default_rng(4))
    arrays = spell("loco", truth) | {"split_points": np.array([0, 15, 40])}
    with pytest.raises(InputError, match="split_points: holds 2 motions") as caught:
        read_arrays(**arrays)
    assert caught.value.help == "give --take 0 to --take 1"
    motion = read_arrays(ReadOptions(take=1), **arrays)
    assert motion.num_frames == 25
    assert np.abs(motion.joint_pos - truth.joint_pos[15:]).max() <= 1e-12
    with pytest.raises(InputError, match="number 2 asked for"):
        read_arrays(ReadOptions(take=2), **arrays)


@pytest.mark.parametrize(("change", "message"), [
    ({"joint_vel": np.zeros((37, 29))}, "joint_vel: has 37 frames, the joint angles have 40"),
    ({"joint_vel": np.zeros((40, 12))}, "joint_vel: has 12 columns, expected 29 or 35"),
    ({"body_quat_w": np.zeros((40, 6, 4))}, "body_quat_w: quaternion of norm 0 at frame 0, body 0"),
    ({"body_pos_w": np.zeros((40, 5, 3))}, "bodies, the fields before it"),
    ({"body_pos_w": np.zeros((40, 6, 2))}, "body_pos_w: has shape (40, 6, 2)"),
    ({"joint_pos": np.zeros((0, 29))}, "joint_pos: has shape (0, 29)"),
    ({"joint_pos": np.full((40, 29), np.inf)}, "joint_pos: inf at frame 0, index (0,)"),
    ({"joint_names": np.array(["a", "b"])}, "joint_pos: has 29 columns for 2 joint names"),
    ({"joint_names": np.array(["a"] * 29)}, "joint_names: names occur more than once: a"),
    ({"body_names": np.array(["a", "b"])}, "body_names: has 2 names for 6 bodies"),
    ({"fps": np.array([0])}, "fps: 0 gives no usable rate"),
    ({"fps": np.array([30, 50])}, "fps: holds 2 rates"),
    ({"fps": None}, "fps: no rate is stated"),
    ({"joint_pos": None}, "joint_pos: holds no joint angles"),
    ({"body_quat_w": None}, "root_pos: no pose of the root"),
    ({"joint_pos": np.full((40, 29), 90.0)}, "joint_pos: 90 at frame 0, joint 0, expected rad"),
    ({"joint_pos": np.array([[None] * 29] * 40)}, "holds Python objects"),
])  # fmt: skip
def test_faults_are_named_with_field_and_value(change, message):
    arrays = spell("mjlab", robot_truth(np.random.default_rng(5))) | change
    if "joint_names" in change or "joint_pos" in change:
        del arrays["joint_vel"]
    with pytest.raises(InputError) as caught:
        read_arrays(**{name: value for name, value in arrays.items() if value is not None})
    assert str(caught.value).startswith("clip.npz: ") and message in str(caught.value)


def test_root_and_root_body_must_agree():
    arrays = spell("eden", robot_truth(np.random.default_rng(6)))
    arrays["links_pos_w"] = arrays["links_pos_w"] + [0.0, 0.0, 0.1]
    with pytest.raises(InputError, match=r"root and root body are 0\.1 m apart at frame"):
        read_arrays(**arrays)


def test_a_slow_rate_and_a_time_between_frames_are_rates():
    arrays = spell("asap", robot_truth(np.random.default_rng(7)))
    del arrays["fps"]
    assert read_arrays(**arrays, motion_dt=np.float32(1 / 30)).fps == 30.0
    assert read_arrays(ReadOptions(fps=25.0), **arrays).fps == 25.0


def test_minimal_files_are_the_same_motion(shared):
    base = read_clip(shared / MINIMAL / "npz_base_holosoma.npz")
    assert (base.num_frames, base.fps, base.robot) == (40, 50.0, "unitree_g1")
    assert base.body_names[0] == "pelvis" and len(base.body_names) == 50
    for name in ("npz_beyondmimic_29", "npz_fps_scalar", "npz_same_signflip"):
        motion = read_clip(shared / MINIMAL / f"{name}.npz")
        assert motion.joint_names == base.joint_names and motion.body_names is None
        for field in ("root_pos_w", "root_quat", "joint_pos", "joint_vel", "body_pos_w",
                      "body_quat_w", "body_lin_vel_w", "body_ang_vel_w"):  # fmt: skip
            assert np.abs(getattr(motion, field) - getattr(base, field)).max() <= 1e-6, field


@pytest.mark.parametrize(("name", "message"), [
    ("npz_bad_T_mismatch", "joint_vel: has 37 frames, the joint angles have 40"),
    ("npz_bad_fps_missing", "fps: no rate is stated"),
    ("npz_bad_quat_xyzw", "body_quat_w: quaternions are xyzw, expected wxyz"),
])  # fmt: skip
def test_minimal_files_with_a_fault_are_refused(shared, name, message):
    with pytest.raises(InputError) as caught:
        read_clip(shared / MINIMAL / f"{name}.npz")
    assert message in str(caught.value)


def test_real_files_have_the_facts_expected_of_them(shared):
    folder = shared / "data" / "formats" / "robot"
    motion = read_clip(folder / "holosoma_g1_sub3_largebox_003_mj.npz")
    assert (motion.num_frames, motion.fps, motion.joint_pos.shape[1]) == (325, 50.0, 29)
    assert len(motion.body_names) == 50 and "world" not in motion.body_names
    motion = read_clip(folder / "robotlab_g1_dance1_subject2_30.npz")
    assert (motion.num_frames, motion.fps, len(motion.body_names)) == (301, 30.0, 14)
    (note,) = [n for n in motion.provenance.notes if n.code == "MK164"]
    assert "177.6 rad/s" in note.message
    (note,) = [n for n in motion.provenance.notes if n.code == "MK166"]
    assert note.value == 34
    true = rotation.angular_velocity(motion.body_quat_w, motion.fps)
    assert np.linalg.norm(true, axis=-1).max() < 18.5


def test_damaged_files_load_or_are_refused_in_one_line():
    truth = robot_truth(np.random.default_rng(8), 8)
    base = [npz_bytes(**spell(family, truth)) for family in FAMILIES]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    for seed in range(300):
        data = damage(np.random.default_rng(seed), base[seed % len(base)])
        start = time.process_time()
        try:
            motion = read(Source(Path("clip.npz"), data), NONE)
            assert motion.num_frames == 8 and np.isfinite(motion.joint_pos).all()
        except InputError as error:
            assert str(error).startswith("clip.npz") and str(error).isprintable()
            refused += 1
        assert time.process_time() - start < 1.0
    assert refused > 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
