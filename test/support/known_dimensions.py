"""Dimensions of operations: static, or dynamic with known bounds and divisors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.matching import HasExtent


@dataclass(frozen=True)
class Known:
    """The facts that the compiler has about a dynamic dimension."""

    low: float
    high: float
    divisor: int

    def text(self, size: str) -> str:
        """Return an operation that states a fact about a size."""
        told = [("umin", self.low), ("umax", self.high), ("udiv", self.divisor)]
        text = ", ".join(
            f"{name} = {value}" for name, value in told if value not in (-math.inf, math.inf, 1)
        )
        return f"util.assume.int {size}<{text}>" if text else f"util.optimization_barrier {size}"

    def is_possible(self) -> bool:
        return any(self.low <= size <= self.high and size % self.divisor == 0 for size in range(64))


NOTHING = Known(-math.inf, math.inf, 1)
"""A dynamic dimension of which nothing is known."""


def holds(fact: HasExtent, dimension: int | Known) -> bool:
    """Return whether the interpreter finds that a fact holds for a dimension."""
    asked = fact.extent
    low = high = divisor = dimension
    if isinstance(dimension, Known):
        low, high, divisor = dimension.low, dimension.high, dimension.divisor
    has_size = asked.size is None or dimension == asked.size
    return has_size and asked.low <= low and high <= asked.high and divisor % asked.factor == 0
