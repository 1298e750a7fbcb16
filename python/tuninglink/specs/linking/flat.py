"""Linking matcher lists: one flat module whose single `foreach_match` holds all entries in order."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import FreshNames, SymbolRenaming, symbols
from tuninglink.specs.foreach_match import pair_attributes, pairs_of
from tuninglink.specs.linking.modernization import free_kernel_config
from tuninglink.specs.transform_ops import add_kernel_config, yield_

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs.foreach_match import Pair
    from tuninglink.specs.structure import Anatomy


def flatten(container: mlir.Operation, members: Sequence[Anatomy]) -> None:
    """Copy everything in `members` into `container` and merge their entries into one entry point.

    Args:
        container: the module that becomes the linked spec, in default-entrypoint form.
        members: matcher lists, in order of precedence, in the context of `container`. No entry configures an op other
            than the matched one.
    """
    free_kernel_config(container)
    entry_names = [member.entry_points[0].name for member in members]
    defined = [
        [name for name in member.table.scan.symbols if name != entry_name]
        for member, entry_name in zip(members, entry_names, strict=True)
    ]
    reserved = chain.from_iterable(defined)
    fresh = FreshNames([*symbols(container), names.KERNEL_CONFIG], reserved)
    pairs: list[Pair] = []
    block = container.regions[0].blocks[0]
    with container.context, mlir.Location.unknown(), mlir.InsertionPoint(block):
        for member, member_names in zip(members, defined, strict=True):
            renaming = SymbolRenaming({name: fresh.take(name) for name in member_names})
            entry_point = member.entry_points[0].sequence
            scan = member.table.scan
            for name, operation in scan.top:
                if operation == entry_point:
                    continue
                copy = operation.clone().operation
                renaming.rename_symbol(copy, name)
                if renaming:
                    scan.rename_references(copy, name, renaming)
            own = pairs_of(member.foreach_match)
            if renaming:
                own = [(renaming.replace(one), renaming.replace(other)) for one, other in own]
            pairs += own
    _merge_entry_points(container, pairs)


def _merge_entry_points(container: mlir.Operation, pairs: Sequence[Pair]) -> None:
    # A foreach_match consumes its root, so each of the entry points does.
    block = add_kernel_config(container, consumes=True).regions[0].blocks[0]
    root = block.arguments[0]
    with container.context, container.location, mlir.InsertionPoint(block):
        foreach_match = mlir.Operation.create(
            names.FOREACH_MATCH,
            operands=[root],
            results=[root.type],
            attributes=pair_attributes(pairs),
        )
        yield_(list(foreach_match.results))
        container.attributes[names.DEFAULT_ENTRY_POINT] = mlir.UnitAttr.get()
