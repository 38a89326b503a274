"""What a BVH file says must come out, whatever its dialect."""

import numpy as np
import pytest
from builders_bvh import FAMILIES, FLOOR, STATURE, Dialect, family_names, walking_figure, write_bvh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from motionkit.errors import InputError
from motionkit.formats import ReadOptions, describe, read_clip

NINE_DECIMALS = 2e-7  # [m]: 5e-10° on an arm of ~10 joints and 5e-10 units of up to 1 m, summed


def read(tmp_path, data: bytes, options: ReadOptions | None = None, name="made.bvh"):
    path = tmp_path / name
    path.write_bytes(data)
    return read_clip(path, options)


def positions(clip) -> dict[str, np.ndarray]:
    pos, _ = clip.global_pose()
    return {role: pos[:, clip.joint_names.index(joint)] for role, joint in clip.roles.items()}


def assert_same_motion(clip, figure, tolerance):
    found = positions(clip)
    assert set(found) == set(figure.roles)
    for j, role in enumerate(figure.roles):
        np.testing.assert_allclose(found[role], figure.pos[:, j], atol=tolerance, err_msg=role)


dialects = st.builds(
    Dialect,
    family=st.sampled_from(sorted(FAMILIES)),
    up=st.sampled_from(["y", "y", "z", "x", "-y", "-z", "-x"]),
    metres=st.sampled_from([1.0, 0.01, 0.001, 0.1, 0.0254, 0.0254 / 0.45]),
    order=st.sampled_from(["ZXY", "ZYX", "XYZ", "YXZ", "each"]),
    six_channels=st.booleans(),
    static_root=st.booleans(),
    end_sites=st.booleans(),
    offset_six=st.booleans(),
    rotation_first=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    gap=st.sampled_from([" ", "\t", "  "]),
    number=st.sampled_from(["{:.9f}", "{:.12e}"]),
    wrap=st.sampled_from([0, 7]),
)


@settings(deadline=None, max_examples=25, derandomize=True,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(dialect=dialects, seed=st.integers(0, 2**32 - 1))
def test_any_dialect_gives_back_the_motion_that_was_written(tmp_path, dialect, seed):
    rng = np.random.default_rng(seed)
    figure = walking_figure(rng)
    clip = read(tmp_path, write_bvh(figure, dialect, rng))
    assert clip.provenance.up == dialect.up
    assert clip.provenance.unit_scale == pytest.approx(dialect.metres, rel=1e-12)
    assert clip.fps == 30.0
    assert_same_motion(clip, figure, NINE_DECIMALS)
    assert describe(clip).stature == pytest.approx(STATURE, abs=0.01)
    names = family_names(dialect.family)
    assert clip.roles == {role: names[role] for role in figure.roles}


def figure_and_text(seed=0, **dialect):
    rng = np.random.default_rng(seed)
    figure = walking_figure(rng)
    return figure, write_bvh(figure, Dialect(**dialect), rng)


def test_root_offset_is_replaced_by_position_channels_never_added(tmp_path):
    figure, data = figure_and_text()
    moved = data.replace(b"OFFSET 0.000000000 0.000000000 0.000000000",
                         b"OFFSET 3.0 94.0 -7.0", 1)  # fmt: skip
    assert moved != data
    assert_same_motion(read(tmp_path, moved), figure, NINE_DECIMALS)


def test_root_positions_relative_to_offset_are_recognised_by_the_floor(tmp_path):
    figure, data = figure_and_text(relative_root=True)
    clip = read(tmp_path, data)
    assert_same_motion(clip, figure, NINE_DECIMALS)
    assert "MK110" in [note.code for note in clip.provenance.notes]


def test_empty_position_channels_are_relative_to_offset(tmp_path):
    figure, data = figure_and_text(six_channels=True, random_frames=False)
    head, motion = data.split(b"MOTION\n")
    lines = motion.decode().splitlines()
    rows = np.array([line.split() for line in lines[2:]], dtype=float)
    kinds = [word for line in head.decode().splitlines() if "CHANNELS" in line
             for word in line.split()[2:]]  # fmt: skip
    below_root = [i for i, kind in enumerate(kinds) if "position" in kind][3:]
    rows[:, below_root] = 0.0
    text = "\n".join([*lines[:2], *(" ".join(f"{v:.9f}" for v in row) for row in rows)])
    clip = read(tmp_path, head + b"MOTION\n" + text.encode())
    assert_same_motion(clip, figure, NINE_DECIMALS)
    assert "MK109" in [note.code for note in clip.provenance.notes]


def test_position_channels_carry_a_skeleton_whose_offsets_are_no_body(tmp_path):
    figure, data = figure_and_text(six_channels=True)
    lines = data.decode().split("\n")
    rng = np.random.default_rng(1)
    lines = [f"OFFSET {' '.join(map(str, rng.normal(scale=200, size=3)))}"
             if "OFFSET" in line else line for line in lines]  # fmt: skip
    assert_same_motion(read(tmp_path, "\n".join(lines).encode()), figure, NINE_DECIMALS)


def test_moving_bones_keep_their_length_in_every_frame(tmp_path):
    figure, data = figure_and_text(six_channels=True, random_frames=False)
    lines = data.decode().splitlines()
    rows = np.array([line.split() for line in lines[-len(figure.pos) :]], dtype=float)
    factor = np.linspace(1.0, 1.2, len(rows))
    kinds = [w for line in lines if "CHANNELS" in line for w in line.split()[2:]]
    column = [i for i, kind in enumerate(kinds) if "position" in kind][3:]
    rows[:, column] *= factor[:, None]
    text = "\n".join(lines[: -len(rows)] + [" ".join(f"{v:.9f}" for v in row) for row in rows])
    clip = read(tmp_path, text.encode())
    assert clip.local_pos is not None
    found = positions(clip)
    length = np.linalg.norm(found["left_knee"] - found["left_hip"], axis=1)
    np.testing.assert_allclose(length, 0.43 * factor, atol=1e-7)


@pytest.mark.parametrize("metres", [0.01, 0.0254])
def test_unit_and_up_do_not_depend_on_where_the_clip_is_cut(tmp_path, metres):
    rng = np.random.default_rng(3)
    figure = walking_figure(rng, 40, lying=0.3)
    data = write_bvh(figure, Dialect(metres=metres), np.random.default_rng(4))
    head, motion = data.split(b"MOTION\n")
    rows = motion.splitlines()[2:]
    scales = set()
    for start in range(0, 30, 5):
        cut = b"\n".join([b"Frames: %d" % (len(rows) - start), b"Frame Time: 0.04", *rows[start:]])
        clip = read(tmp_path, head + b"MOTION\n" + cut)
        scales.add(clip.provenance.unit_scale)
        if start <= 15:  # from there on lying is more than half of it
            assert clip.provenance.up == "y"
    assert scales == {metres}


@pytest.mark.parametrize("lying", [0.2, 0.5])
def test_a_person_who_lies_for_part_of_the_clip_does_not_turn_the_world(tmp_path, lying):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        figure = walking_figure(rng, 40, lying=lying)
        clip = read(tmp_path, write_bvh(figure, Dialect(), rng))
        assert_same_motion(clip, figure, NINE_DECIMALS)


def test_the_user_overrides_rate_unit_and_up(tmp_path):
    figure, data = figure_and_text()
    clip = read(tmp_path, data, ReadOptions(fps=48.0, scale=0.02, up="z"))
    source = clip.provenance
    assert (clip.fps, source.unit_scale, source.up) == (48.0, 0.02, "z")
    assert (source.unit_source, source.up_source) == ("user", "user")
    assert source.options == (("fps", "48.0"), ("scale", "0.02"), ("up", "z"))
    # File (x, y, z) in cm is the figure's (x, z, -y): with Z taken for up, y and z stay.
    expected = figure.pos[:, 0] @ np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]) * 2.0
    np.testing.assert_allclose(positions(clip)["pelvis"], expected, atol=NINE_DECIMALS)


