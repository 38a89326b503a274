"""ProtoMotions files: facts, packed files, ball joints, and payloads that must not run."""

import json
import os
import pickle
import resource
import struct
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from builders_robot import G1, TorchWriter, damage, flip_signs, robot_truth

from motionkit import rotation
from motionkit.clip import differentiate
from motionkit.errors import InputError
from motionkit.formats import read_clip, torch_file
from motionkit.formats.motionlib import read
from motionkit.formats.robot_layouts import SOMA23_BODIES
from motionkit.formats.source import ReadOptions, Source
from motionkit.formats.torch_file import read_torch

NONE = ReadOptions()
FLOAT32 = 2e-6


def read_bytes(data: bytes, options: ReadOptions = NONE):
    return read(Source(Path("clip.motion"), data), options)


def fields_of(truth, dtype="f4") -> dict:
    """The fields of a ``.motion``; quaternions xyzw."""
    return {
        "fps": 30, "dof_pos": truth.joint_pos.astype(dtype),
        "dof_vel": differentiate(truth.joint_pos, 30.0).astype(dtype),
        "rigid_body_pos": truth.body_pos.astype(dtype),
        "rigid_body_rot": rotation.to_xyzw(truth.body_quat).astype(dtype),
        "rigid_body_contacts": truth.body_pos[..., 2] < 0.7,
    }  # fmt: skip


def packed_of(truths, dtype="f4") -> dict:
    """The fields of a packed library."""
    each = [fields_of(truth, dtype) for truth in truths]
    names = {"gts": "rigid_body_pos", "grs": "rigid_body_rot", "dps": "dof_pos", "dvs": "dof_vel",
             "contacts": "rigid_body_contacts"}  # fmt: skip
    frames = [len(truth.root_pos) for truth in truths]
    return {
        **{key: np.concatenate([one[name] for one in each]) for key, name in names.items()},
        "length_starts": np.cumsum([0, *frames[:-1]]).astype("i8"),
        "motion_num_frames": np.array(frames, dtype="i8"),
        "motion_dt": np.full(len(truths), 1 / 30, dtype="f4"), "lrs": None,
        "motion_files": tuple(f"walks/walk_{i}.motion" for i in range(len(truths))),
    }  # fmt: skip


def require_truth(motion, truth, tolerance: float = FLOAT32) -> None:
    assert np.abs(motion.root_pos_w - truth.root_pos).max() <= tolerance
    assert rotation.angle_between(motion.body_quat_w, truth.body_quat).max() <= 4 * tolerance
    assert np.abs(motion.joint_pos - truth.joint_pos).max() <= tolerance
    assert np.abs(motion.body_pos_w - truth.body_pos).max() <= tolerance
    assert motion.joint_names == G1.joints and motion.fps == 30.0
    assert np.array_equal(motion.contact, truth.body_pos[..., 2] < 0.7)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("flips", [False, True])
def test_a_motion_is_read_back_in_any_numbers_and_byte_order(dtype, big, flips):
    rng = np.random.default_rng(0)
    truth = robot_truth(rng)
    fields = fields_of(truth, dtype)
    if flips:
        fields["rigid_body_rot"] = flip_signs(rng, fields["rigid_body_rot"]).astype(dtype)
    motion = read_bytes(TorchWriter(big).file(**fields))
    require_truth(motion, truth)
    assert "MK164" not in [note.code for note in motion.provenance.notes]


def test_the_order_is_checked_by_how_bodies_hang_together():
    truth = robot_truth(np.random.default_rng(1))
    fields = fields_of(truth) | {"rigid_body_rot": truth.body_quat.astype("f4")}
    with pytest.raises(InputError, match="quaternions are wxyz, expected xyzw"):
        read_bytes(TorchWriter().file(**fields))
    require_truth(read_bytes(TorchWriter().file(**fields), ReadOptions(quat_order="wxyz")), truth)


