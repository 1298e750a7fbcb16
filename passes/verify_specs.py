"""The pass `tuninglink-verify-specs`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from tuninglink.matching.reachability import find_unreachable
from tuninglink.mlir.diagnostics import DiagnosticSink, Severity, note
from tuninglink.mlir.passes import Pass, option
from tuninglink.specs.spec import specs_in
from tuninglink.specs.verification import check_configurations, verify_spec

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import Diagnostic
    from tuninglink.specs.spec import Spec


@dataclass(frozen=True)
class VerifySpecs(Pass):
    """Verify a spec, or each spec nested in a module: also what breaks later and says nothing.

    It is an error, in addition to everything that the compiler's verifier refuses, if

    - the module is no spec and holds none;
    - an entry point neither reads nor consumes its argument, is private where it has to be linked, or has
      a signature that cannot be linked;
    - a matcher, an action or a helper is only declared;
    - a matcher is used twice in a `foreach_match`, on which the compiler crashes;
    - a matcher changes the payload, also through what it includes, or holds an operation that the compiler
      refuses to run in a matcher;
    - a matcher takes operations of one name only: the first other operation ends the compilation;
    - a constant is of another type than whoever takes it wants;
    - an intrinsic multiplies other types than its matcher asks for.

    It is worth a warning if

    - an entry point is not marked, or does nothing, or a mark stands where it means nothing;
    - an action configures nothing, or sets a configuration to something that is none, or an attribute whose
      name is nearly that of a configuration;
    - a knob of a lowering config is misspelt, or has another number of sizes than its matcher asks for loops;
    - an entry is unreachable, as an earlier one matches whatever it matches (asked only of sound specs);
    - a matcher ignores whether a helper matches;
    - a nested module has no entry point, so that linking leaves it out.

    Everything is reported in one run, and nothing is changed.

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

    warnings_as_errors: bool = option(default=False, help="Fail on warnings, too.")

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Verifies `operation`, or the specs nested in it."""

        def emit(diagnostic: Diagnostic) -> None:
            if self.warnings_as_errors and diagnostic.severity is Severity.WARNING:
                diagnostic = replace(diagnostic, severity=Severity.ERROR)
            diagnostics.emit(diagnostic)

        sink = DiagnosticSink(emit)
        verify_spec(operation, sink)
        if not sink.error_count:
            for each in specs_in(operation):
                check_configurations(each, sink)
            report_unreachable(operation, sink)


def report_unreachable(module: mlir.Operation, diagnostics: DiagnosticSink) -> None:
    """Warns of each entry that is never reached in a spec, or in each of the specs nested in a module.

    Args:
        module: a `builtin.module` that is sound, as `verify_spec` finds.
        diagnostics: where the warnings go.
    """
    for each in specs_in(module):
        _report(each, diagnostics)


def _report(spec: Spec, diagnostics: DiagnosticSink) -> None:
    table = spec.anatomy.table
    for found in find_unreachable(spec):
        remedy, notes = "remove it", []
        for earlier in found.subsumed_by:
            remedy = f"remove it, or move it before '@{earlier.matcher}'"
            notes = [note("the earlier matcher", table.lookup(earlier.matcher))]
        diagnostics.warning(
            f"entry '@{found.entry.matcher} -> @{found.entry.action}' is unreachable: "
            f"{found.why_unreachable}; {remedy}",
            table.lookup(found.entry.matcher),
            notes,
        )
