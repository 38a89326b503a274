"""Which clips a batch has: files found, named, told apart and shared out before any work."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from motionkit.errors import ConfigError, InputError

if TYPE_CHECKING:
    from motionkit.formats import Skipped

_SEPARATOR = "__"  # between the folders of a clip's name


@dataclass(frozen=True, slots=True)
class Item:
    """One clip to be."""

    path: Path
    """Its file, as the user named it."""
    name: str
    """Of the clip, unique in the batch whatever the file system thinks of case."""
    size: int
    """Of the file [bytes]: the longest clips of a kind have the largest files."""


def plan(paths: Sequence[Path]) -> tuple[list[Item], list["Skipped"]]:
    """The clips of a batch, sorted by name, and the files in folders that were left out.

    A file named by the user is called by its stem. A file found in a folder is called by its
    path below that folder, folders joined by ``__``: names do not change when the batch grows.

    Raises:
        InputError: no path exists, nothing was found, or two files would have one name.
    """
    from motionkit.formats import search_files

    found: dict[Path, Item] = {}
    skipped: list[Skipped] = []
    if not any(given.exists() for given in paths):
        missing = ", ".join(str(given) for given in paths)
        raise InputError("no such file or folder", where=missing, help="check the path")
    for given in paths:
        if not given.exists():  # its reader will say so; the others go on
            found.setdefault(given.absolute(), Item(given, given.stem, 0))
            continue
        searched = search_files([given])
        skipped += searched.skipped
        for path in searched.files:
            parts = (
                path.relative_to(given).with_suffix("").parts if given.is_dir() else (path.stem,)
            )
            item = Item(path, _SEPARATOR.join(parts), path.stat().st_size)
            found.setdefault(path.resolve(), item)
    if not found:
        raise InputError("no motion file found", where=", ".join(str(p) for p in paths),
                         help="motionkit inspect FILE says whether a file can be read")  # fmt: skip
    items = sorted(found.values(), key=lambda item: item.name)
    require_distinct(items)
    return items, skipped


def require_distinct(items: Iterable[Item]) -> None:
    """Refuse two files that would write one clip, ignoring case as some file systems do.

    Raises:
        InputError: naming the files.
    """
    named: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        named[item.name.casefold()].append(item)
    for same in named.values():
        if len(same) > 1:
            files = " and ".join(str(item.path) for item in same)
            raise InputError(
                f"{len(same)} files would be the clip {same[0].name}: {files}",
                help="give the folder above them, whose clips are named by their path, "
                "or use one --out for each",
            )


def select_shard(items: Sequence[Item], shard: str | None) -> list[Item]:
    """Every N-th clip from the K-th on, for ``K/N`` counted from 1; all without a shard.

    Raises:
        ConfigError: not of that form, or K is not in 1..N.
    """
    if shard is None:
        return list(items)
    match = re.fullmatch(r"(\d+)/(\d+)", shard)
    k, n = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= k <= n:
        raise ConfigError(f"--shard is {shard!r}, expected K/N with K from 1 to N",
                          help="e.g. --shard 1/4 and so on to --shard 4/4")  # fmt: skip
    return list(items[k - 1 :: n])


def longest_first(items: Iterable[Item]) -> list[Item]:
    """In the order of solving: a long clip begun last would keep one worker busy alone."""
    return sorted(items, key=lambda item: (-item.size, item.name))


def parse_frames(text: str | None) -> tuple[int, int | None]:
    """The half-open interval of ``A:B``; either end may be left out.

    Raises:
        ConfigError: not of that form, or empty.
    """
    if text is None:
        return 0, None
    match = re.fullmatch(r"(\d*):(\d*)", text)
    start = int(match[1] or 0) if match else 0
    stop = int(match[2]) if match and match[2] else None
    if match is None or (stop is not None and stop <= start):
        raise ConfigError(f"--frames is {text!r}, expected A:B with A before B",
                          help="the interval is half-open: 0:100 are the first 100 frames, "
                          "100: is all but those")  # fmt: skip
    return start, stop
