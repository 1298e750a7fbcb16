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


def stepped(value: np.ndarray[Any, Any], steps: Sequence[str], others: Sequence[Any]) -> Any:
    """Compute steps on a product."""
    waiting = list(others)
    erf = np.vectorize(math.erf)
    for name in steps:
        if name == "factor":
            value = value * waiting.pop(0)
        elif STEPS[name][0]:
            value = value + waiting.pop(0)
        elif name == "scale":
            value = value * 0.125
        elif name == "relu":
            value = np.maximum(value, 0)
        elif name == "gelu":
            value = value * 0.5 * (1 + erf(value * 0.70710678118))
    return value
