"""Damaged C3D files load or are refused; and what another reader makes of them."""

import contextlib
import faulthandler
import os
import resource
import signal
import sys
import time
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from builders_c3d import Made, build, damage
from conftest import SHARED

from motionkit.errors import InputError
from motionkit.formats.c3d import read
from motionkit.formats.source import ReadOptions, Source

LARGEST = 450_000  # bytes of a file that is damaged
SLOWEST = 1.0  # [s], of the processor
MOST_MEMORY = 200e6  # bytes
THEIR_TIME = 5  # [s]
THEIR_MEMORY = 4 << 30  # bytes


def originals() -> list[bytes]:
    """Real files, and made ones of every processor and kind of number."""
    files = [build(_made(processor, is_float)) for processor in ("pc", "dec", "sgi")
             for is_float in (False, True)]  # fmt: skip
    folder = SHARED / "data" / "formats"
    real = [*sorted(folder.glob("c3d/*.c3d")), *sorted(folder.glob("minimal/c3d_*.c3d"))]
    return files + [path.read_bytes() for path in real if path.stat().st_size < LARGEST]


def _made(processor: str, is_float: bool) -> Made:
    rng = np.random.default_rng(0)
    pos = rng.uniform(10.0, 1700.0, (20, 12, 3))
    plates = {"FORCE_PLATFORM": {"USED": 1, "TYPE": [4], "CORNERS": rng.uniform(size=(3, 4, 1)),
                                 "ORIGIN": np.ones((3, 1)), "CHANNEL": np.arange(1, 7)[:, None],
                                 "CAL_MATRIX": np.ones((6, 6, 1))}}  # fmt: skip
    return Made(pos, [f"P{i}" for i in range(12)], processor=processor, is_float=is_float,
                analog=np.ones((80, 6)), samples=4, parameters=plates)  # fmt: skip


def run(seeds: range, *, measure: bool = True) -> Counter[str]:
    """Damage files and read them; memory is measured of some, since that takes time."""
    files, count = originals(), Counter()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        data = damage(rng, files[rng.integers(len(files))])
        is_measured = measure and seed % 30 == 0
        if is_measured:
            tracemalloc.start()
        start = time.process_time()
        try:
            clip = read(Source(Path("damaged.c3d"), data), ReadOptions())
        except InputError as error:
            assert str(error).startswith("damaged.c3d") and str(error).isprintable()
            count["refused"] += 1
        else:
            assert clip.pos_w.shape == (clip.num_frames, len(clip.labels), 3)
            assert all(label.isprintable() and label for label in clip.labels)
            assert all(note.message.isprintable() for note in clip.provenance.notes)
            count["read"] += 1
        elapsed = time.process_time() - start
        if is_measured:
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < MOST_MEMORY, f"seed {seed}: {peak / 1e6:.0f} MB"
        else:
            assert elapsed < SLOWEST, f"seed {seed}: {elapsed:.2f} s"
    return count


def test_damaged_files_load_or_are_refused_in_one_line():
    count = run(range(300))
    assert count["refused"] > 80 and count["read"] > 40  # the damage is neither void nor total


@pytest.mark.slow
def test_damaged_files_load_or_are_refused_in_one_line_at_length():
    run(range(300, 3_300))


HOSTILE = {
    "65535 points": Made(np.ones((2, 1, 3)), ["A"], header={2: 65535}),
    "65535 frames": Made(np.ones((2, 1, 3)), ["A"], header={5: 65535}),
    "4 billion frames": Made(np.ones((2, 1, 3)), ["A"], header={5: 65535}, parameters={
        "TRIAL": {"ACTUAL_START_FIELD": [1, 0], "ACTUAL_END_FIELD": [65535, 65535]}}),
    "endless float frames": Made(np.ones((2, 1, 3)), ["A"], header={5: 65535},
                                 parameters={"POINT": {"FRAMES": 3e38}}),
    "65535 analog values": Made(np.ones((2, 1, 3)), ["A"], header={3: 65535, 10: 65535}),
    "15000 names of one letter": Made(np.ones((2, 1, 3)), ["A"], width=1, parameters={
        "POINT": {f"LABELS{i}": ["B"] * 255 for i in range(2, 60)}}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_counts_that_the_data_do_not_bear_out_take_no_memory(name):
    source = Source(Path("hostile.c3d"), build(HOSTILE[name]))
    start = time.process_time()
    with contextlib.suppress(InputError):
        read(source, ReadOptions())
    assert time.process_time() - start < SLOWEST
    tracemalloc.start()
    with contextlib.suppress(InputError):
        read(source, ReadOptions())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * len(source.data) + 4e6


def test_a_large_parameter_section_without_an_end_is_left_in_time():
    data = bytearray(build(_made("pc", True)))
    data[16:18] = (65000).to_bytes(2, "little")  # data begin at 33 MB
    rng = np.random.default_rng(0)
    for filling in (
        rng.integers(1, 127, 34 << 20, np.uint8).tobytes(),
        b"\x01\x01A\x06\0\1\0\0" * (4 << 20),
    ):
        start = time.process_time()
        with contextlib.suppress(InputError):
            read(Source(Path("large.c3d"), bytes(data[:700]) + filling), ReadOptions())
        assert time.process_time() - start < 2.0 * SLOWEST


@pytest.mark.slow
def test_ezc3d_dies_on_damaged_files_and_reads_others_wrongly(tmp_path, capsys):
    """Why the decoder is motionkit's own: each file is read by ezc3d in a process of its own."""
    pytest.importorskip("ezc3d")
    files, count = originals(), Counter()
    path = tmp_path / "damaged.c3d"
    for seed in range(300):
        rng = np.random.default_rng(seed)
        data = damage(rng, files[rng.integers(len(files))])
        path.write_bytes(data)
        theirs, frames = _ezc3d_in_child(path)
        count[theirs] += 1
        if theirs != "read":
            continue
        try:
            read(Source(path, data), ReadOptions())
        except InputError as error:
            if "enough for" in str(error):
                count["read though cut off"] += 1
            elif frames == 0:
                count["read as nothing"] += 1
    with capsys.disabled():
        print("\nezc3d, 300 damaged files:", dict(sorted(count.items())))
    assert count["died"] + count["hung"] > 0
    assert count["read though cut off"] + count["read as nothing"] > 10


def _ezc3d_in_child(path: Path) -> tuple[str, int]:
    """What becomes of a process that reads a file with ezc3d, and coordinates that it finds."""
    import ezc3d

    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            faulthandler.disable()
            resource.setrlimit(resource.RLIMIT_AS, (THEIR_MEMORY, THEIR_MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(THEIR_TIME)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            os.write(theirs, str(ezc3d.c3d(str(path))["data"]["points"].size).encode())
        except BaseException as error:
            os._exit(4 if isinstance(error, MemoryError) else 3)
        os._exit(0)
    os.close(theirs)
    said = os.read(ours, 100)
    os.close(ours)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return "hung" if os.WTERMSIG(status) == signal.SIGALRM else "died", 0
    outcome = {0: "read", 3: "refused", 4: "out of memory"}[os.WEXITSTATUS(status)]
    return outcome, int(said or 0)


if sys.platform == "win32":
    pytest.skip("processes are forked", allow_module_level=True)
