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
    """

    task: TuningTask
    judgement: OutputVerdict


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
        """Yields one dispatch after another.

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
            yield VerifiedDispatch(task, self._judgement(task, job.result()))
            self.references.release(task)

    def _judgement(self, task: TuningTask, compiled: Compiled | Failure) -> OutputVerdict:
        if isinstance(compiled, Failure):
            reason = f"it does not compile: {compiled.message}"
            return OutputVerdict(Correctness.UNCHECKED, reason)
        benchmark = task.benchmark(compiled.image)
        outputs = self.device.outputs(benchmark)
        if isinstance(outputs, Failure):
            return OutputVerdict(Correctness.UNCHECKED, f"it does not run: {outputs.message}")
        return self.references.judge(task, outputs)
