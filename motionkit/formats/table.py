"""The table of formats: what is read, how it is told apart, and what is refused by name.

A new format is one file with ``read(source, options)`` and one row of :data:`FORMATS`.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from motionkit.clip import SourceClip
from motionkit.formats.peek import Peek, peek_source
from motionkit.formats.source import ReadOptions, Source, open_source


@dataclass(frozen=True, slots=True)
class Format:
    """One format that is read."""

    name: str
    """As a clip's provenance has it."""
    extensions: tuple[str, ...]
    """Lower case, with the dot."""
    carries: str
    """What such a file holds, for people."""
    is_signature: Callable[[Peek], bool]
    """Whether the outside of a file is this format's."""
    module: str
    """Module whose ``read(source, options)`` reads it; imported when needed."""
    is_own_extension: bool = True
    """Whether no other kind of file has its extensions: in a folder a damaged one is then read, to
    say what is wrong with it, where one of a shared extension is skipped."""

    def read(self, source: Source, options: ReadOptions) -> SourceClip:
        """The clip in a file of this format."""
        return importlib.import_module(self.module).read(source, options)


def _is_bvh(peek: Peek) -> bool:
    head = peek.head
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if head.startswith(mark):
            head = head[2 : len(head) - len(head) % 2].decode(encoding, "replace").encode()
    words = head.removeprefix(b"\xef\xbb\xbf").split(maxsplit=1)
    return bool(words) and words[0].upper() in (b"HIERARCHY", b"ROOT")


def _is_c3d(peek: Peek) -> bool:
    """The second byte is 0x50; so short a mark counts only where the name agrees."""
    return peek.suffix == ".c3d" and peek.head[1:2] == b"\x50"


def _is_trc(peek: Peek) -> bool:
    return peek.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:12].lower() == b"pathfiletype"


def _is_mat(peek: Peek) -> bool:
    return peek.head.startswith((b"MATLAB 5.0", b"MATLAB 7.3"))


def _is_amass(peek: Peek) -> bool:
    return bool(peek.members & {"poses", "pose_body", "body_pose"})


def _is_joints(peek: Peek) -> bool:
    keys = {"joint_positions", "posed_joints", "joints", "positions", "keypoints", "joints3d"}
    return peek.head.startswith(b"\x93NUMPY") or bool(peek.members & keys)


def _is_markers(peek: Peek) -> bool:
    return {"markers", "labels"} <= peek.members


def _is_robot_npz(peek: Peek) -> bool:
    keys = {"joint_pos", "dof_pos", "dof_positions", "dofs_pos", "qpos", "body_pos_w"}
    return bool(peek.members & keys) or {"dof", "root_rot"} <= peek.members


def _is_robot_csv(peek: Peek) -> bool:
    """A table of numbers, at least a root and a joint wide, perhaps below one line of names."""
    lines = peek.head.removeprefix(b"\xef\xbb\xbf").splitlines()[:3]
    words = [line.replace(b";", b",").replace(b"\t", b",").split(b",") for line in lines]
    return peek.suffix in (".csv", ".tsv") and any(
        len(row) >= 8 and all(_is_number(word) for word in row if word.strip()) for row in words
    )


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


