"""Spaces of contractions with dynamic rows: tiles of intrinsics are padded, and what is sampled compiles."""

from __future__ import annotations

import pytest
from iree.compiler import ir as mlir
from problem_forms import TARGETS, spec

import tuninglink
from tuninglink.iree import find_dispatches, find_root_ops
from tuninglink.mlir import thread_context
from tuninglink.passes.strip_configs import strip_configurations
from tuninglink.spaces import ProviderRegistry
from tuninglink.spaces.model import read_workload

TILE_AND_FUSE = "#iree_gpu.pipeline<TileAndFuse>"
PROGRAM = b"""
func.func @layer(%lhs: tensor<?x64xf16>, %rhs: tensor<96x64xf16>) -> tensor<?x96xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %lhs, %c0 : tensor<?x64xf16>
  %empty = tensor.empty(%rows) : tensor<?x96xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x96xf32>) -> tensor<?x96xf32>
  %result = linalg.matmul
    indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>,
                     affine_map<(d0, d1, d2) -> (d0, d1)>]
    ins(%lhs, %rhs : tensor<?x64xf16>, tensor<96x64xf16>)
    outs(%init : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %result : tensor<?x96xf32>
}
"""


def matcher(configuration: str) -> str:
    return f"""
  transform.named_sequence @layer(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param) {{
    transform.iree.match.has_no_lowering_config %op : !transform.any_op
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32
      : !transform.any_op -> !transform.param<i64>
    %configuration = transform.param.constant {configuration} -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }}"""


@pytest.mark.parametrize("name", ["gfx942", "sm_80"])
def test_configurations_for_dynamic_rows_pad_and_compile(name: str) -> None:
    flags = TARGETS[name].flags
    configured = "--compile-to=executable-configurations"
    translated = "--compile-to=executable-targets"
    text = tuninglink.compile(PROGRAM, default_specs=False, flags=[*flags, configured]).output
    module = mlir.Module.parse(text, thread_context()).operation
    strip_configurations(module)
    (function,) = find_root_ops(find_dispatches(module)[0].module)
    workload = read_workload(function.roots[0], function.function, module)
    spaces = ProviderRegistry(lambda _: None).spaces(workload, TILE_AND_FUSE)
    infos = [
        str(space.compilation_info(assignment))
        for space in spaces
        for assignment in space.constraints.sample(1, seed=1)
    ]
    with_intrinsic = [each for each in infos if "mma_kind" in each]
    assert with_intrinsic
    assert all("padding = [" in each for each in with_intrinsic)
    for info in infos:
        content = spec(matcher(info))
        result = tuninglink.compile(
            PROGRAM, specs=[content], default_specs=False, flags=[*flags, translated]
        )
        assert [each.is_own for each in result.applied] == [True]
