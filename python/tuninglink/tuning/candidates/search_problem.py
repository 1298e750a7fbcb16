"""Problems as searches see them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.spaces.problem import Problem

_REDUCTIONS: Final = frozenset(
    role.value
    for role in (Role.K, Role.K1, Role.K2, Role.FILTER, Role.INPUT_CHANNEL, Role.REDUCTION)
)


@dataclass(frozen=True)
class SearchProblem:
    """What a root op computes, as plain data.

    Attributes:
        kind: the kind of operation, such as `contraction`.
        sizes: how often each loop runs; None where that is dynamic.
        roles: what each loop is to the operation, such as `m`.
        element_types: those of the operands, as MLIR writes them.
        limits: what the target can do, under the names that the compiler uses, and what is known of the device.
    """

    kind: str
    sizes: tuple[int | None, ...]
    roles: tuple[str, ...]
    element_types: tuple[str, ...]
    limits: Mapping[str, int]

    @classmethod
    def of(cls, problem: Problem, limits: Mapping[str, int]) -> SearchProblem:
        """Return a problem of the constraints as plain data, with limits of the device beside the target's."""
        return cls(
            problem.kind.value,
            tuple(dimension.size for dimension in problem.dimensions),
            tuple(dimension.role.value for dimension in problem.dimensions),
            problem.element_types,
            {**problem.limits, **limits},
        )

    @property
    def reduction(self) -> int:
        """How many values are added up for one element of the result, at least 1."""
        sizes = zip(self.roles, self.sizes, strict=True)
        return math.prod(size or 1 for role, size in sizes if role in _REDUCTIONS)

    def __str__(self) -> str:
        sizes = "x".join("?" if size is None else str(size) for size in self.sizes)
        return " ".join(filter(None, (self.kind, sizes, "x".join(self.element_types))))


_DESCRIPTION: Final = re.compile(r"(\S+) ([\dx]+) (\S+)")


def distance(one: str, other: str) -> float:
    """Return how far two problems are apart, as `str` writes them: the sum of the factors of two between their sizes.

    It is infinite between kinds of operations, element types and numbers of loops, and where a size is dynamic.
    """
    read = [_DESCRIPTION.fullmatch(text) for text in (one, other)]
    if read[0] is None or read[1] is None:
        return math.inf
    sizes = [[int(size) for size in match[2].split("x")] for match in read if match]
    alike = read[0].group(1, 3) == read[1].group(1, 3) and len(sizes[0]) == len(sizes[1])
    if not alike:
        return math.inf
    return sum(abs(math.log2(left / right)) for left, right in zip(*sizes, strict=True))
