"""The compiler's choices: their times, and verdicts on them, in the background unless this disturbs measurements."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Event, Lock
from typing import Final

from tuninglink.devices import Device, DeviceSet, Outputs, difference, repetition
from tuninglink.iree import DispatchCost
from tuninglink.programs import (
    Benchmark,
    Correctness,
    Failure,
    FailureKind,
    FatalError,
    OutputVerdict,
    TuningTask,
    reason_of,
)
from tuninglink.tuning.candidates import Compiled
from tuninglink.tuning.deciding.tune_options import Numerics
from tuninglink.tuning.references import Reference, References
from tuninglink.workers import finished

SMALL: Final = 0.03
"""The share of the program's time below which a task is small."""


@dataclass(frozen=True)
class MeasuredTask:
    """A task whose default was measured.

    Attributes:
        task: the task.
        benchmark: the compiler's choice, compiled.
        default_us: its time, in microseconds.
        compile_seconds: its compilation time.
        share: its share of the time of all dispatches.
        program_us: its time in one run of the program at each of the sizes, in microseconds.
        stretch: the time of a sample over that of the iterations in it: a dynamic task runs at all sizes, and
            its time is a mean.
        potential: the fraction of its time that tuning may save.
        processor_seconds: the processor time of its compilation.
        failure: the failure of the compiler's choice, whose time is then an estimate; None without one.
        fault: the reason why its code is known to compute wrong results; empty without one.
        cost: the operations and bytes of a call; None if they were not counted.
    """

    task: TuningTask
    benchmark: Benchmark
    default_us: float
    compile_seconds: float
    share: float = 0.0
    program_us: float = 0.0
    stretch: float = 1.0
    potential: float = 1.0
    processor_seconds: float = 0.0
    failure: Failure | None = None
    fault: str = ""
    cost: DispatchCost | None = None

    @property
    def is_small(self) -> bool:
        """Whether the default takes a small share of the program's time."""
        return self.share < SMALL

    @property
    def weight(self) -> float:
        """The number of counted calls in a run of the program.

        With a profile, it is the profiled time divided by the time of one call alone: inside the program, a call may be
        slower or faster.
        """
        if self.task.profiled_us is None or self.default_us <= 0:
            return self.task.calls
        return self.task.profiled_us / self.default_us


DEFAULT_SECONDS: Final = 0.1
"""The time for samples of a default."""


def measure_default(
    task: TuningTask,
    compiled: Compiled | Failure,
    devices: DeviceSet,
    seconds: float = DEFAULT_SECONDS,
) -> MeasuredTask | Failure:
    """Measure the compiler's choice for one task, with all of the program's time as its share.

    Samples are taken for some seconds, and a few in any case.

    Raises:
        DeviceError: the device is lost.
    """
    if isinstance(compiled, Failure):
        return compiled
    benchmark = task.benchmark(compiled.image)
    microseconds = devices.measure_default(benchmark, seconds)
    if isinstance(microseconds, Failure):
        return microseconds
    measured = MeasuredTask(
        task,
        benchmark,
        microseconds,
        compiled.seconds,
        share=1.0,
        program_us=microseconds,
        processor_seconds=compiled.processor_seconds,
        fault=compiled.fault,
    )
    if len(benchmark.measured) < 2:  # noqa: PLR2004 - the time at one size was measured
        return measured
    # The time in the program is that of all sizes.
    times: list[float] = []
    for function in benchmark.measured:
        timing = devices.first.measure(benchmark.at(function))
        if isinstance(timing, Failure):
            return timing
        times.append(timing.least)
    repeated = repetition(times, [function.weight for function in benchmark.measured])
    return replace(measured, program_us=sum(times), stretch=repeated.stretch)


_AT_ONCE: Final = 2
"""Verdicts computed in parallel in the background: as many as references."""

_LEAST_KEPT_BYTES: Final = 1 << 30
_KEPT_PART: Final = 16
"""The memory for the references of right defaults, which races need again: at least these bytes, or a sixteenth of all."""

_OTHERS: Final = 3.0
"""The time that the device is left to others after a default was run in the background, in multiples of that run."""


