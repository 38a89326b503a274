"""The data of a C3D file: how it is laid out, its points and its analog channels.

Every frame holds four numbers for each point, x, y, z and a word on how it was seen, and then the
analog samples, all channels of one sample before the next sample. The numbers are 16-bit integers,
of which coordinates are multiplied by a scale, or single-precision floats, which are not. The
header's words 2 and 3 give the width of a frame; nothing else does, since programs leave the
parameters ``POINT:USED`` and ``ANALOG:USED`` out or wrong.

A point that was not seen is written in three ways, and all three are looked for: coordinates that
are no numbers, a negative fourth word, and coordinates of exactly zero. (The C3D User Guide, Motion
Lab Systems, 2021, "The 3D Data Section"; the third is common practice.)
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from motionkit.clip import Note
from motionkit.formats.c3d_file import BLOCK, C3dFile, Header, Processor, to_floats
from motionkit.formats.source import Source

Array = np.ndarray

LARGEST = 1e7
"""Coordinates [units of the file] beyond it, 10 km in millimetres, are no recording's."""
LARGEST_SHARE = 0.01
"""Share of seen points beyond :data:`LARGEST` from which the data are none."""
MAX_WORD = 65535
"""Largest number of a frame that a header can hold; more frames are counted elsewhere."""
SAME = 1e-4
"""Relative difference below which two numbers of header and parameters are one."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the data are and how they are written."""

    start: int
    """First byte."""
    num_frames: int
    """Frames, all of which are in the file."""
    first_frame: int
    """Number of the first."""
    num_points: int
    """Points in a frame."""
    num_analog: int
    """Analog values in a frame."""
    is_float: bool
    """Whether numbers are floats rather than 16-bit integers."""
    scale: float
    """Units of the file per count, of integers."""
    processor: Processor
    """Whose numbers they are."""

    @property
    def word(self) -> int:
        """Bytes of a number."""
        return 4 if self.is_float else 2

    @property
    def stride(self) -> int:
        """Bytes of a frame."""
        return self.word * (4 * self.num_points + self.num_analog)


@dataclass(frozen=True, slots=True)
class Unseen:
    """How many samples were found not to have been seen, by the first sign that says so."""

    not_numbers: int
    """Coordinates that are NaN or infinite."""
    negative: int
    """Coordinates that are numbers, and a negative fourth word."""
    zero: int
    """Coordinates of exactly zero, and a fourth word that says that they were seen."""


def find_layout(source: Source, file: C3dFile) -> tuple[Layout, list[Note]]:
    """Where the data are, with all that header and parameters disagree about.

    Raises:
        InputError: there are no points or no frames, or the file is shorter than it declares.
    """
    header = file.header
    if header.num_points == 0:
        raise source.error(_without_points(file), field="header",
                           help="motionkit reads labelled points; export them too")  # fmt: skip
    frames, first, counted = _count_frames(source, file)
    start, notes = _find_start(source, file)
    scale, said = _find_scale(source, file)
    notes += said
    layout = Layout(start, frames, first, header.num_points, header.num_analog,
                    scale < 0, abs(scale), file.processor)  # fmt: skip
    room = (len(source.data) - start) // layout.stride
    if frames == 0:
        frames, counted = _count_by_bytes(source, header, layout, room)
        layout = replace(layout, num_frames=frames)
    count = header.last - header.first + 1
    is_wrapped = header.last == MAX_WORD or (frames - count) % (MAX_WORD + 1) == 0
    if frames > room >= count > 0 and not is_wrapped:  # the header is sound, the parameters not
        counted = _disagree(count, [f"the parameters count {frames}, more than the file holds"])
        layout, frames = replace(layout, num_frames=count), count
    if frames > room:
        raise _too_short(source, file, layout, frames, room)
    notes += counted
    used = file.count("POINT", "USED")
    if np.isfinite(used) and used != header.num_points:
        text = f"POINT:USED says {used:g} points, the header {header.num_points}, which is taken"
        notes.append(Note("MK151", text, float(header.num_points)))
    left = len(source.data) - start - frames * layout.stride
    if left >= max(layout.stride, BLOCK) and not (file.number("ROTATION", "USED") > 0):
        text = f"{left} bytes after the {frames} frames that are declared are left unread"
        notes.append(Note("MK151", text, float(left), "bytes"))
    return layout, notes


