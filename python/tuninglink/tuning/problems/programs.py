"""Programs of problems: a module with a function for each problem, in the forms that PyTorch exports; attentions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import arith, func, linalg, tensor  # type: ignore[attr-defined]

from tuninglink.mlir import names, thread_context, to_text
from tuninglink.payloads import (
    Value,
    added_product,
    attended,
    bitcast,
    build,
    cast,
    computed,
    constant,
    filled,
)
from tuninglink.tuning.problems.problem import (
    SCALED_BLOCK,
    Attention,
    Convolution,
    ElementType,
    Elementwise,
    Gradient,
    Layout,
    Mask,
    MatrixOperation,
    MoveOperation,
    Norm,
    Normalization,
    Pooling,
    PoolingOperation,
    Problem,
    Product,
    RowMove,
    RowOperation,
    Rows,
    ScaledProduct,
    Spread,
    TopK,
)


def rows_parts(
    problem: Rows,
) -> tuple[list[list[int]], Callable[..., Value | Sequence[Value]]]:
    """Return the shape of the matrix, and the builder of the results."""
    shape = [problem.rows, problem.columns]

    def softmax(matrix: Value) -> Value:
        init = tensor.empty(shape, mlir_type(problem.element))
        return value_of(linalg.SoftmaxOp([init.type], matrix, init, 1))

    def sums(matrix: Value) -> Value:
        return narrowed(_sums_of_rows(matrix, problem.element), problem.element)

    builders: dict[RowOperation, Callable[..., Value | Sequence[Value]]] = {
        RowOperation.SUM: sums,
        RowOperation.SOFTMAX: softmax,
        RowOperation.ARG_COMPARE: partial(_selected, "arg_compare", shape[:1], problem.element),
    }
    return [shape], builders[problem.operation]


def topk_parts(
    problem: TopK,
) -> tuple[list[list[int]], Callable[..., Sequence[Value]]]:
    """Return the shape of the matrix, and the builder of the elements and their positions."""
    compute = partial(_selected, "topk", [problem.rows, problem.count], problem.element)
    return [[problem.rows, problem.columns]], compute


def normalization_parts(problem: Normalization) -> tuple[list[list[int]], Callable[..., Value]]:
    """Return the shapes of the matrix and of weights and biases, and the builder of the normalized matrix."""
    is_centered, element = problem.norm is Norm.LAYER, problem.element

    def compute(matrix: Value, *affine: Value) -> Value:
        # PyTorch widens the matrix first.
        wide = matrix if element is ElementType.F32 else _elementwise(_identity, matrix)
        means = _mean(_sums_of_rows(wide, element), problem.columns) if is_centered else None
        centered = _elementwise(_subtract, wide, means) if means else wide
        squares = _elementwise(_multiply, centered, centered, access="rc")
        variances = _mean(_sums_of_rows(squares, element), problem.columns)
        scales = _elementwise(_inverse_root, variances)
        result = _elementwise(_multiply, centered, scales)
        combinations = (_multiply, _add)
        for combine, vector in zip(combinations, affine, strict=False):
            result = _elementwise(combine, result, vector, access="c")
        return narrowed(result, element)

    vectors = [[problem.columns]] * ((1 + is_centered) * problem.is_affine)
    return [[problem.rows, problem.columns], *vectors], compute


def _sums_of_rows(matrix: Value, element: ElementType) -> Value:
    """Return the sums of the rows of a matrix, in the type in which sums are computed."""
    init = zeros(mlir.RankedTensorType(matrix.type).shape[:1], element)
    maps = [indexing_map("rc", access) for access in ("rc", "r")]

    return computed(
        [matrix], maps, init, lambda number, total: _add(cast(number, total.type), total)
    )


def _elementwise(
    combine: Callable[..., Value], first: Value, second: Value | None = None, access: str = "r"
) -> Value:
    """Compute 32-bit numbers element by element."""
    shape, kind = mlir.RankedTensorType(first.type).shape, mlir.F32Type.get()
    loops = "rc"[: len(shape)]
    operands, accesses = (
        ([first], [loops]) if second is None else ([first, second], [loops, access])
    )

    def element(*numbers: Value) -> Value:
        *inputs, _ = numbers
        return combine(*(cast(number, kind) for number in inputs))

    maps = [indexing_map(loops, letters) for letters in (*accesses, loops)]
    return computed(operands, maps, value_of(tensor.empty(shape, kind)), element)


def _identity(number: Value) -> Value:
    return number


def _arithmetic(name: str, *numbers: Value) -> Value:
    return build(f"arith.{name}", numbers[0].type, *numbers)


_add, _subtract, _multiply, _divide = (
    partial(_arithmetic, name) for name in ("addf", "subf", "mulf", "divf")
)


def _mean(sums: Value, count: int) -> Value:
    return _elementwise(lambda number: _divide(number, constant(number.type, count)), sums)


def _inverse_root(variance: Value) -> Value:
    shifted = _add(variance, constant(variance.type, 1e-5))
    return build("math.rsqrt", variance.type, shifted)


def _selected(op_name: str, shape: list[int], element: ElementType, matrix: Value) -> Any:
    """Return the largest elements of rows and their positions, by an op of IREE."""
    # The compiler takes positions of 32 bits alone in a top-k.
    bits = {"arg_compare": 64, "topk": 32}[op_name]
    value, index = mlir_type(element), mlir.IntegerType.get_signless(bits)
    inits = [
        filled(mlir.RankedTensorType.get(shape, kind), start)
        for kind, start in ((value, -math.inf), (index, 0))
    ]
    dimension = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), 1)
    attributes: dict[str, mlir.Attribute] = {"dimension": dimension}
    if op_name == "arg_compare":
        # The positions that it could be given, and their base, are absent.
        attributes["operandSegmentSizes"] = mlir.DenseI32ArrayAttr.get([1, 0, 1, 1, 0])
    op = mlir.Operation.create(
        f"iree_linalg_ext.{op_name}",
        results=[init.type for init in inits],
        operands=[matrix, *inits],
        attributes=attributes,
        regions=1,
    )
    body = op.regions[0].blocks.append(value, value, arg_locs=[mlir.Location.unknown()] * 2)
    with mlir.InsertionPoint(body):
        is_larger = arith.cmpf(arith.CmpFPredicate.OGT, *body.arguments)
        mlir.Operation.create("iree_linalg_ext.yield", operands=[value_of(is_larger)])
    return op.results


_POSITION: Final = "i32"


def elementwise_parts(problem: Elementwise) -> Parts:
    """Return the shapes of the matrices, and the builder of the result."""
    shape = [problem.rows, problem.columns]

    def added(left: Value, right: Value) -> Value:
        init = value_of(tensor.empty(shape, mlir_type(problem.element)))
        maps = [indexing_map("rc", "rc")] * 3
        return computed([left, right], maps, init, lambda one, other, _: _add(one, other))

    def transposed(matrix: Value) -> Value:
        init = tensor.empty(shape[::-1], mlir_type(problem.element))
        return value_of(linalg.transpose(matrix, outs=[init], permutation=[1, 0]))

    match problem.operation:
        case MatrixOperation.ADD:
            return [shape, shape], added
        case MatrixOperation.TRANSPOSE:
            return [shape], transposed


def move_parts(problem: RowMove) -> Parts:
    """Return the shapes of the matrix, of positions and of rows to write, and the builder of the result."""
    matrix, rows = [problem.rows, problem.columns], [problem.count, problem.columns]

    dimensions: dict[str, mlir.Attribute] = {"dimension_map": mlir.DenseI64ArrayAttr.get([0])}

    def gathered(table: Value, positions: Value) -> Value:
        init = value_of(tensor.empty(rows, mlir_type(problem.element)))
        op = mlir.Operation.create(
            "iree_linalg_ext.gather",
            results=[init.type],
            operands=[table, positions, init],
            attributes=dimensions,
        )
        return value_of(op)

    def scattered(updates: Value, positions: Value, original: Value) -> Value:
        op = mlir.Operation.create(
            "iree_linalg_ext.scatter",
            results=[original.type],
            operands=[updates, positions, original],
            attributes={**dimensions, "unique_indices": mlir.BoolAttr.get(True)},
            regions=1,
        )
        kinds = [mlir_type(problem.element)] * 2
        body = op.regions[0].blocks.append(*kinds, arg_locs=[mlir.Location.unknown()] * 2)
        with mlir.InsertionPoint(body):
            # The row that is written replaces the one before.
            mlir.Operation.create("iree_linalg_ext.yield", operands=[body.arguments[0]])
        return value_of(op)

    match problem.operation:
        case MoveOperation.GATHER:
            return [matrix, Stored([problem.count], _POSITION)], gathered
        case MoveOperation.SCATTER:
            return [rows, Stored([problem.count, 1], _POSITION), matrix], scattered


# --- Programs of problems that slide windows over images: poolings, convolutions and their gradients


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
        inner = [(f"k{letter}" if letter in self.axes else letter) for letter in window]
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

    def taken(number: Value, _: Value, result: Value) -> Value:
        if is_average:
            return _add(result, cast(number, result.type))
        return _arithmetic("maximumf", result, number)

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
            padded(image, margins, constant(element, start)),
            value_of(tensor.empty(list(problem.kernel), element)),
        )
        init = filled(mlir.RankedTensorType.get(shape(problem.output_size), kind), start)
        named = _NAMED_POOLINGS.get((problem.operation, access))
        if named is None:
            loops = WindowLoops(axes, problem.strides, problem.dilations)
            pooled = computed(operands, loops.maps((access, axes, access)), init, taken)
        else:
            steps = {"strides": [*problem.strides], "dilations": [*problem.dilations]}
            pooled = value_of(named(*operands, outs=[init], **steps))
        return _divided(pooled, problem) if is_average else pooled

    return [shape(problem.size)], compute


def _divided(sums: Value, problem: Pooling) -> Value:
    count = mlir.FloatAttr.get(accumulator_type(problem.element), math.prod(problem.kernel))
    counts = mlir.DenseElementsAttr.get_splat(sums.type, count)
    return narrowed(
        _divide(sums, build("arith.constant", sums.type, value=counts)), problem.element
    )


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
    """The operands of a convolution."""

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
        return padded(image, around, constant(mlir_type(self.problem.element), 0))

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
                    last = constant(mlir.IndexType.get(), size - 1)
                    index = _arithmetic("subi", last, index)
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
        zero = constant(kind.element_type, 0)
        strides = [spread.stride for spread in spreads]
        if strides == ones:
            return padded(gradient, [spread.margins for spread in spreads], zero)
        init = tensor.empty([spread.extent for spread in spreads], kind.element_type)
        frame = value_of(linalg.fill(zero, outs=[init]))
        starts = [spread.start for spread in spreads]
        return value_of(tensor.InsertSliceOp(gradient, frame, [], [], [], starts, counts, strides))

    def _by_axis(self, values: Sequence[int]) -> dict[str, int]:
        return dict(zip(self.problem.layout.axes, values, strict=True))


# --- Programs of problems: a module with a function for each problem, in the forms that PyTorch exports; attentions


def attention_parts(problem: Attention) -> tuple[list[list[int]], Callable[..., Value]]:
    """Return the shapes of queries, keys, values and mask, and the builder of the result."""
    heads, queries, keys = problem.heads, problem.queries, problem.keys
    kv_heads, features = problem.kv_heads or heads, problem.features
    accesses = ("bmk", "blk", "bln", "", *(["bml"] if problem.mask else []), "bmn")

    def compute(query: Value, key: Value, value: Value, *mask: Value) -> Value:
        if problem.mask is Mask.CAUSAL:
            mask = (_causal_mask([heads, queries, keys], mlir_type(problem.element)),)
        # The scale is that of the features.
        scale = constant(mlir.F32Type.get(), features**-0.5)
        init = value_of(tensor.empty([heads, queries, features], mlir_type(problem.element)))
        shared = (_repeated(operand, heads // kv_heads) for operand in (key, value))
        maps = [indexing_map("bmnkl", access) for access in accesses]
        (result,) = attended(names.ATTENTION, [query, *shared, scale, *mask, init], maps)
        return result

    shapes = [[heads, queries, features], *[[kv_heads, keys, features]] * 2]
    is_given = problem.mask is Mask.GIVEN
    return [*shapes, *([[heads, queries, keys]] if is_given else [])], compute


def _causal_mask(shape: Sequence[int], kind: mlir.Type) -> Value:
    """Return the mask that hides the keys after the position of each query, as PyTorch exports it."""
    zero = constant(kind, 0)
    hidden = constant(kind, -math.inf)

    def score(_: Value) -> Value:
        query, key = (value_of(linalg.IndexOp(dimension)) for dimension in (1, 2))
        is_seen = arith.cmpi(arith.CmpIPredicate.sge, query, key)
        return value_of(arith.select(is_seen, zero, hidden))

    init = linalg.fill(zero, outs=[tensor.empty(shape, kind)])
    return computed([], [indexing_map("bml", "bml")], value_of(init), score)


def _repeated(operand: Value, count: int) -> Value:
    """Return keys or values whose heads several heads of queries share, as PyTorch exports them."""
    if count == 1:
        return operand
    kind = mlir.RankedTensorType(operand.type)
    heads, *rest = kind.shape
    maps = [indexing_map("bglk", access) for access in ("blk", "bglk")]
    init = value_of(tensor.empty([heads, count, *rest], kind.element_type))
    repeated = computed([operand], maps, init, lambda element, _: element)
    shape = mlir.RankedTensorType.get([heads * count, *rest], kind.element_type)
    groups = mlir.ArrayAttr.get([_indices(0, 1), _indices(2), _indices(3)])
    return value_of(tensor.CollapseShapeOp(shape, repeated, groups))


def _indices(*dimensions: int) -> mlir.ArrayAttr:
    kind = mlir.IntegerType.get_signless(64)
    return mlir.ArrayAttr.get([mlir.IntegerAttr.get(kind, index) for index in dimensions])


def program_of(problems: Iterable[Problem]) -> str:
    """Return the text of a module with one function for each distinct problem."""
    with thread_context(), mlir.Location.unknown():
        module = mlir.Module.create()
        with mlir.InsertionPoint(module.body):
            for problem in dict.fromkeys(problems):
                _add_function(problem)
        module.operation.verify()
        return to_text(module.operation)


def function_name(problem: Problem) -> str:
    """Return the name of a problem's function."""
    return re.sub(r"\W+", "_", str(problem))


