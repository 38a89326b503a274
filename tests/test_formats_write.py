"""What is written is read back as the same motion, and written again as the same bytes."""

import csv
import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from builders import PROVENANCE, random_quats, smooth_quats
from builders_bvh import Dialect, walking_figure
from builders_bvh import write_bvh as made_bvh
from builders_markers import walker
from builders_points import marker_clip, robot_motion
from builders_write import laboratory, round_trip

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SmplClip
from motionkit.clip.rest import PELVIS_REST
from motionkit.errors import InputError
from motionkit.formats import (
    ReadOptions,
    read_clip,
    write_amass,
    write_bvh,
    write_c3d,
    write_csv,
    write_joints,
    write_npz,
    write_trc,
)
from motionkit.formats.write_points import to_points, unit_on_grid
from motionkit.formats.writing import TARGETS, find_target
from motionkit.human import align


def smpl_clip(rng, frames: int = 9, model: str = "smplh", **changes) -> SmplClip:
    quat = random_quats(rng, frames, 52)
    quat[:, 0] = rotation.multiply(  # upright, so that no reader doubts the axis
        rotation.from_axis_angle("Z", np.arange(frames) * 0.9),
        rotation.from_axis_angle("X", np.full(frames, np.pi / 2)),
    )
    if model == "smpl":
        quat[:, 22:] = rotation.IDENTITY
    values = {
        "name": "made", "fps": 120.0, "model": model, "trans_w": rng.normal(size=(frames, 3)),
        "joint_quat": rotation.unroll(quat), "betas": rng.normal(size=16), "gender": "female",
        "provenance": PROVENANCE, **changes,
    }  # fmt: skip
    return SmplClip(**values)


@pytest.mark.parametrize("model", ("smpl", "smplh", "smplx"))
@pytest.mark.parametrize("frames", (1, 2, 50))
def test_parameters_come_back(tmp_path, model, frames):
    rng = np.random.default_rng(frames)
    clip = smpl_clip(rng, frames, model)
    back = round_trip(tmp_path / "a.npz", write_amass.encode, clip)
    assert isinstance(back, SmplClip)
    np.testing.assert_array_equal(back.trans_w, clip.trans_w)
    np.testing.assert_array_equal(back.betas, clip.betas)
    assert rotation.angle_between(back.joint_quat, clip.joint_quat).max() < 1e-11
    assert (back.model, back.gender, back.fps) == (model, "female", 120.0)


def test_half_turns_of_either_sign_are_one_file(tmp_path):
    rng = np.random.default_rng(0)
    clip = smpl_clip(rng, 60)
    axis = rng.normal(size=(60, 51, 3))
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    angle = np.pi + rng.choice([-1e-13, 0.0, 1e-13], size=(60, 51, 1))
    quat = clip.joint_quat.copy()
    quat[:, 1:] = rotation.from_rotvec(angle * axis)
    flipped = quat.copy()
    flipped[:, 1:] = rotation.from_rotvec(-angle * axis)
    a, b = replace(clip, joint_quat=quat), replace(clip, joint_quat=flipped)
    back = round_trip(tmp_path / "a.npz", write_amass.encode, a)
    assert rotation.angle_between(back.joint_quat, a.joint_quat).max() < 1e-11
    one, other = (np.load(io.BytesIO(write_amass.encode(each)))["poses"] for each in (a, b))
    np.testing.assert_allclose(one, other, atol=2e-12)


def test_an_unknown_shape_is_absent_never_zero(tmp_path):
    clip = smpl_clip(np.random.default_rng(1), betas=None, gender=None)
    keys = set(np.load(io.BytesIO(write_amass.encode(clip))).files)
    assert keys == {"poses", "trans", "mocap_framerate"}
    back = round_trip(tmp_path / "a.npz", write_amass.encode, clip)
    assert back.betas is None and back.gender is None
    assert any("no betas" in line for line in write_amass.losses(clip))
    human = walker()
    assert not {"betas", "gender"} & set(np.load(io.BytesIO(write_amass.encode(human))).files)


