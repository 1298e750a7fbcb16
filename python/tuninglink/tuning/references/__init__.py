"""References: the expected outputs of tasks, from computations independent of the tuned code, and verdicts on results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Final, Self

from tuninglink.tuning.references.compiled_reference import (
    SCALAR_BACKEND,
    Reference,
    compute_reference,
    reference_targets,
    set_up_process,
)
from tuninglink.tuning.references.dispatch_function import summation_error
from tuninglink.tuning.references.points import PointComparison, PointQuestion, compare_points
from tuninglink.tuning.results import Correctness, Failure, OutputVerdict
from tuninglink.workers import JobError, JobTimeoutError, Pool, WorkerCrashedError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tuninglink.tuning.devices.inputs import Bytes
    from tuninglink.tuning.devices.numerics import Outputs
    from tuninglink.tuning.programs.dispatches import TuningTask


_BUDGET_PART: Final = 0.1
_LEAST_SECONDS: Final = 5.0
"""The time limit of one reference: a fraction of a budget, but at least this number of seconds."""

_AT_ONCE: Final = 2
"""The number of references computed in parallel."""

_FAILED_JOB: Final = (JobError, JobTimeoutError, WorkerCrashedError)


@dataclass
class References:
    """Computes references in separate processes, once per task.

    Attributes:
        seed: the seed of the inputs.
        seconds: the time limit of the reference of one dispatch: compilation and two runs.
        pool: the processes that compile and run the code of references.
        point_pool: the process that evaluates single elements, separate so that these do not wait for references.
    """

    seed: int
    seconds: float = 60.0
    pool: Pool = field(default_factory=lambda: Pool(_AT_ONCE, set_up_process))
    point_pool: Pool = field(default_factory=lambda: Pool(1, set_up_process))
    _jobs: dict[str, Future[Reference | str]] = field(default_factory=dict)
    _summations: dict[str, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def within(cls, budget: float, seed: int) -> Self:
        """Return references that each take at most a tenth of a budget, in seconds."""
        return cls(seed, min(cls.seconds, max(_LEAST_SECONDS, _BUDGET_PART * budget)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.close()
        self.point_pool.close()

    def begin(self, task: TuningTask) -> None:
        """Start to compute the reference of a task, unless it has been started. Thread-safe."""
        self._begun(task)

    def _begun(self, task: TuningTask) -> Future[Reference | str]:
        with self._lock:
            if task.key not in self._jobs:
                targets = reference_targets(task.target.backend)
                arguments = (task.source, task.function, task.layout, targets, self.seed)
                self._jobs[task.key] = self.pool.submit(
                    compute_reference, *arguments, seconds=self.seconds
                )
            return self._jobs[task.key]

    def reference(self, task: TuningTask) -> Reference | str:
        """Wait for the reference of a task, and return it, or the reason for having none."""
        try:
            return self._begun(task).result()
        except _FAILED_JOB as failure:
            return str(failure)

    def release(self, task: TuningTask) -> None:
        """Drop the reference of a task, which may be large."""
        self._jobs.pop(task.key, None)

    def judge_by_points(self, task: TuningTask, outputs: Outputs) -> OutputVerdict | None:
        """Judge a result with NumPy, and with the code of a reference only if NumPy disagrees.

        Args:
            task: the task.
            outputs: the result.

        Returns:
            The verdict; None where NumPy does not evaluate the dispatch.
        """
        points = [] if outputs.violation is not None else self._points(task, outputs, {})
        if isinstance(points, str):
            return None
        return _as_numpy(points) if points and _agree(points) else self.judge(task, outputs)

    def judge(self, task: TuningTask, outputs: Outputs) -> OutputVerdict:
        """Judge a result of a task.

        A result is wrong only if NumPy agrees with the reference at the elements where result and reference differ most.
        Without code for another target, NumPy alone decides.

        Args:
            task: the task.
            outputs: the result.
        """
        if outputs.violation is not None:
            return OutputVerdict(Correctness.WRONG, outputs.violation)
        differs_from_numpy = False
        if task.target.backend == SCALAR_BACKEND:
            # Scalar code may take minutes; NumPy computes some elements in milliseconds.
            points = self._points(task, outputs, {})
            if not isinstance(points, str):
                if _agree(points):
                    return _as_numpy(points)
                differs_from_numpy = True
        reference = self.reference(task)
        if isinstance(reference, Reference):
            failure = reference.compare(outputs, self.summation(task))
            # Code that is lowered in the same way may be wrong in the same way.
            if failure is None and (reference.is_independent or not differs_from_numpy):
                return OutputVerdict(Correctness.RIGHT, f"as on {reference.target}")
            values = {tensor.key: expected.values for tensor, expected in reference.outputs}
        else:
            failure, values = None, {}
        points = self._points(task, outputs, values)
        if isinstance(points, str):
            if failure is None:
                result = reference if isinstance(reference, str) else f"as on {reference.target}"
                return OutputVerdict(Correctness.UNCHECKED, f"{result}; with NumPy: {points}")
            return OutputVerdict(Correctness.UNDECIDED, f"{failure.message}; with NumPy: {points}")
        return _verdict(points, failure)

    def summation(self, task: TuningTask) -> float:
        """Return the tolerance of sums of a task; see `summation_error`."""
        if task.key not in self._summations:
            self._summations[task.key] = summation_error(task.source)
        return self._summations[task.key]

    def _points(
        self,
        task: TuningTask,
        outputs: Outputs,
        reference: Mapping[tuple[int, int], Bytes],
    ) -> list[PointComparison] | str:
        question = PointQuestion(
            task.source, task.layout, outputs.bindings, reference, self.summation(task), self.seed
        )
        job = self.point_pool.submit(compare_points, question, seconds=self.seconds)
        try:
            return job.result()
        except _FAILED_JOB as failure:
            return str(failure)


def _agree(points: Sequence[PointComparison]) -> bool:
    return all(point.agrees(point.actual) for point in points)


def _as_numpy(points: Sequence[PointComparison]) -> OutputVerdict:
    count = sum(len(point.positions) for point in points)
    return OutputVerdict(Correctness.RIGHT, f"as NumPy computes {count} elements")


def _verdict(points: Sequence[PointComparison], failure: Failure | None) -> OutputVerdict:
    """Return the verdict of NumPy on a result that differs from the reference or has no reference."""
    if _agree(points):
        if failure is None:
            return _as_numpy(points)
        message = f"the reference differs, NumPy does not: {failure.message}"
        return OutputVerdict(Correctness.UNDECIDED, message)
    samples = next(point for point in points if not point.agrees(point.actual)).samples()
    if failure is None:
        worst = samples[0]
        place = ", ".join(map(str, worst.position))
        message = f"{worst.actual:g} at [{place}] where NumPy has {worst.expected:g}, and no independent reference supports that"
        return OutputVerdict(Correctness.UNDECIDED, message, samples)
    supported = all(point.reference is None or point.agrees(point.reference) for point in points)
    if not supported:
        message = f"the reference differs, and NumPy from both: {failure.message}"
        return OutputVerdict(Correctness.UNDECIDED, message, samples)
    return OutputVerdict(Correctness.WRONG, failure.message, samples)
