"""Skeletons and people as BVH files, in centimetres.

A skeleton is written in the axes of the file that it came from, so that a BVH file goes in and
comes out the same; one without such a history is Z up. A person (:class:`HumanClip`) is written
with Y up: zero rotations are the T-pose, facing +Z.

Numbers have eight decimals: 1e-10 m and 2e-10 rad. Rotations are written in the first of
:data:`ORDERS` that keeps the joint at least :data:`FREE` away from gimbal lock over the whole
clip, else in the one that keeps it furthest, so that the same motion always gives the same text.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from motionkit import rotation
from motionkit.clip import SMPLH_JOINTS, SMPLH_PARENTS, HumanClip, SkeletonClip
from motionkit.errors import ConfigError, InputError
from motionkit.files import replace_file
from motionkit.formats import world
from motionkit.formats.bvh import STILL
from motionkit.formats.source import sane_rate

Array = np.ndarray

CENTIMETRE = 0.01
"""Unit of lengths [m]: what most readers assume."""
ORDERS = ("ZXY", "ZYX", "XYZ", "XZY", "YXZ", "YZX")
"""Of the rotation channels."""
FREE = 0.02
"""Cosine of the middle angle from which a pose is far from gimbal lock: a degree."""
Y_UP = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
"""From the axes of a T-pose facing +X, Z up, to those of one facing +Z, Y up."""

_DECIMALS = 8
_GRID = 10**_DECIMALS
_TIME_DIGITS = (10, 13, 16)  # of the frame time: the first that give the rate back
_DEEPEST = 40  # tabs before a line, however deep its joint
_TURN = 360 * _GRID  # a full turn, in units of the last decimal


def write_bvh(
    path: Path | str, clip: SkeletonClip | HumanClip, *, unit: float = CENTIMETRE
) -> None:
    """Write a skeleton or a person; a file at ``path`` is replaced, whole.

    Args:
        path: where to.
        clip: joints may have moving translations; those then have six channels.
        unit: of lengths in the file [m].

    Raises:
        InputError: a name cannot be written, or the folder cannot be written to.
        ConfigError: ``unit`` is no length.
    """
    replace_file(Path(path), [encode(clip, unit=unit)])


def encode(clip: SkeletonClip | HumanClip, *, unit: float = CENTIMETRE) -> bytes:
    """The text of the file.

    Raises:
        InputError: a name cannot be written.
        ConfigError: ``unit`` is no length.
    """
    if not (np.isfinite(unit) and unit > 0):
        raise ConfigError(f"unit must be a positive length in metres, found {unit}")
    skeleton = human_skeleton(clip) if isinstance(clip, HumanClip) else clip
    _require_names(skeleton)
    to_file = rotation.conjugate(np.array(skeleton.provenance.world_quat))
    root_pos = rotation.rotate(to_file, skeleton.root_pos_w) / unit
    quat = skeleton.joint_quat.copy()
    quat[:, 0] = rotation.multiply(to_file, quat[:, 0])
    moving, offsets = _translations(skeleton, unit)
    moving = {0: _on_grid(root_pos), **moving}
    order = _depth_first(skeleton.parents)
    columns, orders = [], {}
    for joint in order:
        orders[joint], angles = _euler(quat[:, joint])
        columns += [moving[joint]] if joint in moving else []
        columns.append(angles)
    values = np.concatenate(columns, axis=1) / _GRID
    lines = ["HIERARCHY", *_hierarchy(skeleton, offsets, set(moving), orders, unit),
             "MOTION", f"Frames: {skeleton.num_frames}",
             f"Frame Time: {_frame_time(skeleton.fps)}"]  # fmt: skip
    row = " ".join([f"%.{_DECIMALS}f"] * values.shape[1])
    lines += [row % tuple(frame) for frame in values.tolist()]
    return "\n".join([*lines, ""]).encode()


def losses(clip: SkeletonClip | HumanClip) -> tuple[str, ...]:
    """What the file does not say, one line each."""
    out = ["unit: BVH states none; centimetres are written, with eight decimals"]
    if isinstance(clip, HumanClip):
        out.append("contacts, and which joints were observed, are lost")
        up, stature = "y", clip.stature
    else:
        up = clip.provenance.up
        joints = {role: clip.joint_names.index(name) for role, name in clip.roles.items()}
        pos = world.sample_positions(clip)
        stature = world.stature_from_limbs(pos, joints) if joints else 0.0
        if clip.provenance.up_source == "user":
            out.append(f"up axis: BVH states none; it stays {up}, as --up said, and must be given")
    found, _ = world.find_unit(stature / CENTIMETRE)
    if stature and (found is None or found.metres != CENTIMETRE):
        taken = "find no unit" if found is None else f"take its unit for {found.name}"
        out.append(f"motionkit would {taken} (stature {stature:.2f} m): give --scale {CENTIMETRE}")
    return tuple(out)


def human_skeleton(human: HumanClip) -> SkeletonClip:
    """A person as a skeleton of the 52 joints; zero rotations are the T-pose facing +Z, Y up.

    Joints whose distance from their parent changes have moving translations.
    """
    pos, quat = human.landmark_pos_w, human.landmark_quat_w
    joint_quat, local = quat.copy(), np.zeros_like(pos)
    offsets = np.zeros((52, 3))
    for i, parent in enumerate(SMPLH_PARENTS):
        if parent >= 0:
            back = rotation.conjugate(quat[:, parent])
            joint_quat[:, i] = rotation.multiply(back, quat[:, i])
            local[:, i] = rotation.rotate(back, pos[:, i] - pos[:, parent])
            offsets[i] = np.median(local[:, i], axis=0)
    skeleton = SkeletonClip(
        name=human.name,
        fps=human.fps,
        joint_names=SMPLH_JOINTS,
        parents=SMPLH_PARENTS,
        offsets=offsets,
        root_pos_w=pos[:, 0].copy(),
        joint_quat=rotation.unroll(joint_quat),
        roles={name: name for name in SMPLH_JOINTS},
        provenance=replace(human.provenance, up="y", world_quat=world.WORLD_QUAT["y"]),
        local_pos=local,
    )
    return rename_axes(skeleton, Y_UP)


def rename_axes(clip: SkeletonClip, axes: Float[Array, "3 3"]) -> SkeletonClip:
    """The same motion with the frames of all joints turned by ``axes``, so its zero pose too."""
    turn = rotation.from_matrix(axes)
    quat = rotation.multiply(clip.joint_quat, rotation.conjugate(turn))
    quat[:, 1:] = rotation.multiply(turn, quat[:, 1:])
    return replace(
        clip,
        joint_quat=quat,
        offsets=clip.offsets @ axes.T,
        local_pos=None if clip.local_pos is None else clip.local_pos @ axes.T,
        end_offsets=clip.end_offsets @ axes.T,
    )


def _require_names(clip: SkeletonClip) -> None:
    """Refuse names that would not be read back: braces, odd blanks, keywords after a blank."""
    for name in clip.joint_names:
        words = name.split()
        spoilt = {"OFFSET", "CHANNELS", "JOINT", "ROOT"} & {word.upper() for word in words[1:]}
        if " ".join(words) != name or not words or spoilt or set("{}") & set(name):
            raise InputError(f"joint name {name!r} cannot be written in BVH", where=clip.name)


def _translations(
    clip: SkeletonClip, unit: float
) -> tuple[dict[int, Int[Array, "T 3"]], Float[Array, "J 3"]]:
    """Position channels of the joints that move, and OFFSET of all, in the file's unit.

    What counts as moving is what the reader takes for it, and OFFSET of a moving joint is the
    median of its channels as written, which is what the reader makes of them.
    """
    offsets = clip.offsets / unit
    if clip.local_pos is None:
        return {}, offsets
    local = clip.local_pos[:, 1:] / unit
    size = max(float(np.abs(local).max(initial=0.0)), float(np.abs(offsets).max()))
    moves = np.ptp(local, axis=0).max(axis=-1) > STILL * size
    moving = {int(j) + 1: _on_grid(local[:, j]) for j in np.flatnonzero(moves)}
    for j in range(1, len(offsets)):
        pos = moving[j] / _GRID if j in moving else local[:, j - 1]
        offsets[j] = np.median(pos, axis=0)
    return moving, offsets


def _on_grid(values: Float[Array, "T n"]) -> Int[Array, "T n"]:
    """Numbers as whole multiples of the last decimal: no ``-0``, and exact comparisons."""
    return np.rint(values * _GRID).astype(np.int64)


def _euler(quat: Float[Array, "T 4"]) -> tuple[str, Int[Array, "T 3"]]:
    """Order of the channels and angles [1e-8 degrees], continuous over time."""
    best, order, angles = -1.0, "", np.zeros(0)
    for candidate in ORDERS:
        found = rotation.to_euler(candidate, quat)
        free = float(np.cos(found[:, 1]).min())
        if free > best:
            best, order, angles = free, candidate, found
        if best >= FREE:
            break
    whole = _on_grid(np.degrees(angles))
    # In whole numbers, so that a step of half a turn always goes the same way.
    step = np.diff(whole, axis=0)
    whole[1:] -= np.cumsum(_TURN * -((_TURN // 2 - step) // _TURN), axis=0)
    first = whole[0].copy()
    return order, whole + np.where(first <= -_TURN // 2, _TURN, 0)


def _depth_first(parents: tuple[int, ...]) -> list[int]:
    children = _children(parents)
    order, stack = [], [0]
    while stack:
        order.append(joint := stack.pop())
        stack += reversed(children[joint])
    return order


def _children(parents: tuple[int, ...]) -> list[list[int]]:
    children: list[list[int]] = [[] for _ in parents]
    for joint, parent in enumerate(parents[1:], start=1):
        children[parent].append(joint)
    return children


def _hierarchy(
    clip: SkeletonClip,
    offsets: Float[Array, "J 3"],
    moving: set[int],
    orders: dict[int, str],
    unit: float,
) -> Iterator[str]:
    """Lines of the tree, each joint after its parent; a leaf without an end gets one at itself."""
    children = _children(clip.parents)
    stack = [(0, 0, False)]
    while stack:
        joint, depth, is_closing = stack.pop()
        tab = "\t" * min(depth, _DEEPEST)
        if is_closing:
            tips = clip.end_offsets[clip.end_parents == joint] / unit
            for tip in tips if len(tips) or children[joint] else np.zeros((1, 3)):
                yield from (f"{tab}\tEnd Site", f"{tab}\t{{", f"{tab}\t\t{_offset(tip)}")
                yield f"{tab}\t}}"
            yield f"{tab}}}"
            continue
        rotations = " ".join(f"{letter}rotation" for letter in orders[joint])
        positions = "Xposition Yposition Zposition " if joint in moving else ""
        yield f"{tab}{'JOINT' if depth else 'ROOT'} {clip.joint_names[joint]}"
        yield f"{tab}{{"
        yield f"{tab}\t{_offset(offsets[joint])}"
        yield f"{tab}\tCHANNELS {6 if positions else 3} {positions}{rotations}"
        stack.append((joint, depth, True))
        stack += [(child, depth + 1, False) for child in reversed(children[joint])]


def _offset(vector: Float[Array, "3"]) -> str:
    values = _on_grid(vector[None])[0] / _GRID
    return "OFFSET " + " ".join(f"{value:.{_DECIMALS}f}" for value in values)


def _frame_time(fps: float) -> str:
    """Seconds with as few digits, of ten or more, as the reader needs to find the same rate."""
    texts = [f"{1.0 / fps:.{digits}f}" for digits in _TIME_DIGITS]
    good = (text for text in texts if sane_rate(1.0 / float(text), frame_time=text) == fps)
    return next(good, texts[-1])
