"""Unused sequences: those that no entry point of a spec reaches."""

from __future__ import annotations

from collections.abc import Iterator

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import references_in, symbol_name, symbols
from tuninglink.mlir.walk import body, postorder
from tuninglink.specs.module_scan import is_entry_point


def unused_sequences(module: mlir.Operation) -> list[mlir.Operation]:
    """Return the unused named sequences of a module and of those nested in it.

    Sequences that other symbols refer to count as used, and so do all in a module without an entry point. A sequence of
    a nested module that only an unused one refers to is returned once that one is erased.
    """
    return [sequence for scope in scopes(module) for sequence in scope.unused()]


def erase_unused(module: mlir.Operation, before: set[mlir.Operation]) -> int:
    """Erase the unused sequences except for those in `before`; return their number."""
    count = 0
    while unused := [sequence for sequence in unused_sequences(module) if sequence not in before]:
        count += len(unused)
        for sequence in unused:
            sequence.erase()
    return count


def scopes(
    module: mlir.Operation, from_outside: frozenset[str] = frozenset()
) -> Iterator[SequenceScope]:
    """Yield the scope of a module, and those of the modules nested in it.

    Args:
        module: a `builtin.module`.
        from_outside: the symbols in it that the enclosing modules refer to.
    """
    yield SequenceScope(module, from_outside)
    nested = {name: op for name, op in symbols(module).items() if op.name == names.MODULE}
    if not nested:
        return
    used: dict[str, set[str]] = {name: set() for name in nested}
    for path in references_in(module):
        if len(path) > 1 and path[0] in used:
            used[path[0]].add(path[1])
    for name, table in nested.items():
        yield from scopes(table, frozenset(used[name]))


class SequenceScope:
    """The named sequences of one module, which can refer to each other.

    Args:
        module: the module.
        from_outside: the symbols in it that the enclosing modules refer to.

    Attributes:
        module: the module.
        sequences: its named sequences, by symbol.
        is_used: whether an entry point or an enclosing module uses its sequences. If not, their purpose is unknown.
        pinned: the symbols that must not be erased.
    """

    def __init__(self, module: mlir.Operation, from_outside: frozenset[str]) -> None:
        self.module = module
        operations = list(body(module))
        self.sequences = {
            name: op
            for op in operations
            if op.name == names.NAMED_SEQUENCE and (name := symbol_name(op)) is not None
        }
        used = from_outside | {name for name, op in self.sequences.items() if is_entry_point(op)}
        self.is_used = bool(used)
        others = [op for op in operations if op.name != names.NAMED_SEQUENCE]
        # References out of a nested module end in it, unless nothing there has the name.
        self.pinned = used | {path[0] for op in others for path in references_in(op)}

    def unused(self) -> list[mlir.Operation]:
        """Return the unused sequences; empty if the purpose of the module's sequences is unknown."""
        if not self.is_used:
            return []
        pinned = [name for name in self.pinned if name in self.sequences]
        reached = set(postorder(pinned, self.uses))
        return [sequence for name, sequence in self.sequences.items() if name not in reached]

    def uses(self, name: str) -> list[str]:
        """Return the sequences that a sequence refers to."""
        used = (path[0] for path in references_in(self.sequences[name]))
        return [name for name in used if name in self.sequences]
