"""The base class of searches, and the searches without a model: random order, and hill climbing."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from itertools import combinations
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

import numpy as np

from tuninglink.errors import TuninglinkError, UsageError, did_you_mean
from tuninglink.mlir import error, note
from tuninglink.tuning.search.shapes import estimate, fastest_first, features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.iree import Spills
    from tuninglink.tuning.candidates import Candidate, SearchProblem

    Table = NDArray[np.float32]
    Values = NDArray[np.float64]


@dataclass(frozen=True)
class MeasuredProblem:
    """The measurements of another problem: its candidates with their microseconds."""

    problem: SearchProblem
    times: tuple[tuple[Candidate, float], ...]


class CandidatePool(Protocol):
    """The candidates of a problem."""

    @property
    def problem(self) -> SearchProblem:
        """The problem of the candidates."""

    @property
    def default(self) -> Candidate | None:
        """The compiler's own choice, if known."""

    @property
    def given(self) -> Sequence[Candidate]:
        """Candidates from specs."""

    def sample(self, n: int, seed: int) -> Sequence[Candidate]:
        """Return up to `n` candidates that are spread over the spaces."""

    def begin_sample(self, n: int, seed: int) -> bool:
        """Begin a draw for a later call of `sample`; return whether that call need not wait."""

    def neighbors(self, candidate: Candidate) -> Sequence[Candidate]:
        """Return the candidates that differ by a step, the nearest first."""

    def variants(self, candidate: Candidate) -> Sequence[Candidate]:
        """Return the candidates that differ in one option that is independent of the knobs."""


# --- Knobs that wrong results share, as rules for the rest of a run: candidates with them are not proposed again

_REMAINING: Final = 1 / 4
"""The least part of a pipeline's candidates that rules leave, to the power of the number of wrong results behind a rule:
two of them have much in common by chance."""

_IN_USE: Final = 2
"""The least value of a knob that is in use at all, such as a number of subgroups or a tile."""

_KEPT: Final = 16
"""The number of trials without a wrong result after which the least plausible rule is lifted, if it is not the only
one."""

_Rule: TypeAlias = tuple[str, tuple[tuple[str, int, float], ...]]
"""A pipeline, and one or two of its knobs, each with its least and its largest value."""


def _covers(rule: _Rule, candidate: Candidate) -> bool:
    pipeline, values = rule
    return candidate.pipeline == pipeline and all(
        low <= candidate.knobs.get(name, -math.inf) <= high for name, low, high in values
    )


