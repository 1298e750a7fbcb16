"""NumPy evaluation of operations by indices or on whole lines: gather, scatter, sort, topk, scan and arg_compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.tuning.references.scalar_ops import (
    REDUCTIONS,
    Array,
    UnsupportedOperationError,
    evaluate,
)
from tuninglink.tuning.references.tensor_ops import (
    PointQuery,
    Value,
    clipped,
    defining_operation,
)

_MOST_ELEMENTS: Final = 1 << 26

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
    """Return the indices that an operand of indices has at positions of its batch.

    Args:
        query: the query.
        operand: the number of the operand; its last dimension may be left out where it has size 1.
        batch: the positions.
        depth: the number of indices at each.
    """
    if len(query.shape(operand)) == len(batch):
        return [query.operand(operand, batch)]
    return [query.operand(operand, [*batch, np.asarray(number)]) for number in range(depth)]


def _line(query: PointQuery, operand: int, dimension: int) -> Array:
    """Return the lines of an operand through the elements of a query along a dimension, as the last axis."""
    size = query.shape(operand)[dimension]
    index = [part[..., np.newaxis] for part in np.broadcast_arrays(*query.index)]
    if index[0].size * size > _MOST_ELEMENTS:
        raise UnsupportedOperationError(f"{index[0].size * size} values in memory")
    index[dimension] = np.arange(size)
    shape = np.broadcast_shapes(*(part.shape for part in index))
    return np.broadcast_to(query.operand(operand, index), shape)


def _along(query: PointQuery, dimension: int, lines: Array) -> Array:
    """Return the element of each line at the requested position."""
    place = np.broadcast_arrays(*query.index)[dimension][..., np.newaxis]
    result: Array = np.take_along_axis(lines, place, axis=-1)[..., 0]
    return result


def _yielded(operation: mlir.Operation) -> tuple[mlir.Block, mlir.Operation]:
    """Return the block of a region, and the operation that defines its yielded value."""
    block = operation.regions[0].blocks[0]
    terminator = list(block.operations)[-1]
    return block, defining_operation(terminator.operands[0])


def _order(query: PointQuery) -> tuple[int, bool]:
    """Return the index of the pair of values that a region compares, and whether larger ones come first.

    Raises:
        UnsupportedOperationError: the region does something other than compare two values.
    """
    block, comparison = _yielded(query.operation)
    predicate = (
        mlir.IntegerAttr(comparison.attributes["predicate"]).value
        if "predicate" in comparison.attributes
        else -1
    )
    arguments: list[Value] = list(block.arguments)
    operands = list(comparison.operands)
    is_descending = predicate in _DESCENDING.get(comparison.name, ())
    is_ascending = predicate in _ASCENDING.get(comparison.name, ())
    if not (is_descending or is_ascending) or any(operand not in arguments for operand in operands):
        raise UnsupportedOperationError(f"an order by {comparison.name}")
    first, second = (arguments.index(operand) for operand in operands)
    if second == first + 1:
        return first // 2, is_descending
    if first == second + 1:
        return second // 2, is_ascending
    raise UnsupportedOperationError("an order of several values")


def _ranking(query: PointQuery, lines: Array, *, is_descending: bool) -> Array:
    """Return the sorted positions of the elements of lines; equal elements keep their order, or are reversed."""
    size = lines.shape[-1]
    keys = lines[..., ::-1] if query.is_reversed else lines
    ranking: Array = np.argsort(-keys if is_descending else keys, axis=-1, kind="stable")
    return size - 1 - ranking if query.is_reversed else ranking


def _sorted(query: PointQuery) -> Array:
    dimension = query.integer("dimension")
    key, is_descending = _order(query)
    ranking = _ranking(query, _line(query, key, dimension), is_descending=is_descending)
    lines = np.take_along_axis(_line(query, query.result, dimension), ranking, axis=-1)
    return _along(query, dimension, lines)


def _topk(query: PointQuery) -> Array:
    dimension = query.integer("dimension")
    _, is_descending = _order(query)
    lines = _line(query, 0, dimension)
    ranking = _ranking(query, lines, is_descending=is_descending)
    has_indices = len(query.operation.operands) == 4  # noqa: PLR2004 - values, indices, and both outputs
    if query.result == 0:
        return _along(query, dimension, np.take_along_axis(lines, ranking, axis=-1))
    if has_indices:
        given = _line(query, 1, dimension)
        return _along(query, dimension, np.take_along_axis(given, ranking, axis=-1))
    return _along(query, dimension, ranking)


def _arg_compared(query: PointQuery) -> Array:
    """Evaluate `arg_compare`: the first element of a line in the order of the region, or its position."""
    if len(query.operation.operands) != 3:  # noqa: PLR2004 - values, and both outputs
        raise UnsupportedOperationError(f"{query.operation.name} with an index")
    dimension = query.integer("dimension")
    _, is_descending = _order(query)
    index = list(query.index)
    index.insert(dimension, np.zeros((), np.int64))
    size = query.shape(0)[dimension]
    parts = [part[..., np.newaxis] for part in np.broadcast_arrays(*index)]
    parts[dimension] = np.arange(size)
    shape = np.broadcast_shapes(*(part.shape for part in parts))
    lines = np.broadcast_to(query.operand(0, parts), shape)
    first = _ranking(query, lines, is_descending=is_descending)[..., :1]
    if query.result == 0:
        result: Array = np.take_along_axis(lines, first, axis=-1)[..., 0]
        return result
    return first[..., 0]


def _scanned(query: PointQuery) -> Array:
    """Evaluate `scan`: sums, or other combinations, of the preceding elements of a line."""
    dimension = query.integer("dimension")
    _, combination = _yielded(query.operation)
    combine = REDUCTIONS.get(combination.name)
    if combine is None or query.result != 0:
        raise UnsupportedOperationError(f"a scan by {combination.name}")
    lines = _line(query, 0, dimension)
    is_inclusive = mlir.BoolAttr(query.operation.attributes["inclusive"]).value
    if not is_inclusive:
        rest = [part for place, part in enumerate(query.index) if place != dimension]
        start = np.broadcast_to(query.operand(2, rest), lines.shape[:-1])[..., np.newaxis]
        lines = np.concatenate([start, lines[..., :-1]], axis=-1)
    return _along(query, dimension, combine.accumulate(lines, axis=-1))


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
    values = np.broadcast_to(query.operand(2, points), points[0].shape).copy()
    for row in np.flatnonzero(hits.any(axis=0))[:: -1 if query.is_reversed else 1]:
        hit = hits[:, row]
        place = [np.asarray(part[row]) for part in rows]
        inner = [part[hit] for part in points[len(order) :]]
        values[hit] = _combined(query, query.operand(0, [*place, *inner]), values[hit])
    result: Array = values.reshape(np.broadcast_shapes(*(part.shape for part in query.index)))
    return result


def _combined(query: PointQuery, update: Array, value: Array) -> Array:
    """Evaluate the region of a scatter."""
    block = query.operation.regions[0].blocks[0]
    values: dict[Value, Array] = dict(zip(block.arguments, (update, value), strict=True))

    def value_of(operand: Value) -> Array:
        if operand in values:
            return values[operand]
        operation = defining_operation(operand)
        if operation.name == "arith.constant":
            return query.at(operand, ())
        return evaluate(operation, [value_of(part) for part in operation.operands])

    result: Array = value_of(list(block.operations)[-1].operands[0])
    return result


ORDERED_OPERATIONS: Final[dict[str, Callable[[PointQuery], Array]]] = {
    "iree_linalg_ext.sort": _sorted,
    "iree_linalg_ext.gather": _gathered,
    "iree_linalg_ext.topk": _topk,
    "iree_linalg_ext.arg_compare": _arg_compared,
    "iree_linalg_ext.scan": _scanned,
    "iree_linalg_ext.scatter": _scattered,
}
"""The evaluation of operations by name."""
