"""Templates, the ops that a matcher matches as IR whose sizes are open, and their sizes.

A solver decides whether sizes exist. They are chosen by preference: multiples of the tiles of a configuration.
"""

from __future__ import annotations

import math
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from math import lcm
from typing import TYPE_CHECKING, Final, TypeVar

import z3
from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree import REDUCTION, OpKind, Role, StructuredOp
from tuninglink.matching import (
    NAME_ONLY,
    Dimension,
    Extent,
    HasExtent,
    box,
    representative,
    role_name,
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
    """

    owner: mlir.Operation
    block: mlir.Block
    is_exact: bool = False
    is_shared: bool = False
    verified: dict[bool, Hashable] = field(default_factory=dict)
    problems: dict[Hashable, Problem | None] = field(default_factory=dict)

    @cached_property
    def operations(self) -> tuple[mlir.Operation, ...]:
        operations = [operation.operation for operation in self.block.operations]
        return tuple(op for op in operations if op.name != names.YIELD)

    @property
    def root(self) -> mlir.Operation:
        return self.operations[-1]

    @cached_property
    def op(self) -> StructuredOp:
        return StructuredOp(self.root)

    @cached_property
    def relations(self) -> SizeRelations:
        """The relations between the sizes."""
        return SizeRelations(self)

    @cached_property
    def forced_sizes(self) -> Callable[[tuple[Dimension, ...]], Forced | None]:
        """A function from dimensions with given sizes to a function that computes all sizes from these."""
        return lru_cache(_MOST)(self.relations.forced)

    @cached_property
    def tiles(self) -> Callable[[tuple[mlir.Attribute, ...]], Mapping[int, int]]:
        """A function from configurations to the tile sizes of the loops."""
        return lru_cache(_MOST)(partial(tiles, op=self.op))

    @cached_property
    def accumulators(self) -> frozenset[Value]:
        """The arguments that an op reads. A destination that is among them accumulates."""
        result = set[Value]()
        for operation in self.operations:
            operands = list(operation.operands)
            if operation.name.startswith("linalg.") and list(operation.regions):
                inner = operation.regions[0].blocks[0].arguments
                firsts = [operands.index(operand) for operand in operands]
                operands = [
                    operands[at] for at in firsts if at < len(inner) and any(inner[at].uses)
                ]
            result.update(operands)
        return frozenset(result.intersection(self.block.arguments))

    @cached_property
    def name_only_argument(self) -> int | None:
        """The first argument whose users are all matched by name only, or None."""
        # The compiler does not match a graph with such an argument.
        seen = {
            operand
            for operation in self.operations
            if NAME_ONLY not in operation.attributes
            for operand in operation.operands
        }
        return next(
            (argument.arg_number for argument in self.block.arguments if argument not in seen), None
        )

    @cached_property
    def destinations(self) -> frozenset[Value]:
        """The arguments that are only used as destinations."""
        arguments = set(self.block.arguments)
        starts, inputs = set[Value](), set[Value]()
        for operation in self.operations:
            outputs = destination_count(operation)
            operands = list(operation.operands)
            first = len(operands) - outputs
            starts |= arguments.intersection(operands[first:])
            inputs |= arguments.intersection(operands[:first])
        return frozenset(starts - inputs)


def destination_count(operation: mlir.Operation) -> int:
    """Return the number of trailing operands that are destinations."""
    is_structured = operation.name.startswith(("linalg.", "iree_linalg_ext."))
    return len(operation.results) if is_structured else 0


# --- Relations between the sizes of the tensors and loops of a template, and the values that follow without search

Item = TypeVar("Item")

_LARGEST_SIZE: Final = 2**63 - 1
"""The largest size in the type of a tensor."""


Forced = Callable[[Sequence[int]], dict[str, int] | None]
"""A function from given sizes to the only values of all unknowns, None for sizes that contradict each other."""


class UnsizedError(Exception):
    """The error for an operation with an unknown relation between its sizes."""


class SizeRelations:
    """The sizes of a template as expressions, and the relations between them."""

    def __init__(self, template: Template) -> None:
        self._root, self._op = template.root, template.op
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
        root = self._root
        if kind == "loop":
            return _at(self.loops, index)
        if kind in ("operand", "result"):
            value = _at(list(root.operands if kind == "operand" else root.results), index)
            return None if value is None else _at(self.shapes.get(value, []), position)
        return _at(self._role_sizes.get(kind, []), index)

    def forced(self, dimensions: Sequence[Dimension]) -> Forced | None:
        """Return a function from the sizes of some dimensions to the only values of all unknowns."""
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
        operands = list(operation.operands)
        destinations = operands[len(operands) - destination_count(operation) :]
        for destination, result in zip(destinations, operation.results, strict=False):
            self._same(destination, result)
        maps = StructuredOp(operation).maps
        if not maps:
            values = [*operands, *operation.results]
            sizes = (size for value in values for size in self.shapes.get(value, ()))
            if operation.name.startswith(("arith.", "math.", "linalg.softmax")):
                for value in values[1:]:
                    self._same(operands[0], value)
            elif any(size.term.kind is not Kind.CONSTANT for size in sizes):
                message = f"the relation between the sizes of '{operation.name}' is unknown"
                raise UnsizedError(message)
            return
        loops = [self._unknown() for _ in range(maps[0].n_dims)]
        if operation == self._root:
            self.loops = loops
        for operand, map_ in zip(operands, maps, strict=False):
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

    def _same(self, one: Value, other: Value) -> None:
        if one in self.shapes and other in self.shapes:
            for left, right in zip(self.shapes[one], self.shapes[other], strict=True):
                self.relations.append(left == right)

    @cached_property
    def _role_sizes(self) -> dict[str, list[Expression]]:
        """Return the sizes of each role of the root op, and the strides and dilations of a convolution."""
        op = self._op
        sizes = {
            role.name.lower(): [self.loops[at] for at in loops] for role, loops in op.loops.items()
        }
        sizes |= {role: [number(step) for step in steps] for role, steps in op.steps.items()}
        return {role_name(op.kind, role): role_sizes for role, role_sizes in sizes.items()}


def _at(sequence: Sequence[Item], position: int) -> Item | None:
    return sequence[position] if 0 <= position < len(sequence) else None


class Propagation:
    """The values of unknowns that follow from equations, for any values of the given unknowns.

    The equation that determines an unknown does not depend on the given values, so it is found only once.
    """

    def __init__(self, assertions: Iterable[Term], given: Collection[str] = ()) -> None:
        terms = [part for assertion in assertions for part in _conjuncts(assertion)]
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


def _conjuncts(term: Term) -> Iterator[Term]:
    if term.kind is Kind.AND:
        for operand in term.operands:
            yield from _conjuncts(operand)
    else:
        yield term


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


def usual_sizes(op: StructuredOp) -> list[int]:
    """Return a moderate size of each loop of an op."""
    sizes = [_USUAL_ELSEWHERE] * op.loop_count
    for role, loops in op.loops.items():
        for loop in loops:
            # Of several loops, the innermost is tiled, and the others are like a batch.
            is_outer = loop != loops[-1] and role not in _ALIKE
            sizes[loop] = _USUAL_OUTER if is_outer else _USUAL[op.kind][role]
    return sizes


def preferred_sizes(usual: int, tile: int) -> list[int]:
    """Return the sizes to try for a loop with a tile size, best ones first. `usual` is a moderate size."""
    common = lcm(usual, tile)
    best = common if common <= _LARGEST else tile
    rounded = -(-usual // tile) * tile
    return list(dict.fromkeys([best, rounded, 2 * tile, tile, usual, *_OTHERS]))


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
    forced = _forced_values(template, facts)
    if forced is not None:
        everything = frozenset(range(len(sizes.loops)))
        return _sized(sizes, everything, lambda size: evaluate(size.term, forced))
    choice = _Choice(template, sizes, _demands(facts, sizes.size))
    return choice.solve(template.tiles(configurations()))


def _forced_values(template: Template, facts: Collection[HasExtent]) -> dict[str, int] | None:
    """Return the values of the unknowns that follow from facts without search; None if other values are possible."""
    fixed = {fact.dimension: fact.extent.size for fact in facts if fact.extent.size is not None}
    dimensions = sorted(fixed)
    forced = template.forced_sizes(tuple(dimensions))
    values = None if forced is None else forced([fixed[dimension] for dimension in dimensions])
    if values is None:
        return None
    for fact in facts:
        if fact.extent != Extent(fixed.get(fact.dimension)):
            size = template.relations.size(fact.dimension)
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
        size, extent = size_of(fact.dimension), fact.extent
        if size is None:
            parts = [number(0)]  # An operation without the dimension cannot match.
        else:
            parts = [] if extent.size is None else [size == extent.size]
            parts += [size >= int(extent.low)] if extent.low > -math.inf else []
            parts += [size <= int(extent.high)] if extent.high < math.inf else []
            parts += [size % extent.factor == 0] if extent.factor > 1 else []
        demands.append((describe_fact(fact), all_of(*parts)))
    return demands


def _sized(
    sizes: SizeRelations, demanded: frozenset[int], value: Callable[[Expression], int]
) -> Sized:
    shapes = {key: [value(size) for size in shape] for key, shape in sizes.shapes.items()}
    return Sized([value(loop) for loop in sizes.loops], demanded, shapes)


class _Question:
    """A query to Z3 about sizes."""

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
        core = sorted(self.labels[str(label)] for label in self.solver.unsat_core())
        reason = f"it cannot all be: {'; '.join(core)}"
        if not core:
            reason = "its operation has no sizes that fit together"
        elif len(core) == 1:
            reason = f"it cannot be that {core[0]}"
        return NoSizes(Verdict.REFUTED, reason)


class _Choice(_Question):
    """A choice of sizes that satisfies relations and demands."""

    def __init__(
        self, template: Template, sizes: SizeRelations, demands: Iterable[tuple[str, Expression]]
    ) -> None:
        super().__init__(sizes.relations, demands)
        self._op = template.op
        self._sizes = sizes

    def solve(self, tiles: Mapping[int, int]) -> Sized | NoSizes:
        """Decide whether sizes exist, and choose some."""
        solver, write = self.solver, self.writer
        unknowns = [write.number(size.term) for size in self._sizes.unknowns]
        loops = [write.number(loop.term) for loop in self._sizes.loops]
        slack = [write.truth(wish.term) for wish in self._sizes.slack]
        status = solver.check()
        if status == z3.unsat:
            return self.refutation()
        if status == z3.unknown:
            reason = f"the solver gave up: {solver.reason_unknown()}"
            return NoSizes(Verdict.NOT_DECIDED, reason)
        # The solver's model may be the only one.
        model = solver.model()
        differences = [size != model.eval(size, model_completion=True) for size in unknowns]
        nothing = z3.BoolVal(val=False, ctx=self.solver.ctx)
        if solver.check(z3.Or(nothing, *differences)) == z3.unsat:
            return self._sized(frozenset(range(len(loops))))
        demanded = frozenset(
            loop for loop, size in enumerate(loops) if self._only_value(size) is not None
        )
        for wish in slack:
            self._try(wish)
        usual = usual_sizes(self._op)
        # Small loops first: the filter of a convolution is fixed before its image.
        for loop in sorted(range(len(loops)), key=usual.__getitem__):
            if loop not in demanded:
                self._choose(loops[loop], preferred_sizes(usual[loop], tiles.get(loop, 1)))
        for size in unknowns:
            self._choose(size, preferred_sizes(_USUAL_SIZE, 1))
        return self._sized(demanded)

    def _sized(self, demanded: frozenset[int]) -> Sized:
        """Return the sizes in the solver's model."""
        self.solver.check()
        model = self.solver.model()

        def value(size: Expression) -> int:
            written = self.writer.number(size.term)
            return int(model.eval(written, model_completion=True).as_long())

        return _sized(self._sizes, demanded, value)

    def _only_value(self, size: z3.ArithRef) -> int | None:
        assert self.solver.check() == z3.sat
        value = int(self.solver.model().eval(size, model_completion=True).as_long())
        return value if self.solver.check(size != value) == z3.unsat else None

    def _try(self, wish: z3.BoolRef) -> bool:
        if self.solver.check(wish) != z3.sat:
            return False
        self.solver.add(wish)
        return True

    def _choose(self, size: z3.ArithRef, preferences: Iterable[int]) -> None:
        """Fix an unknown to the first possible value among `preferences`, or to its minimum value."""
        if self._only_value(size) is not None or any(
            self._try(size == value) for value in preferences
        ):
            return
        self._try(size >= 1)
        optimize = z3.Optimize(ctx=self.solver.ctx)
        optimize.set("timeout", DEFAULT_LIMITS.start().solver_milliseconds())
        optimize.add(self.solver.assertions())
        # Tracked facts are implications of their labels.
        optimize.add(*(z3.Bool(label, self.solver.ctx) for label in self.labels))
        optimize.minimize(size)
        if optimize.check() == z3.sat:
            least = optimize.model().eval(size, model_completion=True)
            self._try(size == least)


def describe_fact(fact: HasExtent) -> str:
    """Describe a fact in words."""
    kind, number, position = fact.dimension
    # The name of the dimension.
    if kind in ("operand", "result"):
        what = f"dimension {position} of {kind} {number}"
    else:
        what = f"loop {number}" if kind == "loop" else f"{kind}[{number}]"
    return f"{what} is {fact.extent}"
