"""The model of a spec: read from IR, written to IR, loaded, linked and saved; targets and the default library."""

from tuninglink.spec.anatomy import Anatomy, Entry, EntryPoint, Kind, has_entry_point
from tuninglink.spec.dumping import collect_specs
from tuninglink.spec.embedding import materialize_specs
from tuninglink.spec.library import DefaultLibrary, default_spec, shipped
from tuninglink.spec.linking import Form, LinkedSpec, Part, link_nested_specs, link_specs
from tuninglink.spec.loading import in_context, load_spec
from tuninglink.spec.model import Spec
from tuninglink.spec.precedence import link
from tuninglink.spec.targets import Target, known_target_names

__all__ = [
    "Anatomy",
    "DefaultLibrary",
    "Entry",
    "EntryPoint",
    "Form",
    "Kind",
    "LinkedSpec",
    "Part",
    "Spec",
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
    "materialize_specs",
    "shipped",
]
