"""Pictures by MuJoCo's renderer, made in a process of their own.

A driver that is missing or broken may end or hang the process that asks it; this one only waits.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from motionkit.robot import Robot
from motionkit.view.camera import Camera

Array = np.ndarray

_SECONDS = 120.0  # a strip takes two or three with a software driver
_OFF = {"0", "off", "false", "disable", "disabled"}  # values of MUJOCO_GL that mean: no rendering
_WORKER = Path(__file__).with_name("gl_worker.py")


@dataclass(frozen=True, slots=True)
class Rendered:
    """What the renderer made of it."""

    images: UInt8[Array, "N H W 3"] | None
    """The pictures; absent when there is no working driver."""
    renderer: str
    """Name of the driver that made them; empty without one."""
    cause: str = ""
    """Why there are none, for people."""


def render(
    robot: Robot,
    qpos: Float[Array, "N nq"],
    cameras: list[Camera],
    size: tuple[int, int],
    seconds: float = _SECONDS,
) -> Rendered:
    """One picture a frame, of ``size`` (width, height), by the first driver that works.

    ``MUJOCO_GL`` chooses the driver where it is set; its values for none are honoured.
    """
    chosen = os.environ.get("MUJOCO_GL", "").strip().lower()
    if chosen in _OFF:
        return Rendered(None, "", f"MUJOCO_GL={chosen}")
    drivers = [chosen] if chosen else ["egl", "osmesa"] if sys.platform == "linux" else [""]
    cause = ""
    with tempfile.TemporaryDirectory(prefix="motionkit-view-") as name:
        folder = Path(name)
        _write_job(folder, robot, qpos, cameras, size)
        for driver in drivers:
            failed = _run(folder, driver, seconds)
            if failed is None:
                return Rendered(np.load(folder / "images.npy"), driver or "gl")
            cause = f"{cause}; {driver}: {failed}" if cause else f"{driver}: {failed}"
    return Rendered(None, "", cause)


def _write_job(
    folder: Path, robot: Robot, qpos: Array, cameras: list[Camera], size: tuple[int, int]
) -> None:
    import mujoco

    mujoco.mj_saveModel(robot.model, str(folder / "model.mjb"), None)
    np.savez(
        folder / "job.npz",
        qpos=qpos,
        size=np.array(size),
        lookat=np.stack([c.lookat for c in cameras]),
        view=np.array(
            [[c.distance, np.degrees(c.azimuth), np.degrees(c.elevation)] for c in cameras]
        ),
        fovy=np.degrees(cameras[0].fovy),
    )


def _run(folder: Path, driver: str, seconds: float) -> str | None:
    """Cause of failure; ``None`` when the pictures are there."""
    environment = dict(os.environ)
    if driver:
        environment["MUJOCO_GL"] = driver
    # -P: the worker's folder is no place to import from.
    command = [sys.executable, "-P", str(_WORKER), str(folder)]
    try:
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=seconds)  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"no answer within {seconds:g} s"
    if done.returncode == 0:
        return None
    last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
    return last[0] if last else f"ended with {done.returncode}"
