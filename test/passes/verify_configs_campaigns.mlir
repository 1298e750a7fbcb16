// RUN: tuninglink-opt --verify-diagnostics --split-input-file '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' %s

// Contradictions that campaigns on random programs have found.

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>, <WMMAR3_F32_16x16x16_BF16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>

// A tile beyond the batch takes no more shared memory than the batch.
func.func @beyond_the_batch(%lhs: tensor<3x512x160xf16>, %rhs: tensor<3x160x16xf16>, %empty: tensor<3x512x16xf32>) -> tensor<3x512x16xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x512x16xf32>) -> tensor<3x512x16xf32>
  // expected-warning@+2 {{dimension 0 must be divisible by workgroup[0] (3 % 6 == 0)}}
  // expected-note@+1 {{the nearest valid configuration: workgroup[0]: 6 -> 3}}
  %result = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<3x512x160xf16>, tensor<3x160x16xf16>) outs(%init : tensor<3x512x16xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR3_F32_16x16x16_F16>, promote_operands = [0], reduction = [0, 0, 0, 32], subgroup_basis = [[1, 16, 1, 1], [0, 1, 2, 3]], workgroup = [6, 256, 16, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<3x512x16xf32>
  return %result : tensor<3x512x16xf32>
}

// -----

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>, <WMMAR3_F32_16x16x16_BF16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>

// A subgroup with 3,072 instructions in a step takes more than a minute.
func.func @many_intrinsics(%lhs: tensor<6x320x256xbf16>, %rhs: tensor<6x256x256xbf16>, %empty: tensor<6x320x256xf32>) -> tensor<6x320x256xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [160, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<6x320x256xf32>) -> tensor<6x320x256xf32>
  // expected-warning@+2 {{the configuration may take minutes to compile in pipeline #iree_gpu.pipeline<VectorDistribute>: a thread must have at most 512 intrinsics in a step (3072 <= 512)}}
  // expected-note@+1 {{the nearest valid configuration: workgroup[0]: 6 -> 1}}
  %result = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<6x320x256xbf16>, tensor<6x256x256xbf16>) outs(%init : tensor<6x320x256xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR3_F32_16x16x16_BF16>, promote_operands = [], reduction = [0, 0, 0, 256], subgroup_basis = [[1, 5, 1, 1], [0, 1, 2, 3]], workgroup = [6, 320, 128, 0]}>} {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %wide_l = arith.extf %l : bf16 to f32
    %wide_r = arith.extf %r : bf16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<6x320x256xf32>
  return %result : tensor<6x320x256xf32>
}

// -----

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>, <WMMAR3_F32_16x16x16_BF16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>

// A reduction that is not tiled takes one step, in which a tile need not divide.
func.func @untiled_reduction(%lhs: tensor<160x96xf16>, %rhs: tensor<96x160xf16>, %empty: tensor<160x160xf32>) -> tensor<160x160xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [160, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<160x160xf32>) -> tensor<160x160xf32>
  // expected-warning@+6 {{dim_1 must be divisible by workgroup[1] (160 % 48 == 0)}}
  // expected-note@+5 {{violated as well: prod(workgroup[n]) == prod(subgroup[n]) * subgroup_basis[n] * mma_n}}
  // expected-note@+4 {{violated as well: reduction[2] >= 1}}
  // expected-note@+3 {{violated as well: workgroup_size[0] == total_threads}}
  // expected-note@+2 {{violated as well: a thread must have at most 4096 masked elements of operand 1 in a step (4608 <= 4096)}}
  // expected-note@+1 {{the nearest valid configuration: workgroup[1]: 48 -> 16, reduction[2]: 0 -> 1}}
  %result = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<160x96xf16>, tensor<96x160xf16>) outs(%init : tensor<160x160xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR3_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0], subgroup = [1, 1, 0], workgroup = [80, 48, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<160x160xf32>
  return %result : tensor<160x160xf32>
}

// -----

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>, <WMMAR3_F32_16x16x16_BF16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>

