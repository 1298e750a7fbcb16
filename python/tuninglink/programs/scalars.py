"""Scalar operations of `arith` and `math` on NumPy arrays of float64, int64 and bool.

Only conversions round: the order and the precision of the preceding operations are not checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.programs.compiled_program import element_type

Array = np.ndarray[Any, np.dtype[Any]]


class UnsupportedOperationError(Exception):
    """An operation without an evaluation in NumPy; the message is its name."""


_NUMPY_NAMES: Final = (
    "exp exp2 expm1 log log2 log1p sqrt cbrt floor ceil trunc sin cos tan sinh cosh tanh "
    "copysign isnan isinf isfinite"
)

_FUNCTIONS: Final[dict[str, Callable[..., Array]]] = {
    operation: function
    for operations, function in {
        "arith.addf arith.addi": np.add,
        "arith.subf arith.subi": np.subtract,
        "arith.mulf arith.muli arith.scaling_extf": np.multiply,
        "arith.divf arith.scaling_truncf": np.divide,
        # Towards zero.
        "arith.divsi": lambda left, right: (
            np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))
        ),
        "arith.floordivsi arith.divui": np.floor_divide,
        "arith.ceildivsi arith.ceildivui": lambda left, right: -(-left // right),
        "arith.remf arith.remsi arith.remui": np.fmod,
        "arith.shli": np.left_shift,
        "arith.shrsi arith.shrui": np.right_shift,
        "arith.andi": np.bitwise_and,
        "arith.ori": np.bitwise_or,
        "arith.xori": np.bitwise_xor,
        "arith.maximumf arith.maxsi arith.maxui": np.maximum,
        "arith.minimumf arith.minsi arith.minui": np.minimum,
        "arith.maxnumf": np.fmax,
        "arith.minnumf": np.fmin,
        "arith.negf": np.negative,
        "arith.select": np.where,
        # Conversions to the type of the result, which `evaluate` does.
        "arith.extf arith.extsi arith.extui arith.index_cast arith.index_castui": np.asarray,
        "arith.sitofp arith.uitofp arith.trunci": np.asarray,
        "arith.truncf arith.fptosi arith.fptoui arith.bitcast": np.asarray,
        **{f"math.{name}": getattr(np, name) for name in _NUMPY_NAMES.split()},
        **{
            f"math.a{name}": getattr(np, f"arc{name}")
            for name in ("sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")
        },
        "math.absf math.absi": np.abs,
        "math.powf math.fpowi math.ipowi": np.power,
        "math.rsqrt": lambda value: 1.0 / np.sqrt(value),
        "math.erf": np.vectorize(math.erf, otypes=[np.float64]),
        "math.erfc": np.vectorize(math.erfc, otypes=[np.float64]),
        "math.round": lambda value: np.copysign(np.floor(np.abs(value) + 0.5), value),
        "math.roundeven": np.rint,
        "math.fma": lambda left, right, addend: left * right + addend,
    }.items()
    for operation in operations.split()
}

COMPARISONS: Final[dict[str, tuple[Callable[..., Array], ...]]] = {
    # In the order of arith::CmpIPredicate.
    "arith.cmpi": (
        *(np.equal, np.not_equal),
        *(np.less, np.less_equal, np.greater, np.greater_equal) * 2,
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

_FIRST_UNSIGNED_PREDICATE: Final = 6

_ROUNDING: Final = frozenset(
    f"arith.{name}" for name in ("truncf", "fptosi", "fptoui", "scaling_extf", "scaling_truncf")
)

_NEGATING: Final = frozenset({"arith.extsi", "arith.sitofp", "arith.index_cast"})
"""Operations for which a true `i1` is -1."""

REDUCTIONS: Final[dict[str, Any]] = {
    f"arith.{name}": _FUNCTIONS[f"arith.{name}"]
    for name in (
        *("addf", "addi", "mulf", "muli", "maximumf", "minimumf", "maxnumf", "minnumf"),
        *("maxsi", "minsi", "andi", "ori"),
    )
}
"""Operations by which a loop may combine its values in any order."""

_MOST_BITS: Final = 64


def check_supported(operation: mlir.Operation) -> None:
    """Raise an error for an operation that `evaluate` does not evaluate."""
    if operation.name not in _FUNCTIONS and operation.name not in COMPARISONS:
        raise UnsupportedOperationError(operation.name)


def is_unsigned(operation: mlir.Operation) -> bool:
    """Return whether an operation takes integers for numbers without a sign."""
    if operation.name != "arith.cmpi":
        return "ui" in operation.name
    predicate = mlir.IntegerAttr(operation.attributes["predicate"]).value
    return predicate >= _FIRST_UNSIGNED_PREDICATE


def evaluate(operation: mlir.Operation, operands: list[Array]) -> Array:
    """Return the result of a scalar operation, or of one on tensors by element, on arrays that broadcast."""
    name = operation.name
    check_supported(operation)
    source, result = (
        kind.element_type if isinstance(kind, mlir.RankedTensorType) else kind
        for kind in (operation.operands[0].type, operation.results[0].type)
    )
    function = _FUNCTIONS.get(name)
    if function is None:
        function = COMPARISONS[name][mlir.IntegerAttr(operation.attributes["predicate"]).value]
    width = getattr(source, "width", _MOST_BITS)  # an index has no width of its own
    if is_unsigned(operation) and width < _MOST_BITS:
        # 64-bit operands are assumed to be non-negative.
        mask = (1 << width) - 1
        operands = [value & mask if value.dtype == np.int64 else value for value in operands]
    elif name in _NEGATING and operands[0].dtype == np.bool_:
        operands = [-operands[0].astype(np.int64)]
    with np.errstate(all="ignore"):
        value = function(*operands)
        if name == "arith.bitcast":
            bits = np.ascontiguousarray(value.astype(dtype_of(source)))
            value = bits.view(dtype_of(result)).reshape(value.shape)
        elif name in _ROUNDING:
            value = value.astype(dtype_of(result))
        return widened(value, result)


def widened(value: Array, kind: mlir.Type) -> Array:
    """Return values of a type in the widest type of their kind: float64, int64, or bool for i1."""
    if isinstance(kind, mlir.FloatType):
        return value.astype(np.float64, copy=False)
    if not isinstance(kind, (mlir.IntegerType, mlir.IndexType)):
        raise UnsupportedOperationError(f"values of type {kind}")
    width = getattr(kind, "width", _MOST_BITS)
    if width == 1:
        return (value & 1 if value.dtype == np.int64 else value).astype(np.bool_, copy=False)
    value = value.astype(np.int64, copy=False)
    # Integers are modulo their width, with their sign.
    half = 1 << (width - 1)
    return value if width == _MOST_BITS else ((value + half) & (2 * half - 1)) - half


def dtype_of(kind: mlir.Type) -> np.dtype:
    """Return the type of elements in NumPy."""
    dtype = element_type(str(kind))
    if dtype is None:
        raise UnsupportedOperationError(f"values of type {kind}")
    return dtype