class WrongKnobs:
    """Rules for the values of knobs that at least two wrong candidates of a pipeline have, and no right one.

    Several may be left, of which one is the cause: they are lifted one by one, the least plausible first, when trials
    are right without them.
    """

    def __init__(self) -> None:
        self._wrong: dict[str, Candidate] = {}
        self._right: dict[str, Candidate] = {}
        self._rules: list[_Rule] = []
        self._lifted: set[_Rule] = set()
        self._trials = 0

    def add(self, candidate: Candidate, known: Iterable[Candidate], *, is_right: bool) -> None:
        """Add a candidate whose result was checked; `known` yields the other candidates."""
        if is_right:
            self._right[candidate.key] = candidate
        else:
            self._trials = 0
            self._right.pop(candidate.key, None)
            self._wrong[candidate.key] = candidate
            self._lifted = {rule for rule in self._lifted if not _covers(rule, candidate)}
        if self._wrong:
            self._find_rules(known)

    def excludes(self, candidate: Candidate) -> bool:
        return any(_covers(rule, candidate) for rule in self._rules)

    def lift(self) -> bool:
        """Lift the least plausible rule; return whether there was one."""
        if self._rules:
            self._lifted.add(self._rules.pop())
            return True
        return False

    def count(self, trials: int) -> None:
        """Count trials; lift a rule among several after enough of them."""
        self._trials += trials
        if self._trials >= _KEPT and len(self._rules) > 1:
            self._trials = 0
            self.lift()

    def _find_rules(self, known: Iterable[Candidate]) -> None:
        """Find the rules, the most plausible first."""
        wrong = list(self._wrong.values())
        explained: dict[_Rule, frozenset[int]] = {}

        def explain(rules: Iterable[_Rule]) -> None:
            for rule in rules:
                if not any(_covers(rule, other) for other in self._right.values()):
                    covered = (index for index, other in enumerate(wrong) if _covers(rule, other))
                    explained[rule] = frozenset(covered)

        # A wrong candidate may be explained by a value, by the value or more, or by the use of a knob at all,
        for candidate in wrong:
            for name, value in candidate.knobs.items():
                ranges = [(value, float(value))]
                if value >= _IN_USE:
                    ranges += [(value, math.inf), (_IN_USE, math.inf)]
                explain((candidate.pipeline, ((name, *limits),)) for limits in ranges)
        # or else, with another one, by a pair of values.
        for pair in combinations(range(len(wrong)), 2):
            one, other = (wrong[index] for index in pair)
            is_explained = any(covered.issuperset(pair) for covered in explained.values())
            if one.pipeline == other.pipeline and not is_explained:
                common = sorted(one.knobs.items() & other.knobs.items())
                values = ((name, value, float(value)) for name, value in common)
                explain((one.pipeline, two) for two in combinations(values, 2))
        # Drop what explains one candidate, or fewer than another rule does.
        several = {covered for covered in explained.values() if len(covered) > 1}
        largest = {covered for covered in several if not any(map(covered.__lt__, several))}
        # Rank the others: what explains most, then the use of a knob, then what is rare.
        left: dict[str, list[Candidate]] = {candidate.pipeline: [] for candidate in wrong}
        for candidate in known:
            left.get(candidate.pipeline, []).append(candidate)
        counts = {pipeline: len(others) for pipeline, others in left.items()}
        ranked = sorted(
            (
                -len(covered),
                rule[1][0][1:] != (_IN_USE, math.inf),
                sum(_covers(rule, other) for other in left[rule[0]]),
                rule,
            )
            for rule, covered in explained.items()
            if covered in largest and rule not in self._lifted
        )
        # Take them while enough candidates are left.
        self._rules = []
        for *_, rule in ranked:
            pipeline = rule[0]
            rest = [candidate for candidate in left[pipeline] if not _covers(rule, candidate)]
            if len(rest) >= counts[pipeline] * _REMAINING ** len(explained[rule]):
                self._rules.append(rule)
                left[pipeline] = rest


# --- The base class of searches, and those without a model

FIRST_CANDIDATES: Final = 400
"""The number of candidates of the first draw, for which the device waits."""

MOST_CANDIDATES: Final = 1500
"""The number of candidates of a later draw; a space may have millions."""

_FIRST_VARIANTS: Final = 48
"""The number of trials after which options that are independent of the knobs are tried on the best few. It doubles with
each such step."""

_VARIED: Final = 3
"""The number of candidates on which they are tried."""

_EMPTY_DRAWS: Final = 3
"""The number of draws without a new candidate after which all count as tried."""


