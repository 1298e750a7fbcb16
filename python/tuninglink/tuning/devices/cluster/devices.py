"""Devices of the workers of a cluster: they may come and go while a tuner works."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from distributed import KilledWorker

from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.devices.cluster.on_worker import DeviceKey, ask_device
from tuninglink.tuning.devices.device import DeviceError
from tuninglink.tuning.devices.local import Measurement
from tuninglink.tuning.results.failures import Failure
from tuninglink.tuning.scheduling.timeline import UseMeter, mean_use

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.tuning.devices.cluster.connection import Cluster
    from tuninglink.tuning.devices.device import DeviceDescription
    from tuninglink.tuning.devices.timing import CompiledProgram, Rounds, Settings, Timing
    from tuninglink.tuning.programs.benchmark import Benchmark
    from tuninglink.tuning.scheduling.timeline import DeviceUse

Answer = TypeVar("Answer")

_PATIENCE: Final = 1.0
"""Seconds after which it is looked at again which workers there are."""

_MOST_DEVICES: Final = 64


class DeviceLostError(DeviceError):
    """The worker of a device is gone, and with it what it was asked."""


class RemoteDevice:
    """A device of a worker, which is asked one question at a time.

    Args:
        cluster: the cluster.
        worker: the address of the worker.
        key: the device there.

    Attributes:
        description: what it is.

    Raises:
        DeviceLostError: the worker is gone.
        DeviceError: the device cannot be opened.
    """

    def __init__(self, cluster: Cluster, worker: str, key: DeviceKey) -> None:
        self._cluster = cluster
        self._worker = worker
        self._key = key
        self._meter = UseMeter()
        self.description: DeviceDescription = self._ask("description")

    @property
    def place(self) -> tuple[str, str]:
        """The worker and the device."""
        return self._worker, self._key.uri

    @property
    def use(self) -> DeviceUse:
        """How long it was in use so far; what loading took stays on the worker."""
        return self._meter.use

    def measure(
        self, benchmark: Benchmark, seconds: float = 0.02, limit: float | None = None
    ) -> Timing | Failure:
        """Measures one benchmark; see `DeviceProcess.measure`."""
        found: Timing | Failure = self._ask("measure", benchmark, seconds, limit)
        return found

    def rounds(self, benchmarks: Sequence[Benchmark], count: int, seed: int) -> Rounds | Failure:
        """See `MeasuringDevice`."""
        found: Rounds | Failure = self._ask("rounds", tuple(benchmarks), count, seed)
        return found

    def program_rounds(
        self, programs: Sequence[CompiledProgram], count: int, seed: int
    ) -> Rounds | Failure:
        """See `MeasuringDevice`."""
        found: Rounds | Failure = self._ask("program_rounds", tuple(programs), count, seed)
        return found

    def compare(
        self, benchmark: Benchmark, reference: Benchmark, reduction: int = 1
    ) -> Failure | None:
        """See `MeasuringDevice`."""
        found: Failure | None = self._ask("compare", benchmark, reference, reduction)
        return found

    def _ask(self, question: str, *arguments: object) -> Any:
        future = self._cluster.client.submit(
            ask_device,
            self._key,
            question,
            arguments,
            workers=[self._worker],
            resources={self._key.uri: 1},
            pure=False,
        )
        with self._meter.question():
            while True:
                try:
                    return future.result(timeout=_PATIENCE)
                except TimeoutError:
                    # Dask would wait for a worker of this address to come back.
                    if self._worker not in self._cluster.workers():
                        future.cancel()
                        raise self._lost() from None
                except KilledWorker:
                    raise self._lost() from None

    def _lost(self) -> DeviceLostError:
        return DeviceLostError(error(f"worker '{self._worker}' with '{self._key.uri}' is gone"))


class ClusterDevices:
    """Equal devices of the workers of a cluster.

    A device that is lost costs what it was asked, which another one is asked then; the last one ends the work. A device
    that comes takes part from then on.

    Args:
        cluster: the cluster.
        uris: the devices, see `Cluster.devices`.
        settings: how benchmarks are measured.
        timeout: the seconds after which a benchmark counts as hanging.

    Raises:
        DeviceError: no worker has such a device, or one cannot be opened.
    """

    def __init__(
        self, cluster: Cluster, uris: Sequence[str], settings: Settings, timeout: float
    ) -> None:
        self._cluster = cluster
        self._uris = tuple(dict.fromkeys(uris))
        self._settings = settings
        self._timeout = timeout
        self._lock = Lock()
        self._known: list[RemoteDevice] = []
        self._refused: set[tuple[str, str]] = set()
        self._free: SimpleQueue[RemoteDevice] = SimpleQueue()
        self._defaults: dict[tuple[str, str], float] = {}
        self._default: Benchmark | None = None
        self._looked = 0.0
        self._threads = ThreadPoolExecutor(_MOST_DEVICES)
        self.first = _FirstDevice(self)
        self._admit_new()
        if not self._known:
            self.close()
            wanted = ", ".join(self._uris)
            remedy = note(f"start one with 'dask worker ADDRESS --resources {self._uris[0]}=1'")
            raise DeviceError(error(f"no worker has device '{wanted}'", notes=[remedy]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Waits for nothing that is being measured; the devices are closed with the cluster."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def descriptions(self) -> list[DeviceDescription]:
        """What the devices are."""
        return [each.description for each in self._known]

    @property
    def use(self) -> DeviceUse:
        """See `DeviceSet`."""
        return mean_use([each.use for each in self._known])

    @property
    def at_once(self) -> int:
        """How many devices there are now; those that have come meanwhile are admitted."""
        if time.monotonic() > self._looked + _PATIENCE:
            self._admit_new()
        return len(self._known)

    def measure_default(self, benchmark: Benchmark, seconds: float = 0.1) -> float | Failure:
        """See `DeviceSet`."""
        self._default = benchmark
        for each in list(self._known):
            try:
                timing = each.measure(benchmark, seconds)
            except DeviceLostError as lost:
                self.leave(each, lost)
                continue
            if isinstance(timing, Failure):
                return timing
            self._defaults[each.place] = timing.median
        return self._defaults[self._known[0].place]

    def submit(
        self, benchmark: Benchmark, limit_microseconds: float
    ) -> Future[Measurement | Failure]:
        """See `DeviceSet`."""
        return self._threads.submit(self._measure, benchmark, limit_microseconds)

    def current(self) -> RemoteDevice:
        """Returns the device that is the first now."""
        return self._known[0]

    def leave(self, device: RemoteDevice, lost: DeviceLostError) -> None:
        """Goes on without a device.

        Raises:
            DeviceLostError: it was the last one.
        """
        with self._lock:
            self._known = [each for each in self._known if each is not device]
        if not self._known:
            raise lost

    def _measure(self, benchmark: Benchmark, limit: float) -> Measurement | Failure:
        while True:
            device = self._next_free()
            try:
                scale = self._defaults[self._known[0].place] / self._defaults[device.place]
                timing = device.measure(benchmark, limit=limit / scale)
            except DeviceLostError as lost:
                self.leave(device, lost)
                continue
            self._free.put(device)
            if isinstance(timing, Failure):
                return timing
            return Measurement(timing.median * scale, timing)

    def _next_free(self) -> RemoteDevice:
        while True:
            try:
                device = self._free.get(timeout=_PATIENCE)
            except Empty:
                if not self._known:
                    raise DeviceLostError(error("all devices of the cluster are gone")) from None
                continue
            if device in self._known:
                return device

    def _admit_new(self) -> None:
        """Admits the devices that were not there when it was looked last."""
        self._looked = time.monotonic()
        places = {each.place for each in self._known} | self._refused
        for uri in self._uris:
            for worker, resource in self._cluster.devices(uri):
                if (worker, resource) not in places:
                    self._admit(worker, resource)

    def _admit(self, worker: str, uri: str) -> None:
        cluster = self._cluster
        key = DeviceKey(cluster.session, uri, self._settings, self._timeout, cluster.versions)
        try:
            device = RemoteDevice(cluster, worker, key)
            if self._default is not None:
                timing = device.measure(self._default, 0.1)
                if isinstance(timing, Failure):
                    self._refused.add(device.place)
                    return
                self._defaults[device.place] = timing.median
        except DeviceLostError:
            return
        if self._known and device.description.name != self._known[0].description.name:
            self._refused.add(device.place)
            return
        with self._lock:
            self._known.append(device)
        self._free.put(device)


class _FirstDevice:
    """The first of the devices that are there: a question that is lost with one is asked to the next."""

    def __init__(self, devices: ClusterDevices) -> None:
        self._devices = devices

    @property
    def description(self) -> DeviceDescription:
        """See `MeasuringDevice`."""
        return self._devices.current().description

    def rounds(self, benchmarks: Sequence[Benchmark], count: int, seed: int) -> Rounds | Failure:
        """See `MeasuringDevice`."""
        return self._ask(lambda device: device.rounds(benchmarks, count, seed))

    def program_rounds(
        self, programs: Sequence[CompiledProgram], count: int, seed: int
    ) -> Rounds | Failure:
        """See `MeasuringDevice`."""
        return self._ask(lambda device: device.program_rounds(programs, count, seed))

    def compare(
        self, benchmark: Benchmark, reference: Benchmark, reduction: int = 1
    ) -> Failure | None:
        """See `MeasuringDevice`."""
        return self._ask(lambda device: device.compare(benchmark, reference, reduction))

    def _ask(self, question: Callable[[RemoteDevice], Answer]) -> Answer:
        while True:
            device = self._devices.current()
            try:
                return question(device)
            except DeviceLostError as lost:
                self._devices.leave(device, lost)
