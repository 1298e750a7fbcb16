// RUN: tuninglink-opt --verify-diagnostics --split-input-file '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' %s

// Configurations that were once called valid and do not compile, or the other way round.

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// Eight rows are padded to sixteen, so that the tile of the result is in shared memory, too.
func.func @padded_rows(%lhs: tensor<8x512xf16>, %rhs: tensor<1024x512xf16>, %empty: tensor<8x1024xf32>) -> tensor<8x1024xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (66048 <= 65536 bytes) [workgroup[0] = 16, workgroup[1] = 512, reduction[2] = 2, promote_operands = [0, 1]]}}
  // expected-note@+1 {{the nearest valid configuration: promote_operands: [0, 1] -> [0]}}
  %result = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<8x512xf16>, tensor<1024x512xf16>) outs(%init : tensor<8x1024xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR3_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [1, 4, 0], workgroup = [16, 512, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<8x1024xf32>
  return %result : tensor<8x1024xf32>
}

// -----

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// In half as many columns it fits.
func.func @padded_rows_fit(%lhs: tensor<8x512xf16>, %rhs: tensor<1024x512xf16>, %empty: tensor<8x1024xf32>) -> tensor<8x1024xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %result = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<8x512xf16>, tensor<1024x512xf16>) outs(%init : tensor<8x1024xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR3_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [1, 4, 0], workgroup = [16, 256, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<8x1024xf32>
  return %result : tensor<8x1024xf32>
}

// -----

#target = #hal.executable.target<"cuda", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>, <NV_MMA_SYNC_F16_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// The compiler's constraints let an intrinsic accumulate an f16 result in f32; code generation fails.
func.func @narrow_result(%lhs: tensor<256x512xf16>, %rhs: tensor<512x512xf16>, %empty: tensor<256x512xf16>) -> tensor<256x512xf16>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>} {
  %zero = arith.constant 0.0 : f16
  %init = linalg.fill ins(%zero : f16) outs(%empty : tensor<256x512xf16>) -> tensor<256x512xf16>
  // expected-error@+1 {{'mma_kind' is #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, which is for f16xf16xf32, not f16xf16xf16}}
  %result = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<256x512xf16>, tensor<512x512xf16>) outs(%init : tensor<256x512xf16>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 16, 0], workgroup = [128, 512, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f16):
    %product = arith.mulf %l, %r : f16
    %sum = arith.addf %o, %product : f16
    linalg.yield %sum : f16
  } -> tensor<256x512xf16>
  return %result : tensor<256x512xf16>
}

// -----

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// Without promotion_types, all threads promote together.
func.func @default_promotion(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %empty: tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  // expected-remark@+2 {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<VectorDistribute>: workgroup_size[0] <= workgroup[m] OR workgroup_size[0] <= workgroup[n] [workgroup[0] = 128, workgroup[1] = 128, workgroup_size[0] = 256]}}
  // expected-note@+1 {{the nearest valid configuration: workgroup[1]: 128 -> 256}}
  %result = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%init : tensor<2048x1280xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 128, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}

// -----

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// A tile of 130 does not divide 2048. It compiles, and no one would choose it.
func.func @tile_of_130(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %empty: tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  // expected-warning@+6 {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<VectorDistribute>: dim_0 must be divisible by workgroup[0] (2048 % 130 == 0) [workgroup[0] = 130]}}
  // expected-note@+5 {{violated as well: workgroup[0] must be divisible by mma_m (130 % 16 == 0) [workgroup[0] = 130, mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>]}}
  // expected-note@+4 {{violated as well: workgroup[0] must be divisible by (subgroup_basis[0] * mma_m * subgroup[m]) (130 % 128 == 0) [workgroup[0] = 130, subgroup_basis[0] = 2, mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>]}}
  // expected-note@+3 {{violated as well: lhs_tile_elements must be divisible by thread_count (8320 % 256 == 0) [workgroup[0] = 130, reduction[2] = 64, subgroup_basis[0] = 2, subgroup_basis[1] = 2, subgroup_size = 64]}}
  // expected-note@+2 {{violated as well: workgroup_size[0] <= workgroup[m] OR workgroup_size[0] <= workgroup[n] [workgroup[0] = 130, workgroup[1] = 128, workgroup_size[0] = 256]}}
  // expected-note@+1 {{the nearest valid configuration: workgroup[0]: 130 -> 256}}
  %result = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%init : tensor<2048x1280xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [130, 128, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}

// -----

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>

// gfx1100 has no instructions for elements of 8 bits.
func.func @narrow_elements(%lhs: tensor<64x64xf8E4M3FN>, %rhs: tensor<64x64xf8E4M3FN>, %empty: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: gfx1100 cannot convert f8E4M3FN}}
  // expected-note@+1 {{there is no valid configuration in this pipeline}}
  %result = linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>) outs(%init : tensor<64x64xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1], reduction = [0, 0, 16], thread = [4, 4, 0], workgroup = [32, 32, 0]}>} {
  ^bb0(%l: f8E4M3FN, %r: f8E4M3FN, %o: f32):
    %wide_l = arith.extf %l : f8E4M3FN to f32
    %wide_r = arith.extf %r : f8E4M3FN to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<64x64xf32>
  return %result : tensor<64x64xf32>
}
