"""Shards: whole, refused by name of the field, never overwritten in silence."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders import PROVENANCE, gantry, gantry_reference

from motionkit import files
from motionkit.cache import (
    ARRAYS,
    CONVENTIONS,
    IdentityWarning,
    container,
    is_done,
    list_references,
    read_header,
    read_reference,
    reference_path,
    write_reference,
)
from motionkit.errors import IdentityError, InputError


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    return gantry(tmp_path_factory.mktemp("robot"))


@pytest.fixture(scope="module")
def reference(robot):
    return gantry_reference(robot)


@pytest.fixture
def shard(reference, tmp_path):
    return write_reference(tmp_path / "cache", reference)


def test_a_reference_comes_back_to_the_bit(reference, shard):
    back = read_reference(shard, expect=reference.identity, verify=True)
    assert back.arrays().keys() == reference.arrays().keys() == ARRAYS.keys()
    for name, array in reference.arrays().items():
        assert np.array_equal(array, back.array(name))
        assert isinstance(back.array(name), np.memmap)
    for field in ("name", "fps", "robot", "joint_names", "body_names", "contact_bodies",
                  "target_bodies", "identity", "report"):  # fmt: skip
        assert getattr(back, field) == getattr(reference, field)
    assert back.provenance == json.loads(json.dumps(reference.provenance))


def test_absent_arrays_stay_absent(robot, tmp_path):
    made = gantry_reference(robot, contact=None, target_pos_w=None, target_quat_w=None)
    back = read_reference(write_reference(tmp_path, made))
    assert back.contact is None
    assert back.target_pos_w is None


def test_equal_references_make_equal_bytes(robot, tmp_path):
    files = [write_reference(tmp_path / str(i), gantry_reference(robot)) for i in range(2)]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_the_header_says_how_to_read_the_arrays(shard):
    from safetensors import safe_open

    with safe_open(shard, framework="np") as file:
        texts = file.metadata()
    header = {key: json.loads(text) for key, text in texts.items()}
    assert header["conventions"] == CONVENTIONS
    assert header["conventions"]["velocity_point"] == "link_origin"
    assert header["body_names"] == ["trunk", "neck", "arm", "left", "right"]
    assert sorted(header["sha256"]) == sorted([*ARRAYS, "clip_start", "clip_frames"])
    assert "world" not in header["body_names"]


def test_a_header_is_read_without_the_arrays(shard, reference):
    header = read_header(shard)
    assert (header.name, header.num_frames, header.seconds) == ("walk", 121, 4.0)
    assert header.identity == reference.identity


@pytest.mark.parametrize("changes, field", [
    ({"fps": 60.0}, "fps is 30, wanted 60"),
    ({"robot": "g1"}, 'robot is "gantry", wanted "g1"'),
    ({"robot_sha256": "f" * 64}, "robot_sha256 is "),
    ({"body": "smplh"}, 'body is "embedded", wanted "smplh"'),
    ({"settings": {"human": {}, "retarget": {"max_iterations": 20}}},
     "settings.retarget.max_iterations is 500, wanted 20"),
    ({"source_sha256": "e" * 64}, "source_sha256 is "),
])  # fmt: skip
def test_a_cache_made_otherwise_is_refused_by_name_of_the_field(shard, reference, changes, field):
    wanted = replace(reference.identity, **changes)
    with pytest.raises(IdentityError) as info:
        read_reference(shard, expect=wanted)
    assert field in str(info.value)
    assert info.value.help == (
        "give the command again with --overwrite, or with another folder for --out"
    )


def test_the_whole_message_of_a_refusal(shard):
    with pytest.raises(IdentityError) as info:
        read_reference(shard, expect={"fps": 60.0, "robot": "g1"})
    assert str(info.value) == (
        f'{shard}: was made otherwise: fps is 30, wanted 60; robot is "gantry", wanted "g1"'
    )


def test_a_setting_that_the_cache_does_not_know_is_refused_unless_forgiven(shard, reference):
    settings = {"human": {}, "retarget": {"max_iterations": 500, "newer": 1}}
    wanted = replace(reference.identity, settings=settings, motionkit="99.0")
    with pytest.raises(IdentityError, match="newer is absent, wanted 1"):
        read_reference(shard, expect=wanted)
    with pytest.warns(IdentityWarning, match="newer is absent, wanted 1"):
        read_reference(shard, expect=wanted, strict_identity=False)
    for changes in ({"fps": 60.0}, {"settings": {"human": {}, "retarget": {"max_iterations": 1}}}):
        with pytest.raises(IdentityError):
            read_reference(shard, expect=replace(wanted, **changes), strict_identity=False)


def rewritten(shard: Path, change) -> Path:
    """The shard with ``change(texts)`` applied to its metadata, otherwise well formed."""
    raw, start = container.read_header(shard)
    arrays = {k: np.array(v) for k, v in container.map_arrays(shard, raw, start).items()}
    texts = dict(raw["__metadata__"])
    change(texts)
    container.replace_file(shard, container.pack(arrays, texts))
    return shard


def test_an_unknown_schema_is_refused_with_the_way_out(shard):
    rewritten(shard, lambda texts: texts.update(schema="99"))
    with pytest.raises(IdentityError) as info:
        read_reference(shard)
    assert "schema is 99, this version of motionkit reads 1" in str(info.value)
    assert "--overwrite" in info.value.help


def test_a_foreign_safetensors_file_is_no_shard(tmp_path):
    container.replace_file(tmp_path / "a", container.pack({"weight": np.zeros(3)}, {}))
    with pytest.raises(InputError, match="no shard of a motionkit cache"):
        read_reference(tmp_path / "a")


@pytest.mark.parametrize("change", [
    lambda t: t.pop("clips"),
    lambda t: t.update(clips="[]"),
    lambda t: t.update(clips="{"),
    lambda t: t.update(clips="3"),
    lambda t: t.update(fps="60"),
    lambda t: t.update(robot='"g1"'),
    lambda t: t.update(joint_names="[]"),
    lambda t: t.update(clips=t["clips"].replace('"embedded"', '"smplh"')),
    lambda t: t.update(sha256="3"),
])  # fmt: skip
def test_a_header_that_contradicts_itself_is_refused(shard, change):
    rewritten(shard, change)
    with pytest.raises(InputError) as info:
        read_reference(shard)
    assert str(info.value).startswith(f"{shard}: ")


def test_a_shard_cut_anywhere_is_refused(shard):
    data = shard.read_bytes()
    for size in np.linspace(0, len(data) - 1, 60).astype(int):
        shard.write_bytes(data[:size])
        with pytest.raises(InputError):
            read_reference(shard)


def test_a_changed_byte_is_found_by_its_digest(shard):
    data = bytearray(shard.read_bytes())
    data[-5] ^= 1
    shard.write_bytes(bytes(data))
    read_reference(shard)
    with pytest.raises(InputError, match="has changed since it was written"):
        read_reference(shard, verify=True)


def test_a_clip_is_done_only_as_it_was_asked_for(shard, reference):
    folder = shard.parent
    assert is_done(folder, "walk", reference.identity)
    assert not is_done(folder, "run", reference.identity)
    wanted = replace(reference.identity, source_sha256="1" * 64)
    with pytest.raises(IdentityError, match="source_sha256"):
        is_done(folder, "walk", wanted)
    assert not is_done(folder, "walk", wanted, overwrite=True)
    assert is_done(folder, "walk", {"fps": 30.0})


def test_two_sources_of_one_name_do_not_overwrite_each_other(robot, reference, shard):
    before = shard.read_bytes()
    other = gantry_reference(robot, provenance=replace(PROVENANCE, sha256="1" * 64))
    with pytest.raises(IdentityError, match="source_sha256 is"):
        write_reference(shard.parent, other)
    assert shard.read_bytes() == before
    write_reference(shard.parent, other, overwrite=True)
    assert read_reference(shard).identity == other.identity


def test_the_same_clip_may_be_written_again(reference, shard):
    before = shard.read_bytes()
    assert write_reference(shard.parent, reference) == shard
    assert shard.read_bytes() == before


def test_a_damaged_shard_is_replaced_only_when_asked(reference, shard):
    shard.write_bytes(b"short")
    with pytest.raises(InputError):
        write_reference(shard.parent, reference)
    write_reference(shard.parent, reference, overwrite=True)
    read_reference(shard, verify=True)


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../up", "a\\b", "nul\0", "c:d", "x" * 201])
def test_a_name_that_no_file_can_have_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="a clip cannot be called"):
        reference_path(tmp_path, name)


@pytest.mark.parametrize("name", ["walk 1", "läuft", "行走", "a.b", "-x"])
def test_other_names_are_kept(robot, tmp_path, name):
    path = write_reference(tmp_path, gantry_reference(robot, name))
    assert read_reference(path).name == name
    assert [e.name for e in list_references(tmp_path).entries] == [name]


_WRITER = """
import sys, pathlib
sys.path.insert(0, sys.argv[1])
from builders import gantry, gantry_reference
from motionkit.cache import write_reference
folder = pathlib.Path(sys.argv[2])
robot = gantry(folder / "robot")
print("ready", flush=True)
while True:
    for name in "abcdefgh":
        write_reference(folder / "cache", gantry_reference(robot, name), overwrite=True)
"""


def test_a_library_whose_writer_is_killed_holds_whole_clips_only(tmp_path):
    rng = np.random.default_rng(1)
    tests = str(Path(__file__).parent)
    for _ in range(4):
        process = subprocess.Popen([sys.executable, "-c", _WRITER, tests, str(tmp_path)],
                                   stdout=subprocess.PIPE)  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(float(rng.uniform(0.02, 0.2)))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        for path in (tmp_path / "cache").glob("[!.]*"):
            read_reference(path, verify=True)
    assert list_references(tmp_path / "cache").entries
    assert not list_references(tmp_path / "cache").unreadable


def test_the_next_write_removes_what_a_killed_one_left(reference, shard):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left = shard.parent / f".tmp-{files.host_token()}-{dead.pid}-00-walk.safetensors"
    left.write_bytes(b"half")
    write_reference(shard.parent, reference)
    assert [p.name for p in shard.parent.iterdir()] == ["walk.safetensors"]
