"""Programs of problems: a module with a function for each, in the forms that PyTorch exports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import arith, func, linalg  # type: ignore[attr-defined]

from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.serialization import to_text
from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.problems import (
    Attention,
    Normalization,
    Problem,
    Product,
    Rows,
    ScaledProduct,
    TopK,
)
from tuninglink.tuning.problems.attention_programs import attention_parts
from tuninglink.tuning.problems.building_values import (
    added_product,
    computed,
    indexing_map,
    mlir_type,
    narrowed,
    reinterpreted,
    value_of,
    zeros,
)
from tuninglink.tuning.problems.convolution_programs import convolution_parts
from tuninglink.tuning.problems.operands import SCALED_BLOCK, ElementType
from tuninglink.tuning.problems.row_programs import (
    normalization_parts,
    rows_parts,
    topk_parts,
)
from tuninglink.tuning.problems.sliding_windows import pooling_parts
from tuninglink.tuning.problems.windows import Convolution, Pooling

_Parts = tuple[list[list[int]], Callable[..., Value | Sequence[Value]]]


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
    if isinstance(problem, ScaledProduct):
        # Arguments cannot have elements of less than a byte.
        element: mlir.Type = mlir.IntegerType.get_signless(8)
    else:
        element = mlir_type(problem.element)
    shapes, compute = _PARTS[type(problem)](problem)
    inputs = [mlir.RankedTensorType.get(shape, element) for shape in shapes]
    function = func.FuncOp(function_name(problem), (inputs, []))
    block = function.add_entry_block()
    with mlir.InsertionPoint(block):
        output = compute(*block.arguments)
        results = [output] if isinstance(output, mlir.Value) else list(output)
        func.ReturnOp(results)
    kind = mlir.FunctionType.get(inputs, [result.type for result in results])
    function.attributes["function_type"] = mlir.TypeAttr.get(kind)


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


def _scaled_product(problem: ScaledProduct) -> _Parts:
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

    *matrices, first, second = operands
    bytes_of_block = SCALED_BLOCK * problem.element.bits // 8
    return [*([*shape[:-1], bytes_of_block] for shape in matrices), first, second], compute


_PARTS: Final[dict[type, Callable[[Any], _Parts]]] = {
    Product: _product,
    ScaledProduct: _scaled_product,
    Convolution: convolution_parts,
    Pooling: pooling_parts,
    Attention: attention_parts,
    Rows: rows_parts,
    Normalization: normalization_parts,
    TopK: topk_parts,
}
"""The shapes of the arguments, and the builder of the result or the results from them, by kind of problem."""
