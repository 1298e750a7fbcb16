"""`tuninglink verify`: verification of a program's dispatches against references."""

from __future__ import annotations

import math
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tuninglink.cli import process
from tuninglink.cli.measuring_options import (
    CALL_FLAGS,
    MEASURING_FLAGS,
    PROGRAM_ARGUMENT,
)
from tuninglink.cli.project_options import read_flags, set_up_compiler
from tuninglink.cli.terminal import is_quiet, print_table, progress
from tuninglink.cli.usage import FORMAT_FLAG, ReportFormat, Usage
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
from tuninglink.llvm_flags import JOBS_FLAG, flags_of, option, toggle
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
    CallOptions,
    Correctness,
    DispatchedProgram,
    Failure,
    FailureKind,
    FunctionWeight,
    GivenInput,
    ParameterFile,
    TuningTask,
    read_program,
)
from tuninglink.tuning.references import Reproducers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tuninglink.iree import GivenSizes
    from tuninglink.tuning.references import VerifiedDispatch

    Outputs = Mapping[str, tuple[NDArray[Any], ...]]


PROGRAM: Final = "tuninglink verify"


@dataclass(frozen=True, kw_only=True)
class VerifyOptions:
    """The options of `tuninglink verify`."""

    input: str
    flags: tuple[str, ...]
    specs: tuple[str, ...] = option(
        (),
        COMPILE_FLAGS["spec"],
        name="spec",
        help="Verify the program with this spec. May be repeated, the first wins.",
    )
    upgrade: bool = toggle(COMPILE_FLAGS["no-upgrade"].help, name="no-upgrade", default=True)
    devices: tuple[str, ...] = option(
        (),
        MEASURING_FLAGS["device"],
        name="device",
        help="The device, as in cuda://0. Default: the one that runs what is compiled for.",
    )
    patterns: tuple[str, ...] = option(
        (),
        name="only",
        repeats=True,
        metavar="PATTERN",
        help="Verify dispatches with this in their name or their function's, and not the whole program. May be repeated; "
        "* and ? match.",
    )
    traces: bool = toggle(
        "Run the program once, and compare its dispatches on the values that they get there, instead of alone on random "
        "ones.",
        name="trace",
    )
    sizes: tuple[GivenSizes, ...] = option(
        (),
        DIM_FLAG,
        name="dim",
        help="Verify dynamic dispatches at these sizes: ARGUMENT.DIMENSION=SIZE,... such as 0.0=1,8,64, or sizes alone for "
        "all dynamic dimensions. May be repeated.",
    )
    functions: tuple[FunctionWeight, ...] = option(
        (),
        CALL_FLAGS["function"],
        name="function",
        metavar="NAME",
        help="Call this function of the program. May be repeated. Default: all.",
    )
    inputs: tuple[GivenInput, ...] = option((), CALL_FLAGS["input"], name="input")
    expected: tuple[GivenInput, ...] = option((), CALL_FLAGS["expected"])
    parameters: tuple[ParameterFile, ...] = option((), CALL_FLAGS["parameters"])
    failures: str = option(
        "",
        MEASURING_FLAGS["failures"],
        help="Write the program of each wrong result and failure to DIR, with a script for the stock tools.",
    )
    report_format: ReportFormat = option(ReportFormat.TABLE, FORMAT_FLAG, name="format")
    jobs: int | None = option(None, JOBS_FLAG)
    timeout: float = option(
        60.0,
        MEASURING_FLAGS["timeout"],
        help="When a compilation, a run or a reference counts as hanging. Default: 60s.",
    )
    seed: int = option(0, MEASURING_FLAGS["seed"], help="Fixes the inputs. Default: 0.")
    compile_from: Phase = option(Phase.START, COMPILE_FLAGS["compile-from"])

    @property
    def calls(self) -> CallOptions:
        return CallOptions(self.functions, self.inputs, self.parameters, self.expected)


