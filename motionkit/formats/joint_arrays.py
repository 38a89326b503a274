"""The array of joint positions in a file, whatever its key and shape, and the names beside it."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit.formats.joint_layouts import FEATURES, NAMES_HELP
from motionkit.formats.npy import read_npy, to_numbers
from motionkit.formats.npz import RATE_KEYS, Npz, open_npz
from motionkit.formats.source import Source

Array = np.ndarray

POSITION_KEYS = ("joint_positions", "posed_joints", "joints3d", "joints", "positions", "keypoints")
"""Names of the positions, the plainest first."""
NAME_KEYS = ("joint_names", "names", "labels")
"""Names of the joints' names."""
MAX_COORDINATE = 1e7
"""Largest coordinate, in any unit, taken for a place: 10 km in millimetres."""
MAX_JOINTS = 512
"""Joints beyond which an array is taken for a mesh or a cloud of points."""
LONGEST_NAME = 200
"""Characters of a name."""


@dataclass(frozen=True, slots=True)
class JointArray:
    """Positions as a file has them."""

    pos: Float[Array, "T J 3"]
    """In the file's unit and world; all three NaN where one is."""
    shape: tuple[int, ...]
    """Of the array in the file."""
    field: str
    """Its key; empty for a bare array."""
    names: tuple[str, ...] | None = None
    """Of the joints (J), where the file states them."""
    names_field: str = ""
    """Their key."""
    dropped: tuple[str, ...] = ()
    """Keys of what else the file holds."""
    npz: Npz | None = None
    """The file, when it is an ``.npz``."""

    @property
    def is_flat(self) -> bool:
        """Whether the file has a row of numbers a frame, rather than a row of points."""
        return len(self.shape) == 2


def read_joint_array(source: Source) -> JointArray:
    """The positions in a ``.npy`` or ``.npz``, of which only the shape is trusted so far.

    Raises:
        InputError: the file is damaged, or the array is no ``(T, J, 3)`` of finite or absent
            points of one person.
    """
    if source.data.startswith(b"\x93NUMPY") or source.path.suffix.lower() == ".npy":
        raw = read_npy(source)
        return JointArray(_positions(source, to_numbers(source, raw), ""), raw.shape, "")
    npz = open_npz(source)
    keys = [key for key in POSITION_KEYS if key in npz.members]
    if not keys:
        shown = ", ".join(npz.keys[:12])
        raise source.error(f"holds no joint positions under a known key (keys: {shown})",
                           help=f"known keys: {', '.join(POSITION_KEYS)}")  # fmt: skip
    key = keys[0]
    raw = npz.numbers(key)
    pos = _positions(source, raw, key)
    names_field = next((name for name in NAME_KEYS if name in npz.members), "")
    names = _names(npz, names_field, pos.shape[1]) if names_field else None
    read = {key, names_field, *RATE_KEYS}
    dropped = tuple(_printable(other) for other in npz.keys if other not in read)
    return JointArray(pos, raw.shape, key, names, names_field, dropped, npz)


def _positions(source: Source, raw: Array, field: str) -> Float[Array, "T J 3"]:
    """Points as ``(T, J, 3)``, absent ones NaN as a whole."""
    shape = raw.shape
    if raw.ndim == 2 and shape[1] in FEATURES:
        raise source.error(
            f"holds rows of {shape[1]} features of {FEATURES[shape[1]]} (shape {shape}), not "
            "positions",
            field=field,
            help="recover the joint positions first (recover_from_ric in that project) and save "
            "those",
        )
    pos = raw[0] if raw.ndim == 4 and shape[0] == 1 else raw
    if pos.ndim == 4:
        raise source.error(
            f"has shape {shape}, expected (T, J, 3) of one person",
            field=field,
            help="save each person, or each clip, in a file of its own",
        )
    if pos.ndim == 2 and pos.shape[1] % 3 == 0:
        pos = pos.reshape(len(pos), pos.shape[1] // 3, 3)
    if pos.ndim != 3 or pos.shape[2] != 3:
        raise source.error(f"has shape {shape}, expected (T, J, 3)", field=field, help=NAMES_HELP)
    frames, joints, _ = pos.shape
    if not frames or not joints:
        raise source.error(f"has {frames} frames of {joints} joints (shape {shape}), expected at "
                           "least one of each", field=field)  # fmt: skip
    if joints > MAX_JOINTS:
        raise source.error(f"has {joints} points (shape {shape}), a body has at most {MAX_JOINTS}",
                           field=field)  # fmt: skip
    bad = np.abs(pos) > MAX_COORDINATE
    if bad.any():
        frame, joint, axis = (int(i) for i in np.argwhere(bad)[0])
        raise source.error(f"{pos[frame, joint, axis]:g} at frame {frame}, joint {joint}, "
                           f"{'xyz'[axis]}, expected a place", field=field)  # fmt: skip
    return np.where(np.isnan(pos).any(axis=2, keepdims=True), np.nan, pos)


def _names(npz: Npz, key: str, joints: int) -> tuple[str, ...]:
    """Names of joints, one each, none twice."""
    array = npz.array(key)
    if array.dtype.kind not in "SU":
        raise npz.source.error(f"has type {array.dtype}, expected text", field=key)
    if array.size != joints:
        raise npz.source.error(f"has {array.size} names (shape {array.shape}) for {joints} joints",
                               field=key)  # fmt: skip
    if array.dtype.itemsize > 4 * LONGEST_NAME:
        raise npz.source.error(f"has names of {array.dtype}, more than {LONGEST_NAME} characters",
                               field=key)  # fmt: skip
    names = [n.decode("latin-1") if isinstance(n, bytes) else str(n) for n in array.reshape(-1)]
    names = [_printable(name).strip() for name in names]
    for name in names:
        if not name or names.count(name) > 1:
            raise npz.source.error(f"names a joint {name!r} more than once, or not at all",
                                   field=key)  # fmt: skip
    return tuple(names)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:LONGEST_NAME])
