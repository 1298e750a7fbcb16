"""The cost of dispatches: arithmetic and bytes, of programs at `executable-sources`."""

from __future__ import annotations

import pytest
from programs import TARGETS
from tuning_programs import ATTENTION, CONVOLUTION, REDUCTION, dispatched, matmul

from tuninglink.compiler import Phase, compiler_run
from tuninglink.iree import DispatchCost, cost_of, find_dispatches

ELEMENTWISE = """
func.func @main(%a: tensor<1024xf32>) -> tensor<1024xf32> {
  %b = math.exp %a : tensor<1024xf32>
  %c = arith.addf %a, %b : tensor<1024xf32>
  return %c : tensor<1024xf32>
}
"""
DYNAMIC = """
func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {
  %b = arith.addf %a, %a : tensor<?xf32>
  return %b : tensor<?xf32>
}
"""
IMAGE, FILTER, RESULT = 2 * 18 * 18 * 16, 3 * 3 * 16 * 32, 2 * 16 * 16 * 32

SOFTMAX = """
func.func @softmax(%a: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %empty = tensor.empty() : tensor<64x128xf32>
  %result = linalg.softmax dimension(1) ins(%a : tensor<64x128xf32>) outs(%empty : tensor<64x128xf32>) -> tensor<64x128xf32>
  return %result : tensor<64x128xf32>
}
"""


@pytest.mark.parametrize(
    ("source", "flops", "moved", "element_type"),
    [
        (matmul(8, 256, 512), 2 * 8 * 256 * 512, 4 * (8 * 512 + 512 * 256 + 8 * 256), "f32"),
        (matmul(8, 256, 512, "f16"), 2 * 8 * 256 * 512, 2 * (8 + 256) * 512 + 4 * 8 * 256, "f16"),
        (CONVOLUTION, 2 * RESULT * 3 * 3 * 16, 4 * (IMAGE + FILTER + RESULT), "f32"),
        (ATTENTION, 2 * 2 * 2 * 64**3, 2 * 4 * 2 * 64 * 64, "f16"),
        (REDUCTION, 64 * 256, 4 * (64 * 256 + 64), "f32"),
        (ELEMENTWISE, 2 * 1024, 4 * 2 * 1024, "f32"),
        (SOFTMAX, 5 * 64 * 128, 4 * 2 * 64 * 128, "f32"),
        (DYNAMIC, None, None, "f32"),
    ],
    ids=[
        *("f32", "f16", "convolution", "attention", "reduction", "elementwise", "softmax"),
        "dynamic",
    ],
)
def test_the_cost_is_that_of_the_computation(
    source: str, flops: int | None, moved: int | None, element_type: str
) -> None:
    saved = dispatched(source, "hip").saved
    with compiler_run(saved.content, TARGETS["hip"]) as run:
        run.advance(saved.phase, Phase.EXECUTABLE_SOURCES)
        (dispatch,) = find_dispatches(run.module)
        cost = cost_of(dispatch.module)
    assert cost == DispatchCost(flops, moved, element_type)
    assert cost.intensity == (flops / moved if flops and moved else None)
