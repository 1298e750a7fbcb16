// Llama 3 8B, SDXL, Flux, BERT and Whisper for an NVIDIA H200 that runs code for sm_80: products, convolutions and
// attentions.
//
// Made by `tuninglink tune` with up to 100 candidates for each problem, of the programs that benchmarks/gpu_models.py writes,
// in November 2026 with IREE 3.13. Each entry says how fast the compiler's choice and its own were, and the interval of
// their ratio.

#map0 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2)>
#map2 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
#map3 = affine_map<(d0, d1, d2, d3, d4) -> ()>
#map4 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>
#map6 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map7 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map8 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map9 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#map10 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#map11 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map12 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map13 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map14 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map15 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map16 = affine_map<(d0, d1) -> (d1)>
#map17 = affine_map<(d0, d1) -> (d0, d1)>
#map18 = affine_map<(d0, d1) -> (d0)>

module @tuninglink_models_h200 attributes {
  transform.with_named_sequence,
  iree_codegen.tuning_spec_with_default_entrypoint,
  tuninglink.targets = ["sm_80"]
} {

transform.named_sequence @configure_attention(
    %op: !transform.any_op {transform.readonly},
    %configuration: !transform.any_param {transform.readonly},
    %decomposition: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
  transform.annotate %op "decomposition_config" = %decomposition : !transform.any_op, !transform.any_param
  transform.yield
}

transform.named_sequence @configure(
    %op: !transform.any_op {transform.readonly},
    %configuration: !transform.any_param {transform.readonly}) {
  transform.annotate %op "compilation_info" = %configuration : !transform.any_op, !transform.any_param
  transform.yield
}

transform.named_sequence @match_linear_2048x4096x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 511.5, tuned_us = 302.5, interval = [1.682, 1.698], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_2048x1024x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 132.2, tuned_us = 97.3, interval = [1.357, 1.364], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 16], subgroup = [2, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_2048x14336x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 1716.2, tuned_us = 1056.6, interval = [1.624, 1.637], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [14336] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_2048x4096x14336_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 1800.4, tuned_us = 1020.0, interval = [1.755, 1.769], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [14336] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_512x4096x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 154.3, tuned_us = 108.7, interval = [1.419, 1.426], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 16], subgroup = [2, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_512x1024x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 52.3, tuned_us = 40.3, interval = [1.294, 1.299], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 32], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_512x14336x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 504.6, tuned_us = 308.7, interval = [1.604, 1.650], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [14336] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_512x4096x14336_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 537.7, tuned_us = 369.8, interval = [1.448, 1.455], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [14336] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_128x4096x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 72.2, tuned_us = 45.7, interval = [1.577, 1.586], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_128x1024x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 54.1, tuned_us = 26.3, interval = [2.048, 2.077], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup = [1, 2, 0], workgroup = [32, 32, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_128x14336x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 157.7, tuned_us = 91.9, interval = [1.704, 1.717], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [14336] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 256], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 112, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_128x4096x14336_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 272.9, tuned_us = 159.4, interval = [1.706, 1.714], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [14336] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_16x4096x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 36.3, tuned_us = 21.5, interval = [1.685, 1.702], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup = [1, 1, 0], workgroup = [16, 32, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_16x1024x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 36.9, tuned_us = 16.9, interval = [2.179, 2.194], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 2], subgroup = [1, 1, 0], workgroup = [16, 8, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_16x14336x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 72.9, tuned_us = 53.1, interval = [1.372, 1.377], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [14336] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 16], subgroup = [1, 2, 0], workgroup = [16, 16, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_16x4096x14336_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 225.7, tuned_us = 88.6, interval = [2.517, 2.569], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [16] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [14336] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 28], subgroup = [1, 1, 0], workgroup = [16, 16, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_1x4096x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 8.6, tuned_us = 7.5, interval = [1.127, 1.144], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map16, #map17, #map18] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %n, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], partial_reduction = [0, 256], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1], [0, 1]], thread = [1, 8], workgroup = [2, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_1x14336x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 31.5, tuned_us = 30.4, interval = [1.037, 1.044], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map16, #map17, #map18] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %n, [14336] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 32], [0, 1]], partial_reduction = [0, 4096], promote_operands = [], promotion_types = [], subgroup_basis = [[2, 8], [0, 1]], thread = [1, 8], workgroup = [2, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [512, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_attention_32x2048x128_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 1328.1, tuned_us = 545.7, interval = [2.420, 2.434], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op,
    query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32,
    indexing_maps = [#map0, #map1, #map2, #map3, #map4, #map5, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [32] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %k1, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %k2, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 32, 0], workgroup = [1, 64, 0, 0, 128]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  %decomposition = transform.param.constant {
    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>},
    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 3]]}>}} -> !transform.any_param
  transform.yield %op, %configuration, %decomposition : !transform.any_op, !transform.any_param, !transform.any_param
}

