"""Tolerances of the outputs of a kernel against those of a reference for another device.

Two sources of differences are allowed for. The first is rounding of sums in another order, as between kernels of one
device (`devices.numerics`). The second is what functions such as `exp` and `tanh`, which differ by some units in the
last place between devices, become on their way to the output: the reference runs a second time on inputs that are
moved by about one rounding, and an output may be off by a multiple of what that changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import ml_dtypes
import numpy as np

from tuninglink.tuning.devices.inputs import filled, patterns
from tuninglink.tuning.devices.numerics import ElementDifferences, relative_tolerance, within
from tuninglink.tuning.programs.benchmark import Access, Binding, BufferLayout
from tuninglink.tuning.programs.compiled_program import SCALE, element_type, is_float

if TYPE_CHECKING:
    from tuninglink.tuning.devices.inputs import Bytes, Pattern

_LEAST_PERTURBATION: Final = 2.0**-18
"""Relative change of f32 and f64 inputs: 64 units in the last place of f32, more than device functions are off by."""

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


def perturbed_inputs(layout: BufferLayout, seed: int) -> Bytes:
    """Return the buffer of `make_inputs` with each floating-point input moved by about one rounding."""
    return filled(layout, perturbed_patterns(layout, seed))


def perturbed_patterns(layout: BufferLayout, seed: int) -> list[list[Pattern]]:
    """Return the content of each binding in `perturbed_inputs`; see `patterns`."""
    return [
        parts
        if binding.access is Access.WRITE
        else [_perturbed(part, (seed, position, 1)) for part in parts]
        for position, (binding, parts) in enumerate(
            zip(layout.bindings, patterns(layout, seed), strict=True)
        )
    ]


def _perturbed(part: Pattern, seed: Sequence[int]) -> Pattern:
    dtype = element_type(part.element_type)
    if dtype is None or not is_float(part.element_type) or part.element_type == SCALE:
        return part
    values = part.content.view(dtype)
    random = np.random.default_rng(seed)
    step = max(float(ml_dtypes.finfo(dtype).eps), _LEAST_PERTURBATION)  # type: ignore[no-untyped-call]
    signs = random.integers(0, 2, len(values), np.int8) * 2 - 1
    moved = (values.astype(np.float64) * (1 + signs * step)).astype(dtype)
    return replace(part, content=moved.view(np.uint8))


def tolerance(binding: Binding, expected: Expected, summation: float) -> np.ndarray:
    """Return the tolerance of each element of a binding.

    Elements that are not floating-point numbers must be equal where the perturbation does not change them.

    Args:
        binding: the binding.
        expected: what it should hold.
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
    """Return the elements that bytes hold as float64; the bytes themselves if their type is not known here."""
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
        binding: what the bytes hold.
        actual: what a kernel wrote.
        expected: what it should have written.
        summation: the tolerance of sums relative to their magnitude; see `summation_error`.
    """
    allowed = tolerance(binding, expected, summation)
    count = math.prod(binding.shape)
    if element_type(binding.element_type) is None:
        return within(
            actual.astype(np.float64), elements(binding, expected.values), allowed, (len(actual),)
        )
    values = elements(binding, expected.values)[:count]
    return within(elements(binding, actual)[:count], values, allowed[:count], binding.shape)


def _root_mean_square(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0
