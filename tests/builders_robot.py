"""Robot motions with a known truth, and files that say them in each writer's way."""

import io
import struct
import zipfile
from dataclasses import dataclass

import numpy as np

from motionkit import rotation
from motionkit.formats.robot_layouts import LAYOUTS, Layout

G1 = LAYOUTS[0]
STORAGE = {"f4": "FloatStorage", "f8": "DoubleStorage", "i8": "LongStorage", "b1": "BoolStorage",
           "f2": "HalfStorage"}  # fmt: skip


@dataclass
class Truth:
    """A motion: root, joints, and bodies that hang from each other by hinges."""

    root_pos: np.ndarray
    root_quat: np.ndarray
    joint_pos: np.ndarray
    body_pos: np.ndarray
    body_quat: np.ndarray
    body_names: tuple[str, ...]


def robot_truth(rng: np.random.Generator, frames: int = 40, layout: Layout = G1) -> Truth:
    """A robot that walks forwards along a curve on nearly flat soles, six bodies stored."""
    time = np.linspace(0.0, 1.0, frames)[:, None]
    yaw = rng.uniform(-3, 3) + rng.choice([-1, 1]) * rng.uniform(0.6, 1.5) * time[:, 0]
    lean = rotation.from_rotvec(0.05 * np.sin(4 * time + rng.uniform(0, 6, 3)))
    quat = rotation.multiply(rotation.from_axis_angle("Z", yaw), lean)
    step = 1.5 / frames * np.stack([np.cos(yaw), np.sin(yaw), 0 * yaw], axis=1)
    pos = np.cumsum(step, axis=0) + [0, 0, 0.75] + 0.02 * np.sin(6 * time + [0.0, 1.0, 2.0])
    low, high = np.array(layout.limits).T
    wave = np.sin(2 * np.pi * (rng.uniform(0.3, 1.0, len(low)) * time + rng.uniform(size=len(low))))
    angles = np.clip(0.05 * wave, 0.9 * low, 0.9 * high)
    arms = [i for i, name in enumerate(layout.joints) if "shoulder" in name or "elbow" in name]
    angles[:, arms] = (0.5 * (low + high) + 0.4 * (high - low) * wave)[:, arms]
    body_pos, body_quat = [pos], [rotation.unroll(quat)]
    for body in range(1, 6):
        parent = (body - 1) // 2
        axis = rng.normal(size=3)
        axis = axis / np.linalg.norm(axis)
        turn = rotation.from_rotvec(axis * angles[:, [arms[body]]])
        offset = rng.normal(scale=0.2, size=3)
        body_pos.append(body_pos[parent] + rotation.rotate(body_quat[parent], offset))
        body_quat.append(rotation.unroll(rotation.multiply(body_quat[parent], turn)))
    names = ("pelvis", *(f"link_{i}" for i in range(1, 6)))
    return Truth(pos, rotation.unroll(quat), angles, np.stack(body_pos, axis=1),
                 np.stack(body_quat, axis=1), names)  # fmt: skip


def flip_signs(rng: np.random.Generator, quat: np.ndarray) -> np.ndarray:
    """The same rotations, each with a random sign."""
    return quat * rng.choice([-1.0, 1.0], size=(*quat.shape[:-1], 1))


def write_table(
    truth: Truth, order: str = "wxyz", mark: str = ",", header: str = "", lead: str = ""
) -> bytes:
    """A table of the motion; ``header`` of "named" or "numbered", ``lead`` of "frame" or "time"."""
    quat = truth.root_quat if order == "wxyz" else rotation.to_xyzw(truth.root_quat)
    values = np.concatenate([truth.root_pos, quat, truth.joint_pos], axis=1)
    names = [*"xyz", *(f"q{c}" for c in order)]
    names += [f"j{i}" if header == "numbered" else G1.joints[i] + "_dof"
              for i in range(truth.joint_pos.shape[1])]  # fmt: skip
    frame = np.arange(len(values), dtype=float)[:, None]
    if lead:
        values = np.concatenate([frame if lead == "frame" else frame / 50.0, values], axis=1)
        names = [lead, *names]
    lines = [mark.join(names)] if header else []
    lines += [mark.join(f"{v:.9f}" for v in row) for row in values]
    if mark == ";":
        lines = [line.replace(".", ",") for line in lines]
    return "\r\n".join(lines).encode()


