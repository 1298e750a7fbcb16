// RUN: tuninglink-opt --verify-diagnostics --split-input-file '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' %s

// Configurations in the pipelines for Vulkan.

#target = #hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "rdna3", features = "spirv:v1.6,cap:Shader", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32, 64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.spirv_pipeline<CooperativeMatrixVectorize> workgroup_size = [64, 2, 1] subgroup_size = 32, {pipeline_depth = 1 : i64, store_stage = 0 : i64}>
// Cooperative matrices, as the compiler chooses them.
func.func @matrices(%lhs: tensor<128x256xf16>, %rhs: tensor<256x128xf16>, %out: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %zero = arith.constant 0.000000e+00 : f32
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<128x128xf32>) -> tensor<128x128xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.spirv_pipeline<CooperativeMatrixVectorize>}}
  %result = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%lhs, %rhs : tensor<128x256xf16>, tensor<256x128xf16>) outs(%start : tensor<128x128xf32>) attrs = {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[64, 64], [32, 32], [0, 0, 32], [16, 16, 16]]>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<128x128xf32>
  return %result : tensor<128x128xf32>
}

// -----

#target = #hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "rdna3", features = "spirv:v1.6,cap:Shader", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32, 64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.spirv_pipeline<CooperativeMatrixVectorize> workgroup_size = [64, 2, 1] subgroup_size = 32, {pipeline_depth = 1 : i64, store_stage = 0 : i64}>
// Steps are not whole matrices.
func.func @parts_of_matrices(%lhs: tensor<128x256xf16>, %rhs: tensor<256x128xf16>, %out: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %zero = arith.constant 0.000000e+00 : f32
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<128x128xf32>) -> tensor<128x128xf32>
  // expected-error@+2 {{reduction[2] must be whole matrices (8 % 16 == 0)}}
  // expected-note@+1 {{the nearest valid configuration: reduction[2]: 8 -> 16}}
  %result = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%lhs, %rhs : tensor<128x256xf16>, tensor<256x128xf16>) outs(%start : tensor<128x128xf32>) attrs = {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[64, 64], [32, 32], [0, 0, 8], [16, 16, 16]]>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<128x128xf32>
  return %result : tensor<128x128xf32>
}

// -----

#target = #hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "rdna3", features = "spirv:v1.6,cap:Shader", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32, 64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.spirv_pipeline<CooperativeMatrixVectorize> workgroup_size = [64, 2, 1] subgroup_size = 32, {pipeline_depth = 1 : i64, store_stage = 0 : i64}>
// The workgroup has fewer subgroups than its tiles, which computes parts of the result alone.
func.func @subgroups(%lhs: tensor<128x256xf16>, %rhs: tensor<256x128xf16>, %out: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %zero = arith.constant 0.000000e+00 : f32
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<128x128xf32>) -> tensor<128x128xf32>
  // expected-warning@+2 {{a workgroup must have the subgroups that its tiles have, along y (2 == 4)}}
  // expected-note@+1 {{the nearest valid configuration}}
  %result = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%lhs, %rhs : tensor<128x256xf16>, tensor<256x128xf16>) outs(%start : tensor<128x128xf32>) attrs = {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[128, 64], [32, 32], [0, 0, 32], [16, 16, 16]]>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<128x128xf32>
  return %result : tensor<128x128xf32>
}

// -----

#target = #hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "rdna3", features = "spirv:v1.6,cap:Shader", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32, 64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.spirv_pipeline<MatmulPromoteVectorize> workgroup_size = [8, 8, 1], {pipeline_depth = 2 : i64, store_stage = 0 : i64}>
// Operands in shared memory, in two stages.
func.func @promoted(%lhs: tensor<128x256xf16>, %rhs: tensor<256x128xf16>, %out: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %zero = arith.constant 0.000000e+00 : f32
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<128x128xf32>) -> tensor<128x128xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.spirv_pipeline<MatmulPromoteVectorize>}}
  %result = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%lhs, %rhs : tensor<128x256xf16>, tensor<256x128xf16>) outs(%start : tensor<128x128xf32>) attrs = {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[64, 64, 16]]>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<128x128xf32>
  return %result : tensor<128x128xf32>
}

