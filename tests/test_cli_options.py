"""Flags derived from a dataclass, and the order in which a value is looked for."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from motionkit.cli.options import KnobCommand, Knobs, read_config, resolve
from motionkit.errors import ConfigError


def _knob(default: Any, help: str, **more: Any) -> Any:
    return field(default=default, metadata={"help": help, **more})


@dataclass(frozen=True, slots=True)
class Stage:
    """Every kind of field that a stage may have."""

    gain: float = _knob(1.5, "a gain", unit="1/s", source="a paper")
    cap: float | None = _knob(None, "a cap")
    rounds: int = _knob(3, "rounds")
    keen: bool = _knob(False, "be keen")
    mode: Literal["slow", "fast"] = _knob("slow", "the mode")
    model: Path | None = _knob(None, "a file")  # noqa: RUF009
    title: str = _knob("none such", "a title")


STAGE = Knobs(
    "stage",
    f"{__name__}:Stage",
    basic=("gain", "rounds", "keen", "mode", "model", "title"),
)


def _flags(*arguments: str) -> dict[str, Any]:
    command = KnobCommand("try", params=[click.Option(["--own"])], callback=lambda **kwargs: kwargs,
                          knobs=(STAGE,))  # fmt: skip
    return command.main(list(arguments), standalone_mode=False)


def test_every_kind_of_field_becomes_a_flag_of_its_type() -> None:
    flags = _flags("--gain", "2", "--cap", "-1e3", "--rounds", "7", "--keen", "--mode", "fast",
                   "--model", "a/b.npz", "--title", "T")  # fmt: skip
    expected = Stage(2.0, -1e3, 7, True, "fast", Path("a/b.npz"), "T")
    assert resolve(STAGE, flags, {}) == expected


def test_without_flags_every_value_is_the_default() -> None:
    assert resolve(STAGE, _flags(), {}) == Stage()


@given(st.tuples(*[st.none() | st.integers(0, 9)] * 3))
def test_flag_beats_config_beats_profile_beats_default(layers: tuple[int | None, ...]) -> None:
    flag = layers[0]
    flags = _flags(*([] if flag is None else ["--rounds", str(flag)]))
    tables = [{"stage": {"rounds": value}} if value is not None else {} for value in layers[1:]]
    expected = next((value for value in layers if value is not None), 3)
    assert resolve(STAGE, flags, tables[0], tables[1]).rounds == expected


@given(st.booleans(), st.booleans())
def test_a_flag_can_take_back_what_the_config_says(flag: bool, config: bool) -> None:
    flags = _flags("--keen" if flag else "--no-keen")
    assert resolve(STAGE, flags, {"stage": {"keen": config}}).keen is flag


def test_help_says_unit_default_and_what_is_advanced() -> None:
    command = KnobCommand("try", knobs=(STAGE,))
    text = CliRunner().invoke(command, ["--help"]).output
    plain, _, advanced = text.partition("[stage] advanced:")
    assert "--gain NUMBER" in plain and "a gain [1/s]  (default: 1.5)" in plain
    assert "--keen / --no-keen" in plain and "--mode [slow|fast]" in plain
    assert "--cap NUMBER" in advanced and "--cap" not in plain


@pytest.mark.parametrize(
    ("toml", "message", "help"),
    [
        ("[stage]\nroundz = 2", "[stage]: unknown key: roundz", "did you mean rounds?"),
        ("[stag]\nrounds = 2", "unknown table: stag", "did you mean stage?"),
        ("rounds = 2", "unknown key outside a table: rounds", "put it below [stage]"),
        ("[stage\n", "not valid TOML", ""),
    ],
)
def test_a_config_file_with_an_unknown_key_is_refused(
    tmp_path: Path, toml: str, message: str, help: str
) -> None:
    path = tmp_path / "c.toml"
    path.write_text(toml)
    with pytest.raises(ConfigError) as error:
        read_config(path, (STAGE,))
    assert message in str(error.value) and str(path) in str(error.value)
    assert error.value.help.startswith(help) or "known are" in error.value.help


@pytest.mark.parametrize(
    "line",
    ['gain = "2"', "gain = true", "rounds = 2.5", "keen = 1", 'mode = "faster"', "model = 3"],
)
def test_a_config_value_of_another_type_is_refused_not_converted(tmp_path: Path, line: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(f"[stage]\n{line}\n")
    with pytest.raises(ConfigError, match=rf"c.toml: \[stage\] {line.split()[0]}: "):
        read_config(path, (STAGE,))


def test_a_whole_number_will_do_for_a_float(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[stage]\ngain = 2\nmodel = "a.npz"\n')
    config = read_config(path, (STAGE,))
    assert config == {"stage": {"gain": 2.0, "model": Path("a.npz")}}
    assert isinstance(config["stage"]["gain"], float)


def test_a_robot_profile_with_an_unknown_key_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"robot profile: \[stage\]: unknown key: gian"):
        resolve(STAGE, {}, {}, {"stage": {"gian": 1.0}})


def test_every_command_accepts_a_config_file_with_the_tables_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from motionkit.cli.console import main

    path, out = tmp_path / "c.toml", tmp_path / "walk.bvh"
    path.write_text("[synth]\nseconds = 0.5\n[audit]\nmin_seconds = 0.1\n[clip]\nfps = 20\n"
                    "[retarget]\nmax_iterations = 50\n[human]\nstature = 1.8\n")  # fmt: skip
    given = ["--config", str(path)]
    assert main(["synth", "--out", str(out), *given]) == 0
    cache = str(tmp_path / "cache")
    retarget = ["retarget", str(out), "--robot", "anatomic_soma", "--out", cache, *given]
    assert main([*retarget, "--dry-run"]) == 0
    assert main(["audit", cache, *given]) == 2
    assert "unknown table" not in capsys.readouterr().err


def test_the_fields_called_basic_exist() -> None:
    from motionkit.cli.stages import STAGES

    for stage in STAGES:
        assert set(stage.basic or ()) <= {field.name for field in stage.fields()}
