"""The sources of kernels in Triton. Sizes and strides are numbers in them; a part that a problem does not need is left out."""

from __future__ import annotations

from dataclasses import replace
from math import inf, prod
from typing import TYPE_CHECKING, Final

from tuninglink.kernels.problems import ProductProblem
from tuninglink.kernels.steps import ELEMENTS
from tuninglink.replacing import LOOPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.kernels.attentions import ScaledAttention
    from tuninglink.kernels.layouts import Dimension
    from tuninglink.kernels.problems import Windows

_LOG2E: Final = 1.4426950408889634
_LEAST_SCORE: Final = -3e38
"""What takes the place of a score, at least: finite, as all keys of a query may have it."""

_LEAST: Final = 16
"""The smallest size of a product in Triton."""

_HEAD: Final = "import triton\nimport triton.language as tl\n\n\n"

COMBINED: Final = 128
"""The columns of a block that adds up sums."""


def strides(problem: ProductProblem | ScaledAttention, number: int) -> Mapping[str, int]:
    """Return the distance of elements along each loop of an operand; 0 along others, and along batches of an attention."""
    sizes, (loops, _) = problem.loop_sizes, problem.operands[number]
    if not isinstance(problem, ProductProblem):
        dimensions, _ = problem.layouts[number]
        return {
            loop: dimensions[loop][0][1] if loop in dimensions and loop in LOOPS else 0
            for loop in sizes
        }
    own = {loop: prod(sizes[at] for at in loops[number + 1 :]) for number, loop in enumerate(loops)}
    return {loop: own.get(loop, 0) for loop in sizes}


def _offsets(pairs: Sequence[tuple[str, int]]) -> str:
    """Return offsets of a tile from expressions of positions and their strides."""
    terms = [f"{at} * {stride}" if stride != 1 else at for at, stride in pairs if stride]
    return " + ".join(terms) or "0"


def _pointers(problem: ProductProblem | ScaledAttention, names: Sequence[str]) -> list[str]:
    """Return lines that move the pointers of operands to the part of a block."""
    sizes, lines = problem.loop_sizes, list[str]()
    for number, name in enumerate(names):
        if isinstance(problem, ProductProblem):
            own, offset = dict(strides(problem, number)), 0
            if name == "a" and own.get("a") and problem.windows:
                own["a"] = prod(problem.windows.image)
            dimensions: Mapping[str, Dimension] = {at: ((sizes[at], own[at]),) for at in sizes}
        else:
            dimensions, offset = problem.layouts[number]
        terms, inner = list[str](), 1
        for loop in [loop for loop in reversed(problem.operands[-1][0]) if loop not in "mn"]:
            for size, stride in reversed(dimensions.get(loop, ((sizes[loop], 0),))):
                if stride and size > 1:
                    at = f"batch // {inner}" if inner > 1 else "batch"
                    terms.append(f"({at}) % {size} * {stride}")
                inner *= size
        terms += [str(offset)] if offset else []
        lines += [f"{name} += {' + '.join(terms)}"] if terms else []
    return lines if not lines else ["batch = tl.program_id(1).to(tl.int64)", *lines]


def _masked(conditions: Sequence[str], zero: str = "0") -> str:
    """Return the mask of a load or a store; empty without conditions."""
    mask = f", mask={' & '.join(conditions)}" + (f", other={zero}" if zero else "")
    return mask if conditions else ""


