"""Templates, the ops that a matcher matches as IR whose sizes are open, and their sizes.

A solver decides whether sizes exist. They are chosen by preference: multiples of the tiles of a configuration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from math import lcm
from typing import TYPE_CHECKING, Final, TypeVar

import z3
from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree import REDUCTION, OpKind, Role, StructuredOp
from tuninglink.matching import (
    Dimension,
    Extent,
    HasExtent,
    box,
    representative,
    static_box,
    static_sizes,
)
from tuninglink.mlir import entries_of, integers_of, named_parameters, names, value_range
from tuninglink.payloads.building import Value
from tuninglink.solver import (
    DEFAULT_LIMITS,
    Expression,
    Judgements,
    Kind,
    Term,
    TermWriter,
    Verdict,
    all_of,
    evaluate,
    number,
    unknown,
)

if TYPE_CHECKING:
    from tuninglink.spaces.model import Problem

_MOST: Final = 64
"""The capacity of each cache."""


@dataclass(eq=False)
class Template:
    """A root op with the ops that compute its operands. Sizes that are not yet chosen are dynamic.

    Attributes:
        owner: keeps the block alive.
        is_exact: whether a matcher shows the very ops.
        is_shared: whether matchers that differ only in sizes share it.
        verified: the settings of a body that the compiler accepts, by whether an accumulation starts from a fill.
        problems: the problem of the root op by family of dispatches, None if its sizes are not those of the loops.
        tile_sizes: the tile sizes of the loops by configurations.
    """

    owner: mlir.Operation
    block: mlir.Block
    is_exact: bool = False
    is_shared: bool = False
    verified: dict[bool, Hashable] = field(default_factory=dict)
    problems: dict[Hashable, Problem | None] = field(default_factory=dict)
    tile_sizes: dict[tuple[mlir.Attribute, ...], Mapping[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        operations = [operation.operation for operation in self.block.operations]
        self.operations = tuple(op for op in operations if op.name != names.YIELD)
        self.root = self.operations[-1]
        self.op = StructuredOp(self.root)

    @cached_property
    def relations(self) -> SizeRelations:
        """The relations between the sizes."""
        return SizeRelations(self)

    @cached_property
    def destinations(self) -> Mapping[Value, bool]:
        """The arguments that are only used as destinations, each with whether it accumulates: an op reads it."""
        starts, inputs, read = set[Value](), set[Value](), set[Value]()
        for operation in self.operations:
            operands = list(operation.operands)
            first = len(operands) - destination_count(operation)
            starts.update(operands[first:])
            inputs.update(operands[:first])
            if operation.name.startswith("linalg.") and list(operation.regions):
                inner = operation.regions[0].blocks[0].arguments
                places = [operands.index(operand) for operand in operands]
                operands = [
                    operands[at] for at in places if at < len(inner) and any(inner[at].uses)
                ]
            read.update(operands)
        return {
            argument: argument in read
            for argument in self.block.arguments
            if argument in starts - inputs
        }


def destination_count(operation: mlir.Operation) -> int:
    """Return the number of trailing operands that are destinations."""
    is_structured = operation.name.startswith(("linalg.", "iree_linalg_ext."))
    return len(operation.results) if is_structured else 0


# --- Relations between the sizes of the tensors and loops of a template, and the values that follow without search

Item = TypeVar("Item")

_LARGEST_SIZE: Final = 2**63 - 1
"""The largest size in the type of a tensor."""


class UnsizedError(Exception):
    """The error for an operation without sizes, or with an unknown relation between its sizes."""


class SizeRelations:
    """The sizes of a template as expressions, and the relations between them.

    Attributes:
        propagations: how the sizes follow from those of some dimensions, None if these do not determine them.
    """

    def __init__(self, template: Template) -> None:
        self._root, self._op = template.root, template.op
        for result in self._root.results:
            if not isinstance(result.type, mlir.RankedTensorType):
                name = self._root.name
                raise UnsizedError(
                    f"'{name}' computes a value of type '{result.type}', not a tensor"
                )
        self.propagations: dict[tuple[Dimension, ...], Propagation | None] = {}
        self.unknowns: list[Expression] = []
        self.relations: list[Expression] = []
        self.slack: list[Expression] = []
        self.shapes: dict[Value, list[Expression]] = {}
        self.loops: list[Expression] = []
        # Each value gets a shape before the operations that use it.
        block = template.block
        added: list[tuple[mlir.Operation | None, Sequence[Value]]] = [(None, block.arguments)]
        added += [(operation, operation.results) for operation in template.operations]
        for operation, values in added:
            for value in values:
                kind = value.type
                if isinstance(kind, mlir.RankedTensorType):
                    sizes = (
                        None if kind.is_dynamic_dim(at) else kind.get_dim_size(at)
                        for at in range(kind.rank)
                    )
                    self.shapes[value] = [
                        self._unknown() if size is None else number(size) for size in sizes
                    ]
            if operation is not None:
                self._add_operation(operation)

    def size(self, dimension: Dimension) -> Expression | None:
        """Return the size of a dimension of the root op, or None if it does not exist."""
        kind, index, position = dimension
        if kind == "loop":
            return _at(self.loops, index)
        if kind in ("operand", "result"):
            values = self._root.operands if kind == "operand" else self._root.results
            value = _at(list(values), index)
            return None if value is None else _at(self.shapes.get(value, []), position)
        # Otherwise it is that of a role, or a stride or dilation of a convolution.
        op = self._op
        for role, loops in op.loops.items():
            if f"{op.kind.value} {role.name.lower()}" == kind:
                return _at([self.loops[at] for at in loops], index)
        for step, steps in op.steps.items():
            if f"{op.kind.value} {step}" == kind:
                return _at([number(step) for step in steps], index)
        return None

    def _unknown(self) -> Expression:
        size = unknown(f"size {len(self.unknowns)}")
        self.unknowns.append(size)
        self.relations += [size >= 0, size <= _LARGEST_SIZE]
        return size

    def _add_operation(self, operation: mlir.Operation) -> None:
        """Add the relations between the shapes of an operation's operands and results."""
        operands, shapes = list(operation.operands), self.shapes
        destinations = operands[len(operands) - destination_count(operation) :]
        alike: list[tuple[Value, Value]] = [*zip(destinations, operation.results, strict=False)]
        maps = StructuredOp(operation).maps
        if not maps:
            values = [*operands, *operation.results]
            sizes = (size for value in values for size in shapes.get(value, ()))
            if operation.name.startswith(("arith.", "math.", "linalg.softmax")):
                alike += [(operands[0], value) for value in values[1:]]
            elif any(size.term.kind is not Kind.CONSTANT for size in sizes):
                message = f"the relation between the sizes of '{operation.name}' is unknown"
                raise UnsizedError(message)
        for one, other in alike:
            if one in shapes and other in shapes:
                pairs = zip(shapes[one], shapes[other], strict=True)
                self.relations += [left == right for left, right in pairs]
        loops = [self._unknown() for _ in range(maps[0].n_dims if maps else 0)]
        if operation == self._root:
            self.loops = loops
        for operand, map_ in zip(operands, maps, strict=False):
            for size, expression in zip(shapes.get(operand, ()), map_.results, strict=False):
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


