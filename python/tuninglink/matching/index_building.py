"""The builder of indexed specs: trees of `foreach_match` ops, each in the action of a pair of its parent.

The list of a group is a `foreach_match restrict_root` on the operation that passed the group's check. Such a walk also
visits the operations nested in its root, although the outer walk already visits them. The root is distinguished by
identity: every matcher receives the root as a further argument, and the first pair of each list matches all other
operations and does nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.matching.index_plan import IndexEntry, IndexGroup, Item, Range, Structure
from tuninglink.mlir import names
from tuninglink.mlir.symbols import (
    FreshNames,
    join_path,
    reference,
    references_in,
    split_path,
    symbol_name,
    symbols,
)
from tuninglink.mlir.walk import visit
from tuninglink.specs.transform_ops import (
    Pair,
    any_op,
    change_signature,
    named_sequence,
    pair_attributes,
    pairs_of,
    set_pairs,
    yield_,
)

if TYPE_CHECKING:
    from tuninglink.specs.structure import Anatomy

_EQUAL: Final = 0
"""The value of `transform`'s MatchCmpIPredicate."""


class IndexBuilder:
    """Replaces the entries of a spec by a planned tree.

    Args:
        anatomy: a matcher list.
        checks: for each structure in the tree, a named sequence with one argument that matches it.
    """

    def __init__(self, anatomy: Anatomy, checks: Mapping[Structure, mlir.Operation]) -> None:
        self._anatomy = anatomy
        self._module = anatomy.module
        self._block = self._module.regions[0].blocks[0]
        self._checks = checks
        self._pairs = pairs_of(anatomy.foreach_match)
        self._uses = Counter(join_path(path) for path in references_in(self._module))
        self._fresh: dict[tuple[str, ...], FreshNames] = {}
        self._adapted: dict[int, mlir.Attribute] = {}
        self._sequences: list[mlir.Operation] = []

    def build(self, items: Sequence[Item]) -> None:
        """Replace the entries by `items`, which are entries and groups of structures."""
        foreach_match = self._anatomy.foreach_match
        with self._module.context, mlir.Location.unknown():
            self._any_op = any_op()
            self._at_top = {item.position for item in items if isinstance(item, IndexEntry)}
            self._is_inside, self._leave = self._leaving_inside()
            pairs = [
                self._group(item) if isinstance(item, IndexGroup) else self._pairs[item.position]
                for item in items
            ]
            set_pairs(foreach_match, pairs)
            # For readers, the list that is compared first comes first.
            first = self._block.operations[0]
            for sequence in self._sequences:
                sequence.move_before(first)

    # --- Groups --------------------------------------------------------------------------------------------

    def _group(self, group: IndexGroup) -> Pair:
        """Add the sequences of a group, followed by those of nested groups."""
        check = group.check
        matcher = self._range(check) if isinstance(check, Range) else self._structure(check)
        action = self._add("search", 1, ownership=names.CONSUMED)
        action.attributes[names.NO_DECISION] = mlir.UnitAttr.get()
        with mlir.InsertionPoint(action.regions[0].blocks[0]):
            root = action.regions[0].blocks[0].arguments[0]
            foreach_match = mlir.Operation.create(
                names.FOREACH_MATCH,
                operands=[root, root],
                results=[self._any_op],
                attributes={"restrict_root": mlir.UnitAttr.get(), **pair_attributes([])},
            )
            yield_([])
        pairs = [(_symbol(self._is_inside), _symbol(self._leave))]
        pairs += [
            self._group(item)
            if isinstance(item, IndexGroup)
            else (self._adapted_matcher(item), self._pairs[item.position][1])
            for item in group.items
        ]
        set_pairs(foreach_match, pairs)
        return _symbol(matcher), _symbol(action)

    def _structure(self, structure: Structure) -> mlir.Operation:
        """Add the matcher of a group of the first level."""
        with mlir.InsertionPoint(self._block):
            sequence = self._checks[structure].clone().operation
        sequence.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(self._fresh_name("group"))
        self._sequences.append(sequence)
        return sequence

    def _range(self, check: Range) -> mlir.Operation:
        """Add the matcher of a nested group."""
        sequence = self._add("group", 2, [self._any_op])
        operation, _ = sequence.regions[0].blocks[0].arguments
        number, dimension = check.axis
        integer = mlir.IntegerType.get_signless(64)
        with mlir.InsertionPoint(sequence.regions[0].blocks[0]):
            operand = mlir.Operation.create(
                names.GET_OPERAND,
                operands=[operation],
                results=[mlir.Type.parse("!transform.any_value")],
                attributes={"raw_position_list": mlir.DenseI64ArrayAttr.get([number])},
            )
            mlir.Operation.create(
                names.MATCH_DIM_BOUNDS,
                operands=[operand.results[0]],
                attributes={
                    "dim": mlir.IntegerAttr.get(integer, dimension),
                    "lower_bound": mlir.IntegerAttr.get(integer, check.least),
                    "upper_bound": mlir.IntegerAttr.get(integer, check.most),
                },
            )
            yield_([operation])
        return sequence

    def _leaving_inside(self) -> tuple[mlir.Operation, mlir.Operation]:
        """Add a matcher of all operations but the root of a list, and an action that does nothing."""
        matcher = self._add("is_inside", 2)
        block = matcher.regions[0].blocks[0]
        parameter = mlir.Type.parse("!transform.param<i64>")
        two = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), 2)
        equal = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(32), _EQUAL)
        # The op is inside if it and the function are two handles, also after deduplication.
        with mlir.InsertionPoint(block):
            both = mlir.Operation.create(
                names.MERGE_HANDLES,
                operands=list(block.arguments),
                results=[self._any_op],
                attributes={"deduplicate": mlir.UnitAttr.get()},
            )
            count = mlir.Operation.create(
                names.NUM_ASSOCIATIONS, operands=both.results, results=[parameter]
            )
            expected = mlir.Operation.create(
                names.PARAM_CONSTANT, results=[parameter], attributes={"value": two}
            )
            mlir.Operation.create(
                names.MATCH_PARAMETER,
                operands=[count.results[0], expected.results[0]],
                attributes={"predicate": equal},
            )
            yield_([])
        action = self._add("leave", 0)
        action.attributes[names.NO_DECISION] = mlir.UnitAttr.get()
        with mlir.InsertionPoint(action.regions[0].blocks[0]):
            yield_([])
        return matcher, action

    def _add(
        self,
        name: str,
        operations: int,
        results: Sequence[mlir.Type] = (),
        ownership: str = names.READONLY,
    ) -> mlir.Operation:
        """Add an empty sequence with operation arguments."""
        with mlir.InsertionPoint(self._block):
            arguments = [self._any_op] * operations
            sequence = named_sequence(self._fresh_name(name), arguments, results, ownership)
        self._sequences.append(sequence)
        return sequence

    # --- Matchers of entries in groups ---------------------------------------------------------------------

    def _adapted_matcher(self, entry: IndexEntry) -> mlir.Attribute:
        """Return a matcher that also takes the root of a list; reuse the entry's own matcher if it has no other use."""
        if entry.position not in self._adapted:
            path = reference(self._pairs[entry.position][0])
            sequence = self._anatomy.table.lookup(path)
            assert sequence is not None, "a matcher list has no dangling matchers"
            *scope, name = split_path(path)
            if scope or entry.position in self._at_top or self._uses[path] > 1:
                name = self._fresh_name(name, tuple(scope), sequence.parent)
                with mlir.InsertionPoint.after(sequence):
                    sequence = sequence.clone().operation
                sequence.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(name)
            change_signature(sequence, [self._any_op], [])
            if entry.condition is not None:
                _forget_locations(sequence)
            self._adapted[entry.position] = mlir.SymbolRefAttr.get([*scope, name])
        return self._adapted[entry.position]

    def _fresh_name(
        self, name: str, scope: tuple[str, ...] = (), table: mlir.Operation | None = None
    ) -> str:
        if scope not in self._fresh:
            self._fresh[scope] = FreshNames(symbols(table or self._module))
        return self._fresh[scope].take(name)


def _forget_locations(sequence: mlir.Operation) -> None:
    """Remove all locations of a matcher except its own.

    Ops that report nothing do not need locations, which are the largest part of the spec that the compiler parses for
    every dispatch.
    """
    unknown = mlir.Location.unknown()

    def forget(operation: mlir.Operation) -> None:
        if operation != sequence:
            operation.location = unknown
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    argument.set_location(unknown)

    visit(sequence, forget)


def _symbol(sequence: mlir.Operation) -> mlir.Attribute:
    return mlir.FlatSymbolRefAttr.get(symbol_name(sequence) or "")
