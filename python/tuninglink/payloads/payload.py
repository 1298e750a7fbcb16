"""Payloads, their programs and sizes from templates, and the error for entries without a payload."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import z3
from iree.compiler import ir as mlir
from iree.compiler._mlir_libs import _mlirDialectsLinalg  # type: ignore[attr-defined]

from tuninglink.errors import TuninglinkError
from tuninglink.iree import Role
from tuninglink.matching import (
    NAME_ONLY,
    Dimension,
    Extent,
    HasExtent,
    box,
    representative,
    static_box,
    static_sizes,
)
from tuninglink.mlir import body, collect, error, names, thread_context
from tuninglink.payloads.operations import (
    SizeRelations,
    Template,
    UnsizedError,
    Value,
    build,
    clone_into,
    destination_count,
    is_number,
    new_function,
)
from tuninglink.payloads.unsized_ops import UnsizedOp, preferred_sizes, usual_sizes
from tuninglink.solver import (
    DEFAULT_LIMITS,
    Expression,
    TermWriter,
    Verdict,
    all_of,
    evaluate,
    number,
    unknown,
)
from tuninglink.spaces.model import Workload, read_workload

if TYPE_CHECKING:
    from tuninglink.iree import Target
    from tuninglink.specs import Entry


class PayloadError(TuninglinkError):
    """The error for an entry for which no payload exists or was found.

    Attributes:
        entry: the entry.
        reason: the reason, in words.
        verdict: refuted if the matcher provably matches nothing; undecided if no match was found.
    """

    def __init__(self, entry: Entry, reason: str, verdict: Verdict) -> None:
        what = "matches nothing" if verdict is Verdict.REFUTED else "has no payload"
        super().__init__(error(f"entry '{entry.matcher}' {what}: {reason}", entry.place))
        self.entry = entry
        self.reason = reason
        self.verdict = verdict


@dataclass(frozen=True)
class Size:
    """The size of one loop of the root op.

    Attributes:
        is_demanded: whether the matcher accepts no other size. Otherwise the size was chosen.
    """

    loop: int
    role: Role
    size: int
    is_demanded: bool

    def __str__(self) -> str:
        has_name = self.role not in (Role.PARALLEL, Role.REDUCTION)
        name = self.role.value if has_name else f"d{self.loop}"
        return f"{name} = {self.size}" + ("" if self.is_demanded else " (free)")


@dataclass(frozen=True)
class Payload:
    """A program that an entry matches.

    The program is text, so it belongs to no context and can be passed to another thread or process.

    Attributes:
        entry: the entry.
        target: the target that the sizes were chosen for, or None.
        text: the program for `iree-compile`: a public function that returns the results of the root op. The root op
            is in a separate dispatch.
        body: the dispatch as matchers see it: a module with one function, whose last operation before the return is
            the root op.
        shapes: the types of the root op's operands, for printing.
        sizes: the sizes of the root op's loops, in order.
    """

    entry: Entry
    target: Target | None
    text: str = field(repr=False)
    body: str = field(repr=False)
    shapes: str
    sizes: tuple[Size, ...]

    def dispatch(
        self, target: mlir.Attribute | None = None, context: mlir.Context | None = None
    ) -> Workload:
        """Return the dispatch for providers of constraints, without compilation.

        The target is a `#hal.executable.target` of any context. The context is by default that of the calling thread.
        """
        module = mlir.Module.parse(self.body, context or thread_context()).operation
        (function,) = collect(module, names.FUNCTION)
        if target is not None:
            if target.context != module.context:
                target = mlir.Attribute.parse(str(target), module.context)
            function.attributes[names.EXECUTABLE_TARGET] = target
        return read_workload(root_of(function), function, module)


def function_of(module: mlir.Operation) -> mlir.Operation:
    """Return the function of a payload's body."""
    (function,) = body(module)
    return function


