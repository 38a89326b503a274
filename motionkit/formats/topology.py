"""Roles from the shape of a skeleton alone, for names that say nothing (``Bone012``, 左足).

A biped is a tree with two symmetric pairs of long limbs: legs at one joint, arms at another
above it, and a head beyond the arms. Proportions (Winter, "Biomechanics and Motor Control of
Human Movement", fig. 4.1) tell hip, knee and ankle along a leg and shoulder, elbow and wrist
along an arm; feet and knees tell the front, and so the sides. Animals with more pairs of limbs,
or with arms as long as legs, are not taken for people.
"""

from itertools import combinations

import numpy as np
from jaxtyping import Float

from motionkit.formats.roles import ARM, LEG, SIDES, spread_spine

Array = np.ndarray

SAME_LENGTH = 0.03
"""Relative difference up to which two limbs are a pair."""
LONG_LIMB = 0.3
"""Part of the longest limb from which a limb counts; fingers, faces and toes are shorter."""
LEG_OVER_ARM = (1.1, 2.2)
"""Thigh + shank over upper arm + forearm; 1.48 in adults."""
THIGH_SHARE = (0.35, 0.65)
"""Thigh in the leg (0.50 in adults)."""
UPPER_ARM_SHARE = (0.4, 0.7)
"""Upper arm in the arm (0.56 in adults)."""
FOOT_OVER_SHANK = 0.8
"""Longest chain below the ankle over the shank."""
HAND_OVER_FOREARM = 1.1
"""Longest chain below the wrist over the forearm."""
HEAD_OVER_LEG = 0.17
"""Last bone of the neck over the leg (0.83 m → 0.14 m), above which it is the head itself."""
NEARLY = 0.85
"""Part of the longest two successive bones of a limb from which others are preferred."""
LEAST_FRONT = 0.03
"""Part of the leg by which feet or knees must show the front, on average."""
MOST_JOINTS = 16
"""Joints along a limb that are looked at, from the trunk."""


def find_roles_by_shape(parents: tuple[int, ...], pos: Float[Array, "S J 3"]) -> dict[str, int]:
    """Role to joint index for the required roles of a biped; empty when the tree is none.

    Args:
        parents: index of each joint's parent, before it; -1 for the root.
        pos: positions in some frames, any unit and any world.
    """
    tree = _Limbs(parents, pos)
    pairs = tree.pairs()
    if len(pairs) != 2:
        return {}
    (low, *legs), (high, *arms) = sorted(pairs, key=lambda pair: tree.depth[pair[0]])
    if low == high or low not in tree.above(high):
        return {}
    leg = [tree.choose(limb, THIGH_SHARE, FOOT_OVER_SHANK) for limb in legs]
    arm = [tree.choose(limb, UPPER_ARM_SHARE, HAND_OVER_FOREARM) for limb in arms]
    necks = [c for c in tree.children[high] if c not in (arms[0][0], arms[1][0])]
    if not (all(leg) and all(arm) and necks):
        return {}
    long, short = (tree.bone[limb[0][1:]].sum() for limb in (leg, arm))
    if not LEG_OVER_ARM[0] <= long / short <= LEG_OVER_ARM[1]:
        return {}
    neck = tree.longest(max(necks, key=lambda c: tree.reach[c] + tree.bone[c]))
    has_top = len(neck) > 2 and tree.bone[neck[-1]] > HEAD_OVER_LEG * long
    head = neck[-2] if has_top else neck[-1]
    front = _front(pos, leg, legs)
    if np.mean(np.linalg.norm(front, axis=1)) < LEAST_FRONT * long:
        return {}
    left = np.cross(pos[:, head] - pos[:, leg[0][2]], front)
    roles = {"pelvis": low, "head": head, **spread_spine(tree.trunk(low, high))}
    for parts, limbs, chains in ((LEG, leg, legs), (ARM, arm, arms)):
        across = np.sum((pos[:, limbs[0][0]] - pos[:, limbs[1][0]]) * left)
        step = 1 if across >= 0 else -1
        for side, limb, chain in zip(SIDES, limbs[::step], chains[::step], strict=True):
            roles |= {f"{side}_{part}": joint for part, joint in zip(parts, limb, strict=True)}
            if parts is LEG and limb[2] != chain[-1]:
                roles[f"{side}_foot"] = chain[chain.index(limb[2]) + 1]
    return roles


