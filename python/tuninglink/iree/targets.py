"""Targets: what a program is compiled for, and under which names its default spec is looked up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tuninglink.errors import TargetError
from tuninglink.iree import known_targets
from tuninglink.iree.cpu_vectors import CpuVectors, vectors_of
from tuninglink.iree.target_attributes import read_executable_target, string
from tuninglink.mlir.attributes import integer_value
from tuninglink.mlir.diagnostics import error
from tuninglink.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from iree.compiler import ir as mlir

    from tuninglink.iree.target_attributes import GpuTarget
    from tuninglink.mlir.diagnostics import Anchor

_BACKENDS: Final = {"vulkan-spirv": "vulkan", "metal-spirv": "metal"}
"""Short names of backends; the others are called as the compiler calls them."""

_GENERIC_CPUS: Final = frozenset({"", "generic"})


@dataclass(frozen=True)
class Target:
    """What a dispatch is compiled for.

    Attributes:
        backend: `rocm`, `cuda`, `vulkan`, `metal`, `llvm-cpu`, `vmvx`, or the name of another one.
        family: the generation of a GPU (`cdna3`, `ampere`), the instruction set of a CPU (`x86_64`), and the
            backend where neither is known.
        architecture: what code is generated for: `gfx942`, `sm_80`, `znver4`; None where the family is
            all that is known.
        sku: the product, `mi300x`; None where an architecture was named.
        intrinsics: the names of the intrinsics that multiply matrices, where the target was read from an attribute
            that lists them. Targets are compared without it.
        cpu_vectors: the vector instructions of a CPU, where the target was read from an attribute that lists them.
            Targets are compared without it.
    """

    backend: str
    family: str
    architecture: str | None = None
    sku: str | None = None
    intrinsics: tuple[str, ...] = field(default=(), compare=False, repr=False)
    cpu_vectors: CpuVectors | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The names under which a default spec is looked up: SKU, architecture, family.

        A GPU that another backend compiles for as well has names of its own with vulkan
        (`vulkan-gfx942`): a configuration for the one backend is none for the other.
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
        """Returns the target that a user calls `name`, in upper or lower case.

        Raises:
            TargetError: no target has this name.
        """
        lower = name.strip().lower()
        target = known_target_names().get(lower)
        if target is not None:
            return target
        meant = nearest(lower, known_target_names())
        hint = f"did you mean '{meant}'? " if meant else ""
        raise TargetError(
            error(f"unknown target '{name}'; {hint}'tuninglink targets --all' lists the known ones")
        )

    @classmethod
    def from_attribute(cls, attribute: mlir.Attribute, at: Anchor = None) -> Target:
        """Returns the target that a `#hal.executable.target` describes.

        Args:
            attribute: the attribute.
            at: what has the attribute, for diagnostics.

        Raises:
            TargetError: `attribute` is another attribute.
        """
        executable = read_executable_target(attribute)
        if executable is None:
            raise TargetError(error("expected a #hal.executable.target", at))
        backend = _BACKENDS.get(executable.backend, executable.backend)
        if executable.gpu:
            return replace(_gpu(backend, executable.gpu), intrinsics=executable.gpu.intrinsics)
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
    return Target(backend, family, _unless(family, gpu.architecture), sku)


def _unless(family: str, architecture: str) -> str | None:
    """Returns `architecture` unless it is but another word for the family, as some of vulkan's are."""
    return None if architecture == family else architecture


def _family(architecture: str) -> str | None:
    """Returns the family of a GPU's architecture; a family is its own."""
    known = known_target_names().get(architecture)
    return known.family if known else None


@cache
def _cuda_skus() -> dict[tuple[str, int], str]:
    """Returns the SKU of each architecture and number of compute units."""
    return {
        (architecture, compute_units): sku
        for architectures in known_targets.CUDA.values()
        for architecture, skus in architectures.items()
        for sku, compute_units in skus.items()
    }


@cache
def known_target_names() -> Mapping[str, Target]:
    """Returns every name that `Target.parse` takes, with the target that it stands for."""
    gpus = {
        **_gpu_names("rocm", known_targets.ROCM),
        **_gpu_names("cuda", known_targets.CUDA),
        **_gpu_names("vulkan", known_targets.VULKAN),
    }
    for sku, architecture in known_targets.CUDA_PRODUCTS.items():
        gpus[sku] = replace(gpus[architecture], sku=sku)
    cpus = {
        name: Target("llvm-cpu", instruction_set, _unless(instruction_set, name))
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
            target = Target(backend, family, _unless(family, architecture))
            names[architecture] = target
            names.update({sku: replace(target, sku=sku) for sku in skus})
        names[family] = Target(backend, family, known_targets.CODE_NAMES.get(family))
    return names
