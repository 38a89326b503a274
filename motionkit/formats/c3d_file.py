"""The header of a C3D file and its parameters, as far as they are sound.

A C3D file is made of blocks of 512 bytes. Block 1 is the header, of 16-bit words; its first byte
says where the parameters begin, its ninth word where the data. Parameters are records in a chain:
length of name, number of group, name, distance to the next record; then, of a group, a
description, and of a parameter its type, its dimensions, its values and a description. Numbers are
those of a PC, of a DEC (VAX) or of a MIPS (SGI) processor, which the fourth byte of the parameters
says. (The C3D User Guide, Motion Lab Systems, 2021, "The Header Section", "The Parameter Section".)

Nothing here trusts a pointer or a count: a record that does not fit is left out and said, and the
chain is taken up again where a whole record is found.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, UInt8

from motionkit.formats.source import Source

Array = np.ndarray
Processor = Literal["pc", "dec", "sgi"]

BLOCK = 512
"""Bytes of a block."""
SIGNATURE = 0x50
"""Second byte of every C3D file."""
PROCESSORS: dict[int, Processor] = {84: "pc", 85: "dec", 86: "sgi"}
"""By the fourth byte of the parameters."""
TEXT = -1
"""Type of parameters that are text; the others are the bytes of one number: 1, 2 or 4."""
_TYPES = (TEXT, 1, 2, 4)
_MAX_DIMENSIONS = 7
_MAX_RECORDS = 20_000
"""Records read of one file: 127 groups with 157 parameters each."""
_MAX_SEARCH = 200_000
"""Bytes that are searched, all in all, for a record after damage: more than 255 blocks hold."""
_LONGEST_NAME = 40
"""Letters of a name that is looked for after damage."""
_MAX_SAID = 3
"""Damaged places that a note lists."""


@dataclass(frozen=True, slots=True)
class Header:
    """Words of the first block."""

    num_points: int
    """Points per frame (word 2)."""
    num_analog: int
    """Analog values per frame of points, all channels and samples (word 3)."""
    first: int
    """Number of the first frame (word 4)."""
    last: int
    """Number of the last frame (word 5)."""
    scale: float
    """Units per count; negative where points are stored as floats (words 7 and 8)."""
    data_block: int
    """Block of the first data, counted from 1 (word 9)."""
    num_samples: int
    """Analog samples per channel and frame (word 10)."""
    rate: float
    """Frames per second (words 11 and 12)."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter, its values still in bytes."""

    kind: int
    """:data:`TEXT`, or bytes of one number."""
    dims: tuple[int, ...]
    """Dimensions, the fastest first; empty for a single value."""
    data: bytes
    """Values."""
    processor: Processor
    """Whose numbers they are."""

    def texts(self) -> list[str]:
        """Its strings, without padding; a number has none."""
        if self.kind != TEXT:
            return []
        width = self.dims[0] if self.dims else 1
        if width == 0:
            return []
        ends = range(width, len(self.data) + 1, width)
        return [to_text(self.data[end - width : end]) for end in ends]

    def numbers(self) -> Float[Array, "n"]:
        """Its values in the file's order; integers with their sign; text has none."""
        if self.kind == TEXT:
            return np.zeros(0)
        if self.kind == 4:
            return to_floats(np.frombuffer(self.data, np.uint8), self.processor)
        order = ">" if self.processor == "sgi" else "<"
        return np.frombuffer(self.data, f"{order}i{self.kind}").astype(np.float64)


@dataclass(frozen=True, slots=True)
class C3dFile:
    """Header and parameters."""

    processor: Processor
    """Whose numbers all of the file has."""
    header: Header
    """The first block."""
    parameters: dict[tuple[str, str], Parameter]
    """By names of group and parameter, upper case; the first of several of one name."""
    damage: tuple[str, ...]
    """What of the parameters could not be read, and where."""

    def texts(self, group: str, name: str) -> list[str]:
        """Strings of a parameter and of its continuations, ``LABELS``, ``LABELS2`` and on."""
        found: list[str] = []
        number = 1
        while (key := (group, name if number == 1 else f"{name}{number}")) in self.parameters:
            found += self.parameters[key].texts()
            number += 1
        return found

    def text(self, group: str, name: str) -> str:
        """The first string of a parameter that is not blank, or empty text."""
        return next((text for text in self.texts(group, name) if text), "")

    def numbers(self, group: str, name: str) -> Float[Array, "n"]:
        """Values of a parameter and of its continuations; none where it is absent."""
        found: list[Array] = []
        number = 1
        while (key := (group, name if number == 1 else f"{name}{number}")) in self.parameters:
            found.append(self.parameters[key].numbers())
            number += 1
        return np.concatenate(found) if found else np.zeros(0)

    def number(self, group: str, name: str) -> float:
        """The first value of a parameter; NaN where there is none."""
        values = self.numbers(group, name)
        return float(values[0]) if len(values) else float("nan")

    def count(self, group: str, name: str) -> float:
        """The same for a count: a 16-bit integer stands for 0 to 65535; NaN where absent."""
        value = self.number(group, name)
        parameter = self.parameters.get((group, name))
        return value + 65536.0 if value < 0 and parameter and parameter.kind == 2 else value