transform.named_sequence @match_linear_8192x640x640_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 61.3, tuned_us = 33.6, interval = [1.805, 1.827], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [8192] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [640] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 160, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_8192x5120x640_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 399.8, tuned_us = 293.8, interval = [1.354, 1.366], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [8192] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [5120] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [640] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 4, 1], [0, 1, 2]], workgroup = [256, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_8192x640x2560_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 228.4, tuned_us = 130.3, interval = [1.737, 1.760], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [8192] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [640] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2560] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 10, 0], workgroup = [256, 160, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_2048x1280x1280_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 60.9, tuned_us = 40.1, interval = [1.515, 1.527], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 80, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_2048x10240x1280_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 406.1, tuned_us = 272.1, interval = [1.477, 1.523], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [10240] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_2048x1280x5120_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 276.0, tuned_us = 166.1, interval = [1.665, 1.691], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [2048] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [5120] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 80, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_154x1280x2048_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 32.1, tuned_us = 29.9, interval = [1.071, 1.081], trials = 29}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [154] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [2048] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [64, 64, 256], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 16], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_2x128x128x320_to_320_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 847.7, tuned_us = 365.5, interval = [2.315, 2.324], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [128, 128] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [320] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [320] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x130x130x320xf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 6], subgroup = [1, 2, 2, 4, 0], workgroup = [1, 2, 64, 320, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [640, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_2x64x64x640_to_640_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 762.8, tuned_us = 364.6, interval = [2.082, 2.121], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [64, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [640] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [640] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x66x66x640xf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 12], subgroup = [1, 4, 1, 5, 0], workgroup = [1, 16, 16, 160, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [512, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_2x32x32x1280_to_1280_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 770.9, tuned_us = 439.0, interval = [1.747, 1.758], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [32, 32] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [1280] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x34x34x1280xf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 0, 0, 10], subgroup = [1, 4, 1, 4, 0], workgroup = [1, 8, 16, 160, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [320, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_conv_2x64x64x960_to_640_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 947.9, tuned_us = 578.2, interval = [1.631, 1.660], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %image, %channel, %filter, %input, %group, %stride, %dilation = transform.iree.match.convolution %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map9, #map10, #map11] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [2] : !transform.param<i64>
  transform.iree.match.dims_equal %image, [64, 64] : !transform.param<i64>
  transform.iree.match.dims_equal %channel, [640] : !transform.param<i64>
  transform.iree.match.dims_equal %filter, [3, 3] : !transform.param<i64>
  transform.iree.match.dims_equal %input, [960] : !transform.param<i64>
  %data = transform.get_operand %op[0] : (!transform.any_op) -> !transform.any_value
  transform.iree.match.cast_compatible_type %data = tensor<2x66x66x960xf16> : !transform.any_value
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 0, 6], subgroup = [0, 2, 1, 8, 0], workgroup = [1, 2, 64, 320, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [640, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = true>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_attention_20x4096x64_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 1199.6, tuned_us = 724.1, interval = [1.648, 1.662], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op,
    query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32,
    indexing_maps = [#map0, #map1, #map2, #map3, #map4, #map5, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [20] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k1, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k2, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 64, 0], workgroup = [1, 64, 0, 0, 64]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  %decomposition = transform.param.constant {
    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>},
    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 3]]}>}} -> !transform.any_param
  transform.yield %op, %configuration, %decomposition : !transform.any_op, !transform.any_param, !transform.any_param
}

transform.named_sequence @match_attention_40x1024x64_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 161.4, tuned_us = 102.9, interval = [1.565, 1.571], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op,
    query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32,
    indexing_maps = [#map0, #map1, #map2, #map3, #map4, #map5, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [40] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [1024] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k1, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k2, [1024] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 64, 0], workgroup = [1, 64, 0, 0, 64]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  %decomposition = transform.param.constant {
    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>},
    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 3]]}>}} -> !transform.any_param
  transform.yield %op, %configuration, %decomposition : !transform.any_op, !transform.any_param, !transform.any_param
}

