"""A robot's motion against its model: names, orders, kinematics, ranges, floor."""

from dataclasses import replace

import numpy as np
import pytest
from builders_retarget import unitree

from motionkit import rotation
from motionkit.binding import bind, breadth_first
from motionkit.clip import Note, Provenance, RobotMotion
from motionkit.errors import InputError
from motionkit.formats import read_clip
from motionkit.formats.robot_layouts import LAYOUTS
from motionkit.formats.source import ReadOptions
from motionkit.robot import Robot, load_robot

SOMA = load_robot("anatomic_soma")


def motion_on(rng: np.random.Generator, robot: Robot, frames: int = 30, size: float = 1.0):
    """A motion of the robot with names and bodies, and its poses."""
    time = np.linspace(0, 1, frames)[:, None]
    low, high = np.clip(robot.joint_range.T, -1.5, 1.5)
    wave = np.sin(2 * np.pi * (rng.uniform(0.3, 1, robot.num_joints) * time
                               + rng.uniform(size=robot.num_joints)))  # fmt: skip
    rest = np.clip(robot.tree.ref, low, high)
    angles = rest + size * (
        np.clip(0.5 * (low + high) + 0.45 * (high - low) * wave, low, high) - rest
    )
    quat = rotation.from_rotvec(np.concatenate([0.1 * np.sin(time), 0 * time, time], axis=1))
    qpos = np.concatenate([time, 0 * time, 1 + 0 * time, quat, angles], axis=1)
    pos, body_quat = robot.forward(qpos)
    qpos[:, 2] -= pos[..., 2].min()
    pos[..., 2] -= pos[..., 2].min()
    return RobotMotion(
        name="clip", fps=50.0, root_pos_w=qpos[:, :3], root_quat=quat, joint_pos=angles,
        provenance=Provenance("clip.npz", "", "robot_npz", "unknown"),
        joint_names=robot.joint_names, body_names=robot.body_names, body_pos_w=pos,
        body_quat_w=rotation.unroll(body_quat),
    ), qpos  # fmt: skip


def shuffled(rng: np.random.Generator, motion: RobotMotion) -> RobotMotion:
    """The same motion with its joints and bodies in another order, names with them."""
    joint = rng.permutation(len(motion.joint_names))
    body = rng.permutation(len(motion.body_names))
    return replace(
        motion, joint_pos=motion.joint_pos[:, joint], body_pos_w=motion.body_pos_w[:, body],
        joint_names=tuple(motion.joint_names[i] for i in joint),
        body_names=tuple(motion.body_names[i] for i in body),
        body_quat_w=motion.body_quat_w[:, body],
    )  # fmt: skip


def codes(notes: list[Note]) -> list[str]:
    return [note.code for note in notes]


def test_joints_and_bodies_in_any_order_are_put_in_the_models_by_name():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        motion, qpos = motion_on(rng, SOMA)
        clip, notes = bind(shuffled(rng, motion), SOMA)
        assert np.array_equal(clip.qpos, qpos) and clip.robot == SOMA.name and clip.fps == 50.0
        (note,) = [n for n in notes if n.code == "MK167"]
        assert note.value < 1e-9 and "MK168" not in codes(notes)
        bare = replace(shuffled(rng, motion), body_names=None, body_pos_w=None, body_quat_w=None)
        assert np.array_equal(bind(bare, SOMA)[0].qpos, qpos)


@pytest.mark.parametrize("order", ["MuJoCo", "PhysX"])
@pytest.mark.parametrize("has_body_names", [True, False])
def test_joints_without_names_are_told_by_the_bodies(order, has_body_names):
    motion, qpos = motion_on(np.random.default_rng(0), SOMA)
    columns = breadth_first(SOMA.tree) if order == "PhysX" else np.arange(SOMA.num_joints)
    assert order == "MuJoCo" or not np.array_equal(columns, np.arange(SOMA.num_joints))
    bare = replace(motion, joint_names=None, joint_pos=motion.joint_pos[:, columns])
    if not has_body_names:
        bare = replace(bare, body_names=None)
    clip, notes = bind(bare, SOMA)
    assert np.array_equal(clip.qpos, qpos)
    (note,) = [n for n in notes if n.code == "MK168"]
    assert f"joints are in {order}'s order" in note.message


