"""The rate of a clip from the times of its frames, where a file states both and they may differ.

Times win over a stated rate, since they were taken one by one, where a rate is one word that may
have stayed from another take. They are rounded, though: a stated rate that explains every time to
its last digit is exact where the times are not.
"""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import numpy as np
from jaxtyping import Float

from motionkit.clip import Note
from motionkit.formats.source import (
    BROADCAST_RATES,
    RATE_RANGE,
    USUAL_RATES,
    ReadOptions,
    Source,
    settle_rate,
)

Array = np.ndarray

MAX_DIGITS = 9
"""Decimals of a time [s] beyond which more say nothing."""
ODD_STEP = 0.5
"""Difference of a step from the usual one, in steps, from which it is odd."""
MAX_ODD = 0.05
"""Share of the steps that may be odd."""
MAX_LOST = 1.0
"""Difference of an odd step from the usual one, in steps, beyond which frames are missing."""
ROUNDED = 1.01
"""Range of the errors of rounded numbers, in units of the last digit."""
SAME_RATE = 1e-6
"""Relative difference of two rates that are one."""
UNEVEN = 0.25
"""Distance of a time from even spacing, in steps, from which it is mentioned."""


def decimals(text: str) -> int:
    """Digits after the point of a number as it is spelt, without zeros at the end.

    None if it is no number. The largest over many numbers is what they were rounded to, whatever
    was printed.
    """
    try:
        exponent = Decimal(text.replace(",", ".")).normalize().as_tuple().exponent
    except InvalidOperation:
        return 0
    return min(max(0, -exponent), MAX_DIGITS) if isinstance(exponent, int) else 0


def settle_times(
    source: Source,
    times: Sequence[float],
    options: ReadOptions,
    *,
    stated: str | None,
    digits: int,
    field: str = "DataRate",
) -> tuple[float, list[Note]]:
    """The rate of a clip of which the time of each frame is known, and notes.

    Args:
        source: the file, for the errors.
        times: of the frames [s]; NaN where unknown.
        options: the user's; a rate given wins over all.
        stated: the file's own text for its rate [1/s]; None where it states none.
        digits: decimals to which the times were rounded.
        field: where the file states its rate.

    Raises:
        InputError: the stated rate is none, the times and the header give no usable rate, or
            frames are missing by the times.
    """
    rate = _as_rate(stated)
    if options.fps is not None or (stated is not None and not _is_usable(rate)):
        return settle_rate(source, rate, options, field=field, said=stated or "none")
    time = np.asarray(times, dtype=np.float64)
    why = _unusable(time)
    if why:
        said = stated if stated is not None else "no rate stated"
        fps, notes = settle_rate(source, rate, options, field=field, said=said)
        if len(time) > 1:
            text = f"the time column {why}; the stated {fps:g} frames a second are used"
            notes.append(Note("MK186", text, fps, "1/s"))
        return fps, notes
    tolerance = 10.0**-digits + 1e-9 * float(np.max(np.abs(time)))
    if _is_usable(rate) and _explains(rate, time, tolerance):
        return settle_rate(source, rate, options, field=field, said=str(stated))
    step, notes = _even_step(source, time, tolerance)
    found = _usual(1.0 / step, time, tolerance)
    if stated is not None and abs(found / rate - 1.0) > SAME_RATE:
        text = f"the header states {stated.strip()[:20]} frames a second, the times are those of"
        notes.append(Note("MK186", f"{text} {found:.6g}, which is used", found, "1/s"))
    fps, more = settle_rate(source, found, options, field="time column", said=f"{found:.9g}")
    return fps, notes + more


def _as_rate(stated: str | None) -> float:
    try:
        return float((stated or "").replace(",", "."))
    except ValueError:
        return float("nan")


def _is_usable(rate: float) -> bool:
    return bool(np.isfinite(rate)) and RATE_RANGE[0] <= rate <= RATE_RANGE[1]


def _unusable(time: Float[Array, "T"]) -> str:
    """Why times tell no rate; empty if they do."""
    if len(time) < 2:
        return "has one frame"
    if not np.all(np.isfinite(time)):
        return "has gaps"
    step = float(np.median(np.diff(time)))
    if step <= 0.0:
        return "does not run forward"
    if not _is_usable(1.0 / step):
        return f"gives {1.0 / step:.3g} frames a second"
    return ""


def _explains(rate: float, time: Float[Array, "T"], tolerance: float) -> bool:
    """Whether frames at a rate have these times, rounded or cut off to their digits."""
    off = time - np.arange(len(time)) / rate
    return float(np.ptp(off)) <= ROUNDED * tolerance


def _even_step(
    source: Source, time: Float[Array, "T"], tolerance: float
) -> tuple[float, list[Note]]:
    """The usual step between frames [s], from those steps that are not odd."""
    steps = np.diff(time)
    usual = float(np.median(steps))
    off = np.abs(steps - usual) - 2.0 * tolerance
    odd = np.flatnonzero(off > ODD_STEP * usual)
    lost = np.flatnonzero(off > MAX_LOST * usual)
    if len(lost) or len(odd) > max(1.0, MAX_ODD * len(steps)):
        at = int((lost if len(lost) else odd)[0])
        raise source.error(
            f"uneven: {time[at]:.6g} s is followed by {time[at + 1]:.6g} s, usual steps are "
            f"{usual:.6g} s ({len(odd)} of {len(steps)} are odd)",
            field="time column",
            help="frames are missing; export an even recording, or give --source-fps",
        )
    if len(odd):
        at = int(odd[0])
        text = (f"{len(odd)} of {len(steps)} steps of the time column are odd, first "
                f"{time[at]:.6g} s to {time[at + 1]:.6g} s; usual: {usual:.6g} s")  # fmt: skip
        return usual, [Note("MK186", text, len(odd))]
    mean = float((time[-1] - time[0]) / len(steps))
    off_line = float(np.max(np.abs(time - time[0] - mean * np.arange(len(time))))) / mean
    if off_line > UNEVEN + tolerance / mean:
        text = f"times are uneven by up to {off_line:.2f} of a frame; even spacing is assumed"
        return mean, [Note("MK186", text, off_line)]
    return mean, []


def _usual(rate: float, time: Float[Array, "T"], tolerance: float) -> float:
    """The usual rate that explains the times, nearest to the one found; else the one found."""
    near = sorted((*USUAL_RATES, *BROADCAST_RATES), key=lambda each: abs(each / rate - 1.0))
    return next((float(each) for each in near[:2] if _explains(each, time, tolerance)), rate)
