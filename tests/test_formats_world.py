"""Units by stature, up by motion."""

import numpy as np
import pytest
from builders_bvh import _UP_TO_Z, FIGURE, FLOOR, STATURE, walking_figure
from hypothesis import given, settings
from hypothesis import strategies as st

from motionkit import rotation
from motionkit.formats import world

ROLES = {role: index for index, role in enumerate(FIGURE)}
UNITS = {unit.name: unit.metres for unit in world.UNITS}


def test_stature_follows_from_limbs_in_any_pose():
    for seed in range(5):
        figure = walking_figure(np.random.default_rng(seed))
        assert world.stature_from_limbs(figure.pos, ROLES) == pytest.approx(STATURE, abs=0.01)


@given(stature=st.floats(1.45, 1.95), unit=st.sampled_from([u for u in UNITS if u != "2 cm"]))
def test_adults_are_given_the_unit_they_were_written_in(stature, unit):
    found, notes = world.find_unit(stature / UNITS[unit])
    assert found is not None and found.name == unit
    assert f"{stature:.2f} m" in notes[0].message


@given(stature=st.floats(1.6, 1.95))
def test_twice_a_centimetre_is_found_where_centimetres_would_give_a_dwarf(stature):
    found, _ = world.find_unit(stature / 0.02)
    assert found is not None
    assert found.name == ("2 cm" if stature / 0.02 < 90.0 else found.name)


@pytest.mark.parametrize("stature", [0.0, 0.5, 5.0, 300.0, 1e6])
def test_no_unit_is_invented(stature):
    assert world.find_unit(stature) == (None, [])


@pytest.mark.parametrize("axis", sorted(_UP_TO_Z))
def test_world_rotations_take_each_axis_up_and_stay_right_handed(axis):
    matrix = rotation.to_matrix(np.array(world.WORLD_QUAT[axis]))
    np.testing.assert_allclose(matrix, _UP_TO_Z[axis], atol=1e-15)
    np.testing.assert_allclose(matrix @ world.axis_vector(axis), [0, 0, 1], atol=1e-15)
    assert np.linalg.det(matrix) == pytest.approx(1.0)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), axis=st.sampled_from(sorted(_UP_TO_Z)))
def test_up_is_found_along_every_axis(seed, axis):
    figure = walking_figure(np.random.default_rng(seed), 30)
    assert world.find_up(figure.pos @ _UP_TO_Z[axis], ROLES)[0] == axis


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), axis=st.sampled_from("yz"), lying=st.floats(0.1, 0.5))
def test_up_is_found_when_the_person_lies_down_for_up_to_half_the_clip(seed, axis, lying):
    figure = walking_figure(np.random.default_rng(seed), 30, lying=lying)
    assert world.find_up(figure.pos @ _UP_TO_Z[axis], ROLES)[0] == axis


def test_doubts_about_up_are_spoken():
    upright = walking_figure(np.random.default_rng(0), 30)
    assert not world.find_up(upright.pos, ROLES)[1]
    tilt = rotation.to_matrix(rotation.from_rotvec(np.array([np.radians(35), 0, 0])))
    assert "MK105" in [note.code for note in world.find_up(upright.pos @ tilt.T, ROLES)[1]]
    crawl = upright.pos - upright.pos[:, :1]
    headings = rotation.from_rotvec(np.linspace(0, 2 * np.pi, 30)[:, None] * [0, 0, 1.0])
    flat = rotation.multiply(headings, rotation.from_rotvec(np.array([0, np.pi / 2, 0])))
    crawl = rotation.rotate(flat[:, None], crawl) + np.array([0, 0, 0.2])
    up, notes = world.find_up(crawl, ROLES)
    assert up == "z" and "not upright" in notes[0].message


def test_a_person_who_lies_all_the_time_is_never_stood_up_in_silence():
    for seed in range(10):
        figure = walking_figure(np.random.default_rng(seed), 30, lying=1.0)
        up, notes = world.find_up(figure.pos, ROLES)
        assert up == "z" or {note.code for note in notes} & {"MK104", "MK105"}


def test_facing_is_plus_x_for_a_body_whose_left_is_plus_y():
    pose = np.zeros((1, len(FIGURE), 3))
    for j, (parent, vector) in enumerate(FIGURE.values()):
        pose[0, j] = vector if parent is None else pose[0, ROLES[parent]] + vector
    assert world.facing(pose, ROLES) == pytest.approx([0.0])


@pytest.mark.parametrize("seed", range(4))
def test_facing_follows_the_heading_of_a_walk(seed):
    figure = walking_figure(np.random.default_rng(seed))
    step = figure.pos[-1, 0] - figure.pos[0, 0]
    found = world.facing(figure.pos, ROLES) - np.arctan2(step[1], step[0])
    assert np.abs((found + np.pi) % (2 * np.pi) - np.pi).max() < 0.5


def test_root_positions_are_relative_only_when_that_puts_the_body_on_the_floor():
    assert world.is_root_relative(-FLOOR, FLOOR, STATURE)
    assert not world.is_root_relative(0.0, FLOOR, STATURE)
    assert not world.is_root_relative(-FLOOR, 0.0, STATURE)
    assert not world.is_root_relative(-0.1, 0.1, STATURE)


def test_sampled_frames_keep_both_ends_and_their_order():
    for frames in (1, 2, 399, 400, 401, 100_000):
        at = world.sample_frames(frames)
        assert at[0] == 0 and at[-1] == frames - 1
        assert np.all(np.diff(at) > 0) and len(at) == min(frames, world.SAMPLE_FRAMES)
