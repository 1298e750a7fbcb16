"""`tuninglink verify`: verification of a program's dispatches against references."""

from __future__ import annotations

import math
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tuninglink.cli import process
from tuninglink.cli.measuring_options import (
    CALL_FLAGS,
    MEASURING_FLAGS,
    PROGRAM_ARGUMENT,
    VerifyOptions,
)
from tuninglink.cli.project_options import read_flags, set_up_compiler
from tuninglink.cli.terminal import is_quiet, print_table, progress
from tuninglink.cli.usage import FORMAT_FLAG, JOBS_FLAG, ReportFormat, Usage, known_dispatches
from tuninglink.compiler import (
    COMPILE_FLAGS,
    DIM_FLAG,
    TARGET_FLAG,
    Phase,
    check_has_target,
    check_targets,
)
from tuninglink.errors import TuninglinkError, UsageError, escaped
from tuninglink.files import STANDARD_STREAM, check_directory, write_output
from tuninglink.llvm_flags import Flag, switch
from tuninglink.mlir import error
from tuninglink.plain_data import to_json
from tuninglink.specs import SpecFiles, link_specs, load_spec, read_specs
from tuninglink.tuning import (
    Agreement,
    ProgramTracing,
    TracedFunction,
    TraceSource,
    Verification,
    verify_dispatches,
)
from tuninglink.tuning.candidates import CandidateCompiler
from tuninglink.tuning.deciding import ModelRunError, ModelRuns, ProgramVerdict, relative_error
from tuninglink.tuning.devices import Devices, Settings, check_devices, default_device
from tuninglink.tuning.programs import (
    Correctness,
    DispatchedProgram,
    Failure,
    FailureKind,
    TuningTask,
    read_program,
)
from tuninglink.tuning.references import Reproducers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tuninglink.tuning.references import VerifiedDispatch

    Outputs = Mapping[str, tuple[NDArray[Any], ...]]


PROGRAM: Final = "tuninglink verify"

_FLAGS: Final = {
    "target": TARGET_FLAG,
    "spec": replace(
        COMPILE_FLAGS["spec"],
        help="Verify the program with this spec. May be repeated, the first wins.",
    ),
    "no-upgrade": COMPILE_FLAGS["no-upgrade"],
    "device": replace(
        MEASURING_FLAGS["device"],
        help="The device, as in cuda://0. Default: the one that runs what is compiled for.",
    ),
    "only": Flag(
        "patterns",
        repeats=True,
        metavar="PATTERN",
        values=known_dispatches,
        help="Verify dispatches with this in their name or their function's, and not the whole program. May be repeated; "
        "* and ? match.",
    ),
    "trace": switch(
        "traces",
        "Run the program once, and compare its dispatches on the values that they get there, instead of alone on "
        "random ones.",
    ),
    "dim": replace(
        DIM_FLAG,
        help="Verify dynamic dispatches at these sizes: ARGUMENT.DIMENSION=SIZE,... such as 0.0=1,8,64, or sizes alone for "
        "all dynamic dimensions. May be repeated.",
    ),
    **CALL_FLAGS,
    "function": replace(
        CALL_FLAGS["function"],
        metavar="NAME",
        help="Call this function of the program. May be repeated. Default: all.",
    ),
    "failures": replace(
        MEASURING_FLAGS["failures"],
        help="Write the program of each wrong result and failure to DIR, with a script for the stock tools.",
    ),
    "format": FORMAT_FLAG,
    "jobs": JOBS_FLAG,
    "timeout": replace(
        MEASURING_FLAGS["timeout"],
        help="When a compilation, a run or a reference counts as hanging. Default: 60s.",
    ),
    "seed": replace(MEASURING_FLAGS["seed"], help="Fixes the inputs. Default: 0."),
    "compile-from": COMPILE_FLAGS["compile-from"],
}

