"""Targets of compilation, their attributes, and the names under which their default specs are looked up.

The bindings have no classes for `#hal.executable.target` and `#iree_gpu.target`: they describe only the GPU of an
executable target, and abort on a target without one. So the parameters of both attributes are read as in
`mlir.attributes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_gpu

from tuninglink.arguments import described
from tuninglink.errors import TargetError, nearest
from tuninglink.iree import known_targets
from tuninglink.iree.cpus import CpuVectors, vectors_of
from tuninglink.iree.peak_rates import PeakRates, peaks_of_chip
from tuninglink.mlir.attributes import entries_of, integer_value, parameters, parse_attribute
from tuninglink.mlir.diagnostics import Anchor, error, thread_context

_GPU_TARGET = "iree_codegen.target_info"


@dataclass(frozen=True)
class GpuTarget:
    """The description of a GPU in an executable target.

    Attributes:
        architecture: the architecture, such as `gfx942`; empty if the compiler does not know it.
        compute_units: the number of compute units, 0 if only the architecture was named.
        sku: the product, such as `mi300x`, or None if the compiler does not write it.
        intrinsics: the names of the matrix intrinsics, in the order of the attribute.
        peaks: the peak rates of the product; None if the compiler does not write them.
    """

    architecture: str
    compute_units: int
    sku: str | None
    intrinsics: tuple[str, ...]
    peaks: PeakRates | None


@dataclass(frozen=True)
class ExecutableTarget:
    """A `#hal.executable.target`.

    Attributes:
        backend: the compiler's name of the backend, such as `rocm` or `vulkan-spirv`.
        configuration: the attributes that the backend adds.
        gpu: the GPU, for backends that describe one.
    """

    backend: str
    configuration: Mapping[str, mlir.Attribute]
    gpu: GpuTarget | None


def read_executable_target(attribute: mlir.Attribute) -> ExecutableTarget | None:
    """Read a `#hal.executable.target`. Return None for another attribute."""
    with attribute.context:
        if attribute.typeid != mlir.Attribute.parse('#hal.executable.target<"", "">').typeid:
            return None
    return _read_target(str(attribute))


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
        chip = _chip(description)
        intrinsics = tuple(intrinsic.name for intrinsic in info.mma_intrinsics)
        sku = string(chip, "sku") or None
        gpu = GpuTarget(info.arch, info.workgroup_count, sku, intrinsics, _peaks(chip))
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


def _chip(gpu_target: mlir.Attribute) -> Mapping[str, mlir.Attribute]:
    """Return the entries of the last parameter of a GPU target, `chip = <…>`; empty without this parameter."""
    _, separator, chip = str(gpu_target).rpartition(" chip = <")
    text = f"{{{chip.removesuffix('>>')}}}"
    return entries_of(parse_attribute(text, gpu_target.context) if separator else None)


def _peaks(chip: Mapping[str, mlir.Attribute]) -> PeakRates | None:
    """Return the peak rates in the description of a chip."""
    bandwidth = chip.get("memory_bandwidth_tbps")
    tflops = {
        name: round(rate.value, _DECIMALS)
        for name, rate in entries_of(chip.get("perf_tflops")).items()
        if isinstance(rate, mlir.FloatAttr)
    }
    if not isinstance(bandwidth, mlir.FloatAttr):
        return None
    return peaks_of_chip(string(chip, "sku"), tflops, round(bandwidth.value, _DECIMALS))


_DECIMALS: Final = 3
"""The compiler's figures are single-precision numbers."""


_BACKENDS: Final = {"vulkan-spirv": "vulkan", "metal-spirv": "metal"}
"""Short names of backends. The others have the compiler's name."""

SPIRV_BACKENDS: Final = frozenset(_BACKENDS)
"""The compiler's names of the backends that generate SPIR-V."""

