"""The text of a BVH file, as numbers: a tolerant parser that infers nothing.

Accepted: any white space and line ends, byte-order marks (UTF-8, UTF-16), any case of keywords
and channels, names with any characters but braces, motion rows wrapped or joined, exponents,
decimal commas where nothing else fits, OFFSET of three or six numbers, joints without CHANNELS,
no or several End Sites. Refused, by name: anything whose meaning would be a guess.

Time is linear in the size; memory follows the data that are there, not a declared count; depth
of nesting is limited by memory alone.
"""

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from jaxtyping import Float

from motionkit.errors import InputError
from motionkit.formats.source import Source

MAX_VALUE = 1e9
"""Largest absolute offset, position or angle taken for data; larger ones are damage."""

_TOKEN = re.compile(rb"[{}]|[^\s{}]+")
_CHANNEL = re.compile(r"([xyz])[_ -]?(pos|rot|trans)[a-z]*", re.IGNORECASE)
_KEYWORDS = (b"OFFSET", b"CHANNELS", b"JOINT", b"ROOT")
_MOTION = re.compile(
    rb"\s*Frames?\s*:?\s*(?P<frames>\S+)\s+Frame\s*Time\s*:?\s*(?P<time>\S+)", re.IGNORECASE
)
_DECIMAL_COMMA = re.compile(rb"[-+]?\d*,\d+(e[-+]?\d+)?", re.IGNORECASE)


@dataclass(slots=True)
class Joint:
    """One joint of the hierarchy, in the units of the file."""

    name: str
    """As spelt."""
    parent: int
    """Index, -1 for a root."""
    offset: tuple[float, float, float] | None = None
    """OFFSET: rest translation from the parent."""
    channels: tuple[tuple[str, str], ...] = ()
    """(``position`` or ``rotation``, axis letter) in the order of the columns."""
    first_column: int = 0
    """Column of the first channel."""
    ends: list[tuple[float, float, float]] = field(default_factory=list)
    """Offsets of its End Sites."""


@dataclass(frozen=True, slots=True)
class BvhText:
    """The numbers of a BVH file."""

    joints: tuple[Joint, ...]
    """Depth first; every parent before its children."""
    frame_time: str
    """As spelt [s]."""
    values: Float[np.ndarray, "T C"]
    """The motion, one column a channel, finite."""
    remarks: tuple[str, ...] = ()
    """Oddities of the text that were understood."""


def parse(source: Source) -> BvhText:
    """The hierarchy and the motion of a BVH file.

    Raises:
        InputError: the text is not a complete, consistent BVH file.
    """
    data, remarks = _plain_bytes(source)
    if b"\0" in data:
        raise source.error("holds NUL bytes, a BVH file is text", help="check the download")
    joints, stop = _Hierarchy(source, data).read()
    head = _MOTION.match(data, stop)
    if head is None:
        found = " ".join(_show(token) for token in data[stop : stop + 80].split()[:6])
        raise source.error(
            f"expected 'Frames: N' and 'Frame Time: S', found {found!r}", field="MOTION"
        )
    width = sum(len(joint.channels) for joint in joints)
    frames = _frame_count(source, head["frames"])
    if width == 0:
        raise source.error("no joint has a channel, so there is no motion", field="CHANNELS")
    flat, comma = _numbers(source, data[head.end() :].strip(), frames * width, width)
    if comma:
        remarks.append("numbers are written with decimal commas")
    if flat.size != frames * width:
        raise source.error(
            f"declares {frames} frames, holds {_quotient(flat.size, width)} "
            f"({flat.size} values of {width} channels)",
            field="Frames",
            help="the file is cut short or was edited; export it again, or correct the count",
        )
    values = flat.reshape(frames, width)
    _require_plausible(source, values, joints)
    time = head["time"].decode("latin-1").replace(",", ".")
    return BvhText(tuple(joints), time, values, tuple(remarks))


def _plain_bytes(source: Source) -> tuple[bytes, list[str]]:
    """The text as UTF-8 (or what came) without a byte-order mark."""
    data = source.data
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return data.decode("utf-16").encode(), ["text is UTF-16"]
        except UnicodeError:
            raise source.error("starts as UTF-16 text but is not") from None
    return data.removeprefix(b"\xef\xbb\xbf"), []


