"""Errors of the outputs of whole programs, and their tolerances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Arrays = Sequence[NDArray[Any]]

_WIDE_BYTES: Final = 4
_WIDE_TOLERANCE: Final = 1e-4
_ROUNDINGS: Final = 10
"""The tolerance of types narrower than f32, in units of their precision: 1e-2 for f16."""

_LARGEST: Final = 0.5
"""The tolerance of types with a few bits."""


def relative_error(actual: Arrays, expected: Arrays) -> float:
    """Return the largest relative error of outputs, in the Frobenius norm.

    Infinities and NaN must be where they are expected. The error of integers is the fraction that differs.

    Args:
        actual: the outputs.
        expected: the expected outputs; their types may be wider.

    Returns:
        The error; infinity if the number or shapes of the outputs differ, or their non-finite values.
    """
    if len(actual) != len(expected):
        return math.inf
    pairs = zip(actual, expected, strict=True)
    return max((_error(left, right) for left, right in pairs), default=0.0)


def _error(actual: NDArray[Any], expected: NDArray[Any]) -> float:
    if actual.shape != expected.shape:
        return math.inf
    if not actual.size:
        return 0.0
    if actual.dtype.kind in "iub":
        return float(np.mean(actual != expected))
    values, exact = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(exact)
    if not np.array_equal(values[~finite], exact[~finite], equal_nan=True):
        return math.inf
    norm = float(np.linalg.norm(exact[finite])) or 1.0
    error = float(np.linalg.norm(values[finite] - exact[finite])) / norm
    return error if math.isfinite(error) else math.inf


def are_identical(actual: Arrays, expected: Arrays) -> bool:
    """Return whether outputs are bitwise equal."""
    return len(actual) == len(expected) and all(
        left.dtype == right.dtype
        and left.shape == right.shape
        and left.tobytes() == right.tobytes()
        for left, right in zip(actual, expected, strict=True)
    )


def tolerance_of(types: Iterable[np.dtype]) -> float:
    """Return the largest relative error of a correct program's outputs.

    Args:
        types: the types of its computation; the narrowest floating-point type counts.
    """
    return max((_tolerance(dtype) for dtype in types if _is_float(dtype)), default=_WIDE_TOLERANCE)


def _is_float(dtype: np.dtype) -> bool:
    return dtype.kind in "fV"  # NumPy has no kind for the types of ml_dtypes


def _tolerance(dtype: np.dtype) -> float:
    if dtype.itemsize >= _WIDE_BYTES:
        return _WIDE_TOLERANCE
    precision = float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]
    return min(_LARGEST, round(_ROUNDINGS * precision, 2))
