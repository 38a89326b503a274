"""From a file to the person in it: what retargeting and alignment share.

Markers are cut before they are aligned, for a laboratory's recording often begins and ends outside
the volume, where nothing can be known of the person. Every other clip is aligned whole and cut
afterwards: stature, facing and axes do not depend on where it is cut.
"""

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motionkit.cli.plan import parse_frames
from motionkit.errors import InputError

if TYPE_CHECKING:
    from motionkit.clip import HumanClip, MarkerClip
    from motionkit.formats import ReadOptions
    from motionkit.human import HumanConfig
    from motionkit.human.markers import MarkerConfig, MarkerFit


@dataclass(frozen=True, slots=True)
class Search:
    """How a person is found in a file."""

    read: "ReadOptions"
    """What the user knows better than the files."""
    human: "HumanConfig"
    """Of the alignment."""
    markers: "MarkerConfig"
    """Of the fit of markers."""
    static: Path | None = None
    """File with a static trial of the subject whose markers are fitted."""
    frames: str | None = None
    """Interval of the source's frames; absent: all."""

    @property
    def stages(self) -> dict[str, Any]:
        """What goes into an identity: of files the content, not the path."""
        markers = {**asdict(self.markers), "static": self.static}
        return {"human": _by_content(asdict(self.human)), "markers": _by_content(markers)}

    @property
    def cut(self) -> tuple[int, int | None] | None:
        """The interval of frames, half-open; absent: all."""
        return parse_frames(self.frames) if self.frames else None


@dataclass(frozen=True, slots=True)
class Person:
    """The person in a file."""

    human: "HumanClip"
    """In motion."""
    fit: "MarkerFit | None" = None
    """Of the markers, where there were any; its person is the same."""


def find_person(
    path: Path, name: str, how: Search, complete: "Callable[[HumanClip], HumanClip] | None" = None
) -> Person:
    """The person in a motion file.

    Args:
        path: the file.
        name: of the clip.
        how: what the user wants.
        complete: adds to a person what is to be found before it is cut.

    Raises:
        MotionkitError: the file or a setting cannot be used.
    """
    from motionkit.clip import MarkerClip, slice_frames
    from motionkit.formats import read_clip
    from motionkit.human import align

    clip = read_clip(path, how.read)
    start, stop = how.cut or (0, None)
    if isinstance(clip, MarkerClip):
        from motionkit.human.markers import fit_markers

        if how.cut is not None:
            clip = slice_frames(clip, start, clip.num_frames if stop is None else stop)
        static = None if how.static is None else read_static(how.static, how.read)
        fit = fit_markers(replace(clip, name=name), how.markers, static=static)
        human = complete(fit.human) if complete is not None else fit.human
        return Person(human, replace(fit, human=human, first_frame=fit.first_frame + start))
    human = align(clip, how.human)
    human = complete(human) if complete is not None else human
    if how.cut is not None:
        human = slice_frames(human, start, human.num_frames if stop is None else stop)
    return Person(replace(human, name=name))


@functools.lru_cache(maxsize=1)
def read_static(path: Path, options: "ReadOptions") -> "MarkerClip":
    """The markers of a static trial, read once a process.

    Raises:
        InputError: the file cannot be read, or holds no markers.
    """
    from motionkit.clip import MarkerClip
    from motionkit.formats import read_clip

    clip = read_clip(path, options)
    if not isinstance(clip, MarkerClip):
        raise InputError(
            f"a static trial has markers, found {clip.provenance.format} without any",
            where=str(path),
            help="give a C3D or TRC file of the subject standing still",
        )
    return clip


def _by_content(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: digest(value) if isinstance(value, Path) else value
            for key, value in settings.items()}  # fmt: skip


@functools.lru_cache(maxsize=4)
def digest(path: Path) -> str:
    """Hash of a file, or of all files below a folder."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    whole = hashlib.sha256()
    for file in files:
        whole.update(file_digest(file).encode())
    return whole.hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    if not path.is_file():
        raise OSError("no regular file")  # a pipe would never end; its reader says what it is
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
