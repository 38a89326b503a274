"""Points as TRC files (Motion Analysis' tracked points, as OpenSim reads them).

Millimetres with six decimals, Y up, tabs; a cell is blank where a point was not seen. Frames keep
the numbers that the source gave them, and the first possible frame, number 1, is at 0 s.
"""

from pathlib import Path

import numpy as np

from motionkit import rotation
from motionkit.errors import InputError
from motionkit.files import replace_file
from motionkit.formats.world import WORLD_QUAT
from motionkit.formats.write_points import (
    Points,
    at_origin,
    lost_beside_points,
    lost_by_points,
    on_grid,
    to_points,
)

MILLIMETRE = 0.001
"""Unit of the file [m]."""
DECIMALS = 6
"""Of coordinates."""
_TIME_DECIMALS = 9


def write_trc(path: Path | str, clip: Points) -> None:
    """Write the points of a clip; a file at ``path`` is replaced, whole.

    Raises:
        InputError: a label cannot stand in a table with tabs.
    """
    replace_file(Path(path), [encode(clip)])


def encode(clip: Points) -> bytes:
    """The text of the file.

    Raises:
        InputError: a label cannot stand in a table with tabs.
    """
    points = to_points(clip)
    for label in points.labels:
        if not label.strip() or not label.isprintable():
            raise InputError(f"label {label!r} cannot be written in TRC", where=points.name)
    frames, count = points.num_frames, len(points.labels)
    rate, first = f"{points.fps:.10g}", points.first_frame
    heads = ["DataRate", "CameraRate", "NumFrames", "NumMarkers", "Units", "OrigDataRate",
             "OrigDataStartFrame", "OrigNumFrames"]  # fmt: skip
    values = [rate, rate, str(frames), str(count), "mm", rate, str(first), str(frames)]
    labels = [cell for label in points.labels for cell in (label, "", "")]
    axes = [f"{axis}{i + 1}" for i in range(count) for axis in "XYZ"]
    rows = [["PathFileType", "4", "(X/Y/Z)", f"{points.name}.trc"], heads, values,
            ["Frame#", "Time", *labels], ["", "", *axes], []]  # fmt: skip
    to_file = rotation.conjugate(np.array(WORLD_QUAT["y"]))
    pos = on_grid(rotation.rotate(to_file, points.pos_w) / MILLIMETRE, DECIMALS)
    numbers = first + np.arange(frames)
    for number, row in zip(numbers.tolist(), pos.reshape(frames, -1).tolist(), strict=True):
        time = f"{(number - 1) / points.fps:.{_TIME_DECIMALS}f}"
        cells = ["" if value != value else f"{value:.{DECIMALS}f}" for value in row]
        rows.append([str(number), time, *cells])
    return "".join("\t".join(row) + "\n" for row in rows).encode()


def losses(clip: Points) -> tuple[str, ...]:
    """What the file does not say, one line each."""
    points = to_points(clip)
    out = [*lost_by_points(clip), *lost_beside_points(points), *at_origin(points)]
    out.append("up axis: TRC states none; Y up is written, in millimetres")
    return tuple(out)
