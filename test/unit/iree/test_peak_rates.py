"""Peak rates, and the rates of dispatches against them."""

from __future__ import annotations

import pytest

from tuninglink.iree import DispatchCost, PeakRates, peaks_of_chip, peaks_of_device, rate_class

PEAKS = PeakRates("device", "a test", {"fp16": 100.0, "fp32": 10.0}, 2.0)


@pytest.mark.parametrize(
    ("cost", "least_us"),
    [
        (DispatchCost(10**9, 10**6, "f16"), 10.0),  # operations bound it
        (DispatchCost(10**9, 10**6, "f32"), 100.0),
        (DispatchCost(10**6, 10**9, "bf16"), 500.0),  # bytes bound it
        (DispatchCost(0, 10**9, ""), 500.0),
        (DispatchCost(10**9, 10**6, "f64"), None),  # the rate is unknown
        (DispatchCost(None, None, "f32"), None),
    ],
)
def test_a_roofline_is_the_slower_one_of_operations_and_bytes(
    cost: DispatchCost, least_us: float | None
) -> None:
    rates = cost.rates(1000.0, PEAKS)
    assert rates.roofline == (None if least_us is None else pytest.approx(least_us / 1000))
    assert rates.gflops == (None if cost.flops is None else pytest.approx(cost.flops / 1e6))
    assert rates.gbps == (None if cost.bytes is None else pytest.approx(cost.bytes / 1e6))


def test_nothing_is_shown_without_a_time_or_peaks() -> None:
    cost = DispatchCost(10**9, 10**6, "f16")
    assert cost.rates(None, PEAKS).gflops is None
    assert cost.rates(10.0, None).roofline is None
    assert cost.rates(10.0, None).gflops == pytest.approx(100_000)


def test_element_types_have_the_rates_of_their_width() -> None:
    names = {name: rate_class(name) for name in ("bf16", "f8E4M3FNUZ", "f4E2M1FN", "i8", "i4", "")}
    assert list(names.values()) == ["fp16", "fp8", "fp4", "int8", "", ""]


@pytest.mark.parametrize(
    ("name", "tbps"),
    [
        ("NVIDIA H200", 4.8),
        ("NVIDIA H100 80GB HBM3", 3.35),
        ("NVIDIA H100 PCIe", 2.0),
        ("NVIDIA A100-SXM4-80GB", 2.039),
        ("NVIDIA A100-PCIE-40GB", 1.555),
        ("NVIDIA A100 80GB PCIe", 1.935),
        ("AMD Instinct MI300X", 5.3),
        ("NVIDIA L40S", 0.864),
        ("AMD EPYC", None),
        ("NVIDIA A1000", None),  # another product than the A100
        ("", None),
    ],
)
def test_devices_are_looked_up_by_the_words_of_their_names(name: str, tbps: float | None) -> None:
    peaks = peaks_of_device(name)
    assert (peaks.tbps if peaks else None) == tbps


def test_the_description_of_two_devices_is_that_of_neither() -> None:
    assert peaks_of_chip("mi250x", {"fp16": 383.0}, 3.2) is None
    assert peaks_of_chip("mi300x", {}, 5.3) is None
