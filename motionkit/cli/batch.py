"""A batch of clips: what is done already, the work on the others, and the record of the whole.

For each clip a worker writes two things, each whole or absent, in this order:

1. ``OUT/clips/NAME.jsonl``: its findings, and last a line that says how it ended, with the
   fingerprint of its source and settings;
2. for a clip that was accepted, its shard of the cache.

A clip is done when that line has its fingerprint and, if it says ``written``, the shard is there.
So a batch killed at any instant goes on where it was when the command is given again.
``OUT/audit.jsonl`` is put together from the first kind of file at the end of every run.

How a clip can end:

- ``written``: the solver accepted it and it is in the cache; findings of the audit stand beside it;
- ``rejected``: the solver's outcome was not accepted, and it is not in the cache. The same
  settings would reject it again, so it is not solved again without ``--overwrite``;
- ``failed``: it could not be read, or something broke. It is not in the cache, and is tried again.

A run in which every clip was refused could not run: it exits with 2 and leaves no records.
"""

import contextlib
import functools
import json
import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from motionkit.cli import pool
from motionkit.cli.console import CLEAN, COULD_NOT_RUN, FINDINGS
from motionkit.errors import MotionkitError

AUDIT_FILE = "audit.jsonl"
_CLIPS_FOLDER = "clips"
_RECORD_SCHEMA = 1

