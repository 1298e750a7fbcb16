"""What the values in a matcher stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.matching.predicates import ValueRef

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tuninglink.iree.op_kinds import OpKind


@dataclass(frozen=True)
class Root:
    """The op that the matcher is asked about."""


@dataclass(frozen=True)
class RoleRef:
    """The sizes of its loops in a role."""

    kind: OpKind
    role: str


@dataclass(frozen=True)
class Constant:
    """A value that says nothing about the op, but what it is."""

    value: Hashable


@dataclass(frozen=True)
class UnknownResult:
    """A result that is the same for ops with the same key; nothing else is known of it."""

    op: int
    number: int


Meaning = Root | ValueRef | RoleRef | Constant | UnknownResult
ROOT: Final = Root()
