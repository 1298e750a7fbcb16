"""Candidate operations of matchers, whose sizes are still open, and the preferred sizes of their open loops.

Matchers that differ only in sizes share the candidates. Preferred sizes are multiples of the configuration's tiles.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import lcm
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree.op_kinds import OpKind, Role
from tuninglink.iree.structured_op import REDUCTION, StructuredOp
from tuninglink.mlir import names
from tuninglink.mlir.attributes import entries_of, integers_of, named_parameters
from tuninglink.mlir.walk import collect
from tuninglink.payloads.likely_ops import CONVOLUTION_STEPS, Candidates
from tuninglink.payloads.size_relations import Forced, SizeRelations

if TYPE_CHECKING:
    from tuninglink.matching.conditions import Condition
    from tuninglink.matching.predicates import Dimension
    from tuninglink.payloads.op_templates import Template
    from tuninglink.spaces.workload import Problem

_USUAL: Final[Mapping[OpKind, Mapping[Role, int]]] = {
    OpKind.CONTRACTION: {Role.BATCH: 4, Role.M: 256, Role.N: 256, Role.K: 256},
    OpKind.CONVOLUTION: {
        Role.BATCH: 2,
        Role.OUTPUT_IMAGE: 16,
        Role.OUTPUT_CHANNEL: 64,
        Role.FILTER: 3,
        Role.INPUT_CHANNEL: 64,
        Role.DEPTH: 2,
    },
    OpKind.ATTENTION: {Role.BATCH: 4, Role.M: 256, Role.N: 64, Role.K1: 64, Role.K2: 256},
}
"""Moderate sizes of loops by kind and role: multiples of common tile sizes."""

_USUAL_ELSEWHERE: Final = 64
_USUAL_OUTER: Final = 4
_ALIKE: Final = frozenset({Role.OUTPUT_IMAGE, Role.FILTER})
"""Roles whose loops all have the usual size. In other roles, only the innermost loop has it."""

_OTHERS: Final = (512, 256, 128, 96, 64, 48, 32, 16, 8, 4, 3, 2, 1)
_LARGEST: Final = 4096
"""The largest size chosen for its divisors: the least common multiple of tiles may be huge."""

_NO_TILES: Final = frozenset({"promote_operands", "subgroup_basis", "lane_basis"})
"""Parameters of lowering configs whose numbers are not tile sizes."""


def usual_sizes(op: StructuredOp) -> list[int]:
    """Return a moderate size of each loop of an op."""
    sizes = [_USUAL_ELSEWHERE] * op.loop_count
    for role, loops in op.loops.items():
        for loop in loops:
            # Of several loops, the innermost is tiled, and the others are like a batch.
            is_outer = loop != loops[-1] and role not in _ALIKE
            sizes[loop] = _USUAL_OUTER if is_outer else _USUAL[op.kind][role]
    return sizes


def preferred_sizes(usual: int, tile: int) -> list[int]:
    """Return the sizes to try for a loop with a tile size, best ones first. `usual` is a moderate size."""
    common = lcm(usual, tile)
    best = common if common <= _LARGEST else tile
    rounded = -(-usual // tile) * tile
    return list(dict.fromkeys([best, rounded, 2 * tile, tile, usual, *_OTHERS]))


def tiles(configurations: Iterable[mlir.Attribute], op: StructuredOp) -> dict[int, int]:
    """Return the tile size of each loop in configurations, which is a preferred divisor of the loop's size."""
    tile_sizes: dict[int, int] = {}
    for config in map(_lowering_config, configurations):
        entries = _entries(config)
        for name, attribute in entries.items():
            if name not in _NO_TILES:
                for row in _rows(attribute):
                    for loop, size in enumerate(row):
                        if size > 0:
                            tile_sizes[loop] = lcm(tile_sizes.get(loop, 1), size)
        if isinstance(config, iree_gpu.LoweringConfigAttr):
            _add_intrinsic(config, op, tile_sizes)
    return {loop: tile for loop, tile in tile_sizes.items() if tile <= _LARGEST}


def constants(sequences: Iterable[mlir.Operation]) -> tuple[mlir.Attribute, ...]:
    """Return the constants in sequences, which may be configurations."""
    return tuple(
        op.attributes["value"]
        for sequence in sequences
        for op in collect(sequence, names.PARAM_CONSTANT)
    )


def _lowering_config(value: mlir.Attribute) -> mlir.Attribute:
    if isinstance(value, iree_codegen.CompilationInfoAttr):
        return value.lowering_config
    return value


def _entries(config: mlir.Attribute) -> dict[str, mlir.Attribute]:
    """Return the parameters of a lowering config; empty for any other attribute.

    The bindings have no class for `#iree_cpu.lowering_config` and `#iree_codegen.lowering_config`. Their parameters are
    written like a dictionary, which the compiler's parser reads.
    """
    if isinstance(config, iree_gpu.LoweringConfigAttr):
        return entries_of(config.attributes)
    kind, bracket, _ = str(config).partition("<")
    is_configuration = bool(bracket) and kind.endswith("lowering_config")
    return (named_parameters(config) if is_configuration else None) or {}


