"""Programs of problems: a module with a function for each, in the forms that PyTorch exports."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from iree.compiler import ir as mlir
from iree.compiler.dialects import arith, func, linalg, tensor  # type: ignore[attr-defined]

from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.serialization import to_text
from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.problems import (
    Attention,
    Problem,
    Product,
    RowOperation,
    Rows,
    TopK,
)
from tuninglink.tuning.problems.building_values import (
    computed,
    indexing_map,
    mlir_type,
    narrowed,
    value_of,
    widened,
    zeros,
)
from tuninglink.tuning.problems.convolution_programs import convolution_parts
from tuninglink.tuning.problems.operands import ElementType
from tuninglink.tuning.problems.sliding_windows import pooling_parts
from tuninglink.tuning.problems.windows import Convolution, Pooling


def program_of(problems: Iterable[Problem]) -> str:
    """Return a module with a function for each problem, equal ones once, as text."""
    with thread_context(), mlir.Location.unknown():
        module = mlir.Module.create()
        with mlir.InsertionPoint(module.body):
            for problem in dict.fromkeys(problems):
                _add(problem)
        module.operation.verify()
        return to_text(module.operation)


def function_name(problem: Problem) -> str:
    """Return the name of a problem's function."""
    return re.sub(r"\W+", "_", str(problem))


def _add(problem: Problem) -> None:
    """Add the function of a problem at the current insertion point."""
    element = mlir_type(problem.element)
    shapes, compute = _parts(problem)
    inputs = [mlir.RankedTensorType.get(shape, element) for shape in shapes]
    function = func.FuncOp(function_name(problem), (inputs, []))
    block = function.add_entry_block()
    with mlir.InsertionPoint(block):
        output = compute(*block.arguments)
        results = [output] if isinstance(output, mlir.Value) else list(output)
        func.ReturnOp(results)
    kind = mlir.FunctionType.get(inputs, [result.type for result in results])
    function.attributes["function_type"] = mlir.TypeAttr.get(kind)


def _parts(problem: Problem) -> tuple[list[list[int]], Callable[..., Value | Sequence[Value]]]:
    """Return the shapes of the arguments, and the builder of the result or the results from them."""
    match problem:
        case Product():
            return _product(problem)
        case Convolution():
            return convolution_parts(problem)
        case Pooling():
            return pooling_parts(problem)
        case Attention():
            return _attention(problem)
        case Rows():
            return _rows(problem)
        case TopK(rows, columns, count):
            compute = partial(_selected, "topk", [rows, count], problem.element)
            return [[rows, columns]], compute


def _product(problem: Product) -> tuple[list[list[int]], Callable[..., Value]]:
    sizes = {"m": problem.m, "n": problem.n, "k": problem.k}
    lead = ""
    if problem.batch is not None:
        sizes, lead = {"b": problem.batch, **sizes}, "b"
    lhs = lead + ("km" if problem.transposes_a else "mk")
    rhs = lead + ("nk" if problem.transposes_b else "kn")
    accesses = (lhs, rhs, f"{lead}mn")
    maps = [indexing_map(list(sizes), access) for access in accesses]
    build = linalg.batch_matmul if lead else linalg.matmul

    def compute(left: Value, right: Value) -> Value:
        init = zeros([sizes[loop] for loop in accesses[-1]], problem.element)
        return narrowed(build(left, right, outs=[init], indexing_maps=maps), problem.element)

    return [[sizes[loop] for loop in access] for access in (lhs, rhs)], compute


def _attention(problem: Attention) -> tuple[list[list[int]], Callable[..., Value]]:
    heads, queries, keys, features = (
        *(problem.heads, problem.queries),
        *(problem.keys, problem.features),
    )
    loops = "bmnkl"
    mask = ["bml"] if problem.has_mask else []
    accesses = ("bmk", "blk", "bln", "", *mask, "bmn")
    f32 = mlir.F32Type.get()

    def compute(*operands: Value) -> Value:
        # The scale is that of the features.
        init = tensor.empty([heads, queries, features], mlir_type(problem.element))
        scale = arith.constant(f32, features**-0.5)
        maps = [mlir.AffineMapAttr.get(indexing_map(loops, access)) for access in accesses]
        op = mlir.Operation.create(
            "iree_linalg_ext.attention",
            results=[init.type],
            operands=[*operands[:3], scale, *operands[3:], init],
            attributes={"indexing_maps": mlir.ArrayAttr.get(maps)},
            regions=1,
        )
        # Its region yields the scores unchanged.
        body = op.regions[0].blocks.append(f32, arg_locs=[mlir.Location.unknown()])
        with mlir.InsertionPoint(body):
            mlir.Operation.create("iree_linalg_ext.yield", operands=list(body.arguments))
        value: Value = op.results[0]
        return value

    shapes = [[heads, queries, features], *[[heads, keys, features]] * 2]
    return [*shapes, *([[heads, queries, keys]] if mask else [])], compute


def _rows(problem: Rows) -> tuple[list[list[int]], Callable[..., Value | Sequence[Value]]]:
    shape = [problem.rows, problem.columns]

    def softmax(matrix: Value) -> Value:
        init = tensor.empty(shape, mlir_type(problem.element))
        return value_of(linalg.SoftmaxOp([init.type], matrix, init, 1))

    def sums(matrix: Value) -> Value:
        # Sums have their own type until the end.
        init = zeros(shape[:1], problem.element)
        maps = [indexing_map("rc", access) for access in ("rc", "r")]

        def added(element: Value, total: Value) -> Value:
            return value_of(arith.addf(widened(element, total.type), total))

        return narrowed(computed([matrix], maps, init, added), problem.element)

    builders: dict[RowOperation, Callable[..., Value | Sequence[Value]]] = {
        RowOperation.SUM: sums,
        RowOperation.SOFTMAX: softmax,
        RowOperation.ARG_COMPARE: partial(_selected, "arg_compare", shape[:1], problem.element),
    }
    return [shape], builders[problem.operation]


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
