"""Targets of compilation, their attributes, and the names under which their default specs are looked up.

The bindings have no classes for `#hal.executable.target` and `#iree_gpu.target`: they describe only the GPU of an
executable target, and abort on a target without one. So the parameters of both attributes are read as in
`mlir.attributes`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from iree.compiler import _mlir_libs, ir as mlir
from iree.compiler.dialects import iree_gpu
from iree.compiler.version import VERSION

from tuninglink.arguments import described
from tuninglink.errors import TargetError, nearest
from tuninglink.iree.processors import (
    CPU_VECTORS,
    FEATURES,
    CpuVectors,
    PeakRates,
    peaks_of_chip,
)
from tuninglink.mlir import (
    Anchor,
    entries_of,
    error,
    integer_value,
    parameters,
    parse_attribute,
    thread_context,
)

_GPU_TARGET = "iree_codegen.target_info"


@dataclass(frozen=True)
class GpuTarget:
    """The description of a GPU in an executable target."""

    architecture: str
    compute_units: int
    sku: str | None
    intrinsics: tuple[str, ...]
    peaks: PeakRates | None


@dataclass(frozen=True)
class ExecutableTarget:
    """A `#hal.executable.target`."""

    backend: str
    configuration: Mapping[str, mlir.Attribute]
    gpu: GpuTarget | None


def read_executable_target(attribute: mlir.Attribute) -> ExecutableTarget | None:
    """Read a `#hal.executable.target`. Return None for another attribute."""
    text = str(attribute)
    return _read_target(text) if text.startswith("#hal.executable.target<") else None


@lru_cache(maxsize=4)  # Many dispatches have one target.
def _read_target(text: str) -> ExecutableTarget | None:
    """Read a target from its text, since an attribute does not keep the context of a session alive."""
    attribute = mlir.Attribute.parse(text, thread_context())
    fields = parameters(attribute)
    if fields is None or not isinstance(fields[0], mlir.StringAttr):
        return None
    configuration = entries_of(fields[len(fields) - 1])
    gpu = None
    description = configuration.get(_GPU_TARGET)
    smallest = mlir.Attribute.parse(_SMALLEST_GPU_TARGET, thread_context())
    if description is not None and description.typeid == smallest.typeid:
        info = iree_gpu.TargetInfo.get_gpu_target_info(attribute)
        _, separator, text = str(description).rpartition(" chip = <")
        text = f"{{{text.removesuffix('>>')}}}"
        chip = entries_of(parse_attribute(text, thread_context()) if separator else None)
        sku, bandwidth = string(chip, "sku"), chip.get("memory_bandwidth_tbps")
        tflops = {
            name: round(rate.value, _DECIMALS)
            for name, rate in entries_of(chip.get("perf_tflops")).items()
            if isinstance(rate, mlir.FloatAttr)
        }
        peaks = None
        if isinstance(bandwidth, mlir.FloatAttr):
            peaks = peaks_of_chip(sku, tflops, round(bandwidth.value, _DECIMALS))
        intrinsics = tuple(intrinsic.name for intrinsic in info.mma_intrinsics)
        gpu = GpuTarget(info.arch, info.workgroup_count, sku or None, intrinsics, peaks)
    return ExecutableTarget(fields[0].value, configuration, gpu)


_SMALLEST_GPU_TARGET: Final = (
    '#iree_gpu.target<arch = "", features = "", wgp = <compute = int32, storage = b32, '
    "subgroup = none, subgroup_size_choices = [], max_workgroup_sizes = [], "
    "max_thread_count_per_workgroup = 0, max_workgroup_memory_bytes = 0, max_workgroup_counts = []>>"
)


def string(attributes: Mapping[str, mlir.Attribute], name: str) -> str:
    """Return the string attribute `name`, or an empty string if it is missing or of another type."""
    attribute = attributes.get(name)
    return attribute.value if isinstance(attribute, mlir.StringAttr) else ""


_DECIMALS: Final = 3
"""The compiler's figures are single-precision numbers."""


_BACKENDS: Final = {"vulkan-spirv": "vulkan", "metal-spirv": "metal"}
"""Short names of backends. The others have the compiler's name."""

SPIRV_BACKENDS: Final = frozenset(_BACKENDS)
"""The compiler's names of the backends that generate SPIR-V."""


