"""Helper sequences for decided ops: telling them from other ops, and handing them on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import FreshNames, rename_symbols, symbol_name, symbols
from tuninglink.mlir.walk import body
from tuninglink.specs.builders import (
    FAILURES_PROPAGATE,
    any_op,
    empty_handle,
    include,
    named_sequence,
    yield_,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs.sequences import SequenceTable

_READS_BOTH: Final = (
    "%op: !transform.any_op {transform.readonly}, %decided: !transform.any_op {transform.readonly}"
)
_COMPARED: Final = """
    %all = transform.merge_handles deduplicate %decided, %op : !transform.any_op
    %count = transform.num_associations %all : (!transform.any_op) -> !transform.param<i64>
    %before = transform.num_associations %decided : (!transform.any_op) -> !transform.param<i64>"""

_LIBRARY: Final = f"""
module attributes {{transform.with_named_sequence}} {{
  transform.named_sequence @is_decided({_READS_BOTH}) -> (!transform.any_op, !transform.any_op)
      attributes {{{names.NO_ENTRY}}} {{{_COMPARED}
    transform.match.param.cmpi eq %count, %before : !transform.param<i64>
    transform.yield %op, %decided : !transform.any_op, !transform.any_op
  }}
  transform.named_sequence @keep_decided({_READS_BOTH}) -> !transform.any_op {{
    transform.yield %op : !transform.any_op
  }}
  transform.named_sequence @is_undecided({_READS_BOTH}) -> !transform.any_op {{{_COMPARED}
    transform.match.param.cmpi ne %count, %before : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }}
  transform.named_sequence @undecided_or_none({_READS_BOTH}) -> !transform.any_op {{
    %undecided = transform.include @is_undecided failures(propagate) (%op, %decided)
        : (!transform.any_op, !transform.any_op) -> !transform.any_op
    transform.yield %undecided : !transform.any_op
  }}
  transform.named_sequence @undecided_of({_READS_BOTH}) -> !transform.any_op {{
    %undecided = transform.foreach %op : !transform.any_op -> !transform.any_op {{
    ^bb0(%each: !transform.any_op):
      %one = transform.include @undecided_or_none failures(suppress) (%each, %decided)
          : (!transform.any_op, !transform.any_op) -> !transform.any_op
      transform.yield %one : !transform.any_op
    }}
    transform.yield %undecided : !transform.any_op
  }}
  transform.named_sequence @is_unconfigured({_READS_BOTH}) -> (!transform.any_op, !transform.any_op)
      attributes {{{names.NO_ENTRY}}} {{
    transform.iree.match.has_no_lowering_config %op : !transform.any_op
    transform.yield %op, %decided : !transform.any_op, !transform.any_op
  }}
  transform.named_sequence @unconfigured(%op: !transform.any_op {{transform.readonly}}) -> !transform.any_op {{
    transform.iree.match.has_no_lowering_config %op : !transform.any_op
    transform.yield %op : !transform.any_op
  }}
  transform.named_sequence @unconfigured_or_none(%op: !transform.any_op {{transform.readonly}})
      -> !transform.any_op {{
    %unconfigured = transform.include @unconfigured failures(propagate) (%op)
        : (!transform.any_op) -> !transform.any_op
    transform.yield %unconfigured : !transform.any_op
  }}
  transform.named_sequence @is_any({_READS_BOTH}) -> (!transform.any_op, !transform.any_op)
      attributes {{{names.NO_ENTRY}}} {{
    transform.yield %op, %decided : !transform.any_op, !transform.any_op
  }}
  transform.named_sequence @drop({_READS_BOTH}) -> !transform.any_op {{
    %none = transform.select "{names.NO_OPERATION}" in %op : (!transform.any_op) -> !transform.any_op
    transform.yield %none : !transform.any_op
  }}
  transform.named_sequence @if_equal(%op: !transform.any_op {{transform.readonly}},
      %one: !transform.param<i64> {{transform.readonly}}, %other: !transform.param<i64> {{transform.readonly}})
      -> !transform.any_op {{
    transform.match.param.cmpi eq %one, %other : !transform.param<i64>
    transform.yield %op : !transform.any_op
  }}
  transform.named_sequence @equal_or_none(%op: !transform.any_op {{transform.readonly}},
      %one: !transform.param<i64> {{transform.readonly}}, %other: !transform.param<i64> {{transform.readonly}})
      -> !transform.any_op {{
    %kept = transform.include @if_equal failures(propagate) (%op, %one, %other)
        : (!transform.any_op, !transform.param<i64>, !transform.param<i64>) -> !transform.any_op
    transform.yield %kept : !transform.any_op
  }}
}}
"""
"""What is included with `failures(suppress)` goes on behind a failure, but what that includes does not."""

IS_DECIDED: Final = "is_decided"
KEEP_DECIDED: Final = "keep_decided"
UNDECIDED_OF: Final = "undecided_of"
IS_UNCONFIGURED: Final = "is_unconfigured"
UNCONFIGURED_OR_NONE: Final = "unconfigured_or_none"
IS_ANY: Final = "is_any"
DROP: Final = "drop"
EQUAL_OR_NONE: Final = "equal_or_none"

_NEEDED: Final = {
    IS_DECIDED: (IS_DECIDED, KEEP_DECIDED),
    UNDECIDED_OF: ("is_undecided", "undecided_or_none", UNDECIDED_OF),
    EQUAL_OR_NONE: ("if_equal", EQUAL_OR_NONE),
    IS_UNCONFIGURED: (
        IS_UNCONFIGURED,
        IS_ANY,
        DROP,
        "unconfigured",
        UNCONFIGURED_OR_NONE,
    ),
}
"""The groups that the helpers are added in, each by the one that is asked for first."""


def is_bookkeeping(table: SequenceTable, matcher: str) -> bool:
    """Tells whether linking added a matcher, so that its pair is no entry."""
    found = table.lookup(matcher)
    return found is not None and names.NO_ENTRY in found.attributes


class DecidedHelpers:
    """Adds the helpers that are asked for to a module.

    Args:
        module: the module.

    Attributes:
        fresh: gives names that no symbol of the module has.
    """

    def __init__(self, module: mlir.Operation) -> None:
        self._module = module
        self._names: dict[str, str] = {}
        self.fresh = FreshNames(symbols(module))

    def name(self, helper: str) -> str:
        """Returns what a helper is called in the module: one that was asked for, or is in its group."""
        if helper not in self._names:
            self._add(_NEEDED[helper])
        return self._names[helper]

    def _add(self, group: tuple[str, ...]) -> None:
        library = mlir.Module.parse(_LIBRARY, self._module.context).operation
        renamed = {name: self.fresh.take(name) for name in group}
        rename_symbols(library, renamed)
        self._names |= renamed
        kept = set(renamed.values())
        with mlir.InsertionPoint(self._module.regions[0].blocks[0]):
            for sequence in body(library):
                if symbol_name(sequence) in kept:
                    sequence.clone()

    def with_further_arguments(self, matcher: str, kinds: Sequence[mlir.Type]) -> str:
        """Adds a matcher that does what `matcher` does, with further arguments between its two."""
        op, decided = any_op(), any_op()
        sequence = self._sequence(matcher, [op, *kinds, decided], [op, decided])
        sequence.attributes[names.NO_ENTRY] = mlir.UnitAttr.get()
        block = sequence.regions[0].blocks[0]
        with mlir.InsertionPoint(block), mlir.Location.unknown():
            asked = [block.arguments[0], block.arguments[len(kinds) + 1]]
            found = include([matcher], asked, [op, decided], FAILURES_PROPAGATE)
            yield_(list(found.results))
        return symbol_name(sequence) or ""

    def with_empty_results(self, action: str, count: int) -> str:
        """Adds an action that does what `action` does, with `count` further results, empty ones, before its own."""
        kind = any_op()
        sequence = self._sequence(action, [kind, kind], [kind] * (count + 1))
        block = sequence.regions[0].blocks[0]
        with mlir.InsertionPoint(block), mlir.Location.unknown():
            kept = include([action], list(block.arguments), [kind], FAILURES_PROPAGATE).results[0]
            yield_([*(empty_handle(kept) for _ in range(count)), kept])
        return symbol_name(sequence) or ""

    def _sequence(
        self, wanted: str, arguments: Sequence[mlir.Type], results: Sequence[mlir.Type]
    ) -> mlir.Operation:
        with mlir.InsertionPoint(self._module.regions[0].blocks[0]), mlir.Location.unknown():
            return named_sequence(self.fresh.take(wanted), arguments, results)
