"""Programs of problems: a module with a function for each problem, in the forms that PyTorch exports."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

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
    Gradient,
    Layout,
    Mask,
    MatrixOperation,
    MatrixProblem,
    Pooling,
    PoolingOperation,
    Problem,
    Product,
    ScaledType,
    Spread,
)

_Parts: TypeAlias = tuple[Sequence[mlir.Type], Callable[..., Value | Sequence[Value]]]
"""The types of the arguments of a program, and the builder of its results from them."""


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
    inputs, compute = _PARTS[type(problem)](problem)
    function = func.FuncOp(function_name(problem), (inputs, []))
    block = function.add_entry_block()
    with mlir.InsertionPoint(block):
        output = compute(*block.arguments)
        results = [output] if isinstance(output, mlir.Value) else list(output)
        func.ReturnOp(results)
    kind = mlir.FunctionType.get(inputs, [result.type for result in results])
    function.attributes["function_type"] = mlir.TypeAttr.get(kind)


# --- Values that several programs build


def _type(shape: Sequence[int], element: mlir.Type | ElementType | str) -> mlir.RankedTensorType:
    """Return the type of a tensor."""
    if isinstance(element, ElementType):
        element = element.value
    kind = mlir.Type.parse(element) if isinstance(element, str) else element
    return mlir.RankedTensorType.get(shape, kind)


def _empty(shape: Sequence[int], element: mlir.Type | ElementType) -> Value:
    return build("tensor.empty", _type(shape, element))


def _accumulator(element: ElementType) -> str:
    """Return the type in which sums are computed."""
    return "i32" if element is ElementType.I8 else "f32"


def _zeros(shape: Sequence[int], element: ElementType) -> Value:
    """Return zeros in the type in which sums are computed."""
    return filled(_type(shape, _accumulator(element)), 0)


def _narrowed(result: Any, element: ElementType) -> Value:
    """Convert sums to the type of the operands, as PyTorch does for floating-point types."""
    value = _value(result)
    kind = _type(mlir.RankedTensorType(value.type).shape, element)
    return value if element.is_narrow or kind == value.type else build("arith.truncf", kind, value)


def _value(op: Any) -> Value:
    """Return the result of an op; the bindings return either the op or its result."""
    value: Value = op if isinstance(op, mlir.Value) else op.results[0]
    return value


def _map(loops: Sequence[str], access: Sequence[str]) -> mlir.AffineMap:
    """Return the map from loops to the dimensions of an operand; each loop can be named by a letter."""
    dims = [mlir.AffineDimExpr.get(list(loops).index(loop)) for loop in access]
    return mlir.AffineMap.get(len(loops), 0, dims)


def _arithmetic(name: str, *numbers: Value) -> Value:
    return build(f"arith.{name}", numbers[0].type, *numbers)


_add, _subtract, _multiply, _divide = (
    partial(_arithmetic, name) for name in ("addf", "subf", "mulf", "divf")
)


def _extension(
    name: str,
    operands: Sequence[Value],
    results: Sequence[Value],
    body: Callable[..., Value] | None = None,
    **attributes: mlir.Attribute,
) -> Sequence[Value]:
    """Build an op of IREE with outputs as operands, whose body may combine two elements, and return its results."""
    op = mlir.Operation.create(
        f"iree_linalg_ext.{name}",
        results=[result.type for result in results],
        operands=[*operands, *results],
        attributes=attributes,
        regions=0 if body is None else 1,
    )
    if body is not None:
        kinds = [mlir.RankedTensorType(results[0].type).element_type] * 2
        block = op.regions[0].blocks.append(*kinds, arg_locs=[mlir.Location.unknown()] * 2)
        with mlir.InsertionPoint(block):
            yielded = [body(*block.arguments)]
            mlir.Operation.create("iree_linalg_ext.yield", operands=yielded)
    return op.results


# --- Operations on matrices


def _matrix_parts(problem: MatrixProblem) -> _Parts:
    operation, element, shape = problem.operation, problem.element, [problem.rows, problem.columns]
    matrix, moved = _type(shape, element), [problem.count or 0, problem.columns]
    match operation:
        case MatrixOperation.SUM:
            return [matrix], lambda rows: _narrowed(_sums_of_rows(rows, element), element)
        case MatrixOperation.SOFTMAX:

            def softmax(rows: Value) -> Value:
                return _value(linalg.SoftmaxOp([matrix], rows, _empty(shape, element), 1))

            return [matrix], softmax
        case MatrixOperation.ARG_COMPARE:
            # The positions that it could be given, and their base, are absent.
            segments = mlir.DenseI32ArrayAttr.get([1, 0, 1, 1, 0])
            select = partial(_selected, "arg_compare", shape[:1], 64, operandSegmentSizes=segments)
            return [matrix], select
        case MatrixOperation.TOPK:
            # The compiler takes positions of 32 bits alone.
            return [matrix], partial(_selected, "topk", [problem.rows, moved[0]], 32)
        case MatrixOperation.LAYER_NORM | MatrixOperation.RMS_NORM:
            vectors = 2 if operation is MatrixOperation.LAYER_NORM else 1
            affine = [_type(shape[1:], element)] * (vectors * problem.is_affine)
            return [matrix, *affine], partial(_normalized, problem)
        case MatrixOperation.ADD:

            def added(left: Value, right: Value) -> Value:
                maps = [_map("rc", "rc")] * 3
                init = _empty(shape, element)
                return computed([left, right], maps, init, lambda one, other, _: _add(one, other))

            return [matrix, matrix], added
        case MatrixOperation.TRANSPOSE:

            def transposed(rows: Value) -> Value:
                init = _empty(shape[::-1], element)
                return _value(linalg.transpose(rows, outs=[init], permutation=[1, 0]))

            return [matrix], transposed
    dimension = mlir.DenseI64ArrayAttr.get([0])
    if operation is MatrixOperation.GATHER:

        def gathered(table: Value, positions: Value) -> Sequence[Value]:
            init = _empty(moved, element)
            return _extension("gather", [table, positions], [init], dimension_map=dimension)

        return [matrix, _type(moved[:1], "i32")], gathered

    def scattered(updates: Value, positions: Value, original: Value) -> Sequence[Value]:
        # The row that is written replaces the one before.
        attributes = {"dimension_map": dimension, "unique_indices": mlir.BoolAttr.get(True)}
        operands, outputs = [updates, positions], [original]
        return _extension("scatter", operands, outputs, lambda row, _: row, **attributes)

    return [_type(moved, element), _type([moved[0], 1], "i32"), matrix], scattered


def _selected(
    name: str, shape: list[int], bits: int, matrix: Value, **attributes: mlir.Attribute
) -> Sequence[Value]:
    """Return the largest elements of rows and their positions of so many bits, by an op of IREE."""
    kind = mlir.RankedTensorType(matrix.type).element_type
    index = mlir.IntegerType.get_signless(bits)
    inits = [filled(_type(shape, kind), -math.inf), filled(_type(shape, index), 0)]
    dimension = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), 1)

    def is_larger(one: Value, other: Value) -> Value:
        return _value(arith.cmpf(arith.CmpFPredicate.OGT, one, other))

    return _extension(name, [matrix], inits, is_larger, dimension=dimension, **attributes)


def _normalized(problem: MatrixProblem, matrix: Value, *affine: Value) -> Value:
    element, columns = problem.element, problem.columns
    # PyTorch widens the matrix first.
    wide = matrix if element is ElementType.F32 else _elementwise(lambda number: number, matrix)

    def mean(sums: Value) -> Value:
        return _elementwise(lambda number: _divide(number, constant(number.type, columns)), sums)

    def inverse_root(variance: Value) -> Value:
        shifted = _add(variance, constant(variance.type, 1e-5))
        return build("math.rsqrt", variance.type, shifted)

    centered = wide
    if problem.operation is MatrixOperation.LAYER_NORM:
        centered = _elementwise(_subtract, wide, mean(_sums_of_rows(wide, element)))
    squares = _elementwise(_multiply, centered, centered, access="rc")
    scales = _elementwise(inverse_root, mean(_sums_of_rows(squares, element)))
    result = _elementwise(_multiply, centered, scales)
    for combine, vector in zip((_multiply, _add), affine, strict=False):
        result = _elementwise(combine, result, vector, access="c")
    return _narrowed(result, element)


def _sums_of_rows(matrix: Value, element: ElementType) -> Value:
    """Return the sums of the rows of a matrix, in the type in which sums are computed."""
    init = _zeros(mlir.RankedTensorType(matrix.type).shape[:1], element)
    maps = [_map("rc", access) for access in ("rc", "r")]

    def added(number: Value, total: Value) -> Value:
        return _add(cast(number, total.type), total)

    return computed([matrix], maps, init, added)


def _elementwise(combine: Callable[..., Value], *operands: Value, access: str = "r") -> Value:
    """Compute 32-bit numbers element by element, of one operand or of two, the second of which `access` reads."""
    shape, kind = mlir.RankedTensorType(operands[0].type).shape, mlir.F32Type.get()
    loops = "rc"[: len(shape)]

    def element(*numbers: Value) -> Value:
        return combine(*(cast(number, kind) for number in numbers[:-1]))

    accesses = [loops, access][: len(operands)]
    maps = [_map(loops, letters) for letters in (*accesses, loops)]
    return computed(operands, maps, _empty(shape, kind), element)


# --- Programs that slide windows over images: poolings, convolutions and their gradients


def _window_maps(
    accesses: Sequence[str], axes: str, strides: Sequence[int], dilations: Sequence[int]
) -> list[mlir.AffineMap]:
    """Return the indexing maps of the image, of the windows and of the result, given their dimensions.

    The loops are in the order of BOO: the loops of the result, then the loops of the windows.
    """
    image, window, result = accesses
    inner = [(f"k{letter}" if letter in axes else letter) for letter in window]
    loops = [*result, *(loop for loop in inner if loop not in result)]
    steps = dict(zip(axes, zip(strides, dilations, strict=True), strict=True))

    def position(letter: str) -> mlir.AffineExpr:
        loop = mlir.AffineDimExpr.get(loops.index(letter))
        if letter not in steps:
            return loop
        stride, dilation = steps[letter]
        return loop * stride + mlir.AffineDimExpr.get(loops.index(f"k{letter}")) * dilation

    positions = mlir.AffineMap.get(len(loops), 0, [position(letter) for letter in image])
    return [positions, _map(loops, inner), _map(loops, result)]


def _padded(image: Value, margins: Sequence[tuple[int, int]], filler: Value) -> Value:
    """Return an image padded with a scalar before and after the elements of each dimension."""
    if not any(map(any, margins)):
        return image
    kind = mlir.RankedTensorType(image.type)
    low, high = ([*part] for part in zip(*margins, strict=True))
    shape = [
        before + size + after for before, size, after in zip(low, kind.shape, high, strict=True)
    ]
    padded = tensor.PadOp(_type(shape, kind.element_type), image, [], [], low, high)
    indices = [mlir.IndexType.get()] * len(shape)
    body = padded.region.blocks.append(*indices, arg_locs=[mlir.Location.unknown()] * len(indices))
    with mlir.InsertionPoint(body):
        tensor.YieldOp(filler)
    return _value(padded)


_NAMED_POOLINGS: Final = frozenset({"ncw", "nwc", "nchw", "nhwc", "ndhwc"})
"""The dimensions of images for which there are named ops."""


def _pooling_parts(problem: Pooling) -> _Parts:
    element, axes = mlir.Type.parse(problem.element.value), Layout.default(len(problem.size)).axes
    access = f"n{axes}c" if problem.is_channels_last else f"nc{axes}"
    is_average = problem.operation is PoolingOperation.AVERAGE
    kind = mlir.Type.parse(_accumulator(problem.element)) if is_average else element
    # Padding adds nothing to an average, and is never the maximum.
    start = 0.0 if is_average else -math.inf

    def shape(size: Sequence[int], images: int, channels: int) -> list[int]:
        sizes = {"n": images, "c": channels, **dict(zip(axes, size, strict=True))}
        return [sizes[letter] for letter in access]

    def taken(number: Value, _: Value, result: Value) -> Value:
        if is_average:
            return _add(result, cast(number, result.type))
        return _arithmetic("maximumf", result, number)

    def compute(image: Value) -> Value:
        margins = [(margin, margin) for margin in shape(problem.padding, 0, 0)]
        operands = (
            _padded(image, margins, constant(element, start)),
            _empty(problem.kernel, element),
        )
        result = shape(problem.output_size, problem.images, problem.channels)
        init = filled(_type(result, kind), start)
        if access in _NAMED_POOLINGS:
            named = getattr(linalg, f"pooling_{access}_{'sum' if is_average else 'max'}")
            steps = {"strides": [*problem.strides], "dilations": [*problem.dilations]}
            pooled = _value(named(*operands, outs=[init], **steps))
        else:
            maps = _window_maps((access, axes, access), axes, problem.strides, problem.dilations)
            pooled = computed(operands, maps, init, taken)
        if not is_average:
            return pooled
        count = mlir.FloatAttr.get(kind, math.prod(problem.kernel))
        counts = mlir.DenseElementsAttr.get_splat(pooled.type, count)
        divisor = build("arith.constant", pooled.type, value=counts)
        return _narrowed(_divide(pooled, divisor), problem.element)

    return [_type(shape(problem.size, problem.images, problem.channels), element)], compute


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


def _convolution_parts(problem: Convolution) -> _Parts:
    # Groups have a separate dimension, and are that of the channels if each has a separate filter.
    layout, element, axes = problem.layout, problem.element, problem.layout.axes
    image, filters, result = layout.image, layout.filters, layout.result
    if problem.is_depthwise:
        image, result = image.replace("c", "g"), result.replace("f", "g")
        filters = filters.replace("c", "").replace("f", "g")
    elif problem.groups > 1:
        image, result = image.replace("c", "gc"), result.replace("f", "gf")
        filters = filters.replace("f", "gf")
    accesses = (image, filters, result)
    sizes = {"n": problem.images, "g": problem.groups}
    sizes |= {"c": problem.channels // problem.groups, "f": problem.outputs // problem.groups}
    image_shape, filters_shape, result_shape = (
        [{**sizes, **dict(zip(axes, extents, strict=True))}[letter] for letter in access]
        for access, extents in zip(
            accesses, (problem.size, problem.kernel, problem.output_size), strict=True
        )
    )

    def sums(
        operands: Sequence[Value], maps: Sequence[mlir.AffineMap], shape: Sequence[int]
    ) -> Value:
        init = _zeros(shape, element)
        return _narrowed(computed(operands, maps, init, added_product), element)

    def framed(image: Value) -> Value:
        """Return an image with its padding."""
        padding = dict(zip(axes, problem.padding, strict=True))
        around = [(padding.get(letter, 0),) * 2 for letter in accesses[0]]
        return _padded(image, around, constant(mlir.Type.parse(element.value), 0))

    def forward(image: Value, filters: Value) -> Value:
        named, image = _NAMED_CONVOLUTIONS.get(accesses), framed(image)
        if named is None:
            maps = _window_maps(accesses, axes, problem.strides, problem.dilations)
            return sums((image, filters), maps, result_shape)
        steps = {"strides": [*problem.strides], "dilations": [*problem.dilations]}
        op = named(image, filters, outs=[_zeros(result_shape, element)], **steps)
        return _narrowed(op, element)

    def data_gradient(gradient: Value, weights: Value) -> Value:
        """Return the gradient of the image: windows of the result's gradient under mirrored filters."""
        order = (result, filters, image)
        maps = _window_maps(order, axes, (1,) * len(axes), problem.dilations)
        operands = (_spread(gradient, problem, result), _mirrored(weights, filters, axes))
        return sums(operands, maps, image_shape)

    def weights_gradient(pixels: Value, gradient: Value) -> Value:
        """Return the gradient of the filters: windows of the image under the result's gradient."""
        # The steps between windows are those inside of the windows now, and the other way round.
        order = (image, result, filters)
        maps = _window_maps(order, axes, problem.dilations, problem.strides)
        return sums((framed(pixels), gradient), maps, filters_shape)

    shapes, compute = {
        None: ((image_shape, filters_shape), forward),
        Gradient.DATA: ((result_shape, filters_shape), data_gradient),
        Gradient.WEIGHTS: ((image_shape, result_shape), weights_gradient),
    }[problem.gradient]
    return [_type(shape, element) for shape in shapes], compute


