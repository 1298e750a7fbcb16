"""Programs of problems that slide windows over images: their loops, and poolings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import arith, linalg, tensor  # type: ignore[attr-defined]

from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.problems.building_values import (
    accumulator_type,
    computed,
    indexing_map,
    mlir_type,
    narrowed,
    padded,
    value_of,
    widened,
)
from tuninglink.tuning.problems.operands import Layout
from tuninglink.tuning.problems.windows import Pooling, PoolingOperation


@dataclass(frozen=True)
class WindowLoops:
    """The loops of windows over the extents of an image."""

    axes: str
    strides: tuple[int, ...]
    dilations: tuple[int, ...]

    def maps(self, accesses: Sequence[str]) -> list[mlir.AffineMap]:
        """Return the indexing maps of the image, of the windows and of the result, given their dimensions.

        The loops are in the order of BOO: those of the result, then those of the windows.
        """
        image, window, result = accesses
        inner = [self._inner(letter) for letter in window]
        loops = [*result, *(loop for loop in inner if loop not in result)]
        steps = dict(zip(self.axes, zip(self.strides, self.dilations, strict=True), strict=True))

        def position(letter: str) -> mlir.AffineExpr:
            loop = mlir.AffineDimExpr.get(loops.index(letter))
            if letter not in steps:
                return loop
            stride, dilation = steps[letter]
            return loop * stride + mlir.AffineDimExpr.get(loops.index(f"k{letter}")) * dilation

        return [
            mlir.AffineMap.get(len(loops), 0, [position(letter) for letter in image]),
            indexing_map(loops, inner),
            indexing_map(loops, result),
        ]

    def _inner(self, letter: str) -> str:
        return f"k{letter}" if letter in self.axes else letter


_NAMED: Final[dict[tuple[PoolingOperation, str], Callable[..., Any]]] = {
    (PoolingOperation.MAXIMUM, "ncw"): linalg.pooling_ncw_max,
    (PoolingOperation.MAXIMUM, "nwc"): linalg.pooling_nwc_max,
    (PoolingOperation.MAXIMUM, "nchw"): linalg.pooling_nchw_max,
    (PoolingOperation.MAXIMUM, "nhwc"): linalg.pooling_nhwc_max,
    (PoolingOperation.MAXIMUM, "ndhwc"): linalg.pooling_ndhwc_max,
    (PoolingOperation.AVERAGE, "ncw"): linalg.pooling_ncw_sum,
    (PoolingOperation.AVERAGE, "nwc"): linalg.pooling_nwc_sum,
    (PoolingOperation.AVERAGE, "nchw"): linalg.pooling_nchw_sum,
    (PoolingOperation.AVERAGE, "nhwc"): linalg.pooling_nhwc_sum,
    (PoolingOperation.AVERAGE, "ndhwc"): linalg.pooling_ndhwc_sum,
}
"""The named ops by the dimensions of an image."""


def pooling_parts(problem: Pooling) -> tuple[list[list[int]], Callable[..., Value]]:
    """Return the shape of the image, and the builder of the result."""
    element, axes = mlir_type(problem.element), Layout.default(len(problem.size)).axes
    access = f"n{axes}c" if problem.is_channels_last else f"nc{axes}"
    is_average = problem.operation is PoolingOperation.AVERAGE

    def shape(
        size: Sequence[int], images: int = problem.images, channels: int = problem.channels
    ) -> list[int]:
        sizes = {"n": images, "c": channels, **dict(zip(axes, size, strict=True))}
        return [sizes[letter] for letter in access]

    def compute(image: Value) -> Value:
        kind = accumulator_type(problem.element) if is_average else element
        start = 0.0 if is_average else -math.inf
        margins = [(margin, margin) for margin in shape(problem.padding, 0, 0)]
        operands = (
            padded(image, margins, value_of(arith.constant(element, start))),
            value_of(tensor.empty(list(problem.kernel), element)),
        )
        empty = tensor.empty(shape(problem.output_size), kind)
        init = value_of(linalg.fill(value_of(arith.constant(kind, start)), outs=[empty]))
        named = _NAMED.get((problem.operation, access))
        if named is None:
            loops = WindowLoops(axes, problem.strides, problem.dilations)
            taken = _added if is_average else _larger
            pooled = computed(operands, loops.maps((access, axes, access)), init, taken)
        else:
            steps = {"strides": [*problem.strides], "dilations": [*problem.dilations]}
            pooled = value_of(named(*operands, outs=[init], **steps))
        return _divided(pooled, problem) if is_average else pooled

    return [shape(problem.size)], compute


def _added(element: Value, _window: Value, total: Value) -> Value:
    return value_of(arith.addf(total, widened(element, total.type)))


def _larger(element: Value, _window: Value, largest: Value) -> Value:
    return value_of(arith.maximumf(largest, element))


def _divided(sums: Value, problem: Pooling) -> Value:
    """Return sums of windows as averages."""
    count = mlir.FloatAttr.get(accumulator_type(problem.element), math.prod(problem.kernel))
    counts = mlir.DenseElementsAttr.get_splat(sums.type, count)
    return narrowed(arith.divf(sums, value_of(arith.constant(sums.type, counts))), problem.element)
