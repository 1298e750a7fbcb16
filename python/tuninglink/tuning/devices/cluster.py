"""Devices of the workers of a cluster, which may join and leave while a tuner runs."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any, Final, Self, TypeVar, TypeVarTuple

from distributed import Client, KilledWorker, get_worker
from distributed.comm import connect

from tuninglink.errors import TuninglinkError
from tuninglink.mlir import error, note
from tuninglink.tuning.devices.device import DeviceDescription, DeviceError, driver_of
from tuninglink.tuning.devices.device_process import Answer, Device, DeviceProcess, Request
from tuninglink.tuning.devices.device_set import (
    REPEATS,
    DeviceLostError,
    DeviceSet,
)
from tuninglink.tuning.devices.times import DeviceUse, Settings, UseMeter
from tuninglink.tuning.programs import Benchmark, Failure
from tuninglink.workers import Pool

Returned = TypeVar("Returned")

_PATIENCE: Final = 1.0
"""Interval for polling the list of workers, in seconds."""

_ADMISSION_SECONDS: Final = 0.02
"""Time for each of the measurements of the default on a new device."""

_MOST_DEVICES: Final = 64


class RemoteDevice(Device):
    """A device of a worker, with one request at a time."""

    def __init__(self, cluster: Cluster, worker: str, key: DeviceKey) -> None:
        self._cluster = cluster
        self._worker = worker
        self._key = key
        self._meter = UseMeter()
        self._description = self._submit(describe_device)

    @property
    def description(self) -> DeviceDescription:
        return self._description

    @property
    def use(self) -> DeviceUse:
        return self._meter.use

    def ask(self, request: Request[Answer]) -> Answer | Failure:
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
                    if self._worker in self._cluster.workers():
                        continue
                    future.cancel()
                except KilledWorker:
                    pass
                message = f"worker '{self._worker}' with '{self._key.uri}' is gone"
                raise DeviceLostError(error(message))


class ClusterDevices(DeviceSet):
    """Equal devices of the workers of a cluster. A device that joins takes part from then on.

    Args:
        uris: the devices, see `Cluster.devices`.
        settings: the settings of measurements.
        timeout: the seconds after which a benchmark counts as hanging.

    Raises:
        DeviceError: no worker has such a device, or a device cannot be opened.
    """

    def __init__(
        self, cluster: Cluster, uris: Sequence[str], settings: Settings, timeout: float
    ) -> None:
        super().__init__(_MOST_DEVICES)
        self._cluster = cluster
        self._uris = tuple(dict.fromkeys(uris))
        self._settings = settings
        self._timeout = timeout
        self._places: dict[Device, tuple[str, str]] = {}
        self._refused: set[tuple[str, str]] = set()
        self._default: Benchmark | None = None
        self._looked = 0.0
        self._first = _FirstDevice(self)
        self._admit_new()
        if not self._devices:
            self.close()
            join = ", ".join(self._uris)
            remedy = note(f"start one with 'dask worker ADDRESS --resources {self._uris[0]}=1'")
            raise DeviceError(error(f"no worker has device '{join}'", notes=[remedy]))

    @property
    def first(self) -> Device:
        """The first available device, whichever that is."""
        return self._first

    @property
    def at_once(self) -> int:
        """The current number of devices; new ones are admitted."""
        if time.monotonic() > self._looked + _PATIENCE:
            self._admit_new()
        return len(self._devices)

    def measure_default(self, benchmark: Benchmark, seconds: float = 0.1) -> float | Failure:
        """See `DeviceSet`."""
        self._default = benchmark
        return super().measure_default(benchmark, seconds)

    def ask_first(self, request: Request[Answer]) -> Answer | Failure:
        """Pass a request to the first device; if it is lost, to the next one."""
        while True:
            device = self._devices[0]
            try:
                return device.ask(request)
            except DeviceLostError as lost:
                self._leave(device, lost)

    def _admit_new(self) -> None:
        """Admit the devices that appeared since the last check."""
        self._looked = time.monotonic()
        places = {self._places[device] for device in self._devices} | self._refused
        for uri in self._uris:
            for place in self._cluster.devices(uri):
                if place not in places:
                    self._admit(*place)

    def _admit(self, worker: str, uri: str) -> None:
        cluster = self._cluster
        key = DeviceKey(cluster.session, uri, self._settings, self._timeout, cluster.versions)
        try:
            device = RemoteDevice(cluster, worker, key)
            defaults = [self._default] if self._default is not None else []
            for default in REPEATS * defaults:
                if self._measure_once(device, default, _ADMISSION_SECONDS) is not None:
                    self._refused.add((worker, uri))
                    return
        except DeviceLostError:
            return
        if self._devices and device.description.name != self._devices[0].description.name:
            self._refused.add((worker, uri))
            return
        self._places[device] = (worker, uri)
        with self._lock:
            self._devices.append(device)
        self._free.put(device)


class _FirstDevice(Device):
    """The first available device of a cluster."""

    def __init__(self, devices: ClusterDevices) -> None:
        self._devices = devices

    @property
    def description(self) -> DeviceDescription:
        return self._devices.descriptions[0]

    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """See `Device`."""
        return self._devices.ask_first(request)


# --- Workers of a cluster: the connection to them, and their jobs --------------------------------

_PACKAGES: Final = ("tuninglink", "iree-base-compiler", "iree-base-runtime")

Versions = tuple[str, ...]
"""The versions of the packages that results depend on."""


def versions() -> Versions:
    """Return the versions of the software in this process."""
    return tuple(f"{package} {metadata.version(package)}" for package in _PACKAGES)


@dataclass(frozen=True)
class PoolKey:
    """A pool that is the same on all workers."""

    session: str
    initializer: Callable[..., object]
    arguments: tuple[object, ...]
    versions: Versions


@dataclass(frozen=True)
class DeviceKey:
    """A device of this worker, as a tuner has opened it."""

    session: str
    uri: str
    settings: Settings
    timeout: float
    versions: Versions


_lock = threading.Lock()
_pools: dict[PoolKey, Pool] = {}
_devices: dict[DeviceKey, DeviceProcess] = {}


def run_job(
    key: PoolKey, function: Callable[..., object], arguments: tuple[object, ...], seconds: float
) -> object:
    """Run a job in a process of a pool of this worker, and return its result."""
    _expect(key.versions)
    with _lock:
        if key not in _pools:
            _pools[key] = Pool(get_worker().state.nthreads, key.initializer, key.arguments)
        pool = _pools[key]
    return pool.submit(function, *arguments, seconds=seconds).result()


def describe_device(key: DeviceKey) -> DeviceDescription:
    """Return the description of a device of this worker; see `ask_device`."""
    return _opened(key).description


def ask_device(key: DeviceKey, request: Request[Answer]) -> Answer | Failure:
    """Pass a request to a device of this worker. The first request opens the device."""
    return _opened(key).ask(request)


def _opened(key: DeviceKey) -> DeviceProcess:
    _expect(key.versions)
    # Dask runs one request to a device at a time, as the device is a resource.
    if key not in _devices:
        _devices[key] = DeviceProcess(key.uri, (), key.settings, key.timeout)
    return _devices[key]


def end_session(session: str) -> None:
    """End the processes that a tuner has started on this worker."""
    with _lock:
        pools = [_pools.pop(key) for key in list(_pools) if key.session == session]
        devices = [_devices.pop(key) for key in list(_devices) if key.session == session]
    for pool in pools:
        pool.close()
    for device in devices:
        device.close()


def _expect(expected: Versions) -> None:
    result = versions()
    if result != expected:
        here, there = ", ".join(result), ", ".join(expected)
        message = f"worker '{get_worker().address}' has {here}; the tuner has {there}"
        raise TuninglinkError(error(message))


Ts = TypeVarTuple("Ts")

_CONNECT_SECONDS: Final = 5.0


class Cluster:
    """Workers of Dask, of which some offer devices as resources.

    Args:
        address: the address of the scheduler, as in `tcp://10.0.0.1:8786`.

    Attributes:
        session: the unique name of this tuner on the workers.
        versions: the versions that workers must have.

    Raises:
        TuninglinkError: the scheduler does not respond, or has no workers.
    """

    def __init__(self, address: str) -> None:
        self.session = uuid.uuid4().hex
        self.versions = versions()
        try:
            # The client waits for the first answer of a server without a limit.
            seconds = _CONNECT_SECONDS
            asyncio.run(asyncio.wait_for(connect(address, seconds), 2 * seconds)).abort()
            self.client = Client(address, timeout=seconds, set_as_default=False)
        except Exception as failure:  # noqa: BLE001 - another server may send anything
            message = f"no scheduler answers at '{address}': {str(failure) or 'timeout'}"
            remedy = note("start one with 'dask scheduler', and workers with 'dask worker'")
            raise TuninglinkError(error(message, notes=[remedy])) from None
        if not self.workers():
            self.close()
            message = f"the scheduler at '{address}' has no workers"
            remedy = note("start some with 'dask worker ADDRESS'")
            raise TuninglinkError(error(message, notes=[remedy]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the tuner's tasks on the workers, and the connection."""
        with suppress(Exception):  # of a worker that is gone, or never had the package
            self.client.run(end_session, self.session, on_error="return")
        self.client.close(timeout=_CONNECT_SECONDS)

    def workers(self) -> dict[str, Any]:
        """Return the scheduler's data on the workers, by their addresses."""
        # Not `scheduler_info`, whose answer a periodic update without workers may replace before it is read.
        identity = self.client.sync(self.client.scheduler.identity, n_workers=-1)
        workers: dict[str, Any] = identity["workers"]
        return workers

    @property
    def threads(self) -> int:
        """The number of jobs that run at once, on all workers together."""
        return sum(worker["nthreads"] for worker in self.workers().values())

    def devices(self, uri: str) -> list[tuple[str, str]]:
        """Return the devices of a URI: the address of the worker and the name of the resource.

        Args:
            uri: a device; a driver alone stands for all devices of the driver.
        """
        return [
            (address, resource)
            for address, worker in sorted(self.workers().items())
            for resource in sorted(worker["resources"])
            if resource == uri or ("://" not in uri and driver_of(resource) == uri)
        ]

    def pool(
        self, workers: int, initializer: Callable[..., object], arguments: tuple[Any, ...]
    ) -> ClusterPool:
        """Return a pool whose jobs run on the workers; the arguments are those of `Pool`."""
        del workers  # as many as there are threads, now and later
        return ClusterPool(self, initializer, arguments)


class ClusterPool:
    """A pool whose processes are on the workers of a cluster: each worker has one for each of its threads.

    A job on a worker that dies runs again on another one.
    """

    def __init__(
        self, cluster: Cluster, initializer: Callable[..., object], arguments: tuple[Any, ...]
    ) -> None:
        key = PoolKey(cluster.session, initializer, arguments, cluster.versions)
        self._run = partial(run_job, key)
        self._executor = cluster.client.get_executor(pure=False)

    def submit(
        self, function: Callable[[*Ts], Returned], *arguments: *Ts, seconds: float = 60.0
    ) -> Future[Returned]:
        job: Future[Returned] = self._executor.submit(self._run, function, arguments, seconds)
        return job

    def close(self) -> None:
        self._executor.shutdown(wait=False)
