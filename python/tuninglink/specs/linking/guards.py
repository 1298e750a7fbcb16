"""Guards: protection of the ops that earlier specs of a chain decided against later specs.

A guarded entry point takes the root of the program and the decided ops, and yields both, with the ops that its own spec
decided added. Its lists and its annotations skip decided ops. Guards write nothing into the program, since a DAG
matcher rejects an op with an attribute that is not in the matcher.

Every sequence that such an entry point runs is rewritten. It has these handles:

| handle | refers to | passed on by | invalidated by |
| --- | --- | --- | --- |
| `before` | the ops that earlier specs decided | the entry point to its lists and callees, a list to its matchers, a matcher to its action | an op that consumes a handle, other than a list |
| matched op | the op that a matcher matched | the matcher to its action | as above |
| `own` | the arguments of an action that always are the matched op, which is undecided: without a guard, readers of the linked spec still find the configuration of the entry | | as above |
| `decided` | what the spec decided: the matched op and what was annotated since | every sequence to its caller, a list to the sequence around it, the entry point to the next one | as above |

A list consumes its root, and thereby all handles to the ops inside. It therefore runs in a separate sequence, on a copy
of the handle: the interpreter invalidates handles only within one sequence. Where a handle in `decided` is lost, the
entry point adds the ops that are configured at that point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import dropwhile

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import reference
from tuninglink.mlir.walk import body, collect
from tuninglink.specs.linking.analysis import (
    own_arguments,
    restrictions,
    unguarded_because,
)
from tuninglink.specs.linking.rewriting import (
    Gap,
    ModuleSequences,
    State,
    call,
    cast_to,
    declare_ownership,
    include_instead,
)
from tuninglink.specs.sequences import SequenceTable, consumes
from tuninglink.specs.side_effects import adds_symbol, only_reads
from tuninglink.specs.structure import is_guarded
from tuninglink.specs.transform_ops import (
    FAILURES_PROPAGATE,
    FAILURES_SUPPRESS,
    Handle,
    any_op,
    change_signature,
    empty_handle,
    fails_as_included,
    merge_handles,
    prepares,
    yield_more,
)


def guard(module: mlir.Operation, entry_points: Iterable[mlir.Operation]) -> None:
    """Rewrite entry points to skip decided ops as far as possible, and to pass on the ops that they decide.

    Args:
        module: the module of the entry points, without nested modules.
        entry_points: the entry points; guarded ones stay unchanged.
    """
    with module.context:
        guards = _Guards(SequenceTable(module))
        for position, sequence in enumerate(entry_points):
            if not is_guarded(sequence):
                guards.rewrite_entry_point(sequence, is_first=not position)
        guards.sequences.erase_unused_originals()


class _Guards:
    """A rewriter of the sequences of a module.

    Args:
        table: the sequences.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self.sequences = ModuleSequences(table)
        self._matchers: dict[str, str] = {}
        self._rewritten: dict[tuple[str, frozenset[int] | None], tuple[str, Gap]] = {}

    def rewrite_entry_point(self, sequence: mlir.Operation, *, is_first: bool) -> None:
        """Rewrite an entry point to take the root and the decided ops, and to yield both."""
        operations = list(body(sequence))
        given: Handle = sequence.regions[0].blocks[0].arguments[0]
        # The chain goes on using the handles that it passes, so that only a copy may be consumed.
        with sequence.location, mlir.InsertionPoint(operations[0]):
            root = merge_handles([given])
        copying = next(body(sequence))
        given.replace_all_uses_except(root, copying)
        (before,) = change_signature(sequence, [any_op()], [any_op()])
        declare_ownership(sequence)
        state = State(before)
        # Nothing is decided yet that the preparations of the first list could drop.
        self._rewrite(dropwhile(prepares, operations) if is_first else operations, state)
        terminator = operations[-1]
        with terminator.location, mlir.InsertionPoint(terminator):
            # Where an op of the entry point fails, the entry point goes on: the chain suppresses failures.
            if state.gap:
                configured_in = self.sequences.configured_in()
                configured = call(configured_in, [terminator.operands[0]])
                if state.gap is Gap.FAILED:
                    with mlir.InsertionPoint.after(copying):
                        already = call(configured_in, [root])
                    configured = call(self.sequences.undecided_of(), [configured, already])
                state.decided.append(configured)
            now = state.before
            if state.decided:
                now = merge_handles([now, *state.decided], deduplicate=True)
        yield_more(sequence, [now])

    def _rewrite(self, operations: Iterable[mlir.Operation], state: State) -> None:
        """Rewrite the ops of a block, and follow the handles through them."""
        for operation in operations:
            if operation.name == names.ANNOTATE:
                self._annotate(operation, [0], state)
            elif operation.name == names.INCLUDE:
                self._include(operation, state)
            elif operation.name == names.FOREACH_MATCH:
                self._list(operation, state)
            elif not only_reads(operation) and not adds_symbol(operation):
                self._other(operation, state)

    def _annotate(self, operation: mlir.Operation, numbers: Iterable[int], state: State) -> None:
        """Restrict the operands of an annotation to undecided ops, and record these ops as decided."""
        for number in numbers:
            target: Handle = operation.operands[number]
            if target in state.own:
                continue
            with operation.location, mlir.InsertionPoint(operation):
                ops = cast_to(target, any_op())
                undecided = call(self.sequences.undecided_of(), [ops, state.before])
                operation.operands[number] = cast_to(undecided, target.type)
            state.decided.append(undecided)

    def _include(self, operation: mlir.Operation, state: State) -> None:
        path = reference(operation.attributes["target"])
        annotations = self._table.annotations(path)
        if annotations is not None:
            numbers = {annotation.operand for annotation in annotations}
            self._annotate(operation, sorted(numbers), state)
        elif self._table.lookup(path) is None:
            self._give_up(operation, state)
        elif self._table.may_change(path):
            propagates = fails_as_included(operation)
            # A callee that fails ends its caller, unless that is an entry point, and no handle is left of what the
            # callee configured by then.
            own_gap = Gap.FAILED if propagates and self._table.may_fail(path) else Gap.NONE
            name, gap = self._rewrite_sequence(path, 1)
            if not propagates and gap is Gap.FAILED:
                gap = Gap.ANY
            state.gap = max(state.gap, own_gap, gap)
            operands = [*operation.operands, state.before]
            if _consumes(operation):
                self._give_up(operation, state)
            failures = FAILURES_PROPAGATE if propagates else FAILURES_SUPPRESS
            state.decided.append(include_instead(operation, name, operands, failures))

    def _rewrite_sequence(
        self, path: str, uses: int, own: frozenset[int] | None = None
    ) -> tuple[str, Gap]:
        """Rewrite a sequence to take the decided ops, and to yield the ops that it decides itself.

        Args:
            path: the reference to the sequence.
            uses: the number of references that become references to the result.
            own: the arguments that are the matched op if the sequence is an action, which takes that op as well.

        Returns:
            The symbol of the result, and the gap in the ops that it yields.
        """
        key = path, own
        if key not in self._rewritten:
            sequence, name = self.sequences.take(path, uses)
            # This counts where the sequence runs itself.
            self._rewritten[key] = name, Gap.ANY if own is None else Gap.FAILED
            operations = list(body(sequence))
            arguments = list(sequence.regions[0].blocks[0].arguments)
            kinds = [any_op()] * (1 if own is None else 2)
            *matched, before = change_signature(sequence, kinds, [any_op()])
            state = State(before)
            if names.NO_DECISION not in sequence.attributes:
                state.decided = matched
                state.own = frozenset(arguments[number] for number in own or ())
            self._rewrite(operations, state)
            terminator = list(body(sequence))[-1]
            with terminator.location, mlir.InsertionPoint(terminator):
                handles = state.decided or [empty_handle(state.before)]
                merged = merge_handles(handles) if len(handles) > 1 else handles[0]
            yield_more(sequence, [merged])
            declare_ownership(sequence)
            self._rewritten[key] = name, state.gap
        return self._rewritten[key]

    def _list(self, operation: mlir.Operation, state: State) -> None:
        """Move a `foreach_match` to a separate sequence, where it skips decided ops."""
        pairs = self._table.pairs(operation)
        if not all(self._table.lookup(path) for pair in pairs for path in pair):
            self._give_up(operation, state)
            return
        is_tame = not any(True for _ in restrictions(self._table, *(action for _, action in pairs)))
        new_pairs, gap = self._rewrite_pairs(pairs)
        operands = [*operation.operands, state.before]
        kinds = [*(result.type for result in operation.results), any_op()]
        if unguarded_because(self._table, operation) is None:
            further = tuple(operand.type for operand in operands[1:-1])
            skips = self.sequences.is_decided(further), self.sequences.skip(len(kinds) - 1)
            new_pairs.insert(0, skips)
        name = self.sequences.move_list(operation, operands, kinds, new_pairs)
        if not is_tame:
            self._give_up(operation, state)  # Ops that the handles refer to may be gone.
        state.gap = max(state.gap, gap)
        state.decided.append(include_instead(operation, name, operands, FAILURES_PROPAGATE))

    def _rewrite_pairs(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], Gap]:
        """Rewrite the matchers and actions of a list. Return the new pairs, and the gap in the ops that they yield."""
        matchers = Counter(matcher for matcher, _ in pairs)
        actions = Counter(action for _, action in pairs)
        own = own_arguments(self._table, pairs)
        is_complete = not any(map(self._table.may_change, matchers))
        new_matchers = {matcher: self._matcher(matcher, uses) for matcher, uses in matchers.items()}
        new_actions = {
            action: self._rewrite_sequence(action, uses, own[action])
            for action, uses in actions.items()
        }
        # An action that fails ends the walk.
        is_complete &= all(gap is not Gap.ANY for _, gap in new_actions.values())
        new_pairs = [(new_matchers[matcher], new_actions[action][0]) for matcher, action in pairs]
        return new_pairs, Gap.NONE if is_complete else Gap.ANY

    def _matcher(self, path: str, uses: int) -> str:
        """Rewrite a matcher to take the decided ops and also yield the matched and decided ops; return its symbol."""
        if path not in self._matchers:
            sequence, self._matchers[path] = self.sequences.take(path, uses)
            terminator = list(body(sequence))[-1]
            matched: Handle = sequence.regions[0].blocks[0].arguments[0]
            (before,) = change_signature(sequence, [any_op()], [any_op()] * 2)
            with terminator.location, mlir.InsertionPoint(terminator):
                matched = cast_to(matched, any_op())
            yield_more(sequence, [matched, before])
        return self._matchers[path]

    def _other(self, operation: mlir.Operation, state: State) -> None:
        """Rewrite the ops in the regions of an op; handles defined there are not valid after the op."""
        inner = replace(state, decided=[])
        # Alternatives are isolated from the handles around them.
        if not collect(operation, names.ALTERNATIVES):
            for region in operation.regions:
                for block in region.blocks:
                    self._rewrite([op.operation for op in block.operations], inner)
        is_plain = operation.name in (names.FOREACH, names.SEQUENCE)
        if not is_plain or inner.gap is Gap.ANY or inner.decided:
            self._give_up(operation, state)

    def _give_up(self, operation: mlir.Operation, state: State) -> None:
        """Record that an op may configure any op, and drop the handles that it invalidates."""
        state.gap = Gap.ANY
        if _consumes(operation):
            with operation.location, mlir.InsertionPoint(operation):
                state.before = empty_handle(state.before)
            state.decided = []
            state.own = frozenset()


def _consumes(operation: mlir.Operation) -> bool:
    return any(consumes(operation, operand) for operand in operation.operands)
