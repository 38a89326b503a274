"""Positions of joints: which joint is which, which way is up, how long a unit is, what was seen."""

import io
import time
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from builders_bvh import FAMILIES, family_names
from builders_joints import (
    BODY,
    SOMA_NAMES,
    body_positions,
    in_order,
    npy_bytes,
    npy_header,
    to_file,
    write,
    write_npz,
)
from conftest import SHARED

from motionkit.clip import REQUIRED_ROLES, MarkerClip
from motionkit.errors import InputError
from motionkit.formats import ReadOptions, read_clip
from motionkit.formats.joint_layouts import LAYOUTS
from motionkit.formats.roles import find_roles
from motionkit.formats.source import Source
from motionkit.formats.table import find_format

IDENTITY = {role: role for role in BODY}
FPS = ReadOptions(fps=50)


def codes(clip):
    return [note.code for note in clip.provenance.notes]


def refuse(path, message, options=FPS, help="") -> None:
    with pytest.raises(InputError) as caught:
        read_clip(path, options)
    text = str(caught.value)
    assert message in text and str(path) in text and text.isprintable(), text
    assert help in caught.value.help, caught.value.help


def role_positions(clip: MarkerClip) -> dict[str, np.ndarray]:
    return {role: clip.pos_w[:, clip.labels.index(label)] for role, label in clip.roles.items()}


def require_body(clip, pos, atol=1e-12):
    """Every role of the figure is where it is, whatever the file was like."""
    found = role_positions(clip)
    for j, role in enumerate(BODY):
        np.testing.assert_allclose(found[role], pos[:, j], atol=atol, err_msg=role)


# --- one motion, many files -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_one_motion_reads_the_same_in_every_world_and_unit(tmp_path, seed):
    rng = np.random.default_rng(seed)
    pos = body_positions(seed)  # walks along a direction of its own
    up, metres = ("z", "y", "x", "-y")[seed % 4], (1.0, 0.01, 0.001)[seed % 3]
    clip = read_clip(write(tmp_path, to_file(pos, up, metres)), FPS)
    require_body(clip, pos, 1e-11)
    assert clip.provenance.up == up and clip.provenance.unit_scale == metres
    assert clip.kind == "joint" and clip.fps == 50.0 and clip.visible.all()
    shift = rng.uniform(-30, 30, size=3) * [1, 1, 0]
    yaw = rng.uniform(-np.pi, np.pi)
    turn = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    moved = read_clip(write(tmp_path, to_file(pos @ turn.T + shift, up, metres)), FPS)
    np.testing.assert_allclose(moved.pos_w, clip.pos_w @ turn.T + shift, atol=1e-10)
    assert moved.roles == clip.roles and codes(moved) == codes(clip)


def test_the_users_word_decides_over_what_the_motion_shows(tmp_path):
    pos = body_positions()
    path = write(tmp_path, pos)
    clip = read_clip(path, ReadOptions(fps=100, up="y", scale=0.5))
    np.testing.assert_allclose(clip.pos_w[..., 2], 0.5 * pos[..., 1], atol=1e-12)
    assert clip.provenance.up_source == clip.provenance.unit_source == "user"
    assert clip.fps == 100.0


def test_width_order_and_byte_order_of_the_numbers_do_not_matter(tmp_path):
    pos = body_positions()
    base = read_clip(write(tmp_path, pos), FPS)
    for array in (np.asfortranarray(pos), pos.astype(">f8"), pos.reshape(len(pos), -1),
                  np.asfortranarray(pos.reshape(len(pos), -1)), pos[None]):  # fmt: skip
        np.testing.assert_array_equal(read_clip(write(tmp_path, array), FPS).pos_w, base.pos_w)
    single = read_clip(write(tmp_path, pos.astype("<f4")), FPS)
    np.testing.assert_allclose(single.pos_w, base.pos_w, atol=3e-7)  # 24 bits of up to 4 m
    whole = read_clip(write(tmp_path, np.rint(1000 * pos).astype(np.int32)), FPS)
    np.testing.assert_allclose(whole.pos_w, base.pos_w, atol=0.51e-3)


@pytest.mark.parametrize("key", ["joint_positions", "posed_joints", "joints", "positions",
                                 "keypoints", "joints3d"])  # fmt: skip
def test_an_npz_reads_as_its_array_does_stored_or_deflated(tmp_path, key):
    pos = body_positions()
    base = read_clip(write(tmp_path, pos), FPS)
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = write_npz(tmp_path, compression, **{key: pos, "fps": np.int64(25)})
        clip = read_clip(path)
        np.testing.assert_array_equal(clip.pos_w, base.pos_w)
        assert clip.fps == 25.0 and clip.roles == base.roles


