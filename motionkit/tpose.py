"""Whether the pose that a profile calls the T-pose can be one.

A T-pose facing +X has left on +Y, arms along ±Y, legs along −Z and toes ahead of heels. Mounts of
all landmarks are read in it, so a pose that is far from it turns every target of the robot. Only
what is certainly wrong is refused, and only between landmarks that the profile has.
"""

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from motionkit.errors import ConfigError
from motionkit.kinematics import Tree, path_to_root
from motionkit.profile import Foot, Landmark

Array = np.ndarray

_MAX_TILT = np.radians(60.0)  # [rad], from the direction of a T-pose: beyond it, it is none
_MIN_LENGTH = 0.02  # [m]: between nearer points, offsets of the bodies decide the direction
_LOOK = "look at it with motionkit robots show MODEL --picture t.png; "
_ARM = ("shoulder", "elbow", "wrist")


def require_tpose(
    where: str,
    tree: Tree,
    joint_names: Sequence[str],
    body_names: Sequence[str],
    landmarks: Sequence[Landmark],
    feet: Sequence[Foot],
    pos: Float[Array, "B 3"],
) -> None:
    """Refuse a pose that is no T-pose facing +X.

    Args:
        where: the robot, for messages.
        tree: its tree.
        joint_names: its joints in the order of the tree.
        body_names: its bodies.
        landmarks: its landmarks.
        feet: left and right.
        pos: of the bodies in the pose that the profile gives [m].

    Raises:
        ConfigError: left and right are not on the sides where they belong, a part of an arm or a
            leg points more than 60 degrees away from where it does in a T-pose, or toes lie
            behind heels.
    """
    body = {mark.human: list(body_names).index(mark.body) for mark in landmarks}
    place = {human: pos[index] for human, index in body.items()}
    _require_sides(where, place)
    for foot in feet:
        heel, toe = (pos[list(body_names).index(name)] for name in (foot.heel, foot.toe))
        along = (toe - heel) * [1.0, 1.0, 0.0]
        if np.linalg.norm(along) > _MIN_LENGTH and along[0] < 0:
            raise ConfigError(f"{foot.toe} lies behind {foot.heel} in the T-pose", where=where,
                              help=_LOOK + "check forward, heel and toe")  # fmt: skip
    for side in ("left", "right"):
        _require_leg(where, side, place)
        _require_arm(where, side, place, _own_joints(tree, joint_names, body, side))


def _require_sides(where: str, place: Mapping[str, Array]) -> None:
    for part in ("hip", "shoulder"):
        if f"left_{part}" not in place or f"right_{part}" not in place:
            continue
        across = (place[f"left_{part}"] - place[f"right_{part}"]) * [1.0, 1.0, 0.0]
        if _tilt(across, np.array([0.0, 1.0, 0.0])) > _MAX_TILT:
            raise ConfigError(
                f"left_{part} does not lie to the left of right_{part} in the T-pose facing +X: "
                f"from right to left it is ({across[0]:.2f}, {across[1]:.2f}) m, expected +Y",
                where=where,
                help=_LOOK + "set forward to where the model faces at rest, or exchange the sides",
            )


def _require_leg(where: str, side: str, place: Mapping[str, Array]) -> None:
    hip, ankle = (place.get(f"{side}_{part}") for part in ("hip", "ankle"))
    if hip is None or ankle is None:
        return
    tilt = _tilt(ankle - hip, np.array([0.0, 0.0, -1.0]))
    if tilt > _MAX_TILT:
        raise ConfigError(
            f"the line from {side}_hip to {side}_ankle is {np.degrees(tilt):.0f} degrees away "
            "from straight down in the T-pose",
            where=where, help=_LOOK + "give the angles [rad] of straight legs in [tpose]",
        )  # fmt: skip


def _require_arm(where: str, side: str, place: Mapping[str, Array], joints: Sequence[str]) -> None:
    lateral = np.array([0.0, 1.0 if side == "left" else -1.0, 0.0])
    chain = [f"{side}_{part}" for part in _ARM if f"{side}_{part}" in place]
    for near, far in itertools.pairwise(chain):
        tilt = _tilt(place[far] - place[near], lateral)
        if tilt > _MAX_TILT:
            names = f": {', '.join(joints)}" if joints else ""
            raise ConfigError(
                f"the line from {near} to {far} is {np.degrees(tilt):.0f} degrees away from "
                f"pointing straight {side} in the T-pose",
                where=where,
                help=f"{_LOOK}raise the arm with angles [rad] in [tpose] of its joints{names}",
            )


def _own_joints(
    tree: Tree, joint_names: Sequence[str], body: Mapping[str, int], side: str
) -> list[str]:
    """Joints that move one arm and no landmark outside it, from the trunk outwards."""
    arm = [body[name] for part in _ARM if (name := f"{side}_{part}") in body]
    if not arm:
        return []
    inner = {f"{side}_{part}" for part in _ARM}
    shared: set[int] = {0}
    for human, index in body.items():
        if human not in inner and not set(arm) & set(path_to_root(tree, index)):
            shared |= set(path_to_root(tree, index))
    own = set(path_to_root(tree, max(arm))) - shared - {max(arm)}
    return [joint_names[j] for j, b in enumerate(tree.joint_body) if b in own]


def _tilt(vector: Float[Array, "3"], direction: Float[Array, "3"]) -> float:
    """Angle between a vector and a unit vector [rad]; zero where the vector is too short."""
    length = float(np.linalg.norm(vector))
    if length < _MIN_LENGTH:
        return 0.0
    return float(np.arccos(np.clip(vector @ direction / length, -1.0, 1.0)))
