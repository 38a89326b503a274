"""Points with names: an ``.npz`` of ``joint_positions``, ``joint_names`` and ``fps``.

Metres, Z up, float64, NaN where a point was not seen. Markers, which are no joints, are called
``markers`` and ``labels``, with their ``unit``.
"""

from pathlib import Path

import numpy as np

from motionkit.files import replace_file
from motionkit.formats.write_npz import pack_npz
from motionkit.formats.write_points import (
    Points,
    at_origin,
    lost_beside_points,
    lost_by_points,
    to_points,
)


def write_joints(path: Path | str, clip: Points) -> None:
    """Write the points of a clip; a file at ``path`` is replaced, whole."""
    replace_file(Path(path), [encode(clip)])


def encode(clip: Points) -> bytes:
    """The bytes of the file.

    Raises:
        InputError: a robot's file has no positions of bodies.
    """
    points = to_points(clip)
    is_joint = points.kind == "joint"
    keys = ("joint_positions", "joint_names") if is_joint else ("markers", "labels")
    arrays = {keys[0]: points.pos_w, keys[1]: np.array(points.labels), "fps": np.array(points.fps)}
    if not is_joint:
        arrays["unit"] = np.array("m")
    return pack_npz(arrays)


def losses(clip: Points) -> tuple[str, ...]:
    """What the file does not say, one line each."""
    points = to_points(clip)
    out = [*lost_by_points(clip), *lost_beside_points(points), *at_origin(points)]
    if points.first_frame != 1:
        out.append(f"frames are counted from 0, no longer from {points.first_frame}")
    what = "up axis" if points.kind == "marker" else "unit and up axis"
    out.append(f"{what}: the file states none; it has metres, Z up")
    return tuple(out)
