"""Comparison of a program's dispatches on their actual inputs in one run of the program.

The compiler traces the tensors around each dispatch. The program runs on the device and, retargeted, on the reference
target. The device diverges from the reference where the error of the outputs is much larger than that of the inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tuninglink.compiler import SavedProgram, compiler_run
from tuninglink.errors import CompileError, TuninglinkError
from tuninglink.files import temporary_directory
from tuninglink.mlir import error
from tuninglink.plain_data import named, written
from tuninglink.tuning.candidates import CandidateCompiler, prepare_worker
from tuninglink.tuning.deciding import ModelRunError, ModelRuns, relative_error, tolerance_of
from tuninglink.tuning.devices import (
    Device,
    MeasurementError,
    Measurer,
    Request,
)
from tuninglink.tuning.programs import (
    DispatchedProgram,
    Failure,
    FunctionCall,
    form_dispatches,
)
from tuninglink.tuning.references import (
    compile_reference,
    program_reference_target,
    reference_measurer,
    set_up_process,
)
from tuninglink.workers import JobError, JobTimeoutError, Pool, WorkerCrashedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.compiler import Phase
    from tuninglink.iree import GivenSizes
    from tuninglink.tuning.devices import DispatchTrace, TracedTensor
    from tuninglink.tuning.programs import CallOptions, CompiledProgram

    Traced = tuple[tuple[NDArray[Any], ...], list[DispatchTrace]]


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
        name: the name of its function.
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
    """A call of a function, traced on a device and on the reference target.

    Attributes:
        call: the call.
        dispatches: its dispatches in the order in which they run.
        outputs: its results on the device.
        expected: its results on the reference target.
        untraced: its results on the device without traces.
    """

    call: FunctionCall
    dispatches: tuple[TracedDispatch, ...]
    outputs: tuple[NDArray[Any], ...]
    expected: tuple[NDArray[Any], ...]
    untraced: tuple[NDArray[Any], ...]

    @property
    def agrees(self) -> bool:
        """Whether no dispatch differs from the reference."""
        return all(each.agreement is not Agreement.DIFFERS for each in self.dispatches)

    @cached_property
    def errors(self) -> dict[str, float]:
        """The errors in the outputs, by the name of the comparison."""
        untraced, traced, reference = self.untraced, self.outputs, self.expected
        errors = {
            _UNTRACED: relative_error(untraced, reference),
            "with traces, against the reference": relative_error(traced, reference),
            "without traces, against those with": relative_error(untraced, traced),
        }
        if expected := self.call.expected:
            count = len(expected)
            errors |= {
                "without traces, against --expected": relative_error(untraced[:count], expected),
                "with traces, against --expected": relative_error(traced[:count], expected),
                _REFERENCE: relative_error(reference[:count], expected),
            }
        return errors

    @property
    def finding(self) -> str:
        """Where the function begins to differ from the reference, or what agrees, in words."""
        differing = [each for each in self.dispatches if each.agreement is Agreement.DIFFERS]
        if differing:
            most = max(differing, key=lambda each: each.output_error)
            growth = f"from {error_text(most.input_error)} to {error_text(most.output_error)}"
            return f"first dispatch that differs: {differing[0].name}; most: {most.name}, {growth}"
        largest = max((each.tolerance for each in self.dispatches), default=0.0)
        if self.errors[_UNTRACED] <= largest:
            if self.errors.get(_REFERENCE, 0.0) <= largest:
                return "all dispatches and the outputs agree"
            return (
                "all dispatches and the outputs agree with the reference, which is made of the same program, and differ "
                "from --expected: the import or a pass before dispatches are formed is wrong, or --expected is of other "
                "inputs or weights, or the program amplifies rounding"
            )
        if all(each.agreement is Agreement.AGREES for each in self.dispatches):
            return (
                "all dispatches agree, and the outputs without traces do not: look at what traces change, "
                "buffers that are used again and dispatches that run at once"
            )
        return "errors grow from dispatch to dispatch; none of them adds much"


def error_text(value: float) -> str:
    """Return a relative error for people."""
    return "infinite" if math.isinf(value) else f"{value:.2g}"


@dataclass(frozen=True)
class TraceSource:
    """A program given by the user, to be compiled with traces.

    Attributes:
        path: its path.
        flags: all flags of the compiler.
        first: the phase that the program has passed.
        sizes: the sizes of dynamic dimensions of its arguments.
        options: the functions that count, and their arguments.
    """

    path: str
    flags: tuple[str, ...]
    first: Phase
    sizes: tuple[GivenSizes, ...]
    options: CallOptions

    def traced(self, seconds: float) -> SavedProgram:
        """Return the program with traces.

        The flag is process-wide, so a separate process compiles the program.

        Raises:
            TuninglinkError: it does not compile.
        """
        try:
            with Pool(1, prepare_worker, ((*self.flags, _TRACE),)) as pool:
                program = pool.submit(form_traced_program, self, seconds=seconds).result()
        except _FAILED_JOB as failure:
            raise TuninglinkError(error(f"the program with traces: {failure}")) from None
        if isinstance(program, str):
            raise TuninglinkError(error(program))
        return program


@dataclass
class ProgramTracing:
    """Compares the dispatches of a program, as it runs, on a device and on the reference target.

    Attributes:
        compiler: compiles it for the device.
        device: runs it.
        backend: the backend that compiles it.
        seed: the seed of random inputs.
        seconds: the time limit of a compilation or a run.
        pool: the process of the reference.
    """

    compiler: CandidateCompiler
    device: Device
    backend: str
    seed: int
    seconds: float
    pool: Pool = field(default_factory=lambda: Pool(1, set_up_process))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.close()

    def run(
        self,
        program: DispatchedProgram,
        source: TraceSource,
        spec: str,
        step: Callable[[str], None],
    ) -> list[TracedFunction]:
        """Run each function of a whole program once, with a spec unless it is empty.

        Raises:
            TuninglinkError: it does not compile or run.
        """
        assert program.calls is not None
        # Run the program without traces first: its outputs must not depend on them.
        runs = ModelRuns(program, self.compiler, self.device, self.seed)
        try:
            plain = runs.outputs(spec)
            integers = runs.finite_integers()
        except ModelRunError as failure:
            raise TuninglinkError(error(str(failure))) from None
        # Compile it with traces for both targets.
        step("compiling the program with traces")
        traced = source.traced(self.seconds)
        step("running the program with traces")
        target = program_reference_target(self.backend)
        job = self.pool.submit(compile_reference, traced, target, seconds=self.seconds)
        compiled = self.compiler.submit_whole(traced, spec, self.seconds).result()
        if isinstance(compiled, Failure):
            raise TuninglinkError(error(f"the program with traces: {compiled.message}"))
        try:
            reference = job.result()
        except _FAILED_JOB as failure:
            reference = str(failure)
        if isinstance(reference, str):
            raise TuninglinkError(error(f"the reference for {target.name}: {reference}"))
        functions, calls = [], program.calls
        for call in calls.functions:
            if call.obstacle:
                continue
            with temporary_directory() as directory:
                places = [directory / name for name in ("device", "reference")]
                for place in places:
                    place.mkdir()
                actual = self._trace(calls.compiled(call, compiled.image, integers), places[0])
                retargeted = calls.compiled(call, reference.image, integers)
                expected = self._trace_reference(retargeted, target.device, places[1])
                names = [[dispatch.name for dispatch in traces] for _, traces in (actual, expected)]
                if names[0] != names[1]:
                    raise TuninglinkError(
                        error("the device and the reference run other dispatches")
                    )
                dispatches = [
                    TracedDispatch(
                        mine.name,
                        _error(mine.inputs, theirs.inputs),
                        _error(mine.outputs, theirs.outputs),
                        tolerance_of(tensor.dtype for tensor in (*theirs.inputs, *theirs.outputs)),
                        max(map(_magnitude, theirs.outputs), default=0.0),
                    )
                    for mine, theirs in zip(actual[1], expected[1], strict=True)
                ]
                results = actual[0], expected[0], plain[call.label]
                compared = TracedFunction(call, tuple(dispatches), *results)
                functions.append(compared)
        return functions

    def _trace(self, program: CompiledProgram, directory: Path) -> Traced:
        arguments = (program, str(directory))
        traced = self.device.ask(Request(Measurer.program_traces, arguments, self.seconds))
        if isinstance(traced, Failure):
            raise TuninglinkError(error(f"the program with traces: {traced.message}"))
        return traced

    def _trace_reference(self, program: CompiledProgram, device: str, directory: Path) -> Traced:
        arguments = (program, device, self.seed, str(directory))
        try:
            traced = self.pool.submit(trace_reference, *arguments, seconds=self.seconds).result()
        except _FAILED_JOB as failure:
            traced = str(failure)
        if isinstance(traced, str):
            raise TuninglinkError(error(f"the reference with traces: {traced}"))
        return traced


def _error(actual: Sequence[TracedTensor], expected: Sequence[TracedTensor]) -> float:
    if len(actual) != len(expected):
        return math.inf
    return max(
        (
            0.0 if left.has_same_bytes(right) else relative_error([left.array()], [right.array()])
            for left, right in zip(actual, expected, strict=True)
        ),
        default=0.0,
    )


def _magnitude(tensor: TracedTensor) -> float:
    values = np.abs(tensor.array().astype(np.float64))
    return float(values.max(initial=0.0, where=np.isfinite(values)))


# --- In workers ------------------------------------------------------------------------------------------


def form_traced_program(source: TraceSource) -> SavedProgram | str:
    """Return a program from a process whose command line requests traces, or the first error."""
    try:
        with compiler_run(source.path, ()) as run:
            _, saved = form_dispatches(
                run, first=source.first, sizes=source.sizes, options=source.options
            )
            return saved
    except CompileError as failure:
        return failure.diagnostics[0].message


def trace_reference(
    program: CompiledProgram, device: str, seed: int, directory: str
) -> Traced | str:
    """Run a compiled program with traces in the process of references; return its values or its failure."""
    try:
        return reference_measurer(device, seed).program_traces(program, directory)
    except MeasurementError as failure:
        return str(failure)
