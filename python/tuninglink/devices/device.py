"""Devices of the runtime: their list, descriptions and sensors, how to open them, and properties of their hardware."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import iree.runtime as rt

from tuninglink.devices.board_uri import BOARD, BoardUri, is_board
from tuninglink.devices.times import DeviceReading
from tuninglink.errors import TuninglinkError, did_you_mean
from tuninglink.iree import COMPUTE_UNITS, TYPICAL, Target
from tuninglink.mlir import error, note
from tuninglink.programs import FatalError

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
        machine: the instruction set of the processor that runs the runtime, as `uname -m` has it; empty if unknown.
        is_here: whether the device is one of this machine.
        warnings: what to know about the times of the device.
    """

    uri: str
    name: str
    driver: str
    driver_version: str
    runtime: str
    cores: int
    machine: str = ""
    is_here: bool = True
    warnings: tuple[str, ...] = ()

    @property
    def is_processor(self) -> bool:
        """Whether the device is a CPU."""
        return self.driver in LOCAL_DRIVERS

    @property
    def is_local(self) -> bool:
        """Whether the device is the CPU that also compiles."""
        return self.is_processor and self.is_here

    @property
    def is_board(self) -> bool:
        """Whether a command in front of the runtime's tools runs the device."""
        return is_board(self.uri)

    @property
    def limits(self) -> dict[str, int]:
        """The limits of the device that the compiler's target lacks."""
        return {} if self.is_processor else {COMPUTE_UNITS: compute_units(self.name)}

    def unsupported(self, target: Target) -> str:
        """Return the reason why the device does not run a target's code; empty if it may. An unknown driver may."""
        backend = target.backend
        drivers = {self.driver, _DEVICE_OF_BACKEND.get(backend, self.driver)}
        if len(drivers) > 1 and not drivers <= LOCAL_DRIVERS:
            return f"driver '{self.driver}' does not run what '{backend}' compiles"
        is_known = self.machine in DISTINCT_FAMILIES
        if backend == "llvm-cpu" and is_known and target.family != self.machine:
            what = f"code for {target.family} does not run on {self.name} ({self.machine})"
            return f"{what}: name a device that runs it, as in --device 'run:ssh board'"
        return ""


DISTINCT_FAMILIES: Final = frozenset({"x86_64", "aarch64", "riscv64"})
"""The machines that run only code for the family of processors of the same name."""


def driver_of(uri: str) -> str:
    """Return the name of the driver in the URI of a device."""
    return BOARD if is_board(uri) else uri.partition("://")[0]


def board_driver(uri: BoardUri) -> str:
    """Return the driver of the runtime on a board: by default, the one that runs code for processors."""
    return uri.driver or THREADED_DRIVER


def describe(uri: str, cores: Sequence[int] = ()) -> DeviceDescription:
    """Return the description of a device, without opening it.

    Args:
        uri: the device; a driver alone stands for its first device.
        cores: the processors that a threaded CPU device is pinned to; see `open_device`.

    Raises:
        DeviceError: the driver or device does not exist.
    """
    driver, _, path = uri.partition("://")
    is_kept = driver in LOCAL_DRIVERS | _NUMBERING_DRIVERS
    devices = devices_of(driver, cores)
    for index, device in enumerate(devices):
        own = {device.uri.partition("://")[2], *([] if driver in LOCAL_DRIVERS else [str(index)])}
        if path.partition("?")[0] in {"", *own}:
            return replace(device, uri=uri) if is_kept else device
    available = ", ".join(device.uri for device in devices) or "none"
    raise DeviceError(error(f"there is no device '{uri}'", notes=[note(f"available: {available}")]))


_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_MAX: Final = -4
"""Parameters of `mallopt` in glibc's `malloc.h`."""


