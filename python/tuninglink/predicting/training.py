"""Training of models of gains with scikit-learn, and the calibration of their lower bounds on problems left out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tuninglink.predicting.candidate_features import prediction_features
from tuninglink.predicting.model import (
    HUNDREDTHS,
    GainModel,
    Provenance,
    Trees,
    feature_table,
    form_of,
    trees_of,
    work_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.candidates import Candidate, SearchProblem

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True)
class MeasuredGains:
    """The measured gains of the candidates of a problem over its default.

    Attributes:
        default: the compiler's choice, whose gain is 0.
        candidates: the candidates that computed right results, without the default.
        gains: the binary logarithm of the default's time over that of each.
        group: the name of what the problem belongs to, such as a model.
    """

    problem: SearchProblem
    default: Candidate
    candidates: tuple[Candidate, ...]
    gains: tuple[float, ...]
    group: str


MOST_GAIN: Final = 4.0
"""Gains and losses beyond this one count as this one: what is 16 times slower need not be told from what is worse."""

_TREES: Final = 48
_LEAST_LEAF: Final = 4
_SEED: Final = 0


@dataclass(frozen=True)
class Table:
    """The features of measured candidates, a row each.

    Attributes:
        names: the features.
        rows: their values.
        gains: the gains over the compiler's choice.
        weights: the weights of the rows: problems count alike.
        problems: the number of the problem of each row.
    """

    names: tuple[str, ...]
    rows: Integers
    gains: Floats
    weights: Floats
    problems: NDArray[np.int64]

    @classmethod
    def of(cls, measured: Sequence[MeasuredGains]) -> Table:
        """Describe all candidates beside the default of their problem, which is the first."""
        described: list[Mapping[str, float]] = []
        gains, weights, problems = list[float](), list[float](), list[int]()
        for number, one in enumerate(measured):
            candidates = (one.default, *one.candidates)
            own = np.clip([0.0, *one.gains], -MOST_GAIN, MOST_GAIN)
            described += prediction_features(one.problem, one.default, candidates)
            gains += own.tolist()
            # Candidates near the fastest of a problem matter most.
            weights += ((0.25 + np.exp2(own - own.max())) / len(own)).tolist()
            problems += [number] * len(own)
        names = sorted({name for row in described for name in row})
        rows = feature_table(described, names)
        varied = (rows != rows[:1]).any(axis=0)  # what never differs tells nothing
        return cls(
            tuple(name for name, is_varied in zip(names, varied, strict=True) if is_varied),
            rows[:, varied],
            np.array(gains),
            np.array(weights),
            np.array(problems),
        )


def fit(table: Table, chosen: NDArray[np.bool_]) -> Any:
    """Return scikit-learn's extremely randomized trees for the gains of rows of a table."""
    from sklearn.ensemble import ExtraTreesRegressor  # noqa: PLC0415 - takes a second to load

    regressor = ExtraTreesRegressor(
        _TREES, min_samples_leaf=_LEAST_LEAF, max_features=0.5, random_state=_SEED
    )
    return regressor.fit(table.rows[chosen], table.gains[chosen], table.weights[chosen])


def exported(regressor: Any) -> Trees:
    """Return the trees of scikit-learn's regressor as plain arrays.

    Features are whole numbers, so that a threshold may be rounded down.
    """
    columns: list[int] = []
    values: list[int] = []
    for estimator in regressor.estimators_:
        tree = estimator.tree_
        waiting = [0]
        while waiting:
            node = waiting.pop()
            is_leaf = tree.children_left[node] < 0
            value = HUNDREDTHS * tree.value[node, 0, 0] if is_leaf else tree.threshold[node]
            columns.append(-1 if is_leaf else int(tree.feature[node]))
            values.append(round(value) if is_leaf else math.floor(value))
            if not is_leaf:
                waiting += [int(tree.children_right[node]), int(tree.children_left[node])]
    return trees_of(columns, values)


# --- Calibration ---------------------------------------------------------------------------------------------

