"""Insights of a database: common properties of fast candidates, and of failing ones.

Both are conjunctions of conditions from a scikit-learn decision tree, which is trained on the trials of one kind of
operation and one target.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, combinations
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from tuninglink.comparing import LEAST_CHANGE, ChangeKind, Estimate, time_change
from tuninglink.errors import TuninglinkError
from tuninglink.pages import render_page
from tuninglink.plain_data import FLAT, plain, written
from tuninglink.predicting import features
from tuninglink.tuning.candidates import SearchProblem
from tuninglink.tuning.database.database import Trial, best_of, grouped_trials, ranked_among
from tuninglink.tuning.database.exchange import problem_of_program, recorded_candidate
from tuninglink.tuning.deciding import interval

Table = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class HeuristicStep:
    """A condition of a heuristic with its evidence."""

    condition: QuantityCondition = field(metadata=FLAT)
    regret: float
    winners: int
    defaults: int


@dataclass(frozen=True)
class Heuristic:
    """A decision list that chooses candidates: each condition in turn, unless no remaining candidate meets it.

    The regret is the time of the remaining candidates, divided by the best time: the geometric mean of candidates,
    then of problems.

    Attributes:
        problems: the number of problems, counted once for each environment.
        candidates: the number of measured candidates.
        known_defaults: the number of problems for which the knobs of the compiler's choice are known.
        regret_of_all: the regret of all candidates.
        regret_of_defaults: that of the compiler's choice; None where it was never measured.
        regret_elsewhere: that of lists learned from four fifths of the problems, on the others; None with one problem.
        steps: the conditions, in order.
    """

    kind: str
    target: str
    problems: int
    candidates: int
    known_defaults: int
    regret_of_all: float
    regret_of_defaults: float | None
    regret_elsewhere: float | None
    steps: tuple[HeuristicStep, ...]

    @property
    def is_worse_elsewhere(self) -> bool:
        """Whether it chooses slower candidates than the compiler on problems that it was not learned from."""
        return (self.regret_elsewhere or 0) > (self.regret_of_defaults or math.inf)


@dataclass(frozen=True)
class Insights:
    """The insights of a database, as a JSON document.

    Attributes:
        heuristics: a heuristic for each kind of operation and target with enough candidates.
        failures: the rules of failures, those that explain most first.
    """

    format: Literal["tuninglink.insights"] = field(default="tuninglink.insights", init=False)
    version: Literal[1] = field(default=1, init=False)
    heuristics: tuple[Heuristic, ...]
    failures: tuple[FailureRule, ...]


def insights_among(trials: Iterable[Trial]) -> Insights:
    """Return the insights of trials of any problems and environments."""
    scopes = grouped_trials(trials, lambda trial: (trial.problem.kind, trial.environment.target))
    scopes.sort(key=lambda scope: (scope[0].problem.kind, scope[0].environment.target))
    rules = [rule for scope in scopes for rule in _failure_rules(scope)]
    rules.sort(key=lambda rule: (-rule.explained, rule.kind, rule.target, rule.reason))
    return Insights(tuple(filter(None, map(_heuristic, scopes))), tuple(rules))


def to_html(insights: Insights) -> str:
    """Return insights as a page."""
    return render_page("tuninglink.tuning.database", "insights.html", plain(insights))


class _Measured:
    """Measured candidates with knobs, a row for each; those of a problem begin with the fastest.

    Slowdowns are logarithms, relative to the fastest candidate of the problem.
    """

    def __init__(self, groups: Sequence[Sequence[Trial]]) -> None:
        trials: list[Trial] = []
        problems, slowdowns, limits = [], [], []
        self.default_slowdowns: list[float] = []
        for number, group in enumerate(groups):
            times = np.log2([trial.median or 0.0 for trial in group])
            pairs = [*zip(group, (times - times[0]).tolist(), strict=True)]
            defaults = [slowdown for trial, slowdown in pairs if trial.origin == "default"]
            self.default_slowdowns += defaults
            own = [pair for pair in pairs if pair[0].configuration.knobs]
            trials += [trial for trial, _ in own]
            slowdowns += [slowdown for _, slowdown in own]
            problems += [number] * len(own)
            # A slowdown of 1.19 separates candidates where the compiler's choice is the best.
            limits += [max([0.25, *defaults])] * len(own)
        self.quantities = Quantities.of(trials)
        self.problems = np.array(problems)
        self.slowdowns, self.limits = np.array(slowdowns), np.array(limits)
        self.are_defaults = np.array([trial.origin == "default" for trial in trials])

    def heuristic(self, rows: Mask) -> tuple[QuantityCondition, ...]:
        """Return a decision list: each condition is the one on a tree's path with the least remaining regret."""
        from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415 - takes a second to load

        # A list should not describe a single candidate.
        fewest = max(_FEWEST, int(0.02 * rows.sum()))
        conditions: list[QuantityCondition] = []
        regret = self.regret(rows)
        while len(conditions) < _MOST_CONDITIONS:
            own = self.problems[rows]
            weights = 1 / np.bincount(own)[own]  # problems weigh the same
            choices: dict[QuantityCondition, Mask] = {}
            # Trees that tell slow from slower candidates, and trees that tell fast ones from the compiler's choice.
            for limits in (np.inf, self.limits, self.limits / 2):
                slowdowns = np.minimum(self.slowdowns, limits)[rows]
                means = np.bincount(own, slowdowns * weights)
                tree = DecisionTreeRegressor(
                    max_depth=_MOST_CONDITIONS, min_samples_leaf=fewest, random_state=0
                )
                # Only differences within a problem count.
                tree.fit(self.quantities.table[rows], slowdowns - means[own], sample_weight=weights)
                for condition in chain.from_iterable(self.quantities.leaves(tree.tree_)):
                    choices[condition] = self.chosen([condition], rows)
            regrets = {condition: self.regret(left) for condition, left in choices.items()}
            best = min(regrets, key=lambda condition: regrets[condition], default=None)
            if best is None or regrets[best] >= regret:
                break
            conditions.append(best)
            rows, regret = choices[best], regrets[best]
        return tuple({condition.subject: condition for condition in conditions}.values())

    def chosen(self, conditions: Iterable[QuantityCondition], rows: Mask) -> Mask:
        """Return the rows of each problem that remain after a decision list."""
        for condition in conditions:
            met = rows & self.quantities.hold([condition])
            is_met = np.isin(self.problems, self.problems[met])
            rows = np.where(is_met, met, rows)
        return rows

    def regret(self, rows: Mask) -> float:
        """Return the geometric mean of the slowdowns of rows, then of problems."""
        return _geometric_mean(
            float(self.slowdowns[rows & (self.problems == problem)].mean())
            for problem in np.unique(self.problems[rows])
        )


