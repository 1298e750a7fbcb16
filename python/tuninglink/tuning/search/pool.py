"""What a search chooses from, as far as it knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.search_problem import SearchProblem


class CandidatePool(Protocol):
    """The candidates of a problem."""

    @property
    def problem(self) -> SearchProblem:
        """What they are for."""

    @property
    def default(self) -> Candidate | None:
        """The compiler's own choice, where it is known."""

    @property
    def given(self) -> Sequence[Candidate]:
        """Candidates from specs."""

    def sample(self, n: int, seed: int) -> Sequence[Candidate]:
        """Return candidates that are spread over the spaces, all if there are no more than `n`."""

    def neighbors(self, candidate: Candidate) -> Sequence[Candidate]:
        """Return the candidates that differ by a step, the nearest first."""
