"""Relations between the sizes of the tensors and loops of a template, and the values that follow without search."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeVar

from iree.compiler import ir as mlir

from tuninglink.iree.structured_op import StructuredOp
from tuninglink.matching.predicates import STEPS, Dimension, role_name
from tuninglink.mlir.attributes import value_range
from tuninglink.payloads.op_templates import Template, Value, destination_count
from tuninglink.solver import Kind, Term, evaluate
from tuninglink.solver.compiled_checks import Judgements
from tuninglink.solver.expressions import Expression, number, unknown

Item = TypeVar("Item")

_LARGEST_SIZE: Final = 2**63 - 1
"""The largest size in the type of a tensor."""


Forced = Callable[[Sequence[int]], dict[str, int] | None]
"""A function from given sizes to the only values of all unknowns, None for sizes that contradict each other."""


class UnsizedError(Exception):
    """The error for an operation with an unknown relation between its sizes."""


class SizeRelations:
    """The sizes of a template as expressions, and the relations between them.

    Args:
        template: the template.

    Attributes:
        unknowns: the open sizes of the template.
        relations: the conditions on them.
        slack: the optional conditions that a tensor has no more elements than are read.
        shapes: the shape of each tensor.
        loops: the sizes of the root op's loops.

    Raises:
        UnsizedError: the relation between the sizes of an operation is unknown.
    """

    def __init__(self, template: Template) -> None:
        self._template = template
        self.unknowns: list[Expression] = []
        self.relations: list[Expression] = []
        self.slack: list[Expression] = []
        self.shapes: dict[Value, list[Expression]] = {}
        self.loops: list[Expression] = []
        for argument in template.block.arguments:
            self._add_value(argument)
        for operation in template.operations:
            for result in operation.results:
                self._add_value(result)
            self._add_operation(operation)

    def size(self, dimension: Dimension) -> Expression | None:
        """Return the size of a dimension of the root op, or None if it does not exist."""
        kind, index, position = dimension
        root = self._template.root
        if kind == "loop":
            return _at(self.loops, index)
        if kind in ("operand", "result"):
            value = _at(list(root.operands if kind == "operand" else root.results), index)
            return None if value is None else _at(self.shapes.get(value, []), position)
        return _at(self._role_sizes.get(kind, []), index)

    def forced(self, dimensions: Sequence[Dimension]) -> Forced | None:
        """Return a function from the sizes of some dimensions to the only values of all unknowns.

        Returns:
            None if a dimension does not exist, or if equations do not determine all unknowns.
        """
        given = [unknown(f"given {position}") for position in range(len(dimensions))]
        sizes = [self.size(dimension) for dimension in dimensions]
        demands = [
            size == given_size
            for size, given_size in zip(sizes, given, strict=True)
            if size is not None
        ]
        names_ = [size.term.name for size in given]
        conditions = [condition.term for condition in (*self.relations, *demands)]
        propagation = Propagation(conditions, names_)
        open_names = {size.term.name for size in self.unknowns}
        if len(demands) < len(dimensions) or not open_names <= propagation.determined:
            return None
        return lambda values: propagation.values(dict(zip(names_, values, strict=True)))

    def _unknown(self) -> Expression:
        size = unknown(f"size {len(self.unknowns)}")
        self.unknowns.append(size)
        self.relations += [size >= 0, size <= _LARGEST_SIZE]
        return size

    def _add_value(self, value: Value) -> None:
        kind = value.type
        if isinstance(kind, mlir.RankedTensorType):
            self.shapes[value] = [
                self._unknown() if kind.is_dynamic_dim(at) else number(kind.get_dim_size(at))
                for at in range(kind.rank)
            ]

    def _add_operation(self, operation: mlir.Operation) -> None:
        """Add the relations between the shapes of an operation's operands and results."""
        outputs = destination_count(operation)
        destinations = list(operation.operands)[len(operation.operands) - outputs :]
        for destination, result in zip(destinations, operation.results, strict=False):
            self._same(destination, result)
        maps = StructuredOp(operation).maps
        if maps:
            self._add_loops(operation, maps)
        elif operation.name.startswith(("arith.", "math.", "linalg.softmax")):
            for value in [*operation.operands, *operation.results][1:]:
                self._same(operation.operands[0], value)
        elif any(self._is_open(value) for value in (*operation.operands, *operation.results)):
            raise UnsizedError(f"the relation between the sizes of '{operation.name}' is unknown")

    def _is_open(self, value: Value) -> bool:
        return any(size.term.kind is not Kind.CONSTANT for size in self.shapes.get(value, ()))

    def _same(self, one: Value, other: Value) -> None:
        if one in self.shapes and other in self.shapes:
            for left, right in zip(self.shapes[one], self.shapes[other], strict=True):
                self.relations.append(left == right)

    def _add_loops(self, operation: mlir.Operation, maps: Sequence[mlir.AffineMap]) -> None:
        loops = [self._unknown() for _ in range(maps[0].n_dims)]
        for operand, map_ in zip(operation.operands, maps, strict=False):
            for size, expression in zip(self.shapes.get(operand, ()), map_.results, strict=False):
                if isinstance(expression, mlir.AffineDimExpr):
                    self.relations.append(size == loops[expression.position])
                    continue
                try:
                    _, last = value_range(expression, loops)
                except ValueError as failure:
                    raise UnsizedError(str(failure)) from None
                # A tensor may have elements beyond the last one that is read.
                self.relations.append(size >= last + 1)
                self.slack.append(size == last + 1)
        if operation == self._template.root:
            self.loops = loops

    @cached_property
    def _role_sizes(self) -> dict[str, list[Expression]]:
        """Return the sizes of each role of the root op, and the strides and dilations of a convolution."""
        op = self._template.op
        sizes = {
            role.name.lower(): [self.loops[at] for at in loops] for role, loops in op.loops.items()
        }
        for role, steps in zip(STEPS, (op.strides, op.dilations), strict=True):
            sizes[role] = [number(step) for step in steps]
        return {role_name(op.kind, role): role_sizes for role, role_sizes in sizes.items()}


