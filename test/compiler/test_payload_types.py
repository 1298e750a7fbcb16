"""Payloads whose element types cannot cross the boundary of a program are compiled all the same."""

from __future__ import annotations

import pytest

from tuninglink import load_spec, payload_for
from tuninglink.checking import Checker, CompileLimits
from tuninglink.iree import Target
from tuninglink.solver import Verdict

GPU = """#iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{workgroup = [4, 64], thread = [1, 4]}>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse>
      workgroup_size = [64, 1, 1] subgroup_size = 64>>"""
CPU = """#iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [32, 64], vector_common_parallel = [8, 8]>,
    translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>"""


def spec(source: str, result: str, cast: str, configuration: str) -> str:
    """Return a spec for an elementwise op from one type to another."""
    body = f"%out = {cast} %in : {source} to {result}\n        linalg.yield %out : {result}"
    if not cast:
        body = f"linalg.yield %in : {result}"
    return f"""
module attributes {{transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint}} {{
  transform.named_sequence @set(%op: !transform.any_op {{transform.readonly}},
      %configuration: !transform.any_param {{transform.readonly}}) {{
    transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
    transform.yield
  }}
  transform.named_sequence @pick(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param) {{
    %ins, %outs = transform.iree.match.cast_compatible_dag_from_root %op {{
    ^bb0(%a: tensor<64x96x{source}>, %o: tensor<64x96x{result}>):
      %0 = linalg.generic {{
          indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
          iterator_types = ["parallel", "parallel"]}}
        ins(%a : tensor<64x96x{source}>) outs(%o : tensor<64x96x{result}>) {{
      ^bb0(%in: {source}, %acc: {result}):
        {body}
      }} -> tensor<64x96x{result}>
    }} : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %configuration = transform.param.constant {configuration} -> !transform.any_param
    transform.yield %op, %configuration : !transform.any_op, !transform.any_param
  }}
  transform.named_sequence @__kernel_config(%all: !transform.any_op {{transform.consumed}}) -> !transform.any_op
      attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %done = transform.foreach_match in %all @pick -> @set : (!transform.any_op) -> !transform.any_op
    transform.yield %done : !transform.any_op
  }}
}}
"""


CASES = {
    "f4 argument": ("f4E2M1FN", "f32", "arith.extf", GPU, "gfx950"),
    "f8 on a CPU": ("f8E3M4", "f32", "arith.extf", CPU, "znver4"),
    "f8 result on a CPU": ("f32", "f8E4M3B11FNUZ", "arith.truncf", CPU, "znver4"),
    "f8 that IREE knows": ("f8E4M3FN", "f32", "arith.extf", GPU, "gfx950"),
}


@pytest.mark.parametrize(
    ("source", "result", "cast", "configuration", "target"), CASES.values(), ids=CASES
)
def test_an_entry_for_any_type_that_the_compiler_computes_with_compiles(
    source: str, result: str, cast: str, configuration: str, target: str
) -> None:
    text = spec(source, result, cast, configuration).encode()
    limits = CompileLimits(seconds=300, processes=1)
    report = Checker(target=Target.parse(target), compile_limits=limits).check(text)
    (entry,) = report.entries
    assert entry.matches.verdict is Verdict.PROVEN
    assert entry.compiles
    assert (entry.compiles.verdict, entry.compiles.reason) == (Verdict.PROVEN, "")


@pytest.mark.parametrize(
    ("kind", "passed"),
    [("f4E2M1FN", "i4"), ("f6E3M2FN", "i6"), ("f8E3M4", "i8"), ("tf32", "i19"), ("bf16", "bf16")],
)
def test_only_the_boundary_of_the_program_has_another_type(kind: str, passed: str) -> None:
    """The op keeps its type, which its matcher asks for."""
    (entry,) = load_spec(spec(kind, kind, "", GPU).encode()).entries
    payload = payload_for(entry)
    signature = next(line for line in payload.text.splitlines() if "func.func" in line)
    assert f"(%arg0: tensor<64x96x{passed}>) -> tensor<64x96x{passed}>" in signature
    assert f"linalg.yield %in : {kind}" in payload.text
    assert payload.shapes == f"tensor<64x96x{kind}>, tensor<64x96x{kind}>"
