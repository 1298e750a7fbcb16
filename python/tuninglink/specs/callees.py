"""Callees: the sequences that linking changes, or copies of those that something else uses, too."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import references_in, split_path
from tuninglink.specs.decided import DecidedHelpers

if TYPE_CHECKING:
    from tuninglink.specs.sequences import SequenceTable


@dataclass(frozen=True)
class Callee:
    """A sequence to change.

    Attributes:
        sequence: the sequence itself, or a copy if something else uses it.
        table: the sequences of its module.
        path: a reference to it.
    """

    sequence: mlir.Operation
    table: SequenceTable
    path: list[str]


class Callees:
    """Takes over the sequences of a module, and those of the modules nested in it.

    Args:
        module: the module.
    """

    def __init__(self, module: mlir.Operation) -> None:
        # A reference inside a nested module leaves out the scope, so that only the last name tells.
        self._uses = Counter(path[-1] for path in references_in(module))
        self._helpers: dict[mlir.Operation, DecidedHelpers] = {}

    def take_over(self, table: SequenceTable, path: str, uses: int) -> Callee:
        """Returns the sequence at `path`, or a copy if there are more references to it than `uses`."""
        found = table.resolve(path)
        assert found is not None, "checked by the caller"
        inner, sequence = found
        *scope, name = split_path(path)
        if self._uses[name] > uses:
            name = self.helpers(inner).fresh.take(name)
            with mlir.InsertionPoint.after(sequence):
                sequence = sequence.clone().operation
            sequence.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
            self._uses.update(each[-1] for each in references_in(sequence))
        return Callee(sequence, inner, [*scope, name])

    def helpers(self, table: SequenceTable) -> DecidedHelpers:
        """Returns the helpers of a module."""
        module = table.module
        if module not in self._helpers:
            self._helpers[module] = DecidedHelpers(module)
        return self._helpers[module]
