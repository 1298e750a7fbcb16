"""Random search: the candidates in random order."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tuninglink.tuning.search.base import FIRST_CANDIDATES, MOST_CANDIDATES, Search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.candidates.candidate import Candidate


class RandomSearch(Search):
    """Tries candidates in random order: what every other search has to beat."""

    name: ClassVar[str] = "random"

    def propose(self, count: int) -> Sequence[Candidate]:  # noqa: ARG002 - all at once
        """Return all that were drawn, and draw more when they were tried."""
        new = [candidate for candidate in self.drawn(FIRST_CANDIDATES) if self.is_new(candidate)]
        new = new or [
            candidate for candidate in self.drawn(MOST_CANDIDATES) if self.is_new(candidate)
        ]
        return new or self.further()
