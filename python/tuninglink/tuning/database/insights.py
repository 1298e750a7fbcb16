"""Insights of a database: common properties of fast candidates, and of failing ones.

Both are conjunctions of conditions from a scikit-learn decision tree, which is trained on the trials of one kind of
operation and one target.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tuninglink.comparing import LEAST_CHANGE, ChangeKind, Estimate, time_change
from tuninglink.errors import TuninglinkError
from tuninglink.pages import render_page
from tuninglink.plain_data import FLAT, plain, written
from tuninglink.tuning.database.database import (
    RIGHT,
    EnvironmentRecord,
    Trial,
    grouped_trials,
    ranked_among,
    results_of,
)
from tuninglink.tuning.database.exchange import problem_of_program, recorded_candidate
from tuninglink.tuning.deciding import interval
from tuninglink.tuning.search import features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.candidates import SearchProblem
    from tuninglink.tuning.database.database import Trial

    Table = NDArray[np.float64]
    Mask = NDArray[np.bool_]


_LEAF_SHARE: Final = 0.02
"""The least share of the candidates that meet all conditions: a list should not describe a single candidate."""

_SLOW: Final = 0.25
"""The logarithm of a slowdown (1.19) that separates candidates where the compiler's choice is the best."""

_FOLDS: Final = 5


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
        ours, compiler = self.regret_elsewhere, self.regret_of_defaults
        return ours is not None and compiler is not None and ours > compiler


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
    scopes: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        scopes.setdefault((trial.problem.kind, trial.environment.target), []).append(trial)
    heuristics = (_heuristic(*scope, group) for scope, group in sorted(scopes.items()))
    rules = [rule for scope, group in scopes.items() for rule in failure_rules(*scope, group)]
    rules.sort(key=lambda rule: (-rule.explained, rule.kind, rule.target, rule.reason))
    return Insights(tuple(filter(None, heuristics)), tuple(rules))


def to_html(insights: Insights) -> str:
    """Return insights as a page."""
    return render_page("tuninglink.tuning.database", "insights.html", plain(insights))


