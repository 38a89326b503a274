"""Damage to files: the same seed of the generator gives the same damage.

Three families: bytes (any file), numbers and words of text, and the insides of zips, which are
packed again with checksums that agree so that a reader goes beyond them.
"""

import functools
import io
import re
import struct
import zipfile
from collections.abc import Callable

import numpy as np

HEADER = 1024
"""Bytes at the start that half of the damage aims at: headers decide more than data."""
DIRECTORY = 1500
"""Bytes at the end of a zip that hold its directory, more or less."""
MEMBER_HEADER = 128
"""Bytes of an array's own header."""
BOMB = 80 * 1024**2
"""Bytes that a bomb unpacks to; from its header, far more."""
WORDS = (
    b"nan", b"inf", b"-inf", b"-1", b"0", b"1e308", b"-1e308", b"1e-320", b"2147483648",
    b"4294967296", b"9223372036854775808", b"1e", b"0x10", b"1,5", b"", b"1_000", b"+-1",
    b"9" * 400,
)  # fmt: skip
"""What a number of a text is replaced by."""
_TOKEN = re.compile(rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_#]+")
_VALUES = [
    *(struct.pack("<h", v) for v in (-1, 0, 1, 255, 256, 32767, -32768)),
    *(struct.pack("<i", v) for v in (-1, 0, 65535, 65536, 2**31 - 1, -(2**31))),
    *(struct.pack("<f", v) for v in (np.nan, np.inf, -np.inf, 3e38, -1.0, 1e-45, 0.0)),
    *(struct.pack("<d", v) for v in (np.nan, np.inf, 1e308, -1.0, 5e-324)),
    *(struct.pack("<q", v) for v in (-1, 2**40, 2**63 - 1)),
]  # fmt: skip

Rng = np.random.Generator


def mutate(rng: Rng, data: bytes) -> bytes:
    """The file with one to three kinds of damage."""
    is_zip = data.startswith(b"PK\x03\x04")
    is_text = not is_zip and data[:4000].isascii() and b"\0" not in data[:4000]
    kinds: list[Callable[[Rng, bytes], bytes]] = list(_BYTES)
    if is_text:
        kinds = [*_BYTES, *_TEXT, *_TEXT]
    elif is_zip:
        kinds = [*_BYTES, *_ZIP, *_ZIP]
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        if not data:
            break
        data = kinds[rng.integers(len(kinds))](rng, data)
        if not data.startswith(b"PK\x03\x04"):  # no zip any more
            kinds = [kind for kind in kinds if kind not in _ZIP]
    return data


def _place(rng: Rng, data: bytes, aligned: int = 1) -> int:
    """A place: anywhere, or where headers and directories are."""
    where = rng.integers(4)
    if where == 0 and data.startswith(b"PK"):
        at = len(data) - 1 - int(rng.integers(min(len(data), DIRECTORY)))
    elif where <= 1:
        at = int(rng.integers(min(len(data), HEADER)))
    else:
        at = int(rng.integers(len(data)))
    return at - at % aligned


def _cut(rng: Rng, data: bytes) -> bytes:
    return data[: _place(rng, data)]


def _flip_bits(rng: Rng, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 12))):
        out[_place(rng, data)] ^= 1 << int(rng.integers(8))
    return bytes(out)


def _set_bytes(rng: Rng, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 12))):
        out[_place(rng, data)] = int(rng.choice([0, 255, 127, 128, 10, 44, rng.integers(256)]))
    return bytes(out)