class _Hierarchy:
    """One pass over the tokens before MOTION, with a stack in place of recursion."""

    def __init__(self, source: Source, data: bytes) -> None:
        self.source = source
        self.tokens = _TOKEN.finditer(data)
        self.pushed: re.Match[bytes] | None = None
        self.joints: list[Joint] = []
        self.stack: list[int] = []  # open joints; ~index marks an End Site of that joint
        self.columns = 0

    def read(self) -> tuple[list[Joint], int]:
        """The joints and the position in the text behind MOTION."""
        first = True
        for match in self._stream():
            word = match.group().upper()
            if word == b"HIERARCHY" and first:
                pass
            elif word == b"MOTION" and not self.stack:
                if not self.joints:
                    self._fail("holds no joint", field="HIERARCHY")
                return self.joints, match.end()
            elif word == b"MOTION":
                self._fail(f"{len(self.stack)} closing brace(s) missing before MOTION",
                           field=f"HIERARCHY, joint {self._name()}")  # fmt: skip
            else:
                self._statement(word, match.group(), first)
            first = False
        field = f"HIERARCHY, joint {self._name()}" if self.stack else "HIERARCHY"
        self._fail("the file ends before a MOTION section", field=field,
                   help="the file is cut short; export it again")  # fmt: skip

    def _stream(self) -> Iterator[re.Match[bytes]]:
        while (match := self._next()) is not None:
            yield match

    def _next(self) -> re.Match[bytes] | None:
        if self.pushed is not None:
            match, self.pushed = self.pushed, None
            return match
        return next(self.tokens, None)

    def _statement(self, word: bytes, spelt: bytes, first: bool) -> None:
        if word in (b"ROOT", b"JOINT"):
            self._open_joint(word)
        elif word in (b"END", b"ENDSITE") and self.stack:
            self._words_to_brace("End Site")
            self._need_joint("End Site")
            self.stack.append(~self.stack[-1])
        elif word == b"OFFSET" and self.stack:
            self._offset()
        elif word == b"CHANNELS" and self.stack:
            self._channels()
        elif word == b"}" and self.stack:
            self._close()
        elif word == b"}":
            self._fail("a closing brace too many", field="HIERARCHY")
        elif first:
            self._fail(f"starts with {_show(spelt)!r}, a BVH file starts with HIERARCHY")
        else:
            self._fail(f"unexpected {_show(spelt)!r}", field=f"HIERARCHY, joint {self._name()}")

    def _open_joint(self, word: bytes) -> None:
        if (word == b"ROOT") != (not self.stack):
            self._fail(f"{_show(word)!r} where {'JOINT' if self.stack else 'ROOT'} is expected",
                       field=f"HIERARCHY, joint {self._name()}")  # fmt: skip
        name = self._words_to_brace(f"{_show(word)}")
        self._need_joint(name)
        self.joints.append(Joint(name, self.stack[-1] if self.stack else -1))
        self.stack.append(len(self.joints) - 1)

    def _need_joint(self, inner: str) -> None:
        if self.stack and self.stack[-1] < 0:
            self._fail(f"{inner} inside an End Site", field=f"HIERARCHY, joint {self._name()}")

    def _words_to_brace(self, what: str) -> str:
        words = []
        for match in self._stream():
            word = match.group()
            if word == b"{":
                return _text(b" ".join(words))
            if word == b"}" or (words and word.upper() in _KEYWORDS):
                break
            words.append(word)
        self._fail(f"no opening brace after {what} {_show(b' '.join(words))!r}", field="HIERARCHY")

    def _close(self) -> None:
        index = self.stack.pop()
        if index >= 0 and self.joints[index].offset is None:
            self._fail("has no OFFSET", field=f"HIERARCHY, joint {self.joints[index].name}")

    def _offset(self) -> None:
        numbers: list[float] = []
        for match in self._stream():
            value = _float(match.group())
            if value is None:
                self.pushed = match
                break
            numbers.append(value)
        field = f"HIERARCHY, joint {self._name()}, OFFSET"
        if len(numbers) not in (3, 6):
            self._fail(f"has {len(numbers)} numbers, expected 3 (or 6 with a rest rotation)",
                       field=field)  # fmt: skip
        if not all(abs(value) <= MAX_VALUE for value in numbers):  # NaN fails too
            self._fail(f"{numbers} is not finite, or beyond {MAX_VALUE:g}", field=field)
        offset = (numbers[0], numbers[1], numbers[2])
        index = self.stack[-1]
        if index < 0:
            self.joints[~index].ends.append(offset)
        else:
            self.joints[index].offset = offset

    def _channels(self) -> None:
        field = f"HIERARCHY, joint {self._name()}, CHANNELS"
        count = self._next()
        text = count.group() if count else b""
        if not re.fullmatch(rb"\d{1,3}", text):
            self._fail(f"{_show(text)!r} is not a count of channels", field=field)
        names = []
        for _ in range(int(text)):
            match = self._next()
            word = _show(match.group()) if match else "the end of the file"
            known = _CHANNEL.fullmatch(word)
            if known is None:
                self._fail(f"{word!r} is not a channel, expected e.g. Xposition or Zrotation",
                           field=field)  # fmt: skip
            kind = "rotation" if known[2].lower() == "rot" else "position"
            names.append((kind, known[1].upper()))
        positions = [name for name in names if name[0] == "position"]
        if len(set(positions)) != len(positions):
            self._fail("a position channel is listed twice", field=field)
        if self.stack[-1] < 0:
            self._fail("an End Site has channels", field=field)
        joint = self.joints[self.stack[-1]]
        if joint.channels:
            self._fail("CHANNELS is listed twice", field=field)
        joint.channels, joint.first_column = tuple(names), self.columns
        self.columns += len(names)

    def _name(self) -> str:
        if not self.stack:
            return "(none)"
        index = self.stack[-1]
        return self.joints[index if index >= 0 else ~index].name

    def _fail(self, message: str, *, field: str = "", help: str = "") -> NoReturn:
        raise self.source.error(message, field=field, help=help)


