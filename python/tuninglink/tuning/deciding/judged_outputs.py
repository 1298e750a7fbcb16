"""Checks of candidates' outputs with a reference for the dispatch."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from tuninglink.tuning.devices.numerics import Outputs, difference
from tuninglink.tuning.results import Correctness, Failure, FailureKind, OutputVerdict
from tuninglink.tuning.settings import Numerics

if TYPE_CHECKING:
    from tuninglink.tuning.devices.device_process import Device
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.programs.dispatches import TuningTask
    from tuninglink.tuning.references import References


@dataclass(frozen=True)
class OutputChecks:
    """Compares the outputs of candidates, each once, with those of a reference.

    Attributes:
        device: the device that runs them.
        reference: the benchmark with the right outputs.
        reduction: the number of products summed in an element of an output.
    """

    device: Device
    reference: Benchmark
    reduction: int
    _checked: dict[Benchmark, Failure | None] = field(default_factory=dict)

    def failure(self, benchmark: Benchmark) -> Failure | None:
        """Return the failure of a candidate: wrong outputs or a failed run; None if it is right.

        Raises:
            DeviceError: the device is lost.
        """
        if benchmark not in self._checked:
            self._checked[benchmark] = self.device.compare(
                benchmark, self.reference, self.reduction
            )
        return self._checked[benchmark]


def judge_default(
    device: Device, default: Benchmark, task: TuningTask, references: References
) -> OutputVerdict:
    """Return the verdict of a task's reference on the compiler's choice.

    Args:
        device: the device that runs it.
        default: the compiler's choice.
        task: the task.
        references: the references.

    Raises:
        DeviceError: the device is lost.
    """
    outputs = device.outputs(default)
    if isinstance(outputs, Failure):
        return OutputVerdict(Correctness.UNCHECKED, outputs.message)
    return references.judge(task, outputs)


@dataclass
class JudgedOutputs:
    """Compares candidates, each once, with the compiler's choice if that is right, else with the reference.

    Attributes:
        device: the device that runs them.
        default: the compiler's choice.
        reduction: the number of products summed in an element of an output.
        task: the task.
        references: the references; None compares with the compiler's choice only.
        judgement: the verdict of the reference on the compiler's choice, if already computed.
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

    @cached_property
    def default_judgement(self) -> OutputVerdict | None:
        """The verdict of the reference on the compiler's choice; None without references.

        Raises:
            DeviceError: the device is lost.
        """
        if self.judgement is not None or self.references is None:
            return self.judgement
        return judge_default(self.device, self.default, self.task, self.references)

    @property
    def default_is_wrong(self) -> bool:
        """Whether the compiler's choice computes a wrong result."""
        judgement = self.default_judgement
        return judgement is not None and judgement.correctness is Correctness.WRONG

    @cached_property
    def _against_default(self) -> OutputChecks:
        return OutputChecks(self.device, self.default, self.reduction)

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
        default = self._default_outputs if self.references is not None else None
        if self.references is None or isinstance(default, Failure):
            return self._against_default.failure(benchmark)
        outputs = self.device.outputs(benchmark)
        if isinstance(outputs, Failure):
            return outputs
        if not self.default_is_wrong and default is not None:
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
            differing = int((content != expected.bindings[number]).sum())
            if differing:
                message = (
                    f"binding {number}: {differing} of {len(content)} bytes are not the default's"
                )
                return Failure(FailureKind.WRONG, message)
        return None

    @cached_property
    def _default_outputs(self) -> Outputs | Failure:
        return self.device.outputs(self.default)