# fmt: off
FORMATS: tuple[Format, ...] = (
    Format("bvh", (".bvh",), "a skeleton with joint rotations", _is_bvh, "motionkit.formats.bvh"),
    Format("c3d", (".c3d",), "labelled optical markers; force plates and analog channels",
           _is_c3d, "motionkit.formats.c3d"),
    Format("trc", (".trc",), "labelled optical markers or joint centres",
           _is_trc, "motionkit.formats.trc"),
    Format("mat", (".mat",), "labelled optical markers, in the documented layouts",
           _is_mat, "motionkit.formats.mat", is_own_extension=False),
    Format("motionlib", (".motion", ".pt"), "a robot's motion, as ProtoMotions saves it",
           lambda peek: peek.is_torch, "motionkit.formats.motionlib", is_own_extension=False),
    Format("amass", (".npz",), "poses and shape of an SMPL, SMPL-H or SMPL-X body",
           _is_amass, "motionkit.formats.amass", is_own_extension=False),
    Format("robot_npz", (".npz",), "a robot's motion: joints, perhaps bodies and velocities",
           _is_robot_npz, "motionkit.formats.robot_npz", is_own_extension=False),
    Format("markers", (".npz",), "labelled optical markers as named arrays",
           _is_markers, "motionkit.formats.markers_npz", is_own_extension=False),
    Format("joints", (".npz", ".npy"), "positions of a person's joints",
           _is_joints, "motionkit.formats.joints", is_own_extension=False),
    Format("robot_csv", (".csv", ".tsv"), "a robot's motion, a frame a line: root and joints",
           _is_robot_csv, "motionkit.formats.robot_csv", is_own_extension=False),
)
# fmt: on
"""Every format that this version reads, in the order in which signatures are tried."""

_PICKLE = "a pickle: never opened, since it can run programs"
_REFUSED: dict[str, tuple[str, str]] = {
    ".pkl": (_PICKLE, "save its arrays with numpy.savez: poses, trans, betas, mocap_framerate"),
    ".fbx": ("an FBX file", "export BVH from Blender or another tool"),
    ".glb": ("a glTF file", "export BVH from Blender or another tool"),
    ".usd": ("a USD file", "export BVH from Blender or another tool"),
    ".asf": ("an ASF or AMC file", "export BVH, or take the CMU clips as BVH or AMASS"),
    ".hdf5": ("an HDF5 file", "save its arrays with numpy.savez, or a MATLAB file with -v7"),
    ".json": ("a JSON file", "save its arrays with numpy.savez"),
}
_ALIASES = {
    ".pickle": ".pkl", ".joblib": ".pkl", ".amc": ".asf", ".gltf": ".glb",
    ".usda": ".usd", ".usdc": ".usd", ".h5": ".hdf5",
}  # fmt: skip
_SIGNATURES = ((b"\x80\x02", ".pkl"), (b"\x80\x03", ".pkl"), (b"\x80\x04", ".pkl"),
               (b"\x80\x05", ".pkl"), (b"\x89HDF", ".hdf5"), (b"Kaydara FBX", ".fbx"))  # fmt: skip


def read_clip(path: Path | str, options: ReadOptions | None = None) -> SourceClip:
    """The motion in a file, in motionkit's world: metres, Z up.

    The format is told by the first bytes, and by the extension where they say nothing.

    Args:
        path: the file.
        options: what the user knows better than the file.

    Raises:
        InputError: the file is missing, damaged, of a format that is not read, or no motion; the
            message names file, field and value.
    """
    source = open_source(path)
    return find_format(source).read(source, options or ReadOptions())


def find_format(source: Source) -> Format:
    """The row of the table that a file belongs to.

    Raises:
        InputError: it belongs to none.
    """
    peek = peek_source(source)
    refused = refused_as(peek.suffix)
    if refused and not _is_bvh(peek):
        raise source.error(f"is {refused[0]}", help=refused[1])
    if (kind := sign(peek)) is not None:
        return kind
    for mark, extension in _SIGNATURES:
        if peek.head.startswith(mark):
            what, help = _REFUSED[extension]
            raise source.error(f"is {what}", help=help)
    if peek.head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise source.error("is a web page, not the file itself", help="download it again")
    for kind in FORMATS:
        if peek.suffix in kind.extensions:
            return kind
    known = ", ".join(f"{kind.name} ({' '.join(kind.extensions)})" for kind in FORMATS)
    suffix = peek.suffix or "none"
    raise source.error(f"format not known (extension {suffix})", help=f"known: {known}")


def sign(peek: Peek) -> Format | None:
    """The first row whose signature a file bears."""
    return next((kind for kind in FORMATS if kind.is_signature(peek)), None)


def refused_as(suffix: str) -> tuple[str, str] | None:
    """What files of an extension that is not read are, and what to do with them."""
    return _REFUSED.get(_ALIASES.get(suffix, suffix))
