"""Three panels about the markers of a clip: how far off, when, and how certain the joints are."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, UInt8

from motionkit.clip import SMPLH_JOINTS
from motionkit.view.scale import FULL_SCALE, STOPS, colour_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray

_DPI = 100
_ROW, _FRAME = 0.165, 1.0  # [inches]: a row, and what stands above and below them
_MIN_ROWS, _MAX_ROWS = 24, 160  # rows that a page is made high for; more become narrower
_MM = 1e3
_LEAST_END, _MOST_END = 0.01, 0.12  # [m] that the axis of residuals reaches
_LEAST_SIGMA, _MOST_SIGMA = 0.005, 0.06  # [m] that the axis of uncertainties reaches
_COLUMNS = 900  # of the raster at most; more frames share one
_UNSEEN = (0.80, 0.81, 0.83)
_FONT, _SMALL = 8, 7
_PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.85}  # below a note
_BODY = 22  # joints of SMPL-H without the fingers
_ORDER = ("head", "neck", "collar", "shoulder", "elbow", "wrist", "spine3", "spine2", "spine1",
          "pelvis", "hip", "knee", "ankle", "foot")  # fmt: skip


def draw_marker_plots(
    width: int,
    shown: Float[Array, "N"],
    *,
    fps: float,
    labels: tuple[str, ...],
    segments: tuple[str, ...],
    residual: Float[Array, "T K"],
    joint_sigma: Float[Array, "22"],
    filled: Float[Array, "22"],
) -> UInt8[Array, "h w 3"]:
    """The panels side by side as a picture; markers are sorted from head to foot, left first.

    Args:
        width: of the picture [pixels].
        shown: times of frames that are shown elsewhere, marked on the axis of time [s].
        fps: frames per second.
        labels: of the markers.
        segments: joint that each follows.
        residual: distances of the markers from their places [m]; NaN where not seen.
        joint_sigma: standard deviation of each joint's position [m].
        filled: share of frames in which no marker shows a joint's part.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    order = sorted(range(len(labels)), key=lambda k: (*_rank(segments[k]), labels[k]))
    rows = np.clip(len(labels), _MIN_ROWS, _MAX_ROWS)
    figure = Figure((width / _DPI, _ROW * float(rows) + _FRAME), dpi=_DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    bars, raster, joints = figure.subplots(1, 3, width_ratios=(4, 8, 3))
    names = [f"{labels[k]}  ({segments[k]})" for k in order]
    _bars(bars, names, residual[:, order])
    _raster(raster, [labels[k] for k in order], residual[:, order], fps, shown)
    _joints(joints, joint_sigma, filled)
    canvas.draw()
    return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3])


def _rank(segment: str) -> tuple[int, str]:
    """From head to foot, left before right."""
    side, _, part = segment.rpartition("_")
    return (_ORDER.index(part) if part in _ORDER else len(_ORDER)), side


def _bars(axes: "Axes", names: list[str], residual: Float[Array, "T K"]) -> None:
    axes.set_title("residual [mm]: mean, tick at the 95th percentile; share seen", loc="left",
                   fontsize=_FONT + 1)  # fmt: skip
    rows = np.arange(len(names))
    figures = [_mean_and_p95(column[np.isfinite(column)]) for column in residual.T]
    mean, p95 = (np.array(values) for values in zip(*figures, strict=True))
    colours = [tuple(v / 255 for v in colour_of(m if np.isfinite(m) else 0.0)) for m in mean]
    axes.barh(rows, np.nan_to_num(mean) * _MM, color=colours, height=0.75)
    axes.plot(p95 * _MM, rows, "k|", ms=6)
    axes.set_yticks(rows, names, fontsize=_SMALL)
    axes.set_ylim(len(names) - 0.5, -0.5)
    known = np.maximum(mean, p95)[np.isfinite(p95)]
    end = max(_LEAST_END, 1.25 * float(known.max())) if known.size else _LEAST_END
    end = min(end, _MOST_END) * _MM
    axes.set_xlim(0.0, end)
    for row, share in enumerate(np.isfinite(residual).mean(axis=0)):
        notes = [f"p95 {_MM * p95[row]:.0f} mm"] if p95[row] * _MM > end else []
        if share < 1.0:
            notes.append("never seen" if share == 0.0 else f"{100 * share:.3g}%")
        axes.text(0.985 * end, row, ", ".join(notes), ha="right", va="center", fontsize=_SMALL,
                  color="0.25", bbox=_PAPER if notes else None)  # fmt: skip
    axes.tick_params(axis="x", labelsize=_FONT)
    axes.grid(axis="x", color="0.9", lw=0.6)
    axes.set_axisbelow(True)


