"""Programs of problems: a module with a function for each problem, in the forms that PyTorch exports."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterable, Sequence
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

_Parts: TypeAlias = Generator[Sequence[Any], Any, None]
"""Yields the types of the arguments of a program, gets the arguments, and yields the results that it builds from them."""


def program_of(problems: Iterable[Problem]) -> str:
    """Return the text of a module with one function for each distinct problem."""
    with thread_context(), mlir.Location.unknown():
        module = mlir.Module.create()
        for problem in dict.fromkeys(problems):
            parts = _PARTS[type(problem)](problem)
            inputs = next(parts)
            with mlir.InsertionPoint(module.body):
                function = func.FuncOp(function_name(problem), (inputs, []))
            block = function.add_entry_block()
            with mlir.InsertionPoint(block):
                results = parts.send(block.arguments)
                func.ReturnOp(results)
            kind = mlir.FunctionType.get(inputs, [result.type for result in results])
            function.attributes["function_type"] = mlir.TypeAttr.get(kind)
        module.operation.verify()
        return to_text(module.operation)


def function_name(problem: Problem) -> str:
    """Return the name of a problem's function."""
    return re.sub(r"\W+", "_", str(problem))


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


def _matrix(problem: MatrixProblem) -> _Parts:
    operation, element, shape = problem.operation, problem.element, [problem.rows, problem.columns]
    matrix, moved = _type(shape, element), [problem.count or 0, problem.columns]
    dimension = mlir.DenseI64ArrayAttr.get([0])
    match operation:
        case MatrixOperation.SUM:
            (rows,) = yield [matrix]
            yield [_narrowed(_sums_of_rows(rows, element), element)]
        case MatrixOperation.SOFTMAX:
            (rows,) = yield [matrix]
            yield [_value(linalg.SoftmaxOp([matrix], rows, _empty(shape, element), 1))]
        case MatrixOperation.ARG_COMPARE | MatrixOperation.TOPK:
            is_topk = operation is MatrixOperation.TOPK
            (rows,) = yield [matrix]
            # The largest elements, and their positions: the compiler takes those of `topk` of 32 bits alone.
            index = mlir.IntegerType.get_signless(32 if is_topk else 64)
            selected = [problem.rows, moved[0]] if is_topk else shape[:1]
            number = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), 1)
            attributes: dict[str, mlir.Attribute] = {"dimension": number}
            if not is_topk:  # the positions that it could be given, and their base, are absent
                segments = mlir.DenseI32ArrayAttr.get([1, 0, 1, 1, 0])
                attributes["operandSegmentSizes"] = segments
            yield _extension(
                operation.value,
                [rows],
                [
                    filled(_type(selected, matrix.element_type), -math.inf),
                    filled(_type(selected, index), 0),
                ],
                lambda one, other: _value(arith.cmpf(arith.CmpFPredicate.OGT, one, other)),
                **attributes,
            )
        case MatrixOperation.LAYER_NORM | MatrixOperation.RMS_NORM:
            count = 2 if operation is MatrixOperation.LAYER_NORM else 1
            vector = _type(shape[1:], element)
            rows, *vectors = yield [matrix, *[vector] * (count * problem.is_affine)]
            yield [_normalized(problem, rows, *vectors)]
        case MatrixOperation.ADD:
            operands = yield [matrix, matrix]
            maps, init = [_map("rc", "rc")] * 3, _empty(shape, element)
            yield [computed(list(operands), maps, init, lambda one, other, _: _add(one, other))]
        case MatrixOperation.TRANSPOSE:
            (rows,) = yield [matrix]
            init = _empty(shape[::-1], element)
            yield [_value(linalg.transpose(rows, outs=[init], permutation=[1, 0]))]
        case MatrixOperation.GATHER:
            operands = yield [matrix, _type(moved[:1], "i32")]
            init = _empty(moved, element)
            yield _extension("gather", operands, [init], dimension_map=dimension)
        case MatrixOperation.SCATTER:
            positions = _type([moved[0], 1], "i32")
            *operands, original = yield [_type(moved, element), positions, matrix]
            # The row that is written replaces the one before.
            attributes = {"dimension_map": dimension, "unique_indices": mlir.BoolAttr.get(True)}
            yield _extension("scatter", operands, [original], lambda row, _: row, **attributes)


