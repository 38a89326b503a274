"""Markers over the skeleton that was fitted to them, and how far off each of them is.

One page. Above, the person in frames evenly spaced over the clip: limbs in the colour of their
side, a dot where a marker was seen, a line from it to its place on the person, a ring at the place
of a marker that was not seen. Below, the residual of each marker (mean and 95th percentile), the
same over time with gaps left grey, and how certain each joint is. One scale of colours serves all:
green is near, crimson :data:`FULL_SCALE` or more.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, UInt8

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS, HumanClip
from motionkit.errors import InputError
from motionkit.view.camera import FROM_FRONT, Camera, surround
from motionkit.view.drawing import SKY, draw_ground
from motionkit.view.marker_plots import draw_marker_plots
from motionkit.view.png import require_libraries, write_png
from motionkit.view.scale import colour_of

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

Array = np.ndarray

MARKER_PANEL = (320, 440)
"""Width and height of one frame [pixels]."""
HEADER = 30
"""Height of the line of text above the frames [pixels]."""

_OVERSAMPLE = 2  # drawn at so many times the size, then averaged
_TEXT_SIZE, _SMALL_TEXT = 14, 12  # [pixels]
_TEXT, _TRUNK = (60, 65, 75), (70, 76, 88)
_LEFT, _RIGHT, _UNSEEN = (45, 95, 185), (150, 95, 50), (140, 146, 156)
_HEAD_RADIUS = 0.10  # [m] of the circle that stands for the skull
_HEAD_RISE = 0.05  # [m], its centre above the head joint, which lies between jaw and eye
_BONE, _DOT, _RING, _LINE = 3.0, 3.2, 3.0, 1.6  # widths and radii [pixels]
_NAMED = 3  # worst markers of a frame that are named
_NAMED_FROM = 0.03  # [m], residual from which they are
_STRAY = 0.3  # [m], residual beyond which a marker does not widen the view
_BODY = 22  # joints of SMPL-H without the fingers
_HANDS = tuple((f"{side}_wrist", f"{side}_middle1") for side in ("left", "right"))


@runtime_checkable
class Fit(Protocol):
    """What is shown of a fit of markers: ``motionkit.human.MarkerFit`` says what each field is."""

    @property
    def human(self) -> HumanClip:
        """The person."""
        ...

    @property
    def marker_set(self) -> str:
        """Name of the marker set."""
        ...

    @property
    def labels(self) -> tuple[str, ...]:
        """Markers that took part."""
        ...

    @property
    def unmapped(self) -> tuple[str, ...]:
        """Markers that did not."""
        ...

    @property
    def segments(self) -> tuple[str, ...]:
        """Joint that each marker follows."""
        ...

    @property
    def pos_w(self) -> Float[Array, "T K 3"]:
        """Seen markers [m]."""
        ...

    @property
    def model_pos_w(self) -> Float[Array, "T K 3"]:
        """Fitted markers [m]."""
        ...

    @property
    def joint_sigma(self) -> Float[Array, "22"]:
        """Uncertainty of the joints [m]."""
        ...

    @property
    def filled(self) -> Float[Array, "22"]:
        """Share of frames in which no marker shows a joint's part."""
        ...

    @property
    def first_frame(self) -> int:
        """Frame of the source that is the first of the result."""
        ...


