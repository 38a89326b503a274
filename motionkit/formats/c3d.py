"""C3D: labelled points of optical motion capture, with analog channels and force plates.

The decoder is motionkit's own (:mod:`~motionkit.formats.c3d_file`,
:mod:`~motionkit.formats.c3d_data`): it follows the header, which is sound in files whose parameters
are not, and no file can end the process. ``docs/formats.md`` has the figures behind this.
"""

import re

import numpy as np
from jaxtyping import Float

from motionkit.clip import MarkerClip, Note
from motionkit.formats.c3d_analog import read_analog, read_plates
from motionkit.formats.c3d_data import SAME, Unseen, find_layout, read_points
from motionkit.formats.c3d_file import C3dFile, decode_file, say_damage
from motionkit.formats.points import RawPoints, place_points
from motionkit.formats.source import RATE_RANGE, ReadOptions, Source, settle_rate

Array = np.ndarray

OUTPUT_LISTS = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "MODELED_MARKERS")
"""Parameters of the group POINT that list points which a model computed."""
OUTPUT_NAME = re.compile(
    r"(?<=[A-Za-z])(Angles|Force(?!s?Pl)|Moment|Power|GRF)(?![a-rt-z])"
    r"|_(ANGLES?|FORCES?|MOMENTS?|POWERS?)(_[XYZ])?$"
)
"""Labels that are evidently outputs of a model: LKneeAngles, LHipMoment, RIGHT_KNEE_ANGLE; but no
corner of a force plate, and no marker whose name begins so."""
_MAX_NAMED = 8
"""Names that a note lists."""


def read(source: Source, options: ReadOptions) -> MarkerClip:
    """The points of a C3D file, with what was recorded beside them.

    Outputs of models among the points are dropped and named. Frames and their width come from the
    header; what header and parameters disagree about is noted.

    Args:
        source: the file.
        options: what the user knows better.

    Raises:
        InputError: the header is damaged, the file is shorter than it declares, or it holds no
            points, no frames, no markers.
    """
    file = decode_file(source)
    notes = [Note("MK150", say_damage(file.damage), float(len(file.damage)))] if file.damage else []
    layout, more = find_layout(source, file)
    notes += more
    labels, more = _find_labels(file)
    notes += more
    pos, unseen = read_points(source, layout)
    notes += _say_unseen(unseen, pos)
    keep, more = _find_markers(source, file, labels)
    notes += more
    fps, more = _find_rate(source, file, options)
    notes += more
    analog, more = read_analog(source, file, layout, fps)
    notes += more
    plates, more = read_plates(file, analog)
    notes += more + _say_screen(file)
    raw = RawPoints(
        labels=tuple(labels[i] for i in keep),
        pos=pos[:, keep] if len(keep) < len(labels) else pos,
        unit=file.text("POINT", "UNITS"),
        first_frame=layout.first_frame,
    )
    return place_points(source, raw, fps, options, format="c3d", writer=_find_writer(file),
                        notes=notes, analog=analog, plates_raw=plates)  # fmt: skip


def _find_labels(file: C3dFile) -> tuple[list[str], list[Note]]:
    """A label for each point; those that the file does not name are called ``*N``."""
    given, num_points = file.texts("POINT", "LABELS"), file.header.num_points
    labels = given[:num_points] + [f"*{i + 1}" for i in range(len(given), num_points)]
    if len(given) == num_points:
        return labels, []
    if len(given) > num_points:
        text = f"{len(given)} names for {num_points} points: names past the last point are ignored"
    elif given:
        text = f"{len(given)} names for {num_points} points: the others are called *N"
    else:
        text = f"the names of {num_points} points cannot be read or are absent: they are called *N"
    return labels, [Note("MK180", text, float(len(given)))]


