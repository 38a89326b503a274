"""Inputs of the retargeter's tests: a human out of a robot's own motion, problems, motions."""

import mujoco
import numpy as np
from builders import profile, random_quats

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS, HumanClip, Provenance
from motionkit.kinematics import split_qpos
from motionkit.retarget.lm import Problem
from motionkit.retarget.objective import Directions, Objective, Orientations, Points, Pose
from motionkit.retarget.temporal import Temporal
from motionkit.robot import Robot, load_robot

PROVENANCE = Provenance(path="made.npz", sha256="0" * 64, format="synth", writer="tests")


def human_from_robot(
    robot: Robot, qpos: np.ndarray, fps: float, contact: np.ndarray | None = None
) -> HumanClip:
    """The person whose joints are where the robot's landmarks are: its motion is reachable.

    Joints without a landmark sit on their parent. Heights of the feet are those of the robot's
    own soles, so that the person stands on the ground wherever the robot does.
    """
    frames = len(qpos)
    pos, quat = robot.forward(qpos)
    standing, upright = robot.forward(robot.tpose_qpos()[None])
    landmark_pos = np.zeros((frames, 52, 3))
    landmark_quat = np.tile(rotation.IDENTITY, (frames, 52, 1))
    rest = np.zeros((52, 3))
    observed = np.zeros(52, dtype=bool)
    marks = {mark.human: mark for mark in robot.landmarks}
    for i, (role, parent) in enumerate(zip(SMPLH_JOINTS, SMPLH_PARENTS, strict=True)):
        if role in marks:
            mark = marks[role]
            body = robot.body_index(mark.body)
            landmark_pos[:, i] = pos[:, body]
            turned_back = rotation.conjugate(np.array(mark.mount))
            landmark_quat[:, i] = rotation.multiply(quat[:, body], turned_back)
            rest[i] = standing[0, body] - standing[0, 0]
            observed[i] = True
        else:
            landmark_pos[:, i] = landmark_pos[:, parent]
            landmark_quat[:, i] = landmark_quat[:, parent]
            rest[i] = rest[parent]
    ground = _lowest_sole(robot, standing[0], upright[0])
    heights = [
        float(standing[0, robot.body_index(name), 2] - ground)
        for name in (robot.feet[0].heel, robot.feet[0].toe)
    ]
    return HumanClip(
        name="made",
        fps=fps,
        landmark_pos_w=landmark_pos,
        landmark_quat_w=landmark_quat,
        rest_pos=rest,
        ankle_height=heights[0],
        toe_height=heights[1],
        stature=float(np.ptp(standing[0, :, 2]) + heights[0]),
        observed=observed,
        body="embedded",
        provenance=PROVENANCE,
        contact=contact,
    )


def _lowest_sole(robot: Robot, pos: np.ndarray, quat: np.ndarray) -> float:
    """Height of the lowest point of the feet in one pose [m]."""
    heights = []
    for name in robot.contact_bodies:
        body = robot.body_index(name)
        center, radius = robot.sole(name)
        heights.append((pos[body] + rotation.rotate(quat[body], center))[:, 2] - radius)
    return float(np.concatenate(heights).min())


def smooth_qpos(
    rng: np.random.Generator,
    robot: Robot,
    frames: int,
    fps: float = 30.0,
    share: float = 0.5,
    speed: float = 1.0,
) -> np.ndarray:
    """A motion of sums of sinusoids within ``share`` of the joint ranges, speed in Hz.

    The root walks forward, turns and nods; slides and hinges stay inside their limits.
    """
    time = np.arange(frames)[:, None] / fps
    n = robot.num_joints
    wave = np.zeros((frames, n))
    for _ in range(4):
        cycles = rng.uniform(0.2, 1.0, size=n) * speed * time
        wave += 0.25 * np.sin(2 * np.pi * cycles + rng.uniform(0, 2 * np.pi, size=n))
    low, high = np.clip(robot.joint_range.T, -3.0, 3.0)
    q = 0.5 * (low + high) + 0.5 * share * (high - low) * wave
    zero = np.zeros_like(time)
    root = np.concatenate([0.5 * time, 0.1 * np.sin(time), 1.0 + 0.05 * np.sin(2 * time)], axis=1)
    turn = rotation.from_rotvec(
        np.concatenate([zero, 0.2 * np.sin(2 * time), 0.5 * time], axis=1) * speed
    )
    return np.concatenate([root, turn, q], axis=1)


