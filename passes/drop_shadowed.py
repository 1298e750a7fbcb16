"""The pass `tuninglink-drop-shadowed`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tuninglink.mlir.passes import Pass, option

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink


@dataclass(frozen=True)
class DropShadowed(Pass):
    """Remove the entries of a spec that are proven to be never reached.

    Of the entries of a `foreach_match` the first one that matches an operation decides about it. An entry goes if
    an earlier one matches whatever it matches, for all sizes, dynamic ones included, or if it matches nothing at
    all. Matchers that are not understood are left alone, and nothing is removed behind one that may change the
    payload. A `foreach_match` keeps at least one entry. Sequences that only these entries used go with them; what
    was not used before stays. Nested specs are treated each by itself. The result applies exactly as before.

    Example:
        Before:

        ```mlir
        transform.named_sequence @match_any_m(%op: …) … {
          %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, …
          transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
          …
        }
        transform.named_sequence @match_2048x1280(%op: …) … {
          %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, …
          transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
          transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
          …
        }
        transform.named_sequence @__kernel_config(…) … {
          %0 = transform.foreach_match in %arg0
              @match_any_m -> @apply,
              @match_2048x1280 -> @apply : …
          transform.yield %0 : !transform.any_op
        }
        ```

        After:

        ```mlir
        transform.named_sequence @match_any_m(%op: …) … {
          %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, …
          transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
          …
        }
        transform.named_sequence @__kernel_config(…) … {
          %0 = transform.foreach_match in %arg0
              @match_any_m -> @apply : …
          transform.yield %0 : !transform.any_op
        }
        ```
    """

    name: ClassVar[str] = "tuninglink-drop-shadowed"

    report_dropped: bool = option(default=False, help="Remark on each entry that is removed.")

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Removes the dead entries of `operation` and of the specs nested in it."""
        from tuninglink.matching.dropping import drop_shadowed  # noqa: PLC0415 - other runs need no proofs

        dropping = drop_shadowed(operation)
        if self.report_dropped:
            for each in dropping.entries:
                diagnostics.remark(f"dropped: {each.message}", each.place)
