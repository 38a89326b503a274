"""The work on one clip: file → human → robot → reference → audit → cache.

The human is aligned and its contacts are found in the whole clip, which is cut and resampled
afterwards: stature, facing, stances and ground do not depend on where the clip is cut. Markers are
cut first (:mod:`motionkit.cli.person` says why).
"""

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motionkit.cli import batch
from motionkit.cli.console import counted
from motionkit.cli.options import read_config, resolve
from motionkit.cli.person import Search, file_digest, find_person
from motionkit.cli.plan import Item
from motionkit.cli.stages import AUDIT, STAGES, TABLES, ClipConfig
from motionkit.errors import IdentityError

if TYPE_CHECKING:
    from motionkit.audit import AuditConfig, AuditResult
    from motionkit.cache import Reference
    from motionkit.clip import HumanClip
    from motionkit.formats import ReadOptions
    from motionkit.human import HumanConfig
    from motionkit.human.markers import MarkerConfig
    from motionkit.retarget import RetargetConfig, RetargetResult
    from motionkit.robot import Robot

PICTURES_FOLDER = "pictures"


@dataclass(frozen=True, slots=True)
class Settings:
    """What all clips of a batch have in common, resolved."""

    robot: str
    """Name of a bundled robot, or path of an MJCF."""
    out: Path
    """Folder of the cache."""
    clip: ClipConfig
    """Frames and rate."""
    read: "ReadOptions"
    """What the user knows better than the files."""
    human: "HumanConfig"
    """Of the alignment."""
    markers: "MarkerConfig"
    """Of the fit of markers."""
    retarget: "RetargetConfig"
    """Of the solver."""
    audit: "AuditConfig"
    """Limits of the audit; no part of a cache's identity."""
    static: Path | None = None
    """Static trial of the subject whose markers are fitted."""
    picture: bool = False
    """Draw eight frames of each clip that is written."""
    overwrite: bool = False
    """Replace what was made otherwise, and try again what was rejected."""

    @property
    def stages(self) -> dict[str, Any]:
        """What goes into the identity of a cache: of files the content, not the path."""
        return {**self.search.stages, "retarget": asdict(self.retarget)}

    @property
    def search(self) -> Search:
        """How the person is found in a file."""
        return Search(self.read, self.human, self.markers, self.static, self.clip.frames)


@dataclass(frozen=True, slots=True)
class ClipJob:
    """One clip to retarget."""

    path: Path
    """Its file."""
    name: str
    """Of the clip."""
    expected: dict[str, Any]
    """Fields of its identity that are known before the file is understood."""
    settings: Settings
    """Of the batch."""

    @property
    def out(self) -> Path:
        """Folder of the cache."""
        return self.settings.out

    @property
    def fingerprint(self) -> str:
        """Hash of what is expected."""
        from motionkit.cache import canonical_json

        return hashlib.sha256(canonical_json(self.expected).encode()).hexdigest()


def resolve_settings(
    robot: str,
    out: Path,
    config_path: Path | None,
    flags: Mapping[str, Any],
    *,
    static: Path | None = None,
    picture: bool = False,
    overwrite: bool = False,
) -> Settings:
    """The settings of a batch: flags, config file and the robot's profile put together.

    Raises:
        ConfigError, AssetError: a setting or the robot cannot be used.
    """
    config = read_config(config_path, TABLES)
    profile = robot_named(robot).profile
    stages = {stage.table: resolve(stage, flags, config, profile) for stage in STAGES}
    stages[AUDIT.table] = resolve(AUDIT, {}, config, profile)
    return Settings(
        robot=robot, out=out, static=static, picture=picture, overwrite=overwrite, **stages
    )


@functools.lru_cache(maxsize=4)
def robot_named(name: str) -> "Robot":
    """A robot by name or path, loaded once a process."""
    from motionkit.robot import load_robot

    return load_robot(name)


def make_jobs(items: Sequence[Item], settings: Settings) -> list[ClipJob]:
    """A job a clip, in the same order. Reads every file once, for its hash."""
    common = _common_identity(settings)
    jobs = []
    for item in items:
        try:
            digest = file_digest(item.path)
        except OSError:
            digest = ""  # not there, or not to be read: its reader will say so
        expected = {**common, "source_sha256": digest,
                    "reader_options": dict(settings.read.stated()),
                    "frames": settings.search.cut}  # fmt: skip
        jobs.append(ClipJob(item.path, item.name, expected, settings))
    return jobs


def _common_identity(settings: Settings) -> dict[str, Any]:
    """The fields in which all clips of one cache agree."""
    from motionkit import __version__, cache

    robot = robot_named(settings.robot)
    return {
        "schema": cache.SCHEMA,
        "motionkit": __version__,
        "robot": robot.name,
        "robot_sha256": robot.sha256,
        "fps": settings.clip.fps,
        "settings": settings.stages,
    }


def run_facts(settings: Settings) -> dict[str, Any]:
    """Versions and settings, for the last line of an audit."""
    from importlib.metadata import version

    libraries = ("motionkit", "numpy", "scipy", "mujoco")
    return {
        "versions": {name: version(name) for name in libraries},
        "identity": _common_identity(settings),
        "audit": asdict(settings.audit),
    }