def _at(sequence: Sequence[Item], position: int) -> Item | None:
    return sequence[position] if 0 <= position < len(sequence) else None


class Propagation:
    """The values of unknowns that follow from equations, for any values of the given unknowns.

    The equation that determines an unknown does not depend on the given values, so it is found only once.
    """

    def __init__(self, assertions: Iterable[Term], given: Sequence[str] = ()) -> None:
        terms = list(assertions)
        while any(term.kind is Kind.AND for term in terms):
            parts = (term.operands if term.kind is Kind.AND else (term,) for term in terms)
            terms = [*chain.from_iterable(parts)]
        self.given = given
        self._steps: dict[str, Term] = {}
        self._judgements = Judgements(terms)
        self.determined = set(given)
        waiting: list[Term] = []
        late = [term for term in terms if term.kind is Kind.EQ]
        while len(late) != len(waiting):
            waiting, late = late, []
            for equation in waiting:
                for side, other in (equation.operands, equation.operands[::-1]):
                    is_open = side.kind is Kind.VARIABLE and side.name not in self.determined
                    if is_open and other.variables <= self.determined:
                        self._steps[side.name] = other
                        self.determined.add(side.name)
                        break
                else:
                    if not equation.variables <= self.determined:
                        late.append(equation)

    def values(self, given: Mapping[str, int]) -> dict[str, int] | None:
        """Return the only values of the unknowns for which the assertions hold."""
        values = dict(given)
        try:
            for name, term in self._steps.items():
                values[name] = evaluate(term, values)
        except ZeroDivisionError:
            return None
        return values if self._judgements.judge(values) == ([], []) else None