def _mirrored(filters: Value, access: str, axes: str) -> Value:
    """Return filters with the elements of each window in reverse order, as PyTorch exports it."""
    kind = mlir.RankedTensorType(filters.type)
    letters = [*zip(access, kind.shape, strict=True)]
    if all(size == 1 for letter, size in letters if letter in axes):
        return filters

    def taken(*_: Value) -> Value:
        indices = []
        for dimension, (letter, size) in enumerate(letters):
            index = _value(linalg.IndexOp(dimension))
            if letter in axes:
                index = _arithmetic("subi", constant(mlir.IndexType.get(), size - 1), index)
            indices.append(index)
        return _value(tensor.ExtractOp(filters, indices))

    return computed([], [_map(access, access)], _empty(kind.shape, kind.element_type), taken)


def _spread(gradient: Value, problem: Convolution, access: str) -> Value:
    """Return the result's gradient with zeros between and around its elements, for windows with steps of 1."""
    kind = mlir.RankedTensorType(gradient.type)
    spreads = [
        problem.spread(letter) if letter in problem.layout.axes else Spread(0, size, 1, 0, size)
        for letter, size in zip(access, kind.shape, strict=True)
    ]
    firsts, counts, strides, starts, extents = ([*part] for part in zip(*spreads, strict=True))
    ones = [1] * len(spreads)
    if counts != kind.shape:
        kept = _type(counts, kind.element_type)
        slices = tensor.ExtractSliceOp(kept, gradient, [], [], [], firsts, counts, ones)
        gradient = _value(slices)
    zero = constant(kind.element_type, 0)
    if strides == ones:
        return _padded(
            gradient,
            [(start, extent - start - count) for _, count, _, start, extent in spreads],
            zero,
        )
    frame = _value(linalg.fill(zero, outs=[_empty(extents, kind.element_type)]))
    return _value(tensor.InsertSliceOp(gradient, frame, [], [], [], starts, counts, strides))


