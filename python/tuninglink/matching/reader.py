"""Matchers as data: predicates, the place where reading stopped, and the meanings of values; and their reading.

The readings of one module share a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from iree.compiler import ir as mlir

from tuninglink.errors import Place
from tuninglink.iree import (
    ROLES,
    OpKind,
    Role,
    StructuredOp,
    ValueType,
    affine_maps,
    indexing_loops,
    loops_by_role,
)
from tuninglink.matching import predicates as pred
from tuninglink.matching.predicates import Predicate, ValueRef
from tuninglink.mlir import (
    body,
    children,
    collect,
    integer_value,
    names,
    place_of,
    postorder,
    reference,
)
from tuninglink.specs import FAILURES_PROPAGATE, Handle, SequenceTable, is_any_op


class ContradictionError(Exception):
    """A matcher has a requirement that no operation satisfies; the message gives the reason."""


class Stop(NamedTuple):
    """The place and the reason where the reading of a matcher stopped."""

    reason: str
    place: Place | None = None
    rest: Hashable | None = None


@dataclass(frozen=True)
class Matcher:
    """A matcher as data: its predicates in the order of the interpreter, and where reading stopped, if it did.

    The predicates are necessary: if one does not hold, the matcher fails silently. Together, they are exact if the
    reading did not stop.
    """

    predicates: tuple[Predicate, ...]
    stop: Stop | None = None


@dataclass(frozen=True)
class RoleRef:
    """The sizes of the candidate op's loops in a role."""

    kind: OpKind
    role: str


@dataclass(frozen=True)
class Constant:
    """A constant, which does not depend on the op."""

    value: Hashable


@dataclass(frozen=True)
class UnknownResult:
    """An unknown result, equal for ops with the same key."""

    op: int
    number: int


ROOT: Final = "root"
"""The candidate op of the matcher."""

Meaning: TypeAlias = str | ValueRef | RoleRef | Constant | UnknownResult


_MAX_DEPTH: Final = 32
"""The maximum depth to which nested includes are followed."""

_MAX_OPS: Final = 10_000
"""The maximum number of ops read for one matcher. The ops of an included sequence count each time."""


