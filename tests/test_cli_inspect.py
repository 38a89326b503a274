"""``motionkit inspect``: what it shows, and what it says of files that cannot be read."""

import io
import json
import os
import re
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from builders_bvh import Dialect, walking_figure, write_bvh
from conftest import SHARED

from motionkit.cli.console import main

MINIMAL = SHARED / "data" / "formats" / "minimal"
BVH = write_bvh(walking_figure(np.random.default_rng(0), 4), Dialect(), np.random.default_rng(0))

# What each file made bad must be refused for: the field, and the value found in it.
BAD = {
    "amass_bad_empty.npz": r"empty \(0 bytes\)",
    "amass_bad_fps_nan.npz": r"mocap_framerate: nan",
    "amass_bad_fps_zero.npz": r"mocap_framerate: 0 ",
    "amass_bad_lfs_pointer.npz": r"git-lfs pointer",
    "amass_bad_no_fps.npz": r"mocap_framerate: no rate .*keys: betas",
    "amass_bad_not_zip.npz": r"web page",
    "amass_bad_object_poses.npz": r"poses: holds Python objects",
    "amass_bad_trans_len.npz": r"trans: has shape \(53, 3\), expected \(60, 3\)",
    "amass_bad_zero_frames.npz": r"poses: has 0 frames",
    "bvh_bad_frames_long.bvh": r"Frames: declares 49 frames, holds 48",
    "bvh_bad_frames_short.bvh": r"Frames: declares 47 frames, holds 48",
    "bvh_bad_frames_zero.bvh": r"Frames: declares 0 frames",
    "bvh_bad_ft_neg.bvh": r"Frame Time: -0\.0333",
    "bvh_bad_ft_zero.bvh": r"Frame Time: 0 ",
    "bvh_bad_nan.bvh": r"MOTION, joint RightUpLeg, Xrotation: nan at frame 10",
    "bvh_bad_no_motion.bvh": r"HIERARCHY: .*before a MOTION section",
    "bvh_bad_truncated.bvh": r"Frames: declares 48 frames, holds 47",
    "bvh_bad_unbalanced.bvh": r"HIERARCHY, joint Hips: 1 closing brace",
    "c3d_bad_header_500_frames.c3d": r"header: declares 500 frames .*100 frames",
    "c3d_bad_param_ptr.c3d": r"header: .*block 255.*165 blocks",
    "c3d_bad_truncated.c3d": r"header: declares 100 frames .*65 frames",
    "csv_bad_cm.csv": r"root position: .*77\.9",
    "csv_bad_nan.csv": r"column 11: nan at frame 50",
    "csv_bad_over_limit.csv": r"left_knee_joint is 3\.5 rad at frame 0.*2\.8798",
    "csv_bad_zero_quat.csv": r"root quaternion: .*norm 0 at frame 60",
    "npz_bad_T_mismatch.npz": r"joint_vel: has 37 frames, .*40",
    "npz_bad_fps_missing.npz": r"fps: no rate .*keys: body_ang_vel_w",
    "npz_bad_quat_xyzw.npz": r"body_quat_w: .*xyzw.*0\.0049 m",
    "robot_bad_nan.xml": r"format not known \(extension \.xml\)",
    "trc_bad_rate_zero.trc": r"DataRate: 0 ",
    "trc_bad_rows_less.trc": r"NumFrames: declares 60 frames, holds 40",
}
RATED = {"csv_bad_cm.csv", "csv_bad_nan.csv", "csv_bad_over_limit.csv", "csv_bad_zero_quat.csv"}


