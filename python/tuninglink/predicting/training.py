"""Training of models of gains with scikit-learn, and the calibration of their lower bounds on problems left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tuninglink.predicting.candidate_features import prediction_features
from tuninglink.predicting.model import GainModel, Provenance, Trees, feature_table, trees_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.candidates import Candidate, SearchProblem

    Floats = NDArray[np.float64]


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

_LOW: Final = 0.2
"""The quantile of the gain that the lower bound begins with."""

_ROUNDS: Final = 250
_LEAVES: Final = 16
_SEED: Final = 0


@dataclass(frozen=True)
class Table:
    """The features of measured candidates, a row each.

    Attributes:
        names: the features.
        rows: their values.
        gains: the gains.
        weights: the weights of the rows: problems count alike.
        problems: the number of the problem of each row.
    """

    names: tuple[str, ...]
    rows: Floats
    gains: Floats
    weights: Floats
    problems: NDArray[np.int64]

    @classmethod
    def of(cls, measured: Sequence[MeasuredGains]) -> Table:
        """Describe the candidates of all problems, the default of each among them."""
        described: list[Mapping[str, float]] = []
        gains: list[float] = []
        problems: list[int] = []
        for number, one in enumerate(measured):
            candidates = (one.default, *one.candidates)
            described += prediction_features(one.problem, one.default, candidates)
            gains += [0.0, *one.gains]
            problems += [number] * len(candidates)
        names = sorted({name for row in described for name in row})
        rows = feature_table(described, names)
        # What never differs tells nothing.
        varied = (rows != rows[:1]).any(axis=0)
        known = np.clip(np.array(gains), -MOST_GAIN, MOST_GAIN)
        own = np.array(problems)
        # Candidates near the fastest of a problem matter most.
        best = np.array([known[own == number].max() for number in range(len(measured))])
        near = 0.25 + np.exp2(known - best[own])
        counts = np.bincount(own, near)
        kept = tuple(name for name, is_varied in zip(names, varied, strict=True) if is_varied)
        return cls(kept, rows[:, varied], known, near / counts[own], own)

    def of_problems(self, numbers: Iterable[int]) -> NDArray[np.bool_]:
        """Return which rows belong to problems."""
        return np.isin(self.problems, list(numbers))


def fit(table: Table, chosen: NDArray[np.bool_], quantile: float | None = None) -> Any:
    """Return scikit-learn's boosted trees for the mean, or a quantile, of the gains of rows of a table."""
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415 - takes a second to load
    from threadpoolctl import (  # type: ignore[import-untyped]  # noqa: PLC0415 - likewise
        threadpool_limits,
    )

    options: dict[str, Any] = {"loss": "squared_error"}
    if quantile is not None:
        options = {"loss": "quantile", "quantile": quantile}
    regressor = HistGradientBoostingRegressor(
        **options,
        max_iter=_ROUNDS,
        learning_rate=0.06,
        max_leaf_nodes=_LEAVES,
        min_samples_leaf=12,
        l2_regularization=1.0,
        max_features=0.3,
        random_state=_SEED,
    )
    # Its threads wait actively for each other, which takes many times as long on a machine with other work.
    with threadpool_limits(1):
        regressor.fit(table.rows[chosen], table.gains[chosen], table.weights[chosen])
    return regressor


_DIGITS: Final = 5
"""The digits of thresholds after the decimal point: a threshold is between two features, which have three."""


def exported(regressor: Any) -> Trees:
    """Return the trees of scikit-learn's regressor as plain arrays."""
    columns: list[int] = []
    thresholds: list[float] = []
    for (predictor,) in regressor._predictors:  # noqa: SLF001 - has no other access to its trees
        nodes = predictor.nodes

        def add(number: int, nodes: Any = nodes) -> None:
            node = nodes[number]
            is_leaf = bool(node["is_leaf"])
            columns.append(-1 if is_leaf else int(node["feature_idx"]))
            thresholds.append(float(node["value"] if is_leaf else node["num_threshold"]))
            if not is_leaf:
                add(int(node["left"]))
                add(int(node["right"]))

        add(0)
    (base,) = regressor._baseline_prediction.ravel()  # noqa: SLF001
    return trees_of(columns, [round(value, _DIGITS) for value in thresholds], float(base))


