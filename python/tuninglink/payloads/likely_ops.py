"""Operations that a matcher may match, most likely ones first, and common indexing maps for matchers without maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from iree.compiler import ir as mlir

from tuninglink.iree.op_kinds import ATTENTION_OUTPUTS, OpKind, affine_maps
from tuninglink.matching.predicates import STEPS
from tuninglink.mlir import names
from tuninglink.mlir.walk import body, collect
from tuninglink.payloads.op_templates import Template, clone_into, new_block, open_tensor
from tuninglink.payloads.operations import TAKING_MAPS, attention, generic, named

if TYPE_CHECKING:
    from tuninglink.matching.conditions import Condition


Expressions = list[mlir.AffineExpr]
_MOST_OF_A_ROLE = 3
_BATCHES = (1, 2, 0)
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

    def mention(self, count: int) -> bool:
        """Return whether all of the first operands have a constraint."""
        return all(at in self.exact or at in self.least for at in range(count))

    def tightened(self) -> Ranks:
        """Return the constraints with each minimum rank made exact."""
        return Ranks({**self.least, **self.exact}, {})

    def likely(self, operand: int) -> int:
        """Return a rank that satisfies the constraints on an operand."""
        return self.exact.get(operand, max(2, self.least.get(operand, 0)))

    @property
    def common(self) -> int:
        """A rank for ops whose operands all have the same rank."""
        return next(iter(self.exact.values()), max(2, *self.least.values(), 0))


class _Loops:
    """A generator of loops in order."""

    def __init__(self) -> None:
        self._count = 0

    def take(self, count: int) -> Expressions:
        """Return the next loops."""
        self._count += count
        return list(map(mlir.AffineExpr.get_dim, range(self._count - count, self._count)))

    def maps(self, *operands: Sequence[mlir.AffineExpr]) -> list[mlir.AffineMap]:
        """Return the maps of operands."""
        return [mlir.AffineMap.get(self._count, 0, list(operand)) for operand in operands]


def contraction_maps(counts: Mapping[str, int], ranks: Ranks) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of contractions, given the number of loops of each role, such as `contraction m`."""
    for batch, m, n, k in _dimension_counts(counts, ranks):
        for k_is_last_in_lhs, k_is_last_in_rhs in ((1, 0), (1, 1), (0, 0), (0, 1)):
            loops = _Loops()
            b_, m_, n_, k_ = (loops.take(count) for count in (batch, m, n, k))
            lhs = [*b_, *m_, *k_] if k_is_last_in_lhs else [*b_, *k_, *m_]
            rhs = [*b_, *n_, *k_] if k_is_last_in_rhs else [*b_, *k_, *n_]
            yield loops.maps(lhs, rhs, [*b_, *m_, *n_])
        if m == n == k:  # Packed: tiles of m and k alternate.
            loops = _Loops()
            b_, m_, n_, k_ = (loops.take(count) for count in (batch, m, n, k))
            yield loops.maps(
                [*b_, *_in_turns(m_, k_)], [*b_, *_in_turns(n_, k_)], [*b_, *_in_turns(m_, n_)]
            )


def _in_turns(first: Expressions, second: Expressions) -> Expressions:
    return [expression for pair in zip(first, second, strict=True) for expression in pair]


def _dimension_counts(counts: Mapping[str, int], ranks: Ranks) -> list[tuple[int, int, int, int]]:
    """Return the possible numbers of loops of the roles, starting with a plain matmul."""
    known_counts = [counts.get(f"contraction {role}") for role in ("batch", "m", "n", "k")]
    choices = [range(_MOST_OF_A_ROLE + 1) if count is None else (count,) for count in known_counts]
    dimension_counts = [
        (batch, m, n, k)
        for batch, m, n, k in product(*choices)
        if k > 0 and ranks.allow(batch + m + k, batch + n + k, batch + m + n)
    ]
    return sorted(
        dimension_counts,
        key=lambda count: (abs(count[1] - 1) + abs(count[2] - 1) + count[3], count),
    )


def elementwise_maps(ranks: Ranks, last: int) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of operations without reduction on operands of equal rank, up to the operand `last`."""
    loops = _Loops()
    identity = loops.take(ranks.common)
    yield loops.maps(*([identity] * max(2, last + 1)))


def separate_maps(ranks: Ranks, last: int) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of operations whose operands share no loop, which fit any shapes."""
    loops = _Loops()
    operands = [loops.take(ranks.likely(position)) for position in range(max(2, last + 1))]
    yield loops.maps(*operands)


def _images(counts: Mapping[str, int]) -> Sequence[int]:
    """Return the possible ranks of an image, each dimension of which has a size, a filter, a stride and a dilation."""
    roles = ("output_image", "filter", "strides", "dilations")
    ranks = {counts[name] for role in roles if (name := f"convolution {role}") in counts}
    return sorted(ranks) or _IMAGES


