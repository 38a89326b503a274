"""Points as C3D files: single-precision numbers of a PC, millimetres, Z up.

A file is a header of one block of 512 bytes, parameters, and the frames: x, y, z and a word of each
point, then the analog samples. A point that was not seen is 0 0 0 with the word -1; the others have
0, since nobody kept their residuals. More than 255 labels go on in ``LABELS2`` and so on; numbers
of frames beyond 65535 stand in ``TRIAL:ACTUAL_START_FIELD`` and ``ACTUAL_END_FIELD``. (The C3D User
Guide, Motion Lab Systems, 2021.)
"""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from motionkit.clip import ForcePlate, MarkerClip
from motionkit.errors import InputError
from motionkit.files import replace_file
from motionkit.formats.write_points import Points, at_origin, lost_by_points, to_points

Array = np.ndarray
Value = Sequence[str] | Array
"""Of a parameter: texts, or 16-bit integers, or floats, the first dimension the fastest."""

MILLIMETRE = 0.001
"""Unit of the file [m]."""
LONGEST_LABEL = 127
"""Bytes of a label: 255 of them must fit into one parameter, whose length has 15 bits."""
CALIBRATED = 4
"""Types of force plates from which on ``CAL_MATRIX`` counts."""

_BLOCK = 512
_PC = 84  # the processor whose numbers the file has
_MARK = 0x50  # second byte of a file and of its parameters
_MAX_WORD = 65535  # the largest count that a header can hold
_MAX_SIZE = 255  # the largest dimension, and the largest number of blocks of parameters
_FLOATS = -1.0  # a negative scale says that numbers are floats


def write_c3d(path: Path | str, clip: Points) -> None:
    """Write the points of a clip; a file at ``path`` is replaced, whole.

    Raises:
        InputError: there are more points or longer labels than the format has room for, or analog
            samples do not go with the frames.
    """
    replace_file(Path(path), [encode(clip)])


def encode(clip: Points) -> bytes:
    """The bytes of the file.

    Raises:
        InputError: there are more points or longer labels than the format has room for, or analog
            samples do not go with the frames.
    """
    points = to_points(clip)
    frames, count = points.num_frames, len(points.labels)
    pos = points.pos_w / MILLIMETRE
    unseen = np.isnan(pos[..., 0])
    word = np.where(unseen, -1.0, 0.0)[..., None]
    table = np.concatenate([np.where(unseen[..., None], 0.0, pos) + 0.0, word], axis=2)
    samples, analog = _analog(points)
    width = analog.shape[1]
    if count > _MAX_WORD or width > _MAX_WORD:
        raise InputError(f"has {count} points and {width} analog values a frame, a C3D file at "
                         f"most {_MAX_WORD}", where=points.name)  # fmt: skip
    data = np.concatenate([table.reshape(frames, -1), analog], axis=1).astype("<f4").tobytes()
    last = points.first_frame + frames - 1
    # Parameters state where the data begin, which depends on their own length alone.
    blocks = len(_parameters(points, samples, 0)) // _BLOCK
    parameters = _parameters(points, samples, 2 + blocks)
    if blocks > _MAX_SIZE:
        message = f"{count} labels take {blocks} blocks of parameters, C3D has room for {_MAX_SIZE}"
        raise InputError(message, where=points.name, help="shorten the labels")
    head = struct.pack(
        "<BBHHHHHfHHf", 2, _MARK, count, width, min(points.first_frame, _MAX_WORD),
        min(last, _MAX_WORD), 0, _FLOATS, 2 + blocks, samples, points.fps,
    )  # fmt: skip
    return _padded(head) + parameters + _padded(data)


def losses(clip: Points) -> tuple[str, ...]:
    """What the file does not say as the clip did, one line each."""
    points = to_points(clip)
    out = [*lost_by_points(clip), *at_origin(points)]
    if points.plates and points.analog is None:
        out.append(f"{len(points.plates)} force plates are lost: they have no channels")
    elif not _has_matrices(points.plates):
        out.append("calibration matrices of force plates are lost: their shapes differ")
    if points.kind == "joint":
        out.append("that the points are joint centres is not stated")
    seen = points.pos_w[points.visible]
    error = float(np.abs(seen - _rounded(seen)).max(initial=0.0))
    out.append(f"single precision, in millimetres, Z up: positions change by up to {error:.1e} m")
    return tuple(out)


def _rounded(pos: Float[Array, "*n"]) -> Float[Array, "*n"]:
    return (pos / MILLIMETRE).astype(np.float32).astype(np.float64) * MILLIMETRE


def _analog(points: MarkerClip) -> tuple[int, Float[Array, "T n"]]:
    """Samples per frame, and the analog values of each frame, all channels of a sample first."""
    frames, analog = points.num_frames, points.analog
    if analog is None:
        return 0, np.zeros((frames, 0))
    samples = round(analog.fps / points.fps)
    if len(analog.values) != samples * frames:
        raise InputError(f"has {len(analog.values)} analog samples, expected {samples} for each of "
                         f"{frames} frames", where=points.name)  # fmt: skip
    return samples, analog.values.reshape(frames, -1)


