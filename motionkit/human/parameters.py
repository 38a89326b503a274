"""From SMPL parameters to the person, on the user's model or the embedded body.

The models' own rest pose is no exact T-pose: legs stand a little apart, arms hang a little. So
each limb's frame is swung from the model's rest direction to the T-pose's, and the body with it:
with ``S_i`` that swing, ``C`` the models' frame in the T-pose's axes and ``Q_i`` the joint's
rotation in the world,::

    R_i = Q_i C* S_i*        rest*_child = rest*_parent + S_parent (rest_child - rest_parent)
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import (
    SMPLH_PARENTS,
    HumanClip,
    Note,
    SmplClip,
)  # fmt: skip
from motionkit.human.body import DEFAULT_STATURE, Body, embedded_body
from motionkit.human.skeleton import forward
from motionkit.human.smplh import load_body, to_tpose
from motionkit.human.source import LONG_BONES, index, tpose_direction

Array = np.ndarray

_MEAN_BONES = {  # of the left side
    "hip": (-0.0067, 0.0363, -0.3789), "knee": (-0.0430, -0.0147, -0.3982),
    "ankle": (0.1213, 0.0259, -0.0520), "shoulder": (-0.0245, 0.2567, -0.0131),
    "elbow": (-0.0034, 0.2523, 0.0084),
}  # fmt: skip
"""Bones of the mean SMPL body at rest, sides averaged, in T-pose axes [m]; only their directions
are used. From the public humanoid of PHC (Luo et al., "Perpetual Humanoid Control", 2023)."""
_MEAN_PELVIS = {
    "smpl": (-0.0018, -0.2233, 0.0282), "smplh": (-0.0018, -0.2233, 0.0282),
    "smplx": (0.0031, -0.3514, 0.0120),
}  # fmt: skip
"""Pelvis of the mean bodies at rest, in the models' own axes [m]: what a translation leaves out."""
_STATURES = (1.40, 2.10)  # [m] that the height of a pelvis may stand for
_ON_FLOOR = 0.1  # quantile of the statures that frames stand for: in the air they seem taller


def align_parameters(clip: SmplClip, model: Path | None, stature: float | None) -> HumanClip:
    """The person that parameters describe.

    Raises:
        AssetError: the body model cannot be used.
        ConfigError: the stature is no person's.
    """
    quat = _world_rotations(clip)
    if model is None:
        root = clip.trans_w + _MEAN_PELVIS[clip.model]
        quat = rotation.multiply(quat, rotation.conjugate(_mean_swings()))
        body, notes = _embedded(clip, quat, root, stature)
    else:
        body, pelvis, problems = load_body(model, clip.model, clip.gender, clip.betas)
        root = clip.trans_w + pelvis
        swings = _swings({role: body.rest_pos[index(far)] - body.rest_pos[index(role)]
                          for role, far in LONG_BONES})  # fmt: skip
        quat = rotation.multiply(quat, rotation.conjugate(swings))
        body = replace(body, rest_pos=_swung(body.rest_pos, swings))
        notes = [Note("MK140", problem) for problem in problems]
    pos = forward(body.rest_pos, root, quat)
    return HumanClip(
        name=clip.name,
        fps=clip.fps,
        landmark_pos_w=pos,
        landmark_quat_w=rotation.unroll(quat),
        rest_pos=body.rest_pos,
        ankle_height=body.ankle_height,
        toe_height=body.toe_height,
        stature=body.stature,
        observed=np.ones(52, dtype=bool),
        body=body.name,
        provenance=replace(clip.provenance, notes=(*clip.provenance.notes, *notes)),
    )


def _world_rotations(clip: SmplClip) -> Float[Array, "T 52 4"]:
    """World orientations of the joints, relative to the models' rest pose turned to face +X."""
    canonical = rotation.from_matrix(to_tpose(np.eye(3)).T)
    quat = np.empty_like(clip.joint_quat)
    for i, parent in enumerate(SMPLH_PARENTS):
        above = clip.joint_quat[:, i] if parent < 0 else quat[:, parent]
        quat[:, i] = above if parent < 0 else rotation.multiply(above, clip.joint_quat[:, i])
    return rotation.multiply(quat, rotation.conjugate(canonical))


def _embedded(
    clip: SmplClip, quat: Float[Array, "T 52 4"], root: Float[Array, "T 3"], stature: float | None
) -> tuple[Body, list[Note]]:
    """The embedded body with the feet of the mean SMPL body, and what it could not take over."""
    notes = []
    if clip.betas is not None and np.any(clip.betas != 0):
        text = f"{len(clip.betas)} betas could not be applied without the model; the embedded body "
        notes.append(Note("MK140", f"{text}is used"))
    if stature is None:
        stature, why = _stature_over_floor(quat, root)
        text = f"stature taken for {stature:.2f} m, {why}; --stature decides otherwise"
        notes.append(Note("MK141", text, stature, "m"))
    return _with_smpl_feet(embedded_body(stature)), notes


def _with_smpl_feet(body: Body) -> Body:
    """The body with toes turned out as the mean SMPL body's."""
    rest = body.rest_pos.copy()
    for side, sign in (("left", 1.0), ("right", -1.0)):
        x, y, _ = _MEAN_BONES["ankle"]
        turn = rotation.from_axis_angle("Z", np.asarray(sign * np.arctan2(y, x)))
        ankle, foot = index(f"{side}_ankle"), index(f"{side}_foot")
        rest[foot] = rest[ankle] + rotation.rotate(turn, rest[foot] - rest[ankle])
    return replace(body, rest_pos=rest)


def _stature_over_floor(
    quat: Float[Array, "T 52 4"], root: Float[Array, "T 3"]
) -> tuple[float, str]:
    """The stature [m] whose lower foot reaches z = 0, as AMASS has its floor, and how it was found.

    In the frames in which a foot is on the floor; in the air a person seems taller.
    """
    body = _with_smpl_feet(embedded_body(1.0))
    pos = forward(body.rest_pos, np.zeros((len(root), 3)), quat)
    heights = {"ankle": body.ankle_height, "foot": body.toe_height}
    soles = [pos[:, index(f"{side}_{part}"), 2] - heights[part]
             for side in ("left", "right") for part in heights]  # fmt: skip
    depth = -np.min(soles, axis=0)
    reaches = depth > 0.0
    if reaches.any():
        stature = float(np.quantile(root[reaches, 2] / depth[reaches], _ON_FLOOR))
        if _STATURES[0] <= stature <= _STATURES[1]:
            return stature, "from the height of the pelvis over z = 0"
    return DEFAULT_STATURE, "assumed, since the pelvis's height over z = 0 is no standing person's"


def _mean_swings() -> Float[Array, "52 4"]:
    bones = {}
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for part, bone in _MEAN_BONES.items():
            bones[f"{side}_{part}"] = np.array(bone) * [1.0, sign, 1.0]
    return _swings({role: bones[role] for role, _ in LONG_BONES})


def _swings(bones: dict[str, Float[Array, "3"]]) -> Float[Array, "52 4"]:
    """``S``: from the rest directions of the long bones to the T-pose's; elsewhere none."""
    out = np.tile(rotation.IDENTITY, (52, 1))
    for role, bone in bones.items():
        out[index(role)] = rotation.between(bone, tpose_direction(role))
    return out


def _swung(rest: Float[Array, "52 3"], swings: Float[Array, "52 4"]) -> Float[Array, "52 3"]:
    out = np.zeros_like(rest)
    for i, parent in enumerate(SMPLH_PARENTS[1:], start=1):
        out[i] = out[parent] + rotation.rotate(swings[parent], rest[i] - rest[parent])
    return out
