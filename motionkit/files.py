"""Files that appear whole or not at all.

They are written under a temporary name in the same folder, synced to the disk, then renamed. A
process that is killed leaves its temporary file; :func:`remove_stale` knows it by its name.
"""

import hashlib
import os
import secrets
import socket
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from motionkit.errors import InputError

TEMPORARY_PREFIX: Final = ".tmp-"
"""Names of files that are being written begin so: ``.tmp-HOST-PID-RANDOM-NAME``."""
STALE_AFTER: Final = 3600.0
"""A temporary file of another machine is left behind if not written to for so long [s]."""


def replace_file(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Put bytes at ``path``; whatever happens, a reader sees the old file or the new one whole.

    Raises:
        InputError: the folder cannot be written to, or the disk is full.
    """
    token = f"{host_token()}-{os.getpid()}-{secrets.token_hex(4)}"
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{token}-{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise InputError(
            f"cannot be written: {error.strerror}",
            where=str(path),
            help="give a folder that can be written to, with room left",
        ) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut, where folders can be synced."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems refuse
            os.fsync(handle)
    finally:
        os.close(handle)


def remove_stale(folder: Path) -> list[Path]:
    """Delete temporary files whose writer is gone, and say which.

    Gone is a process of this machine that no longer runs, or a file not written to for
    :data:`STALE_AFTER`. Costs one listing of the folder.
    """
    host, removed = host_token(), []
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(TEMPORARY_PREFIX):
                continue
            owner, _, rest = entry.name.removeprefix(TEMPORARY_PREFIX).partition("-")
            pid = rest.partition("-")[0]
            with suppress(FileNotFoundError):  # its writer has just finished
                is_old = time.time() - entry.stat().st_mtime > STALE_AFTER
                if is_old or (owner == host and pid.isdigit() and not _is_running(int(pid))):
                    Path(entry.path).unlink()
                    removed.append(Path(entry.path))
    return sorted(removed)


def host_token() -> str:
    """Tells machines apart without naming them: the ``HOST`` of temporary names."""
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def _is_running(pid: int) -> bool:
    if os.name != "posix":  # there, asking with signal 0 would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
