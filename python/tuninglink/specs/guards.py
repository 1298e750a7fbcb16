"""Guards: keeping a later spec off the operations that an earlier one configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iree.compiler import ir as mlir

from tuninglink.mlir import names
from tuninglink.mlir.symbols import FreshNames, symbols
from tuninglink.mlir.walk import body
from tuninglink.specs.sequences import reference

if TYPE_CHECKING:
    from tuninglink.specs.sequences import Handle
    from tuninglink.specs.structure import Anatomy


def guard_matchers(spec: Anatomy) -> None:
    """Lets every matcher of a matcher list fail where what its entry would configure is configured.

    The guard, `transform.iree.match.has_no_lowering_config`, stands before the matcher's yield, on each
    yielded operation that the action annotates: it is reached only by what matches otherwise. A matcher
    that is also used as a helper stays as it is, and a guarded copy takes its place in the entry.
    """
    foreach_match = spec.foreach_match
    matchers = foreach_match.attributes["matchers"]
    assert isinstance(matchers, mlir.ArrayAttr)
    guarding = _Guarding(spec)
    with spec.module.context, foreach_match.location:
        guarded = {
            path: guarding.guard(path, positions)
            for path, positions in _guarded_positions(spec).items()
        }
        foreach_match.attributes["matchers"] = mlir.ArrayAttr.get(
            [guarded[reference(matcher)] for matcher in matchers]
        )


def _guarded_positions(spec: Anatomy) -> dict[str, dict[int, None]]:
    """Returns for each matcher which of the values it yields its actions annotate, in order."""
    guarded: dict[str, dict[int, None]] = {}
    for matcher, action in spec.table.pairs(spec.foreach_match):
        positions = guarded.setdefault(matcher, {})
        positions.update({each.operand: None for each in spec.annotations(action)})
    return guarded


class _Guarding:
    """The guarding of one spec; holds what is the same for all its matchers."""

    def __init__(self, spec: Anatomy) -> None:
        actions = {action for _, action in spec.table.pairs(spec.foreach_match)}
        self._helpers = actions | spec.table.included
        self._table = spec.table
        self._fresh: dict[tuple[str, ...], FreshNames] = {}

    def guard(self, path: str, positions: dict[int, None]) -> mlir.Attribute:
        """Guards the matcher at `path`, or a copy of it; returns a reference to what is guarded."""
        sequence = self._table.lookup(path)
        assert sequence is not None, "a matcher list has no dangling matchers"
        *scope, name = path.split("::")
        # An include inside a nested module refers to the matcher without its scope.
        if not self._helpers.isdisjoint({path, name}):
            name = self._fresh_name(tuple(scope), sequence, name)
            sequence = _copy(sequence, name)
        terminator = list(body(sequence))[-1]
        present = {
            op.operands[0] for op in body(sequence) if op.name == names.HAS_NO_LOWERING_CONFIG
        }
        yielded = list(terminator.operands)
        for handle in dict.fromkeys(yielded[position] for position in positions):
            if handle not in present:
                _insert_guard(terminator, handle)
        return mlir.SymbolRefAttr.get([*scope, name])

    def _fresh_name(self, scope: tuple[str, ...], sequence: mlir.Operation, name: str) -> str:
        fresh = self._fresh.get(scope)
        if fresh is None:
            assert sequence.parent is not None
            fresh = self._fresh[scope] = FreshNames(symbols(sequence.parent))
            for taken in symbols(sequence.parent):
                fresh.take(taken)
        return fresh.take(name)


def _copy(sequence: mlir.Operation, name: str) -> mlir.Operation:
    with mlir.InsertionPoint.after(sequence):
        copy = sequence.clone()
    copy.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
    return copy


def _insert_guard(terminator: mlir.Operation, handle: Handle) -> None:
    with mlir.InsertionPoint(terminator):
        mlir.Operation.create(
            names.HAS_NO_LOWERING_CONFIG, operands=[handle], loc=terminator.location
        )
