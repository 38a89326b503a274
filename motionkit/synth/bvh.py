"""A synthetic clip as a BVH file with Y up, as most recorders write it."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from motionkit import rotation
from motionkit.clip import SkeletonClip
from motionkit.formats import write_bvh as bvh
from motionkit.formats.world import WORLD_QUAT


def write_bvh(
    clip: SkeletonClip, path: Path | str, *, unit: float = 0.01, up: Literal["y", "z"] = "y"
) -> None:
    """Write a skeleton that stands in motionkit's world; the file appears whole or not at all.

    Its joints at zero rotation are ``clip``'s T-pose or whatever its offsets describe, with the
    axes renamed, so angles in the file are those of the clip. With Y up the person faces +Z at
    rest, and the whole motion is turned so; read back, it is turned by -π/2 about the vertical.

    Args:
        clip: the motion.
        path: where to; a file there is replaced.
        unit: of lengths in the file [m].
        up: the axis of the file that points up.

    Raises:
        InputError: the folder cannot be written to.
        ConfigError: ``unit`` is no length.
    """
    if up == "y":
        world = np.array(WORLD_QUAT["y"])
        turn = rotation.multiply(world, rotation.from_matrix(bvh.Y_UP))
        renamed = bvh.rename_axes(clip, bvh.Y_UP)
        quat = renamed.joint_quat.copy()
        quat[:, 0] = rotation.multiply(turn, quat[:, 0])
        clip = replace(
            renamed,
            root_pos_w=rotation.rotate(turn, clip.root_pos_w),
            joint_quat=quat,
            provenance=replace(clip.provenance, up="y", world_quat=WORLD_QUAT["y"]),
        )
    bvh.write_bvh(path, clip, unit=unit)