def _mean_and_p95(values: Float[Array, "n"]) -> tuple[float, float]:
    if not values.size:
        return float("nan"), float("nan")
    return float(values.mean()), float(np.percentile(values, 95))


def _raster(
    axes: "Axes",
    labels: list[str],
    residual: Float[Array, "T K"],
    fps: float,
    shown: Float[Array, "N"],
) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    axes.set_title("residual over time [mm]; grey: not seen; triangles: the frames above",
                   loc="left", fontsize=_FONT + 1)  # fmt: skip
    stops = [(at, tuple(v / 255 for v in colour)) for at, colour in STOPS]
    colours = LinearSegmentedColormap.from_list("residual", stops).with_extremes(bad=_UNSEEN)
    frames = len(residual)
    half = 0.5 / fps
    image = axes.imshow(
        _columns(residual).T * _MM, cmap=colours, vmin=0.0, vmax=FULL_SCALE * _MM, aspect="auto",
        interpolation="nearest", extent=(-half, (frames - 1) / fps + half, len(labels) - 0.5, -0.5),
    )  # fmt: skip
    axes.plot(shown, np.full(len(shown), -0.5), "kv", ms=5, clip_on=False)
    axes.set_yticks(np.arange(len(labels)), labels, fontsize=_SMALL)
    axes.set_xlabel("s", fontsize=_FONT)
    axes.tick_params(axis="x", labelsize=_FONT)
    bar = axes.figure.colorbar(image, ax=axes, fraction=0.025, pad=0.01, extend="max")
    bar.ax.tick_params(labelsize=_SMALL)


def _columns(residual: Float[Array, "T K"]) -> Float[Array, "C K"]:
    """The largest residual of the frames that share a column; NaN if a marker lacks in one."""
    if len(residual) <= _COLUMNS:
        return residual
    edges = np.linspace(0, len(residual), _COLUMNS + 1).astype(int)[:-1]
    return np.maximum.reduceat(residual, edges, axis=0)  # NaN wins


def _joints(axes: "Axes", sigma: Float[Array, "22"], filled: Float[Array, "22"]) -> None:
    axes.set_title("uncertainty of joints [mm]; share bridged", loc="left", fontsize=_FONT + 1)
    order = sorted(range(_BODY), key=lambda j: _rank(SMPLH_JOINTS[j]))
    rows = np.arange(_BODY)
    length = np.where(np.isfinite(sigma), sigma, 0.0)[order] * _MM
    axes.barh(rows, length, color="0.6", height=0.75)
    axes.set_yticks(rows, [SMPLH_JOINTS[j] for j in order], fontsize=_SMALL)
    axes.set_ylim(_BODY - 0.5, -0.5)
    end = min(max(_LEAST_SIGMA * _MM, 1.25 * float(length.max())), _MOST_SIGMA * _MM)
    axes.set_xlim(0.0, end)
    for row, j in enumerate(order):
        notes = [] if np.isfinite(sigma[j]) else ["not determined"]
        notes += [f"{length[row]:.0f} mm"] if length[row] > end else []
        notes += [f"{100 * filled[j]:.3g}%"] if filled[j] > 0 else []
        axes.text(0.985 * end, row, ", ".join(notes), ha="right", va="center", fontsize=_SMALL,
                  color="0.25", bbox=_PAPER if notes else None)  # fmt: skip
    axes.tick_params(axis="x", labelsize=_FONT)
    axes.grid(axis="x", color="0.9", lw=0.6)
    axes.set_axisbelow(True)
