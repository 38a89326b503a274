"""MATLAB files of version 5 to 7, decoded within the bytes that are there.

The layout is that of MathWorks, "MAT-File Format". Nothing is executed: objects, functions and
opaque values are named and left alone. Compressed elements grow to a bounded size, and every
declared size is held against the bytes present before anything is allocated.
"""

import struct
import zlib
from dataclasses import dataclass

import numpy as np

from motionkit.formats.source import Source

Array = np.ndarray

HEADER = 128
"""Bytes before the first element."""
MAX_INFLATED = 1 << 30
"""Bytes that all compressed elements may grow to."""
MAX_RATIO = 200
"""Bytes a compressed byte may grow to, from :data:`FREE_INFLATED` on."""
FREE_INFLATED = 64 << 20
"""Bytes to which any file may grow."""
MAX_VALUES = 500_000
"""Values of all kinds in a file, each of which costs memory beyond its bytes."""
MAX_DEPTH = 20
"""Depth of structs and cells within each other."""

_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8",
            13: "u8"}  # fmt: skip
_TEXTS = {1: "latin-1", 2: "latin-1", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_CLASSES = {1: "cell", 2: "struct", 3: "object", 4: "char", 5: "sparse", 6: "double", 7: "single",
            8: "int8", 9: "uint8", 10: "int16", 11: "uint16", 12: "int32", 13: "uint32",
            14: "int64", 15: "uint64", 16: "function", 17: "opaque"}  # fmt: skip
_COMPLEX = 0x800


@dataclass(frozen=True, slots=True)
class MatStruct:
    """A struct, or an array of structs with the same fields."""

    shape: tuple[int, ...]
    """Its size."""
    items: list[dict[str, "MatValue"]]
    """Field to value, for each element in MATLAB's order (first index fastest)."""


@dataclass(frozen=True, slots=True)
class MatCell:
    """A cell array."""

    shape: tuple[int, ...]
    """Its size."""
    items: list["MatValue"]
    """In MATLAB's order."""


@dataclass(frozen=True, slots=True)
class MatText:
    """Text."""

    shape: tuple[int, ...]
    """Rows and columns of characters."""
    rows: list[str]
    """Each row, without blanks at its end."""


@dataclass(frozen=True, slots=True)
class MatOther:
    """A value that is not read: an object, a function, a sparse or complex array."""

    kind: str
    """MATLAB's class."""
    shape: tuple[int, ...]
    """Its size, where the file says it."""


MatValue = Array | MatStruct | MatCell | MatText | MatOther


def decode_mat(source: Source) -> dict[str, MatValue]:
    """The variables of a MATLAB file; arrays in the type that they are stored in.

    Raises:
        InputError: the file is of another version, or is damaged.
    """
    return _Decoder(source).variables()


def say_value(value: MatValue) -> str:
    """Class and size of a value, for people."""
    kind = {"MatStruct": "struct", "MatCell": "cell", "MatText": "char"}
    name = value.dtype.name if isinstance(value, np.ndarray) else (
        value.kind if isinstance(value, MatOther) else kind[type(value).__name__])  # fmt: skip
    return f"{name} {'x'.join(str(n) for n in value.shape)}".strip()


class _Decoder:
    """One pass over the bytes, with what has been used of the limits."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.inflated = 0
        self.values = 0
        self.order = self._byte_order()

    def _byte_order(self) -> str:
        data = self.source.data
        if data.startswith(b"MATLAB 7.3") or data[512:516] == b"\x89HDF" or data[:4] == b"\x89HDF":
            raise self.source.error(
                "is a MATLAB file of version 7.3 (HDF5), versions 5 to 7 are read",
                help="save it in MATLAB with: save('file.mat', '-v7')",
            )
        if not data.startswith(b"MATLAB 5.0") or len(data) < HEADER:
            raise self.source.error("is no MATLAB file of version 5 to 7", field="header",
                                    help="save it in MATLAB: save('file.mat', '-v7')")  # fmt: skip
        mark = data[126:128]
        if mark not in (b"IM", b"MI"):
            raise self.source.error(f"byte order is {mark!r}, expected b'IM' or b'MI'",
                                    field="header")  # fmt: skip
        return "<" if mark == b"IM" else ">"

    def damage(self, message: str) -> Exception:
        return self.source.error(message, help="the file is damaged or cut short; save it again")

    def variables(self) -> dict[str, MatValue]:
        found: dict[str, MatValue] = {}
        data, at = memoryview(self.source.data), HEADER
        while at < len(data):
            kind, body, at = self.element(data, at)
            if kind == _COMPRESSED:
                kind, body, _ = self.element(self.inflate(body), 0)
            if kind != _MATRIX:
                raise self.damage(f"element of type {kind} at byte {at}, expected an array")
            name, value = self.matrix(body, 0)
            if name:  # MATLAB keeps data of objects in a variable without a name
                found[name] = value
        return found

    def element(self, data: memoryview, at: int) -> tuple[int, memoryview, int]:
        """Type and bytes of the element at a place, and where the next one starts."""
        if at + 8 > len(data):
            raise self.damage(f"ends inside a tag ({len(data) - at} of 8 bytes)")
        kind, size = struct.unpack_from(self.order + "II", data, at)
        if kind >> 16:
            kind, size = kind & 0xFFFF, kind >> 16
            if size > 4:
                raise self.damage(f"a short element declares {size} bytes, expected at most 4")
            return kind, data[at + 4 : at + 4 + size], at + 8
        start = at + 8
        if size > len(data) - start:
            raise self.damage(f"an element declares {size} bytes, {len(data) - start} are there")
        following = start + size if kind == _COMPRESSED else start + -(-size // 8) * 8
        return kind, data[start : start + size], following

    def inflate(self, body: memoryview) -> memoryview:
        most = min(MAX_INFLATED, max(FREE_INFLATED, MAX_RATIO * len(self.source.data)))
        stream = zlib.decompressobj()
        try:
            out = stream.decompress(body, max(1, most - self.inflated))
        except zlib.error as error:
            raise self.damage(f"a compressed array is damaged: {error}") from None
        self.inflated += len(out)
        if not stream.eof:
            what = f"grows beyond {most} bytes" if self.inflated >= most else "is cut short"
            raise self.damage(f"a compressed array {what}")
        return memoryview(out)

    def matrix(self, data: memoryview, depth: int) -> tuple[str, MatValue]:
        """Name and value of an array."""
        self.values += 1
        if self.values > MAX_VALUES or depth > MAX_DEPTH:
            raise self.damage(f"holds more than {MAX_VALUES} values, or {MAX_DEPTH} in each other")
        if not len(data):
            return "", np.zeros((0, 0))
        _, flags, at = self.element(data, 0)
        if len(flags) < 4:
            raise self.damage("an array without flags")
        (word,) = struct.unpack_from(self.order + "I", flags)
        kind = _CLASSES.get(word & 0xFF, f"class {word & 0xFF}")
        if kind in ("function", "opaque"):
            return self._name_of(data, at), MatOther(kind, ())
        shape, at = self._shape(data, at)
        _, name, at = self.element(data, at)
        label = bytes(name).decode("latin-1")
        if kind == "struct":
            return label, self._struct(data, at, shape, depth)
        if kind == "cell":
            items, _ = self._many(data, at, int(np.prod(shape, dtype=object)), depth)
            return label, MatCell(shape, items)
        if kind == "char":
            return label, self._text(data, at, shape)
        if kind in ("object", "sparse") or kind not in _CLASSES.values() or word & _COMPLEX:
            return label, MatOther("complex" if word & _COMPLEX else kind, shape)
        return label, self._array(data, at, shape)

    def _name_of(self, data: memoryview, at: int) -> str:
        """Name of a value that states no size."""
        kind, name, _ = self.element(data, at)
        return bytes(name).decode("latin-1") if kind == 1 else ""

    def _shape(self, data: memoryview, at: int) -> tuple[tuple[int, ...], int]:
        _, body, at = self.element(data, at)
        shape = tuple(int(n) for n in np.frombuffer(body[: len(body) // 4 * 4], self.order + "i4"))
        if not 2 <= len(shape) <= 8 or min(shape) < 0:
            raise self.damage(f"an array of size {shape[:8]}")
        return shape, at

    def _array(self, data: memoryview, at: int, shape: tuple[int, ...]) -> Array:
        kind, body, _ = self.element(data, at)
        if kind not in _NUMBERS:
            raise self.damage(f"numbers stored as type {kind}")
        dtype = np.dtype(self.order + _NUMBERS[kind])
        count = int(np.prod(shape, dtype=object))
        if len(body) != count * dtype.itemsize:
            raise self.damage(f"an array of size {'x'.join(map(str, shape))} holds {len(body)} "
                              f"bytes, expected {count * dtype.itemsize}")  # fmt: skip
        return np.frombuffer(body, dtype).reshape(shape, order="F")

    def _text(self, data: memoryview, at: int, shape: tuple[int, ...]) -> MatText:
        if at >= len(data):
            return MatText(shape, [])
        kind, body, _ = self.element(data, at)
        if kind == 4:
            text = bytes(body).decode("utf-16-le" if self.order == "<" else "utf-16-be", "replace")
        elif kind in _TEXTS:
            ending = "" if kind < 17 else "-le" if self.order == "<" else "-be"
            text = bytes(body).decode(_TEXTS[kind] + ending, "replace")
        else:
            raise self.damage(f"text stored as type {kind}")
        rows = shape[0] if len(text) else 0
        if rows > len(text):
            raise self.damage(f"text of {rows} rows holds {len(text)} characters")
        return MatText(shape, [text[row::rows].rstrip() for row in range(rows)])

    def _many(
        self, data: memoryview, at: int, count: int, depth: int
    ) -> tuple[list[MatValue], int]:
        if count > (len(data) - at) // 8:
            raise self.damage(f"declares {count} values, {len(data) - at} bytes are there")
        items: list[MatValue] = []
        for _ in range(count):
            kind, body, at = self.element(data, at)
            if kind != _MATRIX:
                raise self.damage(f"element of type {kind}, expected an array")
            items.append(self.matrix(body, depth + 1)[1])
        return items, at

    def _struct(self, data: memoryview, at: int, shape: tuple[int, ...], depth: int) -> MatStruct:
        _, size, at = self.element(data, at)
        if len(size) < 4:
            raise self.damage("a struct without the length of its names")
        (length,) = struct.unpack_from(self.order + "i", size)
        _, body, at = self.element(data, at)
        if length <= 0 or len(body) % length:
            raise self.damage(f"a struct with names of {length} in {len(body)} bytes")
        raw = bytes(body)
        names = [raw[i : i + length].split(b"\0")[0].decode("latin-1")
                 for i in range(0, len(raw), length)]  # fmt: skip
        if not names:
            return MatStruct(shape, [])
        count = int(np.prod(shape, dtype=object)) * len(names)
        values, _ = self._many(data, at, count, depth)
        rows = [values[i : i + len(names)] for i in range(0, count, len(names))]
        return MatStruct(shape, [dict(zip(names, row, strict=True)) for row in rows])
