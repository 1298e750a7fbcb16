"""Properties of devices that no runtime reports: sizes of caches, and compute units of GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tuninglink.tuning.devices.device import LOCAL_DRIVERS, driver_of

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
    caches = {_last_level_cache(processor) for processor in processors}
    return sum(size for size, _ in caches)


def _last_level_cache(processor: int) -> tuple[int, str]:
    """Return the size of the last-level cache of a processor, and the processors that share it."""
    files = Path(f"/sys/devices/system/cpu/cpu{processor}/cache").glob("index*/size")
    caches = (
        (_bytes(file.read_text()), file.with_name("shared_cpu_list").read_text()) for file in files
    )
    return max(caches, default=(_CPU_BYTES, ""))


def _bytes(text: str) -> int:
    size = text.strip()
    return int(size[:-1]) * _UNITS[size[-1]]


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

_LAPTOP: Final = "Laptop"


def known_compute_units(device: str) -> int | None:
    """Return the compute units of a device, by its name; None if it is unknown."""
    names = [
        name
        for name in _BY_NAME
        if re.search(rf"(?<![A-Za-z0-9]){name}(?![A-Za-z0-9])", device)
        # GPUs of laptops have fewer than those of the same name.
        and (_LAPTOP in name or _LAPTOP not in device)
    ]
    return _BY_NAME[max(names, key=len)] if names else None


def compute_units(device: str) -> int:
    """Return the compute units of a device, by its name, or a typical number."""
    units = known_compute_units(device)
    return TYPICAL if units is None else units
