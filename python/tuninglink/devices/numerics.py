"""Comparison of the outputs of two kernels for the same inputs, and of a kernel with a reference for another device.

Both comparisons allow for rounding differences of sums in another order. The second also allows for functions such as
`exp` and `tanh`, which differ by some units in the last place between devices: the reference runs again on inputs that
are perturbed by about one rounding, and an output may differ by a multiple of the resulting change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tuninglink.programs import (
    SCALE,
    Access,
    Binding,
    BufferLayout,
    Failure,
    FailureKind,
    element_type,
    is_float,
)

Bytes = NDArray[np.uint8]

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
    """The differences of the elements of a binding from the expected ones."""

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
        is_nan = math.isnan(self.actual) and not math.isnan(self.expected)
        return (
            f"{self.wrong} of {self.count} elements differ, most at [{place}]: {self.actual:g}, "
            f"expected {self.expected:g} (tolerance {self.tolerance:.2g})"
        ) + ("; it may read beyond an operand, where there are NaNs" if is_nan else "")


@dataclass(frozen=True)
class Outputs:
    """The bytes of each binding that an iteration of a benchmark writes, and a violation: a write out of bounds, in words."""

    bindings: dict[int, Bytes]
    violation: str | None


def difference(
    layout: BufferLayout, actual: Outputs, expected: Outputs, reduction: int
) -> Failure | None:
    """Return the difference of the outputs of two benchmarks on the same inputs, and its place; None if they agree.

    An element is a sum of `reduction` products.
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
    """Compare the elements of a binding, for `reduction` products in an element.

    Floating-point elements may differ by the error of rounding in another order; a NaN must be where one is
    expected, and so must an infinity. All others must be equal.
    """
    dtype = element_type(binding.element_type)
    if dtype is None or not is_float(binding.element_type):
        return _differences(binding, actual, expected, None)
    values = elements(binding, expected)
    if np.array_equal(elements(binding, actual).view(np.uint8), values.view(np.uint8)):
        # Twenty times as fast as with tolerances.
        return ElementDifferences(agrees=True, count=len(values))
    is_narrow = dtype.itemsize <= _NARROW_BYTES
    summation = 0.0 if is_narrow else _precision(dtype) * _SUM * math.sqrt(reduction)
    return compare_with(binding, actual, Expected(expected, expected), summation)


def _precision(dtype: np.dtype) -> float:
    return float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]


_BLOCK_ELEMENTS: Final = 1 << 18
"""The elements that are compared at once: those of a large binding in 64 bits would leave the caches, and fill the memory."""


def _blocks(count: int) -> Iterator[slice]:
    for low in range(0, count, _BLOCK_ELEMENTS):
        yield slice(low, min(low + _BLOCK_ELEMENTS, count))


@dataclass(frozen=True)
class Tolerance:
    """The tolerances of the elements of a binding: the least one, and those of the elements in a range."""

    least: float
    limits: Callable[[slice], np.ndarray]


def _differences(
    binding: Binding, actual_bytes: Bytes, expected_bytes: Bytes, tolerance: Tolerance | None
) -> ElementDifferences:
    """Compare the elements of a binding, each with its own tolerance; without tolerances, they must be equal."""
    actual, expected = (elements(binding, content) for content in (actual_bytes, expected_bytes))
    bits = np.dtype(f"u{expected.itemsize}")
    wrong, worst, most, allowed = 0, -1, 1.0, 0.0
    for part in _blocks(len(expected)):
        different = np.flatnonzero(actual[part].view(bits) != expected[part].view(bits))
        if tolerance is None:
            worst = part.start + int(different[0]) if len(different) and not wrong else worst
            wrong += len(different)
            continue
        values, reference = (
            content[part][different].astype(np.float64) for content in (actual, expected)
        )
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.abs(values - reference)
            # Most elements differ by less than the least tolerance.
            far = np.flatnonzero(~(distance <= tolerance.least))
            if not len(far):
                continue
            different, values, reference = different[far], values[far], reference[far]
            limits = tolerance.limits(part)[different]
            excess = distance[far] / np.maximum(limits, np.finfo(np.float64).tiny)
        same = (values == reference) | (np.isnan(values) & np.isnan(reference))
        excess = np.where(np.isfinite(excess), excess, np.inf)
        excess = np.where(same | np.isposinf(limits), 0.0, excess)
        wrong += int(np.count_nonzero(excess > 1))
        place = int(np.argmax(excess))
        if excess[place] > most:
            worst, most = part.start + int(different[place]), float(excess[place])
            allowed = float(limits[place]) if math.isfinite(limits[place]) else 0.0
    if not wrong:
        return ElementDifferences(agrees=True, count=len(expected))
    shape = (len(expected),) if element_type(binding.element_type) is None else binding.shape
    return ElementDifferences(
        agrees=False,
        index=tuple(map(int, np.unravel_index(worst, shape))) if shape else (),
        expected=float(expected[worst]),
        actual=float(actual[worst]),
        tolerance=allowed,
        wrong=wrong,
        count=len(expected),
    )


