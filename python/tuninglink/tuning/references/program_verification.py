"""Verification of a program, dispatch by dispatch: whether it computes what it should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.references.output_verdict import Correctness, OutputVerdict
from tuninglink.tuning.results.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tuninglink.tuning.candidates.compilation import CandidateCompiler, Compiled
    from tuninglink.tuning.devices.device_interface import Device
    from tuninglink.tuning.programs.dispatches import TuningTask
    from tuninglink.tuning.references.references import References

_AHEAD: Final = 2
"""Dispatches whose references are computed while another one runs."""


@dataclass(frozen=True)
class VerifiedDispatch:
    """A dispatch that was verified.

    Attributes:
        task: the dispatch.
        judgement: whether its result is right.
        failure: why it has no result; None if it has one.
    """

    task: TuningTask
    judgement: OutputVerdict
    failure: Failure | None = None

    @property
    def is_right(self) -> bool:
        """Whether neither a reference nor a failure shows otherwise."""
        return self.judgement.correctness not in (Correctness.WRONG, Correctness.FAILED)


@dataclass(frozen=True)
class ProgramVerification:
    """Compiles and runs dispatches, and compares their results with references.

    Attributes:
        compiler: compiles them.
        device: runs them.
        references: what they should compute.
        seconds: how long one may compile.
    """

    compiler: CandidateCompiler
    device: Device
    references: References
    seconds: float

    def run(self, tasks: Sequence[TuningTask], spec: str = "") -> Iterator[VerifiedDispatch]:
        """Yield one dispatch after another.

        Args:
            tasks: the dispatches.
            spec: a spec to apply, or nothing.

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
    """Return a dispatch without a result, which is its own fault unless the machine is the cause."""
    correctness = Correctness.UNCHECKED if failure.is_external else Correctness.FAILED
    verdict = OutputVerdict(correctness, f"it {what}: {failure.message}")
    return VerifiedDispatch(task, verdict, failure)
