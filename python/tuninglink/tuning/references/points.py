"""Comparison of some elements of outputs with NumPy's."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.iree import SizeEvaluator
from tuninglink.mlir import collect, names, thread_context
from tuninglink.tuning.devices import Expected, elements, patterns, tolerance
from tuninglink.tuning.programs import (
    DISPATCH,
    Access,
    Binding,
    BufferLayout,
    OutputSample,
    TuningTask,
    element_type,
    passed_constants,
)
from tuninglink.tuning.references.loop_nests import OPERATIONS
from tuninglink.tuning.references.operations import (
    EVALUATED,
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
class PointComparison:
    """Elements of one output from three computations."""

    binding: int
    positions: tuple[tuple[int, ...], ...]
    actual: np.ndarray
    reference: np.ndarray | None
    exact: np.ndarray
    tolerance: np.ndarray

    def agrees(self, values: np.ndarray | None = None) -> bool:
        """Return whether values, by default the actual ones, equal NumPy's within the tolerance."""
        values = self.actual if values is None else values
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


def compare_points(
    task: TuningTask,
    outputs: Mapping[int, Bytes],
    reference: Mapping[tuple[int, int], Bytes],
    summation: float,
    seed: int,
) -> list[PointComparison] | str:
    """Compute some elements of each output with NumPy; return them, or the reason why that is impossible."""
    layout = task.layout
    evaluators, comparisons = [], []
    try:
        # The second evaluation, of perturbed inputs with reversed loops, shows which differences are rounding.
        for perturbed in (False, True):
            module = mlir.Module.parse(task.source, thread_context()).operation
            contents = patterns(layout, seed, perturbed=perturbed)
            evaluators.append(PointEvaluator(module, layout, contents, is_reversed=perturbed))
        for number, output in enumerate(evaluators[0].outputs):
            target = output.target
            dtype = element_type(target.part.element_type)
            assert dtype is not None
            content = reference.get(target.key)
            actual = output.elements(target.content(outputs))
            other = None if content is None else output.elements(content)
            chosen = _chosen(actual, other, output.shape, seed)
            index = np.unravel_index(chosen, output.shape) if output.shape else ()
            exact, moved = (
                np.broadcast_to(
                    evaluator.at(evaluator.outputs[number].value, index).astype(np.float64),
                    chosen.shape,
                )
                for evaluator in evaluators
            )
            with np.errstate(over="ignore", invalid="ignore"):
                stored = (
                    np.ascontiguousarray(values.astype(dtype)).view(np.uint8)
                    for values in (exact, moved)
                )
                tolerances = tolerance(target.part, Expected(*stored), summation)
                allowed = tolerances.limits(slice(None))
            # Values that depend on the order of the loops are inconclusive.
            allowed[np.isnan(moved) & ~np.isnan(exact)] = np.inf
            positions = zip(*(part.tolist() for part in index), strict=True) if index else [()]
            comparisons.append(
                PointComparison(
                    target.binding,
                    tuple(positions),
                    actual[chosen],
                    None if other is None else other[chosen],
                    exact,
                    allowed,
                )
            )
    except UnsupportedOperationError as failure:
        return f"{failure} is not evaluated"
    return comparisons


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
        return whole.reshape(self.target.part.shape)[self.region].astype(np.float64).reshape(-1)


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
        try:
            PassManager.parse(_TO_GENERICS, context=benchmark.context).run(self._function)
        except mlir.MLIRError as failure:
            raise UnsupportedOperationError("its decomposition") from failure
        self.outputs: list[StoredOutput] = []
        for store in collect(self._function, STORE):
            value, target = store.operands
            shape, (offsets, sizes, strides) = static_shape(value), static_slice(store)
            if math.prod(sizes) != math.prod(shape):
                raise UnsupportedOperationError("a store of another size")
            region = tuple(
                slice(first, first + (size - 1) * step + 1, step)
                for first, size, step in zip(offsets, sizes, strides, strict=True)
            )
            self.outputs.append(StoredOutput(tensor_of(target, layout), value, shape, region))

    def at(self, value: Value, index: Sequence[Array]) -> Array:
        """Return elements of a tensor, or a scalar."""
        key = (value, *((part.shape, part.tobytes()) for part in index))
        if key in self._computed:
            return self._computed[key]
        operation = defining_operation(value)
        name, number = operation.name, mlir.OpResult(value).result_number
        if name in OPERATIONS:
            query = PointQuery(self.at, operation, number, index, self._is_reversed)
            result = OPERATIONS[name](query)
        elif name == LOAD:
            result = self._loaded(operation, index)
        elif name == "arith.constant":
            result = self._constant(operation, index)
        elif name in ("hal.interface.constant.load", "util.assume.int"):
            integer = static_integer(value)
            if integer is None:
                raise UnsupportedOperationError(name)
            result = np.asarray(integer)
        elif name in EVALUATED:  # elementwise on tensors
            operands = [
                self.at(operand, index if isinstance(operand.type, mlir.ShapedType) else ())
                for operand in operation.operands
            ]
            result = evaluate(operation, operands)
        else:
            raise UnsupportedOperationError(name)
        self._computed[key] = result
        return result

    def _loaded(self, load: mlir.Operation, index: Sequence[Array]) -> Array:
        """Return elements of a binding before the benchmark runs, from the patterns that fill it."""
        tensor = tensor_of(load.operands[0], self._layout)
        part, result = tensor.part, mlir.RankedTensorType(load.results[0].type)
        places = in_slice(load, list(result.shape), index)
        for place, size in zip(places, part.shape, strict=True):
            if place.size and (place.min() < 0 or place.max() >= size):
                raise UnsupportedOperationError("an index out of bounds")
        # The last pattern that contains the tensor counts.
        begin, end = part.offset, part.offset + part.byte_length
        for pattern in reversed(self._inputs[tensor.binding]):
            if pattern.start <= begin and end <= pattern.start + pattern.length:
                break
            if pattern.start < end and begin < pattern.start + pattern.length:
                raise UnsupportedOperationError("a tensor that overlaps another one")
        else:
            raise UnsupportedOperationError("a tensor beyond its binding")
        start, dtype = begin - pattern.start, element_type(part.element_type)
        if dtype is None or start % dtype.itemsize:
            raise UnsupportedOperationError(f"elements of {part.element_type}")
        # Repeat the content of the pattern until it has whole elements.
        repeats = dtype.itemsize // math.gcd(len(pattern.content), dtype.itemsize)
        values = np.tile(pattern.content, repeats).view(dtype)
        position = start // dtype.itemsize + row_major(places, part.shape)
        return widened(values[position % len(values)], result.element_type)

    def _constant(self, operation: mlir.Operation, index: Sequence[Array]) -> Array:
        attribute = operation.attributes["value"]
        kind = operation.results[0].type
        if isinstance(kind, mlir.RankedTensorType):
            if str(attribute).startswith("dense_resource<"):
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

    @cached_property
    def _resources(self) -> dict[str, Bytes]:
        """The bytes of all resources by name, from the text of the module, which ends with them."""
        text = str(self._benchmark)
        start = text.rfind("\n{-#")
        blobs = _BLOB.finditer(text, start) if start >= 0 else ()
        return {blob[1]: np.frombuffer(bytes.fromhex(blob[2]), np.uint8) for blob in blobs}


_BLOB: Final = re.compile(r'^\s*"?([^\s":]+)"?:\s*"0x[0-9A-Fa-f]{8}([0-9A-Fa-f]*)"', re.MULTILINE)
"""The content of a resource, after its 32-bit alignment (MLIR's AsmResourceBlob)."""


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
    """Return the tensors that a dispatch, at `executable-sources`, stores; whole bindings where their place is unknown."""
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
