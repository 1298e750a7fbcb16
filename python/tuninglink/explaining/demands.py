"""What matchers demand of an operation, and in what an operation differs from that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tuninglink.matching.necessary_conditions import Kind
from tuninglink.mlir import names
from tuninglink.mlir.walk import visit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from iree.compiler import ir as mlir

    from tuninglink.explaining.subject import OperandType, Sizes, Subject


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


class CannotTellError(Exception):
    """Something is not known; the message says what."""


@dataclass(frozen=True)
class Value:
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
class Role:
    """The sizes of the loops in a role."""

    kind: Kind
    name: str


def cannot_tell(reason: str, _: Subject) -> Iterator[Difference]:
    """Tells that it is not known what is demanded."""
    raise CannotTellError(reason)


def check_unconfigured(subject: Subject) -> Iterator[Difference]:
    """Demands that the operation has no configuration."""
    if subject.is_configured:
        yield Difference("configuration", "one of its own", "none")


def check_name(accepted: Sequence[str], subject: Subject) -> Iterator[Difference]:
    """Demands one of some names."""
    if subject.name not in accepted:
        yield Difference("operation", subject.name, " or ".join(accepted))


def check_kind(kind: Kind, subject: Subject) -> Iterator[Difference]:
    """Demands that the operation is of a kind."""
    if subject.kind is not kind:
        actual = subject.kind.value if subject.kind else f"no {kind.value}"
        yield Difference("kind", actual, kind.value)


def check_element(
    kind: Kind, condition: str, at: int, wanted: str, subject: Subject
) -> Iterator[Difference]:
    """Demands an element type of the operand at a position, which may count from the end."""
    if subject.kind is kind and subject.operands[at].element != wanted:
        yield Difference(condition, subject.operands[at].element, wanted)


def check_maps(
    wanted: Sequence[str], operands: tuple[Sequence[str], Sequence[str]], subject: Subject
) -> Iterator[Difference]:
    """Demands indexing maps, given what the inputs and the outputs are called."""
    actual = [str(each) for each in subject.maps]
    if len(actual) != len(wanted):
        yield Difference("indexing maps", str(len(actual)), str(len(wanted)))
        return
    inputs, outputs = operands
    hidden = [f"operand {each}" for each in range(len(inputs), len(wanted) - len(outputs))]
    for name, one, other in zip((*inputs, *hidden, *outputs), actual, wanted, strict=True):
        if one != other:
            yield Difference(f"{name} map", one, other)


def check_mask(subject: Subject) -> Iterator[Difference]:
    """Tells that nothing is known of attentions with a mask."""
    yield from ()
    outputs = 3 if subject.name == names.ONLINE_ATTENTION else 1
    if subject.kind is Kind.ATTENTION and len(subject.operands) - outputs > _UNMASKED:
        # The interpreter refuses some of them although all that the matcher says holds.
        raise CannotTellError("the attention has a mask")


def check_sizes(role: Role, expected: Sequence[int], subject: Subject) -> Iterator[Difference]:
    """Demands the sizes of the loops in a role."""
    if subject.kind is not role.kind:
        return  # That is a difference already.
    actual = subject.roles[role.name]
    wanted = [None if size == _ANY_SIZE else size for size in expected]
    agrees = len(actual) == len(wanted) and all(
        size is None or size == one for size, one in zip(wanted, actual, strict=True)
    )
    if not agrees:
        yield Difference(role.name, _sizes(actual, "?"), _sizes(wanted, "any"))


def check_has(value: Value, subject: Subject) -> Iterator[Difference]:
    """Demands that there is a value."""
    if value.of(subject) is None:
        kind = "operands" if value.is_operand else "results"
        count = len(subject.operands if value.is_operand else subject.results)
        yield Difference(kind, str(count), f"at least {value.position + 1}")


def check_operand_count(wanted: int, subject: Subject) -> Iterator[Difference]:
    """Demands a number of operands."""
    if len(subject.operands) != wanted:
        yield Difference("operands", str(len(subject.operands)), str(wanted))


def check_type(value: Value, wanted: OperandType, subject: Subject) -> Iterator[Difference]:
    """Demands that a value can be cast to a type."""
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


def check_dimension(
    value: Value, dimension: int, allows: Callable[[int], bool], wanted: str, subject: Subject
) -> Iterator[Difference]:
    """Demands something of the size of one dimension of a value."""
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


def check_regions(wanted: object, computation: str, subject: Subject) -> Iterator[Difference]:
    """Demands that the regions hold a computation."""
    if subject.regions != wanted:
        actual = computation_of(subject.operation)
        if actual == computation:
            actual += " on other values"
        yield Difference("computation", actual, computation)


def check_attributes(
    wanted: Mapping[str, str], passed_over: Collection[str], subject: Subject
) -> Iterator[Difference]:
    """Demands exactly these attributes, but for some names."""
    actual = subject.attributes
    for name in sorted({*wanted, *actual}.difference(passed_over)):
        if wanted.get(name) != actual.get(name):
            called = name.replace("_", " ")
            yield Difference(called, actual.get(name, "none"), wanted.get(name, "none"))


def computation_of(operation: mlir.Operation) -> str:
    """Returns the names of the operations in the regions of an operation."""
    found: list[str] = []

    def visitor(inner: mlir.Operation) -> None:
        if inner != operation and not inner.name.endswith(".yield"):
            found.append(inner.name)

    visit(operation, visitor)
    return ", ".join(found) or "nothing"


def _sizes(sizes: Sizes | Sequence[int | None], unknown: str) -> str:
    return "x".join(unknown if each is None else str(each) for each in sizes) or "none"


_UNMASKED: Final = 4
"""The inputs of an attention without a mask: query, key, value and scale."""

_ANY_SIZE: Final = -1
"""What stands for any size in `dims_equal`."""
