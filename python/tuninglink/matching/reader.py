"""The reader of matchers: from a `transform.named_sequence` to predicates.

A matcher op is taught to the toolchain here and nowhere else: a function that says what the op asks for, and a line in
`_READERS`. The ops are read in the order in which the compiler's interpreter runs them, through includes, up to the
first one that is not understood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import (
    ROLES,
    OpKind,
    Role,
    affine_maps,
    indexing_loops,
    loops_by_role,
)
from tuninglink.iree.structured_op import StructuredOp, ValueType
from tuninglink.matching import predicates as pred
from tuninglink.matching.graphs import NAME_ONLY, Graph, computation_of, regions_key
from tuninglink.matching.predicates import NotUnderstoodError
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import place_of
from tuninglink.mlir.walk import body
from tuninglink.specs.builders import FAILURES_PROPAGATE
from tuninglink.specs.sequences import is_any_op, reference

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from tuninglink.mlir.diagnostics import Place
    from tuninglink.specs.sequences import Handle, SequenceTable

_ANY_SIZE: Final = -1
"""The value in `dims_equal` that stands for any size."""

_MAX_DEPTH: Final = 32
"""The depth to which nested includes are followed."""

_MAX_OPS: Final = 10_000
"""The most ops that are read of one matcher; those of an included sequence count each time."""

_INDEXING_MAPS: Final = "indexing_maps"


@dataclass(frozen=True)
class StructuredMatcher:
    """A matcher op for structured ops of one kind.

    Attributes:
        kind: the kind.
        inputs: what it calls the first operands, whose element types are its attributes.
        outputs: what it calls the last ones, likewise.
        op_name: the name that the op must have, if it is but one.
    """

    kind: OpKind
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    op_name: str = ""

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of all operands whose types are asked for."""
        return (*self.inputs, *self.outputs)

    @property
    def roles(self) -> tuple[str, ...]:
        """The results: the roles of loops, and what else is a list of numbers."""
        loops = (each.value.replace(" ", "_") for each in ROLES[self.kind])
        return (*loops, *(pred.STEPS if self.kind is OpKind.CONVOLUTION else ()))

    def operand(self, position: int) -> int:
        """Returns the number of an operand, counted from the last one if it is an output."""
        return position if position < len(self.inputs) else position - len(self.operands)


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


@dataclass(frozen=True)
class Stop:
    """Where the reading of a matcher stopped.

    Attributes:
        reason: why.
        place: the op that is not understood; None without location.
        rest: a key of what the matcher does from there on; None if that is too much.
    """

    reason: str
    place: Place | None = None
    rest: Hashable | None = None


@dataclass(frozen=True)
class Matcher:
    """A matcher as data.

    The predicates are necessary: where one does not hold the matcher fails, and silently. All of them together are
    exact if reading did not stop.

    Attributes:
        predicates: what the matcher asks for, in the order in which the interpreter does.
        stop: where reading stopped; None if the matcher was read up to its yield.
    """

    predicates: tuple[pred.Predicate, ...]
    stop: Stop | None = None


def read_matcher(sequence: mlir.Operation, table: SequenceTable | None = None) -> Matcher:
    """Reads a matcher.

    Args:
        sequence: a `transform.named_sequence`.
        table: the sequences that it may include.
    """
    return MatcherReader(table).read_sequence(sequence)