def refusal(path: Path | str, capsys: pytest.CaptureFixture[str], *flags: str) -> str:
    """The one line that inspect says of a file that it refuses."""
    assert main(["inspect", str(path), *flags]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "Traceback" not in err
    error, *help = err.splitlines()
    assert error.startswith(f"error: {path}: ") and len(help) <= 1
    assert all(line.startswith("help: ") for line in help)
    return error


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_file_made_bad_is_refused_in_one_line_with_field_and_value(
    name: str, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    flags = ["--source-fps", "30"] if name in RATED else []
    assert re.search(BAD[name], refusal(MINIMAL / name, capsys, *flags))
    assert list(tmp_path.iterdir()) == []


def test_every_file_made_bad_is_among_them(shared: Path) -> None:
    assert {path.name for path in MINIMAL.glob("*_bad_*")} == BAD.keys()


def _npz(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def _header(shape: str, descr: str = "<f8") -> bytes:
    """The first bytes of an ``.npy`` with a shape of one's own."""
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def _zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


_ZEROS = 96 * 1024**2  # bytes that a bomb unpacks to
_MOTION = {"trans.npy": _header("(1, 3)") + bytes(24),
           "mocap_framerate.npy": _header("()") + struct.pack("<d", 30.0)}  # fmt: skip
_PICKLE = b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x0atouch hurt\x85R."

HOSTILE: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "zip bomb": ("a.npz", lambda: _zip({**_MOTION, "poses.npy": _header(
        f"({_ZEROS // 1248}, 156)") + bytes(_ZEROS // 1248 * 1248)}), r"poses: unpacks to 100,"),
    "npy bomb in a zip": ("a.npz", lambda: _zip({**_MOTION, "poses.npy": _header(
        "(1000000000000, 156)") + bytes(64)}), r"poses: declares 1,248,000,000,000,000 bytes"),
    "npy bomb": ("a.npy", lambda: _header("(1000000000000, 22, 3)") + bytes(64),
                 r"declares 528,000,000,000,000 bytes"),
    "pickle": ("a.pkl", lambda: _PICKLE, r"is a pickle: never opened"),
    "pickle by another name": ("a.npz", lambda: _PICKLE, r"is a pickle: never opened"),
    "objects in an npz": ("a.npz", lambda: _zip({**_MOTION, "poses.npy": _header(
        "(1,)", "|O") + _PICKLE}), r"poses: holds Python objects"),
    "objects in an npy": ("a.npy", lambda: _header("(1,)", "|O") + _PICKLE,
                          r"Python objects"),
    "git-lfs pointer": ("a.c3d", lambda: b"version https://git-lfs.github.com/spec/v1\noid 1\n",
                        r"is a git-lfs pointer"),
    "web page": ("a.trc", lambda: b"<!DOCTYPE html>\n<html><body>404</body></html>",
                 r"is a web page"),
    "web page in capitals": ("a.bvh", lambda: b"\n<HTML>", r"is a web page"),
    "nothing": ("a.csv", lambda: b"", r"empty \(0 bytes\)"),
    "noise": ("a.mat", lambda: bytes(range(256)) * 9, r""),
    "text": ("a.c3d", lambda: b"hello " * 200, r""),
    "a name of control characters": ("a\x1b[31m\n.bvh", lambda: b"HIERARCHY", r"\?"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_files_are_refused_without_being_opened_up(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    name, make, message = HOSTILE[what]
    (tmp_path / name).write_bytes(make())
    assert main(["inspect", name]) == 2
    out, err = capsys.readouterr()
    error, *help = err.splitlines()
    assert out == "" and error.startswith("error: a") and len(help) <= 1, err
    assert re.search(message, error)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_folder_named_as_a_file_is_searched_as_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("take.bvh").mkdir()
    assert main(["inspect", "take.bvh"]) == 2
    assert capsys.readouterr() == ("", "error: take.bvh: no motion file found\n"
                                   "help: motionkit inspect FILE says whether a file can be "
                                   "read\n")  # fmt: skip


def test_a_file_that_is_not_there_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = tmp_path / "good.bvh"
    good.write_bytes(BVH)
    names = [str(tmp_path / "gone.bvh"), str(tmp_path / ("n" * 300)), str(good)]
    assert main(["inspect", *names]) == 2
    out, err = capsys.readouterr()
    assert f"{good}: bvh" in out
    assert f"{names[0]}: no such file" in err and "cannot be read: File name too long" in err


def _messy(folder: Path) -> None:
    """Everything that has ever ended a walk through a folder."""
    for name in ("good.bvh", "deep/er/good.BVH", ".hidden.bvh", "x.c3d/inside.bvh"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(BVH)
    for name, data in {
        "cut.bvh": BVH[:500], "empty.csv": b"", "page.npy": b"<!doctype html>",
        "pointer.mat": b"version https://git-lfs.github.com/spec/v1\n", "notes.md": b"hello",
        "table.csv": b"name,age\nanna,31\n", "scene.fbx": b"Kaydara FBX", "a.pkl": _PICKLE,
        "shape.npz": _npz(betas=np.zeros(16)),
    }.items():  # fmt: skip
        (folder / name).write_bytes(data)
    os.mkfifo(folder / "pipe.bvh")
    (folder / "gone.bvh").symlink_to(folder / "nowhere")
    (folder / "round").symlink_to(folder)


EXPECTED = {
    "good.bvh": "bvh", "deep/er/good.BVH": "bvh", "x.c3d/inside.bvh": "bvh",
    "cut.bvh": "refused", "empty.csv": "refused", "page.npy": "refused",
    "pointer.mat": "refused", ".hidden.bvh": "skipped", "notes.md": "skipped",
    "table.csv": "skipped", "scene.fbx": "skipped", "a.pkl": "skipped", "shape.npz": "skipped",
    "pipe.bvh": "skipped", "gone.bvh": "skipped", "round": "skipped", "x.c3d": "skipped",
}  # fmt: skip
REASONS = {
    "empty.csv": "the file is empty (0 bytes)", "page.npy": "is a web page, not the file itself",
    "pointer.mat": "is a git-lfs pointer, not the file itself",
    "round": "a link to a folder, not followed", "x.c3d": "a folder, though named as a file",
    "pipe.bvh": "no regular file, or a link that leads to none", "notes.md": "no motion file",
    "a.pkl": "not read: a pickle: never opened, since it can run programs",
    "shape.npz": "a subject's shape, no motion", "table.csv": "no motion that is read",
}  # fmt: skip


def test_a_folder_is_one_table_of_what_was_read_refused_and_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _messy(tmp_path)
    assert main(["inspect", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    *rows, total = out.splitlines()
    found = {}
    for row in rows:
        path, kind, rest = re.split(r"\s{2,}", row, maxsplit=2)
        found[Path(path).relative_to(tmp_path).as_posix()] = (kind, rest)
    assert {name: kind for name, (kind, _) in found.items()} == EXPECTED
    assert {name: found[name][1] for name in REASONS} == REASONS
    assert re.fullmatch(r"skeleton, 22 joints +4 at 30 1/s", found["good.bvh"][1])
    assert total == "read 3 (bvh 3); refused 4; skipped 10"
    assert err == ("error: 4 files cannot be read: cut.bvh, empty.csv, page.npy, …\n"
                   "help: motionkit inspect FILE says what to do about one\n")  # fmt: skip


def test_a_folder_as_json_has_the_same_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _messy(tmp_path)
    assert main(["inspect", str(tmp_path), "--json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["kind"], document["counts"]) == (1, "inspect", {"bvh": 3})
    for key, count in (("clips", 3), ("refused", 4), ("skipped", 10)):
        assert len(document[key]) == count
    assert {clip["what"] for clip in document["clips"]} == {"skeleton"}


def test_a_folder_without_motion_is_an_error_and_the_table_says_why(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = MINIMAL / "folder_no_motion"
    assert main(["inspect", str(folder)]) == 2
    out, err = capsys.readouterr()
    assert [re.split(r"\s{2,}", row)[1:] for row in out.splitlines()[:-1]] == [
        ["skipped", "no motion file"], ["skipped", "a subject's shape, no motion"],
    ]  # fmt: skip
    assert out.splitlines()[-1] == "read 0; refused 0; skipped 2"
    error, help = err.splitlines()
    assert error == f"error: {folder}: no motion file found" and help.startswith("help: ")


def test_a_sound_folder_is_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.bvh").write_bytes(BVH)
    (tmp_path / "readme.txt").write_text("hello")
    assert main(["inspect", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("read 1 (bvh 1); refused 0; skipped 1\n") and err == ""


def _as_nobody(arguments: list[str]) -> tuple[int, str]:
    """Exit code and all output of a command run by somebody without rights."""
    import motionkit.formats.bvh  # noqa: F401  loaded while its files can still be read

    ours, theirs = os.pipe()
    if (child := os.fork()) == 0:
        os.dup2(theirs, 1)
        os.dup2(theirs, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        if os.geteuid() == 0:
            os.seteuid(65534)
        code = main(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    os.close(theirs)
    with os.fdopen(ours) as file:
        text = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text


def test_what_may_not_be_read_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    folder = tmp_path
    while folder != folder.parent and os.geteuid() == 0:  # as pytest makes it, only its owner's
        folder.chmod(folder.stat().st_mode | 0o755)
        folder = folder.parent
        if folder == Path("/tmp"):
            break
    for name in ("good.bvh", "locked.bvh", "locked/in.bvh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(BVH)
    (tmp_path / "good.bvh").chmod(0o644)
    (tmp_path / "locked.bvh").chmod(0)
    (tmp_path / "locked").chmod(0)
    try:
        code, text = _as_nobody(["inspect", str(tmp_path)])
        assert code == 2, text
        assert re.search(r"good\.bvh +bvh ", text)
        assert re.search(r"locked\.bvh +refused +cannot be read: Permission denied", text)
        assert re.search(r"locked +skipped +cannot be read: Permission denied", text)
        code, text = _as_nobody(["inspect", str(tmp_path / "locked.bvh")])
        assert (code, text) == (
            2, f"error: {tmp_path / 'locked.bvh'}: cannot be read: Permission denied\n"
        )  # fmt: skip
    finally:
        (tmp_path / "locked").chmod(0o755)


@pytest.mark.parametrize(("name", "lines"), [
    ("c3d/btk_s04_sub_labels.c3d", (
        r"points    86 markers of Matt$", r"seen      41\.6%; least: RCLA 56%.*never: RKAX",
        r"plate 1   type 2, 464 × 508 mm at \(232, 254, 1\) mm; channels FX1, FY1",
        r"analog    36 channels at 1200 1/s: FX1 \[N\]", r"set       Plug-in Gait",
        r"note      MK")),
    ("c3d/ezc3d_Vicon.c3d", (
        r"gap       0\.72 s at most: SCAP_CP, 71 frames from 339",
        r"space     1019 × 952 × 1046 mm; heights 38 to 1085 mm", r"set       none: 51 labels")),
    ("amass/joints2smpl_test_motion.npy", (
        r"points    22 joint centres$", r"roles     22 of 22; of the body missing: none")),
    ("robot/robotlab_g1_dance1_subject2_30.npz", (
        r"robot     unitree_g1; 29 joints, named",
        r"root      at heights 674 to 772 mm; travels 2\.19 m", r"speed     12\.2 rad/s at most",
        r"bodies    14, named", r"stored    root, joint_pos, joint_vel, body_pos_w")),
])  # fmt: skip
def test_points_and_robots_are_shown_to_people(
    shared: Path, name: str, lines: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(MINIMAL.parent / name)
    assert main(["inspect", path]) == 0
    out = capsys.readouterr().out
    for line in lines:
        assert re.search(line, out, re.M), line
    assert main(["inspect", path, "--json"]) == 0
    (clip,) = json.loads(capsys.readouterr().out)["clips"]
    assert clip["what"] in ("markers", "joints", "robot") and clip["frames"] > 1
    assert ("marker_set" in clip) == (clip["what"] == "markers")


def test_a_robots_motion_is_held_against_the_model_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from motionkit.robot import load_robot

    robot = load_robot("anatomic_soma")
    pose = np.concatenate([[0.0, 0.0, 0.95, 1.0, 0.0, 0.0, 0.0], np.zeros(robot.num_joints)])
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    good.write_bytes(
        _npz(
            joint_pos=np.tile(pose, (5, 1)),
            fps=np.array(50.0),
            joint_names=np.array(robot.joint_names),
        )
    )
    bad.write_bytes(
        _npz(
            joint_pos=np.tile(pose[:-1], (5, 1)),
            fps=np.array(50.0),
            joint_names=np.array(robot.joint_names[:-1]),
        )
    )
    assert main(["inspect", str(good), str(bad), "--robot", "anatomic_soma"]) == 2
    out, err = capsys.readouterr()
    assert "  model     is a motion of anatomic_soma" in out and str(bad) not in out
    error, _ = err.splitlines()
    assert error.startswith(f"error: {bad}: its joints are not those of anatomic_soma; it lacks 1")
    assert robot.joint_names[-1] in error
    assert main(["inspect", str(good), "--robot", "anatomic_soma", "--json"]) == 0
    (clip,) = json.loads(capsys.readouterr().out)["clips"]
    assert clip["bound"]["robot"] == "anatomic_soma"
