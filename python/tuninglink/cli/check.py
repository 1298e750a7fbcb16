"""`tuninglink check`: what is wrong with specs, entry by entry."""

from __future__ import annotations

import io
import json
import os
import sys
from enum import Enum
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tuninglink.checking.compiling import CompileLimits, Model
from tuninglink.checking.findings import Rule
from tuninglink.checking.github import to_github
from tuninglink.checking.report import SpecReport, to_json
from tuninglink.checking.sarif import to_sarif
from tuninglink.cli import process
from tuninglink.cli.completion import known_targets
from tuninglink.cli.progress import progress
from tuninglink.cli.project import project_specs
from tuninglink.cli.terminal import render_table
from tuninglink.errors import SpecError, TuninglinkError
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.interrupt_hooks import interrupt_hook
from tuninglink.iree.compile_flags import compile_flags
from tuninglink.iree.targets import Target
from tuninglink.mlir.diagnostics import Severity, error
from tuninglink.solver.answers import Limits, Verdict
from tuninglink.specs.sources import SpecFile, read_specs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tuninglink.checking.answers import Answer
    from tuninglink.checking.findings import Finding
    from tuninglink.checking.report import EntryReport
    from tuninglink.matching.reachability import EntryOverlap
    from tuninglink.specs.structure import Entry


