"""Sampling of candidates from the spaces of a dispatch, within a time limit."""

from __future__ import annotations

import time
from itertools import islice, zip_longest
from math import inf
from typing import TYPE_CHECKING, Final

from tuninglink.solver.answers import Limits, UndecidedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tuninglink.spaces.providers import Space
    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.making import CandidateMaker

_SECONDS: Final = 2.0
"""Time limit for one sample of all spaces of a dispatch, for which a device may wait. It is processor time, so that
busy and idle machines sample the same candidates."""

_STEPS: Final = 1000
"""Limit on the solver steps before the first assignment of a space; most need 60 to 800."""

_MOST_REJECTED: Final = 64
"""The number of consecutive rejected assignments after which a space counts as empty."""


class SpaceSampler:
    """Samples the spaces of a dispatch.

    Args:
        spaces: the spaces.
        maker: returns the maker of candidates for a space, given its position.

    Attributes:
        reasons: the reasons why spaces have no candidates, by position.
    """

    def __init__(self, spaces: Sequence[Space], maker: Callable[[int], CandidateMaker]) -> None:
        self._spaces = spaces
        self._maker = maker
        self._samples: dict[tuple[int, int], _Sample] = {}
        self._drawn: dict[tuple[int, int], list[Candidate]] = {}
        self.reasons: dict[int, str] = {}

    def sample(self, n: int, seed: int) -> list[Candidate]:
        """Return candidates drawn evenly from the spaces.

        The time limit may shorten a sample, but keeps at least one candidate if there are any.

        Args:
            n: the number of candidates.
            seed: the seed of the draw, which determines it unless the time limit cuts it.
        """
        if (n, seed) not in self._drawn:
            limited = self._draw(n, seed, time.thread_time() + _SECONDS)
            self._drawn[n, seed] = limited or self._draw(n, seed, inf)
        return self._drawn[n, seed]

    def _draw(self, n: int, seed: int, deadline: float) -> list[Candidate]:
        count = len(self._spaces)
        samples = [
            self._first(number, 1, seed, deadline, count - number) for number in range(count)
        ]
        filled = [number for number in range(count) if samples[number]]
        if not filled:
            return []
        share = -(-n // len(filled))
        drawn = [
            self._first(number, share, seed, deadline, len(filled) - position)
            for position, number in enumerate(filled)
        ]
        mixed = [candidate for group in zip_longest(*drawn) for candidate in group]
        unlike = {candidate.key: candidate for candidate in mixed if candidate is not None}
        return list(islice(unlike.values(), n))

    def _first(
        self, number: int, n: int, seed: int, deadline: float, spaces_left: int
    ) -> list[Candidate]:
        """Return the first candidates of a space within its share of the time."""
        sample = self._samples.get((number, seed))
        if sample is None:
            sample = _Sample(self._maker(number))
            self._samples[number, seed] = sample
        now = time.thread_time()
        end = now + max(0.0, deadline - now) / spaces_left
        if len(sample.candidates) < n and end > now and number not in self.reasons:
            try:
                constraints = self._spaces[number].constraints
                limits = Limits(seconds=inf, steps=_STEPS)
                sample.extend(n, end, lambda: constraints.draws(seed, limits))
            except UndecidedError as failure:
                self.reasons[number] = failure.reason
        return list(islice(sample.candidates.values(), n))


class _Sample:
    """The candidates drawn from one space so far, in random order.

    Args:
        make: constructs candidates from assignments.
    """

    def __init__(self, make: CandidateMaker) -> None:
        self._make = make
        self._assignments: Iterator[dict[str, int]] = iter(())
        self.candidates: dict[str, Candidate] = {}

    def extend(self, n: int, end: float, draw: Callable[[], Iterator[dict[str, int]]]) -> None:
        """Draw until there are `n` candidates, no more assignments, or too many rejected ones in a row.

        Args:
            n: the requested number of candidates.
            end: the time limit, in seconds of `time.thread_time()`.
            draw: restarts the draw of assignments if the last one ended at a limit.
        """
        if not self._take(n, end):
            self._assignments = draw()
            self._take(n, end)

    def _take(self, n: int, end: float) -> bool:
        """Consume assignments; return whether there were enough."""
        rejected = 0
        for assignment in self._assignments:
            candidate = self._make(assignment)
            if candidate is None:
                rejected += 1
                if rejected == _MOST_REJECTED:
                    return True
                continue
            rejected = 0
            self.candidates[candidate.key] = candidate
            if len(self.candidates) >= n or time.thread_time() > end:
                return True
        return False
