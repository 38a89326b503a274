from dataclasses import replace

import numpy as np
import pytest
from builders_human import BODY, along_x, posed_at_zero, reframed, turned

from motionkit import rotation
from motionkit.clip import REQUIRED_ROLES, SMPLH_JOINTS, SkeletonClip, slice_frames
from motionkit.errors import InputError
from motionkit.formats import read_clip
from motionkit.human import align
from motionkit.human.skeleton import forward
from motionkit.human.source import LONG_BONES, index, tpose_direction
from motionkit.synth import SynthConfig, synthesize

KINDS = ("walk", "run", "turn", "squat", "arms")
A_POSE = {"left_shoulder": [-0.8, 0.0, 0.0], "right_shoulder": [0.8, 0.0, 0.0],
          "left_hip": [0.3, 0.0, 0.0], "right_hip": [-0.3, 0.0, 0.0]}  # fmt: skip
HANGING = {"left_shoulder": [-np.pi / 2, 0.0, 0.0], "right_shoulder": [np.pi / 2, 0.0, 0.0]}
UNOBSERVED = ("head", "left_ankle", "right_ankle", "left_foot", "right_foot")
"""What stands on the part above on average where no zero pose shows it."""


@pytest.fixture(scope="module", params=KINDS)
def motion(request):
    return synthesize(SynthConfig(request.param, seed=1, seconds=4.0, fps=30.0))


def worst(clip: SkeletonClip, truth) -> np.ndarray:
    """Largest error of each joint of the body [deg]."""
    quat = align(clip).landmark_quat_w[:, : len(BODY)]
    error = rotation.angle_between(quat, truth.landmark_quat_w[:, : len(BODY)])
    return np.degrees(error.max(axis=0))


def uniform_frames(rng: np.random.Generator, clip: SkeletonClip) -> SkeletonClip:
    return reframed(clip, rotation.normalize(rng.normal(size=(len(clip.joint_names), 4))))


@pytest.mark.parametrize("zero", [{}, A_POSE, HANGING], ids=["T-pose", "A-pose", "hanging arms"])
def test_a_standing_zero_pose_gives_the_truth(motion, zero):
    clip = posed_at_zero(motion.skeleton, {role: np.array(turn) for role, turn in zero.items()})
    assert worst(clip, motion.clip).max() < 1e-3


def test_frames_along_bones_give_the_truth(motion):
    """A LAFAN1-like rig; only the feet's pitch is measured, to a third of a degree."""
    error = worst(along_x(motion.skeleton), motion.clip)
    feet = [BODY.index(role) for role in UNOBSERVED[1:]]
    assert error[feet].max() < 0.5
    assert np.delete(error, feet).max() < 0.5


@pytest.mark.parametrize("seed", range(4))
def test_any_joint_frames_give_the_truth_where_the_motion_shows_it(motion, seed):
    """Twists of arms and legs included. Head and feet stand straight on average, which a squatting
    or turning person's do not quite."""
    clip = uniform_frames(np.random.default_rng(seed), motion.skeleton)
    error = worst(clip, motion.clip)
    loose = [BODY.index(role) for role in UNOBSERVED]
    assert error[loose].max() < 8.0
    assert np.delete(error, loose).max() < 2.0


@pytest.mark.parametrize("dialect", [lambda clip: clip, along_x,
                                     lambda clip: uniform_frames(np.random.default_rng(0), clip)],
                         ids=["T-pose", "along bones", "any"])  # fmt: skip
def test_kinematics_of_the_result_give_back_the_source(motion, dialect):
    clip = dialect(motion.skeleton)
    human = align(clip)
    pos = forward(human.rest_pos, human.landmark_pos_w[:, 0], human.landmark_quat_w)
    np.testing.assert_allclose(pos, human.landmark_pos_w, atol=1e-9)
    source = clip.global_pose()[0]
    for role, name in clip.roles.items():
        joint = clip.joint_names.index(name)
        np.testing.assert_array_equal(human.landmark_pos_w[:, index(role)], source[:, joint])


@pytest.mark.parametrize("dialect", [lambda clip: clip, along_x,
                                     lambda clip: uniform_frames(np.random.default_rng(0), clip)],
                         ids=["T-pose", "along bones", "any"])  # fmt: skip
@pytest.mark.parametrize("angle", [0.3, -2.0, np.pi])
def test_a_yaw_of_the_source_only_turns_the_result(motion, dialect, angle):
    clip = dialect(motion.skeleton)
    shift = np.array([3.0, -2.0, 0.0])
    human, other = align(clip), align(turned(clip, angle, shift))
    yaw = rotation.from_axis_angle("Z", np.asarray(angle))
    expected = rotation.multiply(yaw, human.landmark_quat_w)
    assert rotation.angle_between(expected, other.landmark_quat_w).max() < 1e-7
    moved = rotation.rotate(yaw, human.landmark_pos_w) + shift
    np.testing.assert_allclose(other.landmark_pos_w, moved, atol=1e-9)
    np.testing.assert_allclose(other.rest_pos, human.rest_pos, atol=1e-9)


