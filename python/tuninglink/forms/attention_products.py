"""Attention as two matmuls and a softmax, for CPUs: whole scores in memory, vectorized and data-tiled as any matmul.

The CPU backend generates slow code for attention as one op: 3 heads over 197 tokens and 64 features take 20.9 ms on one
core with AVX-512, 0.7 ms as products by the compiler's own decomposition and data tiling, and 0.42 ms as here.

Why it computes the same. Let s be a query times a key, times the scale, plus the mask.

- A weight is exp(s - max), where the row's maximum starts from the lowest finite number, as in the op. The result is the
  sum of weights times values, divided by the sum of the weights: the same terms as in the op, which rescales partial
  sums whenever the maximum grows. Both use 2 as the base, and scale s by log2(e). Results agree up to rounding.
- A mask of i1 excludes where it is false: s is minus infinity there. The weight is 0 after a finite maximum is
  subtracted. A row whose keys are all excluded is 0 divided by 0, as in the op.
- The score of an added key is set to minus infinity, whatever its product is: its weight is 0, and its value is 0. So it
  adds 0 to the sums. The row's maximum is that of the other keys.

The output operand is not passed on, since attention does not read it. All other operands are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from iree.compiler import ir as mlir

from tuninglink.forms.building import FormOf, index, is_less, padded, position
from tuninglink.payloads import Value, added_product, build, computed, constant, filled
from tuninglink.replacing import KEYS, QUERIES, Attention, NoFormError, maps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LENGTH: Final = 16
"""The number whose multiples keys are padded to: the f32 in a vector of 512 bits."""

_LEAST_QUERIES: Final = 16
"""The least number of queries for padding, as keys and values are copied: with 1 query and 300 keys, the whole takes four
times as long padded."""

_MOST_SCORES: Final = 1 << 28
"""The most bytes of scores."""

_LOWEST: Final = float(np.finfo(np.float32).min)
_INFINITY: Final = float("inf")


@dataclass(frozen=True)
class AttentionProducts(FormOf[Attention]):
    """An attention in f32 as two matmuls and a softmax.

    Attributes:
        keys: the number of keys, some of which may be added.
    """

    keys: int

    @property
    def label(self) -> str:
        """The name of the form, for symbols."""
        return f"attention_products_{self.problem}_to_{KEYS}{self.keys}"

    def __str__(self) -> str:
        old = self.problem.loop_sizes[KEYS]
        added = f", padded: {old} to {self.keys} keys" if self.keys != old else ""
        return f"attention as products{added}"

    def build(self, operands: Sequence[Value]) -> Value:
        """Build the form at the current insertion point."""
        query, key, value, scale, *masks = operands
        queries, keys, values, _, *masked, result = self.problem.operands
        sizes = {**self.problem.loop_sizes, KEYS: self.keys}
        rows = self.problem.outer + QUERIES
        scores = rows + KEYS
        number = mlir.F32Type.get()

        def generic(
            inputs: Sequence[tuple[Value, str]],
            loops: str,
            element: Callable[..., Value],
            start: float | None = None,
        ) -> Value:
            """Build elements with these loops from those of the inputs; with a start, reduce the other loops."""
            kind = mlir.RankedTensorType.get([sizes[at] for at in loops], number)
            used = "".join(dict.fromkeys(loops + "".join(own for _, own in inputs)))
            maps = maps_of([*(own for _, own in inputs), loops], used)
            init = build("tensor.empty", kind) if start is None else filled(kind, start)
            return computed([tensor for tensor, _ in inputs], maps, init, element)

        # Scores: products of queries and keys, scaled, masked, and minus infinity for added keys.
        new = {KEYS: self.keys}
        key, value = (
            padded(part, loops, new, constant(number, 0))
            for part, loops in ((key, keys), (value, values))
        )
        masks = [
            padded(mask, loops, new, constant(mask.type.element_type, 0))
            for mask, loops in zip(masks, masked, strict=True)
        ]
        base = constant(number, math.log2(math.e))
        factor = build("arith.mulf", number, scale, base)
        count = (
            index(self.problem.loop_sizes[KEYS])
            if self.keys != self.problem.loop_sizes[KEYS]
            else None
        )
        excluded = constant(number, -_INFINITY)

        def score(product: Value, *rest: Value) -> Value:
            result = build("arith.mulf", number, product, factor)
            for mask in rest[:-1]:
                if isinstance(mask.type, mlir.FloatType):
                    added = build("arith.mulf", number, mask, base)
                    result = build("arith.addf", number, result, added)
                else:
                    result = build("arith.select", number, mask, result, excluded)
            if count is not None:
                is_own = is_less(position(len(scores) - 1), count)
                result = build("arith.select", number, is_own, result, excluded)
            return result

        products = generic([(query, queries), (key, keys)], scores, added_product, 0)
        scored = generic([(products, scores), *zip(masks, masked, strict=True)], scores, score)
        # The softmax, whose division comes after the sum of values, which has fewer elements.
        largest = generic([(scored, scores)], rows, _binary("maximumf"), _LOWEST)
        weights = generic(
            [(scored, scores), (largest, rows)],
            scores,
            lambda one, most, _: build("math.exp2", number, build("arith.subf", number, one, most)),
        )
        total = generic([(weights, scores)], rows, _binary("addf"), 0)
        sums = generic([(weights, scores), (value, values)], result, added_product, 0)
        return generic(
            [(sums, result), (total, rows)],
            result,
            lambda sum_, of, _: build("arith.divf", number, sum_, of),
        )


def _binary(name: str) -> Callable[[Value, Value], Value]:
    return lambda one, other: build(f"arith.{name}", other.type, one, other)


def attention_products(problem: Attention) -> tuple[AttentionProducts, ...]:
    """Return the forms of a problem as products for CPUs, the most promising first.

    Raises:
        NoFormError: there is none, with the reason.
    """
    sizes = problem.loop_sizes
    *kinds, result = problem.types
    if {*kinds[:4], result} != {"f32"} or {*kinds[4:]} - {"f32", "i1"}:
        raise NoFormError("attention is written as products in f32 only")
    scores = 4 * math.prod(sizes[loop] for loop in problem.outer + QUERIES + KEYS)
    if scores > _MOST_SCORES:
        raise NoFormError(f"its scores take more than {_MOST_SCORES >> 20} MiB")
    keys = -(-sizes[KEYS] // _LENGTH) * _LENGTH
    # A program that can be padded is compared without it, too.
    is_copied = keys != sizes[KEYS] and sizes[QUERIES] >= _LEAST_QUERIES
    choices = [keys] if is_copied else []
    return tuple(AttentionProducts(problem, size) for size in [*choices, sizes[KEYS]])
