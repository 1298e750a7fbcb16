"""`tuninglink check`: a report of the faults of specs, entry by entry."""

from __future__ import annotations

import io
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final, TextIO

from tuninglink.checking import (
    MOST_PROPOSALS,
    VERDICT_WORDS,
    CheckReport,
    CompileLimits,
    Model,
    Selection,
    SpecReport,
    fixed_files,
    read_codes,
    to_github,
    to_sarif,
)
from tuninglink.cli import process
from tuninglink.cli.project_options import ProjectOptions, read_flags
from tuninglink.cli.terminal import folded, is_quiet, progress, render_table
from tuninglink.cli.usage import Positional, Usage, usage_error
from tuninglink.compiler import (
    COMPILE_FLAGS,
    TARGET_FLAG,
    check_has_target,
    no_target,
    read_target,
    session_flags,
    set_up_command_line,
    spec_diagnostics,
)
from tuninglink.errors import Diagnostic, Severity, SpecError, counted, printable
from tuninglink.files import STANDARD_STREAM, check_output, write_output
from tuninglink.interrupt_hooks import interrupt_hook
from tuninglink.llvm_flags import (
    JOBS_FLAG,
    Flag,
    choice,
    flags_of,
    group,
    option,
    options_from,
    read_name,
    read_positive_duration,
    toggle,
)
from tuninglink.mlir import note
from tuninglink.plain_data import to_json
from tuninglink.rules import CODES, Rule
from tuninglink.solver import Limits, Verdict
from tuninglink.specs import PREPROCESSING_SPEC, SpecFile, read_specs, spec_names
from tuninglink.workers import processor_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tuninglink.checking import Checker
    from tuninglink.specs import Entry


class Format(Enum):
    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


_CODES: Final = Flag("", read_codes, repeats=True, metavar="CODE,...", values=lambda: CODES)


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    specs: tuple[str, ...]
    flags: tuple[str, ...]
    target: str = option(
        "",
        TARGET_FLAG,
        help="Check the configurations for this SKU, architecture or family; host is the processor of this machine.",
    )
    model: str = option(
        "",
        read=read_name,
        metavar="MODEL",
        help="Check each configuration on the ops of this program that its entry matches, too. Flags of iree-compile "
        "are for this program.",
    )
    compiles: bool = toggle(
        "Compile a program for each entry as well, for the TARGET; takes about a second each.",
        name="compile",
    )
    form: Format = option(
        Format.TABLE,
        choice("", Format, "How the report is written. Default: table."),
        name="format",
    )
    output: str = option(
        STANDARD_STREAM,
        COMPILE_FLAGS["output"],
        help="Where to write the report. Default: standard output.",
    )
    jobs: int = option(
        processor_count(),
        JOBS_FLAG,
        help="How many processes work at once. Default: one for each core.",
    )
    timeout: float = option(
        CompileLimits.seconds,
        read=read_positive_duration,
        metavar="TIME",
        help=f"The time limit of the compilation of a program. Default: {CompileLimits.seconds:.0f}s.",
    )
    limit: float = option(
        Limits.seconds,
        read=read_positive_duration,
        metavar="TIME",
        help=f"The time limit of a query of the solver. Default: {Limits.seconds:.0f}s.",
    )
    strict: bool = toggle("Fail if a question was not decided.")
    select: tuple[frozenset[Rule], ...] = option(
        (), _CODES, help="Report findings of these rules only, and their remarks, too."
    )
    ignore: tuple[frozenset[Rule], ...] = option(
        (), _CODES, help="Report no findings of these rules."
    )
    is_complete: bool = toggle(
        "Report every finding and every entry, not one example for each rule.", name="all"
    )
    fixes: bool = toggle(
        "Write the right names and the values of the nearest valid configurations of the reported findings into the "
        "specs, and check them again.",
        name="fix",
    )
    shows_diff: bool = toggle("Show what --fix would write, as a unified diff.", name="diff")
    rules: bool = toggle("List the rules with their codes, and check nothing.")
    upgrade: bool = toggle(COMPILE_FLAGS["no-upgrade"].help, name="no-upgrade", default=True)
    project: ProjectOptions = group(ProjectOptions)