_FOLDS: Final = 10
"""The number of models that are trained for the calibration."""


@dataclass(frozen=True)
class Selection:
    """What a model without a problem's group selects for the problem.

    Attributes:
        kind: its kind of operation.
        low: the cautious guess of the gain of the selected candidate.
        gain: its measured gain.
        best: the gain of the best measured candidate, at least 0.
    """

    kind: str
    low: float
    gain: float
    best: float

    @property
    def is_loss(self) -> bool:
        """Whether the selected candidate is slower than the default by more than the noise of a measurement."""
        return self.gain < _LOSS


@dataclass(frozen=True)
class Fold:
    """A model that was trained without some groups, with a margin of 0, and what it selects for their problems."""

    groups: frozenset[str]
    model: GainModel
    selected: tuple[Selection, ...]


def folds_of(measured: Sequence[MeasuredGains], table: Table) -> Iterator[Fold]:
    """Yield models that leave out each group once."""
    groups = sorted({one.group for one in measured})
    for fold in range(min(_FOLDS, len(groups))):
        left_out = frozenset(groups[fold::_FOLDS])
        out = [number for number, one in enumerate(measured) if one.group in left_out]
        inside = [one for one in measured if one.group not in left_out]
        if not inside:
            continue
        kept = ~np.isin(table.problems, out)
        model = GainModel(table.names, exported(fit(table, kept)), 0.0, forms_of(inside))
        selected = []
        for number in out:
            rows = table.problems == number
            _, low = model.guesses(table.rows[rows])
            gains, problem = table.gains[rows], measured[number].problem
            best = 1 + int(np.argmax(low[1:]))  # the first is the default
            bound = float(low[best]) if model.knows(problem) else -math.inf
            selected.append(Selection(problem.kind, bound, float(gains[best]), float(gains.max())))
        yield Fold(left_out, model, tuple(selected))


_LOSS: Final = -0.03
"""The gain below which a candidate counts as a loss: two percent, which is the noise of a measurement."""


def forms_of(measured: Iterable[MeasuredGains]) -> dict[str, float]:
    """Return the forms of problems with the least work of each that is predicted."""
    result: dict[str, float] = {}
    for one in measured:
        form, work = form_of(one.problem), round(work_of(one.problem), 2) - _SMALLER
        result[form] = min(work, result.get(form, work))
    return result


_SMALLER: Final = 1.0
"""Problems of half the work of the smallest one, the power of 2 that this is, are still predicted."""

_LEAST_MARGIN: Final = 0.07


def margin_of(selected: Sequence[Selection], losses: float = 0.01) -> float:
    """Return the least margin with which losses are rare among the selections whose lower bound it leaves positive.

    The selections are for problems that the models were not trained on; at most the part `losses` of them are losses.
    The guess for the selected candidate is calibrated, as a maximum of guesses is too high on average. One loss may always
    be left, as it may be one of measurement. A prediction chooses among more candidates than were measured, so that the
    margin is never 0.
    """
    margin = _LEAST_MARGIN
    while True:
        left = [one for one in selected if one.low > margin]
        lost = [one.low for one in left if one.is_loss]
        if len(lost) <= max(1.0, losses * len(left)):
            return margin
        margin = min(lost)


def train(
    measured: Sequence[MeasuredGains],
    provenance: Provenance,
    report: Callable[[Fold], object] = lambda _: None,
) -> GainModel:
    """Train a model and calibrate it by leaving out one group of problems after the other.

    The counts of the provenance are filled in. `report` receives the models of the calibration.
    """
    table, selected = Table.of(measured), list[Selection]()
    for fold in folds_of(measured, table):
        report(fold)
        selected += fold.selected
    trials, groups = sum(len(one.candidates) for one in measured), {one.group for one in measured}
    provenance = replace(provenance, problems=len(measured), trials=trials, groups=len(groups))
    trees = exported(fit(table, np.ones(len(table.gains), np.bool_)))
    return GainModel(table.names, trees, margin_of(selected), forms_of(measured), provenance)