def _text(raw: bytes) -> str:
    """Names are UTF-8; older tools wrote Latin-1, which decodes any bytes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _show(raw: bytes) -> str:
    """Text from the file for a message, short and printable."""
    text = _text(raw[:60])
    return "".join(c if c.isprintable() else "?" for c in text)


def _float(token: bytes) -> float | None:
    if token.count(b",") == 1 and _DECIMAL_COMMA.fullmatch(token):
        token = token.replace(b",", b".")
    try:
        return float(token.rstrip(b","))
    except ValueError:
        return None


def _frame_count(source: Source, token: bytes) -> int:
    if not re.fullmatch(rb"\d{1,18}", token):
        raise source.error(f"{_show(token)!r} is not a count of frames", field="Frames")
    if int(token) == 0:
        raise source.error("declares 0 frames, expected at least 1", field="Frames")
    return int(token)


def _numbers(
    source: Source, text: bytes, expected: int, width: int
) -> tuple[Float[np.ndarray, "N"], bool]:
    """All numbers of the motion, and whether commas were decimal points.

    Commas are tried as separators and as decimal points; the reading that gives the declared
    count is taken, and two or none that do is an error.
    """
    if b"," not in text:
        return _parse_numbers(source, text, width), False
    readings = [(text.replace(b",", b" "), False)]
    if b"." not in text:
        readings.append((text.replace(b",", b"."), True))
    parsed = []
    for candidate, comma in readings:
        try:
            parsed.append((_parse_numbers(source, candidate, width), comma))
        except InputError:
            continue
    fitting = [reading for reading in parsed if reading[0].size == expected]
    if len(fitting) != 1:
        raise source.error(
            f"commas in the numbers are ambiguous: {expected} values are declared, and no single "
            "reading gives them",
            field="MOTION",
            help="export with decimal points and blanks",
        )
    return fitting[0]


def _parse_numbers(source: Source, text: bytes, width: int) -> Float[np.ndarray, "N"]:
    if not text:
        return np.zeros(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # how numpy < 2.3 reports bad text
            return np.fromstring(text, dtype=np.float64, sep=" ")  # pyright: ignore
    except (ValueError, DeprecationWarning):
        pass
    for index, token in enumerate(text.split()):  # slow, and only to name the culprit
        value = _float(token)
        if value is None or b"_" in token:
            raise source.error(
                f"{_show(token)!r} at frame {index // width}, column {index % width} "
                "is not a number",
                field="MOTION",
                help="export the file again, or cut the damaged frames away",
            )
    raise source.error("the numbers cannot be read", field="MOTION")


def _require_plausible(
    source: Source, values: Float[np.ndarray, "T C"], joints: list[Joint]
) -> None:
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(values) <= MAX_VALUE)  # catches NaN
    if not bad.any():
        return
    frame, column = (int(i) for i in np.argwhere(bad)[0])
    joint = next(
        j for j in joints if 0 <= column - j.first_column < len(j.channels)
    )  # every column belongs to one joint
    kind, axis = joint.channels[column - joint.first_column]
    value = values[frame, column]
    what = "is not finite" if not np.isfinite(value) else f"is beyond {MAX_VALUE:g}"
    raise source.error(
        f"{value:g} at frame {frame} {what} ({bad.sum()} such value(s))",
        field=f"MOTION, joint {joint.name}, {axis}{kind}",
        help="repair the source or cut the frames away",
    )


def _quotient(count: int, width: int) -> str:
    whole, rest = divmod(count, width)
    return f"{whole}" if not rest else f"{whole} and {rest} values of another"
