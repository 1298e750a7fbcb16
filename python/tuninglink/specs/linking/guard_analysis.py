"""Analysis for guards: the ops of a spec that they cover, that need none, and that they cannot cover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import Diagnostic, note
from tuninglink.mlir.symbols import reference
from tuninglink.mlir.walk import collect, visit
from tuninglink.specs.module_scan import is_any_op, signature
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.side_effects import SideEffects, declares_a_write
from tuninglink.specs.structure import Anatomy, EntryPoint, SpecKind, pair_problem


def restriction(spec: Anatomy, entry_points: Sequence[EntryPoint] = ()) -> Diagnostic | None:
    """Return why a spec, or some of its entry points, may change decided ops in spite of guards, or None."""
    if spec.kind is SpecKind.MATCHER_LIST:
        return None
    paths = (entry_point.path for entry_point in entry_points or spec.entry_points)
    return next(_restrictions(spec.table, *paths), None)


def only_annotates(table: SequenceTable, *paths: str) -> bool:
    """Return whether sequences change the program by guarded annotations alone."""
    return not any(True for _ in _restrictions(table, *paths))


def configures(spec: Anatomy) -> bool:
    """Return whether a spec may change anything, so that it needs guards after another spec."""
    paths = (entry_point.path for entry_point in spec.entry_points)
    return any(
        operation.name == names.ANNOTATE or declares_a_write(operation)
        for _, sequence in spec.table.closure(*paths)
        for operation in _transform_ops(sequence)
    )


def _restrictions(table: SequenceTable, *paths: str) -> Iterator[Diagnostic]:
    for inner, sequence in table.closure(*paths):
        yield from _restrictions_in(inner, sequence)


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
    pairs = dict.fromkeys(table.pairs(foreach_match))
    problems = (pair_problem(table, foreach_match, *pair) for pair in pairs)
    return next(filter(None, problems), None)


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
