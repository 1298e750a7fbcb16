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
from tuninglink.mlir.diagnostics import note
from tuninglink.mlir.symbols import join_path, references_in, split_path
from tuninglink.mlir.walk import body, collect
from tuninglink.specs.builders import (
    FAILURES_PROPAGATE,
    FAILURES_SUPPRESS,
    any_op,
    argument_declarations,
    change_signature,
    empty_handle,
    include,
    merge_handles,
    yield_,
    yield_more,
)
from tuninglink.specs.chains import chained_modules, takes_decided
from tuninglink.specs.decided import (
    DROP,
    EQUAL_OR_NONE,
    IS_ANY,
    IS_DECIDED,
    IS_UNCONFIGURED,
    KEEP_DECIDED,
    UNDECIDED_OF,
    DecidedHelpers,
    is_bookkeeping,
)
from tuninglink.specs.pairs import pair_attributes
from tuninglink.specs.sequences import is_any_op, reference
from tuninglink.specs.side_effects import SideEffects, only_reads
from tuninglink.specs.structure import Anatomy, SpecKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tuninglink.mlir.diagnostics import Diagnostic
    from tuninglink.specs.sequences import Handle, SequenceTable


def unguarded_because(spec: Anatomy) -> Diagnostic | None:
    """Returns why decided ops cannot be kept from a spec, as a note at the place; None if they can.

    They can be kept from a spec with one entry point that has one `foreach_match` and otherwise only reads.
    """
    if spec.kind is SpecKind.MATCHER_LIST or _is_guarded(spec):
        return None
    if (modules := chained_modules(spec.module)) is not None:
        reasons = (unguarded_because(Anatomy(each)) for each in modules)
        return next((each for each in reasons if each), None)
    return _has_other_form(spec) or next(_changes_otherwise(spec), None)


def needs_guard(spec: Anatomy) -> bool:
    """Tells whether a spec can be guarded, and may configure anything."""
    if spec.kind is SpecKind.MATCHER_LIST:
        return any(map(spec.annotations, dict.fromkeys(action for _, action in spec.pairs)))
    return unguarded_because(spec) is None


def _has_other_form(spec: Anatomy) -> Diagnostic | None:
    """Returns why a spec has not just one list of matchers whose signatures can be changed."""
    sequence = spec.entry_points[0].sequence
    lists = collect(sequence, names.FOREACH_MATCH)
    is_used = spec.entry_points[0].name in spec.table.included
    if is_used or len(spec.entry_points) > 1 or len(lists) != 1 or lists[0] not in body(sequence):
        return spec.opaque_because
    for path in dict.fromkeys(path for pair in spec.table.pairs(lists[0]) for path in pair):
        if spec.table.lookup(path) is None:
            return spec.opaque_because
    matchers = [spec.table.lookup(matcher) for matcher, _ in spec.table.pairs(lists[0])]
    return None if all(each and _takes_any_op(each) for each in matchers) else spec.opaque_because


def _changes_otherwise(spec: Anatomy) -> Iterator[Diagnostic]:
    """Yields what changes the program beside the actions of a spec's only list."""
    sequence = spec.entry_points[0].sequence
    (foreach_match,) = collect(sequence, names.FOREACH_MATCH)
    if not all(is_any_op(each.type) for each in foreach_match.results):
        yield note("its 'foreach_match' hands on something else than ops", foreach_match)
    side_effects = SideEffects(spec.table)
    for operation in body(sequence):
        if operation != foreach_match and not _reads(operation, side_effects):
            yield note("it does more than read beside its 'foreach_match'", operation)
    for matcher in dict.fromkeys(matcher for matcher, _ in spec.table.pairs(foreach_match)):
        if side_effects.may_change(matcher):
            yield note(
                f"its matcher '{matcher}' may change the program", spec.table.lookup(matcher)
            )


def _is_guarded(spec: Anatomy) -> bool:
    """Tells whether linking has guarded a spec before: each list then begins with what is decided."""
    lists = [
        each
        for entry_point in spec.entry_points
        if takes_decided(entry_point.sequence)
        for each in collect(entry_point.sequence, names.FOREACH_MATCH)
    ]
    firsts = [spec.table.pairs(each)[0][0] for each in lists]
    return bool(firsts) and all(is_bookkeeping(spec.table, each) for each in firsts)


