"""Operations next to a root op, the loops that they share with it, and their simultaneously live values.

Each value that is alive in the body of an op may be a vector on the stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.lowering_configs import CpuLevel, read_cpu_configuration
from tuninglink.iree.root_ops import function_ops
from tuninglink.iree.structured_op import StructuredOp, element_type, shape
from tuninglink.mlir import names

if TYPE_CHECKING:
    from tuninglink.spaces.workload import Workload

_EXPANDED: Final[Mapping[str, int]] = {
    "math.erf": 13,
    "math.powf": 11,
    "math.log1p": 10,
    "math.expm1": 10,
    "math.atanh": 9,
    "math.tan": 8,
    "math.log": 8,
    "math.log2": 8,
    "math.asinh": 8,
    "math.acosh": 8,
    "math.sin": 7,
    "math.cos": 7,
    "math.acos": 7,
    "math.sinh": 6,
    "math.cosh": 6,
    "math.atan2": 6,
    "math.cbrt": 5,
    "math.atan": 5,
    "math.exp": 4,
    "math.exp2": 4,
    "math.asin": 4,
    "math.roundeven": 3,
}
"""The number of live values within the code of a function, including its operands and its result: the size of LLVM's
stack frame for vectors of 16 KiB, divided by 16 KiB and rounded up (IREE 3.13.0, f32 on znver4). The stack frame of any
other op holds two values.
"""

_PLAIN: Final = 2


def live_values(operation: mlir.Operation) -> int:
    """Return the largest number of values that are alive at once in the body of an op; 0 without a body."""
    bodies = [block for region in operation.regions for block in region.blocks]
    return max((_most_alive(list(block.operations)) for block in bodies), default=0)


def _most_alive(body: Sequence[mlir.OpView]) -> int:
    """Return the largest number of live values in a block: those within an op, and those that are live across it."""
    last_uses = {
        operand: position
        for position, inner in enumerate(body)
        for operand in inner.operation.operands
        if not _is_constant(operand)
    }
    computed_at: dict[mlir.Value[mlir.Type], int] = {
        result: position
        for position, inner in enumerate(body)
        for result in inner.operation.results
    }
    most = 0
    for position, inner in enumerate(body):
        if not inner.operation.results or inner.operation.name.endswith(".constant"):
            continue
        own = {*inner.operation.operands, *inner.operation.results}
        passing = sum(
            computed_at.get(value, -1) < position < last
            for value, last in last_uses.items()
            if value not in own
        )
        most = max(most, passing + _EXPANDED.get(inner.operation.name, _PLAIN))
    return most


def _is_constant(value: mlir.Value[mlir.Type]) -> bool:
    owner = value.owner
    return isinstance(owner, mlir.Operation | mlir.OpView) and owner.operation.name.endswith(
        ".constant"
    )


_WIDEST: Final = 64
WIDENED: Final = 32
"""The width that may be used to compute with narrow floating-point numbers."""

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
