"""A profile whose T-pose is none, is refused; one that is roughly a T, is not."""

import numpy as np
import pytest
from builders import write_robot

from motionkit.errors import ConfigError
from motionkit.robot import load_robot

# Arms hang at rest; roll lifts them, as on many humanoids.
MJCF = """<mujoco><compiler angle="radian" autolimits="true"/><worldbody>
<body name="base"><freejoint/><geom size="0.1"/>{sides}</body></worldbody></mujoco>"""
SIDE = """<body name="{s}_thigh" pos="0 {y} -0.1"><joint name="{s}_hip" axis="0 1 0"/>
<geom size="0.05"/><body name="{s}_heel" pos="0 0 -0.8"><geom size="0.05"/>
<body name="{s}_toe" pos="0.1 0 0"><geom size="0.03"/></body></body></body>
<body name="{s}_upper" pos="0 {y} 0.4"><joint name="{s}_roll" axis="1 0 0"/><geom size="0.05"/>
<body name="{s}_fore" pos="0 0 -0.3"><joint name="{s}_elbow" axis="0 1 0"/><geom size="0.05"/>
<body name="{s}_hand" pos="0 0 -0.25"><joint name="{s}_wrist" axis="1 0 0"/><geom size="0.05"/>
</body></body></body>"""
HUMAN = {"thigh": "hip", "heel": "ankle", "upper": "shoulder", "fore": "elbow", "hand": "wrist"}
LIFTED = {"left_roll": 1.57, "right_roll": -1.57}


def load(folder, tpose=LIFTED, *, forward="+x", swap=False, without=(), toe="toe"):
    sides = "".join(
        SIDE.format(s=side, y=y) for side, y in (("left", 0.1), ("right", -0.1))
    )  # fmt: skip
    named = ("right", "left") if swap else ("left", "right")
    lines = ["schema = 1", 'name = "made"', f'forward = "{forward}"', "[landmarks]",
             'base = {human = "pelvis"}']  # fmt: skip
    for side, own in zip(("left", "right"), named, strict=True):
        lines += [f'{own}_{part} = {{human = "{side}_{human}"}}'
                  for part, human in HUMAN.items() if human not in without]  # fmt: skip
        lines.append(f'{own}_toe = {{human = "{side}_foot"}}')
    for side, own in zip(("left", "right"), named, strict=True):
        heel, front = ("heel", "toe") if toe == "toe" else ("toe", "heel")
        lines += [f"[feet.{side}]", f'heel = "{own}_{heel}"', f'toe = "{own}_{front}"']
    lines += ["[tpose]", *(f"{joint} = {value}" for joint, value in tpose.items())]
    mjcf = MJCF.format(sides=sides)
    return load_robot(write_robot(folder, mjcf, "\n".join(lines)))


def refusal(*arguments, **settings):
    with pytest.raises(ConfigError) as caught:
        load(*arguments, **settings)
    assert "--picture" in caught.value.help
    return caught.value


def test_a_robot_in_a_t_loads(tmp_path):
    assert load(tmp_path).num_joints == 8


@pytest.mark.parametrize("degrees", [-25.0, 25.0])
def test_arms_that_are_roughly_lateral_are_a_t(tmp_path, degrees):
    lifted = 1.57 + np.radians(degrees)
    load(tmp_path, {"left_roll": lifted, "right_roll": -lifted})


def test_arms_that_hang_are_refused_and_the_joints_that_lift_them_are_named(tmp_path):
    error = refusal(tmp_path, {})
    assert str(error) == (
        "made: the line from left_shoulder to left_elbow is 90 degrees away from pointing straight "
        "left in the T-pose"
    )
    assert error.help.endswith("in [tpose] of its joints: left_roll, left_elbow")


def test_one_arm_of_the_wrong_sign_is_refused(tmp_path):
    error = refusal(tmp_path, {"left_roll": 1.57, "right_roll": 1.57})
    assert "right_shoulder to right_elbow is 180 degrees away" in str(error)
    assert error.help.endswith(": right_roll, right_elbow")


def test_a_forearm_that_points_ahead_is_refused(tmp_path):
    """With the upper arm alone lifted, the elbow's hinge turns the forearm to the front."""
    error = refusal(tmp_path, {**LIFTED, "left_elbow": -1.57})
    assert "from left_elbow to left_wrist is 90 degrees away" in str(error)


