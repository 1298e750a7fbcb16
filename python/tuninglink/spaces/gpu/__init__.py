"""Tuninglink's constraints on the configurations of ops on GPUs, and the properties of a target GPU that they depend on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from iree.compiler.dialects import iree_gpu

from tuninglink.iree.intrinsics import element_types
from tuninglink.solver.answers import UndecidedError

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.spaces.workload import Workload

_NARROW_FLOATS = ("f8", "f6", "f4")


@dataclass(frozen=True)
class Intrinsic:
    """An instruction that multiplies and accumulates matrices, or several that do so together.

    Attributes:
        attribute: its attribute in configurations.
        m: the number of rows of its result.
        n: the number of columns of its result.
        k: the number of products that it adds up for each element.
        element_types: the element types of the operands and of the result, as MLIR prints them.
        is_virtual: whether it consists of several instructions.
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
        """Return whether its name starts with `start`; always false for an empty string."""
        return bool(start) and f"<{start}" in str(self.attribute)


@dataclass(frozen=True)
class Gpu:
    """A GPU.

    Attributes:
        architecture: the compiler's name for it, such as `gfx942`.
        memory: the maximum shared memory of a workgroup, in bytes.
        threads: the maximum number of threads in a workgroup.
        subgroup_sizes: the supported numbers of threads in a subgroup, the preferred one first.
        intrinsics: the matrix intrinsics, in the order of the target's list.
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
        """Whether the GPU loads from global memory directly into shared memory, in pieces of 128 bits."""
        return self.architecture == "gfx950"

    def multiplying(self, lhs: str, rhs: str, result: str) -> Sequence[Intrinsic]:
        """Return the intrinsics for operands and a result of some element types."""
        return [
            intrinsic
            for intrinsic in self.intrinsics
            if intrinsic.element_types == (lhs, rhs, result)
        ]


def read_device(workload: Workload) -> Gpu:
    """Read the target GPU of a dispatch.

    Raises:
        UndecidedError: the GPU is unknown.
    """
    # The bindings abort the process on a target that does not describe a GPU, as is the case without limits.
    if workload.target is None or not workload.problem.limits:
        raise UndecidedError("the target does not describe its GPU")
    info = iree_gpu.TargetInfo.get_gpu_target_info(workload.target)
    sizes = tuple(info.subgroup_size_choices)
    if not sizes:
        raise UndecidedError("the target lacks the size of a subgroup")
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
        # Intrinsics with several blocks or without a layout do not distribute their result over a subgroup.
        if prod(attribute.abc_vector_types[2].shape) * subgroup_size != m * n:
            continue
        types = element_types(attribute)
        yield Intrinsic(attribute, m, n, k, types, is_virtual)
        if m == n:
            transposed = kind.get(int(intrinsic), col_major=True, ctx=context)
            yield Intrinsic(transposed, m, n, k, types, is_virtual, is_transposed=True)


def check_element_types(
    types: Iterable[str], device: Gpu, *, needs_conversions: bool = False
) -> None:
    """Check that the device can lower element types.

    Args:
        types: the element types.
        device: the device.
        needs_conversions: whether threads convert them, which the NVIDIA backend does not lower for narrow floats.

    Raises:
        UndecidedError: the device has no intrinsic, or no conversion, for a type of 8 bits or fewer.
    """
    is_excluded = needs_conversions and not device.architecture.startswith("gfx")
    supported = {type_ for result in device.intrinsics for type_ in result.element_types}
    for type_ in types:
        if type_.startswith(_NARROW_FLOATS) and (is_excluded or type_ not in supported):
            raise UndecidedError(f"{device.architecture} may not have {type_}")
