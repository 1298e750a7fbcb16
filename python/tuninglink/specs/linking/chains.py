"""Chains: linked specs that run the entry points of their nested modules one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import (
    FreshNames,
    join_path,
    reference,
    rename_symbols,
    symbol_name,
    symbols,
)
from tuninglink.mlir.walk import body
from tuninglink.specs.linking.guard_analysis import configures, restriction
from tuninglink.specs.linking.guards import guard
from tuninglink.specs.linking.modernization import free_kernel_config, modernize
from tuninglink.specs.linking.rewriting import declare_ownership
from tuninglink.specs.module_scan import is_entry_point
from tuninglink.specs.sequences import Handle, SequenceTable
from tuninglink.specs.structure import Anatomy
from tuninglink.specs.transform_ops import (
    FAILURES_SUPPRESS,
    add_kernel_config,
    any_op,
    argument_declarations,
    change_signature,
    empty_handle,
    include,
    merge_handles,
    yield_,
)

UNNAMED = "unnamed_spec"
"""The name of a nested module without one, as an include can only refer to a named module."""


def chain(container: mlir.Operation, members: Sequence[Anatomy]) -> None:
    """Add an entry point to `container` that runs those of `members` in order, failures suppressed.

    A guarded entry point passes the decided ops to the next one. Where no later spec configures anything, all are run
    as they are.

    Args:
        container: the module that becomes the linked spec.
        members: the specs in order of precedence, whose modules are in `container` and stay there.
    """
    _name_modules(container, members)
    # Specs that were linked before have guards already, and keep them if only one is left.
    are_guarded = any(map(configures, members[1:])) or any(map(is_guarded, members))
    paths = _name_entry_points(members)
    for member in members:
        with member.module.context:
            if names.DEFAULT_ENTRY_POINT in member.module.attributes:
                del member.module.attributes[names.DEFAULT_ENTRY_POINT]
        for entry_point in member.entry_points:
            modernize(entry_point, member.table)
            # An include in another module cannot refer to a private sequence.
            if names.SYMBOL_VISIBILITY in entry_point.sequence.attributes:
                del entry_point.sequence.attributes[names.SYMBOL_VISIBILITY]
    modules = [member.module for member in members]
    if are_guarded:
        for module in modules:
            _guard(Anatomy(module))
    sequence = add_kernel_config(container, consumes=False)
    block = sequence.regions[0].blocks[0]
    root: Handle = block.arguments[0]
    with container.context, container.location, mlir.InsertionPoint(block):
        if are_guarded:
            root, _ = _run_guarded(modules, root, empty_handle(root))
        else:
            for path in paths:
                root = include(path, [root], [root.type], FAILURES_SUPPRESS).results[0]
        yield_([root])
        declare_ownership(SequenceTable(container), sequence)


def chained_modules(module: mlir.Operation) -> list[mlir.Operation] | None:
    """Return the modules that `chain` put into a linked spec, in order; None for another module."""
    *modules, entry_point = body(module)
    if not (modules and is_entry_point(entry_point)):
        return None
    expected: list[str] = []
    for nested in modules:
        entry_names = [symbol_name(op) for op in body(nested) if is_entry_point(op)]
        if nested.name != names.MODULE or not entry_names:
            return None
        expected += [join_path([symbol_name(nested) or "", name or ""]) for name in entry_names]
    return modules if _runs(entry_point) == expected else None


def _runs(entry_point: mlir.Operation) -> list[str] | None:
    """Return the sequences that an entry point includes in order on the root; None if it does more."""
    root: Handle = entry_point.regions[0].blocks[0].arguments[0]
    *operations, terminator = body(entry_point)
    targets: list[str] = []
    for operation in operations:
        if operation.name == names.INCLUDE and operation.operands[0] == root:
            targets.append(reference(operation.attributes["target"]))
            root = operation.results[0]
        elif operation.name not in (names.SELECT, names.MERGE_HANDLES):
            return None
    return targets if len(terminator.operands) and terminator.operands[0] == root else None


def _name_modules(container: mlir.Operation, members: Sequence[Anatomy]) -> None:
    free_kernel_config(container)
    modules = {symbol_name(member.module) for member in members}
    taken = symbols(container)
    fresh = FreshNames([name for name in taken if name not in modules], reserved=taken)
    for member in members:
        old_name = symbol_name(member.module)
        name = fresh.take(old_name or UNNAMED)
        if name != old_name:
            attribute = mlir.StringAttr.get(name, container.context)
            member.module.attributes[names.SYMBOL_NAME] = attribute


def _name_entry_points(members: Sequence[Anatomy]) -> list[tuple[str, str]]:
    """Give every entry point a name of its own; return the path of each, in order.

    The interpreter confuses sequences of the same name, even in different modules
    (https://github.com/llvm/llvm-project/issues/119578).
    """
    defined = {name for member in members for name in symbols(member.module)}
    fresh = FreshNames([names.KERNEL_CONFIG], reserved=defined, start=1)
    paths = []
    for member in members:
        new_names = {point.name: fresh.take(point.name) for point in member.entry_points}
        rename_symbols(member.module, new_names)
        paths += [(symbol_name(member.module) or "", name) for name in new_names.values()]
    return paths


def _guard(spec: Anatomy) -> None:
    """Guard a spec, or the members of a chain, unless linking did so before."""
    if is_guarded(spec):
        return
    modules = chained_modules(spec.module)
    if modules is not None:
        for module in modules:
            _guard(Anatomy(module))
        _pass_through(spec.entry_points[0].sequence, modules)
    elif any(point.name in spec.table.scan.included for point in spec.entry_points):
        _separate(spec)
        guard(Anatomy(spec.module))
    else:
        guard(spec)


def is_guarded(spec: Anatomy) -> bool:
    """Return whether the entry points of a spec take the decided ops next to the root."""
    return names.CHAINED_ENTRY_POINT in spec.entry_points[0].sequence.attributes


def _separate(spec: Anatomy) -> None:
    """Copy the entry points that other sequences include, so that only the copies are entry points."""
    fresh = FreshNames(symbols(spec.module))
    for entry_point in spec.entry_points:
        with spec.module.context, mlir.InsertionPoint.after(entry_point.sequence):
            if entry_point.name in spec.table.scan.included:
                rename_symbols(spec.module, {entry_point.name: fresh.take(entry_point.name)})
                copy = entry_point.sequence.clone().operation
                copy.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(entry_point.name)
                del entry_point.sequence.attributes[names.ENTRY_POINT]


def _pass_through(sequence: mlir.Operation, modules: Sequence[mlir.Operation]) -> None:
    """Let the entry point of a chain take and yield the decided ops next to the root."""
    for operation in reversed(list(body(sequence))):
        operation.erase()
    block = sequence.regions[0].blocks[0]
    with sequence.context, sequence.location, mlir.InsertionPoint(block):
        sequence.attributes["arg_attrs"] = argument_declarations(1)
        (decided,) = change_signature(sequence, [any_op()], [any_op()])
        del sequence.attributes[names.ENTRY_POINT]
        sequence.attributes[names.CHAINED_ENTRY_POINT] = mlir.UnitAttr.get()
        yield_(_run_guarded(modules, block.arguments[0], decided))


def _run_guarded(
    modules: Sequence[mlir.Operation], root: Handle, decided: Handle
) -> tuple[Handle, Handle]:
    """Include the guarded entry points of modules in order; return the root and the decided ops after them.

    The entry points of a module are one spec: a later one may change the ops that an earlier one decided. Only where they
    change the program other than by annotations, the handle that one took may be to ops that are gone.
    """
    for module in modules:
        spec = Anatomy(module)
        is_tame = len(spec.entry_points) == 1 or restriction(spec) is None
        before, results = decided, []
        for entry_point in spec.entry_points:
            path = [symbol_name(module) or "", entry_point.name]
            root, decided = include(
                path, [root, before], [root.type] * 2, FAILURES_SUPPRESS
            ).results
            results.append(decided)
            before = before if is_tame else decided
        if is_tame and len(results) > 1:
            decided = merge_handles(results, deduplicate=True)
    return root, decided