def root_of(function: mlir.Operation) -> mlir.Operation:
    """Return the root op of the function of a payload's body."""
    operations = function.regions[0].blocks[0].operations
    root: mlir.Operation = operations[len(operations) - 2].operation
    return root


def module_of(payloads: Iterable[Payload], context: mlir.Context) -> mlir.Operation:
    """Return one module with the functions of all payloads, in order."""
    module = mlir.Module.create(mlir.Location.unknown(context)).operation
    block = module.regions[0].blocks[0]
    for position, payload in enumerate(payloads):
        parsed = mlir.Module.parse(payload.body, context).operation
        (function,) = collect(parsed, names.FUNCTION)
        name = mlir.StringAttr.get(f"payload_{position}", context)
        function.attributes[names.SYMBOL_NAME] = name
        block.append(function)
    return module


def write_body(template: Template, sized: Sized, *, fills: bool) -> mlir.Operation:
    """Return a module with a function that computes the template on its arguments.

    The module is built in the current context. With `fills`, an accumulation starts from a `linalg.fill`, as in models;
    otherwise from an argument.
    """
    created = [
        argument
        for argument in template.block.arguments
        if fills and argument in template.destinations and _is_filled(template, argument)
    ]
    arguments = [argument for argument in template.block.arguments if argument not in created]
    kinds = [_sized_type(result, sized) for result in template.root.results]
    module, block = new_function([_sized_type(argument, sized) for argument in arguments], kinds)
    values: dict[Value, Value] = dict(zip(arguments, block.arguments, strict=True))
    with mlir.InsertionPoint(block):
        values |= {value: _start(template, value, _sized_type(value, sized)) for value in created}
        results = _clone_all(template, sized, values)
        mlir.Operation.create("func.return", operands=results)
    return module


def write_program(template: Template, sized: Sized, *, fills: bool) -> mlir.Operation:
    """Return a program with a dispatch that computes the template.

    The dispatch is already formed, so the compiler neither adds operations to it nor collapses its loops. As in models,
    destinations are created in the dispatch. With `fills`, accumulations start from a `linalg.fill`, otherwise from an
    argument.
    """
    created = {
        destination
        for destination in template.destinations
        if (
            destination not in template.accumulators
            or (fills and _is_filled(template, destination))
        )
    }
    scalars = {value for value in template.block.arguments if value not in sized.shapes}
    # A fill with a constant would be folded to a constant.
    is_fill = template.root.name == names.FILL
    taken = {scalar for scalar in scalars if is_fill or not is_number(scalar.type)}
    # The function, with an empty dispatch.
    arguments = [
        value for value in template.block.arguments if value not in created | (scalars - taken)
    ]
    kinds = [_sized_type(value, sized) for value in arguments]
    types = [
        kind if isinstance(kind, mlir.RankedTensorType) else mlir.RankedTensorType.get([], kind)
        for kind in kinds
    ]
    results = [_sized_type(result, sized) for result in template.root.results]
    module, block = new_function([*map(_passable, types)], [*map(_passable, results)])
    with mlir.InsertionPoint(block):
        views = map(_bitcast, block.arguments, types)
        values: dict[Value, Value] = dict(zip(arguments, views, strict=True))
        region = mlir.Operation.create(
            "flow.dispatch.region",
            results=results,
            attributes={"operandSegmentSizes": mlir.DenseI32ArrayAttr.get([0, 0])},
            regions=2,
        )
        returned = [_bitcast(result, _passable(result.type)) for result in region.results]
        mlir.Operation.create("func.return", operands=returned)
    # The dispatch: what it creates, then the ops of the template.
    with mlir.InsertionPoint(region.regions[0].blocks.append()):
        for argument in template.block.arguments:
            if argument in created:
                values[argument] = _start(template, argument, _sized_type(argument, sized))
            elif argument in taken:
                tensor = values[argument]
                values[argument] = build("tensor.extract", tensor.type.element_type, tensor)
            elif argument in scalars:
                values[argument] = _constant(argument.type, _SCALE)
        mlir.Operation.create("flow.return", operands=_clone_all(template, sized, values))
    return module


