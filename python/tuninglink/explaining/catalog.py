"""The specs that an explanation refers to, and the shipped libraries that it recommends."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from tuninglink.compiler.applying import SpecChoice
from tuninglink.compiler.tracing import Applied
from tuninglink.errors import SpecError
from tuninglink.explaining.dispatch_report import DispatchReport
from tuninglink.explaining.members import MOST_PROVEN, SpecMember
from tuninglink.explaining.spec_report import (
    EntryReference,
    LibraryCoverage,
    Match,
    NearMiss,
    SpecSummary,
)
from tuninglink.iree.targets import Target
from tuninglink.matching.derivation.deriver import DerivableList
from tuninglink.matching.derivation.problem_forms import root_form
from tuninglink.matching.op_info import OpInfo
from tuninglink.matching.prunable import PrunableSpec
from tuninglink.mlir.diagnostics import thread_context
from tuninglink.specs.applicability import Selection
from tuninglink.specs.entry_settings import provenance_of
from tuninglink.specs.libraries import shipped_libraries
from tuninglink.specs.spec import Spec, load_spec

_SHOWN: Final = 3
"""The maximum number of nearly matching entries that are named."""

_COMPARED: Final = 5
"""The number of nearest entries that are compared in full to find those."""


class Catalog:
    """All specs of a compilation: the user's, and the default specs of the targets that occur.

    Args:
        choice: the specs of the compilation.
    """

    def __init__(self, choice: SpecChoice) -> None:
        self._library = choice.library
        self._automatic = choice.automatic
        self._members = [
            SpecMember(position, spec.source, spec.name, spec)
            for position, spec in enumerate(choice.given)
        ]
        self._given = len(self._members)
        self._selections: dict[Target | None, Selection] = {}
        self._defaults: dict[Target, SpecMember | None] = {}
        self._by_source: dict[str, SpecMember] = {}

    def of(self, target: Target | None) -> TargetCatalog:
        """Return the specs for a target, in order of precedence."""
        selection = self._selections.setdefault(target, Selection(target))
        members = [
            member
            for member in self._members[: self._given]
            if member.position not in self._automatic or member.is_for(selection)
        ]
        default = self._default(target) if target else None
        return TargetCatalog(self, [*members, default] if default else members, selection)

    def _default(self, target: Target) -> SpecMember | None:
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

    def _add(self, source: str, name: str, spec: Spec | None) -> SpecMember:
        member = SpecMember(len(self._members), source, name, spec)
        self._members.append(member)
        self._by_source[source] = member
        return member

    def member(self, applied: Applied) -> SpecMember:
        """Return the spec that configured an op: the user's, a default spec, or an embedded one."""
        if applied.position < self._given:
            return self._members[applied.position]
        if applied.spec not in self._by_source:
            self._add(applied.spec, applied.spec_name, None)
        return self._by_source[applied.spec]

    def reports(self, dispatches: Sequence[DispatchReport]) -> tuple[SpecSummary, ...]:
        """Return the outcome for each spec."""
        return tuple(
            replace(
                member.report(dispatches, self._is_default(member)),
                is_automatic=member.position in self._automatic,
            )
            for member in self._members
        )

    def notes(self) -> Iterator[str]:
        """Yield notes on unreadable entries, regardless of the op."""
        for member in self._members:
            for reason, count in Counter(member.unreadable).items():
                entries = "an entry" if count == 1 else f"{count:,} entries"
                yield f"cannot tell what {entries} of '{member.source}' would match: {reason}"
            if member.is_too_large:
                yield (
                    f"whether entries of '{member.source}' are unreachable is not checked, as there are more than "
                    f"{MOST_PROVEN:,}; 'tuninglink check' does"
                )

    def _is_default(self, member: SpecMember) -> bool:
        return member in self._defaults.values()


