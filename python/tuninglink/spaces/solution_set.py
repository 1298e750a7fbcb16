"""The valid assignments of a constraint set: listed, sampled and counted."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Final

from tuninglink.solver.answers import DEFAULT_LIMITS, CountAnswer, Limits, UndecidedError, Verdict
from tuninglink.solver.decider import Decider
from tuninglink.solver.z3_solver import Solver
from tuninglink.spaces.assignments import read_partial_assignment

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import z3

    from tuninglink.solver.answers import Deadline
    from tuninglink.solver.assertions import Assertion

MOST_KEPT: Final = 1 << 18
"""A sample is drawn from all solutions if there are fewer than this."""


class SolutionSet:
    """The assignments of knobs for which assertions hold.

    Attributes:
        pipeline: the pipeline that the knobs configure.
        auxiliaries: unknowns in the assertions that are no knobs.
        assertions: what must hold.
        unknown: why no assignment is known to be valid; empty if the assertions decide.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        *,
        pipeline: str,
        auxiliaries: tuple[str, ...],
        assertions: tuple[Assertion, ...],
        context: z3.Context | None,
        unknown: str,
    ) -> None:
        self.pipeline = pipeline
        self.auxiliaries = auxiliaries
        self.assertions = assertions
        self.unknown = unknown
        self._names = names
        self._solver = Solver([*names, *auxiliaries], context)
        self._decider = Decider(assertions, names, auxiliaries, self._solver)

    def enumerate(self, seed: int = 0, limits: Limits = DEFAULT_LIMITS) -> Iterator[dict[str, int]]:
        """Yields every valid assignment once.

        Args:
            seed: fixes the order.
            limits: how long finding them may take; the time that the caller spends with each does not count.

        Raises:
            UndecidedError: the limit is reached before all are found.
        """
        self._expect_known()
        deadline = limits.start()
        for each in self._solutions(seed, deadline):
            since = time.monotonic()
            yield each
            deadline.postpone(time.monotonic() - since)

    def enumerate_within(
        self,
        choices: Mapping[str, Sequence[int]],
        limits: Limits = DEFAULT_LIMITS,
        *,
        without: Collection[int] = (),
    ) -> Iterator[dict[str, int]]:
        """Yields every valid assignment that takes the values of some knobs from a few, once each.

        Args:
            choices: for each knob in it the values that it may have.
            limits: how long it may take, the caller's time with each included.
            without: the indices of assertions that need not hold, see `broken_heuristics`.

        Raises:
            AssignmentError: a knob is unknown.
            UndecidedError: the limit is reached before all are found, or only the solver can find them.
        """
        self._expect_known()
        self._read_partial(dict.fromkeys(choices, 0))
        if not all(choices.values()):
            return
        deadline = limits.start()
        search = self._decider.search_within(choices, deadline, without)
        if search is None:
            raise UndecidedError("only the solver finds the solutions")
        yield from map(self._in_order, search.solutions(deadline))

    def sample(
        self, n: int, seed: int = 0, limits: Limits = DEFAULT_LIMITS
    ) -> list[dict[str, int]]:
        """Returns `n` distinct valid assignments spread over the space, or all if there are fewer.

        Every valid assignment is as likely as any other, and neighbors are unlikely to come together, as long
        as all can be counted or found in half of the time. Else they are the first ones of searches in random
        orders.

        Args:
            n: how many.
            seed: fixes which.
            limits: how long it may take.

        Raises:
            UndecidedError: the limit is reached before `n` are found.
            ValueError: `n` is negative.
        """
        if n < 0:
            raise ValueError(f"there is no sample of {n}")
        self._expect_known()
        deadline = limits.start()
        chance = random.Random(seed)  # noqa: S311 - no secret
        half = deadline.share(2)
        try:
            counted = self._decider.count(half)
            if counted is not None and counted.is_indexed:
                chosen = _spread(n, counted.answer.count, chance)
                return [self._in_order(counted.solution(each)) for each in chosen]
            everything = list(islice(self._solutions(None, half), MOST_KEPT))
        except UndecidedError:
            everything = []
        if not everything or len(everything) == MOST_KEPT:
            found: dict[tuple[int, ...], dict[str, int]] = {}
            self._probe(n, chance, deadline, found)
            return list(found.values())
        return [everything[each] for each in _spread(n, len(everything), chance)]

    def probe(self, n: int, seed: int = 0, limits: Limits = DEFAULT_LIMITS) -> list[dict[str, int]]:
        """Returns up to `n` distinct valid assignments: the first solutions of searches in random orders.

        Nothing is counted, so the first ones come at once, but they are not equally likely.

        Args:
            n: how many.
            seed: fixes which, as far as the limit allows.
            limits: how long it may take; what is found by then is returned.
        """
        self._expect_known()
        found: dict[tuple[int, ...], dict[str, int]] = {}
        with suppress(UndecidedError):
            self._probe(n, random.Random(seed), limits.start(), found)  # noqa: S311 - no secret
        return list(found.values())

    def count(self, limits: Limits = DEFAULT_LIMITS) -> CountAnswer:
        """Counts the valid assignments, which need not be listed for that as a rule.

        Args:
            limits: how long it may take.
        """
        if self.unknown:
            return CountAnswer(Verdict.NOT_DECIDED, 0, self.unknown)
        deadline = limits.start()
        try:
            counted = self._decider.count(deadline)
        except UndecidedError as failure:
            return CountAnswer(Verdict.NOT_DECIDED, 0, failure.reason)
        if counted is not None:
            return counted.answer
        listed = 0
        try:
            for _ in self._solutions(None, deadline):
                listed += 1
        except UndecidedError as failure:
            return CountAnswer(Verdict.NOT_DECIDED, listed, failure.reason)
        return CountAnswer(Verdict.PROVEN, listed)

    def _expect_known(self) -> None:
        if self.unknown:
            raise UndecidedError(self.unknown)

    def _read_partial(self, given: Mapping[str, object]) -> dict[str, int]:
        return read_partial_assignment(given, self._names, self.pipeline)

    def _in_order(self, assignment: Mapping[str, int]) -> dict[str, int]:
        return {name: assignment[name] for name in self._names}

    def _solutions(self, seed: int | None, deadline: Deadline) -> Iterator[dict[str, int]]:
        search = self._decider.search(deadline)
        if search is not None:
            return search.solutions(deadline, seed)
        return self._solver.models(self._decider.expressions(), self._names, deadline, seed or 0)

    def _probe(
        self,
        n: int,
        chance: random.Random,
        deadline: Deadline,
        found: dict[tuple[int, ...], dict[str, int]],
    ) -> None:
        while len(found) < n:
            deadline.check()
            # The first that is new: a search that meets only known ones ends after the last.
            for each in self._solutions(chance.getrandbits(31), deadline):
                if tuple(each.values()) not in found:
                    found[tuple(each.values())] = each
                    break
            else:
                break


def _spread(n: int, size: int, chance: random.Random) -> list[int]:
    """Returns `n` different numbers below `size` at even distances, or all there are, in a random order."""
    n = min(n, size)
    start = Fraction(chance.random())
    numbers = [int((index + start) * size / n) for index in range(n)]
    chance.shuffle(numbers)
    return numbers
