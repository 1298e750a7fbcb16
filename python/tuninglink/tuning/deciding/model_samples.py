"""The times of a program's functions by round, without and with a spec."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from tuninglink.tuning.deciding import undisturbed_speedup, undisturbed_us
from tuninglink.tuning.results.task_result import FunctionComparison, ModelComparison

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.deciding import ConfidenceInterval
    from tuninglink.tuning.programs.program_calls import FunctionCall
    from tuninglink.tuning.results import OutputComparison

NARROW_ROUNDS: Final = 25
"""The least number of rounds whose interval may be narrow enough."""

_NARROW: Final = 0.03
"""The width of an interval that is narrow enough."""

_CLEAR: Final = 1.5
"""Any number of rounds suffices if the interval of the ratio lies outside these bounds."""

_MOST_ROUNDS: Final = 1000


class ModelSamples:
    """The times of functions by round, without and with a spec.

    Args:
        functions: the functions, with their weights.
        seed: the seed of resamples.
    """

    def __init__(self, functions: Sequence[FunctionCall], seed: int) -> None:
        self._functions = functions
        self._seed = seed
        self._samples: list[tuple[float, ...]] = []

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self._samples)

    def add(self, samples: Sequence[tuple[float, ...]]) -> None:
        """Add rounds: the microseconds of each function without the spec and with it."""
        self._samples += samples

    @property
    def are_decided(self) -> bool:
        """Whether further rounds are pointless."""
        if not self._samples:
            return False
        *_, interval = self._times(self._weighted)
        is_narrow = interval.high - interval.low <= _NARROW and len(self) >= NARROW_ROUNDS
        is_clear = interval.low > _CLEAR or interval.high < 1 / _CLEAR
        return is_narrow or is_clear or len(self) >= _MOST_ROUNDS

    def comparison(
        self, notes: tuple[str, ...], outputs: OutputComparison | None
    ) -> ModelComparison:
        """Return the comparison of the program and its functions.

        Args:
            notes: remarks on it.
            outputs: the errors of the outputs.
        """
        functions = tuple(
            FunctionComparison(function.label, function.weight, *self._times(times))
            for function, times in zip(
                self._functions, np.swapaxes(self._by_function, 0, 1), strict=True
            )
        )
        times = self._times(self._weighted)
        return ModelComparison(*times, functions=functions, notes=notes, outputs=outputs)

    @property
    def _by_function(self) -> NDArray[np.float64]:
        """The times by round, function and program."""
        return np.array(self._samples).reshape(len(self), len(self._functions), 2)

    @property
    def _weighted(self) -> NDArray[np.float64]:
        """The weighted sums over the functions by round, without and with the spec."""
        weights = np.array([function.weight for function in self._functions])
        sums: NDArray[np.float64] = (self._by_function * weights[:, None]).sum(axis=1)
        return sums

    def _times(self, pairs: NDArray[np.float64]) -> tuple[float, float, ConfidenceInterval]:
        """Return the times without other work on the machine, in milliseconds, and the speedup."""
        default, tuned = pairs.T
        speedup = undisturbed_speedup(default, tuned, self._seed)
        return undisturbed_us(default) / 1000, undisturbed_us(tuned) / 1000, speedup
