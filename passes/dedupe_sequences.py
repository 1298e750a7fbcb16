"""The pass `tuninglink-dedupe-sequences`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from iree.compiler import ir as mlir

from tuninglink.matching import structural_key
from tuninglink.mlir import DiagnosticSink, Pass, body, collect, names, postorder, rename_symbols
from tuninglink.specs import pairs_of, scopes, set_pairs


@dataclass(frozen=True)
class DedupeSequences(Pass):
    """Merge identical named sequences of a spec, and remove unreachable ones.

    Sequences are identical if they apply the same ops to the same arguments. Their names and locations do not count,
    and the sequences that they include may be identical instead of the same. The first one stays. Each nested module
    is handled separately. Sequences that are imported into programs are found there by name, and are not merged. Symbols
    other than sequences stay, and a module without an entry point is not changed. The result applies exactly as before.

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
        """Merge identical sequences, and remove unused ones."""
        deduplicate_sequences(operation)


def deduplicate_sequences(module: mlir.Operation) -> int:
    """Merge identical named sequences of a module, and remove those that no entry point reaches.

    The first one stays, also in a `foreach_match`, which never reaches a second pair with the same matcher. Symbols
    other than sequences stay, with everything that they refer to. A module without an entry point keeps everything,
    since its use is unknown.

    Returns:
        The number of sequences that were identical to another one.
    """
    count = 0
    for scope in scopes(module):
        if not scope.is_used:
            continue
        # Find the first sequence that is identical. Callees come first, so that sequences with identical callees are
        # identical.
        first_of: dict[object, str] = {}
        replaced: dict[str, str] = {}
        imported = {op.attributes["symbol"] for op in collect(scope.module, names.IMPORT_SYMBOL)}
        for name in postorder(scope.sequences, scope.uses):
            if mlir.FlatSymbolRefAttr.get(name, scope.module.context) not in imported:
                key = structural_key(scope.sequences[name], replaced)
                replaced[name] = first_of.setdefault(key, name)
        # Keep the first of each group, or a pinned one.
        groups: dict[str, list[str]] = {}
        for name in filter(replaced.__contains__, scope.sequences):
            groups.setdefault(replaced[name], []).append(name)
        merged: dict[str, str] = {}
        for group in groups.values():
            kept = next((name for name in group if name in scope.pinned), group[0])
            merged |= {name: kept for name in group if name != kept and name not in scope.pinned}
        count += len(merged)
        for name in merged:
            scope.sequences.pop(name).erase()
        rename_symbols(body(scope.module), merged)
        for sequence in scope.sequences.values():
            for foreach_match in collect(sequence, names.FOREACH_MATCH):
                # Remove the unreachable pairs, whose matcher is that of an earlier pair. The compiler crashes when it
                # warns about them.
                pairs = pairs_of(foreach_match)
                first: dict[mlir.Attribute, mlir.Attribute] = {}
                for matcher, action in pairs:
                    first.setdefault(matcher, action)
                if len(first) < len(pairs):
                    set_pairs(foreach_match, first.items())
        for sequence in scope.unused():
            sequence.erase()
    return count
