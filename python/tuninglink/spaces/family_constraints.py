"""The compiler's constraints on workloads that differ in sizes alone, read once for all sizes.

The compiler writes the same constraints op for most sizes. That is learned from its answers: a dimension counts as free
after two answers that differ in its size are otherwise the same. The compiler treats small sizes in a special way, so
answers are only compared where small sizes are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from tuninglink.spaces.compiler_constraints import FixedSize, UnsizedConstraints

Sizes = tuple[int, ...]

_LARGEST_SPECIAL: Final = 128
"""The constraints depend on products with few rows or columns, and on sizes up to the threads of a subgroup, see
`canTargetIntrinsic`."""

_MOST_ANSWERS: Final = 256
"""The capacity for answers, of which there is one for all sizes that are not special."""


class FamilyConstraints:
    """The compiler's constraints on workloads that differ in sizes alone, in one pipeline."""

    def __init__(self) -> None:
        self._answers: dict[tuple[int | None, ...], _Answer] = {}

    def of(self, sizes: Sizes) -> Sequence[UnsizedConstraints] | None:
        """Return the constraints on a workload with these sizes, None if only the compiler knows them."""
        answer = self._answers.get(_special(sizes))
        return None if answer is None else answer.of(sizes)

    def add(self, sizes: Sizes, constraints: Sequence[UnsizedConstraints]) -> None:
        """Add an answer of the compiler.

        Args:
            sizes: the sizes of the loops of a workload.
            constraints: the constraints on it.
        """
        key = _special(sizes)
        if key in self._answers:
            self._answers[key].compare(sizes, constraints)
            return
        if len(self._answers) == _MOST_ANSWERS:
            self._answers.clear()
        is_shared = all(_has_sizes(constraint, sizes) for constraint in constraints)
        self._answers[key] = _Answer(sizes, tuple(constraints), is_shared)


@dataclass
class _Answer:
    """The first answer of the compiler, and how others differ from it.

    Attributes:
        sizes: the sizes of the first workload.
        constraints: the constraints on it.
        is_shared: whether other sizes change only the sizes in an answer, as far as known.
        free: the dimensions whose sizes were different in equal answers.
    """

    sizes: Sizes
    constraints: tuple[UnsizedConstraints, ...]
    is_shared: bool
    free: set[int] = field(default_factory=set)

    def of(self, sizes: Sizes) -> Sequence[UnsizedConstraints] | None:
        """Return the constraints for other sizes, None if they are unknown."""
        if not self.is_shared or not self._changed(sizes) <= self.free:
            return None
        return [_resized(constraint, sizes) for constraint in self.constraints]

    def compare(self, sizes: Sizes, constraints: Sequence[UnsizedConstraints]) -> None:
        """Compare an answer with the first one."""
        if not self.is_shared:
            return
        self.is_shared = [_resized(each, sizes) for each in self.constraints] == list(constraints)
        if self.is_shared:
            self.free |= self._changed(sizes)
        else:
            self.constraints = ()

    def _changed(self, sizes: Sizes) -> set[int]:
        pairs = zip(self.sizes, sizes, strict=True)
        return {loop for loop, (first, size) in enumerate(pairs) if first != size}


def _special(sizes: Sizes) -> tuple[int | None, ...]:
    return tuple(size if size <= _LARGEST_SPECIAL else None for size in sizes)


def _has_sizes(constraint: UnsizedConstraints, sizes: Sizes) -> bool:
    """Return whether the dimensions of a constraints op are loops with these sizes."""
    dimensions = constraint.dimensions
    return len(dimensions) == len(sizes) and all(
        dimension is not None
        and dimension.size == size
        and (not dimension.message or dimension.message.endswith(f" {size}"))
        for dimension, size in zip(dimensions, sizes, strict=True)
    )


def _resized(constraint: UnsizedConstraints, sizes: Sizes) -> UnsizedConstraints:
    """Return the same constraints for other sizes; the messages about sizes end with them."""
    dimensions: list[FixedSize] = []
    for dimension, size in zip(constraint.dimensions, sizes, strict=True):
        assert dimension is not None
        start = dimension.message.removesuffix(str(dimension.size))
        dimensions.append(FixedSize(size, f"{start}{size}" if start else ""))
    return replace(constraint, dimensions=tuple(dimensions))