def _add_function(problem: Problem) -> None:
    """Add the function of a problem at the current insertion point."""
    arguments, compute = _PARTS[type(problem)](problem)
    inputs = [_argument_type(argument, problem) for argument in arguments]
    function = func.FuncOp(function_name(problem), (inputs, []))
    block = function.add_entry_block()
    with mlir.InsertionPoint(block):
        output = compute(*block.arguments)
        results = [output] if isinstance(output, mlir.Value) else list(output)
        func.ReturnOp(results)
    kind = mlir.FunctionType.get(inputs, [result.type for result in results])
    function.attributes["function_type"] = mlir.TypeAttr.get(kind)


def _argument_type(argument: list[int] | Stored, problem: Problem) -> mlir.Type:
    if isinstance(argument, Stored):
        return mlir.RankedTensorType.get(argument.shape, mlir.Type.parse(argument.kind))
    return mlir.RankedTensorType.get(argument, mlir.Type.parse(problem.element.value))


def _product(problem: Product) -> Parts:
    sizes = {"m": problem.m, "n": problem.n, "k": problem.k}
    lead = ""
    if problem.batch is not None:
        sizes, lead = {"b": problem.batch, **sizes}, "b"
    lhs = lead + ("km" if problem.transposes_a else "mk")
    rhs = lead + ("nk" if problem.transposes_b else "kn")
    accesses = (lhs, rhs, f"{lead}mn")
    maps = [indexing_map(list(sizes), access) for access in accesses]
    build = linalg.batch_matmul if lead else linalg.matmul

    def compute(left: Value, right: Value) -> Value:
        init = zeros([sizes[loop] for loop in accesses[-1]], problem.element)
        return narrowed(build(left, right, outs=[init], indexing_maps=maps), problem.element)

    return [[sizes[loop] for loop in access] for access in (lhs, rhs)], compute