def open_device(uri: str, cores: Sequence[int] = ()) -> rt.HalDevice:
    """Open a device. This process then owns the device and the processors that it is pinned to.

    Args:
        uri: the device, as in its description.
        cores: the processors for the threads of `local-task`, one each; by default the physical cores that the
            process may run on.

    Raises:
        DeviceError: the driver or device does not exist, or it is busy.
    """
    name = driver_of(uri)
    if name == THREADED_DRIVER:
        # Let the C library keep freed memory: the system clears each page that a call gets anew, for its results.
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):  # not in other C libraries
            library.mallopt(_M_MMAP_MAX, 0)  # large blocks, too, come from the heap
            library.mallopt(_M_TRIM_THRESHOLD, -1)  # and stay there
        pinned = ",".join(map(str, cores or physical_cores()))
        rt.flags.parse_flags(f"--task_topology_cpu_ids={pinned}")
    driver = _driver(name)
    try:
        return driver.create_device_by_uri(uri, allocators=_ALLOCATORS.get(name))
    except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
        raise driver_error(f"cannot open device '{uri}'", failure) from None


def release_memory(device: rt.HalDevice) -> None:
    """Return the memory of freed buffers to the system, before other programs or benchmarks need theirs."""
    device.allocator.trim()
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def physical_cores() -> list[int]:
    """Return the processors that this process may run on, one of each physical core."""
    allowed = sorted(os.sched_getaffinity(0))
    first_of_core: dict[str, int] = {}
    for processor in allowed:
        siblings = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        first_of_core.setdefault(_text_in(siblings) or str(processor), processor)
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
        raise driver_error(f"driver '{name}' cannot be loaded", failure) from None


def devices_of(driver: str, cores: Sequence[int] = ()) -> list[DeviceDescription]:
    """Return the devices of a driver, of which a threaded CPU device may be pinned to processors.

    Raises:
        DeviceError: the driver does not exist, cannot be loaded, or lists no devices.
    """
    loaded, runtime = _driver(driver), metadata.version("iree-base-runtime")
    if driver in LOCAL_DRIVERS:
        text = _text_in(Path("/proc/cpuinfo"))
        model = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
        name = model[1].strip() if model else platform.processor() or platform.machine()
        count = len(cores or physical_cores()) if driver == THREADED_DRIVER else 1
        uri, version = f"{driver}://", platform.release()
        machine = platform.machine()
        return [DeviceDescription(uri, name, driver, version, runtime, count, machine)]
    try:
        available_devices = loaded.query_available_devices()
    except Exception as failure:  # noqa: BLE001 - a status of the runtime becomes one of several types
        raise driver_error(f"driver '{driver}' lists no devices", failure) from None
    module = {"cuda": "nvidia", "hip": "amdgpu", "vulkan": "nvidia"}.get(driver, driver)
    version = _text_in(Path(f"/sys/module/{module}/version"))
    return [
        DeviceDescription(
            f"{driver}://{device.get('path') or index}", device["name"], driver, version, runtime, 0
        )
        for index, device in enumerate(available_devices)
    ]


def driver_error(message: str, failure: Exception | None = None) -> DeviceError:
    """Return the error of a driver, with the remedy and the readable part of the runtime's status."""
    if failure is not None:
        text = " ".join(str(failure).split())
        status = re.search(r"\b([A-Z_]{4,}); (.+?)(?::? Tried:|;? \[|; while |$)", text)
        message += f": {f'{status[2]} ({status[1]})' if status else text}"
    local = ", ".join(sorted(LOCAL_DRIVERS))
    remedy = "check the vendor's driver and that no other process holds the device; always there: "
    return DeviceError(error(message, notes=[note(remedy + local)]))


# --- The devices that run a backend's code

_DEVICE_OF_BACKEND: Final = {
    "llvm-cpu": "local-task",
    "vmvx": "local-task",
    "cuda": "cuda",
    "rocm": "hip",
    "vulkan": "vulkan",
    "metal": "metal",
}
"""The driver that runs a backend's code."""