def _reads(operation: mlir.Operation, side_effects: SideEffects) -> bool:
    if operation.name == names.INCLUDE:
        return not side_effects.may_change(reference(operation.attributes["target"]))
    return only_reads(operation)


def _takes_any_op(matcher: mlir.Operation) -> bool:
    return is_any_op(matcher.regions[0].blocks[0].arguments[0].type)


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
class _Callee:
    """A sequence to change.

    Attributes:
        sequence: the sequence itself, or a copy if something else uses it.
        table: the sequences of its module.
        path: a reference to it.
    """

    sequence: mlir.Operation
    table: SequenceTable
    path: list[str]


@dataclass
class _Found:
    """What is known of decided ops while a sequence is rewritten.

    Attributes:
        before: a handle to what was decided before, and by the lists of the sequence.
        handles: handles to what was configured since.
        is_handed_on: whether `before` holds what a list of the sequence decided.
        is_complete: whether nothing else in the sequence may have configured an op.
    """

    before: Handle
    handles: list[Handle] = field(default_factory=list)
    is_handed_on: bool = False
    is_complete: bool = True


class _Guarding:
    """Rewrites the sequences that one entry point runs.

    Args:
        spec: the spec.
        guards: whether decided ops are kept from it; else it only hands them on.
    """

    def __init__(self, spec: Anatomy, *, guards: bool) -> None:
        self._table = spec.table
        self._guards = guards
        self._uses = Counter(join_path(path) for path in references_in(spec.module))
        self._side_effects = SideEffects(spec.table)
        self._helpers: dict[mlir.Operation, DecidedHelpers] = {}
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
            if not found.is_complete:
                root, now = self._add_configured(terminator.operands[0], now)
                terminator.operands[0] = root
        yield_more(sequence, [now])

    def _add_configured(self, root: Handle, decided: Handle) -> list[Handle]:
        """Adds what is configured to what is decided, for lack of anything better; returns new handles to both."""
        helpers = self._helpers_of(self._table)
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
        return list(walk.results)

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
                found.handles += self._include(table, operation, found, own)
            elif operation.name == names.FOREACH_MATCH:
                with operation.location, mlir.InsertionPoint(operation):
                    before = found.before
                    parts = [before, *found.handles]
                    known = merge_handles(parts, deduplicate=True) if found.handles else before
                # It invalidates the handles to all that is inside of its root, and gives a new one.
                found.before, found.handles = self._foreach_match(table, operation, known), []
                found.is_handed_on = True
            elif operation.name != names.YIELD and not only_reads(operation):
                for annotation in collect(operation, names.ANNOTATE):
                    self._annotate(table, annotation, 0, found.before, own)
                self._lose(table, operation, found)
        return found

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
                helper = self._helpers_of(table).name(UNDECIDED_OF)
                undecided = include([helper], [target, decided], [self._any_op], FAILURES_PROPAGATE)
                target = undecided.results[0]
                operation.operands[number] = target
        return [target]

    def _include(
        self, table: SequenceTable, operation: mlir.Operation, found: _Found, own: set[Handle]
    ) -> list[Handle]:
        path = reference(operation.attributes["target"])
        annotations = table.annotations(path)
        if annotations is None:
            if SideEffects(table).may_change(path):
                self._lose(table, operation, found)
            return []
        annotated = sorted({each.operand for each in annotations})
        kept = [self._annotate(table, operation, each, found.before, own) for each in annotated]
        return [handle for each in kept for handle in each]

    # --- Lists ---------------------------------------------------------------------------------------------

    def _foreach_match(
        self, table: SequenceTable, operation: mlir.Operation, decided: Handle
    ) -> Handle:
        """Rewrites a `foreach_match`; returns a handle to what is decided behind it."""
        pairs = table.pairs(operation)
        own = self._own_arguments(table, pairs)
        counts = Counter(path for pair in pairs for path in pair)
        # An index has lists for one op, whose first pair leaves what is inside of that op.
        entries = pairs[1:] if _is_for_one_op(operation) else pairs
        deciding = {action for _, action in entries}
        matchers = {each: self._matcher(table, each, counts) for each, _ in dict.fromkeys(pairs)}
        actions = {
            action: self._action(table, action, own[action], counts, decides=action in deciding)
            for action in dict.fromkeys(action for _, action in pairs)
        }
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
            left = self._with_root(self._helpers_of(table), operation, replacement, left)
        operation.erase()
        return left

    def _with_root(
        self,
        helpers: DecidedHelpers,
        operation: mlir.Operation,
        replacement: mlir.Operation,
        after: Handle,
    ) -> Handle:
        """Adds the root of a walk, which the walk does not ask about, to what is decided behind it if it was before."""
        root, *_, decided = replacement.operands
        parameter = mlir.Type.parse("!transform.param<i64>")

        def count(handle: Handle) -> Handle:
            counted: Handle = mlir.Operation.create(
                names.NUM_ASSOCIATIONS, operands=[handle], results=[parameter]
            ).results[0]
            return counted

        with operation.location, mlir.InsertionPoint(replacement):
            known = merge_handles([decided], deduplicate=True)
            counts = [count(known), count(merge_handles([known, root], deduplicate=True))]
        with operation.location, mlir.InsertionPoint(operation):
            kept = include(
                [helpers.name(EQUAL_OR_NONE)],
                [replacement.results[0], *counts],
                [self._any_op],
                FAILURES_SUPPRESS,
            )
            return merge_handles([after, kept.results[0]], deduplicate=True)

    def _known_pair(
        self, table: SequenceTable, operation: mlir.Operation
    ) -> tuple[list[str], list[str]]:
        """Returns the pair for ops that are decided already, with the signature that a `foreach_match` wants."""
        helpers = self._helpers_of(table)
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

    def _matcher(self, table: SequenceTable, path: str, counts: Counter[str]) -> list[str]:
        """Gives a matcher the decided ops, and lets it yield what it was asked about and these."""
        callee = self._taken_over(table, path, counts)
        asked: Handle = callee.sequence.regions[0].blocks[0].arguments[0]
        added = [asked.type, self._any_op]
        (decided,) = change_signature(callee.sequence, [self._any_op], added)
        yield_more(callee.sequence, [asked, decided])
        return callee.path

    def _action(
        self,
        table: SequenceTable,
        path: str,
        own: set[int],
        counts: Counter[str],
        *,
        decides: bool,
    ) -> list[str]:
        """Gives an action the op that matched and the decided ops, and lets it yield what is decided by it."""
        callee = self._taken_over(table, path, counts)
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
        terminator = list(body(sequence))[-1]
        with terminator.location, mlir.InsertionPoint(terminator):
            if not handles:
                handles = [empty_handle(found.before)]
            yielded = merge_handles(handles) if len(handles) > 1 else handles[0]
        yield_more(sequence, [yielded])
        return callee.path

    # --- Names ---------------------------------------------------------------------------------------------

    def _taken_over(self, table: SequenceTable, path: str, counts: Counter[str]) -> _Callee:
        """Returns a sequence of a list to change: a copy if something else refers to it, too."""
        found = table.resolve(path)
        assert found is not None, "checked by unguarded_because"
        inner, sequence = found
        *scope, name = split_path(path)
        # A reference inside a nested module leaves out the scope.
        uses = self._uses[path] + (self._uses[join_path([name])] if scope else 0)
        if uses > counts[path]:
            name = self._helpers_of(inner).fresh.take(name)
            with mlir.InsertionPoint.after(sequence):
                sequence = sequence.clone().operation
            sequence.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
        return _Callee(sequence, inner, [*scope, name])

    def _helpers_of(self, table: SequenceTable) -> DecidedHelpers:
        module = table.module
        if module not in self._helpers:
            self._helpers[module] = DecidedHelpers(module)
        return self._helpers[module]


def _valid_handle(operation: mlir.Operation, other: Handle) -> Handle:
    """Returns a handle that is valid behind an op which consumes some: one of its results, if it has any."""
    return next((each for each in operation.results if is_any_op(each.type)), other)


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
