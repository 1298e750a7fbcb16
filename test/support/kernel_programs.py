"""Programs with a product and ops after it, and the same computed by NumPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

STEPS = {
    "bias": ("(n)", "%r = arith.addf %x, %y : f32"),
    "residual": ("(m, n)", "%r = arith.addf %x, %y : f32"),
    "factor": ("()", "%r = arith.mulf %x, %y : f32"),
    "scale": ("", "%k = arith.constant 0.125 : f32\n %r = arith.mulf %x, %k : f32"),
    "relu": (
        "",
        "%k = arith.constant 0.0 : f32\n %c = arith.cmpf ugt, %x, %k : f32\n %r = arith.select %c, %x, %k : f32",
    ),
    "gelu": (
        "",
        """%k = arith.constant 0.5 : f32
 %o = arith.constant 1.0 : f32
 %q = arith.constant 0.70710678118 : f32
 %a = arith.mulf %x, %q : f32
 %v = math.erf %a : f32
 %f = arith.addf %v, %o : f32
 %g = arith.mulf %f, %k : f32
 %r = arith.mulf %x, %g : f32""",
    ),
    "truncation": ("", "%r = arith.truncf %x : f32 to f16"),
}
"""Steps after a product by name: the dimensions of another operand, if any, and the body."""

NAMED = """%p = linalg.matmul {maps} ins(%l, %w : {l}, {w}) outs(%i : {o}) -> {o}"""
GENERIC = """%p = linalg.generic {{ {maps}, iterator_types = ["parallel", "parallel", "reduction"] }}
    ins(%l, %w : {l}, {w}) outs(%i : {o}) {{
  ^bb0(%x: {element}, %y: {element}, %z: f32):
    %a = arith.extf %x : {element} to f32
    %b = arith.extf %y : {element} to f32
    %c = arith.mulf %a, %b : f32
    %d = arith.addf %z, %c : f32
    linalg.yield %d : f32
  }} -> {o}"""


def product_program(
    m: int,
    n: int,
    k: int,
    steps: Sequence[str] = (),
    *,
    rhs: str = "nk",
    product: str = NAMED,
    element: str = "f16",
) -> str:
    """Return a program of a product that starts at zero, and of steps after it, as at the preprocessing stage."""
    shape = {"nk": f"{n}x{k}", "kn": f"{k}x{n}"}[rhs]
    left, right, kind = (
        f"tensor<{m}x{k}x{element}>",
        f"tensor<{shape}x{element}>",
        f"tensor<{m}x{n}xf32>",
    )
    loops = ("(m, k)", f"({rhs[0]}, {rhs[1]})", "(m, n)")
    maps = "indexing_maps = [" + ", ".join(f"affine_map<(m, n, k) -> {at}>" for at in loops) + "]"
    arguments, lines = [f"%l: {left}", f"%w: {right}"], []
    value, result = "%p", kind
    for number, name in enumerate(steps):
        dimensions, body = STEPS[name]
        operands, kinds, own = [value], [result], ["(m, n)"]
        if dimensions:
            other = {"(n)": f"tensor<{n}xf32>", "()": "f32"}.get(dimensions, kind)
            arguments.append(f"%o{number}: {other}")
            operands, kinds = [*operands, f"%o{number}"], [*kinds, other]
            own.append(dimensions)
        result = f"tensor<{m}x{n}xf16>" if name == "truncation" else kind
        listed = ", ".join(f"affine_map<(m, n) -> {at}>" for at in [*own, "(m, n)"])
        entries = ["%x: f32", "%y: f32"][: len(operands)]
        entries.append("%z: f16" if name == "truncation" else "%z: f32")
        lines.append(f"""%e{number} = tensor.empty() : {result}
  %s{number} = linalg.generic {{ indexing_maps = [{listed}], iterator_types = ["parallel", "parallel"] }}
    ins({", ".join(operands)} : {", ".join(kinds)}) outs(%e{number} : {result}) {{
  ^bb0({", ".join(entries)}):
    {body}
    linalg.yield %r : {result[result.rindex("x") + 1 : -1]}
  }} -> {result}""")
        value = f"%s{number}"
    text = product.format(maps=maps, l=left, w=right, o=kind, element=element)
    listed_lines = "\n  ".join(lines)
    return f"""