_SCALE: Final = 0.125
"""The value of scalars, such as the scale of an attention."""


def _clone_all(template: Template, sized: Sized, values: dict[Value, Value]) -> list[Value]:
    """Clone the operations at the current insertion point. Return the results of the root op."""
    for operation in template.operations:
        results = [_sized_type(result, sized) for result in operation.results]
        clone = clone_into(operation, values, results)
        if NAME_ONLY in clone.attributes:
            del clone.attributes[NAME_ONLY]
    return [values[result] for result in template.root.results]


def _sized_type(value: Value, sized: Sized) -> mlir.Type:
    kind: mlir.Type = value.type
    if not isinstance(kind, mlir.RankedTensorType):
        return kind
    return mlir.RankedTensorType.get(sized.shapes[value], kind.element_type, kind.encoding)


def _passable(kind: mlir.Type) -> mlir.Type:
    """Return the type as which a tensor crosses the boundary of a program.

    `hal.element_type` has no code for floats of 4 and 6 bits, for several of 8 bits, and for TF32, but for all integers.
    """
    assert isinstance(kind, mlir.RankedTensorType)
    element = kind.element_type
    is_common = isinstance(element, (mlir.F16Type, mlir.BF16Type, mlir.F32Type, mlir.F64Type))
    if is_common or not isinstance(element, mlir.FloatType):
        return kind
    return mlir.RankedTensorType.get(
        kind.shape, mlir.IntegerType.get_signless(element.width), kind.encoding
    )


def _bitcast(value: Value, kind: mlir.Type) -> Value:
    """Build a view of a tensor as another type of the same width, if the types differ."""
    segments = mlir.DenseI32ArrayAttr.get([1, 0, 0])  # no dimension is dynamic
    name = "iree_tensor_ext.bitcast"
    is_same = value.type == kind
    return value if is_same else build(name, kind, value, operandSegmentSizes=segments)


def _is_filled(template: Template, argument: Value) -> bool:
    return argument in template.accumulators and is_number(argument.type.element_type)


def _start(template: Template, argument: Value, kind: mlir.Type) -> Value:
    """Build a destination: zeros for a sum, or minus infinity for a maximum."""
    assert isinstance(kind, mlir.RankedTensorType)
    empty = build("tensor.empty", kind)
    if argument not in template.accumulators:
        return empty
    # The second output of an online attention is a maximum.
    root = template.root
    is_maximum = (
        root.name == names.ONLINE_ATTENTION
        and root.operands[len(root.operands) - destination_count(root) + 1] == argument
    )
    number = float("-inf") if is_maximum else 0.0
    filled = mlir.Operation.create(
        names.FILL,
        results=[kind],
        operands=[_constant(kind.element_type, number), empty],
        attributes={"operandSegmentSizes": mlir.DenseI32ArrayAttr.get([1, 1])},
        regions=1,
    )
    _mlirDialectsLinalg.fill_builtin_region(filled)
    value: Value = filled.results[0]
    return value


def _constant(kind: mlir.Type, number: float) -> Value:
    value: mlir.Attribute = (
        mlir.FloatAttr.get(kind, number)
        if isinstance(kind, mlir.FloatType)
        else mlir.IntegerAttr.get(kind, int(number))
    )
    return build("arith.constant", kind, value=value)


# --- Sizes for a template, whose existence a solver decides, and which are chosen by preference --

_USUAL: Final = 64


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
    unsized: UnsizedOp,
    facts: Collection[HasExtent],
    configurations: Callable[[], tuple[mlir.Attribute, ...]],
) -> Sized | NoSizes:
    """Find sizes for which an operation satisfies facts, preferably multiples of the configured tiles."""
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
            self._choose(size, preferred_sizes(_USUAL, 1))
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
