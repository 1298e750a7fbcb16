"""Reading what a matcher demands, in the order in which the compiler's interpreter asks.

The operations of a matcher are read in order, through includes, up to the first one that is not known.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.explaining.demands import (
    CannotTellError,
    Role,
    Value,
    cannot_tell,
    check_attributes,
    check_dimension,
    check_element,
    check_has,
    check_kind,
    check_maps,
    check_mask,
    check_name,
    check_operand_count,
    check_regions,
    check_sizes,
    check_type,
    check_unconfigured,
    computation_of,
)
from tuninglink.explaining.structure import regions_key
from tuninglink.explaining.subject import ROLES, OperandType
from tuninglink.matching.necessary_conditions import Kind
from tuninglink.mlir import names
from tuninglink.mlir.walk import body
from tuninglink.specs.builders import FAILURES_PROPAGATE
from tuninglink.specs.sequences import is_any_op, reference, signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tuninglink.explaining.demands import Difference
    from tuninglink.explaining.subject import Subject
    from tuninglink.specs.sequences import Handle, SequenceTable

    Step = Callable[[Subject], Iterator[Difference]]
    """Yields what a demand differs in from an operation; raises `CannotTellError`."""


def read_steps(table: SequenceTable, matcher: str) -> list[Step]:
    """Returns what a matcher demands, in order; where that is not known, the last step says so."""
    steps: list[Step] = []
    try:
        found = table.resolve(matcher)
        if found is None:
            raise CannotTellError(f"there is no matcher '{matcher}'")  # noqa: TRY301 - as all others
        inner, sequence = found
        if list(map(is_any_op, signature(sequence).inputs)) != [True]:
            raise CannotTellError("the matcher takes a typed operation")  # noqa: TRY301
        _Reading(steps).run(inner, sequence, [_OPERATION], 0)
    except CannotTellError as failure:
        steps.append(partial(cannot_tell, str(failure)))
    return steps


_OPERATION: Final = "operation"
_OTHER: Final = "other"
_Meaning = Value | Role | str

_MAX_DEPTH: Final = 32


class _Reading:
    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self._values: dict[Handle, _Meaning] = {}

    def run(
        self,
        table: SequenceTable,
        sequence: mlir.Operation,
        arguments: Sequence[_Meaning],
        depth: int,
    ) -> list[_Meaning]:
        """Reads a sequence and returns what it yields."""
        block = sequence.regions[0].blocks[0]
        self._values.update(zip(block.arguments, arguments, strict=True))
        for view in block.operations:
            operation = view.operation
            if operation.name == names.YIELD:
                return [self._values.get(each, _OTHER) for each in operation.operands]
            if operation.name == names.INCLUDE:
                self._include(table, operation, depth)
            elif operation.name in _READERS:
                _READERS[operation.name](self, operation)
            else:
                raise CannotTellError(f"'{operation.name}' is not understood")
        return []

    def _include(self, table: SequenceTable, include: mlir.Operation, depth: int) -> None:
        target = reference(include.attributes["target"])
        mode = include.attributes["failure_propagation_mode"]
        propagates = isinstance(mode, mlir.IntegerAttr) and mode.value == FAILURES_PROPAGATE
        found = table.resolve(target)
        if found is None or not propagates or depth == _MAX_DEPTH:
            raise CannotTellError(f"what comes of including '{target}' is not understood")
        inner, sequence = found
        meanings = [self._values.get(each, _OTHER) for each in include.operands]
        yielded = _Reading(self._steps).run(inner, sequence, meanings, depth + 1)
        self._values.update(zip(include.results, yielded, strict=True))

    def _expect_operation(self, operation: mlir.Operation) -> None:
        if self._values.get(operation.operands[0]) != _OPERATION:
            raise CannotTellError("the matcher looks at other operations than the one it is given")

    def _nothing(self, operation: mlir.Operation) -> None:
        """Demands nothing."""

    def _unconfigured(self, operation: mlir.Operation) -> None:
        self._expect_operation(operation)
        self._steps.append(check_unconfigured)

    def _name(self, operation: mlir.Operation) -> None:
        self._expect_operation(operation)
        wanted = operation.attributes["op_names"]
        assert isinstance(wanted, mlir.ArrayAttr)
        accepted = [each.value for each in wanted if isinstance(each, mlir.StringAttr)]
        self._steps.append(partial(check_name, accepted))

    def _kind(self, operation: mlir.Operation) -> None:
        self._expect_operation(operation)
        kind, name, inputs, outputs = _KINDS[operation.name]
        attributes = operation.attributes
        if name:
            self._steps.append(partial(check_name, [name]))
        else:
            self._steps.append(partial(check_kind, kind))
        for position, each in enumerate((*inputs, *outputs)):
            attribute = attributes[f"{each}_type"]
            assert isinstance(attribute, mlir.TypeAttr)
            at = position if position < len(inputs) else position - len(inputs) - len(outputs)
            self._steps.append(
                partial(check_element, kind, f"{each} type", at, str(attribute.value))
            )
        if _MAPS in attributes:
            maps = _maps(attributes[_MAPS])
            self._steps.append(partial(check_maps, maps, (inputs, outputs)))
        if kind is Kind.ATTENTION:
            self._steps.append(check_mask)
        for role, result in zip(ROLES[kind], operation.results, strict=True):
            self._values[result] = Role(kind, role)

    def _dims_equal(self, operation: mlir.Operation) -> None:
        subject = self._values.get(operation.operands[0])
        if not isinstance(subject, Role):
            raise CannotTellError("the matcher compares other numbers than sizes")
        expected = operation.attributes["expected_values"]
        assert isinstance(expected, mlir.DenseI64ArrayAttr)
        self._steps.append(partial(check_sizes, subject, tuple(expected)))

    def _value(self, operation: mlir.Operation) -> None:
        self._expect_operation(operation)
        attributes = operation.attributes
        positions = attributes["raw_position_list"]
        assert isinstance(positions, mlir.DenseI64ArrayAttr)
        if len(positions) != 1 or positions[0] < 0 or {"is_inverted", "is_all"} & {*attributes}:
            raise CannotTellError("the matcher takes several operands at once")
        value = Value(operation.name == names.GET_OPERAND, positions[0])
        self._values[operation.results[0]] = value
        self._steps.append(partial(check_has, value))

    def _subject(self, operation: mlir.Operation) -> Value:
        subject = self._values.get(operation.operands[0])
        if not isinstance(subject, Value):
            raise CannotTellError("the matcher looks at values of other operations")
        return subject

    def _type(self, operation: mlir.Operation) -> None:
        attribute = operation.attributes["target_type"]
        assert isinstance(attribute, mlir.TypeAttr)
        wanted = OperandType.of(attribute.value)
        self._steps.append(partial(check_type, self._subject(operation), wanted))

    def _multiple(self, operation: mlir.Operation) -> None:
        factor = _integer(operation, "size") or 0
        if factor <= 0:
            raise CannotTellError("the matcher asks for multiples of nothing")
        self.check_dimension(operation, lambda size: size % factor == 0, f"a multiple of {factor}")

    def _bounds(self, operation: mlir.Operation) -> None:
        least, most = _integer(operation, "lower_bound"), _integer(operation, "upper_bound")
        if least is not None:
            self.check_dimension(operation, lambda size: size >= least, f"at least {least}")
        if most is not None:
            self.check_dimension(operation, lambda size: size <= most, f"at most {most}")

    def check_dimension(
        self, operation: mlir.Operation, allows: Callable[[int], bool], wanted: str
    ) -> None:
        dimension = _integer(operation, "dim")
        if dimension is None or dimension < 0:
            raise CannotTellError("the matcher looks at dimensions in a way that is not understood")
        subject = self._subject(operation)
        self._steps.append(partial(check_dimension, subject, dimension, allows, wanted))

    def _regions(self, operation: mlir.Operation) -> None:
        self._expect_operation(operation)
        wanted = next(body(operation))
        self._steps.append(partial(check_regions, regions_key(wanted), computation_of(wanted)))

    def _dag(self, operation: mlir.Operation) -> None:
        self._expect_operation(operation)
        *before, root, _ = body(operation)
        self._steps.append(partial(check_name, [root.name]))
        if _NAME_ONLY in root.attributes:
            return
        attributes = {name: str(value) for name, value in root.attributes.items()}
        self._steps.append(partial(check_operand_count, len(root.operands)))
        if attributes.pop(_MAPS, None):
            maps = _maps(root.attributes[_MAPS])
            self._steps.append(partial(check_maps, maps, ((), ())))
        self._steps.append(partial(check_attributes, attributes, {_MAPS}))
        for position, operand in enumerate(root.operands):
            value = Value(is_operand=True, position=position)
            self._steps.append(partial(check_type, value, OperandType.of(operand.type)))
        self._steps.append(partial(check_regions, regions_key(root), computation_of(root)))
        if before or len(set(root.operands)) < len(root.operands):
            self._steps.append(
                partial(cannot_tell, "what computes the operands is compared as well")
            )


def _integer(operation: mlir.Operation, name: str) -> int | None:
    attribute = operation.attributes.get(name)
    return attribute.value if isinstance(attribute, mlir.IntegerAttr) else None


def _maps(attribute: mlir.Attribute) -> list[str]:
    assert isinstance(attribute, mlir.ArrayAttr)
    return [str(each.value) for each in attribute if isinstance(each, mlir.AffineMapAttr)]


_MAPS: Final = "indexing_maps"

_NAME_ONLY: Final = "match.operation_name_only"
"""Marks an operation of which only the name counts."""

_KINDS: Final = {
    names.MATCH_CONTRACTION: (Kind.CONTRACTION, "", ("lhs", "rhs"), ("output",)),
    names.MATCH_CONVOLUTION: (Kind.CONVOLUTION, "", ("lhs", "rhs"), ("output",)),
    names.MATCH_ATTENTION: (
        *(Kind.ATTENTION, names.ATTENTION, ("query", "key", "value"), ("output",)),
    ),
    names.MATCH_ONLINE_ATTENTION: (
        *(Kind.ATTENTION, names.ONLINE_ATTENTION, ("query", "key", "value", "scale")),
        ("output", "max", "sum"),
    ),
}
"""For each matching operation the kind, the name of the operation or nothing, the inputs and the outputs."""

_READERS: Final = {
    names.PARAM_CONSTANT: _Reading._nothing,  # noqa: SLF001 - the class's own table
    names.HAS_NO_LOWERING_CONFIG: _Reading._unconfigured,  # noqa: SLF001
    names.MATCH_OPERATION_NAME: _Reading._name,  # noqa: SLF001
    names.MATCH_CONTRACTION: _Reading._kind,  # noqa: SLF001
    names.MATCH_CONVOLUTION: _Reading._kind,  # noqa: SLF001
    names.MATCH_ATTENTION: _Reading._kind,  # noqa: SLF001
    names.MATCH_ONLINE_ATTENTION: _Reading._kind,  # noqa: SLF001
    names.MATCH_DIMS_EQUAL: _Reading._dims_equal,  # noqa: SLF001
    names.MATCH_DAG: _Reading._dag,  # noqa: SLF001
    names.MATCH_REGIONS: _Reading._regions,  # noqa: SLF001
    names.GET_OPERAND: _Reading._value,  # noqa: SLF001
    names.GET_RESULT: _Reading._value,  # noqa: SLF001
    names.MATCH_TYPE: _Reading._type,  # noqa: SLF001
    names.MATCH_DIM_MULTIPLE: _Reading._multiple,  # noqa: SLF001
    names.MATCH_DIM_BOUNDS: _Reading._bounds,  # noqa: SLF001
}
