"""`tuninglink check`: what is wrong with specs, entry by entry."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from tuninglink.checking.check_report import SpecReport
from tuninglink.checking.compiling import CompileLimits, Model
from tuninglink.checking.findings import Rule
from tuninglink.checking.json_report import to_json
from tuninglink.checking.review_formats import to_github, to_sarif
from tuninglink.cli import process
from tuninglink.cli.check_tables import tables
from tuninglink.cli.completion import known_specs, known_targets
from tuninglink.cli.progress import progress
from tuninglink.cli.project_options import project_specs
from tuninglink.cli.shared_options import NoProject, NoUpgrade, ProjectFile  # noqa: TC001 - typer reads them
from tuninglink.errors import SpecError, TuninglinkError
from tuninglink.files import STANDARD_STREAM, write_output
from tuninglink.interrupt_hooks import interrupt_hook
from tuninglink.iree.compile_flags import compile_flags
from tuninglink.iree.targets import Target
from tuninglink.mlir.diagnostics import Severity, error
from tuninglink.solver.answers import Limits
from tuninglink.specs.sources import SpecFile, read_specs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tuninglink.checking.checker import Checker
    from tuninglink.checking.findings import Finding


class Format(Enum):
    """How a report is written."""

    TABLE = "table"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


_Specs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SPEC",
        help="Specs, as text or bytecode; each is checked by itself. Each is a file, a directory, a pattern, "
        "library:NAME or a URL; `-` is standard input. Default: those of the project file.",
        autocompletion=known_specs,
        show_default=False,
    ),
]
_Target = Annotated[
    str | None,
    typer.Option(
        metavar="TARGET",
        help="Check the configurations for this SKU, architecture or family.",
        autocompletion=known_targets,
        show_default=False,
    ),
]
_Model = Annotated[
    str,
    typer.Option(
        metavar="MODEL",
        help="Check each configuration on the ops of this program that its entry matches, too. Flags of "
        "`iree-compile` may follow.",
        show_default=False,
    ),
]
_CompilePrograms = Annotated[
    bool,
    typer.Option(
        "--compile",
        help="Compile a program for each entry as well, for the TARGET; takes about a second each.",
    ),
]
_Form = Annotated[Format, typer.Option("--format", help="How the report is written.")]
_Output = Annotated[
    str, typer.Option("--output", "-o", metavar="OUT", help="Where the report goes.")
]
_CORES: Final = os.cpu_count() or 1
_Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many processes work at once.")]
_Timeout = Annotated[
    float, typer.Option(min=0.1, metavar="SECONDS", help="How long a program may compile.")
]
_Limit = Annotated[
    float,
    typer.Option(min=0.1, metavar="SECONDS", help="How long a question to the solver may take."),
]
_Strict = Annotated[bool, typer.Option("--strict", help="Fail if a question was not decided.")]


def check(
    specs: _Specs = None,
    *,
    target: _Target = None,
    model: _Model = "",
    compile_programs: _CompilePrograms = False,
    form: _Form = Format.TABLE,
    output: _Output = STANDARD_STREAM,
    jobs: _Jobs = _CORES,
    timeout: _Timeout = CompileLimits.seconds,
    limit: _Limit = Limits.seconds,
    strict: _Strict = False,
    project: ProjectFile = None,
    no_project: NoProject = False,
    no_upgrade: NoUpgrade = False,
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
    flags = [spec for spec in specs or () if spec.startswith("-") and spec != STANDARD_STREAM]
    sources = [spec for spec in specs or () if spec not in flags]
    sources = sources or [*project_specs(project, no_project=no_project)]
    limits = CompileLimits(timeout, jobs) if compile_programs else None
    upgrade = not no_upgrade
    checker = _checker(target, model, flags, limits, limit, upgrade=upgrade, processes=jobs)
    writer = _Writer(form, target, output)
    reports = _checked(checker, sources, writer)
    findings = _findings(reports, strict=strict)
    if form is Format.TABLE:
        shown = (finding for finding in findings if strict or finding.rule is not Rule.UNDECIDED)
        process.show(*(finding.diagnostic for finding in shown))
    writer.write(reports, findings)
    if any(finding.diagnostic.severity is Severity.ERROR for finding in findings):
        raise typer.Exit(process.FAILURE)


def _findings(reports: Iterable[SpecReport], *, strict: bool) -> list[Finding]:
    findings = [finding for report in reports for finding in report.findings()]
    return [finding.strictly() for finding in findings] if strict else findings


@dataclass(frozen=True)
class _Writer:
    """Writes reports in a format, for a target or none, to an output."""

    form: Format
    target: str | None
    output: str

    def write(self, reports: Sequence[SpecReport], findings: Sequence[Finding]) -> None:
        content = _render(reports, findings, self.form, self.target, self.output)
        write_output(self.output, content.encode())


def _checked(checker: Checker, sources: Iterable[str], writer: _Writer) -> list[SpecReport]:
    """Return the report of each spec; an interrupt writes the complete reports and the partial last one."""
    reports: list[SpecReport] = []

    def write_partial() -> None:
        part = checker.progress.partial()
        complete = [*reports, *([part] if part else [])]
        writer.write(complete, [finding for report in complete for finding in report.findings()])

    with interrupt_hook(write_partial), progress(checker.progress):
        for input_ in _inputs(sources):
            if isinstance(input_, SpecFile):
                reports.append(checker.check(input_.content, input_.name, input_.targets))
            else:
                reports.append(input_)
    return reports


def _checker(
    target_name: str | None,
    model: str,
    flags: Sequence[str],
    compile_limits: CompileLimits | None,
    solver_seconds: float,
    *,
    upgrade: bool,
    processes: int,
) -> Checker:
    """Return the checker for the options.

    Raises:
        TuninglinkError: the options do not go together, or a target or a flag is unknown.
    """
    if compile_limits is not None and target_name is None:
        message = "--compile needs to know what to compile for; name it with --target"
        raise TuninglinkError(error(message))
    target = None if target_name is None else Target.parse(target_name)
    checked_model = _model(model, flags, target)
    from tuninglink.checking.checker import Checker  # noqa: PLC0415 - mistakes are told before

    return Checker(
        target=target,
        model=checked_model,
        compile_limits=compile_limits,
        limits=Limits(solver_seconds),
        upgrade=upgrade,
        processes=processes,
    )


def _model(path: str, flags: Sequence[str], target: Target | None) -> Model | None:
    """Return the model to check on; None without one.

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
        return tables(reports, output)
    if form is Format.GITHUB:
        return "".join(f"{to_github(finding)}\n" for finding in findings)
    data = to_json(reports, target) if form is Format.JSON else to_sarif(findings)
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _inputs(arguments: Iterable[str]) -> Iterator[SpecFile | SpecReport]:
    """Yield the specs named by arguments; for arguments without specs, yield a report with the error."""
    for argument in arguments:
        if argument == STANDARD_STREAM:
            yield SpecFile("<stdin>", process.read_standard_input())
            continue
        try:
            yield from read_specs([argument], process.shown_diagnostics())
        except SpecError as failure:
            yield SpecReport(argument, structure=failure.diagnostics)
