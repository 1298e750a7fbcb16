"""Constraints on the configurations of ops for Vulkan and Metal, and the properties of a target GPU that they depend on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from iree.compiler.dialects import iree_gpu

from tuninglink.iree.intrinsics import element_types
from tuninglink.solver.expressions import any_of
from tuninglink.spaces.gpu import Gpu, read_device

if TYPE_CHECKING:
    from tuninglink.spaces.gpu.gpu_rules import Number
    from tuninglink.spaces.workload import Workload

_COOPERATIVE: Final = ("WMMA", "NV_WMMA")
"""The name prefixes of the intrinsics that code generation for SPIR-V converts to cooperative matrices.

`vector.contract` of other shapes, such as 16x8x16, is not converted (`no GPU subgroup mma compute ops generated`).
"""

_ELEMENTS: Final = frozenset({"i8", "i32", "f16", "f32", "f64"})
"""The element types of cooperative matrices in MLIR."""


_BRAIN: Final = "bf16"
_BYTES: Final = ("i8", "f8")
"""The prefixes of the element types of one byte."""
_STORAGE: Final = re.compile(r"storage = ([\w|]+)")
"""The pattern for the memory access widths of a target, which the bindings do not return."""


@dataclass(frozen=True)
class CooperativeMatrix:
    """The sizes of matrices that a subgroup multiplies together.

    Attributes:
        sizes: the numbers of rows, of columns, and of products of each element.
        element_types: the element types of the operands and of the result, as MLIR prints them.
    """

    sizes: tuple[int, int, int]
    element_types: tuple[str, str, str]


@dataclass(frozen=True)
class SpirvGpu:
    """A GPU that runs SPIR-V.

    Attributes:
        gpu: its properties that do not depend on the backend.
        workgroup_sizes: the maximum numbers of threads of a workgroup along x, y and z.
        matrices: its cooperative matrices.
        stores_bytes: whether it accesses single bytes of memory.
    """

    gpu: Gpu
    workgroup_sizes: tuple[int, ...]
    matrices: tuple[CooperativeMatrix, ...]
    stores_bytes: bool

    def has_vectors(self, element_type: str) -> bool:
        """Return whether vectors in memory of an element type are legalized for any length."""
        is_byte = element_type.startswith(_BYTES)
        return element_type != _BRAIN and (not is_byte or self.stores_bytes)

    def is_legal_tile(self, element_type: str, tile: Number) -> Number:
        """Return the condition that vectors along a tile of contiguous elements are legalized.

        Determined by compiling: `vector<4xbf16>` is not made of `vector<2xf32>`, and `vector<4xi8>` only where the
        device accesses bytes.
        """
        if element_type == _BRAIN:
            return tile % 8 != 0
        if element_type.startswith(_BYTES) and not self.stores_bytes:
            return any_of(tile % 4 != 0, tile % 8 == 0)
        return True


def read_spirv_device(workload: Workload) -> SpirvGpu:
    """Read the target GPU of a dispatch.

    Raises:
        UndecidedError: the GPU is unknown.
    """
    gpu = read_device(workload)
    assert workload.target is not None
    info = iree_gpu.TargetInfo.get_gpu_target_info(workload.target)
    matrices = dict.fromkeys(_matrices(info, workload))
    storage = _STORAGE.search(str(workload.target))
    stores_bytes = storage is None or "b8" in storage[1].split("|")
    return SpirvGpu(gpu, tuple(info.max_workgroup_sizes), tuple(matrices), stores_bytes)


def _matrices(info: iree_gpu.TargetInfo, workload: Workload) -> Iterator[CooperativeMatrix]:
    for intrinsic in info.mma_intrinsics:
        if not intrinsic.name.startswith(_COOPERATIVE):
            continue
        attribute = iree_gpu.MMAAttr.get(int(intrinsic), ctx=workload.root.context)
        assert isinstance(attribute, iree_gpu.MMAAttr)
        types = element_types(attribute)
        if _ELEMENTS.issuperset(types):
            m, n, k = attribute.mnk_shape
            yield CooperativeMatrix((m, n, k), types)
