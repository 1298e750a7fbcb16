"""Reports about specs, as diagnostics and as data: the JSON document is `CheckReport`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from tuninglink.checking.selection import Selection
from tuninglink.mlir.diagnostics import Diagnostic, Place, Replacement, Severity, note
from tuninglink.plain_data import EMPTY_IS_NULL, FLAT, HIDDEN, named, written
from tuninglink.rules import Rule
from tuninglink.solver.answers import Verdict
from tuninglink.specs.entry_settings import IN_ONE, entry_without_effect

if TYPE_CHECKING:
    from tuninglink.checking.entry_answers import Answer
    from tuninglink.checking.model_matches import ModelMatch
    from tuninglink.matching.reachability import EntryOverlap
    from tuninglink.specs.structure import Entry


@dataclass(frozen=True)
class EntryReport:
    """The findings about an entry.

    Attributes:
        position: its position among the entries of the spec, from 0.
        entry: the entry.
        payload: a description of the op that was generated for it; empty if none could be generated.
        matches: whether it configures the op that was generated for it.
        is_valid: whether its configuration satisfies the constraints of the target; None without a target.
        compiles: whether a program generated for the entry compiles; None if not requested.
        is_reachable: whether it matches ops that no earlier entry matches.
        overlap: the earlier entries with other configurations that match some of the same ops, None without any.
        knob_place: the place of the knob that should be changed in its configuration; None if unknown.
        fix: the values of the nearest valid configuration in place of those of the spec; empty if unknown.
        in_model: the ops of the model that it configures, each with whether the configuration is valid there;
            None without a model.
    """

    position: int
    entry: Entry = field(metadata=FLAT)
    payload: str = field(metadata=EMPTY_IS_NULL)
    matches: Answer = field(metadata=HIDDEN)
    is_valid: Answer | None = field(metadata=HIDDEN)
    compiles: Answer | None = field(metadata=HIDDEN)
    is_reachable: Answer = field(metadata=HIDDEN)
    overlap: EntryOverlap | None = field(metadata=named("overlaps"))
    in_model: tuple[ModelMatch, ...] | None = None
    knob_place: Place | None = field(default=None, metadata=HIDDEN)
    fix: tuple[Replacement, ...] = field(default=(), metadata=HIDDEN)

    @property
    @written()
    def answers(self) -> dict[str, Answer | None]:
        """The answers by their names in JSON."""
        return {
            "matches_itself": self.matches,
            "valid": self.is_valid,
            "compiles": self.compiles,
            "reachable": self.is_reachable,
        }

    @property
    def open_answers(self) -> dict[str, Answer]:
        """The undecided answers; reachability is ignored for an entry that matches nothing."""
        return {
            question: answer
            for question, answer in self.answers.items()
            if answer is not None
            and answer.verdict is Verdict.NOT_DECIDED
            and not (question == "reachable" and self.matches.verdict is Verdict.REFUTED)
        }


@dataclass(frozen=True)
class Undecided:
    """A question that was not decided for one reason.

    Attributes:
        question: its name in JSON.
        reason: the reason.
        entries: the entries that it concerns.
    """

    question: str
    reason: str
    entries: tuple[EntryReport, ...]


@dataclass(frozen=True)
class SpecReport:
    """The findings about a spec.

    Attributes:
        source: its origin.
        kind: the word for its kind; empty if it cannot be read.
        structure: the faults of its structure.
        entries: the findings about its entries; empty if its structure is faulty.
        selection: the findings to report.
    """

    source: str
    kind: str = field(default="", metadata=EMPTY_IS_NULL)
    structure: tuple[Diagnostic, ...] = field(default=(), metadata=HIDDEN)
    entries: tuple[EntryReport, ...] = ()
    selection: Selection = field(default=Selection(), metadata=HIDDEN)

    def findings(self) -> Iterator[Diagnostic]:
        """Yield all faults and undecided questions, entry by entry."""
        for diagnostic in self.structure:
            yield _of_structure(diagnostic, self.kind)
        for entry in self.entries:
            yield from _refuted(entry)
            yield from _discouraged(entry)
            yield from _crashing(entry)
            yield from _miscompiled(entry)
            yield from _slow(entry)
            yield from _spilling(entry)
            yield from _without_effect(entry)
            yield from _open(entry)
            for match in entry.in_model or ():
                yield from _in_model(entry, match)

    @written()
    def diagnostics(self) -> list[Diagnostic]:
        """Return the selected findings."""
        return self.selection.reported(self.findings())

    def undecided(self) -> list[Undecided]:
        """Return the undecided questions, grouped by reason."""
        reports_by_question: dict[tuple[str, str], list[EntryReport]] = defaultdict(list)
        for entry in self.entries:
            for question, answer in entry.open_answers.items():
                reports_by_question[question, answer.reason].append(entry)
        return [Undecided(*key, tuple(entries)) for key, entries in reports_by_question.items()]

    @written()
    def has_errors(self) -> bool:
        """Return whether the spec has errors."""
        return any(diagnostic.severity is Severity.ERROR for diagnostic in self.diagnostics())


@dataclass(frozen=True)
class CheckReport:
    """The findings about specs.

    Attributes:
        target: the target of the configurations; None without one.
        specs: the findings about each spec.
        schema_version: the version of the form; increased when a field is changed or removed, not when one is added.
    """

    schema_version: Literal[1] = field(default=1, init=False)
    target: str | None
    specs: Sequence[SpecReport]


_REFUTED: Final = {
    "matches_itself": (Rule.MATCHES_NOTHING, "matches nothing"),
    "valid": (Rule.INVALID, "has an invalid configuration"),
    "compiles": (Rule.DOES_NOT_COMPILE, "configures what does not compile"),
    "reachable": (Rule.UNREACHABLE, "is never reached"),
}
"""The rule that an entry breaks if a question is refuted, and the message about it."""

_REJECTED: Final = (
    Rule.DISCOURAGED,
    "has a configuration that the compiler's own constraints reject",
)
_CRASHING: Final = "configures what may crash on local-task"
_SLOW: Final = "has a configuration that may take minutes to compile"
_NARROW: Final = "has a configuration that compiles, although it is outside of the constraints"
"""The message about an invalid configuration that compiles."""


def _of_structure(diagnostic: Diagnostic, kind: str) -> Diagnostic:
    """Return a fault of the structure of a spec with its rule; one of another tool has none."""
    rule = diagnostic.rule or (Rule.STRUCTURE if kind else Rule.UNREADABLE)
    return replace(diagnostic, rule=rule)


def _refuted(report: EntryReport) -> Iterator[Diagnostic]:
    for question, answer in report.answers.items():
        if answer is not None and answer.verdict is Verdict.REFUTED:
            if question == "reachable" and report.matches.verdict is Verdict.REFUTED:
                continue  # An entry that matches nothing is never reached.
            rule, what = _REFUTED[question]
            severity = None
            if question == "valid" and _compiles(report):
                severity, what = Severity.WARNING, _NARROW
            place = report.knob_place if question == "valid" else None
            message = f"{what}: {answer.reason}"
            yield _finding(rule, report, message, answer.details, place=place, severity=severity)


def _discouraged(report: EntryReport) -> Iterator[Diagnostic]:
    for answer in report.answers.values():
        if answer is not None and answer.warning:
            rule, what = _REJECTED
            message, place = f"{what}: {answer.warning}", report.knob_place
            severity = _of_discouraged(answer, report)
            yield _finding(rule, report, message, answer.details, place=place, severity=severity)


def _of_discouraged(answer: Answer, report: EntryReport) -> Severity:
    """Return the severity of an objection of the compiler's constraints: minor for what is known to compile."""
    is_safe = answer.verdict is Verdict.PROVEN or _compiles(report)
    return Severity.REMARK if is_safe else Severity.WARNING


