"""What is reported about specs: as data, as diagnostics, and as JSON."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tuninglink.mlir.diagnostics import Diagnostic, Severity, note
from tuninglink.solver.answers import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tuninglink.checking.answers import Answer
    from tuninglink.matching.reachability import EntryOverlap
    from tuninglink.mlir.diagnostics import Place
    from tuninglink.specs.structure import Entry

SCHEMA_VERSION: Final = 1
"""The version of the JSON; grows when a field changes its meaning or goes, not when one is added."""


@dataclass(frozen=True)
class EntryReport:
    """What is found about an entry.

    Attributes:
        position: its position among the entries of the spec, from 0.
        entry: the entry.
        payload: the operation that was made for it, in words; empty if none could be made.
        matches: whether it configures an operation that is made for it.
        is_valid: whether its configuration holds under the constraints of the target; None if no target was
            given.
        compiles: whether a program made for it compiles; None if that was not asked.
        is_reachable: whether there are operations that no earlier entry takes.
        overlap: the earlier entries with other configurations that match some of the same operations, None if
            there are none.
    """

    position: int
    entry: Entry
    payload: str
    matches: Answer
    is_valid: Answer | None
    compiles: Answer | None
    is_reachable: Answer
    overlap: EntryOverlap | None

    @property
    def answers(self) -> dict[str, Answer | None]:
        """The answers by their names in JSON."""
        return {
            "matches_itself": self.matches,
            "valid": self.is_valid,
            "compiles": self.compiles,
            "reachable": self.is_reachable,
        }


@dataclass(frozen=True)
class Undecided:
    """A question that was not decided, for one reason.

    Attributes:
        question: its name in JSON.
        reason: why not.
        entries: for which entries.
    """

    question: str
    reason: str
    entries: tuple[EntryReport, ...]


@dataclass(frozen=True)
class SpecReport:
    """What is found about a spec.

    Attributes:
        source: where it comes from.
        kind: which kind of spec it is, in words; empty if it cannot be read.
        structure: what is wrong with its structure.
        entries: what is found about its entries; none if its structure is wrong.
    """

    source: str
    kind: str = ""
    structure: tuple[Diagnostic, ...] = ()
    entries: tuple[EntryReport, ...] = ()

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Yields the errors and warnings."""
        yield from self.structure
        for each in self.entries:
            yield from _refuted(each)
            yield from _discouraged(each)

    def undecided(self) -> list[Undecided]:
        """Returns what was not decided, each reason once."""
        found: dict[tuple[str, str], list[EntryReport]] = defaultdict(list)
        for each in self.entries:
            for question, answer in each.answers.items():
                if answer is not None and answer.verdict is Verdict.NOT_DECIDED:
                    found[question, answer.reason].append(each)
        return [Undecided(*key, tuple(entries)) for key, entries in found.items()]

    def has_errors(self) -> bool:
        """Tells whether the spec should not be used as it is."""
        return any(each.severity is Severity.ERROR for each in self.diagnostics())


_REFUTED: Final = {
    "matches_itself": (Severity.ERROR, "matches nothing"),
    "valid": (Severity.ERROR, "has an invalid configuration"),
    "compiles": (Severity.ERROR, "configures what does not compile"),
    "reachable": (Severity.WARNING, "is never reached"),
}
"""How grave it is that a question is refuted, and what to say of the entry."""

_NARROW: Final = (
    Severity.WARNING,
    "has a configuration that compiles, although it is outside of the constraints",
)
"""The same for an invalid configuration that compiles: constraints may leave out what nobody had in mind."""


def _discouraged(report: EntryReport) -> Iterator[Diagnostic]:
    for answer in report.answers.values():
        if answer is not None and answer.warning:
            what = "has a configuration that the compiler's own constraints reject"
            message = f"entry '{report.entry.matcher}' {what}: {answer.warning}"
            notes = tuple(map(note, answer.details))
            yield Diagnostic(Severity.WARNING, message, report.entry.place, notes)


def _refuted(report: EntryReport) -> Iterator[Diagnostic]:
    for question, answer in report.answers.items():
        if answer is not None and answer.verdict is Verdict.REFUTED:
            if question == "reachable" and report.matches.verdict is Verdict.REFUTED:
                continue  # What matches nothing is never reached, which goes without saying.
            severity, what = _REFUTED[question]
            if question == "valid" and _compiles(report):
                severity, what = _NARROW
            message = f"entry '{report.entry.matcher}' {what}: {answer.reason}"
            notes = tuple(map(note, answer.details))
            yield Diagnostic(severity, message, report.entry.place, notes)


def _compiles(report: EntryReport) -> bool:
    return report.compiles is not None and report.compiles.verdict is Verdict.PROVEN


def to_json(reports: Iterable[SpecReport], target: str | None) -> dict[str, Any]:
    """Returns reports as plain data, in the form that `docs/check.md` describes.

    Args:
        reports: the reports.
        target: what the configurations were checked for.
    """
    specs = list(map(_spec_to_json, reports))
    return {"schema_version": SCHEMA_VERSION, "target": target, "specs": specs}


def _spec_to_json(report: SpecReport) -> dict[str, Any]:
    return {
        "source": report.source,
        "kind": report.kind or None,
        "has_errors": report.has_errors(),
        "diagnostics": list(map(_diagnostic_to_json, report.diagnostics())),
        "entries": list(map(_entry_to_json, report.entries)),
    }


def _entry_to_json(report: EntryReport) -> dict[str, Any]:
    return {
        "position": report.position,
        "matcher": report.entry.matcher,
        "action": report.entry.action,
        "place": _place_to_json(report.entry.place),
        "payload": report.payload or None,
        "answers": {
            question: None if answer is None else _answer_to_json(answer)
            for question, answer in report.answers.items()
        },
        "overlaps": None if report.overlap is None else _overlap_to_json(report.overlap),
    }


def _overlap_to_json(overlap: EntryOverlap) -> dict[str, Any]:
    return {
        "at_most": overlap.at_most,
        "winners": [
            {
                "position": each.position,
                "matcher": each.entry.matcher,
                "place": _place_to_json(each.entry.place),
                "witness": str(each.witness),
            }
            for each in overlap.winners
        ],
    }


def _answer_to_json(answer: Answer) -> dict[str, Any]:
    return {
        "verdict": answer.verdict.value,
        "reason": answer.reason or None,
        "details": list(answer.details),
        "warning": answer.warning or None,
    }


def _diagnostic_to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "place": _place_to_json(diagnostic.place),
        "notes": list(map(_diagnostic_to_json, diagnostic.notes)),
    }


def _place_to_json(place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {"file": place.file, "line": place.line, "column": place.column}
