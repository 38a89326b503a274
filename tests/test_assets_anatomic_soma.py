"""The compiled model of anatomic_soma against what its sources state."""

import json
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from motionkit.assets import robot_files
from motionkit.assets.anatomic_soma import build_mjcf, build_profile
from motionkit.assets.anatomic_soma.inertia import solid_inertia
from motionkit.assets.anatomic_soma.table import PARTS, Box, Capsule

mujoco = pytest.importorskip("mujoco")

DESIGN = Path(__file__).parents[2] / "shared" / "design"
needs_design = pytest.mark.skipif(not DESIGN.is_dir(), reason="../shared/design is absent")

SERIES = {
    "Spine1": "zyx", "Spine2": "zyx", "Chest": "zyx", "Neck1": "zyx", "Neck2": "z", "Head": "zyx",
    "Shoulder": "xyz", "Arm": "xzy", "ForeArm": "z", "Hand": "yxz",
    "Leg": "xyz", "Shin": "x", "Foot": "xyz", "ToeBase": "x",
}  # fmt: skip


@pytest.fixture(scope="module")
def robot():
    model = mujoco.MjModel.from_xml_string(robot_files("anatomic_soma")[0])
    data = mujoco.MjData(model)
    bodies = [model.body(i).name for i in range(1, model.nbody)]
    joints = [model.joint(i).name for i in range(1, model.njnt)]
    return SimpleNamespace(model=model, data=data, bodies=bodies, joints=joints)


def split(body):
    for side in ("Left", "Right"):
        if body.startswith(side):
            return side, body[len(side) :]
    return "", body


def pose(robot, angles):
    """Data at the rest pose with some joints [rad] set."""
    mujoco.mj_resetData(robot.model, robot.data)
    for joint, angle in angles.items():
        robot.data.joint(joint).qpos[0] = angle
    mujoco.mj_kinematics(robot.model, robot.data)
    mujoco.mj_comPos(robot.model, robot.data)
    return robot.data


def test_the_files_in_the_package_are_rebuilt_byte_for_byte():
    assert (build_mjcf(), build_profile()) == robot_files("anatomic_soma"), (
        "the table was changed: motionkit robots build anatomic_soma"
    )


def test_counts(robot):
    model = robot.model
    assert (len(robot.bodies), model.nq, model.nv, model.nu) == (53, 59, 58, 52)
    assert sum(name.endswith("_link") for name in robot.bodies) == 30
    assert model.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE
    assert np.all(model.jnt_type[1:] == mujoco.mjtJoint.mjJNT_HINGE)
    assert (model.nmesh, model.ntex, model.ngeom) == (0, 0, 39)


def test_bodies_are_depth_first_with_the_right_limbs_first(robot):
    parts = [b for b in robot.bodies if not b.endswith("_link")]
    trunk = ["Hips", "Spine1", "Spine2", "Chest", "Neck1", "Neck2", "Head"]
    arm, leg = ["Shoulder", "Arm", "ForeArm", "Hand"], ["Leg", "Shin", "Foot", "ToeBase"]
    limbs = [side + part for limb in (arm, leg) for side in ("Right", "Left") for part in limb]
    assert parts == trunk + limbs


def test_carriers_are_named_by_position_and_share_the_origin_of_their_part(robot):
    model = robot.model
    expected = []
    for body in (b for b in robot.bodies if not b.endswith("_link")):
        order = SERIES.get(split(body)[1], "")
        chain = [f"{body}_x_link", f"{body}_y_link", body] if len(order) == 3 else [body]
        expected += chain
        for letter, holder in zip(order, chain, strict=True) if order else ():
            joint = model.joint(f"{body}_{letter}")
            assert model.body(joint.bodyid[0]).name == holder
        for parent, child in pairwise(chain):
            assert model.body(model.body(child).parentid[0]).name == parent
            assert not np.any(model.body(child).pos)
    assert robot.bodies == expected
    assert np.all(model.body_quat == [1, 0, 0, 0])
    assert not np.any(model.jnt_pos)


