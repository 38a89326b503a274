"""The table of findings, its words, and the lines that are written."""

import io
import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from builders import PROVENANCE, gantry, gantry_reference

import motionkit
from motionkit.audit import (
    CHECKS,
    AuditConfig,
    audit_reference,
    explain,
    json_line,
    make_finding,
    run_line,
    unreadable,
    write_jsonl,
)
from motionkit.audit.document import document
from motionkit.cache import DamagedError
from motionkit.clip import Note
from motionkit.errors import ConfigError

PACKAGE = Path(motionkit.__file__).parent


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    return gantry(tmp_path_factory.mktemp("robot"))


@pytest.fixture
def result(robot):
    notes = (Note("MK101", "0.0333 is 30", 30.0, "1/s"), Note("MK107", "Sword left out"))
    reference = gantry_reference(robot, provenance=replace(PROVENANCE, notes=notes))
    return audit_reference(reference, robot)


def test_every_number_used_anywhere_is_in_the_table():
    used = {code for path in PACKAGE.rglob("*.py")
            for code in re.findall(r"MK\d{3}", path.read_text("utf-8"))}  # fmt: skip
    assert sorted(used - set(CHECKS)) == []


def test_every_number_of_the_audit_is_found_by_a_test():
    text = "".join(p.read_text("utf-8") for p in Path(__file__).parent.glob("test_*.py"))
    own = [code for code in CHECKS if code[2] in "234"]
    assert [code for code in own if f'"{code}"' not in text] == []


def test_names_and_limits_of_the_table_are_sound():
    names = [check.name for check in CHECKS.values()]
    assert len(set(names)) == len(names)
    knobs = {f.name for f in fields(AuditConfig)}
    for code, check in CHECKS.items():
        assert re.fullmatch(r"MK[1-5]\d\d", code)
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", check.name), code
        assert check.knob in knobs | {""}, code
        for text in (check.what, check.why, check.fix):
            assert text and not text.endswith("."), code
    assert list(CHECKS) == sorted(CHECKS)


def test_the_document_is_the_one_of_the_table():
    path = PACKAGE.parent / "docs" / "findings.md"
    assert path.read_text("utf-8") == document(), (
        "write it again: python -m motionkit.audit.document > docs/findings.md"
    )


def test_a_finding_is_explained_in_words():
    assert explain("mk203") == "\n".join([
        "MK203 joint-speed (error)",
        "what: A joint is faster than its budget",
        "why:  the robot cannot follow, and the tracker learns to ignore the reference",
        "fix:  raise --max-joint-velocity if the robot can, or cut the clip with --frames",
        "limit: max_velocity joint speed budget; default: the one of the cache, else the robot's",
    ])  # fmt: skip


def test_an_unknown_number_lists_the_known_ones():
    with pytest.raises(ConfigError) as info:
        explain("MK999")
    assert str(info.value) == "there is no finding MK999"
    assert info.value.help == f"the findings are: {', '.join(CHECKS)}"


def test_a_finding_reads_as_one_line():
    finding = make_finding("kick", "MK203", "LeftLeg_y reaches 23.4 rad/s", frame=118)
    assert str(finding) == "MK203 joint-speed: LeftLeg_y reaches 23.4 rad/s"
    assert finding.help == CHECKS["MK203"].fix


def test_a_shard_that_cannot_be_opened_is_a_finding():
    error = DamagedError("is short", where="c/a.safetensors", help="delete it")
    finding = unreadable(Path("c/a.safetensors"), error)
    assert (finding.code, finding.clip, finding.severity) == ("MK410", "a", "error")
    assert (finding.message, finding.help) == ("c/a.safetensors: is short", "delete it")


def test_lines_are_json_with_schema_and_kind(result, tmp_path):
    lines = [*result.as_lines(), run_line(result.as_lines(), version="0")]
    path = tmp_path / "audit.jsonl"
    write_jsonl(path, lines)
    stream = io.StringIO()
    write_jsonl(stream, lines)
    assert stream.getvalue() == path.read_text("utf-8")
    back = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [(line["schema"], line["kind"]) for line in back] == [
        (1, "finding"), (1, "finding"), (1, "clip"), (1, "run"),
    ]  # fmt: skip
    assert set(back[0]) == {"schema", "kind", "code", "name", "severity", "clip", "where", "frame",
                            "value", "limit", "unit", "message", "help"}  # fmt: skip
    assert back[2]["counts"] == {"error": 0, "warning": 1, "info": 1}
    assert back[3]["found"] == {"MK101": 1, "MK107": 1}
    assert back[3]["clips"] == 1


def test_a_file_of_lines_is_replaced_whole(tmp_path):
    path = tmp_path / "audit.jsonl"
    write_jsonl(path, [{"a": 1}] * 3)
    with pytest.raises(ValueError, match="JSON compliant"):
        write_jsonl(path, [{"a": float("nan")}])
    assert path.read_text() == '{"a": 1}\n' * 3
    write_jsonl(path, [{"b": 2}])
    assert path.read_text() == '{"b": 2}\n'
    assert [p.name for p in tmp_path.iterdir()] == ["audit.jsonl"]


def test_errors_are_counted(robot):
    reference = replace(gantry_reference(robot), report={"outcome": "jump"})
    assert audit_reference(reference, robot).num_errors == 1


@pytest.mark.parametrize("name", ["max_penetration", "max_velocity", "min_fps"])
def test_limits_that_are_not_finite_are_refused(name):
    with pytest.raises(ConfigError, match=f"{name} must be finite, found nan"):
        AuditConfig(**{name: float("nan")})


def test_a_file_name_that_is_no_text_makes_a_line_of_json():
    line = json_line({"clip": "bad\udcff.bvh"})
    assert json.loads(line) == {"clip": "bad\udcff.bvh"}
