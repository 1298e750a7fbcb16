"""The pass `tuninglink-index-matchers`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tuninglink.matching.index import LONGEST_LIST, index_matchers
from tuninglink.mlir.passes import Pass, option

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink


@dataclass(frozen=True)
class IndexMatchers(Pass):
    """Arrange the entries of a spec so that an operation is compared with a handful of matchers.

    For a spec that is shipped to a compiler as it is. Entries are grouped by what they take an operation for,
    element types and indexing maps, and then by ranges of sizes; a group is an entry itself, whose action
    tries the entries in it. An entry that may match an operation of several groups is in each of them, in
    its place, and so is one whose matcher is not understood. So the first entry that matches is the one that
    matched first before, and the program is configured exactly as before.

    The result is in default-entrypoint form if the spec was. Nested specs are arranged each by itself; specs
    that are no lists of matchers stay as they are. Matchers in groups keep a location as a whole only, which
    a compiler reads faster for every dispatch: ship the result as bytecode.

    Example:
        Before:

        ```mlir
        transform.named_sequence @__kernel_config(…) … {
          %0 = transform.foreach_match in %arg0
              @match_16x64x64 -> @configure,
              …
              @match_8192x8192x8192 -> @configure : …
          transform.yield %0 : !transform.any_op
        }
        ```

        After:

        ```mlir
        transform.named_sequence @group(%op: …) -> !transform.any_op {
          %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, …
          transform.yield %op : !transform.any_op
        }
        transform.named_sequence @search(%op: … {transform.consumed}) {
          %0 = transform.foreach_match restrict_root in %op, %op
              @is_inside -> @leave,
              @group_0 -> @search_0,
              … : …
          transform.yield
        }
        …
        transform.named_sequence @__kernel_config(…) … {
          %0 = transform.foreach_match in %arg0
              @group -> @search : …
          transform.yield %0 : !transform.any_op
        }
        ```
    """

    name: ClassVar[str] = "tuninglink-index-matchers"

    longest_list: int = option(
        default=LONGEST_LIST, help="Up to how many entries a list may have that is not split."
    )

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Arrange the entries of `operation`, and of the specs nested in it."""
        index_matchers(operation, longest=self.longest_list, diagnostics=diagnostics)