class TargetCatalog:
    """The specs for the dispatches of one target.

    Args:
        catalog: all specs.
        members: the specs for the target, in order of precedence.
        selection: selects the entries that apply to it.
    """

    def __init__(
        self, catalog: Catalog, members: Sequence[SpecMember], selection: Selection
    ) -> None:
        self._catalog = catalog
        self._members = members
        self._selection = selection

    def match(self, applied: Applied) -> Match:
        """Return the match that configured an op."""
        member = self._catalog.member(applied)
        result = applied.entry
        if result is None:
            return Match(member.position, None, applied.is_own, applied.ignored)
        entry = EntryReference(member.position, result.matcher, result.action, result.place)
        provenance = provenance_of(result.anatomy.table, result.matcher)
        return Match(member.position, entry, applied.is_own, applied.ignored, provenance)

    def shadowed(self, op: OpInfo, winner: EntryReference) -> tuple[EntryReference, ...]:
        """Return the entries after `winner` that are known to match an op, too."""
        references: list[EntryReference] = []
        is_behind = False
        for member in self._members:
            if member.position == winner.spec:
                first = member.position_of(winner)
                references += (
                    reference for at, reference in self._matching(member, op) if at > first
                )
                is_behind = True
            elif is_behind:
                references += (reference for _, reference in self._matching(member, op))
        return tuple(references)

    def _matching(self, member: SpecMember, op: OpInfo) -> Iterator[tuple[int, EntryReference]]:
        return (
            match for match in member.matching(op) if not member.why_not(match[0], self._selection)
        )

    def nearest(self, op: OpInfo) -> tuple[NearMiss, ...]:
        """Return the entries that nearly match an op, nearest first."""
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
        # An entry that seems to match did not, for an unknown reason.
        compared.sort(key=lambda each: (not each.is_match, len(each.differences) or 1))
        return tuple(compared[:_SHOWN])

    @property
    def is_readable(self) -> bool:
        """Whether the conditions of each entry are at least partly known."""
        return not any(member.unreadable for member in self._members)


class LibraryAdvice:
    """The shipped libraries with entries for the root ops of a program.

    Args:
        given: the sources of the specs that are already applied.
    """

    def __init__(self, given: Collection[str]) -> None:
        self._given = given
        self._selections: dict[Target | None, Selection] = {}
        self._dispatches: dict[str, set[str]] = {}

    @cached_property
    def _libraries(self) -> Sequence[_Library]:
        libraries = []
        for file in shipped_libraries():
            # An unsupported compiler may not read a library. The explanation does not need it.
            with contextlib.suppress(SpecError):
                if file.name not in self._given:
                    spec = load_spec(file.content, name=file.name, context=thread_context())
                    libraries.append(_Library(spec))
        return libraries

    def add(self, dispatch: str, target: Target | None, op: OpInfo) -> None:
        """Record the libraries with an entry for the root op of a dispatch that no spec configures."""
        selection = self._selections.setdefault(target, Selection(target))
        for library in self._libraries:
            if library.covers(op, selection):
                self._dispatches.setdefault(library.source, set()).add(dispatch)

    def coverage(self) -> tuple[LibraryCoverage, ...]:
        """Return the coverage of the libraries, those with the most dispatches first."""
        coverages = [
            LibraryCoverage(name, frozenset(dispatches))
            for name, dispatches in self._dispatches.items()
        ]
        return tuple(
            sorted(coverages, key=lambda coverage: (-len(coverage.dispatches), coverage.source))
        )


class _Library:
    """A library, whose entries are looked up by op.

    Args:
        spec: its spec.
    """

    def __init__(self, spec: Spec) -> None:
        self.source = spec.source
        self._spec = spec
        self._member = SpecMember(0, spec.source, spec.name, spec)
        self._derivable = DerivableList(PrunableSpec(spec))

    def covers(self, op: OpInfo, selection: Selection) -> bool:
        """Return whether an entry for a target matches an op, or can be derived for it."""
        applicability = selection.of(self._spec)
        if applicability.is_bound_elsewhere:
            return False
        positions = [position for position, _ in self._member.matching(op)]
        root = root_form(op)
        if root is not None and self._spec.anatomy.is_readable:
            positions += self._derivable.of(root, None)
        return any(applicability.exclusion(position) is None for position in positions)
