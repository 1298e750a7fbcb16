"""Side effects of transform ops (changes to the program and failures), and sequences that no entry point reaches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import references_in, symbol_name, symbols
from tuninglink.mlir.walk import body, postorder
from tuninglink.specs.module_scan import is_entry_point

_READING: Final = frozenset(
    {
        names.MERGE_HANDLES,
        names.NUM_ASSOCIATIONS,
        names.PARAM_CONSTANT,
        names.PRINT,
        names.SELECT,
        names.STRUCTURED_MATCH,
        names.YIELD,
    }
)
CHECKING_PREFIXES: Final = ("transform.iree.match.", "transform.match.")
"""The beginnings of names of ops that fail for some operands and otherwise only read."""

_READING_PREFIXES: Final = ("transform.get_", *CHECKING_PREFIXES)


def only_reads(operation: mlir.Operation) -> bool:
    """Return whether an op of a sequence, other than an include, changes neither the program nor any handle."""
    name = operation.name
    return name in _READING or name.startswith(_READING_PREFIXES)


_INFALLIBLE: Final = (_READING - {names.STRUCTURED_MATCH}) | {names.ANNOTATE, names.FOREACH_MATCH}
"""Ops that fail only where a sequence that they run does. A matcher that fails does not match."""


def fails(operation: mlir.Operation) -> bool:
    """Return whether an op of a sequence, other than an include, may fail by itself."""
    # Handles to several ops are an error of a `foreach_match` with further results.
    is_strict = len(operation.results) > 1 and "flatten_results" not in operation.attributes
    is_list = operation.name == names.FOREACH_MATCH
    return operation.name not in _INFALLIBLE or (is_list and is_strict)


_DECIDED_BY_CONTENT: Final = frozenset(
    {
        names.INCLUDE,
        names.FOREACH_MATCH,
        names.COLLECT_MATCHING,
        names.SEQUENCE,
        names.FOREACH,
        names.MATCH_STRUCTURED,
        names.PRINT,
    }
)
"""Ops that declare more effects on the payload than they have: their bodies decide, and a print writes elsewhere."""


def declares_a_write(operation: mlir.Operation) -> bool:
    """Return whether an op declares a write to the payload, apart from the sequences that it runs."""
    if operation.name in _DECIDED_BY_CONTENT:
        return False
    with operation.context:
        try:
            effects = mlir.MemoryEffectsOpInterface(operation).get_effects()
        except ValueError:
            return False
    # Writes to a handle have a value; the bindings do not name the other resources.
    return any(
        effect.effect == mlir.MemoryEffect.Write and effect.value is None for effect in effects
    )


def unused_sequences(module: mlir.Operation) -> list[mlir.Operation]:
    """Return the unused named sequences of a module and of those nested in it.

    Sequences that other symbols refer to count as used, and so do all sequences in a module without an entry point. If
    only an unused sequence refers to a sequence of a nested module, the latter is returned once the former is erased.
    """
    return [sequence for scope in scopes(module) for sequence in scope.unused()]


def erase_unused(module: mlir.Operation, before: set[mlir.Operation]) -> int:
    """Erase the unused sequences that are not in `before`; return the number of erased sequences."""
    count = 0
    while unused := [sequence for sequence in unused_sequences(module) if sequence not in before]:
        count += len(unused)
        for sequence in unused:
            sequence.erase()
    return count


def scopes(
    module: mlir.Operation, from_outside: frozenset[str] = frozenset()
) -> Iterator[SequenceScope]:
    """Yield the scopes of a module and of the modules nested in it.

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
