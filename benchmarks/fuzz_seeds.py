"""Sound files that the fuzzer damages: of ``../shared`` where it is there, and made here."""

import io
import pickle
import sys
import tempfile
import types
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from motionkit.formats.source import ReadOptions

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "formats"
LARGEST = 90_000
"""Bytes: in a small file most damage hits something that matters, and reading is quick."""

_GIVEN: dict[str, tuple[str, ...]] = {
    "bvh": ("bvh/*.bvh", "minimal/bvh_*.bvh"),
    "c3d": ("c3d/*.c3d", "minimal/c3d_*.c3d"),
    "trc": ("trc/*.trc",),
    "amass": ("minimal/amass_*.npz",),
    "joints": ("amass/*.npy",),
    "robot_csv": ("minimal/csv_*.csv",),
}
"""Masks of files below ``../shared/data/formats``, by reader."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A file to damage."""

    name: str
    """For people; its extension is that of the damaged files."""
    data: bytes
    """All of it."""
    options: ReadOptions = field(default_factory=ReadOptions)
    """What its reader must be told."""


def seeds(reader: str) -> list[Seed]:
    """The files for a reader, in a fixed order."""
    found = [Seed(name, data, options) for name, data, options in _MADE.get(reader, _none)()]
    for mask in _GIVEN.get(reader, ()):
        for path in sorted(SHARED.glob(mask)):
            if 0 < path.stat().st_size <= LARGEST:
                options = ReadOptions(fps=30.0) if reader in ("robot_csv", "joints") else None
                found.append(Seed(path.name, path.read_bytes(), options or ReadOptions()))
    return found


Made = Iterator[tuple[str, bytes, ReadOptions]]


def _none() -> Made:
    yield from ()


def _bvh() -> Made:
    from motionkit.synth import SynthConfig, synthesize, write_bvh

    made = synthesize(SynthConfig(kind="walk", seconds=0.2))
    with tempfile.TemporaryDirectory() as folder:
        for up in ("y", "z"):
            path = Path(folder) / f"made_{up}.bvh"
            write_bvh(made.skeleton, path, up=up)
            yield path.name, path.read_bytes(), ReadOptions()


def npz(**arrays: np.ndarray | float | str) -> bytes:
    """The bytes of an ``.npz``."""
    out = io.BytesIO()
    np.savez(out, **arrays)  # type: ignore[arg-type]
    return out.getvalue()


def _amass() -> Made:
    rng = np.random.default_rng(0)
    common = {"trans": rng.normal(size=(4, 3)), "betas": rng.normal(size=16), "gender": "female",
              "mocap_framerate": 120.0}  # fmt: skip
    poses = rng.normal(scale=0.2, size=(4, 156))
    yield "made_smplh.npz", npz(poses=poses, **common), ReadOptions()
    yield "made_smpl.npz", npz(poses=poses[:, :72].astype("f4"), **common), ReadOptions()
    yield "made_parts.npz", npz(root_orient=poses[:, :3], pose_body=poses[:, 3:66],
                                pose_hand=poses[:, 66:], **common), ReadOptions()  # fmt: skip


def _npz_of_one() -> bytes:
    """An archive whose only members are poses and what goes with them."""
    return npz(poses=np.zeros((2, 156)))


def figure(frames: int = 6) -> np.ndarray:
    """Joints of HumanML3D (22, Y up) of somebody who stands and sways [m]."""
    rest = np.array([
        [0, 0.92, 0], [0.09, 0.85, 0], [-0.09, 0.85, 0], [0, 1.04, 0], [0.09, 0.45, 0],
        [-0.09, 0.45, 0], [0, 1.17, 0], [0.09, 0.07, 0], [-0.09, 0.07, 0], [0, 1.23, 0],
        [0.09, 0.02, 0.13], [-0.09, 0.02, 0.13], [0, 1.44, 0], [0.06, 1.35, 0], [-0.06, 1.35, 0],
        [0, 1.54, 0.02], [0.19, 1.35, 0], [-0.19, 1.35, 0], [0.45, 1.35, 0], [-0.45, 1.35, 0],
        [0.71, 1.35, 0], [-0.71, 1.35, 0],
    ], dtype=float)  # fmt: skip
    sway = 0.02 * np.sin(np.arange(frames))[:, None, None] * rest[None, :, 1:2]
    return rest[None] + sway * np.array([1.0, 0.0, 0.5])


def _joints() -> Made:
    pos = figure()
    out = io.BytesIO()
    np.save(out, pos)
    yield "made.npy", out.getvalue(), ReadOptions(fps=20.0)
    out = io.BytesIO()
    np.save(out, pos.astype("f4"))
    yield "made_f4.npy", out.getvalue(), ReadOptions(fps=20.0)
    yield "made.npz", npz(joint_positions=pos, fps=20.0), ReadOptions()


