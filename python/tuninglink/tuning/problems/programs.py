"""Programs of problems: a module with a function for each problem, in the forms that PyTorch exports."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
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
)


def program_of(problems: Iterable[Problem]) -> str:
    """Return the text of a module with one function for each distinct problem."""
    with thread_context(), mlir.Location.unknown():
        module = mlir.Module.create()
        for problem in dict.fromkeys(problems):
            with mlir.InsertionPoint(module.body):
                function = func.FuncOp(function_name(problem), ([], []))
            block = function.add_entry_block()
            with mlir.InsertionPoint(block):
                results = _BUILDERS[type(problem)](problem)
                func.ReturnOp(results)
            kind = mlir.FunctionType.get(
                [argument.type for argument in block.arguments], [result.type for result in results]
            )
            function.attributes["function_type"] = mlir.TypeAttr.get(kind)
        module.operation.verify()
        return to_text(module.operation)


def function_name(problem: Problem) -> str:
    """Return the name of a problem's function."""
    return re.sub(r"\W+", "_", str(problem))


# --- Values that several programs build


def _type(shape: Sequence[int], element: mlir.Type | str) -> mlir.RankedTensorType:
    kind = mlir.Type.parse(element) if isinstance(element, str) else element
    return mlir.RankedTensorType.get(shape, kind)


def _argument(shape: Sequence[int], element: str) -> Value:
    """Add a tensor to the arguments of the function that is built."""
    block = mlir.InsertionPoint.current.block
    argument: Value = block.add_argument(_type(shape, element), mlir.Location.unknown())
    return argument


def _empty(shape: Sequence[int], element: mlir.Type | str) -> Value:
    return build("tensor.empty", _type(shape, element))


def _narrowed(sums: Any, element: ElementType) -> Value:
    """Convert sums to the type of the operands, as PyTorch does for floating-point types."""
    value = _value(sums)
    kind = _type(mlir.RankedTensorType(value.type).shape, element)
    return value if element.is_narrow or kind == value.type else build("arith.truncf", kind, value)


def _value(op: Any) -> Value:
    """Return the result of an op; the bindings return either the op or its result."""
    value: Value = op if isinstance(op, mlir.Value) else op.results[0]
    return value


def _maps(loops: Sequence[str], *accesses: Sequence[str]) -> list[mlir.AffineMap]:
    """Return the maps from loops to the dimensions of operands; each loop can be named by a letter."""
    dims = {loop: mlir.AffineDimExpr.get(number) for number, loop in enumerate(loops)}
    return [
        mlir.AffineMap.get(len(dims), 0, [dims[loop] for loop in access]) for access in accesses
    ]


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


def _matrix(problem: MatrixProblem) -> Sequence[Value]:
    operation, element = problem.operation, problem.element
    shape, moved = [problem.rows, problem.columns], [problem.count or 0, problem.columns]
    dimension = mlir.DenseI64ArrayAttr.get([0])
    if operation is MatrixOperation.SCATTER:
        operands = [_argument(moved, element), _argument([moved[0], 1], "i32")]
        original, is_unique = _argument(shape, element), mlir.BoolAttr.get(True)
        attributes: dict[str, mlir.Attribute] = {"dimension_map": dimension}
        attributes["unique_indices"] = is_unique
        # The row that is written replaces the one before.
        return _extension("scatter", operands, [original], lambda row, _: row, **attributes)
    matrix = _argument(shape, element)
    match operation:
        case MatrixOperation.SUM:
            return [_narrowed(_sums_of_rows(matrix, element), element)]
        case MatrixOperation.SOFTMAX:
            return [_value(linalg.SoftmaxOp([matrix.type], matrix, _empty(shape, element), 1))]
        case MatrixOperation.LAYER_NORM | MatrixOperation.RMS_NORM:
            return [_normalized(problem, matrix)]
        case MatrixOperation.ADD:
            operands = [matrix, _argument(shape, element)]
            maps, init = _maps("rc", "rc", "rc", "rc"), _empty(shape, element)
            return [computed(operands, maps, init, lambda one, other, _: _add(one, other))]
        case MatrixOperation.TRANSPOSE:
            init = _empty(shape[::-1], element)
            return [_value(linalg.transpose(matrix, outs=[init], permutation=[1, 0]))]
        case MatrixOperation.GATHER:
            operands = [matrix, _argument(moved[:1], "i32")]
            return _extension("gather", operands, [_empty(moved, element)], dimension_map=dimension)
    # The largest elements, and their positions: the compiler takes those of `topk` of 32 bits alone.
    number = mlir.IntegerAttr.get(mlir.IntegerType.get_signless(64), 1)
    attributes, index, selected = {"dimension": number}, "i32", [problem.rows, moved[0]]
    if operation is MatrixOperation.ARG_COMPARE:
        # The positions that it could be given, and their base, are absent.
        attributes["operandSegmentSizes"] = mlir.DenseI32ArrayAttr.get([1, 0, 1, 1, 0])
        index, selected = "i64", shape[:1]
    return _extension(
        operation,
        [matrix],
        [filled(_type(selected, element), -math.inf), filled(_type(selected, index), 0)],
        lambda one, other: arith.cmpf(arith.CmpFPredicate.OGT, one, other),
        **attributes,
    )