def _normalized(problem: MatrixProblem, matrix: Value, *affine: Value) -> Value:
    element, columns = problem.element, problem.columns
    # PyTorch widens the matrix first.
    wide = matrix if element is ElementType.F32 else _elementwise(lambda number: number, matrix)

    def mean(rows: Value) -> Value:
        sums = _sums_of_rows(rows, element)
        return _elementwise(lambda number: _divide(number, constant(number.type, columns)), sums)

    centered = wide
    if problem.operation is MatrixOperation.LAYER_NORM:
        centered = _elementwise(_subtract, wide, mean(wide))
    squares = _elementwise(_multiply, centered, centered, access="rc")
    scales = _elementwise(
        lambda variance: build(
            "math.rsqrt", variance.type, _add(variance, constant(variance.type, 1e-5))
        ),
        mean(squares),
    )
    result = _elementwise(_multiply, centered, scales)
    for combine, vector in zip((_multiply, _add), affine, strict=False):
        result = _elementwise(combine, result, vector, access="c")
    return _narrowed(result, element)


def _sums_of_rows(matrix: Value, element: ElementType) -> Value:
    """Return the sums of the rows of a matrix, in the type in which sums are computed."""
    init = _zeros(mlir.RankedTensorType(matrix.type).shape[:1], element)
    maps = [_map("rc", access) for access in ("rc", "r")]
    return computed(
        [matrix], maps, init, lambda number, total: _add(cast(number, total.type), total)
    )


def _elementwise(combine: Callable[..., Value], *operands: Value, access: str = "r") -> Value:
    """Compute 32-bit numbers element by element, of one operand or of two, the second of which `access` reads."""
    shape, kind = mlir.RankedTensorType(operands[0].type).shape, mlir.F32Type.get()
    loops = "rc"[: len(shape)]
    accesses = [loops, access][: len(operands)]
    maps = [_map(loops, letters) for letters in (*accesses, loops)]
    return computed(
        operands,
        maps,
        _empty(shape, kind),
        lambda *numbers: combine(*(cast(number, kind) for number in numbers[:-1])),
    )


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

    positions: list[mlir.AffineExpr] = []
    for letter in image:
        position: mlir.AffineExpr = mlir.AffineDimExpr.get(loops.index(letter))
        if letter in steps:
            stride, dilation = steps[letter]
            inside = mlir.AffineDimExpr.get(loops.index(f"k{letter}"))
            position = position * stride + inside * dilation
        positions.append(position)
    window_map = mlir.AffineMap.get(len(loops), 0, positions)
    return [window_map, _map(loops, inner), _map(loops, result)]


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


def _pooling(problem: Pooling) -> _Parts:
    element, axes = mlir.Type.parse(problem.element.value), Layout.default(len(problem.size)).axes
    access = f"n{axes}c" if problem.is_channels_last else f"nc{axes}"
    is_average = problem.operation is PoolingOperation.AVERAGE
    kind = mlir.Type.parse(_accumulator(problem.element)) if is_average else element
    # Padding adds nothing to an average, and is never the maximum.
    start = 0.0 if is_average else -math.inf

    counts = problem.images, problem.channels
    extents = (counts, problem.size), ((0, 0), problem.padding), (counts, problem.output_size)
    sizes = [dict(zip(f"nc{axes}", (*outer, *inner), strict=True)) for outer, inner in extents]
    shape, margins, result = ([size[letter] for letter in access] for size in sizes)
    (image,) = yield [_type(shape, element)]
    around = [(margin, margin) for margin in margins]
    padded = _padded(image, around, constant(element, start))
    operands = (padded, _empty(problem.kernel, element))
    init = filled(_type(result, kind), start)
    if access in _NAMED_POOLINGS:
        named = getattr(linalg, f"pooling_{access}_{'sum' if is_average else 'max'}")
        steps = {"strides": [*problem.strides], "dilations": [*problem.dilations]}
        pooled = _value(named(*operands, outs=[init], **steps))
    else:
        maps = _window_maps((access, axes, access), axes, problem.strides, problem.dilations)
        pooled = computed(
            operands,
            maps,
            init,
            lambda number, _, result: (
                _add(result, cast(number, result.type))
                if is_average
                else _arithmetic("maximumf", result, number)
            ),
        )
    if is_average:
        count = mlir.FloatAttr.get(kind, math.prod(problem.kernel))
        splat = mlir.DenseElementsAttr.get_splat(pooled.type, count)
        divisor = build("arith.constant", pooled.type, value=splat)
        pooled = _narrowed(_divide(pooled, divisor), problem.element)
    yield [pooled]


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