transform.named_sequence @match_linear_4096x3072x3072_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 570.7, tuned_us = 354.8, interval = [1.604, 1.666], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3072] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [3072] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_4096x9216x3072_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 1623.6, tuned_us = 1026.7, interval = [1.564, 1.581], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [9216] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [3072] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_4096x12288x3072_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 2148.1, tuned_us = 1344.9, interval = [1.598, 1.604], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [12288] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [3072] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 1, 1], [0, 1, 2]], workgroup = [128, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_4096x3072x12288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 2252.1, tuned_us = 1287.9, interval = [1.746, 1.751], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3072] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [12288] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_512x3072x3072_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 85.8, tuned_us = 71.8, interval = [1.190, 1.198], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3072] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [3072] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 192], subgroup_basis = [[1, 3, 1], [0, 1, 2]], workgroup = [64, 96, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [96, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_512x9216x3072_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 250.9, tuned_us = 129.2, interval = [1.923, 1.962], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [9216] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [3072] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 128], subgroup_basis = [[4, 2, 1], [0, 1, 2]], workgroup = [256, 144, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_512x12288x3072_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 335.0, tuned_us = 189.3, interval = [1.767, 1.799], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [12288] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [3072] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[4, 1, 1], [0, 1, 2]], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_512x3072x12288_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 340.3, tuned_us = 273.4, interval = [1.238, 1.249], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [512] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3072] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [12288] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 256], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 96, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_4608x21504x3072_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 4197.4, tuned_us = 2705.5, interval = [1.546, 1.552], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4608] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [21504] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [3072] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [96, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_4608x3072x15360_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 3272.2, tuned_us = 1908.4, interval = [1.701, 1.722], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = bf16, rhs_type = bf16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [4608] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3072] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [15360] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_attention_24x4608x128_bf16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 5125.8, tuned_us = 2212.2, interval = [2.314, 2.325], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op,
    query_type = bf16, key_type = bf16, value_type = bf16, scale_type = bf16, output_type = f32, max_type = f32, sum_type = f32,
    indexing_maps = [#map0, #map1, #map2, #map3, #map4, #map5, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [24] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [4608] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %k1, [128] : !transform.param<i64>
  transform.iree.match.dims_equal %k2, [4608] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 128, 0], workgroup = [1, 64, 0, 0, 128]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  %decomposition = transform.param.constant {
    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>},
    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_BF16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 3]]}>}} -> !transform.any_param
  transform.yield %op, %configuration, %decomposition : !transform.any_op, !transform.any_param, !transform.any_param
}

transform.named_sequence @match_linear_384x768x768_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 12.9, tuned_us = 11.2, interval = [1.146, 1.154], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [768] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [768] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 16], subgroup = [3, 4, 0], workgroup = [48, 96, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [96, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_384x3072x768_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 25.2, tuned_us = 16.4, interval = [1.501, 1.553], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3072] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [768] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 192], subgroup_basis = [[3, 1, 1], [0, 1, 2]], workgroup = [96, 96, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [96, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_384x768x3072_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 40.7, tuned_us = 31.0, interval = [1.309, 1.315], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [768] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [3072] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 32], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_3072x768x768_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 38.5, tuned_us = 24.3, interval = [1.583, 1.598], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3072] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [768] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [768] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 256], subgroup_basis = [[3, 2, 1], [0, 1, 2]], workgroup = [192, 96, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [192, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_3072x3072x768_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 114.9, tuned_us = 76.4, interval = [1.488, 1.500], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3072] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [3072] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [768] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [128, 96, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_3072x768x3072_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 149.7, tuned_us = 72.6, interval = [2.053, 2.071], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [3072] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [768] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [3072] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 256], subgroup_basis = [[2, 2, 1], [0, 1, 2]], workgroup = [96, 192, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_384x1024x1024_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 16.2, tuned_us = 12.9, interval = [1.256, 1.263], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1024] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 512], subgroup_basis = [[1, 2, 1], [0, 1, 2]], workgroup = [48, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_384x4096x1024_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 31.0, tuned_us = 23.0, interval = [1.342, 1.350], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [4096] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1024] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 64], subgroup_basis = [[1, 4, 1], [0, 1, 2]], workgroup = [96, 128, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_384x1024x4096_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 52.2, tuned_us = 40.1, interval = [1.260, 1.309], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1024] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [4096] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], reduction = [0, 0, 32], subgroup = [2, 4, 0], workgroup = [64, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_batched_nk_12x384x384x64_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 6.3, tuned_us = 5.9, interval = [1.058, 1.073], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map12, #map15, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [64] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 4], subgroup = [1, 4, 4, 0], workgroup = [1, 128, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_batched_kn_12x384x64x384_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 8.8, tuned_us = 7.9, interval = [1.110, 1.118], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map12, #map13, #map14] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [384] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 4], subgroup = [1, 1, 4, 0], workgroup = [1, 64, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [256, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_attention_12x384x64_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 18.9, tuned_us = 14.4, interval = [1.310, 1.315], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op,
    query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32,
    indexing_maps = [#map0, #map1, #map2, #map3, #map4, #map5, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [12] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [384] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k1, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k2, [384] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{promote_operands = [0, 1, 2], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 0, 64, 0], workgroup = [1, 64, 0, 0, 64]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 0, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  %decomposition = transform.param.constant {
    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [1], promotion_types = [#iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 3, 4]]}>},
    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], subgroup_basis = [[1, 4, 1, 1, 1], [0, 1, 2, 3]]}>}} -> !transform.any_param
  transform.yield %op, %configuration, %decomposition : !transform.any_op, !transform.any_param, !transform.any_param
}

