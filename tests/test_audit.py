"""One defect put into a clean reference gives exactly the findings that it should, and no other."""

import time
from dataclasses import replace

import numpy as np
import pytest
from builders import PROVENANCE, gantry, gantry_reference, gantry_walk

from motionkit import rotation
from motionkit.audit import CHECKS, AuditConfig, audit_reference
from motionkit.clip import Note, RobotClip
from motionkit.robot import load_robot


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    return gantry(tmp_path_factory.mktemp("robot"))


@pytest.fixture(scope="module")
def clean(robot):
    return gantry_reference(robot)


def codes(reference, robot, **config):
    """Numbers found, each once."""
    return sorted(
        {f.code for f in audit_reference(reference, robot, AuditConfig(**config)).findings}
    )


def found(reference, robot, code, **config):
    """The one finding of a number."""
    result = audit_reference(reference, robot, AuditConfig(**config))
    [finding] = [f for f in result.findings if f.code == code]
    return finding


def moved(robot, change, **fields):
    """The walk with ``change(qpos)`` applied before bodies and velocities are computed."""
    qpos, *_ = gantry_walk(robot)
    change(qpos)
    return gantry_reference(robot, qpos=qpos, **fields)


def joint(robot, name: str) -> int:
    return 7 + robot.joint_index(name)


def with_array(reference, name, change):
    array = np.array(reference.array(name), order="C")
    change(array)
    return replace(reference, **{name: array})


def test_a_clean_walk_has_no_finding(clean, robot):
    assert audit_reference(clean, robot).findings == ()


def test_a_clean_walk_of_the_default_robot_has_no_finding():
    from motionkit.cache import build_reference, identify

    robot = load_robot("anatomic_soma")
    frames, time_s = 150, np.arange(150) / 30.0
    qpos = np.repeat(robot.rest_qpos()[None], frames, 0)
    center, radius = robot.sole(robot.contact_bodies[0])
    pos, quat = robot.forward(qpos[:1])
    index = robot.body_index(robot.contact_bodies[0])
    floor = (pos[0, index] + rotation.rotate(quat[0, index], center))[:, 2] - radius
    qpos[:, 2] -= floor.min()
    for name in robot.joint_names:
        if "Arm" in name or "Head" in name or "Spine" in name:
            qpos[:, joint(robot, name)] += 0.1 * np.sin(2.0 * time_s)
    qpos[:, 7:] = np.clip(qpos[:, 7:], *robot.joint_range.T)
    pos, quat = robot.forward(qpos)
    marks = [robot.body_index(mark.body) for mark in robot.landmarks]
    identity = identify(robot, PROVENANCE, fps=30.0, body="embedded", settings={})
    reference = build_reference(
        RobotClip("wave", robot.name, 30.0, qpos, np.ones((frames, 4))), robot, identity=identity,
        report={"outcome": "converged"}, provenance=PROVENANCE, target_pos_w=pos[:, marks],
        target_quat_w=quat[:, marks])  # fmt: skip
    result = audit_reference(reference, robot)
    assert result.findings == ()
    # Soles of spheres 9 and 10 mm thick stand on the ground: heel exactly, toes to 0.5 mm.
    assert abs(result.summary["floating"]["highest"]) < 5e-4
    assert result.summary["penetration"]["deepest"] < 5e-4


# What a defect of the motion must give, the motion being otherwise consistent.


def test_a_joint_beyond_its_range_by_one_float32_step(robot):
    high = robot.joint_range[robot.joint_index("arm"), 1]

    def change(limit):
        def put(qpos):
            arm = joint(robot, "arm")
            # a slow way to the limit, so that no budget is met
            qpos[:, arm] = limit * np.sin(0.5 * np.pi * np.minimum(np.arange(121) / 100, 1)) ** 2
            qpos[100:, arm] = limit

        return put  # fmt: skip

    config = {"max_still": 2.0}
    at_limit = moved(robot, change(high), target_pos_w=None, target_quat_w=None)
    assert codes(at_limit, robot, **config) == []
    beyond = float(np.nextafter(np.float32(high), np.float32(np.inf)))
    finding = found(moved(robot, change(beyond), target_pos_w=None, target_quat_w=None), robot,
                    "MK201", **config)  # fmt: skip
    assert (finding.where, finding.value, finding.limit, finding.unit) == (
        "arm",
        beyond,
        high,
        "rad",
    )
    assert finding.frame == 100


