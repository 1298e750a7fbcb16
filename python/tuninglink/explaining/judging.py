"""Asking a matcher about an operation as the compiler's interpreter does, to learn where and why it says no.

The operations of a matcher are read in order, through includes. Up to the first one that is not known, what they
demand is compared with the operation; what stands behind it is not looked at, so that no condition is named as
the first that failed unless it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.explaining.structure import regions_key
from tuninglink.explaining.subject import ROLES, OperandType
from tuninglink.ir import names
from tuninglink.ir.walk import body, visit
from tuninglink.spec.building import FAILURES_PROPAGATE
from tuninglink.spec.conditions import Kind
from tuninglink.spec.sequences import is_any_op, reference, signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tuninglink.explaining.subject import Sizes, Subject
    from tuninglink.spec.sequences import Handle, SequenceTable

    Step = Callable[[Subject], Iterator["Difference"]]
    """Yields what a demand differs in from an operation; raises `CannotTellError`."""


@dataclass(frozen=True)
class Difference:
    """A condition of a matcher that an operation does not meet.

    Attributes:
        condition: what is compared, such as `n` or `lhs type`.
        actual: what the operation has.
        expected: what the matcher demands.
    """

    condition: str
    actual: str
    expected: str

    def __str__(self) -> str:
        return f"{self.condition}: {self.actual}, the entry has {self.expected}"


@dataclass(frozen=True)
class Judgment:
    """What a matcher says about an operation.

    Attributes:
        differences: the conditions that do not hold, in the order in which the interpreter meets them.
        unsure: why it cannot be told what else the matcher demands; nothing if all is known.
    """

    differences: tuple[Difference, ...]
    unsure: str = ""

    @property
    def matches(self) -> bool | None:
        """Whether the matcher matches; None if that cannot be told."""
        if self.differences:
            return False
        return None if self.unsure else True


class CannotTellError(Exception):
    """Something is not known; the message says what."""


class Judge:
    """Judges by the matchers of one module; each matcher is read once.

    Args:
        table: the sequences of the module.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self._steps: dict[str, list[Step]] = {}

    def judge(self, matcher: str, subject: Subject) -> Judgment:
        """Returns what the matcher at a path says about an operation."""
        differences: list[Difference] = []
        for step in self._read(matcher):
            try:
                differences += step(subject)
            except CannotTellError as failure:
                return Judgment(tuple(differences), str(failure))
        return Judgment(tuple(differences))

    def unreadable(self, matcher: str) -> str:
        """Returns why nothing is known of what the matcher at a path demands; nothing if something is."""
        first = next(iter(self._read(matcher)), None)
        return first.args[0] if isinstance(first, partial) and first.func is _cannot_tell else ""

    def _read(self, matcher: str) -> list[Step]:
        if matcher not in self._steps:
            self._steps[matcher] = read_steps(self._table, matcher)
        return self._steps[matcher]


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
        steps.append(partial(_cannot_tell, str(failure)))
    return steps


def _cannot_tell(reason: str, _: Subject) -> Iterator[Difference]:
    raise CannotTellError(reason)


# --- What the values in a matcher stand for ----------------------------------------------------------------


@dataclass(frozen=True)
class _Value:
    """An operand or a result of the operation that the matcher is asked about."""

    is_operand: bool
    position: int

    def of(self, subject: Subject) -> OperandType | None:
        """Returns its type, None if there is no such value."""
        values = subject.operands if self.is_operand else subject.results
        return values[self.position] if self.position < len(values) else None

    def name(self) -> str:
        """Returns what to call the value."""
        return f"{'operand' if self.is_operand else 'result'} {self.position}"

    def dimension_name(self, subject: Subject, dimension: int) -> str:
        """Returns what to call one of its dimensions."""
        called = None
        if self.is_operand:
            called = subject.dimension_names.get((self.position, dimension))
        return called or f"{self.name()} dimension {dimension}"


@dataclass(frozen=True)
class _Role:
    """The sizes of the loops in a role."""

    kind: Kind
    name: str