def product_source(problem: ProductProblem, name: str, options: Mapping[str, int]) -> str:
    """Return the source of a product of tiles m x n, in steps of k, whose tiles are grouped by g rows.

    With the option z, the steps are divided in as many parts, whose sums the function `NAME_parts` writes to memory. Then the
    function `NAME` adds them up, always in the same order.

    With the option x, a tile has that many more columns: sizes in Triton are powers of two, and tiles of 160 columns, 128 and
    32, may give all processors equal work where those of 128 and 256 do not. With t, the tiles of the operands are loaded with
    tensor descriptors (TMA).
    """
    parts, combined, own_name = options.get("z", 1), "", name
    if parts > 1:
        problem, rest = divided(problem)
        own_name, combined = f"{name}_parts", "\n\n" + _combined_source(rest, name, parts)
    sizes, windows = problem.loop_sizes, problem.windows
    m, n, k = (sizes[loop] for loop in "mnk")
    tile_m, tile_k = options["m"], options["k"]
    widths = [options["n"], *filter(None, [options.get("x")])]
    tile_n = sum(widths)
    names = ["a", "b", *(f"x{number}" for number in range(len(problem.operands) - 3)), "c"]
    # The positions in a tile of rows, and in each part of one of columns; which of them exist if not all do.
    inside = {"m": ["(m < M)[:, None]"] if m % tile_m else []}
    lines = [
        *(f"{loop.upper()}: tl.constexpr = {sizes[loop]}" for loop in "mnk"),
        *_pointers(problem, names),
        "tile = tl.program_id(0)",
        f"rows: tl.constexpr = {-(-m // tile_m)}",
        f"columns: tl.constexpr = {-(-n // tile_n)}",
        "# Blocks that run at the same time work on few rows and columns.",
        f"first = tile // ({options['g']} * columns) * {options['g']}",
        f"height = tl.minimum(rows - first, {options['g']})",
        f"row = (first + tile % ({options['g']} * columns) % height) * {tile_m}",
        f"column = tile % ({options['g']} * columns) // height * {tile_n}",
        f"m = row + tl.arange(0, {tile_m})",
        f"k = tl.arange(0, {tile_k})",
    ]
    loop = [f"for start in range(0, K, {tile_k}):"]
    if parts > 1:
        length = -(-k // (tile_k * parts)) * tile_k
        size = prod(sizes[loop] for loop in problem.operands[-1][0])
        lines.append(f"begin = tl.program_id(2) * {length}")
        lines.append(f"c += tl.program_id(2) * {size}")
        loop = [f"for step in range(0, {length}, {tile_k}):", "    start = begin + step"]
    distance = ""
    if windows is not None:
        pixels, distance = _window_offsets(windows)
        lines.append(pixels)
    sums, given, zero = _multiplication(problem.operands[0][1], tile_k)
    tiles, products = [("a", "mk", "row", "m", tile_m)], list[str]()
    for part, width in enumerate(widths):
        place = f"column + {widths[0]}" if part else "column"
        lines.append(f"n{part} = {place} + tl.arange(0, {width})")
        lines.append(f"sums{part} = tl.zeros(({tile_m}, {width}), {sums})")
        inside[f"n{part}"] = [f"(n{part} < N)[None, :]"] if n % tile_n else []
        tiles.append((f"b{part}", "kn", place, f"n{part}", width))
        products.append(f"sums{part} = tl.dot(a_tile, b{part}_tile, sums{part}{given})")
    # Before the loop: where the tiles of operands are. In the loop: loads, then products, then moves.
    loads, moves = list[str](), list[str]()
    for tile, usual, place, at, width in tiles:
        loops = problem.operands[tile != "a"][0]
        if options["t"]:
            # The last dimension of a descriptor is contiguous.
            two = loops[-2:]
            block = ", ".join(str(tile_k if loop == "k" else width) for loop in two)
            where = ", ".join("start" if loop == "k" else place for loop in two)
            made = f"{tile[0]}, [{sizes[two[0]]}, {sizes[two[1]]}], [{sizes[two[1]]}, 1], [{block}]"
            lines.append(f"{tile}_tiles = tl.make_tensor_descriptor({made})")
            turned = "" if two == usual else ".T"
            loads.append(f"{tile}_tile = {tile}_tiles.load([{where}]){turned}")
            continue
        own = strides(problem, tile != "a")
        first, last = (("k" if loop == "k" else at, own[loop]) for loop in usual)
        offsets = _offsets([(f"{first[0]}[:, None]", first[1]), (f"{last[0]}[None, :]", last[1])])
        side = "[None, :]" if tile == "a" else "[:, None]"
        masks = [*inside[at], *([f"(k < K - start){side}"] if k % (tile_k * parts) else [])]
        if tile == "a" and windows is not None:
            loads.append(f"{tile}p = a + pixel[:, None] + {distance}")
        else:
            lines.append(f"{tile}p = {tile[0]} + {offsets}")
            lines += [f"{tile}p += {_offsets([('begin', own['k'])])}"] if parts > 1 else []
            moves.append(f"{tile}p += {tile_k * own['k']}")
        loads.append(f"{tile}_tile = tl.load({tile}p{_masked(masks, zero)})")
    lines += loop
    lines += [f"    {line}" for line in (*loads, *products, *moves)]
    for part in range(len(widths)):
        lines += _results(problem, names, part, inside["m"], inside[f"n{part}"])
    return f"{_HEAD}{_function(own_name, names, lines)}{combined}"


def _multiplication(kind: str, tile_k: int) -> tuple[str, str, str]:
    """Return the type of sums of products of a type, further arguments of products, and the value of what does not exist."""
    if kind == "i8":
        return "tl.int32", ", out_dtype=tl.int32", "0"
    if kind.startswith("f8"):
        # Sums of tensor cores have few bits: they are added to others after as many products. An integer is not converted.
        return "tl.float32", f", max_num_imprecise_acc={min(tile_k, 128)}", "0.0"
    return "tl.float32", "", "0"


def _window_offsets(windows: Windows) -> tuple[str, str]:
    """Return a line with the first element of each window, and the distances of elements `start + k` of a window from it.

    Unless windows are planar, a step has channels of one pixel.
    """
    (height, width, channels), (rows, columns) = windows.image, windows.window
    element, at = (1, "(start + k)") if windows.is_planar else (channels, f"start // {channels}")
    row = f"{at} % {rows * columns} // {columns}" if windows.is_planar else f"{at} // {columns}"
    (down, right), (lower, later) = windows.strides, windows.dilations
    first = f"pixel = m // {windows.columns} * {down * width * element}"
    first += f" + m % {windows.columns} * {right * element}"
    inside = f"{row} * {lower * width * element} + {at} % {columns} * {later * element}"
    if windows.is_planar:
        return first, f"({at} // {rows * columns} * {height * width} + {inside})[None, :]"
    return first, f"k[None, :] + ({inside} + start % {channels})"


def _function(name: str, names: Sequence[str], lines: Sequence[str]) -> str:
    """Return the source of a function with parameters."""
    return f"@triton.jit\ndef {name}({', '.join(names)}):\n" + "".join(
        f"    {at}\n" for at in lines
    )


def divided(problem: ProductProblem) -> tuple[ProductProblem, ProductProblem]:
    """Return the product of a part of k, and what is computed from the sum of all parts, its first operand."""
    contraction = problem.contraction
    (left, right, output), (*factors, result) = contraction.operands, contraction.types
    kind = "i32" if factors[0] == "i8" else "f32"
    sums = "".join(loop for loop in output if loop not in "mn") + "mn"
    part = replace(contraction, operands=(left, right, sums), types=(*factors, kind))
    rest = replace(contraction, operands=(sums, "", output), types=(kind, kind, result))
    return replace(problem, contraction=part, steps=()), replace(problem, contraction=rest)


def _combined_source(problem: ProductProblem, name: str, parts: int) -> str:
    """Return the source of a function that adds up the sums of parts of k, and computes the ops after a product.

    A block has `COMBINED` columns of a row.
    """
    sizes, own = problem.loop_sizes, strides(problem, 0)
    names = ["p", "", *(f"x{number}" for number in range(len(problem.operands) - 3)), "c"]
    inside = ["(n0 < N)[None, :]"] if sizes["n"] % COMBINED else []
    lines = [
        f"N: tl.constexpr = {sizes['n']}",
        *_pointers(problem, names),
        "tile = tl.program_id(0)",
        f"columns: tl.constexpr = {-(-sizes['n'] // COMBINED)}",
        "m = tile // columns + tl.arange(0, 1)",
        f"n0 = tile % columns * {COMBINED} + tl.arange(0, {COMBINED})",
        f"p += {_offsets([('m[:, None]', own['m']), ('n0[None, :]', own['n'])])}",
        f"sums0 = tl.load(p{_masked(inside)})",
    ]
    size = prod(sizes[loop] for loop in problem.operands[0][0])
    lines += [f"sums0 += tl.load(p + {part * size}{_masked(inside)})" for part in range(1, parts)]
    lines += _results(problem, names, 0, [], inside)
    return _function(name, [own_name for own_name in names if own_name], lines)


def _results(
    problem: ProductProblem, names: Sequence[str], part: int, out_m: list[str], out_n: list[str]
) -> list[str]:
    """Return lines with the ops after a product on a part of a tile, which store their result."""
    kind, pending = problem.contraction.types[2], []
    # Where the elements of each operand and of the result are, and which exist.
    for number, pointer in enumerate(names[2:], 2):
        own = strides(problem, number)
        offsets = _offsets([("m[:, None]", own["m"]), (f"n{part}[None, :]", own["n"])])
        exist = [*(out_m if own["m"] else []), *(out_n if own["n"] else [])]
        pending.append((pointer, offsets, exist))
    lines = [f"value0 = sums{part}.to({ELEMENTS[kind]})"]
    for number, step in enumerate(problem.steps, 1):
        inputs, chained = [], dict(step.chained)
        for at in range(len(step.inputs)):
            if at in chained:
                inputs.append(f"value{chained[at]}")
                continue
            pointer, offsets, exist = pending.pop(0)
            inputs.append(f"{pointer}t")
            lines.append(f"{pointer}t = tl.load({pointer} + {offsets}{_masked(exist)})")
        lines += step.code(f"y{number}_", inputs)
        lines.append(f"value{number} = y{number}_")
    ((pointer, offsets, exist),) = pending
    stored = f"value{len(problem.steps)}.to({ELEMENTS[problem.operands[-1][1]]})"
    return [*lines, f"tl.store({pointer} + {offsets}, {stored}{_masked(exist, '')})"]


def splits(size: int) -> tuple[int, ...]:
    """Return powers of two, at least 16 each, that hold a number of features: 72 in 64 and 16, 100 in 128."""
    largest = max(_LEAST, 1 << (size - 1).bit_length())
    half = largest // 2
    rest = max(_LEAST, 1 << max(0, size - half - 1).bit_length())
    return (half, rest) if half >= _LEAST and half + rest < largest and size > half else (largest,)


def attention_source(problem: ScaledAttention, name: str, options: Mapping[str, int]) -> str:
    """Return the source of an attention whose blocks have m queries, and take j keys at a time.

    Features and values are split in powers of two, such as 72 in 64 and 16. Keys that are left, fewer than j, are taken after
    the loop, so that it has no masks for them. Tensor descriptors (TMA) have not been faster.
    """
    sizes = problem.loop_sizes
    tile_m, tile_j = options["m"], options["j"]
    _, _, _, *masks, (_, element) = problem.operands
    names = ["q", "k", "v", *(f"x{number}" for number in range(len(masks))), "o"]
    q, o = strides(problem, 0), strides(problem, len(names) - 1)
    out_m = ["(m < M)[:, None]"] if sizes["m"] % tile_m else []
    # Blocks that have the most keys begin.
    last = -(-sizes["m"] // tile_m) - 1
    row = f"({last} - tl.program_id(0))" if problem.is_causal else "tl.program_id(0)"
    lines = [
        *(f"{loop.upper()}: tl.constexpr = {sizes[loop]}" for loop in "mj"),
        *_pointers(problem, names),
        f"row = {row} * {tile_m}",
        f"m = row + tl.arange(0, {tile_m})",
    ]
    for loop in "kn":
        for number, (first, width, _) in enumerate(_parts(problem, loop)):
            lines.append(f"{loop}{number} = {first} + tl.arange(0, {width})")
    for number, (_, _, exist) in enumerate(_parts(problem, "k")):
        offsets = _offsets([("m[:, None]", q["m"]), (f"k{number}[None, :]", q["k"])])
        conditions = [*out_m, *(f"({one})[None, :]" for one in exist)]
        lines.append(f"q{number} = tl.load(q + {offsets}{_masked(conditions)})")
    for number, (_, width, _) in enumerate(_parts(problem, "n")):
        lines.append(f"sums{number} = tl.zeros(({tile_m}, {width}), tl.float32)")
    lines += [
        f'most = tl.full(({tile_m},), float("-inf"), tl.float32)',
        f"total = tl.zeros(({tile_m},), tl.float32)",
    ]
    left = sizes["j"] % tile_j
    whole = sizes["j"] - left
    if problem.is_causal:
        # All queries attend to all keys of the first tiles, and none to those of tiles that are left out.
        lines.append(f"shared = tl.minimum((row + 1) // {tile_j} * {tile_j}, {whole})")
        for begin, end, exist in (
            ("0", "shared", list[str]()),
            ("shared", f"tl.minimum(row + {tile_m}, J)", ["j < J"] if left else []),
        ):
            lines.append(f"for start in range({begin}, {end}, {tile_j}):")
            taken = _taken(problem, tile_m, "start", tile_j, exist, is_first=begin == "0")
            lines += [f"    {line}" for line in taken]
        whole = left = 0
    if whole:
        lines.append(f"for start in range(0, {whole}, {tile_j}):")
        lines += [f"    {line}" for line in _taken(problem, tile_m, "start", tile_j, [])]
    if left:
        width = max(_LEAST, 1 << (left - 1).bit_length())
        lines += _taken(problem, tile_m, str(whole), width, ["j < J"] if left < width else [])
    for number, (_, _, exist) in enumerate(_parts(problem, "n")):
        offsets = _offsets([("m[:, None]", o["m"]), (f"n{number}[None, :]", o["n"])])
        conditions = [*out_m, *(f"({one})[None, :]" for one in exist)]
        stored = f"(sums{number} / total[:, None]).to({ELEMENTS[element]})"
        lines.append(f"tl.store(o + {offsets}, {stored}{_masked(conditions, '')})")
    return f"{_HEAD}{_function(name, names, lines)}"


def _parts(problem: ScaledAttention, loop: str) -> list[tuple[int, int, list[str]]]:
    """Return the parts of features or values: the first position, the width, and which of them exist if not all do."""
    parts, first, size = list[tuple[int, int, list[str]]](), 0, problem.loop_sizes[loop]
    for number, width in enumerate(splits(size)):
        parts.append((first, width, [f"{loop}{number} < {size}"] if first + width > size else []))
        first += width
    return parts


def _taken(
    problem: ScaledAttention,
    tile_m: int,
    start: str,
    width: int,
    out_j: list[str],
    *,
    is_first: bool = True,
) -> list[str]:
    """Return lines that take a number of keys and their values from a start on, of which not all may exist.

    Of a causal attention, all queries attend to the keys of the first tiles.
    """
    _, _, (_, kind), *masks, _ = problem.operands
    k, v = strides(problem, 1), strides(problem, 2)
    lines = [f"j = {start} + tl.arange(0, {width})"]

    for number, (_, _, exist) in enumerate(_parts(problem, "k")):
        offsets = _offsets([(f"k{number}[:, None]", k["k"]), ("j[None, :]", k["j"])])
        conditions = [f"({one})[:, None]" for one in exist] + [f"({one})[None, :]" for one in out_j]
        lines.append(f"y = tl.load(k + {offsets}{_masked(conditions)})")
        lines.append(f"s = tl.dot(q{number}, y{', s' if number else ''})")
    # Scores that a mask does not change are scaled in the exponent.
    scaled = f" * {problem.scale * _LOG2E!r}"
    selections = problem.selections or ((True, -inf),) * len(masks)
    fills = [max(fill * _LOG2E, _LEAST_SCORE) if fill > -inf else fill for _, fill in selections]
    if problem.scale <= 0 or any(
        mask_kind != "i1" or fill > -inf for (_, mask_kind), fill in zip(masks, fills, strict=True)
    ):
        lines.append(f"s = s{scaled}")
        scaled = ""
    # What is added to scores last is the first mask.
    for number, (_, mask_kind) in reversed([*enumerate(masks)]):
        x = strides(problem, 3 + number)
        offsets = _offsets([("m[:, None]", x["m"]), ("j[None, :]", x["j"])])
        conditions = ["(m < M)[:, None]"] if x["m"] and problem.loop_sizes["m"] % tile_m else []
        conditions += [f"({one})[None, :]" for one in out_j if x["j"]]
        loaded = f"tl.load(x{number} + {offsets}{_masked(conditions)})"
        if mask_kind == "i1":  # a byte for each element
            sign = "!=" if selections[number][0] else "=="
            lines.append(f's = tl.where({loaded} {sign} 0, s, float("{fills[number]!r}"))')
        else:
            lines.append(f"s += {loaded}.to(tl.float32) * {_LOG2E}")
            # A row of the least number of a wide type is one of equal scores.
            lines += [] if mask_kind == "f16" else [f"s = tl.maximum(s, {_LEAST_SCORE})"]
    lines += [f's = tl.where(({one})[None, :], s, float("-inf"))' for one in out_j]
    lines += [] if is_first else ['s = tl.where(j[None, :] <= m[:, None], s, float("-inf"))']
    lines.append(f"peak = tl.maximum(most, tl.max(s, 1){scaled})")
    # Where all keys so far are excluded, nothing is subtracted: a sum of 0 stays 0.
    lines += ['base = tl.where(peak == float("-inf"), 0.0, peak)'] if masks else ["base = peak"]
    lines += [
        f"p = tl.exp2(s{scaled} - base[:, None])",
        "shrink = tl.exp2(most - base)",
        "total = total * shrink + tl.sum(p, 1)",
        "most = peak",
        f"p = p.to({ELEMENTS[kind]})",
    ]
    for number, (_, _, exist) in enumerate(_parts(problem, "n")):
        offsets = _offsets([("j[:, None]", v["j"]), (f"n{number}[None, :]", v["n"])])
        conditions = [f"({one})[:, None]" for one in out_j] + [f"({one})[None, :]" for one in exist]
        lines.append(f"y = tl.load(v + {offsets}{_masked(conditions)})")
        lines.append(f"sums{number} = tl.dot(p, y, sums{number} * shrink[:, None])")
    return lines
