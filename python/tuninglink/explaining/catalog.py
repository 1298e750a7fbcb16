"""The specs of a compilation as explanations refer to them."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tuninglink.explaining.model import (
    EntryReference,
    Match,
    NearMiss,
    SpecSummary,
    Status,
    Usage,
)
from tuninglink.matching.differences import compare
from tuninglink.matching.nearest import NearestEntries
from tuninglink.matching.reachability import find_unreachable
from tuninglink.matching.reader import MatcherReader
from tuninglink.mlir.contexts import thread_context
from tuninglink.specs.applicability import Selection
from tuninglink.specs.provenance import provenance_of
from tuninglink.specs.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.compiler.applying import SpecChoice
    from tuninglink.compiler.tracing import Applied
    from tuninglink.explaining.model import DispatchReport, OperationReport
    from tuninglink.iree.targets import Target
    from tuninglink.matching.op_info import OpInfo
    from tuninglink.matching.reader import Matcher
    from tuninglink.specs.model import Spec
    from tuninglink.specs.structure import Entry

_SHOWN: Final = 3
"""How many entries are named that nearly match."""

_PROVEN: Final = 2_000
"""Up to how many entries of a spec it is asked which of them are unreachable."""

_COMPARED: Final = 5
"""How many of the nearest are compared in full to name those."""


class Catalog:
    """All specs of a compilation: those that were given, and the default specs of the targets that it meets.

    Args:
        choice: the specs of the compilation.
    """

    def __init__(self, choice: SpecChoice) -> None:
        self._library = choice.library
        self._members = [
            _Member(position, spec.source, spec.name, spec)
            for position, spec in enumerate(choice.given)
        ]
        self._given = len(self._members)
        self._selections: dict[Target | None, Selection] = {}
        self._defaults: dict[Target, _Member | None] = {}
        self._by_source: dict[str, _Member] = {}

    def of(self, target: Target | None) -> TargetCatalog:
        """Returns the specs for a target, in order of precedence."""
        members = self._members[: self._given]
        default = self._default(target) if target else None
        selection = self._selections.setdefault(target, Selection(target))
        return TargetCatalog(self, [*members, default] if default else members, selection)

    def _default(self, target: Target) -> _Member | None:
        if target not in self._defaults:
            file = self._library.find(target) if self._library else None
            member = None
            if file is not None and file.path in self._by_source:
                member = self._by_source[file.path]
            elif file is not None:
                assert self._library is not None
                spec = file.load(thread_context(), upgrade=self._library.upgrade)
                member = self._add(file.path, spec.name, spec)
            self._defaults[target] = member
        return self._defaults[target]

    def _add(self, source: str, name: str, spec: Spec | None) -> _Member:
        member = _Member(len(self._members), source, name, spec)
        self._members.append(member)
        self._by_source[source] = member
        return member

    def member(self, applied: Applied) -> _Member:
        """Returns the spec that configured something: one that was given, a default, or one carried along."""
        if applied.position < self._given:
            return self._members[applied.position]
        if applied.spec not in self._by_source:
            self._add(applied.spec, applied.spec_name, None)
        return self._by_source[applied.spec]

    def reports(self, dispatches: Sequence[DispatchReport]) -> tuple[SpecSummary, ...]:
        """Returns what became of each spec."""
        return tuple(each.report(dispatches, self._is_default(each)) for each in self._members)

    def notes(self) -> Iterator[str]:
        """Yields what cannot be told of entries, whatever the operation."""
        for member in self._members:
            for reason, count in Counter(member.unreadable).items():
                entries = "an entry" if count == 1 else f"{count:,} entries"
                yield f"cannot tell what {entries} of '{member.source}' would match: {reason}"
            if member.is_too_large:
                yield (
                    f"whether entries of '{member.source}' are unreachable is not asked, as there are more than "
                    f"{_PROVEN:,}; 'tuninglink check' does"
                )

    def _is_default(self, member: _Member) -> bool:
        return member in self._defaults.values()


class TargetCatalog:
    """The specs that dispatches of one target get.

    Args:
        catalog: all specs.
        members: those of the target, in order of precedence.
        selection: which of their entries apply to it.
    """

    def __init__(self, catalog: Catalog, members: Sequence[_Member], selection: Selection) -> None:
        self._catalog = catalog
        self._members = members
        self._selection = selection

    def match(self, applied: Applied) -> Match:
        """Returns what configured an operation."""
        member = self._catalog.member(applied)
        found = applied.entry
        if found is None:
            return Match(member.position, None, applied.is_own)
        entry = EntryReference(member.position, found.matcher, found.action, found.place)
        provenance = provenance_of(found.anatomy.table, found.matcher)
        return Match(member.position, entry, applied.is_own, provenance)

    def shadowed(self, op: OpInfo, winner: EntryReference) -> tuple[EntryReference, ...]:
        """Returns the entries behind `winner` that match an operation as well, as far as can be told."""
        found: list[EntryReference] = []
        is_behind = False
        for member in self._members:
            if member.position == winner.spec:
                first = member.position_of(winner)
                found += (each for at, each in self._matching(member, op) if at > first)
                is_behind = True
            elif is_behind:
                found += (each for _, each in self._matching(member, op))
        return tuple(found)

    def _matching(self, member: _Member, op: OpInfo) -> Iterator[tuple[int, EntryReference]]:
        return (
            each for each in member.matching(op) if not member.why_not(each[0], self._selection)
        )

    def nearest(self, op: OpInfo) -> tuple[NearMiss, ...]:
        """Returns the entries that nearly match an operation, the nearest first."""
        candidates = [
            ((*each.rank, order), each.position, member)
            for order, member in enumerate(self._members)
            for each in member.index.nearest(op)[:_COMPARED]
        ]
        candidates.sort(key=lambda item: item[:2])
        compared = [
            member.compare(position, op, self._selection)
            for _, position, member in candidates[:_COMPARED]
        ]
        # One that seems to match has not: what keeps it from doing so is not known.
        compared.sort(key=lambda each: (not each.is_match, len(each.differences) or 1))
        return tuple(compared[:_SHOWN])

    @property
    def is_readable(self) -> bool:
        """Whether something is known of what each entry demands."""
        return not any(member.unreadable for member in self._members)


class _Member:
    """A spec in the catalog.

    Args:
        position: its position there.
        source: where it comes from.
        name: what it is called.
        spec: the spec; None if it is not at hand.
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
        """The entries, to be looked up by ops."""
        return NearestEntries(self._matchers)

    @cached_property
    def _positions(self) -> dict[tuple[str, str], int]:
        pairs = self._spec.anatomy.pairs if self._spec else []
        # The first of equal entries is the one that matches.
        return {pair: position for position, pair in reversed([*enumerate(pairs)])}

    def position_of(self, entry: EntryReference) -> int:
        """Returns the position of an entry of this spec."""
        return self._positions.get((entry.matcher, entry.action), -1)

    def reference(self, position: int) -> EntryReference:
        """Returns the entry at a position."""
        assert self._spec is not None
        entry = self._spec.anatomy.entry(position)
        return EntryReference(self.position, entry.matcher, entry.action, entry.place)

    def why_not(self, position: int, selection: Selection) -> str:
        """Returns why the entry at a position configures nothing for a target; nothing if it may."""
        assert self._spec is not None
        exclusion = self._exclusion(position, selection)
        if exclusion:
            return f"it is not for this target: {exclusion}"
        entry = self._spec.anatomy.entry(position)
        return self._no_effect(entry) if settings_of(self._spec, entry) == {} else ""

    def _no_effect(self, entry: Entry) -> str:
        assert self._spec is not None
        annotations = self._spec.anatomy.table.annotations(entry.action) or ()
        named = ", ".join(f"'{each}'" for each in dict.fromkeys(each.name for each in annotations))
        return f"its action annotates {named} only" if named else "its action annotates nothing"

    def _exclusion(self, position: int, selection: Selection) -> str:
        """Returns why the entry at a position is not for a target; nothing if it is."""
        assert self._spec is not None
        exclusion = selection.of(self._spec).exclusion(position)
        return exclusion.reason if exclusion else ""

    def compare(self, position: int, op: OpInfo, selection: Selection) -> NearMiss:
        """Compares the matcher at a position with an op that it has not matched.

        Args:
            position: the position.
            op: the op.
            selection: which entries apply to the target.
        """
        found = compare(self._matchers[position], op)
        why_not = self.why_not(position, selection)
        if why_not:
            excluded = bool(self._exclusion(position, selection))
            return NearMiss(
                self.reference(position),
                found.differences,
                excluded=why_not,
                is_match=bool(found.matches) and not excluded,
            )
        unsure = "all that is known of its matcher holds" if found.matches else found.unsure
        return NearMiss(self.reference(position), found.differences, unsure)

    def matching(self, op: OpInfo) -> Iterator[tuple[int, EntryReference]]:
        """Yields the entries that match an op, with their positions, as far as can be told."""
        for each in self.index.nearest(op):
            if each.differences:
                return
            if compare(self._matchers[each.position], op).matches:
                yield each.position, self.reference(each.position)

    @cached_property
    def unreadable(self) -> list[str]:
        """For each entry that says nothing of what it asks for, why that is."""
        return [each.stop.reason for each in self._matchers if each.stop and not each.predicates]

    @property
    def is_too_large(self) -> bool:
        """Whether the spec has more entries than it is asked of whether they are unreachable."""
        return self._spec is not None and len(self._spec.anatomy.pairs) > _PROVEN

    @cached_property
    def _unreachable(self) -> dict[int, str]:
        """For each entry that is proven to be unreachable why that is, as far as it is asked."""
        if self._spec is None or self.is_too_large:
            return {}
        return {each.position: each.why_unreachable for each in find_unreachable(self._spec)}

    def report(self, dispatches: Sequence[DispatchReport], is_default: bool) -> SpecSummary:  # noqa: FBT001
        """Returns what became of the spec.

        Args:
            dispatches: what became of the dispatches.
            is_default: whether it is the default spec of a target.
        """
        operations = [each for dispatch in dispatches for each in dispatch.operations]
        mine = [each for each in operations if each.match and each.match.spec == self.position]
        covered = sum(
            dispatch.status is Status.TUNED
            and any(each.match and each.match.spec == self.position for each in dispatch.operations)
            for dispatch in dispatches
        )
        return SpecSummary(
            source=self.source,
            name=self.name,
            kind=self._spec.kind.value if self._spec else "",
            is_default=is_default,
            usages=self._usages(mine, operations),
            configured=len(mine),
            covered=covered,
            dispatches=len(dispatches),
        )

    def _usages(
        self, mine: Sequence[OperationReport], operations: Sequence[OperationReport]
    ) -> tuple[Usage, ...]:
        counts: dict[int, int] = {}
        shadows: dict[int, dict[EntryReference, None]] = {}
        for each in mine:
            if each.match and each.match.entry:
                position = self.position_of(each.match.entry)
                counts[position] = counts.get(position, 0) + 1
        for each in operations:
            winner = each.match.entry if each.match else None
            for entry in each.shadowed:
                if winner and entry.spec == self.position:
                    shadows.setdefault(self.position_of(entry), {})[winner] = None
        pairs = self._spec.anatomy.pairs if self._spec else []
        return tuple(
            Usage(
                self.reference(at),
                counts.get(at, 0),
                tuple(shadows.get(at, ())),
                self._unreachable.get(at, ""),
            )
            for at in range(len(pairs))
        )