@pytest.mark.parametrize("kind", ("walk", "arms"))
def test_a_person_keeps_rotations_and_pelvis_as_parameters(tmp_path, kind):
    human = walker(kind=kind)
    path = tmp_path / "a.npz"
    write_amass.write_amass(path, human)
    clip = read_clip(path)
    assert isinstance(clip, SmplClip) and clip.model == "smplh"
    pelvis = clip.trans_w + np.array(PELVIS_REST["smplh"])
    np.testing.assert_allclose(pelvis, human.landmark_pos_w[:, 0], atol=1e-12)
    back = align(clip)
    assert rotation.angle_between(back.landmark_quat_w, human.landmark_quat_w).max() < 1e-7
    assert back.fps == human.fps
    assert f"{PELVIS_REST['smplh'][1]:g}" in " ".join(write_amass.losses(human))


@pytest.mark.parametrize("frames", (1, 2, 30))
@pytest.mark.parametrize("encode", (write_c3d.encode, write_trc.encode))
def test_markers_come_back_with_their_gaps(tmp_path, encode, frames):
    rng = np.random.default_rng(frames)
    clip = marker_clip(rng, frames, 7, first_frame=1 + 5 * frames, fps=59.94)
    clip = replace(clip, pos_w=np.where(np.arange(7)[:, None] == 3, 1.5, clip.pos_w), name="a")
    is_c3d = encode is write_c3d.encode
    options = ReadOptions(up="z" if is_c3d else "y", scale=0.001, fps=None if frames > 1 else 59.94)
    back = round_trip(tmp_path / ("a.c3d" if is_c3d else "a.trc"), encode, clip, options)
    assert (back.labels, back.first_frame) == (clip.labels, clip.first_frame)
    assert back.fps == clip.fps
    np.testing.assert_array_equal(back.visible, clip.visible)
    tolerance = 3e-7 if is_c3d else 1e-9  # single precision of 4 m; six decimals of a millimetre
    np.testing.assert_allclose(back.pos_w, clip.pos_w, atol=tolerance)


def test_a_laboratory_comes_back(tmp_path):
    rng = np.random.default_rng(3)
    analog, plates = laboratory(rng, 30)
    clip = marker_clip(rng, 30, 6, analog=analog, plates=plates, subject="Anna")
    back = round_trip(tmp_path / "a.c3d", write_c3d.encode, clip, ReadOptions(up="z", scale=0.001))
    assert back.subject == "Anna" and back.analog is not None
    assert (back.analog.labels, back.analog.units, back.analog.fps) == (
        analog.labels, analog.units, analog.fps)  # fmt: skip
    np.testing.assert_array_equal(back.analog.values, analog.values)
    for plate, other in zip(plates, back.plates, strict=True):
        assert (other.type, other.channels) == (plate.type, plate.channels)
        np.testing.assert_allclose(other.corners_w, plate.corners_w, atol=1e-7)
        np.testing.assert_allclose(other.origin, plate.origin, atol=1e-8)
        if plate.calibration is not None:
            np.testing.assert_allclose(other.calibration, plate.calibration, rtol=1e-6)
    for module, lost in ((write_trc, 3), (write_joints, 3), (write_csv, 3)):
        said = [line for line in module.losses(clip) if "lost" in line]
        assert len(said) == lost, "subject, channels, plates"
    assert not any("lost" in line for line in write_c3d.losses(clip))


