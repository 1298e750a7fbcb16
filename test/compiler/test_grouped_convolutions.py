"""Grouped convolutions on GPUs become contractions with a batch, and what their space holds compiles."""

from __future__ import annotations

import pytest
from programs import TARGETS
from tuning_programs import prepared

from tuninglink.spaces.knobs import FixedKnob
from tuninglink.spaces.selection import SpaceSelection
from tuninglink.tuning.candidates.compilation import CandidateCompiler
from tuninglink.tuning.results import Failure

IMAGE, FILTER, RESULT = "2x18x18x4x32", "4x64x3x3x32", "2x16x16x4x64"
CHANNELS_LAST = f"""
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
CHANNELS_FIRST = (
    CHANNELS_LAST.replace("nhwgc_gfhwc", "ngchw_gfchw")
    .replace(IMAGE, "2x4x32x18x18")
    .replace(FILTER, "4x64x32x3x3")
    .replace(RESULT, "2x4x64x16x16")
)


@pytest.mark.parametrize(
    ("program", "target", "intrinsic"),
    [
        (CHANNELS_LAST, "hip", "MFMA_F32_16x16x16_F16"),
        (CHANNELS_FIRST, "cuda", "NV_MMA_SYNC_F32_16x8x16_F16"),
    ],
)
def test_valid_configurations_compile(program: str, target: str, intrinsic: str) -> None:
    task = prepared(program, target, SpaceSelection(fixed=(FixedKnob("mma_kind", intrinsic),)))
    candidates = [task.spaces.default, *task.spaces.sample(2, 0)]
    assert len(candidates) == 3
    assert all("mma_idx" in candidate.knobs for candidate in candidates)
    with CandidateCompiler(TARGETS[target], jobs=2) as compiler:
        jobs = [compiler.submit(task.template, each, 120.0) for each in candidates]
        failures = [job.result() for job in jobs if isinstance(job.result(), Failure)]
    assert not failures
