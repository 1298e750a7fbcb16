"""Merging the sequences of several specs into one module."""

from __future__ import annotations

import itertools
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.errors import SpecError
from tuninglink.mlir import names
from tuninglink.mlir.diagnostics import error, note
from tuninglink.mlir.symbols import (
    FreshNames,
    SymbolRenaming,
    references,
    rename_symbols,
    symbols,
)
from tuninglink.mlir.walk import collect, postorder
from tuninglink.specs.bindings import bind_entries, binding_of
from tuninglink.specs.module_scan import is_entry_point
from tuninglink.specs.spec import dissolve_nested, inner_name
from tuninglink.specs.structure import Anatomy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from tuninglink.specs.sequences import SequenceTable


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

    A symbol whose name is taken gets a numeric suffix, unless it is one that specs share.

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
    shared = shared_symbols(members)
    block = container.regions[0].blocks[0]
    with container.context, mlir.Location.unknown(), mlir.InsertionPoint(block):
        for member, member_names, left_out, owners in zip(
            members, defined, omitted, shared, strict=True
        ):
            renames.append(
                {
                    name: renames[owners[name]][name]
                    if name in owners
                    else fresh.take(inner_name(name))
                    for name in member_names
                }
            )
            renaming = SymbolRenaming(renames[-1])
            scan = member.table.scan
            renaming.follow_imports(scan.imports)
            for name, operation in scan.top:
                if name in left_out or name in owners:
                    continue
                copy = operation.clone().operation
                renaming.rename_symbol(copy, name)
                if renaming:
                    scan.rename_references(copy, name, renaming)
    return renames


def shared_symbols(members: Sequence[Anatomy]) -> list[Mapping[str, int]]:
    """Return for each spec the symbols that an earlier one defines in the same way, with the position of that one.

    Only symbols that a spec imports into programs are shared, and what these refer to.
    """
    shared: list[Mapping[str, int]] = []
    for position, member in enumerate(members):
        owners: dict[str, int] = {}
        for name in _imported(member):
            for earlier in range(position):
                if name not in owners and _is_same(member, members[earlier], name):
                    owners[name] = shared[earlier].get(name, earlier)
        shared.append(owners)
    return shared


def _imported(member: Anatomy) -> list[str]:
    """Return the symbols that a spec imports into programs, and those that these refer to."""
    table = member.table
    roots = [path[0] for op in table.scan.imports for path in references(op.attributes["symbol"])]
    return list(postorder(filter(table.symbol, roots), partial(_referenced, table)))


def _referenced(table: SequenceTable, name: str) -> list[str]:
    return list(filter(table.symbol, table.referenced(name)))


def _is_same(one: Anatomy, other: Anatomy, name: str) -> bool:
    """Return whether two specs define a symbol, and all that it refers to, in the same way."""
    flags = mlir.OperationEquivalenceFlags.IGNORE_LOCATIONS
    for each in postorder([name], partial(_referenced, one.table)):
        mine, theirs = one.table.symbol(each), other.table.symbol(each)
        if mine is None or theirs is None or is_entry_point(mine):
            return False
        if not mine.is_structurally_equivalent(theirs, flags):
            return False
    return True


def check_imported_names(members: Sequence[Anatomy]) -> None:
    """Check that imported symbols whose names clash can be renamed wherever the compiler looks for them by name.

    Raises:
        SpecError: a pass or the call of a microkernel names one in a way that cannot be renamed.
    """
    for position, (member, owners) in enumerate(zip(members, shared_symbols(members), strict=True)):
        for name in _imported(member):
            earlier = (other.table.symbol(name) for other in members[:position])
            taken = next(filter(None, earlier), None)
            if taken is None or name in owners:
                continue
            operation = next(_naming(member, name), None)
            if operation is not None:
                message = (
                    f"'@{name}' is named in a string here, and another spec defines another '@{name}'; "
                    "rename it in one of the specs"
                )
                raise SpecError(error(message, operation, [note("the other one", taken)]))


def _naming(member: Anatomy, name: str) -> Iterator[mlir.Operation]:
    """Yield the ops of a spec that name a symbol in the options of a pass, in a pipeline or as a microkernel."""
    word = re.compile(rf"(?<![\w$.-]){re.escape(name)}(?![\w$.-])")
    for operation in collect(member.module, names.RUN_REGISTERED, names.UKERNEL_GENERIC):
        options = [operation.attributes.get(key) for key in ("options", "u_kernel_fn_name")]
        constants = (op.owner for op in operation.operands if isinstance(op, mlir.OpResult))
        options += [constant.attributes.get("value") for constant in constants]
        if any(option is not None and word.search(str(option)) for option in options):
            yield operation
    for operation in collect(member.module, names.PARAM_CONSTANT):
        pipelines = _PIPELINE.findall(str(operation.attributes["value"]))
        if any(map(word.search, pipelines)):
            yield operation


_PIPELINE: Final = re.compile(r'#iree_codegen\.pass_pipeline<"(.*?)">')


def _free_kernel_config(container: mlir.Operation) -> None:
    """Rename a symbol that collides with the entry point that linking adds to `container`, with all its uses."""
    taken = symbols(container)
    if names.KERNEL_CONFIG in taken:
        renamed = FreshNames(taken).take(inner_name(names.KERNEL_CONFIG))
        rename_symbols(container, {names.KERNEL_CONFIG: renamed})
