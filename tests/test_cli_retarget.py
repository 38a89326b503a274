"""A batch from files to a cache, through the command itself, on clips whose truth is known."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from motionkit.cli.console import main

CLIPS = {"walk": ("walk", 1), "arms": ("arms", 2), "squat": ("squat", 3)}
"""Name to kind and seed."""


@pytest.fixture(scope="module")
def motions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three short clips, made by the command that makes them."""
    folder = tmp_path_factory.mktemp("motions")
    for name, (kind, seed) in CLIPS.items():
        arguments = [
            "synth",
            "--kind",
            kind,
            "--seed",
            str(seed),
            "--seconds",
            "0.4",
            "--fps",
            "30",
        ]
        assert main([*arguments, "--out", str(folder / f"{name}.bvh")]) == 0
    return folder


def _arguments(files: Path | list[Path], out: Path, *more: str) -> list[str]:
    files = files if isinstance(files, list) else [files]
    return ["retarget", *map(str, files), "--robot", "anatomic_soma", "--out", str(out), *more]


def _json(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out)


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def whole(motions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of a batch that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole") / "cache"
    assert main(_arguments(motions, out, "--workers", "2")) == 0
    return out


def test_a_batch_becomes_a_cache_with_a_line_a_clip(whole: Path) -> None:
    from motionkit.cache import list_references

    assert [entry.name for entry in list_references(whole).entries] == sorted(CLIPS)
    lines = [json.loads(line) for line in (whole / "audit.jsonl").read_text().splitlines()]
    ended = [line for line in lines if line["kind"] == "ended"]
    assert [(line["clip"], line["status"]) for line in ended] == [
        (name, "written") for name in sorted(CLIPS)
    ]
    assert all(line["schema"] == 1 for line in lines)
    assert {line["clip"] for line in lines if line["kind"] == "clip"} == set(CLIPS)


def test_what_is_done_is_not_done_again(
    motions: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.glob("*.safetensors")}
    assert main(_arguments(motions, whole)) == 0
    assert "3 clips: 3 already done, 0 to solve" in capsys.readouterr().err
    assert before == {path: path.stat().st_mtime_ns for path in whole.glob("*.safetensors")}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--fps", "60"], "the cache was made otherwise: fps is 30, wanted 60"),
        (["--max-iterations", "9"], "settings.retarget.max_iterations is 500, wanted 9"),
        (["--frames", "0:9"], "was made otherwise: frames is null, wanted [0, 9]"),
        (["--scale", "0.01"], "was made otherwise: reader_options.scale is absent"),
    ],
)
def test_a_cache_made_with_other_settings_is_refused_by_the_field(
    motions: Path, whole: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    before = _contents(whole)
    assert main(_arguments(motions, whole, *flags)) == 2
    assert message in capsys.readouterr().err
    assert _contents(whole) == before


def test_overwrite_replaces_what_was_made_otherwise(motions: Path, tmp_path: Path) -> None:
    from motionkit.cache import read_header

    arms, out = motions / "arms.bvh", tmp_path / "cache"
    assert main(_arguments(arms, out)) == 0
    assert main(_arguments(arms, out, "--frames", "2:9", "--overwrite")) == 0
    header = read_header(out / "arms.safetensors")
    assert (header.num_frames, header.identity.frames) == (7, (2, 9))


def test_a_bad_file_does_not_stop_the_good_ones(
    motions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.bvh"
    bad.write_text("HIERARCHY\nROOT Hips\n{\n")
    out = tmp_path / "cache"
    files = [bad, motions / "arms.bvh", motions / "walk.bvh"]
    assert main(_arguments(files, out, "--workers", "1", "--json")) == 1
    clips = _json(capsys)["clips"]
    assert {clip["clip"]: clip["status"] for clip in clips} == {
        "arms": "written", "bad": "failed", "walk": "written",
    }  # fmt: skip
    assert clips[1]["message"].startswith(f"{bad}: HIERARCHY") and clips[1]["help"]
    assert sorted(path.stem for path in out.glob("*.safetensors")) == ["arms", "walk"]


def test_a_rejected_clip_is_not_in_the_cache_but_in_the_audit(
    motions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "cache"
    arguments = _arguments(motions / "walk.bvh", out, "--max-iterations", "1")
    assert main(arguments) == 1
    text = capsys.readouterr().err
    assert "1 rejected" in text and "  REJECT  walk " in text
    assert "MK205 not-converged: the solve ended with iteration limit\n" in text
    assert not list(out.glob("*.safetensors"))
    codes = [
        json.loads(line).get("code") for line in (out / "audit.jsonl").read_text().splitlines()
    ]
    assert "MK205" in codes
    assert main(arguments) == 1
    assert "1 clip: 1 rejected before, 0 to solve" in capsys.readouterr().err
    for command in (["audit"], ["cache", "list"], ["cache", "verify"]):
        assert main([*command, str(out)]) == 1
        assert f"{out}: no clip in the cache: of 1 clip none was accepted; " in (
            capsys.readouterr().err
        )


def test_a_dry_run_writes_nothing(
    motions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(_arguments(motions, tmp_path / "cache", "--dry-run", "--json")) == 0
    captured = capsys.readouterr()
    assert [job["clip"] for job in json.loads(captured.out)["to_solve"]] == sorted(CLIPS)
    for name in CLIPS:
        assert f"would solve {name}" in captured.err
    assert not (tmp_path / "cache").exists()


def test_a_flag_beats_the_config_file_and_both_are_in_the_identity(
    motions: Path, tmp_path: Path
) -> None:
    from motionkit.cache import read_header

    config = tmp_path / "c.toml"
    config.write_text("[clip]\nfps = 20\n[retarget]\nmax_iterations = 400\ncontact_weight = 50\n")
    out = tmp_path / "cache"
    flags = ["--config", str(config), "--contact-weight", "40"]
    assert main(_arguments(motions / "arms.bvh", out, *flags)) == 0
    identity = read_header(out / "arms.safetensors").identity
    settings = identity.settings["retarget"]
    assert identity.fps == 20.0
    assert (settings["max_iterations"], settings["contact_weight"]) == (400, 40)


def test_a_cut_keeps_the_frames_asked_for(motions: Path, tmp_path: Path, whole: Path) -> None:
    from motionkit.cache import read_reference

    out = tmp_path / "cache"
    assert main(_arguments(motions / "walk.bvh", out, "--frames", "3:")) == 0
    cut, all_frames = (read_reference(path / "walk.safetensors") for path in (out, whole))
    assert cut.num_frames == all_frames.num_frames - 3
    assert cut.target_quat_w is not None and all_frames.target_quat_w is not None
    assert abs(cut.target_quat_w - all_frames.target_quat_w[3:]).max() < 1e-6


def test_shards_of_a_batch_make_the_cache_of_the_whole(
    motions: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "cache"
    for k in (1, 2):
        assert main(_arguments(motions, out, "--shard", f"{k}/2", "--workers", "1")) == 0
    assert _shards(out) == _shards(whole)


def _shards(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("*.safetensors")}


def test_audit_and_cache_agree_with_the_batch(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(whole), "--json"]) == 0
    audited = _json(capsys)
    assert {line["clip"] for clip in audited["clips"] for line in clip} == set(CLIPS)
    assert main(["cache", "list", str(whole), "--json"]) == 0
    assert [clip["name"] for clip in _json(capsys)["clips"]] == sorted(CLIPS)
    assert main(["cache", "verify", str(whole)]) == 0


def test_the_line_of_a_clip_counts_the_warnings_of_its_audit(whole: Path) -> None:
    from motionkit.audit import audit_reference
    from motionkit.cache import read_reference
    from motionkit.cli.batch import read_record
    from motionkit.cli.progress import lines_of
    from motionkit.robot import load_robot

    robot, counts = load_robot("anatomic_soma"), {}
    for name in CLIPS:
        reference = read_reference(whole / f"{name}.safetensors")
        warnings = [f for f in audit_reference(reference, robot).findings
                    if f.severity == "warning"]  # fmt: skip
        ended = read_record(whole, name)
        assert ended is not None and ended.warnings == tuple(map(str, warnings))
        counts[name] = len(warnings)
        said = {0: "rad/s", 1: "   1 warning"}.get(len(warnings), f"   {len(warnings)} warnings")
        assert lines_of(ended)[0].endswith(said)
    assert max(counts.values()) > 0, "nothing to count: choose other clips"


def test_the_limits_of_a_config_file_hold_for_the_audit_of_a_batch(
    motions: Path, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "c.toml"
    config.write_text("[audit]\nmax_penetration = -1.0\n[synth]\nseconds = 2\n")
    out, flags = tmp_path / "cache", ["--config", str(config)]
    assert main(_arguments(motions / "arms.bvh", out, *flags)) == 1
    assert "MK301" in capsys.readouterr().err
    assert main(["audit", str(out)]) == 0
    assert main(["audit", str(out), *flags]) == 1
    assert "MK301" in capsys.readouterr().out
    # The limits do not shape the cache.
    assert _shards(out)["arms.safetensors"] == _shards(whole)["arms.safetensors"]
    run = json.loads((out / "audit.jsonl").read_text().splitlines()[-1])
    assert run["audit"]["max_penetration"] == -1.0


def test_a_robots_profile_may_hold_limits_of_the_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from builders import GANTRY, gantry_reference, profile, write_robot

    from motionkit.cache import write_reference
    from motionkit.robot import load_robot

    limits = "\n[audit]\nmin_seconds = 100.0\n"
    text = profile("trunk", "left", "right", "gantry") + limits
    path = write_robot(tmp_path / "robot", GANTRY, text)
    write_reference(tmp_path / "cache", gantry_reference(load_robot(path)))
    cache = str(tmp_path / "cache")
    assert main(["audit", cache]) == 2  # the cache does not know where the robot lies
    assert capsys.readouterr().err.splitlines() == [
        f"error: {cache}/walk.safetensors: the clip is of the robot gantry, which does not come "
        "with motionkit",
        "help: give --robot PATH, the MJCF that the clip was retargeted to",
    ]
    assert main(["audit", cache, "--robot", str(path)]) == 0
    assert "MK402" in capsys.readouterr().out


def test_a_damaged_shard_is_found(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = bytearray((whole / "arms.safetensors").read_bytes())
    content[-1] ^= 1
    path = tmp_path / "arms.safetensors"
    path.write_bytes(content)
    assert main(["cache", "verify", str(tmp_path), "--json"]) == 1
    document = _json(capsys)
    assert [d["path"] for d in document["damaged"]] == [str(path)] and document["sound"] == []
    path.write_bytes(content[:-9])
    assert main(["audit", str(tmp_path)]) == 1
    assert "MK410" in capsys.readouterr().out


def test_inspect_says_what_a_file_holds(
    motions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(motions / "walk.bvh"), "--json"]) == 0
    (clip,) = _json(capsys)["clips"]
    assert (clip["format"], clip["frames"], clip["fps"], clip["roles_missing"]) == (
        "bvh", 13, 30.0, [],
    )  # fmt: skip
    bad = tmp_path / "bad.bvh"
    bad.write_text("HIERARCHY\n")
    assert main(["inspect", str(bad), str(motions / "walk.bvh")]) == 2
    captured = capsys.readouterr()
    assert "13 at 30 1/s" in captured.out and f"error: {bad}" in captured.err


def test_synth_refuses_to_replace_and_repeats_itself(motions: Path, tmp_path: Path) -> None:
    out = tmp_path / "walk.bvh"
    arguments = ["synth", "--kind", "walk", "--seed", "1", "--seconds", "0.4", "--fps", "30"]
    assert main([*arguments, "--out", str(out), "--dry-run"]) == 0 and not out.exists()
    assert main([*arguments, "--out", str(out)]) == 0
    assert out.read_bytes() == (motions / "walk.bvh").read_bytes()
    assert main([*arguments, "--out", str(out)]) == 2
    assert main([*arguments, "--out", str(out), "--overwrite"]) == 0


@pytest.mark.slow
def test_a_batch_killed_at_any_instant_goes_on_where_it_was(
    motions: Path, whole: Path, tmp_path: Path
) -> None:
    rng, out = random.Random(0), tmp_path / "cache"
    command = [sys.executable, "-m", "motionkit.cli", *_arguments(motions, out, "--workers", "2")]
    began = time.monotonic()
    clean = subprocess.run([*command[:-3], str(tmp_path / "timed"), "--workers", "2"], check=True,
                           capture_output=True)  # fmt: skip
    assert clean.returncode == 0
    usual = time.monotonic() - began
    for _ in range(10):
        batch = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(rng.uniform(0.0, usual))
        batch.send_signal(signal.SIGKILL)
        batch.wait()
        for path in out.glob("[!.]*.safetensors"):
            assert path.read_bytes() == (whole / path.name).read_bytes(), "half-written"
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert _shards(out) == _shards(whole)
    assert not [path for path in out.rglob(".*") if path.is_file()], "leftovers"


def test_ctrl_c_ends_a_batch_with_130(motions: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "motionkit.cli"]
    batch = subprocess.Popen(
        [*command, *_arguments(motions, tmp_path / "cache", "--workers", "1")],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        # A background job of a script inherits an ignored Ctrl-C, and Python would keep it so.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert batch.stderr is not None
    assert batch.stderr.readline() == "3 clips: 3 to solve\n"
    os.killpg(batch.pid, signal.SIGINT)
    _, error = batch.communicate(timeout=60)
    assert batch.returncode == 130 and "Traceback" not in error
    assert error.strip().endswith("interrupted")
