"""The loops of a root op, the vectors over them, and the operations next to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree import (
    REDUCTION,
    CpuLevel,
    OpKind,
    Role,
    StructuredOp,
    element_type,
    function_ops,
    read_cpu_configuration,
    shape,
)
from tuninglink.mlir import collect, names, visit
from tuninglink.solver import UndecidedError

if TYPE_CHECKING:
    from tuninglink.spaces.model import Workload


_VECTORIZED_DIALECTS: Final = ("arith.", "math.", "linalg.yield")
"""The dialects of the ops in a body that is certainly vectorized."""

_COMBINERS: Final = frozenset(
    f"arith.{each}"
    for each in (
        *("addf", "addi", "mulf", "muli", "andi", "ori", "xori"),
        *("maximumf", "minimumf", "maxnumf", "minnumf", "maxsi", "minsi", "maxui", "minui"),
    )
)
"""Combiners of certainly vectorized reductions."""

PACKED_LOOPS: Final[Mapping[str, int]] = {
    "linalg.mmt4d": 3,
    "linalg.batch_mmt4d": 3,
    "iree_codegen.inner_tiled": 0,
}
"""The number of loops within a packed tile, for each data-tiled product: the last ones."""

_SELECTIONS: Final = frozenset({"iree_linalg_ext.topk", "iree_linalg_ext.arg_compare"})

_BYTE: Final = 8
_ACCUMULATED: Final = 32
"""The width in which the products of an attention are added up."""


@dataclass(frozen=True)
class Loop:
    """A loop."""

    size: int | None
    reduces: bool


@dataclass(frozen=True)
class VectorOf:
    """A value that is computed in one vector over some loops."""

    what: str
    loops: tuple[int, ...]
    bits: int


@dataclass(frozen=True)
class LoopNest:
    """The loops of a root op."""

    operation: str
    loops: tuple[Loop, ...]
    vectors: tuple[VectorOf, ...]
    widest: int
    parts: tuple[VectorOf, ...]
    beside: tuple[Neighbor, ...]
    is_alone: bool
    is_on_tensors: bool
    is_attention: bool
    score_loops: tuple[int, ...] = ()
    is_lost: bool = False
    live: int = 0
    innermost: int | None = None
    has_half: bool = False
    scalable_loop: int | None = None
    is_contraction: bool = False
    window: tuple[int, ...] = ()


def read_nest(workload: Workload) -> LoopNest:
    """Return the loops of a root op."""
    root, problem = workload.root, workload.problem
    op = StructuredOp(root)
    loops: tuple[Loop, ...] = ()
    if op.name in _SELECTIONS:
        # An op that selects elements of rows has the dimensions of its first operand as loops.
        selected = mlir.IntegerAttr(root.attributes["dimension"]).value
        sizes = shape(root.operands[0].type) or ()
        loops = tuple(Loop(size, position == selected) for position, size in enumerate(sizes))
    if not (loops or problem.dimensions) or (op.is_relayout and op.packed_elements is None):
        raise UndecidedError(f"which loops '{root.name}' has is not known")
    loops = loops or tuple(
        Loop(dimension.size, iterator == REDUCTION)
        for dimension, iterator in zip(problem.dimensions, op.iterator_types, strict=True)
    )
    # The vectors.
    widths = [width(operand.type) for operand in root.operands]
    widest = max((each or 64 for each in widths), default=64)
    parts: tuple[VectorOf, ...]
    if op.kind is OpKind.ATTENTION:
        # The two products.
        vectors = parts = tuple(
            VectorOf(
                f"the product {what}",
                tuple(loop for loop, each in enumerate(op.roles) if each is not without),
                _ACCUMULATED,
            )
            for what, without in (("of query and key", Role.N), ("with the value", Role.K1))
        )
    else:
        vectors = _vectors(op, widths)
        # One iteration moves a packed tile.
        bits = widest * (op.packed_elements or 1) if op.is_relayout else widest
        parts = (VectorOf("the operation", tuple(range(len(loops))), bits),)
    return LoopNest(
        operation=root.name,
        loops=loops,
        vectors=vectors,
        widest=widest,
        parts=parts,
        beside=neighbors(workload),
        is_alone=all(each == root for each in function_ops(workload.function).configured),
        is_on_tensors=any(
            isinstance(operand.type, mlir.RankedTensorType) for operand in root.operands
        ),
        is_attention=op.kind is OpKind.ATTENTION,
        score_loops=op.loops.get(Role.K1, ()),
        live=live_values(root) if op.kind in (OpKind.ELEMENTWISE, OpKind.REDUCTION) else 0,
        innermost=next(iter(op.operand_loops[-1][-1:]), None) if op.operand_loops else None,
        has_half=any(
            str(element_type(result.type)) == "f16"
            for operation in collect(workload.function)
            for result in operation.results
        ),
        scalable_loop=_scalable_loop(op),
        is_contraction=op.kind is OpKind.CONTRACTION,
        window=(*op.loops.get(Role.OUTPUT_IMAGE, ()), *op.loops.get(Role.FILTER, ())),
    )


def _scalable_loop(op: StructuredOp) -> int | None:
    """Return the loop whose vector tile may be scalable: LLVM has scalable vectors only along the last dimension."""
    result = op.operand_loops[-1] if op.operand_loops else ()
    if not result or op.kind is OpKind.ATTENTION or op.is_relayout:
        return None
    # Numbers that are narrower than a byte, and floats of a byte, are computed with fixed vectors.
    for operand in op.operation.operands:
        is_narrow_float = isinstance(element_type(operand.type), mlir.FloatType)
        if (width(operand.type) or 0) < (_BYTE + 1 if is_narrow_float else _BYTE):
            return None
    loop = result[-1]
    is_last = all(loop not in loops[:-1] for loops in op.operand_loops)
    # An outer product has the loop of its second operand as its last dimension.
    is_swapped = op.kind is OpKind.CONTRACTION and (
        loop in op.operand_loops[0] and loop not in op.operand_loops[1]
    )
    return loop if is_last and not is_swapped and loop is not None else None


def _vectors(op: StructuredOp, widths: Sequence[int | None]) -> tuple[VectorOf, ...]:
    """Return the vectors that certainly exist."""
    # All loops together form one vector: the compiler counts a contraction this way, a reduction combines such a
    # vector, and an elementwise op computes its results in one.
    root = op.operation
    known_widths = [width for width in widths if width is not None and width >= _BYTE]
    is_in_memory = any(
        isinstance(value.type, mlir.MemRefType | mlir.UnrankedMemRefType) for value in root.operands
    )
    inside: list[str] = []
    visit(root, lambda operation: inside.append(operation.name))
    # Vectorization requires that one operation combines each result of a reduction with its previous value.
    combines = op.kind is not OpKind.REDUCTION
    if not combines:
        (block,) = root.regions[0].blocks
        yielded = list(block.operations)[-1].operation.operands
        arguments = list(block.arguments)[-len(yielded) :]
        combines = all(
            not isinstance(value.owner, mlir.Block)
            and value.owner.operation.name in _COMBINERS
            and argument in value.owner.operation.operands
            for value, argument in zip(yielded, arguments, strict=True)
        )
    if (
        op.kind not in (OpKind.CONTRACTION, OpKind.REDUCTION, OpKind.ELEMENTWISE)
        or is_in_memory
        or not all(name.startswith(_VECTORIZED_DIALECTS) for name in inside[1:])
        or len(known_widths) < len(widths)
        or not combines
        or any(None in loops for loops in op.operand_loops)
    ):
        return ()
    bits = known_widths[-1] if op.kind is OpKind.CONTRACTION else min(known_widths)
    everything = VectorOf("all loops", tuple(range(op.loop_count)), bits)
    operands = [
        VectorOf(f"operand {number}", tuple(loop for loop in loops if loop is not None), wide)
        for number, (loops, wide) in enumerate(zip(op.operand_loops, known_widths, strict=False))
        if wide > bits
    ]
    return (everything, *operands)


# --- Operations next to a root op, the loops that they share with it, and their simultaneously live values

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
_CONSTANT: Final = ".constant"


def live_values(operation: mlir.Operation) -> int:
    """Return the largest number of values that are alive at once in the body of an op; 0 without a body.

    These are the values within an op of the body, and those that are live across it.
    """
    most = 0
    for block in (block for region in operation.regions for block in region.blocks):
        body = [inner.operation for inner in block.operations]
        last_uses: dict[mlir.Value[mlir.Type], int] = {}
        computed_at: dict[mlir.Value[mlir.Type], int] = {}
        for position, inner in enumerate(body):
            for operand in inner.operands:
                owner = operand.owner
                if isinstance(owner, mlir.Block) or not owner.operation.name.endswith(_CONSTANT):
                    last_uses[operand] = position
            computed_at |= dict.fromkeys(inner.results, position)
        for position, inner in enumerate(body):
            if inner.results and not inner.name.endswith(_CONSTANT):
                own = {*inner.operands, *inner.results}
                passing = sum(
                    computed_at.get(value, -1) < position < last
                    for value, last in last_uses.items()
                    if value not in own
                )
                most = max(most, passing + _EXPANDED.get(inner.name, _PLAIN))
    return most


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
    """An operation next to a root op."""

    what: str
    shared: tuple[int, ...]
    own: int | None
    bits: int
    live: int = 0


def neighbors(workload: Workload) -> tuple[Neighbor, ...]:
    """Return the operations that are computed next to a root op, one of each kind."""
    # Map the loops of each operation to loops of the root op.
    root, computing = workload.root, function_ops(workload.function).computing
    # Loops are tied if one operation computes a value that another one reads or overwrites. A value that several
    # operations read is not a reason to fuse them.
    # The values that each operation reads, overwrites or computes, with the loops that index their dimensions.
    accesses: dict[mlir.Operation, list[tuple[mlir.Value[mlir.Type], tuple[int | None, ...]]]] = {}
    tied: dict[mlir.Operation, dict[int, int]] = {each: {} for each in computing}
    for each in computing:
        moved = _moved(each)
        if moved is not None:
            accesses[each] = [(moved, tuple(range(len(shape(moved.type) or ()))))]
        else:
            op = StructuredOp(each)
            inputs = zip(each.operands, op.operand_loops, strict=False)
            outputs = zip(each.results, op.operand_loops[op.first_output :], strict=False)
            accesses[each] = [*inputs, *outputs]
    handed_on: dict[mlir.Value[mlir.Type], list[tuple[mlir.Operation, tuple[int | None, ...]]]] = {
        result: [] for each in computing for result in each.results
    }
    for each in computing:
        for value, loops in accesses[each]:
            handed_on.get(value, []).append((each, loops))
    tied[root] = {loop: loop for loop in range(StructuredOp(root).loop_count)}
    waiting = [root]
    while waiting:
        one = waiting.pop()
        for value, loops in accesses[one]:
            for other, other_loops in handed_on.get(value, ()):
                # The maps of an `inner_tiled` leave out the dimensions of a packed tile, which are the last ones.
                new_ties = {
                    its: tied[one][loop]
                    for loop, its in zip(loops, other_loops, strict=False)
                    if loop in tied[one] and its is not None and its not in tied[other]
                }
                if new_ties:
                    tied[other] |= new_ties
                    waiting.append(other)
    result = (_neighbor(op, tied[op]) for op in computing if op != root)
    return tuple(dict.fromkeys(result))


def width(kind: mlir.Type) -> int | None:
    element = element_type(kind)
    return element.width if isinstance(element, mlir.IntegerType | mlir.FloatType) else None


def _moved(operation: mlir.Operation) -> mlir.Value[mlir.Type] | None:
    """Return the value with a dimension for each loop of an operation that moves elements by index; else None."""
    # The tiles of `map_store` are those of its input, and the tiles of `map_load` are those of its result.
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
        # The elements of the largest value that the operation reads or computes.
        values = [*operation.operands, *operation.results]
        shapes = [shape(value.type) for value in values if isinstance(value.type, mlir.ShapedType)]
        is_known = all(each is not None and None not in each for each in shapes)
        counts = (prod(size for size in each or () if size is not None) for each in shapes)
        largest = max(counts, default=1) if is_known else None
        return Neighbor(f"'{operation.name}'", (), largest, bits)
    sizes = op.sizes if moved is None else shape(moved.type) or ()
    # The vector tiles that the compiler chose for the operation.
    attribute = operation.attributes.get(names.LOWERING_CONFIG)
    levels = (attribute is not None and read_cpu_configuration(attribute)) or {}
    configured: dict[int, int] = {}
    for level in _VECTOR_LEVELS:
        tiling = levels.get(level.value)
        if tiling is not None and not tiling.scalable:
            configured |= {loop: tile for loop, tile in enumerate(tiling.sizes) if tile}
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
