"""``motionkit cache``: what is in a cache, and whether it is what was written."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motionkit.cli.console import CLEAN, FINDINGS, print_error, say, show, show_json

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
    """List the clips of caches. Exit 1 if a shard cannot be opened."""
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
        say(f"{len(entries)} clips, {sum(e.num_frames for e in entries)} frames, {seconds:.2f} s")
    for _, error in unreadable:
        print_error(str(error), error.help)
    return FINDINGS if unreadable else CLEAN


@command.command(name="verify", epilog="Example: motionkit cache verify out")
@_PATHS
@_JSON
def verify_command(paths: tuple[Path, ...], as_json: bool) -> int:
    """Read every byte of caches and compare it with its digest. Exit 1 if one differs."""
    from motionkit.cache import read_reference
    from motionkit.errors import MotionkitError

    sound: list[str] = []
    damaged: list[tuple[Path, MotionkitError]] = []
    for listing in map(list_shards, paths):
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
    return FINDINGS if damaged else CLEAN


def list_shards(path: Path) -> "Listing":
    """A folder's shards, or the one shard that is named.

    Raises:
        InputError: no such folder or file.
    """
    from motionkit.cache import Listing, list_references

    if path.is_dir() or not path.exists():
        return list_references(path)
    listing = list_references(path.parent)
    return Listing(
        tuple(entry for entry in listing.entries if entry.path == path),
        tuple(found for found in listing.unreadable if found[0] == path),
    )


def _as_dict(entry: "Entry") -> dict[str, Any]:
    return {**asdict(entry), "path": str(entry.path), "seconds": entry.seconds}