def _find_markers(source: Source, file: C3dFile, labels: list[str]) -> tuple[list[int], list[Note]]:
    """Indices of points that no model computed.

    Raises:
        InputError: a model computed all of them.
    """
    lists = set(OUTPUT_LISTS)
    groups = file.texts("POINT", "TYPE_GROUPS")
    lists |= {name.upper() for name, kind in zip(groups[0::2], groups[1::2], strict=False)
              if kind.upper() in ("ANGLE", "FORCE", "MOMENT", "POWER", "SCALAR")}  # fmt: skip
    listed = {text for name in sorted(lists) for text in file.texts("POINT", name) if text}
    outputs = [label for label in labels
               if label in listed or OUTPUT_NAME.search(label.split(":")[-1])]  # fmt: skip
    if not outputs:
        return list(range(len(labels))), []
    shown = ", ".join(outputs[:_MAX_NAMED]) + (", …" if len(outputs) > _MAX_NAMED else "")
    if len(outputs) == len(labels):
        raise source.error(f"all {len(labels)} points are outputs of a model, none is a marker: "
                           f"{shown}", field="POINT:LABELS",
                           help="export the markers, not the results")  # fmt: skip
    dropped = set(outputs)
    text = f"{len(outputs)} of {len(labels)} points are outputs of a model and left out: {shown}"
    keep = [i for i, label in enumerate(labels) if label not in dropped]
    return keep, [Note("MK154", text, float(len(outputs)))]


def _find_rate(source: Source, file: C3dFile, options: ReadOptions) -> tuple[float, list[Note]]:
    """Frames per second: of parameter and header the one that is a rate.

    Where both are and differ, the rate of the analog channels decides, else the parameter.
    """
    header, stated = file.header.rate, file.number("POINT", "RATE")
    low, high = RATE_RANGE
    usable = [rate for rate in (stated, header) if np.isfinite(rate) and low <= rate <= high]
    rate = usable[0] if usable else stated if np.isfinite(stated) else header
    notes = []
    if len(usable) == 2 and abs(header / stated - 1.0) > SAME:
        samples = max(file.header.num_samples, 1)
        vote = file.number("ANALOG", "RATE") / samples
        if np.isfinite(vote) and abs(vote / header - 1.0) <= SAME:
            rate = header
        if options.fps is None:
            text = f"POINT:RATE is {stated:g}, the header has {header:g}: {rate:g} is taken"
            notes.append(Note("MK151", text, rate, "1/s"))
    rate = _shortest(rate)
    field = "POINT:RATE" if np.isfinite(stated) and _shortest(stated) == rate else "header"
    fps, more = settle_rate(source, rate, options, field=field, said=f"{rate:g}")
    return fps, notes + more


def _shortest(rate: float) -> float:
    """The decimal number that a single-precision rate stands for: 59.93999863 is 59.94."""
    return float(str(np.float32(rate)))


def _say_unseen(unseen: Unseen, pos: Float[Array, "T M 3"]) -> list[Note]:
    parts = ((unseen.not_numbers, "by NaN"), (unseen.negative, "by a negative residual"),
             (unseen.zero, "by zeros"))  # fmt: skip
    said = ", ".join(f"{count} {how}" for count, how in parts if count)
    if not said:
        return []
    total = pos.shape[0] * pos.shape[1]
    share = 100.0 * sum(count for count, _ in parts) / total
    text = f"{share:.3g} % of {total} samples not seen: {said}"
    return [Note("MK152", text, share, "%")]


def _say_screen(file: C3dFile) -> list[Note]:
    """What the file says about its axes, which is often wrong and never used."""
    axes = [f"{name} {text}" for name in ("X_SCREEN", "Y_SCREEN")
            if (text := file.text("POINT", name))]  # fmt: skip
    if not axes:
        return []
    text = f"the file states {', '.join(axes)}; the up axis is taken from the motion instead"
    return [Note("MK182", text)]


def _find_writer(file: C3dFile) -> str:
    """Maker and program, as the file names them."""
    words = [file.text("MANUFACTURER", name) for name in ("COMPANY", "SOFTWARE")]
    return " ".join(word for word in words if word) or "unknown"
