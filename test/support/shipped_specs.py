"""The specs that come with the package: those that are applied by default, and the libraries."""

from __future__ import annotations

from tuninglink.iree import Target
from tuninglink.specs import (
    LIBRARY,
    binding_of,
    library_files,
    load_spec,
    shipped,
    shipped_libraries,
)

NAMES = [
    *(f"default:{target}" for target in shipped()),
    *(file.name for file in shipped_libraries() if not file.may_replace),
]
"""The names of the specs with configurations."""


def shipped_spec(name: str) -> tuple[bytes, Target]:
    """Return the content of a spec, and its target."""
    if not name.startswith(LIBRARY):
        specs = shipped().items()
        ((target, spec),) = (each for each in specs if name == f"default:{each[0]}")
        return spec.bytecode(), target
    (file,) = library_files(name.removeprefix(LIBRARY))
    (bound_to,) = binding_of(load_spec(file.content).module) or ("",)
    return file.content, Target.parse(bound_to)
