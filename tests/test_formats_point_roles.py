"""Names mean the same without a tree as with one, and only bodies move as bodies."""

import re
import time

import numpy as np
import pytest
from builders_bvh import FAMILIES, family_names, walking_figure
from builders_joints import BODY, body_positions
from conftest import SHARED

from motionkit.clip import SkeletonClip
from motionkit.errors import InputError
from motionkit.formats import read_clip, world
from motionkit.formats.joint_layouts import LAYOUTS
from motionkit.formats.point_roles import find_flaw, find_point_roles
from motionkit.formats.roles import find_roles

ROLES = {role: j for j, role in enumerate(BODY)}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_names_mean_the_same_with_a_tree_and_without(family):
    rng = np.random.default_rng(len(family))
    figure = walking_figure(rng, 20)
    names = tuple(family_names(family)[role] for role in figure.roles)
    with_tree = find_roles(names, tuple(figure.parents), figure.pos)
    order = rng.permutation(len(names))
    found, remarks = find_point_roles([names[j] for j in order], figure.pos[:, order])
    assert {role: int(order[joint]) for role, joint in found.items()} == with_tree
    assert bool(remarks) == (family == "ASF")


BVH = sorted(
    path.relative_to(SHARED).as_posix()
    for mask in ("data/formats/bvh/*.bvh", "data/bvh_lafan1/*.bvh")
    for path in SHARED.glob(mask)
    if "makehuman_tpose" not in path.name  # two bones a limb of one name: only a tree tells them
)


@pytest.mark.parametrize("name", BVH)
def test_real_skeletons_have_the_same_roles_without_their_trees(shared, name):
    try:
        clip = read_clip(shared / name)
    except InputError:
        pytest.skip("no human body")
    assert isinstance(clip, SkeletonClip)
    pos = world.sample_positions(clip)
    roles = {role: clip.joint_names.index(joint) for role, joint in clip.roles.items()}
    assert find_point_roles(clip.joint_names, pos)[0] == roles
    assert find_flaw(pos, roles) == ""


def test_layouts_are_the_orders_of_the_bvh_files_of_their_makers(shared):
    def joints(name):
        return re.findall(r"(?:JOINT|ROOT)\s+(\S+)", (shared / name).read_text("utf-8"))

    soma = joints("data/formats/bvh/soma_zero_frame0.bvh")
    assert LAYOUTS[-1].joints == tuple(soma[1:])  # below a root of the world
    assert LAYOUTS[1].joints == tuple(joints("data/bvh_lafan1/lafan1_walk.bvh"))
    small = [name for name in soma[1:] if name in LAYOUTS[-2].joints]
    assert LAYOUTS[-2].joints == tuple(small)


def test_every_layout_has_each_joint_once_and_below_its_parent():
    for layout in LAYOUTS:
        assert len(layout.joints) == len(layout.parents) == len(set(layout.joints))
        assert layout.parents[0] == -1
        assert all(0 <= parent < j for j, parent in enumerate(layout.parents) if j)


def test_a_body_has_no_flaw_in_any_unit_and_world():
    for seed in range(10):
        pos = body_positions(seed)
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
        assert find_flaw(10.0 ** (seed - 5) * pos @ turn + 3.0, ROLES) == ""


@pytest.mark.parametrize(("message", "joint", "change"), [
    ("left hip and knee are in one place", "left_knee", lambda pos: pos[:, ROLES["left_hip"]]),
    ("left hip to knee changes its length", "left_knee",
     lambda pos: pos[:, ROLES["left_knee"]] * np.linspace(1, 3, len(pos))[:, None]),
    ("left knee to ankle is", "left_ankle",
     lambda pos: 2 * pos[:, ROLES["left_ankle"]] - pos[:, ROLES["left_knee"]]),
    ("pelvis to the middle of the hips over thigh", "pelvis", lambda pos: pos[:, ROLES["neck"]]),
    ("pelvis to head over leg", "head", lambda pos: pos[:, ROLES["pelvis"]] + 1e-3),
])  # fmt: skip
def test_what_is_no_body_is_told_by_its_bones(message, joint, change):
    pos = body_positions(1)
    pos[:, ROLES[joint]] = change(pos)
    assert find_flaw(pos, ROLES).startswith(message)


@pytest.mark.parametrize(("a", "b"), [("hip", "shoulder"), ("knee", "elbow"), ("ankle", "wrist"),
                                      ("knee", "ankle"), ("shoulder", "elbow")])  # fmt: skip
def test_joints_that_change_places_make_no_body(a, b):
    pos = body_positions(2)
    for side in ("left", "right"):
        i, j = ROLES[f"{side}_{a}"], ROLES[f"{side}_{b}"]
        pos[:, [i, j]] = pos[:, [j, i]]
    assert find_flaw(pos, ROLES)


def test_random_orders_and_numbers_make_no_body():
    rng = np.random.default_rng(0)
    for _ in range(200):
        order = rng.permutation(22)
        if not np.array_equal(order, np.arange(22)):
            pos = body_positions(3)[:, order]
            swapped = {role for role, j in ROLES.items() if order[j] != j}
            if swapped & {"left_hip", "left_knee", "left_ankle", "left_elbow", "left_wrist"}:
                assert find_flaw(pos, ROLES)
        assert find_flaw(rng.normal(size=(30, 22, 3)), ROLES)


def test_the_time_to_find_roles_does_not_explode_with_names_alike():
    names = [f"LeftLeg{i}" for i in range(500)]
    pos = np.random.default_rng(0).normal(size=(4, 500, 3))
    start = time.perf_counter()
    find_point_roles(names, pos)  # at most 8 candidates a part: 512 chains, not 500 cubed
    assert time.perf_counter() - start < 2.0
