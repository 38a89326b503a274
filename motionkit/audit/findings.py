"""Findings and figures of a clip, and the lines that hold them: one JSON object each.

``{"schema": 1, "kind": "finding" | "clip" | "run", …}``: a finding, the figures of a clip, or what
is true of the whole run (versions, settings, counts).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from io import TextIOBase
from pathlib import Path
from typing import Any, Final

from motionkit.audit.checks import CHECKS, Severity
from motionkit.cache import replace_file
from motionkit.errors import MotionkitError

AUDIT_SCHEMA: Final = 1
"""Number of the format of the lines."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an audit has to say about a clip."""

    code: str
    """Number, a key of :data:`motionkit.audit.CHECKS`."""
    name: str
    """Its name in the table."""
    severity: Severity
    """How bad; the table's, unless the user allowed what was found."""
    clip: str
    """Name of the clip."""
    message: str
    """What was found, with names, values and units, one line."""
    where: str = ""
    """Joint, body or array."""
    frame: int | None = None
    """Frame at which it is worst; absent when it is of the whole clip."""
    value: float | None = None
    """The figure; absent when there is none."""
    limit: float | None = None
    """What it was held against."""
    unit: str = ""
    """Of both."""
    help: str = ""
    """What to do, an imperative."""

    def as_line(self) -> dict[str, Any]:
        """For JSON."""
        return {"schema": AUDIT_SCHEMA, "kind": "finding", **asdict(self)}

    def __str__(self) -> str:
        """One line for people: ``MK203 joint-speed: …``."""
        return f"{self.code} {self.name}: {self.message}"


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What an audit found in one clip."""

    clip: str
    """Name of the clip."""
    findings: tuple[Finding, ...]
    """By number, then by frame."""
    summary: dict[str, Any]
    """Figures, JSON-able; ``docs/audit.md`` defines each."""

    @property
    def num_errors(self) -> int:
        """Findings of severity ``error``."""
        return sum(finding.severity == "error" for finding in self.findings)

    def as_lines(self) -> list[dict[str, Any]]:
        """The findings, then the figures."""
        counts = {s: sum(f.severity == s for f in self.findings)
                  for s in ("error", "warning", "info")}  # fmt: skip
        clip = {"schema": AUDIT_SCHEMA, "kind": "clip", "clip": self.clip, "counts": counts,
                "figures": self.summary}  # fmt: skip
        return [*(finding.as_line() for finding in self.findings), clip]


def make_finding(clip: str, code: str, message: str, **fields: Any) -> Finding:
    """A finding with name, severity and help from the table, unless given.

    A number that the table lacks (in a cache of a newer version) is kept, as information.
    """
    check = CHECKS.get(code)
    known = {
        "name": check.name if check else "unknown",
        "severity": check.severity if check else "info",
        "help": check.fix if check else "see the documents of the version that made the cache",
    }
    return Finding(code=code, clip=clip, message=message, **{**known, **fields})


def unreadable(path: Path, error: MotionkitError) -> Finding:
    """The finding that a shard cannot be opened (MK410)."""
    help = {"help": error.help} if error.help else {}
    return make_finding(path.stem, "MK410", str(error), where=str(path), **help)


def run_line(lines: Iterable[Mapping[str, Any]], **facts: Any) -> dict[str, Any]:
    """The line of a run: how many clips, and how often each number was found.

    Args:
        lines: findings and clips, as :meth:`AuditResult.as_lines` gives them; others are not
            counted.
        facts: versions, settings, times: JSON-able.
    """
    codes: dict[str, int] = {}
    clips = 0
    for line in lines:
        clips += line.get("kind") == "clip"
        if line.get("kind") == "finding":
            code = str(line.get("code"))
            codes[code] = codes.get(code, 0) + 1
    return {"schema": AUDIT_SCHEMA, "kind": "run", "clips": clips,
            "found": dict(sorted(codes.items())), **facts}  # fmt: skip


def json_line(line: Mapping[str, Any]) -> bytes:
    """One object as a line of JSON, its end included."""
    return f"{json.dumps(line, ensure_ascii=False, allow_nan=False)}\n".encode(
        errors="backslashreplace"
    )


def write_jsonl(target: Path | TextIOBase, lines: Iterable[Mapping[str, Any]]) -> None:
    """Write objects a line each; a file is replaced whole.

    Raises:
        InputError: the file cannot be written.
    """
    text = b"".join(map(json_line, lines))
    if isinstance(target, Path):
        replace_file(target, [text])
    else:
        target.write(text.decode())
