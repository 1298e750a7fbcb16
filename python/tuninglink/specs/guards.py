"""Guards: keeping a later spec off the ops that an earlier one decided.

In a chain, one spec hands to the next the root of the program and a handle to the ops that are decided: those that an
entry matched, and those that one configured. A guarded spec keeps decided ops from its matchers and its actions, and
hands on all that are decided by then. Nothing is written into the program for that: a DAG matcher refuses an op with an
attribute that it does not show.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import join_path, split_path, symbol_name
from tuninglink.mlir.walk import body, collect
from tuninglink.specs.builders import (
    FAILURES_PROPAGATE,
    FAILURES_SUPPRESS,
    any_op,
    argument_declarations,
    change_signature,
    empty_handle,
    fails_as_included,
    include,
    merge_handles,
    yield_,
    yield_more,
)
from tuninglink.specs.callees import Callees
from tuninglink.specs.chains import chained_modules, takes_decided
from tuninglink.specs.decided import (
    DROP,
    IS_ANY,
    IS_DECIDED,
    IS_UNCONFIGURED,
    KEEP_DECIDED,
    UNDECIDED_OF,
)
from tuninglink.specs.guardable import unguarded_because
from tuninglink.specs.pairs import pair_attributes
from tuninglink.specs.sequences import is_any_op, reference
from tuninglink.specs.side_effects import SideEffects, only_reads
from tuninglink.specs.structure import Anatomy
from tuninglink.specs.walk_roots import root_if_equal, root_is_configured, root_is_decided

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tuninglink.specs.callees import Callee
    from tuninglink.specs.sequences import Handle, SequenceTable


def guard(spec: Anatomy) -> None:
    """Rewrites a spec so that it leaves decided ops alone if that can be, and hands on what is decided.

    A spec that decided ops cannot be kept from still hands them on, with those that it decides itself, as far as
    that can be told: what its lists match, and what is configured behind it.
    """
    if takes_decided(spec.entry_points[0].sequence):
        return
    with spec.module.context:
        if (modules := chained_modules(spec.module)) is not None:
            for each in modules:
                guard(Anatomy(each))
            _hand_through(spec.entry_points[0].sequence)
            return
        guards = unguarded_because(spec) is None
        for entry_point in spec.entry_points:
            _Guarding(spec, guards=guards).entry_point(entry_point.sequence)


def _hand_through(sequence: mlir.Operation) -> None:
    """Lets the entry point of a chain, whose parts are guarded, take and give the decided ops beside the root."""
    includes = [each for each in body(sequence) if each.name == names.INCLUDE]
    targets = [split_path(reference(each.attributes["target"])) for each in includes]
    for operation in reversed(list(body(sequence))):
        operation.erase()
    block = sequence.regions[0].blocks[0]
    sequence.attributes["arg_attrs"] = argument_declarations(1)
    (decided,) = change_signature(sequence, [any_op()], [any_op()])
    del sequence.attributes[names.ENTRY_POINT]
    sequence.attributes[names.CHAINED_ENTRY_POINT] = mlir.UnitAttr.get()
    with sequence.location, mlir.InsertionPoint(block):
        yield_(run_guarded(targets, [block.arguments[0], decided]))


def run_guarded(targets: Sequence[Sequence[str]], handles: list[Handle]) -> list[Handle]:
    """Includes guarded entry points one after the other; takes and gives the root and the decided ops."""
    for target in targets:
        kinds = [each.type for each in handles]
        handles = list(include(target, handles, kinds, FAILURES_SUPPRESS).results)
    return handles


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
class _Found:
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


class _Guarding:
    """Rewrites the sequences that one entry point runs.

    Args:
        spec: the spec.
        guards: whether decided ops are kept from it; else it only hands them on.
    """

    def __init__(self, spec: Anatomy, *, guards: bool) -> None:
        self._table = spec.table
        self._guards = guards
        self._callees = Callees(spec.module)
        self._included: dict[mlir.Operation, _Included | None] = {}
        self._any_op = any_op()

    # --- The entry point -----------------------------------------------------------------------------------

    def entry_point(self, sequence: mlir.Operation) -> None:
        """Lets an entry point take and give the decided ops beside the root."""
        operations = list(body(sequence))
        terminator = operations[-1]
        block = sequence.regions[0].blocks[0]
        given: Handle = block.arguments[0]
        # An include that consumes the root would invalidate the handle to the decided ops as well.
        with sequence.location, mlir.InsertionPoint.at_block_begin(block):
            root = merge_handles([given])
        given.replace_all_uses_except(root, block.operations[0].operation)
        sequence.attributes["arg_attrs"] = argument_declarations(1)
        (decided,) = change_signature(sequence, [self._any_op], [self._any_op])
        del sequence.attributes[names.ENTRY_POINT]
        sequence.attributes[names.CHAINED_ENTRY_POINT] = mlir.UnitAttr.get()
        found = self._body(self._table, operations, decided, own=set())
        with terminator.location, mlir.InsertionPoint(terminator):
            now = found.before
            if found.handles:
                now = merge_handles([now, *found.handles], deduplicate=True)
            # What an entry point includes may fail, and the entry point goes on.
            if found.may_lose or not found.is_complete:
                root, now = self._add_configured(terminator.operands[0], now)
                terminator.operands[0] = root
        yield_more(sequence, [now])

    def _add_configured(self, root: Handle, decided: Handle) -> list[Handle]:
        """Adds what is configured to what is decided, for lack of anything better; returns new handles to both."""
        helpers = self._callees.helpers(self._table)
        before = root_is_decided(root, decided)
        matchers = [[helpers.name(each)] for each in (IS_DECIDED, IS_UNCONFIGURED, IS_ANY)]
        actions = [[helpers.name(each)] for each in (KEEP_DECIDED, DROP, KEEP_DECIDED)]
        walk = mlir.Operation.create(
            names.FOREACH_MATCH,
            operands=[root, decided],
            results=[root.type, self._any_op],
            attributes={
                **_pair_attributes(zip(matchers, actions, strict=True)),
                "flatten_results": mlir.UnitAttr.get(),
            },
        )
        root, decided = walk.results
        kept = [
            root_if_equal(helpers, root, each)
            for each in (before, root_is_configured(helpers, root))
        ]
        return [root, merge_handles([decided, *kept], deduplicate=True)]

    # --- Sequences -----------------------------------------------------------------------------------------

    def _body(
        self,
        table: SequenceTable,
        operations: Sequence[mlir.Operation],
        decided: Handle,
        own: set[Handle],
    ) -> _Found:
        """Rewrites the body of an entry point or an action that is handed what is decided.

        Args:
            table: the sequences of its module.
            operations: the ops of the body.
            decided: a handle to the decided ops.
            own: handles to ops that are known not to be decided, and are told to be decided elsewhere.
        """
        found = _Found(decided)
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
                found.before, is_complete = self._foreach_match(table, operation, known)
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
            self._include(table, each, _Found(decided), own)

    def _lose(self, table: SequenceTable, operation: mlir.Operation, found: _Found) -> None:
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

    # --- Includes ------------------------------------------------------------------------------------------

    def _include(
        self, table: SequenceTable, operation: mlir.Operation, found: _Found, own: set[Handle]
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
            found = self._body(callee.table, operations, decided, own=set())
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

    # --- Lists ---------------------------------------------------------------------------------------------

    def _foreach_match(
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
            is_complete &= self._action(callee, own[action], decides=action in deciding)
            actions[action] = callee.path
        known = self._known_pair(table, operation)
        rewritten = [(matchers[matcher], actions[action]) for matcher, action in pairs]
        # Behind the entries it only hands on what they leave.
        rewritten.insert(0 if self._guards else len(rewritten), known)
        attributes = dict(operation.attributes.items())
        attributes |= {
            **_pair_attributes(rewritten),
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

    def _action(self, callee: Callee, own: set[int], *, decides: bool) -> bool:
        """Gives an action the op that matched and the decided ops, and lets it yield what is decided by it.

        Returns whether it yields all of that.
        """
        sequence = callee.sequence
        arguments = list(sequence.regions[0].blocks[0].arguments)
        consumes = any(_consumes(callee.table, each) for each in body(sequence))
        operations = list(body(sequence))
        asked, decided = change_signature(sequence, [self._any_op] * 2, [self._any_op])
        kept = {arguments[each] for each in own}
        found = self._body(callee.table, operations, decided, kept)
        handles = [asked] if decides and not consumes else []
        handles += [found.before] if found.is_handed_on else []
        handles += found.handles
        _yield_merged(sequence, handles, found.before)
        return found.is_complete


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


def _is_for_one_op(foreach_match: mlir.Operation) -> bool:
    root, *others = foreach_match.operands
    return "restrict_root" in foreach_match.attributes and root in others


def _consumes(table: SequenceTable, operation: mlir.Operation) -> bool:
    return any(table.consumes(operation, each) for each in operation.operands)


def _pair_attributes(paths: Iterable[tuple[list[str], list[str]]]) -> dict[str, mlir.Attribute]:
    reference_to = mlir.SymbolRefAttr.get
    return pair_attributes(
        (reference_to(matcher), reference_to(action)) for matcher, action in paths
    )
