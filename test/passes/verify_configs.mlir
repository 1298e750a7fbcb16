// RUN: tuninglink-opt --verify-diagnostics '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' %s
// RUN: not tuninglink-opt '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-undecided=false follow-compiler=true})' %s -o - 2>&1 | filecheck %s

// The constraints are the compiler's own, which a separate process computes. Their verdicts for each target
// is in verify_configs_<target>.mlir.

// Followed, the compiler's verifier makes an error of what its constraints reject. Nothing but errors is said if
// so wanted, and the nearest valid configuration is given by the knobs that change.
// CHECK-NOT: remark:
// CHECK:     note: the nearest valid configuration: workgroup[0]: 96 -> 64, workgroup_size[0]: 384 -> 256{{$}}
// CHECK-NOT: remark:

#lhs = affine_map<(m, n, k) -> (m, k)>
#rhs = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
#options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>
#gfx942 = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#sm_80 = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>

// A configuration that the compiler chooses itself for gfx942.
func.func @tile_and_fuse_gfx942(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %init: tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    attributes {hal.executable.target = #gfx942, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #options}>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // expected-note@+1 {{the nearest valid configuration: subgroup[0]: 4 -> 2, workgroup[1]: 128 -> 64}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%init : tensor<2048x1280xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 128, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}

// The tile does not divide the dimension.
func.func @indivisible(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %init: tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    attributes {hal.executable.target = #gfx942, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [384, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #options}>} {
  // expected-note@+2 {{the nearest valid configuration: workgroup[0]: 96 -> 64, workgroup_size: 384 -> 256}}
  // expected-error@+1 {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: dimension 0 must be divisible by workgroup[0], or fit into it (2048 % 96 == 0) [mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, workgroup[0] = 96, reduction[2] = 2]}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%init : tensor<2048x1280xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [2, 4, 0], workgroup = [96, 128, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}

// More memory than a workgroup has.
func.func @too_much_memory(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %init: tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    attributes {hal.executable.target = #gfx942, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #options}>} {
  // expected-note@+2 {{the nearest valid configuration: reduction[2]: 128 -> 32}}
  // expected-error@+1 {{the configuration is invalid in pipeline #iree_gpu.pipeline<VectorDistribute>: shared memory must suffice (212992 <= 65536 bytes) [workgroup[0] = 512, workgroup[1] = 320, reduction[2] = 128, promote_operands = [0, 1]]}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%init : tensor<2048x1280xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [512, 320, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}

// The workgroup size is not that of the tiles: found through unknowns that are no knobs.
func.func @wrong_workgroup_size(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %init: tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    attributes {hal.executable.target = #sm_80, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #options}>} {
  // expected-note@+4 {{violated as well: prod(workgroup[n]) == prod(subgroup[n]) * subgroup_basis[n] * mma_n [workgroup[1] = 64, subgroup[1] = 4]}}
  // expected-note@+3 {{violated as well: workgroup_size[0] == total_threads [subgroup_size = 32, workgroup_size[0] = 256]}}
  // expected-note@+2 {{the nearest valid configuration: subgroup[1]: 4 -> 2}}
  // expected-warning@+1 {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<TileAndFuse>: prod(workgroup[m]) == prod(subgroup[m]) * subgroup_basis[m] * mma_m [workgroup[0] = 128, subgroup[0] = 4]}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%init : tensor<2048x1280xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 64, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}

// What the constraints need is missing.
func.func @incomplete(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %init: tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    attributes {hal.executable.target = #gfx942, translation_info = #iree_codegen.translation_info<
        pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #options}>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.pipeline<VectorDistribute>}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%init : tensor<2048x1280xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [256, 128, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}

// Without translation_info there is no pipeline.
func.func @no_pipeline(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %init: tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    attributes {hal.executable.target = #gfx942} {
  // expected-remark@+1 {{the configuration was not decided: the function has no translation_info, so there is no pipeline}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%init : tensor<2048x1280xf32>) attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 128, 0]}>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}

// What has no configuration is left alone.
func.func @not_configured(%lhs: tensor<64x128xf16>, %rhs: tensor<96x128xf16>, %init: tensor<64x96xf32>) -> tensor<64x96xf32>
    attributes {hal.executable.target = #gfx942} {
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<64x128xf16>, tensor<96x128xf16>) outs(%init : tensor<64x96xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<64x96xf32>
  return %result : tensor<64x96xf32>
}

// A spec's annotation is checked before the compiler has put it in place.
func.func @compilation_info(%lhs: tensor<2048x5120xf16>, %rhs: tensor<1280x5120xf16>, %init: tensor<2048x1280xf32>) -> tensor<2048x1280xf32>
    attributes {hal.executable.target = #gfx942} {
  // expected-error@+4 {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: the 22 intrinsics that workgroup[1] takes must be divisible by subgroup[1] (4) [mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, workgroup[1] = 340, subgroup[1] = 4]}}
  // expected-note@+3 {{violated as well: dimension 1 must be divisible by workgroup[1], or fit into it (1280 % 340 == 0) [mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, workgroup[1] = 340, reduction[2] = 2]}}
  // expected-note@+2 {{violated as well: shared memory must suffice (204032 <= 65536 bytes) [mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, workgroup[0] = 128, workgroup[1] = 340, reduction[2] = 2, promote_operands = [0, 1]]}}
  // expected-note@+1 {{the nearest valid configuration: workgroup[1]: 340 -> 80, subgroup[1]: 4 -> 1}}
  %result = linalg.generic {
      indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]
    } ins(%lhs, %rhs : tensor<2048x5120xf16>, tensor<1280x5120xf16>) outs(%init : tensor<2048x1280xf32>) attrs = {compilation_info = #iree_codegen.compilation_info<
      lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 340, 0]}>,
      translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [640, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #options}>>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<2048x1280xf32>
  return %result : tensor<2048x1280xf32>
}
