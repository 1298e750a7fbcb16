"""What dimensions of operations can be: of a size, or dynamic with something that is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.matching.predicates import AtLeast, AtMost, Equals, MultipleOf

if TYPE_CHECKING:
    from tuninglink.matching.predicates import SizeFact


@dataclass(frozen=True)
class Known:
    """What the compiler knows of a dynamic dimension."""

    low: int | None
    high: int | None
    divisor: int

    def text(self, size: str) -> str:
        """Returns an operation that tells the compiler about a size."""
        told = [("umin", self.low), ("umax", self.high), ("udiv", self.divisor)]
        text = ", ".join(f"{name} = {value}" for name, value in told if value not in (None, 1))
        return f"util.assume.int {size}<{text}>" if text else f"util.optimization_barrier {size}"

    def is_possible(self) -> bool:
        return any(
            (self.low is None or self.low <= size)
            and (self.high is None or size <= self.high)
            and size % self.divisor == 0
            for size in range(64)
        )


NOTHING = Known(None, None, 1)
"""A dynamic dimension of which nothing is known."""


def holds(fact: SizeFact, dimension: int | Known) -> bool:
    """Tells whether the interpreter finds that a fact holds for a dimension."""
    match fact, dimension:
        case Equals(_, size), int():
            return dimension == size
        case Equals(), Known():
            return False
        case MultipleOf(_, factor), _:
            return (dimension if isinstance(dimension, int) else dimension.divisor) % factor == 0
        case AtLeast(_, bound), _:
            low = dimension if isinstance(dimension, int) else dimension.low
            return low is not None and low >= bound
        case AtMost(_, bound), _:
            high = dimension if isinstance(dimension, int) else dimension.high
            return high is not None and high <= bound
    raise AssertionError(fact)
