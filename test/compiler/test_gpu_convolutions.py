"""Convolutions on GPUs: specs express all candidates of their spaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from programs import TARGETS
from tuning_programs import ZERO, compiler_for, prepared, whole_samples

from tuninglink.programs import Benchmark, Failure
from tuninglink.spaces import SpaceSelection
from tuninglink.spaces.model import FixedKnob
from tuninglink.tuning.deciding import WinnerVerification

if TYPE_CHECKING:
    from tuninglink.tuning.candidates import Candidate

IMAGE, FILTER, RESULT = "2x18x18x4x32", "4x64x3x3x32", "2x16x16x4x64"
GROUPED_LAST = f"""
func.func @main(%image: tensor<{IMAGE}xf16>, %filter: tensor<{FILTER}xf16>) -> tensor<{RESULT}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{RESULT}xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<{RESULT}xf32>) -> tensor<{RESULT}xf32>
  %result = linalg.conv_2d_nhwgc_gfhwc
    ins(%image, %filter : tensor<{IMAGE}xf16>, tensor<{FILTER}xf16>)
    outs(%start : tensor<{RESULT}xf32>) -> tensor<{RESULT}xf32>
  return %result : tensor<{RESULT}xf32>
}}
"""
GROUPED_FIRST = (
    GROUPED_LAST.replace("nhwgc_gfhwc", "ngchw_gfchw")
    .replace(IMAGE, "2x4x32x18x18")
    .replace(FILTER, "4x64x32x3x3")
    .replace(RESULT, "2x4x64x16x16")
)


@pytest.mark.parametrize(
    ("program", "target", "intrinsic"),
    [
        (GROUPED_LAST, "hip", "MFMA_F32_16x16x16_F16"),
        (GROUPED_FIRST, "cuda", "NV_MMA_SYNC_F32_16x8x16_F16"),
    ],
)
def test_valid_configurations_of_grouped_convolutions_compile(
    program: str, target: str, intrinsic: str
) -> None:
    task = prepared(program, target, SpaceSelection(fixed=(FixedKnob("mma_kind", intrinsic),)))
    # With other seeds, large tiles take minutes to compile.
    drawn = [candidate for seed in (2, 4) for candidate in task.spaces.sample(1, seed)]
    candidates = {candidate.key: candidate for candidate in (task.spaces.default, *drawn)}.values()
    assert len(candidates) == 3
    assert all("mma_kind" in candidate.knobs for candidate in candidates)
    compiler = compiler_for(TARGETS[target])
    jobs = [compiler.submit(task.template, candidate, 120.0) for candidate in candidates]
    failures = [job.result() for job in jobs if isinstance(job.result(), Failure)]
    assert not failures


def convolution(strides: int) -> str:
    """Return a convolution with 28 results in a row, which no tile of whole intrinsics divides."""
    size = 27 * strides + 3
    image, result = f"tensor<{size}x{size}x16xf16>", "tensor<28x28x32xf32>"
    return f"""
func.func @main(%image: {image}, %filter: tensor<3x3x16x32xf16>) -> {result} {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : {result}
  %start = linalg.fill ins(%zero : f32) outs(%empty : {result}) -> {result}
  %result = linalg.generic {{
      indexing_maps = [affine_map<(h, w, f, y, x, c) -> (h * {strides} + y, w * {strides} + x, c)>,
                       affine_map<(h, w, f, y, x, c) -> (y, x, c, f)>, affine_map<(h, w, f, y, x, c) -> (h, w, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}}
    ins(%image, %filter : {image}, tensor<3x3x16x32xf16>) outs(%start : {result}) {{
  ^bb0(%a: f16, %b: f16, %sum: f32):
    %wide_a = arith.extf %a : f16 to f32
    %wide_b = arith.extf %b : f16 to f32
    %product = arith.mulf %wide_a, %wide_b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }} -> {result}
  return %result : {result}
}}
"""


CHANNELS_FIRST = f"""
func.func @main(%image: tensor<1x16x18x18xf16>, %filter: tensor<32x16x3x3xf16>) -> tensor<1x32x16x16xf32> {{
  {ZERO}
  %empty = tensor.empty() : tensor<1x32x16x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x32x16x16xf32>) -> tensor<1x32x16x16xf32>
  %result = linalg.conv_2d_nchw_fchw ins(%image, %filter : tensor<1x16x18x18xf16>, tensor<32x16x3x3xf16>)
    outs(%start : tensor<1x32x16x16xf32>) -> tensor<1x32x16x16xf32>
  return %result : tensor<1x32x16x16xf32>
}}
"""


def is_igemm(candidate: Candidate) -> bool:
    """Return whether a candidate makes a contraction of the convolution."""
    return "use_igemm_convolution = true" in candidate.configuration


@pytest.mark.parametrize(
    ("program", "target", "count"),
    [(convolution(1), "cuda", 4), (convolution(2), "cuda", 3), (CHANNELS_FIRST, "hip", 4)],
)
def test_a_spec_for_a_candidate_gives_its_binary(program: str, target: str, count: int) -> None:
    task = prepared(program, target)
    with whole_samples():
        candidates = task.spaces.sample(count, 2)
    assert len({candidate.space for candidate in candidates}) == count
    compiler = compiler_for(TARGETS[target])
    verification = WinnerVerification(task, compiler, 120.0)
    for candidate in candidates:
        measured = compiler.submit(task.template, candidate, 120.0).result()
        assert isinstance(measured, Benchmark), measured
        assert verification.failure(candidate, measured) is None


@pytest.mark.parametrize("strides", [1, 2])
def test_intrinsics_take_a_convolution_as_it_is_without_strides(strides: int) -> None:
    with whole_samples():
        sample = prepared(convolution(strides), "cuda").spaces.sample(40, 1)
    with_intrinsics = [candidate for candidate in sample if "mma_kind" in candidate.knobs]
    assert any(map(is_igemm, with_intrinsics))
    assert all(map(is_igemm, with_intrinsics)) == (strides > 1)


@pytest.mark.parametrize("target", ["cuda", "hip"])
def test_transposed_fragments_are_left_out(target: str) -> None:
    with whole_samples():
        sample = prepared(CHANNELS_FIRST, target).spaces.sample(40, 1)
    with_intrinsics = [candidate for candidate in sample if "mma_kind" in candidate.knobs]
    assert all(map(is_igemm, with_intrinsics)) == (target == "cuda")
