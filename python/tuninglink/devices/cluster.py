"""Devices of the workers of a cluster, which may join and leave while a tuner runs."""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any, Final, TypeVar, TypeVarTuple

from distributed import Client, KilledWorker, get_worker
from distributed.comm import connect

from tuninglink.devices.device import DeviceDescription, DeviceError, driver_of
from tuninglink.devices.device_set import (
    DESCRIBE,
    REPEATS,
    Answer,
    Device,
    DeviceLostError,
    DeviceProcess,
    DeviceSet,
    Request,
)
from tuninglink.devices.times import Settings
from tuninglink.errors import TuninglinkError
from tuninglink.mlir import error, note
from tuninglink.programs import Failure
from tuninglink.workers import Pool

Returned = TypeVar("Returned")

_PATIENCE: Final = 1.0
"""Interval for polling the list of workers, in seconds."""

_ADMISSION_SECONDS: Final = 0.02
"""Time for each of the measurements of the default on a new device."""

_MOST_DEVICES: Final = 64


class RemoteDevice(Device):
    """A device of a worker, with one request at a time."""

    def __init__(
        self, cluster: Cluster, worker: str, uri: str, settings: Settings, timeout: float
    ) -> None:
        self._cluster = cluster
        self._worker = worker
        self._uri = uri
        self._key = Opened(cluster.session, cluster.versions, (uri, (), settings, timeout))
        description = self.ask(Request(DESCRIBE, ()))
        if isinstance(description, Failure):
            raise DeviceLostError(error(description.message))
        self.description = description

    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """Pass a request to the worker while no other uses the device there."""
        future: Future[Answer | Failure] = self._cluster.client.submit(
            ask_device,
            self._key,
            request,
            workers=[self._worker],
            resources={self._uri: 1},
            pure=False,
        )
        with self._metered():
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
                message = f"worker '{self._worker}' with '{self._uri}' is gone"
                raise DeviceLostError(error(message))


class ClusterDevices(DeviceSet, Device):
    """Equal devices of the workers of a cluster. A device that joins takes part from then on.

    As a device, it is the first one of them that is available. The arguments are those of `Devices`; a driver alone stands
    for all devices of the driver.

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
        self._looked = 0.0
        self._admit_new()
        if not self._devices:
            self.close()
            join = ", ".join(self._uris)
            remedy = note(f"start one with 'dask worker ADDRESS --resources {self._uris[0]}=1'")
            raise DeviceError(error(f"no worker has device '{join}'", notes=[remedy]))

    @property
    def first(self) -> Device:
        """The first available device, whichever that is."""
        return self

    @property
    def description(self) -> DeviceDescription:  # type: ignore[override]
        """The description of the first available device."""
        return self._devices[0].description

    def ask(self, request: Request[Answer]) -> Answer | Failure:
        """Pass a request to the first device; if it is lost, to the next one."""
        while True:
            device = self._devices[0]
            try:
                return device.ask(request)
            except DeviceLostError as lost:
                self._leave(device, lost)

    @property
    def at_once(self) -> int:
        """The current number of devices; new ones are admitted."""
        if time.monotonic() > self._looked + _PATIENCE:
            self._admit_new()
        return len(self._devices)

    def _admit_new(self) -> None:
        """Admit the devices that appeared since the last check, once they have measured the default."""
        self._looked = time.monotonic()
        cluster = self._cluster
        # A device is the address of a worker and the name of a resource.
        workers, uris = sorted(cluster.workers().items()), self._uris
        offered = [
            (address, resource)
            for uri in uris
            for address, worker in workers
            for resource in sorted(worker["resources"])
            if resource == uri or ("://" not in uri and driver_of(resource) == uri)
        ]
        places = {self._places[device] for device in self._devices} | self._refused
        for place in offered:
            if place in places:
                continue
            try:
                device = RemoteDevice(cluster, *place, self._settings, self._timeout)
                defaults = [self._default] if self._default is not None else []
                is_refused = any(
                    self._measure_once(device, default, _ADMISSION_SECONDS) is not None
                    for default in REPEATS * defaults
                )
            except DeviceLostError:
                continue
            if is_refused or (self._devices and device.description.name != self.description.name):
                self._refused.add(place)
                continue
            self._places[device] = place
            self.add(device)


# --- Workers of a cluster: the connection to them, and their jobs --------------------------------

_PACKAGES: Final = ("tuninglink", "iree-base-compiler", "iree-base-runtime")

Versions = tuple[str, ...]
"""The versions of the packages that results depend on."""


def versions() -> Versions:
    """Return the versions of the software in this process."""
    return tuple(f"{package} {metadata.version(package)}" for package in _PACKAGES)


@dataclass(frozen=True)
class Opened:
    """A pool or a device that a tuner opens on workers, with the initializer and its arguments or with those of a device."""

    session: str
    versions: Versions
    arguments: tuple[Any, ...]


_lock = threading.Lock()
_pools: dict[Opened, Pool] = {}
_devices: dict[Opened, DeviceProcess] = {}


def run_job(
    key: Opened, function: Callable[..., object], arguments: tuple[object, ...], seconds: float
) -> object:
    """Run a job in a process of a pool of this worker, and return its result."""
    _expect(key.versions)
    with _lock:
        if key not in _pools:
            _pools[key] = Pool(get_worker().state.nthreads, *key.arguments)
        pool = _pools[key]
    return pool.submit(function, *arguments, seconds=seconds).result()


def ask_device(key: Opened, request: Request[Answer]) -> Answer | Failure:
    """Pass a request to a device of this worker. The first request opens the device."""
    _expect(key.versions)
    # Dask runs one request to a device at a time, as the device is a resource.
    if key not in _devices:
        _devices[key] = DeviceProcess(*key.arguments)
    return _devices[key].ask(request)


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


class Cluster(ExitStack):
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
        super().__init__()
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
        self.callback(self._end)
        if not self.workers():
            self.close()
            message = f"the scheduler at '{address}' has no workers"
            remedy = note("start some with 'dask worker ADDRESS'")
            raise TuninglinkError(error(message, notes=[remedy]))

    def _end(self) -> None:
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


class ClusterPool:
    """A pool whose processes are on the workers of a cluster: each worker has one for each of its threads.

    A job on a worker that dies runs again on another one. The arguments after the first are those of `Pool`.
    """

    def __init__(
        self,
        cluster: Cluster,
        workers: int,
        initializer: Callable[..., object],
        arguments: tuple[Any, ...],
    ) -> None:
        del workers  # as many as there are threads, now and later
        key = Opened(cluster.session, cluster.versions, (initializer, arguments))
        self._run = partial(run_job, key)
        self._executor = cluster.client.get_executor(pure=False)

    def submit(
        self, function: Callable[[*Ts], Returned], *arguments: *Ts, seconds: float = 60.0
    ) -> Future[Returned]:
        job: Future[Returned] = self._executor.submit(self._run, function, arguments, seconds)
        return job

    def close(self) -> None:
        self._executor.shutdown(wait=False)
