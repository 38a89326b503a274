"""``motionkit cache``: what is in a cache, and whether it is what was written."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motionkit.cli.console import CLEAN, FINDINGS, counted, print_error, say, show, show_json

if TYPE_CHECKING:
    from motionkit.cache import Entry, Listing

_PATHS = click.argument("paths", nargs=-1, required=True, metavar="DIR...",
                        type=click.Path(path_type=Path))  # fmt: skip
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON only.")


@click.group(name="cache", no_args_is_help=True, epilog="Example: motionkit cache list out")
def command() -> None:
    """List or verify the clips of a cache."""


@command.command(name="list", epilog="Example: motionkit cache list out")
@_PATHS
@_JSON
def list_command(paths: tuple[Path, ...], as_json: bool) -> int:
    """List the clips of caches. Exit 1 if a shard cannot be opened, or no clip was accepted."""
    listings = [list_shards(path) for path in paths]
    entries = [entry for listing in listings for entry in listing.entries]
    unreadable = [found for listing in listings for found in listing.unreadable]
    if as_json:
        show_json("cache", {
            "clips": [_as_dict(entry) for entry in entries],
            "unreadable": [{"path": str(path), "error": str(e)} for path, e in unreadable],
        })  # fmt: skip
    else:
        for entry in entries:
            size = f"{entry.num_frames:>6} frames  {entry.fps:g} 1/s  {entry.seconds:8.2f} s"
            show(f"{entry.name:<32} {entry.robot:<16} {size}  {entry.fingerprint[:12]}")
        seconds = sum(entry.seconds for entry in entries)
        frames = counted(sum(e.num_frames for e in entries), "frame")
        say(f"{counted(len(entries), 'clip')}, {frames}, {seconds:.2f} s")
    for _, error in unreadable:
        print_error(str(error), error.help)
    return FINDINGS if unreadable or not all(map(holds_shards, listings)) else CLEAN


@command.command(name="verify", epilog="Example: motionkit cache verify out")
@_PATHS
@_JSON
def verify_command(paths: tuple[Path, ...], as_json: bool) -> int:
    """Read every byte of caches and compare it with its digest.

    Exit 1 if one differs, or no clip was accepted.
    """
    from motionkit.cache import read_reference
    from motionkit.errors import MotionkitError

    sound: list[str] = []
    damaged: list[tuple[Path, MotionkitError]] = []
    listings = [list_shards(path) for path in paths]
    for listing in listings:
        damaged += listing.unreadable
        for entry in listing.entries:
            try:
                read_reference(entry.path, verify=True)
                sound.append(str(entry.path))
            except MotionkitError as error:
                damaged.append((entry.path, error))
    if as_json:
        errors = [{"path": str(path), "error": str(e), "help": e.help} for path, e in damaged]
        show_json("cache-verify", {"sound": sound, "damaged": errors})
    for _, error in damaged:
        print_error(str(error), error.help)
    if not as_json:
        show(f"{len(sound)} sound, {len(damaged)} damaged")
    return FINDINGS if damaged or not all(map(holds_shards, listings)) else CLEAN


def list_shards(path: Path) -> "Listing":
    """A folder's shards, or the one shard that is named.

    None are found where a batch accepted no clip; that is said on stderr.

    Raises:
        InputError: no such folder or file, or nothing of motionkit in it.
    """
    from motionkit.cache import SUFFIX, Listing, list_references
    from motionkit.cli import batch
    from motionkit.errors import InputError

    if path.is_dir() or not path.exists():
        listing = list_references(path)
    else:
        beside = list_references(path.parent)
        listing = Listing(
            tuple(entry for entry in beside.entries if entry.path == path),
            tuple(found for found in beside.unreadable if found[0] == path),
        )
    if holds_shards(listing):
        return listing
    if records := batch.list_records(path):
        say(f"{path}: no clip in the cache: of {counted(len(records), 'clip')} none was accepted; "
            f"{path / batch.AUDIT_FILE} says why")  # fmt: skip
        return listing
    what = "holds no shard" if path.is_dir() else "is no shard"
    raise InputError(
        f"{what} of a motionkit cache, expected NAME{SUFFIX}",
        where=str(path),
        help="give the folder that motionkit retarget wrote with --out, or one of its "
        f"{SUFFIX} files",
    )


def holds_shards(listing: "Listing") -> bool:
    """Whether there is anything, readable or not."""
    return bool(listing.entries or listing.unreadable)


def _as_dict(entry: "Entry") -> dict[str, Any]:
    return {**asdict(entry), "path": str(entry.path), "seconds": entry.seconds}
