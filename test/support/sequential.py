"""The meaning of linking, as an oracle: specs are applied one by one, and decided ops are out of reach.

The compiler's interpreter runs each matcher on each op separately, and each action; the walk over the
program, and what is decided, are kept here. Nothing of what linking is made of is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects.transform import interpreter

from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ANY_OP = "!transform.any_op"
_MATCHED = "test.matched"

Attributes = dict[str, mlir.Attribute]


@dataclass(frozen=True)
class Pair:
    """An entry as the interpreter runs it.

    Attributes:
        matcher: the matcher's symbol, as MLIR writes it.
        action: the symbol of the action, as the list refers to it.
        results: the types of what the matcher yields.
        further: the further operands of the matcher: values of attributes, as MLIR writes them.
        first: the symbol of the part of the action before its own list; None for all of the action.
        nested: the list that the action walks.
    """

    matcher: str
    action: str
    results: tuple[str, ...]
    further: tuple[str, ...] = ()
    first: str | None = None
    nested: Nested | None = None


@dataclass(frozen=True)
class Nested:
    """A list in an action.

    Attributes:
        entries: its entries, in order.
        is_in_parent: whether its root is the parent of the matched op; else it is the matched op.
        asks_root: whether its entries are tried on the root, too.
    """

    entries: tuple[Pair, ...]
    is_in_parent: bool
    asks_root: bool


@dataclass(frozen=True)
class Walks:
    """A spec as what it does: lists that are walked one after the other.

    Attributes:
        sequences: the named sequences of the spec, as MLIR.
        lists: the entries of each list, in order.
    """

    sequences: str
    lists: tuple[tuple[Pair, ...], ...]


def ops_of(module: mlir.Operation) -> list[mlir.Operation]:
    """Return the ops inside of an op in the order of a `foreach_match`."""
    found: list[mlir.Operation] = []

    def keep(operation: mlir.Operation) -> mlir.WalkResult:
        found.append(operation)
        return mlir.WalkResult.ADVANCE

    module.walk(keep, mlir.WalkOrder.POST_ORDER)
    assert found[-1] == module
    return found[:-1]


def attributes_of(module: mlir.Operation) -> list[Attributes]:
    """Return the attributes of each op in a module."""
    return [dict(each.attributes.items()) for each in ops_of(module)]


def apply_one_by_one(specs: Sequence[Walks], module: mlir.Operation) -> None:
    """Apply specs to a program.

    Raises:
        MLIRError: the interpreter refuses something; the state of the program is then undefined.
    """
    ops = ops_of(module)
    decided: set[int] = set()
    for spec in specs:
        walk = _Walk(spec, ops, decided)
        for entries in spec.lists:
            # The compiler applies a spec to each function, and a walk does not ask about its root.
            walk.run(entries, [n for n, op in enumerate(ops) if op.name != names.FUNCTION])
        decided |= walk.mine


class _Walk:
    """The walks of one spec.

    Args:
        spec: the spec.
        ops: the ops of the program.
        decided: the positions of the ops that earlier specs decided.

    Attributes:
        mine: the positions of those that this spec decides.
    """

    def __init__(
        self, spec: Walks, ops: Sequence[mlir.Operation], decided: frozenset[int] | set[int]
    ) -> None:
        self._ops = ops
        self._decided = set(decided)
        self._asked = _Asked(spec, ops[0].context)
        self.mine: set[int] = set()

    def run(self, entries: Sequence[Pair], positions: Sequence[int]) -> None:
        """Walk a list."""
        for position in positions:
            if position in self._decided:
                continue
            operation = self._ops[position]
            for entry in entries:
                before = [dict(each.attributes.items()) for each in self._ops]
                if self._asked.applies(entry, operation):
                    self.mine |= {position} | _keep_decided(self._ops, before, self._decided)
                    if entry.nested:
                        self.run(entry.nested.entries, self._inside(entry.nested, operation))
                    break

    def _inside(self, nested: Nested, operation: mlir.Operation) -> list[int]:
        root = operation
        if nested.is_in_parent:
            assert operation.parent is not None
            root = operation.parent.operation
        inside = ops_of(root) + ([root] if nested.asks_root else [])
        return [self._ops.index(each) for each in inside]


def _keep_decided(
    ops: Sequence[mlir.Operation], before: Sequence[Attributes], decided: set[int]
) -> set[int]:
    """Take back what became of decided ops; return which others have changed."""
    changed = set()
    for position, (operation, old) in enumerate(zip(ops, before, strict=True)):
        new = dict(operation.attributes.items())
        if new == old:
            continue
        if position not in decided:
            changed.add(position)
            continue
        for name in new:
            if name not in old:
                del operation.attributes[name]
        for name, value in old.items():
            operation.attributes[name] = value
    return changed


class _Asked:
    """A spec whose entries are tried on one op at a time."""

    def __init__(self, spec: Walks, context: mlir.Context) -> None:
        entries = list(dict.fromkeys(_all_entries(pair for pairs in spec.lists for pair in pairs)))
        self._numbers = {entry: number for number, entry in enumerate(entries)}
        lines = ["module attributes {transform.with_named_sequence} {", spec.sequences]
        for entry, number in self._numbers.items():
            lines += _question(str(number), entry)
        self._library = mlir.Module.parse("\n".join([*lines, "}"]), context).operation
        self._questions = {
            each.attributes["sym_name"].value: each.operation
            for each in self._library.regions[0].blocks[0].operations
            if "sym_name" in each.attributes
        }
        self._options = interpreter.TransformOptions()
        self._options.expensive_checks = True

    def applies(self, entry: Pair, operation: mlir.Operation) -> bool:
        """Apply an entry to an op if it matches; return whether it does."""
        question = self._questions[f"test_try_{self._numbers[entry]}"]
        interpreter.apply_named_sequence(operation, question, self._library, self._options)
        if _MATCHED in operation.attributes:
            del operation.attributes[_MATCHED]
            return True
        return False


def _all_entries(pairs: Iterable[Pair]) -> Iterator[Pair]:
    for pair in pairs:
        yield pair
        if pair.nested:
            yield from _all_entries(pair.nested.entries)


def _question(name: str, pair: Pair) -> list[str]:
    """Return sequences that run an entry on an op, and end without a failure where it does not match.

    Behind a failure, what is included with `failures(suppress)` goes on, and what that includes does not.
    """
    lines, given, kinds = [], ["%op"], [ANY_OP]
    for number, value in enumerate(pair.further):
        lines.append(f"  %f{number} = transform.param.constant {value} -> !transform.any_param")
        given.append(f"%f{number}")
        kinds.append("!transform.any_param")
    results = ", ".join(f"%r{number}" for number in range(len(pair.results)))
    types = ", ".join(pair.results)
    return [
        f"transform.named_sequence @test_ask_{name}(%op: {ANY_OP} {{transform.readonly}}) {{",
        *lines,
        (
            f"  {results + ' = ' if results else ''}transform.include {pair.matcher} failures(propagate)"
            f" ({', '.join(given)}) : ({', '.join(kinds)}) -> ({types})"
        ),
        f"  transform.include {pair.first or pair.action} failures(propagate) ({results}) : ({types}) -> ()",
        f'  transform.annotate %op "{_MATCHED}" : {ANY_OP}',
        "  transform.yield\n}",
        f"transform.named_sequence @test_once_{name}(%op: {ANY_OP} {{transform.readonly}}) {{",
        f"  transform.include @test_ask_{name} failures(propagate) (%op) : ({ANY_OP}) -> ()",
        "  transform.yield\n}",
        f"transform.named_sequence @test_try_{name}(%op: {ANY_OP} {{transform.readonly}}) {{",
        f"  transform.include @test_once_{name} failures(suppress) (%op) : ({ANY_OP}) -> ()",
        "  transform.yield\n}",
    ]
