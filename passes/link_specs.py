"""The pass `tuninglink-link-specs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tuninglink.mlir.passes import Pass, option
from tuninglink.specs.linking.linker import link_nested_specs

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink


@dataclass(frozen=True)
class LinkSpecs(Pass):
    """Link the specs that are nested in a module into one; the first wins.

    Precedence is the order of the nested modules. The first spec whose entry matches an operation decides
    about it, also when it decides to configure nothing.

    If all specs are matcher lists, no entry configures an operation other than the matched one, and no
    matcher looks at what another spec configures, the result is one flat module in default-entrypoint form.
    Otherwise the entry points are chained in order, and pass on a handle to the decided operations, which the
    lists and annotations of later specs skip. What a later spec changes other than by annotations cannot be
    guarded, and gets a warning. Names that clash are renamed with all their uses. Entry points in an older form
    are brought into today's.

    A module that holds no spec, or was linked before, stays as it is. As in the compiler's own linking, an entry
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
        "", "The symbol of the linked module; empty keeps the one that it has.", name="name"
    )

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Link the specs nested in `operation`."""
        link_nested_specs(operation, self.result_name or None, diagnostics)