_OPERATION: Final = "operation"
_OTHER: Final = "other"
_Meaning = _Value | _Role | str

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
        self._steps.append(_check_unconfigured)

    def _name(self, operation: mlir.Operation) -> None:
        self._expect_operation(operation)
        wanted = operation.attributes["op_names"]
        assert isinstance(wanted, mlir.ArrayAttr)
        accepted = [each.value for each in wanted if isinstance(each, mlir.StringAttr)]
        self._steps.append(partial(_check_name, accepted))

    def _kind(self, operation: mlir.Operation) -> None:
        self._expect_operation(operation)
        kind, name, inputs, outputs = _KINDS[operation.name]
        attributes = operation.attributes
        if name:
            self._steps.append(partial(_check_name, [name]))
        else:
            self._steps.append(partial(_check_kind, kind))
        for position, each in enumerate((*inputs, *outputs)):
            attribute = attributes[f"{each}_type"]
            assert isinstance(attribute, mlir.TypeAttr)
            at = position if position < len(inputs) else position - len(inputs) - len(outputs)
            self._steps.append(
                partial(_check_element, kind, f"{each} type", at, str(attribute.value))
            )
        if "indexing_maps" in attributes:
            wanted = attributes["indexing_maps"]
            assert isinstance(wanted, mlir.ArrayAttr)
            maps = [str(each.value) for each in wanted if isinstance(each, mlir.AffineMapAttr)]
            self._steps.append(partial(_check_maps, maps, (inputs, outputs)))
        if kind is Kind.ATTENTION:
            self._steps.append(_check_mask)
        for role, result in zip(ROLES[kind], operation.results, strict=True):
            self._values[result] = _Role(kind, role)

    def _dims_equal(self, operation: mlir.Operation) -> None:
        subject = self._values.get(operation.operands[0])
        if not isinstance(subject, _Role):
            raise CannotTellError("the matcher compares other numbers than sizes")
        expected = operation.attributes["expected_values"]
        assert isinstance(expected, mlir.DenseI64ArrayAttr)
        self._steps.append(partial(_check_sizes, subject, tuple(expected)))

    def _value(self, operation: mlir.Operation) -> None:
        self._expect_operation(operation)
        attributes = operation.attributes
        positions = attributes["raw_position_list"]
        assert isinstance(positions, mlir.DenseI64ArrayAttr)
        if len(positions) != 1 or positions[0] < 0 or {"is_inverted", "is_all"} & {*attributes}:
            raise CannotTellError("the matcher takes several operands at once")
        value = _Value(operation.name == names.GET_OPERAND, positions[0])
        self._values[operation.results[0]] = value
        self._steps.append(partial(_check_has, value))

    def _subject(self, operation: mlir.Operation) -> _Value:
        subject = self._values.get(operation.operands[0])
        if not isinstance(subject, _Value):
            raise CannotTellError("the matcher looks at values of other operations")
        return subject

    def _type(self, operation: mlir.Operation) -> None:
        attribute = operation.attributes["target_type"]
        assert isinstance(attribute, mlir.TypeAttr)
        wanted = OperandType.of(attribute.value)
        self._steps.append(partial(_check_type, self._subject(operation), wanted))

    def _multiple(self, operation: mlir.Operation) -> None:
        factor = _integer(operation, "size") or 0
        if factor <= 0:
            raise CannotTellError("the matcher asks for multiples of nothing")
        self._check_dimension(operation, lambda size: size % factor == 0, f"a multiple of {factor}")

    def _bounds(self, operation: mlir.Operation) -> None:
        least, most = _integer(operation, "lower_bound"), _integer(operation, "upper_bound")
        if least is not None:
            self._check_dimension(operation, lambda size: size >= least, f"at least {least}")
        if most is not None:
            self._check_dimension(operation, lambda size: size <= most, f"at most {most}")

    def _check_dimension(
        self, operation: mlir.Operation, allows: Callable[[int], bool], wanted: str
    ) -> None:
        dimension = _integer(operation, "dim")
        if dimension is None or dimension < 0:
            raise CannotTellError("the matcher looks at dimensions in a way that is not understood")
        subject = self._subject(operation)
        self._steps.append(partial(_check_dimension, subject, dimension, allows, wanted))

    def _regions(self, operation: mlir.Operation) -> None:
        self._expect_operation(operation)
        wanted = next(body(operation))
        self._steps.append(partial(_check_regions, regions_key(wanted), _computation(wanted)))

    def _dag(self, operation: mlir.Operation) -> None:
        self._expect_operation(operation)
        *before, root, _ = body(operation)
        self._steps.append(partial(_check_name, [root.name]))
        if _NAME_ONLY in root.attributes:
            return
        attributes = {name: str(value) for name, value in root.attributes.items()}
        self._steps.append(partial(_check_operand_count, len(root.operands)))
        self._steps.append(partial(_check_attributes, attributes))
        for position, operand in enumerate(root.operands):
            value = _Value(is_operand=True, position=position)
            self._steps.append(partial(_check_type, value, OperandType.of(operand.type)))
        self._steps.append(partial(_check_regions, regions_key(root), _computation(root)))
        if before or len(set(root.operands)) < len(root.operands):
            self._steps.append(
                partial(_cannot_tell, "what computes the operands is compared as well")
            )


# --- What each demand compares -----------------------------------------------------------------------------


def _check_unconfigured(subject: Subject) -> Iterator[Difference]:
    if subject.is_configured:
        yield Difference("configuration", "one of its own", "none")


def _check_name(accepted: Sequence[str], subject: Subject) -> Iterator[Difference]:
    if subject.name not in accepted:
        yield Difference("operation", subject.name, " or ".join(accepted))


def _check_kind(kind: Kind, subject: Subject) -> Iterator[Difference]:
    if subject.kind is not kind:
        actual = subject.kind.value if subject.kind else f"no {kind.value}"
        yield Difference("kind", actual, kind.value)


def _check_element(
    kind: Kind, condition: str, at: int, wanted: str, subject: Subject
) -> Iterator[Difference]:
    if subject.kind is kind and subject.operands[at].element != wanted:
        yield Difference(condition, subject.operands[at].element, wanted)


