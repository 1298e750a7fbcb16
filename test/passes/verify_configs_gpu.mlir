// RUN: tuninglink-opt --verify-diagnostics --split-input-file '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' %s

// What our own constraints on GPUs say: the compiler crashes on batched contractions, and says nothing about
// types that the target has no intrinsic for. Everything is as the compiler configures it, or changed a little.

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// What the compiler chooses.
func.func @own_choice_gfx942(%lhs: tensor<4x64x128xf16>, %rhs: tensor<4x128x96xf16>, %empty: tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x64x128xf16>, tensor<4x128x96xf16>) outs(%init : tensor<4x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 2], subgroup = [0, 2, 1, 0], workgroup = [1, 64, 32, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// What the compiler chooses.
func.func @own_choice_gfx1100(%lhs: tensor<4x64x128xf16>, %rhs: tensor<4x128x96xf16>, %empty: tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x64x128xf16>, tensor<4x128x96xf16>) outs(%init : tensor<4x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR3_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 2], subgroup = [0, 2, 1, 0], workgroup = [1, 64, 32, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1201", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR4_F32_16x16x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// What the compiler chooses.
func.func @own_choice_gfx1201(%lhs: tensor<4x64x128xf16>, %rhs: tensor<4x128x96xf16>, %empty: tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x64x128xf16>, tensor<4x128x96xf16>) outs(%init : tensor<4x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR4_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 2], subgroup = [0, 2, 1, 0], workgroup = [1, 64, 32, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

// -----

#target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// What the compiler chooses.
func.func @own_choice_sm_80(%lhs: tensor<4x64x128xf16>, %rhs: tensor<4x128x96xf16>, %empty: tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x64x128xf16>, tensor<4x128x96xf16>) outs(%init : tensor<4x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 2], subgroup = [0, 2, 2, 0], workgroup = [1, 64, 32, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// Three matrices at a time do not divide four.
func.func @three_of_four(%lhs: tensor<4x64x128xf16>, %rhs: tensor<4x128x96xf16>, %empty: tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: dimension 0 must be divisible by workgroup[0], or fit into it (4 % 3 == 0) [mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, workgroup[0] = 3, reduction[3] = 2]}}
  // expected-note@+1 {{the nearest valid configuration: workgroup[0]: 3 -> 2}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x64x128xf16>, tensor<4x128x96xf16>) outs(%init : tensor<4x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 2], subgroup = [0, 2, 1, 0], workgroup = [3, 64, 32, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1201", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR4_F32_16x16x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// 128 is no multiple of three intrinsics.
func.func @uneven_reduction(%lhs: tensor<4x64x128xf16>, %rhs: tensor<4x128x96xf16>, %empty: tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: dimension 3, in whole intrinsics, must be divisible by reduction[3] intrinsics (128 % 48 == 0) [reduction[3] = 3]}}
  // expected-note@+1 {{the nearest valid configuration: reduction[3]: 3 -> 2}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x64x128xf16>, tensor<4x128x96xf16>) outs(%init : tensor<4x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR4_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 3], subgroup = [0, 2, 1, 0], workgroup = [1, 64, 32, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// The tiles do not fit into shared memory.
func.func @too_much_memory(%lhs: tensor<4x64x128xf16>, %rhs: tensor<4x128x96xf16>, %empty: tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (163840 <= 65536 bytes)}}
  // expected-note@+1 {{the nearest valid configuration: promote_operands: [0, 1] -> [0]}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x64x128xf16>, tensor<4x128x96xf16>) outs(%init : tensor<4x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR3_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 8], subgroup = [1, 2, 3, 0], workgroup = [4, 64, 96, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

// -----

#target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// 128 threads cannot share reading 48 rows evenly.
func.func @layout(%lhs: tensor<4x192x128xf16>, %rhs: tensor<4x128x96xf16>, %empty: tensor<4x192x96xf32>) -> tensor<4x192x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x192x96xf32>) -> tensor<4x192x96xf32>
  // expected-note@+2 {{the nearest valid configuration: promote_operands: [0, 1] -> [1]}}
  // expected-error@+1 {{the configuration is invalid in pipeline #iree_gpu.pipeline<VectorDistribute>: the 128 threads must be able to share reading the tile 1x48x32 of operand 0 evenly [workgroup[0] = 1, subgroup_basis[0] = 1, workgroup[1] = 48, subgroup_basis[1] = 1, reduction[3] = 32, workgroup_size = 128, promote_operands = [0, 1]]}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x192x128xf16>, tensor<4x128x96xf16>) outs(%init : tensor<4x192x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 32], subgroup_basis = [[1, 1, 4, 1], [0, 1, 2, 3]], workgroup = [1, 48, 32, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x192x96xf32>
  return %result : tensor<4x192x96xf32>
}

