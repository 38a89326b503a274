"""Which frames show a body: gaps that may be bridged, and those that end a clip."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from motionkit.clip import runs
from motionkit.human.markers import body
from motionkit.human.markers.objective import Markers

Array = np.ndarray

LEAST_SHARE = 0.5
"""Share of the frames that show anything in which a part must be shown; one shown less is left to
the parts above."""
LEAST_MARKERS = 3
"""Markers without which a frame shows nothing."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Which parts the markers show."""

    parts: Bool[Array, "22"]
    """Parts that they follow at all: with a marker on them or below, seen often enough."""
    frames: Bool[Array, "T 22"]
    """Whether one of those markers is seen."""

    @property
    def joints(self) -> Bool[Array, "22"]:
        """Joints whose place they determine: those of such a part, at either of its ends."""
        above = np.array([self.parts[max(parent, 0)] for parent in body.PARENTS])
        return self.parts | above


@dataclass(frozen=True, slots=True)
class Interval:
    """The frames that are kept."""

    start: int
    """First."""
    stop: int
    """After the last."""
    reason: str
    """Why others are not, one line; empty if all are kept."""


def find_shown(markers: Markers) -> Shown:
    """What the markers show, part by part."""
    frames = np.zeros((len(markers.pos), 22), dtype=bool)
    parts = np.zeros(22, dtype=bool)
    some = markers.seen.sum(axis=1) >= LEAST_MARKERS
    for i in range(22):
        on = [k for k, part in enumerate(markers.part) if i in body.chain(int(part))]
        if i == 0:
            frames[:, 0] = some
        elif on:
            frames[:, i] = markers.seen[:, on].any(axis=1)
        parts[i] = bool(on) and bool(some.any()) and frames[some, i].mean() >= LEAST_SHARE
    return Shown(parts, frames)


def choose_interval(shown: Shown, max_gap: float, fps: float) -> Interval:
    """The longest run of frames without a gap that is too long to bridge.

    Args:
        shown: of all frames.
        max_gap: longest that is bridged inside the clip [s]; at its ends nothing is.
        fps: frames per second.
    """
    frames = len(shown.frames)
    cut = np.zeros(frames, dtype=bool)
    longest: dict[int, tuple[int, int]] = {}
    for i in np.flatnonzero(shown.parts):
        for start, stop in runs(~shown.frames[:, i]):
            at_end = start == 0 or stop == frames
            if stop - start > (0 if at_end and i == 0 else max_gap * fps):
                cut[start:stop] = True
                if stop - start > np.ptp(longest.get(int(i), (0, 0))):
                    longest[int(i)] = (start, stop)
    kept = runs(~cut)
    if not kept:
        return Interval(0, 0, _reason(longest, fps))
    start, stop = max(kept, key=lambda run: run[1] - run[0])
    return Interval(start, stop, _reason(longest, fps) if (start, stop) != (0, frames) else "")


def _reason(longest: dict[int, tuple[int, int]], fps: float) -> str:
    said = [
        f"{body.JOINTS[i]} in [{start}, {stop}), {(stop - start) / fps:.2f} s"
        for i, (start, stop) in sorted(longest.items(), key=lambda item: item[1])
    ]
    return "no marker shows " + "; ".join(said[:4]) + ("; …" if len(said) > 4 else "")


def filled_share(shown: Shown) -> Float[Array, "22"]:
    """Share of frames in which a part that is followed was bridged."""
    return np.where(shown.parts, 1.0 - shown.frames.mean(axis=0), 1.0)