def _normalized(problem: MatrixProblem, matrix: Value) -> Value:
    element, columns = problem.element, problem.columns
    is_centered = problem.operation is MatrixOperation.LAYER_NORM
    affine = (_multiply, _add)[: (1 + is_centered) * problem.is_affine]
    vectors = [_argument([columns], element) for _ in affine]
    # PyTorch widens the matrix first.
    wide = matrix if element is ElementType.F32 else _elementwise(lambda number: number, matrix)

    def mean(rows: Value) -> Value:
        sums = _sums_of_rows(rows, element)
        return _elementwise(lambda number: _divide(number, constant(number.type, columns)), sums)

    centered = _elementwise(_subtract, wide, mean(wide)) if is_centered else wide
    squares = _elementwise(_multiply, centered, centered, access="rc")
    scales = _elementwise(
        lambda variance: build(
            "math.rsqrt", variance.type, _add(variance, constant(variance.type, 1e-5))
        ),
        mean(squares),
    )
    result = _elementwise(_multiply, centered, scales)
    for combine, vector in zip(affine, vectors, strict=True):
        result = _elementwise(combine, result, vector, access="c")
    return _narrowed(result, element)


def _sums_of_rows(matrix: Value, element: ElementType) -> Value:
    """Return the sums of the rows of a matrix, in the type in which sums are computed."""
    kind = _type(mlir.RankedTensorType(matrix.type).shape[:1], element.accumulator)
    maps = _maps("rc", "rc", "r")
    return computed(
        [matrix], maps, filled(kind, 0), lambda number, total: _add(cast(number, total.type), total)
    )


