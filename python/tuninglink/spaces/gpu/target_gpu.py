"""What a GPU can do, as far as constraints depend on it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from iree.compiler.dialects import iree_gpu

from tuninglink.iree.intrinsics import element_types
from tuninglink.solver.answers import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.spaces.workload import Workload


@dataclass(frozen=True)
class Intrinsic:
    """An instruction that multiplies matrices and adds up, or several that do so together.

    Attributes:
        attribute: how configurations name it.
        m: how many rows its result has.
        n: how many columns its result has.
        k: how many products it adds up for each element.
        element_types: those of the operands and of the result, as MLIR writes them.
        is_virtual: whether it is several instructions.
        is_transposed: whether its result is in column-major order.
    """

    attribute: mlir.Attribute
    m: int
    n: int
    k: int
    element_types: tuple[str, str, str]
    is_virtual: bool = False
    is_transposed: bool = False

    def is_named(self, start: str) -> bool:
        """Tells whether its name starts so; nothing starts with an empty name."""
        return bool(start) and f"<{start}" in str(self.attribute)


@dataclass(frozen=True)
class Gpu:
    """A GPU.

    Attributes:
        architecture: what the compiler calls it, such as `gfx942`.
        memory: bytes of shared memory that a workgroup can have.
        threads: how many threads a workgroup can have.
        subgroup_sizes: how many threads a subgroup can have, the preferred number first.
        intrinsics: what multiplies matrices, in the order of the target's list.
    """

    architecture: str
    memory: int
    threads: int
    subgroup_sizes: tuple[int, ...]
    intrinsics: tuple[Intrinsic, ...]

    @property
    def subgroup_size(self) -> int:
        """The number of threads in a subgroup that the compiler prefers."""
        return self.subgroup_sizes[0]

    @property
    def loads_directly(self) -> bool:
        """Whether it loads from global memory straight into shared memory, in pieces of 128 bits."""
        return self.architecture == "gfx950"

    def multiplying(self, lhs: str, rhs: str, result: str) -> Sequence[Intrinsic]:
        """Returns the intrinsics for operands and a result of some element types."""
        return [
            intrinsic
            for intrinsic in self.intrinsics
            if intrinsic.element_types == (lhs, rhs, result)
        ]


def read_device(workload: Workload) -> Gpu:
    """Returns what the target of a dispatch can do.

    Raises:
        UndecidedError: it is not known.
    """
    # The bindings end the process on a target that describes no GPU; a problem without limits has such a one.
    if workload.target is None or not workload.problem.limits:
        raise UndecidedError("the target does not say what its GPU can do")
    info = iree_gpu.TargetInfo.get_gpu_target_info(workload.target)
    sizes = tuple(info.subgroup_size_choices)
    if not sizes:
        raise UndecidedError("the target does not say how many threads a subgroup has")
    return Gpu(
        architecture=info.arch,
        memory=info.max_workgroup_memory_bytes,
        threads=info.max_thread_count_per_workgroup,
        subgroup_sizes=sizes,
        intrinsics=tuple(_intrinsics(info, sizes[0], workload.target.context)),
    )


def _intrinsics(
    info: iree_gpu.TargetInfo, subgroup_size: int, context: mlir.Context
) -> Iterator[Intrinsic]:
    for intrinsic in info.mma_intrinsics:
        is_virtual = isinstance(intrinsic, iree_gpu.VirtualMMAIntrinsic)
        kind = iree_gpu.VirtualMMAAttr if is_virtual else iree_gpu.MMAAttr
        attribute = kind.get(int(intrinsic), ctx=context)
        assert isinstance(attribute, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr)
        m, n, k = attribute.mnk_shape
        # Those of several blocks, and those without a layout, do not spread their result over a subgroup.
        if prod(attribute.abc_vector_types[2].shape) * subgroup_size != m * n:
            continue
        types = element_types(attribute)
        yield Intrinsic(attribute, m, n, k, types, is_virtual)
        if m == n:
            transposed = kind.get(int(intrinsic), col_major=True, ctx=context)
            yield Intrinsic(transposed, m, n, k, types, is_virtual, is_transposed=True)