def test_joints_follow_the_bodies_and_actuators_the_joints(robot):
    model = robot.model
    assert np.all(np.diff(model.jnt_bodyid) == 1)  # one joint a body, in the order of the bodies
    assert list(model.actuator_trnid[:, 0]) == list(range(1, 53))
    assert [model.actuator(i).name for i in range(52)] == robot.joints


def test_axes_carry_somas_letters_and_left_lateral_axes_are_negated(robot):
    for joint in set(robot.joints) - {"Neck2_z"}:
        lateral = -1.0 if joint.startswith("Left") else 1.0
        expected = {"x": (0, lateral, 0), "y": (-1, 0, 0), "z": (0, 0, 1)}[joint[-1]]
        assert np.array_equal(robot.model.joint(joint).axis, expected), joint


def test_neck2_turns_about_the_line_to_the_head(robot):
    offset = robot.model.body("Head_x_link").pos
    axis = robot.model.joint("Neck2_z").axis
    assert np.allclose(axis, offset / np.linalg.norm(offset), atol=1e-9)
    assert np.degrees(np.arctan2(axis[0], axis[2])) == pytest.approx(17.65, abs=0.005)
    assert np.degrees(robot.model.joint("Neck2_z").range) == pytest.approx([-30, 30])


SIGNS = [  # joint, body whose point moves, point in it, world direction it goes in
    ("RightLeg_x", -0.5, "RightShin", (0, 0, 0), (1, 0, 0)),  # hip flexion
    ("RightLeg_y", 0.5, "RightShin", (0, 0, 0), (0, -1, 0)),  # abduction
    ("RightLeg_z", 0.5, "RightToeBase", (0, 0, 0), (0, 1, 0)),  # internal rotation
    ("RightShin_x", 0.5, "RightFoot", (0, 0, 0), (-1, 0, 0)),  # knee flexion
    ("RightFoot_x", 0.5, "RightToeBase", (0, 0, 0), (0, 0, -1)),  # plantarflexion
    ("RightFoot_y", 0.3, "RightFoot", (0, 0, -0.1), (0, -1, 0)),  # eversion: sole outwards
    ("RightFoot_z", 0.3, "RightToeBase", (0, 0, 0), (0, 1, 0)),  # toes in
    ("RightToeBase_x", -0.5, "RightToeBase", (0.1, 0, 0), (0, 0, 1)),  # toe extension
    ("RightForeArm_z", 0.5, "RightHand", (0, 0, 0), (1, 0, 0)),  # elbow flexion
    ("RightArm_y", 0.5, "RightForeArm", (0, 0, 0), (0, 0, 1)),  # raise
    ("RightArm_z", 0.5, "RightForeArm", (0, 0, 0), (1, 0, 0)),  # forward from the T-pose
    ("RightShoulder_y", 0.3, "RightArm", (0, 0, 0), (0, 0, 1)),  # shrug
    ("RightShoulder_z", 0.3, "RightArm", (0, 0, 0), (1, 0, 0)),  # protraction
    ("RightHand_y", 0.5, "RightHand", (0, -0.1, 0), (0, 0, 1)),  # extension
    ("RightHand_z", 0.4, "RightHand", (0, -0.1, 0), (1, 0, 0)),  # radial deviation
    ("Spine1_x", 0.3, "Head", (0, 0, 0), (1, 0, 0)),  # bow
    ("Spine1_y", 0.3, "Head", (0, 0, 0), (0, 1, 0)),  # lean to the left
    ("Spine1_z", 0.2, "Head", (0.5, 0, 0), (0, 1, 0)),  # twist to the left
]


@pytest.mark.parametrize(("joint", "angle", "body", "point", "direction"), SIGNS)
def test_positive_means_what_the_anatomy_says(robot, joint, angle, body, point, direction):
    def place(angles):
        data = pose(robot, angles)
        return data.body(body).xpos + data.body(body).xmat.reshape(3, 3) @ point

    moved = place({joint: angle}) - place({})
    assert moved @ np.array(direction) > 0.5 * np.linalg.norm(moved) > 0.01


