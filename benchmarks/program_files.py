"""The files that exporters write for `models.py`: inputs, expected outputs, and the figures of the framework itself.

Beside them stands the program, `program.mlirbc` or `program.mlir`. `FUNCTION.input.N.npy` are the inputs of a function,
`FUNCTION.expected.N.npy` what the framework computes in f32 with the same weights, and `framework.json` has its time and
its error in the type of the program.
"""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

FIGURES: Final = "framework.json"

_WARM_UP: Final = 5
_RUNS: Final = 30


@dataclass(frozen=True)
class FrameworkRun:
    """A function as the framework runs it.

    Attributes:
        inputs: its inputs.
        expected: its outputs in f32.
        milliseconds: the median time of a call.
        error: the largest relative error of its outputs in the type of the program.
    """

    inputs: Sequence[np.ndarray]
    expected: Sequence[np.ndarray]
    milliseconds: float
    error: float


def write_runs(directory: Path, runs: Mapping[str, FrameworkRun]) -> None:
    """Write the inputs, the outputs and the figures of all functions."""
    figures = {}
    for name, run in runs.items():
        for position, value in enumerate(run.inputs):
            np.save(directory / f"{name}.input.{position}.npy", value)
        for position, value in enumerate(run.expected):
            np.save(directory / f"{name}.expected.{position}.npy", value)
        figures[name] = {
            "milliseconds": run.milliseconds,
            "error": run.error,
            "inputs": len(run.inputs),
            "outputs": len(run.expected),
        }
    (directory / FIGURES).write_text(json.dumps(figures))


def largest_error(actual: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """Return the largest relative error (Frobenius norm) of all outputs."""
    return max(
        float(np.linalg.norm(left - right) / np.linalg.norm(right))
        for left, right in zip(actual, expected, strict=True)
    )


def median_milliseconds(run: Callable[[], object], wait: Callable[[], object] = bool) -> float:
    """Return the median time of a call.

    Args:
        run: the call.
        wait: waits for its end.
    """
    times = []
    for _ in range(_WARM_UP + _RUNS):
        wait()
        begin = time.perf_counter()
        run()
        wait()
        times.append(1000 * (time.perf_counter() - begin))
    return statistics.median(times[_WARM_UP:])
