"""The rest pose of the SMPL bodies, and the way between it and the T-pose facing +X.

The models' frame has +X to the left, +Y up and +Z forward. Their rest pose is no exact T-pose:
legs stand a little apart, arms hang a little. With ``S_i`` the swing of a limb's rest direction to
the T-pose's, ``C`` the models' frame in the T-pose's axes, ``Q_i`` a joint's rotation in the world
as a model has it and ``R_i`` its orientation relative to the T-pose::

    R_i = Q_i C* S_i*        Q_i = R_i S_i C
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip.names import SMPLH_JOINTS, SMPLH_PARENTS

Array = np.ndarray

MODEL_TO_TPOSE = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""``C``: from the models' frame (left, up, forward) to the T-pose's (forward, left, up)."""

PELVIS_REST: dict[str, tuple[float, float, float]] = {
    "smpl": (-0.0018, -0.2233, 0.0282),
    "smplh": (-0.0018, -0.2233, 0.0282),
    "smplx": (0.0031, -0.3514, 0.0120),
}
"""Rest position [m] of the pelvis joint in the models' own frame, mean shape: what a translation
leaves out. A subject's differs by centimetres."""

_MEAN_BONES = {  # of the left side
    "hip": (-0.0067, 0.0363, -0.3789), "knee": (-0.0430, -0.0147, -0.3982),
    "ankle": (0.1213, 0.0259, -0.0520), "shoulder": (-0.0245, 0.2567, -0.0131),
    "elbow": (-0.0034, 0.2523, 0.0084),
}  # fmt: skip
"""Bones of the mean SMPL body at rest, sides averaged, in T-pose axes [m]; only their directions
are used. From the public humanoid of PHC (Luo et al., "Perpetual Humanoid Control", 2023)."""

LONG_BONES: tuple[tuple[str, str], ...] = tuple(
    (f"{side}_{near}", f"{side}_{far}")
    for side in ("left", "right")
    for near, far in (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"))
)
"""From, to: the bones that the T-pose lays along an axis."""


def tpose_direction(role: str) -> Float[Array, "3"]:
    """Where the long bone that begins at a role points in the T-pose."""
    if role.endswith(("hip", "knee")):
        return np.array([0.0, 0.0, -1.0])
    return np.array([0.0, 1.0 if role.startswith("left") else -1.0, 0.0])


def mean_bone(role: str) -> Float[Array, "3"]:
    """The bone that begins at a hip, knee, ankle, shoulder or elbow of the mean body [m]."""
    side, part = role.split("_")
    return np.array(_MEAN_BONES[part]) * [1.0, 1.0 if side == "left" else -1.0, 1.0]


def rest_swings(bones: Mapping[str, Float[Array, "3"]]) -> Float[Array, "52 4"]:
    """``S``: from the rest directions of the long bones to the T-pose's; elsewhere none.

    Args:
        bones: a body's bones at rest in T-pose axes, by the role where they begin.
    """
    out = np.tile(rotation.IDENTITY, (52, 1))
    for role, bone in bones.items():
        out[SMPLH_JOINTS.index(role)] = rotation.between(bone, tpose_direction(role))
    return out


def mean_swings() -> Float[Array, "52 4"]:
    """``S`` of the mean body."""
    return rest_swings({role: mean_bone(role) for role, _ in LONG_BONES})


def from_model(
    joint_quat: Float[Array, "T 52 4"], swings: Float[Array, "52 4"]
) -> Float[Array, "T 52 4"]:
    """``R``: world orientations relative to the T-pose, from a model's local rotations."""
    quat = np.empty_like(joint_quat)
    for i, parent in enumerate(SMPLH_PARENTS):
        own = joint_quat[:, i]
        quat[:, i] = own if parent < 0 else rotation.multiply(quat[:, parent], own)
    frame = rotation.conjugate(rotation.from_matrix(MODEL_TO_TPOSE))
    return rotation.multiply(rotation.multiply(quat, frame), rotation.conjugate(swings))


def to_model(quat: Float[Array, "T 52 4"], swings: Float[Array, "52 4"]) -> Float[Array, "T 52 4"]:
    """A model's local rotations: the inverse of :func:`from_model`."""
    frame = rotation.from_matrix(MODEL_TO_TPOSE)
    quat = rotation.multiply(rotation.multiply(quat, swings), frame)
    out = quat.copy()
    for i, parent in enumerate(SMPLH_PARENTS):
        if parent >= 0:
            out[:, i] = rotation.multiply(rotation.conjugate(quat[:, parent]), quat[:, i])
    return rotation.unroll(out)
