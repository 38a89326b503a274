"""The user's own SMPL-family model: joint positions of a subject from its shape coefficients.

Joints at rest are ``J = J_regressor (v_template + shapedirs β)`` (Loper et al., "SMPL", 2015, eq.
10), which is exact: pose blend shapes move vertices, not joints. So plain NumPy on the model's
``.npz`` suffices, without torch. Pickles are never opened; the body models' own site offers
``.npz`` files of SMPL-H and SMPL-X.
"""

import hashlib
from pathlib import Path
from typing import Literal
from zipfile import BadZipFile

import numpy as np
from jaxtyping import Float

from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS
from motionkit.clip.rest import MODEL_TO_TPOSE
from motionkit.errors import AssetError
from motionkit.human.body import Body, embedded_body

Array = np.ndarray
Model = Literal["smpl", "smplh", "smplx"]

_JOINTS: dict[Model, int] = {"smpl": 24, "smplh": 52, "smplx": 55}
_KEYS = ("v_template", "shapedirs", "J_regressor", "kintree_table")


def to_tpose(vectors: Float[Array, "*n 3"]) -> Float[Array, "*n 3"]:
    """Vectors of the models' canonical frame in the frame of the T-pose facing +X."""
    return vectors @ MODEL_TO_TPOSE.T


def load_body(
    path: Path, model: Model, gender: str | None, betas: Float[Array, "S"] | None
) -> tuple[Body, Float[Array, "3"], tuple[str, ...]]:
    """A subject's body from a model file.

    Args:
        path: a model's ``.npz``, or a folder that holds models by their usual names.
        model: which body the motion belongs to.
        gender: of the motion; ``None`` stands for neutral.
        betas: shape coefficients of the motion.

    Returns:
        The body; the pelvis at rest in the model's own axes [m], which the motion's translation
        is added to; and what could not be applied, one line each.

    Raises:
        AssetError: no file, a pickle, missing or misshapen arrays, another model's file.
    """
    file = _find(path, model, gender or "neutral")
    arrays = _read(file)
    template, directions, regressor = (arrays[key] for key in _KEYS[:3])
    found = next((m for m, count in _JOINTS.items() if count == len(regressor)), None)
    if found is None:
        raise AssetError(
            f"J_regressor has {len(regressor)} joints, expected one of "
            f"{sorted(_JOINTS.values())}", where=str(file),
        )  # fmt: skip
    problems: list[str] = []
    shape = np.zeros(directions.shape[2])
    if betas is None:
        problems.append("the motion has no betas; the model's mean shape is used")
    elif found != model:
        problems.append(
            f"betas of {model} do not fit {file.name} ({found}); the mean shape is used"
        )
    else:
        used = min(len(betas), len(shape))
        shape[:used] = betas[:used]
        if len(betas) > used and np.any(betas[used:] != 0):
            problems.append(f"betas {used} to {len(betas) - 1} have no direction in {file.name}")
    vertices = template + directions @ shape
    joints = regressor @ vertices
    pelvis = joints[0].copy()
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    body = _body(found, to_tpose(joints), to_tpose(vertices), f"{file.name} ({digest})")
    return body, pelvis, tuple(problems)


def _body(
    model: str, joints: Float[Array, "J 3"], vertices: Float[Array, "V 3"], name: str
) -> Body:
    """The 52 joints, with heights of the foot joints over the lowest vertex."""
    sole, top = vertices[:, 2].min(), vertices[:, 2].max()
    rest = np.empty((52, 3))
    rest[:22] = joints[:22]
    if model == "smpl":  # no fingers: those of the embedded body, on its wrists
        small = embedded_body(float(top - sole)).rest_pos
        for i in range(22, 52):
            rest[i] = rest[SMPLH_PARENTS[i]] + small[i] - small[SMPLH_PARENTS[i]]
    else:
        rest[22:] = joints[22:52] if model == "smplh" else joints[25:55]
    ankles = [SMPLH_JOINTS.index(f"{side}_ankle") for side in ("left", "right")]
    toes = [SMPLH_JOINTS.index(f"{side}_foot") for side in ("left", "right")]
    return Body(
        rest - rest[0],
        float(rest[ankles, 2].mean() - sole),
        float(rest[toes, 2].mean() - sole),
        float(top - sole),
        name,
    )


def _find(path: Path, model: Model, gender: str) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        raise AssetError(
            "no such body model",
            where=str(path),
            help="give --smpl-model a model's .npz or the folder of models",
        )
    upper = model.upper()
    names = [f"{upper}_{gender.upper()}", f"{model}_{gender}", f"{gender}/model",
             f"{model}/{gender}/model", f"{model}/{upper}_{gender.upper()}"]  # fmt: skip
    for name in names:
        if (path / f"{name}.npz").is_file():
            return path / f"{name}.npz"
    pickled = next((f"{name}.pkl" for name in names if (path / f"{name}.pkl").is_file()), None)
    if pickled is not None:
        raise AssetError(f"{pickled} is a pickle, which is never opened", where=str(path),
                         help="download the .npz release of the model")  # fmt: skip
    raise AssetError(
        f"no {model} model of gender {gender}, looked for "
        f"{', '.join(f'{name}.npz' for name in names)}", where=str(path),
        help="give --smpl-model the file itself",
    )  # fmt: skip


def _read(file: Path) -> dict[str, Array]:
    """The arrays needed, checked; object arrays are refused by NumPy unopened."""
    if file.suffix.lower() != ".npz":
        raise AssetError(
            f"a body model is an .npz file, found {file.suffix or 'no suffix'}",
            where=str(file),
            help="download the .npz release of the model",
        )
    try:
        with np.load(file, allow_pickle=False) as archive:
            missing = [key for key in _KEYS if key not in archive]
            if missing:
                raise AssetError(f"the model lacks {', '.join(missing)}", where=str(file))
            arrays = {key: np.asarray(archive[key], dtype=np.float64) for key in _KEYS}
    except (ValueError, OSError, BadZipFile) as error:
        line = " ".join(str(error).split())
        raise AssetError(f"the model cannot be read: {line}", where=str(file),
                         help="download the .npz release of the model again") from None  # fmt: skip
    template, directions, regressor = (arrays[key] for key in _KEYS[:3])
    vertices = len(template)
    if (
        template.shape != (vertices, 3)
        or directions.ndim != 3
        or directions.shape[:2] != (vertices, 3)
        or regressor.ndim != 2
        or regressor.shape[1] != vertices
    ):
        shapes = ", ".join(f"{key} {arrays[key].shape}" for key in _KEYS[:3])
        raise AssetError(f"shapes do not fit: {shapes}; expected (V, 3), (V, 3, S), (J, V)",
                         where=str(file))  # fmt: skip
    if not all(np.all(np.isfinite(arrays[key])) for key in _KEYS[:3]):
        raise AssetError("the model holds values that are not finite", where=str(file))
    return arrays
