"""The table of targets: what is written, what each takes, and what it loses.

A new target is one file with ``encode(clip)`` and ``losses(clip)`` and one row of :data:`TARGETS`.
"""

import importlib
from dataclasses import dataclass
from typing import Any

from motionkit.clip import HumanClip, MarkerClip, RobotMotion, SkeletonClip, SmplClip

Writable = SkeletonClip | SmplClip | HumanClip | MarkerClip | RobotMotion
"""What can be written as something."""

_POINTS = (SkeletonClip, HumanClip, MarkerClip, RobotMotion)
_KINDS: tuple[tuple[type, str], ...] = (
    (SkeletonClip, "a skeleton"), (SmplClip, "SMPL parameters"), (HumanClip, "a person"),
    (MarkerClip, "markers"), (RobotMotion, "a robot's motion"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Target:
    """One format that is written."""

    name: str
    """As on the command line; several rows of one name take different clips."""
    extension: str
    """Of its files, with the dot."""
    takes: tuple[type, ...]
    """Clips that it is written from."""
    carries: str
    """What such a file holds, for people."""
    needs: str
    """What a clip that it does not take lacks."""
    module: str
    """Module whose ``encode(clip)`` gives the bytes; imported when needed."""

    def encode(self, clip: Writable, **options: Any) -> bytes:
        """The bytes of a file.

        Raises:
            InputError: the clip lacks what the format needs.
        """
        return importlib.import_module(self.module).encode(clip, **options)

    def losses(self, clip: Writable, **options: Any) -> tuple[str, ...]:
        """What the file does not say as the clip did, one line each."""
        return importlib.import_module(self.module).losses(clip, **options)


# fmt: off
TARGETS: tuple[Target, ...] = (
    Target("bvh", ".bvh", (SkeletonClip, HumanClip), "a skeleton with joint rotations",
           "rotations of a person's joints", "motionkit.formats.write_bvh"),
    Target("amass", ".npz", (SmplClip, HumanClip), "poses of an SMPL body",
           "rotations of a person's joints", "motionkit.formats.write_amass"),
    Target("npz", ".npz", (RobotMotion,), "a robot's motion, with the fields of BeyondMimic",
           "", "motionkit.formats.write_npz"),
    Target("npz", ".npz", (SkeletonClip, HumanClip, MarkerClip), "positions with names",
           "", "motionkit.formats.write_joints"),
    Target("joints", ".npz", _POINTS, "positions with names",
           "", "motionkit.formats.write_joints"),
    Target("trc", ".trc", _POINTS, "labelled points", "", "motionkit.formats.write_trc"),
    Target("c3d", ".c3d", _POINTS, "labelled points; force plates and analog channels",
           "", "motionkit.formats.write_c3d"),
    Target("csv", ".csv", _POINTS, "a table: labelled points, or a robot's root and joints",
           "", "motionkit.formats.write_csv"),
)
# fmt: on
"""Every format that this version writes."""

NAMES: tuple[str, ...] = tuple(dict.fromkeys(target.name for target in TARGETS))
"""On the command line."""


def find_target(name: str, clip: type) -> Target | None:
    """The row of that name that takes such clips."""
    return next((row for row in TARGETS if row.name == name and clip in row.takes), None)


def needs_of(name: str) -> str:
    """What a clip must have to become a format, where some lack it."""
    return next(row.needs for row in TARGETS if row.name == name)


def say_kind(clip: Writable) -> str:
    """What a clip is, for people."""
    if isinstance(clip, MarkerClip) and clip.kind == "joint":
        return "joint centres"
    return next(text for kind, text in _KINDS if isinstance(clip, kind))