// -----

#target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// They can share 64.
func.func @layout_valid(%lhs: tensor<4x192x128xf16>, %rhs: tensor<4x128x96xf16>, %empty: tensor<4x192x96xf32>) -> tensor<4x192x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x192x96xf32>) -> tensor<4x192x96xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<VectorDistribute>}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x192x128xf16>, tensor<4x128x96xf16>) outs(%init : tensor<4x192x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 32], subgroup_basis = [[1, 1, 4, 1], [0, 1, 2, 3]], workgroup = [1, 64, 32, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x192x96xf32>
  return %result : tensor<4x192x96xf32>
}

// -----

#target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// f32 has no intrinsic: each thread computes a tile. This is the choice of the compiler.
func.func @single_threads(%lhs: tensor<4x64x128xf32>, %rhs: tensor<4x128x96xf32>, %empty: tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [8, 8, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x64x128xf32>, tensor<4x128x96xf32>) outs(%init : tensor<4x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 32], thread = [1, 1, 4, 0], workgroup = [1, 8, 32, 1]}>} {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %product = arith.mulf %l, %r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// There are 64 tiles for 32 threads.
func.func @too_few_threads(%lhs: tensor<4x64x128xf32>, %rhs: tensor<4x128x96xf32>, %empty: tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  // expected-note@+2 {{the nearest valid configuration: thread[1]: 1 -> 2}}
  // expected-warning@+1 {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<TileAndFuse>: a workgroup must have the threads that its tiles need (32 == 64) [workgroup[0] = 1, thread[0] = 1, workgroup[1] = 8, thread[1] = 1, workgroup[2] = 32, thread[2] = 4, workgroup_size = 32]}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x64x128xf32>, tensor<4x128x96xf32>) outs(%init : tensor<4x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 0, 32], thread = [1, 1, 4, 0], workgroup = [1, 8, 32, 1]}>} {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %product = arith.mulf %l, %r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// What is padded is what the tiles take.
func.func @padded(%lhs: tensor<4x64x128xf16>, %rhs: tensor<4x128x96xf16>, %empty: tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x64x128xf16>, tensor<4x128x96xf16>) outs(%init : tensor<4x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 2], subgroup = [0, 2, 1, 0], workgroup = [1, 64, 32, 0], padding = [1, 64, 32, 32]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

// -----

#target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// Sums that start from given values take part in shared memory.
func.func @given_sums(%lhs: tensor<4x64x128xf16>, %rhs: tensor<4x128x96xf16>, %empty: tensor<4x64x96xf32>) -> tensor<4x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<4x64x128xf16>, tensor<4x128x96xf16>) outs(%empty : tensor<4x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 2], subgroup = [0, 2, 1, 0], workgroup = [1, 64, 32, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<4x64x96xf32>
  return %result : tensor<4x64x96xf32>
}

// -----

#target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, k, n)>
#out = affine_map<(b, m, n, k) -> (b, m, n)>

// The number of matrices need not be known.
func.func @dynamic_batch(%lhs: tensor<?x64x128xf16>, %rhs: tensor<?x128x96xf16>, %empty: tensor<?x64x96xf32>) -> tensor<?x64x96xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x64x96xf32>) -> tensor<?x64x96xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<?x64x128xf16>, tensor<?x128x96xf16>) outs(%init : tensor<?x64x96xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 2], subgroup = [0, 2, 2, 0], workgroup = [1, 64, 32, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<?x64x96xf32>
  return %result : tensor<?x64x96xf32>
}