@dataclass(eq=False)
class Reading:
    """The reading of one matcher. From the first op that is not understood, ops are represented by their structure."""

    reader: MatcherReader
    table: SequenceTable | None
    depth: int = 0
    _predicates: list[Predicate] = field(default_factory=list)
    _stop: Stop | None = None
    _rest: list[Hashable] = field(default_factory=list)
    _left: int = _MAX_OPS
    _meanings: dict[Handle, Meaning] = field(default_factory=dict)

    def run(self, sequence: mlir.Operation) -> Matcher:
        """Read a matcher."""
        blocks = list(sequence.regions[0].blocks)
        arguments = list(blocks[0].arguments) if blocks else []
        try:
            if len(arguments) != 1:
                raise NotUnderstoodError("it is not a sequence of one argument")
            if not is_any_op(arguments[0].type):
                raise NotUnderstoodError("it takes a typed op, and any other is an error")
            self._meanings[arguments[0]] = ROOT
            self._block(blocks[0])
        except NotUnderstoodError as failure:
            unread = Stop(str(failure), place_of(sequence.location))
            return Matcher(tuple(self._predicates), self._stop or unread)
        stop = self._stop._replace(rest=tuple(self._rest)) if self._stop else None
        return Matcher(tuple(self._predicates), stop)

    def record(self, *predicates: pred.Predicate) -> None:
        (self._rest if self._stop else self._predicates).extend(predicates)

    def _block(self, block: mlir.Block) -> list[Meaning]:
        """Read the body of a sequence, and return the meanings of the yielded values."""
        for view in block.operations:
            op = view.operation
            name = op.name
            if name == names.YIELD:
                return [self.meaning(operand) for operand in op.operands] if self.depth else []
            self._left -= 1
            if self._left < 0:
                raise NotUnderstoodError(f"it is longer than {_MAX_OPS} operations")
            try:
                reader = READERS.get(name)
                if name in (names.GET_PRODUCER, names.GET_CONSUMERS):
                    raise NotUnderstoodError("it also requires other ops around the matched one")
                if reader is None:
                    raise NotUnderstoodError(f"'{name}' is not understood")
                reader(self, op)
            except NotUnderstoodError as failure:
                if self._left < 0:
                    raise
                self._skip(op, str(failure))
        return []

    def _skip(self, op: mlir.Operation, reason: str) -> None:
        """Record an op that is not understood."""
        if self._stop is None:
            self._stop = Stop(reason, place_of(op.location))
        regions: Hashable
        try:
            regions = regions_key(op)
        except NotUnderstoodError:
            regions = object()  # They capture values, and equal no others.
        key = (
            op.name,
            id(self.table),  # References are resolved in this table.
            frozenset((name, str(value)) for name, value in op.attributes.items()),
            tuple(map(self.meaning, op.operands)),
            tuple(str(result.type) for result in op.results),
            regions,
        )
        self._rest.append(key)
        self.define(op, self.unknown(op, key))

    def unknown(self, op: mlir.Operation, key: Hashable) -> list[Meaning]:
        """Return unknown results of an op, identified only by a key of the op."""
        numbers = self.reader.numbers
        number = numbers.setdefault(key, len(numbers)) if list(op.results) else 0
        return [UnknownResult(number, position) for position in range(len(op.results))]

    def include(self, op: mlir.Operation) -> None:
        """Read the included sequence of an include."""
        target, mode = op.attributes["target"], op.attributes["failure_propagation_mode"]
        if not isinstance(mode, mlir.IntegerAttr) or mode.value != FAILURES_PROPAGATE:
            raise NotUnderstoodError(f"it includes {target} and goes on where that fails")
        outer = self.table
        result = outer.resolve(reference(target)) if outer else None
        if result is None:
            raise NotUnderstoodError(f"it includes {target}, which is not known")
        if self.depth == _MAX_DEPTH:
            raise NotUnderstoodError(f"its includes are nested more than {_MAX_DEPTH} deep")
        inner, sequence = result
        blocks = list(sequence.regions[0].blocks)
        types = [operand.type for operand in op.operands]
        if not blocks or [argument.type for argument in blocks[0].arguments] != types:
            raise NotUnderstoodError(f"it includes {target}, which cannot be included like that")
        arguments = [self.meaning(operand) for operand in op.operands]
        self._meanings.update(zip(blocks[0].arguments, arguments, strict=True))
        self.table, self.depth = inner, self.depth + 1
        yielded = self._block(blocks[0])
        self.table, self.depth = outer, self.depth - 1
        if len(yielded) != len(op.results):
            raise NotUnderstoodError(f"it includes {target}, which cannot be included like that")
        self._meanings.update(zip(op.results, yielded, strict=True))

    def define(self, op: mlir.Operation, meanings: Sequence[Meaning]) -> None:
        self._meanings.update(zip(op.results, meanings, strict=True))

    def meaning(self, value: Handle) -> Meaning:
        meaning = self._meanings.get(value)
        if meaning is None:
            # Most matchers only yield their constants, so constants are read on use.
            owner = value.owner
            assert isinstance(owner, mlir.OpView | mlir.Operation)
            meaning = Constant(owner.operation.attributes["value"])
        return meaning

    def expect_root(self, op: mlir.Operation) -> None:
        if self.meaning(op.operands[0]) is not ROOT:
            raise NotUnderstoodError("it reads operations other than the one that it receives")

    def value(self, op: mlir.Operation) -> pred.ValueRef:
        """Return the operand or result that a matcher op tests."""
        meaning = self.meaning(op.operands[0])
        if not isinstance(meaning, pred.ValueRef):
            raise NotUnderstoodError("it looks at several operands or results")
        return meaning

    def dimension(self, op: mlir.Operation) -> pred.Dimension:
        """Return the dimension that a matcher op tests."""
        value, number = self.value(op), integer_value(op.attributes["dim"])
        if number < 0:
            raise NotUnderstoodError("it requires a dimension before the first")
        return value.group, value.number, number


