"""Verification of a program's dispatches, and of the whole program, against references, and where they diverge."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from tuninglink.arguments import Content, several
from tuninglink.compiler import Phase, SavedProgram, compiler_run, program_path, read_options
from tuninglink.devices import (
    Device,
    Devices,
    DispatchTrace,
    MeasurementError,
    Measurer,
    Request,
    Settings,
    TracedTensor,
    default_device,
)
from tuninglink.errors import CompileError, TuninglinkError
from tuninglink.files import temporary_directory
from tuninglink.iree import GivenSizes, Target
from tuninglink.mlir import DiagnosticSink, error
from tuninglink.plain_data import FLAT, HIDDEN, named, written
from tuninglink.programs import (
    ALL_CALLS,
    CallOptions,
    CompiledProgram,
    Correctness,
    DispatchedProgram,
    Failure,
    FunctionCall,
    Omission,
    OutputVerdict,
    TuningTask,
    form_replaced,
    read_program,
    reason_of,
)
from tuninglink.specs import Spec, SpecSource, link_specs, load_spec, load_specs
from tuninglink.tuning.candidates import CandidateCompiler, Compiled, prepare_worker
from tuninglink.tuning.deciding import (
    ModelRunError,
    ModelRuns,
    OutputJudge,
    ProgramVerdict,
    judge_program,
    overflows,
    relative_error,
    tolerance_of,
)
from tuninglink.tuning.references import (
    SUM_REMEDY,
    ProgramReference,
    References,
    compile_reference,
    narrow_sums,
    program_reference_target,
    reference_measurer,
    set_up_process,
    sums_of,
)
from tuninglink.workers import JobError, JobTimeoutError, Pool, WorkerCrashedError


@dataclass(frozen=True)
class VerifiedDispatch:
    """A verified dispatch.

    Attributes:
        failure: the reason for a missing result; None if it has one.
    """

    task: TuningTask = field(metadata=HIDDEN)
    judgement: OutputVerdict = field(metadata=FLAT)
    failure: Failure | None = field(default=None, metadata=HIDDEN)

    @property
    @written()
    def names(self) -> tuple[str, ...]:
        return self.task.dispatches

    @property
    @written()
    def label(self) -> str:
        """The name of the function of the first one."""
        return self.task.label

    @property
    @written()
    def calls(self) -> int:
        return self.task.calls

    @property
    @written()
    def target(self) -> str:
        return self.task.target.name

    @property
    def is_right(self) -> bool:
        """Whether the dispatch runs and its result is not shown to be wrong."""
        return self.judgement.correctness not in (Correctness.WRONG, Correctness.FAILED)


@dataclass(frozen=True)
class Verification:
    """The verdicts on a program.

    Attributes:
        dispatches: the verdict on each of its distinct dispatches.
        omissions: the dispatches that cannot run alone.
        program: the verdict on the whole program; None if it was not run.
    """

    dispatches: tuple[VerifiedDispatch, ...]
    omissions: tuple[Omission, ...]
    program: ProgramVerdict | None

    @property
    def is_right(self) -> bool:
        """Whether all dispatches run, and no result is shown to be wrong."""
        are_right = all(entry.is_right for entry in self.dispatches)
        return are_right and (self.program is None or self.program.is_right)


def verify(
    program: str | os.PathLike[str] | Content,
    *,
    target: str | Target | None = None,
    flags: str | Iterable[str] = (),
    specs: SpecSource | Iterable[SpecSource] = (),
    device: str = "",
    dispatches: str | Iterable[str] = (),
    sizes: str | Iterable[str] = (),
    calls: CallOptions = ALL_CALLS,
    jobs: int | None = None,
    timeout: float = 60.0,
    seed: int = 0,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
) -> Verification:
    """Verify that a program computes correct results, dispatch by dispatch and as a whole, as `tuninglink verify` does.

    Args:
        program: the path of a program, or its content; text or bytecode.
        target: what to compile for: `host`, an SKU, an architecture or a family.
        flags: flags of `iree-compile`, as words or as one line.
        specs: specs to apply, in order of precedence: loaded ones, sources as on the command line, or contents.
        device: the device, such as `cuda://0`; by default the one that runs what is compiled for.
        dispatches: parts of names of dispatches or of their functions; with any, the whole program is not run.
        sizes: the sizes of dynamic dimensions, in the syntax of `--dim`: `0.0=1,8,64`.
        calls: the functions of the program to call, their inputs and expected results.
        jobs: the number of parallel compilations; None for one per core.
        timeout: the time limit of a compilation, a run or a reference, in seconds.
        seed: the seed of the inputs.
        upgrade: whether specs for an older compiler are upgraded; otherwise they are rejected.
        diagnostics: receives warnings about specs.

    Raises:
        CompileError: the program does not compile.
        SpecError: a spec is malformed, or cannot be linked.
        TuninglinkError: no dispatch can run alone, or the device does not run the program.
        TypeError: an argument has another type.
        ValueError: a text gives no sizes.
    """
    compiling = read_options(flags, target)
    words = compiling.flags
    loaded, _ = load_specs(specs, upgrade=upgrade, diagnostics=diagnostics)
    spec = link_specs(loaded).spec.text() if loaded else ""
    given = [*map(GivenSizes.parse, several(sizes, "sizes"))]
    with program_path(program) as path:
        dispatched = read_program(
            path, words, sizes=given, options=calls, specs=loaded, machine=compiling.machine
        )
        patterns = several(dispatches, "dispatches")
        tasks = dispatched.matching_tasks(patterns, "'dispatches'")
        source = TraceSource(path, tuple(words), Phase.START, tuple(given), calls)
        source = source.with_specs(loaded)
        with CandidateCompiler(words, jobs) as compiler:
            return verify_dispatches(
                dispatched,
                tasks,
                spec,
                compiler,
                device,
                source=source,
                runs_program=not patterns,
                seed=seed,
                timeout=timeout,
            )


def verify_dispatches(
    program: DispatchedProgram,
    tasks: Sequence[TuningTask],
    spec: str,
    compiler: CandidateCompiler,
    device_uri: str = "",
    *,
    source: TraceSource | None = None,
    runs_program: bool,
    seed: int,
    timeout: float,
    report: Callable[[VerifiedDispatch | ProgramVerdict, int, int], None] = lambda *_: None,
) -> Verification:
    """Verify dispatches of a program, and the program as a whole.

    The spec is a text, empty for none; an empty URI is that of the device which runs the program. Infinities and NaNs are
    traced to a dispatch if the program can be read again from its source. `report` receives each verdict, its number and
    the number of dispatches.

    Raises:
        TuninglinkError: the device does not run the program.
    """
    backend = tasks[0].target.backend
    uri = device_uri or default_device(backend)
    with ExitStack() as opened:
        device = opened.enter_context(Devices([uri], Settings(seed=seed), timeout)).first
        references = opened.enter_context(References(seed, timeout))
        runnable = [task for task in tasks if not device.description.unsupported(task.target)]
        if not runnable:
            message = (
                f"device '{uri}' does not run code for '{backend}'; name another with --device"
            )
            raise TuninglinkError(error(message))
        # Verify dispatch by dispatch; the references of the next ones are computed ahead.
        verified = []
        jobs = [compiler.submit_program(task.source, spec, timeout) for task in runnable]
        for position, (task, job) in enumerate(zip(runnable, jobs, strict=True)):
            if not device.description.is_local:
                for later in runnable[position : position + _AHEAD]:
                    references.begin(later)
            entry = _verified(task, job.result(), device, references)
            verified.append(entry)
            report(entry, position + 1, len(runnable))
            references.release(task)
        # Verify the program as a whole.
        whole = None
        if program.calls is not None and runs_program:
            reference = ProgramReference(
                program.original, runnable[0].target.backend, seed, timeout
            )
            judge = OutputJudge(program.tasks, opened.enter_context(reference))
            runs = ModelRuns(program, compiler, device, seed, judge=judge)
            whole = judge_program(runs, spec)
            if program.original is not program.saved:
                plain = replace(program, saved=program.original)
                alone = ModelRuns(plain, compiler, device, seed, judge=judge)
                whole = _judged(whole, runs, alone, spec)
            if whole.has_overflow and source is not None:
                # Trace them to the first dispatch that makes them.
                name, reason = whole.source if whole.is_right else "", ""
                try:
                    traced = _with_traces(source, timeout)
                    for _, _, _, traces in _traced_calls(runs, traced, spec, timeout):
                        if reason := overflow_finding(traces, program.tasks, name):
                            break
                except TuninglinkError as failure:
                    reason = f"no dispatch is named: {reason_of(failure)}"
                reason = f"{whole.judgement.reason}; {reason or 'none with traces'}"
                whole = replace(whole, judgement=replace(whole.judgement, reason=reason))
            report(whole, len(runnable), len(runnable))
    return Verification(tuple(verified), program.omissions, whole)


def _judged(whole: ProgramVerdict, runs: ModelRuns, alone: ModelRuns, spec: str) -> ProgramVerdict:
    """Return the verdict on a program whose ops were replaced, also given that on the program as it is."""
    wrong, without = "", "without the replace entries"
    if whole.judgement.correctness is Correctness.UNDECIDED:
        # If the program is right as it is, the entries that replace ops compute something else.
        if judge_program(alone, spec).judgement.correctness is Correctness.RIGHT:
            wrong = f"{whole.judgement.reason}; right {without}"
    elif whole.judgement.correctness is Correctness.UNCHECKED:
        # Without a reference, the program as it is takes its place, given the same inputs.
        with suppress(ModelRunError):
            own, expected = runs.outputs(spec), alone.outputs(spec)
            off = max(relative_error(own[name], expected[name]) for name in expected)
            is_off = off > alone.judge.tolerance((), expected)
            if is_off and runs.finite_integers() == alone.finite_integers():
                wrong = f"relative error {off:.2g} against the program {without}"
    return replace(whole, judgement=OutputVerdict(Correctness.WRONG, wrong)) if wrong else whole


_AHEAD: Final = 2
"""The number of dispatches whose references are computed ahead."""


def _verified(
    task: TuningTask, compiled: Compiled | Failure, device: Device, references: References
) -> VerifiedDispatch:
    what, result = "does not compile", compiled
    if not isinstance(compiled, Failure):
        outputs = device.outputs(task.benchmark(compiled.image))
        if not isinstance(outputs, Failure):
            return VerifiedDispatch(task, references.judge(task, outputs))
        what, result = "does not run", outputs
    assert isinstance(result, Failure)
    correctness = Correctness.UNCHECKED if result.is_external else Correctness.FAILED
    verdict = OutputVerdict(correctness, f"it {what}: {result.message}")
    return VerifiedDispatch(task, verdict, result)


# --- Where a program diverges from its reference, in one run of it on its actual inputs -----------------
#
# The compiler traces the tensors around each dispatch. The program runs on the device and, retargeted, on the reference
# target. The device diverges from the reference where the error of the outputs is much larger than that of the inputs.

_TRACE: Final = "--iree-flow-trace-dispatch-tensors"
_GROWTH: Final = 8.0
"""The maximum ratio of the error of the outputs to that of the inputs."""

_FAILED_JOB: Final = (JobError, JobTimeoutError, WorkerCrashedError)


class Agreement(Enum):
    """The outcome of the comparison of a dispatch's values; the value is its name in reports."""

    AGREES = "agrees"
    DIFFERS = "differs"
    INHERITED = "inputs differ"