def _heuristic(trials: Sequence[Trial]) -> Heuristic | None:
    """Return the heuristic of a kind of operation on a target; None if no condition separates its candidates."""
    # Learn conditions from all problems with knobs.
    groups = [
        group for group in ranked_among(trials) if any(trial.configuration.knobs for trial in group)
    ]
    if not groups:
        return None
    measured = _Measured(groups)
    everything = np.ones(len(measured.problems), bool)
    conditions = measured.heuristic(everything)
    if not conditions:
        return None
    # Rate the conditions, one more at each step.
    winners = np.unique(measured.problems, return_index=True)[1]  # the fastest comes first
    steps = []
    for number, condition in enumerate(conditions, 1):
        holds = measured.quantities.hold([condition])
        regret = measured.regret(measured.chosen(conditions[:number], everything))
        defaults = int((holds & measured.are_defaults).sum())
        steps.append(HeuristicStep(condition, regret, int(holds[winners].sum()), defaults))
    # Rate conditions on problems that they were not learned from.
    count = len(winners)
    chosen = np.zeros_like(everything)
    for fold in range(min(count, 5) if count > 1 else 0):
        others = measured.problems % 5 == fold
        chosen |= measured.chosen(measured.heuristic(~others), others)
    slowdowns = measured.default_slowdowns
    return Heuristic(
        trials[0].problem.kind,
        trials[0].environment.target,
        problems=len(groups),
        candidates=len(measured.problems),
        known_defaults=int(measured.are_defaults.sum()),
        regret_of_all=measured.regret(everything),
        regret_of_defaults=_geometric_mean(slowdowns) if slowdowns else None,
        regret_elsewhere=measured.regret(chosen) if count > 1 else None,
        steps=tuple(steps),
    )


def _geometric_mean(logarithms: Iterable[float]) -> float:
    return round(float(2 ** np.mean(list(logarithms))), 4)


