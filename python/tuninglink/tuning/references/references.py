"""References: the expected outputs of tasks, from computations independent of the tuned code, and verdicts on results."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from threading import Lock
from typing import Any, ClassVar, Final, NamedTuple, Self

import ml_dtypes
import numpy as np
from iree.compiler import ir as mlir
from numpy.typing import NDArray

from tuninglink.compiler import (
    Phase,
    SavedProgram,
    compiler_run,
    materialize_encodings,
    set_up_command_line,
)
from tuninglink.devices import (
    Bytes,
    Expected,
    MeasurementError,
    Measurer,
    Outputs,
    Settings,
    compare_with,
)
from tuninglink.errors import CompileError, TuninglinkError
from tuninglink.iree import REDUCTION, OpKind, StructuredOp
from tuninglink.mlir import body, collect, error, names, thread_context
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.programs import (
    Benchmark,
    CompiledProgram,
    Correctness,
    Failure,
    FailureKind,
    FunctionCall,
    OutputVerdict,
    ProgramCalls,
    TuningTask,
    element_type,
    is_float,
)
from tuninglink.tuning.candidates import Compiled
from tuninglink.tuning.references.evaluation import StoredTensor
from tuninglink.tuning.references.points import PointComparison, compare_points, stored_tensors
from tuninglink.workers import JobError, JobTimeoutError, Pool, WorkerCrashedError

FunctionOutputs = Mapping[str, tuple[NDArray[Any], ...]]
ReferenceOutputs = Mapping[tuple[int, int], FunctionOutputs]

_AT_ONCE: Final = 2
"""The number of references computed in parallel."""

_FAILED_JOB: Final = (JobError, JobTimeoutError, WorkerCrashedError)


@dataclass
class References(AbstractContextManager["References"]):
    """Computes references in separate processes, once per task.

    Attributes:
        seconds: the time limit of the reference of one dispatch: compilation and two runs.
        pool: the processes that compile and run the code of references.
        point_pool: the process that evaluates single elements, separate so that these do not wait for references.
    """

    seed: int
    seconds: float = 60.0
    pool: Pool = field(default_factory=lambda: Pool(_AT_ONCE, set_up_process))
    point_pool: Pool = field(default_factory=lambda: Pool(1, set_up_process))
    _jobs: dict[str, Future[Reference | str]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def within(cls, budget: float, seed: int) -> Self:
        """Return references that each take at most a tenth of a budget in seconds, but may take 5 seconds."""
        return cls(seed, min(cls.seconds, max(5.0, budget / 10)))

    def __exit__(self, *_: object) -> None:
        self.pool.close()
        self.point_pool.close()

    def begin(self, task: TuningTask) -> Future[Reference | str]:
        """Start to compute the reference of a task, unless it has been started. Thread-safe."""
        with self._lock:
            if task.key not in self._jobs:
                targets = (SCALAR, GENERIC) if task.target.backend == SCALAR_BACKEND else (HOST,)
                self._jobs[task.key] = self.pool.submit(
                    compute_reference, task, targets, self.seed, seconds=self.seconds
                )
            return self._jobs[task.key]

    def reference(self, task: TuningTask) -> Reference | str:
        """Wait for the reference of a task, and return it, or the reason for having none."""
        try:
            return self.begin(task).result()
        except _FAILED_JOB as failure:
            return str(failure)

    def is_ready(self, task: TuningTask) -> bool:
        job = self._jobs.get(task.key)
        return job is not None and job.done()

    def release(self, task: TuningTask) -> None:
        """Drop the reference of a task, which may be large."""
        self._jobs.pop(task.key, None)

    def judge_by_points(self, task: TuningTask, outputs: Outputs) -> OutputVerdict | None:
        """Judge a result with NumPy, and with the code of a reference only if NumPy disagrees.

        The verdict is None where NumPy does not evaluate the dispatch.
        """
        points = [] if outputs.violation is not None else self._points(task, outputs, {})
        if isinstance(points, str):
            return None
        if points and all(point.agrees() for point in points):
            return _as_numpy(points)
        return self.judge(task, outputs)

    def judge(self, task: TuningTask, outputs: Outputs) -> OutputVerdict:
        """Judge a result of a task.

        A result is wrong only if NumPy agrees with the reference at the elements where result and reference differ most.
        Without code for another target, NumPy alone decides.
        """
        if outputs.violation is not None:
            return OutputVerdict(Correctness.WRONG, outputs.violation)
        differs_from_numpy = False
        if task.target.backend == SCALAR_BACKEND:
            # Scalar code may take minutes; NumPy computes some elements in milliseconds.
            points = self._points(task, outputs, {})
            if not isinstance(points, str):
                if all(point.agrees() for point in points):
                    return _as_numpy(points)
                differs_from_numpy = True
        reference = self.reference(task)
        if isinstance(reference, Reference):
            failure = reference.compare(outputs, sums_of(task.source).error)
            # Code that is lowered in the same way may be wrong in the same way.
            if failure is None and (reference.is_independent or not differs_from_numpy):
                return OutputVerdict(Correctness.RIGHT, f"as on {reference.target}")
            values = {tensor.key: expected.values for tensor, expected in reference.outputs}
        else:
            failure, values = None, {}
        points = self._points(task, outputs, values)
        # The verdict of NumPy on a result that differs from the reference or has no reference.
        if isinstance(points, str):
            if failure is not None:
                message = f"{failure.message}; with NumPy: {points}"
                return OutputVerdict(Correctness.UNDECIDED, message)
            result = reference if isinstance(reference, str) else f"as on {reference.target}"
            return OutputVerdict(Correctness.UNCHECKED, f"{result}; with NumPy: {points}")
        different = next((point for point in points if not point.agrees()), None)
        if different is None and failure is None:
            return _as_numpy(points)
        correctness = Correctness.UNDECIDED
        samples = () if different is None else different.samples()
        if failure is None:
            worst = samples[0]
            place = ", ".join(map(str, worst.position))
            message = f"{worst.actual:g} at [{place}] where NumPy has {worst.expected:g}, and no independent reference supports that"
        elif different is None:
            message = f"the reference differs, NumPy does not: {failure.message}"
        elif not all(point.reference is None or point.agrees(point.reference) for point in points):
            message = f"the reference differs, and NumPy from both: {failure.message}"
        else:
            correctness, message = Correctness.WRONG, failure.message
        return OutputVerdict(correctness, message, samples)

    def _points(
        self, task: TuningTask, outputs: Outputs, reference: Mapping[tuple[int, int], Bytes]
    ) -> list[PointComparison] | str:
        arguments = (task, outputs.bindings, reference, sums_of(task.source).error, self.seed)
        job = self.point_pool.submit(compare_points, *arguments, seconds=self.seconds)
        try:
            return job.result()
        except _FAILED_JOB as failure:
            return str(failure)


def _as_numpy(points: Sequence[PointComparison]) -> OutputVerdict:
    count = sum(len(point.positions) for point in points)
    return OutputVerdict(Correctness.RIGHT, f"as NumPy computes {count} elements")


# --- Sums of dispatches


class Sums(NamedTuple):
    """The relative error of the sums of a benchmark in another order, and their type if that is f16 or bf16; else empty."""

    error: float
    narrow: str


SUM_REMEDY: Final = "export with tuninglink.torch, or convert to f32 before the sum"


def narrow_sums(tasks: Sequence[TuningTask]) -> str:
    """Return which dispatches add up in f16 or bf16, where frameworks add up in f32, and the remedy; empty if none does."""
    narrow = {task.label: kind for task in tasks if (kind := sums_of(task.source).narrow)}
    if not narrow:
        return ""
    labels = ", ".join([*narrow][:3]) + (", ..." if len(narrow) > 3 else "")  # noqa: PLR2004
    verb = "adds up" if len(narrow) == 1 else "add up"
    return f"{labels} {verb} in {' and '.join(dict.fromkeys(narrow.values()))}, PyTorch in f32: {SUM_REMEDY}"


@lru_cache(1024)
def sums_of(source: bytes) -> Sums:
    """Return the precision of the sums of a benchmark."""
    benchmark = mlir.Module.parse(source, thread_context())
    error, narrow = 0.0, ""
    for operation in collect(benchmark.operation):
        op = StructuredOp(operation)
        if not op.maps or REDUCTION not in op.iterator_types or not op.results:
            continue
        element = op.results[0].element
        dtype = element_type(element)
        if dtype is None or not is_float(element):
            continue
        # Attention has two reductions, which accumulate in f32.
        loops = zip(op.iterator_types, op.sizes, strict=True)
        sizes = [size or 1 for kind, size in loops if kind == REDUCTION]
        is_attention = op.kind is OpKind.ATTENTION
        terms = max(sizes) if is_attention else math.prod(sizes)
        precision = float(ml_dtypes.finfo(np.float32 if is_attention else dtype).eps)  # type: ignore[no-untyped-call]
        # Roundings of partial sums that grow as a random walk deviate by 0.2 units of the accumulator's precision times
        # `sqrt(terms)` (standard deviation); four units leave room for the largest of millions.
        error = max(error, 4 * precision * math.sqrt(terms))
        blocks = [block for region in operation.regions for block in region]
        adds = any(inner.operation.name == "arith.addf" for block in blocks for inner in block)
        if adds and element in {"f16", "bf16"}:
            narrow = element
    return Sums(error, narrow)


# --- Compiled references: a benchmark retargeted at `executable-sources`, and the outputs of its code for another target

_PROBE: Final = b"""
util.func public @probe(%value: tensor<8xf32>) -> tensor<8xf32> {
  %sum = arith.addf %value, %value : tensor<8xf32>
  util.return %sum : tensor<8xf32>
}
"""
_DEVICE_TARGET: Final = "#hal.device.target<"


@dataclass(frozen=True)
class ReferenceTarget:
    """Code of llvm-cpu that is a reference for other targets, or for other code of llvm-cpu.

    Attributes:
        pipeline: the pipeline of all dispatches; empty for the compiler's choices.
        is_independent: whether the code differs from usual code for CPUs in more than the sizes of vectors and tiles.
    """

    name: str
    device: str
    cpu: str
    pipeline: str = ""
    is_independent: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of the compiler."""
        return (
            "--iree-hal-target-device=local",
            f"--iree-hal-local-target-device-backends={SCALAR_BACKEND}",
            f"--iree-llvmcpu-target-cpu={self.cpu}",
        )