def read_points(source: Source, layout: Layout) -> tuple[Float[Array, "T M 3"], Unseen]:
    """Coordinates in units of the file, NaN where not seen.

    Memory is a small multiple of the bytes of the data that are there.

    Raises:
        InputError: the coordinates are too large to be any.
    """
    table = _frames(source, layout)[:, : 4 * layout.num_points * layout.word]
    shape = (layout.num_frames, layout.num_points, 4)
    if layout.is_float:
        values = to_floats(table, layout.processor).reshape(shape)
        pos, negative = values[..., :3].copy(), values[..., 3] < 0
    else:
        counts = _integers(table, layout.processor, signed=True).reshape(shape)
        pos, negative = counts[..., :3] * layout.scale, counts[..., 3] < 0
    numbers = np.all(np.isfinite(pos), axis=-1)
    zero = np.all(pos == 0.0, axis=-1) & ~negative
    unseen = Unseen(int(np.sum(~numbers)), int(np.sum(numbers & negative)), int(np.sum(zero)))
    pos[~numbers | negative | zero] = np.nan
    seen = int(np.sum(~np.isnan(pos[..., 0])))
    large = int(np.sum(np.any(np.abs(pos) > LARGEST, axis=-1)))  # NaN is not
    if large > LARGEST_SHARE * seen:
        raise source.error(
            f"{100 * large / seen:.0f} % of the points are beyond {LARGEST:g} units: no positions",
            field="data", help="the header names the wrong place or kind of numbers; export again",
        )  # fmt: skip
    return pos, unseen


def read_analog_counts(
    source: Source, layout: Layout, num_channels: int, *, signed: bool
) -> Float[Array, "S A"]:
    """Analog values as they are stored, before offset and scale, a row a sample."""
    table = _frames(source, layout)[:, 4 * layout.num_points * layout.word :]
    if layout.is_float:
        values = to_floats(table, layout.processor)
    else:
        values = _integers(table, layout.processor, signed=signed)
    return values.reshape(-1, num_channels)


def _frames(source: Source, layout: Layout) -> Array:
    """The bytes of the data, a row a frame."""
    size = layout.num_frames * layout.stride
    data = np.frombuffer(source.data, np.uint8, size, layout.start)
    return data.reshape(layout.num_frames, layout.stride)


def _integers(table: Array, processor: Processor, *, signed: bool) -> Float[Array, "T n"]:
    order = ">" if processor == "sgi" else "<"
    kind = f"{order}i2" if signed else f"{order}u2"
    return np.ascontiguousarray(table).view(kind).astype(np.float64)


def _without_points(file: C3dFile) -> str:
    header = file.header
    channels = header.num_analog // max(header.num_samples, 1)
    used = file.count("POINT", "USED")
    text = f"holds {channels} analog channels and no points" if channels else "holds no points"
    return text + (f", though POINT:USED says {used:g}" if used > 0 else "")


