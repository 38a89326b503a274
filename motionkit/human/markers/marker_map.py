"""The user's own map of markers: a TOML file that says what each label marks.

``docs/markers.md`` describes it. Lengths are metres where the file gives a stature, else shares of
stature; sigma is metres always.
"""

import difflib
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from motionkit.clip import SMPLH_JOINTS
from motionkit.errors import ConfigError, InputError
from motionkit.human.markers.catalogue import MarkerSet, SetMarker, clean, landmarks
from motionkit.human.markers.sets import marker_set

_KEYS = ("stature", "extends", "rename", "markers")
_MARKER_KEYS = ("segment", "place", "landmark", "sigma", "joint")
_STATURES = (0.5, 2.5)  # [m]
_FARTHEST = 0.5  # shares of stature: no marker is farther from the joint of its part
_SIGMAS = (0.001, 0.5)  # [m]
_JOINTS = SMPLH_JOINTS[:22]  # those that the fit moves
_DEFAULT_SIGMA = 0.02  # [m]
_SEE = "docs/markers.md describes the file"


def parse_marker_map(path: Path) -> tuple[MarkerSet, dict[str, str]]:
    """The set that the file describes, and the labels that it renames.

    Raises:
        InputError: the file cannot be read, or a key or a value in it is wrong.
    """
    table = _load(path)
    _require_known(path, "", table, _KEYS)
    stature = _stature(path, table)
    rename, rows = (_table(path, key, table.get(key, {})) for key in ("rename", "markers"))
    base = _base(path, table.get("extends"))
    own = [_marker(path, label, row, stature) for label, row in rows.items()]
    spelled = {clean(marker.label) for marker in own}
    kept = [marker for marker in base if not spelled & set(marker.spellings)]
    if not (own or kept):
        raise _error(path, "", "names no markers", "give extends, or a table [markers]")
    known = {spelling for marker in (*own, *kept) for spelling in marker.spellings}
    for label, name in rename.items():
        if not isinstance(name, str) or clean(name) not in known:
            names = [marker.label for marker in (*own, *kept)]
            raise _error(path, f"rename.{label}", f"found {name!r}, expected the label of a marker",
                         _suggest(str(name), names, "markers are"))  # fmt: skip
    title = f"the user's map{', on top of ' + table['extends'] if base else ''}"
    return MarkerSet(path.name, title, str(path), (*own, *kept)), rename


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(path)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"is not valid TOML: {error}", where=str(path), help=_SEE) from None


def _stature(path: Path, table: dict[str, Any]) -> float | None:
    """What places are divided by; None where they are shares already."""
    if "stature" not in table:
        return None
    return _number(path, "stature", table["stature"], _STATURES, "m")


def _base(path: Path, name: Any) -> tuple[SetMarker, ...]:
    """Markers of the set that the file extends."""
    if name is None:
        return ()
    try:
        return marker_set(str(name)).markers
    except ConfigError as error:
        raise _error(path, "extends", error.message, error.help) from None


def _marker(path: Path, label: str, row: Any, stature: float | None) -> SetMarker:
    """One marker: borrowed from a set, on a landmark, or at a place of its own."""
    key = f"markers.{label}"
    if isinstance(row, str):
        return _borrowed(path, key, label, row)
    row = _table(path, key, row)
    _require_known(path, key, row, _MARKER_KEYS)
    is_joint = row.get("joint", False)
    if not isinstance(is_joint, bool):
        raise _error(path, f"{key}.joint", f"found {is_joint!r}, expected true or false", _SEE)
    if "landmark" in row:
        return _on_landmark(path, key, label, row)
    for needed in ("segment", "place"):
        if needed not in row:
            raise _error(path, key, f"lacks {needed}", "give segment and place, or landmark")
    segment = row["segment"]
    if segment not in _JOINTS:
        raise _error(path, f"{key}.segment", f"found {segment!r}, expected a joint of SMPL-H",
                     _suggest(str(segment), _JOINTS, "joints are"))  # fmt: skip
    place = _place(path, f"{key}.place", row["place"], stature)
    sigma = _sigma(path, key, row, _DEFAULT_SIGMA)
    return SetMarker(label, (), segment, place, sigma, is_joint, near=segment)


