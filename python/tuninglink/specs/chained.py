"""Linking when a spec is opaque: the entry points are run one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import FreshNames, rename_symbols, symbol_name, symbols
from tuninglink.specs.builders import (
    FAILURES_SUPPRESS,
    add_kernel_config,
    empty_handle,
    include,
    yield_,
)
from tuninglink.specs.chains import takes_decided
from tuninglink.specs.entry_points import free_kernel_config, modernize
from tuninglink.specs.guardable import needs_guard
from tuninglink.specs.guards import guard, run_guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs.sequences import Handle
    from tuninglink.specs.structure import Anatomy, EntryPoint

UNNAMED = "unnamed_spec"
"""What an unnamed member is called, as an include can only refer to a named module."""


def chain(container: mlir.Operation, members: Sequence[Anatomy]) -> None:
    """Adds an entry point to `container` that runs those of `members` in order, failures suppressed.

    Each hands on what is decided to the next, and is guarded against what it is handed, as far as that can be. Where
    no later one both configures anything and can be guarded, all are run as they are.

    Args:
        container: the module that becomes the linked spec.
        members: the specs in order of precedence, whose modules stand in `container` and stay there.
    """
    _name_modules(container, members)
    paths = _name_entry_points(members)
    are_guarded = any(map(needs_guard, members[1:]))
    for member in members:
        with member.module.context:
            if names.DEFAULT_ENTRY_POINT in member.module.attributes:
                del member.module.attributes[names.DEFAULT_ENTRY_POINT]
        for entry_point in member.entry_points:
            modernize(entry_point, member.table)
            _make_public(entry_point)
        if are_guarded:
            guard(member)
    _include_all(container, paths, members[0].entry_points[0])


def _make_public(entry_point: EntryPoint) -> None:
    """Lets an include in another module refer to the entry point."""
    attributes = entry_point.sequence.attributes
    if names.SYMBOL_VISIBILITY in attributes:
        del attributes[names.SYMBOL_VISIBILITY]


def _name_modules(container: mlir.Operation, members: Sequence[Anatomy]) -> None:
    free_kernel_config(container)
    modules = {symbol_name(member.module) for member in members}
    taken = symbols(container)
    fresh = FreshNames([name for name in taken if name not in modules], reserved=taken)
    for member in members:
        wanted = symbol_name(member.module)
        name = fresh.take(wanted or UNNAMED)
        if name != wanted:
            attribute = mlir.StringAttr.get(name, container.context)
            member.module.attributes[names.SYMBOL_NAME] = attribute


def _name_entry_points(members: Sequence[Anatomy]) -> list[tuple[str, str]]:
    """Gives every entry point a name of its own; returns the path of each, in order.

    The interpreter takes sequences of the same name for one, even in different modules
    (https://github.com/llvm/llvm-project/issues/119578).
    """
    defined = {name for member in members for name in symbols(member.module)}
    fresh = FreshNames([names.KERNEL_CONFIG], reserved=defined, start=1)
    paths = []
    for member in members:
        taken = {each.name: fresh.take(each.name) for each in member.entry_points}
        rename_symbols(member.module, taken)
        paths += [(symbol_name(member.module) or "", new) for new in taken.values()]
    return paths


def _include_all(
    container: mlir.Operation, paths: Sequence[tuple[str, str]], first: EntryPoint
) -> None:
    hands_on = takes_decided(first.sequence)
    entry_point = add_kernel_config(container, consumes=first.consumes and not hands_on)
    block = entry_point.regions[0].blocks[0]
    root: Handle = block.arguments[0]
    with container.context, container.location, mlir.InsertionPoint(block):
        if hands_on:
            root, _ = run_guarded(paths, [root, empty_handle(root)])
        else:
            for path in paths:
                root = include(path, [root], [root.type], FAILURES_SUPPRESS).results[0]
        yield_([root])
