"""``motionkit retarget``: a batch of motion files becomes an audited cache."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motionkit.cli.console import counted, say, show_json
from motionkit.cli.options import OneCoreCommand
from motionkit.cli.stages import STAGES

if TYPE_CHECKING:
    from motionkit.cli.batch import Ended
    from motionkit.cli.pipeline import ClipJob, Settings
    from motionkit.cli.plan import Item


@click.command(
    name="retarget",
    cls=OneCoreCommand,
    knobs=STAGES,
    epilog="Example: motionkit retarget walks/ kick.bvh --robot anatomic_soma --out cache",
)
@click.argument("files", nargs=-1, required=True,
                type=click.Path(path_type=Path))  # fmt: skip
@click.option(
    "--robot",
    required=True,
    help="Name of a bundled robot, or path of an MJCF with its robot.toml beside it.",
)
@click.option(
    "--out",
    required=True,
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the cache; made if it is not there.",
)
@click.option(
    "--config",
    "config_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="TOML file with settings, a table a stage.",
)
@click.option(
    "--static",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Static trial of the subject, where the clips are markers.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes at once.  (default: one a core)",
)
@click.option("--shard", metavar="K/N", help="Only every N-th clip from the K-th on, K from 1.")
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace what was made with other settings, and try again what was rejected.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@click.option("--picture/--no-picture", help="Draw eight frames of each clip.  (default: no)")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def command(
    files: tuple[Path, ...], robot: str, out: Path, config_path: Path | None, static: Path | None,
    workers: int | None, shard: str | None, overwrite: bool, dry_run: bool, picture: bool,
    as_json: bool, **flags: Any,
) -> int:  # fmt: skip
    """Retarget motion files to a robot, audit them, and write them to a cache.

    Folders are searched. A clip that is done already is not done again; a file that is bad does
    not stop the others. A clip whose solve is not accepted is not written to the cache.
    DIR/audit.jsonl holds the findings of all clips. Exit 1 if a clip failed, was rejected or has
    findings of severity error; exit 2 if no clip could be used at all.
    """
    from motionkit.cli import batch, pipeline, plan, pool

    found, skipped = plan.plan(files)
    items = plan.longest_first(plan.select_shard(found, shard))
    settings = pipeline.resolve_settings(
        robot, out, config_path, flags, static=static, picture=picture, overwrite=overwrite
    )
    if skipped:
        say(f"{counted(len(skipped), 'file')} without motion left out; motionkit inspect says why")
    ended, todo = run(items, settings, workers or pool.num_cores(), dry_run=dry_run)
    if as_json:
        _show(ended, todo if dry_run else [], out)
    return batch.exit_code(ended)


def run(
    items: "Sequence[Item]", settings: "Settings", workers: int, *, dry_run: bool = False
) -> "tuple[list[Ended], list[ClipJob]]":
    """Retarget a batch, saying how each clip ends.

    Args:
        items: the clips, in the order of solving.
        settings: of all of them.
        workers: processes at once.
        dry_run: say what would be solved, and write nothing.

    Returns:
        How the clips ended that are done, sorted by name, and the jobs that were to be done.

    Raises:
        IdentityError: the folder holds a cache made with other settings.
    """
    from motionkit.cli import batch, pipeline, progress
    from motionkit.view.png import require_libraries

    if settings.picture:
        require_libraries()
    pipeline.require_one_cache(settings)
    jobs = pipeline.make_jobs(items, settings)
    known = pipeline.known_ends(jobs)
    todo = [job for job in jobs if job.name not in known]
    say(progress.opening(list(known.values()), len(todo), verb="solve"))
    if dry_run:
        todo.sort(key=lambda job: job.name)
        for job in todo:
            say(f"  would solve {job.name} ({job.path})")
        return sorted(known.values(), key=lambda end: end.clip), todo
    batch.remove_leftovers(settings.out)
    began = time.perf_counter()
    ended = progress.work(pipeline.retarget_clip, list(known.values()), todo, workers)
    pipeline.draw_missing(known.values(), settings)
    seconds = round(time.perf_counter() - began, 3)
    _close(ended, settings, solved=len(todo), seconds=seconds, workers=workers)
    return ended, todo


def _close(ended: Sequence["Ended"], settings: "Settings", **facts: Any) -> None:
    """Put the findings together, and say what came of the batch."""
    from motionkit.cli import batch, pipeline, progress

    out = settings.out
    if batch.could_not_run(ended):
        batch.forget(out, ended)
        say(f"{progress.closing(ended)}: nothing written")
        return
    audit = batch.collect(out, **pipeline.run_facts(settings), **facts)
    say(f"{progress.closing(ended)} -> {out}{os.sep}   findings: {audit}")


def _show(ended: Sequence["Ended"], todo: Sequence["ClipJob"], out: Path) -> None:
    from dataclasses import asdict

    show_json("retarget", {
        "out": str(out),
        "clips": [asdict(end) for end in ended],
        "to_solve": [{"clip": job.name, "path": str(job.path)} for job in todo],
    })  # fmt: skip
