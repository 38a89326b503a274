"""Processes that work through tasks, and outlive neither a crash of one nor their parent.

Unlike ``concurrent.futures``, a worker that dies (a segmentation fault in a file library, the
kernel's memory killer) costs its own task only: the task is reported as died, and a new worker
takes the next one. A worker whose parent is killed ends itself at once, so ``kill -9`` leaves
nothing running. Workers are spawned, not forked: JAX and BLAS do not survive a fork.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

_JOIN_SECONDS = 5.0  # for a worker to end after its pipe is closed, before it is killed

ONE_THREAD: dict[str, str] = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
"""Environment under which one process uses one core; read when numpy is first imported."""


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Died:
    """What is known of a worker that ended in the middle of a task."""

    exit_code: int
    """As of :mod:`multiprocessing`: minus the number of the signal, or the exit status."""

    def __str__(self) -> str:
        """For people, with the signal's name."""
        if self.exit_code >= 0:
            return f"its process ended with status {self.exit_code}"
        return f"its process was killed by {signal.Signals(-self.exit_code).name}"


@dataclass(slots=True)
class _Worker(Generic[T]):
    """A process, our end of its pipe, and the task it is at."""

    process: SpawnProcess
    pipe: Connection
    task: T | None = None


def run(function: Callable[[T], R], tasks: Iterable[T], workers: int) -> Iterator[
    tuple[T, R | Died]
]:  # fmt: skip
    """Results of a function over tasks, in the order in which they are done.

    Tasks start in the order given. Leaving the loop early ends the workers.

    Args:
        function: importable by name, as are the types of its tasks and results.
        tasks: what to call it with.
        workers: how many processes at most.
    """
    waiting: deque[T] = deque(tasks)
    crew: list[_Worker[T]] = []
    try:
        while waiting or any(worker.task is not None for worker in crew):
            _hand_out(function, waiting, crew, workers)
            busy = {worker.pipe: worker for worker in crew if worker.task is not None}
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                task, worker.task = worker.task, None
                assert task is not None
                try:
                    result: R | Died = worker.pipe.recv()
                except (EOFError, ConnectionResetError):
                    worker.process.join()
                    crew.remove(worker)
                    result = Died(worker.process.exitcode or 0)
                yield task, result
    finally:
        _dismiss(crew)


def _hand_out(
    function: Callable[[T], R], waiting: deque[T], crew: list[_Worker[T]], workers: int
) -> None:
    """Give every idle worker a task, hiring while there is room."""
    while waiting:
        idle = next((worker for worker in crew if worker.task is None), None)
        if idle is None:
            if len(crew) >= workers:
                return
            idle = _hire(function)
            crew.append(idle)
        idle.task = waiting.popleft()
        # If it died while starting, the loop meets the end of its pipe and says so.
        with contextlib.suppress(BrokenPipeError):
            idle.pipe.send(idle.task)


def _hire(function: Callable[[T], R]) -> _Worker[T]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=_work, args=(theirs, function), daemon=True
    )
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(pipe: Connection, function: Callable[[Any], Any]) -> None:
    """Life of a worker: until the pipe ends, or the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        pipe.send(function(task))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _dismiss(crew: list[_Worker[Any]]) -> None:
    for worker in crew:
        worker.pipe.close()
        if worker.task is not None:
            worker.process.terminate()
    for worker in crew:
        worker.process.join(_JOIN_SECONDS)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
