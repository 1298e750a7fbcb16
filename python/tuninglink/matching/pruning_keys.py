"""Keys of matchers: their forms without sizes, and their requirements that can be tested before preprocessing.

A pruning key is folded from the predicates up to where reading stopped, which are necessary. If the key does not fit,
the matcher fails silently. If it fits, the matcher may match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import ROLES, OpKind
from tuninglink.matching import predicates as pred
from tuninglink.matching.extents import box
from tuninglink.mlir import names

if TYPE_CHECKING:
    from tuninglink.iree.structured_op import Sizes, ValueType

_NAMED_CONTRACTIONS: Final = frozenset(
    f"linalg.{name}"
    for name in ("batch_matmul", "batch_matvec", "batch_vecmat", "matmul", "matvec", "vecmat")
)
_ATTENTIONS: Final = frozenset({names.ATTENTION, names.ONLINE_ATTENTION})


@dataclass(frozen=True)
class MatcherForm:
    """A matcher, split into its form and its sizes.

    Attributes:
        predicates: the predicates with all sizes unconstrained.
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
    for predicate in conjunction:
        match predicate:
            case pred.HasRoleSizes(_, role, role_sizes):
                sizes |= _fixed(((role, at, 0), size) for at, size in enumerate(role_sizes))
                open_.append(replace(predicate, sizes=(None,) * len(role_sizes)))
            case pred.IsCastCompatible(value, wanted_type) if wanted_type.is_tensor:
                place = value.group, value.number
                sizes |= _fixed(
                    ((*place, at), one) for at, one in enumerate(wanted_type.sizes or ())
                )
                open_.append(replace(predicate, type=_without_sizes(wanted_type)))
            case pred.HasExtent():
                bounds.append(predicate)
            case _:
                open_.append(predicate)
    return MatcherForm(tuple(open_), sizes, tuple(bounds))


def _fixed(sizes: Iterable[tuple[pred.Dimension, int | None]]) -> dict[pred.Dimension, int]:
    return {dimension: size for dimension, size in sizes if size is not None}


def _without_sizes(type_: ValueType) -> ValueType:
    opened = replace(type_, text="", sizes=(None,) * len(type_.sizes or ()))
    return replace(opened, text=str(opened))


def kind_of(conjunction: Iterable[pred.Predicate]) -> OpKind | None:
    """Return the kind of op that predicates require, None if they require none.

    The kind is one of those in `ROLES`.
    """
    kinds: list[OpKind] = []
    for predicate in conjunction:
        match predicate:
            case pred.IsKind(kind):
                return kind
            case pred.IsDag(kind=kind) if kind in ROLES:
                kinds.append(kind)
            case pred.NameIn(accepted) if accepted and _ATTENTIONS.issuperset(accepted):
                kinds.append(OpKind.ATTENTION)
            case pred.NameIn(accepted) if accepted and _NAMED_CONTRACTIONS.issuperset(accepted):
                kinds.append(OpKind.CONTRACTION)
    return kinds[0] if kinds else None


KEPT_OPERANDS: Final = 3
"""The number of operands of an attention that the compiler does not change: query, key and value."""


@dataclass(frozen=True)
class LoopSizes:
    """The sizes of the loops of an op, without order and without loops of size 1.

    Preprocessing reorders loops, adds and removes loops of size 1, and preserves the others.

    Attributes:
        sizes: the known sizes, in ascending order.
        is_complete: whether `sizes` are all sizes.
    """

    sizes: tuple[int, ...]
    is_complete: bool


_UNKNOWN: Final = LoopSizes((), is_complete=False)


@dataclass(frozen=True)
class PruningKey:
    """The requirements of a matcher on its candidate op.

    Attributes:
        kind: a contraction, a convolution or an attention; None for any.
        loops: the fixed sizes of its loops.
        element_types: the element types that some operand must have.
        extents: the constraints on the size of some loop that a loop of size 1 does not satisfy.
    """

    kind: OpKind | None = None
    loops: LoopSizes = _UNKNOWN
    element_types: frozenset[str] = frozenset()
    extents: frozenset[pred.Extent] = frozenset()


