"""Sizes of last-level caches."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tuninglink.tuning.devices.device import LOCAL_DRIVERS, driver_of

_GPU_BYTES: Final = 256 << 20
"""The largest last-level cache of the GPUs in use: that of an MI300X (AMD's white paper on CDNA 3)."""

_CPU_BYTES: Final = 32 << 20
"""Where the system does not tell."""

_UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def last_level_bytes(uri: str) -> int:
    """Return the size of a device's last-level cache; for a GPU the largest that any has."""
    if driver_of(uri) not in LOCAL_DRIVERS:
        return _GPU_BYTES
    files = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    sizes = (file.read_text().strip() for file in files)
    return max((int(size[:-1]) * _UNITS[size[-1]] for size in sizes), default=_CPU_BYTES)
