"""Processors: vector instructions and worker stacks of CPUs, registers that code for GPUs spills, and peak rates.

Source of the vector instructions: the native vector size and the features that `iree-compile` 3.13 writes into the
executable target for each name passed with `--iree-llvmcpu-target-cpu`. `test/compiler/test_like_targets.py` repeats
this query.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Final

from tuninglink.errors import counted
from tuninglink.plain_data import named

_BASE: Final = frozenset({"avx", "avx2", "fma", "neon", "sve", "sve2", "sme"}).union(
    f"avx512{part}" for part in ("f", "vl", "bw", "dq", "cd")
)
"""Features that code for any element type uses."""

_BY_TYPE: Final[Mapping[str, frozenset[str]]] = {
    "i8": frozenset({"avx512vnni", "avxvnni", "amx-int8", "dotprod", "i8mm"}),
    "bf16": frozenset({"avx512bf16", "amx-bf16", "bf16"}),
    "f16": frozenset({"avx512fp16", "amx-fp16", "fullfp16"}),
}
"""Features that only code for an element type uses; that for i8 if it accumulates in i32, as masks are i8, too."""

FEATURES: Final = _BASE.union(*_BY_TYPE.values())
"""All features to compare."""

COMPUTE_UNITS: Final = "compute_units"
"""The name of the number of compute units of a GPU among the limits of a problem."""

TYPICAL: Final = 132
"""The number of compute units that is assumed of unknown GPUs."""


@dataclass(frozen=True)
class CpuVectors:
    """The vector instructions of a CPU.

    Attributes:
        native_vector_size: the size of its vectors in bytes, as in the compiler.
        features: the features in `FEATURES` that it supports.
    """

    native_vector_size: int
    features: frozenset[str]

    def runs_code_for(self, other: CpuVectors, element_types: Iterable[str]) -> bool:
        """Return whether this CPU runs code that computes with these types for another CPU as fast as that one."""
        types = set(element_types)
        if "i32" not in types:
            types.discard("i8")
        used = _BASE.union(*(_BY_TYPE.get(type_, frozenset()) for type_ in types))
        has_same_size = self.native_vector_size == other.native_vector_size
        return has_same_size and other.features & used <= self.features


_CPUS: Final = """
    32 avx:
        bdver1 btver2 core-avx-i corei7-avx ivybridge sandybridge
    32 avx avx2 fma:
        bdver4 broadwell c86-4g-m4 c86-4g-m6 core-avx2 haswell skylake x86-64-v3 znver1
        znver2 znver3
    32 avx avx2 fma avxvnni:
        alderlake arrowlake arrowlake-s clearwaterforest gracemont grandridge lunarlake
        meteorlake pantherlake raptorlake sierraforest wildcatlake
    32 avx fma:
        bdver2 bdver3
    64 avx avx2 fma avx512f avx512cd:
        knl knm
    64 avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd:
        cannonlake skx skylake-avx512 x86-64-v4
    64 avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni:
        cascadelake icelake-client icelake-server rocketlake tigerlake
    64 avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni avx512bf16:
        c86-4g-m7 c86-4g-m8 cooperlake znver4
    64 avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni avx512bf16 avx512fp16 avxvnni:
        novalake znver6
    64 avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni avx512bf16 avx512fp16 avxvnni amx-int8 amx-bf16:
        emeraldrapids sapphirerapids
    64 avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni avx512bf16 avx512fp16 avxvnni amx-int8 amx-bf16 amx-fp16:
        diamondrapids graniterapids graniterapids-d
    64 avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni avx512bf16 avxvnni:
        znver5
    16 neon:
        apple-a10 apple-a7 apple-a8 apple-a9 cortex-a34 cortex-a35 cortex-a53 cortex-a57
        cortex-a72 cortex-a73 cyclone exynos-m3 falkor kryo saphira thunderx thunderx2t99
        thunderx3t110 thunderxt81 thunderxt83 thunderxt88
    16 neon dotprod i8mm bf16:
        oryon-1
    16 neon fullfp16:
        apple-a11 apple-a12 apple-s4 apple-s5 carmel
    16 neon fullfp16 dotprod:
        apple-a13 apple-a14 apple-m1 apple-s6 apple-s7 apple-s8 cortex-a55 cortex-a65
        cortex-a65ae cortex-a75 cortex-a76 cortex-a76ae cortex-a77 cortex-a78 cortex-a78ae
        cortex-a78c cortex-r82 cortex-r82ae cortex-x1 cortex-x1c exynos-m4 exynos-m5
        neoverse-e1 neoverse-n1 tsv110
    16 neon fullfp16 dotprod bf16 sve sve2 sme:
        c1-nano c1-premium c1-pro c1-ultra c2-pro c2-ultra
    16 neon fullfp16 dotprod i8mm bf16:
        ampere1 ampere1a ampere1b apple-a15 apple-a16 apple-a17 apple-m2 apple-m3 apple-s10
        apple-s9
    16 neon fullfp16 dotprod i8mm bf16 sme:
        apple-a18 apple-a19 apple-m4 apple-m5
    16 neon fullfp16 dotprod i8mm bf16 sve:
        neoverse-512tvb neoverse-v1
    16 neon fullfp16 dotprod i8mm bf16 sve sve2:
        armagicpu cobalt-100 cortex-a510 cortex-a520 cortex-a520ae cortex-a710 cortex-a715
        cortex-a720 cortex-a720ae cortex-a725 cortex-x2 cortex-x3 cortex-x4 cortex-x925 gb10
        grace hip12 neoverse-n2 neoverse-n3 neoverse-v2 neoverse-v3 neoverse-v3ae
    16 neon fullfp16 dotprod sve sve2:
        cortex-a320
    16 neon fullfp16 sve:
        a64fx
    16 neon fullfp16 sve sve2:
        ampere1c fujitsu-monaka olympus rigel
