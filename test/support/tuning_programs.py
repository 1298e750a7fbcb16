"""Programs for tests of the tuner, and objects derived from them."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from unittest.mock import patch

from programs import RUNNABLE_TARGETS

from tuninglink.programs import DispatchedProgram, read_program
from tuninglink.spaces import EVERYTHING, ProviderRegistry, SpaceSelection
from tuninglink.tuning.candidates import (
    CandidateCompiler,
    PreparedTask,
    candidate_spaces as sampling,
    prepare,
)

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

ZERO = "%zero = arith.constant 0.0 : f32"


def matmul(m: int, n: int, k: int, element: str = "f32", name: str = "main") -> str:
    """Return a program that multiplies two matrices."""
    lhs, rhs, out = (
        f"tensor<{m}x{k}x{element}>",
        f"tensor<{k}x{n}x{element}>",
        f"tensor<{m}x{n}xf32>",
    )
    return f"""
func.func @{name}(%a: {lhs}, %b: {rhs}) -> {out} {{
  {ZERO}
  %empty = tensor.empty() : {out}
  %start = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
  %product = linalg.matmul ins(%a, %b : {lhs}, {rhs}) outs(%start : {out}) -> {out}
  return %product : {out}
}}
"""


TWO_MATMULS = """
func.func @main(%a: tensor<8x128xf32>, %b: tensor<128x64xf32>, %c: tensor<64x32xf32>) -> tensor<8x32xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x64xf32>) -> tensor<8x64xf32>
  %first = linalg.matmul ins(%a, %b : tensor<8x128xf32>, tensor<128x64xf32>)
    outs(%start : tensor<8x64xf32>) -> tensor<8x64xf32>
  %small = tensor.empty() : tensor<8x32xf32>
  %next = linalg.fill ins(%zero : f32) outs(%small : tensor<8x32xf32>) -> tensor<8x32xf32>
  %second = linalg.matmul ins(%first, %c : tensor<8x64xf32>, tensor<64x32xf32>)
    outs(%next : tensor<8x32xf32>) -> tensor<8x32xf32>
  return %second : tensor<8x32xf32>
}
"""

REDUCTION = f"""
func.func @main(%x: tensor<64x256xf32>) -> tensor<64xf32> {{
  {ZERO}
  %empty = tensor.empty() : tensor<64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<64xf32>) -> tensor<64xf32>
  %sums = linalg.reduce {{ arith.addf }}
    ins(%x : tensor<64x256xf32>) outs(%start : tensor<64xf32>) dimensions = [1]
  return %sums : tensor<64xf32>
}}
"""

CONVOLUTION = f"""
func.func @main(%image: tensor<2x18x18x16xf32>, %filter: tensor<3x3x16x32xf32>) -> tensor<2x16x16x32xf32> {{
  {ZERO}
  %empty = tensor.empty() : tensor<2x16x16x32xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x16x16x32xf32>) -> tensor<2x16x16x32xf32>
  %result = linalg.conv_2d_nhwc_hwcf
    ins(%image, %filter : tensor<2x18x18x16xf32>, tensor<3x3x16x32xf32>)
    outs(%start : tensor<2x16x16x32xf32>) -> tensor<2x16x16x32xf32>
  return %result : tensor<2x16x16x32xf32>
}}
"""

ONE_IMAGE = CONVOLUTION.replace("tensor<2x", "tensor<1x")

ATTENTION = """
func.func @main(%q: tensor<2x64x64xf16>, %k: tensor<2x64x64xf16>, %v: tensor<2x64x64xf16>) -> tensor<2x64x64xf16> {
  %scale = arith.constant 0.125 : f16
  %empty = tensor.empty() : tensor<2x64x64xf16>
  %result = iree_linalg_ext.attention <{indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>]}>
    ins(%q, %k, %v, %scale : tensor<2x64x64xf16>, tensor<2x64x64xf16>, tensor<2x64x64xf16>, f16)
    outs(%empty : tensor<2x64x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x64x64xf16>
  return %result : tensor<2x64x64xf16>
}
"""


MASKED_ATTENTION = (
    ATTENTION.replace(
        "%v: tensor<2x64x64xf16>)", "%v: tensor<2x64x64xf16>, %mask: tensor<2x64x64xf16>)"
    )
    .replace("-> ()>,", "-> ()>,\n      affine_map<(b, m, n, k1, k2) -> (b, m, k2)>,")
    .replace("%scale : tensor", "%scale, %mask : tensor")
    .replace("64xf16>, f16)", "64xf16>, f16, tensor<2x64x64xf16>)")
)


def whole_samples() -> AbstractContextManager[object]:
    """Leave out the time limit of samples, which cuts them short on a busy machine."""
    return patch.object(sampling, "_SECONDS", math.inf)


def dispatched(source: str, target: str) -> DispatchedProgram:
    """Return a program for one of the targets of `programs`."""
    return dispatched_for(source, RUNNABLE_TARGETS[target])


@cache
def dispatched_for(source: str, flags: tuple[str, ...]) -> DispatchedProgram:
    """Return a program for the target that flags of the compiler name."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "program.mlir"
        path.write_text(source)
        return read_program(str(path), flags)


@cache
def prepared(source: str, target: str, selection: SpaceSelection = EVERYTHING) -> PreparedTask:
    """Return the only task of a program."""
    (task,) = dispatched(source, target).tasks
    registry = ProviderRegistry(lambda _: None)
    return prepare(task, RUNNABLE_TARGETS[target], [], registry, {}, selection=selection)


@cache
def compiler_for(flags: tuple[str, ...]) -> CandidateCompiler:
    """Return the compiler of candidates for flags that the tests of this process share.

    Its worker takes longer to start than most candidates take to compile. It ends with this process.
    """
    return CandidateCompiler(flags, jobs=1)


def depthwise(stride: int = 1, window: int = 3, channels: int = 16) -> str:
    """Return a program with a depthwise convolution of an image in NCHW."""
    size = (16 - 1) * stride + window
    image, result = (f"tensor<1x{channels}x{side}x{side}xf32>" for side in (size, 16))
    kernel = f"tensor<{channels}x{window}x{window}xf32>"
    return f"""
func.func @main(%image: {image}, %filter: {kernel}) -> {result} {{
  {ZERO}
  %empty = tensor.empty() : {result}
  %start = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
  %result = linalg.depthwise_conv_2d_nchw_chw {{strides = dense<{stride}> : vector<2xi64>}}
    ins(%image, %filter : {image}, {kernel}) outs(%start : {result}) -> {result}
  return %result : {result}
}}
"""


ONE_CHANNEL = ONE_IMAGE.replace("x18x16xf32", "x18x1xf32").replace("x3x16x32", "x3x1x32")

POOLING = f"""
func.func @main(%image: tensor<1x16x34x34xf32>, %window: tensor<3x3xf32>) -> tensor<1x16x16x16xf32> {{
  {ZERO}
  %empty = tensor.empty() : tensor<1x16x16x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  %result = linalg.pooling_nchw_max {{strides = dense<2> : vector<2xi64>}}
    ins(%image, %window : tensor<1x16x34x34xf32>, tensor<3x3xf32>)
    outs(%start : tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  return %result : tensor<1x16x16x16xf32>
}}
"""
