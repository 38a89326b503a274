"""The doctor names what is missing and the command that brings it."""

import json
from importlib import metadata

import pytest

from motionkit.cli import doctor
from motionkit.cli.console import main


def test_every_package_but_the_developers_is_looked_at_once() -> None:
    names = [check.name for check in doctor.check_packages()]
    assert len(names) == len(set(names))
    assert {"numpy", "mujoco", "torch", "smplx", "matplotlib"} <= set(names)
    assert "pytest" not in names


def test_a_missing_extra_is_named_and_is_no_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _lose(monkeypatch, "matplotlib")
    assert main(["doctor", "--json"]) == 0
    (check,) = [
        c for c in json.loads(capsys.readouterr().out)["checks"] if c["name"] == "matplotlib"
    ]
    assert (check["found"], check["help"]) == (None, "pip install 'motionkit[view]'")


def test_a_missing_requirement_is_a_finding(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _lose(monkeypatch, "scipy")
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if "scipy" in line)
    assert lines[at].split()[0] == "missing" and lines[at + 1].strip() == (
        "help: pip install motionkit"
    )


def _lose(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Let one package seem not to be installed."""
    version = metadata.version

    def lost(name: str) -> str:
        if name == package:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", lost)
