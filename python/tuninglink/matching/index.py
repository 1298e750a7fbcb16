"""Indexing of specs: the entries are rearranged so that an operation is compared with few of them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from iree.compiler import ir as mlir

from tuninglink.iree import OpKind
from tuninglink.matching import predicates as pred
from tuninglink.matching.exact import exact_condition
from tuninglink.matching.reader import STRUCTURED_MATCHERS, MatcherReader
from tuninglink.mlir import (
    DiagnosticSink,
    FreshNames,
    collect,
    join_path,
    names,
    reference,
    references_in,
    split_path,
    symbol_name,
    symbols,
)
from tuninglink.specs import (
    Anatomy,
    Pair,
    any_op,
    change_signature,
    create,
    has_entry_point,
    named_sequence,
    nested_specs,
    pair_attributes,
    pairs_of,
    set_pairs,
    yield_,
)

LONGEST_LIST: Final = 64
"""The default maximum length of a list that is not split: trying its entries takes no longer than the walk itself."""


@dataclass(frozen=True)
class Indexing:
    """The result of indexing a module and its nested modules."""

    entries: int = 0
    groups: int = 0


def index_matchers(
    module: mlir.Operation,
    *,
    longest: int = LONGEST_LIST,
    diagnostics: DiagnosticSink | None = None,
) -> Indexing:
    """Arrange the entries of a spec, and of those nested in it, in a tree of lists.

    The program is configured exactly as before. Modules without an entry point and specs that are not matcher lists
    stay unchanged.

    Args:
        module: a `builtin.module`.
        longest: the maximum length of a list that is not split.
        diagnostics: receives the specs that stay unchanged because they are not matcher lists.

    Raises:
        SpecError: an entry point has a signature that cannot be linked. The module is then unchanged.
    """
    # Read all specs before changing one.
    plans = []
    for spec in nested_specs(module) or ([module] if has_entry_point(module) else []):
        anatomy = Anatomy(spec)
        reason = anatomy.opaque_because
        if reason is None:
            checks: dict[pred.Condition, mlir.Operation] = {}
            with spec.context, mlir.Location.unknown():
                scratch = mlir.Module.create()  # Owns the checks.
                entries = _read_entries(anatomy, scratch, checks)
            plans.append((anatomy, scratch, checks, entries, plan_index(entries, longest)))
        elif diagnostics:
            remark = "this spec is not a list of matchers and stays as it is"
            diagnostics.remark(remark, spec, [reason])
    groups = 0
    for anatomy, _, checks, _, items in plans:
        if any(isinstance(item, IndexGroup) for item in items):
            groups += IndexBuilder(anatomy, checks).build(items)
    return Indexing(sum(len(entries) for _, _, _, entries, _ in plans), groups)


_INTEGERS: Final = "!transform.param<i64>"
_VALUE: Final = "!transform.any_value"

_COMPUTING: Final = ("linalg.", "iree_linalg_ext.", "tensor.")
"""The name prefixes of operations that get a group of their own, since a dispatch has few of them."""


def _read_entries(
    anatomy: Anatomy, scratch: mlir.Module, checks: dict[pred.Condition, mlir.Operation]
) -> list[IndexEntry]:
    """Read the entries of one spec, and add the matchers that check their structures to a module."""
    reader = MatcherReader(anatomy.table)
    structures: dict[Hashable, pred.Condition] = {}
    first: dict[str, int] = {}
    for position, (matcher, _) in enumerate(anatomy.pairs):
        first.setdefault(matcher, position)
    entries = []
    for matcher, position in first.items():
        condition = exact_condition(reader.read(matcher))
        if not isinstance(condition, pred.Condition):
            entries.append(IndexEntry(position))
            continue
        structure = None
        check = _check(condition)
        if check is not None:
            name, attributes, results = check
            key = name, *attributes.items()
            if key not in structures:
                with mlir.InsertionPoint(scratch.body):
                    sequence = named_sequence("matcher", [any_op()], [any_op()])
                block = sequence.regions[0].blocks[0]
                with mlir.InsertionPoint(block):
                    create(name, [*block.arguments], [_INTEGERS] * results, **attributes)
                    yield_([*block.arguments])
                implied = exact_condition(MatcherReader().read_sequence(sequence))
                assert isinstance(implied, pred.Condition)
                structures[key] = implied
                checks[structures[key]] = sequence
            structure = structures[key]
        # The dimensions of operands for which the condition requires one static size.
        operand_of = {
            loop: dimension
            for dimension, loop in condition.loops.items()
            if dimension[0] == pred.OPERAND
        }
        axes: dict[Axis, int] = {}
        for fact in condition.sizes:
            group, number, dimension = operand_of.get(fact.dimension, fact.dimension)
            if fact.extent.size is not None and group == pred.OPERAND:
                axes[number, dimension] = fact.extent.size
        entries.append(IndexEntry(position, condition, structure, axes))
    return entries


def _check(condition: pred.Condition) -> tuple[str, dict[str, mlir.Attribute], int] | None:
    """Return an operation that matches all ops for which a condition holds, a specific one if possible."""
    # The result holds the name, the attributes and the number of results of a matcher op.
    maps = condition.maps
    count = len(maps.operands) if maps is not None else pred.STRUCTURED_OPERANDS
    for name, form in STRUCTURED_MATCHERS.items():
        is_graph = condition.root is not None
        if form.op_name:
            # The matcher op for attention rejects ops with a mask, which have an additional map.
            unmasked = maps is not None and count == pred.UNMASKED_INPUTS + len(form.outputs)
            is_implied = condition.names == frozenset({form.op_name}) and unmasked and not is_graph
        else:
            is_alike = form.kind is OpKind.CONTRACTION or not is_graph
            is_implied = condition.kinds == {form.kind} and is_alike
        if is_implied:
            types = [condition.types.get(operand, "") for operand in range(count)]
            attributes = form.attributes(maps.text if maps is not None else None, types)
            return name, attributes, len(form.roles)
    if condition.names and all(name_.startswith(_COMPUTING) for name_ in condition.names):
        accepted = [mlir.StringAttr.get(name_) for name_ in sorted(condition.names)]
        return names.MATCH_OPERATION_NAME, {"op_names": mlir.ArrayAttr.get(accepted)}, 0
    return None


# --- The plan of an indexed spec: a tree of checks that narrow down the entries to compare with an operation

Axis = tuple[int, int]
"""A dimension of an operand: the number of the operand, and the dimension."""

_LEAST_MEMBERS: Final = 4
"""The minimum number of entries in a group. A smaller group costs more than it saves."""

_MOST_STRUCTURES: Final = 64
"""The maximum number of groups of the first level: every other entry is compared with each of them."""

_MOST_RANGES: Final = 128
"""The maximum number of ranges of sizes that one list is split into."""


@dataclass(frozen=True, eq=False)
class IndexEntry:
    """The properties of an entry that the tree depends on.

    Attributes:
        position: its position in the order of precedence.
        condition: the condition of its matcher; None if unknown, so that it may match anything.
        structure: the condition of a check on the name of an op, or on its kind with element types and indexing maps,
            that its matcher implies; entries with the same check share it. None if there is no check.
        sizes: the dimensions of operands for which its matcher requires one size.
    """

    position: int
    condition: pred.Condition | None = None
    structure: pred.Condition | None = None
    sizes: Mapping[Axis, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Range:
    """A check that a dimension of an operand has a size from `least` to `most`, inclusive."""

    axis: Axis
    least: int
    most: int


@dataclass(frozen=True, eq=False)
class IndexGroup:
    """A group that replaces several entries in a list; its check is the condition of a structure, or a range."""

    check: pred.Condition | Range
    items: tuple[Item, ...]


Item: TypeAlias = IndexEntry | IndexGroup


def plan_index(entries: Sequence[IndexEntry], longest: int) -> tuple[Item, ...]:
    """Return the list that replaces `entries`, with groups where they are profitable."""
    if len(entries) <= longest:
        return tuple(entries)
    # The structures shared by enough entries, in the order of the entries.
    counts = Counter(entry.structure for entry in entries if entry.structure is not None)
    frequent = dict(counts.most_common(_MOST_STRUCTURES))
    lists: dict[pred.Condition, list[IndexEntry]] = {}
    for structure, count in counts.items():
        if structure not in frequent or count < _LEAST_MEMBERS:
            continue
        # The entries that can match an operation with the structure.
        fitting = []
        excluded = {structure: False}
        for entry in entries:
            own, condition = entry.structure, entry.condition
            if own is not None and own not in excluded:
                excluded[own] = pred.exclude_each_other(own, structure)
            if (own is None or not excluded[own]) and (
                own is structure
                or condition is None
                or not pred.exclude_each_other(condition, structure)
            ):
                fitting.append(entry)
        if len(fitting) <= 2 * count:
            lists[structure] = fitting
    members = [entry for entry in entries if entry.structure in lists]
    return _assemble(entries, members, lists.items(), longest)


def _split(entries: Sequence[IndexEntry], longest: int) -> tuple[Item, ...]:
    """Split a list by ranges of one dimension's size, and parts that are still too long by another dimension."""
    if len(entries) <= longest:
        return tuple(entries)
    # Find the dimension whose size distinguishes most entries: after a lookup, the fewest are left on average.
    counts: defaultdict[Axis, Counter[int]] = defaultdict(Counter)
    for entry in entries:
        for axis, size in entry.sizes.items():
            counts[axis][size] += 1
    left = {
        axis: len(entries)
        - of_size.total()
        + sum(count**2 for count in of_size.values()) / of_size.total()
        for axis, of_size in counts.items()
    }
    axis = min(sorted(counts), key=left.__getitem__, default=(0, 0))
    members = [entry for entry in entries if axis in entry.sizes]
    others = [entry for entry in entries if axis not in entry.sizes]
    count = min(math.ceil(len(members) / longest), _MOST_RANGES)
    if others:
        count = min(count, len(members) // len(others))
    if count <= 1:
        return tuple(entries)
    # Divide the entries into disjoint ranges of sizes, about as many in each.
    target = max(math.ceil(len(members) / count), _LEAST_MEMBERS)
    by_size: defaultdict[int, list[IndexEntry]] = defaultdict(list)
    for entry in members:
        by_size[entry.sizes[axis]].append(entry)
    ranges: list[list[IndexEntry]] = []
    for size in sorted(by_size):
        if not ranges or len(ranges[-1]) + len(by_size[size]) > target:
            ranges.append([])
        ranges[-1] += by_size[size]
    ranges = [some for some in ranges if _LEAST_MEMBERS <= len(some) < len(members)]
    lists = [
        (
            Range(axis, some[0].sizes[axis], some[-1].sizes[axis]),
            sorted([*some, *others], key=lambda entry: entry.position),
        )
        for some in ranges
    ]
    return _assemble(entries, [entry for some in ranges for entry in some], lists, longest)


def _assemble(
    entries: Sequence[IndexEntry],
    members: Sequence[IndexEntry],
    lists: Iterable[tuple[pred.Condition | Range, Sequence[IndexEntry]]],
    longest: int,
) -> tuple[Item, ...]:
    """Return a list in which groups, each for a check, replace their members at the position of the first one."""
    front = min((member.position for member in members), default=entries[-1].position + 1)
    groups = [
        IndexGroup(check, _split([entry for entry in some if entry.position >= front], longest))
        for check, some in lists
    ]
    gone = set(members)
    before = [entry for entry in entries if entry.position < front]
    behind = [entry for entry in entries if entry.position >= front and entry not in gone]
    return (*before, *groups, *behind)


# --- The builder of indexed specs: trees of `foreach_match` ops, each in the action of a pair of its parent

_EQUAL: Final = 0
"""The value of `transform`'s MatchCmpIPredicate."""


class IndexBuilder:
    """Replaces the entries of a spec by a planned tree."""

    def __init__(self, anatomy: Anatomy, checks: Mapping[pred.Condition, mlir.Operation]) -> None:
        self._anatomy = anatomy
        self._module = anatomy.module
        self._block = self._module.regions[0].blocks[0]
        self._checks = checks
        self._pairs = pairs_of(anatomy.foreach_match)
        self._uses = Counter(join_path(path) for path in references_in(self._module))
        self._fresh: dict[tuple[str, ...], FreshNames] = {}
        self._adapted_matchers: dict[int, mlir.Attribute] = {}
        self._sequences: list[mlir.Operation] = []
        self._group_count = 0

    def build(self, items: Sequence[Item]) -> int:
        """Replace the entries by `items`, which are entries and groups of structures; return the number of groups."""
        with self._module.context, mlir.Location.unknown():
            self._any_op = any_op()
            self._at_top = {item.position for item in items if isinstance(item, IndexEntry)}
            # Add a matcher of all operations but the root of a list, and an action that does nothing.
            matcher = self._add("is_inside", 2)
            block = matcher.regions[0].blocks[0]
            two = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), 2)
            equal = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(32), _EQUAL)
            # The op is inside if it and the function are two handles, also after deduplication.
            with mlir.InsertionPoint(block):
                handles, deduplicated = [*block.arguments], mlir.UnitAttr.get()
                both = create(
                    names.MERGE_HANDLES, handles, [self._any_op], deduplicate=deduplicated
                )
                (count,) = create(names.NUM_ASSOCIATIONS, both, [_INTEGERS])
                (expected,) = create(names.PARAM_CONSTANT, [], [_INTEGERS], value=two)
                create(names.MATCH_PARAMETER, [count, expected], predicate=equal)
                yield_([])
            action = self._add("leave", 0)
            action.attributes[names.NO_DECISION] = mlir.UnitAttr.get()
            with mlir.InsertionPoint(action.regions[0].blocks[0]):
                yield_([])
            self._leaving = _symbols(matcher, action)
            pairs = [
                self._group(item) if isinstance(item, IndexGroup) else self._pairs[item.position]
                for item in items
            ]
            set_pairs(self._anatomy.foreach_match, pairs)
            # For readers, the list that is compared first comes first.
            first = self._block.operations[0]
            for sequence in self._sequences:
                sequence.move_before(first)
        return self._group_count

    # --- Groups --------------------------------------------------------------------------------------------

    def _group(self, group: IndexGroup) -> Pair:
        """Add the sequences of a group, followed by those of nested groups."""
        self._group_count += 1
        check = group.check
        if isinstance(check, Range):
            matcher = self._add("group", 2, [self._any_op])
            operation, _ = matcher.regions[0].blocks[0].arguments
            number, dimension = check.axis
            positions = mlir.DenseI64ArrayAttr.get([number])
            integer = mlir.IntegerType.get_signless(64)
            with mlir.InsertionPoint(matcher.regions[0].blocks[0]):
                create(
                    names.MATCH_DIM_BOUNDS,
                    create(names.GET_OPERAND, [operation], [_VALUE], raw_position_list=positions),
                    dim=mlir.IntegerAttr.get(integer, dimension),
                    lower_bound=mlir.IntegerAttr.get(integer, check.least),
                    upper_bound=mlir.IntegerAttr.get(integer, check.most),
                )
                yield_([operation])
        else:
            with mlir.InsertionPoint(self._block):
                matcher = self._checks[check].clone().operation
            matcher.attributes[names.SYMBOL_NAME] = mlir.StringAttr.get(self._fresh_name("group"))
            self._sequences.append(matcher)
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
        pairs: list[Pair] = [self._leaving]
        pairs += [
            self._group(item)
            if isinstance(item, IndexGroup)
            else (self._adapted(item), self._pairs[item.position][1])
            for item in group.items
        ]
        set_pairs(foreach_match, pairs)
        return _symbols(matcher, action)

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

    def _adapted(self, entry: IndexEntry) -> mlir.Attribute:
        """Return a matcher that also takes the root of a list; reuse the entry's own matcher if it has no other use."""
        if entry.position in self._adapted_matchers:
            return self._adapted_matchers[entry.position]
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
            # Ops that report nothing do not need locations, which are the largest part of the spec that the compiler
            # parses for every dispatch.
            unknown = mlir.Location.unknown()
            for operation in collect(sequence):
                if operation != sequence:
                    operation.location = unknown
                for block in (block for region in operation.regions for block in region.blocks):
                    for argument in block.arguments:
                        argument.set_location(unknown)
        self._adapted_matchers[entry.position] = mlir.SymbolRefAttr.get([*scope, name])
        return self._adapted_matchers[entry.position]

    def _fresh_name(
        self, name: str, scope: tuple[str, ...] = (), table: mlir.Operation | None = None
    ) -> str:
        if scope not in self._fresh:
            self._fresh[scope] = FreshNames(symbols(table or self._module))
        return self._fresh[scope].take(name)


def _symbols(matcher: mlir.Operation, action: mlir.Operation) -> Pair:
    one, other = (
        mlir.FlatSymbolRefAttr.get(symbol_name(sequence) or "") for sequence in (matcher, action)
    )
    return one, other
