"""One page of curves: heights and contacts, joint rates against their budgets, errors per part."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.errors import InputError
from motionkit.robot import JointBudget, Robot
from motionkit.view.png import require_libraries, write_png

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = np.ndarray

_INCHES, _DPI = (11.0, 8.5), 120
_IN_CONTACT = 0.5  # probability from which a contact is shown
_BAR = 0.08  # [m], height of a row of contact bars in the panel of heights
_MM = 1e3


def render_plots(
    robot: Robot,
    qpos: Float[Array, "T nq"],
    path: str | Path,
    *,
    fps: float,
    contact: Float[Array, "T K"] | None = None,
    targets: Float[Array, "T L 3"] | None = None,
    budget: JointBudget | None = None,
) -> None:
    """Write a PNG with four panels over one clip.

    Height of the root and of each sole's lowest point above z = 0, with bars where the sole is in
    contact; the fastest joint of every frame, and the hardest accelerated one, against the budget
    (first and second differences of neighbouring frames); distance of each landmark from its
    target, mean, 95th percentile and largest.

    Args:
        robot: who moves.
        qpos: the poses, two frames at least.
        path: of the PNG; replaced whole.
        fps: frames per second.
        contact: probability of ground contact of ``robot.contact_bodies``.
        targets: wanted positions of ``robot.landmarks`` in the world [m]; without them the
            fourth panel says so.
        budget: caps to draw; default the robot's.

    Raises:
        InputError: fewer than two frames.
        AssetError: the extra ``view`` is not installed.
    """
    require_libraries()
    if len(qpos) < 2:
        raise InputError(f"curves need at least 2 frames, found {len(qpos)}", where=robot.name)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, dpi=_DPI, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    axes = figure.subplots(2, 2)
    time = np.arange(len(qpos)) / fps
    body_pos, body_quat = robot.forward(qpos)
    _heights(axes[0, 0], robot, time, body_pos, body_quat, contact)
    _rates(axes[0, 1], axes[1, 1], robot, time, qpos, fps, budget or robot.budget)
    _errors(axes[1, 0], robot, body_pos, targets)
    canvas.draw()
    write_png(path, np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[..., :3]))


def _heights(
    axes: "Axes", robot: Robot, time: Array, pos: Array, quat: Array, contact: Array | None
) -> None:
    axes.set_title("height of root and soles [m]", loc="left", fontsize=10)
    axes.axhline(0.0, color="0.7", lw=0.8)
    axes.plot(time, pos[:, 0, 2], color="k", label=robot.body_names[0])
    for k, name in enumerate(robot.contact_bodies):
        center, radius = robot.sole(name)
        index = robot.body_index(name)
        place = pos[:, index, None] + rotation.rotate(quat[:, index, None], center)
        height = (place[..., 2] - radius).min(axis=1)
        (line,) = axes.plot(time, height, lw=1.0, label=name)
        if contact is not None:
            _contact_bars(axes, k, time, contact[:, k] > _IN_CONTACT, line.get_color())
    axes.legend(fontsize=7, loc="center right")
    axes.set_xlabel("s")


def _contact_bars(axes: "Axes", row: int, time: Array, on: Array, colour: object) -> None:
    """Bars in a band below the curves, one row a sole."""
    low = -_BAR * (row + 1)
    axes.fill_between(time, low + 0.2 * _BAR, low + 0.9 * _BAR, where=on.tolist(), color=colour,
                      alpha=0.7, lw=0, step="mid")  # fmt: skip


def _rates(
    speed_axes: "Axes",
    acceleration_axes: "Axes",
    robot: Robot,
    time: Array,
    qpos: Array,
    fps: float,
    budget: JointBudget,
) -> None:
    panels = (
        (speed_axes, "joint speed", "rad/s", 1, budget.max_velocity),
        (acceleration_axes, "joint acceleration", "rad/s²", 2, budget.max_acceleration),
    )
    for axes, title, unit, order, cap in panels:
        rate = np.abs(np.diff(qpos[:, 7:], n=order, axis=0)) * fps**order
        when = time[: len(rate)] + 0.5 * order / fps
        axes.axhline(cap, color="tab:red", lw=1.0)
        if rate.size:
            frame, joint = np.unravel_index(np.argmax(rate), rate.shape)
            axes.plot(when, rate.max(axis=1), color="k", lw=1.0)
            axes.plot(when[frame], rate[frame, joint], "o", color="tab:red", ms=4)
            name = robot.joint_names[int(joint)]
            peak = f"peak: {name} {rate[frame, joint]:.3g} at {when[frame]:.2f} s"
        else:
            peak = "too few frames"
        axes.set_title(f"{title} [{unit}], budget {cap:g}\n{peak}", loc="left", fontsize=10)
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel("s")


def _errors(axes: "Axes", robot: Robot, pos: Array, targets: Array | None) -> None:
    axes.set_title("distance of landmarks from their targets [mm]", loc="left", fontsize=10)
    if targets is None:
        axes.text(0.5, 0.5, "no targets were given", ha="center", transform=axes.transAxes)
        return
    index = [robot.body_index(mark.body) for mark in robot.landmarks]
    error = np.linalg.norm(pos[:, index] - targets, axis=-1) * _MM
    rows = np.arange(len(index))
    axes.barh(rows, error.mean(axis=0), color="0.6", label="mean")
    axes.plot(np.percentile(error, 95, axis=0), rows, "k|", ms=7, label="95%")
    axes.plot(error.max(axis=0), rows, ".", color="tab:red", ms=4, label="max")
    axes.set_yticks(rows, [mark.body for mark in robot.landmarks], fontsize=6)
    axes.invert_yaxis()
    axes.legend(fontsize=7, loc="lower right")
