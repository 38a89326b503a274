"""Labelled points of a person who walks, and files of them as programs write them."""

import io

import numpy as np

HEIGHTS = {
    "LHEE": 0.02, "RHEE": 0.02, "LTOE": 0.03, "RTOE": 0.03, "LANK": 0.045, "RANK": 0.045,
    "LKNE": 0.285, "RKNE": 0.285, "LASI": 0.55, "RASI": 0.55, "LPSI": 0.55, "RPSI": 0.55,
    "C7": 0.85, "CLAV": 0.8, "LSHO": 0.82, "RSHO": 0.82, "LFHD": 0.93, "RFHD": 0.93,
    "LELB": 0.63, "RELB": 0.63,
}  # fmt: skip
"""Markers and where they sit, in statures."""
LABELS = tuple(HEIGHTS)


def walk(rng: np.random.Generator, frames: int = 60, stature: float = 1.7) -> np.ndarray:
    """Points (T, M, 3) [m], Z up, of a person who goes along a line and sways."""
    height = np.array(list(HEIGHTS.values())) * stature
    side = np.array([0.12 if label[0] == "L" else -0.12 for label in LABELS])
    time = np.arange(frames)[:, None] / 60.0
    pos = np.empty((frames, len(LABELS), 3))
    swing = 0.15 * np.sin(2 * np.pi * time + np.sign(side))
    pos[..., 0] = 1.2 * time + swing + rng.normal(scale=0.02, size=len(LABELS))
    pos[..., 1] = side + 0.02 * np.sin(2 * np.pi * time)
    pos[..., 2] = height + 0.02 * np.abs(swing)
    return pos


def trc(
    pos: np.ndarray,
    labels: tuple[str, ...] = LABELS,
    *,
    fps: float = 60.0,
    unit: str = "m",
    sep: str = "\t",
    first: int = 1,
    digits: int = 9,
    **changes: object,
) -> str:
    """The text of a TRC file; ``changes`` replace words of its third line, by key."""
    values = {
        "DataRate": f"{fps}", "CameraRate": f"{fps}", "NumFrames": len(pos),
        "NumMarkers": len(labels), "Units": unit, "OrigDataRate": f"{fps}",
        "OrigDataStartFrame": 1, "OrigNumFrames": len(pos), **changes,
    }  # fmt: skip
    values = {key: value for key, value in values.items() if value is not None}
    lines = [
        sep.join(("PathFileType", "4", "(X/Y/Z)", "made.trc")),
        sep.join(values),
        sep.join(str(value) for value in values.values()),
        sep.join(("Frame#", "Time", *(sep.join((label, "", "")) for label in labels))),
        sep.join(("", "", *(f"{axis}{i + 1}" for i in range(len(labels)) for axis in "XYZ"))),
        "",
    ]
    for row, points in enumerate(pos):
        cells = ["" if np.isnan(x) else f"{x:.{digits}f}" for x in points.ravel()]
        time = f"{(first - 1 + row) / fps:.6f}"
        lines.append(sep.join((str(first + row), time, *cells)))
    return "\n".join(lines) + "\n"


def mat(variables: dict, *, compressed: bool = True) -> bytes:
    """A MATLAB file of version 5."""
    from scipy.io import savemat

    out = io.BytesIO()
    savemat(out, variables, do_compression=compressed)
    return out.getvalue()


def damage(rng: np.random.Generator, data: bytes) -> bytes:
    """The bytes with one kind of fault."""
    out = bytearray(data)
    kind = int(rng.integers(5))
    at = int(rng.integers(min(len(out), 2000) if rng.random() < 0.5 else len(out)))
    if kind == 0:
        return bytes(out[:at])
    if kind == 1:
        for _ in range(int(rng.integers(1, 8))):
            out[int(rng.integers(len(out)))] = int(rng.integers(256))
    elif kind == 2:
        del out[at : at + int(rng.integers(1, 100))]
    elif kind == 3:
        start = int(rng.integers(len(out)))
        out[at:at] = out[start : start + int(rng.integers(1, 200))]
    else:
        for _ in range(int(rng.integers(1, 6))):
            out[at % len(out)] = b"0123456789-.,eE\n\tNa*"[int(rng.integers(20))]
            at += int(rng.integers(1, 40))
    return bytes(out)
