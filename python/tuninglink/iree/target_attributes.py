"""Reading `#hal.executable.target` and `#iree_gpu.target`, which the bindings do not take apart.

Neither attribute has a class in Python: what the bindings offer is a description of the GPU, and that call
ends the process on a target that has none. So both are taken apart as `ir.parameters` does it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_gpu

from tuninglink.mlir.attributes import entries_of, parameters, parse_attribute

if TYPE_CHECKING:
    from collections.abc import Mapping

_GPU_TARGET = "iree_codegen.target_info"


@dataclass(frozen=True)
class GpuTarget:
    """What an executable target says about a GPU.

    Attributes:
        architecture: such as `gfx942`; empty where the compiler knows none.
        compute_units: how many it has, 0 where only the architecture was named.
        sku: such as `mi300x`, None where the compiler does not write it.
        intrinsics: the names of the intrinsics that multiply matrices, in the order of the attribute.
    """

    architecture: str
    compute_units: int
    sku: str | None
    intrinsics: tuple[str, ...]


@dataclass(frozen=True)
class ExecutableTarget:
    """A `#hal.executable.target`.

    Attributes:
        backend: what the compiler calls the backend, such as `rocm` or `vulkan-spirv`.
        configuration: the attributes that the backend put there.
        gpu: the GPU, for backends that describe one.
    """

    backend: str
    configuration: Mapping[str, mlir.Attribute]
    gpu: GpuTarget | None


def read_executable_target(attribute: mlir.Attribute) -> ExecutableTarget | None:
    """Returns what is in a `#hal.executable.target`, or None if `attribute` is another one."""
    with attribute.context:
        if attribute.typeid != mlir.Attribute.parse('#hal.executable.target<"", "">').typeid:
            return None
    result = parameters(attribute)
    if result is None or not isinstance(result[0], mlir.StringAttr):
        return None
    configuration = entries_of(result[len(result) - 1])
    gpu = None
    if _is_gpu_target(configuration.get(_GPU_TARGET)):
        info = iree_gpu.TargetInfo.get_gpu_target_info(attribute)
        gpu = GpuTarget(
            info.arch,
            info.workgroup_count,
            _sku(configuration[_GPU_TARGET]),
            tuple(intrinsic.name for intrinsic in info.mma_intrinsics),
        )
    return ExecutableTarget(result[0].value, configuration, gpu)


def string(attributes: Mapping[str, mlir.Attribute], name: str) -> str:
    """Returns the string attribute `name`, or an empty string where it is no string or missing."""
    attribute = attributes.get(name)
    return attribute.value if isinstance(attribute, mlir.StringAttr) else ""


def _sku(gpu_target: mlir.Attribute) -> str | None:
    """Returns the SKU, which is in the last parameter of a GPU target, `chip = <…>`."""
    _, result, chip = str(gpu_target).rpartition(" chip = <")
    parsed = (
        parse_attribute(f"{{{chip.removesuffix('>>')}}}", gpu_target.context) if result else None
    )
    sku = entries_of(parsed).get("sku")
    return sku.value if isinstance(sku, mlir.StringAttr) else None


def _is_gpu_target(attribute: mlir.Attribute | None) -> bool:
    """Tells whether `attribute` is a `#iree_gpu.target`, by comparison with one that has next to nothing."""
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
