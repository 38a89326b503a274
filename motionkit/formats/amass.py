"""AMASS ``.npz`` files, SMPL-H and SMPL-X, of all releases and many exporters.

Mahmood et al., "AMASS: Archive of Motion Capture as Surface Shapes", ICCV 2019. Rotation
vectors become quaternions at once and are never interpolated; one beyond π is the same rotation
as its shorter twin.
"""

from typing import Literal

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.clip import Note, Provenance, SmplClip
from motionkit.errors import InputError
from motionkit.formats.npz import Npz, find_rate, open_npz
from motionkit.formats.source import ReadOptions, Source, UpAxis
from motionkit.formats.world import PELVIS_REST, WORLD_QUAT

Array = np.ndarray
Model = Literal["smpl", "smplh", "smplx"]
Gender = Literal["female", "male", "neutral"]

TRANS_KEYS = ("trans", "transl", "root_trans")
"""Names of the translation [m]."""
SPLIT_KEYS = (("root_orient", "global_orient"), ("pose_body", "body_pose"))
"""Names of the root's and the body's rotation vectors where ``poses`` is absent."""
HAND_KEYS = (("pose_hand",), ("left_hand_pose", "right_hand_pose"))
"""Names of the hands' rotation vectors (90, or 45 and 45)."""
LENGTH_AGREEMENT = 0.05
"""Relative difference between ``mocap_time_length`` and frames/rate that counts as agreement."""
MAX_ROTVEC = 20.0
"""Longest rotation vector [rad] taken for one; longer ones are degrees or damage."""
MAX_TRANS = 1e4
"""Longest translation [m] taken for one."""
SPLIT_AGREEMENT = 1e-4
"""Largest difference [rad] between ``poses`` and the split keys that counts as agreement."""
BETAS_CONSTANT = 1e-6
"""Largest change of a shape coefficient over frames that counts as none."""
UPRIGHT = 0.8
"""Mean cosine between the body's own up and an axis that says the person stands along it."""
NOT_UPRIGHT = 0.5
"""Mean cosine with Z below which a file may be Y up, or the person lies."""
STANDING_HEIGHT = (0.5, 1.3)
"""Median height [m] of the pelvis of a person who stands and walks on a floor at zero."""
_SMPLX_TO_H = (*range(22), *range(25, 55))  # without jaw and eyes


def read(source: Source, options: ReadOptions) -> SmplClip:
    """The motion in an AMASS file.

    Raises:
        InputError: a field is missing, damaged or contradicts another.
    """
    npz = open_npz(source)
    _require_motion(npz)
    rotvec, model, notes = _rotations(npz)
    frames = len(rotvec)
    scale = options.scale or 1.0
    trans = _trans(npz, frames) * scale
    fps, more = find_rate(npz, options)
    notes += more + _length_notes(npz, frames, fps)
    betas, more = _betas(npz, frames)
    notes += more
    gender, more = _gender(npz)
    notes += more
    joint_quat = rotation.unroll(rotation.from_rotvec(rotvec))
    up, up_source, more = _up(trans, joint_quat[:, 0], model, options)
    notes += more
    quat = np.array(WORLD_QUAT[up])
    if up != "z":
        rest = np.array(PELVIS_REST[model])
        trans = rotation.rotate(quat, trans + rest) - rest
        joint_quat[:, 0] = rotation.unroll(rotation.multiply(quat, joint_quat[:, 0]))
    return SmplClip(
        name=source.path.stem,
        fps=fps,
        model=model,
        trans_w=trans,
        joint_quat=joint_quat,
        betas=betas,
        gender=gender,
        provenance=Provenance(
            path=str(source.path),
            sha256=source.sha256,
            format="amass",
            writer=_writer(npz),
            unit_scale=scale,
            unit_source="format" if options.scale is None else "user",
            up=up,
            up_source=up_source,
            world_quat=WORLD_QUAT[up],
            options=options.stated(),
            notes=tuple(notes),
        ),
    )


def is_shape_only(npz: Npz) -> bool:
    """Whether the file holds a subject's shape and no motion: ``shape.npz`` in AMASS folders."""
    return "betas" in npz.members and not _has_motion(npz)


def _has_motion(npz: Npz) -> bool:
    split = all(_first(npz, keys) is not None for keys in SPLIT_KEYS)
    return "poses" in npz.members or split


def _require_motion(npz: Npz) -> None:
    if _has_motion(npz):
        return
    keys = ", ".join(npz.keys[:12]) + (", …" if len(npz.keys) > 12 else "")
    for key in npz.keys:
        npz.array(key)  # names an object array, if that is what is wrong
    if is_shape_only(npz):
        raise npz.source.error(
            f"holds a subject's shape and no motion (keys: {keys})",
            field="poses",
            help="give the files that end in _poses.npz or _stageii.npz",
        )
    raise npz.source.error(
        f"is not an AMASS motion: neither poses nor root_orient and pose_body (keys: {keys})",
        field="poses",
        help="known arrays: poses (AMASS), joint_positions with joint_names (joints), qpos or "
        "joint_pos (robots)",
    )