OpReader = Callable[[Reading, mlir.Operation], None]
"""Reads a matcher op: its requirements, and the meaning of its results.

Raises `NotUnderstoodError` where the op is not understood.
"""


# --- The reader of matchers: from a `transform.named_sequence` to predicates ---------------------

_ANY_SIZE: Final = -1
"""The value in `dims_equal` that stands for any size."""

_INDEXING_MAPS: Final = "indexing_maps"


@dataclass(frozen=True)
class StructuredMatcher:
    """A matcher op for structured ops of one kind."""

    kind: OpKind
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    op_name: str = ""

    @property
    def operands(self) -> Mapping[str, int]:
        """The positions of the operands by their names; those of outputs count from the last, as -1."""
        outputs = {name: at - len(self.outputs) for at, name in enumerate(self.outputs)}
        return {name: at for at, name in enumerate(self.inputs)} | outputs

    @property
    def roles(self) -> tuple[str, ...]:
        loops = (role.value.replace(" ", "_") for role in ROLES[self.kind])
        return (*loops, *(pred.STEPS if self.kind is OpKind.CONVOLUTION else ()))

    def attributes(self, maps: str | None, types: Sequence[str]) -> dict[str, mlir.Attribute]:
        """Return the attributes of the matcher op for the maps and the element types of all operands."""
        attributes = {_INDEXING_MAPS: mlir.Attribute.parse(maps)} if maps is not None else {}
        for role, operand in self.operands.items():
            element = mlir.Type.parse(types[operand])
            attributes[f"{role}_type"] = mlir.TypeAttr.get(element)
        return attributes


STRUCTURED_MATCHERS: Final = {
    names.MATCH_CONTRACTION: StructuredMatcher(OpKind.CONTRACTION, ("lhs", "rhs"), ("output",)),
    names.MATCH_CONVOLUTION: StructuredMatcher(OpKind.CONVOLUTION, ("lhs", "rhs"), ("output",)),
    names.MATCH_ATTENTION: StructuredMatcher(
        OpKind.ATTENTION, ("query", "key", "value"), ("output",), names.ATTENTION
    ),
    names.MATCH_ONLINE_ATTENTION: StructuredMatcher(
        OpKind.ATTENTION,
        ("query", "key", "value", "scale"),
        ("output", "max", "sum"),
        names.ONLINE_ATTENTION,
    ),
}


def _read_property(reading: Reading, op: mlir.Operation) -> None:
    """Read a matcher op that tests a property of the candidate op, or returns a part of it."""
    if op.name == names.GET_RESULT and not reading.depth:
        raise NotUnderstoodError(
            f"'{op.name}' is in the matcher itself, which is an error when it runs"
        )
    reading.expect_root(op)
    match op.name:
        case names.HAS_NO_LOWERING_CONFIG:
            reading.record(pred.IsUnconfigured())
        case names.MATCH_OPERATION_NAME:
            attribute = op.attributes["op_names"]
            assert isinstance(attribute, mlir.ArrayAttr)
            accepted = tuple(name.value for name in attribute if isinstance(name, mlir.StringAttr))
            reading.record(pred.NameIn(accepted))
        case names.MATCH_REGIONS:
            example = next(body(op))
            reading.record(pred.HasRegions(regions_key(example), computation_of(example)))
        case _ if "is_all" in op.attributes:  # It fails for no op.
            reading.define(op, reading.unknown(op, op.name))
        case _:
            positions = op.attributes["raw_position_list"]
            assert isinstance(positions, mlir.DenseI64ArrayAttr)
            is_single = len(positions) == 1 and positions[0] >= 0
            if not is_single or "is_inverted" in op.attributes:
                raise NotUnderstoodError("it takes several operands, or counts from the last")
            group = pred.OPERAND if op.name == names.GET_OPERAND else pred.RESULT
            value = pred.ValueRef(group, positions[0])
            reading.record(pred.HasValue(value))
            reading.define(op, [value])


