"""Inputs of benchmarks: random nonzero values, with or without a small perturbation, and canaries in the guards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import ml_dtypes
import numpy as np

from tuninglink.tuning.programs.benchmark import Access, Binding, BufferLayout
from tuninglink.tuning.programs.compiled_program import SCALE, element_type, is_float

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

_CANARY: Final = np.frombuffer(b"\xa5\x5a\xc3\x96", np.uint8)
"""The content of guards. Four different bytes reveal a write that is shifted by one to three bytes."""

_PERIOD: Final = 1_048_583
"""The number of elements that are drawn, and repeated: a prime, so that no two rows or columns of a large binding are alike."""

_LARGEST_INTEGER: Final = 3


def _repeated(pattern: Bytes, length: int) -> Bytes:
    return np.tile(pattern, -(-length // len(pattern)))[:length]


def _canaries(length: int) -> Bytes:
    """Return a buffer of canaries. Whole words are several times as fast as `numpy.tile`."""
    (word,) = _CANARY.view(np.uint32)
    return np.full(-(-length // len(_CANARY)), word, np.uint32).view(np.uint8)[:length]


def _width(name: str) -> int:
    dtype = element_type(name)
    return dtype.itemsize if dtype else 1


@dataclass(frozen=True)
class OutOfBoundsWrite:
    """A write out of the bounds of the bindings.

    Attributes:
        offset: the first changed byte, from the start of the buffer.
        count: the number of changed bytes.
        neighbor: the last binding that starts before the byte, or None.
    """

    offset: int
    count: int
    neighbor: int | None

    def __str__(self) -> str:
        where = "before binding 0" if self.neighbor is None else f"after binding {self.neighbor}"
        return f"{self.count} bytes written out of bounds, the first at byte {self.offset}, {where}"


def buffer_length(layout: BufferLayout, sets: int = 1) -> int:
    """Return the bytes of the buffer of a benchmark: the sets, and a guard at the end."""
    return layout.stride * sets + layout.guard


def make_inputs(layout: BufferLayout, sets: int = 1, seed: int = 0) -> Bytes:
    """Return the content of a benchmark's buffer before it runs.

    The same layout and seed give the same bytes; all sets are equal.
    """
    return filled(layout, patterns(layout, seed), sets)


@dataclass(frozen=True)
class Pattern:
    """Bytes that are repeated in a part of a binding.

    Attributes:
        element_type: the element type of the part.
        start: the offset of the part in the binding, in bytes.
        length: its length in bytes.
        content: the bytes.
    """

    element_type: str
    start: int
    length: int
    content: Bytes

    @property
    def name(self) -> str:
        """The element type, or `bytes` if it is unknown."""
        return self.element_type if element_type(self.element_type) is not None else "bytes"


def patterns(layout: BufferLayout, seed: int) -> list[list[Pattern]]:
    """Return the initial content of each binding: a pattern for the whole binding, and patterns for parts of it."""
    return [
        [
            _pattern(binding.element_type, 0, binding.byte_length, (seed, index), binding),
            *(
                _pattern(
                    part.element_type,
                    part.offset,
                    part.byte_length,
                    (seed, index, part.offset),
                    binding,
                )
                for part in binding.parts
            ),
        ]
        for index, binding in enumerate(layout.bindings)
    ]


def _pattern(name: str, start: int, length: int, seed: Sequence[int], binding: Binding) -> Pattern:
    count = length // _width(name)
    content = random_bytes(name, min(count, _PERIOD), seed, binding.largest_integer)
    return Pattern(name, start, count * _width(name), content)


def filled(layout: BufferLayout, contents: Sequence[Sequence[Pattern]], sets: int = 1) -> Bytes:
    """Return a buffer with the given patterns in its bindings, and canaries in its guards."""
    whole = _canaries(buffer_length(layout, sets))
    first = whole[: layout.stride]
    for binding, parts in zip(layout.bindings, contents, strict=True):
        for part in parts:
            _repeat(part.content, first[binding.offset + part.start :][: part.length])
    for number in range(1, sets):
        whole[number * layout.stride : (number + 1) * layout.stride] = first
    return whole


def _repeat(content: Bytes, place: Bytes) -> None:
    """Fill a part of a buffer, which may have gigabytes, with repetitions of a short byte string."""
    for start in range(0, len(place), max(1, len(content))):
        end = min(start + len(content), len(place))
        place[start:end] = content[: end - start]


def outputs_of(layout: BufferLayout, buffer: Bytes) -> dict[int, Bytes]:
    """Return the bytes of the bindings that a dispatch writes, in the first set."""
    return {
        index: buffer[binding.offset : binding.offset + binding.byte_length]
        for index, binding in enumerate(layout.bindings)
        if binding.access is not Access.READ
    }


def find_violation(layout: BufferLayout, before: Bytes, after: Bytes) -> OutOfBoundsWrite | None:
    """Return the write out of bounds that the first set shows, or None.

    Bindings that a dispatch only reads count as out of bounds, too.
    """
    count, first = 0, -1
    for block in _protected_blocks(layout):
        places = np.flatnonzero(before[block] != after[block])
        if len(places) and not count:
            first = block.start + int(places[0])
        count += len(places)
    if not count:
        return None
    starts = [index for index, binding in enumerate(layout.bindings) if binding.offset <= first]
    neighbor = max(starts, key=lambda index: layout.bindings[index].offset, default=None)
    return OutOfBoundsWrite(first, count, neighbor)


_BLOCK: Final = 1 << 18
"""The bytes that are compared at once: new memory for as many bytes as a buffer has would take longer than comparing them."""


def _protected_blocks(layout: BufferLayout) -> Iterator[slice]:
    """Yield the bytes of the first set that a dispatch must not write, in blocks and in order."""
    written = sorted(
        (binding.offset, binding.offset + binding.byte_length)
        for binding in layout.bindings
        if binding.access is not Access.READ
    )
    begin = 0
    for start, end in (*written, (buffer_length(layout), 0)):
        for block in range(begin, start, _BLOCK):
            yield slice(block, min(block + _BLOCK, start))
        begin = max(begin, end)


def random_bytes(
    name: str, count: int, seed: Sequence[int], largest_integer: int = _LARGEST_INTEGER
) -> Bytes:
    """Return elements of a type that are random and not zero.

    Args:
        name: the element type, in MLIR syntax; elements of an unknown type are bytes.
        count: the number of elements.
        seed: fixes the values.
        largest_integer: the largest integer of more than one byte.
    """
    if count > _PERIOD:
        return _repeated(random_bytes(name, _PERIOD, seed, largest_integer), count * _width(name))
    random = np.random.default_rng(seed)
    dtype = element_type(name)
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


_LEAST_PERTURBATION: Final = 2.0**-18
"""Relative change of f32 and f64 inputs: 64 units in the last place of f32, more than device functions are off by."""


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