@dataclass(frozen=True)
class Target:
    """The target of a dispatch.

    Attributes:
        backend: `rocm`, `cuda`, `vulkan`, `metal`, `llvm-cpu`, `vmvx`, or the compiler's name of another backend.
        family: the generation of a GPU (`cdna3`, `ampere`) or the instruction set of a CPU (`x86_64`); the backend if
            neither is known.
        architecture: the processor to generate code for: `gfx942`, `sm_80`, `znver4`; None if only the family is
            known.
        sku: the product, such as `mi300x`; None if the target names only an architecture.
        intrinsics: the names of the matrix intrinsics, if the target was read from an attribute that lists them.
        cpu_vectors: the vector instructions of a CPU, if the target was read from an attribute that lists them.
        peaks: the peak rates, if the target was read from an attribute that has them. Comparisons of targets ignore
            `intrinsics`, `cpu_vectors` and `peaks`.
    """

    backend: str
    family: str
    architecture: str | None = None
    sku: str | None = None
    intrinsics: tuple[str, ...] = field(default=(), compare=False, repr=False)
    cpu_vectors: CpuVectors | None = field(default=None, compare=False, repr=False)
    peaks: PeakRates | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names for looking up a default spec: SKU, architecture, family.

        With Vulkan, a GPU that another backend also supports has separate names (`vulkan-gfx942`), since a
        configuration for one backend is not valid for the other.
        """
        prefix = "vulkan-" if self.backend == "vulkan" else ""
        parts = filter(None, (self.sku, self.architecture, self.family))
        return tuple(
            dict.fromkeys(part if part == "vulkan" else f"{prefix}{part}" for part in parts)
        )

    @property
    def cpu_features(self) -> str:
        """The features to compile with that the compiler does not derive from the CPU.

        A RISC-V CPU without a name has none in the compiler, whose code then calls functions for multiplications and
        floats, which no embedded ELF file has. RV64GC is what distributions of Linux require.
        """
        is_generic = self.architecture in (None, "generic-rv64")
        return "+m,+a,+f,+d,+c" if self.family == "riscv64" and is_generic else ""

    @property
    def has_scalable_vectors(self) -> bool | None:
        """Whether a CPU has vectors of a size that is known only at run time; None if features decide it.

        With SME alone, the compiler has no code for them.
        """
        if self.family == "x86_64":
            return False
        vectors = self.cpu_vectors or CPU_VECTORS.get(self.architecture or "")
        return None if vectors is None else not vectors.features.isdisjoint({"sve", "sve2"})

    @property
    def name(self) -> str:
        """The most specific name."""
        return self.names[0]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def parse(cls, name: str) -> Target:
        """Return the target with a name, in upper or lower case.

        Raises:
            TargetError: no target has this name.
            TypeError: the name is not text.
        """
        if not isinstance(name, str):
            raise TypeError(f"a target is a Target or its name; found {described(name)}")
        lower = name.strip().lower()
        target = known_target_names().get(lower)
        if target is not None:
            return target
        # A newer compiler knows more CPUs.
        for family, names in listed_cpus().items():
            if lower in names:
                return cls("llvm-cpu", family, lower)
        # Exchanged digits are likelier than others.
        exchanged = (known for known in known_target_names() if sorted(known) == sorted(lower))
        suggestion = next(exchanged, nearest(lower, known_target_names()))
        hint = f"did you mean '{suggestion}'? " if suggestion else ""
        remedy = "'tuninglink targets --all' lists the known ones"
        raise TargetError(error(f"unknown target '{name}'; {hint}{remedy}"))

    @classmethod
    def from_attribute(cls, attribute: mlir.Attribute, at: Anchor = None) -> Target:
        """Read the target from a `#hal.executable.target`, whose owner is named in diagnostics.

        Raises:
            TargetError: `attribute` is not a `#hal.executable.target`.
        """
        executable = read_executable_target(attribute)
        if executable is None:
            raise TargetError(error("expected a #hal.executable.target", at))
        backend = _BACKENDS.get(executable.backend, executable.backend)
        configuration = executable.configuration
        if gpu := executable.gpu:
            known = known_target_names().get(gpu.architecture)
            family = known.family if known else backend
            architecture = None if gpu.architecture in ("", family) else gpu.architecture
            sku = gpu.sku or _CUDA_SKUS.get((gpu.architecture, gpu.compute_units))
            if not gpu.architecture:
                sku = None
            return cls(backend, family, architecture, sku, gpu.intrinsics, peaks=gpu.peaks)
        if backend == "llvm-cpu":
            cpu = string(configuration, "cpu")
            family = string(configuration, "target_triple").partition("-")[0] or backend
            vectors = None
            if (size := configuration.get("native_vector_size")) is not None:
                words = string(configuration, "cpu_features").split(",")
                present = {word[1:] for word in words if word.startswith("+")}
                vectors = CpuVectors(integer_value(size), FEATURES & present)
            architecture = None if cpu in ("", "generic") else cpu
            return cls(backend, family, architecture, cpu_vectors=vectors)
        return cls(backend, family=backend)


SECONDS: Final = 120
"""The time limit of the compiler's own tool."""


