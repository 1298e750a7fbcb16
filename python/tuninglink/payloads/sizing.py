"""Sizes for a template: a solver decides whether there are any, preferences choose among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import z3
from iree.compiler import ir as mlir

from tuninglink.iree.structured_op import StructuredOp
from tuninglink.matching.extents import box, static_box, static_sizes
from tuninglink.matching.predicates import STEPS, representative, role_name
from tuninglink.mlir.affine import value_range
from tuninglink.payloads.facts import contradiction, holds, in_words
from tuninglink.payloads.preferences import preferred_sizes, usual_sizes
from tuninglink.payloads.templates import destination_count
from tuninglink.solver.answers import DEFAULT_LIMITS, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tuninglink.matching.predicates import Dimension, HasExtent
    from tuninglink.payloads.templates import Template, Value

Item = TypeVar("Item")
_USUAL: Final = 64
_LARGEST_SIZE: Final = 2**63 - 1
"""What fits into the sizes of a tensor's type."""


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


class _UnsizedError(Exception):
    """The relation between the sizes of an operation is not known."""


def find_sizes(
    template: Template, facts: Iterable[HasExtent], tiles: Mapping[int, int]
) -> Sized | NoSizes:
    """Finds sizes with which a template satisfies facts about its root op, multiples of `tiles` if possible."""
    try:
        sizing = _Sizing(template)
        sizing.demand(facts)
    except _UnsizedError as failure:
        return NoSizes(Verdict.NOT_DECIDED, str(failure))
    return sizing.solve(tiles)


def find_contradiction(facts: Iterable[HasExtent]) -> NoSizes | None:
    """Returns why facts contradict each other whatever the operation is, None if they do not."""
    facts = list(facts)
    if static_sizes(static_box(box(facts))) is not None:
        return None
    solver = _new_solver()

    def size_of(dimension: Dimension) -> z3.ArithRef:
        size = z3.Int(f"size {representative(dimension)}", solver.ctx)
        solver.add(size >= 0)
        return size

    labels = _track(solver, facts, size_of)
    return _refutation(solver, labels) if solver.check() == z3.unsat else None


def _new_solver() -> z3.Solver:
    solver = z3.Solver(ctx=z3.Context())
    solver.set("timeout", DEFAULT_LIMITS.start().solver_milliseconds())
    return solver


def _track(
    solver: z3.Solver,
    facts: Iterable[HasExtent],
    size_of: Callable[[Dimension], z3.ArithRef | None],
) -> dict[str, str]:
    """Asserts facts, each under a label; returns them in words by label."""
    labels: dict[str, str] = {}
    for fact in sorted(facts, key=repr):
        size = size_of(fact.dimension)
        label = z3.Bool(f"fact {len(labels)}", solver.ctx)
        labels[str(label)] = in_words(fact)
        # An operation without the dimension is another one than the matcher looks for.
        none = z3.BoolVal(val=False, ctx=solver.ctx)
        solver.assert_and_track(none if size is None else holds(fact, size), label)
    return labels


def _refutation(solver: z3.Solver, labels: Mapping[str, str]) -> NoSizes:
    core = [labels[str(each)] for each in solver.unsat_core()]
    return NoSizes(Verdict.REFUTED, contradiction(sorted(core)))


