"""Random programs of one dispatch, by form, for campaigns about verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpu_programs import attention, matmul
from mlir_function import Function
from model_programs import layer_norm, linear, pooling, softmax
from verdict_fused_programs import FUSED_FORMS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

EVEN: Final = (16, 32, 48, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 1024, 1280, 2048)
ODD: Final = (1, 3, 7, 24, 40, 50, 77, 100, 154, 197, 300, 1000)
TYPES: Final = (("f16", "f32"), ("f16", "f32"), ("bf16", "f32"), ("f32", "f32"), ("i8", "i32"))


def size(choice: random.Random) -> int:
    """Return a size, mostly one that tiles divide."""
    return choice.choice(EVEN if choice.random() < 0.8 else ODD)


def contraction(
    loops: str, accesses: Sequence[str], sizes: Sequence[int], types: tuple[str, str]
) -> str:
    """Return a product of two operands, summed over the loops that the result lacks.

    Args:
        loops: the names of the loops, each one letter.
        accesses: the loops of both operands and of the result.
        sizes: the sizes of the loops.
        types: the element types of the operands and of the result.
    """
    extent = dict(zip(loops, sizes, strict=True))
    elements = (types[0], types[0], types[1])
    shapes = [
        f"tensor<{'x'.join(str(extent[loop]) for loop in access)}x{element}>"
        for access, element in zip(accesses, elements, strict=True)
    ]
    return _sum_of_products(loops, accesses, shapes, types)


def _sum_of_products(
    loops: str, accesses: Sequence[Sequence[str]], shapes: Sequence[str], types: tuple[str, str]
) -> str:
    listed = ", ".join(loops)
    maps = ", ".join(f"affine_map<({listed}) -> ({', '.join(access)})>" for access in accesses)
    kinds = ", ".join('"parallel"' if loop in accesses[2] else '"reduction"' for loop in loops)
    operand, result = types
    letter = "i" if result.startswith("i") else "f"
    cast = "extsi" if letter == "i" else "extf"
    casts, wide = "", ("%l", "%r")
    if operand != result:
        wide = ("%wl", "%wr")
        casts = (
            f"%wl = arith.{cast} %l : {operand} to {result}\n"
            f"    %wr = arith.{cast} %r : {operand} to {result}"
        )
    return f"""
func.func @contraction(%lhs: {shapes[0]}, %rhs: {shapes[1]}) -> {shapes[2]} {{
  %zero = arith.constant {"0" if letter == "i" else "0.0"} : {result}
  %empty = tensor.empty() : {shapes[2]}
  %init = linalg.fill ins(%zero : {result}) outs(%empty : {shapes[2]}) -> {shapes[2]}
  %result = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%lhs, %rhs : {shapes[0]}, {shapes[1]}) outs(%init : {shapes[2]}) {{
  ^bb0(%l: {operand}, %r: {operand}, %o: {result}):
    {casts}
    %product = arith.mul{letter} {wide[0]}, {wide[1]} : {result}
    %sum = arith.add{letter} %o, %product : {result}
    linalg.yield %sum : {result}
  }} -> {shapes[2]}
  return %result : {shapes[2]}
}}"""


def _convolution(op: str, image: str, filters: str, result: str, stride: int) -> str:
    types = [f"tensor<{each}>" for each in (image, filters, result)]
    element = result.rpartition("x")[2]
    zero = "0" if element.startswith("i") else "0.0"
    strides = f"{{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}"
    return f"""
