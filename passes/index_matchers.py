"""The pass `tuninglink-index-matchers`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir as mlir

from tuninglink.matching import LONGEST_LIST, index_matchers
from tuninglink.mlir import DiagnosticSink, Pass, option


@dataclass(frozen=True)
class IndexMatchers(Pass):
    """Group the entries of a spec so that each operation is compared with few matchers.

    The pass is for specs that are shipped to a compiler. Entries are grouped by kind of operation, element types and
    indexing maps, and then by ranges of sizes. A group is an entry itself, whose action tries the entries of the
    group. An entry that may match operations of several groups is in each of them, in order, and so is one whose
    matcher the analysis does not understand. Therefore the first matching entry is the same as before, and the program
    is configured exactly as before.

    The result is in default-entrypoint form if the spec was. Each nested spec is handled separately. Specs that are
    not matcher lists are not changed. Matchers in groups have a single location, which compilers read faster for every
    dispatch: ship the result as bytecode.

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
        default=LONGEST_LIST, help="Greatest number of entries in a list that is not split."
    )

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Group the entries of `operation`, and of the specs nested in it."""
        index_matchers(operation, longest=self.longest_list, diagnostics=diagnostics)