# --- names ------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("names_key", ["joint_names", "names", "labels"])
def test_names_of_every_family_tell_the_joints_in_any_order(tmp_path, family, names_key):
    pos = body_positions(3)
    names = family_names(family)
    order = np.random.default_rng(len(family)).permutation(22)
    spelled = np.array([names[BODY[j]] for j in order])
    if names_key == "labels":
        spelled = spelled.astype("S")
    path = write_npz(tmp_path, positions=pos[:, order], mocap_frame_rate=120.0,
                     **{names_key: spelled})  # fmt: skip
    clip = read_clip(path)
    require_body(clip, pos)
    assert clip.fps == 120.0 and set(clip.roles) == set(BODY)
    assert ("MK127" in codes(clip)) == (family == "ASF")  # whose pelvis is called root
    if family == "Vicon subject":
        assert clip.subject == "Anna Lee" and clip.roles["pelvis"] == "Hips"


def test_fingers_go_by_their_numbers_and_others_have_no_role(tmp_path):
    pos = body_positions()
    names = [family_names("HumanIK")[role] for role in BODY]
    more, extra = [], []
    for i in (3, 1, 2):  # out of order in the file
        more.append(f"LeftHandIndex{i}")
        extra.append(pos[:, BODY.index("left_wrist")] + [0.03 * i, 0.0, 0.0])
    more += ["LeftFootMod", "HeadTop_End"]
    extra += [pos[:, BODY.index("left_foot")] - 0.01, pos[:, BODY.index("head")] + 0.1]
    path = write_npz(tmp_path, positions=np.concatenate([pos, np.stack(extra, 1)], 1), fps=30,
                     names=names + more)  # fmt: skip
    clip = read_clip(path)
    require_body(clip, pos)
    assert {r: n for r, n in clip.roles.items() if r not in BODY} == {
        f"left_index{i}": f"LeftHandIndex{i}" for i in (1, 2, 3)}  # fmt: skip
    assert len(clip.labels) == 27


def test_names_that_make_no_body_are_refused_with_what_is_missing(tmp_path):
    pos = body_positions()
    coco = ("nose", "left_eye", "right_eye", "left_ear", "right_ear",
            *(f"{side}_{part}" for part in ("shoulder", "elbow", "wrist", "hip", "knee", "ankle")
              for side in ("left", "right")))  # fmt: skip
    role_names = {name: name for name in coco if name in BODY} | {"head": "nose"}
    path = write_npz(tmp_path, keypoints=in_order(pos, coco, role_names), fps=30, names=coco)
    refuse(path, "names: no human body: roles not found or never seen: pelvis, head")
    swapped = list(BODY)
    a, b = BODY.index("left_knee"), BODY.index("left_wrist")
    swapped[a], swapped[b] = swapped[b], swapped[a]
    path = write_npz(tmp_path, positions=pos, fps=30, names=swapped)
    refuse(path, "positions: the joints do not move as a body: left hip to knee",
           help="check that the names go with the columns")  # fmt: skip


@pytest.mark.parametrize(("message", "names"), [
    ("names: has 21 names (shape (21,)) for 22 joints", BODY[1:]),
    ("names: names a joint 'pelvis' more than once", ("pelvis", *BODY[:21])),
    ("names: names a joint '' more than once, or not at all", ("", *BODY[1:])),
    ("names: has type int64, expected text", range(22)),
])  # fmt: skip
def test_names_that_do_not_go_with_the_joints_are_refused(tmp_path, message, names):
    path = write_npz(tmp_path, positions=body_positions(), fps=30, names=np.array(names))
    refuse(path, message)


# --- orders without names ---------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: str(len(layout.joints)))
def test_an_order_is_told_by_its_number_and_by_moving_as_a_body(tmp_path, layout):
    names = IDENTITY
    if layout.name == "LAFAN1":
        names = family_names("LAFAN1")
    elif "SOMA" in layout.name:
        names = SOMA_NAMES
    pos = body_positions(5)
    clip = read_clip(write_npz(tmp_path, posed_joints=in_order(pos, layout.joints, names), fps=30))
    require_body(clip, pos)
    assert clip.labels == layout.joints and clip.provenance.writer == layout.name
    assert "MK127" in codes(clip)
    assert {r: n for r, n in clip.roles.items() if r in BODY} == names | {
        r: n for r, n in clip.roles.items() if r in BODY and r not in names}  # fmt: skip