class MatcherReader:
    """Reads the matchers of one module; what they share is read once.

    Args:
        table: the sequences of the module; without it matchers include nothing.
    """

    def __init__(self, table: SequenceTable | None = None) -> None:
        self._table = table
        self._matchers: dict[str, Matcher] = {}
        self.structured: dict[Hashable, tuple[Sequence[pred.Predicate], Sequence[_Meaning]]] = {}
        self._is_any_op: dict[mlir.Type, bool] = {}
        self._maps: dict[Hashable, pred.Maps] = {}
        self._numbers: dict[Hashable, int] = {}

    def read(self, path: str) -> Matcher:
        """Reads the matcher at a path."""
        matcher = self._matchers.get(path)
        if matcher is None:
            found = self._table.resolve(path) if self._table else None
            if found is None:
                matcher = Matcher((), Stop("there is no such matcher"))
            else:
                matcher = self.read_sequence(found[1], found[0])
            self._matchers[path] = matcher
        return matcher

    def read_sequence(
        self, sequence: mlir.Operation, table: SequenceTable | None = None
    ) -> Matcher:
        """Reads a sequence, given the sequences that it may include."""
        return _Reading(self, table or self._table).run(sequence)

    def is_any_op(self, type_: mlir.Type) -> bool:
        """Tells whether a handle may be to any op."""
        known = self._is_any_op.get(type_)
        if known is None:
            known = self._is_any_op[type_] = is_any_op(type_)
        return known

    def number(self, key: Hashable) -> int:
        """Returns a number for the key of an op that is not understood, so that keys do not nest."""
        return self._numbers.setdefault(key, len(self._numbers))

    def maps(self, attribute: mlir.Attribute, kind: OpKind, outputs: int) -> pred.Maps:
        """Returns indexing maps as data.

        Args:
            attribute: the maps, in an array.
            kind: what the op is taken for that has them.
            outputs: how many of its operands are outputs.
        """
        key = attribute, kind, outputs
        if key not in self._maps:
            self._maps[key] = _maps(attribute, kind, outputs)
        return self._maps[key]


# --- What the values of a matcher stand for ----------------------------------------------------------------


@dataclass(frozen=True)
class _Root:
    """The op that the matcher is asked about."""


@dataclass(frozen=True)
class _RoleRef:
    """The sizes of its loops in a role."""

    kind: OpKind
    role: str


@dataclass(frozen=True)
class _Constant:
    """A value that says nothing about the op, but what it is."""

    value: Hashable


@dataclass(frozen=True)
class _Unknown:
    """A result that is the same for ops with the same key; nothing else is known of it."""

    op: int
    number: int


_Meaning = _Root | pred.ValueRef | _RoleRef | _Constant | _Unknown
_ROOT: Final = _Root()


