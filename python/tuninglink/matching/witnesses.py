"""Witnesses in words: operations that prove that an entry is reachable, or that two entries overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tuninglink.matching.predicates import LOOP, representative

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.matching.conditions import Condition
    from tuninglink.matching.predicates import Dimension


@dataclass(frozen=True)
class Witness:
    """An operation, as far as matchers test it.

    Attributes:
        kind: the kind of operation in words.
        sizes: the sizes of its loops, by role if known; None is a dynamic loop, with nothing known beyond the matcher's
            requirements. Loops that are not listed may have any size.
    """

    kind: str
    sizes: Mapping[str, int | None]

    def __str__(self) -> str:
        sizes = ", ".join(
            f"{name} = {'?' if size is None else size}" for name, size in self.sizes.items()
        )
        return f"{self.kind} with {sizes}" if sizes else self.kind


def witness_of(condition: Condition, witness: Mapping[Dimension, int | None]) -> Witness:
    """Return a witness in words.

    Args:
        condition: the condition of the operation, apart from sizes.
        witness: the sizes of dimensions, by their names in `condition`.
    """
    roles = _roles(condition)
    sizes: dict[str, int | None] = {}
    for dimension, size in sorted(witness.items(), key=lambda item: item[0]):
        name = _name(dimension, roles)
        if representative(dimension) == dimension:
            sizes[name] = size
        elif sizes.get(name, size) != size or name not in sizes:
            sizes[f"{name} of another operand"] = size
    return Witness(_kind(condition), sizes)


def _kind(condition: Condition) -> str:
    if condition.kinds:
        kind = " and ".join(sorted(one.value for one in condition.kinds))
    elif condition.names:
        kind = " or ".join(f"'{name}'" for name in sorted(condition.names))
    else:
        kind = "any operation"
    kind = f"a {kind}" if condition.kinds else kind
    types = " x ".join(condition.types[number] for number in sorted(condition.types))
    return f"{kind} of {types}" if types else kind


def _roles(condition: Condition) -> dict[Dimension, str]:
    """Return the names of the roles of loops."""
    counts = condition.counts
    return {
        loop: _role(role, position, counts.get(role, 1))
        for (role, position, _), loop in condition.loops.items()
        if role in counts
    }


def _name(dimension: Dimension, roles: Mapping[Dimension, str]) -> str:
    kind, number, position = dimension
    if kind == LOOP:
        return roles.get(representative(dimension), f"d{number}")
    if kind == "operand":
        return f"dimension {position} of operand {number}"
    return _role(kind, number, 1 if number == 0 else 2)


def _role(role: str, position: int, count: int) -> str:
    name = role.partition(" ")[2]
    return f"{name}{position}" if count > 1 else name
