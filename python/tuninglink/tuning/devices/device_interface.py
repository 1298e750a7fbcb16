"""What the stages of the tuner ask of devices, wherever they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from tuninglink.tuning.devices.device import DeviceDescription
    from tuninglink.tuning.devices.local import Measurement
    from tuninglink.tuning.devices.timing import CompiledProgram, Rounds
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.results.failures import Failure
    from tuninglink.tuning.scheduling.timeline import DeviceUse


class MeasuringDevice(Protocol):
    """One device. Each question may raise a `DeviceError`: the device is gone."""

    @property
    def description(self) -> DeviceDescription:
        """What it is."""

    def rounds(self, benchmarks: Sequence[Benchmark], count: int, seed: int) -> Rounds | Failure:
        """Measures benchmarks against each other; see `Measurer.rounds`."""

    def program_rounds(
        self, programs: Sequence[CompiledProgram], count: int, seed: int
    ) -> Rounds | Failure:
        """Measures whole programs against each other; see `Measurer.program_rounds`."""

    def compare(
        self, benchmark: Benchmark, reference: Benchmark, reduction: int = 1
    ) -> Failure | None:
        """Compares what a benchmark computes with what another does; see `DeviceProcess.compare`."""


class DeviceSet(Protocol):
    """Equal devices that share the work: `Devices` on this machine, `ClusterDevices` on others."""

    @property
    def first(self) -> MeasuringDevice:
        """The device that races are run on."""

    @property
    def descriptions(self) -> Sequence[DeviceDescription]:
        """What the devices are."""

    @property
    def use(self) -> DeviceUse:
        """How long they were in use so far, each on average."""

    @property
    def at_once(self) -> int:
        """How many benchmarks it takes at once: one for each device, and those that are loaded ahead."""

    def measure_default(self, benchmark: Benchmark, seconds: float = 0.1) -> float | Failure:
        """Measures the default of a task on each device; returns the microseconds of an iteration on the first."""

    def submit(
        self, benchmark: Benchmark, limit_microseconds: float
    ) -> Future[Measurement | Failure]:
        """Measures a candidate on the next device that is free, after its default was measured.

        Args:
            benchmark: the candidate.
            limit_microseconds: one that takes longer is not worth a second sample.

        Returns:
            A future of its time, or of why there is none.
        """
