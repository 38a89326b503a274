"""Clips of points and of robots, as a reader would hand them on."""

import numpy as np
from builders import PROVENANCE, smooth_quats

from motionkit.clip import MarkerClip, RobotMotion


def marker_clip(rng: np.random.Generator, frames: int = 20, points: int = 5, **changes):
    """Points that drift; each is away in about a third of the frames."""
    pos = np.cumsum(rng.normal(scale=0.02, size=(frames, points, 3)), axis=0)
    pos += rng.uniform(0, 2, size=(points, 3))
    pos[rng.random((frames, points)) < 0.3] = np.nan
    values = {
        "name": "made", "fps": 100.0, "labels": tuple(f"P{i}" for i in range(points)),
        "pos_w": pos, "provenance": PROVENANCE, **changes,
    }  # fmt: skip
    return MarkerClip(**values)


def robot_motion(rng: np.random.Generator, frames: int = 20, joints: int = 4, **changes):
    """A floating body that turns, with joints that move smoothly."""
    values = {
        "name": "made", "fps": 50.0,
        "root_pos_w": rng.normal(size=(frames, 3)), "root_quat": smooth_quats(rng, frames),
        "joint_pos": np.cumsum(rng.normal(scale=0.05, size=(frames, joints)), axis=0),
        "provenance": PROVENANCE, **changes,
    }  # fmt: skip
    return RobotMotion(**values)
