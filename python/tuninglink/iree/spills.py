"""Registers that generated code spills to memory, read from compiled programs for GPUs.

Code objects for AMD describe their kernels in an `NT_AMDGPU_METADATA` note, a MessagePack map ("User Guide for AMDGPU
Backend" of LLVM, "Code Object V5 Metadata"). PTX is compiled by the driver; NVIDIA's `ptxas` reports what that needs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Final

from tuninglink.errors import counted


@dataclass(frozen=True)
class Spills:
    """What the code of the most demanding kernel of a program keeps in memory for lack of registers.

    Attributes:
        registers: the number of spilled vector registers, of AMD GPUs.
        spilled_bytes: the bytes of spilled registers that a thread stores, of NVIDIA GPUs.
        scratch_bytes: the memory of a thread, with its spilled registers.
        scalar_registers: the number of scalar registers spilled to lanes of vector registers, of AMD GPUs.
    """

    registers: int = 0
    spilled_bytes: int = 0
    scratch_bytes: int = 0
    scalar_registers: int = 0

    @property
    def words(self) -> int:
        """The registers, or the words of memory, that a thread lacks."""
        return max(self.registers, self.scratch_bytes // 4)

    def __str__(self) -> str:
        parts = []
        if self.registers:
            parts.append(f"spills {counted(self.registers, 'register')}")
        if self.spilled_bytes:
            parts.append(f"spills {self.spilled_bytes:,} bytes of registers")
        if self.scratch_bytes:
            parts.append(f"takes {self.scratch_bytes:,} bytes of scratch memory for each thread")
        return f"its code {' and '.join(parts)}" if parts else ""


def find_spills(image: bytes) -> Spills:
    """Return the spills of a compiled program; none if it is not for a GPU, or if they are not known."""
    if (of_amd := find_amd_spills(image)) is not None:
        return of_amd
    reports = [_ptxas(match[0], match[1].decode()) for match in _PTX.finditer(image)]
    found = [numbers for report in reports for numbers in _PROPERTIES.findall(report)]
    spilled = max((int(stores) for _, stores in found), default=0)
    return Spills(0, spilled, max((int(frame) for frame, _ in found), default=0))


def find_amd_spills(image: bytes) -> Spills | None:
    """Return the spills of a compiled program for AMD GPUs; None for other programs."""
    registers = _metadata(image, b".vgpr_spill_count")
    if not registers:
        return None
    scratch = max(_metadata(image, b".private_segment_fixed_size"), default=0)
    scalars = max(_metadata(image, b".sgpr_spill_count"), default=0)
    return Spills(max(registers), scratch_bytes=scratch, scalar_registers=scalars)


def _metadata(image: bytes, key: bytes) -> list[int]:
    # A MessagePack map has each key, a string of less than 32 bytes behind its length, before its value.
    pattern = re.compile(re.escape(bytes([0xA0 | len(key)]) + key) + _NUMBER, re.DOTALL)
    numbers = (match[1] for match in pattern.finditer(image))
    return [int.from_bytes(number[len(number) > 1 :], "big") for number in numbers]


_NUMBER: Final = rb"([\x00-\x7f]|\xcc.|\xcd.{2}|\xce.{4})"
"""A MessagePack number that is not negative: itself, or a type before 1, 2 or 4 bytes."""

_PTX: Final = re.compile(rb"\.version \d[^\0]*?\.target (sm_\w+)[^\0]*")
_PROPERTIES: Final = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores")

_SECONDS: Final = 30
"""The time limit of `ptxas`."""


def _ptxas(source: bytes, architecture: str) -> str:
    """Return the report of NVIDIA's assembler; empty if it is not installed or does not take the code."""
    tool = shutil.which("ptxas")
    if tool is None:
        return ""
    arguments = [tool, "--verbose", f"--gpu-name={architecture}", "--output-file=/dev/null"]
    try:
        result = subprocess.run(  # noqa: S603 - the assembler on the user's PATH
            [*arguments, "/dev/stdin"],
            input=source,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stderr.decode(errors="replace")
