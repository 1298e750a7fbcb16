// RUN: tuninglink-opt --verify-diagnostics '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' %s

// What is said about convolutions, and about wrong results, for sm_80.

#target = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>
#vector_distribute = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #options}>
!image = tensor<2x66x66x640xf16>
!filters = tensor<3x3x640x640xf16>
!feature = tensor<2x64x64x640xf32>

// Threads read the tile of an operand together: 64 cannot share 320 columns of the filters.
func.func @uneven_filters(%image: !image, %filters: !filters, %init: !feature) -> !feature
    attributes {hal.executable.target = #target, translation_info = #vector_distribute} {
  // expected-note@+2 {{further requirements of code generation on a convolution in VectorDistribute are unknown}}
  // expected-error@+1 {{the 64 threads must be able to share reading the tile 1x1x32x320 of operand 1 evenly}}
  %result = linalg.conv_2d_nhwc_hwcf {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 32], subgroup_basis = [[1, 1, 1, 2, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 32, 320, 0, 0, 0]}>}
      ins(%image, %filters : !image, !filters) outs(%init : !feature) -> !feature
  return %result : !feature
}

// They can share 128. Whether that is enough is not known.
func.func @even_filters(%image: !image, %filters: !filters, %init: !feature) -> !feature
    attributes {hal.executable.target = #target, translation_info = #vector_distribute} {
  // expected-remark@+1 {{further requirements of code generation on a convolution in VectorDistribute are unknown}}
  %result = linalg.conv_2d_nhwc_hwcf {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 1, 1, 32], subgroup_basis = [[1, 1, 1, 2, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6]], workgroup = [1, 1, 32, 128, 0, 0, 0]}>}
      ins(%image, %filters : !image, !filters) outs(%init : !feature) -> !feature
  return %result : !feature
}

// Two subgroups share a sum of 32 lanes with a result each: no lane is left that adds up their parts.
#lanes = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #options}>
func.func @sums_of_subgroups(%lhs: tensor<8x256xf32>, %rhs: tensor<256x256xf32>, %init: tensor<8x256xf32>) -> tensor<8x256xf32>
    attributes {hal.executable.target = #target, translation_info = #lanes} {
  // expected-warning@+2 {{computes wrong results in pipeline #iree_gpu.pipeline<VectorDistribute>: subgroup_basis[2] must not be more than lane_basis[2] (2 <= 1)}}
  // expected-note@+1 {{workgroup_size: 64 -> 32, subgroup_basis[2]: 2 -> 1}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32, 1], [0, 1, 2]], partial_reduction = [0, 0, 8], subgroup_basis = [[1, 1, 2], [0, 1, 2]], thread = [0, 0, 4], workgroup = [1, 32, 0]}>}
      ins(%lhs, %rhs : tensor<8x256xf32>, tensor<256x256xf32>) outs(%init : tensor<8x256xf32>) -> tensor<8x256xf32>
  return %result : tensor<8x256xf32>
}