def _check_maps(
    wanted: Sequence[str], operands: tuple[Sequence[str], Sequence[str]], subject: Subject
) -> Iterator[Difference]:
    actual = [str(each) for each in subject.maps]
    if len(actual) != len(wanted):
        yield Difference("indexing maps", str(len(actual)), str(len(wanted)))
        return
    inputs, outputs = operands
    hidden = [f"operand {each}" for each in range(len(inputs), len(wanted) - len(outputs))]
    for name, one, other in zip((*inputs, *hidden, *outputs), actual, wanted, strict=True):
        if one != other:
            yield Difference(f"{name} map", one, other)


def _check_mask(subject: Subject) -> Iterator[Difference]:
    yield from ()
    outputs = 3 if subject.name == names.ONLINE_ATTENTION else 1
    if subject.kind is Kind.ATTENTION and len(subject.operands) - outputs > _UNMASKED:
        # The interpreter refuses some of them although all that the matcher says holds.
        raise CannotTellError("the attention has a mask")


def _check_sizes(role: _Role, expected: Sequence[int], subject: Subject) -> Iterator[Difference]:
    if subject.kind is not role.kind:
        return  # That is a difference already.
    actual = subject.roles[role.name]
    wanted = [None if size == _ANY_SIZE else size for size in expected]
    agrees = len(actual) == len(wanted) and all(
        size is None or size == one for size, one in zip(wanted, actual, strict=True)
    )
    if not agrees:
        yield Difference(role.name, _sizes(actual, "?"), _sizes(wanted, "any"))


def _check_has(value: _Value, subject: Subject) -> Iterator[Difference]:
    if value.of(subject) is None:
        kind = "operands" if value.is_operand else "results"
        count = len(subject.operands if value.is_operand else subject.results)
        yield Difference(kind, str(count), f"at least {value.position + 1}")


def _check_operand_count(wanted: int, subject: Subject) -> Iterator[Difference]:
    if len(subject.operands) != wanted:
        yield Difference("operands", str(len(subject.operands)), str(wanted))


def _check_type(value: _Value, wanted: OperandType, subject: Subject) -> Iterator[Difference]:
    actual = value.of(subject)
    if actual is None:
        return  # That is a difference already.
    if not wanted.is_tensor:
        if actual.text != wanted.text:
            yield Difference(f"{value.name()} type", actual.text, wanted.text)
        return
    sizes, demanded = actual.sizes or (), wanted.sizes or ()
    if not actual.is_tensor or actual.encoding != wanted.encoding:
        yield Difference(f"{value.name()} type", actual.text, wanted.text)
        return
    if actual.element != wanted.element or len(sizes) != len(demanded):
        yield Difference(f"{value.name()} type", str(actual), str(wanted))
        return
    for dimension, (size, one) in enumerate(zip(sizes, demanded, strict=True)):
        if one is not None and size != one:
            name = value.dimension_name(subject, dimension)
            yield Difference(name, "?" if size is None else str(size), str(one))


def _check_dimension(
    value: _Value, dimension: int, allows: Callable[[int], bool], wanted: str, subject: Subject
) -> Iterator[Difference]:
    kind = value.of(subject)
    if kind is None:
        return  # That is a difference already.
    name = value.dimension_name(subject, dimension)
    if kind.sizes is None or dimension >= len(kind.sizes):
        raise CannotTellError(f"{value.name()} has no dimension {dimension}")
    size = kind.sizes[dimension]
    if size is None:
        raise CannotTellError(f"{name} is dynamic, and may be known to be {wanted}")
    if not allows(size):
        yield Difference(name, str(size), wanted)


def _check_regions(wanted: object, computation: str, subject: Subject) -> Iterator[Difference]:
    if subject.regions != wanted:
        actual = _computation(subject.operation)
        if actual == computation:
            actual += " on other values"
        yield Difference("computation", actual, computation)


def _check_attributes(wanted: dict[str, str], subject: Subject) -> Iterator[Difference]:
    actual = subject.attributes
    for name in sorted({*wanted, *actual}):
        if wanted.get(name) != actual.get(name):
            called = name.replace("_", " ")
            yield Difference(called, actual.get(name, "none"), wanted.get(name, "none"))


def _computation(operation: mlir.Operation) -> str:
    """Returns the names of the operations in the regions of an operation."""
    found: list[str] = []

    def visitor(inner: mlir.Operation) -> None:
        if inner != operation and not inner.name.endswith(".yield"):
            found.append(inner.name)

    visit(operation, visitor)
    return ", ".join(found) or "nothing"


def _sizes(sizes: Sizes | Sequence[int | None], unknown: str) -> str:
    return "x".join(unknown if each is None else str(each) for each in sizes) or "none"


def _integer(operation: mlir.Operation, name: str) -> int | None:
    attribute = operation.attributes.get(name)
    return attribute.value if isinstance(attribute, mlir.IntegerAttr) else None


_UNMASKED: Final = 4
"""The inputs of an attention without a mask: query, key, value and scale."""

_ANY_SIZE: Final = -1
"""What stands for any size in `dims_equal`."""

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
