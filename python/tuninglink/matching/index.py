"""Indexing of specs: the entries are rearranged so that an operation is compared with few of them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, TypeAlias

from iree.compiler import ir as mlir

from tuninglink.iree import OpKind
from tuninglink.matching import predicates as pred
from tuninglink.matching.exact import exact_condition
from tuninglink.matching.reader import (
    STRUCTURED_MATCHERS,
    MatcherReader,
    read_matcher,
)
from tuninglink.mlir import (
    DiagnosticSink,
    FreshNames,
    join_path,
    names,
    reference,
    references_in,
    split_path,
    symbol_name,
    symbols,
    visit,
)
from tuninglink.specs import (
    Anatomy,
    Pair,
    any_op,
    change_signature,
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

    def __add__(self, other: Indexing) -> Indexing:
        return Indexing(self.entries + other.entries, self.groups + other.groups)


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
            checks: dict[Structure, mlir.Operation] = {}
            with spec.context, mlir.Location.unknown():
                scratch = mlir.Module.create()  # Owns the checks.
                entries = _read_entries(anatomy, scratch, checks)
            plans.append((anatomy, scratch, checks, entries, plan_index(entries, longest)))
        elif diagnostics:
            remark = "this spec is not a list of matchers and stays as it is"
            diagnostics.remark(remark, spec, [reason])

    def count_groups(items: Sequence[Item]) -> int:
        return sum(1 + count_groups(item.items) for item in items if isinstance(item, IndexGroup))

    result = Indexing()
    for anatomy, _, checks, entries, items in plans:
        groups = count_groups(items)
        if groups:
            IndexBuilder(anatomy, checks).build(items)
        result += Indexing(len(entries), groups)
    return result


_COMPUTING: Final = ("linalg.", "iree_linalg_ext.", "tensor.")
"""The name prefixes of operations that get a group of their own, since a dispatch has few of them."""


def _read_entries(
    anatomy: Anatomy, scratch: mlir.Module, checks: dict[Structure, mlir.Operation]
) -> list[IndexEntry]:
    """Read the entries of one spec, and add the matchers that check their structures to a module."""
    reader = MatcherReader(anatomy.table)
    structures: dict[Hashable, Structure] = {}
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
                sequence = _matcher(scratch, name, attributes, results)
                implied = exact_condition(read_matcher(sequence))
                assert isinstance(implied, pred.Condition)
                structures[key] = Structure(implied)
                checks[structures[key]] = sequence
            structure = structures[key]
        entries.append(IndexEntry(position, condition, structure, _fixed_axes(condition)))
    return entries


def _fixed_axes(condition: pred.Condition) -> dict[Axis, int]:
    """Return the dimensions of operands for which a condition requires one static size."""
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
    return axes


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


def _matcher(
    module: mlir.Module, name: str, attributes: dict[str, mlir.Attribute], results: int
) -> mlir.Operation:
    """Add a matcher with one argument to a module, and return it."""
    parameter = mlir.Type.parse("!transform.param<i64>")
    with mlir.InsertionPoint(module.body):
        sequence = named_sequence("matcher", [any_op()], [any_op()])
    block = sequence.regions[0].blocks[0]
    operation = block.arguments[0]
    with mlir.InsertionPoint(block):
        mlir.Operation.create(
            name, operands=[operation], results=[parameter] * results, attributes=attributes
        )
        yield_([operation])
    return sequence


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
class Structure:
    """A check of an operation's structure: its name, or its kind with element types and indexing maps.

    A passing operation satisfies `condition`.
    """

    condition: pred.Condition


@dataclass(frozen=True, eq=False)
class IndexEntry:
    """The properties of an entry that the tree depends on.

    Attributes:
        position: its position in the order of precedence.
        condition: the condition of its matcher; None if unknown, so that it may match anything.
        structure: the check on names, types and maps that its matcher implies, if any.
        sizes: the dimensions of operands for which its matcher requires one size.
    """

    position: int
    condition: pred.Condition | None = None
    structure: Structure | None = None
    sizes: Mapping[Axis, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Range:
    """A check that a dimension of an operand has a size from `least` to `most`, inclusive."""

    axis: Axis
    least: int
    most: int


@dataclass(frozen=True, eq=False)
class IndexGroup:
    """A group that replaces several entries in a list."""

    check: Structure | Range
    items: tuple[Item, ...]


Item: TypeAlias = IndexEntry | IndexGroup


def plan_index(entries: Sequence[IndexEntry], longest: int) -> tuple[Item, ...]:
    """Return the list that replaces `entries`, with groups where they are profitable."""
    if len(entries) <= longest:
        return tuple(entries)
    # The structures shared by enough entries, in the order of the entries.
    counts = Counter(entry.structure for entry in entries if entry.structure is not None)
    frequent = dict(counts.most_common(_MOST_STRUCTURES))
    lists: dict[Structure, list[IndexEntry]] = {}
    for structure, count in counts.items():
        if structure in frequent and count >= _LEAST_MEMBERS:
            fitting = _compatible(entries, structure)
            if len(fitting) <= 2 * count:
                lists[structure] = fitting
    members = [entry for entry in entries if entry.structure in lists]
    front = _front(entries, members)
    groups = [
        IndexGroup(structure, _split(_behind(fitting, front), longest))
        for structure, fitting in lists.items()
    ]
    return _assemble(entries, members, groups)


def _compatible(entries: Sequence[IndexEntry], structure: Structure) -> list[IndexEntry]:
    """Return the entries that can match an operation with a structure, in order."""
    excluded: dict[Structure, bool] = {structure: False}

    def can_match(entry: IndexEntry) -> bool:
        own = entry.structure
        if own is structure or entry.condition is None:
            return True
        if own is not None:
            if own not in excluded:
                excluded[own] = pred.exclude_each_other(own.condition, structure.condition)
            if excluded[own]:
                return False
        return not pred.exclude_each_other(entry.condition, structure.condition)

    return list(filter(can_match, entries))


def _split(entries: Sequence[IndexEntry], longest: int) -> tuple[Item, ...]:
    """Split a list by ranges of one dimension's size, and parts that are still too long by another dimension."""
    if len(entries) <= longest:
        return tuple(entries)
    axis, members, others = _best_axis(entries)
    count = min(math.ceil(len(members) / longest), _MOST_RANGES)
    if others:
        count = min(count, len(members) // len(others))
    if count <= 1:
        return tuple(entries)
    target = max(math.ceil(len(members) / count), _LEAST_MEMBERS)
    ranges = [
        (check, some)
        for check, some in _ranges(members, axis, target)
        if _LEAST_MEMBERS <= len(some) < len(members)
    ]
    grouped = [entry for _, some in ranges for entry in some]
    front = _front(entries, grouped)
    groups = [
        IndexGroup(
            check,
            _split(_behind(sorted([*some, *others], key=attrgetter("position")), front), longest),
        )
        for check, some in ranges
    ]
    return _assemble(entries, grouped, groups)


def _best_axis(
    entries: Sequence[IndexEntry],
) -> tuple[Axis, list[IndexEntry], list[IndexEntry]]:
    """Return the dimension whose size distinguishes most entries, the entries that require a size, and the others."""
    counts: defaultdict[Axis, Counter[int]] = defaultdict(Counter)
    for entry in entries:
        for axis, size in entry.sizes.items():
            counts[axis][size] += 1

    def left(axis: Axis) -> float:
        of_size = counts[axis].values()
        covered = sum(of_size)
        return len(entries) - covered + sum(count**2 for count in of_size) / covered

    best = min(sorted(counts), key=left, default=(0, 0))
    members = [entry for entry in entries if best in entry.sizes]
    return best, members, [entry for entry in entries if best not in entry.sizes]


def _ranges(
    entries: Sequence[IndexEntry], axis: Axis, target: int
) -> list[tuple[Range, list[IndexEntry]]]:
    """Return the entries by disjoint ranges of sizes, about `target` in each."""
    by_size: defaultdict[int, list[IndexEntry]] = defaultdict(list)
    for entry in entries:
        by_size[entry.sizes[axis]].append(entry)
    ranges: list[list[int]] = []
    count = 0
    for size in sorted(by_size):
        if not ranges or count + len(by_size[size]) > target:
            ranges.append([])
            count = 0
        ranges[-1].append(size)
        count += len(by_size[size])
    return [
        (Range(axis, sizes[0], sizes[-1]), [entry for size in sizes for entry in by_size[size]])
        for sizes in ranges
    ]


def _front(entries: Sequence[IndexEntry], members: Iterable[IndexEntry]) -> int:
    return min((member.position for member in members), default=entries[-1].position + 1)


def _behind(entries: Iterable[IndexEntry], front: int) -> list[IndexEntry]:
    return [entry for entry in entries if entry.position >= front]


def _assemble(
    entries: Sequence[IndexEntry], members: Sequence[IndexEntry], groups: Iterable[IndexGroup]
) -> tuple[Item, ...]:
    """Return a list in which a group replaces its members at the position of the first one."""
    front = _front(entries, members)
    gone = set(members)
    before = [entry for entry in entries if entry.position < front]
    behind = [entry for entry in _behind(entries, front) if entry not in gone]
    return (*before, *groups, *behind)


# --- The builder of indexed specs: trees of `foreach_match` ops, each in the action of a pair of its parent

_EQUAL: Final = 0
"""The value of `transform`'s MatchCmpIPredicate."""


class IndexBuilder:
    """Replaces the entries of a spec by a planned tree."""

    def __init__(self, anatomy: Anatomy, checks: Mapping[Structure, mlir.Operation]) -> None:
        self._anatomy = anatomy
        self._module = anatomy.module
        self._block = self._module.regions[0].blocks[0]
        self._checks = checks
        self._pairs = pairs_of(anatomy.foreach_match)
        self._uses = Counter(join_path(path) for path in references_in(self._module))
        self._fresh: dict[tuple[str, ...], FreshNames] = {}
        self._adapted_matchers: dict[int, mlir.Attribute] = {}
        self._sequences: list[mlir.Operation] = []

    def build(self, items: Sequence[Item]) -> None:
        """Replace the entries by `items`, which are entries and groups of structures."""
        foreach_match = self._anatomy.foreach_match
        with self._module.context, mlir.Location.unknown():
            self._any_op = any_op()
            self._at_top = {item.position for item in items if isinstance(item, IndexEntry)}
            # Add a matcher of all operations but the root of a list, and an action that does nothing.
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
            self._leaving = _symbols(matcher, action)
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
        if isinstance(check, Range):
            matcher = self._range(check)
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

            def forget(operation: mlir.Operation) -> None:
                if operation != sequence:
                    operation.location = unknown
                for region in operation.regions:
                    for block in region.blocks:
                        for argument in block.arguments:
                            argument.set_location(unknown)

            visit(sequence, forget)
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
