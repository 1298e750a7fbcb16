"""Random programs around one contraction, convolution or attention, to compare what matchers see in them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

ELEMENTS = (
    ("f32", "f32", "f32"),
    ("f16", "f16", "f32"),
    ("f16", "f16", "f16"),
    ("bf16", "bf16", "f32"),
    ("i8", "i8", "i32"),
    ("f16", "f32", "f32"),
)
SIZES = (1, 1, 2, 3, 4, 8, 16, 16, 32, 64, 128, 48)
NARROWER = {"f32": ("f16", "bf16"), "f16": ("i8", "i4", "i1"), "i32": ("i8", "i4", "i1"), "i8": ("i4", "i1"), "bf16": ("i8",)}  # fmt: skip


@dataclass
class _Function:
    """A function in the making."""

    random: Random
    arguments: list[str]
    lines: list[str]
    count: int = 0

    def argument(self, kind: str) -> str:
        self.arguments.append(f"%arg{len(self.arguments)}: {kind}")
        return f"%arg{len(self.arguments) - 1}"

    def add(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return f"%v{self.count}"


def tensor(sizes: list[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in sizes)}{element}>"


def cast(source: str, target: str, value: str) -> str:
    """Return the text that converts a scalar."""
    if source == target:
        return f"arith.select %true, {value}, {value} : {source}"
    if source[0] == "i":
        if target[0] != "i":
            return f"arith.uitofp {value} : {source} to {target}"
        return f"arith.extsi {value} : {source} to {target}"
    return f"arith.extf {value} : {source} to {target}"


def random_program(random: Random, *, formed: bool) -> str:
    """Return a module with one function.

    Args:
        random: where choices come from.
        formed: whether all of it is put into one dispatch, where else the compiler forms dispatches.
    """
    function = _Function(random, [], [])
    piece = random.choice((_contraction, _contraction, _contraction, _convolution, _attention))
    value, sizes, element = piece(function)
    for _ in range(random.randint(0, 2)):
        value, element = _elementwise(function, value, sizes, element)
    if random.random() < 0.15 and len(sizes) > 1:
        kind, flat = tensor(sizes, element), tensor([sizes[0] * sizes[1], *sizes[2:]], element)
        rest = "".join(f", [{n}]" for n in range(2, len(sizes)))
        value = function.add(f"tensor.collapse_shape {value} [[0, 1]{rest}] : {kind} into {flat}")
        sizes = [sizes[0] * sizes[1], *sizes[2:]]
    result = tensor(sizes, element)
    body = "\n".join(function.lines)
    if formed:
        body = f"  %all = flow.dispatch.region -> ({result}) {{\n{body}\n  flow.return {value} : {result}\n  }}"
        value = "%all"
    return (
        f"func.func @main({', '.join(function.arguments)}) -> {result} {{\n{body}\n"
        f"  return {value} : {result}\n}}"
    )


def _zero(function: _Function, sizes: list[int], element: str) -> str:
    zero = function.add(f"arith.constant {'0' if element[0] == 'i' else '0.0'} : {element}")
    empty = function.add(f"tensor.empty() : {tensor(sizes, element)}")
    kind = tensor(sizes, element)
    return function.add(f"linalg.fill ins({zero} : {element}) outs({empty} : {kind}) -> {kind}")


def _operand(function: _Function, sizes: list[int], element: str) -> str:
    """Return a tensor: an argument, or one converted from a narrower type, or reshaped."""
    random = function.random
    choice = random.random()
    if choice < 0.3 and element in NARROWER:
        whole_bytes = prod(sizes) % 2 == 0
        narrow = random.choice([t for t in NARROWER[element] if t != "i4" or whole_bytes])
        value = function.argument(tensor(sizes, narrow))
        empty = function.add(f"tensor.empty() : {tensor(sizes, element)}")
        same = _map(len(sizes), range(len(sizes)))
        true = f"    %true = arith.constant true\n    %c = {cast(narrow, element, '%x')}"
        return function.add(
            f"linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = [{_types('p' * len(sizes))}]}}\n"
            f"    ins({value} : {tensor(sizes, narrow)}) outs({empty} : {tensor(sizes, element)}) {{\n"
            f"  ^bb0(%x: {narrow}, %y: {element}):\n{true}\n    linalg.yield %c : {element}\n"
            f"  }} -> {tensor(sizes, element)}"
        )
    if choice < 0.4 and len(sizes) > 1:
        flat = [sizes[0] * sizes[1], *sizes[2:]]
        value = function.argument(tensor(flat, element))
        rest = "".join(f", [{n}]" for n in range(2, len(sizes)))
        return function.add(
            f"tensor.expand_shape {value} [[0, 1]{rest}] output_shape {sizes} : "
            f"{tensor(flat, element)} into {tensor(sizes, element)}"
        )
    return function.argument(tensor(sizes, element))


def _map(count: int, results: range | list[int]) -> str:
    names = ", ".join(f"d{n}" for n in range(count))
    return f"affine_map<({names}) -> ({', '.join(f'd{n}' for n in results)})>"


def _types(letters: str) -> str:
    return ", ".join('"parallel"' if each == "p" else '"reduction"' for each in letters)


def _contraction(function: _Function) -> tuple[str, list[int], str]:
    random = function.random
    lhs_type, rhs_type, out_type = random.choice(ELEMENTS)
    roles = "b" * random.choice((0, 0, 1, 2)) + "m" * random.choice((0, 1, 1, 1, 2))
    roles += "n" * random.choice((0, 1, 1, 1, 2)) + "k" * random.choice((1, 1, 1, 2))
    order = list(roles)
    random.shuffle(order)
    sizes = [random.choice(SIZES) for _ in order]
    if "m" not in order and "n" not in order and "b" not in order:
        order.append("m")
        sizes.append(16)

    def loops(letters: str) -> list[int]:
        found = [n for n, each in enumerate(order) if each in letters]
        random.shuffle(found)
        return found

    at_lhs, at_rhs, at_out = loops("bmk"), loops("bnk"), loops("bmn")
    lhs = _operand(function, [sizes[n] for n in at_lhs], lhs_type)
    rhs = _operand(function, [sizes[n] for n in at_rhs], rhs_type)
    out_sizes = [sizes[n] for n in at_out]
    out = _zero(function, out_sizes, out_type)
    maps = ", ".join(_map(len(order), each) for each in (at_lhs, at_rhs, at_out))
    types = _types("".join("r" if each == "k" else "p" for each in order))
    kinds = [
        tensor([sizes[n] for n in at], t) for at, t in ((at_lhs, lhs_type), (at_rhs, rhs_type))
    ]
    add, multiply = ("addi", "muli") if out_type[0] == "i" else ("addf", "mulf")
    kind = tensor(out_sizes, out_type)
    value = function.add(
        f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{types}]}}\n"
        f"    ins({lhs}, {rhs} : {', '.join(kinds)}) outs({out} : {kind}) {{\n"
        f"  ^bb0(%x: {lhs_type}, %y: {rhs_type}, %z: {out_type}):\n"
        f"    %true = arith.constant true\n"
        + (f"    %wx = {cast(lhs_type, out_type, '%x')}\n" if lhs_type != out_type else "")
        + (f"    %wy = {cast(rhs_type, out_type, '%y')}\n" if rhs_type != out_type else "")
        + f"    %p = arith.{multiply} {'%wx' if lhs_type != out_type else '%x'}, "
        f"{'%wy' if rhs_type != out_type else '%y'} : {out_type}\n"
        f"    %s = arith.{add} %z, %p : {out_type}\n    linalg.yield %s : {out_type}\n  }} -> {kind}"
    )
    return value, out_sizes, out_type


def _convolution(function: _Function) -> tuple[str, list[int], str]:
    random = function.random
    element, _, out_type = random.choice(ELEMENTS[:5])
    if element != out_type:
        element = out_type = "f32"
    n, h, w, f, c = (random.choice((1, 2, 4, 8, 16)) for _ in range(5))
    kh, kw = random.choice(((1, 1), (3, 3), (2, 1)))
    stride = random.choice((1, 2))
    image = [n, (h - 1) * stride + kh, (w - 1) * stride + kw, c]
    filters, out = [kh, kw, c, f], [n, h, w, f]
    value = _operand(function, image, element)
    weights = function.argument(tensor(filters, element))
    zero = _zero(function, out, out_type)
    kind = tensor(out, out_type)
    result = function.add(
        "linalg.conv_2d_nhwc_hwcf {dilations = dense<1> : tensor<2xi64>, "
        f"strides = dense<{stride}> : tensor<2xi64>}}\n"
        f"    ins({value}, {weights} : {tensor(image, element)}, {tensor(filters, element)})"
        f" outs({zero} : {kind}) -> {kind}"
    )
    return result, out, out_type


def _attention(function: _Function) -> tuple[str, list[int], str]:
    random = function.random
    element = random.choice(("f16", "f32"))
    b, m, n, k1, k2 = (random.choice((1, 4, 16, 32, 64, 128)) for _ in range(5))
    query = function.argument(tensor([b, m, k1], element))
    key = function.argument(tensor([b, k2, k1], element))
    value = function.argument(tensor([b, k2, n], element))
    scale = function.add(f"arith.constant 0.125 : {element}")
    empty = function.add(f"tensor.empty() : {tensor([b, m, n], element)}")
    maps = ", ".join(_map(5, each) for each in ([0, 1, 3], [0, 4, 3], [0, 4, 2], [], [0, 1, 2]))
    kinds = [tensor(each, element) for each in ([b, m, k1], [b, k2, k1], [b, k2, n])]
    result = function.add(
        f"iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}>\n"
        f"    ins({query}, {key}, {value}, {scale} : {', '.join(kinds)}, {element})\n"
        f"    outs({empty} : {tensor([b, m, n], element)}) {{\n"
        f"  ^bb0(%s: {element}):\n    iree_linalg_ext.yield %s : {element}\n"
        f"  }} -> {tensor([b, m, n], element)}"
    )
    return result, [b, m, n], element


def _elementwise(
    function: _Function, value: str, sizes: list[int], element: str
) -> tuple[str, str]:
    """Add an operation on every element of a value: to itself, or with a bias."""
    rank = len(sizes)
    same = _map(rank, range(rank))
    kind = tensor(sizes, element)
    empty = function.add(f"tensor.empty() : {kind}")
    add = "addi" if element[0] == "i" else "addf"
    if rank and function.random.random() < 0.5:
        bias = function.argument(tensor(sizes[-1:], element))
        last = _map(rank, [rank - 1])
        return function.add(
            f"linalg.generic {{indexing_maps = [{same}, {last}, {same}], iterator_types = [{_types('p' * rank)}]}}\n"
            f"    ins({value}, {bias} : {kind}, {tensor(sizes[-1:], element)}) outs({empty} : {kind}) {{\n"
            f"  ^bb0(%x: {element}, %y: {element}, %z: {element}):\n    %s = arith.{add} %x, %y : {element}\n"
            f"    linalg.yield %s : {element}\n  }} -> {kind}"
        ), element
    return function.add(
        f"linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = [{_types('p' * rank)}]}}\n"
        f"    ins({value} : {kind}) outs({empty} : {kind}) {{\n"
        f"  ^bb0(%x: {element}, %z: {element}):\n    %s = arith.{add} %x, %x : {element}\n"
        f"    linalg.yield %s : {element}\n  }} -> {kind}"
    ), element
