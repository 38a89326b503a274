import mujoco
import numpy as np
import pytest
from builders import profile, random_mjcf, write_robot

from motionkit import rotation
from motionkit.errors import AssetError
from motionkit.mjcf import collision_surface, compile_mjcf, joint_range, read_tree
from motionkit.robot import load_robot

TREE = """<body name="root"><freejoint/><geom size="0.1"/>{root}
  <body name="left"><joint name="l" {joint}/><geom size="0.1"/></body>
  <body name="right"><geom size="0.1"/></body></body>{world}"""
PROFILE = profile("root", "left", "right")


def mjcf(*, head="", root="", joint='type="hinge"', world=""):
    body = TREE.format(root=root, joint=joint, world=world)
    return f'<mujoco><compiler angle="radian"/>{head}<worldbody>{body}</worldbody></mujoco>'


NAN = '<geom name="g" size="0.1" pos="0 nan 0"/>'
FAULTS = {
    "nan": (mjcf(root=NAN), "made.xml: <geom> g: pos is '0 nan 0'"),
    "inf": (mjcf(joint='damping="-Infinity"'), "made.xml: <joint> l: damping is '-Infinity'"),
    "entity": ('<!DOCTYPE m [<!ENTITY a "b">]>' + mjcf(), "made.xml: the model declares XML"),
    "malformed": (mjcf()[:-4], "made.xml: not well-formed XML: "),
    "empty": ("", "made.xml: not well-formed XML: no element found"),
    "no mujoco": ("<robot/>", "made.xml: found 0 free joints"),
    "ball joint": (mjcf(joint='type="ball"'), "made.xml: joint l is a ball joint"),
    "no free root": (
        mjcf().replace("<freejoint/>", ""), "made.xml: found 0 free joints, expected one",
    ),
    "two free roots": (
        mjcf(world='<body name="box"><freejoint/><geom size="1"/></body>'),
        "made.xml: found 2 free joints, expected one, on the first body",
    ),
    "joint elsewhere": (
        mjcf(world='<body><joint name="door"/><geom size="1"/></body>'),
        "made.xml: joint door does not hang from the free root",
    ),
    "unknown attribute": (mjcf(joint='wobble="1"'), "made.xml: MuJoCo refuses the model: "),
    "range that is none": (mjcf(joint='range="1 -1"'), "made.xml: joint l: range is '1 -1'"),
    "missing mesh": (
        mjcf(head='<asset><mesh file="none.stl"/></asset>'),
        "made.xml: <mesh> refers to none.stl, which is missing",
    ),
    "mesh outside": (
        mjcf(head='<compiler meshdir=".."/><asset><mesh file="secret.stl"/></asset>'),
        "made.xml: <mesh> refers to secret.stl, outside the model's folder",
    ),
    "absolute": (
        mjcf(head='<asset><texture type="2d" file="/etc/hostname"/></asset>'),
        "made.xml: <texture> refers to /etc/hostname, outside the model's folder",
    ),
    "cube side": (
        mjcf(head='<asset><texture type="cube" fileright="../r.png"/></asset>'),
        "made.xml: <texture> refers to ../r.png, outside the model's folder",
    ),
    "missing include": (
        mjcf(head='<include file="rest.xml"/>'),
        "made.xml: <include> refers to rest.xml, which is missing",
    ),
    "include of itself": (
        mjcf(head='<include file="made.xml"/>'), "made.xml: includes nest deeper than 8",
    ),
    "flat mesh": (
        mjcf(head='<asset><mesh name="flat" file="flat.obj" inertia="shell"/></asset>',
             root='<geom type="mesh" mesh="flat" mass="1"/>'),
        "made.xml: MuJoCo refuses the model: ",
    ),
    "narrow range": (
        mjcf(joint='limited="true" range="0.1 0.10000000001"'),
        "made.xml: joint l has the range [0.1, 0.10000000001], which holds no float32 number",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_model_that_cannot_be_used_is_refused_in_one_line(tmp_path, fault):
    text, message = FAULTS[fault]
    (tmp_path / "flat.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3\nf 1 3 4\n")
    with pytest.raises(AssetError) as caught:
        load_robot(write_robot(tmp_path, text, PROFILE))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value) + caught.value.help


def test_the_model_of_the_faults_is_sound_without_its_fault(tmp_path):
    assert load_robot(write_robot(tmp_path, mjcf(), PROFILE)).joint_names == ("l",)


def test_text_that_is_not_utf8_is_refused(tmp_path):
    path = write_robot(tmp_path, mjcf(), PROFILE)
    for content in (mjcf().encode("utf-16"), b"\xff\xfe\x00", b"\x89PNG\r\n"):
        path.write_bytes(content)
        with pytest.raises(AssetError, match=r"not UTF-8 text|not well-formed XML") as caught:
            load_robot(path)
        assert "\n" not in str(caught.value)


def test_names_that_look_like_numbers_are_names(tmp_path):
    text = mjcf(root='<geom name="nan" class="inf" size="0.1"/>',
                head='<default><default class="inf"/></default>')  # fmt: skip
    load_robot(write_robot(tmp_path, text, PROFILE))


CUBE = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1)) + "".join(
    f"f {a} {b} {c}\n"
    for a, b, c in ((1, 3, 2), (2, 3, 4), (5, 6, 7), (6, 8, 7), (1, 2, 5), (2, 6, 5),
                    (3, 7, 4), (4, 7, 8), (1, 5, 3), (3, 5, 7), (2, 4, 6), (4, 8, 6))
)  # fmt: skip


