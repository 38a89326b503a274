"""Arrays from an ``.npz`` that nobody vouches for.

The zip directory is read before anything is inflated, and only members that are asked for are;
each of them then passes the gate of :mod:`motionkit.formats.npy`. The rate of a clip, which has
had many names, is found here for every format of named arrays.
"""

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass

import numpy as np

from motionkit.clip import Note
from motionkit.errors import InputError
from motionkit.formats.npy import MAX_ARRAY, first_line, read_array, to_numbers
from motionkit.formats.source import ReadOptions, Source, settle_rate

RATE_KEYS = ("mocap_framerate", "mocap_frame_rate", "mocap_frame_rates", "frame_rate", "framerate",
             "fps")  # fmt: skip
"""Names of the rate [1/s], which changed between releases."""
RATE_AGREEMENT = 1e-3
"""Relative difference between two stated rates that counts as agreement."""
BOMB_SIZE = 64 * 1024**2
"""Arrays smaller than this [bytes] may be compressed to any degree."""
BOMB_RATIO = 200
"""Compression beyond which a larger array is taken for a zip bomb."""
_DAMAGE = (
    ValueError, OSError, EOFError, OverflowError, MemoryError, struct.error, zlib.error,
    zipfile.BadZipFile, NotImplementedError, RuntimeError,
)  # fmt: skip
"""What zipfile raises on damaged, encrypted or unknown members."""


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
                return read_array(self.source, f, info.file_size, key)
        except InputError:
            raise
        except _DAMAGE as error:
            raise self.source.error(f"damaged: {first_line(error)}", field=key) from None

    def numbers(self, key: str) -> np.ndarray:
        """The array under ``key`` as float64.

        Raises:
            InputError: as for :meth:`array`, or it does not hold real numbers.
        """
        return to_numbers(self.source, self.array(key), key)

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
        # A directory may claim more packed bytes than there are in the whole file.
        ratio = info.file_size / max(min(info.compress_size, len(self.source.data)), 1)
        if info.file_size > MAX_ARRAY or (info.file_size > BOMB_SIZE and ratio > BOMB_RATIO):
            raise self.source.error(
                f"unpacks to {info.file_size:,} bytes from {info.compress_size:,}; not opened",
                field=key,
                help="if the array is real, save it uncompressed (numpy.savez) or in parts",
            )


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
        raise source.error(f"the zip is damaged or cut short: {first_line(error)}") from None
    members: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        key = info.filename.removesuffix(".npy")
        if key in members:
            raise source.error("is stored twice", field=key)
        members[key] = info
    return Npz(source, members)


def find_rate(
    npz: Npz, options: ReadOptions, help: str = "give the rate with --source-fps"
) -> tuple[float, list[Note]]:
    """The rate [1/s], once all that is stated about it has been heard.

    Args:
        npz: the file.
        options: the user's rate wins.
        help: what to do when the file states none.

    Raises:
        InputError: none is stated, two disagree, or it is absurd, and the user gives none.
    """
    found: dict[str, float] = {}
    for key in RATE_KEYS:
        if key in npz.members:
            values = npz.numbers(key).reshape(-1)
            if values.size == 0 or not np.all((values == values[0]) | np.isnan(values)):
                raise npz.source.error(f"holds {values.size} rates, expected one", field=key)
            found[key] = float(values[0])
    if not found:
        if options.fps is None:
            raise npz.source.error(
                f"no rate is stated (keys: {', '.join(npz.keys[:12])})",
                field=RATE_KEYS[0],
                help=help,
            )
        return settle_rate(npz.source, np.nan, options, field=RATE_KEYS[0], said="(absent)")
    first, *others = found.values()
    agree = all(abs(other - first) <= RATE_AGREEMENT * abs(first) for other in others)
    key, rate = next(iter(found.items()))
    if options.fps is None and not agree:
        said = ", ".join(f"{key} {value:.9g}" for key, value in found.items())
        raise npz.source.error(f"rates disagree: {said}", field=key,
                               help="give the rate with --source-fps")  # fmt: skip
    return settle_rate(npz.source, rate, options, field=key, said=f"{rate:.17g}")
