"""Programs of attention whose operands and result are moved as frontends do, and the same computed by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

MAPS = ", ".join(
    f"affine_map<(a, m, n, k, j) -> ({loops})>"
    for loops in ("a, m, k", "a, j, k", "a, j, n", "", "a, m, n")
)


def fused_program(
    batch: int, tokens: int, heads: int, size: int, first: int = 0, *, mask: str = ""
) -> str:
    """Return a program whose queries, keys and values are slices of one tensor, from slice `first` on, and may wrap.

    With a mask of elements of a type, it is causal.
    """
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
    return _program(f"%x: tensor<{own}>", lines, (batch, heads, tokens, size), mask)


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


def decomposed_program(
    batch: int, tokens: int, heads: int, size: int, *, masked: bool, broadcast: bool = False
) -> str:
    """Return a program with products and a softmax as PyTorch exports them, whose scores are multiplied by 0.25.

    With masks, one of each head and one of each batch are added to the scores. Like a program of JAX, it may broadcast the
    peaks and the sums of rows, and add up results in f16.
    """
    own, apart = f"{batch}x{tokens}x{heads}x{size}", f"{batch}x{heads}x{tokens}x{size}"
    kinds = {
        "own": f"tensor<{own}xf16>",
        "apart": f"tensor<{apart}xf16>",
        "turned": f"tensor<{batch}x{heads}x{size}x{tokens}xf16>",
        "rows": f"tensor<{batch * heads}x{tokens}x{size}xf16>",
        "columns": f"tensor<{batch * heads}x{size}x{tokens}xf16>",
        "sums": f"tensor<{batch * heads}x{tokens}x{size}xf32>",
        "whole": f"tensor<{batch * heads}x{tokens}x{tokens}xf32>",
        "small": f"tensor<{batch * heads}x{tokens}x{tokens}xf16>",
        "half": f"tensor<{batch}x{heads}x{tokens}x{tokens}xf16>",
        "full": f"tensor<{batch}x{heads}x{tokens}x{tokens}xf32>",
        "peaks": f"tensor<{batch}x{heads}x{tokens}xf32>",
        "places": f"tensor<{batch}x{heads}x{tokens}xi64>",
        "column": f"tensor<{batch}x{heads}x{tokens}x1xf32>",
        "bias": f"tensor<{heads}x{tokens}x{tokens}xf16>",
        "mask": f"tensor<{batch}x1x{tokens}x{tokens}xf16>",
    }
    every = "a, b, m, j"
    indexed = {
        "full": every,
        "half": every,
        "column": "a, b, m, 0",
        "peaks": "a, b, m",
        "places": "a, b, m",
        "bias": "b, m, j",
        "mask": "a, 0, m, j",
        "whole": "b, m, j",
        "small": "b, m, j",
        "sums": "b, m, j",
        "rows": "b, m, j",
    }

    def element(name: str, read: list[tuple[str, str]], written: str, body: str) -> str:
        """Return an op on values and their kinds, with a body of its elements %x, %y and the last one %z."""
        operands = [kind for _, kind in read] + [written]
        loops = every if indexed[written] in (every, "a, b, m, 0") else "b, m, j"
        views = ", ".join(f"affine_map<({loops}) -> ({indexed[at]})>" for at in operands)
        iterators = ['"parallel"'] * (loops.count(",") + 1)
        if written == "column":
            iterators[-1] = '"reduction"'
        values, given = (
            ", ".join(at) for at in zip(*((one, kinds[at]) for one, at in read), strict=True)
        )
        inner = ["f32" if "f32" in kinds[at] else "f16" for at in operands]
        arguments = ", ".join(
            f"%{at}: {kind}" for at, kind in zip([*"xy"[: len(read)], "z"], inner, strict=True)
        )
        start = "%start" if written == "column" else f"%e{written}"
        return f"""%{name} = linalg.generic {{indexing_maps = [{views}], iterator_types = [{", ".join(iterators)}]}}
      ins({values} : {given}) outs({start} : {kinds[written]}) {{
  ^bb0({arguments}):
    %w = {body} : {inner[0] + " to " + inner[-1] if body.startswith(("arith.extf", "arith.truncf")) else inner[-1]}
    linalg.yield %w : {inner[-1]}
  }} -> {kinds[written]}"""

    def widened(name: str, rows: str) -> str:
        """Return an op that broadcasts rows."""
        return f"""%{name} = linalg.generic {{indexing_maps = [affine_map<({every}) -> (a, b, m, 0)>, affine_map<({every}) -> ({every})>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} ins({rows} : {kinds["column"]}) outs(%efull : {full}) {{
  ^bb0(%x: f32, %z: f32):
    linalg.yield %x : f32
  }} -> {full}"""

    split = f"[[0, 1], [2], [3]] output_shape [{batch}, {heads}, {tokens}"
    moved = [
        f"%t{name} = linalg.transpose ins(%{name} : {kinds['own']}) outs(%e{kind} : {kinds[kind]}) permutation = {order}"
        for name, kind, order in (
            ("q", "apart", [0, 2, 1, 3]),
            ("k", "turned", [0, 2, 3, 1]),
            ("v", "apart", [0, 2, 1, 3]),
        )
    ]
    folded = [
        f"%f{name} = tensor.collapse_shape %t{name} [[0, 1], [2], [3]] : {kinds[kind]} into {kinds[other]}"
        for name, kind, other in (
            ("q", "apart", "rows"),
            ("k", "turned", "columns"),
            ("v", "apart", "rows"),
        )
    ]
    whole, peaks, places, full = (kinds[at] for at in ("whole", "peaks", "places", "full"))
    lines = [
        *(f"%e{name} = tensor.empty() : {kind}" for name, kind in kinds.items()),
        "%zero = arith.constant 0.0 : f32",
        "%first = arith.constant 0 : i64",
        "%least = arith.constant 0xFF800000 : f32",
        "%factor = arith.constant 0.25 : f16",
        *moved,
        *folded,
        f"%z0 = linalg.fill ins(%zero : f32) outs(%ewhole : {whole}) -> {whole}",
        f"%s0 = linalg.batch_matmul ins(%fq, %fk : {kinds['rows']}, {kinds['columns']}) outs(%z0 : {whole}) -> {whole}",
        element("s1", [("%s0", "whole")], "small", "arith.truncf %x"),
        f"%s2 = tensor.expand_shape %s1 {split}, {tokens}] : {kinds['small']} into {kinds['half']}",
        element("s3", [("%s2", "half")], "half", "arith.mulf %x, %factor"),
    ]
    zero, kind = ("small : f16", "rows") if broadcast else ("zero : f32", "sums")
    result = kinds[kind]
    last = "%s3"
    if masked:
        lines.append(
            element("s4", [("%s3", "half"), ("%bias", "bias")], "half", "arith.addf %x, %y")
        )
        lines.append(
            element("s5", [("%s4", "half"), ("%mask", "mask")], "half", "arith.addf %x, %y")
        )
        last = "%s5"
    lines += [
        element("x0", [(last, "half")], "full", "arith.extf %x"),
        f"%z1 = linalg.fill ins(%least : f32) outs(%epeaks : {peaks}) -> {peaks}",
        f"%z2 = linalg.fill ins(%first : i64) outs(%eplaces : {places}) -> {places}",
        f"""%p0, %p1 = linalg.generic {{indexing_maps = [affine_map<({every}) -> ({every})>, affine_map<({every}) -> (a, b, m)>,
      affine_map<({every}) -> (a, b, m)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
      ins(%x0 : {full}) outs(%z1, %z2 : {peaks}, {places}) {{
  ^bb0(%x: f32, %y: f32, %z: i64):
    %i = linalg.index 3 : index
    %c = arith.index_cast %i : index to i64
    %w = arith.maximumf %x, %y : f32
    %g = arith.cmpf ogt, %x, %y : f32
    %h = arith.select %g, %c, %z : i64
    linalg.yield %w, %h : f32, i64
  }} -> ({peaks}, {places})""",
        f"%p2 = tensor.expand_shape %p0 [[0], [1], [2, 3]] output_shape [{batch}, {heads}, {tokens}, 1] : {peaks} into {kinds['column']}",
        *([widened("p3", "%p2")] if broadcast else []),
        element(
            "x1",
            [("%x0", "full"), ("%p3", "full") if broadcast else ("%p2", "column")],
            "full",
            "arith.subf %x, %y",
        ),
        element("x2", [("%x1", "full")], "full", "math.exp %x"),
        f"%start = linalg.fill ins(%zero : f32) outs(%ecolumn : {kinds['column']}) -> {kinds['column']}",
        element("x3", [("%x2", "full")], "column", "arith.addf %x, %z"),
        *([widened("y3", "%x3")] if broadcast else []),
        element(
            "x4",
            [("%x2", "full"), ("%y3", "full") if broadcast else ("%x3", "column")],
            "full",
            "arith.divf %x, %y",
        ),
        element("x5", [("%x4", "full")], "half", "arith.truncf %x"),
        f"%x6 = tensor.collapse_shape %x5 [[0, 1], [2], [3]] : {kinds['half']} into {kinds['small']}",
        "%small = arith.constant 0.0 : f16",
        f"%z3 = linalg.fill ins(%{zero}) outs(%e{kind} : {result}) -> {result}",
        f"%r0 = linalg.batch_matmul ins(%x6, %fv : {kinds['small']}, {kinds['rows']}) outs(%z3 : {result}) -> {result}",
        *([] if broadcast else [element("r1", [("%r0", "sums")], "rows", "arith.truncf %x")]),
        f"%r2 = tensor.expand_shape %r{int(not broadcast)} {split}, {size}] : {kinds['rows']} into {kinds['apart']}",
        f"%r3 = linalg.transpose ins(%r2 : {kinds['apart']}) outs(%eown : {kinds['own']}) permutation = [0, 2, 1, 3]",
    ]
    given = [f"%{name}: {kinds['own']}" for name in "qkv"]
    given += [f"%{name}: {kinds[name]}" for name in ("bias", "mask")] if masked else []
    text = "\n  ".join(lines)
    return f"util.func public @main({', '.join(given)}) -> {kinds['own']} {{\n  {text}\n  util.return %r3 : {kinds['own']}\n}}"


def selected_program(
    batch: int, tokens: int, heads: int, size: int, fill: str, *, excludes: bool, bits: str = ""
) -> str:
    """Return a program with products and a softmax in which a number takes the place of scores where bits are 0, or 1.

    The tensor `%bits`, of queries and keys, is an argument, or what some ops compute.
    """
    kind, mask = f"tensor<{batch}x{heads}x{tokens}x{tokens}xf16>", f"tensor<{tokens}x{tokens}xi1>"
    operands = [
        ("affine_map<(a, b, m, j) -> (a, b, m, j)>", "%s3", kind),
        ("affine_map<(a, b, m, j) -> ()>", "%fill", "tensor<f16>"),
    ]
    maps, values, types = map(", ".join, zip(*operands[:: -1 if excludes else 1], strict=True))
    selection = f"""{bits}
  %fill = arith.constant dense<{fill}> : tensor<f16>
  %s4 = linalg.generic {{indexing_maps = [affine_map<(a, b, m, j) -> (m, j)>, {maps}, affine_map<(a, b, m, j) -> (a, b, m, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
      ins(%bits, {values} : {mask}, {types}) outs(%ehalf : {kind}) {{
  ^bb0(%x: i1, %y: f16, %z: f16, %out: f16):
    %w = arith.select %x, %y, %z : f16
    linalg.yield %w : f16
  }} -> {kind}
  %x0 ="""
    program = decomposed_program(batch, tokens, heads, size, masked=False)
    before, after = program.split("%x0 =")
    after = after.replace("ins(%s3 :", "ins(%s4 :", 1)
    given = "" if bits else f", %bits: {mask}"
    return f"{before}{selection}{after}".replace(") -> tensor", f"{given}) -> tensor", 1)


def _program(
    arguments: str, lines: list[str], shape: tuple[int, int, int, int], mask: str = ""
) -> str:
    """Return a program that attends to operands %o0 to %o2, and moves the heads of the result behind the tokens."""
    batch, heads, tokens, size = shape
    folded = f"tensor<{batch * heads}x{tokens}x{size}xf16>"
    split, result = (
        f"tensor<{batch}x{at}x{size}xf16>" for at in (f"{heads}x{tokens}", f"{tokens}x{heads}")
    )
    maps, masked, kind = MAPS, "", ""
    if mask:
        wide = f"tensor<{batch}x{heads}x{tokens}x{tokens}x{mask}>"
        masked, kind = ", %mask", f", tensor<{batch * heads}x{tokens}x{tokens}x{mask}>"
        maps = MAPS.replace("()>,", "()>, affine_map<(a, m, n, k, j) -> (a, m, j)>,")
        chosen = f"%z = arith.select %y, %zero, %least : {mask}" if mask != "i1" else ""
        numbers = (f"0.0 : {mask}", "0xFC00 : f16") if mask == "f16" else (f"0 : {mask}",) * 2
        lines += [
            *(
                f"%{name} = arith.constant {at}"
                for name, at in zip(("zero", "least"), numbers, strict=True)
            ),
            f"%w0 = tensor.empty() : {wide}",
            f"%w1 = linalg.fill ins(%zero : {mask}) outs(%w0 : {wide}) -> {wide}",
            "%w2 = linalg.generic {indexing_maps = [affine_map<(a, b, m, j) -> (a, b, m, j)>],",
            '  iterator_types = ["parallel", "parallel", "parallel", "parallel"]}',
            f"  outs(%w1 : {wide}) {{",
            f"^bb0(%in: {mask}):",
            "  %row = linalg.index 2 : index",
            "  %column = linalg.index 3 : index",
            "  %y = arith.cmpi sge, %row, %column : index",
            *[f"  {chosen}"] * (mask != "i1"),
            f"  linalg.yield {'%y' if mask == 'i1' else '%z'} : {mask}",
            f"}} -> {wide}",
            f"%mask = tensor.collapse_shape %w2 [[0, 1], [2], [3]] : {wide} into {kind[2:]}",
        ]
    text = "\n  ".join(lines)
    return f"""util.func public @main({arguments}) -> {result} {{
  {text}
  %scale = arith.constant 0.3 : f32
  %empty = tensor.empty() : {folded}
  %r = iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}>
      ins(%o0, %o1, %o2, %scale{masked} : {folded}, {folded}, {folded}, f32{kind}) outs(%empty : {folded}) {{
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  }} -> {folded}
  %heads = tensor.expand_shape %r [[0, 1], [2], [3]] output_shape [{batch}, {heads}, {tokens}, {size}] : {folded} into {split}
  %last = tensor.empty() : {result}
  %moved = linalg.transpose ins(%heads : {split}) outs(%last : {result}) permutation = [0, 2, 1, 3]
  util.return %moved : {result}
}}"""


def attended(  # noqa: PLR0917
    query: Any, key: Any, value: Any, scale: float, mask: Any = None, bias: Any = 0
) -> Any:
    """Return the result in f64 for queries, keys and values of (batch, tokens, heads, size), a mask of zeros and ones, and a bias."""
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    scores = np.einsum("amhk,ajhk->ahmj", query, key) * scale + bias
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("ahmj,ajhn->amhn", weights, value)
