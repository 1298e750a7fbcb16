"""Problems in the form that searches use."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import Role

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.spaces.workload import Problem

_REDUCTIONS: Final = frozenset(
    role.value
    for role in (Role.K, Role.K1, Role.K2, Role.FILTER, Role.INPUT_CHANNEL, Role.REDUCTION)
)


@dataclass(frozen=True)
class SearchProblem:
    """The computation of a root op, as plain data.

    Attributes:
        kind: the kind of operation, such as `contraction`.
        sizes: the trip count of each loop; None if dynamic.
        roles: the role of each loop in the operation, such as `m`.
        element_types: the element types of the operands, in MLIR syntax.
        limits: the limits of the target, under the compiler's names, and of the device.
    """

    kind: str
    sizes: tuple[int | None, ...]
    roles: tuple[str, ...]
    element_types: tuple[str, ...]
    limits: Mapping[str, int]

    @classmethod
    def of(cls, problem: Problem, limits: Mapping[str, int]) -> SearchProblem:
        """Return a constraint problem as plain data, with limits of the device in addition to the target's."""
        return cls(
            problem.kind.value,
            tuple(dimension.size for dimension in problem.dimensions),
            tuple(dimension.role.value for dimension in problem.dimensions),
            problem.element_types,
            {**problem.limits, **limits},
        )

    @property
    def reduction(self) -> int:
        """The number of values summed for one element of the result, at least 1."""
        sizes = zip(self.roles, self.sizes, strict=True)
        return math.prod(size or 1 for role, size in sizes if role in _REDUCTIONS)

    def __str__(self) -> str:
        sizes = "x".join("?" if size is None else str(size) for size in self.sizes)
        return " ".join(filter(None, (self.kind, sizes, "x".join(self.element_types))))


_DESCRIPTION: Final = re.compile(r"(\S+) ([\dx]+) (\S+)")


def distance(one: str, other: str) -> float:
    """Return the distance of two problems in the syntax of `str`: the sum of the base-2 logarithms of size ratios.

    It is infinite if the kinds, element types or numbers of loops differ, or if a size is dynamic.
    """
    read = [_DESCRIPTION.fullmatch(text) for text in (one, other)]
    if read[0] is None or read[1] is None:
        return math.inf
    sizes = [[int(size) for size in match[2].split("x")] for match in read if match]
    alike = read[0].group(1, 3) == read[1].group(1, 3) and len(sizes[0]) == len(sizes[1])
    if not alike:
        return math.inf
    return sum(abs(math.log2(left / right)) for left, right in zip(*sizes, strict=True))