# --- Attentions and products


def _attention_parts(problem: Attention) -> _Parts:
    heads, queries, keys = problem.heads, problem.queries, problem.keys
    kv_heads, features = problem.kv_heads or heads, problem.features
    accesses = ("bmk", "blk", "bln", "", *(["bml"] if problem.mask else []), "bmn")

    def compute(query: Value, key: Value, value: Value, *mask: Value) -> Value:
        if problem.mask is Mask.CAUSAL:
            mask = (_causal_mask([heads, queries, keys], mlir.Type.parse(problem.element.value)),)
        # The scale is that of the features.
        scale = constant(mlir.F32Type.get(), features**-0.5)
        init = _empty([heads, queries, features], problem.element)
        shared = (_repeated(operand, heads // kv_heads) for operand in (key, value))
        maps = [_map("bmnkl", access) for access in accesses]
        (result,) = attended(names.ATTENTION, [query, *shared, scale, *mask, init], maps)
        return result

    shapes = [[heads, queries, features], *[[kv_heads, keys, features]] * 2]
    if problem.mask is Mask.GIVEN:
        shapes.append([heads, queries, keys])
    return [_type(shape, problem.element) for shape in shapes], compute


def _causal_mask(shape: Sequence[int], kind: mlir.Type) -> Value:
    """Return the mask that hides the keys after the position of each query, as PyTorch exports it."""
    zero = constant(kind, 0)
    hidden = constant(kind, -math.inf)

    def score(_: Value) -> Value:
        query, key = (_value(linalg.IndexOp(dimension)) for dimension in (1, 2))
        is_seen = arith.cmpi(arith.CmpIPredicate.sge, query, key)
        return _value(arith.select(is_seen, zero, hidden))

    init = linalg.fill(zero, outs=[_empty(shape, kind)])
    return computed([], [_map("bml", "bml")], _value(init), score)


def _repeated(operand: Value, count: int) -> Value:
    """Return keys or values whose heads several heads of queries share, as PyTorch exports them."""
    if count == 1:
        return operand
    kind = mlir.RankedTensorType(operand.type)
    heads, *rest = kind.shape
    maps = [_map("bglk", access) for access in ("blk", "bglk")]
    init = _empty([heads, count, *rest], kind.element_type)
    repeated = computed([operand], maps, init, lambda element, _: element)
    index = mlir.IntegerType.get_signless(64)
    groups = [
        mlir.ArrayAttr.get([mlir.IntegerAttr.get(index, dimension) for dimension in dimensions])
        for dimensions in ((0, 1), (2,), (3,))
    ]
    shape = _type([heads * count, *rest], kind.element_type)
    return _value(tensor.CollapseShapeOp(shape, repeated, mlir.ArrayAttr.get(groups)))


def _product_parts(problem: Product) -> _Parts:
    if isinstance(problem.element, ScaledType):
        return _scaled_product_parts(problem, problem.element)
    element, sizes, lead = problem.element, {"m": problem.m, "n": problem.n, "k": problem.k}, ""
    if problem.batch is not None:
        sizes, lead = {"b": problem.batch, **sizes}, "b"
    lhs = lead + ("km" if problem.transposes_a else "mk")
    rhs = lead + ("nk" if problem.transposes_b else "kn")
    accesses = (lhs, rhs, f"{lead}mn")
    maps = [_map(list(sizes), access) for access in accesses]
    *operands, result = ([sizes[loop] for loop in access] for access in accesses)
    named = linalg.batch_matmul if lead else linalg.matmul

    def compute(left: Value, right: Value) -> Value:
        init = _zeros(result, element)
        return _narrowed(named(left, right, outs=[init], indexing_maps=maps), element)

    return [_type(shape, element) for shape in operands], compute


def _scaled_product_parts(problem: Product, element: ScaledType) -> _Parts:
    blocks = problem.k // SCALED_BLOCK
    sizes, lead = {"m": problem.m, "n": problem.n, "o": blocks, "i": SCALED_BLOCK}, ""
    if problem.batch is not None:
        sizes, lead = {"b": problem.batch, **sizes}, "b"
    accesses = [lead + access for access in ("moi", "noi", "mo", "no", "mn")]
    maps = [_map(list(sizes), access) for access in accesses]
    *operands, result = ([sizes[loop] for loop in access] for access in accesses)
    kinds = [element.value] * 2 + ["f8E8M0FNU"] * 2

    def added(left: Value, right: Value, scale: Value, other_scale: Value, total: Value) -> Value:
        wide = _value(arith.scaling_extf(total.type, left, scale))
        other = _value(arith.scaling_extf(total.type, right, other_scale))
        return added_product(wide, other, total)

    def compute(*stored: Value) -> Value:
        values = [
            bitcast(argument, _type(shape, kind))
            for argument, shape, kind in zip(stored, operands, kinds, strict=True)
        ]
        return computed(values, maps, _zeros(result, ElementType.F32), added)

    # Arguments cannot have elements of less than a byte.
    bits = 4 if element is ScaledType.F4E2M1FN else 8
    stored = [[*shape[:-1], SCALED_BLOCK * bits // 8] for shape in operands[:2]]
    return [_type(shape, "i8") for shape in (*stored, *operands[2:])], compute


_PARTS: Final[dict[type, Callable[[Any], _Parts]]] = {
    Product: _product_parts,
    Convolution: _convolution_parts,
    Pooling: _pooling_parts,
    Attention: _attention_parts,
    MatrixProblem: _matrix_parts,
}
"""The types of the arguments, and the builder of the result or the results from them, by kind of problem."""
