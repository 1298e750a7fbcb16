"""The meanings of the values in a matcher."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.matching.predicates import ValueRef

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tuninglink.iree.op_kinds import OpKind


@dataclass(frozen=True)
class Root:
    """The candidate op of the matcher."""


@dataclass(frozen=True)
class RoleRef:
    """The sizes of the candidate op's loops in a role."""

    kind: OpKind
    role: str


@dataclass(frozen=True)
class Constant:
    """A constant, which does not depend on the op."""

    value: Hashable


@dataclass(frozen=True)
class UnknownResult:
    """An unknown result, equal for ops with the same key."""

    op: int
    number: int


Meaning = Root | ValueRef | RoleRef | Constant | UnknownResult
ROOT: Final = Root()
