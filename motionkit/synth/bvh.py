"""A skeleton clip as a BVH file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float

from motionkit import rotation
from motionkit.cache import replace_file
from motionkit.clip import SkeletonClip
from motionkit.errors import ConfigError, InputError

Array = np.ndarray

_ORDER = "ZXY"  # of the rotation channels; a hinge about Y that bends by π/2 stays regular
_DECIMALS = 8  # of the numbers: 1e-8 of a degree, and of the file's unit

_WORLD = {"z": np.eye(3), "y": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])}
"""From motionkit's axes to the file's: with Y up, Z is where a person at rest faces."""


def write_bvh(
    clip: SkeletonClip, path: Path | str, *, unit: float = 0.01, up: Literal["y", "z"] = "y"
) -> None:
    """Write a skeleton; the file appears whole or not at all.

    Its joints at zero rotation are ``clip``'s T-pose or whatever its offsets describe, with the
    axes renamed, so angles in the file are those of the clip.

    Args:
        clip: bones of constant length.
        path: where to; a file there is replaced.
        unit: of lengths in the file [m].
        up: the axis of the file that points up.

    Raises:
        InputError: the clip's bones change length, or the folder cannot be written to.
        ConfigError: ``unit`` is no length.
    """
    if not (np.isfinite(unit) and unit > 0):
        raise ConfigError(f"unit must be a positive length in metres, found {unit}")
    if clip.local_pos is not None:
        raise InputError("bones that change length are not written", where=clip.name)
    axes = _WORLD[up]
    lines = ["HIERARCHY", *_hierarchy(clip, axes / unit), "MOTION", f"Frames: {clip.num_frames}",
             f"Frame Time: {1.0 / clip.fps:.10f}"]  # fmt: skip
    values = _channels(clip, axes, unit)
    lines += [" ".join(f"{value:.{_DECIMALS}f}" for value in row) for row in values]
    replace_file(Path(path), ["\n".join([*lines, ""]).encode()])


def _hierarchy(clip: SkeletonClip, to_file: Float[Array, "3 3"]) -> Iterator[str]:
    """Lines of the tree, each joint after its parent."""

    def offset(vector: Array) -> str:
        return "OFFSET " + " ".join(f"{v:.{_DECIMALS}f}" for v in to_file @ vector)

    rotations = " ".join(f"{letter}rotation" for letter in _ORDER)

    def joint(j: int, depth: int) -> Iterator[str]:
        tab = "\t" * depth
        children = [child for child, parent in enumerate(clip.parents) if parent == j]
        ends = np.flatnonzero(clip.end_parents == j)
        yield f"{tab}{'ROOT' if depth == 0 else 'JOINT'} {clip.joint_names[j]}"
        yield f"{tab}{{"
        yield f"{tab}\t{offset(clip.offsets[j])}"
        if depth == 0:
            yield f"{tab}\tCHANNELS 6 Xposition Yposition Zposition {rotations}"
        else:
            yield f"{tab}\tCHANNELS 3 {rotations}"
        for child in children:
            yield from joint(child, depth + 1)
        tips = [clip.end_offsets[e] for e in ends] or ([] if children else [np.zeros(3)])
        for tip in tips:
            yield from (f"{tab}\tEnd Site", f"{tab}\t{{", f"{tab}\t\t{offset(tip)}", f"{tab}\t}}")
        yield f"{tab}}}"

    yield from joint(0, 0)


def _channels(clip: SkeletonClip, axes: Float[Array, "3 3"], unit: float) -> Float[Array, "T C"]:
    """Numbers of each frame, in the order of :func:`_hierarchy`."""
    order = _nested(clip.parents)
    turn = rotation.from_matrix(axes)
    quat = rotation.multiply(rotation.multiply(turn, clip.joint_quat[:, order]),
                             rotation.conjugate(turn))  # fmt: skip
    angles = np.rad2deg(np.unwrap(_to_euler(quat), axis=0))
    root = clip.root_pos_w @ axes.T / unit
    return np.concatenate([root, angles.reshape(len(root), -1)], axis=1)


def _nested(parents: tuple[int, ...]) -> list[int]:
    def below(joint: int) -> list[int]:
        children = [child for child, parent in enumerate(parents) if parent == joint]
        return [joint, *(each for child in children for each in below(child))]

    return below(0)


def _to_euler(quat: Float[Array, "*n 4"]) -> Float[Array, "*n 3"]:
    """Angles [rad] of the intrinsic rotations ZXY: ``R = Rz Rx Ry``."""
    m = rotation.to_matrix(quat)
    x = np.arcsin(np.clip(m[..., 2, 1], -1.0, 1.0))
    z = np.arctan2(-m[..., 0, 1], m[..., 1, 1])
    y = np.arctan2(-m[..., 2, 0], m[..., 2, 2])
    return np.stack([z, x, y], axis=-1)
