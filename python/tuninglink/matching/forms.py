"""The form of a matcher: its predicates with all sizes left open."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import ROLES, OpKind
from tuninglink.matching import predicates as pred
from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tuninglink.iree.structured_op import ValueType

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
        sizes: the dimensions with one fixed size; dimensions of roles are named by role only.
        bounds: the predicates on dimensions without a fixed size.
    """

    predicates: tuple[pred.Predicate, ...]
    sizes: Mapping[pred.Dimension, int]
    bounds: tuple[pred.HasExtent, ...]


def form_of(conjunction: Iterable[pred.Predicate]) -> MatcherForm:
    """Split the predicates of a matcher."""
    open_: list[pred.Predicate] = []
    sizes: dict[pred.Dimension, int] = {}
    bounds: list[pred.HasExtent] = []
    for each in conjunction:
        match each:
            case pred.HasRoleSizes(_, role, wanted):
                sizes |= _fixed(((role, at, 0), size) for at, size in enumerate(wanted))
                open_.append(replace(each, sizes=(None,) * len(wanted)))
            case pred.IsCastCompatible(value, wanted_type) if wanted_type.is_tensor:
                place = value.group, value.number
                sizes |= _fixed(
                    ((*place, at), one) for at, one in enumerate(wanted_type.sizes or ())
                )
                open_.append(replace(each, type=_without_sizes(wanted_type)))
            case pred.HasExtent():
                bounds.append(each)
            case _:
                open_.append(each)
    return MatcherForm(tuple(open_), sizes, tuple(bounds))


def _fixed(sizes: Iterable[tuple[pred.Dimension, int | None]]) -> dict[pred.Dimension, int]:
    return {dimension: size for dimension, size in sizes if size is not None}


def _without_sizes(type_: ValueType) -> ValueType:
    opened = replace(type_, text="", sizes=(None,) * len(type_.sizes or ()))
    return replace(opened, text=str(opened))


def kind_of(conjunction: Iterable[pred.Predicate]) -> OpKind | None:
    """Return the kind of op that predicates require, None if they require none.

    It is one of the kinds in `ROLES`.
    """
    kinds: list[OpKind] = []
    for each in conjunction:
        match each:
            case pred.IsKind(kind):
                return kind
            case pred.IsDag(kind=kind) if kind in ROLES:
                kinds.append(kind)
            case pred.NameIn(accepted) if accepted and _ATTENTIONS.issuperset(accepted):
                kinds.append(OpKind.ATTENTION)
            case pred.NameIn(accepted) if accepted and _NAMED_CONTRACTIONS.issuperset(accepted):
                kinds.append(OpKind.CONTRACTION)
    return kinds[0] if kinds else None