class _Sizing:
    def __init__(self, template: Template) -> None:
        self._template = template
        self._solver = _new_solver()
        self._context = self._solver.ctx
        self._labels: dict[str, str] = {}
        self._unknowns: list[z3.ArithRef] = []
        self._slack: list[z3.BoolRef] = []
        self._shapes: dict[Value, list[z3.ArithRef]] = {}
        self._loops: list[z3.ArithRef] = []
        for argument in template.block.arguments:
            self._add_value(argument)
        for operation in template.operations:
            for result in operation.results:
                self._add_value(result)
            self._add_operation(operation)

    def _unknown(self) -> z3.ArithRef:
        unknown = z3.Int(f"size {len(self._unknowns)}", self._context)
        self._unknowns.append(unknown)
        self._solver.add(unknown >= 0, unknown <= _LARGEST_SIZE)
        return unknown

    def _number(self, value: int) -> z3.ArithRef:
        return z3.IntVal(value, self._context)

    def _add_value(self, value: Value) -> None:
        kind = value.type
        if isinstance(kind, mlir.RankedTensorType):
            self._shapes[value] = [
                self._unknown() if kind.is_dynamic_dim(at) else self._number(kind.get_dim_size(at))
                for at in range(kind.rank)
            ]

    def _add_operation(self, operation: mlir.Operation) -> None:
        """Adds the relation between the shapes of an operation's operands and results."""
        outputs = destination_count(operation)
        destinations = list(operation.operands)[len(operation.operands) - outputs :]
        for destination, result in zip(destinations, operation.results, strict=False):
            self._same(destination, result)
        maps = StructuredOp(operation).maps
        if maps:
            self._add_loops(operation, maps)
        elif operation.name.startswith(("arith.", "math.", "linalg.softmax")):
            for each in [*operation.operands, *operation.results][1:]:
                self._same(operation.operands[0], each)
        elif any(self._is_open(each) for each in (*operation.operands, *operation.results)):
            raise _UnsizedError(f"how the sizes of '{operation.name}' hang together is not known")

    def _is_open(self, value: Value) -> bool:
        return any(not z3.is_int_value(each) for each in self._shapes.get(value, ()))

    def _same(self, one: Value, other: Value) -> None:
        if one in self._shapes and other in self._shapes:
            for left, right in zip(self._shapes[one], self._shapes[other], strict=True):
                self._solver.add(left == right)

    def _add_loops(self, operation: mlir.Operation, maps: Sequence[mlir.AffineMap]) -> None:
        loops = [self._unknown() for _ in range(maps[0].n_dims)]
        for operand, each in zip(operation.operands, maps, strict=False):
            for size, expression in zip(self._shapes.get(operand, ()), each.results, strict=False):
                if isinstance(expression, mlir.AffineDimExpr):
                    self._solver.add(size == loops[expression.position])
                    continue
                try:
                    _, last = value_range(expression, loops)
                except ValueError as failure:
                    raise _UnsizedError(str(failure)) from None
                # What lies behind the last element that is read may be there all the same.
                self._solver.add(size >= last + 1)
                self._slack.append(size == last + 1)
        if operation == self._template.root:
            self._loops = loops

    def demand(self, facts: Iterable[HasExtent]) -> None:
        """Adds the matcher's facts about the root op."""
        self._labels = _track(self._solver, facts, self._size)

    def _size(self, dimension: Dimension) -> z3.ArithRef | None:
        """Returns the size of a dimension of the root op, None if it has no such dimension."""
        kind, number, position = dimension
        root = self._template.root
        if kind == "loop":
            return _at(self._loops, number)
        if kind in ("operand", "result"):
            value = _at(list(root.operands if kind == "operand" else root.results), number)
            return None if value is None else _at(self._shapes.get(value, []), position)
        return _at(self._role_sizes().get(kind, []), number)

    def _role_sizes(self) -> dict[str, list[z3.ArithRef]]:
        """Returns the sizes in each role of the root op, and the strides and dilations of a convolution."""
        op = self._template.op
        sizes = {
            role.name.lower(): [self._loops[at] for at in loops] for role, loops in op.loops.items()
        }
        for role, steps in zip(STEPS, (op.strides, op.dilations), strict=True):
            sizes[role] = [self._number(each) for each in steps]
        return {role_name(op.kind, role): each for role, each in sizes.items()}

    def solve(self, tiles: Mapping[int, int]) -> Sized | NoSizes:
        """Decides whether there are sizes, and chooses some."""
        result = self._solver.check()
        if result == z3.unsat:
            return _refutation(self._solver, self._labels)
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
        usual = usual_sizes(self._template.op)
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

        def value(size: z3.ArithRef) -> int:
            return int(model.eval(size, model_completion=True).as_long())

        shapes = {key: [value(each) for each in sizes] for key, sizes in self._shapes.items()}
        return Sized([value(each) for each in self._loops], demanded, shapes)

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
        optimize.add(*(z3.Bool(label, self._context) for label in self._labels))
        optimize.minimize(size)
        if optimize.check() == z3.sat:
            least = optimize.model().eval(size, model_completion=True)
            self._try(size == least)


def _at(sequence: Sequence[Item], position: int) -> Item | None:
    return sequence[position] if 0 <= position < len(sequence) else None
