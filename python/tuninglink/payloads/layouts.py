"""Indexing maps for ops whose matcher leaves them open, the common ones first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from iree.compiler import ir as mlir

Expressions = list[mlir.AffineExpr]
_MOST_OF_A_ROLE = 3
_BATCHES = (1, 2, 0)
_IMAGES = (2, 1, 3)


@dataclass(frozen=True)
class Ranks:
    """Constraints on the ranks of operands: an exact or a least rank, by the number of the operand."""

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
        """Return the constraints with each least rank as an exact one."""
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
        return [
            mlir.AffineExpr.get_dim(position)
            for position in range(self._count - count, self._count)
        ]

    def maps(self, *operands: Sequence[mlir.AffineExpr]) -> list[mlir.AffineMap]:
        """Return the maps of operands."""
        return [mlir.AffineMap.get(self._count, 0, list(operand)) for operand in operands]


def contractions(counts: Mapping[str, int], ranks: Ranks) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of contractions, for given numbers of loops of roles such as `contraction m`."""
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
    """Return the numbers of loops of the roles, those of a plain matmul first."""
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


def elementwise(ranks: Ranks, last: int) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of operations without reduction on operands of one rank, up to the operand `last`."""
    loops = _Loops()
    identity = loops.take(ranks.common)
    yield loops.maps(*([identity] * max(2, last + 1)))


def separate(ranks: Ranks, last: int) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of operations whose operands share no loop, which fit any shapes."""
    loops = _Loops()
    operands = [loops.take(ranks.likely(position)) for position in range(max(2, last + 1))]
    yield loops.maps(*operands)


def _images(counts: Mapping[str, int]) -> Sequence[int]:
    """Return the possible ranks of an image: each dimension has a size, a filter, a stride and a dilation."""
    roles = ("output_image", "filter", "strides", "dilations")
    ranks = {counts[name] for role in roles if (name := f"convolution {role}") in counts}
    return sorted(ranks) or _IMAGES


def convolutions(
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
        dilations: the dilation, likewise.
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


def attentions(outputs: int) -> Iterator[list[mlir.AffineMap]]:
    """Yield maps of attentions with a number of outputs, without and with a mask."""
    for batch, has_mask in product(_BATCHES, (False, True)):
        loops = _Loops()
        b = loops.take(batch)
        m, n, k1, k2 = loops.take(4)
        inputs = [[*b, m, k1], [*b, k2, k1], [*b, k2, n], []]
        masks = [[*b, m, k2]] if has_mask else []
        results = [[*b, m, n], [*b, m], [*b, m]][:outputs]
        yield loops.maps(*inputs, *masks, *results)