def _scaled_product(problem: ScaledProduct) -> Parts:
    sizes = {"m": problem.m, "n": problem.n, "o": problem.blocks, "i": SCALED_BLOCK}
    lead = ""
    if problem.batch is not None:
        sizes, lead = {"b": problem.batch, **sizes}, "b"
    accesses = [lead + access for access in ("moi", "noi", "mo", "no", "mn")]
    maps = [indexing_map(list(sizes), access) for access in accesses]
    *operands, result = ([sizes[loop] for loop in access] for access in accesses)
    kinds = [problem.element.value] * 2 + ["f8E8M0FNU"] * 2

    def added(left: Value, right: Value, scale: Value, other_scale: Value, total: Value) -> Value:
        wide = value_of(arith.scaling_extf(total.type, left, scale))
        other = value_of(arith.scaling_extf(total.type, right, other_scale))
        return added_product(wide, other, total)

    def compute(*stored: Value) -> Value:
        values = [
            bitcast(argument, mlir.RankedTensorType.get(shape, mlir.Type.parse(kind)))
            for argument, shape, kind in zip(stored, operands, kinds, strict=True)
        ]
        return computed(values, maps, zeros(result, ElementType.F32), added)

    # Arguments cannot have elements of less than a byte.
    *matrices, first, second = operands
    bytes_of_block = SCALED_BLOCK * problem.element.bits // 8
    stored = [*([*shape[:-1], bytes_of_block] for shape in matrices), first, second]
    return [Stored(shape, "i8") for shape in stored], compute


