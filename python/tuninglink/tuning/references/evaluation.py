"""NumPy evaluation of some elements of the tensors in a dispatch."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import ml_dtypes
import numpy as np
from iree.compiler import ir as mlir
from iree.compiler.passmanager import PassManager

from tuninglink.devices import Bytes, Pattern
from tuninglink.iree import REDUCTION, SizeEvaluator, StructuredOp
from tuninglink.mlir import collect, names
from tuninglink.programs import (
    COMPARISONS,
    DISPATCH,
    REDUCTIONS,
    Array,
    Binding,
    BufferLayout,
    UnsupportedOperationError,
    check_supported,
    dtype_of,
    evaluate,
    passed_constants,
    widened,
)

Value = mlir.Value[Any]


# --- The tensors in the bindings of a dispatch --------------------------------------------------

STORE: Final = "iree_tensor_ext.dispatch.tensor.store"
LOAD: Final = "iree_tensor_ext.dispatch.tensor.load"
SUBSPAN: Final = "hal.interface.binding.subspan"


@dataclass(frozen=True)
class StoredTensor:
    """A tensor in a binding, whose offset is in the binding."""

    binding: int
    part: Binding

    @property
    def key(self) -> tuple[int, int]:
        return self.binding, self.part.offset

    def content(self, bindings: Mapping[int, Bytes]) -> Bytes:
        return bindings[self.binding][self.part.offset : self.part.offset + self.part.byte_length]


def tensor_of(value: Value, layout: BufferLayout) -> StoredTensor:
    """Return the place of a tensor of a binding."""
    subspan = value.owner
    if isinstance(subspan, mlir.Block) or subspan.name != SUBSPAN:
        raise UnsupportedOperationError("a binding that is passed on")
    number = mlir.IntegerAttr(subspan.attributes["binding"]).value
    offset = _static_integer(subspan.operands[0])
    if offset is None:
        raise UnsupportedOperationError("a dynamic offset")
    # The bindings have no class for !iree_tensor_ext.dispatch.tensor; its text is `…<readonly:tensor<4x8xf32>>`.
    text = str(value.type)
    start, end = text.find(":") + 1, text.rfind(">")
    if not start:
        raise UnsupportedOperationError(f"a binding of type {text}")
    tensor = mlir.Type.parse(text[start:end], value.context)
    if not isinstance(tensor, mlir.RankedTensorType) or not tensor.has_static_shape:
        raise UnsupportedOperationError("a tensor of dynamic size")
    sizes, access = tuple(tensor.shape), layout.bindings[number].access
    length = math.prod(sizes) * dtype_of(tensor.element_type).itemsize
    part = Binding(access, str(tensor.element_type), sizes, offset, length)
    return StoredTensor(number, part)


def _static_integer(value: Value) -> int | None:
    """Return the integer that a value in a benchmark always is; None if the benchmark does not fix it."""
    if isinstance(value.owner, mlir.Block):
        return None
    module = value.owner.operation
    while module.parent is not None:
        module = module.parent.operation
    dispatches = collect(module, DISPATCH)
    constants = passed_constants(dispatches[0]) if len(dispatches) == 1 else ()
    return SizeEvaluator(arguments=constants).value(value)


# --- Elements of tensors ------------------------------------------------------------------------

_TO_GENERICS: Final = (
    "func.func(iree-codegen-decompose-softmax,iree-linalg-ext-convert-attention-to-online-attention,"
    "iree-linalg-ext-decompose-attention,iree-global-opt-decompose-concat,"
    "iree-codegen-decompose-pack-unpack-ops{use-only-reshapes=true},"
    "linalg-generalize-named-ops,canonicalize)"
)

_BLOB: Final = re.compile(r'^\s*"?([^\s":]+)"?:\s*"0x[0-9A-Fa-f]{8}([0-9A-Fa-f]*)"', re.MULTILINE)
"""The content of a resource, after its 32-bit alignment (MLIR's AsmResourceBlob)."""


class PointEvaluator:
    """Evaluates the values in a dispatch at single elements, from the patterns that fill its inputs; loops may be reversed."""

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
        (self.function,) = functions
        self._benchmark = benchmark  # the function lives in it
        self._layout, self._inputs = layout, inputs
        self.is_reversed = is_reversed
        self._computed: dict[tuple[object, ...], Array] = {}
        try:
            PassManager.parse(_TO_GENERICS, context=benchmark.context).run(self.function)
        except mlir.MLIRError as failure:
            raise UnsupportedOperationError("its decomposition") from failure

    def at(self, value: Value, index: Sequence[Array]) -> Array:
        """Return elements of a tensor, or a scalar."""
        key = (value, *((part.shape, part.tobytes()) for part in index))
        if key not in self._computed:
            operation = defining_operation(value)
            if operation.name == LOAD:
                result = self._loaded(operation, index)
            elif operation.name == "arith.constant":
                result = self._constant(operation, index)
            elif operation.name in ("hal.interface.constant.load", "util.assume.int"):
                integer = _static_integer(value)
                if integer is None:
                    raise UnsupportedOperationError(operation.name)
                result = np.asarray(integer)
            elif evaluation := _ON_TENSORS.get(operation.name):
                number = mlir.OpResult(value).result_number
                result = evaluation(_Query(self, operation, number, index))
            else:  # by element, on any shape
                check_supported(operation)
                operands = [
                    self.at(operand, index if isinstance(operand.type, mlir.ShapedType) else ())
                    for operand in operation.operands
                ]
                result = evaluate(operation, operands)
            self._computed[key] = result
        return self._computed[key]

    def _loaded(self, load: mlir.Operation, index: Sequence[Array]) -> Array:
        """Return elements of a binding before the benchmark runs."""
        tensor = tensor_of(load.operands[0], self._layout)
        part, result = tensor.part, mlir.RankedTensorType(load.results[0].type)
        places = _in_slice(load, list(result.shape), index)
        if not np.all(_clipped(places, part.shape)[0]):
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
        start, dtype = begin - pattern.start, dtype_of(result.element_type)
        if start % dtype.itemsize:
            raise UnsupportedOperationError(f"elements of {part.element_type}")
        # Repeat the content of the pattern until it has whole elements.
        repeats = dtype.itemsize // math.gcd(len(pattern.content), dtype.itemsize)
        values = np.tile(pattern.content, repeats).view(dtype)
        position = start // dtype.itemsize + _row_major(places, part.shape)
        return widened(values[position % len(values)], result.element_type)

    def _constant(self, operation: mlir.Operation, index: Sequence[Array]) -> Array:
        attribute, kind = operation.attributes["value"], operation.results[0].type
        if isinstance(kind, mlir.RankedTensorType):
            element, text = kind.element_type, str(attribute)
            if text.startswith("dense_resource<"):
                name = text.removeprefix("dense_resource<").partition(">")[0].strip('"')
                if name not in self._resources:
                    raise UnsupportedOperationError(f"the resource '{name}'")
                resource = self._resources[name].view(dtype_of(element)).reshape(tuple(kind.shape))
                return widened(resource[tuple(index)], element)
            dense = mlir.DenseElementsAttr(attribute)
            if not dense.is_splat:
                return widened(np.array(dense)[tuple(index)], element)
            attribute, kind = dense.get_splat_value(), element
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


@dataclass(frozen=True)
class _Query:
    """A query for some elements of a result of an operation on tensors."""

    evaluator: PointEvaluator
    operation: mlir.Operation
    result: int
    index: Sequence[Array]

    def elements(self, number: int, index: Sequence[Array]) -> Array:
        return self.evaluator.at(self.operation.operands[number], index)

    def shape(self, number: int) -> tuple[int, ...]:
        return static_shape(self.operation.operands[number])

    def integers(self, name: str) -> list[int]:
        """Return an attribute, of one integer or of several."""
        attribute = self.operation.attributes[name]
        if isinstance(attribute, mlir.DenseI64ArrayAttr):
            return list(attribute)
        return [mlir.IntegerAttr(attribute).value]

    @property
    def yielded(self) -> list[Value]:
        return list(list(self.operation.regions[0].blocks[0].operations)[-1].operands)


def static_shape(value: Value) -> tuple[int, ...]:
    """Return the sizes of a tensor; none for a scalar."""
    shape = value.type.shape if isinstance(value.type, mlir.RankedTensorType) else ()
    if any(size < 0 for size in shape):
        raise UnsupportedOperationError("a dynamic size")
    return tuple(shape)


def defining_operation(value: Value) -> mlir.Operation:
    """Return the operation that defines a value."""
    owner = value.owner
    if isinstance(owner, mlir.Block):
        raise UnsupportedOperationError("an argument of a block")
    return owner.operation


# --- Operations that move elements ---------------------------------------------------------------

_Places = Iterator[tuple[Value, Sequence[Array], Array | bool]]
"""Tensors, or a scalar, that hold the elements of a result: the positions there, and whether they may be used. The first
one counts that has an element at its position."""


def _moved(places: Callable[[_Query], _Places], query: _Query) -> Array:
    result: Array | None = None
    missing: Array = np.ones((), np.bool_)
    for value, index, is_usable in places(query):
        inside, safe = _clipped(index, static_shape(value))
        values = query.evaluator.at(value, safe)
        result = values if result is None else np.where(missing, values, result)
        missing = missing & ~(inside & is_usable)
        if not missing.any():
            return result
    raise UnsupportedOperationError("an index out of bounds")


def _clipped(places: Sequence[Array], shape: Sequence[int]) -> tuple[Array, list[Array]]:
    """Return whether positions are inside a tensor, and the positions clipped to it."""
    inside: Array = np.ones((), np.bool_)
    for place, size in zip(places, shape, strict=True):
        inside = inside & (place >= 0) & (place < size)
    return inside, [np.clip(place, 0, size - 1) for place, size in zip(places, shape, strict=True)]


def static_slice(operation: mlir.Operation) -> tuple[list[int], list[int], list[int]]:
    """Return the static offsets, sizes and strides of an operation on a slice."""
    offsets, sizes, strides = (
        list(mlir.DenseI64ArrayAttr(operation.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    if any(number < 0 for number in (*offsets, *sizes, *strides)):
        raise UnsupportedOperationError(f"{operation.name} of a dynamic slice")
    return offsets, sizes, strides


def _slice(operation: mlir.Operation, shape: Sequence[int]) -> list[tuple[int, int, int, bool]]:
    """Return the offset, size and stride of a slice of some shape by dimension, and whether the shape has the dimension."""
    remaining, dimensions = list(shape), []
    for first, size, step in zip(*static_slice(operation), strict=True):
        is_kept = bool(remaining) and remaining[0] == size
        if not is_kept and size != 1:
            raise UnsupportedOperationError("a slice of lower rank")
        dimensions.append((first, size, step, is_kept))
        del remaining[:is_kept]
    if remaining:
        raise UnsupportedOperationError("a slice of lower rank")
    return dimensions


def _in_slice(
    operation: mlir.Operation, shape: Sequence[int], index: Sequence[Array]
) -> list[Array]:
    """Return positions in the whole tensor for positions in a slice of it, which may have fewer dimensions."""
    parts = iter(index)
    return [
        next(parts) * step + first if is_kept else np.asarray(first)
        for first, _, step, is_kept in _slice(operation, shape)
    ]


def _row_major(index: Sequence[Array], shape: Sequence[int]) -> Array:
    """Return the positions of elements in row-major order; NumPy refuses an empty index."""
    result: Array = np.ravel_multi_index((np.zeros((), np.int64), *index), (1, *shape))
    return result


def _reshaped(query: _Query) -> _Places:
    flat = _row_major(query.index, static_shape(query.operation.results[0]))
    yield query.operation.operands[0], np.unravel_index(flat, (1, *query.shape(0)))[1:], True


def _extracted(query: _Query) -> _Places:
    shape = static_shape(query.operation.results[0])
    yield query.operation.operands[0], _in_slice(query.operation, shape, query.index), True


def _inserted(query: _Query) -> _Places:
    source, destination = query.operation.operands[:2]
    places, is_whole = [], np.ones((), np.bool_)
    dimensions = _slice(query.operation, static_shape(source))
    for part, (first, size, step, is_kept) in zip(query.index, dimensions, strict=True):
        place, rest = np.divmod(part - first, step)
        is_whole = is_whole & (rest == 0) & (place >= 0) & (place < size)
        places += [place] if is_kept else []
    yield source, places, is_whole
    yield destination, query.index, True


def _padded(query: _Query) -> _Places:
    low = query.integers("static_low")
    if any(first < 0 for first in low):
        raise UnsupportedOperationError("dynamic or negative padding")
    places = [part - first for part, first in zip(query.index, low, strict=True)]
    yield query.operation.operands[0], places, True
    yield query.yielded[0], (), True


def _gathered(query: _Query) -> _Places:
    """Place elements of `gather`: the leading dimensions of the source come from indices."""
    order = query.integers("dimension_map")
    batch = len(query.index) - (len(query.shape(0)) - len(order))
    rows = _indices(query, query.index[:batch], len(order))
    places = [row for _, row in sorted(zip(order, rows, strict=True), key=lambda pair: pair[0])]
    yield query.operation.operands[0], [*places, *query.index[batch:]], True


def _indices(query: _Query, batch: Sequence[Array], depth: int) -> list[Array]:
    """Return the indices of `gather` or `scatter` at positions of their batch."""
    if len(query.shape(1)) == len(batch):
        return [query.elements(1, batch)]
    return [query.elements(1, [*batch, np.asarray(number)]) for number in range(depth)]


_BYTE: Final = 8


def _bitcast(query: _Query) -> Array:
    """Evaluate `iree_tensor_ext.bitcast`, which splits each byte; the first element is in its lowest bits."""
    source, result = (
        mlir.RankedTensorType(value.type).element_type
        for value in (query.operation.operands[0], query.operation.results[0])
    )
    if not isinstance(source, mlir.IntegerType) or source.width != _BYTE:
        raise UnsupportedOperationError(f"a bitcast of {source}")
    width = result.width if isinstance(result, mlir.FloatType) else 0
    if not width or _BYTE % width:
        raise UnsupportedOperationError(f"a bitcast to {result}")
    # For example, f4E2M1FN is float4_e2m1fn.
    dtype = getattr(ml_dtypes, f"float{str(result)[1:].replace('E', '_e', 1).lower()}")
    table = np.arange(1 << width, dtype=np.uint8).view(dtype).astype(np.float64)
    *outer, innermost = query.index
    place, part = np.divmod(innermost, _BYTE // width)
    values: Array = table[(query.elements(0, [*outer, place]) >> part * width) & (len(table) - 1)]
    return values


# --- Loops ---------------------------------------------------------------------------------------

_MOST_ELEMENTS: Final = 1 << 26
"""The largest array for evaluation: 512 MiB of float64."""

_MOST_STEPS: Final = 1 << 17
"""The limit on iterations that are evaluated in sequence."""

_CHUNK: Final = 1 << 10
"""The number of iterations whose inputs are evaluated together."""

_AFFINE: Final = (
    (mlir.AffineAddExpr, np.add),
    (mlir.AffineMulExpr, np.multiply),
    (mlir.AffineModExpr, np.mod),
    (mlir.AffineFloorDivExpr, np.floor_divide),
    (mlir.AffineCeilDivExpr, lambda left, right: -(-left // right)),
)


def _limit(count: int) -> None:
    if count > _MOST_ELEMENTS:
        raise UnsupportedOperationError(f"{count} values in memory")


class _LoopNest:
    """An evaluation of a `linalg.generic` at some elements of its results.

    Parallel loops take the requested positions. Reduction loops get additional axes after those of the positions.
    Operands that do not depend on a loop have size 1 on its axis, so that nothing is computed twice.
    """

    def __init__(self, query: _Query) -> None:
        self._query, self._op = query, StructuredOp(query.operation)
        kinds = self._op.iterator_types
        self._reductions = [loop for loop, kind in enumerate(kinds) if kind == REDUCTION]
        block = query.operation.regions[0].blocks[0]
        self._arguments: list[Value] = list(block.arguments)
        self._accumulators = self._arguments[self._op.first_output :]
        # The values of the region that depend on the content of an output.
        self._accumulating = set(self._accumulators)
        for inner in block.operations:
            if any(operand in self._accumulating for operand in inner.operation.operands):
                self._accumulating.update(inner.operation.results)
        self._loops: list[Array] = []
        self._axes = 0
        self._values: dict[Value, Array] = {}

    def result(self) -> Array:
        """Return the elements."""
        value = self._query.yielded[self._query.result]
        if not self._reductions:
            self._enter([])
            return _evaluated(value, self._values, self._leaf)
        sizes = [self._op.sizes[loop] for loop in self._reductions]
        extents = [size for size in sizes if size is not None]
        if len(extents) != len(sizes):
            raise UnsupportedOperationError("a dynamic size")
        operation, accumulator = defining_operation(value), self._accumulators[self._query.result]
        terms = [operand for operand in operation.operands if operand != accumulator]
        combine = REDUCTIONS.get(operation.name)
        if combine is None or len(terms) != 1 or terms[0] in self._accumulating:
            return self._in_sequence(extents)
        # Combine the values of all iterations, in any order, with the initial output.
        self._enter(np.ix_(*map(np.arange, extents)))
        term = _evaluated(terms[0], self._values, self._leaf)
        shape = np.broadcast_shapes(term.shape, tuple(extents))
        _limit(math.prod(shape))
        axes = tuple(range(-len(extents), 0))
        total = combine.reduce(np.broadcast_to(term, shape), axis=axes)
        result: Array = combine(total, self._initial(self._query.result))
        return result

    def _enter(self, reductions: Sequence[Array]) -> None:
        """Set the loops, and forget the values of other iterations."""
        self._axes = max((part.ndim for part in reductions), default=0)
        self._loops = [np.zeros((), np.int64)] * len(self._op.iterator_types)
        output = self._op.maps[self._op.first_output + self._query.result]
        for expression, part in zip(output.results, self._query.index, strict=True):
            if not isinstance(expression, mlir.AffineDimExpr):
                raise UnsupportedOperationError("an output map that is not a permutation")
            self._loops[expression.position] = part.reshape((*part.shape, *(1,) * self._axes))
        for loop, positions in zip(self._reductions, reductions, strict=True):
            self._loops[loop] = positions
        self._values = {
            argument: self._operand(position)
            for position, argument in enumerate(self._arguments)
            if not self._reductions or argument not in self._accumulators
        }

    def _initial(self, number: int) -> Array:
        value = self._operand(self._op.first_output + number)
        # The output does not depend on reduction loops: their axes have size 1.
        return value.reshape(value.shape[: max(0, value.ndim - self._axes)])

    def _operand(self, number: int) -> Array:
        is_tensor = isinstance(self._query.operation.operands[number].type, mlir.RankedTensorType)
        results = self._op.maps[number].results if is_tensor else ()
        return self._query.elements(number, [self._position(result) for result in results])

    def _position(self, expression: mlir.AffineExpr) -> Array:
        if isinstance(expression, mlir.AffineDimExpr):
            return self._loops[expression.position]
        if isinstance(expression, mlir.AffineConstantExpr):
            return np.asarray(expression.value)
        for kind, function in _AFFINE:
            if isinstance(expression, kind):
                result: Array = function(*map(self._position, (expression.lhs, expression.rhs)))
                return result
        raise UnsupportedOperationError(f"the expression {expression}")

    def _leaf(self, value: Value) -> Array | None:
        """Return a value that does not come from operands in the region."""
        operation, evaluator = defining_operation(value), self._query.evaluator
        parent = operation.parent
        is_outside = parent is not None and parent.operation != self._query.operation
        if is_outside or operation.name == "arith.constant":
            return evaluator.at(value, ())
        if operation.name == "linalg.index":
            return self._loops[mlir.IntegerAttr(operation.attributes["dim"]).value]
        if operation.name != "tensor.extract":
            return None
        source, *indices = operation.operands
        positions = [_evaluated(index, self._values, self._leaf) for index in indices]
        inside, places = _clipped(positions, static_shape(source))
        values = evaluator.at(source, places)
        if not evaluator.is_reversed or bool(np.all(inside)):
            return values
        # Elements out of bounds, which a `select` may drop, differ if loops are reversed.
        return np.where(inside, values, np.nan if values.dtype == np.float64 else values + 1)

    def _in_sequence(self, extents: Sequence[int]) -> Array:
        """Evaluate the iterations in sequence, with all values that the region yields."""
        count = math.prod(extents)
        if count > _MOST_STEPS:
            raise UnsupportedOperationError(f"a reduction of {count} dependent steps")
        order = np.arange(count)[:: -1 if self._query.evaluator.is_reversed else 1]
        yielded, state = self._query.yielded, dict[Value, Array]()
        for start in range(0, count, _CHUNK):
            positions = np.unravel_index(order[start : start + _CHUNK], extents)
            self._enter(positions)
            if not state:
                numbers = range(len(self._accumulators))
                state = dict(zip(self._accumulators, map(self._initial, numbers), strict=True))
            for step in range(positions[0].size):
                values, leaf = dict(state), partial(self._leaf_of_step, step)
                results = [_evaluated(operand, values, leaf) for operand in yielded]
                state = dict(zip(self._accumulators, results, strict=True))
        return state[self._accumulators[self._query.result]]

    def _leaf_of_step(self, step: int, value: Value) -> Array | None:
        """Return a value that does not depend on the content of an output in one iteration of a chunk."""
        if value in self._accumulating:
            return None
        chunk = _evaluated(value, self._values, self._leaf)
        return chunk[..., step if chunk.shape[-1] > 1 else 0] if chunk.ndim else chunk


def _evaluated(
    value: Value, values: dict[Value, Array], leaf: Callable[[Value], Array | None]
) -> Array:
    """Return a value of a region, and keep it in the known values; a leaf does not come from operands there."""
    if value not in values:
        result = leaf(value)
        if result is None:
            operation = defining_operation(value)
            operands = [_evaluated(operand, values, leaf) for operand in operation.operands]
            result = evaluate(operation, operands)
        values[value] = result
    return values[value]


# --- Operations on whole lines --------------------------------------------------------------------


def _line(query: _Query, operand: int, dimension: int, index: Sequence[Array]) -> Array:
    """Return the lines of an operand through elements along a dimension, as the last axis."""
    size = query.shape(operand)[dimension]
    parts = [part[..., np.newaxis] for part in np.broadcast_arrays(*index)]
    _limit(parts[0].size * size)
    parts[dimension] = np.arange(size)
    shape = np.broadcast_shapes(*(part.shape for part in parts))
    return np.broadcast_to(query.elements(operand, parts), shape)


def _along(index: Sequence[Array], dimension: int, lines: Array) -> Array:
    """Return the elements of lines at the positions of a dimension."""
    place = np.broadcast_arrays(*index)[dimension][..., np.newaxis]
    result: Array = np.take_along_axis(lines, place, axis=-1)[..., 0]
    return result


def _ranked(query: _Query) -> Array:
    """Evaluate `sort`, `topk` and `arg_compare`: elements of lines in the order of the region, or their positions."""
    index, (dimension,) = list(query.index), query.integers("dimension")
    kind, operands = query.operation.name.rpartition(".")[2], len(query.operation.operands)
    if kind == "arg_compare":
        if operands != 3:  # noqa: PLR2004 - values, and both outputs
            raise UnsupportedOperationError(f"{query.operation.name} with an index")
        index.insert(dimension, np.zeros((), np.int64))  # the first element of each line
    # The region compares a pair of values, one for each operand of a sort.
    comparison = defining_operation(query.yielded[0])
    order: Callable[..., Array] | None = None
    if comparison.name in COMPARISONS:
        predicate = mlir.IntegerAttr(comparison.attributes["predicate"]).value
        order = COMPARISONS[comparison.name][predicate]
    arguments: list[Value] = list(query.operation.regions[0].blocks[0].arguments)
    compared = [arguments.index(value) for value in comparison.operands if value in arguments]
    is_descending = order in (np.greater, np.greater_equal)
    is_ordered = is_descending or order in (np.less, np.less_equal)
    if not is_ordered or len(compared) != len(comparison.operands):
        raise UnsupportedOperationError(f"an order by {comparison.name}")
    first, second = compared
    if abs(first - second) != 1:
        raise UnsupportedOperationError("an order of several values")
    keys = _line(query, min(first, second) // 2 if kind == "sort" else 0, dimension, index)
    # Equal elements keep their order, or are reversed.
    is_reversed = query.evaluator.is_reversed
    ranking: Array = np.argsort(
        (-keys if is_descending == (first < second) else keys)[..., :: -1 if is_reversed else 1],
        axis=-1,
        kind="stable",
    )
    ranking = keys.shape[-1] - 1 - ranking if is_reversed else ranking
    has_positions = kind == "sort" or operands == 4  # noqa: PLR2004 - values, positions, and both outputs
    if query.result and not has_positions:
        return _along(index, dimension, ranking)
    lines = np.take_along_axis(_line(query, query.result, dimension, index), ranking, axis=-1)
    return _along(index, dimension, lines)


def _scanned(query: _Query) -> Array:
    """Evaluate `scan`: sums, or other combinations, of the preceding elements of a line."""
    (dimension,) = query.integers("dimension")
    combination = defining_operation(query.yielded[0])
    combine = REDUCTIONS.get(combination.name)
    if combine is None or query.result != 0:
        raise UnsupportedOperationError(f"a scan by {combination.name}")
    lines = _line(query, 0, dimension, query.index)
    if not mlir.BoolAttr(query.operation.attributes["inclusive"]).value:
        rest = [part for place, part in enumerate(query.index) if place != dimension]
        start = np.broadcast_to(query.elements(2, rest), lines.shape[:-1])[..., np.newaxis]
        lines = np.concatenate([start, lines[..., :-1]], axis=-1)
    return _along(query.index, dimension, combine.accumulate(lines, axis=-1))


def _scattered(query: _Query) -> Array:
    """Evaluate `scatter`: all updates of an element in sequence."""
    order = query.integers("dimension_map")
    updates, window = query.shape(0), query.shape(2)[len(order) :]
    batch = updates[: len(updates) - len(window)]
    if updates[len(batch) :] != window:
        raise UnsupportedOperationError("updates of a part of a window")
    points = [part.reshape(-1) for part in np.broadcast_arrays(*query.index)]
    count = math.prod(batch)
    _limit(count * points[0].size)
    rows = np.unravel_index(np.arange(count), batch)
    hits = np.ones((points[0].size, count), np.bool_)
    for dimension, indices in zip(order, _indices(query, rows, len(order)), strict=True):
        hits &= points[dimension][:, np.newaxis] == np.broadcast_to(indices, (count,))

    def leaf(value: Value) -> Array | None:
        is_constant = defining_operation(value).name == "arith.constant"
        return query.evaluator.at(value, ()) if is_constant else None

    arguments = query.operation.regions[0].blocks[0].arguments
    values = np.broadcast_to(query.elements(2, points), points[0].shape).copy()
    for row in np.flatnonzero(hits.any(axis=0))[:: -1 if query.evaluator.is_reversed else 1]:
        hit = hits[:, row]
        place = [np.asarray(part[row]) for part in rows]
        update = query.elements(0, [*place, *(part[hit] for part in points[len(order) :])])
        # The region combines an update and the value before it.
        known: dict[Value, Array] = dict(zip(arguments, (update, values[hit]), strict=True))
        values[hit] = _evaluated(query.yielded[0], known, leaf)
    result: Array = values.reshape(np.broadcast_shapes(*(part.shape for part in query.index)))
    return result


_ON_TENSORS: Final[dict[str, Callable[[_Query], Array]]] = {
    "tensor.empty": lambda _: np.zeros(()),
    "linalg.fill": lambda query: query.elements(0, ()),
    "tensor.splat": lambda query: query.elements(0, ()),
    "tensor.cast": lambda query: query.elements(0, query.index),
    "tensor.expand_shape": partial(_moved, _reshaped),
    "tensor.collapse_shape": partial(_moved, _reshaped),
    "tensor.extract_slice": partial(_moved, _extracted),
    "tensor.insert_slice": partial(_moved, _inserted),
    "tensor.pad": partial(_moved, _padded),
    "iree_linalg_ext.gather": partial(_moved, _gathered),
    "iree_tensor_ext.bitcast": _bitcast,
    "linalg.generic": lambda query: _LoopNest(query).result(),
    "iree_linalg_ext.scan": _scanned,
    "iree_linalg_ext.scatter": _scattered,
    **{f"iree_linalg_ext.{name}": _ranked for name in ("sort", "topk", "arg_compare")},
}
"""The evaluation of operations on tensors by name."""
