"""Guards: keeping a later spec off the ops that an earlier one decided.

In a chain, one spec hands to the next the root of the program and a handle to the ops that are decided: those that an
entry matched, and those that one configured. A guarded spec keeps decided ops from its matchers and its actions, and
hands on all that are decided by then. Nothing is written into the program for that: a DAG matcher refuses an op with an
attribute that it does not show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import reference, split_path
from tuninglink.mlir.walk import body
from tuninglink.specs.builders import (
    FAILURES_SUPPRESS,
    any_op,
    argument_declarations,
    change_signature,
    include,
    merge_handles,
    yield_,
    yield_more,
)
from tuninglink.specs.callees import Callees
from tuninglink.specs.chains import chained_modules, takes_decided
from tuninglink.specs.decided import (
    DROP,
    IS_ANY,
    IS_DECIDED,
    IS_UNCONFIGURED,
    KEEP_DECIDED,
)
from tuninglink.specs.guardable import unguarded_because
from tuninglink.specs.guarded_sequences import GuardedSequences
from tuninglink.specs.pairs import named_pair_attributes
from tuninglink.specs.structure import Anatomy
from tuninglink.specs.walk_roots import root_if_equal, root_is_configured, root_is_decided

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tuninglink.specs.sequences import Handle


def guard(spec: Anatomy) -> None:
    """Rewrites a spec so that it leaves decided ops alone if that can be, and hands on what is decided.

    A spec that decided ops cannot be kept from still hands them on, with those that it decides itself, as far as
    that can be told: what its lists match, and what is configured behind it.
    """
    if takes_decided(spec.entry_points[0].sequence):
        return
    with spec.module.context:
        if (modules := chained_modules(spec.module)) is not None:
            for each in modules:
                guard(Anatomy(each))
            _hand_through(spec.entry_points[0].sequence)
            return
        guards = unguarded_because(spec) is None
        for entry_point in spec.entry_points:
            _EntryPoints(spec, guards=guards).rewrite(entry_point.sequence)


def _hand_through(sequence: mlir.Operation) -> None:
    """Lets the entry point of a chain, whose parts are guarded, take and give the decided ops beside the root."""
    includes = [each for each in body(sequence) if each.name == names.INCLUDE]
    targets = [split_path(reference(each.attributes["target"])) for each in includes]
    for operation in reversed(list(body(sequence))):
        operation.erase()
    block = sequence.regions[0].blocks[0]
    sequence.attributes["arg_attrs"] = argument_declarations(1)
    (decided,) = change_signature(sequence, [any_op()], [any_op()])
    del sequence.attributes[names.ENTRY_POINT]
    sequence.attributes[names.CHAINED_ENTRY_POINT] = mlir.UnitAttr.get()
    with sequence.location, mlir.InsertionPoint(block):
        yield_(run_guarded(targets, [block.arguments[0], decided]))


def run_guarded(targets: Sequence[Sequence[str]], handles: list[Handle]) -> list[Handle]:
    """Includes guarded entry points one after the other; takes and gives the root and the decided ops."""
    for target in targets:
        kinds = [each.type for each in handles]
        handles = list(include(target, handles, kinds, FAILURES_SUPPRESS).results)
    return handles


class _EntryPoints:
    """Rewrites entry points.

    Args:
        spec: the spec.
        guards: whether decided ops are kept from it; else it only hands them on.
    """

    def __init__(self, spec: Anatomy, *, guards: bool) -> None:
        self._table = spec.table
        self._callees = Callees(spec.module)
        self._guards = guards
        self._any_op = any_op()

    def rewrite(self, sequence: mlir.Operation) -> None:
        """Lets an entry point take and give the decided ops beside the root."""
        operations = list(body(sequence))
        terminator = operations[-1]
        block = sequence.regions[0].blocks[0]
        given: Handle = block.arguments[0]
        # An include that consumes the root would invalidate the handle to the decided ops as well.
        with sequence.location, mlir.InsertionPoint.at_block_begin(block):
            root = merge_handles([given])
        given.replace_all_uses_except(root, block.operations[0].operation)
        sequence.attributes["arg_attrs"] = argument_declarations(1)
        (decided,) = change_signature(sequence, [self._any_op], [self._any_op])
        del sequence.attributes[names.ENTRY_POINT]
        sequence.attributes[names.CHAINED_ENTRY_POINT] = mlir.UnitAttr.get()
        sequences = GuardedSequences(self._callees, guards=self._guards)
        found = sequences.rewrite(self._table, operations, decided, own=set())
        with terminator.location, mlir.InsertionPoint(terminator):
            now = found.before
            if found.handles:
                now = merge_handles([now, *found.handles], deduplicate=True)
            # What an entry point includes may fail, and the entry point goes on.
            if found.may_lose or not found.is_complete:
                root, now = self._add_configured(terminator.operands[0], now)
                terminator.operands[0] = root
        yield_more(sequence, [now])

    def _add_configured(self, root: Handle, decided: Handle) -> list[Handle]:
        """Adds what is configured to what is decided, for lack of anything better; returns new handles to both."""
        helpers = self._callees.helpers(self._table)
        before = root_is_decided(root, decided)
        matchers = [[helpers.name(each)] for each in (IS_DECIDED, IS_UNCONFIGURED, IS_ANY)]
        actions = [[helpers.name(each)] for each in (KEEP_DECIDED, DROP, KEEP_DECIDED)]
        walk = mlir.Operation.create(
            names.FOREACH_MATCH,
            operands=[root, decided],
            results=[root.type, self._any_op],
            attributes={
                **named_pair_attributes(zip(matchers, actions, strict=True)),
                "flatten_results": mlir.UnitAttr.get(),
            },
        )
        root, decided = walk.results
        kept = [
            root_if_equal(helpers, root, each)
            for each in (before, root_is_configured(helpers, root))
        ]
        return [root, merge_handles([decided, *kept], deduplicate=True)]
