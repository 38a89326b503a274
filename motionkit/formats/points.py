"""Labelled points of any format, brought into motionkit's world: metres, Z up, clean labels.

Nothing says where a marker sits but its label, and many labels say nothing. What is used is this.

**Heights.** A label that names a part of the body has the height of that part in a standing
person, ``l`` in statures (ankle 0.039, knee 0.285, hip 0.530, shoulder 0.818, eye 0.936; Drillis &
Contini 1966, in Winter, "Biomechanics and Motor Control of Human Movement", fig. 4.1). In one
frame, over the points seen, ``d = Σ (l - l̄)(p - p̄)`` points from low parts to high ones.

**Up.** For each of the six axes ``a``, with ``c`` the mean cosine between ``a`` and ``d`` over
frames, and ``s`` the spread over frames of the lowest point along ``a``, in sizes of the cloud::

    score(a) = c + prior(a) + floor(a) + tall(a) - FLOOR_WEIGHT · min(s, FLOOR_SPREAD)

as :func:`motionkit.formats.world.find_up` does for skeletons. ``floor`` is what a floor at zero
counts; ``tall`` counts only where no label tells a height.

**Unit.** The file's own where it states one. Otherwise the stature follows from the slope of the
points' heights over ``l``, and the unit from the stature; or from the plain size of the cloud.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from motionkit import rotation
from motionkit.clip import Note, Provenance
from motionkit.clip.markers import Analog, ForcePlate, MarkerClip
from motionkit.formats import world
from motionkit.formats.point_labels import clean_labels, heights
from motionkit.formats.source import ReadOptions, Source, UpAxis

Array = np.ndarray

HEIGHT_SPAN = 0.2
"""Least difference of the labels' heights [statures] in a frame that tells a direction: a head
bends forward of its shoulders."""
FLOOR_AT_ZERO = 0.2
"""What a floor at zero counts, in cosines; half of it where all is above zero, and the negative
where the cloud reaches below: laboratories put their origin on the floor."""
TALLNESS = 0.3
"""What an axis counts along which the cloud is as long as it gets, where no label tells more."""
STEADY = 0.8
"""Share of frames in which a point is seen whose height counts."""
CLEAR = 0.25
"""Lead over the second axis from which nothing is said."""
SIZE_RANGE = (0.02, 50.0)
"""Sizes [m] of the points in one frame between which a stated unit is believed."""
LABEL_STATURE_RANGE = (0.5, 3.5)
"""Statures [m], by the slope of heights, that a stated unit may lead to without a word: people
sit and bend, and markers are not joints."""
FARTHEST = 1e4
"""Distance from the origin [m] beyond which a number is no position."""
LARGEST = 1e9
"""Coordinate in units of the file, 1,000 km in millimetres, beyond which a number is damage."""
UNIT_WORDS = (
    (("mm", "milli", "mili"), 1e-3),
    (("cm", "centi"), 1e-2),
    (("dm", "deci"), 0.1),
    (("in",), 0.0254),
    (("ft", "feet", "foot"), 0.3048),
    (("met",), 1.0),
)
"""First letters of a unit's name, and its length [m]; ``m`` alone is a metre."""
PLAIN_UNITS = (("m", 1.0), ("cm", 1e-2), ("mm", 1e-3))
"""Units considered where only the size of the cloud tells, and their length [m]."""
PLAIN_SIZE = 1.2
"""Size [m] that a cloud of points is expected to have: a person's markers, an arm, a chair."""


@dataclass(frozen=True, slots=True)
class RawPoints:
    """Labelled points in the units and axes of their file."""

    labels: tuple[str, ...]
    """Raw, maybe repeated or blank; cleaned by :func:`place_points`."""
    pos: Float[Array, "T M 3"]
    """NaN (all three) where not seen."""
    unit: str
    """The file's own text, e.g. ``mm``; empty where it states none."""
    first_frame: int = 1
    """Number that the file gives to its first frame."""


