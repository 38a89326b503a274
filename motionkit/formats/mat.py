"""MATLAB files of labelled points, in the layouts that programs document.

=================  ================================================================================
Kinetics Toolkit   a struct of time series, one a marker: ``Time`` (T), ``Data`` (T, 3 or 4); or
                   ``Time`` and ``Data.<marker>`` (T, 3 or 4)
Qualisys QTM       ``Trajectories.Labeled.Data`` (M, 4, T), ``.Labels``, and ``FrameRate``
Visual3D           variables that are cells, one a file: ``FRAME_RATE``, and markers (T, 4)
plain              ``markers`` (T, M, 3), or a struct of (T, 3); ``labels``; ``rate`` or ``time``
=================  ================================================================================

One take a file. What fits no layout is refused with a list of what is inside.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from motionkit.clip import MarkerClip, Note
from motionkit.formats.frame_times import MAX_DIGITS, settle_times
from motionkit.formats.mat_file import (
    MatCell,
    MatStruct,
    MatText,
    MatValue,
    decode_mat,
    say_value,
)
from motionkit.formats.points import RawPoints, place_points
from motionkit.formats.source import ReadOptions, Source, settle_rate

Array = np.ndarray
Fields = dict[str, MatValue]

RATE_NAMES = ("rate", "fps", "framerate", "frame_rate", "frequency", "freq", "fs")
"""Names of a rate in the plain layout, in any case."""
LABEL_NAMES = ("labels", "label", "names", "marker_names", "markernames", "marker_labels")
"""Names of the labels in the plain layout."""
MARKER_NAMES = ("markers", "marker", "marker_data", "markerdata", "points")
"""Names of the positions in the plain layout."""
MAX_DEPTH = 4
"""Depth to which structs are searched for a take."""
MAX_LISTED = 12
"""Values listed in a refusal."""


@dataclass(frozen=True, slots=True)
class _Take:
    """Points found in a file, in its units and axes."""

    where: str
    """Path of the value inside the file."""
    writer: str
    """Program whose layout it is."""
    labels: list[str]
    """As spelt."""
    pos: Float[Array, "T M 3"]
    """NaN where not seen."""
    time: Float[Array, "T"] | None = None
    """Of the frames [s]."""
    rate: float = float("nan")
    """Stated [1/s]."""
    unit: str = ""
    """Stated, or prescribed by the program."""
    first_frame: int = 1
    """Number of the first frame."""
    left_out: list[str] = field(default_factory=list)
    """Values beside the markers that are none."""


def read(source: Source, options: ReadOptions) -> MarkerClip:
    """The points of a MATLAB file.

    Args:
        source: the file.
        options: what the user knows better.

    Raises:
        InputError: the file is damaged or of version 7.3, holds no layout that is known, or
            several takes.
    """
    variables = decode_mat(source)
    takes = list(_find_takes("", variables, 0))
    if not takes:
        listed = [f"{name} ({text})" for name, text in _listing("", variables, 0)]
        shown = ", ".join(listed[:MAX_LISTED]) + (", …" if len(listed) > MAX_LISTED else "")
        raise source.error(
            f"no markers in a layout that is known; inside: {shown or 'nothing'}",
            help="save markers (T x M x 3), labels (cell of M names) and rate, with -v7",
        )
    if len(takes) > 1:
        names = [f"{take.where} ({len(take.labels)} markers, {len(take.pos)} frames)"
                 for take in takes]  # fmt: skip
        shown = ", ".join(names[:MAX_LISTED]) + (", …" if len(names) > MAX_LISTED else "")
        raise source.error(f"holds {len(takes)} takes: {shown}",
                           help="keep one take a file: save it alone in MATLAB")  # fmt: skip
    take = takes[0]
    notes = []
    if take.left_out:
        shown = ", ".join(take.left_out[:8]) + (", …" if len(take.left_out) > 8 else "")
        notes.append(Note("MK185", f"no markers, and left out: {shown}", len(take.left_out)))
    fps, more = _rate(source, take, options)
    notes += more
    pos = take.pos
    zero = np.all(pos == 0.0, axis=2)
    if count := int(np.sum(zero)):
        text = f"{count} points are exactly at 0 0 0, and count as not seen"
        notes.append(Note("MK187", text, count))
        pos = np.where(zero[..., None], np.nan, pos)
    raw = RawPoints(tuple(take.labels), pos, take.unit, take.first_frame)
    return place_points(source, raw, fps, options, format="mat", writer=take.writer, notes=notes)


def _rate(source: Source, take: _Take, options: ReadOptions) -> tuple[float, list[Note]]:
    if take.time is None:
        said = f"{take.rate:g}" if np.isfinite(take.rate) else "no rate"
        return settle_rate(source, take.rate, options, field=take.where or "rate", said=said)
    stated = f"{take.rate:.12g}" if np.isfinite(take.rate) else None
    return settle_times(source, list(take.time), options, stated=stated, digits=MAX_DIGITS,
                        field=f"{take.where}: rate")  # fmt: skip


def _find_takes(where: str, fields: Fields, depth: int) -> Iterator[_Take]:
    """Takes of a struct, or of the structs in it."""
    for finder in (_time_series, _time_and_data, _qualisys, _visual3d, _plain):
        found = finder(where, fields)
        if found:
            yield from found
            return
    if depth >= MAX_DEPTH:
        return
    for name, value in fields.items():
        inner = f"{where}.{name}" if where else name
        if isinstance(value, MatStruct):
            for index, item in enumerate(value.items):
                mark = f"({index + 1})" if len(value.items) > 1 else ""
                yield from _find_takes(inner + mark, item, depth + 1)


def _listing(where: str, fields: Fields, depth: int) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        inner = f"{where}.{name}" if where else name
        yield inner, say_value(value)
        if isinstance(value, MatStruct) and value.items and depth < 1:
            yield from _listing(inner, value.items[0], depth + 1)


def _time_series(where: str, fields: Fields) -> list[_Take]:
    """Kinetics Toolkit's structs of time series."""
    series = {name: one for name, value in fields.items()
              if (one := _one(value)) and _vector(one.get("Time")) is not None
              and isinstance(one.get("Data"), np.ndarray)}  # fmt: skip
    if not series:
        return []
    first = next(iter(series.values()))
    time = _vector(first["Time"])
    assert time is not None
    columns: Fields = {}
    for name, one in series.items():
        own = _vector(one["Time"])
        if own is not None and np.array_equal(own, time):
            columns[name] = one["Data"]
    others = [name for name in fields if name not in columns]
    return _of_columns(where, "Kinetics Toolkit", columns, time, others)


