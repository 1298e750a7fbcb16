"""Sizes for a template: a solver decides whether there are any, preferences choose among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import z3

from tuninglink.matching.extents import box, static_box, static_sizes
from tuninglink.matching.predicates import representative
from tuninglink.payloads.preferred_sizes import preferred_sizes, usual_sizes
from tuninglink.payloads.size_relations import UnsizedError
from tuninglink.solver.answers import DEFAULT_LIMITS, Verdict
from tuninglink.solver.expressions import Expression, all_of, number, unknown
from tuninglink.solver.propagation import forced_values
from tuninglink.solver.terms import evaluate
from tuninglink.solver.to_z3 import TermWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.matching.predicates import Dimension, HasExtent
    from tuninglink.payloads.op_templates import Template, Value
    from tuninglink.payloads.size_relations import SizeRelations
    from tuninglink.payloads.unsized_ops import UnsizedOp
    from tuninglink.solver.expressions import Expression

_USUAL: Final = 64


@dataclass(frozen=True)
class Sized:
    """Sizes for a template.

    Attributes:
        loops: the sizes of the root op's loops.
        demanded: the loops with a single possible size.
        shapes: the shape of each tensor.
    """

    loops: Sequence[int]
    demanded: frozenset[int]
    shapes: Mapping[Value, Sequence[int]]


@dataclass(frozen=True)
class NoSizes:
    """The reason why a template has no sizes.

    Attributes:
        verdict: refuted: there are no sizes; not decided: none are known.
        reason: why not.
    """

    verdict: Verdict
    reason: str


def find_sizes(
    unsized: UnsizedOp, facts: Iterable[HasExtent], configurations: tuple[mlir.Attribute, ...]
) -> Sized | NoSizes:
    """Finds sizes with which an operation satisfies facts, multiples of what configurations tile by if possible."""
    try:
        sizes = unsized.relations
        demands = _demands(facts, sizes.size)
    except UnsizedError as failure:
        return NoSizes(Verdict.NOT_DECIDED, str(failure))
    conditions = [*sizes.relations, *(condition for _, condition in demands)]
    forced = forced_values(each.term for each in conditions)
    if forced is not None and len(forced) == len(sizes.unknowns):
        everything = frozenset(range(len(sizes.loops)))
        return _sized(sizes, everything, lambda size: evaluate(size.term, forced))
    choice = _Choice(unsized.template, sizes, demands)
    return choice.solve(unsized.tiles(configurations))


def find_contradiction(facts: Iterable[HasExtent]) -> NoSizes | None:
    """Returns why facts contradict each other whatever the operation is, None if they do not."""
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
    """Returns facts in words and as conditions."""
    demands = []
    for fact in sorted(facts, key=repr):
        size = size_of(fact.dimension)
        # An operation without the dimension is another one than the matcher looks for.
        demands.append((in_words(fact), number(0) if size is None else holds(fact, size)))
    return demands


def _sized(
    sizes: SizeRelations, demanded: frozenset[int], value: Callable[[Expression], int]
) -> Sized:
    shapes = {key: [value(each) for each in shape] for key, shape in sizes.shapes.items()}
    return Sized([value(loop) for loop in sizes.loops], demanded, shapes)


class _Question:
    """A question to Z3 about sizes.

    Args:
        conditions: what holds.
        demands: what a matcher asks for, in words and as conditions.

    Attributes:
        solver: the solver.
        writer: writes terms in its context.
        labels: the demands in words, by the label under which Z3 tracks them.
    """

    def __init__(
        self, conditions: Iterable[Expression], demands: Iterable[tuple[str, Expression]]
    ) -> None:
        context = z3.Context()
        self.writer = TermWriter(context)
        self.solver = z3.Solver(ctx=context)
        self.solver.set("timeout", DEFAULT_LIMITS.start().solver_milliseconds())
        self.solver.add(*(self.writer.truth(each.term) for each in conditions))
        self.labels: dict[str, str] = {}
        for words, condition in demands:
            label = z3.Bool(f"fact {len(self.labels)}", context)
            self.labels[str(label)] = words
            self.solver.assert_and_track(self.writer.truth(condition.term), label)

    def refutation(self) -> NoSizes:
        """Returns which demands contradict each other."""
        core = [self.labels[str(each)] for each in self.solver.unsat_core()]
        return NoSizes(Verdict.REFUTED, contradiction(sorted(core)))


class _Choice:
    """Chooses sizes where relations and demands leave a choice."""

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
        self._unknowns = [write.number(each.term) for each in sizes.unknowns]
        self._loops = [write.number(loop.term) for loop in sizes.loops]
        self._slack = [write.truth(each.term) for each in sizes.slack]

    def solve(self, tiles: Mapping[int, int]) -> Sized | NoSizes:
        """Decides whether there are sizes, and chooses some."""
        result = self._solver.check()
        if result == z3.unsat:
            return self._question.refutation()
        if result == z3.unknown:
            reason = f"the solver gave up: {self._solver.reason_unknown()}"
            return NoSizes(Verdict.NOT_DECIDED, reason)
        if self._is_determined():
            return self._sized(frozenset(range(len(self._loops))))
        demanded = frozenset(
            loop for loop, size in enumerate(self._loops) if self._only_value(size) is not None
        )
        for each in self._slack:
            self._try(each)
        usual = usual_sizes(self._op)
        # Small ones first: what is left of an image when its filter is known is the larger part.
        for loop in sorted(range(len(self._loops)), key=usual.__getitem__):
            if loop not in demanded:
                self._choose(self._loops[loop], preferred_sizes(usual[loop], tiles.get(loop, 1)))
        for each in self._unknowns:
            self._choose(each, preferred_sizes(_USUAL, 1))
        return self._sized(demanded)

    def _is_determined(self) -> bool:
        """Tells whether no size can have another value than in the model that was found."""
        model = self._solver.model()
        others = [each != model.eval(each, model_completion=True) for each in self._unknowns]
        nothing = z3.BoolVal(val=False, ctx=self._context)
        return bool(self._solver.check(z3.Or(nothing, *others)) == z3.unsat)

    def _sized(self, demanded: frozenset[int]) -> Sized:
        """Returns the sizes that the solver finds."""
        self._solver.check()
        model = self._solver.model()

        def value(size: Expression) -> int:
            written = self._question.writer.number(size.term)
            return int(model.eval(written, model_completion=True).as_long())

        return _sized(self._sizes, demanded, value)

    def _only_value(self, size: z3.ArithRef) -> int | None:
        """Returns the only value that an unknown can have, None if it can have others."""
        assert self._solver.check() == z3.sat
        value = int(self._solver.model().eval(size, model_completion=True).as_long())
        return value if self._solver.check(size != value) == z3.unsat else None

    def _try(self, wish: z3.BoolRef) -> bool:
        if self._solver.check(wish) != z3.sat:
            return False
        self._solver.add(wish)
        return True

    def _choose(self, size: z3.ArithRef, wanted: Iterable[int]) -> None:
        """Fixes an unknown to the first of the wanted values that it can have, else to the least."""
        if self._only_value(size) is not None or any(self._try(size == each) for each in wanted):
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


def holds(fact: HasExtent, size: Expression) -> Expression:
    """Returns that a fact holds for a static size."""
    asked = fact.extent
    parts = [] if asked.size is None else [size == asked.size]
    parts += [size >= int(asked.low)] if asked.low > -math.inf else []
    parts += [size <= int(asked.high)] if asked.high < math.inf else []
    parts += [size % asked.factor == 0] if asked.factor > 1 else []
    return all_of(*parts)


def in_words(fact: HasExtent) -> str:
    """Returns a fact in words."""
    kind, number, position = fact.dimension
    if kind in ("operand", "result"):
        what = f"dimension {position} of {kind} {number}"
    else:
        what = f"loop {number}" if kind == "loop" else f"{kind}[{number}]"
    return f"{what} is {fact.extent}"


def contradiction(facts: Sequence[str]) -> str:
    """Returns in words that facts, which are in words themselves, contradict each other."""
    if not facts:
        return "its operation has no sizes that fit together"
    if len(facts) == 1:
        return f"it cannot be that {facts[0]}"
    return f"it cannot all be: {'; '.join(facts)}"