_GENERIC_CPUS: Final = frozenset({"", "generic"})


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
        parts = filter(None, (self.sku, self.architecture, self.family))
        return tuple(dict.fromkeys(map(self._qualified, parts)))

    def _qualified(self, part: str) -> str:
        return f"vulkan-{part}" if self.backend == "vulkan" and part != "vulkan" else part

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
        suggestion = nearest(lower, known_target_names())
        hint = f"did you mean '{suggestion}'? " if suggestion else ""
        remedy = "'tuninglink targets --all' lists the known ones"
        raise TargetError(error(f"unknown target '{name}'; {hint}{remedy}"))

    @classmethod
    def from_attribute(cls, attribute: mlir.Attribute, at: Anchor = None) -> Target:
        """Read the target from a `#hal.executable.target`.

        Args:
            attribute: the attribute.
            at: the owner of the attribute, for diagnostics.

        Raises:
            TargetError: `attribute` is not a `#hal.executable.target`.
        """
        executable = read_executable_target(attribute)
        if executable is None:
            raise TargetError(error("expected a #hal.executable.target", at))
        backend = _BACKENDS.get(executable.backend, executable.backend)
        if executable.gpu:
            gpu = executable.gpu
            return replace(_gpu(backend, gpu), intrinsics=gpu.intrinsics, peaks=gpu.peaks)
        if backend == "llvm-cpu":
            cpu = string(executable.configuration, "cpu")
            triple = string(executable.configuration, "target_triple")
            architecture = None if cpu in _GENERIC_CPUS else cpu
            size = executable.configuration.get("native_vector_size")
            features = string(executable.configuration, "cpu_features")
            vectors = vectors_of(features, integer_value(size)) if size is not None else None
            family = triple.partition("-")[0] or backend
            return cls(backend, family, architecture, cpu_vectors=vectors)
        return cls(backend, family=backend)


def _gpu(backend: str, gpu: GpuTarget) -> Target:
    if not gpu.architecture:
        return Target(backend, family=backend)
    family = _family(gpu.architecture) or backend
    sku = gpu.sku or _cuda_skus().get((gpu.architecture, gpu.compute_units))
    return Target(backend, family, _distinct_architecture(family, gpu.architecture), sku)


def _distinct_architecture(family: str, architecture: str) -> str | None:
    """Return `architecture`, or None if it equals the family, as for some Vulkan targets."""
    return None if architecture == family else architecture


def _family(architecture: str) -> str | None:
    """Return the family of a GPU's architecture; a family is returned unchanged."""
    target = known_target_names().get(architecture)
    return target.family if target else None


@cache
def _cuda_skus() -> dict[tuple[str, int], str]:
    """Return the SKUs by architecture and number of compute units."""
    return {
        (architecture, compute_units): sku
        for architectures in known_targets.CUDA.values()
        for architecture, skus in architectures.items()
        for sku, compute_units in skus.items()
    }


@cache
def known_target_names() -> Mapping[str, Target]:
    """Return every name that `Target.parse` accepts, with its target."""
    gpus = {
        **_gpu_names("rocm", known_targets.ROCM),
        **_gpu_names("cuda", known_targets.CUDA),
        **_gpu_names("vulkan", known_targets.VULKAN),
    }
    for sku, architecture in known_targets.CUDA_PRODUCTS.items():
        gpus[sku] = replace(gpus[architecture], sku=sku)
    cpus = {
        name: Target("llvm-cpu", instruction_set, _distinct_architecture(instruction_set, name))
        for instruction_set, processors in known_targets.CPUS.items()
        for name in (instruction_set, *processors.split())
    }
    return MappingProxyType(
        {
            **gpus,
            **{f"vulkan-{name}": replace(gpu, backend="vulkan") for name, gpu in gpus.items()},
            "apple": Target("metal", "metal", "apple"),
            **cpus,
            **{backend: Target(backend, backend) for backend in known_targets.BACKENDS},
        }
    )


def _gpu_names(
    backend: str, families: Mapping[str, Mapping[str, Iterable[str]]]
) -> dict[str, Target]:
    names: dict[str, Target] = {}
    for family, architectures in families.items():
        for architecture, skus in architectures.items():
            target = Target(backend, family, _distinct_architecture(family, architecture))
            names[architecture] = target
            names.update({sku: replace(target, sku=sku) for sku in skus})
        names[family] = Target(backend, family, known_targets.CODE_NAMES.get(family))
    return names