def place_points(
    source: Source,
    raw: RawPoints,
    fps: float,
    options: ReadOptions,
    *,
    format: str,
    writer: str = "unknown",
    notes: Sequence[Note] = (),
    analog: Analog | None = None,
    plates_raw: Sequence[ForcePlate] = (),
) -> MarkerClip:
    """The clip of a file's points, in motionkit's world.

    A point of which one coordinate is missing counts as not seen.

    Args:
        source: the file.
        raw: its points.
        fps: frames per second, settled.
        options: what the user knows better.
        format: name in the table of formats.
        writer: program that wrote the file, if known.
        notes: what the reader noticed already; they come first.
        analog: channels beside the points, passed on.
        plates_raw: force plates with corners and origin in the units and axes of the file.

    Raises:
        InputError: no point is ever seen, one is infinite or absurdly far, or the stated unit
            makes the points absurdly large or small.
    """
    found = list(notes)
    labels, subject, more = clean_labels(raw.labels)
    found += more
    pos, more = _seen_or_not(source, raw.pos, labels)
    found += more
    raw = replace(raw, labels=labels, pos=pos)
    scale, unit_source, up, up_source, more = find_points_world(source, raw, options)
    found += more
    quat = np.array(world.WORLD_QUAT[up])
    placed = rotation.rotate(quat, pos) * scale
    _require_near(source, placed, labels)
    return MarkerClip(
        name=source.path.stem,
        fps=fps,
        labels=labels,
        pos_w=placed,
        subject=subject,
        first_frame=raw.first_frame,
        analog=analog,
        plates=tuple(
            replace(
                plate,
                corners_w=rotation.rotate(quat, plate.corners_w) * scale,
                origin=plate.origin * scale,
            )
            for plate in plates_raw
        ),
        provenance=Provenance(
            path=str(source.path),
            sha256=source.sha256,
            format=format,
            writer=writer,
            unit_scale=scale,
            unit_source=unit_source,
            up=up,
            up_source=up_source,
            world_quat=world.WORLD_QUAT[up],
            options=options.stated(),
            notes=tuple(found),
        ),
    )


def find_points_world(
    source: Source, raw: RawPoints, options: ReadOptions
) -> tuple[
    float, Literal["header", "stature", "user"], UpAxis, Literal["motion", "user"], list[Note]
]:
    """Unit and up axis of a file's points.

    Args:
        source: the file, for the error.
        raw: its points, of which at least one is seen; the labels may be raw or clean.
        options: the user's word on either.

    Returns:
        Metres per unit and how that was found, the up axis and how that was found, and notes.

    Raises:
        InputError: the stated unit makes the points absurdly large or small.
    """
    labels = clean_labels(raw.labels)[0]
    cloud = _sample(raw.pos, heights(labels))
    ranked = _rank_axes(cloud)
    up = options.up or ranked[0][0]
    notes = [] if options.up else _up_notes(cloud, ranked)
    if options.scale is not None:
        return options.scale, "user", up, "user" if options.up else "motion", notes
    scale, unit_source, more = _find_unit(source, raw.unit, cloud, up)
    return scale, unit_source, up, "user" if options.up else "motion", notes + more


@dataclass(frozen=True, slots=True)
class _Cloud:
    """The points in the fullest of the sampled frames, and what they show without a world."""

    pos: Float[Array, "S M 3"]
    """NaN where not seen."""
    height: Float[Array, "M"]
    """Of the labels, standing [statures]; NaN where the label tells none."""
    direction: Float[Array, "3"]
    """Mean over frames of the direction from low labels to high ones; zero if they tell none."""
    size: float
    """Largest extent along an axis of the file in one frame, median over frames; of the whole
    path for a single point."""


def _sample(pos: Float[Array, "T M 3"], height: Float[Array, "M"]) -> _Cloud:
    count = np.sum(~np.isnan(pos[..., 0]), axis=1)
    full = np.flatnonzero(count >= max(1, np.median(count[count > 0])))
    few = pos[full[world.sample_frames(len(full))]]
    extent = np.nanmax(few, axis=1) - np.nanmin(few, axis=1)
    size = float(np.median(np.max(extent, axis=1)))
    if size == 0.0:
        size = float(np.max(np.nanmax(few, axis=(0, 1)) - np.nanmin(few, axis=(0, 1))))
    told = ~np.isnan(height)
    seen = few[:, told]
    level = np.where(np.isnan(seen[..., 0]), np.nan, height[told])
    direction = np.zeros(3)
    if seen.shape[1] >= 2:
        enough = np.sum(~np.isnan(level), axis=1) >= 2
        seen, level = seen[enough], level[enough]
        span = np.nanmax(level, axis=1) - np.nanmin(level, axis=1)
        seen, level = seen[span >= HEIGHT_SPAN], level[span >= HEIGHT_SPAN]
        if len(seen):
            off = level - np.nanmean(level, axis=1, keepdims=True)
            line = np.nansum(off[..., None] * seen, axis=1)
            length = np.linalg.norm(line, axis=1, keepdims=True)
            direction = np.mean(line / np.where(length > 0, length, 1.0), axis=0)
    return _Cloud(few, height, direction, size)


