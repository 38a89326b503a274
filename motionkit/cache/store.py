"""References on the disk: one shard a clip, written whole, opened only as what was asked for."""

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from motionkit.cache import container
from motionkit.cache.container import DamagedError
from motionkit.cache.identity import (
    ABSENT,
    SCHEMA,
    CacheIdentity,
    Difference,
    canonical_json,
)  # fmt: skip
from motionkit.cache.reference import ARRAYS, CONVENTIONS, Reference
from motionkit.errors import IdentityError, InputError

KIND: Final = "motionkit-reference"
"""What the header of a shard calls itself."""
SUFFIX: Final = ".safetensors"
_MAX_NAME = 200  # bytes, so that a temporary name fits the 255 of common file systems
_SHOWN_DIFFERENCES = 5


class IdentityWarning(UserWarning):
    """A cache was opened although it does not know all settings asked for."""


@dataclass(frozen=True, slots=True)
class Header:
    """What a shard says of itself without its arrays being read."""

    path: Path
    """Where it lies."""
    name: str
    """Of the clip."""
    num_frames: int
    """Frames."""
    identity: CacheIdentity
    """What it was made from and with."""
    report: dict[str, Any]
    """Figures of the solver."""
    provenance: dict[str, Any]
    """Of the source."""
    contact_bodies: tuple[str, ...]
    """Columns of ``contact``."""
    target_bodies: tuple[str, ...]
    """Columns of the targets."""
    sha256: dict[str, str]
    """Of each array's bytes."""

    @property
    def seconds(self) -> float:
        """Duration [s]."""
        return (self.num_frames - 1) / self.identity.fps


def reference_path(folder: Path, name: str) -> Path:
    """Where the shard of a clip lies.

    Raises:
        InputError: the name cannot be that of a file.
    """
    if (not name or name.startswith(".") or set(name) & set("/\\\0:")
            or len(name.encode("utf-8", "replace")) > _MAX_NAME):  # fmt: skip
        raise InputError(
            f"a clip cannot be called {name!r}",
            help=f"a name has 1 to {_MAX_NAME} bytes, no slash or colon, and no dot in front",
        )
    return folder / f"{name}{SUFFIX}"


def write_reference(folder: Path, reference: Reference, *, overwrite: bool = False) -> Path:
    """Store a clip as a shard of the folder; it is there whole or not at all.

    Equal references make equal bytes. Temporary files that killed processes left in the folder
    are removed (:func:`motionkit.cache.remove_stale`).

    Args:
        folder: the library, made if absent.
        reference: the clip.
        overwrite: replace a shard of that name even if it was made otherwise or is damaged. One
            of the same identity is replaced in any case.

    Returns:
        The shard's path.

    Raises:
        IdentityError: a shard of that name was made from another source or with other settings.
        InputError: the name is unusable, a file of that name is no shard, or the disk is full.
    """
    path = reference_path(folder, reference.name)
    container.remove_stale(folder)
    if not overwrite:
        is_done(folder, reference.name, reference.identity)
    frames = reference.num_frames
    arrays: dict[str, np.ndarray] = {
        **reference.arrays(),
        "clip_start": np.zeros(1, dtype=np.int64),
        "clip_frames": np.array([frames], dtype=np.int64),
    }
    clip = {
        "name": reference.name,
        "fingerprint": reference.identity.fingerprint,
        "identity": reference.identity.as_dict(),
        "report": reference.report,
        "provenance": reference.provenance,
    }
    header = {
        "kind": KIND,
        "schema": SCHEMA,
        "robot": reference.robot,
        "fps": reference.fps,
        "joint_names": reference.joint_names,
        "body_names": reference.body_names,
        "contact_bodies": reference.contact_bodies,
        "target_bodies": reference.target_bodies,
        "conventions": CONVENTIONS,
        "clips": [clip],
        "sha256": {name: container.digest(array) for name, array in arrays.items()},
    }
    texts = {key: canonical_json(value) for key, value in header.items()}
    container.replace_file(path, container.pack(arrays, texts))
    return path


def read_header(path: Path) -> Header:
    """What a shard says of itself; costs one small read whatever its size.

    Raises:
        DamagedError: cut short, or changed since it was written.
        IdentityError: of a schema that this version does not know.
        InputError: no such file, or not a shard of a cache.
    """
    raw, _ = container.read_header(path)
    return _parse(path, raw)


