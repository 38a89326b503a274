"""Which marker each label is: by the known sets, by usual meanings, or by the user's own map.

A set is recognised by how many labels it explains; what its markers mean is in
:mod:`motionkit.human.markers.catalogue`.
"""

import difflib
import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from motionkit.clip import Note
from motionkit.errors import ConfigError, InputError
from motionkit.human.markers.catalogue import MarkerSet, SetMarker, clean, marker_sets

_MOST_LISTED = 12  # names in a message
_SHORTEST_BORROWED = 4  # characters of a spelling with a side
_MOST_NEAR = 5  # sets in a message
_POINTS_OF_A_PELVIS = 2  # on the pelvis, hip joints among them; limbs tell what these leave open
_BONES_OF_A_LIMB = 2  # parts of a leg or an arm that carry markers
_LIMBS = ("left leg", "right leg", "left arm", "right arm")
_PARTS: dict[str, tuple[str, ...]] = {
    "pelvis": ("pelvis",),
    "left leg": ("left_hip", "left_knee", "left_ankle", "left_foot"),
    "right leg": ("right_hip", "right_knee", "right_ankle", "right_foot"),
    "trunk": ("spine1", "spine2", "spine3", "neck", "left_collar", "right_collar"),
    "left arm": ("left_shoulder", "left_elbow", "left_wrist"),
    "right arm": ("right_shoulder", "right_elbow", "right_wrist"),
    "head": ("head",),
}


@dataclass(frozen=True, slots=True)
class Recognition:
    """Which marker each label is."""

    marker_set: MarkerSet
    """The set that explains the labels."""
    markers: dict[str, SetMarker]
    """Label of the clip to its marker, in the clip's order."""
    unmapped: tuple[str, ...]
    """Labels without a marker, sorted."""
    score: float
    """Share of the labels that have a marker."""
    notes: tuple[Note, ...]
    """What there is to say about it."""


def recognise(labels: Sequence[str], name: str | None = None, *, where: str) -> Recognition:
    """The set that most labels belong to, and the marker of each label.

    Only sets that cover the pelvis with both legs, or with the trunk and both arms, are taken;
    of those the one with most of the labels, then the one of which the larger share is there. Of
    the labels left over, those whose spelling means the same landmark in every other set that
    knows it are taken as well. A marker is never given to two labels, nor a label two markers.

    Args:
        labels: of the clip, without a subject's prefix.
        name: of the set, when the user chose it.
        where: the clip's file, for errors.

    Raises:
        InputError: no set covers a body, or not the chosen one.
        ConfigError: no set has that name.
    """
    sets = marker_sets() if name is None else (marker_set(name),)
    found = {each.name: match(each, labels) for each in sets}
    able = [each for each in sets if _covers(found[each.name].values())]
    if not able:
        counts = {each: len(markers) for each, markers in found.items()}
        raise _unexplained(labels, counts, name, where)
    best, *others = sorted(able, key=lambda each: _rank(each, found[each.name]))
    rivals = [
        each.name
        for each in others
        if _rank(each, found[each.name]) == _rank(best, found[best.name])
        and _meanings(found[each.name]) != _meanings(found[best.name])
    ]
    return complete(best, found[best.name], labels, rivals, can_borrow=True)


def marker_set(name: str) -> MarkerSet:
    """The set of that name.

    Raises:
        ConfigError: there is none.
    """
    sets = {each.name: each for each in marker_sets()}
    if name not in sets:
        near = difflib.get_close_matches(name.lower().replace("-", "_"), sets, n=1)
        start = f"did you mean {near[0]}? " if near else ""
        raise ConfigError(f"unknown marker set: {name}",
                          help=f"{start}marker sets are: {', '.join(sets)}")  # fmt: skip
    return sets[name]


def match(which: MarkerSet, labels: Sequence[str]) -> dict[str, SetMarker]:
    """Labels that are markers of a set; canonical spellings are served before aliases."""
    wanted: dict[str, str] = {}
    for label in labels:
        wanted.setdefault(clean(label), label)
    chosen: dict[str, SetMarker] = {}
    taken: set[str] = set()
    spellings = [(marker, marker.spellings) for marker in which.markers]
    for rank in range(max((len(each) for _, each in spellings), default=0)):
        for marker, each in spellings:
            label = wanted.get(each[rank]) if rank < len(each) else None
            if label is not None and label not in chosen and marker.label not in taken:
                chosen[label] = marker
                taken.add(marker.label)
    return {label: chosen[label] for label in labels if label in chosen}


def complete(
    which: MarkerSet,
    found: dict[str, SetMarker],
    labels: Sequence[str],
    rivals: Sequence[str],
    *,
    can_borrow: bool,
) -> Recognition:
    """A recognition with its notes, and the labels that other sets agree on."""
    borrowed = _borrow(which, found, labels) if can_borrow else {}
    both = found | borrowed
    markers = {label: both[label] for label in labels if label in both}
    unmapped = tuple(sorted(label for label in labels if label not in both))
    notes = [
        Note("MK176", _summary(which, found, borrowed, labels), len(markers) / len(labels), "")
    ]
    if rivals:
        text = f"as many labels belong to {listed(rivals)}; {which.name} was taken"
        notes.append(Note("MK177", text, float(len(rivals)), ""))
    if unmapped:
        text = f"labels of no known marker: {listed(unmapped)}"
        notes.append(Note("MK178", text, float(len(unmapped)), ""))
    if bare := _bare_parts(markers.values()):
        text = f"no marker on the {' or the '.join(bare)}; its joints keep to their parents"
        notes.append(Note("MK179", text, float(len(bare)), ""))
    return Recognition(which, markers, unmapped, len(markers) / len(labels), tuple(notes))


