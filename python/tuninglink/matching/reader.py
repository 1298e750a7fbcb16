"""The reader of matchers: from a `transform.named_sequence` to predicates.

Support for a matcher op is defined only here: by a function and a line in `READERS`. The functions follow `matchOperation`,
`matchValue` and `apply` of the ops in IREE's `PreprocessingExtensions.cpp` and `CommonExtensions.cpp`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import ROLES, OpKind, affine_maps
from tuninglink.iree.structured_op import StructuredOp, ValueType
from tuninglink.matching import predicates as pred
from tuninglink.matching.matcher import (
    Matcher,
    OpReader,
    Reading,
    ReadingCache,
    RoleRef,
    Stop,
)
from tuninglink.matching.op_info import (
    NAME_ONLY,
    Graph,
    NotUnderstoodError,
    computation_of,
    regions_key,
)
from tuninglink.mlir import names
from tuninglink.mlir.attributes import integer_value
from tuninglink.mlir.walk import body
from tuninglink.specs.sequences import SequenceTable

_ANY_SIZE: Final = -1
"""The value in `dims_equal` that stands for any size."""

_INDEXING_MAPS: Final = "indexing_maps"


@dataclass(frozen=True)
class StructuredMatcher:
    """A matcher op for structured ops of one kind.

    Attributes:
        kind: the kind.
        inputs: its names for the first operands, whose element types are its attributes.
        outputs: its names for the last operands, whose element types are also attributes.
        op_name: the required name of the op, if there is only one.
    """

    kind: OpKind
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    op_name: str = ""

    @property
    def operands(self) -> tuple[str, ...]:
        """The names of all operands whose types are compared."""
        return (*self.inputs, *self.outputs)

    @property
    def roles(self) -> tuple[str, ...]:
        """The results: the roles of loops, and other lists of numbers."""
        loops = (role.value.replace(" ", "_") for role in ROLES[self.kind])
        return (*loops, *(pred.STEPS if self.kind is OpKind.CONVOLUTION else ()))

    def operand(self, position: int) -> int:
        """Return the index of an operand, negative for an output."""
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


def _include(reading: Reading, op: mlir.Operation) -> None:
    reading.include(op)


def _constant(_: Reading, op: mlir.Operation) -> None:
    """Add no predicate."""


def _operation_name(reading: Reading, op: mlir.Operation) -> None:
    reading.expect_root(op)
    attribute = op.attributes["op_names"]
    assert isinstance(attribute, mlir.ArrayAttr)
    accepted = tuple(name.value for name in attribute if isinstance(name, mlir.StringAttr))
    reading.ask(pred.NameIn(accepted))


def _has_no_lowering_config(reading: Reading, op: mlir.Operation) -> None:
    reading.expect_root(op)
    reading.ask(pred.IsUnconfigured())


def _structured(reading: Reading, op: mlir.Operation) -> None:
    """Read the matcher op for a kind: its attributes are types and maps, its results are sizes by role."""
    reading.expect_root(op)
    structured = reading.cache.structured
    key = op.name, *op.attributes.values()
    if key not in structured:
        form = STRUCTURED_MATCHERS[op.name]
        predicates = tuple(_structured_predicates(reading.cache, op, form))
        structured[key] = predicates, [RoleRef(form.kind, role) for role in form.roles]
    asked, meanings = structured[key]
    reading.ask(*asked)
    reading.define(op, meanings)


def _structured_predicates(
    cache: ReadingCache, op: mlir.Operation, form: StructuredMatcher
) -> Iterator[pred.Predicate]:
    yield pred.NameIn((form.op_name,)) if form.op_name else pred.IsKind(form.kind)
    for position, role in enumerate(form.operands):
        attribute = op.attributes[f"{role}_type"]
        assert isinstance(attribute, mlir.TypeAttr)
        yield pred.HasElementType(form.kind, form.operand(position), role, str(attribute.value))
    if _INDEXING_MAPS in op.attributes:
        maps = op.attributes[_INDEXING_MAPS]
        if len(affine_maps(maps)) < len(form.operands):
            raise NotUnderstoodError("it requires fewer indexing maps than there are operands")
        yield pred.HasMaps(
            cache.maps(maps, form.kind, len(form.outputs)), form.inputs, form.outputs
        )
    if form.op_name:
        yield pred.IsUnmasked()


def _dims_equal(reading: Reading, op: mlir.Operation) -> None:
    role = reading.meaning(op)
    if not isinstance(role, RoleRef):
        raise NotUnderstoodError("it compares other values than dimensions of a role")
    expected = op.attributes["expected_values"]
    assert isinstance(expected, mlir.DenseI64ArrayAttr)
    sizes = list(expected)
    if mlir.ShapedType.get_dynamic_size() in sizes:
        raise NotUnderstoodError("it requires dimensions that are dynamic")
    asked = [None if size == _ANY_SIZE else size for size in sizes]
    reading.ask(pred.HasRoleSizes(role.kind, role.role, tuple(asked)))


def _get_operand(reading: Reading, op: mlir.Operation) -> None:
    _value(reading, op, pred.OPERAND)


def _get_result(reading: Reading, op: mlir.Operation) -> None:
    if not reading.depth:
        raise NotUnderstoodError(
            f"'{op.name}' is in the matcher itself, which is an error when it runs"
        )
    _value(reading, op, pred.RESULT)


def _value(reading: Reading, op: mlir.Operation, group: str) -> None:
    reading.expect_root(op)
    positions = op.attributes["raw_position_list"]
    assert isinstance(positions, mlir.DenseI64ArrayAttr)
    if len(positions) != 1 or positions[0] < 0 or {"is_inverted", "is_all"} & {*op.attributes}:
        raise NotUnderstoodError("it takes several operands at once, or counts from the last")
    value = pred.ValueRef(group, positions[0])
    reading.ask(pred.HasValue(value))
    reading.define(op, [value])


def _cast_compatible_type(reading: Reading, op: mlir.Operation) -> None:
    attribute = op.attributes["target_type"]
    assert isinstance(attribute, mlir.TypeAttr)
    expected = ValueType.of(attribute.value)
    reading.ask(pred.IsCastCompatible(reading.value(op), expected))


def _dim_is_multiple_of(reading: Reading, op: mlir.Operation) -> None:
    factor = integer_value(op.attributes["size"])
    if factor <= 0:
        raise NotUnderstoodError("it requires multiples of a number that is not positive")
    reading.ask(pred.HasExtent(reading.dimension(op), pred.Extent(factor=factor)))


def _dim_bounds(reading: Reading, op: mlir.Operation) -> None:
    dimension = reading.dimension(op)
    for name, side in (("lower_bound", "low"), ("upper_bound", "high")):
        bound = op.attributes.get(name)
        if bound is not None:
            reading.ask(pred.HasExtent(dimension, pred.Extent(**{side: integer_value(bound)})))


def _regions(reading: Reading, op: mlir.Operation) -> None:
    reading.expect_root(op)
    example = next(body(op))
    reading.ask(pred.HasRegions(regions_key(example), computation_of(example)))


def _dag(reading: Reading, op: mlir.Operation) -> None:
    """Read a DAG; the candidate op must equal the last op of the DAG, whose sizes may be dynamic."""
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
        maps = reading.cache.maps(structured.maps_attribute, structured.kind, outputs)
        reading.ask(pred.HasMaps(maps))
    reading.ask(pred.HasAttributes(tuple(sorted(attributes.items()))))
    for number, expected in enumerate(structured.operands):
        reading.ask(pred.IsCastCompatible(pred.ValueRef(pred.OPERAND, number), expected))
    reading.ask(pred.HasRegions(regions_key(root), computation_of(root)))
    graph = Graph(root)
    dag = pred.IsDag(graph.key, graph.own_key, structured.kind, graph.has_free_operands)
    reading.ask(dag)
    reading.define_unknown(op, dag)


READERS: Final[Mapping[str, OpReader]] = {
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
"""The readers of matcher ops, by name."""


def read_matcher(sequence: mlir.Operation, table: SequenceTable | None = None) -> Matcher:
    """Read a matcher.

    Args:
        sequence: a `transform.named_sequence`.
        table: the sequences that it can include.
    """
    return MatcherReader(table).read_sequence(sequence)


class MatcherReader:
    """Reads the matchers of one module; shared parts are read once.

    Args:
        table: the sequences of the module; without it, matchers cannot include sequences.
    """

    def __init__(self, table: SequenceTable | None = None) -> None:
        self._table = table
        self._matchers: dict[str, Matcher] = {}
        self._cache = ReadingCache()

    def read(self, path: str) -> Matcher:
        """Read the matcher at a path."""
        matcher = self._matchers.get(path)
        if matcher is None:
            result = self._table.resolve(path) if self._table else None
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
        return Reading(self._cache, table or self._table, READERS).run(sequence)
