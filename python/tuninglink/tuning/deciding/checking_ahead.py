"""Checking what finalists compute while the last candidates compile, so that the race need not wait for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.tuning.devices.device import DeviceDescription
    from tuninglink.tuning.devices.device_interface import MeasuringDevice
    from tuninglink.tuning.devices.timing import CompiledProgram, Rounds
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.results.failures import Failure


@dataclass(frozen=True)
class CheckingDevice:
    """A device that compares the same benchmarks once.

    Attributes:
        device: the device.
        reference: the benchmark that is right.
        reduction: how many products make an element of an output.
    """

    device: MeasuringDevice
    reference: Benchmark
    reduction: int
    _known: dict[Benchmark, Failure | None] = field(default_factory=dict)

    def check_one(self, benchmarks: Iterable[Benchmark | None]) -> bool:
        """Compares the first benchmark that was not compared yet; tells whether there was one.

        Raises:
            DeviceError: the device is gone.
        """
        new = next((each for each in benchmarks if each and each not in self._known), None)
        if new is not None:
            self.compare(new, self.reference, self.reduction)
        return new is not None

    @property
    def description(self) -> DeviceDescription:
        """See `MeasuringDevice`."""
        return self.device.description

    def rounds(self, benchmarks: Sequence[Benchmark], count: int, seed: int) -> Rounds | Failure:
        """See `MeasuringDevice`."""
        return self.device.rounds(benchmarks, count, seed)

    def program_rounds(
        self, programs: Sequence[CompiledProgram], count: int, seed: int
    ) -> Rounds | Failure:
        """See `MeasuringDevice`."""
        return self.device.program_rounds(programs, count, seed)

    def compare(
        self, benchmark: Benchmark, reference: Benchmark, reduction: int = 1
    ) -> Failure | None:
        """See `MeasuringDevice`."""
        if reference != self.reference or reduction != self.reduction:
            return self.device.compare(benchmark, reference, reduction)
        if benchmark not in self._known:
            self._known[benchmark] = self.device.compare(benchmark, reference, reduction)
        return self._known[benchmark]