@dataclass(frozen=True)
class TracedDispatch:
    """One execution of a dispatch on a device and on the reference target.

    Attributes:
        input_error: the largest relative error of its inputs.
        output_error: the largest relative error of its outputs.
        tolerance: the largest error that rounding explains.
        magnitude: the largest finite magnitude among the expected outputs.
    """

    name: str
    input_error: float
    output_error: float
    tolerance: float
    magnitude: float = field(metadata=named("largest_value"))

    @property
    @written("result")
    def agreement(self) -> Agreement:
        """The outcome of the comparison of its values."""
        if self.output_error <= self.tolerance:
            return Agreement.AGREES
        grows = self.output_error > _GROWTH * self.input_error
        return Agreement.DIFFERS if grows else Agreement.INHERITED


_UNTRACED: Final = "without traces, against the reference"
_REFERENCE: Final = "of the reference, against --expected"


@dataclass(frozen=True)
class TracedFunction:
    """A call of a function, traced on a device and on the reference target, whose results are the expected ones.

    Attributes:
        dispatches: its dispatches in the order in which they run.
        untraced: its results on the device without traces.
        uncompared: the number of further dispatches of the reference, whose operands data tiling changes on the device.
        overflow: the dispatch that infinities and NaNs among the results come from; empty without any.
        narrow_sums: see `narrow_sums`.
    """

    call: FunctionCall
    dispatches: tuple[TracedDispatch, ...]
    outputs: tuple[NDArray[Any], ...]
    expected: tuple[NDArray[Any], ...]
    untraced: tuple[NDArray[Any], ...]
    uncompared: int = 0
    overflow: str = ""
    narrow_sums: str = ""

    @property
    def agrees(self) -> bool:
        """Whether no dispatch differs from the reference."""
        return all(each.agreement is not Agreement.DIFFERS for each in self.dispatches)

    @cached_property
    def errors(self) -> dict[str, float]:
        """The errors in the outputs, by the name of the comparison."""
        results = {"without traces": self.untraced, "with traces": self.outputs}
        errors = {
            f"{name}, against the reference": relative_error(values, self.expected)
            for name, values in results.items()
        }
        errors["without traces, against those with"] = relative_error(self.untraced, self.outputs)
        if expected := self.call.expected:
            count = len(expected)
            for name, values in (results | {"of the reference": self.expected}).items():
                errors[f"{name}, against --expected"] = relative_error(values[:count], expected)
        return errors

    @property
    def finding(self) -> str:
        """Where the function begins to differ from the reference, or what agrees, in words."""
        if self.overflow:
            return self.overflow
        differing = [each for each in self.dispatches if each.agreement is Agreement.DIFFERS]
        if differing:
            most = max(differing, key=lambda each: each.output_error)
            growth = f"from {error_text(most.input_error)} to {error_text(most.output_error)}"
            return f"first dispatch that differs: {differing[0].name}; most: {most.name}, {growth}"
        tolerance = tolerance_of(values.dtype for values in self.expected)
        largest = max((one.tolerance for one in self.dispatches), default=tolerance)
        all_ = "all compared" if self.uncompared else "all"
        if self.errors[_UNTRACED] <= largest:
            if self.errors.get(_REFERENCE, 0.0) <= largest:
                return f"{all_} dispatches and the outputs agree"
            reason = self.narrow_sums or (
                "the import or a pass before dispatches are formed is wrong, or --expected is of other inputs or "
                "weights, or the program amplifies rounding"
            )
            return (
                f"{all_} dispatches and the outputs agree with the reference, which is made of the same program, and differ "
                f"from --expected: {reason}"
            )
        if all(each.agreement is Agreement.AGREES for each in self.dispatches):
            return (
                f"{all_} dispatches agree, and the outputs without traces do not: look at what traces change, "
                "buffers that are used again and dispatches that run at once"
            )
        return "errors grow from dispatch to dispatch; none of them adds much"


