"""Rewriting sequences: copies of those that something else uses, further arguments and results, ownership."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of
from tuninglink.mlir.symbols import references_in, split_path
from tuninglink.mlir.walk import body
from tuninglink.specs.foreach_match import named_pair_attributes
from tuninglink.specs.linking.helper_sequences import HelperSequences
from tuninglink.specs.module_scan import signature
from tuninglink.specs.sequences import Handle, SequenceTable, consumes_argument
from tuninglink.specs.transform_ops import (
    any_op,
    change_signature,
    include,
    named_sequence,
    walk,
    yield_,
    yield_more,
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
        """Erase the sequences of which only copies are used."""
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
