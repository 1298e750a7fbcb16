"""The operations next to a root op: the loops that they share with it, and their extents over their own loops."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.cpu_configurations import CpuLevel, read_cpu_configuration
from tuninglink.iree.root_ops import function_ops
from tuninglink.iree.structured_op import StructuredOp, element_type, shape
from tuninglink.mlir import names
from tuninglink.spaces.cpu.live_values import live_values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.spaces.workload import Workload

_WIDEST: Final = 64
WIDENED: Final = 32
"""Narrow floating-point numbers may be computed with in this width."""

_VECTOR_LEVELS: Final = (
    CpuLevel.VECTOR_COMMON_PARALLEL,
    CpuLevel.VECTOR_REDUCTION,
    CpuLevel.VECTOR_INNER_PARALLEL,
)


@dataclass(frozen=True)
class Neighbor:
    """An operation next to a root op.

    Attributes:
        what: the operation in words.
        shared: the loops of the root op that it shares and is tiled with.
        own: the number of its elements over its other loops, None if unknown.
        bits: the width of an element.
        live: the number of its values that are alive at once, each a vector over its loops.
    """

    what: str
    shared: tuple[int, ...]
    own: int | None
    bits: int
    live: int = 0


def neighbors(workload: Workload) -> tuple[Neighbor, ...]:
    """Return the operations that are computed next to a root op, one of each kind."""
    computing = function_ops(workload.function).computing
    tied = _tie(workload.root, computing)
    result = (_neighbor(each, tied[each]) for each in computing if each != workload.root)
    return tuple(dict.fromkeys(result))


def width(kind: mlir.Type) -> int | None:
    """Return the width of an element in bits, None if unknown."""
    element = element_type(kind)
    if isinstance(element, mlir.IntegerType | mlir.FloatType):
        return element.width
    return None


def _tie(
    root: mlir.Operation, computing: Sequence[mlir.Operation]
) -> dict[mlir.Operation, dict[int, int]]:
    """Map the loops of each operation to loops of the root op.

    Loops are tied if one operation computes a value that another one reads or overwrites. A value that several
    operations read is not a reason to fuse them.
    """
    handed_on: dict[mlir.Value[mlir.Type], list[_Access]] = {
        result: [] for each in computing for result in each.results
    }
    accesses = {each: _accesses(each) for each in computing}
    for each in computing:
        for access in accesses[each]:
            handed_on.get(access.value, []).append(access)
    tied: dict[mlir.Operation, dict[int, int]] = {each: {} for each in computing}
    tied[root] = {loop: loop for loop in range(StructuredOp(root).loop_count)}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        for access in accesses[one]:
            for other in handed_on.get(access.value, ()):
                tied_loops = tied[other.operation]
                # The maps of an `inner_tiled` leave out the dimensions of a packed tile, which are the last ones.
                new_ties = {
                    its: tied[one][loop]
                    for loop, its in zip(access.loops, other.loops, strict=False)
                    if loop in tied[one] and its is not None and its not in tied_loops
                }
                if new_ties:
                    tied_loops |= new_ties
                    waiting.append(other.operation)
    return tied


@dataclass(frozen=True)
class _Access:
    """A value that an operation reads, overwrites or computes, and the loops that index its dimensions."""

    operation: mlir.Operation
    value: mlir.Value[mlir.Type]
    loops: tuple[int | None, ...]


def _accesses(operation: mlir.Operation) -> list[_Access]:
    moved = _moved(operation)
    if moved is not None:
        return [_Access(operation, moved, tuple(range(len(shape(moved.type) or ()))))]
    op = StructuredOp(operation)
    inputs = zip(operation.operands, op.operand_loops, strict=False)
    outputs = zip(operation.results, op.operand_loops[op.first_output :], strict=False)
    return [_Access(operation, value, loops) for value, loops in (*inputs, *outputs)]


def _moved(operation: mlir.Operation) -> mlir.Value[mlir.Type] | None:
    """Return the value with a dimension for each loop of an operation that moves elements by index; else None.

    The tiles of `map_store` are those of its input, and the tiles of `map_load` are those of its result.
    """
    values: Mapping[str, Sequence[mlir.Value[mlir.Type]]] = {
        names.MAP_STORE: operation.operands,
        names.MAP_LOAD: operation.results,
    }
    return next(iter(values.get(operation.name, ())), None)


def _neighbor(operation: mlir.Operation, tied: Mapping[int, int]) -> Neighbor:
    op = StructuredOp(operation)
    bits = max([WIDENED, *(width(operand.type) or _WIDEST for operand in operation.operands)])
    moved = _moved(operation)
    if moved is None and not op.maps:
        return Neighbor(f"'{operation.name}'", (), _largest(operation), bits)
    sizes = op.sizes if moved is None else shape(moved.type) or ()
    configured = _configured(operation)
    own = 1
    for loop, size in enumerate(sizes):
        if loop in tied:
            continue
        tile = configured.get(loop) or size
        if tile is None:
            return Neighbor(f"'{operation.name}'", (), None, bits)
        own *= tile
    shared = tuple(sorted(set(tied.values())))
    return Neighbor(f"'{operation.name}'", shared, own, bits, live_values(operation))


def _configured(operation: mlir.Operation) -> dict[int, int]:
    """Return the vector tiles of an operation next to the root op, which the compiler chooses."""
    attribute = operation.attributes.get(names.LOWERING_CONFIG)
    levels = (attribute is not None and read_cpu_configuration(attribute)) or {}
    configured: dict[int, int] = {}
    for level in _VECTOR_LEVELS:
        tiling = levels.get(level.value)
        if tiling is not None and not tiling.scalable:
            configured |= {loop: tile for loop, tile in enumerate(tiling.sizes) if tile}
    return configured


def _largest(operation: mlir.Operation) -> int | None:
    """Return the number of elements of the largest value that an operation reads or computes."""
    values = [*operation.operands, *operation.results]
    sizes = [shape(value.type) for value in values if isinstance(value.type, mlir.ShapedType)]
    if any(each is None or None in each for each in sizes):
        return None
    return max((prod(size for size in each or () if size is not None) for each in sizes), default=1)
