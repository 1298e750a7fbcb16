"""Programs that show whether a kernel reads or writes past the ends of its operands and its result."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.kernels.graphs import repeated_inputs
from tuninglink.kernels.producers import reshaped
from tuninglink.mlir import thread_context, to_text
from tuninglink.payloads import Value, build, filled, new_function

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.kernels.kernel import KernelCall

_GUARD: Final = 4096
"""The elements after an operand or a result: more than a row of any tile."""

_CONTENT: Final = -77.0
"""The value of the elements after a result, and after operands that are integers."""


def guarded_program(call: KernelCall, count: int) -> str:
    """Return a program that calls a kernel twice: plainly, and with guards.

    Its arguments are those of `repeated_program`. Guards of operands are NaNs or integers; a mask of i1 has none. Results are that of
    the plain call, the other one, and what is then after it.
    """
    with thread_context(), mlir.Location.unknown():
        problem = call.problem
        written = mlir.RankedTensorType(problem.tensors()[-1])
        size = prod(written.shape)
        inputs = repeated_inputs(problem, count)
        guard = mlir.RankedTensorType.get([_GUARD], written.element_type)
        module, block = new_function(inputs, [written, written, guard], "main")
        with mlir.InsertionPoint(block):
            own = problem.loaded([block.arguments[0], *block.arguments[count:]])
            wide = mlir.RankedTensorType.get([size + _GUARD], written.element_type)
            destination = filled(wide, _CONTENT)
            result = call.launched([*map(_guarded, own)], wide, destination)
            flat = mlir.RankedTensorType.get([size], written.element_type)
            head = reshaped(_slice(result, 0, flat), written, [[*range(written.rank)]])
            plain = call.launched(own, written)
            mlir.Operation.create(
                "func.return", operands=[plain, head, _slice(result, size, guard)]
            )
        module.verify()
        return to_text(module)


def guard_fault(outputs: Sequence[np.ndarray[Any, Any]]) -> str:
    """Return what is wrong, from the results of a program with guards; empty if nothing is."""
    plain, head, after = (np.asarray(output) for output in outputs)
    if (after != after.dtype.type(_CONTENT)).any():
        return "it writes past the end of its result"
    return "" if plain.tobytes() == head.tobytes() else "it reads past the end of an operand"


def _guarded(value: Value) -> Value:
    """Build a tensor with one dimension, whose first elements are those of a value; return a number itself."""
    kind = value.type
    is_tensor = isinstance(kind, mlir.RankedTensorType) and kind.rank > 0
    if not is_tensor or str(kind.element_type) == "i1":
        return value
    guard = float("nan") if isinstance(kind.element_type, mlir.FloatType) else _CONTENT
    size = prod(kind.shape)
    wide = mlir.RankedTensorType.get([size + _GUARD], kind.element_type)
    flat = mlir.RankedTensorType.get([size], kind.element_type)
    return build(
        "tensor.insert_slice",
        wide,
        reshaped(value, flat, [[*range(kind.rank)]]),
        filled(wide, guard),
        static_offsets=mlir.DenseI64ArrayAttr.get([0]),
        static_sizes=mlir.DenseI64ArrayAttr.get([size]),
        static_strides=mlir.DenseI64ArrayAttr.get([1]),
        operandSegmentSizes=mlir.DenseI32ArrayAttr.get([1, 1, 0, 0, 0]),
    )


def _slice(value: Value, offset: int, kind: mlir.RankedTensorType) -> Value:
    return build(
        "tensor.extract_slice",
        kind,
        value,
        static_offsets=mlir.DenseI64ArrayAttr.get([offset]),
        static_sizes=mlir.DenseI64ArrayAttr.get([*kind.shape]),
        static_strides=mlir.DenseI64ArrayAttr.get([1]),
        operandSegmentSizes=mlir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
    )