def _first(npz: Npz, keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if key in npz.members), None)


def _rotations(npz: Npz) -> tuple[Float[Array, "T 52 3"], Model, list[Note]]:
    """Rotation vectors [rad] in the order of SMPL-H."""
    split = _split_rotations(npz)
    if "poses" in npz.members:
        poses = _frames_by_width(npz, "poses")
        if split is not None and split.shape == poses.shape:
            worst = float(np.max(np.abs(split - poses), initial=0.0))
            if not worst <= SPLIT_AGREEMENT:
                raise npz.source.error(
                    f"poses and root_orient, pose_body, … differ by up to {worst:.3g} rad",
                    field="poses",
                    help="keep the one that is meant and delete the other",
                )
    else:
        assert split is not None
        poses = split
    _require_rotvec(npz, poses)
    rotvec = poses.reshape(len(poses), -1, 3)
    stated = ""
    for key in ("surface_model_type", "model_type"):
        if key in npz.members:
            stated = npz.text(key).lower().replace("-", "").replace("+", "")
    notes: list[Note] = []
    width = rotvec.shape[1]
    model: Model = "smplx" if width == 55 or stated == "smplx" else "smplh"
    if width == 55:
        face = float(np.abs(rotvec[:, 22:25]).max())
        if face > 0.0:
            notes.append(Note("MK121", f"jaw and eyes dropped (up to {face:.3g} rad)", face, "rad"))
        rotvec = rotvec[:, _SMPLX_TO_H]
    elif width < 52:
        if width == 24:
            model = "smpl"
        notes.append(Note("MK120", f"poses of {width} joints have no fingers: hands at rest"))
        hands = np.zeros((len(rotvec), 30, 3))
        rotvec = np.concatenate([rotvec[:, :22], hands], axis=1)
    return rotvec, model, notes


def _frames_by_width(npz: Npz, key: str) -> Float[Array, "T W"]:
    """``poses`` as rows of 66, 72, 156 or 165 numbers."""
    poses = npz.numbers(key)
    shape = poses.shape
    flat = poses.reshape(len(poses), -1) if poses.ndim in (2, 3) and len(poses) else poses
    if poses.ndim in (2, 3) and len(poses) == 0:
        raise npz.source.error(f"has 0 frames (shape {shape}), expected at least 1", field=key)
    if (
        poses.ndim not in (2, 3)
        or (poses.ndim == 3 and shape[2] != 3)
        or flat.shape[1] not in (66, 72, 156, 165)
    ):
        raise npz.source.error(
            f"has shape {shape}, expected (T, 66), (T, 72), (T, 156), (T, 165) or (T, joints, 3)",
            field=key,
        )
    return flat


def _split_rotations(npz: Npz) -> Float[Array, "T W"] | None:
    """Root, body and, where present, face and hands, joined in the order of SMPL-X or SMPL-H."""
    names = [_first(npz, keys) for keys in SPLIT_KEYS]
    hand = next((keys for keys in HAND_KEYS if all(k in npz.members for k in keys)), ())
    if any(name is None for name in names):
        return None
    has_face = {"pose_jaw", "pose_eye"} <= npz.members.keys() and bool(hand)
    keys = [*(n for n in names if n), *(("pose_jaw", "pose_eye") if has_face else ()), *hand]
    parts = []
    for key in keys:
        part = npz.numbers(key)
        if part.ndim < 2 or len(part) == 0:
            raise npz.source.error(f"has shape {part.shape}, expected (T, …), T ≥ 1", field=key)
        parts.append(part.reshape(len(part), -1))
    if len({len(part) for part in parts}) > 1:
        counts = ", ".join(f"{key} {len(part)}" for key, part in zip(keys, parts, strict=True))
        raise npz.source.error(f"numbers of frames differ: {counts}", field="pose_body")
    poses = np.concatenate(parts, axis=1)
    if poses.shape[1] not in (66, 72, 156, 165):
        widths = ", ".join(f"{k} {p.shape[1]}" for k, p in zip(keys, parts, strict=True))
        raise npz.source.error(f"widths do not make a body: {widths}", field="pose_body")
    return poses


def _require_rotvec(npz: Npz, poses: Float[Array, "T W"]) -> None:
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(poses) <= MAX_ROTVEC)
    if bad.any():
        frame, column = (int(i) for i in np.argwhere(bad)[0])
        raise npz.source.error(
            f"{poses[frame, column]:g} at frame {frame}, joint {column // 3}, expected a finite "
            f"rotation vector in radians (≤ {MAX_ROTVEC:g})",
            field="poses",
        )


