"""Selections from rows on GPUs: top-k has a space, and argmax none by lanes, where no configuration compiles."""

from __future__ import annotations

import pytest
from programs import TARGETS
from tuning_programs import compiler_for, prepared

from tuninglink.programs import Failure
from tuninglink.solver import Verdict

TOPK = """
func.func @main(%values: tensor<4x32x512xf32>, %indices: tensor<4x32x512xi32>)
    -> (tensor<4x32x8xf32>, tensor<4x32x8xi32>) {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<4x32x8xf32>
  %empty_indices = tensor.empty() : tensor<4x32x8xi32>
  %start = linalg.fill ins(%lowest : f32) outs(%empty : tensor<4x32x8xf32>) -> tensor<4x32x8xf32>
  %start_indices = linalg.fill ins(%zero : i32) outs(%empty_indices : tensor<4x32x8xi32>) -> tensor<4x32x8xi32>
  %best:2 = iree_linalg_ext.topk dimension(2)
      ins(%values, %indices : tensor<4x32x512xf32>, tensor<4x32x512xi32>)
      outs(%start, %start_indices : tensor<4x32x8xf32>, tensor<4x32x8xi32>) {
  ^bb0(%one: f32, %other: f32):
    %is_greater = arith.cmpf ogt, %one, %other : f32
    iree_linalg_ext.yield %is_greater : i1
  } -> tensor<4x32x8xf32>, tensor<4x32x8xi32>
  return %best#0, %best#1 : tensor<4x32x8xf32>, tensor<4x32x8xi32>
}
"""
ARGMAX = """
func.func @main(%values: tensor<64x1024xf32>) -> (tensor<64xf32>, tensor<64xi64>) {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0 : i64
  %empty = tensor.empty() : tensor<64xf32>
  %empty_indices = tensor.empty() : tensor<64xi64>
  %start = linalg.fill ins(%lowest : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %start_indices = linalg.fill ins(%zero : i64) outs(%empty_indices : tensor<64xi64>) -> tensor<64xi64>
  %best:2 = linalg.generic {
      indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>, affine_map<(m, k) -> (m)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%values : tensor<64x1024xf32>) outs(%start, %start_indices : tensor<64xf32>, tensor<64xi64>) {
  ^bb0(%value: f32, %greatest: f32, %index: i64):
    %k = linalg.index 1 : index
    %own = arith.index_cast %k : index to i64
    %greater = arith.maximumf %value, %greatest : f32
    %is_greater = arith.cmpf ogt, %value, %greatest : f32
    %chosen = arith.select %is_greater, %own, %index : i64
    linalg.yield %greater, %chosen : f32, i64
  } -> (tensor<64xf32>, tensor<64xi64>)
  return %best#0, %best#1 : tensor<64xf32>, tensor<64xi64>
}
"""


@pytest.mark.parametrize(("program", "pipeline"), [(TOPK, "Distribute"), (ARGMAX, "TileAndFuse")])
def test_valid_configurations_of_selections_compile(program: str, pipeline: str) -> None:
    task = prepared(program, "hip")
    candidates = [task.spaces.default, *task.spaces.sample(3, 0)]
    assert len(candidates) == 4
    assert {each.pipeline for each in candidates} == {f"#iree_gpu.pipeline<{pipeline}>"}
    assert all(each.space >= 0 for each in candidates)
    compiler = compiler_for(TARGETS["hip"])
    jobs = [compiler.submit(task.template, candidate, 120.0) for candidate in candidates]
    failures = [job.result() for job in jobs if isinstance(job.result(), Failure)]
    assert not failures


def test_lanes_cannot_share_an_argmax() -> None:
    task = prepared(ARGMAX, "hip")
    (lanes,) = (
        space.constraints for space in task.spaces.spaces if "Vector" in space.constraints.pipeline
    )
    answer = lanes.explain_unsat({})
    assert answer.verdict is Verdict.PROVEN
    assert "uses an accumulator more than once" in answer.core[0].message
