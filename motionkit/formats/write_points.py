"""What the writers of points share: any clip as points, and what points do not say."""

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, HumanClip, MarkerClip, RobotMotion, SkeletonClip
from motionkit.errors import InputError

Array = np.ndarray
Points = MarkerClip | SkeletonClip | HumanClip | RobotMotion
"""What points can be taken from."""

_MOST_NAMED = 8  # names that a line lists
_SETTLED = 10  # rounds after which rounding has settled: one or two in practice


def to_points(clip: Points) -> MarkerClip:
    """Points of a clip: markers as they are, or joint centres, or origins of a robot's bodies.

    Joints of a person that the source did not determine are left out.

    Raises:
        InputError: a robot's file has no positions of bodies.
    """
    if isinstance(clip, MarkerClip):
        return clip
    roles: dict[str, str] = {}
    if isinstance(clip, SkeletonClip):
        labels, pos, roles = clip.joint_names, clip.global_pose()[0], clip.roles
    elif isinstance(clip, HumanClip):
        seen = np.flatnonzero(clip.observed)
        labels = tuple(SMPLH_JOINTS[i] for i in seen)
        pos, roles = clip.landmark_pos_w[:, seen], {label: label for label in labels}
    else:
        if clip.body_pos_w is None:
            raise InputError("has no positions of bodies", where=clip.provenance.path,
                             help="give --robot, whose kinematics gives them")  # fmt: skip
        count = clip.body_pos_w.shape[1]
        labels, pos = clip.body_names or tuple(f"body{i}" for i in range(count)), clip.body_pos_w
    return MarkerClip(clip.name, clip.fps, labels, pos, clip.provenance, kind="joint", roles=roles)


def lost_by_points(clip: Points) -> list[str]:
    """What is lost when a clip becomes points, one line each; nothing for markers."""
    if isinstance(clip, SkeletonClip):
        ends = f", and {len(clip.end_offsets)} end sites" if len(clip.end_offsets) else ""
        return [f"rotations and the tree of joints{ends} are lost"]
    if isinstance(clip, HumanClip):
        absent = [name for name, is_seen in zip(SMPLH_JOINTS, clip.observed, strict=True)
                  if not is_seen]  # fmt: skip
        out = ["rotations and the body at rest are lost"]
        if absent:
            out.append(f"left out, since the source does not determine them: {listed(absent)}")
        return out
    if isinstance(clip, RobotMotion):
        return ["joint angles, velocities and rotations of bodies are lost: origins of bodies stay"]
    return []


def lost_beside_points(clip: MarkerClip) -> list[str]:
    """What stands beside the points, where the target has no room for it."""
    out = [f"the subject's name, {clip.subject}, is lost"] if clip.subject else []
    if clip.analog is not None:
        out.append(f"{len(clip.analog.labels)} analog channels are lost")
    if clip.plates:
        out.append(f"{len(clip.plates)} force plates are lost")
    return out


def at_origin(clip: MarkerClip) -> list[str]:
    """A warning of points that were seen at exactly 0 0 0, which stands for unseen elsewhere."""
    count = int(np.sum(np.all(clip.pos_w == 0.0, axis=-1)))
    return [f"{count} points lie at exactly 0 0 0, which readers take for unseen"] if count else []


def listed(names: list[str]) -> str:
    """Names for a line, the first of many."""
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")


def on_grid(values: Float[Array, "*n"], decimals: int) -> Float[Array, "*n"]:
    """Numbers of so many decimals, without ``-0``; NaN stays."""
    return np.rint(values * 10.0**decimals) / 10.0**decimals + 0.0


def unit_on_grid(quat: Float[Array, "T *n 4"], decimals: int) -> Float[Array, "T *n 4"]:
    """Quaternions of so many decimals that scaling to unit length and rounding leave as they are.

    So a file that is read, where quaternions are scaled, and written again has the same bytes.
    In one hemisphere over time.
    """
    quat = on_grid(rotation.unroll(quat), decimals)
    for _ in range(_SETTLED):
        again = on_grid(rotation.normalize(quat), decimals)
        if np.array_equal(again, quat):
            break
        quat = again
    return quat
