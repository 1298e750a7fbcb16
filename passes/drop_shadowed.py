"""The pass `tuninglink-drop-shadowed`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tuninglink.matching.entry_conditions import EntryConditions
from tuninglink.matching.reachability import find_unreachable
from tuninglink.mlir.passes import Pass, option
from tuninglink.specs.foreach_match import pairs_of, set_pairs
from tuninglink.specs.spec import specs_in
from tuninglink.specs.unused_sequences import erase_unused, unused_sequences

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

    from tuninglink.mlir.diagnostics import DiagnosticSink, Place
    from tuninglink.specs.spec import Spec


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
        dropping = drop_shadowed(operation)
        if self.report_dropped:
            for each in dropping.entries:
                diagnostics.remark(f"dropped: {each.message}", each.place)


@dataclass(frozen=True)
class Dropped:
    """An entry that was removed, without reference to the IR that it was.

    Attributes:
        place: where its matcher was defined, None without location.
        message: what it was called and why it was never reached.
    """

    place: Place | None
    message: str


@dataclass(frozen=True)
class Dropping:
    """What was removed from a module and from the specs nested in it.

    Attributes:
        entries: the entries, in order.
        sequences: how many sequences went with them, as nothing else used them.
    """

    entries: tuple[Dropped, ...]
    sequences: int


def drop_shadowed(module: mlir.Operation) -> Dropping:
    """Removes the entries that are unreachable, then the sequences that only they used.

    A `foreach_match` keeps its first entry if all are unreachable, as it must have one. A module that is no spec stays as
    it is; the specs nested in it are treated each by itself.

    Args:
        module: a `builtin.module`.

    Returns:
        What was removed.

    Raises:
        SpecError: an entry point has a signature that cannot be linked. Nothing has changed then.
    """
    plans = [plan for spec in specs_in(module) for plan in _plans(spec)]
    if not plans:
        return Dropping((), 0)
    unused = set(unused_sequences(module))
    for foreach_match, dropped in plans:
        kept = [each for at, each in enumerate(pairs_of(foreach_match)) if at not in dropped]
        set_pairs(foreach_match, kept)
    sequences = erase_unused(module, unused)
    return Dropping(tuple(each for _, dropped in plans for each in dropped.values()), sequences)


def _plans(spec: Spec) -> list[tuple[mlir.Operation, dict[int, Dropped]]]:
    """Returns the entries to remove from each `foreach_match`, by position, without handles to their IR."""
    read = EntryConditions(spec)
    unreachable = {
        each.position: Dropped(each.entry.place, str(each))
        for each in find_unreachable(spec, conditions=read)
    }
    plans = []
    for entries in read.lists:
        positions = range(len(entries.conditions))
        here = {
            at: unreachable[entries.start + at]
            for at in positions
            if entries.start + at in unreachable
        }
        if len(here) == len(positions):
            del here[0]
        if here:
            plans.append((entries.operation, here))
    return plans