def test_a_standing_zero_pose_makes_every_cut_the_same(motion):
    clip = motion.skeleton
    whole = align(clip)
    for start, stop in ((0, 1), (5, 12), (40, 90), (clip.num_frames - 1, clip.num_frames)):
        part = align(slice_frames(clip, start, stop))
        error = rotation.angle_between(part.landmark_quat_w, whole.landmark_quat_w[start:stop])
        assert error.max() < 1e-7
        np.testing.assert_allclose(part.rest_pos, whole.rest_pos, atol=1e-9)


def test_frames_along_bones_make_cuts_the_same_but_for_hands_and_feet():
    clip = along_x(synthesize(SynthConfig("walk", seed=2, seconds=6.0, fps=30.0)).skeleton)
    whole = align(clip)
    measured = [index(f"{s}_{p}") for s in ("left", "right") for p in ("ankle", "foot", "wrist")]
    for start in range(0, 120, 12):
        part = align(slice_frames(clip, start, start + 60))
        error = np.degrees(
            rotation.angle_between(part.landmark_quat_w, whole.landmark_quat_w[start : start + 60])
        ).max(axis=0)[: len(BODY)]
        assert error[measured].max() < 1.0
        assert np.delete(error, measured).max() < 1e-4


def test_missing_roles_follow_the_part_above_and_are_named(motion):
    clip = motion.skeleton
    gone = {"spine1", "spine2", "neck", "left_collar", "right_collar", "left_foot", "right_foot"}
    roles = {role: name for role, name in clip.roles.items() if role not in gone}
    human = align(replace(clip, roles=roles))
    assert {SMPLH_JOINTS[i] for i in np.flatnonzero(~human.observed[:22])} == gone
    notes = [note.message for note in human.provenance.notes if note.code == "MK142"]
    assert len(notes) == 1
    assert all(role in notes[0] for role in gone)
    for role, above in (
        ("spine2", "pelvis"),
        ("left_collar", "spine3"),
        ("left_foot", "left_ankle"),
    ):
        np.testing.assert_allclose(
            human.landmark_quat_w[:, index(role)],
            human.landmark_quat_w[:, index(above)],
            atol=1e-12,
        )
    bone = (
        human.landmark_pos_w[:, index("left_foot")] - human.landmark_pos_w[:, index("left_ankle")]
    )
    assert np.ptp(np.linalg.norm(bone, axis=1)) < 1e-9


def test_required_roles_are_enough(motion):
    clip = motion.skeleton
    roles = {role: clip.roles[role] for role in REQUIRED_ROLES}
    human = align(replace(clip, roles=roles))
    for role in REQUIRED_ROLES:
        error = rotation.angle_between(
            human.landmark_quat_w[:, index(role)], motion.clip.landmark_quat_w[:, index(role)]
        )
        assert np.degrees(error.max()) < 1e-3, role


def test_stature_and_heights_are_those_of_the_person():
    for stature in (1.5, 1.9):
        motion = synthesize(SynthConfig("walk", stature=stature, seconds=2.0))
        human = align(motion.skeleton)
        assert human.stature == pytest.approx(stature, rel=1e-9)
        assert human.toe_height == pytest.approx(motion.clip.toe_height, rel=1e-9)
        assert human.ankle_height == pytest.approx(motion.clip.ankle_height, rel=1e-6)


def test_a_rig_whose_elbows_bend_askew_has_straight_arms_and_flat_palms(motion):
    """CMU's: in the zero pose the elbows' axes lie 30° off the vertical, and the palms are down."""
    turns = {"left_shoulder": [0, 0.5, 0], "left_wrist": [0, -0.5, 0],
             "right_shoulder": [0, -0.5, 0], "right_wrist": [0, 0.5, 0]}  # fmt: skip
    turns = {role: np.array(turn, dtype=float) for role, turn in turns.items()}
    clip = posed_at_zero(motion.skeleton, turns)
    elbows = np.ptp(local_bend(clip), axis=0)
    if elbows.min() > np.radians(8):
        assert worst(clip, motion.clip).max() < 1e-3
    else:  # too stiff to show a hinge: the zero pose is believed
        assert np.abs(worst(clip, motion.clip)[index("left_elbow")] - np.degrees(0.5)) < 1e-3


def local_bend(clip: SkeletonClip) -> np.ndarray:
    """Bend of both elbows [rad]."""
    pos = clip.global_pose()[0]
    out = []
    for side in ("left", "right"):
        a, b, c = (pos[:, clip.joint_names.index(clip.roles[f"{side}_{part}"])]
                   for part in ("shoulder", "elbow", "wrist"))  # fmt: skip
        upper, lower = b - a, c - b
        cosine = np.sum(upper * lower, 1) / np.linalg.norm(upper, axis=1)
        out.append(np.arccos(np.clip(cosine / np.linalg.norm(lower, axis=1), -1, 1)))
    return np.stack(out, axis=1)


