"""Queries for elements of results, and operations that move elements of tensors, evaluated with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np
from iree.compiler import ir as mlir

from tuninglink.tuning.references.scalar_ops import Array, UnsupportedOperationError

Value = mlir.Value[Any]

_BYTE: Final = 8

_BITS: Final[dict[str, Array]] = {
    "f4E2M1FN": np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float64),
    "f8E4M3FN": np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64),
    "f8E5M2": np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2).astype(np.float64),
    "f8E8M0FNU": np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu).astype(np.float64),
}
"""The values of floats of at most 8 bits, by their bits."""


@dataclass(frozen=True)
class PointQuery:
    """A query for some elements of a result.

    Attributes:
        at: evaluates elements of an operand, or a scalar.
        operation: the operation.
        result: the number of the result.
        index: the positions of the elements in each dimension, as arrays that broadcast.
        is_reversed: whether loops without a defined order run in reverse.
    """

    at: Callable[[Value, Sequence[Array]], Array]
    operation: mlir.Operation
    result: int
    index: Sequence[Array]
    is_reversed: bool = False

    def operand(self, number: int, index: Sequence[Array]) -> Array:
        """Return elements of an operand."""
        return self.at(self.operation.operands[number], index)

    def shape(self, number: int) -> tuple[int, ...]:
        """Return the sizes of an operand.

        Raises:
            UnsupportedOperationError: a size, an offset or a stride is dynamic.
        """
        return static_shape(self.operation.operands[number])

    def integers(self, name: str) -> list[int]:
        """Return an attribute that is a list of integers; empty if absent."""
        if name not in self.operation.attributes:
            return []
        return list(mlir.DenseI64ArrayAttr(self.operation.attributes[name]))

    def integer(self, name: str) -> int:
        """Return an attribute that is an integer."""
        return int(mlir.IntegerAttr(self.operation.attributes[name]).value)


def static_shape(value: Value) -> tuple[int, ...]:
    """Return the sizes of a tensor.

    Raises:
        UnsupportedOperationError: a size, an offset or a stride is dynamic.
    """
    shape = tuple(mlir.RankedTensorType(value.type).shape)
    if any(size < 0 for size in shape):
        raise UnsupportedOperationError("a dynamic size")
    return shape


def defining_operation(value: Value) -> mlir.Operation:
    """Return the operation that defines a value.

    Raises:
        UnsupportedOperationError: the value is a block argument.
    """
    owner = value.owner
    if isinstance(owner, mlir.Block):
        raise UnsupportedOperationError("an argument of a block")
    return owner.operation


def static_slice(operation: mlir.Operation) -> tuple[list[int], tuple[int, ...], list[int]]:
    """Return the static offsets, sizes and strides of an operation on a slice.

    Raises:
        UnsupportedOperationError: a size, an offset or a stride is dynamic.
    """
    parts = [
        list(mlir.DenseI64ArrayAttr(operation.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    ]
    if any(number < 0 for part in parts for number in part):
        raise UnsupportedOperationError(f"{operation.name} of a dynamic slice")
    return parts[0], tuple(parts[1]), parts[2]


def in_slice(
    operation: mlir.Operation, shape: Sequence[int], index: Sequence[Array]
) -> list[Array]:
    """Return positions in the whole tensor for positions in a slice of it.

    Args:
        operation: the operation with the slice.
        shape: the sizes of the slice, perhaps without some dimensions of size 1.
        index: the positions.

    Raises:
        UnsupportedOperationError: the slice is dynamic.
    """
    offsets, sizes, strides = static_slice(operation)
    remaining, parts = list(shape), list(index)
    places: list[Array] = []
    for position, (first, size, step) in enumerate(zip(offsets, sizes, strides, strict=True)):
        is_dropped = size == 1 and len(remaining) < len(sizes) - position
        if is_dropped and not (remaining and remaining[0] == 1):
            places.append(np.asarray(first))
        elif remaining and remaining.pop(0) == size:
            places.append(parts.pop(0) * step + first)
        else:
            raise UnsupportedOperationError("a slice of lower rank")
    return places


def row_major(index: Sequence[Array], shape: Sequence[int]) -> Array:
    """Return the positions of elements in row-major order."""
    flat: Array = np.zeros((), np.int64)
    for part, size in zip(index, shape, strict=True):
        flat = flat * size + part
    return flat


def _empty(query: PointQuery) -> Array:
    del query
    return np.zeros(())


def _fill(query: PointQuery) -> Array:
    return query.operand(0, ())


def _cast(query: PointQuery) -> Array:
    return query.operand(0, query.index)


def _reshaped(query: PointQuery) -> Array:
    """Evaluate a reshape, which keeps the position of an element in row-major order."""
    flat = row_major(query.index, static_shape(query.operation.results[0]))
    places: list[Array] = []
    for size in reversed(query.shape(0)):
        places.insert(0, flat % size)
        flat = flat // size
    return query.operand(0, places)


def _bitcast(query: PointQuery) -> Array:
    """Evaluate `iree_tensor_ext.bitcast`, which splits each byte; the first element is in its lowest bits."""
    source, result = (
        mlir.RankedTensorType(value.type).element_type
        for value in (query.operation.operands[0], query.operation.results[0])
    )
    if not isinstance(source, mlir.IntegerType) or source.width != _BYTE:
        raise UnsupportedOperationError(f"a bitcast of {source}")
    table = _BITS.get(str(result))
    if table is None:
        raise UnsupportedOperationError(f"a bitcast to {result}")
    parts = _BYTE // (len(table).bit_length() - 1)
    *outer, innermost = query.index
    data = query.operand(0, [*outer, innermost // parts])
    bits = (data.astype(np.int64) & 0xFF) >> (innermost % parts * (_BYTE // parts))
    values: Array = table[bits & (len(table) - 1)]
    return values


def _extracted(query: PointQuery) -> Array:
    shape = static_shape(query.operation.results[0])
    return query.operand(0, in_slice(query.operation, shape, query.index))


def _inserted(query: PointQuery) -> Array:
    """Evaluate `tensor.insert_slice`: the source in the slice, and the destination around it."""
    offsets, sizes, strides = static_slice(query.operation)
    inside: Array = np.ones((), np.bool_)
    places: list[Array] = []
    for part, first, size, step in zip(query.index, offsets, sizes, strides, strict=True):
        place = (part - first) // step
        inside = inside & ((part - first) % step == 0) & (place >= 0) & (place < size)
        places.append(np.clip(place, 0, size - 1))
    shape = query.shape(0)
    if len(shape) != len(sizes):
        places = [place for place, size in zip(places, sizes, strict=True) if size != 1]
        if len(places) != len(shape):
            raise UnsupportedOperationError("a slice of lower rank")
    return np.where(inside, query.operand(0, places), query.operand(1, query.index))


def _padded(query: PointQuery) -> Array:
    low, source = query.integers("static_low"), query.shape(0)
    if any(first < 0 for first in low):
        raise UnsupportedOperationError("dynamic or negative padding")
    places = [part - first for part, first in zip(query.index, low, strict=True)]
    inside, safe = clipped(places, source)
    terminator = list(query.operation.regions[0].blocks[0].operations)[-1]
    padding = query.at(terminator.operands[0], ())
    return np.where(inside, query.operand(0, safe), padding)


def _concatenated(query: PointQuery) -> Array:
    dimension = query.integer("dim")
    result: Array | None = None
    start = 0
    for number in range(len(query.operation.operands)):
        shape = query.shape(number)
        place = query.index[dimension] - start
        places = list(query.index)
        places[dimension] = np.clip(place, 0, shape[dimension] - 1)
        part = query.operand(number, places)
        result = part if result is None else np.where(place >= 0, part, result)
        start += shape[dimension]
    assert result is not None
    return result


def _tiles(query: PointQuery) -> tuple[dict[int, int], list[int]]:
    """Return the tile sizes of dimensions, and the order of the outer dimensions, of `linalg.pack` and `unpack`."""
    sizes = query.integers("static_inner_tiles")
    if any(size < 0 for size in sizes):
        raise UnsupportedOperationError("tiles of dynamic size")
    tiles = dict(zip(query.integers("inner_dims_pos"), sizes, strict=True))
    unpacked = query.shape(0) if query.operation.name == "linalg.pack" else query.shape(1)
    return tiles, query.integers("outer_dims_perm") or list(range(len(unpacked)))


def _packed(query: PointQuery) -> Array:
    tiles, order = _tiles(query)
    source = query.shape(0)
    inner = dict(zip(tiles, query.index[len(source) :], strict=True))
    outer = {dimension: query.index[place] for place, dimension in enumerate(order)}
    places = [
        outer[dimension] * tiles[dimension] + inner[dimension]
        if dimension in tiles
        else outer[dimension]
        for dimension in range(len(source))
    ]
    inside, safe = clipped(places, source)
    values = query.operand(0, safe)
    if bool(np.all(inside)):
        return values
    if len(query.operation.operands) < 3:  # noqa: PLR2004 - source, destination, padding
        raise UnsupportedOperationError("padding without a value")
    return np.where(inside, values, query.operand(2, ()))


def _unpacked(query: PointQuery) -> Array:
    tiles, order = _tiles(query)
    outer = [query.index[dimension] // tiles.get(dimension, 1) for dimension in order]
    inner = [query.index[dimension] % tile for dimension, tile in tiles.items()]
    return query.operand(0, [*outer, *inner])


def clipped(places: Sequence[Array], shape: Sequence[int]) -> tuple[Array, list[Array]]:
    """Return whether positions are inside a tensor, and the positions clipped to it."""
    inside: Array = np.ones((), np.bool_)
    for place, size in zip(places, shape, strict=True):
        inside = inside & (place >= 0) & (place < size)
    return inside, [np.clip(place, 0, size - 1) for place, size in zip(places, shape, strict=True)]


TENSOR_OPERATIONS: Final[dict[str, Callable[[PointQuery], Array]]] = {
    "tensor.empty": _empty,
    "linalg.fill": _fill,
    "tensor.splat": _fill,
    "tensor.cast": _cast,
    "iree_tensor_ext.bitcast": _bitcast,
    "tensor.expand_shape": _reshaped,
    "tensor.collapse_shape": _reshaped,
    "tensor.extract_slice": _extracted,
    "tensor.insert_slice": _inserted,
    "tensor.pad": _padded,
    "tensor.concat": _concatenated,
    "linalg.pack": _packed,
    "linalg.unpack": _unpacked,
}
"""The evaluation of operations by name."""
