import numpy as np
import pytest

from motionkit import rotation
from motionkit.clip import CONTACT_PARTS, SMPLH_JOINTS, SMPLH_PARENTS, runs
from motionkit.errors import ConfigError
from motionkit.formats import ReadOptions, read_clip
from motionkit.human import embedded_body
from motionkit.retarget.contacts import find_contacts
from motionkit.synth import SynthConfig, SynthMotion, sole_points, synthesize, write_bvh
from motionkit.synth.legs import solve_leg
from motionkit.synth.plan import HEEL_BACK, TOE_LENGTH

KINDS = ("walk", "run", "turn", "squat", "arms")
GAITS = ("walk", "run", "turn")
CASES = [
    *(SynthConfig(kind, seed=seed, fps=100.0, seconds=3.0) for kind in KINDS for seed in range(3)),
    *(SynthConfig(kind, seed=3, stature=h, seconds=2.0) for kind in KINDS for h in (1.5, 1.95)),
    SynthConfig("walk", speed=0.8), SynthConfig("walk", speed=1.5, turn_rate=0.3),
    SynthConfig("run", speed=2.0, turn_rate=-0.4), SynthConfig("run", speed=3.0),
    SynthConfig("turn", speed=0.8, turn_rate=1.0), SynthConfig("turn", speed=1.5, turn_rate=-1.0),
]  # fmt: skip
NAMES = [f"{c.kind}-{c.seed}-{c.stature}-{c.speed}-{c.turn_rate}" for c in CASES]
J = {name: j for j, name in enumerate(SMPLH_JOINTS)}

# Winter, table 4.1: share of the body's mass, share of the way from the first joint to the second.
SEGMENTS = [
    ("pelvis", "neck", 0.497, 0.5), ("neck", "head", 0.081, 1.0),
    *((f"{s}_{a}", f"{s}_{b}", mass, share) for s in ("left", "right") for a, b, mass, share in (
        ("shoulder", "elbow", 0.028, 0.436), ("elbow", "wrist", 0.022, 0.682),
        ("hip", "knee", 0.100, 0.433), ("knee", "ankle", 0.0465, 0.433),
        ("ankle", "foot", 0.0145, 0.5))),
]  # fmt: skip


@pytest.fixture(scope="module", params=CASES, ids=NAMES)
def case(request) -> tuple[SynthConfig, SynthMotion]:
    return request.param, synthesize(request.param)


def local_quats(motion: SynthMotion) -> np.ndarray:
    quat = motion.clip.landmark_quat_w
    parents = list(SMPLH_PARENTS[1:])
    local = rotation.multiply(rotation.conjugate(quat[:, parents]), quat[:, 1:])
    return np.concatenate([quat[:, :1], local], axis=1)


def ground_points(motion: SynthMotion) -> np.ndarray:
    """Heels' backs, soles under ankles and toe bases, tips of toes, of left then right."""
    clip = motion.clip
    points = []
    for side in ("left", "right"):
        for part, ahead, height in (
            ("ankle", -HEEL_BACK, clip.ankle_height), ("ankle", 0.0, clip.ankle_height),
            ("foot", 0.0, clip.toe_height), ("foot", TOE_LENGTH, clip.toe_height),
        ):  # fmt: skip
            j = J[f"{side}_{part}"]
            offset = np.array([ahead * clip.stature, 0.0, -height])
            points.append(
                clip.landmark_pos_w[:, j] + rotation.rotate(clip.landmark_quat_w[:, j], offset)
            )
    return np.stack(points, axis=1)


def test_joints_follow_from_orientations_and_the_rest_pose(case):
    _, motion = case
    clip = motion.clip
    for j, parent in enumerate(SMPLH_PARENTS[1:], start=1):
        bone = rotation.to_matrix(clip.landmark_quat_w[:, parent]) @ (
            clip.rest_pos[j] - clip.rest_pos[parent]
        )
        found = clip.landmark_pos_w[:, j] - clip.landmark_pos_w[:, parent]
        np.testing.assert_allclose(found, bone, atol=1e-9)


