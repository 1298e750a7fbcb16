"""Specs: the model, loading, linking, embedding, dumping, verification, and the default library."""

from typing import TYPE_CHECKING

from tuninglink.lazy import lazy_getattr

if TYPE_CHECKING:
    from tuninglink.iree.targets import Target, known_target_names
    from tuninglink.specs.default_library import DefaultLibrary, default_spec, shipped
    from tuninglink.specs.embedding import collect_specs
    from tuninglink.specs.linking.link_form import LinkForm
    from tuninglink.specs.linking.linker import (
        LinkedSpec,
        Part,
        link_nested_specs,
        link_specs,
    )
    from tuninglink.specs.module_scan import has_entry_point
    from tuninglink.specs.spec import Spec, in_context, load_spec
    from tuninglink.specs.structure import Anatomy, Entry, EntryPoint, SpecKind

__all__ = [
    "Anatomy",
    "DefaultLibrary",
    "Entry",
    "EntryPoint",
    "LinkForm",
    "LinkedSpec",
    "Part",
    "Spec",
    "SpecKind",
    "Target",
    "collect_specs",
    "default_spec",
    "has_entry_point",
    "in_context",
    "known_target_names",
    "link_nested_specs",
    "link_specs",
    "load_spec",
    "shipped",
]

_HOMES = {
    **dict.fromkeys(("Target", "known_target_names"), "iree.targets"),
    "collect_specs": "specs.embedding",
    **dict.fromkeys(("DefaultLibrary", "default_spec", "shipped"), "specs.default_library"),
    **dict.fromkeys(
        ("LinkedSpec", "Part", "link_nested_specs", "link_specs"), "specs.linking.linker"
    ),
    "LinkForm": "specs.linking.link_form",
    **dict.fromkeys(("in_context", "load_spec"), "specs.spec"),
    "Spec": "specs.spec",
    **dict.fromkeys(("Anatomy", "Entry", "EntryPoint", "SpecKind"), "specs.structure"),
    "has_entry_point": "specs.module_scan",
}

__getattr__ = lazy_getattr(__name__, _HOMES)  # loading a spec needs no linker
