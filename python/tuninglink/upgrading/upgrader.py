"""Upgrading a spec: rules first, then today's compiler has the last word."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.contexts import thread_context
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error
from tuninglink.mlir.serialization import decode
from tuninglink.upgrading.attributes import AttributeUpgrade
from tuninglink.upgrading.edits import Edited, Edits
from tuninglink.upgrading.exclusion import Exclusion, exclude
from tuninglink.upgrading.generalization import generalize
from tuninglink.upgrading.outline import Outline
from tuninglink.upgrading.report import Change, EntryReport, KeptOut, Upgraded
from tuninglink.upgrading.rule import OperationContext, Refusal
from tuninglink.upgrading.rules import (
    ATTRIBUTE_RULES,
    ENTRY_POINT_RULES,
    MATCHER_RULES,
    OPERATION_RULES,
    entry_points,
    generalized_operations,
)
from tuninglink.upgrading.source import Source
from tuninglink.upgrading.verification import Verdict, examine, parse_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import Place
    from tuninglink.upgrading.outline import NamedSequence
    from tuninglink.upgrading.rule import AttributeRule, OperationRule
    from tuninglink.upgrading.source import Mark


def upgrade(
    text: str,
    name: str = "<memory>",
    *,
    written_for: tuple[int, int] | None = None,
    context: mlir.Context | None = None,
) -> Upgraded:
    """Brings a spec that was written for an older compiler into today's syntax.

    What no rule changes comes back as it was, comments and layout included; a spec in today's syntax comes
    back character for character. What cannot be upgraded stands in the result as a comment, with the
    reason; the rest goes on.

    Args:
        text: the spec.
        name: what to call it in diagnostics and reports, usually its path.
        written_for: the version of the compiler that it was written for, if known; rules for changes up to
            that version are not applied.
        context: where the result is parsed and verified; by default the context of the calling thread.

    Raises:
        SpecError: the text is no spec at all, or nothing of it can be upgraded.
    """
    return _Upgrade(text, name, written_for or (0, 0), context or thread_context()).run()


def upgrade_bytes(
    data: bytes,
    name: str = "<memory>",
    *,
    written_for: tuple[int, int] | None = None,
    context: mlir.Context | None = None,
) -> Upgraded:
    """Upgrades a spec that comes as bytes, as files do.

    Raises:
        SpecError: as `upgrade` does, and when the bytes are no text.
    """
    return upgrade(decode(data, name), name, written_for=written_for, context=context)


class _FoundOldError(Exception):
    """Ends the search for something old."""


@dataclass
class _Upgrade:
    """One upgrade, and what has come of it so far."""

    text: str
    name: str
    written_for: tuple[int, int]
    context: mlir.Context
    _versions: list[Edited] = field(default_factory=list)
    _changes: list[Change] = field(default_factory=list)
    _refused: dict[int, tuple[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._text = self.text
        self._current: Outline | None = Outline(Source(self.text, self.name))
        self._first = self._current

    @property
    def _outline(self) -> Outline:
        """The structure of the text as it is by now."""
        if self._current is None:
            self._current = Outline(Source(self._text, self.name))
        return self._current

    def run(self) -> Upgraded:
        self._operations(OPERATION_RULES)
        is_old = self._is_old()
        if is_old:
            self._operations((*ENTRY_POINT_RULES, *MATCHER_RULES))
            self._generalize()
            self._attributes()
        exclusion = self._exclude({})
        verdict = self._verify(exclusion)
        while verdict.problems or verdict.aliases.keys() - exclusion.aliases.keys():
            for index, reason, offset in verdict.problems:
                self._refused.setdefault(index, (reason, self._original(offset)))
            exclusion = self._exclude(verdict.aliases)
            verdict = self._verify(exclusion)
        result = self._result(exclusion)
        if not is_old:
            result = replace(result, hints=tuple(self._hints()))
        self._check(exclusion, verdict)
        return result

    def _hints(self) -> Iterator[Diagnostic]:
        """Yields what to know of a spec in today's syntax, which comes back as it is."""
        for sequence in entry_points.unmarked(self._first):
            message = (
                f"'@{sequence.name}' is no marked entry point: today's compiler runs it alone, and drops it in "
                f"silence beside another spec; mark it '{names.ENTRY_POINT}' and return an operation, or let "
                "'tuninglink link' do so"
            )
            place = self._first.source.place(sequence.start)
            yield Diagnostic(Severity.REMARK, message, place)

    def _exclude(self, aliases: Mapping[str, str]) -> Exclusion:
        """Leaves out what cannot be upgraded."""
        if not self._refused and not aliases:
            return Exclusion(Edits().apply(self._text), {}, {})
        reasons = {index: reason for index, (reason, _) in self._refused.items()}
        return exclude(self._outline, self._first, reasons, aliases)

    def _verify(self, exclusion: Exclusion) -> Verdict:
        """Asks the compiler, and if it refuses the whole, about each part."""
        failure = parse_failure(exclusion.edited.text, self.name, self.context)
        if failure is None:
            return Verdict()
        return examine(failure, exclusion, self._outline, self.name, self.context)

    def _check(self, exclusion: Exclusion, verdict: Verdict) -> None:
        """Raises what is wrong with the result, at the place in the original that it comes from."""
        if verdict.error is None:
            return
        message, offset = verdict.error
        place = self._place(exclusion.edited.original(offset)) if offset is not None else None
        raise SpecError(error(message, place or self._first.source.place(0)))

    # Rules.

    def _is_old(self) -> bool:
        """Tells whether an operation or attribute shows that the spec was written for an older compiler."""
        if self._changes or self._refused:
            return True

        def stop(*_: object) -> None:
            raise _FoundOldError

        try:
            AttributeUpgrade(self._outline, self._attribute_rules(), stop, stop).apply_each()
        except _FoundOldError:
            return True
        return False

    def _attribute_rules(self) -> list[AttributeRule]:
        return [rule for rule in ATTRIBUTE_RULES if rule.version > self.written_for]

    def _operations(self, candidates: tuple[OperationRule, ...]) -> None:
        """Applies rules for operations."""
        rules: dict[str, list[OperationRule]] = {}
        for rule in candidates:
            for operation in rule.operations if rule.version > self.written_for else ():
                rules.setdefault(operation, []).append(rule)
        edits = Edits()
        for mark in self._outline.source.marks:
            for rule in rules.get(mark.text, ()):
                sequence = self._outline.sequence_at(mark.start)
                context = OperationContext(
                    self._outline, sequence, edits, self._reporter(rule.name, mark)
                )
                try:
                    rule.rewrite(mark, context)
                except Refusal as refusal:
                    self._refuse(sequence, refusal.reason, mark.start)
        self._advance(edits)

    def _generalize(self) -> None:
        """Writes named operations as what matchers see."""
        rule = generalized_operations.RULE
        if rule.version > self.written_for:
            report: Callable[[int, str], None] = lambda offset, message: self._record(  # noqa: E731
                rule.name, offset, message, is_decision=False
            )
            self._advance(generalize(self._outline, report))

    def _attributes(self) -> None:
        """Applies the rules for attributes."""
        attributes = AttributeUpgrade(
            self._outline, self._attribute_rules(), self._record, self._refuse
        )
        self._advance(attributes.edits())

    def _advance(self, edits: Edits) -> None:
        """Makes the changes; the result is what the next rules see."""
        if not edits.edits:
            return
        edited = edits.apply(self._text)
        self._versions.append(edited)
        self._text, self._current = edited.text, None

    # What happened.

    def _reporter(self, rule: str, mark: Mark) -> Callable[[str, bool], None]:
        return lambda message, is_decision: self._record(rule, mark.start, message, is_decision)

    def _record(self, rule: str, offset: int, message: str, is_decision: bool) -> None:  # noqa: FBT001
        sequence = self._outline.sequence_at(offset)
        name = sequence.name if sequence is not None else None
        self._changes.append(Change(rule, message, self._place(offset), is_decision, name))

    def _refuse(self, sequence: NamedSequence | None, reason: str, offset: int) -> None:
        if sequence is not None:
            index = self._outline.index_of(sequence)
            self._refused.setdefault(index, (reason, self._original(offset)))

    def _original(self, offset: int) -> int:
        """Returns where in the original the thing at `offset` of the current text comes from."""
        for edited in reversed(self._versions):
            offset = edited.original(offset)
        return offset

    def _place(self, offset: int) -> Place:
        return self._first.source.place(self._original(offset))

    # The result.

    def _result(self, exclusion: Exclusion) -> Upgraded:
        kept_out = {
            index: self._kept_out(index, reason) for index, reason in exclusion.excluded.items()
        }
        aliases = tuple(
            KeptOut(name, reason, self._first.source.place(self._first.aliases[name].start))
            for name, reason in exclusion.aliases.items()
        )
        gone = {self._first.sequences[index].name for index in kept_out}
        changes = tuple(each for each in self._changes if each.sequence not in gone)
        entries = tuple(self._entries(changes, kept_out))
        if entries and all(each.kept_out for each in entries):
            notes = [error(f"{each.what}: {each.reason}", each.place) for each in kept_out.values()]
            start = self._first.source.place(0)
            raise SpecError(error("no entry of the spec can be upgraded", start), *notes)
        whole = exclusion.edited
        left_out = (*kept_out.values(), *aliases)

        def origin(offset: int) -> Place:
            return self._place(whole.original(offset))

        return Upgraded(whole.text, changes, left_out, entries, origin)

    def _kept_out(self, index: int, reason: str) -> KeptOut:
        sequence = self._first.sequences[index]
        refused = self._refused.get(index)
        offset = refused[1] if refused else sequence.start
        return KeptOut(f"@{sequence.name}", reason, self._first.source.place(offset))

    def _entries(
        self, changes: tuple[Change, ...], kept_out: dict[int, KeptOut]
    ) -> list[EntryReport]:
        by_sequence: dict[str, list[Change]] = {}
        for change in changes:
            by_sequence.setdefault(change.sequence or "", []).append(change)
        out = {self._first.sequences[index].name: each for index, each in kept_out.items()}
        entries = []
        for sequence in self._first.sequences:
            for foreach_match in self._first.foreach_matches(sequence):
                for pair in foreach_match.pairs:
                    involved = [pair.matcher, pair.action]
                    found = tuple(one for each in involved for one in by_sequence.get(each, ()))
                    reason = next((out[each] for each in involved if each in out), None)
                    place = self._first.source.place(pair.start)
                    entries.append(EntryReport(pair.matcher, pair.action, place, found, reason))
        return entries
