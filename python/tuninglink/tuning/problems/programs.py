"""Programs of problems: a module with a function for each, in the forms that PyTorch exports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from iree.compiler import ir as mlir
from iree.compiler.dialects import arith, func, linalg, tensor  # type: ignore[attr-defined]

from tuninglink.mlir.diagnostics import thread_context
from tuninglink.mlir.serialization import to_text
from tuninglink.payloads.op_templates import Value
from tuninglink.tuning.problems import (
    Attention,
    Convolution,
    ElementType,
    Layout,
    Problem,
    Product,
    RowOperation,
    Rows,
)


def program_of(problems: Iterable[Problem]) -> str:
    """Return a module with a function for each problem, equal ones once, as text."""
    with thread_context(), mlir.Location.unknown():
        module = mlir.Module.create()
        with mlir.InsertionPoint(module.body):
            for problem in dict.fromkeys(problems):
                _add(problem)
        module.operation.verify()
        return to_text(module.operation)


def function_name(problem: Problem) -> str:
    """Return the name of a problem's function."""
    return re.sub(r"\W+", "_", str(problem))


def _add(problem: Problem) -> None:
    """Add the function of a problem at the current insertion point."""
    element = _type(problem.element)
    shapes, compute = _parts(problem)
    inputs = [mlir.RankedTensorType.get(shape, element) for shape in shapes]
    function = func.FuncOp(function_name(problem), (inputs, []))
    block = function.add_entry_block()
    with mlir.InsertionPoint(block):
        result = compute(*block.arguments)
        func.ReturnOp([result])
    kind = mlir.FunctionType.get(inputs, [result.type])
    function.attributes["function_type"] = mlir.TypeAttr.get(kind)


def _parts(problem: Problem) -> tuple[list[list[int]], Callable[..., Value]]:
    """Return the shapes of the arguments, and the builder of the result from them."""
    match problem:
        case Product():
            return _product(problem)
        case Convolution():
            return _convolution(problem)
        case Attention():
            return _attention(problem)
        case Rows():
            return _rows(problem)


def _product(problem: Product) -> tuple[list[list[int]], Callable[..., Value]]:
    sizes = {"m": problem.m, "n": problem.n, "k": problem.k}
    lead = ""
    if problem.batch is not None:
        sizes, lead = {"b": problem.batch, **sizes}, "b"
    lhs = lead + ("km" if problem.transposes_a else "mk")
    rhs = lead + ("nk" if problem.transposes_b else "kn")
    accesses = (lhs, rhs, f"{lead}mn")
    maps = [_map(list(sizes), access) for access in accesses]
    build = linalg.batch_matmul if lead else linalg.matmul

    def compute(left: Value, right: Value) -> Value:
        init = _zeros([sizes[loop] for loop in accesses[-1]], problem.element)
        return _narrowed(build(left, right, outs=[init], indexing_maps=maps), problem.element)

    return [[sizes[loop] for loop in access] for access in (lhs, rhs)], compute


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


def _convolution(problem: Convolution) -> tuple[list[list[int]], Callable[..., Value]]:
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
        padded = _padded(images, [margins.get(dimension, 0) for dimension in form.image])
        product = form.build(
            *(padded, weights),
            outs=[_zeros(shape(form.result, problem.output_size), problem.element)],
            strides=list(problem.strides),
            dilations=list(problem.dilations),
        )
        return _narrowed(product, problem.element)

    return [shape(form.image, problem.size), shape(form.weights, problem.kernel)], compute


def _attention(problem: Attention) -> tuple[list[list[int]], Callable[..., Value]]:
    heads, queries, keys, features = (
        *(problem.heads, problem.queries),
        *(problem.keys, problem.features),
    )
    loops = "bmnkl"
    mask = ["bml"] if problem.has_mask else []
    accesses = ("bmk", "blk", "bln", "", *mask, "bmn")
    f32 = mlir.F32Type.get()

    def compute(*operands: Value) -> Value:
        # The scale is that of the features.
        init = tensor.empty([heads, queries, features], _type(problem.element))
        scale = arith.constant(f32, features**-0.5)
        maps = [mlir.AffineMapAttr.get(_map(loops, access)) for access in accesses]
        op = mlir.Operation.create(
            "iree_linalg_ext.attention",
            results=[init.type],
            operands=[*operands[:3], scale, *operands[3:], init],
            attributes={"indexing_maps": mlir.ArrayAttr.get(maps)},
            regions=1,
        )
        # Its region yields the scores unchanged.
        body = op.regions[0].blocks.append(f32, arg_locs=[mlir.Location.unknown()])
        with mlir.InsertionPoint(body):
            mlir.Operation.create("iree_linalg_ext.yield", operands=list(body.arguments))
        value: Value = op.results[0]
        return value

    shapes = [[heads, queries, features], *[[heads, keys, features]] * 2]
    return [*shapes, *([[heads, queries, keys]] if mask else [])], compute


