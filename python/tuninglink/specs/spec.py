"""The model of a spec."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.serialization import to_bytecode, to_text
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body
from tuninglink.specs.structure import Anatomy, Entry, SpecKind, has_entry_point


@dataclass(frozen=True)
class Spec:
    """A transform-dialect library with at least one entry point.

    A spec is immutable; linking works on copies.

    Attributes:
        module: the `builtin.module`, in the context of the spec.
        source: its origin, as diagnostics show it: a path, or the caller's name for it.
    """

    module: mlir.Operation
    source: str

    @cached_property
    def anatomy(self) -> Anatomy:
        """The structure of the spec that linking uses."""
        return Anatomy(self.module)

    @property
    def name(self) -> str:
        """The module's name, or the source if the module has none."""
        return symbol_name(self.module) or self.source

    @property
    def kind(self) -> SpecKind:
        """Whether the spec is a matcher list or opaque."""
        return self.anatomy.kind

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries, in order of precedence."""
        return self.anatomy.entries

    def text(self) -> str:
        """Return the spec as MLIR text."""
        return to_text(self.module)

    def bytecode(self) -> bytes:
        """Return the spec as MLIR bytecode, with locations."""
        return to_bytecode(self.module)


def specs_in(module: mlir.Operation) -> list[Spec]:
    """Return the specs among a module and its nested modules."""
    nested = [op for op in body(module) if op.name == names.MODULE]
    return [
        Spec(nested_module, "")
        for nested_module in (module, *nested)
        if has_entry_point(nested_module)
    ]
