"""What the names of joints suggest: a side, and parts of the body with a confidence.

A name is cut into words, freed of namespaces, of fillers and of words that nearly all joints
share, and looked up by what is left: ``mixamorig:LeftUpLeg``, ``Bip01 L Thigh``, ``thigh_l``,
``upperleg01.L`` and ``lfemur`` all say the same. Families disagree on ``Leg``, ``Shoulder``,
``Arm`` and ``Foot``, so a word may suggest several parts; :mod:`motionkit.formats.roles` decides
by the tree.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")

FINGERS = ("thumb", "index", "middle", "ring", "pinky")
"""In the order in which tools number them."""

_VOCABULARY: dict[str, dict[str, float]] = {}


def _suggest(words: str, **parts: float) -> None:
    for word in words.split():
        _VOCABULARY[word] = parts


_suggest("hips pelvis hipcenter hipscenter bacino", pelvis=3)
_suggest("hip", hip=3, pelvis=3)  # which of the two is decided by whether it has a side
_suggest("upleg upperleg uleg thigh femur legupper thighbend", hip=3)
_suggest("leg", knee=3, hip=2)
_suggest("lowleg lowerleg loleg lleg shin calf knee tibia shank leglower", knee=3)
_suggest("ankle", ankle=3)
_suggest("foot", ankle=3, toe=2)
_suggest("toe toebase toes ball toebone", toe=3)
_suggest("collar clavicle scapula shoulderblade collarbone", collar=3)
_suggest("shoulder", shoulder=2, collar=2)
_suggest("uparm upperarm uarm humerus shldr shldrbend armupper", shoulder=3)
_suggest("arm", shoulder=3, elbow=1)
_suggest("forearm lowarm lowerarm loarm farm radius elbow forearmbend armlower", elbow=3)
_suggest("wrist", wrist=3)
_suggest("hand", wrist=3)
_suggest("head skull", head=3)
_suggest("neck lowerneck upperneck neckbase necklower neckupper", neck=3)
_suggest(
    "spine chest torso abdomen abdomenlower abdomenupper chestlower chestupper lowerback upperback "
    "thorax waist ab upperchest lowerchest lowerspine upperspine",
    spine=3,
)

_FILLERS = frozenset({
    "bip", "biped", "b", "jnt", "jt", "def", "org", "bn", "bone", "avg", "m", "f", "character",
    "mixamorig", "bind", "sk", "rig", "skin", "skeleton", "subject", "actor", "valvebiped", "cc",
    "base",
})  # fmt: skip
_ENDS = frozenset({"end", "nub", "site", "tip", "top", "endsite"})
_HELPERS = frozenset({
    "ik", "pole", "target", "twist", "roll", "effector", "null", "helper", "ctrl", "control",
    "eye", "eyes", "jaw", "breast", "tongue", "lip", "hair", "cloth", "prop", "weapon", "camera",
    "metacarpal", "metatarsal", "carpal", "tarsal", "hold", "grip",
})  # fmt: skip
_UNLIKELY = 0.1  # of the confidence, for ends and for helpers written as __Name
_SHARED = 0.8  # of the joints: a word in more names than that tells nothing
_SHARED_LEAST = 6  # joints, below which no word is called shared


@dataclass(frozen=True, slots=True)
class Hint:
    """What one name suggests."""

    side: str = ""
    """``left``, ``right`` or nothing."""
    parts: dict[str, float] = field(default_factory=dict)
    """Part of the body to confidence."""
    finger: str = ""
    """One of :data:`FINGERS` or nothing."""
    is_end: bool = False
    """The name calls it an end, which it need not be."""


def read_names(names: tuple[str, ...]) -> list[Hint]:
    """One hint a name, read in the light of all names."""
    words = [_words(name) for name in names]
    counts = Counter(word for each in words for word in set(each))
    shared = {
        word
        for word, count in counts.items()
        if len(names) >= _SHARED_LEAST and count > _SHARED * len(names) and word not in _VOCABULARY
    }
    drop = shared | _FILLERS
    return [
        _hint(name, [w for w in each if w not in drop])
        for name, each in zip(names, words, strict=True)
    ]


def _words(name: str) -> list[str]:
    bare = re.split(r"[:|]", name)[-1] or name
    return [word.lower() for word in _WORDS.findall(bare)]


def _hint(name: str, words: list[str]) -> Hint:
    side, words = _take_side(words)
    finger = _finger(words)
    is_end = bool(_ENDS.intersection(words))
    plain = [w for w in words if not w.isdigit() and w not in _ENDS]
    key = "".join(plain)
    if not side and key not in _VOCABULARY:
        side, key = _glued_side(key)
        finger = finger or _finger([key])
    unlikely = is_end or name.split(":")[-1].startswith("__")
    if finger or _HELPERS.intersection(words):
        return Hint(side=side, finger="" if unlikely else finger, is_end=is_end)
    weight = _UNLIKELY if unlikely else 1.0
    parts = {part: weight * value for part, value in _VOCABULARY.get(key, {}).items()}
    if side:
        parts.pop("pelvis", None)
    else:
        parts = {p: v for p, v in parts.items() if p in ("pelvis", "spine", "neck", "head")}
    return Hint(side, parts, "", is_end)


def _take_side(words: list[str]) -> tuple[str, list[str]]:
    """The side that a word of its own tells, and the other words."""
    for index, word in enumerate(words):
        for side in ("left", "right"):
            if word in (side, side[0]):
                return side, words[:index] + words[index + 1 :]
            if word.startswith(side) or word.endswith(side):
                rest = word.removeprefix(side).removesuffix(side)
                return side, [*words[:index], rest, *words[index + 1 :]]
    return "", words


def _glued_side(key: str) -> tuple[str, str]:
    """A side written as one letter before or behind a known word: ``lfemur``, ``handr``."""
    for side in ("left", "right"):
        for rest in (key.removeprefix(side[0]), key.removesuffix(side[0])):
            if rest != key and (rest in _VOCABULARY or _finger([rest])):
                return side, rest
    return "", key


def _finger(words: list[str]) -> str:
    """The finger that the words name, by word or by number (``finger2-1``, ``Finger12``)."""
    if {"metacarpal", "carpal", "in"}.intersection(words) or "toe" in words:
        return ""
    for word in words:
        for finger, aliases in (("pinky", ("pinky", "little", "pinkie")), ("thumb", ("thumb",)),
                                ("index", ("index",)), ("middle", ("middle", "mid")),
                                ("ring", ("ring",))):  # fmt: skip
            if word in aliases:
                return finger
    numbers = [word for word in words if word.isdigit()]
    if "finger" not in words or not numbers:
        return ""
    # ``finger2-1`` counts from 1; the Biped's ``Finger21`` has finger 0..4, then the phalanx.
    number = int(numbers[0][:3]) - 1 if len(numbers) > 1 else int(numbers[0][0])
    return FINGERS[number] if 0 <= number < len(FINGERS) else ""