def test_a_wrapped_angle_is_a_jump_and_nothing_else(robot):
    def change(qpos):
        qpos[60:, joint(robot, "neck")] += 2 * np.pi

    reference = moved(robot, change)
    finding = found(reference, robot, "MK202")
    assert (finding.where, finding.frame) == ("neck", 59)
    assert finding.value == pytest.approx(2 * np.pi, abs=0.1)
    assert codes(reference, robot) == ["MK202"]


def test_a_joint_too_fast(robot):
    def change(qpos):
        # 21 rad/s for a fifth of a second, reached and left within the acceleration budget
        speed = np.interp(np.arange(121), [40, 46, 52], [0, 21.0, 0], 0, 0)
        qpos[1:, joint(robot, "neck")] += np.cumsum(speed[:-1]) / 30.0

    reference = moved(robot, change, target_pos_w=None, target_quat_w=None)
    finding = found(reference, robot, "MK203")
    assert finding.where == "neck"
    assert finding.limit == 20.0
    assert finding.severity == "error"
    step = np.diff(reference.qpos[:, joint(robot, "neck")].astype(float)) * 30
    assert finding.value == np.abs(step).max()
    assert finding.frame == np.abs(step).argmax()
    assert codes(reference, robot) == ["MK203"]
    assert codes(reference, robot, max_velocity=27.0) == []
    settings = {"retarget": {"max_joint_velocity": 27.0}}
    assert codes(replace(reference, identity=replace(reference.identity, settings=settings)),
                 robot) == []  # fmt: skip
    allowed = replace(reference, report={"outcome": "converged", "budget_exceeded": ["velocity"]})
    assert found(allowed, robot, "MK203").severity == "warning"


@pytest.mark.parametrize("peak, limited", [(17.8, False), (18.0, True)])
def test_a_joint_held_back_by_its_budget_is_said(robot, peak, limited):
    def change(qpos):
        # at most 20 rad/s, from 90% of which the retargeter holds back; 108 rad/s² on the way
        qpos[:, joint(robot, "neck")] = 0.0
        speed = np.interp(np.arange(121), [40, 45, 47, 52], [0, peak, peak, 0], 0, 0)
        qpos[1:, joint(robot, "neck")] += np.cumsum(speed[:-1]) / 30.0

    reference = moved(robot, change, target_pos_w=None, target_quat_w=None)
    assert codes(reference, robot) == (["MK216"] if limited else [])
    frames = audit_reference(reference, robot).summary["velocity"]["limited_frames"]
    assert frames == (3 if limited else 0)
    if not limited:
        return
    finding = found(reference, robot, "MK216")
    assert (finding.where, finding.unit, finding.severity) == ("neck", "rad/s", "warning")
    assert finding.frame in (45, 46, 47)
    assert finding.value == pytest.approx(18.0, abs=1e-4)
    assert finding.message == (
        f"velocity of neck reaches 18 rad/s at frame {finding.frame}, 90% of its budget; "
        "3 frames held back"
    )
    settings = {"retarget": {"budget_onset": 0.95}}
    later = replace(reference, identity=replace(reference.identity, settings=settings))
    assert codes(later, robot) == []
    assert codes(reference, robot, limited_share=0.91) == []


def test_an_acceleration_held_back_by_its_budget_is_said(robot):
    def change(qpos):
        qpos[60, joint(robot, "neck")] += 0.15  # by itself 0.3 · 30² = 270 rad/s²

    reference = moved(robot, change, target_pos_w=None, target_quat_w=None)
    finding = found(reference, robot, "MK216", limited_share=0.85)
    assert (finding.where, finding.frame, finding.unit) == ("neck", 59, "rad/s²")
    assert codes(reference, robot, limited_share=0.85) == ["MK216"]


