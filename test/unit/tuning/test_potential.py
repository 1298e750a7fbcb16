"""The part of a task's time that tuning may save."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from tuninglink.iree import DispatchCost
from tuninglink.programs import Benchmark, BufferLayout
from tuninglink.tuning.deciding import MeasuredTask
from tuninglink.tuning.scheduling import potentials, task_cost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.programs import TuningTask

MATMUL = """
func.func @f(%a: tensor<8x16xf32>, %b: tensor<16x4xf32>, %c: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<8x16xf32>, tensor<16x4xf32>) outs(%c : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
"""


class _Task:
    """A task with a key and a source, which are all that is read."""

    def __init__(self, key: str, source: str = "") -> None:
        self.key = key
        self.source = source


def of(costs: Mapping[str, tuple[float, int | None, int | None]]) -> dict[str, float]:
    """Return the potentials of tasks with the given microseconds, operations and bytes."""
    benchmark = Benchmark(b"", "f", BufferLayout((), 0, 0))
    return potentials(
        [
            MeasuredTask(
                cast("TuningTask", _Task(key)),
                benchmark,
                microseconds,
                0.0,
                cost=DispatchCost(flops, moved),
            )
            for key, (microseconds, flops, moved) in costs.items()
        ]
    )


def test_it_is_what_the_fastest_rates_leave() -> None:
    result = of(
        {
            "product": (100.0, 8_000_000, 40_000),
            "convolution": (100.0, 800_000, 40_000),
            "copy": (10.0, 0, 400_000),
            "transpose": (20.0, 0, 400_000),
        }
    )
    assert result == {
        "product": 0.25,
        "convolution": pytest.approx(0.9),
        "copy": 0.25,
        "transpose": pytest.approx(0.5),
    }


def test_an_unknown_cost_is_the_full_potential() -> None:
    assert of({"open": (10.0, None, None), "other": (10.0, 0, 0)}) == {"open": 1.0, "other": 1.0}
    assert of({}) == {}


def test_the_cost_is_read_from_the_source() -> None:
    assert task_cost(cast("TuningTask", _Task("", MATMUL))).flops == 2 * 8 * 16 * 4
