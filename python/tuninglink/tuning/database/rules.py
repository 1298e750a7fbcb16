"""Rules that explain why candidates fail which the constraints called valid.

A rule is a conjunction of bounds on knobs, on products of two of them and on their quotients. It holds for some of the
candidates that failed for one reason and for none that was measured. Rules are learned one after the other, each for
the failures that the ones before leave over (sequential covering: W. Cohen, "Fast Effective Rule Induction", 1995).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from tuninglink.tuning.database import Trial

FEWEST: Final = 3
"""A rule that explains fewer failures is chance."""

_MOST_BOUNDS: Final = 4
"""A conjunction of more bounds explains nothing."""

_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True)
class Bound:
    """A comparison of a quantity with a constant.

    Attributes:
        quantity: a knob, or a term of two.
        relation: `<=`, `>=` or `==`.
        value: the constant.
    """

    quantity: str
    relation: str
    value: float

    def __str__(self) -> str:
        return f"{self.quantity} {self.relation} {self.value:g}"


@dataclass(frozen=True)
class LearnedRule:
    """What candidates that failed for one reason have in common.

    Attributes:
        scope: the kind of operation, the target and the pipeline.
        bounds: what holds for them, all together.
        failure: the kind of failure.
        reason: the first line of what was said, with `N` for every number.
        explained: how many failures it holds for.
        failures: how many there are for this reason.
        successes: how many candidates of the scope were measured; it holds for none.
        problems: how many problems the failures that it holds for are of.
    """

    scope: tuple[str, str, str]
    bounds: tuple[Bound, ...]
    failure: str
    reason: str
    explained: int
    failures: int
    successes: int
    problems: int

    def __str__(self) -> str:
        return " and ".join(map(str, self.bounds))


def learn_rules(trials: Iterable[Trial]) -> list[LearnedRule]:
    """Return rules that explain failures, those that explain most first.

    Only candidates with the same knobs are compared.

    Args:
        trials: trials of any problems and environments.
    """
    groups: dict[tuple[str, str, str, tuple[str, ...]], dict[str, Trial]] = {}
    for trial in trials:
        configuration = trial.configuration
        if not configuration.knobs:
            continue
        scope = trial.problem.kind, trial.environment.target, configuration.pipeline
        group = groups.setdefault((*scope, tuple(sorted(configuration.knobs))), {})
        identity = f"{trial.problem.key} {configuration.key}"
        if trial.failure is not None or identity not in group:
            group[identity] = trial  # of a candidate that failed at any stage, the failure counts
    rules = [rule for group in groups.values() for rule in _rules_of(list(group.values()))]
    return sorted(rules, key=lambda rule: (-rule.explained, rule.scope, str(rule)))


def _rules_of(trials: Sequence[Trial]) -> Iterator[LearnedRule]:
    knobs, names, table = _quantities(trials)
    succeeded = np.array([trial.failure is None for trial in trials])
    reasons = [_reason(trial) for trial in trials]
    first = trials[0]
    scope = first.problem.kind, first.environment.target, first.configuration.pipeline
    for reason in dict.fromkeys(reason for reason in reasons if reason is not None):
        failed = np.array([other == reason for other in reasons])
        rest = failed
        while succeeded.any() and rest.sum() >= FEWEST:
            # Bounds on knobs alone say more than those on terms, if they explain as much.
            result = [
                conjunction
                for count in (knobs, len(names))
                if (conjunction := _conjunction(names[:count], table, rest, succeeded))
            ]
            bounds, holds = max(
                result,
                key=lambda conjunction: int((conjunction[1] & rest).sum()),
                default=((), ~rest),
            )
            explained = [trials[int(index)] for index in np.flatnonzero(holds & rest)]
            if len(explained) < FEWEST:
                break
            yield LearnedRule(
                scope,
                bounds,
                *reason,
                len(explained),
                int(failed.sum()),
                int(succeeded.sum()),
                len({trial.problem.key for trial in explained}),
            )
            rest = rest & ~holds


def _reason(trial: Trial) -> tuple[str, str] | None:
    if trial.failure is None:
        return None
    first = trial.failure.message.partition("\n")[0]
    return trial.failure.kind.value, _NUMBER.sub("N", first)


def _quantities(trials: Sequence[Trial]) -> tuple[int, list[str], NDArray[np.float64]]:
    """Return how many knobs vary, the quantities that do, and their values by trial and quantity."""
    knobs = sorted(trials[0].configuration.knobs)
    values = np.array([[trial.configuration.knobs[name] for name in knobs] for trial in trials])
    varying = [column for column in range(len(knobs)) if np.ptp(values[:, column])]
    names = [knobs[column] for column in varying]
    columns = [values[:, column].astype(np.float64) for column in varying]
    for one, other in combinations(range(len(varying)), 2):
        names.append(f"{names[one]} * {names[other]}")
        columns.append(columns[one] * columns[other])
        if columns[other].all():
            names.append(f"{names[one]} / {names[other]}")
            columns.append(columns[one] / columns[other])
    return len(varying), names, np.array(columns).T.reshape(len(trials), len(names))


def _conjunction(
    names: Sequence[str],
    table: NDArray[np.float64],
    failed: NDArray[np.bool_],
    succeeded: NDArray[np.bool_],
) -> tuple[tuple[Bound, ...], NDArray[np.bool_]] | None:
    """Return bounds that hold for failures and for no success, and where they hold; None if few bounds do not do."""
    literals = list(_literals(names, table, failed))
    holds = np.ones(len(table), bool)
    chosen: list[tuple[Bound, NDArray[np.bool_]]] = []
    while (holds & succeeded).any():
        gains = [_gain(holds, satisfied, failed, succeeded) for _, satisfied in literals]
        best = int(np.argmax(gains)) if gains else -1
        if best < 0 or gains[best] <= 0 or len(chosen) == _MOST_BOUNDS:
            return None
        chosen.append(literals[best])
        holds = holds & literals[best][1]
    for candidate in list(chosen):
        without = np.ones(len(table), bool)
        for bound, where in chosen:
            if bound is not candidate[0]:
                without = without & where
        if not (without & succeeded).any():
            chosen = [one for one in chosen if one[0] is not candidate[0]]
            holds = without
    return tuple(bound for bound, _ in chosen), holds


def _literals(
    names: Sequence[str], table: NDArray[np.float64], failed: NDArray[np.bool_]
) -> Iterator[tuple[Bound, NDArray[np.bool_]]]:
    """Yield the bounds that hold for some of the failures, knobs before terms."""
    for column, name in enumerate(names):
        values = table[:, column]
        for value in np.unique(values[failed]):
            yield Bound(name, ">=", float(value)), values >= value
            yield Bound(name, "<=", float(value)), values <= value
            yield Bound(name, "==", float(value)), values == value


def _gain(
    holds: NDArray[np.bool_],
    literal: NDArray[np.bool_],
    failed: NDArray[np.bool_],
    succeeded: NDArray[np.bool_],
) -> float:
    """Return FOIL's information gain of another bound (J. R. Quinlan, 1990)."""
    both = holds & literal
    kept, let_in = (both & failed).sum(), (both & succeeded).sum()
    if not kept:
        return 0.0
    before = (holds & failed).sum() / ((holds & failed).sum() + (holds & succeeded).sum())
    return float(kept * (np.log2(kept / (kept + let_in)) - np.log2(before)))