class _Limbs:
    """Bone lengths of a tree, and its long limbs."""

    def __init__(self, parents: tuple[int, ...], pos: Float[Array, "S J 3"]) -> None:
        self.parents = parents
        self.pos = pos
        count = len(parents)
        self.children: list[list[int]] = [[] for _ in range(count)]
        self.bone = np.zeros(count)
        self.depth = np.zeros(count, dtype=np.int64)
        for joint, parent in enumerate(parents):
            if parent >= 0:
                self.children[parent].append(joint)
                self.depth[joint] = self.depth[parent] + 1
                gap = np.linalg.norm(pos[:, joint] - pos[:, parent], axis=-1)
                self.bone[joint] = np.median(gap)
        self.reach = np.zeros(count)  # longest path of bones below a joint
        for joint in range(count - 1, 0, -1):
            parent = parents[joint]
            if parent >= 0:
                self.reach[parent] = max(self.reach[parent], self.reach[joint] + self.bone[joint])

    def above(self, joint: int) -> list[int]:
        """The ancestors of a joint."""
        chain = []
        while (joint := self.parents[joint]) >= 0:
            chain.append(joint)
        return chain

    def trunk(self, low: int, high: int) -> list[int]:
        """The joints above ``low`` up to ``high``."""
        chain = [high, *self.above(high)]
        return chain[: chain.index(low)][::-1]

    def longest(self, joint: int) -> list[int]:
        """The joint and the longest chain below it."""
        chain = [joint]
        while below := self.children[chain[-1]]:
            chain.append(max(below, key=lambda c: self.reach[c] + self.bone[c]))
        return chain

    def pairs(self) -> list[tuple[int, list[int], list[int]]]:
        """(joint, limb, limb) for every pair of long limbs of one length at one joint."""
        total = self.reach + self.bone
        ends = [j for j, p in enumerate(self.parents) if p >= 0 and len(self.children[p]) > 1]
        longest = max((total[j] for j in ends), default=0.0)
        found = []
        for joint, children in enumerate(self.children):
            long = [c for c in children if total[c] > LONG_LIMB * longest]
            for a, b in combinations(long[:MOST_JOINTS], 2):
                if abs(total[a] - total[b]) <= SAME_LENGTH * max(total[a], total[b]):
                    found.append((joint, self.longest(a), self.longest(b)))
        return found

    def choose(self, limb: list[int], share: tuple[float, float], beyond: float) -> list[int]:
        """The three successive joints along a limb with the longest bones between them.

        Empty when the bones are not of human proportions, ``share`` for the upper in both and
        ``beyond`` for what follows over the lower: then the limb has twist joints, or is none.
        """
        limb = limb[:MOST_JOINTS]
        triples = list(zip(limb, limb[1:], limb[2:], strict=False))
        if not triples:
            return []
        both = [self.bone[b] + self.bone[c] for _, b, c in triples]
        # The farthest of those that are nearly the longest: a collar may be as long as a forearm.
        a, b, c = [t for t, s in zip(triples, both, strict=True) if s >= NEARLY * max(both)][-1]
        upper, lower = self.bone[b], self.bone[c]
        is_human = share[0] <= upper / (upper + lower) <= share[1]
        return [a, b, c] if is_human and self.reach[c] <= beyond * lower else []


def _front(
    pos: Float[Array, "S J 3"], legs: list[list[int]], chains: list[list[int]]
) -> Float[Array, "S 3"]:
    """The direction to the body's front: along the feet, and where the knees bend to.

    Its length [unit of ``pos``] grows with what shows it, so that deep bends outweigh straight
    legs.
    """
    front = np.zeros((len(pos), 3))
    for (hip, knee, ankle), chain in zip(legs, chains, strict=True):
        bend = pos[:, knee] - 0.5 * (pos[:, hip] + pos[:, ankle])
        front += bend * np.linalg.norm(bend, axis=1, keepdims=True) / np.abs(bend).max(initial=1e-9)
        if ankle != chain[-1]:
            front += pos[:, chain[chain.index(ankle) + 1]] - pos[:, ankle]
    return front
