"""Which sequences may change the program: matchers that do change what later ones see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.walk import body

if TYPE_CHECKING:
    from tuninglink.specs.sequences import SequenceTable

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
    """Tells whether an op of a sequence, other than an include, leaves the program and all handles as they are."""
    name = operation.name
    return name in _READING or name.startswith(_READING_PREFIXES)


_DECIDED_BY_CONTENT: Final = frozenset(
    {
        names.INCLUDE,
        names.FOREACH_MATCH,
        names.COLLECT_MATCHING,
        names.SEQUENCE,
        names.FOREACH,
        names.MATCH_STRUCTURED,
    }
)
"""They declare more effects than they have, to be on the safe side: what they run tells more."""


def declares_a_write(operation: mlir.Operation) -> bool:
    """Tells whether the compiler says that an op itself changes the payload, apart from what it runs."""
    if operation.name in _DECIDED_BY_CONTENT:
        return False
    if operation.name == names.PRINT:
        return False  # It writes to standard output, which is no handle either.
    with operation.context:
        try:
            effects = mlir.MemoryEffectsOpInterface(operation).get_effects()
        except ValueError:
            return False
    # What is written to a handle has a value; the bindings do not name the other resources.
    return any(each.effect == mlir.MemoryEffect.Write and each.value is None for each in effects)


class SideEffects:
    """Tells matchers that only look at the payload from others: an included `annotate` changes what is not matched.

    Args:
        table: the sequences of the module.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self._known: dict[str, bool] = {}

    def may_change(self, path: str) -> bool:
        """Tells whether the sequence at `path`, or one that it includes, may change the payload."""
        if path not in self._known:
            self._known[path] = self._find(path)
        return self._known[path]

    def _find(self, path: str) -> bool:
        run = list(self._table.closure(path))
        return not run or any(
            _may_change(table, operation) for table, sequence in run for operation in body(sequence)
        )


def _may_change(table: SequenceTable, operation: mlir.Operation) -> bool:
    if operation.name == names.INCLUDE:
        return table.callee(operation) is None
    return not only_reads(operation)
