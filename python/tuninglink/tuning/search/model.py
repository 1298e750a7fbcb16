"""Search with a model: ensembles of randomized trees on the measurements so far, and on other problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from tuninglink.tuning.search.base import (
    FIRST_CANDIDATES,
    MOST_CANDIDATES,
    CandidatePool,
    MeasuredProblem,
    Search,
    load_trees,
)
from tuninglink.tuning.search.features import estimate, fastest_first, features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.candidates import Candidate

    Table = NDArray[np.float32]
    Values = NDArray[np.float64]


_TREES: Final = 60
_FEW: Final = 20
"""The number of rows below which a leaf of a tree may hold a single one."""

_COLUMNS: Final = 0.5
"""The part of the columns that a split chooses from."""


class Ensemble:
    """Extremely randomized trees, each on a bootstrap sample of the rows.

    scikit-learn's own forests spend most of their time copying the trees' parameters.

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
        sklearn = load_trees()
        with sklearn.config_context(skip_parameter_validation=True):
            for number, weights in zip(seeds, counts, strict=True):
                tree = sklearn.tree.ExtraTreeRegressor(
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


_FIRST: Final = 8
"""Fast configurations of other environments come first, then this number of the best by the estimate. After that comes the same number of
the best by results for other problems; without other problems, the neighbors of the compiler's choice and as many of the best quarter
by the estimate."""

_NEAR_DEFAULT: Final = 12
"""Neighbors of the compiler's choice that are tried before there is a model."""

_TRUST: Final = 0.5
"""The part of the estimate that the model only corrects; the rest it has to learn."""

_OPTIMISM: Final = 1.0
"""The number of standard deviations that are subtracted from the expected time of a candidate."""

_EXPLORATION: Final = 0.03
"""The probability that a candidate is drawn at random."""

_SETTLED: Final = 24
"""After this number of trials, the model chooses from all candidates instead of from those that were drawn first."""

_DRY: Final = 0.5
"""The fraction of tried candidates from which others are drawn."""

_NEW: Final = 4
"""The number of new times, also a tenth of all, that are worth another model, which takes a tenth of a second."""

_LEAST_PROBABILITY: Final = 1 / 64
"""A candidate that is like those that failed is taken to be this many times slower at most."""

_FEWEST: Final = 2
"""The least number of times that a model learns from."""

_CLIMBERS: Final = 3
"""The neighbors of this number of the best candidates are examined, whether they were sampled or not."""


class ModelSearch(Search):
    """Learns the logarithm of the time from knobs and derived features, and whether candidates compile at all.

    It begins with the candidates of the best estimates, neighbors of the compiler's choice, and a spread sample. Then
    it selects the candidates with the best predictions, with optimism under uncertainty. Neighbors of the best few
    candidates are always examined, so that the search ends as a hill climb.
    """

    name: ClassVar[str] = "model"

    def __init__(
        self,
        pool: CandidatePool,
        seed: int,
        default_microseconds: float | None,
        known: Sequence[tuple[Candidate, float | None]] = (),
        measured: Sequence[MeasuredProblem] = (),
    ) -> None:
        timed = [pair for pair in known if pair[1] is not None]
        super().__init__(pool, seed, default_microseconds, timed, measured)
        self._elsewhere = [candidate for candidate, microseconds in known if microseconds is None]
        self._ranking: tuple[int, list[Candidate]] | None = None
        self._further: list[Candidate] = []
        self._known_neighbors: dict[str, Sequence[Candidate]] = {}
        self._estimated: dict[str, float] = {}
        self._described: dict[str, dict[str, float]] = {}

    def propose(self, count: int) -> Sequence[Candidate]:
        """Return the most promising candidates."""
        if self._tried < len(self._first_candidates) or len(self._times) < _FEWEST:
            begun = [candidate for candidate in self._first_candidates if self.is_new(candidate)]
            if begun:
                return begun
        ranked = [candidate for candidate in self._ranked() if self.is_new(candidate)]
        if not ranked and (further := self.further()):
            self._further += further
            self._ranking = None
            ranked = [candidate for candidate in self._ranked() if self.is_new(candidate)]
        chosen = ranked[:count]
        for position in range(len(chosen)):
            if self._chance.random() < _EXPLORATION:
                chosen[position] = self._chance.choice(ranked)
        return chosen

    def draw_ahead(self) -> None:
        """Draw the candidates that the model will choose from."""
        if self._tried >= _FEWEST:
            self._pool.begin_sample(MOST_CANDIDATES, self._seed)

    @property
    def _tried(self) -> int:
        return len(self._times) + len(self._failed)

    def _ranked(self) -> list[Candidate]:
        """Return untried candidates, best first; the ranking is updated after enough new measurements."""
        if self._ranking is None or self._tried >= self._ranking[0] + max(_NEW, self._tried // 10):
            rest = [candidate for candidate in self._candidates() if self.is_new(candidate)]
            if len(self._times) < _FEWEST or not rest:
                self._chance.shuffle(rest)
            else:
                rest = [
                    rest[position] for position in np.argsort(self._scores(rest), kind="stable")
                ]
            self._ranking = self._tried, rest
        return self._ranking[1]

    @cached_property
    def _first_candidates(self) -> list[Candidate]:
        """The candidates that are tried before a model exists."""
        sampled = list(self.drawn(FIRST_CANDIDATES))
        estimated = fastest_first(self._pool.problem, sampled)
        if self._transfer is not None:
            order = np.argsort(self._estimates(sampled), kind="stable")[:_FIRST]
            corrected = [sampled[position] for position in order]
            return _unlike([*self._elsewhere, *estimated[:_FIRST], *corrected])
        default = self._pool.default
        near = list(self._neighbors(default))[:_NEAR_DEFAULT] if default is not None else []
        quarter = estimated[: max(_FIRST, len(estimated) // 4)]
        others = self._chance.sample(quarter, min(len(quarter), _FIRST))
        return _unlike([*self._elsewhere, *estimated[:_FIRST], *near, *others])

    def _candidates(self) -> list[Candidate]:
        count = MOST_CANDIDATES if self._tried >= _SETTLED else FIRST_CANDIDATES
        may_wait = not self.is_pending or self._pool.begin_sample(count, self._seed)
        drawn = self.drawn(count if may_wait else FIRST_CANDIDATES)
        if self._tried > _DRY * (len(drawn) + len(self._further)) and self._tried >= _SETTLED:
            self._further += self.further()
        result = {candidate.key: candidate for candidate in (*drawn, *self._further)}
        for fast in self.best(_CLIMBERS):
            result |= {neighbor.key: neighbor for neighbor in self._neighbors(fast)}
        return list(result.values())

    def _neighbors(self, candidate: Candidate) -> Sequence[Candidate]:
        if candidate.key not in self._known_neighbors:
            self._known_neighbors[candidate.key] = self._pool.neighbors(candidate)
        return self._known_neighbors[candidate.key]

    # --- The model -------------------------------------------------------------------------------------------

    def _scores(self, rest: Sequence[Candidate]) -> np.ndarray:
        """Return the optimistic logarithm of the time of candidates, worse for those that may not compile."""
        measured = [candidate for candidate, _ in self._times.values()]
        failed = list(self._failed.values())
        table = self._table([*measured, *failed, *rest])
        timed, unknown = table[: len(measured)], table[len(measured) + len(failed) :]
        times = np.log2([microseconds for _, microseconds in self._times.values()])
        residuals = times - _TRUST * self._estimates(measured)
        guesses = Ensemble(timed, residuals, self._seed).guesses(unknown)
        expected = guesses.mean(axis=0) + _TRUST * self._estimates(rest)
        scores: np.ndarray = expected - _OPTIMISM * guesses.std(axis=0)
        if failed:
            scores -= np.log2(self._compiling(table, len(measured), len(failed)))
        return scores

    def _compiling(self, table: np.ndarray, succeeded: int, failed: int) -> np.ndarray:
        """Return the probability that each of the remaining candidates can be compiled and run."""
        outcomes = np.repeat([1.0, 0.0], [succeeded, failed])
        judge = Ensemble(table[: succeeded + failed], outcomes, self._seed)
        probability = judge.guesses(table[succeeded + failed :]).mean(axis=0)
        likely: np.ndarray = np.maximum(probability, _LEAST_PROBABILITY)
        return likely

    def _table(self, candidates: Sequence[Candidate]) -> np.ndarray:
        described = [self._features(candidate) for candidate in candidates]
        columns = sorted({name for row in described for name in row})
        return np.array(
            [[row.get(name, -1.0) for name in columns] for row in described], np.float32
        )

    def _features(self, candidate: Candidate) -> dict[str, float]:
        if candidate.key not in self._described:
            self._described[candidate.key] = features(self._pool.problem, candidate)
        return self._described[candidate.key]

    def _estimates(self, candidates: Sequence[Candidate]) -> np.ndarray:
        """Return the logarithm of the expected time before any measurement, up to a constant."""
        new = [candidate for candidate in candidates if candidate.key not in self._estimated]
        if new:
            array = np.array([estimate(self._features(candidate)) for candidate in new])
            if self._transfer is not None:
                array += self._transfer.corrections(list(map(self._features, new)))
            self._estimated |= {
                candidate.key: value for candidate, value in zip(new, array, strict=True)
            }
        return np.array([self._estimated[candidate.key] for candidate in candidates])

    @cached_property
    def _transfer(self) -> Transfer | None:
        return Transfer(self._measured, self._seed) if self._measured else None


def _unlike(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates without duplicates."""
    return list({candidate.key: candidate for candidate in candidates}.values())
