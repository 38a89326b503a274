"""Which format a file is, and which files of a folder are motions."""

import sys
from pathlib import Path

import numpy as np
import pytest
from builders_bvh import Dialect, walking_figure, write_bvh

from motionkit.errors import InputError
from motionkit.formats import FORMATS, find_files, read_clip, search_files

BVH = write_bvh(walking_figure(np.random.default_rng(0), 2), Dialect(), np.random.default_rng(0))


def test_the_first_bytes_decide_over_the_extension(tmp_path):
    path = tmp_path / "clip.txt"
    path.write_bytes(BVH)
    assert read_clip(path).provenance.format == "bvh"
    assert read_clip(path).name == "clip"


@pytest.mark.parametrize(("name", "data", "message"), [
    ("a.pkl", b"\x80\x04anything", "is a pickle: never opened"),
    ("a.npz", b"\x80\x04anything", "is a pickle: never opened"),
    ("a.bin", b"\x80\x02anything", "is a pickle: never opened"),
    ("a.pt", b"\x80\x02anything", "is a pickle: never opened"),
    ("a.csv", b"<!DOCTYPE html><html>", "is a web page"),
    ("a.fbx", b"Kaydara FBX Binary", "is an FBX file"),
    ("a.xyz", b"whatever", "format not known (extension .xyz)"),
    ("a", b"whatever", "format not known (extension none)"),
])  # fmt: skip
def test_formats_that_are_not_read_are_refused_by_name(tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_clip(path)
    assert message in str(caught.value)
    assert caught.value.help


def test_every_row_of_the_table_can_be_imported():
    import importlib

    for kind in FORMATS:
        assert callable(importlib.import_module(kind.module).read)
        assert kind.extensions and all(e.startswith(".") for e in kind.extensions)
        assert kind.carries


def make_tree(folder):
    for name in ("b/walk.bvh", "a/run.BVH", "a/readme.txt", ".git/x.bvh", "a/._run.bvh", "c.fbx"):
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(BVH)
    np.savez(folder / "a/shape.npz", betas=np.zeros(16), gender="male")
    np.savez(folder / "a/clip_poses.npz", poses=np.zeros((1, 156)))
    np.savez(folder / "a/robot.npz", velocity=np.zeros(3))
    (folder / "a/broken.npz").write_bytes(b"PK\x03\x04 cut")


def test_a_folder_gives_its_motions_sorted_and_says_what_it_left_out(tmp_path):
    make_tree(tmp_path)
    found = search_files([tmp_path])
    assert [str(p.relative_to(tmp_path)) for p in found.files] == [
        "a/broken.npz", "a/clip_poses.npz", "a/run.BVH", "b/walk.bvh",
    ]  # fmt: skip
    assert {str(s.path.relative_to(tmp_path)): s.reason for s in found.skipped} == {
        ".git/x.bvh": "hidden",
        "a/._run.bvh": "hidden",
        "a/readme.txt": "no motion file",
        "a/robot.npz": "no motion that is read: keys velocity",
        "a/shape.npz": "a subject's shape, no motion",
        "c.fbx": "not read: an FBX file",
    }
    assert find_files([tmp_path]) == list(found.files)


def test_a_named_file_is_found_once_whatever_it_is(tmp_path):
    make_tree(tmp_path)
    shape = tmp_path / "a/shape.npz"
    assert find_files([shape, shape, tmp_path / "b"]) == [shape, tmp_path / "b/walk.bvh"]


def test_a_path_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file or folder"):
        find_files([tmp_path / "nowhere"])


@pytest.fixture(scope="module")
def benchmark(shared):
    """The script that makes the table of every handed file."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
    import formats_table

    return formats_table


@pytest.mark.slow
def test_every_handed_file_loads_with_its_facts_or_is_refused_with_a_reason(benchmark):
    rows, groups = benchmark.judge_all(benchmark.FOLDER), benchmark.compare_all(benchmark.FOLDER)
    assert {row["file"]: row["wrong"] for row in rows if row["wrong"]} == {}
    assert {group["group"]: group["wrong"] for group in groups if group["wrong"]} == {}
    bad = [row for row in rows if "_bad_" in row["file"].removeprefix("c3d/")]
    assert {row["verdict"] for row in bad if row["file"].startswith("minimal/")} == {"refused"}
    assert all(row["text"] and row["verdict"] in ("loaded", "refused") for row in rows)
    there = {path for path in benchmark.FOLDER.rglob("*") if path.is_file()}
    assert len(rows) == len(there) - len(benchmark.NOT_INPUT) and len(groups) >= 10


def test_the_committed_table_is_of_the_files_that_are_there(benchmark):
    import json

    document = json.loads((benchmark.RESULTS / "formats_table.json").read_text("utf-8"))
    there = {path.relative_to(benchmark.FOLDER).as_posix()
             for path in benchmark.FOLDER.rglob("*")
             if path.is_file() and path.name not in benchmark.NOT_INPUT}  # fmt: skip
    assert {row["file"] for row in document["files"]} == there
    assert not [row for row in [*document["files"], *document["groups"]] if row["wrong"]]
    text = benchmark.to_markdown(document["files"], document["groups"])
    assert (benchmark.RESULTS / "formats_table.md").read_text("utf-8") == text


def test_the_table_finds_a_wrong_rate_scale_and_order(benchmark):
    """The facts are held against clips that are wrong on purpose."""
    from dataclasses import replace

    from formats_facts import check_facts

    folder = benchmark.FOLDER
    for name, changes in (
        ("c3d/btk_s01_Eb015pi.c3d", lambda c: {"fps": c.fps * 1.01}),
        ("c3d/btk_s01_Eb015pi.c3d", lambda c: {"pos_w": c.pos_w * 1.001}),
        ("c3d/btk_s01_Eb015pi.c3d", lambda c: {"pos_w": c.pos_w[:-1]}),
        ("trc/btk_MOTEK_T.trc", lambda c: {"pos_w": c.pos_w[..., [1, 0, 2]]}),
        ("bvh/toolbox_walk01.bvh", lambda c: {"root_pos_w": c.root_pos_w + 0.01}),
        ("minimal/amass_base.npz", lambda c: {"trans_w": c.trans_w + 1e-6}),
        ("robot/robotlab_g1_dance1_subject2_30.npz",
         lambda c: {"root_quat": c.root_quat[:, [1, 2, 3, 0]]}),
        ("robot/robotlab_g1_dance1_subject2_30.npz",
         lambda c: {"joint_pos": c.joint_pos[:, ::-1]}),
    ):  # fmt: skip
        clip = read_clip(folder / name)
        assert check_facts(folder, name, clip).wrong == []
        assert check_facts(folder, name, replace(clip, **changes(clip))).wrong, name


def test_one_motion_that_differs_is_found(benchmark):
    from dataclasses import replace

    base = read_clip(benchmark.FOLDER / "minimal/c3d_base_mm.c3d")
    moved = replace(base, pos_w=base.pos_w + 2e-6)
    assert benchmark.difference(base, base) == 0.0
    assert benchmark.difference(base, moved) == pytest.approx(2e-6, rel=1e-6)
    hole = base.pos_w.copy()
    hole[3, 4] = np.nan
    assert benchmark.difference(base, replace(base, pos_w=hole)) == np.inf