def pruning_key(conjunction: Sequence[pred.Predicate]) -> PruningKey:
    """Return the key of a matcher, given its predicates up to where reading stopped."""
    kind = kind_of(conjunction)
    if kind is None:
        return PruningKey()
    roles: dict[str, Sizes] = {}
    types: dict[int, ValueType] = {}
    elements: set[str] = set()
    maps: pred.Maps | None = None
    bounds: list[pred.HasExtent] = []
    for predicate in conjunction:
        match predicate:
            case pred.HasRoleSizes(of_kind, role, sizes) if (
                of_kind is kind and role not in pred.STEPS
            ):
                roles.setdefault(role, sizes)
            case pred.HasElementType(of_kind, operand, _, element) if of_kind is kind:
                if kind is not OpKind.ATTENTION or 0 <= operand < KEPT_OPERANDS:
                    elements.add(element)
            case pred.HasMaps(op_maps):
                maps = maps or op_maps
            case pred.IsCastCompatible(value, type_) if (
                value.group == pred.OPERAND and type_.is_tensor
            ):
                types.setdefault(value.number, type_)
            case pred.HasExtent():
                bounds.append(predicate)
    # Only the types of unchanged operands of an attention can be compared.
    elements.update(
        type_.element
        for operand, type_ in types.items()
        if kind is not OpKind.ATTENTION or operand < KEPT_OPERANDS
    )
    # A dimension that may be 1 can be dropped before code generation.
    extents = [
        extent
        for (group, operand, _), extent in (box(bounds).items() if bounds else ())
        if group == pred.OPERAND and _has_own_loops(kind, operand) and not extent.admits(1)
    ]
    loops = _loops(kind, roles, types, maps)
    return PruningKey(kind, loops, frozenset(elements), frozenset(extents))


def _loops(
    kind: OpKind, roles: Mapping[str, Sizes], types: Mapping[int, ValueType], maps: pred.Maps | None
) -> LoopSizes:
    """Return the loop sizes that follow from the roles, the maps or a single operand, whichever source determines the most."""
    by_role = _by_role(kind, roles, maps)
    if by_role.is_complete or not types:
        return by_role
    candidates = [by_role]
    if maps is not None:
        candidates.append(_by_maps(types, maps))
    candidates += (
        _loop_sizes(type_.sizes or (), is_complete=False)
        for operand, type_ in types.items()
        if _has_own_loops(kind, operand)
    )
    return max(candidates, key=lambda key: (key.is_complete, len(key.sizes)))


def _by_role(kind: OpKind, roles: Mapping[str, Sizes], maps: pred.Maps | None) -> LoopSizes:
    role_sizes = [size for sizes in roles.values() for size in sizes]
    has_all = len(roles) == len(ROLES[kind]) or (
        bool(roles) and maps is not None and len(role_sizes) == maps.loop_count
    )
    return _loop_sizes(role_sizes, is_complete=has_all and None not in role_sizes)


def _by_maps(types: Mapping[int, ValueType], maps: pred.Maps) -> LoopSizes:
    """Read the sizes of loops from operands that the maps index by these loops."""
    size_by_loop: dict[int, int] = {}
    for loops, type_ in (
        (maps.loops[at], type_) for at, type_ in types.items() if at < len(maps.loops)
    ):
        sizes = type_.sizes or ()
        if len(sizes) == len(loops):
            size_by_loop.update(
                (loop, size)
                for loop, size in zip(loops, sizes, strict=True)
                if loop is not None and size is not None
            )
    return _loop_sizes(size_by_loop.values(), is_complete=len(size_by_loop) == maps.loop_count)


def _loop_sizes(sizes: Iterable[int | None], *, is_complete: bool) -> LoopSizes:
    relevant = [size for size in sizes if size is not None and size != 1]
    return LoopSizes(tuple(sorted(relevant)), is_complete)


def _has_own_loops(kind: OpKind, operand: int) -> bool:
    """Return whether each dimension of an operand has its own loop."""
    if kind is OpKind.CONVOLUTION:
        return operand > 0  # two loops at once index the image
    return kind is OpKind.CONTRACTION or operand < KEPT_OPERANDS
