"""Libraries: sorted, and never the worse for their index."""

import json

import pytest
from builders import gantry, gantry_reference

from motionkit.audit import find_duplicates
from motionkit.cache import list_references, write_index, write_reference
from motionkit.errors import InputError


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    return gantry(tmp_path_factory.mktemp("robot"))


@pytest.fixture
def library(robot, tmp_path):
    for name in ("walk", "Jump", "run"):
        write_reference(tmp_path, gantry_reference(robot, name))
    return tmp_path


def names(folder):
    return [entry.name for entry in list_references(folder).entries]


def test_clips_are_listed_by_name_and_temporary_files_are_not(library):
    (library / ".tmp-00000000-1-ab-zzz.safetensors").write_bytes(b"half")
    (library / "notes.txt").write_text("x")
    assert names(library) == ["Jump", "run", "walk"]


def test_the_index_changes_nothing_but_speed(library, monkeypatch):
    before = list_references(library)
    write_index(library)
    assert list_references(library) == before

    def unused(path):
        raise AssertionError(path)

    monkeypatch.setattr("motionkit.cache.library.read_header", unused)
    assert list_references(library) == before


def test_a_shard_that_the_index_does_not_know_is_listed(robot, library):
    write_index(library)
    write_reference(library, gantry_reference(robot, "new"))
    assert names(library) == ["Jump", "new", "run", "walk"]


def test_a_shard_that_is_gone_is_not_listed(library):
    write_index(library)
    (library / "run.safetensors").unlink()
    assert names(library) == ["Jump", "walk"]


def test_a_shard_replaced_since_the_index_is_opened(robot, library):
    write_index(library)
    old = list_references(library).entries[2]
    made = gantry_reference(robot, "walk", settings={"human": {}, "retarget": {"x": 1}})
    write_reference(library, made, overwrite=True)
    new = list_references(library).entries[2]
    assert new.fingerprint == made.identity.fingerprint != old.fingerprint


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"schema": 99, "shards": {}}',
                                  '{"schema": 1, "shards": {"walk.safetensors": 3}}'])  # fmt: skip
def test_an_index_that_cannot_be_read_is_as_good_as_none(library, text):
    (library / "index.json").write_text(text)
    assert names(library) == ["Jump", "run", "walk"]


def test_an_entry_that_lacks_a_field_is_not_trusted(library):
    path = write_index(library)
    index = json.loads(path.read_text())
    for shard in index["shards"].values():
        del shard["fingerprint"]
    path.write_text(json.dumps(index))
    assert names(library) == ["Jump", "run", "walk"]


def test_a_damaged_shard_is_named_and_the_others_are_listed(library):
    (library / "run.safetensors").write_bytes(b"short")
    listing = list_references(library)
    assert [entry.name for entry in listing.entries] == ["Jump", "walk"]
    [(path, error)] = listing.unreadable
    assert path.name == "run.safetensors"
    assert "is no whole cache file" in str(error)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="nowhere: no such folder"):
        list_references(tmp_path / "nowhere")


def test_clips_with_one_motion_are_duplicates(robot, library):
    other = gantry_reference(robot, "other")
    other.qpos[:, 0] += 1.0
    write_reference(library, other)
    found = find_duplicates(list_references(library).entries)
    assert [(f.code, f.clip, f.where) for f in found] == [
        ("MK409", "run", "Jump"), ("MK409", "walk", "Jump"),
    ]  # fmt: skip