_PARTS: Final[dict[type, Callable[[Any], Parts]]] = {
    Product: _product,
    ScaledProduct: _scaled_product,
    Convolution: convolution_parts,
    Pooling: pooling_parts,
    Attention: attention_parts,
    Rows: rows_parts,
    Normalization: normalization_parts,
    TopK: topk_parts,
    Elementwise: elementwise_parts,
    RowMove: move_parts,
}
"""The shapes of the arguments, and the builder of the result or the results from them, by kind of problem."""


# --- Builders of the values in the programs of problems ------------------------------------------


@dataclass(frozen=True)
class Stored:
    """An argument whose element type differs from that of the problem."""

    shape: list[int]
    kind: str


Parts = tuple[Sequence[list[int] | Stored], Callable[..., Value | Sequence[Value]]]
"""The shapes of the arguments of a program, and the builder of its results from them."""


def indexing_map(loops: Sequence[str], access: Sequence[str]) -> mlir.AffineMap:
    """Return the map from loops to the dimensions of an operand; each loop can be named by a letter."""
    dims = [mlir.AffineDimExpr.get(list(loops).index(loop)) for loop in access]
    return mlir.AffineMap.get(len(loops), 0, dims)


def zeros(shape: Sequence[int], element: ElementType) -> Value:
    """Return a tensor of zeros in the type of sums."""
    return filled(mlir.RankedTensorType.get(shape, accumulator_type(element)), 0)


