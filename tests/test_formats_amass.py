"""AMASS files of all releases, honest or hostile."""

import io
import pickle
import re
import zipfile

import numpy as np
import pytest
from conftest import SHARED
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motionkit import rotation
from motionkit.clip import SmplClip
from motionkit.errors import InputError
from motionkit.formats import ReadOptions, describe, read_amass_markers, read_clip

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


# --- the markers beside the body --------------------------------------------------------------


def with_markers(seed=0, keys=("markers", "labels"), **changes):
    """An AMASS file with eight markers around the pelvis."""
    values = fields(seed)
    rng = np.random.default_rng(seed)
    pos = values["trans"][:, None] + rng.uniform(-0.7, 0.7, size=(FRAMES, 8, 3))
    labels = np.array(["LASI", "RASI", "C7", "CLAV", "LKNE", "RKNE", "LANK", "RANK"])
    return values | {keys[0]: pos, keys[1]: labels} | changes


def marker_of(clip, label):
    return clip.pos_w[:, clip.labels.index(label)]


@pytest.mark.parametrize("keys", [("markers", "labels"), ("marker_data", "marker_labels"),
                                  ("markers_obs", "labels_obs")])  # fmt: skip
def test_markers_come_out_by_label_under_the_names_of_every_release(tmp_path, keys):
    values = with_markers(keys=keys)
    clip = read_amass_markers(save(tmp_path, values))
    assert clip.labels == tuple(values[keys[1]]) and clip.kind == "marker" and clip.fps == 120.0
    np.testing.assert_array_equal(clip.pos_w, values[keys[0]])
    values[keys[1]] = values[keys[1]].astype("S")
    np.testing.assert_array_equal(read_amass_markers(save(tmp_path, values)).pos_w, clip.pos_w)
    prefixed = np.array([f"Anna:{label.decode()}" for label in values[keys[1]]])
    again = read_amass_markers(save(tmp_path, values | {keys[1]: prefixed}))
    assert again.labels == clip.labels and again.subject == "Anna"


def test_markers_stay_on_the_body_in_every_world_and_unit(tmp_path):
    values = with_markers(5)
    path = save(tmp_path, values)
    pelvis = read_clip(path).trans_w + np.array([-0.0018, -0.2233, 0.0282])
    away = read_amass_markers(path).pos_w - pelvis[:, None]
    for up in ("y", "x", "-y", "-z"):
        options = ReadOptions(up=up, scale=0.5)
        body, clip = read_clip(path, options), read_amass_markers(path, options)
        assert isinstance(body, SmplClip) and clip.provenance.up == up
        quat = np.array(body.provenance.world_quat)
        np.testing.assert_allclose(clip.pos_w, rotation.rotate(quat, 0.5 * values["markers"]),
                                   atol=1e-12)  # fmt: skip
    full = ReadOptions(up="y")
    body, clip = read_clip(path, full), read_amass_markers(path, full)
    turned = clip.pos_w - (body.trans_w + np.array([-0.0018, -0.2233, 0.0282]))[:, None]
    np.testing.assert_allclose(np.linalg.norm(turned, axis=-1), np.linalg.norm(away, axis=-1),
                               atol=1e-12)  # fmt: skip


def test_labels_may_change_from_frame_to_frame(tmp_path):
    values = with_markers(2)
    rng = np.random.default_rng(0)
    order = np.array([rng.permutation(8) for _ in range(FRAMES)])
    pos = np.take_along_axis(values["markers"], order[..., None], axis=1)
    labels = values["labels"][order]
    straight = read_amass_markers(save(tmp_path, values))
    mixed = read_amass_markers(save(tmp_path, values | {"markers": pos, "labels": labels}))
    assert set(mixed.labels) == set(straight.labels)
    for label in straight.labels:
        np.testing.assert_array_equal(marker_of(mixed, label), marker_of(straight, label))
    labels[3, 4] = "NEW"
    new = read_amass_markers(save(tmp_path, values | {"markers": pos, "labels": labels}))
    assert np.flatnonzero(new.visible[:, new.labels.index("NEW")]).tolist() == [3]
    np.testing.assert_array_equal(marker_of(new, "NEW")[3], pos[3, 4])
    assert not new.visible[3, new.labels.index(values["labels"][order[3, 4]])]


def test_labels_that_repeat_or_are_blank_are_numbered_and_noted(tmp_path):
    values = with_markers()
    values["labels"] = np.array(["C7", "C7", "", "C7", "LKNE", "", "LANK", "RANK"])
    clip = read_amass_markers(save(tmp_path, values))
    assert len(set(clip.labels)) == 8 and clip.labels[0] == "C7" and "MK158" in codes(clip)
    np.testing.assert_array_equal(clip.pos_w, values["markers"])


