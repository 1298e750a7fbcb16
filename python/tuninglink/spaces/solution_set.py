"""Listing, sampling and counting the valid assignments of a constraint set."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Final

from tuninglink.solver import Assertion
from tuninglink.solver.answers import (
    DEFAULT_LIMITS,
    CountAnswer,
    Deadline,
    Limits,
    UndecidedError,
    Verdict,
)
from tuninglink.solver.decider import Decider
from tuninglink.solver.search import beyond_changes
from tuninglink.solver.z3_solver import Solver
from tuninglink.spaces.knobs import read_partial_assignment

MOST_KEPT: Final = 1 << 18
"""The number of solutions below which a sample is drawn from all of them."""

_FIRST_STEPS: Final = 4
"""The number of steps after which a search in a random order first restarts."""


class SolutionSet:
    """The assignments of knobs that satisfy assertions.

    Attributes:
        pipeline: the pipeline that the knobs configure.
        auxiliaries: unknowns in the assertions that are not knobs.
        assertions: the assertions that must hold.
        unknown: why no assignment is known to be valid; empty if the assertions decide.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        *,
        pipeline: str,
        auxiliaries: tuple[str, ...],
        assertions: tuple[Assertion, ...],
        unknown: str,
    ) -> None:
        self.pipeline = pipeline
        self.auxiliaries = auxiliaries
        self.assertions = assertions
        self.unknown = unknown
        self._names = names
        self._solver = Solver([*names, *auxiliaries])
        self._decider = Decider(assertions, names, auxiliaries, self._solver)

    def enumerate(self, seed: int = 0, limits: Limits = DEFAULT_LIMITS) -> Iterator[dict[str, int]]:
        """Yield every valid assignment once.

        Args:
            seed: fixes the order.
            limits: the limits of the search, without the time that the caller spends between assignments.

        Raises:
            UndecidedError: a limit is reached before all assignments are found.
        """
        self._expect_known()
        deadline = limits.start()
        for solution in self._solutions(seed, deadline):
            since = time.monotonic()
            yield solution
            deadline.postpone(time.monotonic() - since)

    def enumerate_near(
        self,
        assignment: Mapping[str, int],
        choices: Mapping[str, Sequence[int]],
        most_changes: int,
        limits: Limits = DEFAULT_LIMITS,
        *,
        without: Collection[int] = (),
    ) -> Iterator[dict[str, int]]:
        """Yield every valid assignment that differs from a given one in a few knobs, once.

        Args:
            assignment: the given assignment.
            choices: the permitted values by knob.
            most_changes: the maximum number of knobs with a different value.
            limits: the limits of the search, including the time that the caller spends between assignments.
            without: the indices of assertions that need not hold, see `broken_heuristics`.

        Raises:
            AssignmentError: a knob is unknown.
            UndecidedError: a limit is reached before all assignments are found, or only the solver can find them.
        """
        self._expect_known()
        self._read_partial(dict.fromkeys(choices, 0))
        if not all(choices.values()):
            return
        deadline = limits.start()
        search = self._decider.search_within(choices, deadline, without)
        if search is None:
            raise UndecidedError("only the solver finds the solutions")
        prune = beyond_changes(search, assignment, most_changes)
        yield from map(self._in_order, search.solutions(deadline, prune=prune, within=choices))

    def sample(
        self, n: int, seed: int = 0, limits: Limits = DEFAULT_LIMITS
    ) -> list[dict[str, int]]:
        """Return `n` distinct valid assignments, or all of them if there are fewer.

        The assignments are the first ones that `draws` yields.

        Args:
            n: the number of assignments.
            seed: fixes the selection.
            limits: the limits of the search.

        Raises:
            UndecidedError: a limit is reached before `n` are found.
            ValueError: `n` is negative.
        """
        if n < 0:
            raise ValueError(f"the size of a sample must not be negative: {n}")
        self._expect_known()
        return list(islice(self._draws(seed, limits.start()), n))

    def draws(self, seed: int = 0, limits: Limits = DEFAULT_LIMITS) -> Iterator[dict[str, int]]:
        """Yield distinct valid assignments in a random order, for a caller that rejects some of them.

        All orders are equally likely if the assignments can be counted or listed within half of the limits. Otherwise
        the assignments are the first solutions of searches in random orders.

        Args:
            seed: fixes the order.
            limits: the limits of the search, without the time that the caller spends between assignments. The
                iterator ends where a limit is reached.

        Raises:
            UndecidedError: the valid assignments are unknown.
        """
        self._expect_known()
        return self._until_limit(seed, limits.start())

    def _until_limit(self, seed: int, deadline: Deadline) -> Iterator[dict[str, int]]:
        with suppress(UndecidedError):
            for assignment in self._draws(seed, deadline):
                since = time.monotonic()
                yield assignment
                deadline.postpone(time.monotonic() - since)

    def _draws(self, seed: int, deadline: Deadline) -> Iterator[dict[str, int]]:
        chance = random.Random(seed)  # noqa: S311 - not for cryptography
        half = deadline.share(2)
        everything: list[dict[str, int]] = []
        with suppress(UndecidedError):
            counted = self._decider.count(half)
            if counted is not None and counted.is_indexed:
                for number in _shuffled(counted.answer.count, chance):
                    yield self._in_order(counted.solution(number))
                return
            if counted is None or counted.answer.count < MOST_KEPT:
                everything = list(islice(self._solutions(None, half), MOST_KEPT))
        if everything and len(everything) < MOST_KEPT:
            yield from (everything[number] for number in _shuffled(len(everything), chance))
        else:
            yield from self._probes(chance, deadline)

    def count(self, limits: Limits = DEFAULT_LIMITS) -> CountAnswer:
        """Count the valid assignments, usually without listing them.

        Args:
            limits: the limits of the count.
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

    def _probes(self, chance: random.Random, deadline: Deadline) -> Iterator[dict[str, int]]:
        """Yield the first new solutions of searches in random orders, until there are no more.

        The run times of such searches have a heavy tail, so a search restarts after a few steps, and may take twice as
        many the next time (Gomes, Selman and Kautz, "Boosting Combinatorial Search through Randomization", 1998).
        """
        keys: set[tuple[int, ...]] = set()
        steps = _FIRST_STEPS
        while True:
            attempt = deadline.within(steps)
            try:
                solution = next(
                    (
                        each
                        for each in self._solutions(chance.getrandbits(31), attempt)
                        if tuple(each.values()) not in keys
                    ),
                    None,
                )
            except UndecidedError:
                deadline.check()
                steps *= 2
                continue
            if solution is None:
                return
            keys.add(tuple(solution.values()))
            steps = _FIRST_STEPS
            yield solution


def _shuffled(size: int, chance: random.Random) -> Iterator[int]:
    """Yield the numbers below `size` in a random order; memory grows with the number of values taken."""
    moved: dict[int, int] = {}
    for place in range(size):
        other = chance.randrange(place, size)
        yield moved.get(other, other)
        moved[other] = moved.pop(place, place)