def _elementwise(combine: Callable[..., Value], *operands: Value, access: str = "r") -> Value:
    """Compute 32-bit numbers element by element, of one operand or of two, the second of which `access` reads."""
    shape, kind = mlir.RankedTensorType(operands[0].type).shape, mlir.F32Type.get()
    loops = "rc"[: len(shape)]
    accesses = [loops, access][: len(operands)]
    return computed(
        operands,
        _maps(loops, *accesses, loops),
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
    positions = []
    for letter in image:
        position: mlir.AffineExpr = mlir.AffineDimExpr.get(loops.index(letter))
        if letter in axes:
            axis = axes.index(letter)
            inside = mlir.AffineDimExpr.get(loops.index(f"k{letter}"))
            position = position * strides[axis] + inside * dilations[axis]
        positions.append(position)
    window_map = mlir.AffineMap.get(len(loops), 0, positions)
    return [window_map, *_maps(loops, inner, result)]


def _shape(access: str, counts: Mapping[str, int], axes: str, extents: Sequence[int]) -> list[int]:
    sizes = {**counts, **dict(zip(axes, extents, strict=True))}
    return [sizes[letter] for letter in access]


def _padded(image: Value, margins: Sequence[tuple[int, int]], filler: float = 0) -> Value:
    """Return an image padded with a scalar before and after the elements of each dimension."""
    kind = mlir.RankedTensorType(image.type)
    scalar = constant(kind.element_type, filler)
    if not any(map(any, margins)):
        return image
    low, high = ([*part] for part in zip(*margins, strict=True))
    shape = [
        before + size + after for before, size, after in zip(low, kind.shape, high, strict=True)
    ]
    padded = tensor.PadOp(_type(shape, kind.element_type), image, [], [], low, high)
    indices = [mlir.IndexType.get()] * len(shape)
    body = padded.region.blocks.append(*indices, arg_locs=[mlir.Location.unknown()] * len(indices))
    with mlir.InsertionPoint(body):
        tensor.YieldOp(scalar)
    return _value(padded)


def _pooling(problem: Pooling) -> Sequence[Value]:
    element, axes = problem.element, Layout.default(len(problem.size)).axes
    access = f"n{axes}c" if problem.is_channels_last else f"nc{axes}"
    is_average = problem.operation is PoolingOperation.AVERAGE
    kind = mlir.Type.parse(element.accumulator if is_average else element)
    # Padding adds nothing to an average, and is never the maximum.
    start = 0.0 if is_average else -math.inf
    counts = {"n": problem.images, "c": problem.channels}
    image = _argument(_shape(access, counts, axes, problem.size), element)
    margins = _shape(access, {"n": 0, "c": 0}, axes, problem.padding)
    padded = _padded(image, [(margin, margin) for margin in margins], start)
    operands = (padded, _empty(problem.kernel, element))
    init = filled(_type(_shape(access, counts, axes, problem.output_size), kind), start)
    if named := getattr(linalg, f"pooling_{access}_{'sum' if is_average else 'max'}", None):
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
        pooled = _narrowed(_divide(pooled, divisor), element)
    return [pooled]


_ROLES: Final = {None: (0, 1, 2), Gradient.DATA: (2, 1, 0), Gradient.WEIGHTS: (0, 2, 1)}
"""The operands and the result of a program, as numbers of image, filters and result."""


def _convolution(problem: Convolution) -> Sequence[Value]:
    layout, element, axes = problem.layout, problem.element, problem.layout.axes
    image, filters, result, name = layout.image, layout.filters, layout.result, "conv"
    # Groups have a separate dimension, and are that of the channels if each has a separate filter.
    if 1 < problem.groups == problem.channels == problem.outputs:
        image, result, name = image.replace("c", "g"), result.replace("f", "g"), "depthwise_conv"
        filters = filters.replace("c", "").replace("f", "g")
    elif problem.groups > 1:
        image, result = image.replace("c", "gc"), result.replace("f", "gf")
        filters = filters.replace("f", "gf")
    accesses = (image, filters, result)
    counts = {"n": problem.images, "g": problem.groups}
    counts |= {"c": problem.channels // problem.groups, "f": problem.outputs // problem.groups}
    extents = (problem.size, problem.kernel, problem.output_size)
    shapes = [
        _shape(access, counts, axes, extent)
        for access, extent in zip(accesses, extents, strict=True)
    ]
    *operands, target = _ROLES[problem.gradient]
    left, right = (_argument(shapes[number], element) for number in operands)
    order, steps = accesses, (problem.strides, problem.dilations)
    if problem.gradient is Gradient.DATA:
        # Windows of the result's gradient under mirrored filters.
        values = _with_steps_of_1(problem, left, right, result, filters)
        order, steps = (result, filters, image), ((1,) * len(axes), problem.dilations)
    else:
        margins = _shape(image, dict.fromkeys("ncg", 0), axes, problem.padding)
        values = (_padded(left, [(margin, margin) for margin in margins]), right)
    if problem.gradient is Gradient.WEIGHTS:
        # Windows of the image under the result's gradient: the steps between windows are those inside of the windows
        # now, and the other way round.
        order, steps = (image, result, filters), (problem.dilations, problem.strides)
    init = filled(_type(shapes[target], element.accumulator), 0)
    # There are named ops for images and results in the same order.
    name += f"_{len(axes)}d_{image}_{filters}"
    if name.startswith("depthwise"):
        name = name.replace("g", "c")
    has_name = not problem.gradient and result == image.replace("c", "f")
    if has_name and (named := getattr(linalg, name, None)):
        strides, dilations = map(list, steps)
        sums = named(*values, outs=[init], strides=strides, dilations=dilations)
    else:
        sums = computed(values, _window_maps(order, axes, *steps), init, added_product)
    return [_narrowed(sums, element)]


def _with_steps_of_1(
    problem: Convolution, gradient: Value, filters: Value, access: str, filter_access: str
) -> tuple[Value, Value]:
    """Return the result's gradient with zeros between and around its elements, and mirrored filters."""
    kind, axes = mlir.RankedTensorType(gradient.type), problem.layout.axes
    spreads = [
        problem.spread(letter) if letter in axes else (0, size, 1, 0, size)
        for letter, size in zip(access, kind.shape, strict=True)
    ]
    firsts, counts, strides, starts, extents = ([*part] for part in zip(*spreads, strict=True))
    ones = [1] * len(spreads)
    if counts != kind.shape:
        kept = _type(counts, kind.element_type)
        gradient = tensor.extract_slice(kept, gradient, [], [], [], firsts, counts, ones)
    if strides == ones:
        margins = [(start, extent - start - count) for _, count, _, start, extent in spreads]
        gradient = _padded(gradient, margins)
    else:
        zero, frame = constant(kind.element_type, 0), _empty(extents, kind.element_type)
        frame = _value(linalg.fill(zero, outs=[frame]))
        gradient = tensor.insert_slice(gradient, frame, [], [], [], starts, counts, strides)
    # The elements of each window are in reverse order, as PyTorch exports it.
    kind = mlir.RankedTensorType(filters.type)
    letters = [*zip(filter_access, kind.shape, strict=True)]
    if all(size == 1 for letter, size in letters if letter in axes):
        return gradient, filters

    def mirrored(*_: Value) -> Value:
        indices = []
        for dimension, (letter, size) in enumerate(letters):
            index = _value(linalg.IndexOp(dimension))
            if letter in axes:
                index = _arithmetic("subi", constant(mlir.IndexType.get(), size - 1), index)
            indices.append(index)
        element: Value = tensor.extract(filters, indices)
        return element

    maps, init = _maps(filter_access, filter_access), _empty(kind.shape, kind.element_type)
    return gradient, computed([], maps, init, mirrored)


# --- Attentions and products


def _attention(problem: Attention) -> Sequence[Value]:
    element, heads, kv_heads = problem.element, problem.heads, problem.kv_heads or problem.heads
    queries, keys, features = problem.queries, problem.keys, problem.features
    query = _argument([heads, queries, features], element)
    shared = [_argument([kv_heads, keys, features], element) for _ in range(2)]
    scores, mask = [heads, queries, keys], []
    if problem.mask is Mask.GIVEN:
        mask = [_argument(scores, element)]
    elif problem.mask is Mask.CAUSAL:
        # Hide the keys after the position of each query, as PyTorch exports it.
        kind = mlir.Type.parse(element)
        zero, hidden = constant(kind, 0), constant(kind, -math.inf)

        def score(_: Value) -> Value:
            row, column = (_value(linalg.IndexOp(dimension)) for dimension in (1, 2))
            is_seen = arith.cmpi(arith.CmpIPredicate.sge, row, column)
            return _value(arith.select(is_seen, zero, hidden))

        init = _value(linalg.fill(zero, outs=[_empty(scores, kind)]))
        mask = [computed([], _maps("bml", "bml"), init, score)]
    # The scale is that of the features.
    scale = constant(mlir.F32Type.get(), features**-0.5)
    init = _empty([heads, queries, features], element)
    if heads != kv_heads:
        # Repeat the heads that several heads of queries share, as PyTorch exports it.
        for number, operand in enumerate(shared):
            repeats = _empty([kv_heads, heads // kv_heads, keys, features], element)
            maps = _maps("bglk", "blk", "bglk")
            repeated = computed([operand], maps, repeats, lambda value, _: value)
            groups = mlir.Attribute.parse("[[0, 1], [2], [3]]")
            kind = _type([heads, keys, features], element)
            shared[number] = tensor.collapse_shape(kind, repeated, groups)
    accesses = ("bmk", "blk", "bln", "", *(["bml"] if mask else []), "bmn")
    operands = [query, *shared, scale, *mask, init]
    return attended(names.ATTENTION, operands, _maps("bmnkl", *accesses))


def _product(problem: Product) -> Sequence[Value]:
    element = problem.element
    lead, sizes = "", {"m": problem.m, "n": problem.n, "k": problem.k}
    accesses = ["km" if problem.transposes_a else "mk", "nk" if problem.transposes_b else "kn"]
    if isinstance(element, ScaledType):
        # The terms of a sum are blocks, and the elements of a block share a scale.
        del sizes["k"]
        sizes |= {"o": problem.k // SCALED_BLOCK, "i": SCALED_BLOCK}
        accesses = ["moi", "noi", "mo", "no"]
    if problem.batch is not None:
        sizes, lead = {"b": problem.batch, **sizes}, "b"
    accesses = [lead + access for access in (*accesses, "mn")]
    maps = _maps([*sizes], *accesses)
    *operands, result = ([sizes[loop] for loop in access] for access in accesses)
    if isinstance(element, ElementType):
        left, right = (_argument(shape, element) for shape in operands)
        named = linalg.batch_matmul if lead else linalg.matmul
        init = filled(_type(result, element.accumulator), 0)
        return [_narrowed(named(left, right, outs=[init], indexing_maps=maps), element)]
    # Arguments cannot have elements of less than a byte.
    bits = 4 if element is ScaledType.F4E2M1FN else 8
    stored = [[*shape[:-1], SCALED_BLOCK * bits // 8] for shape in operands[:2]]
    arguments = [_argument(shape, "i8") for shape in (*stored, *operands[2:])]
    values = [
        bitcast(argument, _type(shape, kind))
        for argument, shape, kind in zip(
            arguments, operands, (element, element, "f8E8M0FNU", "f8E8M0FNU"), strict=True
        )
    ]

    def added(left: Value, right: Value, scale: Value, other_scale: Value, total: Value) -> Value:
        wide = _value(arith.scaling_extf(total.type, left, scale))
        other = _value(arith.scaling_extf(total.type, right, other_scale))
        return added_product(wide, other, total)

    return [computed(values, maps, filled(_type(result, "f32"), 0), added)]


_BUILDERS: Final[dict[type, Callable[[Any], Sequence[Value]]]] = {
    Product: _product,
    Convolution: _convolution,
    Pooling: _pooling,
    Attention: _attention,
    MatrixProblem: _matrix,
}
"""The builders of programs by kind of problem."""
