"""Clocks of devices, read while they work: what a time means depends on them."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Final

from tuninglink.tuning.devices.device import LOCAL_DRIVERS, driver_of

_SHADER_CLOCK: Final = 1
"""`NVML_CLOCK_SM` of `nvml.h`."""


def read_clock(uri: str) -> int | None:
    """Return the clock of a device in MHz, or None where the system does not tell."""
    driver = driver_of(uri)
    if driver in LOCAL_DRIVERS:
        return _processor_clock()
    index = uri.rpartition("/")[2]
    number = int(index) if index.isdecimal() else 0
    return _nvidia_clock(number) if driver in {"cuda", "vulkan"} else _amd_clock(number)


def _processor_clock() -> int | None:
    file = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")
    try:
        return int(file.read_text()) // 1000
    except (OSError, ValueError):
        return None


@cache
def _nvml() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return library if library.nvmlInit_v2() == 0 else None


def _nvidia_clock(index: int) -> int | None:
    library = _nvml()
    if library is None:
        return None
    handle, clock = ctypes.c_void_p(), ctypes.c_uint()
    if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) != 0:
        return None
    if library.nvmlDeviceGetClockInfo(handle, _SHADER_CLOCK, ctypes.byref(clock)) != 0:
        return None
    return clock.value


def _amd_clock(index: int) -> int | None:
    cards = sorted(Path("/sys/class/drm").glob("card[0-9]*/device/pp_dpm_sclk"))
    if index >= len(cards):
        return None
    active = [line for line in cards[index].read_text().splitlines() if line.endswith("*")]
    digits = "".join(filter(str.isdecimal, active[0].partition(":")[2])) if active else ""
    return int(digits) if digits else None