def _parameters(points: MarkerClip, samples: int, data_block: int) -> bytes:
    """The whole blocks of the parameter section."""
    groups = {
        "POINT": _point_group(points, data_block),
        "ANALOG": _analog_group(points, samples),
        "FORCE_PLATFORM": _plate_group(points),
        "TRIAL": _trial_group(points),
        "MANUFACTURER": {"SOFTWARE": ["motionkit"]},
    }
    records = []
    for number, (group, parameters) in enumerate(groups.items(), start=1):
        records.append((group, -number, b""))
        for name, value in parameters.items():
            records += [(part, number, body) for part, body in _bodies(points.name, name, value)]
    out = b""
    for index, (name, number, body) in enumerate(records):
        text = name.encode()
        step = 2 + len(body) + 1  # the pointer, what it leads past, and no description
        if index == len(records) - 1:
            step = 0
        out += struct.pack("<bb", len(text), number) + text + struct.pack("<H", step) + body + b"\0"
    blocks = -(-(len(out) + 4) // _BLOCK)
    return _padded(struct.pack("<BBBB", 1, _MARK, min(blocks, _MAX_SIZE), _PC) + out)


def _point_group(points: MarkerClip, data_block: int) -> dict[str, Value]:
    prefix = f"{points.subject}:" if points.subject else ""
    frames = points.num_frames
    group: dict[str, Value] = {
        "USED": _words(len(points.labels)),
        "SCALE": _floats([_FLOATS]),
        "RATE": _floats([points.fps]),
        "DATA_START": _words(data_block),
        "FRAMES": _words(min(frames, _MAX_WORD)),
        "LABELS": [prefix + label for label in points.labels],
        "UNITS": ["mm"],
        "X_SCREEN": ["+X"],
        "Y_SCREEN": ["+Z"],
    }
    return group | ({"LONG_FRAMES": _floats([frames])} if frames > _MAX_WORD else {})


def _analog_group(points: MarkerClip, samples: int) -> dict[str, Value]:
    analog = points.analog
    if analog is None:
        return {"USED": _words(0)}
    count = len(analog.labels)
    return {
        "USED": _words(count),
        "LABELS": list(analog.labels),
        "UNITS": list(analog.units),
        "GEN_SCALE": _floats([1.0]),
        "SCALE": np.ones(count, dtype=np.float32),
        "OFFSET": np.zeros(count, dtype=np.int16),
        "FORMAT": ["SIGNED"],
        "RATE": _floats([samples * points.fps]),
    }


def _plate_group(points: MarkerClip) -> dict[str, Value]:
    plates = points.plates if points.analog is not None else ()
    if points.analog is None or not plates:
        return {"USED": _words(0)}
    place = {label: i + 1 for i, label in enumerate(points.analog.labels)}
    channels = np.zeros((len(plates), max(len(plate.channels) for plate in plates)), np.int16)
    for row, plate in zip(channels, plates, strict=True):
        row[: len(plate.channels)] = [place[label] for label in plate.channels]
    group: dict[str, Value] = {
        "USED": _words(len(plates)),
        "TYPE": _words(*(plate.type for plate in plates)),
        "ZERO": _words(0, 0),
        "CORNERS": _floats([plate.corners_w / MILLIMETRE for plate in plates]),
        "ORIGIN": _floats([plate.origin / MILLIMETRE for plate in plates]),
        "CHANNEL": channels,
    }
    found = [plate.calibration for plate in plates if plate.calibration is not None]
    if found and _has_matrices(plates):
        none = np.zeros_like(found[0])
        matrices = [none if p.calibration is None else p.calibration for p in plates]
        group["CAL_MATRIX"] = _floats([matrix.T for matrix in matrices])
    return group


def _has_matrices(plates: Sequence[ForcePlate]) -> bool:
    """Whether one array holds the calibrations of all plates whose type has one."""
    typed = [plate.calibration for plate in plates if plate.type >= CALIBRATED]
    shapes = {matrix.shape for matrix in typed if matrix is not None}
    return len(shapes) <= 1 and (not shapes or all(matrix is not None for matrix in typed))


def _trial_group(points: MarkerClip) -> dict[str, Value]:
    first = points.first_frame
    last = first + points.num_frames - 1
    return {
        "ACTUAL_START_FIELD": _words(first & _MAX_WORD, first >> 16),
        "ACTUAL_END_FIELD": _words(last & _MAX_WORD, last >> 16),
    }


def _floats(values: Sequence[float] | Sequence[Array]) -> Array:
    return np.array(values, dtype=np.float32)


def _words(*numbers: int) -> Array:
    """Numbers from 0 to 65535 as the 16-bit integers with their bits."""
    return np.array(numbers, dtype=np.uint16).view(np.int16)


def _bodies(where: str, name: str, value: Value) -> Iterator[tuple[str, bytes]]:
    """Name, and type, dimensions and values, of a parameter and of those in which it goes on.

    An array's last axis is the first dimension of C3D, the fastest.
    """
    if isinstance(value, np.ndarray):
        size, axes = value.dtype.itemsize, value.shape[1:][::-1]
        items = [row.tobytes() for row in value.astype(value.dtype.newbyteorder("<"))]
    else:
        texts = [text.encode() for text in value]
        width = max(1, max(map(len, texts), default=1))
        if width > LONGEST_LABEL:
            long = max(value, key=lambda text: len(text.encode()))
            raise InputError(f"label {long!r} has {width} bytes, C3D takes {LONGEST_LABEL}",
                             where=where)  # fmt: skip
        size, axes, items = -1, (width,), [text.ljust(width) for text in texts]
    for part in range(-(-len(items) // _MAX_SIZE)):
        some = items[part * _MAX_SIZE : (part + 1) * _MAX_SIZE]
        dims = (*axes, len(some))
        if size > 0 and dims == (1,):
            dims = ()  # a single number
        body = struct.pack("<bB", size, len(dims)) + bytes(dims) + b"".join(some)
        yield name + (str(part + 1) if part else ""), body


def _padded(data: bytes) -> bytes:
    """Filled up to whole blocks."""
    return data + bytes(-len(data) % _BLOCK)