def robot_arrays(frames: int = 8, joints: int = 29) -> dict[str, np.ndarray]:
    """Root, orientation (wxyz) and joints of a robot that turns and bends."""
    time = np.arange(frames) / 50.0
    angle = 0.4 + 0.3 * time
    quat = np.stack([np.cos(angle / 2), 0 * time, 0 * time, np.sin(angle / 2)], axis=1)
    root = np.stack([0.3 * time, 0.1 * time, 0.78 + 0.01 * np.sin(9 * time)], axis=1)
    joint = 0.3 * np.sin(5 * time[:, None] + np.arange(joints))
    return {"root_pos": root, "root_quat": quat, "joint_pos": joint}


def _robot_npz() -> Made:
    made = robot_arrays()
    root, quat, joint = made.values()
    bodies = np.repeat(root[:, None], 3, axis=1) + np.array([[0, 0, 0], [0, 0.1, 0], [0, 0, 0.3]])
    quats = np.repeat(quat[:, None], 3, axis=1)
    names = np.array([f"joint_{i}" for i in range(29)])
    yield "made_named.npz", npz(
        fps=np.array([50]), joint_pos=joint, joint_vel=np.gradient(joint, 0.02, axis=0),
        body_pos_w=bodies, body_quat_w=quats, body_lin_vel_w=np.gradient(bodies, 0.02, axis=0),
        body_ang_vel_w=np.zeros_like(bodies), joint_names=names,
        body_names=np.array(["pelvis", "left_hip_link", "torso_link"]),
    ), ReadOptions()  # fmt: skip
    yield "made_mujoco.npz", npz(
        fps=50.0, joint_pos=np.concatenate([root, quat, joint], axis=1), joint_names=names,
        body_pos_w=bodies, body_quat_w=quats, body_names=np.array(["pelvis", "a", "b"]),
    ), ReadOptions()  # fmt: skip
    yield (
        "made_qpos.npz",
        npz(qpos=np.concatenate([root, quat, joint], axis=1), fps=50.0),
        (ReadOptions()),
    )


def _robot_csv() -> Made:
    root, quat, joint = robot_arrays().values()
    for name, order in (("made_xyzw.csv", [1, 2, 3, 0]), ("made_wxyz.csv", [0, 1, 2, 3])):
        rows = np.concatenate([root, quat[:, order], joint], axis=1)
        text = "\n".join(",".join(f"{value:.6f}" for value in row) for row in rows) + "\n"
        yield name, text.encode(), ReadOptions(fps=30.0, quat_order=name[5:9])


LABELS = ("LASI", "RASI", "LPSI", "RPSI", "LKNE", "RKNE", "LANK", "RANK", "C7", "CLAV")
"""Of the markers of made files."""


def markers(frames: int = 6) -> np.ndarray:
    """Markers (T, M, 3) of somebody who walks along x [mm], Z up; one is away for a frame."""
    rest = 1000.0 * np.array([
        [0.1, 0.12, 1], [0.1, -0.12, 1], [-0.1, 0.05, 1], [-0.1, -0.05, 1], [0, 0.12, 0.5],
        [0, -0.12, 0.5], [0, 0.1, 0.1], [0, -0.1, 0.1], [-0.1, 0, 1.5], [0.1, 0, 1.4],
    ])  # fmt: skip
    pos = rest[None] + 12.0 * np.arange(frames)[:, None, None] * np.array([1.0, 0.1, 0.0])
    pos[2, 3] = np.nan
    return pos


def _trc() -> Made:
    pos = markers()
    head = [
        "PathFileType\t4\t(X/Y/Z)\tmade.trc",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\t"
        "Units\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
        f"100.00\t100.00\t{len(pos)}\t{len(LABELS)}\tmm\t100.00\t1\t{len(pos)}",
        "Frame#\tTime\t" + "\t\t\t".join(LABELS) + "\t\t",
        "\t\t" + "\t".join(f"{a}{m + 1}" for m in range(len(LABELS)) for a in "XYZ"),
        "",
    ]
    for t, frame in enumerate(pos):
        cells = ["" if np.isnan(value) else f"{value:.5f}" for value in frame.reshape(-1)]
        head.append("\t".join([str(t + 1), f"{t / 100:.5f}", *cells]))
    yield "made.trc", ("\n".join(head) + "\n").encode(), ReadOptions()
    yield "made_crlf.trc", ("\r\n".join(head) + "\r\n").encode(), ReadOptions()


def _c3d() -> Made:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from builders_c3d import Made as C3d
    from builders_c3d import build

    pos = markers()
    away = np.isnan(pos[..., 0])
    for processor in ("pc", "dec", "sgi"):
        for is_float in (False, True):
            made = C3d(np.nan_to_num(pos), list(LABELS), residual=-1.0 * away,
                       processor=processor, is_float=is_float,
                       analog=np.arange(48.0).reshape(24, 2), samples=4)  # fmt: skip
            name = f"made_{processor}_{'float' if is_float else 'int'}.c3d"
            yield name, build(made), ReadOptions()


