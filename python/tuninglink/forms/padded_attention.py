"""Attention padded to sizes that intrinsics divide: more keys, more queries, larger heads.

Why the padded attention computes the same. Let q, k, v be zero where they are padded.

- Features (k1): a score is the sum over the elements of a query times those of a key. Padding adds terms 0 times 0, so
  that scores are the same bits, whatever the other elements are.
- Columns of values (n): a column of the result depends on the same column of the values only. The added columns are cut
  off.
- Queries (m): a row of the result depends on the same row of the queries and of the mask only. The added rows are cut
  off; that they may be NaN, where a mask excludes all keys, has no effect on others.
- Keys (k2): the mask is minus infinity for an added key, or false. Its score is 0 times the scale plus minus infinity.
  The exponential of that is 0 after any finite maximum is subtracted, and the row's maximum is that of the other keys:
  the compiler starts from the lowest finite number. So an added key adds 0 to the sum, and 0 times a value of 0 to the
  result. A finite number instead of minus infinity would be wrong where the program's own mask has as low a number in
  a whole row. A row whose keys are all excluded stays what it was, 0 divided by 0. If a query or the scale is infinite
  or NaN, the added score may be NaN; the row is NaN without it, too: one of its scores is NaN, or plus infinity, from
  which itself is subtracted, or all are minus infinity.

The output operand is not passed on, since attention does not read it. All other operands are. The order in which terms
are added may change, so that results agree up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import lcm, prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.forms.building import cut, index, is_less, padded, position
from tuninglink.forms.intrinsics import AttentionNeeds, attention_needs
from tuninglink.payloads import Value, build, computed, constant
from tuninglink.replacing import (
    COLUMNS,
    FEATURES,
    KEYS,
    LOOPS,
    ORDER,
    QUERIES,
    Attention,
    NoFormError,
    spellings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tuninglink.iree import Target

_LENGTHS: Final = (32, 16, 64)
"""The numbers whose multiples queries and keys are padded to, the fastest first: 257 tokens on an H200 take 83 µs padded
to 288, 90 µs to 320."""

_HEADS: Final = (16, 32)
"""The same for features that the default does not take. A tuned configuration may."""

_MOST_WORK: Final = 4
"""The largest factor by which padding may multiply the operations."""

_WORDS: Final = {QUERIES: "queries", COLUMNS: "values", FEATURES: "features", KEYS: "keys"}


@dataclass(frozen=True)
class PaddedAttention:
    """An attention of larger sizes in place of another.

    Attributes:
        problem: the attention that is replaced.
        sizes: the new sizes of the padded loops, in the order of `LOOPS`.
        is_default: whether the compiler's default configuration uses intrinsics for it, as it does not for the problem.
    """

    problem: Attention
    sizes: tuple[tuple[str, int], ...]
    is_default: bool = True

    @property
    def label(self) -> str:
        """The name of the form, for symbols."""
        return f"pad_attention_{self.problem}_to_" + "_".join(f"{at}{n}" for at, n in self.sizes)

    def __str__(self) -> str:
        old = self.problem.loop_sizes
        return "padded: " + ", ".join(
            f"{old[loop]} to {size} {_WORDS[loop]}" for loop, size in self.sizes
        )

    @cached_property
    def spellings(self) -> tuple[PaddedAttention, ...]:
        """The form for each spelling of its problem."""
        return tuple(replace(self, problem=problem) for problem in spellings(self.problem))

    @property
    def passed(self) -> range:
        """The positions of the operands that `build` takes."""
        return range(len(self.problem.operands) - 1)

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the form at the current insertion point."""
        problem, sizes = self.problem, dict(self.sizes)
        query, key, value, scale, *masks = operands
        mask, loops, kind = None, problem.mask, query.type.element_type
        if masks and loops is not None:
            (mask,) = masks
            kind = mask.type.element_type
            excluded = -float("inf") if isinstance(kind, mlir.FloatType) else 0
            filler = constant(kind, excluded if KEYS in sizes else 0)
            mask = padded(mask, loops, sizes, filler)
        elif KEYS in sizes:
            loops = QUERIES + KEYS
            mask = _key_mask(kind, {**problem.loop_sizes, **sizes}, problem.loop_sizes[KEYS])
            problem = problem.with_mask(loops, str(kind))
        larger = problem.resized(sizes).renumbered(problem.outer + ORDER)
        parts = [
            padded(part, loops, sizes, constant(part.type.element_type, 0))
            for part, loops in zip((query, key, value), problem.operands, strict=False)
        ]
        inputs = [*parts, scale, *([] if mask is None else [mask])]
        output = build("tensor.empty", larger.tensors()[-1])
        return cut(larger.build([*inputs, output]), self.problem.tensors()[-1])


