"""The computation of a dispatch as a function on tensors, which the stock tools compile and run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import ml_dtypes
import numpy as np
from iree.compiler import ir as mlir
from iree.compiler.dialects import func  # type: ignore[attr-defined]
from iree.compiler.passmanager import PassManager

from tuninglink.iree.op_kinds import OpKind
from tuninglink.iree.structured_op import REDUCTION, StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.walk import collect, visit
from tuninglink.tuning.programs.benchmark import BufferLayout
from tuninglink.tuning.programs.compiled_program import element_type, is_float
from tuninglink.tuning.references.scalar_ops import UnsupportedOperationError
from tuninglink.tuning.references.stored_tensors import (
    LOAD,
    STORE,
    SUBSPAN,
    StoredTensor,
    tensor_of,
)

NAME: Final = "dispatch"
_SUM: Final = 4.0
_CLEAN_UP: Final = "builtin.module(canonicalize)"
"""The pipeline that removes unused offsets of bindings."""


@dataclass(frozen=True)
class TensorFunction:
    """A dispatch as a function.

    Attributes:
        text: a module with the function `NAME`.
        inputs: the tensors in bindings that correspond to its arguments.
        outputs: the bindings that correspond to its results.
    """

    text: str
    inputs: tuple[StoredTensor, ...]
    outputs: tuple[int, ...]


def tensor_function(source: bytes, layout: BufferLayout) -> TensorFunction:
    """Return the computation of a dispatch as a function on tensors.

    Args:
        source: its benchmark at `executable-sources`.
        layout: the layout of its buffer.

    Raises:
        UnsupportedOperationError: it loads parts of bindings or tensors of dynamic size.
    """
    benchmark = mlir.Module.parse(source, thread_context())
    (dispatch,) = collect(benchmark.operation, names.FUNCTION)
    loads, stores = collect(dispatch, LOAD), collect(dispatch, STORE)
    _expect_whole_loads(loads, layout)
    inputs = tuple(tensor_of(load.operands[0], layout) for load in loads)
    outputs = tuple(tensor_of(store.operands[1], layout).binding for store in stores)
    with benchmark.context, mlir.Location.unknown():
        module = mlir.Module.create()
        with mlir.InsertionPoint(module.body):
            types = [load.results[0].type for load in loads]
            results = [store.operands[0].type for store in stores]
            function = func.FuncOp(NAME, (types, results))
            block = function.add_entry_block()
            with mlir.InsertionPoint(block):
                end = func.ReturnOp([store.operands[0] for store in stores]).operation
    for load, argument in zip(loads, block.arguments, strict=True):
        load.results[0].replace_all_uses_with(argument)
    for operation in (*stores, *loads):
        operation.erase()
    for operation in [op.operation for op in dispatch.regions[0].blocks[0].operations][:-1]:
        if operation.name == SUBSPAN:
            operation.erase()
        else:
            operation.move_before(end)
    PassManager.parse(_CLEAN_UP, context=module.context).run(module.operation)
    return TensorFunction(str(module), inputs, outputs)


def summation_error(source: bytes) -> float:
    """Return the error of a dispatch's sums in a different order, relative to their magnitude.

    Roundings of partial sums that grow as a random walk deviate by 0.2 units of the accumulator's precision times
    `sqrt(terms)` (standard deviation); four units leave room for the largest of millions.

    Args:
        source: its benchmark at `executable-sources`.
    """
    benchmark = mlir.Module.parse(source, thread_context())
    largest = 0.0

    def look(operation: mlir.Operation) -> None:
        nonlocal largest
        op = StructuredOp(operation)
        if op.maps and REDUCTION in op.iterator_types and op.results:
            dtype = element_type(op.results[0].element)
            if dtype is not None and is_float(op.results[0].element):
                precision = float(ml_dtypes.finfo(_accumulator(op, dtype)).eps)  # type: ignore[no-untyped-call]
                largest = max(largest, _SUM * precision * math.sqrt(_terms(op)))

    visit(benchmark.operation, look)
    return largest


def _accumulator(op: StructuredOp, result: np.dtype) -> np.dtype:
    """Return the accumulator type of an operation: f32 for attention, the result type for others."""
    return np.dtype(np.float32) if op.kind is OpKind.ATTENTION else result


def _terms(op: StructuredOp) -> int:
    """Return the number of summed values: in attention, those of both products."""
    loops = zip(op.iterator_types, op.sizes, strict=True)
    sizes = [size or 1 for kind, size in loops if kind == REDUCTION]
    return max(sizes) if op.kind is OpKind.ATTENTION else math.prod(sizes)


def _expect_whole_loads(loads: list[mlir.Operation], layout: BufferLayout) -> None:
    for load in loads:
        tensor = tensor_of(load.operands[0], layout)
        sizes = mlir.RankedTensorType(load.results[0].type).shape
        if math.prod(sizes) != math.prod(tensor.part.shape):
            raise UnsupportedOperationError("a load of a part of a binding")
