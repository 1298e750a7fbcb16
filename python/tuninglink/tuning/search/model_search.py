"""The default search, with a model: estimated and expected times of candidates; searches by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.util import find_spec
from itertools import islice, zip_longest
from threading import Thread
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from tuninglink.errors import TuninglinkError, UsageError, did_you_mean
from tuninglink.mlir import error, note
from tuninglink.predicting import GainModel, climb, features, form_of, model_for
from tuninglink.specs import plug_ins
from tuninglink.tuning.candidates import (
    Candidate,
    CandidateSpaces,
    Draw,
    SearchProblem,
    draw_evenly,
)
from tuninglink.tuning.search.search import (
    FIRST_CANDIDATES,
    MOST_CANDIDATES,
    NeighborSearch,
    RandomSearch,
    Search,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = NDArray[np.float32]
    Values = NDArray[np.float64]

_ESTIMATED_KINDS: Final = frozenset({"contraction", "convolution", "attention"})
"""Kinds of operations that the estimate was made for. For others, it does not compare pipelines with each other."""


def fastest_first(problem: SearchProblem, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates in the order of their estimates; pipelines take turns unless estimates compare them."""
    ordered = sorted(candidates, key=lambda one: features(problem, one).get("estimate", 0.0))
    if problem.kind in _ESTIMATED_KINDS:
        return ordered
    by_pipeline: dict[str, list[Candidate]] = {}
    for candidate in ordered:
        by_pipeline.setdefault(candidate.pipeline, []).append(candidate)
    rounds = zip_longest(*by_pipeline.values())
    return [candidate for turn in rounds for candidate in turn if candidate is not None]


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


def ensemble(table: Table, values: Values, seed: int) -> Callable[[Table], Values]:
    """Return what extremely randomized trees guess, which are fitted to bootstrap samples of a table.

    scikit-learn's own forests mostly copy the trees' parameters.
    """
    random, count, rows = np.random.default_rng(seed), 60, len(values)
    leaf = 1 if rows < 20 else 2  # noqa: PLR2004
    seeds = random.integers(0, 1 << 31, count)
    counts = random.multinomial(rows, np.full(rows, 1 / rows), count).astype(np.float64)
    targets = np.ascontiguousarray(values.reshape(-1, 1))
    sklearn, trees = load_trees(), []
    with sklearn.config_context(skip_parameter_validation=True):
        for number, weights in zip(seeds, counts, strict=True):
            tree = sklearn.tree.ExtraTreeRegressor(
                min_samples_leaf=leaf, max_features=0.5, random_state=int(number)
            )
            tree.fit(table, targets, sample_weight=weights, check_input=False)
            trees.append(tree.tree_)
    return lambda unknown: np.stack([tree.predict(unknown)[:, 0] for tree in trees])


def _table(described: Sequence[Mapping[str, float]], columns: Sequence[str]) -> Table:
    return np.array([[row.get(name, -1.0) for name in columns] for row in described], np.float32)


_TRUST: Final = 0.5
"""The part of the estimate that the model only corrects; the rest it has to learn."""

_FIRST: Final = 8
"""Fast configurations of other environments come first, then this number of the best by the estimate, and as many by
results for other problems; without these, neighbors of the compiler's choice and as many of the estimate's best quarter. With
a model of gains, half are those that it expects to be fastest, and a quarter each the estimate's best and neighbors."""

_SETTLED: Final = 24
_FEWEST: Final = 2
"""The trials after which the model chooses from all candidates instead of from those drawn first, and the least number of
times that it learns from."""

_SPILL_POWER: Final = 1 / 3
"""The slowdown by spills, as a power of the spilled words: code that spills 992 registers took ten times as long."""


def climbed(spaces: CandidateSpaces, n: int, seed: int) -> list[Candidate]:
    """Return what climbs by a model of gains reach from the compiler's choice and drawn candidates; none without a model."""
    model = _gain_model(spaces)
    if model is None or spaces.default.space < 0:
        return []
    ranked = sorted(climb(spaces, model, spaces.sample(n, seed)), key=lambda one: -one.expected)
    # Of those that the compiler's constraints allow, perhaps none is worth trying: all spaces have a part.
    reached: list[Candidate] = []
    counts = Counter[int]()
    for candidate in (one.candidate for one in ranked):
        counts[candidate.space] += 1
        reached += [candidate] if counts[candidate.space] <= 2 * _FIRST else []
    made = (spaces.candidate(one.pipeline, one.knobs) for one in reached)
    return list(islice(filter(None, made), _FIRST))


def _gain_model(spaces: CandidateSpaces) -> GainModel | None:
    """Return the model of gains for problems of a form that it knows. A trial needs no certain gain: they may be of any size."""
    model = model_for(spaces.target) if spaces.target and spaces.default.knobs else None
    return model if model and form_of(spaces.problem) in model.forms else None


