"""The pass `tuninglink-drop-shadowed`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from iree.compiler import ir as mlir

from tuninglink.errors import Place
from tuninglink.matching import EntryConditions, find_unreachable
from tuninglink.mlir import DiagnosticSink, Pass, option
from tuninglink.specs import erase_unused, pairs_of, scopes, set_pairs, specs_in


@dataclass(frozen=True)
class DropShadowed(Pass):
    """Remove the entries of a spec that are proven unreachable.

    The first matching entry of a `foreach_match` decides about an operation. An entry is removed if an earlier one
    matches everything that it matches, for all sizes including dynamic ones, or if it matches nothing. Entries with
    matchers that the analysis does not understand are kept, as are all entries after a matcher that may change the
    payload. A `foreach_match` keeps at least one entry. Sequences that only removed entries used are removed;
    sequences that were unused before stay. Each nested spec is handled separately. The result applies exactly as
    before.

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

    report_dropped: bool = option(default=False, help="Emit a remark for each removed entry.")

    def apply(self, operation: mlir.Operation, diagnostics: DiagnosticSink) -> None:
        """Remove the unreachable entries of `operation` and of the specs nested in it."""
        dropping = drop_shadowed(operation)
        if self.report_dropped:
            for message, place in dropping.entries:
                diagnostics.remark(f"dropped: {message}", place)


class Dropping(NamedTuple):
    """The messages about the entries removed from a module and its nested specs, with the places of their matchers.

    `sequences` is the number of sequences that became unused.
    """

    entries: Sequence[tuple[str, Place | None]]
    sequences: int


def drop_shadowed(module: mlir.Operation) -> Dropping:
    """Remove unreachable entries, and the sequences that only they used.

    A `foreach_match` keeps its first entry if all are unreachable, as it must have one. A module that is not a spec is
    not changed, but the specs nested in it are, each separately.

    Raises:
        SpecError: an entry point has a signature that cannot be linked. In that case nothing has changed.
    """
    # Find the entries to remove from each `foreach_match`, by position, without handles to their IR.
    plans: list[tuple[mlir.Operation, dict[int, tuple[str, Place | None]]]] = []
    for spec in specs_in(module):
        conditions = EntryConditions(spec)
        unreachable = {
            finding.position: (str(finding), finding.entry.place)
            for finding in find_unreachable(spec, conditions=conditions)
        }
        for entries in conditions.lists:
            count, start = len(entries.conditions), entries.start
            dropped = {
                at: unreachable[start + at] for at in range(count) if start + at in unreachable
            }
            if len(dropped) == count:
                del dropped[0]
            if dropped:
                plans.append((entries.operation, dropped))
    if not plans:
        return Dropping((), 0)
    # Remove them.
    unused = {sequence for scope in scopes(module) for sequence in scope.unused()}
    for foreach_match, dropped in plans:
        kept = [pair for at, pair in enumerate(pairs_of(foreach_match)) if at not in dropped]
        set_pairs(foreach_match, kept)
    sequences = erase_unused(module, unused)
    return Dropping([entry for _, dropped in plans for entry in dropped.values()], sequences)
