"""Labels of markers: made clean and unique, and what they tell of where a marker sits."""

import re
from collections import Counter

import numpy as np
from jaxtyping import Float

from motionkit.clip import Note

Array = np.ndarray

_PART_WORDS: tuple[tuple[str, float], ...] = (
    (r"(fore)?head|temple|ear|nose|eye|chin|vertex|hd[fb]?|[fb]hd", 0.93),
    (r"neck", 0.85),
    (r"should(er)?|sho|shld?r?|acr(omion)?|sa[ej]|sjc", 0.82),
    (r"clav(icle)?|ij|s[nj][jn]|manubrium|scap(ula)?(rspine)?|stern?(um)?", 0.79),
    (r"strn|px|sxs|xiph(oid)?|bak|back|chest", 0.71),
    (r"[ap]?sis?|asi|psi|i[pa]s|v?sac(r|ral|rum)?|pelvis|[fb]wt|midhip|pelvic", 0.55),
    (r"hip|hjc|ftc|gtr?|troch(anter)?", 0.52),
    (r"thi(gh)?|th|fem|(post|ant)fem", 0.40),
    (r"kne+|kjc|f[lm]e|[lm][fe]c|fax|kax|kd|[lm]k|k[lm]", 0.285),
    (r"ttc|hf|tib(ia)?|tb|sha(nk)?|sk|shn|shin|(post|ant)tib", 0.18),
    (r"ankl?e?|ajc|[lm]?mall?(eolus)?|fal|tam|[lm]a|a[lm]", 0.045),
    (r"hee|heel|cal(c|caneus)?|fcc|toe|foo(t)?|ft|met|mt[1-5h]?|fm[1-5]|midfoot|(big|small)toe|"
     r"hallux|d[1-5]m|[1-5]mt|[svf]mh|[15]meta", 0.02),
)  # fmt: skip
"""What a label says, without side, number and place, and the height standing [statures]."""
_PARTS = tuple((re.compile(pattern), height) for pattern, height in _PART_WORDS)
_SPINE = ((re.compile(r"c(v)?7"), 0.85), (re.compile(r"t(v)?[1-4]"), 0.80),
          (re.compile(r"t(v)?([5-9]|1[0-2])"), 0.70))  # fmt: skip
"""Vertebrae, which have no side: RT1 is a point of the right thigh as likely as not."""

_SIDE = re.compile(r"^(left|right|[lr])[ ._-]*(?=\w)|[ ._-]*(left|right)$")
_PLACE = re.compile(r"(study|upper|lower|front|rear|medial|lateral|med|lat|sup|inf)$")
_UNNAMED = re.compile(r"\*?\s*\d*$|(u|un|unl|unlabell?ed|unnamed|uname)[ _-]*\d*$")


def heights(labels: tuple[str, ...]) -> Float[Array, "M"]:
    """Height of each label's part in a standing person [statures]; NaN where it tells none."""
    return np.array([_height(label) for label in labels], dtype=np.float64).reshape(len(labels))


def _height(label: str) -> float:
    word = label[:64].rpartition(":")[2].lower().partition("#")[0]
    plain = re.sub(r"[^a-z0-9]", "", word)
    for pattern, height in _SPINE:
        if pattern.fullmatch(plain):
            return height
    for spelling in _spellings(word, plain):
        for pattern, height in _PARTS:
            if pattern.fullmatch(spelling):
                return height
    return np.nan


def _spellings(word: str, plain: str) -> list[str]:
    """A label without its side before or behind; and without what follows the part's name."""
    sided = re.sub(r"[^a-z0-9]", "", _SIDE.sub("", word))
    behind = re.sub(r"(?<=\w{3})[lr]\d*$", "", plain)  # AcromionL, ScapulaR2
    short = [re.sub(r"\d+$", "", _PLACE.sub("", each)) for each in (sided, plain, behind)]
    return list(dict.fromkeys([sided, plain, behind, *short]))


def clean_labels(raw: tuple[str, ...]) -> tuple[tuple[str, ...], str, list[Note]]:
    """Labels that are printable, not blank and unique, the subject's prefix, and notes.

    ``Subject:NAME`` becomes ``NAME`` where all labels that name something share the prefix, or
    where most that name a part of a body have one and no two labels become the same. A repeated
    label becomes ``NAME#2``, a blank one ``*`` and its number from 1.
    """
    notes: list[Note] = []
    labels = ["".join(c for c in label if c.isprintable()).strip() for label in raw]
    labels, subject = _strip_prefixes(labels, notes)
    blank = sum(not label for label in labels)
    labels = [label or f"*{index + 1}" for index, label in enumerate(labels)]
    if blank:
        notes.append(Note("MK158", f"{blank} points have no label; they are called *N", blank))
    taken, unique, twice = set(labels), [], []
    seen: Counter[str] = Counter()
    for label in labels:
        seen[label] += 1
        name = label
        if seen[label] > 1:
            while (name := f"{label}#{seen[label]}") in taken:
                seen[label] += 1
            taken.add(name)
            twice.append(name)
        unique.append(name)
    if twice:
        shown = ", ".join(twice[:8]) + (", …" if len(twice) > 8 else "")
        notes.append(Note("MK158", f"labels occur again; the later ones are called {shown}",
                          len(twice)))  # fmt: skip
    return tuple(unique), subject, notes


def _strip_prefixes(labels: list[str], notes: list[Note]) -> tuple[list[str], str]:
    parts = [label.rpartition(":") for label in labels]
    prefixes = [head.strip() if tail.strip() else "" for head, _, tail in parts]
    bare = [tail.strip() or label for (_, _, tail), label in zip(parts, labels, strict=True)]
    named = [p for p, name in zip(prefixes, bare, strict=True) if not _UNNAMED.match(name.lower())]
    found = sorted({p for p in prefixes if p})
    if not found:
        return labels, ""
    if len(found) == 1 and (not named or set(named) == {found[0]}):
        return bare, found[0]
    told = heights(tuple(labels))
    body = Counter(p for p, height in zip(prefixes, told, strict=True) if not np.isnan(height))
    most, count = body.most_common(1)[0] if body else ("", 0)
    is_unique = len(set(bare)) == len({*labels}) if len({*labels}) == len(labels) else False
    shown = ", ".join(found[:8]) + (", …" if len(found) > 8 else "")
    if most and 2 * count > sum(body.values()) and is_unique:
        text = f"prefixes are taken off: {shown}; most of the body is {most}"
        notes.append(Note("MK158", text, len(found)))
        return bare, most
    text = f"labels keep their prefixes: {shown}"
    notes.append(Note("MK158", text, len(found)))
    return labels, ""
