"""Programs of problems that slide windows over images: poolings, convolutions and their gradients.

Each dimension of an operand is named by a letter: the letters of layouts, and g for groups.
"""

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
    added_product,
    computed,
    constant_zero,
    indexing_map,
    mlir_type,
    narrowed,
    padded,
    value_of,
    widened,
    zeros,
)
from tuninglink.tuning.problems.problem_text import Layout
from tuninglink.tuning.problems.windows import (
    Convolution,
    Gradient,
    Pooling,
    PoolingOperation,
    Spread,
)


@dataclass(frozen=True)
class WindowLoops:
    """The loops of windows over the extents of an image."""

    axes: str
    strides: tuple[int, ...]
    dilations: tuple[int, ...]

    def maps(self, accesses: Sequence[str]) -> list[mlir.AffineMap]:
        """Return the indexing maps of the image, of the windows and of the result, given their dimensions.

        The loops are in the order of BOO: the loops of the result, then the loops of the windows.
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


_NAMED_POOLINGS: Final[dict[tuple[PoolingOperation, str], Callable[..., Any]]] = {
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
        # Padding adds nothing to an average, and is never the maximum.
        start = 0.0 if is_average else -math.inf
        margins = [(margin, margin) for margin in shape(problem.padding, 0, 0)]
        operands = (
            padded(image, margins, value_of(arith.constant(element, start))),
            value_of(tensor.empty(list(problem.kernel), element)),
        )
        empty = tensor.empty(shape(problem.output_size), kind)
        init = value_of(linalg.fill(value_of(arith.constant(kind, start)), outs=[empty]))
        named = _NAMED_POOLINGS.get((problem.operation, access))
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
    """Divide sums of windows to get averages."""
    count = mlir.FloatAttr.get(accumulator_type(problem.element), math.prod(problem.kernel))
    counts = mlir.DenseElementsAttr.get_splat(sums.type, count)
    return narrowed(arith.divf(sums, value_of(arith.constant(sums.type, counts))), problem.element)


_NAMED_CONVOLUTIONS: Final[dict[tuple[str, str, str], Callable[..., Any]]] = {
    ("nchw", "fchw", "nfhw"): linalg.conv_2d_nchw_fchw,
    ("nhwc", "hwcf", "nhwf"): linalg.conv_2d_nhwc_hwcf,
    ("nhwc", "fhwc", "nhwf"): linalg.conv_2d_nhwc_fhwc,
    ("ncw", "fcw", "nfw"): linalg.conv_1d_ncw_fcw,
    ("nwc", "wcf", "nwf"): linalg.conv_1d_nwc_wcf,
    ("ncdhw", "fcdhw", "nfdhw"): linalg.conv_3d_ncdhw_fcdhw,
    ("ndhwc", "dhwcf", "ndhwf"): linalg.conv_3d_ndhwc_dhwcf,
    ("ngchw", "gfchw", "ngfhw"): linalg.conv_2d_ngchw_gfchw,
    ("nhwgc", "gfhwc", "nhwgf"): linalg.conv_2d_nhwgc_gfhwc,
    ("nghw", "ghw", "nghw"): linalg.depthwise_conv_2d_nchw_chw,
    ("nhwg", "hwg", "nhwg"): linalg.depthwise_conv_2d_nhwc_hwc,
    ("ngw", "gw", "ngw"): linalg.depthwise_conv_1d_ncw_cw,
    ("nwg", "wg", "nwg"): linalg.depthwise_conv_1d_nwc_wc,
    ("ngdhw", "gdhw", "ngdhw"): linalg.depthwise_conv_3d_ncdhw_cdhw,
    ("ndhwg", "dhwg", "ndhwg"): linalg.depthwise_conv_3d_ndhwc_dhwc,
}
"""The named ops by the dimensions of image, filters and result."""


def convolution_parts(problem: Convolution) -> tuple[list[list[int]], Callable[..., Value]]:
    """Return the shapes of the operands, and the builder of the result."""
    operands = _Operands.of(problem)
    image, filters, result = operands.shapes
    match problem.gradient:
        case None:
            return [image, filters], operands.forward
        case Gradient.DATA:
            return [result, filters], operands.data_gradient
        case Gradient.WEIGHTS:
            return [image, result], operands.weights_gradient


@dataclass(frozen=True)
class _Operands:
    """The operands of a convolution.

    Attributes:
        problem: the convolution.
        accesses: the dimensions of image, filters and result.
    """

    problem: Convolution
    accesses: tuple[str, str, str]

    @classmethod
    def of(cls, problem: Convolution) -> _Operands:
        """Return the operands of a convolution, with a separate dimension for groups."""
        layout = problem.layout
        image, filters, result = layout.image, layout.filters, layout.result
        if problem.is_depthwise:
            image, result = image.replace("c", "g"), result.replace("f", "g")
            filters = filters.replace("c", "").replace("f", "g")
        elif problem.groups > 1:
            image, result = image.replace("c", "gc"), result.replace("f", "gf")
            filters = filters.replace("f", "gf")
        return cls(problem, (image, filters, result))

    @property
    def shapes(self) -> list[list[int]]:
        """The shapes of image, filters and result."""
        problem = self.problem
        counts = {"n": problem.images, "g": problem.groups}
        counts |= {"c": problem.channels // problem.groups, "f": problem.outputs // problem.groups}
        extents = (problem.size, problem.kernel, problem.output_size)
        return [
            [{**counts, **self._by_axis(size)}[letter] for letter in access]
            for access, size in zip(self.accesses, extents, strict=True)
        ]

    def forward(self, image: Value, filters: Value) -> Value:
        """Return the result."""
        problem, (*_, shape) = self.problem, self.shapes
        named, image = _NAMED_CONVOLUTIONS.get(self.accesses), self._framed(image)
        if named is None:
            loops = WindowLoops(problem.layout.axes, problem.strides, problem.dilations)
            return self._sums((image, filters), loops.maps(self.accesses), shape)
        steps = {"strides": [*problem.strides], "dilations": [*problem.dilations]}
        op = named(image, filters, outs=[zeros(shape, problem.element)], **steps)
        return narrowed(op, problem.element)

    def data_gradient(self, gradient: Value, filters: Value) -> Value:
        """Return the gradient of the image: windows of the result's gradient under mirrored filters."""
        image, weights, result = self.accesses
        problem, (shape, *_) = self.problem, self.shapes
        loops = WindowLoops(problem.layout.axes, (1,) * len(problem.size), problem.dilations)
        operands = (self._spread(gradient), self._mirrored(filters))
        return self._sums(operands, loops.maps((result, weights, image)), shape)

    def weights_gradient(self, image: Value, gradient: Value) -> Value:
        """Return the gradient of the filters: windows of the image under the result's gradient."""
        images, weights, result = self.accesses
        problem, (_, shape, _) = self.problem, self.shapes
        # The steps between windows are those inside of the windows now, and the other way round.
        loops = WindowLoops(problem.layout.axes, problem.dilations, problem.strides)
        operands = (self._framed(image), gradient)
        return self._sums(operands, loops.maps((images, result, weights)), shape)

    def _sums(
        self, operands: Sequence[Value], maps: list[mlir.AffineMap], shape: list[int]
    ) -> Value:
        element = self.problem.element
        return narrowed(computed(operands, maps, zeros(shape, element), added_product), element)

    def _framed(self, image: Value) -> Value:
        """Return an image with its padding."""
        margins = {
            axis: (margin, margin) for axis, margin in self._by_axis(self.problem.padding).items()
        }
        around = [margins.get(letter, (0, 0)) for letter in self.accesses[0]]
        return padded(image, around, constant_zero(mlir_type(self.problem.element)))

    def _mirrored(self, filters: Value) -> Value:
        """Return filters with the elements of each window in reverse order, as PyTorch exports it."""
        weights, kind = self.accesses[1], mlir.RankedTensorType(filters.type)
        letters = [*zip(weights, kind.shape, strict=True)]
        if all(size == 1 for letter, size in letters if letter in self.problem.layout.axes):
            return filters

        def taken(*_: Value) -> Value:
            indices = []
            for dimension, (letter, size) in enumerate(letters):
                index = value_of(linalg.IndexOp(dimension))
                if letter in self.problem.layout.axes:
                    last = value_of(arith.constant(mlir.IndexType.get(), size - 1))
                    index = value_of(arith.subi(last, index))
                indices.append(index)
            return value_of(tensor.ExtractOp(filters, indices))

        identity = indexing_map(weights, weights)
        init = tensor.empty(kind.shape, kind.element_type)
        return computed([], [identity], value_of(init), taken)

    def _spread(self, gradient: Value) -> Value:
        """Return the result's gradient with zeros between and around its elements, for windows with steps of 1."""
        kind = mlir.RankedTensorType(gradient.type)
        spreads = [
            self.problem.spread(letter)
            if letter in self.problem.layout.axes
            else Spread.whole(size)
            for letter, size in zip(self.accesses[2], kind.shape, strict=True)
        ]
        counts, ones = [spread.count for spread in spreads], [1] * len(spreads)
        if counts != kind.shape:
            kept = mlir.RankedTensorType.get(counts, kind.element_type)
            firsts = [spread.first for spread in spreads]
            slices = tensor.ExtractSliceOp(kept, gradient, [], [], [], firsts, counts, ones)
            gradient = value_of(slices)
        zero = constant_zero(kind.element_type)
        strides = [spread.stride for spread in spreads]
        if strides == ones:
            return padded(gradient, [spread.margins for spread in spreads], zero)
        init = tensor.empty([spread.extent for spread in spreads], kind.element_type)
        frame = value_of(linalg.fill(zero, outs=[init]))
        starts = [spread.start for spread in spreads]
        return value_of(tensor.InsertSliceOp(gradient, frame, [], [], [], starts, counts, strides))

    def _by_axis(self, values: Sequence[int]) -> dict[str, int]:
        return dict(zip(self.problem.layout.axes, values, strict=True))
