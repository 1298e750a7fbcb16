"""The entries that are found to be nearest are, and finding them does not compare every operation with every entry."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from iree.compiler import ir as mlir
from matched_operations import ANY_OP, PARAM, spec_of

from tuninglink.matching import MatcherReader, NearestEntries, OpInfo, compare
from tuninglink.mlir import collect, thread_context
from tuninglink.specs import Spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tuninglink.matching import Matcher

SIZES = (64, 96, 128, 160, 256, 1024)
ELEMENTS = ("f16", "bf16")


def matcher(m: int, n: int, k: int, element: str, *, ranged: bool) -> str:
    typed = f"lhs_type = {element}, rhs_type = {element}, output_type = f32"
    match = f"  %d:4 = transform.iree.match.contraction %op, {typed} : {ANY_OP} -> {PARAM}\n"
    if ranged:
        return (
            f"{match}  %v = transform.get_operand %op[0] : ({ANY_OP}) -> !transform.any_value\n"
            f"  transform.iree.match.dim_bounds %v[0], umin = {m}, none : !transform.any_value\n"
            f"  transform.iree.match.dim_is_multiple_of %v[1], {k} : !transform.any_value\n"
        )
    return match + "".join(
        f"  transform.iree.match.dims_equal %d#{role}, [{size}] : {PARAM}\n"
        for role, size in ((1, m), (2, n), (3, k))
    )


def entries(count: int, seed: int) -> Spec:
    source = random.Random(seed)
    bodies = [
        matcher(
            *(source.choice(SIZES) for _ in range(3)),
            source.choice(ELEMENTS),
            ranged=source.random() < 0.1,
        )
        for _ in range(count)
    ]
    return Spec(mlir.Module.parse(spec_of(bodies), thread_context()).operation, "spec")


def matchers(spec: Spec) -> list[Matcher]:
    reader = MatcherReader(spec.anatomy.table)
    return [reader.read(name) for name, _ in spec.anatomy.pairs]


def op_infos(count: int, seed: int) -> Iterator[OpInfo]:
    source = random.Random(seed)
    functions = []
    for number in range(count):
        m, n, k = (source.choice(SIZES) for _ in range(3))
        element = source.choice(ELEMENTS)
        lhs, rhs = f"tensor<{m}x{k}x{element}>", f"tensor<{k}x{n}x{element}>"
        out = f"tensor<{m}x{n}xf32>"
        functions.append(f"""
          func.func @f{number}(%lhs: {lhs}, %rhs: {rhs}, %out: {out}) -> {out} {{
            %0 = linalg.matmul ins(%lhs, %rhs : {lhs}, {rhs}) outs(%out : {out}) -> {out}
            return %0 : {out}
          }}""")
    module = mlir.Module.parse("\n".join(functions), thread_context())
    for each in collect(module.operation, "linalg.matmul"):
        yield OpInfo(each)  # The module lives as long as the iteration.


def test_no_entry_is_nearer_than_the_nearest() -> None:
    for seed in range(4):
        spec = entries(150, seed)
        read = matchers(spec)
        index = NearestEntries(read)
        for op in op_infos(20, seed + 100):
            counts = [len(compare(each, op).differences) for each in read]
            nearest = index.nearest(op)
            assert counts[nearest[0].position] == min(counts)
            assert [counts[each.position] for each in nearest] == [each.rank[0] for each in nearest]


def test_an_operation_is_compared_with_few_entries() -> None:
    spec = entries(2000, seed=1)
    index = NearestEntries(matchers(spec))
    for op in op_infos(10, seed=2):
        assert len(index.nearest(op)) < 60


def test_entries_for_other_operations_are_not_near() -> None:
    spec = entries(10, seed=3)
    fill = mlir.Module.parse(
        """
        func.func @f(%x: f32, %out: tensor<64xf32>) -> tensor<64xf32> {
          %0 = linalg.fill ins(%x : f32) outs(%out : tensor<64xf32>) -> tensor<64xf32>
          return %0 : tensor<64xf32>
        }""",
        thread_context(),
    )
    index = NearestEntries(matchers(spec))
    assert all(map(index.nearest, op_infos(1, seed=4)))
    assert not index.nearest(OpInfo(collect(fill.operation, "linalg.fill")[0]))
