"""A library: a folder of shards. The shards are the truth; ``index.json`` only saves time.

The index remembers, for each shard, what its header said when the file had a certain size and
time. A shard that the index does not know, or knows otherwise, is opened; an entry without a
shard is ignored; an index that cannot be read is as good as none. So no clip is ever lost or
invented by it.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from motionkit.cache import container
from motionkit.cache.identity import SCHEMA
from motionkit.cache.store import SUFFIX, read_header
from motionkit.errors import InputError, MotionkitError

INDEX: Final = "index.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """One shard of a library, in a line."""

    path: Path
    """Where it lies."""
    name: str
    """Of the clip."""
    robot: str
    """Whose motion."""
    fps: float
    """Frames per second."""
    num_frames: int
    """Frames."""
    fingerprint: str
    """Of its identity."""
    source_sha256: str
    """Of its source file."""
    qpos_sha256: str
    """Of the motion itself: two shards with one digest hold one motion."""

    @property
    def seconds(self) -> float:
        """Duration [s]."""
        return (self.num_frames - 1) / self.fps


@dataclass(frozen=True, slots=True)
class Listing:
    """What a library holds."""

    entries: tuple[Entry, ...]
    """Shards, by name."""
    unreadable: tuple[tuple[Path, MotionkitError], ...]
    """Files with the suffix of a shard that could not be opened, and why, by name."""


def list_references(folder: Path) -> Listing:
    """The shards of a folder, sorted by name; temporary files are no shards.

    Raises:
        InputError: no such folder.
    """
    if not folder.is_dir():
        raise InputError("no such folder", where=str(folder), help="give the folder of a cache")
    known = _read_index(folder)
    entries, unreadable = [], []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if path.name.startswith("."):
            continue
        try:
            entries.append(_entry(path, known.get(path.name)))
        except MotionkitError as error:
            unreadable.append((path, error))
    return Listing(tuple(entries), tuple(unreadable))


def write_index(folder: Path) -> Path:
    """Bring ``index.json`` up to date; without it a listing opens every shard.

    Raises:
        InputError: no such folder, or it cannot be written to.
    """
    listing = list_references(folder)
    shards = {entry.path.name: {**_stamp(entry.path), **_plain(entry)} for entry in listing.entries}
    text = json.dumps({"schema": SCHEMA, "shards": shards}, indent=1, sort_keys=True)
    path = folder / INDEX
    container.replace_file(path, [text.encode()])
    return path


def _plain(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in Entry.__slots__ if name != "path"}


def _stamp(path: Path) -> dict[str, int]:
    found = os.stat(path)  # noqa: PTH116 - nanoseconds, which tell apart two quick writes
    return {"size": found.st_size, "time_ns": found.st_mtime_ns}


def _entry(path: Path, known: Any) -> Entry:
    if isinstance(known, dict) and {k: known.get(k) for k in ("size", "time_ns")} == _stamp(path):
        try:
            return Entry(
                path=path, **{name: known[name] for name in Entry.__slots__ if name != "path"}
            )
        except KeyError:
            pass
    header = read_header(path)
    return Entry(
        path=path,
        name=header.name,
        robot=header.identity.robot,
        fps=header.identity.fps,
        num_frames=header.num_frames,
        fingerprint=header.identity.fingerprint,
        source_sha256=header.identity.source_sha256,
        qpos_sha256=header.sha256["qpos"],
    )


def _read_index(folder: Path) -> dict[str, Any]:
    try:
        index = json.loads((folder / INDEX).read_text("utf-8"))
        return dict(index["shards"]) if index["schema"] == SCHEMA else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}