@pytest.mark.parametrize("forward", ["+y", "-y", "-x"])
def test_another_forward_than_the_models_is_refused(tmp_path, forward):
    error = refusal(tmp_path, forward=forward)
    assert "left_hip does not lie to the left of right_hip" in str(error)
    assert "set forward to where the model faces at rest" in error.help


@pytest.mark.parametrize("forward, degrees", [("+y", 90), ("-x", 180), ("-y", -90)])
def test_the_forward_of_a_model_that_faces_elsewhere_makes_its_t_pose_face_x(
    tmp_path, forward, degrees
):
    """The pose of the root is motion, not model: facing elsewhere is bodies turned inside it."""
    half = np.radians(degrees) / 2
    inner = f'<body name="inner" quat="{np.cos(half)} 0 0 {np.sin(half)}"><geom size="0.1"/>'
    sides = inner + "".join(SIDE.format(s=s, y=y) for s, y in (("left", 0.1), ("right", -0.1)))
    load(tmp_path / "x")
    text = (tmp_path / "x" / "made.toml").read_text()
    mjcf = MJCF.format(sides=sides + "</body>")
    with pytest.raises(ConfigError, match="left_hip does not lie to the left"):
        load_robot(write_robot(tmp_path / "y", mjcf, text))
    load_robot(write_robot(tmp_path / "z", mjcf, text.replace('"+x"', f'"{forward}"')))


def test_exchanged_sides_are_refused(tmp_path):
    assert "left_hip does not lie to the left" in str(refusal(tmp_path, swap=True))


def test_legs_that_do_not_hang_are_refused(tmp_path):
    error = refusal(tmp_path, {**LIFTED, "right_hip": -1.57})
    assert "from right_hip to right_ankle is 90 degrees away from straight down" in str(error)


def test_heels_and_toes_that_are_exchanged_are_refused(tmp_path):
    assert "left_heel lies behind left_toe" in str(refusal(tmp_path, toe="heel"))


def test_robots_without_arms_or_hips_are_asked_for_what_they_have(tmp_path):
    load(tmp_path / "a", {}, without={"shoulder", "elbow", "wrist"})
    load(tmp_path / "b", {}, without={"elbow", "wrist"})
    error = refusal(tmp_path / "c", {}, without={"elbow"})
    assert "from left_shoulder to left_wrist is 90 degrees away" in str(error)
    error = refusal(tmp_path / "d", forward="-x", without={"hip"})
    assert "left_shoulder does not lie to the left" in str(error)


G1_MARKS = {
    "pelvis": "pelvis", "left_hip_yaw_link": "left_hip", "left_ankle_roll_link": "left_ankle",
    "left_shoulder_roll_link": "left_shoulder", "left_elbow_link": "left_elbow",
    "left_wrist_yaw_link": "left_wrist",
}  # fmt: skip
G1_TPOSE = """[tpose]
left_shoulder_roll_joint = 1.57
right_shoulder_roll_joint = -1.57
left_elbow_joint = 1.57
right_elbow_joint = 1.57"""


def test_a_real_humanoid_needs_its_shoulders_and_elbows(shared, tmp_path):
    model = shared / "data" / "robots" / "unitree_g1" / "g1.xml"
    both = G1_MARKS | {
        body.replace("left_", "right_"): human.replace("left_", "right_")
        for body, human in G1_MARKS.items()
    }
    feet = "".join(f'[feet.{s}]\nheel = "{s}_ankle_roll_link"\n' for s in ("left", "right"))
    marks = "".join(f'{body} = {{human = "{human}"}}\n' for body, human in both.items())
    base = f'schema = 1\nname = "g1"\n[landmarks]\n{marks}{feet}'
    path = tmp_path / "robot.toml"
    path.write_text(base + G1_TPOSE)
    assert load_robot(model, profile=path).name == "g1"
    for left_out in ("shoulder", "elbow"):
        lines = [line for line in G1_TPOSE.splitlines() if left_out not in line]
        path.write_text(base + "\n".join(lines))
        with pytest.raises(ConfigError, match="degrees away from pointing straight left") as caught:
            load_robot(model, profile=path)
        assert "left_shoulder_roll_joint" in caught.value.help
        assert "left_elbow_joint" in caught.value.help
        assert "hip" not in caught.value.help and "waist" not in caught.value.help
