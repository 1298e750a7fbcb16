"""Specs whose entries can be pruned, and the index that finds the candidates for a dispatch.

The cost of a lookup depends on the ops and candidates of a dispatch, not on the number of other entries.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Final

from tuninglink.iree.op_kinds import OpKind
from tuninglink.matching.pruning_keys import PruningKey, pruning_key
from tuninglink.matching.reader import MatcherReader
from tuninglink.specs.linking.linker import Part
from tuninglink.specs.revision import Subsets
from tuninglink.specs.structure import SpecKind

if TYPE_CHECKING:
    from tuninglink.matching.dispatch_signature import DispatchSignature, LoopTuple
    from tuninglink.matching.matcher import Matcher
    from tuninglink.specs.spec import Spec


_MAX_LOOPS: Final = 10
"""The maximum number of loops for looking up all subsets. An operation with more loops counts as unknown."""


class _Family:
    """The entries whose matchers accept the same kinds of operations, by all or some of the loops."""

    def __init__(self) -> None:
        self._complete: dict[LoopTuple, list[int]] = {}
        self._partial: dict[LoopTuple, list[int]] = {}

    def add(self, position: int, key: PruningKey) -> None:
        table = self._complete if key.loops.is_complete else self._partial
        table.setdefault(key.loops.sizes, []).append(position)

    def all(self) -> Iterator[int]:
        """Yield every entry."""
        for table in (self._complete, self._partial):
            for positions in table.values():
                yield from positions

    def fitting(self, loops: LoopTuple) -> Iterator[int]:
        """Yield the entries that an operation with these loops can match."""
        yield from self._complete.get(loops, ())
        for some in subsets(loops):
            yield from self._partial.get(some, ())

    def fitting_part_of(self, loops: LoopTuple) -> Iterator[int]:
        """Yield the entries that an operation with some of these loops can match."""
        for some in subsets(loops):
            yield from self._complete.get(some, ())
            yield from self._partial.get(some, ())


def subsets(loops: LoopTuple) -> set[LoopTuple]:
    """Return all subsets of `loops`, in order."""
    return {some for count in range(len(loops) + 1) for some in combinations(loops, count)}


class EntryIndex:
    """The entries of a list, by pruning key.

    Args:
        keys: the key of each entry, in order.
    """

    def __init__(self, keys: Sequence[PruningKey]) -> None:
        self._keys = keys
        self._always: list[int] = []
        self._structured = _Family()
        self._attentions = _Family()
        self._found: dict[DispatchSignature, tuple[int, ...]] = {}
        for position, key in enumerate(keys):
            if key.kind is None:
                self._always.append(position)
            elif key.kind is OpKind.ATTENTION:
                self._attentions.add(position, key)
            else:
                self._structured.add(position, key)

    def candidates(self, signature: DispatchSignature) -> tuple[int, ...]:
        """Return the positions of the entries that may match in a dispatch, in ascending order.

        Equal dispatches get the same tuple.
        """
        result = self._found.get(signature)
        if result is None:
            kept = set(self._always)
            kept.update(self._candidate_structured(signature))
            kept.update(self._candidate_attentions(signature))
            result = self._found[signature] = tuple(sorted(kept))
        return result

    def _candidate_structured(self, signature: DispatchSignature) -> Iterator[int]:
        loops, attentions = signature.loops, signature.attentions
        if attentions is None or any(map(_is_large, attentions)):
            # The ops into which an attention is decomposed have unknown types, too.
            yield from self._structured.all()
            return
        for attention in attentions:
            yield from self._structured.fitting_part_of(attention)
        if loops is None or any(map(_is_large, loops)):
            yield from self._with_types(self._structured.all(), signature)
            return
        for loop in loops:
            fitting = self._with_types(self._structured.fitting(loop), signature)
            yield from self._passing(fitting, loop)

    def _candidate_attentions(self, signature: DispatchSignature) -> Iterator[int]:
        attentions = signature.attentions
        if attentions is None or any(map(_is_large, attentions)):
            yield from self._with_types(self._attentions.all(), signature)
            return
        for attention in attentions:
            fitting = self._with_types(self._attentions.fitting(attention), signature)
            yield from self._passing(fitting, attention)

    def _with_types(self, positions: Iterable[int], signature: DispatchSignature) -> Iterator[int]:
        """Keep the entries whose element types all occur."""
        there = signature.element_types
        for position in positions:
            if there is None or self._keys[position].element_types <= there:
                yield position

    def _passing(self, positions: Iterable[int], loops: LoopTuple) -> Iterator[int]:
        """Keep the entries whose extents each admit some loop."""
        for position in positions:
            if all(any(map(extent.admits, loops)) for extent in self._keys[position].extents):
                yield position


def _is_large(loops: LoopTuple) -> bool:
    return len(loops) > _MAX_LOOPS


STRUCTURAL: Final = frozenset(
    {"indexing_maps", "iterator_types", "operandSegmentSizes", "operand_segment_sizes"}
)
"""Attributes that determine the computation of an operation."""


class PrunableSpec:
    """A spec whose entries can be pruned.

    Args:
        spec: any spec. An opaque one cannot be pruned.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    @cached_property
    def is_prunable(self) -> bool:
        """Whether entries can be pruned at all."""
        if self.spec.kind is SpecKind.OPAQUE:
            return False
        anatomy = self.spec.anatomy
        actions = {action for _, action in anatomy.pairs}
        return not any(
            annotation.name in STRUCTURAL
            for action in actions
            for annotation in anatomy.annotations(action)
        )

    @cached_property
    def _subsets(self) -> Subsets:
        return Subsets(self.spec)

    @cached_property
    def _reader(self) -> MatcherReader:
        return MatcherReader(self.spec.anatomy.table)

    def matcher(self, position: int) -> Matcher:
        """Return the parsed matcher of the entry at a position."""
        return self._reader.read(self.spec.anatomy.pairs[position][0])

    @cached_property
    def index(self) -> EntryIndex:
        """The index of the entries that may match in a dispatch."""
        keys: dict[str, PruningKey] = {}
        for position, (matcher, _) in enumerate(self.spec.anatomy.pairs):
            if matcher not in keys:
                keys[matcher] = pruning_key(self.matcher(position).predicates)
        return EntryIndex([keys[matcher] for matcher, _ in self.spec.anatomy.pairs])

    def part(self, kept: Sequence[int]) -> Part:
        """Return the part of the spec with the entries at the positions `kept`."""
        if not kept:
            return Part(self.spec, None, kept)
        if len(kept) == len(self.spec.anatomy.pairs):
            return Part(self.spec, self.spec)
        return Part(self.spec, self._subsets.subset(kept), kept)


class Pruning:
    """The pruning data of specs, read once for each spec."""

    def __init__(self) -> None:
        self._specs: dict[int, PrunableSpec] = {}

    def prunable(self, spec: Spec) -> PrunableSpec:
        """Return the pruning data of a spec, which is read on demand."""
        return self._specs.setdefault(id(spec), PrunableSpec(spec))

    def prepare(self, spec: Spec) -> None:
        """Read the pruning data of a spec."""
        collects = gc.isenabled()
        gc.disable()  # All objects stay alive, and garbage collection would take a fifth of the time.
        try:
            if spec.kind is SpecKind.MATCHER_LIST:
                spec.anatomy.reaches_other_ops  # noqa: B018 - fills the cache
                self.prunable(spec).index  # noqa: B018
        finally:
            if collects:
                gc.enable()