class ModelSearch(Search):
    """Learns the logarithm of the time from knobs and derived features, and whether candidates compile at all.

    It begins with the candidates of the best estimates, neighbors of the compiler's choice, and a spread sample. Then
    it selects the candidates with the best predictions, with optimism under uncertainty. Neighbors of the best few
    candidates are always examined, so that the search ends as a hill climb.
    """

    name: ClassVar[str] = "model"
    first_draws: ClassVar[tuple[Draw, ...]] = (draw_evenly, climbed)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._first = [*self._pool.given]  # known candidates come after those of the best estimates
        self._gains = _gain_model(self._pool) if self._start is not None else None
        self._described: dict[str, Mapping[str, float]] = {}
        self._ranking: tuple[int, list[Candidate]] | None = None
        self._further: list[Candidate] = []

    def propose(self, count: int) -> Sequence[Candidate]:
        """Return the most promising candidates."""
        is_beginning = self._tried < len(self._first_candidates) or len(self._times) < _FEWEST
        if is_beginning and (begun := self.untried(self._first_candidates)):
            return begun
        ranked = self.untried(self._ranked())
        if not ranked and (further := self.further()):
            self._further += further
            self._ranking = None
            ranked = self.untried(self._ranked())
        chosen = ranked[:count]
        for position in range(len(chosen)):
            if self._chance.random() < 0.03:  # explore  # noqa: PLR2004
                chosen[position] = self._chance.choice(ranked)
        return chosen

    def draw_ahead(self) -> None:
        if self._tried >= _FEWEST:
            self._pool.begin_sample(MOST_CANDIDATES, self._seed)

    def _ranked(self) -> list[Candidate]:
        """Return untried candidates, best first; the ranking is updated after enough new measurements."""
        # A model takes a tenth of a second, which a tenth more times are worth.
        if self._ranking is None or self._tried >= self._ranking[0] + max(4, self._tried // 10):
            # Take those drawn and, of the best few, neighbors.
            count = MOST_CANDIDATES if self._tried >= _SETTLED else FIRST_CANDIDATES
            may_wait = not self.is_pending or self._pool.begin_sample(count, self._seed)
            drawn = self.drawn(count if may_wait else FIRST_CANDIDATES)
            if self._tried >= _SETTLED and 2 * self._tried > len(drawn) + len(self._further):
                self._further += self.further()
            candidates = [*drawn, *self._further]
            for fast in self.best(3):
                candidates += self._neighbors(fast)
            unlike = {candidate.key: candidate for candidate in candidates}.values()
            rest = [candidate for candidate in unlike if candidate.key not in self._asked]
            has_times = len(self._times) >= _FEWEST
            if rest and (has_times or self._gains):
                scores = self._scores(rest) if has_times else self._estimates(rest)
                rest = [rest[position] for position in np.argsort(scores, kind="stable")]
            else:
                self._chance.shuffle(rest)
            self._ranking = self._tried, rest
        return self._ranking[1]

    @cached_property
    def _first_candidates(self) -> list[Candidate]:
        """The candidates that are tried before a model exists."""
        sampled = list(self.drawn(FIRST_CANDIDATES))
        estimated = fastest_first(self._pool.problem, sampled)
        first = [*self._known, *estimated[:_FIRST]]
        default = self._start
        if self._gains is not None and default is not None:
            if default.space >= 0:
                self._further += self._pool.made(climbed, FIRST_CANDIDATES, self._seed)
            likely = [*self._further, *sampled]
            # Those of equal guesses hardly differ.
            order = np.unique(self._estimates(likely).round(2), return_index=True)[1]
            first = [*self._known, *(likely[position] for position in order[: _FIRST // 2])]
            first += [*estimated[: _FIRST // 4], *self._neighbors(default)[: _FIRST // 4]]
        elif sampled and self._transfer is not None:
            order = np.argsort(self._estimates(sampled), kind="stable")[:_FIRST]
            first += [sampled[position] for position in order]
        else:
            first += self._neighbors(default)[:12] if default is not None else []
            quarter = estimated[: max(_FIRST, len(estimated) // 4)]
            first += self._chance.sample(quarter, min(len(quarter), _FIRST))
        return list({candidate.key: candidate for candidate in first}.values())

    # --- The model -------------------------------------------------------------------------------------------

    def _scores(self, rest: Sequence[Candidate]) -> np.ndarray:
        """Return the optimistic logarithm of the time of candidates, worse for those that may not compile."""
        measured, failed = [one for one, _ in self._times.values()], list(self._failed.values())
        every = [*measured, *failed, *rest]
        compiled = [candidate for candidate, _ in self._spills.values()]
        described = self._describe([*compiled, *every])
        known = _table(described, sorted({name for row in described for name in row}))
        table = known[len(compiled) :]
        # Add the logarithms of the words that candidates spill, as those that were compiled predict them.
        spills = np.zeros(len(every))
        words = np.array([amount for _, amount in self._spills.values()])
        if words.any():
            spills = ensemble(known[: len(compiled)], words, self._seed)(table).mean(axis=0)
            for position, candidate in enumerate(every):
                spills[position] = self._spills.get(candidate.key, (0, spills[position]))[1]
            table = np.column_stack([table, spills.astype(np.float32)])
        timed, unknown = table[: len(measured)], table[len(measured) + len(failed) :]
        times = np.log2([microseconds for _, microseconds in self._times.values()])
        cost = _SPILL_POWER * spills
        residuals = times - _TRUST * self._estimates(measured) - cost[: len(measured)]
        guesses = ensemble(timed, residuals, self._seed)(unknown)
        scores: np.ndarray = guesses.mean(axis=0) - guesses.std(axis=0)
        scores += _TRUST * self._estimates(rest) + cost[len(cost) - len(rest) :]
        if failed:  # Raise those that are like failed ones, at most 64 times, by the probability of success.
            outcomes = np.repeat([1.0, 0.0], [len(measured), len(failed)])
            likely = ensemble(table[: len(outcomes)], outcomes, self._seed)(unknown).mean(axis=0)
            scores -= np.log2(np.maximum(likely, 1 / 64))
        return scores

    def _describe(self, candidates: Sequence[Candidate]) -> list[Mapping[str, float]]:
        """Return the features of candidates; with a model of gains, its guess is the estimate."""
        problem, default = self._pool.problem, self._start
        new = {one.key: one for one in candidates if one.key not in self._described}
        rows = [features(problem, candidate) for candidate in new.values()]
        if self._gains is not None and default is not None:
            gains = self._gains.gains(problem, default, [*new.values()]).expected
            rows = [{**row, "estimate": -gain} for row, gain in zip(rows, gains, strict=True)]
        self._described |= zip(new, rows, strict=True)
        return [self._described[candidate.key] for candidate in candidates]

    def _estimates(self, candidates: Sequence[Candidate]) -> np.ndarray:
        """Return the logarithm of the expected time before any measurement, up to a constant."""
        described = self._describe(candidates)
        estimates = np.array([row.get("estimate", 0.0) for row in described])
        return estimates if self._transfer is None else estimates + self._transfer(described)

    @cached_property
    def _transfer(self) -> Callable[[Sequence[Mapping[str, float]]], Values] | None:
        """Corrections of the estimates of candidates, learned from the errors of estimates for other problems."""
        if not self._measured or self._gains is not None:
            return None
        rows, residuals = [], []
        for other in self._measured:
            described = [features(other.problem, candidate) for candidate, _ in other.times]
            times = np.log2([microseconds for _, microseconds in other.times])
            result = times - [row.get("estimate", 0.0) for row in described]
            # Problems differ by a constant, so residuals are relative to that of the fastest candidate.
            residuals.append(result - result[np.argmin(times)])
            rows += described
        columns = sorted({name for row in rows for name in row})
        guess = ensemble(_table(rows, columns), np.concatenate(residuals), self._seed)
        weight = len(self._measured) / (len(self._measured) + 4)  # they may differ from this one
        return lambda described: weight * guess(_table(described, columns)).mean(axis=0)


# --- Searches, which choose the next candidates, by name: built-in ones, and those of plug-ins ---

GROUP: Final = "tuninglink.search"
"""The entry-point group under which a plug-in registers a search: a subclass of `Search`."""

DEFAULT_SEARCH: Final = ModelSearch.name

_OWN: Final = {search.name: search for search in (ModelSearch, RandomSearch, NeighborSearch)}


def search_names() -> list[str]:
    """Return the names of all searches, the default first."""
    others = {*_OWN, *(plug_in.name for plug_in in plug_ins(GROUP))} - {DEFAULT_SEARCH}
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
    plug_in = next((plug_in for plug_in in plug_ins(GROUP) if plug_in.name == name), None)
    if plug_in is None:
        message = f"there is no search '{name}'{did_you_mean(name, search_names())}"
        raise UsageError(error(message, notes=[note(f"known: {', '.join(search_names())}")]))
    subject = f"plug-in '{name}' ({plug_in.value})"
    try:
        loaded = plug_in.load()
    except Exception as failure:  # noqa: BLE001 - whatever a stranger's code does wrong
        raise TuninglinkError(error(f"{subject} cannot be loaded: {failure}")) from None
    if not (isinstance(loaded, type) and issubclass(loaded, Search)):
        expected = f"{Search.__module__}.{Search.__qualname__}"
        raise TuninglinkError(error(f"{subject} is not a subclass of {expected}"))
    return loaded


def begin_loading(name: str, trials: int | None) -> None:
    """Load the libraries of a search in another thread, unless its trials end before it has a model."""

    def load() -> None:
        with suppress(TuninglinkError):  # The search reports it when it needs the trees.
            load_trees()

    if name == DEFAULT_SEARCH and (trials is None or trials > _FIRST):
        Thread(target=load, daemon=True).start()
