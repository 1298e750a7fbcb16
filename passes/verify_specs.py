"""The pass `tuninglink-verify-specs`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from iree.compiler import ir as mlir

from tuninglink.errors import Diagnostic, Severity
from tuninglink.matching import find_unreachable
from tuninglink.mlir import DiagnosticSink, Pass, note, option
from tuninglink.rules import Rule
from tuninglink.specs import specs_in
from tuninglink.specs.verification import check_configurations, verify_spec


@dataclass(frozen=True)
class VerifySpecs(Pass):
    """Verify a spec, or each nested spec of a module, including mistakes that fail later or silently.

    In addition to violations found by the compiler's verifier, these are errors:

    - the module neither is nor contains a spec;
    - an entry point neither reads nor consumes its argument, is private although it has to be linked, or has a
    signature that cannot be linked;
    - a matcher, an action or a helper is only declared;
    - a matcher is used twice in a `foreach_match`, on which the compiler crashes;
    - a matcher changes the payload, directly or through an include, or contains an operation that the compiler rejects
    in matchers;
    - a matcher accepts operations of one name only: the first other operation ends the compilation;
    - the type of a constant differs from the type that its user requires;
    - the operand types of an intrinsic differ from those of its matcher.

    These are warnings:

    - an entry point is not marked, or does nothing, or a mark has no effect;
    - an action configures nothing, or sets a configuration to an invalid attribute, or sets an attribute with nearly
    the name of a configuration;
    - a knob of a lowering config is misspelt, or has a number of sizes that differs from the number of loops;
    - an entry is unreachable, since an earlier one matches everything that it matches (only checked without errors);
    - a matcher ignores whether a helper matches;
    - a nested module has no entry point, so that linking omits it.

    All problems are reported in one run, and nothing is changed.

    Example:
        Before:

        ```mlir
        transform.named_sequence @match(%op: !transform.any_op {transform.readonly}) -> … {
          transform.match.operation_name %op ["linalg.matmul"] : !transform.any_op
          transform.annotate %op "seen" : !transform.any_op
          …
        }
        ```

        After:

        ```
        spec.mlir:3:3: error: 'transform.annotate' changes the payload in matcher '@match', which the
        compiler refuses to run; leave it to the action
        ```
    """

    name: ClassVar[str] = "tuninglink-verify-specs"

    warnings_as_errors: bool = option(default=False, help="Treat warnings as errors.")

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Verify `operation`, or the specs nested in it."""

        def emit(diagnostic: Diagnostic) -> None:
            if self.warnings_as_errors and diagnostic.severity is Severity.WARNING:
                diagnostic = replace(diagnostic, severity=Severity.ERROR)
            diagnostics.emit(diagnostic)

        sink = DiagnosticSink(emit)
        verify_spec(operation, sink)
        if not sink.error_count:
            for spec in specs_in(operation):
                check_configurations(spec, sink)
            report_unreachable(operation, sink)


def report_unreachable(module: mlir.Operation, diagnostics: DiagnosticSink) -> None:
    """Warn of unreachable entries in a spec that `verify_spec` accepts, or in each nested spec of a module."""
    for spec in specs_in(module):
        table = spec.anatomy.table
        for unreachable in find_unreachable(spec):
            remedy, notes = "remove it", []
            for earlier in unreachable.subsumed_by:
                remedy = f"remove it, or move it before '@{earlier.matcher}'"
                notes = [note("the earlier matcher", table.lookup(earlier.matcher))]
            entry, why = unreachable.entry, unreachable.why_unreachable
            diagnostics.warning(
                f"entry '@{entry.matcher} -> @{entry.action}' is unreachable: {why}; {remedy}",
                table.lookup(entry.matcher),
                notes,
                Rule.UNREACHABLE,
            )
