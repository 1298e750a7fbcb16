"""Specs whose entries differ in sizes and in configurations: products and attentions for GPUs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES: Final = (1, 3, 4, 7, 8, 16, 64, 96, 128, 130, 256, 333, 512, 1000, 1024, 2048, 4096)
_TYPES: Final = (
    ("f16", "f32", "MFMA_F32_16x16x16_F16"),
    ("i8", "i32", "MFMA_I32_16x16x32_I8"),
)
_LAYOUTS: Final = {
    "m, n, k": ("m, k", "n, k", "m, n"),
    "b, m, n, k": ("b, m, k", "b, k, n", "b, m, n"),
    "m, k": ("m, k", "k", "m"),
}
_ATTENTION: Final = ("b, m, k1", "b, k2, k1", "b, k2, n", "", "b, m, n", "b, m", "b, m")
_DIMS: Final = "transform.iree.match.dims_equal"


def sized_spec(count: int, seed: int) -> str:
    """Return a spec of `count` random entries; some of their configurations are wrong."""
    choice = random.Random(seed)
    entries = [
        (_attention if choice.random() < 0.15 else _product)(choice, number)
        for number in range(count)
    ]
    pairs = ", ".join(f"@match_{number} -> @configure" for number in range(count))
    return f"""module @sized attributes {{
    transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint}} {{
  transform.named_sequence @configure(%op: !transform.any_op {{transform.readonly}},
      %info: !transform.any_param {{transform.readonly}},
      %parts: !transform.any_param {{transform.readonly}}) {{
    transform.annotate %op "compilation_info" = %info : !transform.any_op, !transform.any_param
    transform.annotate %op "decomposition_config" = %parts : !transform.any_op, !transform.any_param
    transform.yield
  }}
  {"".join(entries)}
  transform.named_sequence @__kernel_config(%root: !transform.any_op {{transform.consumed}})
      -> !transform.any_op attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %updated = transform.foreach_match in %root {pairs} : (!transform.any_op) -> !transform.any_op
    transform.yield %updated : !transform.any_op
  }}
}}"""


def _entry(number: int, matcher: str, info: str, parts: str = "{}") -> str:
    return f"""
  transform.named_sequence @match_{number}(%op: !transform.any_op {{transform.readonly}})
      -> (!transform.any_op, !transform.any_param, !transform.any_param) {{
    {matcher}
    %info = transform.param.constant {info} -> !transform.any_param
    %parts = transform.param.constant {parts} -> !transform.any_param
    transform.yield %op, %info, %parts : !transform.any_op, !transform.any_param, !transform.any_param
  }}"""


def _maps(loops: str, accesses: Sequence[str]) -> str:
    return ", ".join(f"affine_map<({loops}) -> ({access})>" for access in accesses)


def _info(lowering: str, pipeline: str, threads: int) -> str:
    options = "gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>"
    return (
        f"#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{{{lowering}}}>, "
        f"translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<{pipeline}> "
        f"workgroup_size = [{threads}, 1, 1] subgroup_size = 64, {{{options}}}>>"
    )


def _product(choice: random.Random, number: int) -> str:
    loops, accesses = choice.choice(list(_LAYOUTS.items()))
    operand, result, intrinsic = choice.choice(_TYPES)
    names = loops.split(", ")
    demands = "\n    ".join(
        f"{_DIMS} %{'batch' if name == 'b' else name}, [{choice.choice(SIZES)}] : !transform.param<i64>"
        for name in names
    )
    matcher = f"""%batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = {operand},
        rhs_type = {operand}, output_type = {result}, indexing_maps = [{_maps(loops, accesses)}]
        : !transform.any_op -> !transform.param<i64>
    {demands}"""
    threads = choice.choice((64, 128, 256))
    outer, count = [1] * (len(names) - 3), len(names)
    tile = [choice.choice((0, 16, 32, 64, 128, 100)) for _ in range(2)]
    kind = f"mma_kind = #iree_gpu.mma_layout<{intrinsic}>, promote_operands = [0, 1]"
    form = (
        choice.choice(("intrinsics", "subgroups", "threads", "lanes")) if "n" in names else "lanes"
    )
    step = choice.choice((1, 2, 4, 16, 32, 64))
    if form == "intrinsics":
        basis = [[*outer, 2, 2, 1], list(range(count))]
        lowering = f"{kind}, subgroup_basis = {basis}, workgroup = {[*outer, *tile, 0]}, "
        lowering += f"reduction = {[0] * (count - 1) + [step]}"
        return _entry(number, matcher, _info(lowering, "VectorDistribute", threads))
    if form == "subgroups":
        lowering = f"{kind}, subgroup = {[*outer, 2, 1, 0]}, workgroup = {[*outer, *tile, 0]}, "
        lowering += f"reduction = {[0] * (count - 1) + [step]}"
        return _entry(number, matcher, _info(lowering, "TileAndFuse", threads))
    if form == "threads":
        lowering = f"thread = {[*outer, 4, 4, 0]}, workgroup = {[*outer, *tile, 0]}, "
        lowering += f"reduction = {[0] * (count - 1) + [step]}"
        return _entry(number, matcher, _info(lowering, "TileAndFuse", threads))
    ones, mapping = [1] * (count - 1), list(range(count))
    lowering = f"lane_basis = {[[*ones, 64], mapping]}, subgroup_basis = {[[*ones, 2], mapping]}, "
    lowering += f"thread = {[0] * (count - 1) + [4]}, workgroup = {[*ones, 0]}, "
    lowering += f"partial_reduction = {[0] * (count - 1) + [choice.choice((256, 512, 1024))]}"
    return _entry(number, matcher, _info(lowering, "VectorDistribute", threads))


def _attention(choice: random.Random, number: int) -> str:
    types = "query_type = f16, key_type = f16, value_type = f16, scale_type = f16, "
    types += "output_type = f32, max_type = f32, sum_type = f32"
    sizes = {"b": 8, "m": choice.choice(SIZES), "n": 64, "k1": 64, "k2": choice.choice(SIZES)}
    demands = "\n    ".join(
        f"{_DIMS} %{name}, [{size}] : !transform.param<i64>" for name, size in sizes.items()
    )
    matcher = f"""%b, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op, {types},
        indexing_maps = [{_maps("b, m, n, k1, k2", _ATTENTION)}]
        : !transform.any_op -> !transform.param<i64>
    {demands}"""
    tile, step = choice.choice((64, 128)), choice.choice((32, 48, 64))
    lowering = f"promote_operands = [0, 1, 2], reduction = [0, 0, 0, 0, {step}], workgroup = [1, {tile}, 64, 0, 0]"
    intrinsic = "mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16, col_major = true>"
    parts = ", ".join(
        f"{part} = {{lowering_config = #iree_gpu.lowering_config<{{{intrinsic}, "
        f"promote_operands = {operands}, subgroup_basis = [[1, 4, 1, 1, 1], {mapping}]}}>}}"
        for part, operands, mapping in (
            ("qk_attrs", [0, 1], [0, 1, 3, 4]),
            ("pv_attrs", [1], [0, 1, 2, 4]),
        )
    )
    return _entry(number, matcher, _info(lowering, "VectorDistribute", 256), f"{{{parts}}}")
