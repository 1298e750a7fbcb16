"""Sizes for a template, whose existence a solver decides, and which are chosen by preference."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import z3
from iree.compiler import ir as mlir

from tuninglink.matching.extents import box, static_box, static_sizes
from tuninglink.matching.predicates import Dimension, Extent, HasExtent, representative
from tuninglink.payloads.op_templates import Template, Value
from tuninglink.payloads.size_relations import SizeRelations, UnsizedError
from tuninglink.payloads.unsized_ops import UnsizedOp, preferred_sizes, usual_sizes
from tuninglink.solver import evaluate
from tuninglink.solver.answers import DEFAULT_LIMITS, Verdict
from tuninglink.solver.expressions import Expression, all_of, number, unknown
from tuninglink.solver.z3_solver import TermWriter

_USUAL: Final = 64


@dataclass(frozen=True)
class Sized:
    """Sizes for a template.

    Attributes:
        loops: the sizes of the root op's loops.
        demanded: the loops with only one possible size.
        shapes: the shape of each tensor.
    """

    loops: Sequence[int]
    demanded: frozenset[int]
    shapes: Mapping[Value, Sequence[int]]


@dataclass(frozen=True)
class NoSizes:
    """The reason why a template has no sizes.

    Attributes:
        verdict: refuted if no sizes exist; undecided if none were found.
        reason: the reason, in words.
    """

    verdict: Verdict
    reason: str


def find_sizes(
    unsized: UnsizedOp,
    facts: Collection[HasExtent],
    configurations: Callable[[], tuple[mlir.Attribute, ...]],
) -> Sized | NoSizes:
    """Find sizes for which an operation satisfies facts, preferably multiples of the configured tiles.

    Args:
        unsized: the operation.
        facts: the facts.
        configurations: returns the configurations.
    """
    try:
        sizes = unsized.relations
    except UnsizedError as failure:
        return NoSizes(Verdict.NOT_DECIDED, str(failure))
    forced = _forced_values(unsized, facts)
    if forced is not None:
        everything = frozenset(range(len(sizes.loops)))
        return _sized(sizes, everything, lambda size: evaluate(size.term, forced))
    choice = _Choice(unsized.template, sizes, _demands(facts, sizes.size))
    return choice.solve(unsized.tiles(configurations()))


def _forced_values(unsized: UnsizedOp, facts: Collection[HasExtent]) -> dict[str, int] | None:
    """Return the values of the unknowns that follow from facts without search; None if other values are possible."""
    fixed = {fact.dimension: fact.extent.size for fact in facts if fact.extent.size is not None}
    dimensions = sorted(fixed)
    forced = unsized.forced_sizes(tuple(dimensions))
    values = None if forced is None else forced([fixed[dimension] for dimension in dimensions])
    if values is None:
        return None
    for fact in facts:
        if fact.extent != Extent(fixed.get(fact.dimension)):
            size = unsized.relations.size(fact.dimension)
            if size is None or not fact.extent.admits(evaluate(size.term, values)):
                return None
    return values


def find_contradiction(facts: Iterable[HasExtent]) -> NoSizes | None:
    """Return a contradiction between facts that does not depend on the operation, or None."""
    facts = list(facts)
    if static_sizes(static_box(box(facts))) is not None:
        return None

    def size_of(dimension: Dimension) -> Expression:
        return unknown(f"size {representative(dimension)}")

    question = _Question([size_of(fact.dimension) >= 0 for fact in facts], _demands(facts, size_of))
    return question.refutation() if question.solver.check() == z3.unsat else None


def _demands(
    facts: Iterable[HasExtent], size_of: Callable[[Dimension], Expression | None]
) -> list[tuple[str, Expression]]:
    """Return the demands of facts, in words and as conditions."""
    demands = []
    for fact in sorted(facts, key=repr):
        size = size_of(fact.dimension)
        # An operation without the dimension cannot match.
        demands.append(
            (describe_fact(fact), number(0) if size is None else fact_condition(fact, size))
        )
    return demands


def _sized(
    sizes: SizeRelations, demanded: frozenset[int], value: Callable[[Expression], int]
) -> Sized:
    shapes = {key: [value(size) for size in shape] for key, shape in sizes.shapes.items()}
    return Sized([value(loop) for loop in sizes.loops], demanded, shapes)


class _Question:
    """A query to Z3 about sizes.

    Args:
        conditions: the conditions on the sizes.
        demands: the demands of a matcher, in words and as conditions.

    Attributes:
        solver: the solver.
        writer: writes terms in its context.
        labels: the demands in words, by their tracking labels in Z3.
    """

    def __init__(
        self, conditions: Iterable[Expression], demands: Iterable[tuple[str, Expression]]
    ) -> None:
        context = z3.Context()
        self.writer = TermWriter(context)
        self.solver = z3.Solver(ctx=context)
        self.solver.set("timeout", DEFAULT_LIMITS.start().solver_milliseconds())
        self.solver.add(*(self.writer.truth(condition.term) for condition in conditions))
        self.labels: dict[str, str] = {}
        for words, condition in demands:
            label = z3.Bool(f"fact {len(self.labels)}", context)
            self.labels[str(label)] = words
            self.solver.assert_and_track(self.writer.truth(condition.term), label)

    def refutation(self) -> NoSizes:
        """Return the demands that contradict each other."""
        core = [self.labels[str(label)] for label in self.solver.unsat_core()]
        return NoSizes(Verdict.REFUTED, describe_contradiction(sorted(core)))


class _Choice:
    """A choice of sizes that satisfies relations and demands."""

    def __init__(
        self,
        template: Template,
        sizes: SizeRelations,
        demands: Iterable[tuple[str, Expression]],
    ) -> None:
        self._op = template.op
        self._sizes = sizes
        self._question = _Question(sizes.relations, demands)
        self._solver = self._question.solver
        self._context = self._solver.ctx
        write = self._question.writer
        self._unknowns = [write.number(size.term) for size in sizes.unknowns]
        self._loops = [write.number(loop.term) for loop in sizes.loops]
        self._slack = [write.truth(wish.term) for wish in sizes.slack]

    def solve(self, tiles: Mapping[int, int]) -> Sized | NoSizes:
        """Decide whether sizes exist, and choose some."""
        status = self._solver.check()
        if status == z3.unsat:
            return self._question.refutation()
        if status == z3.unknown:
            reason = f"the solver gave up: {self._solver.reason_unknown()}"
            return NoSizes(Verdict.NOT_DECIDED, reason)
        if self._is_determined():
            return self._sized(frozenset(range(len(self._loops))))
        demanded = frozenset(
            loop for loop, size in enumerate(self._loops) if self._only_value(size) is not None
        )
        for wish in self._slack:
            self._try(wish)
        usual = usual_sizes(self._op)
        # Small loops first: the filter of a convolution is fixed before its image.
        for loop in sorted(range(len(self._loops)), key=usual.__getitem__):
            if loop not in demanded:
                self._choose(self._loops[loop], preferred_sizes(usual[loop], tiles.get(loop, 1)))
        for size in self._unknowns:
            self._choose(size, preferred_sizes(_USUAL, 1))
        return self._sized(demanded)

    def _is_determined(self) -> bool:
        """Return whether the solver's model is the only one."""
        model = self._solver.model()
        differences = [size != model.eval(size, model_completion=True) for size in self._unknowns]
        nothing = z3.BoolVal(val=False, ctx=self._context)
        return bool(self._solver.check(z3.Or(nothing, *differences)) == z3.unsat)

    def _sized(self, demanded: frozenset[int]) -> Sized:
        """Return the sizes in the solver's model."""
        self._solver.check()
        model = self._solver.model()

        def value(size: Expression) -> int:
            written = self._question.writer.number(size.term)
            return int(model.eval(written, model_completion=True).as_long())

        return _sized(self._sizes, demanded, value)

    def _only_value(self, size: z3.ArithRef) -> int | None:
        """Return the only value of an unknown, or None if there are several."""
        assert self._solver.check() == z3.sat
        value = int(self._solver.model().eval(size, model_completion=True).as_long())
        return value if self._solver.check(size != value) == z3.unsat else None

    def _try(self, wish: z3.BoolRef) -> bool:
        if self._solver.check(wish) != z3.sat:
            return False
        self._solver.add(wish)
        return True

    def _choose(self, size: z3.ArithRef, preferences: Iterable[int]) -> None:
        """Fix an unknown to the first possible value among `preferences`, or to its minimum value."""
        if self._only_value(size) is not None or any(
            self._try(size == value) for value in preferences
        ):
            return
        self._try(size >= 1)
        optimize = z3.Optimize(ctx=self._context)
        optimize.set("timeout", DEFAULT_LIMITS.start().solver_milliseconds())
        optimize.add(self._solver.assertions())
        # Tracked facts are implications of their labels.
        optimize.add(*(z3.Bool(label, self._context) for label in self._question.labels))
        optimize.minimize(size)
        if optimize.check() == z3.sat:
            least = optimize.model().eval(size, model_completion=True)
            self._try(size == least)


def fact_condition(fact: HasExtent, size: Expression) -> Expression:
    """Return the condition that a fact holds for a size."""
    extent = fact.extent
    parts = [] if extent.size is None else [size == extent.size]
    parts += [size >= int(extent.low)] if extent.low > -math.inf else []
    parts += [size <= int(extent.high)] if extent.high < math.inf else []
    parts += [size % extent.factor == 0] if extent.factor > 1 else []
    return all_of(*parts)


def describe_fact(fact: HasExtent) -> str:
    """Describe a fact in words."""
    kind, number, position = fact.dimension
    # The name of the dimension.
    if kind in ("operand", "result"):
        what = f"dimension {position} of {kind} {number}"
    else:
        what = f"loop {number}" if kind == "loop" else f"{kind}[{number}]"
    return f"{what} is {fact.extent}"


def describe_contradiction(facts: Sequence[str]) -> str:
    """Describe a contradiction between facts in words."""
    if not facts:
        return "its operation has no sizes that fit together"
    if len(facts) == 1:
        return f"it cannot be that {facts[0]}"
    return f"it cannot all be: {'; '.join(facts)}"
