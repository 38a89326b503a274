"""Tables of numbers: points a column a coordinate, and robots a frame a line.

Points: a line of names, ``time`` and ``LABEL_x``, ``LABEL_y``, ``LABEL_z``; metres, Z up, nine
decimals, blank where a point was not seen.

Robots, one of three layouts, all in metres and radians with nine decimals: ``unitree`` is root
position, root quaternion xyzw, joint angles, without names, as Unitree's LAFAN1 retargets have it;
``kimodo`` is the same with wxyz, as Kimodo and ProtoMotions have it; ``named`` has a line of names
before it, and the time.
"""

import csv
import io
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from motionkit import rotation
from motionkit.clip import RobotMotion
from motionkit.errors import InputError
from motionkit.files import replace_file
from motionkit.formats.write_points import (
    Points,
    at_origin,
    lost_beside_points,
    lost_by_points,
    on_grid,
    to_points,
    unit_on_grid,
)

Array = np.ndarray
Layout = Literal["unitree", "kimodo", "named"]

LAYOUTS: tuple[Layout, ...] = get_args(Layout)
"""Of a robot's table."""
DECIMALS = 9
"""Of all numbers: 1e-9 m, rad and s."""


def write_csv(path: Path | str, clip: Points, *, layout: Layout = "unitree") -> None:
    """Write a table; a file at ``path`` is replaced, whole.

    Args:
        path: where to.
        clip: a robot's motion, or what points can be taken from.
        layout: of a robot's table.

    Raises:
        InputError: names are asked for, and the joints have none.
    """
    replace_file(Path(path), [encode(clip, layout=layout)])


def encode(clip: Points, *, layout: Layout = "unitree") -> bytes:
    """The text of the file.

    Raises:
        InputError: names are asked for, and the joints have none.
    """
    if isinstance(clip, RobotMotion):
        return _robot(clip, layout)
    points = to_points(clip)
    names = ["time", *(f"{label}_{axis}" for label in points.labels for axis in "xyz")]
    time = np.arange(points.first_frame - 1, points.first_frame - 1 + points.num_frames)
    values = points.pos_w.reshape(points.num_frames, -1)
    return _table(names, np.column_stack([time / points.fps, values]))


def losses(clip: Points, *, layout: Layout = "unitree") -> tuple[str, ...]:
    """What the file does not say, one line each."""
    if not isinstance(clip, RobotMotion):
        points = to_points(clip)
        said = "the table is for other tools: motionkit does not read it"
        return (*lost_by_points(clip), *lost_beside_points(points), *at_origin(points), said)
    out = []
    if clip.body_pos_w is not None or clip.body_quat_w is not None:
        out.append("poses and velocities of bodies are lost")
    if clip.joint_vel is not None:
        out.append("joint velocities are lost")
    if clip.contact is not None:
        out.append("contacts are lost")
    if layout != "named":
        order = "xyzw" if layout == "unitree" else "wxyz"
        out.append(f"the rate ({clip.fps:g}), names of joints and the order of the root's "
                   f"quaternion, {order}, are not stated")  # fmt: skip
    return tuple(out)


def _robot(motion: RobotMotion, layout: Layout) -> bytes:
    quat = unit_on_grid(motion.root_quat, DECIMALS)
    if layout == "unitree":
        quat = rotation.to_xyzw(quat)
    values = np.concatenate([motion.root_pos_w, quat, motion.joint_pos], axis=1)
    if layout != "named":
        return _table(None, values)
    if motion.joint_names is None:
        help = "give --layout unitree, or --robot, whose joints they are"
        raise InputError("names no joints", where=motion.provenance.path, help=help)
    time = np.arange(motion.num_frames) / motion.fps
    names = ["time", "x", "y", "z", "qw", "qx", "qy", "qz", *motion.joint_names]
    return _table(names, np.column_stack([time, values]))


def _table(names: list[str] | None, values: Array) -> bytes:
    """Lines of numbers with commas, below a line of names; NaN is blank."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if names is not None:
        writer.writerow(names)
    for row in on_grid(values, DECIMALS).tolist():
        writer.writerow(["" if value != value else f"{value:.{DECIMALS}f}" for value in row])
    return text.getvalue().encode()