def error_text(value: float) -> str:
    """Return a relative error for people."""
    return "infinite" if math.isinf(value) else f"{value:.2g}"


@dataclass(frozen=True)
class TraceSource:
    """A program given by the user, to be compiled with traces.

    Its arguments are those of `read_program`, with the texts of the specs that replace ops.
    """

    path: str
    flags: tuple[str, ...]
    first: Phase
    sizes: tuple[GivenSizes, ...]
    options: CallOptions
    specs: tuple[str, ...] = ()

    def with_specs(self, specs: Sequence[Spec]) -> TraceSource:
        """Return the program with the replace entries of specs."""
        return replace(self, specs=tuple(spec.text() for spec in specs if spec.replacing))


def trace_program(
    runs: ModelRuns, source: TraceSource, spec: str, seconds: float, step: Callable[[str], None]
) -> list[TracedFunction]:
    """Run each function of a whole program once with traces, on a device and on the reference target.

    The seconds limit a compilation or a run. `step` receives what is done next.

    Raises:
        TuninglinkError: it does not compile or run.
    """
    program = runs.program
    assert program.calls is not None
    # Run the program without traces first: its outputs must not depend on them.
    try:
        plain, integers = runs.outputs(spec), runs.finite_integers()
    except ModelRunError as failure:
        raise TuninglinkError(error(str(failure))) from None
    # Compile it with traces for both targets, and run it on both.
    step("compiling the program with traces")
    traced = original = _with_traces(source, seconds)
    flags = tuple(flag for flag in source.flags if "-data-tiling" not in flag)
    if is_tiled := flags != source.flags:  # their code for another processor may be wrong
        original = _with_traces(replace(source, flags=flags), seconds)
    step("running the program with traces")
    target = program_reference_target(program.tasks[0].target.backend)
    functions = []
    with Pool(1, set_up_process) as references:
        job = references.submit(compile_reference, original, target, seconds=seconds)
        for call, directory, outputs, traces in _traced_calls(runs, traced, spec, seconds):
            image = _answer(job, f"the reference for {target.name}").image
            (place := directory / "reference").mkdir()
            retargeted = program.calls.compiled(call, image, integers)
            arguments = (retargeted, target.device, runs.seed, str(place))
            expected, expected_traces = _answer(
                references.submit(trace_reference, *arguments, seconds=seconds),
                "the reference with traces",
            )
            # Compare the tensors of each dispatch, of data-tiled ones those in the same layout.
            waiting = defaultdict[str, list[DispatchTrace]](list)
            for trace in expected_traces:
                waiting[trace.name].append(trace)
            counts = Counter(trace.name for trace in traces)
            same = {name for name, own in waiting.items() if len(own) == counts[name]}
            pairs = [(own, waiting[own.name].pop(0)) for own in traces if own.name in same]
            if not (is_tiled or len(pairs) == len(traces) == len(expected_traces)):
                raise TuninglinkError(error("the device and the reference run other dispatches"))
            dispatches = [
                TracedDispatch(
                    mine.name,
                    _error(mine.inputs, theirs.inputs),
                    _error(mine.outputs, theirs.outputs),
                    tolerance_of(tensor.dtype for tensor in (*theirs.inputs, *theirs.outputs)),
                    max(map(_magnitude, theirs.outputs), default=0.0),
                )
                for mine, theirs in pairs
                if [own.shape for own in mine.outputs] == [own.shape for own in theirs.outputs]
            ]
            untraced, overflow = plain[call.label], ""
            if overflows(untraced, call.expected):
                mine, theirs = zip(*pairs, strict=True) if pairs else ((), ())
                overflow = overflow_finding(mine, program.tasks, target.name, theirs)
            results = outputs, expected, untraced, len(expected_traces) - len(dispatches)
            notes = overflow, narrow_sums(program.tasks)
            functions.append(TracedFunction(call, tuple(dispatches), *results, *notes))
    return functions


