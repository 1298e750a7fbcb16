"""Clock, power and temperature of devices, from NVIDIA's management library and the kernel's files under `/sys`."""

from __future__ import annotations

import ctypes
import time
from functools import cache
from pathlib import Path
from typing import Final, Protocol

from tuninglink.tuning.devices import DeviceReading
from tuninglink.tuning.devices.device import LOCAL_DRIVERS, DeviceError, devices_of, driver_of

_NVIDIA_DRIVERS: Final = frozenset({"cuda", "vulkan"})
_AMD_DRIVERS: Final = frozenset({"hip", "amdgpu"})
_SYSTEM: Final = Path("/sys")


class Sensors(Protocol):
    """The sensors of a device."""

    def read(self) -> DeviceReading:
        """Return the current values; None for those that the system does not report."""


class NoSensors:
    """The sensors of a device that reports nothing."""

    def read(self) -> DeviceReading:
        """See `Sensors`."""
        return DeviceReading()


def sensors_of(uri: str) -> Sensors:
    """Return the sensors of a device, whose driver is loaded if the URI gives an index."""
    driver = driver_of(uri)
    if driver in LOCAL_DRIVERS:
        return ProcessorSensors()
    if driver in _NVIDIA_DRIVERS:
        library, identifier = _nvml(), _identifier(uri)
        if library is not None and identifier is not None:
            return NvidiaSensors(library, identifier)
    cards = amd_cards() if driver in _AMD_DRIVERS else []
    number = _number(uri)
    return AmdSensors(cards[number]) if number < len(cards) else NoSensors()


def _number(uri: str) -> int:
    path = uri.partition("://")[2]
    if not path.startswith(_IDENTIFIER):
        return int(path) if path.isdecimal() else 0
    paths = [device.partition("://")[2] for device in _listed(driver_of(uri))]
    return paths.index(path) if path in paths else 0


_IDENTIFIER: Final = "GPU-"
"""The prefix of the UUID of a GPU, which the runtime and NVIDIA's library write alike."""


def _identifier(uri: str) -> str | None:
    """Return the UUID of a GPU: its index in the library may differ from its index in the driver."""
    path = uri.partition("://")[2]
    if path.startswith(_IDENTIFIER):
        return path
    devices, number = _listed(driver_of(uri)), _number(uri)
    return devices[number].partition("://")[2] if number < len(devices) else None


def _listed(driver: str) -> list[str]:
    try:
        return [device.uri for device in devices_of(driver)]
    except DeviceError:
        return []


# --- NVIDIA ----------------------------------------------------------------------------------------------

_SHADER_CLOCK: Final = 1
"""`NVML_CLOCK_SM` of `nvml.h`."""

_GPU_TEMPERATURE: Final = 0
"""`NVML_TEMPERATURE_GPU` of `nvml.h`."""


@cache
def _nvml() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return library if library.nvmlInit_v2() == 0 else None


class NvidiaSensors:
    """The sensors of a GPU of NVIDIA.

    Args:
        library: the management library, initialized.
        identifier: the UUID of the GPU.
    """

    def __init__(self, library: ctypes.CDLL, identifier: str) -> None:
        self._library = library
        self._handle = ctypes.c_void_p()
        result = library.nvmlDeviceGetHandleByUUID(identifier.encode(), ctypes.byref(self._handle))
        self._is_known = result == 0

    def read(self) -> DeviceReading:
        """See `Sensors`."""
        power = self._value("nvmlDeviceGetPowerUsage")
        return DeviceReading(
            clock_mhz=self._value("nvmlDeviceGetClockInfo", _SHADER_CLOCK),
            power_watts=None if power is None else power / 1e3,
            temperature_celsius=self._value("nvmlDeviceGetTemperature", _GPU_TEMPERATURE),
        )

    def _value(self, function: str, *arguments: int) -> int | None:
        """Return the result of a function of the library for the GPU; None if it fails."""
        if not self._is_known:
            return None
        value = ctypes.c_uint()
        result = getattr(self._library, function)(self._handle, *arguments, ctypes.byref(value))
        return value.value if result == 0 else None


# --- AMD -------------------------------------------------------------------------------------------------


def amd_cards(system: Path = _SYSTEM) -> list[Path]:
    """Return the folders of AMD's GPUs, in the order of their numbers."""
    clocks = system.glob("class/drm/card[0-9]*/device/pp_dpm_sclk")
    folders = [clock.parent for clock in clocks if _card_number(clock.parent) is not None]
    return sorted(folders, key=lambda folder: _card_number(folder) or 0)


