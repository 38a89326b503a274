"""``motionkit convert``: what becomes what, what is said to be lost, and what is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from builders import random_robot
from builders_bvh import Dialect, walking_figure
from builders_bvh import write_bvh as made_bvh
from builders_markers import walker
from builders_points import marker_clip, robot_motion
from builders_retarget import in_range_qpos

from motionkit import rotation
from motionkit.cli import convert
from motionkit.cli.console import main
from motionkit.clip import RobotMotion, SkeletonClip, SmplClip
from motionkit.formats import ReadOptions, read_clip, writing
from motionkit.formats.write_amass import write_amass
from motionkit.formats.write_csv import LAYOUTS, write_csv
from motionkit.formats.write_trc import write_trc
from motionkit.robot import load_robot


@pytest.fixture
def bvh(tmp_path: Path) -> Path:
    path = tmp_path / "walk.bvh"
    rng = np.random.default_rng(0)
    path.write_bytes(made_bvh(walking_figure(rng, 20), Dialect(), rng))
    return path


@pytest.fixture
def amass(tmp_path: Path) -> Path:
    path = tmp_path / "person.npz"
    write_amass(path, walker())
    return path


@pytest.fixture
def trc(tmp_path: Path) -> Path:
    path = tmp_path / "points.trc"
    write_trc(path, marker_clip(np.random.default_rng(1)))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict, str]:
    code = main(["convert", *map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else {}, err


def test_names_on_the_command_line_are_those_of_the_tables():
    assert writing.NAMES == convert.NAMES and LAYOUTS == convert.LAYOUTS


@pytest.mark.parametrize(("source", "possible"), [
    ("bvh", ("bvh", "amass", "npz", "joints", "trc", "c3d", "csv")),
    ("amass", ("bvh", "amass", "npz", "joints", "trc", "c3d", "csv")),
    ("trc", ("npz", "joints", "trc", "c3d", "csv")),
])  # fmt: skip
def test_what_becomes_what(tmp_path, capsys, request, source, possible):
    path = request.getfixturevalue(source)
    for name in convert.NAMES:
        out = tmp_path / "out" / name
        code, said, err = run(capsys, path, "--to", name, "--out", out)
        if name in possible:
            assert code == 0 and [Path(f["out"]).parent for f in said["files"]] == [out]
            assert said["files"][0]["losses"], "every conversion loses something, and says so"
            for loss in said["files"][0]["losses"]:
                assert f"loss {loss}" in err
            assert Path(said["files"][0]["out"]).is_file()
        else:
            assert code == 2 and not out.exists() and said["files"] == []
            assert f"cannot become {name}: " in said["refused"][0]["error"]
            assert all(each in said["refused"][0]["help"] for each in possible)


def test_a_skeleton_becomes_parameters_and_back(tmp_path, capsys, bvh):
    made = tmp_path / "made.npz"
    assert run(capsys, bvh, "--to", "amass", "--out", made)[0] == 0
    clip = read_clip(made)
    assert isinstance(clip, SmplClip) and clip.betas is None
    source = read_clip(bvh)
    assert isinstance(source, SkeletonClip)
    again = tmp_path / "again.bvh"
    assert run(capsys, made, "--to", "bvh", "--out", again)[0] == 0
    back = read_clip(again)
    assert isinstance(back, SkeletonClip)

    def bone(clip: SkeletonClip, near: str, far: str) -> np.ndarray:
        pos = clip.global_pose()[0]
        a, b = (pos[:, clip.joint_names.index(clip.roles[role])] for role in (near, far))
        return (b - a) / np.linalg.norm(b - a, axis=1, keepdims=True)

    for side in ("left", "right"):
        for near, far in (("hip", "knee"), ("knee", "ankle"), ("shoulder", "elbow")):
            ends = f"{side}_{near}", f"{side}_{far}"
            cosine = np.sum(bone(source, *ends) * bone(back, *ends), axis=1)
            assert cosine.min() > 1 - 1e-9, ends


def test_a_file_in_the_way_stays_unless_it_may_be_replaced(tmp_path, capsys, bvh):
    out = tmp_path / "made.npz"
    out.write_text("mine")
    arguments = (bvh, "--to", "amass", "--out", out)
    code, said, _ = run(capsys, *arguments)
    assert code == 2 and "is there already" in said["refused"][0]["error"]
    assert out.read_text() == "mine"
    code, said, err = run(capsys, *arguments, "--dry-run")
    assert code == 0 and not said["files"][0]["written"] and out.read_text() == "mine"
    assert f"would write {out}" in err
    assert run(capsys, *arguments, "--overwrite")[0] == 0
    first = out.read_bytes()
    assert run(capsys, *arguments, "--overwrite")[0] == 0 and out.read_bytes() == first
    assert sorted(p.name for p in tmp_path.iterdir()) == ["made.npz", "walk.bvh"]


def test_a_file_never_replaces_itself(capsys, bvh):
    before = bvh.read_bytes()
    for out in (bvh, bvh.parent):
        code, said, _ = run(capsys, bvh, "--to", "bvh", "--out", out, "--overwrite")
        assert code == 2 and "its own conversion" in said["refused"][0]["error"]
    assert bvh.read_bytes() == before


def test_one_bad_file_does_not_stop_the_others(tmp_path, capsys, bvh, trc):
    bad = tmp_path / "bad.bvh"
    bad.write_text("HIERARCHY\n")
    (tmp_path / "notes.txt").write_text("no motion")
    out = tmp_path / "out"
    code, said, err = run(capsys, tmp_path, "--to", "bvh", "--out", out)
    assert code == 1
    assert [Path(f["path"]) for f in said["files"]] == [bvh]
    assert [Path(f["path"]) for f in said["refused"]] == [bad, trc]
    assert [Path(f["path"]).name for f in said["skipped"]] == ["notes.txt"]
    assert [p.name for p in out.iterdir()] == ["walk.bvh"]
    assert err.count("error:") == 2 and "1 file without motion left out" in err


def test_out_is_a_file_for_one_clip_alone(tmp_path, capsys, bvh, amass):
    code, _, err = run(capsys, bvh, amass, "--to", "trc", "--out", tmp_path / "a.trc")
    assert code == 2 and "there is more than one clip" in err
    code, _, err = run(capsys, bvh, "--to", "trc", "--out", tmp_path / "a.bvh")
    assert code == 2 and "files of trc end in .trc" in err
    assert not (tmp_path / "a.trc").exists()
    assert run(capsys, bvh, amass, "--to", "trc", "--out", tmp_path / "new.folder")[0] == 0
    names = sorted(p.name for p in (tmp_path / "new.folder").iterdir())
    assert names == ["person.trc", "walk.trc"]


def test_a_robots_table_gets_its_bodies_by_kinematics(tmp_path, capsys):
    rng = np.random.default_rng(3)
    robot = random_robot(rng, tmp_path)
    mjcf = next(tmp_path.glob("*.xml"))
    shuffled = rng.permutation(robot.num_joints)
    angles = in_range_qpos(rng, robot, 30)[:, 7:]
    names = tuple(robot.joint_names[i] for i in shuffled)
    motion = robot_motion(rng, 30, joint_pos=angles[:, shuffled], joint_names=names)
    table = tmp_path / "motion.csv"
    write_csv(table, motion, layout="named")
    code, said, _ = run(capsys, table, "--to", "npz", "--out", tmp_path / "out")
    assert code == 2 and "has no poses of bodies" in said["refused"][0]["error"]
    assert "--robot" in said["refused"][0]["help"]
    code, said, _ = run(capsys, table, "--to", "npz", "--out", tmp_path / "out", "--robot", mjcf)
    assert code == 0 and any("joint_vel" in loss for loss in said["files"][0]["losses"])
    back = read_clip(tmp_path / "out" / "motion.npz", ReadOptions(quat_order="wxyz"))
    assert isinstance(back, RobotMotion)
    assert (back.joint_names, back.body_names) == (robot.joint_names, robot.body_names)
    np.testing.assert_allclose(back.joint_pos, angles, atol=1e-9)
    qpos = np.concatenate([motion.root_pos_w, motion.root_quat, angles], axis=1)
    pos, quat = robot.forward(qpos)
    np.testing.assert_allclose(back.body_pos_w, pos, atol=1e-7)
    assert rotation.angle_between(back.body_quat_w, quat).max() < 1e-7
    assert run(capsys, table, "--to", "trc", "--out", tmp_path / "out", "--robot", mjcf)[0] == 0


def test_another_robots_joints_are_refused(tmp_path, capsys):
    rng = np.random.default_rng(4)
    robot = load_robot("anatomic_soma")
    names = ("odd", *robot.joint_names[1:])
    table = tmp_path / "motion.csv"
    write_csv(table, robot_motion(rng, 5, len(names), joint_names=names), layout="named")
    arguments = ("--to", "npz", "--out", tmp_path / "out", "--robot", "anatomic_soma")
    code, said, _ = run(capsys, table, *arguments)
    assert code == 2
    for part in (f"lacks 1: {robot.joint_names[0]}", "beyond them 1: odd"):
        assert part in said["refused"][0]["error"]
    write_csv(table, robot_motion(rng, 5, 3))
    code, said, _ = run(capsys, table, *arguments, "--source-fps", 30, "--quat-order", "xyzw")
    assert code == 2 and "3 joints without names" in said["refused"][0]["error"]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_robots_of_the_wild_change_layout(tmp_path, capsys, shared, layout):
    source = shared / "data" / "motion" / "g1_kimodo_walk.csv"
    out = tmp_path / "made.csv"
    code, _, _ = run(capsys, source, "--to", "csv", "--layout", layout, "--out", out,
                     "--source-fps", 30)  # fmt: skip
    assert code == 0
    a = read_clip(source, ReadOptions(fps=30.0))
    b = read_clip(out, ReadOptions(fps=None if layout == "named" else 30.0))
    np.testing.assert_allclose(b.joint_pos, a.joint_pos, atol=1e-9)
    assert rotation.angle_between(b.root_quat, a.root_quat).max() < 1e-8
    assert (b.joint_names, b.fps) == (a.joint_names, a.fps)


def test_an_interrupted_write_leaves_no_file(tmp_path, capsys, bvh, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    out = tmp_path / "out"
    out.mkdir()
    shutil.copy(bvh, out / "walk.bvh")
    before = (out / "walk.bvh").read_bytes()
    monkeypatch.setattr("os.fsync", full)
    code, said, _ = run(capsys, bvh, "--to", "bvh", "--out", out, "--overwrite")
    assert code == 2 and "No space left" in said["refused"][0]["error"]
    assert [p.name for p in out.iterdir()] == ["walk.bvh"]
    assert (out / "walk.bvh").read_bytes() == before