# --- Moderate sizes, and multiples of the tiles of configurations ----------------------------------

_USUAL: Final[Mapping[OpKind, Mapping[Role, int]]] = {
    OpKind.CONTRACTION: {Role.BATCH: 4, Role.M: 256, Role.N: 256, Role.K: 256},
    OpKind.CONVOLUTION: {
        Role.BATCH: 2,
        Role.OUTPUT_IMAGE: 16,
        Role.OUTPUT_CHANNEL: 64,
        Role.FILTER: 3,
        Role.INPUT_CHANNEL: 64,
        Role.DEPTH: 2,
    },
    OpKind.ATTENTION: {Role.BATCH: 4, Role.M: 256, Role.N: 64, Role.K1: 64, Role.K2: 256},
}
"""Moderate sizes of loops by kind and role: multiples of common tile sizes."""

_USUAL_ELSEWHERE: Final = 64
_USUAL_OUTER: Final = 4
_ALIKE: Final = frozenset({Role.OUTPUT_IMAGE, Role.FILTER})
"""Roles whose loops all have the usual size. In other roles, only the innermost loop has it."""

_OTHERS: Final = (512, 256, 128, 96, 64, 48, 32, 16, 8, 4, 3, 2, 1)
_LARGEST: Final = 4096
"""The largest size chosen for its divisors: the least common multiple of tiles may be huge."""

_NO_TILES: Final = frozenset({"promote_operands", "subgroup_basis", "lane_basis"})
"""Parameters of lowering configs whose numbers are not tile sizes."""


def tiles(configurations: Iterable[mlir.Attribute], op: StructuredOp) -> dict[int, int]:
    """Return the tile size of each loop in configurations, which is a preferred divisor of the loop's size."""
    tile_sizes: dict[int, int] = {}
    for value in configurations:
        config = value
        if isinstance(value, iree_codegen.CompilationInfoAttr):
            config = value.lowering_config
        kind, bracket, _ = str(config).partition("<")
        mma: mlir.Attribute | None = None
        if isinstance(config, iree_gpu.LoweringConfigAttr):
            mma = config.mma_kind
            entries = entries_of(config.attributes)
        elif bracket and kind.endswith("lowering_config"):
            # The bindings have no class for `#iree_cpu.lowering_config` and `#iree_codegen.lowering_config`. Their
            # parameters are written like a dictionary, which the compiler's parser reads.
            entries = named_parameters(config) or {}
        else:
            continue
        for name, attribute in entries.items():
            if name not in _NO_TILES:
                for row in _rows(attribute):
                    for loop, size in enumerate(row):
                        if size > 0:
                            tile_sizes[loop] = lcm(tile_sizes.get(loop, 1), size)
        # Round the innermost loops of m, n and k up to whole intrinsics.
        if isinstance(mma, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr):
            m, n, k = mma.mnk_shape
            multiples = {
                OpKind.CONTRACTION: {Role.M: m, Role.N: n, Role.K: k},
                OpKind.CONVOLUTION: {Role.OUTPUT_CHANNEL: n, Role.INPUT_CHANNEL: k},
            }
            for role, size in multiples.get(op.kind, {}).items():
                for loop in op.loops[role][-1:]:
                    tile = tile_sizes.get(loop, 1)
                    # Some pipelines count the tiles of reductions in intrinsics.
                    is_reduction = op.iterator_types[loop] == REDUCTION
                    tile_sizes[loop] = tile * size if is_reduction else lcm(tile, size)
    return {loop: tile for loop, tile in tile_sizes.items() if tile <= _LARGEST}


def _rows(attribute: mlir.Attribute) -> Iterator[list[int]]:
    """Yield the lists of sizes in an attribute."""
    if not isinstance(attribute, mlir.ArrayAttr):
        return
    numbers = integers_of(attribute)
    if numbers and len(numbers) == len(attribute):
        yield numbers
    for element in attribute:
        yield from _rows(element)


# --- Sizes for a template, whose existence a solver decides, and which are chosen by preference --

_USUAL_SIZE: Final = 64


@dataclass(frozen=True)
class Sized:
    """Sizes for a template."""

    loops: Sequence[int]
    demanded: frozenset[int]
    shapes: Mapping[Value, Sequence[int]]


@dataclass(frozen=True)
class NoSizes:
    """The reason why a template has no sizes."""

    verdict: Verdict
    reason: str