def _traced_calls(
    runs: ModelRuns, traced: SavedProgram, spec: str, seconds: float
) -> Iterator[tuple[FunctionCall, Path, tuple[NDArray[Any], ...], list[DispatchTrace]]]:
    """Run each function on the device; yield its results, and its traces, whose tensors are in a temporary directory."""
    calls = runs.program.calls
    assert calls is not None
    compiled = runs.compiler.submit_whole(traced, spec, seconds).result()
    if isinstance(compiled, Failure):
        raise TuninglinkError(error(f"the program with traces: {compiled.message}"))
    for call in calls.functions:
        if call.obstacle:
            continue
        with temporary_directory() as directory:
            program = calls.compiled(call, compiled.image, runs.finite_integers())
            request = Request(Measurer.program_traces, (program, str(directory)), seconds)
            result = runs.device.ask(request)
            if isinstance(result, Failure):
                raise TuninglinkError(error(f"the program with traces: {result.message}"))
            yield call, directory, *result


T = TypeVar("T")


def _answer(job: Future[T | str], what: str) -> T:
    try:
        answer = job.result()
    except _FAILED_JOB as failure:
        answer = str(failure)
    if isinstance(answer, str):
        raise TuninglinkError(error(f"{what}: {answer}"))
    return answer


def _with_traces(source: TraceSource, seconds: float) -> SavedProgram:
    # The flag is process-wide, so a separate process compiles the program.
    with Pool(1, prepare_worker, ((*source.flags, _TRACE),)) as pool:
        job = pool.submit(form_traced_program, source, seconds=seconds)
        return _answer(job, "the program with traces")


