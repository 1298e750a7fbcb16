"""Merging the sequences of several specs into one module."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import FreshNames, SymbolRenaming, rename_symbols, symbols
from tuninglink.specs.bindings import bind_entries, binding_of
from tuninglink.specs.spec import dissolve_nested, inner_name
from tuninglink.specs.structure import Anatomy

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


def spec_module(name: str) -> mlir.Operation:
    """Return an empty module for sequences, in the current context and at the current location."""
    module = mlir.Module.create().operation
    module.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
    module.attributes[names.WITH_NAMED_SEQUENCE] = mlir.UnitAttr.get()
    return module


def prepared(spec: Anatomy) -> Anatomy:
    """Return the spec itself, or a copy with its binding on its entries and without nested modules."""
    has_nested = spec.table.scan.has_nested
    if binding_of(spec.module) is None and not has_nested:
        return spec
    module = spec.module.clone().operation
    if has_nested:
        dissolve_nested(module)
    copy = Anatomy(module)
    bind_entries(copy)
    return copy


def copy_ops(
    container: mlir.Operation, members: Sequence[Anatomy], omitted: Sequence[Collection[str]]
) -> list[Mapping[str, str]]:
    """Copy the ops of specs into `container`, except for drivers of chains and ops with the omitted names.

    A symbol whose name is taken gets a numeric suffix.

    Returns:
        For each spec the new names of its symbols.
    """
    _free_kernel_config(container)
    defined = [
        [name for name, op in member.table.scan.symbols.items() if name not in left_out]
        for member, left_out in zip(members, omitted, strict=True)
    ]
    fresh = FreshNames(
        [*symbols(container), names.KERNEL_CONFIG], reserved=itertools.chain.from_iterable(defined)
    )
    renames: list[Mapping[str, str]] = []
    block = container.regions[0].blocks[0]
    with container.context, mlir.Location.unknown(), mlir.InsertionPoint(block):
        for member, member_names, left_out in zip(members, defined, omitted, strict=True):
            renames.append({name: fresh.take(inner_name(name)) for name in member_names})
            renaming = SymbolRenaming(renames[-1])
            scan = member.table.scan
            for name, operation in scan.top:
                if name in left_out:
                    continue
                copy = operation.clone().operation
                renaming.rename_symbol(copy, name)
                if renaming:
                    scan.rename_references(copy, name, renaming)
    return renames


def _free_kernel_config(container: mlir.Operation) -> None:
    """Rename a symbol that collides with the entry point that linking adds to `container`, with all its uses."""
    taken = symbols(container)
    if names.KERNEL_CONFIG in taken:
        renamed = FreshNames(taken).take(inner_name(names.KERNEL_CONFIG))
        rename_symbols(container, {names.KERNEL_CONFIG: renamed})
