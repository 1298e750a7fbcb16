"""Reading the condition of a matcher from its sequence.

The operations of a matcher are read in order, through includes, up to the first one that is not known: what
comes before must have succeeded, and fails silently where it does not. What comes behind may depend on an
operation that reports an error, and an entry that may report one is no entry to leave out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.iree.structured import indexing_maps, is_contraction, is_convolution
from tuninglink.matching.necessary_conditions import Condition, Kind, Maps, SizeCheck, Type
from tuninglink.mlir import names
from tuninglink.specs.builders import FAILURES_PROPAGATE
from tuninglink.specs.sequences import reference, signature

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.specs.sequences import Handle, SequenceTable

_MAX_DEPTH: Final = 32
"""How many includes within each other are followed."""

_NAMED_CONTRACTIONS: Final = frozenset(
    f"linalg.{name}"
    for name in ("batch_matmul", "batch_matvec", "batch_vecmat", "matmul", "matvec", "vecmat")
)
_ATTENTIONS: Final = frozenset({names.ATTENTION, names.ONLINE_ATTENTION})

_MATCHED_KINDS: Final = {
    names.MATCH_CONTRACTION: Kind.CONTRACTION,
    names.MATCH_CONVOLUTION: Kind.CONVOLUTION,
    names.MATCH_ATTENTION: Kind.ATTENTION,
    names.MATCH_ONLINE_ATTENTION: Kind.ATTENTION,
}
_TYPES: Final = {
    Kind.CONTRACTION: ("lhs_type", "rhs_type", "output_type"),
    Kind.CONVOLUTION: ("lhs_type", "rhs_type", "output_type"),
    Kind.ATTENTION: ("query_type", "key_type", "value_type", "output_type"),
}


@dataclass(frozen=True)
class _Operation:
    """Stands for the operation that the matcher is asked about."""


@dataclass(frozen=True)
class _Operand:
    """Stands for one of its operands."""

    position: int


@dataclass(frozen=True)
class _Result:
    """Stands for one of its results."""

    position: int


@dataclass(frozen=True)
class _Sizes:
    """Stands for the sizes of the loops in a role."""

    kind: Kind
    role: int


@dataclass(frozen=True)
class _Other:
    """Stands for what says nothing about the operation, such as a constant."""


_Meaning = _Operation | _Operand | _Result | _Sizes | _Other
_OPERATION: Final = _Operation()
_OTHER: Final = _Other()


@dataclass
class _Facts:
    """What has been read of one matcher."""

    operation_names: frozenset[str] | None = None
    kind: Kind | None = None
    element_types: tuple[str, ...] = ()
    maps: Maps | None = None
    sizes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    operands: dict[int, Type] = field(default_factory=dict)
    checks: list[SizeCheck] = field(default_factory=list)

    def condition(self) -> Condition:
        kind = self.kind or _kind_of_names(self.operation_names)
        roles = max(self.sizes, default=-1) + 1
        return Condition(
            operation_names=self.operation_names,
            kind=kind,
            element_types=self.element_types,
            maps=self.maps,
            sizes=tuple(self.sizes.get(role) for role in range(roles)),
            operands=tuple(sorted(self.operands.items(), key=lambda item: item[0])),
            checks=frozenset(self.checks),
        )


def _kind_of_names(operation_names: frozenset[str] | None) -> Kind | None:
    if not operation_names:
        return None
    if operation_names <= _ATTENTIONS:
        return Kind.ATTENTION
    return Kind.CONTRACTION if operation_names <= _NAMED_CONTRACTIONS else None


class ConditionReader:
    """Reads the conditions of the matchers of one module; each distinct matcher is read once.

    Args:
        table: the sequences of the module.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self._conditions: dict[str, Condition] = {}
        self._types: dict[mlir.Attribute, str] = {}
        self._maps: dict[mlir.Attribute, Maps | None] = {}

    def condition(self, path: str) -> Condition:
        """Returns the condition of the matcher at `path`."""
        condition = self._conditions.get(path)
        if condition is None:
            facts = _Facts()
            found = self._table.resolve(path)
            if found is not None:
                _Reading(self, facts).run(*found, [_OPERATION], 0)
            condition = self._conditions[path] = facts.condition()
        return condition

    def element_type(self, attribute: mlir.Attribute) -> str:
        """Returns the type in a type attribute, as MLIR prints it."""
        text = self._types.get(attribute)
        if text is None:
            assert isinstance(attribute, mlir.TypeAttr)
            text = self._types[attribute] = str(attribute.value)
        return text

    def indexing_maps(self, attribute: mlir.Attribute) -> Maps | None:
        """Returns the maps in an array attribute."""
        if attribute not in self._maps:
            self._maps[attribute] = read_maps(attribute)
        return self._maps[attribute]