def test_a_joint_that_jerks(robot):
    def change(qpos):
        qpos[60, joint(robot, "neck")] += 0.2

    reference = moved(robot, change)
    finding = found(reference, robot, "MK204")
    q = reference.qpos[:, joint(robot, "neck")].astype(float)
    assert finding.value == pytest.approx(np.abs(np.diff(q, 2) * 900).max(), rel=1e-12)
    assert codes(reference, robot) == ["MK204"]


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0, 240.0, 480.0])
def test_rounding_to_float32_alone_exceeds_no_budget(robot, fps):
    """An angle that accelerates at its budget exactly, far from zero, in exact arithmetic."""
    frames = 41
    n = np.arange(frames) - 20
    qpos, *_ = gantry_walk(robot, frames)
    qpos[:] = qpos[0]
    qpos[:, joint(robot, "neck")] = 3.0 + 0.5 * 300.0 * (n / fps) ** 2
    keep = np.abs(qpos[:, joint(robot, "neck")] - 3.0) < 0.5
    qpos = qpos[keep]
    reference = gantry_reference(robot, qpos=qpos, contact=None, target_pos_w=None,
                                 target_quat_w=None, fps=fps)  # fmt: skip
    result = audit_reference(reference, robot, AuditConfig(max_velocity=1e3, self_collision_rate=0))
    figures = result.summary["acceleration"]
    assert figures["peak"] == pytest.approx(300.0, rel=1e-3)
    assert not [f for f in result.findings if f.code == "MK204"]
    assert figures["peak"] <= 300.0 * (1 + figures["tolerance"])
    more = audit_reference(reference, robot, AuditConfig(
        max_velocity=1e3, self_collision_rate=0,
        max_acceleration=300.0 / (1 + 3 * figures["tolerance"])))  # fmt: skip
    assert [f for f in more.findings if f.code == "MK204"]


def test_a_solver_that_did_not_converge(clean, robot):
    reference = replace(clean, report={"outcome": "iteration_limit", "message": "500 iterations"})
    assert codes(reference, robot) == ["MK205"]
    finding = found(reference, robot, "MK205")
    assert (finding.where, finding.message) == ("iteration_limit", "500 iterations")
    silent = replace(clean, report={"outcome": "jump"})
    assert found(silent, robot, "MK205").message == "the outcome is jump"


def test_a_source_that_is_not_level_is_said(clean, robot):
    level = replace(clean, report={"outcome": "converged", "ground_spread": 0.049})
    stairs = replace(clean, report={"outcome": "converged", "ground_spread": 0.17})
    assert codes(level, robot) == []
    assert codes(stairs, robot) == ["MK312"]
    assert found(stairs, robot, "MK312").value == 0.17


def test_a_landmark_far_from_its_target(clean, robot):
    reference = with_array(clean, "target_pos_w", lambda a: a[:, 1].__iadd__([0, 0.06, 0]))
    finding = found(reference, robot, "MK206")
    assert finding.where == "left"
    assert finding.value == pytest.approx(0.06, abs=1e-6)
    assert codes(reference, robot) == ["MK206"]


def test_a_landmark_turned_from_its_target(clean, robot):
    turn = rotation.from_axis_angle("X", np.asarray(0.5)).astype(np.float32)
    reference = with_array(clean, "target_quat_w", lambda a: a.__setitem__((slice(None), 2), turn))
    finding = found(reference, robot, "MK207")
    assert finding.where == "right"
    assert finding.value == pytest.approx(0.5, abs=1e-5)
    assert codes(reference, robot) == ["MK207"]


def test_errors_are_measured_on_the_stored_arrays_not_taken_from_the_report(clean, robot):
    said = {"before_mean": 0.1, "before_p95": 0.2, "before_max": 0.3, "mean": 9, "p95": 9, "max": 9}
    report = {"outcome": "converged", "position_error": {"left": said}}
    figures = audit_reference(replace(clean, report=report), robot).summary["position_error"]
    assert figures["left"]["before_mean"] == 0.1
    assert figures["left"]["max"] < 1e-7


