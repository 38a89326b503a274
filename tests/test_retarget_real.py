"""The retargeter on real clips: quality, and independence of cut, heading, side and rate."""

import zipfile
from dataclasses import replace

import numpy as np
import pytest
from builders_retarget import human_from_robot

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, HumanClip, resample, slice_frames
from motionkit.formats import read_clip
from motionkit.human import align
from motionkit.retarget import Outcome, RetargetConfig, RetargetResult, retarget, with_contacts
from motionkit.robot import Robot, load_robot

ENDS = ("LeftHand", "RightHand", "LeftFoot", "RightFoot", "LeftToeBase", "RightToeBase", "Head")
START, STOP = 300, 700  # of the walk, for the laws that solve it many times


@pytest.fixture(scope="module")
def robot() -> Robot:
    return load_robot("anatomic_soma")


@pytest.fixture(scope="module")
def walk(shared) -> HumanClip:
    return align(read_clip(shared / "data/bvh_lafan1/lafan1_walk.bvh"))


@pytest.fixture(scope="module")
def part(walk) -> HumanClip:
    return slice_frames(walk, START, STOP)


@pytest.fixture(scope="module")
def solved(part, robot) -> RetargetResult:
    return retarget(part, robot)


def places(robot: Robot, result: RetargetResult) -> np.ndarray:
    return robot.forward(result.clip.qpos)[0]


