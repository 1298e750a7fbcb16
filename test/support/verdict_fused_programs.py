"""Random programs of one dispatch as models have them: fused, quantized, of mixed types, and indexed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mlir_function import Function
from model_programs import MODELS, convolution, linear

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from mlir_function import Tensor

ROWS: Final = (1, 8, 32, 64, 77, 96, 128, 256, 384, 512, 1500)
COLUMNS: Final = (64, 96, 128, 256, 320, 640, 768, 1024, 1280)
DEPTHS: Final = (64, 128, 320, 512, 640, 768, 1024, 2048)
MIXED: Final = (
    ("f8E4M3FN", "f8E5M2", "f32"),
    ("f8E4M3FNUZ", "f8E5M2FNUZ", "f32"),
    ("f8E4M3FN", "f16", "f32"),
    ("f16", "f8E4M3FNUZ", "f32"),
    ("i8", "i16", "i32"),
    ("f16", "f32", "f32"),
    ("bf16", "f32", "f32"),
    ("f16", "bf16", "f32"),
)
NARROW: Final = (
    ("f8E4M3FN", "f32"),
    ("f8E5M2", "f32"),
    ("f8E4M3FNUZ", "f32"),
    ("f16", "f16"),
    ("bf16", "bf16"),
    ("i8", "i8"),
    ("f64", "f64"),
    ("i16", "i32"),
)
EPILOGUES: Final = (
    "%r = add %0, %1 : T",
    "%a = add %0, %1 : T\n%z = arith.constant 0.0 : T\n%r = maximum %a, %z : T",
    "%n = arith.negf %0 : T\n%e = math.exp %n : T\n%s = add %e, %1 : T\n%r = div %0, %s : T",
)


def matrices(
    choice: random.Random, function: Function, lhs: str, rhs: str
) -> tuple[str, Tensor, Tensor]:
    """Return the accesses and the arguments of a product of two matrices."""
    m, n, k = (choice.choice(each) for each in (ROWS, COLUMNS, DEPTHS))
    is_transposed = choice.random() < 0.6
    left = function.argument(m, k, element=lhs)
    right = function.argument(*((n, k) if is_transposed else (k, n)), element=rhs)
    return f"mk,{'nk' if is_transposed else 'kn'}->mn", left, right


def mixed(choice: random.Random) -> str:
    """Return a product of operands of different types."""
    function = Function("mixed")
    lhs, rhs, result = choice.choice(MIXED)
    accesses, left, right = matrices(choice, function, lhs, rhs)
    return function.text(function.contraction(accesses, left, right, result))


def narrow(choice: random.Random) -> str:
    """Return a product of types that few targets have intrinsics for, or that adds up in the type of its operands."""
    function = Function("narrow")
    operand, result = choice.choice(NARROW)
    accesses, left, right = matrices(choice, function, operand, operand)
    return function.text(function.contraction(accesses, left, right, result))


def fused(choice: random.Random) -> str:
    """Return a product with a bias and an activation."""
    function = Function("fused")
    operand = choice.choice(("f16", "f16", "bf16", "f32"))
    accesses, left, right = matrices(choice, function, operand, operand)
    product = function.contraction(accesses, left, right, "f32")
    columns = product.sizes[1]
    result = choice.choice((operand, "f32"))
    is_row = choice.random() < 0.5
    bias = function.argument(*((columns,) if is_row else product.sizes), element=result)
    return function.text(
        function.generic(
            f"mn,{'n' if is_row else 'mn'}->mn",
            *(product, bias),
            body=choice.choice(EPILOGUES),
            element=result,
        )
    )


def dequantized(choice: random.Random) -> str:
    """Return a product with weights of few bits, which are dequantized by groups or by rows."""
    function = Function("dequantized")
    narrow, wide = choice.choice(("i4", "i8", "i8")), choice.choice(("f16", "f16", "bf16", "f32"))
    rows, columns = choice.choice(ROWS), choice.choice(COLUMNS)
    body = (
        "%c = sub %0, %2 : T\n%r = mul %c, %1 : T"
        if choice.random() < 0.5
        else "%r = mul %0, %1 : T"
    )
    if choice.random() < 0.5:
        groups, size, loops, of_group = (
            choice.choice((4, 10, 32)),
            choice.choice((32, 64, 128)),
            "ngk",
            "ng",
        )
        weights = function.argument(columns, groups, size, element=narrow)
        activations = function.argument(rows, groups, size, element=wide)
        scales = [function.argument(columns, groups, element=wide) for _ in range(2)]
        accesses = "mgk,ngk->mn"
    else:
        depth, loops, of_group = choice.choice(DEPTHS), "nk", "n"
        weights = function.argument(columns, depth, element=narrow)
        activations = function.argument(rows, depth, element=wide)
        scales = [function.argument(columns, element=wide) for _ in range(2)]
        accesses = "mk,nk->mn"
    used = scales if "%2" in body else scales[:1]
    listed = ",".join([loops, *[of_group] * len(used)])
    widened = function.generic(f"{listed}->{loops}", weights, *used, body=body, element=wide)
    return function.text(function.contraction(accesses, activations, widened, "f32"))


def from_model(choice: random.Random) -> str:
    """Return a dispatch of a model."""
    function = Function("model")
    ops = MODELS[choice.choice(sorted(MODELS))]()
    return function.text(choice.choice(ops)(function))


def resized(choice: random.Random) -> str:
    """Return a layer or a convolution of a model in another size, with what follows."""
    function = Function("resized")
    element = choice.choice(("f16", "f16", "f32"))
    after = "%r = add %0, %1 : T"
    if choice.random() < 0.5:
        sizes = (choice.choice(ROWS), choice.choice(COLUMNS), choice.choice(DEPTHS))
        return function.text(linear(function, sizes, element, after))
    layout, size = choice.choice(("nhwc", "nchw")), choice.choice((7, 14, 28, 56, 64))
    channels = (choice.choice((16, 64, 128, 320)), choice.choice((64, 128, 256, 320)))
    return function.text(
        convolution(
            *(function, layout, (choice.choice((1, 2)), size, size), channels),
            choice.choice((1, 3)),
            element=element,
            after=after,
        )
    )


def softmax(choice: random.Random) -> str:
    """Return a softmax of scores."""
    function = Function("softmax")
    rows = [choice.choice(each) for each in ((1, 8, 12, 20, 32), (1, 64, 77, 384, 512))]
    length = choice.choice((64, 77, 128, 384, 512, 1000, 2048, 4096, 51866))
    leading = rows[: choice.choice((1, 2))]
    return function.text(
        function.softmax(function.argument(*leading, length, element=choice.choice(("f16", "f32"))))
    )


def gathered(choice: random.Random) -> str:
    """Return the rows of a table, as an embedding has them."""
    count, width = choice.choice((1, 8, 77, 384, 512)), choice.choice((64, 128, 768, 1280, 4096))
    element, size = choice.choice(("f16", "f32")), choice.choice((512, 30522, 51866))
    return _indexed(
        f"""iree_linalg_ext.gather dimension_map = [0]
      ins(%table, %rows : tensor<{size}x{width}x{element}>, tensor<{count}xi32>)
      outs(%empty : tensor<{count}x{width}x{element}>) -> tensor<{count}x{width}x{element}>""",
        [f"%table: tensor<{size}x{width}x{element}>", f"%rows: tensor<{count}xi32>"],
        f"tensor<{count}x{width}x{element}>",
    )


def scattered(choice: random.Random) -> str:
    """Rows written to a cache of keys or values."""
    count, width = choice.choice((1, 8, 77, 384)), choice.choice((64, 128, 1024))
    element, size = choice.choice(("f16", "f32")), choice.choice((512, 2048))
    cache = f"tensor<{size}x{width}x{element}>"
    return _indexed(
        f"""iree_linalg_ext.scatter dimension_map = [0] unique_indices(true)
      ins(%new, %places : tensor<{count}x{width}x{element}>, tensor<{count}x1xi32>)
      outs(%cache : {cache}) {{
  ^bb0(%l: {element}, %r: {element}):
    iree_linalg_ext.yield %l : {element}
  }} -> {cache}""",
        [
            f"%new: tensor<{count}x{width}x{element}>",
            f"%places: tensor<{count}x1xi32>",
            f"%cache: {cache}",
        ],
        cache,
    )


def reduced(choice: random.Random) -> str:
    """Sum or greatest values along a dimension, of squares or of a product with a vector."""
    function = Function("reduced")
    rows, length = choice.choice(ROWS), choice.choice((64, 77, 320, 768, 1000, 4096))
    tensor = function.argument(rows, length, element=choice.choice(("f16", "f32")))
    accesses = choice.choice(("ad->a", "ad->a", "ad->d"))
    body = choice.choice(("%r = add %out, %0 : T", "%r = maximum %out, %0 : T"))
    return function.text(function.generic(accesses, tensor, body=body, element="f32", start=0))


def _indexed(operation: str, arguments: Sequence[str], result: str) -> str:
    return f"""
func.func @indexed({", ".join(arguments)}) -> {result} {{
  %empty = tensor.empty() : {result}
  %result = {operation}
  return %result : {result}
}}"""


FUSED_FORMS: Final[dict[str, Callable[[random.Random], str]]] = {
    "mixed": mixed,
    "narrow": narrow,
    "fused": fused,
    "dequantized": dequantized,
    "model": from_model,
    "resized": resized,
    "softmax": softmax,
    "gather": gathered,
    "scatter": scattered,
    "reduction": reduced,
}
"""For each form the function that makes a random program of it."""
