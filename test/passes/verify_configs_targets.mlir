// What is said about configurations of a matmul, for each target: the same cases, with the words of the target.

// DEFINE: %{verify} = tuninglink-opt --verify-diagnostics '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' -
// DEFINE: %{target} =
// DEFINE: %{words} =
// DEFINE: %{check} = sed %s -e '%{words}' -e 's|#target\b|#%{target}|' -e 's|// [^:]*%{target}[^:]*: \([a-z]*\) {{|// expected-\1@below {{|' -e '/^ *\/\/ [a-z0-9_,]*: [a-z]* {{/d' | %{verify}

// REDEFINE: %{target} = gfx942
// REDEFINE: %{words} = s/INTRINSIC/MFMA_F32_16x16x16_F16/g; s/FOREIGN/WMMAR3_F32_16x16x16_F16/g; s/SUBGROUPS/1/g; s/SUBGROUP/64/g; s/THREADS/256/g; s/TILE/128/g
// RUN: %{check}
// REDEFINE: %{target} = gfx1100
// REDEFINE: %{words} = s/INTRINSIC/WMMAR3_F32_16x16x16_F16/g; s/FOREIGN/MFMA_F32_16x16x16_F16/g; s/SUBGROUPS/2/g; s/SUBGROUP/32/g; s/THREADS/128/g; s/TILE/128/g
// RUN: %{check}
// REDEFINE: %{target} = gfx1201
// REDEFINE: %{words} = s/INTRINSIC/WMMAR4_F32_16x16x16_F16/g; s/FOREIGN/MFMA_F32_16x16x16_F16/g; s/SUBGROUPS/2/g; s/SUBGROUP/32/g; s/THREADS/128/g; s/TILE/128/g
// RUN: %{check}
// REDEFINE: %{target} = sm_80
// REDEFINE: %{words} = s/INTRINSIC/NV_MMA_SYNC_F32_16x8x16_F16/g; s/FOREIGN/MFMA_F32_16x16x16_F16/g; s/SUBGROUPS/2/g; s/SUBGROUP/32/g; s/THREADS/128/g; s/TILE/64/g
// RUN: %{check}

#gfx942 = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx942", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>, <MFMA_F32_32x32x8_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#gfx1100 = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1100", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#gfx1201 = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx1201", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR4_F32_16x16x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#sm_80 = #hal.executable.target<"cuda", "cuda-nvptx-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "sm_80", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<NV_MMA_SYNC_F32_16x8x16_F16>], subgroup_size_choices = [32], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 166912, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>
#tile_and_fuse = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [THREADS, 1, 1] subgroup_size = SUBGROUP, {gpu_pipeline_options = #options}>
#vector_distribute = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = SUBGROUP, {gpu_pipeline_options = #options}>
!lhs = tensor<2048x5120xf16>
!rhs = tensor<5120x1280xf16>
!out = tensor<2048x1280xf32>