@pytest.mark.parametrize(("points", "frames", "first"), [
    (300, 3, 1), (700, 2, 1), (1, 65535, 1), (1, 65536, 1), (2, 70000, 1), (1, 100, 65500),
    (1, 100, 70000), (2, 131072, 3),
])  # fmt: skip
def test_c3d_holds_more_than_its_header_can_count(tmp_path, points, frames, first):
    rng = np.random.default_rng(points)
    clip = marker_clip(rng, 2, points, first_frame=first)
    pos = np.tile(np.nan_to_num(clip.pos_w, nan=0.5), (frames // 2 + 1, 1, 1))[:frames]
    clip = replace(clip, pos_w=pos + 0.001 * np.arange(frames)[:, None, None] % 1.0)
    back = round_trip(tmp_path / "a.c3d", write_c3d.encode, clip, ReadOptions(up="z", scale=0.001))
    assert (back.labels, back.num_frames) == (clip.labels, frames)
    assert back.first_frame == first
    np.testing.assert_allclose(back.pos_w, clip.pos_w, atol=3e-7)


def test_ezc3d_reads_what_is_written(tmp_path):
    ezc3d = pytest.importorskip("ezc3d")
    rng = np.random.default_rng(4)
    analog, plates = laboratory(rng, 40)
    clip = marker_clip(rng, 40, 300, analog=analog, plates=plates, first_frame=12, fps=59.94)
    clip = replace(clip, analog=replace(analog, fps=599.4))
    path = tmp_path / "a.c3d"
    write_c3d.write_c3d(path, clip)
    c3d = ezc3d.c3d(str(path), extract_forceplat_data=True)
    header, group = c3d["header"], c3d["parameters"]
    labels = group["POINT"]["LABELS"]["value"] + group["POINT"]["LABELS2"]["value"]
    assert tuple(labels) == clip.labels
    assert group["POINT"]["UNITS"]["value"] == ["mm"]
    assert header["points"]["first_frame"] == 11 and header["points"]["last_frame"] == 50
    assert header["points"]["frame_rate"] == pytest.approx(59.94, abs=1e-5)
    points = np.moveaxis(c3d["data"]["points"][:3], 0, -1).swapaxes(0, 1) * 0.001
    np.testing.assert_allclose(points, clip.pos_w, atol=3e-7)
    assert tuple(group["ANALOG"]["LABELS"]["value"]) == analog.labels
    np.testing.assert_array_equal(c3d["data"]["analogs"][0].T, analog.values)
    found = c3d["data"]["platform"]
    for plate, other in zip(plates, found, strict=True):
        np.testing.assert_allclose(other["corners"].T * 0.001, plate.corners_w, atol=1e-6)
        if plate.calibration is not None:
            np.testing.assert_allclose(other["cal_matrix"], plate.calibration, rtol=1e-6)
    assert found[0]["unit_force"] == "N"
    force = analog.values[:, :3]  # of a plate of type 2, whose axes differ from the world's
    np.testing.assert_allclose(np.linalg.norm(found[0]["force"], axis=0),
                               np.linalg.norm(force, axis=1), rtol=1e-6)  # fmt: skip


def test_what_c3d_has_no_room_for_is_refused():
    rng = np.random.default_rng(5)
    clip = marker_clip(rng, 3, 2)
    with pytest.raises(InputError, match="has 130 bytes, C3D takes 127"):
        write_c3d.encode(replace(clip, labels=("a", "b" * 130)))
    many = marker_clip(rng, 1, 5000, labels=tuple(f"{i:0100d}" for i in range(5000)))
    with pytest.raises(InputError, match="C3D has room for 255"):
        write_c3d.encode(many)
    analog, _ = laboratory(rng, 4)
    with pytest.raises(InputError, match="has 40 analog samples, expected 10 for each of 3"):
        write_c3d.encode(replace(clip, analog=analog))
    with pytest.raises(InputError, match="cannot be written in TRC"):
        write_trc.encode(replace(clip, labels=("a\tb", "c")))


@pytest.mark.parametrize("encode", (write_c3d.encode, write_trc.encode, write_joints.encode))
def test_joint_centres_of_a_skeleton_come_back(tmp_path, encode):
    rng = np.random.default_rng(6)
    path = tmp_path / "a.bvh"
    path.write_bytes(made_bvh(walking_figure(rng, 20), Dialect(), rng))
    clip = read_clip(path)
    suffix = {write_c3d.encode: "c3d", write_trc.encode: "trc"}.get(encode, "npz")
    back = round_trip(tmp_path / f"a.{suffix}", encode, to_points(clip))
    assert encode(clip) == encode(to_points(clip))
    assert (back.labels, back.fps) == (clip.joint_names, clip.fps)
    np.testing.assert_allclose(back.pos_w, clip.global_pose()[0], atol=3e-7)
    if suffix == "npz":
        assert back.kind == "joint" and back.roles == clip.roles


def test_joints_that_nobody_observed_are_not_made_up():
    human = walker()
    observed = np.arange(52) < 20
    points = to_points(replace(human, observed=observed))
    assert points.labels == SMPLH_JOINTS[:20]
    said = write_joints.losses(replace(human, observed=observed))
    assert any("left_wrist" in line and "left out" in line for line in said)


def test_a_table_of_markers_has_their_numbers_and_blanks_for_gaps():
    clip = marker_clip(np.random.default_rng(7), 12, 3, labels=("a,b", 'c"', "é"), first_frame=6)
    rows = list(csv.reader(io.StringIO(write_csv.encode(clip).decode())))
    assert rows[0] == ["time", *(f"{label}_{axis}" for label in clip.labels for axis in "xyz")]
    values = np.array([[float(cell or "nan") for cell in row] for row in rows[1:]])
    np.testing.assert_allclose(values[:, 0], np.arange(5, 17) / 100.0, atol=1e-9)
    np.testing.assert_allclose(values[:, 1:].reshape(12, 3, 3), clip.pos_w, atol=1e-9)
    assert write_csv.encode(clip).count(b",,") > 0 and b"nan" not in write_csv.encode(clip)


@pytest.mark.parametrize("layout", write_csv.LAYOUTS)
@pytest.mark.parametrize("frames", (1, 2, 300))
def test_a_robots_table_comes_back(tmp_path, layout, frames):
    rng = np.random.default_rng(frames)
    motion = robot_motion(
        rng, frames, 5, joint_names=tuple("abcde"), joint_vel=np.ones((frames, 5))
    )
    order = {"unitree": "xyzw", "kimodo": "wxyz", "named": None}[layout]
    fps = 50.0 if layout != "named" or frames == 1 else None
    back = round_trip(tmp_path / "a.csv", write_csv.encode, motion,
                      ReadOptions(fps=fps, quat_order=order), layout=layout)  # fmt: skip
    np.testing.assert_allclose(back.root_pos_w, motion.root_pos_w, atol=1e-9)
    np.testing.assert_allclose(back.joint_pos, motion.joint_pos, atol=1e-9)
    assert rotation.angle_between(back.root_quat, motion.root_quat).max() < 1e-8
    assert back.fps == 50.0
    assert back.joint_names == (motion.joint_names if layout == "named" else None)
    said = " ".join(write_csv.losses(motion, layout=layout))
    assert "joint velocities are lost" in said
    assert ("xyzw" in said, "wxyz" in said) == (layout == "unitree", layout == "kimodo")


def bodies(rng, frames: int, count: int = 3) -> dict[str, np.ndarray]:
    return {"body_pos_w": np.cumsum(rng.normal(scale=0.01, size=(frames, count, 3)), axis=0),
            "body_quat_w": smooth_quats(rng, frames, count, speed=0.1)}  # fmt: skip


@pytest.mark.parametrize("has_names", (True, False))
def test_a_robots_arrays_come_back_with_velocities(tmp_path, has_names):
    rng = np.random.default_rng(8)
    stored = bodies(rng, 40)
    names = {"joint_names": tuple("abcd"), "body_names": ("pelvis", "x", "y")} if has_names else {}
    motion = robot_motion(rng, 40, contact=rng.random((40, 2)), **stored, **names)
    motion = replace(motion, root_pos_w=stored["body_pos_w"][:, 0],
                     root_quat=stored["body_quat_w"][:, 0])  # fmt: skip
    back = round_trip(tmp_path / "a.npz", write_npz.encode, motion,
                      ReadOptions(quat_order="wxyz"))  # fmt: skip
    assert (back.joint_names, back.body_names) == (motion.joint_names, motion.body_names)
    for name in ("root_pos_w", "joint_pos", "body_pos_w", "contact"):
        np.testing.assert_array_equal(getattr(back, name), getattr(motion, name))
    for name in ("root_quat", "body_quat_w"):
        assert rotation.angle_between(getattr(back, name), getattr(motion, name)).max() < 1e-11
    middle = (motion.body_pos_w[2:] - motion.body_pos_w[:-2]) * 25.0
    np.testing.assert_allclose(back.body_lin_vel_w[1:-1], middle, atol=1e-12)
    step = rotation.to_rotvec(rotation.multiply(
        stored["body_quat_w"][2:], rotation.conjugate(stored["body_quat_w"][:-2])))  # fmt: skip
    np.testing.assert_allclose(back.body_ang_vel_w[1:-1], step * 25.0, atol=1e-9)
    assert "joint_vel" in " ".join(write_npz.losses(motion))
    assert "computed" not in " ".join(write_npz.losses(back))


def test_a_robot_without_bodies_is_refused_as_arrays():
    rng = np.random.default_rng(9)
    with pytest.raises(InputError, match="has no poses of bodies") as found:
        write_npz.encode(robot_motion(rng))
    assert "--robot" in found.value.help
    with pytest.raises(InputError, match="has no positions of bodies"):
        write_trc.encode(robot_motion(rng))
    with pytest.raises(InputError, match="has one frame and no joint_vel, body_lin_vel_w"):
        write_npz.encode(robot_motion(rng, 1, **bodies(rng, 1)))
    with pytest.raises(InputError, match="names no joints"):
        write_csv.encode(robot_motion(rng), layout="named")


def test_rounded_quaternions_stay_as_they_are_when_scaled_to_unit_length():
    quat = random_quats(np.random.default_rng(10), 3000)
    for decimals in (3, 6, 9):
        found = unit_on_grid(quat, decimals)
        again = np.round(rotation.normalize(found), decimals)
        np.testing.assert_array_equal(again + 0.0, found)
        assert rotation.angle_between(found, quat).max() < 8 * 10.0**-decimals


def test_packed_arrays_are_stored_plainly_and_always_alike():
    arrays = {"a": np.array([-0.0, 1.0]), "b": np.array(["x", "é"]), "c": np.asfortranarray(
        np.arange(6.0).reshape(2, 3))}  # fmt: skip
    data = write_npz.pack_npz(arrays)
    with np.load(io.BytesIO(data), allow_pickle=False) as found:
        assert {key: found[key].tolist() for key in found.files} == {
            key: array.tolist() for key, array in arrays.items()}  # fmt: skip
        assert not np.signbit(found["a"]).any()
    times = {info.date_time for info in zipfile.ZipFile(io.BytesIO(data)).infolist()}
    assert times == {(1980, 1, 1, 0, 0, 0)}


def test_the_table_of_targets_has_a_module_a_row_and_one_row_a_clip():
    import importlib

    from motionkit.formats import writing

    for row in TARGETS:
        module = importlib.import_module(row.module)
        assert callable(module.encode) and callable(module.losses)
        assert len([other for other in TARGETS if other.name == row.name
                    and set(other.takes) & set(row.takes)]) == 1  # fmt: skip
        for kind in row.takes:
            assert find_target(row.name, kind) is row
    assert set(writing.NAMES) == {row.name for row in TARGETS}
    assert find_target("bvh", type(marker_clip(np.random.default_rng(0)))) is None
    assert write_bvh.encode is not None


def has_bodies(clip) -> bool:
    return not hasattr(clip, "body_pos_w") or clip.body_pos_w is not None


@pytest.mark.slow
@pytest.mark.parametrize("folder", ("c3d", "trc", "amass", "robot"))
def test_real_files_come_back(tmp_path, shared, folder):
    count = 0
    for path in sorted((shared / "data" / "formats" / folder).iterdir()):
        try:
            clip = read_clip(path)
        except InputError as error:
            if "--source-fps" not in error.help:
                continue
            clip = read_clip(path, ReadOptions(fps=30.0))
        for name in ("amass", "c3d", "trc", "npz"):
            target = find_target(name, type(clip))
            is_robot = folder == "robot" and hasattr(clip, "root_quat")
            if target is None or (name == "npz") != is_robot or not has_bodies(clip):
                continue
            back = round_trip(tmp_path / f"{clip.name}{target.extension}", target.encode, clip)
            assert back.fps == clip.fps
            if hasattr(clip, "labels"):
                assert back.labels == clip.labels
                np.testing.assert_allclose(back.pos_w, clip.pos_w, atol=5e-7)
            count += 1
    assert count >= {"c3d": 40, "trc": 18, "amass": 2, "robot": 2}[folder]
