"""Proofs about conditions: whether earlier ones leave anything for a later one, and whether two can meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import z3

from tuninglink.constraints.answers import DEFAULT_LIMITS, Verdict
from tuninglink.constraints.conditions import (
    AtLeast,
    AtMost,
    Equals,
    MultipleOf,
    exclude_each_other,
    extent,
    implies_but_for_sizes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tuninglink.constraints.answers import Limits
    from tuninglink.constraints.conditions import Condition, Dimension, SizeFact


@dataclass(frozen=True)
class CoverAnswer:
    """Whether conditions cover another one: whatever it holds for, one of them holds for, too.

    Attributes:
        verdict: proven: they do; refuted: they do not; not decided: it cannot be told.
        covering: if proven, the positions of conditions that suffice.
        witness: if refuted, static sizes for which the condition holds and none of the others does.
        reason: if not decided, why not.
    """

    verdict: Verdict
    covering: tuple[int, ...] = ()
    witness: Mapping[Dimension, int] | None = None
    reason: str = ""


@dataclass(frozen=True)
class MeetAnswer:
    """Whether two conditions can hold for the same operation.

    Attributes:
        verdict: proven: they can, with `witness`; refuted: they cannot; not decided: it cannot be told.
        witness: static sizes for which both hold.
        reason: if not decided, why not.
    """

    verdict: Verdict
    witness: Mapping[Dimension, int] | None = None
    reason: str = ""


def covered(
    condition: Condition, earlier: Sequence[Condition], limits: Limits = DEFAULT_LIMITS
) -> CoverAnswer:
    """Tells whether `earlier` conditions together cover `condition`.

    Args:
        condition: what may be dead.
        earlier: what comes before it.
        limits: how long the solver may take.
    """
    candidates = {
        index: each
        for index, each in enumerate(earlier)
        if not exclude_each_other(condition, each) and implies_but_for_sizes(condition, each)
    }
    unsure = [
        each
        for index, each in enumerate(earlier)
        if index not in candidates and not exclude_each_other(condition, each)
    ]
    sizes = _Sizes([condition, *candidates.values()])
    solver = sizes.solver(limits)
    solver.add(sizes.all_of(condition.sizes))
    labels: dict[str, int] = {}
    for index, each in candidates.items():
        label = z3.Bool(f"entry {index}", sizes.context)
        labels[label.decl().name()] = index
        solver.assert_and_track(z3.Not(sizes.all_of(each.sizes)), label)
    result = solver.check()
    if result == z3.unsat:
        core = [labels[str(label.decl().name())] for label in solver.unsat_core()]
        return CoverAnswer(Verdict.PROVEN, tuple(sorted(core)))
    if result == z3.unknown:
        return CoverAnswer(
            Verdict.NOT_DECIDED, reason=f"the solver gave up: {solver.reason_unknown()}"
        )
    if unsure:
        reason = f"{len(unsure)} earlier conditions are of another form, and may hold as well"
        return CoverAnswer(Verdict.NOT_DECIDED, reason=reason)
    witness, reason = sizes.witness(solver)
    if witness is None:
        return CoverAnswer(Verdict.NOT_DECIDED, reason=reason)
    return CoverAnswer(Verdict.REFUTED, witness=witness)


def can_meet(first: Condition, second: Condition, limits: Limits = DEFAULT_LIMITS) -> MeetAnswer:
    """Tells whether two conditions can hold for the same operation.

    Args:
        first: a condition.
        second: another one.
        limits: how long the solver may take.
    """
    if exclude_each_other(first, second):
        return MeetAnswer(Verdict.REFUTED)
    sizes = _Sizes([first, second])
    solver = sizes.solver(limits)
    solver.add(sizes.all_of(first.sizes | second.sizes))
    result = solver.check()
    if result == z3.unsat:
        return MeetAnswer(Verdict.REFUTED)
    if result == z3.unknown:
        return MeetAnswer(
            Verdict.NOT_DECIDED, reason=f"the solver gave up: {solver.reason_unknown()}"
        )
    witness, reason = sizes.witness(solver)
    if witness is None:
        return MeetAnswer(Verdict.NOT_DECIDED, reason=reason)
    # One must ask for all that the other does: else an operation that both describe need not exist.
    if implies_but_for_sizes(first, second) or implies_but_for_sizes(second, first):
        return MeetAnswer(Verdict.PROVEN, witness)
    return MeetAnswer(Verdict.NOT_DECIDED, reason="the conditions are of different forms")


class _Sizes:
    """The dimensions of payloads as unknowns of a context of their own."""

    def __init__(self, conditions: Iterable[Condition]) -> None:
        self.context = z3.Context()
        self._facts = sorted({fact for each in conditions for fact in each.sizes}, key=repr)
        dimensions = dict.fromkeys(fact.dimension for fact in self._facts)
        # Dimensions of one loop have one size where they are static.
        extents = dict.fromkeys(map(extent, dimensions))
        self._sizes = {each: z3.Int(f"size {each}", self.context) for each in extents}
        self._static = {each: z3.Bool(f"static {each}", self.context) for each in dimensions}
        self._known = {fact: z3.Bool(f"known {fact!r}", self.context) for fact in self._facts}

    def solver(self, limits: Limits) -> z3.Solver:
        """Returns a solver that knows what holds for all payloads."""
        solver = z3.Solver(ctx=self.context)
        solver.set("timeout", limits.start().solver_milliseconds())
        solver.add(*(size >= 0 for size in self._sizes.values()))
        # Of a dynamic size, who proves more proves less, too.
        for fact in self._facts:
            for other in self._facts:
                if fact != other and _follows(fact, other):
                    solver.add(z3.Implies(self._known[fact], self._known[other]))
        return solver

    def all_of(self, facts: Iterable[SizeFact]) -> z3.BoolRef:
        """Returns the conjunction of facts."""
        true = z3.BoolVal(val=True, ctx=self.context)
        return z3.And(true, *map(self._holds, sorted(facts, key=repr)))

    def witness(self, solver: z3.Solver) -> tuple[dict[Dimension, int] | None, str]:
        """Returns static sizes with which what the solver was given holds, or None and why there are none."""
        kinds = {dimension[0] for dimension in self._sizes}
        # Loops are free of each other, as are the dimensions of roles; sizes of operands are not.
        if "operand" in kinds or ("loop" in kinds and len(kinds) > 1):
            return None, "the sizes depend on each other in ways that are not known"
        solver.add(*self._static.values())
        solver.add(*(size >= 1 for size in self._sizes.values()))
        if solver.check() != z3.sat:
            return None, "only dynamic or empty dimensions might do"
        model = solver.model()
        values = {
            dimension: model.eval(size, model_completion=True).as_long()
            for dimension, size in self._sizes.items()
        }
        return values, ""

    def _holds(self, fact: SizeFact) -> z3.BoolRef:
        size, is_static = self._sizes[extent(fact.dimension)], self._static[fact.dimension]
        if isinstance(fact, Equals):
            return z3.And(is_static, size == fact.size)
        if isinstance(fact, MultipleOf):
            holds = size % fact.factor == 0
        else:
            holds = size >= fact.bound if isinstance(fact, AtLeast) else size <= fact.bound
        return z3.If(is_static, holds, self._known[fact])


def _follows(fact: SizeFact, other: SizeFact) -> bool:
    """Tells whether who proves the bound `fact` of a dynamic dimension proves `other`."""
    if fact.dimension != other.dimension:
        return False
    if isinstance(fact, AtLeast) and isinstance(other, AtLeast):
        return fact.bound >= other.bound
    return isinstance(fact, AtMost) and isinstance(other, AtMost) and fact.bound <= other.bound