def _read_sizes(reading: Reading, op: mlir.Operation) -> None:
    """Read a matcher op that tests the type or the sizes of an operand or result, or the sizes of a role."""
    match op.name:
        case names.MATCH_TYPE:
            attribute = op.attributes["target_type"]
            assert isinstance(attribute, mlir.TypeAttr)
            expected = ValueType.of(attribute.value)
            reading.record(pred.IsCastCompatible(reading.value(op), expected))
        case names.MATCH_DIM_MULTIPLE:
            factor = integer_value(op.attributes["size"])
            if factor <= 0:
                raise NotUnderstoodError("it requires multiples of a number that is not positive")
            reading.record(pred.HasExtent(reading.dimension(op), pred.Extent(factor=factor)))
        case names.MATCH_DIM_BOUNDS:
            dimension = reading.dimension(op)
            for name, side in (("lower_bound", "low"), ("upper_bound", "high")):
                if (bound := op.attributes.get(name)) is not None:
                    extent = pred.Extent(**{side: integer_value(bound)})
                    reading.record(pred.HasExtent(dimension, extent))
        case _:
            role = reading.meaning(op.operands[0])
            if not isinstance(role, RoleRef):
                raise NotUnderstoodError("it compares other values than dimensions of a role")
            values = op.attributes["expected_values"]
            assert isinstance(values, mlir.DenseI64ArrayAttr)
            if mlir.ShapedType.get_dynamic_size() in list(values):
                raise NotUnderstoodError("it requires dimensions that are dynamic")
            sizes = tuple(None if size == _ANY_SIZE else size for size in values)
            reading.record(pred.HasRoleSizes(role.kind, role.role, sizes))


def _structured(reading: Reading, op: mlir.Operation) -> None:
    """Read the matcher op for a kind: its attributes are types and maps, its results are sizes by role."""
    reading.expect_root(op)
    structured = reading.reader.structured
    key = op.name, *op.attributes.values()
    if key not in structured:
        form = STRUCTURED_MATCHERS[op.name]
        name = pred.NameIn((form.op_name,)) if form.op_name else pred.IsKind(form.kind)
        predicates: list[Predicate] = [name]
        for role, operand in form.operands.items():
            attribute = op.attributes[f"{role}_type"]
            assert isinstance(attribute, mlir.TypeAttr)
            element = str(attribute.value)
            predicates.append(pred.HasElementType(form.kind, operand, role, element))
        if _INDEXING_MAPS in op.attributes:
            attribute = op.attributes[_INDEXING_MAPS]
            if len(affine_maps(attribute)) < len(form.operands):
                raise NotUnderstoodError("it requires fewer indexing maps than there are operands")
            maps = reading.reader.maps(attribute, form.kind, len(form.outputs))
            predicates.append(pred.HasMaps(maps, form.inputs, form.outputs))
        if form.op_name:
            predicates.append(pred.IsUnmasked())
        structured[key] = predicates, [RoleRef(form.kind, role) for role in form.roles]
    required, meanings = structured[key]
    reading.record(*required)
    reading.define(op, meanings)


def _dag(reading: Reading, op: mlir.Operation) -> None:
    """Read a DAG; the candidate op must equal the last op of the DAG, whose sizes may be dynamic."""
    reading.expect_root(op)
    *_, root, _ = body(op)
    reading.record(pred.NameIn((root.name,)))
    if NAME_ONLY in root.attributes:
        raise NotUnderstoodError("of its graph's last operation only the name counts")
    structured = StructuredOp(root)
    attributes = {name: str(value) for name, value in root.attributes.items()}
    reading.record(pred.HasOperandCount(len(root.operands)))
    attributes.pop(_INDEXING_MAPS, None)
    if structured.maps_attribute is not None and structured.maps:
        outputs = len(structured.maps) - structured.first_output
        maps = reading.reader.maps(structured.maps_attribute, structured.kind, outputs)
        reading.record(pred.HasMaps(maps))
    reading.record(pred.HasAttributes(tuple(sorted(attributes.items()))))
    for number, expected in enumerate(structured.operands):
        reading.record(pred.IsCastCompatible(pred.ValueRef(pred.OPERAND, number), expected))
    reading.record(pred.HasRegions(regions_key(root), computation_of(root)))
    arguments = {
        operand.arg_number for operand in root.operands if isinstance(operand, mlir.BlockArgument)
    }
    has_free_operands = len(arguments) == len(root.operands)
    dag = pred.IsDag(_graph_key(root), _own_key(root), structured.kind, has_free_operands)
    reading.record(dag)
    reading.define(op, reading.unknown(op, dag))