// Vectors along the image have channels in the place of columns.
#threads = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [4, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #options}>
func.func @a_row_of_channels(%image: tensor<4x16x14x14xf32>, %filters: tensor<32x16x3x3xf32>, %init: tensor<4x32x12x12xf32>) -> tensor<4x32x12x12xf32>
    attributes {hal.executable.target = #target, translation_info = #threads} {
  // expected-warning@+2 {{a thread must take one element of the image, one channel, or more than one element of the filter}}
  // expected-note@+1 {{nearest valid configuration}}
  %result = linalg.conv_2d_nchw_fchw {lowering_config = #iree_gpu.lowering_config<{promote_operands = [], promotion_types = [], reduction = [0, 0, 0, 0, 4, 1, 1], thread = [1, 4, 1, 2, 0, 0, 0], workgroup = [1, 8, 1, 4, 0, 0, 0]}>}
      ins(%image, %filters : tensor<4x16x14x14xf32>, tensor<32x16x3x3xf32>) outs(%init : tensor<4x32x12x12xf32>) -> tensor<4x32x12x12xf32>
  return %result : tensor<4x32x12x12xf32>
}

// 64 do not divide 49: a copy of the second operand has a row of what is behind it.
#padded = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #options}>
func.func @a_row_behind_an_operand(%lhs: tensor<3x64x49xf16>, %rhs: tensor<3x49x64xf16>) -> tensor<3x64x64xf32>
    attributes {hal.executable.target = #target, translation_info = #padded} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<3x64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<3x64x64xf32>) -> tensor<3x64x64xf32>
  // expected-warning@+2 {{padding[3] must divide dimension 3, as operand 1 is read beyond its end (49 % 64 == 0)}}
  // expected-note@+1 {{nearest valid configuration}}
  %result = linalg.batch_matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [1, 64, 64, 64], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 4], subgroup = [1, 2, 4, 0], workgroup = [1, 64, 64, 0]}>}
      ins(%lhs, %rhs : tensor<3x64x49xf16>, tensor<3x49x64xf16>) outs(%init : tensor<3x64x64xf32>) -> tensor<3x64x64xf32>
  return %result : tensor<3x64x64xf32>
}

// With one step, this compiles, and nearly all elements are wrong.
#uneven = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #options}>
func.func @uneven_rows(%lhs: tensor<50x32xf16>, %rhs: tensor<32x64xf16>) -> tensor<50x64xf32>
    attributes {hal.executable.target = #target, translation_info = #uneven} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<50x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<50x64xf32>) -> tensor<50x64xf32>
  // expected-warning@+2 {{computes wrong results in pipeline #iree_gpu.pipeline<TileAndFuse>: with one step, workgroup[0] must divide dimension 0, or cover it (50 % 16 == 0)}}
  // expected-note@+1 {{nearest valid configuration}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 2], subgroup = [1, 4, 0], workgroup = [16, 64, 0]}>}
      ins(%lhs, %rhs : tensor<50x32xf16>, tensor<32x64xf16>) outs(%init : tensor<50x64xf32>) -> tensor<50x64xf32>
  return %result : tensor<50x64xf32>
}

// Rows of the image are the innermost dimension of the result.
#swapped = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #options}>
func.func @rows_innermost(%image: tensor<8x512x784xf16>, %filter: tensor<128x512xf16>, %init: tensor<8x128x784xf32>) -> tensor<8x128x784xf32>
    attributes {hal.executable.target = #target, translation_info = #swapped} {
  // expected-warning@+2 {{computes wrong results in pipeline #iree_gpu.pipeline<TileAndFuse>: the innermost dimension of the result is an m dimension}}
  // expected-note@+1 {{only the compiler's own constraints cover it}}
  %result = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%image, %filter : tensor<8x512x784xf16>, tensor<128x512xf16>) outs(%init : tensor<8x128x784xf32>)
      attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 1], subgroup = [1, 1, 1, 0], workgroup = [8, 8, 16, 0]}>} {
  ^bb0(%x: f16, %y: f16, %sum: f32):
    %wide = arith.extf %x : f16 to f32
    %high = arith.extf %y : f16 to f32
    %product = arith.mulf %wide, %high : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<8x128x784xf32>
  return %result : tensor<8x128x784xf32>
}

// Threads distribute the reduction, and add to one result at the same time.
#added = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #options}>
func.func @threads_of_a_sum(%lhs: tensor<64x64xf32>, %rhs: tensor<64x64xf32>, %init: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {hal.executable.target = #target, translation_info = #added} {
  // expected-note@+2 {{contraction 64x64x64 f32xf32xf32 adds to given values, without an intrinsic}}
  // expected-warning@+1 {{computes wrong results in pipeline #iree_gpu.pipeline<TileAndFuse>: loop 2 is a reduction, and 'thread' has its threads add to one result at the same time}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{reduction = [0, 0, 8], thread = [1, 1, 4], workgroup = [8, 8, 0]}>}
      ins(%lhs, %rhs : tensor<64x64xf32>, tensor<64x64xf32>) outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %result : tensor<64x64xf32>
}
