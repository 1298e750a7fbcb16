"""Peak rates of devices, and comparisons of the rates of dispatches with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tuninglink.plain_data import named

_CLASSES: Final = {
    "bf16": "fp16",
    "f16": "fp16",
    "f32": "fp32",
    "f64": "fp64",
    "i8": "int8",
    "i32": "fp32",  # at most as fast
}
_NARROW_FLOAT: Final = re.compile(r"f([468])E\d")
"""Element types such as `f8E4M3FNUZ`."""


@dataclass(frozen=True)
class PeakRates:
    """The highest rates that a device can reach, without sparsity.

    Attributes:
        device: the device.
        source: the origin of the rates.
        tflops: 10^12 operations per second, by class of element types: `fp64`, `fp32`, `fp16`, `fp8`, `int8`; `bf16`
            where its rate differs from that of `fp16`.
        tbps: 10^12 bytes per second to and from memory.
        is_measured: whether the rates were measured rather than published by a vendor.
    """

    device: str
    source: str
    tflops: Mapping[str, float]
    tbps: float
    is_measured: bool = field(default=False, metadata=named("measured"))

    def __str__(self) -> str:
        rates = [f"{_text(rate, 'FLOP')} {name}" for name, rate in self.tflops.items()]
        return f"{', '.join([*rates, _text(self.tbps, 'B')])} ({self.source})"

    def least_us(self, flops: int, moved: int, element_type: str) -> float | None:
        """Return the minimum time of a dispatch in microseconds; None if the rate for its types is unknown.

        The roofline model (Williams et al., CACM 2009) takes the longer of the times for operations and for bytes.
        Bytes that are in a cache may take less time.

        Args:
            flops: the number of operations.
            moved: the number of bytes.
            element_type: the type of the elements that the operations combine.
        """
        rate = self.tflops.get(element_type) or self.tflops.get(rate_class(element_type))
        if flops and rate is None:
            return None
        return max(flops / rate if rate else 0.0, moved / self.tbps) * 1e-6


def _text(rate: float, unit: str) -> str:
    """Format a rate in units of 10^12 per second with three digits."""
    return f"{rate:.3g} T{unit}/s" if rate >= 1 else f"{1e3 * rate:.3g} G{unit}/s"


def rate_class(element_type: str) -> str:
    """Return the class of an element type among peak rates; empty if it belongs to no class."""
    narrow = _NARROW_FLOAT.match(element_type)
    return f"fp{narrow[1]}" if narrow else _CLASSES.get(element_type, "")


@dataclass(frozen=True)
class Rates:
    """The rates of a dispatch.

    Attributes:
        gflops: 10^9 operations per second; None if the number of operations is unknown.
        gbps: 10^9 bytes per second; None if the number of bytes is unknown.
        roofline: the minimum time at the peak rates of the device, as a fraction of the measured time; above 1 if
            operands stay in a cache. None without peak rates.
    """

    gflops: float | None
    gbps: float | None
    roofline: float | None


_A100: Final = {"fp64": 19.5, "fp32": 19.5, "fp16": 312.0, "int8": 624.0}
_H100: Final = {"fp64": 67.0, "fp32": 67.0, "fp16": 989.4, "fp8": 1978.9, "int8": 1978.9}
_NVL: Final = {"fp64": 60.0, "fp32": 60.0, "fp16": 835.5, "fp8": 1670.5, "int8": 1670.5}
_MI300X: Final = {"fp64": 163.4, "fp32": 163.4, "fp16": 1307.4, "fp8": 2614.9, "int8": 2614.9}

_DATA_SHEETS: Final[Mapping[str, tuple[Mapping[str, float], float]]] = {
    # NVIDIA
    "h200": (_H100, 4.8),
    "h200 nvl": (_NVL, 4.8),
    "h100 hbm3": (_H100, 3.35),
    "h100 nvl": (_NVL, 3.9),
    "h100 pcie": (
        {"fp64": 51.0, "fp32": 51.0, "fp16": 756.0, "fp8": 1513.0, "int8": 1513.0},
        2.0,
    ),
    "a100 40gb": (_A100, 1.555),
    "a100 sxm4 80gb": (_A100, 2.039),
    "a100 80gb pcie": (_A100, 1.935),
    "a30": ({"fp64": 10.3, "fp32": 10.3, "fp16": 165.0, "int8": 330.0}, 0.933),
    "a10": ({"fp32": 31.2, "fp16": 125.0, "int8": 250.0}, 0.6),
    "l40": ({"fp32": 90.5, "fp16": 181.0, "fp8": 362.0, "int8": 362.0}, 0.864),
    "l40s": ({"fp32": 91.6, "fp16": 362.0, "fp8": 733.0, "int8": 733.0}, 0.864),
    "l4": ({"fp32": 30.3, "fp16": 121.0, "fp8": 242.5, "int8": 242.5}, 0.3),
    "t4": ({"fp32": 8.1, "fp16": 65.0, "int8": 130.0}, 0.32),
    # AMD
    "mi300x": (_MI300X, 5.3),
    "mi325x": (_MI300X, 6.0),
    "mi300a": (
        {"fp64": 122.6, "fp32": 122.6, "fp16": 980.6, "fp8": 1961.2, "int8": 1961.2},
        5.3,
    ),
}
"""Rates of dense products and of the memory, from the vendors' data sheets, by words of the name that a runtime reports."""


def peaks_of_device(name: str) -> PeakRates | None:
    """Return the peak rates of a device, given its name as reported by a runtime; None if unknown."""
    words = set(re.split(r"[\s\-_]+", name.lower()))
    fitting = [product for product in _DATA_SHEETS if words.issuperset(product.split())]
    if not fitting:
        return None
    product = max(fitting, key=lambda product: len(product.split()))
    return PeakRates(name, "the vendor's data sheet", *_DATA_SHEETS[product])


_TWO_DEVICES: Final = frozenset({"mi250", "mi250x"})
"""Products that the compiler describes as a whole, and whose halves are separate devices of a runtime."""


def peaks_of_chip(sku: str, tflops: Mapping[str, float], tbps: float) -> PeakRates | None:
    """Return the peak rates in the compiler's description of a GPU; None if they do not describe a specific device.

    Args:
        sku: the SKU.
        tflops: see `PeakRates`.
        tbps: see `PeakRates`.
    """
    if not tflops or sku in _TWO_DEVICES:
        return None
    return PeakRates(sku, "the compiler's description of the target", tflops, tbps)