class _Reading:
    """The reading of one matcher. What is not understood is told by its structure, as is all behind it."""

    def __init__(self, reader: MatcherReader, table: SequenceTable | None) -> None:
        self.reader = reader
        self.depth = 0
        self._predicates: list[pred.Predicate] = []
        self._stop: Stop | None = None
        self._rest: list[Hashable] = []
        self._table = table
        self._left = _MAX_OPS
        self._meanings: dict[Handle, _Meaning] = {}

    def run(self, sequence: mlir.Operation) -> Matcher:
        """Reads a matcher."""
        blocks = list(sequence.regions[0].blocks)
        arguments = list(blocks[0].arguments) if blocks else []
        try:
            if len(arguments) != 1:
                raise NotUnderstoodError("it is no sequence of one argument")  # noqa: TRY301 - as all others
            if not self.reader.is_any_op(arguments[0].type):
                raise NotUnderstoodError("it takes a typed op, and any other is an error")  # noqa: TRY301
            self._meanings[arguments[0]] = _ROOT
            self._block(blocks[0])
        except NotUnderstoodError as failure:
            unread = Stop(str(failure), place_of(sequence.location))
            return Matcher(tuple(self._predicates), self._stop or unread)
        stop = replace(self._stop, rest=tuple(self._rest)) if self._stop else None
        return Matcher(tuple(self._predicates), stop)

    def ask(self, *predicates: pred.Predicate) -> None:
        """Notes what the matcher asks for next."""
        (self._rest if self._stop else self._predicates).extend(predicates)

    def _block(self, block: mlir.Block) -> list[_Meaning]:
        """Reads the body of a sequence, and returns what it yields.

        Raises:
            NotUnderstoodError: the matcher is too long to be read.
        """
        for view in block.operations:
            op = view.operation
            name = op.name
            if name == names.YIELD:
                return [self._meaning(each) for each in op.operands] if self.depth else []
            self._left -= 1
            if self._left < 0:
                raise NotUnderstoodError(f"it is longer than {_MAX_OPS} operations")
            try:
                _READERS.get(name, _unknown)(self, op)
            except NotUnderstoodError as failure:
                if self._left < 0:
                    raise
                self._skip(op, str(failure))
        return []

    def _skip(self, op: mlir.Operation, reason: str) -> None:
        """Notes an op that is not understood."""
        if self._stop is None:
            self._stop = Stop(reason, place_of(op.location))
        key = (
            op.name,
            id(self._table),  # References mean what they do there.
            frozenset((name, str(value)) for name, value in op.attributes.items()),
            tuple(map(self._meaning, op.operands)),
            tuple(str(each.type) for each in op.results),
            _regions_key(op),
        )
        self._rest.append(key)
        self.define_unknown(op, key)

    def define_unknown(self, op: mlir.Operation, key: Hashable) -> None:
        """Notes that the results of an op are only known by a key of the op."""
        if list(op.results):
            number = self.reader.number(key)
            self.define(op, [_Unknown(number, each) for each in range(len(op.results))])

    def include(self, op: mlir.Operation) -> None:
        """Reads an included sequence in the place of an include."""
        target, mode = op.attributes["target"], op.attributes["failure_propagation_mode"]
        if not isinstance(mode, mlir.IntegerAttr) or mode.value != FAILURES_PROPAGATE:
            raise NotUnderstoodError(f"it includes {target} and goes on where that fails")
        outer = self._table
        found = outer.resolve(reference(target)) if outer else None
        if found is None:
            raise NotUnderstoodError(f"it includes {target}, which is not known")
        if self.depth == _MAX_DEPTH:
            raise NotUnderstoodError(f"it includes more than {_MAX_DEPTH} sequences in each other")
        inner, sequence = found
        blocks = list(sequence.regions[0].blocks)
        types = [each.type for each in op.operands]
        if not blocks or [each.type for each in blocks[0].arguments] != types:
            raise NotUnderstoodError(f"it includes {target}, which cannot be included like that")
        arguments = [self._meaning(each) for each in op.operands]
        self._meanings.update(zip(blocks[0].arguments, arguments, strict=True))
        self._table, self.depth = inner, self.depth + 1
        yielded = self._block(blocks[0])
        self._table, self.depth = outer, self.depth - 1
        if len(yielded) != len(op.results):
            raise NotUnderstoodError(f"it includes {target}, which cannot be included like that")
        self._meanings.update(zip(op.results, yielded, strict=True))

    def define(self, op: mlir.Operation, meanings: Sequence[_Meaning]) -> None:
        """Notes what the results of an op stand for."""
        self._meanings.update(zip(op.results, meanings, strict=True))

    def meaning(self, op: mlir.Operation) -> _Meaning:
        """Returns what the operand of a matcher op stands for."""
        return self._meaning(op.operands[0])

    def _meaning(self, value: Handle) -> _Meaning:
        found = self._meanings.get(value)
        if found is None:
            # Most matchers only yield their constants, so that these are looked at where they are used.
            owner = value.owner
            assert isinstance(owner, mlir.OpView | mlir.Operation)
            found = _Constant(owner.operation.attributes["value"])
        return found

    def expect_root(self, op: mlir.Operation) -> None:
        """Expects that a matcher op looks at the op that the matcher is asked about."""
        if self.meaning(op) is not _ROOT:
            raise NotUnderstoodError("it looks at other operations than the one that it is given")

    def value(self, op: mlir.Operation) -> pred.ValueRef:
        """Returns the operand or result that a matcher op looks at."""
        meaning = self.meaning(op)
        if not isinstance(meaning, pred.ValueRef):
            raise NotUnderstoodError("it looks at what is no single operand or result")
        return meaning

    def dimension(self, op: mlir.Operation) -> pred.Dimension:
        """Returns the dimension that a matcher op looks at."""
        value, number = self.value(op), _integer(op.attributes["dim"])
        if number < 0:
            raise NotUnderstoodError("it asks for a dimension before the first")
        return value.group, value.number, number


# --- The matcher ops ---------------------------------------------------------------------------------------


def _include(reading: _Reading, op: mlir.Operation) -> None:
    reading.include(op)


def _unknown(_: _Reading, op: mlir.Operation) -> None:
    raise NotUnderstoodError(f"'{op.name}' is not understood")


def _constant(_: _Reading, op: mlir.Operation) -> None:
    """Asks for nothing."""


