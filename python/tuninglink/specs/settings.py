"""The configurations that entries give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.specs.sequences import reference

if TYPE_CHECKING:
    from tuninglink.specs.model import Spec
    from tuninglink.specs.sequences import SequenceTable
    from tuninglink.specs.structure import Entry

CONFIGURATIONS: Final = frozenset(
    {names.COMPILATION_INFO, names.LOWERING_CONFIG, names.TRANSLATION_INFO}
)
"""The attributes that make an annotation a configuration."""


def settings_of(spec: Spec, entry: Entry) -> dict[str, mlir.Attribute] | None:
    """Returns the configuration that an entry gives, by name; None if it is computed."""
    table = spec.anatomy.table
    annotations = table.annotations(entry.action)
    if annotations is None:
        return None
    settings: dict[str, mlir.Attribute] = {}
    for each in annotations:
        if each.name in CONFIGURATIONS:
            value = each.constant
            if value is None and each.parameter is not None:
                value = _yielded(table, entry.matcher, each.parameter)
            if value is None:
                return None
            settings[each.name] = value
    return settings


def _yielded(table: SequenceTable, path: str, position: int) -> mlir.Attribute | None:
    """Returns the constant that the sequence at `path` yields at `position`, through includes; or None."""
    found = table.resolve(path)
    if found is None:
        return None
    inner, sequence = found
    value = sequence.regions[0].blocks[0].operations[-1].operands[position]
    if not isinstance(value, mlir.OpResult):
        return None
    if value.owner.name == names.PARAM_CONSTANT:
        return value.owner.attributes["value"]
    if value.owner.name == names.INCLUDE:
        return _yielded(inner, reference(value.owner.attributes["target"]), value.result_number)
    return None
