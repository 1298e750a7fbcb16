"""Candidate operations of matchers, shared by matchers that differ only in sizes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from tuninglink.payloads.likely_ops import CONVOLUTION_STEPS, Candidates
from tuninglink.payloads.preferred_sizes import tiles
from tuninglink.payloads.size_relations import Forced, SizeRelations

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.matching.conditions import Condition
    from tuninglink.matching.predicates import Dimension
    from tuninglink.payloads.op_templates import Template
    from tuninglink.spaces.workload import Problem

_MOST: Final = 64
"""The capacity of each cache."""


class UnsizedOp:
    """A candidate operation of matchers, with its properties that do not depend on sizes.

    Attributes:
        template: the operation.
        is_shared: whether other matchers that differ only in sizes have the same candidate.
        verified: the ways to start an accumulation (filled or not) for which the compiler accepts a program, with the
            properties of the body's ops that sizes do not change, see `drafts`.
        problems: the problem of the operation in each family, for some sizes; None if it has other loops.
    """

    def __init__(self, template: Template, *, is_shared: bool = False) -> None:
        self.template = template
        self.is_shared = is_shared
        self._tiles: dict[tuple[mlir.Attribute, ...], Mapping[int, int]] = {}
        self._forced: dict[tuple[Dimension, ...], Forced | None] = {}
        self.verified: dict[bool, Hashable] = {}
        self.problems: dict[Hashable, Problem | None] = {}

    @cached_property
    def relations(self) -> SizeRelations:
        """The relations between its sizes.

        Raises:
            UnsizedError: a relation is unknown.
        """
        return SizeRelations(self.template)

    def forced_sizes(self, dimensions: tuple[Dimension, ...]) -> Forced | None:
        """Return a function from the sizes of some dimensions to the unknown ones, see `SizeRelations.forced`."""
        if dimensions not in self._forced:
            _make_room(self._forced)
            self._forced[dimensions] = self.relations.forced(dimensions)
        return self._forced[dimensions]

    def tiles(self, configurations: tuple[mlir.Attribute, ...]) -> Mapping[int, int]:
        """Return the tile sizes of its loops in configurations, see `preferred_sizes.tiles`."""
        if configurations not in self._tiles:
            _make_room(self._tiles)
            self._tiles[configurations] = tiles(configurations, self.template.op)
        return self._tiles[configurations]


class UnsizedOps:
    """The candidate operations of the matchers in a context.

    Args:
        generalizes: whether the target's backend generalizes named operations before specs match.
    """

    def __init__(self, *, generalizes: bool) -> None:
        self._generalizes = generalizes
        self._known: dict[Hashable, _Replayed] = {}

    def of(self, condition: Condition, matcher: Sequence[mlir.Operation]) -> Iterator[UnsizedOp]:
        """Yield the candidate operations of a matcher, most likely ones first.

        Args:
            condition: its condition.
            matcher: the matcher and the sequences that it includes.
        """
        candidates = Candidates(condition, matcher, generalizes=self._generalizes)
        if candidates.has_shown_ops:
            return map(UnsizedOp, candidates.all())
        key = _key(condition)
        if key not in self._known:
            _make_room(self._known)
            self._known[key] = _Replayed(
                UnsizedOp(template, is_shared=True) for template in candidates.all()
            )
        return iter(self._known[key])


class _Replayed:
    """The items of an iterator and its exception, cached for repeated iteration."""

    def __init__(self, source: Iterator[UnsizedOp]) -> None:
        self._source = source
        self._items: list[UnsizedOp] = []
        self._failure: Exception | None = None

    def __iter__(self) -> Iterator[UnsizedOp]:
        yield from self._items
        if self._failure is not None:
            raise self._failure
        try:
            for item in self._source:
                self._items.append(item)
                yield item
        except Exception as failure:
            self._failure = failure
            raise


def _key(condition: Condition) -> Hashable:
    """Return the parts of a condition that determine the candidates."""
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


def _make_room(cache: dict[Any, Any]) -> None:
    if len(cache) == _MOST:
        cache.clear()