def test_the_first_joints_of_smpls_layouts_play_their_own_parts():
    for layout in LAYOUTS:
        if layout.joints[:22] != BODY:
            continue
        pos = np.random.default_rng(0).normal(size=(3, len(layout.joints), 3))
        roles = find_roles(layout.joints, layout.parents, pos)
        assert all(layout.joints[joint] == role for role, joint in roles.items())
        assert set(BODY) <= roles.keys()
        assert len(roles) == {22: 22, 24: 22, 45: 22, 52: 52, 55: 52}[len(layout.joints)]


@pytest.mark.parametrize(("shape", "message"), [
    ((24, 17, 3), "17 joints are COCO's or Human3.6M's, in different orders"),
    ((24, 34, 3), "34 joints are those of Kimodo's G1, a robot"),
    ((24, 27, 3), "27 joints are ARDY's, of which two orders are in use"),
    ((24, 33, 3), "the order of 33 joints is not known; known without names: 22, 24, 30, 45"),
    ((24, 36), "names no joints (shape (24, 36)): the order of 12 joints is not known"),
    ((24, 263), "holds rows of 263 features of HumanML3D (shape (24, 263)), not positions"),
    ((24, 251), "holds rows of 251 features of KIT-ML"),
    ((2, 24, 22, 3), "has shape (2, 24, 22, 3), expected (T, J, 3) of one person"),
    ((22, 3, 24), "has shape (22, 3, 24), expected (T, J, 3)"),
    ((24, 22, 2), "has shape (24, 22, 2), expected (T, J, 3)"),
    ((24, 100), "has shape (24, 100), expected (T, J, 3)"),
    ((24,), "has shape (24,), expected (T, J, 3)"),
    ((), "has shape (), expected (T, J, 3)"),
    ((0, 22, 3), "has 0 frames of 22 joints"),
    ((24, 0, 3), "has 24 frames of 0 joints"),
    ((24, 6890, 3), "has 6890 points (shape (24, 6890, 3)), a body has at most 512"),
])  # fmt: skip
def test_arrays_that_are_no_known_body_are_refused_with_their_shape(tmp_path, shape, message):
    array = np.random.default_rng(0).normal(size=shape)
    refuse(write(tmp_path, array), message)
    path = write_npz(tmp_path, joints=array, fps=30)
    refuse(path, message)
    refuse(path, "made.npz: joints: ")


@pytest.mark.parametrize("width", [66, 72, 156, 165])
def test_rotation_vectors_are_not_taken_for_positions(tmp_path, width):
    poses = np.random.default_rng(width).normal(scale=0.3, size=(40, width))
    path = write(tmp_path, poses)
    refuse(path, f"is no body in an order known for {width // 3} joints",
           help="rotation vectors of SMPL go under poses")  # fmt: skip


def test_one_still_frame_of_a_body_is_read(tmp_path):
    pos = body_positions(frames=2)[:1]
    clip = read_clip(write(tmp_path, pos), FPS)
    require_body(clip, pos)


# --- rates ------------------------------------------------------------------------------------


def test_humanml3d_alone_has_a_rate_by_convention_and_says_so(tmp_path):
    pos = body_positions()
    clip = read_clip(write(tmp_path, to_file(pos, "y")))
    assert clip.fps == 20.0
    note = next(note for note in clip.provenance.notes if note.code == "MK126")
    assert "20 by convention; --source-fps decides otherwise" in note.message
    assert "MK126" not in codes(read_clip(write(tmp_path, to_file(pos, "y")), FPS))
    refuse(write(tmp_path, pos), "rate: a bare array states no rate", ReadOptions(),
           "give the rate with --source-fps (HumanML3D is 20 by convention)")  # fmt: skip
    lafan = in_order(pos, LAYOUTS[1].joints, family_names("LAFAN1"))
    refuse(write(tmp_path, to_file(lafan, "y")), "rate: a bare array states no rate",
           ReadOptions(), "LAFAN1 is 30")  # fmt: skip
    refuse(write_npz(tmp_path, joints=to_file(pos, "y")), "mocap_framerate: no rate is stated",
           ReadOptions(), "HumanML3D is 20 by convention")  # fmt: skip
    refuse(write_npz(tmp_path, joints=pos, fps=30, mocap_framerate=60), "rates disagree",
           ReadOptions())  # fmt: skip


# --- what was not seen ------------------------------------------------------------------------