SCALAR_BACKEND: Final = "llvm-cpu"
"""The backend whose reference is scalar code."""

HOST: Final[ReferenceTarget] = ReferenceTarget("llvm-cpu", "local-task", "host")
"""Code for the processor of this machine: the reference for other devices."""

SCALAR: Final[ReferenceTarget] = ReferenceTarget(
    "llvm-cpu without vectors",
    "local-sync",
    "generic",
    "#iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Default>>",
)
"""Code for any processor by a pipeline that does not tile and vectorize: the reference for llvm-cpu itself."""

GENERIC: Final[ReferenceTarget] = ReferenceTarget(
    "llvm-cpu for a generic processor", "local-task", "generic", is_independent=False
)
"""Code with other vectors and other tiles: the reference of whole programs for llvm-cpu, of which scalar code takes minutes, and
of dispatches without scalar code, such as attention."""


def program_reference_target(backend: str) -> ReferenceTarget:
    """Return the target whose code for whole programs is compared with that of a backend."""
    return GENERIC if backend == SCALAR_BACKEND else HOST


@cache
def _targets_in_text(flags: tuple[str, ...]) -> tuple[str, str]:
    """Return the executable target and the device selected by flags, as texts of attributes."""
    with compiler_run(_PROBE, flags) as run:
        run.advance(Phase.START, Phase.EXECUTABLE_SOURCES)
        (variant,) = collect(run.module, names.EXECUTABLE_VARIANT)
        device = next(operation for operation in body(run.module) if _is_device(operation))
        return str(variant.attributes["target"]), str(device.attributes["initial_value"])