util.func public @main({", ".join(arguments)}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {kind}
  %i = linalg.fill ins(%zero : f32) outs(%e : {kind}) -> {kind}
  {text}
  {listed_lines}
  util.return {value} : {result}
}}
"""


def shifted_program(
    batches: int,
    m: int,
    n: int,
    k: int,
    *,
    signs: str = "us",
    points: tuple[int | None, ...] = (None, None),
) -> str:
    """Return a program of ONNX's MatMulInteger as it is imported, with a scale and a bias after it.

    The bytes of both operands have a sign (`s`) or not (`u`). Weights are broadcast to the batches. Zero points are arguments,
    or constants.
    """
    left, right, out = f"{batches}x{m}x{k}", f"{k}x{n}", f"{batches}x{m}x{n}"
    own = {"left": (left, "(a, m, k)"), "right": (right, "(m, k)")}
    lines, arguments = list[str](), [f"%left: tensor<{left}xi8>", f"%right: tensor<{right}xi8>"]
    for (name, (shape, loops)), sign, point in zip(own.items(), signs, points, strict=True):
        extension = f"arith.ext{sign}i"
        same, none = f"affine_map<{loops} -> {loops}>", f"affine_map<{loops} -> ()>"
        kinds = 'iterator_types = ["parallel"' + ', "parallel"' * loops.count(",") + "]"
        if point is None:
            arguments.append(f"%{name}_point: tensor<i8>")
        else:
            lines.append(f"%{name}_point = arith.constant dense<{point}> : tensor<i8>")
        lines.append(f"""%e{name} = tensor.empty() : tensor<{shape}xi32>
  %w{name} = linalg.generic {{indexing_maps = [{same}, {same}], {kinds}}}
      ins(%{name} : tensor<{shape}xi8>) outs(%e{name} : tensor<{shape}xi32>) {{
  ^bb0(%x: i8, %out: i32):
    %w = {extension} %x : i8 to i32
    linalg.yield %w : i32
  }} -> tensor<{shape}xi32>
  %s{name} = linalg.generic {{indexing_maps = [{same}, {none}, {same}], {kinds}}}
      ins(%w{name}, %{name}_point : tensor<{shape}xi32>, tensor<i8>) outs(%e{name} : tensor<{shape}xi32>) {{
  ^bb0(%x: i32, %y: i8, %out: i32):
    %p = {extension} %y : i8 to i32
    %w = arith.subi %x, %p : i32
    linalg.yield %w : i32
  }} -> tensor<{shape}xi32>""")
    every = "affine_map<(a, m, n) -> (a, m, n)>"
    kinds = 'iterator_types = ["parallel", "parallel", "parallel"]'
    lines.append(f"""%zero = arith.constant 0 : i64
  %eb = tensor.empty() : tensor<{batches}x{right}xi32>
  %b = linalg.generic {{indexing_maps = [affine_map<(a, m, n) -> (m, n)>, {every}], {kinds}}}
      ins(%sright : tensor<{right}xi32>) outs(%eb : tensor<{batches}x{right}xi32>) {{
  ^bb0(%x: i32, %out: i32):
    linalg.yield %x : i32
  }} -> tensor<{batches}x{right}xi32>
  %el = tensor.empty() : tensor<{out}xi64>
  %i = linalg.fill ins(%zero : i64) outs(%el : tensor<{out}xi64>) -> tensor<{out}xi64>
  %p = linalg.batch_matmul ins(%sleft, %b : tensor<{left}xi32>, tensor<{batches}x{right}xi32>)
      outs(%i : tensor<{out}xi64>) -> tensor<{out}xi64>
  %ei = tensor.empty() : tensor<{out}xi32>
  %t = linalg.generic {{indexing_maps = [{every}, {every}], {kinds}}} ins(%p : tensor<{out}xi64>) outs(%ei : tensor<{out}xi32>) {{
  ^bb0(%x: i64, %out: i32):
    %w = arith.trunci %x : i64 to i32
    linalg.yield %w : i32
  }} -> tensor<{out}xi32>
  %ef = tensor.empty() : tensor<{out}xf32>
  %f = linalg.generic {{indexing_maps = [{every}, {every}], {kinds}}} ins(%t : tensor<{out}xi32>) outs(%ef : tensor<{out}xf32>) {{
  ^bb0(%x: i32, %out: f32):
    %w = arith.sitofp %x : i32 to f32
    linalg.yield %w : f32
  }} -> tensor<{out}xf32>
  %r = linalg.generic {{indexing_maps = [{every}, affine_map<(a, m, n) -> (n)>, {every}], {kinds}}}
      ins(%f, %row : tensor<{out}xf32>, tensor<{n}xf32>) outs(%ef : tensor<{out}xf32>) {{
  ^bb0(%x: f32, %y: f32, %out: f32):
    %w = arith.mulf %x, %y : f32
    linalg.yield %w : f32
  }} -> tensor<{out}xf32>""")
    given = ", ".join([*arguments, f"%row: tensor<{n}xf32>"])
    text = "\n  ".join(lines)
    return f"util.func public @main({given}) -> tensor<{out}xf32> {{\n  {text}\n  util.return %r : tensor<{out}xf32>\n}}"


def quantized_program(
    m: int, n: int, k: int, *, rhs: str = "nk", product: str = "named", steps: bool = True
) -> str:
    """Return a program of a product of i8, and of a bias, a scale and the rounding to i8 after it.

    The product is a named op, a generic one, or one of numbers that were extended, as PyTorch exports it (`wide`).
    """
    shape = {"nk": f"{n}x{k}", "kn": f"{k}x{n}"}[rhs]
    left, right, kind = f"tensor<{m}x{k}xi8>", f"tensor<{shape}xi8>", f"tensor<{m}x{n}xi32>"
    loops = ("(m, k)", f"({rhs[0]}, {rhs[1]})", "(m, n)")
    maps = "indexing_maps = [" + ", ".join(f"affine_map<(m, n, k) -> {at}>" for at in loops) + "]"
    same, row = "affine_map<(m, n) -> (m, n)>", "affine_map<(m, n) -> (n)>"
    parallel = 'iterator_types = ["parallel", "parallel"]'
    element = "i64" if product == "wide" else "i32"
    wide = kind.replace("i32", element)
    lines = [
        f"%zero = arith.constant 0 : {element}",
        f"%e = tensor.empty() : {wide}",
        f"%i = linalg.fill ins(%zero : {element}) outs(%e : {wide}) -> {wide}",
    ]
    if product == "named":
        lines.append(NAMED.format(maps=maps, l=left, w=right, o=wide))
    elif product == "generic":
        text = GENERIC.format(maps=maps, l=left, w=right, o=wide, element="i8")
        for name in ("extf", "mulf", "addf", "f32"):
            text = text.replace(name, {"extf": "extsi", "f32": "i32"}.get(name, f"{name[:-1]}i"))
        lines.append(text)
    else:
        for name, own in (("l", left), ("w", right)):
            other = own.replace("i8", "i32")
            lines.append(f"""%e{name} = tensor.empty() : {other}
  %{name}32 = linalg.generic {{indexing_maps = [{same}, {same}], {parallel}}} ins(%{name} : {own}) outs(%e{name} : {other}) {{
  ^bb0(%x: i8, %z: i32):
    %y = arith.extsi %x : i8 to i32
    linalg.yield %y : i32
  }} -> {other}""")
        text = NAMED.format(
            maps=maps, l=left.replace("i8", "i32"), w=right.replace("i8", "i32"), o=wide
        )
        lines.append(text.replace("%p", "%q").replace("%l, %w", "%l32, %w32"))
        lines.append(f"""%e32 = tensor.empty() : {kind}
  %p = linalg.generic {{indexing_maps = [{same}, {same}], {parallel}}} ins(%q : {wide}) outs(%e32 : {kind}) {{
  ^bb0(%x: i64, %z: i32):
    %y = arith.trunci %x : i64 to i32
    linalg.yield %y : i32
  }} -> {kind}""")
    value, result, others = "%p", kind, ""
    if steps:
        value, result = "%r", kind.replace("i32", "i8")
        bias, scale = f"tensor<{n}xi32>", f"tensor<{n}xf32>"
        others = f", %bias: {bias}, %scale: {scale}"
        lines.append(f"""%least = arith.constant -128.0 : f32
  %most = arith.constant 127.0 : f32
  %unit = arith.constant 0.00390625 : f32
  %er = tensor.empty() : {result}
  %r = linalg.generic {{indexing_maps = [{same}, {row}, {row}, {same}], {parallel}}}
    ins(%p, %bias, %scale : {kind}, {bias}, {scale}) outs(%er : {result}) {{
  ^bb0(%x: i32, %y: i32, %s: f32, %z: i8):
    %0 = arith.addi %x, %y : i32
    %1 = arith.sitofp %0 : i32 to f32
    %2 = arith.mulf %1, %s : f32
    %3 = arith.mulf %2, %unit : f32
    %4 = math.roundeven %3 : f32
    %5 = arith.maximumf %4, %least : f32
    %6 = arith.minimumf %5, %most : f32
    %7 = arith.fptosi %6 : f32 to i8
    linalg.yield %7 : i8
  }} -> {result}""")
    text = "\n  ".join(lines)
    return f"""