def read_maps(attribute: mlir.Attribute | None) -> Maps | None:
    """Returns the indexing maps in an array attribute, None if it holds something else."""
    if not isinstance(attribute, mlir.ArrayAttr):
        return None
    maps = []
    for each in attribute:
        if not isinstance(each, mlir.AffineMapAttr):
            return None
        maps.append(each.value)
    if len({each.n_dims for each in maps}) != 1:
        return None
    loops = tuple(tuple(map(_single_loop, each.results)) for each in maps)
    return Maps(str(attribute), maps[0].n_dims, loops)


def _single_loop(expression: mlir.AffineExpr) -> int | None:
    return expression.position if isinstance(expression, mlir.AffineDimExpr) else None


class _Unknown(Exception):  # noqa: N818 - it ends the reading and is no error
    """Something was met that ends the reading."""


class _Reading:
    def __init__(self, reader: ConditionReader, facts: _Facts) -> None:
        self._reader = reader
        self._facts = facts
        self._values: dict[Handle, _Meaning] = {}

    def run(
        self,
        table: SequenceTable,
        sequence: mlir.Operation,
        arguments: Sequence[_Meaning],
        depth: int,
    ) -> tuple[_Meaning, ...] | None:
        """Reads a sequence; returns what it yields, or None if it was not read to its end."""
        block = sequence.regions[0].blocks[0]
        for argument, meaning in zip(block.arguments, arguments, strict=True):
            self._values[argument] = meaning
        try:
            for view in block.operations:
                operation = view.operation
                name = operation.name
                if name == names.YIELD:
                    return tuple(self._values.get(each, _OTHER) for each in operation.operands)
                if name == names.INCLUDE:
                    self._include(table, operation, depth)
                    continue
                read = _READERS.get(name)
                if read is None:
                    return None
                read(self, operation)
        except _Unknown:
            pass
        return None

    def _include(self, table: SequenceTable, include: mlir.Operation, depth: int) -> None:
        mode = include.attributes["failure_propagation_mode"]
        found = table.resolve(reference(include.attributes["target"]))
        propagates = isinstance(mode, mlir.IntegerAttr) and mode.value == FAILURES_PROPAGATE
        if found is None or not propagates or depth == _MAX_DEPTH:
            raise _Unknown
        inner, sequence = found
        operands = list(include.operands)
        kinds = signature(sequence).inputs
        if [each.type for each in operands] != kinds or not sequence.regions[0].blocks:
            raise _Unknown
        # The same sequence may be included again, with other arguments.
        reading = _Reading(self._reader, self._facts)
        meanings = [self._values.get(each, _OTHER) for each in operands]
        yielded = reading.run(inner, sequence, meanings, depth + 1)
        if yielded is None:
            raise _Unknown
        self._values.update(zip(include.results, yielded, strict=True))

    def _subject(self, operation: mlir.Operation) -> _Meaning:
        return self._values.get(operation.operands[0], _OTHER)

    def _is_about_operation(self, operation: mlir.Operation) -> None:
        if self._subject(operation) is not _OPERATION:
            raise _Unknown

    def _constant(self, operation: mlir.Operation) -> None:
        self._values[operation.results[0]] = _OTHER

    def _operation_name(self, operation: mlir.Operation) -> None:
        self._is_about_operation(operation)
        attribute = operation.attributes["op_names"]
        assert isinstance(attribute, mlir.ArrayAttr)
        accepted = frozenset(each.value for each in attribute if isinstance(each, mlir.StringAttr))
        known = self._facts.operation_names
        self._facts.operation_names = accepted if known is None else known & accepted

    def _kind(self, operation: mlir.Operation) -> None:
        self._is_about_operation(operation)
        kind = _MATCHED_KINDS[operation.name]
        facts = self._facts
        attributes = operation.attributes
        if facts.kind is None:
            facts.kind = kind
        if facts.kind is kind:
            if not facts.element_types:
                facts.element_types = tuple(
                    self._reader.element_type(attributes[name]) for name in _TYPES[kind]
                )
            if facts.maps is None and "indexing_maps" in attributes:
                facts.maps = self._reader.indexing_maps(attributes["indexing_maps"])
        for role, result in enumerate(operation.results):
            self._values[result] = _Sizes(kind, role)

    def _dims_equal(self, operation: mlir.Operation) -> None:
        subject = self._subject(operation)
        if not isinstance(subject, _Sizes):
            raise _Unknown
        expected = operation.attributes["expected_values"]
        assert isinstance(expected, mlir.DenseI64ArrayAttr)
        if subject.kind is self._facts.kind:
            self._facts.sizes.setdefault(subject.role, tuple(expected))

    def _value(self, operation: mlir.Operation) -> None:
        self._is_about_operation(operation)
        attributes = operation.attributes
        positions = attributes["raw_position_list"]
        assert isinstance(positions, mlir.DenseI64ArrayAttr)
        # What is counted from the end, or is all of them, says nothing of one operand.
        if len(positions) != 1 or positions[0] < 0 or len(attributes) != 1:
            raise _Unknown
        make = _Operand if operation.name == names.GET_OPERAND else _Result
        self._values[operation.results[0]] = make(positions[0])

    def _type(self, operation: mlir.Operation) -> None:
        subject = self._subject(operation)
        if not isinstance(subject, _Operand | _Result):
            raise _Unknown
        attribute = operation.attributes["target_type"]
        assert isinstance(attribute, mlir.TypeAttr)
        if isinstance(subject, _Operand):
            self._add_type(subject.position, attribute.value)

    def _add_type(self, position: int, kind: mlir.Type) -> None:
        # Without looking at encodings: what has one differs more, and never less.
        if isinstance(kind, mlir.RankedTensorType):
            sizes = tuple(
                None if kind.is_dynamic_dim(each) else kind.get_dim_size(each)
                for each in range(kind.rank)
            )
            self._facts.operands.setdefault(position, Type(str(kind.element_type), sizes))

    def _multiple(self, operation: mlir.Operation) -> None:
        self._check(operation, divisor=_integer(operation, "size") or 1)

    def _bounds(self, operation: mlir.Operation) -> None:
        upper = _integer(operation, "upper_bound")
        self._check(operation, lower=_integer(operation, "lower_bound") or 0, upper=upper)

    def _check(
        self, operation: mlir.Operation, lower: int = 0, upper: int | None = None, divisor: int = 1
    ) -> None:
        subject = self._subject(operation)
        dimension = _integer(operation, "dim")
        if not isinstance(subject, _Operand | _Result) or dimension is None or divisor < 1:
            raise _Unknown
        if isinstance(subject, _Operand):
            self._facts.checks.append(SizeCheck(subject.position, dimension, lower, upper, divisor))

    def _dag(self, operation: mlir.Operation) -> None:
        """Reads the last operation in the region, which the one that is asked about must be like."""
        self._is_about_operation(operation)
        operations = list(operation.regions[0].blocks[0].operations)
        root = operations[-2].operation
        facts = self._facts
        if _NAME_ONLY in root.attributes:
            return
        accepted = frozenset({root.name})
        known = facts.operation_names
        facts.operation_names = accepted if known is None else known & accepted
        kind, maps = _kind_and_maps(root)
        facts.kind = facts.kind or kind
        if facts.kind is not kind:
            return
        facts.maps = facts.maps or (self._reader.indexing_maps(maps) if maps else None)
        for position, operand in enumerate(root.operands):
            self._add_type(position, operand.type)

    def _nothing(self, operation: mlir.Operation) -> None:
        self._is_about_operation(operation)


