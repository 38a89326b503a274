"""The one door: exit codes, errors word for word, what is printed where, and what is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from motionkit.cli.console import main

GOLDEN = Path(__file__).parent / "golden"


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _config(text: str) -> list[str]:
    _write(Path("c.toml"), text)
    return [
        "retarget",
        "walk.bvh",
        "--robot",
        "anatomic_soma",
        "--out",
        "out",
        "--config",
        "c.toml",
    ]


_RETARGET = ["retarget", "walk.bvh", "--robot", "anatomic_soma", "--out", "out"]

ERRORS: dict[str, list[str]] = {
    "unknown_command": ["retrget"],
    "unknown_command_far": ["xyzzy"],
    "unknown_subcommand": ["robots", "lst"],
    "unknown_option": ["robots", "list", "--jsn"],
    "option_without_value": ["retarget", "walk.bvh", "--robot"],
    "missing_argument": ["robots", "show"],
    "missing_option": ["retarget", "walk.bvh", "--robot", "anatomic_soma"],
    "missing_files": ["retarget", "--robot", "anatomic_soma", "--out", "out"],
    "no_such_file": ["retarget", "nowhere.bvh", "--robot", "anatomic_soma", "--out", "out"],
    "no_such_robot": ["retarget", "walk.bvh", "--robot", "anatomic_some", "--out", "out"],
    "no_cache_to_audit": ["audit"],
    "no_such_cache": ["cache", "list", "nowhere"],
    "no_shard_to_audit": ["audit", "empty"],
    "no_shard_to_verify": ["cache", "verify", "empty"],
    "no_shard_to_list": ["cache", "list", "walk.bvh"],
    "no_motion": ["retarget", "empty", "--robot", "anatomic_soma", "--out", "out"],
    "name_twice": ["retarget", "a/walk.bvh", "b/walk.bvh", "--robot", "anatomic_soma",
                   "--out", "out"],
    "bad_choice": [*_RETARGET, "--solver", "newton"],
    "bad_number": [*_RETARGET, "--max-iterations", "many"],
    "bad_frames": [*_RETARGET, "--frames", "9:3"],
    "bad_fps": [*_RETARGET, "--fps", "0"],
    "bad_shard": [*_RETARGET, "--shard", "3/2"],
    "bad_weight": [*_RETARGET, "--contact-weight", "-1"],
    "no_config": [*_RETARGET, "--config", "none.toml"],
    "no_cut_file": ["inspect", "cut.bvh"],
}  # fmt: skip

CONFIGS: dict[str, str] = {
    "config_key": "[retarget]\nmax_iteration = 3\n",
    "config_table": "[retargt]\nmax_iterations = 3\n",
    "config_outside": "max_iterations = 3\n",
    "config_type": '[retarget]\nmax_iterations = "3"\n',
    "config_choice": '[retarget]\nsolver = "newton"\n',
    "config_syntax": "[retarget\n",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, so that messages name relative paths."""
    monkeypatch.chdir(tmp_path)
    for path in ("walk.bvh", "a/walk.bvh", "b/walk.bvh", "cut.bvh"):
        _write(Path(path), "HIERARCHY\nROOT Hips\n{\n")
    _write(Path("empty/notes.txt"), "nothing\n")
    return tmp_path


def _require_golden(name: str, code: int, captured: "pytest.CaptureFixture[str]") -> None:
    out, err = captured.readouterr()
    assert (code, out) == (2, ""), err
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        _write(path, err)
    assert err == path.read_text("utf-8")
    lines = err.splitlines()
    assert lines[0].startswith("error: ") and lines[1].startswith("help: ") and len(lines) == 2


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_two_lines_on_stderr_and_exit_2(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(ERRORS[name])
    _require_golden(name, code, capsys)
    assert not (here / "out").exists()


@pytest.mark.parametrize("name", CONFIGS)
def test_a_wrong_config_file_is_two_lines_on_stderr_and_exit_2(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(_config(CONFIGS[name]))
    _require_golden(name, code, capsys)


def test_an_unknown_finding_is_refused_with_those_that_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["audit", "--explain", "MK9"]) == 2
    error, help = capsys.readouterr().err.splitlines()
    assert error == "error: there is no finding MK9" and "MK203" in help


def test_every_golden_file_belongs_to_a_test() -> None:
    own = {f"{name}.txt" for name in [*ERRORS, *CONFIGS]}
    assert own <= {path.name for path in GOLDEN.glob("*.txt")}


def test_version_and_help_are_done_and_clean(capsys: pytest.CaptureFixture[str]) -> None:
    import motionkit

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"motionkit {motionkit.__version__}\n"
    assert main(["retarget", "--help"]) == 0
    text = capsys.readouterr().out
    assert "--max-joint-velocity NUMBER" in text and "--smpl-model PATH" in text


def test_without_a_command_the_help_is_talk(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "Commands:" in err


def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("motionkit.assets.robot_names", interrupt)
    assert main(["robots", "list"]) == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_a_closed_pipe_is_no_error_message() -> None:
    code = "import sys; from motionkit.cli import main; sys.exit(main(['audit', '--help']))"
    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -c "$0" | true; echo ${{PIPESTATUS[0]}}', code],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.strip() in ("141", "0") and done.stderr == ""


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from motionkit.cli import main; main(['--help']); "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"numpy", "scipy", "mujoco", "jax", "rich", "trimesh", "jaxtyping", "multiprocessing",
             "pyroki", "matplotlib"}  # fmt: skip
    assert not heavy & set(done.stderr.split())
    assert "retarget" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["robots", "list"], ["robots", "show", "anatomic_soma"], ["doctor"],
     ["audit", "--explain", "mk203"]],
    ids=" ".join,
)  # fmt: skip
def test_under_json_stdout_is_one_document_with_a_schema(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main([*arguments, "--json"])
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (document["schema"], list(document)[:2]) == (1, ["schema", "kind"])
    assert err == ""


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from motionkit.cli.console import paint

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert paint("x", "red", Terminal()) == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("x", "red", Terminal()) == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert paint("x", "red", Terminal()) == "x"


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("variable", "coloured"), [("", True), ("1", False)])
def test_an_error_is_coloured_on_a_terminal_only(variable: str, coloured: bool) -> None:
    import pty

    command = [sys.executable, "-m", "motionkit.cli", "retrget"]
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": variable}
    ours, theirs = pty.openpty()
    subprocess.run(command, stderr=theirs, env=environment, check=False)
    os.close(theirs)
    assert (b"\x1b[31merror:" in os.read(ours, 4096)) is coloured
    os.close(ours)
    piped = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert b"\x1b" not in piped.stderr and piped.returncode == 2