def test_a_frozen_robot_whose_targets_move(robot):
    def freeze(qpos):
        qpos[:] = qpos[0]

    reference = moved(robot, freeze, contact=np.ones((121, 2)))
    assert "MK208" in codes(reference, robot, max_position_error=1.0)
    assert codes(reference, robot, max_position_error=1.0) == ["MK208"]
    still = moved(robot, freeze, contact=np.ones((121, 2)), target_pos_w=None, target_quat_w=None)
    assert codes(still, robot) == ["MK214"]


def test_a_stiff_robot_that_is_carried_along_is_frozen_too(robot):
    def stiffen(qpos):
        qpos[:, 7:] = qpos[0, 7:]

    reference = moved(robot, stiffen, contact=None)
    assert codes(reference, robot, max_position_error=1.0) == ["MK208", "MK305"]


def test_a_person_who_stands_still_is_not_frozen(robot):
    still, contact, pos, quat = gantry_walk(robot)
    still[:], contact[:], pos[:], quat[:] = still[0], 1.0, pos[0], quat[0]
    reference = gantry_reference(robot, qpos=still, contact=contact, target_pos_w=pos,
                                 target_quat_w=quat)  # fmt: skip
    assert codes(reference, robot) == []


def test_a_pose_that_is_held(robot):
    qpos, *_ = gantry_walk(robot)
    held = np.concatenate([np.repeat(qpos[:1], 20, 0), qpos])
    made = gantry_reference(robot, qpos=held, contact=None, target_pos_w=None,
                            target_quat_w=None)  # fmt: skip
    finding = found(made, robot, "MK209")
    assert (finding.frame, finding.value) == (0, 20 / 30.0)
    assert codes(made, robot) == ["MK209", "MK305"]


def test_a_foot_inside_the_other(robot):
    def change(qpos):
        # the left foot low and through the right one, which it passes at frame 23
        bump = np.exp(-(((np.arange(121) - 23) / 2.0) ** 2))
        qpos[:, joint(robot, "left_y")] -= 0.15 * bump
        qpos[:, joint(robot, "left_z")] -= 0.06 * bump

    reference = moved(robot, change, target_pos_w=None, target_quat_w=None)
    finding = found(reference, robot, "MK210", self_collision_rate=30.0)
    assert (finding.where, finding.frame) == ("left, right", 23)
    assert finding.value == pytest.approx(0.04 - reference.body_pos_w[23, 3, 2], abs=1e-5)
    assert codes(reference, robot, self_collision_rate=30.0) == ["MK210"]
    assert codes(reference, robot, self_collision_rate=0.0) == []


@pytest.mark.parametrize("depth, collides", [(0.0008, False), (0.0012, True)])
def test_bodies_may_overlap_by_a_millimetre(robot, depth, collides):
    def change(qpos):
        qpos[:] = qpos[0]
        qpos[:, joint(robot, "left_y")] = -0.2  # on top of the right foot, 40 mm high
        qpos[:, joint(robot, "left_z")] += 0.04 - depth

    reference = moved(robot, change, target_pos_w=None, target_quat_w=None, contact=None)
    assert ("MK210" in codes(reference, robot)) == collides


def test_a_foot_in_the_air_supports_nothing(robot):
    def change(qpos):
        qpos[:] = qpos[0]
        qpos[:, 1] += 0.1  # the trunk over the left foot
        qpos[:, [joint(robot, "left_y"), joint(robot, "right_y")]] -= 0.1
        qpos[20:, joint(robot, "left_z")] += 0.1
        qpos[:, joint(robot, "neck")] += 0.1 * np.sin(np.arange(121) / 10)

    reference = moved(robot, change, target_pos_w=None, target_quat_w=None, contact=None)
    finding = found(reference, robot, "MK310")
    assert 20 <= finding.frame <= 22
    assert codes(reference, robot) == ["MK305", "MK310"]