util.func public @main(%l: {left}, %w: {right}{others}) -> {result} {{
  {text}
  util.return {value} : {result}
}}
"""


def dequantized_program(
    m: int,
    n: int,
    k: int,
    *,
    zero: int = 3,
    per_channel: bool = True,
    quantized: bool = True,
    signed: bool = True,
) -> str:
    """Return a program that multiplies dequantized numbers, adds a bias, and quantizes, as ONNX and PyTorch export it."""
    left, right, kind = f"tensor<{m}x{k}x", f"tensor<{n}x{k}x", f"tensor<{m}x{n}x"
    turned = f"tensor<{k}x{n}xf32>"
    same, none = "affine_map<(i, j) -> (i, j)>", "affine_map<(i, j) -> ()>"
    scale = f"tensor<{n}xf32>" if per_channel else "f32"
    row = "affine_map<(i, j) -> (i)>" if per_channel else none
    values = [f", %z : {left}i8>, f32, i64", f"{none}, "] if zero else [f" : {left}i8>, f32", ""]
    ends = [f", %z : {kind}f32>, f32, i64", f"{none}, "] if zero else [f" : {kind}f32>, f32", ""]
    bounds = "quant_min = -128, quant_max = 127"
    own = bounds if signed else "quant_min = 0, quant_max = 255"
    unsigned = ["", ""] if signed else [", input_unsigned", ", storage_unsigned"]
    result = kind + ("i8>" if quantized else "f32>")
    quantize = f"""%eq = tensor.empty() : {result}
  %r = iree_linalg_ext.quantize_affine <indexing_maps = [{same}, {none}, {ends[1]}{same}], {own}{unsigned[1]}>
    ins(%s, %c{ends[0]}) outs(%eq : {result}) -> {result}"""
    return f"""
