"""The model of a spec: load, save, link, embed, dump, verify; the default library."""

from tuninglink.iree.targets import Target, known_target_names
from tuninglink.specs.dumping import collect_specs
from tuninglink.specs.library import DefaultLibrary, default_spec, shipped
from tuninglink.specs.linking import LinkedSpec, LinkForm, Part, link_nested_specs, link_specs
from tuninglink.specs.loading import in_context, load_spec
from tuninglink.specs.model import Spec
from tuninglink.specs.precedence import link
from tuninglink.specs.structure import Anatomy, Entry, EntryPoint, SpecKind, has_entry_point

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
    "link",
    "link_nested_specs",
    "link_specs",
    "load_spec",
    "shipped",
]
