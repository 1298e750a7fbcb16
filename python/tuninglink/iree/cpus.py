"""CPUs: their vector instructions, their suitability for code for other CPUs, and the stack of the runtime's workers.

Source of the vector instructions: the native vector size and the features that `iree-compile` 3.13 writes into the
executable target for each name passed with `--iree-llvmcpu-target-cpu`. `test/compiler/test_like_targets.py` repeats
this query.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

_BASE: Final = frozenset(
    [
        "avx",
        "avx2",
        "fma",
        "avx512f",
        "avx512vl",
        "avx512bw",
        "avx512dq",
        "avx512cd",
        "neon",
        "sve",
        "sve2",
        "sme",
    ]
)
"""Features that code for any element type uses."""

_BY_TYPE: Final[Mapping[str, frozenset[str]]] = {
    "i8": frozenset({"avx512vnni", "avxvnni", "amx-int8", "dotprod", "i8mm"}),
    "bf16": frozenset({"avx512bf16", "amx-bf16", "bf16"}),
    "f16": frozenset({"avx512fp16", "amx-fp16", "fullfp16"}),
}
"""Features that only code for an element type uses; that for i8 if it accumulates in i32, as masks are i8, too."""

_INTEGER_ACCUMULATOR: Final = "i32"

FEATURES: Final = _BASE.union(*_BY_TYPE.values())
"""All features to compare."""


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
        """Return whether this CPU runs code for another CPU as fast as the other CPU does.

        Args:
            other: the CPU that the code was generated for.
            element_types: the element types that the code computes with.
        """
        types = set(element_types)
        if _INTEGER_ACCUMULATOR not in types:
            types.discard("i8")
        used = _BASE.union(*(_BY_TYPE.get(type_, frozenset()) for type_ in types))
        has_same_size = self.native_vector_size == other.native_vector_size
        return has_same_size and other.features & used <= self.features


def vectors_of(features: str, native_vector_size: int) -> CpuVectors:
    """Return the vector instructions that an executable target lists.

    Args:
        features: the compiler's list, such as `+avx,+avx2,-sse4a`.
        native_vector_size: the native vector size in bytes.
    """
    present = {word[1:] for word in features.split(",") if word.startswith("+")}
    return CpuVectors(native_vector_size, FEATURES & present)


@cache
def known_cpu_vectors() -> Mapping[str, CpuVectors]:
    """Return the vector instructions of CPUs, by name."""
    return MappingProxyType(
        {
            name: CpuVectors(size, frozenset(features.split()))
            for size, features, names in _CPUS
            for name in names.split()
        }
    )


_CPUS: Final[tuple[tuple[int, str, str], ...]] = (
    (32, "avx", "bdver1 btver2 core-avx-i corei7-avx ivybridge sandybridge"),
    (
        32,
        "avx avx2 fma",
        (
            "bdver4 broadwell c86-4g-m4 c86-4g-m6 core-avx2 haswell skylake x86-64-v3 znver1 "
            "znver2 znver3"
        ),
    ),
    (
        32,
        "avx avx2 fma avxvnni",
        (
            "alderlake arrowlake arrowlake-s clearwaterforest gracemont grandridge lunarlake "
            "meteorlake pantherlake raptorlake sierraforest wildcatlake"
        ),
    ),
    (32, "avx fma", "bdver2 bdver3"),
    (64, "avx avx2 fma avx512f avx512cd", "knl knm"),
    (
        64,
        "avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd",
        "cannonlake skx skylake-avx512 x86-64-v4",
    ),
    (
        64,
        "avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni",
        "cascadelake icelake-client icelake-server rocketlake tigerlake",
    ),
    (
        64,
        "avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni avx512bf16",
        "c86-4g-m7 c86-4g-m8 cooperlake znver4",
    ),
    (
        64,
        (
            "avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni avx512bf16 "
            "avx512fp16 avxvnni"
        ),
        "novalake znver6",
    ),
    (
        64,
        (
            "avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni avx512bf16 "
            "avx512fp16 avxvnni amx-int8 amx-bf16"
        ),
        "emeraldrapids sapphirerapids",
    ),
    (
        64,
        (
            "avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni avx512bf16 "
            "avx512fp16 avxvnni amx-int8 amx-bf16 amx-fp16"
        ),
        "diamondrapids graniterapids graniterapids-d",
    ),
    (
        64,
        ("avx avx2 fma avx512f avx512vl avx512bw avx512dq avx512cd avx512vnni avx512bf16 avxvnni"),
        "znver5",
    ),
    (
        16,
        "neon",
        (
            "apple-a10 apple-a7 apple-a8 apple-a9 cortex-a34 cortex-a35 cortex-a53 cortex-a57 "
            "cortex-a72 cortex-a73 cyclone exynos-m3 falkor kryo saphira thunderx thunderx2t99 "
            "thunderx3t110 thunderxt81 thunderxt83 thunderxt88"
        ),
    ),
    (16, "neon dotprod i8mm bf16", "oryon-1"),
    (16, "neon fullfp16", "apple-a11 apple-a12 apple-s4 apple-s5 carmel"),
    (
        16,
        "neon fullfp16 dotprod",
        (
            "apple-a13 apple-a14 apple-m1 apple-s6 apple-s7 apple-s8 cortex-a55 cortex-a65 "
            "cortex-a65ae cortex-a75 cortex-a76 cortex-a76ae cortex-a77 cortex-a78 cortex-a78ae "
            "cortex-a78c cortex-r82 cortex-r82ae cortex-x1 cortex-x1c exynos-m4 exynos-m5 "
            "neoverse-e1 neoverse-n1 tsv110"
        ),
    ),
    (
        16,
        "neon fullfp16 dotprod bf16 sve sve2 sme",
        "c1-nano c1-premium c1-pro c1-ultra c2-pro c2-ultra",
    ),
    (
        16,
        "neon fullfp16 dotprod i8mm bf16",
        (
            "ampere1 ampere1a ampere1b apple-a15 apple-a16 apple-a17 apple-m2 apple-m3 apple-s10 "
            "apple-s9"
        ),
    ),
    (16, "neon fullfp16 dotprod i8mm bf16 sme", "apple-a18 apple-a19 apple-m4 apple-m5"),
    (16, "neon fullfp16 dotprod i8mm bf16 sve", "neoverse-512tvb neoverse-v1"),
    (
        16,
        "neon fullfp16 dotprod i8mm bf16 sve sve2",
        (
            "armagicpu cobalt-100 cortex-a510 cortex-a520 cortex-a520ae cortex-a710 cortex-a715 "
            "cortex-a720 cortex-a720ae cortex-a725 cortex-x2 cortex-x3 cortex-x4 cortex-x925 gb10 "
            "grace hip12 neoverse-n2 neoverse-n3 neoverse-v2 neoverse-v3 neoverse-v3ae"
        ),
    ),
    (16, "neon fullfp16 dotprod sve sve2", "cortex-a320"),
    (16, "neon fullfp16 sve", "a64fx"),
    (16, "neon fullfp16 sve sve2", "ampere1c fujitsu-monaka olympus rigel"),
)
"""Native vector sizes, features and names of CPUs. CPUs with neither AVX nor NEON are left out."""


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
    """Return the descriptor of an in-memory file whose content LLVM replaces for each executable."""
    return os.memfd_create("stack-frames")