util.func public @main(%l: {left}i8>, %w: {right}i8>{f", %cw: {scale}" if per_channel else ""}, %bias: tensor<{n}xf32>) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %c = arith.constant 0.3125 : f32
  {"" if per_channel else "%cw = arith.constant 0.0625 : f32"}
  %z = arith.constant {zero} : i64
  %el = tensor.empty() : {left}f32>
  %dl = iree_linalg_ext.dequantize_affine <indexing_maps = [{same}, {none}, {values[1]}{same}], {own}{unsigned[0]}>
    ins(%l, %c{values[0]}) outs(%el : {left}f32>) -> {left}f32>
  %ew = tensor.empty() : {right}f32>
  %dw = iree_linalg_ext.dequantize_affine <indexing_maps = [{same}, {row}, {same}], {bounds}>
    ins(%w, %cw : {right}i8>, {scale}) outs(%ew : {right}f32>) -> {right}f32>
  %et = tensor.empty() : {turned}
  %t = linalg.transpose ins(%dw : {right}f32>) outs(%et : {turned}) permutation = [1, 0]
  %e = tensor.empty() : {kind}f32>
  %i = linalg.fill ins(%zero : f32) outs(%e : {kind}f32>) -> {kind}f32>
  %p = linalg.matmul ins(%dl, %t : {left}f32>, {turned}) outs(%i : {kind}f32>) -> {kind}f32>
  %s = linalg.generic {{indexing_maps = [{same}, affine_map<(i, j) -> (j)>, {same}], iterator_types = ["parallel", "parallel"]}}
    ins(%p, %bias : {kind}f32>, tensor<{n}xf32>) outs(%e : {kind}f32>) {{
  ^bb0(%x: f32, %y: f32, %o: f32):
    %a = arith.addf %x, %y : f32
    linalg.yield %a : f32
  }} -> {kind}f32>
  {quantize if quantized else ""}
  util.return {"%r" if quantized else "%s"} : {result}
}}
"""


def stepped(value: np.ndarray[Any, Any], steps: Sequence[str], others: Sequence[Any]) -> Any:
    """Compute steps on a product."""
    waiting = list(others)
    erf = np.vectorize(math.erf)
    for name in steps:
        if name == "quantization":
            value = np.clip(np.round((value + waiting.pop(0)) * waiting.pop(0) / 256), -128, 127)
        elif name in ("factor", "gate"):
            value = value * waiting.pop(0)
        elif name == "silu":
            value = value / (1 + np.exp(-value))
        elif STEPS[name][0]:
            value = value + waiting.pop(0)
        elif name == "scale":
            value = value * 0.125
        elif name == "relu":
            value = np.maximum(value, 0)
        elif name == "gelu":
            value = value * 0.5 * (1 + erf(value * 0.70710678118))
    return value


def linear_program(batches: int, m: int, n: int, k: int, *, gate: bool = True) -> str:
    """Return a program of a linear layer as PyTorch exports it: with transposed and broadcast weights, and x * sigmoid(x).

    A gate multiplies it by one row for each batch.
    """
    left, right, kind = f"tensor<{batches}x{m}x{k}xf16>", f"{n}x{k}xf16>", f"{batches}x{m}x{n}x"
    wide, half = f"tensor<{kind}f32>", f"tensor<{kind}f16>"
    turned, spread = f"tensor<{k}x{n}xf16>", f"tensor<{batches}x{k}x{n}xf16>"
    row = f"tensor<{batches}x1x{n}xf16>"
    parallel = 'iterator_types = ["parallel", "parallel", "parallel"]'
    same = "affine_map<(a, m, n) -> (a, m, n)>"

    def elementwise(name: str, operands: str, *, kinds: str, maps: str, body: str) -> str:
        entries = ", ".join(f"{at}: f16" for at in ("%x", "%y")[: maps.count("->")])
        return f"""%{name} = linalg.generic {{indexing_maps = [{maps}, {same}], {parallel}}}
    ins({operands} : {kinds}) outs(%h : {half}) {{
  ^bb0({entries}, %z: f16):
    {body}
    linalg.yield %r : f16
  }} -> {half}"""

    sigmoid = """%n = arith.negf %x : f16
    %y = math.exp %n : f16
    %s1 = arith.addf %y, %one : f16
    %q = math.sqrt %one : f16
    %r = arith.divf %q, %s1 : f16"""
    product = "%r = arith.mulf %x, %y : f16"
    silu = elementwise("s", "%p16", kinds=half, maps=same, body=sigmoid)
    silu += "\n  " + elementwise(
        "u", "%s, %p16", kinds=f"{half}, {half}", maps=f"{same}, {same}", body=product
    )
    spread_row = "affine_map<(a, m, n) -> (a, 0, n)>"
    gated = elementwise(
        "g", "%u, %gate", kinds=f"{half}, {row}", maps=f"{same}, {spread_row}", body=product
    )
    return f"""