def test_a_hanging_right_arm_swings_forward_with_negative_x(robot):
    hanging = pose(robot, {"RightArm_y": -1.5}).body("RightHand").xpos.copy()
    forward = pose(robot, {"RightArm_y": -1.5, "RightArm_x": -0.5}).body("RightHand").xpos
    assert forward[0] - hanging[0] > 0.2


@needs_design
def test_hinges_axes_and_motors_are_those_of_the_design_table(robot):
    design = json.loads((DESIGN / "anatomic_soma_joints.json").read_text())
    assert [hinge["name"] for hinge in design["hinges"]] == robot.joints
    for hinge in design["hinges"]:
        joint = robot.model.joint(hinge["name"])
        assert np.allclose(joint.axis, hinge["axis_xfwd"], atol=1e-6)
        assert robot.model.body(joint.bodyid[0]).name == hinge["carrier_body"]
        assert joint.armature[0] == pytest.approx(hinge["armature"], rel=1e-5)


@needs_design
def test_the_rest_pose_is_the_t_pose_of_soma23(robot):
    design = json.loads((DESIGN / "soma23_structure.json").read_text())
    data = pose(robot, {})
    for body in design["bodies"]:
        place = data.body(body["name"]).xpos - data.body("Hips").xpos
        assert np.allclose(place, body["rest_world_pos_xfwd"], atol=6e-5)  # printed to 0.1 mm
        parent = body["parent"]
        if parent:
            offset = data.body(body["name"]).xpos - data.body(parent).xpos
            assert np.allclose(offset, body["offset_xfwd"], atol=1e-15)
        assert np.array_equal(data.body(body["name"]).xquat, [1, 0, 0, 0])
    assert robot.model.body_mass.sum() == pytest.approx(design["total_mass_kg"], abs=1e-4)


@needs_design
def test_the_observed_motion_is_within_the_ranges(robot):
    design = json.loads((DESIGN / "anatomic_soma_joints.json").read_text())
    # The left wrist of that clip passes the gimbal: its figures are of a jumping projection.
    for hinge in (h for h in design["hinges"] if not h["name"].startswith("LeftHand")):
        low, high = np.degrees(robot.model.joint(hinge["name"]).range)
        assert low <= hinge["observed_deg_kimodo_clip"][0], hinge["name"]
        assert hinge["observed_deg_kimodo_clip"][1] <= high, hinge["name"]


def test_it_stands_as_tall_as_soma23_on_level_soles(robot):
    model = robot.model
    mujoco.mj_forward(model, robot.data)
    data = pose(robot, {})
    bottom = {}
    for i in range(model.ngeom):
        name = model.geom(i).name
        if "rail" in name:
            ends = data.geom_xmat[i].reshape(3, 3)[:, 2] * model.geom_size[i, 1]
            assert abs(ends[2]) < 1e-12  # along +X, level
            bottom[name] = data.geom_xpos[i, 2] - model.geom_size[i, 0]
    assert len(bottom) == 20
    assert np.ptp(list(bottom.values())) < 1e-3
    assert min(bottom.values()) == pytest.approx(0.0, abs=1e-12)
    assert data.body("Hips").xpos[2] == pytest.approx(0.983, abs=5e-4)
    head = data.body("Head").xpos[2] + 0.07 + 0.105
    assert head == pytest.approx(1.7565, abs=1e-4)


def test_collision_primitives_are_those_described(robot):
    model = robot.model
    kinds = {model.geom(i).name: int(model.geom_type[i]) for i in range(model.ngeom)}
    boxes = [name for name, kind in kinds.items() if kind == mujoco.mjtGeom.mjGEOM_BOX]
    assert boxes == ["Head"]
    capsules = [name for name, kind in kinds.items() if kind == mujoco.mjtGeom.mjGEOM_CAPSULE]
    assert len(capsules) == 38
    for body in ("LeftFoot", "LeftToeBase", "RightFoot", "RightToeBase"):
        assert {f"{body}_rail{i}" for i in range(5)} <= set(capsules)
    assert model.geom("Neck1").size[0] == 0.029
    assert model.geom("LeftShoulder").size[0] == model.geom("RightShoulder").size[0] == 0.033
    data = pose(robot, {})
    for body in ("Hips", "Spine1", "Spine2", "Chest"):
        assert abs(data.geom(body).xmat.reshape(3, 3)[1, 2]) == pytest.approx(1.0)  # side to side
    assert np.all(model.geom_contype == 1) and np.all(model.geom_conaffinity == 1)


