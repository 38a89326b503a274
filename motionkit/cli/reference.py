"""``docs/cli.md``, written from the commands themselves: ``python -m motionkit.cli.reference``."""

from collections.abc import Iterator

import click

from motionkit.cli.console import root
from motionkit.cli.options import KnobOption

_HEAD = """# Command line

Written by `python -m motionkit.cli.reference > docs/cli.md` from the commands; a test compares.

| exit code | meaning |
|---|---|
| 0 | done and clean |
| 1 | done, with findings of severity `error`, or with clips that failed |
| 2 | could not run: the command line, a file or a setting is wrong |
| 130 | interrupted with Ctrl-C; a batch goes on where it was when the command is given again |
| 141 | the reader of the output went away (`motionkit … \\| head`) |

Data goes to stdout and talk to stderr. Under `--json` stdout holds one JSON document and nothing
else. Colour and bars appear on a terminal only, and never when `NO_COLOR` is set.

A setting is looked for in this order: flag, `--config FILE.toml`, the table of the same name in
the robot's profile, default. In the file, `--max-iterations 50` of the table `[retarget]` reads

```toml
[retarget]
max_iterations = 50
```

One file may serve all commands: each takes the tables that it knows. `[audit]` holds for the audit
of `motionkit retarget` too, of every clip that it solves; what was done before keeps its findings,
and `motionkit audit` judges it anew. A key that is no setting is refused, with the nearest that is.
Every command has `--help` (`-h`).

## How a clip of a batch ends

- `written`: in the cache. The solver accepted it. Findings of the audit stand beside it; one of
  severity `error` is printed as `flaw` and makes the command exit with 1.
- `rejected`: not in the cache. The solver did not converge, or a limit or budget is exceeded. The
  same settings would reject it again, so it is not solved again without `--overwrite`. Printed as
  `REJECT`.
- `failed`: not in the cache. It could not be read, or something broke. It is tried again. Printed
  as `FAIL`.

For each clip a batch writes `DIR/clips/NAME.jsonl`: its findings, its figures, and last a line of
kind `ended` with one of these words and the fingerprint of source and settings; then, for a clip
that was accepted, its shard `DIR/NAME.safetensors`; then, with `--picture`,
`DIR/pictures/NAME.png`. Each appears whole or not at all. `DIR/audit.jsonl` is put together from
the first kind of file at the end of every run. So a batch that is killed at any instant goes on
where it was when the command is given again, and several machines may each do a `--shard` of it
into one folder.

A file that is named is called by its stem; one that is found in a folder by its path below that
folder, with `__` between folders. Two files that would have one name are refused before any work.
The person is found in the whole clip, which is then cut (`--frames`) and brought to the rate of the
cache (`--fps`); markers are cut first, since a recording may begin outside the volume. `motionkit
align` writes the same records; [align.md](align.md) says what else. One clip runs in the process of
the command; more run in processes of their own, so that a crash inside a library costs one clip.
"""


def command_reference() -> str:
    """The reference of all commands as Markdown."""
    parts = [_HEAD]
    ctx = click.Context(root, info_name="motionkit")
    for path, command in _walk(root, ctx):
        parts.append("\n".join(_describe(path, command)))
    return "\n".join(parts)


def _walk(
    group: click.Group, ctx: click.Context
) -> Iterator[tuple[click.Context, click.Command]]:  # fmt: skip
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        own = click.Context(command, info_name=name, parent=ctx)
        yield own, command
        if isinstance(command, click.Group):
            yield from _walk(command, own)


def _describe(ctx: click.Context, command: click.Command) -> Iterator[str]:
    yield f"## {ctx.command_path}\n"
    yield f"{_paragraphs(command.help or '')}\n"
    if isinstance(command, click.Group):
        return
    usage = " ".join(command.collect_usage_pieces(ctx))
    yield f"```\n{ctx.command_path} {usage}\n```\n"
    if command.epilog:
        yield f"{command.epilog.replace('Example: ', 'Example: `')}`\n"
    options = [
        p for p in command.get_params(ctx) if isinstance(p, click.Option) and "--help" not in p.opts
    ]
    plain = [option for option in options if not isinstance(option, KnobOption)]
    yield "| option | meaning |\n|---|---|"
    for option in plain:
        yield f"| {_flags(option)} | {_cell(option.help or '')} |"
    knobs = [option for option in options if isinstance(option, KnobOption)]
    if knobs:
        yield "\n| setting | table | meaning | default | source |\n|---|---|---|---|---|"
    for option in knobs:
        meaning, default, source = (_cell(text) for text in option.documented)
        table = f"`[{option.table}]`{' advanced' if option.advanced else ''}"
        yield f"| {_flags(option)} | {table} | {meaning} | {default} | {source} |"
    yield ""


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _flags(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names
    if isinstance(option.type, click.Choice):
        return f"{names} `{_cell('|'.join(option.type.choices))}`"
    return f"{names} `{option.metavar or option.type.name.upper()}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    click.echo(command_reference(), nl=False)
