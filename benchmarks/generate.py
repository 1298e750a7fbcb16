"""Generates specs with many entries and programs with many dispatches.

Entry and dispatch are an f16 matmul with transposed right-hand side and f32 result, configured for gfx942.
Sizes are drawn from the multiples of 16 up to 8192, so a random program meets next to none of a random
spec's entries: the measured cost is that of carrying and trying them.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MAPS = ", ".join(f"affine_map<(m, n, k) -> ({result})>" for result in ("m, k", "n, k", "m, n"))
_CONFIGURATION = """#iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{
      mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1],
      reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [64, 128, 0]}>,
    translation_info = #iree_codegen.translation_info<
      pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64,
      {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>>"""


def write_spec(path: Path, entries: int, seed: int = 0) -> Path:
    """Write a spec in default-entrypoint form and return its path."""
    path.write_text("\n".join(_spec(entries, seed)))
    return path


def write_program(path: Path, dispatches: int, seed: int = 1) -> Path:
    """Write a program of one function a dispatch and return its path."""
    path.write_text("\n".join(_program(dispatches, seed)))
    return path


def write_unet(path: Path, tuned: int, seed: int = 1) -> Path:
    """Write a program with 141 dispatches, as many of each kind as an SDXL UNet has, and return its path.

    Args:
        path: the file.
        tuned: how many of its 30 matmuls are those that a spec of as many entries and the same seed is for.
        seed: fixes their sizes.
    """
    named = (each.replace("@NAME", f"@part_{at}") for at, each in enumerate(_unet(30 - tuned)))
    parts = [*_program(tuned, seed), *named]
    path.write_text("\n".join(parts))
    return path


def _unet(matmuls: int) -> Iterator[str]:
    """Yield the functions: matmuls, 20 convolutions, 8 attentions, 83 element-wise ops."""
    for index in range(matmuls):
        yield _operation(
            "linalg.matmul", [(1024, 640), (640, 64 * (index + 1))], (1024, 64 * (index + 1))
        )
    for index in range(20):
        channels = 32 * (index + 1)
        yield _operation(
            "linalg.conv_2d_nhwc_hwcf",
            [(2, 34, 34, 320), (3, 3, 320, channels)],
            (2, 32, 32, channels),
        )
    for index in range(8):
        heads = index + 1
        yield _attention(heads)
    for index in range(83):
        yield _elementwise(64 * (index + 1))


def _tensor(shape: tuple[int, ...], element: str = "f16") -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def _operation(name: str, operands: list[tuple[int, ...]], result: tuple[int, ...]) -> str:
    types = [_tensor(each) for each in operands]
    out = _tensor(result, "f32")
    return f"""func.func @NAME(%a: {types[0]}, %b: {types[1]}) -> {out} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {out}
  %fill = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
  %result = {name} ins(%a, %b : {types[0]}, {types[1]}) outs(%fill : {out}) -> {out}
  return %result : {out}
}}"""


def _attention(heads: int) -> str:
    kind = _tensor((heads, 1024, 64))
    maps = ", ".join(
        f"affine_map<(b, m, n, k1, k2) -> ({each})>"
        for each in ("b, m, k1", "b, k2, k1", "b, k2, n", "", "b, m, n")
    )
    return f"""func.func @NAME(%q: {kind}, %k: {kind}, %v: {kind}) -> {kind} {{
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : {kind}
  %result = iree_linalg_ext.attention <{{indexing_maps = [{maps}]}}>
      ins(%q, %k, %v, %scale : {kind}, {kind}, {kind}, f16) outs(%empty : {kind}) {{
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  }} -> {kind}
  return %result : {kind}
}}"""


def _elementwise(size: int) -> str:
    kind = _tensor((1024, size))
    return f"""func.func @NAME(%a: {kind}, %b: {kind}) -> {kind} {{
  %sum = arith.addf %a, %b : {kind}
  %result = math.tanh %sum : {kind}
  return %result : {kind}
}}"""


def _sizes(count: int, seed: int) -> Iterator[tuple[int, int, int]]:
    source = random.Random(seed)
    for _ in range(count):
        yield 16 * source.randint(1, 512), 16 * source.randint(1, 512), 16 * source.randint(1, 512)


def _spec(entries: int, seed: int) -> Iterator[str]:
    handle = "!transform.any_op"
    yield f"""module @generated attributes {{
    transform.with_named_sequence, iree_codegen.tuning_spec_with_default_entrypoint}} {{
  transform.named_sequence @configure(%op: {handle} {{transform.readonly}},
      %configuration: !transform.any_param {{transform.readonly}}) {{
    transform.annotate %op "compilation_info" = %configuration : {handle}, !transform.any_param
    transform.yield
  }}"""
    # A matcher for each entry, and one entry point for all.
    for index, sizes in enumerate(_sizes(entries, seed)):
        checks = "\n".join(
            f"    transform.iree.match.dims_equal %{name}, [{size}] : !transform.param<i64>"
            for name, size in zip("mnk", sizes, strict=True)
        )
        yield f"""  transform.named_sequence @mmt_{index}(%op: {handle} {{transform.readonly}})
      -> ({handle}, !transform.any_param) {{
    %batch, %m, %n, %k = transform.iree.match.contraction %op, lhs_type = f16, rhs_type = f16,
      output_type = f32, indexing_maps = [{_MAPS}] : {handle} -> !transform.param<i64>
{checks}
    %configuration = transform.param.constant {_CONFIGURATION} -> !transform.any_param
    transform.yield %op, %configuration : {handle}, !transform.any_param
  }}"""
    pairs = ",\n      ".join(f"@mmt_{index} -> @configure" for index in range(entries))
    yield f"""  transform.named_sequence @__kernel_config(%root: {handle} {{transform.consumed}})
      -> {handle} attributes {{iree_codegen.tuning_spec_entrypoint}} {{
    %updated = transform.foreach_match in %root
      {pairs} : ({handle}) -> {handle}
    transform.yield %updated : {handle}
  }}
}}"""


def _program(dispatches: int, seed: int) -> Iterator[str]:
    for index, (m, n, k) in enumerate(_sizes(dispatches, seed)):
        lhs, rhs, result = f"tensor<{m}x{k}xf16>", f"tensor<{n}x{k}xf16>", f"tensor<{m}x{n}xf32>"
        yield f"""func.func @mmt_{index}(%lhs: {lhs}, %rhs: {rhs}) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {result}
  %init = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
  %mmt = linalg.generic {{indexing_maps = [{_MAPS}],
      iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%lhs, %rhs : {lhs}, {rhs}) outs(%init : {result}) {{
  ^bb0(%x: f16, %y: f16, %accumulated: f32):
    %wide_x = arith.extf %x : f16 to f32
    %wide_y = arith.extf %y : f16 to f32
    %product = arith.mulf %wide_x, %wide_y : f32
    %sum = arith.addf %accumulated, %product : f32
    linalg.yield %sum : f32
  }} -> {result}
  return %mmt : {result}
}}"""
