"""The configurations of entries, compared by structure, independent of names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tuninglink.mlir.structural_keys import structural_key
from tuninglink.mlir.symbols import split_path
from tuninglink.specs.sequences import signature

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tuninglink.specs.sequences import SequenceTable


class ConfigurationReader:
    """Reads the configurations of the entries of one module; shared parts are read once.

    Args:
        table: the sequences of the module.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self._structures: dict[str, Hashable] = {}

    def configuration(self, matcher: str, action: str) -> Hashable:
        """Return a key of an entry's effect on a matched op; equal for equivalent entries.

        For an action that only annotates, the key consists of the resulting attributes. For other actions, it consists
        of the structure of the action and the values that the matcher passes to it.
        """
        annotations = self._table.annotations(action)
        if annotations is None:
            sequence = self._table.lookup(matcher)
            count = len(signature(sequence).results) if sequence is not None else 0
            return self._structure(action), tuple(self._yielded(matcher, at) for at in range(count))
        return frozenset(
            {
                (self._yielded(matcher, annotation.operand), annotation.name): self._yielded(
                    matcher, annotation.value
                )
                if isinstance(annotation.value, int)
                else annotation.value
                for annotation in annotations
            }.items()
        )

    def _yielded(self, path: str, position: int) -> Hashable:
        """Return the key of a value that a matcher yields."""
        yielded = self._table.yielded(path, position)
        return (path, position) if yielded is None else yielded

    def _structure(self, path: str) -> Hashable:
        if path not in self._structures:
            sequence = self._table.lookup(path)
            result = structural_key(sequence) if sequence is not None else path
            # References are compared by name, which may refer to something else in another module.
            self._structures[path] = (tuple(split_path(path)[:-1]), result)
        return self._structures[path]
