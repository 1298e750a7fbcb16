"""The specs that an explanation refers to, and the shipped libraries that it recommends."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from tuninglink.compiler import Applied, DispatchSources, SpecChoice, executable_name
from tuninglink.errors import SpecError
from tuninglink.explaining.reports import (
    ConfigurationText,
    DispatchReport,
    EntryReference,
    EntryUsage,
    KnobRow,
    Match,
    NearMiss,
    OperationReport,
    SpecSummary,
    Status,
)
from tuninglink.iree import Target, ancestors, find_dispatches, find_root_ops
from tuninglink.matching import (
    DerivableList,
    Matcher,
    MatcherReader,
    NearestEntries,
    OpInfo,
    PrunableSpec,
    compare,
    find_unreachable,
    problem_spelling,
)
from tuninglink.mlir import names, thread_context, to_bytecode
from tuninglink.solver import Grade, UndecidedError
from tuninglink.spaces import ProviderRegistry, broken_rules, knob_values, meaning
from tuninglink.spaces.cpu import CpuProvider
from tuninglink.spaces.gpu import GpuProvider
from tuninglink.spaces.model import read_configuration, read_workload
from tuninglink.spaces.spirv import SpirvProvider
from tuninglink.specs import (
    Selection,
    Spec,
    load_spec,
    provenance_of,
    settings_of,
    shipped_libraries,
    unrolled_loops,
)

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.compiler import Configure


_SHOWN: Final = 3
"""The maximum number of nearly matching entries that are named."""

_COMPARED: Final = 5
"""The number of nearest entries that are compared in full to find those."""


class Catalog:
    """All specs of a compilation: the user's, and the default specs of the targets that occur."""

    def __init__(self, choice: SpecChoice) -> None:
        self._library = choice.library
        self._automatic = choice.automatic
        self._members = [
            SpecMember(position, spec.source, spec.name, spec)
            for position, spec in enumerate(choice.given)
        ]
        # With the specs that were made for the current part of a program.
        self._given = [*self._members]
        self._selections: dict[Target | None, Selection] = {}
        self._defaults: dict[Target | None, SpecMember | None] = {}
        self._by_source: dict[str, SpecMember] = {}

    def update(self, specs: Sequence[Spec]) -> None:
        """Take the specs that were made for the program, or its next part, in place of those to be made."""
        for number, spec in enumerate(specs):
            before = self._given[number].spec
            if spec is not before:
                position = number if before and before.maker else len(self._members)
                self._given[number] = SpecMember(position, spec.source, spec.name, spec)
                self._members[position : position + 1] = [self._given[number]]

    def of(self, target: Target | None) -> TargetCatalog:
        """Return the specs for a target, in order of precedence."""
        selection = self._selections.setdefault(target, Selection(target))
        members = [
            member
            for member in self._given
            if member.position not in self._automatic
            or (member.spec is not None and not selection.of(member.spec).is_bound_elsewhere)
        ]
        # Load the default spec when its target occurs first.
        if self._library is not None and target is not None and target not in self._defaults:
            file = self._library.find(target)
            default = None if file is None else self._by_source.get(file.name)
            if file is not None and default is None:
                spec = file.load(thread_context(), upgrade=self._library.upgrade)
                default = self._add(file.name, spec.name, spec)
            self._defaults[target] = default
        default = self._defaults.get(target)
        return TargetCatalog([*members, default] if default else members, selection)

    def _add(self, source: str, name: str, spec: Spec | None) -> SpecMember:
        member = SpecMember(len(self._members), source, name, spec)
        self._members.append(member)
        self._by_source[source] = member
        return member

    def match(self, applied: Applied) -> Match:
        """Return the match that configured an op, of the user's spec, a default spec, or an embedded one."""
        if applied.position < len(self._given):
            member = self._given[applied.position]
        elif applied.spec in self._by_source:
            member = self._by_source[applied.spec]
        else:
            member = self._add(applied.spec, applied.spec_name, None)
        entry = applied.entry
        if entry is None:
            return Match(member.position, None, applied.is_own, applied.ignored)
        reference = EntryReference(member.position, entry.matcher, entry.action, entry.place)
        provenance = provenance_of(entry.anatomy.table, entry.matcher)
        return Match(member.position, reference, applied.is_own, applied.ignored, provenance)

    def outcomes(
        self, dispatches: Sequence[DispatchReport]
    ) -> tuple[tuple[SpecSummary, ...], list[str]]:
        """Return the outcome for each spec, and notes on entries that cannot be read or are not checked."""
        defaults = list(self._defaults.values())
        summaries: list[SpecSummary] = []
        notes: list[str] = []
        for member in self._members:
            is_default, is_automatic = member in defaults, member.position in self._automatic
            summary = member.report(dispatches, is_default=is_default, is_automatic=is_automatic)
            summaries.append(summary)
            for reason, count in Counter(member.unreadable).items():
                entries = "an entry" if count == 1 else f"{count:,} entries"
                what = f"{entries} of '{member.source}' would match"
                notes.append(f"cannot tell what {what}: {reason}")
            if len(member.pairs) > MOST_PROVEN:
                notes.append(
                    f"whether entries of '{member.source}' are unreachable is not checked, as there are more than "
                    f"{MOST_PROVEN:,}; 'tuninglink check' does"
                )
        return tuple(summaries), notes