def _card_number(folder: Path) -> int | None:
    digits = folder.parent.name.removeprefix("card")
    return int(digits) if digits.isdecimal() else None


class AmdSensors:
    """The sensors of a GPU of AMD.

    Args:
        folder: the folder of the device under `/sys/class/drm`.
    """

    def __init__(self, folder: Path) -> None:
        self._clock = folder / "pp_dpm_sclk"
        self._power = [*folder.glob("hwmon/*/power1_average"), *folder.glob("hwmon/*/power1_input")]
        self._temperature = [*folder.glob("hwmon/*/temp1_input")]

    def read(self) -> DeviceReading:
        """See `Sensors`."""
        return DeviceReading(
            clock_mhz=self._active_clock(),
            power_watts=_first_number(self._power, 1e6),
            temperature_celsius=_first_number(self._temperature, 1e3),
        )

    def _active_clock(self) -> int | None:
        try:
            levels = self._clock.read_text().splitlines()
        except OSError:
            return None
        active = next((level for level in levels if level.endswith("*")), "")
        digits = "".join(filter(str.isdecimal, active.partition(":")[2]))
        return int(digits) if digits else None


# --- Processors ------------------------------------------------------------------------------------------

_PROCESSOR_MONITORS: Final = frozenset({"coretemp", "k10temp", "zenpower", "cpu_thermal"})
"""The names of the kernel's monitors of processors."""

_PROCESSOR_ZONES: Final = frozenset({"x86_pkg_temp", "cpu-thermal", "cpu_thermal"})
"""The types of thermal zones of processors."""

_LEAST_SECONDS: Final = 0.05
"""The least time between two readings of the energy counters, which advance in steps of milliseconds."""


class ProcessorSensors:
    """The sensors of the processors of this machine.

    The energy counters of the packages are mostly readable by the administrator alone. Power is the mean since the
    previous reading.

    Args:
        system: the kernel's files.
    """

    def __init__(self, system: Path = _SYSTEM) -> None:
        self._clock = system / "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"
        self._temperature = [*_temperatures(system)]
        packages = [
            folder
            for folder in sorted(system.glob("class/powercap/intel-rapl:*"))
            if folder.name.count(":") == 1
        ]
        self._packages = [EnergyCounter(folder) for folder in packages]

    def read(self) -> DeviceReading:
        """See `Sensors`."""
        clock = _number_in(self._clock, 1e3)
        powers = [
            power for counter in self._packages if (power := counter.mean_watts()) is not None
        ]
        return DeviceReading(
            clock_mhz=None if clock is None else int(clock),
            power_watts=sum(powers) if powers else None,
            temperature_celsius=_first_number(self._temperature, 1e3),
        )


class EnergyCounter:
    """The energy counter of a package of processors.

    Args:
        folder: its folder under `/sys/class/powercap`.
    """

    def __init__(self, folder: Path) -> None:
        self._energy = folder / "energy_uj"
        self._range = _number_in(folder / "max_energy_range_uj", 1.0) or 0.0
        self._before = self._now()
        self._watts: float | None = None

    def mean_watts(self) -> float | None:
        """Return the mean power between the last two readings; None if the counter cannot be read."""
        before, now = self._before, self._now()
        if before is None or now is None:
            return None
        seconds = now[0] - before[0]
        if seconds >= _LEAST_SECONDS:
            used = now[1] - before[1]
            if used < 0:  # the counter has wrapped
                used += self._range
            self._before, self._watts = now, used / 1e6 / seconds
        return self._watts

    def _now(self) -> tuple[float, float] | None:
        energy = _number_in(self._energy, 1.0)
        return None if energy is None else (time.monotonic(), energy)


def _temperatures(system: Path) -> list[Path]:
    """Return the files with temperatures of processors, in thousandths of a degree."""
    monitors = [
        folder / "temp1_input"
        for folder in sorted(system.glob("class/hwmon/hwmon*"))
        if _text_in(folder / "name") in _PROCESSOR_MONITORS
    ]
    zones = [
        folder / "temp"
        for folder in sorted(system.glob("class/thermal/thermal_zone*"))
        if _text_in(folder / "type") in _PROCESSOR_ZONES
    ]
    return [*monitors, *zones]


def _first_number(files: list[Path], unit: float) -> float | None:
    """Return the number in the first file that can be read, in a unit."""
    numbers = (_number_in(file, unit) for file in files)
    return next((number for number in numbers if number is not None), None)


def _number_in(file: Path, unit: float) -> float | None:
    try:
        return int(_text_in(file)) / unit
    except ValueError:
        return None


def _text_in(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