def _crashing(report: EntryReport) -> Iterator[Diagnostic]:
    """Yield the finding that the code of an entry may crash: by the compiler's report, else by the estimate."""
    rule, is_compiled = Rule.STACK_OVERFLOW, _compiles(report)
    answer = report.compiles if is_compiled else report.is_valid
    if answer is not None and answer.crash:
        place = None if is_compiled else report.knob_place
        message = f"{_CRASHING}: {answer.crash}"
        yield _finding(rule, report, message, answer.details, place=place)


def _slow(report: EntryReport) -> Iterator[Diagnostic]:
    """Yield a finding if a configuration may take minutes to compile, unless it was compiled."""
    rule, answer = Rule.SLOW, report.is_valid
    if answer is not None and answer.slow and not _compiles(report):
        message, place = f"{_SLOW}: {answer.slow}", report.knob_place
        yield _finding(rule, report, message, answer.details, place=place)


def _spilling(report: EntryReport) -> Iterator[Diagnostic]:
    """Yield a finding if the code of an entry spills registers to memory."""
    answer = report.compiles
    if answer is not None and answer.spills:
        message = f"configures slow code: {answer.spills}"
        yield _finding(Rule.SPILLS, report, message, [_FEWER_REGISTERS])


_FEWER_REGISTERS: Final = (
    "smaller tiles of a thread or a subgroup, or more threads, need fewer registers"
)


