"""The work on one clip of ``motionkit align``: file → person → motion file, report, picture.

``NAME.report.json`` is written last, with the fingerprint of source and settings: a clip is done
when its record (:mod:`motionkit.cli.batch`) and its report have that fingerprint and every file
that the report names is there.
"""

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from motionkit.cli import batch
from motionkit.cli.console import counted
from motionkit.cli.options import read_config, resolve
from motionkit.cli.person import Person, Search, file_digest, find_person
from motionkit.cli.plan import Item
from motionkit.cli.stages import HUMAN, MARKERS, READ, TABLES
from motionkit.errors import IdentityError

if TYPE_CHECKING:
    from motionkit.audit import Finding
    from motionkit.formats.writing import Target as Writer
    from motionkit.human.markers import MarkerFit

REPORT_SCHEMA = 1
"""Number of the format of reports."""

Target = Literal["amass", "bvh", "npz"]

_MM = 1e3
_BODY = 22  # joints of SMPL-H without the fingers
_HALF = 0.5  # of a marker's weight, below which it counts as down-weighted
_P95 = 95.0  # [%]


@dataclass(frozen=True, slots=True)
class Settings:
    """What all clips of a batch have in common, resolved."""

    out: Path
    """Folder of the results."""
    search: Search
    """How a person is found."""
    target: Target = "amass"
    """Format of the motion files."""
    picture: bool = False
    """Draw each clip."""
    overwrite: bool = False
    """Replace what was made otherwise."""


@dataclass(frozen=True, slots=True)
class AlignJob:
    """One clip to align."""

    path: Path
    """Its file."""
    name: str
    """Of the clip."""
    identity: dict[str, Any]
    """Source and settings: what shapes the result."""
    settings: Settings
    """Of the batch."""

    @property
    def out(self) -> Path:
        """Folder of the results."""
        return self.settings.out

    @property
    def fingerprint(self) -> str:
        """Hash of the identity."""
        from motionkit.cache import canonical_json

        return hashlib.sha256(canonical_json(self.identity).encode()).hexdigest()

    @property
    def motion(self) -> Path:
        """The motion file."""
        return self.out / f"{self.name}{_writer(self.settings.target).extension}"

    @property
    def report(self) -> Path:
        """The report."""
        return self.out / f"{self.name}.report.json"

    @property
    def picture(self) -> Path:
        """The picture."""
        return self.out / f"{self.name}.png"


def _writer(target: Target) -> "Writer":
    """What writes people in a format."""
    from motionkit.clip import HumanClip
    from motionkit.formats.writing import find_target

    found = find_target(target, HumanClip)
    assert found is not None, f"people are not written as {target}"
    return found


def resolve_settings(
    out: Path,
    config_path: Path | None,
    flags: Mapping[str, Any],
    *,
    static: Path | None,
    frames: str | None,
    target: Target,
    picture: bool,
    overwrite: bool,
) -> Settings:
    """The settings of a batch: flags and config file put together.

    Raises:
        ConfigError: a setting cannot be used.
        InputError: the static trial cannot be read.
    """
    from motionkit.cli.person import read_static
    from motionkit.cli.plan import parse_frames

    config = read_config(config_path, TABLES)
    read, human, markers = (resolve(stage, flags, config) for stage in (READ, HUMAN, MARKERS))
    parse_frames(frames)
    if static is not None:
        read_static(static, read)
    return Settings(out, Search(read, human, markers, static, frames), target, picture, overwrite)


def make_jobs(items: Sequence[Item], settings: Settings) -> list[AlignJob]:
    """A job a clip, in the same order. Reads every file once, for its hash."""
    from motionkit import __version__

    search = settings.search
    common = {
        "schema": REPORT_SCHEMA, "motionkit": __version__, "target": settings.target,
        "reader_options": dict(search.read.stated()), "settings": search.stages,
        "frames": None if search.cut is None else list(search.cut),
    }  # fmt: skip
    jobs = []
    for item in items:
        try:
            sha256 = file_digest(item.path)
        except OSError:
            sha256 = ""  # not there, or not to be read: its reader will say so
        jobs.append(AlignJob(item.path, item.name, {**common, "source_sha256": sha256}, settings))
    return jobs


