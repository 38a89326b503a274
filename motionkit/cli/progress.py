"""What a batch says while it works: a line a clip, and on a terminal a bar below them."""

import sys
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from motionkit.cli import batch
from motionkit.cli.batch import Attempt, Ended, J
from motionkit.cli.console import counted, has_colour, is_terminal, paint, say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_NAME_WIDTH = 24
_LABEL_WIDTH = 6


class BatchTalk:
    """Prints how each clip ended, on stderr. A context manager, because of the bar."""

    def __init__(self, total: int) -> None:
        """Draw nothing yet.

        Args:
            total: how many clips there are to work on.
        """
        self._total = total
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> "BatchTalk":
        """Start the bar, where there is a terminal and more than one clip."""
        if self._total > 1 and is_terminal(sys.stderr):
            from rich.console import Console
            from rich.progress import Progress

            console = Console(stderr=True, no_color=not has_colour(sys.stderr), highlight=False)
            self._bar = Progress(console=console, transient=True)
            self._task = self._bar.add_task("clips", total=self._total)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def ended(self, ended: Ended) -> None:
        """Print the lines of a clip, above the bar."""
        for line in lines_of(ended):
            say(line)  # while the bar is up, rich prints it above
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task)


def lines_of(ended: Ended) -> list[str]:
    """How a clip ended, for people: a line, the errors found in a clip that was written, advice."""
    label, colour = {
        "written": ("flaw", "yellow") if ended.errors else ("ok", "green"),
        "rejected": ("REJECT", "red"),
        "failed": ("FAIL", "red"),
    }[ended.status]
    label = paint(f"{label:<{_LABEL_WIDTH}}", colour)
    lines = [f"  {label}  {ended.clip:<{_NAME_WIDTH}} {ended.message}"]
    indent = " " * (_LABEL_WIDTH + _NAME_WIDTH + 5)
    if ended.status == "written":
        lines += [f"{indent}{error}" for error in ended.errors]
    if ended.help:
        lines.append(f"{indent}{paint('help:', 'cyan')} {ended.help}")
    return lines


def opening(known: Sequence[Ended], num_todo: int, *, verb: str) -> str:
    """``38 clips: 20 already done, 1 rejected before, 17 to solve``."""
    written = sum(ended.status == "written" for ended in known)
    parts = [f"{written} already done"] if written else []
    if rejected := len(known) - written:
        parts.append(f"{rejected} rejected before")
    parts.append(f"{num_todo} to {verb}")
    return f"{counted(len(known) + num_todo, 'clip')}: {', '.join(parts)}"


def work(
    function: Callable[[J], Attempt],
    known: Sequence[Ended],
    todo: Sequence[J],
    workers: int,
    *,
    more: Callable[[Ended], list[str]] | None = None,
) -> list[Ended]:
    """Do what is to be done, saying how each clip ends; all ends, sorted by name.

    Args:
        function: the work on one clip, importable by name.
        known: clips that ended before.
        todo: the clips to work on.
        workers: processes at once.
        more: further lines about a clip.
    """
    ended = list(known)
    with BatchTalk(len(todo)) as talk:
        for end in ended:
            if not end.is_clean:
                talk.ended(end)
        for _, end in batch.run(function, todo, workers):
            talk.ended(end)
            for line in more(end) if more is not None else ():
                say(line)
            ended.append(end)
    return sorted(ended, key=lambda end: end.clip)


def closing(ended: Sequence[Ended]) -> str:
    """``37 written (2 with warnings), 1 rejected``."""
    of_written = [end for end in ended if end.status == "written"]
    flaws = (("errors", sum(bool(e.errors) for e in of_written)),
             ("warnings", sum(bool(e.warnings) for e in of_written)))  # fmt: skip
    counts = [f"{len(of_written)} written"]
    if said := ", ".join(f"{number} with {what}" for what, number in flaws if number):
        counts[0] += f" ({said})"
    for status in ("rejected", "failed"):
        if number := sum(e.status == status for e in ended):
            counts.append(f"{number} {status}")
    return ", ".join(counts)