def listed(names: Iterable[str]) -> str:
    """Names with commas, the first dozen of them."""
    names = list(names)
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def _borrow(
    which: MarkerSet, found: dict[str, SetMarker], labels: Sequence[str]
) -> dict[str, SetMarker]:
    """Labels left over that the dictionary of landmarks knows, and no set understands otherwise.

    Short spellings of one side, such as ``RA``, mean too many things to be taken.
    """
    taken = {marker.landmark for marker in found.values()}
    known = {spelling for marker in which.markers for spelling in marker.spellings}
    borrowed: dict[str, SetMarker] = {}
    for label in labels:
        spelling = clean(label)
        there = _everywhere().get(spelling, ())
        if label in found or spelling in known or not there:
            continue
        meanings = {marker.landmark for _, marker in there}
        in_dictionary = [marker for each, marker in there if each.is_fallback]
        is_short = len(spelling) < _SHORTEST_BORROWED and there[0][1].is_sided
        if in_dictionary and len(meanings) == 1 and not (meanings & taken or is_short):
            borrowed[label] = in_dictionary[0]
            taken |= meanings
    return borrowed


@functools.cache
def _everywhere() -> dict[str, tuple[tuple[MarkerSet, SetMarker], ...]]:
    """Markers of all sets by spelling."""
    found: dict[str, tuple[tuple[MarkerSet, SetMarker], ...]] = {}
    for each in marker_sets():
        for marker in each.markers:
            for spelling in marker.spellings:
                found[spelling] = (*found.get(spelling, ()), (each, marker))
    return found


def _rank(which: MarkerSet, found: dict[str, SetMarker]) -> tuple[bool, int, float]:
    """What sorts sets, the best first; repeated labels (``LKNE#2``) tell no set."""
    core = [marker for marker in which.markers if not marker.is_optional]
    seen = {marker.label for marker in found.values()}
    share = sum(marker.label in seen for marker in core) / len(core)
    return which.is_fallback, -sum("#" not in label for label in found), -share


def _meanings(found: dict[str, SetMarker]) -> dict[str, str]:
    return {label: marker.landmark for label, marker in found.items()}


def _parts(markers: Iterable[SetMarker]) -> Counter[str]:
    """Number of markers on each part of the body; a leg or an arm counts its bones."""
    markers = list(markers)
    count = Counter(part for part, joints in _PARTS.items() for marker in markers
                    if marker.segment in joints)  # fmt: skip
    count["pelvis"] += sum(m.is_joint and m.segment.endswith("_hip") for m in markers)
    for limb in _LIMBS:
        count[limb] = len({marker.segment for marker in markers if marker.segment in _PARTS[limb]})
    return count


def _covers(markers: Iterable[SetMarker]) -> bool:
    """Whether the markers show the pelvis, and both legs or the trunk with both arms."""
    count = _parts(markers)
    legs = min(count["left leg"], count["right leg"]) >= _BONES_OF_A_LIMB
    arms = min(count["left arm"], count["right arm"]) >= _BONES_OF_A_LIMB
    return count["pelvis"] >= _POINTS_OF_A_PELVIS and (legs or (arms and count["trunk"] > 0))


def _bare_parts(markers: Iterable[SetMarker]) -> list[str]:
    """Parts of the body without any marker."""
    count = _parts(markers)
    return [part for part in _PARTS if not count[part]]


def _summary(
    which: MarkerSet,
    found: dict[str, SetMarker],
    borrowed: dict[str, SetMarker],
    labels: Sequence[str],
) -> str:
    text = f"{len(found)} of {len(labels)} labels are markers of {which.name} ({which.title})"
    if borrowed:
        means = [f"{label} ({marker.landmark})" for label, marker in borrowed.items()]
        text += f"; by their usual meaning also {listed(means)}"
    return text


def _unexplained(
    labels: Sequence[str], counts: dict[str, int], name: str | None, where: str
) -> InputError:
    """A refusal that says how near each set came."""
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    near = [f"{each} {count}" for each, count in ranked if count][:_MOST_NEAR]
    matched = f"labels matched: {', '.join(near)}" if near else "none matches a label"
    sets = f"the set {name}" if name else "any known set"
    return InputError(
        f"{len(labels)} labels ({listed(labels)}) do not show a body by {sets}; {matched}",
        where=f"{where}: labels",
        help="needed are the pelvis with both legs, or with the trunk and both arms; name the "
        "markers in a TOML file and give it with --marker-map (docs/markers.md)",
    )


def read_marker_map(path: Path, labels: Sequence[str], *, where: str) -> Recognition:
    """Markers by the user's own TOML file; ``docs/markers.md`` describes it.

    Args:
        path: of the TOML file.
        labels: of the clip, without a subject's prefix.
        where: the clip's file, for errors.

    Raises:
        InputError: the file cannot be read, a key or a value in it is wrong, or its markers do
            not show a body in this clip.
    """
    from motionkit.human.markers.marker_map import parse_marker_map

    which, rename = parse_marker_map(path)
    spelled = {label: rename.get(label, label) for label in labels}
    by_name = match(which, list(dict.fromkeys(spelled.values())))
    found: dict[str, SetMarker] = {}
    for label in labels:
        marker = by_name.get(spelled[label])
        if marker is not None and marker not in found.values():
            found[label] = marker
    if not _covers(found.values()):
        raise _unexplained(labels, {which.name: len(found)}, which.name, where)
    return complete(which, found, labels, (), can_borrow=False)