READERS: Final[Mapping[str, OpReader]] = {
    names.INCLUDE: Reading.include,
    names.PARAM_CONSTANT: lambda _reading, _op: None,  # read on use
    names.MATCH_OPERATION_NAME: _read_property,
    names.HAS_NO_LOWERING_CONFIG: _read_property,
    names.MATCH_REGIONS: _read_property,
    names.GET_OPERAND: _read_property,
    names.GET_RESULT: _read_property,
    **dict.fromkeys(STRUCTURED_MATCHERS, _structured),
    names.MATCH_DIMS_EQUAL: _read_sizes,
    names.MATCH_DIM_MULTIPLE: _read_sizes,
    names.MATCH_DIM_BOUNDS: _read_sizes,
    names.MATCH_TYPE: _read_sizes,
    names.MATCH_DAG: _dag,
}
"""The readers of matcher ops, by name."""


@dataclass(frozen=True, eq=False)
class MatcherReader:
    """Reads the matchers of one module; shared parts are read once."""

    table: SequenceTable | None = None
    structured: dict[Hashable, tuple[Sequence[Predicate], Sequence[Meaning]]] = field(
        default_factory=dict
    )
    numbers: dict[Hashable, int] = field(default_factory=dict)
    _matchers: dict[str, Matcher] = field(default_factory=dict)
    _maps: dict[Hashable, pred.Maps] = field(default_factory=dict)

    def read(self, path: str) -> Matcher:
        """Read the matcher at a path."""
        matcher = self._matchers.get(path)
        if matcher is None:
            result = self.table.resolve(path) if self.table else None
            if result is None:
                matcher = Matcher((), Stop("there is no such matcher"))
            else:
                matcher = self.read_sequence(result[1], result[0])
            self._matchers[path] = matcher
        return matcher

    def read_sequence(
        self, sequence: mlir.Operation, table: SequenceTable | None = None
    ) -> Matcher:
        """Read a sequence, given the sequences that it can include."""
        return Reading(self, table or self.table).run(sequence)

    def maps(self, attribute: mlir.Attribute, kind: OpKind, outputs: int) -> pred.Maps:
        """Return indexing maps as data."""
        key = attribute, kind, outputs
        if key not in self._maps:
            maps = affine_maps(attribute)
            roles: Mapping[Role, tuple[int, ...]] = {}
            if kind is OpKind.ATTENTION or (
                kind in ROLES and len(maps) == pred.STRUCTURED_OPERANDS
            ):
                roles = loops_by_role(kind, maps, len(maps) - outputs)
            self._maps[key] = pred.Maps(
                str(attribute),
                tuple(map(str, maps)),
                maps[0].n_dims,
                tuple(map(indexing_loops, maps)),
                tuple(
                    (f"{kind.value} {role.value.replace(' ', '_')}", loops)
                    for role, loops in roles.items()
                ),
            )
        return self._maps[key]


# --- The properties of an op that matchers test, and keys that are equal for equivalent regions and graphs

Value = mlir.Value[Any]

NAME_ONLY: Final = names.NAME_ONLY
"""Marks an operation of a graph that is compared by name only."""


class NotUnderstoodError(Exception):
    """A matcher has an unsupported requirement, named in the message."""


