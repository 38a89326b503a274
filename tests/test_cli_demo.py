"""The demo goes the whole way, and does not go it twice."""

import json
import re
from pathlib import Path

import pytest

from motionkit.cli.console import main


@pytest.mark.slow
def test_the_demo_goes_the_whole_way_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out), "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["clip"]["status"] == "written" and first["clip"]["errors"] == []
    for path in first["files"].values():
        assert Path(path).exists()
    shard = out / "synthetic_walk.safetensors"
    made = shard.stat().st_mtime_ns
    assert main(["demo", "--out", str(out), "--json"]) == 0
    assert "1 already done, 0 to solve" in (captured := capsys.readouterr()).err
    assert json.loads(captured.out)["clip"] == first["clip"]
    assert main(["demo", "--out", str(out)]) == 0
    audit = next(line for line in capsys.readouterr().out.splitlines() if "  audit " in line)
    codes = [warning[:5] for warning in first["clip"]["warnings"]]
    assert re.findall(r"MK\d{3}", audit) == codes
    assert (f"{len(codes)} warning" if codes else "clean") in audit
    assert shard.stat().st_mtime_ns == made


def test_a_dry_demo_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path / "demo"), "--dry-run"]) == 0
    assert capsys.readouterr().err.count("would write") == 4
    assert main(["demo", "--out", str(tmp_path / "demo"), "--dry-run", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["kind"], said["clip"]) == ("demo", None)
    assert said["files"]["motion"] == str(tmp_path / "demo" / "synthetic_walk.bvh")
    assert not (tmp_path / "demo").exists()
