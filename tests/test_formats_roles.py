"""Who plays which part: names suggest, the tree decides."""

import numpy as np
import pytest
from builders_bvh import FAMILIES, FIGURE, family_names

from motionkit.clip import SMPLH_JOINTS
from motionkit.formats.roles import find_roles, missing_roles

ROLES = list(FIGURE)
PARENTS = tuple(ROLES.index(p) if p else -1 for p, _ in FIGURE.values())


def roles_of(names, parents, pos=None):
    pos = np.zeros((1, len(names), 3)) if pos is None else pos
    return {role: names[j] for role, j in find_roles(tuple(names), tuple(parents), pos).items()}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_every_family_is_understood_in_any_order_of_children(family):
    names = family_names(family)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = [0]
        while len(order) < len(ROLES):
            ready = [j for j, p in enumerate(PARENTS) if j not in order and p in order]
            order.append(int(rng.choice(ready)))
        listed = [names[ROLES[j]] for j in order]
        parents = [order.index(PARENTS[j]) if PARENTS[j] >= 0 else -1 for j in order]
        assert roles_of(listed, parents) == names


def chain(*names):
    return list(names), [-1, *range(len(names) - 1)]


def body(**parts):
    """A skeleton from lists of names: leg and arm with {s} for the side, trunk up to the head."""
    names, parents = list(parts["root"]), [-1, *range(len(parts["root"]) - 1)]
    pelvis = len(names) - 1

    def grow(parent, chain):
        for name in chain:
            names.append(name)
            parents.append(parent)
            parent = len(names) - 1
        return parent

    top = grow(pelvis, parts["spine"])
    grow(top, parts["neck"])
    for side in parts.get("sides", ("Left", "Right")):
        grow(pelvis, [n.format(s=side) for n in parts["leg"]])
        grow(top, [n.format(s=side) for n in parts["arm"]])
    return names, parents


COMMON = {"root": ["Hips"], "spine": ["Spine"], "neck": ["Neck", "Head"],
          "leg": ["{s}UpLeg", "{s}Leg", "{s}Foot"],
          "arm": ["{s}Arm", "{s}ForeArm", "{s}Hand"]}  # fmt: skip


@pytest.mark.parametrize(("number", "expected"), [
    (0, {}), (1, {"spine3": "Spine"}), (2, {"spine1": "Spine", "spine3": "Spine1"}),
    (3, {"spine1": "Spine", "spine2": "Spine1", "spine3": "Spine2"}),
    (4, {"spine1": "Spine", "spine2": "Spine1", "spine3": "Spine3"}),
    (5, {"spine1": "Spine", "spine2": "Spine2", "spine3": "Spine4"}),
    (6, {"spine1": "Spine", "spine2": "Spine2", "spine3": "Spine5"}),
])  # fmt: skip
def test_spines_of_any_length_end_where_the_arms_begin(number, expected):
    spine = ["Spine", *(f"Spine{i}" for i in range(1, number))][:number]
    found = roles_of(*body(**COMMON | {"spine": spine}))
    assert {r: j for r, j in found.items() if r.startswith("spine")} == expected
    assert found["neck"] == "Neck" and not missing_roles(dict.fromkeys(found, 0))


def test_the_same_word_means_another_joint_in_another_chain():
    found = roles_of(*body(**COMMON | {"leg": ["{s}Leg", "{s}Shin", "{s}Foot"]}))
    assert (found["left_hip"], found["left_knee"]) == ("LeftLeg", "LeftShin")
    found = roles_of(*body(**COMMON | {"arm": ["{s}Shoulder", "{s}Arm", "{s}Hand"]}))
    assert (found["left_shoulder"], found["left_elbow"]) == ("LeftShoulder", "LeftArm")
    found = roles_of(*body(**COMMON | {"arm": ["{s}Shoulder", "{s}Arm", "{s}ForeArm", "{s}Hand"]}))
    assert (found["left_collar"], found["left_shoulder"]) == ("LeftShoulder", "LeftArm")


