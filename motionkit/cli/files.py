"""Text files that are either whole or absent, whenever the power goes."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Put ``text`` at ``path``; a reader sees the old file or the new one, never a part.

    Written to one hidden name in the same folder, synced, then renamed: what a killed process
    left there is replaced by the next.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process of this kind is at work in the folder, and keep others out.

    The lock ends with the process that holds it. A file system without locks gives none.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
