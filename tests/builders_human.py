"""Skeletons of odd dialects, made from a motion whose truth is known."""

from dataclasses import replace

import numpy as np
from builders import random_quats

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SkeletonClip

BODY = SMPLH_JOINTS[:22]


def reframed(clip: SkeletonClip, frames: np.ndarray) -> SkeletonClip:
    """The same motion in other joint frames: joint ``j``'s is turned by ``frames[j]`` in its old.

    Positions stay; so the zero pose becomes another one.
    """
    parents = np.array(clip.parents)
    above = np.where(parents[:, None] < 0, rotation.IDENTITY, frames[np.maximum(parents, 0)])
    back = rotation.conjugate(above)
    quat = rotation.multiply(rotation.multiply(back, clip.joint_quat), frames)
    ends = rotation.rotate(rotation.conjugate(frames[clip.end_parents]), clip.end_offsets)
    return replace(
        clip,
        offsets=rotation.rotate(back, clip.offsets),
        joint_quat=rotation.normalize(quat),
        end_offsets=ends,
    )


def shuffled(rng: np.random.Generator, clip: SkeletonClip) -> SkeletonClip:
    """Every joint's frame turned at random: a zero pose that is nobody's."""
    return reframed(clip, random_quats(rng, len(clip.joint_names)))


def posed_at_zero(clip: SkeletonClip, turns: dict[str, np.ndarray]) -> SkeletonClip:
    """The same motion with a zero pose in which the joints of some roles, and all below, turn.

    Args:
        clip: a skeleton whose zero pose is the T-pose.
        turns: role to rotation vector in the T-pose's axes [rad].
    """
    names = {name: role for role, name in clip.roles.items()}
    pose = np.tile(rotation.IDENTITY, (len(clip.joint_names), 1))
    for j, (name, parent) in enumerate(zip(clip.joint_names, clip.parents, strict=True)):
        above = rotation.IDENTITY if parent < 0 else pose[parent]
        own = rotation.from_rotvec(turns.get(names[name], np.zeros(3)))
        pose[j] = rotation.multiply(above, own)
    return reframed(clip, rotation.conjugate(pose))


def along_x(clip: SkeletonClip) -> SkeletonClip:
    """The frames of LAFAN1 and SOMA: every bone along X of its joint.

    The trunk has X up and Z left; limbs follow from shortest turns about axes of their frames.
    """
    trunk = np.stack([[0, 0, 1.0], [1.0, 0, 0], [0, 1.0, 0]], axis=1)  # X up, Y forward, Z left
    leg = np.stack([[0, 0, -1.0], [1.0, 0, 0], [0, -1.0, 0]], axis=1)
    foot = np.stack([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]], axis=1)
    axes = {"left": [0, 1.0, 0], "right": [0, -1.0, 0]}
    out = []
    for name in clip.joint_names:
        role = next(r for r, n in clip.roles.items() if n == name)
        side, _, part = role.rpartition("_")
        if part in ("hip", "knee"):
            out.append(leg)
        elif part in ("ankle", "foot"):
            out.append(foot)
        elif part in ("collar", "shoulder", "elbow", "wrist"):
            x = np.array(axes[side])
            out.append(np.stack([x, [1.0, 0, 0], np.cross(x, [1.0, 0, 0])], axis=1))
        else:
            out.append(trunk)
    return reframed(clip, rotation.from_matrix(np.array(out)))


def turned(clip: SkeletonClip, angle: float, shift: np.ndarray) -> SkeletonClip:
    """The clip turned about the vertical through the origin [rad], then shifted [m]."""
    yaw = rotation.from_axis_angle("Z", np.asarray(angle))
    quat = clip.joint_quat.copy()
    quat[:, 0] = rotation.multiply(yaw, quat[:, 0])
    root = rotation.rotate(yaw, clip.root_pos_w) + shift
    return replace(clip, joint_quat=quat, root_pos_w=root)