def _rank_axes(cloud: _Cloud) -> list[tuple[UpAxis, float]]:
    """The six axes with their scores, best first."""
    axes: tuple[UpAxis, ...] = ("y", "z", "x", "-y", "-z", "-x")
    size = cloud.size or 1.0
    has_heights = bool(np.any(cloud.direction))

    steady = np.mean(~np.isnan(cloud.pos[..., 0]), axis=0) >= STEADY
    pos = cloud.pos[:, steady] if np.any(steady) else cloud.pos
    pos = pos[~np.isnan(pos[..., 0]).all(axis=1)]  # else a point that comes and goes moves floors

    def score(axis: str) -> float:
        along = pos @ world.axis_vector(axis)
        lowest, highest = np.nanmin(along, axis=1), np.nanmax(along, axis=1)
        low, high = np.percentile(lowest, [10, 90])
        spread = min(float(high - low) / size, world.FLOOR_SPREAD)
        total = world.AXIS_PRIOR[axis] - world.FLOOR_WEIGHT * spread
        floor = float(np.percentile(lowest, world.FLOOR_PERCENTILE))
        if floor < -world.ON_FLOOR * size:
            total -= FLOOR_AT_ZERO
        else:
            total += FLOOR_AT_ZERO if floor <= world.ON_FLOOR * size else 0.5 * FLOOR_AT_ZERO
        if has_heights:
            return total + float(cloud.direction @ world.axis_vector(axis))
        return total + TALLNESS * float(np.median(highest - lowest)) / size

    return sorted(((a, score(a)) for a in axes), key=lambda pair: -pair[1])


def _up_notes(cloud: _Cloud, ranked: list[tuple[UpAxis, float]]) -> list[Note]:
    (best, score), (second, rival) = ranked[:2]
    lead = score - rival
    has_heights = bool(np.any(cloud.direction))
    if lead >= CLEAR and best in ("y", "z") and has_heights:
        return []
    why = "" if has_heights else "; the labels do not tell how high their points sit"
    text = (f"up axis taken for {best}: score {score:.2f}, {second} has {rival:.2f}{why}; --up "
            "decides otherwise")  # fmt: skip
    return [Note("MK155", text, lead)]


def _find_unit(
    source: Source, said: str, cloud: _Cloud, up: UpAxis
) -> tuple[float, Literal["header", "stature"], list[Note]]:
    stature = _stature(cloud, up)
    metres = unit_metres(said)
    if metres is None:
        return _infer_unit(source, said, cloud, stature)
    size = cloud.size * metres
    low, high = SIZE_RANGE
    if cloud.size > 0 and not low <= size <= high:
        raise source.error(
            f"{said!r} makes the points {size:.3g} m across, expected {low:g} to {high:g} m",
            field="units",
            help="give the length of a unit in metres with --scale, e.g. --scale 0.001",
        )
    low, high = LABEL_STATURE_RANGE
    if stature and not low <= stature * metres <= high:
        text = (f"unit {said!r} of the file gives a person of {stature * metres:.2g} m; --scale "
                "decides otherwise")  # fmt: skip
        return metres, "header", [Note("MK157", text, stature * metres, "m")]
    return metres, "header", []


def unit_metres(said: str) -> float | None:
    """Length [m] of a unit by the first letters of its name; None if it is blank or unknown."""
    word = "".join(c for c in said.lower() if c.isalpha())
    if word == "m":
        return 1.0
    return next((metres for starts, metres in UNIT_WORDS if word.startswith(starts)), None)