@dataclass(frozen=True)
class TargetCatalog:
    """The specs for the dispatches of one target."""

    members: Sequence[SpecMember]
    selection: Selection

    def shadowed(self, op: OpInfo, winner: EntryReference) -> tuple[EntryReference, ...]:
        """Return the entries after `winner` that are known to match an op, too."""
        positions = [member.position for member in self.members]
        first = positions.index(winner.spec) if winner.spec in positions else len(positions)
        return tuple(
            reference
            for member in self.members[first:]
            for at, reference in member.matching(op)
            if member.position != winner.spec or at > member.position_of(winner)
            if not member.why_not(at, self.selection)
        )

    def nearest(self, op: OpInfo) -> tuple[NearMiss, ...]:
        """Return the entries that nearly match an op, nearest first."""
        candidates = [
            ((*each.rank, order), each.position, member)
            for order, member in enumerate(self.members)
            for each in member.index.nearest(op)[:_COMPARED]
        ]
        candidates.sort(key=lambda item: item[:2])
        compared = [
            member.compare(position, op, self.selection)
            for _, position, member in candidates[:_COMPARED]
        ]
        # An entry that seems to match did not, for an unknown reason.
        compared.sort(key=lambda each: (not each.is_match, len(each.differences) or 1))
        return tuple(compared[:_SHOWN])


@dataclass
class LibraryAdvice:
    """The shipped libraries with entries for the root ops of a program, other than the given specs."""

    given: Collection[str]
    dispatches: dict[str, set[str]] = field(default_factory=dict)

    @cached_property
    def _libraries(self) -> list[tuple[Spec, SpecMember, DerivableList]]:
        libraries = []
        for file in shipped_libraries():
            # An unsupported compiler may not read a library. The explanation does not need it.
            with contextlib.suppress(SpecError):
                if file.name not in self.given and not file.may_replace:
                    spec = load_spec(file.content, name=file.name, context=thread_context())
                    member = SpecMember(0, spec.source, spec.name, spec)
                    libraries.append((spec, member, DerivableList(PrunableSpec(spec))))
        return libraries

    def add(self, dispatch: str, selection: Selection, op: OpInfo) -> None:
        """Record the libraries with an entry for the root op of a dispatch that no spec configures."""
        root = problem_spelling(op)
        for spec, member, derivable in self._libraries:
            applicability = selection.of(spec)
            if applicability.is_bound_elsewhere:
                continue
            # An entry matches the op, or can be derived for it.
            positions = [position for position, _ in member.matching(op)]
            if root is not None and spec.anatomy.is_readable:
                positions += derivable.of(root, None)
            if any(applicability.exclusion(position) is None for position in positions):
                self.dispatches.setdefault(member.source, set()).add(dispatch)


# --- A spec of a compilation for explanations: its entries that match an op, and those that nearly do

MOST_PROVEN: Final = 2_000
"""The maximum number of entries of a spec that are checked for unreachable ones."""