def known_ends(jobs: Sequence[AlignJob]) -> dict[str, batch.Ended]:
    """Clips that need no work, by name.

    Raises:
        IdentityError: files of a clip are there but were made otherwise, without ``overwrite``.
    """
    known = {}
    for job in jobs:
        stored = _read_report(job.report)
        is_stored = stored.get("fingerprint") == job.fingerprint and job.motion.is_file()
        if job.settings.picture and not job.picture.is_file():
            is_stored = False
        if (ended := batch.known_end(job, is_stored)) is not None:
            known[job.name] = ended
        elif not job.settings.overwrite:
            _require_own(job, stored)
    return known


def _read_report(path: Path) -> dict[str, Any]:
    """A report; empty if there is none, or it is none of this version's."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    is_ours = isinstance(content, dict) and content.get("schema") == REPORT_SCHEMA
    return content if is_ours else {}


def _require_own(job: AlignJob, stored: Mapping[str, Any]) -> None:
    """Refuse to replace files that this command with these settings did not begin."""
    from motionkit.cache import compare

    there = [path for path in (job.motion, job.report, job.picture) if path.exists()]
    record = batch.read_record(job.out, job.name)
    begun = record is not None and record.fingerprint == job.fingerprint
    if not there or begun or stored.get("fingerprint") == job.fingerprint:
        return
    differences = "; ".join(
        str(d) for key, wanted in sorted(job.identity.items())
        for d in compare(key, stored.get("identity", {}).get(key), wanted)
    ) if stored else "no report says how"  # fmt: skip
    raise IdentityError(
        f"is there already and was made otherwise: {differences}",
        where=str(there[0]),
        help="give another folder with --out, the settings that it was made with, or --overwrite",
    )


def align_clip(job: AlignJob) -> batch.Attempt:
    """All the work on one clip, up to but not including writing it down.

    Raises:
        MotionkitError: the file or a setting cannot be used.
    """
    from motionkit.audit import AuditResult, make_finding

    person = find_person(job.path, job.name, job.settings.search)
    human = person.human
    findings = tuple(
        make_finding(job.name, note.code, note.message, value=note.value, unit=note.unit,
                     where="source")
        for note in human.provenance.notes
    )  # fmt: skip
    report = make_report(job, person)
    figures = {key: report[key] for key in ("frames", "fps", "stature", "markers")}
    ended = batch.Ended(
        clip=job.name,
        fingerprint=job.fingerprint,
        status="written",
        message=_message(report, findings),
        errors=tuple(str(f) for f in findings if f.severity == "error"),
        warnings=tuple(str(f) for f in findings if f.severity == "warning"),
        figures=figures,
    )
    lines = AuditResult(job.name, findings, figures).as_lines()
    return batch.Attempt(ended, tuple(lines), functools.partial(_store, job, person, report))


def _message(report: Mapping[str, Any], findings: Sequence["Finding"]) -> str:
    """The figures of a clip, one line."""
    parts = [f"{report['frames']:>6} frames"]
    if (markers := report["markers"]) is not None:
        residual = markers["residual_mm"]
        if residual["mean"] is not None:
            parts.append(f"residual {residual['mean']:.0f} mm mean, {residual['p95']:.0f} mm p95")
        num = len(markers["markers"])
        parts.append(f"set {markers['marker_set']} {num}/{num + len(markers['unmapped'])}")
    else:
        parts.append(f"stature {report['stature']:.2f} m")
        parts.append(f"{report['observed_joints']} of {_BODY} joints observed")
    if number := sum(f.severity == "warning" for f in findings):
        parts.append(counted(number, "warning"))
    return "   ".join(parts)


def _store(job: AlignJob, person: Person, report: Mapping[str, Any]) -> None:
    """Write the motion, the picture, and last the report."""
    from motionkit.files import replace_file

    replace_file(job.motion, [_writer(job.settings.target).encode(person.human)])
    if job.settings.picture:
        from motionkit.view import render_markers, render_person

        if person.fit is not None:
            render_markers(person.fit, job.picture)
        else:
            render_person(person.human, job.picture)
    text = json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False)
    replace_file(job.report, [f"{text}\n".encode(errors="backslashreplace")])


def make_report(job: AlignJob, person: Person) -> dict[str, Any]:
    """Everything that is known of a person and of how it was found, JSON-able.

    Lengths in metres, but residuals and uncertainties in millimetres, as their names say.
    """
    human, source = person.human, person.human.provenance
    return {
        "schema": REPORT_SCHEMA,
        "kind": "alignment",
        "clip": job.name,
        "fingerprint": job.fingerprint,
        "identity": job.identity,
        "source": {
            "path": source.path, "sha256": source.sha256, "format": source.format,
            "writer": source.writer, "unit_scale": source.unit_scale,
            "unit_source": source.unit_source, "up": source.up, "up_source": source.up_source,
        },
        "motion": job.motion.name,
        "lost": list(_writer(job.settings.target).losses(human)),
        "frames": human.num_frames,
        "fps": human.fps,
        "stature": human.stature,
        "body": human.body,
        "observed_joints": int(human.observed[:_BODY].sum()),
        "markers": None if person.fit is None else marker_figures(person.fit),
        "notes": [{"code": note.code, "message": note.message, "value": note.value,
                   "unit": note.unit} for note in source.notes],
    }  # fmt: skip


def marker_figures(fit: "MarkerFit") -> dict[str, Any]:
    """How well markers and person agree, marker by marker and joint by joint."""
    from motionkit.clip import SMPLH_JOINTS

    residual = fit.residual
    markers = []
    for k, label in enumerate(fit.labels):
        seen = np.isfinite(residual[:, k])
        weight = fit.weight[seen, k]
        markers.append({
            "label": label,
            "segment": fit.segments[k],
            "offset": [round(float(v), 6) for v in fit.offset[k]],
            "residual_mm": _spread(residual[seen, k]),
            "seen": round(float(seen.mean()), 4),
            "down_weighted": round(float((weight < _HALF).mean()), 4) if weight.size else None,
        })  # fmt: skip
    return {
        "marker_set": fit.marker_set,
        "unmapped": list(fit.unmapped),
        "first_frame": fit.first_frame,
        "residual_mm": _spread(residual[np.isfinite(residual)]),
        "markers": markers,
        "joints": [
            {"joint": SMPLH_JOINTS[j],
             "uncertainty_mm": _number(_MM * float(fit.joint_sigma[j])),
             "bridged": round(float(fit.filled[j]), 4)}
            for j in range(_BODY)
        ],
        "hips": [
            {"side": hip.side, "fitted": _place(hip.fitted), "regression": _place(hip.regression),
             "functional": _place(hip.functional),
             "functional_uncertainty_mm": None if hip.functional_sigma is None
             else _number(_MM * hip.functional_sigma),
             "functional_is_trusted": hip.is_functional_trusted}
            for hip in fit.hips
        ],
    }  # fmt: skip


def _place(point: np.ndarray | None) -> list[float] | None:
    """A point [m] to a micrometre; null where there is none."""
    return None if point is None else [round(float(v), 6) for v in point]


def _spread(values: np.ndarray) -> dict[str, float | None]:
    """Mean, 95th percentile and largest of distances [m], in millimetres; null of none."""
    if not values.size:
        return {"mean": None, "p95": None, "max": None}
    figures = {"mean": values.mean(), "p95": np.percentile(values, _P95), "max": values.max()}
    return {key: _number(_MM * float(value)) for key, value in figures.items()}


def _number(value: float) -> float | None:
    """To a micrometre; null where nothing is known, which JSON has no number for."""
    return round(value, 3) if np.isfinite(value) else None
