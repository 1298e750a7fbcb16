"""Programs of problems that slide windows over images: convolutions and poolings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import arith, linalg, tensor  # type: ignore[attr-defined]

from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.problems import Convolution, Layout, Pooling, PoolingOperation
from tuninglink.tuning.problems.building_values import (
    accumulator_type,
    constant_zero,
    mlir_type,
    narrowed,
    padded,
    value_of,
    zeros,
)


@dataclass(frozen=True)
class _Form:
    """An op of convolutions, with the dimensions of its operands: g groups of c channels and f filters each.

    Attributes:
        build: builds the op.
        image: the dimensions of the image.
        weights: those of the filters.
        result: those of the result.
    """

    build: Callable[..., Any]
    image: str
    weights: str
    result: str


_PLAIN: Final = {
    Layout.NCHW_FCHW: _Form(linalg.conv_2d_nchw_fchw, "nchw", "fchw", "nfhw"),
    Layout.NHWC_HWCF: _Form(linalg.conv_2d_nhwc_hwcf, "nhwc", "hwcf", "nhwf"),
    Layout.NHWC_FHWC: _Form(linalg.conv_2d_nhwc_fhwc, "nhwc", "fhwc", "nhwf"),
    Layout.NCW_FCW: _Form(linalg.conv_1d_ncw_fcw, "ncw", "fcw", "nfw"),
    Layout.NWC_WCF: _Form(linalg.conv_1d_nwc_wcf, "nwc", "wcf", "nwf"),
    Layout.NCDHW_FCDHW: _Form(linalg.conv_3d_ncdhw_fcdhw, "ncdhw", "fcdhw", "nfdhw"),
    Layout.NDHWC_DHWCF: _Form(linalg.conv_3d_ndhwc_dhwcf, "ndhwc", "dhwcf", "ndhwf"),
}
_GROUPED: Final = {
    Layout.NCHW_FCHW: _Form(linalg.conv_2d_ngchw_gfchw, "ngchw", "gfchw", "ngfhw"),
    Layout.NHWC_FHWC: _Form(linalg.conv_2d_nhwgc_gfhwc, "nhwgc", "gfhwc", "nhwgf"),
}
_DEPTHWISE: Final = {
    Layout.NCHW_FCHW: _Form(linalg.depthwise_conv_2d_nchw_chw, "nghw", "ghw", "nghw"),
    Layout.NHWC_HWCF: _Form(linalg.depthwise_conv_2d_nhwc_hwc, "nhwg", "hwg", "nhwg"),
    Layout.NHWC_FHWC: _Form(linalg.depthwise_conv_2d_nhwc_hwc, "nhwg", "hwg", "nhwg"),
    Layout.NCW_FCW: _Form(linalg.depthwise_conv_1d_ncw_cw, "ngw", "gw", "ngw"),
    Layout.NWC_WCF: _Form(linalg.depthwise_conv_1d_nwc_wc, "nwg", "wg", "nwg"),
    Layout.NCDHW_FCDHW: _Form(linalg.depthwise_conv_3d_ncdhw_cdhw, "ngdhw", "gdhw", "ngdhw"),
    Layout.NDHWC_DHWCF: _Form(linalg.depthwise_conv_3d_ndhwc_dhwc, "ndhwg", "dhwg", "ndhwg"),
}


def convolution_parts(problem: Convolution) -> tuple[list[list[int]], Callable[..., Value]]:
    """Return the shapes of the image and of the filter, and the builder of the result."""
    groups = problem.groups
    forms = _DEPTHWISE if problem.is_depthwise else _GROUPED if groups > 1 else _PLAIN
    form = forms[problem.layout]
    counts = {"n": problem.images, "g": groups}
    counts |= {"c": problem.channels // groups, "f": problem.outputs // groups}
    axes = problem.layout.axes
    margins = dict(zip(axes, problem.padding, strict=True))

    def shape(dimensions: str, size: Sequence[int]) -> list[int]:
        sizes = {**counts, **dict(zip(axes, size, strict=True))}
        return [sizes[dimension] for dimension in dimensions]

    def compute(images: Value, weights: Value) -> Value:
        around = [margins.get(dimension, 0) for dimension in form.image]
        product = form.build(
            *(padded(images, around, constant_zero(mlir_type(problem.element))), weights),
            outs=[zeros(shape(form.result, problem.output_size), problem.element)],
            strides=list(problem.strides),
            dilations=list(problem.dilations),
        )
        return narrowed(product, problem.element)

    return [shape(form.image, problem.size), shape(form.weights, problem.kernel)], compute


_POOLINGS: Final = {
    (PoolingOperation.MAXIMUM, 1, False): linalg.pooling_ncw_max,
    (PoolingOperation.MAXIMUM, 1, True): linalg.pooling_nwc_max,
    (PoolingOperation.MAXIMUM, 2, False): linalg.pooling_nchw_max,
    (PoolingOperation.MAXIMUM, 2, True): linalg.pooling_nhwc_max,
    (PoolingOperation.AVERAGE, 1, False): linalg.pooling_ncw_sum,
    (PoolingOperation.AVERAGE, 1, True): linalg.pooling_nwc_sum,
    (PoolingOperation.AVERAGE, 2, False): linalg.pooling_nchw_sum,
    (PoolingOperation.AVERAGE, 2, True): linalg.pooling_nhwc_sum,
}
"""The ops by the number of an image's extents, and by whether channels are last."""


def pooling_parts(problem: Pooling) -> tuple[list[list[int]], Callable[..., Value]]:
    """Return the shape of the image, and the builder of the result."""
    is_last, element = problem.is_channels_last, mlir_type(problem.element)
    build = _POOLINGS[problem.operation, len(problem.size), is_last]
    is_average = problem.operation is PoolingOperation.AVERAGE

    def shape(channels: int, first: int, size: Sequence[int]) -> list[int]:
        return [first, *size, channels] if is_last else [first, channels, *size]

    def compute(images: Value) -> Value:
        kind = accumulator_type(problem.element) if is_average else element
        start = 0.0 if is_average else -math.inf
        padding = shape(0, 0, problem.padding)
        init = tensor.empty(shape(problem.channels, problem.images, problem.output_size), kind)
        op = build(
            padded(images, padding, value_of(arith.constant(element, start))),
            tensor.empty(list(problem.kernel), element),
            outs=[linalg.fill(value_of(arith.constant(kind, start)), outs=[init])],
            strides=list(problem.strides),
            dilations=list(problem.dilations),
        )
        return _divided(value_of(op), problem) if is_average else value_of(op)

    return [shape(problem.channels, problem.images, problem.size)], compute


def _divided(sums: Value, problem: Pooling) -> Value:
    """Return sums of windows as averages."""
    count = mlir.FloatAttr.get(accumulator_type(problem.element), math.prod(problem.kernel))
    counts = mlir.DenseElementsAttr.get_splat(sums.type, count)
    return narrowed(arith.divf(sums, value_of(arith.constant(sums.type, counts))), problem.element)
