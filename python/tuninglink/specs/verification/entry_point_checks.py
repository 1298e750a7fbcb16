"""Faults of the entry points of a spec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import note
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body
from tuninglink.specs.sequences import argument_attributes
from tuninglink.specs.side_effects import failing_checks
from tuninglink.specs.structure import is_entry_point, signature_problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.sequences import SequenceTable


def check_entry_points(
    module: mlir.Operation, table: SequenceTable, diagnostics: DiagnosticSink
) -> list[mlir.Operation]:
    """Check the entry points of a spec, and sequences that look like one.

    Returns:
        The entry points whose bodies can be checked further.
    """
    usable = []
    children = list(body(module))
    marked = [op for op in children if is_entry_point(op) and _is_marked(op)]
    for operation in children:
        if is_entry_point(operation):
            if _check_entry_point(operation, marked, table, diagnostics):
                usable.append(operation)
        elif _is_marked(operation):
            diagnostics.warning(
                f"'{names.ENTRY_POINT}' means nothing on '{operation.name}'; "
                f"it marks a '{names.NAMED_SEQUENCE}'",
                operation,
            )
    return usable


def _is_marked(operation: mlir.Operation) -> bool:
    return names.ENTRY_POINT in operation.attributes


def _check_entry_point(
    sequence: mlir.Operation,
    marked: Sequence[mlir.Operation],
    table: SequenceTable,
    diagnostics: DiagnosticSink,
) -> bool:
    problem = signature_problem(sequence)
    if problem:
        diagnostics.emit(problem)
        return False
    if _is_marked(sequence):
        _check_ownership(sequence, table, diagnostics)
    else:
        _warn_about_missing_mark(sequence, marked, diagnostics)
    _check_visibility(sequence, diagnostics)
    check = next(failing_checks(table, sequence), None)
    if check is not None:
        diagnostics.warning(
            f"entry point '@{symbol_name(sequence)}' may fail here, which is an error where the spec is "
            "applied alone; linked, it goes on without a diagnostic",
            check,
        )
    if len(list(body(sequence))) == 1:
        diagnostics.warning(
            f"entry point '@{symbol_name(sequence)}' does nothing; "
            f"let it run a '{names.FOREACH_MATCH}', or remove it",
            sequence,
        )
    return True


def _check_ownership(
    sequence: mlir.Operation, table: SequenceTable, diagnostics: DiagnosticSink
) -> None:
    if argument_attributes(sequence, 0).isdisjoint({names.CONSUMED, names.READONLY}):
        fitting = names.CONSUMED if table.consumes_argument(sequence, 0) else names.READONLY
        diagnostics.error(
            f"entry point '@{symbol_name(sequence)}' neither reads nor consumes its argument, "
            f"so IREE cannot link it with another spec; declare the argument '{fitting}'",
            sequence,
        )


def _warn_about_missing_mark(
    sequence: mlir.Operation, marked: Sequence[mlir.Operation], diagnostics: DiagnosticSink
) -> None:
    name = symbol_name(sequence)
    consequence = "IREE runs it only where the spec stands alone, and drops it beside another one"
    if marked:
        consequence = "IREE drops it, as another entry point is marked"
    diagnostics.warning(
        f"'@{name}' is not marked as an entry point: {consequence}, without a word; "
        f"mark it with '{names.ENTRY_POINT}', or link the spec with tuninglink-link-specs",
        sequence,
        [note("this entry point is marked", entry_point) for entry_point in marked[:1]],
    )


def _check_visibility(sequence: mlir.Operation, diagnostics: DiagnosticSink) -> None:
    visibility = sequence.attributes.get("sym_visibility")
    if not isinstance(visibility, mlir.StringAttr) or visibility.value != "private":
        return
    message = f"entry point '@{symbol_name(sequence)}' is private, so it cannot be "
    remedy = "; make it public"
    assert sequence.parent is not None
    if names.DEFAULT_ENTRY_POINT in sequence.parent.attributes:
        # Linking with specs of the same form merges it into theirs.
        diagnostics.warning(f"{message}linked with an opaque spec{remedy}", sequence)
    else:
        diagnostics.error(f"{message}linked{remedy}", sequence)
