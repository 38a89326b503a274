"""Tables of a robot's frames: order of quaternions, units, rates, ranges."""

import resource
import time
from pathlib import Path

import numpy as np
import pytest
from builders_robot import G1, damage, flip_signs, robot_truth, write_table

from motionkit import rotation
from motionkit.errors import ConfigError, InputError
from motionkit.formats import read_clip
from motionkit.formats.robot_csv import read
from motionkit.formats.robot_layouts import LAYOUTS
from motionkit.formats.source import ReadOptions, Source

FPS50 = ReadOptions(fps=50.0)
DIGITS = 1e-8  # nine decimals in the tables of the builder, and quaternions scaled to unit length
MINIMAL = Path("data/formats/minimal")


def read_bytes(data: bytes, options: ReadOptions = FPS50, name: str = "clip.csv"):
    return read(Source(Path(name), data), options)


def codes(motion) -> list[str]:
    return [note.code for note in motion.provenance.notes]


def require_truth(motion, truth) -> None:
    assert np.abs(motion.root_pos_w - truth.root_pos).max() <= DIGITS
    assert rotation.angle_between(motion.root_quat, truth.root_quat).max() <= 1e-7
    assert np.sum(motion.root_quat[1:] * motion.root_quat[:-1], axis=1).min(initial=1.0) > 0
    assert np.abs(motion.joint_pos - truth.joint_pos).max() <= DIGITS
    assert motion.fps == 50.0


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.robot)
@pytest.mark.parametrize("order", ["wxyz", "xyzw"])
def test_a_table_is_read_back_whatever_its_order(layout, order):
    for seed in range(15):
        truth = robot_truth(np.random.default_rng(seed), layout=layout)
        motion = read_bytes(write_table(truth, order))
        require_truth(motion, truth)
        assert (motion.robot, motion.joint_names) == (layout.robot, layout.joints)
        note = next(n for n in motion.provenance.notes if n.code == "MK160")
        assert f"read as {order}" in note.message and "0." in note.message


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["", "named", "numbered"])
@pytest.mark.parametrize("lead", ["", "frame", "time"])
def test_separators_headers_and_leading_columns_change_nothing(mark, header, lead):
    truth = robot_truth(np.random.default_rng(1))
    options = ReadOptions() if lead == "time" else FPS50
    motion = read_bytes(write_table(truth, "xyzw", mark, header, lead), options)
    require_truth(motion, truth)
    assert motion.joint_names == G1.joints
    assert ("MK161" in codes(motion)) == (header != "named")


def test_signs_of_quaternions_do_not_matter():
    rng = np.random.default_rng(2)
    truth = robot_truth(rng)
    plain = read_bytes(write_table(truth))
    truth.root_quat = flip_signs(rng, truth.root_quat)
    motion = read_bytes(write_table(truth))
    assert np.abs(np.abs(motion.root_quat) - np.abs(plain.root_quat)).max() <= DIGITS
    require_truth(motion, truth)
    assert "MK166" in codes(motion) and "MK166" not in codes(plain)


def test_standing_still_is_settled_by_flat_soles_and_else_by_the_user():
    truth = robot_truth(np.random.default_rng(3))
    truth.root_pos[:] = truth.root_pos[0]
    truth.root_quat[:] = rotation.from_axis_angle("Y", np.array(0.1))
    truth.joint_pos[:] = 0.0
    hips = [i for i, name in enumerate(G1.joints) if "hip_pitch" in name]
    truth.joint_pos[:, hips] = -0.1  # soles flat under a pelvis that leans forwards
    for order in ("wxyz", "xyzw"):
        require_truth(read_bytes(write_table(truth, order)), truth)
    truth.root_quat[:] = rotation.IDENTITY
    truth.joint_pos[:, hips] = 0.0
    with pytest.raises(InputError, match="order of components not settled") as caught:
        read_bytes(write_table(truth, "xyzw"))
    assert caught.value.help == "give --quat-order wxyz or --quat-order xyzw"
    options = ReadOptions(fps=50.0, quat_order="xyzw")
    motion = read_bytes(write_table(truth, "xyzw"), options)
    require_truth(motion, truth)
    assert ("quat_order", "xyzw") in motion.provenance.options