def test_helpers_dummies_and_ends_play_no_part():
    found = roles_of(*body(
        root=["Root", "Hips"], spine=["Spine"], neck=["Neck", "Head", "HeadTop_End"],
        leg=["{s}HipJoint", "__{s}UpLeg", "{s}UpLeg", "{s}UpLegTwist", "{s}Leg", "{s}Foot",
             "{s}ToeBase", "{s}Toe_End"],
        arm=["{s}Shoulder", "{s}Arm", "{s}ArmRoll", "{s}ForeArm", "{s}Hand", "{s}HandThumb1"],
    ))  # fmt: skip
    assert found["pelvis"] == "Hips" and found["head"] == "Head"
    assert found["right_hip"] == "RightUpLeg" and found["right_knee"] == "RightLeg"
    assert found["right_foot"] == "RightToeBase" and found["right_thumb1"] == "RightHandThumb1"


def test_a_joint_called_end_plays_its_part_when_nothing_else_does():
    found = roles_of(*body(**COMMON | {"neck": ["Neck", "Head_End"]}))
    assert found["head"] == "Head_End"


def test_twist_chains_map_to_the_joint_where_the_limb_begins():
    found = roles_of(*body(**COMMON | {
        "sides": "LR",
        "leg": ["pelvis.{s}", "upperleg01.{s}", "upperleg02.{s}", "lowerleg01.{s}",
                "lowerleg02.{s}", "foot.{s}", "metatarsal1.{s}", "toe1-1.{s}"],
        "arm": ["clavicle.{s}", "shoulder01.{s}", "upperarm01.{s}", "upperarm02.{s}",
                "lowerarm01.{s}", "lowerarm02.{s}", "wrist.{s}", "finger1-1.{s}"]}))  # fmt: skip
    assert [found[f"left_{p}"] for p in ("hip", "knee", "ankle", "foot")] == [
        "upperleg01.L", "lowerleg01.L", "foot.L", "toe1-1.L"]  # fmt: skip
    assert [found[f"right_{p}"] for p in ("collar", "shoulder", "elbow", "wrist", "thumb1")] == [
        "clavicle.R", "upperarm01.R", "lowerarm01.R", "wrist.R", "finger1-1.R"]  # fmt: skip


def test_fingers_of_four_joints_begin_at_the_knuckle_or_end_at_the_tip():
    fingers = [f"{{s}}HandIndex{i}" for i in (1, 2, 3, 4)]
    names, parents = body(**COMMON | {"arm": [*COMMON["arm"], *fingers]})
    for to_first, expected in ((0.03, ["2", "3", "4"]), (0.09, ["1", "2", "3"])):
        pos = np.zeros((1, len(names), 3))
        for name, x in zip(("LeftHandIndex1", "LeftHandIndex2"), (to_first, to_first + 0.06),
                           strict=True):  # fmt: skip
            pos[0, names.index(name), 0] = x
        found = roles_of(names, parents, pos)
        assert [found[f"left_index{i}"][-1] for i in (1, 2, 3)] == expected


def test_skeletons_that_are_no_body_miss_roles_and_break_nothing():
    star = (["Hips", *"ab" * 20], [-1] + [0] * 40)
    chains = (chain("base", "child1"), chain("Hips"), chain("", " ", ":", "L", "R"))
    for names, parents in (*chains, chain(*["LeftLeg"] * 50), star):
        assert missing_roles(find_roles(tuple(names), tuple(parents), np.zeros((1, 50, 3))))


def test_a_knee_that_is_no_descendant_of_the_hip_is_no_knee():
    names, parents = body(**COMMON)
    parents[names.index("LeftLeg")] = names.index("Spine")
    found = roles_of(names, parents)
    assert "left_hip" not in found and found["right_knee"] == "RightLeg"


def test_roles_are_joints_of_smpl_h():
    assert set(roles_of(*body(**COMMON))) <= set(SMPLH_JOINTS)
