// RUN: tuninglink-opt --verify-diagnostics '--pass-pipeline=builtin.module(tuninglink-verify-configs{report-valid=true})' %s

// Convolutions on llvm-cpu: as the compiler configures them, and as specs find them.

#x86_64 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "generic", native_vector_size = 16 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>
#znver4 = #hal.executable.target<"llvm-cpu", "embedded-elf-x86_64", {cpu = "znver4", cpu_features = "+avx,+avx2,+avx512f", native_vector_size = 64 : i64, target_triple = "x86_64-unknown-unknown-eabi-elf"}>
#image = affine_map<(n, h, w, f, y, x, c) -> (n, h + y, w + x, c)>
#filter = affine_map<(n, h, w, f, y, x, c) -> (y, x, c, f)>
#map = affine_map<(n, h, w, f, y, x, c) -> (n, h, w, f)>
#lone_image = affine_map<(h, w, f, y, x, c) -> (h + y, w + x, c)>
#lone_filter = affine_map<(h, w, f, y, x, c) -> (y, x, c, f)>
#lone_map = affine_map<(h, w, f, y, x, c) -> (h, w, f)>
#depth_image = affine_map<(n, h, w, c, y, x) -> (n, h + y, w + x, c)>
#depth_filter = affine_map<(n, h, w, c, y, x) -> (y, x, c)>
#depth_map = affine_map<(n, h, w, c, y, x) -> (n, h, w, c)>
#unit_image = affine_map<(n, h, w, f, x, c) -> (n, h, w + x, c)>
#unit_filter = affine_map<(n, h, w, f, x, c) -> (x, c, f)>
#unit_map = affine_map<(n, h, w, f, x, c) -> (n, h, w, f)>

// A convolution, as the compiler configures it.
func.func @convolution(%lhs: tensor<2x18x18x16xf32>, %rhs: tensor<3x3x16x32xf32>, %init: tensor<2x16x16x32xf32>) -> tensor<2x16x16x32xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<ConvTileAndDecomposeExpert>}}
  %result = linalg.generic {
      indexing_maps = [#image, #filter, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
    } ins(%lhs, %rhs : tensor<2x18x18x16xf32>, tensor<3x3x16x32xf32>) outs(%init : tensor<2x16x16x32xf32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [0, 2, 16, 32, 0, 0, 0], vector_common_parallel = [1, 1, 4, 4, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 8]>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %product, %z : f32
    linalg.yield %sum : f32
  } -> tensor<2x16x16x32xf32>
  return %result : tensor<2x16x16x32xf32>
}