def _at(sequence: Sequence[Item], position: int) -> Item | None:
    return sequence[position] if 0 <= position < len(sequence) else None


class Propagation:
    """The values of unknowns that follow from equations, for any values of the given unknowns.

    The equation that determines an unknown does not depend on the given values, so it is found only once.

    Args:
        assertions: conditions that must all hold.
        given: the unknowns whose values are given.

    Attributes:
        determined: the unknowns whose values are given or follow from equations.
    """

    def __init__(self, assertions: Iterable[Term], given: Collection[str] = ()) -> None:
        terms = [part for assertion in assertions for part in _conjuncts(assertion)]
        self._steps: dict[str, Term] = {}
        self._judgements = Judgements(terms)
        self.determined = determined = set(given)
        waiting = [term for term in terms if term.kind is Kind.EQ]
        while True:
            late = [equation for equation in waiting if not self._add_step(equation, determined)]
            if len(late) == len(waiting):
                return
            waiting = late

    def _add_step(self, equation: Term, determined: set[str]) -> bool:
        """Add the unknown that an equation determines; return whether all its unknowns are determined."""
        for side, other in (equation.operands, equation.operands[::-1]):
            is_open = side.kind is Kind.VARIABLE and side.name not in determined
            if is_open and other.variables <= determined:
                self._steps[side.name] = other
                determined.add(side.name)
                return True
        return equation.variables <= determined

    def values(self, given: Mapping[str, int]) -> dict[str, int] | None:
        """Return the only values of the unknowns for which the assertions hold.

        Args:
            given: the values of the given unknowns.

        Returns:
            None if equations alone do not determine the values, or contradict each other.
        """
        values = dict(given)
        try:
            for name, term in self._steps.items():
                values[name] = evaluate(term, values)
        except ZeroDivisionError:
            return None
        return values if self._judgements.judge(values) == ([], []) else None


def _conjuncts(term: Term) -> Iterator[Term]:
    if term.kind is Kind.AND:
        for operand in term.operands:
            yield from _conjuncts(operand)
    else:
        yield term
