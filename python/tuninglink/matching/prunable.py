"""Specs whose entries can be pruned, and the index that finds the candidates for a dispatch.

The cost of a lookup depends on the ops and candidates of a dispatch, not on the number of other entries.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from iree.compiler import ir as mlir

from tuninglink.iree import (
    ATTENTION_OUTPUTS,
    ROLES,
    OpKind,
    StructuredOp,
    affine_maps,
    element_type,
    indexing_loops,
)
from tuninglink.matching import predicates as pred
from tuninglink.matching.predicates import box
from tuninglink.matching.reader import MatcherReader
from tuninglink.mlir import names, visit
from tuninglink.specs import Part, SpecKind, subset

if TYPE_CHECKING:
    from tuninglink.iree import Sizes, ValueType
    from tuninglink.matching.reader import Matcher
    from tuninglink.specs import Spec


LoopTuple = tuple[int, ...]
"""The sizes of the loops of an operation, in ascending order and without those of size 1."""

_MAX_LOOPS: Final = 10
"""The maximum number of loops for looking up all subsets. An operation with more loops counts as unknown."""


@dataclass(frozen=True)
class _Family:
    """The entries whose matchers accept the same kinds of operations, by all or some of the loops."""

    complete: dict[LoopTuple, list[int]] = field(default_factory=dict)
    partial: dict[LoopTuple, list[int]] = field(default_factory=dict)

    def all(self) -> Iterator[int]:
        for table in (self.complete, self.partial):
            for positions in table.values():
                yield from positions

    def fitting(self, loops: LoopTuple, *, of_part: bool = False) -> Iterator[int]:
        """Yield the entries for ops with given loops, or for ops with any part of them."""
        counts = range(len(loops) + 1)
        parts = {some for count in counts for some in combinations(loops, count)}
        for some in parts:
            yield from self.partial.get(some, ())
        for some in parts if of_part else (loops,):
            yield from self.complete.get(some, ())


class EntryIndex:
    """The entries of a list, by pruning key."""

    def __init__(self, keys: Sequence[PruningKey]) -> None:
        self._keys = keys
        self._always: list[int] = []
        self._structured = _Family()
        self._attentions = _Family()
        self._found: dict[DispatchSignature, tuple[int, ...]] = {}
        for position, key in enumerate(keys):
            if key.kind is None:
                self._always.append(position)
                continue
            is_attention = key.kind is OpKind.ATTENTION
            family = self._attentions if is_attention else self._structured
            table = family.complete if key.loops.is_complete else family.partial
            table.setdefault(key.loops.sizes, []).append(position)

    def candidates(self, signature: DispatchSignature) -> tuple[int, ...]:
        """Return the positions of the entries that may match in a dispatch, in ascending order.

        Equal dispatches get the same tuple.
        """
        result = self._found.get(signature)
        if result is None:
            kept = {
                *self._always,
                *self._fitting(self._attentions, signature.attentions, signature),
            }
            attentions = signature.attentions
            if attentions is None or any(len(loops) > _MAX_LOOPS for loops in attentions):
                # The ops into which an attention is decomposed have unknown types, too.
                kept.update(self._structured.all())
            else:
                for loops in attentions:
                    kept.update(self._structured.fitting(loops, of_part=True))
                kept.update(self._fitting(self._structured, signature.loops, signature))
            result = self._found[signature] = tuple(sorted(kept))
        return result

    def _fitting(
        self, family: _Family, ops: frozenset[LoopTuple] | None, signature: DispatchSignature
    ) -> Iterator[int]:
        """Yield the entries of a family that may match ops with given loops."""
        there = signature.element_types
        is_unknown = ops is None or any(len(loops) > _MAX_LOOPS for loops in ops)
        for loops in (None,) if ops is None or is_unknown else ops:
            for position in family.all() if loops is None else family.fitting(loops):
                key = self._keys[position]
                # All of its element types must occur, and a loop for each constraint on the size of some loop.
                has_types = there is None or key.element_types <= there
                if has_types and (
                    loops is None or all(any(map(extent.admits, loops)) for extent in key.extents)
                ):
                    yield position


STRUCTURAL: Final = frozenset(
    {"indexing_maps", "iterator_types", "operandSegmentSizes", "operand_segment_sizes"}
)
"""Attributes that determine the computation of an operation."""


@dataclass(frozen=True, eq=False)
class PrunableSpec:
    """A spec whose entries can be pruned."""

    spec: Spec

    @cached_property
    def is_prunable(self) -> bool:
        """Whether entries can be pruned at all."""
        if self.spec.kind is SpecKind.OPAQUE:
            return False
        anatomy = self.spec.anatomy
        actions = {action for _, action in anatomy.pairs}
        return not any(
            annotation.name in STRUCTURAL
            for action in actions
            for annotation in anatomy.table.annotations(action) or ()
        )

    @cached_property
    def _reader(self) -> MatcherReader:
        return MatcherReader(self.spec.anatomy.table)

    def matcher(self, position: int) -> Matcher:
        """Return the parsed matcher of the entry at a position."""
        return self._reader.read(self.spec.anatomy.pairs[position][0])

    @cached_property
    def index(self) -> EntryIndex:
        """The index of the entries that may match in a dispatch."""
        matchers = [matcher for matcher, _ in self.spec.anatomy.pairs]
        keys = {
            matcher: pruning_key(self._reader.read(matcher).predicates)
            for matcher in dict.fromkeys(matchers)
        }
        return EntryIndex([keys[matcher] for matcher in matchers])

    def part(self, kept: Sequence[int]) -> Part:
        """Return the part of the spec with the entries at the positions `kept`."""
        if not kept:
            return Part(self.spec, None, kept)
        if len(kept) == len(self.spec.anatomy.pairs):
            return Part(self.spec, self.spec)
        return Part(self.spec, subset(self.spec, kept), kept)


@dataclass(frozen=True, eq=False)
class Pruning:
    """The pruning data of specs, read once for each spec."""

    _specs: dict[int, PrunableSpec] = field(default_factory=dict, init=False)

    def prunable(self, spec: Spec) -> PrunableSpec:
        """Return the pruning data of a spec, which is read on demand."""
        return self._specs.setdefault(id(spec), PrunableSpec(spec))

    def prepare(self, spec: Spec) -> None:
        """Read the pruning data of a spec."""
        collects = gc.isenabled()
        gc.disable()  # All objects stay alive, and garbage collection would take a fifth of the time.
        try:
            if spec.kind is SpecKind.MATCHER_LIST:
                spec.anatomy.reaches_other_ops  # noqa: B018 - fills the cache
                self.prunable(spec).index  # noqa: B018
        finally:
            if collects:
                gc.enable()


# --- Keys of matchers: their forms without sizes, and their requirements that can be tested before preprocessing

_NAMED_CONTRACTIONS: Final = frozenset(
    f"linalg.{name}"
    for name in ("batch_matmul", "batch_matvec", "batch_vecmat", "matmul", "matvec", "vecmat")
)
_ATTENTIONS: Final = frozenset({names.ATTENTION, names.ONLINE_ATTENTION})


class Spelling(NamedTuple):
    """A matcher, split into its predicates without sizes and its sizes."""

    predicates: tuple[pred.Predicate, ...]
    sizes: Mapping[pred.Dimension, int]
    bounds: tuple[pred.HasExtent, ...]


def spelling_of(conjunction: Iterable[pred.Predicate]) -> Spelling:
    """Split the predicates of a matcher."""
    open_: list[pred.Predicate] = []
    sizes: dict[pred.Dimension, int] = {}
    bounds: list[pred.HasExtent] = []
    for predicate in conjunction:
        match predicate:
            case pred.HasRoleSizes(_, role, role_sizes):
                of_role = enumerate(role_sizes)
                sizes |= {(role, at, 0): size for at, size in of_role if size is not None}
                open_.append(replace(predicate, sizes=(None,) * len(role_sizes)))
            case pred.IsCastCompatible(value, type_) if type_.is_tensor:
                own = type_.sizes or ()
                place = value.group, value.number
                sizes |= {(*place, at): size for at, size in enumerate(own) if size is not None}
                opened = replace(type_, text="", sizes=(None,) * len(own))
                open_.append(replace(predicate, type=replace(opened, text=str(opened))))
            case pred.HasExtent():
                bounds.append(predicate)
            case _:
                open_.append(predicate)
    return Spelling(tuple(open_), sizes, tuple(bounds))


def kind_of(conjunction: Iterable[pred.Predicate]) -> OpKind | None:
    """Return the kind of op that predicates require, None if they require none."""
    # The kind is one of those in `ROLES`.
    kinds: list[OpKind] = []
    for predicate in conjunction:
        match predicate:
            case pred.IsKind(kind):
                return kind
            case pred.IsDag(kind=kind) if kind in ROLES:
                kinds.append(kind)
            case pred.NameIn(accepted) if accepted and _ATTENTIONS.issuperset(accepted):
                kinds.append(OpKind.ATTENTION)
            case pred.NameIn(accepted) if accepted and _NAMED_CONTRACTIONS.issuperset(accepted):
                kinds.append(OpKind.CONTRACTION)
    return kinds[0] if kinds else None


KEPT_OPERANDS: Final = 3
"""The number of operands of an attention that the compiler does not change: query, key and value."""

_OWN_LOOPS: Final = {
    OpKind.CONTRACTION: range(sys.maxsize),
    OpKind.CONVOLUTION: range(1, sys.maxsize),  # two loops at once index the image
    OpKind.ATTENTION: range(KEPT_OPERANDS),
}
"""The operands, by kind, each of whose dimensions is indexed by a loop of its own."""


@dataclass(frozen=True)
class LoopSizes:
    """The sizes of the loops of an op, without order and without loops of size 1.

    Preprocessing reorders loops, adds and removes loops of size 1, and preserves the others.
    """

    sizes: tuple[int, ...]
    is_complete: bool


@dataclass(frozen=True)
class PruningKey:
    """The requirements of a matcher on its candidate op.

    Attributes:
        kind: a contraction, a convolution or an attention; None for any.
        loops: the fixed sizes of its loops.
        element_types: the element types that some operand must have.
        extents: the constraints on the size of some loop that a loop of size 1 does not satisfy.
    """

    kind: OpKind | None = None
    loops: LoopSizes = LoopSizes((), is_complete=False)
    element_types: frozenset[str] = frozenset()
    extents: frozenset[pred.Extent] = frozenset()


def pruning_key(conjunction: Sequence[pred.Predicate]) -> PruningKey:
    """Return the key of a matcher, given its predicates up to where reading stopped."""
    kind = kind_of(conjunction)
    if kind is None:
        return PruningKey()
    roles: dict[str, Sizes] = {}
    types: dict[int, ValueType] = {}
    elements: set[str] = set()
    maps: pred.Maps | None = None
    bounds: list[pred.HasExtent] = []
    for predicate in conjunction:
        match predicate:
            case pred.HasRoleSizes(of_kind, role, sizes) if (
                of_kind is kind and role not in pred.STEPS
            ):
                roles.setdefault(role, sizes)
            case pred.HasElementType(of_kind, operand, _, element) if of_kind is kind:
                if kind is not OpKind.ATTENTION or 0 <= operand < KEPT_OPERANDS:
                    elements.add(element)
            case pred.HasMaps(op_maps):
                maps = maps or op_maps
            case pred.IsCastCompatible(value, type_) if (
                value.group == pred.OPERAND and type_.is_tensor
            ):
                types.setdefault(value.number, type_)
            case pred.HasExtent():
                bounds.append(predicate)
    # Only the types of unchanged operands of an attention can be compared.
    elements.update(
        type_.element
        for operand, type_ in types.items()
        if kind is not OpKind.ATTENTION or operand < KEPT_OPERANDS
    )
    # A dimension that may be 1 can be dropped before code generation.
    extents = [
        extent
        for (group, operand, _), extent in (box(bounds).items() if bounds else ())
        if group == pred.OPERAND and operand in _OWN_LOOPS[kind] and not extent.admits(1)
    ]
    loops = _loops(kind, roles, types, maps)
    return PruningKey(kind, loops, frozenset(elements), frozenset(extents))


def _loops(
    kind: OpKind, roles: Mapping[str, Sizes], types: Mapping[int, ValueType], maps: pred.Maps | None
) -> LoopSizes:
    """Return the loop sizes that follow from the roles, the maps or a single operand, whichever source determines the most."""
    role_sizes = [size for sizes in roles.values() for size in sizes]
    has_all = len(roles) == len(ROLES[kind]) or (
        bool(roles) and maps is not None and len(role_sizes) == maps.loop_count
    )
    by_role = _loop_sizes(role_sizes, is_complete=has_all and None not in role_sizes)
    if by_role.is_complete or not types:
        return by_role
    candidates = [by_role]
    if maps is not None:
        by_loop = {
            loop: size
            for operand, type_ in types.items()
            if operand < len(maps.loops) and len(type_.sizes or ()) == len(maps.loops[operand])
            for loop, size in zip(maps.loops[operand], type_.sizes or (), strict=True)
            if loop is not None and size is not None
        }
        is_complete = len(by_loop) == maps.loop_count
        candidates.append(_loop_sizes(by_loop.values(), is_complete=is_complete))
    candidates += (
        _loop_sizes(type_.sizes or (), is_complete=False)
        for operand, type_ in types.items()
        if operand in _OWN_LOOPS[kind]
    )
    return max(candidates, key=lambda key: (key.is_complete, len(key.sizes)))


def _loop_sizes(sizes: Iterable[int | None], *, is_complete: bool) -> LoopSizes:
    relevant = [size for size in sizes if size is not None and size != 1]
    return LoopSizes(tuple(sorted(relevant)), is_complete)


# --- Dispatch signatures: bounds on the operations that matchers will receive, read before preprocessing


@dataclass(frozen=True)
class DispatchSignature:
    """The upper bound on the ops that matchers can find in a dispatch.

    Attributes:
        loops: the possible loops of contractions and convolutions; None for any.
        attentions: the loops of each attention; None for any.
        element_types: the element types of all operands; None for any.
    """

    loops: frozenset[LoopTuple] | None
    attentions: frozenset[LoopTuple] | None
    element_types: frozenset[str] | None


UNKNOWN_DISPATCH: Final[DispatchSignature] = DispatchSignature(None, None, None)
"""The signature of a dispatch that contains an unknown operation."""

_STABLE_TYPES: Final = frozenset({"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "index"})
"""The element types that no preprocessing replaces. 1-bit types become bytes, and other small types may be replaced."""

_HARMLESS_DIALECTS: Final = frozenset({"affine", "arith", "func", "math", "scf"})
_HARMLESS: Final = frozenset(
    {
        names.MODULE,
        "hal.interface.binding.subspan",
        "hal.interface.constant.load",
        "iree_tensor_ext.dispatch.tensor.load",
        "iree_tensor_ext.dispatch.tensor.store",
        "iree_tensor_ext.dispatch.workload.ordinal",
        "tensor.dim",
        "tensor.empty",
        "tensor.extract",
        "tensor.extract_slice",
        "tensor.insert_slice",
        "util.assume.int",
        "util.optimization_barrier",
    }
)
"""Operations that do not affect the code of their neighbors."""

_RESHAPES: Final = frozenset({"tensor.collapse_shape", "tensor.expand_shape"})
"""Operations that may be moved past their neighbors, which then have other loops."""


@dataclass(frozen=True, eq=False)
class SignatureReader:
    """Reads dispatches of one context; shared parts are read once."""

    _loops: dict[tuple[mlir.Attribute, tuple[mlir.Type, ...]], LoopTuple | None] = field(
        default_factory=dict, init=False
    )
    _types: dict[mlir.Type, str | None] = field(default_factory=dict, init=False)

    def read(self, module: mlir.Operation) -> DispatchSignature:
        """Return the preserved properties of a dispatch at `executable-sources`."""
        # None stands for loops or types that are not known.
        loops: set[LoopTuple | None] = set()
        attentions: set[LoopTuple | None] = set()
        types: set[str | None] = set()
        is_unknown = False

        def visitor(operation: mlir.Operation) -> mlir.WalkResult | None:
            nonlocal is_unknown
            name = operation.name
            if name in _HARMLESS or name.partition(".")[0] in _HARMLESS_DIALECTS:
                return None
            if name in _RESHAPES:
                loops.add(None)
                attentions.add(None)
                return None
            operands = [operand.type for operand in operation.operands]
            maps = None
            if name in ATTENTION_OUTPUTS or name.startswith("linalg."):
                maps = StructuredOp(operation).maps_attribute
            if name in ATTENTION_OUTPUTS:
                operands = operands[:KEPT_OPERANDS]
                attentions.add(self._loops_of(maps, operands))
                if None in attentions:
                    # The ops into which it is decomposed have unknown loops, too.
                    loops.add(None)
            elif maps is not None:
                loops.add(self._loops_of(maps, operands))
            else:
                is_unknown = True
                return mlir.WalkResult.INTERRUPT
            for type_ in operands:
                if type_ not in self._types:
                    text = str(element_type(type_))
                    self._types[type_] = text if text in _STABLE_TYPES else None
                types.add(self._types[type_])
            return mlir.WalkResult.SKIP

        visit(module, visitor)
        if is_unknown:
            return UNKNOWN_DISPATCH
        return DispatchSignature(_known(loops), _known(attentions), _known(types))

    def _loops_of(
        self, attribute: mlir.Attribute | None, types: Sequence[mlir.Type]
    ) -> LoopTuple | None:
        """Return the loops of an operation with these maps and operand types; None if unknown."""
        if attribute is None:
            return None
        key = attribute, tuple(types)
        if key not in self._loops:
            maps = affine_maps(attribute)
            sizes: dict[int, int] = {}
            is_static = True
            for map_, type_ in zip(maps, types, strict=False):
                loops = indexing_loops(map_)
                if not loops:
                    continue
                has_encoding = (
                    isinstance(type_, mlir.RankedTensorType) and type_.encoding is not None
                )
                if (
                    not isinstance(type_, mlir.ShapedType)
                    or not type_.has_static_shape
                    or has_encoding
                ):
                    is_static = False
                    break
                pairs = zip(loops, type_.shape, strict=True)
                sizes.update((loop, size) for loop, size in pairs if loop is not None)
            is_known = is_static and bool(maps) and len(sizes) == maps[0].n_dims
            relevant = tuple(sorted(size for size in sizes.values() if size != 1))
            self._loops[key] = relevant if is_known else None
        return self._loops[key]


_T = TypeVar("_T")


def _known(values: set[_T | None]) -> frozenset[_T] | None:
    known = frozenset(value for value in values if value is not None)
    return known if len(known) == len(values) else None