_SENSITIVITY: Final = 8.0
"""The tolerance of an output, as a multiple of the change that the perturbation causes."""


@dataclass(frozen=True)
class Expected:
    """The expected content of one binding, as bytes, also for inputs that are off by about one rounding."""

    values: Bytes
    perturbed: Bytes


def tolerance(binding: Binding, expected: Expected, summation: float) -> Tolerance:
    """Return the tolerances of the elements of a binding, where sums may be off by a part of their magnitude.

    Elements that are not floating-point numbers must be equal where the perturbation does not change them.
    """
    dtype = element_type(binding.element_type)
    values, moved = (
        elements(binding, content) for content in (expected.values, expected.perturbed)
    )
    if dtype is None or not is_float(binding.element_type):
        return Tolerance(0.0, lambda part: np.where(values[part] == moved[part], 0.0, np.inf))

    # Tolerances are relative to the magnitude of each element, at least the root mean square of the finite ones. An
    # infinite magnitude would allow any value in its place.
    roundings = 2 if dtype.itemsize <= _NARROW_BYTES else _ROUNDINGS
    relative, scale = roundings * _precision(dtype) + summation, _root_mean_square(values)
    is_moved, least_change = expected.perturbed is not expected.values, 0.0

    def change(part: slice) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            off = np.abs(moved[part].astype(np.float64) - values[part].astype(np.float64))
        result: np.ndarray = np.nan_to_num(off, posinf=0.0)
        return result

    if is_moved and len(values):
        squares = sum(float(np.square(change(part)).sum()) for part in _blocks(len(values)))
        least_change = math.sqrt(squares / len(values))

    def limits(part: slice) -> np.ndarray:
        rounding = relative * np.maximum(np.abs(values[part].astype(np.float64)), scale)
        sensitivity = _SENSITIVITY * np.maximum(change(part), least_change) if is_moved else 0.0
        result: np.ndarray = np.nan_to_num(rounding, posinf=0.0) + sensitivity
        return result

    return Tolerance(relative * scale + _SENSITIVITY * least_change, limits)


def elements(binding: Binding, data: Bytes) -> np.ndarray:
    """Return the elements that the bytes of a binding hold; the bytes themselves if their type is unknown."""
    dtype = element_type(binding.element_type)
    return data if dtype is None else data[: math.prod(binding.shape) * dtype.itemsize].view(dtype)


def compare_with(
    binding: Binding, actual: Bytes, expected: Expected, summation: float = 0.0
) -> ElementDifferences:
    """Compare a binding with its expected content; see `tolerance`."""
    allowed = tolerance(binding, expected, summation)
    return _differences(binding, actual, expected.values, allowed)


def _root_mean_square(values: np.ndarray) -> float:
    """Return the root mean square of the finite ones of some values."""
    squares, count = 0.0, 0
    for part in _blocks(len(values)):
        block = values[part].astype(np.float64)
        regular = block[np.isfinite(block)]
        squares += float(np.dot(regular, regular))
        count += len(regular)
    return math.sqrt(squares / count) if count else 0.0


# --- Inputs of benchmarks: random nonzero values, with or without a small perturbation, and canaries in the guards

CANARY: Final = np.frombuffer(b"\x9a\x7f\xf5\xff", np.uint8)
"""The content of guards. Four different bytes reveal a write that is shifted by one to three bytes. They are a NaN in any type
of 16 bits and more, which reveals a read beyond an operand, also if that is multiplied by zero, as in padded reductions."""

ZEROS: Final = np.zeros_like(CANARY)
"""The content of guards that reveal nothing."""

_PERIOD: Final = 1_048_583
"""The number of elements that are drawn, and repeated: a prime, so that no two rows or columns of a large binding are alike."""

_LARGEST_INTEGER: Final = 3


def buffer_length(layout: BufferLayout, sets: int = 1) -> int:
    """Return the bytes of the buffer of a benchmark: the sets, and a guard at the end."""
    return layout.stride * sets + layout.guard


@dataclass(frozen=True)
class Pattern:
    """Bytes that are repeated in a part of a binding, whose offset in the binding and length are in bytes."""

    element_type: str
    start: int
    length: int
    content: Bytes

    @property
    def name(self) -> str:
        """The element type, or `bytes` if it is unknown."""
        return self.element_type if element_type(self.element_type) is not None else "bytes"


_LEAST_PERTURBATION: Final = 2.0**-18
"""Relative change of f32 and f64 inputs: 64 units in the last place of f32, more than device functions are off by."""