def _set_value(rng: Rng, data: bytes) -> bytes:
    """An extreme number where a binary one may be."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        value = _VALUES[rng.integers(len(_VALUES))]
        if rng.random() < 0.3:
            value = value[::-1]
        at = _place(rng, data, aligned=2)
        out[at : at + len(value)] = value
    return bytes(out[: len(data)])


def _insert(rng: Rng, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + rng.bytes(int(rng.integers(1, 300))) + data[at:]


def _delete(rng: Rng, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + data[at + int(rng.integers(1, 300)) :]


def _repeat(rng: Rng, data: bytes) -> bytes:
    at, start = _place(rng, data), _place(rng, data)
    return data[:at] + data[start : start + int(rng.integers(1, 2000))] + data[at:]


def _swap(rng: Rng, data: bytes) -> bytes:
    a, b = sorted((_place(rng, data), _place(rng, data)))
    size = int(min(rng.integers(1, 600), b - a, len(data) - b))
    return (
        data[:a] + data[b : b + size] + data[a + size : b] + data[a : a + size] + data[b + size :]
    )


_BYTES = (_cut, _flip_bits, _set_bytes, _set_value, _insert, _delete, _repeat, _swap)


def _replace_tokens(rng: Rng, data: bytes, pattern: re.Pattern[bytes], words: tuple) -> bytes:
    """Some matches near a few places, each replaced by one of the words."""
    for _ in range(int(rng.integers(1, 5))):
        if not data:
            break
        match = pattern.search(data, _place(rng, data))
        if match:
            word = words[rng.integers(len(words))]
            data = data[: match.start()] + word + data[match.end() :]
    return data


def _set_numbers(rng: Rng, data: bytes) -> bytes:
    return _replace_tokens(rng, data, _TOKEN, WORDS)


def _set_digits(rng: Rng, data: bytes) -> bytes:
    """Mild damage, which leaves numbers numbers: what is read is then as strange as can be."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 8))):
        at = int(rng.integers(len(out)))
        while at < len(out) and not 48 <= out[at] <= 57:
            at += 1
        if at < len(out):
            out[at] = 48 + int(rng.integers(10))
    return bytes(out)


def _set_words(rng: Rng, data: bytes) -> bytes:
    found = _WORD.findall(data[:HEADER])[:60] or [b"x"]
    return _replace_tokens(rng, data, _WORD, (*found, b"", b"A" * 3000, b"\xff\xfe"))


def _set_marks(rng: Rng, data: bytes) -> bytes:
    marks = (b"\t", b" ", b",", b"\n", b"\r\n", b"{", b"}", b"", b";", b"\n\n", b"\xef\xbb\xbf")
    return _replace_tokens(rng, data, re.compile(rb"[\s,{}]"), marks)