def test_planted_soles_stand_still_on_the_ground(case):
    _, motion = case
    sole = sole_points(motion.clip)
    num_stances = 0
    for part in range(4):
        for start, stop in runs(motion.contact[:, part]):
            num_stances += 1
            stance = sole[start:stop, part]
            assert np.abs(stance - stance[0]).max() < 1e-9
            assert np.abs(stance[:, 2]).max() < 1e-9
            np.testing.assert_array_equal(motion.contact_pos[start:stop, part], stance)
    assert num_stances >= 4
    assert np.isnan(motion.contact_pos[~motion.contact]).all()
    np.testing.assert_array_equal(motion.clip.contact, motion.contact)


def test_feet_never_reach_below_the_ground(case):
    _, motion = case
    assert ground_points(motion)[..., 2].min() > -1e-9


def test_a_sole_that_moves_is_not_labelled_as_planted(case):
    _, motion = case
    speed = np.linalg.norm(np.diff(sole_points(motion.clip), axis=0), axis=-1) * motion.clip.fps
    assert not (motion.contact[1:] & motion.contact[:-1] & (speed > 1e-6)).any()
    resting = (speed < 1e-6) & (sole_points(motion.clip)[1:, :, 2] < 1e-9)
    assert (motion.contact[1:] | motion.contact[:-1])[resting].all()


def test_knees_and_elbows_are_hinges_that_bend_one_way(case):
    _, motion = case
    local = local_quats(motion)
    for side, sign in (("left", -1.0), ("right", 1.0)):
        knee = rotation.to_rotvec(local[:, J[f"{side}_knee"]])
        assert np.abs(knee[:, [0, 2]]).max() < 1e-9
        assert knee[:, 1].min() > 0.08  # never straight: the least drawn is 0.09
        assert knee[:, 1].max() < np.deg2rad(130)
        elbow = sign * rotation.to_rotvec(local[:, J[f"{side}_elbow"]])
        assert np.abs(elbow[:, :2]).max() < 1e-9
        assert elbow[:, 2].min() > 0.1
        assert elbow[:, 2].max() < 2.1


def test_joints_stay_within_the_robot_budgets(case):
    config, motion = case
    fps, local = motion.clip.fps, local_quats(motion)
    spin = rotation.to_rotvec(rotation.multiply(rotation.conjugate(local[:-1]), local[1:])) * fps
    assert np.linalg.norm(spin, axis=-1).max() < 16.0  # of 20 rad/s
    assert np.linalg.norm(np.diff(spin, axis=0) * fps, axis=-1).max() < 300.0 * max(
        1.0,
        1.75 / config.stature,  # by dynamic similarity
    )


@pytest.mark.parametrize("kind", KINDS)
def test_motion_does_not_depend_on_the_rate(kind):
    fast = synthesize(SynthConfig(kind, seed=5, fps=120.0, seconds=2.0))
    for fps, every in ((60.0, 2), (30.0, 4)):
        slow = synthesize(SynthConfig(kind, seed=5, fps=fps, seconds=2.0))
        for name in ("landmark_pos_w", "landmark_quat_w", "contact"):
            np.testing.assert_array_equal(
                getattr(slow.clip, name), getattr(fast.clip, name)[::every]
            )
        np.testing.assert_array_equal(slow.skeleton.joint_quat, fast.skeleton.joint_quat[::every])


