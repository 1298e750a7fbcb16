"""The base class of searches, and the searches without a model: random order, and hill climbing."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from tuninglink.errors import TuninglinkError
from tuninglink.mlir.diagnostics import error, note

if TYPE_CHECKING:
    from tuninglink.tuning.candidates import Candidate, SearchProblem


@dataclass(frozen=True)
class MeasuredProblem:
    """The measurements of another problem.

    Attributes:
        problem: the problem.
        times: its candidates with their microseconds.
    """

    problem: SearchProblem
    times: tuple[tuple[Candidate, float], ...]


class CandidatePool(Protocol):
    """The candidates of a problem."""

    @property
    def problem(self) -> SearchProblem:
        """The problem of the candidates."""

    @property
    def default(self) -> Candidate | None:
        """The compiler's own choice, if known."""

    @property
    def given(self) -> Sequence[Candidate]:
        """Candidates from specs."""

    def sample(self, n: int, seed: int) -> Sequence[Candidate]:
        """Return up to `n` candidates that are spread over the spaces."""

    def begin_sample(self, n: int, seed: int) -> bool:
        """Begin a draw for a later call of `sample`; return whether that call need not wait."""

    def neighbors(self, candidate: Candidate) -> Sequence[Candidate]:
        """Return the candidates that differ by a step, the nearest first."""

    def variants(self, candidate: Candidate) -> Sequence[Candidate]:
        """Return the candidates that differ in one option that is independent of the knobs."""


FIRST_CANDIDATES: Final = 400
"""The number of candidates of the first draw, for which the device waits."""

MOST_CANDIDATES: Final = 1500
"""The number of candidates of a later draw; a space may have millions."""

_FIRST_VARIANTS: Final = 48
"""The number of trials after which options that are independent of the knobs are tried on the best few. It doubles with
each such step."""

_VARIED: Final = 3
"""The number of candidates on which they are tried."""

_EMPTY_DRAWS: Final = 3
"""The number of draws without a new candidate after which all count as tried."""


class Search(ABC):
    """A search, which chooses candidates of one problem based on the times of earlier ones.

    The same pool, seed and times give the same candidates.

    Args:
        pool: the candidates to choose from.
        seed: determines all random choices.
        default_microseconds: the time of the compiler's own choice, where it is known.
        known: candidates worth trying first, such as winners of similar problems, with their earlier times on this
            problem, if any.
        measured: the measurements of other problems.

    Attributes:
        name: its name on the command line.
    """

    name: ClassVar[str]

    def __init__(
        self,
        pool: CandidatePool,
        seed: int,
        default_microseconds: float | None,
        known: Sequence[tuple[Candidate, float | None]] = (),
        measured: Sequence[MeasuredProblem] = (),
    ) -> None:
        self._pool = pool
        self._seed = seed
        self._measured = measured
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._times: dict[str, tuple[Candidate, float]] = {}
        self._failed: dict[str, Candidate] = {}
        self._asked: set[str] = set()
        self._drawn: dict[int, Sequence[Candidate]] = {}
        self._draws = 0
        self._next_variants = _FIRST_VARIANTS
        self._variants: list[Candidate] = []
        self._first = [candidate for candidate, microseconds in known if microseconds is None]
        self._first += pool.given
        for candidate, microseconds in known:
            if microseconds is not None:
                self._asked.add(candidate.key)
                self.tell(candidate, microseconds)
        if pool.default is not None:
            self._asked.add(pool.default.key)
            if default_microseconds is not None:
                self.tell(pool.default, default_microseconds)

    def ask(self, count: int) -> list[Candidate]:
        """Return at most `count` next candidates; none if all were tried.

        Times of earlier candidates may still be missing.
        """
        chosen = self._new(self._first, count)
        self._vary()
        chosen += self._new(self._variants, count - len(chosen))
        while len(chosen) < count:
            new = self._new(self.propose(count - len(chosen)), count - len(chosen))
            if not new:
                break
            chosen += new
        return chosen

    def prefer(self, candidates: Iterable[Candidate]) -> None:
        """Queue candidates to be returned before any that must be drawn."""
        self._first += candidates

    def tell(self, candidate: Candidate, microseconds: float | None) -> None:
        """Record the time of a candidate; None if the candidate failed, even after a measurement."""
        if microseconds is None:
            self._times.pop(candidate.key, None)
            self._failed[candidate.key] = candidate
        else:
            self._times[candidate.key] = (candidate, microseconds)

    def _vary(self) -> None:
        """Collect variants of the best few candidates, best candidate first, when a step is due."""
        if len(self._times) + len(self._failed) >= self._next_variants:
            self._next_variants *= 2
            best = self.best(_VARIED)
            self._variants = [other for fast in best for other in self._pool.variants(fast)]

    def draw_ahead(self) -> None:  # noqa: B027 - most searches draw nothing later
        """Draw candidates that a later `ask` would have to wait for."""

    @abstractmethod
    def propose(self, count: int) -> Iterable[Candidate]:
        """Return candidates, best first. Candidates returned before are skipped.

        Args:
            count: the requested number. The search may return more, or fewer at once; if all are old, the search
                is over.
        """

    def drawn(self, count: int) -> Sequence[Candidate]:
        """Return candidates from the spaces in random order, the same ones in every call."""
        if count not in self._drawn:
            result = list(self._pool.sample(count, self._seed))
            self._chance.shuffle(result)
            self._drawn[count] = result
        return self._drawn[count]

    def further(self) -> list[Candidate]:
        """Return new candidates from the spaces, different ones each time.

        Returns:
            The candidates; none if several draws contain no new one, or if the next draw is not ready while results are
            pending.
        """
        for _ in range(_EMPTY_DRAWS):
            seed = self._seed + self._draws + 1
            if self.is_pending and not self._pool.begin_sample(MOST_CANDIDATES, seed):
                return []  # the next call may find it
            self._draws += 1
            drawn = self._pool.sample(MOST_CANDIDATES, seed)
            new = [candidate for candidate in drawn if self.is_new(candidate)]
            if new:
                return new
        return []

    @property
    def is_pending(self) -> bool:
        """Whether the times of candidates are missing."""
        default = self._pool.default
        told = {*self._times, *self._failed, *([default.key] if default is not None else [])}
        return not self._asked <= told

    def best(self, count: int) -> list[Candidate]:
        """Return the fastest candidates so far."""
        ranked = sorted(self._times.values(), key=lambda timed: timed[1])
        return [candidate for candidate, _ in ranked[:count]]

    def is_new(self, candidate: Candidate) -> bool:
        """Return whether a candidate was not returned before."""
        return candidate.key not in self._asked

    def _new(self, candidates: Iterable[Candidate], count: int) -> list[Candidate]:
        new: list[Candidate] = []
        for candidate in candidates:
            if len(new) == count:
                break
            if self.is_new(candidate):
                self._asked.add(candidate.key)
                new.append(candidate)
        return new


