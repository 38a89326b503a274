"""``motionkit convert``: motion files in other formats, with what is lost said."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motionkit.cli.console import (
    CLEAN,
    COULD_NOT_RUN,
    FINDINGS,
    counted,
    paint,
    print_error,
    say,
    show_json,
)
from motionkit.cli.options import KnobCommand, resolve
from motionkit.cli.plan import Item
from motionkit.cli.stages import HUMAN, READ

if TYPE_CHECKING:
    from motionkit.clip import RobotMotion
    from motionkit.formats import ReadOptions
    from motionkit.formats.write_csv import Layout
    from motionkit.formats.writing import Target, Writable
    from motionkit.human import HumanConfig
    from motionkit.robot import Robot

NAMES = ("bvh", "amass", "npz", "joints", "trc", "c3d", "csv")
"""Targets, as in :data:`motionkit.formats.writing.TARGETS`: the tests hold them to each other."""
LAYOUTS = ("unitree", "kimodo", "named")
"""As in :data:`motionkit.formats.write_csv.LAYOUTS`."""

_INDENT = " " * 10


@click.command(
    name="convert",
    cls=KnobCommand,
    knobs=(READ, HUMAN),
    epilog="Example: motionkit convert walk.npz --to bvh --out walk.bvh",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "name", required=True, type=click.Choice(NAMES), help="Format to write.")
@click.option(
    "--out",
    default=".",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Folder of the results, or the file if there is one.  (default: this folder)",
)
@click.option(
    "--robot",
    metavar="NAME",
    help="Robot whose kinematics give a robot's file its bodies and the order of its joints.",
)
@click.option(
    "--layout",
    type=click.Choice(LAYOUTS),
    default="unitree",
    help="Of a robot's csv: root quaternion xyzw, or wxyz, or a line of names.  (default: unitree)",
)
@click.option("--overwrite", is_flag=True, help="Replace files that are there.")
@click.option("--dry-run", is_flag=True, help="Say what would be written, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
def command(
    files: tuple[Path, ...], name: str, out: Path, robot: str | None, layout: "Layout",
    overwrite: bool, dry_run: bool, as_json: bool, **flags: Any,
) -> int:  # fmt: skip
    """Write motion files in another format, and say what is lost.

    Folders are searched. Skeletons and SMPL parameters become each other, markers and joint
    centres other files of points, robots' files each other. A file that cannot be converted does
    not stop the others. Exit 1 if one of several could not be, 2 if none could.
    """
    from motionkit.cli.plan import plan
    from motionkit.errors import MotionkitError
    from motionkit.robot import read_robot

    items, skipped = plan(files)
    paths = _paths(items, name, out, is_one=len(files) == 1 and not files[0].is_dir())
    job = _Job(
        name, None if robot is None else read_robot(robot), layout,
        resolve(READ, flags, {}), resolve(HUMAN, flags, {}), overwrite, dry_run,
    )  # fmt: skip
    done: list[dict[str, Any]] = []
    refused: list[dict[str, str]] = []
    for item, path in zip(items, paths, strict=True):
        try:
            done.append(_convert(item.path, path, job))
        except MotionkitError as error:
            refused.append({"path": str(item.path), "error": str(error), "help": error.help})
            print_error(str(error), error.help)
    left_out = [{"path": str(skip.path), "reason": skip.reason} for skip in skipped]
    if left_out:
        say(f"{counted(len(left_out), 'file')} without motion left out; motionkit inspect says why")
    if as_json:
        show_json("convert", {"to": name, "files": done, "refused": refused, "skipped": left_out})
    if not refused:
        return CLEAN
    return FINDINGS if done else COULD_NOT_RUN


@dataclass(frozen=True, slots=True)
class _Job:
    """What is to be done with each file."""

    name: str
    """Of the target."""
    robot: "Robot | None"
    """Of robots' files."""
    layout: "Layout"
    """Of a robot's table."""
    read: "ReadOptions"
    """Of the readers."""
    human: "HumanConfig"
    """Of the way from a source to a person."""
    overwrite: bool
    """Whether files may be replaced."""
    dry_run: bool
    """Whether nothing is written."""


def _paths(items: Sequence[Item], name: str, out: Path, *, is_one: bool) -> list[Path]:
    """Where each result goes: into the folder ``out``, or to it where it names a file.

    Raises:
        ConfigError: a file is named for several results, or for one of another extension.
    """
    from motionkit.errors import ConfigError
    from motionkit.formats.writing import TARGETS

    extension = next(row.extension for row in TARGETS if row.name == name)
    known = {row.extension for row in TARGETS}
    if out.is_dir() or out.suffix.lower() not in known:
        return [out / f"{item.name}{extension}" for item in items]
    if out.suffix.lower() != extension:
        raise ConfigError(f"--out is {out}, files of {name} end in {extension}",
                          help=f"give --out {out.with_suffix(extension)}, or a folder")  # fmt: skip
    if not is_one:
        raise ConfigError(f"--out names the file {out}, and there is more than one clip",
                          help="give a folder")  # fmt: skip
    return [out]


