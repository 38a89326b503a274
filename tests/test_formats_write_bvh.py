"""BVH that is written says what the clip does, and gives the same bytes when read and written."""

from dataclasses import replace

import numpy as np
import pytest
from builders import PROVENANCE, random_quats, skeleton_clip
from builders_bvh import FAMILIES, Dialect, walking_figure
from builders_bvh import write_bvh as made_bvh
from builders_markers import walker
from builders_write import round_trip

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SkeletonClip
from motionkit.errors import ConfigError, InputError
from motionkit.formats import ReadOptions, read_clip
from motionkit.formats.write_bvh import FREE, ORDERS, encode, losses, write_bvh
from motionkit.human import align

LENGTH = 1e-9  # [m]: eight decimals of a centimetre are 5e-11 m, a chain of ten joints adds them up
ANGLE = 1e-8  # [rad]: eight decimals of a degree are 1e-10 rad, three angles a joint


def read_figure(tmp_path, seed: int = 0, frames: int = 12, **dialect) -> SkeletonClip:
    rng = np.random.default_rng(seed)
    path = tmp_path / "source.bvh"
    path.write_bytes(made_bvh(walking_figure(rng, frames), Dialect(**dialect), rng))
    clip = read_clip(path)
    assert isinstance(clip, SkeletonClip)
    return clip


def assert_same(a: SkeletonClip, b: SkeletonClip) -> None:
    assert (b.joint_names, b.parents, b.roles, b.fps) == (a.joint_names, a.parents, a.roles, a.fps)
    (pos, quat), (pos_b, quat_b) = a.global_pose(), b.global_pose()
    np.testing.assert_allclose(pos_b, pos, atol=LENGTH)
    assert rotation.angle_between(quat_b, quat).max() < ANGLE
    np.testing.assert_allclose(b.offsets, a.offsets, atol=LENGTH)
    np.testing.assert_array_equal(b.end_parents, a.end_parents)
    np.testing.assert_allclose(b.end_offsets, a.end_offsets, atol=LENGTH)
    assert (b.provenance.up, b.local_pos is None) == (a.provenance.up, a.local_pos is None)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("up", ("y", "z"))
def test_what_a_reader_understood_comes_back(tmp_path, family, up):
    clip = read_figure(tmp_path, seed=len(family), family=family, up=up, metres=0.0254)
    back = round_trip(tmp_path / "source.bvh", encode, clip)
    assert_same(clip, back)


@pytest.mark.slow
def test_real_files_come_back(tmp_path, shared):
    count = 0
    for path in sorted((shared / "data" / "formats").glob("*/*.bvh")):
        try:
            clip = read_clip(path)
        except InputError:
            continue
        if clip.num_frames > 600:
            continue
        back = round_trip(tmp_path / path.name, encode, clip)
        if len(clip.end_parents) == len(back.end_parents):
            assert_same(clip, back)
        else:  # a leaf without an end gets one at itself
            assert not np.any(back.end_offsets)
            assert_same(replace(clip, end_parents=back.end_parents, end_offsets=back.end_offsets),
                        back)  # fmt: skip
        count += 1
    assert count >= 30


def given(clip: SkeletonClip) -> ReadOptions:
    """For clips too wild to judge: up and unit as they are."""
    return ReadOptions(up=clip.provenance.up, scale=0.01)


def turned(clip: SkeletonClip, joint: int, quat: np.ndarray) -> SkeletonClip:
    every = clip.joint_quat.copy()
    every[:, joint] = quat
    return replace(clip, joint_quat=rotation.unroll(every))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("near", (0.0, 1e-12, 1e-9, 1e-7, 1e-4, 1e-2))
def test_a_joint_that_stays_in_gimbal_lock_comes_back(tmp_path, order, near):
    rng = np.random.default_rng(1)
    clip = read_figure(tmp_path)
    angles = rng.uniform(-3, 3, size=(clip.num_frames, 3))
    angles[:, 1] = rng.choice([-1, 1]) * (np.pi / 2 - near)
    elbow = clip.joint_names.index(clip.roles["left_wrist"])
    wild = turned(clip, elbow, rotation.from_euler(order, angles))
    back = round_trip(tmp_path / "source.bvh", encode, wild, given(clip))
    assert rotation.angle_between(back.joint_quat, wild.joint_quat).max() < ANGLE


def test_lock_in_every_order_costs_bytes_at_most_never_the_rotation(tmp_path):
    clip = read_figure(tmp_path, frames=24)
    rng = np.random.default_rng(2)
    angles = rng.uniform(-3, 3, size=(clip.num_frames, 3))
    angles[:, 1] = np.pi / 2 - 10.0 ** rng.uniform(-14, -6, size=clip.num_frames)
    quat = [rotation.from_euler(ORDERS[t % 6], angles[t]) for t in range(clip.num_frames)]
    elbow = clip.joint_names.index(clip.roles["left_wrist"])
    wild = turned(clip, elbow, np.array(quat))
    path = tmp_path / "a.bvh"
    write_bvh(path, wild)
    back = read_clip(path, given(clip))
    assert rotation.angle_between(back.joint_quat, wild.joint_quat).max() < ANGLE


@pytest.mark.parametrize("frames", (1, 2, 40))
def test_any_rotations_come_back(tmp_path, frames):
    clip = read_figure(tmp_path, frames=frames)
    rng = np.random.default_rng(frames)
    wild = replace(clip, joint_quat=rotation.unroll(random_quats(rng, *clip.joint_quat.shape[:2])))
    back = read_back(tmp_path, wild)
    assert rotation.angle_between(back.joint_quat, wild.joint_quat).max() < ANGLE