def distance(robot: Robot, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of all bodies in all frames [m]."""
    return np.linalg.norm(robot.forward(a)[0] - robot.forward(b)[0], axis=-1)


def depth(robot: Robot, qpos: np.ndarray) -> float:
    pos, quat = robot.forward(qpos)
    b = robot.surface.body_index
    low = (pos[:, b] + rotation.rotate(quat[:, b], robot.surface.center))[..., 2]
    return float(-(low - robot.surface.radius).min())


def drifts(robot: Robot, result: RetargetResult) -> list[float]:
    """Largest distance of each sole's centre from its touchdown, over each stance [m]."""
    pos, quat = robot.forward(result.clip.qpos)
    out = []
    for k, name in enumerate(robot.contact_bodies):
        i, center = robot.body_index(name), robot.sole(name)[0].mean(axis=0)
        place = pos[:, i] + rotation.rotate(quat[:, i], center)
        edges = np.flatnonzero(np.diff(np.r_[False, result.clip.contact[:, k] > 0.5, False]))
        for a, b in zip(edges[::2], edges[1::2], strict=True):
            out.append(np.linalg.norm(place[a:b, :2] - place[a, :2], axis=1).max())
    return out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lafan1_walk", "lafan1_run"])
def test_a_whole_recording_keeps_budgets_limits_soles_and_ground(name, shared, robot):
    result = retarget(align(read_clip(shared / f"data/bvh_lafan1/{name}.bvh")), robot)
    report, q = result.report, result.clip.qpos[:, 7:]
    assert report.outcome is Outcome.CONVERGED
    assert np.all((q >= robot.joint_range[:, 0]) & (q <= robot.joint_range[:, 1]))
    assert np.abs(np.diff(q, axis=0)).max() < 1.0  # [rad] a frame: far from a jump
    assert np.abs(np.diff(q, axis=0)).max() * 30 <= 20
    assert np.abs(np.diff(q, n=2, axis=0)).max() * 900 <= 300 * (1 + 1e-4)
    assert np.mean([report.position_error[part].mean for part in ENDS]) <= 0.015
    assert depth(robot, result.clip.qpos) <= 0.010
    assert max(drifts(robot, result)) <= 0.010


def test_the_walk_itself_moves_and_stands(solved, robot):
    """A frozen robot, or one that never stands, would pass the other figures."""
    travel = np.linalg.norm(np.diff(solved.clip.qpos[:, :2], axis=0), axis=1).sum()
    wanted = np.linalg.norm(np.diff(solved.target_pos_w[:, 0, :2], axis=0), axis=1).sum()
    assert travel == pytest.approx(wanted, rel=0.05)
    assert 0.4 < solved.clip.contact.mean() < 0.9
    assert len(drifts(robot, solved)) >= 12


@pytest.mark.slow
@pytest.mark.parametrize("yaw", np.arange(8) * np.pi / 4 + 0.1)
def test_the_heading_of_the_source_does_not_matter(yaw, part, solved, robot):
    turn = rotation.from_axis_angle("Z", np.asarray(yaw))
    turned = replace(
        part,
        landmark_pos_w=rotation.rotate(turn, part.landmark_pos_w),
        landmark_quat_w=rotation.multiply(turn, part.landmark_quat_w),
    )
    result = retarget(turned, robot)
    assert np.abs(result.clip.qpos[:, 7:] - solved.clip.qpos[:, 7:]).max() < 0.02  # [rad]
    back = rotation.rotate(rotation.conjugate(turn), places(robot, result))
    assert np.linalg.norm(back - places(robot, solved), axis=-1).max() < 2e-3


@pytest.mark.slow
@pytest.mark.parametrize("cut", [1, 3, 7, 20, 37, 50, 75, 90, 120, 150])
def test_the_start_of_the_clip_does_not_matter(cut, part, solved, robot):
    """Away from the new start only the ground's height, found from fewer stances, may differ."""
    result = retarget(slice_frames(part, cut, part.num_frames), robot)
    ground = abs(result.report.ground_offset - solved.report.ground_offset)
    apart = distance(robot, result.clip.qpos, solved.clip.qpos[cut:])
    assert apart.max() < 0.010
    assert apart[30:].max() < 2.5e-3 + 2 * ground
    assert np.abs(result.clip.qpos[:, 7:] - solved.clip.qpos[cut:, 7:]).max() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("fps", [60.0, 120.0])
def test_the_rate_of_the_clip_does_not_matter(fps, part, solved, robot):
    """Touchdowns fall on other instants, by up to half a frame: there the soles may differ."""
    step = round(fps / part.fps)
    result = retarget(resample(part, fps), robot)
    assert result.report.outcome is Outcome.CONVERGED
    apart = distance(robot, result.clip.qpos[::step], solved.clip.qpos)
    assert apart.mean() < 1e-3
    assert np.quantile(apart.max(axis=1), 0.95) < 8e-3
    assert apart.max() < 0.030


def test_left_and_right_do_not_matter(part, solved, robot):
    """The robot's own left and right differ by some millimetres, and nothing else may."""
    swap = [
        SMPLH_JOINTS.index(name.replace("left", "*").replace("right", "left").replace("*", "right"))
        for name in SMPLH_JOINTS
    ]
    mirrored = replace(
        part,
        landmark_pos_w=part.landmark_pos_w[:, swap] * [1.0, -1.0, 1.0],
        landmark_quat_w=part.landmark_quat_w[:, swap] * [1.0, -1.0, 1.0, -1.0],
        rest_pos=part.rest_pos[swap] * [1.0, -1.0, 1.0],
        observed=part.observed[swap],
    )
    result = retarget(mirrored, robot)
    pairs = [robot.profile["mirror"]["joints"][name] for name in robot.joint_names]
    other = [robot.joint_index(name) for name, _ in pairs]
    sign = np.array([float(sign) for _, sign in pairs])
    apart = np.abs(result.clip.qpos[:, 7:][:, other] * sign - solved.clip.qpos[:, 7:])
    assert apart.max() < 0.03
    assert apart.mean() < 1e-3


def soma_clip(shared, robot: Robot) -> HumanClip:
    """The SOMA23 clip, read from its raw arrays (nothing in the file is unpickled)."""
    with zipfile.ZipFile(shared / "data/motion/soma23_walk_crouch.motion") as archive:
        raw = {k: archive.read(f"output/data/{k}") for k in (2, 3)}
    pos = np.frombuffer(raw[2], np.float32).reshape(150, 23, 3).astype(float)
    quat = np.frombuffer(raw[3], np.float32).reshape(150, 23, 4).astype(float)
    # Native SOMA faces -Y: positions turn by +90° about Z, body rotations are conjugated.
    turn = rotation.from_axis_angle("Z", np.asarray(np.pi / 2))
    pos = rotation.rotate(turn, pos)
    quat = rotation.normalize(rotation.from_xyzw(quat))
    quat = rotation.multiply(rotation.multiply(turn, quat), rotation.conjugate(turn))
    parts = [name for name in robot.body_names if not name.endswith("_link")]
    human = human_from_robot(robot, np.tile(robot.tpose_qpos(), (150, 1)), 30.0)
    place, attitude = human.landmark_pos_w.copy(), human.landmark_quat_w.copy()
    for mark in robot.landmarks:
        i, j = SMPLH_JOINTS.index(mark.human), parts.index(mark.body)
        place[:, i], attitude[:, i] = pos[:, j], quat[:, j]
    return replace(human, landmark_pos_w=place, landmark_quat_w=attitude)


def test_the_wrist_near_its_singularity_keeps_its_budgets(shared, robot):
    """A plain Euler split spins LeftHand_y and LeftHand_z a full turn at 92 rad/s here."""
    result = retarget(soma_clip(shared, robot), robot)
    assert result.report.outcome is Outcome.CONVERGED
    wrist = [robot.joint_index(f"LeftHand_{axis}") for axis in "yxz"]
    q = result.clip.qpos[:, 7:][:, wrist]
    assert np.abs(q[:, 1]).max() > np.radians(80)  # the clip does go there
    assert np.abs(np.diff(q, axis=0)).max() * 30 < 10
    assert result.report.peak_velocity.value < 10
    assert result.report.position_error["LeftHand"].mean < 5e-3
    assert result.report.rotation_error["LeftHand"].mean < np.radians(3)


@pytest.mark.slow
def test_both_coordinates_reach_one_minimum(part, robot):
    short = slice_frames(part, 0, 150)
    angles, tanh = (
        retarget(short, robot, RetargetConfig(coordinates=coordinates, tolerance=1e-8))
        for coordinates in ("angle", "tanh")
    )
    assert angles.report.outcome is tanh.report.outcome is Outcome.CONVERGED
    assert tanh.report.cost == pytest.approx(angles.report.cost, rel=1e-4)
    assert distance(robot, tanh.clip.qpos, angles.clip.qpos).max() < 2e-3


@pytest.mark.slow
@pytest.mark.parametrize("cut", [51, 150, 200])
def test_a_cut_with_known_contacts_is_the_whole(cut, walk, robot):
    """What the command line does: contacts and ground are found before the clip is cut."""
    known = slice_frames(with_contacts(walk), 0, 400)
    whole = retarget(known, robot)
    result = retarget(slice_frames(known, cut, 400), robot)
    assert result.report.ground_offset == whole.report.ground_offset
    assert np.all(result.clip.contact == whole.clip.contact[cut:])
    apart = distance(robot, result.clip.qpos, whole.clip.qpos[cut:])
    assert apart.max() < 0.015
    assert apart[30:].max() < 2.5e-3
