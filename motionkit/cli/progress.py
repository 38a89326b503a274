"""What a batch says while it works: a line a clip, and on a terminal a bar below them."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from motionkit.cli.batch import Ended
from motionkit.cli.console import has_colour, is_terminal, paint, say

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_NAME_WIDTH = 24
_LABEL_WIDTH = 6


class BatchTalk:
    """Prints how each clip ended, on stderr. A context manager, because of the bar."""

    def __init__(self, total: int) -> None:
        """Draw nothing yet.

        Args:
            total: how many clips there are to solve.
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
            self._task = self._bar.add_task("retarget", total=self._total)
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
