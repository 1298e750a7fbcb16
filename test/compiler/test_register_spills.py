"""`check --compile` names the registers that the code of an entry spills."""

from __future__ import annotations

import pytest

from tuninglink.checking import Checker, CompileLimits
from tuninglink.iree import Target
from tuninglink.rules import Rule


def spec(tiles: str, threads: int) -> bytes:
    """Return a spec for a product with a configuration for gfx942."""
    return f"""
module attributes {{transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint}} {{
  transform.named_sequence @set(%op: !transform.any_op {{transform.readonly}},
      %configuration: !transform.any_param {{transform.readonly}}) {{
    transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
    transform.yield
  }}
  transform.named_sequence @pick(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param) {{
    %b, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16, output_type = f32,
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>,
                       affine_map<(m, n, k) -> (m, n)>] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k, [128] : !transform.param<i64>
    %configuration = transform.param.constant #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{{{tiles}, promote_operands = [0, 1],
        mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>}}>,
      translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse>
        workgroup_size = [{threads}, 1, 1] subgroup_size = 64>> -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }}
  transform.named_sequence @__kernel_config(%all: !transform.any_op {{transform.consumed}}) -> !transform.any_op
      attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %done = transform.foreach_match in %all @pick -> @set : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }}
}}
""".encode()


@pytest.mark.parametrize(
    ("tiles", "threads", "spills"),
    [
        ("workgroup = [256, 256, 0], reduction = [0, 0, 2], subgroup = [16, 8, 0]", 128, True),
        ("workgroup = [64, 64, 0], reduction = [0, 0, 4], subgroup = [2, 2, 0]", 256, False),
    ],
)
def test_spilled_registers_are_named(tiles: str, threads: int, *, spills: bool) -> None:
    limits = CompileLimits(seconds=300, processes=1)
    report = Checker(target=Target.parse("gfx942"), compile_limits=limits).check(
        spec(tiles, threads)
    )
    messages = [item.message for item in report.findings() if item.rule is Rule.SPILLS]
    assert len(messages) == spills
    for message in messages:
        assert "entry 'pick' configures slow code: its code spills " in message
        assert "bytes of scratch memory" in message
    (entry,) = report.entries
    assert entry.compiles
    assert bool(entry.compiles.spills) == spills
