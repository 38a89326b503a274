"""A profile that says what it does not mean is refused, with what was probably meant."""

import re
from pathlib import Path

import pytest
from builders import profile, write_robot

from motionkit.clip import SMPLH_JOINTS
from motionkit.errors import ConfigError
from motionkit.robot import JointBudget, load_robot

MJCF = """<mujoco><compiler angle="radian" autolimits="true"/><worldbody><body name="b0">
<freejoint/><geom size="0.1"/>
<body name="b1"><joint name="bent" axis="0 1 0" range="-0.5 1.6"/><geom size="0.1"/></body>
<body name="b2"><joint name="free" axis="0 1 0"/><geom size="0.1"/>
<body name="b3"><joint name="rail" type="slide" axis="1 0 0" range="0 0.2"/><geom size="0.1"/>
</body></body></body></worldbody></mujoco>"""
GOOD = profile("b0", "b1", "b2")


def swapped(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)


UNKNOWN = {
    "table": (GOOD + "\n[budgets]\nmax_velocity = 3", "made.xml: unknown key: budgets", "budget"),
    "other table": (GOOD + "\n[landmark.b3]", "made.xml: unknown key: landmark", "landmarks"),
    "value": ('fowrard = "+x"\n' + GOOD, "made.xml: unknown key: fowrard", "forward"),
    "landmark": (
        swapped("[landmarks.b1]\n", "[landmarks.b1]\nposition_wieght = 2\n"),
        "made: [landmarks.b1]: unknown key: position_wieght", "position_weight",
    ),
    "human": (
        swapped('"left_ankle"', '"left_ancle"'),
        "made: landmark b1 pairs with 'left_ancle'", "left_ankle",
    ),
    "foot": (
        swapped("[feet.left]\n", "[feet.left]\ntoes = 'b1'\n"),
        "made.xml: [feet.left]: unknown key: toes", "toe",
    ),
    "side": (
        GOOD + "\n[feet.Left]\nheel = 'b1'", "made.xml: [feet]: unknown key: Left", "left",
    ),
    "budget": (
        GOOD + "\n[budget]\nmax_velocty = 3",
        "made.xml: [budget]: unknown key: max_velocty", "max_velocity",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", UNKNOWN)
def test_an_unknown_key_is_refused_with_the_nearest_known_one(tmp_path, fault):
    text, message, near = UNKNOWN[fault]
    with pytest.raises(ConfigError) as caught:
        load_robot(write_robot(tmp_path, MJCF, text))
    assert str(caught.value) == message
    assert caught.value.help.startswith(f"did you mean {near}? ")
    assert f"{near}," in caught.value.help or caught.value.help.endswith(near)


def test_a_key_like_no_other_is_refused_with_all_that_there_are(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load_robot(write_robot(tmp_path, MJCF, GOOD + "\n[budget]\nzzz = 3"))
    assert caught.value.help == "the keys are: max_velocity, max_acceleration"


def test_tables_of_every_stage_may_stand_in_a_profile(tmp_path):
    tables = ("retarget", "clip", "read", "human", "audit", "motors", "mirror", "anchor", "track")
    text = 'title = "made"\nforward = "+x"\n' + GOOD + "".join(f"\n[{name}]" for name in tables)
    robot = load_robot(write_robot(tmp_path, MJCF, text + "\n[budget]\nmax_velocity = 7"))
    assert robot.budget == JointBudget(7.0, 300.0) and set(tables) <= set(robot.profile)


@pytest.mark.parametrize("key", ["retarget", "motors", "tpose", "budget"])
def test_a_value_in_the_place_of_a_table_is_refused(tmp_path, key):
    with pytest.raises(ConfigError, match=rf"made.xml: \[{key}\] is no table"):
        load_robot(write_robot(tmp_path, MJCF, f"{key} = 3\n" + GOOD))


def test_a_landmark_that_is_no_table_is_refused(tmp_path):
    text = swapped('[landmarks.b1]\nhuman = "left_ankle"', '[landmarks]\nb1 = "left_ankle"')
    with pytest.raises(ConfigError, match=r"made: \[landmarks.b1\] is no table"):
        load_robot(write_robot(tmp_path, MJCF, text))


def test_two_bodies_for_one_human_joint_are_refused(tmp_path):
    text = GOOD + '\n[landmarks.b3]\nhuman = "left_ankle"'
    with pytest.raises(ConfigError, match="made: b1 and b3 both pair with left_ankle"):
        load_robot(write_robot(tmp_path, MJCF, text))


OUTSIDE = {
    "bent = 90": ("[tpose] bent: found 90, outside the joint's range of -0.5 to 1.6", "radians"),
    "bent = -0.51": ("bent: found -0.51, outside the joint's range of -0.5 to 1.6", "radians"),
    "free = -90": ("free: found -90, outside the joint's range of -6.283 to 6.283", "radians"),
    "rail = 20": ("rail: found 20, outside the joint's range of 0 to 0.2", "metres"),
}


@pytest.mark.parametrize("line", OUTSIDE)
def test_a_t_pose_outside_a_joints_range_is_refused_with_the_unit(tmp_path, line):
    message, unit = OUTSIDE[line]
    with pytest.raises(ConfigError) as caught:
        load_robot(write_robot(tmp_path, MJCF, f"{GOOD}\n[tpose]\n{line}"))
    assert message in str(caught.value) and caught.value.help == f"give the value in {unit}"


def test_a_t_pose_on_a_limit_is_inside(tmp_path):
    robot = load_robot(write_robot(tmp_path, MJCF, f"{GOOD}\n[tpose]\nbent = 1.6\nrail = 0.2"))
    assert robot.tpose_qpos()[[7, 9]].tolist() == [1.6, 0.2]


DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "robots.md"


def test_the_document_names_every_human_joint_and_every_table():
    text = DOCUMENT.read_text("utf-8")
    for joint in SMPLH_JOINTS:
        finger = joint.removeprefix("left_").removeprefix("right_")
        assert f"`{joint}`" in text or f"`{finger}`" in text, f"{joint} is not in docs/robots.md"
    for table in ("retarget", "clip", "read", "human", "audit", "motors", "mirror", "anchor",
                  "track", "budget", "landmarks", "feet", "tpose"):  # fmt: skip
        assert re.search(rf"`?\[{table}[.\]]", text), f"[{table}] is not in docs/robots.md"


def test_the_whole_profile_of_the_document_fits_its_robot(shared, tmp_path):
    """Its hips and shoulders lie at the joint, not down the limb as the links after them."""
    (text,) = (
        block for block in re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text("utf-8"), re.S)
        if "unitree_g1" in block
    )  # fmt: skip
    path = tmp_path / "robot.toml"
    path.write_text(text)
    robot = load_robot(shared / "data" / "robots" / "unitree_g1" / "g1.xml", profile=path)
    pos, _ = robot.forward(robot.tpose_qpos()[None])
    body = {mark.human: robot.body_index(mark.body) for mark in robot.landmarks}
    for side in ("left", "right"):
        pitch = robot.body_index(f"{side}_hip_pitch_link")
        assert abs(pos[0, body[f"{side}_hip"], 2] - pos[0, pitch, 2]) < 0.04
        shoulder, wrist = pos[0, body[f"{side}_shoulder"]], pos[0, body[f"{side}_wrist"]]
        assert abs(wrist[1] - shoulder[1]) > 10 * abs(wrist[2] - shoulder[2])