// -----

#target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#query = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#key = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#value = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#scale = affine_map<(b, m, n, k1, k2) -> ()>
#out = affine_map<(b, m, n, k1, k2) -> (b, m, n)>
#row = affine_map<(b, m, n, k1, k2) -> (b, m)>

// The compiler has no constraints on attention for cuda. This is what it chooses.
func.func @attention(%query: tensor<2x192x64xf16>, %key: tensor<2x128x64xf16>, %value: tensor<2x128x64xf16>, %scale: f16, %out: tensor<2x192x64xf32>, %max: tensor<2x192xf32>, %sum: tensor<2x192xf32>) -> tensor<2x192x64xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<VectorDistribute>}}
  %result:3 = iree_linalg_ext.online_attention <{
      indexing_maps = [#query, #key, #value, #scale, #out, #row, #row],
      decomposition_config = {
        qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>},
        pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}
      }
    }> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], workgroup = [1, 64, 32, 0, 0]}>}
      ins(%query, %key, %value, %scale : tensor<2x192x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x192x64xf32>, tensor<2x192xf32>, tensor<2x192xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x192x64xf32>, tensor<2x192xf32>, tensor<2x192xf32>
  return %result#0 : tensor<2x192x64xf32>
}

// -----

#target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#query = affine_map<(b, m, n, k1, k2) -> (b, m, k1)>
#key = affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>
#value = affine_map<(b, m, n, k1, k2) -> (b, k2, n)>
#scale = affine_map<(b, m, n, k1, k2) -> ()>
#out = affine_map<(b, m, n, k1, k2) -> (b, m, n)>
#row = affine_map<(b, m, n, k1, k2) -> (b, m)>

// 48 queries are no whole intrinsics of four subgroups.
func.func @attention_uneven(%query: tensor<2x192x64xf16>, %key: tensor<2x128x64xf16>, %value: tensor<2x128x64xf16>, %scale: f16, %out: tensor<2x192x64xf32>, %max: tensor<2x192xf32>, %sum: tensor<2x192xf32>) -> tensor<2x192x64xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32>} {
  // expected-note@+3 {{the nearest valid configuration: workgroup[1]: 48 -> 64}}
  // expected-note@+2 {{violated as well: workgroup[1] must be divisible by the part that the intrinsics of pv take at a time (48 % 64 == 0) [workgroup[1] = 48, subgroup_basis[1] = 4]}}
  // expected-warning@+1 {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<VectorDistribute>: workgroup[1] must be divisible by the part that the intrinsics of qk take at a time (48 % 64 == 0) [workgroup[1] = 48, subgroup_basis[1] = 4]}}
  %result:3 = iree_linalg_ext.online_attention <{
      indexing_maps = [#query, #key, #value, #scale, #out, #row, #row],
      decomposition_config = {
        qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>},
        pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 4]]}>}
      }
    }> {lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 64], workgroup = [1, 48, 32, 0, 0]}>}
      ins(%query, %key, %value, %scale : tensor<2x192x64xf16>, tensor<2x128x64xf16>, tensor<2x128x64xf16>, f16)
      outs(%out, %max, %sum : tensor<2x192x64xf32>, tensor<2x192xf32>, tensor<2x192xf32>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<2x192x64xf32>, tensor<2x192xf32>, tensor<2x192xf32>
  return %result#0 : tensor<2x192x64xf32>
}
