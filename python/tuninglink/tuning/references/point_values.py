"""Values of some elements of a dispatch's outputs, computed with NumPy from its inputs.

The dispatch is read at `executable-sources`: loads of bindings, operations on tensors, stores. Evaluation goes from a
stored element back to the inputs on which it depends. A few elements of a large product take milliseconds. The
compiler's code generation is not involved.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.mlir import names
from tuninglink.mlir.walk import collect
from tuninglink.tuning.devices.numerics import elements
from tuninglink.tuning.programs.compiled_program import element_type
from tuninglink.tuning.references.loop_nests import NestEvaluation
from tuninglink.tuning.references.ordered_ops import ORDERED_OPERATIONS
from tuninglink.tuning.references.scalar_ops import (
    EVALUATED,
    Array,
    UnsupportedOperationError,
    evaluate,
    widened,
)
from tuninglink.tuning.references.stored_tensors import (
    LOAD,
    STORE,
    DrawnInputs,
    StoredTensor,
    static_integer,
    tensor_of,
)
from tuninglink.tuning.references.tensor_ops import (
    TENSOR_OPERATIONS,
    PointQuery,
    defining_operation,
    in_slice,
    row_major,
    static_shape,
    static_slice,
)

if TYPE_CHECKING:
    from tuninglink.tuning.devices.inputs import Bytes
    from tuninglink.tuning.programs.benchmark import BufferLayout

    Value = mlir.Value[Any]


_TO_GENERICS: Final = (
    "func.func(iree-codegen-decompose-softmax,iree-linalg-ext-convert-attention-to-online-attention,"
    "iree-linalg-ext-decompose-attention,linalg-generalize-named-ops,canonicalize)"
)


@dataclass(frozen=True)
class StoredOutput:
    """A tensor stored by a dispatch.

    Attributes:
        target: the tensor in a binding to which it is stored.
        value: the tensor.
        shape: its sizes.
        region: the part of the target that it fills.
    """

    target: StoredTensor
    value: Value
    shape: tuple[int, ...]
    region: tuple[slice, ...]

    def elements(self, content: Bytes) -> np.ndarray:
        """Return its elements in row-major order, from the bytes of its target."""
        whole = elements(self.target.part, content)[: math.prod(self.target.part.shape)]
        return whole.reshape(self.target.part.shape)[self.region].reshape(-1)


class PointEvaluator:
    """Evaluates the outputs of a dispatch at single elements.

    Args:
        benchmark: the benchmark of the dispatch at `executable-sources`; it is changed.
        layout: the layout of its buffer.
        inputs: the contents of the bindings before it runs.
        is_reversed: whether loops run in reverse: values that change by this are undefined.

    Attributes:
        outputs: the stored tensors.

    Raises:
        UnsupportedOperationError: this form of dispatch is not supported.
    """

    def __init__(
        self,
        benchmark: mlir.Operation,
        layout: BufferLayout,
        inputs: DrawnInputs,
        *,
        is_reversed: bool = False,
    ) -> None:
        functions = collect(benchmark, names.FUNCTION)
        if len(functions) != 1:
            raise UnsupportedOperationError(f"{len(functions)} functions")
        self._benchmark = benchmark  # the function lives in it
        self._function = functions[0]
        self._layout, self._inputs = layout, inputs
        self._is_reversed = is_reversed
        self._computed: dict[tuple[object, ...], Array] = {}
        self._resources: dict[str, Bytes] | None = None
        try:
            PassManager.parse(_TO_GENERICS, context=benchmark.context).run(self._function)
        except mlir.MLIRError as failure:
            raise UnsupportedOperationError("its decomposition") from failure
        stores = collect(self._function, STORE)
        self.outputs = [self._output(store) for store in stores]

    def at(self, value: Value, index: Sequence[Array]) -> Array:
        """Return elements of a tensor, or a scalar.

        Args:
            value: the tensor.
            index: the positions in each dimension, as arrays that broadcast.

        Returns:
            An array that broadcasts to the shape of the positions.

        Raises:
            UnsupportedOperationError: an operation on which it depends is not supported.
        """
        key = (value, *((part.shape, part.tobytes()) for part in index))
        if key not in self._computed:
            self._computed[key] = self._evaluate(defining_operation(value), value, index)
        return self._computed[key]

    def _output(self, store: mlir.Operation) -> StoredOutput:
        value = store.operands[0]
        shape = static_shape(value)
        offsets, sizes, strides = static_slice(store)
        if math.prod(sizes) != math.prod(shape):
            raise UnsupportedOperationError("a store of another size")
        region = tuple(
            slice(first, first + (size - 1) * step + 1, step)
            for first, size, step in zip(offsets, sizes, strides, strict=True)
        )
        return StoredOutput(tensor_of(store.operands[1], self._layout), value, shape, region)

    def _evaluate(self, operation: mlir.Operation, value: Value, index: Sequence[Array]) -> Array:
        name, number = operation.name, mlir.OpResult(value).result_number
        query = PointQuery(self.at, operation, number, index, self._is_reversed)
        if name in _HANDLERS:
            return _HANDLERS[name](query)
        if name == "linalg.generic":
            return NestEvaluation(query).result()
        if name == LOAD:
            return self._load(operation, index)
        if name == "arith.constant":
            return self._constant_of(operation, index)
        if name in _PASSED:
            integer = static_integer(value)
            if integer is None:
                raise UnsupportedOperationError(name)
            return np.asarray(integer)
        if name not in EVALUATED:
            raise UnsupportedOperationError(name)
        operands = [
            self.at(operand, index if isinstance(operand.type, mlir.ShapedType) else ())
            for operand in operation.operands
        ]
        return evaluate(operation, operands)  # elementwise on tensors

    def _load(self, operation: mlir.Operation, index: Sequence[Array]) -> Array:
        tensor = tensor_of(operation.operands[0], self._layout)
        result = mlir.RankedTensorType(operation.results[0].type)
        places = in_slice(operation, list(result.shape), index)
        for place, size in zip(places, tensor.part.shape, strict=True):
            if place.size and (place.min() < 0 or place.max() >= size):
                raise UnsupportedOperationError("an index out of bounds")
        position = row_major(places, tensor.part.shape)
        return widened(self._inputs.elements(tensor, position), result.element_type)

    def _constant_of(self, operation: mlir.Operation, index: Sequence[Array]) -> Array:
        attribute = operation.attributes["value"]
        kind = operation.results[0].type
        if isinstance(kind, mlir.RankedTensorType):
            if str(attribute).startswith("dense_resource<"):
                return widened(self._resource(attribute, kind)[tuple(index)], kind.element_type)
            dense = mlir.DenseElementsAttr(attribute)
            if not dense.is_splat:
                return widened(np.array(dense)[tuple(index)], kind.element_type)
            attribute, kind = dense.get_splat_value(), kind.element_type
        if not isinstance(attribute, (mlir.FloatAttr, mlir.IntegerAttr, mlir.BoolAttr)):
            raise UnsupportedOperationError(f"a constant of type {kind}")
        return widened(np.asarray(attribute.value), kind)

    def _resource(self, attribute: mlir.Attribute, kind: mlir.RankedTensorType) -> Array:
        if self._resources is None:
            self._resources = resource_values(self._benchmark)
        name = str(attribute).removeprefix("dense_resource<").partition(">")[0].strip('"')
        dtype = element_type(str(kind.element_type))
        if dtype is None or name not in self._resources:
            raise UnsupportedOperationError(f"the resource '{name}'")
        return self._resources[name].view(dtype).reshape(tuple(kind.shape))


_PASSED: Final = frozenset({"hal.interface.constant.load", "util.assume.int"})
_HANDLERS: Final = {**TENSOR_OPERATIONS, **ORDERED_OPERATIONS}


_SECTION: Final = "\n{-#"
_BLOB: Final = re.compile(r'^\s*"?([^\s":]+)"?:\s*"0x([0-9A-Fa-f]*)"', re.MULTILINE)
_ALIGNMENT_DIGITS: Final = 8
"""The digits of the 32-bit alignment at the start of a blob (MLIR's AsmResourceBlob)."""


def resource_values(module: mlir.Operation) -> dict[str, Bytes]:
    """Return the bytes of all resources in the text of a module, by name."""
    text = str(module)
    start = text.rfind(_SECTION)
    if start < 0:
        return {}
    return {
        blob[1]: np.frombuffer(bytes.fromhex(blob[2][_ALIGNMENT_DIGITS:]), np.uint8)
        for blob in _BLOB.finditer(text, start)
    }