Status = Literal["written", "rejected", "failed"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How the work on one clip ended: the last line of its record."""

    clip: str
    """Name of the clip."""
    fingerprint: str
    """Of source and settings."""
    status: Status
    """See the head of the module."""
    message: str
    """One line for people: the figures of a written clip, the cause for another."""
    help: str = ""
    """What to do about it."""
    errors: tuple[str, ...] = ()
    """Findings of severity ``error``, a line each; of a clip that failed, what stopped it."""
    warnings: tuple[str, ...] = ()
    """Findings of severity ``warning``, a line each."""
    figures: dict[str, Any] = field(default_factory=dict)
    """JSON-able: frames, seconds, errors per part, peaks."""
    is_refused: bool = False
    """Of a clip that failed: its file or a setting cannot be used, nothing broke."""

    @property
    def is_clean(self) -> bool:
        """Whether nothing about the clip makes the command exit with 1."""
        return self.status == "written" and not self.errors


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of a clip, before anything is on the disk."""

    ended: Ended
    """How it ended."""
    lines: tuple[dict[str, Any], ...] = ()
    """Lines of the audit, JSON-able."""
    store: Callable[[], None] | None = None
    """Puts the clip into the cache; absent unless the clip was accepted."""


@runtime_checkable
class Job(Protocol):
    """What a batch needs to know of the work on one clip; everything else is the work's own."""

    @property
    def name(self) -> str:
        """Name of the clip, unique in the batch."""
        ...

    @property
    def fingerprint(self) -> str:
        """Of source and settings."""
        ...

    @property
    def out(self) -> Path:
        """Folder of the cache."""
        ...


J = TypeVar("J", bound=Job)


def record_path(out: Path, name: str) -> Path:
    """Where the record of a clip lies."""
    return out / _CLIPS_FOLDER / f"{name}.jsonl"


def list_records(out: Path) -> list[Path]:
    """The records of all clips of a cache, by name; none if no batch wrote there."""
    return sorted((out / _CLIPS_FOLDER).glob("[!.]*.jsonl"))


def read_record(out: Path, name: str) -> Ended | None:
    """How a clip ended last time; absent if it never did, or in another version's words."""
    try:
        last = json.loads(record_path(out, name).read_text("utf-8").splitlines()[-1])
        if last.pop("schema") != _RECORD_SCHEMA or last.pop("kind") != "ended":
            return None
        lists = {key: tuple(last[key]) for key in ("errors", "warnings")}
        return Ended(**{**last, **lists})
    except (FileNotFoundError, IndexError, KeyError, TypeError, ValueError):
        return None


def _write_record(out: Path, ended: Ended, lines: Iterable[dict[str, Any]]) -> None:
    from motionkit.audit import write_jsonl

    last = {"schema": _RECORD_SCHEMA, "kind": "ended", **asdict(ended)}
    write_jsonl(record_path(out, ended.clip), [*lines, last])


def known_end(job: Job, is_stored: bool) -> Ended | None:
    """How the clip ended before, if working on it again could not end otherwise.

    Args:
        job: the clip.
        is_stored: whether the cache holds the clip, whole, made as the job would make it.
    """
    ended = read_record(job.out, job.name)
    if ended is None or ended.fingerprint != job.fingerprint or ended.status == "failed":
        return None
    return None if ended.status == "written" and not is_stored else ended


def run(
    function: Callable[[J], Attempt], jobs: Sequence[J], workers: int
) -> Iterator[tuple[J, Ended]]:
    """Work through the jobs in their order; each as it ends, with its record on the disk.

    One job alone runs in this process; more run in processes of their own, so that a crash
    inside a library costs one clip.

    Args:
        function: the work on one clip, importable by name.
        jobs: the clips.
        workers: how many at once.
    """
    if len(jobs) == 1:
        yield jobs[0], attempt(function, jobs[0])
        return
    for job, result in pool.run(functools.partial(attempt, function), jobs, workers):
        if isinstance(result, pool.Died):
            result = _fail(job, str(result), "run it alone with --workers 1 to see more; it may "
                           "need more memory than there is")  # fmt: skip
        yield job, result


def attempt(function: Callable[[J], Attempt], job: J) -> Ended:
    """The one place where whatever goes wrong with a clip is caught, recorded and left behind."""
    try:
        done = function(job)
        _write_record(job.out, done.ended, done.lines)
        if done.store is not None:
            done.store()
        return done.ended
    except MotionkitError as error:
        return _fail(job, str(error), error.help, is_refused=True)
    except Exception as error:
        trace = {"schema": _RECORD_SCHEMA, "kind": "traceback", "clip": job.name,
                 "lines": traceback.format_exception(error)}  # fmt: skip
        path = record_path(job.out, job.name)
        return _fail(
            job, f"{type(error).__name__}: {error}", f"please report it, with {path}", trace
        )


def _fail(
    job: Job, message: str, help: str, *lines: dict[str, Any], is_refused: bool = False
) -> Ended:
    from motionkit.audit import make_finding

    message = " ".join(message.split())
    ended = Ended(job.name, job.fingerprint, "failed", message, help, errors=(message,),
                  is_refused=is_refused)  # fmt: skip
    finding = make_finding(job.name, "MK100", message, **({"help": help} if help else {}))
    with contextlib.suppress(MotionkitError):  # a full disk, of which the batch will speak
        _write_record(job.out, ended, [finding.as_line(), *lines])
    return ended


def collect(out: Path, **facts: Any) -> Path:
    """Put the records of all clips of a cache together as ``OUT/audit.jsonl``.

    The last line is of the run: counts, and the facts given (versions, settings, times). Runs
    with another ``--shard`` may end at the same time; the last to write has seen all.
    """
    from motionkit.audit import json_line, run_line
    from motionkit.cache import replace_file

    folder, target = out / _CLIPS_FOLDER, out / AUDIT_FILE
    folder.mkdir(parents=True, exist_ok=True)
    with _alone_in(folder):
        parts = [path.read_bytes() for path in list_records(out)]
        lines = [json.loads(line) for part in parts for line in part.splitlines()]
        replace_file(target, [*parts, json_line(run_line(lines, **facts))])
    return target


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process is in here, and keep others out until the end.

    The lock ends with its process. Where there are no locks there is none: then the last of two
    shards that end in the same instant may miss the other's last clip, until the next run.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def could_not_run(ended: Sequence[Ended]) -> bool:
    """Whether every clip of a run was refused, so that there is nothing to keep of it."""
    return bool(ended) and all(end.is_refused for end in ended)


def forget(out: Path, ended: Iterable[Ended]) -> None:
    """Delete the records of clips, and the folders that nothing is left in."""
    for end in ended:
        record_path(out, end.clip).unlink(missing_ok=True)
    for folder in (out / _CLIPS_FOLDER, out):
        with contextlib.suppress(OSError):  # not empty, or not there
            folder.rmdir()


def exit_code(ended: Sequence[Ended]) -> int:
    """Of a command that worked on these clips."""
    if could_not_run(ended):
        return COULD_NOT_RUN
    return CLEAN if all(end.is_clean for end in ended) else FINDINGS


def remove_leftovers(out: Path) -> None:
    """Delete the temporary files of killed processes."""
    from motionkit.cache import remove_stale

    for folder in (out, out / _CLIPS_FOLDER):
        remove_stale(folder)
