"""Side effects of sequences: changes to the program, and failures; and unused sequences, which no entry point reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import references_in, symbol_name, symbols
from tuninglink.mlir.walk import body, collect, postorder
from tuninglink.specs.module_scan import is_entry_point
from tuninglink.specs.sequences import SequenceTable
from tuninglink.specs.transform_ops import fails_as_included

_Resolved = tuple[SequenceTable, mlir.Operation]

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
_READING_PREFIXES: Final = ("transform.get_", "transform.iree.match.", "transform.match.")


def only_reads(operation: mlir.Operation) -> bool:
    """Return whether an op of a sequence, other than an include, changes neither the program nor any handle."""
    name = operation.name
    return name in _READING or name.startswith(_READING_PREFIXES)


_INFALLIBLE: Final = (_READING - {names.STRUCTURED_MATCH}) | {
    names.ANNOTATE,
    names.FOREACH_MATCH,
    names.INCLUDE,
}
"""Ops that fail only where a sequence that they run does. A matcher that fails does not match."""

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


_CHECKING_PREFIXES: Final = ("transform.match.", "transform.iree.match.")


def failing_checks(table: SequenceTable, sequence: mlir.Operation) -> Iterator[mlir.Operation]:
    """Yield the checks in a sequence, and in those that it runs, whose failure makes the sequence fail."""

    def callees(caller: _Resolved) -> Iterator[_Resolved]:
        for operation in collect(caller[1], names.INCLUDE, names.FOREACH_MATCH):
            if operation.name == names.FOREACH_MATCH:
                actions = dict.fromkeys(action for _, action in caller[0].pairs(operation))
                yield from filter(None, map(caller[0].resolve, actions))
            elif fails_as_included(operation) and (callee := caller[0].callee(operation)):
                yield callee

    for _, runs in postorder([(table, sequence)], callees):
        yield from (op for op in body(runs) if op.name.startswith(_CHECKING_PREFIXES))


class SideEffects:
    """Side effects of matchers: an included `annotate` changes ops that are not matched.

    Args:
        table: the sequences of the module.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self._known: dict[str, bool] = {}

    def may_change(self, path: str) -> bool:
        """Return whether the sequence at `path`, or one that it includes, may change the payload."""
        if path not in self._known:
            self._known[path] = self._any(path, _may_change)
        return self._known[path]

    def may_fail(self, path: str) -> bool:
        """Return whether the sequence at `path`, or one that it runs, may fail."""
        return self._any(path, _may_fail)

    def _any(self, path: str, holds: Callable[[SequenceTable, mlir.Operation], bool]) -> bool:
        run = list(self._table.closure(path))
        return not run or any(
            holds(table, operation) for table, sequence in run for operation in body(sequence)
        )


def _may_change(table: SequenceTable, operation: mlir.Operation) -> bool:
    if operation.name == names.INCLUDE:
        return table.callee(operation) is None
    return not only_reads(operation)


def _may_fail(table: SequenceTable, operation: mlir.Operation) -> bool:
    if operation.name == names.INCLUDE and table.callee(operation) is None:
        return True
    # Handles to several ops are an error of a `foreach_match` with further results.
    is_strict = len(operation.results) > 1 and "flatten_results" not in operation.attributes
    return operation.name not in _INFALLIBLE or (
        operation.name == names.FOREACH_MATCH and is_strict
    )


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
