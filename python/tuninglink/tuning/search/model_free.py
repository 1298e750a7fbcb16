"""Searches without a model: random order, and hill climbing from the best few."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

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


_CLIMBERS: Final = 3
"""The neighbors of this many candidates are tried."""

_FIRST_SAMPLE: Final = 8
"""Where no candidate is known to start from, the best of so many."""


class NeighborSearch(Search):
    """Tries the neighbors of the compiler's choice, then those of the best few, then random ones."""

    name: ClassVar[str] = "neighbors"

    def propose(self, count: int) -> Sequence[Candidate]:  # noqa: ARG002 - whatever is near
        """Return the neighbors of the best few, if there are new ones."""
        if len(self._times) + len(self._failed) >= _FIRST_SAMPLE or self._pool.default is not None:
            for fast in self.best(_CLIMBERS):
                near = [one for one in self._neighbors(fast) if self.is_new(one)]
                if near:
                    return near
        new = [candidate for candidate in self.drawn(FIRST_CANDIDATES) if self.is_new(candidate)]
        new = new or [
            candidate for candidate in self.drawn(MOST_CANDIDATES) if self.is_new(candidate)
        ]
        new = new or self.further()
        return new[: max(1, _FIRST_SAMPLE - len(self._times))]

    def _neighbors(self, candidate: Candidate) -> Sequence[Candidate]:
        if candidate.key not in self._known_neighbors:
            self._known_neighbors[candidate.key] = self._pool.neighbors(candidate)
        return self._known_neighbors[candidate.key]

    @cached_property
    def _known_neighbors(self) -> dict[str, Sequence[Candidate]]:
        return {}
