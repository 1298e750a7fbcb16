"""Programs of problems: a module with a function for each, in the forms that PyTorch exports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
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


_CONVOLUTIONS: Final = {
    Layout.NCHW_FCHW: linalg.conv_2d_nchw_fchw,
    Layout.NHWC_HWCF: linalg.conv_2d_nhwc_hwcf,
    Layout.NHWC_FHWC: linalg.conv_2d_nhwc_fhwc,
}


def _convolution(problem: Convolution) -> tuple[list[list[int]], Callable[..., Value]]:
    sizes = dict(zip("nchw", (problem.images, problem.channels, *problem.size), strict=True))
    image, filter_ = problem.layout.value.split("_")
    kernel = dict(zip("fchw", (problem.outputs, problem.channels, *problem.kernel), strict=True))
    outputs = {**dict(zip("hw", problem.output_size, strict=True)), "c": problem.outputs}
    result = [{**sizes, **outputs}[loop] for loop in image]
    margins = dict(zip("hw", problem.padding, strict=True))

    def compute(images: Value, weights: Value) -> Value:
        padded = _padded(images, [margins.get(loop, 0) for loop in image])
        product = _CONVOLUTIONS[problem.layout](
            *(padded, weights),
            outs=[_zeros(result, problem.element)],
            strides=list(problem.strides),
            dilations=list(problem.dilations),
        )
        return _narrowed(product, problem.element)

    return [[sizes[loop] for loop in image], [kernel[loop] for loop in filter_]], compute


def _attention(problem: Attention) -> tuple[list[list[int]], Callable[..., Value]]:
    heads, queries, keys, features = (
        *(problem.heads, problem.queries),
        *(problem.keys, problem.features),
    )
    loops = "bmnkl"
    accesses = ("bmk", "blk", "bln", "", "bmn")
    f32 = mlir.F32Type.get()

    def compute(*operands: Value) -> Value:
        # The op, without a mask; the scale is that of the features.
        init = tensor.empty([heads, queries, features], _type(problem.element))
        scale = arith.constant(f32, features**-0.5)
        maps = [mlir.AffineMapAttr.get(_map(loops, access)) for access in accesses]
        op = mlir.Operation.create(
            "iree_linalg_ext.attention",
            results=[init.type],
            operands=[*operands, scale, init],
            attributes={"indexing_maps": mlir.ArrayAttr.get(maps)},
            regions=1,
        )
        # Its region yields the scores unchanged.
        body = op.regions[0].blocks.append(f32, arg_locs=[mlir.Location.unknown()])
        with mlir.InsertionPoint(body):
            mlir.Operation.create("iree_linalg_ext.yield", operands=list(body.arguments))
        value: Value = op.results[0]
        return value

    return [[heads, queries, features], *[[heads, keys, features]] * 2], compute


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
    is_same = element is ElementType.I8 or narrow == shaped
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
