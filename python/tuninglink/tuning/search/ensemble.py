"""An ensemble of randomized trees that is made often and of little data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import sklearn
from sklearn.tree import ExtraTreeRegressor

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        """Return what each tree says about each row: trees by rows."""
        return np.stack([tree.predict(table)[:, 0] for tree in self._trees])