_NAME_ONLY: Final = "match.operation_name_only"
"""Marks an operation of which only the name counts."""


def _integer(operation: mlir.Operation, name: str) -> int | None:
    attribute = operation.attributes.get(name)
    return attribute.value if isinstance(attribute, mlir.IntegerAttr) else None


def _kind_and_maps(root: mlir.Operation) -> tuple[Kind | None, mlir.Attribute | None]:
    if root.name in _ATTENTIONS:
        return Kind.ATTENTION, root.attributes.get("indexing_maps")
    if root.name.startswith("linalg."):
        if is_contraction(root):
            return Kind.CONTRACTION, indexing_maps(root)
        if is_convolution(root):
            return Kind.CONVOLUTION, indexing_maps(root)
    return None, None


_READERS: Final[dict[str, Callable[[_Reading, mlir.Operation], None]]] = {
    names.PARAM_CONSTANT: _Reading._constant,  # noqa: SLF001 - the class's own table
    names.HAS_NO_LOWERING_CONFIG: _Reading._nothing,  # noqa: SLF001
    names.MATCH_OPERATION_NAME: _Reading._operation_name,  # noqa: SLF001
    names.MATCH_CONTRACTION: _Reading._kind,  # noqa: SLF001
    names.MATCH_CONVOLUTION: _Reading._kind,  # noqa: SLF001
    names.MATCH_ATTENTION: _Reading._kind,  # noqa: SLF001
    names.MATCH_ONLINE_ATTENTION: _Reading._kind,  # noqa: SLF001
    names.MATCH_DIMS_EQUAL: _Reading._dims_equal,  # noqa: SLF001
    names.MATCH_DAG: _Reading._dag,  # noqa: SLF001
    names.MATCH_REGIONS: _Reading._nothing,  # noqa: SLF001
    names.GET_OPERAND: _Reading._value,  # noqa: SLF001
    names.GET_RESULT: _Reading._value,  # noqa: SLF001
    names.MATCH_TYPE: _Reading._type,  # noqa: SLF001
    names.MATCH_DIM_MULTIPLE: _Reading._multiple,  # noqa: SLF001
    names.MATCH_DIM_BOUNDS: _Reading._bounds,  # noqa: SLF001
}
