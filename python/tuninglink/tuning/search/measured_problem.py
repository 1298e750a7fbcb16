"""Measurements of problems other than the tuned one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.search_problem import SearchProblem


@dataclass(frozen=True)
class MeasuredProblem:
    """The measurements of another problem.

    Attributes:
        problem: the problem.
        times: its candidates with their microseconds.
    """

    problem: SearchProblem
    times: tuple[tuple[Candidate, float], ...]
