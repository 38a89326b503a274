"""What a file shows before it is read: its first bytes, and the directory of a zip."""

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path

from motionkit.formats.source import Source

HEAD = 4096
"""Bytes that signatures may look at."""


@dataclass(frozen=True, slots=True)
class Peek:
    """The outside of a file."""

    suffix: str
    """Extension, lower case, with the dot."""
    head: bytes
    """The first bytes."""
    members: frozenset[str]
    """Names in the directory of a zip without ``.npy``; empty for other files and damaged zips."""

    @property
    def is_zip(self) -> bool:
        """Whether it starts as a zip does."""
        return self.head.startswith(b"PK\x03\x04")

    @property
    def is_torch(self) -> bool:
        """Whether it is a zip as ``torch.save`` writes it."""
        return any(name.endswith("/data.pkl") or name == "data.pkl" for name in self.members)


def peek_source(source: Source) -> Peek:
    """The outside of a file that has been read."""
    members = _members(io.BytesIO(source.data)) if source.data.startswith(b"PK") else frozenset()
    return Peek(source.path.suffix.lower(), source.data[:HEAD], members)


def peek_file(path: Path) -> Peek:
    """The outside of a file on disk; all empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
            members = _members(file) if head.startswith(b"PK") else frozenset()
    except OSError:
        head, members = b"", frozenset()
    return Peek(path.suffix.lower(), head, members)


def _members(file: "io.BufferedIOBase") -> frozenset[str]:
    try:
        with zipfile.ZipFile(file) as archive:
            return frozenset(name.removesuffix(".npy") for name in archive.namelist())
    except (OSError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, NotImplementedError):
        return frozenset()
