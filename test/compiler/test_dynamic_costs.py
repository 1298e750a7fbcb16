"""Costs of dynamic dispatches at given sizes, in explanations and in specs to start from."""

from __future__ import annotations

import pytest

import tuninglink
from tuninglink.cli.page_output import render
from tuninglink.compiler import ExplanationFormat
from tuninglink.iree import GivenSizes, combinations

FLAGS = [
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
]
ROWS = 64 * 96 * 2
"""The arithmetic for a row of the product."""

PROGRAM = b"""
func.func @layer(%lhs: tensor<?x64xf32>, %rhs: tensor<64x96xf32>) -> tensor<?x96xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %lhs, %c0 : tensor<?x64xf32>
  %empty = tensor.empty(%rows) : tensor<?x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x96xf32>) -> tensor<?x96xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<?x64xf32>, tensor<64x96xf32>)
    outs(%init : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %result : tensor<?x96xf32>
}
"""


@pytest.mark.parametrize(
    ("sizes", "rows"), [("8", 8), ("0.0=8", 8), ("0.0=1,8:2,64", 81 / 4), ("0.0=3:5", 3)]
)
def test_the_cost_is_the_mean_over_the_sizes(sizes: str, rows: float) -> None:
    explanation = tuninglink.explain(PROGRAM, sizes=[sizes], flags=FLAGS)
    (dispatch,) = explanation.dispatches
    assert dispatch.cost.flops == round(rows * ROWS)
    assert dispatch.cost.bytes == round(4 * (64 * 96 + rows * (64 + 96)))
    assert explanation.share(dispatch.weight) == 1.0


def test_a_cost_that_is_not_known_is_no_share() -> None:
    explanation = tuninglink.explain(PROGRAM, flags=FLAGS)
    table = render(explanation, ExplanationFormat.TABLE, None)
    assert "depends on dynamic sizes, 1 call" in table
    assert "'--dim ARGUMENT.DIMENSION=SIZE' gives sizes" in table
    assert "0.0 % of" not in table


def test_a_spec_to_start_from_leaves_dynamic_sizes_open() -> None:
    written = tuninglink.init_spec(PROGRAM, sizes=["0.0=8"], flags=FLAGS)
    assert f"{8 * ROWS:,} operations" in written.text
    assert "dims_equal %n_dims, [96]" in written.text
    assert "dims_equal %m_dims" not in written.text
    (entry,) = written.entries
    assert entry


@pytest.mark.parametrize("text", ["", "0.0=", "0.0=0", "0=4", "0.0=4;8", "0.0=4:0", "x"])
def test_other_texts_give_no_sizes(text: str) -> None:
    with pytest.raises(ValueError, match=r"such as 0\.0=1,8:2,64,512"):
        GivenSizes.parse(text)


def test_dimensions_may_share_their_sizes() -> None:
    given = GivenSizes.parse("0.1=2.0=4,8")
    assert str(given) == "0.1=2.0=4,8"
    found = [
        (each.size_of(0, 1), each.size_of(2, 0), each.size_of(0, 0))
        for each in combinations([given])
    ]
    assert found == [(4, 4, None), (8, 8, None)]


def test_the_later_sizes_of_a_dimension_hold() -> None:
    given = [GivenSizes.parse("4"), GivenSizes.parse("1.0=2,3:2")]
    found = [(each.weight, each.size_of(0, 0), each.size_of(1, 0)) for each in combinations(given)]
    assert found == [(1, 4, 2), (2, 4, 3)]
    again = [*given, GivenSizes.parse("1.0=5")]
    assert [str(each) for each in combinations(again)] == ["*=4 1.0=5"] * 2
