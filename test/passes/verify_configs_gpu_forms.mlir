// RUN: tuninglink-opt --verify-diagnostics --split-input-file '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' %s

// The forms of configurations that people and the compiler write for GPUs, beside plain intrinsics.

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d6)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>
// What the compiler chooses: a convolution as a contraction, and both are padded.
func.func @padded_convolution(%arg0: tensor<2x29x29x64xf16>, %arg1: tensor<3x3x64x128xf16>, %arg2: tensor<2x14x14x128xf32>) -> tensor<2x14x14x128xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = linalg.fill ins(%cst : f32) outs(%arg2 : tensor<2x14x14x128xf32>) -> tensor<2x14x14x128xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %1 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%arg0, %arg1 : tensor<2x29x29x64xf16>, tensor<3x3x64x128xf16>) outs(%0 : tensor<2x14x14x128xf32>) attrs =  {linalg.memoized_indexing_maps = [#map, #map1, #map2], lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, padding = [2, 2, 16, 128, 64], padding_conv = [2, 2, 16, 128, 0, 0, 0], promote_operands = [0, 1], reduction = [0, 0, 0, 0, 4], subgroup = [2, 2, 1, 1, 0], workgroup = [2, 2, 16, 128, 0]}>} {
  ^bb0(%in: f16, %in_0: f16, %out: f32):
    %2 = arith.extf %in : f16 to f32
    %3 = arith.extf %in_0 : f16 to f32
    %4 = arith.mulf %2, %3 : f32
    %5 = arith.addf %out, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<2x14x14x128xf32>
  return %1 : tensor<2x14x14x128xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
// What the compiler chooses: the lanes of a subgroup share the products.
func.func @few_rows(%arg0: tensor<4x2048xf16>, %arg1: tensor<4096x2048xf16>, %arg2: tensor<4x4096xf32>) -> tensor<4x4096xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = linalg.fill ins(%cst : f32) outs(%arg2 : tensor<4x4096xf32>) -> tensor<4x4096xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<VectorDistribute>}}
  %1 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<4x2048xf16>, tensor<4096x2048xf16>) outs(%0 : tensor<4x4096xf32>) attrs =  {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 64], [0, 1, 2]], partial_reduction = [0, 0, 512], subgroup_basis = [[1, 1, 1], [0, 1, 2]], thread = [0, 0, 8], workgroup = [4, 1, 0]}>} {
  ^bb0(%in: f16, %in_0: f16, %out: f32):
    %2 = arith.extf %in : f16 to f32
    %3 = arith.extf %in_0 : f16 to f32
    %4 = arith.mulf %2, %3 : f32
    %5 = arith.addf %out, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4x4096xf32>
  return %1 : tensor<4x4096xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
// The lanes are not those of a subgroup.
func.func @lanes_that_do_not_fit(%arg0: tensor<4x2048xf16>, %arg1: tensor<4096x2048xf16>, %arg2: tensor<4x4096xf32>) -> tensor<4x4096xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = linalg.fill ins(%cst : f32) outs(%arg2 : tensor<4x4096xf32>) -> tensor<4x4096xf32>
  // expected-warning@+2 {{the lanes of lane_basis must be those of a subgroup (32 == 64)}}
  // expected-note@+1 {{the nearest valid configuration:}}
  %1 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<4x2048xf16>, tensor<4096x2048xf16>) outs(%0 : tensor<4x4096xf32>) attrs =  {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 32], [0, 1, 2]], partial_reduction = [0, 0, 512], subgroup_basis = [[1, 1, 1], [0, 1, 2]], thread = [0, 0, 8], workgroup = [4, 1, 0]}>} {
  ^bb0(%in: f16, %in_0: f16, %out: f32):
    %2 = arith.extf %in : f16 to f32
    %3 = arith.extf %in_0 : f16 to f32
    %4 = arith.mulf %2, %3 : f32
    %5 = arith.addf %out, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<4x4096xf32>
  return %1 : tensor<4x4096xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
// What the compiler chooses: a virtual intrinsic for eight rows.
func.func @eight_rows(%arg0: tensor<8x512xf16>, %arg1: tensor<1024x512xf16>, %arg2: tensor<8x1024xf32>) -> tensor<8x1024xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = linalg.fill ins(%cst : f32) outs(%arg2 : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %1 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<8x512xf16>, tensor<1024x512xf16>) outs(%0 : tensor<8x1024xf32>) attrs =  {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.virtual_mma_layout<VDMFMA_F32_8x16x64x2_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [1, 2, 0], workgroup = [8, 64, 0]}>} {
  ^bb0(%in: f16, %in_0: f16, %out: f32):
    %2 = arith.extf %in : f16 to f32
    %3 = arith.extf %in_0 : f16 to f32
    %4 = arith.mulf %2, %3 : f32
    %5 = arith.addf %out, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<8x1024xf32>
  return %1 : tensor<8x1024xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2 + d5, d3)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 64>