USAGE: Final[Usage] = Usage(
    name="check",
    positionals=(
        Positional(
            "SPEC",
            "Specs, as text or bytecode; each is checked by itself. A file, a directory, a pattern, library:NAME or a "
            "URL; - is standard input. Default: those of the project file.",
            optional=True,
            repeats=True,
            values=spec_names,
        ),
    ),
    flags=flags_of(CheckOptions),
    main_flags=(
        *("target", "model", "compile", "strict", "select", "ignore", "all", "fix", "diff"),
        *("format", "output"),
    ),
    takes_compiler_flags=True,
    description="""
For every entry a program is made that it should match, and the compiler's interpreter must configure it. The
configuration must hold under the constraints of its pipeline on the target. An entry that is never reached is named
with the earlier one that matches all its ops, and so are entries with other configurations that match some of the same
operations. Undecided answers are shown as `?`, with the reason.

The exit code is 1 if a spec has errors, and with --strict if anything was not decided, too.
""",
    examples=(
        "tuninglink check mine.mlir --target gfx942 --compile",
        "tuninglink check specs/*.mlir --target gfx942 --format sarif -o tuninglink.sarif",
    ),
)


def check_command(arguments: Sequence[str]) -> int:
    reader = read_flags(USAGE.flags, arguments)
    reader.values["target"] = reader.target
    options = options_from(CheckOptions, reader.values, specs=reader.inputs, flags=reader.flags)
    if options.rules:
        rows = [(rule.value, rule.severity, rule.description) for rule in Rule]
        table = render_table(("code", "severity", "meaning"), rows, "", sys.stdout)
        write_output(options.output, table.encode())
        return process.SUCCESS
    # Check that flags have the program or the target that they are for.
    explicit_flags = reader.flags[len(reader.target_flags) :]
    if explicit_flags and not options.model:
        remedy = "flags of iree-compile are for the program of --model"
        raise usage_error(f"flag '{explicit_flags[0]}' needs a --model", remedy)
    if options.compiles and not options.target:
        raise no_target()
    if options.fixes and STANDARD_STREAM in options.specs:
        message = "--fix writes into files, and cannot fix standard input; --diff shows the change"
        raise usage_error(message)
    if options.model:
        check_has_target(options.flags, options.model)
    specs = options.specs or options.project.specs()
    check_output(options.output)
    # The flags of sessions are for the model; the others are set once for the process.
    target = read_target(options.target) if options.target else None
    model_flags = [flag for flag in options.flags if flag.partition("=")[0] in session_flags()]
    from tuninglink.checking import Checker  # noqa: PLC0415 - mistakes are reported before

    checker = Checker(
        target=target,
        model=Model(options.model, tuple(model_flags)) if options.model else None,
        compile_limits=CompileLimits(options.timeout, options.jobs) if options.compiles else None,
        limits=Limits(options.limit),
        upgrade=options.upgrade,
        processes=options.jobs,
        proposals=sys.maxsize if options.fixes or options.shows_diff else MOST_PROPOSALS,
    )
    process_wide = [flag for flag in options.flags if flag not in model_flags]
    set_up_command_line("tuninglink check", process_wide)
    process.show(*spec_diagnostics(options.flags, upgrade=options.upgrade))
    reports = _checked(checker, specs, options)
    for _ in range(_MOST_ROUNDS if options.fixes or options.shows_diff else 0):
        files = fixed_files(finding for report in reports for finding in report.diagnostics())
        findings = counted(sum(file.count for file in files), "finding")
        changes = f"{findings} in {counted(len(files), 'file')}"
        if options.shows_diff:
            write_output(options.output, "".join(file.diff() for file in files).encode())
            process.shown_diagnostics().remark(f"would fix {changes}")
            has_errors = any(report.has_errors() for report in reports)
            return process.FAILURE if files or has_errors else process.SUCCESS
        if not files:
            break
        for file in files:
            write_output(file.path, file.after.encode())
        process.shown_diagnostics().remark(f"fixed {changes}")
        reports = _checked(checker, specs, options)
    if options.form is Format.TABLE:
        process.show(*shown_findings(reports, options))
    _write(reports, options)
    return process.FAILURE if any(report.has_errors() for report in reports) else process.SUCCESS


_MOST_ROUNDS: Final = 10
"""The limit on fixing again what a fix leads to, such as the value of a knob whose name was wrong."""