def render_markers(fit: Fit, path: str | Path, *, count: int = 6) -> None:
    """Write a PNG of a fit of markers: frames, residuals, gaps, and uncertainty.

    The frame of the largest mean residual takes the place of the nearest of the evenly spaced
    ones, so that a failure between them is seen.

    The camera keeps its direction, 55 degrees from straight ahead of the first frame, and its
    distance. A marker farther than 0.3 m from its place does not widen the view; the line towards
    it leaves the picture.

    Args:
        fit: a person and the markers.
        path: of the PNG; replaced whole.
        count: number of frames to show.

    Raises:
        InputError: ``count`` is not positive, or no marker took part.
        AssetError: the extra ``view`` is not installed.
    """
    require_libraries()
    if count < 1 or not fit.labels:
        raise InputError(f"a picture of {count} frames of {len(fit.labels)} markers is empty")
    shown, worst = _with_worst(_evenly(fit.human.num_frames, count), fit)
    panels = _panels(fit.human, shown, fit, first=fit.first_frame, worst=worst)
    strip = np.concatenate(panels, axis=1)
    width = max(strip.shape[1], count * MARKER_PANEL[0])
    below = draw_marker_plots(
        width, shown / fit.human.fps, fps=fit.human.fps, labels=fit.labels, segments=fit.segments,
        residual=np.linalg.norm(fit.pos_w - fit.model_pos_w, axis=-1),
        joint_sigma=fit.joint_sigma, filled=fit.filled,
    )  # fmt: skip
    write_png(path, np.concatenate([_header(width, _title(fit)), _padded(strip, width), below]))


def render_person(human: HumanClip, path: str | Path, *, count: int = 6) -> None:
    """Write a PNG of a person in ``count`` frames, the first and the last among them.

    Args:
        human: who moves.
        path: of the PNG; replaced whole.
        count: number of frames to show.

    Raises:
        InputError: ``count`` is not positive.
        AssetError: the extra ``view`` is not installed.
    """
    require_libraries()
    if count < 1:
        raise InputError(f"a picture of {count} frames is empty")
    strip = np.concatenate(_panels(human, _evenly(human.num_frames, count), None, first=0), axis=1)
    title = f"{human.name}: {human.num_frames} frames at {human.fps:g} 1/s"
    write_png(path, np.concatenate([_header(strip.shape[1], title), strip]))


def _evenly(frames: int, count: int) -> Array:
    return np.unique(np.linspace(0, frames - 1, count).round().astype(int))


def _with_worst(shown: Array, fit: Fit) -> tuple[Array, int | None]:
    """The frames with the worst among them, and which it is; absent if no marker was seen."""
    residual = np.linalg.norm(fit.pos_w - fit.model_pos_w, axis=-1)
    num_seen = np.isfinite(residual).sum(axis=1)
    mean = np.nansum(residual, axis=1) / np.maximum(num_seen, 1)
    if not num_seen.any():
        return shown, None
    worst = int(np.argmax(mean))
    shown = shown.copy()
    shown[np.argmin(np.abs(shown - worst))] = worst
    return shown, worst


def _title(fit: Fit) -> str:
    residual = np.linalg.norm(fit.pos_w - fit.model_pos_w, axis=-1)
    seen = residual[np.isfinite(residual)]
    figures = (
        f"residual {1e3 * seen.mean():.1f} mm mean, {1e3 * np.percentile(seen, 95):.1f} mm p95"
        if seen.size
        else "no marker was seen"
    )
    total = len(fit.labels) + len(fit.unmapped)
    return (
        f"{fit.human.name}: {fit.marker_set}, {len(fit.labels)} of {total} markers, {figures}, "
        f"{fit.human.num_frames} frames at {fit.human.fps:g} 1/s"
    )


def _header(width: int, title: str) -> UInt8[Array, "h w 3"]:
    """The title, and what the colours of limbs and marks mean."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (width, HEADER), "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(size=_TEXT_SIZE)
    right = width - 8
    for text, colour in (("not seen", _UNSEEN), ("trunk", _TRUNK), ("right", _RIGHT),
                         ("left", _LEFT)):  # fmt: skip
        right -= int(pen.textlength(text, font=font))
        pen.text((right, 7), text, fill=colour, font=font)
        right -= 24
        if colour == _UNSEEN:
            pen.circle((right + 12, 15), _RING + 1, outline=colour, width=2)
        else:
            pen.line([(right + 4, 15), (right + 18, 15)], fill=colour, width=4)
        right -= 14
    while pen.textlength(title, font=font) > right - 16 and len(title) > 1:
        title = f"{title[:-2]}…"
    pen.text((8, 7), title, fill=_TEXT, font=font)
    return np.asarray(image)


def _padded(strip: UInt8[Array, "h w 3"], width: int) -> UInt8[Array, "h v 3"]:
    """The strip of a clip of few frames, at the page's width."""
    wide = np.full((strip.shape[0], width, 3), 255, dtype=np.uint8)
    wide[:, : strip.shape[1]] = strip
    return wide


