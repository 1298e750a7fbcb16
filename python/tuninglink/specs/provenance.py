"""Provenance of the configuration of an entry: an attribute of its matcher, which survives linking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir.attributes import entries_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tuninglink.specs.sequences import SequenceTable

PROVENANCE: Final = "tuninglink.provenance"
"""The attribute: a dictionary."""

DERIVED: Final = "derived"
"""Its key that says which entry an entry was derived from, and what was changed."""

FLAGS: Final = "flags"
"""Its key with the flags of the compiler that the configuration was tuned under, beside those of the target."""


def provenance_attribute(values: Mapping[str, object]) -> mlir.Attribute:
    """Return values as an attribute of the current context: Booleans, numbers, text, lists and dictionaries."""
    return mlir.DictAttr.get({name: _attribute(value) for name, value in values.items()})


def provenance_of(table: SequenceTable, matcher: str) -> dict[str, object]:
    """Return the provenance that a matcher records; empty if it has none."""
    sequence = table.lookup(matcher)
    attribute = sequence.attributes.get(PROVENANCE) if sequence is not None else None
    return {name: _plain(value) for name, value in entries_of(attribute).items()}


def _attribute(value: object) -> mlir.Attribute:
    if isinstance(value, list | tuple):
        return mlir.ArrayAttr.get([_attribute(item) for item in value])
    if isinstance(value, bool):
        return mlir.BoolAttr.get(value)
    if isinstance(value, int):
        return mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), value)
    if isinstance(value, float):
        return mlir.FloatAttr.get(mlir.F64Type.get(), value)
    return mlir.StringAttr.get(str(value))


def _plain(attribute: mlir.Attribute) -> object:
    if isinstance(attribute, mlir.ArrayAttr):
        return [_plain(item) for item in attribute]
    if isinstance(attribute, mlir.BoolAttr | mlir.IntegerAttr | mlir.FloatAttr | mlir.StringAttr):
        return attribute.value
    return str(attribute)