def test_a_robot_that_is_not_known_keeps_its_columns_without_names():
    truth = robot_truth(np.random.default_rng(4))
    truth.joint_pos = truth.joint_pos[:, :11]
    motion = read_bytes(write_table(truth))
    require_truth(motion, truth)
    assert motion.robot is None and motion.joint_names is None and "MK162" in codes(motion)


def test_one_row_and_two_rows_are_motions():
    for frames in (1, 2):
        truth = robot_truth(np.random.default_rng(5), frames)
        require_truth(read_bytes(write_table(truth)), truth)


def spoil(kind: str) -> tuple[bytes, ReadOptions]:
    truth = robot_truth(np.random.default_rng(6))
    data, options = write_table(truth), FPS50
    if kind == "centimetres":
        truth.root_pos *= 100
        data = write_table(truth)
    elif kind == "degrees":
        truth.joint_pos = np.degrees(truth.joint_pos)
        data = write_table(truth)
    elif kind == "range":
        truth.joint_pos[7, 3] = 3.5
        data = write_table(truth)
    elif kind == "zero":
        truth.root_quat[9] = 0
        data = write_table(truth)
    elif kind == "nan":
        truth.joint_pos[3, 3] = np.nan
        data = write_table(truth)
    elif kind == "ragged":
        data += b"\r\n1,2,3"
    elif kind == "word":
        data = data[:-3] + b"abc"
    elif kind == "time":
        data = write_table(truth, header="named", lead="time").replace(
            b"\r\n0.400000000", b"\r\n0.415"
        )
        options = ReadOptions()
    elif kind == "rate":
        options = ReadOptions()
    elif kind == "narrow":
        data = b"1,2,3\n4,5,6"
    return data, options


@pytest.mark.parametrize(("kind", "message"), [
    ("centimetres", "root position: median height is 74"),
    ("degrees", "the range of unitree_g1 is"),
    ("range", "joint angles: left_knee_joint is 3.5 rad at frame 7, the range of unitree_g1 is "
              "-0.087267 to 2.8798"),
    ("zero", "root quaternion: quaternion of norm 0 at frame 9, expected 1"),
    ("nan", "column 11: nan at frame 3, expected a finite number"),
    ("ragged", "line 41: has 3 columns, the lines before it 36"),
    ("word", "line 40: column 36 is '"),
    ("time", "most are 0.02"),
    ("rate", "rate: no rate is stated"),
    ("narrow", "columns: has 3 columns, expected at least 8"),
])  # fmt: skip
def test_faults_are_named_with_field_and_value(kind, message):
    data, options = spoil(kind)
    with pytest.raises(InputError) as caught:
        read_bytes(data, options)
    assert str(caught.value).startswith("clip.csv: ") and "\n" not in str(caught.value)
    assert message in str(caught.value)
    if kind == "degrees":
        assert "degrees" in caught.value.help


def test_a_little_beyond_a_range_is_a_note():
    truth = robot_truth(np.random.default_rng(7))
    truth.joint_pos[4, 3] = 2.8798 + 0.02
    motion = read_bytes(write_table(truth))
    note = next(n for n in motion.provenance.notes if n.code == "MK169")
    assert "left_knee_joint" in note.message and note.value == pytest.approx(0.02, abs=1e-6)


def test_the_rate_in_a_name_is_taken_with_a_note_and_the_user_wins():
    data = write_table(robot_truth(np.random.default_rng(8)))
    motion = read_bytes(data, ReadOptions(), "walk_60hz.csv")
    assert motion.fps == 60.0 and "MK163" in codes(motion)
    assert read_bytes(data, ReadOptions(), "walk-29.97fps.csv").fps == 29.97
    assert read_bytes(data, ReadOptions(fps=25.0), "walk_60hz.csv").fps == 25.0
    for name in ("walk_60.csv", "a60hz.csv", "x_30fps_60hz.csv"):
        with pytest.raises(InputError, match="no rate is stated"):
            read_bytes(data, ReadOptions(), name)


