"""Sampling of candidates from the spaces of a dispatch, within a time limit."""

from __future__ import annotations

import random
import time
from itertools import islice, zip_longest
from math import inf
from typing import TYPE_CHECKING, Final

from tuninglink.solver.answers import Limits, UndecidedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.spaces.providers import Space
    from tuninglink.tuning.candidates.candidate import Candidate
    from tuninglink.tuning.candidates.making import CandidateMaker

_SECONDS: Final = 2.0
"""Time limit for one sample of all spaces of a dispatch. A device waits for the first sample."""

_SAMPLING_STEPS: Final = 2000
"""Steps for sampling one space; 60 to 800 do for most. A space that is too large for it is probed from then on. Steps
come first, so that a busy machine finds the same candidates as an idle one."""

_PROBING_STEPS: Final = 1000
"""Steps for probing one space, about two seconds."""

_LEAST_PROBING_SECONDS: Final = 0.2
"""Time for probing a space after its sampling has taken all there was."""

_DRAWS: Final = 4
"""A space is empty if so many samples of it hold no candidate: code generation refuses many assignments."""

_LEAST_DRAWN: Final = 16
"""The least number of assignments in a sample; counting the space takes most of the time."""


class SpaceSampler:
    """Samples the spaces of a dispatch.

    Args:
        spaces: the spaces.
        maker: returns what makes candidates of the assignments of a space, given its position.

    Attributes:
        reasons: why spaces have no candidates, by their positions.
    """

    def __init__(self, spaces: Sequence[Space], maker: Callable[[int], CandidateMaker]) -> None:
        self._spaces = spaces
        self._maker = maker
        self._too_large: set[int] = set()
        self._drawn: dict[tuple[int, int, int], list[Candidate]] = {}
        self._filled: list[int] | None = None
        self.reasons: dict[int, str] = {}

    def sample(self, n: int, seed: int) -> list[Candidate]:
        """Returns candidates drawn from the spaces, as many from each as there are.

        Args:
            n: how many.
            seed: fixes which, as far as the time limit allows.
        """
        deadline = time.monotonic() + _SECONDS
        numbers = self.filled(deadline)
        if not numbers:
            return []
        share = -(-n // len(numbers))
        drawn = [
            self._draw(number, share, seed, _part(deadline, len(numbers) - position))
            for position, number in enumerate(numbers)
        ]
        mixed = [each for group in zip_longest(*drawn) for each in group]
        unlike = {each.key: each for each in mixed if each is not None}
        return list(islice(unlike.values(), n))

    def filled(self, deadline: float = inf) -> Sequence[int]:
        """Returns the positions of the spaces that have candidates: some only decide what others write."""
        if self._filled is None:
            deadline = min(deadline, time.monotonic() + _SECONDS)
            count = len(self._spaces)
            self._filled = [
                number
                for number in range(count)
                if self._draw(number, 1, 0, _part(deadline, count - number))
            ]
        return self._filled

    def _draw(self, number: int, n: int, seed: int, seconds: float) -> list[Candidate]:
        key = number, n, seed
        if key not in self._drawn:
            self._drawn[key] = self._draw_anew(number, n, seed, seconds)
        return self._drawn[key]

    def _draw_anew(self, number: int, n: int, seed: int, seconds: float) -> list[Candidate]:
        """Samples one space until enough of its assignments make candidates."""
        deadline = time.monotonic() + seconds
        make = self._maker(number)
        candidates: dict[str, Candidate] = {}
        size = max(n, _LEAST_DRAWN)
        for draw in range(_DRAWS):
            left = deadline - time.monotonic()
            if left <= 0 and draw:
                break
            try:
                assignments = self._assignments(number, size, seed + draw, left)
            except UndecidedError as failure:
                self.reasons[number] = failure.reason
                break
            made = filter(None, map(make, assignments))
            candidates |= {each.key: each for each in made}
            if len(candidates) >= n or len(assignments) < size:
                break
        return list(islice(candidates.values(), n))

    def _assignments(self, number: int, n: int, seed: int, seconds: float) -> list[dict[str, int]]:
        """Returns valid assignments of one space in random order.

        Raises:
            UndecidedError: the space does not tell which are valid.
        """
        constraints = self._spaces[number].constraints
        if constraints.unknown:
            raise UndecidedError(constraints.unknown)
        assignments = None
        if number not in self._too_large:
            limits = Limits(seconds=max(seconds, 0.0), steps=_SAMPLING_STEPS)
            try:
                assignments = constraints.sample(n, seed, limits)
            except UndecidedError:
                self._too_large.add(number)
        if assignments is None:
            limits = Limits(seconds=max(seconds, _LEAST_PROBING_SECONDS), steps=_PROBING_STEPS)
            assignments = constraints.probe(n, seed, limits)
        random.Random(seed).shuffle(assignments)  # noqa: S311 - no secret
        return assignments


def _part(deadline: float, parts: int) -> float:
    """Returns the seconds until a deadline for one of so many equal parts of the work."""
    return max(0.0, deadline - time.monotonic()) / parts
