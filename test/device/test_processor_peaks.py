"""The peak rates of this machine's processor: measured once, kept, and shown as those of a device."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tuninglink.devices import (
    ProcessorPeaks,
    describe,
    peaks_of_processor,
    physical_cores,
    processor_peaks,
    shared_cache_bytes,
    stored_peaks,
)
from tuninglink.iree import DispatchCost

if TYPE_CHECKING:
    from pathlib import Path

    from tuninglink.iree import PeakRates

DEVICE = describe("local-sync")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TUNINGLINK_CACHE_DIR", str(tmp_path))
    return tmp_path


def rates(element_types: list[str], *, measures: bool = True) -> PeakRates | None:
    peaks, remark = peaks_of_processor(DEVICE, element_types, measures=measures)
    assert not remark
    return peaks


def files(cache: Path) -> list[Path]:
    return sorted((cache / "peaks").iterdir())


def test_rates_are_measured_once_and_further_classes_when_they_are_needed(cache: Path) -> None:
    peaks = rates(["f32"])
    assert peaks is not None
    assert peaks.is_measured
    assert peaks.device == DEVICE.name
    assert peaks.tflops.keys() == {"fp32"}
    (file,) = files(cache)
    content = file.read_bytes()
    assert rates(["f32", "i32", ""]) == peaks
    assert file.read_bytes() == content
    assert [stored.rates for stored in stored_peaks()] == [peaks]
    # A call at the peak rates takes the least time.
    cost = DispatchCost(round(peaks.tflops["fp32"] * 1e12), 1, "f32")
    assert cost.rates(1e6, peaks).roofline == pytest.approx(1.0)
    cost = DispatchCost(1, round(peaks.tbps * 1e12), "f32")
    assert cost.rates(1e6, peaks).roofline == pytest.approx(1.0)

    every = rates(["f64", "f16", "bf16", "i8"])
    assert every is not None
    assert every.tflops.keys() == {"fp32", "fp64", "fp16", "bf16", "int8"}
    assert every.tflops["fp32"] == peaks.tflops["fp32"]
    # Operands can be widened.
    assert min(every.tflops[name] for name in ("fp16", "bf16", "int8")) >= every.tflops["fp32"]
    assert files(cache) == [file]
    reached = DispatchCost(10**9, 0, "bf16").rates(1.0, every)
    assert reached.roofline == pytest.approx(1e-3 / every.tflops["bf16"] * 1e6)


def stored(cache: Path, **changes: object) -> ProcessorPeaks:
    """Write rates as those of the device, with changes."""
    compiler = processor_peaks.metadata.version("iree-base-compiler")
    peaks = ProcessorPeaks(DEVICE.name, 1, compiler, 1.0, {"fp32": 1e-3}, 1e-3, is_busy=False)
    document = json.loads(processor_peaks.to_json(peaks)) | changes
    path = processor_peaks._path(DEVICE, compiler)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    assert path.parent.parent == cache
    return peaks


def test_rates_of_a_busy_machine_are_measured_again(cache: Path) -> None:
    quiet = stored(cache)
    assert rates([]) == quiet.rates
    stored(cache, is_busy=True)
    again = rates([])
    assert again is not None
    assert again.tflops["fp32"] > quiet.rates.tflops["fp32"]
    assert again.tbps > quiet.rates.tbps


@pytest.mark.parametrize(
    "changes",
    [{"gflops": {}}, {"gflops": {"fp32": 0.0}}, {"gbps": "1"}, {"gflops": None}, {"seconds": 1e12}],
)
def test_a_damaged_file_is_ignored(cache: Path, changes: dict[str, object]) -> None:
    stored(cache, **changes)
    assert not stored_peaks()
    assert rates(["f32"], measures=False) is None
    (file,) = files(cache)
    file.write_text("{")
    assert not stored_peaks()


def test_nothing_is_measured_for_other_devices(cache: Path) -> None:
    gpu = replace(DEVICE, uri="cuda://0", driver="cuda", name="NVIDIA H200", cores=0)
    assert peaks_of_processor(gpu, ["f32"]) == (None, "")
    assert not list(cache.iterdir())


def test_a_failed_measurement_is_a_remark(cache: Path) -> None:
    peaks, remark = peaks_of_processor(replace(DEVICE, uri="local-sync://unknown"), ["f32"])
    start = "the peak rates of the processor were not measured: there is no device"
    assert peaks is None
    assert remark.startswith(start)
    assert not list(cache.iterdir())


def test_processors_share_last_level_caches() -> None:
    cores = physical_cores()
    assert shared_cache_bytes(cores[:1]) == shared_cache_bytes([*cores[:1], *cores[:1]])
    assert shared_cache_bytes(cores) >= shared_cache_bytes(cores[:1]) > 0
