"""From a skeleton in motion to the person: positions as measured, a T-pose of the same bones."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS, HumanClip, Note, SkeletonClip
from motionkit.human.body import Body, ankle_drop, ankle_height, bounded_body
from motionkit.human.calibration import calibrate
from motionkit.human.frames import Calibration
from motionkit.human.skeleton import LIMBS, stature_from_bones
from motionkit.human.source import (
    LONG_BONES,
    Source,
    index,
    read_source,
    standing_frames,
    tpose_direction,
)

Array = np.ndarray

_RIGID = 1e-6  # [rad], within which a bone keeps its direction in its joint's frame
_STANDING_TIME = 0.3  # [s] of stance, both feet together, that shows how feet stand
_FLAT_QUANTILE = 0.25  # of the pitch of standing feet
_SIDES = ("left", "right")


def align_skeleton(clip: SkeletonClip) -> HumanClip:
    """The person that a skeleton shows, on its own bone lengths."""
    source = read_source(clip)
    calibration = calibrate(source, _foot_pitch(source))
    stature = _stature(source)
    spare = bounded_body(stature)
    pos, quat, rest = _fill(source, calibration, spare)
    ankles, notes = _ankle_height(source, rest, spare)
    name = f"embedded proportions where the source has none, stature {stature:.2f} m"
    notes = [*_notes(source, calibration), *notes]
    return HumanClip(
        name=clip.name,
        fps=clip.fps,
        landmark_pos_w=pos,
        landmark_quat_w=quat,
        rest_pos=rest,
        ankle_height=ankles,
        toe_height=spare.toe_height,
        stature=stature,
        observed=source.present,
        body=name,
        provenance=replace(clip.provenance, notes=(*clip.provenance.notes, *notes)),
    )


def _stature(source: Source) -> float:
    """Standing height from the long bones of both sides [m]."""
    length = {}
    for near, far, _ in LIMBS:
        both = [source.pos[:, index(f"{side}_{near}")] - source.pos[:, index(f"{side}_{far}")]
                for side in _SIDES]  # fmt: skip
        length[near, far] = float(np.median(np.linalg.norm(both, axis=-1)))
    return stature_from_bones(length)


def _foot_pitch(source: Source) -> float | None:
    """How far the lines from ankles to toe bases fall when the feet are flat [rad].

    On level ground a foot that stands is flattest when its heel is down, so this is a low quantile
    over the stances of both feet.
    """
    falls = []
    for side in _SIDES:
        ankle, toe = index(f"{side}_ankle"), index(f"{side}_foot")
        if source.present[toe]:
            stands = standing_frames(source, side)
            across = source.pos[stands, toe] - source.pos[stands, ankle]
            falls.append(np.arctan2(-across[:, 2], np.linalg.norm(across[:, :2], axis=1)))
    both = np.concatenate([np.zeros(0), *falls])
    if len(both) < _STANDING_TIME * source.fps:
        return None
    return float(np.quantile(both, _FLAT_QUANTILE))


def _fill(
    source: Source, calibration: Calibration, spare: Body
) -> tuple[Float[Array, "T 52 3"], Float[Array, "T 52 4"], Float[Array, "52 3"]]:
    """Positions, orientations and T-pose of all joints; those the source lacks follow above."""
    pos = source.pos.copy()
    quat = rotation.multiply(source.quat, rotation.conjugate(calibration.frames))
    for near, far in LONG_BONES:
        _aim(pos, quat, near, far)
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


def _aim(
    pos: Float[Array, "T 52 3"], quat: Float[Array, "T 52 4"], near: str, far: str
) -> None:  # fmt: skip
    """Turn a joint, frame by frame, along its bone where joints without a role bend in between."""
    i = index(near)
    across = pos[:, index(far)] - pos[:, i]
    have = rotation.rotate(quat[:, i], tpose_direction(near))
    swing = rotation.between(have, across)
    if np.max(np.linalg.norm(rotation.to_rotvec(swing), axis=1)) > _RIGID:
        quat[:, i] = rotation.multiply(swing, quat[:, i])


def _ankle_height(
    source: Source, rest: Float[Array, "52 3"], spare: Body
) -> tuple[float, list[Note]]:
    """Height of the ankles over the sole [m]: over the toe bases in the T-pose, and theirs."""
    has_toes = all(source.present[index(f"{side}_foot")] for side in _SIDES)
    found = ankle_height(rest, spare) if has_toes else None
    if found is not None:
        return found, []
    why = f"ankles stand {1e3 * ankle_drop(rest):.0f} mm over the toes" if has_toes else "no toes"
    text = f"{why}; height of the ankles taken from the embedded body"
    return spare.ankle_height, [Note("MK145", text, spare.ankle_height, "m")]


def _notes(source: Source, calibration: Calibration) -> list[Note]:
    notes = []
    if calibration.from_motion:
        parts = ", ".join(calibration.from_motion)
        text = f"the zero pose is no T- or A-pose; axes taken from the motion: {parts}"
        notes.append(Note("MK143", text))
    if calibration.unseen:
        text = f"too straight to show a hinge axis: {', '.join(calibration.unseen)}"
        notes.append(Note("MK144", text))
    filled = [SMPLH_JOINTS[i] for i in range(22) if not source.present[i]]
    if filled:
        notes.append(Note("MK142", f"not in the source, kept at rest: {', '.join(filled)}"))
    return notes
