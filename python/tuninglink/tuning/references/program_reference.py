"""The reference of a whole program, the same dispatches compiled for another target, and verification by dispatch."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from tuninglink.compiler.compile_options import Phase
from tuninglink.compiler.prepared_dispatches import materialize_encodings
from tuninglink.compiler.program_sources import SavedProgram, compiler_run
from tuninglink.errors import TuninglinkError
from tuninglink.plain_data import FLAT, HIDDEN, written
from tuninglink.tuning.candidates.compilation import Compiled
from tuninglink.tuning.devices.running import MeasurementError
from tuninglink.tuning.references.compiled_reference import (
    ReferenceTarget,
    program_reference_target,
    reference_measurer,
    retarget_module,
    set_up_process,
)
from tuninglink.tuning.results import Correctness, Failure, OutputVerdict
from tuninglink.workers import JobError, JobTimeoutError, Pool, WorkerCrashedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from numpy.typing import NDArray

    from tuninglink.tuning.candidates.compilation import CandidateCompiler
    from tuninglink.tuning.devices.device_process import Device
    from tuninglink.tuning.programs.compiled_program import CompiledProgram
    from tuninglink.tuning.programs.dispatches import TuningTask
    from tuninglink.tuning.programs.program_calls import FunctionCall, ProgramCalls
    from tuninglink.tuning.references import References

    Outputs = Mapping[str, tuple[NDArray[Any], ...]]


_FAILED_JOB: Final = (JobError, JobTimeoutError, WorkerCrashedError)
_LEAST_SECONDS: Final = 1.0


@dataclass
class ProgramReference:
    """The expected outputs of a whole program, computed in a separate process.

    Attributes:
        program: the program.
        backend: the backend for which it is tuned.
        seed: the seed of random inputs.
        seconds: the time limit of its compilation and of its runs, together.
        pool: the pool with the process that compiles and runs it.
    """

    program: SavedProgram
    backend: str
    seed: int
    seconds: float
    pool: Pool = field(default_factory=lambda: Pool(1, set_up_process))
    _job: Future[Compiled | str] | None = None
    _outputs: dict[tuple[int, int], Outputs | str] = field(default_factory=dict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.close()

    @property
    def target(self) -> ReferenceTarget:
        """The target of the reference."""
        return program_reference_target(self.backend)

    @property
    def name(self) -> str:
        """The name of the target."""
        return self.target.name

    @property
    def seconds_left(self) -> float:
        """The remaining time limit for its outputs, in seconds."""
        if self._job is None or not self._job.done():
            return self.seconds
        if self._job.cancelled() or self._job.exception() is not None:
            return 0.0
        compiled = self._job.result()
        return 0.0 if isinstance(compiled, str) else max(0.0, self.seconds - compiled.seconds)

    def begin(self) -> None:
        """Start to compile the reference, unless it has been started."""
        self._begun()

    def _begun(self) -> Future[Compiled | str]:
        if self._job is None:
            self._job = self.pool.submit(
                compile_reference, self.program, self.target, seconds=self.seconds
            )
        return self._job

    def outputs(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> Outputs | str:
        """Wait for the outputs of functions, and return them by label, or the reason for having none.

        Args:
            calls: the calls of the program.
            functions: the called functions.
            integers: the least and the largest random integer among the inputs.
        """
        if integers not in self._outputs:
            self._outputs[integers] = self._run(calls, functions, integers)
        return self._outputs[integers]

    def _run(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> Outputs | str:
        name = self.target.name
        try:
            compiled = self._begun().result()
            if isinstance(compiled, str):
                return f"it does not compile for {name}: {compiled}"
            outputs = {}
            left = self.seconds - compiled.seconds
            for function in functions:
                began = time.monotonic()
                program = calls.compiled(function, compiled.image, integers)
                arguments = (program, self.target.device, self.seed)
                job = self.pool.submit(run_reference, *arguments, seconds=max(_LEAST_SECONDS, left))
                computed = job.result()
                if isinstance(computed, str):
                    return f"it fails on {name}: {computed}"
                outputs[function.label] = computed
                left -= time.monotonic() - began
        except JobTimeoutError:
            return f"it takes more than {self.seconds:.3g} s on {name}"
        except _FAILED_JOB as failure:
            return f"it fails on {name}: {failure}"
        return outputs


# --- In the process of references ------------------------------------------------------------------------


def compile_reference(program: SavedProgram, target: ReferenceTarget) -> Compiled | str:
    """Compile a program for a target of references.

    Returns:
        The module, or the first error.
    """
    began = time.monotonic()
    try:
        with compiler_run(program.content, ()) as run:
            if program.phase < Phase.EXECUTABLE_SOURCES:
                run.advance(program.phase, Phase.EXECUTABLE_SOURCES)
            # The sizes of buffers are those of the original target.
            materialize_encodings(run.module)
            retarget_module(run.module, target)
            run.advance(Phase.EXECUTABLE_SOURCES, Phase.END)
            return Compiled(run.image(), time.monotonic() - began)
    except TuninglinkError as failure:
        return failure.diagnostics[0].message


def run_reference(
    program: CompiledProgram, device: str, seed: int
) -> tuple[NDArray[Any], ...] | str:
    """Return the outputs of a call of a compiled program, or the reason for its failure."""
    try:
        return reference_measurer(device, seed).program_outputs(program).arrays
    except MeasurementError as failure:
        return str(failure)


_AHEAD: Final = 2
"""The number of dispatches whose references are computed ahead."""


@dataclass(frozen=True)
class VerifiedDispatch:
    """A verified dispatch.

    Attributes:
        task: the dispatch.
        judgement: the verdict on its result.
        failure: the reason for a missing result; None if it has one.
    """

    task: TuningTask = field(metadata=HIDDEN)
    judgement: OutputVerdict = field(metadata=FLAT)
    failure: Failure | None = field(default=None, metadata=HIDDEN)

    @property
    @written()
    def names(self) -> tuple[str, ...]:
        """The names of the equal dispatches."""
        return self.task.dispatches

    @property
    @written()
    def label(self) -> str:
        """The name of the function of the first one."""
        return self.task.label

    @property
    @written()
    def calls(self) -> int:
        """The number of their calls."""
        return self.task.calls

    @property
    @written()
    def target(self) -> str:
        """The name of the target."""
        return self.task.target.name

    @property
    def is_right(self) -> bool:
        """Whether the dispatch runs and its result is not shown to be wrong."""
        return self.judgement.correctness not in (Correctness.WRONG, Correctness.FAILED)


@dataclass(frozen=True)
class ProgramVerification:
    """Compiles and runs dispatches, and compares their results with references.

    Attributes:
        compiler: compiles them.
        device: runs them.
        references: their references.
        seconds: the time limit of a compilation.
    """

    compiler: CandidateCompiler
    device: Device
    references: References
    seconds: float

    def run(self, tasks: Sequence[TuningTask], spec: str = "") -> Iterator[VerifiedDispatch]:
        """Yield the verified dispatches in order.

        Args:
            tasks: the dispatches.
            spec: the spec to apply; empty for none.

        Raises:
            DeviceError: the device is lost.
        """
        jobs = [self.compiler.submit_program(task.source, spec, self.seconds) for task in tasks]
        for position, (task, job) in enumerate(zip(tasks, jobs, strict=True)):
            if not self.device.description.is_local:
                for later in tasks[position : position + _AHEAD]:
                    self.references.begin(later)
            yield self._verified(task, job.result())
            self.references.release(task)

    def _verified(self, task: TuningTask, compiled: Compiled | Failure) -> VerifiedDispatch:
        if isinstance(compiled, Failure):
            return _failed(task, compiled, "does not compile")
        outputs = self.device.outputs(task.benchmark(compiled.image))
        if isinstance(outputs, Failure):
            return _failed(task, outputs, "does not run")
        return VerifiedDispatch(task, self.references.judge(task, outputs))


def _failed(task: TuningTask, failure: Failure, what: str) -> VerifiedDispatch:
    """Return a dispatch without a result, which counts as wrong unless the machine is the cause."""
    correctness = Correctness.UNCHECKED if failure.is_external else Correctness.FAILED
    verdict = OutputVerdict(correctness, f"it {what}: {failure.message}")
    return VerifiedDispatch(task, verdict, failure)
