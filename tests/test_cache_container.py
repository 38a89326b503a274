"""The container: safetensors, whole or absent, never trusted before it is checked."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from motionkit import files
from motionkit.cache import container
from motionkit.cache.container import DamagedError
from motionkit.errors import InputError

arrays = st.dictionaries(
    st.text("abcxyz_", min_size=1, max_size=6),
    st.sampled_from([np.float32, np.int64, np.float64, np.uint8]).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
    ),
    max_size=5,
)


def write(path: Path, content, metadata=None) -> Path:
    container.replace_file(path, container.pack(content, metadata or {}))
    return path


def read(path: Path):
    header, start = container.read_header(path)
    return container.map_arrays(path, header, start)


@settings(max_examples=40, deadline=None)
@given(content=arrays, text=st.text(max_size=20))
def test_arrays_come_back_to_the_bit(tmp_path_factory, content, text):
    path = write(tmp_path_factory.mktemp("c") / "a", content, {"note": text})
    back = read(path)
    assert back.keys() == content.keys()
    for name, array in content.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes()
    assert container.read_header(path)[0]["__metadata__"] == {"note": text}


@settings(max_examples=40, deadline=None)
@given(content=arrays)
def test_the_safetensors_library_reads_what_is_written(tmp_path_factory, content):
    from safetensors.numpy import load_file

    path = write(tmp_path_factory.mktemp("c") / "a", content, {"b": "1", "a": "2"})
    back = load_file(path)
    assert back.keys() == content.keys()
    for name, array in content.items():
        assert back[name].tobytes() == array.tobytes()
        assert back[name].shape == array.shape


def test_equal_content_makes_equal_bytes_whatever_the_order():
    a, b = np.arange(4.0), np.arange(3)
    one = b"".join(container.pack({"a": a, "b": b}, {"x": "1", "y": "2"}))
    two = b"".join(container.pack({"b": b, "a": a}, {"y": "2", "x": "1"}))
    assert one == two


def test_arrays_are_mapped_and_read_only(tmp_path):
    back = read(write(tmp_path / "a", {"x": np.arange(8.0)}))["x"]
    assert isinstance(back, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        back[0] = 1.0


def test_a_file_cut_anywhere_is_refused(tmp_path):
    whole = write(tmp_path / "a", {"x": np.arange(40.0), "y": np.arange(3)}, {"k": "v"})
    data = whole.read_bytes()
    for size in [*range(0, len(data), 9), len(data) - 1]:
        (tmp_path / "b").write_bytes(data[:size])
        with pytest.raises(DamagedError):
            container.read_header(tmp_path / "b")
    (tmp_path / "b").write_bytes(data + b"\0")
    with pytest.raises(DamagedError, match="its header promises"):
        container.read_header(tmp_path / "b")


def raw(tmp_path, header, payload: bytes = b"\0" * 16) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    (tmp_path / "bad").write_bytes(len(text).to_bytes(8, "little") + text + payload)
    return tmp_path / "bad"


def entry(**changes):
    return {"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]} | changes}


def test_the_header_that_the_next_test_spoils_is_good(tmp_path):
    path = raw(tmp_path, entry())
    assert read(path)["x"].tolist() == [0.0] * 4


@pytest.mark.parametrize("header", [
    b"", b"[", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000, {"x": 3}, {"x": {"dtype": "F32"}},
    entry(dtype="PICKLE"), entry(shape=[5]), entry(shape=[-4]), entry(shape=[4.0]),
    entry(shape=[2**62, 2**62]), entry(data_offsets=[0, 32]), entry(data_offsets=[16, 0]),
    entry(data_offsets=[-16, 0]), entry(data_offsets=[0, 16, 32]), entry(shape=None),
    entry(shape=[True, 4]),
])  # fmt: skip
def test_a_header_that_lies_is_refused(tmp_path, header):
    with pytest.raises(DamagedError):
        container.read_header(raw(tmp_path, header))


def test_a_header_length_beyond_the_file_allocates_nothing(tmp_path):
    (tmp_path / "bad").write_bytes((2**62).to_bytes(8, "little") + b"x" * 100)
    with pytest.raises(DamagedError, match="is no whole cache file: 108 bytes"):
        container.read_header(tmp_path / "bad")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="nowhere: cannot be read: No such file"):
        container.read_header(tmp_path / "nowhere")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written: (Not a directory|File exists)"):
        container.replace_file(tmp_path / "file" / "a", [b"x"])


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    def pieces():
        yield b"new"
        raise OSError(28, "No space left on device")

    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(InputError, match="No space left on device"):
        container.replace_file(tmp_path / "a", pieces())
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"


_WRITER = """
import sys, itertools, pathlib, numpy as np
from motionkit.cache import container
path = pathlib.Path(sys.argv[1])
for i in itertools.count():
    content = {"x": np.full(200_000, i, dtype=np.int64)}
    container.replace_file(path, container.pack(content, {"i": str(i)}))
    print(i, flush=True)
"""


def test_a_writer_killed_at_any_instant_leaves_a_whole_file(tmp_path):
    path = tmp_path / "a"
    rng = np.random.default_rng(0)
    numbers = []
    for _ in range(4):
        process = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)],
                                   stdout=subprocess.PIPE)  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()  # the first is written
        time.sleep(float(rng.uniform(0, 0.05)))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        header, _ = container.read_header(path)
        number = int(header["__metadata__"]["i"])
        assert np.all(read(path)["x"] == number)
        numbers.append(number)
    assert max(numbers) > 0  # some were killed while replacing a file
    container.remove_stale(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_only_files_of_dead_writers_are_removed(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    live = os.getpid()
    host = files.host_token()
    names = {
        f".tmp-{host}-{dead.pid}-ab-walk": True,
        f".tmp-{host}-{live}-ab-walk": False,
        f".tmp-00000000-{dead.pid}-ab-walk": False,  # of another machine, and young
        ".tmp-unknown": False,
        "walk": False,
    }
    for name in names:
        (tmp_path / name).write_text("x")
    removed = container.remove_stale(tmp_path)
    assert [p.name for p in removed] == [name for name, gone in names.items() if gone]
    old = time.time() - files.STALE_AFTER - 1
    for path in tmp_path.iterdir():
        os.utime(path, (old, old))
    container.remove_stale(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["walk"]


def test_a_missing_folder_has_nothing_stale(tmp_path):
    assert container.remove_stale(tmp_path / "nowhere") == []