def to_text(data: bytes) -> str:
    """Text of a file that may be of any encoding: printable, without padding.

    UTF-8 where it is valid, else Latin-1; what cannot be printed becomes a question mark.
    """
    data = data.lstrip(b"\0 ").split(b"\0")[0]  # what follows an end of text is no part of it
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.strip()
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def to_floats(data: UInt8[Array, "*b"], processor: Processor) -> Float[Array, "*n"]:
    """Single-precision numbers of any of the three processors, in double precision.

    A VAX F-float has its 16-bit words in the other order and stands for
    ``(1 + m / 2²³) · 2^(e - 129)``, a quarter of what an IEEE float of the same bits does; ``e`` of
    0 is zero, or with the sign set no number (VAX Architecture Reference Manual, F_floating).

    Args:
        data: bytes; the last axis holds whole numbers.
        processor: whose numbers they are.
    """
    data = np.ascontiguousarray(data)
    if processor != "dec":
        with np.errstate(invalid="ignore"):  # a signalling NaN is one like the others
            return data.view("<f4" if processor == "pc" else ">f4").astype(np.float64)
    words = data.view("<u2").astype(np.uint32)
    bits = (words[..., 0::2] << 16) | words[..., 1::2]
    exponent = ((bits >> 23) & 0xFF).astype(np.int32)
    sign = np.where(bits >> 31, -1.0, 1.0)
    size = np.ldexp(1.0 + (bits & 0x7FFFFF) / 2.0**23, exponent - 129)
    return np.where(exponent > 0, sign * size, np.where(sign < 0, np.nan, 0.0))


