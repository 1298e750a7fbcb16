"""Checks of candidates' outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.tuning.devices.device_interface import Device
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.results.failures import Failure


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
            DeviceError: the device is gone.
        """
        if benchmark not in self._checked:
            self._checked[benchmark] = self.device.compare(
                benchmark, self.reference, self.reduction
            )
        return self._checked[benchmark]
