"""Files of joint positions in many layouts, of a figure whose motion is known."""

import io
import zipfile
from pathlib import Path

import numpy as np
from builders_bvh import _UP_TO_Z, family_names, walking_figure

from motionkit.clip import SMPLH_JOINTS

BODY = SMPLH_JOINTS[:22]
"""Every one of them is a role of the figure."""
SOMA_NAMES = family_names("SOMA") | {
    "spine1": "Spine1", "spine2": "Spine2", "spine3": "Chest", "neck": "Neck1"}  # fmt: skip
"""Role to name in SOMA's 30 and 77 joints, written out independently of the reader."""


def body_positions(seed: int = 0, frames: int = 24) -> np.ndarray:
    """A walking person in SMPL's order of 22 joints, metres, Z up, feet near the floor."""
    figure = walking_figure(np.random.default_rng(seed), frames)
    return figure.pos[:, [figure.roles.index(role) for role in BODY]]


def in_order(pos: np.ndarray, names: tuple[str, ...], role_names: dict[str, str]) -> np.ndarray:
    """The body in another order; joints that are no role lie beside the nearest listed before."""
    role_of = {name: role for role, name in role_names.items()}
    out, last = np.empty((len(pos), len(names), 3)), pos[:, 0]
    for j, name in enumerate(names):
        if name in role_of:
            out[:, j] = last = pos[:, BODY.index(role_of[name])]
        else:
            out[:, j] = last + np.array([0.011, 0.0, 0.017])
    return out


def to_file(pos: np.ndarray, up: str = "z", metres: float = 1.0) -> np.ndarray:
    """Positions as a file of another world and unit has them."""
    return pos @ _UP_TO_Z[up] / metres  # the transpose of the turn, from the right


def npy_bytes(array: np.ndarray) -> bytes:
    """A bare ``.npy``."""
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(array), allow_pickle=False)
    return out.getvalue()


def npy_header(text: str, version: bytes = b"\x01\x00") -> bytes:
    """The head of a ``.npy`` that declares anything."""
    body = text.encode()
    return b"\x93NUMPY" + version + len(body).to_bytes(2, "little") + body


def write(folder: Path, array: np.ndarray, name: str = "made.npy") -> Path:
    """A bare array as a file."""
    path = folder / name
    path.write_bytes(npy_bytes(array))
    return path


def write_npz(folder: Path, compression: int = zipfile.ZIP_STORED, **arrays: object) -> Path:
    """Named arrays as a file."""
    path = folder / "made.npz"
    with zipfile.ZipFile(path, "w", compression) as archive:
        for key, value in arrays.items():
            archive.writestr(f"{key}.npy", npy_bytes(np.asanyarray(value)))
    return path