def retarget(module: mlir.Operation, target: ReferenceTarget) -> None:
    """Change the target of a program at `executable-sources`, remove its configurations; or raise a `CompileError`."""
    with module.context:
        executable, device = map(mlir.Attribute.parse, _targets_in_text(target.flags))
        pipeline = mlir.Attribute.parse(target.pipeline) if target.pipeline else None
    variants = collect(module, names.EXECUTABLE_VARIANT)
    globals_ = [operation for operation in body(module) if _is_device(operation)]
    if not variants or not globals_:
        raise CompileError(error("it has no executable for a device"))
    strip_configurations(module)  # for the original target
    for variant in variants:
        variant.attributes["target"] = executable
        if pipeline is not None:
            for function in collect(variant, names.FUNCTION):
                function.attributes[names.TRANSLATION_INFO] = pipeline
    for operation in globals_:
        operation.attributes["initial_value"] = device


def _is_device(operation: mlir.Operation) -> bool:
    # Check the type first: the values of other globals may be large.
    is_global = str(operation.attributes.get("type")) == "!hal.device"
    return is_global and str(operation.attributes.get("initial_value")).startswith(_DEVICE_TARGET)


@dataclass(frozen=True)
class Reference:
    """The expected outputs of a dispatch.

    Attributes:
        target: the name of the target whose code computed them.
        outputs: the stored tensors with their expected contents.
        is_independent: see `ReferenceTarget`.
    """

    target: str
    outputs: tuple[tuple[StoredTensor, Expected], ...]
    is_independent: bool = True

    @property
    def byte_length(self) -> int:
        return sum(own.values.nbytes + own.perturbed.nbytes for _, own in self.outputs)

    def compare(self, outputs: Outputs, summation: float) -> Failure | None:
        """Return the failure of a kernel's outputs with a tolerance of sums; None if they are right."""
        if outputs.violation is not None:
            return Failure(FailureKind.OUT_OF_BOUNDS, outputs.violation)
        for tensor, expected in self.outputs:
            actual = tensor.content(outputs.bindings)
            if actual.tobytes() == expected.values.tobytes():
                continue
            comparison = compare_with(tensor.part, actual, expected, summation)
            if not comparison.agrees:
                message = f"binding {tensor.binding}, against {self.target}: {comparison}"
                return Failure(FailureKind.WRONG, message)
        return None