USAGE: Final[Usage] = Usage(
    name="verify",
    positionals=(PROGRAM_ARGUMENT,),
    flags=_FLAGS,
    main_flags=("target", "spec", "device"),
    takes_compiler_flags=True,
    description="""
The program runs dispatch by dispatch, compiled with the flags that you give. Nothing is tuned. The reference of a
dispatch is the same dispatch compiled for the CPU of this machine, and some elements computed with NumPy; that of the
whole program, the last row, is the same program on the CPU, or what --expected names. Run it after a compiler upgrade,
or with a spec before you ship it.

A result is right, wrong, not decided (the reference differs, and nothing else supports it), or not checked; or the
dispatch fails: it does not compile, or crashes. The exit code is 1 if a result is wrong or a dispatch fails.
""",
    examples=(
        "tuninglink verify model.mlir --target sm_80 --failures wrong",
        "tuninglink verify model.mlir --target gfx942 --spec tuned.mlir",
        "tuninglink verify model.mlir --target vulkan --trace --input @x.npy --expected @y.npy",
    ),
)


def verify_command(arguments: Sequence[str]) -> int:
    """Run `tuninglink verify` with the arguments after the command's name.

    The command sets process-wide flags, so a process can run it only once.
    """
    # Parse the arguments after the command's name.
    reader = read_flags(_FLAGS, arguments)
    if reader.input is None:
        raise UsageError(error("no input; name a program, or - for standard input"))
    if reader.values.get("traces") and reader.input == STANDARD_STREAM:
        raise UsageError(
            error("--trace compiles the program twice; standard input can be read once only")
        )
    options = VerifyOptions(input=reader.input, flags=reader.flags, **reader.values)
    check_targets(options.flags)
    if options.compile_from < Phase.EXECUTABLE_SOURCES:
        check_has_target(options.flags, options.input)
    set_up_compiler(PROGRAM, options.flags, upgrade=options.upgrade)

    return process.SUCCESS if verify(options) else process.FAILURE


# --- The work of `tuninglink verify` after its arguments are parsed ------------------------------


def verify(options: VerifyOptions) -> bool:
    """Verify a program and print the report."""
    if options.failures:
        check_directory(options.failures)
    check_devices(options.devices)
    spec = _spec(options)
    with progress(f"compiling {options.input}"):
        program = read_program(
            options.input,
            options.flags,
            first=options.compile_from,
            sizes=options.sizes,
            options=options.calls,
        )
    tasks = program.matching_tasks(options.patterns)
    uri = options.devices[0] if options.devices else default_device(tasks[0].target.backend)
    if options.traces:
        return verify_traces(program, spec, uri, options)
    verification = _verified(program, tasks, spec, uri, options)
    if options.report_format is ReportFormat.JSON:
        write_output(STANDARD_STREAM, to_json(verification))
    else:
        verified, whole = verification.dispatches, verification.program
        rows = [
            (
                entry.task.label,
                str(entry.task.calls),
                entry.judgement.correctness.value,
                entry.judgement.reason,
            )
            for entry in sorted(
                verified, key=lambda entry: _ORDER.index(entry.judgement.correctness)
            )
        ]
        if whole is not None:
            judgement = whole.judgement
            rows.append((_WHOLE, "1", judgement.correctness.value, judgement.reason))
        print_table(("dispatch", "calls", "result", "finding"), rows)
        counts = Counter(entry.judgement.correctness for entry in verified)
        summary = [f"{counts[kind]} {kind.value}" for kind in _ORDER if counts[kind]]
        if omitted := sum(len(omission.dispatches) for omission in verification.omissions):
            summary.append(f"{omitted} not run alone")
        print(f"\n{len(verified)} dispatches: {', '.join(summary)}")  # noqa: T201 - the output
    return verification.is_right


def _spec(options: VerifyOptions) -> str:
    """Return the given specs, linked, as text; empty without specs."""
    sink = process.shown_diagnostics()
    files = read_specs(options.specs, sink)
    specs = [*SpecFiles(files, upgrade=options.upgrade, diagnostics=sink)]
    return link_specs(specs).spec.text() if specs else ""