@dataclass(eq=False)
class SpecMember:
    """A spec in the catalog; None for one that the program contains."""

    position: int
    source: str
    name: str
    spec: Spec | None

    @cached_property
    def _matchers(self) -> list[Matcher]:
        """The matcher of each entry."""
        if self.spec is None:
            return []
        reader = MatcherReader(self.spec.anatomy.table)
        return [reader.read(matcher) for matcher, _ in self.pairs]

    @cached_property
    def index(self) -> NearestEntries:
        return NearestEntries(self._matchers)

    @cached_property
    def _positions(self) -> dict[tuple[str, str], int]:
        # Of equal entries, the first one matches.
        return {pair: position for position, pair in reversed([*enumerate(self.pairs)])}

    def position_of(self, entry: EntryReference) -> int:
        return self._positions.get((entry.matcher, entry.action), -1)

    def reference(self, position: int) -> EntryReference:
        assert self.spec is not None
        entry = self.spec.anatomy.entry(position)
        return EntryReference(self.position, entry.matcher, entry.action, entry.place)

    def why_not(self, position: int, selection: Selection) -> str:
        """Return why the entry at a position configures nothing for a target; empty if the entry may apply."""
        assert self.spec is not None
        exclusion = selection.of(self.spec).exclusion(position)
        if exclusion:
            return f"it is not for this target: {exclusion.reason}"
        entry = self.spec.anatomy.entry(position)
        if settings_of(self.spec, entry) != {}:
            return ""
        annotations = self.spec.anatomy.table.annotations(entry.action) or ()
        named = ", ".join(f"'{name}'" for name in dict.fromkeys(each.name for each in annotations))
        return f"its action annotates {named} only" if named else "its action annotates nothing"

    def compare(self, position: int, op: OpInfo, selection: Selection) -> NearMiss:
        """Compare the matcher at a position with an op that the matcher does not match."""
        comparison, reference = compare(self._matchers[position], op), self.reference(position)
        why_not = self.why_not(position, selection)
        if why_not:
            assert self.spec is not None
            is_for_target = selection.of(self.spec).exclusion(position) is None
            is_match = bool(comparison.matches) and is_for_target
            return NearMiss(reference, comparison.differences, excluded=why_not, is_match=is_match)
        holds = "all that is known of its matcher holds"
        unsure = holds if comparison.matches else comparison.unsure
        return NearMiss(reference, comparison.differences, unsure)

    def matching(self, op: OpInfo) -> Iterator[tuple[int, EntryReference]]:
        """Yield the entries known to match an op, with their positions."""
        for each in self.index.nearest(op):
            if each.rank[0]:
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

    @cached_property
    def pairs(self) -> Sequence[tuple[str, str]]:
        return self.spec.anatomy.pairs if self.spec else ()

    def report(
        self, dispatches: Sequence[DispatchReport], *, is_default: bool, is_automatic: bool
    ) -> SpecSummary:
        """Return the outcome for the spec."""
        operations = [operation for dispatch in dispatches for operation in dispatch.operations]
        # The ops that it configured, and the dispatches with any of them.
        mine = [op.match for op in operations if op.match and op.match.spec == self.position]
        mine = [match for match in mine if not match.ignored]
        covered = sum(
            dispatch.status is Status.TUNED
            and any(op.match and op.match.spec == self.position for op in dispatch.operations)
            for dispatch in dispatches
        )
        # For each entry, the number of its ops, and the entries that came first where it matches.
        counts = Counter(self.position_of(match.entry) for match in mine if match.entry)
        shadows: dict[int, dict[EntryReference, None]] = {}
        for operation in operations:
            winner = operation.match.entry if operation.match else None
            for entry in operation.shadowed:
                if winner and entry.spec == self.position:
                    shadows.setdefault(self.position_of(entry), {})[winner] = None
        unreachable: dict[int, str] = {}
        if self.spec is not None and len(self.pairs) <= MOST_PROVEN:
            findings = find_unreachable(self.spec)
            unreachable = {entry.position: entry.why_unreachable for entry in findings}
        usages = tuple(
            EntryUsage(
                self.reference(at), counts[at], tuple(shadows.get(at, ())), unreachable.get(at, "")
            )
            for at in range(len(self.pairs))
        )
        return SpecSummary(
            source=self.source,
            name=self.name,
            kind=self.spec.kind_words if self.spec else "",
            is_default=is_default,
            usages=usages,
            configured=len(mine),
            covered=covered,
            dispatches=len(dispatches),
            is_automatic=is_automatic,
            replace_entries=len(self.spec.replace_entries) if self.spec else 0,
            used=sum(usage.count > 0 for usage in usages),
            unreachable=sum(bool(usage.unreachable) for usage in usages),
            unused=sum(not (use.count or use.shadowed_by or use.unreachable) for use in usages),
            shadowed=sum(not usage.count and bool(usage.shadowed_by) for usage in usages),
        )


# --- Configurations in a configured program, and the compiler's own choices without specs --------


class OpConfiguration(NamedTuple):
    """A configuration, as text and knob by knob."""

    text: ConfigurationText
    knobs: Mapping[str, str]