def narrowed(result: Any, element: ElementType) -> Value:
    """Convert sums to the type of the operands, as PyTorch does for floating-point types."""
    value = value_of(result)
    shaped = mlir.RankedTensorType(value.type)
    narrow = mlir.RankedTensorType.get(shaped.shape, mlir_type(element))
    is_same = element.is_narrow or narrow == shaped
    return value if is_same else value_of(arith.truncf(narrow, value))


def padded(image: Value, margins: Sequence[tuple[int, int]], filler: Value) -> Value:
    """Return an image padded with a scalar before and after the elements of each dimension."""
    if not any(map(any, margins)):
        return image
    kind = mlir.RankedTensorType(image.type)
    low, high = ([*part] for part in zip(*margins, strict=True))
    shape = [
        before + size + after for before, size, after in zip(low, kind.shape, high, strict=True)
    ]
    result = mlir.RankedTensorType.get(shape, kind.element_type)
    padded = tensor.PadOp(result, image, [], [], low, high)
    indices = [mlir.IndexType.get()] * len(shape)
    body = padded.region.blocks.append(*indices, arg_locs=[mlir.Location.unknown()] * len(indices))
    with mlir.InsertionPoint(body):
        tensor.YieldOp(filler)
    return value_of(padded)


def mlir_type(element: ElementType) -> mlir.Type:
    """Return the type of the operands."""
    return mlir.Type.parse(element.value)


def accumulator_type(element: ElementType) -> mlir.Type:
    """Return the type in which sums are computed."""
    return mlir.Type.parse("i32" if element is ElementType.I8 else "f32")


def value_of(op: Any) -> Value:
    """Return the result of an op; the bindings return either the op or its result."""
    value: Value = op if isinstance(op, mlir.Value) else op.results[0]
    return value