def _rows(attribute: mlir.Attribute) -> Iterator[list[int]]:
    """Yield the lists of sizes in an attribute."""
    if not isinstance(attribute, mlir.ArrayAttr):
        return
    numbers = integers_of(attribute)
    if numbers and len(numbers) == len(attribute):
        yield numbers
    for element in attribute:
        yield from _rows(element)


def _add_intrinsic(
    config: iree_gpu.LoweringConfigAttr, op: StructuredOp, tile_sizes: dict[int, int]
) -> None:
    """Round the innermost loops of m, n and k up to whole intrinsics."""
    kind = config.mma_kind
    if not isinstance(kind, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr):
        return
    m, n, k = kind.mnk_shape
    multiples = {
        OpKind.CONTRACTION: {Role.M: m, Role.N: n, Role.K: k},
        OpKind.CONVOLUTION: {Role.OUTPUT_CHANNEL: n, Role.INPUT_CHANNEL: k},
    }
    for role, size in multiples.get(op.kind, {}).items():
        for loop in op.loops[role][-1:]:
            tile = tile_sizes.get(loop, 1)
            # Some pipelines count the tiles of reductions in intrinsics.
            is_reduction = op.iterator_types[loop] == REDUCTION
            tile_sizes[loop] = tile * size if is_reduction else lcm(tile, size)


_MOST: Final = 64
"""The capacity of each cache."""


class UnsizedOp:
    """A candidate operation of matchers, with its properties that do not depend on sizes.

    Attributes:
        template: the operation.
        is_shared: whether other matchers that differ only in sizes have the same candidate.
        verified: the ways to start an accumulation (filled or not) for which the compiler accepts a program, with the
            size-independent properties of the body's ops; see `drafts`.
        problems: the problem of the operation in each family, for some sizes; None if it has other loops.
    """

    def __init__(self, template: Template, *, is_shared: bool = False) -> None:
        self.template = template
        self.is_shared = is_shared
        self._tiles: dict[tuple[mlir.Attribute, ...], Mapping[int, int]] = {}
        self._forced: dict[tuple[Dimension, ...], Forced | None] = {}
        self.verified: dict[bool, Hashable] = {}
        self.problems: dict[Hashable, Problem | None] = {}

    @cached_property
    def relations(self) -> SizeRelations:
        """The relations between the operation's sizes.

        Raises:
            UnsizedError: a relation is unknown.
        """
        return SizeRelations(self.template)

    def forced_sizes(self, dimensions: tuple[Dimension, ...]) -> Forced | None:
        """Return a function from the sizes of some dimensions to all unknown sizes; see `SizeRelations.forced`."""
        if dimensions not in self._forced:
            _make_room(self._forced)
            self._forced[dimensions] = self.relations.forced(dimensions)
        return self._forced[dimensions]

    def tiles(self, configurations: tuple[mlir.Attribute, ...]) -> Mapping[int, int]:
        """Return the tile sizes of the operation's loops in configurations; see the function `tiles`."""
        if configurations not in self._tiles:
            _make_room(self._tiles)
            self._tiles[configurations] = tiles(configurations, self.template.op)
        return self._tiles[configurations]


class UnsizedOps:
    """The candidate operations of matchers in one MLIR context.

    Args:
        generalizes: whether the target's backend generalizes named operations before specs match.
    """

    def __init__(self, *, generalizes: bool) -> None:
        self._generalizes = generalizes
        self._known: dict[Hashable, _Replayed] = {}

    def of(self, condition: Condition, matcher: Sequence[mlir.Operation]) -> Iterator[UnsizedOp]:
        """Yield the candidate operations of a matcher, most likely ones first.

        Args:
            condition: the matcher's condition.
            matcher: the matcher and the sequences that it includes.
        """
        candidates = Candidates(condition, matcher, generalizes=self._generalizes)
        if candidates.has_shown_ops:
            return map(UnsizedOp, candidates.all())
        key = _key(condition)
        if key not in self._known:
            _make_room(self._known)
            self._known[key] = _Replayed(
                UnsizedOp(template, is_shared=True) for template in candidates.all()
            )
        return iter(self._known[key])


class _Replayed:
    """The items of an iterator and its exception, cached for repeated iteration."""

    def __init__(self, source: Iterator[UnsizedOp]) -> None:
        self._source = source
        self._items: list[UnsizedOp] = []
        self._failure: Exception | None = None

    def __iter__(self) -> Iterator[UnsizedOp]:
        yield from self._items
        if self._failure is not None:
            raise self._failure
        try:
            for item in self._source:
                self._items.append(item)
                yield item
        except Exception as failure:
            self._failure = failure
            raise


def _key(condition: Condition) -> Hashable:
    """Return the parts of a condition that determine the candidates."""
    maps = condition.maps
    tables = (condition.types, condition.ranks, condition.least_ranks, condition.counts)
    return (
        condition.names,
        condition.kinds,
        None if maps is None else maps.text,
        condition.operands,
        *(frozenset(table.items()) for table in tables),
        frozenset(size for size in condition.sizes if size.dimension[0] in CONVOLUTION_STEPS),
    )


def _make_room(cache: dict[Any, Any]) -> None:
    if len(cache) == _MOST:
        cache.clear()