def test_a_root_below_the_ground(robot):
    def change(qpos):
        qpos[:, 2] -= 0.9
        qpos[:, [joint(robot, "left_z"), joint(robot, "right_z")]] += 0.9

    reference = moved(robot, change, target_pos_w=None, target_quat_w=None)
    assert found(reference, robot, "MK211").value == pytest.approx(-0.1)


def test_a_root_that_is_teleported(robot):
    def change(qpos):
        qpos[60:, 0] += 1.0

    reference = moved(robot, change, contact=None)
    finding = found(reference, robot, "MK212", max_position_error=2.0)
    assert (finding.frame, finding.value) == (59, pytest.approx(30.0, abs=1.0))
    assert codes(reference, robot, max_position_error=2.0) == ["MK212", "MK305"]


def test_a_root_that_turns_about_in_one_frame(robot):
    def change(qpos):
        qpos[60:, 3:7] = [0, 0, 0, 1]

    reference = moved(robot, change, contact=None, target_pos_w=None, target_quat_w=None)
    assert codes(reference, robot) == ["MK212", "MK305"]
    assert found(reference, robot, "MK212").unit == "rad/s"


def test_a_robot_upside_down(robot):
    def change(qpos):
        qpos[:, 3:7] = [0, 1, 0, 0]

    reference = moved(robot, change, contact=None, target_pos_w=None, target_quat_w=None)
    assert "MK213" in codes(reference, robot)
    assert found(reference, robot, "MK213").value == pytest.approx(-1.0)


@pytest.mark.parametrize("yaw, expected", [(0.0, []), (0.5 * np.pi, []), (np.pi, ["MK215"])])
def test_a_robot_that_faces_against_its_travel(robot, yaw, expected):
    def change(qpos):
        qpos[:, 0] += 0.6 * np.arange(121) / 30.0
        qpos[:, 3:7] = rotation.from_axis_angle("Z", np.asarray(yaw))

    reference = moved(robot, change, contact=None, target_pos_w=None, target_quat_w=None)
    assert codes(reference, robot) == [*expected, "MK305"]
    assert audit_reference(reference, robot).summary["facing"] == pytest.approx(np.cos(yaw),
                                                                              abs=1e-6)  # fmt: skip


@pytest.mark.parametrize("frames, expected", [(45, []), (60, ["MK215"])])
def test_a_short_way_says_nothing_of_facing(robot, frames, expected):
    def change(qpos):
        qpos[:, 0] = -0.6 * np.minimum(np.arange(121), frames) / 30.0  # 0.9 m or 1.2 m

    reference = moved(robot, change, contact=None, target_pos_w=None, target_quat_w=None)
    assert codes(reference, robot) == [*expected, "MK305"]
    facing = audit_reference(reference, robot).summary["facing"]
    assert facing == (pytest.approx(-1.0, abs=1e-6) if expected else None)


def test_feet_in_the_floor(robot):
    def change(qpos):
        qpos[:, 2] -= 0.012

    reference = moved(robot, change)
    finding = found(reference, robot, "MK301")
    assert finding.where in ("left", "right")
    assert finding.value == pytest.approx(0.012, abs=1e-6)
    assert codes(reference, robot) == ["MK301"]
    shares = audit_reference(reference, robot).summary["penetration"]
    assert shares["share_over_10mm"] == 1.0


def test_a_head_in_the_floor_is_found_too(robot):
    def change(qpos):
        qpos[:, 2] = 0.05
        qpos[:, [joint(robot, "left_z"), joint(robot, "right_z")]] += GROUND

    GROUND = 0.75
    reference = moved(robot, change, target_pos_w=None, target_quat_w=None)
    finding = found(reference, robot, "MK301")
    assert finding.where == "trunk"
    assert finding.value == pytest.approx(0.05, abs=1e-6)


