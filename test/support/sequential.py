"""The meaning of linking, as an oracle: specs are applied one by one, and decided ops are out of reach.

The compiler's interpreter is asked about each op and each matcher by itself, and runs each action; the walk over the
program, and what is decided, are kept here. Nothing of what linking is made of is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects.transform import interpreter

from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Sequence

ANY_OP = "!transform.any_op"
_MATCHED = "test.matched"

Attributes = dict[str, mlir.Attribute]


@dataclass(frozen=True)
class Pair:
    """An entry as the interpreter is asked about it.

    Attributes:
        matcher: the matcher's symbol, as MLIR writes it.
        action: the action's, likewise.
        results: the types of what the matcher yields.
        further: what the matcher takes beside the op: values of attributes, as MLIR writes them.
    """

    matcher: str
    action: str
    results: tuple[str, ...]
    further: tuple[str, ...] = ()


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
    """Returns the ops in a module in the order in which a `foreach_match` asks about them."""
    found: list[mlir.Operation] = []

    def keep(operation: mlir.Operation) -> mlir.WalkResult:
        found.append(operation)
        return mlir.WalkResult.ADVANCE

    module.walk(keep, mlir.WalkOrder.POST_ORDER)
    assert found[-1] == module
    return found[:-1]


def attributes_of(module: mlir.Operation) -> list[Attributes]:
    """Returns the attributes of each op in a module."""
    return [dict(each.attributes.items()) for each in ops_of(module)]


def apply_one_by_one(specs: Sequence[Walks], module: mlir.Operation) -> None:
    """Applies specs to a program.

    Raises:
        MLIRError: the interpreter refuses something; what is done by then is undefined.
    """
    ops = ops_of(module)
    decided: set[int] = set()
    for spec in specs:
        mine: set[int] = set()
        asked = _Asked(spec, module.context)
        for number, entries in enumerate(spec.lists):
            for position, operation in enumerate(ops):
                # The compiler applies a spec to each function, and a walk does not ask about its root.
                if position in decided or operation.name == names.FUNCTION:
                    continue
                for entry in range(len(entries)):
                    before = [dict(each.attributes.items()) for each in ops]
                    if asked.applies(number, entry, operation):
                        mine |= {position} | _keep_decided(ops, before, decided)
                        break
        decided |= mine


def _keep_decided(
    ops: Sequence[mlir.Operation], before: Sequence[Attributes], decided: set[int]
) -> set[int]:
    """Takes back what became of decided ops; returns which others have changed."""
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
    """A spec whose entries are asked about one op at a time."""

    def __init__(self, spec: Walks, context: mlir.Context) -> None:
        lines = ["module attributes {transform.with_named_sequence} {", spec.sequences]
        for number, entries in enumerate(spec.lists):
            for entry, pair in enumerate(entries):
                lines += _question(f"{number}_{entry}", pair)
        self._library = mlir.Module.parse("\n".join([*lines, "}"]), context).operation
        self._questions = {
            each.attributes["sym_name"].value: each.operation
            for each in self._library.regions[0].blocks[0].operations
            if "sym_name" in each.attributes
        }
        self._options = interpreter.TransformOptions()
        self._options.expensive_checks = True

    def applies(self, number: int, entry: int, operation: mlir.Operation) -> bool:
        """Asks an entry about an op, and applies it if it matches; tells whether it does."""
        question = self._questions[f"test_try_{number}_{entry}"]
        interpreter.apply_named_sequence(operation, question, self._library, self._options)
        if _MATCHED in operation.attributes:
            del operation.attributes[_MATCHED]
            return True
        return False


def _question(name: str, pair: Pair) -> list[str]:
    """Returns sequences that run an entry on an op, and end without a failure where it does not match.

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
        f"  transform.include {pair.action} failures(propagate) ({results}) : ({types}) -> ()",
        f'  transform.annotate %op "{_MATCHED}" : {ANY_OP}',
        "  transform.yield\n}",
        f"transform.named_sequence @test_once_{name}(%op: {ANY_OP} {{transform.readonly}}) {{",
        f"  transform.include @test_ask_{name} failures(propagate) (%op) : ({ANY_OP}) -> ()",
        "  transform.yield\n}",
        f"transform.named_sequence @test_try_{name}(%op: {ANY_OP} {{transform.readonly}}) {{",
        f"  transform.include @test_once_{name} failures(suppress) (%op) : ({ANY_OP}) -> ()",
        "  transform.yield\n}",
    ]
