"""Scalar operations of `arith` and `math` on NumPy arrays, floats in double precision.

Only `arith.truncf` rounds: the order and the precision of the preceding operations are not checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.tuning.programs.compiled_program import element_type

Array = np.ndarray[Any, np.dtype[Any]]


class UnsupportedOperationError(Exception):
    """An operation without an evaluation in NumPy; the message is its name."""


def _divide(left: Array, right: Array) -> Array:
    """Divide integers as `arith.divsi` does: towards zero."""
    quotient: Array = (np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))).astype(
        np.int64
    )
    return quotient


def _divide_up(left: Array, right: Array) -> Array:
    """Divide integers towards positive infinity."""
    return -(-left // right)


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
    "arith.addf": np.add,
    "arith.addi": np.add,
    "arith.subf": np.subtract,
    "arith.subi": np.subtract,
    "arith.mulf": np.multiply,
    "arith.muli": np.multiply,
    "arith.divf": np.divide,
    "arith.divsi": _divide,
    "arith.divui": np.floor_divide,
    "arith.ceildivsi": _divide_up,
    "arith.ceildivui": _divide_up,
    "arith.floordivsi": np.floor_divide,
    "arith.remf": np.fmod,
    "arith.remsi": np.fmod,
    "arith.remui": np.remainder,
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "arith.shrui": np.right_shift,
    "arith.negf": np.negative,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.maxui": np.maximum,
    "arith.minui": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.select": np.where,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.log": np.log,
    "math.log2": np.log2,
    "math.log1p": np.log1p,
    "math.sqrt": np.sqrt,
    "math.rsqrt": lambda value: 1.0 / np.sqrt(value),
    "math.tanh": np.tanh,
    "math.sin": np.sin,
    "math.cos": np.cos,
    "math.tan": np.tan,
    "math.asin": np.arcsin,
    "math.acos": np.arccos,
    "math.atan": np.arctan,
    "math.atan2": np.arctan2,
    "math.sinh": np.sinh,
    "math.cosh": np.cosh,
    "math.asinh": np.arcsinh,
    "math.acosh": np.arccosh,
    "math.atanh": np.arctanh,
    "math.cbrt": np.cbrt,
    "math.erf": _erf,
    "math.erfc": lambda value: 1.0 - _erf(value),
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.round": lambda value: np.copysign(np.floor(np.abs(value) + 0.5), value),
    "math.roundeven": np.rint,
    "math.copysign": np.copysign,
    "math.isnan": np.isnan,
    "math.isinf": np.isinf,
    "math.isfinite": np.isfinite,
    "math.powf": np.power,
    "math.fpowi": np.power,
    "math.ipowi": np.power,
    "math.fma": lambda left, right, addend: left * right + addend,
}

_WIDENING: Final = frozenset(
    {
        *("arith.extf", "arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui"),
        *("arith.sitofp", "arith.uitofp"),
    }
)


def _same(value: Array) -> Array:
    return value


_ROUNDING: Final[dict[str, Callable[..., Array]]] = {
    **dict.fromkeys(("arith.truncf", "arith.fptosi", "arith.fptoui", "arith.trunci"), _same),
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

REDUCTIONS: Final[dict[str, np.ufunc]] = {
    "arith.addf": np.add,
    "arith.addi": np.add,
    "arith.mulf": np.multiply,
    "arith.muli": np.multiply,
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
}
"""Operations by which a loop may combine its values in any order."""


EVALUATED: Final = frozenset({*_OPERATIONS, *_WIDENING, *_COMPARISONS, *_ROUNDING, "arith.bitcast"})
"""The operations that `evaluate` evaluates."""


def evaluate(operation: mlir.Operation, operands: list[Array]) -> Array:
    """Return the result of a scalar operation on arrays that broadcast.

    The operation may be on tensors, too, element by element.

    Raises:
        UnsupportedOperationError: the operation is not supported.
    """
    name = operation.name
    if name == "arith.cmpi":
        predicate = mlir.IntegerAttr(operation.attributes["predicate"]).value
        if predicate >= _FIRST_UNSIGNED_PREDICATE:
            operands = [_unsigned(operation, operand) for operand in operands]
    elif name in _UNSIGNED:
        operands = [_unsigned(operation, operand) for operand in operands]
    elif name in _NEGATING and operands[0].dtype == np.bool_:
        operands = [-operands[0].astype(np.int64)]
    result = _element(operation.results[0].type)
    with np.errstate(all="ignore"):
        if name in _OPERATIONS:
            return _wrapped(_OPERATIONS[name](*operands), result)
        if name in _WIDENING:
            return widened(operands[0], result)
        if name in _COMPARISONS:
            predicate = mlir.IntegerAttr(operation.attributes["predicate"]).value
            return _COMPARISONS[name][predicate](*operands)
        if name == "arith.bitcast":
            return _reinterpreted(operation, operands[0])
        if name in _ROUNDING:
            return _narrowed(name, _ROUNDING[name](*operands), result)
    raise UnsupportedOperationError(name)


def widened(value: Array, result: mlir.Type) -> Array:
    """Return values in the widest type of their kind: float64, int64, or bool for i1."""
    if isinstance(result, mlir.FloatType):
        return value.astype(np.float64)
    if isinstance(result, mlir.IntegerType) and result.width == 1:
        return value.astype(np.bool_)
    if isinstance(result, (mlir.IntegerType, mlir.IndexType)):
        return value.astype(np.int64)
    raise UnsupportedOperationError(f"values of type {result}")


def _element(kind: mlir.Type) -> mlir.Type:
    """Return the type of the elements of a tensor, or the type itself."""
    return kind.element_type if isinstance(kind, mlir.RankedTensorType) else kind


def _width(kind: mlir.Type) -> int:
    """Return the bits of an integer."""
    return kind.width if isinstance(kind, mlir.IntegerType) else _MOST_BITS


def _unsigned(operation: mlir.Operation, value: Array) -> Array:
    """Return operands as unsigned integers; 64-bit operands are assumed to be non-negative."""
    width = _width(_element(operation.operands[0].type))
    if value.dtype != np.int64 or width >= _MOST_BITS:
        return value
    return value & ((1 << width) - 1)


def _wrapped(value: Array, kind: mlir.Type) -> Array:
    """Return integers modulo their width, with their sign."""
    width = _width(kind)
    if value.dtype != np.int64 or width >= _MOST_BITS:
        return value
    half = 1 << (width - 1)
    return ((value + half) & ((1 << width) - 1)) - half


def _dtype(kind: mlir.Type) -> np.dtype:
    dtype = element_type(str(kind))
    if dtype is None:
        raise UnsupportedOperationError(f"values of type {kind}")
    return dtype


def _narrowed(name: str, value: Array, result: mlir.Type) -> Array:
    if name == "arith.trunci" and _width(result) == 1:
        return (value & 1).astype(np.bool_)
    if name == "arith.trunci":
        return _wrapped(value, result)
    return widened(value.astype(_dtype(result)), result)


def _reinterpreted(operation: mlir.Operation, value: Array) -> Array:
    """Return the bits of values as another type."""
    source, result = _element(operation.operands[0].type), _element(operation.results[0].type)
    bits = np.ascontiguousarray(value.astype(_dtype(source)))
    return widened(bits.view(_dtype(result)).reshape(value.shape), result)
