"""A constraint set that knows what is refused, what is certain, and what is worth trying."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.solver.answers import (
    DEFAULT_LIMITS,
    CheckAnswer,
    CountAnswer,
    NearestAnswer,
    UndecidedError,
    Verdict,
)
from tuninglink.spaces.constraint_set import ConstraintSet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import z3

    from tuninglink.solver.answers import Limits


class GradedConstraintSet(ConstraintSet):
    """The constraint set of what is refused, which is not certain about all the rest.

    An assignment is refuted by the first set; what it accepts is valid if the second one accepts it as well, and
    not decided otherwise. What is enumerated, sampled, counted and proposed are the solutions of the third set, all
    of which are valid: the others are too many, or not worth trying.

    Args:
        refused: what every configuration must fulfil that compiles.
        certain: what is sufficient, together with that, over the same knobs.
        sensible: what is asked of proposals, over the same knobs; it implies both.
        unknown: why nothing is certain, in words; empty if the second set tells.
        context: where the expressions of the first set live.
    """

    def __init__(
        self,
        refused: ConstraintSet,
        certain: ConstraintSet,
        sensible: ConstraintSet,
        unknown: str,
        context: z3.Context,
    ) -> None:
        super().__init__(
            problem=refused.problem,
            pipeline=refused.pipeline,
            provider=refused.provider,
            knobs=refused.knobs,
            auxiliaries=refused.auxiliaries,
            assertions=refused.assertions,
            context=context,
        )
        self.certain = certain
        self.sensible = sensible
        self._unknown = unknown

    def check(self, assignment: Mapping[str, int], limits: Limits = DEFAULT_LIMITS) -> CheckAnswer:
        """Tells whether an assignment is refused, valid, or neither for certain."""
        answer = super().check(assignment, limits)
        if answer.verdict is not Verdict.PROVEN:
            return answer
        if self._unknown:
            return CheckAnswer(Verdict.NOT_DECIDED, reason=self._unknown)
        doubt = self.certain.check(assignment, limits)
        if doubt.verdict is not Verdict.REFUTED:
            return doubt
        reason = "the compiler may refuse it: " + "; ".join(map(str, doubt.violations))
        return CheckAnswer(Verdict.NOT_DECIDED, reason=reason)

    def nearest(
        self, assignment: Mapping[str, int], limits: Limits = DEFAULT_LIMITS
    ) -> NearestAnswer:
        """Finds the nearest assignment that is worth trying."""
        if self._unknown:
            return NearestAnswer(Verdict.NOT_DECIDED, reason=self._unknown)
        answer = self.sensible.nearest(assignment, limits)
        if answer.verdict is Verdict.REFUTED:
            return NearestAnswer(Verdict.NOT_DECIDED, reason="none is both valid and worth trying")
        return answer

    def enumerate(self, seed: int = 0, limits: Limits = DEFAULT_LIMITS) -> Iterator[dict[str, int]]:
        """Yields every assignment that is worth trying once."""
        self._expect_known()
        return self.sensible.enumerate(seed, limits)

    def enumerate_within(
        self, choices: Mapping[str, Sequence[int]], limits: Limits = DEFAULT_LIMITS
    ) -> Iterator[dict[str, int]]:
        """Yields every assignment that is worth trying and takes the values of some knobs from a few."""
        self._expect_known()
        return self.sensible.enumerate_within(choices, limits)

    def sample(
        self, n: int, seed: int = 0, limits: Limits = DEFAULT_LIMITS
    ) -> list[dict[str, int]]:
        """Returns assignments that are worth trying, spread over them."""
        self._expect_known()
        return self.sensible.sample(n, seed, limits)

    def count(self, limits: Limits = DEFAULT_LIMITS) -> CountAnswer:
        """Counts the assignments that are worth trying."""
        if self._unknown:
            return CountAnswer(Verdict.NOT_DECIDED, 0, self._unknown)
        return self.sensible.count(limits)

    def _expect_known(self) -> None:
        if self._unknown:
            raise UndecidedError(self._unknown)
