"""Specs whose entries can be pruned."""

from __future__ import annotations

import gc
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tuninglink.matching.entry_index import EntryIndex
from tuninglink.matching.pruning_keys import PruningKey, pruning_key
from tuninglink.matching.reader import MatcherReader
from tuninglink.specs.entry_subsets import Subsets
from tuninglink.specs.linking.linker import Share
from tuninglink.specs.structure import SpecKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.matching.matcher import Matcher
    from tuninglink.specs.spec import Spec

STRUCTURAL: Final = frozenset(
    {"indexing_maps", "iterator_types", "operandSegmentSizes", "operand_segment_sizes"}
)
"""Attributes without which an operation is another one."""


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

    def share(self, kept: Sequence[int]) -> Share:
        """Return the share of the spec with the entries at the positions `kept`."""
        if not kept:
            return Share(self.spec, None, kept)
        if len(kept) == len(self.spec.anatomy.pairs):
            return Share(self.spec, self.spec)
        return Share(self.spec, self._subsets.subset(kept), kept)


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
