"""Programs of problems: a module with a function for each, in the forms that PyTorch exports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from iree.compiler import ir as mlir
from iree.compiler.dialects import arith, func, linalg, tensor  # type: ignore[attr-defined]

from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.serialization import to_text
from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.problems import (
    Attention,
    Convolution,
    Pooling,
    Problem,
    Product,
    RowOperation,
    Rows,
)
from tuninglink.tuning.problems.building_values import (
    accumulator_type,
    indexing_map,
    mlir_type,
    narrowed,
    value_of,
    zeros,
)
from tuninglink.tuning.problems.sliding_windows import convolution_parts, pooling_parts


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
        result = compute(*block.arguments)
        func.ReturnOp([result])
    kind = mlir.FunctionType.get(inputs, [result.type])
    function.attributes["function_type"] = mlir.TypeAttr.get(kind)


def _parts(problem: Problem) -> tuple[list[list[int]], Callable[..., Value]]:
    """Return the shapes of the arguments, and the builder of the result from them."""
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


def _rows(problem: Rows) -> tuple[list[list[int]], Callable[..., Value]]:
    shape = [problem.rows, problem.columns]

    def softmax(matrix: Value) -> Value:
        init = tensor.empty(shape, mlir_type(problem.element))
        return value_of(linalg.SoftmaxOp([init.type], matrix, init, 1))

    def sums(matrix: Value) -> Value:
        init = zeros(shape[:1], problem.element)
        kinds = [
            mlir.Attribute.parse(f"#linalg.iterator_type<{kind}>")
            for kind in ("parallel", "reduction")
        ]
        maps = mlir.ArrayAttr.get(
            [mlir.AffineMapAttr.get(indexing_map("rc", access)) for access in ("rc", "r")]
        )
        op = linalg.GenericOp([init.type], [matrix], [init], maps, mlir.ArrayAttr.get(kinds))
        types = [mlir_type(problem.element), accumulator_type(problem.element)]
        body = op.regions[0].blocks.append(*types, arg_locs=[mlir.Location.unknown()] * 2)
        with mlir.InsertionPoint(body):
            element, total = body.arguments
            wide = element if element.type == total.type else arith.extf(total.type, element)
            linalg.YieldOp([arith.addf(wide, total)])
        return narrowed(op, problem.element)

    return [shape], softmax if problem.operation is RowOperation.SOFTMAX else sums
