"""Programs of operations on matrices: on their rows, such as reductions and normalizations, or on their elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import arith, linalg, tensor  # type: ignore[attr-defined]
from iree.compiler.dialects import math as math_ops  # type: ignore[attr-defined]

from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.problems import (
    Elementwise,
    MatrixOperation,
    MoveOperation,
    Norm,
    Normalization,
    RowMove,
    RowOperation,
    Rows,
    TopK,
)
from tuninglink.tuning.problems.building_values import (
    Parts,
    Stored,
    computed,
    indexing_map,
    mlir_type,
    narrowed,
    value_of,
    widened,
    zeros,
)
from tuninglink.tuning.problems.problem_text import ElementType


def rows_parts(
    problem: Rows,
) -> tuple[list[list[int]], Callable[..., Value | Sequence[Value]]]:
    """Return the shape of the matrix, and the builder of the results."""
    shape = [problem.rows, problem.columns]

    def softmax(matrix: Value) -> Value:
        init = tensor.empty(shape, mlir_type(problem.element))
        return value_of(linalg.SoftmaxOp([init.type], matrix, init, 1))

    def sums(matrix: Value) -> Value:
        return narrowed(_sums_of_rows(matrix, problem.element), problem.element)

    builders: dict[RowOperation, Callable[..., Value | Sequence[Value]]] = {
        RowOperation.SUM: sums,
        RowOperation.SOFTMAX: softmax,
        RowOperation.ARG_COMPARE: partial(_selected, "arg_compare", shape[:1], problem.element),
    }
    return [shape], builders[problem.operation]


def topk_parts(
    problem: TopK,
) -> tuple[list[list[int]], Callable[..., Sequence[Value]]]:
    """Return the shape of the matrix, and the builder of the elements and their positions."""
    compute = partial(_selected, "topk", [problem.rows, problem.count], problem.element)
    return [[problem.rows, problem.columns]], compute


def normalization_parts(problem: Normalization) -> tuple[list[list[int]], Callable[..., Value]]:
    """Return the shapes of the matrix and of weights and biases, and the builder of the normalized matrix."""
    is_centered, element = problem.norm is Norm.LAYER, problem.element

    def compute(matrix: Value, *affine: Value) -> Value:
        # PyTorch widens the matrix first.
        wide = matrix if element is ElementType.F32 else _elementwise(_identity, matrix)
        means = _mean(_sums_of_rows(wide, element), problem.columns) if is_centered else None
        centered = _elementwise(_difference, wide, means) if means else wide
        squares = _elementwise(_product, centered, centered, access="rc")
        variances = _mean(_sums_of_rows(squares, element), problem.columns)
        scales = _elementwise(_inverse_root, variances)
        result = _elementwise(_product, centered, scales)
        builders = (_product, _sum)
        for build, vector in zip(builders, affine, strict=False):
            result = _elementwise(build, result, vector, access="c")
        return narrowed(result, element)

    vectors = [[problem.columns]] * ((1 + is_centered) * problem.is_affine)
    return [[problem.rows, problem.columns], *vectors], compute


def _sums_of_rows(matrix: Value, element: ElementType) -> Value:
    """Return the sums of the rows of a matrix, in the type in which sums are computed."""
    init = zeros(mlir.RankedTensorType(matrix.type).shape[:1], element)
    maps = [indexing_map("rc", access) for access in ("rc", "r")]

    def added(number: Value, total: Value) -> Value:
        return value_of(arith.addf(widened(number, total.type), total))

    return computed([matrix], maps, init, added)


def _elementwise(
    build: Callable[..., Value], first: Value, second: Value | None = None, access: str = "r"
) -> Value:
    """Compute 32-bit numbers element by element.

    Args:
        build: builds a number from those of the operands.
        first: a matrix, or a number for each of its rows.
        second: another matrix, or numbers for each row or column.
        access: the dimensions of the second operand: rows (`r`), columns (`c`) or both.
    """
    shape, kind = mlir.RankedTensorType(first.type).shape, mlir.F32Type.get()
    loops = "rc"[: len(shape)]
    operands, accesses = (
        ([first], [loops]) if second is None else ([first, second], [loops, access])
    )

    def element(*numbers: Value) -> Value:
        *inputs, _ = numbers
        return build(*(widened(number, kind) for number in inputs))

    maps = [indexing_map(loops, letters) for letters in (*accesses, loops)]
    return computed(operands, maps, value_of(tensor.empty(shape, kind)), element)


def _identity(number: Value) -> Value:
    return number


def _difference(left: Value, right: Value) -> Value:
    return value_of(arith.subf(left, right))


def _product(left: Value, right: Value) -> Value:
    return value_of(arith.mulf(left, right))


def _sum(left: Value, right: Value) -> Value:
    return value_of(arith.addf(left, right))


def _mean(sums: Value, count: int) -> Value:
    """Divide sums of rows by their number of elements."""

    def divided(number: Value) -> Value:
        return value_of(arith.divf(number, value_of(arith.constant(number.type, float(count)))))

    return _elementwise(divided, sums)


def _inverse_root(variance: Value) -> Value:
    """Return the inverse of the root of a variance, which PyTorch's epsilon keeps from 0."""
    epsilon = value_of(arith.constant(variance.type, 1e-5))
    return value_of(math_ops.RsqrtOp(value_of(arith.addf(variance, epsilon))))


