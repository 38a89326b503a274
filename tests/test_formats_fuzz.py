"""Whatever happens to a file, it loads or is refused in one line: a part of the fuzzer's inputs.

``benchmarks/fuzz_readers.py`` runs 10,000 inputs a reader, in guarded processes; the results are
in ``benchmarks/results/fuzz_readers.json``.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from motionkit.errors import InputError
from motionkit.formats import FORMATS, ReadOptions
from motionkit.formats.source import Source

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import fuzz_mutations  # noqa: E402
import fuzz_readers  # noqa: E402
import fuzz_seeds  # noqa: E402

KINDS = {kind.name: kind for kind in FORMATS}


def require_clean(reader: str, results: list[fuzz_readers.Result]) -> Counter[str]:
    count = Counter(one.verdict for one in results)
    bad = [one for one in results if one.verdict not in ("read", "refused")]
    assert not bad, f"{reader} --replay {bad[0].index}: {bad[0].verdict}: {bad[0].detail}"
    return count


@pytest.mark.parametrize("reader", KINDS)
def test_damaged_files_load_or_are_refused_in_one_line(reader: str) -> None:
    """The inputs of another seed than the committed run's."""
    count = require_clean(reader, fuzz_readers.run_here(KINDS[reader], range(30), seed=7))
    assert count["refused"] > 5  # the damage is not void


@pytest.mark.slow
@pytest.mark.parametrize("reader", KINDS)
def test_damaged_files_load_or_are_refused_in_one_line_at_length(reader: str) -> None:
    count = require_clean(reader, fuzz_readers.run_here(KINDS[reader], range(30, 500), seed=7))
    assert count["refused"] > 100 and count["read"] > 3  # neither void nor total


@pytest.mark.parametrize("reader", KINDS)
def test_the_seeds_that_are_made_here_are_sound(reader: str) -> None:
    made = [seed for seed in fuzz_seeds.seeds(reader) if seed.name.startswith("made")]
    assert made
    for seed in made:
        clip = KINDS[reader].read(Source(Path(seed.name), seed.data), seed.options)
        assert clip.num_frames >= 3


def test_the_same_number_gives_the_same_damage() -> None:
    stock = fuzz_seeds.seeds("amass")
    for index in range(40):
        first, again = (fuzz_readers.make_input("amass", stock, 3, index) for _ in range(2))
        assert first == again
    assert len({fuzz_readers.make_input("amass", stock, 3, i)[1] for i in range(40)}) > 30


class _Faulty:
    """A reader with a fault of each kind that the fuzzer must find."""

    name = "amass"
    module = "motionkit.formats.amass"

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def read(self, source: Source, options: ReadOptions):
        import warnings

        if self.fault == "crash":
            raise KeyError("poses")
        if self.fault == "warning":
            warnings.warn("overflow encountered in multiply", RuntimeWarning, stacklevel=1)
        if self.fault == "two lines":
            raise InputError("cannot\nbe read", where=str(source.path))
        if self.fault == "no file":
            raise InputError("cannot be read")
        if self.fault == "memory":
            np.ones(2 * 10**9 // 8)
        if self.fault == "noise":
            print("reading", file=sys.__stdout__, flush=True)
        if self.fault == "hang":
            while True:
                pass
        if self.fault == "death":
            import os

            os._exit(9)
        clip = KINDS["amass"].read(source, options)
        if self.fault == "wrong":
            clip.trans_w[...] += 1.0
        return clip


@pytest.mark.parametrize(("fault", "verdict"), [
    ("crash", "crash"), ("warning", "crash"), ("two lines", "crash"), ("no file", "crash"),
])  # fmt: skip
def test_the_fuzzer_finds_faults_of_a_reader(fault: str, verdict: str) -> None:
    results = fuzz_readers.run_here(_Faulty(fault), range(3))  # type: ignore[arg-type]
    assert {one.verdict for one in results} == {verdict}


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "verdict"), [
    ("memory", "memory"), ("noise", "noise"), ("hang", "hang"), ("death", "crash"),
])  # fmt: skip
def test_the_guards_of_the_fuzzer_hold(fault: str, verdict: str, monkeypatch) -> None:
    monkeypatch.setattr(fuzz_readers, "MAX_SECONDS", 0.5)
    results = fuzz_readers.run_guarded(_Faulty(fault), 3, 0, 2)  # type: ignore[arg-type]
    assert [one.index for one in results] == [0, 1, 2]
    assert {one.verdict for one in results} == {verdict}, results


def test_the_fuzzer_finds_content_that_differs_from_its_checksum() -> None:
    sound = fuzz_seeds.seeds("amass")[0]
    for fault, verdict in (("none", "read"), ("wrong", "wrong")):
        fuzz_readers._SOUND.clear()
        fuzz_readers._SOUND["amass", sound.name] = KINDS["amass"].read(
            Source(Path("damaged.npz"), sound.data), sound.options
        )
        found, detail = fuzz_readers.try_input(_Faulty(fault), sound, sound.data)  # type: ignore[arg-type]
        assert found == verdict, detail
    fuzz_readers._SOUND.clear()


def test_a_planted_bomb_keeps_its_checksum_and_is_refused() -> None:
    data = fuzz_mutations._plant_bomb(np.random.default_rng(0), fuzz_seeds._npz_of_one())
    assert len(data) < 10**6 and fuzz_readers.checksums(data)["poses.npy"][1] > 8 * 10**7
    with pytest.raises(InputError, match="poses: unpacks to 8"):
        KINDS["amass"].read(Source(Path("bomb.npz"), data), ReadOptions())


def test_the_committed_run_is_clean_and_whole() -> None:
    document = json.loads((BENCHMARKS / "results" / "fuzz_readers.json").read_text())
    assert {row["reader"] for row in document["readers"]} == KINDS.keys()
    for row in document["readers"]:
        assert row["inputs"] >= 10_000 and row["failures"] == []
        assert row["read"] + row["refused"] == row["inputs"]
        assert row["max_seconds"] <= 5.0 and row["max_memory_mb"] <= 1000.0


def _edited(reader: str, old: bytes, new: bytes) -> Source:
    """The first sound file of a reader with one thing changed."""
    sound = fuzz_seeds.seeds(reader)[0]
    assert sound.data.count(old) >= 1
    return Source(Path("a" + Path(sound.name).suffix), sound.data.replace(old, new, 1))


@pytest.mark.parametrize(("reader", "old", "new", "message"), [
    ("trc", b"\n2\t0.01000\t", b"\n2\t0.01inf\t", "Time: the time of row 2 is '0.01inf'"),
    ("trc", b"100.00000\t120.00000", b"1e308\t120.00000", r"LASI: 1e\+308 units from the origin"),
])  # fmt: skip
def test_what_the_fuzzer_found_is_refused(reader: str, old: bytes, new: bytes, message: str):
    with pytest.raises(InputError, match=message):
        KINDS[reader].read(_edited(reader, old, new), ReadOptions())


def test_a_bomb_that_claims_to_be_packed_loosely_is_refused() -> None:
    """The directory says 2 GB packed, in a file of 100 kB: found by the fuzzer."""
    data = bytearray(fuzz_mutations._plant_bomb(np.random.default_rng(0), fuzz_seeds._npz_of_one()))
    at = data.rindex(b"PK\x01\x02")
    data[at + 20 : at + 24] = (2139095040).to_bytes(4, "little")
    with pytest.raises(InputError, match="poses: unpacks to 8"):
        KINDS["amass"].read(Source(Path("bomb.npz"), bytes(data)), ReadOptions())