func.func @convolution(%image: {types[0]}, %filters: {types[1]}) -> {types[2]} {{
  %zero = arith.constant {zero} : {element}
  %empty = tensor.empty() : {types[2]}
  %init = linalg.fill ins(%zero : {element}) outs(%empty : {types[2]}) -> {types[2]}
  %result = linalg.{op} {strides}
      ins(%image, %filters : {types[0]}, {types[1]}) outs(%init : {types[2]}) -> {types[2]}
  return %result : {types[2]}
}}"""


def _matmul(choice: random.Random) -> str:
    operand, result = choice.choice(TYPES)
    return matmul(size(choice), size(choice), size(choice), operand, result=result)


def _transposed(choice: random.Random) -> str:
    operand, result = choice.choice(TYPES)
    return matmul(size(choice), size(choice), size(choice), operand, result=result, transposed=True)


def _batched(choice: random.Random) -> str:
    operand, result = choice.choice(TYPES)
    m, n, k = (choice.choice(EVEN[:10]) for _ in range(3))
    batch = choice.choice((2, 3, 4, 6, 8, 12, 32))
    return matmul(m, n, k, operand, result=result, batch=batch, transposed=choice.random() < 0.5)


def _several(choice: random.Random) -> str:
    """Several dimensions of a role: rows in two, columns in two, sums in two, or heads in groups."""
    loops, accesses = choice.choice(
        (
            ("abnk", ("abk", "nk", "abn")),
            ("abnk", ("abk", "kn", "abn")),
            ("acnk", ("ack", "kn", "acn")),
            ("mbnk", ("mk", "bnk", "mbn")),
            ("mnkj", ("mkj", "nkj", "mn")),
            ("gamnk", ("gamk", "gnk", "gamn")),
        )
    )
    small, large = (2, 3, 4, 8, 10, 16, 32), EVEN[:10]
    sizes = [choice.choice(small if each in "abgcj" else large) for each in loops]
    return contraction(loops, accesses, sizes, choice.choice(TYPES))


def _decode(choice: random.Random) -> str:
    operand, result = choice.choice(TYPES[:4])
    n, k = (choice.choice((256, 512, 1024, 2048, 4096)) for _ in range(2))
    m = choice.choice((1, 1, 1, 2, 4, 8))
    return matmul(m, n, k, operand, result=result, transposed=choice.random() < 0.7)


def _convolved(choice: random.Random) -> str:
    operand, result = choice.choice((("f16", "f32"), ("f32", "f32"), ("f16", "f32"), ("i8", "i32")))
    batch, height = choice.choice((1, 2, 4)), choice.choice((7, 8, 14, 16, 28, 32, 56))
    inputs, outputs = (choice.choice((16, 32, 64, 96, 128, 256, 320)) for _ in range(2))
    kernel, stride = choice.choice((1, 3, 3, 5)), choice.choice((1, 1, 1, 2))
    extent = (height - 1) * stride + kernel
    return _convolution(
        "conv_2d_nhwc_hwcf",
        f"{batch}x{extent}x{extent}x{inputs}x{operand}",
        f"{kernel}x{kernel}x{inputs}x{outputs}x{operand}",
        f"{batch}x{height}x{height}x{outputs}x{result}",
        stride,
    )


def _channels_first(choice: random.Random) -> str:
    """Return a convolution whose channels come before rows and columns, or whose filters are in another order."""
    operand, result = choice.choice((("f16", "f32"), ("f32", "f32"), ("f16", "f32"), ("i8", "i32")))
    batch, rows, columns = (
        choice.choice((1, 2)),
        choice.choice((4, 8, 15)),
        choice.choice((8, 64, 75)),
    )
    inputs, outputs = (choice.choice((16, 32, 64, 96, 320)) for _ in range(2))
    kernel, stride = choice.choice((1, 3, 3)), choice.choice((1, 1, 2))
    accesses, order = choice.choice(
        (
            (("bihw", "oipq", "bohw"), "bohwipq"),
            (("bihw", "oipq", "bohw"), "bohwipq"),
            (("bihw", "oipq", "bohw"), "bohwipq"),
            (("iw", "oiq", "ow"), "owiq"),
            (("biw", "oiq", "bow"), "bowiq"),
            (("bhwi", "opqi", "bhwo"), "bhwopqi"),
            (("bihw", "pqio", "bohw"), "bohwpqi"),
            (("bihw", "opqi", "bhwo"), "bhwopqi"),
        )
    )
    extent = dict(
        zip("biohwpq", (batch, inputs, outputs, rows, columns, kernel, kernel), strict=True)
    )
    window = {"h": "p", "w": "q"}

    def shape(access: str, element: str, *, is_image: bool = False) -> str:
        sizes = [
            (extent[each] - 1) * stride + kernel if is_image and each in window else extent[each]
            for each in access
        ]
        return f"tensor<{'x'.join(map(str, sizes))}x{element}>"

    image, filters, out = accesses
    shapes = [shape(image, operand, is_image=True), shape(filters, operand), shape(out, result)]
    convolved = [
        f"{each} * {stride} + {window[each]}" if each in window else each for each in image
    ]
    return _sum_of_products(order, (convolved, filters, out), shapes, (operand, result))


def _depthwise(choice: random.Random) -> str:
    batch, height = choice.choice((1, 2, 4)), choice.choice((7, 8, 14, 16, 28, 32, 56))
    channels = choice.choice((16, 32, 64, 96, 128, 144, 192, 320))
    kernel, stride = choice.choice((3, 3, 5)), choice.choice((1, 1, 2))
    extent = (height - 1) * stride + kernel
    element = choice.choice(("f32", "f16"))
    return _convolution(
        "depthwise_conv_2d_nhwc_hwc",
        f"{batch}x{extent}x{extent}x{channels}x{element}",
        f"{kernel}x{kernel}x{channels}x{element}",
        f"{batch}x{height}x{height}x{channels}x{element}",
        stride,
    )


def _windowed(choice: random.Random) -> str:
    """Return a convolution by channels or a pooling of quantized numbers or floats, channels last or first."""
    batch, height = choice.choice((1, 2)), choice.choice((7, 14, 16, 28))
    channels, kernel = choice.choice((16, 24, 32, 64, 96)), choice.choice((2, 3, 3, 5))
    stride = choice.choice((1, 1, 2))
    extent = (height - 1) * stride + kernel
    operand, result = choice.choice((("i8", "i32"), ("i8", "i32"), ("f32", "f32"), ("f16", "f16")))
    op = choice.choice(
        (
            *("depthwise_conv_2d_nhwc_hwc", "depthwise_conv_2d_nhwc_hwcm"),
            *("depthwise_conv_2d_nchw_chw", "pooling_nhwc_sum", "pooling_nhwc_max"),
            *("pooling_nchw_sum", "pooling_nchw_max"),
        )
    )
    shapes = {"h": f"{extent}x{extent}", "o": f"{height}x{height}", "k": f"{kernel}x{kernel}"}
    is_first = "nchw" in op
    image = f"{batch}x{channels}x{shapes['h']}" if is_first else f"{batch}x{shapes['h']}x{channels}"
    out = f"{batch}x{channels}x{shapes['o']}" if is_first else f"{batch}x{shapes['o']}x{channels}"
    filters = shapes["k"]
    if op.startswith("depthwise"):
        filters = f"{channels}x{filters}" if is_first else f"{filters}x{channels}"
    if op.endswith("hwcm"):
        filters, out = f"{filters}x2", f"{out}x2"
    return _convolution(op, f"{image}x{operand}", f"{filters}x{operand}", f"{out}x{result}", stride)


def _attention(choice: random.Random) -> str:
    batch = choice.choice((1, 2, 4, 8, 20))
    m = choice.choice((1, 16, 64, 77, 128, 256, 384, 1024))
    n, k1 = (choice.choice((64, 64, 96, 128)) for _ in range(2))
    k2 = choice.choice((64, 77, 128, 256, 320, 512, 1024))
    return attention(batch, m, n, k1, k2, element=choice.choice(("f16", "bf16")))


def _normalized(choice: random.Random) -> str:
    """Return a softmax or a layer normalization over rows of any length."""
    rows, length = choice.choice(EVEN), choice.choice((*EVEN, 77, 1000, 4096, 51866))
    function = Function("normalized")
    if choice.random() < 0.5:
        return function.text(softmax(function, (rows, length)))
    return function.text(layer_norm(function, (rows, length), choice.choice(("f16", "f32"))))


def _biased(choice: random.Random) -> str:
    """Return a layer of any number of rows, with what follows."""
    function = Function("biased")
    rows = choice.choice((None, 1, 8, 77, 384))
    n, k = choice.choice(EVEN), choice.choice(EVEN)
    element = choice.choice(("f16", "f32"))
    return function.text(linear(function, (rows, n, k), element, "%r = add %0, %1 : T"))


def _pooled(choice: random.Random) -> str:
    function = Function("pooled")
    name = choice.choice(("pooling_nhwc_max", "pooling_nhwc_sum"))
    size = choice.choice((7, 14, 28, 56))
    image = (choice.choice((1, 2, 4)), size, size, choice.choice((16, 64, 100)))
    return function.text(pooling(function, name, image, choice.choice((2, 3, 7)), 1))


FORMS: Final[dict[str, Callable[[random.Random], str]]] = {
    "matmul": _matmul,
    "transposed": _transposed,
    "batched": _batched,
    "multi-m": _several,
    "decode": _decode,
    "convolution": _convolved,
    "channels-first": _channels_first,
    "depthwise": _depthwise,
    "windowed": _windowed,
    "attention": _attention,
    "normalization": _normalized,
    "biased": _biased,
    "pooling": _pooled,
    **FUSED_FORMS,
}
"""For each form what makes a random program of it."""
