"""The loops of a root op, and what becomes a vector when they are tiled."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.root_ops import function_ops
from tuninglink.iree.structured_op import REDUCTION, StructuredOp, element_type, shape
from tuninglink.mlir import names
from tuninglink.mlir.walk import visit
from tuninglink.solver.answers import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.iree.structured_op import Sizes
    from tuninglink.spaces.workload import Workload

_VECTORIZED_DIALECTS: Final = ("arith.", "math.", "linalg.yield")
"""What the body of an operation may hold so that it is certainly vectorized."""

_COMBINERS: Final = frozenset(
    f"arith.{each}"
    for each in (
        *("addf", "addi", "mulf", "muli", "andi", "ori", "xori"),
        *("maximumf", "minimumf", "maxnumf", "minnumf", "maxsi", "minsi", "maxui", "minui"),
    )
)
"""What a reduction may combine its elements with so that it is certainly vectorized."""

_BYTE: Final = 8
_WIDENED: Final = 32
"""Narrow floating-point numbers may be computed with in this width."""


@dataclass(frozen=True)
class Loop:
    """A loop.

    Attributes:
        size: its extent, None if it is dynamic.
        reduces: whether it is a reduction.
    """

    size: int | None
    reduces: bool


@dataclass(frozen=True)
class VectorOf:
    """Something that is computed in one vector over some loops.

    Attributes:
        what: what it is, in words.
        loops: the loops that it spans.
        bits: the width of an element.
    """

    what: str
    loops: tuple[int, ...]
    bits: int


@dataclass(frozen=True)
class LoopNest:
    """The loops of a root op.

    Attributes:
        operation: the name of the operation.
        loops: the loops, in order.
        vectors: what is certainly one vector if the operation is vectorized; none if that is not certain.
        widest: the width in bits of the widest element that the operation computes with.
        beside: what follows or precedes the operation over its parallel loops, such as the fill of its result.
        untiled_bits: the size of the largest value of an operation beside it that its tiles say nothing about, 0
            without one, None if it is not known.
        is_alone: whether no other operation in the dispatch is configured.
    """

    operation: str
    loops: tuple[Loop, ...]
    vectors: tuple[VectorOf, ...]
    widest: int
    beside: tuple[VectorOf, ...]
    untiled_bits: int | None
    is_alone: bool


def read_nest(workload: Workload) -> LoopNest:
    """Returns the loops of a root op.

    Raises:
        UndecidedError: they are not known.
    """
    root, problem = workload.root, workload.problem
    op = StructuredOp(root)
    if not op.maps or not problem.dimensions:
        raise UndecidedError(f"which loops '{root.name}' has is not known")
    loops = tuple(
        Loop(dimension.size, iterator == REDUCTION)
        for dimension, iterator in zip(problem.dimensions, op.iterator_types, strict=True)
    )
    widths = [_width(each.type) for each in root.operands]
    widest = max((each or 64 for each in widths), default=64)
    parallel = tuple(number for number, each in enumerate(loops) if not each.reduces)
    beside, untiled = _beside(workload, op, loops, parallel)
    configured = function_ops(workload.function).configured
    is_alone = all(each == root for each in configured)
    vectors = _vectors(op, widths)
    return LoopNest(root.name, loops, vectors, widest, beside, untiled, is_alone)


def _vectors(op: StructuredOp, widths: Sequence[int | None]) -> tuple[VectorOf, ...]:
    """Returns the vectors that there are for certain.

    All loops at once are one vector: the compiler counts a contraction as that, a reduction combines it, and
    what reduces nothing computes its results so.
    """
    root = op.operation
    if op.kind not in (OpKind.CONTRACTION, OpKind.REDUCTION, OpKind.ELEMENTWISE):
        return ()
    if not all(map(_is_tensor_or_scalar, root.operands)) or not _is_vectorized(root):
        return ()
    if any(each is None or each < _BYTE for each in widths):
        return ()
    if op.kind is OpKind.REDUCTION and not _combines(root):
        return ()
    if any(None in loops for loops in op.operand_loops):
        return ()
    known = [each for each in widths if each is not None]
    bits = known[-1] if op.kind is OpKind.CONTRACTION else min(known)
    everything = VectorOf("all loops", tuple(range(op.loop_count)), bits)
    operands = [
        VectorOf(f"operand {number}", _positions(found), width)
        for number, (found, width) in enumerate(zip(op.maps, known, strict=False))
        if width > bits
    ]
    return (everything, *operands)


def _beside(
    workload: Workload, op: StructuredOp, loops: Sequence[Loop], parallel: tuple[int, ...]
) -> tuple[tuple[VectorOf, ...], int | None]:
    """Returns what is computed beside a root op: over its parallel loops, and otherwise."""
    sizes = tuple(loops[each].size for each in parallel)
    output = tuple(loops[each].size for each in _positions(op.maps[-1]))
    found: list[VectorOf] = []
    untiled: int | None = 0
    for each in function_ops(workload.function).computing:
        if each == workload.root:
            continue
        computed = _result_shape(each)
        bits = max((_width(operand.type) or 64 for operand in each.operands), default=64)
        bits = max(bits, _WIDENED)
        is_parallel = each.name == names.FILL or StructuredOp(each).kind is OpKind.ELEMENTWISE
        if computed in (output, sizes) and is_parallel:
            found.append(VectorOf(f"'{each.name}'", parallel, bits))
        elif computed is None or None in computed or untiled is None:
            untiled = None
        else:
            volume = prod(size for size in computed if size is not None)
            untiled = max(untiled, bits * max(volume, _largest_operand(each)))
    return tuple(dict.fromkeys(found)), untiled


def _positions(affine: mlir.AffineMap) -> tuple[int, ...]:
    return tuple(each.position for each in affine.results if isinstance(each, mlir.AffineDimExpr))


def _is_vectorized(root: mlir.Operation) -> bool:
    inside: list[str] = []
    for region in root.regions:
        for block in region.blocks:
            for each in block.operations:
                visit(each.operation, lambda operation: inside.append(operation.name))
    return all(each.startswith(_VECTORIZED_DIALECTS) for each in inside)


def _combines(root: mlir.Operation) -> bool:
    """Tells whether each result is combined with what was there by one operation: only then it is vectorized."""
    (block,) = root.regions[0].blocks
    yielded = list(block.operations)[-1].operation.operands
    arguments = list(block.arguments)[-len(yielded) :]
    for value, argument in zip(yielded, arguments, strict=True):
        owner = value.owner
        if isinstance(owner, mlir.Block) or owner.operation.name not in _COMBINERS:
            return False
        if argument not in owner.operation.operands:
            return False
    return True


def _is_tensor_or_scalar(value: mlir.Value[mlir.Type]) -> bool:
    return not isinstance(value.type, mlir.MemRefType | mlir.UnrankedMemRefType)


def _result_shape(operation: mlir.Operation) -> Sizes | None:
    computed = list(operation.results)[:1] or list(operation.operands)[-1:]
    return shape(computed[0].type) if computed else None


def _largest_operand(operation: mlir.Operation) -> int:
    volumes = [1]
    for each in operation.operands:
        kind = each.type
        if isinstance(kind, mlir.ShapedType) and kind.has_static_shape:
            volumes.append(prod(kind.shape))
    return max(volumes)


def _width(kind: mlir.Type) -> int | None:
    element = element_type(kind)
    if isinstance(element, mlir.IntegerType | mlir.FloatType):
        return element.width
    return None
