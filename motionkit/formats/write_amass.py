"""SMPL parameters as AMASS ``.npz`` files, with the keys of the release that the body belongs to.

SMPL and SMPL-H: ``poses`` of 72 or 156 numbers, ``trans``, ``mocap_framerate``. SMPL-X: ``poses``
of 165 and the same in parts (``root_orient``, ``pose_body``, ``pose_hand``, ``pose_jaw``,
``pose_eye``), ``surface_model_type``, ``mocap_frame_rate``. ``betas`` and ``gender`` are there
where they are known, and absent otherwise.

A person becomes the pose of the mean SMPL-H body (:mod:`motionkit.clip.rest`): rotations are those
relative to its rest pose, and ``trans`` is where the pelvis lies less its rest offset, so that the
mean body's pelvis lies there too. What the body's own proportions were is lost.

Rotation vectors have twelve decimals; one of half a turn, which has two signs, is given the one
whose first large component is positive. So the same motion always gives the same bytes.
"""

from pathlib import Path

import numpy as np
from jaxtyping import Float

from motionkit.clip import HumanClip, SmplClip
from motionkit.clip.rest import PELVIS_REST, mean_swings, to_model
from motionkit.files import replace_file
from motionkit.formats.write_npz import pack_npz
from motionkit.formats.write_points import on_grid

Array = np.ndarray

DECIMALS = 12
"""Of rotation vectors [rad]."""

_HALF_TURN = 1e-9  # |w| below which a rotation counts as half a turn
_LARGE = 0.5  # of a unit vector's components, at least one is larger than this
_TINY = 1e-12  # sine of half an angle below which a rotation vector is twice it
_BODY = 22  # joints of SMPL-H before the hands
_FACE = 3  # jaw and eyes of SMPL-X, between body and hands


def write_amass(path: Path | str, clip: HumanClip | SmplClip) -> None:
    """Write parameters, or a person; a file at ``path`` is replaced, whole."""
    replace_file(Path(path), [encode(clip)])


def encode(clip: HumanClip | SmplClip) -> bytes:
    """The bytes of the file."""
    smpl = to_parameters(clip) if isinstance(clip, HumanClip) else clip
    frames = smpl.num_frames
    rotvec = on_grid(_to_rotvec(smpl.joint_quat), DECIMALS)
    body, hands = rotvec[:, :_BODY], rotvec[:, _BODY:]
    parts = {
        "root_orient": body[:, 0],
        "pose_body": body[:, 1:].reshape(frames, -1),
        "pose_hand": hands.reshape(frames, -1),
    }
    arrays: dict[str, Array] = {"trans": smpl.trans_w}
    if smpl.model == "smplx":
        face = np.zeros((frames, 3 * _FACE))
        poses = [parts["root_orient"], parts["pose_body"], face, parts["pose_hand"]]
        arrays |= {"poses": np.concatenate(poses, axis=1), **parts, "pose_jaw": face[:, :3],
                   "pose_eye": face[:, 3:], "surface_model_type": np.array("smplx"),
                   "mocap_frame_rate": np.array(smpl.fps)}  # fmt: skip
    else:
        wrists = np.zeros((frames, 6)) if smpl.model == "smpl" else parts["pose_hand"]
        poses = [parts["root_orient"], parts["pose_body"], wrists]
        arrays |= {"poses": np.concatenate(poses, axis=1), "mocap_framerate": np.array(smpl.fps)}
    if smpl.betas is not None:
        arrays["betas"] = smpl.betas
    if smpl.gender is not None:
        arrays["gender"] = np.array(smpl.gender)
    return pack_npz(arrays)


def losses(clip: HumanClip | SmplClip) -> tuple[str, ...]:
    """What the file does not say as the clip did, one line each."""
    if isinstance(clip, SmplClip):
        out = []
        if clip.provenance.up != "z":
            out.append(f"the up axis is turned from {clip.provenance.up} to Z")
        if clip.model == "smplx":
            out.append("jaw and eyes are at rest")
        if clip.model == "smpl":
            out.append("the two hand joints of SMPL are at rest")
        if clip.betas is None:
            out.append("the shape is not known: no betas are written")
        return (*out, "dmpls, markers and labels, where there were any, are lost")
    rest = ", ".join(f"{value:g}" for value in PELVIS_REST["smplh"])
    out = [
        "the shape is not known: no betas and no gender are written; body proportions are lost",
        f"trans is the pelvis less ({rest}) m, its rest offset in the mean SMPL-H body",
        "rotations are relative to the mean SMPL-H body's rest pose",
        "contacts, and which joints were observed, are lost",
    ]
    if not clip.observed[_BODY:].any():
        out.append("fingers are at rest: the source does not show them")
    return tuple(out)


def to_parameters(human: HumanClip) -> SmplClip:
    """The pose of the mean SMPL-H body that has a person's rotations and pelvis."""
    return SmplClip(
        name=human.name,
        fps=human.fps,
        model="smplh",
        trans_w=human.landmark_pos_w[:, 0] - np.array(PELVIS_REST["smplh"]),
        joint_quat=to_model(human.landmark_quat_w, mean_swings()),
        betas=None,
        gender=None,
        provenance=human.provenance,
    )


def _to_rotvec(quat: Float[Array, "T J 4"]) -> Float[Array, "T J 3"]:
    """Rotation vectors [rad] whose sign does not hang on rounding, also at half a turn.

    They may be longer than π by twice :data:`_HALF_TURN`.
    """
    large = np.abs(quat[..., 1:]) > _LARGE
    first = np.take_along_axis(quat[..., 1:], np.argmax(large, axis=-1)[..., None], axis=-1)[..., 0]
    decides = np.where(np.abs(quat[..., 0]) < _HALF_TURN, first, quat[..., 0])
    quat = np.where(decides[..., None] < 0.0, -quat, quat)
    sine = np.linalg.norm(quat[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, quat[..., :1])
    factor = np.where(sine < _TINY, 2.0, angle / np.where(sine < _TINY, 1.0, sine))
    return factor * quat[..., 1:]
