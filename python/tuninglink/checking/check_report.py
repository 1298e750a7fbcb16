"""Reports about specs, as diagnostics and as data: the JSON document is `CheckReport`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

from tuninglink.checking.entry_checker import Answer
from tuninglink.errors import (
    Diagnostic,
    Place,
    Replacement,
    Severity,
    TuninglinkError,
    did_you_mean,
    escaped,
)
from tuninglink.files import cannot
from tuninglink.iree import STAGES, SUBGROUP_SIZE, WORKGROUP_SIZE
from tuninglink.mlir import code_of, names, note
from tuninglink.plain_data import EMPTY_IS_NULL, FLAT, HIDDEN, named, written
from tuninglink.rules import CODES, Rule
from tuninglink.solver import Verdict
from tuninglink.spaces import entries_of_knob
from tuninglink.specs import IN_ONE, entry_without_effect
from tuninglink.specs.verification import KnobPlaces
from tuninglink.upgrading import SpecText

if TYPE_CHECKING:
    from tuninglink.checking.model_matches import ModelMatch
    from tuninglink.matching import EntryOverlap
    from tuninglink.specs import Entry


_OF_SPECS: Final = frozenset({Rule.OLD_SYNTAX, Rule.ENTRY_POINT})
"""The rules whose remarks are about a spec as a whole."""


def read_codes(text: str) -> frozenset[Rule]:
    """Read the codes of rules, separated by commas. The message of a `ValueError` names the unknown one."""
    codes = list(map(str.strip, text.split(",")))
    for code in codes:
        if code not in CODES:
            hint = did_you_mean(code, CODES, 0.7) or "; see 'tuninglink check --rules'"
            raise ValueError(f"there is no rule '{code}'{hint}")
    return frozenset(rule for rule in Rule if rule.value in codes)


@dataclass(frozen=True)
class Selection:
    """The findings that a check reports.

    Attributes:
        selected: the rules whose findings are reported, remarks among them; empty for all rules.
        ignored: the rules whose findings are not reported.
        is_complete: whether remarks about entries are reported without being selected.
        is_strict: whether undecided questions are errors.
    """

    selected: frozenset[Rule] = frozenset()
    ignored: frozenset[Rule] = frozenset()
    is_complete: bool = False
    is_strict: bool = False

    def reported(self, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """Return the findings to report; undecided questions as errors if the check is strict."""
        reported = []
        for finding in findings:
            rule, severity = finding.rule, finding.severity
            if self.is_strict and rule is Rule.UNDECIDED:
                severity = Severity.ERROR
            is_selected = rule not in self.ignored and (not self.selected or rule in self.selected)
            is_minor = severity is Severity.REMARK and rule not in _OF_SPECS
            is_shown = not is_minor or self.is_complete or bool(self.selected)
            # Nothing else is known about an unreadable spec.
            if rule is Rule.UNREADABLE or (is_selected and is_shown):
                reported.append(replace(finding, severity=severity))
        return reported


# --- Reports about specs -------------------------------------------------------------------------


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
    compiles: Answer | None = field(default=None, metadata=HIDDEN)
    is_reachable: Answer = field(
        default=Answer(Verdict.NOT_DECIDED, "the check was interrupted before"), metadata=HIDDEN
    )
    overlap: EntryOverlap | None = field(default=None, metadata=named("overlaps"))
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
class SpecReport:
    """The findings about a spec.

    Attributes:
        source: its origin.
        kind: the word for its kind; empty if it cannot be read.
        structure: the faults of its structure.
        entries: the findings about its entries; empty if its structure is faulty.
        replacing: whether each replace entry is `sound`, see `check_replace_entries`, and `reachable`; likewise.
        selection: the findings to report.
    """

    source: str
    kind: str = field(default="", metadata=EMPTY_IS_NULL)
    structure: tuple[Diagnostic, ...] = field(default=(), metadata=HIDDEN)
    entries: tuple[EntryReport, ...] = ()
    replacing: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)
    selection: Selection = field(default=Selection(), metadata=HIDDEN)

    def findings(self) -> Iterator[Diagnostic]:
        """Yield all faults and undecided questions, entry by entry."""
        for diagnostic in self.structure:
            rule = diagnostic.rule or (Rule.STRUCTURE if self.kind else Rule.UNREADABLE)
            yield replace(diagnostic, rule=rule)
        for entry in self.entries:
            yield from _findings(entry)

    @written()
    def diagnostics(self) -> list[Diagnostic]:
        """Return the selected findings."""
        return self.selection.reported(self.findings())

    def undecided(self) -> Mapping[tuple[str, str], Sequence[EntryReport]]:
        """Return the entries with an undecided question, by the question and the reason."""
        reports_by_question: dict[tuple[str, str], list[EntryReport]] = defaultdict(list)
        for entry in self.entries:
            for question, answer in entry.open_answers.items():
                reports_by_question[question, answer.reason].append(entry)
        return reports_by_question

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

_OBJECTIONS: Final = {
    Rule.INVALID: "has a configuration that compiles, although it is outside of the constraints",
    Rule.DISCOURAGED: "has a configuration that the compiler's own constraints reject",
    Rule.STACK_OVERFLOW: "configures what may crash on local-task",
    Rule.WRONG_RESULT: "has a configuration whose code computes wrong results",
    Rule.SLOW: "has a configuration that may take minutes to compile",
}
"""The message about a configuration that is not refuted or compiles anyway, by the rule that it breaks."""


def _findings(report: EntryReport) -> Iterator[Diagnostic]:
    """Yield the faults of an entry and the questions about it that were not decided."""
    is_valid, compiled = report.is_valid, report.compiles
    compiles = compiled is not None and compiled.verdict is Verdict.PROVEN
    for question, answer in report.answers.items():
        if answer is not None and answer.verdict is Verdict.REFUTED:
            if question == "reachable" and report.matches.verdict is Verdict.REFUTED:
                continue  # An entry that matches nothing is never reached.
            (rule, what), severity = _REFUTED[question], None
            if question == "valid" and compiles:
                severity, what = Severity.WARNING, _OBJECTIONS[rule]
            at = report.knob_place if question == "valid" else None
            message = f"{what}: {answer.reason}"
            yield _finding(rule, report, message, answer.details, place=at, severity=severity)
    if is_valid is not None:
        # The compiler's report of the stack that the code needs, and that it compiles, replace the estimates.
        answer = replace(is_valid, crash="", slow="") if compiles else is_valid
        yield from _objections(report, answer, compiles=compiles, place=report.knob_place)
    if compiled is not None and compiles and compiled.crash:
        message = f"{_OBJECTIONS[Rule.STACK_OVERFLOW]}: {compiled.crash}"
        yield _finding(Rule.STACK_OVERFLOW, report, message, compiled.details)
    if compiled is not None and compiled.spills:
        message = f"configures slow code: {compiled.spills}"
        remedy = "smaller tiles of a thread or a subgroup, or more threads, need fewer registers"
        yield _finding(Rule.SPILLS, report, message, [remedy])
    if reason := entry_without_effect(report.entry):
        yield _finding(Rule.NO_EFFECT, report, f"has no effect: {reason}", [IN_ONE])
    for question, answer in report.open_answers.items():
        message = f"was not decided ({question.replace('_', ' ')}): {answer.reason}"
        yield _finding(Rule.UNDECIDED, report, message)
    # Faults of the configuration for ops of the model.
    for match in report.in_model or ():
        answer = match.answer
        where = f" for {match.problem} in {match.dispatch} of the model"
        place_note = [f"the op is at {match.place}"] if match.place else []
        notes = (*answer.details, *place_note)
        if answer.verdict is Verdict.REFUTED:
            message = f"has an invalid configuration{where}: {answer.reason}"
            yield _finding(Rule.INVALID_IN_MODEL, report, message, notes)
        elif answer.verdict is Verdict.NOT_DECIDED:
            message = f"was not decided (valid){where}: {answer.reason}"
            yield _finding(Rule.UNDECIDED, report, message, notes)
        yield from _objections(report, answer, where, place_note, compiles=compiles)


def _objections(
    report: EntryReport,
    answer: Answer,
    where: str = "",
    notes: Sequence[str] = (),
    *,
    compiles: bool,
    place: Place | None = None,
) -> Iterator[Diagnostic]:
    """Yield what the answer about a configuration has against it, although it is not refuted."""
    for rule, objection in (
        (Rule.DISCOURAGED, answer.warning),
        (Rule.STACK_OVERFLOW, answer.crash),
        (Rule.WRONG_RESULT, answer.miscompilation),
        (Rule.SLOW, answer.slow),
    ):
        if objection:
            severity = None
            if rule is Rule.DISCOURAGED:
                is_safe = compiles or answer.verdict is Verdict.PROVEN
                severity = Severity.REMARK if is_safe else Severity.WARNING
            # The details are about broken rules.
            details = () if rule is Rule.WRONG_RESULT else answer.details
            message = f"{_OBJECTIONS[rule]}{where}: {objection}"
            details = (*details, *notes)
            yield _finding(rule, report, message, details, place=place, severity=severity)


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


# --- Places and fixes of findings, and their formats for code review tools -----------------------

_TRANSLATION_KNOBS: Final = frozenset({WORKGROUP_SIZE, SUBGROUP_SIZE, STAGES})
"""The knobs that a `translation_info` has."""


def with_places(report: EntryReport, answer: Answer | None, places: KnobPlaces) -> EntryReport:
    """Return a report with the answer about the configuration, the place of the knob to change, and the fix."""
    at, knob_place = report.entry.place, None
    if answer is not None and answer.knobs:
        # The place of the first knob in the answer, or of the attribute that lacks the knob.
        entries = entries_of_knob(answer.knobs[0])
        is_translation = entries[0] in _TRANSLATION_KNOBS
        whole = names.TRANSLATION_INFO if is_translation else names.LOWERING_CONFIG
        candidates = (places.find(at, entry) for entry in (*entries, whole))
        knob_place = next((place for place in candidates if place != at), None)
    # The fix is empty unless the spec's text contains all replaced values.
    replaced = () if answer is None else answer.replaced
    parts = [places.revalued(at, name, value) for name, value in replaced]
    fix = tuple(chain.from_iterable(parts)) if all(parts) else ()
    return replace(report, is_valid=answer, knob_place=knob_place, fix=fix)


_LEVELS: Final = {severity: severity.value for severity in Severity} | {Severity.REMARK: "note"}


def to_sarif(findings: Iterable[Diagnostic]) -> dict[str, Any]:
    """Return a SARIF log with one run, whose results are diagnostics with a rule."""
    from importlib import metadata  # noqa: PLC0415 - no other format needs the version

    rules = [
        {
            "id": rule.value,
            "shortDescription": {"text": rule.description},
            "defaultConfiguration": {"level": _LEVELS[Severity(rule.severity)]},
        }
        for rule in Rule
    ]
    results: list[dict[str, Any]] = []
    for finding in findings:
        rule = finding.rule
        assert rule is not None
        placeless = [note.message for note in finding.notes if note.place is None]
        result: dict[str, Any] = {
            "ruleId": rule.value,
            "ruleIndex": list(Rule).index(rule),
            "level": _LEVELS[finding.severity],
            "message": {"text": "\n".join([finding.message, *placeless])},
            "locations": [] if finding.place is None else [_sarif_location(finding.place)],
        }
        related = [
            {**_sarif_location(note.place), "message": {"text": note.message}}
            for note in finding.notes
            if note.place is not None
        ]
        if related:
            result["relatedLocations"] = related
        if finding.fix:
            # The replacements are all in one file.
            is_name = rule in (Rule.UNREAD_KNOB, Rule.UNKNOWN_NAME)
            source = "suggested name" if is_name else "values of the nearest valid configuration"
            replacements = [
                {
                    "deletedRegion": {
                        "startLine": part.start.line,
                        "startColumn": part.start.column,
                        "endLine": part.end.line,
                        "endColumn": part.end.column,
                    },
                    "insertedContent": {"text": part.text},
                }
                for part in finding.fix
            ]
            file = _sarif_location(finding.fix[0].start)["physicalLocation"]["artifactLocation"]
            change = {"artifactLocation": file, "replacements": replacements}
            description = {"text": f"Take the {source}."}
            result["fixes"] = [{"description": description, "artifactChanges": [change]}]
        results.append(result)
    version = metadata.version("tuninglink")
    driver = {"name": "tuninglink", "version": version, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _sarif_location(place: Place) -> dict[str, Any]:
    path = Path(place.file)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if place.line > 0:
        physical["region"] = {"startLine": place.line, "startColumn": max(place.column, 1)}
    return {"physicalLocation": physical}


def to_github(diagnostic: Diagnostic) -> str:
    """Return the workflow command for a diagnostic with a rule, one line without its terminator."""
    assert diagnostic.rule is not None
    properties: dict[str, str] = {}
    if (place := diagnostic.place) is not None:
        properties["file"] = place.file
        if place.line > 0:
            properties |= {"line": str(place.line), "col": str(max(place.column, 1))}
    properties["title"] = diagnostic.rule.description

    def escape(text: str) -> str:
        return escaped(text, lines=True).replace("%", "%25").replace("\n", "%0A")

    written = ",".join(
        f"{name}={escape(value).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in properties.items()
    )
    command = {Severity.ERROR: "error", Severity.WARNING: "warning"}.get(
        diagnostic.severity, "notice"
    )
    text = "\n".join([f"{diagnostic.message}{code_of(diagnostic)}", *map(str, diagnostic.notes)])
    return f"::{command} {written}::{escape(text)}"


@dataclass(frozen=True)
class FixedFile:
    """A file with replacements applied.

    Attributes:
        path: the file.
        before: its text.
        after: the text with the replacements.
        count: the number of findings whose replacements are in it.
    """

    path: str
    before: str
    after: str
    count: int

    def diff(self) -> str:
        """Return the change as a unified diff."""
        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after))
        lines = unified_diff(before, after, self.path, self.path)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def fixed_files(findings: Iterable[Diagnostic]) -> list[FixedFile]:
    """Return the files that findings have replacements for, fixed. Of two that overlap, the first is applied.

    Raises:
        TuninglinkError: a file cannot be read.
    """
    fixes: dict[str, list[tuple[Replacement, ...]]] = defaultdict(list)
    for finding in findings:
        if finding.fix:
            fixes[finding.fix[0].start.file].append(finding.fix)
    files = []
    for path, of_file in fixes.items():
        try:
            before = Path(path).read_bytes().decode()
        except OSError as failure:
            raise TuninglinkError(cannot("read", path, failure)) from None
        source = SpecText(before, path)
        spans: dict[tuple[int, int], str] = {}
        count = 0
        for fix in of_file:
            parts = {(source.offset(at.start), source.offset(at.end)): at.text for at in fix}
            overlaps = any(
                start < other[1] and other[0] < end and (start, end, text) != (*other, spans[other])
                for (start, end), text in parts.items()
                for other in spans
            )
            if not overlaps:
                spans |= parts
                count += 1
        after = before
        for (start, end), text in sorted(spans.items(), reverse=True):
            after = after[:start] + text + after[end:]
        files.append(FixedFile(path, before, after, count))
    return files
