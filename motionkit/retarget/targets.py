"""What the robot's bodies should do: a human's motion in the robot's own proportions.

One scale ``s``, the robot's standing hip height over the human's, is applied to the world: root
travel, stride and heights above the ground. Legs reach for the scaled places of the ankles, so
strides and stances fit together; trunk, arms, head and knees take the human's directions with
the robot's own lengths, so that postures stay the same. Heights are those of soles, not of ankle
joints: a straight human leg on the ground gives a straight robot leg on the ground.

    hip centre*   s (hip centre of the human)
    ankle*        s ankle + (sole height of the robot - s sole height of the human)
    others*       parent* + R*_parent (rest offset of the robot)
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, HumanClip
from motionkit.errors import ConfigError
from motionkit.retarget.contacts import Contacts, find_contacts
from motionkit.robot import Robot

Array = np.ndarray

_LEGS = (("left_hip", "left_ankle"), ("right_hip", "right_ankle"))


@dataclass(frozen=True, slots=True)
class Targets:
    """Wanted poses of the robot's landmarks, in its order, and its contacts with the ground."""

    pos_w: Float[Array, "T L 3"]
    """Positions [m], ground at z = 0."""
    quat_w: Float[Array, "T L 4"]
    """Orientations of the landmark bodies."""
    scale: float
    """Robot length per human length."""
    contacts: Contacts
    """Of the human's feet."""
    stands: Bool[Array, "T K"]
    """Contact of ``robot.contact_bodies``."""


def make_targets(human: HumanClip, robot: Robot) -> Targets:
    """Scale a human's motion to a robot.

    Raises:
        ConfigError: the robot's landmarks lack a hip or an ankle.
    """
    contacts = find_contacts(human)
    roles = [mark.human for mark in robot.landmarks]
    missing = [role for leg in _LEGS for role in leg if role not in roles]
    if missing:
        raise ConfigError(f"no landmark pairs with {', '.join(missing)}", where=robot.name,
                          help="add them to the robot's profile")  # fmt: skip
    rest = tpose(robot)
    joint = [SMPLH_JOINTS.index(role) for role in roles]
    at = {role: i for i, role in enumerate(roles)}
    mount = np.array([mark.mount for mark in robot.landmarks])
    turn = human.landmark_quat_w[:, joint]
    scale, sole_shift = _leg_scale(human, robot, rest, at)
    source = human.landmark_pos_w[:, joint] - [0.0, 0.0, contacts.ground]
    pos = np.empty_like(source)
    pelvis = at["pelvis"]
    hips = [at["left_hip"], at["right_hip"]]
    center = 0.5 * (rest[hips[0]] + rest[hips[1]]) - rest[pelvis]
    pos[:, pelvis] = scale * source[:, hips].mean(axis=1) - rotation.rotate(turn[:, pelvis], center)
    parents = _landmark_parents(robot)
    for i, parent in enumerate(parents):
        if roles[i] in ("left_ankle", "right_ankle"):
            pos[:, i] = scale * source[:, i] + [0.0, 0.0, sole_shift]
        elif i != pelvis:
            pos[:, i] = pos[:, parent] + rotation.rotate(turn[:, parent], rest[i] - rest[parent])
    bodies = robot.contact_bodies
    stands = np.zeros((human.num_frames, len(bodies)), dtype=bool)
    for side, foot in enumerate(robot.feet):
        for part, body in enumerate((foot.heel, foot.toe)):
            stands[:, bodies.index(body)] |= contacts.stands[:, 2 * side + part]
    return Targets(pos, rotation.multiply(turn, mount), scale, contacts, stands)


def tpose(robot: Robot) -> Float[Array, "L 3"]:
    """Landmark positions of the robot standing in the T-pose facing +X, root at the origin [m]."""
    pos, _ = robot.forward(robot.tpose_qpos()[None])
    return pos[0, [robot.body_index(mark.body) for mark in robot.landmarks]]


def _leg_scale(
    human: HumanClip, robot: Robot, rest: Float[Array, "L 3"], at: dict[str, int]
) -> tuple[float, float]:
    """The scale, and what to add to the height of a scaled ankle [m]."""
    index = [[SMPLH_JOINTS.index(role) for role in leg] for leg in _LEGS]
    human_leg = np.mean([human.rest_pos[h, 2] - human.rest_pos[a, 2] for h, a in index])
    robot_leg = np.mean([rest[at[h], 2] - rest[at[a], 2] for h, a in _LEGS])
    ankle = np.mean([_ankle_height(robot, foot.heel, side) for side, foot in enumerate(robot.feet)])
    scale = float((robot_leg + ankle) / (human_leg + human.ankle_height))
    return scale, float(ankle - scale * human.ankle_height)


def _ankle_height(robot: Robot, heel: str, side: int) -> float:
    """Height of the ankle landmark over the sole of its foot, in the T-pose [m]."""
    pos, quat = robot.forward(robot.tpose_qpos()[None])
    body = robot.body_index(heel)
    center, radius = robot.sole(heel)
    bottom = (pos[0, body] + rotation.rotate(quat[0, body], center))[:, 2] - radius
    role = _LEGS[side][1]
    mark = next(mark for mark in robot.landmarks if mark.human == role)
    return float(pos[0, robot.body_index(mark.body), 2] - bottom.min())


def _landmark_parents(robot: Robot) -> list[int]:
    """For each landmark, the landmark whose body is nearest above it; -1 for the first."""
    index = {robot.body_index(mark.body): i for i, mark in enumerate(robot.landmarks)}
    parents = []
    for mark in robot.landmarks:
        body = robot.tree.parents[robot.body_index(mark.body)]
        while body >= 0 and body not in index:
            body = robot.tree.parents[body]
        parents.append(index.get(body, -1))
    return parents