def test_what_was_not_seen_is_a_gap_and_nothing_else(tmp_path):
    pos = body_positions(2)
    rng = np.random.default_rng(0)
    hole = rng.random(pos.shape[:2]) < 0.1
    hole[3] = False  # one frame shows the whole body
    gaps = pos.copy()
    gaps[hole] = np.nan
    part = pos.copy()
    part[hole, 1] = np.nan
    zero = pos.copy()
    zero[hole] = 0.0
    for array in (gaps, part, zero):
        clip = read_clip(write(tmp_path, array), FPS)
        np.testing.assert_array_equal(clip.visible, ~hole)
        np.testing.assert_allclose(clip.pos_w[~hole], pos[~hole], atol=1e-12)
        note = next(note for note in clip.provenance.notes if note.code == "MK129")
        assert f"{hole.sum()} of {hole.size} positions were not seen" in note.message


def test_a_root_that_starts_at_the_origin_was_seen(tmp_path):
    pos = body_positions(1)
    pos = pos - pos[0, 0]
    clip = read_clip(write(tmp_path, pos), FPS)
    assert clip.visible.all()
    np.testing.assert_allclose(clip.pos_w, pos, atol=1e-12)


def test_positions_relative_to_the_root_are_refused(tmp_path):
    pos = body_positions(1)
    path = write(tmp_path, pos - pos[:, :1])
    refuse(path, "positions are relative to pelvis, which stays at 0 0 0", help="add the path")


def test_a_joint_that_is_never_seen_has_no_role(tmp_path):
    pos = body_positions(4)
    for value in (np.nan, 0.0):
        lost = pos.copy()
        lost[:, BODY.index("left_foot")] = value
        clip = read_clip(write(tmp_path, lost), FPS)
        assert set(clip.roles) == set(BODY) - {"left_foot"}
        assert not clip.visible[:, BODY.index("left_foot")].any()
        lost[:, BODY.index("left_knee")] = value
        refuse(write(tmp_path, lost), "never seen: left_knee")
    blink = pos.copy()
    blink[::2, BODY.index("left_knee")] = np.nan
    blink[1::2, BODY.index("right_knee")] = np.nan
    refuse(write(tmp_path, blink), "no frame shows all of pelvis, left_hip")


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e9])
def test_numbers_that_are_no_place_are_refused(tmp_path, value):
    pos = body_positions()
    pos[5, 7, 1] = value
    refuse(write(tmp_path, pos), f"{value:g} at frame 5, joint 7, y, expected a place")


def test_what_else_a_file_holds_is_named(tmp_path):
    pos = body_positions()
    path = write_npz(tmp_path, posed_joints=pos, fps=30, foot_contacts=np.zeros((24, 4), bool),
                     global_rot_mats=np.zeros((24, 22, 3, 3)))  # fmt: skip
    note = next(n for n in read_clip(path).provenance.notes if n.code == "MK128")
    assert "foot_contacts, global_rot_mats" in note.message
    refuse(write_npz(tmp_path, joints=pos.astype(str), fps=30), "expected real numbers")


# --- real files -------------------------------------------------------------------------------

REAL = {
    "formats/amass/joints2smpl_test_motion.npy": ({}, (195, 20.0, 22, "y", 22)),
    "smpl/pyroki_smpl_keypoints.npy": ({"fps": 30}, (122, 30.0, 45, "z", 22)),
    "climb/climb_seq_0.npz": ({}, (2801, 120.0, 53, "z", 51)),
    "climb/climb_seq_1.npz": ({}, (2423, 120.0, 53, "z", 51)),
    "formats/robot/kimodo_soma_motion.npz": ({"fps": 30}, (150, 30.0, 30, "y", 22)),
}


@pytest.mark.parametrize("name", sorted(REAL))
def test_real_files_load_as_upright_people_in_metres(shared, name):
    options, expected = REAL[name]
    clip = read_clip(SHARED / "data" / name, ReadOptions(**options))
    assert isinstance(clip, MarkerClip) and clip.kind == "joint"
    source = clip.provenance
    found = (clip.num_frames, clip.fps, len(clip.labels), source.up, len(clip.roles))
    assert found == expected and source.unit_scale == 1.0 and clip.visible.all()
    assert set(REQUIRED_ROLES) <= clip.roles.keys()
    where = role_positions(clip)
    height = {role: np.median(pos[:, 2]) for role, pos in where.items()}
    for side in ("left", "right"):
        assert height["head"] > height[f"{side}_shoulder"] > height[f"{side}_hip"]
        assert height[f"{side}_hip"] > height[f"{side}_knee"] > height[f"{side}_ankle"]
    # Left is left: seen from above, toes lie ahead of ankles when hips say which side is which.
    across = where["left_hip"] - where["right_hip"]
    ahead = np.stack([across[:, 1], -across[:, 0]], axis=-1)
    toes = sum(where[f"{side}_foot"] - where[f"{side}_ankle"] for side in ("left", "right"))
    assert np.median(np.sum(ahead * toes[:, :2], axis=1)) > 0.0


