"""The sources of kernels in Triton. Sizes and strides are numbers in them; a part that a problem does not need is left out."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from tuninglink.kernels.problems import ProductProblem
from tuninglink.kernels.steps import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tuninglink.kernels.problems import ScaledAttention, Windows

_LOG2E: Final = 1.4426950408889634
_LEAST: Final = 16
"""The smallest size of a product in Triton."""

_HEAD: Final = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"


def strides(problem: ProductProblem | ScaledAttention, loops: str) -> Mapping[str, int]:
    """Return the distance of elements along each loop of a contiguous operand; 0 along others."""
    sizes = problem.loop_sizes
    own = {loop: prod(sizes[at] for at in loops[number + 1 :]) for number, loop in enumerate(loops)}
    return {loop: own.get(loop, 0) for loop in sizes}


def _batch_offset(
    problem: ProductProblem | ScaledAttention, loops: str, windows: Windows | None = None
) -> str:
    """Return the offset of the part of an operand that a block works on, `batch` being its number; empty for 0."""
    sizes, own = problem.loop_sizes, strides(problem, loops)
    if windows is not None and "a" in loops:
        own = {**own, "a": prod(windows.image)}
    output = problem.operands[-1][0]
    terms, inner = [], 1
    for loop in [loop for loop in reversed(output) if loop not in "mn"]:
        if own[loop] and sizes[loop] > 1:
            at = f"batch // {inner}" if inner > 1 else "batch"
            terms.append(f"({at}) % {sizes[loop]} * {own[loop]}")
        inner *= sizes[loop]
    return " + ".join(terms)


def _offsets(pairs: Sequence[tuple[str, int]]) -> str:
    """Return offsets of a tile from expressions of positions and their strides."""
    terms = [f"{at} * {stride}" if stride != 1 else at for at, stride in pairs if stride]
    return " + ".join(terms) or "0"


def _pointers(problem: ProductProblem | ScaledAttention, names: Sequence[str]) -> list[str]:
    """Return lines that move the pointers of operands to the part of a block."""
    lines = []
    windows = problem.windows if isinstance(problem, ProductProblem) else None
    for name, (loops, _) in zip(names, problem.operands, strict=True):
        if offset := _batch_offset(problem, loops, windows if name == names[0] else None):
            lines.append(f"{name} += {offset}")
    return lines if not lines else ["batch = tl.program_id(1).to(tl.int64)", *lines]


def _masked(conditions: Sequence[str], *, zero: bool = True) -> str:
    """Return the mask of a load or a store; empty without conditions."""
    if not conditions:
        return ""
    return f", mask={' & '.join(conditions)}" + (", other=0" if zero else "")


def _windows(windows: Windows | None) -> list[str]:
    """Return a line that finds the first element of each window."""
    if windows is None:
        return []
    (_, width, channels), (down, right) = windows.image, windows.strides
    rows = f"m // {windows.columns} * {down * width * channels}"
    return [f"pixel = {rows} + m % {windows.columns} * {right * channels}"]


def _distance(windows: Windows) -> str:
    """Return the distance of the element `start` of a window from the first one."""
    (_, width, channels), (down, right) = windows.image, windows.dilations
    pixel, columns = f"start // {channels}", windows.window[-1]
    terms = [f"{pixel} // {columns} * {down * width * channels}"]
    terms += [f"{pixel} % {columns} * {right * channels}", f"start % {channels}"]
    return " + ".join(terms)


def product_source(problem: ProductProblem, name: str, options: Mapping[str, int]) -> str:
    """Return the source of a product of tiles m x n, in steps of k, whose tiles are grouped by g rows.

    With the option t, the tiles of the operands are loaded with tensor descriptors (TMA).
    """
    sizes, windows = problem.loop_sizes, problem.windows
    m, n, k = (sizes[loop] for loop in "mnk")
    tile_m, tile_n, tile_k = (options[loop] for loop in "mnk")
    lhs, rhs = (loops for loops, _ in problem.operands[:2])
    output, element = problem.operands[-1]
    extra = [f"x{number}" for number in range(len(problem.operands) - 3)]
    names = ["a", "b", *extra, "c"]
    out_m = ["(m < M)[:, None]"] if m % tile_m else []
    out_n = ["(n < N)[None, :]"] if n % tile_n else []
    out_k = ["k < K - start"] if k % tile_k else []
    lines = [
        f"M: tl.constexpr = {m}",
        f"N: tl.constexpr = {n}",
        f"K: tl.constexpr = {k}",
        *_pointers(problem, names),
        "tile = tl.program_id(0)",
        f"rows: tl.constexpr = {-(-m // tile_m)}",
        f"columns: tl.constexpr = {-(-n // tile_n)}",
        "# Blocks that run at the same time work on few rows and columns.",
        f"first = tile // ({options['g']} * columns) * {options['g']}",
        f"height = tl.minimum(rows - first, {options['g']})",
        f"row = first + tile % ({options['g']} * columns) % height",
        f"column = tile % ({options['g']} * columns) // height",
        f"m = row * {tile_m} + tl.arange(0, {tile_m})",
        f"n = column * {tile_n} + tl.arange(0, {tile_n})",
    ]
    sums = f"sums = tl.zeros(({tile_m}, {tile_n}), tl.float32)"
    loop = f"for start in range(0, K, {tile_k}):"
    if options["t"]:
        # The last dimension of a descriptor is contiguous.
        places = {"m": f"row * {tile_m}", "n": f"column * {tile_n}", "k": "start"}
        tiles = {"m": tile_m, "n": tile_n, "k": tile_k}
        for pointer, loops in (("a", lhs), ("b", rhs)):
            two = loops[-2:]
            shape, block = (", ".join(str(at[loop]) for loop in two) for at in (sizes, tiles))
            lines.append(
                f"{pointer}_tiles = tl.make_tensor_descriptor({pointer}, [{shape}], [{sizes[two[1]]}, 1], [{block}])"
            )
        lines += [sums, loop]
        for pointer, loops, usual in (("a", lhs, "mk"), ("b", rhs, "kn")):
            where = ", ".join(places[loop] for loop in loops[-2:])
            turned = "" if loops[-2:] == usual else ".T"
            lines.append(f"    {pointer}_tile = {pointer}_tiles.load([{where}]){turned}")
    else:
        a, b = strides(problem, lhs), strides(problem, rhs)
        lines += [
            f"k = tl.arange(0, {tile_k})",
            *_windows(windows),
            f"ap = a + {_offsets([('m[:, None]', a['m']), ('k[None, :]', a['k'])])}",
            f"bp = b + {_offsets([('k[:, None]', b['k']), ('n[None, :]', b['n'])])}",
            sums,
            loop,
            f"    a_tile = tl.load(ap{_masked([*out_m, *(f'({at})[None, :]' for at in out_k)])})",
            f"    b_tile = tl.load(bp{_masked([*out_n, *(f'({at})[:, None]' for at in out_k)])})",
        ]
    lines.append("    sums = tl.dot(a_tile, b_tile, sums)")
    if not options["t"]:
        lines += [f"    ap += {tile_k * a['k']}", f"    bp += {tile_k * b['k']}"]
    if windows is not None:
        # A step has channels of one pixel of each window.
        lines = [line for line in lines if not line.startswith(("ap = ", "    ap += "))]
        address = f"    ap = a + pixel[:, None] + k[None, :] + ({_distance(windows)})"
        lines.insert(lines.index(loop) + 1, address)
    # The ops after the product, on the tile.
    kind = problem.contraction.types[2]
    lines.append("value0 = sums" if kind == "f32" else f"value0 = sums.to({ELEMENTS[kind]})")
    pending = list(zip(extra, problem.operands[2:-1], strict=True))
    for number, step in enumerate(problem.steps, 1):
        inputs, chained = [], dict(step.chained)
        for at in range(len(step.inputs)):
            if at in chained:
                inputs.append(f"value{chained[at]}")
                continue
            pointer, (loops, _) = pending.pop(0)
            own = strides(problem, loops)
            offsets = _offsets([("m[:, None]", own["m"]), ("n[None, :]", own["n"])])
            masks = [*(out_m if own["m"] else []), *(out_n if own["n"] else [])]
            inputs.append(f"{pointer}t")
            lines.append(f"{pointer}t = tl.load({pointer} + {offsets}{_masked(masks)})")
        lines += step.code(f"y{number}_", inputs)
        lines.append(f"value{number} = y{number}_")
    own = strides(problem, output)
    offsets = _offsets([("m[:, None]", own["m"]), ("n[None, :]", own["n"])])
    stored = f"value{len(problem.steps)}.to({ELEMENTS[element]})"
    lines.append(f"tl.store(c + {offsets}, {stored}{_masked([*out_m, *out_n], zero=False)})")
    return f"{_HEAD}def {name}({', '.join(names)}):\n" + "".join(f"    {at}\n" for at in lines)


def splits(size: int) -> tuple[int, ...]:
    """Return powers of two, at least 16 each, that hold a number of features: 72 in 64 and 16, 100 in 128."""
    largest = max(_LEAST, 1 << (size - 1).bit_length())
    half = largest // 2
    rest = max(_LEAST, 1 << max(0, size - half - 1).bit_length())
    return (half, rest) if half >= _LEAST and half + rest < largest and size > half else (largest,)


def attention_source(problem: ScaledAttention, name: str, options: Mapping[str, int]) -> str:
    """Return the source of an attention whose blocks have m queries, and take j keys at a time.

    Features and values are split in powers of two, such as 72 in 64 and 16.
    """
    sizes = problem.loop_sizes
    tile_m, tile_j = options["m"], options["j"]
    (query, _), (key, _), (value, kind), *masks, (output, element) = problem.operands
    names = ["q", "k", "v", *(["x"] if masks else []), "o"]
    log2 = repr(problem.scale * _LOG2E)
    q, k, v, o = (strides(problem, loops) for loops in (query, key, value, output))
    out_m = ["(m < M)[:, None]"] if sizes["m"] % tile_m else []
    out_j = ["j < J"] if sizes["j"] % tile_j else []
    lines = [
        f"M: tl.constexpr = {sizes['m']}",
        f"J: tl.constexpr = {sizes['j']}",
        *_pointers(problem, names),
        f"m = tl.program_id(0) * {tile_m} + tl.arange(0, {tile_m})",
    ]

    def part(loop: str, number: int, parts: Sequence[int]) -> list[str]:
        """Add the positions in a part of the features or values, and return which of them exist if not all do."""
        start = sum(parts[:number])
        lines.append(f"{loop}{number} = {start} + tl.arange(0, {parts[number]})")
        inside = start + parts[number] <= sizes[loop]
        return [] if inside else [f"{loop}{number} < {sizes[loop]}"]

    features, values = splits(sizes["k"]), splits(sizes["n"])
    out_k, out_n = list[list[str]](), list[list[str]]()
    for number in range(len(features)):
        out_k.append(part("k", number, features))
        offsets = _offsets([("m[:, None]", q["m"]), (f"k{number}[None, :]", q["k"])])
        conditions = [*out_m, *(f"({one})[None, :]" for one in out_k[number])]
        lines.append(f"q{number} = tl.load(q + {offsets}{_masked(conditions)})")
    for number in range(len(values)):
        out_n.append(part("n", number, values))
        lines.append(f"sums{number} = tl.zeros(({tile_m}, {values[number]}), tl.float32)")
    lines += [
        f'most = tl.full(({tile_m},), float("-inf"), tl.float32)',
        f"total = tl.zeros(({tile_m},), tl.float32)",
        f"for start in range(0, J, {tile_j}):",
    ]
    inner = [f"j = start + tl.arange(0, {tile_j})"]
    for number in range(len(features)):
        offsets = _offsets([(f"k{number}[:, None]", k["k"]), ("j[None, :]", k["j"])])
        conditions = [f"({one})[None, :]" for one in out_j]
        conditions += [f"({one})[:, None]" for one in out_k[number]]
        inner.append(f"y = tl.load(k + {offsets}{_masked(conditions)})")
        inner.append(f"s = tl.dot(q{number}, y{', s' if number else ''})")
    inner.append(f"s = s * {log2}")
    if masks:
        ((loops, mask_kind),) = masks
        x = strides(problem, loops)
        offsets = _offsets([("m[:, None]", x["m"]), ("j[None, :]", x["j"])])
        conditions = [*(out_m if x["m"] else []), *(f"({at})[None, :]" for at in out_j if x["j"])]
        loaded = f"tl.load(x + {offsets}{_masked(conditions)})"
        if mask_kind == "i1":  # a byte for each element, 1 for a key that counts
            inner.append(f's = tl.where({loaded} != 0, s, float("-inf"))')
        else:
            inner.append(f"s += {loaded}.to(tl.float32) * {_LOG2E}")
    inner += [f's = tl.where(({one})[None, :], s, float("-inf"))' for one in out_j]
    inner.append("peak = tl.maximum(most, tl.max(s, 1))")
    # Where all keys so far are excluded, nothing is subtracted: a sum of 0 stays 0.
    inner += ['base = tl.where(peak == float("-inf"), 0.0, peak)'] if masks else ["base = peak"]
    inner += [
        "p = tl.exp2(s - base[:, None])",
        "shrink = tl.exp2(most - base)",
        "total = total * shrink + tl.sum(p, 1)",
        "most = peak",
        f"p = p.to({ELEMENTS[kind]})",
    ]
    for number in range(len(values)):
        offsets = _offsets([("j[:, None]", v["j"]), (f"n{number}[None, :]", v["n"])])
        conditions = [f"({one})[:, None]" for one in out_j]
        conditions += [f"({one})[None, :]" for one in out_n[number]]
        inner += [
            f"y = tl.load(v + {offsets}{_masked(conditions)})",
            f"sums{number} = tl.dot(p, y, sums{number} * shrink[:, None])",
        ]
    lines += [f"    {line}" for line in inner]
    for number in range(len(values)):
        offsets = _offsets([("m[:, None]", o["m"]), (f"n{number}[None, :]", o["n"])])
        conditions = [*out_m, *(f"({one})[None, :]" for one in out_n[number])]
        stored = f"(sums{number} / total[:, None]).to({ELEMENTS[element]})"
        lines.append(f"tl.store(o + {offsets}, {stored}{_masked(conditions, zero=False)})")
    return f"{_HEAD}def {name}({', '.join(names)}):\n" + "".join(f"    {at}\n" for at in lines)
