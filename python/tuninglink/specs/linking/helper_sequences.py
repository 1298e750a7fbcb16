"""Sequences that guards add to a module: helpers, and copies of sequences that something else uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import FreshNames, symbols
from tuninglink.specs.foreach_match import named_pair_attributes
from tuninglink.specs.sequences import Handle
from tuninglink.specs.transform_ops import (
    FAILURES_PROPAGATE,
    FAILURES_SUPPRESS,
    any_op,
    empty_handle,
    include,
    merge_handles,
    named_sequence,
    walk,
    yield_,
)

Types = tuple[mlir.Type, ...]
Body = Callable[[Sequence[Handle]], Sequence[Handle]]

_EQUAL: Final = 0
_NOT_EQUAL: Final = 1
"""The values of `transform`'s MatchCmpIPredicate."""


class HelperSequences:
    """Adds helper sequences to a module, each once. The methods return the symbol of a sequence.

    Args:
        module: the module, whose context is the current one.

    Attributes:
        fresh: names that no symbol of the module has.
        block: the body of the module.
    """

    def __init__(self, module: mlir.Operation) -> None:
        self.fresh = FreshNames(symbols(module))
        self.block = module.regions[0].blocks[0]
        self._names: dict[tuple[str, Types, Types], str] = {}

    def is_decided(self, further: Types) -> str:
        """A matcher of decided ops, which takes an op, further arguments and the decided ops."""

        def build(arguments: Sequence[Handle]) -> Sequence[Handle]:
            _compare(arguments[0], arguments[-1], _EQUAL)
            return arguments[:1]

        one = (any_op(),)
        return self._add("is_decided", (*one, *further, *one), one, build, is_entry=False)

    def skip(self, count: int) -> str:
        """The action for ops that are left alone, which yields empty handles."""

        def build(arguments: Sequence[Handle]) -> Sequence[Handle]:
            return [empty_handle(arguments[0]) for _ in range(count)]

        return self._add("skip", (any_op(),), (any_op(),) * count, build)

    def undecided_of(self) -> str:
        """A sequence that takes ops and the decided ops, and yields those of the first that are not decided."""
        one = (any_op(),)

        def is_undecided(arguments: Sequence[Handle]) -> Sequence[Handle]:
            _compare(arguments[0], arguments[1], _NOT_EQUAL)
            return arguments[:1]

        # What is included with `failures(suppress)` goes on after a failure, but what that includes does not.
        def undecided_or_none(arguments: Sequence[Handle]) -> Sequence[Handle]:
            return list(include([matcher], arguments, one, FAILURES_PROPAGATE).results)

        def build(arguments: Sequence[Handle]) -> Sequence[Handle]:
            foreach = mlir.Operation.create(
                names.FOREACH, operands=[arguments[0]], results=one, regions=1
            )
            block = foreach.regions[0].blocks.append(*one, arg_locs=[mlir.Location.current])
            with mlir.InsertionPoint(block):
                operands = [block.arguments[0], arguments[1]]
                yield_(list(include([or_none], operands, one, FAILURES_SUPPRESS).results))
            return list(foreach.results)

        matcher = self._add("is_undecided", one * 2, one, is_undecided)
        or_none = self._add("undecided_or_none", one * 2, one, undecided_or_none)
        return self._add("undecided_of", one * 2, one, build)

    def configured_in(self) -> str:
        """A sequence that takes a root, and yields what has a lowering configuration of it and the ops in it."""
        one = (any_op(),)

        def is_unconfigured(arguments: Sequence[Handle]) -> Sequence[Handle]:
            mlir.Operation.create(names.HAS_NO_LOWERING_CONFIG, operands=list(arguments))
            return arguments

        def build(arguments: Sequence[Handle]) -> Sequence[Handle]:
            return walk(arguments, one * 2, attributes)[1:]

        unconfigured = self._add("is_unconfigured", one, one, is_unconfigured, is_entry=False)
        matches_any = self._add("is_any", one, one, list, is_entry=False)
        keep = self._add("keep", one, one, list)
        attributes = named_pair_attributes([(unconfigured, self.skip(1)), (matches_any, keep)])
        attributes |= dict.fromkeys(("flatten_results", "restrict_root"), mlir.UnitAttr.get())
        return self._add("configured_in", one, one, build)

    def _add(
        self, name: str, arguments: Types, results: Types, build: Body, *, is_entry: bool = True
    ) -> str:
        key = (name, arguments, results)
        if key not in self._names:
            self._names[key] = self.fresh.take(name)
            with mlir.Location.unknown(), mlir.InsertionPoint(self.block):
                sequence = named_sequence(self._names[key], arguments, results)
            if not is_entry:
                sequence.attributes[names.NO_ENTRY] = mlir.UnitAttr.get()
            block = sequence.regions[0].blocks[0]
            with mlir.Location.unknown(), mlir.InsertionPoint(block):
                yield_(build(list(block.arguments)))
        return self._names[key]


def _compare(op: Handle, decided: Handle, predicate: int) -> None:
    """Build a match of an op that is among the decided ops, or is not."""
    parameter = mlir.Type.parse("!transform.param<i64>")
    counts = [
        mlir.Operation.create(names.NUM_ASSOCIATIONS, operands=[handle], results=[parameter])
        for handle in (merge_handles([decided, op], deduplicate=True), decided)
    ]
    mlir.Operation.create(
        names.MATCH_PARAMETER,
        operands=[count.results[0] for count in counts],
        attributes={
            "predicate": mlir.IntegerAttr.get(mlir.IntegerType.get_signless(32), predicate)
        },
    )
