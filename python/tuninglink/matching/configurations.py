"""What entries configure, told by structure: whatever it is called, the same is the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.structural_keys import structural_key
from tuninglink.mlir.symbols import split_path
from tuninglink.specs.sequences import reference

if TYPE_CHECKING:
    from collections.abc import Hashable

    from tuninglink.specs.sequences import Handle, SequenceTable

_MAX_DEPTH: Final = 32
"""How many includes within each other are followed."""


class ConfigurationReader:
    """Reads what entries of one module configure; what they share is read once.

    Args:
        table: the sequences of the module.
    """

    def __init__(self, table: SequenceTable) -> None:
        self._table = table
        self._yielded: dict[str, tuple[Hashable, ...]] = {}
        self._structures: dict[str, Hashable] = {}

    def configuration(self, matcher: str, action: str) -> Hashable:
        """Returns what an entry does to the operation that it matches; equal for entries that do the same.

        Of an action that only annotates that is the attributes which an operation has afterwards; of another
        one what it consists of, with what the matcher gives it.
        """
        yielded = self._of_matcher(matcher)
        annotations = self._table.annotations(action)
        if annotations is None:
            return self._structure(action), yielded
        attributes: dict[tuple[Hashable, str], Hashable] = {}
        for each in annotations:
            value = yielded[each.parameter] if each.parameter is not None else each.constant
            attributes[yielded[each.operand], each.name] = value
        return frozenset(attributes.items())

    def _of_matcher(self, path: str) -> tuple[Hashable, ...]:
        """Returns what stands for each value that a matcher yields."""
        if path not in self._yielded:
            found = self._table.resolve(path)
            if found is None or not found[1].regions[0].blocks:
                return ()
            table, sequence = found
            operands = sequence.regions[0].blocks[0].operations[-1].operands
            sources = [_source(table, value, _MAX_DEPTH) for value in operands]
            self._yielded[path] = tuple(
                (path, position) if source is None else source
                for position, source in enumerate(sources)
            )
        return self._yielded[path]

    def _structure(self, path: str) -> Hashable:
        if path not in self._structures:
            sequence = self._table.lookup(path)
            found = structural_key(sequence) if sequence is not None else path
            # What it refers to is told by name, which may mean something else in another module.
            self._structures[path] = (tuple(split_path(path)[:-1]), found)
        return self._structures[path]


def _source(table: SequenceTable, value: Handle, depth: int) -> Hashable:
    """Returns the constant or the number of the argument that `value` is; None if it is something else."""
    if isinstance(value, mlir.BlockArgument):
        return value.arg_number
    assert isinstance(value, mlir.OpResult)
    owner = value.owner.operation
    if owner.name == names.PARAM_CONSTANT:
        return owner.attributes["value"]
    if owner.name != names.INCLUDE or not depth:
        return None
    found = table.resolve(reference(owner.attributes["target"]))
    if found is None or not found[1].regions[0].blocks:
        return None
    inner, sequence = found
    yielded = sequence.regions[0].blocks[0].operations[-1].operands[value.result_number]
    source = _source(inner, yielded, depth - 1)
    return _source(table, owner.operands[source], depth) if isinstance(source, int) else source