class DefaultJudgements:
    """Judges the compiler's choice of each task once. Its methods raise a `DeviceError` if the device is lost.

    Args:
        in_background: whether `begin` starts work; off where the CPU itself is measured.
    """

    def __init__(self, device: Device, references: References, *, in_background: bool) -> None:
        self._device = device
        self._references = references
        self._threads = ThreadPoolExecutor(_AT_ONCE) if in_background else None
        self._lock = Lock()
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        self._most_kept_bytes = max(_LEAST_KEPT_BYTES, memory // _KEPT_PART)
        self._turn = Lock()
        self._due = 0.0
        self._is_awaited = Event()
        self._kept_bytes = 0
        self._jobs: dict[str, Future[OutputVerdict]] = {}
        self._unknown: set[str] = set()
        self._failing: set[str] = set()
        self._news: list[tuple[TuningTask, OutputVerdict]] = []

    @property
    def is_busy(self) -> bool:
        """Whether verdicts are being computed in the background."""
        return any(not job.done() for job in self._jobs.values())

    def expect(self, task: TuningTask) -> None:
        """Start to compute the reference of a task before its default is compiled."""
        if self._threads is not None:
            self._references.begin(task)

    def begin(self, task: TuningTask, default: Benchmark) -> None:
        """Start to judge a default, unless it has been started. A CPU that is measured judges what takes milliseconds."""
        if task.key in self._jobs or task.key in self._unknown:
            return
        if self._threads is not None:
            self._jobs[task.key] = self._threads.submit(self._judge, task, default, is_paced=True)
            return
        # Judge it here if NumPy can evaluate it.
        self._unknown.add(task.key)
        try:
            outputs = self._device.outputs(default)
            verdict = None
            if not isinstance(outputs, Failure):
                verdict = self._references.judge_by_points(task, outputs)
        except FatalError:
            raise
        except Exception:  # noqa: BLE001 - its race judges it again
            return
        if verdict is not None:
            self._jobs[task.key] = finished(verdict)
            self._tell(task, verdict)

    def judge(self, task: TuningTask, default: Benchmark) -> OutputVerdict:
        """Wait for the verdict on a default and return it."""
        job = self._jobs.get(task.key)
        if job is None or job.cancel():  # queued behind other jobs
            job = self._jobs[task.key] = finished(self._judge(task, default))
        with self._awaiting():
            return job.result()

    def reject(self, measured: MeasuredTask) -> None:
        """Take a default that fails, or is known to be miscompiled, as wrong: any right candidate replaces it."""
        task, failure, reason = measured.task, measured.failure, measured.fault
        if failure is not None:
            reason = f"the compiler's own choice fails: {failure.message}"
            self._failing.add(task.key)
        verdict = OutputVerdict(Correctness.WRONG, reason)
        self._jobs[task.key] = finished(verdict)
        if failure is None:
            self._tell(task, verdict)

    def fails(self, task: TuningTask) -> bool:
        return task.key in self._failing

    def verdict(self, task: TuningTask) -> OutputVerdict | None:
        """Return the verdict on the default of a task; None until it is computed."""
        job = self._jobs.get(task.key)
        return job.result() if job is not None and job.done() and not job.cancelled() else None

    def is_wrong(self, task: TuningTask) -> bool:
        """Return whether the default of a task was shown to compute a wrong result."""
        verdict = self.verdict(task)
        return verdict is not None and verdict.correctness is Correctness.WRONG

    def wait(self, seconds: float) -> None:
        """Wait for the next verdict from the background."""
        running = [job for job in self._jobs.values() if not job.done()]
        with self._awaiting():
            wait(running, None if math.isinf(seconds) else seconds, FIRST_COMPLETED)

    @contextmanager
    def _awaiting(self) -> Iterator[None]:
        """Let the background use the device without pauses during a block."""
        self._is_awaited.set()
        try:
            yield
        finally:
            if self._threads is not None:
                self._is_awaited.clear()

    def take_news(self) -> list[tuple[TuningTask, OutputVerdict]]:
        """Return the wrong defaults since the last call."""
        with self._lock:
            news, self._news = self._news, []
        return news

    def close(self) -> None:
        """Start no further work in the background."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None
            self._is_awaited.set()

    def _judge(
        self, task: TuningTask, default: Benchmark, *, is_paced: bool = False
    ) -> OutputVerdict:
        """Judge a default. May be called from any thread."""
        try:
            if is_paced:
                # Outputs may take as long as many measurements, which go first.
                with self._turn:
                    self._is_awaited.wait(max(0.0, self._due - time.monotonic()))
                    began = time.monotonic()
                    outputs = self._device.outputs(default)
                    end = time.monotonic()
                    self._due = end + _OTHERS * (end - began)
            else:
                outputs = self._device.outputs(default)
            if isinstance(outputs, Failure):
                verdict = OutputVerdict(Correctness.UNCHECKED, outputs.message)
            else:
                verdict = self._references.judge(task, outputs)
        except FatalError:
            raise
        except Exception as failure:  # noqa: BLE001 - an error loses one verdict only
            return OutputVerdict(Correctness.UNCHECKED, reason_of(failure))
        self._tell(task, verdict)
        if verdict.correctness is not Correctness.WRONG and self._threads is not None:
            # Drop the reference of a task if references exceed the memory limit.
            reference = self._references.reference(task)
            size = reference.byte_length if isinstance(reference, Reference) else 0
            with self._lock:
                fits = self._kept_bytes + size <= self._most_kept_bytes
                self._kept_bytes += size if fits else 0
            if not fits:
                self._references.release(task)
        return verdict

    def _tell(self, task: TuningTask, verdict: OutputVerdict) -> None:
        if verdict.correctness is Correctness.WRONG:
            with self._lock:
                self._news.append((task, verdict))


# --- Checks of candidates' outputs with a reference for the dispatch -----------------------------


@dataclass
class JudgedOutputs:
    """Compares candidates, each once, with the compiler's choice if that is right, else with the reference.

    Attributes:
        device: the device that runs them.
        default: the compiler's choice.
        reduction: the number of products summed in an element of an output.
        task: the task.
        references: the references; None compares with the compiler's choice only.
        judgement: the verdict of the reference on the compiler's choice; None without references.
        numerics: the acceptance policy for outputs.
    """

    device: Device
    default: Benchmark
    reduction: int
    task: TuningTask
    references: References | None = None
    judgement: OutputVerdict | None = None
    numerics: Numerics = Numerics.ROUNDING
    _checked: dict[Benchmark, Failure | None] = field(default_factory=dict)

    @property
    def default_is_wrong(self) -> bool:
        """Whether the compiler's choice computes a wrong result."""
        return self.judgement is not None and self.judgement.correctness is Correctness.WRONG

    def failure(self, benchmark: Benchmark) -> Failure | None:
        """Return the failure of a candidate: wrong outputs or a failed run; None if it is right.

        Raises:
            DeviceError: the device is lost.
        """
        if benchmark not in self._checked:
            self._checked[benchmark] = self._failure(benchmark)
        return self._checked[benchmark]

    def _failure(self, benchmark: Benchmark) -> Failure | None:
        if self.numerics is Numerics.BITWISE:
            return self._bitwise_failure(benchmark)
        is_compared = self.references is not None and not self.default_is_wrong
        default = self._default_outputs if is_compared else None
        if self.references is None or isinstance(default, Failure):
            return self.device.compare(benchmark, self.default, self.reduction)
        outputs = self.device.outputs(benchmark)
        if isinstance(outputs, Failure):
            return outputs
        if default is not None:
            failure = difference(benchmark.layout, outputs, default, self.reduction)
            if failure is not None:
                return failure
        judgement = self.references.judge(self.task, outputs)
        is_right = judgement.correctness is Correctness.RIGHT
        if is_right or (
            not self.default_is_wrong and judgement.correctness is not Correctness.WRONG
        ):
            return None
        return Failure(FailureKind.WRONG, judgement.reason)

    def _bitwise_failure(self, benchmark: Benchmark) -> Failure | None:
        """Return the first difference of a candidate's outputs from those of the compiler's choice, bit for bit."""
        outputs, expected = self.device.outputs(benchmark), self._default_outputs
        for computed in (expected, outputs):
            if isinstance(computed, Failure):
                return computed
        assert not isinstance(outputs, Failure)
        assert not isinstance(expected, Failure)
        if outputs.violation is not None:
            return Failure(FailureKind.OUT_OF_BOUNDS, outputs.violation)
        for number, content in outputs.bindings.items():
            off = int((content != expected.bindings[number]).sum())
            if off:
                message = f"binding {number}: {off} of {len(content)} bytes are not the default's"
                return Failure(FailureKind.WRONG, message)
        return None

    @cached_property
    def _default_outputs(self) -> Outputs | Failure:
        return self.device.outputs(self.default)