def test_a_packed_file_gives_the_motion_that_is_asked_for():
    truths = [robot_truth(np.random.default_rng(seed), 20 + seed) for seed in range(3)]
    data = TorchWriter().file(**packed_of(truths))
    with pytest.raises(InputError) as caught:
        read_bytes(data)
    assert str(caught.value) == (
        "clip.motion: motion_num_frames: holds 3 motions: 0 walk_0.motion, 1 walk_1.motion, "
        "2 walk_2.motion"
    )
    assert caught.value.help == "give --take 0 to --take 2"
    for take, truth in enumerate(truths):
        motion = read_bytes(data, ReadOptions(take=take))
        require_truth(motion, truth)
        assert motion.name == f"clip_{take}"
    with pytest.raises(InputError, match="holds 3 motions, number 3 asked for"):
        read_bytes(data, ReadOptions(take=3))
    alone = read_bytes(TorchWriter().file(**packed_of(truths[:1])))
    require_truth(alone, truths[0])
    assert alone.name == "clip"


def test_strides_and_offsets_are_those_of_the_storage():
    rng = np.random.default_rng(2)
    whole = rng.normal(size=(5, 7)).astype("f4")
    writer = TorchWriter()
    view = writer.tensor(whole, shape=(5, 3), strides=(7, 1), start=2)
    turned = writer.tensor(whole, shape=(7, 5), strides=(1, 7))
    empty = writer.tensor(whole, shape=(0, 3), strides=(3, 1))
    half = writer.tensor(whole.astype("f2"))
    data = read_torch(Source(Path("a.pt"), writer.file(v=view, t=turned, e=empty, h=half, n=None,
                                                        s=("a", 1, 2.5, True))))  # fmt: skip
    assert np.array_equal(data["v"], whole[:, 2:5]) and np.array_equal(data["t"], whole.T)
    assert data["e"].shape == (0, 3) and np.array_equal(data["h"], whole.astype("f2"))
    assert data["n"] is None and data["s"] == ("a", 1, 2.5, True)
    with pytest.raises(ValueError, match="read-only"):
        data["v"][0, 0] = 1.0


def lie(kind: str) -> bytes:
    writer, values = TorchWriter(), np.zeros((4, 3), dtype="f4")
    tensors = {
        "outside": {"shape": (5, 3), "strides": (3, 1)},
        "offset": {"start": 1},
        "stretched": {"shape": (10**9, 3), "strides": (0, 0)},
        "negative": {"shape": (4, 3), "strides": (-3, 1)},
        "huge": {"shape": (2**100, 1), "strides": (1, 1)},
        "deep": {"shape": (1,) * 9, "strides": (1,) * 9},
    }  # fmt: skip
    return writer.file(a=writer.tensor(values, **tensors[kind]))


@pytest.mark.parametrize("kind", ["outside", "offset", "stretched", "negative", "huge", "deep"])
def test_a_tensor_outside_its_storage_is_refused(kind):
    with pytest.raises(InputError, match=r"does not fit into 12 numbers|is damaged"):
        read_torch(Source(Path("a.pt"), lie(kind)))


