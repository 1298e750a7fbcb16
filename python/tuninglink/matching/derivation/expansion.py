"""The expansion of derived entries for a fixed list of forms, for a compiler that does not derive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import OpKind, Role, affine_maps, loops_by_role
from tuninglink.iree.structured_op import PARALLEL, REDUCTION, Sizes
from tuninglink.matching.derivation.derivable import Derivable
from tuninglink.matching.derivation.derived_spec import MatchedForm
from tuninglink.matching.derivation.deriver import DerivableList
from tuninglink.matching.derivation.problem_forms import OPERANDS, problem_form
from tuninglink.matching.prunable import PrunableSpec
from tuninglink.specs.spec import Spec
from tuninglink.specs.structure import SpecKind

_BATCHED: Final = {OpKind.CONTRACTION: (0, 1, 2), OpKind.CONVOLUTION: (0, 2)}
"""The operands that have a dimension for a batch, by kind."""

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
        batched = [
            _with_batch(map_, has_batch=operand in _BATCHED[kind])
            for operand, map_ in enumerate(maps)
        ]
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