def _checked(checker: Checker, sources: Iterable[str], options: CheckOptions) -> list[SpecReport]:
    """Return the report of each spec; an interrupt writes the complete reports and the partial last one."""
    reports: list[SpecReport] = []
    selected, ignored = (frozenset().union(*rules) for rules in (options.select, options.ignore))
    selection = Selection(selected, ignored, options.is_complete, options.strict)

    def write_partial() -> None:
        part = checker.progress.partial()
        _write([*reports, *([replace(part, selection=selection)] if part else [])], options)

    with interrupt_hook(write_partial), progress(checker.progress):
        for source in sources:
            files: Sequence[SpecFile]
            if source == STANDARD_STREAM:
                files = [SpecFile("<stdin>", process.read_standard_input())]
            else:
                try:
                    files = read_specs([source], process.shown_diagnostics())
                except SpecError as failure:  # the report has the error
                    report = SpecReport(printable(source), structure=failure.diagnostics)
                    reports.append(replace(report, selection=selection))
                    continue
            for file in files:
                report = checker.check(file.content, file.name, file.targets)
                reports.append(replace(report, selection=selection))
    return reports


def _write(reports: Sequence[SpecReport], options: CheckOptions) -> None:
    """Write the report in the format of the options."""
    if options.form is Format.TABLE:
        # Findings are on standard error, and with --quiet nothing else is shown. Large specs have counts, not tables.
        is_hidden = is_quiet() and options.output == STANDARD_STREAM and not options.is_complete
        stream = sys.stdout if options.output == STANDARD_STREAM else io.StringIO()
        text = "\n".join(
            _table(report, stream)
            if len(report.entries) <= _FEW or report.selection.is_complete
            else folded(_counts(report), stream)
            for report in reports
            if report.kind and not is_hidden
        )
    elif options.form is Format.JSON:
        text = to_json(CheckReport(options.target or None, reports))
    else:
        findings = [finding for report in reports for finding in report.diagnostics()]
        is_sarif, lines = options.form is Format.SARIF, map(to_github, findings)
        text = to_json(to_sarif(findings)) if is_sarif else "".join(f"{line}\n" for line in lines)
    write_output(options.output, text)


_COLUMNS: Final = (
    *("line", "matches", "valid", "compiles", "reachable", "overlaps", "entry", "made for it"),
)
_CELLS: Final[dict[Verdict | None, str]] = {
    Verdict.PROVEN: "yes",
    Verdict.REFUTED: "NO",
    Verdict.NOT_DECIDED: "?",
    None: "-",
}
"""The answers to a question in the table; None for a question that was not asked."""

_FEW: Final = 20
"""The limit on entries that are listed without --all."""

_MOST_LINES: Final = 5
"""The limit on the lines of further findings of a rule."""

_MOST_OVERLAPS: Final = 20
"""The limit on overlaps listed below a table."""


def shown_findings(reports: Sequence[SpecReport], options: CheckOptions) -> Iterator[Diagnostic]:
    """Yield the findings to show: one example for each rule and severity in a spec, with the number of the others."""
    for report in reports:
        findings = report.diagnostics()
        if report.selection.is_complete:
            yield from findings
            continue
        groups: dict[tuple[Rule | None, Severity], list[Diagnostic]] = defaultdict(list)
        for finding in findings:
            groups[finding.rule, finding.severity].append(finding)
        for (rule, _), (first, *others) in groups.items():
            if not others or rule in (None, Rule.UNREADABLE):
                yield from (first, *others)
                continue
            lines = [*dict.fromkeys(str(other.place.line) for other in others if other.place)]
            listed = ", ".join(lines[:_MOST_LINES] + ["..."] * (len(lines) > _MOST_LINES))
            at = f", at {'line' if len(lines) == 1 else 'lines'} {listed}" if lines else ""
            more = note(f"{len(others):,} more{at}; --all shows them")
            yield replace(first, notes=(*first.notes, more))
    # Some answers need a target.
    count = sum(len(report.entries) for report in reports)
    if count and not options.target and not options.model:
        entries = counted(count, "entry", "entries")
        message = f"without a target, the configurations of {entries} are not checked: neither whether they are valid nor whether they compile"
        remedy = note("name the target with --target, such as --target gfx942")
        yield Diagnostic(Severity.REMARK, message, None, (remedy,))


