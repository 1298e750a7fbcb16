"""Derived entries: copies of entries for other forms of their problem, with other loops.

Forms differ in the order of loops, in loops of size 1, and in the name of the op. Derived entries follow all exact
entries, and the compiler's interpreter evaluates them like any other entry.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from iree.compiler import ir as mlir

from tuninglink.iree import PARALLEL, REDUCTION, OpKind, Role, Sizes, affine_maps, loops_by_role
from tuninglink.matching import predicates as pred
from tuninglink.matching.nearest_entries import compare
from tuninglink.matching.prunable import PrunableSpec, kind_of
from tuninglink.matching.reader import STRUCTURED_MATCHERS
from tuninglink.matching.spellings import (
    OPERANDS,
    LoopMapping,
    NotDerivableError,
    ProblemForm,
    ProblemKey,
    Renumbering,
    RootForm,
    problem_form,
)
from tuninglink.mlir import entries_of, names, split_path
from tuninglink.specs import (
    BINDING,
    DERIVED,
    PROVENANCE,
    Spec,
    SpecKind,
    add_list,
    any_op,
    create,
    named_sequence,
    yield_,
)

if TYPE_CHECKING:
    from tuninglink.matching.reader import Matcher
    from tuninglink.specs import Anatomy, Entry


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
        roots: Callable[[], Sequence[RootForm]],
        lists: Sequence[EntryList],
    ) -> tuple[DerivedEntry, ...]:
        """Return the derived entries for the root ops of a dispatch."""
        if not self._lists or all(positions == () for _, positions in lists):
            return ()
        derived = [self._derive(root, lists) for root in roots()]
        return tuple(dict.fromkeys(entry for entry in derived if entry is not None))

    def _derive(self, root: RootForm, lists: Sequence[EntryList]) -> DerivedEntry | None:
        """Derive from the first entry for the problem of a root op, unless an entry matches the op directly."""
        candidates = [
            (at, position)
            for at, positions in lists
            for position in self._lists[at].of(root, positions)
        ]
        if any(
            compare(self._lists[at].matcher(position), root.op).matches is True
            for at, position in candidates
        ):
            return None
        for at, position in candidates:
            key = at, position, root.op.key
            if key not in self._derived:
                op = root.op
                form = MatchedForm(
                    form=root.form,
                    kind=op.kind,
                    maps=op.maps_text,
                    element_types=op.element_types,
                    role_sizes=op.role_sizes,
                    roles=op.roles,
                    iterators=op.iterator_types,
                    # The loops do not determine the extent of the image after the last window.
                    operand_types={
                        operand: op.operands[operand].text for operand, _ in root.form.windows
                    },
                )
                spec = self._lists[at].written_for(position, form)
                self._derived[key] = None if spec is None else DerivedEntry(spec, at)
            if self._derived[key] is not None:
                return self._derived[key]
        return None


class DerivableList:
    """The entries of a matcher list, by problem."""

    def __init__(self, prunable: PrunableSpec) -> None:
        self.matcher = prunable.matcher
        self._spec = prunable.spec
        self._entries: dict[int, Derivable | None] = {}

    def of(self, root: RootForm, positions: Sequence[int] | None) -> Iterator[int]:
        """Yield the positions, among the given ones or all, of the entries for the problem of an op."""
        key, windows = root.form.key, root.form.windows
        for position in self._by_key.get(key, ()) if positions is None else positions:
            entry = self.entry(position)
            if entry is None or entry.form.key != key:
                continue
            if all(size in (None, windows.get(at)) for at, size in entry.form.windows.items()):
                yield position

    @cached_property
    def _by_key(self) -> Mapping[ProblemKey, list[int]]:
        by_key: dict[ProblemKey, list[int]] = {}
        for position in range(len(self._spec.anatomy.pairs)):
            entry = self.entry(position)
            if entry is not None:
                by_key.setdefault(entry.form.key, []).append(position)
        return by_key

    def entry(self, position: int) -> Derivable | None:
        """Return the derivable form of the entry at a position; None if it is not derivable."""
        if position not in self._entries:
            matcher = self.matcher(position)
            self._entries[position] = derivable(self._spec.anatomy, position, matcher)
        return self._entries[position]

    def written_for(self, position: int, form: MatchedForm) -> Spec | None:
        """Return a spec with the entry derived for a form from the one at a position, None if not derivable."""
        source = self.entry(position)
        assert source is not None
        renumbering = Renumbering.between(source.form, form.form, form.iterators)
        try:
            settings = {
                name: renumbering.configuration(name, value)
                for name, value in source.settings.items()
            }
        except NotDerivableError:
            return None
        entry = self._spec.anatomy.entry(position)
        change = change_in_words(renumbering.mapping, form.roles)
        return derived_spec(self._spec, entry, settings, form, change)


def change_in_words(mapping: LoopMapping, roles: Sequence[Role]) -> str:
    """Return the change between two forms of a problem in words, such as `unit batch added`."""
    added = [roles[loop].value for loop, source in enumerate(mapping.sources) if source is None]
    kept = [source for source in mapping.sources if source is not None]
    words = [f"unit {fromkey} added" for fromkey in dict.fromkeys(added)]
    if mapping.dropped:
        count = len(mapping.dropped)
        words.append("unit loop removed" if count == 1 else f"{count} unit loops removed")
    if kept != sorted(kept):
        words.append("loops reordered")
    return ", ".join(words) or "scale of another type"


_BATCHED: Final = {OpKind.CONTRACTION: (0, 1, 2), OpKind.CONVOLUTION: (0, 2)}
"""The operands that have a batch dimension, by kind."""

_SCALE: Final = 3
_ORDERS: Final = (
    (Role.BATCH, Role.M, Role.N, Role.K1, Role.K2),
    (Role.BATCH, Role.M, Role.K1, Role.K2, Role.N),
)
"""The orders in which frameworks and the compiler number the loops of an attention."""


def expanded_forms(spec: Spec) -> Iterator[Spec]:
    """Yield specs with the entries derived from those of a spec, to be linked after it.

    The forms have a batch of 1 added or removed, or other loop orders and scale types of an attention.
    """
    if spec.kind is not SpecKind.MATCHER_LIST:
        return
    entries = DerivableList(PrunableSpec(spec))
    for position in range(len(spec.anatomy.pairs)):
        entry = entries.entry(position)
        for form in _forms(entry, spec.module.context) if entry is not None else ():
            derived = entries.written_for(position, form)
            if derived is not None:
                yield derived


def _forms(entry: Derivable, context: mlir.Context) -> Iterator[MatchedForm]:
    kind, sizes, types = entry.form.key.kind, entry.sizes, entry.element_types
    maps = affine_maps(mlir.Attribute.parse(entry.maps, context))
    written: list[tuple[Sequence[mlir.AffineMap], Sizes, tuple[str, ...]]] = []
    with context:
        if kind is OpKind.ATTENTION:
            # Other orders of loops, and other types of the scale.
            roles = loops_by_role(kind, maps, len(maps) - 3)
            for order in _ORDERS:
                loops = [loop for role in order for loop in roles[role]]
                for scale in dict.fromkeys((types[0], "f32")):
                    if (loops, scale) != ([*range(len(sizes))], types[_SCALE]):
                        scaled = (*types[:_SCALE], scale, *types[_SCALE + 1 :])
                        renumbered = [_renumbered(map_, loops) for map_ in maps]
                        written.append((renumbered, tuple(sizes[loop] for loop in loops), scaled))
        else:
            # A batch of 1 removed or added.
            batches = loops_by_role(kind, maps).get(Role.BATCH, ())
            kept = [loop for loop in range(len(sizes)) if loop not in batches or sizes[loop] != 1]
            if len(kept) < len(sizes):
                renumbered = [_renumbered(map_, kept) for map_ in maps]
                written.append((renumbered, tuple(sizes[loop] for loop in kept), types))
            elif not batches:
                batched = [
                    _with_batch(map_, has_batch=at in _BATCHED[kind])
                    for at, map_ in enumerate(maps)
                ]
                written.append((batched, (1, *sizes), types))
        forms = [_matched(kind, *form) for form in written]
    for form in forms:
        # Ops with a window would need the type of the image, which the entry may not constrain.
        if form is not None and form.form.key == entry.form.key and not form.form.windows:
            yield form


def _matched(
    kind: OpKind, maps: Sequence[mlir.AffineMap], sizes: Sizes, types: tuple[str, ...]
) -> MatchedForm | None:
    form = problem_form(kind, maps, sizes, {}, types)
    outputs = 3 if kind is OpKind.ATTENTION else 1
    roles = loops_by_role(kind, maps, len(maps) - outputs)
    if form is None or not roles or len(maps) != OPERANDS[kind]:
        return None
    by_loop = {loop: role for role, loops in roles.items() for loop in loops}
    output = {
        loop
        for result in maps[-outputs].results
        for loop in ([result.position] if isinstance(result, mlir.AffineDimExpr) else [])
    }
    attributes = mlir.ArrayAttr.get([mlir.AffineMapAttr.get(map_) for map_ in maps])
    return MatchedForm(
        form=form,
        kind=kind,
        maps=str(attributes),
        element_types=types,
        role_sizes={
            role.value.replace(" ", "_"): tuple(sizes[loop] for loop in loops)
            for role, loops in roles.items()
        },
        roles=tuple(by_loop.get(loop, Role.PARALLEL) for loop in range(len(sizes))),
        iterators=tuple(PARALLEL if loop in output else REDUCTION for loop in range(len(sizes))),
    )


def _renumbered(map_: mlir.AffineMap, loops: Sequence[int]) -> mlir.AffineMap:
    """Return a map over some loops, in their order, without the dimensions that other loops index."""
    new = {loop: mlir.AffineDimExpr.get(position) for position, loop in enumerate(loops)}
    gone = mlir.AffineConstantExpr.get(0)
    replaced = [new.get(loop, gone) for loop in range(map_.n_dims)]
    results = [
        result.compose(mlir.AffineMap.get(len(loops), 0, replaced)) for result in map_.results
    ]
    kept = [result for result in results if not isinstance(result, mlir.AffineConstantExpr)]
    return mlir.AffineMap.get(len(loops), 0, kept)


def _with_batch(map_: mlir.AffineMap, *, has_batch: bool) -> mlir.AffineMap:
    count = map_.n_dims + 1
    shifted = mlir.AffineMap.get(
        count, 0, [mlir.AffineDimExpr.get(loop + 1) for loop in range(map_.n_dims)]
    )
    results = [result.compose(shifted) for result in map_.results]
    if has_batch:
        results.insert(0, mlir.AffineDimExpr.get(0))
    return mlir.AffineMap.get(count, 0, results)


# --- Entries from which others can be derived, and derived entries, each in a separate spec linked after all others


@dataclass(frozen=True)
class Derivable:
    """An entry from which others can be derived."""

    form: ProblemForm
    maps: str
    sizes: Sizes
    element_types: tuple[str, ...]
    settings: Mapping[str, mlir.Attribute]


def derivable(anatomy: Anatomy, position: int, matcher: Matcher) -> Derivable | None:
    """Return the derivable form of an entry of a matcher list; None if the entry is not derivable."""
    # The predicates must exactly describe a problem.
    kind = kind_of(matcher.predicates)
    all_maps = (one.maps for one in matcher.predicates if isinstance(one, pred.HasMaps))
    maps = next(all_maps, None)
    if matcher.stop or kind is None or maps is None:
        return None
    fold = _Fold(kind, maps)
    count = len(maps.operands)
    if not all(map(fold.add, matcher.predicates)) or len(fold.types) != count:
        return None
    settings = _settings(anatomy, *anatomy.pairs[position])
    if settings is None:
        return None
    # The sizes of loops follow from the roles and from the types of operands.
    for operand, own in fold.operands.items():
        fold.add_sizes(maps.loops[operand], own)
    sizes = tuple(fold.sizes.get(loop) for loop in range(maps.loop_count))
    types = tuple(fold.types[operand] for operand in range(count))
    parsed = affine_maps(mlir.Attribute.parse(maps.text, anatomy.module.context))
    form = problem_form(kind, parsed, sizes, fold.operands, types)
    return None if form is None else Derivable(form, maps.text, sizes, types, settings)


class _Fold:
    """The conjunction of predicates."""

    def __init__(self, kind: OpKind, maps: pred.Maps) -> None:
        self.kind = kind
        self.maps = maps
        self._roles = dict(maps.roles)
        self.sizes: dict[int, int] = {}
        self.types: dict[int, str] = {}
        self.operands: dict[int, Sizes] = {}

    def add(self, predicate: pred.Predicate) -> bool:
        """Add a predicate, unless it has requirements that are not part of a problem."""
        match predicate:
            case pred.HasElementType(kind, operand, _, element):
                self.types[operand % len(self.maps.operands)] = element
                return kind is self.kind
            case pred.HasRoleSizes(kind, role, sizes):
                loops = self._roles.get(pred.role_name(self.kind, role), ())
                is_step = role in pred.STEPS  # The maps have them, too.
                if not is_step:
                    self.add_sizes(loops, sizes)
                return kind is self.kind and (is_step or len(loops) == len(sizes))
            case pred.IsCastCompatible(value, type_):
                self.operands[value.number] = type_.sizes or ()
                return self._has(value) and type_.is_tensor and not type_.encoding
            case pred.HasMaps(maps):
                return maps == self.maps
            case pred.HasValue(value):
                return self._has(value)
        return isinstance(
            predicate, pred.NameIn | pred.IsKind | pred.IsUnconfigured | pred.IsUnmasked
        )

    def add_sizes(self, loops: Sequence[int | None], sizes: Sizes) -> None:
        for loop, size in zip(loops, sizes, strict=False):
            if loop is not None and size is not None:
                self.sizes[loop] = size

    def _has(self, value: pred.ValueRef) -> bool:
        return value.group == pred.OPERAND and value.number < len(self.maps.operands)


def _settings(anatomy: Anatomy, matcher: str, action: str) -> Mapping[str, mlir.Attribute] | None:
    """Return the attributes that an entry sets on its root op; None if it sets them on other ops or computes them."""
    settings: dict[str, mlir.Attribute] = {}
    for annotation in anatomy.annotations(action):
        value: mlir.Attribute | int | None = annotation.value
        if isinstance(value, int):
            value = anatomy.table.yielded(matcher, value)
        # The first argument of a matcher is the candidate op.
        if anatomy.table.yielded(matcher, annotation.operand) != 0 or not isinstance(
            value, mlir.Attribute
        ):
            return None
        settings[annotation.name] = value
    return settings if {names.COMPILATION_INFO, names.LOWERING_CONFIG} & {*settings} else None


@dataclass(frozen=True)
class MatchedForm:
    """A form of a problem, with the properties that its matcher compares."""

    form: ProblemForm
    kind: OpKind
    maps: str
    element_types: tuple[str, ...]
    role_sizes: Mapping[str, Sizes]
    roles: tuple[Role, ...]
    iterators: tuple[str, ...]
    operand_types: Mapping[int, str] = field(default_factory=dict)


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
    form: MatchedForm,
    change: str,
) -> Spec:
    """Return a spec with a single entry, derived from another one for the form of an op.

    Its matcher and its action keep the names and the locations of the original.
    """
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
        _fill_matcher(matcher, settings.values(), form)
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
    sequence: mlir.Operation, settings: Iterable[mlir.Attribute], form: MatchedForm
) -> None:
    """Add the matcher ops that compare types, maps and sizes with those of a form, and yield settings."""
    block = sequence.regions[0].blocks[0]
    root = block.arguments[0]
    name = _MATCHERS[form.kind]
    matcher = STRUCTURED_MATCHERS[name]
    attributes: dict[str, mlir.Attribute] = {"indexing_maps": mlir.Attribute.parse(form.maps)}
    for position, role in enumerate(matcher.operands):
        element = mlir.Type.parse(form.element_types[matcher.operand(position)])
        attributes[f"{role}_type"] = mlir.TypeAttr.get(element)
    with mlir.InsertionPoint(block):
        create(names.HAS_NO_LOWERING_CONFIG, [root])
        handles = create(name, [root], [_SIZES] * len(matcher.roles), **attributes)
        for role, handle in zip(matcher.roles, handles, strict=True):
            sizes = form.role_sizes[role]
            if role in pred.STEPS or all(size is None for size in sizes):
                continue
            expected = mlir.DenseI64ArrayAttr.get([-1 if size is None else size for size in sizes])
            create(names.MATCH_DIMS_EQUAL, [handle], expected_values=expected)
        for operand, type_ in form.operand_types.items():
            positions = mlir.DenseI64ArrayAttr.get([operand])
            (value,) = create(names.GET_OPERAND, [root], [_VALUE], raw_position_list=positions)
            target = mlir.TypeAttr.get(mlir.Type.parse(type_))
            create(names.MATCH_TYPE, [value], target_type=target)
        values = [
            create(names.PARAM_CONSTANT, [], [_PARAMETER], value=setting)[0] for setting in settings
        ]
        yield_([root, *values])
