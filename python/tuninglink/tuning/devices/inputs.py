"""Inputs of benchmarks: random values that are not zero, and canaries in the guards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tuninglink.tuning.programs.benchmark import Access
from tuninglink.tuning.programs.element_types import element_type, is_float

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.programs.benchmark import BufferLayout

    Bytes = NDArray[np.uint8]

_CANARY: Final = np.frombuffer(b"\xa5\x5a\xc3\x96", np.uint8)
"""What guards hold. Four different bytes: a write that is shifted by one to three bytes shows."""

_PERIOD: Final = 1_048_583
"""So many elements are drawn, and repeated: a prime, so that no two rows or columns of a large binding are alike."""


def _repeated(pattern: Bytes, length: int) -> Bytes:
    return np.tile(pattern, -(-length // len(pattern)))[:length]


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
    """Returns the bytes of the buffer of a benchmark: the sets, and a guard at the end."""
    return layout.stride * sets + layout.guard


def make_inputs(layout: BufferLayout, sets: int = 1, seed: int = 0) -> Bytes:
    """Returns what the buffer of a benchmark holds before it runs.

    The same layout and seed give the same bytes; all sets are equal.
    """
    one = _repeated(_CANARY, layout.stride)
    for index, each in enumerate(layout.bindings):
        count = each.byte_length // _width(each.element_type)
        raw = random_bytes(each.element_type, count, (seed, index))
        one[each.offset : each.offset + len(raw)] = raw
    whole = _repeated(_CANARY, buffer_length(layout, sets))
    whole[: layout.stride * sets].reshape(sets, -1)[:] = one
    return whole


def outputs_of(layout: BufferLayout, buffer: Bytes) -> dict[int, Bytes]:
    """Returns the bytes of the bindings that a dispatch writes, in the first set."""
    return {
        index: buffer[each.offset : each.offset + each.byte_length]
        for index, each in enumerate(layout.bindings)
        if each.access is not Access.READ
    }


def find_violation(layout: BufferLayout, before: Bytes, after: Bytes) -> OutOfBoundsWrite | None:
    """Returns the write out of bounds that the first set shows, or None.

    What a dispatch only reads counts as out of bounds, too.
    """
    end = buffer_length(layout)
    changed = before[:end] != after[:end]
    for each in layout.bindings:
        if each.access is not Access.READ:
            changed[each.offset : each.offset + each.byte_length] = False
    places = np.flatnonzero(changed)
    if not len(places):
        return None
    first = int(places[0])
    starts = [index for index, each in enumerate(layout.bindings) if each.offset <= first]
    neighbor = max(starts, key=lambda index: layout.bindings[index].offset, default=None)
    return OutOfBoundsWrite(first, len(places), neighbor)


def random_bytes(name: str, count: int, seed: Sequence[int]) -> Bytes:
    """Returns elements of a type that are random and not zero.

    Args:
        name: the element type, as MLIR writes it; of an unknown one the elements are bytes.
        count: the number of elements.
        seed: fixes the values.
    """
    if count > _PERIOD:
        return _repeated(random_bytes(name, _PERIOD, seed), count * _width(name))
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
    elif dtype == np.int8:
        values = random.integers(1, 8, count, np.int8) * random.choice((-1, 1), count)
    else:
        # Integers of this width may be indices: small and positive.
        values = random.integers(1, 4, count, dtype)
    return np.ascontiguousarray(values.astype(dtype)).view(np.uint8)
