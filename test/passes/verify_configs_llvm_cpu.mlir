// RUN: tuninglink-opt --verify-diagnostics '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' %s
// RUN: not tuninglink-opt --tuninglink-verify-configs=report-undecided=false %s -o - 2>&1 | filecheck %s

// The compiler has no constraints for llvm-cpu: these are our own. What they refute does not compile.

// Proposals are written out, with what is not tiled left out.
// CHECK-NOT: remark:
// CHECK:     error: the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: vector_common_parallel[2] must be 0
// CHECK:     note: the nearest valid configuration: vector_common_parallel[2]: 4 -> 0
// CHECK-NOT: remark:

#x86_64 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", native_vector_size = 16 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>
#without_size = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", target_triple = "x86_64-unknown-unknown-eabi-elf"}>
#znver4 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "znver4", cpu_features = "+avx,+avx2,+avx512f", native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>
#aarch64 = #hal.executable.target<"llvm-cpu", "embedded-elf-arm_64", {cpu = "generic", cpu_features = "+neon", native_vector_size = 16 : i64, target_triple = "aarch64-unknown-unknown-eabi-elf"}>
#sve = #hal.executable.target<"llvm-cpu", "embedded-elf-arm_64", {cpu = "neoverse-v1", cpu_features = "+neon,+sve", native_vector_size = 16 : i64, target_triple = "aarch64-unknown-unknown-eabi-elf"}>
#sme = #hal.executable.target<"llvm-cpu", "embedded-elf-arm_64", {cpu = "apple-m4", cpu_features = "+neon,+sme", native_vector_size = 16 : i64, target_triple = "aarch64-unknown-unknown-eabi-elf"}>
#rows = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>

// What the compiler chooses itself for x86-64.
func.func @chosen_for_x86_64(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<cache_parallel = [64, 64, 0], distribution = [64, 64, 0], vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// What it chooses for a CPU with wider vectors.
func.func @chosen_for_znver4(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #znver4, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 16]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// A reduction is tiled by a level for parallel loops.
func.func @reduction_in_parallel_level(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: vector_common_parallel[2] must be 0, as loop 2 is a reduction (4 == 0)}}
  // expected-note@+1 {{the nearest valid configuration: vector_common_parallel[2]: 4 -> 0}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 4, 4], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// A parallel loop is tiled by a level for reductions.
func.func @parallel_in_reduction_level(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: vector_reduction[1] must be 0, as loop 1 is parallel (2 == 0)}}
  // expected-note@+1 {{the nearest valid configuration: vector_reduction[1]: 2 -> 0}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 4, 0], vector_reduction = [0, 2, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// All loops under a vector tile count as one vector.
func.func @large_vector(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: the vector of all loops has 32x16x4 elements of 32 bits, and must be smaller than 8192 bytes}}
  // expected-note@+1 {{the nearest valid configuration: vector_common_parallel[1]: 16 -> 2}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [32, 16, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// The same is no problem where vectors are larger.
