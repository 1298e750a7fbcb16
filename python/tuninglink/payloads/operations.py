"""Builders for the ops of payloads on tensors of dynamic sizes: generic ops, and named structured ops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

from iree.compiler import ir as mlir

from tuninglink.iree import ATTENTION_OUTPUTS, StructuredOp
from tuninglink.matching import NAME_ONLY, STEPS, Dimension, role_name
from tuninglink.mlir import names, value_range
from tuninglink.solver import Expression, Judgements, Kind, Term, evaluate, number, unknown


class UnknownArithmeticError(Exception):
    """The error for an op that would compute on types without arithmetic. The message names the types."""


def generic(maps: Sequence[mlir.AffineMap], types: Sequence[mlir.Type]) -> Template:
    """Return a `linalg.generic` with one output that sums up the products of its inputs.

    Without reduction loops, the op stores the product.

    Args:
        maps: the indexing maps, the output's last.
        types: the element types of the operands.

    Raises:
        UnknownArithmeticError: there is no arithmetic on a type.
    """
    for type_ in types:
        if not is_number(type_):
            raise UnknownArithmeticError(f"no arithmetic for '{type_}'")
    operands = [
        open_tensor(len(map_.results), kind) for map_, kind in zip(maps, types, strict=True)
    ]
    # Loops over no dimension of the output are reductions.
    owner, block = new_block(operands)
    kept = {dim.position for dim in maps[-1].results if isinstance(dim, mlir.AffineDimExpr)}
    iterators = ["parallel" if loop in kept else "reduction" for loop in range(maps[-1].n_dims)]
    kinds = [mlir.Attribute.parse(f"#linalg.iterator_type<{iterator}>") for iterator in iterators]
    attributes: dict[str, mlir.Attribute] = {
        "indexing_maps": mlir.ArrayAttr.get([mlir.AffineMapAttr.get(map_) for map_ in maps]),
        "iterator_types": mlir.ArrayAttr.get(kinds),
        "operandSegmentSizes": mlir.DenseI32ArrayAttr.get([len(operands) - 1, 1]),
    }
    with mlir.InsertionPoint(block):
        operation = mlir.Operation.create(
            names.GENERIC,
            results=[operands[-1]],
            operands=list(block.arguments),
            attributes=attributes,
            regions=1,
        )
    locations = [mlir.Location.unknown() for _ in types]
    inner = operation.regions[0].blocks.append(*types, arg_locs=locations)
    # The body multiplies the inputs, and adds the product to the accumulator.
    with mlir.InsertionPoint(inner):
        *inputs, accumulator = inner.arguments
        value = _cast(inputs[0], types[-1])
        for input_ in inputs[1:]:
            value = _arithmetic("mul", value, _cast(input_, types[-1]))
        if "reduction" in iterators:
            value = _arithmetic("add", accumulator, value)
        mlir.Operation.create("linalg.yield", operands=[value])
    return Template(owner, block, is_exact=False)


def _arithmetic(what: str, lhs: Value, rhs: Value) -> Value:
    suffix = "f" if isinstance(lhs.type, mlir.FloatType) else "i"
    return build(f"arith.{what}{suffix}", lhs.type, lhs, rhs)


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


def attention(name: str, maps: Sequence[mlir.AffineMap], types: Sequence[mlir.Type]) -> Template:
    """Return an attention or online attention with the given maps and element types of its operands."""
    outputs = ATTENTION_OUTPUTS[name]
    operands = [
        kind if position == _SCALE else open_tensor(len(map_.results), kind)
        for position, (map_, kind) in enumerate(zip(maps, types, strict=True))
    ]
    owner, block = new_block(operands)
    attributes: dict[str, mlir.Attribute] = {
        "indexing_maps": mlir.ArrayAttr.get([mlir.AffineMapAttr.get(map_) for map_ in maps])
    }
    with mlir.InsertionPoint(block):
        operation = mlir.Operation.create(
            name,
            results=operands[len(operands) - outputs :],
            operands=list(block.arguments),
            attributes=attributes,
            regions=1,
        )
    f32 = mlir.F32Type.get()
    inner = operation.regions[0].blocks.append(f32, arg_locs=[mlir.Location.unknown()])
    with mlir.InsertionPoint(inner):
        mlir.Operation.create("iree_linalg_ext.yield", operands=list(inner.arguments))
    return Template(owner, block, is_exact=False)


_SCALE: Final = 3
"""The position of the scale, a number, among the operands of an attention."""


TAKING_MAPS: Final = frozenset(
    {"linalg.batch_matmul", "linalg.batch_reduce_matmul", "linalg.contract", "linalg.matmul"}
)
"""Named operations that accept other indexing maps than their usual ones."""

_MATMUL_RANKS: Final = {
    "linalg.matmul": (2, 2, 2),
    "linalg.batch_matmul": (3, 3, 3),
    "linalg.batch_reduce_matmul": (3, 3, 2),
}
"""The ranks of named operations that the bindings do not provide."""


def _builders() -> Any:
    from iree.compiler.dialects import linalg  # type: ignore[attr-defined] # noqa: PLC0415

    return linalg


def named(name: str, types: Sequence[mlir.Type | None], rank: int) -> Iterator[Template]:
    """Yield named structured operations. The compiler may reject some of them."""
    if name.endswith("_unsigned"):
        # The bindings abort on a float.
        if any(isinstance(kind, mlir.FloatType) for kind in types):
            return
        types = [kind or mlir.IntegerType.get_signless(32) for kind in types]
    builder: Any = getattr(_builders(), name.removeprefix("linalg."), None)
    definition: Any = getattr(builder, "op_def", None)
    if definition is not None:
        operands = list(definition.registered_operands.values())
        yield _defined(builder, operands, types, None if name not in _ANY_RANK else rank)
    elif name in _MATMUL_RANKS:
        elements = _filled(types, 3)
        tensors = [
            open_tensor(*tensor) for tensor in zip(_MATMUL_RANKS[name], elements, strict=True)
        ]
        owner, block = new_block(tensors)
        lhs, rhs, output = block.arguments
        with mlir.InsertionPoint(block):
            builder(lhs, rhs, outs=[output])
        yield Template(owner, block, is_exact=False)
    elif name in _BUILDERS:
        yield _listed(name, types, rank)


def _defined(
    builder: Any, operands: Sequence[Any], types: Sequence[mlir.Type | None], rank: int | None
) -> Template:
    """Return an operation whose definition the bindings provide."""
    elements: dict[str, mlir.Type] = {
        "I32": mlir.IntegerType.get_signless(32),
        "I64": mlir.IntegerType.get_signless(64),
        "F64": mlir.F64Type.get(),
    }
    values = [operand for operand in operands if operand.kind.name in _VALUES]
    for value, kind in zip(values, types, strict=False):
        if kind is not None:
            elements[value.type_var.name] = kind
    default = next((kind for kind in types if kind is not None), mlir.F32Type.get())
    types_: list[mlir.Type] = []
    for value in values:
        element = elements.get(value.type_var.name, default)
        size_count = len(value.size_exprs or ()) if rank is None else rank
        is_scalar = value.kind.name == "SCALAR"
        types_.append(element if is_scalar else open_tensor(size_count, element))
    owner, block = new_block(types_)
    inputs: list[Value] = []
    outputs: list[Value] = []
    for value, argument in zip(values, block.arguments, strict=True):
        (outputs if value.kind.name == "OUTPUT_TENSOR" else inputs).append(argument)
    with mlir.InsertionPoint(block):
        builder(*inputs, outs=outputs)
    return Template(owner, block, is_exact=False)


def _listed(name: str, types: Sequence[mlir.Type | None], rank: int) -> Template:
    """Return an op of `_BUILDERS`."""
    inputs, build = _BUILDERS[name]
    operands = [open_tensor(rank, element) for element in _filled(types, inputs + 1)]
    owner, block = new_block(operands)
    with mlir.InsertionPoint(block):
        build(list(block.arguments), rank)
    return Template(owner, block, is_exact=False)


def _build_contract(arguments: Sequence[Value], rank: int) -> None:
    loops = [mlir.AffineExpr.get_dim(position) for position in range(rank + 1)]
    *batch, m, n, k = loops
    maps = [
        mlir.AffineMap.get(rank + 1, 0, [*batch, *loops_]) for loops_ in ((m, k), (k, n), (m, n))
    ]
    lhs, rhs, output = arguments
    _builders().contract(lhs, rhs, outs=[output], indexing_maps=maps)


def _build_elementwise(arguments: Sequence[Value], rank: int) -> None:
    source, output = arguments
    identity = mlir.AffineMap.get_identity(rank)
    linalg = _builders()
    kind = linalg.ElementwiseKind.exp
    linalg.elementwise(source, outs=[output], kind=kind, indexing_maps=[identity, identity])


def _build_softmax(arguments: Sequence[Value], rank: int) -> None:
    source, output = arguments
    _builders().softmax([output.type], source, output, rank - 1)


def _build_transpose(arguments: Sequence[Value], rank: int) -> None:
    source, output = arguments
    _builders().transpose(source, outs=[output], permutation=list(reversed(range(rank))))


_BUILDERS: Final[dict[str, tuple[int, Callable[[Sequence[Value], int], None]]]] = {
    "linalg.contract": (2, _build_contract),
    "linalg.elementwise": (1, _build_elementwise),
    "linalg.softmax": (1, _build_softmax),
    "linalg.transpose": (1, _build_transpose),
}
"""The number of inputs and the builder of each op."""


def _filled(types: Sequence[mlir.Type | None], count: int) -> list[mlir.Type]:
    default = next((type_ for type_ in types if type_ is not None), mlir.F32Type.get())
    return [type_ or default for type_ in [*types, *([None] * count)][:count]]


_VALUES: Final = frozenset({"INPUT_TENSOR", "OUTPUT_TENSOR", "SCALAR"})
_ANY_RANK: Final = frozenset({"linalg.copy", names.FILL})
"""Operations that the bindings define for any rank."""


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
    for position, operand in enumerate(operation.operands):
        clone.operands[position] = values[operand]
    _replace_inside(clone, values)
    for old, new, type_ in zip(operation.results, clone.results, results, strict=True):
        new.set_type(type_)
        values[old] = new
    return clone


def _replace_inside(operation: mlir.Operation, values: dict[Value, Value]) -> None:
    """Replace the outside values that operations in regions use."""
    for region in operation.regions:
        for block in region.blocks:
            for child in block.operations:
                inner = child.operation
                for position, operand in enumerate(inner.operands):
                    inner.operands[position] = values.get(operand, operand)
                _replace_inside(inner, values)


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
        elif any(
            any(size.term.kind is not Kind.CONSTANT for size in self.shapes.get(value, ()))
            for value in (*operation.operands, *operation.results)
        ):
            raise UnsizedError(f"the relation between the sizes of '{operation.name}' is unknown")

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