// What the compiler chooses.
func.func @depthwise(%arg0: tensor<2x30x30x96xf16>, %arg1: tensor<3x3x96xf16>, %arg2: tensor<2x28x28x96xf16>) -> tensor<2x28x28x96xf16> attributes {hal.executable.target = #target, translation_info = #translation} {
  %cst = arith.constant 0.000000e+00 : f16
  %0 = linalg.fill ins(%cst : f16) outs(%arg2 : tensor<2x28x28x96xf16>) -> tensor<2x28x28x96xf16>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %1 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%arg0, %arg1 : tensor<2x30x30x96xf16>, tensor<3x3x96xf16>) outs(%0 : tensor<2x28x28x96xf16>) attrs =  {linalg.memoized_indexing_maps = [#map, #map1, #map2], lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 0, 3, 3], thread = [1, 1, 1, 1, 0, 0], workgroup = [1, 1, 2, 32, 0, 0]}>} {
  ^bb0(%in: f16, %in_0: f16, %out: f16):
    %2 = arith.mulf %in, %in_0 : f16
    %3 = arith.addf %out, %2 : f16
    linalg.yield %3 : f16
  } -> tensor<2x28x28x96xf16>
  return %1 : tensor<2x28x28x96xf16>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2, d3) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map2 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1)>
#map3 = affine_map<(d0, d1, d2, d3) -> ()>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 64, {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">}>
// What the compiler chooses.
func.func @one_query(%arg0: tensor<8x64xf16>, %arg1: tensor<8x1024x64xf16>, %arg2: tensor<8x1024x64xf16>, %arg3: f16, %arg4: tensor<8x64xf32>, %arg5: tensor<8xf32>, %arg6: tensor<8xf32>) -> (tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) attributes {hal.executable.target = #target, translation_info = #translation} {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = linalg.fill ins(%cst : f32) outs(%arg6 : tensor<8xf32>) -> tensor<8xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<VectorDistribute>}}
  %1:3 = iree_linalg_ext.online_attention <{indexing_maps = [#map, #map1, #map2, #map3, #map4, #map5, #map5], decomposition_config = {pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 64], [0, 2, 3]], subgroup_basis = [[1, 1, 1, 8], [0, 2, 3]], thread = [0, 8, 0]}>}, qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 64], [0, 2, 3]], subgroup_basis = [[1, 1, 1, 8], [0, 1, 3]], thread = [0, 8, 0]}>}}}> {lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 512], workgroup = [1, 16, 0, 0]}>} ins(%arg0, %arg1, %arg2, %arg3 : tensor<8x64xf16>, tensor<8x1024x64xf16>, tensor<8x1024x64xf16>, f16) outs(%arg4, %arg5, %0 : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%arg7: f32):
    iree_linalg_ext.yield %arg7 : f32
  } -> tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
  return %1#0, %1#1, %1#2 : tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>
// The intrinsic is for other types.
func.func @other_types(%arg0: tensor<154x2048xf16>, %arg1: tensor<640x2048xf16>, %arg2: tensor<154x640xf32>) -> tensor<154x640xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %cst = arith.constant 0.000000e+00 : f32
  %0 = linalg.fill ins(%cst : f32) outs(%arg2 : tensor<154x640xf32>) -> tensor<154x640xf32>
  // expected-error@+1 {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: 'mma_kind' is #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, which is for bf16xbf16xf32, not f16xf16xf32}}
  %1 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<154x2048xf16>, tensor<640x2048xf16>) outs(%0 : tensor<154x640xf32>) attrs =  {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, padding = [64, 128, 128], promote_operands = [0, 1], reduction = [0, 0, 8], subgroup = [2, 4, 0], workgroup = [64, 128, 0]}>} {
  ^bb0(%in: f16, %in_0: f16, %out: f32):
    %2 = arith.extf %in : f16 to f32
    %3 = arith.extf %in_0 : f16 to f32
    %4 = arith.mulf %2, %3 : f32
    %5 = arith.addf %out, %4 : f32
    linalg.yield %5 : f32
  } -> tensor<154x640xf32>
  return %1 : tensor<154x640xf32>
}
