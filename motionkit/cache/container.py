"""Arrays and JSON in one file, in the safetensors format, read through a memory map.

A file is ``8 bytes: length n of the header, little endian | header: n bytes of JSON | arrays``.
The header gives each array's type, shape and byte range; its ``__metadata__`` maps names to
strings, here JSON texts. The format is that of https://github.com/huggingface/safetensors and its
library reads these files; motionkit writes and maps them itself for two reasons: same arrays must
give same bytes, and opening must not read the arrays.

Files appear whole or not at all: written under a temporary name in the same folder, synced to
the disk, then renamed. A process that is killed leaves its temporary file; :func:`remove_stale`
knows it by its name.
"""

import hashlib
import json
import math
import os
import secrets
import socket
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from motionkit.errors import InputError

Array = np.ndarray

TEMPORARY_PREFIX: Final = ".tmp-"
"""Names of files that are being written begin so: ``.tmp-HOST-PID-RANDOM-NAME``."""
STALE_AFTER: Final = 3600.0
"""A temporary file of another machine is left behind if not written to for so long [s]."""

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


def replace_file(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Put bytes at ``path``; whatever happens, a reader sees the old file or the new one whole.

    Raises:
        InputError: the folder cannot be written to, or the disk is full.
    """
    token = f"{_host()}-{os.getpid()}-{secrets.token_hex(4)}"
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{token}-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}",
            where=str(path),
            help="give a folder that can be written to, with room left",
        ) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where folders can be synced."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems refuse
            os.fsync(handle)
    finally:
        os.close(handle)


def remove_stale(folder: Path) -> list[Path]:
    """Delete temporary files whose writer is gone, and say which.

    Gone is a process of this machine that no longer runs, or a file not written to for
    :data:`STALE_AFTER`. Costs one listing of the folder.
    """
    host, removed = _host(), []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(TEMPORARY_PREFIX):
                continue
            owner, _, rest = entry.name.removeprefix(TEMPORARY_PREFIX).partition("-")
            pid = rest.partition("-")[0]
            with suppress(FileNotFoundError):  # its writer has just finished
                is_old = time.time() - entry.stat().st_mtime > STALE_AFTER
                if is_old or (owner == host and pid.isdigit() and not _is_running(int(pid))):
                    Path(entry.path).unlink()
                    removed.append(Path(entry.path))
    return sorted(removed)


def _host() -> str:
    """Tells machines apart without naming them."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _is_running(pid: int) -> bool:
    if os.name != "posix":  # there, asking with signal 0 would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
