"""Conditions that candidates meet that fail although the constraints call them valid."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from tuninglink.tuning.database.quantities import (
    FEWEST,
    MOST_CONDITIONS,
    Quantities,
    QuantityCondition,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tuninglink.tuning.database.quantities import Mask
    from tuninglink.tuning.database.records import Trial

_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True)
class FailureRule:
    """The conditions that candidates meet that failed for one reason, and that no measured candidate meets.

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

    Each rule is learned from the failures that those before it leave unexplained.
    """
    candidates: dict[tuple[str, str], Trial] = {}
    for trial in trials:
        key = trial.problem.key, trial.configuration.key
        if trial.configuration.knobs and (trial.failure is not None or key not in candidates):
            candidates[key] = trial  # of a candidate that failed at any stage, the failure counts
    rows = list(candidates.values())
    reasons = list(map(_reason, rows))
    succeeded = np.array([reason is None for reason in reasons], bool)
    quantities = Quantities.of(rows)
    for reason in dict.fromkeys(filter(None, reasons)):
        failed = np.array([other == reason for other in reasons], bool)
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
    """Return the path of a tree that holds for most failures and for no success, and the rows that meet it."""
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