class Format(Enum):
    """How a report is written."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


_COLUMNS: Final = (
    *("line", "matches", "valid", "compiles", "reachable", "overlaps"),
    *("entry", "made for it"),
)
_CELLS: Final = {Verdict.PROVEN: "yes", Verdict.REFUTED: "NO", Verdict.NOT_DECIDED: "?"}
_WORDS: Final = {
    Verdict.PROVEN: "valid",
    Verdict.REFUTED: "invalid",
    Verdict.NOT_DECIDED: "not decided",
}
_NOT_ASKED: Final = "-"
_MOST_OVERLAPS: Final = 20
"""How many overlaps are listed below a table."""


def check(
    specs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SPEC",
            help="Specs, as text or bytecode; each is checked by itself. Each is a file, a directory, a pattern, "
            "library:NAME or a URL; `-` is standard input. Default: those of the project file.",
            show_default=False,
        ),
    ] = None,
    *,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TARGET",
            help="Check the configurations for this SKU, architecture or family.",
            autocompletion=known_targets,
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="Check each configuration on the ops of this program that its entry matches, too. Flags of "
            "`iree-compile` may follow.",
            show_default=False,
        ),
    ] = "",
    compile_programs: Annotated[
        bool,
        typer.Option(
            "--compile",
            help="Compile a program for each entry as well, for the TARGET; takes about a second each.",
        ),
    ] = False,
    form: Annotated[
        Format, typer.Option("--format", help="How the report is written.")
    ] = Format.TABLE,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="OUT", help="Where the report goes.")
    ] = STANDARD_STREAM,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="How many processes work at once.")
    ] = os.cpu_count() or 1,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How long a program may compile.")
    ] = CompileLimits.seconds,
    limit: Annotated[
        float,
        typer.Option(
            min=0.1, metavar="SECONDS", help="How long a question to the solver may take."
        ),
    ] = Limits.seconds,
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail if a question was not decided.")
    ] = False,
    project: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Take the specs of this project file where none is given. Default: tuninglink.toml, or "
            "pyproject.toml with [tool.tuninglink], in the working directory or above it.",
            show_default=False,
        ),
    ] = None,
    no_project: Annotated[bool, typer.Option("--no-project", help="Use no project file.")] = False,
    no_upgrade: Annotated[
        bool,
        typer.Option("--no-upgrade", help="Refuse specs that were written for an older compiler."),
    ] = False,
) -> None:
    """Check specs, entry by entry: structure, matchers, configurations, and what is never reached.

    For every entry a program is made that it should match, and the compiler's interpreter must configure it.
    The configuration must hold under the constraints of its pipeline on the target. An entry that is
    never reached is named with the earlier one that matches whatever it matches, and so are entries with other
    configurations that match some of the same operations. What cannot be told is shown as `?`, with the reason.

    The exit code is 1 if a spec has errors, and with --strict if anything was not decided, too.

    Examples:
        tuninglink check mine.mlir --target gfx942 --compile
        tuninglink check specs/*.mlir --target gfx942 --format sarif -o tuninglink.sarif
    """
    if compile_programs and target is None:
        message = "--compile needs to know what to compile for; name it with --target"
        raise TuninglinkError(error(message))
    flags = [each for each in specs or () if each.startswith("-") and each != STANDARD_STREAM]
    sources = [each for each in specs or () if each not in flags] or project_specs(
        project, no_project=no_project
    )
    checked_target = None if target is None else Target.parse(target)
    checked_model = _model(model, flags, checked_target)
    from tuninglink.checking.checker import Checker  # noqa: PLC0415 - mistakes are told before

    checker = Checker(
        target=checked_target,
        model=checked_model,
        compile_limits=CompileLimits(timeout, jobs) if compile_programs else None,
        limits=Limits(limit),
        upgrade=not no_upgrade,
        processes=jobs,
    )
    reports: list[SpecReport] = []

    def write_partial() -> None:
        """Writes what is known when the command is interrupted."""
        part = checker.progress.partial()
        known = [*reports, *([part] if part else [])]
        findings = [found for each in known for found in each.findings()]
        write_output(output, _render(known, findings, form, target, output).encode())

    with interrupt_hook(write_partial), progress(checker.progress):
        for each in _inputs(sources):
            if isinstance(each, SpecFile):
                reports.append(checker.check(each.content, each.name, each.targets))
            else:
                reports.append(each)
    findings = [found for each in reports for found in each.findings()]
    if strict:
        findings = [each.strictly() for each in findings]
    if form is Format.TABLE:
        said = (each for each in findings if strict or each.rule is not Rule.UNDECIDED)
        process.show(*(each.diagnostic for each in said))
    write_output(output, _render(reports, findings, form, target, output).encode())
    if any(each.diagnostic.severity is Severity.ERROR for each in findings):
        raise typer.Exit(process.FAILURE)


def _model(path: str, flags: Sequence[str], target: Target | None) -> Model | None:
    """Returns the model to check on, None without one.

    Raises:
        TuninglinkError: a flag or an option that is missing or not known.
    """
    if not path:
        if flags:
            raise TuninglinkError(error(f"no such option: {flags[0]}"))
        return None
    if target is None and not flags:
        message = "--model needs to know what to compile for; name it with --target, or by iree-compile's flags"
        raise TuninglinkError(error(message))
    own = compile_flags(target) if target else ()
    return Model(path, (*own, *flags))


def _render(
    reports: Sequence[SpecReport],
    findings: Sequence[Finding],
    form: Format,
    target: str | None,
    output: str,
) -> str:
    if form is Format.TABLE:
        return _tables(reports, output)
    if form is Format.GITHUB:
        return "".join(f"{to_github(each)}\n" for each in findings)
    data = to_json(reports, target) if form is Format.JSON else to_sarif(findings)
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _inputs(arguments: Iterable[str]) -> Iterator[SpecFile | SpecReport]:
    """Yields the specs that arguments name; for an argument that names none the report that says so."""
    for argument in arguments:
        if argument == STANDARD_STREAM:
            yield SpecFile("<stdin>", process.read_standard_input())
            continue
        try:
            yield from read_specs([argument], process.shown_diagnostics())
        except SpecError as failure:
            yield SpecReport(argument, structure=failure.diagnostics)


def _tables(reports: Sequence[SpecReport], output: str) -> str:
    """Returns the tables of all specs, for where they go."""
    stream = sys.stdout if output == STANDARD_STREAM else io.StringIO()
    return "\n".join(
        render_table(_COLUMNS, list(map(_row, each.entries)), _title(each), stream)
        + "".join(f"{line}\n" for line in (*_undecided(each), *_in_model(each), *_overlaps(each)))
        for each in reports
        if each.kind
    )


def _title(report: SpecReport) -> str:
    return f"{report.source} ({report.kind}, {_entries(len(report.entries))})"


def _row(report: EntryReport) -> Sequence[str]:
    return (
        _line(report.entry),
        *map(_cell, report.answers.values()),
        _count(report.overlap),
        report.entry.matcher,
        report.payload,
    )


def _cell(answer: Answer | None) -> str:
    return _NOT_ASKED if answer is None else _CELLS[answer.verdict]


def _count(overlap: EntryOverlap | None) -> str:
    """Returns how many earlier entries an entry overlaps with."""
    if overlap is None:
        return ""
    is_exact = overlap.at_most == len(overlap.winners)
    return f"{overlap.at_most:,}" if is_exact else f"<={overlap.at_most:,}"


def _undecided(report: SpecReport) -> Iterator[str]:
    """Says below the table why a cell has a question mark."""
    for each in report.undecided():
        question = each.question.replace("_", " ")
        first = each.entries[0].entry
        more = f" and {len(each.entries) - 1:,} more" if len(each.entries) > 1 else ""
        yield f"not decided: {question}: line {_line(first)}{more}: {each.reason}"


def _in_model(report: SpecReport) -> Iterator[str]:
    """Says below the table what each entry configures in the model."""
    for each in report.entries:
        name = f"in the model: line {_line(each.entry)}: '{each.entry.matcher}'"
        if each.in_model == ():
            yield f"{name} configures nothing"
        for match in each.in_model or ():
            said = _WORDS[match.answer.verdict]
            reason = f": {match.answer.reason}" if match.answer.reason else ""
            yield f"{name} configures {match.problem} in {match.dispatch}: {said}{reason}"


def _overlaps(report: SpecReport) -> Iterator[str]:
    """Says below the table which entries overlap with earlier ones."""
    found = [(each.entry, each.overlap) for each in report.entries if each.overlap is not None]
    for entry, overlap in found[:_MOST_OVERLAPS]:
        first = overlap.winners[0]
        more = f", and up to {overlap.at_most - 1:,} more do" if overlap.at_most > 1 else ""
        yield (
            f"overlap: line {_line(entry)}: '{entry.matcher}' matches {first.witness}, which "
            f"'{first.entry.matcher}' (line {_line(first.entry)}) takes first{more}"
        )
    if len(found) > _MOST_OVERLAPS:
        yield f"overlap: {len(found) - _MOST_OVERLAPS:,} more; --format=json lists them all"


def _line(entry: Entry) -> str:
    return str(entry.place.line) if entry.place else "?"


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"
