"""Comparison of the values of traced dispatches."""

from __future__ import annotations

import pytest

from tuninglink.tuning import Agreement, TracedDispatch


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