# --- The reference of a whole program, the same dispatches compiled for another target, and verification by dispatch

_LEAST_PROGRAM_SECONDS: Final = 1.0


@dataclass
class ProgramReference(AbstractContextManager["ProgramReference"]):
    """The expected outputs of a whole program, computed in a separate process.

    Attributes:
        backend: the backend for which it is tuned.
        seconds: the time limit of its compilation and of its runs, together.
        results: the outputs so far, or the reasons for having none, by the range of integers among the inputs.
    """

    MOST_SECONDS: ClassVar = 120.0
    """The most seconds in a run, however long it is."""

    program: SavedProgram
    backend: str
    seed: int
    seconds: float
    results: dict[tuple[int, int], FunctionOutputs | str] = field(default_factory=dict)
    pool: Pool = field(default_factory=lambda: Pool(1, set_up_process))
    _job: Future[Compiled | str] | None = None

    def __exit__(self, *_: object) -> None:
        self.pool.close()

    @property
    def name(self) -> str:
        return program_reference_target(self.backend).name

    @property
    def seconds_left(self) -> float:
        """The remaining time limit for its outputs, in seconds."""
        if self._job is None or not self._job.done():
            return self.seconds
        if self._job.cancelled() or self._job.exception() is not None:
            return 0.0
        compiled = self._job.result()
        return 0.0 if isinstance(compiled, str) else max(0.0, self.seconds - compiled.seconds)

    def begin(self) -> Future[Compiled | str]:
        """Start to compile the reference, unless it has been started."""
        if self._job is None:
            arguments = self.program, program_reference_target(self.backend)
            self._job = self.pool.submit(compile_reference, *arguments, seconds=self.seconds)
        return self._job

    def outputs(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> FunctionOutputs | str:
        """Wait for the outputs of functions, and return them by label, or the reason for having none.

        `integers` are the least and the largest random integer among the inputs.
        """
        if integers not in self.results:
            try:
                self.results[integers] = self._run(calls, functions, integers)
            except JobTimeoutError:
                self.results[integers] = f"it takes more than {self.seconds:.3g} s on {self.name}"
            except _FAILED_JOB as failure:
                self.results[integers] = f"it fails on {self.name}: {failure}"
        return self.results[integers]

    def _run(
        self, calls: ProgramCalls, functions: Sequence[FunctionCall], integers: tuple[int, int]
    ) -> FunctionOutputs | str:
        compiled = self.begin().result()
        if isinstance(compiled, str):
            return f"it does not compile for {self.name}: {compiled}"
        outputs = {}
        deadline = time.monotonic() + self.seconds - compiled.seconds
        device = program_reference_target(self.backend).device
        for function in functions:
            program = calls.compiled(function, compiled.image, integers)
            seconds = max(_LEAST_PROGRAM_SECONDS, deadline - time.monotonic())
            job = self.pool.submit(run_reference, program, device, self.seed, seconds=seconds)
            computed = job.result()
            if isinstance(computed, str):
                return f"it fails on {self.name}: {computed}"
            outputs[function.label] = computed
        return outputs


# --- In the process of references ------------------------------------------------------------------------

_measurers: dict[str, Measurer] = {}


def set_up_process() -> None:
    """Set up the process that computes references."""
    set_up_command_line("tuninglink", ())


def reference_measurer(device: str, seed: int) -> Measurer:
    """Return the measurer that runs code of references in this process, which has one seed."""
    if device not in _measurers:
        _measurers[device] = Measurer(device, (), Settings(seed=seed))
    return _measurers[device]


def compute_reference(
    task: TuningTask, targets: Sequence[ReferenceTarget], seed: int
) -> Reference | str:
    """Return the reference of a task for the first target that has one, or the reasons for having none."""
    reasons = []
    for target in targets:
        compiled = compile_reference(SavedProgram(task.source, Phase.EXECUTABLE_SOURCES), target)
        if isinstance(compiled, str):
            reasons.append(f"it does not compile for {target.name}: {compiled}")
            continue
        measurer = reference_measurer(target.device, seed)
        benchmark = Benchmark(compiled.image, task.function, task.layout)
        try:
            values = measurer.outputs(benchmark)
            perturbed = measurer.outputs(benchmark, is_perturbed=True)
        except MeasurementError as failure:
            reasons.append(f"it fails on {target.name}: {failure}")
            continue
        if values.violation is not None:
            reasons.append(f"it is wrong on {target.name}: {values.violation}")
            continue
        outputs = tuple(
            (tensor, Expected(tensor.content(values.bindings), tensor.content(perturbed.bindings)))
            for tensor in stored_tensors(task.source, task.layout)
        )
        return Reference(target.name, outputs, target.is_independent)
    return "; ".join(reasons)


def compile_reference(program: SavedProgram, target: ReferenceTarget) -> Compiled | str:
    """Compile a program for a target of references; return the module, or the first error."""
    began = time.monotonic()
    try:
        with compiler_run(program.content, ()) as run:
            if program.phase < Phase.EXECUTABLE_SOURCES:
                run.advance(program.phase, Phase.EXECUTABLE_SOURCES)
            # The sizes of buffers are those of the original target.
            materialize_encodings(run.module)
            retarget(run.module, target)
            run.advance(Phase.EXECUTABLE_SOURCES, Phase.END)
            return Compiled(run.image(), time.monotonic() - began)
    except TuninglinkError as failure:
        return failure.diagnostics[0].message.partition(" (check above")[0]


def run_reference(
    program: CompiledProgram, device: str, seed: int
) -> tuple[NDArray[Any], ...] | str:
    """Return the outputs of a call of a compiled program, or the reason for its failure."""
    try:
        return reference_measurer(device, seed).program_outputs(program).arrays
    except MeasurementError as failure:
        return str(failure)