@pytest.mark.parametrize("kind", KINDS)
def test_motion_has_continuous_accelerations(kind):
    """A step in acceleration doubles the third difference quotient, at its place, when frames
    are twice as close; elsewhere the quotient hardly changes.
    """
    largest = []
    for fps in (500, 1000):
        motion = synthesize(SynthConfig(kind, seed=4, fps=float(fps), seconds=1.6))
        third = np.abs(np.diff(motion.clip.landmark_pos_w, n=3, axis=0)).max(axis=-1) * fps**3
        window = fps // 50  # 20 ms
        third = third[: len(third) // window * window]
        largest.append(third.reshape(-1, window, 52).max(axis=1))
    coarse, fine = (each[:78] for each in largest)
    around = np.stack([coarse[:-2], coarse[1:-1], coarse[2:]]).max(axis=0)
    assert (fine[1:-1] < 1.25 * around + 0.02 * coarse.max()).all()


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_gives_same_bytes_and_another_gives_another_motion(kind):
    first, again, other = (synthesize(SynthConfig(kind, seed=s, seconds=1.0)) for s in (7, 7, 8))
    assert first.clip.landmark_pos_w.tobytes() == again.clip.landmark_pos_w.tobytes()
    assert first.clip.landmark_quat_w.tobytes() == again.clip.landmark_quat_w.tobytes()
    assert np.abs(first.clip.landmark_pos_w - other.clip.landmark_pos_w).max() > 0.01


@pytest.mark.parametrize(("kind", "speed", "rate"), [
    ("walk", 1.2, 0.0), ("run", 2.6, 0.0), ("turn", 1.0, 0.6), ("run", 2.6, -0.5),
])  # fmt: skip
def test_gait_covers_the_ground_at_its_speed_and_turns_at_its_rate(kind, speed, rate):
    seconds = 20.0
    motion = synthesize(SynthConfig(kind, speed=speed, turn_rate=rate, seconds=seconds, fps=50.0))
    quat = motion.clip.landmark_quat_w[:, J["head"]]
    heading = np.unwrap(rotation.yaw(quat))
    assert heading[-1] == pytest.approx(rate * seconds, abs=1e-9)
    planted = motion.contact_pos[:, 0]
    places = np.array([planted[start] for start, _ in runs(motion.contact[:, 0])])
    strides = np.linalg.norm(np.diff(places[:, :2], axis=0), axis=-1)
    starts = [start for start, _ in runs(motion.contact[:, 0])]
    period = (starts[-1] - starts[1]) / (len(starts) - 2) / motion.clip.fps
    half = 0.5 * rate * period
    radius = speed / rate if rate else 0.0
    inner = (radius - 0.5 * width(motion)) / radius if rate else 1.0
    chord = speed * period * np.sinc(half / np.pi) * inner
    np.testing.assert_allclose(strides[1:], chord, rtol=0.01)  # starts are known to a frame
    assert np.ptp(strides) < 1e-9


def width(motion: SynthMotion) -> float:
    """Twice the distance of the left foot from the path, inwards for a left turn."""
    planted = motion.contact_pos[:, [0, 2]]
    found = [np.array([planted[start, k] for start, _ in runs(motion.contact[:, 2 * k])])
             for k in (0, 1)]  # fmt: skip
    radii = [2 * np.median(_circle(points)) for points in found]
    return float(abs(radii[0] - radii[1]) / 2.0)


def _circle(points: np.ndarray) -> np.ndarray:
    """Radii of the circles through successive triples."""
    a, b, c = points[:-2, :2], points[1:-1, :2], points[2:, :2]
    u, v, w = b - a, c - b, c - a
    area = np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
    return np.prod([np.linalg.norm(x, axis=-1) for x in (u, v, w)], axis=0) / (2 * area)


@pytest.mark.parametrize("kind", GAITS)
def test_heel_leaves_before_the_toes(kind):
    motion = synthesize(SynthConfig(kind, fps=240.0, seconds=5.0))
    for side in (0, 2):
        toes = runs(motion.contact[:, side + 1])
        for start, stop in runs(motion.contact[:, side])[1:-1]:
            inside = [(s, e) for s, e in toes if s <= start < e]
            assert len(inside) == 1
            assert inside[0][0] == start
            assert inside[0][1] > stop + 0.05 * motion.clip.fps


@pytest.mark.parametrize("seed", range(3))
def test_walkers_always_touch_the_ground_and_runners_fly(seed):
    for kind, flies in (("walk", False), ("turn", False), ("run", True)):
        motion = synthesize(SynthConfig(kind, seed=seed, fps=200.0, seconds=3.0))
        touches = (ground_points(motion)[..., 2] < 1e-9).any(axis=1)
        share = 1.0 - touches.mean()
        assert (0.2 < share < 0.45) if flies else share == 0.0


@pytest.mark.parametrize("kind", GAITS)
def test_detector_finds_the_planted_feet(kind):
    from dataclasses import replace

    motion = synthesize(SynthConfig(kind, fps=60.0, seconds=5.0))
    found = find_contacts(replace(motion.clip, contact=None))
    assert abs(found.ground) < 0.005
    toes = [CONTACT_PARTS.index(f"{side}_foot") for side in ("left", "right")]
    missed = motion.contact[:, toes] & ~found.stands[:, toes]
    assert missed.sum() <= 0.1 * motion.contact[:, toes].sum()


@pytest.mark.parametrize("kind", ("squat", "arms"))
@pytest.mark.parametrize("seed", range(6))
def test_standing_person_is_balanced(kind, seed):
    motion = synthesize(SynthConfig(kind, seed=seed, seconds=8.0, fps=20.0))
    pos = motion.clip.landmark_pos_w
    center = sum(
        mass * (pos[:, J[a]] * (1 - share) + pos[:, J[b]] * share) for a, b, mass, share in SEGMENTS
    )
    feet = ground_points(motion)
    assert (center[:, 0] > feet[..., 0].min() + 0.02).all()
    assert (center[:, 0] < feet[:, [2, 6], 0].max()).all()  # toe bases
    assert np.abs(center[:, 1]).max() < 0.05
    assert motion.contact.all()


def test_squat_bends_hips_knees_and_ankles():
    motion = synthesize(SynthConfig("squat", seconds=8.0))
    local = rotation.to_rotvec(local_quats(motion))
    knee, ankle = local[:, J["left_knee"], 1], local[:, J["left_ankle"], 1]
    hip = local[:, J["left_hip"], 1]
    deepest = knee.argmax()
    assert np.deg2rad(80) < knee[deepest] < np.deg2rad(115)
    assert hip[deepest] < np.deg2rad(-60)
    assert np.deg2rad(-45) < ankle[deepest] < np.deg2rad(-15)
    assert knee.min() < 0.15


def test_arms_reach_the_horizontal_and_swing_in_opposition():
    motion = synthesize(SynthConfig("arms", seconds=12.0))
    clip = motion.clip
    wrist = clip.landmark_pos_w[:, J["left_wrist"]] - clip.landmark_pos_w[:, J["left_shoulder"]]
    assert wrist[:, 2].max() > -0.1
    walk = synthesize(SynthConfig("walk", seconds=6.0)).clip
    ahead = walk.landmark_pos_w - walk.landmark_pos_w[:, :1]
    foot = ahead[:, J["left_ankle"], 0] - ahead[:, J["right_ankle"], 0]
    hand = ahead[:, J["left_wrist"], 0] - ahead[:, J["right_wrist"], 0]
    assert np.corrcoef(foot, hand)[0, 1] < -0.9


def test_leg_meets_its_ankle_with_the_knee_axis_across():
    rng = np.random.default_rng(0)
    for _ in range(50):
        thigh, shank = rng.normal([0, 0, -0.4], 0.03), rng.normal([0, 0, -0.4], 0.03)
        reach = rng.normal(size=(40, 3)) * [0.3, 0.1, 0.3] + [0.0, 0.0, -0.4]
        length = np.linalg.norm(reach, axis=-1, keepdims=True)
        reach *= np.clip(length, 0.3, 0.9 * np.linalg.norm([thigh, shank], axis=-1).sum()) / length
        lateral = rng.normal([0, 1, 0], 0.1, size=(40, 3))
        lateral /= np.linalg.norm(lateral, axis=-1, keepdims=True)
        turn, knee = solve_leg(reach, lateral, thigh, shank)
        bent = rotation.multiply(turn, rotation.from_axis_angle("Y", knee))
        found = rotation.rotate(turn, thigh) + rotation.rotate(bent, shank)
        np.testing.assert_allclose(found, reach, atol=1e-12)
        axis = rotation.rotate(turn, np.array([0.0, 1.0, 0.0]))
        assert np.sum(axis * lateral, axis=-1).min() > 0.0
        side = np.cross(axis, lateral)  # no turn about the leg is left to bring it nearer
        assert np.abs(np.sum(side * reach, axis=-1)).max() < 1e-9


def test_skeleton_is_the_same_motion(case):
    _, motion = case
    skeleton = motion.skeleton
    pos, quat = skeleton.global_pose()
    for role, name in skeleton.roles.items():
        j = skeleton.joint_names.index(name)
        np.testing.assert_allclose(pos[:, j], motion.clip.landmark_pos_w[:, J[role]], atol=1e-12)
        turn = rotation.angle_between(quat[:, j], motion.clip.landmark_quat_w[:, J[role]])
        assert turn.max() < 1e-7
    assert len(skeleton.joint_names) == 22
    assert len(skeleton.end_parents) == 5


@pytest.mark.parametrize("up", ("y", "z"))
@pytest.mark.parametrize(("unit", "kind"), [(0.01, "turn"), (1.0, "squat"), (0.0254, "arms")])
def test_bvh_round_trip_keeps_the_motion(tmp_path, up, unit, kind):
    skeleton = synthesize(SynthConfig(kind, seconds=3.0, stature=1.8)).skeleton
    path = tmp_path / "made.bvh"
    write_bvh(skeleton, path, unit=unit, up=up)
    back = read_clip(path, ReadOptions())
    assert back.joint_names == skeleton.joint_names
    assert back.roles == skeleton.roles
    assert back.fps == pytest.approx(skeleton.fps, rel=1e-6)
    assert back.provenance.up == up
    assert back.provenance.unit_scale == pytest.approx(unit)
    renamed = {"y": [[0, 1, 0], [0, 0, 1], [1, 0, 0]], "z": np.eye(3)}[up]
    axes = rotation.from_matrix(np.array(renamed, dtype=float))
    turn = rotation.multiply(np.array(back.provenance.world_quat), axes)
    assert np.abs(turn[1:3]).max() < 1e-12  # about the vertical only
    pos, quat = skeleton.global_pose()
    pos_back, quat_back = back.global_pose()
    np.testing.assert_allclose(pos_back, rotation.rotate(turn, pos), atol=1e-6)
    turned = rotation.multiply(rotation.multiply(turn, quat), rotation.conjugate(axes))
    assert rotation.angle_between(quat_back, turned).max() < 1e-6
    tips = rotation.rotate(axes, skeleton.end_offsets)
    np.testing.assert_allclose(back.end_offsets, tips, atol=1e-6)
    np.testing.assert_array_equal(back.end_parents, skeleton.end_parents)


def test_bvh_replaces_a_file_whole_and_leaves_nothing_else(tmp_path):
    skeleton = synthesize(SynthConfig(seconds=0.1)).skeleton
    path = tmp_path / "made.bvh"
    path.write_text("old")
    write_bvh(skeleton, path)
    assert path.read_text().startswith("HIERARCHY")
    assert [each.name for each in tmp_path.iterdir()] == ["made.bvh"]


def test_bvh_refuses_what_it_cannot_say(tmp_path):
    skeleton = synthesize(SynthConfig(seconds=0.1)).skeleton
    with pytest.raises(ConfigError, match="unit must be a positive length"):
        write_bvh(skeleton, tmp_path / "a.bvh", unit=0.0)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("changes", "message"), [
    ({"fps": 0.0}, "fps of walk must lie in [1, 1000], found 0"),
    ({"seconds": -1.0}, "seconds of walk must lie in [0, 1.667e+04], found -1"),
    ({"stature": 3.0}, "stature of walk must lie in [1.2, 2.2], found 3"),
    ({"seed": -1}, "seed must not be negative, found -1"),
    ({"speed": float("nan")}, "speed of walk must lie in [0.8, 1.5], found nan"),
    ({"kind": "run", "speed": 1.0}, "speed of run must lie in [2, 3], found 1"),
    ({"kind": "turn", "turn_rate": 2.0}, "turn_rate of turn must lie in [-1, 1], found 2"),
    ({"kind": "squat", "speed": 1.0}, "speed has no meaning for squat"),
])  # fmt: skip
def test_settings_that_no_person_does_are_refused(changes, message):
    with pytest.raises(ConfigError) as caught:
        SynthConfig(**changes)
    assert caught.value.message == message


def test_clip_of_one_frame_is_a_clip():
    motion = synthesize(SynthConfig(seconds=0.0))
    assert motion.clip.num_frames == 1
    body = embedded_body(1.75)
    np.testing.assert_array_equal(motion.clip.rest_pos, body.rest_pos)
    assert motion.clip.observed.sum() == 22


def test_walk_is_retargeted_to_the_default_robot():
    from motionkit.retarget import RetargetConfig, retarget
    from motionkit.robot import load_robot

    clip = synthesize(SynthConfig(seconds=1.5, fps=30.0)).clip
    result = retarget(clip, load_robot("anatomic_soma"), RetargetConfig())
    assert result.report.outcome.is_accepted
    worst = max(result.report.position_error[part].mean for part in
                ("LeftFoot", "RightFoot", "LeftHand", "RightHand", "Head"))  # fmt: skip
    assert worst < 0.005  # 1.8 mm measured
