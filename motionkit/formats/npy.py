"""One array in numpy's own format, from bytes that nobody vouches for.

A bare ``.npy`` and a member of an ``.npz`` go through the same gate: nothing is unpickled, and a
header must agree with the bytes that follow before memory is taken for them. The format is
described in numpy's ``numpy.lib.format``.
"""

import io
import math
import sys
import tokenize
import warnings
from typing import IO

import numpy as np

from motionkit.errors import InputError
from motionkit.formats.source import Source

MAX_ARRAY = 2 * 1024**3
"""Largest array [bytes]: an hour at 1,000 frames a second of 52 joints is 4.5 · 10⁹ / 2."""
PLAIN_KINDS = "biufcSUMmV"
"""Kinds of numpy types that hold their values themselves, and no Python objects."""
LONGEST_QUOTE = 120
"""Characters of a file's own text that an error repeats."""
_BAD_HEADER = (ValueError, TypeError, SyntaxError, tokenize.TokenError, OverflowError, MemoryError,
               EOFError, RecursionError)  # fmt: skip
"""What numpy's parser of array headers raises on damaged ones."""


def read_npy(source: Source) -> np.ndarray:
    """The array in a bare ``.npy`` file.

    Raises:
        InputError: it is no such file, it holds objects (a pickle), or it is cut short or longer
            than its header says.
    """
    try:
        return read_array(source, io.BytesIO(source.data), len(source.data))
    except InputError:
        raise
    except (*_BAD_HEADER, OSError) as error:
        raise source.error(f"damaged: {first_line(error)}") from None


def read_array(
    source: Source, stream: IO[bytes] | io.BufferedIOBase, size: int, field: str = ""
) -> np.ndarray:
    """The array that a stream holds, and nothing after it.

    Args:
        source: the file, for errors.
        stream: at the array's first byte.
        size: bytes that the stream has [bytes].
        field: name of the array in its file.

    Raises:
        InputError: the header is damaged, names a type of objects, or disagrees with ``size``.
    """
    try:
        version = np.lib.format.read_magic(stream)
        known = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        with warnings.catch_warnings():  # of headers that Python 2 wrote, which are read
            warnings.simplefilter("ignore")
            shape, fortran, dtype = known(stream) if known else ((), False, np.dtype(float))
    except _BAD_HEADER as error:
        raise source.error(f"bad header: {first_line(error)}", field=field) from None
    if known is None:
        raise source.error(f"npy version {version} is not known", field=field)
    if dtype.hasobject or dtype.kind not in PLAIN_KINDS:
        raise source.error(
            "holds Python objects (a pickle), which are never opened: they can run programs",
            field=field,
            help="save plain arrays: numpy.savez(path, poses=…, trans=…, mocap_framerate=…)",
        )
    if any(length < 0 for length in shape):
        raise source.error(f"declares the shape {_short(str(shape))}", field=field)
    count = math.prod(shape)
    if count and not dtype.itemsize:  # numpy would take one character for each of them
        raise source.error(
            f"declares {count:,} values of no size ({_short(str(dtype))})", field=field
        )
    need, have = count * dtype.itemsize, size - stream.tell()
    said = _short(f"{dtype} {shape}")
    if need != have:
        raise source.error(f"declares {need:,} bytes ({said}), holds {have:,}",
                           field=field)  # fmt: skip
    if need > MAX_ARRAY:
        raise source.error(f"has {need:,} bytes, more than {MAX_ARRAY:,}", field=field,
                           help="cut it into parts")  # fmt: skip
    data = stream.read(need)
    if len(data) != need:
        raise source.error(f"ends after {len(data):,} of {need:,} bytes", field=field)
    stream.read()  # to the end, so that zipfile checks the CRC
    array = np.frombuffer(data, dtype=dtype) if need else np.empty(count, dtype)
    if dtype.kind == "U" and need:
        letters = array.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder))
        if letters.max() > sys.maxunicode:  # Python cannot hold such a text
            raise source.error(f"holds text with the character {letters.max():#x}, which is none",
                               field=field)  # fmt: skip
    return array.reshape(shape, order="F" if fortran else "C")


def to_numbers(source: Source, array: np.ndarray, field: str = "") -> np.ndarray:
    """An array as float64, C-ordered and native, whatever its width and byte order.

    Raises:
        InputError: it does not hold real numbers.
    """
    if array.dtype.kind not in "fiu":
        raise source.error(
            f"has type {_short(str(array.dtype))}, expected real numbers", field=field
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(array, dtype=np.float64, order="C")


def first_line(error: Exception) -> str:
    """The first line of a library's complaint, printable and short."""
    lines = str(error).splitlines() or [type(error).__name__]
    return "".join(c if c.isprintable() else "?" for c in _short(lines[0]))


def _short(text: str) -> str:
    """At most :data:`LONGEST_QUOTE` characters of what a file says."""
    return text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 1] + "…"
