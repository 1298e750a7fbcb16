"""Comparison of some elements of outputs with NumPy's."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree import SizeEvaluator
from tuninglink.mlir import collect, names, thread_context
from tuninglink.tuning.devices import Expected, elements, patterns, perturbed_patterns, tolerance
from tuninglink.tuning.programs import (
    DISPATCH,
    Access,
    Binding,
    BufferLayout,
    OutputSample,
    element_type,
    passed_constants,
)
from tuninglink.tuning.references.loop_nests import ORDERED_OPERATIONS, NestEvaluation
from tuninglink.tuning.references.operations import (
    EVALUATED,
    TENSOR_OPERATIONS,
    Array,
    PointQuery,
    UnsupportedOperationError,
    defining_operation,
    evaluate,
    in_slice,
    row_major,
    static_shape,
    static_slice,
    widened,
)

if TYPE_CHECKING:
    from tuninglink.tuning.devices import Bytes, Pattern

    Value = mlir.Value[Any]


_POINTS: Final = 128
"""The number of elements per output computed with NumPy: half of them where two results differ most."""

_END_POINTS: Final = 4
"""The number of elements at the end of each dimension of an output."""


@dataclass(frozen=True)
class PointQuestion:
    """A request to evaluate some elements with NumPy."""

    source: bytes
    layout: BufferLayout
    actual: Mapping[int, Bytes]
    reference: Mapping[tuple[int, int], Bytes]
    summation: float
    seed: int


@dataclass(frozen=True)
class PointComparison:
    """Elements of one output from three computations."""

    binding: int
    positions: tuple[tuple[int, ...], ...]
    actual: np.ndarray
    reference: np.ndarray | None
    exact: np.ndarray
    tolerance: np.ndarray

    def agrees(self, values: np.ndarray) -> bool:
        """Return whether values equal NumPy's within the tolerance."""
        with np.errstate(invalid="ignore"):
            near = np.abs(values - self.exact) <= self.tolerance
        return bool(
            np.all(near | (values == self.exact) | (np.isnan(values) & np.isnan(self.exact)))
        )

    def samples(self) -> tuple[OutputSample, ...]:
        """Return the elements with the largest errors."""
        with np.errstate(invalid="ignore"):
            off = np.nan_to_num(np.abs(self.actual - self.exact), nan=np.inf)
        worst = np.argsort(-off, kind="stable")[:10]
        return tuple(
            OutputSample(
                self.binding, self.positions[n], float(self.actual[n]), float(self.exact[n])
            )
            for n in worst
        )


def compare_points(question: PointQuestion) -> list[PointComparison] | str:
    """Compute some elements of each output with NumPy; return them, or the reason why that is impossible."""
    layout, evaluators = question.layout, []
    try:
        for is_reversed, contents in enumerate(
            (patterns(layout, question.seed), perturbed_patterns(layout, question.seed))
        ):
            module = mlir.Module.parse(question.source, thread_context()).operation
            evaluators.append(
                PointEvaluator(module, layout, contents, is_reversed=bool(is_reversed))
            )
        count = len(evaluators[0].outputs)
        return [_compare_output(question, evaluators, number) for number in range(count)]
    except UnsupportedOperationError as failure:
        return f"{failure} is not evaluated"


def _compare_output(
    question: PointQuestion, evaluators: list[PointEvaluator], number: int
) -> PointComparison:
    output = evaluators[0].outputs[number]
    part = output.target.part
    dtype = element_type(part.element_type)
    assert dtype is not None
    actual = output.elements(output.target.content(question.actual))
    reference = question.reference.get(output.target.key)
    other = None if reference is None else output.elements(reference)
    chosen = _chosen(actual, other, output.shape, question.seed)
    index = np.unravel_index(chosen, output.shape) if output.shape else ()
    exact, moved = (
        np.broadcast_to(
            evaluator.at(evaluator.outputs[number].value, index).astype(np.float64), chosen.shape
        )
        for evaluator in evaluators
    )
    expected = Expected(_stored(exact, dtype), _stored(moved, dtype))
    allowed = tolerance(part, expected, question.summation)
    # Values that depend on the order of the loops are inconclusive.
    allowed[np.isnan(moved) & ~np.isnan(exact)] = np.inf
    return PointComparison(
        output.target.binding,
        tuple(zip(*(part.tolist() for part in index), strict=True)) if index else ((),),
        actual[chosen],
        None if other is None else other[chosen],
        exact,
        allowed,
    )


