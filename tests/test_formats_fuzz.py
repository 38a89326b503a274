"""Whatever happens to a file, it loads or is refused in one line."""

from pathlib import Path

import numpy as np
import pytest
from conftest import SHARED

from motionkit.errors import InputError
from motionkit.formats import describe
from motionkit.formats.source import ReadOptions, Source
from motionkit.formats.table import find_format

LARGEST = 120_000  # bytes: small files, so that most damage hits something that matters


def damage(rng: np.random.Generator, data: bytes, is_zip: bool) -> bytes:
    out = bytearray(data)

    def place() -> int:
        if rng.random() < 0.4:
            return int(rng.integers(len(out)))
        head = int(rng.integers(min(len(out), 3000)))
        return len(out) - 1 - head if is_zip and rng.random() < 0.5 else head

    kind = rng.integers(5)
    if kind == 0:
        return bytes(out[: place()])
    if kind == 1:
        for _ in range(int(rng.integers(1, 12))):
            out[place()] = int(rng.integers(256))
    elif kind == 2:
        at = place()
        del out[at : at + int(rng.integers(1, 200))]
    elif kind == 3:
        at, start = place(), place()
        out[at:at] = out[start : start + int(rng.integers(1, 300))]
    else:
        for _ in range(int(rng.integers(1, 10))):
            out[place()] = b" {}0123456789-.,eE\n\tN"[rng.integers(21)]
    return bytes(out)


def run(seeds: range) -> dict[str, int]:
    folder = SHARED / "data" / "formats"
    files = [p for mask in ("bvh/*.bvh", "amass/*.npz", "minimal/bvh_*", "minimal/amass_*")
             for p in sorted(folder.glob(mask)) if 0 < p.stat().st_size < LARGEST]  # fmt: skip
    count = {"read": 0, "refused": 0}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        path = files[rng.integers(len(files))]
        data = damage(rng, path.read_bytes(), path.suffix == ".npz")
        source = Source(Path("damaged" + path.suffix), data)
        try:
            clip = find_format(source).read(source, ReadOptions())
        except InputError as error:
            assert str(error).startswith("damaged") and str(error).isprintable()
            count["refused"] += 1
            continue
        assert all(np.isfinite(v) for v in (describe(clip).fps, describe(clip).facing_first))
        count["read"] += 1
    return count


def test_damaged_files_load_or_are_refused_in_one_line(shared):
    count = run(range(300))
    assert count["refused"] > 100 and count["read"] > 3  # the damage is neither void nor total


@pytest.mark.slow
def test_damaged_files_load_or_are_refused_in_one_line_at_length(shared):
    run(range(300, 6000))
