"""What a cache was made from and with: compared field by field, hashed as a whole.

Whatever changes the data of a clip is part of its identity; what does not (paths, workers,
verbosity, the time that a solve took) is not. ``docs/cache.md`` lists every key.
"""

import enum
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, Final, NamedTuple

import numpy as np

import motionkit
from motionkit.clip import Provenance
from motionkit.errors import ConfigError, InputError
from motionkit.robot import Robot

SCHEMA: Final = 1
"""Number of the cache's format; raised with every change of meaning (``docs/cache.md``)."""


class _Absent(enum.Enum):
    """The value of a field that one side does not have."""

    ABSENT = "absent"

    def __str__(self) -> str:
        return "absent"


ABSENT = _Absent.ABSENT


class Difference(NamedTuple):
    """A field in which two identities differ."""

    field: str
    """Path of the field, e.g. ``settings.retarget.max_iterations``."""
    stored: Any
    """Value in the cache, or :data:`ABSENT`."""
    wanted: Any
    """Value asked for, or :data:`ABSENT`."""

    def __str__(self) -> str:
        return f"{self.field} is {_show(self.stored)}, wanted {_show(self.wanted)}"


@dataclass(frozen=True, slots=True)
class CacheIdentity:
    """Everything that shapes the data of one clip."""

    schema: int
    """Format number of the cache, :data:`SCHEMA`."""
    motionkit: str
    """Version that made it."""
    robot: str
    """Name of the robot."""
    robot_sha256: str
    """Of the robot's model and profile."""
    joint_names: tuple[str, ...]
    """Columns of ``qpos[:, 7:]``, in order."""
    joint_range: tuple[tuple[float | None, float | None], ...]
    """Limits of the joints [rad or m]; ``None`` where unlimited."""
    body_names: tuple[str, ...]
    """Columns of the body arrays, the root first, without the world."""
    fps: float
    """Frames per second of the stored clip."""
    source_sha256: str
    """Of the source file's bytes."""
    source_format: str
    """Name of the reader, e.g. ``bvh``."""
    reader_options: dict[str, str]
    """What the user told the reader."""
    body: str
    """Which human body the motion stands on: ``embedded``, or a model file's name and hash."""
    frames: tuple[int, int | None] | None
    """Cut of the source, half-open, in its own frames; ``None`` when it is whole."""
    settings: dict[str, dict[str, Any]]
    """Resolved configuration of every stage, by the stage's name."""

    def __post_init__(self) -> None:
        """Bring values into the form in which they are hashed, stored and compared."""
        for name in ("fps", "settings", "reader_options"):
            object.__setattr__(self, name, _canonical(getattr(self, name), name))
        object.__setattr__(self, "fps", float(self.fps))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the identity's canonical JSON, in hexadecimal."""
        return hashlib.sha256(canonical_json(self.as_dict()).encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values, as they are stored."""
        return {f.name: _canonical(getattr(self, f.name), f.name) for f in fields(self)}

    def differences(self, wanted: "CacheIdentity | Mapping[str, Any]") -> list[Difference]:
        """Fields in which this (stored) identity is not the one wanted, sorted by path.

        Args:
            wanted: an identity, or some of its fields: only those are compared.

        Raises:
            ConfigError: ``wanted`` names a field that an identity does not have.
        """
        stored = self.as_dict()
        if not isinstance(wanted, CacheIdentity):
            unknown = sorted(set(wanted) - set(stored))
            if unknown:
                raise ConfigError(f"an identity has no field {', '.join(unknown)}",
                                  help=f"the fields are: {', '.join(stored)}")  # fmt: skip
        asked = wanted.as_dict() if isinstance(wanted, CacheIdentity) else {
            key: _canonical(value, key) for key, value in wanted.items()
        }  # fmt: skip
        return [d for key in sorted(asked) for d in compare(key, stored[key], asked[key])]

    @staticmethod
    def from_dict(values: Mapping[str, Any], where: str) -> "CacheIdentity":
        """The identity that :meth:`as_dict` gave.

        Raises:
            InputError: a field is missing, unknown or of another type.
        """
        names = {f.name for f in fields(CacheIdentity)}
        if set(values) != names:
            wrong = ", ".join(sorted(set(values) ^ names))
            raise InputError(f"the identity's fields are not those of schema {SCHEMA}: {wrong}",
                             where=where, help="rebuild the cache")  # fmt: skip
        given = dict(values)
        try:
            given["joint_names"] = tuple(given["joint_names"])
            given["body_names"] = tuple(given["body_names"])
            given["joint_range"] = tuple((low, high) for low, high in given["joint_range"])
            given["frames"] = None if given["frames"] is None else tuple(given["frames"])
            given["fps"] = float(given["fps"])
            return CacheIdentity(**given)
        except (TypeError, ValueError) as error:
            raise InputError(f"the identity cannot be read: {error}", where=where,
                             help="rebuild the cache") from None  # fmt: skip


def identify(
    robot: Robot,
    provenance: Provenance,
    *,
    fps: float,
    body: str,
    settings: Mapping[str, Any],
    frames: tuple[int, int | None] | None = None,
) -> CacheIdentity:
    """The identity of a clip about to be stored by this version of motionkit.

    Args:
        robot: who moves.
        provenance: of the source.
        fps: of the stored clip [1/s].
        body: which human body the motion stands on.
        settings: resolved configuration of every stage: dataclasses or mappings, by stage.
        frames: cut of the source.

    Raises:
        ConfigError: a setting holds what JSON cannot.
    """
    limits = tuple(
        (float(low) if np.isfinite(low) else None, float(high) if np.isfinite(high) else None)
        for low, high in robot.joint_range
    )
    return CacheIdentity(
        schema=SCHEMA,
        motionkit=motionkit.__version__,
        robot=robot.name,
        robot_sha256=robot.sha256,
        joint_names=robot.joint_names,
        joint_range=limits,
        body_names=robot.body_names,
        fps=float(fps),
        source_sha256=provenance.sha256,
        source_format=provenance.format,
        reader_options=dict(provenance.options),
        body=body,
        frames=frames,
        settings={name: _canonical(value, name) for name, value in settings.items()},
    )


def canonical_json(value: Any) -> str:
    """One text for equal values: keys sorted, no spaces, 30 and 30.0 the same number.

    Raises:
        ConfigError: a value is not finite, or is none that JSON knows.
    """
    plain = _canonical(value, "")
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _canonical(value: Any, path: str) -> Any:
    """Plain JSON values; whole floats as integers, so that a 30 from TOML equals a 30.0."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, enum.Enum):
        return _canonical(value.value, path)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if not math.isfinite(number):
            raise ConfigError(f"{path} is {number}, which a cache cannot store")
        return int(number) if number.is_integer() else number
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): _canonical(value[key], f"{path}.{key}") for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [_canonical(item, f"{path}[{i}]") for i, item in enumerate(value)]
    raise ConfigError(f"{path} is a {type(value).__name__}, which a cache cannot store")


def compare(path: str, stored: Any, wanted: Any) -> Iterator[Difference]:
    """Where two plain JSON values differ, down to the leaves, sorted by path.

    Args:
        path: what is put before each path.
        stored: what is there.
        wanted: what is asked for.
    """
    if isinstance(stored, dict) and isinstance(wanted, dict):
        for key in sorted({*stored, *wanted}):
            yield from compare(f"{path}.{key}", stored.get(key, ABSENT), wanted.get(key, ABSENT))
    elif type(stored) is bool or type(wanted) is bool:
        if stored is not wanted:  # True == 1, but they are different settings
            yield Difference(path, stored, wanted)
    elif stored != wanted:
        yield Difference(path, stored, wanted)


_SHOWN = 80  # characters of a value that an error message shows


def _show(value: Any) -> str:
    text = str(value) if isinstance(value, _Absent) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
