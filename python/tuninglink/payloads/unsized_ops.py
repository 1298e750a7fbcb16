"""Candidate operations of matchers, whose sizes are still open, and the preferred sizes of their open loops.

Matchers that differ only in sizes share the candidates. Preferred sizes are multiples of the configuration's tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from math import lcm
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import iree_codegen, iree_gpu

from tuninglink.iree import ATTENTION_OUTPUTS, REDUCTION, OpKind, Role, StructuredOp, affine_maps
from tuninglink.matching import STEPS
from tuninglink.mlir import body, collect, entries_of, integers_of, named_parameters, names
from tuninglink.payloads.operations import (
    TAKING_MAPS,
    Forced,
    SizeRelations,
    Template,
    attention,
    clone_into,
    generic,
    named,
    new_block,
    open_tensor,
)

if TYPE_CHECKING:
    from tuninglink.matching import Condition, Dimension
    from tuninglink.spaces.model import Problem


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
    for value in configurations:
        config = value
        if isinstance(value, iree_codegen.CompilationInfoAttr):
            config = value.lowering_config
        kind, bracket, _ = str(config).partition("<")
        mma: mlir.Attribute | None = None
        if isinstance(config, iree_gpu.LoweringConfigAttr):
            mma = config.mma_kind
            entries = entries_of(config.attributes)
        elif bracket and kind.endswith("lowering_config"):
            # The bindings have no class for `#iree_cpu.lowering_config` and `#iree_codegen.lowering_config`. Their
            # parameters are written like a dictionary, which the compiler's parser reads.
            entries = named_parameters(config) or {}
        else:
            continue
        for name, attribute in entries.items():
            if name not in _NO_TILES:
                for row in _rows(attribute):
                    for loop, size in enumerate(row):
                        if size > 0:
                            tile_sizes[loop] = lcm(tile_sizes.get(loop, 1), size)
        # Round the innermost loops of m, n and k up to whole intrinsics.
        if isinstance(mma, iree_gpu.MMAAttr | iree_gpu.VirtualMMAAttr):
            m, n, k = mma.mnk_shape
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
    return {loop: tile for loop, tile in tile_sizes.items() if tile <= _LARGEST}


def _rows(attribute: mlir.Attribute) -> Iterator[list[int]]:
    """Yield the lists of sizes in an attribute."""
    if not isinstance(attribute, mlir.ArrayAttr):
        return
    numbers = integers_of(attribute)
    if numbers and len(numbers) == len(attribute):
        yield numbers
    for element in attribute:
        yield from _rows(element)


_MOST: Final = 64
"""The capacity of each cache."""


class UnsizedOp:
    """A candidate operation of matchers, with its properties that do not depend on sizes."""

    def __init__(self, template: Template, *, is_shared: bool = False) -> None:
        self.template = template
        self.is_shared = is_shared
        self.tiles: Callable[[tuple[mlir.Attribute, ...]], Mapping[int, int]] = lru_cache(_MOST)(
            lambda configurations: tiles(configurations, template.op)
        )
        self.verified: dict[bool, Hashable] = {}
        self.problems: dict[Hashable, Problem | None] = {}

    @cached_property
    def relations(self) -> SizeRelations:
        """The relations between the operation's sizes."""
        return SizeRelations(self.template)

    @cached_property
    def forced_sizes(self) -> Callable[[tuple[Dimension, ...]], Forced | None]:
        """A function from dimensions with given sizes to a function that computes all sizes from these."""
        return lru_cache(_MOST)(self.relations.forced)


class UnsizedOps:
    """The candidate operations of matchers in one MLIR context."""

    def __init__(self, *, generalizes: bool) -> None:
        self._generalizes = generalizes
        self._known: dict[Hashable, _Replayed] = {}

    def of(self, condition: Condition, matcher: Sequence[mlir.Operation]) -> Iterator[UnsizedOp]:
        """Yield the candidate operations of a matcher, most likely ones first."""
        candidates = Candidates(condition, matcher, generalizes=self._generalizes)
        if candidates.has_shown_ops:
            return map(UnsizedOp, candidates.all())
        # The parts of a condition that determine the candidates.
        maps = condition.maps
        tables = (condition.types, condition.ranks, condition.least_ranks, condition.counts)
        key = (
            condition.names,
            condition.kinds,
            None if maps is None else maps.text,
            condition.operands,
            *(frozenset(table.items()) for table in tables),
            frozenset(size for size in condition.sizes if size.dimension[0] in CONVOLUTION_STEPS),
        )
        if key not in self._known:
            if len(self._known) == _MOST:
                self._known.clear()
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