class _Measured:
    """Measured candidates with knobs, a row for each; those of a problem begin with the fastest."""

    def __init__(self, groups: Sequence[Sequence[Trial]]) -> None:
        rows = [
            (number, trial, slowdown, limit)
            for number, group in enumerate(groups)
            for limit in [max(_SLOW, *_slowdowns(group, "default"), 0.0)]
            for trial, slowdown in zip(group, _slowdowns(group), strict=True)
            if trial.configuration.knobs
        ]
        numbers, trials, slowdowns, limits = zip(*rows, strict=True)
        self.quantities = Quantities.of(trials)
        self.problems = np.array(numbers, int)
        self.slowdowns = np.array(slowdowns, float)
        self.limits = np.array(limits, float)
        self.are_defaults = np.array([trial.origin == "default" for trial in trials], bool)

    def heuristic(self, rows: Mask) -> tuple[QuantityCondition, ...]:
        """Return a decision list: each condition is the one on a tree's path with the least remaining regret."""
        from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415 - takes a second to load

        fewest = max(FEWEST, int(_LEAF_SHARE * rows.sum()))
        conditions: list[QuantityCondition] = []
        regret = self.regret(rows)
        while len(conditions) < MOST_CONDITIONS:
            own = self.problems[rows]
            weights = 1 / np.bincount(own)[own]  # problems weigh the same
            choices: dict[QuantityCondition, Mask] = {}
            # Trees that tell slow from slower candidates, and trees that tell fast ones from the compiler's choice.
            for limits in (np.full_like(self.limits, np.inf), self.limits, self.limits / 2):
                slowdowns = np.minimum(self.slowdowns, limits)[rows]
                means = np.bincount(own, slowdowns * weights)
                tree = DecisionTreeRegressor(
                    max_depth=MOST_CONDITIONS, min_samples_leaf=fewest, random_state=0
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
            met = rows & self.quantities.holds(condition)
            is_met = np.isin(self.problems, self.problems[met])
            rows = np.where(is_met, met, rows)
        return rows

    def regret(self, rows: Mask) -> float:
        """Return the geometric mean of the slowdowns of rows, then of problems."""
        return _geometric_mean(
            float(self.slowdowns[rows & (self.problems == problem)].mean())
            for problem in np.unique(self.problems[rows])
        )


def _heuristic(kind: str, target: str, trials: Iterable[Trial]) -> Heuristic | None:
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
        holds = measured.quantities.holds(condition)
        steps.append(
            HeuristicStep(
                condition,
                measured.regret(measured.chosen(conditions[:number], everything)),
                int(holds[winners].sum()),
                int((holds & measured.are_defaults).sum()),
            )
        )
    # Rate conditions on problems that they were not learned from.
    count = len(winners)
    chosen = np.zeros_like(everything)
    for fold in range(min(count, _FOLDS) if count > 1 else 0):
        others = measured.problems % _FOLDS == fold
        chosen |= measured.chosen(measured.heuristic(~others), others)
    # Rate the compiler's own choices.
    defaults = [slowdown for group in groups for slowdown in _slowdowns(group, "default")]
    return Heuristic(
        kind,
        target,
        problems=len(groups),
        candidates=len(measured.problems),
        known_defaults=int(measured.are_defaults.sum()),
        regret_of_all=measured.regret(everything),
        regret_of_defaults=_geometric_mean(defaults) if defaults else None,
        regret_elsewhere=measured.regret(chosen) if count > 1 else None,
        steps=tuple(steps),
    )


def _slowdowns(group: Sequence[Trial], origin: str = "") -> list[float]:
    """Return the logarithms of the times of trials, or of those of an origin, relative to the fastest one."""
    best = group[0].median or 0.0
    trials = (trial for trial in group if origin in ("", trial.origin))
    return [float(np.log2((trial.median or 0.0) / best)) for trial in trials]


def _geometric_mean(logarithms: Iterable[float]) -> float:
    return round(float(2 ** np.mean(list(logarithms))), 4)


# --- Conditions on quantities of candidates, such as those of decision trees, and those under which candidates fail

MOST_CONDITIONS: Final = 4
FEWEST: Final = 3
"""The least number of candidates that share a condition and are not considered chance."""

_PIPELINE: Final = "pipeline "
_KNOB: Final = "knob "
_FRACTIONS: Final = frozenset({"tail", "lanes in use"})
"""Features that are not logarithms."""

_DIGITS: Final = 4


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
            row = features(problem, candidate)
            for name, value in row.items():
                if not name.startswith(_PIPELINE) and name not in _FRACTIONS:  # it is a logarithm
                    row[name] = 0.0 if name.startswith(_KNOB) and value < 0 else 2.0**value
            rows.append({name: round(row[name], _DIGITS) for name in row if name != "estimate"})
        names = sorted({name for row in rows for name in row})
        values = [[row.get(name, 0.0) for name in names] for row in rows]
        return cls(names, np.array(values, np.float64).reshape(len(rows), len(names)))

    def holds(self, condition: QuantityCondition) -> Mask:
        """Return the rows that meet a condition."""
        if isinstance(condition.value, str):
            is_pipeline = self.table[:, self.names.index(_PIPELINE + condition.value)] > 0
            return is_pipeline if condition.relation == "==" else ~is_pipeline
        column = self.table[:, self.names.index(condition.quantity)]
        return (
            column <= condition.value if condition.relation == "<=" else column >= condition.value
        )

    def leaves(self, tree: Any) -> Iterator[tuple[QuantityCondition, ...]]:
        """Yield the conditions of the path to each leaf of a tree of scikit-learn."""
        paths: list[tuple[int, tuple[QuantityCondition, ...]]] = [(0, ())]
        while paths:
            node, path = paths.pop()
            if tree.children_left[node] < 0:
                # A later bound on the same side of a quantity is the tighter one.
                yield tuple({condition.subject: condition for condition in path}.values())
                continue
            column, threshold = int(tree.feature[node]), float(tree.threshold[node])
            name, values = self.names[column], self.table[:, column]
            if name.startswith(_PIPELINE):
                least = QuantityCondition("pipeline", "==", name.removeprefix(_PIPELINE))
                most = replace(least, relation="!=")
            else:
                # Values that occur are clearer than the threshold.
                least = QuantityCondition(name, ">=", float(values[values > threshold].min()))
                most = QuantityCondition(name, "<=", float(values[values <= threshold].max()))
            paths.append((int(tree.children_right[node]), (*path, least)))
            paths.append((int(tree.children_left[node]), (*path, most)))


@cache
def _problem(program: str, device: str) -> SearchProblem | None:
    try:
        return problem_of_program(program, device)
    except TuninglinkError:
        return None  # older databases keep the names of programs only


_NUMBER: Final = re.compile(r"\d+")


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


def failure_rules(kind: str, target: str, trials: Iterable[Trial]) -> Iterator[FailureRule]:
    """Yield the rules of the failures among trials of a kind of operation on a target.

    Each rule is learned from the failures that the previous rules leave unexplained.
    """
    candidates: dict[tuple[str, str], Trial] = {}
    for trial in trials:
        key = trial.problem.key, trial.configuration.key
        if trial.configuration.knobs and (trial.failure is not None or key not in candidates):
            candidates[key] = trial  # of a candidate that failed at any stage, the failure counts
    # Divide the candidates by the reason of their failure.
    rows = list(candidates.values())
    reasons = [
        (trial.failure.kind.value, _NUMBER.sub("N", trial.failure.message.partition("\n")[0]))
        if trial.failure
        else None
        for trial in rows
    ]
    succeeded = np.array([reason is None for reason in reasons], bool)
    quantities = Quantities.of(rows)
    for reason in dict.fromkeys(filter(None, reasons)):
        failed = np.array([other == reason for other in reasons], bool)
        # Take the conditions that explain most of the remaining failures, until too few are left.
        unexplained = failed
        while succeeded.any() and unexplained.sum() >= FEWEST:
            conditions, holds = _common_conditions(quantities, unexplained, succeeded)
            explained = [rows[int(index)] for index in np.flatnonzero(holds & unexplained)]
            if len(explained) < FEWEST:
                break
            yield FailureRule(
                kind,
                target,
                conditions,
                *reason,
                explained=len(explained),
                failures=int(failed.sum()),
                successes=int(succeeded.sum()),
                problems=len({trial.problem.key for trial in explained}),
            )
            unexplained = unexplained & ~holds


def _common_conditions(
    quantities: Quantities, failed: Mask, succeeded: Mask
) -> tuple[tuple[QuantityCondition, ...], Mask]:
    """Return the path of a tree that most failures and no successes meet, and the rows that meet it."""
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - takes a second to load

    best: tuple[tuple[QuantityCondition, ...], Mask] = (), np.zeros_like(failed)
    rows = failed | succeeded
    # Add the products of two knobs that vary.
    names, columns = list(quantities.names), quantities.table.T
    knobs = [
        number
        for number, name in enumerate(names)
        if name.startswith(_KNOB) and np.ptp(columns[number])
    ]
    pairs = list(combinations(knobs, 2))
    products = Quantities(
        [*names, *(f"{names[one]} * {names[other]}" for one, other in pairs)],
        np.column_stack(
            [quantities.table, *(columns[one] * columns[other] for one, other in pairs)]
        ),
    )
    # Conditions on single quantities explain more than those on products if they hold for as many failures.
    for table in (quantities, products):
        tree = DecisionTreeClassifier(
            max_depth=MOST_CONDITIONS, class_weight="balanced", random_state=0
        )
        tree.fit(table.table[rows], failed[rows])
        for path in table.leaves(tree.tree_):
            holds = np.logical_and.reduce([table.holds(condition) for condition in path])
            if not (holds & succeeded).any() and (holds & failed).sum() > (best[1] & failed).sum():
                best = path, holds
    return best


# --- The history of problems: their times over compilers and drivers, judged by intervals --------------


@dataclass(frozen=True)
class HistoryFilter:
    """A selection of problems.

    Attributes:
        words: words that must all occur in the description of the problem.
        kinds: kinds of operations; if empty, any kind.
        targets: names of targets; if empty, any target.
        devices: words of which the name of the device must contain one; if empty, any device.
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
        compiler: the version of the compiler.
        runtime: the version of the runtime.
        driver: the driver, with its version.
        date: the time of the first trial, in ISO 8601.
        trials: the number of trials.
        failures: the number of failed trials.
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
    """A problem on one device over compilers and drivers.

    Attributes:
        problem: the problem in words.
        target: the target architecture or SKU.
        cores: the number of threads of a CPU device; 0 for other devices.
        points: its times, by version.
    """

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
    series: list[list[Trial]] = []
    for group in grouped_trials(filter(selected.has, trials), _described):
        versions = grouped_trials(group, _software)
        keys = ({trial.problem.key for trial in version} for version in versions)
        is_one = all(len(distinct) == 1 for distinct in keys)
        series += [group] if is_one else grouped_trials(group, lambda trial: trial.problem.key)
    histories = [_history(group, least) for group in series]
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


def _described(trial: Trial) -> tuple[str, str, EnvironmentRecord]:
    place = replace(trial.environment, compiler="", runtime="", driver="")
    return trial.problem.kind, trial.problem.description, place


def _history(trials: Sequence[Trial], least: float) -> ProblemHistory:
    def order(group: list[Trial]) -> tuple[object, str]:
        parts = re.split(r"(\d+)", " ".join(_software(group[0])))
        numbers = [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
        return numbers, group[0].time

    points: list[HistoryPoint] = []
    default_before: Estimate | None = None
    best_before: Estimate | None = None
    for group in sorted(grouped_trials(trials, _software), key=order):
        results = results_of(group)
        ranked = [trial for measured in ranked_among(group) for trial in measured]
        default = next((trial for trial in ranked if trial.origin == "default"), None)
        best = next((trial for trial in ranked if results[trial.configuration.key] == RIGHT), None)
        default_us, best_us = map(_estimate, (default, best))
        # The best configuration in words. A tile of 0 leaves its loop alone.
        words = ""
        if best is not None and best.origin == "default":
            words = "the compiler's choice"
        elif best is not None:
            pipeline, values = best.configuration.pipeline, best.configuration.knobs.items()
            knobs = ", ".join(f"{name} = {n}" for name, n in values if n or "[" not in name)
            words = f"{pipeline}: {knobs}" if knobs else pipeline
        default_change, best_change = (
            time_change(earlier, later, least) if earlier and later else None
            for earlier, later in ((default_before, default_us), (best_before, best_us))
        )
        default_before, best_before = default_us, best_us
        points.append(
            HistoryPoint(
                *_software(group[0]),
                date=min(trial.time for trial in group),
                trials=len(group),
                failures=sum(trial.failure is not None for trial in group),
                default_us=default_us,
                best_us=best_us,
                best=words,
                default_change=default_change,
                best_change=best_change,
            )
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


_FEWEST: Final = 3
"""The least number of samples with an interval."""


def _estimate(trial: Trial | None) -> Estimate | None:
    if trial is None:
        return None
    times = interval(trial.samples)
    bounds = times.interval if len(trial.samples) >= _FEWEST else (None, None)
    return Estimate(times.median, *bounds)
