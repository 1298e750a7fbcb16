"""NumPy evaluation of `linalg.generic` loops at some elements of their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.tuning.references.operations import (
    REDUCTIONS,
    TENSOR_OPERATIONS,
    Array,
    PointQuery,
    UnsupportedOperationError,
    Value,
    clipped,
    defining_operation,
    evaluate,
)

_MOST_ELEMENTS: Final = 1 << 26
"""The largest array for evaluation: 512 MiB of float64."""

_MOST_STEPS: Final = 1 << 17
"""The limit on iterations that are evaluated in sequence."""

_CHUNK: Final = 1 << 10
"""The number of iterations whose inputs are evaluated together."""


class NestEvaluation:
    """An evaluation of a `linalg.generic` at some elements of its results.

    Parallel loops take the requested positions. Reduction loops get additional axes after those of the positions.
    Operands that do not depend on a loop have size 1 on its axis, so that nothing is computed twice.
    """

    def __init__(self, query: PointQuery) -> None:
        operation = query.operation
        self._query, self._operation = query, operation
        attributes = mlir.ArrayAttr(operation.attributes["indexing_maps"])
        self._maps = [mlir.AffineMapAttr(attribute).value for attribute in attributes]
        self._kinds = [str(kind) for kind in mlir.ArrayAttr(operation.attributes["iterator_types"])]
        self._reductions = [n for n, kind in enumerate(self._kinds) if "reduction" in kind]
        self._block = operation.regions[0].blocks[0]
        self._first = len(self._maps) - len(operation.results)
        self._accumulators: list[Value] = list(self._block.arguments)[self._first :]
        self._loops: list[Array] = []
        self._axes = 0
        self._values: dict[Value, Array] = {}

    def result(self) -> Array:
        """Return the elements."""
        yielded = list(list(self._block.operations)[-1].operands)
        value = yielded[self._query.result]
        if not self._reductions:
            self._enter([])
            return _evaluated(value, self._values, self._leaf)
        operation = defining_operation(value)
        operands = list(operation.operands)
        accumulator = self._accumulators[self._query.result]
        # The sizes of loops, from operands indexed by a single loop.
        sizes: dict[int, int] = {}
        for operand, map_ in zip(self._operation.operands, self._maps, strict=True):
            if isinstance(operand.type, mlir.RankedTensorType):
                for expression, size in zip(map_.results, operand.type.shape, strict=True):
                    if isinstance(expression, mlir.AffineDimExpr):
                        sizes[expression.position] = size
        if any(size < 0 for size in sizes.values()):
            raise UnsupportedOperationError("a dynamic size")
        extents = [sizes[loop] for loop in self._reductions]
        combine = REDUCTIONS.get(operation.name)
        if combine is None or operands.count(accumulator) != 1:
            return self._in_sequence(yielded, extents)
        operands.remove(accumulator)
        if self._accumulates(operands[0]):
            return self._in_sequence(yielded, extents)
        # Combine the values of all iterations, in any order, with the initial output.
        count = len(extents)
        self._enter(
            [
                np.arange(extent).reshape((1,) * axis + (-1,) + (1,) * (count - axis - 1))
                for axis, extent in enumerate(extents)
            ]
        )
        term = _evaluated(operands[0], self._values, self._leaf)
        shape = np.broadcast_shapes(term.shape, tuple(extents))
        if math.prod(shape) > _MOST_ELEMENTS:
            raise UnsupportedOperationError(f"{math.prod(shape)} values in memory")
        total = combine.reduce(np.broadcast_to(term, shape), axis=tuple(range(-count, 0)))
        result: Array = combine(total, self._initial(self._query.result))
        return result

    def _accumulates(self, value: Value) -> bool:
        """Return whether a value in the region depends on the content of an output."""
        if value in self._accumulators:
            return True
        owner = value.owner
        if isinstance(owner, mlir.Block):
            return False
        return any(self._accumulates(operand) for operand in owner.operands)

    # --- Loops and operands --------------------------------------------------------------------------------

    def _enter(self, reductions: Sequence[Array]) -> None:
        """Set the loops, and forget the values of other iterations."""
        self._axes = max((part.ndim for part in reductions), default=0)
        self._loops = [np.zeros((), np.int64)] * len(self._kinds)
        output = self._maps[self._first + self._query.result]
        for expression, part in zip(output.results, self._query.index, strict=True):
            if not isinstance(expression, mlir.AffineDimExpr):
                raise UnsupportedOperationError("an output map that is not a permutation")
            self._loops[expression.position] = part.reshape((*part.shape, *(1,) * self._axes))
        for loop, positions in zip(self._reductions, reductions, strict=True):
            self._loops[loop] = positions
        self._values = {
            argument: self._operand(position)
            for position, argument in enumerate(self._block.arguments)
            if position < self._first or not self._reductions
        }

    def _initial(self, number: int) -> Array:
        value = self._operand(self._first + number)
        # The output does not depend on reduction loops: their axes have size 1.
        return value.reshape(value.shape[: max(0, value.ndim - self._axes)])

    def _operand(self, position: int) -> Array:
        operand = self._operation.operands[position]
        if not isinstance(operand.type, mlir.RankedTensorType):
            return self._query.at(operand, ())
        results = self._maps[position].results
        return self._query.at(operand, [self._expression(result) for result in results])

    def _expression(self, expression: mlir.AffineExpr) -> Array:
        if isinstance(expression, mlir.AffineDimExpr):
            return self._loops[expression.position]
        if isinstance(expression, mlir.AffineConstantExpr):
            return np.asarray(expression.value)
        for kind, operation in _AFFINE:
            if isinstance(expression, kind):
                left, right = self._expression(expression.lhs), self._expression(expression.rhs)
                return operation(left, right)
        raise UnsupportedOperationError(f"the expression {expression}")

    # --- The region ------------------------------------------------------------------------------------------

    def _leaf(self, value: Value) -> Array | None:
        operation = defining_operation(value)
        is_outside = operation.parent is not None and operation.parent.operation != self._operation
        if is_outside or operation.name == "arith.constant":
            return self._query.at(value, ())
        if operation.name == "linalg.index":
            return self._loops[mlir.IntegerAttr(operation.attributes["dim"]).value]
        if operation.name != "tensor.extract":
            return None
        source, *indices = operation.operands
        shape = mlir.RankedTensorType(source.type).shape
        positions = [_evaluated(index, self._values, self._leaf) for index in indices]
        inside, places = clipped(positions, shape)
        values = self._query.at(source, places)
        if not self._query.is_reversed or bool(np.all(inside)):
            return values
        # Elements out of bounds, which a `select` may drop, differ if loops are reversed.
        return np.where(inside, values, np.nan if values.dtype == np.float64 else values + 1)

    def _in_sequence(self, yielded: Sequence[Value], extents: Sequence[int]) -> Array:
        """Evaluate the iterations in sequence, with all values that the region yields."""
        count = math.prod(extents)
        if count > _MOST_STEPS:
            raise UnsupportedOperationError(f"a reduction of {count} dependent steps")
        order = np.arange(count)[:: -1 if self._query.is_reversed else 1]
        state: dict[Value, Array] = {}
        for start in range(0, count, _CHUNK):
            positions = list(np.unravel_index(order[start : start + _CHUNK], extents))
            self._enter(positions)
            if not state:
                state = {
                    accumulator: self._initial(number)
                    for number, accumulator in enumerate(self._accumulators)
                }
            for step in range(positions[0].size):
                values = dict(state)
                leaf = partial(self._leaf_of_step, step)
                results = [_evaluated(operand, values, leaf) for operand in yielded]
                state = dict(zip(self._accumulators, results, strict=True))
        return state[self._accumulators[self._query.result]]

    def _leaf_of_step(self, step: int, value: Value) -> Array | None:
        """Return a value that does not depend on the content of an output in one iteration of a chunk."""
        if self._accumulates(value):
            return None
        chunk = _evaluated(value, self._values, self._leaf)
        depends = chunk.ndim and chunk.shape[-1] > 1
        return chunk[..., step if depends else 0] if chunk.ndim else chunk


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


_AFFINE: Final = (
    (mlir.AffineAddExpr, np.add),
    (mlir.AffineMulExpr, np.multiply),
    (mlir.AffineModExpr, np.mod),
    (mlir.AffineFloorDivExpr, np.floor_divide),
    (mlir.AffineCeilDivExpr, lambda left, right: -(-left // right)),
)


# --- NumPy evaluation of operations by indices or on whole lines: gather, scatter, sort, topk, scan and arg_compare

_DESCENDING: Final = {"arith.cmpf": (2, 3, 9, 10), "arith.cmpi": (4, 5, 8, 9)}
"""The predicates `greater`, with and without `or equal`, of ordered and unordered, signed and unsigned comparisons."""

_ASCENDING: Final = {"arith.cmpf": (4, 5, 11, 12), "arith.cmpi": (2, 3, 6, 7)}


def _gathered(query: PointQuery) -> Array:
    """Evaluate `iree_linalg_ext.gather`: the leading dimensions of the source come from indices."""
    order = query.integers("dimension_map")
    source = query.shape(0)
    batch = len(query.index) - (len(source) - len(order))
    rows = indices_at(query, 1, query.index[:batch], len(order))
    places: list[Array] = [np.zeros((), np.int64)] * len(order)
    for dimension, row in zip(order, rows, strict=True):
        places[dimension] = row
    inside, _ = clipped(places, source[: len(order)])
    if not bool(np.all(inside)):
        raise UnsupportedOperationError("an index out of bounds")
    return query.operand(0, [*places, *query.index[batch:]])


def indices_at(query: PointQuery, operand: int, batch: Sequence[Array], depth: int) -> list[Array]:
    """Return the indices that an operand of indices has at positions of its batch."""
    if len(query.shape(operand)) == len(batch):
        return [query.operand(operand, batch)]
    return [query.operand(operand, [*batch, np.asarray(number)]) for number in range(depth)]


def _line(query: PointQuery, operand: int, dimension: int, index: Sequence[Array]) -> Array:
    """Return the lines of an operand through elements along a dimension, as the last axis."""
    size = query.shape(operand)[dimension]
    parts = [part[..., np.newaxis] for part in np.broadcast_arrays(*index)]
    if parts[0].size * size > _MOST_ELEMENTS:
        raise UnsupportedOperationError(f"{parts[0].size * size} values in memory")
    parts[dimension] = np.arange(size)
    shape = np.broadcast_shapes(*(part.shape for part in parts))
    return np.broadcast_to(query.operand(operand, parts), shape)


def _along(index: Sequence[Array], dimension: int, lines: Array) -> Array:
    """Return the elements of lines at the positions of a dimension."""
    place = np.broadcast_arrays(*index)[dimension][..., np.newaxis]
    result: Array = np.take_along_axis(lines, place, axis=-1)[..., 0]
    return result


def _ranked(query: PointQuery) -> Array:
    """Evaluate `sort`, `topk` and `arg_compare`: elements of lines in the order of the region, or their positions."""
    operation, index, dimension = query.operation, list(query.index), query.integer("dimension")
    kind, operands = operation.name.rpartition(".")[2], len(operation.operands)
    if kind == "arg_compare":
        if operands != 3:  # noqa: PLR2004 - values, and both outputs
            raise UnsupportedOperationError(f"{operation.name} with an index")
        index.insert(dimension, np.zeros((), np.int64))  # the first element of each line
    # The region compares a pair of values, one for each operand of a sort.
    block = operation.regions[0].blocks[0]
    comparison = defining_operation(list(block.operations)[-1].operands[0])
    code = comparison.attributes.get("predicate")
    predicate = -1 if code is None else mlir.IntegerAttr(code).value
    is_descending = predicate in _DESCENDING.get(comparison.name, ())
    is_ascending = predicate in _ASCENDING.get(comparison.name, ())
    arguments: list[Value] = list(block.arguments)
    compared = [operand for operand in comparison.operands if operand in arguments]
    if not (is_descending or is_ascending) or len(compared) != len(comparison.operands):
        raise UnsupportedOperationError(f"an order by {comparison.name}")
    first, second = map(arguments.index, compared)
    if abs(first - second) != 1:
        raise UnsupportedOperationError("an order of several values")
    is_descending = is_descending if first < second else is_ascending
    keys = _line(query, min(first, second) // 2 if kind == "sort" else 0, dimension, index)
    # Equal elements keep their order, or are reversed.
    size = keys.shape[-1]
    keys = keys[..., ::-1] if query.is_reversed else keys
    ranking: Array = np.argsort(-keys if is_descending else keys, axis=-1, kind="stable")
    ranking = size - 1 - ranking if query.is_reversed else ranking
    has_positions = kind == "sort" or operands == 4  # noqa: PLR2004 - values, positions, and both outputs
    if query.result and not has_positions:
        return _along(index, dimension, ranking)
    lines = np.take_along_axis(_line(query, query.result, dimension, index), ranking, axis=-1)
    return _along(index, dimension, lines)


def _scanned(query: PointQuery) -> Array:
    """Evaluate `scan`: sums, or other combinations, of the preceding elements of a line."""
    dimension = query.integer("dimension")
    terminator = list(query.operation.regions[0].blocks[0].operations)[-1]
    combination = defining_operation(terminator.operands[0])
    combine = REDUCTIONS.get(combination.name)
    if combine is None or query.result != 0:
        raise UnsupportedOperationError(f"a scan by {combination.name}")
    lines = _line(query, 0, dimension, query.index)
    is_inclusive = mlir.BoolAttr(query.operation.attributes["inclusive"]).value
    if not is_inclusive:
        rest = [part for place, part in enumerate(query.index) if place != dimension]
        start = np.broadcast_to(query.operand(2, rest), lines.shape[:-1])[..., np.newaxis]
        lines = np.concatenate([start, lines[..., :-1]], axis=-1)
    return _along(query.index, dimension, combine.accumulate(lines, axis=-1))


def _scattered(query: PointQuery) -> Array:
    """Evaluate `scatter`: all updates of an element in sequence."""
    order = query.integers("dimension_map")
    updates, original = query.shape(0), query.shape(2)
    window = original[len(order) :]
    batch = updates[: len(updates) - len(window)]
    if updates[len(batch) :] != window:
        raise UnsupportedOperationError("updates of a part of a window")
    points = [part.reshape(-1) for part in np.broadcast_arrays(*query.index)]
    count = math.prod(batch)
    if count * points[0].size > _MOST_ELEMENTS:
        raise UnsupportedOperationError(f"{count * points[0].size} values in memory")
    rows = np.unravel_index(np.arange(count), batch)
    hits = np.ones((points[0].size, count), np.bool_)
    for dimension, indices in zip(order, indices_at(query, 1, rows, len(order)), strict=True):
        hits &= points[dimension][:, np.newaxis] == np.broadcast_to(indices, (count,))
    block = query.operation.regions[0].blocks[0]
    arguments, yielded = list(block.arguments), list(block.operations)[-1].operands[0]

    values = np.broadcast_to(query.operand(2, points), points[0].shape).copy()
    for row in np.flatnonzero(hits.any(axis=0))[:: -1 if query.is_reversed else 1]:
        hit = hits[:, row]
        place = [np.asarray(part[row]) for part in rows]
        inner = [part[hit] for part in points[len(order) :]]
        # The region combines an update and the value before it.
        known = dict(zip(arguments, (query.operand(0, [*place, *inner]), values[hit]), strict=True))
        values[hit] = _evaluated(
            yielded,
            known,
            lambda value: (
                query.at(value, ()) if defining_operation(value).name == "arith.constant" else None
            ),
        )
    result: Array = values.reshape(np.broadcast_shapes(*(part.shape for part in query.index)))
    return result


OPERATIONS: Final[dict[str, Callable[[PointQuery], Array]]] = {
    **TENSOR_OPERATIONS,
    "linalg.generic": lambda query: NestEvaluation(query).result(),
    "iree_linalg_ext.gather": _gathered,
    "iree_linalg_ext.scan": _scanned,
    "iree_linalg_ext.scatter": _scattered,
    **{f"iree_linalg_ext.{name}": _ranked for name in ("sort", "topk", "arg_compare")},
}
"""The evaluation of operations on tensors by name."""
