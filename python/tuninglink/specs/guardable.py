"""Guardable specs: those that decided ops can be kept from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import note
from tuninglink.mlir.symbols import join_path, reference, symbol_name
from tuninglink.mlir.walk import body, collect, visit
from tuninglink.specs.chains import chained_modules, takes_decided
from tuninglink.specs.decided import is_bookkeeping
from tuninglink.specs.sequences import is_any_op
from tuninglink.specs.side_effects import SideEffects, declares_a_write, only_reads
from tuninglink.specs.structure import Anatomy, SpecKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import Diagnostic
    from tuninglink.specs.sequences import SequenceTable


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


def overrides_because(spec: Anatomy) -> Diagnostic | None:
    """Returns why a spec may configure decided ops in spite of its guards, as a note at the place; None if it cannot."""
    if spec.kind is SpecKind.MATCHER_LIST:
        return None
    if (modules := chained_modules(spec.module)) is not None:
        reasons = (overrides_because(Anatomy(each)) for each in modules)
        return next((each for each in reasons if each), None)
    return unguarded_because(spec) or next(_unguarded_in_actions(spec), None)


def needs_guard(spec: Anatomy) -> bool:
    """Tells whether a spec can be guarded, and may configure anything."""
    if spec.kind is SpecKind.MATCHER_LIST:
        return any(map(spec.annotations, dict.fromkeys(action for _, action in spec.pairs)))
    return unguarded_because(spec) is None


def _has_other_form(spec: Anatomy) -> Diagnostic | None:
    """Returns why a spec has not just one list of matchers whose signatures can be changed."""
    sequence = spec.entry_points[0].sequence
    lists = collect(sequence, names.FOREACH_MATCH)
    is_used = spec.entry_points[0].name in spec.table.survey.included
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


def _unguarded_in_actions(spec: Anatomy) -> Iterator[Diagnostic]:
    """Yields what the actions of a spec do otherwise than by annotations, which alone can be guarded."""
    seen: set[mlir.Operation] = set()
    for action in dict.fromkeys(action for _, action in spec.pairs):
        for table, sequence in spec.table.closure(action):
            if sequence in seen:
                continue
            seen.add(sequence)
            found: list[mlir.Operation] = []
            visit(sequence, found.append)
            for operation in found:
                if operation != sequence and _is_unguarded(table, operation, sequence):
                    text = (
                        f"its action '{action}' changes the program otherwise than by annotations"
                    )
                    yield note(text, operation)


def _is_unguarded(
    table: SequenceTable, operation: mlir.Operation, sequence: mlir.Operation
) -> bool:
    if operation.name == names.INCLUDE:
        return table.callee(operation) is None
    if operation.name == names.FOREACH_MATCH:
        # Lists are guarded where an action walks them itself.
        is_included = join_path([symbol_name(sequence) or ""]) in table.survey.included
        return is_included or operation not in body(sequence)
    return operation.name != names.ANNOTATE and declares_a_write(operation)


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
