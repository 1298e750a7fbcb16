"""The chained form: merged specs with an entry point that runs their entry points in order; and splitting of chains."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import FreshNames, symbol_name, symbols
from tuninglink.specs.linking.analysis import configures, restriction
from tuninglink.specs.linking.guards import guard
from tuninglink.specs.linking.link_form import modernize
from tuninglink.specs.linking.merging import copy_ops, spec_module
from tuninglink.specs.linking.rewriting import declare_ownership
from tuninglink.specs.module_scan import unmark
from tuninglink.specs.spec import Spec
from tuninglink.specs.structure import UNNAMED, is_guarded
from tuninglink.specs.transform_ops import (
    FAILURES_SUPPRESS,
    add_kernel_config,
    copy_sequence,
    empty_handle,
    include,
    merge_handles,
    yield_,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tuninglink.specs.structure import Anatomy, EntryPoint
    from tuninglink.specs.transform_ops import Handle


def chain(container: mlir.Operation, members: Sequence[Anatomy]) -> None:
    """Merge specs and add an entry point that runs their entry points in order and suppresses failures.

    A guarded entry point passes the decided ops to the next one. If no later spec configures anything, all entry points
    run unchanged.

    Args:
        container: the module that becomes the linked spec.
        members: the specs in order of precedence, as `prepared` returns them. A chain is replaced by its members.
    """
    # Specs that were linked before have guards already, and keep them if only one is left.
    are_guarded = any(map(configures, members[1:])) or any(map(_has_guards, members))
    drivers = [{member.driver.name} if member.driver else () for member in members]
    steps = list(_steps(container, members, copy_ops(container, members, drivers)))
    if are_guarded:
        guard(container, [sequence for step in steps for sequence in step.entry_points])
    sequence = add_kernel_config(container, consumes=False)
    block = sequence.regions[0].blocks[0]
    root: Handle = block.arguments[0]
    with container.context, container.location, mlir.InsertionPoint(block):
        decided: Sequence[Handle] = [empty_handle(root)] if are_guarded else []
        for step in steps:
            root, decided = step.run(root, decided)
        yield_([root])
        declare_ownership(sequence)


def specs_of(spec: Anatomy) -> Iterator[tuple[str, list[EntryPoint]]]:
    """Yield the name and the entry points of each spec in a chain, or of the only spec."""
    if spec.driver is None:
        yield symbol_name(spec.module) or UNNAMED, list(spec.entry_points)
        return
    for name, points in groupby(spec.entry_points, _spec_name):
        yield name, list(points)


def split(spec: Spec) -> list[Spec]:
    """Return the specs in a chain, as copies of its parts; empty if `spec` is not a chain."""
    anatomy = spec.anatomy
    if anatomy.driver is None:
        return []
    return [_part(spec, name, points) for name, points in specs_of(anatomy)]


def _part(spec: Spec, name: str, points: Sequence[EntryPoint]) -> Spec:
    table = spec.anatomy.table
    used = {sequence for _, sequence in table.run_by(*(point.path for point in points))}
    with spec.module.context, spec.module.location:
        module = spec_module(name)
        with mlir.InsertionPoint(module.regions[0].blocks[0]):
            for _, operation in table.scan.top:
                if operation in used:
                    operation.clone()
    return Spec(module, spec.source)


def _spec_name(entry_point: EntryPoint) -> str:
    name = entry_point.sequence.attributes.get(names.CHAINED_ENTRY_POINT)
    return name.value if isinstance(name, mlir.StringAttr) else UNNAMED


def _has_guards(spec: Anatomy) -> bool:
    return any(is_guarded(point.sequence) for point in spec.entry_points)


@dataclass(frozen=True)
class _Step:
    """A spec of a chain.

    Attributes:
        entry_points: its entry points.
        is_tame: whether the handle to decided ops that the step receives stays valid for all of these ops.
    """

    entry_points: list[mlir.Operation]
    is_tame: bool

    def run(self, root: Handle, decided: Sequence[Handle]) -> tuple[Handle, Sequence[Handle]]:
        """Include the entry points in order; return the root and the decided ops after them.

        Without guards, there is no handle to decided ops. A later entry point may change the ops that an earlier one
        decided. Only entry points that change the program other than by annotations may leave a handle to erased ops.
        """
        before = decided
        results: list[Handle] = []
        for entry_point in self.entry_points:
            path, operands = [symbol_name(entry_point) or ""], [root, *before]
            root, *decided = include(path, operands, [root.type] * len(operands), FAILURES_SUPPRESS)
            results += decided
            before = before if self.is_tame else decided
        if self.is_tame and len(results) > 1:
            decided = [merge_handles(results, deduplicate=True)]
        return root, decided


def _steps(
    container: mlir.Operation, members: Sequence[Anatomy], renames: Sequence[Mapping[str, str]]
) -> Iterator[_Step]:
    """Mark the entry points of merged specs, convert them to the current form, and yield them by spec, in order."""
    merged = symbols(container)
    spec_names, fresh = FreshNames(), FreshNames(merged)
    for member, new_names in zip(members, renames, strict=True):
        for symbol in new_names.values():
            unmark(merged[symbol])
        for name, points in specs_of(member):
            marker = mlir.StringAttr.get(spec_names.take(name), container.context)
            entry_points = []
            for point in points:
                sequence = merged[new_names[point.name]]
                if member.is_used(point):
                    # Where other sequences include it, only the copy is an entry point.
                    sequence = copy_sequence(sequence, fresh.take(new_names[point.name]))
                sequence.attributes[names.CHAINED_ENTRY_POINT] = marker
                modernize(sequence)
                entry_points.append(sequence)
            is_tame = len(points) == 1 or restriction(member, points) is None
            yield _Step(entry_points, is_tame)