def _chosen(
    actual: np.ndarray, other: np.ndarray | None, shape: tuple[int, ...], seed: int
) -> np.ndarray:
    """Return positions of elements: where two results differ most, at the ends of all dimensions, and at random."""
    random = np.random.default_rng(seed)
    anywhere = random.integers(0, len(actual), _POINTS // 2)
    worst: Any = []
    if other is not None:
        with np.errstate(invalid="ignore"):
            off = np.nan_to_num(np.abs(actual - other), nan=np.inf)
        worst = np.argpartition(-off, min(_POINTS // 2, len(off) - 1))[: _POINTS // 2]
    ends = [np.array([0, len(actual) - 1])]
    for dimension, size in enumerate(shape):  # code for partial tiles is the most error-prone
        index = [random.integers(0, limit, _END_POINTS) for limit in shape]
        index[dimension] = np.full(_END_POINTS, size - 1)
        ends.append(np.ravel_multi_index(index, shape))
    return np.unique(np.concatenate([anywhere, worst, *ends]).astype(np.int64))


def _stored(values: np.ndarray, dtype: np.dtype) -> Bytes:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(values.astype(dtype)).view(np.uint8)


# --- Values of some elements of a dispatch's outputs, computed with NumPy from its inputs --------

_TO_GENERICS: Final = (
    "func.func(iree-codegen-decompose-softmax,iree-linalg-ext-convert-attention-to-online-attention,"
    "iree-linalg-ext-decompose-attention,linalg-generalize-named-ops,canonicalize)"
)


@dataclass(frozen=True)
class StoredOutput:
    """A tensor stored by a dispatch."""

    target: StoredTensor
    value: Value
    shape: tuple[int, ...]
    region: tuple[slice, ...]

    def elements(self, content: Bytes) -> np.ndarray:
        whole = elements(self.target.part, content)[: math.prod(self.target.part.shape)]
        return whole.reshape(self.target.part.shape)[self.region].reshape(-1)


class PointEvaluator:
    """Evaluates the outputs of a dispatch at single elements."""

    def __init__(
        self,
        benchmark: mlir.Operation,
        layout: BufferLayout,
        inputs: Sequence[Sequence[Pattern]],
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
        """Return elements of a tensor, or a scalar."""
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
            tensor = tensor_of(operation.operands[0], self._layout)
            result = mlir.RankedTensorType(operation.results[0].type)
            places = in_slice(operation, list(result.shape), index)
            for place, size in zip(places, tensor.part.shape, strict=True):
                if place.size and (place.min() < 0 or place.max() >= size):
                    raise UnsupportedOperationError("an index out of bounds")
            position = row_major(places, tensor.part.shape)
            drawn = drawn_elements(self._inputs[tensor.binding], tensor, position)
            return widened(drawn, result.element_type)
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

    def _constant_of(self, operation: mlir.Operation, index: Sequence[Array]) -> Array:
        attribute = operation.attributes["value"]
        kind = operation.results[0].type
        if isinstance(kind, mlir.RankedTensorType):
            if str(attribute).startswith("dense_resource<"):
                if self._resources is None:
                    self._resources = resource_values(self._benchmark)
                name = str(attribute).removeprefix("dense_resource<").partition(">")[0].strip('"')
                dtype = element_type(str(kind.element_type))
                if dtype is None or name not in self._resources:
                    raise UnsupportedOperationError(f"the resource '{name}'")
                resource = self._resources[name].view(dtype).reshape(tuple(kind.shape))
                return widened(resource[tuple(index)], kind.element_type)
            dense = mlir.DenseElementsAttr(attribute)
            if not dense.is_splat:
                return widened(np.array(dense)[tuple(index)], kind.element_type)
            attribute, kind = dense.get_splat_value(), kind.element_type
        if not isinstance(attribute, (mlir.FloatAttr, mlir.IntegerAttr, mlir.BoolAttr)):
            raise UnsupportedOperationError(f"a constant of type {kind}")
        return widened(np.asarray(attribute.value), kind)


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


# --- The tensors that a dispatch stores: their places in its bindings, and elements of them without the whole tensors

STORE = "iree_tensor_ext.dispatch.tensor.store"
LOAD = "iree_tensor_ext.dispatch.tensor.load"
SUBSPAN = "hal.interface.binding.subspan"


@dataclass(frozen=True)
class StoredTensor:
    """A tensor that is stored, whole or in part."""

    binding: int
    part: Binding

    @property
    def key(self) -> tuple[int, int]:
        return self.binding, self.part.offset

    def content(self, bindings: Mapping[int, Bytes]) -> Bytes:
        return bindings[self.binding][self.part.offset : self.part.offset + self.part.byte_length]


def stored_tensors(source: bytes, layout: BufferLayout) -> list[StoredTensor]:
    """Return the tensors that a dispatch stores; whole bindings where their place is unknown.

    Args:
        source: its benchmark at `executable-sources`.
        layout: the buffer that it runs on.
    """
    module = mlir.Module.parse(source, thread_context())
    written = [
        (number, part)
        for number, part in enumerate(layout.bindings)
        if part.access is not Access.READ
    ]
    try:
        targets = [store.operands[1] for store in collect(module.operation, STORE)]
        tensors = [tensor_of(target, layout) for target in targets]
    except UnsupportedOperationError:
        tensors = []
    if {tensor.binding for tensor in tensors} == {number for number, _ in written}:
        return list(dict.fromkeys(tensors))
    return [
        StoredTensor(
            number, Binding(part.access, part.element_type, part.shape, 0, part.byte_length)
        )
        for number, part in written
    ]


def tensor_of(value: Value, layout: BufferLayout) -> StoredTensor:
    """Return the place of a tensor of a binding."""
    subspan = value.owner
    if isinstance(subspan, mlir.Block) or subspan.name != SUBSPAN:
        raise UnsupportedOperationError("a binding that is passed on")
    number = mlir.IntegerAttr(subspan.attributes["binding"]).value
    offset = static_integer(subspan.operands[0])
    if offset is None:
        raise UnsupportedOperationError("a dynamic offset")
    # The bindings have no class for !iree_tensor_ext.dispatch.tensor; its text is `…<readonly:tensor<4x8xf32>>`.
    text = str(value.type)
    start, end = text.find(":") + 1, text.rfind(">")
    if not start:
        raise UnsupportedOperationError(f"a binding of type {text}")
    with value.context:
        inner = mlir.Type.parse(text[start:end])
    if not isinstance(inner, mlir.RankedTensorType) or not inner.has_static_shape:
        raise UnsupportedOperationError("a tensor of dynamic size")
    sizes, element = tuple(inner.shape), str(inner.element_type)
    dtype = element_type(element)
    access = layout.bindings[number].access
    if dtype is None:
        raise UnsupportedOperationError(f"a tensor of {element}")
    length = math.prod(sizes) * dtype.itemsize
    return StoredTensor(number, Binding(access, element, sizes, offset, length))


def static_integer(value: Value) -> int | None:
    """Return the integer that a value in a benchmark always is; None if the benchmark does not fix it."""
    operation = value.owner
    if isinstance(operation, mlir.Block):
        return None
    module = operation.operation
    while module.parent is not None:
        module = module.parent.operation
    dispatches = collect(module, DISPATCH)
    constants = passed_constants(dispatches[0]) if len(dispatches) == 1 else ()
    return SizeEvaluator(arguments=constants).value(value)


def drawn_elements(patterns: Sequence[Pattern], tensor: StoredTensor, position: Array) -> Array:
    """Return elements of a tensor in a binding before the benchmark runs, from the patterns that fill the binding."""
    dtype = element_type(tensor.part.element_type)
    begin, end = tensor.part.offset, tensor.part.offset + tensor.part.byte_length
    for pattern in reversed(patterns):  # the last one that contains the tensor
        if pattern.start <= begin and end <= pattern.start + pattern.length:
            break
        if pattern.start < end and begin < pattern.start + pattern.length:
            raise UnsupportedOperationError("a tensor that overlaps another one")
    else:
        raise UnsupportedOperationError("a tensor beyond its binding")
    start = begin - pattern.start
    if dtype is None or start % dtype.itemsize:
        raise UnsupportedOperationError(f"elements of {tensor.part.element_type}")
    repeats = dtype.itemsize // math.gcd(len(pattern.content), dtype.itemsize)
    values = np.tile(pattern.content, repeats).view(dtype)
    result: Array = values[(start // dtype.itemsize + position) % len(values)]
    return result
