"""The pool of processes: a crash costs one task, and a killed parent leaves nothing running."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from motionkit.cli import pool


def square_or_die(task: tuple[str, int]) -> int:
    """What the workers of these tests do; at top level so that a spawned process finds it."""
    kind, number = task
    if kind == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if kind == "exit":
        os._exit(number)
    if kind == "sleep":
        time.sleep(number)
    return number * number


def test_a_worker_that_dies_costs_its_own_task_only() -> None:
    tasks = [("square", 2), ("segfault", 0), ("square", 3), ("exit", 7), ("square", 4)]
    results = dict(pool.run(square_or_die, tasks, workers=1))
    assert [results[("square", n)] for n in (2, 3, 4)] == [4, 9, 16]
    assert results[("segfault", 0)] == pool.Died(-signal.SIGSEGV)
    assert str(results[("segfault", 0)]) == "its process was killed by SIGSEGV"
    assert str(results[("exit", 7)]) == "its process ended with status 7"


def test_leaving_early_ends_the_workers() -> None:
    results = pool.run(square_or_die, [("square", 1), ("sleep", 60)], workers=2)
    began = time.monotonic()
    assert next(results) == (("square", 1), 1)
    results.close()  # type: ignore[attr-defined]
    assert time.monotonic() - began < 30


def test_no_tasks_start_no_process() -> None:
    assert list(pool.run(square_or_die, [], workers=3)) == []


_PARENT = """
import sys; sys.path.insert(0, sys.argv[1])
from motionkit.cli import pool
from test_cli_pool import square_or_die
if __name__ == "__main__":
    for _ in pool.run(square_or_die, [("square", 1), ("sleep", 120), ("sleep", 121)], workers=2):
        print("one done", flush=True)
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="counts processes in /proc")
def test_workers_end_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(_PARENT)
    parent = subprocess.Popen(
        [sys.executable, str(script), str(Path(__file__).parent)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None and parent.stdout.readline() == "one done\n"
    workers = _children(parent.pid)
    assert len(workers) >= 2
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 10
    while any(_is_running(pid) for pid in workers):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.05)


def _children(pid: int) -> list[int]:
    own = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid:
            own.append(int(stat.parent.name))
    return own


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
