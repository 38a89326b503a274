"""One gate for arrays: what numpy wrote is read, and nothing else takes memory or runs."""

import io
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from builders_joints import npy_bytes, npy_header

from motionkit.errors import InputError
from motionkit.formats.npy import read_npy, to_numbers
from motionkit.formats.npz import open_npz
from motionkit.formats.source import Source


def bare(data: bytes) -> np.ndarray:
    return read_npy(Source(Path("made.npy"), data))


def member(data: bytes, compression: int = zipfile.ZIP_DEFLATED) -> np.ndarray:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        archive.writestr("a.npy", data)
    return open_npz(Source(Path("made.npz"), out.getvalue())).array("a")


WAYS = [bare, member, lambda data: member(data, zipfile.ZIP_STORED)]


@pytest.mark.parametrize("read", WAYS)
@pytest.mark.parametrize("seed", range(20))
def test_what_numpy_writes_is_what_is_read(read, seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(0, 5, size=rng.integers(0, 5)))
    kind = ("f2", ">f4", "f8", "i1", ">u4", "i8", "?", "U7", "S3", "c16")[seed % 10]
    array = np.array(rng.integers(0, 100, size=shape), dtype=kind)
    for version in ((1, 0), (2, 0)):
        out = io.BytesIO()
        np.lib.format.write_array(out, np.array(array, order="CF"[seed % 2]), version)
        found = read(out.getvalue())
        assert found.dtype == array.dtype and found.shape == array.shape
        np.testing.assert_array_equal(found, array)


def test_numbers_are_native_float64_whatever_they_were():
    source = Source(Path("made.npy"), b"")
    for kind in ("f2", ">f4", ">f8", "i1", "u8", ">i4"):
        array = np.asfortranarray(np.arange(12).reshape(3, 4).astype(kind))
        found = to_numbers(source, array)
        assert found.dtype == np.float64 and found.flags.c_contiguous
        np.testing.assert_array_equal(found, np.arange(12).reshape(3, 4))
    assert to_numbers(source, np.array(3)).shape == ()
    for array in (np.zeros(2, "?"), np.zeros(2, "c8"), np.zeros(2, "U3"), np.zeros(2, "m8[s]"),
                  np.zeros(2, [("x", "f8"), ("y", "f8")])):  # fmt: skip
        with pytest.raises(InputError, match="expected real numbers"):
            to_numbers(source, array)


def head(shape: str, kind: str = "'<f8'", order: str = "False") -> bytes:
    return npy_header(f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}}}\n")


SOUND = npy_bytes(np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("read", WAYS)
@pytest.mark.parametrize(("message", "data"), [
    ("bad header", b"\x93NUM"),
    ("bad header", npy_header("{'descr': '<f8', 'shape': (2, 3), ")),
    ("bad header", npy_header("(((((((")),
    ("bad header", npy_header("-" * 9000)),
    ("bad header", npy_header("{}")),
    ("bad header", head("(2, 3)", "'<f7'")),
    ("bad header", head("(2, 'a')")),
    ("bad header", head("(2, 3)", order="'yes'")),
    ("bad header", SOUND[:30]),
    ("npy version", npy_header("{}", b"\x09\x00")),
    ("ends after|declares 48 bytes .* holds 47", SOUND[:-1]),
    ("declares 48 bytes .* holds 49", SOUND + b"\0"),
    ("declares 48 bytes .* holds 224", SOUND + SOUND),  # saved twice into one file
    ("declares 8,000,000,000,000,000,000 bytes", head("(1000000000, 1000000000)")),
    ("declares 0 bytes .* holds 1", head("(0, 10000000000000)") + b"\0"),
    ("declares the shape", head("(-2, 3)")),
    ("declares 1,000,000,000,000 values of no size", head("(1000000000000,)", "'<U0'")),
    ("holds Python objects", head("(1,)", "'|O'") + pickle.dumps(print)),
    ("holds Python objects", head("(1,)", "[('a', '|O'), ('b', '<f8')]") + bytes(16)),
    ("damaged", head("(" + "1, " * 80 + ")") + bytes(8)),
    ("damaged", head("(2,)", "('<f8', (3,))") + bytes(48)),
])  # fmt: skip
def test_what_is_no_plain_array_is_refused_before_it_takes_memory(read, message, data):
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=message) as caught:
            read(data)
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith("made.np") and str(caught.value).isprintable()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("read", WAYS)
def test_headers_of_python_2_are_read_without_a_word(read, recwarn):
    data = head("(2L, 3L)") + np.arange(6.0).tobytes()
    np.testing.assert_array_equal(read(data), np.arange(6.0).reshape(2, 3))
    assert not recwarn.list


@pytest.mark.parametrize("order", "<>")
def test_text_of_characters_that_do_not_exist_is_refused(order):
    letters = np.array([65, 0x110000], dtype=f"{order}u4")
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": f"{order}U2", "fortran_order": False, "shape": (1,)}
    )
    out.write(letters.tobytes())
    with pytest.raises(InputError, match="holds text with the character 0x110000"):
        read_npy(Source(Path("a.npy"), out.getvalue()))
    assert read_npy(Source(Path("a.npy"), out.getvalue()[:-8] + letters[[0, 0]].tobytes())) == "AA"