def default_device(backend: str) -> str:
    """Return the device that runs a backend's code.

    Raises:
        TuninglinkError: no device is known for the backend.
    """
    if backend not in _DEVICE_OF_BACKEND:
        message = (
            f"no driver is known to run what backend '{backend}' compiles; name one with --device"
        )
        raise TuninglinkError(error(message))
    return _DEVICE_OF_BACKEND[backend]


_BACKENDS: Final = {"cuda": "cuda", "hip": "rocm", "rocm": "rocm", "llvm-cpu": "llvm-cpu"}
"""Backends by the names of devices or backends in flags."""


def backend_of(flags: Sequence[str]) -> str:
    """Return the backend that flags name; empty if they name no backend."""
    values = {value for flag in flags for value in flag.partition("=")[2].split(",")}
    return next((backend for name, backend in _BACKENDS.items() if name in values), "")


# --- Properties of devices that no runtime reports: sizes of caches, and compute units of GPUs ---

_CPU_BYTES: Final = 32 << 20
"""The assumed last-level cache where the system reports none, in bytes."""

_UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def shared_cache_bytes(processors: Iterable[int]) -> int:
    """Return the total size of the last-level caches of processors."""
    sizes = {}
    for processor in processors:
        caches = []
        for file in Path(f"/sys/devices/system/cpu/cpu{processor}/cache").glob("index*/size"):
            size = file.read_text().strip()
            shared = file.with_name("shared_cpu_list").read_text()
            caches.append((int(size[:-1]) * _UNITS[size[-1]], shared))
        size_bytes, shared = max(caches, default=(_CPU_BYTES, ""))
        sizes[shared] = size_bytes  # several processors may share a cache
    return sum(sizes.values())


_COMPUTE_UNITS: Final = """
    GB200 148, B200 148, H200 132, H100 132, H100 PCIe 114, GB10 48
    A100 108, A40 84, A30 56, A10 72, A10G 80, V100 80, T4 40, L40 142, L40S 142, L4 58
    RTX A6000 84, RTX A5000 64, RTX A4000 48, RTX 6000 Ada 142, RTX PRO 6000 188
    RTX 5090 170, RTX 5080 84, RTX 5070 Ti 70, RTX 5070 48, RTX 5060 Ti 36, RTX 5060 30, RTX 5050 20
    RTX 5090 Laptop 82, RTX 5080 Laptop 60, RTX 5070 Ti Laptop 46, RTX 5070 Laptop 36, RTX 5060 Laptop 26
    RTX 4090 128, RTX 4090 D 114, RTX 4080 SUPER 80, RTX 4080 76, RTX 4070 Ti SUPER 66, RTX 4070 Ti 60
    RTX 4070 SUPER 56, RTX 4070 46, RTX 4060 Ti 34, RTX 4060 24
    RTX 4090 Laptop 76, RTX 4080 Laptop 58, RTX 4070 Laptop 36, RTX 4060 Laptop 24
    RTX 3090 Ti 84, RTX 3090 82, RTX 3080 Ti 80, RTX 3080 68, RTX 3070 Ti 48, RTX 3070 46
    RTX 3080 Ti Laptop 58, RTX 3080 Laptop 48, RTX 3070 Ti Laptop 46, RTX 3070 Laptop 40
    MI300X 304, MI325X 304, MI308X 80, MI300A 228, MI350X 256, MI355X 256, MI250X 110, MI250 104, MI210 104, MI100 120
    R9700 64, 9070 XT 64, 9070 GRE 48, 9070 56, 9060 XT 32
    7900 XTX 96, 7900 XT 84, 7900 GRE 80, 7800 XT 60, 7700 XT 54, W7900 96, W7800 70, W7700 48, V710 54
    8060S 40, 8050S 32, 890M 16, 880M 12, 780M 12
"""
"""The compute units of a device, by a part of its name.

NVIDIA: streaming multiprocessors, from the white papers of the architectures (V100, Turing, A100, GA102, H100, Ada, RTX
Blackwell) and the product pages. AMD: compute units of a device, which is half of a MI250, from the tables "AMD GPU
specifications" of the ROCm documentation; a work group processor of RDNA, which the compiler counts, has two.
`test/compiler/test_targets.py` compares them with the numbers that the compiler writes into its named targets.
"""