def unitree(shared, folder, name: str = "unitree_g1/g1.xml") -> Robot:
    """A Unitree robot of the shared data, whose feet are of one piece."""
    text = folder / "robot.toml"
    text.write_text(profile("pelvis", "left_ankle_roll_link", "right_ankle_roll_link"))
    return load_robot(shared / "data" / "robots" / name, profile=text)


def pose_of(qpos: np.ndarray) -> Pose:
    """The solver's form of a motion."""
    return Pose(*split_qpos(qpos))


def turned(pose: Pose, rotvec: np.ndarray) -> Pose:
    """The root turned by rotation vectors (3, T) in the world."""
    turn = rotation.to_matrix(rotation.from_rotvec(rotvec.T))
    return Pose(pose.root_pos, np.einsum("tij,jkt->ikt", turn, pose.root_mat), pose.q)


def random_objective(rng: np.random.Generator, robot: Robot, qpos: np.ndarray) -> Objective:
    """Terms of every kind on random bodies, with targets about where ``qpos`` has the bodies.

    Some points have no offset, some no weight in some frames. The ground term knows no other
    height than z = 0, so move the robot to where it should act.
    """
    frames, count = len(qpos), len(robot.body_names)
    pos, quat = robot.forward(qpos)

    def some(least: int = 1) -> np.ndarray:
        size = int(rng.integers(min(least, count), count + 1))
        return rng.choice(count, size=size, replace=False)

    groups = []
    for _ in range(2):
        body = some()
        offset = rng.normal(scale=0.1, size=(len(body), 3)) * (rng.random((len(body), 1)) < 0.5)
        place = pos[:, body] + rotation.rotate(quat[:, body], offset)
        place = place + rng.normal(scale=0.1, size=place.shape)
        weight = rng.uniform(0.5, 100.0, size=(len(body), frames))
        weight *= rng.random(weight.shape) < 0.8
        weight[:1] *= rng.random() < 0.5
        groups.append(Points(body, offset, np.moveaxis(place, 0, -1).copy(), weight))
    body = some()
    off = rotation.from_rotvec(rng.normal(scale=0.5, size=(frames, len(body), 3)))
    target = rotation.to_matrix(rotation.multiply(off, quat[:, body]))
    orientations = Orientations(
        body, np.moveaxis(target, 0, -1).copy(), rng.uniform(0.1, 4.0, size=len(body))
    )
    body = some()
    local = rng.normal(size=(len(body), 3))
    local /= np.linalg.norm(local, axis=1, keepdims=True)
    along = rotation.rotate(random_quats(rng, frames, len(body)), local)
    directions = Directions(
        body, local, np.moveaxis(along, 0, -1).copy(), rng.uniform(0.1, 2.0, size=len(body))
    )
    return Objective(
        tree=robot.tree,
        points=(groups[0], groups[1]),
        orientations=orientations,
        directions=directions,
        surface=robot.surface,
        ground_weight=1e4,
    )


def only(objective: Objective, term: str) -> Objective:
    """The objective with one kind of term: points, orientations, directions or ground."""
    none = np.zeros(0, dtype=np.int64)
    frames = objective.orientations.target.shape[-1]
    points = objective.points if term == "points" else ()
    orientations = objective.orientations
    if term != "orientations":
        orientations = Orientations(none, np.zeros((0, 3, 3, frames)), np.zeros(0))
    directions = objective.directions
    if term != "directions":
        directions = Directions(none, np.zeros((0, 3)), np.zeros((0, 3, frames)), np.zeros(0))
    return Objective(
        tree=objective.tree,
        points=points,
        orientations=orientations,
        directions=directions,
        surface=objective.surface,
        ground_weight=objective.ground_weight if term == "ground" else 0.0,
    )