func.func @large_vector_elsewhere(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #znver4, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [32, 16, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// A loop without a tile is part of the vector as a whole.
func.func @untiled_reduction(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #znver4, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: the vector of all loops has 8x16x512 elements of 32 bits, and must be smaller than 32768 bytes}}
  // expected-note@+1 {{the nearest valid configuration: vector_reduction[2]: 0 -> 1}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 16, 0]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// Sizes are not negative.
func.func @negative(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: distribution[0] must not be negative (-64 >= 0)}}
  // expected-note@+1 {{the nearest valid configuration: distribution[0]: -64 -> 0}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [-64, 64, 0], vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// A tile may be larger than its loop.
func.func @huge(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [9223372036854775807, 64, 0], vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// A tile of zero leaves the loop as it is.
func.func @zero(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [0, 0, 0], vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// Sizes that are left out are zero.
func.func @short(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64], vector_common_parallel = [8, 4], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// There are no more loops than the operation has.
func.func @long(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration was not decided: tuninglink's CPU provider's constraints cover configurations of another form: 'distribution' has 4 sizes, and there are 3 loops}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0, 8], vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// The pipeline needs a separate level for workgroups.
func.func @empty(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+1 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: 'distribution' is missing}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// It does so whatever else there is.
func.func @without_distribution(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+1 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: 'distribution' is missing}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// The effect of this level is unknown.
func.func @unknown_level(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration was not decided: tuninglink's CPU provider's constraints cover configurations of another form: 'other' is not a level of tiling}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], other = [1, 2], vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// Nor what this option does.
func.func @unknown_option(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {other}>} {
  // expected-remark@+1 {{the configuration was not decided: tuninglink's CPU provider's constraints cover configurations of another form: 'other' is set}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// A scalable tile along the last dimension of all operands is a knob where the CPU has scalable vectors.
func.func @scalable(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #sve, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, [4], 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

func.func @scalable_rows(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #sve, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration was not decided: tuninglink's CPU provider's constraints cover configurations of another form: 'vector_common_parallel' has scalable sizes}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [[8], 4, 0], vector_reduction = [0, 0, 1]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// Other pipelines write masks for it that LLVM has no code for.
func.func @scalable_elsewhere(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #sve, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>} {
  // expected-remark@+1 {{the configuration was not decided: tuninglink's CPU provider's constraints cover configurations of another form: 'vector_common_parallel' has scalable sizes}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [48, 64, 0], vector_common_parallel = [6, [4], 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

func.func @no_scalable_vectors(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #aarch64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration was not decided: tuninglink's CPU provider's constraints cover configurations of another form: 'vector_common_parallel' has scalable sizes, and the target has no scalable vectors}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, [4], 0], vector_reduction = [0, 0, 1]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// The order of the loops is no knob.
func.func @interchange(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration was not decided: tuninglink's CPU provider's constraints cover configurations of another form: 'distribution' has an interchange}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = {sizes = [64, 64, 0], interchange = [1, 0, 2]}, vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// It names each loop once.
func.func @no_permutation(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+1 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: the interchange of 'distribution' does not name each of its loops once}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = {sizes = [64, 64, 0], interchange = [1, 1, 2]}, vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// Where tiles do not divide a loop, vectors have the configured size, and are masked.
func.func @masked(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: the vector of all loops has 16x16x16 elements of 32 bits, and must be smaller than 8192 bytes}}
  // expected-note@+1 {{the nearest valid configuration: vector_common_parallel[1]: 16 -> 4}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [60, 64, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// Without masks, such a loop is not vectorized: slow, but not invalid.
func.func @unmasked(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #aarch64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [60, 64, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// SME has masks, also on CPUs without SVE.
func.func @masked_by_sme(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #sme, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: the vector of all loops has 16x16x16 elements of 32 bits, and must be smaller than 8192 bytes}}
  // expected-note@+1 {{the nearest valid configuration:}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [60, 64, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// Without a native vector size, the compiler takes 8 bytes for it, half of that of x86-64.
func.func @without_vector_size(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #without_size, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: the vector of all loops has 8x16x8 elements of 32 bits, and must be smaller than 4096 bytes}}
  // expected-note@+1 {{the nearest valid configuration:}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 8]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// With SVE, the compiler peels this loop for ever.
func.func @endless(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #sve, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>} {
  // expected-remark@+1 {{the configuration was not decided: the compiler may refuse it: with peeling, cache_parallel[0] must not be larger than distribution[0] (128 <= 60)}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<cache_parallel = [128, 64, 0], distribution = [60, 64, 0], vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// How large a masked vector is without a configured size depends on what the compiler can tell.
func.func @unbounded(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration was not decided: the compiler may refuse it: the vectors of the operation may have 256x4x4 elements of 32 bits, and must be smaller than 8192 bytes}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [60, 64, 0], vector_common_parallel = [0, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// A dynamic loop gets masked vectors of the configured size.
func.func @dynamic(%lhs: tensor<?x?xf32>, %rhs: tensor<?x?xf32>, %init: tensor<?x?xf32>) -> tensor<?x?xf32>
    attributes {hal.executable.target = #znver4, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 16]>}
      ins(%lhs, %rhs : tensor<?x?xf32>, tensor<?x?xf32>) outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %result : tensor<?x?xf32>
}

// And they can be too large.
func.func @dynamic_large(%lhs: tensor<?x?xf32>, %rhs: tensor<?x?xf32>, %init: tensor<?x?xf32>) -> tensor<?x?xf32>
    attributes {hal.executable.target = #znver4, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: the vector of all loops has 64x64x16 elements of 32 bits, and must be smaller than 32768 bytes}}
  // expected-note@+1 {{the nearest valid configuration: vector_common_parallel[1]: 64 -> 4}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [64, 64, 0], vector_reduction = [0, 0, 16]>}
      ins(%lhs, %rhs : tensor<?x?xf32>, tensor<?x?xf32>) outs(%init : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %result : tensor<?x?xf32>
}

// Of the other pipelines less is known: what is refused, but not what makes sure.
func.func @other_pipeline(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Mmt4dTilingExpert>>} {
  // expected-remark@+1 {{the configuration was not decided: the effect of the tiles in this pipeline is not known well enough}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// Negative sizes are.
func.func @other_pipeline_negative(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Mmt4dTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<Mmt4dTilingExpert>: distribution[1] must not be negative (-64 >= 0)}}
  // expected-note@+1 {{no valid configuration was found in time: the effect of the tiles in this pipeline is not known well enough}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, -64, 0], vector_common_parallel = [8, 4, 0], vector_reduction = [0, 0, 4]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// The default pipeline makes no vectors.
func.func @default_pipeline(%lhs: tensor<256x512xf32>, %rhs: tensor<512x256xf32>, %init: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<Default>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<Default>}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [64, 64, 0]>}
      ins(%lhs, %rhs : tensor<256x512xf32>, tensor<512x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %result : tensor<256x256xf32>
}

// A reduction.
func.func @reduction(%input: tensor<256x1000xf32>, %init: tensor<256xf32>) -> tensor<256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.generic {
      indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]
    } ins(%input : tensor<256x1000xf32>) outs(%init : tensor<256xf32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [32, 0], vector_common_parallel = [4, 0], vector_reduction = [0, 4]>} {
  ^bb0(%x: f32, %y: f32):
    %sum = arith.addf %x, %y : f32
    linalg.yield %sum : f32
  } -> tensor<256xf32>
  return %result : tensor<256xf32>
}

// A reduction in one vector.
func.func @large_reduction(%input: tensor<256x1000xf32>, %init: tensor<256xf32>) -> tensor<256xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: the vector of all loops has 4x1000 elements of 32 bits, and must be smaller than 8192 bytes}}
  // expected-note@+1 {{the nearest valid configuration: vector_reduction[1]: 0 -> 1}}
  %result = linalg.generic {
      indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]
    } ins(%input : tensor<256x1000xf32>) outs(%init : tensor<256xf32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [32, 0], vector_common_parallel = [4, 0]>} {
  ^bb0(%x: f32, %y: f32):
    %sum = arith.addf %x, %y : f32
    linalg.yield %sum : f32
  } -> tensor<256xf32>
  return %result : tensor<256xf32>
}

// What reduces nothing.
func.func @elementwise(%input: tensor<256x1000xf32>, %init: tensor<256x1000xf32>) -> tensor<256x1000xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.generic {
      indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]
    } ins(%input : tensor<256x1000xf32>) outs(%init : tensor<256x1000xf32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [32, 100], vector_common_parallel = [1, 4]>} {
  ^bb0(%x: f32, %y: f32):
    %sum = arith.addf %x, %y : f32
    linalg.yield %sum : f32
  } -> tensor<256x1000xf32>
  return %result : tensor<256x1000xf32>
}

// In one vector.
func.func @large_elementwise(%input: tensor<256x1000xf32>, %init: tensor<256x1000xf32>) -> tensor<256x1000xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: the vector of all loops has 32x1000 elements of 32 bits, and must be smaller than 8192 bytes}}
  // expected-note@+1 {{the nearest valid configuration: vector_common_parallel[1]: 0 -> 1}}
  %result = linalg.generic {
      indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]
    } ins(%input : tensor<256x1000xf32>) outs(%init : tensor<256x1000xf32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [32, 0]>} {
  ^bb0(%x: f32, %y: f32):
    %sum = arith.addf %x, %y : f32
    linalg.yield %sum : f32
  } -> tensor<256x1000xf32>
  return %result : tensor<256x1000xf32>
}

// Another backend has a separate pipeline, which is unknown.
func.func @vmvx(%lhs: tensor<64x128xf32>, %rhs: tensor<128x96xf32>, %init: tensor<64x96xf32>) -> tensor<64x96xf32>
    attributes {hal.executable.target = #hal.executable.target<"vmvx", "vmvx-bytecode-fb">, translation_info = #iree_codegen.translation_info<pipeline = #iree_codegen.vmvx_pipeline>} {
  // expected-remark@+1 {{the configuration was not decided: no constraints are known for contraction 64x96x128 f32xf32xf32 in #iree_codegen.vmvx_pipeline}}
  %result = linalg.matmul {lowering_config = #iree_cpu.lowering_config<distribution = [64, 64, 0]>}
      ins(%lhs, %rhs : tensor<64x128xf32>, tensor<128x96xf32>) outs(%init : tensor<64x96xf32>) -> tensor<64x96xf32>
  return %result : tensor<64x96xf32>
}