def _selected(op_name: str, shape: list[int], element: ElementType, matrix: Value) -> Any:
    """Return the largest elements of rows and their positions, by an op of IREE."""
    # The compiler takes positions of 32 bits alone in a top-k.
    bits = {"arg_compare": 64, "topk": 32}[op_name]
    value, index = mlir_type(element), mlir.IntegerType.get_signless(bits)
    starts = [arith.constant(value, -math.inf), arith.constant(index, 0)]
    inits = [
        value_of(linalg.fill(value_of(start), outs=[tensor.empty(shape, kind)]))
        for start, kind in zip(starts, (value, index), strict=True)
    ]
    dimension = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), 1)
    attributes: dict[str, mlir.Attribute] = {"dimension": dimension}
    if op_name == "arg_compare":
        # The positions that it could be given, and their base, are absent.
        attributes["operandSegmentSizes"] = mlir.DenseI32ArrayAttr.get([1, 0, 1, 1, 0])
    op = mlir.Operation.create(
        f"iree_linalg_ext.{op_name}",
        results=[init.type for init in inits],
        operands=[matrix, *inits],
        attributes=attributes,
        regions=1,
    )
    body = op.regions[0].blocks.append(value, value, arg_locs=[mlir.Location.unknown()] * 2)
    with mlir.InsertionPoint(body):
        is_larger = arith.cmpf(arith.CmpFPredicate.OGT, *body.arguments)
        mlir.Operation.create("iree_linalg_ext.yield", operands=[value_of(is_larger)])
    return op.results


_POSITION: Final = "i32"


def elementwise_parts(problem: Elementwise) -> Parts:
    """Return the shapes of the matrices, and the builder of the result."""
    shape = [problem.rows, problem.columns]

    def added(left: Value, right: Value) -> Value:
        init = value_of(tensor.empty(shape, mlir_type(problem.element)))
        maps = [indexing_map("rc", "rc")] * 3
        return computed([left, right], maps, init, lambda one, other, _: _sum(one, other))

    def transposed(matrix: Value) -> Value:
        init = tensor.empty(shape[::-1], mlir_type(problem.element))
        return value_of(linalg.transpose(matrix, outs=[init], permutation=[1, 0]))

    match problem.operation:
        case MatrixOperation.ADD:
            return [shape, shape], added
        case MatrixOperation.TRANSPOSE:
            return [shape], transposed


def move_parts(problem: RowMove) -> Parts:
    """Return the shapes of the matrix, of positions and of rows to write, and the builder of the result."""
    matrix, rows = [problem.rows, problem.columns], [problem.count, problem.columns]

    dimensions: dict[str, mlir.Attribute] = {"dimension_map": mlir.DenseI64ArrayAttr.get([0])}

    def gathered(table: Value, positions: Value) -> Value:
        init = value_of(tensor.empty(rows, mlir_type(problem.element)))
        op = mlir.Operation.create(
            "iree_linalg_ext.gather",
            results=[init.type],
            operands=[table, positions, init],
            attributes=dimensions,
        )
        return value_of(op)

    def scattered(updates: Value, positions: Value, original: Value) -> Value:
        op = mlir.Operation.create(
            "iree_linalg_ext.scatter",
            results=[original.type],
            operands=[updates, positions, original],
            attributes={**dimensions, "unique_indices": mlir.BoolAttr.get(True)},
            regions=1,
        )
        kinds = [mlir_type(problem.element)] * 2
        body = op.regions[0].blocks.append(*kinds, arg_locs=[mlir.Location.unknown()] * 2)
        with mlir.InsertionPoint(body):
            # The row that is written replaces the one before.
            mlir.Operation.create("iree_linalg_ext.yield", operands=[body.arguments[0]])
        return value_of(op)

    match problem.operation:
        case MoveOperation.GATHER:
            return [matrix, Stored([problem.count], _POSITION)], gathered
        case MoveOperation.SCATTER:
            return [rows, Stored([problem.count, 1], _POSITION), matrix], scattered