def _infer_unit(
    source: Source, said: str, cloud: _Cloud, stature: float
) -> tuple[float, Literal["stature"], list[Note]]:
    stated = f"the unit {said!r} is not known" if said.strip() else "no unit is stated"
    unit = world.find_unit(stature)[0] if stature else None
    if unit is not None:
        text = (f"{stated}; taken for {unit.name}: labels of a stature of {stature:.4g} units, "
                f"{stature * unit.metres:.2f} m; --scale decides otherwise")  # fmt: skip
        return unit.metres, "stature", [Note("MK156", text, unit.metres, "m")]
    low, high = SIZE_RANGE
    fitting = [(name, m) for name, m in PLAIN_UNITS if low <= cloud.size * m <= high]
    if not fitting:
        raise source.error(
            f"{stated}, and points {cloud.size:.3g} units across fit none of m, cm, mm",
            field="units",
            help="give the length of a unit in metres with --scale, e.g. --scale 0.001",
        )
    name, metres = min(fitting, key=lambda pair: abs(np.log(cloud.size * pair[1] / PLAIN_SIZE)))
    text = (f"{stated}; taken for {name}: the points are {cloud.size:.4g} units across, "
            f"{cloud.size * metres:.2f} m; --scale decides otherwise")  # fmt: skip
    return metres, "stature", [Note("MK156", text, metres, "m")]


def _stature(cloud: _Cloud, up: UpAxis) -> float:
    """Stature in the unit of the points, by the slope of heights over labels; 0 if unknown."""
    axis = world.axis_vector(up)
    if float(cloud.direction @ axis) < world.UPRIGHT:
        return 0.0
    told = ~np.isnan(cloud.height)
    along = cloud.pos[:, told] @ axis
    is_seen = ~np.isnan(along)
    level = np.where(is_seen, cloud.height[told], 0.0)
    count = np.maximum(np.sum(is_seen, axis=1), 1)
    off = np.where(is_seen, level - (np.sum(level, axis=1) / count)[:, None], 0.0)
    spread = np.sum(off * off, axis=1)
    wide = spread > HEIGHT_SPAN**2
    if not np.any(wide):
        return 0.0
    slope = np.sum(off[wide] * np.nan_to_num(along[wide]), axis=1) / spread[wide]
    return max(0.0, float(np.median(slope)))


def _seen_or_not(
    source: Source, pos: Float[Array, "T M 3"], labels: tuple[str, ...]
) -> tuple[Float[Array, "T M 3"], list[Note]]:
    """Points NaN as a whole or not at all, and notes on the rest."""
    absurd = np.abs(pos) > LARGEST
    if np.any(absurd):
        frame, marker, axis = (int(i) for i in np.argwhere(absurd)[0])
        value = pos[frame, marker, axis]
        said = "infinite" if np.isinf(value) else f"{value:.3g} units from the origin"
        raise source.error(f"{said} at frame {frame} of the file (counted from 0)",
                           field=labels[marker], help="leave the cell blank")  # fmt: skip
    missing = np.isnan(pos)
    unseen: Bool[Array, "T M"] = np.any(missing, axis=2)
    if unseen.all():
        raise source.error(
            f"no point is ever seen: {pos.shape[1]} labels, {len(pos)} frames", field="points"
        )
    notes = []
    if partial := int(np.sum(unseen & ~missing.all(axis=2))):
        text = f"{partial} points lack a coordinate, and count as not seen"
        notes.append(Note("MK187", text, partial))
    never = np.flatnonzero(unseen.all(axis=0))
    if len(never):
        shown = ", ".join(labels[m] for m in never[:8]) + (", …" if len(never) > 8 else "")
        notes.append(Note("MK159", f"never seen: {shown} ({len(never)})", len(never)))
    return np.where(unseen[..., None], np.nan, pos).astype(np.float64), notes


def _require_near(source: Source, pos: Float[Array, "T M 3"], labels: tuple[str, ...]) -> None:
    far: Bool[Array, "T M"] = np.nan_to_num(np.max(np.abs(pos), axis=2)) > FARTHEST
    if np.any(far):
        frame, marker = (int(i) for i in np.argwhere(far)[0])
        raise source.error(
            f"{np.max(np.abs(pos[frame, marker])):.3g} m from the origin at frame {frame} "
            f"(counted from 0), expected at most {FARTHEST:g} m",
            field=labels[marker],
            help="leave points that were not seen blank, or give --scale",
        )
