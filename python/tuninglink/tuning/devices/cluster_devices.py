"""Devices of the workers of a cluster, which may join and leave while a tuner runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Final, Self, TypeVar

from distributed import KilledWorker

from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.devices import Settings
from tuninglink.tuning.devices.cluster_workers import (
    Cluster,
    DeviceKey,
    ask_device,
    describe_device,
)
from tuninglink.tuning.devices.device import DeviceDescription, DeviceError
from tuninglink.tuning.devices.device_process import Answer, Device, Request
from tuninglink.tuning.devices.device_set import (
    REPEATS,
    BestTime,
    DefaultTimes,
    Measurement,
    screen,
)
from tuninglink.tuning.programs.benchmark import Benchmark
from tuninglink.tuning.results import Failure
from tuninglink.tuning.scheduling import DeviceUse, UseMeter, mean_use

Returned = TypeVar("Returned")

_PATIENCE: Final = 1.0
"""Interval for polling the list of workers, in seconds."""

_ADMISSION_SECONDS: Final = 0.02
"""Time for each of the measurements of the default on a new device."""

_MOST_DEVICES: Final = 64


class DeviceLostError(DeviceError):
    """The worker of a device is gone, and with it the pending request."""


class RemoteDevice(Device):
    """A device of a worker, with one request at a time.

    Args:
        cluster: the cluster.
        worker: the address of the worker.
        key: the device there.

    Raises:
        DeviceLostError: the worker is lost.
        DeviceError: the device cannot be opened.
    """

    def __init__(self, cluster: Cluster, worker: str, key: DeviceKey) -> None:
        self._cluster = cluster
        self._worker = worker
        self._key = key
        self._meter = UseMeter()
        self._description = self._submit(describe_device)

    @property
    def description(self) -> DeviceDescription:
        """The description of the device."""
        return self._description

    @property
    def place(self) -> tuple[str, str]:
        """The worker and the device."""
        return self._worker, self._key.uri

    @property
    def use(self) -> DeviceUse:
        """The time that the device was in use so far; loading times stay on the worker."""
        return self._meter.use

    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """See `Device`."""
        return self._submit(ask_device, request)

    def _submit(self, function: Callable[..., Returned], *arguments: object) -> Returned:
        """Run a function on the worker while no other uses the device there."""
        future: Future[Returned] = self._cluster.client.submit(
            function,
            self._key,
            *arguments,
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

    If a device is lost, its pending request is retried on another one; losing the last one ends the work. A device
    that joins takes part from then on.

    Args:
        cluster: the cluster.
        uris: the devices, see `Cluster.devices`.
        settings: the settings of measurements.
        timeout: the seconds after which a benchmark counts as hanging.

    Raises:
        DeviceError: no worker has such a device, or a device cannot be opened.
    """

    def __init__(
        self, cluster: Cluster, uris: Sequence[str], settings: Settings, timeout: float
    ) -> None:
        self._cluster = cluster
        self._uris = tuple(dict.fromkeys(uris))
        self._settings = settings
        self._timeout = timeout
        self._lock = Lock()
        self._connected: list[RemoteDevice] = []
        self._refused: set[tuple[str, str]] = set()
        self._free: SimpleQueue[RemoteDevice] = SimpleQueue()
        self._defaults = DefaultTimes()
        self._default: Benchmark | None = None
        self._looked = 0.0
        self._threads = ThreadPoolExecutor(_MOST_DEVICES)
        self.first = _FirstDevice(self)
        self._admit_new()
        if not self._connected:
            self.close()
            join = ", ".join(self._uris)
            remedy = note(f"start one with 'dask worker ADDRESS --resources {self._uris[0]}=1'")
            raise DeviceError(error(f"no worker has device '{join}'", notes=[remedy]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop without waiting for running measurements; the devices are closed with the cluster."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def descriptions(self) -> list[DeviceDescription]:
        """Descriptions of the devices."""
        return [device.description for device in self._connected]

    @property
    def use(self) -> DeviceUse:
        """See `DeviceSet`."""
        return mean_use([device.use for device in self._connected])

    @property
    def at_once(self) -> int:
        """The current number of devices; new ones are admitted."""
        if time.monotonic() > self._looked + _PATIENCE:
            self._admit_new()
        return len(self._connected)

    def measure_default(self, benchmark: Benchmark, seconds: float = 0.1) -> float | Failure:
        """See `DeviceSet`."""
        self._default = benchmark
        repeats = REPEATS if len(self._connected) > 1 else 1
        for _ in range(repeats):
            for device in list(self._connected):
                try:
                    failure = self._measure_once(device, benchmark, seconds / repeats)
                except DeviceLostError as lost:
                    self.leave(device, lost)
                    continue
                if failure is not None:
                    return failure
        return self._defaults.least(self._connected[0].place, benchmark)

    def _measure_once(
        self, device: RemoteDevice, default: Benchmark, seconds: float
    ) -> Failure | None:
        timing = device.measure(default, seconds)
        if isinstance(timing, Failure):
            return timing
        self._defaults.add(device.place, default, timing.least)
        return None

    def submit(self, benchmark: Benchmark, best: BestTime) -> Future[Measurement | Failure]:
        """See `DeviceSet`."""
        return self._threads.submit(self._measure, benchmark, best)

    def current(self) -> RemoteDevice:
        """Return the device that is currently the first."""
        return self._connected[0]

    def leave(self, device: RemoteDevice, lost: DeviceLostError) -> None:
        """Continue without a device.

        Raises:
            DeviceLostError: it was the last one.
        """
        with self._lock:
            self._connected = [other for other in self._connected if other is not device]
        if not self._connected:
            raise lost

    def _measure(self, benchmark: Benchmark, best: BestTime) -> Measurement | Failure:
        while True:
            device = self._next_free()
            try:
                scale = self._defaults.scale(self._connected[0].place, device.place)
                measurement = screen(device, benchmark, best, scale.factor)
            except DeviceLostError as lost:
                self.leave(device, lost)
                continue
            self._free.put(device)
            return measurement

    def _next_free(self) -> RemoteDevice:
        while True:
            try:
                device = self._free.get(timeout=_PATIENCE)
            except Empty:
                if not self._connected:
                    raise DeviceLostError(error("all devices of the cluster are gone")) from None
                continue
            if device in self._connected:
                return device

    def _admit_new(self) -> None:
        """Admit the devices that appeared since the last check."""
        self._looked = time.monotonic()
        places = {device.place for device in self._connected} | self._refused
        for uri in self._uris:
            for worker, resource in self._cluster.devices(uri):
                if (worker, resource) not in places:
                    self._admit(worker, resource)

    def _admit(self, worker: str, uri: str) -> None:
        cluster = self._cluster
        key = DeviceKey(cluster.session, uri, self._settings, self._timeout, cluster.versions)
        try:
            device = RemoteDevice(cluster, worker, key)
            defaults = [self._default] if self._default is not None else []
            for default in REPEATS * defaults:
                if self._measure_once(device, default, _ADMISSION_SECONDS) is not None:
                    self._refused.add(device.place)
                    return
        except DeviceLostError:
            return
        if self._connected and device.description.name != self._connected[0].description.name:
            self._refused.add(device.place)
            return
        with self._lock:
            self._connected.append(device)
        self._free.put(device)


class _FirstDevice(Device):
    """The first available device; if it is lost, its pending request goes to the next one."""

    def __init__(self, devices: ClusterDevices) -> None:
        self._devices = devices

    @property
    def description(self) -> DeviceDescription:
        """See `Device`."""
        return self._devices.current().description

    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """See `Device`."""
        while True:
            device = self._devices.current()
            try:
                return device.ask(request)
            except DeviceLostError as lost:
                self._devices.leave(device, lost)
