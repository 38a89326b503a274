"""Tensors and plain values in a file of ``torch.save``, read without torch and without running it.

Such a file is a zip of raw storages and one pickle, ``data.pkl``, which is a program for a stack
machine. Python's own machine can call any function; the one here cannot call any. It knows the
opcodes that build plain values, and four names stand for what it builds itself:

- ``torch._utils._rebuild_tensor_v2``: an array over a storage; ``collections.OrderedDict``: a dict;
  ``torch.Size``: a tuple; names in :data:`INERT`: a :class:`StandIn` that does nothing.

Every other name, and every opcode that would make, set or call an object, is refused. There is no
recursion, keys of dicts are scalars only (hashing a tuple of tuples of … takes exponential time),
and nothing from the file is printed but text.
"""

import io
import math
import pickletools
import zipfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from motionkit.formats.source import Source

MAX_PROGRAM = 16 * 1024**2
"""Largest pickle [bytes]; tensors are not in it."""
MAX_OPCODES = 400_000
"""Opcodes carried out, in 0.7 s: 30 make a tensor, and two the name of a packed motion."""
MAX_DIMS = 8
"""Axes of a tensor."""
MAX_SIZE = 2**48
"""Largest size or stride of an axis: products of larger ones take long to compute."""
MAX_WORD = 16
"""Largest member that holds one word [bytes]."""
STORAGES: dict[str, np.dtype[Any]] = {
    "FloatStorage": np.dtype("<f4"), "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"), "BFloat16Storage": np.dtype("<u2"),
    "LongStorage": np.dtype("<i8"), "IntStorage": np.dtype("<i4"),
    "ShortStorage": np.dtype("<i2"), "CharStorage": np.dtype("<i1"),
    "ByteStorage": np.dtype("<u1"), "BoolStorage": np.dtype("<u1"),
}  # fmt: skip
"""Storage classes of torch and their numbers, little endian."""
REBUILD = "torch._utils._rebuild_tensor_v2"
"""The name that stands for a tensor over a storage."""
INERT = frozenset({"protomotions.simulator.base_simulator.simulator_state.StateConversion"})
"""Names of enumerations that motion files hold, and that carry nothing."""
_KNOWN = frozenset({REBUILD, "collections.OrderedDict", "torch.Size"}) | INERT
_BUILD = frozenset({"REDUCE", "BUILD", "NEWOBJ", "NEWOBJ_EX", "INST", "OBJ"})
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_DAMAGE = (ValueError, OSError, EOFError, RuntimeError, NotImplementedError, OverflowError,
           MemoryError, zipfile.BadZipFile, UnicodeError, IndexError, KeyError)  # fmt: skip


@dataclass(frozen=True, slots=True)
class StandIn:
    """Where a value of a class stood that is not read."""

    name: str
    """Of the class."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name that the program asked for; calling it is impossible."""

    name: str


@dataclass(frozen=True, slots=True)
class _Storage:
    kind: str
    key: str
    size: int


class _Mark:
    """Where a run of values on the stack begins."""


@dataclass(slots=True)
class _Machine:
    source: Source
    archive: zipfile.ZipFile
    folder: str
    is_big: bool
    budget: int
    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    raw: dict[str, bytes] = field(default_factory=dict)


