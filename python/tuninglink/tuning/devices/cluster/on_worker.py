"""What runs in a worker of Dask: jobs in processes of their own, so that one that hangs or crashes costs itself only."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Final

from distributed import get_worker

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error
from tuninglink.tuning.devices.device_process import DeviceProcess
from tuninglink.workers import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from tuninglink.tuning.devices.device import DeviceDescription
    from tuninglink.tuning.devices.device_interface import Answer, Request
    from tuninglink.tuning.devices.timing import Settings
    from tuninglink.tuning.results.failures import Failure

_PACKAGES: Final = ("tuninglink", "iree-base-compiler", "iree-base-runtime")

Versions = tuple[str, ...]
"""The versions of the packages that results depend on."""


def versions() -> Versions:
    """Return the versions in this process."""
    return tuple(f"{package} {metadata.version(package)}" for package in _PACKAGES)


@dataclass(frozen=True)
class PoolKey:
    """A pool that is the same on all workers.

    Attributes:
        session: the tuner that it is for.
        initializer: what each new process runs.
        arguments: the arguments of the initializer.
        versions: what the tuner expects here.
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
        settings: how benchmarks are measured.
        timeout: the seconds after which a benchmark counts as hanging.
        versions: what the tuner expects here.
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
        TuninglinkError: the versions here are others.
        Exception: as the futures of `Pool.submit`.
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
    """Pass a request to a device of this worker, which is opened for the first one.

    Raises:
        TuninglinkError: the versions here are others.
        DeviceError: the device cannot be opened, or is gone.
    """
    return _opened(key).ask(request)


def _opened(key: DeviceKey) -> DeviceProcess:
    _expect(key.versions)
    # Dask runs one request to a device at a time, as the device is a resource.
    if key not in _devices:
        _devices[key] = DeviceProcess(key.uri, (), key.settings, key.timeout)
    return _devices[key]


def end_session(session: str) -> None:
    """End the processes that a tuner has started here."""
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