def read_back(tmp_path, clip):
    path = tmp_path / "source.bvh"
    write_bvh(path, clip)
    return read_clip(path, given(clip))


def test_angles_go_on_past_a_turn(tmp_path):
    clip = read_figure(tmp_path, frames=80)
    spin = rotation.from_axis_angle("Z", np.linspace(0.0, 8 * np.pi, 80))
    elbow = clip.joint_names.index(clip.roles["left_wrist"])
    text = encode(turned(clip, elbow, spin)).decode().split("Frame Time")[1].split("\n", 1)[1]
    values = np.array([[float(word) for word in line.split()] for line in text.splitlines()])
    assert np.abs(np.diff(values[:, 3:], axis=0)).max() < 180.0
    assert np.ptp(values, axis=0).max() == pytest.approx(4 * 360.0)


def test_joints_that_move_have_six_channels_and_others_three(tmp_path):
    clip = read_figure(tmp_path)
    rng = np.random.default_rng(3)
    local = np.tile(clip.offsets, (clip.num_frames, 1, 1))
    knee = clip.joint_names.index(clip.roles["left_ankle"])
    local[:, knee] += rng.normal(scale=0.01, size=(clip.num_frames, 3))
    moving = replace(clip, local_pos=local)
    back = round_trip(tmp_path / "source.bvh", encode, moving)
    text = encode(moving).decode()
    assert (text.count("CHANNELS 6"), text.count("CHANNELS 3")) == (2, len(clip.parents) - 2)
    np.testing.assert_allclose(back.global_pose()[0], moving.global_pose()[0], atol=LENGTH)
    np.testing.assert_allclose(back.local_pos, local, atol=LENGTH)


@pytest.mark.parametrize("fps", (24.0, 24000 / 1001, 30.0, 59.94, 60000 / 1001, 120.0, 119.88,
                                 25.18, 1999.37, 2.0, 100 / 3, 17.123456789))  # fmt: skip
def test_the_rate_comes_back(tmp_path, fps):
    clip = replace(read_figure(tmp_path), fps=fps)
    back = round_trip(tmp_path / "a.bvh", encode, clip)
    assert back.fps == pytest.approx(fps, rel=1e-15)


def test_numbers_have_no_minus_zero_and_the_order_is_the_usual_one_where_it_can_be(tmp_path):
    clip = read_figure(tmp_path)
    text = encode(clip).decode()
    assert "-0.00000000" not in text
    free = np.cos(rotation.to_euler("ZXY", clip.joint_quat)[..., 1]).min(axis=0) >= FREE
    assert text.count("Zrotation Xrotation Yrotation") == int(free.sum()) > 0


def test_a_chain_of_any_depth_is_written():
    count = 1500
    clip = SkeletonClip(
        name="chain", fps=30.0, joint_names=tuple(f"j{i}" for i in range(count)),
        parents=tuple(range(-1, count - 1)), offsets=np.zeros((count, 3)),
        root_pos_w=np.zeros((1, 3)), joint_quat=np.tile(rotation.IDENTITY, (1, count, 1)), roles={},
        provenance=PROVENANCE,
    )  # fmt: skip
    text = encode(clip).decode()
    assert text.count("{") == text.count("}") == count + 1


@pytest.mark.parametrize("name", ("", "a{", "}b", " a", "a\nb", "a  b", "left OFFSET"))
def test_names_that_would_not_be_read_are_refused(name):
    clip = skeleton_clip(np.random.default_rng(0), 3)
    names = ("hips", name, "head", "hand")
    with pytest.raises(InputError, match="cannot be written in BVH"):
        encode(replace(clip, joint_names=names))


def test_a_unit_that_is_none_is_refused():
    clip = skeleton_clip(np.random.default_rng(0), 3)
    for unit in (0.0, -1.0, float("nan")):
        with pytest.raises(ConfigError, match="unit must be a positive length"):
            encode(clip, unit=unit)


@pytest.mark.parametrize("kind", ("walk", "arms", "squat"))
def test_a_person_comes_back_and_zero_is_the_tpose_facing_z(tmp_path, kind):
    human = walker(kind=kind)
    back = round_trip(tmp_path / "made.bvh", encode, human)
    joints = [back.joint_names.index(name) for name in SMPLH_JOINTS]
    pos, quat = back.global_pose()
    np.testing.assert_allclose(pos[:, joints], human.landmark_pos_w, atol=1e-6)
    # In the T-pose facing +X the frames of the file are (left, up, forward).
    frame = rotation.from_matrix(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    expected = rotation.multiply(human.landmark_quat_w, frame)
    assert rotation.angle_between(quat[:, joints], expected).max() < 1e-7
    rest = np.zeros((52, 3))
    for i, joint in enumerate(joints[1:], start=1):
        parent = joints.index(back.parents[joint])
        rest[i] = rest[parent] + back.offsets[joint]
    np.testing.assert_allclose(rest @ np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
                               human.rest_pos, atol=1e-6)  # fmt: skip
    again = align(back)
    turn = rotation.angle_between(again.landmark_quat_w[:, :22], human.landmark_quat_w[:, :22])
    assert np.degrees(np.median(turn)) < 1.0


def test_what_is_lost_is_said(tmp_path):
    clip = read_figure(tmp_path)
    assert losses(clip) == ("unit: BVH states none; centimetres are written, with eight decimals",)
    child = replace(clip, offsets=0.57 * clip.offsets)
    assert "give --scale 0.01" in losses(child)[-1]
    path = tmp_path / "child.bvh"
    write_bvh(path, child)
    assert read_clip(path).provenance.unit_scale != 0.01, "the warning is true"
    user = replace(clip, provenance=replace(clip.provenance, up_source="user"))
    assert "as --up said" in losses(user)[1]
