"""The model of a spec; loading specs, and their distinction from programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.iree.targets import Target
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import DiagnosticSink, Place, error, thread_context
from tuninglink.mlir.serialization import is_bytecode, parse_module, to_bytecode, to_text
from tuninglink.mlir.symbols import symbol_name
from tuninglink.mlir.walk import body
from tuninglink.specs.bindings import bind
from tuninglink.specs.module_scan import has_entry_point
from tuninglink.specs.nested_modules import dissolve_nested, is_nested_chain
from tuninglink.specs.structure import Anatomy, Entry, SpecKind
from tuninglink.upgrading.module_reader import read_module


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


def load_spec(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    name: str | None = None,
    context: mlir.Context | None = None,
    upgrade: bool = True,
    diagnostics: DiagnosticSink | None = None,
    targets: Sequence[str] = (),
) -> Spec:
    """Load a spec from a file or from memory.

    Args:
        source: the path of a file, or its content; text or bytecode.
        name: the name of the spec in diagnostics and reports; by default the path, or `<memory>`.
        context: the context of the spec; by default that of the calling thread.
        upgrade: whether text for an older compiler is upgraded; otherwise it is rejected.
        diagnostics: receives warnings about entries that cannot be upgraded; by default they are Python warnings.
        targets: names of the targets that the spec is bound to; none for any target.

    Raises:
        SpecError: the file cannot be read, does not parse or verify, or is not a spec.
        TargetError: one of the names is unknown.
    """
    for target in targets:
        Target.parse(target)
    if isinstance(source, str | os.PathLike):
        name = name or os.fspath(source)
        data = _read(Path(source), name)
    else:
        name = name or "<memory>"
        data = bytes(source)
    where = context or thread_context()
    module = read_module(data, name, where, upgrade=upgrade, diagnostics=diagnostics)
    if targets:
        bind(module, [target.lower() for target in targets])
    spec = Spec(module, name)
    try:
        if spec.anatomy.table.scan.has_nested and is_nested_chain(module):
            dissolve_nested(module)
            spec = Spec(module, name)
    except RuntimeError:
        if not is_bytecode(data):
            raise
        # The bindings raise for a name that is not UTF-8.
        message = "the bytecode is damaged: a name in it is not UTF-8"
        raise SpecError(error(message, Place(name, 1, 1))) from None
    return spec


def in_context(spec: Spec, context: mlir.Context) -> Spec:
    """Return `spec` itself if it is in `context`, else a copy in that context."""
    if spec.module.context == context:
        return spec
    return Spec(parse_module(to_bytecode(spec.module), spec.source, context), spec.source)


def _read(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as failure:
        reason = (failure.strerror or str(failure)).lower()
        raise SpecError(error(f"cannot read the spec '{name}': {reason}")) from None


def check_is_program(
    root: mlir.Operation, remedy: str = "give the program that it is meant for"
) -> None:
    """Check that `root` is not a tuning spec.

    A module that holds the sequences of a spec next to other ops is a program.

    Args:
        root: the user's input.
        remedy: the advice for a user who passed a spec.

    Raises:
        SpecError: `root` is a module that only contains a spec.
    """
    if is_only_a_spec(root):
        raise SpecError(error(f"expected a program, found a tuning spec; {remedy}", root))


def is_only_a_spec(root: mlir.Operation) -> bool:
    """Return whether `root` is a module that only contains a tuning spec."""
    if root.name != names.MODULE or not has_entry_point(root):
        return False
    return all(op.name == names.MODULE or op.name.startswith("transform.") for op in body(root))