def iree_compile() -> Path:
    """Return the path of the `iree-compile` that belongs to the loaded compiler."""
    return Path(_mlir_libs.__path__[0]) / "iree-compile"


@cache
def listed_cpus() -> Mapping[str, frozenset[str]]:
    """Return the names of the CPUs that the compiler lists, by instruction set."""
    listed: dict[str, frozenset[str]] = {}
    for family in (family for family, names in CPUS.items() if names):
        # The compiler lists them in its answer to a program for an unknown one.
        triple = f"--iree-llvmcpu-target-triple={family}-unknown-linux-gnu"
        flags = (triple, "--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=unknown")
        with suppress(OSError, subprocess.TimeoutExpired):
            result = subprocess.run(  # noqa: S603 - it is the compiler's own tool
                [iree_compile(), "-", "-o", os.devnull, *flags],
                input="module {}",
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS,
            )
            names = re.search(r"List of accepted CPUs: (.+)", result.stderr)
            listed[family] = frozenset(names[1].split(", ") if names else ()) - {"generic"}
    return MappingProxyType(listed)


@cache
def known_target_names() -> Mapping[str, Target]:
    """Return every name that `Target.parse` accepts, with its target."""
    gpus: dict[str, Target] = {}
    tables: dict[str, Mapping[str, Mapping[str, Iterable[str]]]]
    tables = {"rocm": ROCM, "cuda": CUDA, "vulkan": VULKAN}
    for backend, families in tables.items():
        for family, architectures in families.items():
            for architecture, skus in architectures.items():
                own_name = None if architecture == family else architecture
                target = Target(backend, family, own_name)
                gpus[architecture] = target
                gpus.update({sku: replace(target, sku=sku) for sku in skus})
            gpus[family] = Target(backend, family, CODE_NAMES.get(family))
    for sku, architecture in CUDA_PRODUCTS.items():
        gpus[sku] = replace(gpus[architecture], sku=sku)
    cpus = {
        name: Target("llvm-cpu", instruction_set, None if name == instruction_set else name)
        for instruction_set, processors in CPUS.items()
        for name in (instruction_set, *processors.split())
    }
    return MappingProxyType(
        {
            **gpus,
            **{f"vulkan-{name}": replace(gpu, backend="vulkan") for name, gpu in gpus.items()},
            "apple": Target("metal", "metal", "apple"),
            **cpus,
            **{backend: Target(backend, backend) for backend in BACKENDS},
        }
    )


def named_target(name: str) -> Target | None:
    """Return the target of a name that a user gave; None for this processor, or if flags name it."""
    return known_target_names().get(name.strip().lower())


# --- Tables of SKUs, architectures and families --------------------------------------------------

ROCM: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "cdna1": {"gfx908": ("mi100",)},
    "cdna2": {"gfx90a": ("mi210", "mi250", "mi250x")},
    "cdna3": {"gfx942": ("mi300a", "mi300x", "mi308x", "mi325x")},
    "cdna4": {"gfx950": ("mi350x", "mi355x")},
    "cdna5": {"gfx1250": ("mi455x",)},
    "rdna1": {},
    "rdna2": {},
    "rdna3": {
        "gfx1100": ("rx7900xt", "rx7900xtx", "w7800", "w7900"),
        "gfx1101": ("rx7700xt", "rx7800xt", "v710", "w7700"),
        "gfx1103": ("phoenix",),
        "gfx1150": ("strix-point",),
        "gfx1151": ("strix-halo",),
    },
    "rdna4": {
        "gfx1200": ("rx9060xt",),
        "gfx1201": ("r9700", "rx9070", "rx9070xt"),
    },
}
"""AMD's GPUs: family, architecture, SKUs."""