transform.named_sequence @match_linear_1500x1280x1280_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 53.3, tuned_us = 42.5, interval = [1.250, 1.257], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [1500] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [64, 64, 64], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [64, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 3, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_1500x5120x1280_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 184.2, tuned_us = 129.4, interval = [1.412, 1.430], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [1500] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [5120] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [1280] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [128, 64, 64], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 4], subgroup = [4, 8, 0], workgroup = [128, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [64, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_linear_1500x1280x5120_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 192.5, tuned_us = 157.0, interval = [1.222, 1.231], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k = transform.iree.match.contraction %op,
    lhs_type = f16, rhs_type = f16, output_type = f32,
    indexing_maps = [#map6, #map7, #map8] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %m, [1500] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [1280] : !transform.param<i64>
  transform.iree.match.dims_equal %k, [5120] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<NV_MMA_SYNC_F32_16x8x16_F16>, padding = [128, 64, 128], promote_operands = [0, 1], promotion_types = [#iree_gpu.derived_thread_config, #iree_gpu.derived_thread_config], reduction = [0, 0, 8], subgroup = [2, 8, 0], workgroup = [128, 64, 0]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<TileAndFuse> workgroup_size = [128, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 2, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  transform.yield %op, %configuration : !transform.any_op, !transform.any_param
}

transform.named_sequence @match_attention_20x1500x64_f16(%op: !transform.any_op {transform.readonly})
    -> (!transform.any_op, !transform.any_param, !transform.any_param)
    attributes {tuninglink.provenance = {
      compiler = "3.13.0", date = "2026-11-22", device = "NVIDIA H200", driver = "cuda 580.159.04", target = "sm_80",
      default_us = 27964.7, tuned_us = 2875.7, interval = [9.664, 9.779], trials = 100}} {
  transform.iree.match.has_no_lowering_config %op : !transform.any_op
  %batch, %m, %n, %k1, %k2 = transform.iree.match.online_attention %op,
    query_type = f16, key_type = f16, value_type = f16, scale_type = f16, output_type = f32, max_type = f32, sum_type = f32,
    indexing_maps = [#map0, #map1, #map2, #map3, #map4, #map5, #map5] : !transform.any_op -> !transform.param<i64>
  transform.iree.match.dims_equal %batch, [20] : !transform.param<i64>
  transform.iree.match.dims_equal %m, [1500] : !transform.param<i64>
  transform.iree.match.dims_equal %n, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k1, [64] : !transform.param<i64>
  transform.iree.match.dims_equal %k2, [1500] : !transform.param<i64>
  %configuration = transform.param.constant #iree_codegen.compilation_info<
    lowering_config = #iree_gpu.lowering_config<{partial_reduction = [0, 0, 0, 6, 0], promote_operands = [], promotion_types = [], workgroup = [1, 1, 0, 0, 64]}>,
    translation_info = <pipeline = #iree_gpu.pipeline<VectorDistribute> workgroup_size = [32, 1, 1] subgroup_size = 32, {gpu_pipeline_options = #iree_gpu.pipeline_options<prefetch_num_stages = 1, no_reduce_shared_memory_bank_conflicts = false, use_igemm_convolution = false>}>> -> !transform.any_param
  %decomposition = transform.param.constant {
    pv_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 1, 2, 16], [0, 1, 3, 4]], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1, 1, 1, 1], [0, 1, 3, 4]], thread = [0, 0, 0, 2]}>},
    qk_attrs = {lowering_config = #iree_gpu.lowering_config<{lane_basis = [[1, 1, 8, 2, 1], [0, 1, 2, 3]], promote_operands = [], promotion_types = [], subgroup_basis = [[1, 1, 1, 1, 1], [0, 1, 2, 3]], thread = [0, 0, 4, 0]}>}} -> !transform.any_param
  transform.yield %op, %configuration, %decomposition : !transform.any_op, !transform.any_param, !transform.any_param
}