def read_reference(
    path: Path,
    *,
    expect: CacheIdentity | Mapping[str, Any] | None = None,
    strict_identity: bool = True,
    verify: bool = False,
) -> Reference:
    """A stored clip; its arrays stay in the file until they are touched, and are read-only.

    Args:
        path: of the shard.
        expect: what it must have been made from and with: an identity, or some of its fields.
        strict_identity: refuse a cache that lacks settings asked for because an older version
            made it. If false, it is opened with an :class:`IdentityWarning`; a setting that it
            has with another value is refused all the same.
        verify: read all arrays and compare their digests.

    Raises:
        IdentityError: not as expected, naming field, stored and wanted value; or an unknown schema.
        DamagedError: cut short, or changed since it was written.
        InputError: no such file, or not a shard of a cache.
    """
    raw, start = container.read_header(path)
    header = _parse(path, raw)
    if expect is not None:
        _require_identity(header, expect, strict_identity)
    arrays = container.map_arrays(path, raw, start)
    if verify:
        for name, array in arrays.items():
            if container.digest(array) != header.sha256.get(name):
                raise DamagedError(f"{name} has changed since it was written", where=str(path),
                                   help=_rebuild(header))  # fmt: skip
    identity = header.identity
    return Reference(
        name=header.name,
        fps=identity.fps,
        robot=identity.robot,
        joint_names=identity.joint_names,
        body_names=identity.body_names,
        contact_bodies=header.contact_bodies,
        target_bodies=header.target_bodies,
        identity=identity,
        report=header.report,
        provenance=header.provenance,
        **{name: array for name, array in arrays.items() if name in ARRAYS},
    )


def is_done(
    folder: Path, name: str, identity: CacheIdentity | Mapping[str, Any], *, overwrite: bool = False
) -> bool:
    """Whether the folder holds the clip, made as asked for.

    Args:
        folder: the library.
        name: of the clip.
        identity: what it should be made from and with: an identity, or some of its fields.
        overwrite: the caller would replace it: what is there otherwise counts as not done.

    Raises:
        IdentityError: it is there but made otherwise, and ``overwrite`` is false.
        InputError: what is there is damaged or no shard, and ``overwrite`` is false.
    """
    path = reference_path(folder, name)
    if not path.exists():
        return False
    try:
        _require_identity(read_header(path), identity, strict=True)
    except (IdentityError, InputError):
        if overwrite:
            return False
        raise
    return True


def _parse(path: Path, raw: Mapping[str, Any]) -> Header:
    """Check a header from the outside in: kind, schema, fields, agreement."""
    texts = raw.get("__metadata__")
    if not isinstance(texts, dict) or texts.get("kind") != json.dumps(KIND):
        raise InputError("is a safetensors file, but no shard of a motionkit cache",
                         where=str(path))  # fmt: skip
    if texts.get("schema") != json.dumps(SCHEMA):
        raise IdentityError(
            f"schema is {texts.get('schema')}, this version of motionkit reads {SCHEMA}",
            where=str(path),
            help="run again the command that made the cache, with --overwrite, or use the version "
            "of motionkit that made it",
        )
    try:
        values = {key: json.loads(text) for key, text in texts.items()}
        clips = values["clips"]
        if len(clips) != 1:
            raise InputError(f"holds {len(clips)} clips, expected 1", where=str(path))
        clip = clips[0]
        identity = CacheIdentity.from_dict(clip["identity"], str(path))
        header = Header(
            path=path,
            name=str(clip["name"]),
            num_frames=int(raw["qpos"]["shape"][0]),
            identity=identity,
            report=dict(clip["report"]),
            provenance=dict(clip["provenance"]),
            contact_bodies=tuple(values["contact_bodies"]),
            target_bodies=tuple(values["target_bodies"]),
            sha256=dict(values["sha256"]),
        )
        agree = {"robot": identity.robot, "fps": identity.fps, "joint_names": identity.joint_names,
                 "body_names": identity.body_names}  # fmt: skip
        wrong = [key for key, value in agree.items()
                 if canonical_json(values[key]) != canonical_json(value)]  # fmt: skip
        if identity.fingerprint != clip["fingerprint"]:
            wrong.append("fingerprint")
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise DamagedError(
            f"its header is not that of schema {SCHEMA}: {type(error).__name__} {error}",
            where=str(path),
            help="delete the file, then run again the command that made it",
        ) from None
    if wrong:
        raise DamagedError(f"its header contradicts itself in {', '.join(wrong)}", where=str(path),
                           help=_rebuild(header))  # fmt: skip
    return header


def _require_identity(
    header: Header, wanted: CacheIdentity | Mapping[str, Any], strict: bool
) -> None:
    differences = header.identity.differences(wanted)
    forgiven = [] if strict else [d for d in differences if _is_of_age(d)]
    refused = [d for d in differences if d not in forgiven]
    if refused:
        more = len(refused) - _SHOWN_DIFFERENCES
        text = "; ".join(str(d) for d in refused[:_SHOWN_DIFFERENCES])
        raise IdentityError(
            f"was made otherwise: {text}{f'; and {more} more' if more > 0 else ''}",
            where=str(header.path),
            help="give the command again with --overwrite, or with another folder for --out",
        )
    if forgiven:
        warnings.warn(f"{header.path}: {'; '.join(str(d) for d in forgiven)}", IdentityWarning,
                      stacklevel=3)  # fmt: skip


def _is_of_age(difference: Difference) -> bool:
    """Whether an older version explains it: its number, or a setting that it did not have."""
    return difference.field == "motionkit" or (
        difference.field.startswith("settings.") and difference.stored is ABSENT
    )


def _rebuild(header: Header) -> str:
    """How to make a shard anew; the flags are the user's, of which the identity holds the sense."""
    source = header.provenance.get("path") or "its source"
    return (f"give the command again that retargeted {source} to {header.identity.robot}, with all "
            "its flags and --overwrite")  # fmt: skip
