"""Nested modules of a spec, whose sequences move to the outer module.

The compiler's linker nests specs in one module, with an entry point that runs theirs, and so did earlier versions of
Tuninglink. Such a spec is read as a chain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import FreshNames, rename_symbols, symbol_name, symbols
from tuninglink.mlir.walk import body
from tuninglink.specs.bindings import bind_entries, binding_of
from tuninglink.specs.module_scan import has_entry_point, is_entry_point, unmark
from tuninglink.specs.structure import UNNAMED, Anatomy, is_guarded, sequences_run

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_nested_chain(module: mlir.Operation) -> bool:
    """Return whether the only entry point of a module runs all those of its nested modules, and does nothing else."""
    return bool(_chained(module))


def dissolve_nested(module: mlir.Operation) -> None:
    """Move the ops of nested modules into `module`, under free names.

    The entry points of nested modules are not run in the outer one, except in a chain.
    """
    _mark_parts(module, _chained(module))
    fresh = FreshNames([*symbols(module), names.KERNEL_CONFIG])
    # A pass of the loop dissolves one level of nesting: the references to it are renamed together.
    while parts := list(_nested(module)):
        new_names: dict[tuple[str, str], str] = {}
        for part in parts:
            renames = {name: fresh.take(inner_name(name)) for name in symbols(part)}
            rename_symbols(part, renames)
            scope = symbol_name(part) or ""
            new_names |= {(scope, old): new for old, new in renames.items()}
        rename_symbols(module, {}, new_names)
        for part in parts:
            for operation in list(body(part)):
                operation.move_before(part)
            part.erase()


def _mark_parts(module: mlir.Operation, chained: set[mlir.Operation]) -> None:
    """Mark the entry points of nested modules that are those of a chain, and unmark the others.

    A guarded entry point belongs to a separate spec. Without guards, a later entry point may override an earlier one, as in
    one spec. But a spec applies to a target as a whole or not at all, so that modules with bindings are separate specs.
    """
    parts = [part for part in _nested(module) if has_entry_point(part)]
    are_bound = any(binding_of(part) is not None for part in parts)
    for part in parts:
        if are_bound:
            bind_entries(Anatomy(part))
        for sequence in filter(is_entry_point, body(part)):
            is_chained = sequence in chained  # The hash of an op depends on its attributes.
            unmark(sequence)
            if is_chained:
                owner = part if are_bound or is_guarded(sequence) else module
                name = mlir.StringAttr.get(symbol_name(owner) or UNNAMED, module.context)
                sequence.attributes[names.CHAINED_ENTRY_POINT] = name


def inner_name(name: str) -> str:
    """Return a name for a symbol that moves to another module.

    As the compiler links a spec with its own, it calls entry points `__kernel_config_1` and so on, even if these names are
    taken.
    """
    return name.lstrip("_") if name.startswith(names.KERNEL_CONFIG) else name


def _nested(module: mlir.Operation) -> Iterator[mlir.Operation]:
    return (op for op in body(module) if op.name == names.MODULE)


def _chained(module: mlir.Operation) -> set[mlir.Operation]:
    """Return the entry points of nested modules that a chain runs; none for another module."""
    entry_points = {
        (symbol_name(nested) or "", symbol_name(sequence) or ""): sequence
        for nested in _nested(module)
        for sequence in filter(is_entry_point, body(nested))
    }
    own = list(filter(is_entry_point, body(module)))
    if len(own) == 1 and sorted(sequences_run(own[0])) == sorted(entry_points):
        return set(entry_points.values())
    return set()
