"""Frames and rates: the one place where clips are cut and resampled, and positions differenced."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, Float

from motionkit import rotation
from motionkit.clip.human import HumanClip, SmplClip
from motionkit.clip.markers import MarkerClip
from motionkit.clip.robot import RobotClip
from motionkit.clip.skeleton import SkeletonClip
from motionkit.errors import InputError

Array = np.ndarray

_SAME_FPS = 1e-6  # relative, below which two rates are one

C = TypeVar("C", SkeletonClip, SmplClip, HumanClip, RobotClip, MarkerClip)

_TIME_FIELDS = (
    "root_pos_w", "joint_quat", "local_pos", "trans_w", "landmark_pos_w", "landmark_quat_w",
    "contact", "qpos", "pos_w",
)  # fmt: skip


def slice_frames(clip: C, start: int, stop: int) -> C:
    """The frames ``[start, stop)`` of a clip, unchanged.

    Raises:
        InputError: the interval is empty or reaches outside the clip.
    """
    frames = clip.num_frames
    if not 0 <= start < stop <= frames:
        raise InputError(
            f"frames [{start}, {stop}) asked for, the clip has [0, {frames})",
            where=clip.name,
            help="give a half-open interval inside the clip, e.g. --frames 0:100",
        )
    cut = _map_time(clip, lambda array: array[start:stop])
    if isinstance(cut, MarkerClip):
        cut = replace(cut, first_frame=cut.first_frame + start)
        if (analog := cut.analog) is not None:
            ratio = round(analog.fps / clip.fps)
            values = analog.values[ratio * start : ratio * stop]
            cut = replace(cut, analog=replace(analog, values=values))
    return cut


def resample(clip: C, fps: float) -> C:
    """The clip at another rate: positions by cubic spline, rotations by slerp, labels by nearest.

    The first frame is kept, and frames go on at ``1/fps`` as long as they lie inside the clip;
    nothing is extrapolated. A clip that already has the rate (to 1e-6 relative) is returned as
    it is. No low-pass filter is applied: halving the rate of noisy data folds its noise.

    Args:
        clip: any clip.
        fps: the wanted rate [1/s].

    Raises:
        InputError: ``fps`` is not positive and finite, or ``clip`` is a ``RobotClip``, or a
            ``MarkerClip``, whose gaps no spline may cross.
    """
    if not (np.isfinite(fps) and fps > 0):
        raise InputError(f"fps must be positive and finite, found {fps}", where=clip.name)
    if isinstance(clip, RobotClip | MarkerClip):
        what = "retarget" if isinstance(clip, RobotClip) else "align"
        message = f"a {type(clip).__name__} is not resampled; {what} the source, then resample"
        raise InputError(message, where=clip.name)
    if abs(fps / clip.fps - 1.0) < _SAME_FPS or clip.num_frames == 1:
        return replace(clip, fps=float(fps))
    last = clip.num_frames - 1
    # The half-nanoframe keeps the last frame when the ratio is whole but its product rounds down.
    frames = np.arange(int(np.floor(last * fps / clip.fps + 1e-9)) + 1)
    frame = np.minimum(frames * (clip.fps / fps), last)

    def at(array: Array) -> Array:
        if array.dtype == bool:
            return array[np.rint(frame).astype(int)]
        if array.shape[-1] == 4:
            low = np.minimum(frame.astype(int), last - 1)
            fraction = (frame - low).reshape(-1, *[1] * (array.ndim - 2))
            fraction = np.broadcast_to(fraction, (len(frame), *array.shape[1:-1]))
            return rotation.slerp(array[low], array[low + 1], fraction)
        from scipy.interpolate import CubicSpline

        return CubicSpline(np.arange(last + 1), array, axis=0)(frame)

    return replace(_map_time(clip, at), fps=float(fps))


def differentiate(values: Float[Array, "T *n"], fps: float) -> Float[Array, "T *n"]:
    """Rate of change: central differences inside, one-sided at the ends.

    Raises:
        InputError: fewer than two frames.
    """
    if len(values) < 2:
        raise InputError(f"a velocity needs at least 2 frames, found {len(values)}")
    return np.gradient(values, 1.0 / fps, axis=0, edge_order=1)


def _map_time(clip: C, function: Callable[[Array], Array]) -> C:
    changes = {}
    for name in _TIME_FIELDS:
        value = getattr(clip, name, None)
        if value is not None:
            changes[name] = function(value)
    return replace(clip, **changes)


def runs(mask: Bool[Array, "T"]) -> list[tuple[int, int]]:
    """Half-open intervals of the frames where a mask holds."""
    edges = np.flatnonzero(np.diff(np.r_[False, mask, False]))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