class Search(ABC):
    """A search, which chooses candidates of one problem based on the times of earlier ones.

    The same pool, seed and times give the same candidates.

    Args:
        pool: the candidates to choose from.
        seed: determines all random choices.
        default_microseconds: the time of the compiler's own choice, where it is known.
        known: candidates worth trying first, such as winners of similar problems, with their earlier times on this
            problem, if any.
        measured: the measurements of other problems.

    Attributes:
        name: its name on the command line.
    """

    name: ClassVar[str]

    def __init__(
        self,
        pool: CandidatePool,
        seed: int,
        default_microseconds: float | None,
        known: Sequence[tuple[Candidate, float | None]] = (),
        measured: Sequence[MeasuredProblem] = (),
    ) -> None:
        self._pool = pool
        self._seed = seed
        self._measured = measured
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._times: dict[str, tuple[Candidate, float]] = {}
        self._failed: dict[str, Candidate] = {}
        self._wrong = WrongKnobs()
        self._spills: dict[str, tuple[Candidate, float]] = {}
        self._asked: set[str] = set()
        self._drawn: dict[int, Sequence[Candidate]] = {}
        self._known_neighbors: dict[str, Sequence[Candidate]] = {}
        self._draws = 0
        self._next_variants = _FIRST_VARIANTS
        self._variants: list[Candidate] = []
        self._first = [candidate for candidate, microseconds in known if microseconds is None]
        self._first += pool.given
        for candidate, microseconds in known:
            if microseconds is not None:
                self._asked.add(candidate.key)
                self.tell(candidate, microseconds)
        if pool.default is not None:
            self._asked.add(pool.default.key)
            if default_microseconds is not None:
                self.tell(pool.default, default_microseconds)
                self._wrong.add(pool.default, [], is_right=True)

    def ask(self, count: int) -> list[Candidate]:
        """Return at most `count` next candidates; none if all were tried.

        Times of earlier candidates may still be missing.
        """
        chosen = self._new(self._first, count)
        if self._tried >= self._next_variants:
            self._next_variants *= 2
            best = self.best(_VARIED)
            self._variants = [other for fast in best for other in self._pool.variants(fast)]
        chosen += self._new(self._variants, count - len(chosen))
        while len(chosen) < count:
            new = self._new(self.propose(count - len(chosen)), count - len(chosen))
            chosen += new
            if not new and (self.is_pending or not self._wrong.lift()):
                break
        self._wrong.count(len(chosen))
        return chosen

    def prefer(self, candidates: Iterable[Candidate]) -> None:
        """Queue candidates to be returned before any that must be drawn."""
        self._first += candidates

    def tell(self, candidate: Candidate, microseconds: float | None) -> None:
        """Record the time of a candidate; None if the candidate failed, even after a measurement."""
        if microseconds is None:
            self._times.pop(candidate.key, None)
            self._failed[candidate.key] = candidate
        else:
            self._times[candidate.key] = (candidate, microseconds)

    def reject(self, candidate: Candidate) -> None:
        """Record that a candidate's result is wrong. What it shares with other wrong ones is not proposed again."""
        self.tell(candidate, None)
        self._wrong.add(candidate, self._known_candidates(), is_right=False)

    def confirm(self, candidate: Candidate) -> None:
        """Record that a candidate's result is right, as the default's is unless rejected: its knobs are not to blame."""
        self._wrong.add(candidate, self._known_candidates(), is_right=True)

    def _known_candidates(self) -> Iterator[Candidate]:
        known = [self.drawn(FIRST_CANDIDATES), *self._known_neighbors.values()]
        yield from {candidate.key: candidate for some in known for candidate in some}.values()

    def compiled(self, candidate: Candidate, spills: Spills | None) -> None:
        """Record the spills of a candidate's code, known before its time is; None if they are unknown."""
        if spills is not None:
            self._spills[candidate.key] = candidate, math.log2(1 + spills.words)

    def draw_ahead(self) -> None:  # noqa: B027 - most searches draw nothing later
        """Draw candidates that a later `ask` would have to wait for."""

    @abstractmethod
    def propose(self, count: int) -> Iterable[Candidate]:
        """Return about `count` candidates, best first. Old ones are skipped; if all are, the search is over."""

    def drawn(self, count: int) -> Sequence[Candidate]:
        """Return candidates from the spaces in random order, the same ones in every call."""
        if count not in self._drawn:
            result = list(self._pool.sample(count, self._seed))
            self._chance.shuffle(result)
            self._drawn[count] = result
        return self._drawn[count]

    def further(self) -> list[Candidate]:
        """Return new candidates from the spaces, different ones each time.

        There are none if several draws have no new one, or if the next draw is not ready while results are pending.
        """
        for _ in range(_EMPTY_DRAWS):
            seed = self._seed + self._draws + 1
            if self.is_pending and not self._pool.begin_sample(MOST_CANDIDATES, seed):
                return []  # the next call may find it
            self._draws += 1
            drawn = self._pool.sample(MOST_CANDIDATES, seed)
            new = [candidate for candidate in drawn if self.is_new(candidate)]
            if new:
                return new
        return []

    def _at_random(self) -> list[Candidate]:
        for count in (FIRST_CANDIDATES, MOST_CANDIDATES):
            if new := [candidate for candidate in self.drawn(count) if self.is_new(candidate)]:
                return new
        return self.further()

    def _neighbors(self, candidate: Candidate) -> Sequence[Candidate]:
        if candidate.key not in self._known_neighbors:
            self._known_neighbors[candidate.key] = self._pool.neighbors(candidate)
        return self._known_neighbors[candidate.key]

    @property
    def _tried(self) -> int:
        return len(self._times) + len(self._failed)

    @property
    def is_pending(self) -> bool:
        """Whether the times of candidates are missing."""
        default = self._pool.default
        told = {*self._times, *self._failed, *([default.key] if default is not None else [])}
        return not self._asked <= told

    def best(self, count: int) -> list[Candidate]:
        """Return the fastest candidates so far."""
        ranked = sorted(self._times.values(), key=lambda timed: timed[1])
        return [candidate for candidate, _ in ranked[:count]]

    def is_new(self, candidate: Candidate) -> bool:
        """Return whether a candidate was not returned before, and no rule excludes it."""
        return candidate.key not in self._asked and not self._wrong.excludes(candidate)

    def _new(self, candidates: Iterable[Candidate], count: int) -> list[Candidate]:
        new: list[Candidate] = []
        for candidate in candidates:
            if len(new) == count:
                break
            if self.is_new(candidate):
                self._asked.add(candidate.key)
                new.append(candidate)
        return new