def _operation_name(reading: _Reading, op: mlir.Operation) -> None:
    reading.expect_root(op)
    wanted = op.attributes["op_names"]
    assert isinstance(wanted, mlir.ArrayAttr)
    accepted = tuple(each.value for each in wanted if isinstance(each, mlir.StringAttr))
    reading.ask(pred.NameIn(accepted))


def _has_no_lowering_config(reading: _Reading, op: mlir.Operation) -> None:
    reading.expect_root(op)
    reading.ask(pred.IsUnconfigured())


def _structured(reading: _Reading, op: mlir.Operation) -> None:
    """Reads the matcher op of a kind, whose attributes are types and maps, and whose results are sizes in roles."""
    reading.expect_root(op)
    known = reading.reader.structured
    key = op.name, *op.attributes.values()
    if key not in known:
        form = STRUCTURED_MATCHERS[op.name]
        predicates = tuple(_structured_predicates(reading.reader, op, form))
        known[key] = predicates, [_RoleRef(form.kind, role) for role in form.roles]
    asked, meanings = known[key]
    reading.ask(*asked)
    reading.define(op, meanings)


def _structured_predicates(
    reader: MatcherReader, op: mlir.Operation, form: StructuredMatcher
) -> Iterator[pred.Predicate]:
    yield pred.NameIn((form.op_name,)) if form.op_name else pred.IsKind(form.kind)
    for position, role in enumerate(form.operands):
        attribute = op.attributes[f"{role}_type"]
        assert isinstance(attribute, mlir.TypeAttr)
        yield pred.HasElementType(form.kind, form.operand(position), role, str(attribute.value))
    if _INDEXING_MAPS in op.attributes:
        maps = op.attributes[_INDEXING_MAPS]
        if len(affine_maps(maps)) < len(form.operands):
            raise NotUnderstoodError("it asks for fewer indexing maps than there are operands")
        yield pred.HasMaps(
            reader.maps(maps, form.kind, len(form.outputs)), form.inputs, form.outputs
        )
    if form.op_name:
        yield pred.IsUnmasked()


def _dims_equal(reading: _Reading, op: mlir.Operation) -> None:
    role = reading.meaning(op)
    if not isinstance(role, _RoleRef):
        raise NotUnderstoodError("it compares something else than dimensions of a role")
    wanted = op.attributes["expected_values"]
    assert isinstance(wanted, mlir.DenseI64ArrayAttr)
    sizes = list(wanted)
    if min(sizes, default=0) < _ANY_SIZE:
        raise NotUnderstoodError("it asks for dimensions that are dynamic")
    asked = [None if size == _ANY_SIZE else size for size in sizes]
    reading.ask(pred.HasRoleSizes(role.kind, role.role, tuple(asked)))


def _get_operand(reading: _Reading, op: mlir.Operation) -> None:
    _value(reading, op, pred.OPERAND)


def _get_result(reading: _Reading, op: mlir.Operation) -> None:
    if not reading.depth:
        raise NotUnderstoodError(
            f"'{op.name}' stands in the matcher itself, which is an error when it runs"
        )
    _value(reading, op, pred.RESULT)


def _value(reading: _Reading, op: mlir.Operation, group: str) -> None:
    reading.expect_root(op)
    positions = op.attributes["raw_position_list"]
    assert isinstance(positions, mlir.DenseI64ArrayAttr)
    if len(positions) != 1 or positions[0] < 0 or {"is_inverted", "is_all"} & {*op.attributes}:
        raise NotUnderstoodError("it takes several operands at once, or counts from the last")
    value = pred.ValueRef(group, positions[0])
    reading.ask(pred.HasValue(value))
    reading.define(op, [value])


def _cast_compatible_type(reading: _Reading, op: mlir.Operation) -> None:
    attribute = op.attributes["target_type"]
    assert isinstance(attribute, mlir.TypeAttr)
    wanted = ValueType.of(attribute.value)
    reading.ask(pred.IsCastCompatible(reading.value(op), wanted))


def _dim_is_multiple_of(reading: _Reading, op: mlir.Operation) -> None:
    factor = _integer(op.attributes["size"])
    if factor <= 0:
        raise NotUnderstoodError("it asks for multiples of nothing")
    reading.ask(pred.HasExtent(reading.dimension(op), pred.Extent(factor=factor)))


