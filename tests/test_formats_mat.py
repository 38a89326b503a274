"""MATLAB files: documented layouts are read, all else is refused with what is inside."""

import struct
import time
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from builders_trc import LABELS, damage, mat, walk

from motionkit.errors import InputError
from motionkit.formats.mat import read
from motionkit.formats.mat_file import MatCell, MatStruct, MatText, decode_mat
from motionkit.formats.source import ReadOptions, Source, open_source

POS = walk(np.random.default_rng(0), 30)
POS[4:9, 3] = np.nan
TIME = np.arange(30)[:, None] / 120.0


def load(data, options=None):
    data = mat(data) if isinstance(data, dict) else data
    return read(Source(Path("made.mat"), data), options or ReadOptions())


def cell(items):
    out = np.empty((len(items), 1), dtype=object)
    out[:, 0] = items
    return out


def each(scale=1.0, fourth=None):
    columns = {}
    for m, label in enumerate(LABELS):
        data = POS[:, m] * scale
        columns[label] = data if fourth is None else np.c_[data, np.full(len(data), fourth)]
    return columns


def series(extra=()):
    return {name: {"Time": TIME, "Data": data} for name, data in (*each(1.0, 1.0).items(), *extra)}


def qualisys(scale=1000.0):
    data = np.moveaxis(np.concatenate([POS * scale, np.ones((*POS.shape[:2], 1))], axis=2), 0, -1)
    labeled = {"Count": 20, "Labels": cell(LABELS), "Data": data}
    return {"FrameRate": 120.0, "StartFrame": 7, "Frames": 30,
            "Trajectories": {"Labeled": labeled}}  # fmt: skip


def visual3d():
    out = {"FRAME_RATE": cell([120.0]), "FILE_NAME": cell(["a.c3d"])}
    return out | {name: cell([data]) for name, data in each(1.0, 0.5).items()} | {
        "ANGLE": cell([np.zeros((30, 3))])}  # fmt: skip


PLAIN = {"labels": cell(LABELS), "rate": 120.0}
LAYOUTS = {
    "time series": {"contents": series()},
    "time series, deeper": {"a": {"b": series()}},
    "one time": {"contents": {"Time": TIME, "Data": each(1.0, 1.0)}},
    "qualisys": {"walk01": qualisys()},
    "visual3d": visual3d(),
    "cube": {"markers": POS, **PLAIN},
    "cube, markers first": {"markers": np.moveaxis(POS, 1, 0), **PLAIN},
    "cube, coordinates first": {"markers": np.moveaxis(POS, 2, 0), **PLAIN},
    "cube, turned": {"markers": np.transpose(POS, (2, 1, 0)), **PLAIN},
    "cube in mm": {"Markers": POS * 1000, "units": "mm", **PLAIN},
    "cube in a struct": {"take": {"markers": POS, "labels": np.array(LABELS), "FrameRate": 120.0}},
    "struct": {"markers": each(), "fps": 120.0},
    "struct with times": {"markers": each(), "time": TIME},
}


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_documented_layouts_are_one_clip(name, compressed):
    clip = load(mat(LAYOUTS[name], compressed=compressed))
    assert clip.labels == LABELS and clip.fps == 120.0
    np.testing.assert_allclose(clip.pos_w, POS, atol=1e-9)
    assert clip.first_frame == (7 if name == "qualisys" else 1)


def test_what_is_no_marker_is_left_out_and_said():
    force = ("Force", np.zeros((30, 3)))
    clip = load({"contents": series([force])})
    assert clip.labels == LABELS
    assert [n.message for n in clip.provenance.notes if n.code == "MK185"] == [
        "no markers, and left out: Force"
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"a": qualisys(), "b": qualisys()}, r"holds 2 takes: a \(20 markers, 30 frames\), b"),
        ({"a": np.array([qualisys(), qualisys()], dtype=object)}, "no markers in a layout"),
        ({"emg": np.zeros((9, 2)), "s": {"x": 1.0}},
         r"inside: emg \(float64 9x2\), s \(struct 1x1\), s\.x"),
        ({"markers": POS, "labels": cell(LABELS[:5]), "rate": 120.0}, "no markers in a layout"),
        ({"markers": np.moveaxis(POS[:20], 2, 0), **PLAIN}, r"markers \(float64 3x20x20\)"),
        ({"markers": POS, "labels": cell(LABELS)}, "no rate gives no usable rate"),
        ({"markers": each(), "time": TIME**2}, "uneven|no usable rate|time column"),
        (b"MATLAB 7.3 MAT-file" + bytes(600), "version 7.3"),
        (b"MATLAB 5.0 MAT-file", "no MATLAB file of version 5 to 7"),
        (bytes(200), "no MATLAB file of version 5 to 7"),
        (mat(LAYOUTS["cube"])[:-40], "there|cut short|tag"),
        (mat(LAYOUTS["cube"], compressed=False)[:-40], "there|tag"),
    ],
)  # fmt: skip
def test_what_fits_no_layout_is_refused_with_what_is_inside(data, message):
    with pytest.raises(InputError, match=message) as error:
        load(data)
    assert error.value.help and str(error.value).isprintable()


