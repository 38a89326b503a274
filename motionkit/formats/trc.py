"""TRC files, as Motion Analysis, OpenSim, Pose2Sim and others write them, to clips of points.

Three header lines, a line of names, a line ``X1 Y1 Z1 …`` and a line a frame: number, time [s],
three coordinates a marker. Writers disagree about everything else: tabs, commas or spaces; blanks
or ``NaN`` for gaps; names that do not stand above their columns; columns without a name.

The times of the frames decide about the rate (:mod:`motionkit.formats.frame_times`), the names
about the markers, and the rows that are there about the frames.
"""

import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit.clip import MarkerClip, Note
from motionkit.formats.frame_times import decimals, settle_times
from motionkit.formats.points import RawPoints, place_points
from motionkit.formats.source import ReadOptions, Source

Array = np.ndarray

KEYS = ("DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units", "OrigDataRate",
        "OrigDataStartFrame", "OrigNumFrames")  # fmt: skip
"""Words of the second line; some writers leave the last one out."""
NOT_SEEN = frozenset(("", "nan", "-nan", "nan(ind)", "-nan(ind)", "1.#qnan", "-1.#ind", "null"))
"""Cells, in lower case, that stand for no number."""
FIRST = 2
"""Columns before the first coordinate: number and time."""
CELLS_A_BYTE = 4
"""Cells that rows may be filled up to, for each byte of the file: a row may leave out its last
gaps, but a few short rows must not fill the memory."""
FEW_CELLS = 2_000_000
"""Cells that are few enough for any file."""
_AXIS = re.compile(r"([XYZxyz])\d*")
_INTEGER = re.compile(r"[+-]?\d{1,9}(\.0*)?")