def patterns(layout: BufferLayout, seed: int, *, perturbed: bool = False) -> list[list[Pattern]]:
    """Return the initial content of each binding: a pattern for the whole binding, and patterns for parts of it.

    If it is perturbed, each floating-point input is moved by about one rounding.
    """
    contents: list[list[Pattern]] = []
    for index, binding in enumerate(layout.bindings):
        places: list[tuple[str, int, int, tuple[int, ...]]]
        places = [(binding.element_type, 0, binding.byte_length, (seed, index))]
        places += [
            (part.element_type, part.offset, part.byte_length, (seed, index, part.offset))
            for part in binding.parts
        ]
        is_moved = perturbed and binding.access is not Access.WRITE
        contents.append([])
        for name, start, length, own_seed in places:
            dtype = element_type(name)
            width = dtype.itemsize if dtype else 1
            count = length // width
            drawn = random_bytes(name, min(count, _PERIOD), own_seed, binding.largest_integer)
            if is_moved and dtype is not None and is_float(name) and name != SCALE:
                values = drawn.view(dtype)
                random = np.random.default_rng((seed, index, 1))
                signs = random.integers(0, 2, len(values), np.int8) * 2 - 1
                factors = 1 + signs * max(_precision(dtype), _LEAST_PERTURBATION)
                drawn = (values.astype(np.float64) * factors).astype(dtype).view(np.uint8)
            contents[-1].append(Pattern(name, start, count * width, drawn))
    return contents


def initial_bytes(
    layout: BufferLayout,
    contents: Sequence[Sequence[Pattern]],
    low: int,
    high: int,
    guard: Bytes = CANARY,
) -> Bytes:
    """Return a range of the buffer of one set, with the given patterns in its bindings, and what its guards hold."""
    phase = low % len(guard)
    words = np.full(-(-(phase + high - low) // len(guard)), guard.view(np.uint32)[0], np.uint32)
    block = words.view(np.uint8)[phase : phase + high - low]
    for binding, parts in zip(layout.bindings, contents, strict=True):
        for part in parts:
            begin, period = binding.offset + part.start, len(part.content)
            place, end = max(low, begin), min(high, begin + part.length)
            while place < end:
                phase = (place - begin) % period
                count = min(end - place, period - phase)
                block[place - low :][:count] = part.content[phase : phase + count]
                place += count
    return block


def outputs_of(layout: BufferLayout, buffer: Bytes) -> dict[int, Bytes]:
    """Return the bytes of the bindings that a dispatch writes, in the first set."""
    return {
        index: buffer[binding.offset : binding.offset + binding.byte_length]
        for index, binding in enumerate(layout.bindings)
        if binding.access is not Access.READ
    }


_BLOCK: Final = 1 << 18
"""The bytes that are compared at once: new memory for as many bytes as a buffer has would take longer than comparing them."""


def find_violation(
    layout: BufferLayout, contents: Sequence[Sequence[Pattern]], after: Bytes
) -> str | None:
    """Return the write out of bounds that the first set shows, in words, or None.

    Bindings that a dispatch only reads count as out of bounds, too.
    """
    written = sorted(
        (binding.offset, binding.offset + binding.byte_length)
        for binding in layout.bindings
        if binding.access is not Access.READ
    )
    count, first, begin = 0, -1, 0
    for start, end in (*written, (buffer_length(layout), 0)):
        # Compare the bytes between two written bindings.
        for low in range(begin, start, _BLOCK):
            high = min(low + _BLOCK, start)
            places = np.flatnonzero(initial_bytes(layout, contents, low, high) != after[low:high])
            if len(places) and not count:
                first = low + int(places[0])
            count += len(places)
        begin = max(begin, end)
    if not count:
        return None
    starts = [index for index, binding in enumerate(layout.bindings) if binding.offset <= first]
    neighbor = max(starts, key=lambda index: layout.bindings[index].offset, default=None)
    where = "before binding 0" if neighbor is None else f"after binding {neighbor}"
    return f"{count} bytes written out of bounds, the first at byte {first}, {where}"


def random_bytes(
    name: str, count: int, seed: Sequence[int], largest_integer: int = _LARGEST_INTEGER
) -> Bytes:
    """Return elements of a type that are random and not zero."""
    dtype = element_type(name)
    if count > _PERIOD:
        pattern = random_bytes(name, _PERIOD, seed, largest_integer)
        return np.tile(pattern, -(-count // _PERIOD))[: count * (dtype.itemsize if dtype else 1)]
    random = np.random.default_rng(seed)
    if dtype is None:
        return random.integers(1, 256, count, np.uint8)
    if dtype == np.bool_:
        return random.integers(0, 2, count, np.uint8)
    if is_float(name):
        # Magnitudes from 1/16 to 1: no zero and no denormal in any of the types.
        drawn = random.random(count, np.float32) * np.float32(1.875) - np.float32(0.9375)
        values = drawn + np.copysign(np.float32(0.0625), drawn)
        if name == SCALE:
            values = np.abs(values)
    elif dtype == np.int8:
        values = random.integers(1, 8, count, np.int8) * random.choice((-1, 1), count)
    else:
        # Integers of this width may be indices: small and positive, if there is such an index.
        values = random.integers(min(1, largest_integer), largest_integer + 1, count, dtype)
    return np.ascontiguousarray(values.astype(dtype)).view(np.uint8)
