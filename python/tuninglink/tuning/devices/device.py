"""Devices of the runtime: their list, their descriptions, and how to open them."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

import iree.runtime as rt

from tuninglink.errors import did_you_mean
from tuninglink.mlir.diagnostics import Diagnostic, error, note
from tuninglink.tuning.results import FatalError
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

LOCAL_DRIVERS: Final = frozenset({"local-task", "local-sync"})
"""The drivers whose device is the CPU."""

SYNCHRONOUS_DRIVER: Final = "local-sync"
"""The driver that runs a dispatch in the thread that calls it."""

THREADED_DRIVER: Final = "local-task"
"""The driver that runs a dispatch on several threads of the CPU."""


COMPILING_DRIVERS: Final = frozenset({"cuda"})
"""The drivers that compile loaded modules, and keep the result in a cache that other processes use."""

_NUMBERING_DRIVERS: Final = frozenset({"cuda", "hip"})
"""The drivers that open a device by its number; that of Vulkan only knows the identifiers that it lists."""


class DeviceError(FatalError):
    """A device is unknown, missing, busy or gone."""


@dataclass(frozen=True)
class DeviceDescription:
    """The description of a device.

    Attributes:
        uri: the URI by which the runtime and its tools open it, as in `cuda://0`.
        name: the product, as in `NVIDIA H200`; on the CPU the model of the processor.
        driver: the driver of the runtime, as in `cuda`.
        driver_version: the version of the vendor's driver; on the CPU that of the kernel; empty if unknown.
        runtime: the version of the runtime.
        cores: the number of threads that work on a dispatch; 0 if the device is not the CPU.
    """

    uri: str
    name: str
    driver: str
    driver_version: str
    runtime: str
    cores: int

    @property
    def is_local(self) -> bool:
        """Whether the device is the CPU that also compiles."""
        return self.driver in LOCAL_DRIVERS


def driver_of(uri: str) -> str:
    """Return the name of the driver in the URI of a device."""
    return uri.partition("://")[0]


def describe(uri: str, cores: Sequence[int] = ()) -> DeviceDescription:
    """Return the description of a device, without opening it.

    Args:
        uri: the device; a driver alone stands for its first device.
        cores: the processors that a threaded CPU device is pinned to; see `open_device`.

    Raises:
        DeviceError: there is no such driver or device.
    """
    driver = driver_of(uri)
    if driver in LOCAL_DRIVERS:
        _driver(driver)
        return _local_device(uri, driver, cores)
    devices = devices_of(driver)
    path = uri.partition("://")[2]
    for index, device in enumerate(devices):
        if path in {"", str(index), device.uri.partition("://")[2]}:
            opened = uri if driver in _NUMBERING_DRIVERS else device.uri
            return DeviceDescription(
                opened, device.name, driver, device.driver_version, device.runtime, cores=0
            )
    available = ", ".join(device.uri for device in devices) or "none"
    raise DeviceError(error(f"there is no device '{uri}'", notes=[note(f"available: {available}")]))


_CHECK_SECONDS: Final = 60.0
"""The time limit for a driver to load and to list its devices; see `DeviceProcess`."""


def check_devices(uris: Sequence[str]) -> None:
    """Check that devices exist, without opening them.

    Vendors' drivers, which may crash or hang, are loaded in a separate process.

    Raises:
        DeviceError: there is no such driver or device.
    """
    for uri in uris:
        if driver_of(uri) in LOCAL_DRIVERS:
            describe(uri)
    others = [uri for uri in uris if driver_of(uri) not in LOCAL_DRIVERS]
    if not others:
        return
    with Pool(1) as pool:
        for uri in others:
            try:
                pool.submit(describe, uri, seconds=_CHECK_SECONDS).result()
            except JobTimeoutError:
                message = (
                    f"driver '{driver_of(uri)}' lists no devices within {_CHECK_SECONDS:.0f} s"
                )
                raise DeviceError(error(message, notes=[_remedy()])) from None
            except WorkerCrashedError as failure:
                message = f"the process that loads driver '{driver_of(uri)}' ended: {failure}"
                raise DeviceError(error(message, notes=[_remedy()])) from None


def open_device(uri: str, cores: Sequence[int] = ()) -> rt.HalDevice:
    """Open a device. This process then owns the device and the processors that it is pinned to.

    Args:
        uri: the device.
        cores: the processors for the threads of `local-task`, one each; by default the physical cores that the
            process may run on.

    Raises:
        DeviceError: there is no such driver or device, or it is busy.
    """
    if driver_of(uri) == THREADED_DRIVER:
        pinned = ",".join(map(str, cores or physical_cores()))
        rt.flags.parse_flags(f"--task_topology_cpu_ids={pinned}")
    driver, opened = _driver(driver_of(uri)), runtime_uri(uri)
    try:
        return driver.create_device_by_uri(opened)
    except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
        raise DeviceError(
            error(f"cannot open device '{uri}': {_reason(failure)}", notes=[_remedy()])
        ) from None


def runtime_uri(uri: str) -> str:
    """Return the URI by which the runtime and its tools open a device, which `uri` may give by number.

    Raises:
        DeviceError: there is no such driver or device.
    """
    driver, _, path = uri.partition("://")
    if driver in LOCAL_DRIVERS | _NUMBERING_DRIVERS or not path.isdecimal():
        return uri
    return describe(uri).uri


def physical_cores() -> list[int]:
    """Return the processors that this process may run on, one of each physical core."""
    allowed = sorted(os.sched_getaffinity(0))
    first_of_core: dict[str, int] = {}
    for processor in allowed:
        siblings = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        key = siblings.read_text().strip() if siblings.is_file() else str(processor)
        first_of_core.setdefault(key, processor)
    return sorted(first_of_core.values())


def _driver(name: str) -> rt.HalDriver:
    available = sorted(rt.query_available_drivers())
    if name not in available:
        drivers = note(f"the runtime knows: {', '.join(available)}")
        hint = did_you_mean(name, available)
        raise DeviceError(error(f"there is no driver '{name}'{hint}", notes=[drivers]))
    try:
        return rt.get_driver(name)
    except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
        message = f"driver '{name}' cannot be loaded: {_reason(failure)}"
        raise DeviceError(error(message, notes=[_remedy()])) from None


def devices_of(driver: str) -> list[DeviceDescription]:
    """Return the devices of a driver other than those of the CPU.

    Raises:
        DeviceError: the driver does not exist, cannot be loaded, or lists no devices.
    """
    loaded = _driver(driver)
    try:
        available_devices = loaded.query_available_devices()
    except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
        message = f"driver '{driver}' lists no devices: {_reason(failure)}"
        raise DeviceError(error(message, notes=[_remedy()])) from None
    version = _driver_version(driver)
    runtime = metadata.version("iree-base-runtime")
    return [
        DeviceDescription(
            f"{driver}://{device.get('path') or index}", device["name"], driver, version, runtime, 0
        )
        for index, device in enumerate(available_devices)
    ]


def _local_device(uri: str, driver: str, cores: Sequence[int]) -> DeviceDescription:
    is_threaded = driver == THREADED_DRIVER
    count = len(cores or physical_cores()) if is_threaded else 1
    runtime = metadata.version("iree-base-runtime")
    return DeviceDescription(uri, _processor(), driver, platform.release(), runtime, count)


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    text = information.read_text() if information.is_file() else ""
    match_ = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return match_[1].strip() if match_ else platform.processor() or platform.machine()


def _driver_version(driver: str) -> str:
    """Return the version of a vendor's kernel module, if the system reports it."""
    module = {"cuda": "nvidia", "hip": "amdgpu", "vulkan": "nvidia"}.get(driver, driver)
    file = Path(f"/sys/module/{module}/version")
    return file.read_text().strip() if file.is_file() else ""


def _reason(failure: Exception) -> str:
    """Return the runtime's message, without the chain of its source positions."""
    text = " ".join(str(failure).split())
    match_ = re.search(r"\b([A-Z_]{4,}); (.+?)(?::? Tried:|;? \[|; while |$)", text)
    return f"{match_[2]} ({match_[1]})" if match_ else text


def _remedy() -> Diagnostic:
    local = ", ".join(sorted(LOCAL_DRIVERS))
    return note(
        f"check the vendor's driver and that no other process holds the device; always there: {local}"
    )
