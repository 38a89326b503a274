"""A batch: one bad clip costs itself only, and what is done is not done again."""

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from motionkit.cli import batch
from motionkit.errors import InputError


@dataclass(frozen=True, slots=True)
class Chore:
    """A job whose name says what becomes of it."""

    name: str
    fingerprint: str
    out: Path

    @property
    def product(self) -> Path:
        return self.out / f"{self.name}.product"


def work(chore: Chore) -> batch.Attempt:
    """The work of these tests, importable by the workers."""
    if chore.name.startswith("bad"):
        raise InputError("the file ends early", where="bad.bvh", help="get a whole one")
    if chore.name.startswith("bug"):
        raise ZeroDivisionError("by zero")
    if chore.name.startswith("crash"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if chore.name.startswith("fast"):
        ended = batch.Ended(
            chore.name, chore.fingerprint, "rejected", "too fast", errors=("too fast",)
        )
        return batch.Attempt(ended, ({"schema": 1, "kind": "finding", "clip": chore.name},))
    ended = batch.Ended(chore.name, chore.fingerprint, "written", "fine", figures={"frames": 3})
    return batch.Attempt(ended, (), Store(chore.product))


@dataclass(frozen=True, slots=True)
class Store:
    """Puts an empty product on the disk."""

    product: Path

    def __call__(self) -> None:
        self.product.touch()


def _chores(out: Path, *names: str, fingerprint: str = "f") -> list[Chore]:
    return [Chore(name, fingerprint, out) for name in names]


def test_one_bad_clip_costs_itself_only(tmp_path: Path) -> None:
    chores = _chores(tmp_path, "bad", "good1", "bug", "crash", "fast", "good2")
    ended = {job.name: end for job, end in batch.run(work, chores, workers=1)}
    statuses = {name: end.status for name, end in ended.items()}
    assert statuses == {"bad": "failed", "good1": "written", "bug": "failed", "crash": "failed",
                        "fast": "rejected", "good2": "written"}  # fmt: skip
    assert ended["bad"].message == "bad.bvh: the file ends early"
    assert ended["bad"].help == "get a whole one"
    assert ended["bug"].message == "ZeroDivisionError: by zero"
    assert ended["crash"].message == "its process was killed by SIGSEGV"
    assert [chore.product.exists() for chore in chores] == [False, True, False, False, False, True]
    lines = batch.record_path(tmp_path, "bug").read_text().splitlines()
    finding, trace = json.loads(lines[0]), json.loads(lines[1])
    assert (finding["code"], finding["message"]) == ("MK100", ended["bug"].message)
    assert 'raise ZeroDivisionError("by zero")' in "".join(trace["lines"])


def test_a_clip_is_done_when_its_record_and_its_product_agree(tmp_path: Path) -> None:
    (good,) = _chores(tmp_path, "good")
    assert batch.known_end(good, True) is None
    ((_, ended),) = batch.run(work, [good], workers=1)
    assert batch.known_end(good, good.product.exists()) == ended
    assert batch.known_end(good, False) is None, "killed before it was stored"
    (other,) = _chores(tmp_path, "good", fingerprint="g")
    assert batch.known_end(other, True) is None


def test_a_rejected_clip_is_known_and_a_failed_one_is_tried_again(tmp_path: Path) -> None:
    fast, bad = _chores(tmp_path, "fast", "bad")
    list(batch.run(work, [fast, bad], workers=2))
    known = batch.known_end(fast, False)
    assert known is not None and known.status == "rejected"
    assert batch.known_end(bad, True) is None


@pytest.mark.parametrize("cut", [0, 1, 30, -2])
def test_a_record_cut_short_counts_as_none(tmp_path: Path, cut: int) -> None:
    (good,) = _chores(tmp_path, "good")
    list(batch.run(work, [good], workers=1))
    path = batch.record_path(tmp_path, "good")
    path.write_text(path.read_text()[:cut])
    assert batch.read_record(tmp_path, "good") is None


def test_the_audit_of_a_batch_is_its_records_in_order_of_name(tmp_path: Path) -> None:
    list(batch.run(work, _chores(tmp_path, "good2", "fast", "bad", "good1"), workers=2))
    text = batch.collect(tmp_path, seconds=2.5).read_text()
    *lines, run = [json.loads(line) for line in text.splitlines()]
    assert [(line["kind"], line["clip"]) for line in lines] == [
        ("finding", "bad"), ("ended", "bad"), ("finding", "fast"), ("ended", "fast"),
        ("ended", "good1"), ("ended", "good2"),
    ]  # fmt: skip
    assert (run["kind"], run["found"]["MK100"], run["seconds"]) == ("run", 1, 2.5)
    assert not list(tmp_path.rglob(".*"))
