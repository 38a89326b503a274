"""People out of files, through the command itself."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders_markers import marked, markers_of, walker

from motionkit.cli.console import main
from motionkit.clip import MarkerClip, Note, Provenance, RobotMotion

CLIPS = {"walk": 1, "arms": 2, "squat": 3}
"""Kind to seed."""


@pytest.fixture(scope="module")
def motions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with three short clips."""
    from motionkit.synth import SynthConfig, synthesize, write_bvh

    folder = tmp_path_factory.mktemp("motions")
    for kind, seed in CLIPS.items():
        config = SynthConfig(kind=kind, seed=seed, seconds=0.3, fps=30.0)  # type: ignore[arg-type]
        write_bvh(synthesize(config).skeleton, folder / f"{kind}.bvh")
    return folder


def _align(files: Path | list[Path], out: Path, *more: str) -> int:
    files = files if isinstance(files, list) else [files]
    plain = () if "--picture" in more else ("--no-picture",)
    return main(["align", *map(str, files), "--out", str(out), "--to", "bvh", *plain, *more])


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def _report(out: Path, name: str) -> dict[str, Any]:
    return json.loads((out / f"{name}.report.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def whole(motions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a batch that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole") / "people"
    assert _align(motions, out, "--workers", "2") == 0
    return out


@pytest.fixture
def fitted(monkeypatch: pytest.MonkeyPatch):
    """Stands in for a file with markers and for their fit, whose truth the test knows.

    What is tested here is the command; the fit has tests of its own, and one below.
    """
    import motionkit.formats
    import motionkit.human.markers

    fit = marked(walker(seconds=0.5, fps=20.0), noise=0.01, hidden=0.2)
    note = Note("MK142", "made for a test")
    made = replace(fit.human.provenance, notes=(note,))
    fit = replace(fit, human=replace(fit.human, provenance=made))
    asked: list[tuple[MarkerClip, Any, Any]] = []

    def fit_markers(clip: MarkerClip, config: Any, *, static: Any = None):
        asked.append((clip, config, static))
        return fit

    monkeypatch.setattr(motionkit.formats, "read_clip", lambda path, options: markers_of(fit))
    monkeypatch.setattr(motionkit.human.markers, "fit_markers", fit_markers, raising=False)
    return fit, asked


def test_every_clip_has_a_motion_file_and_a_report(motions: Path, whole: Path) -> None:
    from motionkit.clip import SMPLH_JOINTS
    from motionkit.formats import read_clip
    from motionkit.human import align

    for name in CLIPS:
        person = align(read_clip(motions / f"{name}.bvh"))
        again = align(read_clip(whole / f"{name}.bvh"))
        body = len(SMPLH_JOINTS[:22])
        error = np.abs(again.landmark_pos_w - person.landmark_pos_w)[:, :body]
        assert error.max() < 1e-5  # [m]: a BVH's digits
        report = _report(whole, name)
        assert (report["schema"], report["kind"], report["clip"]) == (1, "alignment", name)
        assert (report["frames"], report["fps"]) == (10, 30.0)
        assert report["markers"] is None and report["motion"] == f"{name}.bvh"
        assert report["stature"] == pytest.approx(person.stature)
        assert report["source"]["sha256"] == person.provenance.sha256
        assert [n["code"] for n in report["notes"]] == [n.code for n in person.provenance.notes]


def test_what_is_done_is_not_done_again(
    motions: Path, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.glob("*.bvh")}
    assert _align(motions, whole) == 0
    assert "3 clips: 3 already done, 0 to align" in capsys.readouterr().err
    assert before == {path: path.stat().st_mtime_ns for path in whole.glob("*.bvh")}


def test_the_same_files_give_the_same_bytes_with_any_number_of_workers(
    motions: Path, whole: Path, tmp_path: Path
) -> None:
    assert _align(motions, tmp_path / "again", "--workers", "1") == 0
    assert _contents(tmp_path / "again") == _contents(whole)


@pytest.mark.parametrize("target", ["amass", "npz"])
def test_other_formats_hold_the_same_person(motions: Path, tmp_path: Path, target: str) -> None:
    """Up to the proportions of the body: AMASS's keys without a shape name the mean body."""
    from motionkit.clip import SMPLH_JOINTS
    from motionkit.formats import read_clip
    from motionkit.human import align

    arguments = ["align", str(motions / "arms.bvh"), "--out", str(tmp_path), "--no-picture"]
    assert main([*arguments, "--to", target]) == 0
    person = align(read_clip(motions / "arms.bvh"))
    again = read_clip(tmp_path / "arms.npz")
    assert again.num_frames == person.num_frames
    assert _report(tmp_path, "arms")["lost"]
    if isinstance(again, MarkerClip):
        index = [again.labels.index(joint) for joint in SMPLH_JOINTS[:22]]
        assert np.abs(again.pos_w[:, index] - person.landmark_pos_w[:, :22]).max() < 1e-5  # [m]
    else:
        quat = align(again).landmark_quat_w[:, :22]
        same = np.abs(np.sum(quat * person.landmark_quat_w[:, :22], axis=-1))
        assert same.min() > 1 - 1e-6


@pytest.mark.parametrize("lost", ["walk.bvh", "walk.report.json", "clips/walk.jsonl"])
def test_what_is_lost_or_half_done_is_made_again(
    motions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], lost: str
) -> None:
    out = tmp_path / "people"
    assert _align([motions / "walk.bvh"], out) == 0
    before = _contents(out)
    (out / lost).unlink()
    capsys.readouterr()
    assert _align([motions / "walk.bvh"], out) == 0
    assert "1 to align" in capsys.readouterr().err
    assert _contents(out) == before


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--max-gap", "0.2"], "settings.markers.max_gap is 0.25, wanted 0.2"),
        (["--frames", "0:9"], "frames is null, wanted [0, 9]"),
        (["--scale", "0.01"], 'reader_options.scale is absent, wanted "0.01"'),
    ],
)
def test_other_settings_are_refused_by_the_field_and_change_nothing(
    motions: Path, whole: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    before = _contents(whole)
    assert _align(motions, whole, *flags) == 2
    err = capsys.readouterr().err
    assert message in err and "is there already and was made otherwise" in err
    assert _contents(whole) == before


def test_overwrite_replaces_and_cuts_a_skeleton_after_it_is_aligned(
    motions: Path, tmp_path: Path
) -> None:
    from motionkit.formats import read_clip
    from motionkit.human import align

    source, out = motions / "walk.bvh", tmp_path / "people"
    assert _align([source], out) == 0
    assert _align([source], out, "--frames", "2:7", "--overwrite") == 0
    assert _report(out, "walk")["frames"] == 5
    person, cut = align(read_clip(source)), align(read_clip(out / "walk.bvh"))
    error = cut.landmark_pos_w[:, :22] - person.landmark_pos_w[2:7, :22]
    assert np.abs(error).max() < 1e-5
    assert _align([source], out, "--frames", "2:7") == 0


def test_a_file_of_another_is_not_replaced(
    motions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "walk.bvh").write_text("mine")
    assert _align([motions / "walk.bvh"], tmp_path) == 2
    assert "walk.bvh: is there already and was made otherwise: no report says how" in (
        capsys.readouterr().err
    )
    assert _contents(tmp_path) == {"walk.bvh": b"mine"}


def test_a_cache_of_retarget_is_no_place_for_people(
    motions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "walk.safetensors").write_bytes(b"x")
    assert _align([motions / "walk.bvh"], tmp_path) == 2
    assert "holds a cache of motionkit retarget (walk.safetensors)" in capsys.readouterr().err


def test_a_bad_file_does_not_stop_the_good_ones(
    motions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad, out = tmp_path / "bad.bvh", tmp_path / "people"
    bad.write_text("HIERARCHY\nROOT Hips\n{\n")
    assert _align([bad, motions / "arms.bvh"], out, "--workers", "1", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["kind"]) == (1, "align")
    ends = {clip["clip"]: clip for clip in document["clips"]}
    assert {name: end["status"] for name, end in ends.items()} == {
        "arms": "written", "bad": "failed",
    }  # fmt: skip
    assert ends["bad"]["message"].startswith(f"{bad}: HIERARCHY")
    assert sorted(path.name for path in out.glob("*.*")) == [
        "arms.bvh", "arms.report.json", "audit.jsonl",
    ]  # fmt: skip


def test_a_dry_run_writes_nothing(
    motions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _align(motions, tmp_path / "people", "--dry-run", "--json") == 0
    captured = capsys.readouterr()
    assert [item["clip"] for item in json.loads(captured.out)["to_align"]] == sorted(CLIPS)
    assert f"would align walk ({motions / 'walk.bvh'})" in captured.err
    assert not (tmp_path / "people").exists()


def test_a_picture_that_is_asked_for_later_is_drawn(motions: Path, tmp_path: Path) -> None:
    out = tmp_path / "people"
    assert _align([motions / "arms.bvh"], out) == 0
    assert not (out / "arms.png").exists()
    assert _align([motions / "arms.bvh"], out, "--picture") == 0
    assert (out / "arms.png").read_bytes().startswith(b"\x89PNG")
    assert _align([motions / "arms.bvh"], out) == 0


def test_the_report_of_markers_has_the_figures_of_the_fit(fitted, tmp_path: Path) -> None:
    fit, asked = fitted
    (tmp_path / "trial.c3d").write_bytes(b"x")
    out = tmp_path / "people"
    assert _align([tmp_path / "trial.c3d"], out, "--max-gap", "0.25", "--frames", "3:") == 0
    ((clip, config, static),) = asked
    assert (clip.num_frames, clip.first_frame, clip.name) == (fit.human.num_frames - 3, 4, "trial")
    assert (config.max_gap, static) == (0.25, None)
    markers = _report(out, "trial")["markers"]
    assert (markers["marker_set"], markers["unmapped"]) == ("Plug-in Gait", ["EXTRA"])
    assert markers["first_frame"] == fit.first_frame + 3
    distance = 1e3 * np.linalg.norm(fit.pos_w - fit.model_pos_w, axis=-1)
    for k, row in enumerate(markers["markers"]):
        seen = distance[np.isfinite(distance[:, k]), k]
        assert (row["label"], row["segment"]) == (fit.labels[k], fit.segments[k])
        assert row["residual_mm"] == pytest.approx(
            {"mean": seen.mean(), "p95": np.percentile(seen, 95), "max": seen.max()}, abs=6e-4
        )
        assert row["seen"] == pytest.approx(len(seen) / len(distance), abs=6e-5)
    assert [joint["uncertainty_mm"] for joint in markers["joints"]] == pytest.approx(
        (1e3 * fit.joint_sigma).tolist(), abs=6e-4
    )
    assert _report(out, "trial")["notes"][0]["code"] == "MK142"


def test_a_marker_never_seen_and_a_joint_not_known_are_null(fitted) -> None:
    from motionkit.cli.alignment import marker_figures

    fit, _ = fitted
    pos, sigma, weight = fit.pos_w.copy(), fit.joint_sigma.copy(), fit.weight.copy()
    pos[:, 0], sigma[3], weight[:, 0], weight[:5, 1] = np.nan, np.inf, 0.0, 0.1
    figures = marker_figures(replace(fit, pos_w=pos, joint_sigma=sigma, weight=weight))
    row = figures["markers"][0]
    assert row["residual_mm"] == {"mean": None, "p95": None, "max": None}
    assert (row["seen"], row["down_weighted"]) == (0.0, None)
    assert figures["joints"][3]["uncertainty_mm"] is None
    seen = np.isfinite(fit.pos_w[:, 1, 0])
    assert figures["markers"][1]["down_weighted"] == pytest.approx(
        (weight[seen, 1] < 0.5).mean(), abs=6e-5
    )
    json.dumps(figures, allow_nan=False)


def test_the_line_of_a_clip_says_residual_and_set_and_a_table_names_the_worst(
    fitted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fit, _ = fitted
    (tmp_path / "trial.c3d").write_bytes(b"x")
    assert _align([tmp_path / "trial.c3d"], tmp_path / "people", "-v") == 0
    lines = capsys.readouterr().err.splitlines()
    distance = 1e3 * np.linalg.norm(fit.pos_w - fit.model_pos_w, axis=-1)
    said = (
        f"residual {np.nanmean(distance):.0f} mm mean, {np.nanpercentile(distance, 95):.0f} mm p95"
    )
    line = next(i for i, text in enumerate(lines) if text.startswith("  ok      trial "))
    assert f"    11 frames   {said}   set Plug-in Gait 38/39" in lines[line]
    order = np.argsort(-np.nanmean(distance, axis=0))
    rows = lines[line + 2 : line + 2 + len(fit.labels)]
    assert [row.split()[0] for row in rows] == [fit.labels[k] for k in order]
    assert lines[line + 2 + len(fit.labels)].strip() == "took no part: EXTRA"


def test_the_picture_of_markers_is_drawn_and_a_static_trial_is_handed_on(
    fitted, tmp_path: Path
) -> None:
    _, asked = fitted
    for name, content in (("trial", b"x"), ("static", b"x"), ("copy", b"x"), ("other", b"y")):
        (tmp_path / f"{name}.c3d").write_bytes(content)
    out = tmp_path / "people"
    static = ["--static", str(tmp_path / "static.c3d")]
    assert _align([tmp_path / "trial.c3d"], out, "--picture", *static) == 0
    assert isinstance(asked[0][2], MarkerClip)
    assert (out / "trial.png").stat().st_size > 50_000
    assert _align([tmp_path / "trial.c3d"], out, "--static", str(tmp_path / "copy.c3d")) == 0
    assert len(asked) == 1  # the same content: nothing was to be done
    assert _align([tmp_path / "trial.c3d"], out, "--static", str(tmp_path / "other.c3d")) == 2


def test_a_static_trial_without_markers_is_refused(
    motions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    static = ("--static", str(motions / "arms.bvh"))
    assert _align([motions / "walk.bvh"], tmp_path / "people", *static) == 2
    assert "a static trial has markers, found bvh" in capsys.readouterr().err
    assert not (tmp_path / "people").exists()


@pytest.mark.parametrize("verb", ["align", "retarget"])
def test_a_robots_motion_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    import motionkit.formats

    path = tmp_path / "g1.csv"
    path.write_text("x")
    robot = RobotMotion(
        "g1", 30.0, np.zeros((2, 3)), np.tile([1.0, 0, 0, 0], (2, 1)), np.zeros((2, 29)),
        Provenance(str(path), "0" * 64, "robot_csv", "unknown"),
    )  # fmt: skip
    monkeypatch.setattr(motionkit.formats, "read_clip", lambda *_: robot)
    more = ["--robot", "anatomic_soma"] if verb == "retarget" else ["--no-picture"]
    assert main([verb, str(path), "--out", str(tmp_path / "out"), *more]) == 2
    assert not (tmp_path / "out").exists()
    err = capsys.readouterr().err
    assert f"{path}: is a robot's motion, no person's\n" in err
    assert "motionkit convert" in err


@pytest.mark.slow
def test_a_batch_that_is_killed_goes_on_and_ends_as_if_it_had_not_been(
    motions: Path, whole: Path, tmp_path: Path
) -> None:
    out = tmp_path / "people"
    command = [sys.executable, "-c", "import sys; from motionkit.cli.console import main; "
               "sys.exit(main(sys.argv[1:]))", "align", str(motions), "--out", str(out), "--to",
               "bvh", "--no-picture", "--workers", "1"]  # fmt: skip
    for delay in (0.5, 1.0, 1.5, 2.0, 2.5):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
    assert _contents(out) == _contents(whole)


@pytest.mark.slow
def test_a_laboratorys_trial_becomes_a_person_and_goes_to_a_robot(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Frames 10 to 50 of a real walk: the report, the motion file and the cache agree on them."""
    from motionkit.cache import read_reference
    from motionkit.formats import read_clip

    trial, frames = shared / "data/formats/trc/osim_walk_free_01.trc", ["--frames", "10:50"]
    assert main(["align", str(trial), "--out", str(tmp_path / "people"), *frames]) == 0
    report = _report(tmp_path / "people", trial.stem)
    markers = report["markers"]
    assert (report["frames"], markers["first_frame"]) == (40, 10)
    assert len(markers["markers"]) + len(markers["unmapped"]) == 41
    assert markers["residual_mm"]["mean"] < 15.0  # what skin moves over bone
    assert 1.5 < report["stature"] < 2.0
    assert read_clip(tmp_path / "people" / f"{trial.stem}.npz").num_frames == 40
    assert (tmp_path / "people" / f"{trial.stem}.png").stat().st_size > 50_000
    robot = ["--robot", "anatomic_soma", "--fps", "60"]
    assert main(["retarget", str(trial), "--out", str(tmp_path / "cache"), *frames, *robot]) in (
        0,
        1,
    )
    capsys.readouterr()
    reference = read_reference(tmp_path / "cache" / f"{trial.stem}.safetensors")
    assert reference.num_frames == 40
    assert reference.identity.settings["markers"]["max_gap"] == 0.25
