"""Comparison of the values of traced dispatches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import pytest

from tuninglink.devices import DispatchTrace, TracedTensor
from tuninglink.tuning import Agreement, TracedDispatch, overflow_finding
from tuninglink.tuning.deciding import overflows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.mark.parametrize(
    ("inputs", "outputs", "agreement"),
    [
        (0.0, 0.0, Agreement.AGREES),
        (0.0, 0.009, Agreement.AGREES),
        (0.0, 0.02, Agreement.DIFFERS),
        (0.009, 0.02, Agreement.INHERITED),
        (0.03, 0.9, Agreement.DIFFERS),
        (0.9, 0.9, Agreement.INHERITED),
        (0.9, 0.001, Agreement.AGREES),
    ],
)
def test_a_dispatch_differs_where_errors_grow(
    inputs: float, outputs: float, agreement: Agreement
) -> None:
    dispatch = TracedDispatch("dispatch", inputs, outputs, 0.01, 1.0)
    assert dispatch.agreement is agreement


NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("dispatches", "position"),
    [
        ([([1.0], [2.0]), ([2.0], [3.0])], None),
        ([([1.0], [2.0]), ([2.0], [INFINITY]), ([INFINITY], [NAN])], 1),
        # Negative infinities are a mask where only these occur before, and else where a later one comes from them.
        ([([1.0], [-INFINITY, 0.0]), ([3.0], [INFINITY]), ([-INFINITY, 0.0], [NAN])], 1),
        ([([1.0], [0.0, -INFINITY]), ([4.0], [-INFINITY]), ([-INFINITY], [NAN])], 1),
        ([([1.0], [-INFINITY]), ([-INFINITY], [0.0])], 0),
        # An argument of the program has them.
        ([([1.0], [2.0]), ([NAN], [NAN])], 1),
    ],
)
def test_infinities_are_followed_to_the_dispatch_that_makes_them(
    tmp_path: Path,
    dispatches: Sequence[tuple[Sequence[float], Sequence[float]]],
    position: int | None,
) -> None:
    finding = overflow_finding(traces_of(tmp_path, dispatches), (), "")
    assert finding.partition(",")[0] == (
        "" if position is None else f"first dispatch with infinities or NaNs: d{position}"
    )


def traces_of(
    folder: Path,
    dispatches: Sequence[tuple[Sequence[float], Sequence[float]]],
    dtype: type = np.float16,
) -> list[DispatchTrace]:
    def traced(values: Sequence[float]) -> tuple[TracedTensor, ...]:
        array = np.array(values, dtype)
        path = folder / array.tobytes().hex()
        path.write_bytes(array.tobytes())
        return (TracedTensor(path, array.dtype, array.shape),)

    return [
        DispatchTrace(f"d{number}", traced(inputs), traced(outputs))
        for number, (inputs, outputs) in enumerate(dispatches)
    ]


def test_the_remedy_depends_on_what_overflows(tmp_path: Path) -> None:
    infinite, finite = [([300.0], [INFINITY])], [([300.0], [9e4])]
    narrow = traces_of(tmp_path, infinite)
    assert "exceed 65504" in overflow_finding(narrow, (), "")
    assert "divides by zero" in overflow_finding(traces_of(tmp_path, infinite, np.float32), (), "")
    assert "an argument or a weight" in overflow_finding(
        traces_of(tmp_path, [([NAN], [NAN])]), (), ""
    )
    # The code of the device is wrong only if the same dispatch is finite elsewhere.
    right = "which has none on llvm-cpu: tuninglink tune looks for a right configuration"
    assert right in overflow_finding(narrow, (), "llvm-cpu")
    exact = traces_of(tmp_path, finite, np.float32)
    assert right in overflow_finding(narrow, (), "llvm-cpu", exact)
    assert "exceed 65504" in overflow_finding(narrow, (), "llvm-cpu", narrow)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_outputs_overflow_where_they_should_be_finite(dtype: type) -> None:
    masked, finite = np.array([1.0, -INFINITY], dtype), np.array([1.0, 2.0], dtype)
    assert not overflows([masked], [])
    assert not overflows([masked], [masked])
    assert overflows([masked], [finite])
    assert overflows([np.array([1.0, NAN], dtype)], [])
    assert not overflows([finite], [masked])
    assert not overflows([np.array([1, 2])], [])
