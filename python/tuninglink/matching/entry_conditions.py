"""The conditions and configurations of all entries of a spec."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tuninglink.matching.conditions import Opaque
from tuninglink.matching.configuration_reader import ConfigurationReader
from tuninglink.matching.exact import exact_condition
from tuninglink.matching.reader import MatcherReader
from tuninglink.mlir import names
from tuninglink.mlir.walk import collect
from tuninglink.specs.applicability import scope_of
from tuninglink.specs.side_effects import SideEffects

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.matching.conditions import Condition
    from tuninglink.specs.spec import Spec
    from tuninglink.specs.structure import Entry

_OTHER_TARGETS: Final = Opaque("it is for other targets than most entries")


@dataclass(frozen=True, eq=False)
class EntryList:
    """The entries of one `foreach_match`, of which the first match decides.

    Attributes:
        operation: the `foreach_match`.
        start: the position of its first entry among all of the spec.
        conditions: the condition of the matcher of each entry.
    """

    operation: mlir.Operation
    start: int
    conditions: Sequence[Condition | Opaque]


class EntryConditions:
    """Reads the conditions of the entries of a spec; equal matchers are read once.

    Args:
        spec: any spec. Entries are those of the `foreach_match` operations in its entry points, in order.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    @cached_property
    def lists(self) -> tuple[EntryList, ...]:
        """The entries by their `foreach_match`, each of which walks the whole payload."""
        table = self.spec.anatomy.table
        reader = MatcherReader(table)
        known: dict[str, Condition | Opaque] = {}
        lists = []
        start = 0
        for entry_point in self.spec.anatomy.entry_points:
            for foreach_match in collect(entry_point.sequence, names.FOREACH_MATCH):
                matchers = [matcher for matcher, _ in table.pairs(foreach_match)]
                for each in matchers:
                    if each not in known:
                        known[each] = exact_condition(reader.read(each))
                conditions = [known[each] for each in matchers]
                lists.append(EntryList(foreach_match, start, self._comparable(start, conditions)))
                start += len(matchers)
        return tuple(lists)

    def _comparable(
        self, start: int, conditions: list[Condition | Opaque]
    ) -> Sequence[Condition | Opaque]:
        """Return the conditions of the entries that apply to the targets of most entries.

        If an entry does not apply, a later one decides about the ops that it matches.
        """
        scopes = [scope_of(self.spec, start + offset) for offset in range(len(conditions))]
        if len(set(scopes)) <= 1:
            return conditions
        ((most, _),) = Counter(scopes).most_common(1)
        return [
            each if scope == most else _OTHER_TARGETS
            for each, scope in zip(conditions, scopes, strict=True)
        ]

    def entry(self, position: int) -> Entry:
        """Return the entry at a position."""
        return self.spec.anatomy.entry(position)

    @cached_property
    def configurations(self) -> Sequence[int]:
        """The number of each entry's configuration; equal for entries with the same effect."""
        reader = ConfigurationReader(self.spec.anatomy.table)
        numbers: dict[Hashable, int] = {}
        result = (reader.configuration(*pair) for pair in self.spec.anatomy.pairs)
        return [numbers.setdefault(each, len(numbers)) for each in result]

    def changing(self, entries: EntryList) -> list[int]:
        """Return the positions, within a list, of the entries whose matchers may change the payload."""
        pairs = self.spec.anatomy.pairs
        return [
            position
            for position, each in enumerate(entries.conditions)
            if isinstance(each, Opaque)
            and self._side_effects.may_change(pairs[entries.start + position][0])
        ]

    @cached_property
    def _side_effects(self) -> SideEffects:
        return SideEffects(self.spec.anatomy.table)
