// RUN: tuninglink-opt --verify-diagnostics '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' %s

// What is said about configurations for targets of which little or nothing is known.

#options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>
#tile_and_fuse = #iree_codegen.translation_info<pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 64, {gpu_pipeline_options = #options}>
!lhs = tensor<2048x5120xf16>
!rhs = tensor<5120x1280xf16>
!out = tensor<2048x1280xf32>

// An unknown architecture has the properties of its description.
func.func @described(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx9999", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<MFMA_F32_16x16x16_F16>], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>, translation_info = #tile_and_fuse} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_gpu.pipeline<TileAndFuse>: shared memory must suffice (81920 <= 65536 bytes) [workgroup[0] = 128, workgroup[1] = 128, reduction[2] = 2, promote_operands = [0, 1]]}}
  // expected-note@+1 {{the nearest valid configuration: workgroup[1]: 128 -> 64, subgroup[1]: 4 -> 2}}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 128, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A description without an instruction.
func.func @no_instructions(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "gfx9999", features = "", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [], subgroup_size_choices = [64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>, translation_info = #tile_and_fuse} {
  // expected-remark@+1 {{the configuration was not decided: }}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 128, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A target of which nothing is described.
func.func @not_described(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #hal.executable.target<"rocm", "rocm-hsaco-fb", {}>, translation_info = #tile_and_fuse} {
  // expected-remark@+1 {{the configuration was not decided: }}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 128, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// An unknown backend.
func.func @unknown_backend(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #hal.executable.target<"abacus", "wood">, translation_info = #tile_and_fuse} {
  // expected-remark@+1 {{the configuration was not decided: }}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 128, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// A CPU.
func.func @cpu(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", native_vector_size = 16 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>, translation_info = #tile_and_fuse} {
  // expected-remark@+1 {{the configuration was not decided: }}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 128, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// Not a target.
func.func @no_target_attribute(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {hal.executable.target = "gfx942", translation_info = #tile_and_fuse} {
  // expected-remark@+1 {{the configuration was not decided: }}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 128, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}

// No target at all.
func.func @no_target(%lhs: !lhs, %rhs: !rhs, %init: !out) -> !out
    attributes {translation_info = #tile_and_fuse} {
  // expected-remark@+1 {{the configuration was not decided: }}
  %result = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_16x16x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 2], subgroup = [4, 4, 0], workgroup = [128, 128, 0]}>}
      ins(%lhs, %rhs : !lhs, !rhs) outs(%init : !out) -> !out
  return %result : !out
}