def test_a_skating_stance(robot):
    def change(qpos):
        # 0.4 m/s sideways and back while both feet stand, at the end
        path = np.interp(np.arange(121), [106, 113, 120], [0, 0.4 * 7 / 30, 0])
        qpos[:, joint(robot, "left_y")] += path

    reference = moved(robot, change)
    finding = found(reference, robot, "MK302")
    assert finding.where == "left"
    assert found(reference, robot, "MK303").value == pytest.approx(0.4 * 7 / 30, abs=1e-6)
    assert codes(reference, robot) == ["MK302", "MK303"]
    figures = audit_reference(reference, robot).summary["skating"]
    assert figures["max_speed"] == pytest.approx(0.4, abs=1e-4)
    held = np.asarray(reference.contact) >= 0.5
    assert figures["share_fast"] == 14 / np.sum(held[1:] & held[:-1])


def test_a_creeping_stance_drifts_although_it_never_skates(robot):
    def change(qpos):
        path = np.interp(np.arange(121), [90, 120], [0, 0.04])  # 0.04 m/s
        qpos[:, joint(robot, "left_y")] += path

    reference = moved(robot, change)
    finding = found(reference, robot, "MK303")
    assert (finding.where, finding.frame) == ("left", 90)
    assert finding.value == pytest.approx(0.04, abs=1e-6)
    assert codes(reference, robot) == ["MK303"]
    assert audit_reference(reference, robot).summary["skating"]["share_slow"] == 0.0


def test_drift_counts_from_touchdown_and_every_stance_is_listed(clean, robot):
    stances = audit_reference(clean, robot).summary["drift"]["stances"]
    assert [(s["start"], s["stop"]) for s in stances if s["body"] == "left"] == [
        (0, 16), (30, 46), (60, 76), (90, 121),
    ]  # fmt: skip


def test_feet_that_stand_on_air(robot):
    def change(qpos):
        qpos[:, 2] += 0.03

    reference = moved(robot, change)
    assert found(reference, robot, "MK304").value == 1.0
    assert codes(reference, robot) == ["MK304"]


def test_a_robot_that_never_comes_down(robot):
    def change(qpos):
        qpos[:, 2] += 0.2

    reference = moved(robot, change, contact=None, target_pos_w=None, target_quat_w=None)
    assert codes(reference, robot) == ["MK305", "MK309"]
    assert found(reference, robot, "MK309").value == pytest.approx(0.2, abs=1e-6)


def test_a_robot_that_hovers_for_a_third_of_the_clip(robot):
    def change(qpos):
        qpos[:, 2] += 0.3 * np.sin(np.linspace(0, np.pi, 121)) ** 4

    reference = moved(robot, change, contact=None, target_pos_w=None, target_quat_w=None)
    aloft = np.mean(0.3 * np.sin(np.linspace(0, np.pi, 121)) ** 4 > 0.1)
    assert aloft > 0.25
    assert found(reference, robot, "MK311").value == pytest.approx(aloft, abs=1e-9)


@pytest.mark.parametrize("end, frame", [("starts", 0), ("ends", 120)])
def test_a_clip_that_starts_or_ends_in_the_air(robot, end, frame):
    def change(qpos):
        away = np.abs(np.arange(121) - frame)
        qpos[:, 2] += 0.1 * np.clip(1 - away / 10, 0, 1) ** 2

    reference = moved(robot, change, contact=None)
    finding = found(reference, robot, "MK308", max_position_error=1.0)
    assert finding.frame == frame
    assert end in finding.message
    assert codes(reference, robot) == ["MK305", "MK308"]


def test_contacts_that_are_all_zero(clean, robot):
    reference = with_array(clean, "contact", lambda a: a.fill(0))
    finding = found(reference, robot, "MK306")
    assert finding.severity == "error"
    assert codes(reference, robot) == ["MK306"]


def test_contacts_that_are_all_zero_in_the_air_are_right(robot):
    def change(qpos):
        qpos[:, 2] += 0.2

    reference = moved(robot, change, contact=np.zeros((121, 2)), target_pos_w=None,
                      target_quat_w=None)  # fmt: skip
    assert codes(reference, robot) == ["MK309"]