CUDA: Final[dict[str, dict[str, dict[str, int]]]] = {
    "pascal": {"sm_60": {}, "sm_61": {}, "sm_62": {}},
    "volta": {"sm_70": {}, "sm_72": {}},
    "turing": {"sm_75": {}},
    "ampere": {
        "sm_80": {"a100": 108},
        "sm_86": {
            "rtx3070": 46,
            "rtx3070ti": 48,
            "rtx3080": 68,
            "rtx3080ti": 80,
            "rtx3090": 82,
            "rtx3090ti": 84,
        },
        "sm_87": {},
    },
    "ada": {"sm_89": {"rtx4060": 24, "rtx4070": 46, "rtx4080": 76, "rtx4090": 128}},
    "hopper": {"sm_90": {}},
    "blackwell": {"sm_100": {}, "sm_120": {}, "sm_121": {}},
}
"""NVIDIA's GPUs: family, architecture, SKUs with their compute units.

The compiler does not write SKUs into a cuda target, only their number of compute units, which is unique within an
architecture.
"""

_CUDA_SKUS: Final = {
    (architecture, compute_units): sku
    for architectures in CUDA.values()
    for architecture, skus in architectures.items()
    for sku, compute_units in skus.items()
}

CUDA_PRODUCTS: Final[dict[str, str]] = {
    "v100": "sm_70",
    "t4": "sm_75",
    "a30": "sm_80",
    "a10": "sm_86",
    "a40": "sm_86",
    "l4": "sm_89",
    "l40": "sm_89",
    "l40s": "sm_89",
    "h100": "sm_90",
    "h200": "sm_90",
    "b200": "sm_100",
    **dict.fromkeys(("rtx5060", "rtx5060ti", "rtx5070", "rtx5070ti"), "sm_120"),
    **dict.fromkeys(("rtx5080", "rtx5090", "rtx-pro-6000"), "sm_120"),
    "gb10": "sm_121",
}
"""SKUs that `--iree-cuda-target` rejects, from NVIDIA's list of compute capabilities."""

CUDA_CODE: Final[dict[str, str]] = {"sm_90": "sm_80"}
"""The architecture whose code an architecture gets that the compiler generates no code for: one with its intrinsics, and
with less shared memory.

sm_86 and sm_89 have the intrinsics of sm_80 and 99 KiB: 14 of the 59 entries of `library:models-h200` do not compile for
sm_89.
"""

VULKAN: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "adreno": {"adreno": ()},
    "arm5gen": {"arm5gen": ("mali-g1", "mali-g720")},
    "valhall": {
        "valhall1": ("mali-g57", "mali-g77"),
        "valhall2": ("mali-g78",),
        "valhall3": ("mali-g310", "mali-g510", "mali-g710"),
        "valhall4": ("mali-g615", "mali-g715"),
    },
}
"""GPUs that only the vulkan backend compiles for: family, architecture, SKUs."""

CODE_NAMES: Final[dict[str, str]] = {
    "cdna1": "gfx908",
    "cdna2": "gfx90a",
    "cdna3": "gfx942",
    "cdna4": "gfx950",
    "cdna5": "gfx1250",
    "pascal": "sm_60",
    "volta": "sm_70",
    "turing": "sm_75",
    "ampere": "sm_80",
    "ada": "sm_89",
    "hopper": "sm_90",
    "valhall": "valhall1",
}
"""The architecture of a family: the one that the compiler chooses for the family, or the family's
only one where the compiler rejects its name (cdna3, cdna4, hopper)."""

_OLD_X86: Final = """
        amdfam10 athlon-fx athlon64 athlon64-sse3 atom barcelona bonnell btver1 core2 corei7
        goldmont goldmont-plus k8 k8-sse3 nehalem nocona opteron opteron-sse3 penryn silvermont
        slm tremont westmere x86-64 x86-64-v2
"""
"""The x86 processors without AVX."""


