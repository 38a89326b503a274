"""Which joint of a skeleton plays which part of a human body.

Names suggest (:mod:`motionkit.formats.role_names`), the tree decides: a hip has a knee below it
and a knee an ankle, so ``LeftLeg`` is a knee under ``LeftUpLeg`` and a hip above ``LeftShin``.
Chains of unnamed joints fall out of the same rule; a skeleton in which no chain fits is no
human body.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from motionkit.clip import REQUIRED_ROLES
from motionkit.formats.role_names import FINGERS, Hint, read_names

SIDES = ("left", "right")
LEG = ("hip", "knee", "ankle")
ARM = ("shoulder", "elbow", "wrist")


def find_roles(
    names: tuple[str, ...], parents: tuple[int, ...], pos: Float[np.ndarray, "S J 3"]
) -> dict[str, int]:
    """Role to joint index, for every role that the skeleton plays.

    Cost is linear in the joints.

    Args:
        names: of the joints.
        parents: index of each joint's parent, before it; -1 for the root.
        pos: positions in some frames, any unit and any world.
    """
    tree = _Tree(parents)
    hints = read_names(names)
    roles: dict[str, int] = {}
    for side in SIDES:
        for parts in (LEG, ARM):
            chain = tree.best_chain(
                [[h.parts.get(part, 0.0) if h.side == side else 0.0 for h in hints]
                 for part in parts]
            )  # fmt: skip
            if chain is not None:
                roles |= {f"{side}_{p}": j for p, j in zip(parts, chain, strict=True)}
    _add_trunk(roles, tree, hints)
    for side in SIDES:
        _add_collar(roles, tree, hints, side)
        _add_toe(roles, tree, hints, side)
        _add_fingers(roles, tree, hints, side, pos)
    return roles


def missing_roles(roles: dict[str, int]) -> list[str]:
    """The required roles that nobody plays, in the order of the body."""
    return [role for role in REQUIRED_ROLES if role not in roles]


class _Tree:
    """Parents and children of joints, and questions about chains of them."""

    def __init__(self, parents: Sequence[int]) -> None:
        self.parents = parents
        self.children: list[list[int]] = [[] for _ in parents]
        for joint, parent in enumerate(parents):
            if parent >= 0:
                self.children[parent].append(joint)

    def up(self, joint: int) -> list[int]:
        """The joint and its ancestors, from the joint to the root."""
        chain = [joint]
        while (joint := self.parents[joint]) >= 0:
            chain.append(joint)
        return chain

    def common(self, a: int, b: int) -> int:
        """The deepest joint above both, or one of them; -1 when they are in different trees."""
        above = set(self.up(a))
        return next((joint for joint in self.up(b) if joint in above), -1)

    def below(self, joint: int) -> list[int]:
        """All descendants, parents first."""
        out, stack = [], list(reversed(self.children[joint]))
        while stack:
            out.append(stack.pop())
            stack.extend(reversed(self.children[out[-1]]))
        return out

    def best_chain(self, scores: list[list[float]]) -> list[int] | None:
        """The joints, each below the one before it, whose summed scores are the highest.

        Dynamic programming down the tree: the best chain that ends at or above a joint with
        part ``p`` extends the best that ends above it with part ``p - 1``. Joints of score 0
        are never chosen; of equal chains the one higher up the tree wins.

        Args:
            scores: one list a part, one score a joint.
        """
        parts = len(scores)
        # best[p][j]: (score, joint of part p) of the best chain ending at or above j.
        best: list[list[tuple[float, int]]] = [[] for _ in range(parts)]
        before: list[dict[int, int]] = [{} for _ in range(parts)]
        for joint, parent in enumerate(self.parents):
            for p in range(parts):
                kept = best[p][parent] if parent >= 0 else (0.0, -1)
                above = (best[p - 1][parent] if parent >= 0 else (0.0, -1)) if p else (0.0, 0)
                if scores[p][joint] > 0.0 and above[1] >= 0:
                    total = above[0] + scores[p][joint]
                    if total > kept[0]:
                        kept = (total, joint)
                        before[p][joint] = above[1]
                best[p].append(kept)
        score, joint = max(best[-1], key=lambda item: item[0], default=(0.0, -1))
        if score <= 0.0:
            return None
        chain = [joint]
        for p in range(parts - 1, 0, -1):
            chain.append(before[p][chain[-1]])
        return chain[::-1]


def _add_trunk(roles: dict[str, int], tree: _Tree, hints: list[Hint]) -> None:
    """Pelvis, spine, neck and head, from where the limbs meet."""
    limbs = set(roles.values())
    heads = [(-h.parts["head"], j) for j, h in enumerate(hints)
             if "head" in h.parts and not limbs.intersection(tree.up(j))]  # fmt: skip
    if heads:
        roles["head"] = min(heads)[1]
    named = [j for j, h in enumerate(hints) if "pelvis" in h.parts]
    if {"left_hip", "right_hip"} <= roles.keys():
        meet = tree.common(roles["left_hip"], roles["right_hip"])
        if meet < 0 or meet in (roles["left_hip"], roles["right_hip"]):
            return
        named = [joint for joint in tree.up(meet) if joint in set(named)] or [meet]
    if named:
        roles["pelvis"] = named[0]
    if not {"pelvis", "head", "left_shoulder", "right_shoulder"} <= roles.keys():
        return
    trunk = _between(tree, roles["pelvis"], roles["head"])
    shoulders = tree.common(roles["left_shoulder"], roles["right_shoulder"])
    necks = [joint for joint in trunk if "neck" in hints[joint].parts]
    if shoulders in trunk:
        cut = trunk.index(shoulders) + 1
    else:
        cut = trunk.index(necks[0]) if necks else len(trunk)
    spine = [joint for joint in trunk[:cut] if "neck" not in hints[joint].parts]
    above = necks or trunk[cut:]
    if above:
        roles["neck"] = above[0]
    roles |= spread_spine(spine)


def _between(tree: _Tree, pelvis: int, head: int) -> list[int]:
    """The joints between pelvis and head, from below; the pelvis need not be above the head."""
    meet = tree.common(pelvis, head)
    chain = tree.up(head)[1:]
    return chain[: chain.index(meet)][::-1] if meet in chain else []


def spread_spine(spine: list[int]) -> dict[str, int]:
    """The top joint of a spine carries the arms, so it is spine3; others spread below it."""
    if not spine:
        return {}
    roles = {"spine3": spine[-1]}
    if len(spine) >= 2:
        roles["spine1"] = spine[0]
    if len(spine) >= 3:
        roles["spine2"] = spine[(len(spine) - 1) // 2]
    return roles


def _add_collar(roles: dict[str, int], tree: _Tree, hints: list[Hint], side: str) -> None:
    """The nearest named collar above the shoulder, on its side of the body."""
    shoulder = roles.get(f"{side}_shoulder")
    if shoulder is None:
        return
    taken = set(roles.values())
    above = [j for j in tree.up(shoulder)[1:] if hints[j].side == side and j not in taken]
    named = [j for j in above if hints[j].parts.get("collar", 0.0) >= 1.0]
    exact = [j for j in named if hints[j].parts["collar"] >= 3.0]
    if named:
        roles[f"{side}_collar"] = (exact or named)[0]


def _add_toe(roles: dict[str, int], tree: _Tree, hints: list[Hint], side: str) -> None:
    """The first joint below the ankle that is called a toe, else one that is no end."""
    ankle = roles.get(f"{side}_ankle")
    if ankle is None:
        return
    below = [j for j in tree.below(ankle) if hints[j].side in (side, "")]
    named = [j for j in below if hints[j].parts.get("toe", 0.0) >= 1.0]
    plain = [j for j in below if not hints[j].is_end and not hints[j].parts]
    if named or plain:
        roles[f"{side}_foot"] = min(named or plain, key=lambda j: len(tree.up(j)))


def _add_fingers(
    roles: dict[str, int],
    tree: _Tree,
    hints: list[Hint],
    side: str,
    pos: Float[np.ndarray, "S J 3"],
) -> None:
    """Three joints a finger, from the knuckle; a metacarpal before it is passed over."""
    wrist = roles.get(f"{side}_wrist")
    if wrist is None:
        return
    below = tree.below(wrist)
    for finger in FINGERS:
        joints = [j for j in below if hints[j].finger == finger]
        if not joints:
            continue
        first = joints[0]
        chain = [first, *(j for j in joints[1:] if first in tree.up(j))]
        if len(chain) >= 4 and finger != "thumb" and _is_metacarpal(pos, wrist, chain):
            chain = chain[1:]
        roles |= {f"{side}_{finger}{i + 1}": joint for i, joint in enumerate(chain[:3])}


def _is_metacarpal(pos: Float[np.ndarray, "S J 3"], wrist: int, chain: list[int]) -> bool:
    """Whether the first joint lies at the wrist rather than at the knuckle."""
    to_first = np.linalg.norm(pos[0, chain[0]] - pos[0, wrist])
    bone = np.linalg.norm(pos[0, chain[1]] - pos[0, chain[0]])
    return bool(to_first < bone)
