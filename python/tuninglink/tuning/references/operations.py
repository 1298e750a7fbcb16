"""Scalar operations of `arith` and `math` on NumPy arrays, floats in double precision.

Only `arith.truncf` rounds: the order and the precision of the preceding operations are not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np
from iree.compiler import ir as mlir

from tuninglink.tuning.programs import element_type

Array = np.ndarray[Any, np.dtype[Any]]


class UnsupportedOperationError(Exception):
    """An operation without an evaluation in NumPy; the message is its name."""


def _erf(value: Array) -> Array:
    """Return the error function, from its series or its continued fraction (Abramowitz and Stegun 7.1.5, 7.1.14)."""
    x = np.abs(value)
    small = np.minimum(x, 3.0)
    term = small.copy()
    total = small.copy()
    for n in range(1, 60):
        term = -term * small**2 / n
        total += term / (2 * n + 1)
    series = total * 2 / np.sqrt(np.pi)
    large = np.maximum(x, 3.0)
    fraction = large
    for n in range(60, 0, -1):
        fraction = large + (n / 2) / fraction
    tail = 1.0 - np.exp(-(large**2)) / (fraction * np.sqrt(np.pi))
    result: Array = np.sign(value) * np.where(x < 3.0, series, tail)  # noqa: PLR2004 - as above
    return result


_OPERATIONS: Final[dict[str, Callable[..., Array]]] = {
    # Equal computations on floats, and on integers with a sign and without.
    **dict.fromkeys(("arith.addf", "arith.addi"), np.add),
    **dict.fromkeys(("arith.subf", "arith.subi"), np.subtract),
    **dict.fromkeys(("arith.mulf", "arith.muli"), np.multiply),
    **dict.fromkeys(("arith.divui", "arith.floordivsi"), np.floor_divide),
    **dict.fromkeys(("arith.ceildivsi", "arith.ceildivui"), lambda left, right: -(-left // right)),
    **dict.fromkeys(("arith.remf", "arith.remsi"), np.fmod),
    **dict.fromkeys(("arith.shrsi", "arith.shrui"), np.right_shift),
    **dict.fromkeys(("arith.maximumf", "arith.maxsi", "arith.maxui"), np.maximum),
    **dict.fromkeys(("arith.minimumf", "arith.minsi", "arith.minui"), np.minimum),
    **dict.fromkeys(("math.absf", "math.absi"), np.abs),
    **dict.fromkeys(("math.powf", "math.fpowi", "math.ipowi"), np.power),
    # Operations with the name of a function of NumPy, at most after `arc`.
    **{
        f"math.{name}": getattr(np, name)
        for name in (
            *("exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "cbrt", "floor", "ceil"),
            *("trunc", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
            *("copysign", "isnan", "isinf", "isfinite"),
        )
    },
    **{
        f"math.a{name}": getattr(np, f"arc{name}")
        for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")
    },
    "arith.divf": np.divide,
    # Towards zero.
    "arith.divsi": lambda left, right: (
        np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))
    ).astype(np.int64),
    "arith.remui": np.remainder,
    "arith.shli": np.left_shift,
    "arith.negf": np.negative,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.select": np.where,
    "math.rsqrt": lambda value: 1.0 / np.sqrt(value),
    "math.erf": _erf,
    "math.erfc": lambda value: 1.0 - _erf(value),
    "math.round": lambda value: np.copysign(np.floor(np.abs(value) + 0.5), value),
    "math.roundeven": np.rint,
    "math.fma": lambda left, right, addend: left * right + addend,
    "arith.trunci": np.asarray,
}

_WIDENING: Final = frozenset(
    {
        *("arith.extf", "arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui"),
        *("arith.sitofp", "arith.uitofp"),
    }
)


_ROUNDING: Final[dict[str, Callable[..., Array]]] = {
    **dict.fromkeys(("arith.truncf", "arith.fptosi", "arith.fptoui"), np.asarray),
    "arith.scaling_extf": np.multiply,
    "arith.scaling_truncf": np.divide,
}
"""Conversions, and their computation before rounding: the second operand is the scale of a block."""

_UNSIGNED: Final = frozenset(
    {
        *("arith.divui", "arith.ceildivui", "arith.remui", "arith.shrui", "arith.maxui"),
        *("arith.minui", "arith.extui", "arith.index_castui", "arith.uitofp", "arith.fptoui"),
    }
)
"""Operations that take integers as they are without a sign."""

_NEGATING: Final = frozenset({"arith.extsi", "arith.sitofp", "arith.index_cast"})
"""Operations for which a true `i1` is -1."""

_FIRST_UNSIGNED_PREDICATE: Final = 6
_MOST_BITS: Final = 64

_COMPARISONS: Final[dict[str, tuple[Callable[..., Array], ...]]] = {
    # In the order of arith::CmpIPredicate.
    "arith.cmpi": (
        *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
        *(np.less, np.less_equal, np.greater, np.greater_equal),
    ),
    # In the order of arith::CmpFPredicate, from OEQ to ORD, then UEQ to UNO; inputs hold no NaN.
    "arith.cmpf": (
        lambda left, _: np.zeros_like(left, np.bool_),
        *(np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal),
        lambda left, right: ~(np.isnan(left) | np.isnan(right)),
        *(np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal),
        lambda left, right: np.isnan(left) | np.isnan(right),
        lambda left, _: np.ones_like(left, np.bool_),
    ),
}

REDUCTIONS: Final[dict[str, Any]] = {
    f"arith.{name}": _OPERATIONS[f"arith.{name}"]
    for name in (
        *("addf", "addi", "mulf", "muli", "maximumf", "minimumf", "maxnumf", "minnumf"),
        *("maxsi", "minsi", "andi", "ori"),
    )
}
"""Operations by which a loop may combine its values in any order."""


EVALUATED: Final = frozenset({*_OPERATIONS, *_WIDENING, *_COMPARISONS, *_ROUNDING, "arith.bitcast"})
"""The operations that `evaluate` evaluates."""


def evaluate(operation: mlir.Operation, operands: list[Array]) -> Array:
    """Return the result of a scalar operation on arrays that broadcast.

    The operation may be on tensors, too, element by element.
    """
    name, predicate = operation.name, 0
    if name not in EVALUATED:
        raise UnsupportedOperationError(name)
    source, result = (
        kind.element_type if isinstance(kind, mlir.RankedTensorType) else kind
        for kind in (operation.operands[0].type, operation.results[0].type)
    )
    if name in _COMPARISONS:
        predicate = mlir.IntegerAttr(operation.attributes["predicate"]).value
    is_unsigned = name == "arith.cmpi" and predicate >= _FIRST_UNSIGNED_PREDICATE
    width = getattr(source, "width", _MOST_BITS)  # an index has no width of its own
    if (name in _UNSIGNED or is_unsigned) and width < _MOST_BITS:
        # 64-bit operands are assumed to be non-negative.
        mask = (1 << width) - 1
        operands = [value & mask if value.dtype == np.int64 else value for value in operands]
    elif name in _NEGATING and operands[0].dtype == np.bool_:
        operands = [-operands[0].astype(np.int64)]
    with np.errstate(all="ignore"):
        if name in _COMPARISONS:
            return _COMPARISONS[name][predicate](*operands)
        if name in _WIDENING:
            return widened(operands[0], result)
        if name == "arith.bitcast":
            bits = np.ascontiguousarray(operands[0].astype(_dtype(source)))
            return widened(bits.view(_dtype(result)).reshape(operands[0].shape), result)
        if name in _ROUNDING:
            return widened(_ROUNDING[name](*operands).astype(_dtype(result)), result)
        value = _OPERATIONS[name](*operands)
    width = getattr(result, "width", _MOST_BITS)
    if value.dtype != np.int64 or width >= _MOST_BITS:
        return value
    if name == "arith.trunci" and width == 1:
        return (value & 1).astype(np.bool_)
    # Integers are modulo their width, with their sign.
    half = 1 << (width - 1)
    return ((value + half) & ((1 << width) - 1)) - half


def widened(value: Array, result: mlir.Type) -> Array:
    """Return values in the widest type of their kind: float64, int64, or bool for i1."""
    if isinstance(result, mlir.FloatType):
        return value.astype(np.float64)
    if isinstance(result, mlir.IntegerType) and result.width == 1:
        return value.astype(np.bool_)
    if isinstance(result, (mlir.IntegerType, mlir.IndexType)):
        return value.astype(np.int64)
    raise UnsupportedOperationError(f"values of type {result}")


def _dtype(kind: mlir.Type) -> np.dtype:
    dtype = element_type(str(kind))
    if dtype is None:
        raise UnsupportedOperationError(f"values of type {kind}")
    return dtype


# --- Queries for elements of results, and operations that move elements of tensors, evaluated with NumPy

Value = mlir.Value[Any]

_BYTE: Final = 8

_BITS: Final = {
    "f4E2M1FN": (16, "float4_e2m1fn"),
    "f8E4M3FN": (256, "float8_e4m3fn"),
    "f8E5M2": (256, "float8_e5m2"),
    "f8E8M0FNU": (256, "float8_e8m0fnu"),
}
"""The number of values of floats of at most 8 bits, and their types of `ml_dtypes`."""


@dataclass(frozen=True)
class PointQuery:
    """A query for some elements of a result."""

    at: Callable[[Value, Sequence[Array]], Array]
    operation: mlir.Operation
    result: int
    index: Sequence[Array]
    is_reversed: bool = False

    def operand(self, number: int, index: Sequence[Array]) -> Array:
        return self.at(self.operation.operands[number], index)

    def shape(self, number: int) -> tuple[int, ...]:
        """Return the sizes of an operand."""
        return static_shape(self.operation.operands[number])

    def integers(self, name: str) -> list[int]:
        if name not in self.operation.attributes:
            return []
        return list(mlir.DenseI64ArrayAttr(self.operation.attributes[name]))

    def integer(self, name: str) -> int:
        return int(mlir.IntegerAttr(self.operation.attributes[name]).value)


def static_shape(value: Value) -> tuple[int, ...]:
    """Return the sizes of a tensor."""
    shape = tuple(mlir.RankedTensorType(value.type).shape)
    if any(size < 0 for size in shape):
        raise UnsupportedOperationError("a dynamic size")
    return shape


def defining_operation(value: Value) -> mlir.Operation:
    """Return the operation that defines a value."""
    owner = value.owner
    if isinstance(owner, mlir.Block):
        raise UnsupportedOperationError("an argument of a block")
    return owner.operation


def static_slice(operation: mlir.Operation) -> tuple[list[int], tuple[int, ...], list[int]]:
    """Return the static offsets, sizes and strides of an operation on a slice."""
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
    """Return positions in the whole tensor for positions in a slice of it."""
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
    count, dtype = _BITS.get(str(result), (0, ""))
    if not count:
        raise UnsupportedOperationError(f"a bitcast to {result}")
    table = np.arange(count, dtype=np.uint8).view(getattr(ml_dtypes, dtype)).astype(np.float64)
    parts = _BYTE // (count.bit_length() - 1)
    *outer, innermost = query.index
    data = query.operand(0, [*outer, innermost // parts])
    bits = (data.astype(np.int64) & 0xFF) >> (innermost % parts * (_BYTE // parts))
    values: Array = table[bits & (count - 1)]
    return values


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


def _tiled(query: PointQuery) -> Array:
    """Evaluate `linalg.pack`, which may add padding, and `linalg.unpack`."""
    is_pack = query.operation.name == "linalg.pack"
    unpacked = query.shape(0 if is_pack else 1)
    sizes = query.integers("static_inner_tiles")
    if any(size < 0 for size in sizes):
        raise UnsupportedOperationError("tiles of dynamic size")
    tiles = dict(zip(query.integers("inner_dims_pos"), sizes, strict=True))
    order = query.integers("outer_dims_perm") or list(range(len(unpacked)))
    if not is_pack:
        outer = [query.index[dimension] // tiles.get(dimension, 1) for dimension in order]
        inner = [query.index[dimension] % tile for dimension, tile in tiles.items()]
        return query.operand(0, [*outer, *inner])
    places = [query.index[order.index(dimension)] for dimension in range(len(unpacked))]
    for dimension, inside in zip(tiles, query.index[len(unpacked) :], strict=True):
        places[dimension] = places[dimension] * tiles[dimension] + inside
    is_inside, safe = clipped(places, unpacked)
    values = query.operand(0, safe)
    if bool(np.all(is_inside)):
        return values
    if len(query.operation.operands) < 3:  # noqa: PLR2004 - source, destination, padding
        raise UnsupportedOperationError("padding without a value")
    return np.where(is_inside, values, query.operand(2, ()))


def clipped(places: Sequence[Array], shape: Sequence[int]) -> tuple[Array, list[Array]]:
    """Return whether positions are inside a tensor, and the positions clipped to it."""
    inside: Array = np.ones((), np.bool_)
    for place, size in zip(places, shape, strict=True):
        inside = inside & (place >= 0) & (place < size)
    return inside, [np.clip(place, 0, size - 1) for place, size in zip(places, shape, strict=True)]


TENSOR_OPERATIONS: Final[dict[str, Callable[[PointQuery], Array]]] = {
    "tensor.empty": lambda _: np.zeros(()),
    **dict.fromkeys(("linalg.fill", "tensor.splat"), lambda query: query.operand(0, ())),
    "tensor.cast": lambda query: query.operand(0, query.index),
    "iree_tensor_ext.bitcast": _bitcast,
    **dict.fromkeys(("tensor.expand_shape", "tensor.collapse_shape"), _reshaped),
    "tensor.extract_slice": lambda query: query.operand(
        0, in_slice(query.operation, static_shape(query.operation.results[0]), query.index)
    ),
    "tensor.insert_slice": _inserted,
    "tensor.pad": _padded,
    "tensor.concat": _concatenated,
    **dict.fromkeys(("linalg.pack", "linalg.unpack"), _tiled),
}
"""The evaluation of operations by name."""