def _graph_key(root: mlir.Operation) -> Hashable:
    """Return a key of the graph in a `cast_compatible_dag_from_root`: equal for graphs that match the same payloads."""
    # It has the properties that `MatchCastCompatibleDagFromRootOp::matchOperation` compares.
    # The key is linear in the size of the graph, and distinguishes one producer with two uses from two equal producers.
    # The key of the root op omits sizes, since its operands are constrained separately.
    numbers: dict[mlir.Operation, int] = {}
    nodes: list[Hashable] = []

    def producers(operation: mlir.Operation) -> list[mlir.Operation]:
        if NAME_ONLY in operation.attributes:
            return []
        results = [operand for operand in operation.operands if isinstance(operand, mlir.OpResult)]
        return [result.owner.operation for result in results]

    def operands(operation: mlir.Operation) -> Hashable:
        return tuple(
            value.arg_number
            if isinstance(value, mlir.BlockArgument)
            else (numbers[value.owner.operation], value.result_number)
            for value in operation.operands
            if isinstance(value, mlir.BlockArgument | mlir.OpResult)
        )

    for producer in postorder(producers(root), producers):
        if NAME_ONLY in producer.attributes:
            nodes.append((NAME_ONLY, producer.name))
        else:
            types = tuple(str(operand.type) for operand in producer.operands)
            nodes.append((_own_key(producer), types, operands(producer)))
        numbers[producer] = len(numbers)
    return (*nodes, (_own_key(root), operands(root)))


def _own_key(operation: mlir.Operation) -> Hashable:
    """Return the key of an op without its operands."""
    return (
        operation.name,
        frozenset((name, str(value)) for name, value in operation.attributes.items()),
        len(operation.results),
        len(operation.operands),
        regions_key(operation),
    )


def computation_of(operation: mlir.Operation) -> str:
    """Return the names of the operations in the regions of an operation."""
    _, *inner = collect(operation)
    return ", ".join(op.name for op in inner if not op.name.endswith(".yield")) or "nothing"


def regions_key(
    operation: mlir.Operation, numbers: dict[Value, int] | None = None
) -> tuple[Hashable, ...]:
    """Return a key of regions that does not depend on the names of values.

    Keys are equal for regions that `isStructurallyEquivalentTo` considers equivalent. The `numbers` are those of values
    in order of appearance.

    Raises:
        NotUnderstoodError: a region captures values.
    """
    numbers = {} if numbers is None else numbers
    inside = children(operation)
    regions: list[Hashable] = []
    for region in operation.regions:
        blocks: list[Hashable] = []
        for block in region.blocks:
            for argument in block.arguments:
                numbers[argument] = len(numbers)
            keys: list[Hashable] = []
            for op in inside:
                if op.block != block:
                    continue
                if any(operand not in numbers for operand in op.operands):
                    raise NotUnderstoodError("a region uses values from around it")
                attributes = frozenset((name, str(value)) for name, value in op.attributes.items())
                operands = tuple(numbers[operand] for operand in op.operands)
                nested = regions_key(op, numbers)
                for result in op.results:
                    numbers[result] = len(numbers)
                types = tuple(str(result.type) for result in op.results)
                keys.append((op.name, attributes, operands, types, nested))
            argument_types = tuple(str(argument.type) for argument in block.arguments)
            blocks.append((argument_types, tuple(keys)))
        regions.append(tuple(blocks))
    return tuple(regions)


_CONFIGURATION: Final = frozenset(
    {names.COMPILATION_INFO, names.LOWERING_CONFIG, names.ROOT_OP, names.UKERNEL}
)


@dataclass(frozen=True)
class OpInfo(StructuredOp):
    """A structured op, with the further properties that matchers test."""

    @cached_property
    def key(self) -> Hashable:
        """A key that is equal for ops that matchers cannot distinguish, apart from producers."""
        types = tuple(value_type.text for value_type in (*self.operands, *self.results))
        attributes = frozenset(self.attributes.items())
        maps = "" if self.maps_attribute is None else str(self.maps_attribute)
        return self.name, types, attributes, maps, self.regions

    @cached_property
    def regions(self) -> Hashable | None:
        """A key of the computation in the regions; None if they capture values."""
        try:
            return regions_key(self.operation)
        except NotUnderstoodError:
            return None

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """The attributes without configurations, as MLIR prints them."""
        return {
            name: str(value)
            for name, value in self.operation.attributes.items()
            if name not in _CONFIGURATION
        }
