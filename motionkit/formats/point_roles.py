"""Which of a set of named points plays which part of a human body, without a tree.

Names suggest (:mod:`motionkit.formats.role_names`) and lengths decide between them: thigh and
shank, upper arm and forearm have human proportions. From the limbs so found a tree is made in
which :func:`motionkit.formats.roles.find_roles` finds the rest, so that a name means the same
with a tree and without. Whether the points then move as a body does is asked by
:func:`find_flaw`.
"""

import re
from collections.abc import Sequence
from itertools import product

import numpy as np
from jaxtyping import Float

from motionkit.formats.role_names import FINGERS, Hint, read_names
from motionkit.formats.roles import ARM, LEG, SIDES, find_roles
from motionkit.formats.topology import LEG_OVER_ARM, THIGH_SHARE, UPPER_ARM_SHARE

Array = np.ndarray

MOST_CANDIDATES = 8
"""Points for one part of one limb that are looked at, the likeliest by name."""
NEAR_HIPS = 0.35
"""Distance from the middle of the hips, in thighs, within which an unnamed point is the pelvis."""
STRETCH = 0.35
"""Change of a limb bone's length over the clip (10th to 90th percentile, in medians) from which
the points are no body: rigid skeletons have 0, markerless ones up to some 0.15."""
ASYMMETRY = 0.3
"""Difference between a left and a right bone, in their mean, from which they are none."""
PELVIS_FROM_HIPS = 0.5
"""Distance of the pelvis from the middle of the hips, in thighs, up to which it is one."""
HEAD_FROM_PELVIS = (0.4, 1.3)
"""Median distance from pelvis to head, in legs (0.69 to 0.85 in the skeletons measured)."""

