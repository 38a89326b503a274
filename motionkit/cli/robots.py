"""``motionkit robots``: which robots there are, what one looks like, and building it again."""

import importlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motionkit.cli.console import CLEAN, FINDINGS, say, show, show_json

if TYPE_CHECKING:
    from motionkit.robot import Robot

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON only.")


@click.group(
    name="robots", no_args_is_help=True, epilog="Example: motionkit robots show anatomic_soma"
)
def command() -> None:
    """List, show or build the robots that come with motionkit."""


@command.command(name="list", epilog="Example: motionkit robots list")
@_JSON
def list_command(as_json: bool) -> int:
    """List the bundled robots."""
    import tomllib

    from motionkit.assets import robot_files, robot_names

    titles = {name: tomllib.loads(robot_files(name)[1]).get("title", "") for name in robot_names()}
    if as_json:
        show_json("robots", {"robots": [{"name": n, "title": t} for n, t in titles.items()]})
    else:
        for name, title in titles.items():
            show(f"{name:<16} {title}")
    return CLEAN


@command.command(name="show", epilog="Example: motionkit robots show anatomic_soma --picture t.png")
@click.argument("robot")
@click.option(
    "--picture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the T-pose and the landmarks from three sides as a PNG.",
)
@click.option("--overwrite", is_flag=True, help="Replace the picture if it is there.")
@_JSON
def show_command(robot: str, picture: Path | None, overwrite: bool, as_json: bool) -> int:
    """Show a robot's joints, limits, budgets, T-pose and pairing with the human.

    ROBOT is the name of a bundled robot, or the path of an MJCF with its robot.toml beside it.
    The picture is drawn even if the T-pose is then refused, so that one sees why.
    """
    from motionkit.robot import read_robot

    loaded = read_robot(robot)
    if picture is not None:
        _draw(loaded, picture, overwrite)
    loaded.require_tpose()
    if as_json:
        show_json(
            "robot", {**_as_dict(loaded), "picture": None if picture is None else str(picture)}
        )
        return CLEAN
    for line in _as_lines(loaded):
        show(line)
    return CLEAN


def _draw(robot: "Robot", path: Path, overwrite: bool) -> None:
    from motionkit.errors import InputError
    from motionkit.view import render_tpose

    if path.exists() and not overwrite:
        raise InputError("the picture is there already", where=str(path),
                         help="give --overwrite, or another name with --picture")  # fmt: skip
    render_tpose(robot, path)
    say(f"T-pose: {path}")


def _as_lines(robot: "Robot") -> Iterator[str]:
    mass, budget = float(robot.body_mass.sum()), robot.budget
    yield f"{robot.name}: {len(robot.body_names)} bodies, {robot.num_joints} joints, {mass:.1f} kg"
    yield f"sha256: {robot.sha256}"
    yield f"budget: {budget.max_velocity:g} rad/s, {budget.max_acceleration:g} rad/s^2"
    yield f"forward: {robot.forward_axis}"
    for side, foot in zip(("left", "right"), robot.feet, strict=True):
        yield f"{side} foot: heel {foot.heel}, toe {foot.toe}"
    yield "landmarks (human <- body, weight of position and of rotation):"
    for mark in robot.landmarks:
        weights = f"{mark.position_weight:g} {mark.rotation_weight:g}"
        yield f"  {mark.human:<16} <- {mark.body:<24} {weights}"
    yield "joints (range, and T-pose where it is not at rest) [degrees; slides in mm]:"
    tpose = robot.profile.get("tpose", {})
    for joint, (low, high), slides in _joints(robot):
        factor = 1e3 if slides else 180.0 / math.pi
        posed = f" {tpose[joint] * factor:8.1f}" if joint in tpose else ""
        yield f"  {joint:<24} {low * factor:8.1f} {high * factor:8.1f}{posed}"


def _joints(robot: "Robot") -> list[tuple[str, tuple[float, float], bool]]:
    ranges = [(float(low), float(high)) for low, high in robot.joint_range]
    return list(zip(robot.joint_names, ranges, (bool(s) for s in robot.tree.is_slide), strict=True))


def _as_dict(robot: "Robot") -> dict[str, Any]:
    def finite(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "name": robot.name,
        "sha256": robot.sha256,
        "mass": float(robot.body_mass.sum()),
        "budget": {"max_velocity": robot.budget.max_velocity,
                   "max_acceleration": robot.budget.max_acceleration},
        "forward": robot.forward_axis,
        "feet": {side: {"heel": foot.heel, "toe": foot.toe}
                 for side, foot in zip(("left", "right"), robot.feet, strict=True)},
        "tpose": dict(robot.profile.get("tpose", {})),
        "bodies": list(robot.body_names),
        "joints": [
            {"name": name, "kind": "slide" if slides else "hinge",
             "range": [finite(low), finite(high)]}
            for name, (low, high), slides in _joints(robot)
        ],
        "landmarks": [
            {"body": m.body, "human": m.human, "position_weight": m.position_weight,
             "rotation_weight": m.rotation_weight}
            for m in robot.landmarks
        ],
        "contact_bodies": list(robot.contact_bodies),
    }  # fmt: skip


@command.command(
    name="build", epilog="Example: motionkit robots build anatomic_soma --out my_robot"
)
@click.argument("name")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder to write to.  (default: where motionkit keeps the robot)",
)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if the files are out of date.")
@click.option("--overwrite", is_flag=True, help="Replace files that differ.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
def build_command(name: str, out: Path | None, check: bool, overwrite: bool, dry_run: bool) -> int:
    """Build a robot's MJCF and profile from its table."""
    from motionkit.cache import replace_file
    from motionkit.errors import InputError

    folder = out if out is not None else _own_folder(name)
    module = importlib.import_module(f"motionkit.assets.{_known(name)}")
    content = {f"{name}.xml": module.build_mjcf(), "robot.toml": module.build_profile()}
    stale = []
    for file, text in content.items():
        path = folder / file
        if not path.is_file() or path.read_bytes() != text.encode("utf-8"):
            stale.append(path)
    for path in stale:
        say(f"{'out of date' if check else 'to write'}: {path}")
    if not stale:
        say(f"up to date: {folder}")
    if check:
        return FINDINGS if stale else CLEAN
    if (present := [path for path in stale if path.exists()]) and not (overwrite or dry_run):
        raise InputError("the file differs from what would be written", where=str(present[0]),
                         help="give --overwrite, or another folder with --out")  # fmt: skip
    if not dry_run:
        for path in stale:
            replace_file(path, [content[path.name].encode("utf-8")])
    return CLEAN


def _known(name: str) -> str:
    """The name, if it is of a bundled robot."""
    from motionkit.assets import robot_files

    robot_files(name)
    return name


def _own_folder(name: str) -> Path:
    import motionkit.assets

    return Path(motionkit.assets.__path__[0]) / _known(name)
