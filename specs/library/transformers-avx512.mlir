// A small Llama and BERT in f32, for x86-64 with AVX-512.
//
// Made by `tuninglink tune` with 40 candidates for each problem, of the programs that benchmarks/cpu_models.py writes,
// for the target skylake-avx512, in November 2026 with IREE 3.13, on 16 cores of an Intel Xeon of the fifth generation
// (family 6, model 207) that did nothing else. Each entry says how fast the compiler's choice and its own were, and the
// interval of their ratio.

#map0 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1) -> (d1)>
#map4 = affine_map<(d0, d1) -> (d0, d1)>
#map5 = affine_map<(d0, d1) -> (d0)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>

module @tuninglink_transformers_avx512 attributes {
  transform.with_named_sequence,
  iree_codegen.tuning_spec_with_default_entrypoint,
  tuninglink.targets = ["skylake-avx512"]
} {

transform.named_sequence @configure(
    %op: !transform.any_op {transform.readonly},
    %configuration: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
  transform.yield
}

transform.named_sequence @match_matmul_128x5632x2048_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 4504.0, tuned_us = 3260.9, interval = [1.345, 1.395], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [5632] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [16, 16, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_128x2048x5632_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 3703.2, tuned_us = 3033.0, interval = [1.229, 1.265], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [5632] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [16, 16, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_128x2048x2048_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 1459.9, tuned_us = 1365.5, interval = [1.059, 1.082], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [16, 16, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_8x2048x5632_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 334.7, tuned_us = 282.4, interval = [1.168, 1.218], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [8] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [5632] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [64, 32, 0], vector_common_parallel = [32, 16, 0], vector_reduction = [0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_128x256x2048_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 231.5, tuned_us = 184.1, interval = [1.273, 1.300], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [256] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [32, 16, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matvec_2048x5632_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 165.7, tuned_us = 152.6, interval = [1.082, 1.104], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %n, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [5632] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [32, 0], vector_common_parallel = [16, 0], vector_reduction = [0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_8x2048x2048_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 132.5, tuned_us = 119.7, interval = [1.097, 1.132], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [8] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [32, 32, 0], vector_common_parallel = [32, 16, 0], vector_reduction = [0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matvec_2048x2048_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 76.5, tuned_us = 67.1, interval = [1.119, 1.179], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map3, #map4, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %n, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [32, 0], vector_common_parallel = [16, 0], vector_reduction = [0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_8x256x2048_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 51.1, tuned_us = 24.7, interval = [1.978, 2.172], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [8] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [256] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [32, 16, 0], vector_common_parallel = [8, 16, 0], vector_reduction = [0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_384x3072x768_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 2841.8, tuned_us = 1970.8, interval = [1.418, 1.454], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3072] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [768] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [0, 32, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_384x768x3072_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 3047.3, tuned_us = 2587.7, interval = [1.149, 1.181], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [768] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [3072] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [16, 16, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_384x768x768_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 691.4, tuned_us = 532.2, interval = [1.266, 1.314], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map0, #map1, #map2] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [768] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [768] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [16, 16, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_softmax_12x384x384xf32_dispatch_tensor_store(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 718.1, tuned_us = 492.2, interval = [1.428, 1.520], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  transform.match.operation_name %op ["linalg.generic"] : !transform.any_op
  %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %op {
  ^bb0(%arg1: tensor<12x384x384xf32>, %arg2: tensor<12x384xf32>, %arg3: tensor<12x384xf32>):
  %1 = linalg.generic {indexing_maps = [#map6, #map2, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<12x384x384xf32>, tensor<12x384xf32>) outs(%arg3 : tensor<12x384xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
  %2 = arith.subf %in, %in_0 : f32
  %3 = math.exp %2 : f32
  %4 = arith.addf %3, %out : f32
  linalg.yield %4 : f32
  } -> tensor<12x384xf32>
  } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [8, 2, 0], vector_common_parallel = [2, 2, 0], vector_reduction = [0, 0, 32]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_12x384x64x384_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 416.8, tuned_us = 202.2, interval = [2.036, 2.115], trials = 40}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map8, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [384] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [4, 16, 64, 0], vector_common_parallel = [1, 4, 64, 0], vector_reduction = [0, 0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_matmul_12x384x384x64_f32(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "Intel(R) Xeon(R) Processor", driver = "local-task 6.18.44-fc-v657-gpu", target = "skylake-avx512",
      default_us = 372.5, tuned_us = 343.1, interval = [1.073, 1.093], trials = 32}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f32, rhs_type = f32, output_type = f32,
    indexing_maps = [#map7, #map10, #map9] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [64] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_cpu.lowering_config<distribution = [11, 64, 64, 0], vector_common_parallel = [1, 8, 16, 0], vector_reduction = [0, 0, 0, 16]>,
    translation_info = <pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @__kernel_config(%variant: !transform.any_op {transform.consumed}) -> !transform.any_op
    attributes {iree_codegen.tuning_spec_entrypoint} {
  %configured = transform.foreach_match in %variant
      @match_matmul_128x5632x2048_f32 -> @configure,
      @match_matmul_128x2048x5632_f32 -> @configure,
      @match_matmul_128x2048x2048_f32 -> @configure,
      @match_matmul_8x2048x5632_f32 -> @configure,
      @match_matmul_128x256x2048_f32 -> @configure,
      @match_matvec_2048x5632_f32 -> @configure,
      @match_matmul_8x2048x2048_f32 -> @configure,
      @match_matvec_2048x2048_f32 -> @configure,
      @match_matmul_8x256x2048_f32 -> @configure,
      @match_matmul_384x3072x768_f32 -> @configure,
      @match_matmul_384x768x3072_f32 -> @configure,
      @match_matmul_384x768x768_f32 -> @configure,
      @match_softmax_12x384x384xf32_dispatch_tensor_store -> @configure,
      @match_matmul_12x384x64x384_f32 -> @configure,
      @match_matmul_12x384x384x64_f32 -> @configure
    : (!transform.any_op) -> !transform.any_op
  transform.yield %configured : !transform.any_op
}

}
