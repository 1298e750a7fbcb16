"""The pass `tuninglink-dedupe-sequences`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tuninglink.mlir import names
from tuninglink.mlir.passes import Pass
from tuninglink.mlir.structural_keys import structural_key
from tuninglink.mlir.symbols import rename_symbols
from tuninglink.mlir.walk import collect, postorder
from tuninglink.specs.foreach_match import drop_repeated_matchers
from tuninglink.specs.unused_sequences import scopes

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink
    from tuninglink.specs.unused_sequences import SequenceScope


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
        """Remove what is there twice, and what is not used."""
        deduplicate_sequences(operation)


@dataclass(frozen=True)
class Deduplication:
    """How many sequences of a module and of those nested in it were removed.

    Attributes:
        merged: those that were identical to another one.
        unused: those that nothing referred to.
    """

    merged: int = 0
    unused: int = 0

    def __add__(self, other: Deduplication) -> Deduplication:
        return Deduplication(self.merged + other.merged, self.unused + other.unused)


def deduplicate_sequences(module: mlir.Operation) -> Deduplication:
    """Make identical named sequences one, and removes those that no entry point reaches.

    Sequences are identical if they do the same to the same arguments; names and locations do not count, and
    what they include may be identical instead of the same. The first of them stays, also in a `foreach_match`,
    which never reaches a second pair with the same matcher. Symbols that are no sequences stay, with all that
    they refer to; nested modules are treated likewise, one by one. A module without an entry point keeps
    everything: nobody knows what it is used for.

    Args:
        module: a `builtin.module`.
    """
    result = Deduplication()
    for scope in scopes(module):
        result += _deduplicate(scope)
    return result


def _deduplicate(scope: SequenceScope) -> Deduplication:
    if not scope.is_used:
        return Deduplication()
    identical = _identical(scope)
    merged = {old: new for old, new in identical.items() if old not in scope.pinned}
    for name in merged:
        scope.sequences.pop(name).erase()
    rename_symbols(scope.module, merged)
    for sequence in scope.sequences.values():
        for foreach_match in collect(sequence, names.FOREACH_MATCH):
            drop_repeated_matchers(foreach_match)
    unused = scope.unused()
    for sequence in unused:
        sequence.erase()
    return Deduplication(len(merged), len(unused))


def _identical(scope: SequenceScope) -> dict[str, str]:
    """Return, for each sequence that is identical to another one, the one that stays."""
    first: dict[object, str] = {}
    replaced: dict[str, str] = {}
    for name in postorder(scope.sequences, scope.uses):
        key = structural_key(scope.sequences[name], replaced)
        kept = first.setdefault(key, name)
        if kept != name:
            replaced[name] = kept
    return _in_order(scope, replaced)


def _in_order(scope: SequenceScope, replaced: dict[str, str]) -> dict[str, str]:
    """Let the first of each group stay, or one that must; callees come first in `replaced`."""
    groups: dict[str, list[str]] = {}
    kept_names = set(replaced.values())
    for name in scope.sequences:
        if name in replaced or name in kept_names:
            groups.setdefault(replaced.get(name, name), []).append(name)
    result: dict[str, str] = {}
    for group in groups.values():
        kept = next((name for name in group if name in scope.pinned), group[0])
        result.update({name: kept for name in group if name != kept})
    return result
