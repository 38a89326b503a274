"""The table of formats: what is read, how it is told apart, and what is refused by name.

A new format is one file with ``read(source, options)`` and one row of :data:`FORMATS`.
"""

import importlib
import os
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from motionkit.clip import SkeletonClip, SmplClip
from motionkit.errors import InputError
from motionkit.formats.source import ReadOptions, Source, open_source


@dataclass(frozen=True, slots=True)
class Format:
    """One format that is read."""

    name: str
    """As a clip's provenance has it."""
    extensions: tuple[str, ...]
    """Lower case, with the dot."""
    carries: str
    """What such a file holds, for people."""
    is_signature: Callable[[bytes], bool]
    """Whether the first bytes of a file are this format's."""
    module: str
    """Module whose ``read(source, options)`` reads it; imported when needed."""

    def read(self, source: Source, options: ReadOptions) -> SkeletonClip | SmplClip:
        """The clip in a file of this format."""
        return importlib.import_module(self.module).read(source, options)


def _is_bvh(head: bytes) -> bool:
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if head.startswith(mark):
            head = head[2 : len(head) - len(head) % 2].decode(encoding, "replace").encode()
    words = head.removeprefix(b"\xef\xbb\xbf").split(maxsplit=1)
    return bool(words) and words[0].upper() in (b"HIERARCHY", b"ROOT")


FORMATS: tuple[Format, ...] = (
    Format("bvh", (".bvh",), "a skeleton with joint rotations", _is_bvh, "motionkit.formats.bvh"),
    Format(
        "amass", (".npz",), "poses and shape of an SMPL-H or SMPL-X body",
        lambda head: head.startswith(b"PK\x03\x04"), "motionkit.formats.amass",
    ),
)  # fmt: skip
"""Every format that this version reads."""

_LATER = "this version reads BVH and AMASS .npz; a later one will read it"
_PICKLE = "a pickle: never opened, since it can run programs"
_REFUSED: dict[str, tuple[str, str]] = {
    ".pkl": (_PICKLE, "save its arrays with numpy.savez: poses, trans, betas, mocap_framerate"),
    ".npy": ("a bare array .npy, e.g. joint positions: no rotations, names or rate", _LATER),
    ".c3d": ("a C3D file (optical markers)", _LATER),
    ".trc": ("a TRC file (optical markers)", _LATER),
    ".mat": ("a MATLAB file", _LATER),
    ".csv": ("a CSV table", _LATER),
    ".fbx": ("an FBX file", "export BVH from Blender or another tool"),
    ".glb": ("a glTF file", "export BVH from Blender or another tool"),
    ".usd": ("a USD file", "export BVH from Blender or another tool"),
    ".asf": ("an ASF or AMC file", "export BVH, or take the CMU clips as BVH or AMASS"),
    ".pt": ("a torch file, a pickle: never opened, since it can run programs",
            "save its arrays with numpy.savez"),
    ".motion": ("a robot motion", _LATER),
    ".hdf5": ("an HDF5 file", _LATER),
    ".json": ("a JSON file", _LATER),
}  # fmt: skip
_ALIASES = {
    ".pickle": ".pkl", ".joblib": ".pkl", ".pth": ".pt", ".amc": ".asf", ".gltf": ".glb",
    ".usda": ".usd", ".usdc": ".usd", ".h5": ".hdf5", ".tsv": ".csv",
}  # fmt: skip
_SIGNATURES = ((b"\x93NUMPY", ".npy"), (b"\x80\x02", ".pkl"), (b"\x80\x03", ".pkl"),
               (b"\x80\x04", ".pkl"), (b"\x80\x05", ".pkl"), (b"MATLAB 5.0", ".mat"),
               (b"\x89HDF", ".hdf5"), (b"Kaydara FBX", ".fbx"))  # fmt: skip
_HEAD = 4096  # bytes that signatures may look at


def read_clip(path: Path | str, options: ReadOptions | None = None) -> SkeletonClip | SmplClip:
    """The motion in a file, in motionkit's world: metres, Z up.

    The format is told by the first bytes, and by the extension where they say nothing.

    Args:
        path: the file.
        options: what the user knows better than the file.

    Raises:
        InputError: the file is missing, damaged, of a format that is not read, or no human
            motion; the message names file, field and value.
    """
    source = open_source(path)
    return _find_format(source).read(source, options or ReadOptions())


def _find_format(source: Source) -> Format:
    head, suffix = source.data[:_HEAD], source.path.suffix.lower()
    refused = _ALIASES.get(suffix, suffix)
    if refused in _REFUSED and not _is_bvh(head):
        raise _refusal(source, refused)
    for kind in FORMATS:
        if kind.is_signature(head):
            return kind
    for mark, extension in _SIGNATURES:
        if head.startswith(mark):
            raise _refusal(source, extension)
    for kind in FORMATS:
        if suffix in kind.extensions:
            return kind
    known = ", ".join(f"{kind.name} ({' '.join(kind.extensions)})" for kind in FORMATS)
    raise source.error(f"format not known (extension {suffix or 'none'})", help=f"known: {known}")


def _refusal(source: Source, extension: str) -> InputError:
    what, help = _REFUSED[extension]
    return source.error(f"is {what}", help=help)


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
    files of other formats, hidden files and ``.npz`` without poses are skipped with a reason.
    The order depends on names alone; links to folders are not followed.

    Raises:
        InputError: none of the paths exists.
    """
    files: dict[Path, None] = {}
    skipped: list[Skipped] = []
    named = [Path(path) for path in paths]
    if named and not any(given.exists() for given in named):
        raise InputError("no such file or folder", where=", ".join(map(str, named)))
    for given in named:
        if not given.is_dir():
            files[given] = None
            continue
        for path in _walk(given):
            reason = _reason_to_skip(path, path.relative_to(given).parts)
            if reason:
                skipped.append(Skipped(path, reason))
            else:
                files[path] = None
    return Found(tuple(files), tuple(skipped))


def _walk(folder: Path) -> list[Path]:
    found = []
    for top, _, names in os.walk(folder):
        found += [Path(top) / name for name in names]
    return sorted(found, key=lambda path: path.relative_to(folder).parts)


def _reason_to_skip(path: Path, parts: Sequence[str]) -> str:
    suffix = path.suffix.lower()
    if any(part.startswith(".") for part in parts):
        return "hidden"
    if not path.is_file():  # a pipe would never end, a link may lead nowhere or to itself
        return "no regular file, or a link that leads to none"
    if not any(suffix in kind.extensions for kind in FORMATS):
        what, _ = _REFUSED.get(_ALIASES.get(suffix, suffix), ("", ""))
        return f"not read by this version: {what}" if what else "no motion file"
    return _npz_reason(path) if suffix == ".npz" else ""


def _npz_reason(path: Path) -> str:
    """Why an ``.npz`` is no motion, from its directory; damaged ones are left to the reader."""
    try:
        with zipfile.ZipFile(path) as archive:
            keys = {name.removesuffix(".npy") for name in archive.namelist()}
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return ""
    if keys & {"poses", "pose_body", "body_pose"}:
        return ""
    if "betas" in keys:
        return "a subject's shape, no motion"
    return f"no AMASS motion: keys {', '.join(sorted(keys)[:6])}"
