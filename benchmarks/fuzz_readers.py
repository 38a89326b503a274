"""Every reader against damaged files: none may crash, hang, take memory or accept what is wrong.

    python benchmarks/fuzz_readers.py [--per-reader 10000] [--seed 0] [--json OUT] [READER ...]
    python benchmarks/fuzz_readers.py --replay READER INDEX

Each input is a sound file with one to three kinds of damage; the seed, the reader and the number
of the input decide it. What is read is also described as ``motionkit inspect --json`` does. A
failure is: any exception that is no MotionkitError, any warning, a refusal that is not one line,
anything printed, the death of the process, more than 5 s (twice), more than 1 GB, and a clip
from a zip whose checksums are all those of the sound file but whose arrays are not.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse  # noqa: E402
import importlib  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import multiprocessing as mp  # noqa: E402
import platform  # noqa: E402
import resource  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402
import tracemalloc  # noqa: E402
import warnings  # noqa: E402
import zipfile  # noqa: E402
import zlib  # noqa: E402
from collections import Counter  # noqa: E402
from collections.abc import Iterable  # noqa: E402
from dataclasses import dataclass, fields  # noqa: E402
from importlib.metadata import PackageNotFoundError, version  # noqa: E402
from multiprocessing.connection import Connection, wait  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_mutations import bomb, mutate  # noqa: E402
from fuzz_seeds import Seed, seeds  # noqa: E402

from motionkit.errors import InputError, MotionkitError  # noqa: E402
from motionkit.formats import FORMATS, Format, describe  # noqa: E402
from motionkit.formats.npz import open_npz  # noqa: E402
from motionkit.formats.source import Source  # noqa: E402
from motionkit.formats.table import find_format  # noqa: E402

MAX_SECONDS = 5.0
"""Wall time [s] of one input, beyond which it is a hang."""
MAX_MEMORY = 1024**3
"""Bytes that one input may take."""
LONGEST_LINE = 2000
"""Characters of a refusal."""
TRACED = 20
"""Every so many inputs, what was asked for is measured too, touched or not."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one input."""

    index: int
    """Number of the input."""
    verdict: str
    """read, refused, crash, hang, memory, wrong, noise."""
    seconds: float
    """Wall time [s]."""
    memory: int
    """Bytes taken beyond those before."""
    detail: str = ""
    """Of a failure."""


def make_input(reader: str, stock: list[Seed], seed: int, index: int) -> tuple[Seed, bytes]:
    """The sound file and its damaged form."""
    rng = np.random.default_rng([seed, zlib.crc32(reader.encode()), index])
    sound = stock[rng.integers(len(stock))]
    return sound, mutate(rng, sound.data) or b"\0"


