"""Derived entries: copies of entries for other spellings of their problem, with other loops.

Spellings differ in the order of loops, in loops of size 1, and in the name of the op. Derived entries follow all exact
entries, and the compiler's interpreter evaluates them like any other entry.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from iree.compiler import ir as mlir

from tuninglink.iree import OpKind, Role, affine_maps
from tuninglink.matching import predicates as pred
from tuninglink.matching.exact import exact_condition
from tuninglink.matching.nearest_entries import compare
from tuninglink.matching.prunable import PrunableSpec, kind_of
from tuninglink.matching.reader import STRUCTURED_MATCHERS, OpInfo
from tuninglink.matching.spellings import (
    AnySpelling,
    DescribedOp,
    NotDerivableError,
    ProblemKey,
    ProblemSpelling,
    Renumbering,
    Root,
    problem_spelling,
)
from tuninglink.mlir import entries_of, names, split_path
from tuninglink.specs import (
    BINDING,
    DERIVED,
    PREDICTED,
    PROVENANCE,
    Spec,
    SpecKind,
    add_list,
    any_op,
    create,
    named_sequence,
    provenance_of,
    yield_,
)

if TYPE_CHECKING:
    from tuninglink.specs import Entry


EntryList = tuple[int, "Sequence[int] | None"]
"""Entries of a spec: the position of the spec, and the positions of the entries; None for all."""


class DerivedEntry(NamedTuple):
    """An entry derived from another one."""

    spec: Spec
    source: int


class Deriver:
    """Derives entries from those of specs."""

    def __init__(self, specs: Sequence[PrunableSpec]) -> None:
        is_readable = all(spec.spec.anatomy.is_readable for spec in specs)
        self._lists = [DerivableList(spec) for spec in specs] if is_readable else []
        self._derived: dict[Hashable, DerivedEntry | None] = {}

    def derive(
        self,
        roots: Callable[[], Sequence[Root]],
        lists: Sequence[EntryList],
    ) -> tuple[DerivedEntry, ...]:
        """Return the derived entries for the root ops of a dispatch."""
        if not self._lists or all(positions == () for _, positions in lists):
            return ()
        entries: dict[DerivedEntry, None] = {}
        for root in roots():
            candidates = [
                (at, position)
                for at, positions in lists
                for position in self._lists[at].of(root, positions)
            ]
            if any(
                compare(self._lists[at].prunable.matcher(position), root.op).matches is True
                for at, position in candidates
            ):
                continue  # An entry matches the op directly.
            # Derive from the first entry for the problem.
            for at, position in candidates:
                key = at, position, root.op.key
                if key not in self._derived:
                    spec = self._lists[at].written_for(position, root)
                    self._derived[key] = None if spec is None else DerivedEntry(spec, at)
                if (derived := self._derived[key]) is not None:
                    entries[derived] = None
                    break
        return tuple(entries)


@dataclass(frozen=True, eq=False)
class DerivableList:
    """The entries of a matcher list, by problem."""

    prunable: PrunableSpec
    _entries: dict[int, Derivable | None] = field(default_factory=dict, init=False)

    def of(self, root: Root, positions: Sequence[int] | None) -> Iterator[int]:
        """Yield the positions, among the given ones or all, of the entries for the problem of an op."""
        for position in self._by_key.get(root.key, ()) if positions is None else positions:
            if (entry := self.entry(position)) is None or entry.spelling.key != root.key:
                continue
            windows = entry.spelling.windows.items()
            if all(size in (None, root.windows.get(at)) for at, size in windows):
                yield position

    @cached_property
    def _by_key(self) -> Mapping[ProblemKey, list[int]]:
        by_key: dict[ProblemKey, list[int]] = {}
        for position in range(len(self.prunable.spec.anatomy.pairs)):
            if (entry := self.entry(position)) is not None:
                by_key.setdefault(entry.spelling.key, []).append(position)
        return by_key

    def entry(self, position: int) -> Derivable | None:
        """Return the entry at a position; None if it is not derivable."""
        if position not in self._entries:
            self._entries[position] = self._read(position)
        return self._entries[position]

    def _read(self, position: int) -> Derivable | None:
        anatomy, matcher = self.prunable.spec.anatomy, self.prunable.matcher(position)
        matcher_name, action = anatomy.pairs[position]
        # The predicates must exactly describe a problem. A prediction is for the spelling that it was made for.
        is_predicted = provenance_of(anatomy.table, matcher_name).get("source") == PREDICTED
        if is_predicted or not all(isinstance(one, _OF_PROBLEMS) for one in matcher.predicates):
            return None
        kind, condition = kind_of(matcher.predicates), exact_condition(matcher)
        if kind is None or not isinstance(condition, pred.Condition) or condition.maps is None:
            return None
        maps, sizes = condition.maps, pred.box(condition.sizes)
        count = len(maps.operands)
        if condition.scalars or len(condition.types) != count or pred.is_empty(sizes):
            return None
        # The action must set attributes on the root op only, and compute none of them.
        settings: dict[str, mlir.Attribute] = {}
        for annotation in anatomy.table.annotations(action) or ():
            value: mlir.Attribute | int | None = annotation.value
            if isinstance(value, int):
                value = anatomy.table.yielded(matcher_name, value)
            # The first argument of a matcher is the candidate op.
            is_on_root = anatomy.table.yielded(matcher_name, annotation.operand) == 0
            if not is_on_root or not isinstance(value, mlir.Attribute):
                return None
            settings[annotation.name] = value
        if not {names.COMPILATION_INFO, names.LOWERING_CONFIG} & {*settings}:
            return None
        op = DescribedOp(
            kind,
            affine_maps(mlir.Attribute.parse(maps.text, anatomy.module.context)),
            tuple(
                condition.fixed_sizes.get((pred.LOOP, loop, 0)) for loop in range(maps.loop_count)
            ),
            tuple(condition.types[operand] for operand in range(count)),
            {
                (operand, dimension): extent.size
                for (group, operand, dimension), extent in sizes.items()
                if group == pred.OPERAND and extent.size is not None
            },
        )
        spelling = problem_spelling(op)
        return None if spelling is None else Derivable(spelling, settings)

    def written_for(self, position: int, spelling: AnySpelling) -> Spec | None:
        """Return a spec with the entry derived for a spelling from the one at a position, None if not derivable."""
        source = self.entry(position)
        assert source is not None
        renumbering = Renumbering.between(source.spelling, spelling)
        try:
            settings = {
                name: renumbering.configuration(name, value)
                for name, value in source.settings.items()
            }
        except NotDerivableError:
            return None
        entry = self.prunable.spec.anatomy.entry(position)
        # Describe the change between the spellings, such as `unit batch added`.
        mapping, roles = renumbering.mapping, spelling.op.roles
        added = [roles[loop].value for loop, kept in enumerate(mapping.sources) if kept is None]
        words = [f"unit {role} added" for role in dict.fromkeys(added)]
        if mapping.dropped:
            count = len(mapping.dropped)
            words.append("unit loop removed" if count == 1 else f"{count} unit loops removed")
        kept_loops = [loop for loop in mapping.sources if loop is not None]
        if kept_loops != sorted(kept_loops):
            words.append("loops reordered")
        change = ", ".join(words) or "scale of another type"
        return derived_spec(self.prunable.spec, entry, settings, spelling, change)


_BATCHED: Final = {OpKind.CONTRACTION: (0, 1, 2), OpKind.CONVOLUTION: (0, 2)}
"""The operands that have a batch dimension, by kind."""

_SCALE: Final = 3
_ORDERS: Final = (
    (Role.BATCH, Role.M, Role.N, Role.K1, Role.K2),
    (Role.BATCH, Role.M, Role.K1, Role.K2, Role.N),
)
"""The orders in which frameworks and the compiler number the loops of an attention."""


def derived_specs(spec: Spec) -> Iterator[Spec]:
    """Yield specs with the entries derived from those of a spec, to be linked after it.

    The spellings have a batch of 1 added or removed, or other loop orders and scale types of an attention.
    """
    if spec.kind is not SpecKind.MATCHER_LIST:
        return
    entries = DerivableList(PrunableSpec(spec))
    for position in range(len(spec.anatomy.pairs)):
        entry = entries.entry(position)
        if entry is None:
            continue
        for op in _respelled(entry.spelling.op):
            spelling = problem_spelling(op)
            if spelling is None or spelling.key != entry.spelling.key:
                continue
            # Ops with a window would need the type of the image, which the entry may not constrain.
            is_complete = op.loops and not spelling.windows
            derived = entries.written_for(position, spelling) if is_complete else None
            if derived is not None:
                yield derived


def _respelled(op: DescribedOp) -> list[DescribedOp]:
    """Return other spellings of the problem of an op."""
    kind, sizes, types = op.kind, op.sizes, op.element_types

    def over(loops: Sequence[int], types: tuple[str, ...]) -> DescribedOp:
        """Return the op over some loops, in their order, without the dimensions that other loops index."""
        new = {loop: mlir.AffineDimExpr.get(position) for position, loop in enumerate(loops)}
        gone = mlir.AffineConstantExpr.get(0)
        replaced = [new.get(loop, gone) for loop in range(len(sizes))]
        maps = []
        for map_ in op.maps:
            results = _substituted(map_, len(loops), replaced)
            kept = [result for result in results if not isinstance(result, mlir.AffineConstantExpr)]
            maps.append(mlir.AffineMap.get(len(loops), 0, kept))
        return DescribedOp(kind, tuple(maps), tuple(sizes[loop] for loop in loops), types)

    with op.maps[0].context:
        if kind is OpKind.ATTENTION:
            # Other orders of loops, and other types of the scale.
            own = [*range(len(sizes))], types[_SCALE]
            orders = [[loop for role in order for loop in op.loops[role]] for order in _ORDERS]
            return [
                over(loops, (*types[:_SCALE], scale, *types[_SCALE + 1 :]))
                for loops in orders
                for scale in dict.fromkeys((types[0], "f32"))
                if (loops, scale) != own
            ]
        # A batch of 1 removed or added.
        batches = op.loops.get(Role.BATCH, ())
        kept = [loop for loop in range(len(sizes)) if loop not in batches or sizes[loop] != 1]
        if len(kept) < len(sizes):
            return [over(kept, types)]
        if batches:
            return []
        count = len(sizes) + 1
        shifted = [mlir.AffineDimExpr.get(loop) for loop in range(1, count)]
        maps = []
        for at, map_ in enumerate(op.maps):
            results = _substituted(map_, count, shifted)
            batch = [mlir.AffineDimExpr.get(0)] if at in _BATCHED[kind] else []
            maps.append(mlir.AffineMap.get(count, 0, [*batch, *results]))
        return [DescribedOp(kind, tuple(maps), (1, *sizes), types)]


def _substituted(
    map_: mlir.AffineMap, loop_count: int, replaced: Sequence[mlir.AffineExpr]
) -> list[mlir.AffineExpr]:
    """Return the results of a map with other expressions in place of its dimensions."""
    substitution = mlir.AffineMap.get(loop_count, 0, replaced)
    results = [result.compose(substitution) for result in map_.results]
    # Only the results of a map have their own classes.
    return list(mlir.AffineMap.get(loop_count, 0, results).results)


# --- Entries from which others can be derived, and derived entries, each in a separate spec linked after all others


class Derivable(NamedTuple):
    """An entry from which others can be derived: what its matcher requires, and the attributes that it sets."""

    spelling: ProblemSpelling[DescribedOp]
    settings: Mapping[str, mlir.Attribute]


_OF_PROBLEMS: Final = (
    *(pred.NameIn, pred.IsKind, pred.IsUnconfigured, pred.IsUnmasked, pred.HasMaps),
    *(pred.HasElementType, pred.HasRoleSizes, pred.HasValue, pred.IsCastCompatible),
)
"""The predicates that describe a problem."""


_PARAMETER: Final = "!transform.any_param"
_SIZES: Final = "!transform.param<i64>"
_VALUE: Final = "!transform.any_value"

_MATCHERS: Final = {
    OpKind.CONTRACTION: names.MATCH_CONTRACTION,
    OpKind.CONVOLUTION: names.MATCH_CONVOLUTION,
    OpKind.ATTENTION: names.MATCH_ONLINE_ATTENTION,
}


def derived_spec(
    source: Spec,
    entry: Entry,
    settings: Mapping[str, mlir.Attribute],
    spelling: AnySpelling,
    change: str,
) -> Spec:
    """Return a spec with a single entry, derived from another one for another spelling of its problem."""
    # Its matcher and its action keep the names and the locations of the original.
    original = entry.anatomy.table.lookup(entry.matcher)
    assert original is not None
    with source.module.context, original.location:
        module = mlir.Module.create().operation
        for name in (names.SYMBOL_NAME, BINDING):
            if name in source.module.attributes:
                module.attributes[name] = source.module.attributes[name]
        module.attributes[names.WITH_NAMED_SEQUENCE] = mlir.UnitAttr.get()
        module.attributes[names.DEFAULT_ENTRY_POINT] = mlir.UnitAttr.get()
        matcher_name, action_name = (split_path(path)[-1] for path in (entry.matcher, entry.action))
        parameters = [mlir.Type.parse(_PARAMETER)] * len(settings)
        # The action sets the attributes that the matcher yields.
        with mlir.InsertionPoint(module.regions[0].blocks[0]):
            action = named_sequence(action_name, [any_op(), *parameters])
        block = action.regions[0].blocks[0]
        operation, *values = block.arguments
        with mlir.InsertionPoint(block):
            for setting, value in zip(settings, values, strict=True):
                named: dict[str, mlir.Attribute] = {"name": mlir.StringAttr.get(setting)}
                create(names.ANNOTATE, [operation, value], **named)
            yield_([])
        with mlir.InsertionPoint(module.regions[0].blocks[0]):
            matcher = named_sequence(matcher_name, [any_op()], [any_op(), *parameters])
        _fill_matcher(matcher, settings.values(), spelling)
        # The matcher has the descriptive attributes of the original, and names its origin.
        if BINDING in original.attributes:
            matcher.attributes[BINDING] = original.attributes[BINDING]
        derived = mlir.StringAttr.get(f"from @{entry.matcher}: {change}")
        entries = entries_of(original.attributes.get(PROVENANCE))
        matcher.attributes[PROVENANCE] = mlir.DictAttr.get({**entries, DERIVED: derived})
        add_list(
            module,
            [(mlir.FlatSymbolRefAttr.get(matcher_name), mlir.FlatSymbolRefAttr.get(action_name))],
        )
        module.verify()
    return Spec(module, source.source)


def _fill_matcher(
    sequence: mlir.Operation, settings: Iterable[mlir.Attribute], spelling: AnySpelling
) -> None:
    """Add the matcher ops that compare types, maps and sizes with those of an op, and yield settings."""
    block = sequence.regions[0].blocks[0]
    root = block.arguments[0]
    op = spelling.op
    name = _MATCHERS[op.kind]
    matcher = STRUCTURED_MATCHERS[name]
    maps = ", ".join(f"affine_map<{map_}>" for map_ in op.maps)
    attributes = matcher.attributes(f"[{maps}]", op.element_types)
    with mlir.InsertionPoint(block):
        create(names.HAS_NO_LOWERING_CONFIG, [root])
        handles = create(name, [root], [_SIZES] * len(matcher.roles), **attributes)
        for role, handle in zip(matcher.roles, handles, strict=True):
            sizes = op.role_sizes[role]
            if role in pred.STEPS or all(size is None for size in sizes):
                continue
            expected = mlir.DenseI64ArrayAttr.get([-1 if size is None else size for size in sizes])
            create(names.MATCH_DIMS_EQUAL, [handle], expected_values=expected)
        # The loops do not determine the extent of the image after the last window.
        given = op.operands if isinstance(op, OpInfo) else ()
        for operand in sorted({operand for operand, _ in spelling.windows}):
            positions = mlir.DenseI64ArrayAttr.get([operand])
            (value,) = create(names.GET_OPERAND, [root], [_VALUE], raw_position_list=positions)
            target = mlir.TypeAttr.get(mlir.Type.parse(given[operand].text))
            create(names.MATCH_TYPE, [value], target_type=target)
        values = [
            create(names.PARAM_CONSTANT, [], [_PARAMETER], value=setting)[0] for setting in settings
        ]
        yield_([root, *values])
