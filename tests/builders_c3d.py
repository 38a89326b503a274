"""C3D files made from their specification, of every processor and both kinds of numbers."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

BLOCK = 512
PROCESSOR = {"pc": 84, "dec": 85, "sgi": 86}


@dataclass
class Made:
    """What a file shall hold; ``None`` for a parameter leaves it out."""

    pos: np.ndarray  # (T, M, 3), units of the file
    labels: list[str]
    residual: np.ndarray | None = None  # (T, M), of the fourth word; zeros
    processor: str = "pc"
    is_float: bool = True
    scale: float = 0.1
    rate: float = 100.0
    first: int = 1
    unit: str | None = "mm"
    analog: np.ndarray | None = None  # (T * samples, A), as stored
    samples: int = 1
    width: int = 16  # of a label
    header: dict[int, Any] = field(default_factory=dict)  # word (from 1): value
    parameters: dict[str, dict[str, Any]] = field(default_factory=dict)
    parameter_block: int = 2
    gap: int = 0  # blocks between parameters and data


def build(made: Made) -> bytes:
    """The bytes of a file."""
    frames, points = made.pos.shape[:2]
    section = _section(made, _parameters(made, data_block=0))
    data_block = made.parameter_block + len(section) // BLOCK + made.gap
    section = _section(made, _parameters(made, data_block=data_block))
    values = 0 if made.analog is None else made.analog.size // max(frames, 1)
    last = min(made.first + frames - 1, 65535)
    scale = -made.scale if made.is_float else made.scale
    head = _ints(made, [0, points, values, min(made.first, 65535), last, 10])
    head += floats(np.array([scale]), made.processor)
    head += _ints(made, [data_block, made.samples if values else 0])
    head += floats(np.array([made.rate]), made.processor)
    head = bytearray(head.ljust(BLOCK, b"\0"))
    for word, value in made.header.items():
        is_float = isinstance(value, float)
        new = floats(np.array([value]), made.processor) if is_float else _ints(made, [value])
        head[2 * word - 2 : 2 * word - 2 + len(new)] = new
    head[0:2] = bytes([made.parameter_block, 0x50])
    file = bytes(head) + b"\0" * (BLOCK * (made.parameter_block - 2)) + section
    file += b"\0" * (BLOCK * made.gap) + _data(made)
    return file + b"\0" * (-len(file) % BLOCK)


def floats(values: np.ndarray, processor: str) -> bytes:
    """Single-precision numbers of a processor. A VAX number has four times the bits' value."""
    if processor == "sgi":
        return np.asarray(values, ">f4").tobytes()
    if processor == "pc":
        return np.asarray(values, "<f4").tobytes()
    with np.errstate(over="ignore"):
        bits = (np.asarray(values, np.float64) * 4.0).astype("<f4").view("<u4")
    bits = np.where(np.isnan(values), 0x80000000, bits)  # sign without exponent: no number
    return np.stack([bits >> 16, bits & 0xFFFF], axis=-1).astype("<u2").tobytes()


def _ints(made: Made, values: Any) -> bytes:
    order = ">" if made.processor == "sgi" else "<"
    return (np.asarray(values).astype(np.int64) & 0xFFFF).astype(f"{order}u2").tobytes()


