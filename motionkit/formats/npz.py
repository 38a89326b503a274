"""Arrays from an ``.npz`` that nobody vouches for.

Nothing is unpickled. The zip directory is read before anything is inflated, only members that
are asked for are, and a member's header must agree with its size before memory is taken.
"""

import io
import math
import struct
import tokenize
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from motionkit.errors import InputError
from motionkit.formats.source import Source

MAX_MEMBER = 2 * 1024**3
"""Largest array [bytes]: an hour at 1,000 frames a second of 52 joints is 4.5 · 10⁹ / 2."""
BOMB_SIZE = 64 * 1024**2
"""Arrays smaller than this [bytes] may be compressed to any degree."""
BOMB_RATIO = 200
"""Compression beyond which a larger array is taken for a zip bomb."""
_DAMAGE = (
    ValueError, OSError, EOFError, OverflowError, MemoryError, struct.error, zlib.error,
    zipfile.BadZipFile, NotImplementedError, RuntimeError,
)  # fmt: skip
"""What zipfile raises on damaged, encrypted or unknown members."""
_BAD_HEADER = (ValueError, TypeError, SyntaxError, tokenize.TokenError, OverflowError, MemoryError,
               EOFError, RecursionError)  # fmt: skip
"""What numpy's parser of array headers raises on damaged ones."""


@dataclass(frozen=True, slots=True)
class Npz:
    """The directory of an ``.npz``; arrays are read on demand."""

    source: Source
    """The file."""
    members: dict[str, zipfile.ZipInfo]
    """Key to entry of the zip directory."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys, sorted."""
        return tuple(sorted(self.members))

    def array(self, key: str) -> np.ndarray:
        """The array under ``key``, of plain numbers or text.

        Raises:
            InputError: it holds objects (a pickle), is damaged, or is not of a sane size.
        """
        info = self.members[key]
        self._require_sane(key, info)
        try:
            with zipfile.ZipFile(io.BytesIO(self.source.data)) as archive, archive.open(info) as f:
                return self._read(key, info, f)
        except InputError:
            raise
        except _DAMAGE as error:
            raise self.source.error(f"damaged: {_first_line(error)}", field=key) from None

    def numbers(self, key: str) -> np.ndarray:
        """The array under ``key`` as float64.

        Raises:
            InputError: as for :meth:`array`, or it does not hold real numbers.
        """
        array = self.array(key)
        if array.dtype.kind not in "fiu":
            raise self.source.error(f"has type {array.dtype}, expected real numbers", field=key)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.ascontiguousarray(array, dtype=np.float64)

    def text(self, key: str) -> str:
        """The text under ``key``: bytes, text, or an array of one of them."""
        array = self.array(key)
        if array.dtype.kind not in "SU" or array.size != 1:
            raise self.source.error(
                f"has type {array.dtype} and shape {array.shape}, expected one text", field=key
            )
        value = array.reshape(-1)[0]
        return value.decode("latin-1") if isinstance(value, bytes) else str(value)

    def _require_sane(self, key: str, info: zipfile.ZipInfo) -> None:
        ratio = info.file_size / max(info.compress_size, 1)
        if info.file_size > MAX_MEMBER or (info.file_size > BOMB_SIZE and ratio > BOMB_RATIO):
            raise self.source.error(
                f"unpacks to {info.file_size:,} bytes from {info.compress_size:,}; not opened",
                field=key,
                help="if the array is real, save it uncompressed (numpy.savez) or in parts",
            )

    def _read(self, key: str, info: zipfile.ZipInfo, stream: Any) -> np.ndarray:
        try:
            version = np.lib.format.read_magic(stream)
            known = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }.get(version)
            shape, fortran, dtype = known(stream) if known else ((), False, np.dtype(float))
        except _BAD_HEADER as error:
            raise self.source.error(f"bad header: {_first_line(error)}", field=key) from None
        if known is None:
            raise self.source.error(f"npy version {version} is not known", field=key)
        if dtype.hasobject:
            raise self.source.error(
                "holds Python objects (a pickle), which are never opened: they can run programs",
                field=key,
                help="save plain arrays: numpy.savez(path, poses=…, trans=…, mocap_framerate=…)",
            )
        if any(size < 0 for size in shape):
            raise self.source.error(f"declares the shape {shape}", field=key)
        need, have = math.prod(shape) * dtype.itemsize, info.file_size - stream.tell()
        if need != have:
            raise self.source.error(
                f"declares {need:,} bytes ({dtype} {shape}), holds {have:,}", field=key
            )
        data = stream.read(need)
        if len(data) != need:
            raise self.source.error(f"ends after {len(data):,} of {need:,} bytes", field=key)
        stream.read()  # to the end, so that zipfile checks the CRC
        array = np.frombuffer(data, dtype=dtype) if need else np.empty(math.prod(shape), dtype)
        return array.reshape(shape, order="F" if fortran else "C")


def open_npz(source: Source) -> Npz:
    """The directory of an ``.npz``; nothing is unpacked yet.

    Raises:
        InputError: the file is no zip, is cut short, or names a member twice.
    """
    if not source.data.startswith(b"PK"):
        raise source.error("is no .npz (a zip of arrays): it does not start as a zip does",
                           help="check the download")  # fmt: skip
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            infos = archive.infolist()
    except _DAMAGE as error:
        raise source.error(f"the zip is damaged or cut short: {_first_line(error)}") from None
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        key = info.filename.removesuffix(".npy")
        if key in members:
            raise source.error("is stored twice", field=key)
        members[key] = info
    return Npz(source, members)


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return "".join(c if c.isprintable() else "?" for c in lines[0][:120])
