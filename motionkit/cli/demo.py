"""``motionkit demo``: the whole way once, from a synthetic walk to an audited reference."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from motionkit.cli.console import CLEAN, FINDINGS, counted, say, show, show_json

if TYPE_CHECKING:
    from motionkit.cli.batch import Ended

ROBOT = "anatomic_soma"
"""The robot of the demo."""
CLIP = "synthetic_walk"
"""Its name, and that of its file."""
_SECONDS = 4.0


@click.command(name="demo", epilog="Example: motionkit demo --out demo")
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for everything that the demo writes.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def command(out: Path, dry_run: bool, as_json: bool) -> int:
    """Make a synthetic walk, retarget it to anatomic_soma, audit it, and draw it.

    What is there already from this version is not made again; what another version made is
    replaced. Exit 1 if the clip was rejected or has findings of severity error.
    """
    from motionkit.cli import batch, pipeline, pool, retarget
    from motionkit.cli.plan import Item

    os.environ.update(pool.ONE_THREAD)

    began = time.perf_counter()
    source = out / f"{CLIP}.bvh"
    picture = pipeline.picture_path(out, CLIP)
    files = {"motion": source, "cache": out, "findings": out / batch.AUDIT_FILE, "picture": picture}
    if dry_run:
        for what, path in files.items():
            say(f"would write {what:<9} {path}")
        if as_json:
            show_json("demo", {"clip": None, "seconds": 0.0, "files": _paths(files)})
        return CLEAN
    _write_motion(source)
    settings = pipeline.resolve_settings(ROBOT, out, None, {}, picture=True, overwrite=True)
    item = Item(source, CLIP, source.stat().st_size)
    (ended,), _ = retarget.run([item], settings, workers=1)
    seconds = time.perf_counter() - began
    if as_json:
        show_json("demo", {"clip": _as_dict(ended), "seconds": seconds,
                           "files": _paths(files)})  # fmt: skip
    else:
        _show(ended, files, seconds)
    return CLEAN if ended.is_clean else FINDINGS


def _paths(files: dict[str, Path]) -> dict[str, str]:
    return {what: str(path) for what, path in files.items()}


def _write_motion(path: Path) -> None:
    """Put the walk there, unless the same bytes are there already."""
    import tempfile

    from motionkit.cache import replace_file
    from motionkit.synth import SynthConfig, synthesize, write_bvh

    made = synthesize(SynthConfig(kind="walk", seconds=_SECONDS))
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / path.name
        write_bvh(made.skeleton, temporary)
        content = temporary.read_bytes()
    if not path.is_file() or path.read_bytes() != content:
        replace_file(path, [content])


def _show(ended: "Ended", files: dict[str, Path], seconds: float) -> None:
    """Figures and where things lie, for people."""
    report = ended.figures.get("report")
    if report is not None:
        errors = report["position_error"]
        worst = max(errors, key=lambda part: errors[part]["mean"])
        show(f"{CLIP} on {ROBOT}: {ended.status}, {ended.figures['frames']} frames")
        mean, of_worst = ended.figures["mean_position_error"], errors[worst]["mean"]
        show(f"  position error    mean {1e3 * mean:.1f} mm; "
             f"worst part {worst}, mean {1e3 * of_worst:.1f} mm")  # fmt: skip
        for kind, unit in (("velocity", "rad/s"), ("acceleration", "rad/s^2")):
            peak = report[f"peak_{kind}"]
            show(f"  peak {kind:<12} {peak['value']:.1f} {unit} at {peak['joint']}, "
                 f"budget {peak['budget']:g}")  # fmt: skip
        show(f"  solver            {report['outcome']} after {report['iterations']} steps")
        show(f"  audit             {_findings(ended)}")
    for what, path in files.items():
        show(f"  {what:<17} {path}{'' if path.exists() else ' (not there)'}")
    say(f"done in {seconds:.1f} s")


def _findings(ended: "Ended") -> str:
    """``1 error MK301 penetration, 2 warnings MK302 skating, MK303 drift``, or ``clean``."""
    kinds = (("error", ended.errors), ("warning", ended.warnings))
    said = [f"{counted(len(lines), kind)} {', '.join(line.partition(':')[0] for line in lines)}"
            for kind, lines in kinds if lines]  # fmt: skip
    return ", ".join(said) or "clean"


def _as_dict(ended: "Ended") -> dict[str, object]:
    from dataclasses import asdict

    return asdict(ended)