def _rows(problem: Rows) -> tuple[list[list[int]], Callable[..., Value]]:
    shape = [problem.rows, problem.columns]

    def softmax(matrix: Value) -> Value:
        init = tensor.empty(shape, _type(problem.element))
        return _value(linalg.SoftmaxOp([init.type], matrix, init, 1))

    def sums(matrix: Value) -> Value:
        init = _zeros(shape[:1], problem.element)
        kinds = [
            mlir.Attribute.parse(f"#linalg.iterator_type<{kind}>")
            for kind in ("parallel", "reduction")
        ]
        maps = mlir.ArrayAttr.get(
            [mlir.AffineMapAttr.get(_map("rc", access)) for access in ("rc", "r")]
        )
        op = linalg.GenericOp([init.type], [matrix], [init], maps, mlir.ArrayAttr.get(kinds))
        types = [_type(problem.element), _accumulator(problem.element)]
        body = op.regions[0].blocks.append(*types, arg_locs=[mlir.Location.unknown()] * 2)
        with mlir.InsertionPoint(body):
            element, total = body.arguments
            wide = element if element.type == total.type else arith.extf(total.type, element)
            linalg.YieldOp([arith.addf(wide, total)])
        return _narrowed(op, problem.element)

    return [shape], softmax if problem.operation is RowOperation.SOFTMAX else sums


def _map(loops: Sequence[str], access: str) -> mlir.AffineMap:
    dims = [mlir.AffineDimExpr.get(list(loops).index(loop)) for loop in access]
    return mlir.AffineMap.get(len(loops), 0, dims)


def _zeros(shape: Sequence[int], element: ElementType) -> Value:
    """Return zeros of the type in which sums are computed."""
    kind = _accumulator(element)
    return _value(linalg.fill(_zero(kind), outs=[tensor.empty(list(shape), kind)]))


def _narrowed(result: Any, element: ElementType) -> Value:
    """Return sums in the type of the operands, as PyTorch does for floating-point types."""
    value = _value(result)
    shaped = mlir.RankedTensorType(value.type)
    narrow = mlir.RankedTensorType.get(shaped.shape, _type(element))
    is_same = element.is_narrow or narrow == shaped
    return value if is_same else _value(arith.truncf(narrow, value))


def _padded(image: Value, margins: Sequence[int]) -> Value:
    """Return an image with zeros around it."""
    if not any(margins):
        return image
    kind = mlir.RankedTensorType(image.type)
    shape = [size + 2 * margin for size, margin in zip(kind.shape, margins, strict=True)]
    zero = _zero(kind.element_type)
    padded = tensor.PadOp(
        mlir.RankedTensorType.get(shape, kind.element_type), image, [], [], margins, margins
    )
    indices = [mlir.IndexType.get()] * len(shape)
    body = padded.region.blocks.append(*indices, arg_locs=[mlir.Location.unknown()] * len(indices))
    with mlir.InsertionPoint(body):
        tensor.YieldOp(zero)
    return _value(padded)


def _zero(kind: mlir.Type) -> Value:
    return _value(arith.constant(kind, 0 if isinstance(kind, mlir.IntegerType) else 0.0))


def _type(element: ElementType) -> mlir.Type:
    return mlir.Type.parse(element.value)


def _accumulator(element: ElementType) -> mlir.Type:
    return mlir.Type.parse("i32" if element is ElementType.I8 else "f32")


def _value(op: Any) -> Value:
    """Return the result of an op, for which the bindings return the op or its result."""
    value: Value = op if isinstance(op, mlir.Value) else op.results[0]
    return value