def _table(report: SpecReport, stream: TextIO) -> str:
    """Return the table of a spec, one row for each entry, and the notes below it."""
    rows = []
    for entry in report.entries:
        overlap, count = entry.overlap, ""
        if overlap is not None:
            is_exact = overlap.at_most == len(overlap.winners)
            count = f"{overlap.at_most:,}" if is_exact else f"<={overlap.at_most:,}"
        answers = entry.answers.values()
        cells = (_CELLS[None if answer is None else answer.verdict] for answer in answers)
        rows.append((_line(entry.entry), *cells, count, entry.entry.matcher, entry.payload))
    is_listed, title = report.kind != PREPROCESSING_SPEC, _title(report)
    table = render_table(_COLUMNS, rows, title, stream) if is_listed else f"{title}\n"
    return table + folded("".join(f"{line}\n" for line in _notes(report)), stream)


def _counts(report: SpecReport) -> str:
    """Return the numbers of answers to each question, for a spec with many entries."""
    lines = [_title(report)]
    for position, question in enumerate(_COLUMNS[1:5]):
        answers = [list(entry.answers.values())[position] for entry in report.entries]
        verdicts = [None if answer is None else answer.verdict for answer in answers]
        lines += [_tally(question, verdicts)] if {*verdicts} != {None} else []
    overlapping = sum(entry.overlap is not None for entry in report.entries)
    lines += [f"overlaps: {counted(overlapping, 'entry', 'entries')}"] if overlapping else []
    lines += [*_hidden(report), "--all shows every entry, and why it is not decided"]
    return "".join(f"{line}\n" for line in lines)


def _hidden(report: SpecReport) -> Iterator[str]:
    """Yield the footnote on findings that are not reported by default."""
    if report.selection.selected:
        return
    unlisted = {Rule.UNDECIDED, *report.selection.ignored}
    reported = set(report.diagnostics())
    findings = (finding for finding in report.findings() if finding not in reported)
    rules = (finding.rule for finding in findings if finding.rule)
    hidden = Counter(rule.value for rule in rules if rule not in unlisted)
    if hidden:
        counts = ", ".join(f"{count:,} {code}" for code, count in hidden.items())
        yield f"remarks: {counts}; --all shows them"


def _tally(question: str, verdicts: Iterable[Verdict | None]) -> str:
    """Return the numbers of the answers to a question."""
    counts = Counter(verdicts)
    listed = (f"{counts[verdict]:,} {cell}" for verdict, cell in _CELLS.items() if counts[verdict])
    return f"{question}: {', '.join(listed)}"


def _title(report: SpecReport) -> str:
    count = len(next(iter(report.replacing.values()), ()))
    is_listed = report.kind != PREPROCESSING_SPEC
    own = f", {counted(len(report.entries), 'entry', 'entries')}" * is_listed
    own += f", {counted(count, 'replace entry', 'replace entries')}" * bool(count)
    return f"{report.source} ({report.kind}{own})"


def _notes(report: SpecReport) -> Iterator[str]:
    """Yield the footnotes of a table."""
    for question, verdicts in report.replacing.items():
        yield _tally(f"replace entries: {question}", verdicts)
    # The reasons for question marks.
    for (question, reason), entries in report.undecided().items():
        more = f" and {len(entries) - 1:,} more" if len(entries) > 1 else ""
        line = _line(entries[0].entry)
        yield f"not decided: {question.replace('_', ' ')}: line {line}{more}: {reason}"
    # The dispatches that entries configure in the model.
    for report_of_entry in report.entries:
        entry = report_of_entry.entry
        name = f"in the model: line {_line(entry)}: '{entry.matcher}'"
        if report_of_entry.in_model == ():
            yield f"{name} configures nothing"
        for match in report_of_entry.in_model or ():
            words = VERDICT_WORDS[match.answer.verdict]
            reason = f": {match.answer.reason}" if match.answer.reason else ""
            yield f"{name} configures {match.problem} in {match.dispatch}: {words}{reason}"
    # The entries that overlap earlier ones.
    overlaps = [(part.entry, part.overlap) for part in report.entries if part.overlap is not None]
    for entry, overlap in overlaps[:_MOST_OVERLAPS]:
        winner = overlap.winners[0]
        more = f", and up to {overlap.at_most - 1:,} more do" if overlap.at_most > 1 else ""
        yield (
            f"overlap: line {_line(entry)}: '{entry.matcher}' matches {winner.witness}, which "
            f"'{winner.entry.matcher}' (line {_line(winner.entry)}) takes first{more}"
        )
    if len(overlaps) > _MOST_OVERLAPS:
        yield f"overlap: {len(overlaps) - _MOST_OVERLAPS:,} more; --format=json lists them all"
    yield from _hidden(report)


def _line(entry: Entry) -> str:
    return str(entry.place.line) if entry.place else "?"
