"""Reading matchers: the condition under which the compiler's interpreter finds that one matches.

A condition is exact: an operation matches if and only if it holds. A matcher with anything in it whose meaning is
not known is opaque as a whole, and says why. `tuninglink.matching.necessary_reading` reads the same operations for
another purpose: it stops at the first one that it does not know, as what comes before is necessary all the same,
and pruning asks for nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from iree.compiler import ir as mlir

from tuninglink.iree.structured import indexing_maps, is_contraction, is_convolution
from tuninglink.matching.conditions import (
    AtLeast,
    AtMost,
    Condition,
    Equals,
    MultipleOf,
    NotUnderstoodError,
    Opaque,
)
from tuninglink.matching.graphs import NAME_ONLY, Graph, regions_key
from tuninglink.matching.loops import Loops, read_loops
from tuninglink.matching.matcher_facts import RESULT, STRUCTURED_OPERANDS, MatcherFacts
from tuninglink.mlir import names
from tuninglink.mlir.symbols import join_path
from tuninglink.mlir.walk import body

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from tuninglink.matching.conditions import Dimension

    Value = mlir.Value[Any]

_ANY_SIZE: Final = -1
"""What stands for any size in `dims_equal`."""

_PROPAGATE: Final = 1
"""The value of `transform`'s FailurePropagationMode with which what an included sequence fails at fails."""

_MAX_DEPTH: Final = 32
"""How many includes within each other are followed."""

_MAX_OPERATIONS: Final = 10_000
"""How many operations of one matcher are read, those that are included counted each time."""


class SequenceLookup(Protocol):
    """Finds named sequences; `tuninglink.specs.sequences.SequenceTable` does."""

    def resolve(self, path: str) -> tuple[SequenceLookup, mlir.Operation] | None:
        """Returns the sequence at `path` and what finds those that it refers to, or None."""


def read_matcher(
    sequence: mlir.Operation, lookup: SequenceLookup | None = None
) -> Condition | Opaque:
    """Returns the condition under which a matcher matches the operation that it is given.

    Args:
        sequence: a `transform.named_sequence` that only matches.
        lookup: finds what it includes; without it a matcher that includes another sequence is opaque.

    Returns:
        The condition, or that the matcher is opaque and why.
    """
    return MatcherReader().read(sequence, lookup)


class MatcherReader:
    """Reads matchers of one context; what they share, such as indexing maps, is read once."""

    def __init__(self) -> None:
        self._loops: dict[Hashable, Loops] = {}

    def read(
        self, sequence: mlir.Operation, lookup: SequenceLookup | None = None
    ) -> Condition | Opaque:
        """Does what `read_matcher` does."""
        try:
            return _Reading(self, lookup).read(sequence)
        except NotUnderstoodError as failure:
            return Opaque(str(failure))

    def loops(
        self, maps: mlir.Attribute, kinds: frozenset[str], attention: str | None
    ) -> Loops | None:
        """Returns the loops of an operation with these maps, None if they are no maps."""
        if not isinstance(maps, mlir.ArrayAttr):
            return None
        key = maps, kinds, attention
        if key not in self._loops:
            self._loops[key] = read_loops(maps, kinds, attention)
        return self._loops[key]


# --- What the values of a matcher stand for ----------------------------------------------------------------


@dataclass(frozen=True)
class _Root:
    """The operation that the matcher is asked about."""


@dataclass(frozen=True)
class _Operand:
    """One of its operands."""

    number: int


@dataclass(frozen=True)
class _Result:
    """One of its results."""

    number: int


@dataclass(frozen=True)
class _Role:
    """The sizes of its loops in a role."""

    name: str


@dataclass(frozen=True)
class _Other:
    """Something that says nothing about it, such as a constant."""


_Meaning = _Root | _Operand | _Result | _Role | _Other
_ROOT: Final = _Root()
_OTHER: Final = _Other()