def _key_mask(kind: mlir.Type, sizes: Mapping[str, int], count: int) -> Value:
    """Build a mask of queries and keys that is 0 for the first `count` keys, and minus infinity for the others."""
    result = mlir.RankedTensorType.get([sizes[QUERIES], sizes[KEYS]], kind)
    zero, excluded, limit = constant(kind, 0), constant(kind, -float("inf")), index(count)

    def element(_: Value) -> Value:
        return build("arith.select", kind, is_less(position(1), limit), zero, excluded)

    identity = mlir.AffineMap.get_identity(2)
    return computed([], [identity], build("tensor.empty", result), element)


def padded_attentions(problem: Attention, target: Target) -> tuple[PaddedAttention, ...]:
    """Return the padded forms of a problem for a target, those that intrinsics fit by default first.

    Raises:
        NoFormError: there is none, with the reason.
    """
    sizes = problem.loop_sizes
    needs = [*attention_needs(target, *problem.types[:3])]
    if not needs:
        types = "x".join(problem.types[:2])
        raise NoFormError(f"no intrinsic of {target} multiplies {types}")
    if any(need.are_default(sizes) for need in needs):
        raise NoFormError(f"intrinsics of {target} divide its sizes")
    # The intrinsics of the smallest shape need the least padding.
    candidates: dict[tuple[tuple[str, int], ...], PaddedAttention] = {}
    for new in _candidates(sizes, min(needs, key=lambda need: prod(need.divisors.values()))):
        changed = tuple((loop, new[loop]) for loop in LOOPS if new[loop] != sizes[loop])
        if _work(new) <= _MOST_WORK * _work(sizes) and changed:
            is_default = any(need.are_default(new) for need in needs)
            candidates.setdefault(changed, PaddedAttention(problem, changed, is_default))
    if not candidates:
        raise NoFormError(f"padding multiplies its operations by more than {_MOST_WORK}")
    mask = problem.mask
    forms = [
        form
        for form in sorted(candidates.values(), key=lambda form: not form.is_default)
        if mask is None or KEYS in mask or KEYS not in dict(form.sizes)
    ]
    if not forms:
        raise NoFormError("its keys need padding, which its mask has no loop for")
    return tuple(forms)


def _work(sizes: Mapping[str, int]) -> int:
    return sizes[QUERIES] * sizes[KEYS] * (sizes[FEATURES] + sizes[COLUMNS])


def _candidates(sizes: Mapping[str, int], need: AttentionNeeds) -> Iterator[dict[str, int]]:
    """Yield sizes that a pair of intrinsics divides: all lengths with the best head, then all heads with the best length."""
    divisors = need.divisors
    lengths = [
        {
            loop: size if size % divisor == 0 else _round_up(size, lcm(step, divisor))
            for loop, size, divisor in ((at, sizes[at], divisors[at]) for at in (QUERIES, KEYS))
        }
        for step in _LENGTHS
    ]
    features, columns = sizes[FEATURES], sizes[COLUMNS]
    depth, least = divisors[FEATURES], _round_up(columns, divisors[COLUMNS])
    largest = depth
    while largest < features:
        largest *= 2
    multiples = [_round_up(features, lcm(step, depth)) for step in _HEADS]
    # Values of as many elements are padded alike; for the largest size, as little as possible, too.
    heads = [
        {FEATURES: size, COLUMNS: size if columns == features else least}
        for size in (largest, *multiples)
    ]
    heads.insert(1, {FEATURES: largest, COLUMNS: least})
    yield from ({**sizes, **length, **heads[0]} for length in lengths)
    yield from ({**sizes, **lengths[0], **head} for head in heads[1:])


def _round_up(size: int, divisor: int) -> int:
    return -(-size // divisor) * divisor
