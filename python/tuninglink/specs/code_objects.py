"""The metadata of code objects for AMD GPUs: ELF files with a note in MessagePack, as LLVM's user guide for AMDGPU has it."""

# ruff: noqa: PLR2004 - the first bytes of MessagePack

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

_ELF: Final = b"\x7fELF\x02\x01"  # of 64 bits, little-endian
_NOTE_SECTION: Final = 7
_METADATA_NOTE: Final = 32


def metadata_notes(content: bytes) -> Iterator[Any]:
    """Yield the metadata of an ELF file."""
    if not content.startswith(_ELF):
        return
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    for number in range(count):
        _, kind, _, _, at, length = struct.unpack_from("<IIQQQQ", content, table + number * size)
        end = at + length
        while kind == _NOTE_SECTION and at < end:
            name_length, length, note = struct.unpack_from("<III", content, at)
            name = content[at + 12 : at + 12 + name_length].rstrip(b"\0")
            at += 12 + -(-name_length // 4) * 4
            if name == b"AMDGPU" and note == _METADATA_NOTE:
                yield _unpacked(content[at : at + length])[0]
            at += -(-length // 4) * 4


def _unpacked(data: bytes, at: int = 0) -> tuple[Any, int]:
    """Return the value at a position of MessagePack, and the position after it."""
    first, at = data[at], at + 1
    if first < 0x80 or first >= 0xE0:
        return first - (256 if first >= 0xE0 else 0), at
    if first in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[first], at
    numbers = {0xCC: "B", 0xCD: "H", 0xCE: "I", 0xCF: "Q", 0xD0: "b", 0xD1: "h", 0xD2: "i"}
    numbers |= {0xD3: "q", 0xCA: "f", 0xCB: "d"}
    lengths = {0xD9: "B", 0xDA: "H", 0xDB: "I", 0xDC: "H", 0xDD: "I", 0xDE: "H", 0xDF: "I"}
    if code := numbers.get(first) or lengths.get(first):
        (number,) = struct.unpack_from(f">{code}", data, at)
        at += struct.calcsize(code)
        if first in numbers:
            return number, at
    else:
        number = first & (0x1F if first >= 0xA0 else 0x0F)
    if 0xA0 <= first < 0xC0 or 0xD9 <= first <= 0xDB:
        return data[at : at + number].decode(), at + number
    is_map = 0x80 <= first < 0x90 or first >= 0xDE
    if not (is_map or 0x90 <= first < 0xA0 or 0xDC <= first <= 0xDD):
        raise ValueError(first)
    items = []
    for _ in range(number * (2 if is_map else 1)):
        item, at = _unpacked(data, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2], strict=True)) if is_map else items), at