// A negative size, there as well.
func.func @convolution_negative(%lhs: tensor<2x18x18x16xf32>, %rhs: tensor<3x3x16x32xf32>, %init: tensor<2x16x16x32xf32>) -> tensor<2x16x16x32xf32>
    attributes {hal.executable.target = #x86_64, translation_info = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<ConvTileAndDecomposeExpert>: vector_common_parallel[1] must not be negative (-1 >= 0)}}
  // expected-note@+1 {{the nearest valid configuration: vector_common_parallel[1]: -1 -> 1}}
  %result = linalg.generic {
      indexing_maps = [#image, #filter, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
    } ins(%lhs, %rhs : tensor<2x18x18x16xf32>, tensor<3x3x16x32xf32>) outs(%init : tensor<2x16x16x32xf32>) attrs = {lowering_config = #iree_cpu.lowering_config<distribution = [0, 2, 16, 32, 0, 0, 0], vector_common_parallel = [1, -1, 4, 4, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 8]>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %product, %z : f32
    linalg.yield %sum : f32
  } -> tensor<2x16x16x32xf32>
  return %result : tensor<2x16x16x32xf32>
}

// A spec's configuration of a convolution without a batch loop is lost: the compiler adds the loop later. This
// pipeline takes anything.
func.func @convolution_without_batch(%lhs: tensor<18x18x16xf32>, %rhs: tensor<3x3x16x32xf32>, %init: tensor<16x16x32xf32>) -> tensor<16x16x32xf32>
    attributes {hal.executable.target = #x86_64} {
  // expected-remark@+1 {{the configuration was not decided: the compiler gives this operation a batch loop after it has read the configuration, and loses it}}
  %result = linalg.generic {
      indexing_maps = [#lone_image, #lone_filter, #lone_map], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
    } ins(%lhs, %rhs : tensor<18x18x16xf32>, tensor<3x3x16x32xf32>) outs(%init : tensor<16x16x32xf32>) attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [2, 16, 32, 0, 0, 0], vector_common_parallel = [1, 4, 4, 0, 0, 0], vector_reduction = [0, 0, 0, 1, 1, 8]>, translation_info = <pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %product, %z : f32
    linalg.yield %sum : f32
  } -> tensor<16x16x32xf32>
  return %result : tensor<16x16x32xf32>
}

// This one cannot be built without.
func.func @convolution_lost(%lhs: tensor<18x18x16xf32>, %rhs: tensor<3x3x16x32xf32>, %init: tensor<16x16x32xf32>) -> tensor<16x16x32xf32>
    attributes {hal.executable.target = #x86_64} {
  // expected-error@+2 {{the configuration is invalid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>: the compiler gives this operation a batch loop after it has read the configuration, and loses it}}
  // expected-note@+1 {{there is no valid configuration in this pipeline}}
  %result = linalg.generic {
      indexing_maps = [#lone_image, #lone_filter, #lone_map], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]
    } ins(%lhs, %rhs : tensor<18x18x16xf32>, tensor<3x3x16x32xf32>) outs(%init : tensor<16x16x32xf32>) attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [2, 16, 32, 0, 0, 0], vector_common_parallel = [1, 4, 4, 0, 0, 0], vector_reduction = [0, 0, 0, 1, 1, 8]>, translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %product, %z : f32
    linalg.yield %sum : f32
  } -> tensor<16x16x32xf32>
  return %result : tensor<16x16x32xf32>
}

// A depthwise convolution, as a spec finds it.
func.func @depthwise(%lhs: tensor<2x16x16x32xf32>, %rhs: tensor<3x3x32xf32>, %init: tensor<2x14x14x32xf32>) -> tensor<2x14x14x32xf32>
    attributes {hal.executable.target = #znver4} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<ConvTileAndDecomposeExpert>}}
  %result = linalg.generic {
      indexing_maps = [#depth_image, #depth_filter, #depth_map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]
    } ins(%lhs, %rhs : tensor<2x16x16x32xf32>, tensor<3x3x32xf32>) outs(%init : tensor<2x14x14x32xf32>) attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [2, 4, 4, 8, 0, 0], vector_common_parallel = [1, 4, 2, 4, 0, 0], vector_reduction = [0, 0, 0, 0, 2, 3]>, translation_info = <pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %product, %z : f32
    linalg.yield %sum : f32
  } -> tensor<2x14x14x32xf32>
  return %result : tensor<2x14x14x32xf32>
}

// A filter of one row leaves a convolution over one dimension, and the rows of the image as a second batch loop.
func.func @unit_filter(%lhs: tensor<2x14x16x16xf32>, %rhs: tensor<3x16x32xf32>, %init: tensor<2x14x14x32xf32>) -> tensor<2x14x14x32xf32>
    attributes {hal.executable.target = #znver4} {
  // expected-remark@+1 {{the configuration is valid in pipeline #iree_cpu.pipeline<DoubleTilingExpert>}}
  %result = linalg.generic {
      indexing_maps = [#unit_image, #unit_filter, #unit_map], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]
    } ins(%lhs, %rhs : tensor<2x14x16x16xf32>, tensor<3x16x32xf32>) outs(%init : tensor<2x14x14x32xf32>) attrs = {compilation_info = #iree_codegen.compilation_info<lowering_config = #iree_cpu.lowering_config<distribution = [1, 8, 0, 0, 0, 0], vector_common_parallel = [1, 2, 4, 8, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 8]>, translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>>} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %product = arith.mulf %x, %y : f32
    %sum = arith.addf %product, %z : f32
    linalg.yield %sum : f32
  } -> tensor<2x14x14x32xf32>
  return %result : tensor<2x14x14x32xf32>
}
