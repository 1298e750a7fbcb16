"""Ops that read or write at indices: gather in the pipeline Distribute, scatter in TileAndFuse.

Of 32 configurations with random tiles and threads for gfx942 and sm_80, all compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.root_ops import function_ops
from tuninglink.iree.structured_op import element_type, shape
from tuninglink.mlir import names
from tuninglink.solver.answers import UndecidedError
from tuninglink.spaces.gpu.contractions import check_element_types
from tuninglink.spaces.gpu.distribute import DistributeSpace
from tuninglink.spaces.gpu.root_loops import RootLoops
from tuninglink.spaces.gpu.threads import threads_space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.iree.structured_op import Sizes
    from tuninglink.spaces.gpu.target_gpu import Gpu
    from tuninglink.spaces.providers import Space
    from tuninglink.spaces.workload import Workload

_GATHER: Final = "iree_linalg_ext.gather"
_SCATTER: Final = "iree_linalg_ext.scatter"


def gather_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> Sequence[Space]:
    """Return the configurations of a gather, whose loops are the dimensions of its result.

    Raises:
        UndecidedError: it is another op, its sizes are unknown, or there are other ops next to it.
    """
    operation = _alone(workload, _GATHER)
    sizes, _ = _sizes(operation.operands[len(operation.operands) - 1], device)
    return [DistributeSpace(workload, device, pipeline, sizes)]


def scatter_spaces(workload: Workload, device: Gpu, pipeline: mlir.Attribute) -> Sequence[Space]:
    """Return the configurations of a scatter, whose loops are the dimensions of the values that it writes.

    Raises:
        UndecidedError: see `gather_spaces`.
    """
    operation = _alone(workload, _SCATTER)
    sizes, bits = _sizes(operation.operands[0], device)
    loops = RootLoops(
        sizes, tuple(range(len(sizes))), (), bits, accumulates=False, mixes_types=False
    )
    return [threads_space(workload.problem, loops, device, pipeline)]


def _alone(workload: Workload, name: str) -> mlir.Operation:
    root = workload.root
    if root.name != name:
        raise UndecidedError(f"no constraints are known for {root.name}")
    for each in function_ops(workload.function).computing:
        if each != root and each.name != names.FILL:
            raise UndecidedError(f"{each.name} is beside {root.name}")
    return root


def _sizes(value: mlir.Value[Any], device: Gpu) -> tuple[Sizes, int]:
    """Return the sizes of an operand, and the bits of an element."""
    sizes, element = shape(value.type), element_type(value.type)
    is_known = isinstance(element, mlir.IntegerType | mlir.FloatType) and element.width >= _BYTE
    if not sizes or None in sizes or not is_known:
        raise UndecidedError(f"an operand is of type {value.type}")
    assert isinstance(element, mlir.IntegerType | mlir.FloatType)
    check_element_types([str(element)], device)
    return sizes, element.width


_BYTE: Final = 8
