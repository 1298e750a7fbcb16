"""Programs of problems: a module with a function for each problem, in the forms that PyTorch exports; attentions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import (  # type: ignore[attr-defined]
    arith,
    func,
    linalg,
    tensor,
)

from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.serialization import to_text
from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.problems import (
    Attention,
    Elementwise,
    Mask,
    Normalization,
    Problem,
    Product,
    RowMove,
    Rows,
    ScaledProduct,
    TopK,
)
from tuninglink.tuning.problems.building_values import (
    Parts,
    Stored,
    added_product,
    computed,
    constant_zero,
    indexing_map,
    mlir_type,
    narrowed,
    reinterpreted,
    value_of,
    zeros,
)
from tuninglink.tuning.problems.problem_text import SCALED_BLOCK, ElementType
from tuninglink.tuning.problems.row_programs import (
    elementwise_parts,
    move_parts,
    normalization_parts,
    rows_parts,
    topk_parts,
)
from tuninglink.tuning.problems.window_programs import convolution_parts, pooling_parts
from tuninglink.tuning.problems.windows import Convolution, Pooling


def attention_parts(problem: Attention) -> tuple[list[list[int]], Callable[..., Value]]:
    """Return the shapes of queries, keys, values and mask, and the builder of the result."""
    heads, queries, keys = problem.heads, problem.queries, problem.keys
    kv_heads, features = problem.kv_heads or heads, problem.features
    accesses = ("bmk", "blk", "bln", "", *(["bml"] if problem.mask else []), "bmn")

    def compute(query: Value, key: Value, value: Value, *mask: Value) -> Value:
        if problem.mask is Mask.CAUSAL:
            mask = (_causal_mask([heads, queries, keys], mlir_type(problem.element)),)
        # The scale is that of the features.
        scale = arith.constant(mlir.F32Type.get(), features**-0.5)
        init = tensor.empty([heads, queries, features], mlir_type(problem.element))
        shared = (_repeated(operand, heads // kv_heads) for operand in (key, value))
        return _attended([query, *shared, value_of(scale), *mask, value_of(init)], accesses)

    shapes = [[heads, queries, features], *[[kv_heads, keys, features]] * 2]
    is_given = problem.mask is Mask.GIVEN
    return [*shapes, *([[heads, queries, keys]] if is_given else [])], compute


def _attended(operands: Sequence[Value], accesses: Sequence[str]) -> Value:
    """Return the result of an attention that leaves scores unchanged."""
    maps = [mlir.AffineMapAttr.get(indexing_map("bmnkl", access)) for access in accesses]
    op = mlir.Operation.create(
        "iree_linalg_ext.attention",
        results=[operands[-1].type],
        operands=operands,
        attributes={"indexing_maps": mlir.ArrayAttr.get(maps)},
        regions=1,
    )
    location = mlir.Location.unknown()
    body = op.regions[0].blocks.append(mlir.F32Type.get(), arg_locs=[location])
    with mlir.InsertionPoint(body):
        mlir.Operation.create("iree_linalg_ext.yield", operands=list(body.arguments))
    value: Value = op.results[0]
    return value


def _causal_mask(shape: Sequence[int], kind: mlir.Type) -> Value:
    """Return the mask that hides the keys after the position of each query, as PyTorch exports it."""
    zero = constant_zero(kind)
    hidden = value_of(arith.constant(kind, -math.inf))

    def score(_: Value) -> Value:
        query, key = (value_of(linalg.IndexOp(dimension)) for dimension in (1, 2))
        is_seen = arith.cmpi(arith.CmpIPredicate.sge, query, key)
        return value_of(arith.select(is_seen, zero, hidden))

    init = linalg.fill(zero, outs=[tensor.empty(shape, kind)])
    return computed([], [indexing_map("bml", "bml")], value_of(init), score)


def _repeated(operand: Value, count: int) -> Value:
    """Return keys or values whose heads several heads of queries share, as PyTorch exports them."""
    if count == 1:
        return operand
    kind = mlir.RankedTensorType(operand.type)
    heads, *rest = kind.shape
    maps = [indexing_map("bglk", access) for access in ("blk", "bglk")]
    init = value_of(tensor.empty([heads, count, *rest], kind.element_type))
    repeated = computed([operand], maps, init, lambda element, _: element)
    shape = mlir.RankedTensorType.get([heads * count, *rest], kind.element_type)
    groups = mlir.ArrayAttr.get([_indices(0, 1), _indices(2), _indices(3)])
    return value_of(tensor.CollapseShapeOp(shape, repeated, groups))


def _indices(*dimensions: int) -> mlir.ArrayAttr:
    kind = mlir.IntegerType.get_signless(64)
    return mlir.ArrayAttr.get([mlir.IntegerAttr.get(kind, index) for index in dimensions])


def program_of(problems: Iterable[Problem]) -> str:
    """Return the text of a module with one function for each distinct problem."""
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
    arguments, compute = _PARTS[type(problem)](problem)
    inputs = [_argument_type(argument, problem) for argument in arguments]
    function = func.FuncOp(function_name(problem), (inputs, []))
    block = function.add_entry_block()
    with mlir.InsertionPoint(block):
        output = compute(*block.arguments)
        results = [output] if isinstance(output, mlir.Value) else list(output)
        func.ReturnOp(results)
    kind = mlir.FunctionType.get(inputs, [result.type for result in results])
    function.attributes["function_type"] = mlir.TypeAttr.get(kind)


def _argument_type(argument: list[int] | Stored, problem: Problem) -> mlir.Type:
    if isinstance(argument, Stored):
        return mlir.RankedTensorType.get(argument.shape, mlir.Type.parse(argument.kind))
    return mlir.RankedTensorType.get(argument, mlir.Type.parse(problem.element.value))


def _product(problem: Product) -> Parts:
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


def _scaled_product(problem: ScaledProduct) -> Parts:
    sizes = {"m": problem.m, "n": problem.n, "o": problem.blocks, "i": SCALED_BLOCK}
    lead = ""
    if problem.batch is not None:
        sizes, lead = {"b": problem.batch, **sizes}, "b"
    accesses = [lead + access for access in ("moi", "noi", "mo", "no", "mn")]
    maps = [indexing_map(list(sizes), access) for access in accesses]
    *operands, result = ([sizes[loop] for loop in access] for access in accesses)
    kinds = [problem.element.value] * 2 + ["f8E8M0FNU"] * 2

    def added(left: Value, right: Value, scale: Value, other_scale: Value, total: Value) -> Value:
        wide = value_of(arith.scaling_extf(total.type, left, scale))
        other = value_of(arith.scaling_extf(total.type, right, other_scale))
        return added_product(wide, other, total)

    def compute(*stored: Value) -> Value:
        values = [
            reinterpreted(argument, shape, mlir.Type.parse(kind))
            for argument, shape, kind in zip(stored, operands, kinds, strict=True)
        ]
        return computed(values, maps, zeros(result, ElementType.F32), added)

    # Arguments cannot have elements of less than a byte.
    *matrices, first, second = operands
    bytes_of_block = SCALED_BLOCK * problem.element.bits // 8
    stored = [*([*shape[:-1], bytes_of_block] for shape in matrices), first, second]
    return [Stored(shape, "i8") for shape in stored], compute


_PARTS: Final[dict[type, Callable[[Any], Parts]]] = {
    Product: _product,
    ScaledProduct: _scaled_product,
    Convolution: convolution_parts,
    Pooling: pooling_parts,
    Attention: attention_parts,
    Rows: rows_parts,
    Normalization: normalization_parts,
    TopK: topk_parts,
    Elementwise: elementwise_parts,
    RowMove: move_parts,
}
"""The shapes of the arguments, and the builder of the result or the results from them, by kind of problem."""
