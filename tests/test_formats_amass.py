"""AMASS files of all releases, honest or hostile."""

import io
import pickle
import re
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motionkit import rotation
from motionkit.errors import InputError
from motionkit.formats import ReadOptions, describe, read_clip

FRAMES = 7


def fields(seed=0, width=156, **changes):
    rng = np.random.default_rng(seed)
    poses = rng.normal(scale=0.3, size=(FRAMES, width))
    poses[:, :3] = [np.pi / 2, 0, 0]  # upright in a Z-up world
    return {
        "poses": poses,
        "trans": rng.normal(scale=0.05, size=(FRAMES, 3)) + np.array([1.0, 2.0, 1.15]),
        "betas": rng.normal(size=16),
        "gender": np.array("female"),
        "mocap_framerate": np.array(120.0),
        **changes,
    }


def save(tmp_path, values, name="made_poses.npz"):
    path = tmp_path / name
    np.savez(path, **{key: value for key, value in values.items() if value is not None})
    return path


def refuse(tmp_path, message, **changes):
    with pytest.raises(InputError) as caught:
        read_clip(save(tmp_path, fields(**changes)))
    assert re.search(message, str(caught.value)), str(caught.value)


def codes(clip):
    return [note.code for note in clip.provenance.notes]


@settings(deadline=None, max_examples=40, derandomize=True,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(seed=st.integers(0, 2**32 - 1), width=st.sampled_from([66, 72, 156, 165]),
       split=st.booleans(), both=st.booleans(), order=st.sampled_from("CF"),
       cube=st.booleans())  # fmt: skip
def test_rotations_come_out_by_joint_whatever_the_layout(
    tmp_path, seed, width, split, both, order, cube
):
    values = fields(seed, width)
    rng = np.random.default_rng(seed)
    values["poses"][:, 3:] = rng.normal(scale=2.0, size=(FRAMES, width - 3))  # beyond π as well
    poses = values["poses"]
    if split:
        values |= {"root_orient": poses[:, :3], "pose_body": poses[:, 3:66]}
        if width == 156:
            values["pose_hand"] = poses[:, 66:]
        if width == 165:
            values |= {"pose_jaw": poses[:, 66:69], "pose_eye": poses[:, 69:75],
                       "pose_hand": poses[:, 75:]}  # fmt: skip
    if split and not both and width != 72:
        values["poses"] = None
    elif cube:
        values["poses"] = poses.reshape(FRAMES, -1, 3)
    if values["poses"] is not None:
        values["poses"] = np.asarray(values["poses"], order=order)
    clip = read_clip(save(tmp_path, values))
    joints = rotation.from_rotvec(poses.reshape(FRAMES, -1, 3))
    expected = np.tile(rotation.IDENTITY, (FRAMES, 52, 1))
    expected[:, :22] = joints[:, :22]
    if width >= 156:
        expected[:, 22:] = joints[:, -30:]
    assert np.max(rotation.angle_between(clip.joint_quat, expected)) < 1e-7
    assert clip.model == {66: "smplh", 72: "smpl", 156: "smplh", 165: "smplx"}[width] or split
    np.testing.assert_array_equal(clip.trans_w, values["trans"])
    assert ("MK120" in codes(clip)) == (width < 156)


@pytest.mark.parametrize("key", ["mocap_framerate", "mocap_frame_rate", "fps", "frame_rate"])
@pytest.mark.parametrize("value", [np.array(100.0), np.array([100]), np.array([[100.0]]),
                                   np.float32(100)])  # fmt: skip
def test_the_rate_is_found_under_every_name_and_shape(tmp_path, key, value):
    clip = read_clip(save(tmp_path, fields(**{"mocap_framerate": None, key: value})))
    assert clip.fps == 100.0


def test_rates_that_disagree_are_named_and_the_user_decides(tmp_path):
    values = fields(mocap_frame_rate=60.0)
    path = save(tmp_path, values)
    with pytest.raises(InputError, match="mocap_framerate 120, mocap_frame_rate 60") as caught:
        read_clip(path)
    assert caught.value.help == "give the rate with --source-fps"
    assert read_clip(path, ReadOptions(fps=60)).fps == 60.0
    assert read_clip(save(tmp_path, fields(mocap_frame_rate=120.0001))).fps == 120.0


def test_a_file_without_a_rate_is_read_with_the_users(tmp_path):
    path = save(tmp_path, fields(mocap_framerate=None))
    with pytest.raises(InputError, match="mocap_framerate: no rate is stated"):
        read_clip(path)
    clip = read_clip(path, ReadOptions(fps=50))
    assert clip.fps == 50.0 and clip.provenance.options == (("fps", "50"),)


def test_a_stated_length_that_contradicts_the_rate_is_noted(tmp_path):
    long = fields(poses=np.tile(fields()["poses"][:1], (240, 1)), trans=np.zeros((240, 3)))
    assert "MK122" not in codes(read_clip(save(tmp_path, long | {"mocap_time_length": 2.0})))
    assert "MK122" in codes(read_clip(save(tmp_path, long | {"mocap_time_length": 4.0})))


@pytest.mark.parametrize(("gender", "expected"), [
    ("male", "male"), (b"female", "female"), (np.array(["neutral"]), "neutral"),
    (np.array([b"male"]), "male"), ("b'female'", "female"), ("F", "female"), ("unknown", None),
    (np.array(["male", "female"]), None), (np.array(3), None), (None, None),
    (np.array("male", dtype=object), None),
])  # fmt: skip
def test_gender_is_read_in_every_spelling_and_noted_when_absent(tmp_path, gender, expected):
    clip = read_clip(save(tmp_path, fields(gender=gender)))
    assert clip.gender == expected
    assert ("MK125" in codes(clip)) == (expected is None)


def test_betas_are_one_set_a_clip(tmp_path):
    betas = np.random.default_rng(3).normal(size=16)
    for given_betas in (betas, betas[None], np.tile(betas, (FRAMES, 1))):
        clip = read_clip(save(tmp_path, fields(betas=given_betas)))
        np.testing.assert_array_equal(clip.betas, betas)
        assert "MK124" not in codes(clip)
    drifting = betas + np.linspace(0, 0.5, FRAMES)[:, None]
    clip = read_clip(save(tmp_path, fields(betas=drifting)))
    np.testing.assert_allclose(clip.betas, betas + 0.25, atol=1e-12)
    assert "MK124" in codes(clip)
    for absent in (None, np.zeros(0)):
        clip = read_clip(save(tmp_path, fields(betas=absent)))
        assert clip.betas is None and "MK123" in codes(clip)


@pytest.mark.parametrize(("message", "changes"), [
    (r"poses: has shape \(7, 150\), expected", {"poses": np.zeros((7, 150))}),
    (r"poses: has shape \(156,\)", {"poses": np.zeros(156)}),
    (r"poses: has shape \(7, 78, 2\)", {"poses": np.zeros((7, 78, 2))}),
    (r"poses: has type <U1, expected real numbers", {"poses": np.full((7, 156), "x")}),
    (r"poses: nan at frame 0, joint 0", {"poses": np.full((7, 156), np.nan)}),
    (r"poses: 90 at frame 0, joint 0, expected .* radians", {"poses": np.full((7, 156), 90.0)}),
    (r"poses: holds Python objects", {"poses": np.empty((7, 156), dtype=object)}),
    (r"trans: is missing", {"trans": None}),
    (r"trans: has shape \(6, 3\), expected \(7, 3\)", {"trans": np.zeros((6, 3))}),
    (r"trans: inf at frame 0, x, expected finite metres", {"trans": np.full((7, 3), np.inf)}),
    (r"betas: are not finite", {"betas": np.full(16, np.nan)}),
    (r"betas: has shape \(3, 16\)", {"betas": np.zeros((3, 16))}),
    (r"mocap_framerate: -30 gives no usable rate", {"mocap_framerate": -30.0}),
    (r"mocap_framerate: holds 2 rates", {"mocap_framerate": np.array([30.0, 60.0])}),
    (r"mocap_framerate: has type <U3", {"mocap_framerate": np.array("120")}),
    (r"poses and root_orient, pose_body, … differ by up to 1", {
        "poses": np.zeros((7, 66)), "root_orient": np.ones((7, 3)),
        "pose_body": np.zeros((7, 63))}),
    (r"numbers of frames differ: root_orient 7, pose_body 6", {
        "poses": None, "root_orient": np.zeros((7, 3)), "pose_body": np.zeros((6, 63))}),
    (r"widths do not make a body: root_orient 3, pose_body 60", {
        "poses": None, "root_orient": np.zeros((7, 3)), "pose_body": np.zeros((7, 60))}),
])  # fmt: skip
def test_fields_that_are_wrong_are_refused_by_name_and_value(tmp_path, message, changes):
    refuse(tmp_path, message, **changes)


def test_a_y_up_file_is_turned_and_gives_the_motion_of_its_z_up_twin(tmp_path):
    values = fields(5)
    z_up = read_clip(save(tmp_path, values))
    rest = np.array([-0.0018, -0.2233, 0.0282])
    back = rotation.from_rotvec(np.array([-np.pi / 2, 0, 0]))
    root = rotation.multiply(back, rotation.from_rotvec(values["poses"][:, :3]))
    poses = values["poses"].copy()
    poses[:, :3] = rotation.to_rotvec(root)
    trans = rotation.rotate(back, values["trans"] + rest) - rest
    turned = fields(5, poses=poses, trans=trans)
    clip = read_clip(save(tmp_path, turned))
    assert clip.provenance.up == "y" and "MK104" in codes(clip)
    np.testing.assert_allclose(clip.trans_w, z_up.trans_w, atol=1e-12)
    assert np.max(rotation.angle_between(clip.joint_quat, z_up.joint_quat)) < 1e-7
    kept = read_clip(save(tmp_path, turned), ReadOptions(up="z"))
    np.testing.assert_array_equal(kept.trans_w, trans)


def test_a_person_who_lies_in_a_z_up_file_is_not_turned(tmp_path):
    poses = fields()["poses"]
    for axis in ([0.0, 0.0, 0.0], [0.0, 0.0, 1.5]):  # the body's own up along Y, and along -X
        poses[:, :3] = axis
        trans = np.tile([0.0, 0.2, 0.35], (FRAMES, 1))
        clip = read_clip(save(tmp_path, fields(poses=poses, trans=trans)))
        assert clip.provenance.up == "z" and "MK104" in codes(clip)


def test_facing_of_a_body_follows_its_yaw(tmp_path):
    values = fields()
    for yaw in (-2.0, 0.3, 3.0):
        upright = rotation.from_rotvec(np.array([np.pi / 2, 0, 0]))  # faces -Y then
        root = rotation.multiply(rotation.from_rotvec(np.array([0, 0, yaw])), upright)
        values["poses"][:, :3] = rotation.to_rotvec(root)
        facts = describe(read_clip(save(tmp_path, values)))
        expected = (yaw - np.pi / 2 + np.pi) % (2 * np.pi) - np.pi
        assert facts.facing_first == pytest.approx(expected, abs=1e-9)
        assert facts.facing_median == pytest.approx(expected, abs=1e-9)


class Bomb:
    def __reduce__(self):
        return (exec, ("raise SystemExit('a pickle ran')",))


def test_no_pickle_ever_runs(tmp_path):
    path = tmp_path / "evil.npz"
    np.savez(path, **fields(poses=np.array([Bomb()], dtype=object)), allow_pickle=True)
    with pytest.raises(InputError, match="holds Python objects"):
        read_clip(path)
    for name in ("evil.npz", "evil.pkl", "evil.npy", "evil.bvh"):
        (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(InputError):
            read_clip(tmp_path / name)


def write_zip(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def npy(array) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array))
    return out.getvalue()


def header(text: str, version=b"\x01\x00") -> bytes:
    body = text.encode()
    return b"\x93NUMPY" + version + len(body).to_bytes(2, "little") + body


@pytest.mark.parametrize(("message", "member"), [
    ("bad header", header("{'descr': '<f8', 'fortran_order': False, 'shape': (7, 156), ")),
    ("bad header", header("(((((((")),
    ("bad header", header("{'descr': '<f8', 'fortran_order': False, 'shape': (7, -1)}x")),
    ("bad header", header("{1: 2, 'a': 3}")),
    ("bad header", b"\x93NUM"),
    ("npy version", header("{}", b"\x09\x00")),
    ("declares 8,736 bytes", header(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (7, 156)}\n")),
    ("declares 8,000,000,000,000,000,000 bytes", header(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000000)}\n")),
    ("declares the shape", header(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 156)}\n")),
    ("holds Python objects", header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n")),
])  # fmt: skip
def test_malformed_arrays_are_refused(tmp_path, message, member):
    members = {f"{k}.npy": npy(v) for k, v in fields().items()} | {"poses.npy": member}
    path = write_zip(tmp_path / "made.npz", members)
    with pytest.raises(InputError, match=message) as caught:
        read_clip(path)
    assert "poses" in str(caught.value)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    members = {f"{k}.npy": npy(v) for k, v in fields().items()}
    members["poses.npy"] = header(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (60000, 156)}\n"
    ) + bytes(60000 * 156 * 8)
    path = write_zip(tmp_path / "bomb.npz", members)
    assert path.stat().st_size < 200_000
    with pytest.raises(InputError, match=r"poses: unpacks to 74,880,\d+ bytes from"):
        read_clip(path)


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9, 0.999])
def test_a_truncated_zip_is_refused(tmp_path, cut):
    path = save(tmp_path, fields())
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * cut)])
    with pytest.raises(InputError, match="the zip is damaged or cut short"):
        read_clip(path)


def test_damaged_bytes_do_not_pass_for_data(tmp_path):
    path = save(tmp_path, fields())
    data = bytearray(path.read_bytes())
    data[1000] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="poses: damaged: Bad CRC-32"):
        read_clip(path)