def find_sizes(
    template: Template,
    facts: Collection[HasExtent],
    configurations: Callable[[], tuple[mlir.Attribute, ...]],
) -> Sized | NoSizes:
    """Find sizes for which an operation satisfies facts, preferably multiples of the configured tiles."""
    try:
        sizes = template.relations
    except UnsizedError as failure:
        return NoSizes(Verdict.NOT_DECIDED, str(failure))
    # 1. Compute the sizes that follow from given ones without search. How they follow depends only on the dimensions.
    fixed = {fact.dimension: fact.extent.size for fact in facts if fact.extent.size is not None}
    dimensions = tuple(sorted(fixed))
    if dimensions not in sizes.propagations:
        if len(sizes.propagations) == _MOST:
            sizes.propagations.clear()
        given = [unknown(f"given {position}") for position in range(len(dimensions))]
        own = [sizes.size(dimension) for dimension in dimensions]
        demands = [
            size == value for size, value in zip(own, given, strict=True) if size is not None
        ]
        conditions = [condition.term for condition in (*sizes.relations, *demands)]
        propagation = Propagation(conditions, [value.term.name for value in given])
        is_forced = {size.term.name for size in sizes.unknowns} <= propagation.determined
        is_whole = is_forced and len(demands) == len(dimensions)
        sizes.propagations[dimensions] = propagation if is_whole else None
    forced = sizes.propagations[dimensions]
    given_sizes = (fixed[dimension] for dimension in dimensions)
    values = forced.values(dict(zip(forced.given, given_sizes, strict=True))) if forced else None
    if values is not None:
        ranges = [fact for fact in facts if fact.extent != Extent(fixed.get(fact.dimension))]
        own = [sizes.size(fact.dimension) for fact in ranges]
        if all(
            size is not None and fact.extent.admits(evaluate(size.term, values))
            for fact, size in zip(ranges, own, strict=True)
        ):
            everything = frozenset(range(len(sizes.loops)))
            return _sized(sizes, everything, partial(evaluate, values=values))
    # 2. Otherwise, let the solver decide.
    key = configurations()
    if key not in template.tile_sizes:
        if len(template.tile_sizes) == _MOST:
            template.tile_sizes.clear()
        template.tile_sizes[key] = tiles(key, template.op)
    return _choose_sizes(template, facts, template.tile_sizes[key])


def find_contradiction(facts: Iterable[HasExtent]) -> NoSizes | None:
    """Return a contradiction between facts that does not depend on the operation, or None."""
    facts = list(facts)
    if static_sizes(static_box(box(facts))) is not None:
        return None
    sizes = {fact.dimension: unknown(f"size {representative(fact.dimension)}") for fact in facts}
    relations = [sizes[fact.dimension] >= 0 for fact in facts]
    question = _Question(relations, facts, sizes.get)
    return question.refutation() if question.solver.check() == z3.unsat else None


def _sized(sizes: SizeRelations, demanded: frozenset[int], value: Callable[[Term], int]) -> Sized:
    shapes = {key: [value(size.term) for size in shape] for key, shape in sizes.shapes.items()}
    return Sized([value(loop.term) for loop in sizes.loops], demanded, shapes)


