"""Comparison of the outputs of two kernels for the same inputs, and of a kernel with a reference for another device.

Both comparisons allow for rounding differences of sums in another order. The second also allows for functions such as
`exp` and `tanh`, which differ by some units in the last place between devices: the reference runs again on inputs that
are perturbed by about one rounding, and an output may differ by a multiple of the resulting change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import ml_dtypes
import numpy as np

from tuninglink.tuning.programs.benchmark import Binding, BufferLayout
from tuninglink.tuning.programs.compiled_program import element_type, is_float
from tuninglink.tuning.results import Failure, FailureKind

if TYPE_CHECKING:
    from tuninglink.tuning.devices.inputs import Bytes


_ROUNDINGS: Final = 8
"""Roundings of single elements that may differ, in units of the type's precision."""

_SUM: Final = 4
"""Differences of a sum of `n` terms in another order, in units of the precision times `sqrt(n)`.

Roundings of partial sums that grow as a random walk deviate by 0.2 such units (standard deviation); the largest of
millions is within 6 deviations. The factor leaves room for three times as much.
"""

_NARROW_BYTES: Final = 1
"""Types of one byte are rounded once, at the end: sums are kept in wider ones."""


@dataclass(frozen=True)
class ElementDifferences:
    """The differences of the elements of a binding from the expected ones.

    Attributes:
        agrees: whether all are within the tolerance.
        index: the element farthest outside its tolerance; this and the next three are set only if there is one.
        expected: its expected value.
        actual: its value.
        tolerance: its tolerance.
        wrong: the number of elements that are outside.
        count: the number of elements.
    """

    agrees: bool
    index: tuple[int, ...] = ()
    expected: float = 0.0
    actual: float = 0.0
    tolerance: float = 0.0
    wrong: int = 0
    count: int = 0

    def __str__(self) -> str:
        if self.agrees:
            return f"all of {self.count} elements agree"
        place = ", ".join(map(str, self.index))
        return (
            f"{self.wrong} of {self.count} elements differ, most at [{place}]: {self.actual:g}, "
            f"expected {self.expected:g} (tolerance {self.tolerance:.2g})"
        )


@dataclass(frozen=True)
class Outputs:
    """The outputs of one iteration of a benchmark.

    Attributes:
        bindings: the bytes of each binding that it writes.
        violation: the write out of bounds, in words, or None.
    """

    bindings: dict[int, Bytes]
    violation: str | None


def difference(
    layout: BufferLayout, actual: Outputs, expected: Outputs, reduction: int
) -> Failure | None:
    """Compare the outputs of two benchmarks on the same inputs.

    Args:
        layout: their buffer.
        actual: the outputs of the checked benchmark.
        expected: the outputs of the other benchmark.
        reduction: the number of products in an element of an output.

    Returns:
        None if they agree; else the difference and its place.
    """
    if actual.violation is not None:
        return Failure(FailureKind.OUT_OF_BOUNDS, actual.violation)
    for index, output in actual.bindings.items():
        comparison = compare(layout.bindings[index], output, expected.bindings[index], reduction)
        if not comparison.agrees:
            return Failure(FailureKind.WRONG, f"binding {index}: {comparison}")
    return None


def compare(
    binding: Binding, actual: Bytes, expected: Bytes, reduction: int = 1
) -> ElementDifferences:
    """Compare the elements of a binding.

    Floating-point elements may differ by the error of rounding in another order; a NaN must be where one is
    expected, and so must an infinity. All others must be equal.

    Args:
        binding: the type and shape of the bytes.
        actual: the output of one kernel.
        expected: the output of the other.
        reduction: the number of products in an element.
    """
    dtype = element_type(binding.element_type)
    if dtype is None:
        return _exact(actual, expected, (len(actual),))
    count = math.prod(binding.shape)
    size = count * dtype.itemsize
    result, reference = (content[:size].view(dtype) for content in (actual, expected))
    if not is_float(binding.element_type):
        return _exact(result, reference, binding.shape)
    if np.array_equal(actual[:size], expected[:size]):
        # Twenty times as fast as with tolerances.
        return ElementDifferences(agrees=True, count=count)
    expected_values = reference.astype(np.float64)
    allowed = relative_tolerance(dtype, reduction) * _magnitudes(expected_values)
    return within(result.astype(np.float64), expected_values, allowed, binding.shape)


def relative_tolerance(dtype: np.dtype, reduction: int) -> float:
    """Return the tolerance for rounding in another order, relative to the magnitude of elements.

    Args:
        dtype: a floating-point type.
        reduction: the number of products in an element.
    """
    precision = float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]
    terms = 0 if dtype.itemsize <= _NARROW_BYTES else _SUM * math.sqrt(reduction)
    roundings = 2 if dtype.itemsize <= _NARROW_BYTES else _ROUNDINGS
    return precision * (roundings + terms)