def npz_bytes(**arrays) -> bytes:
    """An ``.npz``."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


class TorchWriter:
    """The opcodes of a pickle as ``torch.save`` writes them, and the storages beside it."""

    def __init__(self, big: bool = False) -> None:
        """Nothing written yet."""
        self.storages: list[bytes] = []
        self.order = ">" if big else "<"

    def text(self, value: str) -> bytes:
        """BINUNICODE."""
        raw = value.encode()
        return b"X" + struct.pack("<I", len(raw)) + raw

    def number(self, value: int) -> bytes:
        """BININT, or LONG1 for what does not fit."""
        if -(2**31) <= value < 2**31:
            return b"J" + struct.pack("<i", value)
        raw = value.to_bytes(16, "little", signed=True)
        return b"\x8a" + bytes([len(raw)]) + raw

    def tensor(self, values: np.ndarray, *, shape=None, strides=None, start: int = 0) -> bytes:
        """A tensor over a storage of its own; shape and strides may lie."""
        kind = STORAGE[values.dtype.str[1:]]
        key = str(len(self.storages))
        raw = np.ascontiguousarray(values)
        self.storages.append(raw.astype(raw.dtype.newbyteorder(self.order)).tobytes())
        shape = values.shape if shape is None else shape
        steps = [s // values.itemsize for s in raw.strides] if strides is None else strides
        pid = (b"(" + self.text("storage") + b"ctorch\n" + kind.encode() + b"\n" + self.text(key)
               + self.text("cpu") + self.number(values.size) + b"tQ")  # fmt: skip
        sizes = b"".join(b"(" + b"".join(self.number(int(n)) for n in row) + b"t"
                         for row in (shape, steps))  # fmt: skip
        return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + pid + self.number(start) + sizes
                + b"\x89ccollections\nOrderedDict\n)RtR")  # fmt: skip

    def value(self, value) -> bytes:
        """Any of the plain values of a motion file; bytes are opcodes as they stand."""
        if isinstance(value, bytes):
            return value
        if isinstance(value, np.ndarray):
            return self.tensor(value)
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool) or value is None:
            return {True: b"\x88", False: b"\x89", None: b"N"}[value]
        if isinstance(value, int):
            return self.number(value)
        if isinstance(value, float):
            return b"G" + struct.pack(">d", value)
        assert isinstance(value, tuple)
        return b"(" + b"".join(map(self.value, value)) + b"t"

    def file(self, **fields) -> bytes:
        """The zip; each field of the dict as :meth:`value` writes it."""
        body = b"".join(self.text(name) + self.value(value) for name, value in fields.items())
        return self.archive(b"\x80\x02}(" + body + b"u.")

    def archive(self, program: bytes, compression: int = zipfile.ZIP_STORED) -> bytes:
        """The zip around a whole program."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compression) as archive:
            archive.writestr("clip/data.pkl", program)
            archive.writestr("clip/byteorder", "big" if self.order == ">" else "little")
            for i, raw in enumerate(self.storages):
                archive.writestr(f"clip/data/{i}", raw)
            archive.writestr("clip/version", "3\n")
        return buffer.getvalue()


def damage(rng: np.random.Generator, data: bytes) -> bytes:
    """The bytes cut short, overwritten, with a part gone or doubled, or with other digits."""
    out = bytearray(data)
    kind, at = rng.integers(5), int(rng.integers(len(out)))
    if rng.random() < 0.5:  # near either end, where headers and directories are
        at = int(rng.integers(min(len(out), 1500)))
        at = at if rng.random() < 0.5 else len(out) - 1 - at
    if kind == 0:
        del out[at + 1 :]
    elif kind == 1:
        for _ in range(int(rng.integers(1, 8))):
            out[min(at + int(rng.integers(200)), len(out) - 1)] = int(rng.integers(256))
    elif kind == 2:
        del out[at : at + int(rng.integers(1, 200))]
    elif kind == 3:
        out[at:at] = out[at : at + int(rng.integers(1, 300))]
    else:
        for _ in range(int(rng.integers(1, 6))):
            out[int(rng.integers(len(out)))] = b"0123456789-.,e \nN"[rng.integers(17)]
    return bytes(out)