util.func public @main(%l: {left}, %w: tensor<{right}{f", %gate: {row}" if gate else ""}) -> {half} {{
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f16
  %h = tensor.empty() : {half}
  %e0 = tensor.empty() : {turned}
  %t = linalg.transpose ins(%w : tensor<{right}) outs(%e0 : {turned}) permutation = [1, 0]
  %e1 = tensor.empty() : {spread}
  %b = linalg.generic {{indexing_maps = [affine_map<(a, k, n) -> (k, n)>, affine_map<(a, k, n) -> (a, k, n)>], {parallel}}}
    ins(%t : {turned}) outs(%e1 : {spread}) {{
  ^bb0(%x: f16, %z: f16):
    linalg.yield %x : f16
  }} -> {spread}
  %e2 = tensor.empty() : {wide}
  %i = linalg.fill ins(%zero : f32) outs(%e2 : {wide}) -> {wide}
  %p = linalg.batch_matmul ins(%l, %b : {left}, {spread}) outs(%i : {wide}) -> {wide}
  %p16 = linalg.generic {{indexing_maps = [{same}, {same}], {parallel}}} ins(%p : {wide}) outs(%h : {half}) {{
  ^bb0(%x: f32, %z: f16):
    %r = arith.truncf %x : f32 to f16
    linalg.yield %r : f16
  }} -> {half}
  {silu}
  {gated if gate else ""}
  util.return {"%g" if gate else "%u"} : {half}
}}
"""


def extended_program(m: int, n: int, k: int, *, lhs: str = "f16") -> str:
    """Return a program that extends f16 to f32 before it multiplies."""
    kinds = {"l": (m, k, lhs), "w": (k, n, "f16")}
    lines = []
    for name, (rows, columns, element) in kinds.items():
        wide = f"tensor<{rows}x{columns}xf32>"
        result = "%x" if element == "f32" else "%y"
        body = "" if element == "f32" else "%y = arith.extf %x : f16 to f32"
        lines.append(f"""%e{name} = tensor.empty() : {wide}
  %{name}32 = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]}} ins(%{name} : tensor<{rows}x{columns}x{element}>) outs(%e{name} : {wide}) {{
  ^bb0(%x: {element}, %z: f32):
    {body}
    linalg.yield {result} : f32
  }} -> {wide}""")
    kind, moved = f"tensor<{m}x{n}xf32>", "\n  ".join(lines)
    return f"""