# --- Operations that a matcher may match, most likely ones first, and common indexing maps for matchers without maps

Expressions = list[mlir.AffineExpr]
_MOST_OF_A_ROLE = 3
_IMAGES = (2, 1, 3)


@dataclass(frozen=True)
class Ranks:
    """Constraints on the ranks of operands: an exact or a minimum rank, by operand number."""

    exact: Mapping[int, int]
    least: Mapping[int, int]

    def allow(self, *ranks: int) -> bool:
        """Return whether the first operands may have these ranks."""
        return all(
            self.exact.get(at, rank) == rank and self.least.get(at, 0) <= rank
            for at, rank in enumerate(ranks)
        )

    @property
    def common(self) -> int:
        return next(iter(self.exact.values()), max(2, *self.least.values(), 0))


class _Loops:
    """A generator of loops in order."""

    def __init__(self) -> None:
        self._count = 0

    def take(self, count: int) -> Expressions:
        self._count += count
        return list(map(mlir.AffineExpr.get_dim, range(self._count - count, self._count)))

    def maps(self, *operands: Sequence[mlir.AffineExpr]) -> list[mlir.AffineMap]:
        return [mlir.AffineMap.get(self._count, 0, list(operand)) for operand in operands]


def _in_turns(first: Expressions, second: Expressions) -> Expressions:
    return [expression for pair in zip(first, second, strict=True) for expression in pair]


def _contraction_maps(counts: Mapping[str, int], ranks: Ranks) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of contractions, given the number of loops of some roles, such as `contraction m`."""
    known_counts = [counts.get(f"contraction {role}") for role in ("batch", "m", "n", "k")]
    choices = [range(_MOST_OF_A_ROLE + 1) if count is None else (count,) for count in known_counts]
    # Start with a plain matmul.
    for batch, m, n, k in sorted(
        product(*choices),
        key=lambda count: (abs(count[1] - 1) + abs(count[2] - 1) + count[3], count),
    ):
        if k == 0 or not ranks.allow(batch + m + k, batch + n + k, batch + m + n):
            continue
        loops = _Loops()
        b_, m_, n_, k_ = map(loops.take, (batch, m, n, k))
        for k_is_last_in_lhs, k_is_last_in_rhs in ((1, 0), (1, 1), (0, 0), (0, 1)):
            lhs = [*b_, *m_, *k_] if k_is_last_in_lhs else [*b_, *k_, *m_]
            rhs = [*b_, *n_, *k_] if k_is_last_in_rhs else [*b_, *k_, *n_]
            yield loops.maps(lhs, rhs, [*b_, *m_, *n_])
        if m == n == k:  # Packed: tiles of m and k alternate.
            packed = ((m_, k_), (n_, k_), (m_, n_))
            yield loops.maps(*([*b_, *_in_turns(*pair)] for pair in packed))


def _convolution_maps(condition: Condition, ranks: Ranks) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of convolutions."""
    counts = condition.counts

    def choices(role: str, usual: Sequence[int]) -> Sequence[int]:
        count = counts.get(f"convolution {role}")
        return usual if count is None else (count,)

    # The required strides and dilations, and the possible numbers of dimensions of the image.
    strides, dilations = (
        {
            fact.dimension[1]: fact.extent.size
            for fact in condition.sizes
            if fact.extent.size is not None and fact.dimension[0] == f"convolution {role}"
        }
        for role in ("strides", "dilations")
    )
    roles = ("output_image", "filter", "strides", "dilations")
    images = {counts[name] for role in roles if (name := f"convolution {role}") in counts}
    for image, depth, batch, outputs, inputs, step in product(
        sorted(images) or _IMAGES,
        choices("depth", (0, 1)),
        choices("batch", (1, 2, 0)),
        choices("output_channel", (1, 0, 2)),
        choices("input_channel", (1, 0, 2)),
        (1,) if strides else (1, 2),
    ):
        loops = _Loops()
        b, i, o, d, f, c = map(loops.take, (batch, image, outputs, depth, image, inputs))
        window = [
            i[at] * strides.get(at, step) + f[at] * dilations.get(at, 1) for at in range(image)
        ]
        layouts = (
            ([*b, *window, *d, *c], [*f, *d, *c, *o], [*b, *i, *d, *o]),
            ([*b, *window, *d, *c], [*d, *o, *f, *c], [*b, *i, *d, *o]),
            ([*b, *d, *c, *window], [*d, *o, *c, *f], [*b, *d, *o, *i]),
        )
        # A pooling, whose channels are like a batch.
        pooling = ([*b[:1], *window, *b[1:]], f, [*b[:1], *i, *b[1:]])
        for layout in layouts if o or d or c else (pooling,):
            if ranks.allow(*map(len, layout)):
                yield loops.maps(*layout)


