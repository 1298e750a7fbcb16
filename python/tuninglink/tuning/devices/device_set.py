"""The interface of equal devices that share the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from tuninglink.tuning.devices.device import DeviceDescription
    from tuninglink.tuning.devices.device_interface import Device
    from tuninglink.tuning.devices.screening import Measurement
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.results.failures import Failure
    from tuninglink.tuning.scheduling.timeline import DeviceUse


class DeviceSet(Protocol):
    """Equal devices that share the work: `Devices` on this machine, `ClusterDevices` on others."""

    @property
    def first(self) -> Device:
        """The device that races are run on."""

    @property
    def descriptions(self) -> Sequence[DeviceDescription]:
        """The descriptions of the devices."""

    @property
    def use(self) -> DeviceUse:
        """How long they were in use so far, on average."""

    @property
    def at_once(self) -> int:
        """How many benchmarks it takes at once: one for each device, and those that are loaded ahead."""

    def measure_default(self, benchmark: Benchmark, seconds: float = 0.1) -> float | Failure:
        """Measure the default of a task on each device; return the microseconds of an iteration on the first."""

    def submit(
        self, benchmark: Benchmark, best_microseconds: float
    ) -> Future[Measurement | Failure]:
        """Measure a candidate on the next device that is free, after its default was measured.

        Args:
            benchmark: the candidate.
            best_microseconds: the least time of the task so far; see `screen`.

        Returns:
            A future of its time, or of why there is none.
        """
