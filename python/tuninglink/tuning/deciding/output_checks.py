"""Checks of what candidates compute."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.tuning.devices.device_interface import Device
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.results.failures import Failure


@dataclass(frozen=True)
class OutputChecks:
    """Compares the outputs of candidates with those of a reference, each candidate once.

    Attributes:
        device: runs them.
        reference: the benchmark whose outputs are right.
        reduction: how many products make an element of an output.
    """

    device: Device
    reference: Benchmark
    reduction: int
    _checked: dict[Benchmark, Failure | None] = field(default_factory=dict)

    def failure(self, benchmark: Benchmark) -> Failure | None:
        """Return what is wrong with the outputs of a candidate, or why it cannot be run; None if it is right.

        Raises:
            DeviceError: the device is gone.
        """
        if benchmark not in self._checked:
            self._checked[benchmark] = self.device.compare(
                benchmark, self.reference, self.reduction
            )
        return self._checked[benchmark]