def _time_and_data(where: str, fields: Fields) -> list[_Take]:
    """Kinetics Toolkit's one time for a struct of markers."""
    time, data = _vector(fields.get("Time")), _one(fields.get("Data"))
    if time is None or not data:
        return []
    return _of_columns(where, "Kinetics Toolkit", data, time, [])


def _of_columns(
    where: str, writer: str, columns: Fields, time: Float[Array, "T"], others: list[str]
) -> list[_Take]:
    """A take of markers that are one array each.

    Where some have a fourth coordinate that is one, those without are vectors, such as forces.
    """
    found = {name: array for name, value in columns.items()
             if (array := _rows(value, len(time))) is not None}  # fmt: skip
    points = {name: array for name, array in found.items() if _is_homogeneous(array)}
    points = points or {name: array for name, array in found.items() if array.shape[1] == 3}
    if not points:
        return []
    pos = np.stack([array[:, :3] for array in points.values()], axis=1)
    left_out = others + [name for name in columns if name not in points]
    return [_Take(where, writer, list(points), pos, time=time, left_out=left_out)]


def _is_homogeneous(array: Float[Array, "T C"]) -> bool:
    last = array[:, 3] if array.shape[1] == 4 else np.zeros(1)
    seen = ~np.isnan(array).any(axis=1)
    return array.shape[1] == 4 and bool(np.all(last[seen] == 1.0))


def _qualisys(where: str, fields: Fields) -> list[_Take]:
    """QTM's export, in millimetres; the fourth number is a residual."""
    trajectories = _one(fields.get("Trajectories"))
    labeled = _one((trajectories or {}).get("Labeled"))
    data = (labeled or {}).get("Data")
    if not labeled or not isinstance(data, np.ndarray) or data.ndim not in (2, 3):
        return []
    labels = _texts(labeled.get("Labels"))
    cube = data.reshape(*data.shape[:2], -1).astype(np.float64)
    if cube.shape[1] not in (3, 4) or len(labels) != len(cube):
        return []
    start = _number(fields.get("StartFrame"))
    return [
        _Take(
            where,
            "Qualisys",
            labels,
            np.moveaxis(cube[:, :3], -1, 0),
            rate=_number(fields.get("FrameRate")),
            unit="mm",
            first_frame=int(start) if np.isfinite(start) and abs(start) < 1e9 else 1,
        )
    ]