transform.named_sequence @__kernel_config(%variant: !transform.any_op {transform.consumed}) -> !transform.any_op
    attributes {iree_codegen.tuning_spec_entrypoint} {
  %configured = transform.foreach_match in %variant
      @match_linear_2048x4096x4096_f16 -> @configure,
      @match_linear_2048x1024x4096_f16 -> @configure,
      @match_linear_2048x14336x4096_f16 -> @configure,
      @match_linear_2048x4096x14336_f16 -> @configure,
      @match_linear_512x4096x4096_f16 -> @configure,
      @match_linear_512x1024x4096_f16 -> @configure,
      @match_linear_512x14336x4096_f16 -> @configure,
      @match_linear_512x4096x14336_f16 -> @configure,
      @match_linear_128x4096x4096_f16 -> @configure,
      @match_linear_128x1024x4096_f16 -> @configure,
      @match_linear_128x14336x4096_f16 -> @configure,
      @match_linear_128x4096x14336_f16 -> @configure,
      @match_linear_16x4096x4096_f16 -> @configure,
      @match_linear_16x1024x4096_f16 -> @configure,
      @match_linear_16x14336x4096_f16 -> @configure,
      @match_linear_16x4096x14336_f16 -> @configure,
      @match_linear_1x4096x4096_f16 -> @configure,
      @match_linear_1x14336x4096_f16 -> @configure,
      @match_attention_32x2048x128_f16 -> @configure_attention,
      @match_linear_8192x640x640_f16 -> @configure,
      @match_linear_8192x5120x640_f16 -> @configure,
      @match_linear_8192x640x2560_f16 -> @configure,
      @match_linear_2048x1280x1280_f16 -> @configure,
      @match_linear_2048x10240x1280_f16 -> @configure,
      @match_linear_2048x1280x5120_f16 -> @configure,
      @match_linear_154x1280x2048_f16 -> @configure,
      @match_conv_2x128x128x320_to_320_f16 -> @configure,
      @match_conv_2x64x64x640_to_640_f16 -> @configure,
      @match_conv_2x32x32x1280_to_1280_f16 -> @configure,
      @match_conv_2x64x64x960_to_640_f16 -> @configure,
      @match_attention_20x4096x64_f16 -> @configure_attention,
      @match_attention_40x1024x64_f16 -> @configure_attention,
      @match_linear_4096x3072x3072_bf16 -> @configure,
      @match_linear_4096x9216x3072_bf16 -> @configure,
      @match_linear_4096x12288x3072_bf16 -> @configure,
      @match_linear_4096x3072x12288_bf16 -> @configure,
      @match_linear_512x3072x3072_bf16 -> @configure,
      @match_linear_512x9216x3072_bf16 -> @configure,
      @match_linear_512x12288x3072_bf16 -> @configure,
      @match_linear_512x3072x12288_bf16 -> @configure,
      @match_linear_4608x21504x3072_bf16 -> @configure,
      @match_linear_4608x3072x15360_bf16 -> @configure,
      @match_attention_24x4608x128_bf16 -> @configure_attention,
      @match_linear_384x768x768_f16 -> @configure,
      @match_linear_384x3072x768_f16 -> @configure,
      @match_linear_384x768x3072_f16 -> @configure,
      @match_linear_3072x768x768_f16 -> @configure,
      @match_linear_3072x3072x768_f16 -> @configure,
      @match_linear_3072x768x3072_f16 -> @configure,
      @match_linear_384x1024x1024_f16 -> @configure,
      @match_linear_384x4096x1024_f16 -> @configure,
      @match_linear_384x1024x4096_f16 -> @configure,
      @match_batched_nk_12x384x384x64_f16 -> @configure,
      @match_batched_kn_12x384x64x384_f16 -> @configure,
      @match_attention_12x384x64_f16 -> @configure_attention,
      @match_linear_1500x1280x1280_f16 -> @configure,
      @match_linear_1500x5120x1280_f16 -> @configure,
      @match_linear_1500x1280x5120_f16 -> @configure,
      @match_attention_20x1500x64_f16 -> @configure_attention
    : (!transform.any_op) -> !transform.any_op
  transform.yield %configured : !transform.any_op
}

}