def _convert(source: Path, path: Path, job: _Job) -> dict[str, Any]:
    """Convert one file, and say how.

    Raises:
        MotionkitError: it cannot be read, has not what the target needs, or is in the way.
    """
    from motionkit.errors import InputError
    from motionkit.files import replace_file

    clip, target, said = _prepare(source, job)
    options = {"layout": job.layout} if target.name == "csv" else {}
    content = target.encode(clip, **options)
    losses = [*said, *target.losses(clip, **options)]
    if path.exists():
        if source.exists() and path.samefile(source):
            raise InputError(f"would be replaced by its own conversion to {target.name}",
                             where=str(source), help="give another --out")  # fmt: skip
        if not (job.overwrite or job.dry_run):
            raise InputError("the file is there already", where=str(path),
                             help="give --overwrite, or another --out")  # fmt: skip
    if not job.dry_run:
        replace_file(path, [content])
    notes = [{"code": note.code, "message": note.message} for note in clip.provenance.notes]
    verb = "would write" if job.dry_run else "wrote"
    say(f"{verb} {path}: {target.carries}, {clip.num_frames} frames at {clip.fps:g} 1/s")
    for note in notes:
        say(f"{_INDENT}{paint('note', 'yellow')} {note['code']} {note['message']}")
    for loss in losses:
        say(f"{_INDENT}{paint('loss', 'yellow')} {loss}")
    return {
        "path": str(source),
        "out": str(path),
        "written": not job.dry_run,
        "frames": clip.num_frames,
        "fps": clip.fps,
        "losses": losses,
        "notes": notes,
    }


def _prepare(source: Path, job: _Job) -> "tuple[Writable, Target, list[str]]":
    """The clip in a file as something that the target takes, and what that cost.

    Raises:
        MotionkitError: it cannot be read, or has not what the target needs.
    """
    from motionkit.clip import HumanClip, RobotMotion, SkeletonClip, SmplClip
    from motionkit.formats import read_clip
    from motionkit.formats.writing import find_target
    from motionkit.human import align

    clip = read_clip(source, job.read)
    said: list[str] = []
    if isinstance(clip, RobotMotion) and job.robot is not None:
        clip, said = _on_robot(clip, job.robot)
    target = find_target(job.name, type(clip))
    if target is not None:
        return clip, target, said
    target = find_target(job.name, HumanClip)
    if target is None or not isinstance(clip, SkeletonClip | SmplClip):
        raise _refuse(clip, job.name)
    human = align(clip, job.human)
    if isinstance(clip, SmplClip):
        said.append(f"the person's shape is that of the body used: {human.body}")
    return human, target, said


def _refuse(clip: "Writable", name: str) -> Exception:
    """Why a clip cannot become a format, and what it can become."""
    from motionkit.clip import MarkerClip
    from motionkit.errors import InputError
    from motionkit.formats.writing import find_target, needs_of, say_kind

    possible = ", ".join(each for each in NAMES if find_target(each, type(clip)) is not None)
    help = f"give --to with one of: {possible}"
    if isinstance(clip, MarkerClip):
        help = f"motionkit align {clip.provenance.path} --to {name} fits a person; or {help}"
    return InputError(f"cannot become {name}: {say_kind(clip)} without {needs_of(name)}",
                      where=clip.provenance.path, help=help)  # fmt: skip


def _on_robot(motion: "RobotMotion", robot: "Robot") -> "tuple[RobotMotion, list[str]]":
    """A motion with its joints in the robot's order and its bodies by the robot's kinematics.

    Raises:
        InputError: the joints are not the robot's, or their order is not settled.
    """
    from motionkit import rotation
    from motionkit.binding import bind

    clip, notes = bind(motion, robot)
    pos, quat = robot.forward(clip.qpos)
    said = []
    if motion.body_pos_w is not None or motion.body_quat_w is not None:
        said.append(f"stored bodies give way to those of {robot.name}, by its kinematics")
    if motion.joint_vel is not None:
        said.append("stored velocities give way to differences of poses")
    provenance = motion.provenance
    return replace(
        motion,
        joint_pos=clip.qpos[:, 7:],
        joint_vel=None,
        joint_names=robot.joint_names,
        robot=robot.name,
        body_names=robot.body_names,
        body_pos_w=pos,
        body_quat_w=rotation.unroll(quat),
        body_lin_vel_w=None,
        body_ang_vel_w=None,
        contact=clip.contact,
        provenance=replace(provenance, notes=(*provenance.notes, *notes)),
    ), said  # fmt: skip