CONVOLUTION_STEPS: Final = frozenset(f"convolution {step}" for step in STEPS)
"""Roles in conditions that are strides and dilations, not sizes."""

_ATTENTIONS: Final = (names.ONLINE_ATTENTION, names.ATTENTION)


class Candidates:
    """The operations that a matcher may match.

    The operations are built in the current context, at the current location.
    """

    def __init__(
        self, condition: Condition, sequences: Sequence[mlir.Operation], *, generalizes: bool
    ) -> None:
        self._condition = condition
        self._ranks = Ranks(condition.ranks, condition.least_ranks)
        self._sequences = sequences
        self._generalizes = generalizes

    @cached_property
    def _maps_attribute(self) -> mlir.Attribute | None:
        maps = self._condition.maps
        return None if maps is None else mlir.Attribute.parse(maps.text)

    @cached_property
    def _maps(self) -> Sequence[mlir.AffineMap]:
        return () if self._maps_attribute is None else affine_maps(self._maps_attribute)

    @cached_property
    def _shown(self) -> Mapping[str, mlir.Operation]:
        """The first match op of each name that contains a graph or regions, by name."""
        shown: dict[str, mlir.Operation] = {}
        for sequence in self._sequences:
            for op in collect(sequence, names.MATCH_DAG, names.MATCH_REGIONS):
                shown.setdefault(op.name, op)
        return shown

    @property
    def has_shown_ops(self) -> bool:
        return bool(self._shown)

    def all(self) -> Iterator[Template]:
        """Yield operations with the structure that the matcher requires, but possibly without valid sizes."""
        if names.MATCH_DAG in self._shown:
            graph = self._shown[names.MATCH_DAG]
            yield Template(graph, graph.regions[0].blocks[0], is_exact=True)
            return
        if names.MATCH_REGIONS in self._shown:
            yield self._with_regions(self._shown[names.MATCH_REGIONS])
            return

        # Start with operations that a backend leaves unchanged. A fill accompanies many other operations.
        def order(name: str) -> tuple[bool, bool, bool, str]:
            is_lost = self._generalizes and name in _GENERALIZED
            return is_lost, name == names.FILL, self._generalizes and name != names.GENERIC, name

        condition_names = self._condition.names
        for name in (
            [names.GENERIC] if condition_names is None else sorted(condition_names, key=order)
        ):
            if name in _ATTENTIONS:
                yield from self._attentions(name)
            elif name == names.GENERIC:
                for layout in [self._maps] if self._maps else self._layouts():
                    # Open element types are those of the other operands, or common ones.
                    types = self._types(len(layout))
                    output = types[-1]
                    inputs = next(filter(None, types[:-1]), output or mlir.F32Type.get())
                    filled = [*(kind or inputs for kind in types[:-1]), output or inputs]
                    yield generic(layout, filled)
            else:
                # Named operations, with the required indexing maps if the operations support them.
                maps = self._maps_attribute
                for template in named(name, self._types(_MANY_OPERANDS), self._ranks.common):
                    if maps is not None and name in TAKING_MAPS:
                        template.root.attributes["indexing_maps"] = maps
                    if not self._maps or self._maps == template.op.maps:
                        yield template

    def _types(self, count: int) -> list[mlir.Type | None]:
        types = {at: mlir.Type.parse(text) for at, text in self._condition.types.items()}
        return [types.get(position) for position in range(count)]

    def _attentions(self, name: str) -> Iterator[Template]:
        outputs = ATTENTION_OUTPUTS[name]

        # Maps without and with a mask.
        def usual_maps() -> Iterator[Sequence[mlir.AffineMap]]:
            for batch, has_mask in product((1, 2, 0), (False, True)):
                loops = _Loops()
                b = loops.take(batch)
                m, n, k1, k2 = loops.take(4)
                inputs = [[*b, m, k1], [*b, k2, k1], [*b, k2, n], []]
                masks = [[*b, m, k2]] if has_mask else []
                results = [[*b, m, n], [*b, m], [*b, m]][:outputs]
                yield loops.maps(*inputs, *masks, *results)

        for maps in [self._maps] if self._maps else usual_maps():
            if not self._ranks.allow(*(len(map_.results) for map_ in maps)):
                continue
            types = self._types(len(maps))
            inputs = next((kind for kind in types[:3] if kind is not None), mlir.F16Type.get())
            rest = mlir.F32Type.get() if name == names.ONLINE_ATTENTION else inputs
            first = len(maps) - outputs
            filled = [kind or (inputs if at < first else rest) for at, kind in enumerate(types)]
            yield attention(name, maps, filled)

    def _layouts(self) -> Iterator[list[mlir.AffineMap]]:
        """Yield common maps of generic ops."""
        condition, ranks = self._condition, self._ranks
        exact, least = ranks.exact, ranks.least
        # Prefer the least ranks: a matcher that reads dimensions of all operands usually reads the last ones.
        tightened = Ranks({**least, **exact}, {})
        is_tight = all(at in exact or at in least for at in range(3))
        attempts = (tightened, ranks) if is_tight else (ranks,)
        if OpKind.CONVOLUTION in condition.kinds:
            for attempt in attempts:
                yield from _convolution_maps(condition, attempt)
            return
        for attempt in attempts:
            yield from _contraction_maps(condition.counts, attempt)
        if OpKind.CONTRACTION not in condition.kinds:
            # Maps without reduction: for operands of equal rank, and for operands that share no loop, of any shapes.
            count = max(2, condition.operands)
            loops = _Loops()
            yield loops.maps(*[loops.take(ranks.common)] * count)
            loops = _Loops()
            likely = [exact.get(at, max(2, least.get(at, 0))) for at in range(count)]
            separate = list(map(loops.take, likely))
            yield loops.maps(*separate)

    def _with_regions(self, shown: mlir.Operation) -> Template:
        """Return the operation with the required regions; its other properties are unconstrained."""
        target = next(body(shown))
        types = [_opened(operand.type) for operand in target.operands]
        owner, block = new_block(types)
        values: dict[Any, Any] = dict(zip(target.operands, block.arguments, strict=True))
        with mlir.InsertionPoint(block):
            clone = clone_into(target, values, [_opened(result.type) for result in target.results])
        maps = self._maps_attribute
        if maps is not None:
            clone.attributes["indexing_maps"] = maps
        return Template(owner, block, is_exact=False)


_GENERALIZED: Final = frozenset(
    {
        *_ATTENTIONS[1:],
        *("linalg.batch_matmul", "linalg.batch_matvec", "linalg.batch_vecmat", "linalg.dot"),
        *("linalg.matmul", "linalg.matvec", "linalg.quantized_matmul", "linalg.softmax"),
        *("linalg.transpose", "linalg.vecmat"),
    }
)
"""Operations that GPU backends replace before they match, as `tuninglink.compile` shows."""

_MANY_OPERANDS: Final = 16


def _opened(kind: mlir.Type) -> mlir.Type:
    if isinstance(kind, mlir.RankedTensorType):
        return open_tensor(kind.rank, kind.element_type)
    return kind