util.func public @main(%l: tensor<{m}x{k}x{lhs}>, %w: tensor<{k}x{n}xf16>) -> {kind} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {kind}
  %i = linalg.fill ins(%zero : f32) outs(%e : {kind}) -> {kind}
  {moved}
  %p = linalg.matmul ins(%l32, %w32 : tensor<{m}x{k}xf32>, tensor<{k}x{n}xf32>) outs(%i : {kind}) -> {kind}
  util.return %p : {kind}
}}
"""


def convolution_program(
    images: Sequence[int], filters: Sequence[int], *, stride: int = 1, dilation: int = 1, bias: bool
) -> str:
    """Return a program of a convolution, a factor for each channel, and a residual, as PyTorch exports it."""
    count, channels, height, width = images
    outputs, _, rows, columns = filters
    down, right = (
        (size - dilation * (window - 1) - 1) // stride + 1
        for size, window in ((height, rows), (width, columns))
    )
    kind = f"{count}x{outputs}x{down}x{right}x"
    wide, half, own = f"tensor<{kind}f32>", f"tensor<{kind}f16>", f"tensor<{outputs}xf32>"
    left, right_kind = (
        f"tensor<{count}x{channels}x{height}x{width}xf16>",
        "x".join(map(str, filters)),
    )
    read = f"{left}, tensor<{right_kind}xf16>"
    factor = f"tensor<{outputs}x1x1xf32>"
    start = f"%i = linalg.fill ins(%zero : f32) outs(%e : {wide}) -> {wide}"
    if bias:
        start = f"%i = linalg.broadcast ins(%bias : {own}) outs(%e : {wide}) dimensions = [0, 2, 3]"
    parallel = 'iterator_types = ["parallel", "parallel", "parallel", "parallel"]'
    same = "affine_map<(a, n, y, x) -> (a, n, y, x)>"
    return f"""
