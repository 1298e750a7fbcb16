"""Random search: the candidates in random order."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from tuninglink.tuning.search.base import MOST_CANDIDATES, Search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.tuning.search.pool import Candidate


class RandomSearch(Search):
    """Tries candidates in random order: what every other search has to beat."""

    name: ClassVar[str] = "random"

    def propose(self, count: int) -> Sequence[Candidate]:  # noqa: ARG002 - all at once
        """Returns all."""
        return self._shuffled

    @cached_property
    def _shuffled(self) -> list[Candidate]:
        drawn = list(self._pool.sample(MOST_CANDIDATES, self._seed))
        self._chance.shuffle(drawn)
        return drawn
