"""Verification of a spec as a whole: errors of the compiler, and faults that it does not diagnose."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import (
    DiagnosticSink,
    collected_diagnostics,
    from_mlir,
    once,
    place_of,
)
from tuninglink.mlir.serialization import repeated_matcher
from tuninglink.mlir.symbols import reference, symbol_name
from tuninglink.mlir.walk import body, collect
from tuninglink.rules import Rule
from tuninglink.specs.bindings import check_bindings
from tuninglink.specs.module_scan import (
    has_entry_point,
    misspelt_markers,
    preprocessing_entry_points,
)
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.structure import Anatomy
from tuninglink.specs.verification.configuration_faults import check_configurations
from tuninglink.specs.verification.entry_checks import EntryChecks, check_entry_points
from tuninglink.specs.verification.matcher_checks import MatcherChecks, check_references
from tuninglink.specs.verification.reach import Reach

__all__ = ["check_configurations", "verify_spec"]


def verify_spec(module: mlir.Operation, diagnostics: DiagnosticSink) -> None:
    """Report all faults of a spec, of a preprocessing spec, or of each of the specs nested in a module.

    A construct is an error if the compiler rejects it (immediately, or when the spec is linked or applied), or if it
    changes a program in an invalid way. A construct without effect is a warning. The module is not modified.

    Args:
        module: a `builtin.module`, which need not be verified yet.
        diagnostics: receives the findings. The spec is sound if there are no errors.
    """
    sink = once(diagnostics)
    if has_entry_point(module) or preprocessing_entry_points(module):
        _verify(module, sink)
        return
    nested = [op for op in body(module) if op.name == names.MODULE]
    specs = [op for op in nested if has_entry_point(op)]
    passed = [_verify(spec, sink) for spec in specs]
    if not all(passed) or not passes_compiler(module, sink):
        return
    if not specs:
        _report_no_spec(module, sink)
        return
    for nested_module in nested:
        if nested_module not in specs and names.WITH_NAMED_SEQUENCE in nested_module.attributes:
            sink.warning(
                f"module '{symbol_name(nested_module) or 'unnamed'}' has no entry point, so it is not linked; "
                f"mark a named sequence with '{names.ENTRY_POINT}'",
                nested_module,
                rule=Rule.ENTRY_POINT,
            )


def _report_no_spec(module: mlir.Operation, diagnostics: DiagnosticSink) -> None:
    try:
        Anatomy(module)
    except SpecError as failure:
        for diagnostic in failure.diagnostics:
            # A module without a location of its own begins with its first op.
            is_nowhere = diagnostic.place is not None and not diagnostic.place.line
            first = next(body(module), None) if is_nowhere else None
            diagnostics.emit(
                replace(diagnostic, place=place_of(first.location)) if first else diagnostic
            )


def _verify(module: mlir.Operation, diagnostics: DiagnosticSink) -> bool:
    """Verify one spec and return whether the compiler accepts it."""
    if not passes_compiler(module, diagnostics):
        return False  # The following checks rely on the compiler's checks.
    table = SequenceTable(module)
    mains = [] if has_entry_point(module) else preprocessing_entry_points(module)
    reach = Reach(table, mains or check_entry_points(module, table, diagnostics))
    check_bindings([module, *body(module)], diagnostics)
    for operation, message in misspelt_markers([module, *table.scan.entry_points]):
        diagnostics.warning(message, operation, rule=Rule.UNKNOWN_NAME)
    check_references(reach, diagnostics)
    MatcherChecks(reach, diagnostics).run()
    entry_checks = EntryChecks(diagnostics)
    for code in reach.codes:
        entry_checks.check_constants(code)
        if mains:
            continue  # Its actions may replace ops.
        entry_checks.check_alternatives(code)
        for operation in code.matchers:
            if operation.name == names.FOREACH_MATCH:
                entry_checks.check(reach.entries(code, operation))
    return True


def passes_compiler(module: mlir.Operation, diagnostics: DiagnosticSink) -> bool:
    """Run the compiler's verifier on `module` and forward its diagnostics.

    A `foreach_match` that uses a matcher twice is an error; the compiler's verifier is then not run.

    Returns:
        Whether the compiler accepts `module`.
    """
    if any(op.name == names.MODULE for op in body(module)):
        # For nested modules, another thread reports the diagnostics, and waits for the lock of this one.
        module.context.enable_multithreading(False)  # noqa: FBT003
    if _report_repeated_matchers(module, diagnostics):
        return False
    failure: mlir.MLIRError | None = None
    with collected_diagnostics(module.context) as collected:
        try:
            module.verify()
        except mlir.MLIRError as raised:
            failure = raised
    for diagnostic in collected:
        diagnostics.emit(diagnostic)
    for error in failure.error_diagnostics if failure else ():
        diagnostics.emit(from_mlir(error))
    return failure is None


def _report_repeated_matchers(module: mlir.Operation, diagnostics: DiagnosticSink) -> bool:
    repeated_matchers = False
    for foreach_match in collect(module, names.FOREACH_MATCH):
        count = Counter(_matchers(foreach_match))
        for matcher in (matcher for matcher, uses in count.items() if uses > 1):
            repeated_matchers = True
            diagnostics.emit(repeated_matcher(reference(matcher), foreach_match))
    return repeated_matchers


def _matchers(foreach_match: mlir.Operation) -> list[mlir.Attribute]:
    """Return the matchers of an op that may be invalid.

    The result is empty unless the attributes are pairs of references, since the compiler rejects any other op
    immediately.
    """
    matchers, actions = (_references(foreach_match, side) for side in ("matchers", "actions"))
    return matchers if len(matchers) == len(actions) else []


def _references(operation: mlir.Operation, attribute: str) -> list[mlir.Attribute]:
    result = operation.attributes.get(attribute)
    elements: list[mlir.Attribute] = list(result) if isinstance(result, mlir.ArrayAttr) else []
    references = (mlir.FlatSymbolRefAttr, mlir.SymbolRefAttr)
    return elements if all(isinstance(element, references) for element in elements) else []
