"""The doctor names what is missing and the command that brings it."""

import json
import re
import shlex
import sys
from importlib import metadata
from pathlib import Path

import pytest

from motionkit.cli import doctor
from motionkit.cli.console import main

PACKAGE = Path(doctor.__file__).parents[1]
PIP = f"{shlex.quote(sys.executable)} -m pip install"


def test_every_package_that_a_command_uses_is_looked_at_once() -> None:
    names = [check.name for check in doctor.check_packages()]
    assert len(names) == len(set(names))
    assert {"numpy", "mujoco", "jax", "matplotlib", "pillow"} <= set(names)
    sources = "".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.py"))
    modules = {"almond-pyroki": "pyroki", "pillow": "PIL"}
    for name in names:
        assert re.search(rf"(import|from) {modules.get(name, name)}\b", sources), name


def test_a_missing_extra_is_named_and_is_no_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _lose(monkeypatch, "matplotlib")
    assert main(["doctor", "--json"]) == 0
    (check,) = [
        c for c in json.loads(capsys.readouterr().out)["checks"] if c["name"] == "matplotlib"
    ]
    assert (check["found"], check["help"]) == (None, f"{PIP} 'matplotlib>=3.9'")


def test_a_missing_requirement_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _lose(monkeypatch, "scipy")
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if "scipy" in line)
    assert lines[at].split()[0] == "missing" and lines[at + 1].strip() == (
        f"help: {PIP} 'scipy>=1.14'"
    )


def _lose(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Let one package seem not to be installed."""
    version = metadata.version

    def lost(name: str) -> str:
        if name == package:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", lost)