def _mat() -> Made:
    from scipy.io import savemat

    pos, time = markers() / 1000.0, np.arange(6) / 100.0
    ones = np.ones((6, 1))
    series = {label: {"Time": time, "Data": np.concatenate([pos[:, m], ones], axis=1)}
              for m, label in enumerate(LABELS)}  # fmt: skip
    plain = {"markers": pos, "labels": np.array(LABELS, dtype=object), "fs": 100.0, "unit": "m"}
    for name, content in (("made_series.mat", {"contents": series}), ("made_plain.mat", plain)):
        for compress in (False, True):
            out = io.BytesIO()
            savemat(out, content, do_compression=compress)
            yield name.replace(".", "_z." if compress else "."), out.getvalue(), ReadOptions()


def _markers() -> Made:
    pos = markers() / 1000.0
    for unit in ("m", ""):
        data = npz(markers=pos, labels=np.array(LABELS), fps=100.0, unit=unit)
        yield f"made_{unit or 'plain'}.npz", data, ReadOptions()


class _Tensor:
    """An array that :func:`torch_zip` stores as ``torch.save`` stores a tensor."""

    def __init__(self, array: np.ndarray, key: str) -> None:
        self.array, self.key = np.ascontiguousarray(array), key

    def __reduce__(self) -> tuple[Any, ...]:
        strides = tuple(step // self.array.itemsize for step in self.array.strides)
        rebuild = sys.modules["torch._utils"]._rebuild_tensor_v2  # type: ignore[attr-defined]
        kind = "FloatStorage" if self.array.dtype.kind == "f" else "LongStorage"
        storage = _Storage(("storage", getattr(sys.modules["torch"], kind), self.key, "cpu",
                            self.array.size))  # fmt: skip
        return rebuild, (storage, 0, self.array.shape, strides, False, OrderedDict())


class _Storage:
    """What a persistent id of ``torch.save`` holds."""

    def __init__(self, pid: tuple[Any, ...]) -> None:
        self.pid = pid


class _Pickler(pickle.Pickler):
    def persistent_id(self, obj: Any) -> Any:
        return obj.pid if isinstance(obj, _Storage) else None


def torch_zip(content: dict[str, Any]) -> bytes:
    """A file as ``torch.save`` writes it, without torch: its format, no code of its own."""
    fake, inner = types.ModuleType("torch"), types.ModuleType("torch._utils")
    for module, name in ((fake, "FloatStorage"), (fake, "LongStorage"),
                         (inner, "_rebuild_tensor_v2")):  # fmt: skip
        stand_in = type(name, (), {"__module__": module.__name__})
        setattr(module, name, stand_in)
    sys.modules["torch"], sys.modules["torch._utils"] = fake, inner
    try:
        members = {}
        tensors = {}
        for name, value in content.items():
            if isinstance(value, np.ndarray):
                value = value.astype("<f4" if value.dtype.kind == "f" else "<i8")
                members[f"data/{len(members)}"] = value.tobytes()
                value = _Tensor(value, str(len(members) - 1))
            tensors[name] = value
        program = io.BytesIO()
        _Pickler(program, protocol=2).dump(tensors)
    finally:
        del sys.modules["torch"], sys.modules["torch._utils"]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("made/data.pkl", program.getvalue())
        archive.writestr("made/byteorder", "little")
        for name, data in members.items():
            archive.writestr(f"made/{name}", data)
        archive.writestr("made/version", "3\n")
    return out.getvalue()


def _motionlib() -> Made:
    root, quat, joint = robot_arrays().values()
    pos = np.repeat(root[:, None], 3, axis=1) + np.array([[0, 0, 0], [0, 0.1, 0], [0, 0, 0.3]])
    rot = np.repeat(quat[:, None, [1, 2, 3, 0]], 3, axis=1)
    single = {"dof_pos": joint, "dof_vel": np.gradient(joint, 0.02, axis=0), "rigid_body_pos": pos,
              "rigid_body_rot": rot, "fps": 50}  # fmt: skip
    yield "made.motion", torch_zip(single), ReadOptions()
    packed = {"gts": pos, "grs": rot, "dps": joint, "length_starts": np.array([0, 4]),
              "motion_num_frames": np.array([4, 4]), "motion_dt": np.array([0.02, 0.02]),
              "motion_files": ("a.motion", "b.motion")}  # fmt: skip
    yield "made.pt", torch_zip(packed), ReadOptions(take=1)


_MADE: dict[str, Callable[[], Made]] = {
    "bvh": _bvh, "amass": _amass, "joints": _joints, "robot_npz": _robot_npz,
    "robot_csv": _robot_csv, "trc": _trc, "c3d": _c3d, "mat": _mat, "motionlib": _motionlib,
    "markers": _markers,
}  # fmt: skip
