"""Ensembles of randomized trees: made often and of little data, and those of the measurements of other problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import sklearn
from sklearn.tree import ExtraTreeRegressor

from tuninglink.tuning.search.features import features

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.search.base import MeasuredProblem

    Table = NDArray[np.float32]
    Values = NDArray[np.float64]


_TREES: Final = 60
_FEW: Final = 20
"""With fewer rows, a leaf of a tree may hold a single one."""

_COLUMNS: Final = 0.5
"""The part of the columns that a split chooses from."""


class Ensemble:
    """Extremely randomized trees, each on a bootstrap sample of the rows.

    scikit-learn's own forests spend most of their time on copying the trees' parameters.

    Args:
        table: a row of features for each known value.
        values: the known values.
        seed: fixes trees and samples.
    """

    def __init__(self, table: Table, values: Values, seed: int) -> None:
        random = np.random.default_rng(seed)
        rows = len(values)
        leaf = 1 if rows < _FEW else 2
        seeds = random.integers(0, 1 << 31, _TREES)
        counts = random.multinomial(rows, np.full(rows, 1 / rows), _TREES).astype(np.float64)
        targets = np.ascontiguousarray(values.reshape(-1, 1))
        self._trees = []
        with sklearn.config_context(skip_parameter_validation=True):
            for number, weights in zip(seeds, counts, strict=True):
                tree = ExtraTreeRegressor(
                    min_samples_leaf=leaf, max_features=_COLUMNS, random_state=int(number)
                )
                tree.fit(table, targets, sample_weight=weights, check_input=False)
                self._trees.append(tree.tree_)

    def guesses(self, table: Table) -> Values:
        """Return the predictions of the trees for the rows, by tree and row."""
        return np.stack([tree.predict(table)[:, 0] for tree in self._trees])


_DOUBT: Final = 4
"""The number of other problems at which their correction counts half: they may differ from this one."""


class Transfer:
    """Corrections of the estimates of candidates, from the errors of estimates for other problems.

    Problems differ by a constant, so residuals are relative to that of the fastest candidate of their problem.

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
        """Return the corrections of the estimates of candidates, given their features."""
        mean: NDArray[np.float64] = self._ensemble.guesses(self._table(described)).mean(axis=0)
        return self._weight * mean

    def _table(self, described: Sequence[Mapping[str, float]]) -> NDArray[np.float32]:
        return np.array(
            [[row.get(name, -1.0) for name in self._columns] for row in described], np.float32
        )