@pytest.mark.parametrize("value", [-1.0, 1.5])
def test_contacts_that_are_no_probabilities(clean, robot, value):
    reference = with_array(clean, "contact", lambda a: a.__setitem__((7, 1), value))
    finding = found(reference, robot, "MK307")
    assert (finding.where, finding.frame, finding.value) == ("right", 7, value)
    assert codes(reference, robot) == ["MK307"]


def test_no_contacts_at_all(robot):
    assert codes(gantry_reference(robot, contact=None), robot) == ["MK305"]


def test_sitting_without_a_seat(robot):
    def change(qpos):
        qpos[:, 0] -= 0.5  # the trunk half a metre behind its feet
        qpos[:, [joint(robot, "left_x"), joint(robot, "right_x")]] += 0.5
        qpos[:, :7] = qpos[0, :7]
        qpos[:, 7:] = qpos[0, 7:]
        qpos[:, joint(robot, "neck")] += 0.1 * np.sin(np.arange(121) / 10)

    reference = moved(robot, change, contact=np.ones((121, 2)), target_pos_w=None,
                      target_quat_w=None)  # fmt: skip
    finding = found(reference, robot, "MK310")
    assert finding.value == pytest.approx(121 / 30.0)
    assert codes(reference, robot) == ["MK310"]


# What a defect of the arrays must give, the motion being right.


@pytest.mark.parametrize("name", [
    "qpos", "qvel", "body_pos_w", "body_quat_w", "body_lin_vel_w", "contact", "target_pos_w",
])  # fmt: skip
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_value_that_is_not_finite(clean, robot, name, value):
    reference = with_array(clean, name, lambda a: a.reshape(121, -1).__setitem__((33, 1), value))
    finding = found(reference, robot, "MK401")
    assert (finding.where, finding.frame) == (name, 33)
    assert codes(reference, robot) == ["MK401"]


def test_a_clip_too_short(robot):
    qpos, contact, pos, quat = gantry_walk(robot)
    reference = gantry_reference(robot, qpos=qpos[:10], contact=contact[:10],
                                 target_pos_w=pos[:10], target_quat_w=quat[:10])  # fmt: skip
    assert codes(reference, robot) == ["MK402"]
    assert found(reference, robot, "MK402").value == pytest.approx(0.3)


@pytest.mark.parametrize("frames", [1, 2, 3, 4])
def test_the_shortest_clips_are_audited(robot, frames):
    qpos, contact, pos, quat = (array[:frames] for array in gantry_walk(robot))
    reference = gantry_reference(
        robot, qpos=qpos, contact=contact, target_pos_w=pos, target_quat_w=quat
    )
    assert codes(reference, robot) == ["MK402"]


@pytest.mark.parametrize("fps", [5.0, 1000.0])
def test_an_implausible_rate(robot, fps):
    reference = gantry_reference(robot, fps=fps)
    assert codes(reference, robot, min_seconds=0.0, max_root_speed=99.0) == ["MK403"]
    assert found(reference, robot, "MK403").value == fps


def test_velocities_of_another_rate_are_told_by_their_rate(clean, robot):
    faster = replace(clean, fps=60.0, identity=replace(clean.identity, fps=60.0))
    result = audit_reference(faster, robot)
    assert [f.code for f in result.findings] == ["MK404"] * 3
    assert all("; they fit 30 frames a second" in f.message for f in result.findings)


@pytest.mark.parametrize("name", ["qvel", "body_lin_vel_w", "body_ang_vel_w"])
def test_one_wrong_velocity(clean, robot, name):
    reference = with_array(clean, name, lambda a: a.reshape(121, -1).__setitem__((50, 2), 1.0))
    finding = found(reference, robot, "MK404")
    assert finding.frame == 50
    assert codes(reference, robot) == ["MK404"]


def test_velocities_of_centres_of_mass_are_not_those_of_link_origins(clean, robot):
    def shift(velocity):
        arm = rotation.rotate(clean.body_quat_w.astype(float), np.array([0.1, 0, 0]))
        velocity += np.cross(clean.body_ang_vel_w, arm).astype(np.float32)

    assert codes(with_array(clean, "body_lin_vel_w", shift), robot) == ["MK404"]