"""
"""Native vector sizes in bytes and features, with the names of CPUs. CPUs with neither AVX nor NEON are left out."""

CPU_VECTORS: Final[Mapping[str, CpuVectors]] = MappingProxyType(
    {
        name: CpuVectors(int(size), frozenset(features.split()))
        for size, features, names in re.findall(r"(\d+) (.+):((?:\n {8}.+)+)", _CPUS)
        for name in names.split()
    }
)
"""The vector instructions of CPUs, by name."""


WORKER_STACK_BYTES: Final = 128 << 10
"""The stack size of a worker of `local-task`: the default of IREE's flag `--task_worker_stack_size`."""

LARGEST_FRAME_BYTES: Final = WORKER_STACK_BYTES - (8 << 10)
"""The largest frame that fits: code with a frame of 217 KiB runs with 224 KiB and crashes with 220. The task system uses
the rest."""


def stack_report_flag() -> str:
    """Return the process-wide flag that makes LLVM report stack frames."""
    return f"--stack-usage-file=/proc/self/fd/{_report()}"


def stack_overflow() -> str:
    """Return the reason why the last compiled code overflows the stack of a worker, or an empty string.

    The report covers the last compiled executable. In a program with several executables, the last one is not known.
    """
    frame = largest_frame()
    if frame <= LARGEST_FRAME_BYTES:
        return ""
    available = WORKER_STACK_BYTES >> 10
    return f"its code takes {frame >> 10} KiB of stack, and IREE's workers have {available} KiB"


def largest_frame() -> int:
    """Return the size in bytes of the largest stack frame of the last compiled code, or 0 without a report."""
    descriptor = _report()
    text = os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")
    os.ftruncate(descriptor, 0)
    # place:function, bytes and kind, with a tab between them
    sizes = (line.split("\t")[1:2] for line in text.splitlines())
    return max((int(size[0]) for size in sizes if size and size[0].isdecimal()), default=0)


@cache
def _report() -> int:
    return os.memfd_create("stack-frames")


