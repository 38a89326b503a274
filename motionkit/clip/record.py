"""What is kept beside a clip: notes and provenance; and the checks that all clips share."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from motionkit.errors import InputError

Array = np.ndarray

_UNIT_TOLERANCE = 1e-6  # of the norm of a unit quaternion: what float32 files hold


@dataclass(frozen=True, slots=True)
class Note:
    """Something that a reader or an alignment noticed, did or could not do."""

    code: str
    """Number of the finding, for life: ``MK1xx`` for sources. ``docs/findings.md`` explains it."""
    message: str
    """What was found, with its value and unit, one line."""
    value: float | None = None
    """The figure concerned, where there is one."""
    unit: str = ""
    """Its unit."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a clip came from and what was done to bring it into motionkit's world."""

    path: str
    """The file as the user named it."""
    sha256: str
    """Of the file's bytes."""
    format: str
    """Name in the table of formats, e.g. ``bvh``, ``amass``."""
    writer: str
    """The skeleton family recognised, e.g. ``LAFAN1``; ``unknown`` if none."""
    unit_scale: float = 1.0
    """Metres per unit of the file."""
    unit_source: Literal["format", "header", "stature", "user"] = "format"
    """How the unit was found."""
    up: Literal["x", "y", "z", "-x", "-y", "-z"] = "z"
    """The axis of the file that points up."""
    up_source: Literal["format", "header", "motion", "user"] = "format"
    """How the up axis was found."""
    world_quat: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Rotation from the file's world to motionkit's, wxyz."""
    options: tuple[tuple[str, str], ...] = ()
    """Reader options that the user set, as (name, value)."""
    notes: tuple[Note, ...] = ()
    """What the reader noticed."""


def require_clip(name: str, fps: float, frames: int) -> None:
    """Refuse a rate that is none, and a clip without frames."""
    if not (np.isfinite(fps) and fps > 0):
        raise InputError(f"fps must be positive and finite, found {fps}", where=name)
    if frames == 0:
        raise InputError("the clip has no frames", where=name)


def require_shape(name: str, what: str, array: Array, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape, or with numbers that are not finite."""
    if array.shape != shape:
        raise InputError(f"{what} has shape {array.shape}, expected {shape}", where=name)
    require_finite(name, what, array)


def require_finite(name: str, what: str, array: Array) -> None:
    """Refuse numbers that are not finite, naming the first."""
    if not np.all(np.isfinite(array)):
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise InputError(
            f"{what} is not finite first at frame {index[0]} (index {index})",
            where=name,
            help="cut the clip with --frames, or repair the source",
        )


def require_unit(name: str, what: str, quat: Array) -> None:
    """Refuse quaternions that are not of unit length, naming the worst."""
    norm = np.linalg.norm(quat, axis=-1)
    if (error := np.abs(norm - 1.0)).max() > _UNIT_TOLERANCE:
        index = tuple(int(i) for i in np.unravel_index(error.argmax(), error.shape))
        raise InputError(f"{what} has a quaternion of norm {norm[index]:.6g} at index {index}",
                         where=name)  # fmt: skip
