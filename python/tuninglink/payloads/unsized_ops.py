"""The operations that matchers may look for, made once for matchers that differ in sizes only."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tuninglink.payloads.likely_ops import CONVOLUTION_STEPS, Candidates
from tuninglink.payloads.preferred_sizes import tiles
from tuninglink.payloads.size_relations import SizeRelations

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.matching.conditions import Condition
    from tuninglink.payloads.op_templates import Template

_MOST: Final = 64
"""How many things of a sort are kept."""


class UnsizedOp:
    """An operation that matchers may look for, and what is known about it whatever its sizes are.

    Attributes:
        template: the operation.
        verified: the ways to start from (filled or not) of programs with it that the compiler takes.
    """

    def __init__(self, template: Template) -> None:
        self.template = template
        self._tiles: dict[tuple[mlir.Attribute, ...], Mapping[int, int]] = {}
        self.verified: set[bool] = set()

    @cached_property
    def relations(self) -> SizeRelations:
        """The relations between its sizes.

        Raises:
            UnsizedError: they are not known.
        """
        return SizeRelations(self.template)

    def tiles(self, configurations: tuple[mlir.Attribute, ...]) -> Mapping[int, int]:
        """Returns what configurations tile its loops by, see `preferences.tiles`."""
        if configurations not in self._tiles:
            _make_room(self._tiles)
            self._tiles[configurations] = tiles(configurations, self.template.op)
        return self._tiles[configurations]


class UnsizedOps:
    """The operations that the matchers in a context may look for.

    Args:
        generalizes: whether the target's backend replaces named operations by generic ones before it matches.
    """

    def __init__(self, *, generalizes: bool) -> None:
        self._generalizes = generalizes
        self._known: dict[Hashable, _Replayed] = {}

    def of(self, condition: Condition, matcher: Sequence[mlir.Operation]) -> Iterator[UnsizedOp]:
        """Yields the operations that a matcher may look for, most likely ones first.

        Args:
            condition: what it demands.
            matcher: the matcher and what it includes.
        """
        candidates = Candidates(condition, matcher, generalizes=self._generalizes)
        if candidates.are_shown:
            return map(UnsizedOp, candidates.all())
        key = _key(condition)
        if key not in self._known:
            _make_room(self._known)
            self._known[key] = _Replayed(map(UnsizedOp, candidates.all()))
        return iter(self._known[key])


class _Replayed:
    """The items of an iterator and how it fails, again and again; it is asked for each item once."""

    def __init__(self, source: Iterator[UnsizedOp]) -> None:
        self._source = source
        self._items: list[UnsizedOp] = []
        self._failure: Exception | None = None

    def __iter__(self) -> Iterator[UnsizedOp]:
        yield from self._items
        if self._failure is not None:
            raise self._failure
        try:
            for each in self._source:
                self._items.append(each)
                yield each
        except Exception as failure:
            self._failure = failure
            raise


def _key(condition: Condition) -> Hashable:
    """Returns all of a condition that candidates depend on."""
    maps = condition.maps
    tables = (condition.types, condition.ranks, condition.least_ranks, condition.counts)
    return (
        condition.names,
        condition.kinds,
        None if maps is None else maps.text,
        condition.operands,
        *(frozenset(table.items()) for table in tables),
        frozenset(size for size in condition.sizes if size.dimension[0] in CONVOLUTION_STEPS),
    )


def _make_room(known: dict[Any, Any]) -> None:
    if len(known) == _MOST:
        known.clear()
