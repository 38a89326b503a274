"""What there is to know about a clip, for ``motionkit inspect``."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import (
    REQUIRED_ROLES,
    SMPLH_JOINTS,
    MarkerClip,
    RobotMotion,
    SkeletonClip,
    SmplClip,
    SourceClip,
)
from motionkit.formats import world
from motionkit.formats.describe_points import PointsDescription, describe_points
from motionkit.formats.describe_robot import RobotDescription, describe_robot
from motionkit.formats.facts import Facts, shared_facts

Array = np.ndarray

LEAST_TRAVEL = 0.5
"""Path of the pelvis [m] below which there is no direction of travel."""
_NUM_BODY = 22  # joints of SMPL-H before the fingers


@dataclass(frozen=True, slots=True)
class BodyDescription(Facts):
    """Facts about a person who moves: a skeleton, or the parameters of a body model."""

    model: str | None
    """Body model of the parameters; absent for a skeleton."""
    joints: int
    """Joints in the clip."""
    facing_first: float
    """Heading of the body in the first frame [rad], 0 along +X, positive to the left."""
    facing_median: float
    """Median heading [rad], about their circular mean."""
    facing_from_travel: float | None
    """Mean heading minus direction of travel [rad]; absent where the body does not travel."""
    travel: float
    """Length of the pelvis's path over the floor [m]."""
    lowest: float
    """Height of the lowest joint (2nd percentile over frames) [m]; of SMPL, of the pelvis."""
    stature: float | None
    """Standing height from the lengths of limbs [m]; absent where a body model is needed."""
    roles: dict[str, str]
    """Role to joint."""
    roles_missing: tuple[str, ...]
    """Body roles (not fingers) that no joint plays."""
    roles_required: tuple[str, ...]
    """Roles without which a clip is refused."""


Description = BodyDescription | PointsDescription | RobotDescription
"""What :func:`describe` may return."""


def describe(clip: SourceClip) -> Description:
    """The facts about a clip of any type."""
    if isinstance(clip, MarkerClip):
        return describe_points(clip)
    if isinstance(clip, RobotMotion):
        return describe_robot(clip)
    return describe_body(clip)


def describe_body(clip: SkeletonClip | SmplClip) -> BodyDescription:
    """The facts about a person, judged from at most 400 frames evenly spread."""
    if isinstance(clip, SkeletonClip):
        roles, model, joints = clip.roles, None, len(clip.joint_names)
        pelvis, facing, lowest, stature = _of_skeleton(clip)
    else:
        roles, model, joints = _smpl_roles(clip), clip.model, clip.joint_quat.shape[1]
        pelvis, facing, lowest, stature = _of_smpl(clip)
    mean = _circular_mean(facing, np.ones(len(facing)))
    steps = np.diff(pelvis[:, :2], axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    travel = float(lengths.sum())
    against = None
    if travel >= LEAST_TRAVEL:
        against = _circular_mean(facing[:-1] - np.arctan2(steps[:, 1], steps[:, 0]), lengths)
    return BodyDescription(
        **shared_facts(clip, "skeleton" if model is None else "parameters"),
        model=model, joints=joints, facing_first=float(facing[0]),
        facing_median=float(_wrap(mean + np.median(_wrap(facing - mean), keepdims=True))[0]),
        facing_from_travel=against, travel=travel, lowest=lowest, stature=stature,
        roles=dict(roles),
        roles_missing=tuple(r for r in SMPLH_JOINTS[:_NUM_BODY] if r not in roles),
        roles_required=REQUIRED_ROLES,
    )  # fmt: skip


def _of_skeleton(
    clip: SkeletonClip,
) -> tuple[Float[Array, "S 3"], Float[Array, "S"], float, float]:
    """Path of the pelvis, headings, floor and stature."""
    pos = world.sample_positions(clip)
    roles = {role: clip.joint_names.index(joint) for role, joint in clip.roles.items()}
    lowest = world.floor_height(pos, roles, "z")
    facing = world.facing(pos, roles)
    return pos[:, roles["pelvis"]], facing, lowest, world.stature_from_limbs(pos, roles)


def _of_smpl(clip: SmplClip) -> tuple[Float[Array, "S 3"], Float[Array, "S"], float, None]:
    """The same from the root, whose own forward is +Z; the stature needs the body model."""
    at = world.sample_frames(clip.num_frames)
    forward = rotation.rotate(clip.joint_quat[at, 0], np.array([0.0, 0.0, 1.0]))
    pelvis = clip.trans_w[at] + world.PELVIS_REST[clip.model]
    lowest = float(np.percentile(pelvis[:, 2], world.FLOOR_PERCENTILE))
    return pelvis, np.arctan2(forward[:, 1], forward[:, 0]), lowest, None


def _smpl_roles(clip: SmplClip) -> dict[str, str]:
    """All joints of the body, and fingers where the file had them."""
    has_hands = not any(note.code == "MK120" for note in clip.provenance.notes)
    names = SMPLH_JOINTS if has_hands else SMPLH_JOINTS[:_NUM_BODY]
    return {name: name for name in names}


def _circular_mean(angles: Float[Array, "S"], weights: Float[Array, "S"]) -> float:
    return float(np.arctan2(weights @ np.sin(angles), weights @ np.cos(angles)))


def _wrap(angle: Float[Array, "S"]) -> Float[Array, "S"]:
    return (angle + np.pi) % (2.0 * np.pi) - np.pi