USAGE: Final[Usage] = Usage(
    name="verify",
    positionals=(PROGRAM_ARGUMENT,),
    flags={"target": TARGET_FLAG, **flags_of(VerifyOptions)},
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
    """Run `tuninglink verify`. The command sets process-wide flags, so a process can run it only once."""
    reader = read_flags(USAGE.flags, arguments)
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
    if options.failures:
        check_directory(options.failures)
    check_devices(options.devices)
    # The given specs, linked, and the dispatches of the program.
    sink = process.shown_diagnostics()
    files = read_specs(options.specs, sink)
    specs = [*SpecFiles(files, upgrade=options.upgrade, diagnostics=sink)]
    spec = link_specs(specs).spec.text() if specs else ""
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
        is_right = _verify_traces(program, spec, uri, options)
    else:
        verification = _verified(program, tasks, spec, uri, options)
        if options.report_format is ReportFormat.JSON:
            write_output(STANDARD_STREAM, to_json(verification))
        else:
            _print_table(verification)
        is_right = verification.is_right
    return process.SUCCESS if is_right else process.FAILURE


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

    def tell(line: str) -> None:
        if not is_quiet():
            print(escaped(line), file=sys.stderr, flush=True)  # noqa: T201 - progress

    def report(verdict: VerifiedDispatch | ProgramVerdict, count: int, total: int) -> None:
        judgement = verdict.judgement
        result = f"{judgement.correctness.value}, {judgement.reason}"
        if isinstance(verdict, ProgramVerdict):
            tell(f"{_WHOLE}: {result}")
            return
        tell(f"{count} of {total}: {verdict.task.label}: {result}")
        if reproducers is None or verdict.is_right:
            return
        # Write the program of a dispatch that fails or gives a wrong result.
        if verdict.failure is None and not spec:
            place = reproducers.keep_wrong(verdict.task, judgement, uri)
        else:
            failure = verdict.failure or Failure(FailureKind.WRONG, judgement.reason)
            specs = [load_spec(spec.encode())] if spec else []
            place = reproducers.keep_dispatch(verdict.task, failure, uri, specs)
        tell(f"  see {place}")

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


def _print_table(verification: Verification) -> None:
    """Print the results of dispatches, then that of the whole program, and their numbers."""
    verified, whole = verification.dispatches, verification.program
    ranked = sorted(verified, key=lambda entry: _ORDER.index(entry.judgement.correctness))
    results = [(entry.task.label, str(entry.task.calls), entry.judgement) for entry in ranked]
    results += [(_WHOLE, "1", whole.judgement)] if whole is not None else []
    print_table(
        ("dispatch", "calls", "result", "finding"),
        [
            (label, calls, judgement.correctness.value, judgement.reason)
            for label, calls, judgement in results
        ],
    )
    counts = Counter(entry.judgement.correctness for entry in verified)
    summary = [f"{counts[kind]} {kind.value}" for kind in _ORDER if counts[kind]]
    if omitted := sum(len(omission.dispatches) for omission in verification.omissions):
        summary.append(f"{omitted} not run alone")
    sys.stdout.write(f"\n{len(verified)} dispatches: {', '.join(summary)}\n")


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


def _verify_traces(program: DispatchedProgram, spec: str, uri: str, options: VerifyOptions) -> bool:
    """Compare the dispatches of a program as it runs, print the report, and return whether all agree."""
    if program.calls is None or not program.tasks:
        raise UsageError(error("only a whole program can be traced"))
    seed, timeout = options.seed, options.timeout
    with ExitStack() as opened, progress("tracing the program") as step:
        compiler = opened.enter_context(CandidateCompiler(options.flags, options.jobs))
        device = opened.enter_context(Devices([uri], Settings(seed=seed), timeout)).first
        backend = program.tasks[0].target.backend
        tracing = opened.enter_context(ProgramTracing(compiler, device, backend, seed, timeout))
        runs = ModelRuns(program, compiler, device, seed)
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
        traced = source.traced(timeout)
        step("running the program with traces")
        functions = tracing.run(traced, spec, program.calls, integers)
    if options.report_format is ReportFormat.JSON:
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
            _print_function(function, _errors(function, plain))
    return not any(
        dispatch.agreement is Agreement.DIFFERS
        for function in functions
        for dispatch in function.dispatches
    )


def _print_function(function: TracedFunction, errors: Mapping[str, float]) -> None:
    title = f"@{escaped(function.call.label)}: relative errors against the reference"
    sys.stdout.write(f"{title}\n")
    print_table(
        ("dispatch", "result", "inputs", "outputs", "tolerance", "largest value"),
        [
            (
                *(f"{number} {dispatch.name}", dispatch.agreement.value),
                *map(_number, (dispatch.input_error, dispatch.output_error)),
                *map(_number, (dispatch.tolerance, dispatch.magnitude)),
            )
            for number, dispatch in enumerate(function.dispatches)
        ],
    )
    for label, value in errors.items():
        sys.stdout.write(f"outputs {escaped(label)}: {_number(value)}\n")
    sys.stdout.write(f"\n{_finding(function, errors)}\n")


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
