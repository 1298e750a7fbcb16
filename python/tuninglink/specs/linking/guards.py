"""Guards: keep the ops that earlier specs decided from a later spec of a chain.

A guarded entry point takes the root of the program and the decided ops, and yields both again, with the ops that its
own spec decided. Its lists are not asked about decided ops, and its annotations skip them. Nothing is written into
the program for that, since a DAG matcher refuses an op with an attribute that it does not show.

Every sequence that such an entry point runs is rewritten. These are the handles in it:

| handle | refers to | who passes it on | what ends it |
| --- | --- | --- | --- |
| `before` | the ops that earlier specs decided | the entry point to its lists and callees, a list to its matchers, a matcher to its action | an op that consumes a handle; not a list, which runs in a sequence of its own, and the interpreter invalidates handles in that sequence only |
| matched op | the op that a matcher matched | the matcher to its action | as above |
| `own` | the arguments of an action that always are the matched op: undecided, so that they need no guard | | as above |
| `decided` | what the spec decided: the matched op and what was annotated since | every sequence to its caller, a list to the sequence around it, the entry point to the next one | as above |

Where a handle in `decided` is lost, the entry point adds the ops that are configured by then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of
from tuninglink.mlir.symbols import reference, split_path
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
    named_sequence,
    walk,
    yield_,
    yield_more,
)
from tuninglink.specs.foreach_match import named_pair_attributes
from tuninglink.specs.linking.helper_sequences import Callees
from tuninglink.specs.linking.restrictions import can_be_guarded, only_annotates
from tuninglink.specs.sequences import signature
from tuninglink.specs.side_effects import SideEffects, only_reads

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.specs.linking.helper_sequences import Callee
    from tuninglink.specs.sequences import Handle, SequenceTable
    from tuninglink.specs.structure import Anatomy

    _Key = tuple[SequenceTable, str]


def guard(spec: Anatomy) -> None:
    """Rewrites a spec so that it leaves decided ops alone as far as possible, and hands on what it decides."""
    with spec.module.context:
        callees = Callees(spec.module)
        guards = _Guards(callees)
        for entry_point in spec.entry_points:
            guards.rewrite_entry_point(spec.table, entry_point.sequence)
        callees.erase_unused_originals(spec.module)


@dataclass
class _State:
    """The handles of a sequence at one place in its body.

    Attributes:
        before: the ops that earlier specs decided.
        decided: handles to the ops that the sequence decided by then.
        own: arguments that are the matched op.
        is_complete: whether `decided` has all that the sequence configured.
        may_lose: whether a callee may configure an op and then fail, so that no handle to the op is left.
    """

    before: Handle
    decided: list[Handle] = field(default_factory=list)
    own: frozenset[Handle] = frozenset()
    is_complete: bool = True
    may_lose: bool = False


@dataclass(frozen=True)
class _Rewritten:
    """An included sequence after it was rewritten.

    Attributes:
        name: its symbol.
        is_complete: whether it yields all that it configures.
        may_lose: as in `_State`.
    """

    name: str
    is_complete: bool
    may_lose: bool


class _Guards:
    """Rewrites the sequences of a spec.

    Args:
        callees: the sequences.
    """

    def __init__(self, callees: Callees) -> None:
        self._callees = callees
        self._any_op = any_op()
        # Ops change their hash with their attributes.
        self._matchers: dict[_Key, str] = {}
        self._actions: dict[tuple[_Key, frozenset[int], bool], _Rewritten] = {}
        self._included: dict[_Key, _Rewritten] = {}

    def rewrite_entry_point(self, table: SequenceTable, sequence: mlir.Operation) -> None:
        """Lets an entry point take the root and the decided ops, and yield both."""
        operations = list(body(sequence))
        given: Handle = sequence.regions[0].blocks[0].arguments[0]
        # The chain goes on using the handles that it passes, so that only a copy may be consumed.
        with sequence.location, mlir.InsertionPoint(operations[0]):
            root = merge_handles([given])
        copying = next(body(sequence))
        given.replace_all_uses_except(root, copying)
        (before,) = change_signature(sequence, [self._any_op], [self._any_op])
        _declare_ownership(table, sequence)
        del sequence.attributes[names.ENTRY_POINT]
        sequence.attributes[names.CHAINED_ENTRY_POINT] = mlir.UnitAttr.get()
        state = _State(before)
        self._rewrite(table, operations, state)
        terminator = operations[-1]
        with terminator.location, mlir.InsertionPoint(terminator):
            # Where an op of the entry point fails, the entry point goes on: the chain suppresses failures.
            if state.may_lose or not state.is_complete:
                configured = self._configured_in(table, terminator.operands[0])
                if state.is_complete:
                    with mlir.InsertionPoint.after(copying):
                        already = self._configured_in(table, root)
                    configured = self._undecided(table, configured, already)
                state.decided.append(configured)
            now = state.before
            if state.decided:
                now = merge_handles([now, *state.decided], deduplicate=True)
        yield_more(sequence, [now])

    def _rewrite(
        self, table: SequenceTable, operations: Iterable[mlir.Operation], state: _State
    ) -> None:
        """Rewrites the ops of a block, and follows the handles through them."""
        for operation in operations:
            if operation.name == names.ANNOTATE:
                self._annotate(table, operation, [0], state)
            elif operation.name == names.INCLUDE:
                self._include(table, operation, state)
            elif operation.name == names.FOREACH_MATCH:
                self._list(table, operation, state)
            elif operation.name != names.YIELD and not only_reads(operation):
                self._other(table, operation, state)

    def _annotate(
        self, table: SequenceTable, operation: mlir.Operation, numbers: Iterable[int], state: _State
    ) -> None:
        """Takes the decided ops from operands that are annotated."""
        for number in numbers:
            target: Handle = operation.operands[number]
            if target in state.own:
                continue
            with operation.location, mlir.InsertionPoint(operation):
                ops = _cast(target, self._any_op)
                undecided = self._undecided(table, ops, state.before)
                operation.operands[number] = _cast(undecided, target.type)
            state.decided.append(undecided)

    def _undecided(self, table: SequenceTable, ops: Handle, decided: Handle) -> Handle:
        """Builds a handle to those of some ops that are not decided."""
        helper = self._callees.helpers(table).undecided_of()
        built = include([helper], [ops, decided], [self._any_op], FAILURES_PROPAGATE)
        undecided: Handle = built.results[0]
        return undecided

    def _configured_in(self, table: SequenceTable, root: Handle) -> Handle:
        """Builds a handle to the configured ops in a root."""
        helper = self._callees.helpers(table).configured_in()
        built = include([helper], [root], [self._any_op], FAILURES_PROPAGATE)
        configured: Handle = built.results[0]
        return configured

    def _include(self, table: SequenceTable, operation: mlir.Operation, state: _State) -> None:
        path = reference(operation.attributes["target"])
        annotations = table.annotations(path)
        if annotations is not None:
            self._annotate(table, operation, sorted({one.operand for one in annotations}), state)
        elif table.lookup(path) is None:
            self._give_up(table, operation, state)
        elif SideEffects(table).may_change(path):
            propagates = fails_as_included(operation)
            # A callee that fails ends its caller, unless that is an entry point, and no handle is left of what the
            # callee configured by then.
            state.may_lose |= propagates and SideEffects(table).may_fail(path)
            callee = self._rewrite_included(table, path)
            state.is_complete &= callee.is_complete and (propagates or not callee.may_lose)
            before = state.before
            if self._consumes(table, operation):
                self._give_up(table, operation, state)
            failures = FAILURES_PROPAGATE if propagates else FAILURES_SUPPRESS
            target = [*split_path(path)[:-1], callee.name]
            operands = [*operation.operands, before]
            state.decided.append(_include_instead(operation, target, operands, failures))

    def _rewrite_included(self, table: SequenceTable, path: str) -> _Rewritten:
        """Lets an included sequence take the decided ops, and yield what it decides."""
        key = _key(table, path)
        if key not in self._included:
            callee = self._callees.take(table, path, 1)
            # This is what counts for an include of the sequence in itself.
            self._included[key] = _Rewritten(callee.name, is_complete=False, may_lose=True)
            operations = list(body(callee.sequence))
            (before,) = change_signature(callee.sequence, [self._any_op], [self._any_op])
            state = _State(before)
            self._rewrite(callee.table, operations, state)
            self._finish(callee, state)
            self._included[key] = _Rewritten(callee.name, state.is_complete, state.may_lose)
        return self._included[key]

    def _list(self, table: SequenceTable, operation: mlir.Operation, state: _State) -> None:
        """Moves a `foreach_match` to a sequence of its own, where it is not asked about decided ops."""
        pairs = table.pairs(operation)
        if not all(table.lookup(path) for pair in pairs for path in pair):
            self._give_up(table, operation, state)
            return
        is_tame = all(only_annotates(table, path) for _, path in dict.fromkeys(pairs))
        paths, is_complete = self._rewrite_pairs(table, operation, pairs)
        operands = [*operation.operands, state.before]
        kinds = [*(result.type for result in operation.results), self._any_op]
        helpers = self._callees.helpers(table)
        if can_be_guarded(table, operation):
            further = tuple(operand.type for operand in operands[1:-1])
            paths.insert(0, ([helpers.is_decided(further)], [helpers.skip(len(kinds) - 1)]))
        attributes = dict(operation.attributes.items()) | named_pair_attributes(paths)
        attributes["flatten_results"] = mlir.UnitAttr.get()
        name = helpers.fresh.take("list")
        module_block = table.module.regions[0].blocks[0]
        with operation.location, mlir.InsertionPoint(module_block):
            sequence = named_sequence(name, [operand.type for operand in operands], kinds)
        sequence.attributes[names.LIST] = mlir.UnitAttr.get()
        block = sequence.regions[0].blocks[0]
        with operation.location, mlir.InsertionPoint(block):
            yield_(walk(list(block.arguments), kinds, attributes))
        if not is_tame:
            self._give_up(table, operation, state)  # Ops that the handles refer to may be gone.
        state.is_complete &= is_complete
        state.decided.append(_include_instead(operation, [name], operands, FAILURES_PROPAGATE))

    def _rewrite_pairs(
        self, table: SequenceTable, operation: mlir.Operation, pairs: Sequence[tuple[str, str]]
    ) -> tuple[list[tuple[list[str], list[str]]], bool]:
        """Rewrites the matchers and actions of a list; tells whether these yield all that they configure."""
        counts = Counter(path for pair in pairs for path in pair)
        own = _own_arguments(table, pairs)
        effects = SideEffects(table)
        is_complete = not any(map(effects.may_change, dict.fromkeys(m for m, _ in pairs)))
        # The first pair of a search is about the ops inside of the one op.
        entries = pairs[1:] if _is_search(operation) else pairs
        deciding = {action for _, action in entries if not _only_searches(table.lookup(action))}
        new_names: dict[str, str] = {}
        for matcher in dict.fromkeys(matcher for matcher, _ in pairs):
            new_names[matcher] = self._matcher(table, matcher, counts[matcher])
        for action in own:
            decides = action in deciding
            rewritten = self._action(table, action, counts[action], own[action], decides=decides)
            is_complete &= rewritten.is_complete
            new_names[action] = rewritten.name
        paths = {path: [*split_path(path)[:-1], name] for path, name in new_names.items()}
        return [(paths[matcher], paths[action]) for matcher, action in pairs], is_complete

    def _matcher(self, table: SequenceTable, path: str, uses: int) -> str:
        """Lets a matcher take the decided ops, and yield the matched op and these as well."""
        key = _key(table, path)
        if key not in self._matchers:
            callee = self._callees.take(table, path, uses)
            self._matchers[key] = callee.name
            terminator = list(body(callee.sequence))[-1]
            matched: Handle = callee.sequence.regions[0].blocks[0].arguments[0]
            kinds = [self._any_op] * 2
            (before,) = change_signature(callee.sequence, kinds[:1], kinds)
            with terminator.location, mlir.InsertionPoint(terminator):
                matched = _cast(matched, self._any_op)
            yield_more(callee.sequence, [matched, before])
        return self._matchers[key]

    def _action(
        self, table: SequenceTable, path: str, uses: int, own: frozenset[int], *, decides: bool
    ) -> _Rewritten:
        """Lets an action take the matched op and the decided ops, and yield what it decides.

        Args:
            table: the sequences of the module with the list.
            path: the action.
            uses: how often the list refers to it.
            own: which of its arguments always are the matched op.
            decides: whether it decides the matched op.
        """
        key = (_key(table, path), own, decides)
        if key not in self._actions:
            callee = self._callees.take(table, path, uses)
            self._actions[key] = _Rewritten(callee.name, is_complete=True, may_lose=True)
            operations = list(body(callee.sequence))
            arguments = list(callee.sequence.regions[0].blocks[0].arguments)
            kinds = [self._any_op] * 2
            matched, before = change_signature(callee.sequence, kinds, kinds[:1])
            state = _State(before)
            if decides:
                state.decided = [matched]
                state.own = frozenset(arguments[number] for number in own)
            self._rewrite(callee.table, operations, state)
            self._finish(callee, state)
            self._actions[key] = _Rewritten(callee.name, state.is_complete, state.may_lose)
        return self._actions[key]

    def _finish(self, callee: Callee, state: _State) -> None:
        """Lets a sequence yield the ops that it decided, as one further handle."""
        terminator = list(body(callee.sequence))[-1]
        with terminator.location, mlir.InsertionPoint(terminator):
            handles = state.decided or [empty_handle(state.before)]
            merged = merge_handles(handles) if len(handles) > 1 else handles[0]
        yield_more(callee.sequence, [merged])
        _declare_ownership(callee.table, callee.sequence)

    def _other(self, table: SequenceTable, operation: mlir.Operation, state: _State) -> None:
        """Rewrites what an op holds in its regions, whose handles end with it."""
        inner = replace(state, decided=[])
        # Alternatives are isolated from the handles around them.
        if not collect(operation, names.ALTERNATIVES):
            for region in operation.regions:
                for block in region.blocks:
                    self._rewrite(table, [each.operation for each in block.operations], inner)
        is_plain = operation.name in (names.FOREACH, names.SEQUENCE)
        if not (is_plain and inner.is_complete and not inner.decided):
            self._give_up(table, operation, state)

    def _give_up(self, table: SequenceTable, operation: mlir.Operation, state: _State) -> None:
        """Notes that an op may configure any op, and drops the handles that it invalidates."""
        state.is_complete = False
        if self._consumes(table, operation):
            with operation.location, mlir.InsertionPoint(operation):
                state.before = empty_handle(state.before)
            state.decided = []
            state.own = frozenset()

    def _consumes(self, table: SequenceTable, operation: mlir.Operation) -> bool:
        return any(table.consumes(operation, operand) for operand in operation.operands)


def _key(table: SequenceTable, path: str) -> _Key:
    """Returns the module and the name of the sequence at `path`."""
    resolved = table.resolve(path)
    assert resolved is not None, "checked by the caller"
    return resolved[0], split_path(path)[-1]


def _cast(handle: Handle, kind: mlir.Type) -> Handle:
    """Builds a cast of a handle to another type, if it has another one."""
    if handle.type == kind:
        return handle
    cast: Handle = mlir.Operation.create(names.CAST, operands=[handle], results=[kind]).results[0]
    return cast


def _include_instead(
    operation: mlir.Operation, target: Sequence[str], operands: Sequence[Handle], failures: int
) -> Handle:
    """Replaces an op by an include with one more result, and returns that."""
    kinds = [*(result.type for result in operation.results), any_op()]
    with operation.location, mlir.InsertionPoint(operation):
        *results, last = include(target, operands, kinds, failures).results
    for old, new in zip(operation.results, results, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()
    return last


def _declare_ownership(table: SequenceTable, sequence: mlir.Operation) -> None:
    """Declares for the arguments of a sequence whether its body consumes them."""
    declared = sequence.attributes["arg_attrs"]
    assert isinstance(declared, mlir.ArrayAttr)
    attributes = []
    for number, given in enumerate(declared):
        consumes = table.consumes_argument(sequence, number)
        kept = entries_of(given)
        kept = {name: kept[name] for name in kept if name not in (names.CONSUMED, names.READONLY)}
        kept[names.CONSUMED if consumes else names.READONLY] = mlir.UnitAttr.get()
        attributes.append(mlir.DictAttr.get(kept))
    sequence.attributes["arg_attrs"] = mlir.ArrayAttr.get(attributes)


def _own_arguments(
    table: SequenceTable, pairs: Iterable[tuple[str, str]]
) -> dict[str, frozenset[int]]:
    """Returns for each action which of its arguments always are the matched op."""
    own: dict[str, frozenset[int]] = {}
    for matcher, action in dict.fromkeys(pairs):
        sequence = table.lookup(matcher)
        assert sequence is not None, "checked by the caller"
        positions = range(len(signature(sequence).results))
        here = frozenset(number for number in positions if table.yielded(matcher, number) == 0)
        own[action] = own.get(action, here) & here
    return own


def _is_search(foreach_match: mlir.Operation) -> bool:
    """Tells whether a list is about one op, as the lists of an index are."""
    root, *others = foreach_match.operands
    return "restrict_root" in foreach_match.attributes and root in others


def _only_searches(action: mlir.Operation | None) -> bool:
    """Tells whether an action only searches the entries of an index for an op, and decides nothing itself."""
    operations = list(body(action)) if action else []
    return [op.name for op in operations] == [names.FOREACH_MATCH, names.YIELD] and _is_search(
        operations[0]
    )
