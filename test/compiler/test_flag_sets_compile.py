"""The flag sets do in the compiler what they are listed for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cpu_dispatches import flags_for
from programs import TARGETS, run

from tuninglink.compiler import Phase
from tuninglink.tuning.flag_sets import (
    CHANNELS_LAST,
    DEFAULT,
    CompiledSource,
    FlagSet,
    ProgramSource,
    SetCompiler,
    flag_sets,
)
from tuninglink.tuning.programs import ALL_CALLS

if TYPE_CHECKING:
    from pathlib import Path

ATTENTION = """
func.func @main(%q: tensor<2x40x16xf32>, %k: tensor<2x48x16xf32>, %v: tensor<2x48x16xf32>) -> tensor<2x40x16xf32> {
  %scale = arith.constant 0.25 : f32
  %empty = tensor.empty() : tensor<2x40x16xf32>
  %result = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}>
      ins(%q, %k, %v, %scale : tensor<2x40x16xf32>, tensor<2x48x16xf32>, tensor<2x48x16xf32>, f32)
      outs(%empty : tensor<2x40x16xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x40x16xf32>
  return %result : tensor<2x40x16xf32>
}
"""


CONVOLUTION = """
func.func @main(%image: tensor<1x8x18x18xf32>, %filter: tensor<16x8x3x3xf32>, %sum: tensor<1x16x16x16xf32>)
    -> tensor<1x16x16x16xf32> {
  %result = linalg.conv_2d_nchw_fchw ins(%image, %filter : tensor<1x8x18x18xf32>, tensor<16x8x3x3xf32>)
      outs(%sum : tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  return %result : tensor<1x16x16x16xf32>
}
"""


CONVOLUTIONS = """
func.func @main(%image: tensor<2x64x14x14xf16>, %narrow: tensor<128x64x1x1xf16>, %wide: tensor<64x128x3x3xf16>,
                %sum: tensor<2x128x14x14xf32>, %result: tensor<2x64x12x12xf32>) -> tensor<2x64x12x12xf32> {
  %first = linalg.conv_2d_nchw_fchw ins(%image, %narrow : tensor<2x64x14x14xf16>, tensor<128x64x1x1xf16>)
      outs(%sum : tensor<2x128x14x14xf32>) -> tensor<2x128x14x14xf32>
  %half = arith.truncf %first : tensor<2x128x14x14xf32> to tensor<2x128x14x14xf16>
  %second = linalg.conv_2d_nchw_fchw ins(%half, %wide : tensor<2x128x14x14xf16>, tensor<64x128x3x3xf16>)
      outs(%result : tensor<2x64x12x12xf32>) -> tensor<2x64x12x12xf32>
  return %second : tensor<2x64x12x12xf32>
}
"""


def _lowered(flag_set: FlagSet, source: str, phase: str = "executable-sources") -> str:
    flags = (*flags_for("znver4"), *flag_set.flags, f"--compile-to={phase}")
    return run("iree-compile", *flags, source=source)


def test_attention_becomes_products() -> None:
    sets = {each.name: each for each in flag_sets("llvm-cpu", "", [])}
    assert "iree_linalg_ext.attention" in _lowered(
        sets["data tiling, im2col, unrolling"], ATTENTION
    )
    for name in ("attention as products", "attention as products, data tiling, im2col, unrolling"):
        dispatches = _lowered(sets[name], ATTENTION)
        assert "attention" not in dispatches
        assert "math.exp2" in dispatches
    assert "iree_encoding.set_encoding" in dispatches


def test_channels_come_last() -> None:
    sets = {flag_set.name: flag_set for flag_set in flag_sets("llvm-cpu", "", [])}
    for name in ("channels last, unrolling", "channels last, data tiling, unrolling"):
        preprocessed = _lowered(sets[name], CONVOLUTION, "preprocessing")
        assert "nchw" not in preprocessed
        assert "linalg.conv_2d_nhwc_hwcf" in preprocessed


def test_channels_last_avoid_defaults_that_are_known_to_be_wrong(tmp_path: Path) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(CONVOLUTIONS)
    source, cuda = ProgramSource(str(path), Phase.START, (), ALL_CALLS), TARGETS["cuda"]
    assert CHANNELS_LAST in flag_sets("cuda", "", cuda, program=str(path))
    with SetCompiler(1) as compiler:
        wrong_defaults = []
        for flag_set in (DEFAULT, CHANNELS_LAST):
            compiled = compiler.submit(
                source, (*cuda, *flag_set.flags), time.monotonic() + 600.0
            ).result()
            assert isinstance(compiled, CompiledSource)
            wrong_defaults.append(compiled.wrong_defaults)
    assert wrong_defaults == [1, 0]
