"""What is known about a clip, for people: a subject a line, in degrees and millimetres."""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from motionkit.cli.console import counted

if TYPE_CHECKING:
    from motionkit.formats import BodyDescription, Description, PointsDescription, RobotDescription

NUM_LISTED = 8
"""Names that a line lists before it says how many more there are."""
_MM = 1000.0  # millimetres a metre


def summary(clip: "Description") -> str:
    """What a clip holds, in a few words."""
    from motionkit.formats import BodyDescription, PointsDescription

    if isinstance(clip, BodyDescription):
        return f"{clip.what}, {clip.model or counted(clip.joints, 'joint')}"
    if isinstance(clip, PointsDescription):
        noun = "marker" if clip.what == "markers" else "joint centre"
        return f"{counted(clip.points, noun)}, {clip.visible_share:.0%} seen"
    return f"{clip.robot or 'robot'}, {counted(clip.dof, 'joint')}"


def facts_lines(clip: "Description") -> Iterator[str]:
    """The facts, a line each, without the notes."""
    from motionkit.formats import BodyDescription, PointsDescription

    yield f"{clip.path}: {clip.format}, written by {clip.writer}"
    first = clip.first_frame if isinstance(clip, PointsDescription) else 1
    count = "" if first == 1 else f"; the file counts them from {first}"
    yield f"  frames    {clip.frames} at {clip.fps:g} 1/s, {clip.duration:.2f} s{count}"
    yield f"  unit      {clip.unit_scale:g} m (by {clip.unit_source})"
    yield f"  up        {clip.up} (by {clip.up_source})"
    if isinstance(clip, BodyDescription):
        yield from _body(clip)
    elif isinstance(clip, PointsDescription):
        yield from _points(clip)
    else:
        yield from _robot(clip)


def _body(clip: "BodyDescription") -> Iterator[str]:
    if clip.model is not None:
        yield f"  body      {clip.model}"
    facing = f"{math.degrees(clip.facing_median):.0f} deg"
    if clip.facing_from_travel is not None:
        facing += f", {math.degrees(clip.facing_from_travel):+.0f} deg from its travel"
    yield f"  facing    {facing}; travels {clip.travel:.2f} m"
    stature = "of the body model" if clip.stature is None else f"{clip.stature:.2f} m"
    yield f"  stature   {stature}; lowest joint at {clip.lowest:.2f} m"
    missing = ", ".join(clip.roles_missing) or "none"
    yield f"  roles     {len(clip.roles)} of {clip.joints} joints; of the body missing: {missing}"


def _points(clip: "PointsDescription") -> Iterator[str]:
    noun = "marker" if clip.what == "markers" else "joint centre"
    subject = f" of {clip.subject}" if clip.subject else ""
    yield f"  points    {counted(clip.points, noun)}{subject}"
    worst = [f"{label} {share:.0%}" for label, share in clip.visible.items() if 0.0 < share < 1.0]
    least = f"; least: {', '.join(worst[:3])}" if worst else ""
    never = f"; never: {listed(clip.never_seen)}" if clip.never_seen else ""
    yield f"  seen      {clip.visible_share:.1%}{least}{never}"
    if (gap := clip.longest_gap) is not None:
        frames = counted(gap.frames, "frame")
        yield f"  gap       {gap.seconds:.2f} s at most: {gap.label}, {frames} from {gap.start}"
    if clip.extent is not None and clip.lowest is not None and clip.highest is not None:
        size = " × ".join(_mm(length) for length in clip.extent)
        yield f"  space     {size} mm; heights {_mm(clip.lowest)} to {_mm(clip.highest)} mm"
    if clip.what == "joints":
        missing = ", ".join(clip.roles_missing) or "none"
        yield f"  roles     {len(clip.roles)} of {clip.points}; of the body missing: {missing}"
    for number, plate in enumerate(clip.plates, start=1):
        a, b, c, _ = plate.corners
        sides = f"{_mm(math.dist(a, b))} × {_mm(math.dist(b, c))} mm"
        at = ", ".join(_mm(sum(axis) / 4.0) for axis in zip(*plate.corners, strict=True))
        channels = f"channels {listed(plate.channels)}" if plate.channels else "no channels"
        yield f"  plate {number:<3d} type {plate.type}, {sides} at ({at}) mm; {channels}"
    if (analog := clip.analog) is not None:
        names = [f"{label} [{unit}]" if unit else label for label, unit in analog.channels]
        count = counted(len(names), "channel")
        yield f"  analog    {count} at {analog.fps:g} 1/s: {listed(names)}"


def _robot(clip: "RobotDescription") -> Iterator[str]:
    named = "named" if clip.joint_names else "not named"
    yield f"  robot     {clip.robot or 'unknown'}; {counted(clip.dof, 'joint')}, {named}"
    heights = f"{_mm(clip.root_lowest)} to {_mm(clip.root_highest)} mm"
    yield f"  root      at heights {heights}; travels {clip.travel:.2f} m"
    if (peak := clip.peak_joint_speed) is not None:
        yield f"  speed     {peak.value:.1f} rad/s at most: {peak.joint} at frame {peak.frame}"
    if clip.bodies:
        yield f"  bodies    {clip.bodies}, {'named' if clip.body_names else 'not named'}"
    yield f"  stored    {', '.join(('root', 'joint_pos', *clip.stored))}"


def set_line(marker_set: dict[str, Any]) -> str:
    """Which marker set was recognised, or why none."""
    if marker_set["name"] is None:
        return f"none: {marker_set['reason']}"
    unmapped = marker_set["unmapped"]
    count = marker_set["mapped"] + len(unmapped)
    rest = f"; unmapped: {listed(unmapped)}" if unmapped else ""
    return f"{marker_set['title']}, {marker_set['mapped']} of {count} labels{rest}"


def listed(names: Sequence[str]) -> str:
    """The names, or the first of many and how many more there are."""
    more = f" and {len(names) - NUM_LISTED} more" if len(names) > NUM_LISTED else ""
    return ", ".join(names[:NUM_LISTED]) + more


def _mm(length: float) -> str:
    return f"{length * _MM:.0f}"
