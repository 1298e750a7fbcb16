// ResNet-50 in f32, one image, for x86-64 with AVX-512.
//
// Made by `tuninglink tune` with 30 candidates for each problem, of the programs that benchmarks/cpu_models.py writes,
// for the target skylake-avx512, in November 2026 with IREE 3.13, on 16 cores of an Intel Xeon of the fifth generation
// (family 6, model 207) that did nothing else. Each entry says how fast the compiler's choice and its own were, and the
// interval of their ratio.

#map0 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d6)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map7 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map8 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map9 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map10 = affine_map<(d0, d1) -> (d1)>
#map11 = affine_map<(d0, d1) -> (d0, d1)>
#map12 = affine_map<(d0, d1) -> (d0)>

module @tuninglink_resnet50_avx512 attributes {
  transform.with_named_sequence,
  tuninglink.targets = ["skylake-avx512"]
} {

transform.named_sequence @configure(
    %op: !transform.any_op {transform.readonly},
    %configuration: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
  transform.yield
}

transform.named_sequence @match_conv_7x7x512x3x3x512_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 673.1, tuned_us = 431.6, interval = [1.519, 1.577], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [1] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [7, 7] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [512] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<1x16x16x512xf32> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [0, 1, 7, 64, 0, 0, 0], vector_common_parallel = [1, 1, 7, 64, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 4]>,
    translation_info = <pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_14x14x256x3x3x256_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 651.2, tuned_us = 318.8, interval = [2.019, 2.070], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [1] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [14, 14] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [256] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [256] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<1x30x30x256xf32> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [1, 1, 7, 64, 0, 0, 0], vector_common_parallel = [1, 1, 7, 64, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 8]>,
    translation_info = <pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_7x7x512x3x3x512_f32_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 657.4, tuned_us = 369.9, interval = [1.720, 1.779], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map3, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [1] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [7, 7] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [512] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<1x9x9x512xf32> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [1, 1, 7, 64, 0, 0, 0], vector_common_parallel = [1, 1, 7, 64, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 4]>,
    translation_info = <pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_56x56x64x3x3x64_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 320.2, tuned_us = 179.9, interval = [1.732, 1.818], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map3, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [1] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [56, 56] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [64] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<1x58x58x64xf32> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [0, 1, 7, 32, 0, 0, 0], vector_common_parallel = [1, 1, 7, 32, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 8]>,
    translation_info = <pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_7x7x2048x1024_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 661.5, tuned_us = 441.1, interval = [1.475, 1.513], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [7, 7] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1024] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [1, 128, 128, 0], vector_common_parallel = [1, 8, 32, 0], vector_reduction = [0, 0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_14x14x256x3x3x256_f32_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 660.2, tuned_us = 335.4, interval = [1.960, 2.005], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map3, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [1] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [14, 14] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [256] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [256] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<1x16x16x256xf32> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [0, 1, 7, 64, 0, 0, 0], vector_common_parallel = [1, 1, 7, 64, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 4]>,
    translation_info = <pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_49x512x2048_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 586.3, tuned_us = 245.5, interval = [2.358, 2.432], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [49] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [64, 16, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 8]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_196x512x1024_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 475.5, tuned_us = 266.5, interval = [1.717, 1.804], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [196] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1024] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [0, 32, 0], vector_common_parallel = [8, 32, 0], vector_reduction = [0, 0, 4]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_14x14x1024x512_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 496.2, tuned_us = 343.1, interval = [1.398, 1.512], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [14, 14] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [512] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [8, 16, 64, 0], vector_common_parallel = [1, 4, 64, 0], vector_reduction = [0, 0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_28x28x128x3x3x128_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 412.1, tuned_us = 183.3, interval = [2.251, 2.324], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [1] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [28, 28] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [128] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<1x58x58x128xf32> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [0, 1, 7, 128, 0, 0, 0], vector_common_parallel = [1, 1, 7, 64, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 4]>,
    translation_info = <pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_49x2048x512_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 292.9, tuned_us = 188.8, interval = [1.519, 1.570], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [49] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [512] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [0, 32, 0], vector_common_parallel = [8, 32, 0], vector_reduction = [0, 0, 4]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_3136x256x64_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 178.8, tuned_us = 108.2, interval = [1.625, 1.664], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3136] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [256] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [64] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [16, 64, 0], vector_common_parallel = [8, 32, 0], vector_reduction = [0, 0, 8]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_28x28x128x3x3x128_f32_2(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 410.8, tuned_us = 178.6, interval = [2.165, 2.239], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map3, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [1] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [28, 28] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [128] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<1x30x30x128xf32> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [0, 1, 14, 64, 0, 0, 0], vector_common_parallel = [1, 1, 7, 64, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 2]>,
    translation_info = <pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_28x28x512x256_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 354.2, tuned_us = 188.8, interval = [1.898, 1.995], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map4, #map5, #map6] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [28, 28] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [256] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [4, 16, 64, 0], vector_common_parallel = [1, 4, 64, 0], vector_reduction = [0, 0, 0, 8]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_784x256x512_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 288.3, tuned_us = 152.4, interval = [1.823, 1.883], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [784] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [256] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [512] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [16, 128, 0], vector_common_parallel = [8, 32, 0], vector_reduction = [0, 0, 2]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_3136x128x256_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 240.6, tuned_us = 158.0, interval = [1.503, 1.541], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3136] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [256] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [32, 128, 0], vector_common_parallel = [4, 64, 0], vector_reduction = [0, 0, 4]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_196x256x1024_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 184.6, tuned_us = 88.0, interval = [1.966, 2.087], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [196] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [256] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1024] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [8, 64, 0], vector_common_parallel = [4, 64, 0], vector_reduction = [0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_196x1024x256_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 166.9, tuned_us = 100.4, interval = [1.638, 1.710], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [196] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [256] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [32, 64, 0], vector_common_parallel = [4, 64, 0], vector_reduction = [0, 0, 4]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_3136x64x256_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 144.8, tuned_us = 87.7, interval = [1.598, 1.650], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3136] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [256] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [32, 64, 0], vector_common_parallel = [4, 64, 0], vector_reduction = [0, 0, 4]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_784x512x128_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 146.7, tuned_us = 97.3, interval = [1.473, 1.537], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [784] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [128] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [16, 256, 0], vector_common_parallel = [4, 64, 0], vector_reduction = [0, 0, 4]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matvec_1000x2048_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 116.3, tuned_us = 42.1, interval = [2.702, 2.807], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map10, #map11, #map12] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %n, [1000] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [8, 0], vector_common_parallel = [8, 0], vector_reduction = [0, 8]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_784x128x512_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 115.0, tuned_us = 76.8, interval = [1.483, 1.514], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [784] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [512] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [8, 128, 0], vector_common_parallel = [8, 32, 0], vector_reduction = [0, 0, 4]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_3136x64x64_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 30.0, tuned_us = 23.7, interval = [1.247, 1.271], trials = 30}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3136] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [64] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [32, 64, 0], vector_common_parallel = [4, 64, 0], vector_reduction = [0, 0, 2]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @__kernel_config(%variant: !transform.any_op {transform.consumed}) -> !transform.any_op
    attributes {iree_codegen.tuning_spec_entrypoint} {
  %ready = transform.apply_registered_pass "iree-codegen-insert-batch-dim-for-batchless-conv" to %variant : (!transform.any_op) -> !transform.any_op
  %configured = transform.foreach_match in %ready
      @match_conv_7x7x512x3x3x512_f32 -> @configure,
      @match_conv_14x14x256x3x3x256_f32 -> @configure,
      @match_conv_7x7x512x3x3x512_f32_2 -> @configure,
      @match_conv_56x56x64x3x3x64_f32 -> @configure,
      @match_matmul_7x7x2048x1024_f32 -> @configure,
      @match_conv_14x14x256x3x3x256_f32_2 -> @configure,
      @match_matmul_49x512x2048_f32 -> @configure,
      @match_matmul_196x512x1024_f32 -> @configure,
      @match_matmul_14x14x1024x512_f32 -> @configure,
      @match_conv_28x28x128x3x3x128_f32 -> @configure,
      @match_matmul_49x2048x512_f32 -> @configure,
      @match_matmul_3136x256x64_f32 -> @configure,
      @match_conv_28x28x128x3x3x128_f32_2 -> @configure,
      @match_matmul_28x28x512x256_f32 -> @configure,
      @match_matmul_784x256x512_f32 -> @configure,
      @match_matmul_3136x128x256_f32 -> @configure,
      @match_matmul_196x256x1024_f32 -> @configure,
      @match_matmul_196x1024x256_f32 -> @configure,
      @match_matmul_3136x64x256_f32 -> @configure,
      @match_matmul_784x512x128_f32 -> @configure,
      @match_matvec_1000x2048_f32 -> @configure,
      @match_matmul_784x128x512_f32 -> @configure,
      @match_matmul_3136x64x64_f32 -> @configure
    : (!transform.any_op) -> !transform.any_op
  transform.yield %configured : !transform.any_op
}

}
