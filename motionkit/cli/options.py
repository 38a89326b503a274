"""Options made from the knobs of a stage, and the one order in which they are resolved.

A stage declares its knobs once, as fields of a frozen dataclass with ``help``, ``unit`` and
``source`` in their metadata. From those come the flags, their help, the keys of ``--config
FILE.toml`` and ``docs/cli.md``. A value is looked for in this order: flag, config file, the
robot's profile (a table of the same name), default.
"""

import difflib
import importlib
import os
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any, Literal

import click

from motionkit.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Knobs:
    """A stage's configuration: where its dataclass lives, and its table in a TOML file."""

    table: str
    """Name of the table: ``[table]`` in the config file and in a robot's profile."""
    address: str
    """``module:Class``, imported only when the options are needed."""
    basic: tuple[str, ...] | None = None
    """Fields for everyone, the others being listed as advanced; absent: all."""
    renamed: tuple[tuple[str, str], ...] = ()
    """(field, flag) where the field's own name means another thing on the command line."""

    def load(self) -> type:
        """The dataclass."""
        module, _, name = self.address.partition(":")
        return getattr(importlib.import_module(module), name)

    def fields(self) -> list[Field[Any]]:
        """The fields, each of which becomes a flag and a key."""
        return list(fields(self.load()))


class KnobOption(click.Option):
    """A flag derived from one field; ``None`` when the user did not give it."""

    advanced: bool
    """Listed apart, for those who tune a stage."""
    table: str
    """Table of the config file that holds the same key."""
    documented: tuple[str, str, str]
    """Meaning with unit, default and source, for the documents."""


class KnobCommand(click.Command):
    """A command whose own parameters are followed by the flags of the stages that it runs."""

    def __init__(self, *args: Any, knobs: tuple[Knobs, ...] = (), **kwargs: Any) -> None:
        """Remember the stages; nothing of them is imported before the flags are needed."""
        super().__init__(*args, **kwargs)
        self.knobs = knobs
        self._derived: list[click.Parameter] | None = None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Own parameters, then the derived ones, then --help."""
        if self._derived is None:
            self._derived = [_option(field, knobs) for knobs in self.knobs
                             for field in knobs.fields()]  # fmt: skip
        own, help_option = self.params, self.get_help_option(ctx)
        return [*own, *self._derived, *([help_option] if help_option else [])]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of the command, then a section a stage, then what is advanced."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None or isinstance(param, click.Argument):
                continue
            title = "Options"
            if isinstance(param, KnobOption):
                title = f"[{param.table}]{' advanced' if param.advanced else ''}"
            sections.setdefault(title, []).append(record)
        order = sorted(sections, key=lambda title: title.endswith("advanced"))
        for title in order:
            with formatter.section(title):
                formatter.write_dl(sections[title])


class OneCoreCommand(KnobCommand):
    """Sets, before numpy is imported, what makes a process use one core and same bytes."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """As of click."""
        from motionkit.cli.pool import ONE_THREAD

        os.environ.update(ONE_THREAD)
        return super().make_context(*args, **kwargs)


def _option(field: Field[Any], knobs: Knobs) -> KnobOption:
    annotation = _annotation(knobs.load(), field.name)
    flag = dict(knobs.renamed).get(field.name, flag_name(field.name))
    declarations = [f"{flag}/--no-{flag[2:]}"] if annotation is bool else [flag]
    meta = field.metadata
    meaning = meta["help"] + (f" [{meta['unit']}]" if meta.get("unit") else "")
    default = _say_default(field)
    shown = "" if default in ("", "none") else f"  (default: {default})"
    option = KnobOption(
        [_destination(knobs, field.name), *declarations],
        type=None if annotation is bool else _click_type(annotation),
        default=None,
        help=meaning + shown,
        metavar=None
        if annotation is bool or _choices(annotation)
        else meta.get("metavar", _metavar(annotation)),
    )
    option.advanced = knobs.basic is not None and field.name not in knobs.basic
    option.table = knobs.table
    option.documented = (meaning, default, str(meta.get("source", "")))
    return option


def flag_name(field_name: str) -> str:
    """The flag of a field: ``max_iterations`` → ``--max-iterations``."""
    return f"--{field_name.replace('_', '-')}"


def _destination(knobs: Knobs, field_name: str) -> str:
    return f"knob_{knobs.table}_{field_name}"


def _annotation(cls: type, name: str) -> Any:
    """Type of a field with ``None`` taken off: absence is said by leaving the flag out."""
    found = typing.get_type_hints(cls)[name]
    if isinstance(found, types.UnionType) or typing.get_origin(found) is typing.Union:
        inner = [arg for arg in typing.get_args(found) if arg is not type(None)]
        if len(inner) == 1:
            return inner[0]
    return found


def _choices(annotation: Any) -> tuple[str, ...]:
    return typing.get_args(annotation) if typing.get_origin(annotation) is Literal else ()


def _click_type(annotation: Any) -> click.ParamType:
    if choices := _choices(annotation):
        return click.Choice(choices)
    known: dict[Any, click.ParamType] = {
        int: click.INT, float: click.FLOAT, str: click.STRING,
        Path: click.Path(path_type=Path),
    }  # fmt: skip
    return known[annotation]


def _metavar(annotation: Any) -> str:
    return {int: "INTEGER", float: "NUMBER", Path: "PATH"}.get(annotation, "TEXT")


def _say_default(field: Field[Any]) -> str:
    value = field.default
    if value is MISSING:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value is None else str(value)


def read_config(path: Path | None, stages: Iterable[Knobs]) -> dict[str, dict[str, Any]]:
    """Tables of a config file, every key of which is a knob of one of the stages.

    Raises:
        ConfigError: the file cannot be read, is no TOML, or holds an unknown key.
    """
    if path is None:
        return {}
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError("no such config file", where=str(path),
                          help="give the path of a TOML file") from None  # fmt: skip
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"the config file is not valid TOML: {error}",
            where=str(path),
            help="a table reads [retarget], a setting max_iterations = 50",
        ) from None
    of_table = {knobs.table: knobs for knobs in stages}
    known = {table: [f.name for f in knobs.fields()] for table, knobs in of_table.items()}
    tables: dict[str, dict[str, Any]] = {}
    for table, keys in content.items():
        if table not in known or not isinstance(keys, dict):
            near = [t for t, names in known.items() if table in names]
            advice = f"put it below [{near[0]}]" if near else _near(table, known)
            what = "table" if isinstance(keys, dict) else "key outside a table"
            raise ConfigError(f"unknown {what}: {table}", where=str(path), help=advice)
        tables[table] = _convert_table(of_table[table], keys, str(path))
    return tables


def _convert_table(knobs: Knobs, keys: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A TOML table with every value as its field's type; no key but the stage's."""
    _require_known(keys, [f.name for f in knobs.fields()], f"{where}: [{knobs.table}]")
    cls = knobs.load()
    return {
        key: _convert(value, _annotation(cls, key), f"{where}: [{knobs.table}] {key}")
        for key, value in keys.items()
    }


