"""Linking matcher lists: one flat module whose single `foreach_match` holds all entries in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import FreshNames, rename_symbols, symbol_name, symbols
from tuninglink.mlir.walk import body
from tuninglink.specs.builders import add_kernel_config, yield_
from tuninglink.specs.foreach_match import pair_attributes, pairs_of
from tuninglink.specs.linking.entry_points import free_kernel_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs.foreach_match import Pair
    from tuninglink.specs.structure import Anatomy


def flatten(container: mlir.Operation, members: Sequence[Anatomy]) -> None:
    """Moves everything in `members` up into `container` and merges their entries into one entry point.

    Args:
        container: the module that becomes the linked spec, in default-entrypoint form.
        members: matcher lists, in order of precedence, whose modules stand in `container`. No entry
            configures another operation than it was given. The modules are gone afterwards.
    """
    _make_names_unique(container, members)
    pairs: list[Pair] = []
    for member in members:
        pairs += pairs_of(member.foreach_match)
        _move_up(container, member)
    _merge_entry_points(container, pairs)


def _make_names_unique(container: mlir.Operation, members: Sequence[Anatomy]) -> None:
    free_kernel_config(container)
    modules = {symbol_name(member.module) for member in members}
    taken = [name for name in symbols(container) if name not in modules]
    defined = [[name for name in symbols(m.module) if name != _entry_name(m)] for m in members]
    reserved = [name for each in defined for name in each]
    fresh = FreshNames([*taken, names.KERNEL_CONFIG], reserved)
    for member, member_names in zip(members, defined, strict=True):
        rename_symbols(member.module, {name: fresh.take(name) for name in member_names})


def _entry_name(member: Anatomy) -> str:
    return member.entry_points[0].name


def _move_up(container: mlir.Operation, member: Anatomy) -> None:
    block = container.regions[0].blocks[0]
    entry_name = _entry_name(member)
    for operation in list(body(member.module)):
        if symbol_name(operation) != entry_name:
            operation.detach_from_parent()
            block.append(operation)
    member.module.erase()


def _merge_entry_points(container: mlir.Operation, pairs: Sequence[Pair]) -> None:
    # A foreach_match consumes its root, so each of the entry points does.
    entry_point = add_kernel_config(container, consumes=True)
    block = entry_point.regions[0].blocks[0]
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
