"""A skeleton whose names say nothing is understood by its shape, or not at all."""

import numpy as np
import pytest
from builders_bvh import FIGURE, Dialect, family_names, walking_figure, write_bvh
from conftest import SHARED
from hypothesis import given, settings
from hypothesis import strategies as st
from test_formats_files import BVH, FORMATS

from motionkit.clip import REQUIRED_ROLES, SkeletonClip
from motionkit.errors import InputError
from motionkit.formats import read_clip, world
from motionkit.formats.topology import find_roles_by_shape

ROLES = list(FIGURE)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_roles_and_sides_are_found_from_shape_and_motion(seed):
    figure = walking_figure(np.random.default_rng(seed))
    found = find_roles_by_shape(tuple(figure.parents), figure.pos)
    expected = {role: j for j, role in enumerate(ROLES) if "collar" not in role and role != "neck"}
    assert found == expected


@pytest.mark.parametrize("name", [n for n, e in sorted(BVH.items())
                                  if not isinstance(e, str) and "minimal" not in n])  # fmt: skip
def test_shape_agrees_with_names_on_real_files_or_keeps_silent(shared, name):
    clip = read_clip(FORMATS / name)
    assert isinstance(clip, SkeletonClip)
    found = find_roles_by_shape(clip.parents, world.sample_positions(clip))
    silent = ("makehuman", "noitom")  # twist joints; nothing that shows the front
    assert bool(found) == (not any(word in name for word in silent))
    for role in set(found) & set(REQUIRED_ROLES):
        if "geno" in name and role == "head":
            continue  # the top of the head, which turns with it
        assert clip.joint_names[found[role]] == clip.roles[role]


def test_a_file_of_unnamed_joints_is_read_with_a_note(tmp_path):
    rng = np.random.default_rng(0)
    figure = walking_figure(rng)
    data = write_bvh(figure, Dialect(), rng).decode()
    for index, name in enumerate(family_names("HumanIK").values()):
        data = data.replace(f"JOINT {name}\n", f"JOINT 骨{index:03d}\n")
    path = tmp_path / "made.bvh"
    path.write_text(data, "utf-8")
    clip = read_clip(path)
    assert "MK115" in [note.code for note in clip.provenance.notes]
    pos, _ = clip.global_pose()
    for role, joint in clip.roles.items():
        here = pos[:, clip.joint_names.index(joint)]
        np.testing.assert_allclose(here, figure.pos[:, ROLES.index(role)], atol=2e-7)


def test_animals_are_no_people(shared):
    with pytest.raises(InputError, match="no human body"):
        read_clip(SHARED / "data/formats/bvh/ganimator_truebones_crab.bvh")
    figure = walking_figure(np.random.default_rng(1))
    for j, role in enumerate(ROLES):  # forelegs as long as hind legs
        if "elbow" in role or "wrist" in role or "shoulder" in role:
            figure.pos[:, j] *= 1.5
    arms = [j for j, r in enumerate(ROLES) if r.split("_")[-1] in ("shoulder", "elbow", "wrist")]
    dog = figure.pos.copy()
    for j in arms:
        parent = figure.parents[j]
        dog[:, j] = dog[:, parent] + 1.6 * (figure.pos[:, j] - figure.pos[:, parent])
    assert find_roles_by_shape(tuple(figure.parents), dog) == {}


def test_stubs_and_points_break_nothing():
    for parents in ((-1,), (-1, 0, 0), (-1, 0, 1, 2), (-1, *[0] * 30)):
        assert find_roles_by_shape(parents, np.zeros((2, len(parents), 3))) == {}