def random_temporal(
    rng: np.random.Generator, n: int, frames: int, fps: float = 30.0, tight: float = 1.0
) -> Temporal:
    """Terms between frames as the retargeter has them; budgets of ``tight`` times the usual."""
    unlimited = np.full(6, np.inf)
    return Temporal(
        fps=fps,
        offset=np.concatenate([rng.normal(scale=0.1, size=(3, frames)), np.zeros((3, frames)),
                               np.repeat(rng.normal(scale=0.1, size=(n, 1)), frames, axis=1)]),
        posture=np.concatenate([np.zeros(6), np.full(n, 0.05**2)]),
        velocity=np.concatenate([np.zeros(6), rng.uniform(0.5, 2.0, size=n) * 0.005**2]),
        acceleration=np.concatenate([np.full(3, 0.02**2), np.zeros(3), np.full(n, 0.001**2)]),
        max_velocity=np.concatenate([unlimited, np.full(n, 20.0 * tight)]),
        max_acceleration=np.concatenate([unlimited, np.full(n, 300.0 * tight)]),
        onset=0.9,
        budget=30.0**2,
    )  # fmt: skip


def no_temporal(n: int, frames: int, fps: float = 30.0) -> Temporal:
    """No terms between frames."""
    zero = np.zeros(6 + n)
    far = np.full(6 + n, np.inf)
    return Temporal(fps, np.zeros((6 + n, frames)), zero, zero, zero, far, far, 0.9, 30.0**2)


def tracking_problem(
    robot: Robot, qpos: np.ndarray, temporal: Temporal, ground_weight: float = 0.0
) -> Problem:
    """All bodies should be where ``qpos`` has them, and turned so."""
    pos, quat = robot.forward(qpos)
    body = np.arange(len(robot.body_names))
    frames = len(qpos)
    none = np.zeros(0, dtype=np.int64)
    objective = Objective(
        tree=robot.tree,
        points=(Points(body, np.zeros((len(body), 3)), np.moveaxis(pos, 0, -1).copy(),
                       np.full((len(body), frames), 100.0)),),
        orientations=Orientations(
            body, np.moveaxis(rotation.to_matrix(quat), 0, -1).copy(), np.full(len(body), 4.0)),
        directions=Directions(none, np.zeros((0, 3)), np.zeros((0, 3, frames)), np.zeros(0)),
        surface=robot.surface,
        ground_weight=ground_weight,
    )  # fmt: skip
    return Problem(objective, temporal, robot.joint_range)


def in_range_qpos(rng: np.random.Generator, robot: Robot, frames: int, low: float = 0.0):
    """Poses without order in time, joints inside their ranges, root about ``low`` [m] high."""
    low_q, high_q = np.clip(robot.joint_range.T, -3.0, 3.0)
    root = rng.normal(scale=0.5, size=(frames, 3)) + np.array([0.0, 0.0, low])
    q = rng.uniform(low_q, high_q, size=(frames, robot.num_joints))
    return np.concatenate([root, random_quats(rng, frames), q], axis=1)


def mujoco_jacobians(robot: Robot, qpos: np.ndarray) -> np.ndarray:
    """``mj_jacBody`` of all bodies, (T, B, 6, nv): linear then angular velocity in the world.

    Columns are the solver's unknowns: the root turns about the world's axes, not its own.
    """
    model, data = robot.model, mujoco.MjData(robot.model)
    ids = [model.body(name).id for name in robot.body_names]
    out = np.zeros((len(qpos), len(ids), 6, model.nv))
    for t, row in enumerate(qpos):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        for b, i in enumerate(ids):
            mujoco.mj_jacBody(model, data, out[t, b, :3], out[t, b, 3:], i)
        out[t, :, :, 3:6] = out[t, :, :, 3:6] @ data.xmat[ids[0]].reshape(3, 3).T
    return out
