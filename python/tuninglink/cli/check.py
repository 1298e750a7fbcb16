"""`tuninglink check`: a report of the faults of specs, entry by entry."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from tuninglink.checking.check_report import CheckReport, SpecReport
from tuninglink.checking.compiling import CompileLimits, Model
from tuninglink.checking.configuration_checks import MOST_PROPOSALS
from tuninglink.checking.findings import to_github, to_sarif
from tuninglink.checking.fixing import FixedFile, fixed_files
from tuninglink.checking.selection import Selection, read_codes
from tuninglink.cli import process
from tuninglink.cli.check_tables import shown_findings, tables
from tuninglink.cli.project_options import SPEC_PROJECT_FLAGS, project_specs
from tuninglink.cli.target_options import read_flags
from tuninglink.cli.terminal import is_quiet, progress, render_table
from tuninglink.cli.usage import JOBS_FLAG, Positional, Usage
from tuninglink.compiler.flags import COMPILE_FLAGS, TARGET_FLAG
from tuninglink.compiler.preprocessing_specs import spec_diagnostics
from tuninglink.compiler.session import session_flags, set_up_command_line
from tuninglink.compiler.target_flags import check_has_target, no_target, read_target
from tuninglink.errors import SpecError, UsageError, counted, printable
from tuninglink.files import STANDARD_STREAM, check_output, write_output
from tuninglink.interrupt_hooks import interrupt_hook
from tuninglink.llvm_flags import Flag, choice, read_name, read_positive_duration, switch
from tuninglink.mlir.diagnostics import Diagnostic, Severity, error, note
from tuninglink.plain_data import to_json
from tuninglink.rules import CODES, Rule
from tuninglink.solver.answers import Limits
from tuninglink.specs.libraries import spec_names
from tuninglink.specs.sources import SpecFile, read_specs
from tuninglink.workers import processor_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tuninglink.checking.checker import Checker
    from tuninglink.compiler.flags import FlagReader


class Format(Enum):
    """The format of a report."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


