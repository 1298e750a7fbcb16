"""Removing what a spec holds twice, and what it does not use.

Tools that write specs entry by entry leave hundreds of copies of the same action. They are told by structure,
never by name, so that what is left applies exactly as before.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import redirect_references, references_in, symbol_name, symbols
from tuninglink.mlir.walk import body, collect
from tuninglink.specs.structure import is_entry_point

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tuninglink.specs.sequences import Handle


@dataclass(frozen=True)
class Deduplication:
    """What became of the sequences of a module and of those nested in it.

    Attributes:
        merged: how many were the same as another one.
        unused: how many nothing referred to.
    """

    merged: int = 0
    unused: int = 0

    def __add__(self, other: Deduplication) -> Deduplication:
        return Deduplication(self.merged + other.merged, self.unused + other.unused)


def deduplicate_sequences(module: mlir.Operation) -> Deduplication:
    """Makes identical named sequences one, and removes those that no entry point reaches.

    Sequences are identical if they do the same to the same arguments; names and locations do not count, and
    what they include may be identical instead of the same. The first of them stays, also in a `foreach_match`,
    which never reaches a second pair with the same matcher. Symbols that are no
    sequences stay, with all that they refer to; nested modules are treated likewise, one by one. A module
    without an entry point keeps everything: nobody knows what it is used for.

    Args:
        module: a `builtin.module`.

    Returns:
        What was removed.
    """
    result = Deduplication()
    for table, from_outside in _tables(module):
        result += _Scope(table, from_outside).deduplicate()
    return result


def unused_sequences(module: mlir.Operation) -> list[mlir.Operation]:
    """Returns the named sequences in a module and in those nested in it that no entry point reaches.

    What symbols that are no sequences refer to is used, and so is everything in a module without an entry point.
    A sequence of a nested module that is used only by another unused one is found once that is gone.
    """
    return [
        sequence
        for table, from_outside in _tables(module)
        for sequence in _Scope(table, from_outside).unused()
    ]


def _tables(
    module: mlir.Operation, from_outside: frozenset[str] = frozenset()
) -> Iterator[tuple[mlir.Operation, frozenset[str]]]:
    """Yields `module` and those nested in it, each with the names that are referred to from around it."""
    yield module, from_outside
    nested = {name: op for name, op in symbols(module).items() if op.name == names.MODULE}
    if not nested:
        return
    used: dict[str, set[str]] = {name: set() for name in nested}
    for path in references_in(module):
        if len(path) > 1 and path[0] in used:
            used[path[0]].add(path[1])
    for name, table in nested.items():
        yield from _tables(table, frozenset(used[name]))


class _Scope:
    """The sequences of one module, which see each other."""

    def __init__(self, module: mlir.Operation, from_outside: frozenset[str]) -> None:
        self._module = module
        self._from_outside = from_outside
        operations = list(body(module))
        self._sequences = {
            name: op
            for op in operations
            if op.name == names.NAMED_SEQUENCE and (name := symbol_name(op)) is not None
        }
        self._roots = {name for name, op in self._sequences.items() if is_entry_point(op)}
        self._uses = {
            name: dict.fromkeys(path[0] for path in references_in(op))
            for name, op in self._sequences.items()
        }
        others = [op for op in operations if op.name != names.NAMED_SEQUENCE]
        self._fixed = self._roots | from_outside
        # References out of a nested module end in it, unless nothing there has the name.
        self._fixed |= {path[0] for op in others for path in references_in(op)}

    def deduplicate(self) -> Deduplication:
        if not self._roots and not self._from_outside:
            return Deduplication()
        identical = self._identical()
        merged = {old: new for old, new in identical.items() if old not in self._fixed}
        for name in merged:
            self._sequences.pop(name).erase()
        redirect_references(self._module, merged)
        for sequence in self._sequences.values():
            for foreach_match in collect(sequence, names.FOREACH_MATCH):
                _drop_repeated_matchers(foreach_match)
        unused = self.unused()
        for sequence in unused:
            sequence.erase()
        return Deduplication(len(merged), len(unused))

    def unused(self) -> list[mlir.Operation]:
        """Returns the sequences that nothing reaches from an entry point or from outside."""
        if not self._roots and not self._from_outside:
            return []
        reached = self._reached()
        return [sequence for name, sequence in self._sequences.items() if name not in reached]

    def _reached(self) -> set[str]:
        reached: set[str] = set()
        waiting = [name for name in self._fixed if name in self._sequences]
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                uses = (path[0] for path in references_in(self._sequences[name]))
                waiting.extend(use for use in uses if use in self._sequences)
        return reached

    def _identical(self) -> dict[str, str]:
        """Returns, for each sequence that is the same as another one, that other one."""
        first: dict[object, str] = {}
        replaced: dict[str, str] = {}
        for name in self._callees_first():
            key = structure(self._sequences[name], replaced)
            kept = first.setdefault(key, name)
            if kept != name:
                replaced[name] = kept
        return self._in_order(replaced)

    def _in_order(self, replaced: dict[str, str]) -> dict[str, str]:
        """Lets the first of each group stay, or one that must; callees come first in `replaced`."""
        groups: dict[str, list[str]] = {}
        for name in self._sequences:
            if name in replaced or name in replaced.values():
                groups.setdefault(replaced.get(name, name), []).append(name)
        result: dict[str, str] = {}
        for group in groups.values():
            kept = next((name for name in group if name in self._fixed), group[0])
            result.update({name: kept for name in group if name != kept})
        return result

    def _callees_first(self) -> Iterable[str]:
        """Returns the sequences in an order in which each comes behind what it refers to, cycles aside."""
        done: dict[str, None] = {}
        entered: set[str] = set()
        for start in self._sequences:
            waiting = [start]
            while waiting:
                name = waiting[-1]
                if name in entered:
                    done[waiting.pop()] = None
                    continue
                entered.add(name)
                uses = self._uses[name]
                waiting += [use for use in uses if use in self._sequences and use not in entered]
        return done


def _drop_repeated_matchers(foreach_match: mlir.Operation) -> None:
    """Removes the pairs that are never reached, as an earlier one has the same matcher.

    The compiler warns of them, and does not survive its own warning.
    """
    matchers, actions = (foreach_match.attributes[key] for key in ("matchers", "actions"))
    assert isinstance(matchers, mlir.ArrayAttr)
    assert isinstance(actions, mlir.ArrayAttr)
    pairs: dict[mlir.Attribute, mlir.Attribute] = {}
    for matcher, action in zip(matchers, actions, strict=True):
        pairs.setdefault(matcher, action)
    if len(pairs) < len(matchers):
        with foreach_match.context:
            foreach_match.attributes["matchers"] = mlir.ArrayAttr.get(list(pairs))
            foreach_match.attributes["actions"] = mlir.ArrayAttr.get(list(pairs.values()))


def structure(
    sequence: mlir.Operation, replaced: Mapping[str, str] = MappingProxyType({})
) -> object:
    """Returns what tells whether two sequences do the same: equal structures do.

    Args:
        sequence: a named sequence.
        replaced: what symbols that the sequence refers to count as.
    """
    return _Structure(replaced).of(sequence)


class _Structure:
    def __init__(self, replaced: Mapping[str, str]) -> None:
        self._replaced = replaced
        self._values: dict[Handle, int] = {}

    def of(self, operation: mlir.Operation) -> object:
        attributes = tuple(
            (name, self._attribute(attribute))
            for name, attribute in operation.attributes.items()
            if name != names.SYMBOL_NAME
        )
        operands = tuple(self._number(each) for each in operation.operands)
        results = tuple((self._number(each), each.type) for each in operation.results)
        replaced = self._replaced
        if operation.name in (names.MATCH_DAG, names.MATCH_REGIONS):
            self._replaced = {}  # What is shown of a program refers to its symbols.
        blocks = tuple(
            tuple(self._block(block) for block in region.blocks) for region in operation.regions
        )
        self._replaced = replaced
        return operation.name, attributes, operands, results, blocks

    def _block(self, block: mlir.Block) -> object:
        arguments = tuple((self._number(each), each.type) for each in block.arguments)
        return arguments, tuple(self.of(each.operation) for each in block.operations)

    def _number(self, value: Handle) -> int:
        return self._values.setdefault(value, len(self._values))

    def _attribute(self, attribute: mlir.Attribute) -> object:
        if isinstance(attribute, mlir.FlatSymbolRefAttr):
            return self._replaced.get(attribute.value, attribute.value)
        if isinstance(attribute, mlir.ArrayAttr):
            return tuple(map(self._attribute, attribute))
        return attribute