class Runs:
    """Its pickle writes a file when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def calls(module: str, name: str, *args: bytes) -> bytes:
    return f"c{module}\n{name}\n".encode() + b"(" + b"".join(args) + b"tR"


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_nothing_that_pickle_would_run_is_run(tmp_path, protocol):
    mark = tmp_path / "ran"
    program = pickle.dumps({"dof_pos": [Runs(mark)]}, protocol)
    with pytest.raises(InputError, match=r"posix\.system|opcode|asks for") as caught:
        read_torch(Source(Path("a.pt"), TorchWriter().archive(program)))
    assert not mark.exists() and "\n" not in str(caught.value)
    pickle.loads(program)  # the same program does run in Python's own machine
    assert mark.exists()


T = TorchWriter()
HOSTILE = {
    "eval": (calls("builtins", "eval", T.text("1")), "asks for builtins.eval"),
    "nested": (b"(" + calls("os", "system", T.text("true")) + b"t", "asks for os.system"),
    "attribute": (calls("torch", "hub.load", T.text("a")), "asks for torch.hub.load"),
    "storage class called": (calls("torch", "FloatStorage", T.number(4)),
                             "asks to call torch.FloatStorage"),
    "dict from pairs": (calls("collections", "OrderedDict", b"]"),
                        "asks to call collections.OrderedDict"),
    "state": (b"ccollections\nOrderedDict\n)R}b", "asks to build an object"),
    "newobj": (b"ctorch\nSize\n)\x81", "asks to build torch.Size"),
    "inst": (b"(ios\nsystem\n", "asks to build an object (INST)"),
    "obj": (b"(ctorch\nSize\no", "asks to build torch.Size (OBJ)"),
    "call of text": (T.text("a") + b")R", "asks to call something that is no name"),
    "extension": (b"\x82\x01", "opcode EXT1 has no place"),
    "stack global": (T.text("os") + T.text("system") + b"\x93", "asks for os.system"),
    "stack global of numbers": (T.number(1) + T.number(2) + b"\x93", "asks for no text"),
    "persistent text": (b"Pabc\n", "opcode PERSID has no place"),
    "persistent number": (T.number(1) + b"Q", "is damaged"),
    "empty stack": (b"0000000", "is damaged"),
    "tuple as key": (b"}))s", "is damaged"),
    "memo": (b"h\x07", "is damaged"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_program_is_refused_and_what_it_asked_for_is_named(kind):
    program, message = HOSTILE[kind]
    data = TorchWriter().archive(b"\x80\x02}(" + T.text("a") + program + b"u.")
    with pytest.raises(InputError) as caught:
        read_torch(Source(Path("a.pt"), data))
    assert message in str(caught.value) and str(caught.value).startswith("a.pt: ")


def timed(data: bytes) -> str:
    """What reading says, once it is known to be quick and small."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    try:
        read_bytes(data)
        said = "read"
    except InputError as error:
        said = str(error)
    assert time.process_time() - start < 3.0  # shapes are checked while testing
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
    return said


def test_bombs_cost_neither_time_nor_memory(monkeypatch):
    monkeypatch.setattr(torch_file, "MAX_OPCODES", 30_000)  # checking shapes slows each by ten
    pile = b")" + b"2\x86" * 200  # a tuple of twice the last one, two hundred times: 2^200 leaves
    key = b"\x80\x02}" + pile + T.text("v") + b"s."
    assert "a key of type tuple" in timed(TorchWriter().archive(key))
    value = b"\x80\x02}" + T.text("fps") + pile + b"s" + T.text("dof_pos") + pile + b"s."
    assert "holds no motion of ProtoMotions" in timed(TorchWriter().archive(value))
    deep = b"\x80\x02}" + T.text("a") + b")" + b"\x85" * 29_000 + b"s."
    assert "holds no motion of ProtoMotions" in timed(TorchWriter().archive(deep))
    long = b"\x80\x02}" + b"N0" * 16_000 + b"."
    assert "opcodes" in timed(TorchWriter().archive(long))
    big = b"\x80\x02}" + b"\x8d" + struct.pack("<Q", 2**40) + b"."
    assert "is damaged" in timed(TorchWriter().archive(big))
    zipped = TorchWriter().archive(b"\x80\x02}." + bytes(10**7), zipfile.ZIP_DEFLATED)
    assert "torch" in timed(zipped) or "not opened" in timed(zipped)


@pytest.mark.parametrize(("change", "message"), [
    ({"dof_pos": np.zeros((7, 29), "f4")}, "has 40 frames, dof_pos has 7"),
    ({"dof_vel": np.zeros((40, 3), "f4")}, "dof_vel: has 3 columns, dof_pos has 29"),
    ({"rigid_body_pos": np.zeros((40, 5, 3), "f4")}, "numbers of bodies differ"),
    ({"rigid_body_rot": np.zeros((40, 6, 4), "f4")}, "quaternion of norm 0 at frame 0, body 0"),
    ({"rigid_body_pos": "a"}, "rigid_body_pos: is no tensor of numbers"),
    ({"rigid_body_pos": None}, "rigid_body_pos: is missing"),
    ({"rigid_body_contacts": np.full((40, 6), 2.0)}, "expected 0 to 1"),
    ({"fps": "30"}, "fps: (absent) gives no usable rate"),
    ({"fps": 0}, "fps: 0 gives no usable rate"),
    ({"dof_pos": np.full((40, 15), 0.1)}, "are exponential maps, no hinge angles"),
])  # fmt: skip
def test_faults_are_named_with_field_and_value(change, message):
    fields = fields_of(robot_truth(np.random.default_rng(3))) | change
    if "dof_pos" in change:
        del fields["dof_vel"]
    with pytest.raises(InputError) as caught:
        read_bytes(TorchWriter().file(**fields))
    assert str(caught.value).startswith("clip.motion: ") and message in str(caught.value)


