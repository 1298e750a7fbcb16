"""Verification of a program, dispatch by dispatch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tuninglink.plain_data import FLAT, HIDDEN, written
from tuninglink.tuning.references.output_verdict import Correctness, OutputVerdict
from tuninglink.tuning.results.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.tuning.candidates.compilation import CandidateCompiler, Compiled
    from tuninglink.tuning.devices.device_interface import Device
    from tuninglink.tuning.programs.dispatches import TuningTask
    from tuninglink.tuning.references.references import References

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
            DeviceError: the device is gone.
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
