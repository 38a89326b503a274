"""Marker sets: where each marker of a set sits on the body.

A set is data: ``data/sets.toml`` says which landmark each label stands for, ``data/landmarks.toml``
where that landmark lies. Landmarks of the two sides are written once, outward from the middle, and
mirrored here. The joints that places are measured from are those of the embedded skeleton
(:func:`motionkit.human.skeleton.embedded_rest`) in the T-pose facing +X.
"""

import functools
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from motionkit.clip import SMPLH_JOINTS
from motionkit.human.skeleton import embedded_rest

_DATA = Path(__file__).parent / "data"
_IGNORED = str.maketrans("", "", ". _-:")
_SIDES = (("right", "R", -1.0), ("left", "L", 1.0))  # name, letter, sign of +Y


@dataclass(frozen=True, slots=True)
class SetMarker:
    """One marker of a set."""

    label: str
    """Canonical label in its set."""
    aliases: tuple[str, ...]
    """Other spellings; case and the characters of ``. _-:`` do not matter."""
    segment: str
    """Joint of SMPL-H whose part carries it, e.g. ``left_hip`` for the left thigh."""
    place: tuple[float, float, float]
    """Nominal place from that joint, T-pose facing +X, in shares of stature."""
    sigma: float
    """One standard deviation of the true place about the nominal one [m]."""
    is_joint: bool = False
    """Whether it is the centre of a joint, not a point on the skin."""
    landmark: str = ""
    """Landmark of the body that it marks, e.g. ``LASI``."""
    near: str = ""
    """Joint at its end of the part, ``segment`` itself or its child: where a bone is longer than
    nominal, the place keeps its distance from this joint."""
    is_optional: bool = False
    """Whether many recordings of the set lack it."""

    @property
    def is_sided(self) -> bool:
        """Whether it is on a side of the body."""
        return self.place[1] != 0.0 or self.segment.startswith(("left_", "right_"))

    @property
    def spellings(self) -> tuple[str, ...]:
        """Cleaned label and aliases, in order."""
        return tuple(dict.fromkeys(clean(text) for text in (self.label, *self.aliases)))


@dataclass(frozen=True, slots=True)
class MarkerSet:
    """A set of markers that laboratories use together."""

    name: str
    """By which a user chooses it."""
    title: str
    """For people."""
    source: str
    """Where the set is described."""
    markers: tuple[SetMarker, ...]
    """Its markers; no two share a spelling."""
    is_fallback: bool = False
    """Whether it is a dictionary of landmarks, for labels that are of no set as a whole."""


@dataclass(frozen=True, slots=True)
class Landmark:
    """A point of the body that markers are put on."""

    segment: str
    """Joint of SMPL-H whose part carries it."""
    near: str
    """Joint at its end of that part."""
    place: tuple[float, float, float]
    """From the joint of ``segment``, T-pose facing +X, in shares of stature."""
    sigma: float
    """One standard deviation of a marker's place about it [m]."""
    is_joint: bool
    """Whether it is the centre of a joint."""


def clean(label: str) -> str:
    """A label without what does not tell labels apart: case and the characters of ``. _-:``."""
    return label.translate(_IGNORED).upper()


@functools.cache
def landmarks() -> dict[str, Landmark]:
    """Landmarks by name: ``SACR``; those of a side have its letter before it, ``LASI``."""
    table = tomllib.loads((_DATA / "landmarks.toml").read_text("utf-8"))
    stature = float(table["stature"])
    found = {
        name.upper(): _landmark(row, stature, "", 1.0) for name, row in table["middle"].items()
    }
    for side, letter, sign in _SIDES:
        for name, row in table["sided"].items():
            found[f"{letter}{name.upper()}"] = _landmark(row, stature, side, sign)
    return found


def _landmark(row: dict[str, Any], stature: float, side: str, sign: float) -> Landmark:
    """A row of the table on one side; ``sign`` turns outward into +Y."""
    segment, near = (_joint(row.get(key, row["on"]), side) for key in ("on", "near"))
    rest = embedded_rest(1.0)
    forward, outward, up = row["at"]
    place = rest[SMPLH_JOINTS.index(near)] - rest[SMPLH_JOINTS.index(segment)]
    place = place + np.array([forward, sign * outward, up]) / stature
    x, y, z = (float(value) for value in place)
    return Landmark(segment, near, (x, y, z), row["sigma"], row.get("joint", False))


def _joint(name: str, side: str) -> str:
    """Full name of a joint from the one in the table."""
    full = f"{side}_{name}" if side and f"{side}_{name}" in SMPLH_JOINTS else name
    assert full in SMPLH_JOINTS, full
    return full


@functools.cache
def marker_sets() -> tuple[MarkerSet, ...]:
    """All sets, in the order in which they win ties."""
    table = tomllib.loads((_DATA / "sets.toml").read_text("utf-8"))
    return tuple(
        MarkerSet(
            name,
            row["title"],
            row["source"],
            tuple(_included(table, name)),
            row.get("fallback", False),
        )
        for name, row in table.items()
    )


def _included(table: dict[str, Any], name: str) -> Iterator[SetMarker]:
    """Markers of the sets that a set includes, then its own."""
    for other in table[name].get("include", ()):
        yield from _included(table, other)
    for label, row in table[name].get("markers", {}).items():
        yield from _on_both_sides(label, row if isinstance(row, dict) else {"at": row})


def _on_both_sides(label: str, row: dict[str, Any]) -> Iterator[SetMarker]:
    """Markers of one row: two where its label has a side to fill in, else one."""
    if "{S" not in label:
        prefix = row["side"][0] if "side" in row else ""
        yield _marker(label, row, prefix + row["at"], row.get("aliases", ()))
        return
    for side, letter, _ in _SIDES:
        filled = [
            text.replace("{S}", letter).replace("{Side}", side.capitalize())
            for text in (label, *row.get("aliases", ()))
        ]
        yield _marker(filled[0], row, letter + row["at"], filled[1:])


def _marker(label: str, row: dict[str, Any], landmark: str, aliases: Any) -> SetMarker:
    landmark = landmark.upper()
    at = landmarks()[landmark]
    return SetMarker(
        label,
        tuple(aliases),
        at.segment,
        at.place,
        row.get("sigma", at.sigma),
        at.is_joint,
        landmark,
        at.near,
        row.get("optional", False),
    )
