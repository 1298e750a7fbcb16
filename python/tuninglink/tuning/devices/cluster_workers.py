"""Workers of a cluster: the connection to them, and their jobs."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from typing import Any, Final, Self, TypeVar, TypeVarTuple

from distributed import Client, get_worker

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, note
from tuninglink.tuning.devices import Settings
from tuninglink.tuning.devices.device import DeviceDescription, driver_of
from tuninglink.tuning.devices.device_process import Answer, DeviceProcess, Request
from tuninglink.tuning.results import Failure
from tuninglink.workers import Pool

_PACKAGES: Final = ("tuninglink", "iree-base-compiler", "iree-base-runtime")

Versions = tuple[str, ...]
"""The versions of the packages that results depend on."""


def versions() -> Versions:
    """Return the versions of the software in this process."""
    return tuple(f"{package} {metadata.version(package)}" for package in _PACKAGES)


@dataclass(frozen=True)
class PoolKey:
    """A pool that is the same on all workers.

    Attributes:
        session: the tuner that owns the pool.
        initializer: the function that each new process runs.
        arguments: the arguments of the initializer.
        versions: the versions that the tuner expects.
    """

    session: str
    initializer: Callable[..., object]
    arguments: tuple[object, ...]
    versions: Versions


@dataclass(frozen=True)
class DeviceKey:
    """A device of this worker, as a tuner has opened it.

    Attributes:
        session: the tuner.
        uri: the device.
        settings: the settings of measurements.
        timeout: the seconds after which a benchmark counts as hanging.
        versions: the versions that the tuner expects.
    """

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
    """Run a job in a process of a pool of this worker, and return its result.

    Raises:
        TuninglinkError: the versions on this worker differ.
        Exception: the same as the futures of `Pool.submit`.
    """
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
    """Pass a request to a device of this worker. The first request opens the device.

    Raises:
        TuninglinkError: the versions on this worker differ.
        DeviceError: the device cannot be opened, or is lost.
    """
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


T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_CONNECT_SECONDS: Final = 5.0
_END_SECONDS: Final = 5.0


class Cluster:
    """Workers of Dask, some of which have devices as resources.

    Args:
        address: the address of the scheduler, as in `tcp://10.0.0.1:8786`.

    Attributes:
        client: the connection.
        session: the unique name of this tuner on the workers.
        versions: the versions that workers must have.

    Raises:
        TuninglinkError: the scheduler does not respond, or has no workers.
    """

    def __init__(self, address: str) -> None:
        self.session = uuid.uuid4().hex
        self.versions = versions()
        try:
            self.client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as failure:
            message = f"no scheduler answers at '{address}': {failure}"
            remedy = note("start one with 'dask scheduler', and workers with 'dask worker'")
            raise TuninglinkError(error(message, notes=[remedy])) from None
        if not self.workers():
            self.close()
            message = f"the scheduler at '{address}' has no workers"
            raise TuninglinkError(
                error(message, notes=[note("start some with 'dask worker ADDRESS'")])
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the tuner's tasks on the workers, and the connection."""
        with suppress(Exception):  # of a worker that is gone, or never had the package
            self.client.run(end_session, self.session, on_error="return")
        self.client.close(timeout=_END_SECONDS)

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

    Args:
        cluster: the cluster.
        initializer: the function that each new process runs before its first job.
        arguments: the arguments of the initializer.
    """

    def __init__(
        self, cluster: Cluster, initializer: Callable[..., object], arguments: tuple[Any, ...]
    ) -> None:
        key = PoolKey(cluster.session, initializer, arguments, cluster.versions)
        self._run = partial(run_job, key)
        self._executor = cluster.client.get_executor(pure=False)

    def submit(
        self, function: Callable[[*Ts], T], *arguments: *Ts, seconds: float = 60.0
    ) -> Future[T]:
        """Call a function in a process on a worker; see `Pool.submit`."""
        job: Future[T] = self._executor.submit(self._run, function, arguments, seconds)
        return job

    def close(self) -> None:
        """Cancel all jobs."""
        self._executor.shutdown(wait=False)
