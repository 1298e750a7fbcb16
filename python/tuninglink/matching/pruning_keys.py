"""Pruning keys: requirements of predicates that can be tested before preprocessing.

A key is folded from the predicates up to where reading stopped, which are necessary. If the key does not fit, the
matcher fails silently. If it fits, the matcher may match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import ROLES, OpKind
from tuninglink.matching import predicates as pred
from tuninglink.matching.extents import box
from tuninglink.matching.forms import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tuninglink.iree.structured_op import Sizes, ValueType

KEPT_OPERANDS: Final = 3
"""How many operands of an attention the compiler leaves as they are: query, key and value."""


@dataclass(frozen=True)
class LoopSizes:
    """The sizes of the loops of an op, without order and without loops of size 1.

    Preprocessing reorders loops, adds and removes loops of size 1, and preserves the others.

    Attributes:
        sizes: the known sizes, in ascending order.
        is_complete: whether these are all.
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
    for each in conjunction:
        match each:
            case pred.HasRoleSizes(of_kind, role, sizes) if (
                of_kind is kind and role not in pred.STEPS
            ):
                roles.setdefault(role, sizes)
            case pred.HasElementType(of_kind, operand, _, element) if of_kind is kind:
                if kind is not OpKind.ATTENTION or 0 <= operand < KEPT_OPERANDS:
                    elements.add(element)
            case pred.HasMaps(found):
                maps = maps or found
            case pred.IsCastCompatible(value, type_) if (
                value.group == pred.OPERAND and type_.is_tensor
            ):
                types.setdefault(value.number, type_)
            case pred.HasExtent():
                bounds.append(each)
    elements.update(
        type_.element
        for operand, type_ in types.items()
        if kind is not OpKind.ATTENTION or operand < KEPT_OPERANDS
    )
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
    """Return the loop sizes that follow from the roles, the maps or a single operand, whichever gives most."""
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
    return max(candidates, key=lambda each: (each.is_complete, len(each.sizes)))


def _by_role(kind: OpKind, roles: Mapping[str, Sizes], maps: pred.Maps | None) -> LoopSizes:
    known = [size for sizes in roles.values() for size in sizes]
    has_all = len(roles) == len(ROLES[kind]) or (
        bool(roles) and maps is not None and len(known) == maps.loop_count
    )
    return _loop_sizes(known, is_complete=has_all and None not in known)


def _by_maps(types: Mapping[int, ValueType], maps: pred.Maps) -> LoopSizes:
    """Read the sizes of loops from operands that the maps index by these loops."""
    known: dict[int, int] = {}
    for loops, type_ in (
        (maps.loops[at], type_) for at, type_ in types.items() if at < len(maps.loops)
    ):
        sizes = type_.sizes or ()
        if len(sizes) == len(loops):
            known.update(
                (loop, size)
                for loop, size in zip(loops, sizes, strict=True)
                if loop is not None and size is not None
            )
    return _loop_sizes(known.values(), is_complete=len(known) == maps.loop_count)


def _loop_sizes(sizes: Iterable[int | None], *, is_complete: bool) -> LoopSizes:
    known = [size for size in sizes if size is not None and size != 1]
    return LoopSizes(tuple(sorted(known)), is_complete)


def _has_own_loops(kind: OpKind, operand: int) -> bool:
    """Return whether each dimension of an operand has a loop of its own."""
    if kind is OpKind.CONVOLUTION:
        return operand > 0  # two loops at once index the image
    return kind is OpKind.CONTRACTION or operand < KEPT_OPERANDS
