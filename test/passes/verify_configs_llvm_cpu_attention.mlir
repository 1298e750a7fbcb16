// RUN: tuninglink-opt --verify-diagnostics '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' %s

// Attention and normalizations on llvm-cpu.

#x86_64 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", native_vector_size = 16 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>
#znver4 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "znver4", cpu_features = "+avx,+avx2,+avx512f", native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>
#aarch64 = #hal.executable.target<"llvm-cpu", "embedded-elf-arm_64", {cpu = "generic", cpu_features = "+neon", native_vector_size = 16 : i64, target_triple = "aarch64-unknown-unknown-eabi-elf"}>
#query = affine_map<(b, m, k, l, n) -> (b, m, k)>
#key = affine_map<(b, m, k, l, n) -> (b, l, k)>
#value = affine_map<(b, m, k, l, n) -> (b, l, n)>
#scale = affine_map<(b, m, k, l, n) -> ()>
#out = affine_map<(b, m, k, l, n) -> (b, m, n)>
#rows = affine_map<(i, j) -> (i)>
#all = affine_map<(i, j) -> (i, j)>

// One pipeline lowers attention.
func.func @attention(%query: tensor<4x64x64xf16>, %key: tensor<4x128x64xf16>, %value: tensor<4x128x64xf16>, %scale: f16, %init: tensor<4x64x64xf16>) -> tensor<4x64x64xf16>
    attributes {hal.executable.target = #znver4} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<LinalgExtTileAndVectorize>}}
  %result = iree_linalg_ext.attention <{indexing_maps = [#query, #key, #value, #scale, #out]}> {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [1, 32, 0, 0, 32], vector_common_parallel = [1, 4, 0, 0, 16], vector_reduction = [0, 0, 0, 8, 0]>, translation_info = <pipeline = #iree_cpu.pipeline<LinalgExtTileAndVectorize>>>}
      ins(%query, %key, %value, %scale : tensor<4x64x64xf16>, tensor<4x128x64xf16>, tensor<4x128x64xf16>, f16) outs(%init : tensor<4x64x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x64x64xf16>
  return %result : tensor<4x64x64xf16>
}

// The others do not.
func.func @attention_elsewhere(%query: tensor<4x64x64xf16>, %key: tensor<4x128x64xf16>, %value: tensor<4x128x64xf16>, %scale: f16, %init: tensor<4x64x64xf16>) -> tensor<4x64x64xf16>
    attributes {hal.executable.target = #znver4} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: this pipeline does not lower attention}}
  // expected-note@+1 {{there is no valid configuration in this pipeline}}
  %result = iree_linalg_ext.attention <{indexing_maps = [#query, #key, #value, #scale, #out]}> {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [1, 32, 0, 0, 32], vector_common_parallel = [1, 4, 0, 0, 16], vector_reduction = [0, 0, 0, 8, 0]>, translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>}
      ins(%query, %key, %value, %scale : tensor<4x64x64xf16>, tensor<4x128x64xf16>, tensor<4x128x64xf16>, f16) outs(%init : tensor<4x64x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x64x64xf16>
  return %result : tensor<4x64x64xf16>
}

// The loops of each product are one vector.
func.func @large_product(%query: tensor<4x64x64xf16>, %key: tensor<4x128x64xf16>, %value: tensor<4x128x64xf16>, %scale: f16, %init: tensor<4x64x64xf16>) -> tensor<4x64x64xf16>
    attributes {hal.executable.target = #znver4} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<LinalgExtTileAndVectorize>: the vector of the product of query and key has 1x4x64x32 elements of 32 bits, and must be smaller than 32768 bytes}}
  // expected-note@+1 {{the nearest valid configuration:}}
  %result = iree_linalg_ext.attention <{indexing_maps = [#query, #key, #value, #scale, #out]}> {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [1, 32, 0, 0, 32], vector_common_parallel = [1, 4, 0, 0, 16], vector_reduction = [0, 0, 0, 32, 0]>, translation_info = <pipeline = #iree_cpu.pipeline<LinalgExtTileAndVectorize>>>}
      ins(%query, %key, %value, %scale : tensor<4x64x64xf16>, tensor<4x128x64xf16>, tensor<4x128x64xf16>, f16) outs(%init : tensor<4x64x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x64x64xf16>
  return %result : tensor<4x64x64xf16>
}

// Also where vectors are smaller.
func.func @large_product_aarch64(%query: tensor<4x64x64xf16>, %key: tensor<4x128x64xf16>, %value: tensor<4x128x64xf16>, %scale: f16, %init: tensor<4x64x64xf16>) -> tensor<4x64x64xf16>
    attributes {hal.executable.target = #aarch64} {
  // expected-error@+2 {{the vector of the product of query and key has 1x4x64x8 elements of 32 bits, and must be smaller than 8192 bytes}}
  // expected-note@+1 {{the nearest valid configuration:}}
  %result = iree_linalg_ext.attention <{indexing_maps = [#query, #key, #value, #scale, #out]}> {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [1, 32, 0, 0, 32], vector_common_parallel = [1, 4, 0, 0, 16], vector_reduction = [0, 0, 0, 8, 0]>, translation_info = <pipeline = #iree_cpu.pipeline<LinalgExtTileAndVectorize>>>}
      ins(%query, %key, %value, %scale : tensor<4x64x64xf16>, tensor<4x128x64xf16>, tensor<4x128x64xf16>, f16) outs(%init : tensor<4x64x64xf16>) {
  ^bb0(%score: f32):
    iree_linalg_ext.yield %score : f32
  } -> tensor<4x64x64xf16>
  return %result : tensor<4x64x64xf16>
}

// What follows a reduction has the rest of its loops in one vector, as a spec configures the reduction only.
func.func @normalization(%input: tensor<256x1000xf32>, %init: tensor<256xf32>, %out: tensor<256x1000xf32>) -> tensor<256x1000xf32>
    attributes {hal.executable.target = #znver4} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %sum = linalg.generic {
      indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]
    } ins(%input : tensor<256x1000xf32>) outs(%init : tensor<256xf32>) attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [32, 0], vector_common_parallel = [4, 0], vector_reduction = [0, 16]>, translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>} {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<256xf32>
  %result = linalg.generic {
      indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]
    } ins(%input, %sum : tensor<256x1000xf32>, tensor<256xf32>) outs(%out : tensor<256x1000xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.divf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<256x1000xf32>
  return %result : tensor<256x1000xf32>
}

// That may be too large.
func.func @long_normalization(%input: tensor<256x8000xf32>, %init: tensor<256xf32>, %out: tensor<256x8000xf32>) -> tensor<256x8000xf32>
    attributes {hal.executable.target = #znver4} {
  // expected-remark@+1 {{the configuration was not decided: the compiler may refuse it: the vectors of 'linalg.generic' may have 8000x4 elements of 32 bits, and must be smaller than 32768 bytes}}
  %sum = linalg.generic {
      indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]
    } ins(%input : tensor<256x8000xf32>) outs(%init : tensor<256xf32>) attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [32, 0], vector_common_parallel = [4, 0], vector_reduction = [0, 16]>, translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>} {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.addf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<256xf32>
  %result = linalg.generic {
      indexing_maps = [#all, #rows, #all], iterator_types = ["parallel", "parallel"]
    } ins(%input, %sum : tensor<256x8000xf32>, tensor<256xf32>) outs(%out : tensor<256x8000xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.divf %x, %y : f32
    linalg.yield %0 : f32
  } -> tensor<256x8000xf32>
  return %result : tensor<256x8000xf32>
}

// A pipeline for copies between buffers takes no tensors.
func.func @tensors(%input: tensor<256x64xf32>, %init: tensor<256x64xf32>) -> tensor<256x64xf32>
    attributes {hal.executable.target = #znver4} {
  // expected-error@+2 {{this pipeline is for operations on buffers, and this one is on tensors}}
  // expected-note@+1 {{there is no valid configuration in this pipeline}}
  %result = linalg.generic {
      indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]
    } ins(%input : tensor<256x64xf32>) outs(%init : tensor<256x64xf32>) attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [32, 32], vector_common_parallel = [1, 16]>, translation_info = <pipeline = #iree_cpu.pipeline<BufferOpsTileAndVectorize>>>} {
  ^bb0(%x: f32, %y: f32):
    linalg.yield %x : f32
  } -> tensor<256x64xf32>
  return %result : tensor<256x64xf32>
}

// A maximum of f16 elements calls a function that does not exist, whatever the configuration.
func.func @half_maximum(%input: tensor<256x1000xf16>, %init: tensor<256xf16>) -> tensor<256xf16>
    attributes {hal.executable.target = #znver4} {
  // expected-remark@+1 {{the configuration was not decided: a maximum of f16 elements becomes a call of a function that is not linked}}
  %result = linalg.generic {
      indexing_maps = [#all, #rows], iterator_types = ["parallel", "reduction"]
    } ins(%input : tensor<256x1000xf16>) outs(%init : tensor<256xf16>) attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [32, 0], vector_common_parallel = [4, 0], vector_reduction = [0, 16]>, translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>} {
  ^bb0(%x: f16, %y: f16):
    %0 = arith.maxnumf %x, %y : f16
    linalg.yield %0 : f16
  } -> tensor<256xf16>
  return %result : tensor<256xf16>
}
