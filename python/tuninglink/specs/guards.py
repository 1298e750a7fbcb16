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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cache
from itertools import dropwhile
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic
from tuninglink.iree import OpKind, StructuredOp
from tuninglink.mlir import (
    FreshNames,
    body,
    collect,
    entries_of,
    names,
    note,
    reference,
    references_in,
    split_path,
    symbol_name,
    symbols,
    visit,
)
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.spec import Anatomy, EntryPoint, is_guarded, pair_problem
from tuninglink.specs.transform_ops import (
    FAILURES_PROPAGATE,
    FAILURES_SUPPRESS,
    Handle,
    any_op,
    change_signature,
    consumes,
    consumes_argument,
    copy_sequence,
    create,
    declares_a_write,
    empty_handle,
    fails_as_included,
    include,
    is_any_op,
    is_closed,
    merge_handles,
    named_sequence,
    only_reads,
    pair_attributes,
    prepares,
    signature,
    yield_,
    yield_more,
)

Types = tuple[mlir.Type, ...]
Body = Callable[..., Sequence[Handle]]

_EQUAL: Final = 0
_NOT_EQUAL: Final = 1
"""The values of `transform`'s MatchCmpIPredicate."""


def guard(module: mlir.Operation, entry_points: Iterable[mlir.Operation]) -> None:
    """Rewrite entry points to skip decided ops as far as possible, and to pass on the ops that they decide."""
    with module.context:
        guards = _Guards(SequenceTable(module))
        for position, sequence in enumerate(entry_points):
            if not is_guarded(sequence):
                guards.rewrite_entry_point(sequence, is_first=not position)
        # Erase each sequence whose uses all refer to copies of it.
        originals = guards.originals
        uses = Counter(path[0] for path in references_in(module)) if originals else Counter()
        unused = [name for name in originals if not uses[name]]
        while unused:
            original = originals.pop(unused.pop())
            # An original may be used by other originals alone.
            for name, *_ in references_in(original):
                uses[name] -= 1
                if not uses[name] and name in originals:
                    unused.append(name)
            original.erase()


