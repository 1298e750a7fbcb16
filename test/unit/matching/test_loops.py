"""Sizes of loops, as the compiler passes them to matchers of convolutions and attention."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import pytest
from interpreter import apply_spec
from iree.compiler import ir as mlir
from random_matchers import dims, spec_text

from tuninglink.matching import Condition, MatcherReader, exact_condition
from tuninglink.mlir import body, collect, names, symbol_name
from tuninglink.specs import load_spec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tuninglink.matching import Dimension
    from tuninglink.specs import Spec

Shape = list[int | None]
"""The sizes of an operand, None for dynamic ones."""

CONVOLUTION_MAPS = (
    "(n, y, x, f, p, q, c) -> (n, y + p, x + q, c)",
    "(n, y, x, f, p, q, c) -> (f, p, q, c)",
    "(n, y, x, f, p, q, c) -> (n, y, x, f)",
)
CONVOLUTION_ROLES = {
    "batch": "n",
    "image": "yx",
    "channels": "f",
    "filter": "pq",
    "input": "c",
    "depth": "",
}
ATTENTION_MAPS = (
    "(b, m, n, k, l) -> (b, m, k)",
    "(b, m, n, k, l) -> (b, l, k)",
    "(b, m, n, k, l) -> (b, l, n)",
    "(b, m, n, k, l) -> ()",
    "(b, m, n, k, l) -> (b, m, n)",
)
ATTENTION_ROLES = {"batch": "b", "m": "m", "n": "n", "k1": "k", "k2": "l"}


def attribute(maps: tuple[str, ...]) -> str:
    return "[" + ", ".join(f"affine_map<{each}>" for each in maps) + "]"


def random_shapes(chance: random.Random, maps: tuple[str, ...]) -> list[Shape]:
    """Return a shape for each map, with sizes that agree; some dimensions are dynamic."""
    loops = maps[0].partition(" ->")[0].strip("()").split(", ")
    sizes = {loop: chance.choice([2, 3]) for loop in loops}
    shapes = []
    for each in maps:
        results = each.partition("-> (")[2].rstrip(")").split(", ")
        shape = []
        for result in filter(None, results):
            first, _, second = result.partition(" + ")
            size = sizes[first] + (sizes[second] - 1 if second else 0)
            shape.append(size if chance.random() < 0.8 else None)
        shapes.append(shape)
    return shapes


def tensor(shape: Shape, element: str) -> str:
    return (
        "tensor<" + "".join(f"{'?' if size is None else size}x" for size in shape) + f"{element}>"
    )


def convolution(shapes: list[Shape]) -> str:
    image, kernel, out = (tensor(each, "f32") for each in shapes)
    iterators = ", ".join(f'"{each}"' for each in ["parallel"] * 4 + ["reduction"] * 3)
    return f"""(%0: {image}, %1: {kernel}, %2: {out}) -> {out} {{
      %r = linalg.generic {{indexing_maps = {attribute(CONVOLUTION_MAPS)}, iterator_types = [{iterators}]}}
          ins(%0, %1 : {image}, {kernel}) outs(%2 : {out}) {{
      ^bb0(%a: f32, %b: f32, %c: f32):
        %product = arith.mulf %a, %b : f32
        %sum = arith.addf %c, %product : f32
        linalg.yield %sum : f32
      }} -> {out}
      return %r : {out}
    }}"""


def attention(shapes: list[Shape]) -> str:
    query, key, value, _, out = (tensor(each, "f16") for each in shapes)
    return f"""(%0: {query}, %1: {key}, %2: {value}, %3: {out}) -> {out} {{
      %scale = arith.constant 1.0 : f16
      %r = iree_linalg_ext.attention <{{indexing_maps = {attribute(ATTENTION_MAPS)}}}>
          ins(%0, %1, %2, %scale : {query}, {key}, {value}, f16) outs(%3 : {out}) {{
      ^bb0(%score: f32):
        iree_linalg_ext.yield %score : f32
      }} -> {out}
      return %r : {out}
    }}"""


MATCH_CONVOLUTION = f"""
  %batch, %image, %channels, %filter, %input, %depth, %strides, %dilations =
    transform.iree.match.convolution %op, lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = {attribute(CONVOLUTION_MAPS)} : !transform.any_op -> !transform.param<i64>
"""
MATCH_ATTENTION = f"""
  %batch, %m, %n, %k1, %k2 = transform.iree.match.attention %op,
    query_type = f16, key_type = f16, value_type = f16, output_type = f16,
    indexing_maps = {attribute(ATTENTION_MAPS)} : !transform.any_op -> !transform.param<i64>
"""


def sizes_of_loops(condition: Condition, shapes: list[Shape]) -> dict[Dimension, int | None]:
    """Return the size of each loop as a condition names it: that of the first dimension which is it."""
    sizes: dict[Dimension, int | None] = {}
    for (kind, operand, dimension), loop in condition.loops.items():
        if kind == "operand":
            sizes[loop] = shapes[operand][dimension]
    return sizes


@pytest.mark.parametrize(
    ("operation", "maps", "matcher", "roles"),
    [
        (convolution, CONVOLUTION_MAPS, MATCH_CONVOLUTION, CONVOLUTION_ROLES),
        (attention, ATTENTION_MAPS, MATCH_ATTENTION, ATTENTION_ROLES),
    ],
    ids=["convolution", "attention"],
)
def test_loops_are_where_the_compiler_finds_them(
    operation: Callable[[list[Shape]], str],
    maps: tuple[str, ...],
    matcher: str,
    roles: Mapping[str, str],
) -> None:
    chance = random.Random(0)
    shapes = [random_shapes(chance, maps) for _ in range(60)]
    program = "\n".join(
        f"func.func @f{number}{operation(each)}" for number, each in enumerate(shapes)
    )
    hits = 0
    for role, loops in roles.items():
        for wanted in itertools.product([2, 3, -1], repeat=len(loops)):
            fact = dims(role, ", ".join(map(str, wanted)))
            spec = load_spec(spec_text([matcher + fact]).encode())
            condition = exact_condition(MatcherReader(spec.anatomy.table).read("match_0"))
            assert isinstance(condition, Condition)
            assert len(condition.sizes) == sum(size != -1 for size in wanted)
            expected = set()
            for number, each in enumerate(shapes):
                sizes = sizes_of_loops(condition, each)
                if all(sizes[asked.dimension] == asked.extent.size for asked in condition.sizes):
                    expected.add(number)
            hits += len(expected)
            assert matched(spec, program) == expected
    assert hits > 100


def matched(spec: Spec, program: str) -> set[int]:
    """Return the numbers of the functions with an operation that the interpreter finds to match."""
    module = apply_spec(spec, program)
    return {
        int((symbol_name(function) or "")[1:])
        for function in collect(module, names.FUNCTION)
        for operation in body(function)
        if isinstance(operation.attributes.get("who"), mlir.StringAttr)
    }
