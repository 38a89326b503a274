"""Robots are listed, shown and built again byte for byte."""

import json
from pathlib import Path

import pytest
from builders import write_robot

from motionkit.cli.console import main


def test_the_bundled_robot_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["robots", "build", "anatomic_soma", "--check"]) == 0
    assert "up to date" in capsys.readouterr().err


def test_a_robot_is_built_where_asked_and_not_replaced_unasked(tmp_path: Path) -> None:
    arguments = ["robots", "build", "anatomic_soma", "--out", str(tmp_path / "mine")]
    assert main([*arguments, "--dry-run"]) == 0 and not (tmp_path / "mine").exists()
    assert main([*arguments, "--check"]) == 1 and not (tmp_path / "mine").exists()
    assert main(arguments) == 0
    from motionkit.assets import robot_files

    mjcf = tmp_path / "mine" / "anatomic_soma.xml"
    assert (mjcf.read_text(), (tmp_path / "mine" / "robot.toml").read_text()) == robot_files(
        "anatomic_soma"
    )
    assert main(arguments) == 0, "the same content is no conflict"
    mjcf.write_text("<mujoco/>")
    assert main(arguments) == 2 and mjcf.read_text() == "<mujoco/>"
    assert main([*arguments, "--overwrite"]) == 0 and len(mjcf.read_text()) > 1000


def test_what_is_shown_of_a_robot_is_what_is_loaded(capsys: pytest.CaptureFixture[str]) -> None:
    from motionkit.robot import load_robot

    robot = load_robot("anatomic_soma")
    assert main(["robots", "show", "anatomic_soma", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [joint["name"] for joint in shown["joints"]] == list(robot.joint_names)
    assert [joint["range"] for joint in shown["joints"]] == robot.joint_range.tolist()
    assert shown["sha256"] == robot.sha256
    assert shown["forward"] == "+x" and shown["tpose"] == {} and shown["picture"] is None
    assert shown["feet"]["left"] == {"heel": "LeftFoot", "toe": "LeftToeBase"}
    assert main(["robots", "show", "anatomic_soma"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8 + robot.num_joints + len(robot.landmarks)
    marks = [line.split() for line in lines if "<-" in line][1:]
    assert [(human, body) for human, _, body, *_ in marks] == [
        (mark.human, mark.body) for mark in robot.landmarks
    ]


def profile_text(arms: float) -> str:
    sides = "".join(
        f'[landmarks.{s}]\nhuman = "{s}_ankle"\n[landmarks.{s}_upper]\nhuman = "{s}_shoulder"\n'
        f'[landmarks.{s}_hand]\nhuman = "{s}_wrist"\n[feet.{s}]\nheel = "{s}"\n'
        for s in ("left", "right")
    )
    return (
        f'schema = 1\nname = "made"\nforward = "-y"\n[landmarks.base]\nhuman = "pelvis"\n{sides}'
        f"[tpose]\nleft_roll = {arms}\nright_roll = {-arms}\n"
    )


MJCF = (
    '<mujoco><compiler angle="radian"/><worldbody><body name="base"><freejoint/>'
    '<geom size="0.1"/>'
    + "".join(
        f'<body name="{s}" pos="{x} 0 -0.8"><joint name="{s}_hip"/><geom size="0.05"/></body>'
        f'<body name="{s}_upper" pos="{x} 0 0.3"><joint name="{s}_roll" axis="0 1 0"/>'
        f'<geom size="0.05"/><body name="{s}_hand" pos="0 0 -0.5"><geom size="0.05"/></body></body>'
        for s, x in (("left", 0.1), ("right", -0.1))
    )
    + "</body></worldbody></mujoco>"
)


def test_the_pose_of_a_profile_is_shown_and_drawn(tmp_path: Path, capsys) -> None:
    path = write_robot(tmp_path, MJCF, profile_text(-1.5))
    picture = tmp_path / "pictures" / "t.png"
    assert main(["robots", "show", str(path), "--picture", str(picture), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["forward"] == "-y" and shown["picture"] == str(picture)
    assert shown["tpose"] == {"left_roll": -1.5, "right_roll": 1.5}
    drawn = picture.read_bytes()
    assert drawn.startswith(b"\x89PNG")
    assert main(["robots", "show", str(path), "--picture", str(picture)]) == 2
    assert "the picture is there already" in capsys.readouterr().err
    assert picture.read_bytes() == drawn
    assert main(["robots", "show", str(path)]) == 0
    out = capsys.readouterr().out
    (line,) = (line.split() for line in out.splitlines() if line.startswith("  left_roll"))
    assert line[-1] == "-85.9" and "forward: -y" in out and "left foot: heel left, toe left" in out


def test_a_pose_that_is_no_t_is_drawn_before_it_is_refused(tmp_path: Path, capsys) -> None:
    path, picture = write_robot(tmp_path, MJCF, profile_text(0.0)), tmp_path / "t.png"
    assert main(["robots", "show", str(path), "--picture", str(picture)]) == 2
    error = capsys.readouterr().err
    assert "left_shoulder to left_wrist is 90 degrees away" in error and "left_roll" in error
    assert picture.exists()
