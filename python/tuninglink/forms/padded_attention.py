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

A dynamic number of queries or keys is padded to a multiple of a block, and the loop becomes two: over blocks and within
one. The mask excludes keys by their position, so that the same holds, whatever the number is. In a masked program, the
mask is padded as above; then its keys are sorted by their position in a block, in the loops of the op, too.

The output operand is not passed on, since attention does not read it. All other operands are. The order in which terms
are added may change, so that results agree up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lcm, prod
from typing import TYPE_CHECKING, Final

from iree.compiler import ir as mlir

from tuninglink.forms.building import (
    FormOf,
    arith,
    blocked,
    collapsed,
    cut,
    index,
    is_less,
    padded,
    position,
    size_of,
)
from tuninglink.forms.intrinsics import AttentionNeeds, attention_needs
from tuninglink.payloads import DYNAMIC, Value, build, computed, constant
from tuninglink.replacing import (
    COLUMNS,
    FEATURES,
    KEYS,
    LOOPS,
    ORDER,
    QUERIES,
    Attention,
    NoFormError,
    maps_of,
    size_along,
)

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from tuninglink.iree import Target

_LENGTHS: Final = (32, 16, 64)
"""The numbers whose multiples queries and keys are padded to, the fastest first: 257 tokens on an H200 take 83 µs padded
to 288, 90 µs to 320."""

_HEADS: Final = (16, 32)
"""The same for features that the default does not take. A tuned configuration may."""

_MOST_WORK: Final = 4
"""The largest factor by which padding may multiply the operations."""

_BLOCKS: Final = (64, 128, 32)
"""The numbers whose multiples dynamic numbers of queries and keys are padded to."""

_BLOCKED_KEYS: Final = KEYS + KEYS.upper()
"""The loops of keys in a mask. In the order of the operands, the compiler would fold them into one dynamic loop again,
for which it uses no intrinsics."""

_WORDS: Final = {QUERIES: "queries", COLUMNS: "values", FEATURES: "features", KEYS: "keys"}


