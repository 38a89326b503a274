"""The one door of the command line: exit codes, errors as two lines, colour, JSON.

Exit codes: 0 done and clean, 1 done with findings, 2 could not run, 130 interrupted, 141 the
reader of our output went away. Data goes to stdout and talk to stderr. A command returns its
exit code; ``None`` means 0.
"""

import importlib
import io
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import click

from motionkit.errors import MotionkitError

CLEAN, FINDINGS, COULD_NOT_RUN, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141

JSON_SCHEMA = 1
"""Version of everything printed under ``--json``."""

COMMANDS: dict[str, str] = {
    "retarget": "motionkit.cli.retarget",
    "align": "motionkit.cli.align",
    "inspect": "motionkit.cli.inspect",
    "convert": "motionkit.cli.convert",
    "audit": "motionkit.cli.audit",
    "cache": "motionkit.cli.cache",
    "robots": "motionkit.cli.robots",
    "synth": "motionkit.cli.synth",
    "demo": "motionkit.cli.demo",
    "doctor": "motionkit.cli.doctor",
}
"""Each command and the module that holds it, as the attribute ``command``; in the order of help."""


@runtime_checkable
class Stream(Protocol):
    """What is asked of an output before it is coloured."""

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        ...


class _PipeClosed(Exception):
    """Whoever read our output has gone; click would turn the error itself into exit code 1."""


class _Commands(click.Group):
    """Loads a command's module only when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of a first session."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(COMMANDS[cmd_name]).command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names, or an error with the nearest name."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run; a closed pipe leaves as our own exception."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _PipeClosed from error


def _print_version(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from motionkit import __version__

        click.echo(f"motionkit {__version__}")
        ctx.exit(CLEAN)


@click.command(
    cls=_Commands,
    name="motionkit",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: motionkit demo --out demo",
)
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
    help="Print the version and stop.",
)  # fmt: skip
def root() -> None:
    """Recorded human motion into robot references that a tracking policy can trust."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line once and return its exit code.

    Args:
        argv: the arguments after the program's name; those of the process if absent.
    """
    for stream in (sys.stdout, sys.stderr):  # a name that is no text must not end the command
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        result = root.main(args=None if argv is None else list(argv), prog_name="motionkit",
                           standalone_mode=False)  # fmt: skip
        sys.stdout.flush()
        return result if isinstance(result, int) else CLEAN
    except MotionkitError as error:
        print_error(str(error), error.help)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
    except click.ClickException as error:
        print_error(*_say_click_error(error))
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except (_PipeClosed, BrokenPipeError):
        # Python flushes stdout once more on its way out; that must find an open file.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print_error(f"{where}{(error.strerror or str(error)).lower()}", _OS_HELP)
    return COULD_NOT_RUN


_OS_HELP = "check the path, its permissions and the space left"


def _say_click_error(error: click.ClickException) -> tuple[str, str]:
    """A click error in our voice: what was found, and what to do."""
    message, ctx = error.format_message(), getattr(error, "ctx", None)
    path = ctx.command_path if ctx is not None else "motionkit"
    help = f"run {path} --help"
    if isinstance(error, click.NoSuchCommand):
        message = f"no such command: {error.command_name}"
        nearest = error.possibilities or []
        help = _did_you_mean(nearest) or f"the commands are: {', '.join(_names(ctx))}"
    elif isinstance(error, click.NoSuchOption):
        message = f"no such option: {error.option_name}"
        help = _did_you_mean(error.possibilities or []) or help
    elif isinstance(error, click.MissingParameter):
        named = error.param.get_error_hint(ctx) if error.param and ctx else "a parameter"
        message = f"{str(named).replace(chr(39), '')} is missing"
    first, *rest = message.splitlines()
    message = " ".join([first, *(line.strip() for line in rest)]).rstrip(".")
    if message[1:2].islower():
        message = message[:1].lower() + message[1:]
    return message, help


def _names(ctx: click.Context | None) -> list[str]:
    if ctx is not None and isinstance(ctx.command, click.Group):
        return ctx.command.list_commands(ctx)
    return list(COMMANDS)


def _did_you_mean(names: Sequence[str]) -> str:
    return f"did you mean {' or '.join(sorted(names))}?" if names else ""


def print_error(message: str, help: str = "") -> None:
    """``error: …`` and, where there is advice, ``help: …``, on stderr."""
    say(f"{paint('error:', 'red')} {message}")
    if help:
        say(f"{paint('help:', 'cyan')} {help}")


def say(line: str = "") -> None:
    """One line of talk, on stderr."""
    click.echo(line, err=True)


def show(line: str = "") -> None:
    """One line of data, on stdout."""
    click.echo(line)


def show_json(kind: str, content: dict[str, Any]) -> None:
    """One JSON document on stdout, with its schema and kind first."""
    document = {"schema": JSON_SCHEMA, "kind": kind, **content}
    # NaN is no JSON: better to fail here than to print what no strict reader accepts.
    click.echo(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def counted(number: int, noun: str) -> str:
    """``1 clip``, ``2 clips``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def paint(text: str, colour: str, stream: Stream | None = None) -> str:
    """The text in a colour, where the stream (default stderr) shows colours."""
    return click.style(text, fg=colour) if has_colour(stream or sys.stderr) else text


def has_colour(stream: Stream) -> bool:
    """Whether colour may be written: a terminal, without ``NO_COLOR`` (no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def is_terminal(stream: Stream) -> bool:
    """Whether a person watches the stream on a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"
