"""What tests of writers share: write, read, write again."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from motionkit.clip import Analog, ForcePlate, SourceClip
from motionkit.formats import ReadOptions, read_clip


def round_trip(
    path: Path,
    encode: Callable[..., bytes],
    clip,
    options: ReadOptions | None = None,
    **more,
) -> SourceClip:
    """What is read from a clip that was written; the same bytes come when that is written."""
    data = encode(clip, **more)
    assert encode(clip, **more) == data
    path.write_bytes(data)
    back = read_clip(path, options or ReadOptions())
    assert encode(back, **more) == data, "write, read, write gives other bytes"
    return back


def laboratory(rng: np.random.Generator, frames: int, fps: float = 100.0, ratio: int = 10):
    """Analog channels and two force plates, in numbers that single precision holds."""
    labels = tuple(
        f"{axis}{plate}" for plate in "12" for axis in ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
    )
    values = rng.normal(scale=100.0, size=(frames * ratio, len(labels) + 1)).astype(np.float32)
    analog = Analog(fps * ratio, (*labels, "EMG left"), (*["N", "Nmm"] * 6, "V"),
                    values.astype(np.float64))  # fmt: skip
    square = np.array([[0.4, 0.6, 0], [0, 0.6, 0], [0, 0, 0], [0.4, 0, 0]])
    plates = tuple(
        ForcePlate(4 if i else 2, square + np.array([0, i, 0]), np.array([0.0, 0.01, -0.04]),
                   labels[6 * i : 6 * i + 6], rng.normal(size=(6, 6)) if i else None)
        for i in range(2)
    )  # fmt: skip
    return analog, plates