@pytest.mark.parametrize(("change", "message"), [
    ({"length_starts": np.array([0, 15], "i8")}, "motion 1 has frames 15 to 36 of 35"),
    ({"length_starts": np.array([0, -1], "i8")}, "motion 1 has frames -1 to 20 of 35"),
    ({"motion_dt": np.array([0.0, 0.0], "f4")}, "motion_dt: 0 s gives no usable rate"),
    ({"motion_dt": np.zeros(1, "f4")}, "numbers of motions: length_starts 2"),
    ({"motion_num_frames": None}, "motion_num_frames: is missing"),
    ({"dps": np.zeros((3, 29), "f4")}, "dps: has shape (3, 29), expected 35 frames"),
])  # fmt: skip
def test_a_packed_file_that_contradicts_itself_is_refused(change, message):
    truths = [
        robot_truth(np.random.default_rng(seed), frames) for seed, frames in ((0, 14), (1, 21))
    ]
    with pytest.raises(InputError) as caught:
        read_bytes(TorchWriter().file(**packed_of(truths) | change), ReadOptions(take=1))
    assert message in str(caught.value)


def test_the_g1_clip_is_the_motion_of_its_table(shared):
    folder = shared / "data" / "motion"
    motion = read_clip(folder / "g1_kimodo_walk.motion")
    table = read_clip(folder / "g1_kimodo_walk.csv", ReadOptions(fps=30.0))
    assert (motion.num_frames, motion.fps, motion.robot) == (150, 30.0, "unitree_g1")
    assert motion.joint_names == table.joint_names
    assert np.abs(motion.joint_pos - table.joint_pos).max() <= 1e-6
    assert rotation.angle_between(motion.root_quat, table.root_quat).max() <= 1e-6
    apart = np.abs(motion.root_pos_w - table.root_pos_w)
    assert apart[:, :2].max() <= 1e-6
    assert 0.017 < apart[:, 2].max() < 0.018  # ProtoMotions lifts the robot until its feet clear 0


def test_exponential_maps_become_hinge_angles_that_give_the_stored_bodies(shared):
    """Forward kinematics of SOMA-23 by its hinges, from the structure handed with the data."""
    motion = read_clip(shared / "data" / "motion" / "soma23_walk_crouch.motion")
    assert motion.robot == "soma23_humanoid" and motion.body_names == SOMA23_BODIES
    assert motion.joint_vel is None and len(motion.joint_names) == 66
    bodies = json.loads((shared / "design" / "soma23_structure.json").read_text())["bodies"]
    assert tuple(body["name"] for body in bodies) == SOMA23_BODIES
    pos, quat = [motion.root_pos_w], [motion.root_quat]
    for i, body in enumerate(bodies[1:], 1):
        parent = SOMA23_BODIES.index(body["parent"])
        turn = quat[parent]
        for joint in body["joints"]:
            angle = motion.joint_pos[:, motion.joint_names.index(joint["name"])]
            turn = rotation.multiply(turn, rotation.from_rotvec(angle[:, None] * joint["axis"]))
        pos.append(pos[parent] + rotation.rotate(quat[parent], np.array(body["offset"])))
        quat.append(turn)
        assert np.abs(pos[i] - motion.body_pos_w[:, i]).max() < 2e-5, body["name"]
        assert rotation.angle_between(quat[i], motion.body_quat_w[:, i]).max() < 2e-5
    assert "exponential maps" in " ".join(note.message for note in motion.provenance.notes)


def test_damaged_files_load_or_are_refused_in_one_line():
    truths = [robot_truth(np.random.default_rng(seed), 6) for seed in range(2)]
    base = [TorchWriter().file(**fields_of(truths[0])),
            TorchWriter().file(**packed_of(truths[:1]))]  # fmt: skip
    refused = 0
    for seed in range(300):
        said = timed(damage(np.random.default_rng(seed), base[seed % 2]))
        assert said == "read" or (said.startswith("clip.motion") and said.isprintable())
        refused += said != "read"
    assert refused > 100