def test_files_of_included_parts_are_found_and_are_part_of_the_hash(tmp_path):
    (tmp_path / "meshes").mkdir()
    mesh = tmp_path / "meshes" / "cube.obj"
    mesh.write_text(CUBE)
    part = tmp_path / "parts.xml"
    part.write_text('<mujocoinclude><asset><mesh name="cube" file="cube.obj"/></asset>'
                    "</mujocoinclude>")  # fmt: skip
    text = mjcf(head='<compiler meshdir="meshes"/><include file="parts.xml"/>',
                root='<geom type="mesh" mesh="cube"/>')  # fmt: skip
    first = load_robot(write_robot(tmp_path, text, PROFILE))
    mesh.write_text(CUBE.replace("v 1 1 1", "v 1 1 2"))
    second = load_robot(tmp_path / "made.xml")
    part.write_text(part.read_text().replace("<asset>", "<asset> "))
    third = load_robot(tmp_path / "made.xml")
    assert len({first.sha256, second.sha256, third.sha256}) == 3


def test_limits_are_rounded_inwards_to_float32(tmp_path):
    seen = 0
    for seed in range(6):
        path = write_robot(tmp_path, random_mjcf(np.random.default_rng(seed)),
                           profile("b0", "b10", "b11"))  # fmt: skip
        model, _ = compile_mjcf(path.name, path.read_bytes(), path.parent)
        _, joints, _ = read_tree("made", model)
        stored = joint_range("made", model, joints)
        exact = model.jnt_range[list(joints)]
        np.testing.assert_array_equal(stored.astype(np.float32).astype(np.float64), stored)
        assert np.all(stored[:, 0] >= exact[:, 0]) and np.all(stored[:, 1] <= exact[:, 1])
        gap = np.abs(stored - exact)
        assert np.all(gap <= np.spacing(np.abs(exact).astype(np.float32)))
        seen += np.count_nonzero(gap)
    assert seen > 20


def test_a_joint_without_limits_has_an_infinite_range(tmp_path):
    robot = load_robot(write_robot(tmp_path, mjcf(), PROFILE))
    np.testing.assert_array_equal(robot.joint_range, [[-np.inf, np.inf]])


SHAPES = {
    "sphere": 'type="sphere" size="0.07"',
    "capsule": 'type="capsule" size="0.05 0.2"',
    "box": 'type="box" size="0.1 0.2 0.3"',
    "cylinder": 'type="cylinder" size="0.1 0.2"',
    "ellipsoid": 'type="ellipsoid" size="0.1 0.2 0.3"',
    "mesh": 'type="mesh" mesh="cube"',
}
# Share of the shape's size by which the lowest sphere may stay above the lowest point: the rim of
# a cylinder has 16 points (1 - cos(π/16) = 1.9%), an ellipsoid 26 directions.
SLACK = {"cylinder": 0.02, "ellipsoid": 0.1}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_surface_has_the_lowest_point_of_a_shape_against_any_plane(tmp_path, shape):
    (tmp_path / "cube.obj").write_text(CUBE)
    geom = f'<geom {SHAPES[shape]} pos="0.3 -0.1 0.2" quat="0.5 0.1 -0.7 0.4"/>'
    text = mjcf(head='<asset><mesh name="cube" file="cube.obj"/></asset>', root=geom)
    text = text.replace('<geom size="0.1"/>', "", 1)  # the root's own
    path = write_robot(tmp_path, text, PROFILE)
    model, _ = compile_mjcf(path.name, path.read_bytes(), path.parent)
    surface = collision_surface(model, (1,))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    rng = np.random.default_rng(6)
    for quat in rotation.normalize(rng.normal(size=(40, 4))):
        direction = rotation.rotate(quat, np.array([0.0, 0.0, 1.0]))
        lowest = np.min(surface.center @ direction - surface.radius)
        exact = support(model, data, direction)
        size = np.abs(model.geom_size[0]).max()
        slack = SLACK.get(shape, 0.0) * size
        assert exact - 1e-6 <= lowest <= exact + slack + 1e-6  # meshes are stored in float32


def support(model, data, direction):
    """Lowest coordinate of the first geom along a direction, densely sampled or exact."""
    center, mat = data.geom_xpos[0], data.geom_xmat[0].reshape(3, 3)
    local, size = mat.T @ direction, model.geom_size[0]
    kind = mujoco.mjtGeom(model.geom_type[0])
    types = mujoco.mjtGeom
    if kind == types.mjGEOM_SPHERE:
        reach = size[0]
    elif kind == types.mjGEOM_CAPSULE:
        reach = size[0] + size[1] * abs(local[2])
    elif kind == types.mjGEOM_BOX:
        reach = size @ np.abs(local)
    elif kind == types.mjGEOM_CYLINDER:
        reach = size[0] * np.hypot(local[0], local[1]) + size[1] * abs(local[2])
    elif kind == types.mjGEOM_ELLIPSOID:
        reach = np.linalg.norm(size * local)
    else:
        reach = np.max(model.mesh_vert @ -local)
    return center @ direction - reach


def test_geoms_that_do_not_collide_and_planes_are_no_part_of_the_surface(tmp_path):
    text = mjcf(root='<geom size="9" contype="0" conaffinity="0"/>',
                world='<geom type="plane" size="1 1 1"/>')  # fmt: skip
    surface = load_robot(write_robot(tmp_path, text, PROFILE)).surface
    np.testing.assert_array_equal(surface.body_index, [0, 1, 2])
    np.testing.assert_array_equal(surface.radius, [0.1, 0.1, 0.1])
