"""Scalar operations of `arith` and `math` on NumPy arrays, floats in double precision.

Only `arith.truncf` rounds: the order and the precision of the operations before it are not what is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.tuning.programs.element_types import element_type

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, np.dtype[Any]]


class UnsupportedOperationError(Exception):
    """An operation that is not evaluated here; holds its name."""


def _divide(left: Array, right: Array) -> Array:
    """Divides integers as `arith.divsi` does: towards zero."""
    quotient: Array = (np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))).astype(
        np.int64
    )
    return quotient


def _sigmoid(value: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-value))


def _erf(value: Array) -> Array:
    """Returns the error function, from its series or its continued fraction (Abramowitz and Stegun 7.1.5, 7.1.14)."""
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
    "arith.floordivsi": np.floor_divide,
    "arith.remsi": np.fmod,
    "arith.remui": np.remainder,
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
    "math.erf": _erf,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.powf": np.power,
    "math.fma": lambda left, right, addend: left * right + addend,
}

_WIDENING: Final = frozenset(
    {"arith.extf", "arith.extsi", "arith.index_cast", "arith.sitofp", "arith.uitofp"}
)

_COMPARISONS: Final[dict[str, tuple[Callable[..., Array], ...]]] = {
    # In the order of arith::CmpIPredicate; operands are non-negative where it is unsigned.
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


def evaluate(operation: mlir.Operation, operands: list[Array]) -> Array:
    """Returns the result of a scalar operation on arrays that broadcast.

    Raises:
        UnsupportedOperationError: it is not evaluated here.
    """
    name = operation.name
    if name in _OPERATIONS:
        return _OPERATIONS[name](*operands)
    if name in _WIDENING:
        return widened(operands[0], operation.results[0].type)
    if name in _COMPARISONS:
        predicate = mlir.IntegerAttr(operation.attributes["predicate"]).value
        return _COMPARISONS[name][predicate](*operands)
    if name in ("arith.truncf", "arith.fptosi", "arith.fptoui", "arith.trunci", "arith.extui"):
        return _narrowed(operation, operands[0])
    raise UnsupportedOperationError(name)


def widened(value: Array, result: mlir.Type) -> Array:
    """Returns values in the widest type of their kind: float64, int64, or bool for i1."""
    if isinstance(result, mlir.FloatType):
        return value.astype(np.float64)
    if isinstance(result, mlir.IntegerType) and result.width == 1:
        return value.astype(np.bool_)
    return value.astype(np.int64)


def _narrowed(operation: mlir.Operation, value: Array) -> Array:
    result = operation.results[0].type
    if operation.name == "arith.extui":
        operand = operation.operands[0].type
        assert isinstance(operand, mlir.IntegerType)
        mask = (1 << operand.width) - 1
        return value.astype(np.int64) & mask if operand.width < 64 else value  # noqa: PLR2004
    dtype = element_type(str(result))
    if dtype is None:
        raise UnsupportedOperationError(f"{operation.name} to {result}")
    with np.errstate(over="ignore", invalid="ignore"):
        return widened(value.astype(dtype), result)