// The choice of the compiler.
func.func @tile_and_fuse(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // gfx942: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx942: note {{the nearest valid configuration: subgroup[0]: 4 -> 2, workgroup[1]: 128 -> 64}}
  // gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx1100,gfx1201: note {{the nearest valid configuration: workgroup[1]: 128 -> 64, subgroup[1]: 4 -> 2}}
  // sm_80: remark {{the configuration was not decided: only the compiler's own constraints cover it, which accept what does not compile}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// One of many in the other pipeline.
func.func @vector_distribute(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #vector_distribute} {
  // expected-remark@below {{the configuration is valid in pipeline #iree_gpu.pipeline<VectorDistribute>}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[SUBGROUPS, 1, 1], [0, 1, 2]], workgroup = [128, 128, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A spec's annotation is checked before the compiler puts it in place, and decides.
func.func @compilation_info(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = SUBGROUP, {gpu_pipeline_options = #options}>} {
  // gfx942: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx942: note {{the nearest valid configuration: subgroup[0]: 4 -> 2, workgroup[1]: 128 -> 64}}
  // gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx1100,gfx1201: note {{the nearest valid configuration: workgroup[1]: 128 -> 64, subgroup[1]: 4 -> 2}}
  // sm_80: remark {{the configuration was not decided: only the compiler's own constraints cover it, which accept what does not compile}}
  %result = linalg.matmul {
      compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [THREADS, 1, 1] subgroup_size = SUBGROUP, {gpu_pipeline_options = #options}>>,
      lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[SUBGROUPS, 1, 1], [0, 1, 2]], workgroup = [1, 1, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// The same annotation with a tile that divides nothing.
func.func @invalid_compilation_info(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target} {
  // gfx942: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: the 6 intrinsics that workgroup[0] takes must be divisible by subgroup[0] (4) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 96, subgroup[0] = 4]}}
  // gfx942: note {{violated as well: dimension 0 must be divisible by workgroup[0], or fit into it (2048 % 96 == 0) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 96, reduction[2] = 2]}}
  // gfx942: note {{the nearest valid configuration: workgroup[0]: 96 -> 64, subgroup[0]: 4 -> 2}}
  // gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: the 6 intrinsics that workgroup[0] takes must be divisible by subgroup[0] (4) [workgroup[0] = 96, subgroup[0] = 4]}}
  // gfx1100,gfx1201: note {{violated as well: dimension 0 must be divisible by workgroup[0], or fit into it (2048 % 96 == 0) [workgroup[0] = 96, reduction[2] = 2]}}
  // gfx1100,gfx1201: note {{the nearest valid configuration: workgroup[0]: 96 -> 64, subgroup[1]: 4 -> 2}}
  // sm_80: note {{violated as well: workgroup[0] must be divisible by subgroup[0] * mma_m (96 % 64 == 0) [workgroup[0] = 96, subgroup[0] = 4]}}
  // sm_80: note {{violated as well: prod(workgroup[m]) must be divisible by prod(subgroup[m]) * mma_m (96 % 64 == 0) [workgroup[0] = 96, subgroup[0] = 4]}}
  // sm_80: note {{violated as well: prod(workgroup[m]) == prod(subgroup[m]) * subgroup_basis[m] * mma_m [workgroup[0] = 96, subgroup[0] = 4]}}
  // sm_80: note {{the nearest valid configuration: workgroup[0]: 96 -> 128}}
  // sm_80: warning {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<TileAndFuse>: dim_0 must be divisible by workgroup[0] (2048 % 96 == 0) [workgroup[0] = 96]}}
  %result = linalg.matmul {
      compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [96, TILE, 0]}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [THREADS, 1, 1] subgroup_size = SUBGROUP, {gpu_pipeline_options = #options}>>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// The tile does not divide the dimension.
func.func @indivisible(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // gfx942: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: dimension 1 must be divisible by workgroup[1], or fit into it (1280 % 192 == 0) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[1] = 192, reduction[2] = 2]}}
  // gfx942: note {{violated as well: shared memory must suffice (118784 <= 65536 bytes) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 128, workgroup[1] = 192, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx942: note {{the nearest valid configuration: subgroup[0]: 4 -> 2, workgroup[1]: 192 -> 64}}
  // gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: dimension 1 must be divisible by workgroup[1], or fit into it (1280 % 192 == 0) [workgroup[1] = 192, reduction[2] = 2]}}
  // gfx1100,gfx1201: note {{violated as well: shared memory must suffice (118784 <= 65536 bytes) [workgroup[0] = 128, workgroup[1] = 192, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx1100,gfx1201: note {{the nearest valid configuration: workgroup[1]: 192 -> 64, subgroup[1]: 4 -> 2}}
  // sm_80: note {{violated as well: prod(workgroup[n]) == prod(subgroup[n]) * subgroup_basis[n] * mma_n [workgroup[1] = 192, subgroup[1] = 4]}}
  // sm_80: note {{violated as well: workgroup_size[0] == total_threads [subgroup_size = 32, workgroup_size[0] = 128]}}
  // sm_80: note {{the nearest valid configuration: workgroup[1]: 192 -> 64}}
  // sm_80: warning {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<TileAndFuse>: dim_1 must be divisible by workgroup[1] (1280 % 192 == 0) [workgroup[1] = 192]}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 192, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// More memory than a workgroup has.
func.func @memory(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #vector_distribute} {
  // gfx942,gfx1100,gfx1201,sm_80: note {{the nearest valid configuration: reduction[2]: 5120 -> 128}}
  // gfx942,gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<VectorDistribute>: shared memory must suffice (2621440 <= 65536 bytes) [workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 5120, promote_operands = [0, 1]]}}
  // sm_80: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<VectorDistribute>: shared memory must suffice (2621440 <= 166912 bytes) [workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 5120, promote_operands = [0, 1]]}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 5120], subgroup_basis = [[SUBGROUPS, 1, 1], [0, 1, 2]], workgroup = [128, 128, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// More threads than a workgroup has.
func.func @threads(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [2048, 1, 1] subgroup_size = SUBGROUP, {gpu_pipeline_options = #options}>} {
  // gfx942: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx942: note {{the nearest valid configuration: workgroup[1]: 128 -> 16, workgroup_size: 2048 -> 512}}
  // gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx1100,gfx1201: note {{the nearest valid configuration: workgroup[1]: 128 -> 16, workgroup_size: 2048 -> 256}}
  // sm_80: note {{violated as well: workgroup_size[0] == total_threads [subgroup_size = 32, workgroup_size[0] = 2048]}}
  // sm_80: note {{the nearest valid configuration: subgroup[1]: 1 -> 8, workgroup_size[0]: 2048 -> 256}}
  // sm_80: warning {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<TileAndFuse>: total_threads <= max_threads [subgroup_size = 32]}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [1, 1, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// An unknown pipeline.
func.func @unknown_pipeline(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<WinogradVectorize> workgroup_size = [THREADS, 1, 1] subgroup_size = SUBGROUP, {gpu_pipeline_options = #options}>} {
  // expected-remark@below {{the configuration was not decided: no constraints are known for contraction 2048x1280x5120 f16xf16xf32 in #iree_gpu.pipeline<WinogradVectorize>}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A pipeline of other targets.
func.func @pipeline_of_others(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert> workgroup_size = [THREADS, 1, 1] subgroup_size = SUBGROUP, {gpu_pipeline_options = #options}>} {
  // expected-remark@below {{the configuration was not decided: }}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// Without a translation there is no pipeline.
func.func @no_translation(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target} {
  // expected-remark@below {{the configuration was not decided: the function has no translation_info, so there is no pipeline}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A knob is missing.
func.func @missing_knob(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // expected-remark@below {{the configuration was not decided: the compiler's constraints cover configurations of another form: 'subgroup' is missing}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// The workgroup size is missing.
func.func @missing_workgroup_size(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> subgroup_size = SUBGROUP, {gpu_pipeline_options = #options}>} {
  // expected-remark@below {{the configuration was not decided: the compiler's constraints cover configurations of another form: 'workgroup_size' is missing}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// An entry that code generation does not read does not matter.
func.func @extra_knob(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #vector_distribute} {
  // expected-remark@below {{the configuration is valid in pipeline #iree_gpu.pipeline<VectorDistribute>}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[SUBGROUPS, 1, 1], [0, 1, 2]], workgroup = [128, 128, 0], unheard_of = 17 : i64}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// Missing sizes are zeros.
func.func @missing_sizes(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #vector_distribute} {
  // expected-remark@below {{the configuration is valid in pipeline #iree_gpu.pipeline<VectorDistribute>}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[SUBGROUPS, 1, 1], [0, 1, 2]], workgroup = [128, 128]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A knob that is text: the compiler takes the list as missing.
func.func @text(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // gfx942,gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (2686976 <= 65536 bytes)}}
  // gfx942,gfx1100,gfx1201: note {{the nearest valid configuration:}}
  // sm_80: remark {{the configuration was not decided: the compiler's constraints cover configurations of another form: 'reduction' is missing}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, "2"], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A knob that is a fraction: the compiler takes the list as missing.
func.func @fraction(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // gfx942,gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (2686976 <= 65536 bytes)}}
  // gfx942,gfx1100,gfx1201: note {{the nearest valid configuration:}}
  // sm_80: remark {{the configuration was not decided: the compiler's constraints cover configurations of another form: 'reduction' is missing}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2.0], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// More tile sizes than dimensions.
func.func @too_many(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // expected-remark@below {{the configuration was not decided: the compiler's constraints cover configurations of another form: 'workgroup' is [128, TILE, 1, 0]}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 1, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// An instruction that the target does not have.
func.func @other_instruction(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // expected-remark@below {{the configuration was not decided: the compiler's constraints cover configurations of another form: 'mma_kind' is #iree_gpu.mma_layout<FOREIGN>}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<FOREIGN>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A tile of nothing.
func.func @zero(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // gfx942: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (1187840 <= 65536 bytes) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 0 (all 2048), workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx942: note {{the nearest valid configuration: workgroup[0]: 0 (all 2048) -> 64, subgroup[0]: 4 -> 2}}
  // gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (1187840 <= 65536 bytes) [workgroup[0] = 0 (all 2048), workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx1100,gfx1201: note {{the nearest valid configuration: workgroup[0]: 0 (all 2048) -> 64, subgroup[1]: 4 -> 2}}
  // sm_80: note {{violated as well: workgroup[0] >= mma_m [workgroup[0] = 0]}}
  // sm_80: note {{violated as well: prod(workgroup[m]) == prod(subgroup[m]) * subgroup_basis[m] * mma_m [workgroup[0] = 0, subgroup[0] = 4]}}
  // sm_80: note {{violated as well: subgroup_basis[m] >= 1}}
  // sm_80: note {{the nearest valid configuration: workgroup[0]: 0 -> 128}}
  // sm_80: warning {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<TileAndFuse>: workgroup[0] >= 1 [workgroup[0] = 0]}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [0, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A tile of less than nothing.
func.func @negative(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #vector_distribute} {
  // gfx942: note {{violated as well: subgroup[m] >= 1 [workgroup[0] = -64, subgroup_basis[0] = 1, mma_kind = #iree_gpu.mma_layout<INTRINSIC>]}}
  // gfx942: note {{the nearest valid configuration: workgroup[0]: -64 -> 16}}
  // gfx942: warning {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<VectorDistribute>: workgroup[0] >= mma_m [workgroup[0] = -64, mma_kind = #iree_gpu.mma_layout<INTRINSIC>]}}
  // gfx1100,gfx1201,sm_80: note {{violated as well: subgroup[m] >= 1 [workgroup[0] = -64, subgroup_basis[0] = 2]}}
  // gfx1100,gfx1201,sm_80: note {{the nearest valid configuration: workgroup[0]: -64 -> 32}}
  // gfx1100,gfx1201,sm_80: warning {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<VectorDistribute>: workgroup[0] >= mma_m [workgroup[0] = -64]}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[SUBGROUPS, 1, 1], [0, 1, 2]], workgroup = [-64, 128, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A tile that is larger than anything.
func.func @huge(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // gfx942: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (1187840 <= 65536 bytes) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 4611686018427387904, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx942: note {{the nearest valid configuration: workgroup[0]: 4611686018427387904 -> 64, subgroup[0]: 4 -> 2}}
  // gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (1187840 <= 65536 bytes) [workgroup[0] = 4611686018427387904, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx1100,gfx1201: note {{the nearest valid configuration: workgroup[0]: 4611686018427387904 -> 64, subgroup[1]: 4 -> 2}}
  // sm_80: note {{violated as well: workgroup[0] <= dim_0 [workgroup[0] = 4611686018427387904]}}
  // sm_80: note {{violated as well: prod(workgroup[m]) <= 512 (max_vgprs) [workgroup[0] = 4611686018427387904]}}
  // sm_80: note {{violated as well: prod(workgroup[m]) == prod(subgroup[m]) * subgroup_basis[m] * mma_m [workgroup[0] = 4611686018427387904, subgroup[0] = 4]}}
  // sm_80: note {{violated as well: subgroup_basis[n] >= 1}}
  // sm_80: note {{violated as well: sg_num <= 10}}
  // sm_80: note {{violated as well: shared memory must fit in workgroup memory [workgroup[0] = 4611686018427387904, workgroup[1] = 64, reduction[2] = 2]}}
  // sm_80: note {{the nearest valid configuration: workgroup[0]: 4611686018427387904 -> 128}}
  // sm_80: warning {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<TileAndFuse>: dim_0 must be divisible by workgroup[0] (2048 % 4611686018427387904 == 0) [workgroup[0] = 4611686018427387904]}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [4611686018427387904, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A dynamic shape.
func.func @dynamic(%lhs: tensor<?x5120xf16>, %rhs: tensor<5120x1280xf16>, %init: tensor<?x1280xf32>) -> tensor<?x1280xf32>
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // expected-remark@below {{the configuration was not decided: }}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : tensor<?x5120xf16>, tensor<5120x1280xf16>) outs(%init : tensor<?x1280xf32>) -> tensor<?x1280xf32>
  return %result : tensor<?x1280xf32>
}

// An empty one.
func.func @empty(%lhs: tensor<0x5120xf16>, %rhs: tensor<5120x1280xf16>, %init: tensor<0x1280xf32>) -> tensor<0x1280xf32>
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // expected-remark@below {{the configuration was not decided: }}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : tensor<0x5120xf16>, tensor<5120x1280xf16>) outs(%init : tensor<0x1280xf32>) -> tensor<0x1280xf32>
  return %result : tensor<0x1280xf32>
}

// One that is larger than any memory.
func.func @immense(%lhs: tensor<4611686018427387904x64xf16>, %rhs: tensor<64x1280xf16>, %init: tensor<4611686018427387904x1280xf32>) -> tensor<4611686018427387904x1280xf32>
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  // expected-remark@below {{the configuration was not decided: only the compiler's own constraints cover it, which accept what does not compile}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : tensor<4611686018427387904x64xf16>, tensor<64x1280xf16>) outs(%init : tensor<4611686018427387904x1280xf32>) -> tensor<4611686018427387904x1280xf32>
  return %result : tensor<4611686018427387904x1280xf32>
}

// Of two operations with a configuration, the one that gets it is checked.
func.func @two(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target, translation_info = #tile_and_fuse} {
  %first = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [96, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  // gfx942: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx942: note {{the nearest valid configuration: subgroup[0]: 4 -> 2, workgroup[1]: 128 -> 64}}
  // gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx1100,gfx1201: note {{the nearest valid configuration: workgroup[1]: 128 -> 64, subgroup[1]: 4 -> 2}}
  // sm_80: remark {{the configuration was not decided: only the compiler's own constraints cover it, which accept what does not compile}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%first : !out) -> !out
  return %result : !out
}

// Where a spec annotated two, both are checked.
func.func @two_annotated(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #target} {
  // gfx942: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: the 6 intrinsics that workgroup[0] takes must be divisible by subgroup[0] (4) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 96, subgroup[0] = 4]}}
  // gfx942: note {{violated as well: dimension 0 must be divisible by workgroup[0], or fit into it (2048 % 96 == 0) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 96, reduction[2] = 2]}}
  // gfx942: note {{the nearest valid configuration: workgroup[0]: 96 -> 64, subgroup[0]: 4 -> 2}}
  // gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: the 6 intrinsics that workgroup[0] takes must be divisible by subgroup[0] (4) [workgroup[0] = 96, subgroup[0] = 4]}}
  // gfx1100,gfx1201: note {{violated as well: dimension 0 must be divisible by workgroup[0], or fit into it (2048 % 96 == 0) [workgroup[0] = 96, reduction[2] = 2]}}
  // gfx1100,gfx1201: note {{the nearest valid configuration: workgroup[0]: 96 -> 64, subgroup[1]: 4 -> 2}}
  // sm_80: note {{violated as well: workgroup[0] must be divisible by subgroup[0] * mma_m (96 % 64 == 0) [workgroup[0] = 96, subgroup[0] = 4]}}
  // sm_80: note {{violated as well: prod(workgroup[m]) must be divisible by prod(subgroup[m]) * mma_m (96 % 64 == 0) [workgroup[0] = 96, subgroup[0] = 4]}}
  // sm_80: note {{violated as well: prod(workgroup[m]) == prod(subgroup[m]) * subgroup_basis[m] * mma_m [workgroup[0] = 96, subgroup[0] = 4]}}
  // sm_80: note {{the nearest valid configuration: workgroup[0]: 96 -> 128}}
  // sm_80: warning {{the compiler's own constraints would not choose the configuration in pipeline #iree_gpu.pipeline<TileAndFuse>: dim_0 must be divisible by workgroup[0] (2048 % 96 == 0) [workgroup[0] = 96]}}
  %first = linalg.matmul {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [96, TILE, 0]}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [THREADS, 1, 1] subgroup_size = SUBGROUP, {gpu_pipeline_options = #options}>>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  // gfx942: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [mma_kind = #iree_gpu.mma_layout<INTRINSIC>, workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx942: note {{the nearest valid configuration: subgroup[0]: 4 -> 2, workgroup[1]: 128 -> 64}}
  // gfx1100,gfx1201: error {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // gfx1100,gfx1201: note {{the nearest valid configuration: workgroup[1]: 128 -> 64, subgroup[1]: 4 -> 2}}
  // sm_80: remark {{the configuration was not decided: only the compiler's own constraints cover it, which accept what does not compile}}
  %result = linalg.matmul {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<INTRINSIC>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, TILE, 0]}>, translation_info = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [THREADS, 1, 1] subgroup_size = SUBGROUP, {gpu_pipeline_options = #options}>>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%first : !out) -> !out
  return %result : !out
}