util.func public @main(%l: {left}, %w: tensor<{right_kind}xf16>{f", %bias: {own}" if bias else ""}, %f: {factor}, %o: {half}) -> {half} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {wide}
  {start}
  %p = linalg.conv_2d_nchw_fchw {{dilations = dense<{dilation}> : vector<2xi64>, strides = dense<{stride}> : vector<2xi64>}}
    ins(%l, %w : {read}) outs(%i : {wide}) -> {wide}
  %h = tensor.empty() : {half}
  %s = linalg.generic {{indexing_maps = [{same}, affine_map<(a, n, y, x) -> (n, 0, 0)>, {same}], {parallel}}}
    ins(%p, %f : {wide}, {factor}) outs(%h : {half}) {{
  ^bb0(%x: f32, %y: f32, %z: f16):
    %m = arith.mulf %x, %y : f32
    %r = arith.truncf %m : f32 to f16
    linalg.yield %r : f16
  }} -> {half}
  %g = linalg.generic {{indexing_maps = [{same}, {same}, {same}], {parallel}}}
    ins(%o, %s : {half}, {half}) outs(%h : {half}) {{
  ^bb0(%x: f16, %y: f16, %z: f16):
    %r = arith.addf %x, %y : f16
    linalg.yield %r : f16
  }} -> {half}
  util.return %g : {half}
}}
"""


def convolved(images: Any, filters: Any, stride: int, dilation: int) -> Any:
    """Compute a convolution of images in NCHW with filters in FCHW."""
    rows, columns = (dilation * (size - 1) + 1 for size in filters.shape[2:])
    windows = np.lib.stride_tricks.sliding_window_view(images, (rows, columns), axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride, ::dilation, ::dilation]
    return np.einsum("acyxpq,ncpq->anyx", windows, filters)


def heads_program(
    *, batches: int, heads: int, rows: int, keys: int, size: int, masked: bool
) -> str:
    """Return a program of attention whose heads are moved to batches and back, as PyTorch exports it."""
    operands = {"q": rows, "k": keys, "v": keys}
    given = {name: f"tensor<{batches}x{own}x{heads}x{size}xf16>" for name, own in operands.items()}
    apart = {name: f"tensor<{batches}x{heads}x{own}x{size}xf16>" for name, own in operands.items()}
    whole = {name: f"tensor<{batches * heads}x{own}x{size}xf16>" for name, own in operands.items()}
    lines = [
        f"""%e{name} = tensor.empty() : {apart[name]}
  %t{name} = linalg.transpose ins(%{name} : {given[name]}) outs(%e{name} : {apart[name]}) permutation = [0, 2, 1, 3]
  %c{name} = tensor.collapse_shape %t{name} [[0, 1], [2], [3]] : {apart[name]} into {whole[name]}"""
        for name in operands
    ]
    narrow, wide = (f"tensor<{batches}x{own}x{rows}x{keys}xi1>" for own in (1, heads))
    mask = f"tensor<{batches * heads}x{rows}x{keys}xi1>"
    if masked:
        lines.append(f"""%ex = tensor.empty() : {wide}
  %bx = linalg.generic {{indexing_maps = [affine_map<(a, b, m, j) -> (a, 0, m, j)>, affine_map<(a, b, m, j) -> (a, b, m, j)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} ins(%x : {narrow}) outs(%ex : {wide}) {{
  ^bb0(%y: i1, %z: i1):
    linalg.yield %y : i1
  }} -> {wide}
  %cx = tensor.collapse_shape %bx [[0, 1], [2], [3]] : {wide} into {mask}""")
    loops = ["(a, m, k)", "(a, j, k)", "(a, j, n)", "()", *["(a, m, j)"] * masked, "(a, m, n)"]
    maps = ", ".join(f"affine_map<(a, m, n, k, j) -> {own}>" for own in loops)
    read = ", ".join(["%cq", "%ck", "%cv", "%scale", *["%cx"] * masked])
    kinds = ", ".join([*whole.values(), "f16", *[mask] * masked])
    moved = "\n  ".join(lines)
    arguments = ", ".join(f"%{name}: {kind}" for name, kind in given.items())
    arguments += f", %x: {narrow}" if masked else ""
    return f"""
util.func public @main({arguments}) -> {given["q"]} {{
  %scale = arith.constant 0.25 : f16
  {moved}
  %e = tensor.empty() : {whole["q"]}
  %o = iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}> ins({read} : {kinds}) outs(%e : {whole["q"]}) {{
  ^bb0(%s: f32):
    iree_linalg_ext.yield %s : f32
  }} -> {whole["q"]}
  %a = tensor.expand_shape %o [[0, 1], [2], [3]] output_shape [{batches}, {heads}, {rows}, {size}] : {whole["q"]} into {apart["q"]}
  %g = tensor.empty() : {given["q"]}
  %r = linalg.transpose ins(%a : {apart["q"]}) outs(%g : {given["q"]}) permutation = [0, 2, 1, 3]
  util.return %r : {given["q"]}
}}
"""