@dataclass(frozen=True)
class PaddedAttention(FormOf[Attention]):
    """An attention of larger sizes in place of another.

    Attributes:
        sizes: the new sizes of the padded loops, in the order of `LOOPS`. A dynamic size becomes a multiple of the new
            one, in two loops: over blocks of that size, and within a block.
        is_default: whether the compiler's default configuration uses intrinsics for it, as it does not for the problem.
    """

    sizes: tuple[tuple[str, int], ...]
    is_default: bool = True

    @property
    def label(self) -> str:
        """The name of the form, for symbols."""
        return f"pad_attention_{self.problem}_to_" + "_".join(f"{at}{n}" for at, n in self.sizes)

    def __str__(self) -> str:
        old = self.problem.loop_sizes
        return "padded: " + ", ".join(
            f"{_WORDS[loop]} to multiples of {size}"
            if old[loop] == DYNAMIC
            else f"{old[loop]} to {size} {_WORDS[loop]}"
            for loop, size in self.sizes
        )

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the form at the current insertion point."""
        problem, sizes, old = self.problem, dict(self.sizes), self.problem.loop_sizes
        blocks = {loop: size for loop, size in self.sizes if old[loop] == DYNAMIC}
        # The attention of larger sizes, in which blocks are loops.
        new = {**old, **sizes, **{loop.upper(): DYNAMIC for loop in blocks}}
        order = _split(problem.outer + ORDER, blocks)
        larger = replace(
            problem,
            operands=tuple(_split(loops, blocks) for loops in problem.operands),
            loops=order,
            sizes=tuple(new[loop] for loop in order),
        )
        query, key, value, scale, *masks = operands
        count = size_of(key, problem.operands[1].index(KEYS))
        if masks and problem.mask is not None:
            kind, loops = masks[0].type.element_type, problem.mask
            excluded = -float("inf") if isinstance(kind, mlir.FloatType) else 0
            filler = constant(kind, excluded if KEYS in sizes else 0)
            mask = blocked(padded(masks[0], loops, sizes, filler), loops, blocks)
            loops = _split(loops, blocks)
            if KEYS in blocks:
                mask, loops = _transposed(mask, loops, count, filler)
            larger = replace(larger, operands=(*larger.operands[:4], loops, larger.operands[-1]))
            masks = [mask]
        elif KEYS in sizes:
            kind = query.type.element_type
            whole = KEYS if old[QUERIES] == DYNAMIC else QUERIES + KEYS
            loops = _BLOCKED_KEYS if KEYS in blocks else whole
            masks = [_key_mask(kind, loops, new, count)]
            larger = larger.with_mask(loops, str(kind))
        parts = [
            blocked(padded(part, loops, sizes, constant(part.type.element_type, 0)), loops, blocks)
            for part, loops in zip((query, key, value), problem.operands, strict=False)
        ]
        result, output = larger.build([*parts, scale, *masks]), problem.operands[-1]
        if QUERIES in blocks:
            at = output.index(QUERIES)
            groups = [[axis] for axis in range(len(output) + 1)]
            groups[at : at + 2] = [[at, at + 1]]
            result = collapsed(result, groups)
        if not {QUERIES, COLUMNS} & sizes.keys():
            return result
        dynamic = [
            size_along(query, problem.operands[0].index(loop))
            for loop in output
            if old[loop] == DYNAMIC
        ]
        return cut(result, problem.tensors()[-1], dynamic=dynamic)


def _split(loops: str, blocks: Container[str]) -> str:
    """Return loops with those over blocks before the loops within a block."""
    return "".join(loop.upper() * (loop in blocks) + loop for loop in loops)


def _transposed(mask: Value, loops: str, count: Value, excluded: Value) -> tuple[Value, str]:
    """Build a mask whose keys are first by their position in a block, and return it with its loops.

    Keys from `count` on are `excluded`, as they already are: the compiler undoes a mere transposition.
    """
    new = loops.replace(_BLOCKED_KEYS[::-1], _BLOCKED_KEYS)
    kind = mask.type
    shape = [kind.shape[loops.index(loop)] for loop in new]
    sizes = (size_along(mask, loops.index(loop)) for loop in new)
    dynamic = [built for built, size in zip(sizes, shape, strict=True) if size == DYNAMIC]
    empty = build("tensor.empty", mlir.RankedTensorType.get(shape, kind.element_type), *dynamic)
    size = index(shape[new.index(KEYS)])

    def element(own: Value, _: Value) -> Value:
        return build("arith.select", own.type, _is_key(new, size, count), own, excluded)

    return computed([mask], maps_of([loops, new], new), empty, element), new


def _key_mask(kind: mlir.Type, loops: str, sizes: Mapping[str, int], count: Value) -> Value:
    """Build a mask of these loops that is 0 for the first `count` keys, and minus infinity for the others."""
    result = mlir.RankedTensorType.get([sizes[loop] for loop in loops], kind)
    zero, excluded, size = constant(kind, 0), constant(kind, -float("inf")), index(sizes[KEYS])
    dynamic = [arith("ceildivui", count, size)] if loops == _BLOCKED_KEYS else []

    def element(_: Value) -> Value:
        return build("arith.select", kind, _is_key(loops, size, count), zero, excluded)

    identity = mlir.AffineMap.get_identity(len(loops))
    return computed([], [identity], build("tensor.empty", result, *dynamic), element)


def _is_key(loops: str, size: Value, count: Value) -> Value:
    """Build whether the current element of a mask is one of the first `count` keys, which may be in blocks of `size`."""
    key = position(loops.index(KEYS))
    if KEYS.upper() in loops:
        key = arith("addi", arith("muli", position(loops.index(KEYS.upper())), size), key)
    return is_less(key, count)


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
    dynamic = [loop for loop in QUERIES + KEYS if sizes[loop] == DYNAMIC]
    if not dynamic and any(need.are_default(sizes) for need in needs):
        raise NoFormError(f"intrinsics of {target} divide its sizes")
    # The intrinsics of the smallest shape need the least padding.
    least = min(needs, key=lambda need: prod(need.divisors.values()))
    padded_sizes = [
        [*_candidates({**sizes, **dict.fromkeys(dynamic, block)}, least)]
        for block in (_BLOCKS if dynamic else _BLOCKS[:1])
    ]
    firsts = [first for first, *_ in padded_sizes]
    candidates: dict[tuple[tuple[str, int], ...], PaddedAttention] = {}
    for new in [*firsts, *padded_sizes[0][1:]]:
        changed = tuple((loop, new[loop]) for loop in LOOPS if new[loop] != sizes[loop])
        unpadded = {**sizes, **{loop: new[loop] for loop in dynamic}}
        if _work(new) <= _MOST_WORK * _work(unpadded) and changed:
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
    """Yield sizes that a pair of intrinsics divides: the best, that with fewer values, other lengths, and other heads."""
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
    yield from ({**sizes, **lengths[0], **head} for head in heads[:2])
    yield from ({**sizes, **length, **heads[0]} for length in lengths[1:])
    yield from ({**sizes, **lengths[0], **head} for head in heads[2:])


def _round_up(size: int, divisor: int) -> int:
    return -(-size // divisor) * divisor
