"""Conditions on quantities of candidates, such as those of decision trees, and those under which candidates fail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tuninglink.errors import TuninglinkError
from tuninglink.tuning.database.tables import problem_of_program, recorded_candidate
from tuninglink.tuning.search.features import features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tuninglink.tuning.candidates import SearchProblem
    from tuninglink.tuning.database.records import Trial

    Table = NDArray[np.float64]
    Mask = NDArray[np.bool_]


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
    """A comparison of a quantity with a constant.

    Attributes:
        quantity: a feature of the search, in its own unit instead of as a logarithm, or a product of two knobs.
        relation: `<=` or `>=`; `==` or `!=` for a pipeline.
        value: the constant.
    """

    quantity: str
    relation: str
    value: float | str

    def __str__(self) -> str:
        number = self.value if isinstance(self.value, str) else f"{self.value:.10g}"
        return f"{self.quantity} {self.relation} {number}"

    @property
    def subject(self) -> tuple[str, str, str]:
        """The bounded quantity: of two conditions with one subject, the tighter one implies the other."""
        return self.quantity, self.relation, self.value if isinstance(self.value, str) else ""


@dataclass(frozen=True)
class Quantities:
    """The quantities of candidates: a row for each, of which a quantity that it lacks is 0."""

    names: Sequence[str]
    table: Table

    @classmethod
    def of(cls, trials: Iterable[Trial]) -> Quantities:
        """Return the quantities of the candidates of trials."""
        rows = [dict(_quantities(trial)) for trial in trials]
        names = sorted({name for row in rows for name in row})
        values = [[row.get(name, 0.0) for name in names] for row in rows]
        return cls(names, np.array(values, np.float64).reshape(len(rows), len(names)))

    def with_products(self) -> Quantities:
        """Add the products of two knobs that vary."""
        knobs = [
            column
            for column, name in enumerate(self.names)
            if name.startswith(_KNOB) and np.ptp(self.table[:, column])
        ]
        pairs = list(combinations(knobs, 2))
        names = [f"{self.names[one]} * {self.names[other]}" for one, other in pairs]
        products = [self.table[:, one] * self.table[:, other] for one, other in pairs]
        return Quantities([*self.names, *names], np.column_stack([self.table, *products]))

    def holds(self, condition: QuantityCondition) -> Mask:
        """Return the rows that meet a condition."""
        if isinstance(condition.value, str):
            is_pipeline = self.table[:, self.names.index(_PIPELINE + condition.value)] > 0
            return is_pipeline if condition.relation == "==" else ~is_pipeline
        column = self.table[:, self.names.index(condition.quantity)]
        return (
            column <= condition.value if condition.relation == "<=" else column >= condition.value
        )

    def condition(self, column: int, threshold: float, *, is_above: bool) -> QuantityCondition:
        """Return the condition of one side of a split, with a value that occurs instead of the threshold."""
        name, values = self.names[column], self.table[:, column]
        if name.startswith(_PIPELINE):
            return QuantityCondition(
                "pipeline", "==" if is_above else "!=", name.removeprefix(_PIPELINE)
            )
        if is_above:
            return QuantityCondition(name, ">=", float(values[values > threshold].min()))
        return QuantityCondition(name, "<=", float(values[values <= threshold].max()))

    def leaves(self, tree: Any) -> Iterator[tuple[QuantityCondition, ...]]:
        """Yield the conditions of the path to each leaf of a tree of scikit-learn."""

        def below(
            node: int, path: tuple[QuantityCondition, ...]
        ) -> Iterator[tuple[QuantityCondition, ...]]:
            if tree.children_left[node] < 0:
                yield path
                return
            for child, is_above in ((tree.children_left, False), (tree.children_right, True)):
                column, threshold = int(tree.feature[node]), float(tree.threshold[node])
                condition = self.condition(column, threshold, is_above=is_above)
                yield from below(int(child[node]), (*path, condition))

        for path in below(0, ()):
            # A later bound on the same side of a quantity is the tighter one.
            yield tuple({condition.subject: condition for condition in path}.values())


def _quantities(trial: Trial) -> Mapping[str, float]:
    """Return the features of a candidate in their own units; the knobs only if the program cannot be read."""
    configuration = trial.configuration
    problem = _problem(trial.problem.program, trial.environment.device)
    if problem is None:
        knobs = {f"{_KNOB}{name}": float(value) for name, value in configuration.knobs.items()}
        return {f"{_PIPELINE}{configuration.pipeline}": 1.0, **knobs}
    described = features(problem, recorded_candidate(configuration.pipeline, configuration.knobs))
    return {name: _unit(name, value) for name, value in described.items() if name != "estimate"}


@cache
def _problem(program: str, device: str) -> SearchProblem | None:
    try:
        return problem_of_program(program, device)
    except TuninglinkError:
        return None  # older databases keep the names of programs only


def _unit(name: str, value: float) -> float:
    """Convert a feature from a logarithm to its own unit."""
    if name.startswith(_PIPELINE) or name in _FRACTIONS:
        return round(value, _DIGITS)
    return 0.0 if name.startswith(_KNOB) and value < 0 else round(2.0**value, _DIGITS)


_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True)
class FailureRule:
    """Conditions met by candidates that failed for one reason, and by no measured candidate.

    Attributes:
        kind: the kind of the root op.
        target: the architecture.
        conditions: the conditions, all of which hold.
        failure: the kind of failure.
        reason: the first line of the diagnostic, with `N` for every number.
        explained: the number of failures that meet the conditions.
        failures: the number of failures for this reason.
        successes: the number of measured candidates.
        problems: the number of problems of the explained failures.
    """

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
    reasons = list(map(_reason, rows))
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


def _reason(trial: Trial) -> tuple[str, str] | None:
    if trial.failure is None:
        return None
    return trial.failure.kind.value, _NUMBER.sub("N", trial.failure.message.partition("\n")[0])


def _common_conditions(
    quantities: Quantities, failed: Mask, succeeded: Mask
) -> tuple[tuple[QuantityCondition, ...], Mask]:
    """Return the path of a tree that most failures and no successes meet, and the rows that meet it."""
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - takes a second to load

    best: tuple[tuple[QuantityCondition, ...], Mask] = (), np.zeros_like(failed)
    rows = failed | succeeded
    # Conditions on single quantities explain more than those on products if they hold for as many failures.
    for table in (quantities, quantities.with_products()):
        tree = DecisionTreeClassifier(
            max_depth=MOST_CONDITIONS, class_weight="balanced", random_state=0
        )
        tree.fit(table.table[rows], failed[rows])
        for path in table.leaves(tree.tree_):
            holds = np.logical_and.reduce([table.holds(condition) for condition in path])
            if not (holds & succeeded).any() and (holds & failed).sum() > (best[1] & failed).sum():
                best = path, holds
    return best