def read_torch(source: Source) -> dict[str, Any]:
    """The dict that a file of ``torch.save`` holds; tensors as read-only numpy arrays.

    Raises:
        InputError: the file is damaged, of the old form, or asks for anything but plain values and
            tensors; the name that it asks for is in the message.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            names = archive.namelist()
            programs = [n for n in names if n == "data.pkl" or n.endswith("/data.pkl")]
            if len(programs) != 1 or len(set(names)) != len(names):
                raise source.error(f"is no file of torch.save: {len(programs)} members data.pkl",
                                   help="save the motion again with ProtoMotions")  # fmt: skip
            folder = programs[0].removesuffix("data.pkl")
            machine = _Machine(source, archive, folder, False, len(source.data))
            if folder + "byteorder" in names:
                machine.is_big = _member(machine, "byteorder", MAX_WORD).strip() == b"big"
            value = _run(machine, _member(machine, "data.pkl", MAX_PROGRAM))
    except _DAMAGE as error:
        line = (str(error).splitlines() or [type(error).__name__])[0][:120]
        raise source.error(f"is damaged: {line}", field="data.pkl") from None
    if not isinstance(value, dict):
        raise source.error(f"holds a {type(value).__name__}, expected a dict", field="data.pkl")
    return value


def _member(machine: _Machine, name: str, most: int) -> bytes:
    """Bytes of a member, within what the file can hold: torch does not compress."""
    info = machine.archive.getinfo(machine.folder + name)
    machine.budget -= info.file_size
    if info.compress_type != zipfile.ZIP_STORED or info.file_size > most or machine.budget < 0:
        raise machine.source.error(
            f"{info.file_size:,} bytes from {info.compress_size:,}; not opened", field=name,
            help="torch.save does not compress: save the file again",
        )  # fmt: skip
    return machine.archive.read(info)


def _run(machine: _Machine, program: bytes) -> Any:
    """Carry out the program; the last value on the stack."""
    for count, (opcode, arg, _) in enumerate(pickletools.genops(program)):
        if count > MAX_OPCODES:
            raise machine.source.error(f"more than {MAX_OPCODES:,} opcodes", field="data.pkl")
        if opcode.name == "STOP":
            return machine.stack.pop()
        _step(machine, opcode.name, arg)
    raise ValueError("the pickle does not end")


def _step(machine: _Machine, code: str, arg: Any) -> None:
    stack = machine.stack
    if code in ("PROTO", "FRAME"):
        return
    if code in _CONSTANTS:
        stack.append(_CONSTANTS[code])
    elif code == "MARK":
        stack.append(_Mark())
    elif code in ("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "UNICODE", "BININT", "BININT1",
                  "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"):  # fmt: skip
        stack.append(arg)
    elif code in ("GLOBAL", "STACK_GLOBAL"):
        stack.append(_find_name(machine, arg if code == "GLOBAL" else None))
    elif code in ("BINPUT", "LONG_BINPUT", "PUT"):
        machine.memo[arg] = stack[-1]
    elif code == "MEMOIZE":
        machine.memo[len(machine.memo)] = stack[-1]
    elif code in ("BINGET", "LONG_BINGET", "GET"):
        stack.append(machine.memo[arg])
    elif code == "BINPERSID":
        stack.append(_storage(machine, stack.pop()))
    elif code == "REDUCE":
        args, name = stack.pop(), stack.pop()
        stack.append(_reduce(machine, name, args))
    elif code in _BUILD:
        what = next((v.name for v in reversed(stack) if isinstance(v, _Name)), "an object")
        raise machine.source.error(f"asks to build {what} ({code}), which is not done",
                                   field="data.pkl", help=_SAFE)  # fmt: skip
    else:
        _collect(machine, code)


_SAFE = "save plain tensors: this file could run programs elsewhere"


def _collect(machine: _Machine, code: str) -> None:
    """Opcodes that put values into lists, tuples and dicts."""
    stack = machine.stack
    if code in ("EMPTY_TUPLE", "EMPTY_LIST", "EMPTY_DICT"):
        stack.append({"EMPTY_TUPLE": (), "EMPTY_LIST": [], "EMPTY_DICT": {}}[code])
    elif code in ("TUPLE1", "TUPLE2", "TUPLE3"):
        count = int(code[-1])
        stack[-count:] = [tuple(stack[-count:])] if len(stack) >= count else [stack[-count]]
    elif code == "TUPLE":
        items = _since_mark(stack)
        stack.append(tuple(items))
    elif code == "LIST":
        items = _since_mark(stack)
        stack.append(items)
    elif code in ("APPEND", "APPENDS"):
        items = [stack.pop()] if code == "APPEND" else _since_mark(stack)
        _top(stack, list).extend(items)
    elif code in ("SETITEM", "SETITEMS", "DICT"):
        items = _since_mark(stack) if code != "SETITEM" else [stack.pop(), stack.pop()][::-1]
        if code == "DICT":
            stack.append({})
        _fill(_top(stack, dict), items)
    elif code == "POP":
        stack.pop()
    elif code == "POP_MARK":
        _since_mark(stack)
    elif code == "DUP":
        stack.append(stack[-1])
    else:
        raise machine.source.error(f"opcode {code} has no place in a motion", field="data.pkl",
                                   help=_SAFE)  # fmt: skip


def _since_mark(stack: list[Any]) -> list[Any]:
    items: list[Any] = []
    while not isinstance(value := stack.pop(), _Mark):
        items.append(value)
    return items[::-1]


def _top(stack: list[Any], kind: type) -> Any:
    if type(stack[-1]) is not kind:
        raise ValueError(f"expected a {kind.__name__} to be filled")
    return stack[-1]


def _fill(target: dict[Any, Any], items: list[Any]) -> None:
    if len(items) % 2:
        raise ValueError("a key without a value")
    for key, value in zip(items[::2], items[1::2], strict=True):
        if not isinstance(key, str | int | float | None):
            raise ValueError(f"a key of type {type(key).__name__}, expected text or a number")
        target[key] = value


def _find_name(machine: _Machine, arg: str | None) -> _Name:
    """A name of the allow-list.

    Raises:
        InputError: another one.
    """
    if arg is not None:
        name = ".".join(arg.split(" ", 1))
    else:
        last, module = machine.stack.pop(), machine.stack.pop()
        name = f"{module}.{last}" if type(last) is str and type(module) is str else "no text"
    if name in _KNOWN or (name.startswith("torch.") and name[len("torch.") :] in STORAGES):
        return _Name(name)
    raise machine.source.error(f"asks for {name[:100]}, which is no part of a motion",
                               field="data.pkl", help=_SAFE)  # fmt: skip


def _storage(machine: _Machine, pid: Any) -> _Storage:
    """The storage that a persistent id names."""
    if type(pid) is tuple and len(pid) == 5 and pid[0] == "storage" and type(pid[1]) is _Name:
        _, kind, key, _, size = pid
        name = kind.name.removeprefix("torch.")
        if name in STORAGES and type(key) is str and type(size) is int and size >= 0:
            return _Storage(name, key, size)
    raise ValueError("a storage is not described as torch does")


def _reduce(machine: _Machine, name: Any, args: Any) -> Any:
    """What a known name stands for."""
    if type(name) is not _Name or type(args) is not tuple:
        raise machine.source.error("asks to call something that is no name", field="data.pkl",
                                   help=_SAFE)  # fmt: skip
    if name.name == REBUILD:
        return _tensor(machine, args)
    if name.name in INERT:
        return StandIn(name.name)
    if name.name == "torch.Size" and len(args) == 1 and type(args[0]) in (tuple, list):
        return tuple(args[0])
    if name.name == "collections.OrderedDict" and not args:
        return {}
    raise machine.source.error(f"asks to call {name.name}, which is not done", field="data.pkl",
                               help=_SAFE)  # fmt: skip


def _tensor(machine: _Machine, args: tuple[Any, ...]) -> np.ndarray:
    """A view of a storage, once it is known to lie inside."""
    if len(args) < 4 or type(args[0]) is not _Storage:
        raise ValueError("a tensor is not described as torch does")
    storage, start, shape, strides = args[:4]
    if not (type(shape) is type(strides) is tuple and len(shape) == len(strides) <= MAX_DIMS):
        raise ValueError("a tensor's shape and strides do not go together")
    numbers = [start, *shape, *strides]
    if any(type(n) is not int or not 0 <= n <= MAX_SIZE for n in numbers):
        raise ValueError("a tensor's shape or strides are no sizes")
    dtype, field_name = STORAGES[storage.kind], f"data/{storage.key}"
    if storage.key not in machine.raw:
        machine.raw[storage.key] = _member(machine, field_name, len(machine.source.data))
    raw = machine.raw[storage.key]
    held = len(raw) // dtype.itemsize
    count = math.prod(shape)
    last = start + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if (count and (last >= held or count > held)) or start > held:
        raise machine.source.error(
            f"a tensor of shape {str(tuple(shape))[:60]} does not fit into {held:,} numbers",
            field=field_name,
        )  # fmt: skip
    values = np.frombuffer(raw, dtype.newbyteorder(">") if machine.is_big else dtype, held)
    if count == 0:
        return np.zeros(shape, dtype)
    steps = [step * dtype.itemsize for step in strides]
    view = np.lib.stride_tricks.as_strided(values[start:], shape, steps, writeable=False)
    if storage.kind == "BFloat16Storage":
        return (view.astype("<u4") << 16).view("<f4")
    return view.astype(bool) if storage.kind == "BoolStorage" else view
