"""From SMPL parameters to the person, on the user's model or the embedded body.

The models' own rest pose is no exact T-pose, so each limb's frame is swung from the model's rest
direction to the T-pose's by ``S_i`` (:mod:`motionkit.clip.rest`), and the body with it::

    rest*_child = rest*_parent + S_parent (rest_child - rest_parent)
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import SMPLH_PARENTS, HumanClip, Note, SmplClip
from motionkit.clip.rest import (
    LONG_BONES,
    PELVIS_REST,
    from_model,
    mean_bone,
    mean_swings,
    rest_swings,
)
from motionkit.human.body import DEFAULT_STATURE, Body, embedded_body
from motionkit.human.skeleton import forward
from motionkit.human.smplh import load_body
from motionkit.human.source import index

Array = np.ndarray

_STATURES = (1.40, 2.10)  # [m] that the height of a pelvis may stand for
_ON_FLOOR = 0.1  # quantile of the statures that frames stand for: in the air they seem taller


def align_parameters(clip: SmplClip, model: Path | None, stature: float | None) -> HumanClip:
    """The person that parameters describe.

    Raises:
        AssetError: the body model cannot be used.
        ConfigError: the stature is no person's.
    """
    if model is None:
        root = clip.trans_w + PELVIS_REST[clip.model]
        quat = from_model(clip.joint_quat, mean_swings())
        body, notes = _embedded(clip, quat, root, stature)
    else:
        body, pelvis, problems = load_body(model, clip.model, clip.gender, clip.betas)
        root = clip.trans_w + pelvis
        swings = rest_swings({role: body.rest_pos[index(far)] - body.rest_pos[index(role)]
                              for role, far in LONG_BONES})  # fmt: skip
        quat = from_model(clip.joint_quat, swings)
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
    for side in ("left", "right"):
        x, y, _ = mean_bone(f"{side}_ankle")
        turn = rotation.from_axis_angle("Z", np.asarray(np.arctan2(y, x)))
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


def _swung(rest: Float[Array, "52 3"], swings: Float[Array, "52 4"]) -> Float[Array, "52 3"]:
    out = np.zeros_like(rest)
    for i, parent in enumerate(SMPLH_PARENTS[1:], start=1):
        out[i] = out[parent] + rotation.rotate(swings[parent], rest[i] - rest[parent])
    return out