def _require_known(keys: Iterable[str], known: list[str], where: str) -> None:
    for key in keys:
        if key not in known:
            raise ConfigError(f"unknown key: {key}", where=where, help=_near(key, known))


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name.lower().replace("-", "_"), list(known), n=1)
    return f"did you mean {near[0]}?" if near else f"known are: {', '.join(known)}"


def resolve(
    knobs: Knobs,
    flags: Mapping[str, Any],
    config: Mapping[str, Mapping[str, Any]],
    profile: Mapping[str, Any] | None = None,
) -> Any:
    """The stage's configuration: flag before config file before robot profile before default.

    Args:
        knobs: the stage.
        flags: what click collected.
        config: what :func:`read_config` returned.
        profile: the robot's profile, whose table of the stage's name counts if it has one.

    Raises:
        ConfigError: an unknown key in the profile, or a value of the wrong type or range.
    """
    cls = knobs.load()
    own = _convert_table(knobs, (profile or {}).get(knobs.table, {}), "robot profile")
    values = {**own, **config.get(knobs.table, {})}
    names = [f.name for f in knobs.fields()]
    for name in names:
        if (flag := flags.get(_destination(knobs, name))) is not None:
            values[name] = flag
    try:
        return cls(**values)
    except ConfigError as error:
        if not error.help and (ctx := click.get_current_context(silent=True)) is not None:
            error.help = f"{ctx.command_path} --help says what each setting means"
        raise


def _convert(value: Any, annotation: Any, where: str) -> Any:
    """A TOML value as the field's type; no guess is made from a string to a number."""
    if choices := _choices(annotation):
        if value not in choices:
            raise ConfigError(f"{value!r} is no choice", where=where,
                              help=f"it is one of: {', '.join(choices)}")  # fmt: skip
        return value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is float and number:
        return float(value)
    if annotation is Path and isinstance(value, str):
        return Path(value)
    if type(value) is annotation:
        return value
    wanted = {int: "a whole number", float: "a number", bool: "true or false"}.get(
        annotation, "a string"
    )
    raise ConfigError(f"found {value!r}, expected {wanted}", where=where,
                      help="nothing is converted: write 3 and true, not \"3\" and 1")  # fmt: skip
