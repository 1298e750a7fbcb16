"""Values of a dispatch's outputs at some of their elements, computed with NumPy from its inputs.

The dispatch is read as it stands at `executable-sources`: loads of bindings, operations on tensors, stores. From a
stored element, evaluation goes back to the inputs that it depends on, so that a few elements of a large product take
milliseconds, and nothing of the compiler's code generation is involved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.mlir import names
from tuninglink.mlir.walk import collect
from tuninglink.tuning.programs.element_types import element_type
from tuninglink.tuning.references.loop_nests import NestEvaluation, defining_operation
from tuninglink.tuning.references.resources import resource_values
from tuninglink.tuning.references.scalar_ops import UnsupportedOperationError, evaluate, widened
from tuninglink.tuning.references.stored_tensors import LOAD, STORE, StoredTensor, tensor_of
from tuninglink.tuning.references.tolerance import elements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tuninglink.tuning.devices.inputs import Bytes
    from tuninglink.tuning.programs.benchmark import BufferLayout
    from tuninglink.tuning.references.scalar_ops import Array

    Value = mlir.Value[Any]

_TO_GENERICS: Final = (
    "func.func(iree-codegen-decompose-softmax,iree-linalg-ext-convert-attention-to-online-attention,"
    "iree-linalg-ext-decompose-attention,linalg-generalize-named-ops,canonicalize)"
)


@dataclass(frozen=True)
class StoredOutput:
    """A tensor that a dispatch stores.

    Attributes:
        target: the tensor in a binding that it is stored to.
        value: the tensor.
        shape: its sizes.
        region: the part of the target that it takes.
    """

    target: StoredTensor
    value: Value
    shape: tuple[int, ...]
    region: tuple[slice, ...]

    def elements(self, content: Bytes) -> np.ndarray:
        """Returns its elements in row-major order, from the bytes of its target."""
        whole = elements(self.target.part, content)[: math.prod(self.target.part.shape)]
        return whole.reshape(self.target.part.shape)[self.region].reshape(-1)


class PointEvaluator:
    """Evaluates the outputs of a dispatch at single elements.

    Args:
        benchmark: the benchmark of the dispatch at `executable-sources`; it is changed.
        layout: the buffer that it runs on.
        inputs: the bytes of all bindings, by position.

    Attributes:
        outputs: the tensors that it stores.

    Raises:
        UnsupportedOperationError: the dispatch is not of a form that is evaluated here.
    """

    def __init__(
        self, benchmark: mlir.Operation, layout: BufferLayout, inputs: Mapping[int, Bytes]
    ) -> None:
        functions = collect(benchmark, names.FUNCTION)
        if len(functions) != 1:
            raise UnsupportedOperationError(f"{len(functions)} functions")
        self._benchmark = benchmark  # the function lives in it
        self._function = functions[0]
        self._layout, self._inputs = layout, inputs
        self._known: dict[tuple[object, ...], Array] = {}
        self._resources: dict[str, Bytes] | None = None
        try:
            PassManager.parse(_TO_GENERICS, context=benchmark.context).run(self._function)
        except mlir.MLIRError as failure:
            raise UnsupportedOperationError("its decomposition") from failure
        self._handlers: dict[str, Callable[[mlir.Operation, Sequence[Array]], Array]] = {
            LOAD: self._load,
            "arith.constant": self._constant_of,
            "tensor.empty": self._empty,
            "linalg.fill": self._fill,
            "tensor.cast": self._cast,
            "tensor.expand_shape": self._reshaped,
            "tensor.collapse_shape": self._reshaped,
            "tensor.extract_slice": self._extracted,
            "tensor.pad": self._padded,
        }
        stores = collect(self._function, STORE)
        self.outputs = [self._output(store) for store in stores]

    def at(self, value: Value, index: Sequence[Array]) -> Array:
        """Returns elements of a tensor, or a scalar.

        Args:
            value: the tensor.
            index: the positions in each dimension; arrays that broadcast.

        Returns:
            An array that broadcasts to the shape of the positions.

        Raises:
            UnsupportedOperationError: an operation that it depends on is not evaluated here.
        """
        key = (value, *((part.shape, part.tobytes()) for part in index))
        if key not in self._known:
            self._known[key] = self._evaluate(defining_operation(value), value, index)
        return self._known[key]

    def _output(self, store: mlir.Operation) -> StoredOutput:
        value = store.operands[0]
        shape = tuple(mlir.RankedTensorType(value.type).shape)
        offsets, sizes, strides = _slice(store)
        if sizes != shape:
            raise UnsupportedOperationError("a store of lower rank")
        region = tuple(
            slice(first, first + (size - 1) * step + 1, step)
            for first, size, step in zip(offsets, sizes, strides, strict=True)
        )
        return StoredOutput(tensor_of(store.operands[1], self._layout), value, shape, region)

    def _evaluate(self, operation: mlir.Operation, value: Value, index: Sequence[Array]) -> Array:
        name = operation.name
        if name in self._handlers:
            return self._handlers[name](operation, index)
        if name == "linalg.generic":
            return NestEvaluation(self.at, operation, index).result(
                mlir.OpResult(value).result_number
            )
        if any(isinstance(part.type, mlir.ShapedType) for part in (value, *operation.operands)):
            raise UnsupportedOperationError(name)
        operands = [self.at(operand, ()) for operand in operation.operands]
        return evaluate(operation, operands)

    # --- Operations on tensors ---------------------------------------------------------------------------

    def _load(self, operation: mlir.Operation, index: Sequence[Array]) -> Array:
        tensor = tensor_of(operation.operands[0], self._layout)
        offsets, _, strides = _slice(operation)
        dtype = element_type(tensor.part.element_type)
        assert dtype is not None
        data = tensor.content(self._inputs).view(dtype).reshape(tensor.part.shape)
        places = [
            part * step + first for part, step, first in zip(index, strides, offsets, strict=True)
        ]
        result = data[tuple(places)] if places else data
        return widened(result, mlir.RankedTensorType(operation.results[0].type).element_type)

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
        number = (
            mlir.FloatAttr(attribute).value
            if isinstance(attribute, mlir.FloatAttr)
            else int(mlir.IntegerAttr(attribute).value)
        )
        return widened(np.asarray(number), kind)

    def _resource(self, attribute: mlir.Attribute, kind: mlir.RankedTensorType) -> Array:
        if self._resources is None:
            self._resources = resource_values(self._benchmark)
        name = str(attribute).removeprefix("dense_resource<").partition(">")[0].strip('"')
        dtype = element_type(str(kind.element_type))
        if dtype is None or name not in self._resources:
            raise UnsupportedOperationError(f"the resource '{name}'")
        return self._resources[name].view(dtype).reshape(tuple(kind.shape))

    def _empty(self, operation: mlir.Operation, _: Sequence[Array]) -> Array:
        kind = mlir.RankedTensorType(operation.results[0].type)
        return widened(np.zeros(()), kind.element_type)

    def _fill(self, operation: mlir.Operation, _: Sequence[Array]) -> Array:
        return self.at(operation.operands[0], ())

    def _cast(self, operation: mlir.Operation, index: Sequence[Array]) -> Array:
        return self.at(operation.operands[0], index)

    def _reshaped(self, operation: mlir.Operation, index: Sequence[Array]) -> Array:
        """Evaluates an element by its position in row-major order, which reshapes keep."""
        shape = tuple(mlir.RankedTensorType(operation.results[0].type).shape)
        source = tuple(mlir.RankedTensorType(operation.operands[0].type).shape)
        if any(size < 0 for size in (*shape, *source)):
            raise UnsupportedOperationError("a dynamic reshape")
        flat: Array = np.zeros((), np.int64)
        for part, size in zip(index, shape, strict=True):
            flat = flat * size + part
        places: list[Array] = []
        for size in reversed(source):
            places.insert(0, flat % size)
            flat = flat // size
        return self.at(operation.operands[0], places)

    def _extracted(self, operation: mlir.Operation, index: Sequence[Array]) -> Array:
        offsets, sizes, strides = _slice(operation)
        kept = len(index) == len(sizes)
        parts = list(index) if kept else _with_unit_dimensions(operation, sizes, index)
        places = [
            part * step + first for part, step, first in zip(parts, strides, offsets, strict=True)
        ]
        return self.at(operation.operands[0], places)

    def _padded(self, operation: mlir.Operation, index: Sequence[Array]) -> Array:
        low = list(mlir.DenseI64ArrayAttr(operation.attributes["static_low"]))
        source = mlir.RankedTensorType(operation.operands[0].type).shape
        places = [part - first for part, first in zip(index, low, strict=True)]
        inside = np.ones((), np.bool_)
        for place, size in zip(places, source, strict=True):
            inside = inside & (place >= 0) & (place < size)
        safe = [np.clip(place, 0, size - 1) for place, size in zip(places, source, strict=True)]
        terminator = list(operation.regions[0].blocks[0].operations)[-1]
        padding = self.at(terminator.operands[0], ())
        return np.where(inside, self.at(operation.operands[0], safe), padding)


def _slice(operation: mlir.Operation) -> tuple[list[int], tuple[int, ...], list[int]]:
    """Returns the static offsets, sizes and strides of an operation on a slice."""
    parts = [
        list(mlir.DenseI64ArrayAttr(operation.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    ]
    if any(number < 0 for part in parts for number in part):
        raise UnsupportedOperationError(f"{operation.name} of a dynamic slice")
    return parts[0], tuple(parts[1]), parts[2]


def _with_unit_dimensions(
    operation: mlir.Operation, sizes: Sequence[int], index: Sequence[Array]
) -> list[Array]:
    """Returns positions in all dimensions of a slice whose result drops unit dimensions."""
    remaining = list(mlir.RankedTensorType(operation.results[0].type).shape)
    parts = list(index)
    result: list[Array] = []
    for size in sizes:
        if remaining and remaining[0] == size:
            remaining.pop(0)
            result.append(parts.pop(0))
        elif size == 1:
            result.append(np.zeros((), np.int64))
        else:
            raise UnsupportedOperationError("a slice of lower rank")
    return result