# --- Registers that generated code spills to memory, read from compiled programs for GPUs ---------
#
# Code objects for AMD describe their kernels in an `NT_AMDGPU_METADATA` note, a MessagePack map ("User Guide for AMDGPU
# Backend" of LLVM, "Code Object V5 Metadata"). PTX is compiled by the driver; NVIDIA's `ptxas` reports what that needs.

_NUMBER: Final = rb"([\x00-\x7f]|\xcc.|\xcd.{2}|\xce.{4})"
"""A MessagePack number that is not negative: itself, or a type before 1, 2 or 4 bytes."""

_PTX: Final = re.compile(rb"\.version \d[^\0]*?\.target (sm_\w+)[^\0]*")
_PROPERTIES: Final = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores")

_PTXAS_SECONDS: Final = 30
"""The time limit of `ptxas`."""


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
    tool = shutil.which("ptxas")
    if tool is None:
        return Spills()
    frames, stores = [0], [0]
    for match in _PTX.finditer(image):
        arguments = [tool, "--verbose", f"--gpu-name={match[1].decode()}"]
        try:
            result = subprocess.run(  # noqa: S603 - the assembler on the user's PATH
                [*arguments, "--output-file=/dev/null", "/dev/stdin"],
                input=match[0],
                capture_output=True,
                check=False,
                timeout=_PTXAS_SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        # The report is empty if the assembler does not take the code.
        for frame, stored in _PROPERTIES.findall(result.stderr.decode(errors="replace")):
            frames.append(int(frame))
            stores.append(int(stored))
    return Spills(0, max(stores), max(frames))


def find_amd_spills(image: bytes) -> Spills | None:
    """Return the spills of a compiled program for AMD GPUs; None for other programs."""
    largest: list[int | None] = []
    for key in (b".vgpr_spill_count", b".private_segment_fixed_size", b".sgpr_spill_count"):
        # A MessagePack map has each key, a string of less than 32 bytes behind its length, before its value.
        pattern = re.compile(re.escape(bytes([0xA0 | len(key)]) + key) + _NUMBER, re.DOTALL)
        numbers = (match[1] for match in pattern.finditer(image))
        values = (int.from_bytes(number[len(number) > 1 :], "big") for number in numbers)
        largest.append(max(values, default=None))
    registers, scratch, scalars = largest
    if registers is None:
        return None
    return Spills(registers, scratch_bytes=scratch or 0, scalar_registers=scalars or 0)


# --- Peak rates of devices, and comparisons of the rates of dispatches with them -----------------

_CLASSES: Final = {
    "bf16": "fp16",
    "f16": "fp16",
    "f32": "fp32",
    "f64": "fp64",
    "i8": "int8",
    "i32": "fp32",  # at most as fast
}
_NARROW_FLOAT: Final = re.compile(r"f([468])E\d")
"""Element types such as `f8E4M3FNUZ`."""


@dataclass(frozen=True)
class PeakRates:
    """The highest rates that a device can reach, without sparsity.

    Attributes:
        tflops: 10^12 operations per second, by class of element types: `fp64`, `fp32`, `fp16`, `fp8`, `int8`; `bf16`
            where its rate differs from that of `fp16`.
        tbps: 10^12 bytes per second to and from memory.
        is_measured: whether the rates were measured rather than published by a vendor.
    """

    device: str
    source: str
    tflops: Mapping[str, float]
    tbps: float
    is_measured: bool = field(default=False, metadata=named("measured"))

    def __str__(self) -> str:
        rates = [(rate, f"FLOP/s {name}") for name, rate in self.tflops.items()]
        words = [
            f"{rate:.3g} T{unit}" if rate >= 1 else f"{1e3 * rate:.3g} G{unit}"
            for rate, unit in (*rates, (self.tbps, "B/s"))
        ]
        return f"{', '.join(words)} ({self.source})"


def rate_class(element_type: str) -> str:
    """Return the class of an element type among peak rates; empty if it belongs to no class."""
    narrow = _NARROW_FLOAT.match(element_type)
    return f"fp{narrow[1]}" if narrow else _CLASSES.get(element_type, "")


@dataclass(frozen=True)
class Rates:
    """The rates of a dispatch.

    Attributes:
        gflops: 10^9 operations per second; None if the number of operations is unknown.
        gbps: 10^9 bytes per second; None if the number of bytes is unknown.
        roofline: the minimum time at the peak rates of the device, as a fraction of the measured time; above 1 if
            operands stay in a cache. None without peak rates.
    """

    gflops: float | None
    gbps: float | None
    roofline: float | None


_A100: Final = {"fp64": 19.5, "fp32": 19.5, "fp16": 312.0, "int8": 624.0}
_H100: Final = {"fp64": 67.0, "fp32": 67.0, "fp16": 989.4, "fp8": 1978.9, "int8": 1978.9}
_H100_PCIE: Final = {"fp64": 51.0, "fp32": 51.0, "fp16": 756.0, "fp8": 1513.0, "int8": 1513.0}
_NVL: Final = {"fp64": 60.0, "fp32": 60.0, "fp16": 835.5, "fp8": 1670.5, "int8": 1670.5}
_MI300A: Final = {"fp64": 122.6, "fp32": 122.6, "fp16": 980.6, "fp8": 1961.2, "int8": 1961.2}
_MI300X: Final = {"fp64": 163.4, "fp32": 163.4, "fp16": 1307.4, "fp8": 2614.9, "int8": 2614.9}

_DATA_SHEETS: Final[Mapping[str, tuple[Mapping[str, float], float]]] = {
    # NVIDIA
    "h200": (_H100, 4.8),
    "h200 nvl": (_NVL, 4.8),
    "h100 hbm3": (_H100, 3.35),
    "h100 nvl": (_NVL, 3.9),
    "h100 pcie": (_H100_PCIE, 2.0),
    "a100 40gb": (_A100, 1.555),
    "a100 sxm4 80gb": (_A100, 2.039),
    "a100 80gb pcie": (_A100, 1.935),
    "a30": ({"fp64": 10.3, "fp32": 10.3, "fp16": 165.0, "int8": 330.0}, 0.933),
    "a10": ({"fp32": 31.2, "fp16": 125.0, "int8": 250.0}, 0.6),
    "l40": ({"fp32": 90.5, "fp16": 181.0, "fp8": 362.0, "int8": 362.0}, 0.864),
    "l40s": ({"fp32": 91.6, "fp16": 362.0, "fp8": 733.0, "int8": 733.0}, 0.864),
    "l4": ({"fp32": 30.3, "fp16": 121.0, "fp8": 242.5, "int8": 242.5}, 0.3),
    "t4": ({"fp32": 8.1, "fp16": 65.0, "int8": 130.0}, 0.32),
    # AMD
    "mi300x": (_MI300X, 5.3),
    "mi325x": (_MI300X, 6.0),
    "mi300a": (_MI300A, 5.3),
}
"""Rates of dense products and of the memory, from the vendors' data sheets, by words of the name that a runtime reports."""


def peaks_of_device(name: str) -> PeakRates | None:
    """Return the peak rates of a device, given its name as reported by a runtime; None if unknown."""
    words = set(re.split(r"[\s\-_]+", name.lower()))
    fitting = [product for product in _DATA_SHEETS if words.issuperset(product.split())]
    if not fitting:
        return None
    product = max(fitting, key=lambda product: len(product.split()))
    return PeakRates(name, "the vendor's data sheet", *_DATA_SHEETS[product])


_TWO_DEVICES: Final = frozenset({"mi250", "mi250x"})
"""Products that the compiler describes as a whole, and whose halves are separate devices of a runtime."""


def peaks_of_chip(sku: str, tflops: Mapping[str, float], tbps: float) -> PeakRates | None:
    """Return the peak rates in the compiler's description of a GPU; None if they do not describe a specific device."""
    if not tflops or sku in _TWO_DEVICES:
        return None
    return PeakRates(sku, "the compiler's description of the target", tflops, tbps)