def test_knees_that_never_bend_take_their_axis_from_the_feet():
    """One frame of standing in a LAFAN1-like rig."""
    motion = synthesize(SynthConfig("arms", seed=3, seconds=1.0, fps=30.0))
    clip = along_x(motion.skeleton)
    legs = [clip.joint_names.index(clip.roles[f"{side}_{part}"])
            for side in ("left", "right") for part in ("hip", "knee")]  # fmt: skip
    quat = clip.joint_quat.copy()
    straight = align(motion.skeleton).landmark_quat_w[:, index("pelvis")]
    assert rotation.angle_between(straight, motion.clip.landmark_quat_w[:, 0]).max() < 1e-7
    quat[:, legs[1]] = quat[:, legs[3]] = rotation.IDENTITY
    human = align(replace(clip, joint_quat=quat))
    assert not any(note.code == "MK144" for note in human.provenance.notes)
    for side in ("left", "right"):
        relative = rotation.multiply(
            rotation.conjugate(human.landmark_quat_w[:, index(f"{side}_hip")]),
            human.landmark_quat_w[:, index(f"{side}_knee")],
        )
        assert np.abs(relative[:, 1:]).max() < 1e-6
        turn = rotation.angle_between(
            human.landmark_quat_w[:, index(f"{side}_hip")],
            motion.clip.landmark_quat_w[:, index(f"{side}_hip")],
        )
        assert turn.max() < 1e-6


def test_a_limb_without_length_is_refused():
    clip = synthesize(SynthConfig("walk", seconds=0.5)).skeleton
    offsets = clip.offsets.copy()
    offsets[clip.joint_names.index("LeftForeArm")] = 0.0
    with pytest.raises(InputError) as caught:
        align(replace(clip, offsets=offsets))
    assert str(caught.value) == "walk_0: left_shoulder and left_elbow are one point"
    assert caught.value.help == "a limb without length shows no direction; check the roles"


FOLDERS = ("formats/bvh", "bvh_more", "bvh_lafan1")


@pytest.fixture(scope="module")
def people(shared):
    """All real skeletons that are read, aligned."""
    return [(name, align(clip)) for name, clip in real_clips(shared)]


def real_clips(shared):
    for folder in FOLDERS:
        for path in sorted((shared / "data" / folder).glob("*.bvh")):
            try:
                yield path.name, read_clip(path)
            except InputError:
                continue  # no human body: tests of the reader say which


def test_limbs_of_real_skeletons_point_where_the_source_has_them(people):
    """Exactly: thighs, shanks, upper arms and forearms, and feet whose bones are rigid."""
    assert len(people) >= 18
    for name, human in people:
        pos, quat = human.landmark_pos_w, human.landmark_quat_w
        bones = [(near, far, tpose_direction(near)) for near, far in LONG_BONES]
        for side in ("left", "right"):
            if human.observed[index(f"{side}_foot")]:
                foot = (
                    human.rest_pos[index(f"{side}_foot")] - human.rest_pos[index(f"{side}_ankle")]
                )
                bones.append((f"{side}_ankle", f"{side}_foot", foot))
        for near, far, direction in bones:
            source = pos[:, index(far)] - pos[:, index(near)]
            turn = rotation.between(rotation.rotate(quat[:, index(near)], direction), source)
            error = rotation.angle_between(rotation.IDENTITY, turn).max()
            assert np.degrees(error) < 0.01, (name, near)


def test_real_people_face_forward_with_feet_below_and_heads_up(people):
    """Medians over each clip; the people walk, dance, jump, bow and sit down."""
    for name, human in people:
        if human.num_frames == 2:  # the Wisconsin example, bent double in both of its frames
            continue
        quat = human.landmark_quat_w
        pelvis = rotation.conjugate(quat[:, index("pelvis")])

        def median(role, axis, quat=quat, pelvis=pelvis):
            relative = rotation.multiply(pelvis, quat[:, index(role)])
            return np.median(rotation.rotate(relative, np.eye(3)[axis]), axis=0)

        up = np.median(rotation.rotate(quat[:, index("pelvis")], np.array([0.0, 0.0, 1.0])), axis=0)
        assert up[2] > 0.7, name
        for role in ("spine3", "head"):
            assert median(role, 2)[2] > 0.4, (name, role)  # one looks at their feet
            assert median(role, 0)[0] > 0.5, (name, role)
        for role in ("left_ankle", "right_ankle"):
            assert median(role, 0)[0] > 0.4, (name, role)


@pytest.mark.slow
def test_cuts_of_real_walks_agree(shared):
    """Ten starts of LAFAN1's walk; feet and hands are measured over each cut, the rest is fixed."""
    clip = read_clip(shared / "data" / "bvh_lafan1" / "lafan1_walk.bvh")
    whole = align(clip)
    measured = [index(f"{s}_{p}") for s in ("left", "right") for p in ("ankle", "foot", "wrist")]
    for start in range(0, 1350, 150):
        part = align(slice_frames(clip, start, start + 450))
        error = np.degrees(
            rotation.angle_between(part.landmark_quat_w, whole.landmark_quat_w[start : start + 450])
        ).max(axis=0)[:22]
        assert error[measured].max() < 3.0
        assert np.delete(error, measured).max() < 1e-4
