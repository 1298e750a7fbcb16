"""`tuninglink explain`: the effects of specs on a program, dispatch by dispatch."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.compile import USAGE as COMPILE_USAGE
from tuninglink.cli.compile import specs_of
from tuninglink.cli.explain_device import DEVICE_FLAGS, ProgramMeasurement, device_options
from tuninglink.cli.explanation_output import render
from tuninglink.cli.page_output import format_for
from tuninglink.cli.project_options import PROJECT_FLAGS, with_project
from tuninglink.cli.target_options import read_flags, set_up_compiler
from tuninglink.cli.terminal import progress
from tuninglink.cli.usage import SPEC_SECTION, Section, Usage
from tuninglink.compiler.compile_options import CompileOptions, ExplanationFormat
from tuninglink.compiler.flags import EXPLAIN_FLAGS, compile_options
from tuninglink.compiler.probing import check_targets
from tuninglink.compiler.target_flags import check_has_target
from tuninglink.errors import UsageError
from tuninglink.explaining import explain_file, read_profile, until_configured, with_times
from tuninglink.files import STANDARD_STREAM, check_output, write_output
from tuninglink.mlir.diagnostics import error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.explaining.explanation import Explanation, MeasuredTimes

PROGRAM: Final = "tuninglink explain"

_FLAGS: Final = {**EXPLAIN_FLAGS, **DEVICE_FLAGS}

USAGE: Final = Usage(
    name="explain",
    positionals=COMPILE_USAGE.positionals,
    flags={**_FLAGS, **PROJECT_FLAGS},
    sections=(
        Section("Target", ("target",)),
        SPEC_SECTION,
        Section("Times and costs", ("profile", "database", "dim", *DEVICE_FLAGS)),
        Section("Output", ("output", "format")),
    ),
    main_flags=("target", "spec", "output"),
    takes_compiler_flags=True,
    description="""
What costs most comes first. For each problem: what it computes, how often it is called and what that costs; the entry
that configured it, and the configuration next to the one that the compiler would have chosen; or the nearest entries,
and the first condition that failed. For each spec: which entries were used, and which were not. INPUT is compiled as
far as configurations are chosen, with the flags that you give; see `tuninglink compile --help`.
""",
    examples=(
        "tuninglink explain model.mlir --target gfx942 --spec mine.mlir",
        "tuninglink explain model.mlir --target gfx942 --spec mine.mlir -o report.html",
    ),
)


def explain_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink explain` with the arguments after the command's name.

    The command sets process-wide flags, so a process can run it only once.

    Returns:
        The exit code.

    Raises:
        TuninglinkError: the program was not compiled, or the explanation was not written.
    """
    # Read and check the arguments.
    own, project_specs = with_project(arguments)
    reader = read_flags(_FLAGS, own)
    device = device_options(reader.values)
    options = compile_options(reader)
    path = options.input
    if path is None:
        raise UsageError(error("no input; name a program, or - for standard input"))
    check_output(options.output)
    check_targets(options.flags)
    if options.needs_target:
        check_has_target(options.flags, path)
    set_up_compiler(PROGRAM, options.flags, upgrade=options.upgrade)
    report_format = format_for(options.output, options.report_format)
    times: list[MeasuredTimes] = []
    if options.profile is not None:
        times.append(read_profile(options.profile))
    measurement = ProgramMeasurement(path, options, device) if device.device else None
    is_detailed = report_format is ExplanationFormat.HTML
    explanation = _explained(
        path, options, project_specs, measurement, times, is_detailed=is_detailed
    )
    # Colors depend on the stream.
    stream = sys.stdout if options.output == STANDARD_STREAM else None
    write_output(options.output, render(explanation, report_format, stream))
    return process.SUCCESS


def _explained(
    path: str,
    options: CompileOptions,
    project_specs: Sequence[str],
    measurement: ProgramMeasurement | None,
    times: list[MeasuredTimes],
    *,
    is_detailed: bool,
) -> Explanation:
    """Return the explanation of the configured program, with recorded and then measured times."""
    is_whole = measurement is not None and measurement.is_profiled
    with progress(f"explaining {path}") as step:
        choice = specs_of(options, project_specs)
        compilation, explanation = explain_file(
            path,
            measurement.whole if measurement and is_whole else until_configured(options),
            choice,
            report=process.show,
            step=step,
            is_detailed=is_detailed,
        )
        times = [*times, *_recorded_times(options, path)]
        if measurement is None:
            return with_times(explanation, times)
        return measurement.add_times(explanation, compilation.output, choice, step, times)


def _recorded_times(options: CompileOptions, path: str) -> list[MeasuredTimes]:
    if options.database is None:
        return []
    # The runtime need not be installed.
    from tuninglink.cli.database import open_database  # noqa: PLC0415
    from tuninglink.tuning.database.prior_data import recorded_times  # noqa: PLC0415

    with open_database(options.database, read_only=True) as opened:
        return [recorded_times(opened, path, options.flags, options.compile_from)]
