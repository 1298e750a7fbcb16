"""Devices of the runtime: their list, their descriptions, and how to open them."""

from __future__ import annotations

import ctypes
import os
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

import iree.runtime as rt

from tuninglink.errors import Diagnostic, did_you_mean
from tuninglink.mlir import error, note
from tuninglink.tuning.programs import FatalError
from tuninglink.workers import JobTimeoutError, Pool, WorkerCrashedError

LOCAL_DRIVERS: Final[frozenset[str]] = frozenset({"local-task", "local-sync"})
"""The drivers whose device is the CPU."""

SYNCHRONOUS_DRIVER: Final = "local-sync"
"""The driver that runs a dispatch in the thread that calls it."""

THREADED_DRIVER: Final = "local-task"
"""The driver that runs a dispatch on several threads of the CPU."""


COMPILING_DRIVERS: Final = frozenset({"cuda"})
"""The drivers that compile loaded modules, and keep the result in a cache that other processes use."""

_NUMBERING_DRIVERS: Final = frozenset({"cuda", "hip"})
"""The drivers that open a device by its number; that of Vulkan only knows the identifiers that it lists."""

_KEPT_BYTES: Final = "4gib"
_ALLOCATORS: Final = {
    driver: [f"caching:device_local={_KEPT_BYTES};{_KEPT_BYTES};64"]
    for driver in ("cuda", SYNCHRONOUS_DRIVER)
}
"""Allocators that keep freed buffers, for drivers that would get new memory for the results of each call. The driver of
HIP keeps them by default, that of Vulkan allocates from large blocks, and `local-task` does not use the allocator."""


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
        DeviceError: the driver or device does not exist.
    """
    driver = driver_of(uri)
    if driver in LOCAL_DRIVERS:
        _driver(driver)
        is_threaded = driver == THREADED_DRIVER
        count = len(cores or physical_cores()) if is_threaded else 1
        runtime = metadata.version("iree-base-runtime")
        information = Path("/proc/cpuinfo")
        text = information.read_text() if information.is_file() else ""
        model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
        name = model[1].strip() if model else platform.processor() or platform.machine()
        return DeviceDescription(uri, name, driver, platform.release(), runtime, count)
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
        DeviceError: the driver or device does not exist.
    """
    with Pool(1) as pool:
        for uri in sorted(uris, key=lambda uri: driver_of(uri) not in LOCAL_DRIVERS):
            driver = driver_of(uri)
            try:
                if driver in LOCAL_DRIVERS:
                    describe(uri)
                else:
                    pool.submit(describe, uri, seconds=_CHECK_SECONDS).result()
            except JobTimeoutError:
                message = f"driver '{driver}' lists no devices within {_CHECK_SECONDS:.0f} s"
                raise DeviceError(error(message, notes=[_remedy()])) from None
            except WorkerCrashedError as failure:
                message = f"the process that loads driver '{driver}' ended: {failure}"
                raise DeviceError(error(message, notes=[_remedy()])) from None


def open_device(uri: str, cores: Sequence[int] = ()) -> rt.HalDevice:
    """Open a device. This process then owns the device and the processors that it is pinned to.

    Args:
        uri: the device.
        cores: the processors for the threads of `local-task`, one each; by default the physical cores that the
            process may run on.

    Raises:
        DeviceError: the driver or device does not exist, or it is busy.
    """
    name = driver_of(uri)
    if name == THREADED_DRIVER:
        _keep_freed_memory()
        pinned = ",".join(map(str, cores or physical_cores()))
        rt.flags.parse_flags(f"--task_topology_cpu_ids={pinned}")
    driver, opened = _driver(name), runtime_uri(uri)
    try:
        return driver.create_device_by_uri(opened, allocators=_ALLOCATORS.get(name))
    except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
        raise DeviceError(
            error(f"cannot open device '{uri}': {_reason(failure)}", notes=[_remedy()])
        ) from None


_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_MAX: Final = -4
"""Parameters of `mallopt` in glibc's `malloc.h`."""


def _keep_freed_memory() -> None:
    """Let the C library keep freed memory: the system clears each page that a call gets anew, for its results."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):  # not in other C libraries
        library.mallopt(_M_MMAP_MAX, 0)  # large blocks, too, come from the heap
        library.mallopt(_M_TRIM_THRESHOLD, -1)  # and stay there


def release_memory(device: rt.HalDevice) -> None:
    """Return the memory of freed buffers to the system, before other programs or benchmarks need theirs."""
    device.allocator.trim()
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def runtime_uri(uri: str) -> str:
    """Return the URI by which the runtime and its tools open a device, which `uri` may give by number.

    Raises:
        DeviceError: the driver or device does not exist.
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
    if name == "cuda":
        # Asynchronous allocations come from a pool that gives all memory back after each call.
        rt.flags.parse_flags("--cuda_async_allocations=false")
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
    module = {"cuda": "nvidia", "hip": "amdgpu", "vulkan": "nvidia"}.get(driver, driver)
    file = Path(f"/sys/module/{module}/version")
    version = file.read_text().strip() if file.is_file() else ""
    runtime = metadata.version("iree-base-runtime")
    return [
        DeviceDescription(
            f"{driver}://{device.get('path') or index}", device["name"], driver, version, runtime, 0
        )
        for index, device in enumerate(available_devices)
    ]


def _reason(failure: Exception) -> str:
    text = " ".join(str(failure).split())
    match_ = re.search(r"\b([A-Z_]{4,}); (.+?)(?::? Tried:|;? \[|; while |$)", text)
    return f"{match_[2]} ({match_[1]})" if match_ else text