def _visual3d(where: str, fields: Fields) -> list[_Take]:
    """Visual3D's cells, one a file: targets have a residual as their fourth number."""
    rates = fields.get("FRAME_RATE")
    if not isinstance(rates, MatCell) or not rates.items:
        return []
    takes = []
    for index, rate in enumerate(rates.items):
        arrays = {}
        for name, value in fields.items():
            if isinstance(value, MatCell) and len(value.items) == len(rates.items):
                item = value.items[index]
                if isinstance(item, np.ndarray) and item.ndim == 2 and item.shape[1] == 4:
                    arrays[name] = item.astype(np.float64)
        if not arrays:
            continue
        frames = max(len(array) for array in arrays.values())
        points = {name: array for name, array in arrays.items() if len(array) == frames}
        pos = np.stack([array[:, :3] for array in points.values()], axis=1)
        mark = f"file {index + 1}" if len(rates.items) > 1 else where
        takes.append(_Take(mark, "Visual3D", list(points), pos, rate=_number(rate),
                           left_out=[n for n in arrays if n not in points]))  # fmt: skip
    return takes


def _plain(where: str, fields: Fields) -> list[_Take]:
    """Positions, labels and a rate under names that say so."""
    lower = {name.lower(): value for name, value in fields.items()}
    positions = _first(lower, MARKER_NAMES)
    labels = _texts(_first(lower, LABEL_NAMES))
    time = _vector(lower.get("time"))
    rate = _number(_first(lower, RATE_NAMES))
    units = _texts(_first(lower, ("units", "unit")))
    inner = _one(positions)
    if inner:
        arrays = {name: value for name, value in inner.items() if isinstance(value, np.ndarray)}
        sizes = [max(value.shape) for value in arrays.values() if value.ndim == 2]
        frames = len(time) if time is not None else max(sizes, default=0)
        rows = {name: array[:, :3] for name, value in arrays.items()
                if (array := _rows(value, frames)) is not None}  # fmt: skip
        if not rows:
            return []
        pos, labels = np.stack(list(rows.values()), axis=1), list(rows)
        left_out = [name for name in inner if name not in rows]
    else:
        cube = _cube(positions, len(labels))
        if cube is None:
            return []
        pos, left_out = cube, []
        labels = labels or [""] * pos.shape[1]
    if time is not None and len(time) != len(pos):
        time = None
    return [_Take(where, "unknown", labels, pos, time=time, rate=rate,
                  unit=units[0] if units else "", left_out=left_out)]  # fmt: skip


def _first(fields: Fields, names: tuple[str, ...]) -> MatValue | None:
    return next((fields[name] for name in names if name in fields), None)


def _cube(value: MatValue | None, num_labels: int) -> Float[Array, "T M 3"] | None:
    """Positions (T, M, 3), or of another order of axes if the labels leave but one."""
    if not isinstance(value, np.ndarray) or value.ndim != 3 or 0 in value.shape:
        return None
    array = value.astype(np.float64)
    if array.shape[2] == 3 and num_labels in (0, array.shape[1]):
        return array
    turned = [np.transpose(array, order)
              for order in ((1, 0, 2), (0, 2, 1), (2, 0, 1), (1, 2, 0), (2, 1, 0))]  # fmt: skip
    fitting = [each for each in turned if each.shape[1:] == (num_labels, 3)]
    return fitting[0] if len(fitting) == 1 else None


def _one(value: MatValue | None) -> Fields | None:
    """The fields of a single struct."""
    if isinstance(value, MatStruct) and len(value.items) == 1:
        return value.items[0]
    return None


def _vector(value: MatValue | None) -> Float[Array, "T"] | None:
    if not isinstance(value, np.ndarray) or value.size == 0 or value.size != max(value.shape):
        return None
    return value.ravel().astype(np.float64)


def _number(value: MatValue | None) -> float:
    if isinstance(value, np.ndarray) and value.size == 1:
        return float(value.ravel()[0])
    return float("nan")


def _texts(value: MatValue | None) -> list[str]:
    """Strings of a cell, or rows of text."""
    if isinstance(value, MatText):
        return value.rows
    if isinstance(value, MatCell):
        texts = [item.rows for item in value.items if isinstance(item, MatText)]
        if len(texts) == len(value.items):
            return [rows[0] if rows else "" for rows in texts]
    return []


def _rows(value: MatValue, frames: int) -> Float[Array, "T C"] | None:
    """Numbers with a frame a row, of 3 or 4 columns, however the axes of length one lie."""
    if not isinstance(value, np.ndarray) or frames == 0:
        return None
    sizes = [n for n in value.shape if n != 1]
    flat = value.reshape([*sizes, *[1] * (2 - len(sizes))], order="F") if len(sizes) <= 2 else value
    if flat.ndim != 2:
        return None
    if frames == 1 and flat.shape[1] == 1:
        flat = flat.T
    for array in (flat, flat.T):
        if len(array) == frames and array.shape[1] in (3, 4):
            return array.astype(np.float64)
    return None
