"""``motionkit align``: motion files of any kind become a person on SMPL-H."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motionkit.cli.console import counted, say, show_json
from motionkit.cli.options import OneCoreCommand
from motionkit.cli.stages import HUMAN, MARKERS, READ

if TYPE_CHECKING:
    from motionkit.cli.alignment import AlignJob, Settings, Target
    from motionkit.cli.batch import Ended
    from motionkit.cli.plan import Item

TARGETS = ("amass", "bvh", "npz")
"""Formats of motion files that people are written in."""

_INDENT = " " * 10  # of a table below the line of its clip


@click.command(
    name="align",
    cls=OneCoreCommand,
    knobs=(MARKERS, HUMAN, READ),
    epilog="Example: motionkit align trials/ --static cal.c3d --out people",
)
@click.argument("files", nargs=-1, required=True,
                type=click.Path(path_type=Path))  # fmt: skip
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the results; made if it is not there.",
)
@click.option(
    "--to",
    "target",
    type=click.Choice(TARGETS),
    default="amass",
    help="Format of the motion files.  (default: amass, an .npz with its keys)",
)
@click.option(
    "--static",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Static trial of the subject, where the clips are markers.",
)
@click.option(
    "--frames",
    metavar="A:B",
    help="Half-open interval of the source's frames; either end may be left out.  Markers are cut "
    "before they are aligned, other clips afterwards.",
)
@click.option(
    "--config",
    "config_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="TOML file with settings, a table a stage.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes at once.  (default: one a core)",
)
@click.option("--shard", metavar="K/N", help="Only every N-th clip from the K-th on, K from 1.")
@click.option("--overwrite", is_flag=True, help="Replace what was made with other settings.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@click.option(
    "--picture/--no-picture",
    default=None,
    help="Draw the markers over the person.  (default: where the extra view is installed)",
)
@click.option("-v", "--verbose", is_flag=True, help="A line a marker below each clip.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def command(
    files: tuple[Path, ...], out: Path, target: "Target", static: Path | None,
    frames: str | None, config_path: Path | None, workers: int | None, shard: str | None,
    overwrite: bool, dry_run: bool, picture: bool | None, verbose: bool, as_json: bool,
    **flags: Any,
) -> int:  # fmt: skip
    """Find the person in motion files, and write them on the joints of SMPL-H.

    Markers, joint centres, skeletons and parameters of body models are read; folders are searched.
    Of each clip DIR has NAME.npz (or .bvh), NAME.report.json, which says how well it fits, and
    NAME.png. A clip that is done already is not done again; a file that is bad does not stop the
    others. Exit 1 if a clip failed or has findings of severity error; exit 2 if
    no clip could be used at all.
    """
    from motionkit.cli import alignment, batch, plan, pool

    found, skipped = plan.plan(files)
    items = plan.longest_first(plan.select_shard(found, shard))
    settings = alignment.resolve_settings(
        out, config_path, flags, static=static, frames=frames, target=target,
        picture=_can_draw(picture), overwrite=overwrite,
    )  # fmt: skip
    if skipped:
        say(f"{counted(len(skipped), 'file')} without motion left out; motionkit inspect says why")
    workers = workers or pool.num_cores()
    ended, todo = _run(items, settings, workers, dry_run=dry_run, verbose=verbose)
    if as_json:
        _show(ended, todo if dry_run else [], out)
    return batch.exit_code(ended)


def _can_draw(wanted: bool | None) -> bool:
    """Whether to draw: as the user says, or where it is possible."""
    from motionkit.errors import AssetError
    from motionkit.view.png import require_libraries

    if wanted is False:
        return False
    try:
        require_libraries()
    except AssetError as error:
        if wanted:
            raise
        say(f"no pictures: {error} ({error.help})")
        return False
    return True


def _run(
    items: "Sequence[Item]", settings: "Settings", workers: int, *, dry_run: bool, verbose: bool
) -> "tuple[list[Ended], list[AlignJob]]":
    """Align a batch, saying how each clip ends; the ends, and what there was to do."""
    from motionkit.cli import alignment, batch, progress

    _require_no_cache(settings.out)
    jobs = alignment.make_jobs(items, settings)
    known = alignment.known_ends(jobs)
    todo = [job for job in jobs if job.name not in known]
    say(progress.opening(list(known.values()), len(todo), verb="align"))
    if dry_run:
        todo.sort(key=lambda job: job.name)
        for job in todo:
            say(f"  would align {job.name} ({job.path}) -> {job.motion}")
        return sorted(known.values(), key=lambda end: end.clip), todo
    batch.remove_leftovers(settings.out)
    ended = progress.work(alignment.align_clip, list(known.values()), todo, workers,
                          more=marker_lines if verbose else None)  # fmt: skip
    if batch.could_not_run(ended):
        batch.forget(settings.out, ended)
        say(f"{progress.closing(ended)}: nothing written")
        return ended, todo
    audit = batch.collect(settings.out, settings=settings.search.stages)
    say(f"{progress.closing(ended)} -> {settings.out}{os.sep}   findings: {audit}")
    return ended, todo


def _require_no_cache(out: Path) -> None:
    """Refuse a folder that retarget writes to: records of both would stand in one place."""
    from motionkit.cache import SUFFIX
    from motionkit.errors import ConfigError

    if (shard := next(iter(sorted(out.glob(f"*{SUFFIX}"))), None)) is not None:
        raise ConfigError(f"the folder holds a cache of motionkit retarget ({shard.name})",
                          where=str(out), help="give another folder with --out")  # fmt: skip


def marker_lines(ended: "Ended") -> list[str]:
    """A table of the markers of a clip, the worst first; empty of a clip without."""
    markers: Mapping[str, Any] | None = ended.figures.get("markers")
    if not markers:
        return []
    rows = sorted(markers["markers"], key=lambda row: -(row["residual_mm"]["mean"] or 0.0))
    wide = max(len("marker"), *(len(row["label"]) for row in rows))
    lines = [
        f"{_INDENT}{'marker':<{wide}}  follows          mean   p95   max mm   seen  discounted"
    ]
    for row in rows:
        figures = (row["residual_mm"][key] for key in ("mean", "p95", "max"))
        mean, p95, most = ("    -" if mm is None else f"{mm:5.0f}" for mm in figures)
        down = "-" if row["down_weighted"] is None else f"{100 * row['down_weighted']:.0f}%"
        lines.append(
            f"{_INDENT}{row['label']:<{wide}}  {row['segment']:<14} {mean} {p95} {most}      "
            f"{100 * row['seen']:4.0f}%  {down:>10}"
        )
    if markers["unmapped"]:
        lines.append(f"{_INDENT}took no part: {', '.join(markers['unmapped'])}")
    return lines


def _show(ended: "Sequence[Ended]", todo: "Sequence[AlignJob]", out: Path) -> None:
    from dataclasses import asdict

    show_json("align", {
        "out": str(out),
        "clips": [asdict(end) for end in ended],
        "to_align": [{"clip": job.name, "path": str(job.path)} for job in todo],
    })  # fmt: skip
