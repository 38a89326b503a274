"""A robot's motion as a table: a frame a line, root position, root quaternion, joint angles.

Unitree's LAFAN1 retargets write ``x y z qx qy qz qw`` and the joints in MuJoCo's order, without a
header; Kimodo and ProtoMotions write ``x y z qw qx qy qz``. Neither states order or rate.
"""

import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from motionkit.clip import Note, RobotMotion
from motionkit.formats.robot_layouts import layout_by_width
from motionkit.formats.robot_motion import (
    Draft,
    finish,
    name_joints,
    reorder_quats,
    require_numbers,
    root_order,
    settle_order,
    unit_quats,
)
from motionkit.formats.source import RATE_RANGE, QuatOrder, ReadOptions, Source, settle_rate

Array = np.ndarray

ROOT_COLUMNS = 7
"""Position and quaternion."""
STEP_TOLERANCE = 0.02
"""Relative spread of the steps of a time column that its digits explain."""
EXACT_STEP = 1e-6
"""The same for a first column that no name says to be time."""
MIN_TIMES = 3
"""Rows from which a first column can show by itself that it is time."""
_TIME = ("time", "t", "timestamp", "time_s", "time_sec", "seconds")
_FRAME = ("frame", "frames", "frame_id", "frame_index", "index", "idx", "#")
_POSITION = re.compile(r"^(?:(?:root|base|pelvis|floating_base|pos|position|trans|translation|p|t)"
                       r"[_. ]?)*([xyz])$")  # fmt: skip
_QUAT = re.compile(r"^(?:(?:root|base|pelvis|floating_base)[_. ]?)?"
                   r"(?:quaternion|quat|orientation|rot|ori|q|r)[_. ]?([wxyz])$")  # fmt: skip
_ANONYMOUS = re.compile(r"^(?:j|joint|dof|q|col|column)?[_. ]?\d+$")
_RATE_IN_NAME = re.compile(r"(?<![a-z0-9.])(\d{1,4}(?:\.\d+)?)[_-]?(?:hz|fps)(?![a-z])")
_HELP_RATE = (
    "give the rate with --source-fps; LAFAN1 retargets by Unitree and Kimodo's tables are 30"
)


@dataclass(frozen=True, slots=True)
class _Table:
    names: tuple[str, ...] | None
    values: Float[Array, "T C"]


def read(source: Source, options: ReadOptions) -> RobotMotion:
    """The motion in a table of a robot's frames.

    Raises:
        InputError: no table of that kind, not in metres and radians, an order of quaternion
            components that nothing settles, or no rate.
    """
    table = _parse(source)
    require_numbers(source, "", table.values, _labels(table))
    time, columns, stated = _columns(source, table)
    values = table.values
    pos, quat = values[:, columns[:3]], values[:, columns[3:ROOT_COLUMNS]]
    angles = values[:, columns[ROOT_COLUMNS:]]
    quat = unit_quats(source, "root quaternion", quat)
    names, layout, notes = name_joints(source, "joint angles", angles, _joint_names(table, columns),
                                       is_mujoco_order=True)  # fmt: skip
    found = root_order(quat, pos, angles, names, layout, options)
    if stated is not None:  # then the user's order could only repeat or contradict it
        order, more = stated, [Note("MK160", f"the header names the components; {found.text}")]
    else:
        order, more = settle_order(source, "root quaternion", found, options, None)
    notes += more
    writers = {"xyzw": "Unitree LAFAN1", "wxyz": "Kimodo or ProtoMotions"}
    draft = Draft(
        root_pos=pos, root_quat=reorder_quats(quat, order), joint_pos=angles,
        joint_names=names, robot=layout.robot if layout else None,
        writer=writers[order] if layout and table.names is None else "unknown",
    )  # fmt: skip
    return finish(source, options, "robot_csv", draft, notes, lambda: _rate(source, time, options))


def _parse(source: Source) -> _Table:
    """Names, where the first line has them, and numbers; all lines of one width."""
    text = source.data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise source.error("holds no line of numbers")
    head = lines[0][1]
    mark = next((c for c in ";\t," if c in head), ",")
    comma = mark in ";\t"  # then a comma may be the decimal sign
    names, rows = None, []
    for number, line in lines:
        words = [word.strip() for word in line.split(mark)]
        if words[-1] == "" and len(words) > 1:
            words.pop()
        if names is None and not rows and not _is_numeric(words, comma):
            names = tuple(word.strip('"').strip() for word in words)
            continue
        if len(words) != (width := len(rows[0]) if rows else len(names or words)):
            raise source.error(f"has {len(words)} columns, the lines before it {width}",
                               field=f"line {number}", help="repair the table")  # fmt: skip
        try:
            if "_" in line:
                raise ValueError
            rows.append([float(word.replace(",", ".") if comma else word) for word in words])
        except ValueError:
            bad = next(i for i, word in enumerate(words) if not _is_numeric([word], comma))
            raise source.error(f"column {bad + 1} is {words[bad][:20]!r}, expected a number",
                               field=f"line {number}") from None  # fmt: skip
    if not rows:
        raise source.error("has a header and no line of numbers")
    if len(rows[0]) < ROOT_COLUMNS + 1:
        raise source.error(f"has {len(rows[0])} columns, expected at least {ROOT_COLUMNS + 1}: "
                           "position (3), quaternion (4), joints", field="columns")  # fmt: skip
    return _Table(names, np.array(rows, dtype=np.float64))