class _Question:
    """A query to Z3 about sizes that satisfy relations and facts."""

    def __init__(
        self,
        relations: Iterable[Expression],
        facts: Iterable[HasExtent],
        size_of: Callable[[Dimension], Expression | None],
    ) -> None:
        context = z3.Context()
        self.writer = TermWriter(context)
        self.solver = z3.Solver(ctx=context)
        self.solver.set("timeout", DEFAULT_LIMITS.start().solver_milliseconds())
        self.solver.add(*(self.writer.truth(relation.term) for relation in relations))
        self._labels: dict[str, str] = {}
        for fact in sorted(facts, key=repr):
            size, extent = size_of(fact.dimension), fact.extent
            if size is None:
                parts = [number(0)]  # An operation without the dimension cannot match.
            else:
                parts = [] if extent.size is None else [size == extent.size]
                parts += [size >= int(extent.low)] if extent.low > -math.inf else []
                parts += [size <= int(extent.high)] if extent.high < math.inf else []
                parts += [size % extent.factor == 0] if extent.factor > 1 else []
            label = z3.Bool(f"fact {len(self._labels)}", context)
            self._labels[str(label)] = describe_fact(fact)
            self.solver.assert_and_track(self.writer.truth(all_of(*parts).term), label)

    def refutation(self) -> NoSizes:
        core = sorted(self._labels[str(label)] for label in self.solver.unsat_core())
        reason = f"it cannot all be: {'; '.join(core)}"
        if not core:
            reason = "its operation has no sizes that fit together"
        elif len(core) == 1:
            reason = f"it cannot be that {core[0]}"
        return NoSizes(Verdict.REFUTED, reason)

    def is_fixed(self, size: z3.ArithRef) -> bool:
        """Return whether an unknown has only one possible value."""
        assert self.solver.check() == z3.sat
        value = self.solver.model().eval(size, model_completion=True)
        return bool(self.solver.check(size != value) == z3.unsat)

    def require(self, wish: z3.BoolRef) -> bool:
        """Add a condition if it can hold; return whether."""
        if self.solver.check(wish) != z3.sat:
            return False
        self.solver.add(wish)
        return True

    def choose(self, size: z3.ArithRef, usual: int, tile: int = 1) -> None:
        """Fix an unknown to the first possible value of those near a moderate size, or to its minimum value."""
        # The best size is a multiple of both the moderate size and the tile.
        common = lcm(usual, tile)
        best = common if common <= _LARGEST else tile
        preferences = [best, -(-usual // tile) * tile, 2 * tile, tile, usual, *_OTHERS]
        if self.is_fixed(size) or any(
            self.require(size == value) for value in dict.fromkeys(preferences)
        ):
            return
        self.require(size >= 1)
        optimize = z3.Optimize(ctx=self.solver.ctx)
        optimize.set("timeout", DEFAULT_LIMITS.start().solver_milliseconds())
        optimize.add(self.solver.assertions())
        # Tracked facts are implications of their labels.
        optimize.add(*(z3.Bool(label, self.solver.ctx) for label in self._labels))
        optimize.minimize(size)
        if optimize.check() == z3.sat:
            self.require(size == optimize.model().eval(size, model_completion=True))


def _choose_sizes(
    template: Template, facts: Iterable[HasExtent], tile_sizes: Mapping[int, int]
) -> Sized | NoSizes:
    """Decide whether sizes exist that satisfy facts, and choose some by preference."""
    sizes, op = template.relations, template.op
    question = _Question(sizes.relations, facts, sizes.size)
    solver, write = question.solver, question.writer.number
    unknowns = [write(size.term) for size in sizes.unknowns]
    loops = [write(loop.term) for loop in sizes.loops]
    slack = [question.writer.truth(wish.term) for wish in sizes.slack]
    status = solver.check()
    if status == z3.unsat:
        return question.refutation()
    if status == z3.unknown:
        reason = f"the solver gave up: {solver.reason_unknown()}"
        return NoSizes(Verdict.NOT_DECIDED, reason)
    # The solver's model may be the only one.
    model = solver.model()
    differences = [size != model.eval(size, model_completion=True) for size in unknowns]
    nothing = z3.BoolVal(val=False, ctx=solver.ctx)
    demanded = frozenset(range(len(loops)))
    if solver.check(z3.Or(nothing, *differences)) != z3.unsat:
        demanded = frozenset(loop for loop, size in enumerate(loops) if question.is_fixed(size))
        for wish in slack:
            question.require(wish)
        # A moderate size of each loop. Of several loops, the innermost is tiled, and the others are like a batch.
        usual = [_USUAL_ELSEWHERE] * op.loop_count
        for role, role_loops in op.loops.items():
            for loop in role_loops:
                is_outer = loop != role_loops[-1] and role not in _ALIKE
                usual[loop] = _USUAL_OUTER if is_outer else _USUAL[op.kind][role]
        # Small loops first: the filter of a convolution is fixed before its image.
        for loop in sorted(range(len(loops)), key=usual.__getitem__):
            if loop not in demanded:
                question.choose(loops[loop], usual[loop], tile_sizes.get(loop, 1))
        for size in unknowns:
            question.choose(size, _USUAL_SIZE)
    solver.check()
    model = solver.model()
    return _sized(
        sizes,
        demanded,
        lambda term: int(model.eval(write(term), model_completion=True).as_long()),
    )


def describe_fact(fact: HasExtent) -> str:
    """Describe a fact in words."""
    kind, number, position = fact.dimension
    # The name of the dimension.
    if kind in ("operand", "result"):
        what = f"dimension {position} of {kind} {number}"
    else:
        what = f"loop {number}" if kind == "loop" else f"{kind}[{number}]"
    return f"{what} is {fact.extent}"
