"""The pass `tuninglink-link-specs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir as mlir

from tuninglink.mlir import DiagnosticSink, Pass, option
from tuninglink.specs import link_nested_specs


@dataclass(frozen=True)
class LinkSpecs(Pass):
    """Link the specs nested in a module into one; the first wins.

    Precedence is the order of the nested modules. The first spec with a matching entry decides about an operation,
    even if it configures nothing.

    The result is one flat module in default-entrypoint form if all specs are matcher lists, no entry configures an
    operation other than the matched one, and no matcher depends on the configuration of another spec. Otherwise the
    entry points are chained in order. They pass on a handle to the decided operations, which the lists and annotations
    of later specs skip. Changes of a later spec other than annotations cannot be guarded, and get a warning. Those of
    an earlier spec get one too, since the operations that it decided are then not known. Clashing names are renamed
    with all their uses, including the strings that name imported strategies and microkernels. Entry points in an older
    form are upgraded. The result has no nested modules.

    A module that contains no specs, or is linked already, is not changed. As in the compiler's own linking, an entry
    point of the module itself is not run next to nested specs, and gets a warning.

    Example:
        Before:

        ```mlir
        module attributes {transform.with_named_sequence} {
          module @user attributes {transform.with_named_sequence} {
            transform.named_sequence @match(…) … { … }
            transform.named_sequence @apply(…) … { … }
            transform.named_sequence @main(…) … attributes {iree_codegen.tuning_spec_entrypoint} {
              %0 = transform.foreach_match in %arg0 @match -> @apply : …
              transform.yield %0 : !transform.any_op
            }
          }
          module @default attributes {…} { … the same with its own @match and @apply … }
        }
        ```

        After:

        ```mlir
        module attributes {iree_codegen.tuning_spec_with_default_entrypoint, …} {
          transform.named_sequence @match(…) … { … }
          transform.named_sequence @apply(…) … { … }
          transform.named_sequence @match_0(…) … { … }
          transform.named_sequence @apply_0(…) … { … }
          transform.named_sequence @__kernel_config(…) … {
            %0 = transform.foreach_match in %arg0
                @match -> @apply,
                @match_0 -> @apply_0 : …
            transform.yield %0 : !transform.any_op
          }
        }
        ```
    """

    name: ClassVar[str] = "tuninglink-link-specs"

    result_name: str = option(
        "", "Symbol of the linked module; empty keeps its symbol.", name="name"
    )

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Link the specs nested in `operation`."""
        link_nested_specs(operation, self.result_name or None, diagnostics)
