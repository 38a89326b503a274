"""A file as it was opened, the options of its reader, and the rule for rates.

Nothing here knows a format. Readers raise through :meth:`Source.error`, so that every refusal
names the file, the field and the value.
"""

import hashlib
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Literal

import numpy as np

from motionkit.clip import Note
from motionkit.errors import ConfigError, InputError

UpAxis = Literal["x", "y", "z", "-x", "-y", "-z"]
QuatOrder = Literal["wxyz", "xyzw"]

MAX_FILE = 4 * 1024**3
"""Largest file that is read [bytes]: the whole of it is held in memory."""
RATE_TOLERANCE = 2e-5
"""Relative distance within which a rate is taken for the whole number beside it: 30.0003 → 30."""
MAX_RATE_CHANGE = 0.015
"""Relative change that the digits of a rounded frame time may explain: 0.033 s → 30 (1 %)."""
NEAR_RATE = 0.05
"""Relative distance of another usual rate that the digits fit, up to which it is mentioned."""
SILENT_RATE_CHANGE = 1e-9
"""Relative change of a rate below which nothing is said."""
USUAL_RATES = (24, 25, 30, 48, 50, 60, 72, 75, 90, 100, 120, 125, 144, 150, 180, 200, 240, 250,
               300, 360, 400, 480, 500, 600, 1000)  # fmt: skip
"""Whole rates [1/s] that cameras and motion-capture systems run at."""
BROADCAST_RATES = (24000 / 1001, 30000 / 1001, 60000 / 1001, 120000 / 1001)
"""Rates [1/s] of the NTSC family, which are never rounded to whole numbers."""
RATE_RANGE = (2.0, 2000.0)
"""Rates [1/s] outside it are taken for a mistake, e.g. a rate written as a frame time."""

LONGEST_TEXT = 700
"""Characters of a refusal's message, field or help; a damaged file may hold names of any length."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user may tell a reader; each overrides what the file says or shows."""

    fps: float | None = field(
        default=None,
        metadata={"help": "frames per second, in place of the file's", "unit": "1/s"},
    )
    """Frames per second, in place of the file's."""
    scale: float | None = field(
        default=None,
        metadata={"help": "length of one unit of the file, in place of the one inferred",
                  "unit": "m"},
    )  # fmt: skip
    """Metres per unit of the file, in place of the one inferred."""
    up: UpAxis | None = field(
        default=None,
        metadata={"help": "axis of the file that points up, in place of the one inferred"},
    )
    """The axis of the file that points up, in place of the one inferred."""
    quat_order: QuatOrder | None = field(
        default=None,
        metadata={"help": "order of quaternion components in a robot's file, in place of the one "
                          "found from the motion"},
    )  # fmt: skip
    """Order of quaternion components in a robot's file, in place of the one found."""
    take: int | None = field(
        default=None,
        metadata={"help": "which motion of a file that holds several, counted from 0"},
    )
    """Which of several motions in one file, counted from 0."""

    def __post_init__(self) -> None:
        """Refuse numbers that are not positive and finite, and unknown axes."""
        for name in ("fps", "scale"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value > 0):
                raise ConfigError(f"{name} must be positive and finite, found {value}")
        low, high = RATE_RANGE
        if self.fps is not None and not low <= self.fps <= high:
            raise ConfigError(f"source fps must be from {low:g} to {high:g}, found {self.fps:g}")
        if self.up not in (None, "x", "y", "z", "-x", "-y", "-z"):
            raise ConfigError(f"up is one of x, y, z, -x, -y, -z, found {self.up!r}")
        if self.quat_order not in (None, "wxyz", "xyzw"):
            raise ConfigError(f"quat order is one of wxyz, xyzw, found {self.quat_order!r}")
        if self.take is not None and self.take < 0:
            raise ConfigError(f"take must be 0 or more, found {self.take}")

    def stated(self) -> tuple[tuple[str, str], ...]:
        """The options that were set, as a clip's provenance records them."""
        pairs = (("fps", self.fps), ("scale", self.scale), ("up", self.up),
                 ("quat_order", self.quat_order), ("take", self.take))  # fmt: skip
        return tuple((name, str(value)) for name, value in pairs if value is not None)


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of one file."""

    path: Path
    """As the user named it."""
    data: bytes
    """All of the file."""

    @property
    def sha256(self) -> str:
        """Of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    def error(self, message: str, *, field: str = "", help: str = "") -> InputError:
        """A refusal of this file, to be raised; text from the file cannot break its one line."""
        where = _printable(str(self.path)) + (f": {_cut(field)}" if field else "")
        return InputError(_cut(message), where=where, help=_cut(help))


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)


def _cut(text: str) -> str:
    """Printable, and no longer than a person reads."""
    return _printable(text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} …")