def decode_file(source: Source) -> C3dFile:
    """Header and parameters of a file.

    Raises:
        InputError: it is too short, has not the signature of C3D, its parameters lie outside it,
            or it names a processor that there is not.
    """
    data = source.data
    if len(data) < BLOCK:
        raise source.error(f"has {len(data)} bytes, a C3D header alone has {BLOCK}",
                           help="copy or download it again")  # fmt: skip
    if data[1] != SIGNATURE:
        raise source.error(f"second byte is {data[1]}, of a C3D file it is {SIGNATURE}",
                           field="header", help="is it another format?")  # fmt: skip
    start = (data[0] - 1) * BLOCK
    if start < BLOCK or start + 4 > len(data):
        blocks = -(-len(data) // BLOCK)
        raise source.error(f"says that parameters begin at block {data[0]}, the file has {blocks} "
                           "blocks and they begin at 2 or later", field="header",
                           help="the file is damaged; export it again")  # fmt: skip
    processor = PROCESSORS.get(data[start + 3])
    if processor is None:
        raise source.error(f"processor is {data[start + 3]}, expected 84 (PC), 85 (DEC) or "
                           "86 (SGI)", field=f"parameters, byte {start + 3}",
                           help="the file is damaged; export it again")  # fmt: skip
    header = _decode_header(data, processor)
    stop = min(start + max(data[start + 2], 1) * BLOCK, len(data))
    begin = (header.data_block - 1) * BLOCK
    if begin > start:  # the length of one byte may be too small, and data may lie before its end
        stop = min(begin, len(data))
    records, damage = _walk(data, start + 4, stop, processor)
    return C3dFile(processor, header, records, tuple(damage))


def say_damage(damage: tuple[str, ...]) -> str:
    """One line on the damaged places of a parameter section."""
    more = len(damage) - _MAX_SAID
    listed = "; ".join(damage[:_MAX_SAID]) + (f"; and {more} more" if more > 0 else "")
    return f"parameter section: {listed}"


def _decode_header(data: bytes, processor: Processor) -> Header:
    order = ">" if processor == "sgi" else "<"
    words = [int(word) for word in np.frombuffer(data[:24], f"{order}u2")]

    def real(at: int) -> float:
        return float(to_floats(np.frombuffer(data[at : at + 4], np.uint8), processor)[0])

    return Header(
        num_points=words[1], num_analog=words[2], first=words[3], last=words[4], scale=real(12),
        data_block=words[8], num_samples=words[9], rate=real(20),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Record:
    """A link of the chain."""

    name: str
    group: int
    next: int | None
    """Byte of the next record; none after the last."""
    parameter: Parameter | None
    """Absent for a group."""
    fault: str = ""
    """What is wrong with it, though it could be read."""


def _walk(
    data: bytes, start: int, stop: int, processor: Processor
) -> tuple[dict[tuple[str, str], Parameter], list[str]]:
    """Parameters by name, and what could not be read."""
    groups: dict[int, str] = {}
    found: dict[tuple[int, str], Parameter] = {}
    damage: list[str] = []
    at, searched = start, 0
    for _ in range(_MAX_RECORDS):
        if at + 2 > stop or data[at] == 0:
            break
        record = _read_record(data, at, stop, processor)
        if record is None:
            resumed = _find_record(data, at + 1, min(stop, at + _MAX_SEARCH - searched), processor)
            rest = f"read on at {resumed}" if resumed else "nothing after it is read"
            damage.append(f"no record at byte {at}, {rest}")
            if resumed is None:
                break
            searched += resumed - at
            at = resumed
            continue
        if record.fault:
            name = f"{groups.get(record.group, f'#{record.group}')}:{record.name}"
            damage.append(f"{name} at byte {at} {record.fault}")
        if record.parameter is None:
            groups.setdefault(record.group, record.name)
        else:
            found.setdefault((record.group, record.name), record.parameter)
        if record.next is None:
            break
        at = record.next
    else:
        damage.append(f"more than {_MAX_RECORDS} records")
    named: dict[tuple[str, str], Parameter] = {}
    for (group, name), parameter in found.items():
        named.setdefault((groups.get(group, f"#{group}"), name), parameter)
    return named, damage


def _read_record(data: bytes, at: int, stop: int, processor: Processor) -> _Record | None:
    """The record at a byte, or none if there is none.

    Values that reach beyond the record are kept as far as strings are whole, and numbers not at
    all.
    """
    length = min(data[at], 256 - data[at])  # negative: of a locked parameter
    group = data[at + 1] - 256 if data[at + 1] > 127 else data[at + 1]
    name = data[at + 2 : at + 2 + length]
    link = at + 2 + length  # where the distance to the next record stands, from itself
    if length == 0 or group == 0 or link + 2 > stop or not _is_name(name):
        return None
    key = name.decode("latin-1").strip().upper()
    step = int.from_bytes(data[link : link + 2], "big" if processor == "sgi" else "little")
    following = link + step if step else None
    fits = following is None or link + 2 < following <= stop
    if group < 0:
        return _Record(key, -group, following, None) if fits else None
    if link + 4 > stop:
        return None
    kind, rank = data[link + 2] - 256 if data[link + 2] > 127 else data[link + 2], data[link + 3]
    first = link + 4 + rank
    if kind not in _TYPES or rank > _MAX_DIMENSIONS or first > stop:
        return None
    dims = tuple(data[link + 4 : first])
    size = abs(kind)
    for dim in dims:
        size *= dim
    last, limit = first + size, following if fits and following is not None else stop
    fault, reach = "", last
    if last > limit:
        if fits and following is not None and last < stop:
            # the pointer is too short for the values, which may be whole
            following = last + 1 + data[last]
            fault = "overlaps the next record"
        else:
            width = max(dims[0] if kind == TEXT and dims else size, 1)
            reach = first + max(limit - first, 0) // width * width
            fault = f"is cut off: {reach - first} of {size} bytes"
            following = following if fits else None
    elif not fits:
        fault = f"points to byte {following}, outside the section"
        following = last + 1 + data[last] if last < stop else None
    if following is not None and following > stop:
        following = None
    parameter = Parameter(kind, dims, data[first:reach], processor)
    return _Record(key, group, following, parameter, fault)


def _find_record(data: bytes, at: int, stop: int, processor: Processor) -> int | None:
    """The next byte at which a whole parameter stands, whose parts fit each other exactly."""
    for place in range(at, stop - 4):
        length = min(data[place], 256 - data[place])  # negative: of a locked parameter
        if not 2 <= length <= _LONGEST_NAME or not 0 < data[place + 1] < 128:
            continue
        link = place + 2 + length
        if link + 4 > stop or not _is_name(data[place + 2 : link]):
            continue
        record = _read_record(data, place, stop, processor)
        if record is None or record.parameter is None or record.fault:
            continue
        end = link + 4 + len(record.parameter.dims) + len(record.parameter.data)
        if record.next is None or record.next == end + 1 + data[end]:
            return place
    return None


def _is_name(name: bytes) -> bool:
    """Whether bytes look like the name of a group or parameter."""
    return all(32 <= byte < 127 or byte >= 160 for byte in name) and not name.isspace()