def _remedy() -> Diagnostic:
    local = ", ".join(sorted(LOCAL_DRIVERS))
    return note(
        f"check the vendor's driver and that no other process holds the device; always there: {local}"
    )


# --- Properties of devices that no runtime reports: sizes of caches, and compute units of GPUs ---

_GPU_BYTES: Final = 256 << 20
"""The largest last-level cache of the GPUs in use: that of an MI300X (AMD's white paper on CDNA 3)."""

_CPU_BYTES: Final = 32 << 20
"""The assumed last-level cache where the system reports none, in bytes."""

_UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def last_level_bytes(uri: str) -> int:
    """Return the size of a device's last-level cache; for a GPU, the largest of all known GPUs."""
    if driver_of(uri) not in LOCAL_DRIVERS:
        return _GPU_BYTES
    return _last_level_cache(0)[0]


def shared_cache_bytes(processors: Iterable[int]) -> int:
    """Return the total size of the last-level caches of processors."""
    return sum(size for size, _ in set(map(_last_level_cache, processors)))


def _last_level_cache(processor: int) -> tuple[int, str]:
    """Return the size of the last-level cache of a processor, and the processors that share it."""
    caches = []
    for file in Path(f"/sys/devices/system/cpu/cpu{processor}/cache").glob("index*/size"):
        size = file.read_text().strip()
        shared = file.with_name("shared_cpu_list").read_text()
        caches.append((int(size[:-1]) * _UNITS[size[-1]], shared))
    return max(caches, default=(_CPU_BYTES, ""))


_BY_NAME: Final = {
    # NVIDIA: streaming multiprocessors, from the white papers of the architectures (V100, Turing, A100, GA102, H100, Ada,
    # RTX Blackwell) and the product pages
    "GB200": 148,
    "B200": 148,
    "H200": 132,
    "H100 PCIe": 114,
    "H100": 132,
    "A100": 108,
    "A40": 84,
    "RTX A6000": 84,
    "RTX A5000": 64,
    "RTX A4000": 48,
    "A30": 56,
    "A10G": 80,
    "A10": 72,
    "L40": 142,
    "L40S": 142,
    "RTX 6000 Ada": 142,
    "L4": 58,
    "T4": 40,
    "V100": 80,
    "GB10": 48,
    "RTX PRO 6000": 188,
    "RTX 5090 Laptop": 82,
    "RTX 5090": 170,
    "RTX 5080 Laptop": 60,
    "RTX 5080": 84,
    "RTX 5070 Ti Laptop": 46,
    "RTX 5070 Ti": 70,
    "RTX 5070 Laptop": 36,
    "RTX 5070": 48,
    "RTX 5060 Ti": 36,
    "RTX 5060 Laptop": 26,
    "RTX 5060": 30,
    "RTX 5050": 20,
    "RTX 4090 Laptop": 76,
    "RTX 4090 D": 114,
    "RTX 4090": 128,
    "RTX 4080 Laptop": 58,
    "RTX 4080 SUPER": 80,
    "RTX 4080": 76,
    "RTX 4070 Laptop": 36,
    "RTX 4070 Ti SUPER": 66,
    "RTX 4070 Ti": 60,
    "RTX 4070 SUPER": 56,
    "RTX 4070": 46,
    "RTX 4060 Ti": 34,
    "RTX 4060 Laptop": 24,
    "RTX 4060": 24,
    "RTX 3090 Ti": 84,
    "RTX 3080 Ti Laptop": 58,
    "RTX 3080 Laptop": 48,
    "RTX 3070 Ti Laptop": 46,
    "RTX 3070 Laptop": 40,
    "RTX 3090": 82,
    "RTX 3080 Ti": 80,
    "RTX 3080": 68,
    "RTX 3070 Ti": 48,
    "RTX 3070": 46,
    # AMD: compute units of a device, which is half of a MI250, from the tables "AMD GPU specifications" of the ROCm
    # documentation; a work group processor of RDNA, which the compiler counts, has two
    "MI300X": 304,
    "MI325X": 304,
    "MI308X": 80,
    "MI300A": 228,
    "MI350X": 256,
    "MI355X": 256,
    "MI250X": 110,
    "MI250": 104,
    "MI210": 104,
    "MI100": 120,
    "R9700": 64,
    "9070 XT": 64,
    "9070 GRE": 48,
    "9070": 56,
    "9060 XT": 32,
    "7900 XTX": 96,
    "7900 XT": 84,
    "7900 GRE": 80,
    "7800 XT": 60,
    "7700 XT": 54,
    "W7900": 96,
    "W7800": 70,
    "W7700": 48,
    "V710": 54,
    "8060S": 40,  # Strix Halo
    "8050S": 32,
    "890M": 16,  # Strix Point
    "880M": 12,
    "780M": 12,  # Phoenix
}
"""Streaming multiprocessors, or compute units, of a device, by a part of its name.

`test/compiler/test_targets.py` compares them with the numbers that the compiler writes into its named targets.
"""

COMPUTE_UNITS: Final = "compute_units"
"""The name of the number of compute units among the limits of a problem."""

TYPICAL: Final = 132
"""The number that is assumed of unknown devices."""


def known_compute_units(device: str) -> int | None:
    """Return the compute units of a device, by its name; None if it is unknown."""
    names = [
        name
        for name in _BY_NAME
        if re.search(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])", device)
        # GPUs of laptops have fewer than those of the same name.
        and ("Laptop" in name or "Laptop" not in device)
    ]
    return _BY_NAME[max(names, key=len)] if names else None


def compute_units(device: str) -> int:
    """Return the compute units of a device, by its name, or a typical number."""
    units = known_compute_units(device)
    return TYPICAL if units is None else units