def _drop_lines(rng: Rng, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    at = int(rng.integers(min(len(lines), 30) if rng.random() < 0.5 else len(lines)))
    del lines[at : at + int(rng.integers(1, 4))]
    return b"".join(lines)


def _repeat_lines(rng: Rng, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    at = int(rng.integers(min(len(lines), 30) if rng.random() < 0.5 else len(lines)))
    return b"".join(lines[:at] + lines[at : at + 1] * int(rng.integers(2, 300)) + lines[at + 1 :])


_TEXT = (_set_numbers, _set_digits, _set_digits, _set_words, _set_marks, _drop_lines, _repeat_lines)


def _members(data: bytes) -> dict[str, bytes] | None:
    """The members of a sound zip of ordinary size."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(info.file_size for info in archive.infolist()) > 4 * 1024**2:
                return None
            return {info.filename: archive.read(info) for info in archive.infolist()}
    except Exception:  # whatever the damage before did
        return None


def _pack(members: dict[str, bytes], compress: bool = False) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED if compress else 0) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def _damage_member(rng: Rng, data: bytes) -> bytes:
    """One member damaged, with a checksum that agrees."""
    members = _members(data)
    if not members:
        return data
    name = str(rng.choice(sorted(members)))
    content = members[name]
    if content:
        kinds = (*_BYTES, _set_numbers, _set_numbers)
        head, tail = content[:MEMBER_HEADER], content[MEMBER_HEADER:]
        if rng.random() < 0.5:  # the array's own header
            members[name] = kinds[rng.integers(len(kinds))](rng, head) + tail
        else:
            members[name] = kinds[rng.integers(len(kinds))](rng, content)
    return _pack(members, compress=bool(rng.random() < 0.2))


def _declare(rng: Rng, data: bytes) -> bytes:
    """An array's header that declares another shape or type, well formed."""
    members = _members(data)
    names = [name for name, content in (members or {}).items() if content[:6] == b"\x93NUMPY"]
    if not members or not names:
        return data
    name = str(rng.choice(names))
    shapes = ("()", "(0,)", "(1,)", "(1000000000000,)", "(-1,)", "(2, 0, 3)", "(3, 3, 3, 3)",
              "(4611686018427387904, 4)", "(1.5,)", "[1]", "(1,) * 9")  # fmt: skip
    types = ("'<f8'", "'<f4'", "'>f8'", "'<f2'", "'<i8'", "'|u1'", "'|b1'", "'<c16'", "'|O'",
             "'<U5'", "'|S0'", "'|V8'", "'<M8[s]'", "[('a', '<f8')]", "'<f16'")  # fmt: skip
    content = members[name]
    out = re.sub(rb"'shape': \([^)]*\)", b"'shape': " + str(rng.choice(shapes)).encode(), content,
                 count=1) if rng.random() < 0.6 else content  # fmt: skip
    if rng.random() < 0.6:
        out = re.sub(
            rb"'descr': [^,]*", b"'descr': " + str(rng.choice(types)).encode(), out, count=1
        )
    if rng.random() < 0.2:
        out = out.replace(b"False", b"True", 1)
    if out[6:7] == b"\x01":  # keep the length of the header true
        old = struct.unpack("<H", content[8:10])[0]
        out = out[:8] + struct.pack("<H", max(old + len(out) - len(content), 0)) + out[10:]
    members[name] = out
    return _pack(members)


def _rename_members(rng: Rng, data: bytes) -> bytes:
    """Members dropped, renamed or exchanged."""
    members = _members(data)
    if not members:
        return data
    names = sorted(members)
    a, b = (str(name) for name in rng.choice(names, size=2))
    kind = rng.integers(4)
    if kind == 0:
        del members[a]
    elif kind == 1:
        members[a], members[b] = members[b], members[a]
    elif kind == 2:
        other = str(rng.choice(["fps", "../../x.npy", "a" * 3000, "é", "poses"]))
        members[other] = members.pop(a)
    else:
        members[a] = b""
    return _pack(members)


def _set_sizes(rng: Rng, data: bytes) -> bytes:
    """Sizes, method or flags of the directory's entries and of local headers, set to extremes."""
    out = bytearray(data)
    for mark, offsets in ((b"PK\x01\x02", (8, 10, 16, 20, 24, 28, 30, 42)),
                          (b"PK\x03\x04", (6, 8, 14, 18, 22, 26, 28)),
                          (b"PK\x05\x06", (8, 10, 12, 16, 20))):  # fmt: skip
        if rng.random() < 0.5:
            places = [m.start() for m in re.finditer(re.escape(mark), data)]
            if places:
                at = places[rng.integers(len(places))] + int(rng.choice(offsets))
                value = _VALUES[rng.integers(20)]
                out[at : at + len(value)] = value
    return bytes(out[: len(data)])


@functools.cache
def bomb(size: int = BOMB) -> bytes:
    """An array in a zip that is small until it is unpacked."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (size // (8 * 156), 156)}
    )
    return _pack({"x": head.getvalue() + b"\0" * (size // (8 * 156) * 8 * 156)}, compress=True)


def _plant_bomb(rng: Rng, data: bytes) -> bytes:
    """One member exchanged for a bomb; the checksum and the sizes agree."""
    members = _members(data)
    if not members:
        return data
    name = str(rng.choice(sorted(members)))
    with zipfile.ZipFile(io.BytesIO(bomb())) as archive:
        info = archive.infolist()[0]
        start = info.header_offset + 30 + len(info.filename)
        packed = bomb()[start : start + info.compress_size]
    del members[name]
    rest = _pack(members)
    return _append_member(rest, name.encode(), packed, info.CRC, info.file_size)


def _append_member(data: bytes, name: bytes, packed: bytes, crc: int, size: int) -> bytes:
    """A zip with one more deflated member, without unpacking it."""
    end = data.rindex(b"PK\x05\x06")
    entries, _, length, start = struct.unpack("<HHII", data[end + 8 : end + 20])
    common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0x21, crc, len(packed), size, len(name), 0)
    local = b"PK\x03\x04" + common + name + packed
    place = struct.pack("<HHHII", 0, 0, 0, 0, start)
    central = b"PK\x01\x02" + struct.pack("<H", 20) + common + place + name
    directory = data[start : start + length] + central
    tail = struct.pack("<HHHHIIH", 0, 0, entries + 1, entries + 1, len(directory),
                       start + len(local), 0)  # fmt: skip
    return data[:start] + local + directory + b"PK\x05\x06" + tail


_ZIP = (_damage_member, _damage_member, _declare, _declare, _rename_members, _set_sizes,
        _set_sizes, _plant_bomb)  # fmt: skip