def try_input(kind: Format, sound: Seed, data: bytes) -> tuple[str, str]:
    """Verdict and detail of one input; warnings are failures."""
    source = Source(Path("damaged" + Path(sound.name).suffix.lower()), data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            try:
                find_format(source)
            except MotionkitError as error:
                require_one_line(error)
            clip = kind.read(source, sound.options)
            json.dumps(describe(clip).to_dict(), allow_nan=False)
            fault = find_wrong_content(kind, sound, source, clip)
        except MotionkitError as error:
            if "Unable to allocate" in str(error):
                return "memory", str(error)
            fault = line_fault(error)
            return ("crash", fault) if fault else ("refused", "")
        except MemoryError:
            return "memory", traceback.format_exc(limit=-4)
        except Exception:
            return "crash", traceback.format_exc(limit=-4)
    return ("wrong", fault) if fault else ("read", "")


def require_one_line(error: MotionkitError) -> None:
    if fault := line_fault(error):
        raise AssertionError(fault)


def line_fault(error: MotionkitError) -> str:
    """What is wrong with the words of a refusal."""
    text = str(error)
    if not text.startswith("damaged"):
        return f"a refusal that does not name the file: {text[:200]!r}"
    if not (text + error.help).isprintable():
        return f"a refusal of several lines: {text[:200]!r}"
    return f"a refusal of {len(text)} characters" if len(text) > LONGEST_LINE else ""


_SOUND: dict[tuple[str, str], Any] = {}


def find_wrong_content(kind: Format, sound: Seed, source: Source, clip: Any) -> str:
    """Arrays that differ from the sound file's although their checksums say they do not."""
    before, after = checksums(sound.data), checksums(source.data)
    if not before or not after:
        return ""
    if before == after:
        key = (kind.name, sound.name)
        if key not in _SOUND:
            same = Source(source.path, sound.data)
            try:
                _SOUND[key] = kind.read(same, sound.options)
            except MotionkitError:
                _SOUND[key] = None
        return differing_field(_SOUND[key], clip)
    if any(name.endswith(".npy") for name in before):
        old, new = open_npz(Source(source.path, sound.data)), open_npz(source)
        for name in before.keys() & after.keys():
            key = name.removesuffix(".npy")
            if before[name] == after[name] and key in old.members and key in new.members:
                try:
                    if not same_array(new.array(key), old.array(key)):
                        return f"{key} is not what its checksum says"
                except InputError:
                    pass
    return ""


def checksums(data: bytes) -> dict[str, tuple[int, int]]:
    """Name to checksum and size, as the directory of a zip has them."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {info.filename: (info.CRC, info.file_size) for info in archive.infolist()}
    except Exception:
        return {}


def differing_field(sound: Any, clip: Any) -> str:
    if sound is None:
        return "accepted although the sound file is refused"
    for one in fields(clip):
        old, new = getattr(sound, one.name), getattr(clip, one.name)
        if isinstance(old, np.ndarray) != isinstance(new, np.ndarray):
            return f"{one.name} is absent in one"
        if isinstance(old, np.ndarray) and not same_array(old, new):
            return f"{one.name} differs"
    return "" if sound.fps == clip.fps else "fps differs"


def same_array(a: np.ndarray, b: np.ndarray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def run_here(kind: Format, indices: Iterable[int], seed: int = 0) -> list[Result]:
    """Inputs in this process, without guards: for tests."""
    stock = seeds(kind.name)
    results = []
    for index in indices:
        sound, data = make_input(kind.name, stock, seed, index)
        start = time.perf_counter()
        verdict, detail = try_input(kind, sound, data)
        seconds = time.perf_counter() - start
        if seconds > MAX_SECONDS:
            verdict, detail = "hang", f"{seconds:.1f} s"
        results.append(Result(index, verdict, seconds, 0, detail and f"{sound.name}: {detail}"))
    return results


def _status(name: str) -> int:
    """A line of /proc/self/status [bytes]."""
    with Path("/proc/self/status").open() as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


def _work(pipe: Connection, kind: Format, stock: list[Seed], seed: int, indices: range) -> None:
    """One process's share of the inputs; it tells before each and after each."""
    limit = _status("VmSize") + MAX_MEMORY + 256 * 1024**2
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    noise = tempfile.TemporaryFile()  # noqa: SIM115
    for stream in (1, 2):
        os.dup2(noise.fileno(), stream)
    for index in indices:
        sound, data = make_input(kind.name, stock, seed, index)
        pipe.send(index)
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
        before = _status("VmRSS")
        is_traced = index % TRACED == 0
        if is_traced:
            tracemalloc.start()
        start = time.perf_counter()
        verdict, detail = try_input(kind, sound, data)
        seconds = time.perf_counter() - start
        asked = 0
        if is_traced:
            asked = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        memory = max(_status("VmHWM") - before, asked)
        if memory > MAX_MEMORY:
            verdict, detail = "memory", f"{memory:,} bytes"
        if os.fstat(noise.fileno()).st_size:
            noise.seek(0)
            verdict, detail = "noise", repr(noise.read(300))
            noise.truncate(0)
            noise.seek(0)
        if detail:
            detail = f"{sound.name}: {detail}"
        pipe.send(Result(index, verdict, seconds, memory, detail))
    pipe.send(None)


class _Worker:
    """A process with its share, restarted behind the input that ended it."""

    def __init__(self, kind: Format, stock: list[Seed], seed: int, indices: range) -> None:
        self.make = (kind, stock, seed)
        self.left = indices
        self.start()

    def start(self) -> None:
        self.pipe, child = mp.get_context("fork").Pipe(duplex=False)
        self.process = mp.get_context("fork").Process(
            target=_work, args=(child, *self.make, self.left), daemon=True
        )
        self.process.start()
        child.close()
        self.at, self.since = self.left.start, time.monotonic()

    def end(self, verdict: str, detail: str) -> Result:
        """The process is gone; go on behind what it was at."""
        self.process.kill()
        self.process.join()
        result = Result(self.at, verdict, time.monotonic() - self.since, 0, detail)
        self.left = range(self.at + self.left.step, self.left.stop, self.left.step)
        if self.left:
            self.start()
        return result


def run_guarded(kind: Format, count: int, seed: int, workers: int) -> list[Result]:
    """All inputs of a reader, in processes that may die."""
    stock = seeds(kind.name)
    live = [_Worker(kind, stock, seed, range(w, count, workers)) for w in range(workers)]
    results: list[Result] = []
    while live:
        ready = wait([worker.pipe for worker in live], timeout=0.5)
        for worker in live:
            if worker.pipe in ready:
                try:
                    said = worker.pipe.recv()
                except EOFError:
                    worker.process.join()
                    results.append(worker.end("crash", f"exit code {worker.process.exitcode}"))
                    continue
                if isinstance(said, Result):
                    results.append(said)
                elif isinstance(said, int):
                    worker.at, worker.since = said, time.monotonic()
                else:
                    worker.process.join()
                    worker.left = range(0)
            elif time.monotonic() - worker.since > 4 * MAX_SECONDS:
                results.append(worker.end("hang", "no answer"))
        live = [worker for worker in live if worker.left]
    return [_again(kind, stock, seed, one) for one in sorted(results, key=lambda one: one.index)]


def _again(kind: Format, stock: list[Seed], seed: int, result: Result) -> Result:
    """A slow input is tried once more, since other programs share the machine."""
    if result.verdict == "hang" or result.seconds <= MAX_SECONDS:
        return result
    start = time.perf_counter()
    try_input(kind, *make_input(kind.name, stock, seed, result.index))
    seconds = time.perf_counter() - start
    verdict = "hang" if seconds > MAX_SECONDS else result.verdict
    return Result(result.index, verdict, seconds, result.memory, result.detail)


def summarize(reader: str, results: list[Result], wall: float) -> dict[str, Any]:
    count = Counter(one.verdict for one in results)
    bad = [one for one in results if one.verdict not in ("read", "refused")]
    kinds: dict[str, list[Result]] = {}
    for one in bad:
        last = one.detail.strip().splitlines()[-1:] or [""]
        kinds.setdefault(f"{one.verdict}: {last[0][:160]}", []).append(one)
    return {
        "reader": reader, "seeds": len(seeds(reader)), "inputs": len(results),
        **{name: count[name] for name in ("read", "refused", "crash", "hang", "memory", "wrong",
                                          "noise")},
        "max_seconds": round(max(one.seconds for one in results), 3),
        "max_memory_mb": round(max(one.memory for one in results) / 1e6, 1),
        "slowest": max(results, key=lambda one: one.seconds).index,
        "wall_seconds": round(wall, 1),
        "failures": [{"what": what, "times": len(ones), "first": ones[0].index,
                      "detail": ones[0].detail} for what, ones in kinds.items()],
    }  # fmt: skip


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("motionkit", "numpy", "scipy", "ezc3d"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("readers", nargs="*", metavar="READER")
    parser.add_argument("--per-reader", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--replay", nargs=2, metavar=("READER", "INDEX"))
    args = parser.parse_args()
    kinds = {kind.name: kind for kind in FORMATS}
    if args.replay:
        kind, index = kinds[args.replay[0]], int(args.replay[1])
        sound, data = make_input(kind.name, seeds(kind.name), args.seed, index)
        path = Path(tempfile.gettempdir()) / f"fuzz_{kind.name}_{index}{Path(sound.name).suffix}"
        path.write_bytes(data)
        print(f"{path}, from {sound.name}: {try_input(kind, sound, data)}")
        return 0
    bomb()
    done = []
    print("| reader | seeds | inputs | read | refused | crash | hang | memory | wrong | noise |"
          " max s | max MB |\n|---|" + "---|" * 11)  # fmt: skip
    for name in args.readers or kinds:
        importlib.import_module(kinds[name].module)
        start = time.monotonic()
        results = run_guarded(kinds[name], args.per_reader, args.seed, args.workers)
        row = summarize(name, results, time.monotonic() - start)
        done.append(row)
        cells = [str(value) for key, value in row.items() if key not in ("failures", "slowest",
                 "wall_seconds")]  # fmt: skip
        print("| " + " | ".join(cells) + " |", flush=True)
        for failure in row["failures"]:
            print(f"    {failure['times']} × {failure['what']} (first: {failure['first']})")
    if args.json:
        document = {"seed": args.seed, "versions": versions(), "readers": done}
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if any(row["failures"] for row in done) else 0


if __name__ == "__main__":
    sys.exit(main())
