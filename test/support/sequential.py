"""The meaning of linking, as an oracle: specs are applied one by one, and decided ops are out of reach.

The compiler's interpreter runs each matcher on each op separately, and each action; the walk over the
program, and what is decided, are kept here. Nothing of what linking is made of is used. A pass may replace ops;
an op is the same before and after if its location is.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from iree.compiler.dialects.transform import interpreter
from iree.compiler.passmanager import PassManager

from tuninglink.mlir import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ANY_OP = "!transform.any_op"
_MATCHED = "test.matched"
_ACTED = "test.acted"
_SYMBOLS = "iree_codegen_external_symbols"

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
class Alternatives:
    """Lists of which the first one without a failing action is walked."""

    lists: tuple[tuple[Pair, ...], ...]


@dataclass(frozen=True)
class RunPass:
    """A pass that the spec runs."""

    name: str


Step = tuple[Pair, ...] | Alternatives | RunPass


@dataclass(frozen=True)
class Walks:
    """A spec as what it does.

    Attributes:
        sequences: the named sequences of the spec, as MLIR.
        steps: what happens, in order: lists that are walked, alternatives and passes.
    """

    sequences: str
    steps: tuple[Step, ...]


class ActionError(Exception):
    """An action failed, which is an error."""


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
    """Return the attributes of each op in a module, with the body of a strategy in place of its name."""
    found = []
    for operation in ops_of(module):
        attributes = dict(operation.attributes.items())
        attributes.pop(_SYMBOLS, None)
        config = attributes.get(names.LOWERING_CONFIG)
        strategies = _STRATEGY.findall(str(config))
        if strategies:
            attributes["test.strategy"] = mlir.StringAttr.get(
                _strategy(operation, strategies[0]), operation.context
            )
            unnamed = _STRATEGY.sub('lowering_strategy = ""', str(config))
            attributes[names.LOWERING_CONFIG] = mlir.Attribute.parse(unnamed, operation.context)
        found.append(attributes)
    return found


_STRATEGY = re.compile('lowering_strategy = "([^"]*)"')


def _strategy(operation: mlir.Operation, name: str) -> str:
    """Return the body of the strategy that the compiler finds for an op, by name in what its function carries."""
    function = operation
    while function.name != names.FUNCTION:
        assert function.parent is not None
        function = function.parent.operation
    shipped = function.attributes.get(_SYMBOLS)
    if shipped is None:
        return "not shipped"
    library = mlir.Module.parse(bytes(memoryview(shipped)), operation.context).operation
    for sequence in library.regions[0].blocks[0].operations:
        if sequence.attributes["sym_name"].value == name:
            return str(sequence.operation.regions[0].blocks[0])
    return "not found"


Place = tuple[str, int]
"""The location of an op, and its number among the ops with that location."""


def _places(ops: Sequence[mlir.Operation]) -> list[Place]:
    counts: Counter[str] = Counter()
    found = []
    for operation in ops:
        location = str(operation.location)
        found.append((location, counts[location]))
        counts[location] += 1
    return found


def apply_one_by_one(
    specs: Sequence[Walks], module: mlir.Operation, *, to_module: bool = False
) -> mlir.Operation:
    """Apply specs to a program, and return the result.

    Args:
        specs: the specs, in order of precedence.
        module: the program, of one function.
        to_module: whether the specs are applied to the module, not to the function as the compiler does.

    Raises:
        MLIRError, ValueError: the interpreter refuses something; the state of the program is then undefined.
        ActionError: an action fails, which is an error where a spec is applied alone.
    """
    decided: set[Place] = set()
    for spec in specs:
        mine: set[Place] = set()
        for step in spec.steps:
            if isinstance(step, RunPass):
                module = _after_pass(module, step.name, to_module=to_module)
                continue
            ops = ops_of(module)
            places = _places(ops)
            before = {n for n, place in enumerate(places) if place in decided}
            lists = step.lists if isinstance(step, Alternatives) else [step]
            for number, entries in enumerate(lists):
                # Alternatives work on a copy of the function without a module around it, and an action that asks for the
                # parent of the function fails there.
                copy = ops[-1].clone().operation if isinstance(step, Alternatives) else None
                copied = ops if copy is None else [*ops_of(copy), copy]
                walk = _Walk(spec, copied, before)
                # A walk does not ask about its root.
                is_root = not to_module or isinstance(step, Alternatives)
                asked = [n for n, op in enumerate(ops) if not is_root or op.name != names.FUNCTION]
                try:
                    walk.run(entries, asked)
                except ActionError:
                    if number + 1 == len(lists):
                        raise
                    continue
                if copy is not None:
                    for operation, changed in zip(ops, copied, strict=True):
                        for name, value in changed.attributes.items():
                            operation.attributes[name] = value
                mine |= {places[n] for n in walk.mine}
                break
        decided |= mine
    return module


def _after_pass(module: mlir.Operation, name: str, *, to_module: bool) -> mlir.Operation:
    """Run a pass on a copy of a program to whose ops there are no references."""
    context = module.context
    copy = mlir.Module.parse(_with_places(module), context)
    pipeline = name if to_module else f"func.func({name})"
    PassManager.parse(f"builtin.module({pipeline})", context).run(copy.operation)
    return mlir.Module.parse(_with_places(copy.operation), context).operation


def _with_places(module: mlir.Operation) -> str:
    """Print a program in a form that shows all ops: that of a `linalg.matmul` hides those inside."""
    return str(module.get_asm(enable_debug_info=True, print_generic_op_form=True))


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
            if operation.parent is None:
                raise ActionError
            root = operation.parent.operation
        inside = ops_of(root) + ([root] if nested.asks_root else [])
        return [self._ops.index(each) for each in inside if each.name != names.MODULE]


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
        entries = list(dict.fromkeys(_all_entries(spec.steps)))
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
        """Apply an entry to an op if it matches; return whether it does.

        Raises:
            ActionError: its action fails.
        """
        question = self._questions[f"test_try_{self._numbers[entry]}"]
        interpreter.apply_named_sequence(operation, question, self._library, self._options)
        if _MATCHED not in operation.attributes:
            return False
        del operation.attributes[_MATCHED]
        if _ACTED not in operation.attributes:
            raise ActionError
        del operation.attributes[_ACTED]
        return True


def _all_entries(steps: Iterable[Step]) -> Iterator[Pair]:
    for step in steps:
        if isinstance(step, Alternatives):
            yield from _all_entries(step.lists)
        for pair in step if isinstance(step, tuple) else ():
            yield pair
            if pair.nested:
                yield from _all_entries([pair.nested.entries])


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
        f'  transform.annotate %op "{_MATCHED}" : {ANY_OP}',
        f"  transform.include {pair.first or pair.action} failures(propagate) ({results}) : ({types}) -> ()",
        f'  transform.annotate %op "{_ACTED}" : {ANY_OP}',
        "  transform.yield\n}",
        f"transform.named_sequence @test_once_{name}(%op: {ANY_OP} {{transform.readonly}}) {{",
        f"  transform.include @test_ask_{name} failures(propagate) (%op) : ({ANY_OP}) -> ()",
        "  transform.yield\n}",
        f"transform.named_sequence @test_try_{name}(%op: {ANY_OP} {{transform.readonly}}) {{",
        f"  transform.include @test_once_{name} failures(suppress) (%op) : ({ANY_OP}) -> ()",
        "  transform.yield\n}",
    ]
