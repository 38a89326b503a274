"""The clips of a batch are named, told apart and shared out before any work."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motionkit.cli.plan import (
    Item,
    longest_first,
    parse_frames,
    plan,
    require_distinct,
    select_shard,
)
from motionkit.errors import ConfigError, InputError

_items = st.lists(st.integers(0, 9), max_size=20).map(
    lambda sizes: [Item(Path(f"{i:02}.bvh"), f"{i:02}", size) for i, size in enumerate(sizes)]
)


@given(_items, st.integers(1, 7))
def test_the_shards_are_a_partition_of_the_batch(items: list[Item], n: int) -> None:
    parts = [select_shard(items, f"{k}/{n}") for k in range(1, n + 1)]
    assert sorted((i for part in parts for i in part), key=lambda i: i.name) == items
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/0", "-1/2", "1/2/3"])
def test_a_shard_outside_its_range_is_refused(shard: str) -> None:
    with pytest.raises(ConfigError, match="expected K/N with K from 1 to N"):
        select_shard([], shard)


@given(_items)
def test_the_longest_clip_comes_first_and_none_is_lost(items: list[Item]) -> None:
    ordered = longest_first(items)
    assert [i.size for i in ordered] == sorted((i.size for i in items), reverse=True)
    assert set(ordered) == set(items)


@given(st.integers(0, 99), st.integers(1, 99))
def test_frames_are_a_half_open_interval_with_open_ends(start: int, length: int) -> None:
    stop = start + length
    assert parse_frames(f"{start}:{stop}") == (start, stop)
    assert parse_frames(f"{start}:") == (start, None)
    assert parse_frames(f":{stop}") == (0, stop)
    assert parse_frames(":") == parse_frames(None) == (0, None)


@pytest.mark.parametrize("text", ["", "5", "5:5", "9:3", "-3:", ":-1", "a:b", "1:2:3", "1.5:2"])
def test_frames_that_are_no_interval_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected A:B with A before B"):
        parse_frames(text)


def test_names_that_differ_only_in_case_are_refused() -> None:
    items = [Item(Path("a/Walk.bvh"), "Walk", 1), Item(Path("b/walk.bvh"), "walk", 1)]
    with pytest.raises(InputError, match=r"2 files would be the clip Walk: a.Walk.bvh and b.walk"):
        require_distinct(items)


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("HIERARCHY\n")


def test_clips_of_a_folder_are_named_by_their_path_below_it(tmp_path: Path) -> None:
    _touch(tmp_path, "s2/walk.bvh", "s1/walk.bvh", "s1/run.bvh", "top.bvh")
    assert [i.name for i in plan([tmp_path])[0]] == ["s1__run", "s1__walk", "s2__walk", "top"]


def test_a_file_named_twice_is_one_clip(tmp_path: Path) -> None:
    _touch(tmp_path, "walk.bvh", "run.bvh")
    items, _ = plan([tmp_path / "walk.bvh", tmp_path, tmp_path / "walk.bvh"])
    assert [i.name for i in items] == ["run", "walk"]


def test_a_name_that_leads_nowhere_does_not_stop_the_others(tmp_path: Path) -> None:
    _touch(tmp_path, "walk.bvh")
    items, _ = plan([tmp_path / "gone.bvh", tmp_path / "walk.bvh"])
    assert [item.name for item in items] == ["gone", "walk"]
    with pytest.raises(InputError, match="no such file or folder"):
        plan([tmp_path / "gone.bvh"])


def test_what_is_left_out_of_a_folder_is_said(tmp_path: Path) -> None:
    _touch(tmp_path, "walk.bvh", "notes.txt")
    _, skipped = plan([tmp_path])
    assert [(skip.path.name, skip.reason) for skip in skipped] == [("notes.txt", "no motion file")]


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    _touch(tmp_path, "s1/walk.bvh", "s2/walk.bvh")
    with pytest.raises(InputError, match="2 files would be the clip walk"):
        plan([tmp_path / "s1" / "walk.bvh", tmp_path / "s2" / "walk.bvh"])


def test_a_folder_without_motion_is_refused(tmp_path: Path) -> None:
    _touch(tmp_path, "notes.txt")
    with pytest.raises(InputError, match="no motion file found"):
        plan([tmp_path])
