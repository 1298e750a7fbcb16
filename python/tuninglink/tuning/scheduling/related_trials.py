"""Fast candidates of repaired tasks, with which the repair of similar tasks begins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final

from tuninglink.tuning.candidates import Candidate, SearchProblem, distance

if TYPE_CHECKING:
    from tuninglink.tuning.database.prior_data import KnownCandidates

MOST_RELATED: Final = 8
"""The number of candidates of other tasks with which a task begins."""

_NEAREST: Final = 3
"""The number of tasks that they are taken from."""


@dataclass(frozen=True)
class RelatedTrials:
    """Candidates that repaired wrong defaults, and the fastest next to them.

    Tasks are related if their operations, element types and roles of loops are equal: what computes one of them right
    most likely computes the others right. Candidates for one are valid for others unless tiles exceed sizes.
    """

    _fast: dict[str, tuple[SearchProblem, tuple[Candidate, ...]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._fast)

    def add(self, problem: SearchProblem, candidates: Sequence[Candidate]) -> None:
        """Add the candidates of a task, the right one first."""
        self._fast[str(problem)] = problem, tuple(candidates)

    def candidates(self, problem: SearchProblem, valid: KnownCandidates) -> list[Candidate]:
        """Return candidates of the nearest related tasks that are valid for another one.

        Args:
            problem: the problem of the other task.
            valid: its candidates.
        """
        groups = sorted(
            (distance(str(problem), str(other)), number, candidates)
            for number, (other, candidates) in enumerate(self._fast.values())
            if other.roles == problem.roles
        )
        near = [candidates for far, _, candidates in groups if math.isfinite(far)][:_NEAREST]
        result: dict[str, Candidate] = {}
        for other in chain.from_iterable(zip_longest(*near)):
            candidate = valid.candidate(other.pipeline, other.knobs) if other else None
            if candidate is not None:
                result.setdefault(candidate.key, candidate)
            if len(result) == MOST_RELATED:
                break
        return list(result.values())