def _is_numeric(words: list[str], comma: bool) -> bool:
    try:
        for word in words:
            float(word.replace(",", ".") if comma else word)
    except ValueError:
        return False
    return not any("_" in word for word in words)


def _labels(table: _Table) -> list[str]:
    names = table.names or ("",) * table.values.shape[1]
    return [f"column {i + 1}" + (f" ({name})" if name else "") for i, name in enumerate(names)]


def _columns(
    source: Source, table: _Table
) -> tuple[Float[Array, "T"] | None, list[int], QuatOrder | None]:
    """The time column's values, columns in the order position, quaternion, joints, and the order.

    Quaternion columns that the header names come as wxyz.
    """
    width = table.values.shape[1]
    names = [name.lower() for name in table.names or ()]
    lead = [i for i, name in enumerate(names) if name in _TIME + _FRAME]
    place = {m.group(1): i for i, name in enumerate(names) if (m := _POSITION.match(name))}
    turn = {m.group(1): i for i, name in enumerate(names) if (m := _QUAT.match(name))}
    if len(place) == 3 and len(turn) == 4:
        root = [place[c] for c in "xyz"] + [turn[c] for c in "wxyz"]
        rest = [i for i in range(width) if i not in root and i not in lead]
        return _times(source, table, lead, names), root + rest, "wxyz"
    if 0 < len(place) < 3 or 0 < len(turn) < 4:
        shown = ", ".join(table.names or ())[:120]
        raise source.error(f"root columns are not all there: {shown}", field="header",
                           help="name them x, y, z, qw, qx, qy, qz")  # fmt: skip
    if not names and _has_leading_time(table.values):
        lead = [0]
    rest = [i for i in range(width) if i not in lead]
    if len(rest) < ROOT_COLUMNS + 1:
        raise source.error(f"has {len(rest)} columns beside time, expected at least "
                           f"{ROOT_COLUMNS + 1}", field="columns")  # fmt: skip
    return _times(source, table, lead, names), rest, None


def _has_leading_time(values: Float[Array, "T C"]) -> bool:
    """Whether the first column runs evenly, and what follows it is a root and joints."""
    if values.shape[1] < ROOT_COLUMNS + 2 or len(values) < MIN_TIMES:
        return False
    if layout_by_width(values.shape[1] - ROOT_COLUMNS) is not None:
        norms = np.linalg.norm(values[:, 3:7], axis=1)
        if np.all(np.abs(norms - 1.0) < EXACT_STEP * 1e3):
            return False
    steps = np.diff(values[:, 0])
    return bool(steps[0] > 0 and np.ptp(steps) <= EXACT_STEP * max(1.0, abs(values[-1, 0])))


def _times(
    source: Source, table: _Table, lead: list[int], names: list[str]
) -> Float[Array, "T"] | None:
    """Seconds of each frame; absent where there is no time column, or only numbers of frames."""
    times = None
    for column in lead:
        values = table.values[:, column]
        steps = np.diff(values)
        if len(steps) and not (steps > 0).all():
            frame = int(np.argmax(steps <= 0)) + 1
            raise source.error(f"{values[frame]:g} at frame {frame} follows {values[frame - 1]:g}, "
                               "expected rising", field=_labels(table)[column])  # fmt: skip
        is_count = bool(np.all(values == np.round(values)))
        if (not names and not is_count) or (names and names[column] in _TIME):
            times = values
    return times


def _joint_names(table: _Table, columns: list[int]) -> tuple[str, ...] | None:
    """Names of the joint columns; absent where the header only numbers them."""
    if table.names is None:
        return None
    names = tuple(table.names[i].removesuffix("_dof") for i in columns[ROOT_COLUMNS:])
    if any(_ANONYMOUS.match(name.lower()) or not name for name in names):
        return None
    return names if len(set(names)) == len(names) else None


def _rate(
    source: Source, time: Float[Array, "T"] | None, options: ReadOptions
) -> tuple[float, list[Note]]:
    """The user's rate, that of the time column, or that in the file's name."""
    if time is not None and len(time) > 1 and options.fps is None:
        steps = np.diff(time)
        step = float(np.median(steps))
        uneven = float(np.max(np.abs(steps / step - 1.0)))
        if uneven > STEP_TOLERANCE:
            frame = int(np.argmax(np.abs(steps / step - 1.0))) + 1
            raise source.error(
                f"step {steps[frame - 1]:.6g} at frame {frame}, most are {step:.6g}",
                field="time",
                help="resample evenly, or give --source-fps",
            )
        rate = (len(time) - 1) / float(time[-1] - time[0])
        return settle_rate(source, rate, options, field="time column", said=f"{1 / rate:.6g} s")
    if options.fps is not None:
        return settle_rate(source, np.nan, options, field="rate", said="(absent)")
    found = {float(rate) for rate in _RATE_IN_NAME.findall(source.path.stem.lower())}
    low, high = RATE_RANGE
    if len(found) == 1 and low <= (rate := found.pop()) <= high:
        text = f"rate {rate:g} taken from the file's name; the table states none"
        return rate, [Note("MK163", text, rate, "1/s")]
    raise source.error("no rate is stated, neither by a time column nor by the file's name",
                       field="rate", help=_HELP_RATE)  # fmt: skip
