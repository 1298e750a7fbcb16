"""A spec of a compilation for explanations: its entries that match an op, and those that nearly do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from tuninglink.explaining.dispatch_report import DispatchReport, OperationReport, Status
from tuninglink.explaining.spec_report import EntryReference, EntryUsage, NearMiss, SpecSummary
from tuninglink.matching.differences import compare
from tuninglink.matching.matcher import Matcher
from tuninglink.matching.nearest_entries import NearestEntries
from tuninglink.matching.op_info import OpInfo
from tuninglink.matching.reachability import find_unreachable
from tuninglink.matching.reader import MatcherReader
from tuninglink.specs.applicability import Selection
from tuninglink.specs.entry_settings import settings_of
from tuninglink.specs.spec import Spec
from tuninglink.specs.structure import Entry

MOST_PROVEN: Final = 2_000
"""The maximum number of entries of a spec that are checked for unreachable ones."""


class SpecMember:
    """A spec in the catalog.

    Args:
        position: its position in the catalog.
        source: its origin.
        name: its name.
        spec: the spec; None if it is not available.
    """

    def __init__(self, position: int, source: str, name: str, spec: Spec | None) -> None:
        self.position = position
        self.source = source
        self.name = name
        self._spec = spec

    @cached_property
    def _matchers(self) -> list[Matcher]:
        """The matcher of each entry."""
        if self._spec is None:
            return []
        reader = MatcherReader(self._spec.anatomy.table)
        return [reader.read(matcher) for matcher, _ in self._spec.anatomy.pairs]

    @cached_property
    def index(self) -> NearestEntries:
        """The index of the entries by op."""
        return NearestEntries(self._matchers)

    @cached_property
    def _positions(self) -> dict[tuple[str, str], int]:
        pairs = self._spec.anatomy.pairs if self._spec else []
        # Of equal entries, the first one matches.
        return {pair: position for position, pair in reversed([*enumerate(pairs)])}

    def position_of(self, entry: EntryReference) -> int:
        """Return the position of an entry of this spec."""
        return self._positions.get((entry.matcher, entry.action), -1)

    def reference(self, position: int) -> EntryReference:
        """Return the entry at a position."""
        assert self._spec is not None
        entry = self._spec.anatomy.entry(position)
        return EntryReference(self.position, entry.matcher, entry.action, entry.place)

    def why_not(self, position: int, selection: Selection) -> str:
        """Return why the entry at a position configures nothing for a target; empty if the entry may apply."""
        assert self._spec is not None
        exclusion = self._exclusion(position, selection)
        if exclusion:
            return f"it is not for this target: {exclusion}"
        entry = self._spec.anatomy.entry(position)
        return self._no_effect(entry) if settings_of(self._spec, entry) == {} else ""

    def _no_effect(self, entry: Entry) -> str:
        assert self._spec is not None
        annotations = self._spec.anatomy.table.annotations(entry.action) or ()
        named = ", ".join(
            f"'{fromkey}'"
            for fromkey in dict.fromkeys(annotation.name for annotation in annotations)
        )
        return f"its action annotates {named} only" if named else "its action annotates nothing"

    def _exclusion(self, position: int, selection: Selection) -> str:
        """Return why the entry at a position excludes a target; empty if it does not."""
        assert self._spec is not None
        exclusion = selection.of(self._spec).exclusion(position)
        return exclusion.reason if exclusion else ""

    def is_for(self, selection: Selection) -> bool:
        """Return whether the spec as a whole may be for a target."""
        return self._spec is not None and not selection.of(self._spec).is_bound_elsewhere

    def compare(self, position: int, op: OpInfo, selection: Selection) -> NearMiss:
        """Compare the matcher at a position with an op that the matcher does not match.

        Args:
            position: the position.
            op: the op.
            selection: selects the entries that apply to the target.
        """
        comparison = compare(self._matchers[position], op)
        why_not = self.why_not(position, selection)
        if why_not:
            excluded = bool(self._exclusion(position, selection))
            return NearMiss(
                self.reference(position),
                comparison.differences,
                excluded=why_not,
                is_match=bool(comparison.matches) and not excluded,
            )
        unsure = (
            "all that is known of its matcher holds" if comparison.matches else comparison.unsure
        )
        return NearMiss(self.reference(position), comparison.differences, unsure)

    def matching(self, op: OpInfo) -> Iterator[tuple[int, EntryReference]]:
        """Yield the entries known to match an op, with their positions."""
        for each in self.index.nearest(op):
            if each.differences:
                return
            if compare(self._matchers[each.position], op).matches:
                yield each.position, self.reference(each.position)

    @cached_property
    def unreadable(self) -> list[str]:
        """For each entry with unknown conditions, the reason."""
        return [
            matcher.stop.reason
            for matcher in self._matchers
            if matcher.stop and not matcher.predicates
        ]

    @property
    def is_too_large(self) -> bool:
        """Whether the spec has too many entries for the analysis of reachability."""
        return self._spec is not None and len(self._spec.anatomy.pairs) > MOST_PROVEN

    @cached_property
    def _unreachable(self) -> dict[int, str]:
        """For each entry that is proven unreachable, the reason."""
        if self._spec is None or self.is_too_large:
            return {}
        return {entry.position: entry.why_unreachable for entry in find_unreachable(self._spec)}

    def report(self, dispatches: Sequence[DispatchReport], is_default: bool) -> SpecSummary:  # noqa: FBT001
        """Return the outcome for the spec.

        Args:
            dispatches: the outcomes for the dispatches.
            is_default: whether it is the default spec of a target.
        """
        operations = [operation for dispatch in dispatches for operation in dispatch.operations]
        mine = [
            operation
            for operation in operations
            if operation.match
            and operation.match.spec == self.position
            and not operation.match.ignored
        ]
        covered = sum(
            dispatch.status is Status.TUNED
            and any(
                operation.match and operation.match.spec == self.position
                for operation in dispatch.operations
            )
            for dispatch in dispatches
        )
        return SpecSummary(
            source=self.source,
            name=self.name,
            kind=self._spec.kind_words if self._spec else "",
            is_default=is_default,
            usages=self._usages(mine, operations),
            configured=len(mine),
            covered=covered,
            dispatches=len(dispatches),
        )

    def _usages(
        self, mine: Sequence[OperationReport], operations: Sequence[OperationReport]
    ) -> tuple[EntryUsage, ...]:
        counts: dict[int, int] = {}
        shadows: dict[int, dict[EntryReference, None]] = {}
        for operation in mine:
            if operation.match and operation.match.entry:
                position = self.position_of(operation.match.entry)
                counts[position] = counts.get(position, 0) + 1
        for operation in operations:
            winner = operation.match.entry if operation.match else None
            for entry in operation.shadowed:
                if winner and entry.spec == self.position:
                    shadows.setdefault(self.position_of(entry), {})[winner] = None
        pairs = self._spec.anatomy.pairs if self._spec else []
        return tuple(
            EntryUsage(
                self.reference(at),
                counts.get(at, 0),
                tuple(shadows.get(at, ())),
                self._unreachable.get(at, ""),
            )
            for at in range(len(pairs))
        )
