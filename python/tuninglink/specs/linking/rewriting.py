"""Rewriting sequences for guards: helpers, copies of sequences that something else uses, further arguments and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of
from tuninglink.mlir.symbols import FreshNames, references_in, split_path, symbols
from tuninglink.mlir.walk import body
from tuninglink.specs.module_scan import signature
from tuninglink.specs.sequences import SequenceTable, consumes_argument
from tuninglink.specs.transform_ops import (
    FAILURES_PROPAGATE,
    FAILURES_SUPPRESS,
    Handle,
    any_op,
    change_signature,
    empty_handle,
    include,
    merge_handles,
    named_pair_attributes,
    named_sequence,
    walk,
    yield_,
    yield_more,
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
        """A sequence that takes a root, and yields it and its nested ops if they have a lowering configuration."""
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


class Callees:
    """Provides the sequences of a module to be changed.

    Args:
        table: the sequences.

    Attributes:
        helpers: the helpers of the module.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self._uses = Counter(path[0] for path in references_in(table.module))
        self._originals: dict[str, mlir.Operation] = {}
        self.helpers = HelperSequences(table.module)

    def take(self, path: str, uses: int) -> tuple[mlir.Operation, str]:
        """Return the sequence at `path`, or a copy if there are more references to it than `uses`, and its symbol."""
        sequence = self._table.lookup(path)
        assert sequence is not None, "checked by the caller"
        (name,) = split_path(path)
        if self._uses[name] > uses:
            self._originals[name] = sequence
            name = self.helpers.fresh.take(name)
            with mlir.InsertionPoint.after(sequence):
                sequence = sequence.clone().operation
            sequence.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
            self._uses.update(reference[0] for reference in references_in(sequence))
        return sequence, name

    def erase_unused_originals(self) -> None:
        """Erase the sequences that are used only as copies."""
        if not self._originals:
            return
        uses = Counter(path[0] for path in references_in(self._table.module))
        unused = [name for name in self._originals if not uses[name]]
        while unused:
            sequence = self._originals.pop(unused.pop())
            # An original may be used by other originals alone.
            for name, *_ in references_in(sequence):
                uses[name] -= 1
                if not uses[name] and name in self._originals:
                    unused.append(name)
            sequence.erase()


@dataclass
class State:
    """The handles of a sequence at one place in its body.

    Attributes:
        before: the ops that earlier specs decided.
        decided: handles to the ops that the sequence decided by then.
        own: arguments that are the matched op.
        is_complete: whether `decided` has all that the sequence configured.
        may_lose: whether a callee may configure an op and then fail, so that no handle to the op is left.
    """

    before: Handle
    decided: list[Handle] = field(default_factory=list)
    own: frozenset[Handle] = frozenset()
    is_complete: bool = True
    may_lose: bool = False


@dataclass(frozen=True)
class Rewritten:
    """A sequence after it was rewritten.

    Attributes:
        name: its symbol.
        is_complete: whether it yields all that it configures.
        may_lose: as in `State`.
    """

    name: str
    is_complete: bool
    may_lose: bool


def cast_to(handle: Handle, kind: mlir.Type) -> Handle:
    """Build a cast of a handle to another type, if it has another one."""
    if handle.type == kind:
        return handle
    cast: Handle = mlir.Operation.create(names.CAST, operands=[handle], results=[kind]).results[0]
    return cast


def include_instead(
    operation: mlir.Operation, target: str, operands: Sequence[Handle], failures: int
) -> Handle:
    """Replace an op by an include with one more result, and return that."""
    kinds = [*(result.type for result in operation.results), any_op()]
    with operation.location, mlir.InsertionPoint(operation):
        *results, last = include([target], operands, kinds, failures).results
    for old, new in zip(operation.results, results, strict=True):
        old.replace_all_uses_with(new)
    operation.erase()
    return last


def rewrite_matcher(matcher: mlir.Operation) -> None:
    """Let a matcher take the decided ops, and yield the matched op and these as well."""
    terminator = list(body(matcher))[-1]
    matched: Handle = matcher.regions[0].blocks[0].arguments[0]
    (before,) = change_signature(matcher, [any_op()], [any_op()] * 2)
    with terminator.location, mlir.InsertionPoint(terminator):
        matched = cast_to(matched, any_op())
    yield_more(matcher, [matched, before])


def move_list(
    foreach_match: mlir.Operation,
    helpers: HelperSequences,
    operands: Sequence[Handle],
    results: Sequence[mlir.Type],
    pairs: Sequence[tuple[str, str]],
) -> str:
    """Add a sequence with a copy of a list to a module, and return its symbol.

    Args:
        foreach_match: the list, which stays where it is.
        helpers: the helpers of the module.
        operands: the operands of the copy, which the sequence takes.
        results: the types of the results of the copy, which the sequence yields.
        pairs: the symbols of the matchers and actions of the copy.
    """
    attributes = dict(foreach_match.attributes.items()) | named_pair_attributes(pairs)
    attributes["flatten_results"] = mlir.UnitAttr.get()
    name = helpers.fresh.take("list")
    with foreach_match.location:
        with mlir.InsertionPoint(helpers.block):
            sequence = named_sequence(name, [operand.type for operand in operands], results)
        sequence.attributes[names.LIST] = mlir.UnitAttr.get()
        block = sequence.regions[0].blocks[0]
        with mlir.InsertionPoint(block):
            yield_(walk(list(block.arguments), results, attributes))
    return name


def declare_ownership(sequence: mlir.Operation) -> None:
    """Declare for the arguments of a sequence whether its body consumes them."""
    declared = sequence.attributes.get("arg_attrs")
    attributes = []
    for number in range(len(signature(sequence).inputs)):
        kept = entries_of(declared[number] if isinstance(declared, mlir.ArrayAttr) else None)
        kept = {name: kept[name] for name in kept if name not in (names.CONSUMED, names.READONLY)}
        consumes = consumes_argument(sequence, number)
        kept[names.CONSUMED if consumes else names.READONLY] = mlir.UnitAttr.get()
        attributes.append(mlir.DictAttr.get(kept))
    sequence.attributes["arg_attrs"] = mlir.ArrayAttr.get(attributes)
