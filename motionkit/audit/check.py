"""One row of the table of checks."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Check:
    """What a finding means."""

    name: str
    """Two or three words, with hyphens."""
    severity: Severity
    """``error``: do not train on it. ``warning``: look at it. ``info``: good to know."""
    what: str
    """What was found."""
    why: str
    """Why it matters."""
    fix: str
    """What to do."""
    knob: str = ""
    """Field of :class:`AuditConfig` that holds its limit."""