def _panels(
    human: HumanClip, shown: Array, fit: Fit | None, *, first: int, worst: int | None = None
) -> list[UInt8[Array, "h w 3"]]:
    """One picture a frame."""
    from PIL import Image, ImageDraw

    joints = human.landmark_pos_w[shown]
    nowhere = np.zeros((len(shown), 0, 3))
    seen = nowhere if fit is None else fit.pos_w[shown]
    place = nowhere if fit is None else fit.model_pos_w[shown]
    cameras = _cameras(human, joints, seen, place)
    big = (MARKER_PANEL[0] * _OVERSAMPLE, MARKER_PANEL[1] * _OVERSAMPLE)
    out = []
    for i, (frame, camera) in enumerate(zip(shown, cameras, strict=True)):
        image = Image.new("RGB", big, SKY)
        pen = ImageDraw.Draw(image)
        draw_ground(pen, camera, big)
        _figure(pen, joints[i], camera, big)
        _marks(pen, seen[i], place[i], camera, big)
        panel = image.resize(MARKER_PANEL, Image.Resampling.BOX)
        _write(panel, (8, 6), f"{frame / human.fps:.2f} s   frame {first + frame}")
        if fit is not None:
            count = int(np.isfinite(seen[i, :, 0]).sum())
            text = f"{count} of {len(fit.labels)} seen{'   worst frame' if frame == worst else ''}"
            _write(panel, (8, 24), text)
            _name_worst(panel, fit.labels, seen[i], place[i], camera)
        out.append(np.asarray(panel))
    return out


def _cameras(human: HumanClip, joints: Array, seen: Array, place: Array) -> list[Camera]:
    near = np.linalg.norm(seen - place, axis=-1) < _STRAY  # False where it was not seen
    near_seen = np.where(near[..., None], seen, place)
    skull = joints[:, [SMPLH_JOINTS.index("head")]]
    points = np.concatenate([joints, skull, place, near_seen], axis=1)
    radius = np.zeros(points.shape[1])
    radius[joints.shape[1]] = _HEAD_RADIUS + _HEAD_RISE
    forward = rotation.rotate(human.landmark_quat_w[0, 0], np.array([1.0, 0.0, 0.0]))
    azimuth = np.arctan2(forward[1], forward[0]) + np.pi - FROM_FRONT
    aspect = MARKER_PANEL[0] / MARKER_PANEL[1]
    return surround(points, radius, joints[:, 0], np.full(len(joints), azimuth), aspect)


def _figure(
    pen: "ImageDraw", joints: Float[Array, "52 3"], camera: Camera, size: tuple[int, int]
) -> None:
    """Bones in the colour of their side, those farther away first, and a circle for the skull."""
    pixel, scale = camera.project(joints, *size)
    bones = [(parent, j) for j, parent in enumerate(SMPLH_PARENTS[:_BODY]) if parent >= 0]
    bones += [(SMPLH_JOINTS.index(near), SMPLH_JOINTS.index(far)) for near, far in _HANDS]
    for near, far in sorted(bones, key=lambda bone: scale[list(bone)].mean()):
        name = SMPLH_JOINTS[far]
        colour = {"l": _LEFT, "r": _RIGHT}.get(name[0] if "_" in name else "", _TRUNK)
        ends = [tuple(pixel[near].tolist()), tuple(pixel[far].tolist())]
        pen.line(ends, fill=colour, width=round(_BONE * _OVERSAMPLE))
        pen.circle(ends[1], _BONE * _OVERSAMPLE * 0.7, fill=colour)
    head = SMPLH_JOINTS.index("head")
    up = joints[head] - joints[SMPLH_JOINTS.index("neck")]
    skull = joints[head] + _HEAD_RISE * up / max(float(np.linalg.norm(up)), 1e-9)
    at, here = camera.project(skull[None], *size)
    pen.circle(tuple(at[0].tolist()), float(_HEAD_RADIUS * here[0]), outline=_TRUNK,
               width=round(0.7 * _BONE * _OVERSAMPLE))  # fmt: skip