def test_names_that_were_assumed_give_way_and_names_of_the_file_are_refused():
    motion, qpos = motion_on(np.random.default_rng(1), SOMA)
    wrong = replace(motion, joint_pos=motion.joint_pos[:, breadth_first(SOMA.tree)])
    with pytest.raises(
        InputError, match="joint names contradict the stored bodies, which fit PhysX's"
    ):
        bind(wrong, SOMA)
    assumed = replace(wrong.provenance, notes=(Note("MK161", "assumed"),))
    clip, notes = bind(replace(wrong, provenance=assumed), SOMA)
    assert np.array_equal(clip.qpos, qpos) and "MK168" in codes(notes)


def test_two_bodies_with_each_others_names_are_found():
    motion, qpos = motion_on(np.random.default_rng(2), SOMA)
    names = list(motion.body_names)
    names[4], names[9] = names[9], names[4]
    clip, notes = bind(replace(motion, body_names=tuple(names)), SOMA)
    assert np.array_equal(clip.qpos, qpos)
    (note,) = [n for n in notes if n.code == "MK168"]
    assert note.value == 2 and f"{names[4]} is {names[9]}" in note.message


def test_another_robots_bodies_are_refused():
    motion, _ = motion_on(np.random.default_rng(3), SOMA)
    tilt = rotation.from_axis_angle("X", np.array(0.3))
    quat = rotation.unroll(rotation.multiply(tilt, motion.body_quat_w))
    turned = replace(motion, body_quat_w=quat)
    with pytest.raises(
        InputError, match="stored bodies are not where anatomic_soma has them"
    ) as caught:
        bind(turned, SOMA)
    assert "rad and 0.0000 m off in the names' order" in str(caught.value)


def test_joints_that_are_missing_or_extra_are_listed():
    motion, _ = motion_on(np.random.default_rng(4), SOMA)
    names = ("tail", *motion.joint_names[1:])
    with pytest.raises(InputError) as caught:
        bind(replace(motion, joint_names=names), SOMA)
    assert str(caught.value) == (
        f"clip: its joints are not those of anatomic_soma; it lacks 1: {motion.joint_names[0]}; "
        "it has beyond them 1: tail"
    )
    narrow = replace(motion, joint_names=None, joint_pos=motion.joint_pos[:, :5])
    with pytest.raises(InputError, match="5 joints without names, anatomic_soma has"):
        bind(narrow, SOMA)


def test_an_order_that_nothing_proves_is_refused():
    motion, _ = motion_on(np.random.default_rng(5), SOMA, size=0.0)
    bare = replace(motion, joint_names=None, body_pos_w=None, body_quat_w=None, body_names=None)
    with pytest.raises(InputError, match="ranges do not tell the order"):
        bind(replace(bare, joint_pos=bare.joint_pos + 0.01), SOMA)
    small = motion.joint_pos + 1e-5 * np.arange(SOMA.num_joints)
    with pytest.raises(InputError, match="the stored bodies do not tell the order"):
        bind(replace(motion, joint_names=None, joint_pos=small), SOMA)


def test_an_angle_beyond_its_range_is_refused_or_noted():
    motion, _ = motion_on(np.random.default_rng(6), SOMA)
    joint = int(np.flatnonzero(np.isfinite(SOMA.joint_range[:, 1]))[3])
    high = SOMA.joint_range[joint, 1]
    bare = replace(motion, body_pos_w=None, body_quat_w=None, body_names=None)
    for over, is_refused in ((0.05, False), (0.5, True)):
        angles = bare.joint_pos.copy()
        angles[11, joint] = high + over
        changed = replace(bare, joint_pos=angles)
        said = f"{SOMA.joint_names[joint]} is {high + over:.5g} rad at frame 11"
        if is_refused:
            with pytest.raises(InputError) as caught:
                bind(changed, SOMA)
            assert said in str(caught.value) and f"to {high:.5g}" in str(caught.value)
        else:
            (note,) = [n for n in bind(changed, SOMA)[1] if n.code == "MK169"]
            assert said in note.message and note.value == pytest.approx(over, abs=1e-6)


