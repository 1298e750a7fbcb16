"""Rewriting of sequences for guards: helpers, copies of shared sequences, additional arguments and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of
from tuninglink.mlir.symbols import FreshNames, references_in, split_path, symbols
from tuninglink.specs.module_scan import signature
from tuninglink.specs.sequences import SequenceTable, consumes_argument
from tuninglink.specs.transform_ops import (
    FAILURES_PROPAGATE,
    FAILURES_SUPPRESS,
    Handle,
    any_op,
    copy_sequence,
    create,
    empty_handle,
    include,
    merge_handles,
    named_pair_attributes,
    named_sequence,
    walk,
    yield_,
)

Types = tuple[mlir.Type, ...]
Body = Callable[..., Sequence[Handle]]

_EQUAL: Final = 0
_NOT_EQUAL: Final = 1
"""The values of `transform`'s MatchCmpIPredicate."""


class ModuleSequences:
    """The sequences of a module, and the sequences that guards add: helpers, moved lists and copies.

    The methods for helpers add each helper once, and return its symbol.

    Args:
        table: the sequences of the module, whose context is the current one.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self._fresh = FreshNames(symbols(table.module))
        self._block = table.module.regions[0].blocks[0]
        self._op = any_op()
        self._helpers: dict[tuple[str, Types, int], str] = {}
        self._uses = Counter(path[0] for path in references_in(table.module))
        self._originals: dict[str, mlir.Operation] = {}

    def take(self, path: str, uses: int) -> tuple[mlir.Operation, str]:
        """Return the sequence at `path`, or a copy if it has more references than `uses`, with its symbol."""
        sequence = self._table.lookup(path)
        assert sequence is not None, "checked by the caller"
        (name,) = split_path(path)
        if self._uses[name] > uses:
            self._originals[name] = sequence
            name = self._fresh.take(name)
            sequence = copy_sequence(sequence, name)
            self._uses.update(reference[0] for reference in references_in(sequence))
        return sequence, name

    def erase_unused_originals(self) -> None:
        """Erase each sequence whose uses all refer to copies of it."""
        if not self._originals:
            return
        uses = Counter(path[0] for path in references_in(self._table.module))
        unused = [name for name in self._originals if not uses[name]]
        while unused:
            sequence = self._originals.pop(unused.pop())
            # An original may be used by other originals alone.
            for name, *_ in references_in(sequence):
                uses[name] -= 1
                if not uses[name] and name in self._originals:
                    unused.append(name)
            sequence.erase()

    def move_list(
        self,
        foreach_match: mlir.Operation,
        operands: Sequence[Handle],
        results: Sequence[mlir.Type],
        pairs: Sequence[tuple[str, str]],
    ) -> str:
        """Add a sequence with a copy of a list, and return its symbol.

        Args:
            foreach_match: the list, which stays where it is.
            operands: the operands of the copy, which the sequence takes.
            results: the types of the results of the copy, which the sequence yields.
            pairs: the symbols of the matchers and actions of the copy.
        """
        attributes = dict(foreach_match.attributes.items()) | named_pair_attributes(pairs)
        attributes["flatten_results"] = mlir.UnitAttr.get()
        name = self._fresh.take("list")
        with foreach_match.location:
            with mlir.InsertionPoint(self._block):
                sequence = named_sequence(name, [operand.type for operand in operands], results)
            sequence.attributes[names.LIST] = mlir.UnitAttr.get()
            block = sequence.regions[0].blocks[0]
            with mlir.InsertionPoint(block):
                yield_(walk(list(block.arguments), results, attributes))
        return name

    def is_decided(self, further: Types) -> str:
        """A matcher of decided ops, which takes an op, further arguments and the decided ops."""

        def build(op: Handle, *others: Handle) -> Sequence[Handle]:
            return _compare(op, others[-1], _EQUAL)

        arguments = (self._op, *further, self._op)
        return self._add("is_decided", arguments, 1, build, is_entry=False)

    def skip(self, count: int) -> str:
        """The action for ops that stay unchanged, which yields empty handles."""
        one = (self._op,)
        return self._add("skip", one, count, lambda op: [empty_handle(op) for _ in range(count)])

    def undecided_of(self) -> str:
        """A sequence that takes ops and the decided ops, and yields the ops that are not decided."""

        def undecided_of(ops: Handle, decided: Handle) -> Sequence[Handle]:
            one = [self._op]
            foreach = mlir.Operation.create(names.FOREACH, one, [ops], regions=1)
            block = foreach.regions[0].blocks.append(*one, arg_locs=[mlir.Location.current])
            with mlir.InsertionPoint(block):
                operands = [block.arguments[0], decided]
                yield_(include([or_none], operands, one, FAILURES_SUPPRESS))
            return list(foreach.results)

        both = (self._op, self._op)
        undecided = self._add(
            "is_undecided", both, 1, lambda op, decided: _compare(op, decided, _NOT_EQUAL)
        )
        # What is included with `failures(suppress)` goes on after a failure, but what that includes does not.
        or_none = self._add("undecided_or_none", both, 1, lambda *given: [call(undecided, given)])
        return self._add("undecided_of", both, 1, undecided_of)

    def configured_in(self) -> str:
        """A sequence that takes a root, and yields the ops with a lowering config among it and its nested ops."""

        def is_unconfigured(op: Handle) -> Sequence[Handle]:
            create(names.HAS_NO_LOWERING_CONFIG, [op])
            return [op]

        def configured_in(root: Handle) -> Sequence[Handle]:
            return walk([root], one * 2, attributes)[1:]

        one = (self._op,)
        unconfigured = self._add("is_unconfigured", one, 1, is_unconfigured, is_entry=False)
        matches_any = self._add("is_any", one, 1, lambda op: [op], is_entry=False)
        keep = self._add("keep", one, 1, lambda op: [op])
        attributes = named_pair_attributes([(unconfigured, self.skip(1)), (matches_any, keep)])
        attributes |= dict.fromkeys(("flatten_results", "restrict_root"), mlir.UnitAttr.get())
        return self._add("configured_in", one, 1, configured_in)

    def _add(
        self, name: str, arguments: Types, results: int, build: Body, *, is_entry: bool = True
    ) -> str:
        """Add a sequence with the given arguments and number of results, and the ops that a function builds."""
        key = (name, arguments, results)
        if key not in self._helpers:
            self._helpers[key] = self._fresh.take(name)
            with mlir.Location.unknown(), mlir.InsertionPoint(self._block):
                sequence = named_sequence(self._helpers[key], arguments, [self._op] * results)
            if not is_entry:
                sequence.attributes[names.NO_ENTRY] = mlir.UnitAttr.get()
            block = sequence.regions[0].blocks[0]
            with mlir.Location.unknown(), mlir.InsertionPoint(block):
                yield_(build(*block.arguments))
        return self._helpers[key]


def call(name: str, operands: Sequence[Handle]) -> Handle:
    """Build an include of a sequence with one result, and return the result."""
    return include([name], operands, [any_op()], FAILURES_PROPAGATE)[0]


def _compare(op: Handle, decided: Handle, predicate: int) -> Sequence[Handle]:
    """Build a match of whether the decided ops include an op; return the op as the only result.

    Args:
        op: the op.
        decided: the decided ops.
        predicate: compares the number of ops with `op` added with the number without it.
    """
    counts = [
        create(names.NUM_ASSOCIATIONS, [handle], ["!transform.param<i64>"])[0]
        for handle in (merge_handles([decided, op], deduplicate=True), decided)
    ]
    i32 = mlir.IntegerType.get_signless(32)
    create(names.MATCH_PARAMETER, counts, predicate=mlir.IntegerAttr.get(i32, predicate))
    return [op]


class Gap(IntEnum):
    """The ops that a sequence configures but does not yield as decided ops.

    Attributes:
        NONE: no ops.
        FAILED: the ops that a callee configures before it fails, to which no handle is left.
        ANY: any ops.
    """

    NONE = 0
    FAILED = 1
    ANY = 2


@dataclass
class State:
    """The handles of a sequence at one place in its body.

    Attributes:
        before: the ops that earlier specs decided.
        decided: handles to the ops that the sequence has decided so far.
        own: arguments that are the matched op.
        gap: the ops that the sequence may have configured but that are not in `decided`.
    """

    before: Handle
    decided: list[Handle] = field(default_factory=list)
    own: frozenset[Handle] = frozenset()
    gap: Gap = Gap.NONE


def cast_to(handle: Handle, kind: mlir.Type) -> Handle:
    """Build a cast of a handle to a type unless the handle already has that type."""
    if handle.type == kind:
        return handle
    return create(names.CAST, [handle], [kind])[0]


def include_instead(
    operation: mlir.Operation, target: str, operands: Sequence[Handle], failures: int
) -> Handle:
    """Replace an op with an include that has one more result, and return that result."""
    kinds = [*(result.type for result in operation.results), any_op()]
    with operation.location, mlir.InsertionPoint(operation):
        *results, last = include([target], operands, kinds, failures)
    for old, new in zip(operation.results, results, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()
    return last


def declare_ownership(sequence: mlir.Operation) -> None:
    """Declare for each argument of a sequence whether the body consumes or only reads it."""
    declared = sequence.attributes.get("arg_attrs")
    attributes = []
    for number in range(len(signature(sequence).inputs)):
        kept = entries_of(declared[number] if isinstance(declared, mlir.ArrayAttr) else None)
        kept = {name: kept[name] for name in kept if name not in (names.CONSUMED, names.READONLY)}
        consumes = consumes_argument(sequence, number)
        kept[names.CONSUMED if consumes else names.READONLY] = mlir.UnitAttr.get()
        attributes.append(mlir.DictAttr.get(kept))
    sequence.attributes["arg_attrs"] = mlir.ArrayAttr.get(attributes)