def test_a_unit_and_an_up_axis_given_by_the_user_are_used():
    truth = robot_truth(np.random.default_rng(9))
    data = write_table(truth)
    far = robot_truth(np.random.default_rng(9))
    far.root_pos = far.root_pos * 100
    motion = read_bytes(write_table(far), ReadOptions(fps=50.0, scale=0.01))
    assert np.abs(motion.root_pos_w - truth.root_pos).max() < 1e-9 * 100
    turned = read_bytes(data, ReadOptions(fps=50.0, up="y", quat_order="wxyz"))
    assert np.allclose(turned.root_pos_w[:, 2], truth.root_pos[:, 1], atol=1e-8)


def test_options_that_cannot_be_are_refused(unchecked):
    with pytest.raises(ConfigError, match="quat order is one of"):
        ReadOptions(quat_order="zyxw")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="take must be 0 or more, found -1"):
        ReadOptions(take=-1)


FILES = {
    "csv_23dof": ("unitree_g1_23dof", 180), "csv_header": ("unitree_g1", 180),
    "csv_base_xyzw_60hz": ("unitree_g1", 180), "csv_one_row": ("unitree_g1", 1),
    "csv_same_signflip": ("unitree_g1", 180), "csv_wxyz": ("unitree_g1", 180),
}  # fmt: skip
BAD = {
    "csv_bad_cm": "median height is 77.948, expected metres",
    "csv_bad_nan": "column 11: nan at frame 50",
    "csv_bad_over_limit": "left_knee_joint is 3.5 rad at frame 0, the range of unitree_g1",
    "csv_bad_zero_quat": "quaternion of norm 0 at frame 60",
    "csv_empty": "the file is empty",
}


@pytest.mark.parametrize("name", FILES)
def test_minimal_tables_are_the_same_motion(shared, name):
    motion = read_clip(shared / MINIMAL / f"{name}.csv", ReadOptions(fps=60.0))
    base = read_clip(shared / MINIMAL / "csv_base_xyzw_60hz.csv")
    assert (motion.robot, motion.num_frames, base.fps) == (*FILES[name], 60.0)
    frames, joints = motion.joint_pos.shape
    assert np.abs(motion.joint_pos - base.joint_pos[:frames, :joints]).max() <= 1e-6
    assert np.abs(motion.root_pos_w - base.root_pos_w[:frames]).max() <= 1e-6
    assert np.abs(motion.root_quat - base.root_quat[:frames]).max() <= 1e-6


@pytest.mark.parametrize("name", BAD)
def test_minimal_tables_with_a_fault_are_refused(shared, name):
    for options in (ReadOptions(), ReadOptions(fps=60.0)):
        with pytest.raises(InputError) as caught:
            read_clip(shared / MINIMAL / f"{name}.csv", options)
        assert BAD[name] in str(caught.value)


@pytest.mark.parametrize(("name", "frames", "order", "lowest"), [
    ("unitree_g1_dance1_subject2", 3945, "xyzw", 0.410397),
    ("protomotions_kimodo_g1_walk", 150, "wxyz", 0.707781),
])  # fmt: skip
def test_real_tables_state_no_rate_and_show_their_order(shared, name, frames, order, lowest):
    path = shared / "data" / "formats" / "robot" / f"{name}.csv"
    with pytest.raises(InputError, match="no rate is stated") as caught:
        read_clip(path)
    assert "are 30" in caught.value.help
    motion = read_clip(path, ReadOptions(fps=30.0))
    assert (motion.num_frames, motion.robot) == (frames, "unitree_g1")
    assert motion.root_pos_w[:, 2].min() == pytest.approx(lowest, abs=1e-6)
    assert f"read as {order}" in " ".join(n.message for n in motion.provenance.notes)


def test_damaged_tables_load_or_are_refused_in_one_line():
    base = [write_table(robot_truth(np.random.default_rng(s), 12), o, ",", h)
            for s, o, h in ((0, "wxyz", ""), (1, "xyzw", "named"))]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = {"read": 0, "refused": 0}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        start = time.process_time()
        try:
            motion = read_bytes(damage(rng, base[seed % 2]))
            assert motion.num_frames <= 13
            count["read"] += 1
        except InputError as error:
            assert str(error).startswith("clip.csv") and str(error).isprintable()
            count["refused"] += 1
        assert time.process_time() - start < 1.0
    assert min(count.values()) > 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB
