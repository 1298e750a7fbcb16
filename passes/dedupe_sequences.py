"""The pass `tuninglink-dedupe-sequences`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tuninglink.mlir.passes import Pass
from tuninglink.specs.deduplication import deduplicate_sequences

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink


@dataclass(frozen=True)
class DedupeSequences(Pass):
    """Make identical named sequences of a spec one, and remove those that no entry point reaches.

    Sequences are identical if they do the same to the same arguments, whatever they are called and wherever
    they come from; what they include may be identical, too. The first one stays. Nested modules are treated
    likewise, each by itself. Symbols that are no sequences stay, and a module without an entry point stays
    as it is. The result applies exactly as before.

    Example:
        Before:

        ```mlir
        transform.named_sequence @apply_conv(%op: …, %config: …) {
          transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
          transform.yield
        }
        transform.named_sequence @apply_matmul(%op: …, %config: …) {
          transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
          transform.yield
        }
        transform.named_sequence @__kernel_config(…) … {
          %0 = transform.foreach_match in %arg0
              @match_conv -> @apply_conv,
              @match_matmul -> @apply_matmul : …
          transform.yield %0 : !transform.any_op
        }
        ```

        After:

        ```mlir
        transform.named_sequence @apply_conv(%op: …, %config: …) {
          transform.annotate %op "compilation_info" = %config : !transform.any_op, !transform.any_param
          transform.yield
        }
        transform.named_sequence @__kernel_config(…) … {
          %0 = transform.foreach_match in %arg0
              @match_conv -> @apply_conv,
              @match_matmul -> @apply_conv : …
          transform.yield %0 : !transform.any_op
        }
        ```
    """

    name: ClassVar[str] = "tuninglink-dedupe-sequences"

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:  # noqa: ARG002
        """Removes what is there twice, and what is not used."""
        deduplicate_sequences(operation)