def configuration_of(operation: mlir.Operation) -> OpConfiguration:
    """Return the configuration of an op and of its function."""
    function = next(
        ancestor
        for ancestor in (operation, *ancestors(operation))
        if ancestor.name in (names.FUNCTION, names.UTIL_FUNCTION, names.MODULE)
    )
    parts = (
        (function, names.TRANSLATION_INFO),
        (operation, names.LOWERING_CONFIG),
        (operation, names.DECOMPOSITION_CONFIG),
    )
    text = ConfigurationText(*(str(holder.attributes.get(name) or "") for holder, name in parts))
    configuration = read_configuration(operation, function)
    return OpConfiguration(text, knob_values(configuration) if configuration else {})


class CompilersChoices:
    """The compiler's choices for dispatches that a spec configured, obtained by compiling them without the spec."""

    def __init__(
        self, sources: DispatchSources, dispatches: Iterable[str], configure: Configure
    ) -> None:
        self._choices: dict[str, list[OpConfiguration]] = {}
        self._failures: dict[str, str] = {}

        def note_choices(program: mlir.Operation) -> None:
            for dispatch in find_dispatches(program):
                roots = [op for group in find_root_ops(dispatch.module) for op in group.roots]
                self._choices[dispatch.name] = [configuration_of(root) for root in roots]

        # If they fail together, each is configured alone, so that the others have an answer.
        executables = [*dict.fromkeys(map(executable_name, dispatches))]
        groups = [executables] if executables else []
        for position, group in enumerate(groups):
            program = to_bytecode(sources.program(group).operation)
            errors = configure(program, note_choices)
            if errors and position:
                self._failures[group[0]] = errors[0].message
            elif errors:
                groups += ([executable] for executable in executables)

    def add_to(
        self, report: OperationReport, dispatch: str, position: int, count: int
    ) -> OperationReport:
        """Return a report of a configured op with the compiler's own choice."""
        choices = self._choices.get(dispatch, [])
        if len(choices) == count:
            choice = choices[position]
            if report.rewriting:  # The loops of the new ops are others.
                return replace(report, compilers_choice=choice.text)
            set_knobs = {knob.name for knob in report.knobs}
            added = [
                KnobRow(name, "", value, meaning(name))
                for name, value in choice.knobs.items()
                if name not in set_knobs
            ]
            beside = [
                replace(knob, compilers_value=choice.knobs.get(knob.name, ""))
                for knob in report.knobs
            ]
            knobs = (*beside, *added)
            return replace(report, compilers_choice=choice.text, knobs=knobs)
        failure = self._failures.get(executable_name(dispatch))
        reason = "what the compiler would have chosen"
        if failure:
            reason += f": without the spec it fails: {failure}"
        return replace(report, cannot_tell=(*report.cannot_tell, reason))


@lru_cache(1)
def _registry() -> ProviderRegistry:
    # The compiler's own constraints prove nothing invalid, and take a process.
    return ProviderRegistry(lambda _: None, [GpuProvider(), SpirvProvider(), CpuProvider()])


def why_invalid(root: mlir.Operation) -> str:
    """Return the first rule that the configuration of a root op breaks; empty if it is not proven invalid.

    Without these rules, code generation fails.
    """
    function = next((op for op in ancestors(root) if op.name == names.FUNCTION), None)
    configuration = None if function is None else read_configuration(root, function)
    if function is None or configuration is None or configuration.pipeline is None:
        return ""
    workload = read_workload(root, function)
    try:
        spaces = _registry().spaces(workload, str(configuration.pipeline))
    except UndecidedError:
        return ""
    broken = broken_rules(spaces, configuration, Grade.NECESSARY)
    return f"{broken[0]} in pipeline {configuration.pipeline}" if broken else ""


def same_op(
    operation: mlir.Operation, configured: mlir.Operation, prepared: mlir.Operation | None
) -> mlir.Operation | None:
    """Return an op of a configured dispatch as matchers saw it; None if unknown."""
    if prepared is None or prepared == configured:
        return None if prepared is None else operation
    place = str(operation.location)
    roots = [op for group in find_root_ops(prepared) for op in group.roots]
    same = [op for op in roots if op.name == operation.name and str(op.location) == place]
    return same[0] if len(same) == 1 else None


def rewritten_op(applied: Applied, prepared: mlir.Operation | None) -> mlir.Operation | None:
    """Return the op that an entry unrolled, as matchers saw it; None if unknown."""
    if applied.entry is None or prepared is None:
        return None
    copies = unrolled_loops(applied.entry.anatomy.table, applied.entry.action)

    roots = [op for group in find_root_ops(prepared) for op in group.roots]
    unrolled = [
        op
        for op in roots
        if len(sizes := OpInfo(op).sizes) == len(copies)
        and all(count in (0, size) for size, count in zip(sizes, copies, strict=True))
    ]
    return unrolled[0] if len(unrolled) == 1 else None
