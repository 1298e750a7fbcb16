"""The objects of kernels: what the text of PTX declares, and what the metadata of a code object for AMD GPUs declare."""

# ruff: noqa: PLR2004 - the first bytes of MessagePack

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Final

from tuninglink.mlir import postorder

PTX, HSACO = "PTX", "HSACO"

_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_FUNCTION: Final = re.compile(r"\.(?:entry|func)\s[^{;]*([{;])")
_HEADER: Final = re.compile(r"\.entry\s+([\w$%]+)\s*(?:\(([^)]*)\))?([^{;]*)")
_NAMED: Final = re.compile(r"\.func\s*(?:\([^)]*\)\s*)?([\w$%]+)")
_VERSION: Final = re.compile(r"^\s*\.version\s+(\d+)\.(\d+)", re.MULTILINE)
_TARGET: Final = re.compile(r"^\s*\.target\s+(\w+)", re.MULTILINE)
_BLOCK: Final = re.compile(r"\.(reqntid|maxntid)\s+([\d\s,]+)")
_SHARED: Final = re.compile(
    r"\.shared\s+(?:\.align\s+\d+\s+)?\.[bsuf](\d+)\s+([\w$%]+)((?:\s*\[\s*\d*\s*\])*)"
)
_PARAMETER: Final = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.\w*?(\d+)\b.*?\s([\w$%]+)\s*(\[\d+\])?\s*$"
)
_WORD: Final = re.compile(r"[\w$%]+")
_BRACE: Final = re.compile("[{}]")
SM_NAME: Final = re.compile(r"sm_(\d+)([af]?)")
"""The name of a GPU of NVIDIA: its number, and a letter for features of its own."""

_OLDEST: Final[Mapping[int, int]] = {
    **dict.fromkeys((86,), 71),
    **dict.fromkeys((87,), 74),
    **dict.fromkeys((89, 90), 78),
    **dict.fromkeys((100, 101), 86),
    **dict.fromkeys((103, 121), 88),
    110: 90,
    120: 87,
}
_OLDEST_OF_ALL: Final = 70
_OLDEST_OF_FAMILIES: Final = 88
_OLDEST_OF_HOPPER: Final = 80


def oldest_ptx(architecture: str) -> int | None:
    """Return the oldest version of PTX for an architecture from sm_80 on, 86 for 8.6; None for another one.

    Assemblers refuse an older `.version` with its `.target`: those of CUDA 12.9 and 13 were asked.
    """
    match = SM_NAME.fullmatch(architecture)
    if match is None or int(match[1]) < 80:
        return None
    if architecture == "sm_90a":
        return _OLDEST_OF_HOPPER
    oldest = _OLDEST.get(int(match[1]), _OLDEST_OF_ALL)
    return max(oldest, _OLDEST_OF_FAMILIES) if match[2] == "f" else oldest


@dataclass(frozen=True)
class KernelDeclaration:
    """The declaration of a kernel in an object.

    Attributes:
        parameters: the widths of the parameters in bits, 0 for an array: 64 for a pointer.
        shared: the bytes of shared memory of a block that the kernel has whatever its launch says.
        block: the numbers of threads that a block must have; empty if any.
        most_threads: the number of threads that a block may have; 0 if any.
    """

    name: str
    parameters: tuple[int, ...]
    shared: int = 0
    block: tuple[int, ...] = ()
    most_threads: int = 0


@dataclass(frozen=True)
class KernelObject:
    """What an object declares.

    Attributes:
        kind: PTX or HSACO.
        architecture: what it is for, such as `sm_90a`; empty if it does not say so.
        version: the version of PTX, 86 for 8.6; 0 for none.
    """

    kind: str
    architecture: str
    entries: tuple[KernelDeclaration, ...]
    version: int = 0

    @classmethod
    def read(cls, content: bytes) -> KernelObject | None:
        """Read PTX or a code object for AMD GPUs; return None for another object."""
        if b".version" in content[:4096] and b"\0" not in content.rstrip(b"\0"):
            return _read_ptx(content)
        try:
            return next(map(_read_metadata, metadata_notes(content)), None)
        except (struct.error, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            return None  # it is damaged


def _read_ptx(content: bytes) -> KernelObject:
    text = _COMMENT.sub("", content.rstrip(b"\0").decode(errors="replace"))
    # Split the text into the bodies of functions and the rest, whose variables all of them may use.
    functions: list[tuple[str, str]] = []
    rest, at = list[str](), 0
    while match := _FUNCTION.search(text, at):
        rest.append(text[at : match.start()])
        end = match.end()
        if match[1] == "{":
            depth = 1
            for brace in _BRACE.finditer(text, end):
                depth += 1 if brace[0] == "{" else -1
                end = brace.end()
                if not depth:
                    break
        functions.append((match[0][:-1], text[match.end() : end]))
        at = end
    rest.append(text[at:])
    variables = dict(_variables("".join(rest)))
    # A kernel has the memory that it and the functions that it calls name.
    bodies = {name: body for header, body in functions for name in _NAMED.findall(header)}
    entries = []
    for header, body in functions:
        match = _HEADER.match(header)
        if match is None:
            continue
        called = [*postorder([body], lambda own: [bodies[w] for w in _words(own) if w in bodies])]
        named = {word for own in called for word in _words(own)}
        shared = sum(size for own in called for _, size in _variables(own))
        shared += sum(size for name, size in variables.items() if name in named)
        block: tuple[int, ...] = ()
        most = 0
        for directive, numbers in _BLOCK.findall(match[3]):
            sizes = tuple(int(number) for number in numbers.split(","))
            if directive == "reqntid":
                block = (*sizes, 1, 1)[:3]
            else:
                most = prod(sizes)
        widths = []
        for parameter in filter(None, map(str.strip, (match[2] or "").split(","))):
            declared = _PARAMETER.fullmatch(parameter)
            widths.append(int(declared[1]) if declared and not declared[3] else 0)
        entries.append(KernelDeclaration(match[1], tuple(widths), shared, block, most))
    target, version = _TARGET.search(text), _VERSION.search(text)
    return KernelObject(
        PTX,
        target[1] if target else "",
        tuple(entries),
        int(version[1]) * 10 + int(version[2]) if version else 0,
    )


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))


def _variables(text: str) -> list[tuple[str, int]]:
    """Return the variables in shared memory that a text declares, with their bytes: 0 for one whose size the launch gives."""
    return [
        (name, int(width) // 8 * prod(int(size or 0) for size in re.findall(r"\[\s*(\d*)", sizes)))
        for width, name, sizes in _SHARED.findall(text)
    ]


def _read_metadata(metadata: Any) -> KernelObject:
    entries = []
    for kernel in metadata["amdhsa.kernels"]:
        arguments = kernel.get(".args", [])
        block = tuple(kernel.get(".reqd_workgroup_size", ()))
        own = [at for at in arguments if not at[".value_kind"].startswith("hidden")]
        entries.append(
            KernelDeclaration(
                kernel[".name"],
                tuple(8 * at[".size"] for at in own),
                kernel[".group_segment_fixed_size"],
                block,
                0 if block else kernel[".max_flat_workgroup_size"],
            )
        )
    architecture = metadata["amdhsa.target"].split("-", 4)[-1].partition(":")[0]
    return KernelObject(HSACO, architecture, tuple(entries))


# --- The metadata of code objects for AMD GPUs: ELF files with a note in MessagePack, as in LLVM's user guide for AMDGPU

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