def known_compute_units(device: str) -> int | None:
    """Return the compute units of a device, by its name; None if it is unknown."""
    rows = (row.strip().rpartition(" ") for row in re.split("[,\n]", _COMPUTE_UNITS.strip()))
    counts = {
        name: int(count)
        for name, _, count in rows
        if re.search(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])", device)
        # GPUs of laptops have fewer than those of the same name.
        and ("Laptop" in name or "Laptop" not in device)
    }
    return counts[max(counts, key=len)] if counts else None


def compute_units(device: str) -> int:
    """Return the compute units of a device, by its name, or a typical number."""
    return known_compute_units(device) or TYPICAL


# --- Clock, power and temperature of devices, from NVIDIA's management library and the kernel's files under `/sys`

_NVIDIA_DRIVERS: Final = frozenset({"cuda", "vulkan"})
_AMD_DRIVERS: Final = frozenset({"hip", "amdgpu"})
_SYSTEM: Final = Path("/sys")

_IDENTIFIER: Final = "GPU-"
"""The prefix of the UUID of a GPU, which the runtime and NVIDIA's library write alike."""

_SHADER_CLOCK: Final = 1
"""`NVML_CLOCK_SM` of `nvml.h`."""

_GPU_TEMPERATURE: Final = 0
"""`NVML_TEMPERATURE_GPU` of `nvml.h`."""

Sensors = Callable[[], tuple[DeviceReading, ...]]
"""Returns the state of a device as one reading; none if the system reports nothing."""

_Sensors = Mapping[str, Callable[[], float | None]]
"""The sensors by quantity of `DeviceReading`; their values are None if the system does not report them."""


def sensors_of(uri: str, system: Path = _SYSTEM) -> Sensors:
    """Return the sensors of a device, whose driver is loaded if the URI gives an index.

    Args:
        uri: the device.
        system: the folder of the kernel's files.
    """
    driver, _, path = uri.partition("://")
    sensors: _Sensors = {}
    if driver in LOCAL_DRIVERS:
        sensors = _processor_sensors(system)
    elif driver in _NVIDIA_DRIVERS:
        with suppress(OSError):
            sensors = _nvidia_sensors(ctypes.CDLL("libnvidia-ml.so.1"), driver, path)
    elif driver in _AMD_DRIVERS:
        sensors = _amd_sensors(system, driver, path)

    def read() -> tuple[DeviceReading, ...]:
        values: dict[str, Any] = {quantity: sensor() for quantity, sensor in sensors.items()}
        if all(value is None for value in values.values()):
            return ()
        clock = values["clock_mhz"]
        return (DeviceReading(**{**values, "clock_mhz": None if clock is None else int(clock)}),)

    return read


def _paths(driver: str) -> list[str]:
    """Return the paths of the URIs of a driver's devices."""
    with suppress(DeviceError):
        return [device.uri.partition("://")[2] for device in devices_of(driver)]
    return []


def _nvidia_sensors(library: ctypes.CDLL, driver: str, path: str) -> _Sensors:
    if library.nvmlInit_v2() != 0:
        return {}
    if not path.startswith(_IDENTIFIER):
        # The index of a GPU in the library may differ from its index in the driver.
        number = int(path) if path.isdecimal() else 0
        path = next(iter(_paths(driver)[number:]), "")
    handle = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByUUID(path.encode(), ctypes.byref(handle)) != 0:
        return {}

    def value(function: Callable[..., int], unit: float, *arguments: int) -> float | None:
        result = ctypes.c_uint()
        failure = function(handle, *arguments, ctypes.byref(result))
        return None if failure else result.value / unit

    return {
        "clock_mhz": partial(value, library.nvmlDeviceGetClockInfo, 1.0, _SHADER_CLOCK),
        "power_watts": partial(value, library.nvmlDeviceGetPowerUsage, 1e3),
        "temperature_celsius": partial(
            value, library.nvmlDeviceGetTemperature, 1.0, _GPU_TEMPERATURE
        ),
    }


