"""Comparison of the binary from a candidate's spec with the measured one."""

from __future__ import annotations

from programs import TARGETS
from tuning_programs import compiler_for, prepared

from tuninglink.programs import Benchmark
from tuninglink.tuning.candidates import Candidate
from tuninglink.tuning.deciding import WinnerVerification

STRIDED = """
func.func @main(%a: tensor<1x58x58x128xf16>, %b: tensor<3x3x128x256xf16>) -> tensor<1x28x28x256xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x28x28x256xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x28x28x256xf32>) -> tensor<1x28x28x256xf32>
  %r = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
    ins(%a, %b : tensor<1x58x58x128xf16>, tensor<3x3x128x256xf16>)
    outs(%f : tensor<1x28x28x256xf32>) -> tensor<1x28x28x256xf32>
  return %r : tensor<1x28x28x256xf32>
}
"""
"""A convolution whose rows no tile of whole intrinsics divides."""


def too_wide() -> Candidate:
    """Return a configuration with a tile of 32 elements of a row of the image, which has 28."""
    layout = "#iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>"
    pipeline = "#iree_gpu.pipeline<TileAndFuse>"
    options = "prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false"
    return Candidate(
        pipeline,
        {},
        f"#iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{{mma_kind = {layout}, "
        f"promote_operands = [0, 1], reduction = [0, 0, 0, 8], subgroup = [4, 1, 1, 0], "
        f"workgroup = [4, 32, 32, 0]}}>, translation_info = <pipeline = {pipeline} "
        "workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = "
        f"#iree_gpu.pipeline_options<{options}, use_igemm_convolution = true>}}>>",
    )


def test_a_tile_beyond_a_row_of_the_image_is_refused_in_a_spec_alone() -> None:
    task = prepared(STRIDED, "cuda")
    candidate = too_wide()
    compiler = compiler_for(TARGETS["cuda"])
    measured = compiler.submit(task.template, candidate, 60.0).result()
    assert isinstance(measured, Benchmark)
    failure = WinnerVerification(task, compiler, 60.0).failure(candidate, measured)
    assert failure is not None
    assert "'tensor.expand_shape' op expected" in failure.message


def test_a_spec_for_the_compilers_choice_gives_its_binary() -> None:
    task = prepared(STRIDED, "cuda")
    compiler = compiler_for(TARGETS["cuda"])
    measured = compiler.submit(task.template, task.spaces.default, 60.0).result()
    assert isinstance(measured, Benchmark)
    verification = WinnerVerification(task, compiler, 60.0)
    assert verification.failure(task.spaces.default, measured) is None
    other = Benchmark(b"other", measured.function, measured.layout)
    failure = verification.failure(task.spaces.default, other)
    assert failure is not None
    assert failure.message == "the binaries differ"
