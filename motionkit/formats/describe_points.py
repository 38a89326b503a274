"""What there is to know about labelled points, for ``motionkit inspect``."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from motionkit.clip import SMPLH_JOINTS, ForcePlate, MarkerClip
from motionkit.formats.facts import Facts, shared_facts

Array = np.ndarray

_NUM_BODY = 22  # joints of SMPL-H before the fingers


@dataclass(frozen=True, slots=True)
class Gap:
    """A run of frames in which a point is not seen, between two in which it is."""

    label: str
    """Of the point."""
    start: int
    """First frame without it, counted from 0 in the clip."""
    frames: int
    """Number of frames without it."""
    seconds: float
    """From the last sighting to the next [s]."""


@dataclass(frozen=True, slots=True)
class PlateFacts:
    """A force plate."""

    type: int
    """As in ``FORCE_PLATFORM:TYPE`` of C3D."""
    corners: tuple[tuple[float, float, float], ...]
    """Corners of the working surface [m], +Z up."""
    channels: tuple[str, ...]
    """Labels of its analog channels."""
    is_calibrated: bool
    """Whether the file has a calibration matrix for it."""


@dataclass(frozen=True, slots=True)
class AnalogFacts:
    """Channels sampled beside the points."""

    fps: float
    """Samples per second."""
    samples: int
    """Number of samples."""
    channels: tuple[tuple[str, str], ...]
    """Label and unit of each, as the file spells them; the unit is empty where it states none."""


@dataclass(frozen=True, slots=True)
class PointsDescription(Facts):
    """Facts about labelled points."""

    subject: str
    """Prefix that was taken off the labels, where there was one."""
    first_frame: int
    """Number that the file gives to its first frame."""
    points: int
    """Number of points."""
    labels: tuple[str, ...]
    """Of the points, in the file's order, without the subject's prefix."""
    visible_share: float
    """Share of points times frames that were seen, 0 to 1."""
    visible: dict[str, float]
    """Share of frames in which each point was seen, by label, the least seen first."""
    never_seen: tuple[str, ...]
    """Labels of points that were seen in no frame."""
    longest_gap: Gap | None
    """The longest time that any point is away; absent where none comes back."""
    lowest: float | None
    """Smallest height of any point [m]; absent where none was ever seen."""
    highest: float | None
    """Greatest height of any point [m]."""
    extent: tuple[float, float, float] | None
    """Size of the box that holds all points in all frames [m]."""
    analog: AnalogFacts | None
    """Channels sampled beside the points."""
    plates: tuple[PlateFacts, ...]
    """Force plates."""
    roles: dict[str, str]
    """Role to label, for joint centres that the reader knows."""
    roles_missing: tuple[str, ...]
    """Body roles (not fingers) that no point plays; of joint centres alone."""


def describe_points(clip: MarkerClip) -> PointsDescription:
    """The facts about labelled points, judged from all frames."""
    seen = clip.visible
    share = seen.mean(axis=0)
    order = np.argsort(share, kind="stable")
    low, high = _box(clip)
    is_joints = clip.kind == "joint"
    missing = [role for role in SMPLH_JOINTS[:_NUM_BODY] if role not in clip.roles]
    return PointsDescription(
        **shared_facts(clip, "joints" if is_joints else "markers"),
        subject=clip.subject, first_frame=clip.first_frame, points=len(clip.labels),
        labels=clip.labels,
        visible_share=float(seen.mean()) if seen.size else 0.0,
        visible={clip.labels[i]: float(share[i]) for i in order},
        never_seen=tuple(clip.labels[i] for i in np.flatnonzero(share == 0.0)),
        longest_gap=longest_gap(seen, clip.labels, clip.fps),
        lowest=None if low is None else float(low[2]),
        highest=None if high is None else float(high[2]),
        extent=None if low is None or high is None else _three(high - low),
        analog=_analog(clip), plates=tuple(_plate(plate) for plate in clip.plates),
        roles=dict(clip.roles), roles_missing=tuple(missing) if is_joints else (),
    )  # fmt: skip


def longest_gap(seen: Bool[Array, "T M"], labels: tuple[str, ...], fps: float) -> Gap | None:
    """The longest run without a point that is seen before and after it; the first of equals.

    Frames before the first sighting and after the last are no gap: nothing could bridge them.
    """
    worst: Gap | None = None
    for m, label in enumerate(labels):
        at = np.flatnonzero(seen[:, m])
        away = np.diff(at) - 1
        if not len(away) or away.max() == 0:
            continue
        i = int(away.argmax())
        if worst is None or away[i] > worst.frames:
            worst = Gap(label, int(at[i]) + 1, int(away[i]), float((away[i] + 1) / fps))
    return worst


def _box(clip: MarkerClip) -> tuple[Array | None, Array | None]:
    """Lowest and highest corner of all that was seen [m]."""
    pos = clip.pos_w[clip.visible]
    return (pos.min(axis=0), pos.max(axis=0)) if len(pos) else (None, None)


def _three(vector: Array) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in vector)
    return x, y, z


def _analog(clip: MarkerClip) -> AnalogFacts | None:
    if clip.analog is None:
        return None
    channels = tuple(zip(clip.analog.labels, clip.analog.units, strict=True))
    return AnalogFacts(clip.analog.fps, len(clip.analog.values), channels)


def _plate(plate: ForcePlate) -> PlateFacts:
    corners = tuple(_three(corner) for corner in plate.corners_w)
    return PlateFacts(plate.type, corners, plate.channels, plate.calibration is not None)