def known_ends(jobs: Sequence[ClipJob]) -> dict[str, batch.Ended]:
    """Clips that need no work, by name.

    Raises:
        IdentityError: a clip is in the cache but was made otherwise, without ``overwrite``.
        InputError: a shard of the cache is damaged, without ``overwrite``.
    """
    from motionkit.cache import is_done

    known = {}
    for job in jobs:
        overwrite = job.settings.overwrite
        stored = is_done(job.out, job.name, job.expected, overwrite=overwrite)
        ended = batch.known_end(job, stored)
        if ended is not None and (ended.status == "written" or not overwrite):
            known[job.name] = ended
    return known


def require_one_cache(settings: Settings) -> None:
    """Refuse to put clips beside others that were made with other settings.

    Raises:
        IdentityError: naming the field, the stored and the wanted value.
        InputError: a shard of the cache is damaged.
    """
    from motionkit.cache import list_references, read_header

    if settings.overwrite or not settings.out.is_dir():
        return
    wanted = _common_identity(settings)
    for entry in list_references(settings.out).entries:
        if differences := read_header(entry.path).identity.differences(wanted):
            raise IdentityError(
                f"the cache was made otherwise: {'; '.join(str(d) for d in differences)}",
                where=str(settings.out),
                help="give another folder with --out, the settings that it was made with, or "
                "--overwrite",
            )


def retarget_clip(job: ClipJob) -> batch.Attempt:
    """All the work on one clip, up to but not including writing it down.

    Raises:
        MotionkitError: the file or a setting cannot be used.
    """
    from motionkit.audit import audit_reference
    from motionkit.retarget import retarget

    settings, robot = job.settings, robot_named(job.settings.robot)
    human = _human(job)
    result = retarget(human, robot, settings.retarget)
    reference = _reference(job, human, robot, result)
    return _judge(job, reference, result, audit_reference(reference, robot, settings.audit))


def _human(job: ClipJob) -> "HumanClip":
    """The person in the file with contacts, brought to the cache's rate."""
    from motionkit.clip import resample
    from motionkit.retarget import with_contacts

    person = find_person(job.path, job.name, job.settings.search, with_contacts)
    return resample(person.human, job.settings.clip.fps)


def _reference(
    job: ClipJob, human: "HumanClip", robot: "Robot", result: "RetargetResult"
) -> "Reference":
    from motionkit.cache import build_reference, identify

    identity = identify(robot, human.provenance, fps=human.fps, body=human.body,
                        settings=job.settings.stages, frames=job.settings.search.cut)  # fmt: skip
    return build_reference(
        result.clip,
        robot,
        identity=identity,
        report=result.report.as_dict(),
        provenance=human.provenance,
        target_pos_w=result.target_pos_w,
        target_quat_w=result.target_quat_w,
    )


def _judge(
    job: ClipJob, reference: "Reference", result: "RetargetResult", audit: "AuditResult"
) -> batch.Attempt:
    """The solver's outcome decides whether a clip is written; the audit's findings go with it."""
    report = result.report
    errors, warnings = (
        [finding for finding in audit.findings if finding.severity == severity]
        for severity in ("error", "warning")
    )
    parts = report.position_error.values()
    mean = sum(part.mean for part in parts) / len(parts)
    message = (
        f"{reference.num_frames:>6} frames {report.seconds:6.1f} s   "
        f"position {1e3 * mean:.0f} mm   peak {report.peak_velocity.value:.1f} rad/s"
    )
    if warnings:
        message += f"   {counted(len(warnings), 'warning')}"
    help = ""
    if not report.outcome.is_accepted:  # of which the audit speaks as MK205 if as nothing else
        message, help = str(errors[0]), report.outcome.value
    elif errors:
        help = f"motionkit audit --explain {errors[0].code}"
    ended = batch.Ended(
        clip=job.name,
        fingerprint=job.fingerprint,
        status="written" if report.outcome.is_accepted else "rejected",
        message=message,
        help=help,
        errors=tuple(str(finding) for finding in errors),
        warnings=tuple(str(finding) for finding in warnings),
        figures={"frames": reference.num_frames, "mean_position_error": mean,
                 "report": report.as_dict()},
    )  # fmt: skip
    store = functools.partial(_store, job, reference) if report.outcome.is_accepted else None
    return batch.Attempt(ended, tuple(audit.as_lines()), store)


def _store(job: ClipJob, reference: "Reference") -> None:
    from motionkit.cache import write_reference

    write_reference(job.out, reference, overwrite=job.settings.overwrite)
    if job.settings.picture:
        _draw(reference, job.settings)


def picture_path(out: Path, name: str) -> Path:
    """Where the picture of a clip lies."""
    return out / PICTURES_FOLDER / f"{name}.png"


def _draw(reference: "Reference", settings: Settings) -> None:
    from motionkit.view import render_strip

    path = picture_path(settings.out, reference.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    render_strip(robot_named(settings.robot), reference.qpos, path, fps=reference.fps,
                 targets=reference.target_pos_w, contact=reference.contact)  # fmt: skip


def draw_missing(ended: Iterable[batch.Ended], settings: Settings) -> None:
    """Draw clips that were written before without a picture, if pictures are asked for."""
    from motionkit.cache import read_reference, reference_path

    for end in ended if settings.picture else ():
        if end.status == "written" and not picture_path(settings.out, end.clip).exists():
            _draw(read_reference(reference_path(settings.out, end.clip)), settings)
