"""Compute units of GPUs: how many workgroups run side by side, which no runtime tells."""

from __future__ import annotations

from typing import Final

_BY_NAME: Final = {
    "H200": 132,
    "H100 PCIe": 114,
    "H100": 132,
    "A100": 108,
    "A10": 72,
    "L40": 142,
    "L4": 58,
    "T4": 40,
    "V100": 80,
    "RTX 4090": 128,
    "RTX 3090": 82,
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
    "7900 XTX": 96,
    "7900 XT": 84,
    "W7900": 96,
}
"""Streaming multiprocessors, or compute units, of one device, from the vendors' data sheets."""

COMPUTE_UNITS: Final = "compute_units"
"""What they are called among the limits of a problem."""

TYPICAL: Final = 132
"""Where the device is not known."""


def compute_units(device: str) -> int:
    """Returns the compute units of a device, by its name."""
    found = [name for name in _BY_NAME if name in device]
    return _BY_NAME[max(found, key=len)] if found else TYPICAL