def _magnitudes(values: np.ndarray) -> np.ndarray:
    """Return the magnitude of each element, at least the root mean square of the finite ones.

    Infinities and NaNs get that value: an infinite magnitude would allow any value in their place.
    """
    regular = np.isfinite(values)
    scale = _root_mean_square(values[regular])
    magnitudes: np.ndarray = np.where(regular, np.maximum(np.abs(values), scale), scale)
    return magnitudes


def within(
    actual: np.ndarray, expected: np.ndarray, tolerance: np.ndarray, shape: tuple[int, ...]
) -> ElementDifferences:
    """Compare elements, each with its own tolerance.

    Args:
        actual: the elements, as float64.
        expected: the expected values, as float64.
        tolerance: the tolerance of each; infinite where any value is right.
        shape: the shape in which the place of the worst element is given.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(actual - expected)
        if (distance <= tolerance).all():
            return ElementDifferences(agrees=True, count=len(expected))
        excess = distance / np.maximum(tolerance, np.finfo(np.float64).tiny)
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected)) | np.isposinf(tolerance)
    excess = np.where(same, 0.0, np.where(np.isfinite(excess), excess, np.inf))
    worst = int(np.argmax(excess))
    wrong = int(np.count_nonzero(excess > 1))
    allowed = float(tolerance[worst]) if math.isfinite(tolerance[worst]) else 0.0
    return ElementDifferences(
        wrong == 0,
        _position(worst, shape),
        float(expected[worst]),
        float(actual[worst]),
        allowed,
        wrong,
        len(expected),
    )


def _exact(
    actual_values: np.ndarray, expected_values: np.ndarray, shape: tuple[int, ...]
) -> ElementDifferences:
    different = actual_values != expected_values
    worst = int(np.argmax(different))
    wrong = int(np.count_nonzero(different))
    place = _position(worst, shape)
    expected, actual = float(expected_values[worst]), float(actual_values[worst])
    return ElementDifferences(wrong == 0, place, expected, actual, 0.0, wrong, len(expected_values))


def _position(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(coordinate) for coordinate in np.unravel_index(index, shape)) if shape else ()


_SENSITIVITY: Final = 8.0
"""The tolerance of an output, as a multiple of the change that the perturbation causes."""


@dataclass(frozen=True)
class Expected:
    """The expected content of one binding.

    Attributes:
        values: the elements, as bytes.
        perturbed: the elements for inputs that are off by about one rounding, as bytes.
    """

    values: Bytes
    perturbed: Bytes


def tolerance(binding: Binding, expected: Expected, summation: float) -> np.ndarray:
    """Return the tolerance of each element of a binding.

    Elements that are not floating-point numbers must be equal where the perturbation does not change them.

    Args:
        binding: the binding.
        expected: its expected content.
        summation: the tolerance of sums relative to their magnitude; see `summation_error`.
    """
    dtype = element_type(binding.element_type)
    values, perturbed = elements(binding, expected.values), elements(binding, expected.perturbed)
    if dtype is None or not is_float(binding.element_type):
        return np.where(values == perturbed, 0.0, np.inf)
    with np.errstate(invalid="ignore"):
        change = np.nan_to_num(np.abs(perturbed - values), posinf=0.0)
    scale = _root_mean_square(values[np.isfinite(values)])
    rounding = (relative_tolerance(dtype, 0) + summation) * np.maximum(np.abs(values), scale)
    sensitivity = _SENSITIVITY * np.maximum(change, _root_mean_square(change))
    result: np.ndarray = np.nan_to_num(rounding, posinf=0.0) + sensitivity
    return result


def elements(binding: Binding, data: Bytes) -> np.ndarray:
    """Return the elements that bytes hold as float64; the bytes themselves if their type is unknown."""
    dtype = element_type(binding.element_type)
    if dtype is None:
        return data.astype(np.float64)
    whole = len(data) // dtype.itemsize * dtype.itemsize
    return data[:whole].view(dtype).astype(np.float64)


def compare_with(
    binding: Binding, actual: Bytes, expected: Expected, summation: float = 0.0
) -> ElementDifferences:
    """Compare a binding with its expected content.

    Args:
        binding: the type and shape of the bytes.
        actual: the output of a kernel.
        expected: the expected output.
        summation: the tolerance of sums relative to their magnitude; see `summation_error`.
    """
    allowed = tolerance(binding, expected, summation)
    values, reference = elements(binding, actual), elements(binding, expected.values)
    if element_type(binding.element_type) is None:
        return within(values, reference, allowed, (len(actual),))
    count = math.prod(binding.shape)
    return within(values[:count], reference[:count], allowed[:count], binding.shape)


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0
