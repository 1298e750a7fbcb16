"""Conversion of the diagnostics of the compiler's verifier."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.contexts import collected_diagnostics
from tuninglink.mlir.diagnostics import from_mlir
from tuninglink.mlir.symbols import reference
from tuninglink.mlir.walk import body, collect
from tuninglink.specs.foreach_match import drop_repeated_matchers

if TYPE_CHECKING:
    from tuninglink.mlir.diagnostics import DiagnosticSink


def passes_compiler(module: mlir.Operation, diagnostics: DiagnosticSink) -> bool:
    """Run the compiler's verifier on `module` and forward its diagnostics.

    A matcher that a `foreach_match` uses twice is an error. The compiler only warns about it, but overflows its stack
    when it prints the op in the warning, since printing verifies the op again.

    Returns:
        Whether the compiler accepts `module`, apart from such matchers.
    """
    if any(op.name == names.MODULE for op in body(module)):
        # For nested modules, another thread reports the diagnostics, and waits for the lock of this one.
        module.context.enable_multithreading(False)  # noqa: FBT003
    verified = module
    if _report_repeated_matchers(module, diagnostics):
        verified = module.clone(ip=False)
        for foreach_match in collect(verified, names.FOREACH_MATCH):
            if _matchers(foreach_match):
                drop_repeated_matchers(foreach_match)
    failure: mlir.MLIRError | None = None
    with collected_diagnostics(module.context) as collected:
        try:
            verified.verify()
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
            diagnostics.error(
                f"matcher '@{reference(matcher)}' is used more than once: only its first entry can "
                "apply, and the compiler crashes on this operation; remove the later entries",
                foreach_match,
            )
    return repeated_matchers


def _matchers(foreach_match: mlir.Operation) -> list[mlir.Attribute]:
    """Return the matchers of an op that may be invalid.

    The result is empty unless the attributes are pairs of references: the compiler then rejects the op at once.
    """
    matchers, actions = (_references(foreach_match, side) for side in ("matchers", "actions"))
    return matchers if len(matchers) == len(actions) else []


def _references(operation: mlir.Operation, attribute: str) -> list[mlir.Attribute]:
    result = operation.attributes.get(attribute)
    elements: list[mlir.Attribute] = list(result) if isinstance(result, mlir.ArrayAttr) else []
    references = (mlir.FlatSymbolRefAttr, mlir.SymbolRefAttr)
    return elements if all(isinstance(element, references) for element in elements) else []