def test_real_files_that_state_no_rate_ask_for_it(shared):
    refuse(SHARED / "data/formats/robot/kimodo_soma_motion.npz", "no rate is stated",
           ReadOptions(), "(Kimodo writes 30)")  # fmt: skip
    refuse(SHARED / "data/smpl/pyroki_smpl_keypoints.npy", "a bare array states no rate",
           ReadOptions(), "give the rate with --source-fps")  # fmt: skip


# --- damage -----------------------------------------------------------------------------------


SOUND = body_positions(frames=4)


def damage(rng: np.random.Generator, is_zip: bool) -> bytes:
    """A file with damaged bytes, or a sound one that declares or holds something strange."""
    pos = SOUND
    kind = int(rng.integers(6))
    if kind == 0:  # values
        bad = rng.choice([np.nan, np.inf, 0.0, 1e300, -1e-300], size=pos.shape[:2])
        bad = np.where(rng.random() < 0.6, rng.choice([np.nan, 0.0]), bad)
        hole = rng.random(bad.shape) < rng.choice([0.02, 0.05, 0.3, 1.0])
        pos = np.where(hole[..., None], bad[..., None], pos)
    elif kind == 1:  # types
        with np.errstate(all="ignore"):
            pos = pos.astype(rng.choice(["f2", ">f4", "i1", "u8", "c8", "?", "S4", "U3", "m8[s]"]))
    elif kind == 2:  # shapes
        rest = int(rng.choice([1, 3, 22, 66]))
        pos = pos[: rng.integers(5), : rng.integers(23)]
        pos = pos.reshape(-1, rest) if pos.size % rest == 0 else pos.reshape(-1)
    data = npy_bytes(pos)
    if kind == 3:  # headers
        word = rng.choice(["'<f8'", "'|O'", "'<U0'", "'V8'", "[('a', '<f8')]", "'<f8', 1", "((("])
        shape = rng.choice(["(4, 22, 3)", "(4, 22, -3)", "(999999999999, 3)", "(4L, 22, 3)", "9",
                            "(" + "1," * 60 + ")", "(0, 10**30)"])  # fmt: skip
        text = (
            f"{{'descr': {word}, 'fortran_order': {rng.choice(['True', '0'])}, 'shape': {shape}}}"
        )
        data = npy_header(text + "\n") + pos.tobytes()
    if is_zip:
        names = BODY if rng.random() < 0.7 else rng.permutation(list(BODY))
        folder = {"positions": data, "names": npy_bytes(np.array(names)),
                  "fps": npy_bytes(np.array(rng.choice([30.0, 0.0, np.nan])))}  # fmt: skip
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", int(rng.choice([0, 8]))) as archive:
            for key, member in folder.items():
                archive.writestr(f"{key}.npy", member)
        data = out.getvalue()
    if kind >= 4:  # bytes
        out = bytearray(data)
        for _ in range(int(rng.integers(1, 9))):
            head = rng.integers(160) if rng.random() < 0.7 else rng.integers(len(out))
            out[-1 - int(head) if is_zip and rng.random() < 0.5 else int(head)] = rng.integers(256)
        data = bytes(out[: rng.integers(len(out))]) if rng.random() < 0.3 else bytes(out)
    return data


def test_damaged_files_load_or_are_refused_in_one_line_soon_and_within_memory():
    count = {"read": 0, "refused": 0}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        is_zip = bool(seed % 2)
        source = Source(Path("damaged.npz" if is_zip else "damaged.npy"), damage(rng, is_zip))
        start = time.perf_counter()
        tracemalloc.start()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                clip = find_format(source).read(source, FPS)
            count["read"] += 1
            assert isinstance(clip, MarkerClip)
        except InputError as error:
            count["refused"] += 1
            assert str(error).startswith("damaged") and str(error).isprintable()
        finally:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert time.perf_counter() - start < 1.0
        assert peak < 200e6
    assert count["refused"] > 100 and count["read"] > 20