# --- Calibration ---------------------------------------------------------------------------------------------


_FOLDS: Final = 10
"""The number of models that are trained for the calibration."""


@dataclass(frozen=True)
class Selection:
    """What a model without a problem's group selects for the problem.

    Attributes:
        number: the number of the problem.
        kind: its kind of operation.
        expected: the expected gain of the selected candidate.
        low: the low quantile of its gain.
        gain: its measured gain.
        best: the gain of the best measured candidate, at least 0.
    """

    number: int
    kind: str
    expected: float
    low: float
    gain: float
    best: float

    @property
    def is_loss(self) -> bool:
        """Whether the selected candidate is slower than the default by more than the noise of a measurement."""
        return self.gain < _LOSS


@dataclass(frozen=True)
class Fold:
    """A model that was trained without some groups, with margins of 0, and what it selects for their problems."""

    groups: frozenset[str]
    model: GainModel
    selected: tuple[Selection, ...]


def folds_of(measured: Sequence[MeasuredGains], table: Table) -> Iterator[Fold]:
    """Yield models that leave out each group once."""
    groups = sorted({one.group for one in measured})
    for fold in range(min(_FOLDS, len(groups))):
        left_out = frozenset(groups[fold::_FOLDS])
        out = [number for number, one in enumerate(measured) if one.group in left_out]
        kept = ~table.of_problems(out)
        if not kept.any():
            continue
        mean, low = exported(fit(table, kept)), exported(fit(table, kept, _LOW))
        selected = []
        for number in out:
            rows = table.of_problems([number])
            expected, lowest = mean.values(table.rows[rows]), low.values(table.rows[rows])
            gains = table.gains[rows]
            best = 1 + int(np.argmax(lowest[1:]))  # the first is the default
            kind, most = measured[number].problem.kind, float(gains.max())
            chosen = float(expected[best]), float(lowest[best]), float(gains[best])
            selected.append(Selection(number, kind, *chosen, most))
        yield Fold(left_out, GainModel(table.names, mean, low, {"": 0.0}), tuple(selected))


def margins_of(selected: Sequence[Selection], losses: float = 0.01) -> dict[str, float]:
    """Return margins for which at most a part of the selected candidates with a positive bound is slower than the default.

    The bound of the candidate with the largest low quantile is calibrated, as a maximum of predictions is too high on
    average. Kinds with few problems share a margin.
    """
    result = {"": _margin(selected, losses)}
    kinds = sorted({one.kind for one in selected})
    for kind in kinds:
        own = [one for one in selected if one.kind == kind]
        if len(own) >= _FEWEST:
            result[kind] = max(_margin(own, losses), 0.0)
    return result


_FEWEST: Final = 25
_LOSS: Final = -0.03
"""The gain below which a candidate counts as a loss: two percent, which is the noise of a measurement."""


def _margin(selected: Sequence[Selection], losses: float) -> float:
    """Return the least margin with which the losses are rare among the selections that it leaves."""
    margin = 0.0
    for one in sorted(selected, key=lambda one: -one.low):
        left = [other for other in selected if other.low > margin]
        lost = sum(other.is_loss for other in left)
        if lost <= losses * len(left):
            break
        worst = min(other.low for other in left if other.is_loss)
        margin = worst + 1e-6
        del one
    return margin


def train(
    measured: Sequence[MeasuredGains],
    provenance: Provenance,
    report: Callable[[Fold], object] = lambda _: None,
) -> GainModel:
    """Train a model and calibrate it by leaving out one group of problems after the other.

    Args:
        measured: the problems.
        provenance: what they are; its counts are filled in.
        report: receives the models of the calibration.
    """
    table = Table.of(measured)
    selected: list[Selection] = []
    for fold in folds_of(measured, table):
        report(fold)
        selected += fold.selected
    everything = np.ones(len(table.gains), np.bool_)
    provenance = replace(
        provenance,
        problems=len(measured),
        trials=sum(len(one.candidates) for one in measured),
        groups=len({one.group for one in measured}),
    )
    return GainModel(
        table.names,
        exported(fit(table, everything)),
        exported(fit(table, everything, _LOW)),
        margins_of(selected),
        provenance,
    )
