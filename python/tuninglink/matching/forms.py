"""The form of a matcher: its predicates with all sizes left open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import ROLES, OpKind
from tuninglink.matching.predicates import (
    AtLeast,
    AtMost,
    HasRoleSizes,
    IsCastCompatible,
    IsDag,
    IsKind,
    MultipleOf,
    NameIn,
)
from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tuninglink.iree.structured_op import ValueType
    from tuninglink.matching.predicates import Dimension, Predicate

_NAMED_CONTRACTIONS: Final = frozenset(
    f"linalg.{name}"
    for name in ("batch_matmul", "batch_matvec", "batch_vecmat", "matmul", "matvec", "vecmat")
)
_ATTENTIONS: Final = frozenset({names.ATTENTION, names.ONLINE_ATTENTION})


@dataclass(frozen=True)
class MatcherForm:
    """A matcher, split into its form and its sizes.

    Attributes:
        predicates: the predicates with all sizes left open.
        sizes: the dimensions that have one fixed size; those of roles by the role alone.
        bounds: the predicates on dimensions without a fixed size.
    """

    predicates: tuple[Predicate, ...]
    sizes: Mapping[Dimension, int]
    bounds: tuple[MultipleOf | AtLeast | AtMost, ...]


def form_of(predicates: Iterable[Predicate]) -> MatcherForm:
    """Splits the predicates of a matcher."""
    open_: list[Predicate] = []
    sizes: dict[Dimension, int] = {}
    bounds: list[MultipleOf | AtLeast | AtMost] = []
    for each in predicates:
        match each:
            case HasRoleSizes(_, role, wanted):
                sizes |= _fixed(((role, at, 0), size) for at, size in enumerate(wanted))
                open_.append(replace(each, sizes=(None,) * len(wanted)))
            case IsCastCompatible(value, wanted_type) if wanted_type.is_tensor:
                place = value.group, value.number
                sizes |= _fixed(
                    ((*place, at), one) for at, one in enumerate(wanted_type.sizes or ())
                )
                open_.append(replace(each, type=_without_sizes(wanted_type)))
            case MultipleOf() | AtLeast() | AtMost():
                bounds.append(each)
            case _:
                open_.append(each)
    return MatcherForm(tuple(open_), sizes, tuple(bounds))


def _fixed(sizes: Iterable[tuple[Dimension, int | None]]) -> dict[Dimension, int]:
    return {dimension: size for dimension, size in sizes if size is not None}


def _without_sizes(type_: ValueType) -> ValueType:
    opened = replace(type_, text="", sizes=(None,) * len(type_.sizes or ()))
    return replace(opened, text=str(opened))


def kind_of(predicates: Iterable[Predicate]) -> OpKind | None:
    """Returns the kind of op that predicates ask for, None if they do not tell.

    It is one of those that have `ROLES`.
    """
    kinds: list[OpKind] = []
    for each in predicates:
        match each:
            case IsKind(kind):
                return kind
            case IsDag(kind=kind) if kind in ROLES:
                kinds.append(kind)
            case NameIn(accepted) if accepted and _ATTENTIONS.issuperset(accepted):
                kinds.append(OpKind.ATTENTION)
            case NameIn(accepted) if accepted and _NAMED_CONTRACTIONS.issuperset(accepted):
                kinds.append(OpKind.CONTRACTION)
    return kinds[0] if kinds else None
