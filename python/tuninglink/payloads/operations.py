"""Builders for the ops of payloads on tensors of dynamic sizes: generic ops, and named structured ops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

from iree.compiler import ir as mlir

from tuninglink.iree import ATTENTION_OUTPUTS, StructuredOp
from tuninglink.matching import NAME_ONLY, STEPS, Dimension, role_name
from tuninglink.mlir import names, value_range, visit
from tuninglink.solver import Expression, Judgements, Kind, Term, evaluate, number, unknown


class UnknownArithmeticError(Exception):
    """The error for an op that would compute on types without arithmetic. The message names the types."""


def generic(maps: Sequence[mlir.AffineMap], types: Sequence[mlir.Type]) -> Template:
    """Return a `linalg.generic` with one output that sums up the products of its inputs, or stores them without reductions.

    The output has the last of the maps.
    """
    for type_ in types:
        if not is_number(type_):
            raise UnknownArithmeticError(f"no arithmetic for '{type_}'")
    operands = [
        open_tensor(len(map_.results), kind) for map_, kind in zip(maps, types, strict=True)
    ]
    # Loops over no dimension of the output are reductions.
    kept = {dim.position for dim in maps[-1].results if isinstance(dim, mlir.AffineDimExpr)}
    iterators = ["parallel" if loop in kept else "reduction" for loop in range(maps[-1].n_dims)]
    kinds = [mlir.Attribute.parse(f"#linalg.iterator_type<{iterator}>") for iterator in iterators]
    attributes = {
        "iterator_types": mlir.ArrayAttr.get(kinds),
        "operandSegmentSizes": mlir.DenseI32ArrayAttr.get([len(operands) - 1, 1]),
    }
    template, inner = _with_maps(
        names.GENERIC, maps, operands, 1, inner=types, attributes=attributes
    )
    # The body multiplies the inputs, and adds the product to the accumulator.
    with mlir.InsertionPoint(inner):
        *inputs, accumulator = inner.arguments
        kind = types[-1]
        suffix = "f" if isinstance(kind, mlir.FloatType) else "i"
        value = _cast(inputs[0], kind)
        for input_ in inputs[1:]:
            value = build(f"arith.mul{suffix}", kind, value, _cast(input_, kind))
        if "reduction" in iterators:
            value = build(f"arith.add{suffix}", kind, accumulator, value)
        mlir.Operation.create("linalg.yield", operands=[value])
    return template


def attention(name: str, maps: Sequence[mlir.AffineMap], types: Sequence[mlir.Type]) -> Template:
    """Return an attention or online attention with the given maps and element types of its operands."""
    operands = [
        kind if position == _SCALE else open_tensor(len(map_.results), kind)
        for position, (map_, kind) in enumerate(zip(maps, types, strict=True))
    ]
    scores = [mlir.F32Type.get()]
    template, inner = _with_maps(
        name, maps, operands, ATTENTION_OUTPUTS[name], inner=scores, attributes={}
    )
    with mlir.InsertionPoint(inner):
        mlir.Operation.create("iree_linalg_ext.yield", operands=list(inner.arguments))
    return template


_SCALE: Final = 3
"""The position of the scale, a number, among the operands of an attention."""


def _with_maps(
    name: str,
    maps: Sequence[mlir.AffineMap],
    operands: Sequence[mlir.Type],
    outputs: int,
    *,
    inner: Sequence[mlir.Type],
    attributes: Mapping[str, mlir.Attribute],
) -> tuple[Template, mlir.Block]:
    """Return an op with indexing maps, and the empty block of its region, which takes values of the types `inner`."""
    owner, block = new_block(operands)
    maps_attribute = mlir.ArrayAttr.get([mlir.AffineMapAttr.get(map_) for map_ in maps])
    with mlir.InsertionPoint(block):
        operation = mlir.Operation.create(
            name,
            results=operands[len(operands) - outputs :],
            operands=list(block.arguments),
            attributes={"indexing_maps": maps_attribute, **attributes},
            regions=1,
        )
    locations = [mlir.Location.unknown()] * len(inner)
    region = operation.regions[0].blocks.append(*inner, arg_locs=locations)
    return Template(owner, block, is_exact=False), region


def _cast(value: Value, type_: mlir.Type) -> Value:
    """Build the conversion of a number to another type, with the casts of frontends."""
    kind = value.type
    if kind == type_:
        return value
    if isinstance(kind, mlir.FloatType) and isinstance(type_, mlir.FloatType):
        if kind.width == type_.width:
            return _cast(_cast(value, mlir.F32Type.get()), type_)
        name = "extf" if kind.width < type_.width else "truncf"
    elif isinstance(kind, mlir.IntegerType) and isinstance(type_, mlir.IntegerType):
        name = "extsi" if kind.width < type_.width else "trunci"
    else:
        name = "sitofp" if isinstance(type_, mlir.FloatType) else "fptosi"
    return build(f"arith.{name}", type_, value)


TAKING_MAPS: Final = frozenset(
    {"linalg.batch_matmul", "linalg.batch_reduce_matmul", "linalg.contract", "linalg.matmul"}
)
"""Named operations that accept other indexing maps than their usual ones."""

_RANKS: Final[Mapping[str, Sequence[int | None]]] = {
    "linalg.matmul": (2, 2, 2),
    "linalg.batch_matmul": (3, 3, 3),
    "linalg.batch_reduce_matmul": (3, 3, 2),
    "linalg.contract": (None, None, None),
    "linalg.elementwise": (None, None),
    "linalg.softmax": (None, None),
    "linalg.transpose": (None, None),
}
"""The ranks of the operands of named operations that the bindings do not define, None for any common rank."""

_ANY_RANK: Final = frozenset({"linalg.copy", names.FILL})
"""Operations that the bindings define for any rank."""

_VALUES: Final = frozenset({"INPUT_TENSOR", "OUTPUT_TENSOR", "SCALAR"})


def named(name: str, types: Sequence[mlir.Type | None], rank: int) -> Iterator[Template]:
    """Yield named structured operations. The compiler may reject some of them."""
    from iree.compiler.dialects import linalg  # type: ignore[attr-defined] # noqa: PLC0415

    if name.endswith("_unsigned"):
        # The bindings abort on a float.
        if any(isinstance(kind, mlir.FloatType) for kind in types):
            return
        types = [kind or mlir.IntegerType.get_signless(32) for kind in types]
    default = next((kind for kind in types if kind is not None), mlir.F32Type.get())
    builder: Any = getattr(linalg, name.removeprefix("linalg."), None)
    definition: Any = getattr(builder, "op_def", None)
    operands: list[mlir.Type] = []
    if definition is not None:
        # The definition states which operands have the same element type.
        definitions = definition.registered_operands.values()
        values = [value for value in definitions if value.kind.name in _VALUES]
        elements: dict[str, mlir.Type] = {
            "I32": mlir.IntegerType.get_signless(32),
            "I64": mlir.IntegerType.get_signless(64),
            "F64": mlir.F64Type.get(),
        }
        for value, kind in zip(values, types, strict=False):
            if kind is not None:
                elements[value.type_var.name] = kind
        for value in values:
            element = elements.get(value.type_var.name, default)
            count = rank if name in _ANY_RANK else len(value.size_exprs or ())
            is_scalar = value.kind.name == "SCALAR"
            operands.append(element if is_scalar else open_tensor(count, element))
        are_outputs = [value.kind.name == "OUTPUT_TENSOR" for value in values]
    elif name in _RANKS:
        kinds = [*types, *[None] * len(_RANKS[name])]
        for size_count, kind in zip(_RANKS[name], kinds, strict=False):
            count = rank if size_count is None else size_count
            operands.append(open_tensor(count, kind or default))
        are_outputs = [*[False] * (len(operands) - 1), True]
    else:
        return
    owner, block = new_block(operands)
    inputs = [
        value
        for value, is_output in zip(block.arguments, are_outputs, strict=True)
        if not is_output
    ]
    outputs = [
        value for value, is_output in zip(block.arguments, are_outputs, strict=True) if is_output
    ]
    with mlir.InsertionPoint(block):
        if name == "linalg.softmax":
            builder([outputs[0].type], *inputs, *outputs, rank - 1)
        else:
            further: dict[str, Any] = {}
            if name == "linalg.contract":
                *batch, m, n, k = map(mlir.AffineExpr.get_dim, range(rank + 1))
                further["indexing_maps"] = [
                    mlir.AffineMap.get(rank + 1, 0, [*batch, *loops])
                    for loops in ((m, k), (k, n), (m, n))
                ]
            elif name == "linalg.elementwise":
                further["kind"] = linalg.ElementwiseKind.exp
                further["indexing_maps"] = [mlir.AffineMap.get_identity(rank)] * 2
            elif name == "linalg.transpose":
                further["permutation"] = list(reversed(range(rank)))
            builder(*inputs, outs=outputs, **further)
    yield Template(owner, block, is_exact=False)


# --- Templates: the ops that a matcher matches, as IR whose sizes are not yet chosen -------------

Value = mlir.Value[Any]
DYNAMIC = mlir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class Template:
    """A root op with the ops that compute its operands. Sizes that are not yet chosen are dynamic."""

    owner: mlir.Operation
    block: mlir.Block
    is_exact: bool

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
    def accumulators(self) -> frozenset[Value]:
        """The arguments that an op reads. A destination that is among them accumulates."""
        return frozenset(
            argument
            for argument in self.block.arguments
            if any(
                argument in list(operation.operands) and _reads(operation, argument)
                for operation in self.operations
            )
        )

    @cached_property
    def name_only_argument(self) -> int | None:
        """The first argument whose users are all matched by name only, or None.

        The compiler does not match a graph with such an argument.
        """
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


def _reads(operation: mlir.Operation, argument: Value) -> bool:
    if not operation.name.startswith("linalg.") or not list(operation.regions):
        return True
    position = list(operation.operands).index(argument)
    inner = operation.regions[0].blocks[0].arguments
    return position < len(inner) and any(True for _ in inner[position].uses)


def destination_count(operation: mlir.Operation) -> int:
    """Return the number of trailing operands that are destinations."""
    is_structured = operation.name.startswith(("linalg.", "iree_linalg_ext."))
    return len(operation.results) if is_structured else 0


def is_number(kind: mlir.Type) -> bool:
    """Return whether arithmetic is defined on a type: a float, or a signless integer."""
    return isinstance(kind, mlir.FloatType) or (
        isinstance(kind, mlir.IntegerType) and kind.is_signless
    )


def open_tensor(rank: int, element: mlir.Type) -> mlir.RankedTensorType:
    """Return the type of a tensor whose sizes are all dynamic."""
    location = mlir.Location.unknown(element.context)
    return mlir.RankedTensorType.get([DYNAMIC] * rank, element, loc=location)


def new_block(types: Sequence[mlir.Type]) -> tuple[mlir.Operation, mlir.Block]:
    """Return a block with arguments of these types, and the module that keeps it alive."""
    module = mlir.Module.create().operation
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        holder = mlir.Operation.create(names.MODULE, regions=1)
    locations = [mlir.Location.unknown()] * len(types)
    return module, holder.regions[0].blocks.append(*types, arg_locs=locations)


def new_function(
    inputs: Sequence[mlir.Type], results: Sequence[mlir.Type]
) -> tuple[mlir.Operation, mlir.Block]:
    """Return a module with one function, and the block of its body."""
    module = mlir.Module.create().operation
    kind = mlir.FunctionType.get(list(inputs), list(results))
    with mlir.InsertionPoint(module.regions[0].blocks[0]):
        function = mlir.Operation.create(
            names.FUNCTION,
            attributes={
                names.SYMBOL_NAME: mlir.StringAttr.get("payload"),
                "function_type": mlir.TypeAttr.get(kind),
            },
            regions=1,
        )
    locations = [mlir.Location.unknown()] * len(inputs)
    return module, function.regions[0].blocks.append(*inputs, arg_locs=locations)


def build(name: str, result: mlir.Type, *operands: Value, **attributes: mlir.Attribute) -> Value:
    """Build an operation with one result at the current insertion point, and return the result."""
    operation = mlir.Operation.create(
        name, results=[result], operands=list(operands), attributes=attributes
    )
    built: Value = operation.results[0]
    return built


def clone_into(
    operation: mlir.Operation, values: dict[Value, Value], results: Iterable[mlir.Type]
) -> mlir.Operation:
    """Clone an operation at the current insertion point, with the given result types."""
    clone = operation.clone().operation

    def replace_operands(inner: mlir.Operation) -> None:
        for position, operand in enumerate(inner.operands):
            inner.operands[position] = values.get(operand, operand)

    visit(clone, replace_operands)
    for old, new, type_ in zip(operation.results, clone.results, results, strict=True):
        new.set_type(type_)
        values[old] = new
    return clone


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
        if operation == self._template.root:
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