_BONES = (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow"), ("elbow", "wrist"))


def find_point_roles(
    names: Sequence[str], pos: Float[Array, "S J 3"]
) -> tuple[dict[str, int], list[str]]:
    """Role to index of a point, and remarks on roles that no name told.

    Args:
        names: of the points.
        pos: their positions in some frames, any unit and any world, all of them seen.
    """
    hints = read_names(tuple(names))
    limbs: dict[str, int] = {}
    for side in SIDES:
        for parts, share in ((LEG, THIGH_SHARE), (ARM, UPPER_ARM_SHARE)):
            chain = _best_chain(hints, side, parts, share, pos)
            limbs |= {f"{side}_{p}": j for p, j in zip(parts, chain, strict=False)}
    pelvis, remarks = _pelvis(names, hints, limbs, pos)
    parents = _tree(names, hints, limbs, pelvis, pos)
    order = _parents_first(parents)
    place = {joint: new for new, joint in enumerate(order)}
    sorted_parents = tuple(place[parents[j]] if parents[j] >= 0 else -1 for j in order)
    roles = find_roles(tuple(names[j] for j in order), sorted_parents, pos[:, order])
    return {role: order[joint] for role, joint in roles.items()}, remarks


def find_flaw(pos: Float[Array, "S J 3"], roles: dict[str, int]) -> str:
    """Why points with the required roles do not move as a body does; empty when they do.

    The lengths of the limbs stay, those of both sides agree, and their proportions are human.
    """
    lengths = {}
    for side, (a, b) in product(SIDES, _BONES):
        bone = np.linalg.norm(pos[:, roles[f"{side}_{a}"]] - pos[:, roles[f"{side}_{b}"]], axis=-1)
        low, middle, high = np.percentile(bone, [10, 50, 90])
        if not middle > 0.0:
            return f"{side} {a} and {b} are in one place"
        if high - low > STRETCH * middle:
            return f"{side} {a} to {b} changes its length from {low:.3g} to {high:.3g}"
        lengths[side, a] = float(middle)
    for a, b in _BONES:
        left, right = lengths["left", a], lengths["right", a]
        if abs(left - right) > ASYMMETRY * 0.5 * (left + right):
            return f"left {a} to {b} is {left:.3g} long, right {right:.3g}"
    thigh, shank, upper, fore = (lengths["left", a] + lengths["right", a] for a, _ in _BONES)
    middle = 0.5 * (pos[:, roles["left_hip"]] + pos[:, roles["right_hip"]])
    gap = float(np.median(np.linalg.norm(pos[:, roles["pelvis"]] - middle, axis=-1)))
    body = float(
        np.median(np.linalg.norm(pos[:, roles["head"]] - pos[:, roles["pelvis"]], axis=-1))
    )
    legs = 0.5 * (thigh + shank)
    for what, value, (low, high) in (
        ("thigh of the leg", thigh / (thigh + shank), THIGH_SHARE),
        ("upper arm of the arm", upper / (upper + fore), UPPER_ARM_SHARE),
        ("leg over arm", (thigh + shank) / (upper + fore), LEG_OVER_ARM),
        ("pelvis to the middle of the hips over thigh", 2.0 * gap / thigh, (0, PELVIS_FROM_HIPS)),
        ("pelvis to head over leg", body / legs, HEAD_FROM_PELVIS),
    ):
        if not low <= value <= high:
            return f"{what} is {value:.2f}, people have {low:g} to {high:g}"
    return ""


def _best_chain(
    hints: list[Hint],
    side: str,
    parts: tuple[str, str, str],
    share: tuple[float, float],
    pos: Float[Array, "S J 3"],
) -> tuple[int, ...]:
    """The three points of a limb that names suggest most, if they can be one; else none.

    Of the same confidence, those of human proportions come first, then the shortest: the ankle
    rather than the toe, the wrist rather than the hand.
    """
    candidates = []
    for part in parts:
        scored = [(-h.parts.get(part, 0.0), j) for j, h in enumerate(hints) if h.side == side]
        candidates.append(sorted(item for item in scored if item[0] < 0.0)[:MOST_CANDIDATES])
    best: tuple[float, bool, float] | None = None
    chain: tuple[int, ...] = ()
    for triple in product(*candidates):
        a, b, c = (joint for _, joint in triple)
        if len({a, b, c}) < 3:
            continue
        upper, lower = (float(np.median(np.linalg.norm(pos[:, i] - pos[:, j], axis=-1)))
                        for i, j in ((a, b), (b, c)))  # fmt: skip
        total = upper + lower
        is_human = total > 0.0 and share[0] <= upper / total <= share[1]
        rank = (sum(score for score, _ in triple), not is_human, total)
        if best is None or rank < best:
            best, chain = rank, (a, b, c)
    return chain


def _pelvis(
    names: Sequence[str], hints: list[Hint], limbs: dict[str, int], pos: Float[Array, "S J 3"]
) -> tuple[int, list[str]]:
    """The point called pelvis, else the unsided one between the hips; -1 when there is none."""
    named = [(-h.parts["pelvis"], j) for j, h in enumerate(hints) if "pelvis" in h.parts]
    if named:
        return min(named)[1], []
    if not {"left_hip", "right_hip", "left_knee"} <= limbs.keys():
        return -1, []
    middle = 0.5 * (pos[:, limbs["left_hip"]] + pos[:, limbs["right_hip"]])
    thigh = np.linalg.norm(pos[:, limbs["left_hip"]] - pos[:, limbs["left_knee"]], axis=-1)
    taken = set(limbs.values())
    gaps = [(float(np.median(np.linalg.norm(pos[:, j] - middle, axis=-1))), j)
            for j, h in enumerate(hints) if not h.side and j not in taken]  # fmt: skip
    gap, joint = min(gaps, default=(np.inf, -1))
    if not gap <= NEAR_HIPS * float(np.median(thigh)):
        return -1, []
    return joint, [f"{names[joint]} is taken for the pelvis: it lies between the hips"]


def _tree(
    names: Sequence[str],
    hints: list[Hint],
    limbs: dict[str, int],
    pelvis: int,
    pos: Float[Array, "S J 3"],
) -> list[int]:
    """A parent for every point, -1 for none: trunk from the pelvis up, limbs on it, the rest."""
    parents = [pelvis] * len(names)
    if pelvis >= 0:
        parents[pelvis] = -1
    taken = {*limbs.values(), pelvis}

    def unsided(part: str) -> list[int]:
        """Points of the trunk, from the pelvis outwards."""
        found = [
            j for j, h in enumerate(hints) if part in h.parts and not h.side and j not in taken
        ]
        if pelvis < 0:
            return found
        gap = np.median(np.linalg.norm(pos - pos[:, [pelvis]], axis=-1), axis=0)
        return sorted(found, key=lambda j: gap[j])

    spine, neck = unsided("spine"), unsided("neck")
    heads = sorted(unsided("head"), key=lambda j: -hints[j].parts["head"])
    for chain in (spine, neck, heads[:1]):
        for joint in chain:
            parents[joint] = pelvis
    trunk = [*spine, *neck, *heads[:1]]
    for below, joint in zip([pelvis, *trunk], trunk, strict=False):
        parents[joint] = below
    top = spine[-1] if spine else pelvis
    for side in SIDES:
        _hang_limbs(parents, names, hints, limbs, side, top, pelvis)
    return parents


def _hang_limbs(
    parents: list[int],
    names: Sequence[str],
    hints: list[Hint],
    limbs: dict[str, int],
    side: str,
    top: int,
    pelvis: int,
) -> None:
    """Give the limbs of one side their parents: collars, toes and fingers with them."""
    taken = {*limbs.values(), pelvis}
    own = [j for j, h in enumerate(hints) if h.side == side and j not in taken]
    root = top
    for joint in own:
        if hints[joint].parts.get("collar", 0.0) >= 1.0 and not hints[joint].finger:
            parents[joint] = root
            root = joint
    for parts, first in ((LEG, pelvis), (ARM, root)):
        below = first
        for part in parts:
            if f"{side}_{part}" in limbs:
                parents[limbs[f"{side}_{part}"]] = below
                below = limbs[f"{side}_{part}"]
    for joint in own:
        if hints[joint].parts.get("toe", 0.0) > 0.0 and f"{side}_ankle" in limbs:
            parents[joint] = limbs[f"{side}_ankle"]
    for finger in FINGERS:
        below = limbs.get(f"{side}_wrist", pelvis)
        bones = [j for j in own if hints[j].finger == finger]
        for joint in sorted(bones, key=lambda j: _numbers(names[j])):
            parents[joint] = below
            below = joint


def _numbers(name: str) -> list[int]:
    """The numbers in a name: bones of a finger are counted from the knuckle."""
    return [int(digits[:9]) for digits in re.findall(r"[0-9]+", name)]


def _parents_first(parents: list[int]) -> list[int]:
    """All points, each after its parent, in the order of the file otherwise."""
    order: list[int] = []
    done: set[int] = set()
    for joint in range(len(parents)):
        chain = []
        while joint >= 0 and joint not in done:
            chain.append(joint)
            done.add(joint)
            joint = parents[joint]
        order += chain[::-1]
    return order