USAGE: Final = Usage(
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
    flags={
        "target": replace(
            TARGET_FLAG,
            help="Check the configurations for this SKU, architecture or family; host is the processor of this machine.",
        ),
        "model": Flag(
            "model",
            read_name,
            metavar="MODEL",
            help="Check each configuration on the ops of this program that its entry matches, too. Flags of "
            "iree-compile are for this program.",
        ),
        "compile": switch(
            "compiles",
            "Compile a program for each entry as well, for the TARGET; takes about a second each.",
        ),
        "format": choice("form", Format, "How the report is written. Default: table."),
        "output": replace(
            COMPILE_FLAGS["output"], help="Where to write the report. Default: standard output."
        ),
        "jobs": replace(
            JOBS_FLAG, help="How many processes work at once. Default: one for each core."
        ),
        "timeout": Flag(
            "timeout",
            read_positive_duration,
            metavar="TIME",
            help=f"The time limit of the compilation of a program. Default: {CompileLimits.seconds:.0f}s.",
        ),
        "limit": Flag(
            "limit",
            read_positive_duration,
            metavar="TIME",
            help=f"The time limit of a query of the solver. Default: {Limits.seconds:.0f}s.",
        ),
        "strict": switch("strict", "Fail if a question was not decided."),
        "select": Flag(
            "select",
            read_codes,
            repeats=True,
            metavar="CODE,...",
            help="Report findings of these rules only, and their remarks, too.",
            values=lambda: CODES,
        ),
        "ignore": Flag(
            "ignore",
            read_codes,
            repeats=True,
            metavar="CODE,...",
            help="Report no findings of these rules.",
            values=lambda: CODES,
        ),
        "all": switch(
            "is_complete", "Report every finding and every entry, not one example for each rule."
        ),
        "fix": switch(
            "fixes",
            "Write the right names and the values of the nearest valid configurations of the reported findings into the "
            "specs, and check them again.",
        ),
        "diff": switch("shows_diff", "Show what --fix would write, as a unified diff."),
        "rules": switch("rules", "List the rules with their codes, and check nothing."),
        "no-upgrade": COMPILE_FLAGS["no-upgrade"],
        **SPEC_PROJECT_FLAGS,
    },
    main_flags=(
        "target",
        "model",
        "compile",
        "strict",
        "select",
        "ignore",
        "all",
        "fix",
        "diff",
        "format",
        "output",
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


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The options of `tuninglink check`.

    Attributes:
        specs: the specs; empty for the specs of the project.
        flags: the compiler flags for the model.
        target: the target; empty for no target.
        model: a program to check the entries on; empty for no program.
        compiles: whether to compile a program for each entry.
        form: the format of the report.
        output: the path of the report; `-` for standard output.
        jobs: the number of parallel processes.
        timeout: the time limit of a compilation, in seconds.
        limit: the time limit of a query of the solver, in seconds.
        strict: whether undecided questions are errors.
        select: sets of rules whose findings alone are reported; empty for all rules.
        ignore: sets of rules whose findings are not reported.
        is_complete: whether all findings and entries are shown, and remarks, too.
        fixes: whether to fix the specs.
        shows_diff: whether to show the changes that would fix the specs, in place of the report.
        rules: whether to list the rules only.
        upgrade: whether to upgrade specs that were written for an older compiler.
        project: the project file; empty for the one in the working directory or above it.
        no_project: whether to ignore project files.
    """

    specs: tuple[str, ...]
    flags: tuple[str, ...]
    target: str = ""
    model: str = ""
    compiles: bool = False
    form: Format = Format.TABLE
    output: str = STANDARD_STREAM
    jobs: int = processor_count()
    timeout: float = CompileLimits.seconds
    limit: float = Limits.seconds
    strict: bool = False
    select: tuple[frozenset[Rule], ...] = ()
    ignore: tuple[frozenset[Rule], ...] = ()
    is_complete: bool = False
    fixes: bool = False
    shows_diff: bool = False
    rules: bool = False
    upgrade: bool = True
    project: str = ""
    no_project: bool = False

    @property
    def selection(self) -> Selection:
        """The findings to report."""
        selected, ignored = (frozenset().union(*rules) for rules in (self.select, self.ignore))
        return Selection(selected, ignored, self.is_complete, self.strict)

    @property
    def process_wide(self) -> tuple[str, ...]:
        """The compiler flags that are set once, for the whole process."""
        return tuple(flag for flag in self.flags if flag.partition("=")[0] not in session_flags())


def check_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink check` with the arguments after the command's name, and return the exit code.

    Raises:
        TuninglinkError: the arguments are wrong, or the report cannot be written.
    """
    reader = read_flags(USAGE.flags, arguments)
    options = CheckOptions(
        specs=reader.inputs, flags=reader.flags, target=reader.target, **reader.values
    )
    if options.rules:
        rows = [(rule.value, rule.severity, rule.description) for rule in Rule]
        write_output(
            options.output,
            render_table(("code", "severity", "meaning"), rows, "", sys.stdout).encode(),
        )
        return process.SUCCESS
    _check_flags(reader, options)
    specs = options.specs or project_specs(options.project, no_project=options.no_project)
    check_output(options.output)
    checker = _checker(options)
    set_up_command_line("tuninglink check", options.process_wide)
    process.show(*spec_diagnostics(options.flags, upgrade=options.upgrade))
    writer = _Writer(options)
    reports = _checked(checker, specs, writer)
    if options.shows_diff:
        files = _fixed(reports)
        write_output(options.output, "".join(file.diff() for file in files).encode())
        process.show(Diagnostic(Severity.REMARK, f"would fix {_changes(files)}"))
        has_errors = any(report.has_errors() for report in reports)
        return process.FAILURE if files or has_errors else process.SUCCESS
    if options.fixes:
        reports = _fix(reports, lambda: _checked(checker, specs, writer))
    if options.form is Format.TABLE:
        process.show(*shown_findings(reports), *_unchecked(reports, options))
    writer.write(reports)
    return process.FAILURE if any(report.has_errors() for report in reports) else process.SUCCESS


def _check_flags(reader: FlagReader, options: CheckOptions) -> None:
    """Check that flags have the program or the target that they are for.

    Raises:
        UsageError: a flag needs another one.
    """
    explicit = reader.flags[len(reader.target_flags) :]
    if explicit and not options.model:
        remedy = note("flags of iree-compile are for the program of --model")
        raise UsageError(error(f"flag '{explicit[0]}' needs a --model", notes=[remedy]))
    if options.compiles and not options.target:
        raise no_target()
    if options.fixes and STANDARD_STREAM in options.specs:
        message = "--fix writes into files, and cannot fix standard input; --diff shows the change"
        raise UsageError(error(message))
    if options.model:
        check_has_target(options.flags, options.model)


def _fix(reports: list[SpecReport], check: Callable[[], list[SpecReport]]) -> list[SpecReport]:
    """Fix specs and check them again, until nothing more can be fixed, and return the last reports."""
    for _ in range(_MOST_ROUNDS):
        files = _fixed(reports)
        if not files:
            break
        for file in files:
            write_output(file.path, file.after.encode())
        process.show(Diagnostic(Severity.REMARK, f"fixed {_changes(files)}"))
        reports = check()
    return reports


_MOST_ROUNDS: Final = 10
"""The limit on fixing again what a fix leads to, such as the value of a knob whose name was wrong."""


def _unchecked(reports: Iterable[SpecReport], options: CheckOptions) -> Iterator[Diagnostic]:
    """Yield a remark on what is not checked without a target."""
    count = sum(len(report.entries) for report in reports)
    if count and not options.target and not options.model:
        message = (
            f"without a target, the configurations of {counted(count, 'entry', 'entries')} are not checked: neither whether they "
            "are valid nor whether they compile"
        )
        remedy = note("name the target with --target, such as --target gfx942")
        yield Diagnostic(Severity.REMARK, message, None, (remedy,))


def _fixed(reports: Iterable[SpecReport]) -> list[FixedFile]:
    return fixed_files(finding for report in reports for finding in report.diagnostics())


def _changes(files: Sequence[FixedFile]) -> str:
    count = counted(sum(file.count for file in files), "finding")
    return f"{count} in {counted(len(files), 'file')}"


@dataclass(frozen=True)
class _Writer:
    """A writer of reports, as the options say."""

    options: CheckOptions

    def write(self, reports: Sequence[SpecReport]) -> None:
        content = _render(reports, self.options)
        write_output(self.options.output, content)


def _checked(checker: Checker, sources: Iterable[str], writer: _Writer) -> list[SpecReport]:
    """Return the report of each spec; an interrupt writes the complete reports and the partial last one."""
    reports: list[SpecReport] = []
    selection = writer.options.selection

    def write_partial() -> None:
        part = checker.progress.partial()
        writer.write([*reports, *([replace(part, selection=selection)] if part else [])])

    with interrupt_hook(write_partial), progress(checker.progress):
        for input_ in _inputs(sources):
            if isinstance(input_, SpecFile):
                report = checker.check(input_.content, input_.name, input_.targets)
            else:
                report = input_
            reports.append(replace(report, selection=selection))
    return reports


def _checker(options: CheckOptions) -> Checker:
    """Return the checker for the options.

    Raises:
        TargetError: the target is unknown.
    """
    target = read_target(options.target) if options.target else None
    model_flags = (flag for flag in options.flags if flag not in options.process_wide)
    model = Model(options.model, tuple(model_flags)) if options.model else None
    from tuninglink.checking.checker import Checker  # noqa: PLC0415 - mistakes are reported before

    return Checker(
        target=target,
        model=model,
        compile_limits=CompileLimits(options.timeout, options.jobs) if options.compiles else None,
        limits=Limits(options.limit),
        upgrade=options.upgrade,
        processes=options.jobs,
        proposals=sys.maxsize if options.fixes or options.shows_diff else MOST_PROPOSALS,
    )


def _render(reports: Sequence[SpecReport], options: CheckOptions) -> str:
    if options.form is Format.TABLE:
        # Findings are on standard error, and with --quiet nothing else is shown.
        is_hidden = is_quiet() and options.output == STANDARD_STREAM and not options.is_complete
        return "" if is_hidden else tables(reports, options.output)
    if options.form is Format.JSON:
        return to_json(CheckReport(options.target or None, reports))
    findings = [finding for report in reports for finding in report.diagnostics()]
    if options.form is Format.SARIF:
        return to_json(to_sarif(findings))
    return "".join(f"{to_github(finding)}\n" for finding in findings)


def _inputs(arguments: Iterable[str]) -> Iterator[SpecFile | SpecReport]:
    """Yield the specs named by arguments; for arguments without specs, yield a report with the error."""
    for argument in arguments:
        if argument == STANDARD_STREAM:
            yield SpecFile("<stdin>", process.read_standard_input())
            continue
        try:
            yield from read_specs([argument], process.shown_diagnostics())
        except SpecError as failure:
            yield SpecReport(printable(argument), structure=failure.diagnostics)