class _Reading:
    """The reading of one matcher."""

    def __init__(self, reader: MatcherReader, lookup: SequenceLookup | None) -> None:
        self._reader = reader
        self._lookup = lookup
        self._depth = 0
        self._left = _MAX_OPERATIONS
        self._meanings: dict[Value, _Meaning] = {}
        self._facts = MatcherFacts()

    def read(self, sequence: mlir.Operation) -> Condition:
        """Reads all operations of the sequence and those that it includes."""
        blocks = list(sequence.regions[0].blocks)
        if len(blocks) != 1 or len(blocks[0].arguments) != 1:
            raise NotUnderstoodError("it is no sequence of one argument")
        if str(blocks[0].arguments[0].type) != "!transform.any_op":
            raise NotUnderstoodError("it takes a typed operation, and any other is an error")
        self._sequence(sequence, [_ROOT])
        return self._facts.condition(self._reader.loops)

    def _sequence(self, sequence: mlir.Operation, arguments: Sequence[_Meaning]) -> list[_Meaning]:
        """Reads a sequence that is given something, and returns what it yields."""
        for argument, meaning in zip(
            sequence.regions[0].blocks[0].arguments, arguments, strict=True
        ):
            self._meanings[argument] = meaning
        for operation in body(sequence):
            if operation.name == names.YIELD:
                return [self._meanings.get(each, _OTHER) for each in operation.operands]
            reader = _READERS.get(operation.name)
            if reader is None:
                raise NotUnderstoodError(f"'{operation.name}' is not understood")
            self._left -= 1
            if self._left < 0:
                raise NotUnderstoodError(f"it is longer than {_MAX_OPERATIONS} operations")
            reader(self, operation)
        raise NotUnderstoodError("it does not end in a yield")

    # --- What each operation adds --------------------------------------------------------------------------

    def _include(self, operation: mlir.Operation) -> None:
        target = operation.attributes["target"]
        mode = operation.attributes["failure_propagation_mode"]
        if not isinstance(mode, mlir.IntegerAttr) or mode.value != _PROPAGATE:
            raise NotUnderstoodError(f"it includes {target} and goes on where that fails")
        outer = self._lookup
        found = outer.resolve(join_path(_path(target))) if outer else None
        if found is None:
            raise NotUnderstoodError(f"it includes {target}, which is not known")
        if self._depth == _MAX_DEPTH:
            raise NotUnderstoodError(f"it includes more than {_MAX_DEPTH} sequences in each other")
        inner, sequence = found
        blocks = list(sequence.regions[0].blocks)
        types = [each.type for each in operation.operands]
        if not blocks or [each.type for each in blocks[0].arguments] != types:
            raise NotUnderstoodError(f"it includes {target}, which cannot be included like that")
        arguments = [self._meanings.get(each, _OTHER) for each in operation.operands]
        self._lookup, self._depth = inner, self._depth + 1
        yielded = self._sequence(sequence, arguments)
        self._lookup, self._depth = outer, self._depth - 1
        if len(yielded) != len(operation.results):
            raise NotUnderstoodError(f"it includes {target}, which cannot be included like that")
        self._meanings.update(zip(operation.results, yielded, strict=True))

    def _constant(self, operation: mlir.Operation) -> None:
        self._meanings[operation.results[0]] = _OTHER

    def _name(self, operation: mlir.Operation) -> None:
        self._expect_root(operation)
        wanted = operation.attributes["op_names"]
        assert isinstance(wanted, mlir.ArrayAttr)
        self._facts.require_names(
            frozenset(each.value for each in wanted if isinstance(each, mlir.StringAttr))
        )

    def _unconfigured(self, operation: mlir.Operation) -> None:
        self._expect_root(operation)
        self._facts.is_unconfigured = True

    def _contraction(self, operation: mlir.Operation) -> None:
        self._structured(operation, "contraction", ("batch", "m", "n", "k"))

    def _convolution(self, operation: mlir.Operation) -> None:
        roles = ("batch", "output_image", "output_channel", "filter", "input_channel", "depth")
        self._structured(operation, "convolution", (*roles, "strides", "dilations"))

    def _structured(self, operation: mlir.Operation, kind: str, roles: Sequence[str]) -> None:
        self._expect_root(operation)
        self._facts.kinds |= {kind}
        self._facts.require_operands(STRUCTURED_OPERANDS)
        self._facts.require_maps(operation.attributes.get("indexing_maps"))
        types = _type_attributes(operation, ("lhs_type", "rhs_type", "output_type"))
        self._facts.require_types(enumerate(types))
        self._add_roles(operation, kind, roles)

    def _attention(self, operation: mlir.Operation) -> None:
        wanted = ("query_type", "key_type", "value_type", "output_type")
        self._any_attention(operation, names.ATTENTION, wanted[:3], wanted[3:])

    def _online_attention(self, operation: mlir.Operation) -> None:
        inputs = ("query_type", "key_type", "value_type", "scale_type")
        outputs = ("output_type", "max_type", "sum_type")
        self._any_attention(operation, names.ONLINE_ATTENTION, inputs, outputs)

    def _any_attention(
        self, operation: mlir.Operation, name: str, inputs: Sequence[str], outputs: Sequence[str]
    ) -> None:
        self._expect_root(operation)
        self._facts.require_names(frozenset({name}))
        maps = operation.attributes["indexing_maps"]
        assert isinstance(maps, mlir.ArrayAttr)
        self._facts.require_maps(maps)
        self._facts.require_types(enumerate(_type_attributes(operation, inputs)))
        first_output = len(maps) - len(outputs)
        self._facts.require_types(enumerate(_type_attributes(operation, outputs), first_output))
        self._add_roles(operation, "attention", ("batch", "m", "n", "k1", "k2"))

    def _add_roles(self, operation: mlir.Operation, kind: str, roles: Sequence[str]) -> None:
        for result, role in zip(operation.results, roles, strict=True):
            self._meanings[result] = _Role(f"{kind} {role}")

    def _operand(self, operation: mlir.Operation) -> None:
        number = self._single_position(operation)
        self._facts.require_operands(number + 1)
        self._meanings[operation.results[0]] = _Operand(number)

    def _result(self, operation: mlir.Operation) -> None:
        if not self._depth:
            raise NotUnderstoodError(
                f"'{operation.name}' stands in the matcher itself, which is an error when it runs"
            )
        number = self._single_position(operation)
        self._facts.results = max(self._facts.results, number + 1)
        self._meanings[operation.results[0]] = _Result(number)

    def _dims_equal(self, operation: mlir.Operation) -> None:
        role = self._meaning(operation)
        if not isinstance(role, _Role):
            raise NotUnderstoodError("it compares something else than dimensions of a role")
        wanted = operation.attributes["expected_values"]
        assert isinstance(wanted, mlir.DenseI64ArrayAttr)
        sizes = list(wanted)
        if any(size < _ANY_SIZE for size in sizes):
            raise NotUnderstoodError("it asks for dimensions that are dynamic")
        counts = self._facts.counts
        if counts.setdefault(role.name, len(sizes)) != len(sizes):
            raise NotUnderstoodError("it asks for different numbers of dimensions")
        self._facts.sizes |= {
            Equals((role.name, position, 0), size)
            for position, size in enumerate(sizes)
            if size != _ANY_SIZE
        }

    def _dim_multiple(self, operation: mlir.Operation) -> None:
        factor = _integer(operation.attributes["size"])
        if factor <= 0:
            raise NotUnderstoodError("it asks for multiples of nothing")
        self._facts.sizes.add(MultipleOf(self._dimension(operation), factor))

    def _dim_bounds(self, operation: mlir.Operation) -> None:
        dimension = self._dimension(operation)
        for name, fact in (("lower_bound", AtLeast), ("upper_bound", AtMost)):
            bound = operation.attributes.get(name)
            if bound is not None:
                self._facts.sizes.add(fact(dimension, _integer(bound)))

    def _cast_compatible(self, operation: mlir.Operation) -> None:
        attribute = operation.attributes["target_type"]
        assert isinstance(attribute, mlir.TypeAttr)
        match self._meaning(operation):
            case _Operand(number):
                self._facts.require_type(number, attribute.value)
            case _Result():
                self._facts.result_types.append(attribute.value)
            case _:
                raise NotUnderstoodError("it asks for the type of what is no single value")

    def _regions(self, operation: mlir.Operation) -> None:
        self._expect_root(operation)
        (target, _) = body(operation)
        self._facts.require_regions(regions_key(target))

    def _dag(self, operation: mlir.Operation) -> None:
        self._expect_root(operation)
        if self._facts.root is not None:
            raise NotUnderstoodError("it matches several graphs")
        *_, root, _ = body(operation)
        if NAME_ONLY in root.attributes:
            raise NotUnderstoodError("of its graph's last operation only the name counts")
        graph = Graph(root)
        facts = self._facts
        facts.dag = graph.key
        facts.root = graph.own_key
        facts.has_free_operands = graph.has_free_operands
        facts.require_operands(len(root.operands))
        facts.is_unconfigured |= not _is_configured(root)
        self._facts.require_names(frozenset({root.name}))
        self._facts.require_regions(regions_key(root))
        if root.name.startswith("linalg."):
            facts.kinds |= {"contraction"} if is_contraction(root) else set()
            facts.kinds |= {"convolution"} if is_convolution(root) else set()
            self._facts.require_maps(indexing_maps(root))
        else:
            self._facts.require_maps(root.attributes.get("indexing_maps"))
        for number, operand in enumerate(root.operands):
            self._facts.require_type(number, operand.type)

    # --- Helpers -------------------------------------------------------------------------------------------

    def _meaning(self, operation: mlir.Operation) -> _Meaning:
        return self._meanings.get(operation.operands[0], _OTHER)

    def _expect_root(self, operation: mlir.Operation) -> None:
        if self._meaning(operation) is not _ROOT:
            raise NotUnderstoodError("it looks at other operations than the one that it is given")

    def _single_position(self, operation: mlir.Operation) -> int:
        self._expect_root(operation)
        attributes = operation.attributes
        positions = attributes["raw_position_list"]
        assert isinstance(positions, mlir.DenseI64ArrayAttr)
        if len(positions) != 1 or positions[0] < 0 or {"is_inverted", "is_all"} & {*attributes}:
            raise NotUnderstoodError("it takes several operands at once, or counts from the last")
        return positions[0]

    def _dimension(self, operation: mlir.Operation) -> Dimension:
        number = _integer(operation.attributes["dim"])
        if number < 0:
            raise NotUnderstoodError("it asks for a dimension before the first")
        match self._meaning(operation):
            case _Operand(operand):
                self._facts.require_rank(operand, number + 1)
                return "operand", operand, number
            case _Result(result):
                facts = self._facts
                facts.least_result_rank = max(facts.least_result_rank, number + 1)
                return RESULT, result, number
            case _:
                raise NotUnderstoodError("it asks for a dimension of what is no single value")