# --- Infinities and NaNs, and the dispatch that they come from ------------------------------------------


def overflow_finding(
    traces: Sequence[DispatchTrace],
    tasks: Sequence[TuningTask],
    name: str,
    reference: Sequence[DispatchTrace] = (),
) -> str:
    """Return the dispatch that infinities and NaNs come from, and the remedy; the name is that of a reference, if any."""
    # Negative infinities may be masks, so the search begins at the first dispatch that makes others.
    overflowing = (n for n, trace in enumerate(traces) if any(map(_has_overflow, trace.outputs)))
    infinite = (n for n, trace in enumerate(traces) if not all(map(_is_finite, trace.outputs)))
    position = next(overflowing, None)
    position = maker = max(infinite, default=None) if position is None else position
    # It goes back to the dispatches that made infinities for it.
    while maker is not None:
        position = maker
        paths = {tensor.path.name for tensor in traces[position].inputs if not _is_finite(tensor)}
        makers = (
            earlier
            for earlier, trace in enumerate(traces[:position])
            if any(tensor.path.name in paths for tensor in trace.outputs)
        )
        maker = max(makers, default=None)
    if position is None:
        return ""
    trace = traces[position]
    finding = f"first dispatch with infinities or NaNs: {trace.name}"
    if any(map(_has_overflow, trace.inputs)):
        return f"{finding}, which gets them: an argument or a weight of the program has them"
    if name and all(map(_is_finite, reference[position].outputs if reference else ())):
        remedy = "tuninglink tune looks for a right configuration"
        return f"{finding}, which has none on {name}: {remedy}"
    task = next((task for task in tasks if trace.name in task.functions), None)
    if task is not None and sums_of(task.source).narrow == "f16":
        return f"{finding}, which adds up in f16, up to 65504; PyTorch adds up in f32: {SUM_REMEDY}"
    if any(own.dtype == np.float16 and np.isinf(own.array()).any() for own in trace.outputs):
        return f"{finding}, whose results exceed 65504, the largest number of f16: compute it in f32 or bf16"
    return f"{finding}, whose inputs are finite: it divides by zero, or has a root or logarithm without a value"


