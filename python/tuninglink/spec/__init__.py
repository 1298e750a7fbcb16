"""The model of a spec: read from IR, written to IR, loaded, linked and saved; targets and the default library."""

from tuninglink.spec.anatomy import Entry, Kind
from tuninglink.spec.linking import Form, LinkedSpec, Part, link_nested_specs, link_specs
from tuninglink.spec.loading import in_context, load_spec
from tuninglink.spec.model import Spec

__all__ = [
    "Entry",
    "Form",
    "Kind",
    "LinkedSpec",
    "Part",
    "Spec",
    "in_context",
    "link_nested_specs",
    "link_specs",
    "load_spec",
]
