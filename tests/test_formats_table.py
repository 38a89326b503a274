"""Which format a file is, and which files of a folder are motions."""

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