# --- Conditions on quantities of candidates, such as those of decision trees, and those under which candidates fail

_MOST_CONDITIONS: Final = 4
_FEWEST: Final = 3
"""The least number of candidates that share a condition and are not considered chance."""

_PIPELINE: Final = "pipeline "
_KNOB: Final = "knob "


@dataclass(frozen=True)
class QuantityCondition:
    """A comparison of a quantity with a constant."""

    quantity: str
    relation: str
    value: float | str

    def __str__(self) -> str:
        number = self.value if isinstance(self.value, str) else f"{self.value:.10g}"
        return f"{self.quantity} {self.relation} {number}"

    @property
    def subject(self) -> tuple[str, str, str]:
        return self.quantity, self.relation, self.value if isinstance(self.value, str) else ""


@dataclass(frozen=True)
class Quantities:
    """The quantities of candidates: a row for each, of which a quantity that it lacks is 0."""

    names: Sequence[str]
    table: Table

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> Quantities:
        """Return the quantities of the candidates of trials."""
        rows: list[dict[str, float]] = []
        for trial in trials:
            configuration = trial.configuration
            problem = _problem(trial.problem.program, trial.environment.device)
            if problem is None:  # the knobs only, if the program cannot be read
                knobs = {f"{_KNOB}{name}": float(n) for name, n in configuration.knobs.items()}
                rows.append({f"{_PIPELINE}{configuration.pipeline}": 1.0, **knobs})
                continue
            # The features of the candidate in their own units.
            candidate = recorded_candidate(configuration.pipeline, configuration.knobs)
            row = {}
            for name, value in features(problem, candidate).items():
                is_plain = name.startswith(_PIPELINE) or name in ("tail", "lanes in use")
                amount = value if is_plain else 2.0**value  # it is a logarithm
                row[name] = round(0.0 if name.startswith(_KNOB) and value < 0 else amount, 4)
            row.pop("estimate", None)
            rows.append(row)
        names = sorted({name for row in rows for name in row})
        values = [[row.get(name, 0.0) for name in names] for row in rows]
        return cls(names, np.array(values, np.float64).reshape(len(rows), len(names)))

    def hold(self, conditions: Iterable[QuantityCondition]) -> Mask:
        """Return the rows that meet all conditions."""
        met = np.ones(len(self.table), bool)
        for condition in conditions:
            name, limit = condition.quantity, condition.value
            if isinstance(limit, str):
                name, limit = _PIPELINE + limit, 1
            column = self.table[:, self.names.index(name)]
            met &= _TESTS[condition.relation](column, limit)
        return met

    def leaves(
        self, tree: Any, node: int = 0, path: tuple[QuantityCondition, ...] = ()
    ) -> Iterator[tuple[QuantityCondition, ...]]:
        """Yield the conditions of the path to each leaf of a tree of scikit-learn below a node."""
        if tree.children_left[node] < 0:
            # A later bound on the same side of a quantity is the tighter one.
            yield tuple({condition.subject: condition for condition in path}.values())
            return
        column, threshold = int(tree.feature[node]), float(tree.threshold[node])
        name, values = self.names[column], self.table[:, column]
        if name.startswith(_PIPELINE):
            pipeline = name.removeprefix(_PIPELINE)
            most, least = (QuantityCondition("pipeline", text, pipeline) for text in ("!=", "=="))
        else:
            # Values that occur are clearer than the threshold.
            most = QuantityCondition(name, "<=", float(values[values <= threshold].max()))
            least = QuantityCondition(name, ">=", float(values[values > threshold].min()))
        yield from self.leaves(tree, int(tree.children_left[node]), (*path, most))
        yield from self.leaves(tree, int(tree.children_right[node]), (*path, least))


_TESTS: Final = {"==": np.equal, "!=": np.not_equal, "<=": np.less_equal, ">=": np.greater_equal}


@cache
def _problem(program: str, device: str) -> SearchProblem | None:
    with suppress(TuninglinkError):  # older databases keep the names of programs only
        return problem_of_program(program, device)
    return None


@dataclass(frozen=True)
class FailureRule:
    """Conditions met by candidates that failed for one reason, and by no measured candidate."""

    kind: str
    target: str
    conditions: tuple[QuantityCondition, ...]
    failure: str
    reason: str
    explained: int
    failures: int
    successes: int
    problems: int


