// models-avx512: made by benchmarks/libraries.py from models as frameworks export them.
// Measured on AMD EPYC with IREE 3.13.0, 2026-11-22.
// Each entry states the times of the compiler's choice and of its own, and the interval of their ratio.

#config = #iree_cpu.lowering_config<distribution = [1, 4, 4, 0, 0, 0], vector_common_parallel = [1, 1, 4, 64, 0, 0], vector_reduction = [0, 0, 0, 0, 0, 8]>
#config1 = #iree_cpu.lowering_config<distribution = [2, 1, 32, 64, 0, 0], vector_common_parallel = [1, 1, 8, 64, 0, 0], vector_reduction = [0, 0, 0, 0, 0, 8]>
#config2 = #iree_cpu.lowering_config<distribution = [2, 1, 2, 0, 0, 0], vector_common_parallel = [1, 1, 2, 64, 0, 0], vector_reduction = [0, 0, 0, 0, 0, 32]>
#config3 = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 0, 128], distribution = [2, 32, 64, 0, 0], vector_common_parallel = [1, 4, 64, 0, 0], vector_reduction = [0, 0, 0, 0, 8]>
#config4 = #iree_cpu.lowering_config<distribution = [4, 8, 0], vector_common_parallel = [4, 1, 4]>
#config5 = #iree_cpu.lowering_config<distribution = [32, 1, 32], vector_common_parallel = [2, 1, 8]>
#config6 = #iree_cpu.lowering_config<distribution = [4, 1, 32, 16], vector_common_parallel = [2, 1, 4, 2]>
#config7 = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 256], distribution = [0, 1, 128, 0], vector_common_parallel = [1, 1, 128, 0], vector_reduction = [0, 0, 0, 16]>
#config8 = #iree_cpu.lowering_config<distribution = [2, 64, 0, 0], vector_common_parallel = [2, 64, 0, 0], vector_reduction = [0, 0, 0, 4]>
#config9 = #iree_cpu.lowering_config<distribution = [32, 64, 0], vector_common_parallel = [16, 8, 0], vector_reduction = [0, 0, 16]>
#config10 = #iree_cpu.lowering_config<distribution = [128, 256, 0], vector_common_parallel = [16, 8, 0], vector_reduction = [0, 0, 16]>
#config11 = #iree_cpu.lowering_config<distribution = [512, 16, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>
#config12 = #iree_cpu.lowering_config<distribution = [1, 64, 64, 0], vector_common_parallel = [1, 4, 64, 0], vector_reduction = [0, 0, 0, 16]>
#config13 = #iree_cpu.lowering_config<distribution = [0, 64, 56, 16, 0, 0, 0], vector_common_parallel = [1, 16, 1, 16, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 3, 1, 1]>
#config14 = #iree_cpu.lowering_config<distribution = [16, 14, 8, 0], vector_common_parallel = [16, 7, 4, 0], vector_reduction = [0, 0, 0, 16]>
#config15 = #iree_cpu.lowering_config<distribution = [1, 32, 0], vector_common_parallel = [1, 8, 0], vector_reduction = [0, 0, 64]>
#config16 = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 64], distribution = [32, 2, 0, 0], vector_common_parallel = [1, 2, 14, 0], vector_reduction = [0, 0, 0, 8]>
#config17 = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 64], distribution = [8, 4, 0, 0], vector_common_parallel = [1, 1, 28, 0], vector_reduction = [0, 0, 0, 4]>
#config18 = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 64], distribution = [32, 2, 0, 0], vector_common_parallel = [2, 1, 14, 0], vector_reduction = [0, 0, 0, 8]>
#config19 = #iree_cpu.lowering_config<distribution = [0, 128, 64, 0], vector_common_parallel = [1, 16, 16, 0], vector_reduction = [0, 0, 0, 8]>
#config20 = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 256], distribution = [1, 0, 128, 0], vector_common_parallel = [1, 1, 128, 0], vector_reduction = [0, 0, 0, 16]>
#config21 = #iree_cpu.lowering_config<distribution = [16, 14, 8, 0], vector_common_parallel = [16, 14, 2, 0], vector_reduction = [0, 0, 0, 16]>
#config22 = #iree_cpu.lowering_config<cache_reduction = [0, 0, 64], distribution = [64, 64, 0], vector_common_parallel = [8, 32, 0], vector_reduction = [0, 0, 8]>
#config23 = #iree_cpu.lowering_config<distribution = [16, 14, 4, 0], vector_common_parallel = [16, 14, 2, 0], vector_reduction = [0, 0, 0, 16]>
#config24 = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 0, 32, 0, 0], distribution = [1, 64, 0, 0, 0, 0, 0], vector_common_parallel = [1, 16, 1, 7, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 2, 1, 1]>
#config25 = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 256], distribution = [16, 8, 8, 0], vector_common_parallel = [16, 1, 8, 0], vector_reduction = [0, 0, 0, 16]>
#config26 = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 128], distribution = [0, 128, 32, 0], vector_common_parallel = [1, 8, 32, 0], vector_reduction = [0, 0, 0, 16]>
#config27 = #iree_cpu.lowering_config<distribution = [32, 1024, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>
#config28 = #iree_cpu.lowering_config<cache_reduction = [0, 0, 0, 32], distribution = [1, 8, 64, 0], vector_common_parallel = [1, 8, 32, 0], vector_reduction = [0, 0, 0, 2]>
#config29 = #iree_cpu.lowering_config<distribution = [32, 512, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>
#config30 = #iree_cpu.lowering_config<distribution = [64, 64, 0], vector_common_parallel = [16, 16, 0], vector_reduction = [0, 0, 16]>
#map = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>
#map1 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d5, d4)>
#map2 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d5)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
#map5 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>
#map7 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d2, d0, d1, d4)>
#map8 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, d0, d1, d4)>
#map9 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, d0, d1, d3)>
#map10 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d5, d0, d3)>
#map11 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d0, d1, d2)>
#map12 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d0, d5)>
#map13 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d5, d3)>
#map14 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>
#map15 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d3)>
#map16 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4)>
#map17 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map18 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>
#map19 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#map20 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>
#map21 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map22 = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#map23 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map24 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map25 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map26 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map27 = affine_map<(d0, d1, d2, d3) -> (d0, d2)>
#map28 = affine_map<(d0, d1, d2, d3) -> ()>
#map29 = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
#map30 = affine_map<(d0, d1, d2, d3) -> (d0)>
#map31 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map32 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map33 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map34 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map35 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 * 2 + d5, d3 * 2 + d6)>
#map36 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#map37 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map38 = affine_map<(d0, d1, d2, d3) -> (d3, d1, d2)>
#map39 = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
#map40 = affine_map<(d0, d1, d2, d3) -> (d3, d1 * 2, d2 * 2)>
#map41 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#translation = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<LinalgExtTileAndVectorize>, {enable_loop_peeling}>
#translation1 = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<LinalgExtTileAndVectorize>>
#translation2 = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>, {enable_loop_peeling}>
#translation3 = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>>
#translation4 = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
#translation5 = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<ConvTileAndDecomposeExpert>, {enable_loop_peeling}>
#compilation = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>
#compilation1 = #iree_codegen.compilation_info<lowering_config = #config1, translation_info = #translation>
#compilation2 = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation1>
#compilation3 = #iree_codegen.compilation_info<lowering_config = #config2, translation_info = #translation>
#compilation4 = #iree_codegen.compilation_info<lowering_config = #config3, translation_info = #translation1>
#compilation5 = #iree_codegen.compilation_info<lowering_config = #config4, translation_info = #translation2>
#compilation6 = #iree_codegen.compilation_info<lowering_config = #config5, translation_info = #translation2>
#compilation7 = #iree_codegen.compilation_info<lowering_config = #config6, translation_info = #translation2>
#compilation8 = #iree_codegen.compilation_info<lowering_config = #config7, translation_info = #translation2>
#compilation9 = #iree_codegen.compilation_info<lowering_config = #config8, translation_info = #translation1>
#compilation10 = #iree_codegen.compilation_info<lowering_config = #config9, translation_info = #translation2>
#compilation11 = #iree_codegen.compilation_info<lowering_config = #config10, translation_info = #translation2>
#compilation12 = #iree_codegen.compilation_info<lowering_config = #config11, translation_info = #translation2>
#compilation13 = #iree_codegen.compilation_info<lowering_config = #config12, translation_info = #translation2>
#compilation14 = #iree_codegen.compilation_info<lowering_config = #config13, translation_info = #translation3>
#compilation15 = #iree_codegen.compilation_info<lowering_config = #config14, translation_info = #translation2>
#compilation16 = #iree_codegen.compilation_info<lowering_config = #config15, translation_info = #translation2>
#compilation17 = #iree_codegen.compilation_info<lowering_config = #config16, translation_info = #translation2>
#compilation18 = #iree_codegen.compilation_info<lowering_config = #config17, translation_info = #translation2>
#compilation19 = #iree_codegen.compilation_info<lowering_config = #config18, translation_info = #translation4>
#compilation20 = #iree_codegen.compilation_info<lowering_config = #config19, translation_info = #translation4>
#compilation21 = #iree_codegen.compilation_info<lowering_config = #config20, translation_info = #translation4>
#compilation22 = #iree_codegen.compilation_info<lowering_config = #config21, translation_info = #translation2>
#compilation23 = #iree_codegen.compilation_info<lowering_config = #config22, translation_info = #translation4>
#compilation24 = #iree_codegen.compilation_info<lowering_config = #config23, translation_info = #translation2>
#compilation25 = #iree_codegen.compilation_info<lowering_config = #config24, translation_info = #translation5>
#compilation26 = #iree_codegen.compilation_info<lowering_config = #config25, translation_info = #translation2>
#compilation27 = #iree_codegen.compilation_info<lowering_config = #config26, translation_info = #translation4>
#compilation28 = #iree_codegen.compilation_info<lowering_config = #config27, translation_info = #translation2>
#compilation29 = #iree_codegen.compilation_info<lowering_config = #config28, translation_info = #translation2>
#compilation30 = #iree_codegen.compilation_info<lowering_config = #config29, translation_info = #translation2>
#compilation31 = #iree_codegen.compilation_info<lowering_config = #config30, translation_info = #translation4>
module @tuninglink_models_avx512 attributes {transform.with_named_sequence, tuninglink.targets = ["znver4"]} {
  transform.named_sequence @configure(%arg0: !transform.any_op {transform.readonly}, %arg1: !transform.any_param {transform.readonly}) {
    transform.annotate %arg0 "compilation_info" = %arg1 : !transform.any_op, !transform.any_param
    transform.yield 
  }
  transform.named_sequence @match_attention_4x12x197x64x64x197(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 393701.74900000001 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.396700e+01, 1.468500e+01], target = "znver4", trials = 14 : i64, tuned_us = 27589.995999999999 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["iree_linalg_ext.online_attention"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<4x12x197x64xf32>, %arg2: tensor<4x12x197x64xf32>, %arg3: tensor<4x12x64x197xf32>, %arg4: f32, %arg5: tensor<4x12x197x197xi8>, %arg6: tensor<4x12x197x64xf32>, %arg7: tensor<4x12x197xf32>, %arg8: tensor<4x12x197xf32>):
      %1:3 = "iree_linalg_ext.online_attention"(%arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8) <{indexing_maps = [#map, #map1, #map2, #map3, #map4, #map5, #map6, #map6]}> ({
      ^bb0(%arg9: f32):
        iree_linalg_ext.yield %arg9 : f32
      }) : (tensor<4x12x197x64xf32>, tensor<4x12x197x64xf32>, tensor<4x12x64x197xf32>, f32, tensor<4x12x197x197xi8>, tensor<4x12x197x64xf32>, tensor<4x12x197xf32>, tensor<4x12x197xf32>) -> (tensor<4x12x197x64xf32>, tensor<4x12x197xf32>, tensor<4x12x197xf32>)
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_2x6x256x64x64x256(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 65894.308000000005 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.275500e+01, 1.334800e+01], target = "znver4", trials = 24 : i64, tuned_us = 5027.1670000000004 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f32, key_type = f32, value_type = f32, scale_type = f32, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map7, #map8, #map9, #map3, #map5, #map6, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [2, 6] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [256] : !transform.param<i64>
    %0 = transform.param.constant #compilation1 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_4x2x64x64x64x64(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2502.8339999999998 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [9.541000e+00, 1.061100e+01], target = "znver4", trials = 14 : i64, tuned_us = 2.489250e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["iree_linalg_ext.online_attention"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<4x2x64x64xf32>, %arg2: tensor<4x2x64x64xf32>, %arg3: tensor<64x4x64xf32>, %arg4: f32, %arg5: tensor<4x2x64x64xf32>, %arg6: tensor<4x2x64x64xf32>, %arg7: tensor<4x2x64xf32>, %arg8: tensor<4x2x64xf32>):
      %1:3 = "iree_linalg_ext.online_attention"(%arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8) <{indexing_maps = [#map, #map1, #map10, #map3, #map4, #map5, #map6, #map6]}> ({
      ^bb0(%arg9: f32):
        iree_linalg_ext.yield %arg9 : f32
      }) : (tensor<4x2x64x64xf32>, tensor<4x2x64x64xf32>, tensor<64x4x64xf32>, f32, tensor<4x2x64x64xf32>, tensor<4x2x64x64xf32>, tensor<4x2x64xf32>, tensor<4x2x64xf32>) -> (tensor<4x2x64x64xf32>, tensor<4x2x64xf32>, tensor<4x2x64xf32>)
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation2 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_4x2x64x64x64x64_0(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.529450e+03 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [8.601000e+00, 8.8219999999999992], target = "znver4", trials = 10 : i64, tuned_us = 1.757370e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["iree_linalg_ext.online_attention"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<64x4x2x64xf32>, %arg2: tensor<64x4x64xf32>, %arg3: tensor<4x64x64xf32>, %arg4: f32, %arg5: tensor<4x2x64x64xf32>, %arg6: tensor<4x2x64x64xf32>, %arg7: tensor<4x2x64xf32>, %arg8: tensor<4x2x64xf32>):
      %1:3 = "iree_linalg_ext.online_attention"(%arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8) <{indexing_maps = [#map11, #map12, #map13, #map3, #map4, #map5, #map6, #map6]}> ({
      ^bb0(%arg9: f32):
        iree_linalg_ext.yield %arg9 : f32
      }) : (tensor<64x4x2x64xf32>, tensor<64x4x64xf32>, tensor<4x64x64xf32>, f32, tensor<4x2x64x64xf32>, tensor<4x2x64x64xf32>, tensor<4x2x64xf32>, tensor<4x2x64xf32>) -> (tensor<4x2x64x64xf32>, tensor<4x2x64xf32>, tensor<4x2x64xf32>)
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation3 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_12x384x64x64x384(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 141743.05900000001 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [8.251000e+00, 8.460000e+00], target = "znver4", trials = 1 : i64, tuned_us = 16769.429 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["iree_linalg_ext.online_attention"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<12x384x64xf32>, %arg2: tensor<12x384x64xf32>, %arg3: tensor<12x64x384xf32>, %arg4: f32, %arg5: tensor<12x384x384xi8>, %arg6: tensor<12x384x64xf32>, %arg7: tensor<12x384xf32>, %arg8: tensor<12x384xf32>):
      %1:3 = "iree_linalg_ext.online_attention"(%arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8) <{indexing_maps = [#map14, #map15, #map16, #map17, #map18, #map19, #map20, #map20]}> ({
      ^bb0(%arg9: f32):
        iree_linalg_ext.yield %arg9 : f32
      }) : (tensor<12x384x64xf32>, tensor<12x384x64xf32>, tensor<12x64x384xf32>, f32, tensor<12x384x384xi8>, tensor<12x384x64xf32>, tensor<12x384xf32>, tensor<12x384xf32>) -> (tensor<12x384x64xf32>, tensor<12x384xf32>, tensor<12x384xf32>)
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation4 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_transpose_64x8x64_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.932500e+01 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [6.585000e+00, 6.831000e+00], target = "znver4", trials = 8 : i64, tuned_us = 2.888000e+00 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<64x8x64xf32>, %arg2: tensor<8x64x64xf32>):
      %1 = linalg.generic {indexing_maps = [#map21, #map22], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : tensor<64x8x64xf32>) outs(%arg2 : tensor<8x64x64xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<8x64x64xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation5 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_transpose_64x4x64_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1.021300e+01 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [6.277000e+00, 7.8739999999999996], target = "znver4", trials = 14 : i64, tuned_us = 1.546000e+00 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<64x4x64xf32>, %arg2: tensor<4x64x64xf32>):
      %1 = linalg.generic {indexing_maps = [#map21, #map22], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1 : tensor<64x4x64xf32>) outs(%arg2 : tensor<4x64x64xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<4x64x64xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation6 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_elementwise_broadcast_4x2x64x65_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.507600e+01 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [5.349000e+00, 5.520000e+00], target = "znver4", trials = 14 : i64, tuned_us = 6.450000e+00 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<4x65x64xf32>, %arg2: tensor<4x2x64x65xf32>):
      %1 = linalg.generic {indexing_maps = [#map23, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<4x65x64xf32>) outs(%arg2 : tensor<4x2x64x65xf32>) {
      ^bb0(%in: f32, %out: f32):
        linalg.yield %in : f32
      } -> tensor<4x2x64x65xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation7 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x1x512x512_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3.561400e+01 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [3.018000e+00, 3.261000e+00], target = "znver4", trials = 14 : i64, tuned_us = 1.146400e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map25, #map23, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation8 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_8x64x64x65(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 4.751000e+01 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [2.939000e+00, 3.009000e+00], target = "znver4", trials = 14 : i64, tuned_us = 1.599500e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f32, key_type = f32, value_type = f32, scale_type = f32, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map27, #map23, #map25, #map28, #map29, #map30, #map30] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [8] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k2_dims, [65] : !transform.param<i64>
    %0 = transform.param.constant #compilation9 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_1024x196x256_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 7809.098 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [2.498000e+00, 2.935000e+00], target = "znver4", trials = 1 : i64, tuned_us = 3.097340e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map31, #map32, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [196] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1024] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [256] : !transform.param<i64>
    %0 = transform.param.constant #compilation10 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_512x784x128_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 7311.7809999999999 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [2.330000e+00, 2.650000e+00], target = "znver4", trials = 22 : i64, tuned_us = 2.921680e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map31, #map32, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [784] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [128] : !transform.param<i64>
    %0 = transform.param.constant #compilation11 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_788x3072x768_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 97884.967000000004 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [2.207000e+00, 2.319000e+00], target = "znver4", trials = 14 : i64, tuned_us = 43700.963000000003 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map32, #map34, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [788] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation12 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x1x512x1408_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 8.691500e+01 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [2.105000e+00, 2.168000e+00], target = "znver4", trials = 14 : i64, tuned_us = 4.090900e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map25, #map23, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1408] : !transform.param<i64>
    %0 = transform.param.constant #compilation13 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_64x112x112x3x7x7_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 20209.650000000001 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.888000e+00, 2.131000e+00], target = "znver4", trials = 22 : i64, tuned_us = 10544.563 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map35, #map36, #map37] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [112, 112] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [7, 7] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [3] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %0 = tensor<1x3x230x230xf32> : !transform.any_value
    %1 = transform.param.constant #compilation14 -> !transform.any_param
    transform.yield %arg0, %1 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_512x7x7x2048_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5778.6040000000003 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.673000e+00, 1.907000e+00], target = "znver4", trials = 22 : i64, tuned_us = 3028.4189999999999 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map38, #map39, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [7, 7] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [2048] : !transform.param<i64>
    %0 = transform.param.constant #compilation15 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_softmax_8x64x64xf32_dispatch_tensor_store(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.394200e+01 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.497000e+00, 1.639000e+00], target = "znver4", trials = 10 : i64, tuned_us = 3.476200e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<8x64x64xf32>, %arg2: tensor<8x64xf32>, %arg3: tensor<8x64xf32>):
      %1 = linalg.generic {indexing_maps = [#map21, #map33, #map33], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<8x64x64xf32>, tensor<8x64xf32>) outs(%arg3 : tensor<8x64xf32>) {
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %2 = arith.subf %in, %in_0 : f32
        %3 = math.exp %2 : f32
        %4 = arith.addf %3, %out : f32
        linalg.yield %4 : f32
      } -> tensor<8x64xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation16 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_reduction_2048x7x7x1024_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 72283.820000000007 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.442000e+00, 1.685000e+00], target = "znver4", trials = 22 : i64, tuned_us = 46735.830000000002 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<1024x14x14xf32>, %arg2: tensor<2048x1024xf32>, %arg3: tensor<2048x7x7xf32>):
      %1 = linalg.generic {indexing_maps = [#map40, #map39, #map26], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<1024x14x14xf32>, tensor<2048x1024xf32>) outs(%arg3 : tensor<2048x7x7xf32>) {
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %2 = arith.mulf %in, %in_0 : f32
        %3 = arith.addf %out, %2 : f32
        linalg.yield %3 : f32
      } -> tensor<2048x7x7xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation17 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_reduction_512x28x28x256_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 69047.599000000002 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.438000e+00, 1.526000e+00], target = "znver4", trials = 22 : i64, tuned_us = 45914.891000000003 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<256x56x56xf32>, %arg2: tensor<512x256xf32>, %arg3: tensor<512x28x28xf32>):
      %1 = linalg.generic {indexing_maps = [#map40, #map39, #map26], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<256x56x56xf32>, tensor<512x256xf32>) outs(%arg3 : tensor<512x28x28xf32>) {
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %2 = arith.mulf %in, %in_0 : f32
        %3 = arith.addf %out, %2 : f32
        linalg.yield %3 : f32
      } -> tensor<512x28x28xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation18 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_reduction_1024x14x14x512_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 58860.260999999999 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.406000e+00, 1.468000e+00], target = "znver4", trials = 22 : i64, tuned_us = 40888.356 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["linalg.generic"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<512x28x28xf32>, %arg2: tensor<1024x512xf32>, %arg3: tensor<1024x14x14xf32>):
      %1 = linalg.generic {indexing_maps = [#map40, #map39, #map26], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg1, %arg2 : tensor<512x28x28xf32>, tensor<1024x512xf32>) outs(%arg3 : tensor<1024x14x14xf32>) {
      ^bb0(%in: f32, %in_0: f32, %out: f32):
        %2 = arith.mulf %in, %in_0 : f32
        %3 = arith.addf %out, %2 : f32
        linalg.yield %3 : f32
      } -> tensor<1024x14x14xf32>
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.param.constant #compilation19 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x384x3072x768_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 29136.57 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.395000e+00, 1.509000e+00], target = "znver4", trials = 16 : i64, tuned_us = 20373.804 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map25, #map23, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [3072] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation20 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x1x1408x512_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5.375900e+01 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.315000e+00, 1.389000e+00], target = "znver4", trials = 14 : i64, tuned_us = 3.954800e+01 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map25, #map23, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1408] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation21 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_256x14x14x1024_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 3928.4360000000001 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.309000e+00, 1.359000e+00], target = "znver4", trials = 22 : i64, tuned_us = 3000.4720000000002 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map38, #map39, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [14, 14] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [256] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation22 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_64x2048x512_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 2220.1089999999999 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.291000e+00, 1.415000e+00], target = "znver4", trials = 10 : i64, tuned_us = 1.642550e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map32, #map31, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [2048] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation23 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_512x14x14x1024_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 7804.433 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.260000e+00, 1.308000e+00], target = "znver4", trials = 1 : i64, tuned_us = 5916.9489999999996 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map38, #map39, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [14, 14] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1024] : !transform.param<i64>
    %0 = transform.param.constant #compilation24 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_64x512x2048_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1981.546 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.225000e+00, 1.387000e+00], target = "znver4", trials = 10 : i64, tuned_us = 1461.703 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map32, #map31, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [2048] : !transform.param<i64>
    %0 = transform.param.constant #compilation23 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_512x7x7x512x3x3_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 4.106360e+03 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.195000e+00, 1.228000e+00], target = "znver4", trials = 22 : i64, tuned_us = 3375.7939999999999 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map41, #map36, #map37] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %output_image_dims, [7, 7] : !transform.param<i64>
    transform.iree.match.dims_equal %output_channel_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [3, 3] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [512] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %0 = tensor<1x512x9x9xf32> : !transform.any_value
    %1 = transform.param.constant #compilation25 -> !transform.any_param
    transform.yield %arg0, %1 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_128x28x28x512_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 4.321900e+03 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.194000e+00, 1.278000e+00], target = "znver4", trials = 22 : i64, tuned_us = 3447.5720000000001 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map38, #map39, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [28, 28] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [128] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation26 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_64x512x1408_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 9.887690e+02 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.099000e+00, 1.109000e+00], target = "znver4", trials = 10 : i64, tuned_us = 8.924160e+02 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map32, #map34, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1408] : !transform.param<i64>
    %0 = transform.param.constant #compilation12 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x384x768x3072_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 22604.636999999999 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.093000e+00, 1.138000e+00], target = "znver4", trials = 152 : i64, tuned_us = 20527.753000000001 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map25, #map23, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.param.constant #compilation27 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_512x384x384_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1769.578 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.072000e+00, 1.122000e+00], target = "znver4", trials = 24 : i64, tuned_us = 1595.9929999999999 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map32, #map34, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [384] : !transform.param<i64>
    %0 = transform.param.constant #compilation28 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_64x1408x512_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1073.652 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.063000e+00, 1.104000e+00], target = "znver4", trials = 10 : i64, tuned_us = 1.000870e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map32, #map34, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1408] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [512] : !transform.param<i64>
    %0 = transform.param.constant #compilation12 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x64x512x1408_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 1077.491 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.049000e+00, 1.119000e+00], target = "znver4", trials = 14 : i64, tuned_us = 1022.599 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map25, #map23, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [1408] : !transform.param<i64>
    %0 = transform.param.constant #compilation29 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x384x768x768_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5086.9560000000001 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.037000e+00, 1.101000e+00], target = "znver4", trials = 16 : i64, tuned_us = 4781.3810000000003 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map25, #map23, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [384] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [768] : !transform.param<i64>
    %0 = transform.param.constant #compilation20 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_512x1152x384_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 5584.7849999999999 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.028000e+00, 1.060000e+00], target = "znver4", trials = 24 : i64, tuned_us = 5.399560e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map32, #map34, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1152] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [384] : !transform.param<i64>
    %0 = transform.param.constant #compilation30 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_512x1536x384_f32(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 7874.1760000000004 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.026000e+00, 1.062000e+00], target = "znver4", trials = 24 : i64, tuned_us = 7542.9830000000002 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map32, #map34, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [512] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [1536] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [384] : !transform.param<i64>
    %0 = transform.param.constant #compilation31 -> !transform.any_param
    transform.yield %arg0, %0 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_2x6x256x64x64x256_like(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 65894.308000000005 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.275500e+01, 1.334800e+01], points = 10 : i64, ranges = ["loop 0: 2..4 by 2", "loop 1: 1..12", "loop 2: 64..512 by 32", "loop 5: 64..512 by 8"], target = "znver4", trials = 24 : i64, tuned_us = 5027.1670000000004 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k1_dims, %k2_dims = transform.iree.match.online_attention %arg0, query_type = f32, key_type = f32, value_type = f32, scale_type = f32, output_type = f32, max_type = f32, sum_type = f32, indexing_maps = [#map7, #map8, #map9, #map3, #map5, #map6, #map6] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [64] : !transform.param<i64>
    transform.iree.match.dims_equal %k1_dims, [64] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %0[1], umin = 2, umax = 4 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %0[1], 2 : !transform.any_value
    %1 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %1[2], umin = 1, umax = 12 : !transform.any_value
    %2 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %2[0], umin = 64, umax = 512 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %2[0], 32 : !transform.any_value
    %3 = transform.get_operand %arg0[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %3[0], umin = 64, umax = 512 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %3[0], 8 : !transform.any_value
    %4 = transform.param.constant #compilation1 -> !transform.any_param
    transform.yield %arg0, %4 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_attention_12x384x64x64x384_like(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 141743.05900000001 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [8.251000e+00, 8.460000e+00], points = 10 : i64, ranges = ["loop 0: 2..24 by 2", "loop 1: 96..768 by 32", "loop 4: 128..768 by 128"], target = "znver4", trials = 1 : i64, tuned_us = 16769.429 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    transform.match.operation_name %arg0 ["iree_linalg_ext.online_attention"] : !transform.any_op
    %inputs, %outputs = transform.iree.match.cast_compatible_dag_from_root %arg0 {
    ^bb0(%arg1: tensor<?x?x64xf32>, %arg2: tensor<?x?x64xf32>, %arg3: tensor<?x64x?xf32>, %arg4: f32, %arg5: tensor<?x?x?xi8>, %arg6: tensor<?x?x64xf32>, %arg7: tensor<?x?xf32>, %arg8: tensor<?x?xf32>):
      %4:3 = "iree_linalg_ext.online_attention"(%arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8) <{indexing_maps = [#map14, #map15, #map16, #map17, #map18, #map19, #map20, #map20]}> ({
      ^bb0(%arg9: f32):
        iree_linalg_ext.yield %arg9 : f32
      }) : (tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?x64x?xf32>, f32, tensor<?x?x?xi8>, tensor<?x?x64xf32>, tensor<?x?xf32>, tensor<?x?xf32>) -> (tensor<?x?x64xf32>, tensor<?x?xf32>, tensor<?x?xf32>)
    } : (!transform.any_op) -> (!transform.any_value, !transform.any_value)
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %0[0], umin = 2, umax = 24 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %0[0], 2 : !transform.any_value
    %1 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %1[1], umin = 96, umax = 768 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %1[1], 32 : !transform.any_value
    %2 = transform.get_operand %arg0[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %2[1], umin = 128, umax = 768 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %2[1], 128 : !transform.any_value
    %3 = transform.param.constant #compilation4 -> !transform.any_param
    transform.yield %arg0, %3 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_1024x196x256_f32_like(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 7809.098 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [2.498000e+00, 2.935000e+00], points = 6 : i64, ranges = ["loop 0: 512..2048 by 32", "loop 2: 128..512 by 16"], target = "znver4", trials = 1 : i64, tuned_us = 3.097340e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map31, #map32, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [196] : !transform.param<i64>
    %0 = transform.get_operand %arg0[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %0[0], umin = 512, umax = 2048 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %0[0], 32 : !transform.any_value
    %1 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %1[0], umin = 128, umax = 512 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %1[0], 16 : !transform.any_value
    %2 = transform.param.constant #compilation10 -> !transform.any_param
    transform.yield %arg0, %2 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_512x784x128_f32_like(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 7426.3959999999997 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [2.264000e+00, 2.556000e+00], points = 5 : i64, ranges = ["loop 0: 256..1024 by 128", "loop 2: 64..256 by 16"], target = "znver4", trials = 1 : i64, tuned_us = 3122.3119999999999 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map31, #map32, #map33] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [784] : !transform.param<i64>
    %0 = transform.get_operand %arg0[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %0[0], umin = 256, umax = 1024 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %0[0], 128 : !transform.any_value
    %1 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %1[0], umin = 64, umax = 256 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %1[0], 16 : !transform.any_value
    %2 = transform.param.constant #compilation11 -> !transform.any_param
    transform.yield %arg0, %2 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_conv_64x112x112x3x7x7_f32_like(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 20781.742999999999 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.852000e+00, 2.058000e+00], points = 10 : i64, ranges = ["loop 2: 56..224 by 56", "loop 3: 48..224 by 16", "loop 1: 64..128 by 64"], target = "znver4", trials = 1 : i64, tuned_us = 10940.126 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %output_image_dims, %output_channel_dims, %filter_dims, %input_channel_dims, %depth_dims, %strides, %dilations = transform.iree.match.convolution %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map35, #map36, #map37] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %filter_dims, [7, 7] : !transform.param<i64>
    transform.iree.match.dims_equal %input_channel_dims, [3] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.cast_compatible_type %0 = tensor<1x3x?x?xf32> : !transform.any_value
    %1 = transform.get_operand %arg0[2] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %1[2], umin = 56, umax = 224 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %1[2], 56 : !transform.any_value
    %2 = transform.get_operand %arg0[2] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %2[3], umin = 48, umax = 224 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %2[3], 16 : !transform.any_value
    %3 = transform.get_operand %arg0[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %3[0], umin = 64, umax = 128 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %3[0], 64 : !transform.any_value
    %4 = transform.param.constant #compilation14 -> !transform.any_param
    transform.yield %arg0, %4 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_512x7x7x2048_f32_like(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 4367.3119999999999 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.506000e+00, 1.801000e+00], points = 6 : i64, ranges = ["loop 0: 256..1024 by 16", "loop 3: 1024..4096 by 16"], target = "znver4", trials = 1 : i64, tuned_us = 2.719880e+03 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map38, #map39, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [7, 7] : !transform.param<i64>
    %0 = transform.get_operand %arg0[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %0[0], umin = 256, umax = 1024 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %0[0], 16 : !transform.any_value
    %1 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %1[0], umin = 1024, umax = 4096 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %1[0], 16 : !transform.any_value
    %2 = transform.param.constant #compilation15 -> !transform.any_param
    transform.yield %arg0, %2 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_512x14x14x1024_f32_like(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 7804.433 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.260000e+00, 1.308000e+00], points = 6 : i64, ranges = ["loop 0: 256..1024 by 16", "loop 3: 512..2048 by 16"], target = "znver4", trials = 1 : i64, tuned_us = 5916.9489999999996 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map38, #map39, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [14, 14] : !transform.param<i64>
    %0 = transform.get_operand %arg0[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %0[0], umin = 256, umax = 1024 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %0[0], 16 : !transform.any_value
    %1 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %1[0], umin = 512, umax = 2048 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %1[0], 16 : !transform.any_value
    %2 = transform.param.constant #compilation24 -> !transform.any_param
    transform.yield %arg0, %2 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_256x14x14x1024_f32_like(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 4414.2460000000001 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.212000e+00, 1.331000e+00], points = 6 : i64, ranges = ["loop 0: 128..512 by 16", "loop 3: 512..2048 by 16"], target = "znver4", trials = 1 : i64, tuned_us = 3253.0219999999999 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map38, #map39, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [14, 14] : !transform.param<i64>
    %0 = transform.get_operand %arg0[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %0[0], umin = 128, umax = 512 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %0[0], 16 : !transform.any_value
    %1 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %1[0], umin = 512, umax = 2048 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %1[0], 16 : !transform.any_value
    %2 = transform.param.constant #compilation22 -> !transform.any_param
    transform.yield %arg0, %2 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_matmul_like_128x28x28x512_f32_like(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 4321.9449999999997 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.149000e+00, 1.210000e+00], points = 6 : i64, ranges = ["loop 0: 64..256 by 16", "loop 3: 256..1024 by 256"], target = "znver4", trials = 1 : i64, tuned_us = 3646.779 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map38, #map39, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %m_dims, [28, 28] : !transform.param<i64>
    %0 = transform.get_operand %arg0[1] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %0[0], umin = 64, umax = 256 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %0[0], 16 : !transform.any_value
    %1 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %1[0], umin = 256, umax = 1024 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %1[0], 256 : !transform.any_value
    %2 = transform.param.constant #compilation26 -> !transform.any_param
    transform.yield %arg0, %2 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @match_batch_matmul_1x384x768x3072_f32_like(%arg0: !transform.any_op {transform.readonly}) -> (!transform.any_op, !transform.any_param) attributes {tuninglink.provenance = {compiler = "3.13.0", date = "2026-11-22", default_us = 22604.636999999999 : f64, device = "AMD EPYC", driver = "local-sync 6.18.44-fc-v669", guarded = false, interval = [1.093000e+00, 1.138000e+00], points = 3 : i64, ranges = ["loop 1: 128..768 by 128"], target = "znver4", trials = 152 : i64, tuned_us = 20527.753000000001 : f64}} {
    transform.iree.match.has_no_lowering_config %arg0 : !transform.any_op
    %batch_dims, %m_dims, %n_dims, %k_dims = transform.iree.match.contraction %arg0, lhs_type = f32, rhs_type = f32, output_type = f32, indexing_maps = [#map25, #map23, #map26] : !transform.any_op -> !transform.param<i64>
    transform.iree.match.dims_equal %batch_dims, [1] : !transform.param<i64>
    transform.iree.match.dims_equal %n_dims, [768] : !transform.param<i64>
    transform.iree.match.dims_equal %k_dims, [3072] : !transform.param<i64>
    %0 = transform.get_operand %arg0[0] : (!transform.any_op) -> !transform.any_value
    transform.iree.match.dim_bounds %0[1], umin = 128, umax = 768 : !transform.any_value
    transform.iree.match.dim_is_multiple_of %0[1], 128 : !transform.any_value
    %1 = transform.param.constant #compilation27 -> !transform.any_param
    transform.yield %arg0, %1 : !transform.any_op, !transform.any_param
  }
  transform.named_sequence @__kernel_config(%arg0: !transform.any_op {transform.consumed}) -> !transform.any_op attributes {iree_codegen.tuning_spec_entrypoint} {
    %0 = transform.apply_registered_pass "iree-codegen-insert-batch-dim-for-batchless-conv" to %arg0 : (!transform.any_op) -> !transform.any_op
    %updated_root = transform.foreach_match in %0 
        @match_attention_4x12x197x64x64x197 -> @configure, 
        @match_attention_2x6x256x64x64x256 -> @configure, 
        @match_attention_4x2x64x64x64x64 -> @configure, 
        @match_attention_4x2x64x64x64x64_0 -> @configure, 
        @match_attention_12x384x64x64x384 -> @configure, 
        @match_transpose_64x8x64_f32 -> @configure, 
        @match_transpose_64x4x64_f32 -> @configure, 
        @match_elementwise_broadcast_4x2x64x65_f32 -> @configure, 
        @match_batch_matmul_1x1x512x512_f32 -> @configure, 
        @match_attention_8x64x64x65 -> @configure, 
        @match_matmul_like_1024x196x256_f32 -> @configure, 
        @match_matmul_like_512x784x128_f32 -> @configure, 
        @match_matmul_788x3072x768_f32 -> @configure, 
        @match_batch_matmul_1x1x512x1408_f32 -> @configure, 
        @match_conv_64x112x112x3x7x7_f32 -> @configure, 
        @match_matmul_like_512x7x7x2048_f32 -> @configure, 
        @match_softmax_8x64x64xf32_dispatch_tensor_store -> @configure, 
        @match_reduction_2048x7x7x1024_f32 -> @configure, 
        @match_reduction_512x28x28x256_f32 -> @configure, 
        @match_reduction_1024x14x14x512_f32 -> @configure, 
        @match_batch_matmul_1x384x3072x768_f32 -> @configure, 
        @match_batch_matmul_1x1x1408x512_f32 -> @configure, 
        @match_matmul_like_256x14x14x1024_f32 -> @configure, 
        @match_matmul_64x2048x512_f32 -> @configure, 
        @match_matmul_like_512x14x14x1024_f32 -> @configure, 
        @match_matmul_64x512x2048_f32 -> @configure, 
        @match_conv_512x7x7x512x3x3_f32 -> @configure, 
        @match_matmul_like_128x28x28x512_f32 -> @configure, 
        @match_matmul_like_64x512x1408_f32 -> @configure, 
        @match_batch_matmul_1x384x768x3072_f32 -> @configure, 
        @match_matmul_512x384x384_f32 -> @configure, 
        @match_matmul_like_64x1408x512_f32 -> @configure, 
        @match_batch_matmul_1x64x512x1408_f32 -> @configure, 
        @match_batch_matmul_1x384x768x768_f32 -> @configure, 
        @match_matmul_512x1152x384_f32 -> @configure, 
        @match_matmul_512x1536x384_f32 -> @configure, 
        @match_attention_2x6x256x64x64x256_like -> @configure, 
        @match_attention_12x384x64x64x384_like -> @configure, 
        @match_matmul_like_1024x196x256_f32_like -> @configure, 
        @match_matmul_like_512x784x128_f32_like -> @configure, 
        @match_conv_64x112x112x3x7x7_f32_like -> @configure, 
        @match_matmul_like_512x7x7x2048_f32_like -> @configure, 
        @match_matmul_like_512x14x14x1024_f32_like -> @configure, 
        @match_matmul_like_256x14x14x1024_f32_like -> @configure, 
        @match_matmul_like_128x28x28x512_f32_like -> @configure, 
        @match_batch_matmul_1x384x768x3072_f32_like -> @configure : (!transform.any_op) -> !transform.any_op
    transform.yield %updated_root : !transform.any_op
  }
}
