"""Sequences that are guarded: handed what is decided, they keep it from what they run and yield what they decide."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import join_path, reference, split_path, symbol_name
from tuninglink.mlir.walk import body, collect
from tuninglink.specs.builders import (
    FAILURES_PROPAGATE,
    FAILURES_SUPPRESS,
    any_op,
    change_signature,
    empty_handle,
    fails_as_included,
    include,
    merge_handles,
    yield_more,
)
from tuninglink.specs.decided import UNDECIDED_OF
from tuninglink.specs.guarded_lists import GuardedLists
from tuninglink.specs.sequences import is_any_op
from tuninglink.specs.side_effects import only_reads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs.callees import Callee, Callees
    from tuninglink.specs.sequences import Handle, SequenceTable


@dataclass(frozen=True)
class _Included:
    """What becomes of an included sequence that does more than annotate.

    Attributes:
        name: its symbol, which takes the decided ops as well and yields what it configures; None if it only reads,
            and stays as it is.
        is_complete: whether nothing else in it may configure an op.
        may_lose: whether it may fail, in suppressed mode too, within a sequence that has configured an op by then.
    """

    name: str | None
    is_complete: bool = True
    may_lose: bool = False


@dataclass
class DecidedOps:
    """What is known of decided ops while a sequence is rewritten.

    Attributes:
        before: a handle to what was decided before, and by the lists of the sequence.
        handles: handles to what was configured since.
        is_handed_on: whether `before` holds what a list of the sequence decided.
        is_complete: whether nothing else in the sequence may have configured an op.
        may_lose: whether a sequence that it includes may configure an op and then fail, so that no handle is left.
    """

    before: Handle
    handles: list[Handle] = field(default_factory=list)
    is_handed_on: bool = False
    is_complete: bool = True
    may_lose: bool = False


class GuardedSequences:
    """Rewrites the sequences that one entry point runs.

    Args:
        callees: the sequences of the spec.
        guards: whether decided ops are kept from them; else they only hand them on.
    """

    def __init__(self, callees: Callees, *, guards: bool) -> None:
        self._guards = guards
        self._callees = callees
        self._lists = GuardedLists(callees, self._action, guards=guards)
        self._included: dict[mlir.Operation, _Included | None] = {}
        self._any_op = any_op()

    def rewrite(
        self,
        table: SequenceTable,
        operations: Sequence[mlir.Operation],
        decided: Handle,
        own: set[Handle],
    ) -> DecidedOps:
        """Rewrites the body of an entry point or an action that is handed what is decided.

        Args:
            table: the sequences of its module.
            operations: the ops of the body.
            decided: a handle to the decided ops.
            own: handles to ops that are known not to be decided, and are told to be decided elsewhere.
        """
        found = DecidedOps(decided)
        for operation in operations:
            if operation.name == names.ANNOTATE:
                found.handles += self._annotate(table, operation, 0, found.before, own)
            elif operation.name == names.INCLUDE:
                self._include(table, operation, found, own)
            elif operation.name == names.FOREACH_MATCH:
                with operation.location, mlir.InsertionPoint(operation):
                    before = found.before
                    parts = [before, *found.handles]
                    known = merge_handles(parts, deduplicate=True) if found.handles else before
                # It invalidates the handles to all that is inside of its root, and gives a new one.
                found.before, is_complete = self._lists.rewrite(table, operation, known)
                found.handles = []
                found.is_handed_on = True
                found.is_complete &= is_complete
            elif operation.name != names.YIELD and not only_reads(operation):
                # Alternatives are isolated from the handles around them.
                if not collect(operation, names.ALTERNATIVES):
                    self._inside(table, operation, found.before, own)
                self._lose(table, operation, found)
        return found

    def _inside(
        self, table: SequenceTable, operation: mlir.Operation, decided: Handle, own: set[Handle]
    ) -> None:
        """Keeps decided ops from what stands in the regions of an op."""
        for each in collect(operation, names.ANNOTATE):
            self._annotate(table, each, 0, decided, own)
        for each in collect(operation, names.INCLUDE):
            self._include(table, each, DecidedOps(decided), own)

    def _lose(self, table: SequenceTable, operation: mlir.Operation, found: DecidedOps) -> None:
        """Notes that nothing is known of what an op configures, and gives up what it invalidates."""
        found.is_complete = False
        if _consumes(table, operation):
            with operation.location, mlir.InsertionPoint.after(operation):
                found.before = empty_handle(_valid_handle(operation, found.before))
            found.handles = []

    def _annotate(
        self,
        table: SequenceTable,
        operation: mlir.Operation,
        number: int,
        decided: Handle,
        own: set[Handle],
    ) -> list[Handle]:
        """Keeps decided ops from an op that annotates one of its operands; returns a handle to what is left."""
        target: Handle = operation.operands[number]
        if target in own:
            return []
        with operation.location, mlir.InsertionPoint(operation):
            if not is_any_op(target.type):
                cast = mlir.Operation.create(names.CAST, operands=[target], results=[self._any_op])
                target = cast.results[0]
            if self._guards:
                helper = self._callees.helpers(table).name(UNDECIDED_OF)
                undecided = include([helper], [target, decided], [self._any_op], FAILURES_PROPAGATE)
                target = undecided.results[0]
                operation.operands[number] = target
        return [target]

    def _action(self, callee: Callee, own: set[int], decides: bool) -> bool:  # noqa: FBT001 - a callback
        """Gives an action the op that matched and the decided ops, and lets it yield what is decided by it.

        Returns whether it yields all of that.
        """
        sequence = callee.sequence
        arguments = list(sequence.regions[0].blocks[0].arguments)
        consumes = any(_consumes(callee.table, each) for each in body(sequence))
        operations = list(body(sequence))
        asked, decided = change_signature(sequence, [self._any_op] * 2, [self._any_op])
        kept = {arguments[each] for each in own}
        found = self.rewrite(callee.table, operations, decided, kept)
        handles = [asked] if decides and not consumes else []
        handles += [found.before] if found.is_handed_on else []
        handles += found.handles
        _yield_merged(sequence, handles, found.before)
        return found.is_complete

    def _include(
        self, table: SequenceTable, operation: mlir.Operation, found: DecidedOps, own: set[Handle]
    ) -> None:
        """Keeps decided ops from what an include runs, and notes what that configures."""
        path = reference(operation.attributes["target"])
        annotations = table.annotations(path)
        if annotations is not None:
            for each in sorted({each.operand for each in annotations}):
                found.handles += self._annotate(table, operation, each, found.before, own)
            return
        included = None if _consumes(table, operation) else self._included_at(table, path)
        if included is None:
            self._lose(table, operation, found)
        elif included.name is not None:
            if fails_as_included(operation):
                found.may_lose = True
            elif included.may_lose:
                found.is_complete = False
            found.is_complete &= included.is_complete
            found.handles.append(_include_instead(operation, included.name, found.before))

    def _included_at(self, table: SequenceTable, path: str) -> _Included | None:
        """Returns what becomes of an included sequence that does more than annotate; None if that is not known."""
        sequence = table.lookup(path)
        if sequence is None:
            return None
        if sequence not in self._included:
            run = list(table.closure(path))
            if all(_is_straight(*each) for each in run):
                self._rewrite_included(run)
            else:
                self._included[sequence] = None
        return self._included[sequence]

    def _rewrite_included(self, run: Sequence[tuple[SequenceTable, mlir.Operation]]) -> None:
        """Rewrites the sequences that an include runs, which come behind those that they include."""
        changing = []
        for table, sequence in run:
            path = join_path([symbol_name(sequence) or ""])
            if sequence in self._included or table.annotations(path) is not None:
                continue
            if all(self._only_reads(table, each) for each in body(sequence)):
                self._included[sequence] = _Included(None)
            else:
                changing.append((sequence, table, path))
        # A copy refers to what is included once more, so that what includes it comes first.
        callees = [
            (sequence, self._callees.take_over(table, path, 1))
            for sequence, table, path in reversed(changing)
        ]
        for sequence, callee in reversed(callees):
            operations = list(body(callee.sequence))
            (decided,) = change_signature(callee.sequence, [self._any_op], [self._any_op])
            found = self.rewrite(callee.table, operations, decided, own=set())
            _yield_merged(callee.sequence, found.handles, decided)
            self._included[sequence] = _Included(
                callee.path[-1], is_complete=found.is_complete, may_lose=found.may_lose
            )

    def _only_reads(self, table: SequenceTable, operation: mlir.Operation) -> bool:
        if operation.name != names.INCLUDE:
            return only_reads(operation)
        path = reference(operation.attributes["target"])
        annotations = table.annotations(path)
        if annotations is not None:
            return not annotations
        found = table.lookup(path)
        included = self._included.get(found) if found else None
        return included is not None and included.name is None


def _valid_handle(operation: mlir.Operation, other: Handle) -> Handle:
    """Returns a handle that is valid behind an op which consumes some: one of its results, if it has any."""
    return next((each for each in operation.results if is_any_op(each.type)), other)


def _yield_merged(sequence: mlir.Operation, handles: list[Handle], any_handle: Handle) -> None:
    """Lets a sequence yield the ops of some handles, maybe of none, as one further handle."""
    terminator = list(body(sequence))[-1]
    with terminator.location, mlir.InsertionPoint(terminator):
        given = handles or [empty_handle(any_handle)]
        merged = merge_handles(given) if len(given) > 1 else given[0]
    yield_more(sequence, [merged])


def _include_instead(operation: mlir.Operation, name: str, decided: Handle) -> Handle:
    """Replaces an include by that of a sequence beside it which takes the decided ops and yields more of them."""
    *scope, _ = split_path(reference(operation.attributes["target"]))
    failures = FAILURES_PROPAGATE if fails_as_included(operation) else FAILURES_SUPPRESS
    kinds = [*(each.type for each in operation.results), decided.type]
    with operation.location, mlir.InsertionPoint(operation):
        operands = [*operation.operands, decided]
        *results, configured = include([*scope, name], operands, kinds, failures).results
    for old, new in zip(operation.results, results, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()
    return configured


def _is_straight(table: SequenceTable, sequence: mlir.Operation) -> bool:
    """Tells whether a sequence walks no list, keeps its handles valid, and includes only what there is."""
    return (
        not collect(sequence, names.FOREACH_MATCH)
        and all(table.callee(each) for each in collect(sequence, names.INCLUDE))
        and not any(_consumes(table, each) for each in body(sequence))
    )


def _consumes(table: SequenceTable, operation: mlir.Operation) -> bool:
    return any(table.consumes(operation, each) for each in operation.operands)