def test_duplicate_names_are_told_apart(tmp_path):
    figure, data = figure_and_text(end_sites=False)
    twice = data.replace(b"JOINT Spine2", b"JOINT Spine1")
    clip = read(tmp_path, twice)
    assert len(set(clip.joint_names)) == len(clip.joint_names)
    assert "MK108" in [note.code for note in clip.provenance.notes]
    assert_same_motion(clip, figure, NINE_DECIMALS)


def test_a_prop_beside_the_person_is_left_out_and_two_people_are_refused(tmp_path):
    figure, data = figure_and_text()
    head, motion = data.split(b"MOTION\n")
    lines = motion.splitlines()
    prop = b"ROOT Sword\n{\nOFFSET 0 0 0\nCHANNELS 3 Xposition Yposition Zposition\n}\n"
    rows = [row + b" 1 2 3" for row in lines[2:]]
    clip = read(tmp_path, head + prop + b"MOTION\n" + b"\n".join(lines[:2] + rows))
    assert_same_motion(clip, figure, NINE_DECIMALS)
    assert "Sword" in "".join(n.message for n in clip.provenance.notes if n.code == "MK107")
    twin = head.replace(b"HIERARCHY", b"")
    both = head + twin + b"MOTION\n" + b"\n".join(lines[:2] + [r + b" " + r for r in lines[2:]])
    with pytest.raises(InputError, match="holds 2 people, with roots Hips, Hips"):
        read(tmp_path, both)


def test_a_stature_that_no_unit_explains_is_refused_and_the_user_can_help(tmp_path):
    _, data = figure_and_text(metres=3.0)
    with pytest.raises(InputError, match=r"limbs are those of a stature of 0\.58\d* units"):
        read(tmp_path, data)
    clip = read(tmp_path, data, ReadOptions(scale=3.0))
    assert describe(clip).stature == pytest.approx(STATURE, abs=0.01)


def test_swapped_sides_are_noticed(tmp_path):
    _, data = figure_and_text(random_frames=False)
    swapped = data.replace(b"Left", b"@").replace(b"Right", b"Left").replace(b"@", b"Right")
    assert "MK113" in [n.code for n in read(tmp_path, swapped).provenance.notes]
    assert "MK113" not in [n.code for n in read(tmp_path, data).provenance.notes]


def test_successive_quaternions_share_a_hemisphere(tmp_path):
    rng = np.random.default_rng(5)
    clip = read(tmp_path, write_bvh(walking_figure(rng, 60), Dialect(), rng))
    dots = np.sum(clip.joint_quat[1:] * clip.joint_quat[:-1], axis=-1)
    assert dots.min() > 0.0


def test_a_floor_that_is_not_at_zero_is_noted(tmp_path):
    figure, data = figure_and_text()
    assert "MK112" not in [n.code for n in read(tmp_path, data).provenance.notes]
    figure.pos[..., 2] += 2.0 * FLOOR
    raised = write_bvh(figure, Dialect(), np.random.default_rng(0))
    assert "MK112" in [n.code for n in read(tmp_path, raised).provenance.notes]