def _amd_sensors(system: Path, driver: str, path: str) -> _Sensors:
    # The folders of the GPUs, in the order of their numbers.
    folders = {
        int(digits): clock.parent
        for clock in system.glob("class/drm/card[0-9]*/device/pp_dpm_sclk")
        if (digits := clock.parent.parent.name.removeprefix("card")).isdecimal()
    }
    number = int(path) if path.isdecimal() else 0
    if folders and path.startswith(_IDENTIFIER):
        paths = _paths(driver)
        number = paths.index(path) if path in paths else 0
    if number >= len(folders):
        return {}
    folder = folders[sorted(folders)[number]]

    def active_clock() -> float | None:
        levels = _text_in(folder / "pp_dpm_sclk").splitlines()
        active = next((level for level in levels if level.endswith("*")), "")
        digits = "".join(filter(str.isdecimal, active.partition(":")[2]))
        return int(digits) if digits else None

    power = [*folder.glob("hwmon/*/power1_average"), *folder.glob("hwmon/*/power1_input")]
    temperature = [*folder.glob("hwmon/*/temp1_input")]
    return {
        "clock_mhz": active_clock,
        "power_watts": partial(_first_number, power, 1e6),
        "temperature_celsius": partial(_first_number, temperature, 1e3),
    }


_MONITORS: Final = frozenset({"coretemp", "k10temp", "zenpower", "cpu_thermal"})
"""The kernel's monitors of processors, by their names."""

_ZONES: Final = frozenset({"x86_pkg_temp", "cpu-thermal", "cpu_thermal"})
"""Thermal zones of processors, by their types."""

_LEAST_SECONDS: Final = 0.05
"""The least time between two readings of the energy counters, which advance in steps of milliseconds."""


def _processor_sensors(system: Path) -> _Sensors:
    clock = [system / "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"]
    temperature = [
        folder / file
        for pattern, label, labels, file in (
            ("class/hwmon/hwmon*", "name", _MONITORS, "temp1_input"),
            ("class/thermal/thermal_zone*", "type", _ZONES, "temp"),
        )
        for folder in sorted(system.glob(pattern))
        if _text_in(folder / label) in labels
    ]
    # The energy counters of the packages are mostly readable by the administrator alone. They wrap.
    packages = [x for x in system.glob("class/powercap/intel-rapl:*") if x.name.count(":") == 1]
    ranges = [_first_number([folder / "max_energy_range_uj"], 1.0) for folder in packages]

    def energies() -> tuple[float, list[float | None]]:
        counters = [_first_number([folder / "energy_uj"], 1.0) for folder in packages]
        return time.monotonic(), counters

    last, watts = energies(), None

    def power() -> float | None:
        """Return the mean power since the previous reading."""
        nonlocal last, watts
        now = energies()
        if now[0] - last[0] >= _LEAST_SECONDS:
            used = [
                ((after - before) % size if size else max(0.0, after - before)) / 1e6
                for before, after, size in zip(last[1], now[1], ranges, strict=True)
                if before is not None and after is not None
            ]
            watts = sum(used) / (now[0] - last[0]) if used else None
            last = now
        return watts

    return {
        "clock_mhz": partial(_first_number, clock, 1e3),
        "power_watts": power,
        "temperature_celsius": partial(_first_number, temperature, 1e3),
    }


def _first_number(files: Iterable[Path], unit: float) -> float | None:
    """Return the number in the first of the files that has one."""
    for file in files:
        with suppress(ValueError):
            return int(_text_in(file)) / unit
    return None


def _text_in(file: Path) -> str:
    with suppress(OSError):
        return file.read_text().strip()
    return ""