def _find_start(source: Source, file: C3dFile) -> tuple[int, list[Note]]:
    """First byte of the data: the header's, or the parameter's where the header's cannot be."""
    blocks = {
        "header": float(file.header.data_block),
        "POINT:DATA_START": file.count("POINT", "DATA_START"),
    }
    usable = {name: int(block) for name, block in blocks.items()
              if block >= 2 and (block - 1) * BLOCK < len(source.data)}  # fmt: skip
    if not usable:
        blocks_here = -(-len(source.data) // BLOCK)
        raise source.error(
            f"data begin at block {file.header.data_block}, the file has {blocks_here} blocks",
            field="header", help="the file is damaged or cut off; copy or export it again",
        )  # fmt: skip
    name, block = next(iter(usable.items()))
    others = [
        f"{other} says {value:g}"
        for other, value in blocks.items()
        if other != name and np.isfinite(value) and value not in (block, 0.0)
    ]
    notes = []
    if others:
        text = f"data begin at block {block} by {name}, which is taken; {others[0]}"
        notes.append(Note("MK151", text, float(block)))
    return (block - 1) * BLOCK, notes


def _find_scale(source: Source, file: C3dFile) -> tuple[float, list[Note]]:
    """The scale with its sign: the header's, or the parameter's where the header has none."""
    header, stated = file.header.scale, file.number("POINT", "SCALE")
    usable = [s for s in (header, stated) if np.isfinite(s) and s != 0.0]
    if not usable:
        raise source.error(f"scale is {header:g} in the header and {stated:g} in POINT:SCALE",
                           field="header", help="the file is damaged; export it again")  # fmt: skip
    if len(usable) < 2 or abs(stated / header - 1.0) <= SAME:
        return usable[0], []
    if header < 0 and stated < 0:
        return header, []  # floats carry no scale: nothing depends on it
    text = f"scale is {header:g} in the header, which is taken, and {stated:g} in POINT:SCALE"
    return header, [Note("MK151", text, header)]


def _count_frames(source: Source, file: C3dFile) -> tuple[int, int, list[Note]]:
    """Frames that are declared, the number of the first, and what disagrees.

    The header holds frame numbers up to 65535. Beyond, ``TRIAL:ACTUAL_START_FIELD`` and
    ``ACTUAL_END_FIELD`` (two words each), ``POINT:LONG_FRAMES`` or a float ``POINT:FRAMES`` do;
    without them the count is 0: by the bytes.
    """
    header = file.header
    count = header.last - header.first + 1
    frames = file.count("POINT", "FRAMES")
    start, end = (_wide(file, f"ACTUAL_{which}_FIELD") for which in ("START", "END"))
    first = int(start) if np.isfinite(start) else header.first
    wide = [n for n in (end - start + 1, file.number("POINT", "LONG_FRAMES"), frames)
            if np.isfinite(n) and n > 0]  # fmt: skip
    longest = int(max(wide, default=0))
    if longest > MAX_WORD or (longest > count and header.last == MAX_WORD and longest != MAX_WORD):
        wraps = header.last == MAX_WORD or (longest - count) % (MAX_WORD + 1) == 0
        stated = [] if wraps else [f"the header counts {count}"]
        return longest, first, _disagree(longest, stated)
    if header.last == MAX_WORD and frames in (MAX_WORD, -1.0) and not np.isfinite(end):
        return 0, first, []
    if count <= 0:
        if not longest:
            raise source.error(f"frames {header.first} to {header.last}: holds no frames",
                               field="header", help="record or export it again")  # fmt: skip
        text = f"the header has frames {header.first} to {header.last}"
        return longest, first, _disagree(longest, [text])
    stated = [f"POINT:FRAMES says {frames:g}"] if np.isfinite(frames) and frames != count else []
    if np.isfinite(end) and end - start + 1 != count:
        stated.append(f"TRIAL says {start:g} to {end:g}")
        first = header.first
    return count, first, _disagree(count, stated)


def _count_by_bytes(
    source: Source, header: Header, layout: Layout, room: int
) -> tuple[int, list[Note]]:
    """Frames of a file whose header stops at 65535, without zeros that only fill its last block."""
    count = header.last - header.first + 1
    if len(source.data) - layout.start - count * layout.stride < BLOCK:
        return count, []  # as many as the header says, or fewer
    end = layout.start + room * layout.stride
    while len(source.data) - end + layout.stride < BLOCK and room > count:
        if any(source.data[end - layout.stride : end]):
            break
        room, end = room - 1, end - layout.stride
    text = f"frames are counted by the bytes, {room}: the header cannot hold so many"
    return room, [Note("MK151", text, float(room))]


def _wide(file: C3dFile, name: str) -> float:
    """A frame number of two 16-bit words, the lower first; NaN where it is absent."""
    values = file.numbers("TRIAL", name)
    if len(values) < 2:
        return file.count("TRIAL", name)
    return float(values[0] % 65536 + 65536 * (values[1] % 65536))


def _disagree(count: int, others: list[str]) -> list[Note]:
    if not others:
        return []
    text = f"{count} frames are taken; {', '.join(others)}"
    return [Note("MK151", text, float(count))]


def _too_short(source: Source, file: C3dFile, layout: Layout, frames: int, room: int) -> Exception:
    needs, has = layout.start + frames * layout.stride, len(source.data)
    said = file.count("POINT", "FRAMES")
    text = (f"declares {frames} frames of {layout.stride} bytes from byte {layout.start}, "
            f"{needs} bytes in all; the file has {has}, enough for {room} frames")  # fmt: skip
    if np.isfinite(said) and said != frames:
        text += f" (POINT:FRAMES says {said:g})"
    help = "the file is cut off or its header is wrong; copy or export it again"
    return source.error(text, field="header", help=help)
