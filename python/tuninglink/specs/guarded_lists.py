"""Lists that are guarded: a `foreach_match` that leaves decided ops alone, and hands on what it decides."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.walk import body
from tuninglink.specs.builders import any_op, change_signature, merge_handles, yield_more
from tuninglink.specs.decided import IS_DECIDED, KEEP_DECIDED
from tuninglink.specs.pairs import named_pair_attributes
from tuninglink.specs.side_effects import SideEffects
from tuninglink.specs.walk_roots import root_if_equal, root_is_decided

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tuninglink.specs.callees import Callee, Callees
    from tuninglink.specs.sequences import Handle, SequenceTable


class GuardedLists:
    """Rewrites lists.

    Args:
        callees: the sequences of the spec.
        action: rewrites an action, given which of its arguments are always the op that its matcher was asked about,
            and whether it decides that op; tells whether the action yields all that it decides.
        guards: whether decided ops are kept from the lists; else they only hand them on.
    """

    def __init__(
        self, callees: Callees, action: Callable[[Callee, set[int], bool], bool], *, guards: bool
    ) -> None:
        self._guards = guards
        self._callees = callees
        self._action = action
        self._any_op = any_op()

    def rewrite(
        self, table: SequenceTable, operation: mlir.Operation, decided: Handle
    ) -> tuple[Handle, bool]:
        """Rewrites a `foreach_match`; returns a handle to what is decided behind it, and whether to all of that."""
        pairs = table.pairs(operation)
        own = self._own_arguments(table, pairs)
        counts = Counter(path for pair in pairs for path in pair)
        side_effects = SideEffects(table)
        # A guarded spec has no matcher that changes the program.
        is_complete = self._guards or not any(
            side_effects.may_change(matcher) for matcher, _ in dict.fromkeys(pairs)
        )
        # An index has lists for one op, whose first pair leaves what is inside of that op.
        entries = pairs[1:] if _is_for_one_op(operation) else pairs
        deciding = {action for _, action in entries}
        matchers = {
            each: self._matcher(table, each, counts[each])
            for each in dict.fromkeys(matcher for matcher, _ in pairs)
        }
        actions = {}
        for action in dict.fromkeys(action for _, action in pairs):
            callee = self._callees.take_over(table, action, counts[action])
            is_complete &= self._action(callee, own[action], action in deciding)
            actions[action] = callee.path
        known = self._known_pair(table, operation)
        rewritten = [(matchers[matcher], actions[action]) for matcher, action in pairs]
        # Behind the entries it only hands on what they leave.
        rewritten.insert(0 if self._guards else len(rewritten), known)
        attributes = dict(operation.attributes.items())
        attributes |= {
            **named_pair_attributes(rewritten),
            "flatten_results": mlir.UnitAttr.get(),
        }
        with operation.location, mlir.InsertionPoint(operation):
            replacement = mlir.Operation.create(
                names.FOREACH_MATCH,
                operands=[*operation.operands, decided],
                results=[*(each.type for each in operation.results), self._any_op],
                attributes=attributes,
            )
        *results, last = replacement.results
        left: Handle = last
        for old, new in zip(operation.results, results, strict=True):
            old.replace_all_uses_with(new)
        if "restrict_root" not in operation.attributes:
            with operation.location, mlir.InsertionPoint(replacement):
                before = root_is_decided(replacement.operands[0], decided)
            with operation.location, mlir.InsertionPoint(operation):
                kept = root_if_equal(self._callees.helpers(table), replacement.results[0], before)
                left = merge_handles([left, kept], deduplicate=True)
        operation.erase()
        return left, is_complete

    def _known_pair(
        self, table: SequenceTable, operation: mlir.Operation
    ) -> tuple[list[str], list[str]]:
        """Returns the pair for ops that are decided already, with the signature that a `foreach_match` wants."""
        helpers = self._callees.helpers(table)
        matcher, action = helpers.name(IS_DECIDED), helpers.name(KEEP_DECIDED)
        further = [each.type for each in list(operation.operands)[1:]]
        results = [each.type for each in list(operation.results)[1:]]
        if further:
            matcher = helpers.with_further_arguments(matcher, further)
        if results:
            action = helpers.with_empty_results(action, len(results))
        return [matcher], [action]

    def _own_arguments(
        self, table: SequenceTable, pairs: Sequence[tuple[str, str]]
    ) -> dict[str, set[int]]:
        """Returns for each action which of its arguments are always the op that its matcher was asked about."""
        own: dict[str, set[int]] = {}
        for matcher, action in dict.fromkeys(pairs):
            found = table.lookup(matcher)
            assert found is not None, "checked by unguarded_because"
            terminator = list(body(found))[-1]
            here = {
                position
                for position in range(len(terminator.operands))
                if table.yielded(matcher, position) == 0
            }
            own[action] = own[action] & here if action in own else here
        return own

    def _matcher(self, table: SequenceTable, path: str, uses: int) -> list[str]:
        """Gives a matcher the decided ops, and lets it yield what it was asked about and these."""
        callee = self._callees.take_over(table, path, uses)
        asked: Handle = callee.sequence.regions[0].blocks[0].arguments[0]
        added = [asked.type, self._any_op]
        (decided,) = change_signature(callee.sequence, [self._any_op], added)
        yield_more(callee.sequence, [asked, decided])
        return callee.path


def _is_for_one_op(foreach_match: mlir.Operation) -> bool:
    root, *others = foreach_match.operands
    return "restrict_root" in foreach_match.attributes and root in others
