"""``motionkit inspect``: what is in a motion file, and what a reader made of it."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motionkit.cli.console import CLEAN, COULD_NOT_RUN, paint, print_error, show, show_json
from motionkit.cli.options import KnobCommand, resolve
from motionkit.cli.stages import READ

if TYPE_CHECKING:
    from motionkit.formats import Description


@click.command(
    name="inspect",
    cls=KnobCommand,
    knobs=(READ,),
    epilog="Example: motionkit inspect walk.bvh --json",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def command(files: tuple[Path, ...], as_json: bool, **flags: Any) -> int:
    """Say what motion files hold and how they were understood.

    Folders are searched. Exit 2 if a file cannot be read; the others are shown all the same.
    """
    from motionkit.errors import MotionkitError
    from motionkit.formats import describe, read_clip, search_files

    options = resolve(READ, flags, {})
    found = search_files(files)
    shown: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    for path in found.files:
        try:
            description = describe(read_clip(path, options))
        except MotionkitError as error:
            refused.append({"path": str(path), "error": str(error), "help": error.help})
            print_error(str(error), error.help)
            continue
        shown.append(description.to_dict())
        if not as_json:
            _show(description)
    skipped = [{"path": str(skip.path), "reason": skip.reason} for skip in found.skipped]
    if as_json:
        show_json("inspect", {"clips": shown, "refused": refused, "skipped": skipped})
    else:
        for skip in skipped:
            show(f"skipped {skip['path']}: {skip['reason']}")
    return COULD_NOT_RUN if refused else CLEAN


def _show(clip: "Description") -> None:
    """A description for people: degrees, and a line a subject."""
    show(f"{clip.path}: {clip.format}, written by {clip.writer}")
    if clip.model is not None:
        show(f"  body      {clip.model}")
    show(f"  frames    {clip.frames} at {clip.fps:g} 1/s, {clip.duration:.2f} s")
    show(f"  unit      {clip.unit_scale:g} m (by {clip.unit_source})")
    show(f"  up        {clip.up} (by {clip.up_source})")
    facing = f"{math.degrees(clip.facing_median):.0f} deg"
    if clip.facing_from_travel is not None:
        facing += f", {math.degrees(clip.facing_from_travel):+.0f} deg from its travel"
    show(f"  facing    {facing}; travels {clip.travel:.2f} m")
    stature = "of the body model" if clip.stature is None else f"{clip.stature:.2f} m"
    show(f"  stature   {stature}; lowest joint at {clip.lowest:.2f} m")
    missing = ", ".join(clip.roles_missing) or "none"
    show(f"  roles     {len(clip.roles)} of {clip.joints} joints; of the body missing: {missing}")
    for note in clip.notes:
        show(f"  {paint('note', 'yellow', None)}      {note.code} {note.message}")
