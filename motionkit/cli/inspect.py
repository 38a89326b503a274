"""``motionkit inspect``: what is in a motion file, and what a reader made of it."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motionkit.cli.console import (
    CLEAN,
    COULD_NOT_RUN,
    counted,
    paint,
    print_error,
    show,
    show_json,
)
from motionkit.cli.facts import facts_lines, set_line, summary
from motionkit.cli.options import KnobCommand, resolve
from motionkit.cli.stages import READ

if TYPE_CHECKING:
    from motionkit.clip import SourceClip
    from motionkit.errors import MotionkitError
    from motionkit.formats import Description
    from motionkit.robot import Robot

_WIDEST_PATH = 70  # characters of the table's first column; longer paths push their row


@click.command(
    name="inspect",
    cls=KnobCommand,
    knobs=(READ,),
    epilog="Example: motionkit inspect walk.bvh --json",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--robot",
    metavar="NAME|PATH",
    help="Hold motions of robots against this one: bundled, or an MJCF with its robot.toml.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def command(files: tuple[Path, ...], robot: str | None, as_json: bool, **flags: Any) -> int:
    """Say what motion files hold and how they were understood.

    Folders are searched and shown as one table. Exit 2 if a file cannot be read or nothing was a
    motion; the others are shown all the same.
    """
    from motionkit.errors import InputError, MotionkitError
    from motionkit.formats import describe, read_clip, search_files

    options = resolve(READ, flags, {})
    model = _load_robot(robot)
    found = search_files(files)
    skipped = [{"path": str(skip.path), "reason": skip.reason} for skip in found.skipped]
    is_table = set(files) != set(found.files)
    paths = [*map(str, found.files), *(skip["path"] for skip in skipped)]
    width = min(max(map(len, paths), default=0), _WIDEST_PATH)
    shown: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    for path in found.files:
        try:
            source = read_clip(path, options)
            clip, extra = describe(source), _hold_against(source, model)
        except MotionkitError as error:
            refused.append({"path": str(path), "error": str(error), "help": error.help})
            if is_table and not as_json:
                _show_row(width, str(path), "refused", _reason(path, error))
            else:
                print_error(str(error), error.help)
            continue
        extra |= _find_set(clip)
        shown.append(clip.to_dict() | extra)
        if not as_json and is_table:
            what = f"{summary(clip):34s} {clip.frames:7d} at {clip.fps:g} 1/s"
            _show_row(width, str(path), clip.format, what)
        elif not as_json:
            _show(clip, extra)
    counts = dict(sorted(Counter(clip["format"] for clip in shown).items()))
    if as_json:
        show_json("inspect", {"clips": shown, "refused": refused, "skipped": skipped,
                              "counts": counts})  # fmt: skip
    else:
        for skip in skipped:
            _show_row(width, skip["path"], "skipped", skip["reason"])
        if is_table and paths:
            show(_total(counts, len(refused), len(skipped)))
    if not found.files:
        raise InputError("no motion file found", where=", ".join(map(str, files)),
                         help="motionkit inspect FILE says whether a file can be read")  # fmt: skip
    if refused and is_table:
        names = ", ".join(Path(one["path"]).name for one in refused[:3])
        more = ", …" if len(refused) > 3 else ""
        print_error(f"{counted(len(refused), 'file')} cannot be read: {names}{more}",
                    "motionkit inspect FILE says what to do about one")  # fmt: skip
    return COULD_NOT_RUN if refused else CLEAN


def _reason(path: Path, error: "MotionkitError") -> str:
    """A refusal without the path, which its row has already."""
    return str(error).removeprefix(f"{path}: ")


def _show_row(width: int, path: str, kind: str, rest: str) -> None:
    show(f"{path:{width}s}  {kind:9s}  {rest}")


def _total(counts: dict[str, int], refused: int, skipped: int) -> str:
    """How many files of each format were read, and how many were not."""
    read = [f"{name} {number}" for name, number in counts.items()]
    return "; ".join([
        f"read {sum(counts.values())}{' (' + ', '.join(read) + ')' if read else ''}",
        f"refused {refused}", f"skipped {skipped}",
    ])  # fmt: skip


def _find_set(clip: "Description") -> dict[str, Any]:
    """Which marker set the labels of markers belong to, as a key of the description."""
    from motionkit.errors import InputError
    from motionkit.formats import PointsDescription
    from motionkit.human.markers.sets import recognise

    if not isinstance(clip, PointsDescription) or clip.what != "markers":
        return {}
    try:
        found = recognise(clip.labels, where=clip.path)
    except InputError as error:
        return {"marker_set": {"name": None, "reason": error.message}}
    return {
        "marker_set": {
            "name": found.marker_set.name,
            "title": found.marker_set.title,
            "mapped": len(found.markers),
            "unmapped": list(found.unmapped),
        }
    }


def _load_robot(name: str | None) -> "Robot | None":
    if name is None:
        return None
    from motionkit.robot import load_robot

    return load_robot(name)


def _hold_against(clip: "SourceClip", robot: "Robot | None") -> dict[str, Any]:
    """What a robot's model says of a robot's motion, as a key of the description.

    Raises:
        InputError: the motion is none of this robot.
    """
    from motionkit.clip import RobotMotion

    if robot is None or not isinstance(clip, RobotMotion):
        return {}
    from dataclasses import asdict

    from motionkit.binding import bind
    from motionkit.errors import InputError

    try:
        _, notes = bind(clip, robot)
    except InputError as error:
        raise InputError(error.message, where=clip.provenance.path, help=error.help) from None
    return {"bound": {"robot": robot.name, "notes": [asdict(note) for note in notes]}}


def _show(clip: "Description", extra: dict[str, Any]) -> None:
    """A description for people."""
    for line in facts_lines(clip):
        show(line)
    if "marker_set" in extra:
        show(f"  set       {set_line(extra['marker_set'])}")
    if "bound" in extra:
        show(f"  model     is a motion of {extra['bound']['robot']}")
    notes = [(note.code, note.message) for note in clip.notes]
    notes += [(note["code"], note["message"]) for note in extra.get("bound", {}).get("notes", [])]
    for code, message in notes:
        show(f"  {paint('note', 'yellow', None)}      {code} {message}")