_NAMES_BY_FEATURE: Final = {
    feature: [name for name, cpu in CPU_VECTORS.items() if feature in cpu.features]
    for feature in ("avx", "neon")
}

CPUS: Final[dict[str, str]] = {
    "x86_64": " ".join(sorted([*_NAMES_BY_FEATURE["avx"], *_OLD_X86.split()])),
    "aarch64": " ".join(sorted(_NAMES_BY_FEATURE["neon"])),
    "riscv64": """
        an-erbium andes-ax25 andes-ax45 andes-ax45mpv andes-nx45 et-soc1 gaisler-gr765 generic-rv64
        mips-p8700 rocket-rv64 sifive-p450 sifive-p470 sifive-p550 sifive-p670 sifive-p870-d sifive-s21
        sifive-s51 sifive-s54 sifive-s76 sifive-u54 sifive-u74 sifive-x180 sifive-x280 sifive-x390
        spacemit-a100 spacemit-x100 spacemit-x60 syntacore-scr3-rv64 syntacore-scr4-rv64
        syntacore-scr5-rv64 syntacore-scr7 tt-ascalon-x tt-ascalon-xg xiangshan-kunminghu
        xiangshan-nanhu xt-c910v2 xt-c920v2
    """,
    "riscv32": "",
    "wasm32": "",
}
"""CPUs: the instruction set, which is the family, and the names of its processors, separated by spaces."""

BACKENDS: Final = ("rocm", "cuda", "vulkan", "metal", "llvm-cpu", "vmvx")
"""The backends, which are also the families of targets without further details."""


# --- The installed compiler: its release, what differs between the supported ones, and its enumerators -
#
# Tuninglink supports releases 3.12 to 3.14. Matchers, knobs and constraints are the same in all of these releases;
# `tuninglink doctor` and the test suite check this.

_NUMBERS: Final = re.match(r"(\d+)\.(\d+)", VERSION)
assert _NUMBERS, VERSION
RELEASE: Final = (int(_NUMBERS[1]), int(_NUMBERS[2]))
"""The major and the minor number. A nightly build has those of the next release."""

HAS_ATTENTION_PROPERTIES: Final = RELEASE >= (3, 13)
"""Whether the properties of attention ops are printed in `<{…}>`. Before 3.13 they are among the attributes."""

HAS_BARE_KINDS: Final = RELEASE >= (3, 13)
"""Whether the kind of a `linalg.elementwise` is printed as `<exp>`. Before 3.13 it is printed with its name."""


def elementwise_op(kind: str) -> str:
    """Return the beginning of a `linalg.elementwise` in the compiler's syntax."""
    if HAS_BARE_KINDS:
        return f"linalg.elementwise <{kind}>"
    return f"linalg.elementwise kind=#linalg.elementwise_kind<{kind}>"


CPU_PIPELINES: Final = frozenset(
    [
        "Default",
        "DoubleTilingExpert",
        "ConvTileAndDecomposeExpert",
        "Mmt4dTilingExpert",
        "BufferOpsTileAndVectorize",
        "DataTiling",
        "LinalgExtTileAndVectorize",
    ]
)
"""The enumerators of `#iree_cpu.pipeline`, which the bindings lack."""

GPU_PIPELINES: Final = ("LoweringPipeline", "SPIRVLoweringPipeline")
"""The enumerations of pipelines in the bindings of `iree_gpu`."""

_LONGEST: Final = 80


@cache
def gpu_enumerators(enumeration: str) -> frozenset[str]:
    """Return the enumerators of an enumeration in the bindings of `iree_gpu`, such as `MMAIntrinsic`."""
    from iree.compiler.dialects import iree_gpu  # noqa: PLC0415 - loads the compiler

    return frozenset(member.name for member in getattr(iree_gpu, enumeration))


def unknown(what: str, name: str, valid_names: Iterable[str], likely: str | None = None) -> str:
    """Return the message that a name of a kind is unknown, with the known name most similar to it or to its likely form."""
    suggestion = nearest((likely or name)[:_LONGEST], sorted(valid_names), cutoff=0.5)
    shortened = name if len(name) <= _LONGEST else name[:_LONGEST] + "..."
    hint = f"; the nearest known one is '{suggestion}'" if suggestion else ""
    return f"unknown {what} '{shortened}'{hint}"
