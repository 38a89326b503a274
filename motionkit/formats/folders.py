"""Which files of a folder are motions, and why the others are left out."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from motionkit.errors import InputError
from motionkit.formats.peek import peek_file
from motionkit.formats.table import FORMATS, refused_as, sign


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file in a folder that is left out, and why."""

    path: Path
    """The file."""
    reason: str
    """One line."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search of folders came to."""

    files: tuple[Path, ...]
    """Files to read: those named by the user first, each folder's sorted."""
    skipped: tuple[Skipped, ...]
    """Files in folders that hold no motion, or none that is read."""


def find_files(paths: Iterable[Path | str]) -> list[Path]:
    """The motion files among files and folders; :func:`search_files` says what was left out."""
    return list(search_files(paths).files)


def search_files(paths: Iterable[Path | str]) -> Found:
    """The motion files among files and below folders, without reading them whole.

    A file that is named is always found, so that reading it can say what is wrong, be it that it
    is not there: one bad name must not stop the others. In a folder,
    files of other formats, hidden files and ``.npz`` without poses are skipped with a reason, and
    what cannot be looked into is skipped with the system's. Files of a known extension that are
    empty, web pages or git-lfs pointers are found: their reader says that they are damaged.
    The order depends on names alone; links to folders are not followed.

    Raises:
        InputError: none of the paths exists.
    """
    files: dict[Path, None] = {}
    skipped: list[Skipped] = []
    named = [Path(path) for path in paths]
    if named and not any(_exists(given) for given in named):
        raise InputError("no such file or folder", where=", ".join(map(str, named)))
    for given in named:
        if not _is_folder(given):
            files[given] = None
            continue
        for path, fault in _walk(given):
            reason = fault or _reason_to_skip(path, path.relative_to(given).parts)
            if reason:
                skipped.append(Skipped(path, reason))
            else:
                files[path] = None
    return Found(tuple(files), tuple(skipped))


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):  # no permission, a name too long: reading it will say so
        return True
    return True


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _walk(folder: Path) -> list[tuple[Path, str]]:
    """All files below a folder, and folders that hide something, with a reason."""
    found: list[tuple[Path, str]] = []

    def remember(error: OSError) -> None:
        found.append((Path(error.filename), f"cannot be read: {error.strerror}"))

    for top, folders, names in os.walk(folder, onerror=remember):
        found += [(Path(top) / name, "") for name in names]
        found += [(Path(top) / name, fault) for name in folders
                  if (fault := _fault_of_folder(Path(top) / name))]  # fmt: skip
    return sorted(found, key=lambda item: item[0].parts)


def _fault_of_folder(path: Path) -> str:
    """Why a folder below the one that is searched is worth a line."""
    if path.is_symlink():
        return "a link to a folder, not followed"
    if any(path.suffix.lower() in kind.extensions for kind in FORMATS):
        return "a folder, though named as a file"
    return ""


def _reason_to_skip(path: Path, parts: Sequence[str]) -> str:
    if any(part.startswith(".") for part in parts):
        return "hidden"
    try:
        is_file = path.is_file()
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not is_file:  # a pipe would never end, a link may lead nowhere or to itself
        return "no regular file, or a link that leads to none"
    suffix = path.suffix.lower()
    rows = [kind for kind in FORMATS if suffix in kind.extensions]
    if not rows:
        refused = refused_as(suffix)
        return f"not read: {refused[0]}" if refused else "no motion file"
    if any(kind.is_own_extension for kind in rows):
        return ""
    peek = peek_file(path)
    if sign(peek) is not None or (suffix == ".npz" and not peek.members):
        return ""  # a damaged archive is left to its reader, which says so
    if _is_stand_in(peek.head):
        return ""
    if "betas" in peek.members:
        return "a subject's shape, no motion"
    keys = f": keys {', '.join(sorted(peek.members)[:6])}" if peek.members else ""
    return f"no motion that is read{keys}"


def _is_stand_in(head: bytes) -> bool:
    """Whether a file is there in place of the one that was wanted: its reader then says so."""
    start = head[:64].lstrip().lower()
    marks = (b"version https://git-lfs", b"<!doctype html", b"<html")
    return not head or start.startswith(marks)
