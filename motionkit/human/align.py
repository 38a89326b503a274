"""From any source to a person on the 52 joints of SMPL-H.

A skeleton keeps its own bone lengths: the T-pose of the result has them, so that its kinematics
reproduce the source's joint positions. Rotations are transferred by calibration
(:mod:`motionkit.human.calibration`), never by copying angles. SMPL parameters go through the
user's model, or the embedded body where there is none.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import (
    SMPLH_JOINTS,
    SMPLH_PARENTS,
    HumanClip,
    Note,
    SkeletonClip,
    SmplClip,
)  # fmt: skip
from motionkit.human.calibration import (
    Source,
    by_motion,
    by_rest_pose,
    flat_frames,
    index,
    read_source,
    rest_source,
    set_feet_by_stance,
    standing_axes,
)  # fmt: skip
from motionkit.human.body import (
    DEFAULT_STATURE,
    MAX_STATURE,
    MIN_STATURE,
    Body,
    embedded_body,
    head_share,
)  # fmt: skip
from motionkit.human.smplh import load_body, to_tpose

Array = np.ndarray

_FOOT_DROP = (0.005, 0.075)  # of stature: plausible height of an ankle over its toe base


@dataclass(frozen=True, slots=True)
class HumanConfig:
    """Settings of :func:`align`."""

    smpl_model: Path | None = field(
        default=None,
        metadata={
            "help": "SMPL-H or SMPL-X model (.npz) or folder of models; default: embedded body",
            "unit": "",
            "source": "",
        },
    )
    stature: float | None = field(
        default=None,
        metadata={
            "help": "standing height of a subject whose source does not show it; default: 1.70",
            "unit": "m",
            "source": "",
        },
    )


def align(clip: SkeletonClip | SmplClip, config: HumanConfig | None = None) -> HumanClip:
    """The person that a clip shows.

    For a skeleton with a standing zero pose the result depends on nothing but each frame. For
    one without, constants are averaged over the clip: align a clip before cutting it.

    Raises:
        AssetError: the body model cannot be used.
        ConfigError: the stature is no person's.
    """
    config = HumanConfig() if config is None else config
    if isinstance(clip, SmplClip):
        return _align_smpl(clip, config)
    return _align_skeleton(clip)


def _align_skeleton(clip: SkeletonClip) -> HumanClip:
    source, notes = read_source(clip), []
    rest = rest_source(clip)
    axes = standing_axes(rest)
    drop = {side: _foot_drop(source, side) for side in ("left", "right")}
    if axes is not None:
        frames = by_rest_pose(rest, axes)
        set_feet_by_stance(source, frames)
    else:
        pitch = {side: float(np.arctan2(*drop[side])) for side in drop}
        frames, unseen = by_motion(source, pitch)
        notes.append(Note("MK143", "the zero pose is no standing figure; joint axes were taken "
                                   "from the motion"))  # fmt: skip
        if unseen:
            notes.append(Note("MK144", f"too straight to show a hinge axis: {', '.join(unseen)}"))
    filled = [SMPLH_JOINTS[i] for i in range(22) if not source.present[i]]
    if filled:
        notes.append(Note("MK142", f"not in the source, kept at rest: {', '.join(filled)}"))
    scale = _stature(source, frames, 0.0) or DEFAULT_STATURE
    pos, quat, rest_pos = _fill(source, frames, embedded_body(_bounded(scale)))
    body, more = _measured_body(clip, rest_pos, drop)
    return HumanClip(
        name=clip.name,
        fps=clip.fps,
        landmark_pos_w=pos,
        landmark_quat_w=quat,
        rest_pos=body.rest_pos,
        ankle_height=body.ankle_height,
        toe_height=body.toe_height,
        stature=body.stature,
        observed=source.present,
        body=body.name,
        provenance=_with_notes(clip, [*notes, *more]),
    )


def _fill(
    source: Source, frames: Float[Array, "52 4"], spare: Body
) -> tuple[Float[Array, "T 52 3"], Float[Array, "T 52 4"], Float[Array, "52 3"]]:
    """Positions, orientations and T-pose of all joints; those the source lacks follow above."""
    pos = source.pos.copy()
    quat = rotation.multiply(source.quat, rotation.conjugate(frames))
    rest = np.zeros((52, 3))
    for i, parent in enumerate(SMPLH_PARENTS):
        if parent < 0:
            continue
        if not source.present[i]:
            offset = spare.rest_pos[i] - spare.rest_pos[parent]
            pos[:, i] = pos[:, parent] + rotation.rotate(quat[:, parent], offset)
            quat[:, i] = quat[:, parent]
        across = pos[:, i] - pos[:, parent]
        local = rotation.rotate(rotation.conjugate(quat[:, parent]), across)
        rest[i] = rest[parent] + np.median(local, axis=0)
    return pos, rotation.unroll(quat), rest


def _foot_drop(source: Source, side: str) -> tuple[float, float]:
    """Height of the ankle over the toe base when the foot is flat, and the distance along it [m].

    (0, 1) without a toe base.
    """
    ankle, toe = index(f"{side}_ankle"), index(f"{side}_foot")
    if not source.present[toe]:
        return 0.0, 1.0
    flat = flat_frames(source, side)
    across = source.pos[flat, ankle] - source.pos[flat, toe]
    along = np.linalg.norm(across[:, :2], axis=1)
    return float(np.median(across[:, 2])), float(np.median(along))


def _stature(source: Source, frames: Float[Array, "52 4"], ankle_height: float) -> float:
    """Standing height from the lengths of legs, trunk and neck [m]."""

    def length(a: str, b: str) -> float:
        across = source.pos[:, index(a)] - source.pos[:, index(b)]
        return float(np.median(np.linalg.norm(across, axis=1)))

    leg = np.mean([length(f"{s}_hip", f"{s}_knee") + length(f"{s}_knee", f"{s}_ankle")
                   for s in ("left", "right")])  # fmt: skip
    hips = 0.5 * (source.pos[:, index("left_hip")] + source.pos[:, index("right_hip")])
    turn = rotation.multiply(source.quat[:, 0], rotation.conjugate(frames[0]))
    top = "neck" if source.present[index("neck")] else "head"
    trunk = source.pos[:, index(top)] - hips
    upright = np.quantile(rotation.rotate(rotation.conjugate(turn), trunk)[:, 2], 0.9)
    neck = 0.0 if top == "head" else length("neck", "head")
    return float((leg + upright + neck + ankle_height) / head_share())


def _bounded(stature: float) -> float:
    """A stature that a body can be made for; only the spare parts of a skeleton hang on it."""
    return float(np.clip(stature, MIN_STATURE, MAX_STATURE))


def _measured_body(
    clip: SkeletonClip, rest: Float[Array, "52 3"], drop: dict[str, tuple[float, float]]
) -> tuple[Body, list[Note]]:
    """Stature and heights of the foot joints of a subject whose T-pose is known."""
    hang = np.mean([rest[index(f"{side}_ankle"), 2] for side in ("left", "right")])
    stature = float(rest[index("head"), 2] - hang) / (
        head_share() - embedded_body(1.0).ankle_height
    )
    spare = embedded_body(_bounded(stature))
    fall = float(np.mean([drop[side][0] for side in drop]))
    low, high = (share * stature for share in _FOOT_DROP)
    has_toes = all(f"{side}_foot" in clip.roles for side in ("left", "right"))
    ankle, notes = spare.toe_height + fall, []
    if not (has_toes and low <= fall <= high):
        ankle = spare.ankle_height
        why = f"ankles stand {1e3 * fall:.0f} mm over the toes" if has_toes else "no toes"
        notes = [Note("MK145", f"{why}; height of the ankles taken from the embedded body",
                      ankle, "m")]  # fmt: skip
    name = f"embedded proportions where the source has none, stature {stature:.2f} m"
    return Body(rest, ankle, spare.toe_height, stature, name), notes


def _align_smpl(clip: SmplClip, config: HumanConfig) -> HumanClip:
    notes: list[Note] = []
    pelvis = np.zeros(3)
    if config.smpl_model is not None:
        body, pelvis, problems = load_body(config.smpl_model, clip.model, clip.gender, clip.betas)
        notes += [Note("MK140", problem) for problem in problems]
    else:
        body = embedded_body(DEFAULT_STATURE if config.stature is None else config.stature)
        if clip.betas is not None and np.any(clip.betas != 0):
            notes.append(Note("MK140", f"{len(clip.betas)} betas could not be applied without the "
                                       "model; the embedded body is used"))  # fmt: skip
        if config.stature is None:
            notes.append(Note("MK141", f"stature assumed to be {DEFAULT_STATURE:.2f} m",
                              DEFAULT_STATURE, "m"))  # fmt: skip
    local = np.concatenate([clip.joint_quat[..., :1], to_tpose(clip.joint_quat[..., 1:])], axis=-1)
    # The root takes the models' frame to the world: R_world = R_root C*, C as in `to_tpose`.
    to_canonical = rotation.conjugate(rotation.from_matrix(to_tpose(np.eye(3)).T))
    pos = np.empty((clip.num_frames, 52, 3))
    quat = np.empty((clip.num_frames, 52, 4))
    world = np.array(clip.provenance.world_quat)
    pos[:, 0] = clip.trans_w + rotation.rotate(world, pelvis)
    quat[:, 0] = rotation.multiply(clip.joint_quat[:, 0], to_canonical)
    for i, parent in enumerate(SMPLH_PARENTS[1:], start=1):
        offset = body.rest_pos[i] - body.rest_pos[parent]
        pos[:, i] = pos[:, parent] + rotation.rotate(quat[:, parent], offset)
        quat[:, i] = rotation.multiply(quat[:, parent], local[:, i])
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
        provenance=_with_notes(clip, notes),
    )


def _with_notes(clip: SkeletonClip | SmplClip, notes: list[Note]):
    return replace(clip.provenance, notes=(*clip.provenance.notes, *notes))
