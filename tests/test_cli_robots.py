"""Robots are listed, shown and built again byte for byte."""

import json
from pathlib import Path

import pytest

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
    assert main(["robots", "show", "anatomic_soma"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 5 + robot.num_joints + len(robot.landmarks)