@dataclass(frozen=True, slots=True)
class _Header:
    """What the lines above the rows say."""

    values: dict[str, str]
    """Of the keys that are there, as spelt."""
    names: tuple[str, ...]
    """Of the markers, in order of their columns; blank for columns without a name between them."""
    first_row: int
    """Index of the first line of numbers."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """The numbers of a file."""

    frame: list[str]
    """Cells of the first column."""
    time: list[str]
    """Cells of the second."""
    pos: Float[Array, "T M 3"]
    """NaN where a cell is blank or no number."""
    num_extra: int
    """Largest number of cells with content to the right of the last named marker."""


def read(source: Source, options: ReadOptions) -> MarkerClip:
    """The points of a TRC file.

    Args:
        source: the file.
        options: what the user knows better.

    Raises:
        InputError: the file is no TRC file, is cut short, holds a cell that is no number, names
            no marker, or has no usable rate.
    """
    lines = _lines(source)
    header = _read_header(source, lines)
    rows = _read_rows(source, lines, header)
    notes = _marker_notes(header, rows)
    first, more = _settle_frames(source, header, rows)
    notes += more
    fps, more = settle_times(
        source,
        _times(source, rows),
        options,
        stated=header.values.get("DataRate"),
        digits=max(decimals(cell) for cell in rows.time),
    )
    notes += more
    named = [m for m, name in enumerate(header.names) if name]
    pos = rows.pos[:, named]
    zero = np.all(pos == 0.0, axis=2)
    if count := int(np.sum(zero)):
        text = f"{count} points are exactly at 0 0 0, and count as not seen"
        notes.append(Note("MK187", text, count))
        pos = np.where(zero[..., None], np.nan, pos)
    labels = tuple(header.names[m] for m in named)
    raw = RawPoints(labels, pos, header.values.get("Units", ""), first)
    return place_points(source, raw, fps, options, format="trc", notes=notes)


def _lines(source: Source) -> list[str]:
    data = source.data
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        text = data.decode("utf-16", "replace")
    else:
        data = data.removeprefix(b"\xef\xbb\xbf")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = data.decode("latin-1")
    if "\0" in text:
        raise source.error("holds NUL bytes, a TRC file is text", help="check the download")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _separator(line: str) -> str | None:
    """Tab or comma, whichever the line has; None for blanks."""
    return "\t" if "\t" in line else "," if "," in line else None


def _cells(line: str, separator: str | None) -> list[str]:
    return [cell.strip() for cell in line.split(separator)]


def _read_header(source: Source, lines: list[str]) -> _Header:
    filled = [i for i, line in enumerate(lines) if line.strip(" \t,")][:5]
    if not filled or not lines[filled[0]].lstrip().lower().startswith("pathfiletype"):
        raise source.error("does not start with PathFileType, expected a TRC file",
                           field="line 1")  # fmt: skip
    if len(filled) < 4:
        raise source.error(f"the header ends after {len(filled)} lines, expected 5",
                           help="the file is cut short; export it again")  # fmt: skip
    values = _read_values(source, lines[filled[1]], lines[filled[2]], filled[1])
    at = filled[3]
    names = _read_names(source, lines[at], at)
    first_row = at + 1
    while first_row < len(lines):
        words = [cell for cell in re.split(r"[\s,]+", lines[first_row]) if cell]
        if words and not _AXIS.fullmatch(words[0]):
            break
        letters = "".join(word[0] for word in words).upper()
        if words and letters != "XYZ" * (len(words) // 3):
            raise source.error(
                f"coordinates are {' '.join(words[:6])}, expected X1 Y1 Z1 …",
                field=f"line {first_row + 1}",
            )
        if words and _separator(lines[at]) is None and len(words) != 3 * len(names):
            raise source.error(
                f"{len(names)} names for {len(words)} coordinates in a file separated by blanks",
                field=f"line {at + 1}",
                help="names must not hold blanks; export with tabs",
            )
        first_row += 1
    return _Header(values, names, first_row)


def _read_values(source: Source, keys: str, values: str, at: int) -> dict[str, str]:
    spelt = {key.lower(): key for key in KEYS}
    words = _cells(keys, _separator(keys))
    if not any(word.lower() in spelt for word in words):
        raise source.error(f"expected {KEYS[0]} and other keys, found {keys[:60].strip()!r}",
                           field=f"line {at + 1}")  # fmt: skip
    separator = _separator(values)
    cells = _cells(values, separator)
    if separator is None and len(cells) != len(words):
        words = words[: KEYS.index("Units")]  # a blank unit would shift what follows
    return {spelt[word.lower()]: cell for word, cell in zip(words, cells, strict=False)
            if word.lower() in spelt}  # fmt: skip


def _read_names(source: Source, line: str, at: int) -> tuple[str, ...]:
    """Names of the markers, with blanks between them where a column has none.

    Names that all stand three columns apart stand above their coordinates; others are taken in
    their order.
    """
    cells = _cells(line, _separator(line))
    if not cells or not cells[0].lower().startswith("frame"):
        raise source.error(f"expected Frame#, Time and names, found {line[:60].strip()!r}",
                           field=f"line {at + 1}")  # fmt: skip
    columns = [i for i, cell in enumerate(cells) if cell and i >= FIRST]
    if not columns:
        raise source.error("no marker has a name", field=f"line {at + 1}",
                           help="name the markers where they were recorded")  # fmt: skip
    if all((i - FIRST) % 3 == 0 for i in columns):
        return tuple(cells[FIRST : columns[-1] + 1 : 3])
    return tuple(cells[i] for i in columns)


def _read_rows(source: Source, lines: list[str], header: _Header) -> _Rows:
    last = max((i for i, line in enumerate(lines) if line.strip(" \t,")), default=0)
    numbers = range(header.first_row, last + 1)
    kept = [i for i in numbers if lines[i].strip(" \t,")]
    if not kept:
        raise source.error("holds no frames below its header",
                           help="the file is cut short; export it again")  # fmt: skip
    separator = _separator(lines[kept[0]])
    width = FIRST + 3 * len(header.names)
    if len(kept) * width > max(FEW_CELLS, CELLS_A_BYTE * len(source.data)):
        raise source.error(f"rows of {len(header.names)} markers hold too few numbers",
                           field=f"line {kept[0] + 1}")  # fmt: skip
    values = np.full((len(kept), width - FIRST), np.nan)
    frame, time, num_extra = [], [], 0
    for row, i in enumerate(kept):
        cells = _cells(lines[i], separator)
        _require_width(source, cells, i, width, separator, is_cut=i == len(lines) - 1)
        extra = cells[width:]
        num_extra = max(num_extra, sum(bool(cell) for cell in extra))
        frame.append(cells[0])
        time.append(cells[1])
        filled = cells[FIRST:width]
        try:
            values[row, : len(filled)] = [_number(cell) for cell in filled]
        except ValueError:
            raise _no_number(source, cells, i, header) from None
    return _Rows(frame, time, values.reshape(len(kept), -1, 3), num_extra)


def _require_width(
    source: Source, cells: list[str], line: int, width: int, separator: str | None, *, is_cut: bool
) -> None:
    """Refuse a row from which coordinates cannot be told."""
    count = len(cells)
    if separator is None and count != width and not (count > width and (count - width) % 3 == 0):
        what = "gaps cannot be told in a file separated by blanks"
    elif count >= width:
        return
    elif is_cut:
        what = "the last line ends early"
    elif count >= FIRST and not any(cells[FIRST:]):
        return  # all gaps, and left out
    elif count < FIRST or (count - FIRST - (not cells[-1])) % 3:
        what = "a point lacks a coordinate"
    else:
        return
    raise source.error(
        f"{count} cells, expected {width}: {what}",
        field=f"line {line + 1}",
        help="the file is cut short or was edited; export it again with tabs",
    )


def _number(cell: str) -> float:
    if cell.lower() in NOT_SEEN:
        return np.nan
    if "_" in cell:  # Python's own digits; no file's
        raise ValueError(cell)
    return float(cell.replace(",", "."))


def _times(source: Source, rows: _Rows) -> list[float]:
    """Times of the frames [s]; NaN where a cell is blank."""
    times = []
    for row, cell in enumerate(rows.time):
        try:
            times.append(_number(cell))
        except ValueError:
            raise source.error(f"the time of row {row + 1} is {cell[:40]!r}, expected a number",
                               field="Time") from None  # fmt: skip
    return times


def _no_number(source: Source, cells: list[str], line: int, header: _Header) -> Exception:
    for column, cell in enumerate(cells[FIRST:]):
        try:
            _number(cell)
        except ValueError:
            name = header.names[column // 3] or f"marker {column // 3 + 1}"
            return source.error(f"{'XYZ'[column % 3]} of {name[:40]} is {cell[:40]!r}, expected a "
                                "number or a blank", field=f"line {line + 1}")  # fmt: skip
    raise AssertionError("called for a row of numbers")


def _marker_notes(header: _Header, rows: _Rows) -> list[Note]:
    """What header, names and columns disagree about."""
    notes = []
    named = sum(bool(name) for name in header.names)
    declared = header.values.get("NumMarkers", "")
    said = []
    if _INTEGER.fullmatch(declared) and float(declared) != named:
        said.append(f"{declared} markers are declared, {named} have a name")
    if rows.num_extra:
        said.append(f"up to {rows.num_extra} numbers a line stand right of the last name")
    if named < len(header.names):
        said.append(f"{len(header.names) - named} columns of coordinates have no name")
    if said:
        text = "; ".join(said) + ": points without a name are left out"
        notes.append(Note("MK185", text, named))
    return notes


def _settle_frames(source: Source, header: _Header, rows: _Rows) -> tuple[int, list[Note]]:
    """Number of the first frame, and what the declared count and the numbers disagree about.

    Fewer rows than declared are a file cut short, unless the numbers of the frames show an
    excerpt: they count on without a gap, from after the start, to within what is declared.

    Raises:
        InputError: the file is cut short, or frames are missing inside.
    """
    notes: list[Note] = []
    frames = len(rows.frame)
    numbers = [int(float(cell)) for cell in rows.frame if _INTEGER.fullmatch(cell)]
    counts = len(numbers) == frames
    steps = np.diff(numbers)
    if counts and np.any(steps != 1):
        at = int(np.flatnonzero(steps != 1)[0])
        if len(steps) and np.any(steps != steps[0]):
            raise source.error(
                f"frame {numbers[at]} is followed by frame {numbers[at + 1]}",
                field="Frame#",
                help="frames are missing or out of order; export the file again",
            )
        notes.append(Note("MK185", f"frames are numbered in steps of {steps[0]}", int(steps[0])))
    if not counts:
        notes.append(Note("MK185", "frames have no whole numbers; they are counted from 1"))
    first = numbers[0] if counts else 1
    declared = header.values.get("NumFrames", "")
    if not declared:
        return first, notes
    if not _INTEGER.fullmatch(declared):
        raise source.error(f"{declared[:40]!r} is no whole number", field="NumFrames")
    total = int(float(declared))
    start = header.values.get("OrigDataStartFrame", "")
    start = max(1, int(float(start))) if _INTEGER.fullmatch(start) else 1
    if frames < total:
        last = numbers[-1] if counts else 0
        if not (counts and start < first and last <= start + total - 1):
            raise source.error(
                f"declares {total} frames, holds {frames}",
                field="NumFrames",
                help="the file is cut short or was edited; export it again, or correct the count",
            )
        text = (f"{total} frames are declared, {frames} are here: frames {first} to {last}, an "
                "excerpt by their numbers")  # fmt: skip
        notes.append(Note("MK185", text, frames))
    elif frames > total:
        text = f"{total} frames are declared, {frames} are here; all are read"
        notes.append(Note("MK185", text, frames))
    return first, notes
