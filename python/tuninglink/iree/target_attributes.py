"""Readers of `#hal.executable.target` and `#iree_gpu.target`, which the bindings have no classes for.

The bindings describe only the GPU of an executable target, and abort on a target without one. So the parameters of
both attributes are read as in `mlir.attributes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_gpu

from tuninglink.mlir.attributes import entries_of, parameters, parse_attribute

_GPU_TARGET = "iree_codegen.target_info"


@dataclass(frozen=True)
class GpuTarget:
    """The description of a GPU in an executable target.

    Attributes:
        architecture: such as `gfx942`; empty if the compiler does not know it.
        compute_units: the number of compute units, 0 if only the architecture was named.
        sku: such as `mi300x`, or None if the compiler does not write it.
        intrinsics: the names of the matrix intrinsics, in the order of the attribute.
    """

    architecture: str
    compute_units: int
    sku: str | None
    intrinsics: tuple[str, ...]


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
    fields = parameters(attribute)
    if fields is None or not isinstance(fields[0], mlir.StringAttr):
        return None
    configuration = entries_of(fields[len(fields) - 1])
    gpu = None
    if _is_gpu_target(configuration.get(_GPU_TARGET)):
        info = iree_gpu.TargetInfo.get_gpu_target_info(attribute)
        gpu = GpuTarget(
            info.arch,
            info.workgroup_count,
            _sku(configuration[_GPU_TARGET]),
            tuple(intrinsic.name for intrinsic in info.mma_intrinsics),
        )
    return ExecutableTarget(fields[0].value, configuration, gpu)


def string(attributes: Mapping[str, mlir.Attribute], name: str) -> str:
    """Return the string attribute `name`, or an empty string if it is missing or of another type."""
    attribute = attributes.get(name)
    return attribute.value if isinstance(attribute, mlir.StringAttr) else ""


def _sku(gpu_target: mlir.Attribute) -> str | None:
    """Return the SKU in the last parameter of a GPU target, `chip = <…>`, or None."""
    _, separator, chip = str(gpu_target).rpartition(" chip = <")
    parsed = (
        parse_attribute(f"{{{chip.removesuffix('>>')}}}", gpu_target.context) if separator else None
    )
    sku = entries_of(parsed).get("sku")
    return sku.value if isinstance(sku, mlir.StringAttr) else None


def _is_gpu_target(attribute: mlir.Attribute | None) -> bool:
    """Return whether `attribute` is a `#iree_gpu.target`, by comparison with a minimal one."""
    if attribute is None:
        return False
    smallest = (
        '#iree_gpu.target<arch = "", features = "", wgp = <compute = int32, storage = b32, '
        "subgroup = none, subgroup_size_choices = [], max_workgroup_sizes = [], "
        "max_thread_count_per_workgroup = 0, max_workgroup_memory_bytes = 0, "
        "max_workgroup_counts = []>>"
    )
    with attribute.context:
        return attribute.typeid == mlir.Attribute.parse(smallest).typeid
