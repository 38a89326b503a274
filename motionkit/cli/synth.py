"""``motionkit synth``: a motion whose truth is known, as a BVH file."""

from pathlib import Path
from typing import Any

import click

from motionkit.cli.console import CLEAN, say, show_json
from motionkit.cli.options import KnobCommand, read_config, resolve
from motionkit.cli.stages import SYNTH, TABLES


@click.command(
    name="synth",
    cls=KnobCommand,
    knobs=(SYNTH,),
    epilog="Example: motionkit synth --kind walk --seconds 4 --seed 1 --out walk.bvh",
)
@click.option(
    "--out",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="BVH file to write.",
)
@click.option(
    "--config",
    "config_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="TOML file with settings in the table [synth].",
)
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def command(
    out: Path, config_path: Path | None, overwrite: bool, dry_run: bool, as_json: bool, **flags: Any
) -> int:
    """Make a motion with a known truth and write it as BVH. Same settings, same bytes."""
    from motionkit.errors import InputError
    from motionkit.synth import synthesize, write_bvh

    config = resolve(SYNTH, flags, read_config(config_path, TABLES))
    if out.exists() and not (overwrite or dry_run):
        raise InputError("the file is there already", where=str(out),
                         help="give --overwrite, or another --out")  # fmt: skip
    made = synthesize(config)
    clip = made.skeleton
    if not dry_run:
        write_bvh(clip, out)
    done = "would write" if dry_run else "wrote"
    say(f"{done} {out}: {clip.num_frames} frames at {clip.fps:g} 1/s")
    if as_json:
        show_json("synth", {"out": str(out), "frames": clip.num_frames, "fps": clip.fps,
                            "written": not dry_run})  # fmt: skip
    return CLEAN
