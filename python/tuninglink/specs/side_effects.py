"""Which sequences may change the program: matchers that do change what later ones see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tuninglink.mlir import names
from tuninglink.mlir.walk import body

if TYPE_CHECKING:
    from iree.compiler import ir as mlir

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