// -----

#target = #hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "rdna3", features = "spirv:v1.6,cap:Shader", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32, 64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.spirv_pipeline<MatmulPromoteVectorize> workgroup_size = [1, 16, 1], {pipeline_depth = 2 : i64, store_stage = 0 : i64}>
// Threads along y alone are mapped to x.
func.func @one_column_of_threads(%lhs: tensor<128x256xf16>, %rhs: tensor<256x128xf16>, %out: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %zero = arith.constant 0.000000e+00 : f32
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<128x128xf32>) -> tensor<128x128xf32>
  // expected-error@+2 {{x must have several threads where y has (1, 16)}}
  // expected-note@+1 {{the nearest valid configuration}}
  %result = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%lhs, %rhs : tensor<128x256xf16>, tensor<256x128xf16>) outs(%start : tensor<128x128xf32>) attrs = {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[64, 64, 16]]>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<128x128xf32>
  return %result : tensor<128x128xf32>
}

// -----

#target = #hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "rdna3", features = "spirv:v1.6,cap:Shader", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32, 64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.spirv_pipeline<BaseVectorize> workgroup_size = [8, 4, 1]>
// Tiles of threads; a loop that is not tiled is whole.
func.func @threads(%lhs: tensor<128x256xf16>, %rhs: tensor<256x128xf16>, %out: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %zero = arith.constant 0.000000e+00 : f32
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<128x128xf32>) -> tensor<128x128xf32>
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_gpu.spirv_pipeline<BaseVectorize>}}
  %result = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%lhs, %rhs : tensor<128x256xf16>, tensor<256x128xf16>) outs(%start : tensor<128x128xf32>) attrs = {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[32, 64], [8, 8], [0, 0, 8]]>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<128x128xf32>
  return %result : tensor<128x128xf32>
}

// -----

#target = #hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", {iree_codegen.target_info = #iree_gpu.target<arch = "rdna3", features = "spirv:v1.6,cap:Shader", wgp = <compute = fp32|fp16|int32, storage = b32|b16, subgroup = shuffle|arithmetic, dot = none, mma = [<WMMAR3_F32_16x16x16_F16>], subgroup_size_choices = [32, 64], max_workgroup_sizes = [1024, 1024, 1024], max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 65536, max_workgroup_counts = [2147483647, 2147483647, 2147483647]>>}>
#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#translation = #iree_codegen.translation_info<pipeline = #iree_gpu.spirv_pipeline<BaseVectorize> workgroup_size = [2, 2, 1]>
// A thread computes too much.
func.func @long_threads(%lhs: tensor<128x256xf16>, %rhs: tensor<256x128xf16>, %out: tensor<128x128xf32>) -> tensor<128x128xf32> attributes {hal.executable.target = #target, translation_info = #translation} {
  %zero = arith.constant 0.000000e+00 : f32
  %start = linalg.fill ins(%zero : f32) outs(%out : tensor<128x128xf32>) -> tensor<128x128xf32>
  // expected-warning@+2 {{the configuration may take minutes to compile}}
  // expected-note@+1 {{the nearest valid configuration}}
  %result = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%lhs, %rhs : tensor<128x256xf16>, tensor<256x128xf16>) outs(%start : tensor<128x128xf32>) attrs = {lowering_config = #iree_codegen.lowering_config<tile_sizes = [[128, 128], [64, 64], [0, 0, 32]]>} {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %wide_l = arith.extf %l : f16 to f32
    %wide_r = arith.extf %r : f16 to f32
    %product = arith.mulf %wide_l, %wide_r : f32
    %sum = arith.addf %o, %product : f32
    linalg.yield %sum : f32
  } -> tensor<128x128xf32>
  return %result : tensor<128x128xf32>
}