def test_bodies_that_kinematics_does_not_give(clean, robot):
    reference = with_array(clean, "body_pos_w", lambda a: a[70, 3].__iadd__(0.001))
    finding = found(reference, robot, "MK405")
    assert (finding.where, finding.frame) == ("left", 70)
    assert codes(reference, robot) == ["MK405"]


def test_bodies_in_another_order_are_told(clean, robot):
    reference = with_array(clean, "body_pos_w", lambda a: a.__setitem__(..., a[:, ::-1].copy()))
    assert "they fit in another order of the bodies" in found(reference, robot, "MK405").message


def test_quaternions_in_xyzw_are_told(clean, robot):
    reference = with_array(clean, "body_quat_w", lambda a: a.__setitem__(..., np.roll(a, -1, -1)))
    finding = found(reference, robot, "MK405")
    assert "they fit as xyzw" in finding.message
    assert codes(reference, robot) == ["MK405"]


def test_a_yawed_start_is_no_false_alarm(robot):
    def change(qpos):
        qpos[:, 3:7] = rotation.from_axis_angle("Z", np.asarray(2.8))

    reference = moved(robot, change, contact=None, target_pos_w=None, target_quat_w=None)
    assert codes(reference, robot) == ["MK305"]


@pytest.mark.parametrize("name, column", [("qpos", 3), ("body_quat_w", 8), ("target_quat_w", 4)])
def test_a_quaternion_that_is_not_unit(clean, robot, name, column):
    def scale(array):
        array.reshape(121, -1)[20, column : column + 4] *= 1.001

    reference = with_array(clean, name, scale)
    finding = found(reference, robot, "MK406")
    assert finding.frame == 20
    assert name in finding.where
    assert finding.value == pytest.approx(1e-3, rel=1e-3)
    assert codes(reference, robot) == ["MK406"]


@pytest.mark.parametrize("name, column", [("qpos", 3), ("body_quat_w", 8), ("target_quat_w", 4)])
def test_a_quaternion_whose_sign_flips(clean, robot, name, column):
    def flip(array):
        array.reshape(121, -1)[60:, column : column + 4] *= -1

    reference = with_array(clean, name, flip)
    finding = found(reference, robot, "MK407")
    assert finding.frame == 59
    assert name in finding.where
    assert codes(reference, robot) == ["MK407"]


def test_a_reference_of_another_robot(clean, robot, tmp_path):
    from builders import GANTRY, profile, write_robot

    other = load_robot(write_robot(tmp_path, GANTRY.replace("0.2 0 0", "0.25 0 0"),
                                   profile("trunk", "left", "right", "gantry")))  # fmt: skip
    finding = found(clean, other, "MK408")
    assert finding.message.startswith("sha256 is ")
    renamed = replace(robot, joint_names=("x", *robot.joint_names[1:]))
    assert found(clean, renamed, "MK408").message == (
        "joint order is neck at 0, the robot's is x at 0")  # fmt: skip
    assert codes(clean, renamed) == ["MK408"]


def test_what_the_reader_noticed_is_among_the_findings(robot):
    notes = (Note("MK102", "rate 30 given", 30.0, "1/s"), Note("MK199", "from the future"))
    reference = gantry_reference(robot, provenance=replace(PROVENANCE, notes=notes))
    result = audit_reference(reference, robot)
    assert [(f.code, f.name, f.severity, f.value) for f in result.findings] == [
        ("MK102", CHECKS["MK102"].name, CHECKS["MK102"].severity, 30.0),
        ("MK199", "unknown", "info", None),
    ]  # fmt: skip


def test_a_minute_is_audited_at_once(robot):
    qpos, contact, pos, quat = gantry_walk(robot, 1800)
    reference = gantry_reference(robot, qpos=qpos, contact=contact, target_pos_w=pos,
                                 target_quat_w=quat)  # fmt: skip
    start = time.process_time()
    assert audit_reference(reference, robot).findings == ()
    assert time.process_time() - start < 1.5  # 0.1 s measured; slow machines and checked shapes