def _failure_rules(trials: Iterable[Trial]) -> Iterator[FailureRule]:
    """Yield the rules of the failures among trials of a kind of operation on a target.

    Each rule is learned from the failures that the previous rules leave unexplained.
    """
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - takes a second to load

    candidates: dict[tuple[str, str], Trial] = {}
    for trial in trials:
        key = trial.problem.key, trial.configuration.key
        if trial.configuration.knobs and (trial.failure is not None or key not in candidates):
            candidates[key] = trial  # of a candidate that failed at any stage, the failure counts
    # Divide the candidates by the reason of their failure.
    rows = list(candidates.values())
    reasons = [
        (trial.failure.kind.value, re.sub(r"\d+", "N", trial.failure.message.partition("\n")[0]))
        if trial.failure
        else None
        for trial in rows
    ]
    succeeded = np.array([reason is None for reason in reasons], bool)
    # Add the products of two knobs that vary.
    quantities = Quantities.of(rows)
    columns = dict(zip(quantities.names, quantities.table.T, strict=True))
    knobs = [name for name, column in columns.items() if name[:5] == _KNOB and np.ptp(column)]
    columns |= {f"{a} * {b}": columns[a] * columns[b] for a, b in combinations(knobs, 2)}
    products = Quantities([*columns], np.array([*columns.values()]).T)
    for reason in dict.fromkeys(filter(None, reasons)):
        failed = np.array([other == reason for other in reasons], bool)
        # Take the conditions that explain most of the remaining failures, until too few are left.
        unexplained = failed
        while succeeded.any() and unexplained.sum() >= _FEWEST:
            # Find the path of a tree that most failures and no successes meet. Conditions on single quantities explain
            # more than those on products if they hold for as many failures.
            conditions: tuple[QuantityCondition, ...] = ()
            explained = np.zeros_like(failed)
            for table in (quantities, products):
                tree = DecisionTreeClassifier(
                    max_depth=_MOST_CONDITIONS, class_weight="balanced", random_state=0
                )
                learned = unexplained | succeeded
                tree.fit(table.table[learned], unexplained[learned])
                for path in table.leaves(tree.tree_):
                    holds = table.hold(path)
                    met = holds & unexplained
                    if not (holds & succeeded).any() and met.sum() > explained.sum():
                        conditions, explained = path, met
            if explained.sum() < _FEWEST:
                break
            yield FailureRule(
                *(rows[0].problem.kind, rows[0].environment.target, conditions, *reason),
                explained=int(explained.sum()),
                failures=int(failed.sum()),
                successes=int(succeeded.sum()),
                problems=len({rows[index].problem.key for index in np.flatnonzero(explained)}),
            )
            unexplained = unexplained & ~explained


# --- The history of problems: their times over compilers and drivers, judged by intervals --------------


@dataclass(frozen=True)
class HistoryFilter:
    """A selection of problems.

    Attributes:
        words: words that must all occur in the description of the problem.
        kinds: kinds of operations; as for the others, any if empty.
        devices: words of which the name of the device must contain one.
        is_everything: whether problems with a single environment are shown, too.
        is_changed: whether only problems with a changed time are shown.
    """

    words: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    is_everything: bool = False
    is_changed: bool = False

    def has(self, trial: Trial) -> bool:
        """Return whether a trial belongs to a selected problem."""
        problem, environment = trial.problem, trial.environment
        description, device = problem.description.lower(), environment.device.lower()
        targets = {environment.target, environment.sku}
        return (
            all(word.lower() in description for word in self.words)
            and (not self.kinds or problem.kind in self.kinds)
            and (not self.targets or not targets.isdisjoint(self.targets))
            and (not self.devices or any(name.lower() in device for name in self.devices))
        )


@dataclass(frozen=True)
class HistoryPoint:
    """A problem under one compiler, runtime and driver.

    Attributes:
        date: the time of the first trial, in ISO 8601.
        default_us: the time of the compiler's choice, with the interval of its median; None if it was not measured.
        best_us: the time of the fastest configuration with correct results; None without one.
        best: the pipeline and the knobs of that configuration; empty without one.
        default_change: the change of the time of the compiler's choice since the previous point; None without one.
        best_change: the change of the best time.
    """

    compiler: str
    runtime: str
    driver: str
    date: str
    trials: int
    failures: int
    default_us: Estimate | None
    best_us: Estimate | None
    best: str
    default_change: ChangeKind | None = None
    best_change: ChangeKind | None = None

    @property
    @written()
    def speedup(self) -> float | None:
        """The time of the compiler's choice over the best time; None if one is unknown."""
        if self.default_us is None or self.best_us is None:
            return None
        return self.default_us.value / self.best_us.value