def convolution_maps(
    counts: Mapping[str, int],
    ranks: Ranks,
    strides: Mapping[int, int],
    dilations: Mapping[int, int],
) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of convolutions.

    Args:
        counts: the numbers of loops of roles such as `convolution filter`.
        ranks: constraints on the ranks of operands.
        strides: the stride of each dimension of the image, if the matcher requires it.
        dilations: the dilation of each dimension of the image, if the matcher requires it.
    """

    def choices(role: str, usual: Sequence[int]) -> Sequence[int]:
        count = counts.get(f"convolution {role}")
        return usual if count is None else (count,)

    for image, depth, batch, outputs, inputs, step in product(
        _images(counts),
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


def attention_maps(outputs: int) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of attentions with a number of outputs, without and with a mask."""
    for batch, has_mask in product(_BATCHES, (False, True)):
        loops = _Loops()
        b = loops.take(batch)
        m, n, k1, k2 = loops.take(4)
        inputs = [[*b, m, k1], [*b, k2, k1], [*b, k2, n], []]
        masks = [[*b, m, k2]] if has_mask else []
        results = [[*b, m, n], [*b, m], [*b, m]][:outputs]
        yield loops.maps(*inputs, *masks, *results)


CONVOLUTION_STEPS: Final = frozenset(f"convolution {step}" for step in STEPS)
"""Roles in conditions that are strides and dilations, not sizes."""

_ATTENTIONS: Final = (names.ONLINE_ATTENTION, names.ATTENTION)


class Candidates:
    """The operations that a matcher may match.

    The operations are built in the current context, at the current location.

    Args:
        condition: the condition of the matcher.
        sequences: the matcher and the sequences that it includes.
        generalizes: whether the target's backend generalizes named operations before specs match.
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
        """Whether the matcher contains a graph or regions. The operations then depend on more than the condition."""
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
        for name in self._names():
            if name in _ATTENTIONS:
                yield from self._attentions(name)
            elif name == names.GENERIC:
                yield from self._generics()
            else:
                yield from self._named(name)

    def _names(self) -> list[str]:
        """Return the names of the operations to try, starting with operations that a backend leaves unchanged."""
        condition_names = self._condition.names
        if condition_names is None:
            return [names.GENERIC]

        def order(name: str) -> tuple[bool, bool, bool, str]:
            is_lost = self._generalizes and name in _GENERALIZED
            is_last = name == names.FILL  # A fill accompanies many other operations.
            return is_lost, is_last, self._generalizes and name != names.GENERIC, name

        return sorted(condition_names, key=order)

    def _types(self, count: int) -> list[mlir.Type | None]:
        types = {at: mlir.Type.parse(text) for at, text in self._condition.types.items()}
        return [types.get(position) for position in range(count)]

    def _named(self, name: str) -> Iterator[Template]:
        """Yield named operations, with the required indexing maps if the operations support them."""
        maps = self._maps_attribute
        for template in named(name, self._types(_MANY_OPERANDS), self._ranks.common):
            if maps is not None and name in TAKING_MAPS:
                template.root.attributes["indexing_maps"] = maps
            if not self._maps or self._maps == template.op.maps:
                yield template

    def _attentions(self, name: str) -> Iterator[Template]:
        outputs = ATTENTION_OUTPUTS[name]
        for maps in [self._maps] if self._maps else attention_maps(outputs):
            if not self._ranks.allow(*(len(map_.results) for map_ in maps)):
                continue
            types = self._types(len(maps))
            inputs = next((kind for kind in types[:3] if kind is not None), mlir.F16Type.get())
            rest = mlir.F32Type.get() if name == names.ONLINE_ATTENTION else inputs
            first = len(maps) - outputs
            filled = [kind or (inputs if at < first else rest) for at, kind in enumerate(types)]
            yield attention(name, maps, filled)

    def _generics(self) -> Iterator[Template]:
        for layout in [self._maps] if self._maps else self._layouts():
            yield generic(layout, self._filled(len(layout)))

    def _layouts(self) -> Iterator[list[mlir.AffineMap]]:
        condition, ranks = self._condition, self._ranks
        # Prefer the least ranks: a matcher that reads dimensions of all operands usually reads the last ones.
        attempts = (ranks.tightened(), ranks) if ranks.mention(3) else (ranks,)
        if OpKind.CONVOLUTION in condition.kinds:
            strides, dilations = self._steps("strides"), self._steps("dilations")
            for attempt in attempts:
                yield from convolution_maps(condition.counts, attempt, strides, dilations)
            return
        for attempt in attempts:
            yield from contraction_maps(condition.counts, attempt)
        if OpKind.CONTRACTION not in condition.kinds:
            last = condition.operands - 1
            yield from elementwise_maps(ranks, last)
            yield from separate_maps(ranks, last)

    def _steps(self, role: str) -> dict[int, int]:
        return {
            fact.dimension[1]: fact.extent.size
            for fact in self._condition.sizes
            if fact.extent.size is not None and fact.dimension[0] == f"convolution {role}"
        }

    def _filled(self, count: int) -> list[mlir.Type]:
        """Return element types, with open ones set to those of the other operands or to common types."""
        types = self._types(count)
        output = types[-1]
        inputs = next(filter(None, types[:-1]), output or mlir.F32Type.get())
        return [*(kind or inputs for kind in types[:-1]), output or inputs]

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
