"""Matchers as data: predicates, the place where reading stopped, and the meanings of values; and their reading.

The readings of one module share a cache.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind
from tuninglink.matching import predicates as pred
from tuninglink.matching.op_info import NotUnderstoodError, indexing_maps, regions_key
from tuninglink.matching.predicates import Predicate, ValueRef
from tuninglink.mlir import names
from tuninglink.mlir.attributes import integer_value
from tuninglink.mlir.diagnostics import Place, place_of
from tuninglink.mlir.symbols import reference
from tuninglink.specs.module_scan import is_any_op
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.transform_ops import FAILURES_PROPAGATE, Handle


class ContradictionError(Exception):
    """A matcher has a requirement that no operation satisfies; the message gives the reason."""


@dataclass(frozen=True)
class Stop:
    """The place and the reason where the reading of a matcher stopped.

    Attributes:
        reason: the reason.
        place: the location of the op that is not understood; None if unknown.
        rest: a key of the rest of the matcher; None if it is too long.
    """

    reason: str
    place: Place | None = None
    rest: Hashable | None = None


@dataclass(frozen=True)
class Matcher:
    """A matcher as data.

    The predicates are necessary: if one does not hold, the matcher fails silently. Together, they are exact if the
    reading did not stop.

    Attributes:
        predicates: the predicates, in the order of the interpreter.
        stop: where reading stopped; None if the matcher was read up to its yield.
    """

    predicates: tuple[Predicate, ...]
    stop: Stop | None = None


@dataclass(frozen=True)
class Root:
    """The candidate op of the matcher."""


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


Meaning = Root | ValueRef | RoleRef | Constant | UnknownResult
ROOT: Final = Root()


class ReadingCache:
    """The cache shared by the readings of the matchers of one module.

    Attributes:
        structured: the predicates and meanings of matcher ops for structured ops, by their attributes.
    """

    def __init__(self) -> None:
        self.structured: dict[Hashable, tuple[Sequence[pred.Predicate], Sequence[Meaning]]] = {}
        self._maps: dict[Hashable, pred.Maps] = {}
        self._numbers: dict[Hashable, int] = {}

    def number(self, key: Hashable) -> int:
        """Return a number for the key of an op that is not understood, which avoids nested keys."""
        return self._numbers.setdefault(key, len(self._numbers))

    def maps(self, attribute: mlir.Attribute, kind: OpKind, outputs: int) -> pred.Maps:
        """Return indexing maps as data; see `indexing_maps`."""
        key = attribute, kind, outputs
        if key not in self._maps:
            self._maps[key] = indexing_maps(attribute, kind, outputs)
        return self._maps[key]


_MAX_DEPTH: Final = 32
"""The maximum depth to which nested includes are followed."""

_MAX_OPS: Final = 10_000
"""The maximum number of ops read for one matcher. The ops of an included sequence count each time."""


class Reading:
    """The reading of one matcher. From the first op that is not understood, ops are represented by their structure.

    Args:
        cache: the cache of the readings of one module.
        table: the sequences that the matcher can include.
        readers: the readers of matcher ops, by name.
    """

    def __init__(
        self,
        cache: ReadingCache,
        table: SequenceTable | None,
        readers: Mapping[str, OpReader],
    ) -> None:
        self.cache = cache
        self.depth = 0
        self._predicates: list[pred.Predicate] = []
        self._stop: Stop | None = None
        self._rest: list[Hashable] = []
        self._table = table
        self._readers = readers
        self._left = _MAX_OPS
        self._meanings: dict[Handle, Meaning] = {}

    def run(self, sequence: mlir.Operation) -> Matcher:
        """Read a matcher."""
        blocks = list(sequence.regions[0].blocks)
        arguments = list(blocks[0].arguments) if blocks else []
        try:
            if len(arguments) != 1:
                raise NotUnderstoodError("it is not a sequence of one argument")  # noqa: TRY301 - handled like all others
            if not is_any_op(arguments[0].type):
                raise NotUnderstoodError("it takes a typed op, and any other is an error")  # noqa: TRY301
            self._meanings[arguments[0]] = ROOT
            self._block(blocks[0])
        except NotUnderstoodError as failure:
            unread = Stop(str(failure), place_of(sequence.location))
            return Matcher(tuple(self._predicates), self._stop or unread)
        stop = replace(self._stop, rest=tuple(self._rest)) if self._stop else None
        return Matcher(tuple(self._predicates), stop)

    def ask(self, *predicates: pred.Predicate) -> None:
        """Record the next predicates of the matcher."""
        (self._rest if self._stop else self._predicates).extend(predicates)

    def _block(self, block: mlir.Block) -> list[Meaning]:
        """Read the body of a sequence, and return the meanings of the yielded values.

        Raises:
            NotUnderstoodError: the matcher is too long to be read.
        """
        for view in block.operations:
            op = view.operation
            name = op.name
            if name == names.YIELD:
                return [self._meaning(operand) for operand in op.operands] if self.depth else []
            self._left -= 1
            if self._left < 0:
                raise NotUnderstoodError(f"it is longer than {_MAX_OPS} operations")
            try:
                reader = self._readers.get(name)
                if reader is None:
                    raise NotUnderstoodError(f"'{name}' is not understood")  # noqa: TRY301 - handled like all others
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
        key = (
            op.name,
            id(self._table),  # References are resolved in this table.
            frozenset((name, str(value)) for name, value in op.attributes.items()),
            tuple(map(self._meaning, op.operands)),
            tuple(str(result.type) for result in op.results),
            _regions_key(op),
        )
        self._rest.append(key)
        self.define_unknown(op, key)

    def define_unknown(self, op: mlir.Operation, key: Hashable) -> None:
        """Record the results of an op as unknown, identified only by a key of the op."""
        if list(op.results):
            number = self.cache.number(key)
            self.define(
                op, [UnknownResult(number, position) for position in range(len(op.results))]
            )

    def include(self, op: mlir.Operation) -> None:
        """Read the included sequence of an include."""
        target, mode = op.attributes["target"], op.attributes["failure_propagation_mode"]
        if not isinstance(mode, mlir.IntegerAttr) or mode.value != FAILURES_PROPAGATE:
            raise NotUnderstoodError(f"it includes {target} and goes on where that fails")
        outer = self._table
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
        arguments = [self._meaning(operand) for operand in op.operands]
        self._meanings.update(zip(blocks[0].arguments, arguments, strict=True))
        self._table, self.depth = inner, self.depth + 1
        yielded = self._block(blocks[0])
        self._table, self.depth = outer, self.depth - 1
        if len(yielded) != len(op.results):
            raise NotUnderstoodError(f"it includes {target}, which cannot be included like that")
        self._meanings.update(zip(op.results, yielded, strict=True))

    def define(self, op: mlir.Operation, meanings: Sequence[Meaning]) -> None:
        """Record the meanings of an op's results."""
        self._meanings.update(zip(op.results, meanings, strict=True))

    def meaning(self, op: mlir.Operation) -> Meaning:
        """Return the meaning of the operand of a matcher op."""
        return self._meaning(op.operands[0])

    def _meaning(self, value: Handle) -> Meaning:
        meaning = self._meanings.get(value)
        if meaning is None:
            # Most matchers only yield their constants, so constants are read on use.
            owner = value.owner
            assert isinstance(owner, mlir.OpView | mlir.Operation)
            meaning = Constant(owner.operation.attributes["value"])
        return meaning

    def expect_root(self, op: mlir.Operation) -> None:
        """Require the operand of a matcher op to be the candidate op."""
        if self.meaning(op) is not ROOT:
            raise NotUnderstoodError("it reads operations other than the one that it receives")

    def value(self, op: mlir.Operation) -> pred.ValueRef:
        """Return the operand or result that a matcher op tests."""
        meaning = self.meaning(op)
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


def _regions_key(op: mlir.Operation) -> Hashable:
    """Return a key of the regions of an op, which is unique if they capture values."""
    try:
        return regions_key(op)
    except NotUnderstoodError:
        return object()