def _data(made: Made) -> bytes:
    frames, points = made.pos.shape[:2]
    residual = np.zeros((frames, points)) if made.residual is None else made.residual
    pos = made.pos if made.is_float else np.rint(made.pos / np.float32(made.scale))
    table = np.concatenate([pos, residual[..., None]], axis=2).reshape(frames, 4 * points)
    if made.analog is not None:
        table = np.concatenate(
            [table, made.analog.reshape(frames, made.analog.size // max(frames, 1))], axis=1
        )
    if made.is_float:
        return floats(table, made.processor)
    return _ints(made, np.nan_to_num(table))


def _parameters(made: Made, data_block: int) -> dict[str, dict[str, Any]]:
    frames, points = made.pos.shape[:2]
    groups: dict[str, dict[str, Any]] = {
        "POINT": {
            "USED": points,
            "FRAMES": frames if frames < 65536 else -1,
            "SCALE": -made.scale if made.is_float else made.scale,
            "RATE": made.rate,
            "DATA_START": data_block,
            "UNITS": made.unit,
        }
    }
    for number, start in enumerate(range(0, len(made.labels), 255), 1):
        name = "LABELS" if number == 1 else f"LABELS{number}"
        groups["POINT"][name] = made.labels[start : start + 255]
    if frames > 65535:
        end = made.first + frames - 1
        groups["TRIAL"] = {"ACTUAL_START_FIELD": [made.first, 0],
                           "ACTUAL_END_FIELD": [end % 65536, end // 65536]}  # fmt: skip
    if made.analog is not None:
        channels = made.analog.shape[1]
        groups["ANALOG"] = {
            "USED": channels, "RATE": made.rate * made.samples, "GEN_SCALE": 1.0,
            "SCALE": np.ones(channels), "OFFSET": [0] * channels,
            "LABELS": [f"A{i}" for i in range(channels)],
        }  # fmt: skip
    for group, changes in made.parameters.items():
        groups[group] = groups.get(group, {}) | changes
    return groups


def _section(made: Made, groups: dict[str, dict[str, Any]]) -> bytes:
    records = b""
    for number, (group, parameters) in enumerate(groups.items(), 1):
        name = group.encode()
        records += bytes([len(name), 256 - number]) + name + _ints(made, [3]) + b"\0"
        for key, value in parameters.items():
            if value is not None:
                records += _parameter(made, number, key, value)
    blocks = -(-(len(records) + 5) // BLOCK)
    start = bytes([1, 0x50, blocks % 256, PROCESSOR[made.processor]])
    return (start + records).ljust(blocks * BLOCK, b"\0")


def _parameter(made: Made, group: int, key: str, value: Any) -> bytes:
    """One record; text becomes characters, floats stay floats, whole numbers 16-bit integers.

    An array keeps its shape, the fastest dimension first in the file, as Fortran has it.
    """
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list) and value and isinstance(value[0], str | bytes):
        texts = [v.encode() if isinstance(v, str) else v for v in value]
        width = max(made.width, *(len(t) for t in texts)) if key.startswith("LABELS") else max(
            len(t) for t in texts)  # fmt: skip
        kind, dims = 255, [width, len(texts)]
        data = b"".join(text.ljust(width) for text in texts)
    else:
        array = np.asarray(value)
        dims = list(array.shape)
        flat = array.flatten(order="F")
        is_float = array.dtype.kind == "f"
        kind = 4 if is_float else 2
        data = floats(flat, made.processor) if is_float else _ints(made, flat)
    body = bytes([kind, len(dims), *dims]) + data + b"\0"
    name = key.encode()
    return bytes([len(name), group]) + name + _ints(made, [len(body) + 2]) + body


def damage(rng: np.random.Generator, data: bytes) -> bytes:
    """A file cut, flipped, shortened, lengthened or written over, mostly near its start."""
    out = bytearray(data)

    def place() -> int:
        return int(rng.integers(len(out) if rng.random() < 0.3 else min(len(out), 4000)))

    kind = rng.integers(6)
    if kind == 0:
        return bytes(out[: place()])
    if kind == 1:
        for _ in range(int(rng.integers(1, 12))):
            out[place()] = int(rng.integers(256))
    elif kind == 2:
        at = place()
        del out[at : at + int(rng.integers(1, 200))]
    elif kind == 3:
        at, start = place(), place()
        out[at:at] = out[start : start + int(rng.integers(1, 300))]
    elif kind == 4:
        at = 2 * int(rng.integers(1, 12))  # a word of the header
        out[at : at + 2] = rng.integers(0, 65536, dtype=np.uint16).tobytes()
    else:
        at = min(place(), len(out) - 4)
        value = [np.nan, np.inf, 3e38, -1.0, 0.0, 1e-45][rng.integers(6)]
        out[at : at + 4] = np.float32(value).tobytes()
    return bytes(out)