def open_source(path: Path | str) -> Source:
    """The file's bytes.

    Raises:
        InputError: there is no such file, it is empty, or it cannot be read.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise InputError("is a folder, expected a file", where=str(path))
        if path.exists() and not path.is_file():  # it may never end
            raise InputError("is a pipe or a device, expected a file", where=str(path),
                             help="write it to a file first")  # fmt: skip
        if path.exists() and (size := path.stat().st_size) > MAX_FILE:
            raise InputError(f"has {size:,} bytes, more than {MAX_FILE:,}", where=str(path),
                             help="cut it into parts")  # fmt: skip
        source = Source(path, path.read_bytes())
    except FileNotFoundError:
        raise InputError("no such file", where=str(path)) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL inside the name
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason}", where=str(path)) from None
    if not source.data:
        raise source.error("the file is empty (0 bytes)")
    if source.data.startswith(b"version https://git-lfs.github.com"):
        raise source.error(
            "is a git-lfs pointer, not the file itself", help="run: git lfs pull, then try again"
        )
    return source


def settle_rate(
    source: Source, rate: float, options: ReadOptions, *, field: str, said: str
) -> tuple[float, list[Note]]:
    """The rate of a clip and what there is to say about it.

    The user's rate wins. Otherwise the file's is rounded by :func:`sane_rate`.

    Args:
        source: the file, for the error.
        rate: what the file says [1/s]; NaN when it says nothing.
        options: the user's.
        field: where the file says it.
        said: the file's own text for it, a frame time [s] when ``field`` is ``Frame Time``.

    Raises:
        InputError: the file's rate is absent, not positive or absurd, and the user gives none.
    """
    if options.fps is not None:
        text = f"rate {options.fps:g} given by the user in place of the file's {field} {said}"
        return float(options.fps), [Note("MK102", text, options.fps, "1/s")]
    if not (np.isfinite(rate) and RATE_RANGE[0] <= rate <= RATE_RANGE[1]):
        low, high = RATE_RANGE
        raise source.error(
            f"{said} gives no usable rate, expected {low:g} to {high:g} frames a second",
            field=field,
            help="give the rate with --source-fps",
        )
    written = said if field == "Frame Time" else None
    sane = sane_rate(rate, frame_time=written)
    if abs(sane / rate - 1.0) <= SILENT_RATE_CHANGE:
        return sane, _other_rates(sane, written)
    text = f"{field} {said} is {rate:.9g} frames a second, taken for {sane:.9g}"
    return sane, [Note("MK101", text, sane, "1/s")]


def _other_rates(rate: float, frame_time: str | None) -> list[Note]:
    """A note when the digits of a frame time fit another usual rate nearly as well."""
    low, high = _rates_of_text(rate, frame_time)
    others = [r for r in USUAL_RATES
              if low <= r <= high and 0.0 < abs(r / rate - 1.0) <= NEAR_RATE]  # fmt: skip
    if not others:
        return []
    listed = ", ".join(f"{r:g}" for r in others)
    text = f"Frame Time {frame_time} is {rate:g} frames a second; its digits fit {listed} as well"
    return [Note("MK111", text, rate, "1/s")]


def sane_rate(rate: float, *, frame_time: str | None = None) -> float:
    """The rate that was meant, from one that lost digits.

    A whole number within :data:`RATE_TOLERANCE` is taken. Otherwise, when the rate was written
    as a frame time, any rate whose own frame time rounds to the same digits may be meant, as
    long as it differs by at most :data:`MAX_RATE_CHANGE`: of those the nearest usual rate, else
    the nearest of the NTSC family, else the one of three decimals. Other rates stay.

    Args:
        rate: found in the file [1/s].
        frame_time: its text [s], whose last digit bounds the rounding.
    """
    if abs(round(rate) / rate - 1.0) <= RATE_TOLERANCE:
        return float(round(rate))
    low, high = _rates_of_text(rate, frame_time)
    for candidates in (USUAL_RATES, BROADCAST_RATES, (round(rate, 3),)):
        near = min(candidates, key=lambda candidate: abs(candidate - rate))
        if low <= near <= high and abs(near / rate - 1.0) <= MAX_RATE_CHANGE:
            return float(near)
    return rate


def _rates_of_text(rate: float, frame_time: str | None) -> tuple[float, float]:
    """The rates [1/s] whose frame time rounds to the digits of ``frame_time``."""
    if frame_time is None:
        return rate, rate
    try:
        exponent = Decimal(frame_time.replace(",", ".")).as_tuple().exponent
    except InvalidOperation:
        return rate, rate
    if not isinstance(exponent, int):
        return rate, rate
    half = 0.5 * 10.0**exponent
    slack = 1.0 + 1e-12  # 59.94006 s⁻¹ written with all its digits must still contain itself
    longest = 1.0 / rate - half
    return 1.0 / (1.0 / rate + half) / slack, slack / longest if longest > 0 else np.inf