// Operands that are padded where they are used are read under masks, which takes a minute.
func.func @masked_reads(%lhs: tensor<8x2048xbf16>, %rhs: tensor<2048x1024xbf16>, %empty: tensor<8x1024xf32>) -> tensor<8x1024xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [928, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x1024xf32>) -> tensor<8x1024xf32>
  // expected-warning@+3 {{the configuration may take minutes to compile in pipeline #iree_gpu.pipeline<TileAndFuse>: a thread must have at most 32 masked reads of operand 0 in a step (51 <= 32)}}
  // expected-note@+2 {{violated as well: a thread must have at most 32 masked reads of operand 1 in a step (51 <= 32)}}
  // expected-note@+1 {{the nearest valid configuration: reduction[2]: 51 -> 32, padding[2]: 816 -> 512}}
  %result = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<8x2048xbf16>, tensor<2048x1024xbf16>) outs(%init : tensor<8x1024xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR3_F32_16x16x16_BF16>, padding = [464, 16, 816], promote_operands = [], reduction = [0, 0, 51], subgroup = [1, 1, 0], workgroup = [464, 16, 0]}>} {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %wide_l = arith.extf %l : bf16 to f32
    %wide_r = arith.extf %r : bf16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<8x1024xf32>
  return %result : tensor<8x1024xf32>
}

// -----

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>, <WMMAR3_F32_16x16x16_BF16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>

// Padding to more than the tiles lets subgroups share a tile that they do not divide.
func.func @padded_beyond(%lhs: tensor<8x192x96xf16>, %rhs: tensor<8x96x64xf16>, %empty: tensor<8x192x64xf32>) -> tensor<8x192x64xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x192x64xf32>) -> tensor<8x192x64xf32>
  // expected-remark@+1 {{dimension 0 must be padded to its tile (12 == 6)}}
  %result = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<8x192x96xf16>, tensor<8x96x64xf16>) outs(%init : tensor<8x192x64xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<WMMAR3_F32_16x16x16_F16>, padding = [12, 32, 32, 96], promote_operands = [0, 1], reduction = [0, 0, 0, 3], subgroup = [4, 1, 1, 0], workgroup = [6, 32, 32, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<8x192x64xf32>
  return %result : tensor<8x192x64xf32>
}

// -----

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx950", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x32_BF16>, <MFMA_F32_16x16x16_BF16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 163840, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>

// Direct loads of gfx950, as the compiler chooses them.
func.func @direct_loads(%lhs: tensor<2048x5120xbf16>, %rhs: tensor<1280x5120xbf16>, %empty: tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = true>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<TileAndFuse>}}
  %result = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xbf16>, tensor<1280x5120xbf16>) outs(%init : tensor<2048x1280xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x32_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.swizzle_operand<copy_config = #iree_gpu.use_global_load_dma, swizzle = #iree_codegen.xor_shuffle<64, 8>>, #iree_gpu.use_global_load_dma], reduction = [0, 0, 1], subgroup = [4, 4, 0], workgroup = [128, 128, 0]}>} {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %wide_l = arith.extf %l : bf16 to f32
    %wide_r = arith.extf %r : bf16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}

// -----

#target = #hal.executable.target<"rocm", "x", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx950", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x32_BF16>, <MFMA_F32_16x16x16_BF16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 163840, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>

// An intrinsic that reads four elements at a time cannot read what is swizzled by eight.
func.func @swizzled_by_eight(%lhs: tensor<2048x5120xbf16>, %rhs: tensor<1280x5120xbf16>, %empty: tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = true>}>} {
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
  // expected-remark@+1 {{operand 0 must be read by 8 elements along the reduction}}
  %result = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%lhs, %rhs : tensor<2048x5120xbf16>, tensor<1280x5120xbf16>) outs(%init : tensor<2048x1280xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.swizzle_operand<copy_config = #iree_gpu.use_global_load_dma, swizzle = #iree_codegen.xor_shuffle<64, 8>>, #iree_gpu.use_global_load_dma], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 128, 0]}>} {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %wide_l = arith.extf %l : bf16 to f32
    %wide_r = arith.extf %r : bf16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}
