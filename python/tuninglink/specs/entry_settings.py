"""Configurations of entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.mlir import names

if TYPE_CHECKING:
    from tuninglink.specs.spec import Spec
    from tuninglink.specs.structure import Entry

CONFIGURATIONS: Final = frozenset(
    {names.COMPILATION_INFO, names.LOWERING_CONFIG, names.TRANSLATION_INFO}
)
"""The attributes that make an annotation a configuration."""


def settings_of(spec: Spec, entry: Entry) -> dict[str, mlir.Attribute] | None:
    """Return the attributes that an entry sets, by name; None if they are computed."""
    table = spec.anatomy.table
    annotations = table.annotations(entry.action)
    if annotations is None:
        return None
    settings: dict[str, mlir.Attribute] = {}
    for annotation in annotations:
        if annotation.name in CONFIGURATIONS:
            value: mlir.Attribute | int | None = annotation.value
            if isinstance(value, int):
                value = table.yielded(entry.matcher, value)
            if not isinstance(value, mlir.Attribute):
                return None
            settings[annotation.name] = value
    return settings
