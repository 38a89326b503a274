"""``motionkit audit``: findings and figures of caches that exist."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motionkit.cli.console import CLEAN, FINDINGS, counted, paint, say, show, show_json
from motionkit.cli.options import KnobCommand, read_config, resolve
from motionkit.cli.stages import AUDIT, TABLES

if TYPE_CHECKING:
    from motionkit.audit import AuditResult, Finding
    from motionkit.cache import Entry
    from motionkit.robot import Robot

_COLOURS = {"error": "red", "warning": "yellow", "info": "blue"}


@click.command(
    name="audit",
    cls=KnobCommand,
    knobs=(AUDIT,),
    epilog="Example: motionkit audit out --robot my_robot.xml",
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--robot",
    help="Name of a bundled robot, or path of an MJCF: the robot of the clips. Needed where it "
    "does not come with motionkit.  (default: the one that the cache names)",
)
@click.option(
    "--config",
    "config_path",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="TOML file with limits in the table [audit].",
)
@click.option("--explain", metavar="CODE", help="Say what a finding means, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def command(
    paths: tuple[Path, ...], robot: str | None, config_path: Path | None, explain: str | None,
    as_json: bool, **flags: Any,
) -> int:  # fmt: skip
    """Audit caches, or single shards of them: findings, and figures of every clip.

    Exit 1 if there is a finding of severity error, or a batch that accepted no clip.
    """
    if explain is not None:
        return _explain(explain, as_json)
    if not paths:
        raise click.UsageError("no cache given", click.get_current_context())
    config = read_config(config_path, TABLES)
    resolve(AUDIT, flags, config)  # refuses bad limits even where there is nothing to audit
    of_path = [_audit(path, robot, flags, config) for path in paths]
    results = [result for found in of_path for result in found]
    if as_json:
        show_json("audit", {"clips": [result.as_lines() for result in results]})
    else:
        for result in results:
            _show(result)
    num_errors = sum(result.num_errors for result in results)
    say(f"{counted(len(results), 'clip')}, {counted(num_errors, 'error')}")
    return FINDINGS if num_errors or not all(of_path) else CLEAN


def _explain(code: str, as_json: bool) -> int:
    from dataclasses import asdict

    from motionkit.audit import CHECKS, explain

    text = explain(code)
    if as_json:
        show_json("explain", {"code": code.upper(), **asdict(CHECKS[code.upper()])})
    else:
        show(text)
    return CLEAN


def _audit(
    path: Path, robot: str | None, flags: dict[str, Any], config: dict[str, dict[str, Any]]
) -> "list[AuditResult]":
    """The audit of every shard of a folder, or of one shard, each by the limits of its robot."""
    from dataclasses import replace

    from motionkit.audit import AuditResult, audit_reference, find_duplicates, unreadable
    from motionkit.cache import read_reference
    from motionkit.cli.cache import list_shards
    from motionkit.cli.pipeline import robot_named

    listing = list_shards(path)
    copies = {finding.clip: finding for finding in find_duplicates(listing.entries)}
    results = [AuditResult(p.stem, (unreadable(p, e),), {}) for p, e in listing.unreadable]
    for entry in listing.entries:
        own = robot_named(robot) if robot is not None else _robot_of(entry)
        limits = resolve(AUDIT, flags, config, own.profile)
        result = audit_reference(read_reference(entry.path), own, limits)
        if (copy := copies.get(entry.name)) is not None:
            result = replace(result, findings=(*result.findings, copy))
        results.append(result)
    return results


def _robot_of(entry: "Entry") -> "Robot":
    """The bundled robot that a shard names.

    Raises:
        AssetError: it names another; a cache does not keep the path of a robot.
    """
    from motionkit.assets import robot_names
    from motionkit.cli.pipeline import robot_named
    from motionkit.errors import AssetError

    if entry.robot not in robot_names():
        raise AssetError(
            f"the clip is of the robot {entry.robot}, which does not come with motionkit",
            where=str(entry.path),
            help="give --robot PATH, the MJCF that the clip was retargeted to",
        )
    return robot_named(entry.robot)


def _show(result: "AuditResult") -> None:
    """A clip for people: its findings, worst first."""
    order = list(_COLOURS)
    show(f"{result.clip}: {_counts(result)}")
    for finding in sorted(result.findings, key=lambda f: order.index(f.severity)):
        show(f"  {_label(finding)} {finding}")
        if finding.severity == "error" and finding.help:
            show(f"          help: {finding.help}")


def _counts(result: "AuditResult") -> str:
    counts = {name: sum(f.severity == name for f in result.findings) for name in _COLOURS}
    said = [counted(number, name) if name != "info" else f"{number} {name}"
            for name, number in counts.items() if number]  # fmt: skip
    return ", ".join(said) or "clean"


def _label(finding: "Finding") -> str:
    return paint(f"{finding.severity:<7}", _COLOURS[finding.severity], sys.stdout)