def _verified(
    program: DispatchedProgram,
    tasks: Sequence[TuningTask],
    spec: str,
    uri: str,
    options: VerifyOptions,
) -> Verification:
    """Verify dispatches and the whole program, and write a line for each result as it arrives."""
    reproducers = (
        Reproducers(options.failures, options.flags, options.seed) if options.failures else None
    )

    def report(verdict: VerifiedDispatch | ProgramVerdict, count: int, total: int) -> None:
        if isinstance(verdict, ProgramVerdict):
            _tell(f"{_WHOLE}: {verdict.judgement.correctness.value}, {verdict.judgement.reason}")
            return
        _tell(f"{count} of {total}: {_words(verdict)}")
        if reproducers and not verdict.is_right:
            _tell(f"  see {_reproducer(reproducers, verdict, spec, uri)}")

    with CandidateCompiler(options.flags, options.jobs) as compiler:
        return verify_dispatches(
            program,
            tasks,
            spec,
            compiler,
            uri,
            runs_program=not options.patterns,
            seed=options.seed,
            timeout=options.timeout,
            report=report,
        )


def _reproducer(
    reproducers: Reproducers, entry: VerifiedDispatch, spec: str, uri: str
) -> Path | None:
    """Write the program of a dispatch that fails or gives a wrong result."""
    if entry.failure is None and not spec:
        return reproducers.keep_wrong(entry.task, entry.judgement, uri)
    failure = entry.failure or Failure(FailureKind.WRONG, entry.judgement.reason)
    specs = [load_spec(spec.encode())] if spec else []
    return reproducers.keep_dispatch(entry.task, failure, uri, specs)


def _tell(line: str) -> None:
    if not is_quiet():
        print(escaped(line), file=sys.stderr, flush=True)  # noqa: T201 - progress


def _words(entry: VerifiedDispatch) -> str:
    return f"{entry.task.label}: {entry.judgement.correctness.value}, {entry.judgement.reason}"


_WHOLE: Final = "the whole program"


_ORDER = (
    Correctness.WRONG,
    Correctness.FAILED,
    Correctness.UNDECIDED,
    Correctness.UNCHECKED,
    Correctness.RIGHT,
)
"""The order of the report: results that need attention come first."""


_UNTRACED: Final = "without traces, against the reference"
_REFERENCE: Final = "of the reference, against --expected"


def verify_traces(program: DispatchedProgram, spec: str, uri: str, options: VerifyOptions) -> bool:
    """Compare the dispatches of a program as it runs, and print the report."""
    if program.calls is None or not program.tasks:
        raise UsageError(error("only a whole program can be traced"))
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
        write_output(STANDARD_STREAM, to_json({"functions": reports}))
    else:
        for function in functions:
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
            print(f"@{escaped(function.call.label)}: relative errors against the reference")  # noqa: T201 - the output
            print_table(headers, rows)
            errors = _errors(function, plain)
            for label, value in errors.items():
                print(f"outputs {escaped(label)}: {_number(value)}")  # noqa: T201 - the output
            print(f"\n{_finding(function, errors)}")  # noqa: T201 - the output


def _errors(function: TracedFunction, plain: Outputs) -> dict[str, float]:
    """Return the errors in the outputs of a function, by the name of the comparison."""
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
            _REFERENCE: relative_error(reference[:count], expected),
        }
    return errors


def _finding(function: TracedFunction, errors: Mapping[str, float]) -> str:
    dispatches = function.dispatches
    differing = [entry for entry in dispatches if entry.agreement is Agreement.DIFFERS]
    if differing:
        most = max(differing, key=lambda entry: entry.output_error)
        growth = f"from {_number(most.input_error)} to {_number(most.output_error)}"
        return f"first dispatch that differs: {differing[0].name}; most: {most.name}, {growth}"
    largest = max((entry.tolerance for entry in dispatches), default=0.0)
    if errors[_UNTRACED] <= largest:
        if errors.get(_REFERENCE, 0.0) <= largest:
            return "all dispatches and the outputs agree"
        return (
            "all dispatches and the outputs agree with the reference, which is made of the same program, and differ "
            "from --expected: the import or a pass before dispatches are formed is wrong, or --expected is of other "
            "inputs or weights, or the program amplifies rounding"
        )
    if all(entry.agreement is Agreement.AGREES for entry in dispatches):
        return (
            "all dispatches agree, and the outputs without traces do not: look at what traces change, "
            "buffers that are used again and dispatches that run at once"
        )
    return "errors grow from dispatch to dispatch; none of them adds much"


def _number(value: float) -> str:
    return "infinite" if math.isinf(value) else f"{value:.2g}"