def test_a_floor_away_from_zero_is_noted_with_its_height():
    motion, _ = motion_on(np.random.default_rng(7), SOMA, size=0.0)
    bare = replace(motion, body_pos_w=None, body_quat_w=None, body_names=None)
    heights = []
    for lift in (0.0, 0.4):
        up = replace(bare, root_pos_w=bare.root_pos_w + np.array([0, 0, lift + 0.2]))
        (note,) = [n for n in bind(up, SOMA)[1] if n.code == "MK112"]
        heights.append(note.value)
    assert heights[1] - heights[0] == pytest.approx(0.4, abs=1e-9)
    flat = replace(bare, root_pos_w=bare.root_pos_w + np.array([0, 0, 0.2 - heights[0]]))
    assert "MK112" not in codes(bind(flat, SOMA)[1])


def test_contacts_of_stored_bodies_become_those_of_the_robot():
    motion, _ = motion_on(np.random.default_rng(8), SOMA)
    contact = np.random.default_rng(8).random((30, len(SOMA.body_names)))
    clip, _ = bind(replace(motion, contact=contact), SOMA)
    columns = [SOMA.body_index(name) for name in SOMA.contact_bodies]
    assert np.array_equal(clip.contact, contact[:, columns])
    clip, notes = bind(replace(motion, contact=contact[:, :2]), SOMA)
    assert clip.contact is None and "left out" in " ".join(n.message for n in notes)


@pytest.fixture(scope="module")
def g1(shared, tmp_path_factory) -> Robot:
    return unitree(shared, tmp_path_factory.mktemp("g1"))


def test_physx_order_of_the_model_is_that_of_the_layout(g1):
    names = tuple(g1.joint_names[i] for i in breadth_first(g1.tree))
    assert names == LAYOUTS[0].breadth_first and g1.joint_names == LAYOUTS[0].joints


@pytest.mark.parametrize(("path", "matched", "most"), [
    ("formats/robot/holosoma_g1_sub3_largebox_003_mj.npz", 30, 0.0104),  # its waist is 1 cm lower
    ("formats/robot/robotlab_g1_dance1_subject2_30.npz", 12, 2e-6),
    ("formats/minimal/npz_beyondmimic_29.npz", 30, 0.0104),
    ("motion/g1_kimodo_walk.motion", 30, 2e-6),
])  # fmt: skip
def test_real_files_have_their_bodies_where_the_g1_has_them(shared, g1, path, matched, most):
    motion = read_clip(shared / "data" / path)
    clip, notes = bind(motion, g1)
    (note,) = [n for n in notes if n.code == "MK167"]
    assert f"{matched} of 30 bodies" in note.message and note.value < most
    assert clip.qpos.shape == (motion.num_frames, 36)
    scrambled = replace(motion, joint_names=None,
                        joint_pos=motion.joint_pos[:, breadth_first(g1.tree)])  # fmt: skip
    again, notes = bind(replace(scrambled, joint_vel=None), g1)
    assert np.array_equal(again.qpos, clip.qpos) and "PhysX's order" in notes[0].message


def test_table_and_motion_of_one_walk_bind_to_the_same_poses(shared, g1):
    folder = shared / "data" / "motion"
    walk, _ = bind(read_clip(folder / "g1_kimodo_walk.motion"), g1)
    table, _ = bind(read_clip(folder / "g1_kimodo_walk.csv", ReadOptions(fps=30.0)), g1)
    apart = np.abs(walk.qpos - table.qpos)
    assert np.delete(apart, 2, axis=1).max() < 1e-6 and apart[:, 2].max() < 0.018
    assert walk.contact is not None and walk.contact.sum() > 100
