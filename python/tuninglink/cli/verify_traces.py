"""`tuninglink verify --trace`: comparison of dispatches on their actual values in a run of the program."""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from tuninglink.cli.terminal import print_table, progress
from tuninglink.cli.usage import ReportFormat
from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error
from tuninglink.plain_data import to_json
from tuninglink.tuning.candidates.compilation import CandidateCompiler
from tuninglink.tuning.deciding.model_run import ModelRunError, ModelRuns
from tuninglink.tuning.deciding.output_judge import relative_error
from tuninglink.tuning.devices import Settings
from tuninglink.tuning.devices.local import Devices
from tuninglink.tuning.references.traced_program import (
    Agreement,
    ProgramTracing,
    TracedFunction,
    TraceSource,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tuninglink.cli.verify_options import VerifyOptions
    from tuninglink.tuning.programs.dispatches import DispatchedProgram

    Outputs = Mapping[str, tuple[NDArray[Any], ...]]

_UNTRACED: Final = "without traces, against the reference"


def verify_traces(program: DispatchedProgram, spec: str, uri: str, options: VerifyOptions) -> bool:
    """Compare the dispatches of a program as it runs, and print the report.

    Returns:
        Whether all dispatches and outputs agree.

    Raises:
        TuninglinkError: the program cannot be run on the device or on the reference target.
    """
    if program.calls is None or not program.tasks:
        raise TuninglinkError(error("only a whole program can be traced"))
    backend = program.tasks[0].target.backend
    settings = Settings(seed=options.seed)
    with ExitStack() as opened, progress("tracing the program") as step:
        compiler = opened.enter_context(CandidateCompiler(options.flags, options.jobs))
        device = opened.enter_context(Devices([uri], settings, options.timeout)).first
        tracing = opened.enter_context(
            ProgramTracing(compiler, device, backend, options.seed, options.timeout)
        )
        runs = ModelRuns(program, compiler, device, options.seed)
        source = TraceSource(
            options.input, options.flags, options.compile_from, options.sizes, options.calls
        )
        # Run the program without traces first: its outputs must not depend on them.
        try:
            plain = runs.outputs(spec)
            integers = runs.finite_integers()
        except ModelRunError as failure:
            raise TuninglinkError(error(str(failure))) from None
        # Run it with traces on both targets, and compare them.
        step("compiling the program with traces")
        traced = source.traced(options.timeout)
        step("running the program with traces")
        functions = tracing.run(traced, spec, program.calls, integers)
    _write_report(functions, plain, options.report_format)
    return not any(
        dispatch.agreement is Agreement.DIFFERS
        for function in functions
        for dispatch in function.dispatches
    )


def _write_report(
    functions: Sequence[TracedFunction], plain: Outputs, report_format: ReportFormat
) -> None:
    if report_format is ReportFormat.JSON:
        reports = [
            {
                "name": function.call.label,
                "dispatches": function.dispatches,
                "outputs": _errors(function, plain),
            }
            for function in functions
        ]
        sys.stdout.write(to_json({"functions": reports}))
    else:
        for function in functions:
            _print(function, plain)


def _print(function: TracedFunction, plain: Outputs) -> None:
    headers = ("dispatch", "result", "inputs", "outputs", "tolerance", "largest value")
    rows = [
        (
            f"{number} {dispatch.name}",
            dispatch.agreement.value,
            *map(_number, (dispatch.input_error, dispatch.output_error)),
            _number(dispatch.tolerance),
            _number(dispatch.magnitude),
        )
        for number, dispatch in enumerate(function.dispatches)
    ]
    print(f"@{function.call.label}: relative errors against the reference")  # noqa: T201 - the output
    print_table(headers, rows)
    errors = _errors(function, plain)
    for label, value in errors.items():
        print(f"outputs {label}: {_number(value)}")  # noqa: T201 - the output
    print(f"\n{_finding(function, errors[_UNTRACED])}")  # noqa: T201 - the output


def _errors(function: TracedFunction, plain: Outputs) -> dict[str, float]:
    """Return the errors of the outputs of a function, by the name of the comparison."""
    untraced, traced, reference = plain[function.call.label], function.outputs, function.expected
    errors = {
        _UNTRACED: relative_error(untraced, reference),
        "with traces, against the reference": relative_error(traced, reference),
        "without traces, against those with": relative_error(untraced, traced),
    }
    expected = function.call.expected
    if expected:
        count = len(expected)
        errors |= {
            "without traces, against --expected": relative_error(untraced[:count], expected),
            "with traces, against --expected": relative_error(traced[:count], expected),
            "of the reference, against --expected": relative_error(reference[:count], expected),
        }
    return errors


def _finding(function: TracedFunction, untraced: float) -> str:
    dispatches = function.dispatches
    differing = [entry for entry in dispatches if entry.agreement is Agreement.DIFFERS]
    if differing:
        most = max(differing, key=lambda entry: entry.output_error)
        errors = f"from {_number(most.input_error)} to {_number(most.output_error)}"
        return f"first dispatch that differs: {differing[0].name}; most: {most.name}, {errors}"
    largest = max((entry.tolerance for entry in dispatches), default=0.0)
    if untraced <= largest:
        return "all dispatches and the outputs agree"
    if all(entry.agreement is Agreement.AGREES for entry in dispatches):
        return (
            "all dispatches agree, and the outputs without traces do not: look at what traces change, "
            "buffers that are used again and dispatches that run at once"
        )
    return "errors grow from dispatch to dispatch; none of them adds much"


def _number(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.2g}"