def _without_effect(report: EntryReport) -> Iterator[Diagnostic]:
    """Yield a finding if code generation reads nothing that an entry sets."""
    rule, reason = Rule.NO_EFFECT, entry_without_effect(report.entry)
    if reason:
        yield _finding(rule, report, f"has no effect: {reason}", [IN_ONE])


def _miscompiled(report: EntryReport) -> Iterator[Diagnostic]:
    """Yield a finding if the compiler generates wrong code for the configuration of an entry."""
    rule = Rule.WRONG_RESULT
    for answer in report.answers.values():
        if answer is not None and answer.miscompilation:
            message = (
                f"has a configuration whose code computes wrong results: {answer.miscompilation}"
            )
            yield _finding(rule, report, message, place=report.knob_place)


def _open(report: EntryReport) -> Iterator[Diagnostic]:
    """Yield the undecided questions."""
    rule = Rule.UNDECIDED
    for question, answer in report.open_answers.items():
        message = f"was not decided ({question.replace('_', ' ')}): {answer.reason}"
        yield _finding(rule, report, message)


def _in_model(report: EntryReport, match: ModelMatch) -> Iterator[Diagnostic]:
    """Yield faults of the configuration of an entry for an op of the model."""
    answer = match.answer
    where = f"for {match.problem} in {match.dispatch} of the model"
    notes = (*answer.details, *([f"the op is at {match.place}"] if match.place else ()))
    if answer.verdict is Verdict.REFUTED:
        message = f"has an invalid configuration {where}: {answer.reason}"
        yield _finding(Rule.INVALID_IN_MODEL, report, message, notes)
    elif answer.verdict is Verdict.NOT_DECIDED:
        rule, message = Rule.UNDECIDED, f"was not decided (valid) {where}: {answer.reason}"
        yield _finding(rule, report, message, notes)
    if answer.warning:
        rule, what = Rule.DISCOURAGED, "has a configuration that the compiler's own constraints"
        message = f"{what} reject {where}: {answer.warning}"
        severity = _of_discouraged(answer, report)
        yield _finding(rule, report, message, notes, severity=severity)
    if answer.slow:
        rule, message = Rule.SLOW, f"{_SLOW} {where}: {answer.slow}"
        yield _finding(rule, report, message, notes)
    if answer.crash:
        rule, message = Rule.STACK_OVERFLOW, f"{_CRASHING} {where}: {answer.crash}"
        yield _finding(rule, report, message, notes)


def _finding(
    rule: Rule,
    report: EntryReport,
    statement: str,
    details: Iterable[str] = (),
    *,
    place: Place | None = None,
    severity: Severity | None = None,
) -> Diagnostic:
    message = f"entry '{report.entry.matcher}' {statement}"
    notes = tuple(map(note, details))
    fix = () if place is None else report.fix
    severity = severity or Severity(rule.severity)
    return Diagnostic(severity, message, place or report.entry.place, notes, fix, rule)


def _compiles(report: EntryReport) -> bool:
    return report.compiles is not None and report.compiles.verdict is Verdict.PROVEN