def test_values_are_those_that_scipy_reads():
    rng = np.random.default_rng(1)
    numbers = {f"n_{kind}": rng.integers(0, 99, size=(3, 4, 2)).astype(kind)
               for kind in ("u1", "i1", "i2", "u2", "i4", "u4", "i8", "f4", "f8")}  # fmt: skip
    data = mat({**numbers, "t": "text é", "c": cell(["a", 1.0]), "s": {"x": 1.0, "y": "b"},
                "z": np.array([1 + 2j])})  # fmt: skip
    import io

    from scipy.io import loadmat

    found, expected = decode_mat(Source(Path("a.mat"), data)), loadmat(io.BytesIO(data))
    for name, value in numbers.items():
        np.testing.assert_array_equal(found[name], value)
        np.testing.assert_array_equal(found[name], expected[name])
    assert isinstance(found["t"], MatText) and found["t"].rows == ["text é"]
    assert isinstance(found["c"], MatCell) and found["c"].shape == (2, 1)
    assert isinstance(found["s"], MatStruct) and list(found["s"].items[0]) == ["x", "y"]
    assert type(found["z"]).__name__ == "MatOther"


def test_the_twin_of_a_c3d_file_agrees_with_it(shared):
    ezc3d = pytest.importorskip("ezc3d")
    folder = shared / "data/formats"
    clip = read(open_source(folder / "mat/ktk_sprintbasket.mat"), ReadOptions())
    twin = ezc3d.c3d(str(folder / "c3d/ktk_sprintbasket.c3d"))
    labels = [x.replace(":", "_") for x in twin["parameters"]["POINT"]["LABELS"]["value"]]
    assert clip.labels == tuple(labels)
    points = np.transpose(twin["data"]["points"][:3], (2, 1, 0))
    assert clip.provenance.up == "z" and clip.provenance.unit_scale == 1.0
    assert clip.fps == twin["parameters"]["POINT"]["RATE"]["value"][0]
    # The C3D file has one frame more, at its end.
    np.testing.assert_allclose(clip.pos_w, points[: clip.num_frames], atol=1e-4)
    assert clip.num_frames == len(points) - 1 and clip.visible.any(axis=0).all()


def bomb(size: int) -> bytes:
    body = zlib.compress(struct.pack("<II", 14, size) + bytes(size), 9)
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    return head + struct.pack("<II", 15, len(body)) + body


def test_declared_sizes_and_bombs_take_no_memory():
    huge = bytearray(mat({"markers": POS, **PLAIN}, compressed=False))
    at = huge.index(struct.pack("<III", 30, 20, 3))
    huge[at : at + 12] = struct.pack("<III", 2**31 - 1, 2**31 - 1, 3)
    inflated = bomb(100 << 20)
    tracemalloc.start()
    for data in (bytes(huge), inflated):
        with pytest.raises(InputError):
            load(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6


def test_damaged_files_load_or_are_refused_quickly():
    files = [mat(LAYOUTS[name], compressed=False) for name in ("time series", "cube", "qualisys")]
    files.append(mat(LAYOUTS["visual3d"]))
    count = {True: 0, False: 0}
    for seed in range(300):
        rng = np.random.default_rng(seed)
        start = time.perf_counter()
        try:
            load(damage(rng, files[seed % 4]))
            count[True] += 1
        except InputError as error:
            assert str(error).startswith("made.mat") and str(error).isprintable()
            count[False] += 1
        assert time.perf_counter() - start < 1.0
    assert min(count.values()) > 20