class RandomSearch(Search):
    """A search in random order: the baseline of all other searches."""

    name: ClassVar[str] = "random"

    def propose(self, count: int) -> Sequence[Candidate]:  # noqa: ARG002 - all at once
        """Return all drawn candidates, and draw more once these were tried."""
        return self._at_random()


_CLIMBERS: Final = 3
"""The neighbors of this many candidates are tried."""

_FIRST_SAMPLE: Final = 8
"""The number of random candidates whose best is the starting point if there is no default."""


class NeighborSearch(Search):
    """A search of the neighbors of the compiler's choice, then those of the best few, then random candidates."""

    name: ClassVar[str] = "neighbors"

    def propose(self, count: int) -> Sequence[Candidate]:  # noqa: ARG002 - whatever is near
        """Return new neighbors of the best few candidates, or else new random candidates."""
        if self._tried >= _FIRST_SAMPLE or self._pool.default is not None:
            for fast in self.best(_CLIMBERS):
                near = [neighbor for neighbor in self._neighbors(fast) if self.is_new(neighbor)]
                if near:
                    return near
        return self._at_random()[: max(1, _FIRST_SAMPLE - len(self._times))]


def load_trees() -> Any:
    """Load the trees of scikit-learn, which takes a second; raise a `TuninglinkError` if they are missing or damaged."""
    try:
        import sklearn.tree  # noqa: PLC0415
    except ImportError as failure:
        raise lacking_scikit_learn("the search 'model'", str(failure)) from None
    return sklearn


def lacking_scikit_learn(user: str, reason: str) -> TuninglinkError:
    """Return the error of `user`, a part of the tuner, whose import of scikit-learn failed for a reason."""
    remedy = note("install the extra: pip install 'tuninglink[tune]'")
    return TuninglinkError(error(f"{user} needs scikit-learn: {reason}", notes=[remedy]))


# --- Search with a model: ensembles of randomized trees on the measurements so far, and on other problems

_TREES: Final = 60
_FEW: Final = 20
"""The number of rows below which a leaf of a tree may hold a single one."""

_COLUMNS: Final = 0.5
"""The part of the columns that a split chooses from."""


