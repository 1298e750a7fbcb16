"""The derivation of entries for the root ops of dispatches, and their expansion for a compiler that derives none."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, Role, affine_maps, loops_by_role
from tuninglink.iree.structured_op import PARALLEL, REDUCTION, Sizes
from tuninglink.matching.derivation.derived_spec import (
    Derivable,
    MatchedForm,
    derivable,
    derived_spec,
    matched_form,
)
from tuninglink.matching.derivation.problem_forms import (
    OPERANDS,
    ProblemForm,
    ProblemKey,
    RootForm,
    problem_form,
)
from tuninglink.matching.derivation.renumbering import LoopMapping, NotDerivableError, Renumbering
from tuninglink.matching.differences import compare
from tuninglink.matching.prunable import PrunableSpec
from tuninglink.specs.spec import Spec
from tuninglink.specs.structure import SpecKind

EntryList = tuple[int, "Sequence[int] | None"]
"""Entries of a spec: the position of the spec, and the positions of the entries; None for all."""


@dataclass(frozen=True)
class DerivedEntry:
    """An entry derived from another one.

    Attributes:
        spec: a spec that consists of this entry.
        source: the position of the spec from which it was derived.
    """

    spec: Spec
    source: int


class Deriver:
    """Derives entries from those of specs.

    Args:
        specs: the specs, in order of precedence. If one is opaque, nothing is derived, since it may match any op.
    """

    def __init__(self, specs: Sequence[PrunableSpec]) -> None:
        is_readable = all(spec.spec.anatomy.is_readable for spec in specs)
        self._lists = [DerivableList(spec) for spec in specs] if is_readable else []
        self._derived: dict[Hashable, DerivedEntry | None] = {}

    def derive(
        self,
        roots: Callable[[], Sequence[RootForm]],
        lists: Sequence[EntryList],
    ) -> tuple[DerivedEntry, ...]:
        """Return the derived entries for the root ops of a dispatch.

        Args:
            roots: reads the root ops.
            lists: the entries that apply and may match, in order of precedence.
        """
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
        if any(self._lists[at].matches(position, root) for at, position in candidates):
            return None
        for at, position in candidates:
            key = at, position, root.op.key
            if key not in self._derived:
                self._derived[key] = self._lists[at].derived(at, position, root)
            if self._derived[key] is not None:
                return self._derived[key]
        return None


class DerivableList:
    """The entries of a matcher list, by problem."""

    def __init__(self, prunable: PrunableSpec) -> None:
        self._prunable = prunable
        self._spec = prunable.spec
        self._entries: dict[int, Derivable | None] = {}
        self._by_key: dict[ProblemKey, list[int]] | None = None

    def of(self, root: RootForm, positions: Sequence[int] | None) -> Iterator[int]:
        """Yield the positions, among the given ones or all, of the entries for the problem of an op."""
        key = root.form.key
        for position in self._all().get(key, ()) if positions is None else positions:
            entry = self.entry(position)
            if entry is not None and entry.form.key == key and _fits(entry.form, root.form):
                yield position

    def _all(self) -> dict[ProblemKey, list[int]]:
        if self._by_key is None:
            self._by_key = {}
            for position in range(len(self._spec.anatomy.pairs)):
                entry = self.entry(position)
                if entry is not None:
                    self._by_key.setdefault(entry.form.key, []).append(position)
        return self._by_key

    def entry(self, position: int) -> Derivable | None:
        """Return the derivable form of the entry at a position; None if it is not derivable."""
        if position not in self._entries:
            matcher = self._prunable.matcher(position)
            self._entries[position] = derivable(self._spec.anatomy, position, matcher)
        return self._entries[position]

    def matches(self, position: int, root: RootForm) -> bool:
        """Return whether an entry matches a root op directly."""
        return compare(self._prunable.matcher(position), root.op).matches is True

    def derived(self, at: int, position: int, root: RootForm) -> DerivedEntry | None:
        """Return the entry derived for a root op from the one at a position, None if not derivable."""
        spec = self.written_for(position, matched_form(root.op, root.form))
        return None if spec is None else DerivedEntry(spec, at)

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


def _fits(entry: ProblemForm, root: ProblemForm) -> bool:
    """Return whether the image of a convolution has the size that an entry requires."""
    return all(
        size is None or size == root.windows.get(place) for place, size in entry.windows.items()
    )


def change_in_words(mapping: LoopMapping, roles: Sequence[Role]) -> str:
    """Return the change between two forms of a problem in words, such as `unit batch added`.

    Args:
        mapping: the correspondence of the loops of the two forms.
        roles: the roles of the loops of the new form.
    """
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

    Args:
        spec: a spec; nothing is derived from an opaque one.
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
    kind = entry.form.key.kind
    maps = affine_maps(mlir.Attribute.parse(entry.maps, context))
    with context:
        if kind is OpKind.ATTENTION:
            written = list(_attention_forms(maps, entry))
        else:
            written = list(_batch_forms(kind, maps, entry))
        forms = [_matched(kind, *form) for form in written]
    for form in forms:
        # Ops with a window would need the type of the image, which the entry may not constrain.
        if form is not None and form.form.key == entry.form.key and not form.form.windows:
            yield form


_Written = tuple["Sequence[mlir.AffineMap]", "Sizes", "tuple[str, ...]"]


def _batch_forms(
    kind: OpKind, maps: Sequence[mlir.AffineMap], entry: Derivable
) -> Iterator[_Written]:
    batches = loops_by_role(kind, maps).get(Role.BATCH, ())
    units = [loop for loop in batches if entry.sizes[loop] == 1]
    if units:
        kept = [loop for loop in range(len(entry.sizes)) if loop not in units]
        sizes = tuple(entry.sizes[loop] for loop in kept)
        yield [_renumbered(map_, kept) for map_ in maps], sizes, entry.element_types
    elif not batches:
        batched = [_with_batch(map_, has_batch=i in _BATCHED[kind]) for i, map_ in enumerate(maps)]
        yield batched, (1, *entry.sizes), entry.element_types


def _attention_forms(maps: Sequence[mlir.AffineMap], entry: Derivable) -> Iterator[_Written]:
    roles = loops_by_role(OpKind.ATTENTION, maps, len(maps) - 3)
    own = [*range(len(entry.sizes))], entry.element_types[_SCALE]
    for order in _ORDERS:
        loops = [loop for role in order for loop in roles[role]]
        for scale in dict.fromkeys((entry.element_types[0], "f32")):
            if (loops, scale) != own:
                types = (*entry.element_types[:_SCALE], scale, *entry.element_types[_SCALE + 1 :])
                sizes = tuple(entry.sizes[loop] for loop in loops)
                yield [_renumbered(map_, loops) for map_ in maps], sizes, types


def _matched(
    kind: OpKind, maps: Sequence[mlir.AffineMap], sizes: Sizes, types: tuple[str, ...]
) -> MatchedForm | None:
    form = problem_form(kind, maps, sizes, {}, types)
    outputs = 3 if kind is OpKind.ATTENTION else 1
    roles = loops_by_role(kind, maps, len(maps) - outputs)
    if form is None or not roles or len(maps) != OPERANDS[kind]:
        return None
    by_loop = {loop: role for role, loops in roles.items() for loop in loops}
    output = {loop for result in maps[-outputs].results for loop in _used(result)}
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


def _used(expression: mlir.AffineExpr) -> Sequence[int]:
    return [expression.position] if isinstance(expression, mlir.AffineDimExpr) else []


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
