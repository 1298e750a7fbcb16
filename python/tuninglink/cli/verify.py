"""`tuninglink verify`: verification of a program's dispatches against references."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.cli import process
from tuninglink.cli.project_options import read_flags, set_up_compiler
from tuninglink.cli.terminal import is_quiet, print_table, progress
from tuninglink.cli.usage import FORMAT_FLAG, PROGRAM_ARGUMENT, ReportFormat, Usage
from tuninglink.compiler import (
    COMPILE_FLAGS,
    DIM_FLAG,
    TARGET_FLAG,
    Phase,
    check_has_target,
    check_targets,
)
from tuninglink.devices import BoardOptions, Devices, Settings, check_devices, default_device
from tuninglink.errors import UsageError, counted, escaped
from tuninglink.files import STANDARD_STREAM, check_directory, write_output
from tuninglink.iree import named_target
from tuninglink.llvm_flags import JOBS_FLAG, flags_of, group, option, options_from, toggle
from tuninglink.mlir import error
from tuninglink.plain_data import to_json
from tuninglink.programs import (
    CallOptions,
    Correctness,
    DispatchedProgram,
    Failure,
    FailureKind,
    FunctionWeight,
    GivenInput,
    ParameterFile,
    read_program,
)
from tuninglink.specs import SpecFiles, link_specs, load_spec, read_specs
from tuninglink.tuning import (
    TraceSource,
    Verification,
    error_text,
    trace_program,
    verify_dispatches,
)
from tuninglink.tuning.candidates import CandidateCompiler
from tuninglink.tuning.deciding import MeasuringOptions, ModelRuns, ProgramVerdict
from tuninglink.tuning.references import Reproducers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.iree import GivenSizes
    from tuninglink.tuning import VerifiedDispatch


PROGRAM: Final = "tuninglink verify"

_CALL_FLAGS: Final = flags_of(CallOptions)
_MEASURING_FLAGS: Final = flags_of(MeasuringOptions)


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
        _MEASURING_FLAGS["device"],
        name="device",
        help="The device, as in cuda://0 or 'run:ssh board'. Default: the one that runs what is compiled for.",
    )
    board: BoardOptions = group(BoardOptions)
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
        _CALL_FLAGS["function"],
        name="function",
        metavar="NAME",
        help="Call this function of the program. May be repeated. Default: all.",
    )
    inputs: tuple[GivenInput, ...] = option((), _CALL_FLAGS["input"], name="input")
    expected: tuple[GivenInput, ...] = option((), _CALL_FLAGS["expected"])
    parameters: tuple[ParameterFile, ...] = option((), _CALL_FLAGS["parameters"])
    failures: str = option(
        "",
        _MEASURING_FLAGS["failures"],
        help="Write the program of each wrong result and failure to DIR, with a script for the stock tools.",
    )
    report_format: ReportFormat = option(ReportFormat.TABLE, FORMAT_FLAG, name="format")
    jobs: int | None = option(None, JOBS_FLAG)
    timeout: float = option(
        60.0,
        _MEASURING_FLAGS["timeout"],
        help="When a compilation, a run or a reference counts as hanging. Default: 60s.",
    )
    seed: int = option(0, _MEASURING_FLAGS["seed"], help="Fixes the inputs. Default: 0.")
    compile_from: Phase = option(Phase.START, COMPILE_FLAGS["compile-from"])

    @property
    def device(self) -> str:
        """The URI of the device; empty for the default."""
        return next(iter(self.board.uris(self.devices)), "")

    @property
    def source(self) -> TraceSource:
        calls = CallOptions(self.functions, self.inputs, self.parameters, self.expected)
        return TraceSource(self.input, self.flags, self.compile_from, self.sizes, calls)


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
    reader = read_flags(USAGE.flags, arguments)
    if reader.input is None:
        raise UsageError(error("no input; name a program, or - for standard input"))
    if reader.values.get("traces") and reader.input == STANDARD_STREAM:
        raise UsageError(
            error("--trace compiles the program twice; standard input can be read once only")
        )
    options = options_from(VerifyOptions, reader.values, input=reader.input, flags=reader.flags)
    check_targets(options.flags)
    if options.compile_from < Phase.EXECUTABLE_SOURCES:
        check_has_target(options.flags, options.input)
    set_up_compiler(PROGRAM, options.flags, upgrade=options.upgrade)
    if options.failures:
        check_directory(options.failures)
    check_devices([options.device] if options.device else (), options.flags)
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
            options=options.source.options,
            specs=specs,
            machine=named_target(reader.target),
        )
    source = options.source.with_specs(specs)
    tasks = program.matching_tasks(options.patterns)
    uri = options.device or default_device(tasks[0].target.backend)
    if options.traces:
        is_right = _verify_traces(program, spec, uri, source, options)
    else:
        verification = _verified(program, spec, uri, source, options)
        if options.report_format is ReportFormat.JSON:
            write_output(STANDARD_STREAM, to_json(verification))
        else:
            _print_table(verification)
        is_right = verification.is_right
    return process.SUCCESS if is_right else process.FAILURE


def _verified(
    program: DispatchedProgram,
    spec: str,
    uri: str,
    source: TraceSource,
    options: VerifyOptions,
) -> Verification:
    """Verify dispatches and the whole program, and write a line for each result as it arrives."""
    folder = options.failures
    reproducers = Reproducers(folder, options.flags, uri, options.seed) if folder else None

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
            place = reproducers.keep_wrong(verdict.task, judgement)
        else:
            failure = verdict.failure or Failure(FailureKind.WRONG, judgement.reason)
            specs = [load_spec(spec.encode())] if spec else []
            place = reproducers.keep_dispatch(verdict.task, failure, specs)
        tell(f"  see {place}")

    with CandidateCompiler(options.flags, options.jobs) as compiler:
        return verify_dispatches(
            program,
            program.matching_tasks(options.patterns),
            spec,
            compiler,
            uri,
            source=None if options.input == STANDARD_STREAM else source,
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
    rows = [(*first, result.correctness.value, result.reason) for *first, result in results]
    print_table(("dispatch", "calls", "result", "finding"), rows)
    counts = Counter(entry.judgement.correctness for entry in verified)
    summary = [f"{counts[kind]} {kind.value}" for kind in _ORDER if counts[kind]]
    if omitted := sum(len(omission.dispatches) for omission in verification.omissions):
        summary.append(f"{omitted} not run alone")
    number = counted(len(verified), "dispatch", "dispatches")
    sys.stdout.write(f"\n{number}: {', '.join(summary)}\n")


_WHOLE: Final = "the whole program"

_ORDER = (
    Correctness.WRONG,
    Correctness.FAILED,
    Correctness.UNDECIDED,
    Correctness.UNCHECKED,
    Correctness.RIGHT,
)
"""The order of the report: results that need attention come first."""


def _verify_traces(
    program: DispatchedProgram, spec: str, uri: str, source: TraceSource, options: VerifyOptions
) -> bool:
    """Compare the dispatches of a program as it runs, print the report, and return whether all agree."""
    if program.calls is None or not program.tasks:
        raise UsageError(error("only a whole program can be traced"))
    seed, timeout = options.seed, options.timeout
    with (
        progress("tracing the program") as step,
        CandidateCompiler(options.flags, options.jobs) as compiler,
        Devices([uri], Settings(seed=seed), timeout) as devices,
    ):
        runs = ModelRuns(program, compiler, devices.first, seed)
        functions = trace_program(runs, source, spec, timeout, step)
    if options.report_format is ReportFormat.JSON:
        reports = [
            {"name": each.call.label, "dispatches": each.dispatches, "outputs": each.errors}
            | ({"not_compared": each.uncompared} if each.uncompared else {})
            for each in functions
        ]
        write_output(STANDARD_STREAM, to_json({"functions": reports}))
    else:
        for function in functions:
            title = f"@{escaped(function.call.label)}: relative errors against the reference"
            sys.stdout.write(f"{title}\n")
            print_table(
                ("dispatch", "result", "inputs", "outputs", "tolerance", "largest value"),
                [
                    (
                        *(f"{number} {dispatch.name}", dispatch.agreement.value),
                        *map(error_text, (dispatch.input_error, dispatch.output_error)),
                        *map(error_text, (dispatch.tolerance, dispatch.magnitude)),
                    )
                    for number, dispatch in enumerate(function.dispatches)
                ],
            )
            if count := function.uncompared:
                total = counted(count + len(function.dispatches), "dispatch", "dispatches")
                why = "data tiling changes their operands"
                sys.stdout.write(f"not compared: {count} of {total}: {why}\n")
            for label, value in function.errors.items():
                sys.stdout.write(f"outputs {escaped(label)}: {error_text(value)}\n")
            sys.stdout.write(f"\n{function.finding}\n")
    return all(function.agrees for function in functions)
