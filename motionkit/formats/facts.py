"""The facts that clips of every type have, for ``motionkit inspect``."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from motionkit.clip import Note, SourceClip

What = Literal["skeleton", "parameters", "markers", "joints", "robot"]


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about a clip of any type; lengths in metres, angles in radians, +Z up."""

    name: str
    """Of the clip."""
    path: str
    """The file."""
    format: str
    """Name in the table of formats."""
    writer: str
    """Program or data set recognised, or ``unknown``."""
    what: What
    """What the clip holds: a skeleton with rotations, parameters of a body model, markers, centres
    of joints without rotations, or the motion of a robot."""
    frames: int
    """Number of frames."""
    fps: float
    """Frames per second."""
    duration: float
    """From the first frame to the last [s]: (frames - 1) / fps."""
    unit_scale: float
    """Metres per unit of the file."""
    unit_source: str
    """How it was found: format, header, stature or user."""
    up: str
    """Axis of the file that points up."""
    up_source: str
    """How it was found: format, header, motion or user."""
    notes: tuple[Note, ...]
    """What the reader noticed."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, in the order of the fields, ready for JSON."""
        return asdict(self)


def shared_facts(clip: SourceClip, what: What) -> dict[str, Any]:
    """The values of :class:`Facts`, by field."""
    source = clip.provenance
    return {
        "name": clip.name, "path": source.path, "format": source.format, "writer": source.writer,
        "what": what, "frames": clip.num_frames, "fps": clip.fps,
        "duration": (clip.num_frames - 1) / clip.fps,
        "unit_scale": source.unit_scale, "unit_source": source.unit_source,
        "up": source.up, "up_source": source.up_source, "notes": source.notes,
    }  # fmt: skip
