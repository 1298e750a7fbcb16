"""What the measurements of other problems say about the candidates of this one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tuninglink.tuning.search.ensemble import Ensemble
from tuninglink.tuning.search.features import features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.search.measured_problem import MeasuredProblem

_DOUBT: Final = 4
"""With so many other problems, half of what they say is believed: they may be unlike this one."""


class Transfer:
    """Corrects the estimate of candidates by how wrong it was about other problems.

    Problems differ by a constant: the residuals of each are taken from those of its fastest candidate.

    Args:
        measured: the other problems.
        seed: fixes the trees.
    """

    def __init__(self, measured: Sequence[MeasuredProblem], seed: int) -> None:
        described = [
            [features(problem.problem, candidate) for candidate, _ in problem.times]
            for problem in measured
        ]
        residuals = []
        for problem, rows in zip(measured, described, strict=True):
            times = np.log2([microseconds for _, microseconds in problem.times])
            result = times - [row.get("estimate", 0.0) for row in rows]
            residuals.append(result - result[np.argmin(times)])
        everything = [row for rows in described for row in rows]
        self._columns = sorted({name for row in everything for name in row})
        self._weight = len(measured) / (len(measured) + _DOUBT)
        self._ensemble = Ensemble(self._table(everything), np.concatenate(residuals), seed)

    def corrections(self, described: Sequence[Mapping[str, float]]) -> NDArray[np.float64]:
        """Return what to add to the estimate of each candidate, of which the features are given."""
        mean: NDArray[np.float64] = self._ensemble.guesses(self._table(described)).mean(axis=0)
        return self._weight * mean

    def _table(self, described: Sequence[Mapping[str, float]]) -> NDArray[np.float32]:
        return np.array(
            [[row.get(name, -1.0) for name in self._columns] for row in described], np.float32
        )