class Ensemble:
    """Extremely randomized trees, each on a bootstrap sample of the rows.

    scikit-learn's own forests spend most of their time copying the trees' parameters.
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
        return np.stack([tree.predict(table)[:, 0] for tree in self._trees])


def _table(described: Sequence[Mapping[str, float]], columns: Sequence[str]) -> Table:
    return np.array([[row.get(name, -1.0) for name in columns] for row in described], np.float32)


_DOUBT: Final = 4
"""The number of other problems at which their correction counts half: they may differ from this one."""


def _corrections(
    measured: Sequence[MeasuredProblem], seed: int
) -> Callable[[Sequence[Mapping[str, float]]], Values]:
    """Learn corrections of the estimates of candidates from the errors of estimates for other problems.

    Problems differ by a constant, so residuals are relative to that of the fastest candidate of their problem.
    """
    rows, residuals = [], []
    for problem in measured:
        described = [features(problem.problem, candidate) for candidate, _ in problem.times]
        times = np.log2([microseconds for _, microseconds in problem.times])
        result = times - [row.get("estimate", 0.0) for row in described]
        residuals.append(result - result[np.argmin(times)])
        rows += described
    columns = sorted({name for row in rows for name in row})
    ensemble = Ensemble(_table(rows, columns), np.concatenate(residuals), seed)
    weight = len(measured) / (len(measured) + _DOUBT)

    def correct(described: Sequence[Mapping[str, float]]) -> Values:
        mean: Values = ensemble.guesses(_table(described, columns)).mean(axis=0)
        return weight * mean

    return correct


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

_SPILLING: Final = 1 / 3
"""The slowdown by spills, as a power of the spilled words: code that spills 992 registers took ten times as long."""

_FEWEST: Final = 2
"""The least number of times that a model learns from."""

_EXAMINED: Final = 3
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
        if self._tried >= _FEWEST:
            self._pool.begin_sample(MOST_CANDIDATES, self._seed)

    def _ranked(self) -> list[Candidate]:
        """Return untried candidates, best first; the ranking is updated after enough new measurements."""
        if self._ranking is None or self._tried >= self._ranking[0] + max(_NEW, self._tried // 10):
            candidates = self._candidates()
            rest = [candidate for candidate in candidates if candidate.key not in self._asked]
            if len(self._times) < _FEWEST or not rest:
                self._chance.shuffle(rest)
            else:
                order = np.argsort(self._scores(rest), kind="stable")
                rest = [rest[position] for position in order]
            self._ranking = self._tried, rest
        return self._ranking[1]

    @cached_property
    def _first_candidates(self) -> list[Candidate]:
        """The candidates that are tried before a model exists."""
        sampled = list(self.drawn(FIRST_CANDIDATES))
        estimated = fastest_first(self._pool.problem, sampled)
        first = [*self._elsewhere, *estimated[:_FIRST]]
        if self._transfer is not None:
            order = np.argsort(self._estimates(sampled), kind="stable")[:_FIRST]
            first += [sampled[position] for position in order]
        else:
            if self._pool.default is not None:
                first += self._neighbors(self._pool.default)[:_NEAR_DEFAULT]
            quarter = estimated[: max(_FIRST, len(estimated) // 4)]
            first += self._chance.sample(quarter, min(len(quarter), _FIRST))
        return list({candidate.key: candidate for candidate in first}.values())

    def _candidates(self) -> list[Candidate]:
        count = MOST_CANDIDATES if self._tried >= _SETTLED else FIRST_CANDIDATES
        may_wait = not self.is_pending or self._pool.begin_sample(count, self._seed)
        drawn = self.drawn(count if may_wait else FIRST_CANDIDATES)
        if self._tried > _DRY * (len(drawn) + len(self._further)) and self._tried >= _SETTLED:
            self._further += self.further()
        result = {candidate.key: candidate for candidate in (*drawn, *self._further)}
        for fast in self.best(_EXAMINED):
            result |= {neighbor.key: neighbor for neighbor in self._neighbors(fast)}
        return list(result.values())

    # --- The model -------------------------------------------------------------------------------------------

    def _scores(self, rest: Sequence[Candidate]) -> np.ndarray:
        """Return the optimistic logarithm of the time of candidates, worse for those that may not compile."""
        measured = [candidate for candidate, _ in self._times.values()]
        failed = list(self._failed.values())
        spills = self._spilled_words([*measured, *failed, *rest])
        table = self._table([*measured, *failed, *rest])
        if spills.any():
            table = np.column_stack([table, spills.astype(np.float32)])
        timed, unknown = table[: len(measured)], table[len(measured) + len(failed) :]
        times = np.log2([microseconds for _, microseconds in self._times.values()])
        cost = _SPILLING * spills
        residuals = times - _TRUST * self._estimates(measured) - cost[: len(measured)]
        guesses = Ensemble(timed, residuals, self._seed).guesses(unknown)
        expected = guesses.mean(axis=0) + _TRUST * self._estimates(rest)
        expected += cost[len(cost) - len(rest) :]
        scores: np.ndarray = expected - _OPTIMISM * guesses.std(axis=0)
        if failed:  # Lower those that are like failed ones by the probability that they can be compiled and run.
            outcomes = np.repeat([1.0, 0.0], [len(measured), len(failed)])
            judge = Ensemble(table[: len(outcomes)], outcomes, self._seed)
            probability = judge.guesses(unknown).mean(axis=0)
            scores -= np.log2(np.maximum(probability, _LEAST_PROBABILITY))
        return scores

    def _spilled_words(self, candidates: Sequence[Candidate]) -> np.ndarray:
        """Return the logarithms of the words that candidates spill, as those that were compiled predict them."""
        compiled = list(self._spills.values())
        words = np.array([amount for _, amount in compiled])
        if not words.any():
            return np.zeros(len(candidates))
        table = self._table([*(candidate for candidate, _ in compiled), *candidates])
        judge = Ensemble(table[: len(compiled)], words, self._seed)
        guesses: np.ndarray = judge.guesses(table[len(compiled) :]).mean(axis=0)
        for position, candidate in enumerate(candidates):
            guesses[position] = self._spills.get(candidate.key, (0, guesses[position]))[1]
        return guesses

    def _table(self, candidates: Sequence[Candidate]) -> Table:
        described = [self._features(candidate) for candidate in candidates]
        return _table(described, sorted({name for row in described for name in row}))

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
                array += self._transfer(list(map(self._features, new)))
            self._estimated |= zip((candidate.key for candidate in new), array, strict=True)
        return np.array([self._estimated[candidate.key] for candidate in candidates])

    @cached_property
    def _transfer(self) -> Callable[[Sequence[Mapping[str, float]]], Values] | None:
        return _corrections(self._measured, self._seed) if self._measured else None


# --- Searches, which choose the next candidates, by name: built-in ones, and those of plug-ins ---

GROUP: Final = "tuninglink.search"
"""The entry-point group under which a plug-in registers a search: a subclass of `Search`."""

DEFAULT_SEARCH: Final = ModelSearch.name

_OWN: Final = {search.name: search for search in (ModelSearch, RandomSearch, NeighborSearch)}


def search_names() -> list[str]:
    """Return the names of all searches, the default first."""
    others = {*_OWN, *(plug_in.name for plug_in in _plug_ins())} - {DEFAULT_SEARCH}
    return [DEFAULT_SEARCH, *sorted(others)]


def search_named(name: str) -> type[Search]:
    """Return a search, without loading the libraries of built-in ones.

    Raises:
        TuninglinkError: the name is unknown, or its plug-in cannot be used.
    """
    if name == DEFAULT_SEARCH and find_spec("sklearn") is None:
        raise lacking_scikit_learn("the search 'model'", "there is no module 'sklearn'")
    if name in _OWN:
        return _OWN[name]
    plug_in = next((plug_in for plug_in in _plug_ins() if plug_in.name == name), None)
    if plug_in is None:
        available = note(f"known: {', '.join(search_names())}")
        hint = did_you_mean(name, search_names())
        raise UsageError(error(f"there is no search '{name}'{hint}", notes=[available]))
    subject = f"plug-in '{name}' ({plug_in.value})"
    try:
        loaded = plug_in.load()
    except Exception as failure:  # noqa: BLE001 - whatever a stranger's code does wrong
        raise TuninglinkError(error(f"{subject} cannot be loaded: {failure}")) from None
    if not (isinstance(loaded, type) and issubclass(loaded, Search)):
        expected = f"{Search.__module__}.{Search.__qualname__}"
        raise TuninglinkError(error(f"{subject} is not a subclass of {expected}"))
    return loaded


_FEW_TRIALS: Final = 8
"""A search of this number of trials ends before it has a model."""


def begin_loading(name: str, trials: int | None) -> None:
    """Load the libraries of a search for a number of trials in another thread, while this one waits for the compiler."""

    def load() -> None:
        with suppress(TuninglinkError):  # The search reports it when it needs the trees.
            load_trees()

    if name == DEFAULT_SEARCH and (trials is None or trials > _FEW_TRIALS):
        Thread(target=load, daemon=True).start()


def _plug_ins() -> Iterable[EntryPoint]:
    return sorted(entry_points(group=GROUP), key=lambda plug_in: plug_in.name)