class _Guards:
    """A rewriter of the sequences of a module, which adds sequences to it: helpers, moved lists and copies.

    The methods for helpers add each helper once, and return its symbol.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self._matchers: dict[str, str] = {}
        self._rewritten: dict[tuple[str, frozenset[int] | None], tuple[str, Gap]] = {}
        self._fresh = FreshNames(symbols(table.module))
        self._block = table.module.regions[0].blocks[0]
        self._op = any_op()
        self._helpers: dict[tuple[str, Types, int], str] = {}
        self._uses = Counter(path[0] for path in references_in(table.module))
        self.originals: dict[str, mlir.Operation] = {}

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
                configured_in = self._configured_in()
                configured = call(configured_in, [terminator.operands[0]])
                if state.gap is Gap.FAILED:
                    with mlir.InsertionPoint.after(copying):
                        already = call(configured_in, [root])
                    configured = call(self._undecided_of(), [configured, already])
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
                    failures = FAILURES_PROPAGATE if propagates else FAILURES_SUPPRESS
                    decided = include_instead(operation, name, operands, failures)
                    including = mlir.OpResult(decided).owner.operation
                    if _consumes(including):  # and so may not read ops inside of that
                        self._give_up(including, state)
                        including.operands[len(operands) - 1] = state.before
                    state.decided.append(decided)
            elif operation.name == names.FOREACH_MATCH:
                self._list(operation, state)
            elif not only_reads(operation, or_adds_symbol=True):
                # Handles defined in the regions of an op are not valid after the op.
                inner = replace(state, decided=[])
                # Alternatives are isolated from the handles around them.
                if not collect(operation, names.ALTERNATIVES):
                    for block in (block for region in operation.regions for block in region.blocks):
                        self._rewrite([op.operation for op in block.operations], inner)
                is_plain = operation.name in (names.FOREACH, names.SEQUENCE)
                if not is_plain or inner.gap is Gap.ANY or inner.decided:
                    self._give_up(operation, state)

    def _annotate(self, operation: mlir.Operation, numbers: Iterable[int], state: State) -> None:
        """Restrict the operands of an annotation to undecided ops, and record these ops as decided."""
        for number in numbers:
            target: Handle = operation.operands[number]
            if target in state.own:
                continue
            with operation.location, mlir.InsertionPoint(operation):
                ops = cast_to(target, any_op())
                undecided = call(self._undecided_of(), [ops, state.before])
                operation.operands[number] = cast_to(undecided, target.type)
            state.decided.append(undecided)

    def _rewrite_sequence(
        self, path: str, uses: int, own: frozenset[int] | None = None
    ) -> tuple[str, Gap]:
        """Rewrite a sequence to take the decided ops, and to yield the ops that it decides itself."""
        key = path, own
        if key not in self._rewritten:
            sequence, name = self._take(path, uses)
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
        table, pairs = self._table, self._table.pairs(operation)
        if not all(table.lookup(path) for pair in pairs for path in pair):
            self._give_up(operation, state)
            return
        is_tame = not any(True for _ in restrictions(table, *(action for _, action in pairs)))
        matchers = Counter(matcher for matcher, _ in pairs)
        actions = Counter(action for _, action in pairs)
        # For each action, the arguments that are always the matched op.
        own: dict[str, frozenset[int]] = {}
        for matcher, action in dict.fromkeys(pairs):
            sequence = table.lookup(matcher)
            assert sequence is not None, "checked above"
            positions = range(len(signature(sequence).results))
            here = frozenset(number for number in positions if table.yielded(matcher, number) == 0)
            own[action] = own.get(action, here) & here
        is_complete = not any(map(table.may_change, matchers))
        new_matchers = {matcher: self._matcher(matcher, uses) for matcher, uses in matchers.items()}
        new_actions = {
            action: self._rewrite_sequence(action, uses, own[action])
            for action, uses in actions.items()
        }
        # An action that fails ends the walk.
        is_complete &= all(gap is not Gap.ANY for _, gap in new_actions.values())
        new_pairs = [(new_matchers[matcher], new_actions[action][0]) for matcher, action in pairs]
        operands = [*operation.operands, state.before]
        kinds = [*(result.type for result in operation.results), any_op()]
        if unguarded_because(table, operation) is None:
            # A matcher of decided ops takes an op, further arguments and the decided ops.
            arguments = (self._op, *(operand.type for operand in operands[1:-1]), self._op)
            is_decided = self._add(
                "is_decided",
                arguments,
                1,
                lambda op, *further: _compare(op, further[-1], _EQUAL),
                is_entry=False,
            )
            count = len(kinds) - 1
            skip = self._add(
                "skip", (self._op,), count, lambda op: [empty_handle(op) for _ in range(count)]
            )
            new_pairs.insert(0, (is_decided, skip))
        # Copy the list to a sequence of its own.
        attributes = dict(operation.attributes.items()) | pair_attributes(new_pairs)
        attributes["flatten_results"] = mlir.UnitAttr.get()
        name = self._fresh.take("list")
        with operation.location:
            with mlir.InsertionPoint(self._block):
                sequence = named_sequence(name, [operand.type for operand in operands], kinds)
            sequence.attributes[names.LIST] = mlir.UnitAttr.get()
            block = sequence.regions[0].blocks[0]
            with mlir.InsertionPoint(block):
                # The list consumes its first operand.
                root, *further = block.arguments
                walked = [merge_handles([root]), *further]
                yield_(create(names.FOREACH_MATCH, walked, kinds, **attributes))
        if not is_tame:
            self._give_up(operation, state)  # Ops that the handles refer to may be gone.
        if not is_complete:
            state.gap = Gap.ANY
        state.decided.append(include_instead(operation, name, operands, FAILURES_PROPAGATE))

    def _matcher(self, path: str, uses: int) -> str:
        """Rewrite a matcher to take the decided ops and also yield the matched and decided ops; return its symbol."""
        if path not in self._matchers:
            sequence, self._matchers[path] = self._take(path, uses)
            terminator = list(body(sequence))[-1]
            matched: Handle = sequence.regions[0].blocks[0].arguments[0]
            (before,) = change_signature(sequence, [any_op()], [any_op()] * 2)
            with terminator.location, mlir.InsertionPoint(terminator):
                matched = cast_to(matched, any_op())
            yield_more(sequence, [matched, before])
        return self._matchers[path]

    def _give_up(self, operation: mlir.Operation, state: State) -> None:
        """Record that an op may configure any op, and drop the handles that it invalidates."""
        state.gap = Gap.ANY
        if _consumes(operation):
            with operation.location, mlir.InsertionPoint(operation):
                state.before = empty_handle(state.before)
            state.decided = []
            state.own = frozenset()

    def _take(self, path: str, uses: int) -> tuple[mlir.Operation, str]:
        """Return the sequence at `path`, or a copy if it has more references than `uses`, with its symbol."""
        sequence = self._table.lookup(path)
        assert sequence is not None, "checked by the caller"
        (name,) = split_path(path)
        if self._uses[name] > uses:
            self.originals[name] = sequence
            name = self._fresh.take(name)
            sequence = copy_sequence(sequence, name)
            self._uses.update(reference[0] for reference in references_in(sequence))
        return sequence, name

    def _undecided_of(self) -> str:
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

    def _configured_in(self) -> str:
        """A sequence that takes a root, and yields the ops with a lowering config among it and its nested ops."""
        one = (self._op,)
        unconfigured = self._add(
            "is_unconfigured",
            one,
            1,
            lambda op: [*create(names.HAS_NO_LOWERING_CONFIG, [op]), op],
            is_entry=False,
        )
        matches_any = self._add("is_any", one, 1, lambda op: [op], is_entry=False)
        keep = self._add("keep", one, 1, lambda op: [op])
        skip = self._add("skip", one, 1, lambda op: [empty_handle(op)])
        pairs = pair_attributes([(unconfigured, skip), (matches_any, keep)])
        pairs |= dict.fromkeys(("flatten_results", "restrict_root"), mlir.UnitAttr.get())
        return self._add(
            "configured_in",
            one,
            1,
            lambda root: create(names.FOREACH_MATCH, [merge_handles([root])], one * 2, **pairs)[1:],
        )

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


def _consumes(operation: mlir.Operation) -> bool:
    return any(consumes(operation, operand) for operand in operation.operands)


# --- Analysis of specs to be linked: the ops that matchers depend on, and the ops that guards cover

_NAVIGATING: Final = frozenset(
    {
        *(names.CAST, names.INCLUDE, names.SELECT, "transform.get_defining_op"),
        *(names.GET_CONSUMERS, names.GET_PARENT, names.GET_PRODUCER),
    }
)
"""Ops that may give a matcher ops other than the matched one, and read no attribute of them."""

_READING: Final = names.SHOWING | {names.HAS_NO_LOWERING_CONFIG}
"""Ops that read attributes of their operand."""


@dataclass(frozen=True)
class _Shown:
    """The properties of an op that matchers can read without its operands."""

    name: str
    kind: OpKind


_NAME_OF_MATCHED: Final = {
    names.MATCH_ATTENTION: names.ATTENTION,
    names.MATCH_ONLINE_ATTENTION: names.ONLINE_ATTENTION,
}
_KIND_OF_MATCHED: Final = {
    names.MATCH_CONTRACTION: OpKind.CONTRACTION,
    names.MATCH_CONVOLUTION: OpKind.CONVOLUTION,
}
"""Properties of the ops that match an op of a matcher."""


def depend_on_each_other(specs: Sequence[Anatomy]) -> bool:
    """Return whether the result of a matcher may depend on ops that another of the matcher lists configures."""
    watched = [_watched(spec) for spec in specs]
    for position, spec in enumerate(specs):
        by_others = watched[:position] + watched[position + 1 :]
        is_any = None in by_others
        shown = frozenset[_Shown]().union(*filter(None, by_others))
        if (is_any or shown) and _may_configure(spec, None if is_any else shown):
            return True
    return False


def _watched(spec: Anatomy) -> frozenset[_Shown] | None:
    """Return the ops other than the matched ones whose attributes a matcher reads; None if it may read any op."""
    looking = spec.table.looking
    navigating = [
        op.name in _NAVIGATING or op.name.startswith("transform.match.structured") for op in looking
    ]
    is_navigating = any(navigating)
    included = {split_path(path)[-1] for path in spec.table.included}
    watched: list[_Shown] = []
    for operation, navigates in zip(looking, navigating, strict=True):
        if operation.name not in _READING:
            if not navigates:
                return None
        elif is_navigating:
            # Only the first argument of a matcher that is not included always is the matched op.
            handle = operation.operands[0]
            if not isinstance(handle, mlir.BlockArgument) or handle.arg_number:
                return None
            name = symbol_name(handle.owner.owner)
            if name is None or name in included:
                return None
        if operation.name in names.SHOWING:
            # The ops next to the matched op in the IR of a DAG matcher or a region matcher.
            operations: list[mlir.Operation] = []
            visit(operation, operations.append)
            *_, root, terminator = [operation, *body(operation)]
            watched += (
                _Shown(op.name, StructuredOp(op).kind)
                for op in operations
                if op not in (operation, root, terminator)
            )
    return frozenset(watched)


def _may_configure(spec: Anatomy, watched: frozenset[_Shown] | None) -> bool:
    """Return whether an entry of a matcher list may configure one of the given ops; None stands for any op."""

    @cache
    def matched(resolved: tuple[SequenceTable, mlir.Operation]) -> frozenset[_Shown]:
        """Return the ops, out of the given ones, that a sequence may match."""
        table, sequence = resolved
        argument = sequence.regions[0].blocks[0].arguments[0]
        left = watched or frozenset()
        for operation in body(sequence):
            if len(operation.operands) and operation.operands[0] == argument:
                if operation.name == names.INCLUDE:
                    callee = table.callee(operation) if fails_as_included(operation) else None
                    left &= matched(callee) if callee else left
                elif operation.name == names.MATCH_OPERATION_NAME:
                    op_names = operation.attributes["op_names"]
                    assert isinstance(op_names, mlir.ArrayAttr)
                    matching = {
                        name.value for name in op_names if isinstance(name, mlir.StringAttr)
                    }
                    left = frozenset(shown for shown in left if shown.name in matching)
                elif operation.name == names.MATCH_DAG:
                    *_, root, _ = body(operation)
                    left = frozenset(shown for shown in left if shown.name == root.name)
                else:
                    name = _NAME_OF_MATCHED.get(operation.name)
                    kind = _KIND_OF_MATCHED.get(operation.name)
                    left = frozenset(
                        shown
                        for shown in left
                        if name in (None, shown.name) and kind in (None, shown.kind)
                    )
        return left

    for matcher, action in dict.fromkeys(spec.pairs):
        if spec.table.annotations(action):
            resolved = spec.table.resolve(matcher)
            if watched is None or resolved is None or matched(resolved):
                return True
    return False


def restriction(spec: Anatomy, entry_points: Sequence[EntryPoint] = ()) -> Diagnostic | None:
    """Return the reason why a spec, or some of its entry points, may change decided ops despite guards, or None."""
    if spec.opaque_because is None:
        return None
    paths = (entry_point.path for entry_point in entry_points or spec.entry_points)
    return next(restrictions(spec.table, *paths), None)


def restrictions(table: SequenceTable, *paths: str) -> Iterator[Diagnostic]:
    """Yield the changes that sequences make other than by annotations, which guards cover."""
    for inner, operation in _ops_run_by(table, *paths):
        if operation.name == names.FOREACH_MATCH and (
            reason := unguarded_because(inner, operation)
        ):
            yield reason
        yield from _changes(inner, operation)


def untraced(spec: Anatomy, *, is_first: bool) -> Diagnostic | None:
    """Return the reason why a guarded entry point cannot pass on all ops that a spec decides, or None."""
    if spec.opaque_because is None or (is_first and spec.is_readable):
        return None
    for inner, operation in _ops_run_by(spec.table, *(point.path for point in spec.entry_points)):
        if reason := next(_changes(inner, operation), None):
            return reason
        if operation.name == names.INCLUDE and not fails_as_included(operation):
            path = reference(operation.attributes["target"])
            if inner.may_change(path) and inner.may_fail(path):
                return note("what it configures before it fails is not known", operation)
        if operation.name in (names.FOREACH, names.SEQUENCE) and any(
            op.name != names.INCLUDE or inner.may_change(reference(op.attributes["target"]))
            for op in collect(operation, *_DECIDING)
        ):
            return note("what it decides inside is not known behind it", operation)
    return None


_DECIDING: Final = (names.ANNOTATE, names.INCLUDE, names.FOREACH_MATCH)


def _changes(table: SequenceTable, operation: mlir.Operation) -> Iterator[Diagnostic]:
    """Yield the reason why an op that a sequence runs may change the program other than by annotations."""
    if operation.name == names.INCLUDE:
        if table.callee(operation) is None:
            path = reference(operation.attributes["target"])
            yield note(f"it includes '{path}', which is not defined beside it", operation)
    elif operation.name == names.FOREACH_MATCH:
        for matcher in dict.fromkeys(matcher for matcher, _ in table.pairs(operation)):
            if table.may_change(matcher):
                yield note(f"its matcher '{matcher}' may change the program", table.lookup(matcher))
    elif operation.name == names.ALTERNATIVES:
        if collect(operation, *_DECIDING):
            yield note("what its alternatives change cannot be guarded", operation)
    elif operation.name != names.ANNOTATE and declares_a_write(operation):
        yield note("it changes the program other than by annotations", operation)


def configures(spec: Anatomy) -> bool:
    """Return whether a spec may change anything, so that it needs guards after another spec."""
    paths = (entry_point.path for entry_point in spec.entry_points)
    return any(
        operation.name == names.ANNOTATE or declares_a_write(operation)
        for _, operation in _ops_run_by(spec.table, *paths)
    )


def _ops_run_by(
    table: SequenceTable, *paths: str
) -> Iterator[tuple[SequenceTable, mlir.Operation]]:
    """Yield the ops by which sequences change ops of the program, except in matchers, each with the table of its module."""
    operations: list[mlir.Operation] = []

    def keep(operation: mlir.Operation) -> mlir.WalkResult | None:
        operations.append(operation)
        makes_module = operation.name == names.CREATE_SERIALIZED_MODULE and is_closed(operation)
        return mlir.WalkResult.SKIP if makes_module else None

    for inner, sequence in table.closure(*paths):
        operations.clear()
        visit(sequence, keep)
        for operation in operations[1:]:
            is_transform = operation.name.startswith("transform.")
            if is_transform and not only_reads(operation, or_adds_symbol=True):
                yield inner, operation


def unguarded_because(table: SequenceTable, foreach_match: mlir.Operation) -> Diagnostic | None:
    """Return the reason why a list cannot start with an additional pair for decided ops; None if it can."""
    if not all(is_any_op(result.type) for result in foreach_match.results):
        return note("its 'foreach_match' yields something other than ops", foreach_match)
    pairs = dict.fromkeys(table.pairs(foreach_match))
    return next(filter(None, (pair_problem(table, foreach_match, *pair) for pair in pairs)), None)


# --- Rewriting of sequences for guards: helpers, copies of shared sequences, additional arguments and results


def call(name: str, operands: Sequence[Handle]) -> Handle:
    """Build an include of a sequence with one result, and return the result."""
    return include([name], operands, [any_op()], FAILURES_PROPAGATE)[0]


def _compare(op: Handle, decided: Handle, predicate: int) -> Sequence[Handle]:
    """Build a match of whether the decided ops include an op; return the op as the only result."""
    counts = [
        create(names.NUM_ASSOCIATIONS, [handle], ["!transform.param<i64>"])[0]
        for handle in (merge_handles([decided, op], deduplicate=True), decided)
    ]
    i32 = mlir.IntegerType.get_signless(32)
    create(names.MATCH_PARAMETER, counts, predicate=mlir.IntegerAttr.get(i32, predicate))
    return [op]


class Gap(IntEnum):
    """The ops that a sequence configures but does not yield as decided ops."""

    NONE = 0
    FAILED = 1
    ANY = 2


@dataclass
class State:
    """The handles of a sequence at one place in its body."""

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