def test_only_neighbours_are_excluded_and_nothing_overlaps_at_rest(robot):
    model, data = robot.model, pose(robot, {})
    parts = [b for b in robot.bodies if not b.endswith("_link")]
    parent = {b: _parent_part(model, b) for b in parts}

    excluded = {tuple(sorted((int(s) >> 16, int(s) & 0xFFFF))) for s in model.exclude_signature}
    for a, b in excluded:
        steps = _steps(parent, model.body(a).name, model.body(b).name)
        assert steps <= 3, (model.body(a).name, model.body(b).name)
    gaps = []
    for g in range(model.ngeom):
        for h in range(g):
            pair = tuple(sorted((int(model.geom_bodyid[g]), int(model.geom_bodyid[h]))))
            if pair[0] != pair[1] and pair not in excluded:
                gaps.append(mujoco.mj_geomDistance(model, data, g, h, 0.1, None))
    assert min(gaps) > 0.002
    mujoco.mj_forward(model, data)
    assert data.ncon == 0


def _parent_part(model, body):
    while body != "world":
        body = model.body(model.body(body).parentid[0]).name
        if not body.endswith("_link"):
            return body
    return ""


def _line(parent, body):
    line = [body]
    while parent.get(line[-1], "world") not in {"", "world"}:
        line.append(parent[line[-1]])
    return line


def _steps(parent, a, b):
    """Parts from one to the other along the tree."""
    one, other = _line(parent, a), _line(parent, b)
    common = next(x for x in one if x in other)
    return one.index(common) + other.index(common)


def test_mass_is_explicit_physical_and_shared_with_the_carriers(robot):
    model = robot.model
    for i in range(1, model.nbody):
        assert model.body_mass[i] > 0
        a, b, c = np.sort(model.body_inertia[i])
        assert a > 0 and a + b >= c * (1 - 1e-12)
    for body in (b for b in robot.bodies if b.endswith("_link")):
        assert model.body(body).geomnum[0] == 0
        assert 0 < model.body(body).mass[0] < 0.15
    data = pose(robot, {})
    for part in PARTS:
        body = ("Right" if part.left_offset else "") + part.name
        own = [i for i in range(1, model.nbody) if model.body(i).name.startswith(body + "_")]
        own.append(model.body(body).id)
        mass = model.body_mass[own]
        com = mass @ data.xipos[own] / mass.sum() - data.body(body).xpos
        assert mass.sum() == pytest.approx(part.mass, rel=1e-9)
        assert np.allclose(com, solid_inertia(part.shape, part.mass).com, atol=1e-9)


def test_solid_inertia_agrees_with_mujoco_for_random_solids():
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.normal(size=(2, 3))
        radius, mass, half = rng.uniform(0.02, 0.5), rng.uniform(0.1, 9), rng.uniform(0.01, 1, 3)
        for shape, geom in [
            (Capsule(tuple(a), tuple(b), radius),
             f'type="capsule" fromto="{_join(a)} {_join(b)}" size="{radius!r}"'),
            (Box(tuple(a), tuple(half)), f'type="box" pos="{_join(a)}" size="{_join(half)}"'),
        ]:  # fmt: skip
            body = f'<body><geom {geom} mass="{mass!r}"/></body>'
            model = mujoco.MjModel.from_xml_string(
                f"<mujoco><worldbody>{body}</worldbody></mujoco>"
            )
            frame = np.zeros(9)
            mujoco.mju_quat2Mat(frame, model.body_iquat[1])
            frame = frame.reshape(3, 3)
            expected = frame @ np.diag(model.body_inertia[1]) @ frame.T
            own = solid_inertia(shape, mass)
            xx, yy, zz, xy, xz, yz = own.about_com
            assert np.allclose([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], expected, rtol=1e-9)
            assert np.allclose(own.com, model.body_ipos[1])


def _join(values):
    return " ".join(repr(float(v)) for v in values)