def _trans(npz: Npz, frames: int) -> Float[Array, "T 3"]:
    key = _first(npz, TRANS_KEYS)
    if key is None:
        raise npz.source.error(f"is missing (keys: {', '.join(npz.keys[:12])})", field="trans")
    trans = npz.numbers(key)
    if trans.shape != (frames, 3):
        raise npz.source.error(
            f"has shape {trans.shape}, expected ({frames}, 3) to go with poses", field=key
        )
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(trans) <= MAX_TRANS)
    if bad.any():
        frame, axis = (int(i) for i in np.argwhere(bad)[0])
        raise npz.source.error(
            f"{trans[frame, axis]:g} at frame {frame}, {'xyz'[axis]}, expected finite metres",
            field=key,
        )
    return trans


def _length_notes(npz: Npz, frames: int, fps: float) -> list[Note]:
    if "mocap_time_length" not in npz.members:
        return []
    stated = npz.numbers("mocap_time_length").reshape(-1)
    if stated.size != 1 or not np.isfinite(stated[0]) or stated[0] <= 0:
        return []
    length = frames / fps
    if abs(length / stated[0] - 1.0) <= LENGTH_AGREEMENT or abs(length - stated[0]) <= 2.0 / fps:
        return []
    text = f"mocap_time_length says {stated[0]:.4g} s, {frames} frames at {fps:g} are {length:.4g}"
    return [Note("MK122", text, float(stated[0]), "s")]


def _betas(npz: Npz, frames: int) -> tuple[Float[Array, "S"] | None, list[Note]]:
    """Shape coefficients, one set for the clip."""
    if "betas" not in npz.members:
        return None, [Note("MK123", "the file states no shape (betas)")]
    betas = npz.numbers("betas")
    rows = betas.reshape(1, -1) if betas.ndim <= 1 else betas.reshape(len(betas), -1)
    if betas.size == 0:
        return None, [Note("MK123", f"betas are empty (shape {betas.shape})")]
    if betas.ndim > 2 or len(rows) not in (1, frames):
        raise npz.source.error(
            f"has shape {betas.shape}, expected (S,), (1, S) or ({frames}, S)", field="betas"
        )
    if not np.all(np.isfinite(betas)):
        raise npz.source.error("are not finite", field="betas")
    change = float(np.ptp(rows, axis=0).max())
    if change <= BETAS_CONSTANT:
        return rows[0].copy(), []
    text = f"betas change over frames by up to {change:.3g}; their mean is taken"
    return rows.mean(axis=0), [Note("MK124", text, change)]


def _gender(npz: Npz) -> tuple[Gender | None, list[Note]]:
    if "gender" not in npz.members:
        return None, [Note("MK125", "the file states no gender")]
    try:
        said = npz.text("gender").strip().lower()
    except InputError as error:  # an object or a number: the motion does not depend on it
        return None, [Note("MK125", f"gender is not readable: {error.message}")]
    said = said.removeprefix("b'").removesuffix("'")
    for gender in ("female", "male", "neutral"):
        if said in (gender, gender[0]):
            return gender, []
    return None, [Note("MK125", f"gender {said[:20]!r} is none of female, male, neutral")]


def _up(
    trans: Float[Array, "T 3"], root: Float[Array, "T 4"], model: Model, options: ReadOptions
) -> tuple[UpAxis, Literal["format", "motion", "user"], list[Note]]:
    """AMASS is Z up; a file that is plainly Y up is turned, one that may be is noted."""
    if options.up is not None:
        return options.up, "user", []
    body_up = np.mean(rotation.rotate(root, np.array([0.0, 1.0, 0.0])), axis=0)
    if body_up[2] >= NOT_UPRIGHT:
        return "z", "format", []
    height = float(np.median(trans[:, 1] + PELVIS_REST[model][1]))
    low, high = STANDING_HEIGHT
    if body_up[1] >= UPRIGHT and low <= height <= high:
        text = (
            f"the person stands along Y (mean cosine {body_up[1]:.2f}, pelvis at {height:.2f} m), "
            "so the file is taken for Y up; --up decides otherwise"
        )
        return "y", "motion", [Note("MK104", text, float(body_up[1]))]
    text = (
        f"the person is not upright along Z (mean cosine {body_up[2]:.2f}); AMASS is Z up and "
        "is taken so; --up decides otherwise"
    )
    return "z", "format", [Note("MK104", text, float(body_up[2]))]


def _writer(npz: Npz) -> str:
    if "surface_model_type" in npz.members or "pose_body" in npz.members:
        return "AMASS SMPL-X (stage II)"
    return "AMASS"
