"""The base class of searches, which avoids what wrong results share, and those without a model."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from tuninglink.tuning.candidates import draw_evenly

if TYPE_CHECKING:
    from tuninglink.iree import Spills
    from tuninglink.tuning.candidates import Candidate, CandidateSpaces, Draw, SearchProblem


@dataclass(frozen=True)
class MeasuredProblem:
    """The measurements of another problem: its candidates with their microseconds."""

    problem: SearchProblem
    times: tuple[tuple[Candidate, float], ...]


# --- Knobs that wrong results share, as rules for the rest of a run: candidates with them are not proposed again

_IN_USE: Final = 2
"""The least value of a knob that is in use at all, such as a number of subgroups or a tile."""

_Rule: TypeAlias = tuple[str, tuple[tuple[str, int, float], ...]]
"""A pipeline, and one or two of its knobs, each with its least and its largest value."""


def _covers(rule: _Rule, candidate: Candidate) -> bool:
    pipeline, values = rule
    return candidate.pipeline == pipeline and all(
        low <= candidate.knobs.get(name, -math.inf) <= high for name, low, high in values
    )


@dataclass
class WrongKnobs:
    """Rules for the values of knobs that at least two wrong candidates of a pipeline have, and no right one.

    Several may be left, of which one is the cause: they are lifted one by one, the least plausible first, when trials
    are right without them.

    Attributes:
        rules: the rules, the most plausible first.
    """

    rules: list[_Rule] = field(default_factory=list)
    _wrong: dict[str, Candidate] = field(default_factory=dict)
    _right: dict[str, Candidate] = field(default_factory=dict)
    _lifted: set[_Rule] = field(default_factory=set)
    _trials: int = 0

    def add(self, candidate: Candidate, known: Iterable[Candidate], *, is_right: bool) -> None:
        """Add a candidate whose result was checked; `known` yields the other candidates."""
        if is_right:
            self._right[candidate.key] = candidate
        else:
            self._trials = 0
            self._right.pop(candidate.key, None)
            self._wrong[candidate.key] = candidate
            self._lifted = {rule for rule in self._lifted if not _covers(rule, candidate)}
        if not (wrong := list(self._wrong.values())):
            return
        # A wrong candidate may be explained by a value, by the value or more, or by the use of a knob at all,
        possible: list[_Rule] = []
        for other in wrong:
            for name, value in other.knobs.items():
                more = [(value, math.inf), (_IN_USE, math.inf)] if value >= _IN_USE else []
                ranges = [(value, float(value)), *more]
                possible += [(other.pipeline, ((name, *limits),)) for limits in ranges]
        explained = self._explained(possible)
        # or else, with another one, by a pair of values.
        for one, other in combinations(wrong, 2):
            pair = {one.key, other.key}
            if one.pipeline == other.pipeline and not any(map(pair.issubset, explained.values())):
                common = sorted(one.knobs.items() & other.knobs.items())
                values = ((name, value, float(value)) for name, value in common)
                pairs = combinations(values, 2)
                explained |= self._explained((one.pipeline, two) for two in pairs)
        # Drop what explains one candidate, or fewer than another rule does.
        several = {covered for covered in explained.values() if len(covered) > 1}
        largest = {covered for covered in several if not any(map(covered.__lt__, several))}
        # Rank the others: what explains most, then the use of a knob, then what is rare.
        left = list(known)
        counts = Counter(other.pipeline for other in left)
        ranked = sorted(
            (
                -len(covered),
                rule[1][0][1:] != (_IN_USE, math.inf),
                sum(_covers(rule, other) for other in left),
                rule,
            )
            for rule, covered in explained.items()
            if covered in largest and rule not in self._lifted
        )
        # Take them while a quarter of the candidates of a pipeline is left, to the power of the number of wrong results that
        # a rule explains: two of them have much in common by chance.
        self.rules = []
        for *_, rule in ranked:
            rest = [other for other in left if not _covers(rule, other)]
            remaining = sum(other.pipeline == rule[0] for other in rest)
            if remaining >= counts[rule[0]] / 4 ** len(explained[rule]):
                self.rules.append(rule)
                left = rest

    def _explained(self, rules: Iterable[_Rule]) -> dict[_Rule, frozenset[str]]:
        """Return the keys of the wrong candidates that rules cover, of those that cover no right one."""
        return {
            rule: frozenset(key for key, other in self._wrong.items() if _covers(rule, other))
            for rule in rules
            if not any(_covers(rule, other) for other in self._right.values())
        }

    def lift(self) -> bool:
        """Lift the least plausible rule; return whether there was one."""
        if self.rules:
            self._lifted.add(self.rules.pop())
            return True
        return False

    def count(self, trials: int) -> None:
        """Count trials; lift a rule among several after 16 of them without a wrong result."""
        self._trials += trials
        if self._trials >= 16 and len(self.rules) > 1:  # noqa: PLR2004
            self._trials = 0
            self.lift()


# --- The base class of searches, and those without a model

FIRST_CANDIDATES: Final = 400
"""The number of candidates of the first draw, for which the device waits."""

MOST_CANDIDATES: Final = 1500
"""The number of candidates of a later draw; a space may have millions."""


class Search(ABC):
    """A search, which chooses candidates of one problem based on the times of earlier ones.

    The same pool, seed and times give the same candidates.

    Args:
        pool: the candidates to choose from. Those of a recorded table may lack the default.
        seed: determines all random choices.
        default_microseconds: the time of the compiler's own choice, where it is known.
        known: candidates worth trying first, such as winners of similar problems.
        measured: the measurements of other problems.

    Attributes:
        name: its name on the command line.
        first_draws: what it asks the candidates of a problem for first, which another process may begin ahead.
    """

    name: ClassVar[str]
    first_draws: ClassVar[tuple[Draw, ...]] = (draw_evenly,)

    def __init__(
        self,
        pool: CandidateSpaces,
        seed: int,
        default_microseconds: float | None,
        known: Sequence[Candidate] = (),
        measured: Sequence[MeasuredProblem] = (),
    ) -> None:
        self._pool, self._seed, self._measured = pool, seed, measured
        self._chance = random.Random(seed)  # noqa: S311 - no secret
        self._times: dict[str, tuple[Candidate, float]] = {}
        self._failed: dict[str, Candidate] = {}
        self._wrong = WrongKnobs()
        self._spills: dict[str, tuple[Candidate, float]] = {}
        self._asked: set[str] = set()
        self._drawn: dict[int, Sequence[Candidate]] = {}
        self._known_neighbors: dict[str, Sequence[Candidate]] = {}
        self._draws, self._next_variants = 0, 48
        self._variants: list[Candidate] = []
        self._known, self._first = known, [*known, *pool.given]
        self._start: Candidate | None = pool.default
        if self._start is not None:
            self._asked.add(self._start.key)
            if default_microseconds is not None:
                self.tell(self._start, default_microseconds)
                self._wrong.add(self._start, [], is_right=True)

    def ask(self, count: int) -> list[Candidate]:
        """Return at most `count` next candidates; none if all were tried. Times of earlier ones may still be missing."""
        chosen = self._new(self._first, count)
        # After 48 trials, and twice as many each time, vary options that are independent of the knobs on the best three.
        if self._tried >= self._next_variants:
            self._next_variants *= 2
            self._variants = [other for fast in self.best(3) for other in self._pool.variants(fast)]
        chosen += self._new(self._variants, count - len(chosen))
        while len(chosen) < count:
            new = self._new(self.propose(count - len(chosen)), count - len(chosen))
            chosen += new
            if not new and (self.is_pending or not self._wrong.lift()):
                break
        self._wrong.count(len(chosen))
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

    def reject(self, candidate: Candidate) -> None:
        """Record that a candidate's result is wrong. What it shares with other wrong ones is not proposed again."""
        self.tell(candidate, None)
        self.confirm(candidate, is_right=False)

    def confirm(self, candidate: Candidate, *, is_right: bool = True) -> None:
        """Record that a candidate's result is right, as the default's is unless rejected: its knobs are not to blame."""

        def known() -> Iterator[Candidate]:  # draws candidates only if a rule is to be found
            groups = [self.drawn(FIRST_CANDIDATES), *self._known_neighbors.values()]
            yield from {other.key: other for group in groups for other in group}.values()

        self._wrong.add(candidate, known(), is_right=is_right)

    def compiled(self, candidate: Candidate, spills: Spills | None) -> None:
        """Record the spills of a candidate's code, known before its time is; None if they are unknown."""
        if spills is not None:
            self._spills[candidate.key] = candidate, math.log2(1 + spills.words)

    def draw_ahead(self) -> None:  # noqa: B027 - most searches draw nothing later
        """Draw candidates that a later `ask` would have to wait for."""

    @abstractmethod
    def propose(self, count: int) -> Iterable[Candidate]:
        """Return about `count` candidates, best first. Old ones are skipped; if all are, the search is over."""

    def drawn(self, count: int) -> Sequence[Candidate]:
        """Return candidates from the spaces in random order, the same ones in every call."""
        if count not in self._drawn:
            result = list(self._pool.sample(count, self._seed))
            self._chance.shuffle(result)
            self._drawn[count] = result
        return self._drawn[count]

    def further(self) -> list[Candidate]:
        """Return new candidates; none if three draws have none, or the next is not ready while results are pending."""
        for _ in range(3):
            seed = self._seed + self._draws + 1
            if self.is_pending and not self._pool.begin_sample(MOST_CANDIDATES, seed):
                return []  # the next call may find it
            self._draws += 1
            if new := self.untried(self._pool.sample(MOST_CANDIDATES, seed)):
                return new
        return []

    def _neighbors(self, candidate: Candidate) -> Sequence[Candidate]:
        if candidate.key not in self._known_neighbors:
            self._known_neighbors[candidate.key] = self._pool.neighbors(candidate)
        return self._known_neighbors[candidate.key]

    @property
    def _tried(self) -> int:
        return len(self._times) + len(self._failed)

    @property
    def is_pending(self) -> bool:
        """Whether the times of candidates are missing."""
        start = () if self._start is None else (self._start.key,)
        return not self._asked <= {*self._times, *self._failed, *start}

    def best(self, count: int) -> list[Candidate]:
        ranked = sorted(self._times.values(), key=lambda timed: timed[1])
        return [candidate for candidate, _ in ranked[:count]]

    def untried(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the distinct candidates that were not returned before, and that no rule excludes."""
        unlike = {one.key: one for one in candidates if one.key not in self._asked}
        rules = self._wrong.rules
        return [one for one in unlike.values() if not any(_covers(rule, one) for rule in rules)]

    def _new(self, candidates: Iterable[Candidate], count: int) -> list[Candidate]:
        new = self.untried(candidates)[:count]
        self._asked.update(candidate.key for candidate in new)
        return new


class RandomSearch(Search):
    """A search in random order: the baseline of all other searches."""

    name: ClassVar[str] = "random"

    def propose(self, count: int) -> Sequence[Candidate]:  # noqa: ARG002 - all at once
        """Return all drawn candidates, and draw more once these were tried."""
        for drawn in (FIRST_CANDIDATES, MOST_CANDIDATES):
            if new := self.untried(self.drawn(drawn)):
                return new
        return self.further()


_FIRST_SAMPLE: Final = 8
"""The number of random candidates whose best is the starting point if there is no default."""


class NeighborSearch(RandomSearch):
    """A search of the neighbors of the compiler's choice, then those of the best few, then random candidates."""

    name: ClassVar[str] = "neighbors"

    def propose(self, count: int) -> Sequence[Candidate]:
        """Return new neighbors of the best three candidates, or else new random candidates."""
        if self._tried >= _FIRST_SAMPLE or self._pool.default is not None:
            for fast in self.best(3):
                if near := self.untried(self._neighbors(fast)):
                    return near
        return super().propose(count)[: max(1, _FIRST_SAMPLE - len(self._times))]
