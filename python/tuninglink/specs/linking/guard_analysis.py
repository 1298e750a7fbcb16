"""Analysis for guards: the ops of a spec that they cover, that need none, and that they cannot cover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Diagnostic, note
from tuninglink.mlir.symbols import join_path, reference
from tuninglink.mlir.walk import body, collect, visit
from tuninglink.specs.module_scan import is_any_op, signature
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.side_effects import SideEffects, declares_a_write
from tuninglink.specs.structure import Anatomy, SpecKind


def restrictions(spec: Anatomy) -> Iterator[Diagnostic]:
    """Yield why a spec may change decided ops in spite of its guards, as notes at the places."""
    if spec.kind is SpecKind.MATCHER_LIST:
        return
    for table, sequence in dict.fromkeys(_run_by(spec)):
        yield from _restrictions_in(table, sequence)


def configures(spec: Anatomy) -> bool:
    """Return whether a spec may change anything, so that it needs guards after another spec."""
    return any(
        operation.name == names.ANNOTATE or declares_a_write(operation)
        for _, sequence in _run_by(spec)
        for operation in _transform_ops(sequence)
    )


def _run_by(spec: Anatomy) -> Iterator[tuple[SequenceTable, mlir.Operation]]:
    for entry_point in spec.entry_points:
        yield from spec.table.closure(join_path([entry_point.name]))


def only_annotates(table: SequenceTable, path: str) -> bool:
    """Return whether the sequence at `path` changes the program by guarded annotations alone."""
    return not any(
        True for inner, sequence in table.closure(path) for _ in _restrictions_in(inner, sequence)
    )


def _restrictions_in(table: SequenceTable, sequence: mlir.Operation) -> Iterator[Diagnostic]:
    for operation in _transform_ops(sequence):
        if operation.name == names.INCLUDE:
            if table.callee(operation) is None:
                path = reference(operation.attributes["target"])
                yield note(f"it includes '{path}', which is not defined beside it", operation)
        elif operation.name == names.FOREACH_MATCH:
            yield from _restrictions_of_list(table, operation)
        elif operation.name == names.ALTERNATIVES:
            if collect(operation, names.ANNOTATE, names.INCLUDE, names.FOREACH_MATCH):
                yield note("what its alternatives change cannot be guarded", operation)
        elif operation.name != names.ANNOTATE and declares_a_write(operation):
            yield note("it changes the program other than by annotations", operation)


def _restrictions_of_list(
    table: SequenceTable, foreach_match: mlir.Operation
) -> Iterator[Diagnostic]:
    if reason := unguarded_because(table, foreach_match):
        yield reason
    effects = SideEffects(table)
    for matcher in dict.fromkeys(matcher for matcher, _ in table.pairs(foreach_match)):
        if effects.may_change(matcher):
            yield note(f"its matcher '{matcher}' may change the program", table.lookup(matcher))


def unguarded_because(table: SequenceTable, foreach_match: mlir.Operation) -> Diagnostic | None:
    """Return why a list cannot have a further pair, for decided ops, before its pairs; None if it can."""
    if not all(is_any_op(result.type) for result in foreach_match.results):
        return note("its 'foreach_match' yields something other than ops", foreach_match)
    for matcher, action in dict.fromkeys(table.pairs(foreach_match)):
        sequence = table.lookup(matcher)
        if sequence is None or table.lookup(action) is None:
            return note(f"its entry '{matcher} -> {action}' is dangling", foreach_match)
        if not is_any_op(signature(sequence).inputs[0]):
            return note(f"its matcher '{matcher}' takes a typed operation", sequence)
    return None


def _transform_ops(sequence: mlir.Operation) -> list[mlir.Operation]:
    """Return the transform ops in a sequence, without the ops that its matchers show."""
    operations: list[mlir.Operation] = []
    visit(sequence, operations.append)
    return [operation for operation in operations[1:] if operation.name.startswith("transform.")]


def own_arguments(
    table: SequenceTable, pairs: Iterable[tuple[str, str]]
) -> dict[str, frozenset[int]]:
    """Return for each action which of its arguments always are the matched op."""
    own: dict[str, frozenset[int]] = {}
    for matcher, action in dict.fromkeys(pairs):
        sequence = table.lookup(matcher)
        assert sequence is not None, "checked by the caller"
        positions = range(len(signature(sequence).results))
        here = frozenset(number for number in positions if table.yielded(matcher, number) == 0)
        own[action] = own.get(action, here) & here
    return own


def is_search(foreach_match: mlir.Operation) -> bool:
    """Return whether a list is about one op, as the lists of an index are."""
    root, *others = foreach_match.operands
    return "restrict_root" in foreach_match.attributes and root in others


def only_searches(action: mlir.Operation | None) -> bool:
    """Return whether an action only searches the entries of an index for an op, and decides nothing itself."""
    operations = list(body(action)) if action else []
    return [op.name for op in operations] == [names.FOREACH_MATCH, names.YIELD] and is_search(
        operations[0]
    )