def _marks(
    pen: "ImageDraw",
    seen: Float[Array, "K 3"],
    place: Float[Array, "K 3"],
    camera: Camera,
    size: tuple[int, int],
) -> None:
    """Dots and lines, those farthest from their places last; rings where no marker was seen."""
    residual = np.linalg.norm(seen - place, axis=-1)
    home, _ = camera.project(place, *size)
    at, _ = camera.project(np.where(np.isfinite(seen), seen, place), *size)
    for k in np.argsort(np.nan_to_num(residual, nan=-1.0), kind="stable"):
        if not np.isfinite(residual[k]):
            pen.circle(tuple(home[k].tolist()), _RING * _OVERSAMPLE, outline=_UNSEEN,
                       width=_OVERSAMPLE)  # fmt: skip
            continue
        colour = colour_of(float(residual[k]))
        ends = [tuple(at[k].tolist()), tuple(home[k].tolist())]
        pen.line(ends, fill=colour, width=round(_LINE * _OVERSAMPLE))
        pen.circle(ends[0], _DOT * _OVERSAMPLE, fill=colour, outline=(40, 40, 40), width=1)


def _name_worst(
    panel: "Image",
    labels: tuple[str, ...],
    seen: Float[Array, "K 3"],
    place: Float[Array, "K 3"],
    camera: Camera,
) -> None:
    """Labels and residuals [mm] of the worst markers of a frame, beside them and apart."""
    from PIL import ImageDraw, ImageFont

    pen, font = ImageDraw.Draw(panel), ImageFont.load_default(size=_SMALL_TEXT)
    residual = np.nan_to_num(np.linalg.norm(seen - place, axis=-1))
    taken: list[float] = []
    for k in np.argsort(-residual, kind="stable")[:_NAMED]:
        if residual[k] < _NAMED_FROM:
            return
        pixel = camera.project(place[k : k + 1], *MARKER_PANEL)[0][0]
        text = f"{labels[k]} {1e3 * residual[k]:.0f} mm"
        wide = pen.textlength(text, font=font)
        x = pixel[0] + 8 if pixel[0] > 0.5 * MARKER_PANEL[0] else pixel[0] - 8 - wide
        x = float(np.clip(x, 2, MARKER_PANEL[0] - wide - 2))
        y = float(np.clip(pixel[1] - 0.5 * _SMALL_TEXT, 44, MARKER_PANEL[1] - 2 * _SMALL_TEXT))
        while any(abs(y - other) < _SMALL_TEXT for other in taken):
            y += _SMALL_TEXT
        taken.append(y)
        _write(panel, (x, y), text, colour_of(float(residual[k])), _SMALL_TEXT)


def _write(
    panel: "Image",
    at: tuple[float, float],
    text: str,
    colour: tuple[int, int, int] = _TEXT,
    size: int = _TEXT_SIZE,
) -> None:
    """Text that stays legible over the picture."""
    from PIL import ImageDraw, ImageFont

    font = ImageFont.load_default(size=size)
    ImageDraw.Draw(panel).text((round(at[0]), round(at[1])), text, fill=colour, font=font,
                               stroke_width=2, stroke_fill=SKY)  # fmt: skip