@dataclass(frozen=True)
class ProblemHistory:
    """A problem, in words, on one device over compilers and drivers; `cores` is 0 unless the device is a CPU."""

    problem: str
    kind: str
    target: str
    device: str
    flags: str
    cores: int
    points: tuple[HistoryPoint, ...]

    @property
    @written("changed")
    def is_changed(self) -> bool:
        """Whether a time became longer or shorter."""
        return any(point.default_change or point.best_change for point in self.points)


@dataclass(frozen=True)
class History:
    """The history of the problems of a database, as a JSON document.

    Attributes:
        problems: the problems, in the order of their first trials.
        hidden: the number of selected problems that are not shown, since they have one environment or no change.
    """

    format: Literal["tuninglink.history"] = field(default="tuninglink.history", init=False)
    version: Literal[1] = field(default=1, init=False)
    problems: tuple[ProblemHistory, ...]
    hidden: int


def history_among(
    trials: Iterable[Trial], selected: HistoryFilter, least: float = LEAST_CHANGE
) -> History:
    """Return the history of the problems among trials.

    `least` is the smallest relevant change of a time, as a fraction.
    """
    # The trials of each problem on each device, with the same flags. Another version of the compiler may form a different
    # dispatch for the same computation, so that its hash differs. Then the words identify the problem, unless two problems
    # of one version have the same words.
    described = grouped_trials(
        filter(selected.has, trials),
        lambda trial: (
            *(trial.problem.kind, trial.problem.description),
            replace(trial.environment, compiler="", runtime="", driver=""),
        ),
    )
    histories = []
    for group in described:
        versions = grouped_trials(group, _software)
        is_one = all(len({trial.problem.key for trial in version}) == 1 for version in versions)
        problems = [group] if is_one else grouped_trials(group, lambda trial: trial.problem.key)
        histories += [_history(problem, least) for problem in problems]
    shown = tuple(
        history
        for history in histories
        if history.is_changed
        or (not selected.is_changed and (selected.is_everything or len(history.points) > 1))
    )
    return History(shown, len(histories) - len(shown))


def _software(trial: Trial) -> tuple[str, str, str]:
    environment = trial.environment
    return environment.compiler, environment.runtime, environment.driver


def _history(trials: Sequence[Trial], least: float) -> ProblemHistory:
    def order(group: list[Trial]) -> tuple[object, str]:
        parts = re.split(r"(\d+)", " ".join(_software(group[0])))
        numbers = [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
        return numbers, group[0].time

    points: list[HistoryPoint] = []
    for group in sorted(grouped_trials(trials, _software), key=order):
        default, best = best_of(group)
        # The best configuration in words. A tile of 0 leaves its loop alone.
        words = ""
        if best is not None and best.origin == "default":
            words = "the compiler's choice"
        elif best is not None:
            pipeline, values = best.configuration.pipeline, best.configuration.knobs.items()
            knobs = ", ".join(f"{name} = {n}" for name, n in values if n or "[" not in name)
            words = f"{pipeline}: {knobs}" if knobs else pipeline
        # Times, and their changes since the version before.
        times = _estimate(default), _estimate(best)
        before = (points[-1].default_us, points[-1].best_us) if points else (None, None)
        changes = (
            time_change(earlier, later, least) if earlier and later else None
            for earlier, later in zip(before, times, strict=True)
        )
        failures = sum(trial.failure is not None for trial in group)
        date = min(trial.time for trial in group)
        points.append(
            HistoryPoint(*_software(group[0]), date, len(group), failures, *times, words, *changes)
        )
    problem, environment = trials[0].problem, trials[0].environment
    return ProblemHistory(
        problem=problem.description,
        kind=problem.kind,
        target=environment.sku or environment.target,
        device=environment.device,
        flags=environment.flags,
        cores=environment.cores,
        points=tuple(points),
    )


def _estimate(trial: Trial | None) -> Estimate | None:
    if trial is None:
        return None
    times = interval(trial.samples)
    return Estimate(times.median, *(times.interval if len(trial.samples) > 2 else (None, None)))  # noqa: PLR2004