def _borrowed(path: Path, key: str, label: str, text: str) -> SetMarker:
    """The marker that ``set:LABEL`` names, under another label."""
    name, _, wanted = text.partition(":")
    if not wanted:
        raise _error(path, key, f"found {text!r}, expected set:LABEL",
                     "write plug_in_gait:LKNE, or a table with segment and place")  # fmt: skip
    try:
        which = marker_set(name)
    except ConfigError as error:
        raise _error(path, key, error.message, error.help) from None
    for marker in which.markers:
        if clean(wanted) in marker.spellings:
            return _renamed(marker, label, marker.sigma)
    labels = [marker.label for marker in which.markers]
    raise _error(path, key, f"{name} has no marker {wanted}",
                 _suggest(wanted, labels, "its markers are"))  # fmt: skip


def _on_landmark(path: Path, key: str, label: str, row: dict[str, Any]) -> SetMarker:
    """A marker on a known landmark."""
    name = row["landmark"]
    for other in ("segment", "place", "joint"):
        if other in row:
            raise _error(path, key, f"has landmark and {other}", "give one of the two")
    if name not in landmarks():
        raise _error(path, f"{key}.landmark", f"found {name!r}, expected a known landmark",
                     _suggest(str(name), landmarks(), "landmarks are"))  # fmt: skip
    at = landmarks()[name]
    sigma = _sigma(path, key, row, at.sigma)
    return SetMarker(label, (), at.segment, at.place, sigma, at.is_joint, name, at.near)


def _renamed(marker: SetMarker, label: str, sigma: float) -> SetMarker:
    return SetMarker(
        label,
        (),
        marker.segment,
        marker.place,
        sigma,
        marker.is_joint,
        marker.landmark,
        marker.near,
    )


def _place(path: Path, key: str, value: Any, stature: float | None) -> tuple[float, float, float]:
    """Three numbers, in shares of stature."""
    if not isinstance(value, list) or len(value) != 3:
        raise _error(path, key, f"found {value!r}, expected three numbers", "write [x, y, z]")
    size, unit = (1.0, "shares of stature") if stature is None else (stature, "m")
    reach = _FARTHEST * size
    x, y, z = (_number(path, key, part, (-reach, reach), unit) / size for part in value)
    return x, y, z


def _sigma(path: Path, key: str, row: dict[str, Any], default: float) -> float:
    return _number(path, f"{key}.sigma", row.get("sigma", default), _SIGMAS, "m")


def _number(path: Path, key: str, value: Any, span: tuple[float, float], unit: str) -> float:
    """A finite number within a span."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not (np.isfinite(value) and span[0] <= value <= span[1]):
        expected = f"a number from {span[0]:g} to {span[1]:g} {unit}"
        help = _SEE
        if is_number and unit == "shares of stature":
            help = "for places in metres, give stature in metres at the top of the file"
        raise _error(path, key, f"found {value!r}, expected {expected}", help)
    return float(value)


def _table(path: Path, key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _error(path, key, f"found {value!r}, expected a table", _SEE)
    return value


def _require_known(path: Path, key: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in table:
        if name not in known:
            raise _error(path, key, f"unknown key: {name}", _suggest(name, known, "the keys are"))


def _suggest(name: str, known: Iterable[str], intro: str) -> str:
    """The near name and all names, or as many as a line holds."""
    known = list(known)
    folded = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), folded, n=1)
    start = f"did you mean {folded[near[0]]}? " if near else ""
    return f"{start}{intro}: {', '.join(known)}"


def _error(path: Path, key: str, message: str, help: str) -> InputError:
    where = f"{path}: {key}" if key else str(path)
    return InputError(
        "".join(c if c.isprintable() else "?" for c in message), where=where, help=help
    )
