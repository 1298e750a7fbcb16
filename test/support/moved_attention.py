"""Programs of attention whose operands and result are moved as frontends do, and the same computed by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

MAPS = ", ".join(
    f"affine_map<(a, m, n, k, j) -> ({loops})>"
    for loops in ("a, m, k", "a, j, k", "a, j, n", "", "a, m, n")
)


def fused_program(batch: int, tokens: int, heads: int, size: int, first: int = 0) -> str:
    """Return a program whose queries, keys and values are slices of one tensor, from slice `first` on, and may wrap."""
    own, moved = f"{batch}x{tokens}x3x{heads}x{size}xf16", f"3x{batch}x{heads}x{tokens}x{size}xf16"
    part, folded = (
        f"1x{batch}x{heads}x{tokens}x{size}xf16",
        f"{batch * heads}x{tokens}x{size}xf16",
    )
    lines = [
        f"%e = tensor.empty() : tensor<{moved}>",
        f"%t = linalg.transpose ins(%x : tensor<{own}>) outs(%e : tensor<{moved}>) permutation = [2, 0, 3, 1, 4]",
    ]
    for at in range(3):
        start, sizes = f"{(first + at) % 3}, 0, 0, 0, 0", f"1, {batch}, {heads}, {tokens}, {size}"
        lines += [
            f"%s{at} = tensor.extract_slice %t[{start}] [{sizes}] [1, 1, 1, 1, 1] : tensor<{moved}> to tensor<{part}>",
            f"%o{at} = tensor.collapse_shape %s{at} [[0, 1, 2], [3], [4]] : tensor<{part}> into tensor<{folded}>",
        ]
    return _program(f"%x: tensor<{own}>", lines, (batch, heads, tokens, size))


def grouped_program(batch: int, tokens: int, heads: int, groups: int, size: int) -> str:
    """Return a program whose queries are moved, and whose keys and values are moved and broadcast to the heads of a group."""
    own, kept = f"{batch}x{tokens}x{heads}x{size}xf16", f"{batch}x{tokens}x{groups}x{size}xf16"
    moved, few = (f"{batch}x{at}x{tokens}x{size}xf16" for at in (heads, groups))
    each = f"{batch}x{groups}x{heads // groups}x{tokens}x{size}xf16"
    folded = f"{batch * heads}x{tokens}x{size}xf16"
    maps = "affine_map<(a, g, h, j, k) -> (a, g, j, k)>, affine_map<(a, g, h, j, k) -> (a, g, h, j, k)>"
    kinds = ", ".join(['"parallel"'] * 5)
    lines = [
        f"%e = tensor.empty() : tensor<{moved}>",
        f"%f = tensor.empty() : tensor<{few}>",
        f"%g = tensor.empty() : tensor<{each}>",
        f"%t0 = linalg.transpose ins(%x : tensor<{own}>) outs(%e : tensor<{moved}>) permutation = [0, 2, 1, 3]",
        f"%o0 = tensor.collapse_shape %t0 [[0, 1], [2], [3]] : tensor<{moved}> into tensor<{folded}>",
    ]
    for at, name in ((1, "y"), (2, "z")):
        lines += [
            f"%t{at} = linalg.transpose ins(%{name} : tensor<{kept}>) outs(%f : tensor<{few}>) permutation = [0, 2, 1, 3]",
            f"%b{at} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}",
            f"  ins(%t{at} : tensor<{few}>) outs(%g : tensor<{each}>) {{",
            "^bb0(%in: f16, %out: f16):",
            "  linalg.yield %in : f16",
            f"}} -> tensor<{each}>",
            f"%o{at} = tensor.collapse_shape %b{at} [[0, 1, 2], [3], [4]] : tensor<{each}> into tensor<{folded}>",
        ]
    arguments = f"%x: tensor<{own}>, %y: tensor<{kept}>, %z: tensor<{kept}>"
    return _program(arguments, lines, (batch, heads, tokens, size))


def _program(arguments: str, lines: list[str], shape: tuple[int, int, int, int]) -> str:
    """Return a program that attends to operands %o0 to %o2, and moves the heads of the result behind the tokens."""
    batch, heads, tokens, size = shape
    folded = f"tensor<{batch * heads}x{tokens}x{size}xf16>"
    split, result = (
        f"tensor<{batch}x{at}x{size}xf16>" for at in (f"{heads}x{tokens}", f"{tokens}x{heads}")
    )
    text = "\n  ".join(lines)
    return f"""util.func public @main({arguments}) -> {result} {{
  {text}
  %scale = arith.constant 0.3 : f32
  %empty = tensor.empty() : {folded}
  %r = iree_linalg_ext.attention <{{indexing_maps = [{MAPS}]}}>
      ins(%o0, %o1, %o2, %scale : {folded}, {folded}, {folded}, f32) outs(%empty : {folded}) {{
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  }} -> {folded}
  %heads = tensor.expand_shape %r [[0, 1], [2], [3]] output_shape [{batch}, {heads}, {tokens}, {size}] : {folded} into {split}
  %last = tensor.empty() : {result}
  %moved = linalg.transpose ins(%heads : {split}) outs(%last : {result}) permutation = [0, 2, 1, 3]
  util.return %moved : {result}
}}"""


def attended(query: Any, key: Any, value: Any, scale: float, mask: Any = None) -> Any:
    """Return the result in f64 for queries, keys and values of (batch, tokens, heads, size), and a mask of zeros and ones."""
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    scores = np.einsum("amhk,ajhk->ahmj", query, key) * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("ahmj,ajhn->amhn", weights, value)