def _has_overflow(tensor: TracedTensor) -> bool:
    values = tensor.array()
    return not bool((values[~np.isfinite(values)].astype(np.float64) < np.inf).all())


def _is_finite(tensor: TracedTensor) -> bool:
    return bool(np.isfinite(tensor.array()).all())


def _error(actual: Sequence[TracedTensor], expected: Sequence[TracedTensor]) -> float:
    errors = [
        relative_error([left.array()], [right.array()])
        for left, right in zip(actual, expected, strict=False)
        if left.path.name != right.path.name and left.shape == right.shape  # in the same layout
    ]
    return max(errors, default=0.0)


def _magnitude(tensor: TracedTensor) -> float:
    values = np.abs(tensor.array().astype(np.float64))
    return float(values.max(initial=0.0, where=np.isfinite(values)))


# --- In workers ------------------------------------------------------------------------------------------


def form_traced_program(source: TraceSource) -> SavedProgram | str:
    """Return a program from a process whose command line requests traces, or the first error."""
    try:
        specs = [load_spec(text.encode()) for text in source.specs]
        with compiler_run(source.path, ()) as run:
            _, saved, _ = form_replaced(
                run, specs, first=source.first, sizes=source.sizes, options=source.options
            )
            return saved
    except CompileError as failure:
        return failure.diagnostics[0].message


def trace_reference(
    program: CompiledProgram, device: str, seed: int, directory: str
) -> tuple[tuple[NDArray[Any], ...], list[DispatchTrace]] | str:
    """Run a compiled program with traces in the process of references; return its values or its failure."""
    try:
        return reference_measurer(device, seed).program_traces(program, directory)
    except MeasurementError as failure:
        return str(failure)