class RandomSearch(Search):
    """A search in random order: the baseline of all other searches."""

    name: ClassVar[str] = "random"

    def propose(self, count: int) -> Sequence[Candidate]:  # noqa: ARG002 - all at once
        """Return all drawn candidates, and draw more once these were tried."""
        new = [candidate for candidate in self.drawn(FIRST_CANDIDATES) if self.is_new(candidate)]
        new = new or [
            candidate for candidate in self.drawn(MOST_CANDIDATES) if self.is_new(candidate)
        ]
        return new or self.further()


_CLIMBERS: Final = 3
"""The neighbors of this many candidates are tried."""

_FIRST_SAMPLE: Final = 8
"""The number of random candidates whose best is the starting point if there is no default."""


class NeighborSearch(Search):
    """A search of the neighbors of the compiler's choice, then those of the best few, then random candidates."""

    name: ClassVar[str] = "neighbors"

    def propose(self, count: int) -> Sequence[Candidate]:  # noqa: ARG002 - whatever is near
        """Return new neighbors of the best few candidates, or else new random candidates."""
        if len(self._times) + len(self._failed) >= _FIRST_SAMPLE or self._pool.default is not None:
            for fast in self.best(_CLIMBERS):
                near = [neighbor for neighbor in self._neighbors(fast) if self.is_new(neighbor)]
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


def load_trees() -> Any:
    """Load the trees of scikit-learn, which takes a second. A search of few trials ends before it needs them.

    Raises:
        TuninglinkError: scikit-learn is missing or damaged.
    """
    try:
        import sklearn.tree  # noqa: PLC0415
    except ImportError as failure:
        raise lacking_scikit_learn("the search 'model'", str(failure)) from None
    return sklearn


def lacking_scikit_learn(user: str, reason: str) -> TuninglinkError:
    """Return the error for a part of the tuner that lacks scikit-learn.

    Args:
        user: the part of the tuner.
        reason: the message of the failed import.
    """
    remedy = note("install the extra: pip install 'tuninglink[tune]'")
    return TuninglinkError(error(f"{user} needs scikit-learn: {reason}", notes=[remedy]))