_ROLES: Final = {None: (0, 1, 2), Gradient.DATA: (2, 1, 0), Gradient.WEIGHTS: (0, 2, 1)}
"""The operands and the result of a program, as numbers of image, filters and result."""


def _convolution(problem: Convolution) -> _Parts:
    # Groups have a separate dimension, and are that of the channels if each has a separate filter.
    layout, element, axes = problem.layout, problem.element, problem.layout.axes
    image, filters, result = layout.image, layout.filters, layout.result
    if 1 < problem.groups == problem.channels == problem.outputs:  # depthwise
        image, result = image.replace("c", "g"), result.replace("f", "g")
        filters = filters.replace("c", "").replace("f", "g")
    elif problem.groups > 1:
        image, result = image.replace("c", "gc"), result.replace("f", "gf")
        filters = filters.replace("f", "gf")
    accesses = (image, filters, result)
    sizes = {"n": problem.images, "g": problem.groups}
    sizes |= {"c": problem.channels // problem.groups, "f": problem.outputs // problem.groups}
    extents = (problem.size, problem.kernel, problem.output_size)
    shapes = [
        [{**sizes, **dict(zip(axes, extent, strict=True))}[letter] for letter in access]
        for access, extent in zip(accesses, extents, strict=True)
    ]
    *operands, target = _ROLES[problem.gradient]
    left, right = yield [_type(shapes[number], element) for number in operands]
    if problem.gradient is Gradient.DATA:
        # Windows of the result's gradient under mirrored filters.
        values = (_spread(left, problem, result), _mirrored(right, filters, axes))
        order, steps = (result, filters, image), ((1,) * len(axes), problem.dilations)
    else:
        padding = dict(zip(axes, problem.padding, strict=True))
        around = [(padding.get(letter, 0),) * 2 for letter in image]
        zero = constant(mlir.Type.parse(element.value), 0)
        values = (_padded(left, around, zero), right)
        order, steps = accesses, (problem.strides, problem.dilations)
    if problem.gradient is Gradient.WEIGHTS:
        # Windows of the image under the result's gradient: the steps between windows are those inside of the windows
        # now, and the other way round.
        order, steps = (image, result, filters), (problem.dilations, problem.strides)
    named = None if problem.gradient else _NAMED_CONVOLUTIONS.get(accesses)
    init = _zeros(shapes[target], element)
    if named is None:
        sums = computed(values, _window_maps(order, axes, *steps), init, added_product)
    else:
        strides, dilations = map(list, steps)
        sums = named(*values, outs=[init], strides=strides, dilations=dilations)
    yield [_narrowed(sums, element)]


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


def _attention(problem: Attention) -> _Parts:
    heads, queries, keys = problem.heads, problem.queries, problem.keys
    kv_heads, features = problem.kv_heads or heads, problem.features
    shapes = [[heads, queries, features], *[[kv_heads, keys, features]] * 2]
    scores = [heads, queries, keys]
    if problem.mask is Mask.GIVEN:
        shapes.append(scores)
    query, key, value, *mask = yield [_type(shape, problem.element) for shape in shapes]
    if problem.mask is Mask.CAUSAL:
        # Hide the keys after the position of each query, as PyTorch exports it.
        kind = mlir.Type.parse(problem.element.value)
        zero, hidden = constant(kind, 0), constant(kind, -math.inf)

        def score(_: Value) -> Value:
            row, column = (_value(linalg.IndexOp(dimension)) for dimension in (1, 2))
            is_seen = arith.cmpi(arith.CmpIPredicate.sge, row, column)
            return _value(arith.select(is_seen, zero, hidden))

        init = _value(linalg.fill(zero, outs=[_empty(scores, kind)]))
        mask = [computed([], [_map("bml", "bml")], init, score)]
    # The scale is that of the features.
    scale = constant(mlir.F32Type.get(), features**-0.5)
    init = _empty([heads, queries, features], problem.element)
    shared = [key, value]
    for number, operand in enumerate(shared) if heads != kv_heads else ():
        # Repeat the heads that several heads of queries share, as PyTorch exports it.
        repeats = _empty([kv_heads, heads // kv_heads, keys, features], problem.element)
        both = [_map("bglk", access) for access in ("blk", "bglk")]
        repeated = computed([operand], both, repeats, lambda element, _: element)
        i64 = mlir.IntegerType.get_signless(64)
        groups = [
            mlir.ArrayAttr.get([mlir.IntegerAttr.get(i64, dimension) for dimension in dimensions])
            for dimensions in ((0, 1), (2,), (3,))
        ]
        kind = _type([heads, keys, features], problem.element)
        whole = tensor.CollapseShapeOp(kind, repeated, mlir.ArrayAttr.get(groups))
        shared[number] = _value(whole)
    accesses = ("bmk", "blk", "bln", "", *(["bml"] if problem.mask else []), "bmn")
    maps = [_map("bmnkl", access) for access in accesses]
    yield attended(names.ATTENTION, [query, *shared, scale, *mask, init], maps)


def _product(problem: Product) -> _Parts:
    element, is_scaled = problem.element, isinstance(problem.element, ScaledType)
    lead, sizes = "", {"m": problem.m, "n": problem.n, "k": problem.k}
    accesses = ["km" if problem.transposes_a else "mk", "nk" if problem.transposes_b else "kn"]
    if is_scaled:
        # The terms of a sum are blocks, and the elements of a block share a scale.
        del sizes["k"]
        sizes |= {"o": problem.k // SCALED_BLOCK, "i": SCALED_BLOCK}
        accesses = ["moi", "noi", "mo", "no"]
    if problem.batch is not None:
        sizes, lead = {"b": problem.batch, **sizes}, "b"
    accesses = [lead + access for access in (*accesses, "mn")]
    maps = [_map(list(sizes), access) for access in accesses]
    *operands, result = ([sizes[loop] for loop in access] for access in accesses)
    if isinstance(element, ElementType):
        left, right = yield [_type(shape, element) for shape in operands]
        named = linalg.batch_matmul if lead else linalg.matmul
        init = _zeros(result, element)
        yield [_narrowed(named(left, right, outs=[init], indexing_maps=maps), element)]
        return
    # Arguments cannot have elements of less than a byte.
    bits = 4 if element is ScaledType.F4E2M1FN else 8
    stored = [[*shape[:-1], SCALED_BLOCK * bits // 8] for shape in operands[:2]]
    arguments = yield [_type(shape, "i8") for shape in (*stored, *operands[2:])]
    kinds = [element.value] * 2 + ["f8E8M0FNU"] * 2
    values = [
        bitcast(argument, _type(shape, kind))
        for argument, shape, kind in zip(arguments, operands, kinds, strict=True)
    ]

    def added(left: Value, right: Value, scale: Value, other_scale: Value, total: Value) -> Value:
        wide = _value(arith.scaling_extf(total.type, left, scale))
        other = _value(arith.scaling_extf(total.type, right, other_scale))
        return added_product(wide, other, total)

    yield [computed(values, maps, _zeros(result, ElementType.F32), added)]


_PARTS: Final[dict[type, Callable[[Any], _Parts]]] = {
    Product: _product,
    Convolution: _convolution,
    Pooling: _pooling,
    Attention: _attention,
    MatrixProblem: _matrix,
}
"""The builders of programs by kind of problem."""
