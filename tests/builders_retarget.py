"""Inputs of the retargeter's tests: a human out of a robot's own motion, problems, motions."""

import numpy as np

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS, HumanClip, Provenance
from motionkit.robot import Robot

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