def _path(reference: mlir.Attribute) -> Sequence[str]:
    if isinstance(reference, mlir.FlatSymbolRefAttr):
        return [reference.value]
    assert isinstance(reference, mlir.SymbolRefAttr)
    return list(reference.value)


def _is_configured(operation: mlir.Operation) -> bool:
    return bool({names.LOWERING_CONFIG, names.COMPILATION_INFO} & {*operation.attributes})


def _type_attributes(operation: mlir.Operation, wanted: Sequence[str]) -> list[mlir.Type]:
    attributes = [operation.attributes[name] for name in wanted]
    return [each.value for each in attributes if isinstance(each, mlir.TypeAttr)]


def _integer(attribute: mlir.Attribute) -> int:
    assert isinstance(attribute, mlir.IntegerAttr)
    return int(attribute.value)


_READERS: Final[Mapping[str, Callable[[_Reading, mlir.Operation], None]]] = {
    names.INCLUDE: _Reading._include,  # noqa: SLF001 - a table of the class
    names.PARAM_CONSTANT: _Reading._constant,  # noqa: SLF001
    names.MATCH_OPERATION_NAME: _Reading._name,  # noqa: SLF001
    names.HAS_NO_LOWERING_CONFIG: _Reading._unconfigured,  # noqa: SLF001
    names.MATCH_CONTRACTION: _Reading._contraction,  # noqa: SLF001
    names.MATCH_CONVOLUTION: _Reading._convolution,  # noqa: SLF001
    names.MATCH_ATTENTION: _Reading._attention,  # noqa: SLF001
    names.MATCH_ONLINE_ATTENTION: _Reading._online_attention,  # noqa: SLF001
    names.GET_OPERAND: _Reading._operand,  # noqa: SLF001
    names.GET_RESULT: _Reading._result,  # noqa: SLF001
    names.MATCH_DIMS_EQUAL: _Reading._dims_equal,  # noqa: SLF001
    names.MATCH_DIM_MULTIPLE: _Reading._dim_multiple,  # noqa: SLF001
    names.MATCH_DIM_BOUNDS: _Reading._dim_bounds,  # noqa: SLF001
    names.MATCH_TYPE: _Reading._cast_compatible,  # noqa: SLF001
    names.MATCH_DAG: _Reading._dag,  # noqa: SLF001
    names.MATCH_REGIONS: _Reading._regions,  # noqa: SLF001
}