def _dim_bounds(reading: _Reading, op: mlir.Operation) -> None:
    dimension = reading.dimension(op)
    for name, side in (("lower_bound", "low"), ("upper_bound", "high")):
        bound = op.attributes.get(name)
        if bound is not None:
            reading.ask(pred.HasExtent(dimension, pred.Extent(**{side: _integer(bound)})))


def _regions(reading: _Reading, op: mlir.Operation) -> None:
    reading.expect_root(op)
    example = next(body(op))
    reading.ask(pred.HasRegions(regions_key(example), computation_of(example)))


def _dag(reading: _Reading, op: mlir.Operation) -> None:
    """Reads a DAG; the op that is asked about must be like its last one, whose sizes may be dynamic."""
    reading.expect_root(op)
    *_, root, _ = body(op)
    reading.ask(pred.NameIn((root.name,)))
    if NAME_ONLY in root.attributes:
        raise NotUnderstoodError("of its graph's last operation only the name counts")
    structured = StructuredOp(root)
    attributes = {name: str(value) for name, value in root.attributes.items()}
    reading.ask(pred.HasOperandCount(len(root.operands)))
    attributes.pop(_INDEXING_MAPS, None)
    if structured.maps_attribute is not None and structured.maps:
        outputs = len(structured.maps) - structured.first_output
        maps = reading.reader.maps(structured.maps_attribute, structured.kind, outputs)
        reading.ask(pred.HasMaps(maps))
    reading.ask(pred.HasAttributes(tuple(sorted(attributes.items()))))
    for number, wanted in enumerate(structured.operands):
        reading.ask(pred.IsCastCompatible(pred.ValueRef(pred.OPERAND, number), wanted))
    reading.ask(pred.HasRegions(regions_key(root), computation_of(root)))
    graph = Graph(root)
    dag = pred.IsDag(graph.key, graph.own_key, structured.kind, graph.has_free_operands)
    reading.ask(dag)
    reading.define_unknown(op, dag)


# --- Helpers -----------------------------------------------------------------------------------------------


def _maps(attribute: mlir.Attribute, kind: OpKind, outputs: int) -> pred.Maps:
    maps = affine_maps(attribute)
    roles: Mapping[Role, tuple[int, ...]] = {}
    if kind is OpKind.ATTENTION or (kind in ROLES and len(maps) == pred.STRUCTURED_OPERANDS):
        roles = loops_by_role(kind, maps, len(maps) - outputs)
    return pred.Maps(
        str(attribute),
        tuple(map(str, maps)),
        maps[0].n_dims,
        tuple(map(indexing_loops, maps)),
        tuple(
            (pred.role_name(kind, role.value.replace(" ", "_")), loops)
            for role, loops in roles.items()
        ),
    )


def _regions_key(op: mlir.Operation) -> Hashable:
    """Returns a key of the regions of an op, which is like no other if they use values from around it."""
    try:
        return regions_key(op)
    except NotUnderstoodError:
        return object()


def _integer(attribute: mlir.Attribute) -> int:
    assert isinstance(attribute, mlir.IntegerAttr)
    return int(attribute.value)


_READERS: Final[Mapping[str, Callable[[_Reading, mlir.Operation], None]]] = {
    names.INCLUDE: _include,
    names.PARAM_CONSTANT: _constant,
    names.MATCH_OPERATION_NAME: _operation_name,
    names.HAS_NO_LOWERING_CONFIG: _has_no_lowering_config,
    names.MATCH_CONTRACTION: _structured,
    names.MATCH_CONVOLUTION: _structured,
    names.MATCH_ATTENTION: _structured,
    names.MATCH_ONLINE_ATTENTION: _structured,
    names.GET_OPERAND: _get_operand,
    names.GET_RESULT: _get_result,
    names.MATCH_DIMS_EQUAL: _dims_equal,
    names.MATCH_DIM_MULTIPLE: _dim_is_multiple_of,
    names.MATCH_DIM_BOUNDS: _dim_bounds,
    names.MATCH_TYPE: _cast_compatible_type,
    names.MATCH_DAG: _dag,
    names.MATCH_REGIONS: _regions,
}