def test_a_marker_that_was_not_seen_is_a_gap(tmp_path):
    values = with_markers()
    hole = np.random.default_rng(1).random((FRAMES, 8)) < 0.3
    for value in (np.nan, 0.0):
        values["markers"][hole] = value
        clip = read_amass_markers(save(tmp_path, values))
        np.testing.assert_array_equal(clip.visible, ~hole)
        assert "MK129" in codes(clip) and "MK125" not in codes(clip)


@pytest.mark.parametrize(("message", "changes"), [
    (r"markers: holds no markers \(keys: betas", {"markers": None, "labels": None}),
    (r"labels: is missing beside markers", {"labels": None}),
    (r"markers: has shape \(6, 8, 3\), expected \(7, markers, 3\)", {
        "markers": np.zeros((6, 8, 3))}),
    (r"markers: has shape \(7, 0, 3\)", {"markers": np.zeros((7, 0, 3))}),
    (r"markers: has 2000 markers", {"markers": np.zeros((7, 2000, 3))}),
    (r"markers: inf at frame 0, marker 0, x", {"markers": np.full((7, 8, 3), np.inf)}),
    (r"markers: no marker was seen", {"markers": np.full((7, 8, 3), np.nan)}),
    (r"markers: are 1\.\d+e\+03 m from the pelvis", {"markers": np.full((7, 8, 3), 1000.0)}),
    (r"labels: has shape \(7,\) for 8 markers in 7 frames", {"labels": np.array(list("abcdefg"))}),
    (r"labels: has type int64, expected text", {"labels": np.arange(8)}),
    (r"labels: holds Python objects", {"labels": np.empty(8, dtype=object)}),
    (r"labels: has \d+ different labels or more for 8", {
        "labels": np.array([f"x{i}" for i in range(56)]).reshape(7, 8)}),
    (r"trans: is missing", {"trans": None}),
])  # fmt: skip
def test_markers_that_do_not_go_with_the_body_are_refused(tmp_path, message, changes):
    with pytest.raises(InputError) as caught:
        read_amass_markers(save(tmp_path, with_markers() | changes))
    assert re.search(message, str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("name", "markers", "seen"),
    [("hbp_amass_sample", 38, 1.0), ("amass_dmpl_sample", 67, 0.928)],
)
def test_real_markers_lie_on_the_body_that_was_fitted_to_them(shared, name, markers, seen):
    path = SHARED / f"data/formats/amass/{name}.npz"
    clip, body = read_amass_markers(path), read_clip(path)
    assert isinstance(body, SmplClip)
    assert len(clip.labels) == markers and clip.num_frames == body.num_frames
    assert clip.fps == body.fps and clip.visible.mean() == pytest.approx(seen, abs=5e-4)
    # What a rigid pelvis carries: waist markers keep their place in the root's frame.
    waist = [label for label in clip.labels if label in ("LFWT", "RFWT", "LBWT", "RBWT", "LASI",
                                                         "RASI", "LPSI", "RPSI")]  # fmt: skip
    pelvis = body.trans_w + np.array([-0.0018, -0.2233, 0.0282])
    assert len(waist) == 4
    for label in waist:
        local = rotation.rotate(rotation.conjugate(body.joint_quat[:, 0]),
                                marker_of(clip, label) - pelvis)  # fmt: skip
        local = local[np.isfinite(local[:, 0])]
        # Skin over the pelvis moves by up to 21 mm (median) in these two.
        assert np.median(np.linalg.norm(local - np.median(local, axis=0), axis=1)) < 0.025
        assert (np.median(local, axis=0)[0] > 0) == label.startswith("L")  # +X is the left of SMPL
        assert (np.median(local, axis=0)[2] > 0) == (label[1:] in ("FWT", "ASI"))  # +Z its front


def test_real_smpl_files_of_72_numbers_load(shared):
    for name, frames in (("asap_CR7_level1_filter", 119), ("asap_jump_forward_level1_filter", 113)):
        clip = read_clip(SHARED / f"data/smpl/{name}.npz")
        assert isinstance(clip, SmplClip)
        assert (clip.num_frames, clip.fps, clip.model, clip.gender) == (frames, 30.0, "smpl",
                                                                       "neutral")  # fmt: skip
        assert clip.provenance.up == "z" and codes(clip) == ["MK120"]
