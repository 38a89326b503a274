"""Arrays and JSON in one file, in the safetensors format, read through a memory map.

A file is ``8 bytes: length n of the header, little endian | header: n bytes of JSON | arrays``.
The header gives each array's type, shape and byte range; its ``__metadata__`` maps names to
strings, here JSON texts. The format is that of https://github.com/huggingface/safetensors and its
library reads these files; motionkit writes and maps them itself for two reasons: same arrays must
give same bytes, and opening must not read the arrays.

They are put on the disk by :func:`motionkit.files.replace_file`, whole or not at all.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from motionkit.errors import InputError
from motionkit.files import remove_stale as remove_stale
from motionkit.files import replace_file as replace_file

Array = np.ndarray

_ALIGNMENT = 64  # bytes: arrays begin at multiples of it
_MAX_HEADER = 100_000_000  # bytes, the limit of the safetensors library
_DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"), "F64": np.dtype("<f8"), "I64": np.dtype("<i8"), "U8": np.dtype("u1"),
}  # fmt: skip


class DamagedError(InputError):
    """A file is not what was once written: cut short, or changed."""


def digest(array: Array) -> str:
    """SHA-256 of an array's bytes, in C order and little endian."""
    return hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()


def pack(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> list[bytes | memoryview]:
    """The pieces of a file, in order; equal inputs give equal bytes.

    Args:
        arrays: float32, float64, int64 or uint8, stored in the order of their names.
        metadata: texts.
    """
    names = {dtype: name for name, dtype in _DTYPES.items()}
    header: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))}
    pieces: list[bytes | memoryview] = []
    start = 0
    # Wide types first, so that every array begins at a multiple of its own size.
    for name in sorted(arrays, key=lambda key: (-arrays[key].dtype.itemsize, key)):
        array = np.asarray(arrays[name], order="C")
        stop = start + array.nbytes
        header[name] = {"dtype": names[array.dtype], "shape": list(array.shape),
                        "data_offsets": [start, stop]}  # fmt: skip
        pieces.append(array.reshape(-1).view(np.uint8).data)
        start = stop
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()
    text += b" " * (-(len(text) + 8) % _ALIGNMENT)
    return [len(text).to_bytes(8, "little"), text, *pieces]


def read_header(path: Path) -> tuple[dict[str, Any], int]:
    """The header as written, and the byte at which arrays begin; arrays are not read.

    Every size is checked against the file's before it is used.

    Raises:
        DamagedError: not a whole safetensors file.
        InputError: no such file.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            prefix = file.read(8)
            length = int.from_bytes(prefix, "little")
            if len(prefix) < 8 or length > min(size - 8, _MAX_HEADER):
                raise DamagedError(
                    f"is no whole cache file: {size} bytes, its header would need {length + 8}",
                    where=str(path),
                    help="delete the file, then run again the command that made it",
                )
            text = file.read(length)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from None
    try:
        header = json.loads(text)
        end = max((_entry(header, name)[2] for name in _array_names(header)), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError(f"its header cannot be read: {' '.join(str(error).split())}",
                           where=str(path), help=_REBUILD) from None  # fmt: skip
    if 8 + length + end != size:
        raise DamagedError(f"has {size} bytes, its header promises {8 + length + end}",
                           where=str(path), help=_REBUILD)  # fmt: skip
    return header, 8 + length


_REBUILD = "delete the file, then run again the command that made it"


def map_arrays(path: Path, header: Mapping[str, Any], start: int) -> dict[str, Array]:
    """Read-only arrays that live in the file: a page is read when it is touched."""
    out: dict[str, Array] = {}
    for name in _array_names(header):
        dtype, shape, _ = _entry(header, name)
        begin = start + int(header[name]["data_offsets"][0])
        if math.prod(shape) == 0:  # an empty file part cannot be mapped
            out[name] = np.empty(shape, dtype)
        else:
            out[name] = np.memmap(path, dtype, "r", begin, shape)
    return out


def _array_names(header: Mapping[str, Any]) -> list[str]:
    return sorted(name for name in header if name != "__metadata__")


def _entry(header: Mapping[str, Any], name: str) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Type, shape and end of an array; raises ValueError if they contradict one another."""
    entry = header[name]
    dtype = _DTYPES[entry["dtype"]]
    shape = tuple(entry["shape"])
    begin, end = entry["data_offsets"]
    numbers = (*shape, begin, end)
    if any(type(number) is not int or number < 0 for number in numbers):
        raise ValueError(f"array {name} has shape {shape} at {begin}:{end}")
    if end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"array {name} of shape {shape} cannot have {end - begin} bytes")
    return dtype, shape, end
